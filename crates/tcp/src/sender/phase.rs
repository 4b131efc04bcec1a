//! What the sender remembers of a loss: the phase of its recovery, proportional rate reduction and
//! what undo needs. Sources in `recovery`.

use crate::Time;

/// What the sender is doing about loss; names in Linux in brackets.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Recovery {
    /// Nothing unusual (Open).
    #[default]
    Open,
    /// Segments arrived out of order (Disorder).
    Disorder,
    /// The window shrinks after a mark (CWR).
    Reduced,
    /// Fast recovery (Recovery).
    Recovering,
    /// After a retransmission timeout (Loss).
    Loss,
}

/// State of loss recovery.
#[derive(Clone, Debug, Default)]
#[repr(C)]
pub(super) struct RecoveryState {
    pub(super) state: Recovery,
    /// F-RTO is deciding whether the timeout was spurious.
    pub(super) frto: bool,
    /// F-RTO step 2b: send new data before retransmissions.
    pub(super) prefer_new: bool,
    /// The one rescue retransmission of this recovery was sent (RFC 6675 NextSeg rule 4).
    pub(super) rescued: bool,
    /// Consecutive timeouts.
    pub(super) timeouts: u32,
    /// RecoveryPoint: the episode ends when this is acknowledged.
    pub(super) high: u64,
    /// SND.NXT when a tail loss probe was sent, and whether it was a retransmission.
    pub(super) tail_probe: Option<(u64, bool)>,
    /// RACK's reordering window in quarters of the shortest RTT.
    pub(super) window_steps: u32,
    pub(super) window_persist: u32,
    /// Delivered count of the last widening.
    pub(super) widened_at: u64,
    /// Found lost by a timer; the control hears of it with the next ACK.
    pub(super) lost_by_timer: u32,
    /// A DSACK waits for its round trip to pass.
    pub(super) dsack_seen: bool,
    /// Reordering has been seen on this connection.
    pub(super) reordering: bool,
}

impl RecoveryState {
    /// Whether PRR governs the window.
    pub(super) fn reducing(&self) -> bool {
        matches!(self.state, Recovery::Reduced | Recovery::Recovering)
    }
}

/// Proportional rate reduction (RFC 6937), all in segments.
#[derive(Clone, Debug, Default)]
pub(super) struct Prr {
    /// Window in force during the reduction.
    pub(super) window: u32,
    pub(super) prior_window: u32,
    pub(super) delivered: u32,
    pub(super) sent: u32,
}

/// What is needed to find out that a reduction was a mistake.
#[derive(Clone, Debug, Default)]
pub(super) struct Undo {
    /// SND.UNA when the reduction began; none when it cannot be undone.
    pub(super) marker: Option<u64>,
    /// Retransmissions not yet reported as duplicates; none before the first.
    pub(super) outstanding: Option<u32>,
    /// When the first retransmission was sent.
    pub(super) first_sent: Option<Time>,
}

impl Undo {
    pub(super) fn start(&mut self, una: u64, retransmitting: bool) {
        self.marker = Some(una);
        if !retransmitting {
            self.outstanding = None;
        }
    }

    pub(super) fn clear(&mut self) {
        self.marker = None;
    }

    pub(super) fn on_retransmit(&mut self, now: Time) {
        self.first_sent.get_or_insert(now);
        self.outstanding = Some(self.outstanding.unwrap_or(0) + 1);
    }

    pub(super) fn on_duplicate(&mut self, end: u64) {
        if self.marker.is_some_and(|marker| end > marker)
            && let Some(count) = &mut self.outstanding
        {
            *count = count.saturating_sub(1);
        }
    }

    /// Every retransmission turned out to be a duplicate (RFC 3708).
    pub(super) fn all_duplicates(&self) -> bool {
        self.marker.is_some() && self.outstanding == Some(0)
    }

    /// The ACK answers something sent before the first retransmission (Eifel, RFC 3522).
    pub(super) fn answers_original(&self, echo: Time) -> bool {
        echo != Time::ZERO && self.first_sent.is_some_and(|sent| echo < sent)
    }

    pub(super) fn possible(&self, echo: Time) -> bool {
        self.marker.is_some() && (self.all_duplicates() || self.answers_original(echo))
    }
}
