//! The host under test: sockets, the connections behind them, and what they have sent.
//!
//! What our TCP leaves to others is here: the options of SYNs, resets for packets that no
//! connection wants (RFC 9293 section 3.10.7.1), and when a program reads.
//! Source: Linux `tcp_select_initial_window` for the scale of the window, `tcp_v4_send_reset`,
//! `tcp_close` (data that was not read resets), `tcp_rcv_state_process` (data for a program that
//! is gone does so too).

use crate::push;
use crate::script::{Packet, flag};
use crate::settings::Settings;
use crate::verdict::Stop;
use crate::wire::{Agreed, Offer, Sent, arriving, flags_of, leaving, ticks};
use sojourn_tcp::{AccEcnRule, Algorithm, Config, Connection, Ecn, State};
use sojourn_units::{Span, Time};
use std::collections::{BTreeMap, VecDeque};
use std::path::Path;

/// Largest payload over Ethernet and IPv4, and without an option that says another.
const MSS: u16 = 1460;
const MSS_DEFAULT: u16 = 536;
/// Bytes of the timestamp option with its padding.
const STAMPS: u16 = 12;
/// SYNs that are sent again without backoff (`tcp_syn_linear_timeouts`).
const LINEAR_SYNS: u32 = 4;
/// What a segment's buffer takes beside its data (`sojourn_tcp` reckons with it too).
const OVERHEAD: u64 = 768;

/// Options of a socket.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct SocketOptions {
    pub(crate) does_not_block: bool,
    pub(crate) no_delay: bool,
    /// Memory to receive and to send, as the program set them, doubled.
    pub(crate) receive: Option<u64>,
    pub(crate) send: Option<u64>,
    pub(crate) algorithm: Option<Algorithm>,
}

/// What a socket is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Role {
    Fresh,
    Listens,
    /// Index of its connection.
    Connection(usize),
}

#[derive(Clone, Debug)]
pub(crate) struct Socket {
    pub(crate) role: Role,
    pub(crate) options: SocketOptions,
}

/// A connection and what surrounds it.
#[derive(Debug)]
pub(crate) struct Conn {
    pub(crate) tcp: Connection,
    pub(crate) mss: u16,
    pub(crate) agreed: Agreed,
    offer: Offer,
    /// The listening socket it came to, until it is accepted.
    pub(crate) listener: Option<i64>,
    pub(crate) peer_closed: bool,
    /// It was open once.
    pub(crate) opened: bool,
    /// The program has closed it.
    gone: bool,
    /// It was reset, and the program has not been told yet.
    pub(crate) reset: bool,
    /// The number after the last byte that was sent.
    highest: u32,
    /// What packets with SYN call the first sequence numbers, ours and the peer's. Elsewhere a
    /// script counts from them, as our TCP does.
    starts: [u32; 2],
    /// A SYN of the peer has come.
    heard: bool,
}

impl Conn {
    pub(crate) fn is_alive(&self) -> bool {
        self.tcp.state() != State::Closed
    }

    /// A packet of the peer with the numbers that our TCP has for it.
    fn counted(&mut self, packet: &Packet) -> Packet {
        let mut packet = packet.clone();
        if packet.flags & flag::SYN == 0 {
            return packet;
        }
        if !self.heard {
            self.heard = true;
            self.starts[1] = packet.seq;
        }
        let [ours, peers] = self.starts;
        packet.seq = packet.seq.wrapping_sub(peers);
        packet.ack = packet.ack.map(|ack| ack.wrapping_sub(ours));
        packet
    }
}

/// The host under test.
#[derive(Debug)]
pub(crate) struct Host {
    pub(crate) now: Time,
    pub(crate) settings: Settings,
    pub(crate) sockets: BTreeMap<i64, Socket>,
    pub(crate) conns: Vec<Conn>,
    pub(crate) sent: VecDeque<Sent>,
    /// What the peer of the connection that we open next will agree to: options of SYNs are agreed
    /// before a connection begins.
    pub(crate) answers: VecDeque<Packet>,
    /// Timestamps of ours: as the script calls them, and the time.
    pub(crate) stamps: BTreeMap<u32, Time>,
    /// Time of the script's timestamp zero.
    pub(crate) stamp_zero: Option<Time>,
}

