//! Traffic models in a scenario: for each its table with its keys, and the model that it means.
//!
//! Defaults and bounds stand at the model, in `sojourn-apps`.

use crate::problem::{Problem, Problems, suggestion};
use crate::quantity::{Bytes, Duration, Factor, Speed};
use crate::read::{Read, join, wrong_type};
use crate::tree::{Node, Value};
use crate::videos::Videos;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use sojourn_apps::dash::{BOLA_LEAST, Outage, Rule, Viewing};
use sojourn_apps::{
    Bulk, Cbr, Dash, Datagram, File, Game, Gaps, Kind, Message, Model, OnOff, Outside, Ping,
    Realtime, Spec, Steps, Telemetry, Video, Voip, Web,
};
use sojourn_text::{table, words};
use sojourn_units::{Span, show_rate, show_span};
use std::borrow::Cow;

/// The table that is looked at, with what its meaning needs of the file around it.
pub(crate) struct AppContext<'a> {
    /// Takes problems, each with the path of its field.
    pub(crate) complain: &'a mut dyn FnMut(&str, String),
    pub(crate) videos: &'a mut Videos,
    /// Its path.
    pub(crate) path: &'a str,
}

impl AppContext<'_> {
    /// A problem with `key`, or with the table itself where that is empty.
    fn complain<T>(&mut self, key: &str, message: impl Into<String>) -> Option<T> {
        let path = match key {
            "" => self.path.to_owned(),
            _ => join(self.path, key),
        };
        (self.complain)(&path, message.into());
        None
    }

    fn payload(&mut self, key: &str, size: Bytes) -> Option<u16> {
        if let Ok(payload @ 1..=Datagram::MOST) = u16::try_from(size.0) {
            return Some(payload);
        }
        let (size, most) = (size.0, Datagram::MOST);
        self.complain(key, format!("{size} is not a payload of 1 to {most} bytes"))
    }

    fn above_zero(&mut self, key: &str, time: Duration) -> Option<Span> {
        if time.0.is_zero() {
            return self.complain(key, "must be above zero");
        }
        Some(time.0)
    }

    fn within(&mut self, key: &str, number: u32, most: u32) -> Option<u32> {
        if (1..=most).contains(&number) {
            return Some(number);
        }
        self.complain(key, format!("{number} is not a number from 1 to {most}"))
    }
}

/// Declares [`App`]: which table says which model.
macro_rules! apps {
    ($($Model:ident: $Table:ident),+ $(,)?) => {
        /// A traffic model, as the file says it.
        #[derive(Clone, Debug)]
        pub(crate) enum App {
            $($Model($Table),)+
        }

        impl App {
            const KINDS: &[&str] = &[$($Model::KIND.name),+];

            fn of_kind(
                kind: &str,
                rest: &Node,
                path: &str,
                problems: &mut Problems,
            ) -> Option<Self> {
                $(
                    if kind == $Model::KIND.name {
                        return $Table::read(rest, path, problems).map(Self::$Model);
                    }
                )+
                let message = format!("unknown traffic model `{kind}`");
                let help = suggestion(kind, Self::KINDS);
                problems.refuse(Problem::new(rest.at, path, message).help(help))
            }

            /// What is so of the model whatever its parameters are.
            pub(crate) const fn kind(&self) -> Kind {
                match self {
                    $(Self::$Model(_) => $Model::KIND,)+
                }
            }

            /// The model that it means; complains where there can be none.
            pub(crate) fn model(&self, mut place: AppContext<'_>) -> Option<Spec> {
                match self {
                    $(Self::$Model(table) => table.model(&mut place).map(Spec::from),)+
                }
            }

            fn schemas(generator: &mut SchemaGenerator) -> Vec<(&'static str, Schema)> {
                vec![$(($Model::KIND.name, $Table::json_schema(generator))),+]
            }
        }
    };
}

