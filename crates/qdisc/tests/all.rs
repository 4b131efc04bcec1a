//! All tests in one program: each of its own would compile the queues once more.

mod common;

mod acks;
mod adth;
mod aqm;
mod assembly;
mod bound;
mod cake;
mod cake_mq;
mod change;
mod cobalt;
mod fifo;
mod flow;
mod golden;
mod gsp;
mod htb;
mod laws;
mod pie;
mod reference;
mod replay;
mod shaper;
mod shared_rate;
mod steering;
mod tbf;
mod tc_output;
mod tree;
