//! Rates that follow a slower link.

use crate::hop::{AutorateTable, EndWord};
use crate::resolver::Resolver;
use sojourn_autorate::{Params, Reflector};
use sojourn_line::LineRate;
use sojourn_units::show_rate;

/// What a link's rate does.
#[derive(Clone, Copy, Debug)]
pub struct Autorate {
    /// Between which rates, and by which delay.
    pub params: Params,
    /// As written.
    pub beyond: Option<EndWord>,
}

impl Autorate {
    /// That of the same link the other way.
    #[must_use]
    pub fn turned(self) -> Self {
        let beyond = match self.beyond.unwrap_or_default() {
            EndWord::To => EndWord::From,
            EndWord::From => EndWord::To,
        };
        Self {
            beyond: Some(beyond),
            ..self
        }
    }
}

impl Resolver<'_> {
    /// Who is asked for a slow link's delay, as is written in the table at `above`; whether a rate
    /// follows that link.
    pub fn reflectors(
        &mut self,
        above: &str,
        texts: Option<&[String]>,
        follows: bool,
    ) -> Option<Vec<Reflector>> {
        let path = format!("{above}.reflectors");
        if texts.is_some() && !follows {
            let message = "has no effect: no rate has `autorate`";
            return self.refuse(&path, message);
        }
        let mut all = Vec::new();
        for (number, text) in texts.unwrap_or_default().iter().enumerate() {
            let path = format!("{path}[{}]", number + 1);
            match text.parse() {
                Ok(reflector) if all.contains(&reflector) => {
                    return self.refuse(&path, "is named twice");
                }
                Ok(reflector) => all.push(reflector),
                Err(message) => return self.refuse(&path, &message),
            }
        }
        Some(all)
    }

    /// What the rate of a link does, as is written at `path`.
    pub fn autorate(
        &mut self,
        path: &str,
        table: &AutorateTable,
        rate: &LineRate,
    ) -> Option<Autorate> {
        let Some(base) = rate.fixed() else {
            let message = "the link has no constant `rate`, from which it could begin";
            let help = "for example `rate = \"20mbit\"`; what varies is a link behind it";
            return self.advise(path, message, help);
        };
        let threshold = table.threshold.map_or(Params::THRESHOLD, |time| time.0);
        let (min, max) = (table.min.0, table.max.0);
        if min.is_zero() {
            return self.refuse(&format!("{path}.min"), "must be above zero");
        }
        for (key, bound, wrong) in [("min", min, min > base), ("max", max, max < base)] {
            if wrong {
                let side = if key == "min" { "above" } else { "below" };
                let [bound, base] = [bound, base].map(show_rate);
                let message = format!("{bound} is {side} the link's `rate`, {base}");
                let help = "the rate is between both: where it begins, and where it goes back to";
                return self.advise(&format!("{path}.{key}"), message, help);
            }
        }
        if threshold.is_zero() {
            return self.refuse(&format!("{path}.threshold"), "must be above zero");
        }
        Some(Autorate {
            params: Params {
                min,
                base,
                max,
                threshold,
            },
            beyond: table.beyond,
        })
    }
}
