//! The flows of a cell.

use super::Resolver;
use super::hosts::Hosts;
use super::network::{CLIENT, SERVER};
use crate::apps::Place;
use crate::format::{
    CongestionControl, Direction, FlowTable, RtoWord, ScenarioFile, SlowStartWord, TcpTable,
    TransportWord, VegasWord,
};
use crate::problem::suggestion;
use crate::quantity::{AckDelay, Duration, Name};
use sojourn_apps::{Datagram, Transport as Carrier};
use sojourn_random::Stream;
use sojourn_tcp::{Algorithm, Config, DelayedAck, RtoRule, SlowStart, VegasConfig};
use sojourn_units::{Span, Time, show_span};
use sojourn_world::{Flow, Label, Network, Transport};
use std::collections::BTreeSet;

/// Most flows that one `count` makes.
const MOST_FLOWS: u32 = 10_000;
impl Resolver<'_> {
    pub(super) fn flows(&mut self, file: &ScenarioFile, network: &Network, seed: u64) -> Vec<Flow> {
        if file.flow.is_empty() {
            self.complain("flow", "at least one flow is needed");
        }
        let unique = self.check_unique("flow", file.flow.iter().map(|flow| Some(&flow.name)));
        let mut flows: Vec<Flow> = Vec::new();
        let mut names = BTreeSet::new();
        let mut hosts = Hosts::default();
        for table in &file.flow {
            let made = self.flow(file, table, network, seed).into_iter().flatten();
            for mut flow in made {
                if !names.insert(flow.name.clone()) && unique {
                    let path = format!("flow.{}", table.name.0);
                    let message = format!("`count` makes the name `{}` a second time", flow.name);
                    self.complain(&path, message);
                    break;
                }
                flow.hosts = hosts.of(&flow, table, file.dumbbell.as_ref(), flows.len());
                flows.push(flow);
            }
        }
        flows
    }

    /// The flows of one `[[flow]]`.
    fn flow(
        &mut self,
        file: &ScenarioFile,
        table: &FlowTable,
        network: &Network,
        seed: u64,
    ) -> Option<Vec<Flow>> {
        let path = format!("flow.{}", table.name.0);
        let ends = self.ends(file, table, network, &path);
        let app = table.app.model(Place {
            file: self,
            path: &format!("{path}.app"),
        });
        let transport = self.transport(file, table, &path);
        self.check_hosts(file, table, &path);
        let (from, to) = ends?;
        let base_rtt = self.base_rtt(file, table, network, (from, to), &path);
        let times = self.times(file, table, &path);
        if let Some(count @ (0 | MOST_FLOWS..)) = table.count.filter(|&count| count != MOST_FLOWS) {
            let message = format!("{count} is not a number from 1 to {MOST_FLOWS}");
            self.complain(&format!("{path}.count"), message);
            return None;
        }
        let every = self.every(file, table, &path);
        let label = self.label(table, &path);
        let ((start, stop), spread) = (times?, table.start_spread.map_or(Span::ZERO, |s| s.0));
        let model = Flow {
            name: table.name.0.clone(),
            from,
            to,
            hosts: [0; 2],
            start,
            stop,
            every,
            base_rtt: base_rtt?,
            dscp: table.dscp.map_or(0, |dscp| dscp.0),
            label: label?,
            transport: transport?,
            app: app?,
        };
        let named = |name: String| {
            let mut dice = Stream::named(seed, &format!("flow.{name}.start"));
            Flow {
                start: start + dice.span_below(spread),
                name,
                ..model.clone()
            }
        };
        Some(match table.count {
            None => vec![named(model.name.clone())],
            Some(count) => (1..=count)
                .map(|number| named(format!("{}-{number}", model.name)))
                .collect(),
        })
    }

    /// Mark and class.
    fn label(&mut self, table: &FlowTable, path: &str) -> Option<Label> {
        let class = u16::try_from(table.class.unwrap_or(0)).ok();
        let class = class.filter(|class| table.class.is_none() || *class > 0);
        if class.is_none() {
            let number = table.class.unwrap_or(0);
            let message = format!("{number} is not a class (1 to 65535)");
            self.complain(&format!("{path}.class"), message);
        }
        Some(Label {
            mark: table.mark.unwrap_or(0),
            class: class?,
        })
    }

    /// The flow's two nodes.
    fn ends(
        &mut self,
        file: &ScenarioFile,
        table: &FlowTable,
        network: &Network,
        path: &str,
    ) -> Option<(usize, usize)> {
        let dumbbell = file.dumbbell.is_some();
        let names = network.node_names();
        let ends = match (table.direction, &table.from, &table.to) {
            (Some(_), None, None) if !dumbbell => {
                let path = format!("{path}.direction");
                self.advise(
                    &path,
                    "only a dumbbell has directions",
                    "give `from` and `to`",
                );
                None
            }
            (Some(Direction::Up), None, None) => Some((CLIENT, SERVER)),
            (Some(Direction::Down), None, None) => Some((SERVER, CLIENT)),
            (None, Some(from), Some(to)) => {
                let from = self.end(&names, from, &format!("{path}.from"));
                let to = self.end(&names, to, &format!("{path}.to"));
                from.zip(to)
            }
            (Some(_), _, _) => {
                let message = "a flow has either a `direction`, or `from` and `to`";
                self.complain(&format!("{path}.direction"), message);
                None
            }
            (None, _, _) if dumbbell => {
                let help = "`direction = \"up\"` is from client to server, \"down\" is back";
                self.advise(path, "missing key `direction`", help);
                None
            }
            (None, from, _) => {
                let key = if from.is_none() { "from" } else { "to" };
                self.complain(path, format!("missing key `{key}`"));
                None
            }
        };
        let (from, to) = ends?;
        if from == to {
            self.complain(&format!("{path}.to"), "a flow joins two different nodes");
            return None;
        }
        for (a, b) in [(from, to), (to, from)] {
            if network.path(a, b).is_none() {
                let (a, b) = (names[a], names[b]);
                let message = format!("no links lead from `{a}` to `{b}`");
                self.advise(path, message, "a link is one-way without `duplex = true`");
                return None;
            }
        }
        Some((from, to))
    }

    fn end(&mut self, names: &[&str], name: &Name, path: &str) -> Option<usize> {
        let found = names.iter().position(|known| *known == name.0);
        if found.is_none() {
            let message = format!("no node has the name `{}`", name.0);
            self.advise(path, message, suggestion(&name.0, names));
        }
        found
    }

    /// The base RTT, not below what the links' own delays give.
    fn base_rtt(
        &mut self,
        file: &ScenarioFile,
        table: &FlowTable,
        network: &Network,
        (from, to): (usize, usize),
        path: &str,
    ) -> Option<Span> {
        let links = network.path_rtt(from, to)?;
        let shared = file.dumbbell.as_ref().and_then(|dumbbell| dumbbell.rtt);
        let (rtt, path) = match (table.rtt, shared) {
            (Some(rtt), _) => (rtt.0, format!("{path}.rtt")),
            (None, Some(rtt)) => (rtt.0, "dumbbell.rtt".to_owned()),
            (None, None) => (links, path.to_owned()),
        };
        if rtt < links {
            let message = format!(
                "{} is less than the links' own delays there and back, {}",
                show_span(rtt),
                show_span(links)
            );
            self.complain(&path, message);
            return None;
        }
        Some(rtt)
    }

    /// Start and stop.
    fn times(
        &mut self,
        file: &ScenarioFile,
        table: &FlowTable,
        path: &str,
    ) -> Option<(Time, Option<Time>)> {
        let start = table.start.map_or(Span::ZERO, |start| start.0);
        let latest = start + table.start_spread.map_or(Span::ZERO, |spread| spread.0);
        let end = file.duration.0;
        if latest >= end && !end.is_zero() {
            let key = if start >= end {
                "start"
            } else {
                "start_spread"
            };
            let message = format!("the run ends at {}", show_span(end));
            self.complain(&format!("{path}.{key}"), message);
            return None;
        }
        if let Some(Duration(stop)) = table.stop.filter(|stop| stop.0 <= latest) {
            let message = format!(
                "{} is not after the start, which may be as late as {}",
                show_span(stop),
                show_span(latest)
            );
            self.complain(&format!("{path}.stop"), message);
            return None;
        }
        let time = |span: Span| Time::ZERO + span;
        Some((time(start), table.stop.map(|stop| time(stop.0))))
    }

    /// After how long it begins anew, if it does.
    fn every(&mut self, file: &ScenarioFile, table: &FlowTable, path: &str) -> Option<Span> {
        let Duration(every) = table.every?;
        let start = table.start.map_or(Span::ZERO, |start| start.0);
        let length = (file.duration.0 - start).as_nanos();
        let path = format!("{path}.every");
        if file.spp == Some(true) {
            self.complain(
                &path,
                "packets are matched on one connection: leave out `spp`",
            );
            return None;
        }
        let Some(times) = length.checked_div(every.as_nanos()) else {
            self.complain(&path, "must be above zero");
            return None;
        };
        let flows = times.saturating_mul(table.count.unwrap_or(1).into());
        if flows > u64::from(MOST_FLOWS) {
            let message = format!("makes {flows} flows, more than {MOST_FLOWS}");
            self.complain(&path, message);
            return None;
        }
        Some(every)
    }

    fn transport(
        &mut self,
        file: &ScenarioFile,
        table: &FlowTable,
        path: &str,
    ) -> Option<Transport> {
        let only = table.app.kind().transport.map(|carrier| match carrier {
            Carrier::Tcp => TransportWord::Tcp,
            Carrier::Udp => TransportWord::Udp,
        });
        let default = only.unwrap_or(TransportWord::Udp);
        let transport = table.transport.unwrap_or(default);
        if only.is_some() && transport != default {
            let word = match default {
                TransportWord::Tcp => "tcp",
                TransportWord::Udp => "udp",
            };
            let message = format!("this app runs over {word} only");
            self.complain(&format!("{path}.transport"), message);
            return None;
        }
        match transport {
            TransportWord::Udp => {
                if table.tcp.is_some() {
                    self.complain(&format!("{path}.tcp"), "this flow runs over udp");
                    return None;
                }
                Some(Transport::Udp)
            }
            TransportWord::Tcp => {
                let shared = file.tcp.clone().unwrap_or_default();
                let keys = match &table.tcp {
                    Some(own) => own.clone().over(shared),
                    None => shared,
                };
                self.tcp(&keys, path).map(Transport::Tcp)
            }
        }
    }

    /// The connection's parameters; ranges are checked here.
    fn tcp(&mut self, keys: &TcpTable, path: &str) -> Option<Config> {
        let before = self.problems.len();
        let mut config = Config::default();
        if let Some(cc) = keys.cc {
            config.algorithm = algorithm(cc);
        }
        if keys.vegas == Some(VegasWord::Ns2) {
            config.vegas = VegasConfig::NS2;
        }
        if let Some(slow_start) = keys.slow_start {
            config.slow_start = match slow_start {
                SlowStartWord::Standard => SlowStart::Standard,
                SlowStartWord::HyStart => SlowStart::HyStart,
                SlowStartWord::HyStartPlusPlus => SlowStart::HyStartPlusPlus,
            };
        }
        if let Some(mss) = keys.mss {
            config.mss = self.tcp_range(mss.0, 1..=u64::from(Datagram::MOST), path, "mss") as u16;
        }
        if let Some(window) = keys.initial_window {
            let window = self.tcp_range(window.into(), 1..=1_000_000, path, "initial_window");
            config.initial_window = window as u32;
        }
        config.initial_ssthresh = keys.initial_ssthresh.map(|bytes| bytes.0);
        for (key, field) in [
            (keys.min_rto, &mut config.min_rto),
            (keys.initial_rto, &mut config.initial_rto),
            (keys.max_rto, &mut config.max_rto),
            (keys.clock, &mut config.clock),
            (keys.tick, &mut config.tick),
        ] {
            *field = key.map_or(*field, |time| time.0);
        }
        config.rto_rule = match keys.rto {
            Some(RtoWord::Rfc6298) => RtoRule::Rfc6298,
            Some(RtoWord::Linux) | None => RtoRule::Linux,
        };
        self.tcp_recovery(keys, &mut config, path);
        for (key, field) in [
            (keys.timestamps, &mut config.timestamps),
            (keys.timed_segment, &mut config.timed_segment),
            (keys.frto, &mut config.frto),
            (keys.nagle, &mut config.nagle),
            (keys.ecn, &mut config.ecn),
            (keys.pacing, &mut config.pacing),
        ] {
            *field = key.unwrap_or(*field);
        }
        match keys.delayed_ack {
            None | Some(AckDelay::Switch(true)) => {}
            Some(AckDelay::Switch(false)) => config.delayed_ack = DelayedAck::Off,
            Some(AckDelay::After(timeout)) => config.delayed_ack = DelayedAck::On { timeout },
        }
        self.tcp_buffers(keys, &mut config, path);
        self.tcp_sense(&config, path);
        (self.problems.len() == before).then_some(config)
    }

    /// How losses are found and repaired; two words for `cc` say it by themselves.
    fn tcp_recovery(&mut self, keys: &TcpTable, config: &mut Config, path: &str) {
        let (sack, word) = match keys.cc {
            Some(CongestionControl::NewReno) => (Some(false), "newreno"),
            Some(CongestionControl::Sack) => (Some(true), "sack"),
            _ => (None, ""),
        };
        if let (Some(meant), Some(given)) = (sack, keys.sack)
            && meant != given
        {
            let message = format!("`cc = \"{word}\"` means `sack = {meant}`; `reno` takes both");
            let path = self.tcp_path(path, "sack");
            self.complain(&path, message);
        }
        config.sack = sack.or(keys.sack).unwrap_or(config.sack);
        config.rack = keys.rack.unwrap_or(config.sack && sack.is_none());
    }

    fn tcp_buffers(&mut self, keys: &TcpTable, config: &mut Config, path: &str) {
        if let Some(size) = keys.send_buffer {
            config.send_buffer = self.tcp_range(size.0, 1..=1 << 40, path, "send_buffer");
        }
        // The window field has 16 bits and a scale of at most 14 (RFC 7323).
        let windows = 1..=(65_535 << 14);
        if let Some(size) = keys.receive_window {
            config.receive_window =
                self.tcp_range(size.0, windows.clone(), path, "receive_window") as u32;
        }
        if let Some(size) = keys.receive_window_max {
            config.receive_window_max =
                self.tcp_range(size.0, windows, path, "receive_window_max") as u32;
        } else {
            config.receive_window_max = config.receive_window_max.max(config.receive_window);
        }
    }

    /// What only makes no sense together.
    fn tcp_sense(&mut self, config: &Config, path: &str) {
        let mut complain = |key: &str, message: &str| {
            let path = self.tcp_path(path, key);
            self.complain(&path, message);
        };
        if config.rack && !config.sack {
            complain("rack", "loss detection by time needs `sack = true`");
        }
        if config.min_rto > config.max_rto {
            complain("min_rto", "must not be above `max_rto`");
        }
        if config.receive_window > config.receive_window_max {
            complain("receive_window", "must not be above `receive_window_max`");
        }
        if config.clock.is_zero() {
            complain("clock", "must be above zero");
        }
    }

    /// The value, after a complaint when it is outside its range.
    fn tcp_range(
        &mut self,
        value: u64,
        range: std::ops::RangeInclusive<u64>,
        path: &str,
        key: &str,
    ) -> u64 {
        if !range.contains(&value) {
            let (low, high) = (range.start(), range.end());
            let path = self.tcp_path(path, key);
            self.complain(&path, format!("{value} is not within {low} to {high}"));
        }
        value
    }

    /// The path of a TCP key: the flow's own, or the one for all flows.
    fn tcp_path(&self, flow: &str, key: &str) -> String {
        let own = format!("{flow}.tcp.{key}");
        if self.tree.has(&own) {
            own
        } else {
            format!("tcp.{key}")
        }
    }
}

/// The congestion control that a word means; its recovery is another matter.
const fn algorithm(word: CongestionControl) -> Algorithm {
    match word {
        CongestionControl::Reno | CongestionControl::NewReno | CongestionControl::Sack => {
            Algorithm::Reno
        }
        CongestionControl::Vegas => Algorithm::Vegas,
        CongestionControl::Westwood => Algorithm::Westwood,
        CongestionControl::Cubic => Algorithm::Cubic,
        CongestionControl::Compound => Algorithm::Compound,
        CongestionControl::Dctcp => Algorithm::Dctcp,
        CongestionControl::Bbr => Algorithm::Bbr,
        CongestionControl::Bbr3 => Algorithm::Bbr3,
    }
}
