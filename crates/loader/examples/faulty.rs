//! A plug-in for tests: the library's own CoDel behind the border of plug-ins, and an AQM that
//! panics.

use sojourn_plugin::{Aqm, Facts, Make, Options, QueueView, Setting, Span, Time, Verdict};
use sojourn_qdisc::{Codel, CodelParams, CodelState};

struct Same(Codel);

impl Make for Same {
    fn make(options: &mut Options<'_>, setting: Setting<'_>) -> Result<Self, String> {
        let usual = CodelParams::default();
        let target = options.span("target", usual.target)?;
        let params = CodelParams { target, ..usual };
        Ok(Self(Codel::new(params, setting.mtu)))
    }
}

impl Aqm for Same {
    type State = CodelState;
    type Params = ();

    fn arrive(
        &mut self,
        state: &mut CodelState,
        queue: QueueView,
        packet: Facts<'_>,
        now: Time,
    ) -> Verdict {
        self.0.arrive(state, queue, packet, now)
    }

    fn leave(
        &mut self,
        state: &mut CodelState,
        queue: QueueView,
        packet: Facts<'_>,
        sojourn: Span,
        now: Time,
    ) -> Verdict {
        self.0.leave(state, queue, packet, sojourn, now)
    }

    fn found_empty(&mut self, state: &mut CodelState, now: Time) {
        self.0.found_empty(state, now);
    }
}

/// Panics at an arrival.
struct Panics {
    at: u32,
    seen: u32,
}

impl Make for Panics {
    fn make(options: &mut Options<'_>, _: Setting<'_>) -> Result<Self, String> {
        let at = options.get("at", 100)?;
        assert!(at > 0, "at the first there is nothing to see");
        Ok(Self { at, seen: 0 })
    }
}

impl Aqm for Panics {
    type State = ();
    type Params = ();

    const SEES_ALL_ARRIVALS: bool = true;

    fn arrive(&mut self, (): &mut (), _: QueueView, _: Facts<'_>, _: Time) -> Verdict {
        self.seen += 1;
        assert!(self.seen < self.at, "arrival {} is one too many", self.seen);
        Verdict::Pass
    }
}

sojourn_plugin::export!(Same, Panics);
