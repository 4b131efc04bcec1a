//! The same for programs, as JSON.

use serde_json::{Value, json};
use sojourn_line::{Chance, Line, LineRate, Loss, Reorder};
use sojourn_qdisc::Entrance;
use sojourn_service::{BridgeFile, Subscribers};
use sojourn_text::Problems;
use sojourn_units::{Rate, Span};

/// The format's name and version.
pub const FORMAT: &str = "sojourn-check/1";

/// The pairs of a bridge.
pub(super) fn pairs(bridge: &BridgeFile) -> String {
    let pairs = bridge.pairs.iter().map(|pair| {
        let way = |(line, qdisc): &(Line, Entrance), side: usize| {
            let follows = pair.autorates[side];
            json!({
                "rate_bps": rate(Some(&line.rate)),
                "autorate_bps": follows.map(|it| [it.min.as_bps(), it.max.as_bps()]),
                "delay_ms": ms(line.delay),
                "jitter_ms": ms(line.jitter),
                "reorder": reorder(line.reorder),
                "loss": loss(line.loss),
                "duplicate": chance(line.duplicate),
                "qdisc": qdisc.to_string(),
            })
        };
        json!({
            "name": pair.name,
            "left": pair.left,
            "right": pair.right,
            "up": way(&pair.up, 0),
            "down": way(&pair.down, 1),
            "reflectors": pair.reflectors.iter().map(ToString::to_string).collect::<Vec<_>>(),
            "subscribers": pair.subscribers.as_deref().map(subscribers_of),
        })
    });
    show(&json!({
        "format": FORMAT,
        "problems": [],
        "warnings": bridge.warnings.json(),
        "pairs": pairs.collect::<Vec<_>>(),
    }))
}

/// The subscribers of a bridge.
pub(super) fn subscribers(read: &Subscribers) -> String {
    let mut all = subscribers_of(read);
    all["format"] = FORMAT.into();
    all["problems"] = json!([]);
    show(&all)
}

/// Sites, circuits, and what is not shaped and why.
fn subscribers_of(read: &Subscribers) -> Value {
    let both = |rates: [Rate; 2]| rates.map(Rate::as_bps);
    let sites = read.sites().map(|site| {
        json!({
            "name": site.name,
            "parent": site.parent,
            "rate_bps": both(site.rates),
            "circuits": site.circuits,
            "least_bps": both(site.least),
        })
    });
    let circuits = read.circuits().map(|circuit| {
        let queues = circuit
            .queues
            .map(|queue| queue.as_ref().map(ToString::to_string));
        json!({
            "name": circuit.name,
            "parent": circuit.parent,
            "least_bps": both(circuit.least),
            "most_bps": both(circuit.most),
            "qdisc": queues,
            "addresses": circuit.addresses,
        })
    });
    let unshaped = read
        .unshaped()
        .iter()
        .map(|one| json!({"circuit": one.circuit, "device": one.device, "why": one.why}));
    json!({
        "sites": sites.collect::<Vec<_>>(),
        "circuits": circuits.collect::<Vec<_>>(),
        "unshaped": unshaped.collect::<Vec<_>>(),
    })
}

/// What is wrong with a file, in the order of the places.
pub(super) fn problems(problems: &Problems) -> String {
    show(&json!({ "format": FORMAT, "problems": problems.json() }))
}

/// A document as text.
pub fn show(value: &Value) -> String {
    let mut text = serde_json::to_string_pretty(value).expect("JSON values always serialise");
    text.push('\n');
    text
}

/// Milliseconds.
pub fn ms(span: Span) -> f64 {
    span.as_nanos() as f64 / 1e6
}

/// A share as a number, and in netem's words where there is more to it.
pub fn chance(chance: Chance) -> Value {
    if chance.correlation > 0.0 {
        json!(chance.to_string())
    } else {
        json!(chance.probability)
    }
}

/// Which packets are lost.
pub fn loss(loss: Loss) -> Value {
    match loss {
        Loss::Random(random) => chance(random),
        Loss::GilbertElliott(_) | Loss::FourStates(_) => json!(loss.to_string()),
    }
}

/// Which packets overtake others.
pub fn reorder(reorder: Reorder) -> Value {
    match reorder {
        Reorder::Never => json!(false),
        Reorder::Allowed => json!(true),
        Reorder::Ahead { .. } => json!(reorder.to_string()),
    }
}

/// A link's rate; none where that has no meaning.
pub fn rate(rate: Option<&LineRate>) -> Value {
    match rate {
        Some(LineRate::Fixed(rate)) => json!(rate.as_bps()),
        Some(LineRate::Infinite) => json!("unlimited"),
        Some(LineRate::Trace(_)) => json!("trace"),
        None => Value::Null,
    }
}
