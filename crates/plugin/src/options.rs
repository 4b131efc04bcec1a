//! The options of an AQM or a congestion control: `n=5 low=5ms`.

use sojourn_units::{Span, parse_span};
use std::fmt::Display;
use std::str::FromStr;

/// What is wrong with a text that no Rust program has written.
pub(crate) const NO_UTF8: &str = "a name or an option that is not UTF-8";

/// Options as they are written behind a name. Each is asked for once; what nobody has asked for is
/// an error.
#[derive(Debug)]
pub struct Options<'a> {
    words: Vec<(&'a str, &'a str)>,
    /// Those that were asked for, to name them in errors.
    known: Vec<String>,
}

impl<'a> Options<'a> {
    /// Those of a text.
    ///
    /// # Errors
    /// When a word is not NAME=VALUE, or a name comes twice.
    pub fn parse(text: &'a str) -> Result<Self, String> {
        let mut words: Vec<(&str, &str)> = Vec::new();
        for word in text.split_whitespace() {
            let pair = word.split_once('=').filter(|(name, _)| !name.is_empty());
            let (name, value) = pair.ok_or_else(|| {
                format!("`{word}` is not an option: write options as NAME=VALUE, like `n=5`")
            })?;
            if words.iter().any(|(known, _)| *known == name) {
                return Err(format!("option `{name}` comes twice"));
            }
            words.push((name, value));
        }
        Ok(Self {
            words,
            known: Vec::new(),
        })
    }

    /// The value of an option, or this one where it is not given.
    ///
    /// # Errors
    /// When the value cannot be read.
    pub fn get<T: FromStr<Err: Display>>(&mut self, name: &str, default: T) -> Result<T, String> {
        self.read(name, default, str::parse)
    }

    /// A time with its unit (`5ms`), or this one where it is not given.
    ///
    /// # Errors
    /// When the value cannot be read.
    pub fn span(&mut self, name: &str, default: Span) -> Result<Span, String> {
        self.read(name, default, parse_span)
    }

    fn read<T, E: Display>(
        &mut self,
        name: &str,
        default: T,
        read: impl FnOnce(&str) -> Result<T, E>,
    ) -> Result<T, String> {
        self.known.push(name.to_owned());
        let Some(at) = self.words.iter().position(|(known, _)| *known == name) else {
            return Ok(default);
        };
        let (_, value) = self.words.remove(at);
        read(value).map_err(|why| format!("option `{name}`: `{value}`: {why}"))
    }

    /// Whether all was asked for.
    ///
    /// # Errors
    /// Names the first option that nobody has asked for, and those that there are.
    pub fn end(self) -> Result<(), String> {
        let Some((name, _)) = self.words.first() else {
            return Ok(());
        };
        let known: Vec<String> = self.known.iter().map(|name| format!("`{name}`")).collect();
        let there = if known.is_empty() {
            "there are none".to_owned()
        } else {
            format!("its options: {}", known.join(", "))
        };
        Err(format!("there is no option `{name}`; {there}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_option_is_asked_for_once() {
        let mut options = Options::parse("n=5  low=5ms").expect("two options");
        assert_eq!(options.get("n", 1), Ok(5));
        assert_eq!(
            options.span("low", Span::ZERO),
            Ok(Span::from_millis(5)),
            "with its unit"
        );
        assert_eq!(options.get("high", 2.5), Ok(2.5));
        assert_eq!(options.end(), Ok(()));
    }

    #[test]
    fn what_is_wrong_is_said_with_what_would_be_right() {
        let wrong = |text: &str| Options::parse(text).map(|_| ()).unwrap_err();
        assert_eq!(
            wrong("n"),
            "`n` is not an option: write options as NAME=VALUE, like `n=5`"
        );
        assert_eq!(wrong("n=1 n=2"), "option `n` comes twice");
        let mut options = Options::parse("n=x m=2").expect("two options");
        let why = options.get("n", 1_u32).unwrap_err();
        assert_eq!(why, "option `n`: `x`: invalid digit found in string");
        assert_eq!(
            options.end(),
            Err("there is no option `m`; its options: `n`".to_owned())
        );
        let options = Options::parse("m=2").expect("an option");
        assert_eq!(
            options.end(),
            Err("there is no option `m`; there are none".to_owned())
        );
    }
}
