//! Charts from our results.

use crate::claims::{Binder, Cells, Evaluator, Expr, Place, Quantity, combinations, fits};
use crate::draw::{Chart, ChartKind, Dot, Line, Panel, Scaling, Stroke, extent};
use crate::plan::{ChartPlan, Shape, name, places};
use crate::study::{Outcomes, Study};
use sojourn_report::colours_of;
use sojourn_units::Unit;
use sojourn_world::{ByWorld, RunResult, Series};

impl Study {
    /// The charts of all settings that were run, the worlds in the same picture.
    pub fn charts(&self, found: &ByWorld<Outcomes>) -> Vec<Chart> {
        let run = |plan: &&ChartPlan| {
            let mut worlds = found.iter();
            worlds.any(|(world, outcomes)| self.cells(plan.setting, world, outcomes).is_some())
        };
        let plans = self.charts.iter().filter(run);
        plans.map(|plan| self.chart(plan, found)).collect()
    }

    fn chart(&self, plan: &ChartPlan, found: &ByWorld<Outcomes>) -> Chart {
        let mut chart = self.frame(plan);
        for panel in places(plan.panels.as_ref()) {
            let title = name(&panel, &self.words);
            let panel = [&plan.at[..], &panel].concat();
            let mut lines = Vec::new();
            for (number, (world, outcomes)) in found.iter().enumerate() {
                let Some(cells) = self.cells(plan.setting, world, outcomes) else {
                    continue;
                };
                let evaluator = Evaluator::new(&self.words, &cells);
                let stroke = Stroke::World(number);
                let mut ours = self.lines(plan, &panel, evaluator, stroke);
                // A line without points is none, in a world that has some of the cells only.
                if found.len() > 1 {
                    ours.retain(|line| !line.points.is_empty());
                }
                if number > 0 {
                    for line in &mut ours {
                        line.add_name(world.as_str());
                    }
                }
                // Maps cannot lie on one another.
                if chart.kind == ChartKind::Map && found.len() > 1 {
                    let title = [title.as_str(), world.as_str()].join(" ").trim().to_owned();
                    chart.panels.push(Panel { title, lines: ours });
                } else {
                    lines.extend(ours);
                }
            }
            lines.extend(self.reference_lines(plan, &panel, &lines));
            if chart.kind != ChartKind::Map || found.len() == 1 {
                chart.panels.push(Panel { title, lines });
            }
        }
        chart
    }

    /// A chart without its panels.
    fn frame(&self, plan: &ChartPlan) -> Chart {
        let unnamed = |label: &str| Scaling {
            label: label.into(),
            ..Scaling::default()
        };
        let mut y = unnamed(&plan.label);
        let (kind, mut x) = match &plan.shape {
            Shape::Along { bars: false, x, .. } => (ChartKind::Lines, self.numbered(x)),
            Shape::Along { x, .. } => (ChartKind::Bars, self.named(x)),
            Shape::Boxes { x, .. } => (ChartKind::Boxes, self.named(x)),
            Shape::Scatter { .. } => (ChartKind::Scatter, unnamed("")),
            Shape::Map { x, y: rows, .. } => {
                y = self.named(rows);
                (ChartKind::Map, self.named(x))
            }
            Shape::Time { .. } => (ChartKind::Time, unnamed("s")),
            Shape::Distribution { .. } => (ChartKind::Distribution, unnamed("ms")),
        };
        (x.log, y.log) = (plan.log.x, plan.log.y);
        if let Some(label) = &plan.x_label {
            x.label.clone_from(label);
        }
        Chart {
            title: plan.title.clone(),
            kind,
            x,
            y,
            panels: Vec::new(),
        }
    }

    /// An axis with the names of its values.
    fn named(&self, binder: &Binder) -> Scaling {
        Scaling {
            label: self.words.axes[binder.axis].name.clone(),
            names: self.names(binder),
            log: false,
        }
    }

    /// The same with numbers where the names are some.
    fn numbered(&self, binder: &Binder) -> Scaling {
        let mut scaling = self.named(binder);
        if let Some((_, unit)) = self.numbers(binder) {
            if !unit.is_empty() {
                scaling.label = [scaling.label, unit].join(", ");
            }
            scaling.names.clear();
        }
        scaling
    }

    fn names(&self, binder: &Binder) -> Vec<String> {
        let names = places(Some(binder)).into_iter();
        names.map(|place| name(&place, &self.words)).collect()
    }

