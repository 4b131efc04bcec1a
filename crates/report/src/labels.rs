//! Names of cells for people: what differs between them, and no more.

use crate::varied::{Cells, Varied, varied_cells};
use indexmap::IndexSet;
use sojourn_world::{RunResult, WorldName};
use std::collections::{BTreeMap, BTreeSet};

/// What the runs of a result are called and how they are told apart, made once for a page and its
/// table.
pub(crate) struct Labels<'a> {
    /// The runs.
    pub(crate) results: &'a [RunResult],
    /// The parameters that occur, in the order of their first occurrence.
    pub(crate) fields: IndexSet<&'a str>,
    /// What was varied, with a value for each cell.
    pub(crate) parts: Vec<Varied<'a>>,
    /// Which part's values are compared: the first with a queue, or else the first; none without a
    /// sweep.
    pub(crate) choice: Option<usize>,
    /// Number of the cell of every run: equal parameters, equal numbers, from zero in the order of
    /// first occurrence.
    pub(crate) numbers: Vec<usize>,
    /// Parameters of every cell, by its number.
    params: Vec<&'a [(String, String)]>,
    /// Label of every cell, by its number: `field value` of the parts that were varied; the bare
    /// value where one part was varied whose values are words, which say what they are.
    pub(crate) cells: Vec<String>,
    /// Number of every cell's colour: its own while there are few cells, that of its choice
    /// otherwise.
    pub(crate) colours: Vec<usize>,
    /// The worlds, in the order of their first run. The others are compared with the first one.
    pub(crate) worlds: IndexSet<&'a WorldName>,
}

impl<'a> Labels<'a> {
    /// Those of `results`.
    pub(crate) fn of(results: &'a [RunResult]) -> Self {
        let Cells { params, numbers } = Cells::of(results);
        let all = params.iter().flat_map(|params| params.iter());
        let fields: IndexSet<&str> = all.map(|(field, _)| field.as_str()).collect();
        let parts = varied_cells(&params);
        let queue = parts.iter().position(Varied::is_queue);
        let choice = queue.or((!parts.is_empty()).then_some(0));
        let names = short_names(&parts);
        let cells = params.iter().enumerate();
        let labels = cells.map(|(cell, params)| label(params, &parts, &names, cell));
        let chosen = (0..params.len()).map(|cell| match choice {
            Some(choice) => parts[choice].values[cell].as_str(),
            None => "",
        });
        Self {
            results,
            cells: labels.collect(),
            colours: colours(&chosen.collect::<Vec<_>>(), parts.len()),
            fields,
            parts,
            choice,
            numbers,
            params,
            worlds: results.iter().map(|run| &run.world).collect(),
        }
    }

    /// Number of the cell that has these parameters.
    pub(crate) fn number_of(&self) -> BTreeMap<&'a [(String, String)], usize> {
        self.params.iter().copied().zip(0..).collect()
    }
}

/// Parameters on one line: `queue=pie rtt=40ms`; quoted where a value holds a space.
pub(crate) fn params_text(params: &[(String, String)]) -> String {
    let pairs = params.iter().map(|(key, value)| {
        if value.contains([' ', '"']) || value.is_empty() {
            format!("{key}={value:?}")
        } else {
            format!("{key}={value}")
        }
    });
    pairs.collect::<Vec<_>>().join(" ")
}

/// The programs that made the results, in the order of first occurrence: mostly one. None when
/// no run says.
pub fn programs(results: &[RunResult]) -> Option<String> {
    let programs = results.iter().filter_map(|run| run.program.as_deref());
    let programs = Vec::from_iter(programs.collect::<IndexSet<_>>());
    (!programs.is_empty()).then(|| programs.join(", "))
}

/// The value of a parameter.
pub(crate) fn value<'a>(params: &'a [(String, String)], field: &str) -> Option<&'a str> {
    let pair = params.iter().find(|(key, _)| key == field);
    pair.map(|(_, value)| value.as_str())
}

