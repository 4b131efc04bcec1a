//! What a delivered segment tells of its flight.

use super::ecn::is_too_marked;
use crate::{AckEvent, RateSample};
use alloc::collections::VecDeque;

/// Share of lost segments that is too much (BBRLossThresh).
const LOSS_THRESH: f64 = 0.02;

/// Losses, or marks, by the amount delivered when they were found, for their share in a flight.
#[derive(Clone, Debug, Default)]
pub(super) struct Log(VecDeque<(u64, u32)>);

impl Log {
    pub(super) fn note(&mut self, delivered: u64, count: u32) {
        if count > 0 {
            self.0.push_back((delivered, count));
        }
    }

    /// Segments found after `delivered`; forgets the others.
    pub(super) fn since(&mut self, delivered: u64) -> u32 {
        while self.0.front().is_some_and(|(at, _)| *at <= delivered) {
            self.0.pop_front();
        }
        self.0.iter().map(|(_, count)| count).sum()
    }
}

/// What the newest delivered segment tells (RS).
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Flight {
    pub(super) rate: f64,
    pub(super) delivered: u32,
    pub(super) lost: u32,
    pub(super) marked: u32,
    /// In flight when it was sent.
    pub(super) volume: u32,
    pub(super) app_limited: bool,
}

impl Flight {
    /// The flight of the newest segment that `ack` delivered; `losses` are brought up to date,
    /// `marks` are.
    pub(super) fn read(
        ack: &AckEvent,
        sample: RateSample,
        losses: &mut Log,
        marks: &mut Log,
        mss: f64,
    ) -> Self {
        losses.note(ack.delivered_total, ack.lost);
        let lost = losses.since(sample.prior_delivered);
        let delivered = libm::ceil(sample.delivered as f64 / mss) as u32;
        Self {
            rate: sample.delivered as f64 / sample.interval.as_secs_f64(),
            delivered,
            lost,
            marked: marks.since(sample.prior_delivered),
            volume: delivered.saturating_add(lost),
            app_limited: sample.app_limited,
        }
    }

    pub(super) fn too_marked(&self) -> bool {
        is_too_marked(self.marked, self.delivered)
    }

    pub(super) fn too_lossy(&self) -> bool {
        f64::from(self.lost) > f64::from(self.volume) * LOSS_THRESH
    }
}
