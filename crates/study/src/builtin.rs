//! The studies that are built into the program, from `studies/`.

/// A study's files by their names.
pub(crate) struct BuiltIn {
    pub(crate) name: &'static str,
    pub(crate) files: &'static [(&'static str, &'static str)],
}

macro_rules! study {
    ($name:literal: $($file:literal),+ $(,)?) => {
        BuiltIn {
            name: $name,
            files: &[$((
                $file,
                include_str!(concat!("../studies/", $name, "/", $file)),
            )),+],
        }
    };
}

/// In alphabetical order.
pub(crate) const STUDIES: &[BuiltIn] = &[
    study!(
        "adth": "study.toml", "one.toml", "own.toml", "two.toml", "three.toml", "four.toml",
        "five.toml", "share.toml", "voice.toml", "sizes.toml", "random.toml", "stringent.toml",
        "six.toml", "six-runs.toml", "three-runs.toml", "tcp.toml",
        "published-two.csv", "published-e1.csv", "published-e2.csv", "published-e3.csv",
        "published-voice.csv", "published-e6.csv", "published-hops.csv",
        "wire.toml", "wire-live.toml",
    ),
    study!(
        "cake": "study.toml", "rrul-be.toml", "rrul.toml", "host-isolation.toml",
        "ack-filter.toml", "ef-call.toml", "home.toml", "collisions.toml", "shaper.toml",
        "after-idle.toml", "overhead.toml", "linux-rrul-be.csv", "linux-rrul.csv",
        "linux-host-isolation.csv", "linux-ack-filter.csv", "linux-ef-call.csv",
        "linux-home.csv", "arithmetic.csv", "rrul-be-live.toml", "rrul-live.toml",
        "host-isolation-live.toml", "ack-filter-live.toml", "ef-call-live.toml",
        "shaper-live.toml", "after-idle-live.toml", "collisions-many.toml",
        "collisions.csv", "collisions-new.toml", "collisions-new.csv", "tins-unshaped.toml",
        "published.csv", "published-hosts.csv",
    ),
    study!(
        "codel-red": "study.toml", "vcfp.toml", "vpfc.toml", "hchp.toml", "vcfp-today.toml",
        "vpfc-today.toml", "hchp-today.toml", "traffic-today.toml",
        "hchp-1420.toml", "hchp-fit.toml", "hchp-5s.toml",
        "published.csv", "ns2-hchp.csv", "ns2-vcfp.csv", "ns2-vpfc.csv", "table4.csv",
        "ns2-jain.csv", "ns2-drops.csv", "ns2-p25.csv", "table5.csv", "table6.csv", "table7.csv",
        "text-hchp.csv", "text-vcfp.csv", "text-vpfc.csv",
    ),
    study!(
        "home-broadband": "study.toml", "home.toml", "live.toml", "fair.toml", "spread.toml",
        "window.toml", "published.csv", "kernel.csv", "kernel-25.csv",
    ),
    study!(
        "l4s": "study.toml", "dualpi2-50.toml", "dualpi2-10.toml", "pfifo-50.toml",
        "pfifo-10.toml", "fq-codel-50.toml", "fq-codel-10.toml", "rfc3168.toml", "law.toml",
        "overload.toml", "flood.toml", "flood-ten.toml", "home.toml", "tins.toml", "bursts.toml",
        "isp.toml", "classic.toml",
        "published-dualpi2-50.csv", "published-dualpi2-10.csv", "published-pfifo-50.csv",
        "published-pfifo-10.csv", "published-fq-codel-50.csv", "published-fq-codel-10.csv",
        "published-rfc3168.csv", "published-flood.csv", "published-overload.csv",
    ),
    study!(
        "steering": "study.toml", "long-10g.toml", "steered-10g.toml", "short-10g.toml",
        "crowd-10g.toml", "ceiling-10g.toml", "few-1g.toml", "long-1g.toml", "long-1g-live.toml",
        "steered-1g.toml",
        "short-1g.toml", "short-1g-live.toml", "crowd-1g.toml", "crowd-1g-live.toml",
        "ceiling-1g.toml", "ceiling-1g-live.toml", "map-1g.toml", "long-300m.toml",
        "long-300m-live.toml", "short-300m.toml", "short-300m-live.toml", "crowd-300m.toml",
        "crowd-300m-live.toml", "ceiling-300m.toml", "ceiling-300m-live.toml",
        "guarantee.toml", "guarantee-slow.toml", "published.csv",
    ),
];

#[cfg(test)]
mod tests {
    use super::STUDIES;
    use std::collections::BTreeSet;
    use std::fs;

    /// A study on disk works without this list, the program does not.
    #[test]
    fn all_files_of_the_studies_are_built_in() {
        for study in STUDIES {
            let folder = sojourn_tidy::root().join("studies").join(study.name);
            let files = fs::read_dir(folder).expect("the repository has it");
            let names = files.map(|file| file.expect("readable").file_name());
            let there: BTreeSet<String> = names
                .map(|name| name.into_string().expect("it is text"))
                .filter(|name| [".toml", ".csv"].iter().any(|end| name.ends_with(end)))
                .collect();
            let ours = study.files.iter().map(|(name, _)| (*name).to_owned());
            assert_eq!(there, ours.collect(), "{}", study.name);
        }
    }
}