/// The label of a cell by the parts that were varied, which have these names.
fn label(
    params: &[(String, String)],
    parts: &[Varied<'_>],
    names: &[String],
    cell: usize,
) -> String {
    match parts {
        [] if params.is_empty() => "the cell".to_owned(),
        [] => params_text(params),
        [one] if one.values.iter().all(|value| is_word(value)) => one.values[cell].clone(),
        many => {
            let parts = many
                .iter()
                .zip(names)
                .map(|(part, name)| format!("{name} {}", part.values[cell]));
            parts.collect::<Vec<_>>().join(" · ")
        }
    }
}

/// Whether a value says what it is, as a queue's name does; a number and a boolean do not.
fn is_word(value: &str) -> bool {
    value.starts_with(|first: char| first.is_alphabetic()) && !["true", "false"].contains(&value)
}

/// Numbers of colours for cells, by what each has of the choice, where so many `parts` were varied.
fn colours(cells: &[&str], parts: usize) -> Vec<usize> {
    if cells.len() <= 8 || parts < 2 {
        return colours_of(cells.iter().copied());
    }
    let choices: IndexSet<&str> = cells.iter().copied().collect();
    let colours = colours_of(choices.iter().copied());
    let of = |cell: &&str| colours[choices.get_index_of(cell).expect("it is one of them")];
    cells.iter().map(of).collect()
}

/// Queues that have the same colour on every page, by the first word of their strings.
const OWN_COLOURS: [(&str, usize); 13] = [
    ("fq_codel", 0),
    ("red", 1),
    ("codel", 2),
    ("fq_pie", 3),
    ("pie", 4),
    ("gsp", 5),
    ("adth", 5),
    ("cake", 6),
    ("pfifo", 7),
    ("bfifo", 7),
    ("pfifo_head_drop", 7),
    ("fifo", 7),
    ("droptail", 7),
];

/// Numbers of colours for things that are compared, one each: a queue's own, as long as no other
/// here has it, the next that is free otherwise.
pub fn colours_of<'a>(names: impl IntoIterator<Item = &'a str>) -> Vec<usize> {
    let own = |name: &str| {
        let word = name
            .split_whitespace()
            .next()
            .unwrap_or_default()
            .to_ascii_lowercase()
            .replace('-', "_");
        let found = OWN_COLOURS.iter().find(|(queue, _)| *queue == word);
        found.map(|(_, colour)| *colour)
    };
    let mut taken = IndexSet::new();
    let wanted: Vec<_> = names
        .into_iter()
        .map(own)
        .map(|colour| colour.filter(|colour| taken.insert(*colour)))
        .collect();
    let colour = |colour: Option<usize>| {
        colour.unwrap_or_else(|| {
            let mut free = (0..).filter(|colour| !taken.contains(colour));
            let colour = free.next().expect("numbers do not end");
            taken.insert(colour);
            colour
        })
    };
    wanted.into_iter().map(colour).collect()
}

