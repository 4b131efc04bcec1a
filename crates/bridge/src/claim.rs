//! Whose an interface is, and what was changed there.
//!
//! A file for each interface under [`STATE`], by network namespace: its lock (`flock(2)`) says that
//! a bridge lives, and goes with the process however that ends; its text says what that bridge has
//! changed, so that the next one, or `sojourn bridge --restore`, can undo what a killed one left.
//! An interface is known by index and address, a kernel bridge by index and a random word that it
//! bears as its alias: a name says nothing about who made a thing, and may change.

use crate::clsact::remove_left;
use crate::fail_open::remove_own;
use crate::forwarding::{BridgeError, Doing};
use crate::interface::{Interface, Offloads};
use rustix::fs::{FlockOperation, flock};
use serde_json::{Value, json};
use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Seek, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

/// Where claims are.
pub const STATE: &str = "/run/sojourn";

/// A kernel bridge that a bridge of ours has made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct OwnBridge {
    pub(crate) index: u32,
    /// Its alias (`ip link show`).
    pub(crate) alias: String,
}

/// What was changed at an interface.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Changed {
    offloads: Offloads,
    bridge: Option<OwnBridge>,
}

/// An interface that is ours as long as this lives. What was changed is undone by those who
/// changed it; then the file is removed.
#[derive(Debug)]
pub(crate) struct Claim {
    file: File,
    path: PathBuf,
    /// The interface's identity, to be written beside each change.
    identity: Value,
    changed: Changed,
    /// What a killed bridge has left.
    left_over: Changed,
}

/// The folder of the calling thread's network namespace.
fn folder() -> io::Result<PathBuf> {
    let namespace = fs::metadata("/proc/thread-self/ns/net")?.ino();
    Ok(Path::new(STATE).join(format!("net-{namespace}")))
}

/// Opens the file and takes its lock; none when another process has it. The file may be removed
/// by its last owner between the two.
fn lock(path: &Path) -> io::Result<Option<File>> {
    loop {
        let mut options = OpenOptions::new();
        options.read(true).write(true).create(true).truncate(false);
        let file = options.mode(0o600).open(path)?;
        if flock(&file, FlockOperation::NonBlockingLockExclusive).is_err() {
            return Ok(None);
        }
        match fs::metadata(path) {
            Ok(there) if there.ino() == file.metadata()?.ino() => return Ok(Some(file)),
            _ => {}
        }
    }
}

/// As `lock`, in a folder that is made if it is missing. The last claim's owner may remove it
/// between the two. Others may pass through: a control socket may stand beside.
fn lock_in_folder(path: &Path) -> io::Result<Option<File>> {
    loop {
        if let Some(folder) = path.parent() {
            let mut builder = fs::DirBuilder::new();
            builder.recursive(true).mode(0o755).create(folder)?;
        }
        match lock(path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            locked => return locked,
        }
    }
}

/// Removes a claim, and its folders when they are empty.
fn remove_claim(path: &Path) -> io::Result<()> {
    fs::remove_file(path)?;
    for folder in path.ancestors().skip(1).take(2) {
        // There are other claims, or a service manager has the folder.
        if fs::remove_dir(folder).is_err() {
            break;
        }
    }
    Ok(())
}

fn read(mut file: &File) -> Value {
    let mut text = String::new();
    // What cannot be read says nothing: it was cut off by a crash of the machine.
    let read = file.rewind().and_then(|()| file.read_to_string(&mut text));
    let value = read.ok().and_then(|_| serde_json::from_str(&text).ok());
    value.unwrap_or_default()
}

fn identity(interface: &Interface) -> Value {
    json!({"interface": interface.name, "index": interface.index, "address": interface.address})
}

/// Whether a claim is about this interface.
fn is_about(known: &Value, interface: &Interface) -> bool {
    let (known, identity) = (&known["interface"], identity(interface));
    ["index", "address"]
        .iter()
        .all(|key| known[key] == identity[key])
}

