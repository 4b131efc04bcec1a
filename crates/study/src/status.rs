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
