//! What there is to choose from: representations, and the size of each of their chunks.

use alloc::vec::Vec;
use core::fmt;
use sojourn_units::{Rate, Span};

/// A video.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Manifest {
    chunk: Span,
    rates: Vec<Rate>,
    sizes: Vec<Vec<u32>>,
}

/// Why there is no such video. Representations and chunks count from 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ManifestError {
    /// Chunks have no length.
    NoLength,
    /// There is no representation.
    NoRepresentation,
    /// The rate of this representation is not above the one before (or zero).
    NotRising(usize),
    /// There are no chunks.
    NoChunks,
    /// So many representations have sizes, of so many.
    Unsized(usize, usize),
    /// This representation has so many sizes; the first has so many.
    Missing(usize, usize, usize),
}

impl fmt::Display for ManifestError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoLength => f.write_str("a chunk must be longer than zero"),
            Self::NoRepresentation => f.write_str("at least one representation is needed"),
            Self::NotRising(0) => f.write_str("the rate of representation 0 must be above zero"),
            Self::NotRising(at) => write!(
                f,
                "the rate of representation {at} must be above that of the one before"
            ),
            Self::NoChunks => f.write_str("representation 0 has no sizes of chunks"),
            Self::Unsized(has, wanted) => write!(
                f,
                "there are sizes for {has} representations, but {wanted} rates"
            ),
            Self::Missing(at, has, wanted) => write!(
                f,
                "representation {at} has {has} sizes of chunks, representation 0 has {wanted}"
            ),
        }
    }
}

impl core::error::Error for ManifestError {}

impl Manifest {
    /// A video in chunks of a constant playing time, in one or more representations of rising
    /// nominal rates, with the size in bytes of each of their chunks. A chunk may have zero
    /// bytes: then only the answer's head travels. The video is played again from its beginning
    /// when it ends.
    ///
    /// # Errors
    /// When something is missing or makes no sense.
    pub fn new(chunk: Span, rates: Vec<Rate>, sizes: Vec<Vec<u32>>) -> Result<Self, ManifestError> {
        if chunk.is_zero() {
            return Err(ManifestError::NoLength);
        }
        if rates.is_empty() {
            return Err(ManifestError::NoRepresentation);
        }
        let mut below = Rate::from_bps(0);
        for (at, &rate) in rates.iter().enumerate() {
            if rate.as_bps() <= below.as_bps() {
                return Err(ManifestError::NotRising(at));
            }
            below = rate;
        }
        if sizes.len() != rates.len() {
            return Err(ManifestError::Unsized(sizes.len(), rates.len()));
        }
        let chunks = sizes[0].len();
        if chunks == 0 {
            return Err(ManifestError::NoChunks);
        }
        if let Some(at) = sizes.iter().position(|sizes| sizes.len() != chunks) {
            return Err(ManifestError::Missing(at, sizes[at].len(), chunks));
        }
        Ok(Self {
            chunk,
            rates,
            sizes,
        })
    }

    /// Playing time of a chunk.
    pub const fn chunk(&self) -> Span {
        self.chunk
    }

    /// Nominal rates of the representations, rising.
    pub fn rates(&self) -> &[Rate] {
        &self.rates
    }

    /// Bytes of a chunk; none when there is no such representation. Chunks go round.
    pub fn size(&self, representation: usize, number: usize) -> Option<u32> {
        let sizes = self.sizes.get(representation)?;
        sizes.get(number % sizes.len()).copied()
    }

    /// The highest representation of at most `bps`; the lowest when none is.
    pub(super) fn fitting(&self, bps: f64) -> usize {
        let fits = |rate: &Rate| rate.as_bps() as f64 <= bps;
        self.rates.iter().rposition(fits).unwrap_or(0)
    }
}

/// A chunk of a video.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct ChunkName {
    /// Index of the representation.
    pub(super) representation: usize,
    /// Its place in the video.
    pub(super) number: usize,
}

impl ChunkName {
    /// In the place of a number: the header of a representation.
    pub(super) const HEADER: usize = 0xffff_ffff;

    /// Whether it is a representation's header.
    pub(super) const fn is_header(self) -> bool {
        self.number == Self::HEADER
    }

    /// As the tag of a message.
    pub(super) const fn tag(self) -> u64 {
        (self.representation as u64) << 32 | self.number as u64
    }

    pub(super) const fn of_tag(tag: u64) -> Self {
        Self {
            representation: (tag >> 32) as usize,
            number: (tag & 0xffff_ffff) as usize,
        }
    }
}
