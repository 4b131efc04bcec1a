//! The border to a stack.

use crate::{Arrival, Datagram, Time};

/// A transport without I/O of its own: one end, with all its connections.
///
/// # Contract
/// The four methods without a body are the calls that a stack without I/O has anyway. Each is
/// called at a simulated time that never decreases. A turn is first [`Stack::input`] with a
/// datagram that has come, or [`Stack::timeout`]; then [`Stack::output`] until there is nothing
/// more; then [`Stack::next_timeout`]. The first turn, when its flow starts, has the last two
/// alone, and so has the one after [`Net::stack`](crate::Net::stack). Datagrams that come at one
/// time have turns of their own, in the order of arrival, and before a timeout at that time.
///
/// A stack that needs a `std::time::Instant` takes one at its construction and adds the simulated
/// time to it.
pub trait Stack {
    /// A datagram has come, now.
    fn input(&mut self, arrival: Arrival);

    /// The time has come that [`Stack::next_timeout`] asked for.
    fn timeout(&mut self, now: Time);

    /// The next datagram to send; none when there is nothing more to send now.
    fn output(&mut self, now: Time) -> Option<Datagram>;

    /// When it wants [`Stack::timeout`] at the latest; none: only datagrams matter.
    fn next_timeout(&mut self) -> Option<Time>;

    /// A copy that does from now on what this one would have done, for
    /// [`Net::fork`](crate::Net::fork). None, unless it says otherwise: few stacks can be copied.
    fn fork(&self) -> Option<Self>
    where
        Self: Sized,
    {
        None
    }
}

impl<S: Stack + ?Sized> Stack for Box<S> {
    fn input(&mut self, arrival: Arrival) {
        (**self).input(arrival);
    }

    fn timeout(&mut self, now: Time) {
        (**self).timeout(now);
    }

    fn output(&mut self, now: Time) -> Option<Datagram> {
        (**self).output(now)
    }

    fn next_timeout(&mut self) -> Option<Time> {
        (**self).next_timeout()
    }
}
