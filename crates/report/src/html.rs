//! `report.html`: one file that needs nothing else.
//!
//! Text and the short tables are made here and stand without a script; charts and the table of
//! all figures are drawn by the script from the data that the page carries.

mod data;
mod network;
mod run;
mod tables;

use crate::error::ReportError;
use crate::headline::headlines;
use crate::labels::{self, Labels};
use crate::stored::Runs;
use flate2::{Compress, Compression, FlushCompress, Status};
use minijinja::value::{Serde, Value};
use minijinja::{Environment, context};
use serde_json::Value as Json;
use sojourn_world::{RunResult, ScenarioInfo};
use std::collections::BTreeSet;
use std::panic::resume_unwind;

const TEMPLATE: &str = include_str!("../assets/report.html.j2");
/// The style of every page.
pub const STYLE: &str = concat!(
    include_str!("../assets/report.css"),
    include_str!("../assets/charts.css"),
    include_str!("../assets/tables.css")
);
/// What every page has, as a script: `P`.
pub const SCRIPT: &str = include_str!("../assets/page.js");
/// In the order in which they need each other.
const SCRIPTS: [&str; 11] = [
    SCRIPT,
    include_str!("../assets/core.js"),
    include_str!("../assets/chart.js"),
    include_str!("../assets/boxes.js"),
    include_str!("../assets/figures.js"),
    include_str!("../assets/stacked.js"),
    include_str!("../assets/panels.js"),
    include_str!("../assets/latency.js"),
    include_str!("../assets/tradeoff.js"),
    include_str!("../assets/trend.js"),
    include_str!("../assets/main.js"),
];

/// The page for `results`; `notes` are sentences for its reader.
///
/// # Errors
/// When the page cannot be put together.
pub fn html(
    info: &ScenarioInfo,
    results: &[RunResult],
    notes: &[String],
) -> Result<String, ReportError> {
    html_of(info, Runs::whole(results), notes)
}

/// The same, for results that may be kept on disk.
///
/// # Errors
/// When they cannot be read, or the page cannot be put together.
pub fn html_of(
    info: &ScenarioInfo,
    runs: Runs<'_>,
    notes: &[String],
) -> Result<String, ReportError> {
    page(info, runs, &Labels::of(runs.figures), notes)
}

/// The same, of runs whose labels are known.
pub(crate) fn page(
    info: &ScenarioInfo,
    runs: Runs<'_>,
    labels: &Labels<'_>,
    notes: &[String],
) -> Result<String, ReportError> {
    let results = runs.figures;
    let repeated = crate::repeated(results);
    let notes: Vec<String> = notes.iter().cloned().chain(repeated).collect();
    // What takes long of the rest is said meanwhile.
    let (said, data) = std::thread::scope(|scope| {
        let said = scope.spawn(|| Said::of(labels));
        let data = data::data(info, runs, labels);
        (said.join(), data)
    });
    let (said, data) = (said.unwrap_or_else(|panic| resume_unwind(panic)), data?);
    let content = context! {
        head => head(info, labels),
        axes => info.axes.iter().map(|axis| context! {
            field => axis.field.clone(),
            values => axis.values.clone(),
        }).collect::<Vec<_>>(),
        notes => notes,
        aims => said.aims,
        limits => said.limits,
        reading => said.reading,
        overview => said.overview,
        networks => network::pictures(labels),
        agreement => said.agreement,
        definitions => Value::from(Serde(data.figures.clone())),
        source => info.source.clone(),
        style => STYLE,
        script => SCRIPTS.join("\n"),
        data => data.packed,
    };
    render(TEMPLATE, content)
}

/// What stands in the page without a script.
struct Said {
    aims: Vec<Value>,
    limits: Vec<String>,
    reading: Vec<Value>,
    overview: Value,
    agreement: Value,
}

impl Said {
    fn of(labels: &Labels<'_>) -> Self {
        let aims = crate::aims::aims(labels);
        let all = headlines(labels);
        Self {
            limits: crate::aims::limits(labels, &aims),
            aims: tables::aims(labels, aims),
            reading: tables::readings(labels, &all),
            overview: tables::overview(labels, all),
            agreement: tables::agreement_tables(labels),
        }
    }
}

/// A page from its template; what it is given are texts, which the template may call safe.
///
/// # Errors
/// When it cannot be put together.
pub fn render(template: &str, content: impl Into<Value>) -> Result<String, ReportError> {
    Ok(Environment::new().render_named_str("page.html", template, content)?)
}

/// What was run, in a few words each.
fn head(info: &ScenarioInfo, labels: &Labels<'_>) -> Value {
    let results = labels.results;
    let names = |of: fn(&RunResult) -> Vec<&String>| {
        let (mut names, mut last) = (BTreeSet::new(), Vec::new());
        for own in results.iter().map(of) {
            // Mostly they are those of the run before.
            if own != last {
                names.extend(own.iter().copied());
                last = own;
            }
        }
        names.len()
    };
    let seeds: BTreeSet<u64> = results.iter().map(|run| run.seed).collect();
    let worlds: Vec<&str> = labels.worlds.iter().map(|world| world.as_str()).collect();
    context! {
        name => info.name.clone(),
        program => labels::programs(results),
        title => if info.title.is_empty() { &info.name } else { &info.title },
        description => info.description.clone(),
        version => info.version,
        worlds => worlds.join(" and "),
        seeds => if seeds.len() > 12 {
            format!("{} seeds", seeds.len())
        } else {
            let list: Vec<String> = seeds.iter().map(u64::to_string).collect();
            format!("{} {}", if seeds.len() == 1 { "seed" } else { "seeds" }, list.join(", "))
        },
        cells => labels.cells.len(),
        runs => results.len(),
        links => names(|run| run.links.iter().map(|(name, _)| name).collect()),
        flows => names(|run| run.flows.iter().map(|(name, _)| name).collect()),
    }
}

