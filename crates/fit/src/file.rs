//! Files of measurements: what they are, by what is in them, and how they are read.

use crate::capture::CaptureError;
use crate::iperf::{self, IperfError};
use crate::irtt::{self, Probes};
use crate::measurement::Measurement;
use serde::Deserialize;
use serde::de::IgnoredAny;
use sojourn_capture::unpacked;
use sojourn_flent::{Data, Unreadable};
use sojourn_scenario::explained;
use std::fs::File;
use std::io::{BufReader, Read};
use std::net::IpAddr;
use std::path::{Path, PathBuf};

/// Most bytes of a file's text.
const MOST: u64 = 64 << 20;
/// How much of a file says what it is.
const HEAD: u64 = 512;
/// How a result file of Crusader's begins.
const CRUSADER: [u8; 8] = 0x5372_ab82_ae7c_59cb_u64.to_le_bytes();
/// How captures begin: pcapng, and pcap in both byte orders with micro- and nanoseconds.
const CAPTURES: [[u8; 4]; 5] = [
    [0x0a, 0x0d, 0x0d, 0x0a],
    [0xa1, 0xb2, 0xc3, 0xd4],
    [0xd4, 0xc3, 0xb2, 0xa1],
    [0xa1, 0xb2, 0x3c, 0x4d],
    [0x4d, 0x3c, 0xb2, 0xa1],
];

/// A file that is no measurement; its name, and why.
#[derive(Debug, thiserror::Error)]
#[error("{}: {why}", .file.display())]
pub struct FileError {
    file: PathBuf,
    why: Why,
}

#[derive(Debug, thiserror::Error)]
enum Why {
    #[error(transparent)]
    Io(#[from] std::io::Error),
    #[error(transparent)]
    Flent(#[from] Unreadable),
    #[error(transparent)]
    Iperf(#[from] IperfError),
    #[error("is not irtt's JSON: {0}")]
    Irtt(serde_json::Error),
    #[error(transparent)]
    Capture(#[from] CaptureError),
    #[error("holds more than {} MiB of text", MOST >> 20)]
    TooLong,
    #[error(
        "{0}; measurements are Flent's data files, captures (pcapng, pcap), iperf3's JSON, and \
         irtt's beside it"
    )]
    Other(&'static str),
    #[error(
        "has round-trip times and no load; give it together with the iperf3 file of the same time: \
         `sojourn fit iperf3.json {0}`"
    )]
    Alone(String),
}

/// What a file turns out to be.
enum Contents {
    Flent(Data),
    /// A measurement, with the seconds since 1970 at which it began where these are known.
    Load(Measurement, Option<f64>),
    Probes(Probes),
}

/// A file's name, for people.
pub fn name(file: &Path) -> String {
    let name = file.file_name().unwrap_or(file.as_os_str());
    name.to_string_lossy().into_owned()
}

/// Whether a file is a data file of Flent's: one by its name that is no capture.
pub fn is_flent(file: &Path) -> bool {
    let name = name(file);
    let is_named = [".gz", ".flent"].iter().any(|end| name.ends_with(end));
    let begins = || -> std::io::Result<Vec<u8>> {
        let mut head = Vec::new();
        let opened = unpacked(BufReader::new(File::open(file)?))?;
        opened.take(4).read_to_end(&mut head)?;
        Ok(head)
    };
    is_named && !begins().is_ok_and(|head| is_capture(&head))
}

fn is_capture(head: &[u8]) -> bool {
    CAPTURES.iter().any(|begins| head.starts_with(begins))
}

/// Reads a data file of Flent's, of up to 64 MiB.
///
/// # Errors
/// When it cannot be read, or is none.
pub fn read_flent(file: &Path) -> Result<Data, FileError> {
    let read = || match source(file, None)? {
        Contents::Flent(data) => Ok(data),
        Contents::Load(..) | Contents::Probes(_) => Err(Why::Other("is not a Flent data file")),
    };
    read().map_err(|why| of(file, why))
}

impl Measurement {
    /// Reads a measurement: a data file of Flent's, iperf3's JSON, or a capture made at the
    /// client, whose address is `client` or whoever opens the first connection in it.
    ///
    /// # Errors
    /// When the file cannot be read, is none of these, or the client is not in it.
    pub fn read(file: &Path, client: Option<IpAddr>) -> Result<Self, FileError> {
        let mut read = Self::read_all(&[file], client)?;
        Ok(read.remove(0))
    }

