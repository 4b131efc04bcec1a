//! Lines as those of `tests/decisions.txt`, for another number of packets: what a guest has to say
//! of a longer sequence. `contrib/module/test` asks with `DECISIONS=1000000`.

use sojourn_module::check::{Digest, Nowhere, digest};

fn main() {
    let asked = std::env::args().nth(1);
    let packets: u64 = asked
        .as_deref()
        .map_or(Ok(1000), str::parse)
        .expect("the argument is a number of packets");
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
