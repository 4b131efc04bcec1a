//! The page: for each pair of worlds how many cells agree, and a heat map of all that do not.

use crate::compare::Difference;
use crate::figure::{FIGURES, Figure};
use crate::matrix::Matrix;
use crate::summary::{Summary, Worst};
use minijinja::{AutoEscape, Environment, Value, context};
use sojourn_report::Tolerance;
use sojourn_report::{ReportError, SCRIPT, STYLE};
use sojourn_world::WorldName;

const TEMPLATE: &str = include_str!("../assets/fidelity.html.j2");

/// The page of a matrix; `notes` are sentences for its reader.
///
/// # Errors
/// When the page cannot be put together.
pub fn page(matrix: &Matrix, notes: &[String], program: &str) -> Result<String, ReportError> {
    let mut environment = Environment::new();
    environment.set_auto_escape_callback(|_| AutoEscape::Html);
    environment.add_template("fidelity.html", TEMPLATE)?;
    let page = environment
        .get_template("fidelity.html")?
        .render(context! {
            style => STYLE,
            script => SCRIPT,
            notes => notes.to_vec(),
            program => program,
            cells => matrix.places().len(),
            figures => FIGURES.iter().map(|figure| context! {
                title => figure.title,
                unit => figure.unit,
                tolerance => tolerance(figure),
            }).collect::<Vec<_>>(),
            pairs => Summary::all(matrix).iter().map(pair).collect::<Vec<_>>(),
        })?;
    Ok(page)
}

/// A figure's tolerance in words.
pub fn tolerance(figure: &Figure) -> String {
    let Tolerance { share, least } = figure.within;
    let space = if figure.unit.is_empty() { "" } else { " " };
    let least = (least > 0.0).then(|| format!("{least}{space}{}", figure.unit));
    let share = (share > 0.0).then(|| format!("{:.0} %", 100.0 * share));
    let scatter = figure.or_scatter.then(|| SCATTER.to_owned());
    let parts: Vec<String> = [share, least, scatter].into_iter().flatten().collect();
    parts.join(" or ")
}

/// The tolerance that the second world's seeds give; the page and the documents explain the word.
const SCATTER: &str = "scatter";

fn pair(summary: &Summary) -> Value {
    let (first, other) = (summary.pair.first, summary.pair.other);
    context! {
        id => format!("{}-{}", first.world, other.world),
        first => first.world.as_str(),
        other => other.world.as_str(),
        titles => vec![first.title, other.title],
        what => summary.pair.what(),
        cells => summary.cells,
        rows => summary.rows.iter().map(|row| context! {
            phase => row.phase.clone(),
            tallies => row.tallies.iter().map(|tally| context! {
                cells => tally.cells,
                shown => tally.show(),
                within => tally.within,
                share => 100 * tally.equal / tally.cells.max(1),
            }).collect::<Vec<_>>(),
            median => row.median.iter().map(|median| median.map_or_else(
                String::new,
                |median| format!("{:.1} %", 100.0 * median),
            )).collect::<Vec<_>>(),
        }).collect::<Vec<_>>(),
        undecided => summary.undecided().0,
        figures => summary.undecided().1,
        evidence => summary.evidence(),
        causes => summary.causes.iter().map(|(cause, count)| context! {
            name => cause.name(),
            count => count,
        }).collect::<Vec<_>>(),
        worst => summary.worst.iter().map(|worst| cell(worst, &other.world)).collect::<Vec<_>>(),
    }
}

fn cell(worst: &Worst, other: &WorldName) -> Value {
    let (_, cause) = worst.largest();
    let of = |key: &str| {
        let mut all = worst.differences.iter();
        all.find(|(difference, _)| difference.figure.key == key)
    };
    context! {
        name => worst.place.name(),
        queue => worst.place.values[2].clone(),
        command => worst.place.params.is_none().then(|| command(&worst.place.name(), other)),
        cause => cause.map_or("", super::Cause::name),
        figures => FIGURES.iter().map(|figure| of(figure.key).map(|(difference, cause)| context! {
            text => difference.show_relative(),
            both => difference.show(),
            heat => heat(difference),
            cause => cause.map_or("", super::Cause::name),
        })).collect::<Vec<_>>(),
    }
}

/// What runs a cell again in the simulator and in another world.
pub fn command(name: &str, other: &WorldName) -> String {
    format!("sojourn fidelity --cell {name} --world sim,{other}")
}

/// 0 within the tolerance, 4 at ten times as much and beyond.
fn heat(difference: &Difference) -> u8 {
    match difference.size() {
        ..=1.0 => 0,
        ..=2.0 => 1,
        ..=4.0 => 2,
        ..=10.0 => 3,
        _ => 4,
    }
}
