//! What of a spec Linux's own queues lack, by the catalogue: rows without a module, and options
//! that are not tc's.

use super::kinds;
use super::opt::{Amount, Unit};
use crate::spec::Spec;
use alloc::format;
use alloc::string::{String, ToString};

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
}