    /// The values of an axis as numbers with their unit, if they are numbers of one unit.
    fn numbers(&self, binder: &Binder) -> Option<(Vec<f64>, String)> {
        let names = self.names(binder);
        let split = |name: &str| {
            let end = name.find(|c: char| !c.is_ascii_digit() && c != '.');
            let (number, unit) = name.split_at(end.unwrap_or(name.len()));
            Some((number.parse::<f64>().ok()?, unit.trim().to_owned()))
        };
        let split: Vec<(f64, String)> = names.iter().map(|n| split(n)).collect::<Option<_>>()?;
        let unit = split.first()?.1.clone();
        let same = split.iter().all(|(_, other)| *other == unit);
        same.then(|| (split.into_iter().map(|(number, _)| number).collect(), unit))
    }

    /// The lines of a panel in one world.
    fn lines(
        &self,
        plan: &ChartPlan,
        panel: &Place,
        mut evaluator: Evaluator<'_>,
        stroke: Stroke,
    ) -> Vec<Line> {
        if let (None, Shape::Time { .. }) = (&plan.lines, &plan.shape) {
            return over_time(&plan.shape, panel, &mut evaluator, stroke);
        }
        self.each_line(plan, panel, stroke, |part, place| {
            let mut dots = self.points(&plan.shape, part, place, &mut evaluator);
            dots.retain(Dot::is_finite);
            dots
        })
    }

    /// A line for each value of the plan's axis and each part of its shape.
    fn each_line(
        &self,
        plan: &ChartPlan,
        panel: &Place,
        stroke: Stroke,
        mut points: impl FnMut(usize, &Place) -> Vec<Dot>,
    ) -> Vec<Line> {
        let parts = plan.shape.parts();
        let mut lines = Vec::new();
        for line in places(plan.lines.as_ref()) {
            let place = [&panel[..], &line].concat();
            for (part, of) in parts.iter().enumerate() {
                let words = [&name(&line, &self.words), *of].join(" ");
                lines.push(Line {
                    name: words.trim().to_owned(),
                    colour: lines.len(),
                    stroke,
                    points: points(part, &place),
                });
            }
        }
        let colours = colours_of(lines.iter().map(|line| line.name.as_str()));
        for (line, colour) in lines.iter_mut().zip(colours) {
            line.colour = colour;
        }
        lines
    }

    fn points(
        &self,
        shape: &Shape,
        part: usize,
        place: &Place,
        evaluator: &mut Evaluator<'_>,
    ) -> Vec<Dot> {
        match shape {
            Shape::Along { bars, x, of } => self.along(*bars, x, &of[part].y, place, evaluator),
            Shape::Boxes { x, of, .. } => boxes(x, of, place, evaluator),
            Shape::Scatter { points, x, y } => self.scatter(points, x, y, place, evaluator),
            Shape::Map { x, y, value } => map(x, y, value, place, evaluator),
            Shape::Time { .. } => {
                let lines = over_time(shape, place, evaluator, Stroke::World(0));
                lines.into_iter().next().map_or_else(Vec::new, |l| l.points)
            }
            Shape::Distribution { of } => {
                let points = if let Some(of) = of {
                    evaluator.points_at(place, of)
                } else {
                    let run = evaluator.first_run(place);
                    let mut links = run.iter().flat_map(|run| &run.links);
                    let link = links.find(|(name, _)| *name == self.words.link);
                    link.map_or_else(Vec::new, |(_, link)| link.sojourn.cdf.clone())
                };
                let points = points.into_iter();
                points.map(|(x, share)| Dot::exact(x, share)).collect()
            }
        }
    }

    fn along(
        &self,
        bars: bool,
        x: &Binder,
        y: &Expr,
        place: &Place,
        evaluator: &mut Evaluator<'_>,
    ) -> Vec<Dot> {
        let numbers = self.numbers(x).filter(|_| !bars);
        let dot = |(number, at): (usize, Place)| {
            let quantity = evaluator.quantity_at(&[&place[..], &at].concat(), y).ok()?;
            let numbers = numbers.as_ref();
            let x = numbers.map_or(number as f64, |(list, _)| list[number]);
            Some(Dot::of(x, &quantity))
        };
        let mut dots: Vec<Dot> = places(Some(x))
            .into_iter()
            .enumerate()
            .filter_map(dot)
            .filter(Dot::is_finite)
            .collect();
        dots.sort_by(|a, b| a.x.total_cmp(&b.x));
        dots
    }

