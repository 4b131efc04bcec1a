//! The page: whole, offline, harmless, the same every time.

mod common;

use common::{Shape, info, results};
use flate2::read::DeflateDecoder;
use serde_json::Value;
use sojourn_report::html;
use sojourn_units::Unit;
use sojourn_world::figure::{Kind, Shape as FigureShape, figures};
use sojourn_world::{Distribution, Hop, Place, RunResult, Series, Stations, WorldName};

fn page(results: &[RunResult]) -> String {
    html(&info(), results, &[]).unwrap()
}

/// What the script reads.
fn data(page: &str) -> Value {
    let open = r#"<script type="application/octet-stream" id="data">"#;
    let from = page.find(open).expect("the page carries data") + open.len();
    let to = from + page[from..].find("</script>").unwrap();
    let bytes = of_base64(&page[from..to]);
    serde_json::from_reader(DeflateDecoder::new(&bytes[..])).expect("the data is deflated JSON")
}

/// RFC 4648, without its errors.
fn of_base64(text: &str) -> Vec<u8> {
    let value = |c: u8| match c {
        b'A'..=b'Z' => c - b'A',
        b'a'..=b'z' => c - b'a' + 26,
        b'0'..=b'9' => c - b'0' + 52,
        b'+' => 62,
        _ => 63,
    };
    let mut bytes = Vec::new();
    for group in text.trim_end_matches('=').as_bytes().chunks(4) {
        let missing = 6 * (4 - group.len());
        let bits =
            { group.iter() }.fold(0_u32, |bits, c| bits << 6 | u32::from(value(*c))) << missing;
        bytes.extend(&bits.to_be_bytes()[1..group.len()]);
    }
    bytes
}

#[test]
fn it_needs_no_network() {
    let page = page(&results(&Shape::demo())).to_lowercase();
    let style = &page[..page.find("</style>").unwrap()];
    assert!(!style.contains("url("), "the style refers to something");
    for wanted in [
        "http:",
        "https:",
        "//cdn",
        " src=",
        "@import",
        "fetch(",
        "xmlhttprequest",
        "<link",
        "<iframe",
        "import(",
        "websocket",
        "sendbeacon",
    ] {
        assert!(!page.contains(wanted), "the page contains `{wanted}`");
    }
}

#[test]
fn every_part_that_the_script_looks_for_is_there() {
    let page = page(&results(&Shape::demo()));
    for part in page.split("S.by('").skip(1) {
        let id = &part[..part.find('\'').unwrap()];
        assert!(page.contains(&format!("id=\"{id}\"")), "{id} is missing");
    }
    for part in page.split("href=\"#").skip(1) {
        let id = &part[..part.find('"').unwrap()];
        assert!(
            page.contains(&format!("id=\"{id}\"")),
            "link to {id} leads nowhere"
        );
    }
    for element in [
        "section", "table", "script", "style", "ul", "dl", "figure", "main", "details",
    ] {
        let count = |text: &str| page.matches(text).count();
        let open = count(&format!("<{element}>")) + count(&format!("<{element} "));
        assert_eq!(open, count(&format!("</{element}>")), "<{element}>");
    }
}

/// The section of latencies offers distributions that there are, among them all times of a link.
#[test]
fn latencies_are_figures() {
    let page = page(&results(&Shape::demo()));
    let from = page.find("S.LATENCIES = [").expect("the script has a list");
    let list = &page[from..from + page[from..].find(']').unwrap()];
    let offered: Vec<&str> = list.split('\'').skip(1).step_by(2).collect();
    let spreads = || figures().filter(|figure| figure.shape == FigureShape::Distribution);
    for key in &offered {
        assert!(spreads().any(|figure| figure.key == *key), "{key}");
    }
    for figure in spreads().filter(|f| f.kind == Kind::Link && f.unit == Unit::Ms) {
        assert!(offered.contains(&figure.key), "{}", figure.key);
    }
}

#[test]
fn its_data_are_the_results() {
    let results = results(&Shape::demo());
    let data = data(&page(&results));
    assert_eq!(data["cells"].as_array().unwrap().len(), 4);
    let run = &data["runs"][5];
    assert_eq!((&run["world"], &run["cell"]), (&"live".into(), &1.into()));
    let probe = &run["flows"][5];
    assert_eq!(probe["name"], "probe");
    let median = &probe["f"]["induced_rtt_ms"][2];
    // In seven digits.
    let whole = results[5].flows[5].1.induced_rtt.p50;
    assert!((median.as_f64().unwrap() / whole - 1.0).abs() < 1e-6);
    assert_eq!(probe["s"]["rtt"][2].as_array().unwrap().len(), 600);
    // Gaps in a series are null, and a flow without samples has no distribution.
    let gaps = probe["s"]["rtt"][2].as_array().unwrap().iter();
    assert!(gaps.filter(|v| v.is_null()).count() > 0);
    assert!(run["flows"][2]["f"].get("rtt_ms").is_none());
    let agreement = sojourn_report::agreement(&results);
    assert_eq!((agreement.len(), agreement[0].list.len()), (1, 36));
}

