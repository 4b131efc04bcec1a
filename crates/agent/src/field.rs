//! What an agent sees: numbers with unit and range.

/// One number of an observation.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Field {
    /// Its name; the end is the unit.
    pub name: &'static str,
    /// What it is.
    pub meaning: &'static str,
    /// The lowest and the highest value; what is beyond is shown as these.
    pub range: [f32; 2],
}

const fn field(name: &'static str, range: [f32; 2], meaning: &'static str) -> Field {
    Field {
        name,
        meaning,
        range,
    }
}

/// Longest time that is shown, in ms.
const MS: f32 = 100_000.0;
/// Highest rate that is shown, in Mbit/s.
const MBPS: f32 = 100_000.0;
/// Most packets or segments that are shown.
const PACKETS: f32 = 1_000_000.0;

/// What a congestion control sees of its flow.
pub(crate) const CONTROL: [Field; 9] = [
    field(
        "window_segments",
        [1.0, 65_536.0],
        "congestion window in force",
    ),
    field(
        "pacing_windows",
        [0.5, 2.0],
        "pacing rate in force, in windows a smoothed RTT",
    ),
    field(
        "in_flight_segments",
        [0.0, PACKETS],
        "segments in the network after the last ACK",
    ),
    field("srtt_ms", [0.0, MS], "smoothed RTT; 0 before the first"),
    field(
        "rtt_ms",
        [0.0, MS],
        "mean RTT of the interval; the last known, if it had none",
    ),
    field(
        "min_rtt_ms",
        [0.0, MS],
        "lowest RTT of the last five minutes; 0 before the first",
    ),
    field(
        "delivered_mbps",
        [0.0, MBPS],
        "payload that ACKs of the interval reported, as a rate",
    ),
    field(
        "lost_share",
        [0.0, 1.0],
        "segments found lost, of those lost or delivered",
    ),
    field(
        "marked_share",
        [0.0, 1.0],
        "segments reported as marked (CE), of those delivered",
    ),
];

/// What an AQM sees of its queue; the first field is what it decides itself.
const fn queue(decision: Field) -> [Field; 9] {
    [
        decision,
        field("backlog_packets", [0.0, PACKETS], "packets in the queue"),
        field("backlog_bytes", [0.0, 1e9], "bytes in the queue"),
        field(
            "sojourn_ms",
            [0.0, MS],
            "mean sojourn of the packets that left; the last known, if none did",
        ),
        field(
            "sojourn_max_ms",
            [0.0, MS],
            "longest sojourn of the packets that left; 0, if none did",
        ),
        field(
            "arrived_mbps",
            [0.0, MBPS],
            "packets that arrived, as a rate",
        ),
        field(
            "departed_mbps",
            [0.0, MBPS],
            "packets that left for the link, as a rate",
        ),
        field(
            "dropped_share",
            [0.0, 1.0],
            "packets dropped, of those that arrived",
        ),
        field(
            "marked_share",
            [0.0, 1.0],
            "packets marked (CE), of those that left",
        ),
    ]
}

/// Of an AQM that decides a probability.
pub(crate) const SIGNAL: [Field; 9] = queue(field(
    "probability",
    [0.0, 1.0],
    "probability of a mark or drop in force",
));

/// Of an AQM whose delay target is decided.
pub(crate) const TARGET: [Field; 9] =
    queue(field("target_ms", [1.0, 100.0], "delay target in force"));

/// Writes values, each within the range of its field.
pub(crate) fn show(fields: &[Field], values: [f64; 9], into: &mut [f32]) {
    for ((field, value), place) in fields.iter().zip(values).zip(into) {
        let [low, high] = field.range;
        *place = (value as f32).clamp(low, high);
    }
}
