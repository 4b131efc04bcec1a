//! The progress bar: on a terminal, on standard error, nowhere else.

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use sojourn_scenario::{Outcome, Watch};
use sojourn_units::Time;
use sojourn_world::Cell;
use std::borrow::Borrow;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

/// Shows how far a search is whose end nobody knows.
pub(crate) struct Search(ProgressBar);

impl Search {
    /// One that nobody sees when it is to be `quiet`.
    pub(crate) fn new(quiet: bool) -> Self {
        let shown = ProgressBar::new_spinner();
        if quiet {
            shown.set_draw_target(ProgressDrawTarget::hidden());
        }
        let style = ProgressStyle::with_template("{spinner} {elapsed}  {msg}")
            .expect("the template is fixed and right");
        shown.set_style(style);
        Self(shown)
    }

    pub(crate) fn say(&self, text: &str) {
        self.0.set_message(text.to_owned());
        self.0.tick();
    }

    /// Takes it away.
    pub(crate) fn clear(&self) {
        self.0.finish_and_clear();
    }
}

/// Shows how much of the grid's time has been run, and how long the rest will take.
pub(crate) struct Bar {
    shown: ProgressBar,
    /// Milliseconds that each cell lasts, and those already on the bar.
    cells: Vec<(u64, AtomicU64)>,
    done: AtomicUsize,
}

impl Bar {
    /// A bar for these cells, that nobody sees when it is to be `quiet`.
    pub(crate) fn new<C: Borrow<Cell>>(cells: &[C], quiet: bool) -> Self {
        let cells: Vec<_> = cells
            .iter()
            .map(|cell| {
                (
                    cell.borrow().duration.as_nanos() / 1_000_000,
                    AtomicU64::new(0),
                )
            })
            .collect();
        let length = cells.iter().map(|(length, _)| length).sum::<u64>().max(1);
        // Hidden by itself when standard error is no terminal.
        let shown = ProgressBar::new(length);
        if quiet {
            shown.set_draw_target(ProgressDrawTarget::hidden());
        }
        let style = ProgressStyle::with_template("{bar:30} {percent:>3} %  {msg}  {eta} left")
            .expect("the template is fixed and right");
        shown.set_style(style);
        let bar = Self {
            shown,
            cells,
            done: AtomicUsize::new(0),
        };
        bar.say(0);
        bar
    }

    fn say(&self, done: usize) {
        self.shown
            .set_message(format!("{done} of {} runs", self.cells.len()));
    }

    fn advance(&self, index: usize, to: u64) {
        let (length, so_far) = &self.cells[index];
        let to = to.min(*length);
        let before = so_far.fetch_max(to, Ordering::Relaxed);
        self.shown.inc(to.saturating_sub(before));
    }

    /// For those of its cells that begin with this one.
    pub(crate) fn from(&self, first: usize) -> Part<'_> {
        Part { bar: self, first }
    }

    /// Takes the bar away.
    pub(crate) fn clear(&self) {
        self.shown.finish_and_clear();
    }
}

/// A bar for a part of its cells.
pub(crate) struct Part<'a> {
    bar: &'a Bar,
    first: usize,
}

impl Watch for Part<'_> {
    fn progress(&self, index: usize, now: Time) {
        self.bar.progress(self.first + index, now);
    }

    fn done(&self, index: usize, outcome: &Outcome) {
        self.bar.done(self.first + index, outcome);
    }
}

impl Watch for Bar {
    fn progress(&self, index: usize, now: Time) {
        self.advance(index, now.as_nanos() / 1_000_000);
    }

    fn done(&self, index: usize, _: &Outcome) {
        self.advance(index, u64::MAX);
        self.say(self.done.fetch_add(1, Ordering::Relaxed) + 1);
    }
}
