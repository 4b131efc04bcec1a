//! Where kernels are kept: a folder of the user's cache, one file each.
//!
//! A kernel gets its name by renaming, once it has been built and has said its version; what has
//! the name is whole, whatever happened to the build.

use std::env;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::KernelError;
use crate::extra::{Extra, ExtraKind};
use crate::recipe::{Variant, Wanted};

/// The folder of the kernels.
#[derive(Clone, Debug)]
pub struct Store {
    dir: PathBuf,
}

/// A kernel that can be booted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Image {
    /// Which it is.
    pub kernel: Variant,
    /// The program.
    pub path: PathBuf,
}

impl Store {
    /// The user's: `$XDG_CACHE_HOME/sojourn`, or `~/.cache/sojourn`.
    ///
    /// # Errors
    /// When neither variable names a folder.
    pub fn of_user() -> Result<Self, KernelError> {
        let absolute = |name| {
            env::var_os(name)
                .map(PathBuf::from)
                .filter(|path| path.is_absolute())
        };
        let cache = absolute("XDG_CACHE_HOME")
            .or_else(|| absolute("HOME").map(|home| home.join(".cache")))
            .ok_or(KernelError::NoCache)?;
        Ok(Self::at(cache.join("sojourn")))
    }

    /// Of this folder, which need not be there.
    pub fn at(dir: impl Into<PathBuf>) -> Self {
        Self { dir: dir.into() }
    }

    /// The folder.
    pub fn dir(&self) -> &Path {
        &self.dir
    }

    /// Where a kernel stands once it is built by today's recipe.
    pub fn place(&self, kernel: Variant) -> PathBuf {
        self.dir.join(format!("linux-{kernel}-{}", kernel.recipe()))
    }

    /// Where it stands with this compiled in.
    pub fn place_with(&self, kernel: Variant, extra: &Extra) -> PathBuf {
        let start = Self::start_with(kernel, extra.kind());
        self.dir.join(start + &extra.number())
    }

    /// How the name of a kernel with such an addition begins; its number follows.
    fn start_with(kernel: Variant, extra: ExtraKind) -> String {
        format!("linux-{kernel}-{}-{}-", kernel.recipe(), extra.word())
    }

    /// The kernel with such an addition that was built, or asked for again, last.
    pub fn newest_with(&self, kernel: Variant, extra: ExtraKind) -> Option<PathBuf> {
        let start = Self::start_with(kernel, extra);
        let entries = fs::read_dir(&self.dir).ok()?.filter_map(Result::ok);
        let named = entries.filter(|entry| {
            let name = entry.file_name();
            name.to_str().is_some_and(|name| name.starts_with(&start))
        });
        let dated = named.filter_map(|entry| {
            let about = entry.metadata().ok().filter(fs::Metadata::is_file)?;
            Some((about.modified().ok()?, entry.path()))
        });
        dated.max().map(|(_, path)| path)
    }

    /// Where one that is wanted would be.
    fn candidate(&self, kernel: Variant, with_module: bool) -> Option<PathBuf> {
        if with_module {
            return self.newest_with(kernel, ExtraKind::Module);
        }
        Some(self.place(kernel)).filter(|path| path.is_file())
    }

    /// The first of the kernels that are wanted.
    ///
    /// # Errors
    /// When it is not built: the message says the one command that builds it.
    pub fn find(&self, wanted: impl Into<Wanted>) -> Result<Image, KernelError> {
        let wanted = wanted.into();
        Variant::all()
            .filter(|&kernel| wanted.includes(kernel))
            .find_map(|kernel| {
                let path = self.candidate(kernel, wanted.module)?;
                Some(Image { kernel, path })
            })
            .ok_or(KernelError::NotBuilt {
                wanted,
                dir: self.dir.clone(),
            })
    }

    /// Kernels of versions, recipes or modules that this program does not take any more.
    ///
    /// # Errors
    /// When the folder is there and cannot be read.
    pub fn outdated(&self) -> io::Result<Vec<PathBuf>> {
        let entries = match fs::read_dir(&self.dir) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            entries => entries?,
        };
        let of = |kernel| {
            let extra = ExtraKind::ALL.map(|extra| self.newest_with(kernel, extra));
            std::iter::once(self.place(kernel)).chain(extra.into_iter().flatten())
        };
        let current: Vec<_> = Variant::all().flat_map(of).collect();
        let mut outdated = Vec::new();
        for entry in entries {
            let path = entry?.path();
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            if name.starts_with("linux-") && path.is_file() && !current.contains(&path) {
                outdated.push(path);
            }
        }
        outdated.sort();
        Ok(outdated)
    }
}

impl Image {
    /// What the kernel says that it is, as `6.1.192`.
    ///
    /// # Errors
    /// When it cannot be run.
    pub fn release(&self) -> io::Result<String> {
        release(&self.path)
    }
}

