//! What has the gate's programs stay at both interfaces, and puts them back.
//!
//! Whoever has the rights can take a program away while the bridge runs: a qdisc that is deleted
//! takes the filters in it along, and a tcx link can be detached. Without the gate the kernel
//! bridge forwards what our sockets have taken too: every frame passes twice.

use super::super::{attach, interface_of};
use super::{BPF_TCX_INGRESS, Hook};
use crate::clsact::Filter;
use std::io;
use std::os::fd::OwnedFd;

/// The programs at the left and the right interface.
#[derive(Debug)]
pub(crate) struct Held([Attachment; 2]);

/// A program at an interface until this is dropped.
#[derive(Debug)]
enum Attachment {
    Tcx {
        /// The program stays loaded, to be attached again.
        program: OwnedFd,
        link: OwnedFd,
        interface: u32,
    },
    Clsact(Filter),
}

impl Held {
    /// Puts a program that `load` loads at each interface.
    pub(super) fn new(
        interfaces: [u32; 2],
        hook: Hook,
        load: impl Fn() -> io::Result<OwnedFd>,
    ) -> io::Result<Self> {
        let [left, right] = interfaces;
        let at_both = |place: &dyn Fn(OwnedFd, u32) -> io::Result<Attachment>| {
            // tcx takes a program once only.
            Ok(Self([place(load()?, left)?, place(load()?, right)?]))
        };
        let by_clsact =
            |program, interface| Filter::attach(program, interface).map(Attachment::Clsact);
        let by_tcx = |program, interface| {
            Ok(Attachment::Tcx {
                link: attach(&program, interface, BPF_TCX_INGRESS, 0)?,
                program,
                interface,
            })
        };
        match hook {
            Hook::Clsact => at_both(&by_clsact),
            Hook::Newest => at_both(&by_tcx).or_else(|error: io::Error| {
                match error.raw_os_error() {
                    // It knows no such place.
                    Some(libc::EINVAL) => at_both(&by_clsact),
                    _ => Err(error),
                }
            }),
        }
    }

    /// Whether the programs are there by tcx.
    pub(crate) fn is_by_tcx(&self) -> bool {
        matches!(self.0[0], Attachment::Tcx { .. })
    }

    /// Puts programs back that somebody has removed; tells which, of the left and the right one.
    ///
    /// # Errors
    /// What the kernel refuses.
    pub(crate) fn put_back(&mut self) -> io::Result<[bool; 2]> {
        let [left, right] = self.0.each_mut().map(Attachment::put_back);
        Ok([left?, right?])
    }

    /// As somebody with the rights detaches both programs, where they are by tcx.
    #[cfg(test)]
    pub(crate) fn detach(&self) -> io::Result<()> {
        for place in &self.0 {
            if let Attachment::Tcx { link, .. } = place {
                super::super::detach(link)?;
            }
        }
        Ok(())
    }
}

impl Attachment {
    fn put_back(&mut self) -> io::Result<bool> {
        match self {
            Self::Clsact(filter) => filter.put_back(),
            Self::Tcx {
                program,
                link,
                interface,
            } => {
                let is_gone = interface_of(link)? != *interface;
                if is_gone {
                    *link = attach(program, *interface, BPF_TCX_INGRESS, 0)?;
                }
                Ok(is_gone)
            }
        }
    }
}
