//! Plug-ins where a scenario or an option names them, and what stands for each there.

use crate::library::{LoadError, PREFIX, Plugin, Sort};
use sojourn_qdisc::Spec;
use sojourn_scenario::problem::Origin;
use sojourn_scenario::{LINUX_ALONE, Options, Problem, Problems, StandIns};
use std::path::Path;

/// The plug-ins that a scenario names, each loaded once.
#[derive(Debug, Default)]
pub(crate) struct Named {
    pub(crate) names: StandIns,
    /// By the queue that stands for it in cells.
    pub(crate) queues: Vec<(Spec, Plugin)>,
    /// By the congestion control of Linux that stands for it in cells.
    pub(crate) controls: Vec<(&'static str, Plugin)>,
    /// Congestion controls that the scenario itself may mean.
    taken: Vec<&'static str>,
}

impl Named {
    pub(crate) fn is_empty(&self) -> bool {
        self.queues.is_empty() && self.controls.is_empty()
    }

    /// A scenario's text and its options with stand-ins.
    pub(crate) fn replaced(
        &mut self,
        name: &str,
        text: &str,
        base: &Path,
        options: &Options,
    ) -> Result<(String, Options), Problems> {
        let mut options = options.clone();
        self.take(text);
        for given in options.sets.iter().chain(&options.sweeps) {
            self.take(given);
        }
        let text = self.text(name, text, base)?;
        for (given, option) in [
            (&mut options.sets, "--set"),
            (&mut options.sweeps, "--sweep"),
        ] {
            for given in given {
                *given = self.option(option, given)?;
            }
        }
        Ok((text, options))
    }

    /// Nothing that a text says may stand for anything else.
    fn take(&mut self, text: &str) {
        let words = text.split(|it: char| !it.is_ascii_alphanumeric());
        let said = words.filter_map(|word| LINUX_ALONE.iter().find(|name| **name == word));
        self.taken.extend(said);
    }

    /// What stands for a plug-in. `wanted` belongs there, if that is known.
    pub(crate) fn stand_in(
        &mut self,
        name: &str,
        base: &Path,
        wanted: Option<Sort>,
    ) -> Result<String, LoadError> {
        let plugin = Plugin::load(name, base)?;
        let plugin = match wanted {
            Some(wanted) => plugin.of(wanted)?,
            None => plugin,
        };
        if let Some(known) = self.names.of(name) {
            return Ok(known.to_owned());
        }
        let stand_in = match plugin.sort() {
            Sort::Aqm => {
                let spec = Spec::pfifo(u32::MAX - self.queues.len() as u32);
                let stand_in = spec.to_string();
                self.queues.push((spec, plugin));
                stand_in
            }
            Sort::Control => {
                let is_free = |name: &&&'static str| {
                    let mut used = self.controls.iter().map(|(used, _)| used);
                    !self.taken.contains(*name) && used.all(|used| used != *name)
                };
                let free = LINUX_ALONE
                    .iter()
                    .find(is_free)
                    .ok_or(LoadError::TooMany(self.controls.len()))?;
                self.controls.push((free, plugin));
                (*free).to_owned()
            }
        };
        self.names.add(&stand_in, name);
        Ok(stand_in)
    }

    /// A scenario's text with stand-ins.
    fn text(&mut self, name: &str, text: &str, base: &Path) -> Result<String, Problems> {
        let mut replaced = String::with_capacity(text.len());
        let mut start = 0;
        for line in text.split_inclusive('\n') {
            let is_remark = line.trim_start().starts_with('#');
            let mut rest = line;
            while let Some((before, quoted, after)) = quoted(rest).filter(|_| !is_remark) {
                replaced.push_str(before);
                let field = field(&replaced);
                let stand_in = self.stand_in(quoted, base, sort(field)).map_err(|why| {
                    let at = start + (line.len() - rest.len()) + before.len() + 1;
                    let mut problems = Problems::with_source(name, text);
                    let at = Origin::new(0, at..at + quoted.len());
                    problems.add(Problem::new(at, field, why.to_string()));
                    problems
                })?;
                replaced.extend(["\"", &stand_in, "\""]);
                rest = after;
            }
            replaced.push_str(rest);
            start += line.len();
        }
        Ok(replaced)
    }

    /// The argument of `--set` or `--sweep` with stand-ins.
    fn option(&mut self, option: &str, given: &str) -> Result<String, Problems> {
        let Some((key, value)) = given.split_once('=').filter(|_| given.contains(PREFIX)) else {
            return Ok(given.to_owned());
        };
        let mut parts = Vec::new();
        for part in value.split(',') {
            let bare = part.trim_matches(|edge: char| edge == ' ' || "[]\"'".contains(edge));
            parts.push(if bare.starts_with(PREFIX) {
                let stand_in = self
                    .stand_in(bare, Path::new(""), sort(key.trim()))
                    .map_err(|why| Problems::alone(option, format!("{key}: {why}")))?;
                part.replacen(bare, &stand_in, 1)
            } else {
                part.to_owned()
            });
        }
        Ok(format!("{key}={}", parts.join(",")))
    }
}

/// What belongs to a field, if it is clear by the field's name.
fn sort(field: &str) -> Option<Sort> {
    match field.rsplit('.').next() {
        Some("qdisc") => Some(Sort::Aqm),
        Some("cc") => Some(Sort::Control),
        _ => None,
    }
}

/// The field that the value behind a text is of: the last key in it.
fn field(before: &str) -> &str {
    let (key, _) = before.rsplit_once('=').unwrap_or_default();
    let is_key = |it: char| it.is_ascii_alphanumeric() || "._-".contains(it);
    let key = key.trim_end();
    let start = key.rfind(|it| !is_key(it)).map_or(0, |at| at + 1);
    &key[start..]
}

/// The next text in quotes that names a plug-in, with what comes before and after the quotes.
fn quoted(line: &str) -> Option<(&str, &str, &str)> {
    let starts = ['"', '\''].into_iter().filter_map(|quote| {
        let at = line.find(&format!("{quote}{PREFIX}"))?;
        Some((at, quote))
    });
    let (at, quote) = starts.min()?;
    let (inside, after) = line[at + 1..].split_once(quote)?;
    Some((&line[..at], inside, after))
}
