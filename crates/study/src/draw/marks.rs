//! What stands inside a panel's axes.

use super::{Chart, ChartKind, Dot, Frame, Line, Stroke, escaped, number, text, thinned};
use sojourn_units::typeset;
use std::fmt::Write as _;

/// Points of a series that are so many times as far apart as usual have others missing between.
const GAP: f64 = 2.5;

impl Stroke {
    /// Of a line.
    fn dashes(self) -> &'static str {
        match self {
            Self::World(0) => "",
            Self::World(1) => " stroke-dasharray=\"5 3\"",
            Self::World(_) => " stroke-dasharray=\"9 3 2 3\"",
            Self::Elsewhere => " stroke-dasharray=\"1.5 2.5\"",
        }
    }

    /// How full an area is. What was measured elsewhere is an outline.
    fn fill(self) -> f64 {
        match self {
            Self::World(0) => 0.85,
            Self::World(1) => 0.4,
            Self::World(_) => 0.2,
            Self::Elsewhere => 0.0,
        }
    }
}

impl Line {
    /// The colour, line and area of its marks as attributes.
    fn style(&self) -> String {
        let colour = self.colour % 8;
        format!(
            "fill=\"var(--c{colour})\" fill-opacity=\"{}\" stroke=\"var(--c{colour})\"{}",
            self.stroke.fill(),
            self.stroke.dashes()
        )
    }

    /// Its name for people: ours has none where only the reference stands beside it.
    pub(crate) fn shown_name(&self) -> &str {
        match &self.name[..] {
            "" => "ours",
            name => name,
        }
    }

    /// A sample of it for the legend.
    pub(crate) fn key(&self, kind: ChartKind) -> String {
        let mark = match kind {
            ChartKind::Boxes if self.stroke == Stroke::Elsewhere => diamond(13.0, 5.0, self),
            ChartKind::Bars | ChartKind::Boxes => format!(
                "<rect x=\"6\" width=\"13\" y=\"1\" height=\"8\" {}/>",
                self.style()
            ),
            ChartKind::Scatter => {
                format!("<circle cx=\"13\" cy=\"5\" r=\"3.5\" {}/>", self.style())
            }
            _ => format!(
                "<path d=\"M1 5H25\" stroke=\"var(--c{})\" stroke-width=\"3\"{}/>",
                self.colour % 8,
                self.stroke.dashes()
            ),
        };
        format!("<svg viewBox=\"0 0 26 10\" aria-hidden=\"true\">{mark}</svg>")
    }

    /// What a pointer that rests on a point is told.
    fn told(&self, dot: &Dot) -> String {
        let value = match &dot.text[..] {
            "" => typeset(&number(dot.y)),
            text => text.to_owned(),
        };
        let told = match &self.name[..] {
            "" => value,
            name => format!("{name}: {value}"),
        };
        format!("<title>{}</title>", escaped(&told))
    }
}

/// A rectangle from its left and upper edge; what stands in it, and its end, are left to others.
fn rect(out: &mut String, [left, width, top, height]: [f64; 4], style: &str) {
    let _ = write!(
        out,
        "<rect x=\"{left:.1}\" width=\"{width:.1}\" y=\"{top:.1}\" height=\"{height:.1}\" {style}"
    );
}

/// A line from one point to another: x and y of both.
fn segment(out: &mut String, [x1, y1, x2, y2]: [f64; 4], style: &str) {
    let _ = write!(
        out,
        "<line x1=\"{x1:.1}\" y1=\"{y1:.1}\" x2=\"{x2:.1}\" y2=\"{y2:.1}\" {style}/>"
    );
}

impl Dot {
    /// A line from the lowest to the highest of the seeds, if they differ.
    fn upright(&self, out: &mut String, x: f64, frame: &Frame, style: &str) {
        let (low, high) = self.y_range;
        if low < high {
            segment(out, [x, frame.y.at(low), x, frame.y.at(high)], style);
        }
    }
}

impl Chart {
    pub(super) fn marks(&self, out: &mut String, lines: &[Line], frame: &Frame) {
        for (number, line) in lines.iter().enumerate() {
            let _ = write!(out, "<g data-line=\"{}\">", escaped(&line.name));
            match self.kind {
                ChartKind::Time => path(out, line, frame, true),
                ChartKind::Distribution => path(out, line, frame, false),
                ChartKind::Lines => {
                    path(out, line, frame, false);
                    dots(out, line, frame);
                }
                ChartKind::Scatter => dots(out, line, frame),
                ChartKind::Bars => self.bars(out, line, number, frame),
                ChartKind::Boxes if self.lies_on_another(line) => {
                    let its = lines.iter().position(|other| other.colour == line.colour);
                    for dot in &line.points {
                        let (left, width) = self.slot(dot.x, its.unwrap_or(number), frame);
                        let mark = diamond(left + width / 2.0, frame.y.at(dot.y), line);
                        let _ = write!(out, "<g>{}{mark}</g>", line.told(dot));
                    }
                }
                ChartKind::Boxes => self.boxes(out, line, number, frame),
                ChartKind::Map => self.fields(out, line, frame),
            }
            *out += "</g>";
        }
    }

    /// Left edge and width of a line's mark at a place.
    fn slot(&self, at: f64, number: usize, frame: &Frame) -> (f64, f64) {
        let place = frame.x.at(1.0) - frame.x.at(0.0);
        let width = place * 0.8 / self.abreast() as f64;
        let left = frame.x.at(at) - place * 0.4 + width * number as f64;
        (left + width * 0.08, width * 0.84)
    }

