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
    let claimed = claims.len() - own;
    let s = if claimed == 1 { "" } else { "s" };
    let published = format!("{claimed} claim{s}: {}", counts(false, true));
    match own {
        0 => vec![published],
        _ => vec![published, format!("{own} of ours: {}", counts(true, false))],
    }
}

/// Whether the source holds, in a sentence: what became of its own statements.
pub(crate) fn answer(claims: &[(Status, bool)]) -> String {
    let of = |status| claims.iter().filter(|it| **it == (status, false)).count();
    let [published, reference, model, open] = [
        Status::Published,
        Status::Reference,
        Status::Model,
        Status::Open,
    ]
    .map(of);
    let judged = published + reference + model + open;
    let untold = of(Status::NotJudged);
    let left_out = match untold {
        0 => String::new(),
        _ => format!(" {untold} of its statements {} not judged.", be(untold)),
    };
    if judged == 0 {
        return format!("These runs judge none of its statements.{left_out}");
    }
    if published == judged {
        let all = if judged == 1 {
            "the one statement".to_owned()
        } else {
            format!("all {judged} statements")
        };
        // A few of many do not tell.
        let word = if untold > judged {
            "Too few are judged to say"
        } else {
            "Yes"
        };
        return format!("{word}: {all} that these runs judge came out as published.{left_out}");
    }
    let word = if published == 0 { "No" } else { "In part" };
    let others: Vec<String> = [
        (reference, "as an independent reference, not as published"),
        (open, "open: it is not known which side is right"),
        (model, "our model's fault"),
    ]
    .into_iter()
    .filter(|(count, _)| *count > 0)
    .map(|(count, what)| format!("{count} {} {what}", be(count)))
    .collect();
    format!(
        "{word}: {published} of {judged} statements came out as published; {}.{left_out}",
        others.join("; ")
    )
}

const fn be(count: usize) -> &'static str {
    if count == 1 { "is" } else { "are" }
}

#[cfg(test)]
mod tests {
    use super::{Status, answer, tally};

    #[test]
    fn a_page_begins_with_an_answer() {
        let of = |statuses: &[Status]| {
            let claims: Vec<_> = statuses.iter().map(|status| (*status, false)).collect();
            answer(&claims)
        };
        let [published, open] = [Status::Published, Status::Open];
        assert_eq!(
            of(&[published]),
            "Yes: the one statement that these runs judge came out as published."
        );
        assert_eq!(
            of(&[published, published, Status::NotJudged]),
            "Yes: all 2 statements that these runs judge came out as published. 1 of its \
             statements is not judged."
        );
        assert_eq!(
            of(&[published, Status::NotJudged, Status::NotJudged]),
            "Too few are judged to say: the one statement that these runs judge came out as \
             published. 2 of its statements are not judged."
        );
        assert_eq!(
            of(&[published, open, Status::Reference, Status::Reference]),
            "In part: 1 of 4 statements came out as published; 2 are as an independent reference, \
             not as published; 1 is open: it is not known which side is right."
        );
        assert_eq!(
            of(&[Status::Model]),
            "No: 0 of 1 statements came out as published; 1 is our model's fault."
        );
        assert_eq!(
            of(&[Status::NotJudged]),
            "These runs judge none of its statements. 1 of its statements is not judged."
        );
        // A claim of ours is none of the source's.
        assert_eq!(
            answer(&[(published, false), (open, true)]),
            of(&[published])
        );
    }

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
