//! A packet: `[ect0] P. 1:1001(1000) ack 1 win 257 <nop,nop,TS val 1 ecr 2>`.

use crate::lex::{Cursor, Problem};
use crate::script::{Packet, TcpOption, flag};
use sojourn_units::Ecn;

/// Reads what follows `<` or `>`; the first word of a packet that is not TCP's.
pub(super) fn read(cursor: &mut Cursor<'_>) -> Result<Result<Packet, String>, Problem> {
    let mut packet = Packet::default();
    if cursor.take("[") {
        let field = cursor.until("]")?.trim();
        packet.ecn = match field {
            "noecn" => Some(Ecn::NotEct),
            "ect0" => Some(Ecn::Ect0),
            "ect1" => Some(Ecn::Ect1),
            "ce" => Some(Ecn::Ce),
            "" => None,
            _ => {
                cursor.rest_of_line();
                return Ok(Err(field.to_owned()));
            }
        };
    }
    cursor.skip();
    if cursor.peek().is_some_and(|char| char.is_ascii_lowercase()) {
        let word = cursor.word().to_owned();
        cursor.rest_of_line();
        return Ok(Err(word));
    }
    packet.flags = flags(cursor)?;
    packet.seq = cursor.number("a sequence number")?;
    cursor.expect(":")?;
    let place = cursor.problem("");
    let end: u32 = cursor.number("a sequence number")?;
    cursor.expect("(")?;
    packet.len = cursor.number("the payload's length")?;
    cursor.expect(")")?;
    if packet.seq.wrapping_add(packet.len) != end {
        return Err(Problem {
            what: format!(
                "{} and {} bytes end at {}, not at {end}",
                packet.seq,
                packet.len,
                packet.seq.wrapping_add(packet.len)
            ),
            ..place
        });
    }
    if cursor.take("ack") {
        packet.ack = Some(cursor.number("an acknowledgement number")?);
    }
    if cursor.take("win") {
        packet.win = Some(cursor.number("a window")?);
    }
    if cursor.take("urg") {
        packet.urgent = Some(cursor.number("an urgent pointer")?);
    }
    // The next event may begin with `<`: options stand in the same line.
    packet.options = if cursor
        .rest()
        .trim_start_matches([' ', '\t'])
        .starts_with('<')
    {
        cursor.take("<");
        options(cursor)?
    } else {
        Some(Vec::new())
    };
    Ok(Ok(packet))
}

fn flags(cursor: &mut Cursor<'_>) -> Result<u16, Problem> {
    let problem = cursor.problem(format!(
        "{} where flags belong: letters of SFRPEWAU, a digit for the ACE field, `.` for ACK, or \
         `-` for none",
        cursor.here()
    ));
    let letters = cursor.take_while(|char| !char.is_whitespace());
    if letters.is_empty() {
        return Err(problem);
    }
    let mut flags = 0;
    for letter in letters.chars().filter(|&letter| letter != '-') {
        let known = flag::LETTERS.iter().find(|&&(name, _)| name == letter);
        flags |= match (known, letter.to_digit(8)) {
            (Some(&(_, bit)), _) => bit,
            (None, Some(ace)) => (ace as u16) << 6,
            (None, None) => return Err(problem),
        };
    }
    Ok(flags)
}

/// What follows `<`; none for any.
fn options(cursor: &mut Cursor<'_>) -> Result<Option<Vec<TcpOption>>, Problem> {
    if cursor.take("...") {
        cursor.expect(">")?;
        return Ok(None);
    }
    let mut options = Vec::new();
    while !cursor.take(">") {
        if !options.is_empty() {
            cursor.expect(",")?;
        }
        options.push(option(cursor)?);
    }
    Ok(Some(options))
}

fn option(cursor: &mut Cursor<'_>) -> Result<TcpOption, Problem> {
    cursor.skip();
    let problem = cursor.problem(format!("{} where a TCP option belongs", cursor.here()));
    Ok(match cursor.word() {
        "nop" => TcpOption::Nop,
        "mss" => TcpOption::Mss(cursor.number("a segment size")?),
        "sackOK" => TcpOption::SackOk,
        "wscale" => TcpOption::Scale(cursor.number("a window scale")?),
        "TS" => {
            cursor.expect("val")?;
            let value = cursor.number("a timestamp")?;
            cursor.expect("ecr")?;
            TcpOption::Timestamps(value, cursor.number("a timestamp")?)
        }
        "sack" => {
            let mut blocks = Vec::new();
            cursor.skip();
            while cursor.peek().is_some_and(|char| char.is_ascii_digit()) {
                let start = cursor.number("a sequence number")?;
                cursor.expect(":")?;
                blocks.push((start, cursor.number("a sequence number")?));
                cursor.skip();
            }
            TcpOption::Sack(blocks)
        }
        "ECN" => accecn(cursor)?,
        "" => return Err(problem),
        other => {
            // Its value: a number, a cookie, a name.
            let value = cursor.take_while(|char| !matches!(char, ',' | '>' | '\n'));
            TcpOption::Other(other.to_owned(), value.trim().to_owned())
        }
    })
}

/// `e0b 1 ceb 0 e1b 1`: the fields in their order on the wire.
fn accecn(cursor: &mut Cursor<'_>) -> Result<TcpOption, Problem> {
    let mut fields = Vec::new();
    let mut ect1_first = false;
    loop {
        cursor.skip();
        if matches!(cursor.peek(), Some(',' | '>') | None) {
            return Ok(TcpOption::AccEcn(ect1_first, fields));
        }
        let problem = cursor.problem(format!(
            "{} where a field of the AccECN option belongs: e0b, ceb, e1b, or the reverse",
            cursor.here()
        ));
        let name = cursor.word();
        ect1_first = if fields.is_empty() {
            name == "e1b"
        } else {
            ect1_first
        };
        let order = if ect1_first {
            ["e1b", "ceb", "e0b"]
        } else {
            ["e0b", "ceb", "e1b"]
        };
        if order.get(fields.len()) != Some(&name) {
            return Err(problem);
        }
        fields.push(cursor.number("a number of bytes")?);
    }
}
