//! A chart, and its picture as SVG.
//!
//! Everything is drawn here and nothing by a script, so that the page can be printed and kept.
//! Colours come from the page's style, which knows light and dark.

mod marks;
mod scale;

use scale::{Scale, Ticks};
use sojourn_report::significant;
use sojourn_units::typeset;
use std::fmt::Write as _;

/// Least width of a panel.
const WIDTH: f64 = 340.0;
const HEIGHT: f64 = 210.0;
/// Wider panels have a row of their own.
const WIDE: f64 = 520.0;
/// Room for the labels: left, right, top, bottom.
const ROOM: [f64; 4] = [46.0, 10.0, 10.0, 36.0];
/// Width of a letter of the labels, on average.
const LETTER: f64 = 5.4;
/// So many places at most on an axis are each named.
const FEW: usize = 12;
/// More points than a screen has columns are drawn as the mean of neighbours.
const MOST_POINTS: usize = 400;
/// Where an axis of shares ends that has nothing above 100 per cent, rounding aside.
const FULL: f64 = 100.5;
/// How far whiskers alone stretch a logarithmic axis down: four decades below its top.
const DEPTH: f64 = 1e4;

/// What a chart shows, and how.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ChartKind {
    /// A quantity along an axis: the median over seeds with a bar from the lowest to the highest,
    /// joined by lines.
    Lines,
    /// The same as bars side by side.
    Bars,
    /// Quantiles 5, 25, 50, 75 and 95 per cent, each the median over seeds: boxes with whiskers.
    Boxes,
    /// A quantity against another: medians over seeds, with bars in both directions.
    Scatter,
    /// A quantity over two axes, medians over seeds: fields whose shade is the value, with the
    /// value in words.
    Map,
    /// Cumulative distributions, of the first seed: lines up to the x at which all have reached
    /// 99 per cent.
    Distribution,
    /// A series over time, of the first seed: lines only.
    Time,
}

/// What is drawn how: where its points come from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stroke {
    /// From the world with this number among those that were run. The first is solid.
    World(usize),
    /// Measured elsewhere: dotted; a mark on a box.
    Elsewhere,
}

/// A point.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Dot {
    /// Along the horizontal axis.
    pub x: f64,
    /// Along the vertical axis.
    pub y: f64,
    /// Lowest and highest x of the seeds.
    pub x_range: (f64, f64),
    /// Lowest and highest y of the seeds; the whiskers of a box.
    pub y_range: (f64, f64),
    /// The quartiles of a box, the shade of a field.
    pub inner: (f64, f64),
    /// The value in words, and what it is of, where the picture does not tell.
    pub text: String,
}

impl Dot {
    /// A point without a spread.
    pub(crate) fn exact(x: f64, y: f64) -> Self {
        Self {
            x,
            y,
            x_range: (x, x),
            y_range: (y, y),
            inner: (y, y),
            text: String::new(),
        }
    }
}

/// One line, or one group of bars, boxes or points.
#[derive(Clone, Debug, PartialEq)]
pub struct Line {
    /// For the legend.
    pub name: String,
    /// Number of its colour; lines that belong together share it.
    pub colour: usize,
    /// How it is drawn.
    pub stroke: Stroke,
    /// Where lines are drawn, x does not decrease.
    pub points: Vec<Dot>,
}

/// One panel.
#[derive(Clone, Debug, PartialEq)]
pub struct Panel {
    /// Its heading; empty when there is one panel only.
    pub title: String,
    /// Its lines.
    pub lines: Vec<Line>,
}

/// One of the two axes of a chart.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Scaling {
    /// What stands beside it.
    pub label: String,
    /// Names of the places 0, 1, ...; none when it has numbers.
    pub names: Vec<String>,
    /// Whether it is logarithmic.
    pub log: bool,
}

/// A chart: small panels of the same kind and with the same scales.
#[derive(Clone, Debug, PartialEq)]
pub struct Chart {
    /// Its heading.
    pub title: String,
    /// What it shows.
    pub kind: ChartKind,
    /// The horizontal axis.
    pub x: Scaling,
    /// The vertical axis.
    pub y: Scaling,
    /// Its panels.
    pub panels: Vec<Panel>,
}