impl Host {
    pub(crate) fn new(now: Time) -> Self {
        Self {
            now,
            settings: Settings::default(),
            sockets: BTreeMap::new(),
            conns: Vec::new(),
            sent: VecDeque::new(),
            answers: VecDeque::new(),
            stamps: BTreeMap::new(),
            stamp_zero: None,
        }
    }

    /// Carries out shell commands of the script. Connections keep what they have begun with, but
    /// for the option of AccECN.
    pub(crate) fn set(&mut self, commands: &str, folder: &Path) -> Result<(), Stop> {
        let before = self.settings.clone();
        self.settings.run(commands, folder)?;
        let changed = Settings {
            gathers: before.gathers,
            ecn_option: before.ecn_option,
            ..self.settings.clone()
        } != before;
        let open = self.conns.iter().any(|conn| conn.is_alive() && !conn.gone);
        if changed && open {
            let commands = commands.trim();
            return Err(Stop::NotModelled(format!(
                "`{commands}` for an open connection"
            )));
        }
        if self.settings.ecn_option != before.ecn_option {
            let rule = accecn(&self.settings);
            self.conns
                .iter_mut()
                .for_each(|conn| conn.tcp.set_accecn(rule));
        }
        Ok(())
    }

    /// The connection that packets belong to: the newest that is alive.
    fn current(&self) -> Option<usize> {
        self.conns.iter().rposition(Conn::is_alive)
    }

    /// A packet of the peer arrives.
    pub(crate) fn arrive(&mut self, packet: &Packet) -> Result<(), Stop> {
        let opens = packet.flags & (flag::SYN | flag::ACK | flag::RST) == flag::SYN;
        let current = self
            .current()
            .filter(|&index| !(opens && self.conns[index].gone));
        let index = match current {
            Some(index) => index,
            None if opens && self.listener().is_some() => self.begin(packet),
            None => {
                self.refuse(packet);
                return Ok(());
            }
        };
        let (stamps, zero) = (&self.stamps, self.stamp_zero.unwrap_or(Time::ZERO));
        let echo = |value: u32| {
            let known = stamps.get(&value).copied();
            known.unwrap_or(zero + Span::from_millis(value.into()))
        };
        let conn = &mut self.conns[index];
        let packet = &conn.counted(packet);
        let Some((segment, ecn)) = arriving(packet, &conn.agreed, echo) else {
            return Err(Stop::NotModelled(format!(
                "a segment with more than three SACK blocks, or with more than 64 KiB: {packet}"
            )));
        };
        let had_state = conn.tcp.state();
        let received = conn.tcp.receive(&segment, ecn, self.now);
        conn.opened |= received.established;
        conn.peer_closed |= received.peer_closed;
        let died = conn.tcp.state() == State::Closed && packet.flags & flag::RST != 0;
        conn.reset |= died && had_state != State::Listen;
        if conn.gone && conn.tcp.unread() > 0 {
            conn.tcp.abort();
            while conn.tcp.poll_transmit(self.now).is_some() {}
            self.refuse(packet);
            return Ok(());
        }
        self.flush();
        Ok(())
    }

    fn listener(&self) -> Option<i64> {
        let mut all = self.sockets.iter();
        all.find(|(_, socket)| socket.role == Role::Listens)
            .map(|(&fd, _)| fd)
    }

    /// A SYN begins a connection at the listening socket.
    fn begin(&mut self, packet: &Packet) -> usize {
        let listener = self.listener();
        let options = listener
            .map(|fd| self.sockets[&fd].options)
            .unwrap_or_default();
        let index = self.add(&Agreed::of(packet), &options, false);
        self.conns[index].listener = listener;
        self.conns[index].tcp.listen();
        index
    }

    /// A program connects. Returns the connection.
    pub(crate) fn open(&mut self, options: &SocketOptions) -> usize {
        let answer = self.answers.pop_front().map_or(
            // Without an answer what we offer is what counts.
            Agreed {
                mss: Some(MSS),
                sack: true,
                timestamps: true,
                scales: Some((0, 0)),
            },
            |packet| Agreed::of(&packet),
        );
        let index = self.add(&answer, options, true);
        self.conns[index].tcp.open(self.now);
        self.flush();
        index
    }

