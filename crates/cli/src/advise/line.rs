//! A home's line, the choices before it, and the scenario that tries them.

use sojourn_fit::{DOWN, UP};
use sojourn_units::{Rate, Span, parse_rate, show_span};
use std::fmt::Write as _;

/// The scenario's name.
pub(super) const NAME: &str = "advice";
/// Shares of the line that a shaper gets, in percent.
const SHARES: [u32; 4] = [85, 90, 95, 100];
/// The share at which queues that are no favourites are tried.
const USUAL: u32 = 95;
/// Queues under HTB at each share, and those at the usual one only.
const EVERYWHERE: &str = "fq_codel";
const ONCE: [&str; 3] = ["fq_pie", "pie", "codel"];
/// Lowest and highest rate of a line, in bit/s.
const LEAST: u64 = 100_000;
const MOST: u64 = 10_000_000_000;
/// Bits that a run carries at most in its measured time, so that advice takes seconds.
const BITS: f64 = 1.5e9;
/// Shortest and longest measured time, in seconds ...
const SHORTEST: f64 = 6.0;
const LONGEST: f64 = 20.0;
/// ... which lasts so many round trips at least, and the start before it a third of that.
const ROUND_TRIPS: f64 = 60.0;
/// Shortest start, in seconds.
const START: f64 = 3.0;
/// What a line that carries less has of its rate.
const LESS: f64 = 0.97;

/// Rates as given on the command line, in bit/s.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Given {
    down: f64,
    up: f64,
}

/// A line behind a modem.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Line {
    /// Bit/s of Ethernet frames by direction.
    pub(super) rate: [f64; 2],
    pub(super) rtt_ms: f64,
    /// The queues of the modem and of what faces it, in tc's words, by direction.
    buffer: [String; 2],
}

/// What may stand before the modem.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Choice {
    /// The queue; none: no shaper.
    pub(super) queue: Option<&'static str>,
    /// Its share of the line, in percent.
    pub(super) share: u32,
    /// In tc's words, by direction.
    pub(super) qdisc: [String; 2],
}

impl Given {
    /// Reads `50/10` or `1gbit/50mbit`.
    pub(super) fn parse(text: &str) -> Result<Self, String> {
        let wanted = "give the rates down and up in Mbit/s (`50/10`) or with units \
                      (`1gbit/50mbit`)";
        let (down, up) = text
            .split_once('/')
            .ok_or_else(|| format!("`{text}` is one rate; {wanted}"))?;
        let rate = |text: &str| -> Result<f64, String> {
            let mbit: Option<f64> = text.parse().ok();
            let bps = if let Some(mbit) = mbit {
                mbit * 1e6
            } else {
                let rate = parse_rate(text).map_err(|error| format!("{error}; {wanted}"))?;
                rate.as_bps() as f64
            };
            let is_fit = (LEAST as f64..=MOST as f64).contains(&bps);
            is_fit.then_some(bps).ok_or_else(|| {
                format!("`{text}` is not a possible rate: it must be 100 kbit/s to 10 Gbit/s")
            })
        };
        let (down, up) = (rate(down)?, rate(up)?);
        Ok(Self { down, up })
    }

    /// The line with these rates.
    pub(super) fn line(self, rtt: Span, buffer: Span) -> Line {
        let mut rate = [self.up; 2];
        rate[DOWN] = self.down;
        let buffer = rate.map(|bps| {
            let bytes = Rate::from_bps_f64(bps).bytes_in(buffer).max(2 * 1514);
            format!("bfifo limit {bytes}")
        });
        let rtt_ms = rtt.as_millis_f64();
        Line {
            rate,
            rtt_ms,
            buffer,
        }
    }
}

impl Line {
    /// The line behind measurements.
    pub(super) fn of_fit(line: &sojourn_fit::Line) -> Result<Self, String> {
        let rate = |way: usize, name| {
            line.rate[way].ok_or_else(|| {
                format!(
                    "--fit: nothing was sent {name}, so that the rate there is not known; add a \
                     measurement with a load {name}, or give the line as DOWN/UP and RTT"
                )
            })
        };
        Ok(Self {
            rate: [rate(UP, "up")?, rate(DOWN, "down")?],
            rtt_ms: line.rtt_ms,
            buffer: [UP, DOWN].map(|way| line.qdisc(way)),
        })
    }

