//! What both formats have in common: names become numbers, and what cannot be is told.

use super::model::{Circuit, Site, Subscribers, Unshaped};
use super::prefix::Prefix;
use sojourn_qdisc::Spec;
use sojourn_text::problem::{Origin, Problem, Problems, nearest};
use sojourn_units::{Rate, show_rate};
use std::collections::{BTreeMap, BTreeSet};

/// Why a circuit's packets are not told by it.
const NO_ADDRESS: &str = "has no address";

/// Most sites that are named in a way out.
const NAMED: usize = 10;

/// What a file says, by names.
#[derive(Debug, Default)]
pub(super) struct Draft {
    pub(super) sites: Vec<DraftSite>,
    pub(super) circuits: Vec<DraftCircuit>,
    /// Devices without an address, with their circuits.
    pub(super) bare: Vec<(String, String)>,
}

/// A name of a site, and where it is said.
pub(super) type Above = Option<(String, Origin)>;

#[derive(Debug)]
pub(super) struct DraftSite {
    pub(super) name: String,
    pub(super) at: Origin,
    pub(super) field: String,
    pub(super) parent: Above,
    pub(super) rates: [Rate; 2],
}

#[derive(Debug)]
pub(super) struct DraftCircuit {
    pub(super) name: String,
    pub(super) at: Origin,
    pub(super) field: String,
    pub(super) parent: Above,
    pub(super) least: [(Rate, Origin); 2],
    pub(super) most: [Rate; 2],
    pub(super) queues: [Option<Spec>; 2],
    pub(super) prefixes: Vec<(Prefix, Origin)>,
}

impl Draft {
    /// Circuits without an address, then devices without one in circuits that have one.
    fn unshaped(&self) -> Vec<Unshaped> {
        let of = |circuit: &str, device: Option<&String>| Unshaped {
            circuit: circuit.to_owned(),
            device: device.cloned(),
            why: NO_ADDRESS,
        };
        let (bare, addressed): (Vec<_>, Vec<_>) =
            (self.circuits.iter()).partition(|circuit| circuit.prefixes.is_empty());
        let addressed: BTreeSet<_> = addressed.iter().map(|circuit| &circuit.name).collect();
        let circuits = bare.iter().map(|circuit| of(&circuit.name, None));
        let devices = self
            .bare
            .iter()
            .filter(|(circuit, _)| addressed.contains(circuit))
            .map(|(circuit, device)| of(circuit, Some(device)));
        circuits.chain(devices).collect()
    }

    /// Puts sites below one another and gives all a number.
    pub(super) fn settle(self, problems: &mut Problems) -> Option<Subscribers> {
        let before = problems.len();
        let unshaped = self.unshaped();
        let sites = order(&self.sites, problems);
        let numbers: BTreeMap<&str, u32> = sites.iter().map(|site| &*site.name).zip(0..).collect();
        let mut names = BTreeSet::new();
        let mut addresses = BTreeMap::new();
        let mut circuits = Vec::with_capacity(self.circuits.len());
        let (mut text, mut prefixes) = (String::new(), Vec::new());
        for circuit in self.circuits {
            if problems.is_full() {
                return None;
            }
            let field = circuit.field.as_str();
            if !names.insert(circuit.name.clone()) {
                let message = format!("another circuit is called `{}` already", circuit.name);
                problems.add(Problem::new(circuit.at, field, message));
            }
            for ((way, (least, at)), most) in ["up", "down"]
                .into_iter()
                .zip(circuit.least)
                .zip(circuit.most)
                .filter(|((_, (least, _)), most)| least > most)
            {
                let (least, most) = (show_rate(least), show_rate(most));
                let message = format!("the least that it has {way}, {least}, is above the most");
                let help = format!("at most {most}");
                problems.add(Problem::new(at, field, message).help(help));
            }
            for (prefix, at) in &circuit.prefixes {
                if let Some(other) = addresses.insert(*prefix, circuit.name.clone())
                    && other != circuit.name
                {
                    let message = format!("{prefix} is an address of the circuit `{other}` too");
                    let help = "an address has one circuit; of prefixes the longest counts";
                    problems.add(Problem::new(*at, field, message).help(help));
                }
            }
            let parent = above(&circuit.parent, field, &numbers, problems);
            let place = circuits.len() as u32;
            prefixes.extend(circuit.prefixes.iter().map(|(prefix, _)| (*prefix, place)));
            let start = text.len() as u32;
            text.push_str(&circuit.name);
            circuits.push(Circuit {
                name: start..text.len() as u32,
                parent,
                least: circuit.least.map(|(least, _)| least),
                most: circuit.most,
                queues: circuit.queues,
            });
        }
        drop(numbers);
        prefixes.dedup();
        (problems.len() == before).then_some(Subscribers {
            sites,
            circuits,
            names: text,
            prefixes,
            unshaped,
        })
    }
}

