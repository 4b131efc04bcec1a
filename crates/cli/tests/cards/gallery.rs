//! The gallery: a page that sets the cards side by side, a table for each kind of traffic.

use crate::data::{ALL_SEEDS, CardData, Mean};
use std::fmt::Write as _;

/// Which value of a measure is better.
#[derive(Clone, Copy)]
enum Better {
    Low,
    High,
    /// A ratio of two flows: as far from one above as below.
    Equal,
}

impl Better {
    /// The lower the better.
    fn rank(self, mean: f64) -> f64 {
        match self {
            Self::Low => mean,
            Self::High => -mean,
            Self::Equal => mean.max(1.0 / mean),
        }
    }

    const fn word(self) -> &'static str {
        match self {
            Self::Low => "low",
            Self::High => "high",
            Self::Equal => "near 1",
        }
    }
}

/// One measure of a cell.
struct Column {
    title: &'static str,
    /// The case, what its cell was run with, and how the measure begins.
    of: (&'static str, &'static str, &'static str),
    better: Better,
}

const fn column(
    title: &'static str,
    of: (&'static str, &'static str, &'static str),
    better: Better,
) -> Column {
    Column { title, of, better }
}

/// A kind of traffic, and what is asked of it. Three columns fit on a telephone.
struct Question {
    title: &'static str,
    text: &'static str,
    columns: [Column; 3],
}

use Better::{Equal, High, Low};

const QUEUES: &[Question] = &[
    Question {
        title: "A call and a game beside transfers",
        text: "A call, a game, a stream, files of 500 kB and two bulk transfers share one link.",
        columns: [
            column("MOS of the call", ("mix", "", "the call's MOS"), High),
            column("lag of the game, ms", ("mix", "", "the game's lag"), Low),
            column("500 kB, ms", ("mix", "", "completion of 500 kB"), Low),
        ],
    },
    Question {
        title: "Short transfers beside a long one",
        text: "Files of 100 kB, four per second, compete with one bulk transfer.",
        columns: [
            column(
                "100 kB, mean ms",
                ("short", "", "completion of 100 kB, mean"),
                Low,
            ),
            column(
                "100 kB, p95 ms",
                ("short", "", "completion of 100 kB, p95"),
                Low,
            ),
            column(
                "the long one, Mbit/s",
                ("short", "", "goodput of the long"),
                High,
            ),
        ],
    },
    Question {
        title: "Bursts beside a transfer",
        text: "Web pages, files of 30 kB and a steady UDP stream compete with one bulk transfer.",
        columns: [
            column("page, ms", ("burst", "", "page load"), Low),
            column("30 kB, p95 ms", ("burst", "", "completion of 30 kB"), Low),
            column(
                "loss of the stream, %",
                ("burst", "", "loss of the steady"),
                Low,
            ),
        ],
    },
    Question {
        title: "A few transfers",
        text: "Four bulk transfers use CUBIC, without ECN.",
        columns: [
            column(
                "queue delay, p95 ms",
                ("congestion", "count 4", "queue delay, p95"),
                Low,
            ),
            column(
                "utilisation, %",
                ("congestion", "count 4", "utilization"),
                High,
            ),
            column(
                "dropped, %",
                ("congestion", "count 4", "packets dropped"),
                Low,
            ),
        ],
    },
    Question {
        title: "Many transfers",
        text: "64 bulk transfers run at once.",
        columns: [
            column(
                "probe, p95 ms",
                ("congestion", "count 64", "induced RTT"),
                Low,
            ),
            column(
                "dropped, %",
                ("congestion", "count 64", "packets dropped"),
                Low,
            ),
            column("Jain's index", ("congestion", "count 64", "Jain"), High),
        ],
    },
    Question {
        title: "Transfers with ECN",
        text: "Four bulk transfers use CUBIC with ECN.",
        columns: [
            column(
                "queue delay, p95 ms",
                ("ecn", "ecn true", "queue delay, p95"),
                Low,
            ),
            column("utilisation, %", ("ecn", "ecn true", "utilization"), High),
            column("dropped, %", ("ecn", "ecn true", "packets dropped"), Low),
        ],
    },
    Question {
        title: "L4S beside classic traffic",
        text: "Prague, CUBIC with ECN and a game with ECT(1) share a link of 40 Mbit/s, at 20 ms.",
        columns: [
            column("Prague, p99 ms", ("l4s", "", "induced RTT of the L4S"), Low),
            column("Prague / CUBIC", ("l4s", "", "L4S flow / classic"), Equal),
            column("lag of the game, ms", ("l4s", "", "lag of the game"), Low),
        ],
    },
    Question {
        title: "Unfair and unresponsive senders",
        text: "Reno competes with BBRv3; CUBIC with UDP at one and a half times the link rate; \
               CUBIC at 100 ms with CUBIC at 20 ms.",
        columns: [
            column(
                "BBRv3 / Reno",
                ("aggressive", "cc bbr3", "aggressive / friendly"),
                Equal,
            ),
            column(
                "beside UDP, Mbit/s",
                ("unresponsive", "interval 533us", "goodput of the friendly"),
                High,
            ),
            column("20 ms / 100 ms", ("rtt", "rtt 20ms", "other RTT"), Equal),
        ],
    },
    Question {
        title: "A line whose rate changes",
        text: "The link has 10 Mbit/s, then 2, then 10 again. In a second case a flow starts later \
               and needs time to get its share.",
        columns: [
            column(
                "queue delay, p99 ms",
                ("capacity", "", "queue delay, p99"),
                Low,
            ),
            column("probe, p95 ms", ("capacity", "", "induced RTT"), Low),
            column("share after, s", ("start", "", "the later flow"), Low),
        ],
    },
];

const CONTROLS: &[Question] = &[
    Question {
        title: "Alone before a deep buffer",
        text: "One flow has a buffer of ten bandwidth-delay products.",
        columns: [
            column(
                "goodput, Mbit/s",
                ("alone", "qdisc pfifo limit 350", "goodput of"),
                High,
            ),
            column(
                "queue delay, p95 ms",
                ("alone", "qdisc pfifo limit 350", "queue delay, p95"),
                Low,
            ),
            column(
                "retransmitted, %",
                ("alone", "qdisc pfifo limit 350", "retransmitted"),
                Low,
            ),
        ],
    },
    Question {
        title: "Alone before a shallow buffer",
        text: "One flow has a buffer of a third of a bandwidth-delay product.",
        columns: [
            column(
                "goodput, Mbit/s",
                ("alone", "qdisc pfifo limit 12", "goodput of"),
                High,
            ),
            column(
                "queue delay, p95 ms",
                ("alone", "qdisc pfifo limit 12", "queue delay, p95"),
                Low,
            ),
            column(
                "retransmitted, %",
                ("alone", "qdisc pfifo limit 12", "retransmitted"),
                Low,
            ),
        ],
    },
    Question {
        title: "A line that loses packets",
        text: "The values are the goodput of one flow, in Mbit/s, with random loss.",
        columns: [
            column("0.1 % lost", ("loss", "loss 0.1%", "goodput of"), High),
            column("1 % lost", ("loss", "loss 1%", "goodput of"), High),
            column("5 % lost", ("loss", "loss 5%", "goodput of"), High),
        ],
    },
    Question {
        title: "Beside CUBIC",
        text: "The values are the goodput divided by that of a competing CUBIC flow: with FIFOs of \
               one and four bandwidth-delay products, and under `fq_codel`.",
        columns: [
            column(
                "1 BDP",
                ("beside", "cc cubic, qdisc pfifo limit 35", "new / old"),
                Equal,
            ),
            column(
                "4 BDP",
                ("beside", "cc cubic, qdisc pfifo limit 140", "new / old"),
                Equal,
            ),
            column("fq_codel", ("queues", "qdisc fq_codel", "new / old"), Equal),
        ],
    },
    Question {
        title: "Beside a call, and itself",
        text: "A call competes with one flow; eight flows of the control share the link; two flows \
               have 160 and 20 ms.",
        columns: [
            column("MOS of the call", ("call", "", "the call's MOS"), High),
            column("Jain, 8 flows", ("among-itself", "count 8", "Jain"), High),
            column("160 / 20 ms", ("rtt", "", "160 ms / 20 ms"), Equal),
        ],
    },
    Question {
        title: "Short flows, reordering, a path that changes",
        text: "Files of 100 kB compete with CUBIC; packets are reordered; the rate falls to a fifth.",
        columns: [
            column("100 kB, ms", ("short", "", "completion of 100 kB"), Low),
            column("reordered, Mbit/s", ("order", "", "goodput of"), High),
            column("changes: p99 ms", ("changes", "", "queue delay, p99"), Low),
        ],
    },
];

/// The page.
pub(crate) fn page(queues: &[CardData], controls: &[CardData]) -> String {
    let mut text = String::from(BEGIN);
    section(
        &mut text,
        "Which queue for which traffic",
        "queue",
        QUEUES,
        queues,
    );
    section(
        &mut text,
        "Which congestion control",
        "control",
        CONTROLS,
        controls,
    );
    text.push_str(END);
    text
}

const BEGIN: &str = "\
# Queues and congestion controls side by side

These tables help to choose a queue or a congestion control for your traffic. Each table shows one
kind of traffic. There is no single score. A value is the mean over 10 seeds in the simulator. Its
95 % confidence interval is shown if it reaches the last digit of the mean.

**Bold** marks the best value of a column, and every value whose distance from the best is at most
the sum of both intervals. “7 of 10” means that only 7 of 10 runs have a value; such values are not
compared. `–` means that no run has a value, because the flow did not get that far. The link has 10
Mbit/s and the disciplines have their defaults, unless noted.

`sojourn evaluate --qdisc 'YOUR QUEUE'` measures your own queue; [Measure a queue or a congestion
control](evaluate.md) describes the cases. The [cards](#data) have all measures of all cases.
";

const END: &str = "
## Data

The folder `cards/` of the source has a file for each queue and control, with every measure of every
case in four digits. `command` is the command that makes the file again. `digest` is a hash (FNV-1a)
of the file's cases. It does not depend on the version of the program: equal digests mean equal
figures.

```
{ \"format\": \"sojourn-cards/1\", \"command\", \"world\", \"digest\",
  \"cases\": { CASE: { \"source\", \"measures\": [NAME [UNIT], ...],
      \"cells\": [ [WITH, [MEAN, CI95] or [MEAN, CI95, RUNS], ...], ... ] } } }
```

`make cards` makes all files and this page again, in a few minutes. A test runs a part of each card
again and compares it digit for digit.
";

fn section(text: &mut String, title: &str, what: &str, questions: &[Question], cards: &[CardData]) {
    let _ = write!(
        text,
        "\n## {title}\n\n| traffic | measure | best, or not distinguishable from it |\n| --- | --- | --- |\n"
    );
    for question in questions {
        let link = format!("[{}](#{})", question.title, anchor(question.title));
        for (index, column) in question.columns.iter().enumerate() {
            let traffic = if index == 0 { link.as_str() } else { "" };
            let best = best(column, cards);
            let best = cards.iter().zip(best).filter(|(_, is_best)| *is_best);
            let names: Vec<_> = best.map(|(card, _)| format!("`{}`", card.name)).collect();
            let _ = writeln!(
                text,
                "| {traffic} | {} | {} |",
                column.title,
                names.join(" ")
            );
        }
    }
    for question in questions {
        table(text, what, question, cards);
    }
    let options: Vec<_> = cards
        .iter()
        .filter(|card| card.name != card.spec)
        .map(|card| format!("`{}`", card.spec))
        .collect();
    if !options.is_empty() {
        let _ = write!(text, "\nWith options: {}.\n", options.join(",\n"));
    }
}

fn table(text: &mut String, what: &str, question: &Question, cards: &[CardData]) {
    let columns = &question.columns;
    let (title, about) = (question.title, wrapped(question.text));
    let _ = write!(text, "\n### {title}\n\n{about}\n\n| {what} |");
    for column in columns {
        let _ = write!(text, " {} ({}) |", column.title, column.better.word());
    }
    text.push_str("\n| --- | ---: | ---: | ---: |\n");
    let best: Vec<_> = columns.iter().map(|it| best(it, cards)).collect();
    for (index, card) in cards.iter().enumerate() {
        let _ = write!(text, "| `{}` |", card.name);
        for (column, best) in columns.iter().zip(&best) {
            let (case, with, measure) = column.of;
            let shown = card.measure(case, with, measure).map(shown);
            match shown {
                Some(shown) if best[index] => _ = write!(text, " **{shown}** |"),
                Some(shown) => _ = write!(text, " {shown} |"),
                None => text.push_str(" – |"),
            }
        }
        text.push('\n');
    }
    let cases: Vec<_> = columns.iter().map(|column| column.of.0).collect();
    let mut named: Vec<_> = cases.iter().map(|case| format!("`{case}`")).collect();
    named.dedup();
    let word = if named.len() == 1 { "Case" } else { "Cases" };
    let _ = writeln!(text, "\n{word} {}.", named.join(", "));
}

/// Which cards are the best of a column, or do not differ from it. Those of which only some runs
/// have a value are not compared.
fn best(column: &Column, cards: &[CardData]) -> Vec<bool> {
    let (case, with, measure) = column.of;
    let compared: Vec<_> = cards
        .iter()
        .map(|card| {
            let own = card.measure(case, with, measure)?;
            let ci95 = own.ci95.filter(|_| own.runs == ALL_SEEDS)?;
            Some((column.better.rank(own.value), ci95))
        })
        .collect();
    let first = *{ compared.iter().flatten() }
        .min_by(|a, b| a.0.total_cmp(&b.0))
        .unwrap_or_else(|| panic!("no card has `{measure}` in `{case}`"));
    let is_best =
        |own: &Option<(f64, f64)>| own.is_some_and(|own| own.0 - first.0 <= own.1 + first.1);
    compared.iter().map(is_best).collect()
}

/// A value in three digits, with its interval.
fn shown(Mean { value, ci95, runs }: Mean) -> String {
    let mut text = sojourn_report::significant(value, 3);
    let decimals = |text: &str| text.split_once('.').map_or(0, |(_, after)| after.len());
    let places = decimals(&text);
    let last = (0..places).fold(1.0, |last, _| last / 10.0);
    // No finer than the mean: two digits of a tiny interval would say nothing.
    if let Some(ci95) = ci95.filter(|ci95| 2.0 * ci95 >= last) {
        let two = sojourn_report::significant(ci95, 2);
        if decimals(&two) > places {
            let _ = write!(text, " ± {ci95:.places$}");
        } else {
            let _ = write!(text, " ± {two}");
        }
    }
    if runs < ALL_SEEDS {
        let _ = write!(text, " ({runs} of {ALL_SEEDS})");
    }
    text
}

/// A heading's anchor.
fn anchor(title: &str) -> String {
    let kept = title
        .chars()
        .filter(|it| it.is_alphanumeric() || " -".contains(*it));
    kept.collect::<String>().to_lowercase().replace(' ', "-")
}

/// In lines of 100 characters at most.
fn wrapped(text: &str) -> String {
    let mut lines = vec![String::new()];
    for word in text.split(' ') {
        let line = lines.last_mut().expect("there is one");
        if line.is_empty() {
            line.push_str(word);
        } else if line.len() + word.len() < 100 {
            let _ = write!(line, " {word}");
        } else {
            lines.push(word.to_owned());
        }
    }
    lines.join("\n")
}
