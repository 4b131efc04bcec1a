//! The two directions of a bridge.

/// The two directions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// From left to right.
    Up,
    /// From right to left.
    Down,
}

impl Side {
    /// Both, in the order of reports.
    pub const BOTH: [Self; 2] = [Self::Up, Self::Down];

    /// Index of the other one, whose port this side goes out of.
    pub(super) const fn other(self) -> usize {
        1 - self as usize
    }

    /// `up` or `down`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Up => "up",
            Self::Down => "down",
        }
    }
}
