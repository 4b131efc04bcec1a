//! How a guest's kernel is made: from which source, with which settings, changed in which places.
//!
//! Source: Debian's packages `linux-source-VERSION`, which hold Linux with Debian's patches. The
//! settings start from `allnoconfig`: everything that the kernel can do stands in `recipe/config`.
//! The changes stand in `recipe/edits.rs`.
//!
//! Not here: the building itself (`build`), where kernels are kept (`store`).

mod edits;

use std::fmt::{self, Write as _};
use std::hash::Hasher as _;

pub(crate) use edits::{Edit, added, edits};

/// Where `make module` leaves the module's files.
pub(crate) const MODULE: &str = "target/module/dkms";

/// A series of kernels that can be built.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Version {
    /// Linux 6.1, Debian 12's.
    V6_1,
    /// Linux 6.12, Debian 13's, in Debian 12 as an update.
    V6_12,
    /// Linux 7.3, in Debian 13's backports.
    V7_3,
}

impl Version {
    /// All, the usual one first.
    pub const ALL: [Self; 3] = [Self::V6_1, Self::V6_12, Self::V7_3];

    /// As users write it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::V6_1 => "6.1",
            Self::V6_12 => "6.12",
            Self::V7_3 => "7.3",
        }
    }

    /// The version of this name.
    ///
    /// # Errors
    /// Which names there are.
    pub fn named(name: &str) -> Result<Self, NoSuchVersion> {
        let mut all = Self::ALL.into_iter();
        all.find(|version| version.name() == name)
            .ok_or_else(|| NoSuchVersion(name.to_owned()))
    }

    /// Debian's package with its source.
    pub fn package(self) -> String {
        format!("linux-source-{}", self.name())
    }

    /// Size of that package, in MB.
    pub(crate) const fn package_mb(self) -> u32 {
        match self {
            Self::V6_1 => 140,
            Self::V6_12 => 154,
            Self::V7_3 => 167,
        }
    }

    /// The kernel's settings beyond `allnoconfig`.
    pub(crate) fn config(self) -> String {
        // Since 6.2 it is a word on the command line alone.
        let newer = || CONFIG.replace("CONFIG_RANDOM_TRUST_BOOTLOADER=y\n", "");
        match self {
            Self::V6_1 => CONFIG.to_owned(),
            Self::V6_12 => newer(),
            // SYSCTL includes it there.
            Self::V7_3 => newer().replace("CONFIG_PROC_SYSCTL=y\n", "") + ONLY_7_3,
        }
    }

    /// What the guest's command line has for this version alone.
    pub(crate) const fn parameters(self) -> &'static [&'static str] {
        match self {
            Self::V6_1 | Self::V6_12 => &[],
            // Programs of a guest send their system calls by a filter (seccomp) instead of ptrace.
            Self::V7_3 => &["seccomp=on"],
        }
    }

    /// What helps when apt does not have the package.
    pub(crate) fn advice(self) -> String {
        let package = self.package();
        let (suites, source) = match self {
            Self::V6_1 => ("bookworm (Debian 12)", "debian bookworm"),
            Self::V6_12 => (
                "trixie (Debian 13), and for Debian 12 bookworm-security",
                "debian-security bookworm-security",
            ),
            Self::V7_3 => (
                "trixie-backports (of Debian 13, and usable on Debian 12: apt installs nothing \
                 from there by itself)",
                "debian trixie-backports",
            ),
        };
        format!(
            "if apt does not know {package}: it is in {suites}; with the line `deb \
             http://deb.debian.org/{source} main` in a file of /etc/apt/sources.list.d that ends \
             in .list, `apt-get update` (as root) finds it. A source that is there already, \
             /usr/src/{package}.tar.xz, is taken as it is"
        )
    }
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// No version has this name.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "`{0}` is not a known kernel version; available: {known}",
    known = Version::ALL.map(Version::name).join(", ")
)]
pub struct NoSuchVersion(pub String);

