//! What a sender that sees its [copies](Copies) does not send again.

use super::Sender;
use crate::Time;
use crate::copies::Copies;
use alloc::boxed::Box;

impl Sender {
    /// From now on it is told of its copies.
    pub(crate) fn see_copies(&mut self) {
        self.copies = Some(Box::<Copies>::default());
    }

    /// A copy of the segment that begins here is lost.
    pub(crate) fn lose_copy(&mut self, offset: u64) {
        if let Some(copies) = &mut self.copies
            && (offset >= self.una || offset == 0)
        {
            *copies.more.entry(offset).or_default() -= 1;
        }
    }

    /// The peer has everything before this offset.
    pub(crate) fn peer_has(&mut self, offset: u64) {
        if let Some(copies) = &mut self.copies {
            copies.peer_has = offset;
            let una = self.una;
            if copies
                .more
                .first_key_value()
                .is_some_and(|(&first, _)| first < una)
                && una > 1
            {
                copies.more = copies.more.split_off(&una);
            }
        }
    }

    /// Whether a segment is not sent again now because a copy is under way.
    #[inline]
    pub(super) fn is_held(&self, id: u64) -> bool {
        let start = || self.board.get(id).start();
        (self.copies.as_ref()).is_some_and(|copies| copies.are_under_way(start()))
    }

    /// A segment is sent again.
    #[inline]
    pub(super) fn copy(&mut self, offset: u64) {
        if let Some(copies) = &mut self.copies {
            copies.send_again(offset);
        }
    }

    /// Whether the SYN is not sent again because a copy is under way; notes that, or that it is.
    pub(crate) fn holds_syn(&mut self) -> bool {
        let Some(copies) = &mut self.copies else {
            return false;
        };
        let holds = copies.are_under_way(0);
        if holds {
            copies.waits += 1;
        } else {
            copies.send_again(0);
        }
        holds
    }

    /// A timer wants to send something again.
    pub(super) fn note_timer(&mut self, now: Time) {
        if let Some(copies) = &mut self.copies {
            copies.timer = Some(now);
        }
    }

    /// Whether what is sent now is due to such a timer.
    pub(super) fn by_timer(&self, now: Time) -> bool {
        (self.copies.as_ref()).is_some_and(|copies| copies.timer == Some(now))
    }
}
