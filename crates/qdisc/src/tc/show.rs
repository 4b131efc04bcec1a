//! From a [`Spec`] to a string that reads back as the same.

use super::kinds::of;
use crate::params::FifoParams;
use crate::spec::Spec;
use core::fmt;

impl Spec {
    /// tc's name of the discipline.
    pub fn name(&self) -> &'static str {
        of(self).name
    }

    /// The discipline that the string has after `over`.
    fn below(&self) -> Option<Self> {
        match self {
            Self::Tbf { inner, .. } if matches!(**inner, Self::Fifo(FifoParams::Bytes(_))) => None,
            _ => self.inner(),
        }
    }
}

impl fmt::Display for Spec {
    /// The discipline as `tc` would take it, in tc's order of options: all that has a
    /// default is written out, switches only when they differ from it.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Self::Tree(tree) = self {
            return tree.fmt(f);
        }
        let kind = of(self);
        let initial = (kind.initial)();
        f.write_str(kind.name)?;
        let is_moved = |name: &str| kind.moved.iter().any(|(moved, _)| *moved == name);
        let mut show = |name: &str| -> fmt::Result {
            let Some(opt) = kind.options.iter().find(|opt| opt.name == name) else {
                return Ok(());
            };
            match opt.value(self, opt.shown, &initial) {
                Some(amount) => write!(f, " {}", opt.with_name(amount)),
                None => Ok(()),
            }
        };
        for opt in kind.options {
            for (moved, _) in kind.moved.iter().filter(|(_, next)| *next == opt.name) {
                show(moved)?;
            }
            if !is_moved(opt.name) {
                show(opt.name)?;
            }
        }
        match self.below() {
            Some(inner) => write!(f, " over {inner}"),
            None => Ok(()),
        }
    }
}
