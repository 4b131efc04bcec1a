//! A data file read back: its series, and what it says of the test.

use crate::test::dscp_of;
use flate2::read::GzDecoder;
use indexmap::IndexMap;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::value::RawValue;
use std::io::Read as _;

/// Most bytes of a file's text: an hour of `rrul` with all raw values is half of this.
const MOST: u64 = 64 << 20;
/// Most that a rate in Mbit/s or a time in ms can be.
const MOST_VALUE: f64 = 1e7;
/// Names that end in these are computed of the other series.
const COMPUTED: [&str; 4] = ["avg", "sum", "fairness", "totals"];

/// A data file of Flent's, of any of its tests.
#[derive(Clone, Debug, PartialEq)]
pub struct Data {
    /// The test's name, such as `rrul`.
    pub test: String,
    /// What its author calls it; may be empty.
    pub title: String,
    /// Seconds since the start, in increasing order.
    pub times: Vec<f64>,
    /// TCP streams, in the order of their names.
    pub streams: Vec<Stream>,
    /// Round-trip times: the ICMP ping first, where there is one.
    pub pings: Vec<Ping>,
    /// One-way delays of a call from the host that measures, in ms at [`Data::times`]. Empty
    /// without one.
    pub one_way: Vec<Option<f64>>,
    /// Names of series with load that is no TCP stream (`UDP upload`).
    pub other_load: Vec<String>,
    /// Congestion control of the host that measured, where the file tells.
    pub congestion_control: Option<String>,
}

/// A TCP stream.
#[derive(Clone, Debug, PartialEq)]
pub struct Stream {
    /// Whether it goes from the host that measures.
    pub is_upload: bool,
    /// Its class.
    pub dscp: u8,
    /// Goodput in Mbit/s at [`Data::times`]; none where nothing was measured.
    pub values: Vec<Option<f64>>,
    /// Goodput in Mbit/s over the whole stream, as its tool reported it at the end.
    pub mean: Option<f64>,
}

/// A ping.
#[derive(Clone, Debug, PartialEq)]
pub struct Ping {
    /// What the file calls it, without the unit: `ICMP`, or `ICMP2 host` with several hosts.
    pub name: String,
    /// Round-trip times in ms at [`Data::times`].
    pub values: Vec<Option<f64>>,
}

/// Why a file cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum Unreadable {
    /// It is not compressed as Flent's files are, or damaged.
    #[error("is not a .flent.gz file: {0}")]
    NotCompressed(std::io::Error),
    /// Its text is longer than any test's.
    #[error("holds more than {} MiB of text", MOST >> 20)]
    TooLong,
    /// It is no JSON.
    #[error("is not a Flent data file: {0}")]
    NotJson(#[from] serde_json::Error),
    /// Something that every data file has is missing, or of another kind.
    #[error("is not a Flent data file: `{0}` is missing or not what it should be")]
    Missing(String),
}

impl Data {
    /// Reads a `.flent.gz` file (format version 4, and the older ones as far as these have series
    /// under `results`).
    ///
    /// # Errors
    /// When it is not one.
    pub fn read(bytes: &[u8]) -> Result<Self, Unreadable> {
        let mut text = Vec::new();
        let mut unpacked = GzDecoder::new(bytes).take(MOST + 1);
        let read = unpacked.read_to_end(&mut text);
        read.map_err(Unreadable::NotCompressed)?;
        if text.len() as u64 > MOST {
            return Err(Unreadable::TooLong);
        }
        Self::parse(&text)
    }

    /// Reads the text of a data file, unpacked.
    ///
    /// # Errors
    /// When it is not one.
    pub fn parse(text: &[u8]) -> Result<Self, Unreadable> {
        let document: Document<'_> = serde_json::from_slice(text)?;
        let missing = |what: &str| Unreadable::Missing(what.to_owned());
        let times = document
            .x_values
            .and_then(values::<f64>)
            .filter(|times| times.windows(2).all(|pair| pair[0] < pair[1]))
            .ok_or_else(|| missing("x_values"))?;
        let results = document.results.ok_or_else(|| missing("results"))?;
        let metadata = document.metadata.unwrap_or_default();
        let about = metadata.series_meta.unwrap_or_default();
        let series = |name: &str| -> Result<Vec<Option<f64>>, Unreadable> {
            let values = values::<Option<f64>>(results[name]).filter(|values| {
                let is_sane = |value: &f64| (0.0..=MOST_VALUE).contains(value);
                values.len() == times.len() && values.iter().flatten().all(is_sane)
            });
            values.ok_or_else(|| missing(&format!("results.{name}")))
        };
        let mut data = Self {
            test: metadata.name.unwrap_or_default(),
            title: metadata.title.unwrap_or_default(),
            streams: Vec::new(),
            pings: Vec::new(),
            one_way: Vec::new(),
            other_load: Vec::new(),
            congestion_control: metadata.sysctls.unwrap_or_default().congestion_control,
            times: Vec::new(),
        };
        for name in results.keys() {
            let about = about.get(name);
            match Series::of(name, about.and_then(|about| about.units.as_deref())) {
                Series::Stream { is_upload, dscp } => data.streams.push(Stream {
                    is_upload,
                    dscp,
                    values: series(name)?,
                    mean: about.and_then(|about| about.mean_value),
                }),
                Series::Ping(word) => {
                    let values = series(name)?;
                    let name = word.to_owned();
                    data.pings.push(Ping { name, values });
                }
                Series::OneWay => data.one_way = series(name)?,
                Series::OtherLoad => data.other_load.push(name.clone()),
                Series::Other => {}
            }
        }
        // The sort is stable: the others keep the order of their names.
        data.pings.sort_by_key(|ping| !ping.name.contains("ICMP"));
        data.times = times;
        Ok(data)
    }
}

