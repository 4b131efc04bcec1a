//! Reading pcapng, and classic pcap, which `tcpdump -w` writes.

use crate::pcapng::{self, option, padding};
use crate::{Direction, LinkType, MOST_BLOCK};
use sojourn_units::Time;
use std::borrow::Cow;
use std::io::{self, Read};

/// A packet of a capture.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Record {
    /// Number of its interface, counted over all sections.
    pub interface: usize,
    /// When it was seen; none in a simple packet block. Nanoseconds since the writer's epoch,
    /// rounded down where the file is finer.
    pub at: Option<Time>,
    /// Which way it went, where the file tells.
    pub direction: Option<Direction>,
    /// What its bytes begin with.
    pub link_type: LinkType,
    /// The bytes that were kept.
    pub bytes: Vec<u8>,
    /// Its length on the wire.
    pub len: u32,
}

impl Record {
    /// The bytes as an Ethernet frame; bare IP and packets of a cooked capture get a header with
    /// no addresses.
    ///
    /// # Errors
    /// The link type, when it is none of these.
    pub fn ethernet(&self) -> Result<Cow<'_, [u8]>, LinkType> {
        let header = self.link_type.header() as usize;
        let behind = self.bytes.get(header..).unwrap_or_default();
        // What the payload is stands at the end of the first version's header and at the start of
        // the second's.
        let ether_type = match self.link_type {
            LinkType::Ethernet => return Ok(Cow::Borrowed(&self.bytes)),
            LinkType::Raw => match self.bytes.first().map(|byte| byte >> 4) {
                Some(6) => [0x86, 0xdd],
                _ => [0x08, 0x00],
            },
            LinkType::Cooked => self.two_bytes(14),
            LinkType::Cooked2 => self.two_bytes(0),
            other => return Err(other),
        };
        Ok([&[0; 12][..], &ether_type, behind].concat().into())
    }

    /// Its length as an Ethernet frame.
    pub fn ethernet_len(&self) -> u32 {
        let payload = self.len.saturating_sub(self.link_type.header());
        payload.saturating_add(LinkType::Ethernet.header())
    }

    /// Where it was seen: the number of the capture's interface and, in a cooked capture of
    /// version 2, the kernel's number of its own. A capture on `any` sees a packet that is
    /// forwarded within the host several times.
    pub fn seen_on(&self) -> (usize, u32) {
        let index = match self.link_type {
            LinkType::Cooked2 => self.bytes.get(4..).and_then(<[u8]>::first_chunk),
            _ => None,
        };
        (
            self.interface,
            index.map_or(0, |bytes| u32::from_be_bytes(*bytes)),
        )
    }

    /// Two bytes of the header; zeros where the packet is cut before them.
    fn two_bytes(&self, at: usize) -> [u8; 2] {
        let bytes = self.bytes.get(at..).and_then(<[u8]>::first_chunk);
        bytes.copied().unwrap_or_default()
    }
}

/// What is wrong with a file, and where.
#[derive(Debug, thiserror::Error)]
#[error("{problem} (byte {at})")]
pub struct ReadError {
    /// Where the block begins that is wrong, in bytes from the start of the file.
    pub at: u64,
    /// What is wrong.
    pub problem: Problem,
}

