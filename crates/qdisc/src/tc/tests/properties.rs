//! Every valid spec, and every string.

use super::read;
use crate::End;
use crate::params::{
    AdthParams, CakeMqParams, CakeParams, CeSelector, CobaltParams, CodelLaw, CodelParams,
    DualDrop, DualLaw, DualMask, DualOverload, DualPi2Params, FifoParams, FlowParams, FlowParts,
    GspParams, HtbParams, PieLaw, PieParams, RedLaw, RedParams, RedUnit, RedWeight, SteerParams,
    StepThreshold, TbfParams,
};
use crate::red_wlog;
use crate::tc::catalogue;
use crate::{AckFilter, DiffServ, Framing, Isolation, Limit, LinkLayer, Spec};
use proptest::prelude::*;
use sojourn_units::{Rate, Span};
use std::boxed::Box;
use std::format;
use std::string::{String, ToString};
use std::vec;
use std::vec::Vec;

fn span() -> impl Strategy<Value = Span> {
    prop_oneof![
        (1_u64..=4_294_967).prop_map(Span::from_millis),
        (1_u64..=4_294_967_295).prop_map(Span::from_micros),
        (1_u64..=4_294_967_295_000).prop_map(Span::from_nanos),
    ]
}

fn rate() -> impl Strategy<Value = Rate> {
    prop_oneof![
        (1_u64..=400_000).prop_map(|mbit| Rate::from_bps(mbit * 1_000_000)),
        (8_u64..=1_000_000_000_000_000).prop_map(Rate::from_bps),
    ]
}

fn size() -> impl Strategy<Value = u64> {
    prop_oneof![1_u64..=1 << 40, (1_u64..=1 << 20).prop_map(|kb| kb << 10)]
}

fn codel() -> impl Strategy<Value = CodelParams> {
    let rest = (span(), span(), any::<bool>(), proptest::option::of(span()));
    (rest, proptest::sample::select(&CodelLaw::ALL[..])).prop_map(
        |((target, interval, ecn, ce_threshold), law)| CodelParams {
            target,
            interval,
            ecn,
            ce_threshold,
            ce_selector: CeSelector::All,
            law,
        },
    )
}

fn pie() -> impl Strategy<Value = PieParams> {
    let switches = any::<[bool; 3]>();
    let law = proptest::sample::select(&PieLaw::ALL[..]);
    let gains = (0_u32..=32, 0_u32..=32, 1_u32..=99);
    (span(), span(), gains, switches, law).prop_map(
        |(target, tupdate, (alpha, beta, percent), [ecn, bytemode, dq_rate_estimator], law)| {
            PieParams {
                target,
                tupdate,
                alpha,
                beta,
                ecn,
                ecn_limit: f64::from(percent) / 100.0,
                bytemode,
                dq_rate_estimator,
                law,
            }
        },
    )
}

fn gsp() -> impl Strategy<Value = GspParams> {
    let times = (span(), span(), span(), span());
    (times, 1_u32..=64, any::<bool>()).prop_map(
        |((threshold, interval, tau, least), alpha, ecn)| GspParams {
            threshold,
            interval,
            alpha,
            tau,
            min_interval: least.min(interval),
            ecn,
        },
    )
}

fn adth() -> impl Strategy<Value = AdthParams> {
    let end = || prop_oneof![Just(End::Head), Just(End::Tail)];
    let limits = (1_u32..=1000, 1000_u32..5000, 1_u32..=100, 1_u32..=400);
    ((span(), span()), limits, end(), end(), any::<bool>()).prop_map(
        |((target, sampling), (min, max, fmin, fmax), drop, full, purge)| AdthParams {
            target,
            sampling: sampling.min(target),
            min,
            max,
            fmin: f64::from(fmin.min(fmax)) / 100.0,
            fmax: f64::from(fmax) / 100.0,
            drop,
            full,
            purge,
        },
    )
}

fn filter() -> impl Strategy<Value = AckFilter> {
    proptest::sample::select(vec![
        AckFilter::Off,
        AckFilter::Normal,
        AckFilter::Aggressive,
    ])
}

