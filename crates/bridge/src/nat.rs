//! What addresses were before a network address translation, for `nat`.
//!
//! Source: Linux connection tracking, `/proc/net/nf_conntrack` of the gateway's network
//! namespace: our own, unless [`BridgeConfig::gateway`](crate::forwarding::BridgeConfig::gateway)
//! says otherwise. A thread reads it every second into a table; the path of packets only looks
//! up. A connection is therefore known up to a second after it began, and counts with its
//! outside addresses until then: its host is told from others late, and nothing else. A kernel
//! without connection tracking knows no translations.

use crate::namespace::Namespace;
use sojourn_wire::{FlowKey, protocol};
use std::collections::HashMap;
use std::fs;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::Duration;

/// Time between two readings.
const PERIOD: Duration = Duration::from_secs(1);
/// The list of the calling thread's namespace.
const LIST: &str = "/proc/thread-self/net/nf_conntrack";

/// Translations by the key outside.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct NatTable(HashMap<FlowKey, FlowKey>);

impl NatTable {
    fn inside(&self, outside: &FlowKey) -> Option<FlowKey> {
        self.0.get(outside).copied()
    }

    /// From the kernel's list. Lines that say something else are passed over.
    fn read(list: &str) -> Self {
        let mut table = Self::default();
        for [original, reply] in list.lines().filter_map(connection) {
            // As the packets of both directions are outside, and what they are inside.
            if reply.dst != original.src {
                table.0.insert(back(reply), original);
                table.0.insert(reply, back(original));
            }
            if reply.src != original.dst {
                table.0.entry(original).or_insert(back(reply));
                table.0.entry(back(original)).or_insert(reply);
            }
        }
        table
    }
}

/// The key of the packets in the opposite direction. Those of an echo have its identifier as
/// their source port both ways.
fn back(key: FlowKey) -> FlowKey {
    let back = key.reversed();
    match key.protocol {
        protocol::ICMP | protocol::ICMPV6 => FlowKey {
            src_port: key.src_port,
            dst_port: key.dst_port,
            ..back
        },
        _ => back,
    }
}

/// Both directions of a connection: as it was opened, and as it is answered.
fn connection(line: &str) -> Option<[FlowKey; 2]> {
    let mut words = line.split_whitespace();
    let ether_type = match words.next()? {
        "ipv4" => 0x0800,
        "ipv6" => 0x86dd,
        _ => return None,
    };
    let number = words.nth(2)?.parse().ok()?;
    let empty = FlowKey {
        ether_type,
        protocol: number,
        ..FlowKey::default()
    };
    let mut ways = [empty; 2];
    let mut sources = 0;
    for (name, value) in words.filter_map(|word| word.split_once('=')) {
        if name == "src" {
            sources += 1;
        }
        let Some(way) = ways.get_mut(usize::max(sources, 1) - 1) else {
            break;
        };
        match name {
            "src" => way.src = address(value)?,
            "dst" => way.dst = address(value)?,
            "sport" => way.src_port = value.parse().ok()?,
            "dport" => way.dst_port = value.parse().ok()?,
            // Our keys have the identifier of an echo there.
            "id" if matches!(number, protocol::ICMP | protocol::ICMPV6) => {
                way.src_port = value.parse().ok()?;
            }
            _ => {}
        }
    }
    (sources == 2).then_some(ways)
}

/// An address as keys have it: IPv4 in the last four bytes.
fn address(text: &str) -> Option<[u8; 16]> {
    Some(match text.parse().ok()? {
        std::net::IpAddr::V4(v4) => {
            let mut bytes = [0; 16];
            bytes[12..].copy_from_slice(&v4.octets());
            bytes
        }
        std::net::IpAddr::V6(v6) => v6.octets(),
    })
}

/// The table of a namespace, kept up to date.
#[derive(Debug)]
pub(crate) struct Conntrack {
    /// What was read last, which is looked at without waiting for it,
    fresh: Arc<Mutex<Arc<NatTable>>>,
    /// and what was seen there last.
    table: Arc<NatTable>,
    stop: Arc<AtomicBool>,
    reader: Option<JoinHandle<()>>,
}

impl Conntrack {
    /// That of `gateway`, or of the calling thread's namespace.
    pub(crate) fn follow(gateway: Option<Namespace>) -> Self {
        let first = match &gateway {
            None => read_list(),
            // A namespace that cannot be entered knows nothing, as a kernel without the list.
            Some(gateway) => gateway.run(|| Ok(read_list())).unwrap_or_default(),
        };
        let table = Arc::new(first);
        let fresh = Arc::new(Mutex::new(Arc::clone(&table)));
        let stop = Arc::new(AtomicBool::new(false));
        let reader = thread::Builder::new().name("conntrack".to_owned()).spawn({
            let (fresh, stop) = (Arc::clone(&fresh), Arc::clone(&stop));
            let mut old = Arc::clone(&table);
            move || {
                if gateway.is_some_and(|gateway| gateway.enter().is_err()) {
                    return;
                }
                while !stop.load(Ordering::Relaxed) {
                    thread::park_timeout(PERIOD);
                    let read = Arc::new(read_list());
                    let mut fresh = fresh.lock().unwrap_or_else(PoisonError::into_inner);
                    let last = std::mem::replace(&mut *fresh, read);
                    drop(fresh);
                    // Kept until the next one, and thrown away here: that takes its time.
                    drop(std::mem::replace(&mut old, last));
                }
            }
        });
        Self {
            fresh,
            table,
            stop,
            reader: reader.ok(),
        }
    }

