//! What cannot be run live.

/// Why the live world cannot run a cell.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Unfit {
    /// A medium is a radio.
    #[error("radios are simulated: run this scenario with --world sim")]
    Radio,
    /// A link's rate follows another one.
    #[error("links with `autorate` are simulated: run this scenario with --world sim")]
    Autorate,
    /// The ends of a flow are elsewhere.
    #[error(
        "flow `{flow}` is of the kind `outside`, whose ends are in a program around the \
         simulator: see docs/net.md"
    )]
    Outside {
        /// The flow.
        flow: String,
    },
    /// The stack of a flow is not this world's.
    #[error(
        "flow `{flow}` has the stack `{stack}`, and the hosts here have Linux's: run this scenario \
         with --world sim"
    )]
    Stack {
        /// The flow.
        flow: String,
        /// The stack.
        stack: &'static str,
    },
    /// Nothing to run over.
    #[error("there is no link between its nodes: give it a [[link]]")]
    NoLink,
    /// More nodes than networks.
    #[error("{count} nodes are too many: the live world has networks for {most}")]
    Nodes {
        /// How many there are.
        count: usize,
        /// How many there may be.
        most: usize,
    },
    /// A node has a network address translation that is not a dumbbell's first one.
    #[error("the live world translates addresses at the first node of a dumbbell only")]
    Nat,
    /// Its links count other headers.
    #[error(
        "the live world's links are Ethernet and count {ethernet} bytes of header, not {header}; \
         leave link_header out, or run this scenario with --world sim"
    )]
    LinkHeader {
        /// What they count.
        header: u16,
        /// What links count here.
        ethernet: u16,
    },
    /// More connections than ports.
    #[error("{count} connections are too many: the live world has ports for {most}")]
    Connections {
        /// How many there are.
        count: usize,
        /// How many there may be.
        most: usize,
    },
    /// More hosts on one side than addresses.
    #[error("{count} hosts on one side are too many: the live world has addresses for {most}")]
    Hosts {
        /// How many there are.
        count: u32,
        /// How many there may be.
        most: u32,
    },
    /// Two flows want different settings of their hosts.
    #[error(
        "flow {:?} has {field} = {}, flow {:?} has {field} = {}: in the live world all flows share \
         two kernels' settings and must agree",
        flows[0], values[0], flows[1], values[1]
    )]
    Disagree {
        /// Their names.
        flows: [String; 2],
        /// The setting.
        field: &'static str,
        /// What each wants.
        values: [u32; 2],
    },
    /// The kernel's queues cannot do it.
    #[error(
        "the kernel's own queues cannot have {what}; with --queues ours the run has our own queues"
    )]
    KernelQueue {
        /// The words that they lack.
        what: String,
    },
    /// Our queues in the kernel cannot do it.
    #[error(
        "our queues in the kernel cannot have {what}; with --queues ours they stand in the bridge"
    )]
    ModuleQueue {
        /// What they lack.
        what: String,
    },
    /// Too many round trips for queues in the kernel.
    #[error(
        "flows with {count} different round trips are too many: with queues in the kernel there \
         are {most}"
    )]
    Paths {
        /// How many there are.
        count: usize,
        /// How many there may be.
        most: usize,
    },
    /// One flow cannot be run.
    #[error("flow {flow:?}: {reason}")]
    Flow {
        /// Its name.
        flow: String,
        /// Why not.
        #[source]
        reason: UnfitFlow,
    },
}

/// Why the live world cannot run a flow.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum UnfitFlow {
    /// It joins other nodes than the two that there are.
    #[error("it must lead from the client to the server or back")]
    Ends,
    /// Its app runs over something else.
    #[error("{app:?} needs {carrier}")]
    Carrier {
        /// The app.
        app: &'static str,
        /// TCP or UDP.
        carrier: &'static str,
    },
    /// Its datagrams have no room for what is measured, or none on the link.
    #[error(
        "its size of {size} bytes must be {least} to {most} in the live world: the datagram \
         carries its number and times, and must not be fragmented"
    )]
    Size {
        /// The payload.
        size: u16,
        /// The smallest that there may be.
        least: u16,
        /// The largest.
        most: u16,
    },
    /// Its first packet would meet a translation from outside.
    #[error(
        "the server sends first, and behind `nat` the kernel knows nobody to pass that on to; \
         give it direction \"up\", an app whose client asks first (dash, web), or run this \
         scenario with --world sim"
    )]
    ServerFirst,
    /// Its segments do not fit into a frame.
    #[error("its mss of {mss} bytes is above the {most} that fit into a frame")]
    Mss {
        /// Payload of a segment.
        mss: u16,
        /// The largest that there may be.
        most: u16,
    },
    /// The kernel lacks its congestion control.
    #[error("Linux has no congestion control {name:?}; this kernel offers {offered}")]
    Algorithm {
        /// Which one.
        name: &'static str,
        /// What there is.
        offered: String,
    },
    /// The kernel's TCP has no such choice.
    #[error("{0}; leave it out to run it live")]
    Choice(&'static str),
}
