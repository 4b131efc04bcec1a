//! The flows of a cell.

use super::Resolver;
use super::hosts::Hosts;
use super::network::{CLIENT, SERVER};
use super::places::join_later;
use super::starts::Starts;
use crate::apps::{App, AppContext};
use crate::format::tcp::{
    AccEcnWord, AgentWord, CongestionControl, DctcpWord, RtoWord, SlowStartWord, TcpTable,
    VegasWord,
};
use crate::format::{
    Direction, EctWord, FlowTable, ScenarioFile, StackControlWord, StackWord, TransportWord,
};
use crate::problem::{Problem, suggestion};
use crate::quantity::{AckDelay, Duration, EcnWord, Name};
use sojourn_apps::{Datagram, Model as _, Realtime, Spec, Transport as Carrier};
use sojourn_tcp::{Algorithm, Config, DelayedAck, Ecn, Ns2Agent};
use sojourn_units::{Ecn as Codepoint, Span, Time, show_span};
use sojourn_world::{Flow, Label, Member, Network, Paths, Stack, Transport};
use std::collections::BTreeSet;

/// IP and UDP.
const UDP_HEADERS: u32 = 28;
/// IP and TCP with the options that it takes most of when it carries data.
const TCP_HEADERS: u32 = 52;
/// Most flows that one `[[flow]]` makes.
const MOST_FLOWS: u32 = 100_000;
/// Most flows of a run, those that begin anew with `every` counted each time.
const MOST_OF_RUN: u64 = 100_000;

/// A `[[flow]]` in its file.
struct Told<'a> {
    file: &'a ScenarioFile,
    table: &'a FlowTable,
    network: &'a Network,
    /// Those of the network.
    paths: &'a Paths<'a>,
    /// The path of the table.
    path: String,
}

impl Told<'_> {
    fn key(&self, key: &str) -> String {
        format!("{}.{key}", self.path)
    }

    /// How many flows begin.
    fn beginnings(&self) -> u64 {
        let each = self.table.every.map_or(1, |every| {
            let length = (self.file.duration.0 - self.start()).as_nanos();
            (length / every.0.as_nanos().max(1)).max(1)
        });
        each.saturating_mul(self.table.count.unwrap_or(1).into())
    }

    fn start(&self) -> Span {
        self.table.start.map_or(Span::ZERO, |start| start.0)
    }

    /// What each further flow of a count starts later.
    fn step(&self) -> Span {
        self.table.start_step.map_or(Span::ZERO, |step| step.0)
    }

    /// Most by which a flow starts later than the first.
    fn latest(&self) -> Span {
        self.spread() + self.step() * u64::from(self.table.count.unwrap_or(1).saturating_sub(1))
    }

    /// Most of what is added to the start.
    fn spread(&self) -> Span {
        self.table
            .start_spread
            .map_or(Span::ZERO, |spread| spread.0)
    }
}

