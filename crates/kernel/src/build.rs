//! Building a guest's kernel from Debian's source package, as any user.
//!
//! All happens in one folder below the store's, which is removed at the end. A folder that is
//! found at the beginning is what an interrupted build has left: it is removed too, since nothing
//! tells which of its files are whole. Its compilers may still run: they are ended before.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread;
use std::time::Duration;

use rustix::fs::{FlockOperation, flock};
use rustix::process::{Pid, Signal, kill_process};

use crate::KernelError;
use crate::extra::Extra;
use crate::recipe::{Edit, Variant, added, edits};
use crate::store::{Image, Store, release};

/// What a build needs on the disk, in MiB: 1500 for the source, the rest for objects.
const ROOM_MIB: u64 = 2600;
/// Where Debian's packages put sources.
const SOURCES: &str = "/usr/src";
/// How often what an interrupted build has left running is looked for, every 10 ms.
const MOST_ROUNDS: u32 = 500;
/// How much of each of a failed step's two outputs is shown, in bytes.
const SHOWN: usize = 1000;
/// Programs of a build, and Debian's packages with them.
const PROGRAMS: [(&str, &str); 10] = [
    ("gcc", "gcc"),
    ("ld", "binutils"),
    ("make", "make"),
    ("flex", "flex"),
    ("bison", "bison"),
    ("bc", "bc"),
    ("xz", "xz-utils"),
    ("tar", "tar"),
    ("apt-get", "apt"),
    ("dpkg-deb", "dpkg"),
];
/// The library that the kernel, a static program, is linked with.
const LIBC: [&str; 3] = [
    "/usr/lib/x86_64-linux-gnu/libc.a",
    "/usr/lib64/libc.a",
    "/usr/lib/libc.a",
];

/// Builds a kernel, with what is to be compiled in beside the recipe, unless it is there or
/// `again` is set. `say` is told each step, as a sentence without full stop.
///
/// # Errors
/// When tools or room are missing, or a step fails: the message says which and what to do.
pub fn build(
    store: &Store,
    kernel: Variant,
    extra: Option<&Extra>,
    again: bool,
    say: &mut dyn FnMut(&str),
) -> Result<Image, KernelError> {
    build_from(Path::new(SOURCES), store, kernel, extra, again, say)
}

/// The same with the folder in which installed sources are.
fn build_from(
    sources: &Path,
    store: &Store,
    kernel: Variant,
    extra: Option<&Extra>,
    again: bool,
    say: &mut dyn FnMut(&str),
) -> Result<Image, KernelError> {
    fs::create_dir_all(store.dir()).map_err(KernelError::io(format!(
        "make the folder {}",
        store.dir().display()
    )))?;
    let _lock = lock(store, kernel, say)?;
    let place = extra.map_or_else(
        || store.place(kernel),
        |extra| store.place_with(kernel, extra),
    );
    let image = Image {
        kernel,
        path: place.clone(),
    };
    // Whoever held the lock may have built it.
    if !again && place.is_file() {
        if extra.is_some() {
            now_newest(&place)?;
        }
        return Ok(image);
    }
    check_tools()?;
    let dir = store.dir().join(format!("build-{kernel}"));
    if dir.exists() {
        say("removing what an interrupted build has left");
        end_all(&dir);
        remove(&dir)?;
    }
    check_room(store.dir())?;
    let result = Building {
        kernel,
        extra,
        sources,
        dir: &dir,
        say,
    }
    .run(&place);
    // A failed build's output is quoted in its error; nothing else is of use.
    remove(&dir)?;
    result?;
    Ok(image)
}

/// Of kernels with an addition the newest is the one that runs.
fn now_newest(place: &Path) -> Result<(), KernelError> {
    // Read only: it may be running.
    let dated = File::open(place).and_then(|file| file.set_modified(std::time::SystemTime::now()));
    dated.map_err(KernelError::io(format!("date {}", place.display())))
}

/// Held while a kernel is built.
fn lock(store: &Store, kernel: Variant, say: &mut dyn FnMut(&str)) -> Result<File, KernelError> {
    let path = store.dir().join(format!("build-{kernel}.lock"));
    let failed = || KernelError::io(format!("lock {}", path.display()));
    let file = File::create(&path).map_err(failed())?;
    if flock(&file, FlockOperation::NonBlockingLockExclusive).is_err() {
        say("waiting for another build of the same kernel");
        flock(&file, FlockOperation::LockExclusive).map_err(|error| failed()(error.into()))?;
    }
    Ok(file)
}