/// How often a kernel's timer ticks: timers of TCP and of queues (PIE's) count ticks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Tick {
    /// 1000 Hz, the usual one here: a tick of 1 ms.
    #[default]
    Hz1000,
    /// 250 Hz, a tick of 4 ms: what Debian's and other distributions' own kernels have.
    Hz250,
}

impl Tick {
    /// All, the usual one first.
    pub const ALL: [Self; 2] = [Self::Hz1000, Self::Hz250];

    /// Ticks a second.
    pub const fn hz(self) -> u32 {
        match self {
            Self::Hz1000 => 1000,
            Self::Hz250 => 250,
        }
    }

    /// The tick with this many a second.
    ///
    /// # Errors
    /// Which there are.
    pub fn named(hz: &str) -> Result<Self, NoSuchTick> {
        let mut all = Self::ALL.into_iter();
        all.find(|tick| tick.hz().to_string() == hz)
            .ok_or_else(|| NoSuchTick(hz.to_owned()))
    }
}

impl fmt::Display for Tick {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.hz())
    }
}

/// No kernel ticks this often.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "`{0}` is not a tick of these kernels; available: {known}",
    known = Tick::ALL.map(|tick| tick.to_string()).join(", ")
)]
pub struct NoSuchTick(pub String);

/// A kernel that can be built.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Variant {
    /// Its series.
    pub version: Version,
    /// Its tick.
    pub tick: Tick,
}

impl Variant {
    /// All: versions with the usual tick first, the usual version first.
    pub fn all() -> impl Iterator<Item = Self> {
        let of = |tick| Version::ALL.map(|version| Self { version, tick });
        Tick::ALL.into_iter().flat_map(of)
    }

    /// A number that changes with everything below, in 8 hexadecimal digits: kernels made by
    /// another recipe are not taken for this one's.
    pub fn recipe(self) -> String {
        let mut hash = Fnv::default();
        hash.write(self.version.name().as_bytes());
        hash.write(self.version.config().as_bytes());
        for edit in edits(self) {
            for part in [edit.file, edit.old, edit.new] {
                hash.write(part.as_bytes());
            }
        }
        for (file, text) in added(self) {
            hash.write(file.as_bytes());
            hash.write(text.as_bytes());
        }
        hash.digits()
    }
}

/// Which kernel somebody wants.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Wanted {
    /// Its series; none: the first that is built.
    pub version: Option<Version>,
    /// Its tick.
    pub tick: Tick,
    /// Whether our queues are compiled into it.
    pub module: bool,
}

impl Wanted {
    /// Whether a kernel is one of those.
    pub(crate) fn includes(self, kernel: Variant) -> bool {
        let version = self.version.is_none_or(|version| version == kernel.version);
        version && self.tick == kernel.tick
    }

    /// The words that choose it there.
    pub(crate) fn choice(self) -> String {
        let mut words = String::new();
        if let Some(version) = self.version {
            let _ = write!(words, " --version {version}");
        }
        if self.tick != Tick::default() {
            let _ = write!(words, " --hz {}", self.tick);
        }
        words
    }

    /// The command that builds one.
    pub fn command(self) -> String {
        let mut command = format!("sojourn kernel build{}", self.choice());
        if self.module {
            let _ = write!(command, " --module {MODULE}");
        }
        command
    }

    /// What has to be done before that command, as the end of a sentence.
    pub(crate) const fn before_it(self) -> &'static str {
        if self.module {
            "; before it, `make module` in the project's source makes that folder"
        } else {
            ""
        }
    }
}

impl From<Variant> for Wanted {
    fn from(kernel: Variant) -> Self {
        Self {
            version: Some(kernel.version),
            tick: kernel.tick,
            module: false,
        }
    }
}

/// In messages: `guest kernel 6.1 with 250 Hz`, with what was said of it.
impl fmt::Display for Wanted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("guest kernel")?;
        if let Some(version) = self.version {
            write!(f, " {version}")?;
        }
        if self.tick != Tick::default() {
            write!(f, " with {} Hz", self.tick)?;
        }
        if self.module {
            f.write_str(" with our queues in it")?;
        }
        Ok(())
    }
}

