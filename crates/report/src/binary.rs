//! A run as bytes, with all that belongs to it: what a run of a sweep is kept as until the results
//! are written, and what goes from one process to another.
//!
//! Not here: files (see `kept`), and what is kept for other versions of the program.

use crate::bytes::{In, Out};
use crate::error::Damage;
use crate::table::known_series;
use sojourn_qdisc::{Field, Report, Value};
use sojourn_world::figure::{Content, Distribution, FlowResult, LinkResult, Part, Statistic};
use sojourn_world::{
    Axis, Cost, Hop, Place, Point, RunResult, ScenarioInfo, Series, Shard, Stations, WorldName,
};

/// What a figure's value is.
mod mark {
    pub(super) const NONE: u8 = 0;
    pub(super) const COUNT: u8 = 1;
    pub(super) const NUMBER: u8 = 2;
    pub(super) const SPREAD: u8 = 3;
}

/// Adds a scenario in words.
pub(crate) fn write_info(to: &mut Out, info: &ScenarioInfo) {
    let ScenarioInfo {
        name,
        title,
        description,
        version,
        axes,
        source,
        shard,
    } = info;
    for text in [name, title, description] {
        to.text(text);
    }
    to.whole(u64::from(*version));
    to.list(axes, |to, axis| {
        to.text(&axis.field);
        to.list(&axis.values, |to, value| to.text(value));
    });
    to.maybe(source.as_deref());
    to.mark(u8::from(shard.is_some()));
    if let Some(Shard { number, of, runs }) = shard {
        for number in [number, of, runs] {
            to.length(*number);
        }
    }
}

pub(crate) fn read_info(from: &mut In<'_>) -> Result<ScenarioInfo, Damage> {
    let [name, title, description] = [from.text()?, from.text()?, from.text()?];
    let version = u32::try_from(from.whole()?).map_err(|_| Damage::Short)?;
    let axes = from.list(16, |from| {
        Ok(Axis {
            field: from.text()?.to_owned(),
            values: from.list(8, |from| Ok(from.text()?.to_owned()))?,
        })
    })?;
    let source = from.maybe()?;
    let shard = if from.is()? {
        let [number, of, runs] = [from.whole()?, from.whole()?, from.whole()?].map(|n| n as usize);
        Some(Shard { number, of, runs })
    } else {
        None
    };
    Ok(ScenarioInfo {
        name: name.to_owned(),
        title: title.to_owned(),
        description: description.to_owned(),
        version,
        axes,
        source,
        shard,
    })
}

/// Adds a run.
pub(crate) fn write_run(to: &mut Out, run: &RunResult) {
    to.text(run.world.as_str());
    to.whole(run.seed);
    to.list(&run.params, |to, (field, value)| {
        to.text(field);
        to.text(value);
    });
    to.list(&run.links, |to, (name, link)| {
        to.text(name);
        write_part(to, link, &link.series);
        write_queue(to, &link.qdisc);
    });
    to.list(&run.flows, |to, (name, flow)| {
        to.text(name);
        write_part(to, flow, &flow.series);
        to.text(&flow.app);
        to.mark(u8::from(flow.elastic));
    });
    write_part(to, &run.aggregate, &[]);
    let cost = &run.cost;
    for number in [cost.events, cost.bottleneck_packets, cost.peak_rss_bytes] {
        to.whole(number);
    }
    to.number(cost.cpu_s);
    to.number(cost.wall_s);
    to.whole(run.digest);
    to.mark(u8::from(run.radio.is_some()));
    if let Some(radio) = &run.radio {
        write_stations(to, radio);
    }
    to.maybe(run.program.as_deref());
}

pub(crate) fn read_run(from: &mut In<'_>) -> Result<RunResult, Damage> {
    let world = WorldName::parse(from.text()?).ok_or(Damage::NoWorld)?;
    let seed = from.whole()?;
    let params = from.list(16, |from| {
        Ok((from.text()?.to_owned(), from.text()?.to_owned()))
    })?;
    let links = from.list(16, |from| {
        let name = from.text()?.to_owned();
        let (mut link, series) = read_part::<LinkResult>(from)?;
        link.series = series;
        link.qdisc = read_queue(from)?;
        Ok((name, link))
    })?;
    let flows = from.list(16, |from| {
        let name = from.text()?.to_owned();
        let (mut flow, series) = read_part::<FlowResult>(from)?;
        flow.series = series;
        flow.app = from.text()?.to_owned().into();
        flow.elastic = from.is()?;
        Ok((name, flow))
    })?;
    let (aggregate, _) = read_part(from)?;
    let cost = Cost {
        events: from.whole()?,
        bottleneck_packets: from.whole()?,
        peak_rss_bytes: from.whole()?,
        cpu_s: from.number()?,
        wall_s: from.number()?,
    };
    let digest = from.whole()?;
    let radio = if from.is()? {
        Some(read_stations(from)?)
    } else {
        None
    };
    Ok(RunResult {
        world,
        seed,
        params,
        links,
        flows,
        aggregate,
        cost,
        digest,
        radio,
        program: from.maybe()?,
    })
}

/// The figures of a part in the list's order, and its series.
fn write_part<T: Part>(to: &mut Out, part: &T, series: &[Series]) {
    for row in T::rows() {
        match row.content(part) {
            None => to.mark(mark::NONE),
            Some(Content::Count(count)) => {
                to.mark(mark::COUNT);
                to.whole(count);
            }
            Some(Content::Number(number)) => {
                to.mark(mark::NUMBER);
                to.number(number);
            }
            Some(Content::Spread(spread)) => {
                to.mark(mark::SPREAD);
                write_spread(to, spread);
            }
        }
    }
    let series: Vec<&Series> = series.iter().filter(|s| !s.points.is_empty()).collect();
    to.list(&series, |to, series| {
        to.text(&series.metric);
        to.text(series.unit.word());
        write_pairs(to, series.points.iter().map(|point| (point.t, point.value)));
    });
}