    /// The key inside of a packet with this key outside; none when it is not translated.
    pub(crate) fn inside(&mut self, outside: &FlowKey) -> Option<FlowKey> {
        if let Ok(fresh) = self.fresh.try_lock()
            && !Arc::ptr_eq(&fresh, &self.table)
        {
            self.table = Arc::clone(&fresh);
        }
        self.table.inside(outside)
    }
}

fn read_list() -> NatTable {
    NatTable::read(&fs::read_to_string(LIST).unwrap_or_default())
}

impl Drop for Conntrack {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        if let Some(reader) = self.reader.take() {
            reader.thread().unpark();
            // It cannot panic; if it did, there would be nothing to do about it here.
            let _ = reader.join();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Lines in the form of Linux 6.18's `nf_conntrack_standalone.c`: a masqueraded connection, one
    /// that is not translated, a forwarded port, an echo, and nonsense.
    const LIST: &str = "\
ipv4     2 tcp      6 431999 ESTABLISHED src=10.0.0.2 dst=198.51.100.7 sport=4321 dport=443 \
src=198.51.100.7 dst=192.0.2.1 sport=443 dport=61000 [ASSURED] mark=0 zone=0 use=2
ipv4     2 udp      17 20 src=10.0.0.2 dst=10.0.0.3 sport=53 dport=53 src=10.0.0.3 \
dst=10.0.0.2 sport=53 dport=53 mark=0 use=2
ipv4     2 tcp      6 100 ESTABLISHED src=203.0.113.9 dst=192.0.2.1 sport=5000 dport=80 \
src=10.0.0.8 dst=203.0.113.9 sport=8080 dport=5000 [ASSURED] mark=0 use=2
ipv4     2 icmp     1 29 src=10.0.0.2 dst=198.51.100.7 type=8 code=0 id=77 src=198.51.100.7 \
dst=192.0.2.1 type=0 code=0 id=78 mark=0 use=2
ipv6     10 tcp      6 1 CLOSE src=nonsense
";

    /// Ends are as in `192.0.2.1:443`.
    fn key(protocol: u8, src: &str, dst: &str) -> FlowKey {
        let [src, dst] = [src, dst].map(|end| end.split_once(':').expect("it has a port"));
        FlowKey {
            src: address(src.0).expect("an address"),
            dst: address(dst.0).expect("an address"),
            src_port: src.1.parse().expect("a port"),
            dst_port: dst.1.parse().expect("a port"),
            ether_type: 0x0800,
            protocol,
        }
    }

    #[test]
    fn packets_outside_are_known_inside_in_both_directions() {
        let table = NatTable::read(LIST);
        let out = key(6, "192.0.2.1:61000", "198.51.100.7:443");
        let inside = key(6, "10.0.0.2:4321", "198.51.100.7:443");
        assert_eq!(table.inside(&out), Some(inside));
        assert_eq!(table.inside(&out.reversed()), Some(inside.reversed()));
        // What comes in through a forwarded port, and what answers it.
        let out = key(6, "203.0.113.9:5000", "192.0.2.1:80");
        let inside = key(6, "203.0.113.9:5000", "10.0.0.8:8080");
        assert_eq!(table.inside(&out), Some(inside));
        assert_eq!(table.inside(&out.reversed()), Some(inside.reversed()));
        let echo = key(1, "192.0.2.1:78", "198.51.100.7:0");
        let inside = key(1, "10.0.0.2:77", "198.51.100.7:0");
        assert_eq!(table.inside(&echo), Some(inside));
        let plain = key(17, "10.0.0.2:53", "10.0.0.3:53");
        assert_eq!(table.inside(&plain), None);
    }

    #[test]
    fn nothing_in_a_list_panics() {
        for cut in 0..LIST.len() {
            NatTable::read(&LIST[cut..]);
            NatTable::read(&LIST[..cut]);
        }
        assert_eq!(
            NatTable::read("ipv4 2 tcp 6 src= dst=x=y sport=99999"),
            NatTable::default()
        );
    }

    /// The thread ends with its owner, at once.
    #[test]
    fn following_ends() {
        let mut conntrack = Conntrack::follow(None);
        assert_eq!(conntrack.inside(&FlowKey::default()), None);
        drop(conntrack);
    }
}
