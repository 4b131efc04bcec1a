//! Whether rules of netfilter may stop what a kernel bridge forwards.
//!
//! They see it where the module `br_netfilter` is on (`net.bridge.bridge-nf-call-iptables` and its
//! kin, which Docker and Kubernetes set) or the bridge asks for it itself. Chains of nf_tables'
//! family `bridge` always do, and so do those at the ingress of an interface (families `netdev` and
//! `inet`): our sockets get frames before them. A chain with rules, or that drops by itself, counts
//! as one that may drop.
//!
//! Source: `linux/netfilter/nf_tables.h`; `/proc/net/ip_tables_names` of x_tables;
//! `__netif_receive_skb_core` for the order of sockets, tcx and `nf_ingress`.
//! Not here: rules of the old ebtables, which cannot be listed without its own tool.

use crate::interface::Interface;
use crate::links::{Link, Links};
use crate::netlink::{self, connect, find, list, protocols::NETLINK_NETFILTER};
use rustix::system::uname;
use std::fs;
use std::io;
use std::path::Path;
use std::sync::LazyLock;

/// Subsystem nf_tables: the request for all chains.
const GET_CHAIN: u16 = 10 << 8 | 4;
const NFTA_CHAIN_TABLE: u16 = 1;
const NFTA_CHAIN_NAME: u16 = 3;
const NFTA_CHAIN_HOOK: u16 = 4;
const NFTA_CHAIN_POLICY: u16 = 5;
const NFTA_CHAIN_USE: u16 = 6;
const NFTA_HOOK_HOOKNUM: u16 = 1;
const NFTA_HOOK_DEV: u16 = 3;
const NFTA_HOOK_DEVS: u16 = 4;
const NFTA_DEVICE_NAME: u16 = 1;
/// Families of tables: both of IP, IPv4, ARP, interfaces, bridges, IPv6.
const INET: u8 = 1;
const IPV4: u8 = 2;
const ARP: u8 = 3;
const NETDEV: u8 = 5;
const BRIDGE: u8 = 7;
const IPV6: u8 = 10;
/// Hooks that forwarded packets pass: `NF_INET_PRE_ROUTING`, `FORWARD`, `POST_ROUTING`, which have
/// the same numbers in the family of bridges.
const PASSED: [u32; 3] = [0, 2, 4];
const NF_NETDEV_INGRESS: u32 = 0;
const NF_INET_INGRESS: u32 = 5;
const NF_DROP: u32 = 0;

/// What may stop frames of a kernel bridge over these interfaces in the calling thread's namespace,
/// and what to do. The bridge is the one with this index, or one that has yet to be made.
pub(crate) fn in_the_way(ports: [&Interface; 2], bridge: Option<u32>) -> Option<String> {
    let calls = calls(bridge);
    if calls.is_empty() && !has_tables() {
        return None;
    }
    // A kernel without nf_tables has no chains.
    let chains = chains().unwrap_or_default();
    if let Some(chain) = chains.iter().find(|chain| chain.family == BRIDGE) {
        return Some(format!(
            "the chain `{}` of nf_tables' family bridge may drop what it forwards",
            chain.name
        ));
    }
    let at_port = chains.iter().find_map(|chain| {
        let port = ports.iter().find(|port| chain.devices.contains(&port.name));
        Some((&chain.name, &port?.name))
    });
    if let Some((chain, port)) = at_port {
        return Some(format!(
            "the chain `{chain}` of nf_tables at the ingress of `{port}` may drop what it forwards"
        ));
    }
    calls.into_iter().find_map(|call| {
        let Call { family, list, .. } = call;
        let sees = |of: u8| of == family || of == INET && family != ARP;
        let mut passed = chains.iter().filter(|chain| chain.devices.is_empty());
        let chain = passed.find(|chain| sees(chain.family));
        let what = if let Some(chain) = chain {
            format!("the chain `{}`", chain.name)
        } else {
            let list = fs::read_to_string(format!("/proc/thread-self/net/{list}")).ok()?;
            format!("the table `{}` of iptables", list.lines().next()?)
        };
        Some(format!(
            "{}, so that {what} may drop what it forwards; `{}`, or accept there what both \
             interfaces exchange",
            call.why, call.remedy
        ))
    })
}

