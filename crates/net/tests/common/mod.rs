//! The cell of these tests.

/// A line of 20 Mbit/s and 40 ms with this queue and these flows.
pub(crate) fn scenario(queue: &str, flows: &str) -> String {
    format!(
        r#"
        format = "sojourn-scenario/1"
        name = "test"
        duration = "8s"
        warmup = "2s"
        [dumbbell]
        rtt = "40ms"
        qdisc = "{queue}"
        up = {{ rate = "20mbit" }}
        down = {{ rate = "20mbit" }}
        {flows}
        "#
    )
}

pub(crate) const CUBIC: &str = r#"
    [[flow]]
    name = "cubic"
    direction = "up"
    app = "bulk"
"#;