/// A file's text: lists are read only where they are needed, each to numbers at once, since a
/// text of values takes many times its bytes.
#[derive(Deserialize)]
struct Document<'a> {
    #[serde(borrow)]
    x_values: Option<&'a RawValue>,
    #[serde(borrow)]
    results: Option<IndexMap<String, &'a RawValue>>,
    metadata: Option<Metadata>,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "UPPERCASE")]
struct Metadata {
    name: Option<String>,
    title: Option<String>,
    sysctls: Option<Sysctls>,
    #[serde(rename = "SERIES_META")]
    series_meta: Option<IndexMap<String, About>>,
}

#[derive(Default, Deserialize)]
struct Sysctls {
    #[serde(rename = "net.ipv4.tcp_congestion_control")]
    congestion_control: Option<String>,
}

/// What a file says of a series. A mean that is not a number counts as none.
#[derive(Default, Deserialize)]
struct About {
    #[serde(rename = "UNITS", default)]
    units: Option<String>,
    #[serde(rename = "MEAN_VALUE", default, deserialize_with = "number")]
    mean_value: Option<f64>,
}

fn number<'de, D: serde::Deserializer<'de>>(from: D) -> Result<Option<f64>, D::Error> {
    let value = serde_json::Value::deserialize(from)?.as_f64();
    Ok(value.filter(|value| (0.0..=MOST_VALUE).contains(value)))
}

fn values<T: DeserializeOwned>(text: &RawValue) -> Option<Vec<T>> {
    serde_json::from_str(text.get()).ok()
}

/// What a series is.
#[derive(Debug, PartialEq)]
enum Series<'a> {
    /// Goodput of a TCP stream.
    Stream { is_upload: bool, dscp: u8 },
    /// Round-trip times, with what stands behind the unit in its name.
    Ping(&'a str),
    /// Delays of a call, one way.
    OneWay,
    /// Throughput of something that is no TCP stream.
    OtherLoad,
    /// Anything else: what is computed of other series, statistics of sockets, queues and
    /// processors.
    Other,
}

