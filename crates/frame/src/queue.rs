//! The options of a queue's string as numbers.
//!
//! Not here: switches and words (`ecn`, `triple-isolate`), which no number stands for.

use indexmap::IndexMap;
use sojourn_qdisc::{Kind, Opt, Spec, Unit, kind};
use sojourn_scenario::Quantity;
use std::str::FromStr as _;

/// By name what an option is and its number. A name that stands twice, outside and behind `over`,
/// is that of the outside.
pub(crate) type Options = IndexMap<&'static str, (Quantity, f64)>;

/// All options of a queue, those with their defaults among them; empty for what is no queue.
pub(crate) fn options(text: &str) -> Options {
    Spec::from_str(text).map_or_else(|_| Options::new(), |spec| written(&spec.to_string()))
}

/// The options that a string names.
pub(crate) fn written(text: &str) -> Options {
    let mut found = Options::new();
    let mut words = text.split_whitespace();
    let mut of: Option<&Kind> = words.next().and_then(kind);
    while let Some((inside, word)) = of.zip(words.next()) {
        match inside.option(word) {
            Some((
                Opt {
                    unit: Unit::Discipline,
                    ..
                },
                _,
            )) => of = words.next().and_then(kind),
            Some((
                Opt {
                    unit: Unit::Choice(_) | Unit::Switch(_),
                    ..
                },
                _,
            ))
            | None => {}
            Some((opt, _)) => {
                let option = words.next().and_then(|value| number(opt.unit, value));
                if let Some(option) = option {
                    found.entry(opt.name).or_insert(option);
                }
            }
        }
    }
    found
}

/// The number of a value, and what it is; none of a word.
fn number(unit: Unit, value: &str) -> Option<(Quantity, f64)> {
    let quantity = match unit {
        Unit::Time => Quantity::Time,
        Unit::TimeOrPackets if !value.ends_with('p') => Quantity::Time,
        Unit::Rate => Quantity::Rate,
        Unit::Bytes => Quantity::Size,
        Unit::BytesOrPackets if !value.ends_with('p') => Quantity::Size,
        Unit::Mask | Unit::Word(_) | Unit::Choice(_) | Unit::Switch(_) | Unit::Discipline => {
            return None;
        }
        _ => Quantity::Number,
    };
    let number = match quantity {
        Quantity::Number => value
            .trim_end_matches(['p', '%'])
            .parse()
            .unwrap_or(f64::NAN),
        other => other.number(value),
    };
    (!number.is_nan()).then_some((quantity, number))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_are_numbers_in_the_unit_of_their_quantity() {
        let named = written("htb rate 9.5mbit over fq_codel target 10ms flows 64 ecn");
        let expected = [
            ("rate", (Quantity::Rate, 9.5e6)),
            ("target", (Quantity::Time, 10.0)),
            ("flows", (Quantity::Number, 64.0)),
        ];
        assert_eq!(named, Options::from(expected));
        let all = options("fq_codel target 10ms");
        assert_eq!(all["target"], (Quantity::Time, 10.0));
        assert_eq!(all["interval"], (Quantity::Time, 100.0), "the default");
        assert_eq!(all["limit"], (Quantity::Number, 10_240.0));
        assert_eq!(
            written("bfifo limit 250kb")["limit"],
            (Quantity::Size, 256_000.0)
        );
        assert!(options("MyAqm").is_empty() && written("pfifo").is_empty());
    }
}
