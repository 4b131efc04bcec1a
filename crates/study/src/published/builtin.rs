//! The studies that are built into the program, from `studies/`.

/// A study's files by their names.
pub(super) struct Study {
    pub(super) name: &'static str,
    pub(super) files: &'static [(&'static str, &'static str)],
}

macro_rules! study {
    ($name:literal: $($file:literal),+ $(,)?) => {
        Study {
            name: $name,
            files: &[$((
                $file,
                include_str!(concat!("../../../../studies/", $name, "/", $file)),
            )),+],
        }
    };
}

/// In alphabetical order.
pub(super) const STUDIES: &[Study] =
    &[study!("codel-red": "study.toml", "vcfp.toml", "vpfc.toml", "hchp.toml")];
