//! What somebody asks a fleet for, or has it change.

use super::Fleet;
use super::error::AskError;
use super::member::Member;
use crate::Pair;
use crate::difference::differences;
use crate::flows::Flows;
use crate::history::Entry;
use crate::talkers::Talkers;
use serde_json::Value;
use sojourn_bridge::{FailOpenState, Remote, RemoteError, Side, Snapshot};
use sojourn_line::LineRate;
use sojourn_units::Rate;
use std::sync::{Arc, Mutex};
use std::time::{Duration, SystemTime};

/// A bridge of the fleet, for an observer.
pub(crate) struct Watched {
    pub(crate) name: String,
    pub(crate) remote: Remote,
    pub(crate) flows: Arc<Mutex<Flows>>,
    pub(crate) talkers: Arc<Mutex<Talkers>>,
}

/// What is known of a pair.
pub(crate) struct PairStats {
    pub(crate) name: String,
    /// Of its links, where they are constant, by side.
    pub(crate) rates: [Option<Rate>; 2],
    /// None when its thread does not answer.
    pub(crate) snapshot: Option<Arc<Snapshot>>,
    /// What happens to the link when the process dies.
    pub(crate) fail_open: Arc<FailOpenState>,
}

/// What a pair says.
pub(crate) struct Said {
    pub(crate) name: String,
    pub(crate) snapshot: Result<Arc<Snapshot>, RemoteError>,
    pub(crate) fail_open: Arc<FailOpenState>,
}

impl Said {
    fn of(name: String, remote: &Remote) -> Self {
        Self {
            name,
            snapshot: remote.snapshot(),
            fail_open: remote.fail_open(),
        }
    }
}

impl Fleet {
    /// One pair by its name, or the only one.
    pub(crate) fn find(&self, name: Option<&str>) -> Result<(String, Remote), AskError> {
        let members = self.members();
        let names = || {
            let names: Vec<&str> = members.iter().map(|m| m.name.as_str()).collect();
            names.join(", ")
        };
        let found = match (name, &members[..]) {
            (Some(name), members) => members.iter().find(|member| member.name == name),
            (None, [only]) => Some(only),
            (None, _) => return Err(AskError::WhichPair(names())),
        };
        found
            .map(|member| (member.name.clone(), member.remote.clone()))
            .ok_or_else(|| AskError::NoPair(name.unwrap_or_default().to_owned(), names()))
    }

    /// What has been counted: of one pair by its name, or of all. Of several those that do not
    /// answer are left to whoever asks.
    pub(crate) fn snapshots(&self, name: Option<&str>) -> Result<Vec<Said>, AskError> {
        let members = self.members();
        let all: Vec<_> = members
            .iter()
            .map(|member| (member.name.clone(), member.remote.clone()))
            .collect();
        drop(members);
        if name.is_none() && all.len() > 1 {
            return Ok(all
                .into_iter()
                .map(|(name, remote)| Said::of(name, &remote))
                .collect());
        }
        let (name, remote) = self.find(name)?;
        let said = Said::of(name, &remote);
        match said.snapshot {
            Err(error) => Err(AskError::Remote(said.name, error)),
            Ok(_) => Ok(vec![said]),
        }
    }

    /// What an observer sees: one pair by its name, or all.
    pub(crate) fn watched(&self, name: Option<&str>) -> Result<Vec<Watched>, AskError> {
        let wanted = name.map(|name| self.find(Some(name))).transpose()?;
        let members = self.members();
        let wanted =
            |member: &&Member| wanted.as_ref().is_none_or(|(name, _)| *name == member.name);
        let watched = members.iter().filter(wanted).map(|member| Watched {
            name: member.name.clone(),
            remote: member.remote.clone(),
            flows: Arc::clone(&member.flows),
            talkers: Arc::clone(&member.talkers),
        });
        Ok(watched.collect())
    }

    /// What has been counted, of all pairs, also those that do not answer.
    pub(crate) fn all_stats(&self) -> Vec<PairStats> {
        let members = self.members();
        let remotes: Vec<_> = members
            .iter()
            .map(|m| (m.name.clone(), m.remote.clone()))
            .collect();
        drop(members);
        let ask = |(name, remote): (String, Remote)| {
            let mut config = remote.config();
            let snapshot = remote.snapshot().ok();
            let rate = |side: Side| match snapshot.as_ref()?.followed[side as usize] {
                Some(followed) => Some(followed.rate),
                None => config.side(side).line.rate.fixed(),
            };
            PairStats {
                name,
                rates: Side::BOTH.map(rate),
                fail_open: remote.fail_open(),
                snapshot,
            }
        };
        remotes.into_iter().map(ask).collect()
    }