/// Lowest and highest of some values; the other way round of none.
pub(crate) fn extent(values: impl Iterator<Item = f64>) -> (f64, f64) {
    values.fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), v| {
        (low.min(v), high.max(v))
    })
}

/// A text that is only a text, in elements and in attributes.
fn escaped(text: &str) -> String {
    text.replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
        .replace('"', "&quot;")
}

fn thinned(points: &[Dot]) -> Vec<(f64, f64)> {
    let stride = points.len().div_ceil(MOST_POINTS).max(1);
    let mean =
        |chunk: &[Dot], of: fn(&Dot) -> f64| chunk.iter().map(of).sum::<f64>() / chunk.len() as f64;
    let chunks = points.chunks(stride);
    chunks
        .map(|c| (mean(c, |dot| dot.x), mean(c, |dot| dot.y)))
        .collect()
}

/// A number as short as it can be said; whole ones, which settings are, with all their digits.
fn number(v: f64) -> String {
    if v.fract() == 0.0 && v.abs() < 1e6 {
        return format!("{v:.0}");
    }
    let text = significant(v, 3);
    if text.contains('.') {
        text.trim_end_matches('0').trim_end_matches('.').to_owned()
    } else {
        text
    }
}

/// Where things stand in a panel.
struct Frame {
    width: f64,
    height: f64,
    x: Scale,
    y: Scale,
    /// Names below the axis stand aslant.
    aslant: bool,
}

impl Chart {
    fn lines(&self) -> impl Iterator<Item = &Line> {
        self.panels.iter().flat_map(|panel| &panel.lines)
    }

    /// One line for every name in any panel, when there are several.
    pub(crate) fn legend(&self) -> Vec<&Line> {
        let mut lines: Vec<&Line> = Vec::new();
        for line in self.lines().filter(|line| !line.points.is_empty()) {
            if lines.iter().all(|known| known.name != line.name) {
                lines.push(line);
            }
        }
        if self.kind == ChartKind::Map || lines.iter().all(|line| line.name.is_empty()) {
            lines.clear();
        }
        lines
    }

    fn lies(&self) -> bool {
        matches!(
            self.kind,
            ChartKind::Bars | ChartKind::Boxes | ChartKind::Map
        )
    }

    /// Most lines that stand side by side at one place.
    fn abreast(&self) -> usize {
        let beside = |line: &&Line| !self.lies_on_another(line);
        let panels = self.panels.iter();
        let lines = panels.map(|panel| panel.lines.iter().filter(beside).count());
        lines.max().unwrap_or(1).max(1)
    }

    /// Whether a line is drawn on the boxes of another: what was measured elsewhere is a mark
    /// there.
    fn lies_on_another(&self, line: &Line) -> bool {
        self.kind == ChartKind::Boxes && line.stroke == Stroke::Elsewhere
    }

    /// Lowest and highest value of all panels.
    fn range(&self, of: fn(&Dot) -> (f64, f64), log: bool) -> (f64, f64) {
        let dots = self.lines().flat_map(|line| &line.points);
        let fits = |v: &f64| v.is_finite() && (!log || *v > 0.0);
        extent(dots.flat_map(|dot| [of(dot).0, of(dot).1]).filter(fits))
    }

    fn x_range(&self) -> (f64, f64) {
        if !self.x.names.is_empty() {
            return (-0.5, self.x.names.len() as f64 - 0.5);
        }
        let (low, high) = self.range(|dot| dot.x_range, self.x.log);
        if low > high {
            return if self.x.log { (1.0, 10.0) } else { (0.0, 1.0) };
        }
        match self.kind {
            // The last percent would fill the picture.
            ChartKind::Distribution if self.x.log => (low, self.reach(0.99).max(low * 10.0)),
            ChartKind::Distribution => (0.0, self.reach(0.99)),
            ChartKind::Time => (low, high),
            _ if self.x.log => (low / 1.15, high * 1.15),
            // So that the outer points do not stand on the frame.
            _ => {
                let edge = ((high - low) * 0.06).max(high.abs() * 0.01);
                (low - edge, high + edge)
            }
        }
    }