#[test]
fn a_curve_is_carried_once_for_a_cell() {
    let first = results(&Shape::demo());
    let mut further = first.clone();
    for run in &mut further {
        run.seed += 100;
        run.digest ^= 1;
    }
    let data = data(&page(&[first.clone(), further].concat()));
    let curve = |run: usize| &data["runs"][run]["flows"][5]["cdf"]["induced_rtt_ms"];
    assert!(curve(5).is_array());
    assert!(curve(first.len() + 5).is_null());
}

#[test]
fn hostile_names_are_harmless() {
    let hostile = "</script><script>alert(1)</script><img onerror=alert(2)> \"'&";
    let mut info = info();
    info.name = hostile.to_owned();
    info.title = hostile.to_owned();
    info.description = hostile.to_owned();
    info.source = Some(hostile.to_owned());
    info.axes[0].field = hostile.to_owned();
    let mut results = results(&Shape::demo());
    for run in &mut results {
        run.params[0] = (hostile.to_owned(), format!("{hostile}{}", run.params[0].1));
        run.links[0].0 = hostile.to_owned();
        run.flows[0].0 = hostile.to_owned();
    }
    let page = html(&info, &results, &[hostile.to_owned()]).unwrap();
    assert!(!page.contains("<script>alert"));
    assert!(!page.contains("<img"));
    let harmless = html(&common::info(), &common::results(&Shape::demo()), &[]).unwrap();
    let scripts = |page: &str| page.matches("<script").count();
    assert_eq!(scripts(&page), scripts(&harmless));
    assert_eq!(data(&page)["runs"][0]["links"][0]["name"], hostile);
}

#[test]
fn odd_results_make_a_page() {
    assert!(page(&[]).contains("There are no results"));
    let mut results = results(&Shape::demo());
    results.truncate(1);
    let run = &mut results[0];
    run.params.clear();
    run.aggregate.goodput_bps = f64::NAN;
    run.aggregate.jain = None;
    run.flows.truncate(1);
    let flow = &mut run.flows[0].1;
    flow.rtt = Distribution::default();
    flow.induced_rtt = Distribution::default();
    flow.series.clear();
    run.links[0].1.offered_packets = 0;
    run.links[0].1.series[0].points.clear();
    run.links[1].1.offered_packets = 0;
    let page = page(&results);
    let text = &page[page.find("<body>").unwrap()..page.find("<script").unwrap()];
    for wrong in ["NaN", "inf "] {
        let around = text.find(wrong).map(|at| &text[at - 80..at + 40]);
        assert_eq!(around, None, "a figure without value shows");
    }
    assert!(data(&page)["runs"][0]["aggregate"]["jain"].is_null());
    results[0].links.clear();
    results[0].flows.clear();
    html(&info(), &results, &[]).unwrap();
}

#[test]
fn the_same_results_give_the_same_page() {
    let results = results(&Shape::demo());
    assert!(page(&results) == page(&results.clone()));
}

#[test]
fn many_series_are_thinned() {
    let mut shape = Shape::demo();
    shape.worlds = &["sim"];
    shape.points = 2000;
    shape.cells = (0..40)
        .map(|i| (vec![("rtt".to_owned(), format!("{i}ms"))], 10.0))
        .collect();
    let page = page(&results(&shape));
    let data = data(&page);
    let points = data["runs"][0]["flows"][0]["s"]["goodput"][2]
        .as_array()
        .unwrap()
        .len();
    assert!((100..1000).contains(&points), "{points}");
    assert!(page.len() < 5_000_000, "{}", page.len());
}

/// Values that look like measured ones, which hardly pack.
#[test]
fn five_hundred_cells_are_less_than_five_megabytes() {
    let mut shape = Shape::demo();
    shape.worlds = &["sim"];
    shape.points = 500;
    shape.cells = (0..500)
        .map(|i| (vec![("rtt".to_owned(), format!("{i}ms"))], 10.0))
        .collect();
    let mut results = results(&shape);
    let mut state = 1_u64;
    let mut noise = || {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        1.0 + (state >> 33) as f64 / f64::from(1 << 30)
    };
    let mut stir = |series: &mut [Series], spread: &mut Distribution| {
        for point in series.iter_mut().flat_map(|series| &mut series.points) {
            point.value *= noise();
        }
        spread.cdf = (0..=120)
            .map(|i| (f64::from(i) * noise(), f64::from(i) / 120.0))
            .collect();
        spread.count = 1000;
    };
    for run in &mut results {
        for (_, flow) in &mut run.flows {
            stir(&mut flow.series, &mut flow.rtt);
            stir(&mut [], &mut flow.induced_rtt);
        }
        for (_, link) in &mut run.links {
            stir(&mut link.series, &mut link.sojourn);
        }
    }
    let page = page(&results);
    assert!(page.len() < 5_000_000, "{}", page.len());
    assert_eq!(data(&page)["cells"].as_array().map(Vec::len), Some(500));
}

