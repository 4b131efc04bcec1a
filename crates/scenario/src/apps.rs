//! Traffic models in a scenario: for each its table with its keys, and the model that it means.
//!
//! Defaults and bounds stand at the model, in `sojourn-apps`.

use crate::files::FileError;
use crate::problem::{Problem, Problems, suggestion};
use crate::quantity::{Bytes, Duration, Speed};
use crate::read::{Read, join, table, words, wrong_type};
use crate::tree::{Node, Value};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use sojourn_apps::dash::{BOLA_LEAST, Manifest, Outage, Rule, Viewing};
use sojourn_apps::{
    Bulk, Cbr, Dash, Datagram, File, Game, Kind, Message, Model, OnOff, Ping, Spec, Telemetry,
    Video, Voip, Web,
};
use sojourn_units::Span;
use std::borrow::Cow;
use std::sync::Arc;

/// What the meaning of a table needs of the file around it.
pub(crate) trait Around {
    /// A problem with the field at `path`.
    fn complain(&mut self, path: &str, message: String);

    /// The video of the manifest at `path`; without a path our own.
    fn video(&mut self, path: Option<&str>) -> Result<Arc<Manifest>, FileError>;
}

/// The table that is looked at.
pub(crate) struct Place<'a> {
    pub(crate) file: &'a mut dyn Around,
    /// Its path.
    pub(crate) path: &'a str,
}

impl Place<'_> {
    /// A problem with `key`, or with the table itself where that is empty.
    fn complain<T>(&mut self, key: &str, message: impl Into<String>) -> Option<T> {
        let path = match key {
            "" => self.path.to_owned(),
            _ => join(self.path, key),
        };
        self.file.complain(&path, message.into());
        None
    }

    fn payload(&mut self, key: &str, size: Bytes) -> Option<u16> {
        if let Ok(payload @ 1..=Datagram::MOST) = u16::try_from(size.0) {
            return Some(payload);
        }
        let (size, most) = (size.0, Datagram::MOST);
        self.complain(key, format!("{size} is not a payload of 1 to {most} bytes"))
    }

    fn payload_or(&mut self, key: &str, size: Option<Bytes>, default: u16) -> Option<u16> {
        size.map_or(Some(default), |size| self.payload(key, size))
    }

    fn above_zero(&mut self, key: &str, time: Duration) -> Option<Span> {
        if time.0.is_zero() {
            return self.complain(key, "must be above zero");
        }
        Some(time.0)
    }

    fn above_zero_or(&mut self, key: &str, time: Option<Duration>, default: Span) -> Option<Span> {
        time.map_or(Some(default), |time| self.above_zero(key, time))
    }

    fn within(&mut self, key: &str, number: Option<u32>, default: u32, most: u32) -> Option<u32> {
        let number = number.unwrap_or(default);
        if (1..=most).contains(&number) {
            return Some(number);
        }
        self.complain(key, format!("{number} is not a number from 1 to {most}"))
    }
}

/// A table that says a traffic model.
trait Says {
    type Model: Model;

    /// The model; complains where there can be none.
    fn model(&self, place: &mut Place<'_>) -> Option<Self::Model>;
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
                let message = format!("`{kind}` is no traffic model");
                let help = suggestion(kind, Self::KINDS);
                problems.add(Problem::new(rest.at, path, message).help(help));
                None
            }

            /// What is so of the model whatever its parameters are.
            pub(crate) const fn kind(&self) -> Kind {
                match self {
                    $(Self::$Model(_) => $Model::KIND,)+
                }
            }

            /// The model that it means; complains where there can be none.
            pub(crate) fn model(&self, mut place: Place<'_>) -> Option<Spec> {
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
    Dash: DashTable,
    Web: WebTable,
}

table! {
    /// A stream that always has data, over TCP.
    pub(crate) struct BulkTable {
    }
}

impl Says for BulkTable {
    type Model = Bulk;

    fn model(&self, _place: &mut Place<'_>) -> Option<Bulk> {
        Some(Bulk)
    }
}

table! {
    /// One file over TCP; then the connection closes.
    pub(crate) struct FileTable {
        /// Size of the file.
        size: Bytes,
    }
}

impl Says for FileTable {
    type Model = File;

    fn model(&self, place: &mut Place<'_>) -> Option<File> {
        if self.size.0 == 0 {
            return place.complain("size", "must be above zero");
        }
        Some(File { size: self.size.0 })
    }
}

table! {
    /// Messages of one size at a constant rate. Over TCP a message that finds the send buffer
    /// full is skipped and counted.
    pub(crate) struct CbrTable {
        /// Payload of a message in bytes, 1 to 65 000.
        size: Bytes,
        /// Time between messages. Either this or `rate`.
        interval: Option<Duration>,
        /// Payload rate. Either this or `interval`.
        rate: Option<Speed>,
    }
}

impl Says for CbrTable {
    type Model = Cbr;

