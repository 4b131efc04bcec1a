//! A plug-in: it drops an arrival with a probability that grows with the time that the head has
//! waited, from none at `low` to one at `high`.
//!
//!     cargo build --release -p sojourn-plugin --example slope
//!     sojourn run line.toml --set 'dumbbell.qdisc=rust:target/release/examples/libslope.so:Slope'

use sojourn_plugin::{Aqm, Facts, Make, Options, QueueView, Setting, Span, Stream, Time, Verdict};

/// Its parameters and dice; what belongs to one queue would be in `State`.
struct Slope {
    low: Span,
    high: Span,
    dice: Stream,
}

impl Make for Slope {
    fn make(options: &mut Options<'_>, setting: Setting<'_>) -> Result<Self, String> {
        let low = options.span("low", Span::from_millis(5))?;
        let high = options.span("high", Span::from_millis(50))?;
        if low >= high {
            return Err("`low` must be below `high`".to_owned());
        }
        let dice = setting.dice("slope");
        Ok(Self { low, high, dice })
    }
}

impl Aqm for Slope {
    type State = ();
    type Params = ();

    fn arrive(&mut self, (): &mut (), queue: QueueView, _: Facts<'_>, _: Time) -> Verdict {
        let above = queue.head_wait - self.low;
        let probability = above.as_secs_f64() / (self.high - self.low).as_secs_f64();
        if self.dice.chance(probability.min(1.0)) {
            Verdict::Drop
        } else {
            Verdict::Pass
        }
    }
}

sojourn_plugin::export!(Slope);