fn remove(dir: &Path) -> Result<(), KernelError> {
    match fs::remove_dir_all(dir) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        result => result.map_err(KernelError::io(format!("remove {}", dir.display()))),
    }
}

/// Ends all processes that work in a folder. Whoever holds its lock has none of them.
fn end_all(dir: &Path) {
    let pids = || -> Vec<Pid> {
        let processes = fs::read_dir("/proc").into_iter().flatten();
        let names = processes.filter_map(|entry| entry.ok()?.file_name().into_string().ok());
        names
            .filter(|name| {
                let place = fs::read_link(Path::new("/proc").join(name).join("cwd"));
                place.is_ok_and(|place| place.starts_with(dir))
            })
            .filter_map(|name| Pid::from_raw(name.parse().ok()?))
            .collect()
    };
    // While one is ended another may start a third.
    for _ in 0..MOST_ROUNDS {
        let working = pids();
        if working.is_empty() {
            return;
        }
        for pid in working {
            let _ = kill_process(pid, Signal::KILL);
        }
        thread::sleep(Duration::from_millis(10));
    }
}

fn check_tools() -> Result<(), KernelError> {
    if !cfg!(target_arch = "x86_64") {
        return Err(KernelError::Step {
            step: "build a guest's kernel",
            reason: "User-Mode Linux runs on x86-64 only".into(),
        });
    }
    let path = std::env::var_os("PATH").unwrap_or_default();
    let has = |program: &str| std::env::split_paths(&path).any(|dir| dir.join(program).is_file());
    let mut missing: Vec<_> = PROGRAMS
        .into_iter()
        .filter(|(program, _)| !has(program))
        .collect();
    if !LIBC.iter().any(|path| Path::new(path).exists()) {
        missing.push(("libc.a", "libc6-dev"));
    }
    if missing.is_empty() {
        return Ok(());
    }
    let (things, packages): (Vec<_>, Vec<_>) = missing.into_iter().unzip();
    let packages = packages.join(" ");
    Err(KernelError::Tools { things, packages })
}

fn check_room(dir: &Path) -> Result<(), KernelError> {
    let stat = rustix::fs::statvfs(dir).map_err(|error| {
        KernelError::io(format!("see how much room {} has", dir.display()))(error.into())
    })?;
    let free_mib = (stat.f_bavail * stat.f_frsize) >> 20;
    if free_mib >= ROOM_MIB {
        return Ok(());
    }
    Err(KernelError::Room {
        dir: dir.into(),
        free_mib,
        needed_mib: ROOM_MIB,
    })
}

/// A build under way.
struct Building<'a> {
    kernel: Variant,
    extra: Option<&'a Extra>,
    sources: &'a Path,
    dir: &'a Path,
    say: &'a mut dyn FnMut(&str),
}

