//! From the words of a check to its meaning.

use super::figure::{Figure, Take, find};
use super::lex::{Kind, Token, lex};
use super::{
    Binder, Check, Compare, Expr, Operator, Place, Reduce, Reference, Relation, Vocabulary,
};
use sojourn_scenario::problem::suggestion;
use std::ops::Range;

/// Deepest nesting of parentheses and quantities.
const DEEPEST: usize = 40;

/// What is wrong with a text, and where.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Complaint {
    pub(crate) span: Range<usize>,
    pub(crate) message: String,
    pub(crate) help: Option<String>,
}

type Parsed<T> = Result<T, Complaint>;

struct Parser<'a> {
    tokens: Vec<Token>,
    next: usize,
    depth: usize,
    words: &'a Vocabulary,
}

/// Reads a check.
pub(crate) fn check(text: &str, words: &Vocabulary) -> Parsed<Check> {
    let mut parser = Parser::new(text, words)?;
    let binders = if parser.takes_word("for") {
        let binders = parser.binders()?;
        parser.expect(":")?;
        binders
    } else {
        Vec::new()
    };
    let relation = parser.relation()?;
    parser.end()?;
    Ok(Check { binders, relation })
}

/// Reads a quantity.
pub(crate) fn quantity(text: &str, words: &Vocabulary) -> Parsed<Expr> {
    let mut parser = Parser::new(text, words)?;
    let expr = parser.sum()?;
    parser.end()?;
    Ok(expr)
}

/// Reads the axes of a table: `tcp in six, n`.
pub(crate) fn binders(text: &str, words: &Vocabulary) -> Parsed<Vec<Binder>> {
    let mut parser = Parser::new(text, words)?;
    let binders = parser.binders()?;
    parser.end()?;
    Ok(binders)
}

/// Reads a place: `codel, n=14`.
pub(crate) fn place(text: &str, words: &Vocabulary) -> Parsed<Place> {
    let mut parser = Parser::new(text, words)?;
    let mut place = Place::new();
    loop {
        place.push(parser.axis_and_value()?);
        if !parser.takes(",") {
            parser.end()?;
            return Ok(place);
        }
    }
}

/// Reads an axis of a chart or table: `tcp in six`.
pub(crate) fn binder(text: &str, words: &Vocabulary) -> Parsed<Binder> {
    let mut parser = Parser::new(text, words)?;
    let binder = parser.binder()?;
    parser.end()?;
    Ok(binder)
}

impl<'a> Parser<'a> {
    fn new(text: &str, words: &'a Vocabulary) -> Parsed<Self> {
        let tokens = lex(text).map_err(|(span, message)| Complaint {
            span,
            message,
            help: None,
        })?;
        Ok(Self {
            tokens,
            next: 0,
            depth: 0,
            words,
        })
    }

    fn peek(&self) -> &Kind {
        &self.tokens[self.next].kind
    }

    fn span(&self) -> Range<usize> {
        self.tokens[self.next].span.clone()
    }

    fn advance(&mut self) {
        if self.next + 1 < self.tokens.len() {
            self.next += 1;
        }
    }

    fn complain<T>(span: Range<usize>, message: String, help: Option<String>) -> Parsed<T> {
        Err(Complaint {
            span,
            message,
            help,
        })
    }

    fn wrong<T>(&self, wanted: &str) -> Parsed<T> {
        let message = format!("expected {wanted}, found {}", self.peek().show());
        Self::complain(self.span(), message, None)
    }

    fn takes(&mut self, mark: &str) -> bool {
        let found = matches!(self.peek(), Kind::Mark(m) if *m == mark);
        if found {
            self.advance();
        }
        found
    }

    fn takes_word(&mut self, word: &str) -> bool {
        let found = matches!(self.peek(), Kind::Name(name) if name == word);
        if found {
            self.advance();
        }
        found
    }

    fn expect(&mut self, mark: &str) -> Parsed<()> {
        if self.takes(mark) {
            return Ok(());
        }
        self.wrong(&format!("`{mark}`"))
    }

    fn end(&self) -> Parsed<()> {
        match self.peek() {
            Kind::End => Ok(()),
            _ => self.wrong("the end"),
        }
    }

