//! Scenario files.

use super::case::{Case, GOOD, changed, file, program};

pub(crate) fn cases() -> Vec<Case> {
    [files(), toml(), fields(), sizes(), sweeps(), arguments()].concat()
}

/// What comes close to the limits.
pub(crate) fn that_fit() -> Vec<Case> {
    let times = |n: usize| -> String { (1..=n).map(|n| format!("\"{n}ms\",")).collect() };
    let sweep = |axes: &str| format!("[sweep]\n{axes}\n[dumbbell]");
    let many = GOOD.replace("app = \"bulk\"", "app = \"bulk\"\ncount = 9990");
    let runs = format!(
        "dumbbell.rtt = [{}]\nflow.upload.start = [{}]",
        times(1000),
        times(100)
    );
    let parts = format!("dumbbell.rtt = [{}]", times(99));
    let more = "[[flow]]\nname = \"more\"\ndirection = \"down\"\napp = \"bulk\"\ncount = 9990\n";
    vec![
        file(
            "100 000 runs",
            GOOD.replace("[dumbbell]", &sweep(&runs)),
            "",
        ),
        file("19 981 flows", format!("{many}{more}"), ""),
        file(
            "989 307 links and flows",
            many.replace("[dumbbell]", &sweep(&parts)),
            "",
        ),
    ]
}

/// What is no scenario at all.
fn files() -> Vec<Case> {
    let executable = std::fs::read(env!("CARGO_BIN_EXE_sojourn")).expect("it has been built");
    let named = |name: &str, path: &str, says: &str| {
        let text = GOOD.replace("rate = \"1mbit\"", &format!("trace = \"{path}\""));
        file(name, text, says)
    };
    let video = |path: &str, says: &str| {
        let app = format!("app = {{ kind = \"dash\", manifest = \"{path}\" }}");
        changed("app = \"bulk\"", &app, says)
    };
    vec![
        program(
            "check nowhere.toml",
            "nowhere.toml: cannot be read: No such file",
        ),
        program("check .", ".: is a folder, where a file is wanted"),
        program("judge .", ".: is a folder, where a file is wanted"),
        program("fit .", "it is a folder, where a file is wanted"),
        program(
            "merge /dev/null --out both",
            "/dev/null is not a folder with results: it has no summary.json",
        ),
        program(
            "export --flent /dev/null --out logs",
            "/dev/null is not a folder with results: it has no summary.json",
        ),
        program("check /dev/zero", "/dev/zero: has more than 1048576 bytes"),
        program("check /dev/urandom", "/dev/urandom: "),
        program("check /dev/null", "/dev/null:1:1: missing key `format`"),
        program("check pipe", "pipe: is a pipe that nobody writes to"),
        program("run pipe", "pipe: is a pipe that nobody writes to"),
        program("check /proc/self/mem", "/proc/self/mem: cannot be read"),
        file(
            "an executable",
            &executable[..1 << 20],
            " is not a text file (byte ",
        ),
        file(
            "an executable, whole",
            executable,
            " has more than 1048576 bytes",
        ),
        file("empty", "", "1:1: missing key `format`"),
        file(
            "a mark of byte order",
            "\u{feff}",
            "1:1: missing key `format`",
        ),
        file(
            "UTF-16",
            [0xff, 0xfe, b'f', 0],
            " is not a text file (byte 0 ",
        ),
        file("zeros", vec![0; 1000], "1:1001: not TOML"),
        file(
            "long comment",
            vec![b'#'; 2 << 20],
            " has more than 1048576 bytes",
        ),
        file(
            "not UTF-8",
            [GOOD.as_bytes(), b"\xff"].concat(),
            " is not a text file (byte ",
        ),
        named(
            "a trace without end",
            "/dev/zero",
            "9:16: dumbbell.up.trace: the trace /dev/zero",
        ),
        named(
            "no trace",
            "nowhere",
            "9:16: dumbbell.up.trace: the trace nowhere cannot be read",
        ),
        named(
            "a pipe as trace",
            "pipe",
            "9:16: dumbbell.up.trace: the trace pipe is a pipe",
        ),
        named(
            "itself as trace",
            "scenario.toml",
            "9:16: dumbbell.up.trace: scenario.toml:1: ",
        ),
        video(
            "/dev/zero",
            "15:35: flow.upload.app.manifest: the manifest /dev/zero",
        ),
        video(
            "scenario.toml",
            "15:35: flow.upload.app.manifest: scenario.toml: ",
        ),
    ]
}

