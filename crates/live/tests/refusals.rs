//! What the bridge says when it cannot do what is wanted. Needs root. That the link survives the
//! program is tested with the program itself, in `crates/cli/tests/fail_open.rs`.

mod common;

use common::{Link, plain};
use sojourn_bridge::{Bridge, BridgeError, FailOpen};

#[test]
fn what_the_kernel_cannot_do_is_said() {
    let link = Link::new();
    link.middle.ip("address add 192.0.2.1/24 dev a1");
    let mut config = plain();
    config.fail_open = FailOpen::Require;
    link.middle.run(|| {
        let error = Bridge::open(config.clone()).err().expect("it refuses");
        assert!(matches!(error, BridgeError::FailOpen(_)), "{error}");
        assert!(
            error.to_string().contains("`a1` has an IP address"),
            "{error}"
        );
        config.fail_open = FailOpen::Prefer;
        let bridge = Bridge::open(config).expect("it goes on without");
        assert!(bridge.fail_open_state().contains("not possible"));
    });
}

#[test]
fn wrong_interfaces_are_named() {
    let link = Link::new();
    let error = |left: &str, right: &str| {
        let mut config = plain();
        (config.left, config.right) = (left.into(), right.into());
        link.middle
            .run(|| Bridge::open(config).err().expect("it refuses").to_string())
    };
    let missing = error("a1", "b2");
    assert!(
        missing.contains("no interface `b2`") && missing.contains("b1"),
        "{missing}"
    );
    assert!(error("a1", "a1").contains("named twice"));
    assert!(error("lo", "b1").contains("`lo` is not an Ethernet interface"));
    link.middle.ip("link set b1 down");
    assert!(error("a1", "b1").contains("ip link set b1 up"));
}
