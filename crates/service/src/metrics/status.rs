//! A page for people over the same port: what each pair does, and whether its link would survive.
//!
//! It reads and changes nothing, has no script, and asks for nothing elsewhere; the browser loads
//! it anew every other second. Off unless it is wanted.

use crate::fleet::PairStats;
use crate::rough::rough_rate;
use crate::talkers::Site;
use sojourn_bridge::{Side, Snapshot};
use sojourn_units::{Rate, Span, show_rate, show_span};
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// Rates are those of this time at least.
const OVER: Duration = Duration::from_secs(1);

const HEAD: &str = "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\
    <meta http-equiv=\"refresh\" content=\"2\">\
    <meta http-equiv=\"Content-Security-Policy\" \
    content=\"default-src 'none'; style-src 'unsafe-inline'\">\
    <meta name=\"viewport\" content=\"width=device-width\"><title>sojourn</title><style>\
    body{font:15px sans-serif;margin:1em auto;max-width:60em;padding:0 1em}\
    table{border-collapse:collapse;width:100%}td,th{padding:.2em .5em;text-align:right}\
    td:first-child,th:first-child,td:nth-child(2),th:nth-child(2){text-align:left}\
    tr+tr{border-top:1px solid #ccc}.wrong{color:#b00020;font-weight:bold}</style></head><body>\n";

/// Sites on the page.
const SITES: usize = 20;

/// Who sends most, by pair and site.
type Loudest = BTreeMap<String, Option<Vec<Site>>>;

/// What a direction had sent: bytes, packets, and the time that these had waited.
type Sent = [f64; 3];

