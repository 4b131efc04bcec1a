//! Assertions: the part of Python that scripts use to look at `TCP_INFO`.
//!
//! `assert EXPRESSION[, message]`, several by lines or `;`. An expression has numbers, names, the
//! operators `+ - * / & | and or not`, comparisons (also `1 <= x <= 2`) and parentheses.

use crate::verdict::Stop;

/// The value of a name; none if it is not modelled.
pub type Names<'a> = &'a dyn Fn(&str) -> Option<i64>;

/// Checks all assertions of `code`, in which names have these values.
///
/// # Errors
/// The first that does not hold, or the first part of `code` that is not an assertion or has a name
/// without a value.
pub fn check(code: &str, names: Names<'_>) -> Result<(), Stop> {
    for line in code.replace("\\\n", " ").lines() {
        let line = line.split('#').next().unwrap_or(line);
        for statement in line
            .split(';')
            .map(str::trim)
            .filter(|part| !part.is_empty())
        {
            let Some(claim) = statement.strip_prefix("assert") else {
                return Err(Stop::NotModelled(format!(
                    "the Python statement `{statement}`"
                )));
            };
            let mut reader = Reader {
                rest: claim,
                names,
                seen: Vec::new(),
            };
            let holds = reader.either()?;
            reader.space();
            if !(reader.rest.is_empty() || reader.rest.starts_with(',')) {
                return Err(reader.unread());
            }
            if holds == 0 {
                let claim = &claim[..claim.len() - reader.rest.len()];
                let seen: Vec<String> = reader
                    .seen
                    .iter()
                    .map(|(name, value)| format!("{name} = {value}"))
                    .collect();
                return Err(Stop::Ours {
                    expected: claim.trim().to_owned(),
                    got: seen.join(", "),
                });
            }
        }
    }
    Ok(())
}

struct Reader<'a> {
    rest: &'a str,
    names: Names<'a>,
    /// Names that were asked for, with their values.
    seen: Vec<(String, i64)>,
}

impl Reader<'_> {
    fn space(&mut self) {
        self.rest = self.rest.trim_start();
    }

    fn unread(&self) -> Stop {
        Stop::NotModelled(format!("the Python expression at `{}`", self.rest.trim()))
    }

    fn take(&mut self, token: &str) -> bool {
        self.space();
        let Some(rest) = self.rest.strip_prefix(token) else {
            return false;
        };
        let word = token.ends_with(|char: char| char.is_ascii_alphabetic());
        if word && rest.starts_with(|char: char| char.is_ascii_alphanumeric() || char == '_') {
            return false;
        }
        self.rest = rest;
        true
    }

    fn either(&mut self) -> Result<i64, Stop> {
        let mut value = self.both()?;
        while self.take("or") {
            let other = self.both()?;
            value = i64::from(value != 0 || other != 0);
        }
        Ok(value)
    }

    fn both(&mut self) -> Result<i64, Stop> {
        let mut value = self.negated()?;
        while self.take("and") {
            let other = self.negated()?;
            value = i64::from(value != 0 && other != 0);
        }
        Ok(value)
    }

    fn negated(&mut self) -> Result<i64, Stop> {
        if self.take("not") {
            return Ok(i64::from(self.negated()? == 0));
        }
        self.comparison()
    }

    fn comparison(&mut self) -> Result<i64, Stop> {
        let mut left = self.joined()?;
        let mut chain = None;
        loop {
            let operators = ["==", "!=", "<=", ">=", "<", ">"];
            let Some(operator) = operators.into_iter().find(|operator| self.take(operator)) else {
                return Ok(chain.map_or(left, i64::from));
            };
            let right = self.joined()?;
            let holds = match operator {
                "==" => left == right,
                "!=" => left != right,
                "<=" => left <= right,
                ">=" => left >= right,
                "<" => left < right,
                _ => left > right,
            };
            chain = Some(chain.unwrap_or(true) && holds);
            left = right;
        }
    }

    fn joined(&mut self) -> Result<i64, Stop> {
        let mut value = self.sum()?;
        loop {
            if self.take("&") {
                value &= self.sum()?;
            } else if self.take("|") {
                value |= self.sum()?;
            } else {
                return Ok(value);
            }
        }
    }

    fn sum(&mut self) -> Result<i64, Stop> {
        let mut value = self.product()?;
        loop {
            if self.take("+") {
                value = value.saturating_add(self.product()?);
            } else if self.take("-") {
                value = value.saturating_sub(self.product()?);
            } else {
                return Ok(value);
            }
        }
    }

    fn product(&mut self) -> Result<i64, Stop> {
        let mut value = self.term()?;
        loop {
            if self.take("*") {
                value = value.saturating_mul(self.term()?);
            } else if self.take("/") {
                let divisor = self.term()?;
                value = value.checked_div(divisor).ok_or_else(|| self.unread())?;
            } else {
                return Ok(value);
            }
        }
    }

    fn term(&mut self) -> Result<i64, Stop> {
        if self.take("(") {
            let value = self.either()?;
            return if self.take(")") {
                Ok(value)
            } else {
                Err(self.unread())
            };
        }
        if self.take("-") {
            return Ok(-self.term()?);
        }
        self.space();
        let end = self
            .rest
            .find(|char: char| !(char.is_ascii_alphanumeric() || char == '_'))
            .unwrap_or(self.rest.len());
        let word = &self.rest[..end];
        if word.starts_with(|char: char| char.is_ascii_digit()) {
            let number = word.parse().map_err(|_| self.unread())?;
            self.rest = &self.rest[end..];
            return Ok(number);
        }
        if word.is_empty() {
            return Err(self.unread());
        }
        let Some(value) = (self.names)(word) else {
            return Err(Stop::NotModelled(word.to_owned()));
        };
        let is_field = word.starts_with(|char: char| char.is_ascii_lowercase());
        if is_field && !self.seen.iter().any(|(name, _)| name == word) {
            self.seen.push((word.to_owned(), value));
        }
        self.rest = &self.rest[end..];
        Ok(value)
    }
}