    fn add(&mut self, peer: &Agreed, options: &SocketOptions, opens: bool) -> usize {
        let settings = &self.settings;
        let ours = window_scale(settings, options);
        let agreed = Agreed {
            mss: peer.mss,
            sack: peer.sack && settings.sack,
            timestamps: peer.timestamps && settings.timestamps,
            scales: peer.scales.map(|(_, theirs)| (ours, theirs)),
        };
        // Who opens offers all; who answers, what the peer has offered.
        let offer = Offer {
            mss: MSS,
            sack: settings.sack && (opens || agreed.sack),
            timestamps: settings.timestamps && (opens || agreed.timestamps),
            scale: (opens || agreed.scales.is_some()).then_some(ours),
        };
        let config = config(settings, &agreed, options, opens);
        let mut tcp = Connection::new(&config);
        tcp.pause_reading();
        let memory = options.send.map_or(settings.send, |bytes| [bytes; 2]);
        let [start, most] = memory.map(|bytes| data_in(bytes, config.mss));
        tcp.set_send_buffer(start, most);
        // A script is about one connection at a time: what an earlier one still sends belongs to
        // other ports, which nobody looks at.
        self.sent.clear();
        self.conns.push(Conn {
            tcp,
            mss: config.mss,
            agreed,
            offer,
            listener: None,
            peer_closed: false,
            opened: false,
            gone: false,
            reset: false,
            highest: 0,
            starts: [0; 2],
            heard: false,
        });
        self.conns.len() - 1
    }

    /// A reset for a packet that no connection wants.
    fn refuse(&mut self, packet: &Packet) {
        if packet.flags & flag::RST != 0 {
            return;
        }
        let octets = packet.len
            + u32::from(packet.flags & flag::SYN != 0)
            + u32::from(packet.flags & flag::FIN != 0);
        let (flags, seq, ack) = if let Some(ack) = packet.ack {
            (flag::RST, ack, None)
        } else {
            let ack = packet.seq.wrapping_add(octets);
            (flag::RST | flag::ACK, 0, Some(ack))
        };
        let packet = Packet {
            flags,
            seq,
            ack,
            ecn: Some(sojourn_units::Ecn::NotEct),
            win: Some(0),
            options: Some(Vec::new()),
            ..Packet::default()
        };
        let at = self.now;
        self.sent.push_back(Sent { at, packet });
    }

    /// Takes what connections send.
    pub(crate) fn flush(&mut self) {
        let newest = self.conns.len().saturating_sub(1);
        let from = self.sent.len();
        for (index, conn) in self.conns.iter_mut().enumerate() {
            while let Some(sent) = conn.tcp.poll_transmit(self.now) {
                if index != newest {
                    continue;
                }
                let offers = flags_of(sent.segment.flags) & flag::SYN != 0;
                let offer = offers.then_some(&conn.offer);
                let mut packet = leaving(&sent, &conn.agreed, offer);
                if offers {
                    let [ours, peers] = conn.starts;
                    packet.seq = packet.seq.wrapping_add(ours);
                    packet.ack = packet.ack.map(|ack| ack.wrapping_add(peers));
                }
                let at = self.now;
                self.sent.push_back(Sent { at, packet });
            }
        }
        if let Some(conn) = self.conns.last_mut() {
            let info = conn.tcp.info();
            // Whose flags a script shows of each segment: no interface takes several with AccECN.
            let is_seen = !self.settings.gathers || info.ce.is_some();
            let sent = self.sent.range_mut(from..).map(|sent| &mut sent.packet);
            if is_seen {
                push::mark(sent, push::segments(&info, conn.mss), &mut conn.highest);
            }
        }
    }

    /// The next time at which a connection has something to do.
    pub(crate) fn next_timer(&self) -> Option<Time> {
        self.conns
            .iter()
            .filter_map(|conn| conn.tcp.next_timer())
            .min()
    }

    /// Lets time pass up to the next timer, if that is no later than `end`; whether it was.
    pub(crate) fn step(&mut self, end: Time) -> bool {
        let Some(at) = self.next_timer().filter(|&at| at <= end) else {
            return false;
        };
        self.now = self.now.max(at);
        for conn in &mut self.conns {
            conn.tcp.on_timer(self.now);
        }
        self.flush();
        true
    }