    fn model(&self, place: &mut Place<'_>) -> Option<Cbr> {
        let size = place.payload("size", self.size)?;
        let interval = match (self.interval, self.rate) {
            (Some(interval), None) => place.above_zero("interval", interval)?,
            (None, Some(rate)) => rate.0.time_for(u64::from(size)),
            (Some(_), Some(_)) => {
                return place.complain("rate", "cbr has either an `interval` or a `rate`");
            }
            (None, None) => return place.complain("", "missing key `interval` (or `rate`)"),
        };
        Some(Cbr { size, interval })
    }
}

table! {
    /// A latency probe: requests at constant intervals, each echoed, over UDP.
    pub(crate) struct PingTable {
        /// Payload in bytes, 1 to 65 000. Default 64.
        size: Option<Bytes>,
        /// Time between requests. Default 100 ms.
        interval: Option<Duration>,
    }
}

impl Says for PingTable {
    type Model = Ping;

    fn model(&self, place: &mut Place<'_>) -> Option<Ping> {
        let default = Ping::default();
        Some(Ping {
            size: place.payload_or("size", self.size, default.size)?,
            interval: place.above_zero_or("interval", self.interval, default.interval)?,
        })
    }
}

table! {
    /// Bursts of datagrams with exponential on and off times, over UDP.
    pub(crate) struct OnOffTable {
        /// Payload of a datagram in bytes, 1 to 65 000.
        size: Bytes,
        /// Payload rate during a burst.
        rate: Speed,
        /// Mean length of a burst.
        on: Duration,
        /// Mean silence between bursts.
        off: Duration,
    }
}

impl Says for OnOffTable {
    type Model = OnOff;

    fn model(&self, place: &mut Place<'_>) -> Option<OnOff> {
        Some(OnOff {
            size: place.payload("size", self.size)?,
            rate: self.rate.0,
            on: place.above_zero("on", self.on)?,
            off: place.above_zero("off", self.off)?,
        })
    }
}

table! {
    /// A device's reports over TCP: messages of one size at a fixed interval, and how old they
    /// are on arrival. One that finds the send buffer full is skipped and counted.
    pub(crate) struct TelemetryTable {
        /// Bytes of a message, 12 to 65 000. Default 100.
        size: Option<Bytes>,
        /// Time between messages.
        interval: Duration,
    }
}

impl Says for TelemetryTable {
    type Model = Telemetry;

    fn model(&self, place: &mut Place<'_>) -> Option<Telemetry> {
        let least = Message::LEAST;
        if self.size.is_some_and(|size| size.0 < u64::from(least)) {
            return place.complain("size", format!("a message needs {least} bytes at least"));
        }
        Some(Telemetry {
            size: place.payload_or("size", self.size, Telemetry::SIZE)?,
            interval: place.above_zero("interval", self.interval)?,
        })
    }
}

table! {
    /// One direction of a call in speech, over UDP: G.711 in packets of 20 ms unless told
    /// otherwise, rated by the E-model.
    pub(crate) struct VoipTable {
        /// Payload in bytes, 1 to 65 000. Default 172: 160 of speech and 12 of RTP.
        size: Option<Bytes>,
        /// Time between packets. Default 20 ms.
        interval: Option<Duration>,
    }
}

impl Says for VoipTable {
    type Model = Voip;

    fn model(&self, place: &mut Place<'_>) -> Option<Voip> {
        let default = Voip::default();
        Some(Voip {
            size: place.payload_or("size", self.size, default.size)?,
            interval: place.above_zero_or("interval", self.interval, default.interval)?,
        })
    }
}

table! {
    /// One direction of a call in pictures, over UDP.
    pub(crate) struct VideoTable {
        /// Payload in bytes, 1 to 65 000. Default 700.
        size: Option<Bytes>,
        /// Time between packets. Default 20 ms.
        interval: Option<Duration>,
    }
}

impl Says for VideoTable {
    type Model = Video;

    fn model(&self, place: &mut Place<'_>) -> Option<Video> {
        let default = Video::default();
        Some(Video {
            size: place.payload_or("size", self.size, default.size)?,
            interval: place.above_zero_or("interval", self.interval, default.interval)?,
        })
    }
}

table! {
    /// A fast game over UDP: commands from the flow's `from`, pictures of the world back, both at
    /// the same rate.
    pub(crate) struct GameTable {
        /// Payload of a command in bytes, 1 to 65 000. Default 60.
        command: Option<Bytes>,
        /// Payload of a picture in bytes, 1 to 65 000. Default 200.
        picture: Option<Bytes>,
        /// Time between two commands, and between two pictures. Default 20 ms.
        interval: Option<Duration>,
    }
}

impl Says for GameTable {
    type Model = Game;

