//! The tables and keys of `study.toml`: one list, by which the reader knows keys and from which the
//! JSON Schema is made (`src/format/schema.rs`).
//!
//! Not here: what a key's value may say beyond its form. The reader asks the scenarios for that.

mod schema;

pub use schema::schema;

use crate::mark::Cause;

/// The only format so far.
pub(crate) const FORMAT: &str = "sojourn-study/1";

/// What fits a short name ([`short_name`](sojourn_scenario::read::short_name)).
const NAME: &str = "^[A-Za-z0-9_-]{1,64}$";

/// A table, and what it is for.
pub(crate) struct Table {
    about: &'static str,
    keys: &'static [Key],
    /// Whether it has a key for each world but the first, too.
    by_world: bool,
}

/// A key of a table.
pub(crate) struct Key {
    name: &'static str,
    form: Form,
    needed: bool,
    meaning: &'static str,
}

/// What a value looks like.
enum Form {
    Text,
    /// Text that fits a regular expression.
    Like(&'static str),
    Word(&'static [&'static str]),
    Flag,
    /// From 1 on.
    Count,
    /// A text or a number: a value as a sweep has it.
    Scalar,
    /// The name of a world.
    World,
    /// The unit of a column.
    Unit,
    List(&'static Form),
    /// A table whose keys the study makes up.
    Named(&'static Form),
    Table(&'static Table),
    /// A table whose `kind` says which keys it has.
    Kinds(&'static [Variant]),
    Either(&'static [Form]),
    /// A table of fields with their values, nested or not.
    Fields,
}

/// Tables with one word at `kind`.
pub(crate) struct Variant {
    /// None: without `kind`.
    word: Option<&'static str>,
    about: &'static str,
    keys: &'static [&'static [Key]],
}

const fn must(name: &'static str, form: Form, meaning: &'static str) -> Key {
    Key {
        name,
        form,
        needed: true,
        meaning,
    }
}

const fn may(name: &'static str, form: Form, meaning: &'static str) -> Key {
    Key {
        needed: false,
        ..must(name, form, meaning)
    }
}

impl Table {
    /// The names of its keys.
    pub(crate) fn names(&self) -> Vec<&'static str> {
        self.keys.iter().map(|key| key.name).collect()
    }
}

impl Variant {
    /// The kind that a word names; none: the one without.
    pub(crate) fn of(kinds: &'static [Self], word: Option<&str>) -> Option<&'static Self> {
        kinds.iter().find(|kind| kind.word == word)
    }

    /// The words that there are.
    pub(crate) fn words(kinds: &[Self]) -> Vec<&'static str> {
        kinds.iter().filter_map(|kind| kind.word).collect()
    }

    /// The names of its keys.
    pub(crate) fn names(&self) -> Vec<&'static str> {
        let own = self.keys.iter().copied().flatten().map(|key| key.name);
        std::iter::once("kind").chain(own).collect()
    }
}

pub(crate) const STUDY: Table = Table {
    about: "A published study: its scenarios, what it says of them, and what its page shows.",
    keys: &[
        must(
            "format",
            Form::Word(&[FORMAT]),
            "The version of this format.",
        ),
        must(
            "name",
            Form::Like(NAME),
            "Short name, as in file names and results: of the characters a-z A-Z 0-9 - _.",
        ),
        must("title", Form::Text, "One line for people."),
        may(
            "description",
            Form::Text,
            "A longer description. Default: empty.",
        ),
        must("source", Form::Text, "Where the study was published."),
        may(
            "link",
            Form::Text,
            "The link that is meant where a figure names none; one of the scenarios'.",
        ),
        may(
            "flow",
            Form::Text,
            "The flows that are meant where a figure names none: a name or a pattern such as \
                `ftp-*`; one at least fits. Default `*`.",
        ),
        must(
            "setting",
            Form::List(&Form::Table(&SETTING)),
            "The study's scenarios, under the study's names.",
        ),
        may(
            "axes",
            Form::Named(&Form::Either(&[Form::Text, Form::Named(&Form::Fields)])),
            "Short names for what the scenarios sweep: the field, whose values are the axis' \
                own, or a table of named values, each with the fields that make it.",
        ),
        may(
            "sets",
            Form::Named(&Form::Named(&Form::List(&Form::Scalar))),
            "Some values of an axis, under a name.",
        ),
        may(
            "reference",
            Form::List(&Form::Table(&REFERENCE)),
            "Values measured elsewhere, in CSV files beside the study.",
        ),
        may(
            "define",
            Form::Named(&Form::Text),
            "Quantities under a name; a later one may use an earlier one.",
        ),
        may(
            "claim",
            Form::List(&Form::Table(&CLAIM)),
            "What the study found, with checks that decide.",
        ),
        may(
            "chart",
            Form::List(&Form::Kinds(CHARTS)),
            "The pictures of the page.",
        ),
        may(
            "table",
            Form::List(&Form::Kinds(TABLES)),
            "The tables of the page.",
        ),
    ],
    by_world: false,
};

pub(crate) const SETTING: Table = Table {
    about: "A scenario of the study. A key with a world's name is the part of it that runs \
        there.",
    keys: &[
        must("name", Form::Like(NAME), "What the study calls it."),
        may(
            "slow",
            Form::Flag,
            "Whether `--quick` leaves it out. Default false.",
        ),
        may(
            "on_request",
            Form::Flag,
            "Whether it is run only with `--all`, or with `--claims` for a claim about it. Default \
                false.",
        ),
        must(
            "scenario",
            Form::Text,
            "File beside the study, for the simulated world.",
        ),
    ],
    by_world: true,
};

pub(crate) const REFERENCE: Table = Table {
    about: "Values measured elsewhere. The file's first line names its columns: axes of the \
        study, quantities with a unit, and `seed`.",
    keys: &[
        must("name", Form::Text, "Its name in checks: `ref.NAME.COLUMN`."),
        must("file", Form::Text, "CSV file beside the study."),
        must("source", Form::Text, "Who measured it, and how."),
        must(
            "unit",
            Form::Either(&[Form::Unit, Form::Named(&Form::Unit)]),
            "The unit of each quantity's column; a text when there is one only.",
        ),
    ],
    by_world: false,
};

pub(crate) const CLAIM: Table = Table {
    about: "One finding of the study.",
    keys: &[
        must(
            "id",
            Form::Text,
            "`R1`, for example; no other claim has it.",
        ),
        must(
            "setting",
            Form::Text,
            "Name of the setting that it is about.",
        ),
        must("statement", Form::Text, "What was found, in words."),
        must("published", Form::Text, "The published values, in words."),
        may(
            "own",
            Form::Flag,
            "Whether it is no statement of the source but one of ours, which is counted apart. \
                Default: false.",
        ),
        may(
            "seeds",
            Form::Count,
            "The least number of seeds that it can be judged with. Default 1; 3 where a check \
                compares two figures.",
        ),
        may(
            "world",
            Form::Either(&[Form::World, Form::List(&Form::World)]),
            "The worlds that it can be judged in. Default: all.",
        ),
        must(
            "check",
            Form::List(&Form::Either(&[Form::Text, Form::Table(&EXPECTED)])),
            "Relations that must hold, in the language of checks.",
        ),
    ],
    by_world: false,
};

pub(crate) const EXPECTED: Table = Table {
    about: "A check that is known to fail somewhere.",
    keys: &[
        must("holds", Form::Text, "The check."),
        may(
            "deviation",
            Form::Either(&[Form::Table(&MARK), Form::List(&Form::Table(&MARK))]),
            "Why it fails and how far; of several marks the first whose conditions hold.",
        ),
    ],
    by_world: false,
};

pub(crate) const MARK: Table = Table {
    about: "A known deviation.",
    keys: &[
        must(
            "verdict",
            Form::Word(&Cause::WORDS),
            "What it is put down to: an independent `reference` gives what we do, our `model` is \
                at fault, or it is `open`.",
        ),
        must(
            "why",
            Form::Text,
            "The reason: a sentence for a reader who does not know the code.",
        ),
        may(
            "within",
            Form::Text,
            "How far it may go by the reference: a check with a number in it that must hold where \
                the other fails. Needed for the verdict `reference`.",
        ),
        may(
            "world",
            Form::Either(&[Form::World, Form::List(&Form::World)]),
            "The worlds that it is for. Default: all.",
        ),
        may(
            "reference",
            Form::Text,
            "What an independent implementation (a simulator, a kernel) or arithmetic gives, in a \
                sentence; needed where the verdict is `reference`.",
        ),
    ],
    by_world: false,
};

/// The keys of all charts, beside `kind`.
const CHART: &[Key] = &[
    must("title", Form::Text, "Above the chart."),
    must("setting", Form::Text, "Name of the setting that it shows."),
    may(
        "at",
        Form::Text,
        "What all its cells have in common: `codel, n=14`.",
    ),
    may("panels", Form::Text, "An axis: one panel for each value."),
    must("label", Form::Text, "Beside the vertical axis."),
    may(
        "x_label",
        Form::Text,
        "Below the horizontal axis. Default: its own name.",
    ),
];
const LINES: &[Key] = &[may(
    "lines",
    Form::Text,
    "An axis: one colour for each value.",
)];
const LOG: &[Key] = &[may(
    "log",
    Form::Word(&["x", "y", "xy"]),
    "The logarithmic axes. Default: none.",
)];
const ALONG: &[Key] = &[
    must("x", Form::Text, "The axis along which it goes."),
    must(
        "y",
        QUANTITIES,
        "A quantity, or a table of quantities with their names.",
    ),
    may(
        "reference",
        QUANTITIES,
        "What was measured elsewhere, likewise.",
    ),
];
const QUANTITIES: Form = Form::Either(&[Form::Text, Form::Named(&Form::Text)]);

pub(crate) const CHARTS: &[Variant] = &[
    Variant {
        word: Some("lines"),
        about: "Medians over seeds, joined, with a bar from the lowest to the highest seed.",
        keys: &[CHART, ALONG, LINES, LOG],
    },
    Variant {
        word: Some("bars"),
        about: "The same as bars, side by side for each value of `x`.",
        keys: &[CHART, ALONG, LINES, LOG],
    },
    Variant {
        word: Some("box"),
        about: "Quantiles 5, 25, 50, 75 and 95 %, each the median over seeds.",
        keys: &[
            CHART,
            LINES,
            LOG,
            &[
                must("x", Form::Text, "The axis along which it goes."),
                must("of", Form::Text, "A distribution, as `link.sojourn_ms`."),
                may(
                    "reference",
                    Form::Text,
                    "Its median as measured elsewhere: a mark on the box.",
                ),
            ],
        ],
    },
    Variant {
        word: Some("scatter"),
        about: "A point for each combination of `points`, with the range of the seeds both ways.",
        keys: &[
            CHART,
            LINES,
            LOG,
            &[
                may("points", Form::Text, "Axes: a point for each combination."),
                must("x", Form::Text, "The quantity to the right."),
                must("y", Form::Text, "The quantity upwards."),
            ],
        ],
    },
    Variant {
        word: Some("map"),
        about: "A field for each combination, shaded and with its value.",
        keys: &[
            CHART,
            &[
                must("x", Form::Text, "The axis to the right."),
                must("y", Form::Text, "The axis upwards."),
                must("value", Form::Text, "The quantity."),
            ],
        ],
    },
    Variant {
        word: Some("time"),
        about: "A series of the first seed.",
        keys: &[
            CHART,
            LINES,
            LOG,
            &[
                must(
                    "series",
                    Form::Either(&[Form::Text, Form::List(&Form::Text)]),
                    "The series: `goodput`, `rtt`, `cwnd`, `sojourn` and so on, or a list of \
                        them in one picture.",
                ),
                must("of", Form::Text, "A flow, a link, or a pattern."),
                may(
                    "reference",
                    QUANTITIES,
                    "Levels that were measured elsewhere: lines across.",
                ),
                may(
                    "between",
                    Form::Like(r"^ *[0-9.]+ *\.\. *[0-9.]+ *$"),
                    "The seconds of the run that are shown, as `180 .. 320`. Default: all.",
                ),
                may(
                    "scale",
                    Form::Text,
                    "A quantity by which the values are multiplied. Default: 1.",
                ),
            ],
        ],
    },
    Variant {
        word: Some("distribution"),
        about: "The cumulative distribution of the first seed.",
        keys: &[
            CHART,
            LINES,
            LOG,
            &[may(
                "of",
                Form::Text,
                "A distribution. Default: the sojourn time at the study's link.",
            )],
        ],
    },
];

/// The keys of all tables, beside `kind`.
const TABLE: &[Key] = &[
    must("title", Form::Text, "Above the table."),
    must("setting", Form::Text, "Name of the setting that it shows."),
];

pub(crate) const TABLES: &[Variant] = &[
    Variant {
        word: None,
        about: "A quantity over two axes.",
        keys: &[
            TABLE,
            &[
                must("rows", Form::Text, "An axis: a row for each value."),
                must("columns", Form::Text, "An axis: a column for each value."),
                must("value", Form::Text, "The quantity."),
            ],
        ],
    },
    Variant {
        word: Some("difference"),
        about: "Values measured elsewhere, ours, and how far ours are from them.",
        keys: &[
            TABLE,
            &[
                must("rows", Form::Text, "Axes: a row for each combination."),
                must("value", Form::Text, "Our quantity."),
                must("reference", Form::Text, "The one measured elsewhere."),
                may(
                    "above",
                    Form::Like("^ *[0-9.]+ *%$"),
                    "Differences above it need a reason. Default `10%`.",
                ),
                may(
                    "why",
                    Form::Named(&Form::Text),
                    "Reasons by row, or for `all` rows.",
                ),
            ],
        ],
    },
    Variant {
        word: Some("numbered"),
        about: "A quantity of numbered things: a row for each number, which stands for `{}`.",
        keys: &[
            TABLE,
            &[
                must("count", Form::Count, "The rows are 1 to this."),
                must("columns", Form::Text, "An axis: a column for each value."),
                must("value", Form::Text, "The quantity, with `{}` in it."),
                may(
                    "reference",
                    Form::Text,
                    "The one measured elsewhere, likewise.",
                ),
            ],
        ],
    },
];
