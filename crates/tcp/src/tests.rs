//! Whole connections over a scripted link.

mod behaviour;
mod gaps;
mod limits;
mod linux;
mod loss;
pub(crate) mod pair;
mod robust;
mod samples;
mod trains;
mod transfer;
