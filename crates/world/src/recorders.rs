//! All recorders of a run: made from its cell, and put together to its result.

use crate::{
    Aggregate, Cell, Cost, FlowRecorder, Line, LineRate, LinkRecorder, LinkResult, Medium,
    RunResult, SppRecorder, Window, WorldName,
};
use sojourn_qdisc::Report;

/// The recorders of the links of a cell, in their order.
pub fn link_recorders(cell: &Cell) -> Vec<LinkRecorder> {
    let (window, network) = (Window::of(cell), &cell.network);
    let rate = |index| network.medium(index).rate().and_then(LineRate::fixed);
    let links = 0..network.interfaces.len();
    let recorder = |index: usize| {
        let mut recorder = LinkRecorder::new(window, rate(index));
        let lines = cell.lines(index);
        let varies =
            |line: &Line| matches!(line.rate, LineRate::Trace(_)) || line.rate != lines[0].rate;
        if lines.iter().any(varies) {
            recorder.follow_rate(lines[0].rate.clone(), cell.link_header);
        }
        recorder.count_line(
            lines
                .iter()
                .any(|line| line.loss.can_be() || line.duplicate.can_be()),
        );
        if let Medium::Radio(radio) = network.medium(index) {
            let deadlines = &radio.nodal_deadlines;
            recorder.set_radio(deadlines.get(index).copied().flatten());
        }
        recorder
    };
    links.map(recorder).collect()
}

/// The recorders of the flows of a cell, in their order.
pub fn flow_recorders(cell: &Cell) -> Vec<FlowRecorder> {
    let (window, duplicates) = (Window::of(cell), cell.duplicates());
    let recorder = |flow: &crate::Flow| {
        let mut recorder = FlowRecorder::new(window, flow.base_rtt);
        recorder.set_deadline(flow.deadline);
        if duplicates {
            recorder.count_duplicates();
        }
        if !cell.flow_series {
            recorder.omit_series();
        }
        if cell.spp {
            recorder.set_spp(SppRecorder::new(window, flow.base_rtt));
        }
        recorder
    };
    cell.flows.iter().map(recorder).collect()
}

impl RunResult {
    /// The result of a run whose recorders and queues' own statistics are in the order of its
    /// links and flows. What it has cost and its digest are for the world to fill in.
    pub fn of(
        world: WorldName,
        cell: &Cell,
        links: impl IntoIterator<Item = (LinkRecorder, Report)>,
        flows: impl IntoIterator<Item = FlowRecorder>,
    ) -> Self {
        let names = cell.network.link_names().into_iter().map(str::to_owned);
        let links = links
            .into_iter()
            .map(|(recorder, report)| -> LinkResult { recorder.finish(report) });
        let flows: Vec<_> = (cell.flows.iter().zip(flows))
            .map(|(flow, recorder)| (flow.name.clone(), recorder.finish(flow)))
            .collect();
        Self {
            world,
            seed: cell.seed,
            params: cell.params.clone(),
            links: names.zip(links).collect(),
            aggregate: Aggregate::of(cell, &flows),
            flows,
            cost: Cost::default(),
            digest: 0,
            radio: None,
            program: None,
        }
    }
}
