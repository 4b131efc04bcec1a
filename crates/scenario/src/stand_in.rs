//! What stands in a scenario for something that its format cannot say: a queue or a congestion
//! control of a plug-in or of Python.

use crate::problem::Problems;
use sojourn_world::{Cell, ScenarioInfo};

/// Congestion controls that only Linux has. The simulator refuses them, so that each may stand for
/// one that no scenario can name.
pub const LINUX_ALONE: [&str; 11] = [
    "bic",
    "cdg",
    "highspeed",
    "htcp",
    "hybla",
    "illinois",
    "lp",
    "nv",
    "scalable",
    "veno",
    "yeah",
];

/// The stand-ins of a scenario, with the names of what they stand for.
#[derive(Clone, Debug, Default)]
pub struct StandIns(Vec<(String, String)>);

impl StandIns {
    /// Another one.
    pub fn add(&mut self, stand_in: &str, name: &str) {
        self.0.push((stand_in.to_owned(), name.to_owned()));
    }

    /// What stands for a name.
    pub fn of(&self, name: &str) -> Option<&str> {
        let found = self.0.iter().find(|(_, known)| known == name);
        found.map(|(stand_in, _)| stand_in.as_str())
    }

    /// Has what is wrong with a scenario say the names.
    pub fn put_back_in(&self, problems: &mut Problems) {
        for (stand_in, name) in &self.0 {
            problems.reword(stand_in, name);
        }
    }

    /// Has the axes, the parameters of cells and the text of a scenario say the names.
    pub fn put_back(&self, info: &mut ScenarioInfo, cells: &mut [Cell]) {
        let axes = info.axes.iter_mut().flat_map(|axis| &mut axis.values);
        let params = cells.iter_mut().flat_map(|cell| &mut cell.params);
        for text in axes.chain(params.map(|(_, value)| value)) {
            if let Some((_, name)) = self.0.iter().find(|(stand_in, _)| stand_in == text) {
                text.clone_from(name);
            }
        }
        let Some(source) = &mut info.source else {
            return;
        };
        for (stand_in, name) in &self.0 {
            let quoted = |text: &str| format!("\"{text}\"");
            *source = source.replace(&quoted(stand_in), &quoted(name));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::LINUX_ALONE;
    use crate::{Options, Scenario};
    use sojourn_tcp::Algorithm;
    use sojourn_world::Transport;
    use std::path::Path;

    #[test]
    fn what_may_stand_for_a_control_is_refused_by_the_simulator() {
        let text = r#"format = "sojourn-scenario/1"
name = "one"
duration = "1s"
dumbbell = { rtt = "40ms", rate = "8mbit" }
flow = [{ name = "download", direction = "down", app = "bulk" }]
"#;
        for name in LINUX_ALONE {
            let options = Options {
                sets: vec![format!("tcp.cc={name}")],
                ..Options::default()
            };
            let read = Scenario::parse("one", text, Path::new(""), &options);
            let scenario = read.unwrap_or_else(|problems| panic!("{problems}"));
            let Transport::Tcp(config) = &scenario.cells[0].flows[0].transport else {
                panic!("it is a TCP flow");
            };
            assert_eq!(config.algorithm, Algorithm::Linux(name));
        }
    }
}
