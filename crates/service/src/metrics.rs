//! What is counted, for Prometheus: OpenMetrics 1.0, or its text format 0.0.4 for those who do not
//! ask for that. Made from snapshots, on threads of its own.
//!
//! Circuits of subscribers have a page of their own.
//!
//! Names end in their unit, counters in `_total`; labels are `pair`, `direction` (`up`, `down`),
//! `reason`, `tin` and `queue` (`C`, `L`).

mod circuits;
mod dual;
mod http;
mod status;
mod text;

use crate::fleet::{Fleet, PairStats};
use crate::talkers::USUAL;
use crate::tins::tins_of;
use http::{Request, Response};
use sojourn_bridge::{DELAYS, Delays, DualStats, Reflectors, Side, SideStats};
use sojourn_qdisc::{DropReason, Report};
use sojourn_units::{Rate, Span};
use status::Status;
use std::io;
use std::net::{SocketAddr, TcpListener};
use std::sync::Arc;
use std::thread;
use text::{Dialect, MetricType, Page};

/// An address at which nobody answers yet.
#[derive(Debug)]
pub struct Metrics(TcpListener);

/// Why nobody can answer at an address.
#[derive(Debug, thiserror::Error)]
#[error("serve metrics at {address}")]
pub struct MetricsError {
    address: SocketAddr,
    source: io::Error,
}

impl Metrics {
    /// Takes the address.
    ///
    /// # Errors
    /// When it is taken, or not of this machine.
    pub fn listen(address: SocketAddr) -> Result<Self, MetricsError> {
        let listener = TcpListener::bind(address);
        listener
            .map(Self)
            .map_err(|source| MetricsError { address, source })
    }

    /// Answers from now on, to the end of the process.
    ///
    /// # Errors
    /// When there can be no thread.
    pub fn serve(self, fleet: Arc<Fleet>) -> io::Result<()> {
        let thread = thread::Builder::new().name("metrics".into());
        let status = fleet.around.status_page.then(Status::default);
        let page = move |request: &Request| respond(request, &fleet, status.as_ref());
        thread
            .spawn(move || http::serve(&self.0, &(Arc::new(page) as _)))
            .map(drop)
    }
}

fn respond(request: &Request, fleet: &Fleet, status: Option<&Status>) -> Response {
    let plain = |status, body: &str| Response {
        status,
        content_type: "text/plain; charset=utf-8",
        body: body.to_owned(),
    };
    if let ("GET", "/", Some(status)) = (&*request.method, &*request.path, status) {
        return Response {
            status: "200 OK",
            content_type: "text/html; charset=utf-8",
            body: status.page(&fleet.all_stats(), &fleet.all_talkers(None, USUAL)),
        };
    }
    match (request.method.as_str(), request.path.as_str()) {
        ("GET", path @ ("/metrics" | "/metrics/circuits")) => {
            let dialect = Dialect::asked(&request.accept);
            Response {
                status: "200 OK",
                content_type: dialect.content_type(),
                body: match path {
                    "/metrics" => page(dialect, &fleet.all_stats()),
                    _ => circuits::page(dialect, &fleet.all_circuits()),
                },
            }
        }
        ("GET", _) => plain(
            "404 Not Found",
            "metrics are at /metrics, those of subscribers at /metrics/circuits\n",
        ),
        _ => plain("405 Method Not Allowed", "there is only GET /metrics\n"),
    }
}

/// A direction of a pair that answers.
struct Way<'a> {
    labels: [(&'static str, &'a str); 2],
    stats: &'a SideStats,
    report: &'a Report,
    delays: &'a Delays,
    /// Both queues of a pair apart.
    dual: Option<&'a DualStats>,
    /// The link's, if it is constant.
    rate: Option<Rate>,
    /// Of the link that the rate follows, if it does.
    path_delay: Option<Span>,
}

fn ways(pairs: &[PairStats]) -> Vec<Way<'_>> {
    let mut ways = Vec::new();
    for pair in pairs {
        let Some(snapshot) = &pair.snapshot else {
            continue;
        };
        ways.extend(Side::BOTH.map(|side| Way {
            labels: [("pair", pair.name.as_str()), ("direction", side.name())],
            stats: &snapshot.stats[side as usize],
            report: &snapshot.reports[side as usize],
            delays: &snapshot.delays[side as usize],
            dual: snapshot.duals[side as usize].as_ref(),
            rate: pair.rates[side as usize],
            path_delay: snapshot.followed[side as usize].map(|followed| followed.delay),
        }));
    }
    ways
}

