//! What an endpoint sends at once.

use crate::host::{Endpoint, Transport};
use crate::net::Net;
use crate::packet::Packet;
use sojourn_tcp::{Codepoint, Owes, Then};
use sojourn_units::Time;
use sojourn_world::FlowRecorder;

/// Sends what an endpoint owes that a segment has come to, and whose app wants nothing. Returns as
/// [`send_segments`].
#[expect(clippy::inline_always, reason = "compiled into the loop")]
#[inline(always)]
pub(super) fn answer(
    owes: Owes,
    net: &mut Net,
    sent: &mut Packet,
    endpoint: &mut Endpoint,
    recorder: &mut FlowRecorder,
    before: Time,
    now: Time,
) -> Option<Time> {
    // Of the segments that data comes in every other one leaves nothing to be done, and of the
    // others most an ACK.
    match owes {
        Owes::Nothing => {
            net.arm(endpoint.way, endpoint.set_alarm());
            None
        }
        Owes::Ack => {
            endpoint.acknowledge(sent, now);
            left(recorder, endpoint, sent, now);
            net.emit_last(sent, endpoint.set_alarm(), before, now)
        }
        Owes::More => send_segments(net, sent, endpoint, recorder, before, now),
    }
}

/// Sends the segments that an endpoint has to send, and arms its timer. `sent`: a place for them.
/// Most of a burst differ in little.
///
/// Returns when the last one arrives at the end of its uplink, if that is the next event, which is
/// then not in the calendar, and before this time.
#[inline(never)]
pub(super) fn send_segments(
    net: &mut Net,
    sent: &mut Packet,
    endpoint: &mut Endpoint,
    recorder: &mut FlowRecorder,
    before: Time,
    now: Time,
) -> Option<Time> {
    sent.way = endpoint.way;
    let (mut then, mut ecn) = (Then::Ask, Codepoint::NotEct);
    while let (Transport::Tcp { connection, .. }, Some(segment)) =
        (&mut endpoint.transport, sent.tcp_mut())
    {
        let mut retransmission = false;
        if then == Then::Alike {
            let Some(next) = connection.poll_alike(segment, now) else {
                break;
            };
            then = next;
        } else {
            let Some(news) = connection.poll_into(segment, now) else {
                break;
            };
            (then, retransmission, ecn) = (news.then, news.retransmission, news.ecn);
        }
        if endpoint.way.is_forth() && segment.payload > 0 {
            recorder.sent(now, 1, u64::from(retransmission));
        }
        sent.len = endpoint.len_of(segment);
        sent.tos = endpoint.tos | ecn as u8;
        left(recorder, endpoint, sent, now);
        if then == Then::Nothing {
            return net.emit_last(sent, endpoint.set_alarm(), before, now);
        }
        net.emit_here(sent, now);
    }
    net.arm(endpoint.way, endpoint.set_alarm());
    None
}

/// Tells a pair of observers of a packet that has arrived. They see what a capture at both hosts
/// would: by the sending time where the transport has it, by the identity of the packet where not.
#[expect(clippy::inline_always, reason = "mostly there is none")]
#[inline(always)]
pub(super) fn arrived(
    recorder: &mut FlowRecorder,
    endpoint: &Endpoint,
    packet: &Packet,
    now: Time,
) {
    if let Some(spp) = recorder.spp().filter(|_| endpoint.paired) {
        match endpoint.transport.sent(packet) {
            Some(sent) => spp.passed(now, !endpoint.is_first(), sent),
            None => spp.reached(now, !endpoint.is_first(), packet.identity()),
        }
    }
}

/// Tells a pair of observers of a packet that is sent, where it does not say when that was.
#[expect(clippy::inline_always, reason = "mostly there is none")]
#[inline(always)]
pub(super) fn left(recorder: &mut FlowRecorder, endpoint: &Endpoint, packet: &Packet, now: Time) {
    if let Some(spp) = recorder.spp()
        && endpoint.paired
        && endpoint.transport.sent(packet).is_none()
    {
        spp.left(now, endpoint.is_first(), packet.identity());
    }
}
