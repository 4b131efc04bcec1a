//! Reading classic pcap, which `tcpdump -w` writes.

use crate::read::{Filled, Input, Problem, ReadError, Record};
use crate::{LinkType, MOST_BLOCK};
use sojourn_units::Time;
use std::io::Read;

/// First word of a file with time stamps in microseconds, and in nanoseconds.
const MICROSECONDS: u32 = 0xa1b2_c3d4;
const NANOSECONDS: u32 = 0xa1b2_3c4d;

#[derive(Debug)]
pub(crate) struct Classic<R> {
    input: Input<R>,
    swapped: bool,
    /// Nanoseconds of a fraction's unit.
    unit: u64,
    link_type: LinkType,
    failed: bool,
}

impl<R: Read> Classic<R> {
    /// Reads the file's header behind its first word.
    pub(crate) fn new(mut input: Input<R>, magic: [u8; 4]) -> Result<Self, ReadError> {
        let begin = |problem| ReadError { at: 0, problem };
        let magic = u32::from_ne_bytes(magic);
        let known = |magic| match magic {
            MICROSECONDS => Some(1000),
            NANOSECONDS => Some(1),
            _ => None,
        };
        let (unit, swapped) = match (known(magic), known(magic.swap_bytes())) {
            (Some(unit), _) => (unit, false),
            (_, Some(unit)) => (unit, true),
            _ => return Err(begin(Problem::NoCapture)),
        };
        let header = input.take(20).map_err(begin)?;
        let mut reader = Self {
            input,
            swapped,
            unit,
            link_type: LinkType::Ethernet,
            failed: false,
        };
        let version = u16::from_ne_bytes([header[0], header[1]]);
        let version = if swapped {
            version.swap_bytes()
        } else {
            version
        };
        if version != 2 {
            return Err(begin(Problem::Version(version)));
        }
        // The upper half may hold the length of the frame check sequence.
        reader.link_type = LinkType::from_number(reader.word(&header, 16) as u16);
        Ok(reader)
    }

    fn word(&self, bytes: &[u8], at: usize) -> u32 {
        let word = bytes[at..at + 4].try_into().expect("four bytes");
        let word = u32::from_ne_bytes(word);
        if self.swapped {
            word.swap_bytes()
        } else {
            word
        }
    }

    pub(crate) fn next_record(&mut self) -> Result<Option<Record>, ReadError> {
        if self.failed {
            return Ok(None);
        }
        let at = self.input.at;
        let record = self.record();
        self.failed = record.is_err();
        record.map_err(|problem| ReadError { at, problem })
    }

    fn record(&mut self) -> Result<Option<Record>, Problem> {
        let mut header = [0; 16];
        match self.input.fill(&mut header)? {
            Filled::Whole => {}
            Filled::Nothing => return Ok(None),
            Filled::Part => return Err(Problem::Truncated),
        }
        let [seconds, fraction, kept, len] = [0, 4, 8, 12].map(|at| self.word(&header, at));
        if kept > MOST_BLOCK {
            return Err(Problem::Length(kept));
        }
        let nanos = u64::from(seconds) * 1_000_000_000 + u64::from(fraction) * self.unit;
        Ok(Some(Record {
            interface: 0,
            at: Some(Time::from_nanos(nanos)),
            direction: None,
            link_type: self.link_type,
            bytes: self.input.take(kept as usize)?,
            len,
        }))
    }
}
