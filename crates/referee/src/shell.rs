//! Shell commands of a script.
//!
//! Settings of the kernel are written to its files by ourselves, as `sysctl` and the scripts'
//! `set_sysctls.py` would, and the commonest queues are made without `tc`: in a guest a program
//! takes longer to start than a script to run. What a namespace of its own makes needless is left
//! out. The rest goes to `sh`.

use crate::device::{Device, NAME};
use sojourn_bridge::Request;
use sojourn_packetdrill::{Stop, commands, evaluated};
use std::fs;
use std::io;
use std::path::Path;
use std::process::{Command, Stdio};

/// Depth of scripts that call scripts.
const DEEPEST: u8 = 4;
/// Commands of `SIOCETHTOOL` that set an offload (`linux/ethtool.h`).
const OFFLOADS: [(&str, u32); 3] = [("tso", 0x1f), ("gso", 0x24), ("gro", 0x2c)];

/// What a command does.
enum Known {
    Nothing,
    Sysctls(Vec<(String, String)>),
    Queue { kind: String, replace: bool },
    Offloads(Vec<(u32, u32)>),
    Script,
}

/// Carries out shell commands; whether the interface takes several segments at once after them, if
/// they say so. `folder`: where the script stands.
pub(crate) fn run(text: &str, folder: &Path, device: &Device) -> Result<Option<bool>, Stop> {
    let mut shell = Shell {
        folder,
        device,
        gathers: None,
    };
    shell.run(text, 0)?;
    Ok(shell.gathers)
}

struct Shell<'a> {
    folder: &'a Path,
    device: &'a Device,
    gathers: Option<bool>,
}

impl Shell<'_> {
    fn run(&mut self, text: &str, depth: u8) -> Result<(), Stop> {
        for line in commands(text) {
            let known: Option<Vec<Known>> = line
                .iter()
                .map(|(command, words)| known(command, words, depth))
                .collect();
            let Some(known) = known else {
                let line: Vec<&str> = line.iter().map(|(command, _)| command.as_str()).collect();
                self.sh(&line.join("; "))?;
                continue;
            };
            for (known, (command, words)) in known.into_iter().zip(&line) {
                let failed = |error: io::Error| Stop::NotModelled(format!("`{command}`: {error}"));
                match known {
                    Known::Script => {
                        let path = self.folder.join(&words[0]);
                        let text = fs::read_to_string(path).map_err(failed)?;
                        self.run(&text, depth + 1)?;
                    }
                    known => self.do_known(known, depth).map_err(failed)?,
                }
            }
        }
        Ok(())
    }

    fn do_known(&mut self, known: Known, depth: u8) -> io::Result<()> {
        match known {
            Known::Nothing | Known::Script => Ok(()),
            Known::Sysctls(all) => {
                for (name, value) in all {
                    match fs::write(format!("/proc/sys/{name}"), value) {
                        // A kernel without it: `sysctl` complains, and a shell script goes on.
                        Err(error) if error.kind() == io::ErrorKind::NotFound && depth > 0 => {}
                        done => done?,
                    }
                }
                Ok(())
            }
            Known::Queue { kind, replace } => self.device.queue(&kind, replace),
            Known::Offloads(all) => {
                let mut request = Request::about(NAME)?;
                for (command, on) in all {
                    request.ethtool(command, on)?;
                    if command == OFFLOADS[0].1 {
                        self.gathers = Some(on != 0);
                    }
                }
                Ok(())
            }
        }
    }

    fn sh(&self, line: &str) -> Result<(), Stop> {
        let output = Command::new("sh")
            .args(["-c", line])
            .current_dir(self.folder)
            .stdin(Stdio::null())
            .output()
            .map_err(|error| Stop::NotModelled(format!("`{line}`: {error}")))?;
        if output.status.success() {
            return Ok(());
        }
        let errors = String::from_utf8_lossy(&output.stderr);
        let said = errors.lines().next().unwrap_or_default().trim();
        Err(Stop::Ours {
            expected: format!("`{line}` to succeed"),
            got: format!("{} {said}", output.status).trim().to_owned(),
        })
    }
}

/// What a command does, if it is one that needs no shell.
fn known(command: &str, words: &[String], depth: u8) -> Option<Known> {
    let pieces: Vec<&str> = words.iter().map(String::as_str).collect();
    // A pipe needs the shell.
    if pieces.contains(&"|") {
        return None;
    }
    Some(match pieces[..] {
        ["sysctl", ref rest @ ..] => {
            let settings = rest.iter().filter(|word| !word.starts_with('-'));
            Known::Sysctls(settings.map(|text| sysctl(text)).collect::<Option<_>>()?)
        }
        [program, ref rest @ ..] if program.ends_with("set_sysctls.py") => {
            let settings = rest
                .iter()
                .map(|word| word.trim_start_matches("/proc/sys/"));
            Known::Sysctls(settings.map(sysctl).collect::<Option<_>>()?)
        }
        [program] if program.starts_with("/tmp/sysctl_restore_") => Known::Nothing,
        ["ip", "tcp_metrics", "flush", ..] => Known::Nothing,
        [
            "tc",
            "qdisc",
            verb @ ("add" | "replace"),
            "dev",
            NAME,
            "root",
            kind,
        ] => Known::Queue {
            kind: kind.to_owned(),
            replace: verb == "replace",
        },
        ["ethtool", "-K", NAME, ref rest @ ..] => {
            let known = rest.chunks_exact(2).filter_map(|pair| {
                let (_, command) = OFFLOADS.into_iter().find(|&(name, _)| name == pair[0])?;
                Some((command, u32::from(pair[1] == "on")))
            });
            Known::Offloads(known.collect())
        }
        [program] if is_script(program) && depth < DEEPEST && !command.contains('`') => {
            Known::Script
        }
        _ => return None,
    })
}

fn is_script(program: &str) -> bool {
    Path::new(program)
        .extension()
        .is_some_and(|extension| extension == "sh")
}

/// File below `/proc/sys` and value of `net.ipv4.tcp_ecn=1`.
fn sysctl(text: &str) -> Option<(String, String)> {
    let (name, value) = text.split_once('=')?;
    let value = evaluated(value).unwrap_or_else(|| value.to_owned());
    (!value.contains('$')).then(|| (name.replace('.', "/"), value))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_are_files_and_values() {
        let set = |text| sysctl(text).unwrap();
        assert_eq!(
            set("net.ipv4.tcp_rmem=4096 540000 $((15*1024*1024))"),
            ("net/ipv4/tcp_rmem".into(), "4096 540000 15728640".into())
        );
        assert_eq!(set("net/ipv4/tcp_fastopen=0x3").1, "0x3");
        assert_eq!(sysctl("net.ipv4.tcp_ecn=$X"), None);
        assert_eq!(sysctl("-w"), None);
    }
}
