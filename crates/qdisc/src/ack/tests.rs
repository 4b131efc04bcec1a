//! What may go and what must stay, case by case.

use super::*;

fn ack(number: u32) -> AckFacts {
    AckFacts {
        ack: number,
        flags: ACK,
        ..AckFacts::default()
    }
}

fn sack(number: u32, blocks: &[(u32, u32)]) -> AckFacts {
    let mut facts = ack(number);
    facts.sack[..blocks.len()].copy_from_slice(blocks);
    facts.sacks = blocks.len() as u8;
    facts
}

#[test]
fn numbers_wrap_around() {
    assert!(ack(u32::MAX - 10).is_superseded_by(&ack(5)));
    assert!(!ack(5).is_superseded_by(&ack(u32::MAX - 10)));
}

#[test]
fn only_pure_acknowledgements_go() {
    let newer = ack(9000);
    assert!(ack(1000).is_superseded_by(&newer));
    for flags in [0x11, 0x12, 0x14, 0x18, 0x30, 0x00, 0x02] {
        assert!(
            !AckFacts { flags, ..ack(1000) }.is_superseded_by(&newer),
            "{flags:#x}"
        );
    }
    let (payload, other_options) = (true, true);
    assert!(
        !AckFacts {
            payload,
            ..ack(1000)
        }
        .is_superseded_by(&newer)
    );
    assert!(
        !AckFacts {
            other_options,
            ..ack(1000)
        }
        .is_superseded_by(&newer)
    );
    assert!(
        !AckFacts {
            flags: ACK | SYN,
            ..newer
        }
        .is_trigger()
    );
    assert!(AckFacts { payload, ..newer }.is_trigger());
}

#[test]
fn selective_acknowledgements_are_kept_until_told_again() {
    let hole = sack(1000, &[(2000, 3000)]);
    assert!(!hole.is_superseded_by(&ack(1000)), "lost");
    assert!(!hole.is_superseded_by(&ack(1500)), "lost");
    assert!(
        !hole.is_superseded_by(&sack(1000, &[(2500, 4000)])),
        "only in part"
    );
    assert!(!hole.is_superseded_by(&hole), "a duplicate");
    assert!(hole.is_superseded_by(&sack(1000, &[(2000, 4000)])));
    // The hole is filled. Linux looks at the options alone: `cake_tcph_sack_compare` returns -1 when
    // the newer one has no blocks, or others.
    assert!(!hole.is_superseded_by(&ack(3000)), "no blocks");
    assert!(
        !hole.is_superseded_by(&sack(3000, &[(4000, 5000)])),
        "other blocks"
    );
    let two = sack(1000, &[(5000, 6000), (2000, 3000)]);
    assert!(hole.is_superseded_by(&two));
    assert!(!two.is_superseded_by(&sack(1500, &[(5000, 6500)])));
}

#[test]
fn dsack_is_never_dropped() {
    assert!(!sack(5000, &[(1000, 2000)]).is_superseded_by(&ack(9000)));
    // A duplicate above the acknowledgement number is within the second block.
    let above = sack(5000, &[(6000, 6500), (6000, 8000)]);
    assert!(!above.is_superseded_by(&sack(9000, &[])));
}

#[test]
fn timestamps_must_not_run_backwards() {
    let stamped = |number, stamp| AckFacts {
        timestamp: Some(stamp),
        ..ack(number)
    };
    assert!(stamped(1, (7, 7)).is_superseded_by(&stamped(2, (7, 7))));
    assert!(stamped(1, (7, 7)).is_superseded_by(&stamped(2, (8, 9))));
    assert!(!stamped(1, (7, 7)).is_superseded_by(&stamped(2, (6, 7))));
    assert!(!stamped(1, (7, 7)).is_superseded_by(&stamped(2, (7, 6))));
    assert!(!stamped(1, (7, 7)).is_superseded_by(&ack(2)));
    assert!(stamped(1, (u32::MAX, 1)).is_superseded_by(&stamped(2, (1, 1))));
}