impl Building<'_> {
    fn run(&mut self, place: &Path) -> Result<(), KernelError> {
        fs::create_dir_all(self.dir).map_err(KernelError::io("make the folder of the build"))?;
        let archive = self.fetch()?;
        (self.say)("unpacking the source");
        let mut tar = Command::new("tar");
        tar.arg("-xJf").arg(&archive);
        self.step("unpack the source", &mut tar)?;
        let tree = self.dir.join(self.kernel.version.package());
        if let Some(extra) = self.extra {
            extra.put(&tree)?;
        }
        let of_extra = self.extra.map(Extra::edit);
        for edit in edits(self.kernel).into_iter().chain(of_extra) {
            change(&tree, &edit).map_err(|error| KernelError::Step {
                step: "change the source",
                reason: format!("{}: {error}", edit.file),
            })?;
        }
        for (file, text) in added(self.kernel) {
            fs::write(tree.join(file), text)
                .map_err(KernelError::io(format!("write the source file {file}")))?;
        }
        fs::write(self.dir.join("settings"), self.kernel.version.config())
            .map_err(KernelError::io("write the kernel's settings"))?;
        self.step(
            "configure the kernel",
            make(&tree)
                .arg("KCONFIG_ALLCONFIG=../settings")
                .arg("allnoconfig"),
        )?;
        self.check_settings(&tree)?;
        (self.say)("compiling: about 3 minutes on two cores");
        let jobs = thread::available_parallelism().map_or(1, usize::from);
        self.step(
            "compile the kernel",
            make(&tree).arg(format!("-j{jobs}")).arg("linux"),
        )?;
        let built = tree.join("linux");
        release(&built).map_err(KernelError::io("run the new kernel"))?;
        fs::rename(&built, place).map_err(KernelError::io(format!("put it at {}", place.display())))
    }

    /// The source's archive: the installed package's, or that of the package from Debian.
    fn fetch(&mut self) -> Result<PathBuf, KernelError> {
        let package = self.kernel.version.package();
        let archive = format!("{package}.tar.xz");
        let installed = self.sources.join(&archive);
        if installed.is_file() {
            return Ok(installed);
        }
        (self.say)(&format!(
            "fetching Debian's package {package} (about {} MB)",
            self.kernel.version.package_mb()
        ));
        let mut apt = Command::new("apt-get");
        apt.args(["-q", "download", &package]);
        self.step("fetch the source", &mut apt).map_err(|error| {
            let reason = match error {
                KernelError::Step { reason, .. } => reason,
                error => error.to_string(),
            };
            KernelError::Step {
                step: "fetch the source",
                reason: format!("{reason}\n{}", self.kernel.version.advice()),
            }
        })?;
        let fetched = fs::read_dir(self.dir).map_err(KernelError::io("find the package"))?;
        let deb = fetched
            .filter_map(Result::ok)
            .map(|entry| entry.path())
            .find(|path| path.extension().is_some_and(|extension| extension == "deb"));
        let Some(deb) = deb else {
            return Err(KernelError::Step {
                step: "fetch the source",
                reason: "apt-get has left no package".into(),
            });
        };
        let mut dpkg = Command::new("dpkg-deb");
        dpkg.arg("-x").arg(&deb).arg("package");
        self.step("open the package", &mut dpkg)?;
        // The archive is all that is needed of it.
        fs::remove_file(&deb).map_err(KernelError::io("remove the package"))?;
        Ok(self.dir.join("package/usr/src").join(archive))
    }

    /// Whether all settings were taken: `make` passes over those whose requirements are not met.
    fn check_settings(&self, tree: &Path) -> Result<(), KernelError> {
        let taken = fs::read_to_string(tree.join(".config"))
            .map_err(KernelError::io("read the kernel's settings"))?;
        let lacks = |line: &&str| line.ends_with("=y") && !taken.lines().any(|l| l == *line);
        let config = self.kernel.version.config();
        let missing: Vec<_> = config.lines().filter(lacks).collect();
        if missing.is_empty() {
            return Ok(());
        }
        Err(KernelError::Step {
            step: "configure the kernel",
            reason: format!("it does not take {}", missing.join(", ")),
        })
    }

    /// Runs a program in the build's folder.
    fn step(&self, step: &'static str, command: &mut Command) -> Result<(), KernelError> {
        let failed = |reason: String| KernelError::Step { step, reason };
        // Its words are kept in memory: what fails may be the disk's want of room.
        let output = command
            .current_dir(self.dir)
            .env("LC_ALL", "C")
            .stdin(Stdio::null())
            .output()
            .map_err(|error| failed(error.to_string()))?;
        if output.status.success() {
            return Ok(());
        }
        let words = [&output.stdout, &output.stderr].map(|words| last(words));
        let end = words.join("\n");
        Err(failed(format!("{}:\n{}", output.status, end.trim())))
    }
}

/// `make` in the source tree, with what would tell one build from another pinned.
fn make(tree: &Path) -> Command {
    let mut make = Command::new("make");
    make.arg("-C")
        .arg(tree)
        .arg("ARCH=um")
        .env("KBUILD_BUILD_TIMESTAMP", "1970-01-01")
        .env("KBUILD_BUILD_USER", "sojourn")
        .env("KBUILD_BUILD_HOST", "sojourn")
        .env_remove("MAKEFLAGS")
        .env_remove("MFLAGS");
    make
}

/// The end of what a program has said.
fn last(words: &[u8]) -> String {
    let text = String::from_utf8_lossy(&words[words.len().saturating_sub(SHOWN)..]);
    text.trim().to_owned()
}

/// Makes one change in the source tree.
fn change(tree: &Path, edit: &Edit) -> io::Result<()> {
    let path = tree.join(edit.file);
    let text = fs::read_to_string(&path)?;
    if !text.contains(edit.old) {
        return Err(io::Error::other(format!(
            "there is no {:?}: this source is not known",
            edit.old
        )));
    }
    fs::write(&path, text.replace(edit.old, edit.new))
}

#[cfg(test)]
mod tests;