    /// Statistics as text: what `tc -s qdisc` prints and what the bridges count; of one pair by its
    /// name, or of all.
    ///
    /// # Errors
    /// When there is no such pair, or the only one does not answer.
    pub(crate) fn text_of(&self, name: Option<&str>) -> Result<String, AskError> {
        let said = self.snapshots(name)?;
        let text = |said: &Said| {
            let text = match &said.snapshot {
                Ok(snapshot) => snapshot.text(),
                Err(error) => format!("{error}\n"),
            };
            let fail_open = &said.fail_open;
            let repairs = match fail_open.repairs {
                0 => String::new(),
                1 => "; repaired once".to_owned(),
                times => format!("; repaired {times} times"),
            };
            let text = format!("{text}{}{repairs}\n", fail_open.text);
            (said.name.clone(), text)
        };
        Ok(below_names(&said.iter().map(text).collect::<Vec<_>>()))
    }

    /// Statistics of all pairs as text.
    ///
    /// # Errors
    /// When the only pair does not answer.
    pub fn text(&self) -> Result<String, AskError> {
        self.text_of(None)
    }

    /// Has one direction of a pair changed by somebody.
    pub(crate) fn change(
        &self,
        by: &str,
        pair: Option<&str>,
        change: impl FnOnce(&Remote) -> Result<(), RemoteError>,
    ) -> Result<String, AskError> {
        let (name, remote) = self.find(pair)?;
        let as_it_is = || Pair {
            name: name.clone(),
            config: remote.config(),
            seeded: false,
            pcap: None,
        };
        let before = as_it_is();
        let changed = change(&remote);
        for difference in differences(&before, &as_it_is()) {
            self.note(by, &format!("pair {name}: {difference}"));
        }
        match changed {
            Ok(()) => Ok(name),
            Err(error) => Err(AskError::Remote(name, error)),
        }
    }

    /// Gives one direction of a pair another rate for somebody, unless it follows its link.
    pub(crate) fn set_rate(
        &self,
        by: &str,
        pair: Option<&str>,
        side: Side,
        rate: LineRate,
    ) -> Result<String, AskError> {
        let (name, remote) = self.find(pair)?;
        if remote.config().side(side).autorate.is_some() {
            return Err(AskError::Follows(name, side.name()));
        }
        self.change(by, Some(&name), |bridge| bridge.set_rate(side, rate))
    }

    /// What was changed and by whom, the oldest first; what `autorate` has done last too.
    pub(crate) fn all_history(&self) -> Vec<Value> {
        let members = self.members();
        let remotes: Vec<_> = members
            .iter()
            .map(|m| (m.name.clone(), m.remote.clone()))
            .collect();
        drop(members);
        let mut told = Vec::new();
        for (name, remote) in remotes {
            let clock = remote.config().clock;
            let (now, today) = (clock.now(), SystemTime::now());
            // One that does not answer has nothing to say.
            let all = remote.told().unwrap_or_default();
            told.extend(all.iter().map(|it| {
                let ago = Duration::from_nanos((now - it.at).as_nanos());
                let at = today.checked_sub(ago).unwrap_or(today);
                Entry::new(at, "autorate", &format!("pair {name}: {it}"))
            }));
        }
        self.history.json_with(told)
    }
}

/// Statistics of several pairs as text, each below its name; of a single one without.
pub fn show<'a>(snapshots: impl Iterator<Item = (&'a str, &'a Snapshot)>) -> String {
    let text = |(name, snapshot): (&str, &Snapshot)| (name.to_owned(), snapshot.text());
    below_names(&snapshots.map(text).collect::<Vec<_>>())
}

fn below_names(texts: &[(String, String)]) -> String {
    if let [(_, only)] = texts {
        return only.clone();
    }
    let named = texts
        .iter()
        .map(|(name, text)| format!("pair {name}\n{text}"));
    named.collect::<Vec<_>>().join("\n")
}