/// What queues count: name with its unit, whether it only grows, meaning, value.
type Counted = (
    &'static str,
    MetricType,
    &'static str,
    fn(&SideStats) -> u64,
);

const QUEUE: [Counted; 9] = {
    use MetricType::{Counter, Gauge};
    [
        (
            "offered_packets",
            Counter,
            "Packets offered to the queue.",
            |s| s.queue.offered.packets,
        ),
        (
            "offered_bytes",
            Counter,
            "Bytes offered to the queue.",
            |s| s.queue.offered.bytes,
        ),
        (
            "dequeued_packets",
            Counter,
            "Packets that left the queue.",
            |s| s.queue.dequeued.packets,
        ),
        (
            "dequeued_bytes",
            Counter,
            "Bytes that left the queue.",
            |s| s.queue.dequeued.bytes,
        ),
        (
            "dropped_bytes",
            Counter,
            "Bytes dropped by the queue.",
            |s| s.queue.dropped.bytes,
        ),
        (
            "marked_packets",
            Counter,
            "Packets marked CE by the queue.",
            |s| s.queue.marked.packets,
        ),
        (
            "overlimits",
            Counter,
            "Times that a shaper held one back.",
            |s| s.queue.overlimits,
        ),
        (
            "backlog_packets",
            Gauge,
            "Packets held by the queue.",
            |s| s.backlog.packets,
        ),
        ("backlog_bytes", Gauge, "Bytes held by the queue.", |s| {
            s.backlog.bytes
        }),
    ]
};