fn parts() -> impl Strategy<Value = FlowParts> {
    let isolation = proptest::sample::select(&Isolation::ALL[..]);
    (isolation, any::<[bool; 2]>(), filter()).prop_map(
        |(isolation, [set_associative, nat], ack_filter)| FlowParts {
            isolation,
            set_associative,
            nat,
            ack_filter,
        },
    )
}

fn flows() -> impl Strategy<Value = FlowParams> {
    let quantum = proptest::option::of(256_u32..=1 << 20);
    (1_u32.., 1_u32..=65_536, quantum, size(), 1_u32.., parts()).prop_map(
        |(limit, flows, quantum, memory_limit, drop_batch, parts)| FlowParams {
            limit,
            flows,
            quantum,
            memory_limit,
            drop_batch,
            parts,
        },
    )
}

fn red() -> impl Strategy<Value = Spec> {
    let weight = prop_oneof![
        (2_u32..100_000).prop_map(RedWeight::Burst),
        (1e-6_f64..=1.0).prop_map(RedWeight::Exact),
    ];
    let lengths = (1_u64..1 << 40, 1_u64..1 << 38, 0_u64..1 << 30);
    let rest = (1_u32.., 1e-9_f64..=1.0, rate(), any::<[bool; 10]>());
    (lengths, weight, rest)
        .prop_map(
            |((limit, min, above), weight, (avpkt, probability, bandwidth, on))| {
                let (unit, limit) = if on[5] {
                    (RedUnit::Bytes, Limit::Bytes(limit))
                } else {
                    (RedUnit::Packets, Limit::Packets(limit))
                };
                let red = RedParams {
                    unit,
                    min,
                    max: min + above,
                    avpkt,
                    weight,
                    probability,
                    bandwidth,
                    adaptive: on[0],
                    law: if on[9] { RedLaw::Linux } else { RedLaw::Paper },
                    ecn: on[1],
                    harddrop: on[2],
                    nodrop: on[1] && on[3],
                    gentle: on[4],
                    wait: on[6],
                    spare: on[7],
                    bytemode: on[8],
                };
                (limit, red)
            },
        )
        .prop_filter("a burst that tc takes", |(_, red)| match red.weight {
            RedWeight::Exact(_) => true,
            RedWeight::Burst(burst) => {
                let mean = match red.unit {
                    RedUnit::Bytes => f64::from(red.avpkt),
                    RedUnit::Packets => 1.0,
                };
                red_wlog(red.min as f64 / mean, burst).is_some()
            }
        })
        .prop_map(|(limit, red)| Spec::Single {
            limit,
            policy: red.into(),
        })
}

fn tbf() -> impl Strategy<Value = TbfParams> {
    let peak = (proptest::option::of(rate()), size(), any::<bool>());
    (
        rate(),
        65_535_u64..=1 << 40,
        peak,
        0_u32..=65_535,
        0_i32..=65_535,
        any::<bool>(),
    )
        .prop_map(
            |(rate, burst, (peakrate, mtu, alone), mpu, overhead, atm)| {
                let peakrate = peakrate.filter(|peak| *peak > rate);
                TbfParams {
                    rate,
                    burst,
                    peakrate,
                    mtu: (peakrate.is_some() || alone).then_some(mtu),
                    mpu,
                    overhead,
                    atm,
                }
            },
        )
}

fn steer() -> impl Strategy<Value = Spec> {
    let inner = prop_oneof![
        (1_u32.., codel()).prop_map(|(limit, codel)| Spec::single(limit, codel)),
        (1_u32.., pie()).prop_map(|(limit, pie)| Spec::single(limit, pie)),
        (1_u32.., gsp()).prop_map(|(limit, gsp)| Spec::single(limit, gsp)),
        (flows(), codel()).prop_map(|(flows, codel)| Spec::flows(flows, codel)),
        dualpi2(),
    ];
    let policy = (
        1_u32..=100,
        0_u32..=99,
        span(),
        proptest::option::of(rate()),
    );
    (policy, inner).prop_map(|((util, above, delay, rate), inner)| {
        let steer = SteerParams {
            rate,
            util,
            delay,
            // A pair takes none.
            ceiling: match inner {
                Spec::DualPi2(_) => 100,
                _ => (util + above).min(100),
            },
        };
        inner.steered(steer).expect("it has a target")
    })
}

