//! How long a packet is on the wire: overhead, least size, and the cells of ATM and PTM.
//!
//! Source: `tc-cake(8)`; "Piece of CAKE" section III-A; ITU-T G.992.3 (ATM cells of 53 bytes
//! with 48 of payload), IEEE 802.3 clause 61 (64/65 octet encoding).
//! Units: bytes.

sojourn_units::words! {
    /// Cells below the link layer, with tc's words.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
    pub enum Framing {
        /// None.
        #[default]
        None = "noatm",
        /// 48 bytes in each cell of 53 (ADSL).
        Atm = "atm",
        /// 64 bytes in each block of 65 (VDSL2); a block begun counts one byte.
        Ptm = "ptm",
    }
}

/// A link's overhead for each packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LinkLayer {
    /// Count the packet with the link-layer header that it has here (`raw`); otherwise from its
    /// network header, and `overhead` stands for all below it.
    pub raw: bool,
    /// Bytes added, -64 to 256.
    pub overhead: i32,
    /// Least size, 0 to 256.
    pub mpu: u32,
    /// Cells.
    pub framing: Framing,
}

impl Default for LinkLayer {
    fn default() -> Self {
        Self {
            raw: true,
            overhead: 0,
            mpu: 0,
            framing: Framing::None,
        }
    }
}

impl LinkLayer {
    /// Bytes on the wire of a packet of `len` bytes here, whose network header begins after
    /// `network_offset` bytes.
    ///
    /// ```
    /// use sojourn_qdisc::{Framing, LinkLayer};
    /// let pppoe = LinkLayer { raw: false, overhead: 40, mpu: 0, framing: Framing::Atm };
    /// // 1492 bytes of IP and 40 bytes make 32 cells.
    /// assert_eq!(pppoe.size(1506, 14), 32 * 53);
    /// ```
    #[inline]
    pub fn size(&self, len: u32, network_offset: u32) -> u32 {
        let counted = if self.raw {
            len
        } else {
            len.saturating_sub(network_offset)
        };
        // In 64 bits nothing overflows, and one comparison stands for two.
        let sum = i64::from(counted) + i64::from(self.overhead);
        let framed = sum.max(self.mpu.into()).min(u32::MAX.into()) as u32;
        match self.framing {
            Framing::None => framed,
            Framing::Atm => framed.div_ceil(48).saturating_mul(53),
            Framing::Ptm => framed.saturating_add(framed.div_ceil(64)),
        }
    }

    /// tc's words for common links.
    pub const WORDS: [&'static str; LINKS.len()] = {
        let mut words = [""; LINKS.len()];
        let mut i = 0;
        while i < words.len() {
            words[i] = LINKS[i].0;
            i += 1;
        }
        words
    };

    /// Applies one of tc's words to what the words before it have set; false for other words.
    /// As in tc, overheads add up (`ether-vlan` may come several times).
    pub fn apply(&mut self, word: &str) -> bool {
        let Some(&(_, overhead, mpu, framing)) = LINKS.iter().find(|row| row.0 == word) else {
            return false;
        };
        match word {
            "raw" => (self.raw, self.overhead) = (true, 0),
            "conservative" => {
                self.raw = false;
                self.overhead = overhead;
            }
            "via-ethernet" => return true,
            _ => {
                self.raw = false;
                self.overhead = (self.overhead + overhead).min(256);
            }
        }
        self.mpu = mpu.unwrap_or(self.mpu);
        self.framing = framing.unwrap_or(self.framing);
        true
    }
}

const NONE: Option<Framing> = Some(Framing::None);
const ATM: Option<Framing> = Some(Framing::Atm);
const PTM: Option<Framing> = Some(Framing::Ptm);

/// A word, the overhead it adds, the least size and the framing that it sets.
type Word = (&'static str, i32, Option<u32>, Option<Framing>);

/// tc's words for common links, in tc's order.
const LINKS: [Word; 16] = [
    ("raw", 0, None, NONE),
    ("conservative", 48, None, ATM),
    ("via-ethernet", 0, None, None),
    ("ethernet", 38, Some(84), None),
    ("ether-vlan", 4, None, None),
    ("docsis", 18, Some(64), NONE),
    ("pppoa-vcmux", 10, None, ATM),
    ("pppoa-llc", 14, None, ATM),
    ("pppoe-vcmux", 32, None, ATM),
    ("pppoe-llcsnap", 40, None, ATM),
    ("bridged-vcmux", 24, None, ATM),
    ("bridged-llcsnap", 32, None, ATM),
    ("ipoa-vcmux", 8, None, ATM),
    ("ipoa-llcsnap", 16, None, ATM),
    ("pppoe-ptm", 30, None, PTM),
    ("bridged-ptm", 22, None, PTM),
];

#[cfg(test)]
mod tests;
