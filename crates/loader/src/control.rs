//! The program's side of the border to congestion controls: a plug-in's object as one.

use crate::fault::{Fault, tell};
use libloading::Library;
use sojourn_plugin::abi::control::{
    AckReport, ControlEvent, ControlState, ControlTable, NONE, SenderSetting,
};
use sojourn_plugin::abi::{PASS, Text};
use sojourn_tcp::{
    AckArrival, AckEvent, Config, Congestion, CongestionControl, Ecn, INFINITE, SlowStart,
};
use sojourn_units::{Rate, Span, Time};
use std::ffi::c_void;
use std::ptr::NonNull;
use std::sync::Arc;

/// An object of a plug-in, and what it has last said.
#[derive(Debug)]
pub(crate) struct LoadedControl {
    object: NonNull<c_void>,
    table: ControlTable,
    said: ControlState,
    fault: Fault,
    /// Nothing is told after a panic.
    is_broken: bool,
    /// What the functions of the table are in.
    _library: Arc<Library>,
}

// SAFETY: the contract of the border: an object may move to another thread, and one thread at a
// time tells it of events. What makes it asks that of the control's type (`MakeControl: Send`).
unsafe impl Send for LoadedControl {}

impl LoadedControl {
    /// One with these options, for a sender of this configuration; none after the fault was told.
    pub(crate) fn new(
        table: &ControlTable,
        options: Text,
        config: &Config,
        fault: &Fault,
        library: &Arc<Library>,
    ) -> Option<Self> {
        let setting = setting(config);
        let mut said = ControlState {
            pacing_rate: NONE,
            marked_share: f64::NAN,
            window: 1,
            ssthresh: INFINITE,
            buffered_windows: 2,
            controls_recovery: false,
            limits_itself: false,
        };
        // SAFETY: all that is given lives as long as the call.
        let object = unsafe {
            let (setting, said) = (&raw const setting, &raw mut said);
            (table.make)(options, setting, said, fault.context(), tell)
        };
        let object = NonNull::new(object);
        if object.is_none() {
            fault.told("it refuses, and does not say why");
        }
        let made = Self {
            object: object?,
            table: *table,
            said,
            fault: fault.clone(),
            is_broken: false,
            _library: Arc::clone(library),
        };
        made.is_sound().then_some(made)
    }

    fn hear(&mut self, event: ControlEvent) {
        if self.is_broken {
            return;
        }
        let (event, said) = (&raw const event, &raw mut self.said);
        // SAFETY: the object is the table's, `&mut self` is the one thread that tells it of
        // events, and all that is given lives as long as the call.
        let answer = unsafe {
            let object = self.object.as_ptr();
            (self.table.hear)(object, event, said, self.fault.context(), tell)
        };
        if answer != PASS {
            self.fault.wrong_answer(answer);
        }
        self.is_broken = answer != PASS || !self.is_sound();
    }

    /// Whether a sender can go by what it says; if not, the fault is told.
    fn is_sound(&self) -> bool {
        if self.said.window == 0 {
            self.fault.told("its window is 0: say 1 segment or more");
        }
        if self.said.pacing_rate == 0 {
            self.fault
                .told("its pacing rate is 0: say 1 bit/s or more, or none");
        }
        self.said.window != 0 && self.said.pacing_rate != 0
    }
}

impl Drop for LoadedControl {
    fn drop(&mut self) {
        // SAFETY: the object is the table's, and nobody tells it anything any more.
        unsafe { (self.table.free)(self.object.as_ptr()) }
    }
}

impl CongestionControl for LoadedControl {
    fn window(&self) -> u32 {
        self.said.window.clamp(1, INFINITE)
    }

    fn ssthresh(&self) -> u32 {
        self.said.ssthresh.min(INFINITE)
    }

    fn pacing_rate(&self) -> Option<Rate> {
        let rate = self.said.pacing_rate;
        (rate != NONE).then(|| Rate::from_bps(rate.max(1)))
    }

    fn controls_recovery(&self) -> bool {
        self.said.controls_recovery
    }

    fn limits_itself(&self) -> bool {
        self.said.limits_itself
    }

    fn buffered_windows(&self) -> u32 {
        self.said.buffered_windows
    }

    fn marked_share(&self) -> Option<f64> {
        let share = self.said.marked_share;
        (!share.is_nan()).then_some(share)
    }

