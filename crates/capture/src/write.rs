//! Writing pcapng.

use crate::LinkType;
use crate::pcapng::{self, option, padding};
use sojourn_units::Time;
use std::io::{self, Write};

/// Time stamps count 10⁻⁹ s.
const NANOSECONDS: u8 = 9;
/// "Not known" in a section's length.
const UNKNOWN_LENGTH: u64 = u64::MAX;

/// Which way a packet passed the interface.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// Into the machine.
    Inbound,
    /// Out of it.
    Outbound,
}

/// An interface to be described.
#[derive(Clone, Copy, Debug)]
pub struct Interface<'a> {
    /// Its name, as packet dissectors show it.
    pub name: &'a str,
    /// What it is, for people.
    pub description: &'a str,
    /// What its packets begin with.
    pub link_type: LinkType,
    /// Most bytes of a packet that are kept; 0 for all.
    pub snap_len: u32,
}

/// Writes a capture. Give it a buffered writer; [`Writer::finish`] flushes it.
#[derive(Debug)]
pub struct Writer<W> {
    out: W,
    /// Made once and used for every block.
    block: Vec<u8>,
    interfaces: Vec<Known>,
    /// Time of the last packet.
    last: Time,
}

/// An interface that was described.
#[derive(Debug)]
struct Known {
    snap_len: u32,
    /// Packets that were written.
    packets: u64,
}

impl<W: Write> Writer<W> {
    /// Begins a capture, with the program that makes it and a comment.
    ///
    /// # Errors
    /// Those of `out`.
    pub fn new(out: W, application: &str, comment: &str) -> io::Result<Self> {
        let mut writer = Self {
            out,
            block: Vec::new(),
            interfaces: Vec::new(),
            last: Time::ZERO,
        };
        writer.word(pcapng::BYTE_ORDER);
        // Version 1.0.
        writer.half(1);
        writer.half(0);
        writer.long(UNKNOWN_LENGTH);
        writer.option(option::COMMENT, comment.as_bytes());
        writer.option(option::APPLICATION, application.as_bytes());
        writer.end_options();
        writer.flush_block(pcapng::SECTION)?;
        Ok(writer)
    }

    /// Describes an interface; the number that it gets.
    ///
    /// # Errors
    /// Those of the writer.
    pub fn interface(&mut self, interface: &Interface<'_>) -> io::Result<u32> {
        self.half(interface.link_type.number());
        self.half(0);
        self.word(interface.snap_len);
        self.option(option::IF_NAME, interface.name.as_bytes());
        self.option(option::IF_DESCRIPTION, interface.description.as_bytes());
        self.option(option::IF_RESOLUTION, &[NANOSECONDS]);
        self.end_options();
        self.flush_block(pcapng::INTERFACE)?;
        let number = self.interfaces.len() as u32;
        let snap_len = match interface.snap_len {
            0 => u32::MAX,
            len => len,
        };
        let packets = 0;
        self.interfaces.push(Known { snap_len, packets });
        Ok(number)
    }

    /// A packet of `len` bytes of which `bytes` are at hand; no more are kept than the interface's
    /// snap length.
    ///
    /// # Errors
    /// Those of the writer.
    pub fn packet(
        &mut self,
        interface: u32,
        at: Time,
        direction: Direction,
        bytes: &[u8],
        len: u32,
    ) -> io::Result<()> {
        debug_assert!(bytes.len() <= len as usize, "a packet longer than itself");
        let known = self.known(interface);
        known.packets += 1;
        let kept = bytes.len().min(known.snap_len as usize);
        self.last = self.last.max(at);
        self.word(interface);
        self.stamp(at);
        self.word(kept as u32);
        self.word(len);
        self.padded(&bytes[..kept]);
        let flags: u32 = match direction {
            Direction::Inbound => 1,
            Direction::Outbound => 2,
        };
        self.option(option::FLAGS, &flags.to_ne_bytes());
        self.end_options();
        self.flush_block(pcapng::ENHANCED_PACKET)
    }

    /// What an interface saw in all, of which the capture itself lost so many packets; once, at
    /// the end.
    ///
    /// # Errors
    /// Those of the writer.
    pub fn statistics(&mut self, interface: u32, lost: u64) -> io::Result<()> {
        let received = self.known(interface).packets + lost;
        self.word(interface);
        self.stamp(self.last);
        self.option(option::RECEIVED, &received.to_ne_bytes());
        self.option(option::OS_DROPPED, &lost.to_ne_bytes());
        self.end_options();
        self.flush_block(pcapng::STATISTICS)
    }

    /// What the capture is written to.
    pub const fn get_ref(&self) -> &W {
        &self.out
    }

    /// Writes what is buffered.
    ///
    /// # Errors
    /// Those of the writer.
    pub fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }

    /// Ends the capture: writes what is still buffered.
    ///
    /// # Errors
    /// Those of the writer.
    pub fn finish(mut self) -> io::Result<W> {
        self.out.flush()?;
        Ok(self.out)
    }

    fn known(&mut self, interface: u32) -> &mut Known {
        let known = self.interfaces.get_mut(interface as usize);
        known.expect("an interface is described before its packets")
    }

    fn half(&mut self, value: u16) {
        self.block.extend(value.to_ne_bytes());
    }

    fn word(&mut self, value: u32) {
        self.block.extend(value.to_ne_bytes());
    }

    fn long(&mut self, value: u64) {
        self.block.extend(value.to_ne_bytes());
    }

    /// A time stamp: the high word first, whatever the byte order.
    fn stamp(&mut self, at: Time) {
        self.word((at.as_nanos() >> 32) as u32);
        self.word(at.as_nanos() as u32);
    }

    fn padded(&mut self, bytes: &[u8]) {
        self.block.extend(bytes);
        self.block.extend(&[0; 4][..padding(bytes.len())]);
    }

    /// An option; nothing for an empty text. Longer ones than the format can hold are cut.
    fn option(&mut self, code: u16, value: &[u8]) {
        if value.is_empty() {
            return;
        }
        let value = &value[..value.len().min(usize::from(u16::MAX))];
        self.half(code);
        self.half(value.len() as u16);
        self.padded(value);
    }

    fn end_options(&mut self) {
        self.half(option::END);
        self.half(0);
    }

    /// Writes the block with its type and its length at both ends.
    fn flush_block(&mut self, kind: u32) -> io::Result<()> {
        let len = (self.block.len() as u32 + 12).to_ne_bytes();
        self.out.write_all(&kind.to_ne_bytes())?;
        self.out.write_all(&len)?;
        self.out.write_all(&self.block)?;
        self.out.write_all(&len)?;
        self.block.clear();
        Ok(())
    }
}
