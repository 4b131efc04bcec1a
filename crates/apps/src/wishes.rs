//! What an app wants of its connections and its timer, kept until its world does it.

use crate::Message;
use alloc::vec::Vec;
use sojourn_units::Time;

/// What an app wants of one of its connections.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wish {
    /// To carry a message.
    Message(Message),
    /// To open.
    Open,
    /// To break off.
    Abort,
}

/// What an app has asked for and its world has yet to do. A [`Port`](crate::Port) lends it out;
/// the world empties it after each [`App::handle`](crate::App::handle).
#[derive(Clone, Debug, Default)]
pub struct Wishes {
    /// By the number of the connection, in the order of asking.
    pub connections: Vec<(u8, Wish)>,
    /// When to be woken: the last wish counts.
    pub wake: Option<Time>,
}