    /// `tcp in six, n`
    fn binders(&mut self) -> Parsed<Vec<Binder>> {
        let mut binders = vec![self.binder()?];
        while self.takes(",") {
            binders.push(self.binder()?);
        }
        Ok(binders)
    }

    /// `n`, `n in {6, 14}` or `tcp in six`
    fn binder(&mut self) -> Parsed<Binder> {
        let axis = self.axis()?;
        let values = if self.takes_word("in") {
            self.values(axis)?
        } else {
            (0..self.words.axes[axis].values.len()).collect()
        };
        Ok(Binder { axis, values })
    }

    fn axis(&mut self) -> Parsed<usize> {
        let Kind::Name(name) = self.peek() else {
            return self.wrong("the name of an axis");
        };
        let names: Vec<&str> = self.words.axes.iter().map(|a| a.name.as_str()).collect();
        let Some(axis) = names.iter().position(|known| known == name) else {
            let message = format!("no axis is named `{name}`");
            return Self::complain(self.span(), message, Some(suggestion(name, &names)));
        };
        self.advance();
        Ok(axis)
    }

    /// A named set, or `{a, b}`.
    fn values(&mut self, axis: usize) -> Parsed<Vec<usize>> {
        if self.takes("{") {
            let mut values = vec![self.value(axis)?];
            while self.takes(",") {
                values.push(self.value(axis)?);
            }
            self.expect("}")?;
            return Ok(values);
        }
        let Kind::Name(name) = self.peek() else {
            return self.wrong("a set of values, as `{a, b}` or by its name");
        };
        let sets = || self.words.sets.iter().filter(|set| set.axis == axis);
        if let Some(set) = sets().find(|set| set.name == *name) {
            let values = set.values.clone();
            self.advance();
            return Ok(values);
        }
        let axis = &self.words.axes[axis].name;
        let message = format!("`{axis}` has no set named `{name}`");
        let known: Vec<&str> = sets().map(|set| set.name.as_str()).collect();
        Self::complain(self.span(), message, Some(suggestion(name, &known)))
    }

    /// The text of a value: a name, a number or a text in quotes.
    fn value_text(&mut self) -> Parsed<String> {
        let text = match self.peek() {
            Kind::Name(text) | Kind::Text(text) => text.clone(),
            Kind::Number(number) => number.to_string(),
            _ => return self.wrong("a value"),
        };
        self.advance();
        Ok(text)
    }

    fn value(&mut self, axis: usize) -> Parsed<usize> {
        let span = self.span();
        let text = self.value_text()?;
        let axis = &self.words.axes[axis];
        if let Some(value) = axis.values.iter().position(|value| value.name == text) {
            return Ok(value);
        }
        let message = format!("axis `{}` has no value `{text}`", axis.name);
        let known: Vec<&str> = axis.values.iter().map(|v| v.name.as_str()).collect();
        Self::complain(span, message, Some(suggestion(&text, &known)))
    }

    fn relation(&mut self) -> Parsed<Relation> {
        for (word, rising) in [("rising", true), ("falling", false)] {
            if self.takes_word(word) {
                return self.monotone(rising);
            }
        }
        let first = self.sum()?;
        if self.takes_word("in") {
            let low = self.sum()?;
            self.expect("..")?;
            let high = self.sum()?;
            return Ok(Relation::Within {
                value: first,
                low,
                high,
            });
        }
        if self.takes("~") {
            let target = self.sum()?;
            let share = if self.takes_word("within") {
                self.plain_number()?
            } else {
                super::ABOUT
            };
            return Ok(Relation::About {
                value: first,
                target,
                share,
            });
        }
        let mut rest = Vec::new();
        while let Some(compare) = self.compare() {
            rest.push((compare, self.sum()?));
        }
        if rest.is_empty() {
            return self.wrong("a comparison: `<`, `<=`, `>`, `>=`, `in LOW .. HIGH` or `~ VALUE`");
        }
        Ok(Relation::Chain { first, rest })
    }

