//! LibreQoS's two files: `ShapedDevices.csv` has a line for each device, several of which make a
//! circuit, and `network.json` the sites that circuits are below.
//!
//! Source: LibreQoS's guide and its example files (v1.5). As there, lines that begin with `#` are
//! comments; of devices of one circuit the highest rates count; a field `sqm`, the last one, says
//! which queue (`cake`, `fq_codel`, `none`, or `down/up`). Sites marked `virtual` have no rate, and
//! what is below them is below the site above them. `Parent Node ID` is the `id` of a site and goes
//! before `Parent Node`, its name; without both, `Anchor Node ID` may be the `id` of one. Names of
//! columns count by their letters and digits alone, `Mbps` may be left out.

use super::label::Label;
use super::model::{NamedText, Subscribers};
use super::prefix::Prefix;
use super::settle::{Above, Draft, DraftCircuit, DraftSite};
use csv::StringRecord;
use serde_json::{Map, Value};
use sojourn_qdisc::Spec;
use sojourn_text::problem::{Origin, Problem, Problems, nearest};
use sojourn_units::Rate;
use std::collections::BTreeMap;

/// The columns that are looked at, beside `sqm`.
#[derive(Clone, Copy)]
enum Column {
    Id,
    Parent,
    Ipv4,
    Ipv6,
    LeastUp,
    LeastDown,
    MostUp,
    MostDown,
}

/// Columns that may be missing: what a circuit is below, by `id`, and what its device is called.
const PARENT_ID: &str = "Parent Node ID";
const ANCHOR_ID: &str = "Anchor Node ID";
const DEVICE: &str = "Device Name";

const COLUMNS: [&str; 8] = [
    "Circuit ID",
    "Parent Node",
    "IPv4",
    "IPv6",
    "Upload Min Mbps",
    "Download Min Mbps",
    "Upload Max Mbps",
    "Download Max Mbps",
];

/// The most that a rate may be, in Mbit/s: 10 Tbit/s.
const MOST_MBPS: f64 = 1e7;

/// Reads both texts.
pub(super) fn read(
    devices: NamedText<'_>,
    network: Option<NamedText<'_>>,
    problems: &mut Problems,
) -> Option<Subscribers> {
    let before = problems.len();
    let mut draft = Draft::default();
    let mut instead = BTreeMap::new();
    let mut ids = BTreeMap::new();
    if let Some(NamedText { name, text }) = network {
        let source = problems.add_file(name, text);
        let mut network = Network {
            source,
            text,
            sites: &mut draft.sites,
            instead: &mut instead,
            ids: &mut ids,
            problems,
        };
        network.read()?;
    }
    let source = problems.add_file(devices.name, devices.text);
    Devices::read(source, devices.text, &mut draft, &ids, problems)?;
    for circuit in &mut draft.circuits {
        if let Some((name, at)) = &circuit.parent
            && let Some(above) = instead.get(name)
        {
            circuit.parent = above.as_ref().map(|above| (above.clone(), *at));
        }
    }
    let settled = draft.settle(problems);
    settled.filter(|_| problems.len() == before)
}

fn rate(mbps: f64) -> Option<Rate> {
    let is_rate = mbps > 0.0 && mbps <= MOST_MBPS;
    let rate = Rate::from_bps((mbps * 1e6).round() as u64);
    (is_rate && !rate.is_zero()).then_some(rate)
}

struct Network<'a> {
    source: usize,
    text: &'a str,
    sites: &'a mut Vec<DraftSite>,
    /// What stands in the place of sites that have no rate.
    instead: &'a mut BTreeMap<String, Option<String>>,
    /// Names of sites by their `id`.
    ids: &'a mut BTreeMap<String, String>,
    problems: &'a mut Problems,
}