#[test]
fn the_reading_says_which_queue_is_best_and_by_how_much() {
    let mut results = results(&Shape::demo());
    results.truncate(4);
    for (run, median) in results.iter_mut().zip([1000.0, 40.0, 2.0, 4.0]) {
        run.flows[5].1.induced_rtt.p50 = median;
    }
    let reading = sojourn_report::reading(&results);
    assert_eq!(
        reading[0].world.as_ref().map(WorldName::as_str),
        Some("sim")
    );
    assert_eq!(
        reading[0].sentences[0],
        "“fq_codel” has the lowest median induced RTT of the flow “probe”, 2.00 ms; \
         “pfifo limit 490” has the highest, 1.00 s, 500 times as much."
    );
}

#[test]
fn agreement_is_judged_by_the_stated_tolerances() {
    let mut results = results(&Shape::demo());
    let mut set = |i: usize, median: f64, goodput: u64| {
        let flow = &mut results[i].flows[5].1;
        flow.induced_rtt.p50 = median;
        flow.goodput = sojourn_units::Rate::from_bps(goodput);
    };
    // Cells 0 to 2: simulated runs 0 to 2, live runs 4 to 6.
    set(0, 1050.0, 1010);
    set(4, 1000.0, 1000);
    set(1, 1051.0, 1011);
    set(5, 1000.0, 1000);
    set(2, 3.0, 989);
    set(6, 2.0, 1000);
    let pairs = sojourn_report::agreement(&results);
    assert_eq!(pairs[0].other.as_str(), "live");
    let verdicts = |cell: usize| -> Vec<bool> {
        let of = pairs[0]
            .list
            .iter()
            .filter(|a| a.cell == cell && a.flow == "probe");
        of.map(|a| a.within).collect()
    };
    assert_eq!(verdicts(0), [true, true]);
    assert_eq!(verdicts(1), [false, false]);
    assert_eq!(verdicts(2), [true, false]);
}

/// The titles under “What the figures mean”.
fn defined(page: &str) -> Vec<&str> {
    let from = page.find("id=\"definitions\"").expect("there is a list");
    let list = &page[from..from + page[from..].find("</section>").expect("it ends")];
    let titles = list.split("<h3>").skip(1);
    titles
        .map(|rest| rest[..rest.find(" <").expect("a unit follows")].trim())
        .collect()
}

#[test]
fn figures_are_defined_where_they_are() {
    let mut results = results(&Shape::demo());
    let page = page(&results);
    let wired = defined(&page);
    assert!(wired.contains(&"Induced RTT") && wired.contains(&"Sojourn time over time"));
    for of_radios in ["Airtime", "MAC delay", "Given up", "Data frames"] {
        assert!(!wired.contains(&of_radios), "{of_radios}");
    }
    // All that the page carries is defined, and the other way round.
    let data = data(&page);
    assert_eq!(
        data["figures"].as_array().expect("a list").len(),
        wired.len()
    );
    for run in data["runs"].as_array().expect("a list") {
        for flow in run["flows"].as_array().expect("a list") {
            for key in flow["f"].as_object().expect("figures").keys() {
                assert!(page.contains(&format!("id=\"def-flow-{key}\"")), "{key}");
            }
        }
    }
    results[0].links[0].1.airtime = Some(0.25);
    let page = self::page(&results);
    assert_eq!(defined(&page).len(), wired.len() + 1);
    assert!(defined(&page).contains(&"Airtime"));
}

#[test]
fn radios_have_a_picture_of_their_network() {
    let mut results = results(&Shape::demo());
    assert!(!page(&results).contains("id=\"network\""));
    let places = [(0.0, 0.0), (25.0, 0.0)].map(|(x, y)| Place { x, y });
    results[0].radio = Some(Stations {
        range: 30.0,
        sense: 66.0,
        places: places.to_vec(),
        hops: vec![Hop {
            from: 0,
            to: 1,
            frames: 200,
            packets: 150,
        }],
    });
    let page = page(&results);
    assert!(page.contains("Network of 2 stations"));
    assert!(page.contains("150 packets, 25.0 % of 200 frames lost"));
    // The same as a table, for CSV.
    assert!(page.contains("\t150\t200\t0.2500\">"), "{page}");
    let summary = sojourn_report::summary_json(&info(), &results);
    let file: Value = serde_json::from_str(&summary).expect("it is JSON");
    assert_eq!(file["cells"][0]["radio"]["places_m"][1][0], 25.0);
}

#[test]
fn what_nobody_measured_has_no_column() {
    let mut results = results(&Shape::demo());
    let columns = [
        "Median induced RTT</th>",
        "95th percentile</th>",
        "Jain’s index</th>",
    ];
    let whole = page(&results);
    assert!(columns.iter().all(|column| whole.contains(column)));
    for run in &mut results {
        run.aggregate.jain = None;
        for (_, flow) in &mut run.flows {
            flow.induced_rtt.count = 0;
        }
    }
    let page = page(&results);
    assert!(!columns.iter().any(|column| page.contains(column)));
    assert!(page.contains("data-of=\"Goodput\""));
}