impl Claim {
    /// Claims an interface of the calling thread's namespace.
    ///
    /// # Errors
    /// When a living bridge has it, by its process; when another user's killed one has left it.
    pub(crate) fn take(interface: &Interface) -> Result<Self, BridgeError> {
        let name = &interface.name;
        let what = format!("claim `{name}` in {STATE}");
        let path = folder().doing(&what)?.join(name);
        let locked = lock_in_folder(&path).map_err(|error| {
            let denied = error.kind() == io::ErrorKind::PermissionDenied;
            match fs::metadata(&path) {
                Ok(there) if denied => BridgeError::ClaimOfOther {
                    interface: name.clone(),
                    claim: path.clone(),
                    user: there.uid(),
                },
                _ => BridgeError::io(&what, error),
            }
        });
        let Some(file) = locked? else {
            let holder = File::open(&path).map(|file| read(&file)["process"].as_u64());
            return Err(BridgeError::Claimed {
                interface: name.clone(),
                holder: holder.ok().flatten(),
            });
        };
        let known = read(&file);
        let identity = identity(interface);
        // Another interface of that name is as it was made.
        let left_over = if is_about(&known, interface) {
            Changed::read(&known)
        } else {
            Changed::default()
        };
        let mut claim = Self {
            file,
            path,
            identity,
            // Until it has been undone.
            changed: left_over.clone(),
            left_over,
        };
        claim.write().doing(&what)?;
        Ok(claim)
    }

    /// The kernel bridge that a killed bridge of ours has left.
    pub(crate) fn left_bridge(&self) -> Option<&OwnBridge> {
        self.left_over.bridge.as_ref()
    }

    /// Undoes what a killed bridge has left in the interface's settings.
    pub(crate) fn restore_offloads(&mut self) -> io::Result<()> {
        let name = self.identity["interface"].as_str().unwrap_or_default();
        std::mem::take(&mut self.left_over.offloads).turn_on(name)
    }

    /// Before they are turned off.
    pub(crate) fn remember_offloads(&mut self, offloads: Offloads) -> io::Result<()> {
        self.changed.offloads = offloads;
        self.write()
    }

    /// What has been made, or that it is no more.
    pub(crate) fn remember_bridge(&mut self, bridge: Option<OwnBridge>) -> io::Result<()> {
        self.changed.bridge = bridge;
        self.write()
    }

    fn write(&mut self) -> io::Result<()> {
        let text = json!({
            "process": std::process::id(),
            "interface": self.identity,
            "gro": self.changed.offloads.gro,
            "lro": self.changed.offloads.lro,
            "rxvlan": self.changed.offloads.rx_vlan,
            "bridge": self.changed.bridge.as_ref().map(|b| json!([b.index, b.alias])),
        });
        self.file.rewind()?;
        self.file.set_len(0)?;
        writeln!(self.file, "{text}")
    }
}

impl Changed {
    fn read(value: &Value) -> Self {
        let bridge = || {
            Some(OwnBridge {
                index: value["bridge"][0].as_u64()?.try_into().ok()?,
                alias: value["bridge"][1].as_str()?.to_owned(),
            })
        };
        Self {
            offloads: Offloads {
                gro: value["gro"] == true,
                lro: value["lro"] == true,
                rx_vlan: value["rxvlan"] == true,
            },
            bridge: bridge(),
        }
    }
}

impl Drop for Claim {
    fn drop(&mut self) {
        // A crash leaves it, for those who clean up.
        if !std::thread::panicking() && self.changed.bridge.is_none() {
            let _ = remove_claim(&self.path);
        }
    }
}

/// Undoes what killed bridges have left in the calling thread's network namespace. Yields a
/// sentence for each interface.
///
/// # Errors
/// When the claims cannot be read.
pub fn restore() -> io::Result<Vec<String>> {
    let claims = match fs::read_dir(folder()?) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        claims => claims?,
    };
    let mut told = Vec::new();
    for claim in claims {
        let path = claim?.path();
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let Some(file) = lock(&path)? else {
            told.push(format!("{name}: a bridge that lives has it"));
            continue;
        };
        let known = read(&file);
        let index = known["interface"]["index"].as_u64();
        let there = index
            .and_then(|index| Interface::name_of(index.try_into().ok()?).ok())
            .and_then(|now| Interface::look_up(&now).ok());
        let changed = Changed::read(&known);
        let mut undone = Vec::new();
        if changed.bridge.as_ref().is_some_and(remove_own) {
            undone.push("the kernel bridge is removed");
        }
        if let Some(it) = there.filter(|it| is_about(&known, it)) {
            if remove_left(it.index) {
                undone.push("the filter at its ingress is removed");
            }
            if changed.offloads != Offloads::default() && changed.offloads.turn_on(&it.name).is_ok()
            {
                undone.push("offloads are on again");
            }
        } else {
            undone.push("it is another interface now, or none");
        }
        remove_claim(&path)?;
        if undone.is_empty() {
            undone.push("there was nothing to undo");
        }
        told.push(format!("{name}: {}", undone.join(", ")));
    }
    Ok(told)
}
