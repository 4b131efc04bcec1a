//! Shared libraries, and the AQMs that they export.

use crate::queue::{Fault, Loaded};
use libloading::Library;
use sojourn_plugin::abi::{AqmTable, ENTRY, Entry, Text};
use sojourn_qdisc::{Limit, Packet, Qdisc, Setting, SingleQueue};
use sojourn_scenario::problem::suggestion;
use std::fs;
use std::io;
use std::path::Path;
use std::sync::Arc;
use thiserror::Error;

/// What the name of a plug-in begins with.
pub const PREFIX: &str = "rust:";

/// Packets that a queue holds unless `limit` says otherwise.
const LIMIT: u64 = 1000;

/// Why a plug-in cannot be had.
#[derive(Debug, Error)]
pub enum LoadError {
    /// The name is not of the right form.
    #[error("`{0}` names no plug-in: write `rust:FILE.so:AQM NAME=VALUE ...`")]
    Name(String),
    /// The file cannot be read.
    #[error("{file} cannot be read: {why}")]
    File {
        /// As it was written.
        file: String,
        /// The system's word.
        why: io::Error,
    },
    /// The file is no library that can be loaded here.
    #[error("{file} cannot be loaded: {why}")]
    Library {
        /// As it was written.
        file: String,
        /// The linker's word.
        why: libloading::Error,
    },
    /// The library lacks the function that a plug-in has.
    #[error(
        "{file} is no plug-in for this program, as it has no `{ENTRY}`: build it with \
         `sojourn_plugin::export!` of version {version}",
        version = env!("CARGO_PKG_VERSION")
    )]
    Entry {
        /// As it was written.
        file: String,
    },
    /// The library has no such AQM.
    #[error("{file} has no AQM `{name}`; {help}")]
    Aqm {
        /// As it was written.
        file: String,
        /// The name of none.
        name: String,
        /// What there is.
        help: String,
    },
    /// The AQM refuses its options.
    #[error("{name}: {why}")]
    Options {
        /// Whose.
        name: String,
        /// Its word.
        why: String,
    },
}

/// An AQM of a plug-in, with its options.
#[derive(Clone, Debug)]
pub struct Plugin {
    table: AqmTable,
    /// As it is called in the library.
    name: String,
    options: String,
    limit: u64,
    /// What the table's functions are in.
    library: Arc<Library>,
}

impl Plugin {
    /// The AQM of a name, `rust:FILE.so:AQM n=5`; the file is seen from `base`. `limit=PACKETS` is
    /// the queue's, 1000 by default, all other options are the AQM's.
    ///
    /// The library's own code runs here for the first time: a plug-in can do whatever the program
    /// may.
    ///
    /// # Errors
    /// When it cannot be loaded, or its options are wrong.
    pub fn load(text: &str, base: &Path) -> Result<Self, LoadError> {
        let form = || LoadError::Name(text.to_owned());
        let rest = text.strip_prefix(PREFIX).ok_or_else(form)?;
        let (place, options) = rest.split_once(' ').unwrap_or((rest, ""));
        let (file, name) = place.rsplit_once(':').ok_or_else(form)?;
        if file.is_empty() || name.is_empty() {
            return Err(form());
        }
        // An absolute path: of another one the linker looks elsewhere.
        let path = fs::canonicalize(base.join(file)).map_err(|why| {
            let file = file.to_owned();
            LoadError::File { file, why }
        })?;
        // SAFETY: whoever names a plug-in wants its code to run.
        let library = unsafe { Library::new(&path) };
        let library = library.map_err(|why| {
            let file = file.to_owned();
            LoadError::Library { file, why }
        })?;
        let tables = {
            // SAFETY: the function's name says its type, and which version of it.
            let entry = unsafe { library.get::<Entry>(ENTRY) };
            let file = file.to_owned();
            let entry = entry.map_err(|_| LoadError::Entry { file })?;
            entry()
        };
        // SAFETY: the contract of the entry: constants of the library, which each table keeps.
        let tables = unsafe { std::slice::from_raw_parts(tables.start, tables.count) };
        let named = tables.iter().filter_map(|table| {
            // SAFETY: as above.
            let name = unsafe { table.name.get() };
            Some((name?, *table))
        });
        let named: Vec<(&str, AqmTable)> = named.collect();
        let Some((_, table)) = named.iter().find(|(known, _)| *known == name) else {
            let known: Vec<&str> = named.iter().map(|(known, _)| *known).collect();
            return Err(LoadError::Aqm {
                file: file.to_owned(),
                name: name.to_owned(),
                help: suggestion(name, &known),
            });
        };
        let table = *table;
        let refused = |why: String| LoadError::Options {
            name: name.to_owned(),
            why,
        };
        let (limit, options) = limited(options).map_err(refused)?;
        let plugin = Self {
            table,
            name: name.to_owned(),
            options,
            limit,
            library: Arc::new(library),
        };
        // One is made on trial, so that wrong options are known before anything runs.
        let fault = Fault::default();
        plugin.aqm::<false>(TRIAL, &fault);
        fault.take().map_or(Ok(plugin), |why| Err(refused(why)))
    }

    /// A queue with one of it. What goes wrong then is told to `fault`, which takes the first.
    pub(crate) fn queue<P: Packet>(
        &self,
        setting: Setting<'_>,
        fault: &Fault,
    ) -> Option<Box<dyn Qdisc<P>>> {
        let limit = Limit::Packets(self.limit);
        Some(if self.table.sees_all_arrivals == 0 {
            Box::new(SingleQueue::new(limit, self.aqm::<false>(setting, fault)?))
        } else {
            Box::new(SingleQueue::new(limit, self.aqm::<true>(setting, fault)?))
        })
    }

    fn aqm<const ALL: bool>(&self, setting: Setting<'_>, fault: &Fault) -> Option<Loaded<ALL>> {
        let options = Text::of(&self.options);
        Loaded::new(&self.table, options, setting, fault, &self.library)
    }

    /// What an error of a run calls it.
    pub(crate) fn name(&self) -> &str {
        &self.name
    }
}

/// Where the trial stands.
const TRIAL: Setting<'static> = Setting {
    seed: 0,
    name: "trial",
    mtu: 1514,
    link_header: 14,
};

/// The queue's limit, and the options without it.
fn limited(options: &str) -> Result<(u64, String), String> {
    let (mut limit, mut others) = (LIMIT, Vec::new());
    for word in options.split_whitespace() {
        match word.strip_prefix("limit=") {
            Some(value) => {
                let packets = value.parse().ok().filter(|packets| *packets > 0);
                limit = packets.ok_or_else(|| {
                    format!("option `limit`: `{value}` is no number of packets, 1 or more")
                })?;
            }
            None => others.push(word),
        }
    }
    Ok((limit, others.join(" ")))
}
