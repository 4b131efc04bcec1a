//! Charts as SVG.

use crate::show::significant;
use std::fmt::Write as _;

const WIDTH: f64 = 340.0;
const HEIGHT: f64 = 210.0;
/// Room for the labels: left, right, top, bottom.
const ROOM: [f64; 4] = [46.0, 10.0, 10.0, 36.0];
/// More points than a screen has columns are drawn as the mean of neighbours.
const MOST_POINTS: usize = 400;

/// How points are drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Draw {
    /// Points with a bar from the lowest to the highest seed, joined by lines.
    Points,
    /// Lines only.
    Lines,
}

/// One line of a panel.
#[derive(Clone, Debug, PartialEq)]
pub struct Strip {
    /// For the legend.
    pub name: String,
    /// x, y, and the lowest and highest of the seeds; x does not decrease.
    pub points: Vec<[f64; 4]>,
}

/// A chart: panels with a heading each. All have the same scales.
#[derive(Clone, Debug, PartialEq)]
pub struct Drawing {
    /// Its heading.
    pub title: String,
    /// How it is drawn.
    pub draw: Draw,
    /// Label of the horizontal axis.
    pub x_label: String,
    /// Label of the vertical axis.
    pub y_label: String,
    /// Heading and lines of each panel.
    pub panels: Vec<(String, Vec<Strip>)>,
}

/// A linear scale from data to pixels.
#[derive(Clone, Copy)]
struct Scale {
    from: (f64, f64),
    to: (f64, f64),
}

impl Scale {
    fn at(self, x: f64) -> f64 {
        let share = (x - self.from.0) / (self.from.1 - self.from.0).max(f64::MIN_POSITIVE);
        self.to.0 + share.clamp(-0.05, 1.05) * (self.to.1 - self.to.0)
    }
}

/// Four to eight round numbers from `low` to `high`.
fn ticks(low: f64, high: f64) -> Vec<f64> {
    let raw = (high - low) / 5.0;
    if raw <= 0.0 || !raw.is_finite() {
        return vec![low];
    }
    let power = 10_f64.powf(raw.log10().floor());
    let step = [1.0, 2.0, 5.0, 10.0]
        .into_iter()
        .map(|m| m * power)
        .find(|step| *step >= raw)
        .unwrap_or(power * 10.0);
    let first = (low / step).ceil() as i64;
    let last = (high / step + 1e-9).floor() as i64;
    (first..=last).map(|n| n as f64 * step).collect()
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
}

fn thinned(points: &[[f64; 4]]) -> Vec<[f64; 4]> {
    let stride = points.len().div_ceil(MOST_POINTS).max(1);
    let mean =
        |chunk: &[[f64; 4]], i: usize| chunk.iter().map(|p| p[i]).sum::<f64>() / chunk.len() as f64;
    points
        .chunks(stride)
        .map(|chunk| [0, 1, 2, 3].map(|i| mean(chunk, i)))
        .collect()
}

impl Drawing {
    /// Smallest and largest x and y of all panels; the vertical axis begins at zero.
    fn extent(&self) -> ((f64, f64), (f64, f64)) {
        let strips = self.panels.iter().flat_map(|(_, strips)| strips);
        let points: Vec<[f64; 4]> = strips.flat_map(|s| thinned(&s.points)).collect();
        let low = |i: usize| points.iter().map(|p| p[i]).fold(f64::INFINITY, f64::min);
        let high = |i: usize| {
            points
                .iter()
                .map(|p| p[i])
                .fold(f64::NEG_INFINITY, f64::max)
        };
        if points.is_empty() {
            return ((0.0, 1.0), (0.0, 1.0));
        }
        let mut x = (low(0), high(0));
        if self.draw == Draw::Points {
            // So that the outer points do not stand on the frame.
            let edge = ((x.1 - x.0) * 0.06).max(0.5);
            x = (x.0 - edge, x.1 + edge);
        } else if self.y_label.is_empty() || self.x_label != "s" {
            // Distributions: the last percent would fill the picture.
            x = (0.0, self.reach(0.99));
        }
        (x, (low(2).min(0.0), high(3).max(f64::MIN_POSITIVE) * 1.05))
    }

    /// The x at which every line has reached `y`.
    fn reach(&self, y: f64) -> f64 {
        let strips = self.panels.iter().flat_map(|(_, strips)| strips);
        let reached = strips.filter_map(|s| s.points.iter().find(|p| p[1] >= y));
        reached.map(|p| p[0]).fold(1.0, f64::max)
    }

