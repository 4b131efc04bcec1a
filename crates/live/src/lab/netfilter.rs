//! The one rule of netfilter that the lab needs: a translation of source addresses, by nf_tables.
//!
//! The messages of `nfnetlink` and nf_tables (Linux `linux/netfilter/nfnetlink.h`,
//! `nf_tables.h`): a batch of a table, a chain of the type `nat` at the postrouting hook, and in it
//! a rule of two expressions, `immediate` and `nat`: the address goes into a register, and from
//! there into the packet.

use sojourn_bridge::netlink::{
    ACK, APPEND, CREATE, ERROR, NESTED, attribute, connect, messages, outcome,
    protocols::NETLINK_NETFILTER,
};
use std::io;
use std::net::Ipv4Addr;

const BATCH_BEGIN: u16 = 0x10;
const BATCH_END: u16 = 0x11;
/// Subsystem nf_tables, and its requests.
const NF_TABLES: u16 = 10;
const NEW_TABLE: u16 = NF_TABLES << 8;
const NEW_CHAIN: u16 = NF_TABLES << 8 | 3;
const NEW_RULE: u16 = NF_TABLES << 8 | 6;
const IPV4: u8 = 2;
/// `NF_INET_POST_ROUTING`, and the priority of source translation there.
const POST_ROUTING: u32 = 4;
const PRIORITY: u32 = 100;
/// `NFT_NAT_SNAT`.
const SOURCE: u32 = 0;
const NAME: &[u8] = b"sojourn\0";

/// Gives all that leaves the calling thread's namespace this source address.
pub(super) fn translate_to(address: Ipv4Addr) -> io::Result<()> {
    let hook = [
        attribute(1, &POST_ROUTING.to_be_bytes()),
        attribute(2, &PRIORITY.to_be_bytes()),
    ];
    let chain = [
        attribute(1, NAME),
        attribute(3, NAME),
        attribute(4 | NESTED, &hook.concat()),
        attribute(7, b"nat\0"),
    ];
    let register = 1_u32.to_be_bytes();
    let value = attribute(1, &address.octets());
    let immediate = [attribute(1, &register), attribute(2 | NESTED, &value)];
    let nat = [
        attribute(1, &SOURCE.to_be_bytes()),
        attribute(2, &u32::from(IPV4).to_be_bytes()),
        attribute(3, &register),
    ];
    let expressions = [
        expression(b"immediate\0", &immediate.concat()),
        expression(b"nat\0", &nat.concat()),
    ];
    let rule = [
        attribute(1, NAME),
        attribute(2, NAME),
        attribute(4 | NESTED, &expressions.concat()),
    ];
    let create = ACK | CREATE;
    let batch = [
        message(BATCH_BEGIN, 0, 0, NF_TABLES, &[]),
        message(NEW_TABLE, create, IPV4, 0, &attribute(1, NAME)),
        message(NEW_CHAIN, create, IPV4, 0, &chain.concat()),
        message(NEW_RULE, create | APPEND, IPV4, 0, &rule.concat()),
        message(BATCH_END, 0, 0, NF_TABLES, &[]),
    ];
    let socket = connect(NETLINK_NETFILTER)?;
    socket.send(&batch.concat(), 0)?;
    let mut acknowledged = 0;
    while acknowledged < 3 {
        let (answers, _) = socket.recv_from_full()?;
        acknowledged += acks(&answers)?;
    }
    Ok(())
}

/// Counts acknowledgements; the first error ends it.
fn acks(answers: &[u8]) -> io::Result<usize> {
    let mut count = 0;
    for (_, body) in messages(answers).filter(|(kind, _)| *kind == ERROR) {
        outcome(body)?;
        count += 1;
    }
    Ok(count)
}

/// One message, with `struct nfgenmsg`.
fn message(kind: u16, flags: u16, family: u8, resource: u16, attributes: &[u8]) -> Vec<u8> {
    let [high, low] = resource.to_be_bytes();
    sojourn_bridge::netlink::message(kind, flags, &[family, 0, high, low], attributes)
}

/// An expression of a rule, by its name.
fn expression(name: &[u8], data: &[u8]) -> Vec<u8> {
    let parts = [attribute(1, name), attribute(2 | NESTED, data)];
    attribute(1 | NESTED, &parts.concat())
}
