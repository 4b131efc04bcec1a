use super::*;
use crate::LineRate;

fn network(nodes: usize, links: &[(usize, usize, u64)]) -> Network {
    let names: Vec<String> = (0..nodes).map(|n| format!("n{n}")).collect();
    let mut network = Network::new(names.iter().map(String::as_str));
    for &(from, to, ms) in links {
        let line = Line {
            delay: Span::from_millis(ms),
            ..Line::new(LineRate::Infinite)
        };
        let name = format!("n{from}-n{to}");
        network.join([from, to], &name, QdiscSpec::pfifo(1), line);
    }
    network
}

#[test]
fn the_path_has_the_fewest_hops_and_the_earlier_link() {
    // Two ways of two hops from 0 to 3, one of three by 4; a parallel link 0-1 listed later.
    let g = network(
        5,
        &[
            (0, 4, 1),
            (4, 1, 1),
            (0, 2, 7),
            (0, 1, 5),
            (1, 3, 5),
            (2, 3, 7),
            (0, 1, 9),
        ],
    );
    assert_eq!(g.path(0, 3), Some(vec![2, 5]));
    assert_eq!(g.path(0, 1), Some(vec![3]));
    assert_eq!(g.path(2, 2), Some(vec![]));
    assert_eq!(g.path(3, 0), None);
    assert_eq!(g.path(0, 9), None);
    assert_eq!(g.path(9, 0), None);
}

#[test]
fn the_round_trip_takes_both_ways() {
    let g = network(3, &[(0, 1, 3), (1, 2, 4), (2, 1, 10), (1, 0, 20)]);
    assert_eq!(Paths::of(&g).rtt(0, 2), Some(Span::from_millis(37)));
    assert_eq!(Paths::of(&network(2, &[(0, 1, 3)])).rtt(0, 1), None);
}
