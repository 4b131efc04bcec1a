//! Another queue for one direction of a pair: words laid over what runs, as `tc qdisc change` does,
//! or in its place.

use crate::fleet::{AskError, Fleet};
use crate::pair::{queue, show_line_rate};
use serde_json::{Value, json};
use sojourn_bridge::{Direction, Side};
use sojourn_line::LineRate;
use sojourn_qdisc::{Entrance, Reading, Spec, SpecError, Taken};
use sojourn_units::{Rate, show_rate};

/// A queue as somebody has written it; what it means depends on what runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Words {
    /// In tc's notation.
    pub(crate) text: String,
    /// Whether what the words do not name becomes its default.
    pub(crate) replaces: bool,
    /// Whether they are read as tc reads them.
    pub(crate) as_tc: bool,
}

/// Why a queue stays as it is.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ChangeError {
    #[error(transparent)]
    Ask(#[from] AskError),
    #[error(transparent)]
    Spec(#[from] SpecError),
    /// Nothing would shape any more.
    #[error(
        "{side} shapes to {rate}, and `{name}` would not shape: give it a rate \
         (`htb rate {rate} over ...`), say `unlimited` to cake, or `replace` instead of `change`"
    )]
    LosesRate {
        side: &'static str,
        rate: String,
        name: &'static str,
    },
    /// Its queue is a tree of many.
    #[error(
        "{0} has the queues of `subscribers`: `qdisc` of the bridge's file says what they are, and \
         `reload` has the bridge follow it"
    )]
    Subscribers(&'static str),
}

impl Words {
    /// The queue that the words make of a direction's.
    fn read(&self, side: Side, running: &Direction) -> Result<Taken, ChangeError> {
        if matches!(running.qdisc, Spec::Tree(_)) {
            return Err(ChangeError::Subscribers(side.name()));
        }
        let own = queue(running);
        let reading = Reading {
            running: Some(&own).filter(|_| !self.replaces),
            as_tc: self.as_tc,
        };
        let mut taken = reading.read(&self.text)?;
        // Whether super-packets are cut belongs to the link: it stays unless it is named.
        taken.queue.split_gso = taken.queue.split_gso.or(running.split_gso);
        let is_asked =
            self.replaces || self.text.split_whitespace().any(|word| word == "unlimited");
        match running.qdisc.shapes_to() {
            Some(rate) if !is_asked && taken.queue.spec.shapes_to().is_none() => {
                Err(ChangeError::LosesRate {
                    side: side.name(),
                    rate: show_rate(rate),
                    name: taken.queue.spec.name(),
                })
            }
            Some(rate) if taken.queue.spec.shapes_to().is_none() => {
                let note = format!("the shaper's rate of {} is gone", show_rate(rate));
                taken.notes.push(note);
                Ok(taken)
            }
            _ => Ok(taken),
        }
    }
}

/// The answer to a change: what was there before, and what is there after it.
fn changed(pair: &str, side: Side, [before, after]: [String; 2], notes: &[String]) -> Value {
    json!({
        "ok": true,
        "pair": pair,
        "side": side.name(),
        "before": before,
        "after": after,
        "notes": notes,
    })
}

impl Fleet {
    /// Gives one direction of a pair another queue for somebody, and says what was before.
    pub(crate) fn change_queue(
        &self,
        by: &str,
        pair: Option<&str>,
        side: Side,
        words: &Words,
    ) -> Result<Value, ChangeError> {
        let mut read = None;
        let done = self.change(by, pair, |bridge| {
            bridge.reconfigure(|config| {
                let direction = config.side(side);
                let before = queue(direction);
                let taken = words.read(side, direction);
                if let Ok(taken) = &taken {
                    let Entrance { spec, split_gso } = taken.queue.clone();
                    (direction.qdisc, direction.split_gso) = (spec, split_gso);
                }
                read = Some(taken.map(|taken| (before, taken)));
            })
        });
        // What is wrong with the words comes first: nothing has changed then. Without a pair they
        // were not read.
        let read = read.transpose()?;
        let name = done?;
        let texts = read
            .as_ref()
            .map(|(before, taken)| [before, &taken.queue].map(ToString::to_string));
        let notes = read.as_ref().map_or(&[][..], |(_, taken)| &taken.notes);
        let mut answer = changed(&name, side, texts.unwrap_or_default(), notes);
        answer["spec"] = answer["after"].clone();
        Ok(answer)
    }

