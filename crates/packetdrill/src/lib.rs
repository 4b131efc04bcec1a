//! Scripts of packetdrill against the TCP of the simulator, in virtual time.
//!
//! A script ([`Script::read`]) says which packets arrive at a host, which calls a program makes
//! there, and which packets the host must send when. [`Script::run`] plays it on
//! [`sojourn_tcp::Connection`], and its [`Outcome`] says whether our TCP did so, and if not, what
//! stood in the way: our TCP itself, something that it does not have, or the socket interface,
//! which is not TCP's.
//!
//! Another TCP can be held to the same scripts: [`differs`], [`gather`] and [`check_assertions`]
//! judge what it does. The crate `referee` does so with Linux's.
//!
//! Linux keeps such scripts in `tools/testing/selftests/net/packetdrill`; none is here.
#![forbid(unsafe_code)]

mod assertion;
mod calls;
mod host;
mod info;
mod lex;
mod matching;
mod parse;
mod push;
mod run;
mod script;
mod settings;
mod verdict;
mod wire;

pub use assertion::{Names, check as check_assertions};
pub use info::constant;
pub use lex::Problem;
pub use matching::{differs, gather};
pub use script::{Arg, Call, Event, Options, Packet, Script, TcpOption, What, When, flag};
pub use settings::{commands, evaluated};
pub use verdict::{Outcome, Stop, Verdict};
pub use wire::Sent;