fn read_part<T: Part>(from: &mut In<'_>) -> Result<(T, Vec<Series>), Damage> {
    let mut part = T::default();
    for row in T::rows() {
        let spread;
        let content = match from.mark()? {
            mark::NONE => continue,
            mark::COUNT => Content::Count(from.whole()?),
            mark::NUMBER => Content::Number(from.number()?),
            mark::SPREAD => {
                spread = read_spread(from)?;
                Content::Spread(&spread)
            }
            _ => return Err(Damage::Short),
        };
        // One that follows from others is held nowhere.
        if let Some(slot) = row.slot(&mut part) {
            match (slot.content(), &content) {
                (Content::Count(_), Content::Count(_))
                | (Content::Number(_), Content::Number(_))
                | (Content::Spread(_), Content::Spread(_)) => slot.fill(content),
                _ => return Err(Damage::Short),
            }
        }
    }
    let series = from.list(24, |from| {
        let (metric, unit) = (from.text()?, from.text()?);
        let (metric, unit) = known_series(T::KIND, metric, unit)?;
        let points = read_pairs(from)?.into_iter();
        Ok(Series {
            unit,
            metric,
            points: points.map(|(t, value)| Point { t, value }).collect(),
        })
    })?;
    Ok((part, series))
}

fn write_spread(to: &mut Out, spread: &Distribution) {
    to.whole(spread.count);
    if spread.count == 0 {
        return;
    }
    for statistic in Statistic::ALL {
        if statistic != Statistic::Count {
            to.number(statistic.of(spread));
        }
    }
    write_pairs(to, spread.cdf.iter().copied());
}

fn read_spread(from: &mut In<'_>) -> Result<Distribution, Damage> {
    let mut spread = Distribution {
        count: from.whole()?,
        ..Distribution::default()
    };
    if spread.count == 0 {
        return Ok(spread);
    }
    for statistic in Statistic::ALL {
        if statistic != Statistic::Count {
            statistic.set(&mut spread, from.number()?);
        }
    }
    spread.cdf = read_pairs(from)?;
    Ok(spread)
}

fn write_pairs(to: &mut Out, pairs: impl ExactSizeIterator<Item = (f64, f64)>) {
    to.length(pairs.len());
    for (x, y) in pairs {
        to.number(x);
        to.number(y);
    }
}

fn read_pairs(from: &mut In<'_>) -> Result<Vec<(f64, f64)>, Damage> {
    from.list(16, |from| Ok((from.number()?, from.number()?)))
}

fn write_queue(to: &mut Out, report: &Report) {
    to.text(&report.kind);
    write_fields(to, &report.options);
    write_fields(to, &report.stats);
    to.mark(u8::from(report.inner.is_some()));
    if let Some(inner) = &report.inner {
        write_queue(to, inner);
    }
}

fn read_queue(from: &mut In<'_>) -> Result<Report, Damage> {
    Ok(Report {
        kind: from.text()?.to_owned().into(),
        options: read_fields(from)?,
        stats: read_fields(from)?,
        inner: if from.is()? {
            Some(Box::new(read_queue(from)?))
        } else {
            None
        },
    })
}

fn write_fields(to: &mut Out, fields: &[Field]) {
    to.list(fields, |to, field| {
        to.text(&field.name);
        match &field.value {
            Value::Int(number) => {
                to.mark(0);
                to.whole(number.cast_unsigned());
            }
            Value::Float(number) => {
                to.mark(1);
                to.number(*number);
            }
            Value::Bool(on) => {
                to.mark(2);
                to.mark(u8::from(*on));
            }
            Value::Text(text) => {
                to.mark(3);
                to.text(text);
            }
            Value::Groups(groups) => {
                to.mark(4);
                to.list(groups, |to, group| write_fields(to, group));
            }
        }
    });
}

fn read_fields(from: &mut In<'_>) -> Result<Vec<Field>, Damage> {
    from.list(10, |from| {
        Ok(Field {
            name: from.text()?.to_owned().into(),
            value: match from.mark()? {
                0 => Value::Int(from.whole()?.cast_signed()),
                1 => Value::Float(from.number()?),
                2 => Value::Bool(from.is()?),
                3 => Value::Text(from.text()?.to_owned()),
                4 => Value::Groups(from.list(8, read_fields)?),
                _ => return Err(Damage::Short),
            },
        })
    })
}

fn write_stations(to: &mut Out, radio: &Stations) {
    to.number(radio.range);
    to.number(radio.sense);
    write_pairs(to, radio.places.iter().map(|place| (place.x, place.y)));
    to.list(&radio.hops, |to, hop| {
        to.length(hop.from);
        to.length(hop.to);
        to.whole(hop.frames);
        to.whole(hop.packets);
    });
}

fn read_stations(from: &mut In<'_>) -> Result<Stations, Damage> {
    let (range, sense) = (from.number()?, from.number()?);
    let places = read_pairs(from)?
        .into_iter()
        .map(|(x, y)| Place { x, y })
        .collect();
    let hops = from.list(32, |from| {
        Ok(Hop {
            from: from.whole()? as usize,
            to: from.whole()? as usize,
            frames: from.whole()?,
            packets: from.whole()?,
        })
    })?;
    Ok(Stations {
        range,
        sense,
        places,
        hops,
    })
}
