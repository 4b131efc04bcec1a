//! A congestion control of one's own in the guest's kernel: one file of C that is compiled into it.
//!
//! Guests load no modules, so that here it is built in. Scenarios name it `own`.

use std::fs;
use std::hash::Hasher as _;
use std::path::Path;

use sojourn_scenario::explained;
use sojourn_world::{Cell, Transport};

use crate::KernelError;
use crate::recipe::{Edit, Fnv};

/// The name that it registers, and that scenarios have for it.
pub(crate) const NAME: &str = "own";
/// Its place in the source tree.
const PLACE: &str = "net/ipv4/tcp_own.c";
/// Has the tree compile it.
pub(crate) const EDIT: Edit = Edit {
    file: "net/ipv4/Makefile",
    old: "obj-$(CONFIG_TCP_CONG_WESTWOOD) += tcp_westwood.o\n",
    new: "obj-$(CONFIG_TCP_CONG_WESTWOOD) += tcp_westwood.o\nobj-y += tcp_own.o\n",
};

/// The text of one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Control {
    text: Vec<u8>,
}

impl Control {
    /// From a file of C that registers a congestion control named `own`.
    ///
    /// # Errors
    /// When it cannot be read, or nothing in it has that name.
    pub fn read(file: &Path) -> Result<Self, KernelError> {
        let no_control = |reason: String| KernelError::NoControl {
            file: file.to_owned(),
            reason,
        };
        let text =
            fs::read(file).map_err(|error| no_control(explained(file, error).to_string()))?;
        let named = format!("\"{NAME}\"");
        if !String::from_utf8_lossy(&text).contains(&named) {
            let must = format!("its `struct tcp_congestion_ops` must have `.name = {named}`");
            return Err(no_control(must));
        }
        Ok(Self { text })
    }

    /// A number that changes with it, in 8 hexadecimal digits.
    pub(crate) fn number(&self) -> String {
        let mut hash = Fnv::default();
        hash.write(EDIT.new.as_bytes());
        hash.write(&self.text);
        hash.digits()
    }

    /// Puts it into a source tree.
    pub(crate) fn put(&self, tree: &Path) -> Result<(), KernelError> {
        fs::write(tree.join(PLACE), &self.text)
            .map_err(KernelError::io(format!("write the source file {PLACE}")))
    }
}

/// Whether a flow of the cell has it.
pub(crate) fn is_in(cell: &Cell) -> bool {
    cell.flows.iter().any(|flow| match &flow.transport {
        Transport::Tcp(config) => config.algorithm.name() == NAME,
        Transport::Udp => false,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_must_have_the_name_and_its_text_makes_the_number() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("mine.c");
        let said = Control::read(&file).unwrap_err().to_string();
        assert!(
            said.contains("mine.c") && said.contains("No such file"),
            "{said}"
        );
        fs::write(&file, ".name = \"mine\",").unwrap();
        let said = Control::read(&file).unwrap_err().to_string();
        assert!(said.contains("`.name = \"own\"`"), "{said}");
        fs::write(&file, ".name = \"own\",").unwrap();
        let one = Control::read(&file).unwrap();
        assert_eq!(one.number(), Control::read(&file).unwrap().number());
        fs::write(&file, ".name = \"own\", /* newer */").unwrap();
        let other = Control::read(&file).unwrap();
        assert_ne!(one.number(), other.number());
        fs::create_dir_all(dir.path().join("net/ipv4")).unwrap();
        other.put(dir.path()).unwrap();
        let put = fs::read_to_string(dir.path().join(PLACE)).unwrap();
        assert!(put.contains("newer"));
    }
}