impl Network<'_> {
    fn read(&mut self) -> Option<()> {
        let top = match serde_json::from_str(self.text.trim_start_matches('\u{feff}')) {
            Ok(Value::Object(top)) => top,
            Ok(_) => return self.complain("", "", "is not an object of sites"),
            Err(error) => {
                let before = self.text.split_inclusive('\n').map(str::len);
                let line: usize = before.take(error.line().saturating_sub(1)).sum();
                let start = line + error.column().saturating_sub(1);
                let at = Origin::new(self.source, start..start + 1);
                let problem = Problem::new(at, "", format!("not JSON: {error}"));
                return self.problems.refuse(problem);
            }
        };
        self.below(&top, None, "");
        Some(())
    }

    fn below(&mut self, sites: &Map<String, Value>, parent: Option<&str>, above: &str) {
        for (name, site) in sites {
            let field = match above {
                "" => name.clone(),
                above => format!("{above}.{name}"),
            };
            let Value::Object(site) = site else {
                let _: Option<()> = self.complain(name, &field, "a site is an object");
                continue;
            };
            let id = match site.get("id") {
                Some(Value::String(id)) => Some(id.trim().to_owned()),
                Some(Value::Number(id)) => Some(id.to_string()),
                _ => None,
            };
            if let Some(id) = id.filter(|id| !id.is_empty()) {
                self.ids.insert(id, name.clone());
            }
            let is_virtual = site.get("virtual").and_then(Value::as_bool) == Some(true);
            let own = if is_virtual {
                self.instead.insert(name.clone(), parent.map(str::to_owned));
                parent
            } else {
                self.site(name, site, parent, &field);
                Some(name.as_str())
            };
            match site.get("children") {
                None | Some(Value::Null) => {}
                Some(Value::Object(children)) => self.below(children, own, &field),
                Some(_) => {
                    let message = "`children` is an object of sites";
                    let _: Option<()> = self.complain(name, &field, message);
                }
            }
        }
    }

    fn site(&mut self, name: &str, site: &Map<String, Value>, parent: Option<&str>, field: &str) {
        let at = self.place(name);
        if let Some((message, help)) = Label::complaint(name) {
            let problem = Problem::new(at, field, message).help(help);
            self.problems.add(problem);
        }
        let mut rates = [Rate::ZERO; 2];
        let keys = ["uploadBandwidthMbps", "downloadBandwidthMbps"];
        for (rate_of, key) in rates.iter_mut().zip(keys) {
            let number = site.get(key).and_then(|value| match value {
                // Integrations write some as texts.
                Value::String(text) => text.trim().parse().ok(),
                value => value.as_f64(),
            });
            if let Some(rate) = number.and_then(rate) {
                *rate_of = rate;
            } else {
                let message = format!("needs `{key}`, a number above zero");
                let help = format!("for example \"{key}\": 1000");
                let problem = Problem::new(at, field, message).help(help);
                self.problems.add(problem);
            }
        }
        self.sites.push(DraftSite {
            name: name.to_owned(),
            at,
            field: field.to_owned(),
            parent: parent.map(|parent| (parent.to_owned(), at)),
            rates,
        });
    }

    /// Where a site is named, as far as a search can tell.
    fn place(&self, name: &str) -> Origin {
        let quoted = Value::from(name).to_string();
        let start = self.text.find(&quoted);
        start.map_or(Origin::new(self.source, 0..0), |start| {
            Origin::new(self.source, start..start + quoted.len())
        })
    }

    fn complain<T>(&mut self, name: &str, field: &str, message: &str) -> Option<T> {
        let at = self.place(name);
        self.problems.refuse(Problem::new(at, field, message))
    }
}

struct Devices<'a> {
    text: &'a str,
    /// Where the columns are.
    columns: [usize; COLUMNS.len()],
    /// Where those are that may be missing.
    parent_id: Option<usize>,
    anchor_id: Option<usize>,
    device: Option<usize>,
    has_sqm: bool,
    /// Names of sites by their `id`.
    ids: &'a BTreeMap<String, String>,
    draft: &'a mut Draft,
    /// Circuits by their names.
    places: BTreeMap<String, usize>,
    problems: &'a mut Problems,
}

/// A line of the file.
struct DeviceRecord<'a> {
    fields: &'a StringRecord,
    at: Origin,
}

impl<'a> Devices<'a> {
    fn read(
        source: usize,
        text: &'a str,
        draft: &'a mut Draft,
        ids: &'a BTreeMap<String, String>,
        problems: &'a mut Problems,
    ) -> Option<()> {
        let mut reader = csv::ReaderBuilder::new()
            .comment(Some(b'#'))
            .flexible(true)
            .trim(csv::Trim::All)
            .from_reader(text.as_bytes());
        let header = match reader.headers() {
            Ok(header) => header.clone(),
            Err(error) => {
                let at = Origin::new(source, 0..0);
                return problems.refuse(Problem::new(at, "", format!("not CSV: {error}")));
            }
        };
        let start = place(text, source, &header).start;
        let columns = columns(&header, Origin::new(source, start..start + 1), problems)?;
        let has_sqm = column(&header, "sqm").is_some();
        let mut devices = Self {
            text,
            columns,
            parent_id: column(&header, PARENT_ID),
            anchor_id: column(&header, ANCHOR_ID),
            device: column(&header, DEVICE),
            has_sqm,
            ids,
            draft,
            places: BTreeMap::new(),
            problems,
        };
        for record in reader.records() {
            match record {
                Ok(fields) => {
                    let at = place(devices.text, source, &fields);
                    let fields = &fields;
                    devices.device(&DeviceRecord { fields, at }, header.len());
                }
                Err(error) => {
                    let at = Origin::new(source, 0..0);
                    let problem = Problem::new(at, "", format!("not CSV: {error}"));
                    return devices.problems.refuse(problem);
                }
            }
            if devices.problems.is_full() {
                return None;
            }
        }
        Some(())
    }

