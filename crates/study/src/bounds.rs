//! Where the bounds of the built-in studies come from: "about" is 15 % each way, also of a bound
//! that is written as a difference; a range is the paper's, a deviation's bound its reference's.

use crate::Study;
use crate::claims::{Cells, Evaluator, combinations};
use crate::documents::{NAMES, load};

/// "About".
const ABOUT: f64 = 0.15;

/// `for BINDERS: VALUE in LOW .. HIGH`, its parts as they are written.
struct Range<'a> {
    binders: &'a str,
    value: &'a str,
    ends: [f64; 2],
}

impl<'a> Range<'a> {
    /// None where the check is something else, or an end is no number but a figure.
    fn of(check: &'a str) -> Option<Self> {
        let (rest, high) = check.rsplit_once("..")?;
        let (rest, low) = rest.rsplit_once(" in ")?;
        let (binders, value) = match rest.split_once(": ") {
            Some((binders, value)) if binders.starts_with("for ") => (&binders[4..], value),
            _ => ("", rest),
        };
        let ends = [number(low)?, number(high)?];
        let value = value.trim();
        Some(Self {
            binders,
            value,
            ends,
        })
    }

    /// What was measured elsewhere, where the value is the distance of ours from it.
    fn target(&self) -> Option<&'a str> {
        let (_, target) = self.value.split_once(" - ")?;
        (target.starts_with("ref.") || number(target).is_some()).then_some(target)
    }
}

/// A number, also a product, or a difference in parentheses: `12 * 0.85`, `(0 - 3.3%)`.
fn number(text: &str) -> Option<f64> {
    let text = text.trim().trim_start_matches('(').trim_end_matches(')');
    if let Some((left, right)) = text.split_once(" - ") {
        return Some(number(left)? - number(right)?);
    }
    if let Some((left, right)) = text.split_once(" * ") {
        return Some(number(left)? * number(right)?);
    }
    match text.trim().strip_suffix('%') {
        Some(percent) => Some(percent.trim().parse::<f64>().ok()? / 100.0),
        None => text.trim().parse().ok(),
    }
}

/// The numbers in a sentence, without their signs.
fn said(sentence: &str) -> Vec<f64> {
    let split = sentence.split(|c: char| !c.is_ascii_digit() && c != '.');
    let numbers = split.filter_map(|word| word.trim_matches('.').parse::<f64>().ok());
    numbers.collect()
}

/// Whether a sentence says a number, in any usual unit: points, ms, kbit/s or Mbit/s.
fn says(sentence: &str, end: f64) -> bool {
    let units = [1.0, 0.01, 1e3, 1e6];
    // None of a count of packets is 0.0 % of them, as it is printed.
    let nothing = end.abs() <= 0.000_501;
    nothing
        || said(sentence)
            .iter()
            .flat_map(|number| units.map(|unit| number * unit))
            .any(|number| (end.abs() - number).abs() <= ABOUT * number * (1.0 + 1e-9))
}

/// Why a range is wider than its source allows, if it is.
fn complaint(study: &Study, check: &str, source: &str) -> Option<String> {
    let range = Range::of(check)?;
    let Some(target) = range.target() else {
        let unsaid = range.ends.into_iter().find(|end| !says(source, *end));
        return unsaid.map(|end| format!("{check}\n  {end} is not in: {source}"));
    };
    let words = &study.words;
    let binders = match range.binders {
        "" => Vec::new(),
        binders => crate::claims::binders(binders, words).expect("it was read before"),
    };
    let target = crate::claims::quantity(target, words).expect("it was read before");
    let cells = Cells::planned(&[]);
    let mut evaluator = Evaluator::new(words, &cells);
    let off = range.ends.into_iter().map(f64::abs).fold(0.0, f64::max);
    let wide = combinations(&binders).into_iter().find(|place| {
        let value = evaluator.quantity_at(place, &target);
        value.is_ok_and(|value| off > ABOUT * value.median.abs())
    });
    wide.map(|place| format!("{check}\n  {off} is above 15 % of it at {place:?}"))
}

#[test]
fn a_range_is_the_paper_s_and_a_deviation_s_bound_its_reference_s() {
    let (mut seen, mut wrong) = (0, Vec::new());
    // Those of RFC 9332 come from its words.
    for name in NAMES.into_iter().filter(|name| *name != "l4s") {
        let study = load(name);
        for claim in &study.claims {
            for check in &claim.checks {
                seen += usize::from(Range::of(&check.text).is_some());
                if !claim.own {
                    let found = complaint(&study, &check.text, &claim.published);
                    wrong.extend(found.map(|why| format!("{name} {}: {why}", claim.id)));
                }
                for mark in &check.marks {
                    let (Some(bound), Some(source)) = (&mark.bound, &mark.reference) else {
                        continue;
                    };
                    seen += usize::from(Range::of(bound).is_some());
                    let found = complaint(&study, bound, source);
                    wrong.extend(found.map(|why| format!("{name} {}: {why}", claim.id)));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(seen > 60, "only {seen} ranges were found");
}

#[test]
fn bounds_wider_than_about_are_found() {
    let study = load("codel-red");
    let within = |points: &str| {
        let check = format!(
            "for n in four: utilisation[cubic, codel] - ref.ns2_vcfp.used[cubic, codel] \
                     in (0 - {points}) .. {points}"
        );
        complaint(&study, &check, "").is_none()
    };
    // The least of the four is 72.67 %, of which 15 % are 10.9 points.
    assert!(within("10.8%") && !within("11%"));
    let said = |range: &str| complaint(&study, &format!("delay in {range}"), "2 to 4 s").is_none();
    assert!(said("2000 .. 4000") && said("1700 .. 4600"));
    assert!(!said("1600 .. 4000") && !said("2000 .. 4700"));
    let points = |range: &str| {
        let check = format!("drops[codel] - drops[red] in {range}");
        complaint(&study, &check, "2 to 4 points").is_none()
    };
    assert!(points("2% .. 4%") && points("(0 - 2%) .. 2%") && !points("(0 - 3%) .. 3%"));
}
