//! From the words of a check to its meaning.

use super::figure::{Figure, Take, find};
use super::lex::{Token, TokenKind, lex};
use super::terms::Vocabulary;
use super::terms::{ABOUT, Binder, Check, Compare, Expr, Operator, Place, Reference, Relation};
use sojourn_scenario::problem::suggestion;
use std::ops::Range;

/// Deepest nesting of parentheses and quantities.
const DEEPEST: usize = 40;
/// Most numbers and figures of a text, each definition in it counted with its own.
const LONGEST: usize = 500;
/// Most combinations that axes run over.
const MOST_COMBINATIONS: usize = 100_000;

/// The operators, those that bind more tightly later.
const OPERATORS: [&[(&str, Operator)]; 2] = [
    &[("+", Operator::Add), ("-", Operator::Subtract)],
    &[("*", Operator::Multiply), ("/", Operator::Divide)],
];

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
    /// Numbers and figures so far, with those of definitions.
    length: usize,
    words: &'a Vocabulary,
}

/// Reads a check.
pub(crate) fn check(text: &str, words: &Vocabulary) -> Parsed<Check> {
    whole(text, words, |parser| {
        let mut binders = Vec::new();
        if parser.takes_word("for") {
            binders = parser.binders()?;
            parser.expect(":")?;
        }
        let relation = parser.relation()?;
        Ok(Check { binders, relation })
    })
}

/// Reads a quantity.
pub(crate) fn quantity(text: &str, words: &Vocabulary) -> Parsed<Expr> {
    whole(text, words, Parser::quantity)
}

/// Reads the axes of a table: `tcp in six, n`.
pub(crate) fn binders(text: &str, words: &Vocabulary) -> Parsed<Vec<Binder>> {
    whole(text, words, Parser::binders)
}

/// Reads a place: `codel, n=14`.
pub(crate) fn place(text: &str, words: &Vocabulary) -> Parsed<Place> {
    whole(text, words, |parser| parser.list(Parser::axis_and_value))
}

/// Reads an axis of a chart or table: `tcp in six`.
pub(crate) fn binder(text: &str, words: &Vocabulary) -> Parsed<Binder> {
    whole(text, words, Parser::binder)
}

/// Reads a text from its beginning to its end.
fn whole<'a, T>(
    text: &str,
    words: &'a Vocabulary,
    read: impl FnOnce(&mut Parser<'a>) -> Parsed<T>,
) -> Parsed<T> {
    let tokens = lex(text).or_else(|(span, message)| complain(span, message, None))?;
    let mut parser = Parser {
        tokens,
        next: 0,
        depth: 0,
        length: 0,
        words,
    };
    let found = read(&mut parser)?;
    match parser.peek() {
        TokenKind::End => Ok(found),
        _ => parser.wrong("the end"),
    }
}

fn complain<T>(span: Range<usize>, message: String, help: Option<String>) -> Parsed<T> {
    Err(Complaint {
        span,
        message,
        help,
    })
}

/// The place of a name among those that there are; a complaint of `message` with the nearest.
fn among(
    span: Range<usize>,
    name: &str,
    known: &[&str],
    message: impl FnOnce() -> String,
) -> Parsed<usize> {
    let found = known.iter().position(|known| *known == name);
    found.map_or_else(
        || complain(span, message(), Some(suggestion(name, known))),
        Ok,
    )
}

