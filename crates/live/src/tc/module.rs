//! Our queues inside the kernel: of the module `sch_sojourn`, whose kind tc does not know.
//!
//! A line for tc with the word `sojourn` before a discipline's string is told to the kernel by
//! rtnetlink; statistics are the library's own, as the module tells them.

use super::request::{Asked, TCA_OPTIONS, refused};
use sojourn_bridge::module::Reader;
use sojourn_bridge::netlink::text;
use sojourn_qdisc::{Field, Report, Value};
use std::io;

/// The queue's kind.
pub(super) const KIND: &str = "sojourn";
/// Packets that a policy has marked, by the names that reports have for them.
const MARKS: [&str; 4] = ["marked", "ecn_mark", "ecn-mark", "ce_mark"];

/// Carries such a line out, in the calling thread's namespace.
pub(super) fn run(line: &str) -> io::Result<()> {
    let asked = Asked::read(line);
    let discipline = asked.as_ref().and_then(|asked| {
        let (kind, discipline) = asked.queue.split_once(' ')?;
        (kind == KIND).then_some(discipline)
    });
    let (Some(asked), Some(discipline)) = (&asked, discipline) else {
        return Err(refused(line, "it is not a line about our queues"));
    };
    let done = asked.carry_out(KIND, text(TCA_OPTIONS, discipline));
    done.map_err(|error| match error.kind() {
        io::ErrorKind::NotFound => refused(
            line,
            "this kernel has no queue of ours; `sojourn kernel build --module` builds one",
        ),
        _ => refused(line, &error.to_string()),
    })
}

/// Statistics of the queue that `reader` reads.
pub(super) fn report(reader: &mut Reader) -> io::Result<Report> {
    let report = reader.read()?.report().cloned();
    report.ok_or_else(|| io::Error::other("the kernel has no room for the report of our queue"))
}

/// Packets marked so far: what the innermost queue says, which decides.
pub(super) fn marks(report: &Report) -> u32 {
    if let Some(inner) = &report.inner {
        return marks(inner);
    }
    let own = report.stats.iter().map(|field| match &field.value {
        Value::Groups(groups) => groups.iter().flatten().map(marks_of).sum(),
        _ => marks_of(field),
    });
    // As the kernel's own counters of it, which begin anew after 2³².
    own.sum::<u64>() as u32
}

/// The base probability of a `dualpi2` that is the innermost queue.
pub(super) fn base_probability(report: &Report) -> Option<f64> {
    if let Some(inner) = &report.inner {
        return base_probability(inner);
    }
    let mut stats = report.stats.iter();
    let found = stats.find(|field| field.name == "prob" && report.kind == super::dualpi2::KIND);
    match found?.value {
        Value::Float(probability) => Some(probability),
        _ => None,
    }
}

fn marks_of(field: &Field) -> u64 {
    match field.value {
        Value::Int(count) if MARKS.contains(&&*field.name) => count.unsigned_abs(),
        _ => 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use sojourn_bridge::netlink::{find, messages, word};

    fn field(name: &'static str, value: Value) -> Field {
        Field {
            name: name.into(),
            value,
        }
    }

    #[test]
    fn a_line_becomes_a_message_with_the_string_as_it_is() {
        let line = "qdisc add dev d parent 1:1 handle 10: sojourn tbf rate 1mbit over fq_codel";
        let asked = Asked::read(line).unwrap();
        let request = asked.message(7, KIND, text(TCA_OPTIONS, "fq_codel"));
        let (_, body) = messages(&request).next().unwrap();
        let at = |number| word(body, number).unwrap();
        assert_eq!([at(1), at(2), at(3)], [7, 0x10_0000, 0x1_0001]);
        assert_eq!(find(&body[20..], 1).unwrap(), b"sojourn\0");
        assert_eq!(find(&body[20..], TCA_OPTIONS).unwrap(), b"fq_codel\0");
        assert_eq!(asked.queue, "sojourn tbf rate 1mbit over fq_codel");
        let said = run("qdisc add dev d root handle 10: pie").unwrap_err();
        assert!(said.to_string().contains("not a line about our queues"));
    }

    #[test]
    fn marks_are_those_of_the_queue_that_decides() {
        let of = |stats: Vec<Field>, inner: Option<Report>| Report {
            stats,
            inner: inner.map(Box::new),
            ..Report::default()
        };
        let tin = |marks| {
            vec![
                field("ecn_mark", Value::Int(marks)),
                field("sparse_flows", Value::Int(9)),
            ]
        };
        let cake = of(
            vec![field("tins", Value::Groups(vec![tin(2), tin(3)]))],
            None,
        );
        assert_eq!(marks(&cake), 5);
        let codel = of(tin(4), None);
        assert_eq!(marks(&of(tin(100), Some(codel))), 4);
        assert_eq!(marks(&of(vec![field("marked", Value::Int(7))], None)), 7);
    }
}