/// What the kernel at `path` says that it is.
pub(crate) fn release(path: &Path) -> io::Result<String> {
    let output = Command::new(path)
        .arg("--version")
        .stdin(Stdio::null())
        .output()?;
    let text = String::from_utf8_lossy(&output.stdout).trim().to_owned();
    if output.status.success() && text.starts_with(|first: char| first.is_ascii_digit()) {
        return Ok(text);
    }
    let said = format!("it does not say its version ({})", output.status);
    Err(io::Error::other(said))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::recipe::{Tick, Version};

    const fn wanted(version: Option<Version>, tick: Tick) -> Wanted {
        Wanted {
            version,
            tick,
            module: false,
        }
    }

    #[test]
    fn of_kernels_with_a_module_the_last_is_taken_and_the_plain_one_never() {
        let dir = tempfile::tempdir().unwrap();
        let store = Store::at(dir.path());
        let kernel = Variant {
            version: Version::V6_1,
            tick: Tick::Hz1000,
        };
        let with_module = Wanted {
            module: true,
            ..Wanted::default()
        };
        fs::write(store.place(kernel), "").unwrap();
        let said = store.find(with_module).unwrap_err().to_string();
        let folder = dir.path().display();
        let start = format!(
            "there is no guest kernel with our queues in it in {folder}: `sojourn kernel build \
             --module target/module/dkms` builds one"
        );
        assert!(
            said.starts_with(&start) && said.contains("`make module`"),
            "{said}"
        );
        let start = Store::start_with(kernel, ExtraKind::Module);
        let [old, new] =
            ["00000001", "00000000"].map(|number| dir.path().join(format!("{start}{number}")));
        for path in [&old, &new] {
            fs::write(path, "").unwrap();
        }
        let date = |path: &Path, seconds| {
            let file = fs::File::options().write(true).open(path).unwrap();
            let time = std::time::UNIX_EPOCH + std::time::Duration::from_secs(seconds);
            file.set_modified(time).unwrap();
        };
        date(&old, 1000);
        date(&new, 2000);
        assert_eq!(store.find(with_module).unwrap().path, new);
        assert_eq!(store.find(kernel).unwrap().path, store.place(kernel));
        assert_eq!(store.outdated().unwrap(), [old]);
    }

    #[test]
    fn what_is_missing_names_the_command() {
        let dir = tempfile::tempdir().unwrap();
        let store = Store::at(dir.path());
        let folder = dir.path().display();
        for (version, tick, what, command) in [
            (None, Tick::Hz1000, "guest kernel", ""),
            (
                Some(Version::V6_12),
                Tick::Hz1000,
                "guest kernel 6.12",
                " --version 6.12",
            ),
            (
                Some(Version::V7_3),
                Tick::Hz250,
                "guest kernel 7.3 with 250 Hz",
                " --version 7.3 --hz 250",
            ),
            (None, Tick::Hz250, "guest kernel with 250 Hz", " --hz 250"),
        ] {
            let said = store.find(wanted(version, tick)).unwrap_err().to_string();
            let start =
                format!("there is no {what} in {folder}: `sojourn kernel build{command}` builds");
            assert!(said.starts_with(&start), "{said}");
        }
    }

    #[test]
    fn the_usual_version_is_preferred_and_other_recipes_are_not_taken() {
        let dir = tempfile::tempdir().unwrap();
        let store = Store::at(dir.path());
        let found = |version, tick| {
            let image = store.find(wanted(version, tick)).ok()?;
            Some((image.kernel.version, image.kernel.tick))
        };
        let (usual, slow) = (Tick::Hz1000, Tick::Hz250);
        let build = |version, tick| fs::write(store.place(Variant { version, tick }), "").unwrap();
        fs::write(dir.path().join("linux-6.1-00000000"), "").unwrap();
        assert_eq!(found(None, usual), None);
        assert_eq!(store.outdated().unwrap().len(), 1);
        // Another tick is another kernel.
        build(Version::V6_1, slow);
        assert_eq!(found(None, usual), None);
        assert_eq!(found(None, slow), Some((Version::V6_1, slow)));
        build(Version::V7_3, usual);
        assert_eq!(found(None, usual), Some((Version::V7_3, usual)));
        assert_eq!(found(Some(Version::V6_1), usual), None);
        build(Version::V6_1, usual);
        assert_eq!(found(None, usual), Some((Version::V6_1, usual)));
        assert_eq!(
            found(Some(Version::V7_3), usual),
            Some((Version::V7_3, usual))
        );
        assert_eq!(store.outdated().unwrap().len(), 1);
    }

    #[test]
    fn a_kernels_name_has_its_version_and_a_tick_that_is_not_the_usual_one() {
        let store = Store::at("/c");
        let names = Variant::all().map(|kernel| {
            let place = store.place(kernel);
            let name = place.file_name().unwrap().to_str().unwrap().to_owned();
            let (name, recipe) = name.rsplit_once('-').unwrap();
            assert_eq!(recipe.len(), 8);
            name.to_owned()
        });
        let names: Vec<_> = names.collect();
        assert_eq!(
            names,
            [
                "linux-6.1",
                "linux-6.12",
                "linux-7.3",
                "linux-6.1-250hz",
                "linux-6.12-250hz",
                "linux-7.3-250hz"
            ]
        );
    }
}
