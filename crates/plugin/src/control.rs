//! The plug-in's side of the border to congestion controls: one as functions that a program calls.

use crate::abi::control::{
    AckReport, ControlEvent, ControlState, ControlTable, ControlTables, NONE, SenderSetting,
};
use crate::abi::{PASS, Tell, Text};
use crate::guard::{Listener, freed};
use crate::options::{NO_UTF8, Options};
use sojourn_tcp::{
    AckArrival, AckEvent, Config, Congestion, CongestionControl, Ecn, RateSample, SlowStart,
};
use sojourn_units::{Rate, Span, Time};
use std::ffi::c_void;

/// A congestion control that can be made from options.
pub trait MakeControl: CongestionControl + Send {
    /// One with these options, for a sender of this configuration: segment size, initial window and
    /// threshold, slow start, ECN and pacing are those of the flow, and all else is the default.
    /// [`Window::new`](crate::Window::new) begins with it. Whoever draws random numbers begins with
    /// the bits of [`CongestionControl::seed`], so that a seed always gives the same run.
    ///
    /// # Errors
    /// Says what is wrong with the options.
    fn make(options: &mut Options<'_>, config: &Config) -> Result<Self, String>
    where
        Self: Sized;
}

/// The table of a control, which [`export_controls!`](crate::export_controls) makes.
#[must_use]
pub const fn control_table<C: MakeControl>(name: &'static str) -> ControlTable {
    ControlTable {
        name: Text::of(name),
        make: make::<C>,
        free: free::<C>,
        hear: hear::<C>,
    }
}

/// All tables of a plug-in.
#[must_use]
pub const fn control_tables(tables: &'static [ControlTable]) -> ControlTables {
    ControlTables {
        start: tables.as_ptr(),
        count: tables.len(),
    }
}

unsafe extern "C" fn make<C: MakeControl>(
    options: Text,
    setting: *const SenderSetting,
    state: *mut ControlState,
    context: *mut c_void,
    tell: Tell,
) -> *mut c_void {
    Listener { context, tell }.made(|| {
        // SAFETY: the program keeps all three as long as this call lasts.
        let (options, setting, state) = unsafe { (options.get(), &*setting, &mut *state) };
        let mut options = Options::parse(options.ok_or(NO_UTF8)?)?;
        let control = C::make(&mut options, &config(setting))?;
        options.end()?;
        *state = said(&control);
        Ok(control)
    })
}

unsafe extern "C" fn free<C: MakeControl>(object: *mut c_void) {
    // SAFETY: `make` has made it, and the program gives it back once.
    unsafe { freed::<C>(object) }
}

unsafe extern "C" fn hear<C: MakeControl>(
    object: *mut c_void,
    event: *const ControlEvent,
    state: *mut ControlState,
    context: *mut c_void,
    tell: Tell,
) -> u32 {
    Listener { context, tell }.guarded(|| {
        // SAFETY: `make` has made the object, which one thread tells of events at a time; the
        // others are the program's as long as the call lasts.
        let (control, event, state) = unsafe { (&mut *object.cast::<C>(), &*event, &mut *state) };
        happens(control, event);
        *state = said(control);
        PASS
    })
}

/// What the flow's `tcp` says.
fn config(setting: &SenderSetting) -> Config {
    Config {
        mss: u16::try_from(setting.mss).unwrap_or(u16::MAX),
        initial_window: setting.initial_window,
        initial_ssthresh: some(setting.initial_ssthresh),
        slow_start: match setting.slow_start {
            0 => SlowStart::Standard,
            1 => SlowStart::HyStart,
            _ => SlowStart::HyStartPlusPlus,
        },
        ecn: match setting.ecn {
            0 => Ecn::Off,
            1 => Ecn::Classic,
            _ => Ecn::Accurate,
        },
        pacing: setting.paces,
        ..Config::default()
    }
}

fn some(value: u64) -> Option<u64> {
    (value != NONE).then_some(value)
}

fn span(value: u64) -> Option<Span> {
    some(value).map(Span::from_nanos)
}

/// Has a control hear of an event.
fn happens(control: &mut impl CongestionControl, event: &ControlEvent) {
    let time = Time::from_nanos;
    match *event {
        ControlEvent::Seed { bits } => control.seed(bits),
        ControlEvent::Established { rtt, now } => control.on_established(span(rtt), time(now)),
        ControlEvent::Arrival {
            now,
            rtt,
            acked,
            delivered,
            marked,
            delivered_bytes,
            marked_bytes,
            una,
            next,
        } => control.on_ack_arrival(&AckArrival {
            now: time(now),
            acked,
            rtt: span(rtt),
            delivered,
            marked,
            delivered_bytes,
            marked_bytes,
            una,
            next,
        }),
        ControlEvent::Ack(ack) => control.on_ack(&reported(&ack)),
        ControlEvent::Congestion {
            now,
            why,
            in_flight,
        } => {
            let why = match why {
                0 => Congestion::Loss,
                1 => Congestion::Mark,
                2 => Congestion::Timeout,
                _ => Congestion::TimeoutAgain,
            };
            control.on_congestion(why, in_flight, time(now));
        }
        ControlEvent::RecoveryEnd { now } => control.on_recovery_end(time(now)),
        ControlEvent::Undo => control.on_undo(),
        ControlEvent::TransmitStart { idle, next, now } => {
            control.on_transmit_start(Span::from_nanos(idle), next, time(now));
        }
        ControlEvent::IdleRestart { timeouts, restart } => {
            control.on_idle_restart(timeouts, restart);
        }
        ControlEvent::ApplicationLimited { used } => control.on_application_limited(used),
    }
}

/// What an ACK says.
fn reported(ack: &AckReport) -> AckEvent {
    AckEvent {
        now: Time::from_nanos(ack.now),
        acked: ack.acked,
        delivered: ack.delivered,
        lost: ack.lost,
        lost_by_ack: ack.lost_by_ack,
        rtt: span(ack.rtt),
        srtt: Span::from_nanos(ack.srtt),
        min_rtt: Span::from_nanos(ack.min_rtt),
        prior_in_flight: ack.prior_in_flight,
        in_flight: ack.in_flight,
        delivered_total: ack.delivered_total,
        una: ack.una,
        next: ack.next,
        calm: ack.calm,
        rate: some(ack.rate_delivered).map(|delivered| RateSample {
            delivered,
            interval: Span::from_nanos(ack.rate_interval),
            prior_delivered: ack.rate_prior_delivered,
            app_limited: ack.rate_app_limited,
            retransmitted: ack.rate_retransmitted,
        }),
        round_start: ack.round_start,
        window_limited: ack.window_limited,
        paced: ack.paced,
        pacing_rate: Rate::from_bps(ack.pacing_rate),
        pacing_wait: Span::from_nanos(ack.pacing_wait),
        ecn_echo: ack.ecn_echo,
        marked: ack.marked,
        marked_bytes: ack.marked_bytes,
        may_grow: ack.may_grow,
    }
}

/// What a control says now.
fn said(control: &impl CongestionControl) -> ControlState {
    ControlState {
        pacing_rate: control.pacing_rate().map_or(NONE, Rate::as_bps),
        marked_share: control.marked_share().unwrap_or(f64::NAN),
        window: control.window(),
        ssthresh: control.ssthresh(),
        buffered_windows: control.buffered_windows(),
        controls_recovery: control.controls_recovery(),
        limits_itself: control.limits_itself(),
    }
}
