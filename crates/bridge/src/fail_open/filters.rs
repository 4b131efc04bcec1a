//! Whether rules of netfilter may stop what a kernel bridge forwards.
//!
//! They see it where the module `br_netfilter` is on (`net.bridge.bridge-nf-call-iptables` and its
//! kin, which Docker and Kubernetes set), and chains of nf_tables' family `bridge` always do. A
//! chain with rules, or that drops by itself, counts as one that may drop.
//!
//! Source: `linux/netfilter/nf_tables.h`; `/proc/net/ip_tables_names` of x_tables.
//! Not here: rules of the old ebtables, which cannot be listed without its own tool.

use crate::netlink::{connect, find, list, protocols::NETLINK_NETFILTER};
use std::fs;
use std::io;
use std::path::Path;

/// Subsystem nf_tables: the request for all chains.
const GET_CHAIN: u16 = 10 << 8 | 4;
const NFTA_CHAIN_TABLE: u16 = 1;
const NFTA_CHAIN_NAME: u16 = 3;
const NFTA_CHAIN_HOOK: u16 = 4;
const NFTA_CHAIN_POLICY: u16 = 5;
const NFTA_CHAIN_USE: u16 = 6;
const NFTA_HOOK_HOOKNUM: u16 = 1;
/// Families of tables: both of IP, IPv4, ARP, bridges, IPv6.
const INET: u8 = 1;
const IPV4: u8 = 2;
const ARP: u8 = 3;
const BRIDGE: u8 = 7;
const IPV6: u8 = 10;
/// Hooks that forwarded packets pass: `NF_INET_PRE_ROUTING`, `FORWARD`, `POST_ROUTING`, which have
/// the same numbers in the family of bridges.
const PASSED: [u32; 3] = [0, 2, 4];
const NF_DROP: u32 = 0;

/// What may stop frames of a kernel bridge in the calling thread's namespace, and what to do.
pub(crate) fn in_the_way() -> Option<String> {
    let folder = Path::new("/proc/sys/net/bridge");
    let is_on = |name: &str| {
        let text = fs::read_to_string(folder.join(name));
        text.is_ok_and(|text| text.trim() != "0")
    };
    let calls: Vec<_> = [
        ("bridge-nf-call-iptables", IPV4, "ip_tables_names"),
        ("bridge-nf-call-ip6tables", IPV6, "ip6_tables_names"),
        ("bridge-nf-call-arptables", ARP, "arp_tables_names"),
    ]
    .into_iter()
    .filter(|(name, ..)| is_on(name))
    .collect();
    // Asking would load nf_tables where nobody needs it.
    let has_tables = Path::new("/sys/module/nf_tables").exists();
    if calls.is_empty() && !has_tables {
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
    calls.into_iter().find_map(|(name, family, list)| {
        let sees = |of: u8| of == family || of == INET && family != ARP;
        let chain = chains.iter().find(|chain| sees(chain.family));
        let what = if let Some(chain) = chain {
            format!("the chain `{}`", chain.name)
        } else {
            let list = fs::read_to_string(format!("/proc/thread-self/net/{list}")).ok()?;
            format!("the table `{}` of iptables", list.lines().next()?)
        };
        Some(format!(
            "`net.bridge.{name}` is not 0, so that {what} may drop what it forwards; \
             `sysctl net.bridge.{name}=0`, or accept there what both interfaces exchange"
        ))
    })
}

/// A chain that may drop forwarded packets.
struct Chain {
    family: u8,
    /// With its table.
    name: String,
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
    let hook = find(find(attributes, NFTA_CHAIN_HOOK)?, NFTA_HOOK_HOOKNUM)?;
    // Of ARP's hooks the third is that of forwarded packets, and the first that of the host.
    let hook = number(hook)?;
    let is_passed = PASSED.contains(&hook) && (family != ARP || hook == 2);
    let has_rules = find(attributes, NFTA_CHAIN_USE).and_then(number) != Some(0);
    let drops = find(attributes, NFTA_CHAIN_POLICY).and_then(number) == Some(NF_DROP);
    let text = |kind| {
        let bytes = find(attributes, kind).unwrap_or_default();
        String::from_utf8_lossy(bytes.strip_suffix(&[0]).unwrap_or(bytes)).into_owned()
    };
    (is_passed && (has_rules || drops)).then(|| Chain {
        family,
        name: format!("{} {}", text(NFTA_CHAIN_TABLE), text(NFTA_CHAIN_NAME)),
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
}