/// Data as a page carries them for `P.data`: JSON, deflated (RFC 1951), in base64 (RFC 4648), which
/// cannot end the script element that holds it.
pub fn packed(data: &Json) -> String {
    let mut text = Deflating::new();
    text.write_json(data);
    text.finish()
}

/// Text on its way to a page. What several threads have deflated can be joined: a part ends at a
/// byte.
struct Deflating {
    /// What is deflated, other parts too.
    ready: Vec<u8>,
    state: Compress,
    buffer: Box<[u8]>,
}

impl Deflating {
    fn new() -> Self {
        Self {
            ready: Vec::new(),
            state: Compress::new(Compression::default(), false),
            buffer: vec![0; 1 << 15].into(),
        }
    }

    fn write(&mut self, text: &[u8]) {
        self.put(text, FlushCompress::None);
    }

    fn write_json(&mut self, value: &Json) {
        let text = serde_json::to_vec(value).expect("JSON values always serialise");
        self.write(&text);
    }

    /// What has been written, for [`Deflating::join`].
    fn part(mut self) -> Vec<u8> {
        self.put(&[], FlushCompress::Sync);
        self.ready
    }

    /// Adds another's part behind what has been written. What is written then refers to neither.
    fn join(&mut self, part: &[u8]) {
        self.put(&[], FlushCompress::Sync);
        self.state.reset();
        self.ready.extend(part);
    }

    /// All of it.
    fn whole(mut self) -> Vec<u8> {
        self.put(&[], FlushCompress::Finish);
        self.ready
    }

    /// In base64.
    fn finish(self) -> String {
        base64(&self.whole())
    }

    fn put(&mut self, mut text: &[u8], mut flush: FlushCompress) {
        loop {
            let (taken, made) = (self.state.total_in(), self.state.total_out());
            let compressed = self.state.compress(text, &mut self.buffer, flush);
            let status = compressed.expect("the state is a compressor's");
            text = &text[(self.state.total_in() - taken) as usize..];
            let made = (self.state.total_out() - made) as usize;
            self.ready.extend(&self.buffer[..made]);
            let is_full = made == self.buffer.len();
            if status == Status::StreamEnd || (text.is_empty() && !is_full) {
                return;
            }
            // Another one would end another block.
            if flush == FlushCompress::Sync {
                flush = FlushCompress::None;
            }
        }
    }
}

fn base64(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut text = Vec::with_capacity(bytes.len().div_ceil(3) * 4);
    let digit = |bits: u32, place: u32| DIGITS[(bits >> (18 - 6 * place) & 63) as usize];
    let (whole, rest) = bytes.as_chunks();
    for &[a, b, c] in whole {
        let bits = u32::from_be_bytes([0, a, b, c]);
        text.extend([0, 1, 2, 3].map(|place| digit(bits, place)));
    }
    if !rest.is_empty() {
        let at = |place: usize| rest.get(place).copied().unwrap_or(0);
        let bits = u32::from_be_bytes([0, at(0), at(1), 0]);
        let digits = [0, 1, 2, 3].map(|place| {
            if place as usize > rest.len() {
                b'='
            } else {
                digit(bits, place)
            }
        });
        text.extend(digits);
    }
    String::from_utf8(text).expect("the digits are text")
}

#[cfg(test)]
mod tests {
    #[test]
    fn parts_that_were_deflated_alone_make_one_text() {
        use std::io::Read as _;
        // Texts that repeat each other, so that whoever deflates them refers back.
        let texts = [
            "{\"runs\":[",
            "one run, another run, ",
            "one run, another run, ",
            "{\"runs\":[",
        ];
        let mut text = Deflating::new();
        text.write(texts[0].as_bytes());
        for one in &texts[1..3] {
            let mut part = Deflating::new();
            part.write(one.as_bytes());
            text.join(&part.part());
        }
        text.write(texts[3].as_bytes());
        let bytes = text.whole();
        let mut read = String::new();
        flate2::read::DeflateDecoder::new(&bytes[..])
            .read_to_string(&mut read)
            .unwrap();
        assert_eq!(read, texts.concat());
    }

    use super::*;

    /// RFC 4648, section 10.
    #[test]
    fn base64_is_the_standards() {
        for (plain, coded) in [
            ("", ""),
            ("f", "Zg=="),
            ("fo", "Zm8="),
            ("foo", "Zm9v"),
            ("foob", "Zm9vYg=="),
            ("fooba", "Zm9vYmE="),
            ("foobar", "Zm9vYmFy"),
        ] {
            assert_eq!(base64(plain.as_bytes()), coded);
        }
    }
}
