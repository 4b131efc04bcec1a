//! `sojourn run --verify`: whether Linux, with its own TCP and its own queues, agrees.
//!
//! What agrees is what the fidelity matrix calls so: the same figures, with the same tolerances.

use crate::WrongInput;
use crate::worlds::{WORLDS, WorldRow, squares};
use sojourn_fidelity::{Difference, Matrix, MatrixCell, Pair, Verdict};
use sojourn_report::significant;
use sojourn_world::RunResult;

/// Puts the world with the kernel's own queues beside the simulator.
pub(crate) fn add_kernel(rows: &mut Vec<&'static WorldRow>) -> Result<(), WrongInput> {
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

/// Whether the simulator's cells agree with Linux, in a sentence; none without both worlds. Of
/// several seeds it is what these say, which may be nothing yet; of one it is whether the means
/// agree.
pub(crate) fn sentence(scenario: &str, results: &[RunResult]) -> Option<String> {
    let matrix = Matrix::of_scenario(squares(), scenario, results);
    let pair = *Pair::all(&matrix).first()?;
    let cells = pair.differences(&matrix);
    let verdicts: Vec<Verdict> = cells.iter().map(|(_, list)| verdict(list)).collect();
    let count = |wanted| {
        verdicts
            .iter()
            .filter(|verdict| **verdict == wanted)
            .count()
    };
    let (agreeing, open, all) = (
        count(Verdict::Equal),
        count(Verdict::Undecided),
        cells.len(),
    );
    let each = cells
        .iter()
        .flat_map(|(place, list)| list.iter().map(move |one| (*place, one)));
    let worst = each.max_by(|(_, a), (_, b)| a.size().total_cmp(&b.size()));
    let (place, furthest) = worst?;
    let more = more_seeds(
        (cells.iter().zip(&verdicts))
            .filter(|(_, verdict)| **verdict == Verdict::Undecided)
            .flat_map(|((_, list), _)| list),
    );
    if let [(_, list)] = &cells[..] {
        // The first two figures are goodput and the median delay.
        let shown = list.iter().take(2).map(values).collect::<Vec<_>>();
        return Some(match verdicts[0] {
            Verdict::Equal => format!("Linux agrees: {}.", shown.join(", ")),
            Verdict::Different => format!("Linux differs: {}.", values(furthest)),
            Verdict::Undecided => {
                let open = list
                    .iter()
                    .filter(|one| one.verdict() == Verdict::Undecided);
                let furthest = open.max_by(|a, b| a.size().total_cmp(&b.size()));
                let shown = furthest.map_or_else(String::new, values);
                format!("Undecided whether Linux agrees ({more}): {shown}.")
            }
        });
    }
    let undecided = match open {
        0 => String::new(),
        _ => format!(", {open} undecided ({more})"),
    };
    let verdict = if agreeing == all {
        format!("agrees in all {all} cells")
    } else {
        format!("agrees in {agreeing} of {all} cells{undecided}")
    };
    let (place, values) = (cell(place), values(furthest));
    Some(format!(
        "Linux {verdict}; furthest apart is {place}: {values}."
    ))
}

/// What a cell's figures say together.
fn verdict(list: &[Difference]) -> Verdict {
    let of = |one: &Difference| match one.ci95() {
        Some(_) => one.verdict(),
        None if one.within() => Verdict::Equal,
        None => Verdict::Different,
    };
    if list.iter().any(|one| of(one) == Verdict::Different) {
        Verdict::Different
    } else if list.iter().all(|one| of(one) == Verdict::Equal) {
        Verdict::Equal
    } else {
        Verdict::Undecided
    }
}

/// About how many seeds would decide these figures.
fn more_seeds<'a>(mut figures: impl Iterator<Item = &'a Difference>) -> String {
    let most = figures.try_fold(0, |most, one| {
        Some(one.seeds_to_decide([true, true])?.max(most))
    });
    most.map_or_else(
        || "the means are a tolerance apart".to_owned(),
        |seeds| format!("about {seeds} seeds would tell"),
    )
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
fn cell(place: &MatrixCell) -> String {
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

    /// Three seeds of 1 Mbit/s, 2 % apart from one to the next: the mean is Linux's, and its
    /// interval wider than the tolerance of 1 %.
    #[test]
    fn seeds_that_do_not_decide_are_said() {
        let seeds = |world, queue, step: f64| {
            let runs = [-step, 0.0, step].into_iter().zip(1..);
            let of = |(off, seed)| RunResult {
                seed,
                ..run(world, queue, 1e6 + off)
            };
            runs.map(of).collect::<Vec<_>>()
        };
        let open = |queue| [seeds("sim", queue, 2e4), seeds("kernel-tc", queue, 0.0)].concat();
        let said = sentence("s", &open("pie")).unwrap();
        assert!(
            said.starts_with("Undecided whether Linux agrees (about 18 seeds would tell): goodput"),
            "{said}"
        );
        let sure = [seeds("sim", "codel", 1e2), seeds("kernel-tc", "codel", 0.0)].concat();
        let said = sentence("s", &sure).unwrap();
        assert!(said.starts_with("Linux agrees: goodput"), "{said}");
        let said = sentence("s", &[open("pie"), sure].concat()).unwrap();
        assert!(
            said.starts_with("Linux agrees in 1 of 2 cells, 1 undecided (about 18 seeds would"),
            "{said}"
        );
    }
}
