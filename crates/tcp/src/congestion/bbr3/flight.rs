//! What a delivered segment tells of its flight.

use crate::{AckEvent, RateSample};
use alloc::collections::VecDeque;

/// Share of lost segments that is too much (BBRLossThresh).
const LOSS_THRESH: f64 = 0.02;

/// Losses by the amount delivered when they were found, for the share lost in a flight.
#[derive(Clone, Debug, Default)]
pub(super) struct LossLog(VecDeque<(u64, u32)>);

impl LossLog {
    pub(super) fn note(&mut self, delivered: u64, lost: u32) {
        if lost > 0 {
            self.0.push_back((delivered, lost));
        }
    }

    /// Segments found lost after `delivered`; forgets the others.
    pub(super) fn since(&mut self, delivered: u64) -> u32 {
        while self.0.front().is_some_and(|(at, _)| *at <= delivered) {
            self.0.pop_front();
        }
        self.0.iter().map(|(_, lost)| lost).sum()
    }
}

/// What the newest delivered segment tells (RS).
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Flight {
    pub(super) rate: f64,
    pub(super) delivered: u32,
    pub(super) lost: u32,
    /// In flight when it was sent.
    pub(super) volume: u32,
    pub(super) app_limited: bool,
}

impl Flight {
    /// The flight of the newest segment that `ack` delivered; `losses` are brought up to date.
    pub(super) fn read(ack: &AckEvent, sample: RateSample, losses: &mut LossLog, mss: f64) -> Self {
        losses.note(ack.delivered_total, ack.lost);
        let lost = losses.since(sample.prior_delivered);
        let delivered = libm::ceil(sample.delivered as f64 / mss) as u32;
        Self {
            rate: sample.delivered as f64 / sample.interval.as_secs_f64(),
            delivered,
            lost,
            volume: delivered.saturating_add(lost),
            app_limited: sample.app_limited,
        }
    }

    pub(super) fn too_lossy(&self) -> bool {
        f64::from(self.lost) > f64::from(self.volume) * LOSS_THRESH
    }
}