    fn bars(&self, out: &mut String, line: &Line, number: usize, frame: &Frame) {
        // A logarithmic axis has no zero: bars stand on its lower end.
        let zero = if frame.y.log { frame.y.from.0 } else { 0.0 };
        let base = frame.y.at(zero);
        for dot in &line.points {
            let (left, width) = self.slot(dot.x, number, frame);
            let top = frame.y.at(dot.y);
            let place = [left, width, top.min(base), (top - base).abs()];
            rect(out, place, &line.style());
            let _ = write!(out, ">{}</rect>", line.told(dot));
            dot.upright(out, left + width / 2.0, frame, "class=\"range\"");
        }
    }

    fn boxes(&self, out: &mut String, line: &Line, number: usize, frame: &Frame) {
        let y = |value: f64| frame.y.at(value);
        let colour = format!("stroke=\"var(--c{})\"", line.colour % 8);
        for dot in &line.points {
            let (left, width) = self.slot(dot.x, number, frame);
            let (middle, right) = (left + width / 2.0, left + width);
            let whiskers = [(dot.y_range.0, dot.inner.0), (dot.inner.1, dot.y_range.1)];
            for (from, to) in whiskers {
                segment(out, [middle, y(from), middle, y(to)], &colour);
            }
            for end in [dot.y_range.0, dot.y_range.1] {
                let (a, b) = (left + width * 0.25, right - width * 0.25);
                segment(out, [a, y(end), b, y(end)], &colour);
            }
            let top = y(dot.inner.1);
            let place = [left, width, top, (y(dot.inner.0) - top).max(0.5)];
            rect(out, place, &line.style().replace("0.85", "0.5"));
            let _ = write!(out, ">{}</rect>", line.told(dot));
            segment(out, [left, y(dot.y), right, y(dot.y)], "class=\"median\"");
        }
    }

    fn fields(&self, out: &mut String, line: &Line, frame: &Frame) {
        let (low, high) = self.range(|dot| dot.inner, false);
        let width = (frame.x.at(1.0) - frame.x.at(0.0)).abs();
        let height = (frame.y.at(1.0) - frame.y.at(0.0)).abs();
        for dot in &line.points {
            let share = (dot.inner.0 - low) / (high - low).max(f64::MIN_POSITIVE);
            let (x, y) = (frame.x.at(dot.x), frame.y.at(dot.y));
            let place = [
                x - width / 2.0 + 0.5,
                width - 1.0,
                y - height / 2.0 + 0.5,
                height - 1.0,
            ];
            // Light enough for the words on it, in a light and in a dark page.
            let opacity = 0.06 + 0.5 * share;
            let style = format!("fill=\"var(--c0)\" fill-opacity=\"{opacity:.2}\"/>");
            rect(out, place, &style);
            let style = "text-anchor=\"middle\" class=\"field\"";
            text(out, x, y + 3.5, style, &escaped(&dot.text));
        }
    }
}

/// A mark on a box.
fn diamond(x: f64, y: f64, line: &Line) -> String {
    let colour = line.colour % 8;
    format!(
        "<path class=\"elsewhere\" d=\"M{x:.1} {:.1}l4 4l-4 4l-4 -4z\" \
         stroke=\"var(--c{colour})\"/>",
        y - 4.0
    )
}

/// The line through its points; of one `with_gaps` none where points are missing.
fn path(out: &mut String, line: &Line, frame: &Frame, with_gaps: bool) {
    let mut path = String::new();
    let points = thinned(&line.points);
    let mut steps: Vec<f64> = points
        .windows(2)
        .map(|pair| pair[1].0 - pair[0].0)
        .collect();
    steps.sort_by(f64::total_cmp);
    let usual = steps.get(steps.len() / 2).filter(|_| with_gaps);
    let longest = usual.map_or(f64::INFINITY, |step| step * GAP);
    let mut last = f64::NEG_INFINITY;
    for (x, y) in points {
        if x > frame.x.from.1 {
            break;
        }
        let step = if x - last > longest || path.is_empty() {
            'M'
        } else {
            'L'
        };
        last = x;
        let _ = write!(path, "{step}{:.1} {:.1}", frame.x.at(x), frame.y.at(y));
    }
    let title = match &line.name[..] {
        "" => String::new(),
        name => format!("<title>{}</title>", escaped(name)),
    };
    let _ = write!(
        out,
        "<path d=\"{path}\" fill=\"none\" stroke=\"var(--c{})\" stroke-width=\"1.6\"{}>\
         {title}</path>",
        line.colour % 8,
        line.stroke.dashes(),
    );
}

fn dots(out: &mut String, line: &Line, frame: &Frame) {
    let bar = format!("stroke=\"var(--c{})\"", line.colour % 8);
    for dot in &line.points {
        let (x, y) = (frame.x.at(dot.x), frame.y.at(dot.y));
        dot.upright(out, x, frame, &bar);
        if dot.x_range.0 < dot.x_range.1 {
            let (low, high) = (frame.x.at(dot.x_range.0), frame.x.at(dot.x_range.1));
            segment(out, [low, y, high, y], &bar);
        }
        let _ = write!(
            out,
            "<circle cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"2.6\" {}>{}</circle>",
            line.style().replace(line.stroke.dashes(), ""),
            line.told(dot)
        );
    }
}
