use super::*;
use sojourn_bridge::{FailOpenState, Followed, PortState, Reflectors, Snapshot};
use sojourn_qdisc::{Dual, DualCounts, Field, Tally, Value};
use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

const FOLLOWED: Followed = Followed {
    rate: Rate::from_bps(20_000_000),
    delay: Span::from_millis(7),
};

/// A pair that answers, with a queue of four tins up.
fn answering() -> PairStats {
    let field = |name: &'static str, value| Field {
        name: name.into(),
        value,
    };
    let tin = |number: i64| {
        let fields = TINS.iter();
        fields
            .map(|(name, ..)| field(name, Value::Int(number)))
            .collect()
    };
    let mut reports = [Report::default(), Report::default()];
    reports[0].kind = "cake".into();
    reports[0].stats = vec![field("tins", Value::Groups((1..=4).map(tin).collect()))];
    reports[1].kind = "fq_codel".into();
    let mut stats = [SideStats::default(); 2];
    stats[1].queue.dropped = Tally {
        packets: 3,
        bytes: 4500,
    };
    stats[1].queue.drops[DropReason::Aqm as usize] = 3;
    stats[1].input.received = 17;
    let mut delays = [Delays::default(), Delays::default()];
    for micros in [20, 700, 700, 3_000_000] {
        delays[1].add(Span::from_micros(micros));
    }
    let counted = |packets| DualCounts {
        marked: packets,
        came_marked: 2 * packets,
        ..DualCounts::default()
    };
    let pair_of_queues = DualStats {
        dual: Dual {
            classic: counted(5),
            low: counted(70),
            probability: 0.25,
            coupled: 0.5,
            ..Dual::default()
        },
        delays: delays.clone(),
    };
    PairStats {
        name: "wan".into(),
        rates: [None, Some(Rate::from_bps(20_000_000))],
        snapshot: Some(Arc::new(Snapshot {
            names: ["a".into(), "b".into()],
            stats,
            reports,
            delays,
            duals: [None, Some(pair_of_queues)],
            port: PortState::Packet { refused: None },
            followed: [None, Some(FOLLOWED)],
            reflectors: Some(Reflectors {
                asked: 4,
                answer: 3,
                failed: None,
            }),
        })),
        fail_open: Arc::new(FailOpenState {
            ready: true,
            well: true,
            text: String::new(),
            repairs: 2,
        }),
    }
}

fn pairs() -> Vec<PairStats> {
    let hangs = PairStats {
        name: "back\\slash \"quoted\"".into(),
        rates: [None; 2],
        snapshot: None,
        fail_open: Arc::default(),
    };
    vec![answering(), hangs]
}

fn has(page: &str, line: &str) {
    assert!(page.lines().any(|found| found == line), "{line}\n{page}");
}

#[test]
fn the_status_page_shows_every_pair() {
    status::tests::shows(&pairs());
}

