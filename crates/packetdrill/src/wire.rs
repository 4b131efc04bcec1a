//! Packets of a script and segments of our TCP, one as the other.
//! Source: Linux `tcp_options_write` for the order of options and their padding.

use crate::script::{Packet, TcpOption, flag};
use sojourn_tcp::{AccEcnOption, Codepoint, Flags, SackBlock, Segment, Transmit};
use sojourn_units::{Span, Time};
use std::fmt;

/// A tick of timestamps on the wire.
pub(crate) const TICK: Span = Span::from_millis(1);

/// What both ends have agreed on, or one of them offers.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Agreed {
    /// Largest payload that the peer takes, as its option says.
    pub(crate) mss: Option<u16>,
    pub(crate) sack: bool,
    pub(crate) timestamps: bool,
    /// Window scales of ours and of the peer.
    pub(crate) scales: Option<(u8, u8)>,
}

impl Agreed {
    /// What a SYN says.
    pub(crate) fn of(packet: &Packet) -> Self {
        let mut agreed = Self::default();
        for option in packet.options.iter().flatten() {
            match *option {
                TcpOption::Mss(mss) => agreed.mss = Some(mss),
                TcpOption::SackOk => agreed.sack = true,
                TcpOption::Timestamps(..) => agreed.timestamps = true,
                TcpOption::Scale(scale) => agreed.scales = Some((0, scale.min(14))),
                _ => {}
            }
        }
        agreed
    }
}

/// A packet that the TCP under test has sent.
#[derive(Clone, Debug)]
pub struct Sent {
    /// When.
    pub at: Time,
    /// The packet, its numbers as the script would have them.
    pub packet: Packet,
}

/// Our TCP's flags in a script's packet. They are laid out alike, but for the model's AE.
pub(crate) fn flags_of(flags: Flags) -> u16 {
    flags.bits()
}

fn flags_for(bits: u16) -> Flags {
    let plain = [
        (flag::FIN, Flags::FIN),
        (flag::SYN, Flags::SYN),
        (flag::RST, Flags::RST),
        (flag::PSH, Flags::PSH),
        (flag::ACK, Flags::ACK),
    ];
    let flags = plain
        .into_iter()
        .filter(|&(bit, _)| bits & bit != 0)
        .fold(Flags::default(), |all, (_, flag)| all.with(flag));
    flags.with_ace((bits >> 6) as u8 & 7)
}

/// Time of a timestamp of the peer. Never zero, which means none.
fn time_of(value: u32) -> Time {
    Time::from_nanos(u64::from(value) * TICK.as_nanos())
}

/// Value of a timestamp on the wire.
pub(crate) fn ticks(time: Time) -> u32 {
    (time.as_nanos() / TICK.as_nanos()) as u32
}

/// A packet of the peer as our TCP takes it. `echo`: what an echoed timestamp stands for.
/// None if it has more SACK blocks than a segment can hold, or more payload.
pub(crate) fn arriving(
    packet: &Packet,
    agreed: &Agreed,
    echo: impl Fn(u32) -> Time,
) -> Option<(Segment, Codepoint)> {
    let scale = match agreed.scales {
        Some((_, peer)) if packet.flags & flag::SYN == 0 => peer,
        _ => 0,
    };
    let mut segment = Segment {
        seq: packet.seq,
        ack: packet.ack.unwrap_or(0),
        window: packet.win.unwrap_or(0) << scale,
        payload: u16::try_from(packet.len).ok()?,
        flags: flags_for(packet.flags),
        ..Segment::default()
    };
    for option in packet.options.iter().flatten() {
        match option {
            &TcpOption::Timestamps(value, ecr) if agreed.timestamps => {
                segment.ts = time_of(value);
                segment.ts_echo = if ecr == 0 { Time::ZERO } else { echo(ecr) };
            }
            TcpOption::Sack(blocks) if agreed.sack => {
                let count = blocks.len();
                segment.sack_count = u8::try_from(count).ok().filter(|&count| count <= 3)?;
                for (to, &(start, end)) in segment.sack.iter_mut().zip(blocks) {
                    *to = SackBlock { start, end };
                }
            }
            _ => {}
        }
    }
    // After the blocks, beside which it must fit.
    for option in packet.options.iter().flatten() {
        if let TcpOption::AccEcn(ect1_first, fields) = option {
            let mut option = AccEcnOption {
                ect1_first: *ect1_first,
                count: fields.len() as u8,
                fields: [0; 3],
            };
            option.fields[..fields.len()].copy_from_slice(fields);
            if !segment.with_accecn(&option) {
                return None;
            }
        }
    }
    Some((segment, packet.ecn.unwrap_or(Codepoint::NotEct)))
}

