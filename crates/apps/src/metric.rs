//! What applications measure of themselves.

/// A figure that an app reports through its port. Each belongs to the flow of the app; statistics
/// count what is reported after the warm-up.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Metric {
    /// Bytes of a chunk over the time from its request to its last byte, in kbit/s (`dash`).
    AchievedKbps,
    /// Nominal rate of the representation asked for, for each chunk, in kbit/s (`dash`).
    RequestedKbps,
    /// Playout buffer in seconds when a chunk has arrived (`dash`).
    BufferS,
    /// How often the playout ran dry (`dash`).
    Stalls,
    /// Seconds without a picture (`dash`).
    StalledS,
    /// Chunks of another representation than the one before (`dash`).
    Switches,
    /// Quality of experience, for each chunk (`dash`).
    Qoe,
    /// From asking for a page to the last byte of its last object, in milliseconds (`web`).
    PageLoadMs,
    /// From asking for an object to its last byte, in milliseconds (`web`).
    ObjectMs,
    /// Interarrival jitter in milliseconds (`voip`, `video`, `game`).
    JitterMs,
    /// Share of the packets that were lost or came too late to be played (`voip`, `video`).
    MissingRatio,
    /// Rating factor of the E-model (`voip`, `video`).
    RFactor,
    /// Mean opinion score, estimated from the rating factor (`voip`, `video`).
    Mos,
    /// From a player's command to the first picture of the world that shows it, in milliseconds
    /// (`game`).
    LagMs,
    /// From writing a message to its last byte's arrival, in milliseconds (`telemetry`).
    AgeMs,
}

/// How reports of a metric become one figure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Gathering {
    /// They add up.
    Sum,
    /// Each is a sample of a distribution.
    Sample,
}

impl Metric {
    /// All of them, in the order of results.
    pub const ALL: [Self; 15] = [
        Self::AchievedKbps,
        Self::RequestedKbps,
        Self::BufferS,
        Self::Stalls,
        Self::StalledS,
        Self::Switches,
        Self::Qoe,
        Self::PageLoadMs,
        Self::ObjectMs,
        Self::JitterMs,
        Self::MissingRatio,
        Self::RFactor,
        Self::Mos,
        Self::LagMs,
        Self::AgeMs,
    ];

    /// Its key in results.
    pub const fn key(self) -> &'static str {
        match self {
            Self::AchievedKbps => "app.ar_kbps",
            Self::RequestedKbps => "app.rr_kbps",
            Self::BufferS => "app.buffer_s",
            Self::Stalls => "app.stalls",
            Self::StalledS => "app.stalled_s",
            Self::Switches => "app.switches",
            Self::Qoe => "app.qoe",
            Self::PageLoadMs => "app.page_load_ms",
            Self::ObjectMs => "app.object_ms",
            Self::JitterMs => "app.jitter_ms",
            Self::MissingRatio => "app.missing_ratio",
            Self::RFactor => "app.r_factor",
            Self::Mos => "app.mos",
            Self::LagMs => "app.lag_ms",
            Self::AgeMs => "app.age_ms",
        }
    }

    /// How its reports become one figure.
    pub const fn gathering(self) -> Gathering {
        match self {
            Self::Stalls | Self::StalledS | Self::Switches => Gathering::Sum,
            _ => Gathering::Sample,
        }
    }
}
