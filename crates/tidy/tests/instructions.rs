//! The documents' table of instructions per packet is what `benches/instructions.tsv` recorded.

use std::fmt::Write as _;
use std::fs;

#[test]
fn documents_show_the_recorded_instructions() {
    let path = sojourn_tidy::root().join("benches/instructions.tsv");
    let recorded = fs::read_to_string(path).expect("the recorded numbers");
    let mut rows = recorded.lines().map(|line| line.split('\t').collect());
    let columns: Vec<&str> = rows.next().expect("names of columns");
    assert_eq!(
        columns,
        ["case", "instructions", "after", "rustc", "reason"]
    );
    let mut table = String::from(
        "| case | instructions a packet | recorded on top of | rustc | reason |\n\
         | --- | --- | --- | --- | --- |\n",
    );
    for row in rows {
        let row: Vec<&str> = row;
        let [case, count, after, rustc, reason] = row[..] else {
            panic!("not five columns: {row:?}");
        };
        let _ = writeln!(
            table,
            "| `{case}` | {count} | {after} | {rustc} | {reason} |"
        );
    }
    sojourn_tidy::generated::part("docs/benchmarks.md", "instructions", &table);
}
