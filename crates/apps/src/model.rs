//! A traffic model by its parameters, and what the worlds ask of it.
//!
//! Each model stands in a file of its own: its parameters with their defaults, its [`Kind`], its
//! two ends. `lib.rs` lists them, and [`Spec`](crate::Spec) is made from that list.

use crate::{App, Metric};
use alloc::boxed::Box;
use sojourn_random::Stream;

/// What carries a flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Transport {
    /// A byte stream.
    Tcp,
    /// Datagrams.
    Udp,
}

/// What is so of a model whatever its parameters are.
#[derive(Clone, Copy, Debug)]
pub struct Kind {
    /// Its name in scenario files.
    pub name: &'static str,
    /// What it is, in a few words.
    pub about: &'static str,
    /// What carries it; none when it runs over either.
    pub transport: Option<Transport>,
    /// Whether the second end opens the connections: the client, where it receives the data that
    /// the flow's figures describe.
    pub second_opens: bool,
    /// Whether connections from 1 on are opened when the app asks for them, not with the flow.
    pub opens_later: bool,
    /// Whether its streams carry messages, in both directions, instead of plain bytes.
    pub has_messages: bool,
    /// Whether it is one direction of a call.
    pub is_call: bool,
    /// Whether the flow takes all bandwidth it can get, so that its share measures fairness.
    pub is_elastic: bool,
    /// Whether a program around the simulator does what its ends do.
    pub is_outside: bool,
    /// What its ends measure of themselves, in the order of results.
    pub metrics: &'static [Metric],
}

impl Kind {
    /// A kind whose first end opens the connections, of which nothing else is so.
    pub(crate) const fn new(
        name: &'static str,
        about: &'static str,
        transport: Option<Transport>,
    ) -> Self {
        Self {
            name,
            about,
            transport,
            second_opens: false,
            opens_later: false,
            has_messages: false,
            is_call: false,
            is_elastic: false,
            is_outside: false,
            metrics: &[],
        }
    }
}

/// Both ends of a flow: at its `from` host and at its `to` host.
pub type Ends = (Box<dyn App>, Box<dyn App>);

/// Two ends in their boxes.
pub(crate) fn ends(first: impl App + 'static, second: impl App + 'static) -> Ends {
    (Box::new(first), Box::new(second))
}

/// Datagrams of one size that an end sends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Datagrams {
    /// Payload in bytes.
    pub size: u16,
    /// Whether they need room for a time of the peer's beside their own: echoes, and what becomes
    /// one.
    pub echo: bool,
}

/// Only the first end sends, datagrams of `size` bytes.
pub(crate) const fn one_way(size: u16) -> [Option<Datagrams>; 2] {
    [Some(Datagrams { size, echo: false }), None]
}

/// The parameters of a traffic model.
pub trait Model {
    /// What is so whatever they are.
    const KIND: Kind;

    /// The two ends. `dice` is the flow's own.
    fn build(&self, dice: Stream) -> Ends;

    /// How many connections the flow has.
    fn connections(&self) -> u8 {
        1
    }

    /// The payload of the whole flow in bytes, where it ends by itself.
    fn total_bytes(&self) -> Option<u64> {
        None
    }

    /// What each end sends where datagrams carry the flow.
    fn datagrams(&self) -> [Option<Datagrams>; 2] {
        [None; 2]
    }
}

/// Declares [`Spec`](crate::Spec) from the list of models.
macro_rules! models {
    ($($Model:ident),+ $(,)?) => {
        /// A traffic model with its parameters. The first end is at the flow's `from` host.
        #[derive(Clone, Debug, PartialEq)]
        pub enum Spec {
            $(
                #[doc = concat!("[`", stringify!($Model), "`] with its parameters.")]
                $Model($Model),
            )+
        }

        $(
            impl From<$Model> for Spec {
                fn from(model: $Model) -> Self {
                    Self::$Model(model)
                }
            }
        )+

        impl Spec {
            /// All kinds, in the order of documents.
            pub const KINDS: &[Kind] = &[$($Model::KIND),+];

            /// What is so whatever the parameters are.
            pub const fn kind(&self) -> &'static Kind {
                match self {
                    $(Self::$Model(_) => &$Model::KIND,)+
                }
            }

            /// The two ends: at the flow's `from` host and at its `to` host. `dice` is the flow's
            /// own.
            pub fn build(&self, dice: Stream) -> Ends {
                match self {
                    $(Self::$Model(model) => model.build(dice),)+
                }
            }

            /// How many connections the flow has.
            pub fn connections(&self) -> u8 {
                match self {
                    $(Self::$Model(model) => model.connections(),)+
                }
            }

            /// What each end sends where datagrams carry the flow.
            pub fn datagrams(&self) -> [Option<Datagrams>; 2] {
                match self {
                    $(Self::$Model(model) => model.datagrams(),)+
                }
            }

            /// The payload of the whole flow in bytes, where it ends by itself.
            pub fn total_bytes(&self) -> Option<u64> {
                match self {
                    $(Self::$Model(model) => model.total_bytes(),)+
                }
            }
        }
    };
}

pub(crate) use models;
