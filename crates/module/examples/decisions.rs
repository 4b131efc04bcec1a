//! Lines as those of `tests/decisions.txt`, for another number of packets: what a guest has to say
//! of a longer sequence. `contrib/module/test` asks with `DECISIONS=1000000`.

use sojourn_module::check::{Digest, digest, front, is_checked};
use sojourn_module::{FRONT, Handle, Kernel};

/// A machine without skbs.
struct Nowhere;

impl Kernel for Nowhere {
    fn front(packet: Handle, room: &mut [u8; FRONT]) -> usize {
        front(packet, room)
    }

    fn set_ce(packet: Handle) -> bool {
        is_checked(packet)
    }

    fn clear_dscp(_: Handle) {}

    fn free(_: Handle) {}
}

fn main() {
    let asked = std::env::args().nth(1);
    let packets = asked.as_deref().map_or(Ok(1000), str::parse);
    let packets: u64 = packets.expect("the argument is a number of packets");
    let lines = include_str!("../tests/decisions.txt").lines();
    for line in lines.filter(|line| !line.starts_with('#')) {
        let text = line.split(" | ").next().unwrap_or(line);
        let Digest {
            sent,
            dropped,
            marked,
            sum,
        } = digest::<Nowhere>(text, 1, packets).expect("the file has disciplines' strings");
        println!("{text} | {packets} {sent} {dropped} {marked} {sum:016x}");
    }
}
