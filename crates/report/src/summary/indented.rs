//! JSON with an indent, written member by member: as values, the runs of many flows would take
//! several times the memory of their text.

use super::cell::{Leaf, Sink};
use std::io;

/// An object, with those in it, as `serde_json` would indent it.
pub(super) struct Indented<'a> {
    to: &'a mut dyn io::Write,
    /// How many objects and lists are open.
    depth: usize,
    /// Whether the innermost of them has no member yet.
    is_first: bool,
    /// A value's text.
    text: Vec<u8>,
    /// What has gone wrong first.
    error: Option<io::Error>,
}

impl<'a> Indented<'a> {
    /// Begins the outermost object.
    pub(super) fn new(to: &'a mut dyn io::Write) -> Self {
        let mut new = Self {
            to,
            depth: 0,
            is_first: true,
            text: Vec::new(),
            error: None,
        };
        new.open(b"{");
        new
    }

    /// Ends the outermost object, with a newline behind it.
    ///
    /// # Errors
    ///
    /// The first error of the writer.
    pub(super) fn finish(mut self) -> io::Result<()> {
        self.close(b"}");
        self.put(b"\n");
        self.error.map_or(Ok(()), Err)
    }

    /// A list of objects, each of which is written by `item`.
    pub(super) fn objects<T>(
        &mut self,
        key: &str,
        list: impl IntoIterator<Item = T>,
        item: impl Fn(T, &mut dyn Sink),
    ) {
        self.key(key);
        self.open(b"[");
        for one in list {
            self.next();
            self.open(b"{");
            item(one, self);
            self.close(b"}");
        }
        self.close(b"]");
    }

    fn put(&mut self, text: &[u8]) {
        if self.error.is_none() {
            self.error = self.to.write_all(text).err();
        }
    }

    fn line(&mut self) {
        self.put(b"\n");
        for _ in 0..self.depth {
            self.put(b"  ");
        }
    }

    fn open(&mut self, bracket: &[u8]) {
        self.put(bracket);
        self.depth += 1;
        self.is_first = true;
    }

    fn close(&mut self, bracket: &[u8]) {
        self.depth -= 1;
        if !self.is_first {
            self.line();
        }
        self.put(bracket);
        self.is_first = false;
    }

    /// A new member begins.
    fn next(&mut self) {
        if !self.is_first {
            self.put(b",");
        }
        self.is_first = false;
        self.line();
    }

    fn key(&mut self, key: &str) {
        self.next();
        self.leaf(Leaf::Text(key));
        self.put(b": ");
    }

    fn leaf(&mut self, value: Leaf<'_>) {
        let mut text = std::mem::take(&mut self.text);
        text.clear();
        value.write(&mut text);
        self.put(&text);
        self.text = text;
    }
}

impl Sink for Indented<'_> {
    fn begin(&mut self, key: &str) {
        self.key(key);
        self.open(b"{");
    }

    fn end(&mut self) {
        self.close(b"}");
    }

    fn value(&mut self, key: &str, value: Leaf<'_>) {
        self.key(key);
        let Leaf::Value(value) = value else {
            return self.leaf(value);
        };
        let text = serde_json::to_string_pretty(value).expect("memory takes all that is written");
        let mut lines = text.split('\n');
        lines.next().inspect(|line| self.put(line.as_bytes()));
        for line in lines {
            self.line();
            self.put(line.as_bytes());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn it_looks_as_serde_json_would_have_it() {
        let list = json!([1, { "a": [], "b": "two\nlines" }]);
        let mut text = Vec::new();
        let mut root = Indented::new(&mut text);
        root.value("number", Leaf::Number(f64::NAN));
        root.objects("cells", [3, 4], |number, to| {
            to.begin("empty");
            to.end();
            to.value("n", Leaf::Whole(number));
        });
        root.objects("none", [0; 0], |_, _| {});
        root.value("list", Leaf::Value(&list));
        root.finish().expect("memory takes all");
        let same = json!({
            "number": null,
            "cells": [{ "empty": {}, "n": 3 }, { "empty": {}, "n": 4 }],
            "none": [],
            "list": list,
        });
        let wanted = serde_json::to_string_pretty(&same).expect("a value is JSON") + "\n";
        assert_eq!(String::from_utf8(text).expect("JSON is text"), wanted);
    }

    /// A disk that is full.
    struct Full;

    impl io::Write for Full {
        fn write(&mut self, _: &[u8]) -> io::Result<usize> {
            Err(io::ErrorKind::StorageFull.into())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn the_first_error_is_told() {
        let mut full = Full;
        let mut root = Indented::new(&mut full);
        root.value("flag", Leaf::Flag(true));
        let error = root.finish().expect_err("nothing fits");
        assert_eq!(error.kind(), io::ErrorKind::StorageFull);
    }
}
