//! Which datagrams have come already, by their numbers.

/// Numbers that are remembered, counted back from the highest.
const WINDOW: usize = 1024;

/// Tells the copies of datagrams that a line makes from the datagrams, by a window over their
/// numbers (RFC 4303 section 3.4.3). A number below the window counts as new.
#[derive(Clone, Debug)]
pub struct Received {
    /// One more than the highest number.
    next: u64,
    /// By number, modulo the window.
    came: [u64; WINDOW / 64],
}

impl Default for Received {
    fn default() -> Self {
        Self {
            next: 0,
            came: [0; WINDOW / 64],
        }
    }
}

impl Received {
    /// Whether a datagram with this number comes for the first time.
    pub fn is_new(&mut self, number: u32) -> bool {
        let number = u64::from(number);
        if number + (WINDOW as u64) < self.next {
            return true;
        }
        for passed in self.next.max((number + 1).saturating_sub(WINDOW as u64))..=number {
            let (word, bit) = Self::place(passed);
            self.came[word] &= !bit;
        }
        self.next = self.next.max(number + 1);
        let (word, bit) = Self::place(number);
        let is_new = self.came[word] & bit == 0;
        self.came[word] |= bit;
        is_new
    }

    fn place(number: u64) -> (usize, u64) {
        let at = number as usize % WINDOW;
        (at / 64, 1 << (at % 64))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_number_is_new_once() {
        let mut received = Received::default();
        let new = |received: &mut Received, numbers: &[u32]| -> Vec<bool> {
            numbers
                .iter()
                .map(|&number| received.is_new(number))
                .collect()
        };
        assert_eq!(
            new(&mut received, &[0, 0, 2, 1, 1, 2]),
            [true, false, true, true, false, false]
        );
        // A leap over more than the window, and what lies within it below.
        assert_eq!(
            new(&mut received, &[5000, 4990, 4990, 5000]),
            [true, true, false, false]
        );
        // Below the window nobody knows any more.
        assert_eq!(new(&mut received, &[2, 2]), [true, true]);
        assert_eq!(new(&mut received, &[u32::MAX, u32::MAX]), [true, false]);
    }
}