    fn compare(&mut self) -> Option<Compare> {
        let all = [
            ("<=", Compare::AtMost),
            (">=", Compare::AtLeast),
            ("<", Compare::Less),
            (">", Compare::More),
        ];
        let found = all.into_iter().find(|(mark, _)| self.takes(mark));
        found.map(|(_, compare)| compare)
    }

    fn plain_number(&mut self) -> Parsed<f64> {
        let Kind::Number(number) = *self.peek() else {
            return self.wrong("a number");
        };
        self.advance();
        Ok(number)
    }

    /// `(n: QUANTITY)` or `(n: QUANTITY, 5%)`
    fn monotone(&mut self, rising: bool) -> Parsed<Relation> {
        self.expect("(")?;
        let binder = self.binder()?;
        self.expect(":")?;
        let body = self.sum()?;
        let slack = if self.takes(",") {
            self.plain_number()?
        } else {
            0.0
        };
        self.expect(")")?;
        Ok(Relation::Monotone {
            rising,
            binder,
            body,
            slack,
        })
    }

    fn sum(&mut self) -> Parsed<Expr> {
        self.depth += 1;
        if self.depth > DEEPEST {
            let message = "nested too deeply".to_owned();
            return Self::complain(self.span(), message, None);
        }
        let mut left = self.product()?;
        loop {
            let operator = if self.takes("+") {
                Operator::Add
            } else if self.takes("-") {
                Operator::Subtract
            } else {
                self.depth -= 1;
                return Ok(left);
            };
            let right = self.product()?;
            left = Expr::Binary(operator, Box::new(left), Box::new(right));
        }
    }

    fn product(&mut self) -> Parsed<Expr> {
        let mut left = self.factor()?;
        loop {
            let operator = if self.takes("*") {
                Operator::Multiply
            } else if self.takes("/") {
                Operator::Divide
            } else {
                return Ok(left);
            };
            let right = self.factor()?;
            left = Expr::Binary(operator, Box::new(left), Box::new(right));
        }
    }

    fn factor(&mut self) -> Parsed<Expr> {
        if self.takes("(") {
            let inner = self.sum()?;
            self.expect(")")?;
            return Ok(inner);
        }
        match self.peek().clone() {
            Kind::Number(number) => {
                self.advance();
                Ok(Expr::Number(number))
            }
            Kind::Name(name) => self.named(&name),
            _ => self.wrong("a number, a figure or `(`"),
        }
    }

    /// A reduction, a definition or a figure.
    fn named(&mut self, name: &str) -> Parsed<Expr> {
        let span = self.span();
        self.advance();
        if let Some(reduce) = Reduce::named(name) {
            self.expect("(")?;
            let binder = self.binder()?;
            self.expect(":")?;
            let body = Box::new(self.sum()?);
            self.expect(")")?;
            return Ok(Expr::Reduce(reduce, binder, body));
        }
        if name == "count" {
            self.expect("(")?;
            let binders = self.binders()?;
            self.expect(":")?;
            let relation = Box::new(self.relation()?);
            self.expect(")")?;
            return Ok(Expr::Count(binders, relation));
        }
        let defined = self.words.definitions.iter().find(|(word, _)| word == name);
        let mut expr = match defined {
            Some((_, expr)) => expr.clone(),
            None => Expr::Figure(Reference::new(self.figure(name, span.clone())?, self.words)),
        };
        if self.takes("[") {
            self.selectors(&mut expr)?;
        }
        let mut missing = false;
        expr.each(&mut |reference| {
            missing |= reference.figure.is_of_link() && reference.link.is_empty();
        });
        if missing {
            let message = format!("`{name}` is a link's figure, and no link is named");
            let help = format!("{name}[link=up], or `link = \"up\"` in the study");
            return Self::complain(span, message, Some(help));
        }
        Ok(expr)
    }

    fn figure(&mut self, name: &str, span: Range<usize>) -> Parsed<Figure> {
        if name.starts_with("ref.") {
            return self.recorded(name, span);
        }
        let mut numbers = Vec::new();
        if self.takes("(") {
            numbers.push(self.plain_number()?);
            while self.takes(",") {
                numbers.push(self.plain_number()?);
            }
            self.expect(")")?;
        }
        find(name, &numbers).or_else(|(message, help)| {
            let words = self.words.definitions.iter().map(|(word, _)| word.as_str());
            let near = sojourn_scenario::problem::nearest(name, words);
            let help = near.map_or(help, |word| format!("did you mean `{word}`?"));
            Self::complain(span, message, Some(help))
        })
    }

