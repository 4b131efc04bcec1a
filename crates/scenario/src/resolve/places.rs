//! Where a radio's stations are, from the first moment on, and who is ever within reach of whom.

use super::Resolver;
use super::radio::POWER_DBM;
use crate::format::{ChangeTable, RadioTable, ScenarioFile};
use sojourn_radio::{Place, Profile};
use sojourn_units::Span;
use sojourn_world::{Medium, Network, Radio, Routing};

/// A station is elsewhere from some time on.
struct Move {
    at: Span,
    station: usize,
    to: Place,
    /// The key that says so.
    path: String,
}

/// The changes of a file that move stations of these names, in the order of time. What is wrong
/// with a change is said where changes are read.
fn moves(file: &ScenarioFile, names: &[&str]) -> Vec<Move> {
    let moved = |(index, table): (usize, &ChangeTable)| {
        let [x, y] = table.position.as_deref()? else {
            return None;
        };
        let station = names.iter().position(|name| *name == table.link.0)?;
        let path = match &table.name {
            Some(name) => format!("change.{}.position", name.0),
            None => format!("change[{}].position", index + 1),
        };
        let (at, to) = (table.at.0, Place { x: x.0, y: y.0 });
        Some(Move {
            at,
            station,
            to,
            path,
        })
    };
    let changes = file.change.iter().flatten().enumerate();
    let mut moves: Vec<Move> = changes.filter_map(moved).collect();
    moves.sort_by_key(|one| one.at);
    moves
}

impl Resolver<'_> {
    /// Refuses two stations at one place, and those that nobody can receive at any time.
    pub(super) fn check_places(
        &mut self,
        names: &[String],
        places: &[Place],
        file: &ScenarioFile,
        table: &RadioTable,
    ) {
        let mut order: Vec<usize> = (0..places.len()).collect();
        let key = |index: &usize| (places[*index].x, places[*index].y);
        order.sort_by(|a, b| {
            key(a)
                .0
                .total_cmp(&key(b).0)
                .then(key(a).1.total_cmp(&key(b).1))
        });
        for pair in order.windows(2) {
            if places[pair[0]] == places[pair[1]] {
                let path = if self.tree.has("node") {
                    format!("node.{}.position", names[pair[1]])
                } else {
                    "radio".to_owned()
                };
                return self.at_one_place(&path, names, [pair[0], pair[1]]);
            }
        }
        let range = table.range.map_or(Profile::NS2_B.range, |range| range.0);
        // Power falls with the square of the distance at least.
        let nodes = file.node.iter().flatten();
        let powers = nodes.filter_map(|node| node.power_dbm).map(|dbm| dbm.0);
        let most = powers.fold(POWER_DBM, f64::max);
        let farther = Profile::ratio((most - POWER_DBM) / 2.0);
        let reaches = |places: &[Place], at: usize| {
            let mut others = places.iter().enumerate().filter(|(other, _)| *other != at);
            others.any(|(_, place)| places[at].distance(*place) <= range * 1.001 * farther)
        };
        // Chains and grids are alike everywhere.
        let some = if self.tree.has("node") {
            places.len()
        } else {
            1
        };
        let mut alone: Vec<usize> = (0..some).filter(|&at| !reaches(places, at)).collect();
        let mut places = places.to_vec();
        let known: Vec<&str> = names.iter().map(String::as_str).collect();
        for same in moves(file, &known).chunk_by(|a, b| a.at == b.at) {
            for one in same {
                places[one.station] = one.to;
            }
            for one in same {
                let mut all = places.iter().enumerate();
                if let Some((other, _)) =
                    all.find(|&(at, place)| at != one.station && *place == places[one.station])
                {
                    return self.at_one_place(&one.path, names, [other, one.station]);
                }
            }
            alone.retain(|&at| !reaches(&places, at));
        }
        if let Some(alone) = alone.first() {
            let path = match (&table.chain, &table.grid) {
                (Some(_), _) => "radio.chain.spacing".to_owned(),
                (_, Some(_)) => "radio.grid.spacing".to_owned(),
                _ => format!("node.{}.position", names[*alone]),
            };
            let message = format!("no station is ever within {range} m of `{}`", names[*alone]);
            self.complain(&path, message);
        }
    }

    fn at_one_place(&mut self, path: &str, names: &[String], [one, other]: [usize; 2]) {
        let message = format!("`{}` and `{}` are at one place", names[one], names[other]);
        self.complain(path, message);
    }
}

/// Whether stations that move lead from one node to another at some time of the run, which only a
/// routing protocol notices. Routes take links whose frames come both ways, so they lead back then
/// too.
pub(super) fn join_later(file: &ScenarioFile, network: &Network, [from, to]: [usize; 2]) -> bool {
    let Some(radio) = network.radio() else {
        return false;
    };
    if matches!(radio.routing, Routing::Static { .. }) {
        return false;
    }
    let mut places = radio.places().to_vec();
    let mut later = network.clone();
    let moves = moves(file, &network.node_names());
    moves.chunk_by(|a, b| a.at == b.at).any(|same| {
        for one in same {
            places[one.station] = one.to;
        }
        let powers = radio.powers().to_vec();
        let moved =
            Radio::with_powers(radio.profile, places.clone(), powers, radio.routing.clone());
        later.media = vec![Medium::Radio(Box::new(moved))];
        later.path(from, to).is_some()
    })
}
