//! What a program does with a connection, and what it can ask of it.

use super::{Connection, Phase};
use crate::config::AccEcnRule;
use crate::info::{Counters, Info, State};
use crate::limits::Limits;
use crate::{INFINITE, Time};

impl Connection {
    /// Writes up to `bytes`; returns how many the send buffer took. After a short write,
    /// [`Received::writable`](crate::Received::writable) tells when to go on.
    pub fn write(&mut self, bytes: u64) -> u64 {
        self.sender.write(bytes)
    }

    /// Whether something that was written waits for room in the send buffer, which grows with the
    /// window up to its limit. A socket that does not block would not have taken it.
    pub fn waits_for_room(&self) -> bool {
        self.sender.waits_for_room()
    }

    /// Writes a message of `bytes` whole, or not at all. A message longer than the send buffer
    /// never fits, and none does while an earlier one waits for room.
    pub fn write_message(&mut self, bytes: u64) -> bool {
        self.sender.write_message(bytes)
    }

    /// From now on there is always data to send.
    pub fn write_forever(&mut self) {
        self.sender.write_forever();
    }

    /// Nothing more will be written: a FIN follows the data. After
    /// [`write_forever`](Self::write_forever) it follows what has been sent.
    pub fn close(&mut self) {
        match self.phase {
            Phase::Closed | Phase::Listen => self.phase = Phase::Closed,
            _ => self.sender.close(),
        }
    }

    /// The application stops reading: what arrives fills the receive window.
    pub fn pause_reading(&mut self) {
        self.receiver.set_reading(false);
    }

    /// The application reads again, at once and everything: returns the bytes that waited.
    pub fn resume_reading(&mut self) -> u64 {
        self.receiver.set_reading(true)
    }

    /// Bytes in order that the application has not read.
    pub fn unread(&self) -> u64 {
        self.receiver.unread()
    }

    /// The application, which [`pause_reading`](Self::pause_reading) has told not to read by
    /// itself, reads up to `most` bytes. Returns how many there were.
    pub fn read(&mut self, most: u64, now: Time) -> u64 {
        self.receiver.read(most, now)
    }

    /// Nagle's algorithm, from now on, in the place of [`Config::nagle`](crate::Config::nagle).
    pub fn set_nagle(&mut self, nagle: bool) {
        self.sender.set_nagle(nagle);
    }

    /// How AccECN tells its counters from now on, in the place of
    /// [`Config::accecn`](crate::Config::accecn): between Linux's rules.
    pub fn set_accecn(&mut self, rule: AccEcnRule) {
        self.config.accecn = rule;
        if let Some(reflector) = &mut self.accurate {
            reflector.rule = rule;
            self.leave_room();
        }
    }

    /// The send buffer holds so many bytes now, and this many at most, in the place of
    /// [`Config::send_buffer`](crate::Config::send_buffer).
    pub fn set_send_buffer(&mut self, start: u64, most: u64) {
        self.sender.set_buffer(start, most);
    }

    /// Connection state.
    pub fn state(&self) -> State {
        match self.phase {
            Phase::Closed => return State::Closed,
            Phase::Listen => return State::Listen,
            Phase::SynSent => return State::SynSent,
            Phase::SynReceived => return State::SynReceived,
            Phase::Open => {}
        }
        let ours = (self.sender.fin_sent(), self.sender.fin_acked());
        match (ours, self.receiver.closed()) {
            ((false, _), false) => State::Established,
            ((false, _), true) => State::CloseWait,
            ((true, false), false) => State::FinWait1,
            ((true, true), false) => State::FinWait2,
            ((true, false), true) if self.passive_close => State::LastAck,
            ((true, false), true) => State::Closing,
            ((true, true), true) if self.passive_close => State::Closed,
            ((true, true), true) => State::TimeWait,
        }
    }

    /// Has [`limits`](Self::limits) count from this time on, and not from the beginning.
    pub fn count_limits_from(&mut self, time: Time) {
        self.sender.meter.from = time;
    }

    /// How long the sending half was limited by what until now, while the connection was open and
    /// not all was acknowledged behind its FIN.
    pub fn limits(&self, now: Time) -> Limits {
        self.sender.limits(now)
    }

    /// A snapshot.
    pub fn info(&self) -> Info {
        let sender = &self.sender;
        let window = sender.window();
        let ssthresh = sender.ssthresh();
        Info {
            state: self.state(),
            recovery: sender.recovery(),
            window_segments: window,
            window_bytes: u64::from(window) * u64::from(self.config.mss),
            ssthresh_segments: (ssthresh < INFINITE).then_some(ssthresh),
            srtt: sender.rtt.srtt(),
            rttvar: sender.rtt.rttvar(),
            min_rtt: sender.rtt.min(),
            rto: sender.rto(),
            pacing_rate: sender.paced().then(|| sender.pacing_rate()),
            in_flight: sender.in_flight(),
            outstanding: sender.board.outstanding(),
            retransmissions: sender.board.retransmissions(),
            sacked: sender.board.sacked(),
            lost: sender.board.lost(),
            acked_bytes: sender.acked_bytes(),
            delivered_bytes: self.receiver.delivered(),
            receive_window: u32::try_from(self.receiver.window()).unwrap_or(u32::MAX),
            marked_share: sender.control.marked_share(),
            ce: self.ce_counts(),
            counters: Counters {
                segments: self.receiver.sent,
                data_segments: sender.data_segments,
                ..sender.counted()
            },
        }
    }
}