    /// What is tried: no shaper first.
    pub(super) fn choices(&self) -> Vec<Choice> {
        let none = Choice {
            queue: None,
            share: 100,
            qdisc: ["pfifo", "pfifo"].map(str::to_owned),
        };
        let mut choices = vec![none];
        let mut add = |queue, share| {
            let [up, down] = [UP, DOWN].map(|way| format!("{}kbit", self.kbit(way, share)));
            let qdisc = if queue == "cake" {
                // As SQM's piece_of_cake.qos has it; downstream the packets have passed the
                // bottleneck already, which `ingress` counts.
                let up = format!("cake bandwidth {up} besteffort");
                [up, format!("cake bandwidth {down} besteffort ingress")]
            } else {
                [up, down].map(|rate| format!("htb rate {rate} over {queue}"))
            };
            choices.push(Choice {
                queue: Some(queue),
                share,
                qdisc,
            });
        };
        for queue in ["cake", EVERYWHERE] {
            for share in SHARES {
                add(queue, share);
            }
        }
        for queue in ONCE {
            add(queue, USUAL);
        }
        choices
    }

    /// A share of a direction's rate, in whole kbit/s.
    pub(super) fn kbit(&self, way: usize, share: u32) -> u64 {
        (self.rate[way] * f64::from(share) / 1e5).round() as u64
    }

    /// When figures begin, and when the run ends, in seconds.
    fn times(&self) -> (f64, f64) {
        let round_trips = ROUND_TRIPS * self.rtt_ms / 1e3;
        let measured = (BITS / (self.rate[UP] + self.rate[DOWN])).clamp(SHORTEST, LONGEST);
        let start = (round_trips / 3.0).max(START).ceil();
        (start, start + measured.max(round_trips).ceil())
    }

    /// All choices on this line, as a scenario.
    pub(super) fn scenario(&self, choices: &[Choice]) -> String {
        let (start, end) = self.times();
        let rates = [DOWN, UP].map(|way| mbit(self.rate[way]));
        let mut text = format!(
            "# Made by `sojourn advise`: queues and rates before a modem.\n\
             format = \"sojourn-scenario/1\"\n\
             name = \"{NAME}\"\n\
             title = \"A line of {}/{} Mbit/s, {} ms: which queue, which rate?\"\n\
             duration = \"{end}s\"\n\
             warmup = \"{start}s\"\n\
             seeds = 3\n\
             node = [{{ name = \"home\" }}, {{ name = \"modem\" }}, {{ name = \"isp\" }}, \
             {{ name = \"server\" }}]\n",
            rates[0], rates[1], self.rtt_ms
        );
        let fastest = self.rate[UP].max(self.rate[DOWN]);
        let (lan, wan) = ((2.0 * fastest).max(1e9), (4.0 * fastest).max(1e10));
        let delay = Some(show_span(Span::from_secs_f64(self.rtt_ms / 2e3)));
        let [up, down] = &self.buffer;
        let links = [
            ("up", "home", "modem", lan, "pfifo", None),
            ("modem-up", "modem", "isp", self.rate[UP], up, delay.clone()),
            ("wan-up", "isp", "server", wan, "pfifo", None),
            ("wan-down", "server", "isp", wan, "pfifo", None),
            ("modem-down", "isp", "modem", self.rate[DOWN], down, delay),
            ("down", "modem", "home", lan, "pfifo", None),
        ];
        for (name, from, to, rate, qdisc, delay) in links {
            let _ = writeln!(
                text,
                "\n[[link]]\nname = \"{name}\"\nfrom = \"{from}\"\nto = \"{to}\"\n\
                 rate = \"{}mbit\"\nqdisc = \"{qdisc}\"",
                mbit(rate)
            );
            if let Some(delay) = delay {
                let _ = writeln!(text, "delay = \"{delay}\"");
            }
        }
        text += "\n# For a third of the time the line carries 3 % less than it is said to.\n";
        let third = (end - start) / 3.0;
        for (at, share) in [(start + third, LESS), (start + 2.0 * third, 1.0)] {
            for (way, link) in [(UP, "modem-up"), (DOWN, "modem-down")] {
                let _ = writeln!(
                    text,
                    "[[change]]\nat = \"{}\"\nlink = \"{link}\"\nrate = \"{}mbit\"",
                    show_span(Span::from_secs_f64(at)),
                    mbit(self.rate[way] * share)
                );
            }
        }
        text += "\n[[sweep.zip]]\n";
        for (way, link) in [(UP, "up"), (DOWN, "down")] {
            let _ = writeln!(text, "link.{link}.qdisc = [");
            for choice in choices {
                let _ = writeln!(text, "    \"{}\",", choice.qdisc[way]);
            }
            text += "]\n";
        }
        for (name, from, to) in [("upload", "home", "server"), ("download", "server", "home")] {
            let _ = write!(
                text,
                "\n[[flow]]\nname = \"{name}\"\nfrom = \"{from}\"\nto = \"{to}\"\ncount = 4\n\
                 app = \"bulk\"\nstart_spread = \"500ms\"\n"
            );
        }
        text += "\n[[flow]]\nname = \"probe\"\nfrom = \"home\"\nto = \"server\"\n\
                 app = { kind = \"ping\", interval = \"20ms\" }\n";
        text
    }
}