    /// Gives one direction of a pair another rate for somebody, unless it follows its link; says
    /// what was before.
    pub(crate) fn change_rate(
        &self,
        by: &str,
        pair: Option<&str>,
        side: Side,
        rate: Option<Rate>,
    ) -> Result<Value, AskError> {
        let (_, remote) = self.find(pair)?;
        let before = show_line_rate(&remote.config().side(side).line.rate);
        let after = rate.map_or("no limit".to_owned(), show_rate);
        let text = rate.map_or("unlimited".to_owned(), show_rate);
        let rate = rate.map_or(LineRate::Infinite, LineRate::Fixed);
        let name = self.set_rate(by, pair, side, rate)?;
        let mut answer = changed(&name, side, [before, after], &[]);
        answer["rate"] = text.into();
        Ok(answer)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn direction(text: &str) -> Direction {
        let Entrance { spec, split_gso } = text.parse().expect(text);
        Direction {
            qdisc: spec,
            split_gso,
            ..Direction::transparent("up")
        }
    }

    fn read(running: &str, text: &str, replaces: bool) -> Result<Taken, ChangeError> {
        let words = Words {
            text: text.to_owned(),
            replaces,
            as_tc: false,
        };
        words.read(Side::Up, &direction(running))
    }

    #[test]
    fn a_change_keeps_what_it_does_not_name_and_a_replacement_does_not() {
        let running = "cake bandwidth 20mbit overhead 44 atm dual-srchost nat";
        let wanted = |text: &str| text.parse::<Entrance>().unwrap();
        let changed = read(running, "cake rtt 50ms", false).unwrap();
        assert_eq!(
            changed.queue,
            wanted("cake bandwidth 20mbit overhead 44 atm dual-srchost nat rtt 50ms")
        );
        assert!(changed.notes.is_empty());
        let replaced = read(running, "cake rtt 50ms", true).unwrap();
        assert_eq!(replaced.queue, wanted("cake rtt 50ms"));
        assert_eq!(replaced.notes, ["the shaper's rate of 20Mbit is gone"]);
        let cut = read("split-gso cake", "fq_codel", true).unwrap();
        assert_eq!(cut.queue, wanted("fq_codel split-gso"));
    }

    #[test]
    fn wrong_words_are_refused_with_what_would_be_right() {
        for (text, part) in [
            ("fq_codel target 5", "`target 5` needs a unit"),
            ("codle", "did you mean `codel`?"),
        ] {
            let error = read("pfifo", text, false).unwrap_err().to_string();
            assert!(error.contains(part), "{error}");
        }
    }

    #[test]
    fn a_rate_is_lost_when_somebody_says_so() {
        for running in [
            "cake bandwidth 20mbit",
            "htb rate 20mbit over fq_codel",
            "tbf rate 20mbit burst 5kb latency 50ms",
        ] {
            let error = read(running, "fq_codel target 9ms", false).unwrap_err();
            assert_eq!(
                error.to_string(),
                "up shapes to 20Mbit, and `fq_codel` would not shape: give it a rate (`htb rate \
                 20Mbit over ...`), say `unlimited` to cake, or `replace` instead of `change`"
            );
            assert!(read(running, "fq_codel", true).is_ok());
            assert!(read(running, "cake unlimited", false).is_ok());
            assert!(read(running, "htb rate 5mbit over fq_codel", false).is_ok());
        }
        assert!(read("fq_codel", "codel", false).is_ok());
    }
}