#[test]
fn values_stand_under_their_names() {
    for dialect in [Dialect::Prometheus, Dialect::OpenMetrics] {
        let page = page(dialect, &pairs());
        has(&page, "sojourn_up{pair=\"wan\"} 1");
        has(&page, "sojourn_fail_open{pair=\"wan\"} 1");
        has(&page, "sojourn_fail_open_repairs_total{pair=\"wan\"} 2");
        has(
            &page,
            r#"sojourn_fail_open{pair="back\\slash \"quoted\""} 0"#,
        );
        has(&page, r#"sojourn_up{pair="back\\slash \"quoted\""} 0"#);
        has(
            &page,
            "sojourn_rate_bytes_per_second{pair=\"wan\",direction=\"down\"} 2500000",
        );
        has(
            &page,
            "sojourn_path_delay_seconds{pair=\"wan\",direction=\"down\"} 0.007",
        );
        has(&page, "sojourn_reflectors{pair=\"wan\"} 4");
        has(&page, "sojourn_reflectors_answer{pair=\"wan\"} 3");
        let dropped = "sojourn_dropped_packets_total{pair=\"wan\",direction=\"down\"";
        has(&page, &format!("{dropped},reason=\"aqm\"}} 3"));
        has(&page, &format!("{dropped},reason=\"tail\"}} 0"));
        has(
            &page,
            "sojourn_received_frames_total{pair=\"wan\",direction=\"down\"} 17",
        );
        // The third of the four tins of diffserv4, in seconds.
        let tin = "{pair=\"wan\",direction=\"up\",tin=\"Video\"}";
        has(
            &page,
            &format!("sojourn_tin_peak_delay_seconds{tin} 0.000003"),
        );
        has(&page, &format!("sojourn_tin_offered_packets_total{tin} 3"));
    }
}

#[test]
fn both_queues_of_a_pair_stand_apart() {
    let page = page(Dialect::OpenMetrics, &pairs());
    let way = r#"pair="wan",direction="down""#;
    for (queue, marked, came) in [("C", 5, 10), ("L", 70, 140)] {
        let labels = format!("{{{way},queue=\"{queue}\"}}");
        has(
            &page,
            &format!("sojourn_dual_marked_packets_total{labels} {marked}"),
        );
        has(
            &page,
            &format!("sojourn_dual_came_marked_packets_total{labels} {came}"),
        );
    }
    has(&page, &format!("sojourn_dual_probability{{{way}}} 0.25"));
    has(
        &page,
        &format!("sojourn_dual_coupled_probability{{{way}}} 0.5"),
    );
    has(
        &page,
        &format!("sojourn_dual_delay_seconds_count{{{way},queue=\"L\"}} 4"),
    );
    assert!(!page.contains(r#"probability{pair="wan",direction="up""#));
}

#[test]
fn a_histogram_counts_from_below() {
    let page = page(Dialect::OpenMetrics, &pairs());
    let delay = |le: &str| {
        format!("sojourn_delay_seconds_bucket{{pair=\"wan\",direction=\"down\",le=\"{le}\"}}")
    };
    for (le, count) in [
        ("0.00005", 1),
        ("0.0005", 1),
        ("0.001", 3),
        ("2.5", 3),
        ("+Inf", 4),
    ] {
        has(&page, &format!("{} {count}", delay(le)));
    }
    has(
        &page,
        "sojourn_delay_seconds_sum{pair=\"wan\",direction=\"down\"} 3.00142",
    );
    has(
        &page,
        "sojourn_delay_seconds_count{pair=\"wan\",direction=\"down\"} 4",
    );
}

/// Names of samples, each after the line that says what it is.
fn names(page: &str, dialect: Dialect) -> BTreeSet<String> {
    let mut names = BTreeSet::new();
    let mut family = ("", "");
    for line in page.lines() {
        if let Some(declared) = line.strip_prefix("# TYPE ") {
            family = declared.split_once(' ').expect("a name and a type");
        } else if !line.starts_with('#') {
            let (name, _) = line.split_once('{').expect("all have labels");
            let (called, kind) = family;
            let end = name.strip_prefix(called).expect(line);
            let wanted: &[&str] = match (kind, dialect) {
                ("counter", Dialect::OpenMetrics) => &["_total"],
                ("histogram", _) => &["_bucket", "_sum", "_count"],
                _ => &[""],
            };
            assert!(wanted.contains(&end), "{line}");
            assert_eq!(kind == "counter", name.ends_with("_total"), "{line}");
            names.insert(name.to_owned());
        }
    }
    names
}

#[test]
fn both_dialects_have_the_same_names() {
    let [prometheus, open] = [Dialect::Prometheus, Dialect::OpenMetrics].map(|dialect| {
        let page = page(dialect, &pairs());
        assert_eq!(page.ends_with("# EOF\n"), dialect == Dialect::OpenMetrics);
        names(&page, dialect)
    });
    assert_eq!(prometheus, open);
    assert_eq!(
        Dialect::asked("text/plain;version=0.0.4"),
        Dialect::Prometheus
    );
    let accept = "application/openmetrics-text;version=1.0.0;q=0.5,text/plain;q=0.2";
    assert_eq!(Dialect::asked(accept), Dialect::OpenMetrics);
}

/// All texts at the key `expr`, however deep.
fn expressions(value: &serde_json::Value, found: &mut Vec<String>) {
    match value {
        serde_json::Value::Object(object) => {
            for (key, value) in object {
                match value.as_str() {
                    Some(text) if key == "expr" || key == "query" => found.push(text.to_owned()),
                    _ => expressions(value, found),
                }
            }
        }
        serde_json::Value::Array(items) => items.iter().for_each(|it| expressions(it, found)),
        _ => {}
    }
}

#[test]
fn the_dashboard_asks_for_what_there_is() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../contrib/grafana/sojourn.json");
    let text = fs::read_to_string(path).expect("the dashboard is in the tree");
    let dashboard = serde_json::from_str(&text).expect("it is JSON");
    let mut found = Vec::new();
    expressions(&dashboard, &mut found);
    let known = names(&page(Dialect::Prometheus, &pairs()), Dialect::Prometheus);
    let is_name = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let words = found.iter().flat_map(|text| text.split(|c| !is_name(c)));
    let asked: BTreeSet<&str> = words.filter(|word| word.starts_with("sojourn_")).collect();
    assert!(asked.len() > 10, "{asked:?}");
    for name in asked {
        assert!(known.contains(name), "{name}");
    }
}