/// For each part the last word of its fields' paths, or the whole [name](Varied::name) where its
/// fields end differently or another part ends alike.
pub(crate) fn short_names(parts: &[Varied<'_>]) -> Vec<String> {
    let last = |path: &str| path.rsplit('.').next().unwrap_or(path).to_owned();
    let ends = |part: &Varied<'_>| -> BTreeSet<String> {
        part.fields.iter().map(|field| last(field)).collect()
    };
    let short = |part: &Varied<'_>| {
        let own = ends(part);
        let alike = parts.iter().filter(|other| !ends(other).is_disjoint(&own));
        match own.first() {
            Some(only) if own.len() == 1 && alike.count() == 1 => only.clone(),
            _ => part.name(),
        }
    };
    parts.iter().map(short).collect()
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use sojourn_world::{Aggregate, Cost};

    pub(crate) fn run(params: &[(&str, &str)]) -> RunResult {
        let params = params
            .iter()
            .map(|(k, v)| ((*k).to_owned(), (*v).to_owned()));
        RunResult {
            world: WorldName::new("sim"),
            seed: 1,
            params: params.collect(),
            links: Vec::new(),
            flows: Vec::new(),
            aggregate: Aggregate::default(),
            cost: Cost::default(),
            digest: 0,
            radio: None,
            program: None,
        }
    }

    #[test]
    fn labels_say_what_differs() {
        let one = [
            run(&[("q", "pie"), ("d", "1s")]),
            run(&[("q", "fq_pie"), ("d", "1s")]),
        ];
        assert_eq!(Labels::of(&one).cells, ["pie", "fq_pie"]);
        assert_eq!(Labels::of(&one[..1]).cells, ["q=pie d=1s"]);
        let counts = ["4", "64"].map(|count| run(&[("flow.up.count", count), ("q", "pie")]));
        assert_eq!(Labels::of(&counts).cells, ["count 4", "count 64"]);
        let two = [
            run(&[
                ("up.queue", "pie"),
                ("down.queue", "a b"),
                ("net.rtt", "1ms"),
            ]),
            run(&[("up.queue", "red"), ("down.queue", "c"), ("net.rtt", "2ms")]),
            run(&[
                ("up.queue", "pie"),
                ("down.queue", "a b"),
                ("net.rtt", "1ms"),
            ]),
        ];
        // The three change together, so that one value says which cell it is.
        let expected = ["pie / a b / 1ms", "red / c / 2ms"];
        assert_eq!(Labels::of(&two).cells, expected);
        assert_eq!(Labels::of(&two).numbers, [0, 1, 0]);
        assert_eq!(
            params_text(&two[0].params),
            "up.queue=pie down.queue=\"a b\" net.rtt=1ms"
        );
    }

    #[test]
    fn parts_of_a_sweep_have_their_names() {
        let cell = |up, down, rtt| run(&[("up.queue", up), ("down.queue", down), ("net.rtt", rtt)]);
        let grid = [
            cell("pie", "pie", "1ms"),
            cell("red", "pie", "1ms"),
            cell("pie", "red", "1ms"),
            cell("pie", "red", "2ms"),
            cell("red", "red", "2ms"),
        ];
        assert_eq!(
            Labels::of(&grid).cells[1],
            "up.queue red · down.queue pie · rtt 1ms"
        );
        let zipped = [
            cell("pie", "pie", "1ms"),
            cell("pie", "pie", "2ms"),
            cell("cake 1mbit nat", "cake 2mbit nat", "1ms"),
            cell("cake 1mbit nat", "cake 2mbit nat", "2ms"),
        ];
        let expected = [
            "queue pie · rtt 1ms",
            "queue pie · rtt 2ms",
            "queue cake 1mbit / 2mbit nat · rtt 1ms",
            "queue cake 1mbit / 2mbit nat · rtt 2ms",
        ];
        assert_eq!(Labels::of(&zipped).cells, expected);
    }

    #[test]
    fn many_cells_share_the_colours_of_the_first_parameter() {
        let cells: Vec<_> = (0..10)
            .map(|i| {
                run(&[
                    ("q", if i < 5 { "pie" } else { "red" }),
                    ("rtt", &(i % 5).to_string()),
                ])
            })
            .collect();
        assert_eq!(Labels::of(&cells).colours, [4, 4, 4, 4, 4, 1, 1, 1, 1, 1]);
        assert_eq!(Labels::of(&cells[3..6]).colours, [4, 0, 1]);
    }

    #[test]
    fn a_queue_has_one_colour_everywhere() {
        let demo = ["pfifo limit 490", "pie", "fq_codel", "fq_pie"];
        assert_eq!(colours_of(demo), [7, 4, 0, 3]);
        assert_eq!(
            colours_of(["fq_codel target 5ms", "fq_codel", "red"]),
            [0, 2, 1]
        );
        let many: IndexSet<usize> = colours_of(["x"; 12]).into_iter().collect();
        assert_eq!(many.len(), 12);
    }
}
