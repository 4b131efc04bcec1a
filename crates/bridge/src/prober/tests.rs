use super::*;
use crate::links::Links;
use crate::{Interface, Namespace};
use std::collections::BTreeSet;

/// In a namespace of its own: the kernel answers pings and timestamps of its addresses, a thread
/// here UDP; one reflector is nowhere. Time is no part of what is looked at.
#[test]
fn reflectors_are_asked_and_their_answers_told() {
    let alone = Namespace::new().expect("the tests run as root");
    alone.run(ask_some).expect("a namespace can be entered");
}

fn ask_some() -> io::Result<()> {
    Links::open()?.up(Interface::index_of("lo")?)?;
    let echo = UdpSocket::bind("127.0.0.1:0")?;
    let place = echo.local_addr()?;
    // It ends with the process.
    thread::spawn(move || {
        let mut bytes = [0; 100];
        while let Ok((len, from)) = echo.recv_from(&mut bytes) {
            let _ = echo.send_to(&bytes[..len], from);
        }
    });
    let udp = format!("udp {place}");
    let list = ["127.0.0.1", "timestamp 127.0.0.2", &udp, "192.0.2.1", "::1"]
        .map(|text| text.parse().expect(text));
    let probing = Probing::of(&list).expect("there are reflectors");
    let mut missing = BTreeSet::from([0, 4, 5, 6, 12].map(|number| SOURCES + number));
    while !missing.is_empty() {
        let wait = Duration::from_secs(60);
        let sample = probing.samples.recv_timeout(wait).expect("they answer");
        missing.remove(&sample.source);
        let way = match sample.source - SOURCES {
            0 | 6 | 12 => None,
            4 => Some(Way::Out),
            5 => Some(Way::Back),
            _ => panic!("nobody answers there: {sample:?}"),
        };
        assert_eq!(sample.way, way);
    }
    let state = probing.reflectors();
    assert_eq!((state.asked, state.failed), (5, None));
    Ok(())
}

#[test]
fn no_reflectors_cost_no_thread() {
    assert!(Probing::of(&[]).is_none());
}

#[test]
fn what_is_asked_is_said_in_words() {
    let mut state = Reflectors {
        asked: 4,
        answer: 3,
        failed: None,
    };
    assert_eq!(state.to_string(), "3 of 4 reflectors answer");
    state.failed = Some("not permitted".to_owned());
    assert_eq!(state.to_string(), "no reflector is asked: not permitted");
}