    fn seed(&mut self, bits: u64) {
        self.hear(ControlEvent::Seed { bits });
    }

    fn on_ack_arrival(&mut self, arrival: &AckArrival) {
        self.hear(ControlEvent::Arrival {
            now: arrival.now.as_nanos(),
            rtt: nanos(arrival.rtt),
            acked: arrival.acked,
            delivered: arrival.delivered,
            marked: arrival.marked,
            delivered_bytes: arrival.delivered_bytes,
            marked_bytes: arrival.marked_bytes,
            una: arrival.una,
            next: arrival.next,
        });
    }

    fn on_established(&mut self, rtt: Option<Span>, now: Time) {
        self.hear(ControlEvent::Established {
            rtt: nanos(rtt),
            now: now.as_nanos(),
        });
    }

    fn on_ack(&mut self, ack: &AckEvent) {
        self.hear(ControlEvent::Ack(report(ack)));
    }

    fn on_congestion(&mut self, why: Congestion, in_flight: u32, now: Time) {
        self.hear(ControlEvent::Congestion {
            now: now.as_nanos(),
            why: match why {
                Congestion::Loss => 0,
                Congestion::Mark => 1,
                Congestion::Timeout => 2,
                Congestion::TimeoutAgain => 3,
            },
            in_flight,
        });
    }

    fn on_recovery_end(&mut self, now: Time) {
        self.hear(ControlEvent::RecoveryEnd {
            now: now.as_nanos(),
        });
    }

    fn on_undo(&mut self) {
        self.hear(ControlEvent::Undo);
    }

    fn on_transmit_start(&mut self, idle: Span, next: u64, now: Time) {
        self.hear(ControlEvent::TransmitStart {
            idle: idle.as_nanos(),
            next,
            now: now.as_nanos(),
        });
    }

    fn on_idle_restart(&mut self, timeouts: u32, restart: u32) {
        self.hear(ControlEvent::IdleRestart { timeouts, restart });
    }

    fn on_application_limited(&mut self, used: u32) {
        self.hear(ControlEvent::ApplicationLimited { used });
    }
}

fn nanos(span: Option<Span>) -> u64 {
    span.map_or(NONE, Span::as_nanos)
}

fn setting(config: &Config) -> SenderSetting {
    SenderSetting {
        initial_ssthresh: config.initial_ssthresh.unwrap_or(NONE),
        mss: u32::from(config.mss),
        initial_window: config.initial_window,
        slow_start: match config.slow_start {
            SlowStart::Standard => 0,
            SlowStart::HyStart => 1,
            SlowStart::HyStartPlusPlus => 2,
        },
        ecn: match config.wanted_ecn() {
            Ecn::Off => 0,
            Ecn::Classic => 1,
            Ecn::Accurate => 2,
        },
        paces: config.pacing,
    }
}

fn report(ack: &AckEvent) -> AckReport {
    let rate = ack.rate;
    AckReport {
        now: ack.now.as_nanos(),
        rtt: nanos(ack.rtt),
        srtt: ack.srtt.as_nanos(),
        min_rtt: ack.min_rtt.as_nanos(),
        delivered_total: ack.delivered_total,
        una: ack.una,
        next: ack.next,
        pacing_rate: ack.pacing_rate.as_bps(),
        pacing_wait: ack.pacing_wait.as_nanos(),
        marked_bytes: ack.marked_bytes,
        rate_delivered: rate.map_or(NONE, |sample| sample.delivered),
        rate_interval: rate.map_or(0, |sample| sample.interval.as_nanos()),
        rate_prior_delivered: rate.map_or(0, |sample| sample.prior_delivered),
        acked: ack.acked,
        delivered: ack.delivered,
        lost: ack.lost,
        lost_by_ack: ack.lost_by_ack,
        prior_in_flight: ack.prior_in_flight,
        in_flight: ack.in_flight,
        marked: ack.marked,
        rate_app_limited: rate.is_some_and(|sample| sample.app_limited),
        rate_retransmitted: rate.is_some_and(|sample| sample.retransmitted),
        calm: ack.calm,
        round_start: ack.round_start,
        window_limited: ack.window_limited,
        paced: ack.paced,
        ecn_echo: ack.ecn_echo,
        may_grow: ack.may_grow,
    }
}