/// A segment of our TCP as a packet. `offer`: the options of a SYN, which are not the model's.
pub(crate) fn leaving(sent: &Transmit, agreed: &Agreed, offer: Option<&Offer>) -> Packet {
    let segment = &sent.segment;
    let flags = flags_of(segment.flags);
    let scale = match agreed.scales {
        Some((ours, _)) if flags & flag::SYN == 0 => ours,
        _ => 0,
    };
    Packet {
        ecn: Some(sent.ecn),
        flags,
        seq: segment.seq,
        len: u32::from(segment.payload),
        ack: (flags & flag::ACK != 0).then_some(segment.ack),
        win: Some((segment.window >> scale).min(u32::from(u16::MAX))),
        urgent: None,
        options: Some(options(segment, agreed.timestamps, offer)),
    }
}

/// The options of our SYN or SYN-ACK.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Offer {
    pub(crate) mss: u16,
    pub(crate) sack: bool,
    pub(crate) timestamps: bool,
    pub(crate) scale: Option<u8>,
}

fn options(segment: &Segment, timestamps: bool, offer: Option<&Offer>) -> Vec<TcpOption> {
    let mut options = Vec::new();
    let stamps = TcpOption::Timestamps(ticks(segment.ts), ticks(segment.ts_echo));
    if let Some(offer) = offer {
        options.push(TcpOption::Mss(offer.mss));
        if offer.timestamps {
            options.extend(pair(offer.sack, TcpOption::SackOk));
            options.push(stamps);
        }
    } else if timestamps {
        options.extend([TcpOption::Nop, TcpOption::Nop, stamps]);
    }
    if let Some(accecn) = segment.accecn() {
        let count = usize::from(accecn.count);
        let fields = accecn.fields[..count].to_vec();
        options.push(TcpOption::AccEcn(accecn.ect1_first, fields));
        let padding = AccEcnOption::len(accecn.count) - (2 + 3 * u16::from(accecn.count));
        options.extend((0..padding).map(|_| TcpOption::Nop));
    }
    if let Some(offer) = offer {
        if offer.sack && !offer.timestamps {
            options.extend([TcpOption::Nop, TcpOption::Nop, TcpOption::SackOk]);
        }
        if let Some(scale) = offer.scale {
            options.extend([TcpOption::Nop, TcpOption::Scale(scale)]);
        }
        return options;
    }
    let blocks = segment.sack_blocks();
    if !blocks.is_empty() {
        let blocks = blocks
            .iter()
            .map(|block| (block.start, block.end))
            .collect();
        options.extend([TcpOption::Nop, TcpOption::Nop, TcpOption::Sack(blocks)]);
    }
    options
}

/// The option, or padding of its length.
fn pair(there: bool, option: TcpOption) -> Vec<TcpOption> {
    if there {
        vec![option]
    } else {
        vec![TcpOption::Nop, TcpOption::Nop]
    }
}

impl fmt::Display for TcpOption {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Nop => formatter.write_str("nop"),
            Self::Mss(mss) => write!(formatter, "mss {mss}"),
            Self::SackOk => formatter.write_str("sackOK"),
            Self::Scale(scale) => write!(formatter, "wscale {scale}"),
            Self::Timestamps(value, echo) => write!(formatter, "TS val {value} ecr {echo}"),
            Self::Sack(blocks) => {
                formatter.write_str("sack")?;
                blocks
                    .iter()
                    .try_for_each(|(start, end)| write!(formatter, " {start}:{end}"))
            }
            Self::AccEcn(ect1_first, fields) => {
                let names = if *ect1_first {
                    ["e1b", "ceb", "e0b"]
                } else {
                    ["e0b", "ceb", "e1b"]
                };
                formatter.write_str("ECN")?;
                names
                    .iter()
                    .zip(fields)
                    .try_for_each(|(name, field)| write!(formatter, " {name} {field}"))
            }
            Self::Other(word, value) if value.is_empty() => formatter.write_str(word),
            Self::Other(word, value) => write!(formatter, "{word} {value}"),
        }
    }
}

impl fmt::Display for Packet {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(ecn) = self.ecn {
            let word = match ecn {
                Codepoint::NotEct => "noecn",
                Codepoint::Ect0 => "ect0",
                Codepoint::Ect1 => "ect1",
                Codepoint::Ce => "ce",
            };
            write!(formatter, "[{word}] ")?;
        }
        let mut letters: String = flag::LETTERS
            .iter()
            .filter(|&&(_, bit)| self.flags & bit != 0)
            .map(|&(letter, _)| letter)
            .collect();
        if letters.is_empty() {
            letters.push('-');
        }
        let end = self.seq.wrapping_add(self.len);
        write!(formatter, "{letters} {}:{end}({})", self.seq, self.len)?;
        for (name, value) in [("ack", self.ack), ("win", self.win), ("urg", self.urgent)] {
            if let Some(value) = value {
                write!(formatter, " {name} {value}")?;
            }
        }
        match &self.options {
            None => formatter.write_str(" <...>"),
            Some(options) if options.is_empty() => Ok(()),
            Some(options) => {
                let options: Vec<String> = options.iter().map(ToString::to_string).collect();
                write!(formatter, " <{}>", options.join(","))
            }
        }
    }
}
