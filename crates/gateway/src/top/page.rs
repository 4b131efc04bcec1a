//! The page, from 80 by 24 characters on: the queues with their tins, then the first flows.

use super::sample::{DualQueue, Flow, Pace, State, Waited, Way};
use super::view::View;
use crate::name::name;
use ratatui::Frame;
use ratatui::style::{Modifier, Style};
use ratatui::text::Line;
use ratatui::widgets::Paragraph;
use sojourn_service::{Order, scaled};
use std::cmp::{Ordering, Reverse};
use std::fmt::Write as _;

/// Lines for flows that tins leave.
const FLOWS: usize = 5;
/// Columns from which on there is room for tins' full names and the longest delay of flows.
const WIDE: usize = 100;

/// What keys do.
const KEYS: &str =
    "q end  p pause  d directions  s sort  \u{2190}\u{2192} pair  \u{2191}\u{2193} flows";

/// Draws it.
pub(super) fn draw(frame: &mut Frame<'_>, view: &mut View) {
    let area = frame.area();
    let (width, height) = (usize::from(area.width), usize::from(area.height));
    let mut lines = vec![title(view, width)];
    match &view.pair().state {
        State::Silent { error } => lines.push(Line::raw(error.clone())),
        State::Running(running) => {
            if !running.fail_open.well {
                lines.push(bold(cut(&running.fail_open.text, width)));
            }
            queues(view, height, &mut lines);
        }
    }
    let room = height.saturating_sub(lines.len() + 2);
    let flows = flows(view, width);
    view.first = view.first.min(flows.len().saturating_sub(room));
    lines.push(flows_head(view, width, flows.len()));
    let shown = flows.into_iter().skip(view.first).take(room);
    lines.extend(shown.map(Line::raw));
    lines.resize(height.saturating_sub(1), Line::default());
    lines.push(Line::raw(KEYS).style(Modifier::DIM));
    frame.render_widget(Paragraph::new(lines), area);
}

/// Which pair, and of when.
fn title(view: &View, width: usize) -> Line<'static> {
    let (pair, pairs) = (view.pair(), view.last().pairs.len());
    let mut text = format!("{} top  {}", name(), pair.name);
    if let State::Running(running) = &pair.state {
        let _ = write!(text, "  {} <-> {}", running.left, running.right);
    }
    if pairs > 1 {
        let _ = write!(text, "  (pair {} of {pairs})", view.index() + 1);
    }
    let second = view.last().time as u64 % 86_400;
    let (hour, minute) = (second / 3600, second / 60 % 60);
    let state = match view.silence {
        _ if view.is_paused => "paused  ".to_owned(),
        0 | 1 => String::new(),
        seconds => format!("no answer for {seconds} s  "),
    };
    let right = format!("{state}{hour:02}:{minute:02}:{:02} UTC", second % 60);
    let room = width.saturating_sub(right.chars().count() + 1);
    Line::raw(format!("{} {right}", padded(&text, room))).style(Modifier::REVERSED)
}

fn bold(text: String) -> Line<'static> {
    Line::raw(text).style(Style::new().add_modifier(Modifier::BOLD))
}

/// Exactly so many characters, cut or filled up.
fn padded(text: &str, width: usize) -> String {
    format!("{:<width$}", cut(text, width))
}

/// Show at most this many characters.
fn cut(text: &str, width: usize) -> String {
    if text.chars().count() <= width {
        return text.to_owned();
    }
    let kept = text.chars().take(width.saturating_sub(1));
    kept.chain(['\u{2026}']).collect()
}

/// The table of directions and tins.
fn queues(view: &View, height: usize, lines: &mut Vec<Line<'static>>) {
    lines.push(bold(row([
        "", "rate", "pkt/s", "delay", "high", "backlog", "drops/s", "marks/s", "sp/bk",
    ])));
    let ways: Vec<_> = view
        .pair()
        .ways()
        .into_iter()
        .flatten()
        .enumerate()
        .filter(|(_, (name, _))| view.sides.has(name))
        .collect();
    let unmatched = ways.iter().filter(|(_, (_, way))| way.unmatched.is_some());
    // Title, heads, key line, flows; and two lines of each direction.
    let pairs: usize = ways.iter().map(|(_, (_, way))| way.queues.len()).sum();
    let taken = 4 + FLOWS + 2 * ways.len() + unmatched.count() + pairs;
    let room = height.saturating_sub(taken) / ways.len().max(1);
    for (side, (name, way)) in ways {
        lines.push(Line::raw(format!(
            "{name}: {}; link: {}",
            way.queue, way.rate
        )));
        lines.push(bold(direction(view, side, name, way)));
        lines.extend(unmatched_row(view, side, way).map(Line::raw));
        lines.extend(dual_rows(view, side, way).into_iter().map(Line::raw));
        lines.extend(tins(view, side, way, room).into_iter().map(Line::raw));
    }
}