apps! {
    Bulk: BulkTable,
    File: FileTable,
    Cbr: CbrTable,
    Ping: PingTable,
    OnOff: OnOffTable,
    Telemetry: TelemetryTable,
    Voip: VoipTable,
    Video: VideoTable,
    Game: GameTable,
    Realtime: RealtimeTable,
    Dash: DashTable,
    Web: WebTable,
    Steps: StepsTable,
    Outside: OutsideTable,
}

/// Declares the table of a model with its keys, and the model that it means: none after a
/// complaint. Of a table `or default` each key is a field of the model, which keeps its default
/// where the key is left out.
macro_rules! app {
    ($(#[$doc:meta])* $Table:ident or default $Model:ident {
        $($(#[$about:meta])* $key:ident: $type:ty => $check:ident,)*
    }) => {
        app! {
            $(#[$doc])*
            $Table: $Model { $($(#[$about])* $key: Option<$type>,)* }
            |table, place| {
                let default = $Model::default();
                Some($Model {
                    $($key: match table.$key {
                        Some(given) => place.$check(stringify!($key), given)?,
                        None => default.$key,
                    },)*
                })
            }
        }
    };
    ($(#[$doc:meta])* $Table:ident: $Model:ident {
        $($(#[$about:meta])* $key:ident: $type:ty,)*
    } |$table:ident, $place:ident| $model:expr) => {
        table! {
            $(#[$doc])*
            pub(crate) struct $Table {
                $($(#[$about])* $key: $type,)*
            }
        }

        impl $Table {
            #[allow(clippy::unnecessary_wraps, reason = "without keys none is wrong")]
            fn model(&self, $place: &mut AppContext<'_>) -> Option<$Model> {
                let $table = self;
                $model
            }
        }
    };
}

app! {
    /// A stream that always has data, over TCP.
    BulkTable: Bulk {
    }
    |table, _place| {
        let Self {} = table;
        Some(Bulk)
    }
}

app! {
    /// One file over TCP; then the connection closes.
    FileTable: File {
        /// Size of the file.
        size: Bytes,
    }
    |table, place| match table.size.0 {
        0 => place.complain("size", "must be above zero"),
        size => Some(File { size }),
    }
}

app! {
    /// Messages of one size at a constant rate. Over TCP a message that finds the send buffer
    /// full is skipped and counted.
    CbrTable: Cbr {
        /// Payload of a message in bytes, 1 to 65 000.
        size: Bytes,
        /// Time between messages. Either this or `rate`.
        interval: Option<Duration>,
        /// Payload rate. Either this or `interval`.
        rate: Option<Speed>,
        /// Each message is sent up to this much after its time, uniformly distributed; at most the
        /// time between messages. Default 0.
        jitter: Option<Duration>,
        /// Whether the times between messages are exponential, with the given one as their mean: a
        /// Poisson process. Default false.
        poisson: Option<bool>,
    }
    |table, place| {
        let size = place.payload("size", table.size)?;
        let interval = match (table.interval, table.rate) {
            (Some(interval), None) => place.above_zero("interval", interval)?,
            (None, Some(rate)) => rate.0.time_for(u64::from(size)),
            (Some(_), Some(_)) => {
                return place.complain("rate", "cbr has either an `interval` or a `rate`");
            }
            (None, None) => return place.complain("", "missing key `interval` (or `rate`)"),
        };
        let jitter = table.jitter.map_or(Span::ZERO, |jitter| jitter.0);
        if jitter > interval {
            let message = format!("must not be above the {} between messages", show_span(interval));
            return place.complain("jitter", message);
        }
        let gaps = match (table.poisson.unwrap_or(false), jitter.is_zero()) {
            (false, true) => Gaps::Even,
            (false, false) => Gaps::Jittered(jitter),
            (true, true) => Gaps::Poisson,
            (true, false) => {
                return place.complain("jitter", "cbr has either `jitter` or `poisson`");
            }
        };
        Some(Cbr { size, interval, gaps })
    }
}

table! {
    /// A change of the rate.
    pub(crate) struct StepTable {
        /// When, from the beginning of the run.
        at: Duration,
        /// To what share of `rate`, 0 to 1000: 0.5 halves it, 0 stops.
        factor: Factor,
    }
}

app! {
    /// Datagrams at a constant rate that changes at given times, over UDP.
    StepsTable: Steps {
        /// Payload in bytes, 1 to 65 000.
        size: Bytes,
        /// Largest payload: sizes are uniform from `size` to this. Default: `size`.
        size_max: Option<Bytes>,
        /// Payload rate in the beginning.
        rate: Speed,
        /// Changes of the rate, up to 8, in the order of time. Default: none.
        then: Option<Vec<StepTable>>,
    }
    |table, place| {
        let least = place.payload("size", table.size)?;
        let most = match table.size_max {
            None => least,
            Some(most) => place.payload("size_max", most)?,
        };
        if most < least {
            return place.complain("size_max", "must not be below `size`");
        }
        let steps = table.then.as_deref().unwrap_or_default();
        if steps.len() > Steps::MOST {
            let message = format!("{} changes; at most {}", steps.len(), Steps::MOST);
            return place.complain("then", message);
        }
        if !steps.is_sorted_by(|a, b| a.at.0 < b.at.0) {
            return place.complain("then", "each change must come after the one before it");
        }
        let mut then = [None; Steps::MOST];
        for (to, step) in then.iter_mut().zip(steps) {
            *to = Some((step.at.0, step.factor.0));
        }
        Some(Steps { size: [least, most], rate: table.rate.0, then })
    }
}

app! {
    /// Datagrams of a program that uses the simulator as a library, over UDP. `sojourn run` refuses
    /// them.
    OutsideTable: Outside {
    }
    |table, _place| {
        let Self {} = table;
        Some(Outside)
    }
}

app! {
    /// A latency probe: requests at constant intervals, each echoed, over UDP.
    PingTable or default Ping {
        /// Payload in bytes, 1 to 65 000. Default 64.
        size: Bytes => payload,
        /// Time between requests. Default 100 ms.
        interval: Duration => above_zero,
    }
}

app! {
    /// Bursts of datagrams with exponential on and off times, over UDP.
    OnOffTable: OnOff {
        /// Payload of a datagram in bytes, 1 to 65 000.
        size: Bytes,
        /// Payload rate during a burst.
        rate: Speed,
        /// Mean length of a burst.
        on: Duration,
        /// Mean silence between bursts.
        off: Duration,
    }
    |table, place| Some(OnOff {
        size: place.payload("size", table.size)?,
        rate: table.rate.0,
        on: place.above_zero("on", table.on)?,
        off: place.above_zero("off", table.off)?,
    })
}

app! {
    /// A device's reports over TCP: messages of one size at a fixed interval, and how old they
    /// are on arrival. One that finds the send buffer full is skipped and counted.
    TelemetryTable: Telemetry {
        /// Bytes of a message, 12 to 65 000. Default 100.
        size: Option<Bytes>,
        /// Time between messages.
        interval: Duration,
    }
    |table, place| {
        let least = Message::LEAST;
        let size = table.size.unwrap_or(Bytes(Telemetry::SIZE.into()));
        if size.0 < u64::from(least) {
            return place.complain("size", format!("a message needs {least} bytes at least"));
        }
        Some(Telemetry {
            size: place.payload("size", size)?,
            interval: place.above_zero("interval", table.interval)?,
        })
    }
}

app! {
    /// One direction of a voice call, over UDP: G.711 in packets of 20 ms by default, rated by the
    /// E-model.
    VoipTable or default Voip {
        /// Payload in bytes, 1 to 65 000. Default 172: 160 of speech and 12 of RTP.
        size: Bytes => payload,
        /// Time between packets. Default 20 ms.
        interval: Duration => above_zero,
    }
}

app! {
    /// One direction of a video call, over UDP.
    VideoTable or default Video {
        /// Payload in bytes, 1 to 65 000. Default 700.
        size: Bytes => payload,
        /// Time between packets. Default 20 ms.
        interval: Duration => above_zero,
    }
}

app! {
    /// A fast game over UDP: commands from the flow's `from`, pictures of the world back, both at
    /// the same rate.
    GameTable or default Game {
        /// Payload of a command in bytes, 1 to 65 000. Default 60.
        command: Bytes => payload,
        /// Payload of a picture in bytes, 1 to 65 000. Default 200.
        picture: Bytes => payload,
        /// Time between two commands, and between two pictures. Default 20 ms.
        interval: Duration => above_zero,
    }
}

app! {
    /// Pictures in real time over UDP: a cloud game, a video call. Their rate follows marks and
    /// losses by Prague's rules. See [applications](apps.md).
    RealtimeTable: Realtime {
        /// Time between frames. Default 20 ms.
        interval: Option<Duration>,
        /// Lowest payload rate, and the first. Default 300 kbit/s.
        min: Option<Speed>,
        /// Highest payload rate. Default 20 Mbit/s.
        max: Option<Speed>,
        /// Largest payload of a datagram in bytes, 64 to 65 000. Default 1200.
        size: Option<Bytes>,
    }
    |table, place| {
        let default = Realtime::default();
        let size = table.size.unwrap_or(Bytes(default.size.into()));
        if size.0 < u64::from(Realtime::LEAST) {
            let least = Realtime::LEAST;
            return place.complain("size", format!("a datagram needs {least} bytes at least"));
        }
        let interval = table.interval.unwrap_or(Duration(default.interval));
        let min = table.min.map_or(default.min, |rate| rate.0);
        let max = table.max.map_or(default.max, |rate| rate.0);
        if min.is_zero() {
            return place.complain("min", "must be above zero");
        }
        if max < min {
            let message = format!("must not be below `min`, {}", show_rate(min));
            return place.complain("max", message);
        }
        Some(Realtime {
            size: place.payload("size", size)?,
            interval: place.above_zero("interval", interval)?,
            min,
            max,
        })
    }
}

words! {
    /// How a player chooses among the rates.
    pub(crate) enum RuleWord: Rule {
        /// By the measured throughput, as dash.js.
        Throughput = "throughput" => Rule::Throughput,
        /// By the playout buffer, as dash.js.
        Bola = "bola" => Rule::Bola,
        /// By the measured throughput, as dash.js 2.0.0: slow chunks are given up.
        DashJs2 = "dash.js-2.0.0" => Rule::DashJs2,
    }
}

app! {
    /// A video in chunks of several rates, over TCP: from the server to the player, which opens
    /// the connection. See [applications](apps.md).
    DashTable: Dash {
        /// The rule by which the player selects rates. Default `throughput`.
        rule: Option<RuleWord>,
        /// A video's rates and sizes in Sabre's JSON: a path, relative to the scenario file.
        /// Default: ten minutes in twenty rates from 46 kbit/s to 4.2 Mbit/s, in chunks of 2 s.
        manifest: Option<String>,
        /// Playback starts with this much video in the buffer. Default 4 s.
        prefill: Option<Duration>,
        /// The player requests the next chunk when its buffer is below this; with `bola`, the
        /// buffer target, above 10 s. Default 12 s, with `bola` 30 s.
        buffer: Option<Duration>,
        /// The same while the highest rate plays. Default 30 s.
        buffer_at_top: Option<Duration>,
        /// How long the server is unreachable. Default 0.
        outage: Option<Duration>,
        /// Time from the start of the flow to the start of the outage. Default 0.
        outage_start: Option<Duration>,
    }
    |table, place| {
        let rule = table.rule.map_or(Rule::Throughput, RuleWord::value);
        let manifest = match place.videos.video(table.manifest.as_deref()) {
            Ok(manifest) => manifest,
            Err(error) => return place.complain("manifest", error.to_string()),
        };
        let buffer = place.above_zero("buffer", table.buffer.unwrap_or(Duration(rule.buffer())))?;
        if rule == Rule::Bola && buffer <= BOLA_LEAST {
            return place.complain("buffer", "with bola it must be above 10 s");
        }
        let or = |time: Option<Duration>, default| time.map_or(default, |time| time.0);
        let after = or(table.outage_start, Span::ZERO);
        let lasts = or(table.outage, Span::ZERO);
        Some(Dash {
            viewing: Viewing {
                manifest,
                rule,
                prefill: or(table.prefill, Viewing::PREFILL),
                buffer,
                buffer_at_top: or(table.buffer_at_top, Viewing::BUFFER_AT_TOP),
            },
            outage: (!lasts.is_zero()).then_some(Outage { after, lasts }),
        })
    }
}

app! {
    /// Web pages over TCP: from the server to the browser, which opens the connections.
    WebTable: Web {
        /// Number of objects of a page, with its document, 1 to 10 000. Default 70.
        objects: Option<u32>,
        /// Mean size of an object. Default 30 000 bytes.
        size: Option<Bytes>,
        /// Connections, 1 to 64. Default 6.
        connections: Option<u32>,
        /// From the end of a page to the next. Default 5 s.
        pause: Option<Duration>,
    }
    |table, place| {
        let default = Web::default();
        let objects = table.objects.unwrap_or(default.objects);
        let objects = place.within("objects", objects, Web::MOST_OBJECTS)?;
        let connections = table.connections.unwrap_or(default.connections.into());
        let connections = place.within("connections", connections, Web::MOST_CONNECTIONS.into())?;
        let size = table.size.map_or(default.mean_size.into(), |size| size.0);
        if !(1..=Web::MOST_SIZE.into()).contains(&size) {
            let message = format!("{size} is not a size of 1 to {} bytes", Web::MOST_SIZE);
            return place.complain("size", message);
        }
        Some(Web {
            objects,
            mean_size: size as u32,
            connections: connections as u8,
            pause: table.pause.map_or(default.pause, |pause| pause.0),
        })
    }
}

impl Read for App {
    fn read(node: &Node, path: &str, problems: &mut Problems) -> Option<Self> {
        let mut rest = node.clone();
        match &node.value {
            Value::Text(kind) => {
                rest.value = Value::Table(Vec::new());
                Self::of_kind(kind, &rest, path, problems)
            }
            Value::Table(_) => {
                let Some(kind) = rest.take("kind") else {
                    let message = "missing key `kind`";
                    let help = format!("one of: {}", Self::KINDS.join(", "));
                    return problems.refuse(Problem::new(node.at, path, message).help(help));
                };
                let kind = String::read(&kind.node, &format!("{path}.kind"), problems)?;
                Self::of_kind(&kind, &rest, path, problems)
            }
            _ => {
                let wanted = "a traffic model: \"bulk\", or a table such as \
                              { kind = \"ping\", interval = \"20ms\" }";
                problems.refuse(wrong_type(node, path, wanted))
            }
        }
    }
}

impl JsonSchema for App {
    fn schema_name() -> Cow<'static, str> {
        "App".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let (mut by_name, mut tables) = (Vec::new(), Vec::new());
        for (kind, mut schema) in Self::schemas(generator) {
            let table = schema.ensure_object();
            let mut keys = serde_json::Map::new();
            keys.insert("kind".into(), serde_json::json!({ "const": kind }));
            if let Some(serde_json::Value::Object(own)) = table.remove("properties") {
                keys.extend(own);
            }
            table.insert("properties".into(), keys.into());
            let mut required = vec![serde_json::Value::from("kind")];
            if let Some(serde_json::Value::Array(own)) = table.remove("required") {
                required.extend(own);
            }
            if required.len() == 1 {
                by_name.push(kind);
            }
            table.insert("required".into(), required.into());
            tables.push(schema);
        }
        let mut forms = vec![json_schema!({ "enum": by_name })];
        forms.extend(tables);
        json_schema!({
            "description": "A traffic model: its name when it needs no parameters, or a table.",
            "oneOf": forms,
        })
    }
}
