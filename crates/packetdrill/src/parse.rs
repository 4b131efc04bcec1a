//! Reads a script.
//! Source: packetdrill's language, as its scripts in Linux's `tools/testing/selftests/net` use it
//! (Cardwell et al., "packetdrill: Scriptable Network Stack Testing", USENIX ATC 2013).
//! Not here: packets other than TCP's (`icmp`, `udp`), which are kept by their first word.

mod call;
mod packet;

use crate::lex::{Cursor, Problem};
use crate::script::{Event, Options, Script, What, When};
use sojourn_units::Span;

impl Script {
    /// Reads a script; `file` is what problems call it.
    ///
    /// # Errors
    /// What is wrong, and where.
    pub fn read(file: &str, text: &str) -> Result<Self, Problem> {
        let mut cursor = Cursor::new(file, text);
        let mut script = Self::default();
        cursor.skip();
        while cursor.rest().starts_with("--") {
            option(&mut cursor, &mut script.options)?;
            cursor.skip();
        }
        while cursor.peek().is_some() {
            script.events.push(event(&mut cursor)?);
            cursor.skip();
        }
        if script.events.is_empty() {
            return Err(cursor.problem("the script has no event"));
        }
        Ok(script)
    }
}

/// `--name=value`. What concerns addresses, interfaces or the speed of a machine has no meaning
/// here.
fn option(cursor: &mut Cursor<'_>, options: &mut Options) -> Result<(), Problem> {
    let place = cursor.problem("");
    let line = cursor.rest_of_line();
    let stated = line.split("//").next().unwrap_or(line).trim();
    let (name, value) = stated.split_once('=').unwrap_or((stated, ""));
    let micros = || {
        value.parse().map(Span::from_micros).map_err(|_| Problem {
            what: format!("`{value}` where {name} has a number of microseconds"),
            ..place.clone()
        })
    };
    match name {
        "--tolerance_usecs" => options.tolerance = micros()?,
        "--tolerance_percent" => {
            let percent: f64 = value
                .parse()
                .ok()
                .filter(|it| (0.0..=100.0).contains(it))
                .ok_or_else(|| Problem {
                    what: format!("`{value}` where {name} has a number from 0 to 100"),
                    ..place
                })?;
            options.permille = (percent * 10.0).round() as u32;
        }
        "--tcp_ts_tick_usecs" => options.tick = Some(micros()?).filter(|tick| !tick.is_zero()),
        "--mss" => {
            options.mss = Some(value.parse().map_err(|_| Problem {
                what: format!("`{value}` where --mss has a number of bytes up to 65535"),
                ..place
            })?);
        }
        "--ip_version" => options.v6 = value == "ipv6",
        "--send_omit_free" | "--local_ip" | "--remote_ip" | "--gateway_ip" | "--netmask_ip"
        | "--mtu" | "--speed" | "--bind_port" | "--connect_port" | "--init_scripts"
        | "--non_fatal" | "--dry_run" | "--verbose" => {}
        _ => {
            return Err(Problem {
                what: format!(
                    "unknown option `{name}`; --tolerance_usecs, --tolerance_percent and \
                     --tcp_ts_tick_usecs have a meaning here"
                ),
                ..place
            });
        }
    }
    Ok(())
}

fn event(cursor: &mut Cursor<'_>) -> Result<Event, Problem> {
    cursor.skip();
    let line = cursor.line();
    // Commands without a time run at once.
    if cursor.take("`") {
        let commands = cursor.until("`")?.to_owned();
        let when = When {
            relative: true,
            at: Some(Span::ZERO),
            until: None,
            returns: None,
        };
        return Ok(Event {
            line,
            when,
            what: What::Shell(commands),
        });
    }
    let when = time(cursor)?;
    cursor.skip();
    let line = cursor.line();
    let what = if cursor.take("`") {
        What::Shell(cursor.until("`")?.to_owned())
    } else if cursor.take("%{") {
        What::Assert(cursor.until("}%")?.to_owned())
    } else if cursor.take("<") {
        packet::read(cursor)?.map_or_else(What::Other, What::Arrives)
    } else if cursor.take(">") {
        packet::read(cursor)?.map_or_else(What::Other, What::Leaves)
    } else {
        What::Call(call::read(cursor)?)
    };
    if when.until.is_some() && !matches!(what, What::Leaves(_)) {
        return Err(cursor.problem("a range of time before something that is not a packet (`>`)"));
    }
    if when.returns.is_some() && !matches!(what, What::Call(_)) {
        return Err(cursor.problem("a duration (`...`) before something that is not a call"));
    }
    Ok(Event { line, when, what })
}

/// `0.1`, `+0.1`, `*`, `+0.1~+0.2`, `+0.1...0.2`.
fn time(cursor: &mut Cursor<'_>) -> Result<When, Problem> {
    if cursor.take("*") {
        return Ok(When {
            relative: true,
            at: None,
            until: None,
            returns: None,
        });
    }
    let relative = cursor.take("+");
    let mut when = When {
        relative,
        at: Some(seconds(cursor)?),
        until: None,
        returns: None,
    };
    if cursor.take("~") {
        // Both ends count alike: from the event before, or from the start.
        let again = cursor.take("+");
        if again != relative {
            return Err(cursor.problem("a range from a relative to an absolute time"));
        }
        when.until = Some(seconds(cursor)?);
    } else if cursor.take("...") {
        cursor.take("+");
        when.returns = Some(seconds(cursor)?);
    }
    Ok(when)
}

fn seconds(cursor: &mut Cursor<'_>) -> Result<Span, Problem> {
    cursor.skip();
    let problem = cursor.problem(format!(
        "{} where a time belongs: seconds as `0.1`, `+0.1` or `+0.1~+0.2`, or `*`",
        cursor.here()
    ));
    let whole = cursor.take_while(|char| char.is_ascii_digit());
    let mut fraction = "";
    // Not the first of three dots.
    let rest = cursor.rest();
    if rest.starts_with('.') && !rest.starts_with("..") {
        cursor.take(".");
        fraction = cursor.take_while(|char| char.is_ascii_digit());
    }
    if (whole.is_empty() && fraction.is_empty()) || fraction.len() > 9 {
        return Err(problem);
    }
    let digits = format!(
        "{}{fraction:0<9}",
        if whole.is_empty() { "0" } else { whole }
    );
    digits.parse().map(Span::from_nanos).map_err(|_| problem)
}
