//! Links whose rate follows a slower link, and the links that lead back.

use super::Resolver;
use sojourn_text::hop::{Autorate, EndWord};
use sojourn_world::{Following, Network};

impl Resolver<'_> {
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
            let at = known
                .iter()
                .position(|pair| pair.interfaces == interfaces)
                .unwrap_or_else(|| {
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
