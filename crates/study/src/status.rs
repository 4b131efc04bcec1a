//! How a claim came out, in a word.

use sojourn_units::words;

words! {
    /// How a claim came out; the greater outweighs the smaller.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
    pub enum Status {
        /// The world has none of its cells, or too few seeds, or is not one that it is judged in.
        NotJudged = "not judged",
        /// Every check holds that could be made, and one could.
        Published = "published",
        /// A check fails, and an independent reference gives what we do.
        Reference = "reference",
        /// A check fails or its interval holds zero, and it is not known which side is right.
        Open = "open",
        /// A check fails because of our model, or by more than anybody has explained.
        Model = "model",
    }
}

impl Status {
    /// In a few words, for people.
    pub const fn title(self) -> &'static str {
        match self {
            Self::NotJudged => "not judged",
            Self::Published => "as published",
            Self::Reference => "as an independent reference, not as published",
            Self::Open => "open",
            Self::Model => "our model's fault",
        }
    }
}

/// How many of a world's claims came out how: the source's own statements, then, if there are any,
/// what is claimed here beside them. `claims` are verdicts, and whether the claim is
/// [`Claim::own`].
///
/// [`Claim::own`]: crate::study::Claim::own
pub(crate) fn tally(claims: &[(Status, bool)]) -> Vec<String> {
    const SHOWN: [Status; 5] = [
        Status::Published,
        Status::Reference,
        Status::Model,
        Status::Open,
        Status::NotJudged,
    ];
    let of = |status, own| claims.iter().filter(|it| **it == (status, own)).count();
    let counts = |own, all: bool| {
        let shown = SHOWN
            .map(|status| (of(status, own), status.title()))
            .into_iter()
            .filter(|(count, _)| all || *count > 0)
            .map(|(count, title)| format!("{count} {title}"));
        shown.collect::<Vec<_>>().join(", ")
    };
    let own = claims.iter().filter(|(_, own)| *own).count();
    let published = format!("{} claims: {}", claims.len() - own, counts(false, true));
    match own {
        0 => vec![published],
        _ => vec![published, format!("{own} of ours: {}", counts(true, false))],
    }
}

#[cfg(test)]
mod tests {
    use super::{Status, tally};

    #[test]
    fn claims_of_ours_are_counted_beside_the_statements_of_the_source() {
        let two = [(Status::Published, false), (Status::Open, false)];
        let told = "2 claims: 1 as published, 0 as an independent reference, not as published, \
                    0 our model's fault, 1 open, 0 not judged";
        assert_eq!(tally(&two), [told]);
        let [one, other] = two;
        let more = [one, (Status::Open, true), other, (Status::Published, true)];
        assert_eq!(tally(&more), [told, "2 of ours: 1 as published, 1 open"]);
    }
}
