//! Which tins hold packets, and which one goes next when there is no shaper: deficit round robin by
//! weight.
//!
//! The tins' deficits stand together here, because a packet that leaves looks at those of all tins.

/// Most tins.
const MOST: usize = 8;

/// The turns of the tins.
#[derive(Clone, Copy, Debug)]
pub(super) struct Turns {
    /// Tin whose turn it is.
    current: u32,
    /// A bit for each tin.
    tins: u8,
    /// A bit for each tin that holds packets.
    busy: u8,
    /// A bit for each tin that may still send in this round.
    credit: u8,
    /// Bytes that each tin gets in a round; at least 1.
    weights: [u32; MOST],
    /// Bytes that each tin may still send in this round.
    deficits: [i64; MOST],
}

impl Turns {
    /// Those of so many empty tins; at most eight.
    pub(super) fn new(tins: usize) -> Self {
        debug_assert!(tins <= MOST, "a bit for each tin");
        Self {
            current: 0,
            tins: u8::MAX >> (MOST - tins.clamp(1, MOST)),
            busy: 0,
            credit: 0,
            weights: [1; MOST],
            deficits: [0; MOST],
        }
    }

    /// A tin has another weight.
    pub(super) fn set_weight(&mut self, tin: usize, weight: u32) {
        self.weights[tin] = weight.max(1);
    }

    /// Whether a tin holds packets.
    #[inline]
    pub(super) const fn is_any_busy(&self) -> bool {
        self.busy != 0
    }

    /// The tins that hold packets.
    #[inline]
    pub(super) fn busy(&self) -> impl Iterator<Item = usize> + use<> {
        let mut left = self.busy;
        core::iter::from_fn(move || {
            let tin = left.trailing_zeros() as usize;
            left &= left.wrapping_sub(1);
            (tin < MOST).then_some(tin)
        })
    }

    /// A tin holds packets now, or none.
    #[inline]
    pub(super) const fn set_busy(&mut self, tin: usize, is_busy: bool) {
        self.busy = self.busy & !(1 << tin) | (is_busy as u8) << tin;
    }

    /// No tin holds packets.
    pub(super) const fn set_all_idle(&mut self) {
        self.busy = 0;
    }

    /// A tin has sent so many bytes, or is charged with them.
    #[inline]
    pub(super) fn sent(&mut self, tin: usize, bytes: u32) {
        // A tin alone needs no credit.
        if self.tins != 1 {
            self.set_deficit(tin, self.deficits[tin] - i64::from(bytes));
        }
    }

    #[inline]
    const fn set_deficit(&mut self, tin: usize, deficit: i64) {
        self.deficits[tin] = deficit;
        self.credit = self.credit & !(1 << tin) | ((deficit > 0) as u8) << tin;
    }

    /// The tin of this turn, one with credit and packets; some tin has packets.
    #[inline]
    pub(super) fn next(&mut self) -> usize {
        let current = self.current as usize;
        if self.tins == 1 || self.busy & self.credit & 1 << current != 0 {
            return current;
        }
        self.find_next()
    }

    fn find_next(&mut self) -> usize {
        let alone = self.current as usize;
        // One tin alone, as often, has the next turn again, after as many rounds as it must pay.
        if self.busy == 1 << alone && self.credit == 0 {
            let weight = u64::from(self.weights[alone]);
            let owed = self.deficits[alone].unsigned_abs() % weight;
            self.deficits[alone] = (weight - owed).cast_signed();
            self.credit = self.busy;
            return alone;
        }
        if self.busy & self.credit == 0 {
            self.skip_rounds();
        }
        loop {
            let after = (self.current + 1) % MOST as u32;
            let idle = self.busy.rotate_right(after).trailing_zeros();
            let passed = ((1_u16 << idle) - 1) as u8;
            // Tins without packets keep their debts, but save nothing up.
            if passed.rotate_left(after) & self.credit != 0 {
                self.forfeit(passed.rotate_left(after));
            }
            self.current = (after + idle) % MOST as u32;
            let current = self.current as usize;
            let deficit = self.deficits[current];
            if deficit > 0 {
                return current;
            }
            let paid = deficit + i64::from(self.weights[current]);
            self.set_deficit(current, paid);
            if paid > 0 {
                return current;
            }
        }
    }

    /// These tins lose their credit.
    #[cold]
    fn forfeit(&mut self, tins: u8) {
        for tin in 0..MOST {
            if tins >> tin & 1 == 1 {
                self.set_deficit(tin, self.deficits[tin].min(0));
            }
        }
    }

    /// Gives every tin with packets, none of which has credit, the rounds in which none of them
    /// could send.
    fn skip_rounds(&mut self) {
        let rounds = |tin: usize| self.deficits[tin].unsigned_abs() / u64::from(self.weights[tin]);
        let least = self.busy().map(rounds).min().unwrap_or(0);
        for tin in self.busy() {
            self.deficits[tin] += (least * u64::from(self.weights[tin])).cast_signed();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec::Vec;
    use sojourn_random::Stream;

    /// A tin of the plain model: whether it is busy, its weight and its deficit.
    struct Plain(bool, i64, i64);

    /// Every tin in its turn, round after round. While no tin could send, those without packets are
    /// not looked at.
    fn plain_next(tins: &mut [Plain], turn: &mut usize) -> usize {
        if tins[*turn].0 && tins[*turn].2 > 0 {
            return *turn;
        }
        while tins.iter().all(|tin| !tin.0 || tin.2 <= -tin.1) {
            for tin in tins.iter_mut().filter(|tin| tin.0) {
                tin.2 += tin.1;
            }
        }
        loop {
            *turn = (*turn + 1) % tins.len();
            let tin = &mut tins[*turn];
            if !tin.0 {
                tin.2 = tin.2.min(0);
                continue;
            }
            if tin.2 <= 0 {
                tin.2 += tin.1;
            }
            if tin.2 > 0 {
                return *turn;
            }
        }
    }

    #[test]
    fn turns_are_those_of_walked_rounds() {
        for seed in 0..300 {
            let mut dice = Stream::named(seed, "turns");
            let count = 2 + dice.below(7) as usize;
            let mut turns = Turns::new(count);
            let mut plain: Vec<Plain> = Vec::new();
            for tin in 0..count {
                let weight = 1 + dice.below(2000) as u32;
                turns.set_weight(tin, weight);
                plain.push(Plain(false, weight.into(), 0));
            }
            let mut turn = 0;
            for _ in 0..300 {
                let (tin, is_busy) = (dice.below(count as u64) as usize, dice.chance(0.6));
                turns.set_busy(tin, is_busy);
                plain[tin].0 = is_busy;
                let busy: Vec<usize> = turns.busy().collect();
                let of_plain = plain.iter().enumerate().filter(|(_, tin)| tin.0);
                assert_eq!(busy, of_plain.map(|(tin, _)| tin).collect::<Vec<_>>());
                if !turns.is_any_busy() {
                    continue;
                }
                let next = turns.next();
                assert_eq!(next, plain_next(&mut plain, &mut turn), "seed {seed}");
                let bytes = 1 + dice.below(9000) as u32;
                turns.sent(next, bytes);
                plain[next].2 -= i64::from(bytes);
                let deficits = plain.iter().map(|tin| tin.2).collect::<Vec<_>>();
                assert_eq!(turns.deficits[..count], deficits, "seed {seed}");
            }
        }
    }
}
