//! A call: `write(4, ..., 1000) = 1000`, `connect(3, ..., ...) = -1 EINPROGRESS (…)`.

use crate::lex::{Cursor, Problem};
use crate::script::{Arg, Call};

/// The calls that packetdrill knows (`run_system_call.c`), whether or not they are modelled here.
const CALLS: [&str; 30] = [
    "accept",
    "bind",
    "cap_set",
    "close",
    "connect",
    "epoll_create",
    "epoll_ctl",
    "epoll_wait",
    "fcntl",
    "getsockopt",
    "ioctl",
    "listen",
    "open",
    "pipe",
    "poll",
    "read",
    "readv",
    "recv",
    "recvfrom",
    "recvmsg",
    "send",
    "sendfile",
    "sendmsg",
    "sendto",
    "setsockopt",
    "shutdown",
    "socket",
    "splice",
    "write",
    "writev",
];

pub(super) fn read(cursor: &mut Cursor<'_>) -> Result<Call, Problem> {
    let problem = cursor.problem(format!(
        "{} where a packet (`<`, `>`), a call, shell commands or %{{ python }}% belong",
        cursor.here()
    ));
    let name = cursor.word().to_owned();
    if name.is_empty() || !cursor.take("(") {
        return Err(problem);
    }
    if !CALLS.contains(&name.as_str()) {
        return Err(Problem {
            what: format!("unknown call `{name}`; available: {}", CALLS.join(", ")),
            ..problem
        });
    }
    let args = list(cursor, ")")?;
    cursor.expect("=")?;
    if cursor.take("...") {
        return Ok(Call {
            name,
            args,
            returns: None,
            error: None,
        });
    }
    let returns = Some(cursor.number("what the call returns")?);
    let mut error = None;
    // The error's name, and its meaning or that of a number in parentheses, in the same line.
    cursor.take_while(|char| matches!(char, ' ' | '\t'));
    if cursor.peek().is_some_and(|char| char.is_ascii_uppercase()) {
        error = Some(cursor.word().to_owned());
        cursor.take_while(|char| matches!(char, ' ' | '\t'));
    }
    if cursor.rest().starts_with('(') {
        cursor.until(")")?;
    }
    Ok(Call {
        name,
        args,
        returns,
        error,
    })
}

fn list(cursor: &mut Cursor<'_>, end: &str) -> Result<Vec<Arg>, Problem> {
    let mut args = Vec::new();
    while !cursor.take(end) {
        if !args.is_empty() {
            cursor.expect(",")?;
        }
        args.push(arg(cursor)?);
    }
    Ok(args)
}

fn arg(cursor: &mut Cursor<'_>) -> Result<Arg, Problem> {
    if cursor.take("...") {
        return Ok(Arg::Any);
    }
    if cursor.take("[") {
        return list(cursor, "]").map(Arg::List);
    }
    if cursor.take("{") {
        return fields(cursor).map(Arg::Fields);
    }
    if cursor.take("\"") {
        return Ok(Arg::Text(cursor.until("\"")?.to_owned()));
    }
    cursor.skip();
    if cursor
        .peek()
        .is_some_and(|char| char.is_ascii_digit() || char == '-')
    {
        return Ok(Arg::Number(cursor.number("a number")?));
    }
    let problem = cursor.problem(format!("{} where an argument belongs", cursor.here()));
    let mut words = vec![cursor.word()];
    while cursor.take("|") {
        words.push(cursor.word());
    }
    if words.iter().any(|word| word.is_empty()) {
        return Err(problem);
    }
    Ok(Arg::Word(words.join("|")))
}

/// `name=value`, `name(…)=value`, or a value.
fn fields(cursor: &mut Cursor<'_>) -> Result<Vec<(Option<String>, Arg)>, Problem> {
    let mut fields = Vec::new();
    while !cursor.take("}") {
        if !fields.is_empty() {
            cursor.expect(",")?;
        }
        let first = arg(cursor)?;
        let Arg::Word(name) = &first else {
            fields.push((None, first));
            continue;
        };
        if cursor.take("(") {
            list(cursor, ")")?;
        }
        if cursor.take("=") {
            let value = arg(cursor)?;
            fields.push((Some(name.clone()), value));
        } else {
            fields.push((None, first));
        }
    }
    Ok(fields)
}
