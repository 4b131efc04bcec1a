//! What applications measure of themselves: one list, of which the results' list of figures
//! (`world::figure`) takes its rows.

use sojourn_units::Unit;

/// How reports of a metric become one figure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Gathering {
    /// They add up.
    Sum,
    /// Each is a sample of a distribution.
    Sample,
}

/// What there is to know of a metric.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Measure {
    /// Its key in results.
    pub key: &'static str,
    /// How its reports become one figure.
    pub gathering: Gathering,
    /// Its unit.
    pub unit: Unit,
    /// For headings.
    pub title: &'static str,
    /// What it says and how it is measured.
    pub meaning: &'static str,
    /// Where the definition comes from; empty where it is plain counting.
    pub source: &'static str,
}

/// Makes the enum and its list of rows: variant, key, gathering, unit, title, meaning, source.
macro_rules! metrics {
    ($($name:ident, $key:literal, $gathering:ident, $unit:ident, $title:literal,
        $meaning:literal, $source:expr;)*) => {
        /// A figure that an app reports through its port. Each belongs to the flow of the app;
        /// statistics count what is reported after the warm-up.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
        pub enum Metric {
            $(#[doc = $meaning] $name,)*
        }

        impl Metric {
            /// All of them, in the order of results.
            pub const ALL: [Self; [$($key),*].len()] = [$(Self::$name),*];

            /// What there is to know of it.
            pub const fn measure(self) -> Measure {
                match self {
                    $(Self::$name => Measure {
                        key: $key,
                        gathering: Gathering::$gathering,
                        unit: Unit::$unit,
                        title: $title,
                        meaning: $meaning,
                        source: $source,
                    },)*
                }
            }
        }
    };
}

const JIOT: &str = "IEEE Internet of Things Journal 2017, doi 10.1109/JIOT.2017.2722683";

metrics! {
    AchievedKbps, "app.ar_kbps", Sample, Kbps, "Achieved rate",
        "Bytes of a chunk over the time from its request to its last byte, of every chunk \
         (`dash`).",
        JIOT;
    RequestedKbps, "app.rr_kbps", Sample, Kbps, "Requested rate",
        "Nominal rate of the representation that the player requested, for every chunk (`dash`).",
        JIOT;
    BufferS, "app.buffer_s", Sample, Seconds, "Playout buffer",
        "Unplayed video when a chunk has arrived (`dash`).",
        "";
    Stalls, "app.stalls", Sum, None, "Stalls",
        "How often playback ran out of video (`dash`).",
        "";
    StalledS, "app.stalled_s", Sum, Seconds, "Stalled",
        "Time without a picture after playback had started (`dash`).",
        "";
    Switches, "app.switches", Sum, None, "Switches",
        "Chunks with another representation than the previous chunk (`dash`).",
        "";
    Qoe, "app.qoe", Sample, None, "Quality of experience",
        "For every chunk: its rate in kbit/s, minus the change of rate, minus 3000 for each \
         second of stall or start (`dash`).",
        "Yin, Jindal, Sekar, Sinopoli 2015, doi 10.1145/2785956.2787486";
    PageLoadMs, "app.page_load_ms", Sample, Ms, "Page load time",
        "Time from requesting a page to the last byte of its last object (`web`).",
        "";
    ObjectMs, "app.object_ms", Sample, Ms, "Object time",
        "Time from requesting an object to its last byte (`web`).",
        "";
    JitterMs, "app.jitter_ms", Sample, Ms, "Jitter",
        "Interarrival jitter: every second (`voip`, `video`), at every picture (`game`).",
        "RFC 3550 section 6.4.1";
    MissingRatio, "app.missing_ratio", Sample, Share, "Missing packets",
        "Share of the packets of each second that were lost or too late to be played (`voip`, \
         `video`).",
        "Ramjee et al. 1994, algorithm 1 (playout)";
    RFactor, "app.r_factor", Sample, None, "Rating factor",
        "For each second: the E-model's rating of delay and missing packets for G.711 speech \
         (`voip`, `video`).",
        "ITU-T G.107, G.113 Appendix I";
    Mos, "app.mos", Sample, None, "Mean opinion score",
        "Estimated from the rating factor of each second, 1 to 4.5 (`voip`, `video`).",
        "ITU-T G.107 Annex B";
    LagMs, "app.lag_ms", Sample, Ms, "Lag",
        "Time from a command to the first picture that shows it (`game`).",
        "";
    FrameMs, "app.frame_ms", Sample, Ms, "Frame delay",
        "Time from sending the first packet of a frame to the arrival of its last one \
         (`realtime`).",
        "";
    EncoderKbps, "app.encoder_kbps", Sample, Kbps, "Encoder's rate",
        "Payload rate at which a frame was encoded, of every frame (`realtime`).",
        "";
    LostFrames, "app.lost_frames", Sum, None, "Lost frames",
        "Frames that were incomplete when eight newer ones had begun to arrive (`realtime`).",
        "";
    AgeMs, "app.age_ms", Sample, Ms, "Age on arrival",
        "Time from writing a message to the arrival of its last byte (`telemetry`).",
        "";
}
