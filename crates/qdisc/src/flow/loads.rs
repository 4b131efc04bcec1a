//! Loads of hosts that have flows in several queues at once.

use crate::share::{SharedHosts, SharedRate};
use alloc::boxed::Box;
use alloc::sync::Arc;
use alloc::vec::Vec;

/// What the hosts of one direction of one queue add to the loads; nothing where they are not
/// shared.
#[derive(Debug, Default)]
pub(super) struct Loads(Option<Box<Named>>);

#[derive(Debug)]
struct Named {
    hosts: SharedHosts,
    /// By host: its hash, and its bulk flows here.
    own: Vec<(u32, i32)>,
}

impl Loads {
    pub(super) fn of(hosts: SharedHosts) -> Self {
        let own = Vec::new();
        Self(Some(Box::new(Named { hosts, own })))
    }

    /// A copy in a copy of what is shared, which counts these loads already.
    pub(super) fn onto(&self, shared: &Arc<SharedRate>) -> Self {
        Self(self.0.as_ref().map(|named| {
            Box::new(Named {
                hosts: named.hosts.onto(shared),
                own: named.own.clone(),
            })
        }))
    }

    /// From now on the number stands for the host with this hash.
    pub(super) fn name(&mut self, id: u16, hash: u32) {
        if let Some(named) = &mut self.0 {
            let len = named.own.len().max(usize::from(id) + 1);
            named.own.resize(len, (0, 0));
            named.own[usize::from(id)] = (hash, 0);
        }
    }

    /// The host has more bulk flows here, or fewer.
    #[inline]
    pub(super) fn add(&mut self, id: u16, bulk: i32) {
        if let Some(named) = &mut self.0
            && bulk != 0
            && let Some((hash, own)) = named.own.get_mut(usize::from(id))
        {
            *own += bulk;
            named.hosts.add(*hash, bulk);
        }
    }

    /// Bulk flows of the host in all queues; None where hosts are not shared.
    #[inline]
    pub(super) fn of_host(&self, id: u16) -> Option<u32> {
        let named = self.0.as_ref()?;
        let (hash, _) = named.own.get(usize::from(id))?;
        Some(named.hosts.load(*hash))
    }
}

/// A copy counts for itself alone.
impl Clone for Loads {
    fn clone(&self) -> Self {
        Self(None)
    }
}

impl Drop for Loads {
    fn drop(&mut self) {
        if let Some(named) = &self.0 {
            for &(hash, own) in &named.own {
                named.hosts.add(hash, -own);
            }
        }
    }
}