    fn field<'r>(&self, row: &DeviceRecord<'r>, column: Column) -> &'r str {
        let field = row.fields.get(self.columns[column as usize]);
        field.unwrap_or_default()
    }

    fn device(&mut self, row: &DeviceRecord<'_>, columns: usize) {
        let id = self.field(row, Column::Id);
        if row.fields.iter().all(str::is_empty) || self.is_short(row, columns) {
            return;
        }
        if let Some((message, help)) = Label::complaint(id) {
            return self.complain(row, Column::Id, &message, &help);
        }
        let rates = [
            Column::LeastUp,
            Column::LeastDown,
            Column::MostUp,
            Column::MostDown,
        ];
        let [
            Some(least_up),
            Some(least_down),
            Some(most_up),
            Some(most_down),
        ] = rates.map(|column| self.rate(row, column))
        else {
            return;
        };
        let parent = self.parent(row);
        let prefixes = self.prefixes(row);
        if prefixes.is_empty() {
            let device = optional(row, self.device);
            self.draft.bare.push((id.to_owned(), device.to_owned()));
        }
        let queues = self.queues(row, columns);
        let least = [(least_up, row.at), (least_down, row.at)];
        let most = [most_up, most_down];
        let Some(&place) = self.places.get(id) else {
            self.places.insert(id.to_owned(), self.draft.circuits.len());
            self.draft.circuits.push(DraftCircuit {
                name: id.to_owned(),
                at: row.at,
                field: format!("circuit {id}"),
                parent,
                least,
                most,
                queues,
                prefixes,
            });
            return;
        };
        let circuit = &mut self.draft.circuits[place];
        for way in 0..2 {
            circuit.least[way] = circuit.least[way].max(least[way]);
            circuit.most[way] = circuit.most[way].max(most[way]);
        }
        circuit.prefixes.extend(prefixes);
        let name = |above: &Above| above.as_ref().map(|(name, _)| name.clone());
        let [one, other] = [&circuit.parent, &parent].map(name);
        if one != other {
            let shown = |name: Option<String>| name.map_or("none".into(), |it| format!("`{it}`"));
            let message = format!(
                "devices of the circuit `{id}` are below different sites: {} and {}",
                shown(one),
                shown(other),
            );
            let help = "a circuit has one parent";
            self.complain(row, Column::Parent, &message, help);
        }
    }

    /// Whether fields are missing that each line must have: they would be taken for others.
    fn is_short(&mut self, row: &DeviceRecord<'_>, columns: usize) -> bool {
        let last = self.columns.iter().max().copied().unwrap_or(0);
        let count = row.fields.len();
        if count > last {
            return false;
        }
        let message = format!("this line has {count} fields, and the header has {columns}");
        let help = "a field that is empty has its comma too";
        self.problems
            .add(Problem::new(row.at, "", message).help(help));
        true
    }

    /// The site that a circuit is below: by its `id`, or else by its name.
    fn parent(&self, row: &DeviceRecord<'_>) -> Above {
        let id = optional(row, self.parent_id);
        let name = self.field(row, Column::Parent);
        // What its integrations write for a circuit directly at the link.
        let is_top = |name: &str| name.is_empty() || name.eq_ignore_ascii_case("none");
        let anchor = optional(row, self.anchor_id);
        let found = match self.ids.get(id) {
            Some(site) => site,
            None if !is_top(name) => name,
            // An `id` that no site has is told as a name would be.
            None if !is_top(id) => id,
            None => self.ids.get(anchor)?,
        };
        Some((found.to_owned(), row.at))
    }

    fn rate(&mut self, row: &DeviceRecord<'_>, column: Column) -> Option<Rate> {
        let text = self.field(row, column);
        let rate = text.parse().ok().and_then(rate);
        if rate.is_none() {
            let message = format!("`{text}` is not a rate in Mbit/s above zero");
            self.complain(row, column, &message, "for example 50 or 2.5");
        }
        rate
    }

    fn prefixes(&mut self, row: &DeviceRecord<'_>) -> Vec<(Prefix, Origin)> {
        let mut prefixes = Vec::new();
        for (column, is_v4, example) in [
            (Column::Ipv4, true, "100.64.0.1, 100.64.1.0/24"),
            (Column::Ipv6, false, "2001:db8:1::/56"),
        ] {
            // Old versions wrote lists in brackets.
            let list = self.field(row, column).trim_matches(['[', ']']);
            for text in list.split(',').map(str::trim) {
                let text = text.trim_matches(['\'', '"']);
                if text.is_empty() {
                    continue;
                }
                match Prefix::parse(text) {
                    Some((prefix, _)) if prefix.address.is_ipv4() == is_v4 => {
                        prefixes.push((prefix, row.at));
                    }
                    _ => {
                        let message = format!("`{text}` is neither an address nor a prefix");
                        let help = format!("for example {example}");
                        self.complain(row, column, &message, &help);
                    }
                }
            }
        }
        prefixes
    }

    /// Up and down.
    fn queues(&mut self, row: &DeviceRecord<'_>, columns: usize) -> [Option<Spec>; 2] {
        // Commas in comments that are not quoted make a line longer.
        let last = row.fields.iter().next_back().unwrap_or_default();
        if !self.has_sqm || row.fields.len() < columns || last.is_empty() {
            return [None, None];
        }
        let words = last.to_ascii_lowercase();
        let (down, up) = words.split_once('/').unwrap_or((&words, &words));
        [up, down].map(|word| {
            let spec = match word.trim() {
                "" => return None,
                "none" => "pfifo",
                word @ ("cake" | "fq_codel") => word,
                other => {
                    let message = format!("`{other}` is not a queue");
                    let help = "`cake`, `fq_codel`, `none`, or two of them as `down/up`";
                    let problem = Problem::new(row.at, "sqm", message).help(help);
                    self.problems.add(problem);
                    return None;
                }
            };
            spec.parse().ok()
        })
    }

    fn complain(&mut self, row: &DeviceRecord<'_>, column: Column, message: &str, help: &str) {
        let field = COLUMNS[column as usize];
        let problem = Problem::new(row.at, field, message).help(help);
        self.problems.add(problem);
    }
}