fn row(cells: [&str; 9]) -> String {
    let [
        name,
        rate,
        packets,
        delay,
        high,
        backlog,
        drops,
        marks,
        flows,
    ] = cells;
    let name = padded(name, 14);
    format!(
        "{name}{rate:>10}{packets:>8}{delay:>8}{high:>8}{backlog:>9}{drops:>8}{marks:>8}{flows:>7}"
    )
}

fn direction(view: &View, side: usize, name: &str, way: &Way) -> String {
    let before = view.before(side);
    let pace = before.and_then(|(old, seconds)| way.queued.pace(&old.queued, seconds));
    let bounds = &view.last().delay_bounds_ms;
    let waited = before.and_then(|(old, _)| way.delays.waited(&old.delays, bounds));
    let [bits, packets, drops, marks] = paces(pace);
    let [mean, high] = waits(waited, bounds);
    row([
        name,
        &bits,
        &packets,
        &mean,
        &high,
        &bytes(way.queued.backlog_bytes),
        &drops,
        &marks,
        "",
    ])
}

/// The mean of what packets have waited, and the bin that 99 of a hundred are within.
fn waits(waited: Option<Waited>, bounds_ms: &[f64]) -> [String; 2] {
    let Some(Waited { mean_ms, high_ms }) = waited else {
        return std::array::from_fn(|_| "-".to_owned());
    };
    let high = if high_ms.is_finite() {
        format!("<{}", delay(high_ms))
    } else {
        format!(">{}", delay(bounds_ms.last().copied().unwrap_or(0.0)))
    };
    [delay(mean_ms), high]
}

/// The C and the L queue of a pair. The last column has the packets a second that came with CE.
fn dual_rows(view: &View, side: usize, way: &Way) -> Vec<String> {
    let bounds = &view.last().delay_bounds_ms;
    let show = |queue: &DualQueue| {
        let before = view
            .before(side)
            .and_then(|(old, seconds)| Some((old.queue_named(&queue.name)?, seconds)));
        let pace = before.and_then(|(old, seconds)| queue.queued.pace(&old.queued, seconds));
        let waited = before.and_then(|(old, _)| queue.delays.waited(&old.delays, bounds));
        let came = before
            .and_then(|(old, seconds)| queue.came_marked(old, seconds))
            .filter(|came| *came > 0.0);
        let [bits, packets, drops, marks] = paces(pace);
        let [mean, high] = waits(waited, bounds);
        row([
            &format!("  {} queue", queue.name),
            &bits,
            &packets,
            &mean,
            &high,
            &bytes(queue.queued.backlog_bytes),
            &drops,
            &marks,
            &came.map_or(String::new(), |came| format!("ce{}", number(came))),
        ])
    };
    way.queues.iter().map(show).collect()
}

/// What matches no circuit, and whose most of it is.
fn unmatched_row(view: &View, side: usize, way: &Way) -> Option<String> {
    let unmatched = way.unmatched.as_ref()?;
    let pace = view.before(side).and_then(|(old, seconds)| {
        let old = old.unmatched.as_ref()?;
        unmatched.queued.pace(&old.queued, seconds)
    });
    let [bits, packets, drops, marks] = paces(pace);
    let row = row([
        "  unmatched",
        &bits,
        &packets,
        &delay(unmatched.delay_ms),
        "",
        &bytes(unmatched.queued.backlog_bytes),
        &drops,
        &marks,
        "",
    ]);
    let who = unmatched.address.as_deref().unwrap_or_default();
    Some(format!("{row} {who}").trim_end().to_owned())
}

/// A pace's rate, packets, drops and marks.
fn paces(pace: Option<Pace>) -> [String; 4] {
    let Some(pace) = pace else {
        return std::array::from_fn(|_| "-".to_owned());
    };
    [
        rate(pace.rate_bps),
        number(pace.packets),
        number(pace.drops),
        number(pace.marks),
    ]
}