/// The number of a site; none: the link, or it is not known and that has been told.
fn above(
    parent: &Above,
    field: &str,
    numbers: &BTreeMap<&str, u32>,
    problems: &mut Problems,
) -> Option<u32> {
    let (name, at) = parent.as_ref()?;
    let found = numbers.get(name.as_str()).copied();
    if found.is_none() {
        problems.add(unknown(name, *at, field, numbers.keys().copied()));
    }
    found
}

fn unknown<'a>(
    name: &str,
    at: Origin,
    field: &str,
    known: impl Iterator<Item = &'a str>,
) -> Problem {
    let mut known: Vec<&str> = known.collect();
    known.sort_unstable();
    let help = match nearest(name, known.iter().copied()) {
        Some(name) => format!("did you mean `{name}`?"),
        None if known.is_empty() => "there is no site at all".to_owned(),
        None => {
            let more = if known.len() > NAMED { ", ..." } else { "" };
            known.truncate(NAMED);
            format!("there are {}{more}", known.join(", "))
        }
    };
    Problem::new(at, field, format!("there is no site `{name}`")).help(help)
}

/// The sites, each after the one above it; those that are not below the link are told.
fn order(drafts: &[DraftSite], problems: &mut Problems) -> Vec<Site> {
    let mut places = BTreeMap::new();
    for (place, site) in drafts.iter().enumerate() {
        if places.insert(site.name.as_str(), place).is_some() {
            let message = format!("another site is called `{}` already", site.name);
            problems.add(Problem::new(site.at, &site.field, message));
        }
    }
    let mut below = vec![Vec::new(); drafts.len()];
    let mut ready = Vec::new();
    for (place, site) in drafts.iter().enumerate() {
        match &site.parent {
            None => ready.push((place, None)),
            Some((name, at)) => {
                if let Some(&above) = places.get(name.as_str()) {
                    below[above].push(place);
                } else {
                    let known = places.keys().copied();
                    problems.add(unknown(name, *at, &site.field, known));
                    ready.push((place, None));
                }
            }
        }
    }
    ready.reverse();
    let mut sites = Vec::with_capacity(drafts.len());
    let mut placed = vec![false; drafts.len()];
    while let Some((place, parent)) = ready.pop() {
        placed[place] = true;
        let number = sites.len() as u32;
        let children = below[place].iter().rev();
        ready.extend(children.map(|&child| (child, Some(number))));
        sites.push(Site {
            name: drafts[place].name.clone(),
            parent,
            rates: drafts[place].rates,
        });
    }
    for (site, _) in drafts.iter().zip(placed).filter(|(_, placed)| !placed) {
        let message = format!("the site `{}` is below itself", site.name);
        let at = site.parent.as_ref().map_or(site.at, |(_, at)| *at);
        let help = "the topmost site has no `parent`";
        problems.add(Problem::new(at, &site.field, message).help(help));
    }
    sites
}