fn link() -> impl Strategy<Value = LinkLayer> {
    let framing = proptest::sample::select(vec![Framing::None, Framing::Atm, Framing::Ptm]);
    (any::<bool>(), -64_i32..=256, 0_u32..=256, framing).prop_map(
        |(raw, overhead, mpu, framing)| LinkLayer {
            raw,
            overhead,
            mpu,
            framing,
        },
    )
}

fn cake() -> impl Strategy<Value = CakeParams> {
    (
        proptest::option::of(rate()),
        any::<[bool; 5]>(),
        proptest::sample::select(&DiffServ::ALL[..]),
        proptest::sample::select(&Isolation::ALL[..]),
        filter(),
        (1_u64..=4_294_967_295).prop_map(Span::from_micros),
        proptest::option::of(size()),
        (
            link(),
            any::<u32>(),
            proptest::option::of(span()),
            0_usize..3,
        ),
    )
        .prop_map(
            |(bandwidth, on, diffserv, isolation, ack_filter, rtt, memlimit, rest)| CakeParams {
                bandwidth,
                autorate: on[0],
                diffserv,
                isolation,
                wash: on[1],
                ingress: on[2],
                ack_filter,
                split_gso: on[3],
                rtt,
                memlimit,
                link: rest.0,
                nat: on[4],
                fwmark: rest.1,
                ce_threshold: rest.2,
                ce_selector: match rest.2 {
                    Some(_) => CeSelector::ALL[rest.3],
                    None => CeSelector::All,
                },
            },
        )
}

/// Every valid spec.
fn dualpi2() -> impl Strategy<Value = Spec> {
    let step = prop_oneof![
        any::<u32>().prop_map(|nanos| StepThreshold::Time(Span::from_nanos(nanos.into()))),
        any::<u32>().prop_map(StepThreshold::Packets),
    ];
    let numbers = (
        1_u32..,
        1_u32..1 << 31,
        1_u32..1 << 31,
        any::<u32>(),
        1_u32..=255,
        0_u32..=100,
    );
    let rest = (
        proptest::option::of(size()),
        span(),
        span(),
        any::<[bool; 4]>(),
        (any::<bool>(), span(), span()),
    );
    (numbers, step, rest).prop_map(
        |((limit, alpha, beta, min_qlen_step, coupling_factor, classic_protection), step, rest)| {
            let (memlimit, target, tupdate, on, (by_rfc, ramp, ramp_range)) = rest;
            Spec::DualPi2(DualPi2Params {
                limit,
                memlimit,
                target,
                tupdate,
                alpha,
                beta,
                step_thresh: step,
                min_qlen_step,
                coupling_factor,
                overload: DualOverload::ALL[usize::from(on[0])],
                at: DualDrop::ALL[usize::from(on[1])],
                classic_protection,
                mask: DualMask::ALL[usize::from(on[2])],
                split_gso: on[3],
                law: DualLaw::ALL[usize::from(by_rfc && !on[1])],
                ramp,
                ramp_range,
                steer: None,
            })
        },
    )
}