/// What is no TOML, or more of it than fits.
fn toml() -> Vec<Case> {
    let bare = |name: &str, text: String, says: &str| file(name, text, says);
    let deep = |open: &str, middle: &str, close: &str, n: usize| {
        format!("a = {}{middle}{}\n", open.repeat(n), close.repeat(n))
    };
    vec![
        bare("deep arrays", deep("[", "", "]", 20_000), "1:"),
        bare("deep arrays without end", deep("[", "", "", 900_000), "1:"),
        bare("deep tables", deep("{a=", "1", "}", 20_000), "1:"),
        bare(
            "deep tables without end",
            deep("{a=", "", "", 300_000),
            "1:",
        ),
        bare(
            "a deep key",
            format!("{}a = 1\n", "a.".repeat(200_000)),
            "1:",
        ),
        bare(
            "a deep header",
            format!("[{}a]\n", "a.".repeat(200_000)),
            "1:",
        ),
        bare(
            "a deep list",
            format!("[[{}a]]\n", "a.".repeat(200_000)),
            "1:",
        ),
        bare(
            "a long key",
            format!("{} = 1\n{GOOD}", "k".repeat(1_000_000)),
            "1:1: unknown key",
        ),
        bare(
            "many keys",
            (0..80_000).map(|n| format!("k{n}=1\n")).collect(),
            "1:1: missing key",
        ),
        bare(
            "many tables",
            (0..60_000).map(|n| format!("[k{n}]\n")).collect(),
            "1:1: missing key",
        ),
        bare("a string without end", format!("{GOOD}x = \"abc"), "21:"),
        bare(
            "text without end",
            format!("{GOOD}x = '''abc\n\n"),
            "23:1: not TOML",
        ),
        bare(
            "a key twice",
            format!("name = \"a\"\n{GOOD}"),
            "3:1: not TOML",
        ),
        bare("a table twice", format!("{GOOD}[dumbbell]\n"), "21:"),
        bare("no value", "format =\n".into(), "1:"),
        bare("no key", "= 1\n".into(), "1:"),
        bare("a control character", format!("{GOOD}# \u{1}\n"), "21:"),
        bare(
            "a number beyond 64 bits",
            format!("a = {}\n", "9".repeat(400)),
            "1:",
        ),
        changed(
            "\"10s\"",
            "1979-05-27T07:32:00Z",
            "3:12: duration: expected ",
        ),
        changed(
            "\"10s\"",
            &format!("[{}]", "1,".repeat(400_000)),
            "3:12: duration: expected ",
        ),
        changed(
            "\"10s\"",
            &format!("\"{}s\"", "9".repeat(900_000)),
            "3:12: duration: ",
        ),
        changed(
            "[dumbbell]",
            "[[dumbbell]]",
            "6:1: dumbbell: expected a table",
        ),
        changed(
            "[[flow]]\nname = \"upload\"",
            "[flow]\nname = \"upload\"",
            "17:",
        ),
    ]
}

