//! Frames of IEEE 802.11 with a radiotap header, for a capture of what a radio sends and receives.
//!
//! Sources: IEEE 802.11-2007 clause 7 (frames), radiotap.org, IEEE 802.2 and RFC 1042 (LLC, SNAP),
//! RFC 826 (ARP), RFC 3561 section 5 (AODV, UDP port 654).
//!
//! Frames are as the standard has them, whatever bytes a profile counts: without FCS, and without
//! what ns-2's messages and headers have more. Sequence numbers are zero. A station has the
//! addresses of its node's first host.

use crate::tap::Host;
use sojourn_radio::{ArpMessage, Frame, FrameKind, Message, Profile, Sequenced};
use sojourn_wire::build::{ETHERNET, Envelope, Headers};

const BROADCAST: [u8; 6] = [0xff; 6];
/// Of all stations: an independent network's is random, and locally administered.
const BSSID: [u8; 6] = [2, 0, 0, 0, 0, 0];
const AODV_PORT: u16 = 654;
const IPV4: u16 = 0x0800;
const ARP: u16 = 0x0806;

/// Writes the radiotap header of a frame, received with this power in dBm.
pub(crate) fn radiotap<P>(
    out: &mut Vec<u8>,
    frame: &Frame<'_, P>,
    profile: &Profile,
    received: Option<f64>,
) {
    let rate = match (frame.kind, frame.to) {
        (FrameKind::Data, Some(_)) => profile.data_rate,
        (FrameKind::Data, None) => profile.basic_rate,
        _ => profile.answer_rate,
    };
    // TSFT, flags, rate, channel; antenna signal.
    let present: u32 = 0x0f | u32::from(received.is_some()) << 5;
    let len = 22 + u16::from(received.is_some());
    out.extend([0, 0]);
    out.extend(len.to_le_bytes());
    out.extend(present.to_le_bytes());
    out.extend((frame.start.as_nanos() / 1000).to_le_bytes());
    out.push(if profile.has_short_preamble(rate) {
        2
    } else {
        0
    });
    out.push((rate.as_bps() / 500_000) as u8);
    out.extend(channel(profile.frequency).to_le_bytes());
    // In the 2 GHz band, CCK or OFDM.
    let modulation: u16 = if Profile::is_ofdm(rate) { 0x40 } else { 0x20 };
    out.extend((0x80 | modulation).to_le_bytes());
    out.extend(received.map(|dbm| dbm.max(-128.0) as i8 as u8));
}

/// Middle in MHz of the channel, 1 to 13, that is nearest to a carrier frequency: profiles have
/// ns-2's 2.4 GHz, which is none.
fn channel(frequency: f64) -> u16 {
    let mhz = (frequency / 1e6).clamp(2412.0, 2472.0) as u16;
    2412 + (mhz - 2412 + 2) / 5 * 5
}

/// Writes the header of the MAC.
pub(crate) fn header<P>(out: &mut Vec<u8>, frame: &Frame<'_, P>, nodes: usize) {
    let station = |number: u32| Host::new(nodes, number as usize, 0).mac;
    let kind = match frame.kind {
        FrameKind::Data => 0x08,
        FrameKind::Rts => 0xb4,
        FrameKind::Cts => 0xc4,
        FrameKind::Ack => 0xd4,
    };
    let is_retry = frame.repeated && matches!(frame.kind, FrameKind::Data | FrameKind::Rts);
    out.extend([kind, u8::from(is_retry) << 3]);
    let micros = frame.reserves.as_nanos().div_ceil(1000);
    out.extend((micros.min(0x7fff) as u16).to_le_bytes());
    out.extend(frame.to.map_or(BROADCAST, station));
    match frame.kind {
        FrameKind::Ack | FrameKind::Cts => {}
        FrameKind::Rts => out.extend(station(frame.from)),
        FrameKind::Data => {
            out.extend(station(frame.from));
            out.extend(BSSID);
            out.extend([0, 0]);
        }
    }
}

fn snap(out: &mut Vec<u8>, protocol: u16) {
    out.extend([0xaa, 0xaa, 3, 0, 0, 0]);
    out.extend(protocol.to_be_bytes());
}

