//! Shared libraries, and the AQMs and congestion controls that they export.

use crate::control::LoadedControl;
use crate::fault::Fault;
use crate::queue::Loaded;
use libloading::Library;
use sojourn_plugin::abi::Text;
use sojourn_plugin::abi::aqm::{self, AqmTable};
use sojourn_plugin::abi::control::{self, ControlTable};
use sojourn_qdisc::{Limit, Packet, Qdisc, Setting, SingleQueue};
use sojourn_scenario::explained;
use sojourn_scenario::problem::suggestion;
use sojourn_tcp::{Config, CongestionControl};
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
    #[error("`{0}` names no plug-in: write `rust:FILE.so:TYPE NAME=VALUE ...`")]
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
        "{file} is not a plug-in for this program, as it has neither `{}` nor `{}`: build it with \
         `export!` or `export_controls!` of `sojourn_plugin` {version}",
        aqm::ENTRY,
        control::ENTRY,
        version = env!("CARGO_PKG_VERSION")
    )]
    Entry {
        /// As it was written.
        file: String,
    },
    /// The library has nothing of this name.
    #[error("{file} has no AQM and no congestion control `{name}`; {help}")]
    Unknown {
        /// As it was written.
        file: String,
        /// The name of none.
        name: String,
        /// What there is.
        help: String,
    },
    /// It is not what belongs there.
    #[error("`{name}` is {}, and {}", .there.is(), .wanted.belongs())]
    Misplaced {
        /// Whose.
        name: String,
        /// What it is.
        there: Sort,
        /// What belongs there.
        wanted: Sort,
    },
    /// It refuses its options.
    #[error("{0}")]
    Options(String),
    /// Nothing is left that could stand for it.
    #[error("at most {0} congestion controls of plug-ins at once")]
    TooMany(usize),
}

/// What a plug-in is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sort {
    /// An AQM, which is a queue's.
    Aqm,
    /// A congestion control.
    Control,
}

impl Sort {
    const fn is(self) -> &'static str {
        match self {
            Self::Aqm => "an AQM",
            Self::Control => "a congestion control",
        }
    }

    const fn belongs(self) -> &'static str {
        match self {
            Self::Aqm => "an AQM belongs here: congestion controls are values of `cc`",
            Self::Control => "a congestion control belongs here: AQMs are values of `qdisc`",
        }
    }
}

/// An AQM or a congestion control of a library, with its options.
#[derive(Clone, Debug)]
pub struct Plugin {
    table: Table,
    /// As it is called in the library.
    name: String,
    options: String,
    /// What the table's functions are in.
    library: Arc<Library>,
}

#[derive(Clone, Copy, Debug)]
enum Table {
    /// With the packets that its queue holds.
    Aqm(AqmTable, u64),
    Control(ControlTable),
}

