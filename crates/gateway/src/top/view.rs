//! What of the samples is looked at, and what keys do.

use super::sample::{Pair, Sample, Way};
use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use sojourn_service::Order;
use std::collections::VecDeque;

/// Rates are those of so many seconds.
const WINDOW: f64 = 1.0;

/// Directions that are shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Sides {
    Both,
    Up,
    Down,
}

impl Sides {
    /// Whether the direction of this name is among them.
    pub(super) fn has(self, way: &str) -> bool {
        match self {
            Self::Both => true,
            Self::Up => way == "up",
            Self::Down => way == "down",
        }
    }
}

/// What a key asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Asked {
    Nothing,
    /// Flows in another order.
    Order,
    End,
}

/// What is looked at.
pub(super) struct View {
    /// The last second, oldest first.
    samples: VecDeque<Sample>,
    /// The name of the pair, once another than the first was chosen.
    chosen: Option<String>,
    pub(super) sides: Sides,
    pub(super) order: Order,
    pub(super) is_paused: bool,
    /// First flow that is shown.
    pub(super) first: usize,
    /// Seconds since the last sample came.
    pub(super) silence: u64,
}

impl View {
    /// The first sample's first pair.
    pub(super) fn new(sample: Sample) -> Self {
        Self {
            samples: VecDeque::from([sample]),
            chosen: None,
            sides: Sides::Both,
            order: Order::default(),
            is_paused: false,
            first: 0,
            silence: 0,
        }
    }

    /// Another sample; a page that stands still does not take it.
    pub(super) fn add(&mut self, sample: Sample) {
        if self.is_paused {
            return;
        }
        let second = |old: &Sample| sample.time - old.time > WINDOW + 0.05;
        while self.samples.len() > 1 && self.samples.front().is_some_and(second) {
            self.samples.pop_front();
        }
        self.samples.push_back(sample);
    }

    /// The last sample.
    pub(super) fn last(&self) -> &Sample {
        self.samples.back().expect("there is one from the start on")
    }

    /// The number of the pair that is looked at.
    pub(super) fn index(&self) -> usize {
        let pairs = &self.last().pairs;
        let chosen = self.chosen.as_ref();
        let place = chosen.and_then(|name| pairs.iter().position(|pair| pair.name == *name));
        place.unwrap_or(0)
    }

    /// The pair that is looked at.
    pub(super) fn pair(&self) -> &Pair {
        &self.last().pairs[self.index()]
    }

    /// A direction as it was up to a second before, and how long before.
    pub(super) fn before(&self, side: usize) -> Option<(&Way, f64)> {
        let name = &self.pair().name;
        let last = self.last().time;
        let mut samples = self.samples.iter();
        let found = samples.find_map(|sample| {
            let way = sample.pair(name)?.ways()?[side].1;
            Some((way, last - sample.time))
        });
        found.filter(|(_, seconds)| *seconds > 0.0)
    }

    /// Does what a key asks for.
    pub(super) fn press(&mut self, key: KeyEvent) -> Asked {
        let control = key.modifiers.contains(KeyModifiers::CONTROL);
        match key.code {
            KeyCode::Char('c') if control => return Asked::End,
            KeyCode::Char('q') | KeyCode::Esc => return Asked::End,
            KeyCode::Char('p' | ' ') => self.is_paused = !self.is_paused,
            KeyCode::Char('d') => {
                self.sides = match self.sides {
                    Sides::Both => Sides::Up,
                    Sides::Up => Sides::Down,
                    Sides::Down => Sides::Both,
                };
            }
            KeyCode::Char('s') => {
                let next = (self.order as usize + 1) % Order::ALL.len();
                self.order = Order::ALL[next];
                self.first = 0;
                return Asked::Order;
            }
            KeyCode::Left => self.turn(self.last().pairs.len() - 1),
            KeyCode::Right => self.turn(1),
            KeyCode::Up => self.first = self.first.saturating_sub(1),
            KeyCode::Down => self.first += 1,
            KeyCode::PageUp => self.first = self.first.saturating_sub(10),
            KeyCode::PageDown => self.first += 10,
            KeyCode::Home => self.first = 0,
            _ => {}
        }
        Asked::Nothing
    }

    /// Looks at the pair so many further on.
    fn turn(&mut self, by: usize) {
        let pairs = &self.last().pairs;
        let next = &pairs[(self.index() + by) % pairs.len()];
        self.chosen = Some(next.name.clone());
        self.first = 0;
    }
}
