//! Traffic models: their tables and keys.

use crate::problem::{Problem, Problems, suggestion};
use crate::quantity::{Bytes, Duration, Speed};
use crate::read::{Fields, Read, table, words, wrong_type};
use crate::tree::{Node, Value};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use std::borrow::Cow;

table! {
    /// One file over TCP; then the connection closes.
    pub(crate) struct FileTable {
        /// Size of the file.
        size: Bytes,
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

table! {
    /// A latency probe: requests at constant intervals, each echoed, over UDP.
    pub(crate) struct PingTable {
        /// Payload in bytes, 1 to 65 000. Default 64.
        size: Option<Bytes>,
        /// Time between requests. Default 100 ms.
        interval: Option<Duration>,
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

table! {
    /// One direction of a call in pictures, over UDP.
    pub(crate) struct VideoTable {
        /// Payload in bytes, 1 to 65 000. Default 700.
        size: Option<Bytes>,
        /// Time between packets. Default 20 ms.
        interval: Option<Duration>,
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

/// A traffic model.
#[derive(Clone, Debug)]
pub(crate) enum App {
    Bulk,
    File(FileTable),
    Cbr(CbrTable),
    Ping(PingTable),
    OnOff(OnOffTable),
    Telemetry(TelemetryTable),
    Voip(VoipTable),
    Video(VideoTable),
    Game(GameTable),
    Dash(DashTable),
    Web(WebTable),
}

impl App {
    const KINDS: [&'static str; 11] = [
        "bulk",
        "file",
        "cbr",
        "ping",
        "onoff",
        "telemetry",
        "voip",
        "video",
        "game",
        "dash",
        "web",
    ];

    fn of_kind(kind: &str, rest: &Node, path: &str, problems: &mut Problems) -> Option<Self> {
        match kind {
            "bulk" => Fields::open(rest, path, &[], problems).map(|_| Self::Bulk),
            "file" => FileTable::read(rest, path, problems).map(Self::File),
            "cbr" => CbrTable::read(rest, path, problems).map(Self::Cbr),
            "ping" => PingTable::read(rest, path, problems).map(Self::Ping),
            "onoff" => OnOffTable::read(rest, path, problems).map(Self::OnOff),
            "telemetry" => TelemetryTable::read(rest, path, problems).map(Self::Telemetry),
            "voip" => VoipTable::read(rest, path, problems).map(Self::Voip),
            "video" => VideoTable::read(rest, path, problems).map(Self::Video),
            "game" => GameTable::read(rest, path, problems).map(Self::Game),
            "dash" => DashTable::read(rest, path, problems).map(Self::Dash),
            "web" => WebTable::read(rest, path, problems).map(Self::Web),
            _ => {
                let message = format!("`{kind}` is no traffic model");
                let help = suggestion(kind, &Self::KINDS);
                problems.add(Problem::new(rest.at, path, message).help(help));
                None
            }
        }
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
        let bulk = json_schema!({
            "description": "A stream that always has data, over TCP.",
            "type": "object",
            "additionalProperties": false,
        });
        let tables = [
            ("bulk", bulk),
            ("file", FileTable::json_schema(generator)),
            ("cbr", CbrTable::json_schema(generator)),
            ("ping", PingTable::json_schema(generator)),
            ("onoff", OnOffTable::json_schema(generator)),
            ("telemetry", TelemetryTable::json_schema(generator)),
            ("voip", VoipTable::json_schema(generator)),
            ("video", VideoTable::json_schema(generator)),
            ("game", GameTable::json_schema(generator)),
            ("dash", DashTable::json_schema(generator)),
            ("web", WebTable::json_schema(generator)),
        ]
        .map(|(kind, mut schema)| {
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
            table.insert("required".into(), required.into());
            schema
        });
        let by_name = ["bulk", "ping", "voip", "video", "game", "dash", "web"];
        let mut forms = vec![json_schema!({ "enum": by_name })];
        forms.extend(tables);
        json_schema!({
            "description": "A traffic model: its name when it needs no parameters, or a table.",
            "oneOf": forms,
        })
    }
}
