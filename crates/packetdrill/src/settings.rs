//! What shell commands of a script set: sysctls, and how the interface sends.
//!
//! A sysctl that our TCP has is taken over, one at the value that our TCP always has does nothing,
//! and any other is not modelled, as is any other command.

use crate::verdict::Stop;
use sojourn_tcp::Algorithm;
use sojourn_units::Span;
use std::path::Path;

/// Depth of scripts that call scripts.
const DEEPEST: u8 = 4;

/// What connections begin with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Settings {
    pub(crate) ecn: u32,
    pub(crate) ecn_option: u32,
    pub(crate) ecn_checked: bool,
    pub(crate) timestamps: bool,
    pub(crate) sack: bool,
    /// Memory to receive and to send, bytes: at the start, and at most.
    pub(crate) receive: [u64; 2],
    pub(crate) send: [u64; 2],
    pub(crate) algorithm: Algorithm,
    pub(crate) slow_start_after_idle: bool,
    pub(crate) max_rto: Span,
    /// The interface takes several segments as one packet.
    pub(crate) gathers: bool,
    pub(crate) pacing: bool,
}

impl Default for Settings {
    /// As Linux without any setting.
    fn default() -> Self {
        Self {
            ecn: 2,
            ecn_option: 2,
            ecn_checked: true,
            timestamps: true,
            sack: true,
            receive: [131_072, 6 << 20],
            send: [16_384, 4 << 20],
            algorithm: Algorithm::Cubic,
            slow_start_after_idle: true,
            max_rto: Span::from_secs(120),
            gathers: true,
            pacing: false,
        }
    }
}

/// Sysctls of `net.ipv4` that our TCP always has at one of these values, or for which every value
/// is the same to it (an empty list).
const FIXED: [(&str, &[&str]); 20] = [
    ("tcp_syn_retries", &["5", "6"]),
    ("tcp_synack_retries", &["5"]),
    ("tcp_frto", &["1", "2"]),
    ("tcp_dsack", &["1"]),
    ("tcp_fack", &["0"]),
    ("tcp_reordering", &["3"]),
    ("tcp_early_retrans", &["3", "4"]),
    ("tcp_recovery", &["1"]),
    ("tcp_pacing_ss_ratio", &["200"]),
    ("tcp_pacing_ca_ratio", &["120"]),
    ("tcp_notsent_lowat", &["4294967295"]),
    ("tcp_syncookies", &["0", "1"]),
    ("tcp_shrink_window", &["0"]),
    ("tcp_window_scaling", &["1"]),
    // They have a meaning where a script uses Fast Open, which is not modelled.
    ("tcp_fastopen", &[]),
    ("tcp_fastopen_key", &[]),
    // How Linux puts segments together, and how often it answers what is invalid: a segment goes
    // as soon as it may here, and is always answered.
    ("tcp_tso_win_divisor", &[]),
    ("tcp_min_tso_segs", &[]),
    ("tcp_invalid_ratelimit", &[]),
    ("tcp_ecn_option_beacon", &[]),
];

impl Settings {
    /// Carries out shell commands; `folder`: where the script stands.
    pub(crate) fn run(&mut self, commands: &str, folder: &Path) -> Result<(), Stop> {
        self.run_at(commands, folder, 0)
    }

    fn run_at(&mut self, commands: &str, folder: &Path, depth: u8) -> Result<(), Stop> {
        for line in self::commands(commands) {
            for (command, words) in line {
                self.command(&command, &words, folder, depth)?;
            }
        }
        Ok(())
    }

    fn command(
        &mut self,
        whole: &str,
        words: &[String],
        folder: &Path,
        depth: u8,
    ) -> Result<(), Stop> {
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        match words[..] {
            ["sysctl", ref rest @ ..] => {
                for setting in rest.iter().filter(|word| !word.starts_with('-')) {
                    self.sysctl(setting)?;
                }
            }
            [program, ref rest @ ..] if program.ends_with("set_sysctls.py") => {
                for setting in rest {
                    self.sysctl(setting.trim_start_matches("/proc/sys/"))?;
                }
            }
            // It restores what the script has set, at its end.
            [program] if program.starts_with("/tmp/sysctl_restore_") => {}
            ["nstat", "-n"]
            | ["nstat"]
            | ["ip", "tcp_metrics", "flush", ..]
            | ["tc", "qdisc", "add" | "replace", "dev", _, "root", "pfifo"] => {}
            ["ethtool", "-K", _, ref rest @ ..] => {
                for pair in rest.chunks_exact(2) {
                    self.gathers &= !(matches!(pair[0], "tso" | "gso") && pair[1] == "off");
                }
            }
            // Of files nothing but the length counts, which calls tell.
            [program, ..] if matches!(program.rsplit('/').next(), Some("rm" | "dd")) => {}
            ["tc", "qdisc", "add" | "replace", "dev", _, "root", "fq"] => self.pacing = true,
            [program] if is_script(program) && depth < DEEPEST => {
                let path = folder.join(program);
                let Ok(text) = std::fs::read_to_string(&path) else {
                    return Err(Stop::NotModelled(format!("`{program}`: no such file")));
                };
                self.run_at(&text, folder, depth + 1)?;
            }
            _ => {
                let whole = whole.split_whitespace().collect::<Vec<_>>().join(" ");
                return Err(Stop::NotModelled(format!("the command `{whole}`")));
            }
        }
        Ok(())
    }