/// Where a record stands: what stands before it, comments and empty lines, belongs to it for its
/// reader.
fn place(text: &str, source: usize, record: &StringRecord) -> Origin {
    let mut start = (record.position().map_or(0, csv::Position::byte) as usize).min(text.len());
    loop {
        let line = text.get(start..).unwrap_or_default();
        let end = line.find('\n').map_or(line.len(), |at| at + 1);
        let is_empty = line[..end].trim().is_empty() || line.starts_with('#');
        if !is_empty || end == line.len() {
            let end = start + line[..end].trim_end().len();
            return Origin::new(source, start..end.max(start));
        }
        start += end;
    }
}

/// A column's name as it counts: `DownloadMinMbps` is `Download Min Mbps`.
fn plain(name: &str) -> String {
    let letters = name.chars().filter(|c| c.is_alphanumeric());
    let mut plain: String = letters.flat_map(char::to_lowercase).collect();
    if let Some(short) = plain.strip_suffix("mbps") {
        plain.truncate(short.len());
    }
    plain
}

/// Where a column is, by its name.
fn column(header: &StringRecord, wanted: &str) -> Option<usize> {
    let wanted = plain(wanted);
    header.iter().position(|name| plain(name) == wanted)
}

/// Where the columns are that must be there.
fn columns(
    header: &StringRecord,
    at: Origin,
    problems: &mut Problems,
) -> Option<[usize; COLUMNS.len()]> {
    let mut columns = [0; COLUMNS.len()];
    let mut is_whole = true;
    for (place, wanted) in columns.iter_mut().zip(COLUMNS) {
        if let Some(found) = column(header, wanted) {
            *place = found;
        } else {
            is_whole = false;
            let help = match nearest(wanted, header.iter()) {
                Some(name) => format!("is `{name}` meant?"),
                None => "the first line has the names of the columns".to_owned(),
            };
            let message = format!("there is no column `{wanted}`");
            problems.add(Problem::new(at, "", message).help(help));
        }
    }
    is_whole.then_some(columns)
}

/// A field of a column that may be missing.
fn optional<'r>(row: &DeviceRecord<'r>, column: Option<usize>) -> &'r str {
    column
        .and_then(|column| row.fields.get(column))
        .unwrap_or_default()
}