/// Values of the wrong kind, and beyond what they can be.
fn fields() -> Vec<Case> {
    let name = "n".repeat(900_000);
    let line = |words: &str, says: &str| {
        changed(
            "rate = \"1mbit\"",
            &format!("rate = \"1mbit\", {words}"),
            says,
        )
    };
    let change = |words: &str, says: &str| {
        let text = format!("[[change]]\nat = \"5s\"\nlink = \"up\"\n{words}\n[[flow]]");
        changed("[[flow]]", &text, says)
    };
    vec![
        changed("sojourn-scenario/1", "sojourn-scenario/9", "1:10: format: "),
        changed("\"test\"", "\"\"", "2:8: name: "),
        changed(
            "\"test\"",
            "\"../../etc\"",
            "2:8: name: `../../etc` is not a name",
        ),
        changed("\"test\"", &format!("\"{name}\""), "2:8: name: `nnn"),
        changed("\"10s\"", "10", "3:12: duration: `10` needs a unit"),
        changed("\"10s\"", "inf", "3:12: duration: "),
        changed("\"10s\"", "\"1e400s\"", "3:12: duration: "),
        changed("\"10s\"", "\"-1s\"", "3:12: duration: "),
        changed("\"10s\"", "\"99999999999999s\"", "3:12: duration: "),
        changed("\"10s\"", "\"0s\"", "3:12: duration: must be above zero"),
        changed("\"2s\"", "\"11s\"", "4:10: warmup: 11s leaves nothing"),
        changed(
            "warmup = \"2s\"",
            "sample = 0",
            "4:10: sample: must be above zero",
        ),
        changed("\"40ms\"", "\"-40ms\"", "7:7: dumbbell.rtt: "),
        changed("\"1mbit\"", "\"0\"", "9:15: dumbbell.up.rate: "),
        changed("\"1mbit\"", "\"1e300gbit\"", "9:15: dumbbell.up.rate: "),
        changed("\"1mbit\"", "\"nanbit\"", "9:15: dumbbell.up.rate: "),
        changed(
            "{ rate = \"1mbit\" }",
            "{}",
            "9:1: dumbbell.up: missing key `rate`",
        ),
        changed(
            "rate = \"1mbit\"",
            "rate = \"1mbit\", loss = 1.5",
            "9:31: dumbbell.up.loss: ",
        ),
        changed(
            "rate = \"1mbit\"",
            "rate = \"1mbit\", loss = nan",
            "9:31: dumbbell.up.loss: ",
        ),
        changed(
            "rate = \"1mbit\"",
            "rate = \"1mbit\", loss = \"-1%\"",
            "9:31: dumbbell.up.loss: ",
        ),
        line(
            "loss = \"gemodel 1% 2\"",
            "9:31: dumbbell.up.loss: `2` has no place here",
        ),
        line(
            "loss = \"state 1% 60% 50%\"",
            "9:31: dumbbell.up.loss: `p31 and p32` are more",
        ),
        line(
            "loss = \"state 101%\"",
            "9:31: dumbbell.up.loss: `101%` is not a share",
        ),
        line("duplicate = \"2\"", "9:36: dumbbell.up.duplicate: "),
        line(
            "reorder = \"25% gap 0\"",
            "9:34: dumbbell.up.reorder: `0` is not a number",
        ),
        change("delay = \"-1ms\"", "15:9: change[1].delay: "),
        change("jitter = \"1\"", "15:10: change[1].jitter: "),
        change(
            "loss = \"state 60% p14 50%\"",
            "15:8: change[1].loss: `p13 and p14` are more",
        ),
        change("duplicate = 1.5", "15:13: change[1].duplicate: "),
        change("reorder = \"10%\"", "15:11: change[1].reorder: "),
        change("rate = \"0\"", "15:8: change[1].rate: "),
        changed(
            "rate = \"1mbit\"",
            "rate = \"1mbit\", jitter = \"1\"",
            "9:33: dumbbell.up.jitter: ",
        ),
        changed(
            "app = \"bulk\"",
            "app = \"bulk\"\ncount = 0",
            "16:9: flow.upload.count: 0 is not",
        ),
        changed(
            "app = \"bulk\"",
            "app = \"bulk\"\ncount = -1",
            "16:9: flow.upload.count: ",
        ),
        changed(
            "app = \"bulk\"",
            "app = \"bulk\"\nmark = 4294967296",
            "16:8: flow.upload.mark: ",
        ),
        changed(
            "app = \"bulk\"",
            "app = \"bulk\"\nstart = \"1h\"",
            "16:9: flow.upload.start: ",
        ),
        changed(
            "app = \"bulk\"",
            "app = \"bulk\"\nrtt = \"1ns\"\n[[flow]]",
            "17:",
        ),
        changed(
            "app = \"bulk\"",
            "app = { kind = \"web\", size = -1 }",
            "15:",
        ),
        changed(
            "app = \"bulk\"",
            "app = { kind = \"file\", size = \"1e99gb\" }",
            "15:31: flow.upload.app.size: ",
        ),
        changed(
            "app = \"bulk\"",
            "app = { kind = \"cbr\", size = 70000, interval = \"1ms\" }",
            "15:30: flow.upload.app.size: ",
        ),
        changed(
            "app = \"bulk\"",
            "app = \"bulk\"\ntcp = { mss = 0 }",
            "16:15: flow.upload.tcp.mss: ",
        ),
        changed(
            "app = \"bulk\"",
            "app = \"bulk\"\ntcp = { initial_window = 4000000000 }",
            "16:26: flow.upload.tcp.initial_window: ",
        ),
        changed(
            "app = \"bulk\"",
            "app = \"bulk\"\ntcp = { receive_window = \"4gb\" }",
            "16:26: flow.upload.tcp.receive_window: ",
        ),
        changed(
            "name = \"upload\"",
            &format!("name = \"{name}\""),
            "13:8: flow.nnn",
        ),
        changed(
            "direction = \"up\"\napp = \"bulk\"",
            "direction = \"sideways\"\napp = \"bulk\"",
            "14:13: flow.upload.direction: ",
        ),
        changed(
            "[[flow]]",
            "[[change]]\nat = \"99s\"\nlink = \"up\"\nrate = \"1mbit\"\n[[flow]]",
            "13:6: change[1].at: the run ends",
        ),
    ]
}

