//! `sojourn kernel`: kernels for guests, and programs in a guest.

use crate::{FAILED, INTERRUPTED, WRONG_INPUT, print};
use anyhow::Context as _;
use clap::{Args, Subcommand};
use sojourn_gateway::{stop_on_signal, whole};
use sojourn_kernel::{
    Control, Extra, ExtraKind, Job, KernelError, Machine, Module, Output, Roles, Store, Tick,
    Variant, Version, Wanted,
};
use std::fmt::Write as _;
use std::ops::ControlFlow;
use std::path::PathBuf;
use std::sync::atomic::Ordering;

/// Where the hidden subcommands below stand.
const ROLES: Roles = Roles {
    guard: &["kernel", "guard"],
    become_guest: &["kernel", "become"],
    init: &["kernel", "init"],
    task: &["kernel", "task"],
};

/// Arguments that lead to [`crate::packetdrill::inside`], in a guest.
pub(crate) const ROLES_SCRIPTS: [&str; 2] = ["kernel", "scripts"];

/// Build Linux kernels that run in virtual time, and run programs in them
///
/// The kernel is User-Mode Linux, an ordinary process that needs no root. Its clock jumps from one
/// event to the next, so the results do not depend on the machine.
#[derive(Args)]
#[command(after_help = "Examples:
  sojourn kernel build                          once, about 3 minutes on two cores
  sojourn kernel build --version 7.3 --hz 250   a newer one, with the tick of Debian's own
  sojourn kernel build --module target/module/dkms
                                                our queues in the kernel, after `make module`
  sojourn kernel build --control mine.c         a congestion control of your own, `cc = \"own\"`
  sojourn kernel list
  sojourn kernel exec 'date; sleep 3600; date'  an hour in a moment")]
pub(crate) struct KernelArgs {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Build a guest's kernel from Debian's source package, as any user
    Build {
        /// Which kernel
        #[arg(long, default_value = "6.1", value_parser = Version::named)]
        version: Version,

        /// How often its timer ticks: 1000 or 250 times a second
        #[arg(long, default_value = "1000", value_parser = Tick::named)]
        hz: Tick,

        /// Compile our queues in, from the folder that `make module` makes (target/module/dkms)
        ///
        /// This is a separate kernel, in addition to the one without them. `run --queues module`
        /// uses the one that was built last.
        #[arg(long, value_name = "DIR")]
        module: Option<PathBuf>,

        /// Compile in a congestion control: a C file that registers one named `own`
        ///
        /// This is a separate kernel too. Flows with `cc = "own"` use the one that was built last.
        #[arg(long, value_name = "FILE", conflicts_with = "module")]
        control: Option<PathBuf>,

        /// Build it again even if it exists
        #[arg(long)]
        again: bool,
    },
    /// List the available kernels
    List,
    /// Run a shell command in a guest as root, and exit with its status
    ///
    /// The host's files are read-only; /run/sojourn, /run and /tmp are writable and end with the
    /// guest.
    Exec {
        /// Which kernel [default: the first available]
        #[arg(long, value_parser = Version::named)]
        version: Option<Version>,

        /// How often its timer ticks
        #[arg(long, default_value = "1000", value_parser = Tick::named)]
        hz: Tick,

        /// Use the kernel with our queues compiled in
        #[arg(long)]
        module: bool,

        /// Seed of all random numbers in the guest
        #[arg(long, value_name = "N", default_value_t = 1,
              value_parser = whole::<u64>(0, u64::MAX))]
        seed: u64,

        /// The command
        command: String,
    },
    /// Start a guest and look after it
    #[command(hide = true)]
    Guard {
        kernel: PathBuf,
        #[arg(allow_hyphen_values = true, trailing_var_arg = true)]
        line: Vec<String>,
    },
    /// Become a guest's kernel
    #[command(hide = true)]
    Become {
        guard: u32,
        kernel: PathBuf,
        #[arg(allow_hyphen_values = true, trailing_var_arg = true)]
        line: Vec<String>,
    },
    /// Be a guest's first process
    #[command(hide = true)]
    Init {
        /// User-Mode Linux puts words of its own behind ours
        #[arg(allow_hyphen_values = true, trailing_var_arg = true)]
        rest: Vec<String>,
    },
    /// Run a cell, in a guest
    #[command(hide = true)]
    Task,
    /// Run packetdrill scripts, in a guest
    #[command(hide = true)]
    Scripts,
}

/// Which kernel a world runs.
#[derive(Args, Clone, Copy)]
pub(crate) struct KernelChoice {
    /// Which kernel the kernel world runs [default: the first available]
    #[arg(long, value_name = "VERSION", value_parser = Version::named)]
    kernel_version: Option<Version>,