    /// A value measured elsewhere: `ref.kernel`, `ref.kernel.goodput`.
    fn recorded(&self, name: &str, span: Range<usize>) -> Parsed<Figure> {
        let mut known = Vec::new();
        for (table, recorded) in self.words.recorded.iter().enumerate() {
            let columns = recorded.words().into_iter().zip(&recorded.columns);
            for (column, (word, about)) in columns.enumerate() {
                if word == name {
                    return Ok(Figure::Recorded(table, column, about.unit));
                }
                known.push(word);
            }
        }
        let known: Vec<&str> = known.iter().map(String::as_str).collect();
        let message = format!("no reference has `{name}`");
        Self::complain(span, message, Some(suggestion(name, &known)))
    }

    /// `[codel, n=14, flow=voip-*]`
    fn selectors(&mut self, expr: &mut Expr) -> Parsed<()> {
        loop {
            self.selector(expr)?;
            if !self.takes(",") {
                return self.expect("]");
            }
        }
    }

    /// Whether a key stands here: a name with `=` behind it.
    fn at_key(&self) -> bool {
        let next = self.tokens.get(self.next + 1).map(|token| &token.kind);
        matches!(next, Some(Kind::Mark("=")))
    }

    /// `n=14`, or a value that belongs to one axis only.
    fn axis_and_value(&mut self) -> Parsed<(usize, usize)> {
        if !self.at_key() {
            let span = self.span();
            let text = self.value_text()?;
            return self.bare(&text, span);
        }
        let axis = self.axis()?;
        self.expect("=")?;
        Ok((axis, self.value(axis)?))
    }

    fn selector(&mut self, expr: &mut Expr) -> Parsed<()> {
        let key = match self.peek() {
            Kind::Name(name) if self.at_key() => name.clone(),
            _ => String::new(),
        };
        let mut takes_key = || {
            self.advance();
            self.expect("=")
        };
        match key.as_str() {
            "link" => {
                takes_key()?;
                let link = self.value_text()?;
                expr.each(&mut |reference| reference.link.clone_from(&link));
            }
            "flow" => {
                takes_key()?;
                let flow = if self.takes("*") {
                    "*".to_owned()
                } else {
                    self.value_text()?
                };
                expr.each(&mut |reference| reference.flow.clone_from(&flow));
            }
            "take" => {
                takes_key()?;
                let span = self.span();
                let word = self.value_text()?;
                let Some(take) = Take::named(&word) else {
                    let message = format!("`{word}` is no way to make one value of several flows");
                    let help = suggestion(&word, &Take::NAMES);
                    return Self::complain(span, message, Some(help));
                };
                expr.each(&mut |reference| reference.take = take);
            }
            _ => {
                let (axis, value) = self.axis_and_value()?;
                expr.each(&mut |reference| reference.fix(axis, value));
            }
        }
        Ok(())
    }

    /// A value without its axis: it must belong to one axis only.
    fn bare(&self, text: &str, span: Range<usize>) -> Parsed<(usize, usize)> {
        let mut found = Vec::new();
        for (number, axis) in self.words.axes.iter().enumerate() {
            if let Some(value) = axis.values.iter().position(|value| value.name == text) {
                found.push((number, value));
            }
        }
        match found[..] {
            [only] => Ok(only),
            [] => {
                let values = self.words.axes.iter().flat_map(|axis| &axis.values);
                let known: Vec<&str> = values.map(|value| value.name.as_str()).collect();
                let message = format!("no axis has a value `{text}`");
                Self::complain(span, message, Some(suggestion(text, &known)))
            }
            _ => {
                let axes: Vec<String> = found
                    .iter()
                    .map(|(axis, _)| format!("{}={text}", self.words.axes[*axis].name))
                    .collect();
                let message = format!("`{text}` is a value of several axes");
                Self::complain(span, message, Some(format!("say {}", axes.join(" or "))))
            }
        }
    }
}
