//! What a script says, as data.

use sojourn_units::{Ecn, Span};

/// A script that has been read.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Script {
    /// What its `--name=value` lines say.
    pub options: Options,
    /// What happens, in order. Shell commands before the first event are the first of them.
    pub events: Vec<Event>,
}

/// Options at the head of a script.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Options {
    /// How far an event may be from its time, at least; 4 ms by default.
    pub tolerance: Span,
    /// The same in thousandths of the time since the event before, where that is more; 125 by
    /// default.
    pub permille: u32,
    /// Duration of a tick of timestamps, if their values are to be compared.
    pub tick: Option<Span>,
    /// Largest segment of packets that arrive: a longer one arrives as an interface puts it
    /// together of such segments.
    pub mss: Option<u16>,
    /// The packets are IPv6's.
    pub v6: bool,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            tolerance: Span::from_millis(4),
            permille: 125,
            tick: None,
            mss: None,
            v6: false,
        }
    }
}

impl Options {
    /// How far an event may be from its time, which is so long after the event before.
    pub fn tolerance_after(&self, since: Span) -> Span {
        let part = u128::from(since.as_nanos()) * u128::from(self.permille) / 1000;
        self.tolerance.max(Span::from_nanos(part as u64))
    }

    /// By how many ticks a timestamp may be off so long after the script's start, if their values
    /// are compared.
    pub fn ticks(&self, since: Span) -> Option<u32> {
        let tick = self.tick?.as_nanos().max(1);
        let ticks = self.tolerance_after(since).as_nanos().div_ceil(tick);
        Some(u32::try_from(ticks).unwrap_or(u32::MAX))
    }
}

/// An event of a script.
#[derive(Clone, Debug, PartialEq)]
pub struct Event {
    /// Line in the script, from 1.
    pub line: u32,
    /// When it happens.
    pub when: When,
    /// What happens.
    pub what: What,
}

/// The time of an event, from the script's start or from the end of the event before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct When {
    /// The time counts from the end of the event before.
    pub relative: bool,
    /// The time; none: at any time.
    pub at: Option<Span>,
    /// Latest time, where a range is given; in the same count as `at`.
    pub until: Option<Span>,
    /// When a call that blocks returns; in the same count as `at`.
    pub returns: Option<Span>,
}

/// What happens in an event.
#[derive(Clone, Debug, PartialEq)]
pub enum What {
    /// A packet arrives at the TCP under test (`<`).
    Arrives(Packet),
    /// The TCP under test sends a packet (`>`).
    Leaves(Packet),
    /// A packet that is not plain TCP over IP; its first word.
    Other(String),
    /// A program calls the kernel.
    Call(Call),
    /// Shell commands.
    Shell(String),
    /// Python: assertions on `TCP_INFO`.
    Assert(String),
}

/// Bits of a packet's flags, as RFC 9293 and RFC 9768 place them in the header.
pub mod flag {
    /// FIN.
    pub const FIN: u16 = 0x001;
    /// SYN.
    pub const SYN: u16 = 0x002;
    /// RST.
    pub const RST: u16 = 0x004;
    /// PSH.
    pub const PSH: u16 = 0x008;
    /// ACK.
    pub const ACK: u16 = 0x010;
    /// URG.
    pub const URG: u16 = 0x020;
    /// ECE, the lowest bit of the ACE field.
    pub const ECE: u16 = 0x040;
    /// CWR.
    pub const CWR: u16 = 0x080;
    /// AE, the highest bit of the ACE field.
    pub const AE: u16 = 0x100;
    /// The letters of flags in the order in which they are shown.
    pub const LETTERS: [(char, u16); 9] = [
        ('S', SYN),
        ('F', FIN),
        ('R', RST),
        ('P', PSH),
        ('E', ECE),
        ('W', CWR),
        ('A', AE),
        ('U', URG),
        ('.', ACK),
    ];
}

/// A TCP packet of a script.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Packet {
    /// The ECN field of its IP header; none if it is not given.
    pub ecn: Option<Ecn>,
    /// Flags ([`flag`]).
    pub flags: u16,
    /// Sequence number of its first byte, from the sender's initial one.
    pub seq: u32,
    /// Payload in bytes.
    pub len: u32,
    /// Acknowledgement number.
    pub ack: Option<u32>,
    /// Window as it stands in the header, not scaled.
    pub win: Option<u32>,
    /// Urgent pointer.
    pub urgent: Option<u32>,
    /// TCP options; none: `<...>`, any.
    pub options: Option<Vec<TcpOption>>,
}

/// A TCP option.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TcpOption {
    /// Padding.
    Nop,
    /// Maximum segment size.
    Mss(u16),
    /// SACK permitted.
    SackOk,
    /// Window scale.
    Scale(u8),
    /// Timestamps: value and echo.
    Timestamps(u32, u32),
    /// SACK blocks.
    Sack(Vec<(u32, u32)>),
    /// AccECN (RFC 9768): whether ECT(1) comes first, and the fields that are there.
    AccEcn(bool, Vec<u32>),
    /// Any other, by its word, and what follows it: `FO` and a cookie.
    Other(String, String),
}

/// A call of the kernel.
#[derive(Clone, Debug, PartialEq)]
pub struct Call {
    /// Its name.
    pub name: String,
    /// Its arguments.
    pub args: Vec<Arg>,
    /// What it returns; none: `...`, anything.
    pub returns: Option<i64>,
    /// The error it gives, by name.
    pub error: Option<String>,
}

/// An argument of a call.
#[derive(Clone, Debug, PartialEq)]
pub enum Arg {
    /// `...`: anything.
    Any,
    /// A number.
    Number(i64),
    /// A name, or several joined by `|`.
    Word(String),
    /// Text in quotation marks.
    Text(String),
    /// `[…]`.
    List(Vec<Arg>),
    /// `{…}`: fields with their names, where they have one.
    Fields(Vec<(Option<String>, Arg)>),
}