    fn scatter(
        &self,
        points: &[Binder],
        x: &Expr,
        y: &Expr,
        place: &Place,
        evaluator: &mut Evaluator<'_>,
    ) -> Vec<Dot> {
        let dots = combinations(points).into_iter().filter_map(|at| {
            let place = [&place[..], &at].concat();
            let x = evaluator.quantity_at(&place, x).ok()?;
            let dot = Dot::of(
                x.unit.on_axis(x.median),
                &evaluator.quantity_at(&place, y).ok()?,
            );
            let words = [name(&at, &self.words), x.unit.show(x.median), dot.text];
            Some(Dot {
                x_range: x.range(),
                text: words.join(" · ").trim_start_matches(" · ").to_owned(),
                ..dot
            })
        });
        dots.collect()
    }

    /// What was measured elsewhere, in the colours of ours.
    fn reference_lines(&self, plan: &ChartPlan, panel: &Place, ours: &[Line]) -> Vec<Line> {
        let cells = Cells::planned(&[]);
        let mut evaluator = Evaluator::new(&self.words, &cells).with_repetitions();
        let elsewhere = Stroke::Elsewhere;
        let mut lines = match &plan.shape {
            Shape::Along { bars, x, of } => {
                self.each_line(plan, panel, elsewhere, |part, place| {
                    let reference = of[part].reference.iter();
                    let points = reference.map(|y| self.along(*bars, x, y, place, &mut evaluator));
                    points.flatten().collect()
                })
            }
            Shape::Boxes { x, reference, .. } => {
                self.each_line(plan, panel, elsewhere, |_, place| {
                    let reference = reference.iter();
                    let points = reference.map(|y| self.along(true, x, y, place, &mut evaluator));
                    points.flatten().collect()
                })
            }
            Shape::Time { levels, .. } => {
                let of = |(number, (name, level)): (usize, &(String, Expr))| Line {
                    name: name.clone(),
                    colour: ours.len() + number,
                    stroke: elsewhere,
                    points: across(ours, evaluator.quantity_at(panel, level).ok()),
                };
                levels.iter().enumerate().map(of).collect()
            }
            _ => Vec::new(),
        };
        lines.retain(|line| !line.points.is_empty());
        for line in &mut lines {
            line.add_name("reference");
        }
        lines
    }
}

impl Line {
    /// Says behind its name where it is from.
    fn add_name(&mut self, from: &str) {
        if !self.name.is_empty() {
            self.name += ", ";
        }
        self.name += from;
    }
}

/// A level from the first to the last time of some lines.
fn across(lines: &[Line], level: Option<Quantity>) -> Vec<Dot> {
    let (first, last) = extent(lines.iter().flat_map(|line| &line.points).map(|dot| dot.x));
    match level {
        Some(level) if first < last => {
            let ends = [first, last].into_iter();
            ends.map(|x| Dot::of(x, &level)).collect()
        }
        _ => Vec::new(),
    }
}

/// Quantiles of a distribution along an axis.
fn boxes(x: &Binder, of: &[Expr; 5], place: &Place, evaluator: &mut Evaluator<'_>) -> Vec<Dot> {
    let dot = |(number, at): (usize, Place)| {
        let place = [&place[..], &at].concat();
        let quantiles: Vec<Quantity> = of
            .iter()
            .map(|q| evaluator.quantity_at(&place, q))
            .collect::<Result<_, _>>()
            .ok()?;
        let shown: Vec<String> = quantiles.iter().map(|q| q.unit.show(q.median)).collect();
        let at: Vec<f64> = quantiles.iter().map(|q| q.unit.on_axis(q.median)).collect();
        Some(Dot {
            y_range: (at[0], at[4]),
            inner: (at[1], at[3]),
            text: shown.join(", "),
            ..Dot::exact(number as f64, at[2])
        })
    };
    let places = places(Some(x)).into_iter().enumerate();
    places.filter_map(dot).collect()
}