    fn sysctl(&mut self, setting: &str) -> Result<(), Stop> {
        let refused = || Stop::NotModelled(format!("sysctl {setting}"));
        let (name, value) = setting.split_once('=').ok_or_else(refused)?;
        let dotted = name.replace('/', ".");
        let name = dotted.strip_prefix("net.ipv4.").ok_or_else(refused)?;
        let number = || numbers(value).and_then(|all| (all.len() == 1).then(|| all[0]));
        let switch = || number().filter(|&value| value < 2).map(|value| value == 1);
        let memory = || match numbers(value).as_deref() {
            Some(&[_, start, most]) => Some([start, most]),
            _ => None,
        };
        match name {
            "tcp_ecn" => self.ecn = small(number(), 5).ok_or_else(refused)?,
            "tcp_ecn_option" => {
                let option = small(number(), 2).filter(|&option| option != 1);
                self.ecn_option = option.ok_or_else(refused)?;
            }
            "tcp_ecn_fallback" => self.ecn_checked = switch().ok_or_else(refused)?,
            "tcp_timestamps" => self.timestamps = switch().ok_or_else(refused)?,
            "tcp_sack" => self.sack = switch().ok_or_else(refused)?,
            "tcp_rmem" => self.receive = memory().ok_or_else(refused)?,
            "tcp_wmem" => self.send = memory().ok_or_else(refused)?,
            "tcp_slow_start_after_idle" => {
                self.slow_start_after_idle = switch().ok_or_else(refused)?;
            }
            "tcp_rto_max_ms" => {
                self.max_rto = number().map(Span::from_millis).ok_or_else(refused)?;
            }
            "tcp_congestion_control" => {
                self.algorithm = algorithm(value).ok_or_else(refused)?;
            }
            _ => {
                let fixed = FIXED.iter().find(|&&(known, _)| known == name);
                let (_, values) = fixed.ok_or_else(refused)?;
                if !values.is_empty() && !values.contains(&value) {
                    return Err(refused());
                }
            }
        }
        Ok(())
    }
}

/// The commands of a shell script by lines: each as it stands there, and its words without
/// quotation marks, comments and redirections.
pub fn commands(text: &str) -> Vec<Vec<(String, Vec<String>)>> {
    let joined = text.replace("\\\n", " ");
    let lines = joined.lines().map(|line| {
        let code = line.find('#').map_or(line, |start| {
            let whole = start == 0 || line[..start].ends_with(char::is_whitespace);
            if whole { &line[..start] } else { line }
        });
        code.split(';')
            .map(|command| (command.trim().to_owned(), words(command)))
            .filter(|(_, words)| !words.is_empty())
            .collect()
    });
    lines.collect()
}

/// A value of a sysctl: its numbers, each perhaps a product in `$((…))`, worked out. None if it has
/// anything else.
pub fn evaluated(value: &str) -> Option<String> {
    let numbers: Vec<String> = numbers(value)?.iter().map(u64::to_string).collect();
    Some(numbers.join(" "))
}

fn is_script(program: &str) -> bool {
    Path::new(program)
        .extension()
        .is_some_and(|extension| extension == "sh")
}

/// A congestion control of Linux that we have.
pub(crate) fn algorithm(name: &str) -> Option<Algorithm> {
    Algorithm::ALL
        .into_iter()
        .find(|control| control.is_in_linux() && control.name() == name)
}

fn small(number: Option<u64>, most: u32) -> Option<u32> {
    let number = u32::try_from(number?).ok()?;
    (number <= most).then_some(number)
}

/// Words of a command: quotation marks hold together, redirections fall away.
fn words(command: &str) -> Vec<String> {
    let mut words = Vec::new();
    let mut word = String::new();
    let mut quoted = false;
    let mut depth = 0_i32;
    for char in command.chars() {
        match char {
            '"' | '\'' => quoted = !quoted,
            _ if char.is_whitespace() && !quoted && depth == 0 => {
                words.push(std::mem::take(&mut word));
            }
            _ => {
                depth += i32::from(char == '(') - i32::from(char == ')');
                word.push(char);
            }
        }
    }
    words.push(word);
    let mut kept: Vec<String> = Vec::new();
    let mut target = false;
    for word in words.into_iter().filter(|word| !word.is_empty()) {
        if target {
            target = false;
        } else if matches!(&*word, ">" | "2>") {
            target = true;
        } else if !word.contains(">/dev/null") && word != "2>&1" {
            kept.push(word);
        }
    }
    kept
}

/// Whole numbers, each perhaps a product in `$((…))`.
fn numbers(text: &str) -> Option<Vec<u64>> {
    text.split_whitespace()
        .map(|word| {
            let product = word
                .strip_prefix("$((")
                .map_or(Some(word), |rest| rest.strip_suffix("))"))?;
            product.split('*').try_fold(1_u64, |all, factor| {
                all.checked_mul(factor.trim().parse().ok()?)
            })
        })
        .collect()
}
