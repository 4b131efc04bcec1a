//! A radio medium and its stations.

use super::Resolver;
use super::buffers::link_path;
use crate::format::{NodeTable, PreambleWord, ProfileWord, PropagationWord};
use crate::format::{RadioTable, RoutingWord, ScenarioFile};
use crate::quantity::Length;
use sojourn_radio::{AodvParams, Place, Profile};
use sojourn_text::hop::DEFAULT_QDISC;
use sojourn_units::{Rate, Span, show_rate};
use sojourn_world::{Network, Radio, Routing};

/// Most packets below a queue.
const MOST_DRIVER: u32 = 1000;
/// The power of a station that says none, ns-2's of the ADTH paper (table 1).
pub(super) const POWER_DBM: f64 = 15.0;
/// Most that a band allows anywhere.
const MOST_DBM: f64 = 36.0;
/// Most stations.
const MOST: u32 = 10_001;

impl Resolver<'_> {
    /// The network of a scenario with `[radio]`.
    pub(super) fn radio(&mut self, file: &ScenarioFile, table: &RadioTable) -> Option<Network> {
        for (path, is_there) in [
            ("dumbbell", file.dumbbell.is_some()),
            ("link", file.link.is_some()),
        ] {
            if is_there {
                let message = "the stations of a radio need no links: leave it out";
                return self.refuse(path, message);
            }
        }
        let profile = self.profile(table);
        let routing = self.routing(table);
        if let Some(profile) = &profile
            && table.hop.is_some_and(|hop| hop.0 > profile.range)
        {
            let message = format!("must not be above the range of {} m", profile.range);
            return self.refuse("radio.hop", message);
        }
        let (names, places) = self.stations(file, table)?;
        self.check_places(&names, &places, file, table);
        let nodes = file.node.as_deref().unwrap_or_default();
        let powers = self.powers(file.node.as_deref().unwrap_or_default());
        let driver_queue = table.driver_queue.unwrap_or(0);
        if driver_queue > MOST_DRIVER {
            let message = format!("{driver_queue} is not a number from 0 to {MOST_DRIVER}");
            return self.refuse("radio.driver_queue", message);
        }
        let mut radio = Radio::with_powers(profile?, places, powers?, routing?);
        radio.driver_queue = driver_queue;
        radio.routing_first = table.routing_first.unwrap_or(true);
        radio.arp = table.arp.unwrap_or(radio.arp);
        let deadline = |index: usize| {
            let own = nodes
                .get(index)
                .and_then(|node: &NodeTable| node.nodal_deadline);
            own.or(table.nodal_deadline).map(|deadline| deadline.0)
        };
        radio.nodal_deadlines = (0..names.len()).map(deadline).collect();
        let mut qdiscs = Vec::new();
        for (index, name) in names.iter().enumerate() {
            let own = nodes.get(index).and_then(|node| node.qdisc.as_ref());
            let path = match own {
                Some(_) => format!("node.{name}"),
                None => "radio".to_owned(),
            };
            let words = own.or(table.qdisc.as_ref()).map(|queue| queue.0.clone());
            let queue = words.map_or(Some(DEFAULT_QDISC), |words| {
                let key = format!("{path}.qdisc");
                let queue = words.for_link(&key, link_path(file, None), self.problems)?;
                self.plain(&path, queue)
            });
            qdiscs.push(queue?);
        }
        let mut network = Network::new(names.iter().map(String::as_str));
        network.share(radio, qdiscs);
        Some(network)
    }

    /// Sent powers over the profile's, for which `range` and `sense` hold.
    fn powers(&mut self, nodes: &[NodeTable]) -> Option<Vec<f64>> {
        let mut powers = Vec::new();
        for node in nodes {
            let dbm = node.power_dbm.map_or(POWER_DBM, |power| power.0);
            if dbm > MOST_DBM {
                let path = format!("node.{}.power_dbm", node.name.0);
                let message = format!("{dbm} is not a number from 0 to {MOST_DBM}");
                return self.refuse(&path, message);
            }
            powers.push(Profile::ratio(dbm - POWER_DBM));
        }
        Some(powers)
    }

    /// Names and places of the stations: one of the three ways to give them.
    fn stations(
        &mut self,
        file: &ScenarioFile,
        table: &RadioTable,
    ) -> Option<(Vec<String>, Vec<Place>)> {
        let numbered = |places: Vec<Place>| {
            let names = (0..places.len()).map(|number| format!("n{number}"));
            (names.collect(), places)
        };
        match (&table.chain, &table.grid, &file.node) {
            (Some(chain), None, None) => {
                let hops = self.count("radio.chain.hops", chain.hops, MOST - 1)?;
                let spacing = self.apart("radio.chain.spacing", chain.spacing)?;
                let place = |hop| Place {
                    x: f64::from(hop) * spacing,
                    y: 0.0,
                };
                Some(numbered((0..=hops).map(place).collect()))
            }
            (None, Some(grid), None) => {
                let columns = self.count("radio.grid.columns", grid.columns, 1000)?;
                let rows = self.count("radio.grid.rows", grid.rows, 1000)?;
                let spacing = self.apart("radio.grid.spacing", grid.spacing)?;
                if columns * rows > MOST {
                    let message = format!("{} stations; at most {MOST}", columns * rows);
                    return self.refuse("radio.grid", message);
                }
                let place = |number: u32| Place {
                    x: f64::from(number % columns) * spacing,
                    y: f64::from(number / columns) * spacing,
                };
                Some(numbered((0..columns * rows).map(place).collect()))
            }
            (None, None, Some(nodes)) => self.placed(nodes),
            (None, None, None) => self.advise(
                "radio",
                "a radio without stations",
                "give `chain`, `grid`, or `[[node]]` with a `position` each",
            ),
            _ => self.refuse("radio", "give one of `chain`, `grid` and `[[node]]`"),
        }
    }

    fn placed(&mut self, nodes: &[NodeTable]) -> Option<(Vec<String>, Vec<Place>)> {
        if !self.check_unique("node", nodes.iter().map(|node| Some(&node.name))) {
            return None;
        }
        let mut places = Vec::new();
        for node in nodes {
            let path = format!("node.{}", node.name.0);
            let Some(position) = &node.position else {
                let help = "for example `position = [\"25m\", \"0m\"]`";
                return self.advise(&path, "missing key `position`, which a radio needs", help);
            };
            places.push(self.position(position, &format!("{path}.position"))?);
        }
        let names = nodes.iter().map(|node| node.name.0.clone()).collect();
        Some((names, places))
    }

    /// East and north.
    pub(super) fn position(&mut self, position: &[Length], path: &str) -> Option<Place> {
        let [x, y] = position else {
            let message = format!("{} lengths; a position has two", position.len());
            return self.advise(path, message, "for example `[\"25m\", \"0m\"]`");
        };
        Some(Place { x: x.0, y: y.0 })
    }

    fn count(&mut self, path: &str, number: u32, most: u32) -> Option<u32> {
        if (1..=most).contains(&number) {
            return Some(number);
        }
        self.refuse(path, format!("{number} is not a number from 1 to {most}"))
    }

    fn apart(&mut self, path: &str, spacing: Length) -> Option<f64> {
        if spacing.0 > 0.0 {
            return Some(spacing.0);
        }
        self.refuse(path, "must be above zero")
    }

    fn routing(&mut self, table: &RadioTable) -> Option<Routing> {
        let hop = match table.hop {
            Some(hop) => Some(self.apart("radio.hop", hop)?),
            None => None,
        };
        let hello = table.hello.map(|every| every.0);
        if hello.is_some_and(Span::is_zero) {
            return self.refuse("radio.hello", "must be above zero");
        }
        let params = match table.routing.unwrap_or(RoutingWord::Static) {
            RoutingWord::Static if hello.is_some() => {
                return self.refuse("radio.hello", "`static` routes need no messages");
            }
            RoutingWord::Static => return Some(Routing::Static { hop }),
            RoutingWord::Aodv => AodvParams::RFC,
            RoutingWord::AodvNs2 => AodvParams::NS2,
        };
        if hop.is_some() {
            return self.refuse("radio.hop", "only `static` routes have a longest hop");
        }
        Some(Routing::Aodv(AodvParams { hello, ..params }))
    }

    /// The constants of all stations.
    fn profile(&mut self, table: &RadioTable) -> Option<Profile> {
        let before = self.problems.len();
        let mut profile = table
            .profile
            .map_or(Profile::STANDARD_B, ProfileWord::value);
        if let Some(range) = table.range {
            profile.range = self.apart("radio.range", range)?;
            // In the proportion of the profile's own.
            profile.sense = profile.range * 2.2;
        }
        if let Some(Length(sense)) = table.sense {
            if sense < profile.range {
                let message = format!("must not be below the range of {} m", profile.range);
                self.complain("radio.sense", message);
            }
            profile.sense = sense;
        }
        profile.propagation =
            (table.propagation).map_or(profile.propagation, PropagationWord::value);
        if let Some(decibels) = table.capture_db {
            if decibels.0 > 100.0 {
                let message = format!("{} is not a number from 0 to 100", decibels.0);
                self.complain("radio.capture_db", message);
            }
            profile.capture = Some(Profile::ratio(decibels.0));
        }
        for (path, given, rate) in [
            ("radio.data_rate", table.data_rate, &mut profile.data_rate),
            (
                "radio.basic_rate",
                table.basic_rate,
                &mut profile.basic_rate,
            ),
        ] {
            if let Some(given) = given {
                *rate = self.rate(path, given.0, table.profile)?;
            }
        }
        profile.answer_rate = match table.basic_rate {
            Some(_) => profile.basic_rate,
            None => profile.answers_at(profile.data_rate),
        };
        if profile.answer_rate > profile.data_rate {
            let message = format!(
                "{} is above the data rate of {}; answers cannot be faster than data",
                show_rate(profile.answer_rate),
                show_rate(profile.data_rate)
            );
            self.complain("radio.basic_rate", message);
        }
        profile.preamble = table.preamble.map_or(profile.preamble, PreambleWord::value);
        profile.rts_above = table.rts_above;
        if let Some(attempts) = table.attempts {
            let attempts = self.count("radio.attempts", attempts, 255)?;
            (profile.short_retries, profile.long_retries) = (attempts, attempts);
        }
        if let Some(window) = table.cw_min {
            profile.cw_min = self.count("radio.cw_min", window, profile.cw_max)?;
        }
        (self.problems.len() == before).then_some(profile)
    }

    /// A rate that the standard of the profile has.
    fn rate(&mut self, path: &str, rate: Rate, profile: Option<ProfileWord>) -> Option<Rate> {
        let known = Profile::RATES.map(|kbps| Rate::from_bps(kbps * 1000));
        let (standard, has): (_, fn(Rate) -> bool) = match profile {
            Some(ProfileWord::StandardG) => ("802.11g", |_| true),
            _ => ("802.11b", |rate| !Profile::is_ofdm(rate)),
        };
        let its_rates: Vec<Rate> = known.into_iter().filter(|rate| has(*rate)).collect();
        if its_rates.contains(&rate) {
            return Some(rate);
        }
        let its = its_rates
            .into_iter()
            .map(show_rate)
            .collect::<Vec<_>>()
            .join(", ");
        let message = format!("IEEE {standard} has no rate of {}", show_rate(rate));
        let help = if known.contains(&rate) {
            format!("it has {its}; of `standard-802.11g` it is one")
        } else {
            format!("it has {its}")
        };
        self.advise(path, message, help)
    }
}