/// A kind of rules that sees what a kernel bridge forwards.
struct Call {
    family: u8,
    /// The list of its tables.
    list: &'static str,
    why: String,
    /// The command that ends it.
    remedy: String,
}

/// The kinds of rules that see what this bridge forwards: by a sysctl, or by its own setting.
fn calls(bridge: Option<u32>) -> Vec<Call> {
    let folder = Path::new("/proc/sys/net/bridge");
    if !folder.exists() {
        return Vec::new();
    }
    let is_on = |name: &str| {
        let text = fs::read_to_string(folder.join(name));
        text.is_ok_and(|text| text.trim() != "0")
    };
    let link = bridge.and_then(|bridge| Links::open().ok()?.link(bridge).ok());
    let own = link.as_ref().map_or([false; 3], Link::calls_netfilter);
    let bridge = link.as_ref().and_then(Link::name).unwrap_or_default();
    let kinds = [
        ("iptables", IPV4, "ip_tables_names"),
        ("ip6tables", IPV6, "ip6_tables_names"),
        ("arptables", ARP, "arp_tables_names"),
    ];
    let with_own = kinds.into_iter().zip(own);
    let calls = with_own.filter_map(|((word, family, list), own)| {
        let sysctl = format!("bridge-nf-call-{word}");
        let (why, remedy) = if is_on(&sysctl) {
            (
                format!("`net.bridge.{sysctl}` is not 0"),
                format!("sysctl net.bridge.{sysctl}=0"),
            )
        } else if own {
            (
                format!("`{bridge}` has `nf_call_{word}` on"),
                format!("ip link set {bridge} type bridge nf_call_{word} 0"),
            )
        } else {
            return None;
        };
        Some(Call {
            family,
            list,
            why,
            remedy,
        })
    });
    calls.collect()
}

/// Whether nf_tables is in the kernel. To ask it for chains would load its module where nobody
/// needs it.
fn has_tables() -> bool {
    static IS_BUILT_IN: LazyLock<bool> = LazyLock::new(|| {
        // A kernel without modules has in it what it has.
        if !Path::new("/proc/modules").exists() {
            return true;
        }
        let release = uname();
        let folder = Path::new("/lib/modules").join(release.release().to_string_lossy().as_ref());
        let list = fs::read_to_string(folder.join("modules.builtin"));
        list.is_ok_and(|list| list.contains("/nf_tables.ko"))
    });
    Path::new("/sys/module/nf_tables").exists() || *IS_BUILT_IN
}

/// A chain that may drop forwarded packets.
struct Chain {
    family: u8,
    /// With its table.
    name: String,
    /// The interfaces whose packets it sees, if it is at their ingress.
    devices: Vec<String>,
}

fn chains() -> io::Result<Vec<Chain>> {
    let socket = connect(NETLINK_NETFILTER)?;
    // `struct nfgenmsg` of all families.
    let chains = list(&socket, GET_CHAIN, &[0; 4])?;
    Ok(chains.iter().filter_map(|body| chain(body)).collect())
}