    fn model(&self, place: &mut Place<'_>) -> Option<Game> {
        let default = Game::default();
        Some(Game {
            command: place.payload_or("command", self.command, default.command)?,
            picture: place.payload_or("picture", self.picture, default.picture)?,
            interval: place.above_zero_or("interval", self.interval, default.interval)?,
        })
    }
}

words! {
    /// How a player chooses among the rates.
    pub(crate) enum RuleWord {
        /// By the measured throughput, as dash.js.
        Throughput = "throughput",
        /// By the playout buffer, as dash.js.
        Bola = "bola",
    }
}

table! {
    /// A video in chunks of several rates, over TCP: from the server to the player, which opens
    /// the connection. See [applications](apps.md).
    pub(crate) struct DashTable {
        /// How the player chooses. Default `throughput`.
        rule: Option<RuleWord>,
        /// A video's rates and sizes in Sabre's JSON: a path, seen from the scenario file. Default:
        /// ten minutes in twenty rates from 46 kbit/s to 4.2 Mbit/s, in chunks of 2 s.
        manifest: Option<String>,
        /// Playing begins with so much in the buffer. Default 4 s.
        prefill: Option<Duration>,
        /// Below this the next chunk is asked for; with `bola` its target, above 10 s. Default
        /// 12 s, with `bola` 30 s.
        buffer: Option<Duration>,
        /// The same while the highest rate plays. Default 30 s.
        buffer_at_top: Option<Duration>,
        /// How long the server is away. Default 0.
        outage: Option<Duration>,
        /// From the start of the flow to the server's going away. Default 0.
        outage_start: Option<Duration>,
    }
}

impl Says for DashTable {
    type Model = Dash;

    fn model(&self, place: &mut Place<'_>) -> Option<Dash> {
        let rule = match self.rule {
            None | Some(RuleWord::Throughput) => Rule::Throughput,
            Some(RuleWord::Bola) => Rule::Bola,
        };
        let manifest = match place.file.video(self.manifest.as_deref()) {
            Ok(manifest) => manifest,
            Err(error) => return place.complain("manifest", error.to_string()),
        };
        let buffer = place.above_zero_or("buffer", self.buffer, rule.buffer())?;
        if rule == Rule::Bola && buffer <= BOLA_LEAST {
            return place.complain("buffer", "with bola it must be above 10 s");
        }
        let or = |time: Option<Duration>, default| time.map_or(default, |time| time.0);
        let (after, lasts) = (
            or(self.outage_start, Span::ZERO),
            or(self.outage, Span::ZERO),
        );
        Some(Dash {
            viewing: Viewing {
                manifest,
                rule,
                prefill: or(self.prefill, Viewing::PREFILL),
                buffer,
                buffer_at_top: or(self.buffer_at_top, Viewing::BUFFER_AT_TOP),
            },
            outage: (!lasts.is_zero()).then_some(Outage { after, lasts }),
        })
    }
}

table! {
    /// Web pages over TCP: from the server to the browser, which opens the connections.
    pub(crate) struct WebTable {
        /// Objects of a page, its document included, 1 to 10 000. Default 70.
        objects: Option<u32>,
        /// Mean size of an object. Default 30 000 bytes.
        size: Option<Bytes>,
        /// Connections, 1 to 64. Default 6.
        connections: Option<u32>,
        /// From the end of a page to the next. Default 5 s.
        pause: Option<Duration>,
    }
}

impl Says for WebTable {
    type Model = Web;

    fn model(&self, place: &mut Place<'_>) -> Option<Web> {
        let default = Web::default();
        let most = (Web::MOST_OBJECTS, u32::from(Web::MOST_CONNECTIONS));
        let objects = place.within("objects", self.objects, default.objects, most.0)?;
        let connections = default.connections.into();
        let connections = place.within("connections", self.connections, connections, most.1)?;
        let size = self.size.map_or(default.mean_size.into(), |size| size.0);
        if !(1..=Web::MOST_SIZE.into()).contains(&size) {
            let message = format!("{size} is not a size of 1 to {} bytes", Web::MOST_SIZE);
            return place.complain("size", message);
        }
        Some(Web {
            objects,
            mean_size: size as u32,
            connections: connections as u8,
            pause: self.pause.map_or(default.pause, |pause| pause.0),
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
                    problems.add(Problem::new(node.at, path, message).help(help));
                    return None;
                };
                let kind = String::read(&kind.node, &format!("{path}.kind"), problems)?;
                Self::of_kind(&kind, &rest, path, problems)
            }
            _ => {
                let wanted = "a traffic model: \"bulk\", or a table such as \
                              { kind = \"ping\", interval = \"20ms\" }";
                problems.add(wrong_type(node, path, wanted));
                None
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