    /// A panel as SVG; colours come from the page's style.
    pub(crate) fn svg(&self, panel: usize) -> String {
        let (title, strips) = &self.panels[panel];
        let (x_range, y_range) = self.extent();
        let [left, right, top, bottom] = ROOM;
        let x = Scale {
            from: x_range,
            to: (left, WIDTH - right),
        };
        let y = Scale {
            from: y_range,
            to: (HEIGHT - bottom, top),
        };
        let label = escaped(&format!("{}: {title}", self.title));
        let mut out =
            format!("<svg viewBox=\"0 0 {WIDTH} {HEIGHT}\" role=\"img\" aria-label=\"{label}\">");
        self.axes(&mut out, x, y);
        for (i, strip) in strips.iter().enumerate() {
            self.strip(&mut out, strip, i % 8, x, y);
        }
        out += "</svg>";
        out
    }

    fn axes(&self, out: &mut String, x: Scale, y: Scale) {
        let number = |v: f64| {
            let text = significant(v, 3);
            let short = text.trim_end_matches('0').trim_end_matches('.');
            if text.contains('.') {
                short.to_owned()
            } else {
                text
            }
        };
        for tick in ticks(y.from.0, y.from.1) {
            let at = y.at(tick);
            let (a, b) = x.to;
            let _ = write!(
                out,
                "<line class=\"grid\" x1=\"{a:.1}\" x2=\"{b:.1}\" y1=\"{at:.1}\" y2=\"{at:.1}\"/>\
                 <text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"end\">{}</text>",
                a - 5.0,
                at + 3.5,
                number(tick)
            );
        }
        for tick in ticks(x.from.0, x.from.1) {
            let _ = write!(
                out,
                "<text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"middle\">{}</text>",
                x.at(tick),
                y.to.0 + 14.0,
                number(tick)
            );
        }
        let _ = write!(
            out,
            "<text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"middle\" class=\"axis\">{}</text>\
             <text transform=\"translate(11 {:.1}) rotate(-90)\" text-anchor=\"middle\" \
             class=\"axis\">{}</text>",
            f64::midpoint(x.to.0, x.to.1),
            HEIGHT - 6.0,
            escaped(&self.x_label),
            f64::midpoint(y.to.0, y.to.1),
            escaped(&self.y_label)
        );
    }

    fn strip(&self, out: &mut String, strip: &Strip, colour: usize, x: Scale, y: Scale) {
        let mut path = String::new();
        for point in thinned(&strip.points) {
            if point[0] > x.from.1 {
                break;
            }
            let step = if path.is_empty() { 'M' } else { 'L' };
            let _ = write!(path, "{step}{:.1} {:.1}", x.at(point[0]), y.at(point[1]));
        }
        let _ = write!(
            out,
            "<path d=\"{path}\" fill=\"none\" stroke=\"var(--c{colour})\" stroke-width=\"1.6\">\
             <title>{}</title></path>",
            escaped(&strip.name)
        );
        if self.draw == Draw::Lines {
            return;
        }
        for point in &strip.points {
            let at = x.at(point[0]);
            let _ = write!(
                out,
                "<line x1=\"{at:.1}\" x2=\"{at:.1}\" y1=\"{:.1}\" y2=\"{:.1}\" \
                 stroke=\"var(--c{colour})\"/><circle cx=\"{at:.1}\" cy=\"{:.1}\" r=\"2.6\" \
                 fill=\"var(--c{colour})\"><title>{}: {}</title></circle>",
                y.at(point[2]),
                y.at(point[3]),
                y.at(point[1]),
                escaped(&strip.name),
                significant(point[1], 4)
            );
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Draw, Drawing, Strip, ticks};

    #[test]
    fn ticks_are_round_and_cover_the_range() {
        assert_eq!(ticks(0.0, 70.0), [0.0, 20.0, 40.0, 60.0]);
        assert_eq!(ticks(0.0, 1.0), [0.0, 0.2, 0.4, 3.0 * 0.2, 0.8, 1.0]);
        assert_eq!(ticks(3.0, 3.0), [3.0]);
    }

    #[test]
    fn names_cannot_break_the_picture() {
        let drawing = Drawing {
            title: "a <b>".into(),
            draw: Draw::Points,
            x_label: "n & m".into(),
            y_label: "ms".into(),
            panels: vec![(
                "<script>".into(),
                vec![Strip {
                    name: "x<y".into(),
                    points: vec![[3.0, 1.0, 0.5, 2.0], [14.0, 2.0, 2.0, 2.0]],
                }],
            )],
        };
        let svg = drawing.svg(0);
        assert!(!svg.contains("<b>") && !svg.contains("<script>"), "{svg}");
        assert!(svg.contains("n &amp; m") && svg.contains("x&lt;y"), "{svg}");
        assert_eq!(svg.matches("<circle").count(), 2);
    }
}