    /// Reads measurements of one line. Round-trip times of irtt's files go to the loads that ran at
    /// the same time, of which there is one at least for each.
    ///
    /// # Errors
    /// As [`Measurement::read`], and when a file of irtt's has no load beside it.
    pub fn read_all(
        files: &[impl AsRef<Path>],
        client: Option<IpAddr>,
    ) -> Result<Vec<Self>, FileError> {
        let (mut loads, mut probes) = (Vec::new(), Vec::new());
        for file in files {
            let file = file.as_ref();
            match source(file, client).map_err(|why| of(file, why))? {
                Contents::Flent(data) => loads.push((Self::of_flent(&name(file), &data), None)),
                Contents::Load(load, began) => loads.push((load, began)),
                Contents::Probes(found) => probes.push((file, found)),
            }
        }
        for (file, probes) in probes {
            let mut joined = false;
            for (load, began) in &mut loads {
                joined |= began.is_some_and(|began| probes.join(load, began));
            }
            if !joined {
                return Err(of(file, Why::Alone(probes.name)));
            }
        }
        Ok(loads.into_iter().map(|(load, _)| load).collect())
    }
}

/// Reads a file, whatever it is.
fn source(file: &Path, client: Option<IpAddr>) -> Result<Contents, Why> {
    if file.is_dir() {
        let why = "it is a folder, where a file is wanted";
        return Err(std::io::Error::new(std::io::ErrorKind::IsADirectory, why).into());
    }
    let read = File::open(file).map_err(|error| explained(file, error))?;
    let mut opened = unpacked(BufReader::new(read))?;
    let mut head = Vec::new();
    let read = opened.by_ref().take(HEAD).read_to_end(&mut head);
    read.map_err(|error| damaged(file, error))?;
    if is_capture(&head) {
        let whole = head.as_slice().chain(BufReader::new(opened));
        let load = Measurement::of_capture(&name(file), whole, client)?;
        return Ok(Contents::Load(load, None));
    }
    if head.starts_with(&CRUSADER) {
        return Err(Why::Other("is a result of Crusader's, which is not read"));
    }
    let first = head.iter().find(|byte| !byte.is_ascii_whitespace());
    if first != Some(&b'{') {
        return Err(not_json(file, &head));
    }
    let mut text = head;
    let rest = opened.take(MOST).read_to_end(&mut text);
    rest.map_err(|error| damaged(file, error))?;
    if text.len() as u64 > MOST {
        return Err(Why::TooLong);
    }
    json(&name(file), &text)
}

/// Damage of a packed file is that of what its name says.
fn damaged(file: &Path, error: std::io::Error) -> Why {
    if name(file).ends_with(".flent.gz") {
        Unreadable::NotCompressed(error).into()
    } else {
        error.into()
    }
}

/// The keys that tell one tool's JSON from another's.
#[derive(Deserialize)]
struct Keys {
    x_values: Option<IgnoredAny>,
    intervals: Option<IgnoredAny>,
    round_trips: Option<IgnoredAny>,
    event: Option<IgnoredAny>,
    dl_throughput: Option<IgnoredAny>,
    download: Option<IgnoredAny>,
    ping: Option<IgnoredAny>,
}

fn json(name: &str, text: &[u8]) -> Result<Contents, Why> {
    // A stream of objects has the first one's keys.
    let first = serde_json::Deserializer::from_slice(text)
        .into_iter()
        .next();
    let keys: Keys = match first {
        Some(Ok(keys)) => keys,
        Some(Err(error)) => return Err(Unreadable::from(error).into()),
        None => return Err(Why::Other("is empty")),
    };
    if keys.intervals.is_some() {
        let (load, began) = iperf::read(name, text)?;
        return Ok(Contents::Load(load, began));
    }
    if keys.round_trips.is_some() {
        let probes = irtt::read(name, text).map_err(Why::Irtt)?;
        return Ok(Contents::Probes(probes));
    }
    if keys.x_values.is_none() {
        let other = if keys.event.is_some() {
            "is a stream of JSON objects (iperf3 --json-stream?); `iperf3 --json` writes one"
        } else if keys.dl_throughput.is_some() {
            "is a summary of networkQuality's, without a series over time"
        } else if keys.download.is_some() && keys.ping.is_some() {
            "is a summary of a speed test, without a series over time"
        } else {
            return Ok(Contents::Flent(Data::parse(text)?));
        };
        return Err(Why::Other(other));
    }
    Ok(Contents::Flent(Data::parse(text)?))
}

/// What a file is that is neither a capture nor JSON.
fn not_json(file: &Path, head: &[u8]) -> Why {
    let text = String::from_utf8_lossy(head);
    let is_cut = head.len() as u64 == HEAD;
    let mut lines: Vec<&str> = text.lines().collect();
    if is_cut {
        lines.pop();
    }
    let is_text = |line: &&&str| !line.trim().is_empty() && !line.starts_with('#');
    let numbers = |line: &&str| {
        let words: Vec<&str> = line
            .split([',', ';', '\t', ' '])
            .filter(|word| !word.is_empty())
            .collect();
        let is_table = words.iter().all(|word| word.parse::<f64>().is_ok());
        is_table.then_some(words.len())
    };
    let numbers: Vec<Option<usize>> = lines.iter().filter(is_text).map(numbers).collect();
    // A first line may be a heading.
    let columns = numbers.last().copied().flatten();
    let is_table = numbers.len() > 2 && numbers.iter().skip(1).all(|count| *count == columns);
    let name = name(file);
    match columns.filter(|_| is_table) {
        Some(1) => Why::Other("is a trace of mahimahi's, which a link takes as its `trace`"),
        Some(2..) => Why::Other(
            "is a table of numbers (a trace of times and rates?), without a load and what it adds \
             to round trips",
        ),
        _ if lines.first().is_some_and(|line| line.starts_with("PING ")) => {
            Why::Other("is the output of ping, without a load")
        }
        _ if text.contains("iperf") || text.contains("Mbits/sec") => {
            Why::Other("is the output of iperf for people; `iperf3 --json` writes what can be read")
        }
        _ if name.ends_with(".flent.gz") => {
            Why::Other("is not a .flent.gz file: it contains no JSON")
        }
        _ => Why::Other("not a capture and not JSON"),
    }
}

fn of(file: &Path, why: Why) -> FileError {
    FileError {
        file: file.to_owned(),
        why,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write as _;

    #[test]
    fn what_is_no_measurement_is_named() {
        let dir = tempfile::tempdir().unwrap();
        let said = |name: &str, bytes: &[u8]| {
            let path = dir.path().join(name);
            std::fs::write(&path, bytes).unwrap();
            Measurement::read(&path, None).unwrap_err().to_string()
        };
        let crusader = [&CRUSADER[..], &[2, 0, 0, 0, 0, 0, 0, 0, 0xff]].concat();
        for (name, bytes, part) in [
            ("a.crr", &crusader[..], "is a result of Crusader's"),
            ("a.trace", b"1\n2\n3\n5\n", "is a trace of mahimahi's"),
            (
                "a.csv",
                b"time,rate\n0.0,4.2\n0.5,3.1\n1.0,4\n",
                "a trace of times and rates",
            ),
            (
                "a.txt",
                b"PING 192.0.2.1 (192.0.2.1) 56(84) bytes of data.\n",
                "output of ping",
            ),
            (
                "b.txt",
                b"[  5]   0.00-1.00   sec  11 MBytes  95 Mbits/sec\n",
                "iperf3 --json",
            ),
            (
                "s.json",
                b"{\"event\":\"start\"}\n{\"event\":\"end\"}",
                "--json-stream",
            ),
            (
                "n.json",
                b"{\"dl_throughput\":1,\"ul_throughput\":1}",
                "networkQuality",
            ),
            ("o.json", b"{\"ping\":{},\"download\":{}}", "a speed test"),
            ("x.json", b"{\"answer\":42}", "is not a Flent data file"),
            ("e.json", b"", "not a capture and not JSON"),
            ("a.flent.gz", b"plain", "is not a .flent.gz file"),
            ("a.pcap.xz", b"\xfd7zXZ\0rest", "packed with xz"),
            (
                "i.json",
                b"{\"round_trips\":[]}",
                "no load; give it together with the iperf3 file",
            ),
        ] {
            let said = said(name, bytes);
            assert!(
                said.contains(&format!("{name}: ")) && said.contains(part),
                "{said}"
            );
        }
    }

    #[test]
    fn a_packed_capture_is_one() {
        let level = flate2::Compression::default();
        let mut packed = flate2::write::GzEncoder::new(Vec::new(), level);
        let header = [0xa1b2_c3d4_u32, 0x0004_0002, 0, 0, 65_535, 147].map(u32::to_le_bytes);
        packed.write_all(&header.concat()).unwrap();
        for word in [0_u32, 0, 4, 4, 0] {
            packed.write_all(&word.to_le_bytes()).unwrap();
        }
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("a.pcap.gz");
        std::fs::write(&path, packed.finish().unwrap()).unwrap();
        let said = Measurement::read(&path, None).unwrap_err().to_string();
        assert!(said.contains("link type 147"), "{said}");
        assert!(!is_flent(&path));
        assert!(is_flent(Path::new("rrul.flent.gz")));
    }
}