/// What can be wrong with a file.
#[derive(Debug, thiserror::Error)]
pub enum Problem {
    /// Neither of the two formats.
    #[error("not a capture: it begins with neither a pcapng section nor a pcap header")]
    NoCapture,
    /// It ends within a block.
    #[error("the file ends within a block: it was cut off, or its writer was killed")]
    Truncated,
    /// A length that cannot be.
    #[error("a block says that it has {0} bytes; it must be 12 to {MOST_BLOCK} in steps of four")]
    Length(u32),
    /// The lengths before and behind a block differ.
    #[error("a block says {0} bytes at its start and {1} at its end")]
    Lengths(u32, u32),
    /// A section of another major version than 1.
    #[error("the section has version {0}; known is version 1")]
    Version(u16),
    /// A block is too short for its kind, or what is in it too long for the block.
    #[error("{0} does not fit its block")]
    Short(&'static str),
    /// A packet of an interface that was not described before.
    #[error("a packet is of interface {0}, which the section does not describe")]
    Interface(u32),
    /// The file cannot be read.
    #[error("cannot be read: {0}")]
    Io(#[from] io::Error),
}

/// Reads a capture, packet by packet. Give it a buffered reader.
///
/// After an error there are no more packets.
#[derive(Debug)]
pub struct Reader<R> {
    input: Input<R>,
    /// Whether it is classic pcap: records without blocks, of one interface.
    classic: bool,
    /// Whether the section has the other byte order.
    swapped: bool,
    /// Number of the section's first interface.
    section: usize,
    interfaces: Vec<Described>,
    /// The type of the first block has been read to know the format.
    type_read: bool,
    failed: bool,
}

/// The file, with the position in it.
#[derive(Debug)]
struct Input<R> {
    input: R,
    at: u64,
}

impl<R: Read> Input<R> {
    /// Fills as much of the buffer as there is.
    fn fill(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let mut done = 0;
        while done < buffer.len() {
            match self.input.read(&mut buffer[done..]) {
                Ok(0) => break,
                Ok(count) => done += count,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        self.at += done as u64;
        Ok(done)
    }

    /// Four bytes; none at the end of the file.
    fn next(&mut self) -> Result<Option<[u8; 4]>, Problem> {
        let mut word = [0; 4];
        match self.fill(&mut word)? {
            0 => Ok(None),
            4 => Ok(Some(word)),
            _ => Err(Problem::Truncated),
        }
    }

    /// Four bytes that must be there.
    fn word(&mut self) -> Result<[u8; 4], Problem> {
        self.next()?.ok_or(Problem::Truncated)
    }

    /// `len` bytes that must be there.
    fn take(&mut self, len: usize) -> Result<Vec<u8>, Problem> {
        // Read in pieces, so that a length in a damaged file takes no more memory than the file.
        const PIECE: usize = 64 << 10;
        let mut bytes = Vec::new();
        while bytes.len() < len {
            let from = bytes.len();
            bytes.resize(len.min(from + PIECE), 0);
            if self.fill(&mut bytes[from..])? < bytes.len() - from {
                return Err(Problem::Truncated);
            }
        }
        Ok(bytes)
    }
}

#[derive(Debug)]
struct Described {
    name: String,
    link_type: LinkType,
    snap_len: u32,
    resolution: u8,
    offset_seconds: i64,
}

/// A block's body with its byte order.
#[derive(Clone, Copy)]
struct Body<'a> {
    bytes: &'a [u8],
    swapped: bool,
}

/// Numbers at a place of a body, in its byte order.
macro_rules! numbers {
    ($($name:ident -> $type:ty;)+) => {
        $(fn $name(self, at: usize) -> Option<$type> {
            let value = <$type>::from_ne_bytes(*self.bytes.get(at..)?.first_chunk()?);
            Some(if self.swapped { value.swap_bytes() } else { value })
        })+
    };
}

impl<'a> Body<'a> {
    numbers! {
        half -> u16;
        word -> u32;
        long -> u64;
    }

    /// The options from `at` on. Damaged ones end the list: none of them is needed to read on.
    fn options(self, mut at: usize) -> impl Iterator<Item = (u16, Body<'a>)> {
        std::iter::from_fn(move || {
            let (code, len) = (self.half(at)?, usize::from(self.half(at + 2)?));
            let bytes = self.bytes.get(at + 4..at + 4 + len)?;
            at += 4 + len + padding(len);
            (code != option::END).then_some((code, Body { bytes, ..self }))
        })
    }
}

impl<R: Read> Reader<R> {
    /// Looks at what kind of file it is.
    ///
    /// # Errors
    /// When it is no capture.
    pub fn new(input: R) -> Result<Self, ReadError> {
        let mut reader = Self {
            input: Input { input, at: 0 },
            classic: false,
            swapped: false,
            section: 0,
            interfaces: Vec::new(),
            type_read: true,
            failed: false,
        };
        let magic = match reader.input.next() {
            Ok(Some(magic)) => Ok(u32::from_ne_bytes(magic)),
            Ok(None) | Err(Problem::Truncated) => Err(Problem::NoCapture),
            Err(problem) => Err(problem),
        };
        let begun = magic.and_then(|magic| match magic {
            pcapng::SECTION => Ok(()),
            magic => reader.begin_classic(magic),
        });
        begun.map_err(|problem| ReadError { at: 0, problem })?;
        Ok(reader)
    }

    /// The names of the interfaces described so far, in order.
    pub fn interfaces(&self) -> Vec<&str> {
        self.interfaces.iter().map(|i| i.name.as_str()).collect()
    }

    /// The next packet; none at the end.
    ///
    /// # Errors
    /// When the file is damaged or cannot be read.
    pub fn next_record(&mut self) -> Result<Option<Record>, ReadError> {
        while !self.failed {
            // A block whose type has been read already began four bytes before.
            let at = self.input.at - if self.type_read { 4 } else { 0 };
            let step = if self.classic {
                self.classic_record()
            } else {
                self.block()
            };
            match step {
                Ok(Step::Packet(record)) => return Ok(Some(record)),
                Ok(Step::Other) => {}
                Ok(Step::End) => return Ok(None),
                Err(problem) => {
                    self.failed = true;
                    return Err(ReadError { at, problem });
                }
            }
        }
        Ok(None)
    }

    /// Reads the header of a classic file behind its first word.
    fn begin_classic(&mut self, magic: u32) -> Result<(), Problem> {
        let known = |magic| match magic {
            // Time stamps in microseconds, and in nanoseconds.
            0xa1b2_c3d4 => Some(6),
            0xa1b2_3c4d => Some(9),
            _ => None,
        };
        (self.classic, self.type_read) = (true, false);
        self.swapped = known(magic).is_none();
        let resolution = known(magic)
            .or_else(|| known(magic.swap_bytes()))
            .ok_or(Problem::NoCapture)?;
        let header = self.input.take(20)?;
        let header = self.body(&header);
        let version = header.half(0).unwrap_or(0);
        if version != 2 {
            return Err(Problem::Version(version));
        }
        // The upper half may hold the length of the frame check sequence.
        let link_type = header.word(16).unwrap_or(0) as u16;
        self.interfaces.push(Described {
            name: String::new(),
            link_type: LinkType::from_number(link_type),
            snap_len: 0,
            resolution,
            offset_seconds: 0,
        });
        Ok(())
    }

    fn classic_record(&mut self) -> Result<Step, Problem> {
        let Some(seconds) = self.input.next()? else {
            return Ok(Step::End);
        };
        let [fraction, kept, len] = [self.input.word()?, self.input.word()?, self.input.word()?];
        let [seconds, fraction, kept, len] =
            [seconds, fraction, kept, len].map(|word| self.order(word));
        if kept > MOST_BLOCK {
            return Err(Problem::Length(kept));
        }
        let described = &self.interfaces[0];
        let second = 10_u64.pow(described.resolution.into());
        Ok(Step::Packet(Record {
            interface: 0,
            at: Some(described.time(u64::from(seconds) * second + u64::from(fraction))),
            direction: None,
            link_type: described.link_type,
            bytes: self.input.take(kept as usize)?,
            len,
        }))
    }

    fn block(&mut self) -> Result<Step, Problem> {
        let kind = if std::mem::take(&mut self.type_read) {
            pcapng::SECTION
        } else {
            match self.input.next()? {
                None => return Ok(Step::End),
                // The section's type reads the same in both byte orders.
                Some(word) => self.order(word),
            }
        };
        let len = self.input.word()?;
        let mut body = Vec::new();
        if kind == pcapng::SECTION {
            // Its first word tells in which order its length is written.
            let order = self.input.word()?;
            self.swapped = match u32::from_ne_bytes(order) {
                pcapng::BYTE_ORDER => false,
                other if other.swap_bytes() == pcapng::BYTE_ORDER => true,
                _ => return Err(Problem::NoCapture),
            };
            body.extend(order);
        }
        let len = self.order(len);
        if !(12..=MOST_BLOCK).contains(&len)
            || !len.is_multiple_of(4)
            || len as usize - 12 < body.len()
        {
            return Err(Problem::Length(len));
        }
        let rest = len as usize - 12 - body.len();
        body.extend(self.input.take(rest)?);
        let again = self.input.word()?;
        let again = self.order(again);
        if again != len {
            return Err(Problem::Lengths(len, again));
        }
        let body = self.body(&body);
        match kind {
            pcapng::SECTION => self.section(body).map(|()| Step::Other),
            pcapng::INTERFACE => self.interface(body).map(|()| Step::Other),
            pcapng::ENHANCED_PACKET => self.packet(body, body.word(0)).map(Step::Packet),
            pcapng::OLD_PACKET => {
                // The number of packets dropped stands beside a shorter interface number.
                let interface = body.half(0).map(u32::from);
                self.packet(body, interface).map(Step::Packet)
            }
            pcapng::SIMPLE_PACKET => self.simple(body).map(Step::Packet),
            _ => Ok(Step::Other),
        }
    }

    const fn body<'a>(&self, bytes: &'a [u8]) -> Body<'a> {
        let swapped = self.swapped;
        Body { bytes, swapped }
    }

    fn order(&self, word: [u8; 4]) -> u32 {
        self.body(&word).word(0).expect("a word has four bytes")
    }

    fn section(&mut self, body: Body<'_>) -> Result<(), Problem> {
        let version = body.half(4).ok_or(Problem::Short("a section header"))?;
        self.section = self.interfaces.len();
        match version {
            1 => Ok(()),
            other => Err(Problem::Version(other)),
        }
    }

    fn interface(&mut self, body: Body<'_>) -> Result<(), Problem> {
        let short = || Problem::Short("an interface description");
        let mut described = Described {
            name: String::new(),
            link_type: LinkType::from_number(body.half(0).ok_or_else(short)?),
            snap_len: body.word(4).ok_or_else(short)?,
            // Microseconds, says the format, unless told otherwise.
            resolution: 6,
            offset_seconds: 0,
        };
        for (code, value) in body.options(8) {
            match code {
                option::IF_NAME => {
                    described.name = String::from_utf8_lossy(value.bytes).into_owned();
                }
                option::IF_RESOLUTION => {
                    described.resolution = *value.bytes.first().unwrap_or(&6);
                }
                option::IF_OFFSET => {
                    described.offset_seconds = value.long(0).unwrap_or(0).cast_signed();
                }
                _ => {}
            }
        }
        self.interfaces.push(described);
        Ok(())
    }

    fn described(&self, number: u32) -> Result<(usize, &Described), Problem> {
        let index = self.section + number as usize;
        let found = self.interfaces.get(index);
        found
            .map(|found| (index, found))
            .ok_or(Problem::Interface(number))
    }

    /// An enhanced packet block, or its forerunner, which differs in its first word.
    fn packet(&self, body: Body<'_>, interface: Option<u32>) -> Result<Record, Problem> {
        let short = || Problem::Short("a packet");
        let (interface, described) = self.described(interface.ok_or_else(short)?)?;
        let field = |at| body.word(at).ok_or_else(short);
        let ticks = u64::from(field(4)?) << 32 | u64::from(field(8)?);
        let (kept, len) = (field(12)? as usize, field(16)?);
        let bytes = body.bytes.get(20..20 + kept).ok_or_else(short)?;
        let direction = body
            .options(20 + kept + padding(kept))
            .find(|(code, _)| *code == option::FLAGS)
            .and_then(|(_, flags)| match flags.word(0)? & 3 {
                1 => Some(Direction::Inbound),
                2 => Some(Direction::Outbound),
                _ => None,
            });
        Ok(Record {
            interface,
            at: Some(described.time(ticks)),
            direction,
            link_type: described.link_type,
            bytes: bytes.to_vec(),
            len,
        })
    }

    /// A packet without anything else: of the first interface, cut at its snap length.
    fn simple(&self, body: Body<'_>) -> Result<Record, Problem> {
        let (interface, described) = self.described(0)?;
        let short = || Problem::Short("a simple packet");
        let len = body.word(0).ok_or_else(short)?;
        let kept = match described.snap_len {
            0 => len,
            snap_len => len.min(snap_len),
        };
        let bytes = body
            .bytes
            .get(4..)
            .and_then(|bytes| bytes.get(..kept as usize));
        Ok(Record {
            interface,
            at: None,
            direction: None,
            link_type: described.link_type,
            bytes: bytes.ok_or_else(short)?.to_vec(),
            len,
        })
    }
}

impl Described {
    fn time(&self, ticks: u64) -> Time {
        let ticks = u128::from(ticks);
        let exponent = u32::from(self.resolution & 0x7f);
        let nanos = match self.resolution & 0x80 {
            // Powers of ten: 10⁻³⁸ s is as fine as 128 bits tell; below, all is zero.
            0 if exponent <= 9 => ticks * 10_u128.pow(9 - exponent),
            0 => ticks / 10_u128.checked_pow(exponent - 9).unwrap_or(u128::MAX),
            _ => (ticks * 1_000_000_000) >> exponent,
        };
        let nanos = i128::try_from(nanos)
            .unwrap_or(i128::MAX)
            .saturating_add(i128::from(self.offset_seconds) * 1_000_000_000);
        Time::from_nanos(u64::try_from(nanos.max(0)).unwrap_or(u64::MAX))
    }
}

enum Step {
    Packet(Record),
    Other,
    End,
}