/// More than fits into memory.
fn sizes() -> Vec<Case> {
    let flows = |tables: usize, keys: &str| -> String {
        let table =
            |n| format!("[[flow]]\nname = \"f{n}\"\ndirection = \"up\"\napp = \"bulk\"\n{keys}\n");
        let more: String = (0..tables).map(table).collect();
        format!("{GOOD}{more}")
    };
    let graph = |nodes: usize, links: usize| -> String {
        let node: String = (0..nodes)
            .map(|n| format!("[[node]]\nname=\"n{n}\"\n"))
            .collect();
        let link = |n| format!("[[link]]\nname=\"l{n}\"\nfrom=\"n0\"\nto=\"n1\"\nrate=\"1mbit\"\n");
        let link: String = (0..links).map(link).collect();
        format!(
            "format = \"sojourn-scenario/1\"\nname = \"g\"\nduration = \"1s\"\n{node}{link}\
             [[flow]]\nname = \"f\"\nfrom = \"n0\"\nto = \"n1\"\napp = \"bulk\"\n"
        )
    };
    let radio = |stations: &str| {
        format!(
            "format = \"sojourn-scenario/1\"\nname = \"r\"\nduration = \"1s\"\n[radio]\n{stations}\n\
             [[flow]]\nname = \"f\"\nfrom = \"first\"\nto = \"last\"\napp = \"bulk\"\n"
        )
    };
    vec![
        changed(
            "app = \"bulk\"",
            "app = \"bulk\"\ncount = 100001",
            "16:9: flow.upload.count: 100001 is not",
        ),
        changed(
            "app = \"bulk\"",
            "app = \"bulk\"\ncount = 4294967295",
            "16:9: flow.upload.count: ",
        ),
        changed(
            "app = \"bulk\"",
            "app = \"bulk\"\nevery = \"1ns\"",
            "16:9: flow.upload.every: makes",
        ),
        file(
            "100 x 60 000 flows",
            flows(100, "count = 60000"),
            "26:1: flow.f1: with this a run has more than 100000 flows",
        ),
        file(
            "9 x 50 000 beginnings",
            flows(9, "every = \"200us\""),
            "26:1: flow.f1: with this a run",
        ),
        file(
            "many tables of flows",
            flows(25_000, ""),
            " has more than 1048576 bytes",
        ),
        file(
            "10 001 nodes",
            graph(10_001, 1),
            "4:1: node: 10001 are more than 10000",
        ),
        file(
            "10 001 links",
            graph(2, 10_001),
            "8:1: link: 10001 are more than 10000",
        ),
        file(
            "a long chain",
            radio("chain = { hops = 4000000000, spacing = \"25m\" }"),
            "5:18: radio.chain.hops: ",
        ),
        file(
            "a large grid",
            radio("grid = { columns = 1000, rows = 1000, spacing = \"25m\" }"),
            "5:1: radio.grid: ",
        ),
        file(
            "far apart",
            radio("chain = { hops = 1, spacing = \"1e300km\" }"),
            "5:",
        ),
        file(
            "no stations",
            radio("range = \"30m\""),
            "4:2: radio: a radio without stations",
        ),
    ]
}

