//! What of a spec Linux's own queues lack, by the catalogue: rows without a module, and options
//! that are not tc's. And what a change of such a queue has to say beside the spec's own words.

use super::kinds;
use super::opt::{Amount, Opt, Unit, When};
use crate::spec::Spec;
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;

impl Spec {
    /// What of it Linux lacks, for example `fq_gsp` or `law ns2 of codel`; None when the kernel can
    /// have all of it.
    pub fn beyond_linux(&self) -> Option<String> {
        let kind = kinds::of(self);
        if let Self::Tree(_) = self {
            return Some("a tree of rates".to_string());
        }
        if kind.linux.is_none() {
            return Some(kind.name.to_string());
        }
        let initial = (kind.initial)();
        let given = kind.options.iter().find_map(|opt| {
            let amount = (opt.access.get)(self)?;
            // `law linux` asks for what the kernel has anyway.
            let is_linux = amount == Amount::Word("linux");
            let is_extended = opt.ours && !is_linux && (opt.access.get)(&initial) != Some(amount);
            let in_packets =
                opt.unit == Unit::BytesOrPackets && matches!(amount, Amount::Packets(_));
            (is_extended || in_packets).then(|| opt.with_name(amount))
        });
        let own = given.map(|given| format!("{given} of {}", kind.name));
        own.or_else(|| match self {
            Self::Htb { inner, .. } | Self::Tbf { inner, .. } => inner.beyond_linux(),
            _ => None,
        })
    }

    /// Words that switch off what a queue has as `before` and not as this spec. `tc qdisc change`
    /// leaves an option that is not named as it was, and a spec's string does not name all that is
    /// off.
    pub fn switched_off(&self, before: &Self) -> Vec<String> {
        let kind = kinds::of(self);
        if kind.name != before.name() {
            return Vec::new();
        }
        let initial = (kind.initial)();
        let says = |spec: &Self, opt: &Opt| opt.value(spec, opt.shown, &initial).is_some();
        let gone = |opt: &&Opt| !opt.ours && says(before, opt) && !says(self, opt);
        kind.options
            .iter()
            .filter(gone)
            .filter_map(Opt::off)
            .collect()
    }
}

impl Opt {
    /// tc's word, or a value, that switches it off; none where a change begins without it.
    fn off(&self) -> Option<String> {
        match self.unit {
            Unit::Switch(off) => off.map(ToString::to_string),
            Unit::Count | Unit::Mask if self.shown == When::On => Some(format!("{} 0", self.name)),
            // Nothing waits for so long, and it fits in 32 bits of microseconds.
            Unit::Time => Some(format!("{} 4294s", self.name)),
            _ => None,
        }
    }
}