/// A quantity over two axes.
fn map(
    x: &Binder,
    y: &Binder,
    value: &Expr,
    place: &Place,
    evaluator: &mut Evaluator<'_>,
) -> Vec<Dot> {
    let mut dots = Vec::new();
    for (row, along_y) in places(Some(y)).iter().enumerate() {
        for (column, along_x) in places(Some(x)).iter().enumerate() {
            let place = [&place[..], along_y, along_x].concat();
            let quantity = evaluator.quantity_at(&place, value);
            dots.extend(quantity.ok().map(|quantity| {
                let shade = quantity.unit.on_axis(quantity.median);
                Dot {
                    inner: (shade, shade),
                    text: quantity.unit.show(quantity.median),
                    ..Dot::exact(column as f64, row as f64)
                }
            }));
        }
    }
    dots
}

impl Quantity {
    /// Lowest and highest of the seeds, as on an axis.
    fn range(&self) -> (f64, f64) {
        let seeds = self
            .seeds
            .iter()
            .filter(|seed| seed.is_finite())
            .chain(std::iter::once(&self.median));
        extent(seeds.map(|seed| self.unit.on_axis(*seed)))
    }
}

impl Dot {
    /// A quantity at `x`.
    fn of(x: f64, quantity: &Quantity) -> Self {
        Self {
            y_range: quantity.range(),
            text: quantity.unit.show(quantity.median),
            ..Self::exact(x, quantity.unit.on_axis(quantity.median))
        }
    }

    fn is_finite(&self) -> bool {
        [self.x, self.y, self.inner.0]
            .into_iter()
            .all(f64::is_finite)
    }
}

/// The series of a chart over time: what of them is shown, in the unit of its axis.
fn over_time(
    shape: &Shape,
    place: &Place,
    evaluator: &mut Evaluator<'_>,
    stroke: Stroke,
) -> Vec<Line> {
    let Shape::Time {
        series,
        of,
        between: (from, to),
        scale,
        ..
    } = shape
    else {
        return Vec::new();
    };
    let factor = scale
        .as_ref()
        .and_then(|scale| evaluator.quantity_at(place, scale).ok())
        .map_or(1.0, |factor| factor.median);
    let mut lines = all_series(evaluator.first_run(place).as_deref(), series, of, stroke);
    for line in &mut lines {
        line.points.retain(|dot| (*from..=*to).contains(&dot.x));
        for dot in &mut line.points {
            *dot = Dot::exact(dot.x, dot.y * factor);
        }
    }
    lines
}

/// A series of the flows and links whose names fit.
fn all_series(run: Option<&RunResult>, metrics: &[String], of: &str, stroke: Stroke) -> Vec<Line> {
    let Some(run) = run else { return Vec::new() };
    let flows = run.flows.iter().map(|(name, flow)| (name, &flow.series));
    let links = run.links.iter().map(|(name, link)| (name, &link.series));
    let matching = flows.chain(links).filter(|(name, _)| fits(name, of));
    let found = matching.flat_map(|(name, list)| {
        let of_metric = |metric: &String| list.iter().find(|series| series.metric == *metric);
        let found = metrics.iter().filter_map(of_metric);
        found.map(move |series| (name, series))
    });
    let line = |(colour, (name, series)): (usize, (&String, &Series))| Line {
        name: match metrics.len() {
            1 => name.clone(),
            _ => format!("{name} {}", series.metric),
        },
        colour,
        stroke,
        points: dots(series),
    };
    found.enumerate().map(line).collect()
}

fn dots(series: &Series) -> Vec<Dot> {
    let scale = if series.unit == Unit::Bps { 1e-6 } else { 1.0 };
    let points = series.points.iter().filter(|p| p.value.is_finite());
    points.map(|p| Dot::exact(p.t, p.value * scale)).collect()
}

#[cfg(test)]
mod tests {
    use super::{Dot, Line, Quantity, Stroke, Unit, across};

    #[test]
    fn a_level_reaches_from_the_first_to_the_last_time() {
        let line = |times: [f64; 2]| Line {
            name: String::new(),
            colour: 0,
            stroke: Stroke::World(0),
            points: times.map(|t| Dot::exact(t, 1.0)).into(),
        };
        let level = || Quantity {
            median: 18.0,
            seeds: Vec::new(),
            unit: Unit::Ms,
        };
        let level_of = |lines: &[Line]| {
            let dots = across(lines, Some(level()));
            dots.iter().map(|dot| (dot.x, dot.y)).collect::<Vec<_>>()
        };
        let both = [line([5.0, 20.0]), line([0.0, 10.0])];
        assert_eq!(level_of(&both), [(0.0, 18.0), (20.0, 18.0)]);
        assert!(level_of(&[]).is_empty() && across(&both, None).is_empty());
    }
}