impl<'a> Series<'a> {
    /// By its name and, where the file has it, its unit. Statistics beside a series have a word
    /// behind `::` (`TCP upload::1::tcp_cwnd`), where a stream has its number at most.
    fn of(name: &'a str, units: Option<&str>) -> Self {
        const MBIT: &str = "Mbits/s";
        let is_in = |wanted: &str| units.is_none_or(|units| units == wanted);
        let mut parts = name.split("::");
        let stem = parts.next().unwrap_or(name);
        let has_word = parts.any(|part| part.parse::<u32>().is_err());
        if has_word {
            return match name {
                "VoIP::delay" => Self::OneWay,
                _ => Self::Other,
            };
        }
        if COMPUTED.iter().any(|word| name.ends_with(word)) {
            return Self::Other;
        }
        let stream = |is_upload, rest: &str| Self::Stream {
            is_upload,
            dscp: dscp_of(rest.trim_start()),
        };
        let found = if let Some(rest) = stem.strip_prefix("TCP upload") {
            is_in(MBIT).then(|| stream(true, rest))
        } else if let Some(rest) = stem.strip_prefix("TCP download") {
            is_in(MBIT).then(|| stream(false, rest))
        } else if let Some(rest) = stem.strip_prefix("Ping (ms)") {
            is_in("ms").then(|| Self::Ping(rest.trim_start()))
        } else {
            (units == Some(MBIT)).then_some(Self::OtherLoad)
        };
        found.unwrap_or(Self::Other)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn zipped(text: &str) -> Vec<u8> {
        let level = flate2::Compression::default();
        let mut file = flate2::write::GzEncoder::new(Vec::new(), level);
        std::io::Write::write_all(&mut file, text.as_bytes()).unwrap();
        file.finish().unwrap()
    }

    #[test]
    fn streams_and_the_icmp_ping_are_found_by_their_names() {
        let file = json!({
            "version": 4,
            "x_values": [0.0, 0.2],
            "results": {
                "Ping (ms) ICMP": [20.5, null], "Ping (ms) UDP EF": [1, 2], "Ping (ms) avg": [1, 2],
                "TCP upload BE": [null, 1.5], "TCP upload sum": [null, 1.5],
                "TCP upload avg": [null, 1.5], "TCP upload fairness": [null, 1.0],
                "TCP download EF": [2, 3], "TCP download::2": [2, 3], "TCP download": [2, 3],
                "TCP totals": [2, 4.5],
            },
            "metadata": {
                "NAME": "rrul", "TITLE": "home",
                "SYSCTLS": {"net.ipv4.tcp_congestion_control": "bbr"},
            },
        });
        let data = Data::read(&zipped(&file.to_string())).unwrap();
        assert_eq!((data.test.as_str(), data.title.as_str()), ("rrul", "home"));
        let pings: Vec<_> = data.pings.iter().map(|ping| ping.name.as_str()).collect();
        assert_eq!(pings, ["ICMP", "UDP EF"]);
        assert_eq!(data.pings[0].values, [Some(20.5), None]);
        assert_eq!(data.congestion_control.as_deref(), Some("bbr"));
        let mut streams: Vec<_> = data.streams.iter().map(|s| (s.is_upload, s.dscp)).collect();
        streams.sort_unstable();
        assert_eq!(streams, [(false, 0), (false, 0), (false, 46), (true, 0)]);
    }

    #[test]
    fn a_series_is_what_its_unit_and_its_name_say() {
        let upload = |dscp| Series::Stream {
            is_upload: true,
            dscp,
        };
        for (name, units, is) in [
            ("TCP upload", Some("Mbits/s"), upload(0)),
            ("TCP upload::2", None, upload(0)),
            ("TCP upload EF::2", Some("Mbits/s"), upload(46)),
            ("TCP upload BE1 testserv-01", Some("Mbits/s"), upload(0)),
            ("TCP upload", Some("bytes"), Series::Other),
            ("TCP upload::1::tcp_cwnd", None, Series::Other),
            ("TCP upload BE2::tcp_rtt_var", None, Series::Other),
            (
                "TCP upload::1::tcp_delivery_rate",
                Some("Mbits/s"),
                Series::Other,
            ),
            ("TCP upload fairness", Some("Mbits/s"), Series::Other),
            ("TCP totals", Some("Mbits/s"), Series::Other),
            ("UDP upload", Some("Mbits/s"), Series::OtherLoad),
            (
                "Ping (ms) ICMP2 testserv-02",
                Some("ms"),
                Series::Ping("ICMP2 testserv-02"),
            ),
            ("Ping (ms) UDP BE1::jitter", Some("ms"), Series::Other),
            ("VoIP::delay", None, Series::OneWay),
            ("VoIP::induced_delay", None, Series::Other),
            ("qdisc_stats_testbed-02::delay", None, Series::Other),
            ("HTTP latency", Some("ms"), Series::Other),
        ] {
            assert_eq!(Series::of(name, units), is, "{name}");
        }
    }

    #[test]
    fn a_streams_own_mean_is_read_where_it_is_a_number() {
        let file = json!({
            "x_values": [0.0, 0.2],
            "results": { "TCP upload::1": [1, 2], "TCP upload::2": [1, 2], "TCP upload::3": [1, 2] },
            "metadata": { "SERIES_META": {
                "TCP upload::1": { "UNITS": "Mbits/s", "MEAN_VALUE": 1.4 },
                "TCP upload::2": { "UNITS": "Mbits/s", "MEAN_VALUE": null },
                "TCP upload::3": {},
            } },
        });
        let data = Data::parse(file.to_string().as_bytes()).unwrap();
        let means: Vec<_> = data.streams.iter().map(|stream| stream.mean).collect();
        assert_eq!(means, [Some(1.4), None, None]);
    }

    #[test]
    fn what_is_no_data_file_is_said() {
        let wrong = |bytes: &[u8]| Data::read(bytes).unwrap_err().to_string();
        assert!(wrong(b"plain").starts_with("is not a .flent.gz file"));
        assert!(wrong(&zipped("{")).starts_with("is not a Flent data file: EOF"));
        assert!(wrong(&zipped("{}")).contains("`x_values` is missing"));
        assert!(wrong(&zipped(r#"{"x_values":[1,"a"]}"#)).contains("`x_values`"));
        let huge = r#"{"x_values":[1],"results":{"TCP upload":[1e300]}}"#;
        assert!(wrong(&zipped(huge)).contains("`results.TCP upload`"));
        let short = r#"{"x_values":[1,2],"results":{"TCP upload":[1]}}"#;
        assert!(wrong(&zipped(short)).contains("`results.TCP upload`"));
    }
}
