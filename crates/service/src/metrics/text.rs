//! How metrics are written: OpenMetrics 1.0 and Prometheus' text format 0.0.4, which differ in what
//! a counter's family is called, in units and in the end.

use std::fmt::Write as _;

/// What all names begin with.
const PREFIX: &str = "sojourn";
/// Units of the names' ends, which OpenMetrics tells.
const UNITS: [&str; 2] = ["bytes", "seconds"];

/// A way of writing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Dialect {
    Prometheus,
    OpenMetrics,
}

/// What a family is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum MetricType {
    Counter,
    Gauge,
    Histogram,
}

/// A text under way.
pub(super) struct Page {
    dialect: Dialect,
    out: String,
    /// The family whose samples follow.
    name: String,
    kind: MetricType,
}

impl Dialect {
    /// What a client asks for by its `Accept` header.
    pub(super) fn asked(accept: &str) -> Self {
        if accept.contains("application/openmetrics-text") {
            Self::OpenMetrics
        } else {
            Self::Prometheus
        }
    }

    pub(super) fn content_type(self) -> &'static str {
        match self {
            Self::Prometheus => "text/plain; version=0.0.4; charset=utf-8",
            Self::OpenMetrics => "application/openmetrics-text; version=1.0.0; charset=utf-8",
        }
    }
}

impl Page {
    pub(super) fn new(dialect: Dialect) -> Self {
        Self {
            dialect,
            out: String::new(),
            name: String::new(),
            kind: MetricType::Gauge,
        }
    }

    /// Begins a family; `name` ends in its unit, if it has one, and has neither prefix nor
    /// `_total`.
    pub(super) fn family(&mut self, name: &str, kind: MetricType, help: &str) {
        self.name = format!("{PREFIX}_{name}");
        self.kind = kind;
        let word = match kind {
            MetricType::Counter => "counter",
            MetricType::Gauge => "gauge",
            MetricType::Histogram => "histogram",
        };
        let called = match self.dialect {
            Dialect::Prometheus => self.sample_name(),
            Dialect::OpenMetrics => self.name.clone(),
        };
        let out = &mut self.out;
        let _ = writeln!(out, "# HELP {called} {help}");
        let _ = writeln!(out, "# TYPE {called} {word}");
        let unit = UNITS.iter().find(|unit| name.ends_with(**unit));
        if let (Some(unit), Dialect::OpenMetrics) = (unit, self.dialect) {
            let _ = writeln!(out, "# UNIT {called} {unit}");
        }
    }

    fn sample_name(&self) -> String {
        let end = if self.kind == MetricType::Counter {
            "_total"
        } else {
            ""
        };
        format!("{}{end}", self.name)
    }

    /// A value of the family.
    pub(super) fn sample(&mut self, labels: &[(&str, &str)], value: f64) {
        let name = self.sample_name();
        self.line(&name, labels, value);
    }

    /// A distribution: how many were up to each bound and above the one before it, then above all.
    pub(super) fn histogram(
        &mut self,
        labels: &[(&str, &str)],
        bounds: &[f64],
        counts: &[u64],
        sum: f64,
    ) {
        let name = self.name.clone();
        let mut below = 0;
        let words = bounds.iter().map(f64::to_string);
        for (bound, count) in words.chain(["+Inf".to_owned()]).zip(counts) {
            below += count;
            let labels = [labels, &[("le", bound.as_str())]].concat();
            self.line(&format!("{name}_bucket"), &labels, below as f64);
        }
        self.line(&format!("{name}_sum"), labels, sum);
        self.line(&format!("{name}_count"), labels, below as f64);
    }

    fn line(&mut self, name: &str, labels: &[(&str, &str)], value: f64) {
        let labels: Vec<String> = labels
            .iter()
            .map(|(label, value)| format!("{label}=\"{}\"", escaped(value)))
            .collect();
        let _ = writeln!(self.out, "{name}{{{}}} {value}", labels.join(","));
    }

    pub(super) fn finish(mut self) -> String {
        if self.dialect == Dialect::OpenMetrics {
            self.out.push_str("# EOF\n");
        }
        self.out
    }
}

fn escaped(text: &str) -> String {
    let text = text.replace('\\', "\\\\").replace('"', "\\\"");
    text.replace('\n', "\\n")
}
