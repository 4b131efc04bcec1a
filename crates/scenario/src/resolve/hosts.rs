//! The hosts on the two sides of a dumbbell: names become numbers.

use super::Resolver;
use crate::format::{DumbbellTable, FlowTable, ScenarioFile};
use sojourn_world::Flow;

/// The hosts met so far, by side; a host's number is its place. The one without a name is the
/// host of all flows that name none.
#[derive(Default)]
pub(super) struct Hosts([Vec<Option<String>>; 2]);

impl Hosts {
    /// The numbers of the hosts of a flow, the `index`th of the cell.
    pub(super) fn of(
        &mut self,
        flow: &Flow,
        table: &FlowTable,
        dumbbell: Option<&DumbbellTable>,
        index: usize,
    ) -> [u32; 2] {
        match dumbbell {
            // A node of a graph is one host.
            None => [0; 2],
            Some(dumbbell) if dumbbell.access.is_some() => [index as u32; 2],
            Some(_) => {
                [(flow.from, &table.src_host), (flow.to, &table.dst_host)].map(|(side, name)| {
                    let name = name.as_ref().map(|name| name.0.clone());
                    let known = &mut self.0[side];
                    let place = known.iter().position(|host| *host == name);
                    place.unwrap_or_else(|| {
                        known.push(name);
                        known.len() - 1
                    }) as u32
                })
            }
        }
    }
}

impl Resolver<'_> {
    /// Complains about names of hosts where there are none to name.
    pub(super) fn check_hosts(&mut self, file: &ScenarioFile, table: &FlowTable, path: &str) {
        let (message, help) = match &file.dumbbell {
            None => (
                "only a dumbbell has hosts on its sides",
                "give each host a `[[node]]` of its own",
            ),
            Some(dumbbell) if dumbbell.access.is_some() => (
                "with `access` every flow has hosts of its own",
                "leave out either",
            ),
            Some(_) => return,
        };
        for (key, name) in [("src_host", &table.src_host), ("dst_host", &table.dst_host)] {
            if name.is_some() {
                self.advise::<()>(&format!("{path}.{key}"), message, help);
            }
        }
    }
}