/// A tin's statistic: tc's name, ours, what it is, and how many make one of our unit.
type TinStat = (&'static str, &'static str, MetricType, &'static str, f64);

const TINS: [TinStat; 12] = [
    (
        "sent_packets",
        "tin_offered_packets",
        MetricType::Counter,
        "Packets offered to the tin.",
        1.0,
    ),
    (
        "sent_bytes",
        "tin_offered_bytes",
        MetricType::Counter,
        "Bytes offered to the tin.",
        1.0,
    ),
    (
        "drops",
        "tin_dropped_packets",
        MetricType::Counter,
        "Packets dropped in the tin.",
        1.0,
    ),
    (
        "ecn_mark",
        "tin_marked_packets",
        MetricType::Counter,
        "Packets marked in the tin.",
        1.0,
    ),
    (
        "ack_drops",
        "tin_filtered_acks",
        MetricType::Counter,
        "ACKs dropped in the tin.",
        1.0,
    ),
    (
        "backlog_bytes",
        "tin_backlog_bytes",
        MetricType::Gauge,
        "Bytes held by the tin.",
        1.0,
    ),
    (
        "threshold_rate",
        "tin_threshold_bytes_per_second",
        MetricType::Gauge,
        "Rate up to which the tin has its priority.",
        1.0,
    ),
    (
        "peak_delay_us",
        "tin_peak_delay_seconds",
        MetricType::Gauge,
        "Sojourn time, following rises fast.",
        1e6,
    ),
    (
        "avg_delay_us",
        "tin_average_delay_seconds",
        MetricType::Gauge,
        "Sojourn time, smoothed.",
        1e6,
    ),
    (
        "base_delay_us",
        "tin_base_delay_seconds",
        MetricType::Gauge,
        "Sojourn time, following falls fast.",
        1e6,
    ),
    (
        "sparse_flows",
        "tin_sparse_flows",
        MetricType::Gauge,
        "Flows that have not built a queue.",
        1.0,
    ),
    (
        "bulk_flows",
        "tin_bulk_flows",
        MetricType::Gauge,
        "Flows that have.",
        1.0,
    ),
];

/// Name, meaning and value.
type Asked = (&'static str, &'static str, fn(&Reflectors) -> usize);

/// Of those that `autorate` asks.
const REFLECTORS: [Asked; 2] = [
    (
        "reflectors",
        "Reflectors that are asked for the delay of the link that rates follow.",
        |it| it.asked,
    ),
    (
        "reflectors_answer",
        "Those that have answered in the last second.",
        |it| it.answer,
    ),
];

/// All metrics of the pairs.
fn page(dialect: Dialect, pairs: &[PairStats]) -> String {
    let ways = ways(pairs);
    let mut page = Page::new(dialect);
    page.family(
        "up",
        MetricType::Gauge,
        "Whether the pair's forwarding thread answers.",
    );
    for pair in pairs {
        let up = u8::from(pair.snapshot.is_some());
        page.sample(&[("pair", &pair.name)], f64::from(up));
    }
    let help = "Whether the kernel bridge takes over when the process dies.";
    page.family("fail_open", MetricType::Gauge, help);
    for pair in pairs {
        let ready = u8::from(pair.fail_open.ready);
        page.sample(&[("pair", &pair.name)], f64::from(ready));
    }
    let help = "Times that fail open was repaired while the bridge ran.";
    page.family("fail_open_repairs", MetricType::Counter, help);
    for pair in pairs {
        page.sample(&[("pair", &pair.name)], pair.fail_open.repairs as f64);
    }
    let asked = pairs.iter().filter_map(|pair| {
        let asked = pair.snapshot.as_ref()?.reflectors.as_ref()?;
        Some((&pair.name, asked))
    });
    for (name, help, of) in REFLECTORS {
        page.family(name, MetricType::Gauge, help);
        for (pair, asked) in asked.clone() {
            page.sample(&[("pair", pair)], of(asked) as f64);
        }
    }
    queues(&mut page, &ways);
    for (index, count) in SideStats::default().counts().iter().enumerate() {
        let kind = if count.is_gauge {
            MetricType::Gauge
        } else {
            MetricType::Counter
        };
        page.family(&format!("{}_{}", count.name, count.unit), kind, count.about);
        for way in &ways {
            page.sample(&way.labels, way.stats.counts()[index].number as f64);
        }
    }
    tins(&mut page, &ways);
    dual::families(&mut page, &ways);
    let help = "Time that packets spent in the queue.";
    page.family("delay_seconds", MetricType::Histogram, help);
    let bounds = DELAYS.map(Span::as_secs_f64);
    for way in &ways {
        let sum = way.delays.sum.as_secs_f64();
        page.histogram(&way.labels, &bounds, &way.delays.counts, sum);
    }
    page.finish()
}

/// What queues count, of whatever kind they are.
fn queues(page: &mut Page, ways: &[Way<'_>]) {
    page.family(
        "queue_info",
        MetricType::Gauge,
        "The queue's kind; always 1.",
    );
    for way in ways {
        let [pair, direction] = way.labels;
        page.sample(&[pair, direction, ("kind", &way.report.kind)], 1.0);
    }
    let help = "Rate of the link; absent without a constant one.";
    page.family("rate_bytes_per_second", MetricType::Gauge, help);
    for way in ways {
        if let Some(rate) = way.rate {
            page.sample(&way.labels, rate.as_bps() as f64 / 8.0);
        }
    }
    let help = "Delay above the base of the link that the rate follows; absent without one.";
    page.family("path_delay_seconds", MetricType::Gauge, help);
    for way in ways {
        if let Some(delay) = way.path_delay {
            page.sample(&way.labels, delay.as_secs_f64());
        }
    }
    for (name, kind, about, of) in QUEUE {
        page.family(name, kind, about);
        for way in ways {
            page.sample(&way.labels, of(way.stats) as f64);
        }
    }
    let help = "Packets dropped by the queue, by reason.";
    page.family("dropped_packets", MetricType::Counter, help);
    for way in ways {
        let [pair, direction] = way.labels;
        for reason in DropReason::ALL {
            let dropped = way.stats.queue.dropped_for(reason);
            page.sample(
                &[pair, direction, ("reason", reason.name())],
                dropped as f64,
            );
        }
    }
}

fn tins(page: &mut Page, ways: &[Way<'_>]) {
    let tins: Vec<_> = ways.iter().map(|way| tins_of(way.report)).collect();
    for (tcs, name, kind, about, scale) in TINS {
        page.family(name, kind, about);
        for (way, tins) in ways.iter().zip(&tins) {
            for tin in tins {
                if let Some(number) = tin.number(tcs) {
                    let [pair, direction] = way.labels;
                    page.sample(&[pair, direction, ("tin", tin.name)], number as f64 / scale);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests;