    /// A program closes a connection.
    pub(crate) fn close(&mut self, index: usize) {
        let conn = &mut self.conns[index];
        conn.gone = true;
        if conn.tcp.unread() > 0 || matches!(conn.tcp.state(), State::SynSent | State::Listen) {
            conn.tcp.abort();
        } else {
            conn.tcp.close();
        }
        self.flush();
    }

    /// The script calls the first sequence number of ours `value`.
    pub(crate) fn name_start(&mut self, value: u32) {
        if let Some(conn) = self.conns.last_mut() {
            conn.starts[0] = value;
        }
    }

    /// The timestamp `value` that the script expects is the one that our TCP has put there.
    pub(crate) fn note_stamp(&mut self, value: u32, live: u32) {
        let live = Time::from_nanos(u64::from(live) * 1_000_000);
        self.stamps.insert(value, live);
        let nanos = u64::from(value) * 1_000_000;
        let zero = Time::from_nanos(live.as_nanos().saturating_sub(nanos));
        self.stamp_zero.get_or_insert(zero);
    }

    /// What the script would call our timestamp.
    pub(crate) fn stamp_in_script(&self, live: u32) -> u32 {
        self.stamp_zero
            .map_or(live, |zero| live.wrapping_sub(ticks(zero)))
    }
}

/// Bytes of data that so much memory to send holds, in segments of `mss`.
pub(crate) fn data_in(memory: u64, mss: u16) -> u64 {
    let mss = u64::from(mss);
    memory * mss / (mss + OVERHEAD)
}

/// Linux `tcp_select_initial_window`: half of the memory is the window.
fn window_scale(settings: &Settings, options: &SocketOptions) -> u8 {
    let most = options
        .receive
        .map_or(settings.receive[0].max(settings.receive[1]), |bytes| {
            bytes / 2
        });
    (0..14).find(|scale| most >> scale <= 65_535).unwrap_or(14)
}

fn config(settings: &Settings, agreed: &Agreed, options: &SocketOptions, opens: bool) -> Config {
    let [start, most] = match options.receive {
        Some(bytes) => [bytes; 2],
        None => settings.receive,
    };
    // A window that no scale is agreed on for ends at 16 bits.
    let window = |memory: u64| {
        let bytes = memory / 2;
        let bytes = if agreed.scales.is_some() {
            bytes
        } else {
            bytes.min(65_535)
        };
        u32::try_from(bytes).unwrap_or(u32::MAX)
    };
    let mss = agreed.mss.unwrap_or(MSS_DEFAULT).min(MSS);
    let stamps = if agreed.timestamps { STAMPS } else { 0 };
    Config {
        algorithm: options.algorithm.unwrap_or(settings.algorithm),
        mss: mss.saturating_sub(stamps).max(1),
        sack: agreed.sack,
        timestamps: agreed.timestamps,
        nagle: !options.no_delay,
        pacing: settings.pacing,
        max_rto: settings.max_rto,
        slow_start_after_idle: settings.slow_start_after_idle,
        ecn: ecn(settings.ecn, opens),
        accecn: accecn(settings),
        ecn_checked: settings.ecn_checked,
        linear_syns: LINEAR_SYNS,
        receive_window: window(start),
        receive_window_max: window(most),
        ..Config::default()
    }
}

/// How AccECN tells its counters.
fn accecn(settings: &Settings) -> AccEcnRule {
    if settings.ecn_option == 0 {
        AccEcnRule::LinuxWithoutOption
    } else {
        AccEcnRule::Linux
    }
}

/// Linux `enum tcp_ecn_mode`: what one who answers and one who opens wants.
fn ecn(sysctl: u32, opens: bool) -> Ecn {
    let (answers, asks) = match sysctl {
        1 => (Ecn::Classic, Ecn::Classic),
        2 => (Ecn::Classic, Ecn::Off),
        3 => (Ecn::Accurate, Ecn::Accurate),
        4 => (Ecn::Accurate, Ecn::Classic),
        5 => (Ecn::Accurate, Ecn::Off),
        _ => (Ecn::Off, Ecn::Off),
    };
    if opens { asks } else { answers }
}
