//! A world by another name.

use super::*;

const OTHER: WorldName = WorldName::new("live-module");

/// What the study says of a world is said of its other name, marks among it, and of no other.
#[test]
fn what_is_said_of_a_world_is_said_of_its_other_name() {
    let claim = "id = \"X\"\nsetting = \"A\"\nstatement = \"s\"\npublished = \"p\"\n\
                 check = [{ holds = \"link.utilisation[codel] < 0\", deviation = { verdict = \"open\", \
                 world = \"live\", why = \"It is so.\", within = \"1 < 2\" } }]";
    let study = both(claim, &live(r#"["codel"]"#)).expect("it is right");
    let called = study.clone().called(&LIVE, &OTHER);
    let cells = |study: &Study, world: &WorldName| {
        let choice = study.choose(&[], Extent::All).expect("all of them");
        study.runs(&choice, world).cells.len()
    };
    let usual = cells(&study, &LIVE);
    assert!(usual > 0 && cells(&called, &OTHER) == usual);
    assert_eq!((cells(&called, &LIVE), cells(&study, &OTHER)), (0, 0));
    assert_eq!(cells(&called, &SIM), cells(&study, &SIM));
    let status = |study: &Study, world: &WorldName| {
        let judged = study.judge(&[0], world, &Outcomes::default());
        judged[0].status
    };
    assert_eq!(status(&study, &LIVE), Status::Open);
    assert_eq!(status(&called, &OTHER), Status::Open);
    assert_eq!(status(&called, &SIM), Status::Model);
    let again = study.called_as_in(&called);
    assert_eq!(cells(&again, &OTHER), usual);
}