impl Plugin {
    /// What a name means, `rust:FILE.so:TYPE n=5`; the file is seen from `base`. Of an AQM
    /// `limit=PACKETS` is the queue's, 1000 by default; all other options are the type's.
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
        let library = opened(file, base)?;
        let tables = exported(&library).ok_or_else(|| LoadError::Entry {
            file: file.to_owned(),
        })?;
        let Some((_, table)) = tables.iter().find(|(known, _)| *known == name) else {
            let known: Vec<&str> = tables.iter().map(|(known, _)| *known).collect();
            return Err(LoadError::Unknown {
                file: file.to_owned(),
                name: name.to_owned(),
                help: suggestion(name, &known),
            });
        };
        let mut plugin = Self {
            table: *table,
            name: name.to_owned(),
            options: options.to_owned(),
            library: Arc::new(library),
        };
        match plugin.tried() {
            None => Ok(plugin),
            Some(why) => Err(LoadError::Options(why)),
        }
    }

    /// Makes one on trial, so that wrong options are known before anything runs. What is wrong.
    fn tried(&mut self) -> Option<String> {
        if let Table::Aqm(_, limit) = &mut self.table {
            match limited(&self.options) {
                Ok(both) => (*limit, self.options) = both,
                Err(why) => return Some(format!("{}: {why}", self.name)),
            }
        }
        let fault = Fault::default();
        match &self.table {
            Table::Aqm(table, _) => drop(self.aqm::<false>(table, TRIAL, &fault)),
            Table::Control(_) => drop(self.control(&Config::default(), &fault)),
        }
        fault.take()
    }

    /// What it is.
    pub const fn sort(&self) -> Sort {
        match self.table {
            Table::Aqm(..) => Sort::Aqm,
            Table::Control(_) => Sort::Control,
        }
    }

    /// It, if it is of this sort.
    ///
    /// # Errors
    /// When it is of the other.
    pub(crate) fn of(self, wanted: Sort) -> Result<Self, LoadError> {
        let there = self.sort();
        if there == wanted {
            return Ok(self);
        }
        let name = self.name;
        Err(LoadError::Misplaced {
            name,
            there,
            wanted,
        })
    }

    /// A queue with one of it, if it is an AQM. What goes wrong then is told to `fault`, which
    /// takes the first.
    pub fn queue<P: Packet>(
        &self,
        setting: Setting<'_>,
        fault: &Fault,
    ) -> Option<Box<dyn Qdisc<P>>> {
        let Table::Aqm(table, limit) = &self.table else {
            return None;
        };
        let limit = Limit::Packets(*limit);
        Some(if table.sees_all_arrivals == 0 {
            let aqm = self.aqm::<false>(table, setting, fault)?;
            Box::new(SingleQueue::new(limit, aqm))
        } else {
            let aqm = self.aqm::<true>(table, setting, fault)?;
            Box::new(SingleQueue::new(limit, aqm))
        })
    }

    /// One of it for an end of a connection, if it is a congestion control. `fault` as of a queue.
    pub fn control(
        &self,
        config: &Config,
        fault: &Fault,
    ) -> Option<Box<dyn CongestionControl + Send>> {
        let Table::Control(table) = &self.table else {
            return None;
        };
        let options = Text::of(&self.options);
        let fault = &fault.of(&self.name);
        let control = LoadedControl::new(table, options, config, fault, &self.library)?;
        Some(Box::new(control))
    }

    fn aqm<const ALL: bool>(
        &self,
        table: &AqmTable,
        setting: Setting<'_>,
        fault: &Fault,
    ) -> Option<Loaded<ALL>> {
        let (options, fault) = (Text::of(&self.options), &fault.of(&self.name));
        Loaded::new(table, options, setting, fault, &self.library)
    }

    /// What an error of a run calls it.
    pub fn name(&self) -> &str {
        &self.name
    }
}

/// The library of a file.
fn opened(file: &str, base: &Path) -> Result<Library, LoadError> {
    // An absolute path: of another one the linker looks elsewhere.
    let path = base.join(file);
    let path = fs::canonicalize(&path).map_err(|error| LoadError::File {
        file: file.to_owned(),
        why: explained(&path, error),
    })?;
    // SAFETY: whoever names a plug-in wants its code to run.
    let library = unsafe { Library::new(&path) };
    library.map_err(|why| {
        let file = file.to_owned();
        LoadError::Library { file, why }
    })
}

/// What a library exports, by name; none when it is no plug-in.
fn exported(library: &Library) -> Option<Vec<(&str, Table)>> {
    // SAFETY: the function's name says its type, and which version of it.
    let aqm_entry = unsafe { library.get::<aqm::Entry>(aqm::ENTRY) };
    // SAFETY: as above.
    let control_entry = unsafe { library.get::<control::Entry>(control::ENTRY) };
    if aqm_entry.is_err() && control_entry.is_err() {
        return None;
    }
    let aqms = aqm_entry.ok().map(|entry| entry());
    let controls = control_entry.ok().map(|entry| entry());
    let mut all: Vec<(Text, Table)> = Vec::new();
    if let Some(tables) = aqms {
        // SAFETY: the contract of the entry: constants of the library.
        let tables = unsafe { std::slice::from_raw_parts(tables.start, tables.count) };
        all.extend(tables.iter().map(|it| (it.name, Table::Aqm(*it, LIMIT))));
    }
    if let Some(tables) = controls {
        // SAFETY: as above.
        let tables = unsafe { std::slice::from_raw_parts(tables.start, tables.count) };
        all.extend(tables.iter().map(|it| (it.name, Table::Control(*it))));
    }
    // SAFETY: as above, and the library is borrowed as long as the names.
    let named = all
        .into_iter()
        .filter_map(|(name, table)| Some((unsafe { name.get() }?, table)));
    Some(named.collect())
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
                    format!("option `limit`: `{value}` is not a number of packets; write 1 or more")
                })?;
            }
            None => others.push(word),
        }
    }
    Ok((limit, others.join(" ")))
}
