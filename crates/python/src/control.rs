//! Congestion controls that are written in Python, at the border that every control has.

use crate::prototype::Asked;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyFloat;
use sojourn_tcp::{AckEvent, Config, Congestion, CongestionControl, INFINITE};
use sojourn_units::{Rate, Span, Time};

/// What an ACK says.
#[pyclass(frozen, get_all, module = "sojourn._native")]
struct Ack {
    now: u64,
    acked: u32,
    delivered: u32,
    lost: u32,
    marked: u32,
    rtt: Option<u64>,
    srtt: u64,
    min_rtt: u64,
    in_flight: u32,
    prior_in_flight: u32,
    delivered_total: u64,
    rate: Option<u64>,
    rate_app_limited: bool,
    round_start: bool,
    window_limited: bool,
    ecn_echo: bool,
    may_grow: bool,
}

impl Ack {
    fn of(ack: &AckEvent) -> Self {
        Self {
            now: ack.now.as_nanos(),
            acked: ack.acked,
            delivered: ack.delivered,
            lost: ack.lost,
            marked: ack.marked,
            rtt: ack.rtt.map(Span::as_nanos),
            srtt: ack.srtt.as_nanos(),
            min_rtt: ack.min_rtt.as_nanos(),
            in_flight: ack.in_flight,
            prior_in_flight: ack.prior_in_flight,
            delivered_total: ack.delivered_total,
            rate: ack.rate.and_then(|sample| Some(sample.rate()?.as_bps())),
            rate_app_limited: ack.rate.is_some_and(|sample| sample.app_limited),
            round_start: ack.round_start,
            window_limited: ack.window_limited,
            ecn_echo: ack.ecn_echo,
            may_grow: ack.may_grow,
        }
    }
}

/// The word that Python has for a reason to shrink.
const fn word(why: Congestion) -> &'static str {
    match why {
        Congestion::Loss => "loss",
        Congestion::Mark => "mark",
        Congestion::Timeout => "timeout",
        Congestion::TimeoutAgain => "timeout again",
    }
}

/// What the object says of itself, read after each call.
#[derive(Clone, Copy, Debug)]
struct Told {
    window: u32,
    ssthresh: u32,
    pacing_rate: Option<Rate>,
    limits_itself: bool,
}

impl Told {
    fn of(object: &Bound<'_, PyAny>) -> PyResult<Self> {
        let number = |name: &str, least: u32| -> PyResult<u32> {
            let value: f64 = object.getattr(name)?.extract()?;
            // Also of what is not a number.
            if value >= f64::from(least) {
                Ok((value as u32).min(INFINITE))
            } else {
                let message = format!("{name} is {value}: segments, {least} or more");
                Err(PyValueError::new_err(message))
            }
        };
        let pacing: Option<f64> = object.getattr("pacing_rate")?.extract()?;
        if let Some(rate) = pacing.filter(|rate| rate.is_nan() || *rate < 1.0) {
            let message = format!("pacing_rate is {rate}: bit/s, 1 or more, or None");
            return Err(PyValueError::new_err(message));
        }
        Ok(Self {
            window: number("window", 1)?,
            ssthresh: number("ssthresh", 0)?,
            pacing_rate: pacing.map(|rate| Rate::from_bps(rate as u64)),
            limits_itself: object.getattr("limits_itself")?.extract()?,
        })
    }
}

/// A congestion control whose methods are Python's.
#[derive(Debug)]
pub(crate) struct Written {
    object: Py<PyAny>,
    told: Told,
    controls_recovery: bool,
    asked: Asked,
}

impl Written {
    /// One that `maker` makes from the initial window, the initial threshold and the segment size
    /// of `config`.
    pub(crate) fn new(
        py: Python<'_>,
        maker: &Py<PyAny>,
        config: &Config,
        asked: Asked,
    ) -> PyResult<Self> {
        let mss = config.mss.max(1);
        let ssthresh = match config.initial_ssthresh {
            Some(bytes) => PyFloat::new(py, (bytes / u64::from(mss)).max(2) as f64),
            None => PyFloat::new(py, f64::INFINITY),
        };
        let object = maker.call1(py, (config.initial_window.max(1), ssthresh, mss))?;
        let told = Told::of(object.bind(py))?;
        let controls_recovery = object.getattr(py, "controls_recovery")?.extract(py)?;
        Ok(Self {
            object,
            told,
            controls_recovery,
            asked,
        })
    }

    /// Calls the object, and reads what it says of itself then.
    fn call(
        &mut self,
        ask: impl for<'py> FnOnce(&Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>>,
    ) {
        let object = &self.object;
        let told = self.asked.of(|py| {
            let object = object.bind(py);
            ask(object)?;
            Told::of(object)
        });
        self.told = told.unwrap_or(self.told);
    }
}

impl CongestionControl for Written {
    fn window(&self) -> u32 {
        self.told.window
    }

    fn ssthresh(&self) -> u32 {
        self.told.ssthresh
    }

    fn pacing_rate(&self) -> Option<Rate> {
        self.told.pacing_rate
    }

    fn controls_recovery(&self) -> bool {
        self.controls_recovery
    }

    fn limits_itself(&self) -> bool {
        self.told.limits_itself
    }

    fn seed(&mut self, bits: u64) {
        self.call(|object| object.call_method1("seed", (bits,)));
    }

    fn on_established(&mut self, rtt: Option<Span>, now: Time) {
        let rtt = rtt.map(Span::as_nanos);
        self.call(|object| object.call_method1("established", (rtt, now.as_nanos())));
    }

    fn on_ack(&mut self, ack: &AckEvent) {
        self.call(|object| object.call_method1("ack", (Ack::of(ack),)));
    }

    fn on_congestion(&mut self, why: Congestion, in_flight: u32, now: Time) {
        let arguments = (word(why), in_flight, now.as_nanos());
        self.call(|object| object.call_method1("congestion", arguments));
    }

    fn on_recovery_end(&mut self, now: Time) {
        self.call(|object| object.call_method1("recovered", (now.as_nanos(),)));
    }

    fn on_undo(&mut self) {
        self.call(|object| object.call_method0("undo"));
    }

    fn on_transmit_start(&mut self, idle: Span, _next: u64, now: Time) {
        let arguments = (idle.as_nanos(), now.as_nanos());
        self.call(|object| object.call_method1("resume", arguments));
    }

    fn on_idle_restart(&mut self, timeouts: u32, restart: u32) {
        self.call(|object| object.call_method1("idle_restart", (timeouts, restart)));
    }

    fn on_application_limited(&mut self, used: u32) {
        self.call(|object| object.call_method1("application_limited", (used,)));
    }
}