/// The tins for which there is room, the busy ones first to stay.
fn tins(view: &View, side: usize, way: &Way, room: usize) -> Vec<String> {
    let before = view.before(side);
    let pace = |index: usize| {
        let (old, seconds) = before?;
        let tin = &way.tins[index];
        tin.pace(old.tin(&tin.name)?, seconds)
    };
    let mut kept: Vec<usize> = (0..way.tins.len()).collect();
    let hidden = if kept.len() > room {
        let busy = |index: &usize| {
            let comes = pace(*index).is_some_and(|pace| pace.packets > 0.0);
            comes || way.tins[*index].backlog_bytes > 0
        };
        kept.sort_by_key(|index| Reverse(busy(index)));
        let hidden = kept.split_off(room.saturating_sub(1)).len();
        kept.sort_unstable();
        hidden
    } else {
        0
    };
    let show = |index: usize| {
        let tin = &way.tins[index];
        let [bits, packets, drops, marks] = paces(pace(index));
        row([
            &format!("  {}", tin.name),
            &bits,
            &packets,
            &delay(tin.delay_ms),
            &delay(tin.peak_delay_ms),
            &bytes(tin.backlog_bytes),
            &drops,
            &marks,
            &format!("{}/{}", tin.sparse_flows, tin.bulk_flows),
        ])
    };
    let mut lines: Vec<String> = kept.into_iter().map(show).collect();
    if hidden > 0 {
        lines.push(format!("  and {hidden} tins more (d: one direction)"));
    }
    lines
}

/// The columns of flows before their names.
struct Columns {
    both: bool,
    tins: bool,
    wide: bool,
}

impl Columns {
    fn of(view: &View, width: usize) -> Self {
        let mut ways = view.pair().ways().into_iter().flatten();
        Self {
            both: view.sides == super::view::Sides::Both,
            tins: ways.any(|(_, way)| way.tins.len() > 1),
            wide: width >= WIDE,
        }
    }

    fn row(&self, cells: [&str; 8], width: usize) -> String {
        let [way, tin, rate, delay, high, drops, marks, name] = cells;
        let mut line = String::new();
        if self.both {
            line.push_str(&padded(way, 5));
        }
        if self.tins {
            // `Best Effort` is `Best` where there is no room.
            line.push_str(&if self.wide {
                padded(tin, 12)
            } else {
                padded(tin.trim_end_matches(" Effort"), 5)
            });
        }
        let _ = write!(line, "{rate:>9}{delay:>7}");
        if self.wide {
            let _ = write!(line, "{high:>8}");
        }
        let _ = write!(line, "{drops:>8}{marks:>8} ");
        let room = width.saturating_sub(line.chars().count());
        line.push_str(&cut(name, room));
        line
    }
}

fn flows_head(view: &View, width: usize, count: usize) -> Line<'static> {
    let ways = view
        .pair()
        .ways()
        .into_iter()
        .flatten()
        .filter(|(name, _)| view.sides.has(name));
    let known: u64 = ways.map(|(_, way)| way.flows_known).sum();
    let name = format!("flows by {}: {count} of {known}", view.order.word());
    let cells = ["", "", "rate", "delay", "high", "drops/s", "marks/s", &name];
    bold(Columns::of(view, width).row(cells, width))
}

/// A line for each flow, in order.
fn flows(view: &View, width: usize) -> Vec<String> {
    let columns = Columns::of(view, width);
    let ways = view
        .pair()
        .ways()
        .into_iter()
        .flatten()
        .filter(|(name, _)| view.sides.has(name));
    let mut flows: Vec<(&str, &Flow)> = ways
        .flat_map(|(name, way)| way.flows.iter().map(move |flow| (name, flow)))
        .collect();
    let measure = |flow: &Flow| match view.order {
        Order::Rate => flow.rate_bps,
        Order::Delay => flow.delay_ms,
        Order::Drops => flow.drops_per_s,
        Order::Marks => flow.marks_per_s,
    };
    let larger = |a: f64, b: f64| b.partial_cmp(&a).unwrap_or(Ordering::Equal);
    flows.sort_by(|(_, a), (_, b)| larger(measure(a), measure(b)));
    let show = |(way, flow): (&str, &Flow)| {
        let cells = [
            way,
            flow.tin.as_deref().unwrap_or_default(),
            &rate(flow.rate_bps),
            &delay(flow.delay_ms),
            &delay(flow.peak_delay_ms),
            &number(flow.drops_per_s),
            &number(flow.marks_per_s),
            &flow.name(),
        ];
        columns.row(cells, width)
    };
    flows.into_iter().map(show).collect()
}

fn rate(bps: f64) -> String {
    scaled(bps.round(), ["bit", "Kbit", "Mbit", "Gbit", "Tbit"])
}

fn bytes(bytes: u64) -> String {
    scaled(bytes as f64, ["B", "kB", "MB", "GB", "TB"])
}

fn number(number: f64) -> String {
    // Tenths are as much as a second tells.
    scaled((number * 10.0).round() / 10.0, ["", "k", "M", "G", "T"])
}

fn delay(ms: f64) -> String {
    scaled((ms * 1e3).round(), ["us", "ms", "s", "ks", "Ms"])
}

#[cfg(test)]
mod tests;