/// What pairs had sent at a moment.
#[derive(Debug)]
struct Sample {
    at: Instant,
    sent: BTreeMap<(String, &'static str), Sent>,
}

/// The page, with what it was made of before.
#[derive(Debug, Default)]
pub(super) struct Status(Mutex<[Option<Sample>; 2]>);

impl Status {
    /// The page now.
    pub(super) fn page(&self, pairs: &[PairStats], talkers: &Loudest) -> String {
        let now = Sample::of(pairs, Instant::now());
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let [older, newer] = &mut *kept;
        // The younger of two that is old enough; several may look.
        let is_due = |it: &Sample| now.at - it.at >= OVER;
        if newer.as_ref().is_none_or(is_due) {
            *older = newer.take();
        }
        let before = older.as_ref().filter(|it| is_due(it));
        let page = render(pairs, talkers, &now, before);
        if newer.is_none() {
            *newer = Some(now);
        }
        page
    }
}

impl Sample {
    fn of(pairs: &[PairStats], at: Instant) -> Self {
        let mut sent = BTreeMap::new();
        for pair in pairs {
            let Some(snapshot) = &pair.snapshot else {
                continue;
            };
            for side in Side::BOTH {
                let counted = &snapshot.stats[side as usize].queue.dequeued;
                let waited = snapshot.delays[side as usize].sum.as_secs_f64();
                let both = [counted.bytes as f64, counted.packets as f64, waited];
                sent.insert((pair.name.clone(), side.name()), both);
            }
        }
        Self { at, sent }
    }
}

fn render(pairs: &[PairStats], talkers: &Loudest, now: &Sample, before: Option<&Sample>) -> String {
    let mut page = HEAD.to_owned();
    for pair in pairs {
        let _ = writeln!(page, "<h2>{}</h2>", escaped(&pair.name));
        let state = escaped(&pair.fail_open.text);
        let class = if pair.fail_open.well {
            ""
        } else {
            " class=wrong"
        };
        let _ = writeln!(page, "<p{class}>{state}</p>");
        let Some(snapshot) = &pair.snapshot else {
            page += "<p class=wrong>the forwarding thread does not answer</p>\n";
            continue;
        };
        page += "<table><tr><th></th><th>queue</th><th>link</th><th>sent</th><th>delay</th>\
                 <th>backlog</th><th>dropped</th><th>marked</th></tr>\n";
        for side in Side::BOTH {
            let at = side as usize;
            let stats = &snapshot.stats[at];
            let key = (pair.name.clone(), side.name());
            let pace = before.and_then(|before| {
                let seconds = (now.at - before.at).as_secs_f64();
                let [then, now] = [before.sent.get(&key)?, now.sent.get(&key)?];
                let grown = |of: usize| (now[of] - then[of]).max(0.0);
                let rate = rough_rate(Rate::from_bps((grown(0) * 8.0 / seconds) as u64));
                let nanos = grown(2) / grown(1).max(1.0) * 1e9;
                // Microseconds are as much as anybody reads.
                let delay = Span::from_micros((nanos / 1e3).round() as u64);
                Some([rate, show_span(delay)])
            });
            let [rate, delay] = pace.unwrap_or_else(|| ["-".into(), "-".into()]);
            let cells = [
                side.name().to_owned(),
                escaped(&snapshot.reports[at].kind),
                match (pair.rates[at], snapshot.followed[at]) {
                    (Some(rate), None) => show_rate(rate),
                    (_, Some(followed)) => rough_rate(followed.rate),
                    (None, None) => "-".to_owned(),
                },
                rate,
                delay,
                format!("{} B", stats.backlog.bytes),
                stats.queue.dropped.packets.to_string(),
                stats.queue.marked.packets.to_string(),
            ];
            let _ = writeln!(page, "<tr><td>{}</td></tr>", cells.join("</td><td>"));
        }
        page += "</table>\n";
        follows(&mut page, snapshot);
        sites(&mut page, talkers.get(&pair.name));
    }
    page += "</body></html>\n";
    page
}

/// Where rates are that follow their link, and what is asked for that.
fn follows(page: &mut String, snapshot: &Snapshot) {
    for side in Side::BOTH {
        if let Some(followed) = snapshot.followed[side as usize] {
            let (name, rate) = (side.name(), rough_rate(followed.rate));
            let delay = followed.delay.as_millis_f64();
            let _ = writeln!(
                page,
                "<p>{name} follows its link: {rate}, round trip {delay:.1} ms above its base</p>"
            );
        }
    }
    if let Some(reflectors) = &snapshot.reflectors {
        let _ = writeln!(page, "<p>{}</p>", escaped(&reflectors.to_string()));
    }
}

/// Who sends most below each site, with the round trips on both sides of the bridge.
fn sites(page: &mut String, sites: Option<&Option<Vec<Site>>>) {
    let Some(Some(sites)) = sites else {
        return;
    };
    *page += "<table><tr><th>site</th><th>circuit</th><th>up</th><th>down</th>\
              <th>round trip to hosts</th><th>to subscriber</th></tr>\n";
    for site in &sites[..sites.len().min(SITES)] {
        for talker in &site.talkers {
            let [up, down] = talker.rates.map(rough_rate);
            let trip = |trip: Option<Span>| {
                trip.map_or("-".to_owned(), |it| format!("{:.1} ms", it.as_millis_f64()))
            };
            let [hosts, subscriber] = talker.trips.map(trip);
            let cells = [
                escaped(site.name.as_deref().unwrap_or("-")),
                escaped(&talker.name),
                up,
                down,
                hosts,
                subscriber,
            ];
            let _ = writeln!(page, "<tr><td>{}</td></tr>", cells.join("</td><td>"));
        }
    }
    *page += "</table>\n";
}

/// A text within HTML.
fn escaped(text: &str) -> String {
    let pieces = text.chars().map(|c| match c {
        '&' => "&amp;".to_owned(),
        '<' => "&lt;".to_owned(),
        '>' => "&gt;".to_owned(),
        '"' => "&quot;".to_owned(),
        c => c.to_string(),
    });
    pieces.collect()
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use crate::talkers::tests::talker;

    /// Two samples, two seconds apart.
    pub(in crate::metrics) fn shows(pairs: &[PairStats]) {
        let at = Instant::now();
        let now = Sample::of(pairs, at + Duration::from_secs(2));
        let mut before = Sample::of(pairs, at);
        for sent in before.sent.values_mut() {
            // A mebibyte and a thousand packets less, which have waited 7 ms each.
            *sent = [sent[0] - 1_048_576.0, sent[1] - 1000.0, sent[2] - 7.0];
        }
        let sites = vec![Site {
            name: Some("hill & dale".to_owned()),
            talkers: vec![talker()],
        }];
        let talkers = BTreeMap::from([("wan".to_owned(), Some(sites))]);
        let page = render(pairs, &talkers, &now, Some(&before));
        let row = "<td>hill &amp; dale</td><td>1138</td><td>2.00Mbit</td><td>30.0Mbit</td>\
                   <td>-</td><td>7.0 ms</td>";
        assert!(page.contains(row), "{page}");
        assert!(page.contains("round trip 7.0 ms above its base"), "{page}");
        assert!(page.contains("3 of 4 reflectors answer"), "{page}");
        assert!(page.contains("<td>4.19Mbit</td><td>7ms</td>"), "{page}");
        assert!(page.contains("back\\slash &quot;quoted&quot;"), "{page}");
        assert!(page.contains("does not answer"), "{page}");
        assert!(render(pairs, &talkers, &now, None).contains("<td>-</td><td>-</td>"));
        // Nothing is loaded from elsewhere, and nothing runs.
        assert!(
            !page.contains("http:") && !page.contains("<script"),
            "{page}"
        );
    }
}
