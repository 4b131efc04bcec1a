//! What an instance of a discipline needs beside its spec.

use alloc::format;
use sojourn_random::Stream;

/// What an instance needs beside its spec.
#[derive(Clone, Copy, Debug)]
pub struct Setting<'a> {
    /// Seed of the run.
    pub seed: u64,
    /// The instance's own name, for example `link.up`; its dice depend on nothing else.
    pub name: &'a str,
    /// Largest packet of the link as [`Packet::len`](crate::Packet::len) counts it. Default quantum
    /// of flow queues.
    pub mtu: u32,
    /// Bytes of a packet before its network header, unless the packet knows better: 14 for
    /// Ethernet, 0 for bare IP. Part of `mtu` and of [`Packet::len`](crate::Packet::len).
    pub link_header: u32,
}

impl<'a> Setting<'a> {
    /// The same for another instance.
    #[must_use]
    pub const fn named(self, name: &'a str) -> Self {
        Self { name, ..self }
    }

    /// The instance's own dice for one purpose.
    pub fn dice(&self, purpose: &str) -> Stream {
        Stream::named(self.seed, &format!("{}.{purpose}", self.name))
    }
}