    fn y_range(&self) -> (f64, f64) {
        if !self.y.names.is_empty() {
            // The first row above, as in a table.
            return (self.y.names.len() as f64 - 0.5, -0.5);
        }
        let (low, high) = self.range(|dot| dot.y_range, self.y.log);
        match self.y.log {
            true if low > high => (1.0, 10.0),
            true => (self.floor(low, high) / 1.2, high * 1.2),
            false if low > high => (0.0, 1.0),
            // Where all happens far above zero, the rest would be empty.
            false if self.kind == ChartKind::Lines && low > 0.5 * high => {
                let room = (0.15 * (high - low)).max(0.02 * high);
                let whole = self.y.label.contains('%') && high <= FULL;
                let top = if whole { FULL } else { f64::INFINITY };
                (low - room, (high + room).min(top))
            }
            // Bars and lines begin at zero; negative values go below it.
            false => (low.min(0.0), high.max(f64::MIN_POSITIVE) * 1.05),
        }
    }

    /// Where a logarithmic axis begins: at the lowest value, unless only whiskers reach so deep
    /// ([`DEPTH`]), for a few tiny samples would make all else flat.
    fn floor(&self, low: f64, high: f64) -> f64 {
        let (body, _) = self.range(|dot| (dot.y.min(dot.inner.0), dot.y), true);
        low.max(body.min(high / DEPTH))
    }

    /// The x at which every line has reached `y`.
    fn reach(&self, y: f64) -> f64 {
        let reached = self
            .lines()
            .filter_map(|s| s.points.iter().find(|dot| dot.y >= y));
        reached.map(|dot| dot.x).fold(1.0, f64::max)
    }

    fn frame(&self) -> Frame {
        let [mut left, right, top, mut bottom] = ROOM;
        let longest = |names: &[String]| {
            let lengths = names.iter().map(|name| name.chars().count());
            lengths.max().unwrap_or(0) as f64 * LETTER
        };
        left = left.max(longest(&self.y.names) + 24.0);
        // Room for each place: its lines side by side, or the words in a field.
        let place = match self.kind {
            ChartKind::Map => {
                let dots = self.lines().flat_map(|line| &line.points);
                let letters = dots.map(|dot| dot.text.chars().count()).max().unwrap_or(0);
                letters as f64 * LETTER + 10.0
            }
            _ if self.lies() => self.abreast() as f64 * 9.0 + 8.0,
            _ => 0.0,
        };
        let inner = (self.x.names.len() as f64 * place).max(WIDTH - left - right);
        let each = inner / self.x.names.len().max(1) as f64;
        let aslant = longest(&self.x.names) > each - 4.0;
        if aslant {
            bottom += (longest(&self.x.names) * 0.5).min(70.0);
        }
        let height = match self.kind {
            ChartKind::Map => top + bottom + 26.0 * self.y.names.len() as f64,
            _ => HEIGHT + bottom - ROOM[3],
        };
        Frame {
            width: left + inner + right,
            height,
            x: Scale {
                from: self.x_range(),
                to: (left, left + inner),
                log: self.x.log,
            },
            y: Scale {
                from: self.y_range(),
                to: (height - bottom, top),
                log: self.y.log,
            },
            aslant,
        }
    }

    /// Whether its panels need a row of their own.
    pub(crate) fn is_wide(&self) -> bool {
        self.frame().width > WIDE
    }

    /// What a panel shows as a table, its head first: what is drawn, no more.
    pub(crate) fn rows(&self, panel: usize) -> Vec<Vec<String>> {
        let axis = |scaling: &Scaling, or: &str| match &scaling.label[..] {
            "" => or.to_owned(),
            label => label.to_owned(),
        };
        let (x, y) = (axis(&self.x, "x"), axis(&self.y, "y"));
        let spread = !matches!(self.kind, ChartKind::Time | ChartKind::Distribution);
        let mut head = vec!["line".to_owned(), x, y];
        if spread {
            head.extend(["low", "high", "inner low", "inner high"].map(str::to_owned));
        }
        let at = |scaling: &Scaling, place: f64| {
            let name = scaling.names.get(place as usize);
            name.map_or_else(|| number(place), String::clone)
        };
        let mut rows = vec![head];
        for line in &self.panels[panel].lines {
            let point = |dot: &Dot| {
                let name = line.shown_name().to_owned();
                let mut row = vec![name, at(&self.x, dot.x), at(&self.y, dot.y)];
                if spread {
                    let (low, high) = dot.y_range;
                    row.extend([low, high, dot.inner.0, dot.inner.1].map(number));
                }
                row
            };
            let few = line.points.len().div_ceil(MOST_POINTS).max(1);
            rows.extend(line.points.iter().step_by(few).map(point));
        }
        rows
    }

