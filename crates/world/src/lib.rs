//! What a run is given and what it yields, the same for every world.
//!
//! A [`Cell`] is one combination of a scenario's grid with a seed, all names resolved. A
//! [`World`] runs it and yields a [`RunResult`] of the same shape, made by the same
//! recorders ([`LinkRecorder`], [`FlowRecorder`]) from the same observations.
//!
//! Not here: file formats (scenarios are read in `scenario`, results written in `report`).
#![forbid(unsafe_code)]

mod bottleneck;
mod cell;
mod error;
pub mod figure;
mod name;
mod network;
mod received;
mod record;
mod recorders;
mod result;
mod scenario;
mod spp;
mod stations;
mod tap;

pub use bottleneck::link_rate;
pub use cell::{
    Cell, Change, Flow, Hosts, Instance, Member, Source, Stack, StackControl, Transport,
};
pub use error::WorldError;
pub use figure::{
    Aggregate, Amount, Distribution, FlowResult, LinkResult, Measured, Point, Series,
};
pub use name::{ByWorld, WorldName};
pub use network::{Following, Interface, Medium, Network, Node, Paths, Radio, Routing, Wire};
pub use received::Received;
pub use record::{CongestionState, FlowRecorder, LinkRecorder, RadioEvent, SppRecorder, Window};
pub use recorders::{flow_recorders, link_recorders};
pub use result::{Cost, RunResult, jain};
pub use scenario::{Axis, ScenarioInfo, Shard};
pub use spp::{PacketMatcher, PacketPairs, Passage, RoundTrip};
pub use stations::{Hop, Stations};
pub use tap::{NoSuchPoint, Tap, TapPoint, Taps};

pub use sojourn_apps::{Gathering, Metric};
pub use sojourn_line::{
    Chance, Fate, FourStates, GilbertElliott, Impairment, Line, LineChange, LineRate, Loss,
    NotNetem, RateTrace, Reorder, TraceClock, Transmitter,
};
pub use sojourn_qdisc::Label;
pub use sojourn_radio::{AodvParams, Place, Profile, Propagation, Rules};
use std::ops::ControlFlow;

/// Tells how far a run is: simulated or real seconds so far. Called a few times a second. When
/// the answer is [`ControlFlow::Break`], the world stops at once, removes what it made and
/// returns [`WorldError::Interrupted`].
pub type Progress<'a> = &'a mut dyn FnMut(sojourn_units::Time) -> ControlFlow<()>;

/// Where a cell can be run.
pub trait World {
    /// What it is called; the same in all its results.
    fn name(&self) -> WorldName;

    /// Runs one cell to its end and shows its packets to `taps`, [`Taps::default`] for nobody.
    ///
    /// # Errors
    /// When this world cannot run the cell (the message says which part and what it could run),
    /// or, in the live world, when the machine refuses something.
    fn run(&self, cell: &Cell, taps: Taps, progress: Progress<'_>)
    -> Result<RunResult, WorldError>;
}
