//! An advice as lines for a router: tc's, and those of OpenWrt's SQM.
//!
//! Source: tc(8), tc-cake(8), and the scripts and options of sqm-scripts (`piece_of_cake.qos`,
//! `simplest.qos`).

use super::line::{Choice, Line};
use sojourn_fit::{DOWN, UP};
use std::fmt::Write as _;

/// Lines for a router whose interface to the modem is `wan`.
pub(super) fn lines(line: &Line, choice: &Choice, wan: &str) -> String {
    let Some(queue) = choice.queue else {
        return "There is nothing to be set up.\n".to_owned();
    };
    let [up, down] = [UP, DOWN].map(|way| line.kbit(way, choice.share));
    let whole = format!("ifb-{wan}");
    let ifb = whole.get(..15).unwrap_or(&whole);
    let mut text = format!("On a Linux router ({wan} leads to the modem):\n");
    for command in root(queue, wan, up, "") {
        let _ = writeln!(text, "  {command}");
    }
    let redirected = [
        format!("ip link add name {ifb} type ifb"),
        format!("ip link set {ifb} up"),
        format!("tc qdisc replace dev {wan} handle ffff: ingress"),
        format!(
            "tc filter replace dev {wan} parent ffff: protocol all matchall \
             action mirred egress redirect dev {ifb}"
        ),
    ];
    let shaped = root(queue, ifb, down, " ingress");
    for command in redirected.iter().chain(&shaped) {
        let _ = writeln!(text, "  {command}");
    }
    text += "\nOn OpenWrt (package sqm-scripts), in /etc/config/sqm:\n";
    let mut options = vec![
        ("enabled", "1".to_owned()),
        ("interface", wan.to_owned()),
        ("download", down.to_string()),
        ("upload", up.to_string()),
        ("qdisc", queue.to_owned()),
    ];
    if queue == "cake" {
        options.extend([
            ("script", "piece_of_cake.qos".to_owned()),
            ("qdisc_advanced", "1".to_owned()),
            ("qdisc_really_really_advanced", "1".to_owned()),
            ("iqdisc_opts", "ingress".to_owned()),
        ]);
    } else {
        options.push(("script", "simplest.qos".to_owned()));
    }
    options.push(("linklayer", "none".to_owned()));
    let _ = writeln!(text, "  config queue '{}'", section(wan));
    for (name, value) in options {
        let _ = writeln!(text, "      option {name} '{value}'");
    }
    text
}

/// The commands that put a queue at an interface. A router that translates addresses counts the
/// hosts behind it with `nat`.
fn root(queue: &str, interface: &str, kbit: u64, ingress: &str) -> Vec<String> {
    if queue == "cake" {
        return vec![format!(
            "tc qdisc replace dev {interface} root cake bandwidth {kbit}kbit \
             besteffort nat{ingress}"
        )];
    }
    vec![
        format!("tc qdisc replace dev {interface} root handle 1: htb default 10"),
        format!("tc class replace dev {interface} parent 1: classid 1:10 htb rate {kbit}kbit"),
        format!("tc qdisc replace dev {interface} parent 1:10 {queue}"),
    ]
}

/// A name for UCI, which takes letters, digits and underscores.
fn section(wan: &str) -> String {
    let plain = |c: char| if c.is_ascii_alphanumeric() { c } else { '_' };
    wan.chars().map(plain).collect()
}

#[cfg(test)]
mod tests {
    use super::super::line::Given;
    use super::*;
    use sojourn_units::Span;

    #[test]
    fn cake_and_htb_have_their_lines() {
        let given = Given::parse("50/10").unwrap();
        let line = given.line(Span::from_millis(25), Span::from_millis(200));
        let choices = line.choices();
        let of = |queue| {
            let own = choices
                .iter()
                .filter(|choice| choice.queue == queue)
                .find(|choice| choice.share == 95 || queue.is_none());
            lines(&line, own.unwrap(), "eth0.2")
        };
        let cake = of(Some("cake"));
        for part in [
            "tc qdisc replace dev eth0.2 root cake bandwidth 9500kbit besteffort nat\n",
            "tc qdisc replace dev ifb-eth0.2 root cake bandwidth 47500kbit besteffort nat ingress\n",
            "redirect dev ifb-eth0.2\n",
            "config queue 'eth0_2'\n",
            "option download '47500'\n",
            "option script 'piece_of_cake.qos'\n",
            "option iqdisc_opts 'ingress'\n",
        ] {
            assert!(cake.contains(part), "{part}{cake}");
        }
        let pie = of(Some("pie"));
        for part in [
            "tc class replace dev eth0.2 parent 1: classid 1:10 htb rate 9500kbit\n",
            "tc qdisc replace dev ifb-eth0.2 parent 1:10 pie\n",
            "option qdisc 'pie'\n",
            "option script 'simplest.qos'\n",
        ] {
            assert!(pie.contains(part), "{part}{pie}");
        }
        assert!(!pie.contains("ingress'"));
        assert!(of(None).contains("nothing to be set up"));
    }
}