impl Parser<'_> {
    fn peek(&self) -> &TokenKind {
        &self.tokens[self.next].kind
    }

    fn span(&self) -> Range<usize> {
        self.tokens[self.next].span.clone()
    }

    /// So many numbers and figures more; not without end, since a definition may hold another one
    /// twice.
    fn grow(&mut self, more: usize) -> Parsed<()> {
        self.length += more;
        if self.length <= LONGEST {
            return Ok(());
        }
        let message = format!("more than {LONGEST} numbers and figures, with those of definitions");
        complain(self.span(), message, None)
    }

    fn advance(&mut self) {
        if self.next + 1 < self.tokens.len() {
            self.next += 1;
        }
    }

    fn wrong<T>(&self, wanted: &str) -> Parsed<T> {
        let message = format!("expected {wanted}, found {}", self.peek().show());
        complain(self.span(), message, None)
    }

    fn takes_if(&mut self, found: impl FnOnce(&TokenKind) -> bool) -> bool {
        let found = found(self.peek());
        if found {
            self.advance();
        }
        found
    }

    fn takes(&mut self, mark: &str) -> bool {
        self.takes_if(|kind| matches!(kind, TokenKind::Mark(m) if *m == mark))
    }

    fn takes_word(&mut self, word: &str) -> bool {
        self.takes_if(|kind| matches!(kind, TokenKind::Name(name) if name == word))
    }

    fn expect(&mut self, mark: &str) -> Parsed<()> {
        if self.takes(mark) {
            return Ok(());
        }
        self.wrong(&format!("`{mark}`"))
    }

    /// One or several with commas between.
    fn list<T>(&mut self, one: impl Fn(&mut Self) -> Parsed<T>) -> Parsed<Vec<T>> {
        let mut list = vec![one(self)?];
        while self.takes(",") {
            list.push(one(self)?);
        }
        Ok(list)
    }

    /// `(BINDERS: BODY`, without its end.
    fn bound<B, T>(
        &mut self,
        binders: impl FnOnce(&mut Self) -> Parsed<B>,
        body: impl FnOnce(&mut Self) -> Parsed<T>,
    ) -> Parsed<(B, T)> {
        self.expect("(")?;
        let binders = binders(self)?;
        self.expect(":")?;
        Ok((binders, body(self)?))
    }

    /// `tcp in six, n`
    fn binders(&mut self) -> Parsed<Vec<Binder>> {
        let span = self.span();
        let binders = self.list(Self::binder)?;
        let steps = binders.iter().map(|binder| binder.values.len());
        if steps.fold(1, usize::saturating_mul) > MOST_COMBINATIONS {
            let message = format!("axes with more than {MOST_COMBINATIONS} combinations");
            return complain(span, message, None);
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
        let TokenKind::Name(name) = self.peek() else {
            return self.wrong("the name of an axis");
        };
        let message = || format!("no axis is named `{name}`");
        let axis = among(self.span(), name, &self.words.axis_names(), message)?;
        self.advance();
        Ok(axis)
    }

    /// A named set, or `{a, b}`.
    fn values(&mut self, axis: usize) -> Parsed<Vec<usize>> {
        if self.takes("{") {
            let values = self.list(|parser| parser.value(axis))?;
            self.expect("}")?;
            return Ok(values);
        }
        let TokenKind::Name(name) = self.peek() else {
            return self.wrong("a set of values, as `{a, b}` or by its name");
        };
        let sets: Vec<_> = self
            .words
            .sets
            .iter()
            .filter(|set| set.axis == axis)
            .collect();
        let known: Vec<&str> = sets.iter().map(|set| set.name.as_str()).collect();
        let axis = &self.words.axes[axis].name;
        let message = || format!("`{axis}` has no set named `{name}`");
        let set = among(self.span(), name, &known, message)?;
        self.advance();
        Ok(sets[set].values.clone())
    }

    /// The text of a value: a name, a number or a text in quotes.
    fn value_text(&mut self) -> Parsed<String> {
        let text = match self.peek() {
            TokenKind::Name(text) | TokenKind::Text(text) => text.clone(),
            TokenKind::Number(number) => number.to_string(),
            _ => return self.wrong("a value"),
        };
        self.advance();
        Ok(text)
    }

    fn value(&mut self, axis: usize) -> Parsed<usize> {
        let span = self.span();
        let text = self.value_text()?;
        let axis = &self.words.axes[axis];
        let message = || format!("axis `{}` has no value `{text}`", axis.name);
        among(span, &text, &axis.value_names(), message)
    }

    fn relation(&mut self) -> Parsed<Relation> {
        for (word, rising) in [("rising", true), ("falling", false)] {
            if self.takes_word(word) {
                return self.monotone(rising);
            }
        }
        let first = self.quantity()?;
        if self.takes_word("in") {
            let low = self.quantity()?;
            self.expect("..")?;
            return Ok(Relation::Within {
                value: first,
                low,
                high: self.quantity()?,
            });
        }
        if self.takes("~") {
            let target = self.quantity()?;
            let given = self.takes_word("within");
            return Ok(Relation::About {
                value: first,
                target,
                share: self.number_if(given, ABOUT)?,
            });
        }
        let mut rest = Vec::new();
        let compare = |parser: &mut Self| {
            let mut all = Compare::ALL.into_iter();
            all.find(|compare| parser.takes(compare.mark))
        };
        while let Some(compare) = compare(self) {
            rest.push((compare, self.quantity()?));
        }
        if rest.is_empty() {
            return self.wrong("a comparison: `<`, `<=`, `>`, `>=`, `in LOW .. HIGH` or `~ VALUE`");
        }
        Ok(Relation::Chain { first, rest })
    }

    fn plain_number(&mut self) -> Parsed<f64> {
        let TokenKind::Number(number) = *self.peek() else {
            return self.wrong("a number");
        };
        self.advance();
        Ok(number)
    }

    /// The number that stands here if one is given.
    fn number_if(&mut self, given: bool, or: f64) -> Parsed<f64> {
        if given { self.plain_number() } else { Ok(or) }
    }

    /// `(n: QUANTITY)` or `(n: QUANTITY, 5%)`
    fn monotone(&mut self, rising: bool) -> Parsed<Relation> {
        let (binder, body) = self.bound(Self::binder, Self::quantity)?;
        let given = self.takes(",");
        let slack = self.number_if(given, 0.0)?;
        self.expect(")")?;
        Ok(Relation::Monotone {
            rising,
            binder,
            body,
            slack,
        })
    }

    fn quantity(&mut self) -> Parsed<Expr> {
        self.depth += 1;
        if self.depth > DEEPEST {
            let message = "nested too deeply".to_owned();
            return complain(self.span(), message, None);
        }
        let quantity = self.terms(0)?;
        self.depth -= 1;
        Ok(quantity)
    }

    /// Terms joined by the operators of this level.
    fn terms(&mut self, level: usize) -> Parsed<Expr> {
        let Some(operators) = OPERATORS.get(level) else {
            return self.factor();
        };
        let mut left = self.terms(level + 1)?;
        while let Some((_, operator)) = operators.iter().find(|(mark, _)| self.takes(mark)) {
            let right = Box::new(self.terms(level + 1)?);
            left = Expr::Binary(*operator, Box::new(left), right);
        }
        Ok(left)
    }

    fn factor(&mut self) -> Parsed<Expr> {
        if self.takes("(") {
            let inner = self.quantity()?;
            self.expect(")")?;
            return Ok(inner);
        }
        self.grow(1)?;
        match self.peek().clone() {
            TokenKind::Number(_) => self.plain_number().map(Expr::Number),
            TokenKind::Name(name) => self.named(&name),
            _ => self.wrong("a number, a figure or `(`"),
        }
    }

    /// A reduction, a definition or a figure.
    fn named(&mut self, name: &str) -> Parsed<Expr> {
        let span = self.span();
        self.advance();
        if let Some(take) = Take::named(name).filter(|take| *take != Take::Sum) {
            let (binder, body) = self.bound(Self::binder, Self::quantity)?;
            self.expect(")")?;
            return Ok(Expr::Reduce(take, binder, Box::new(body)));
        }
        if name == "count" {
            let (binders, relation) = self.bound(Self::binders, Self::relation)?;
            self.expect(")")?;
            return Ok(Expr::Count(binders, Box::new(relation)));
        }
        let defined = self.words.definitions.iter().find(|(word, _)| word == name);
        let mut expr = match defined {
            Some((_, expr)) => {
                self.grow(expr.size())?;
                expr.clone()
            }
            None => Expr::Figure(Reference::new(self.figure(name, span.clone())?, self.words)),
        };
        if self.takes("[") {
            self.selector(&mut expr)?;
            while self.takes(",") {
                self.selector(&mut expr)?;
            }
            self.expect("]")?;
        }
        let no_link =
            |figure: &&mut Reference| figure.figure.is_of_link() && figure.link.is_empty();
        if expr.figures().iter().any(no_link) {
            let message = format!("`{name}` is a link's figure, and no link is named");
            let help = format!("{name}[link=up], or `link = \"up\"` in the study");
            return complain(span, message, Some(help));
        }
        Ok(expr)
    }

    fn figure(&mut self, name: &str, span: Range<usize>) -> Parsed<Figure> {
        if name.starts_with("ref.") {
            return self.recorded(name, span);
        }
        let mut numbers = Vec::new();
        if self.takes("(") {
            numbers = self.list(Self::plain_number)?;
            self.expect(")")?;
        }
        find(name, &numbers).or_else(|(message, help)| {
            let words = self.words.definitions.iter().map(|(word, _)| word.as_str());
            let near = sojourn_scenario::problem::nearest(name, words);
            let help = near.map_or(help, |word| format!("did you mean `{word}`?"));
            complain(span, message, Some(help))
        })
    }

    /// A value measured elsewhere: `ref.kernel`, `ref.kernel.goodput`.
    fn recorded(&self, name: &str, span: Range<usize>) -> Parsed<Figure> {
        let mut known = Vec::new();
        for (table, recorded) in self.words.recorded.iter().enumerate() {
            let columns = recorded.words().into_iter().zip(&recorded.columns);
            for (column, (word, about)) in columns.enumerate() {
                known.push((word, Figure::Recorded(table, column, about.unit)));
            }
        }
        let names: Vec<&str> = known.iter().map(|(word, _)| word.as_str()).collect();
        let found = among(span, name, &names, || format!("no reference has `{name}`"))?;
        Ok(known[found].1)
    }

    /// Whether a key stands here: a name with `=` behind it.
    fn at_key(&self) -> bool {
        let next = self.tokens.get(self.next + 1).map(|token| &token.kind);
        matches!(next, Some(TokenKind::Mark("=")))
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

    /// One of `[codel, n=14, flow=voip-*]`.
    fn selector(&mut self, expr: &mut Expr) -> Parsed<()> {
        let key = match self.peek() {
            TokenKind::Name(name) if self.at_key() => name.clone(),
            _ => String::new(),
        };
        if !["link", "flow", "take"].contains(&key.as_str()) {
            let (axis, value) = self.axis_and_value()?;
            for figure in expr.figures() {
                figure.fixed.retain(|(fixed, _)| *fixed != axis);
                figure.fixed.push((axis, value));
            }
            return Ok(());
        }
        self.advance();
        self.expect("=")?;
        let span = self.span();
        let text = match key.as_str() {
            "flow" if self.takes("*") => "*".to_owned(),
            _ => self.value_text()?,
        };
        let (is_there, known) = match key.as_str() {
            "link" => (self.words.has_link(&text), &self.words.links),
            "flow" => (self.words.has_flow(&text), &self.words.flows),
            _ => (true, &self.words.flows),
        };
        if !is_there {
            let known: Vec<&str> = known.iter().map(String::as_str).collect();
            let message = format!("no scenario has a {key} `{text}`");
            return complain(span, message, Some(suggestion(&text, &known)));
        }
        for figure in expr.figures() {
            match key.as_str() {
                "link" => figure.link.clone_from(&text),
                "flow" => figure.flow.clone_from(&text),
                _ => figure.take = Self::take(&text, span.clone())?,
            }
        }
        Ok(())
    }

    fn take(word: &str, span: Range<usize>) -> Parsed<Take> {
        let message = || format!("`{word}` is not a way to combine several flows into one value");
        let found = among(span, word, &Take::ALL.map(|(name, _)| name), message)?;
        Ok(Take::ALL[found].1)
    }

    /// A value without its axis: it must belong to one axis only.
    fn bare(&self, text: &str, span: Range<usize>) -> Parsed<(usize, usize)> {
        let axes = self.words.axes.iter().enumerate();
        let found: Vec<_> = axes
            .filter_map(|(number, axis)| {
                let value = axis.value(text)?;
                Some((number, value))
            })
            .collect();
        match found[..] {
            [only] => Ok(only),
            [] => {
                let values = self.words.axes.iter().flat_map(|axis| &axis.values);
                let known: Vec<&str> = values.map(|value| value.name.as_str()).collect();
                let message = format!("no axis has a value `{text}`");
                complain(span, message, Some(suggestion(text, &known)))
            }
            _ => {
                let say =
                    |(axis, _): &(usize, _)| format!("{}={text}", self.words.axes[*axis].name);
                let axes: Vec<String> = found.iter().map(say).collect();
                let message = format!("`{text}` is a value of several axes");
                complain(span, message, Some(format!("say {}", axes.join(" or "))))
            }
        }
    }
}