pub(super) fn any_spec() -> impl Strategy<Value = Spec> {
    let leaf = prop_oneof![
        (1_u32..).prop_map(Spec::pfifo),
        size().prop_map(Spec::bfifo),
        (1_u32..).prop_map(|limit| Spec::Fifo(FifoParams::HeadDrop(limit))),
        red(),
        (1_u32.., codel()).prop_map(|(limit, codel)| Spec::single(limit, codel)),
        (1_u32.., span(), span(), any::<bool>()).prop_map(|(limit, target, interval, ecn)| {
            let cobalt = CobaltParams {
                target,
                interval,
                ecn,
                ..CobaltParams::default()
            };
            Spec::single(limit, cobalt)
        }),
        cake().prop_map(Spec::Cake),
        (1_u32..=64, cake()).prop_map(|(queues, cake)| Spec::CakeMq {
            mq: CakeMqParams { queues },
            cake: CakeParams {
                autorate: false,
                ..cake
            },
        }),
        dualpi2(),
        (1_u32.., pie()).prop_map(|(limit, pie)| Spec::single(limit, pie)),
        (flows(), codel()).prop_map(|(flows, codel)| Spec::flows(flows, codel)),
        (flows(), pie()).prop_map(|(mut flows, pie)| {
            flows.drop_batch = 64;
            Spec::flows(flows, pie)
        }),
        (1_u32.., gsp()).prop_map(|(limit, gsp)| Spec::single(limit, gsp)),
        adth().prop_map(|adth| Spec::single(adth.max, adth)),
        (flows(), adth()).prop_map(|(mut flows, adth)| {
            flows.drop_batch = 64;
            Spec::flows(flows, adth)
        }),
        (flows(), gsp()).prop_map(|(mut flows, gsp)| {
            flows.drop_batch = 64;
            Spec::flows(flows, gsp)
        }),
    ];
    let leaf = prop_oneof![8 => leaf, 2 => steer()];
    leaf.prop_recursive(2, 4, 1, |inner| {
        let over_tbf = (tbf(), inner.clone()).prop_map(|(tbf, inner)| Spec::Tbf {
            tbf,
            inner: Box::new(inner),
        });
        let over_htb = (rate(), size(), inner).prop_map(|(rate, burst, inner)| Spec::Htb {
            htb: HtbParams { rate, burst },
            inner: Box::new(inner),
        });
        prop_oneof![over_tbf, over_htb]
    })
}

/// Words that lead the parser deep, and some that do not.
fn word() -> impl Strategy<Value = String> {
    let mut words: Vec<&'static str> = catalogue()
        .iter()
        .flat_map(|kind| core::iter::once(kind.name).chain(kind.words()))
        .collect();
    words.extend([
        "tc",
        "dev",
        "8001:",
        "5ms",
        "20mbit",
        "5kb",
        "1000",
        "5p",
        "0",
        "-1",
        "1e400",
        "0x",
        "+5",
        "NaN",
        "inf",
        "9999999999999999999999",
        "50%",
        "5kb/8",
        "é",
        "\u{3000}",
        "\0",
    ]);
    prop_oneof![
        proptest::sample::select(words).prop_map(String::from),
        "\\PC{0,6}"
    ]
}

proptest! {
    #[test]
    fn what_is_shown_reads_back(spec in any_spec()) {
        prop_assert_eq!(read(&spec.to_string()), spec);
    }

    #[test]
    fn no_string_panics(text in "\\PC{0,80}", words in proptest::collection::vec(word(), 0..12)) {
        for text in [text, words.join(" ")] {
            match text.parse::<Spec>() {
                Ok(spec) => prop_assert_eq!(read(&spec.to_string()), spec),
                Err(error) => {
                    prop_assert!(text.get(error.at.clone()).is_some());
                    prop_assert!(error.pretty().ends_with("^\n"));
                    prop_assert!(error.suggestion.is_some() || error.wanted.is_some());
                }
            }
        }
    }

    #[test]
    fn cakes_words_come_in_any_order(
        order in Just([
            "bandwidth 20mbit", "diffserv4", "dual-srchost", "nat", "wash", "ingress",
            "ack-filter", "no-split-gso", "rtt 30ms", "memlimit 8mb", "mpu 64", "fwmark 0xf0",
        ])
            .prop_shuffle()
    ) {
        let spec = read(&format!("cake {}", order.join(" ")));
        prop_assert_eq!(spec.to_string(), "cake bandwidth 20Mbit diffserv4 dual-srchost nat \
            wash ingress ack-filter no-split-gso rtt 30ms raw overhead 0 mpu 64 memlimit 8Mb \
            fwmark 0xf0");
    }

    #[test]
    fn the_order_of_options_does_not_matter(
        order in Just(["limit 1200", "target 7ms", "interval 70ms", "noecn", "flows 8"])
            .prop_shuffle()
    ) {
        let spec = read(&format!("fq_codel {}", order.join(" ")));
        prop_assert_eq!(spec, read("fq_codel limit 1200 flows 8 target 7ms interval 70ms noecn"));
    }
}