/// Bit/s as Mbit/s, to a bit.
fn mbit(bps: f64) -> f64 {
    bps.round() / 1e6
}

#[cfg(test)]
mod tests {
    use super::*;
    use sojourn_scenario::{Options, Scenario};
    use std::path::Path;

    fn line(text: &str) -> Line {
        let given = Given::parse(text).unwrap();
        given.line(Span::from_millis(25), Span::from_millis(200))
    }

    #[test]
    fn rates_have_units_or_are_mbit() {
        let both = Given { down: 1e9, up: 5e7 };
        for text in ["1000/50", "1gbit/50mbit", "1gbit/50"] {
            assert_eq!(Given::parse(text), Ok(both), "{text}");
        }
        for (text, part) in [
            ("50", "is one rate"),
            ("50/x", "`x` is not a rate"),
            ("0/10", "`0` is not a possible rate"),
            ("50/-3", "`-3` is not a possible rate"),
            ("50/20gbit", "`20gbit` is not a possible rate"),
            ("nan/10", "`nan` is not a possible rate"),
        ] {
            let said = Given::parse(text).unwrap_err();
            assert!(said.contains(part), "{text}: {said}");
        }
    }

    #[test]
    fn the_scenario_of_any_line_is_one() {
        for text in ["50/10", "0.5/0.1", "10000/10000", "19.9/1.024"] {
            let line = line(text);
            let choices = line.choices();
            let text = line.scenario(&choices);
            let scenario = Scenario::parse("advice", &text, Path::new(""), &Options::default())
                .unwrap_or_else(|problems| panic!("{problems}\n{text}"));
            assert_eq!(scenario.cells.len(), 3 * choices.len());
        }
        let text = line("50/10").scenario(&line("50/10").choices());
        assert!(text.contains("qdisc = \"bfifo limit 250000\""), "{text}");
        assert!(
            text.contains("\"cake bandwidth 47500kbit besteffort ingress\""),
            "{text}"
        );
        assert!(text.contains("rate = \"9.7mbit\""), "{text}");
    }

    #[test]
    fn fast_lines_run_shorter_and_long_ones_longer() {
        assert_eq!(line("50/10").times(), (3.0, 23.0));
        assert_eq!(line("1000/50").times(), (3.0, 9.0));
        let given = Given::parse("50/10").unwrap();
        let far = given.line(Span::from_millis(600), Span::from_millis(200));
        assert_eq!(far.times(), (12.0, 48.0));
    }

    #[test]
    fn a_fit_takes_both_directions() {
        let mut fitted = sojourn_fit::Line {
            queue: sojourn_fit::Queue::Fifo,
            rtt_ms: 30.0,
            rate: [Some(4e6), Some(16e6)],
            buffer: [80_000.0, 160_000.0],
        };
        let line = Line::of_fit(&fitted).unwrap();
        assert_eq!((line.rate, line.rtt_ms), ([4e6, 16e6], 30.0));
        assert_eq!(line.buffer[UP], "bfifo limit 80000");
        fitted.rate[UP] = None;
        let said = Line::of_fit(&fitted).unwrap_err();
        assert!(said.contains("nothing was sent up"), "{said}");
    }
}
