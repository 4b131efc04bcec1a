//! Rates that follow a slower link.

use super::Resolver;
use crate::format::{AutorateTable, EndWord};
use sojourn_autorate::Params;
use sojourn_units::show_rate;
use sojourn_world::{Following, LineRate, Network};

/// What a link's rate does.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Autorate {
    pub(crate) params: Params,
    /// As written.
    pub(crate) beyond: Option<EndWord>,
}

impl Autorate {
    /// That of the same link the other way.
    pub(super) fn turned(self) -> Self {
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
    /// What the rate of a link does, as is written at `path`.
    pub(super) fn autorate(
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

    /// Gives links with their indices, as written at these paths, rates that follow. Tells whether
    /// all can.
    pub(super) fn follow(
        &mut self,
        network: &mut Network,
        links: Vec<(String, usize, Autorate)>,
    ) -> bool {
        let mut good = true;
        for (path, link, autorate) in links {
            let ends = |link: usize| Some([network.interfaces[link].node, network.wire(link)?.to]);
            let turned = ends(link).map(|[from, to]| [to, from]);
            // The next one is the other half of a duplex.
            let mut others = (link + 1..network.interfaces.len()).chain(0..link);
            let Some(back) = others.find(|&other| ends(other) == turned) else {
                let message = "no link leads back: round trips cannot be seen";
                self.complain(&format!("{path}.autorate"), message);
                good = false;
                continue;
            };
            let (interfaces, way) = match autorate.beyond.unwrap_or_default() {
                EndWord::To => ([link, back], 0),
                EndWord::From => ([back, link], 1),
            };
            let known = &mut network.following;
            let at = known.iter().position(|pair| pair.interfaces == interfaces);
            let at = at.unwrap_or_else(|| {
                known.push(Following {
                    interfaces,
                    params: [None; 2],
                });
                known.len() - 1
            });
            known[at].params[way] = Some(autorate.params);
        }
        good
    }
}
