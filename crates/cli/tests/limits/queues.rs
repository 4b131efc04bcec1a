//! Strings of queues, each in the eighth line of a scenario.

use super::case::{Case, changed};

pub(crate) fn cases() -> Vec<Case> {
    let nested = |shaper: &str, n: usize| format!("{}fq_codel", shaper.repeat(n));
    let deep = "8:170: dumbbell.qdisc: more than 8 disciplines inside one another";
    let word = "w".repeat(900_000);
    let long = [
        (
            nested("tbf rate 1mbit burst 5kb over ", 20_000),
            "dumbbell.qdisc: more than 8 disciplines",
        ),
        (
            nested("htb rate 1mbit over ", 20_000),
            "dumbbell.qdisc: more than 8 disciplines",
        ),
        (
            nested("htb rate 1mbit over ", 8),
            "dumbbell.qdisc: more than 8 disciplines",
        ),
        (
            nested("steer over ", 50_000),
            "dumbbell.qdisc: more than 8 disciplines",
        ),
        (
            nested("steer over ", 2),
            "dumbbell.qdisc: steer has no delay target to steer",
        ),
        (
            nested("tbf ", 200_000),
            "dumbbell.qdisc: `tbf` is not an option of tbf",
        ),
        (
            nested("codel ", 150_000),
            "dumbbell.qdisc: `codel` is not an option of codel",
        ),
        (word.clone(), "dumbbell.qdisc: unknown discipline `www"),
        (format!("codel {word} 5ms"), "dumbbell.qdisc: `www"),
        (format!("codel target {word}"), "dumbbell.qdisc: `www"),
        (
            format!("codel limit {}", "9".repeat(900_000)),
            "dumbbell.qdisc: `999",
        ),
        (
            format!("codel target {}ms", "9".repeat(900_000)),
            "dumbbell.qdisc: `999",
        ),
        (
            " ".repeat(900_000),
            "dumbbell.qdisc: the discipline is missing",
        ),
        (
            format!("cake {}", "nat ".repeat(200_000)),
            "dumbbell.qdisc: `nat`",
        ),
    ];
    let short = [
        ("", "dumbbell.qdisc: the discipline is missing"),
        ("pye", "dumbbell.qdisc: unknown discipline `pye`"),
        ("\\u0000", "dumbbell.qdisc: unknown discipline `"),
        (
            "\u{1f600}",
            "dumbbell.qdisc: unknown discipline `\u{1f600}`",
        ),
        ("pfifo limit", "dumbbell.qdisc: `limit` needs a value"),
        (
            "pfifo limit -1",
            "dumbbell.qdisc: `-1` is not what `limit` takes",
        ),
        (
            "pfifo limit 99999999999999999999",
            "dumbbell.qdisc: `99999999999999999999` is not what",
        ),
        (
            "pfifo limit 4294967296",
            "dumbbell.qdisc: `limit 4294967296` is too large",
        ),
        (
            "pfifo limit 1.5",
            "dumbbell.qdisc: `1.5` is not what `limit` takes",
        ),
        (
            "pfifo limit 10 limit 20",
            "dumbbell.qdisc: `limit` is given twice",
        ),
        ("bfifo limit 2000tb", "dumbbell.qdisc: "),
        ("bfifo limit 1e300", "dumbbell.qdisc: "),
        ("codel target 5", "dumbbell.qdisc: `target 5` needs a unit"),
        ("codel target -5ms", "dumbbell.qdisc: "),
        ("codel target 1e300s", "dumbbell.qdisc: "),
        ("codel target nans", "dumbbell.qdisc: "),
        ("codel target infs", "dumbbell.qdisc: "),
        (
            "codel taregt 5ms",
            "dumbbell.qdisc: `taregt` is not an option of codel",
        ),
        (
            "codel ecn noecn",
            "dumbbell.qdisc: `ecn` or `noecn` is given twice",
        ),
        ("red", "dumbbell.qdisc: red needs "),
        ("red limit 1 avpkt 0", "dumbbell.qdisc: "),
        (
            "red limit 400kb min 9kb max 3kb avpkt 1000",
            "dumbbell.qdisc: ",
        ),
        ("pie target 0ms", "dumbbell.qdisc: "),
        ("fq_codel flows 0", "dumbbell.qdisc: `flows 0` is too small"),
        (
            "fq_codel flows 99999999",
            "dumbbell.qdisc: `flows 99999999` is too large",
        ),
        ("fq_codel quantum 0", "dumbbell.qdisc: "),
        (
            "fq_codel over pfifo",
            "dumbbell.qdisc: `over` is not an option of fq_codel",
        ),
        (
            "cake bandwidth 10%",
            "dumbbell.qdisc: `bandwidth` cannot be 10%",
        ),
        ("cake overhead 99999", "dumbbell.qdisc: "),
        ("cake besteffort diffserv4", "dumbbell.qdisc: "),
        ("htb", "dumbbell.qdisc: htb needs `rate`"),
        (
            "htb rate 1mbit over",
            "dumbbell.qdisc: the discipline is missing",
        ),
        (
            "tbf rate 1mbit burst 5kb",
            "dumbbell.qdisc: tbf needs `limit`",
        ),
        (
            "tbf rate 2mbit burst 5kb peakrate 1mbit mtu 1540 latency 50ms",
            "dumbbell.qdisc: `peakrate` is not above `rate`",
        ),
        (
            "steer over pfifo",
            "dumbbell.qdisc: pfifo has no delay target",
        ),
        (
            "steer util 99% ceiling 50%",
            "dumbbell.qdisc: `ceiling` is below `util`",
        ),
        ("tc qdisc add dev", "dumbbell.qdisc: `dev` needs a value"),
        ("netem delay 5ms", "dumbbell.qdisc: "),
    ];
    let short = short.map(|(words, says)| (words.to_owned(), says));
    let mut cases: Vec<Case> = long
        .into_iter()
        .chain(short)
        .map(|(words, says)| {
            let mut case = changed("\"fq_codel\"", &format!("\"{words}\""), "8:");
            says.clone_into(&mut case.says);
            case
        })
        .collect();
    cases.push(changed(
        "\"fq_codel\"",
        &format!("\"{}\"", nested("htb rate 1mbit over ", 9)),
        deep,
    ));
    cases
}
