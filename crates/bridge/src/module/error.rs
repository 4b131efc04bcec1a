//! Why the kernel did not do what was asked of the module.

use std::io;

/// A sentence for the user, with what would help.
#[derive(Debug, thiserror::Error)]
pub enum ModuleError {
    /// There is no interface of this name in this namespace.
    #[error("there is no interface `{name}` here; there are {}", .known.join(", "))]
    NoSuchInterface {
        /// What was asked for.
        name: String,
        /// What there is.
        known: Vec<String>,
    },
    /// There is another qdisc already.
    #[error("{place} has the qdisc `{kind}` already; {}", advice(.name, .kind))]
    Occupied {
        /// Interface and place.
        place: String,
        /// The interface.
        name: String,
        /// What it has.
        kind: String,
    },
    /// There is no qdisc of the module's.
    #[error(
        "{place} has no qdisc `sojourn`{}; `qdisc add {name} …` gives it one",
        but(.kind.as_deref())
    )]
    NotThere {
        /// Interface and place.
        place: String,
        /// The interface.
        name: String,
        /// What it has.
        kind: Option<String>,
    },
    /// The kernel does not know the kind.
    #[error(
        "the kernel has no qdisc `sojourn`: the module is not loaded; `make module` builds it, \
         `insmod target/module/sch_sojourn.ko` loads it"
    )]
    NoModule,
    /// We may not do that.
    #[error("changing a qdisc of {place} is not permitted; it needs CAP_NET_ADMIN (run as root)")]
    NotPermitted {
        /// Interface and place.
        place: String,
    },
    /// The kernel refuses it.
    #[error("the kernel refuses it for {place}: {why}")]
    Refused {
        /// Interface and place.
        place: String,
        /// Its words.
        why: String,
    },
    /// The kernel was not reached.
    #[error("ask the kernel by rtnetlink: {0}")]
    Io(#[from] io::Error),
}

impl ModuleError {
    pub(super) fn refused(place: &str, error: &io::Error, why: Option<&str>) -> Self {
        let place = place.to_owned();
        let says = |part| why.is_none_or(|why| why.contains(part));
        match error.raw_os_error() {
            Some(libc::EPERM) => Self::NotPermitted { place },
            Some(libc::ENOENT) if says("kind") => Self::NoModule,
            _ => Self::Refused {
                place,
                why: match why {
                    Some(why) => format!("{why} ({error})"),
                    None => error.to_string(),
                },
            },
        }
    }
}

fn advice(name: &str, kind: &str) -> String {
    match kind {
        super::KIND => format!("`qdisc change {name} …` changes it"),
        _ => format!("`tc qdisc del dev {name} …` removes it"),
    }
}

fn but(kind: Option<&str>) -> String {
    kind.map_or_else(String::new, |kind| format!(" but `{kind}`"))
}