fn sweeps() -> Vec<Case> {
    let sweep = |axes: &str, says: &str| {
        changed("[dumbbell]", &format!("[sweep]\n{axes}\n[dumbbell]"), says)
    };
    let values = |n: usize| -> String { (1..=n).map(|n| format!("\"{n}ms\",")).collect() };
    let thousand = values(1000);
    let cube = format!(
        "dumbbell.rtt = [{thousand}]\nflow.upload.start = [{thousand}]\nflow.probe.start = [{thousand}]"
    );
    let many: String = (0..200)
        .map(|n| format!("flow.f{n}.start = [\"1s\", \"2s\"]\n"))
        .collect();
    let flows = format!("dumbbell.rtt = [{thousand}]\nflow.upload.count = [5000]");
    let seeded = GOOD.replace("warmup = \"2s\"", "seeds = 10000").replace(
        "[dumbbell]",
        &format!("[sweep]\ndumbbell.rtt = [{thousand}]\n[dumbbell]"),
    );
    vec![
        sweep(
            &cube,
            "7:10: sweep: 1000000000 combinations with 1 seeds each",
        ),
        sweep(
            &format!("dumbbell.rtt = [{}]", values(100_001)),
            "7:10: sweep: 100001 combinations",
        ),
        file(
            "a sweep with many seeds",
            seeded,
            "7:10: sweep: 1000 combinations with 10000 seeds each",
        ),
        sweep(&many, "6:2: sweep: 200 fields are more than 100"),
        sweep(
            &flows,
            "7:10: sweep: all runs together have more than 1000000 links and flows",
        ),
        sweep(
            "dumbbell.rtt = \"1ms\"",
            "7:16: sweep: `dumbbell.rtt` needs a list",
        ),
        sweep(
            "dumbbell.rtt = [\"1ms\", \"2ms\", \"1ms\"]",
            "7:31: sweep: `dumbbell.rtt` has \"1ms\" twice",
        ),
        sweep(
            "dumbbell.rtt = []",
            "7:16: sweep: `dumbbell.rtt` has no values",
        ),
        sweep("dumbbell.rtt = [[\"1ms\"]]", "7:17: dumbbell.rtt: "),
        sweep("seeds = [1]", "7:1: sweep: `seeds` cannot be swept"),
        sweep("dumbbell.qdisc.limit = [1]", "7:"),
        sweep("zip = 1", "7:"),
        sweep("zip = [1]", "7:"),
        changed(
            "warmup = \"2s\"",
            "seeds = 10001",
            "4:9: seeds: must be a number of seeds",
        ),
        changed(
            "warmup = \"2s\"",
            "seeds = 9223372036854775807",
            "4:9: seeds: ",
        ),
        changed(
            "warmup = \"2s\"",
            &format!("seeds = [{}]", "1,".repeat(300_000)),
            "4:9: seeds: 300000 are more than 10000",
        ),
    ]
}

/// Of the command line.
fn arguments() -> Vec<Case> {
    let given = |arguments: &[&str], says: &str| {
        let mut case = file(&format!("{:.60}", arguments.join(" ")), GOOD, "");
        case.arguments
            .extend(arguments.iter().map(|word| (*word).to_owned()));
        says.clone_into(&mut case.says);
        case
    };
    let nested = format!(
        "dumbbell.qdisc={}fq_codel",
        "htb rate 1mbit over ".repeat(5000)
    );
    let arrays = format!("duration={}", "[".repeat(100_000));
    let path = format!("{}a=1", "a.".repeat(50_000));
    vec![
        given(&["--set", "duration"], "--set: `duration` has no `=`"),
        given(&["--set", "=1"], "--set: "),
        given(&["--set", "duration=1e400s"], "--set: duration: "),
        given(
            &["--set", &nested],
            "--set: dumbbell.qdisc: more than 8 disciplines",
        ),
        given(&["--set", &arrays], "--set: duration: "),
        given(&["--set", &path], "--set: "),
        given(
            &["--set", "flow.upload.count=1000000"],
            "--set: flow.upload.count: 1000000 is not",
        ),
        given(&["--set", "sweep.x=1"], "--set: sweep.x: cannot be set"),
        given(&["--seeds", "100000000"], "--seeds"),
        program(
            "run x --out o --pcap up --snap-len 4294967295",
            "--snap-len: `4294967295` is not a whole number from 1 to 65535",
        ),
        program(
            "bridge a b --pcap f --snap-len 257",
            "--snap-len: `257` is not a whole number from 1 to 256",
        ),
        given(&["--cell", "2"], "--cell 2: there are cells 1 to 1"),
    ]
}
