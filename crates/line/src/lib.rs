//! What a link does to packets: rate, delay, jitter, order, loss, copies. The same in the simulator
//! and in the bridge.
//!
//! A [`Line`] describes one direction, a [`LineChange`] what of it becomes another. [`Transmitter`]
//! says when a packet has been sent, and [`Impairment`] when it arrives, if it does. Losses, copies
//! and order are netem's ([`Loss`], [`Chance`], [`Reorder`]), read and written in its words.
//!
//! Not here: queues, and how a slow link's rate is followed (see `autorate`).
#![no_std]
#![forbid(unsafe_code)]

extern crate alloc;
#[cfg(test)]
extern crate std;

mod impairment;
mod line;
mod netem;
mod transmit;

pub use impairment::{Fate, Impairment};
pub use line::{Line, LineChange, LineRate, RateTrace};
pub use netem::{Chance, FourStates, GilbertElliott, Loss, NotNetem, Reorder};
pub use transmit::{TraceClock, Transmitter};
