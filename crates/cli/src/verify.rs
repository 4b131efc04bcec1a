//! `sojourn run --verify`: whether Linux, with its own TCP and its own queues, agrees.
//!
//! What agrees is what the fidelity matrix calls so: the same figures, with the same tolerances.

use crate::WrongInput;
use crate::worlds::{Row, WORLDS, squares};
use sojourn_fidelity::{Difference, Matrix, Pair, Place};
use sojourn_report::significant;
use sojourn_world::RunResult;

/// Puts the world with the kernel's own queues beside the simulator.
pub(crate) fn add_kernel(rows: &mut Vec<&'static Row>) -> Result<(), WrongInput> {
    let [simulated] = &rows[..] else {
        return Err(only_simulated());
    };
    if simulated.name != WORLDS[0].name {
        return Err(only_simulated());
    }
    rows.extend(WORLDS.iter().find(|row| row.has_kernels));
    Ok(())
}

fn only_simulated() -> WrongInput {
    WrongInput(format!(
        "--verify sets the simulator beside Linux; leave out --world, or say --world {}",
        WORLDS[0].name
    ))
}

/// Whether the simulator's cells agree with Linux, in a sentence; none without both worlds.
pub(crate) fn sentence(scenario: &str, results: &[RunResult]) -> Option<String> {
    let matrix = Matrix::of_scenario(squares(), scenario, results);
    let pair = *Pair::all(&matrix).first()?;
    let cells = pair.differences(&matrix);
    let agreeing = cells
        .iter()
        .filter(|(_, list)| list.iter().all(Difference::within));
    let (agreeing, all) = (agreeing.count(), cells.len());
    let each = cells
        .iter()
        .flat_map(|(place, list)| list.iter().map(move |one| (*place, one)));
    let worst = each.max_by(|(_, a), (_, b)| a.size().total_cmp(&b.size()));
    let (place, furthest) = worst?;
    if let [(_, list)] = &cells[..] {
        // The first two figures are goodput and the median delay.
        let shown = list.iter().take(2).map(values).collect::<Vec<_>>();
        return Some(match agreeing {
            1 => format!("Linux agrees: {}.", shown.join(", ")),
            _ => format!("Linux differs: {}.", values(furthest)),
        });
    }
    let verdict = if agreeing == all {
        format!("agrees in all {all} cells")
    } else {
        format!("agrees in {agreeing} of {all} cells")
    };
    let (place, values) = (cell(place), values(furthest));
    Some(format!(
        "Linux {verdict}; furthest apart is {place}: {values}."
    ))
}

/// A figure in both worlds, Linux's first.
fn values(difference: &Difference) -> String {
    let figure = difference.figure;
    let [linux, simulated] =
        [difference.other.mean, difference.first.mean].map(|mean| significant(mean, 3));
    let unit = match figure.unit {
        "" => String::new(),
        unit => format!(" {unit}"),
    };
    // `delay, median` is a heading.
    let title = match figure.title.split_once(", ") {
        Some((what, which)) => format!("{which} {what}"),
        None => figure.title.to_owned(),
    };
    format!("{title} {linux}{unit} against {simulated}{unit} simulated")
}

/// A cell by what tells it from the others.
fn cell(place: &Place) -> String {
    let name = place.name();
    let own = name.strip_prefix(&place.phase).map(str::trim);
    own.filter(|own| !own.is_empty())
        .unwrap_or(&name)
        .to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use sojourn_world::{Aggregate, WorldName};

    fn run(world: &'static str, queue: &str, goodput_bps: f64) -> RunResult {
        RunResult {
            world: WorldName::new(world),
            seed: 1,
            params: vec![("dumbbell.qdisc".into(), queue.into())],
            links: Vec::new(),
            flows: Vec::new(),
            aggregate: Aggregate {
                goodput_bps,
                jain: None,
            },
            cost: sojourn_world::Cost::default(),
            digest: 0,
            radio: None,
            program: None,
        }
    }

    #[test]
    fn one_cell_agrees_or_differs() {
        let of = |linux| {
            sentence(
                "s",
                &[run("sim", "pie", 2.54e5), run("kernel-tc", "pie", linux)],
            )
        };
        let said = of(2.55e5).unwrap();
        assert!(
            said.starts_with("Linux agrees: goodput 0.255 Mbit/s against 0.254 Mbit/s simulated"),
            "{said}"
        );
        let said = of(3.0e5).unwrap();
        assert!(
            said.starts_with("Linux differs: goodput 0.300 Mbit/s against 0.254 Mbit/s simulated"),
            "{said}"
        );
    }

    #[test]
    fn of_several_cells_the_furthest_apart_is_named() {
        let simulated = ["pie", "codel"].map(|queue| run("sim", queue, 1e6));
        let linux = [
            run("kernel-tc", "pie", 1.001e6),
            run("kernel-tc", "codel", 1.2e6),
        ];
        let said = sentence("s", &[simulated, linux].concat()).unwrap();
        assert!(
            said.starts_with("Linux agrees in 1 of 2 cells; furthest apart is")
                && said.contains("codel")
                && said.contains("goodput 1.20 Mbit/s against 1.00 Mbit/s simulated"),
            "{said}"
        );
        assert_eq!(sentence("s", &[run("sim", "pie", 1e6)]), None);
    }
}
