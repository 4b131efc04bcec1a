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
    /// Seconds since the start, evenly spaced.
    pub times: Vec<f64>,
    /// TCP streams, in the order of their names.
    pub streams: Vec<Stream>,
    /// Round-trip times in ms at `times`: the ICMP ping's where there is one, or else the first
    /// ping's. Empty without any.
    pub pings: Vec<Option<f64>>,
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
}

/// Why a file cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum Unreadable {
    /// It is not compressed as Flent's files are, or damaged.
    #[error("is no .flent.gz file: {0}")]
    NotCompressed(std::io::Error),
    /// Its text is longer than any test's.
    #[error("holds more than {} MiB of text", MOST >> 20)]
    TooLong,
    /// It is no JSON.
    #[error("is no data file of Flent's: {0}")]
    NotJson(#[from] serde_json::Error),
    /// Something that every data file has is missing, or of another kind.
    #[error("is no data file of Flent's: `{0}` is missing or not what it should be")]
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
        let document: Document<'_> = serde_json::from_slice(&text)?;
        let missing = |what: &str| Unreadable::Missing(what.to_owned());
        let times = document.x_values.and_then(values::<f64>);
        let times = times.ok_or_else(|| missing("x_values"))?;
        let results = document.results.ok_or_else(|| missing("results"))?;
        let series = |name: &str| -> Result<Vec<Option<f64>>, Unreadable> {
            let values = values::<Option<f64>>(results[name]);
            let values = values.filter(|values| {
                let is_sane = |value: &f64| (0.0..=MOST_VALUE).contains(value);
                values.len() == times.len() && values.iter().flatten().all(is_sane)
            });
            values.ok_or_else(|| missing(&format!("results.{name}")))
        };
        let mut streams = Vec::new();
        for name in results.keys() {
            if let Some((is_upload, dscp)) = stream_of(name) {
                let values = series(name)?;
                streams.push(Stream {
                    is_upload,
                    dscp,
                    values,
                });
            }
        }
        let pings: Vec<&String> = results.keys().filter(|name| is_ping(name)).collect();
        let icmp = pings.iter().find(|name| name.contains("ICMP"));
        let ping = icmp.or(pings.first());
        let metadata = document.metadata.unwrap_or_default();
        let control = metadata.sysctls.unwrap_or_default();
        Ok(Self {
            test: metadata.name.unwrap_or_default(),
            title: metadata.title.unwrap_or_default(),
            streams,
            pings: ping.map_or(Ok(Vec::new()), |name| series(name))?,
            congestion_control: control.congestion_control,
            times,
        })
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
}

#[derive(Default, Deserialize)]
struct Sysctls {
    #[serde(rename = "net.ipv4.tcp_congestion_control")]
    congestion_control: Option<String>,
}

fn values<T: DeserializeOwned>(text: &RawValue) -> Option<Vec<T>> {
    serde_json::from_str(text.get()).ok()
}

fn is_computed(name: &str) -> bool {
    COMPUTED.iter().any(|word| name.ends_with(word))
}

fn is_ping(name: &str) -> bool {
    name.starts_with("Ping (ms)") && !is_computed(name)
}

/// Direction and class of the stream that a series is of.
fn stream_of(name: &str) -> Option<(bool, u8)> {
    let (is_upload, rest) = match name.strip_prefix("TCP upload") {
        Some(rest) => (true, rest),
        None => (false, name.strip_prefix("TCP download")?),
    };
    (!is_computed(rest)).then(|| (is_upload, dscp_of(rest.trim_start())))
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
        assert_eq!(data.pings, [Some(20.5), None]);
        assert_eq!(data.congestion_control.as_deref(), Some("bbr"));
        let streams = data.streams.iter();
        let mut streams: Vec<_> = streams.map(|s| (s.is_upload, s.dscp)).collect();
        streams.sort_unstable();
        assert_eq!(streams, [(false, 0), (false, 0), (false, 46), (true, 0)]);
    }

    #[test]
    fn what_is_no_data_file_is_said() {
        let wrong = |bytes: &[u8]| Data::read(bytes).unwrap_err().to_string();
        assert!(wrong(b"plain").starts_with("is no .flent.gz file"));
        assert!(wrong(&zipped("{")).starts_with("is no data file of Flent's: EOF"));
        assert!(wrong(&zipped("{}")).contains("`x_values` is missing"));
        assert!(wrong(&zipped(r#"{"x_values":[1,"a"]}"#)).contains("`x_values`"));
        let huge = r#"{"x_values":[1],"results":{"TCP upload":[1e300]}}"#;
        assert!(wrong(&zipped(huge)).contains("`results.TCP upload`"));
        let short = r#"{"x_values":[1,2],"results":{"TCP upload":[1]}}"#;
        assert!(wrong(&zipped(short)).contains("`results.TCP upload`"));
    }
}