/// In names of files: `6.1`, and with another tick than the usual one `6.1-250hz`.
impl fmt::Display for Variant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.version.fmt(f)?;
        if self.tick == Tick::default() {
            return Ok(());
        }
        write!(f, "-{}hz", self.tick)
    }
}

/// FNV-1a with 64 bits: the same on every machine and in every version of Rust.
pub(crate) struct Fnv(u64);

impl Default for Fnv {
    fn default() -> Self {
        Self(0xcbf2_9ce4_8422_2325)
    }
}

impl Fnv {
    /// Half of its bits, as 8 hexadecimal digits.
    pub(crate) fn digits(&self) -> String {
        format!("{:08x}", (self.0 >> 32) ^ (self.0 & 0xffff_ffff))
    }
}

impl std::hash::Hasher for Fnv {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.0 = (self.0 ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3);
        }
    }
}

/// The parameter on the kernel's command line from which all of its chance comes.
pub(crate) const SEED: &str = "sojourn.seed";

/// The settings of the first version.
const CONFIG: &str = include_str!("recipe/config");

/// Settings that 7.3 needs beside them: the tables of iptables are legacy there, which has to be
/// said, and it has a queue more.
const ONLY_7_3: &str = "CONFIG_NETFILTER_XTABLES_LEGACY=y
CONFIG_IP_NF_IPTABLES_LEGACY=y
CONFIG_NET_SCH_DUALPI2=y
";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_is_known_has_a_name() {
        for version in Version::ALL {
            assert_eq!(Version::named(version.name()), Ok(version));
        }
        let said = Version::named("6.6").unwrap_err().to_string();
        assert_eq!(
            said,
            "`6.6` is not a known kernel version; available: 6.1, 6.12, 7.3"
        );
        assert_eq!(Tick::named("250"), Ok(Tick::Hz250));
        let said = Tick::named("100").unwrap_err().to_string();
        assert_eq!(
            said,
            "`100` is not a tick of these kernels; available: 1000, 250"
        );
    }

    #[test]
    fn the_tick_is_part_of_the_source() {
        for kernel in Variant::all() {
            let tick = format!("\tdefault {}\n", kernel.tick.hz());
            let edits = edits(kernel);
            let places: Vec<_> = edits
                .iter()
                .filter(|edit| edit.new.contains(&tick))
                .collect();
            assert_eq!(places.len(), 1, "{kernel}");
            assert_eq!(places[0].file, "arch/um/Kconfig");
        }
    }

    /// Where TCP has accurate ECN it has Prague, and that has ECT(1) on all packets.
    #[test]
    fn prague_is_in_7_3_alone() {
        for kernel in Variant::all() {
            let is_new = kernel.version == Version::V7_3;
            let files = added(kernel).iter().map(|(file, _)| *file);
            assert_eq!(
                files.filter(|file| file.ends_with("prague.c")).count(),
                usize::from(is_new)
            );
            let edits = edits(kernel);
            for part in ["tcp_prague.o", "INET_ECN_xmit_ect_1_negotiation"] {
                let here = edits.iter().filter(|edit| edit.new.contains(part));
                assert_eq!(here.count(), usize::from(is_new), "{kernel}: {part}");
            }
        }
    }

    /// Settings of 6.1 that 7.3 has under another name, or not at all, would end its build.
    #[test]
    fn a_newer_kernel_has_settings_of_its_own() {
        let [old, middle, new] = Version::ALL.map(Version::config);
        for gone in ["RANDOM_TRUST_BOOTLOADER", "PROC_SYSCTL"] {
            let line = format!("CONFIG_{gone}=y\n");
            assert!(old.contains(&line) && !new.contains(&line), "{gone}");
        }
        assert!(middle.contains("CONFIG_PROC_SYSCTL=y\n"));
        for added in [
            "NETFILTER_XTABLES_LEGACY",
            "IP_NF_IPTABLES_LEGACY",
            "NET_SCH_DUALPI2",
        ] {
            let line = format!("CONFIG_{added}=y\n");
            assert!(!old.contains(&line) && new.contains(&line), "{added}");
        }
    }
}
