//! Names of cells for people: what differs between them, and no more.

use indexmap::IndexSet;
use sojourn_world::{RunResult, WorldName};
use std::collections::BTreeMap;

/// What the runs of a result are called and how they are told apart, made once for a page and its
/// table.
pub(crate) struct Labels<'a> {
    /// The runs.
    pub(crate) results: &'a [RunResult],
    /// The parameters that occur, in the order of their first occurrence.
    pub(crate) fields: IndexSet<&'a str>,
    /// The parameters that differ between cells.
    pub(crate) varying: Vec<&'a str>,
    /// The swept field whose values are compared: a queue's, or else the first; none without a
    /// sweep.
    pub(crate) choice: Option<&'a str>,
    /// Number of the cell of every run: equal parameters, equal numbers, from zero in the order of
    /// first occurrence.
    pub(crate) numbers: Vec<usize>,
    /// Label of every cell, by its number: of the parameters that differ, the bare value when it is
    /// one, `field value` otherwise.
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
        let params = results.iter().flat_map(|run| &run.params);
        let fields: IndexSet<&str> = params.map(|(field, _)| field.as_str()).collect();
        let varying = varying(results, &fields);
        let queue = varying.iter().find(|field| field.ends_with("qdisc"));
        let choice = queue.or(varying.first()).copied();
        let mut cells = IndexSet::new();
        let number = |run: &'a RunResult| cells.insert_full(&run.params).0;
        let numbers = results.iter().map(number).collect();
        let labels = cells.iter().map(|params| label(params, &varying));
        let chosen = cells.iter().map(|params| {
            let value = choice.and_then(|field| value(params, field));
            value.unwrap_or_default()
        });
        Self {
            results,
            cells: labels.collect(),
            colours: colours(&chosen.collect::<Vec<_>>(), varying.len()),
            fields,
            varying,
            choice,
            numbers,
            worlds: results.iter().map(|run| &run.world).collect(),
        }
    }

    /// Number of the cell that has these parameters.
    pub(crate) fn number_of(&self) -> BTreeMap<&'a Vec<(String, String)>, usize> {
        let runs = self.results.iter().map(|run| &run.params);
        runs.zip(self.numbers.iter().copied()).collect()
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

fn value<'a>(params: &'a [(String, String)], field: &str) -> Option<&'a str> {
    let pair = params.iter().find(|(key, _)| key == field);
    pair.map(|(_, value)| value.as_str())
}

fn varying<'a>(results: &[RunResult], fields: &IndexSet<&'a str>) -> Vec<&'a str> {
    let differs = |field: &&str| {
        let first = results.first().and_then(|run| value(&run.params, field));
        results.iter().any(|run| value(&run.params, field) != first)
    };
    fields.iter().copied().filter(differs).collect()
}

/// The label of a cell by the parameters that differ between cells.
fn label(params: &[(String, String)], varying: &[&str]) -> String {
    match varying {
        [] if params.is_empty() => "the cell".to_owned(),
        [] => params_text(params),
        [one] => value(params, one).unwrap_or("default").to_owned(),
        many => {
            let parts = many.iter().filter_map(|field| {
                let short = short(field, many);
                value(params, field).map(|value| format!("{short} {value}"))
            });
            parts.collect::<Vec<_>>().join(" · ")
        }
    }
}

/// Numbers of colours for cells, by what each has of the choice; `varying` parameters differ.
fn colours(cells: &[&str], varying: usize) -> Vec<usize> {
    if cells.len() <= 8 || varying < 2 {
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
        let word = name.split_whitespace().next().unwrap_or_default();
        let word = word.to_ascii_lowercase().replace('-', "_");
        let found = OWN_COLOURS.iter().find(|(queue, _)| *queue == word);
        found.map(|(_, colour)| *colour)
    };
    let mut taken = IndexSet::new();
    let wanted = names.into_iter().map(own);
    let wanted: Vec<_> = wanted
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

/// The last part of a field's path, or the whole path where two fields end alike.
fn short<'a>(field: &'a str, all: &[&str]) -> &'a str {
    fn last(path: &str) -> &str {
        path.rsplit('.').next().unwrap_or(path)
    }
    let alike = all.iter().filter(|other| last(other) == last(field));
    if alike.count() > 1 {
        field
    } else {
        last(field)
    }
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
        let expected = [
            "up.queue pie · down.queue a b · rtt 1ms",
            "up.queue red · down.queue c · rtt 2ms",
        ];
        assert_eq!(Labels::of(&two).cells, expected);
        assert_eq!(Labels::of(&two).numbers, [0, 1, 0]);
        assert_eq!(
            params_text(&two[0].params),
            "up.queue=pie down.queue=\"a b\" net.rtt=1ms"
        );
    }

    #[test]
    fn many_cells_share_the_colours_of_the_first_parameter() {
        let cells: Vec<_> = (0..9)
            .map(|i| {
                run(&[
                    ("q", if i < 5 { "pie" } else { "red" }),
                    ("rtt", &i.to_string()),
                ])
            })
            .collect();
        assert_eq!(Labels::of(&cells).colours, [4, 4, 4, 4, 4, 1, 1, 1, 1]);
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
