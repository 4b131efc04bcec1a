//! Sizes against arithmetic done another way, for every size.

use super::*;

fn link(words: &str) -> LinkLayer {
    let mut link = LinkLayer::default();
    for word in words.split(' ') {
        assert!(link.apply(word), "{word}");
    }
    link
}

/// Cells filled byte by byte.
fn cells(bytes: u32, payload: u32) -> u32 {
    let (mut cells, mut room) = (0, 0);
    for _ in 0..bytes {
        if room == 0 {
            cells += 1;
            room = payload;
        }
        room -= 1;
    }
    cells
}

#[test]
fn sizes_are_exact_for_every_length() {
    for len in 0..=2000_u32 {
        let ip = len.saturating_sub(14);
        assert_eq!(link("raw").size(len, 14), len);
        assert_eq!(link("docsis").size(len, 14), (ip + 18).max(64));
        assert_eq!(link("ethernet").size(len, 14), (ip + 38).max(84));
        assert_eq!(
            link("ethernet ether-vlan ether-vlan").size(len, 14),
            (ip + 46).max(84)
        );
        for (word, overhead) in [
            ("conservative", 48),
            ("ipoa-vcmux", 8),
            ("ipoa-llcsnap", 16),
            ("bridged-vcmux", 24),
            ("bridged-llcsnap", 32),
            ("pppoa-vcmux", 10),
            ("pppoa-llc", 14),
            ("pppoe-vcmux", 32),
            ("pppoe-llcsnap", 40),
        ] {
            assert_eq!(
                link(word).size(len, 14),
                cells(ip + overhead, 48) * 53,
                "{word}"
            );
        }
        for (word, overhead) in [("pppoe-ptm", 30), ("bridged-ptm", 22)] {
            let bytes = ip + overhead;
            assert_eq!(link(word).size(len, 14), bytes + cells(bytes, 64), "{word}");
        }
    }
}

#[test]
fn negative_overhead_and_limits() {
    let mut short = LinkLayer {
        raw: false,
        overhead: -64,
        ..LinkLayer::default()
    };
    assert_eq!(short.size(54, 14), 0);
    assert_eq!(short.size(114, 14), 36);
    short.mpu = 46;
    assert_eq!(short.size(54, 14), 46);
    assert_eq!(short.size(0, 40), 46);
    for framing in [Framing::None, Framing::Atm, Framing::Ptm] {
        let most = LinkLayer {
            raw: true,
            overhead: 256,
            mpu: 0,
            framing,
        };
        assert!(most.size(u32::MAX, 0) >= u32::MAX / 2);
    }
}

#[test]
fn words_follow_each_other_as_in_tc() {
    // By hand: 40 + 4, then conservative sets 48 anew; raw forgets overhead and cells.
    assert_eq!(link("pppoe-llcsnap ether-vlan").overhead, 44);
    assert_eq!(link("pppoe-llcsnap conservative").overhead, 48);
    let raw = LinkLayer {
        mpu: 64,
        ..LinkLayer::default()
    };
    assert_eq!(link("docsis pppoe-ptm raw"), raw);
    assert_eq!(link("bridged-ptm via-ethernet"), link("bridged-ptm"));
    assert_eq!(link("pppoe-llcsnap docsis").framing, Framing::None);
    assert_eq!(link("docsis").mpu, 64);
    assert!(!LinkLayer::default().apply("token-ring"));
}