    /// How often that kernel's timer ticks: 1000 or 250 times a second [default: 1000]
    #[arg(long, value_name = "HZ", value_parser = Tick::named)]
    hz: Option<Tick>,
}

impl KernelChoice {
    pub(crate) fn wanted(self) -> Wanted {
        Wanted {
            version: self.kernel_version,
            tick: self.hz.unwrap_or_default(),
            module: false,
        }
    }

    /// Its words, and whether they were given.
    pub(crate) const fn words(self) -> [(bool, &'static str); 2] {
        [
            (self.kernel_version.is_some(), "--kernel-version"),
            (self.hz.is_some(), "--hz"),
        ]
    }
}

pub(crate) fn kernel(args: KernelArgs) -> anyhow::Result<u8> {
    match args.command {
        Command::Build {
            version,
            hz,
            module,
            control,
            again,
        } => {
            let module = module.map(|dir| Module::read(&dir).map(Extra::Module));
            let control = control.map(|file| Control::read(&file).map(Extra::Control));
            build(
                Variant { version, tick: hz },
                module.or(control).transpose(),
                again,
            )
        }
        Command::List => list(),
        Command::Exec {
            version,
            hz,
            module,
            seed,
            command,
        } => {
            let tick = hz;
            let wanted = Wanted {
                version,
                tick,
                module,
            };
            exec(wanted, seed, &command)
        }
        Command::Guard { kernel, line } => {
            sojourn_kernel::guard(&ROLES, &kernel, &line)?;
            Ok(0)
        }
        Command::Become {
            guard,
            kernel,
            line,
        } => Err(sojourn_kernel::become_guest(guard, &kernel, &line))
            .with_context(|| format!("cannot run {}", kernel.display())),
        Command::Init { rest: _ } => Err(sojourn_kernel::init().into()),
        Command::Scripts => crate::packetdrill::inside(),
        Command::Task => {
            let went_well = sojourn_kernel::run_task();
            Ok(if went_well { 0 } else { FAILED })
        }
    }
}

fn build(
    kernel: Variant,
    extra: Result<Option<Extra>, KernelError>,
    again: bool,
) -> anyhow::Result<u8> {
    let store = Store::of_user()?;
    let mut say = |step: &str| eprintln!("sojourn: {step}");
    let built = extra
        .and_then(|extra| sojourn_kernel::build(&store, kernel, extra.as_ref(), again, &mut say));
    match built {
        Ok(image) => {
            print(&format!("{}\n", image.path.display()))?;
            Ok(0)
        }
        Err(error) => {
            eprintln!("sojourn: {error}");
            Ok(FAILED)
        }
    }
}

fn list() -> anyhow::Result<u8> {
    let store = Store::of_user()?;
    let mut text = String::new();
    for kernel in Variant::all() {
        let what = match store.find(kernel) {
            Ok(image) => image.path.display().to_string(),
            Err(_) => format!("not built: {}", Wanted::from(kernel).command()),
        };
        let Variant { version, tick } = kernel;
        let _ = writeln!(text, "{version:<4} {tick:>4} Hz  {what}");
        for extra in ExtraKind::ALL {
            if let Some(path) = store.newest_with(kernel, extra) {
                let word = format!("  + {}", extra.word());
                let _ = writeln!(text, "{word:<12} {}", path.display());
            }
        }
    }
    for path in store.outdated()? {
        let _ = writeln!(
            text,
            "{:<12} {} (another version's; it can be removed)",
            "-",
            path.display()
        );
    }
    print(&text)?;
    Ok(0)
}

/// How guests with such a kernel are made.
pub(crate) fn machine(wanted: Wanted, seed: u64) -> Result<Machine, KernelError> {
    let program = std::env::current_exe().map_err(|source| KernelError::Io {
        what: "find this program".into(),
        source,
    })?;
    Ok(Machine {
        kernel: Store::of_user()?.find(wanted)?,
        program,
        roles: ROLES,
        seed,
    })
}

fn exec(wanted: Wanted, seed: u64, command: &str) -> anyhow::Result<u8> {
    let machine = match machine(wanted, seed) {
        Ok(machine) => machine,
        Err(error) => {
            eprintln!("sojourn: {error}");
            return Ok(WRONG_INPUT);
        }
    };
    let stop = stop_on_signal()?;
    let mut guest = machine.prepare(Output::Console)?;
    guest.echo();
    guest.go(&Job::shell(command))?;
    let status = guest.wait(&mut |_| {
        if stop.load(Ordering::Relaxed) {
            ControlFlow::Break(())
        } else {
            ControlFlow::Continue(())
        }
    });
    match status {
        Ok((status, _)) => Ok(u8::try_from(status).unwrap_or(FAILED)),
        Err(KernelError::Interrupted) => Ok(INTERRUPTED),
        Err(error) => Err(error.into()),
    }
}