    /// A panel as SVG.
    pub(crate) fn svg(&self, panel: usize) -> String {
        let Panel { title, lines } = &self.panels[panel];
        let frame = self.frame();
        let label = escaped(format!("{}: {title}", self.title).trim_end_matches([':', ' ']));
        let mut out = format!(
            "<svg viewBox=\"0 0 {:.0} {:.0}\" role=\"group\" aria-label=\"{label}\">",
            frame.width, frame.height
        );
        self.axes(&mut out, &frame);
        self.marks(&mut out, lines, &frame);
        if lines.iter().all(|line| line.points.is_empty()) {
            let (x, y) = (frame.width / 2.0, frame.height / 2.0);
            let _ = write!(
                out,
                "<text x=\"{x:.0}\" y=\"{y:.0}\" text-anchor=\"middle\">no data</text>"
            );
        }
        out += "</svg>";
        out
    }

    /// The places on the horizontal axis that are named: where the data are, as long as these are
    /// few and apart.
    fn places(&self, x: Scale) -> Ticks {
        if self.kind != ChartKind::Lines || !self.x.names.is_empty() {
            return ticks(&self.x, x);
        }
        let points = self.lines().flat_map(|line| &line.points);
        let mut places: Vec<f64> = points.map(|dot| dot.x).filter(|x| x.is_finite()).collect();
        places.sort_by(f64::total_cmp);
        places.dedup();
        if !(2..=FEW).contains(&places.len()) {
            return x.ticks();
        }
        let mut named: Ticks = Vec::new();
        for place in places {
            let name = typeset(&number(place));
            let room = (name.chars().count() as f64 + 1.0) * LETTER;
            if named
                .last()
                .is_none_or(|(last, _)| x.at(place) - x.at(*last) >= room)
            {
                named.push((place, name));
            }
        }
        named
    }

    fn axes(&self, out: &mut String, frame: &Frame) {
        let Frame { x, y, .. } = frame;
        for (tick, name) in ticks(&self.y, *y) {
            let at = y.at(tick);
            if self.y.names.is_empty() {
                let (left, right) = x.to;
                let _ = write!(
                    out,
                    "<line class=\"grid\" x1=\"{left:.1}\" x2=\"{right:.1}\" y1=\"{at:.1}\" \
                     y2=\"{at:.1}\"/>"
                );
            }
            text(out, x.to.0 - 5.0, at + 3.5, "text-anchor=\"end\"", &name);
        }
        let below = y.to.0 + 14.0;
        for (tick, name) in self.places(*x) {
            let at = x.at(tick);
            if frame.aslant {
                let _ = write!(
                    out,
                    "<text transform=\"translate({at:.1} {below:.1}) rotate(-30)\" \
                     text-anchor=\"end\">{name}</text>"
                );
            } else {
                text(out, at, below, "text-anchor=\"middle\"", &name);
            }
        }
        let style = "text-anchor=\"middle\"";
        let (middle, below) = (f64::midpoint(x.to.0, x.to.1), frame.height - 6.0);
        text(out, middle, below, style, &escaped(&self.x.label));
        let _ = write!(
            out,
            "<text transform=\"translate(11 {:.1}) rotate(-90)\" {style}>{}</text>",
            f64::midpoint(y.to.0, y.to.1),
            escaped(&self.y.label)
        );
    }
}

fn text(out: &mut String, x: f64, y: f64, style: &str, words: &str) {
    let _ = write!(
        out,
        "<text x=\"{x:.1}\" y=\"{y:.1}\" {style}>{words}</text>"
    );
}

/// The places on an axis that are named, with their names.
fn ticks(axis: &Scaling, scale: Scale) -> Ticks {
    if axis.names.is_empty() {
        return scale.ticks();
    }
    let names = axis.names.iter().enumerate();
    names.map(|(i, name)| (i as f64, escaped(name))).collect()
}

#[cfg(test)]
mod tests;
