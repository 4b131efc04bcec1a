//! The queue library as a queue of the guest's kernel: files that are compiled into it.
//!
//! `make module` makes a folder with them (`contrib/module`): the kernel's side in C, and the
//! library as one object, which is the same for every kernel. Guests load no modules, so that here
//! it is built in.

use std::fs;
use std::hash::Hasher as _;
use std::path::Path;

use crate::KernelError;
use crate::recipe::{Edit, Fnv};

/// What is taken of it.
const FILES: [&str; 3] = ["qdisc.c", "library.h", "library.o_shipped"];
/// Its folder in the source tree.
const PLACE: &str = "net/sched/sojourn";
/// What says there how it is compiled: under the name that the module has.
const MAKEFILE: &str = "obj-y := sch_sojourn.o\nsch_sojourn-y := qdisc.o library.o\n";
/// Has the tree compile it, after the changes that all kernels have.
pub(crate) const EDIT: Edit = Edit {
    file: "net/sched/Makefile",
    old: "sch_generic.o sch_mq.o sch_link.o\n",
    new: "sch_generic.o sch_mq.o sch_link.o\nobj-y += sojourn/\n",
};

/// The files of the module.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Module {
    /// As they stand in their folder, in the order of [`FILES`].
    files: [Vec<u8>; FILES.len()],
}

impl Module {
    /// From the folder that `make module` has made.
    ///
    /// # Errors
    /// When a file is not there: the message says what makes it.
    pub fn read(dir: &Path) -> Result<Self, KernelError> {
        let mut files = <[Vec<u8>; FILES.len()]>::default();
        for (text, name) in files.iter_mut().zip(FILES) {
            *text = fs::read(dir.join(name)).map_err(|source| KernelError::NoModule {
                file: dir.join(name),
                source,
            })?;
        }
        Ok(Self { files })
    }

    /// A number that changes with the files, in 8 hexadecimal digits.
    pub(crate) fn number(&self) -> String {
        let mut hash = Fnv::default();
        for bytes in [MAKEFILE, EDIT.new].map(str::as_bytes) {
            hash.write(bytes);
        }
        for bytes in &self.files {
            hash.write(&bytes.len().to_le_bytes());
            hash.write(bytes);
        }
        hash.digits()
    }

    /// Puts the files into a source tree.
    pub(crate) fn put(&self, tree: &Path) -> Result<(), KernelError> {
        let place = tree.join(PLACE);
        let failed = || KernelError::io(format!("write the module's files to {}", place.display()));
        fs::create_dir_all(&place).map_err(failed())?;
        let files = FILES.into_iter().zip(&self.files);
        for (name, text) in files.chain([("Makefile", &MAKEFILE.as_bytes().to_vec())]) {
            fs::write(place.join(name), text).map_err(failed())?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn other_files_have_another_number_and_missing_ones_are_named() {
        let dir = tempfile::tempdir().unwrap();
        let said = Module::read(dir.path()).unwrap_err().to_string();
        assert!(
            said.contains("qdisc.c") && said.contains("make module"),
            "{said}"
        );
        for name in FILES {
            fs::write(dir.path().join(name), name).unwrap();
        }
        let one = Module::read(dir.path()).unwrap();
        assert_eq!(one.number(), Module::read(dir.path()).unwrap().number());
        fs::write(dir.path().join("library.o_shipped"), "newer").unwrap();
        let other = Module::read(dir.path()).unwrap();
        assert_ne!(one.number(), other.number());
        let tree = tempfile::tempdir().unwrap();
        other.put(tree.path()).unwrap();
        let put = |name: &str| fs::read_to_string(tree.path().join(PLACE).join(name)).unwrap();
        assert_eq!(put("library.o_shipped"), "newer");
        assert_eq!(put("Makefile"), MAKEFILE);
    }
}