/// Writes an IP packet, the headers of which these are; its other bytes are zeros.
pub(crate) fn ip(out: &mut Vec<u8>, headers: &Headers) {
    snap(out, IPV4);
    out.extend(&headers.bytes()[ETHERNET..]);
    let rest = headers.frame_len() - headers.bytes().len();
    out.resize(out.len() + rest, 0);
}

/// Writes a question for an address, or an answer.
pub(crate) fn arp(out: &mut Vec<u8>, message: ArpMessage, nodes: usize) {
    snap(out, ARP);
    let sender = Host::new(nodes, message.sender as usize, 0);
    let target = Host::new(nodes, message.target as usize, 0);
    // Ethernet and IPv4.
    out.extend([0, 1, 8, 0, 6, 4, 0, 1 + u8::from(message.is_answer)]);
    out.extend(sender.mac);
    out.extend(sender.address.to_be_bytes());
    out.extend(if message.is_answer {
        target.mac
    } else {
        [0; 6]
    });
    out.extend(target.address.to_be_bytes());
}

/// Writes a message of AODV from one station to another, or to all.
pub(crate) fn aodv(
    out: &mut Vec<u8>,
    message: &Message,
    [from, to]: [Option<u32>; 2],
    nodes: usize,
) {
    let address = |node: u32| Host::new(nodes, node as usize, 0).address.to_be_bytes();
    let pair = |Sequenced { node, number }: Sequenced| {
        let mut bytes = [0; 8];
        bytes[..4].copy_from_slice(&address(node));
        bytes[4..].copy_from_slice(&number.to_be_bytes());
        bytes
    };
    let mut body = Vec::new();
    // What is for neighbours alone goes one hop; an answer is sent on by each as its own.
    let mut ttl = u8::from(to.is_none());
    match message {
        Message::Request(ask) => {
            ttl = ask.ttl;
            // Here hops are counted where the message arrives, in its bytes where it is sent.
            let unknown = if ask.target.number == 0 { 0x08 } else { 0 };
            body.extend([1, unknown, 0, ask.hops.saturating_sub(1)]);
            body.extend(ask.id.to_be_bytes());
            body.extend(pair(ask.target));
            body.extend(pair(ask.origin));
        }
        Message::Reply(reply) => {
            body.extend([2, 0, 0, reply.hops.saturating_sub(1)]);
            body.extend(pair(reply.target));
            body.extend(address(reply.origin));
            body.extend(((reply.lifetime.as_nanos() / 1_000_000) as u32).to_be_bytes());
        }
        Message::Error { lost, count } => {
            body.extend([3, 0, 0, *count]);
            for one in &lost[..usize::from(*count)] {
                body.extend(pair(*one));
            }
        }
    }
    let envelope = Envelope {
        addresses: [from.map_or([0; 4], address), to.map_or([0xff; 4], address)],
        ports: [AODV_PORT; 2],
        ttl,
        ..Envelope::default()
    };
    ip(out, &envelope.udp(&body, body.len() as u16));
}

/// dBm of a power that is this share of the one sent, which is 15 dBm as in ns-2's cells. For
/// people: nothing follows from it.
pub(crate) fn dbm(share: f64) -> f64 {
    15.0 + Profile::decibels(share)
}

#[cfg(test)]
mod tests {
    use super::*;
    use sojourn_units::{Span, Time};

    #[test]
    fn an_ack_is_ten_bytes_behind_its_radiotap_header() {
        let frame: Frame<'_, ()> = Frame {
            kind: FrameKind::Ack,
            from: 0,
            to: Some(1),
            start: Time::ZERO + Span::from_micros(5),
            airtime: Span::from_micros(304),
            reserves: Span::ZERO,
            packet: None,
            repeated: false,
        };
        let mut out = Vec::new();
        radiotap(&mut out, &frame, &Profile::NS2_B, Some(-54.6));
        assert_eq!(out[..8], [0, 0, 23, 0, 0x2f, 0, 0, 0]);
        // 1 Mbit/s, 2412 MHz, CCK, -54 dBm.
        assert_eq!(out[16..], [0, 2, 0x6c, 0x09, 0xa0, 0, 202]);
        assert_eq!(
            [2.4e9, 2.414e9, 2.415e9, 3e9].map(channel),
            [2412, 2412, 2417, 2472]
        );
        out.clear();
        header(&mut out, &frame, 3);
        assert_eq!(out, [0xd4, 0, 0, 0, 2, 0, 0, 0, 0, 2]);
    }
}