/// A chain, unless no forwarded packet comes to it or it lets all pass.
fn chain(body: &[u8]) -> Option<Chain> {
    let family = *body.first()?;
    let attributes = body.get(4..)?;
    let number = |bytes: &[u8]| Some(u32::from_be_bytes(*bytes.first_chunk()?));
    let hook = find(attributes, NFTA_CHAIN_HOOK)?;
    let at = number(find(hook, NFTA_HOOK_HOOKNUM)?)?;
    let is_passed = match family {
        // Of its hooks the third is that of forwarded packets, and the first that of the host.
        ARP => at == 2,
        // What leaves an interface leaves it by our path too.
        NETDEV => at == NF_NETDEV_INGRESS,
        INET => PASSED.contains(&at) || at == NF_INET_INGRESS,
        _ => PASSED.contains(&at),
    };
    let has_rules = find(attributes, NFTA_CHAIN_USE).and_then(number) != Some(0);
    let drops = find(attributes, NFTA_CHAIN_POLICY).and_then(number) == Some(NF_DROP);
    let text = |bytes: &[u8]| {
        String::from_utf8_lossy(bytes.strip_suffix(&[0]).unwrap_or(bytes)).into_owned()
    };
    let named = |kind| text(find(attributes, kind).unwrap_or_default());
    // One interface stands alone, or several in a list.
    let several = find(hook, NFTA_HOOK_DEVS).map(netlink::attributes);
    let listed = several.into_iter().flatten();
    let names = listed.filter_map(|(kind, name)| (kind == NFTA_DEVICE_NAME).then_some(name));
    let devices = find(hook, NFTA_HOOK_DEV).into_iter().chain(names);
    (is_passed && (has_rules || drops)).then(|| Chain {
        family,
        name: format!("{} {}", named(NFTA_CHAIN_TABLE), named(NFTA_CHAIN_NAME)),
        devices: devices.map(text).collect(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::netlink::attribute;

    /// By hand from `nf_tables.h`: numbers are big-endian.
    #[test]
    fn chains_that_may_drop_are_known() {
        let of = |hook: u32, rules: u32, policy: u32| {
            let attributes = [
                attribute(NFTA_CHAIN_TABLE, b"filter\0"),
                attribute(NFTA_CHAIN_NAME, b"FORWARD\0"),
                attribute(
                    NFTA_CHAIN_HOOK,
                    &attribute(NFTA_HOOK_HOOKNUM, &hook.to_be_bytes()),
                ),
                attribute(NFTA_CHAIN_POLICY, &policy.to_be_bytes()),
                attribute(NFTA_CHAIN_USE, &rules.to_be_bytes()),
            ];
            chain(&[&[IPV4, 0, 0, 0][..], &attributes.concat()].concat())
        };
        assert_eq!(of(2, 0, 0).expect("it drops").name, "filter FORWARD");
        assert!(of(2, 1, 1).is_some(), "it has rules");
        assert!(of(2, 0, 1).is_none(), "it lets all pass");
        assert!(of(1, 1, 0).is_none(), "no forwarded packet comes to it");
        assert!(chain(&[IPV4, 0, 0, 0]).is_none(), "no hook leads to it");
    }

    /// As `nft` makes them with one device and with two; by hand from `nf_tables.h`.
    #[test]
    fn chains_at_the_ingress_of_an_interface_are_known() {
        let of = |family: u8, hook: u32, devices: &[u8]| {
            let hook = [
                attribute(NFTA_HOOK_HOOKNUM, &hook.to_be_bytes()),
                devices.to_vec(),
            ];
            let attributes = [
                attribute(NFTA_CHAIN_HOOK, &hook.concat()),
                attribute(NFTA_CHAIN_POLICY, &0_u32.to_be_bytes()),
            ];
            let chain = chain(&[&[family, 0, 0, 0][..], &attributes.concat()].concat());
            chain.map(|chain| chain.devices)
        };
        let one = attribute(NFTA_HOOK_DEV, b"l0\0");
        assert_eq!(of(NETDEV, 0, &one), Some(vec!["l0".to_owned()]));
        assert_eq!(of(INET, 5, &one), Some(vec!["l0".to_owned()]));
        let names = ["l0\0", "r0\0"].map(|name| attribute(1, name.as_bytes()));
        let two = attribute(NFTA_HOOK_DEVS, &names.concat());
        let both = ["l0", "r0"].map(str::to_owned).to_vec();
        assert_eq!(of(NETDEV, 0, &two), Some(both));
        assert_eq!(of(NETDEV, 1, &one), None, "at the egress");
        assert_eq!(of(INET, 2, &[]), Some(Vec::new()), "no interface's");
    }
}