impl Resolver<'_> {
    /// The flows, each at its earliest start, and what a seed adds to that.
    pub(super) fn flows(&mut self, file: &ScenarioFile, network: &Network) -> (Vec<Flow>, Starts) {
        if file.flow.is_empty() {
            self.complain("flow", "at least one flow is needed");
        }
        let unique = self.check_unique("flow", file.flow.iter().map(|flow| Some(&flow.name)));
        let (mut flows, mut starts) = (Vec::<Flow>::new(), Starts::default());
        let mut names = BTreeSet::new();
        let mut hosts = Hosts::default();
        let mut beginnings: u64 = 0;
        let mut number = 0;
        let paths = Paths::of(network);
        for table in &file.flow {
            let path = format!("flow.{}", table.name.0);
            let told = Told {
                file,
                table,
                network,
                paths: &paths,
                path,
            };
            beginnings = told.beginnings().saturating_add(beginnings);
            if beginnings > MOST_OF_RUN {
                // What a table alone has too many of is said of its own key.
                if told.beginnings() > MOST_FLOWS.into() {
                    self.flow(&told);
                } else {
                    let message = format!("with this a run has more than {MOST_OF_RUN} flows");
                    self.complain(&told.path, message);
                }
                break;
            }
            let mut group: Option<Flow> = None;
            for mut flow in self.flow(&told).into_iter().flatten() {
                if !names.insert(flow.name.clone()) && unique {
                    let message = format!("`count` makes the name `{}` a second time", flow.name);
                    self.complain(&told.path, message);
                    break;
                }
                flow.hosts = hosts.of(&flow, table, file.dumbbell.as_ref(), number);
                number += 1;
                let member = group.as_ref().map_or(0, |group| group.members.len());
                starts.add(flows.len(), member, &flow, told.spread());
                if table.grouped != Some(true) || table.count.is_none() {
                    flows.push(flow);
                    continue;
                }
                let member = Member {
                    start: flow.start,
                    hosts: flow.hosts,
                };
                let group = group.get_or_insert(Flow {
                    name: table.name.0.clone(),
                    ..flow
                });
                group.start = group.start.min(member.start);
                group.members.push(member);
            }
            if let Some(group) = group {
                if !names.insert(group.name.clone()) && unique {
                    let message =
                        format!("`{}` is also the name of a flow of a `count`", group.name);
                    self.complain(&told.path, message);
                }
                flows.push(group);
            }
        }
        (flows, starts)
    }

    /// The flows of one `[[flow]]`.
    fn flow(&mut self, told: &Told<'_>) -> Option<Vec<Flow>> {
        let table = told.table;
        let ends = self.ends(told);
        let (tree, problems) = (self.file.tree, &mut *self.file.problems);
        let app = table.app.model(AppContext {
            complain: &mut |path, message| {
                problems.add(Problem::new(tree.locate(path), path, message));
            },
            videos: self.videos,
            path: &told.key("app"),
        });
        let transport = self.transport(told);
        if let (Some(app), Some(transport)) = (&app, &transport) {
            self.check_packet(told, app, transport);
        }
        self.check_hosts(told.file, table, &told.path);
        let (from, to) = ends?;
        let base_rtt = self.base_rtt(told, from, to);
        let times = self.times(told);
        if let Some(count @ (0 | MOST_FLOWS..)) = table.count.filter(|&count| count != MOST_FLOWS) {
            let message = format!("{count} is not a number from 1 to {MOST_FLOWS}");
            return self.refuse(&told.key("count"), message);
        }
        let every = self.every(told);
        self.check_grouped(told);
        let label = self.label(told);
        let is_tcp = matches!(transport, Some(Transport::Tcp(_)));
        let ecn = self.datagrams_ecn(told, is_tcp);
        let (start, stop) = times?;
        let model = Flow {
            name: table.name.0.clone(),
            from,
            to,
            hosts: [0; 2],
            start,
            stop,
            every,
            members: Vec::new(),
            base_rtt: base_rtt?,
            deadline: table.deadline.map(|deadline| deadline.0),
            dscp: table.dscp.map_or(0, |dscp| dscp.0),
            ecn: ecn?,
            label: label?,
            transport: transport?,
            stack: self.stack(told),
            app: app?,
        };
        let named = |name: String, before: u32| Flow {
            start: start + told.step() * u64::from(before),
            name,
            ..model.clone()
        };
        Some(match table.count {
            None => vec![named(model.name.clone(), 0)],
            Some(count) => (1..=count)
                .map(|number| named(format!("{}-{number}", model.name), number - 1))
                .collect(),
        })
    }

    /// A radio has no frames for packets above an MSDU, and does not fragment.
    fn check_packet(&mut self, told: &Told<'_>, app: &Spec, transport: &Transport) {
        let Some(radio) = told.network.radio() else {
            return;
        };
        let most = radio.profile.largest_packet();
        let (key, packet, headers) = match transport {
            Transport::Tcp(config) => ("tcp.mss", u32::from(config.mss) + TCP_HEADERS, TCP_HEADERS),
            Transport::Udp => {
                let sent = app.datagrams().into_iter().flatten();
                let largest = sent.map(|datagrams| datagrams.size).max().unwrap_or(0);
                ("app.size", u32::from(largest) + UDP_HEADERS, UDP_HEADERS)
            }
        };
        if packet > most {
            let message = format!(
                "a packet of {packet} bytes ({headers} of headers) is above the {most} bytes that \
                 a frame of IEEE 802.11 carries; at most {}",
                most - headers
            );
            self.complain(&told.key(key), message);
        }
    }

    /// Another project's stack, with its congestion control; none is our own.
    fn stack(&mut self, told: &Told<'_>) -> Option<Stack> {
        let control = told.table.cc.map(StackControlWord::value);
        if told.table.stack.is_none() && control.is_some() {
            self.complain(
                &told.key("cc"),
                "is that of another project's `stack`: the congestion control of our TCP is \
                 `tcp = { cc = … }`",
            );
        }
        told.table.stack.map(|stack| match stack {
            StackWord::Quinn => Stack::Quinn(control.unwrap_or_default()),
        })
    }

    /// The ECN field of datagrams.
    fn datagrams_ecn(&mut self, told: &Told<'_>, is_tcp: bool) -> Option<Codepoint> {
        let Some(word) = told.table.ecn else {
            return Some(Codepoint::NotEct);
        };
        let why = if is_tcp {
            "is of datagrams, and this flow runs over tcp: its ECN is `tcp.ecn`"
        } else if told.table.stack.is_some() {
            "is set by the stack on each datagram: leave out `ecn`"
        } else if told.table.app.kind().is_outside {
            "is told with each datagram of this app: leave out `ecn`"
        } else if told.table.app.kind().name == Realtime::KIND.name && matches!(word, EctWord::Ect0)
        {
            "of realtime is \"ect1\" (L4S), or left out: it follows the share of marks, not as \
             classic ECN asks"
        } else {
            return Some(word.value());
        };
        self.refuse(&told.key("ecn"), why)
    }

    /// Mark and class.
    fn label(&mut self, told: &Told<'_>) -> Option<Label> {
        let mark = told.table.mark.unwrap_or(0);
        let class = match told.table.class.map(|class| (class, u16::try_from(class))) {
            None => 0,
            Some((_, Ok(class @ 1..))) => class,
            Some((number, _)) => {
                let message = format!("{number} is not a class (1 to 65535)");
                return self.refuse(&told.key("class"), message);
            }
        };
        Some(Label { mark, class })
    }

    /// The flow's two nodes.
    fn ends(&mut self, told: &Told<'_>) -> Option<(usize, usize)> {
        let dumbbell = told.file.dumbbell.is_some();
        let names = told.network.node_names();
        let table = told.table;
        let (from, to) = match (table.direction, &table.from, &table.to) {
            (Some(_), None, None) if !dumbbell => {
                let message = "only a dumbbell has directions";
                return self.advise(&told.key("direction"), message, "give `from` and `to`");
            }
            (Some(Direction::Up), None, None) => (CLIENT, SERVER),
            (Some(Direction::Down), None, None) => (SERVER, CLIENT),
            (None, Some(from), Some(to)) => {
                let named = |name: &Name| match name.0.as_str() {
                    "first" if told.file.radio.is_some() => Some(0),
                    "last" if told.file.radio.is_some() => Some(names.len() - 1),
                    _ => None,
                };
                let from = named(from).or_else(|| self.node(&names, from, &told.key("from")));
                let to = named(to).or_else(|| self.node(&names, to, &told.key("to")));
                from.zip(to)?
            }
            (Some(_), _, _) => {
                let message = "a flow has either a `direction`, or `from` and `to`";
                return self.refuse(&told.key("direction"), message);
            }
            (None, _, _) if dumbbell => {
                let help = "`direction = \"up\"` is from client to server, \"down\" is back";
                return self.advise(&told.path, "missing key `direction`", help);
            }
            (None, from, _) => {
                let key = if from.is_none() { "from" } else { "to" };
                return self.refuse(&told.path, format!("missing key `{key}`"));
            }
        };
        if from == to {
            return self.refuse(&told.key("to"), "a flow joins two different nodes");
        }
        for (a, b) in [(from, to), (to, from)] {
            if told.paths.path(a, b).is_none() && !join_later(told.file, told.network, [a, b]) {
                let (message, help) = match &told.file.radio {
                    None => (
                        format!("no links lead from `{}` to `{}`", names[a], names[b]),
                        "a link is one-way without `duplex = true`",
                    ),
                    Some(_) => (
                        format!("no stations lead from `{}` to `{}`", names[a], names[b]),
                        "put some between them; a station that comes later is found by `aodv`",
                    ),
                };
                return self.advise(&told.path, message, help);
            }
        }
        Some((from, to))
    }

    /// Index of the node that the field at `path` names.
    pub(super) fn node(&mut self, names: &[&str], name: &Name, path: &str) -> Option<usize> {
        let found = names.iter().position(|known| *known == name.0);
        found.or_else(|| {
            let message = format!("no node has the name `{}`", name.0);
            self.advise(path, message, suggestion(&name.0, names))
        })
    }

    /// The base RTT, not below what the links' own delays give.
    fn base_rtt(&mut self, told: &Told<'_>, from: usize, to: usize) -> Option<Span> {
        if told.table.rtt.is_some() && told.file.radio.is_some() {
            let message = "over a radio nothing is added to what its hops take";
            return self.refuse(&told.key("rtt"), message);
        }
        // Over a radio nothing, also where a way comes later.
        let links = told.paths.rtt(from, to).unwrap_or(Span::ZERO);
        let dumbbell = told.file.dumbbell.as_ref();
        let (rtt, path) = match (told.table.rtt, dumbbell.and_then(|dumbbell| dumbbell.rtt)) {
            (Some(rtt), _) => (rtt.0, told.key("rtt")),
            (None, Some(rtt)) => (rtt.0, "dumbbell.rtt".to_owned()),
            (None, None) => (links, told.path.clone()),
        };
        if rtt < links {
            let message = format!(
                "{} is less than the links' own delays there and back, {}",
                show_span(rtt),
                show_span(links)
            );
            return self.refuse(&path, message);
        }
        Some(rtt)
    }

    /// Start and stop.
    fn times(&mut self, told: &Told<'_>) -> Option<(Time, Option<Time>)> {
        let (start, end) = (told.start(), told.file.duration.0);
        let latest = start + told.latest();
        if latest >= end && !end.is_zero() {
            let key = match () {
                () if start >= end => "start",
                () if start + told.spread() >= end => "start_spread",
                () => "start_step",
            };
            return self.refuse(
                &told.key(key),
                format!("the run ends at {}", show_span(end)),
            );
        }
        if let Some(Duration(stop)) = told.table.stop.filter(|stop| stop.0 <= latest) {
            let message = format!(
                "{} is not after the start, which may be as late as {}",
                show_span(stop),
                show_span(latest)
            );
            return self.refuse(&told.key("stop"), message);
        }
        let time = |span: Span| Time::ZERO + span;
        Some((time(start), told.table.stop.map(|stop| time(stop.0))))
    }

    /// Complains about groups that cannot be.
    fn check_grouped(&mut self, told: &Told<'_>) {
        if told.table.grouped != Some(true) {
            return;
        }
        if told.table.count.is_none() {
            self.complain(&told.key("grouped"), "needs a `count`");
        } else if told.file.spp == Some(true) {
            let message = "packets are matched on one connection: leave out `spp`";
            self.complain(&told.key("grouped"), message);
        }
    }

    /// After how long it begins anew, if it does.
    fn every(&mut self, told: &Told<'_>) -> Option<Span> {
        let Duration(every) = told.table.every?;
        let length = (told.file.duration.0 - told.start()).as_nanos();
        let path = told.key("every");
        if told.file.spp == Some(true) {
            let message = "packets are matched on one connection: leave out `spp`";
            return self.refuse(&path, message);
        }
        let Some(times) = length.checked_div(every.as_nanos()) else {
            return self.refuse(&path, "must be above zero");
        };
        let flows = times.saturating_mul(told.table.count.unwrap_or(1).into());
        if flows > u64::from(MOST_FLOWS) {
            let message = format!("makes {flows} flows, more than {MOST_FLOWS}");
            return self.refuse(&path, message);
        }
        Some(every)
    }

    /// That of the packets of another project's stack.
    fn transport_of_stack(&mut self, told: &Told<'_>, stack: StackWord) -> Option<Transport> {
        let stack = stack.value().name();
        if !matches!(told.table.app, App::Bulk(_)) {
            let message = format!("`{stack}` carries only the app `bulk`");
            return self.refuse(&told.key("app"), message);
        }
        for (key, is_given) in [
            ("transport", told.table.transport.is_some()),
            ("tcp", told.table.tcp.is_some()),
        ] {
            if is_given {
                let message = format!(
                    "`{stack}` carries the flow and has its own transport: leave `{key}` out"
                );
                return self.refuse(&told.key(key), message);
            }
        }
        if told.file.radio.is_some() {
            let message = "a stack needs a network without radios";
            return self.refuse(&told.key("stack"), message);
        }
        Some(Transport::Udp)
    }

    fn transport(&mut self, told: &Told<'_>) -> Option<Transport> {
        if let Some(stack) = told.table.stack {
            return self.transport_of_stack(told, stack);
        }
        let only = told.table.app.kind().transport;
        let chosen = told.table.transport.map(TransportWord::value);
        match (only, chosen) {
            (Some(Carrier::Tcp), Some(Carrier::Udp)) => {
                self.refuse(&told.key("transport"), "this app runs over tcp only")
            }
            (Some(Carrier::Udp), Some(Carrier::Tcp)) => {
                self.refuse(&told.key("transport"), "this app runs over udp only")
            }
            (Some(Carrier::Tcp), _) | (_, Some(Carrier::Tcp)) => {
                let shared = told.file.tcp.clone().unwrap_or_default();
                let own = told.table.tcp.clone().unwrap_or_default();
                self.tcp(&own.over(shared), &told.path).map(Transport::Tcp)
            }
            _ if told.table.tcp.is_some() => {
                self.refuse(&told.key("tcp"), "this flow runs over udp")
            }
            _ => Some(Transport::Udp),
        }
    }

    /// The connection's parameters; ranges are checked here.
    fn tcp(&mut self, keys: &TcpTable, path: &str) -> Option<Config> {
        let before = self.problems.len();
        let default = Config::default();
        let mut config = Config {
            algorithm: keys.cc.map_or(default.algorithm, CongestionControl::value),
            vegas: keys.vegas.map_or(default.vegas, VegasWord::value),
            dctcp: keys.dctcp.map_or(default.dctcp, DctcpWord::value),
            accecn: keys.accecn.map_or(default.accecn, AccEcnWord::value),
            slow_start: keys
                .slow_start
                .map_or(default.slow_start, SlowStartWord::value),
            initial_ssthresh: keys.initial_ssthresh.map(|bytes| bytes.0),
            rto_rule: keys.rto.map_or(default.rto_rule, RtoWord::value),
            ecn: match keys.ecn {
                None | Some(EcnWord::Switch(false)) => Ecn::Off,
                Some(EcnWord::Switch(true)) => Ecn::Classic,
                Some(EcnWord::Accurate) => Ecn::Accurate,
            },
            delayed_ack: match keys.delayed_ack {
                None | Some(AckDelay::Switch(true)) => default.delayed_ack,
                Some(AckDelay::Switch(false)) => DelayedAck::Off,
                Some(AckDelay::After(timeout)) => DelayedAck::On { timeout },
            },
            ..default
        };
        if let Some(mss) = keys.mss {
            config.mss = self.tcp_range(mss.0, 1..=u64::from(Datagram::MOST), path, "mss") as u16;
        }
        if let Some(window) = keys.initial_window {
            let window = self.tcp_range(window.into(), 1..=1_000_000, path, "initial_window");
            config.initial_window = window as u32;
        }
        for (key, field) in [
            (keys.min_rto, &mut config.min_rto),
            (keys.initial_rto, &mut config.initial_rto),
            (keys.max_rto, &mut config.max_rto),
            (keys.clock, &mut config.clock),
            (keys.tick, &mut config.tick),
            (keys.timer_tick, &mut config.timer_tick),
        ] {
            *field = key.map_or(*field, |time| time.0);
        }
        self.tcp_recovery(keys, &mut config, path);
        for (key, field) in [
            (keys.timestamps, &mut config.timestamps),
            (keys.timed_segment, &mut config.timed_segment),
            (keys.frto, &mut config.frto),
            (keys.nagle, &mut config.nagle),
            (keys.pacing, &mut config.pacing),
            (keys.rtt_independence, &mut config.rtt_independence),
            (keys.ecn_fallback, &mut config.ecn_fallback),
            (keys.fractional_window, &mut config.fractional_window),
        ] {
            *field = key.unwrap_or(*field);
        }
        self.tcp_buffers(keys, &mut config, path);
        if keys.agent == Some(AgentWord::Ns2) {
            self.tcp_of_ns2(keys, &mut config, path);
        }
        self.tcp_sense(&config, path);
        (self.problems.len() == before).then_some(config)
    }

    /// ns-2's sender, and a receiver as its own.
    fn tcp_of_ns2(&mut self, keys: &TcpTable, config: &mut Config, path: &str) {
        config.ns2 = Ns2Agent::of(config.algorithm, config.sack && !config.rack);
        if config.ns2.is_none() {
            let path = self.tcp_path(path, "agent");
            let message = format!("ns-2's senders have no {}", config.algorithm.name());
            let help =
                "reno, newreno, sack, vegas, westwood, compound, cubic; or leave `agent` out";
            let _ = self.advise::<()>(&path, message, help);
        }
        let vegas = config.algorithm == Algorithm::Vegas;
        config.timestamps = keys.timestamps.unwrap_or(vegas);
        (config.sack, config.rack, config.frto) = (false, false, false);
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
        if config.ecn == Ecn::Accurate && config.ns2.is_some() {
            complain(
                "ecn",
                "ns-2's senders know no AccECN: `true`, `false` or another `agent`",
            );
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
