//! The places in the source that are changed, and the files that are added.

use super::{Tick, Variant, Version};

/// A place in the source that is changed before it is compiled.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Edit {
    /// File in the source tree.
    pub(crate) file: &'static str,
    /// What stands there, at least once.
    pub(crate) old: &'static str,
    /// What shall stand there.
    pub(crate) new: &'static str,
}

/// Files that the source gets before it is compiled, with their text: the two ends of a link whose
/// opportunities to send come from a trace, and where TCP has accurate ECN a Prague. Linux has
/// neither.
pub(crate) fn added(kernel: Variant) -> &'static [(&'static str, &'static str)] {
    const LINK: (&str, &str) = ("net/sched/sch_link.c", include_str!("sch_link.c"));
    const PRAGUE: (&str, &str) = ("net/ipv4/tcp_prague.c", include_str!("tcp_prague.c"));
    match kernel.version {
        Version::V6_1 | Version::V6_12 => &[LINK],
        Version::V7_3 => &[LINK, PRAGUE],
    }
}

/// The places that are changed, in all versions:
///
/// - The tick is 1 or 4 ms, not 10: timers of TCP and of PIE count ticks, and 15 ms would become
///   20.
/// - The host gives no random numbers. The pool is filled from the seed on the command line
///   alone, not from the rest of the line, in which paths stand, and interrupts add nothing: those
///   of the console come when the host likes. All of the kernel's secrets (hashes, initial sequence
///   numbers, port numbers, perturbations of queues) come from there.
/// - The two ends of a link with a trace ([`added`]) are compiled with the other queues.
///
/// In 6.1 and 6.12 alone, which trace their programs ([`TRACED`] and what follows):
///
/// - When the kernel's process dies, its guests' processes die with it. They would go on as
///   processes of the host otherwise. They ask for it before they wait for the kernel to take them
///   in hand, and the kernel asks for it when it does.
/// - Floating point registers are given back to the host in a buffer that has room for all that a
///   processor can have. The host takes no less, and with AMX that is four times of what the
///   kernel keeps; tiles themselves are no guest's, which cannot ask for them.
///
/// There for their speed too, since each system call of the host is paid for several times a
/// guest's:
///
/// - Floating point registers stay in the host's process until another of its threads runs there;
///   they were fetched and put back at each system call.
/// - A timer sends no signal to the program that runs: it would stop it once more. In virtual time
///   a timer never comes while a program computes.
/// - 6.1 sets a thread's `fs` whenever it switches to it; it is one of the registers that are set
///   anyway (as in 6.12). Nor does it ask for its own number whenever it is idle.
///
/// 7.3 needs none of these, but some of its own. Prague is compiled with the other congestion
/// controls, and one that asks for ECT(1) has it on all packets: 7.3 sends ECT(0) once a connection
/// stands. The functions that a program calls without the kernel (vDSO) have `getcpu` again, as on
/// all other x86-64 machines. It left when guests could have several processors; ours have one, and
/// this program's own libraries look for it.
///
/// Its programs run by a filter of system calls
/// ([`Version::parameters`]): nobody traces them, and their registers, floating point among them,
/// come and go in memory that they share with the kernel, of the size that the processor has. They
/// ask to die with the kernel as the first thing they do. In virtual time its timer sends them no
/// signal.
pub(crate) fn edits(kernel: Variant) -> Vec<Edit> {
    let tick = Edit {
        file: "arch/um/Kconfig",
        old: "config HZ\n\tint\n\tdefault 100\n",
        new: match kernel.tick {
            Tick::Hz1000 => "config HZ\n\tint\n\tdefault 1000\n",
            Tick::Hz250 => "config HZ\n\tint\n\tdefault 250\n",
        },
    };
    let mut all = vec![tick];
    all.extend(EVERYWHERE);
    match kernel.version {
        Version::V6_1 => {
            all.extend(TRACED);
            all.extend(ONLY_6_1);
        }
        Version::V6_12 => all.extend(TRACED),
        Version::V7_3 => all.extend(ONLY_7_3),
    }
    all
}

/// What all versions have.
const EVERYWHERE: [Edit; 5] = [
    Edit {
        file: "net/sched/Makefile",
        old: "sch_generic.o sch_mq.o\n",
        new: "sch_generic.o sch_mq.o sch_link.o\n",
    },
    Edit {
        file: "drivers/char/random.c",
        old: "_mix_pool_bytes(command_line, strlen(command_line));",
        new: "{ const char *seed = strstr(command_line, \"sojourn.seed=\");\n\
              \t  if (seed) _mix_pool_bytes(seed, strcspn(seed, \" \")); }",
    },
    Edit {
        file: "drivers/char/random.c",
        old: "if (new_count & MIX_INFLIGHT)\n",
        new: "if (new_count)\n",
    },
    Edit {
        file: "arch/um/kernel/um_arch.c",
        old: "os_getrandom(rng_seed, sizeof(rng_seed), 0) == sizeof(rng_seed)",
        new: "memset(rng_seed, 0, sizeof(rng_seed))",
    },
    Edit {
        file: "arch/um/include/asm/archrandom.h",
        old: "ret = os_getrandom(v, max_longs * sizeof(*v), 0);",
        new: "ret = 0;",
    },
];

/// Where the kernel runs its programs.
const PROCESS: &str = "arch/um/os-Linux/skas/process.c";

/// Where the kernel gets and puts its programs' floating point registers.
const REGISTERS: &str = "arch/x86/um/os-Linux/registers.c";

/// What versions have that trace their programs.
const TRACED: [Edit; 9] = [
    Edit {
        file: PROCESS,
        old: "PTRACE_O_TRACESYSGOOD) < 0",
        new: "(PTRACE_O_TRACESYSGOOD | 0x100000 /* PTRACE_O_EXITKILL */)) < 0",
    },
    Edit {
        file: "arch/um/kernel/time.c",
        old: "if (get_current()->mm != NULL)\n",
        new: "if (time_travel_mode == TT_MODE_OFF && get_current()->mm != NULL)\n",
    },
    // Floating point registers are written as a whole.
    Edit {
        file: REGISTERS,
        old: "#include <stdlib.h>\n",
        new: "#include <stdlib.h>\n#include <string.h>\n",
    },
    Edit {
        file: REGISTERS,
        old: "\t\tiov.iov_base = fp_regs;\n\
              \t\tiov.iov_len = FP_SIZE * sizeof(unsigned long);\n\
              \t\tif (ptrace(PTRACE_SETREGSET,",
        new: "\t\t/* The host cuts it to what its processor has. */\n\
              \t\tstatic unsigned long all[16384 / sizeof(unsigned long)];\n\n\
              \t\tmemcpy(all, fp_regs, FP_SIZE * sizeof(unsigned long));\n\
              \t\tiov.iov_base = all;\n\
              \t\tiov.iov_len = sizeof(all);\n\
              \t\tif (ptrace(PTRACE_SETREGSET,",
    },
    // They stay where they are as long as they can.
    Edit {
        file: PROCESS,
        old: "void userspace(struct uml_pt_regs *regs, unsigned long *aux_fp_regs)\n{",
        new: include_str!("floating_point.c"),
    },
    Edit {
        file: PROCESS,
        old: "if (put_fp_registers(pid, regs->fp)) {",
        new: "if (floating_point_put(pid, regs)) {",
    },
    Edit {
        file: PROCESS,
        old: "if (get_fp_registers(pid, regs->fp)) {",
        new: "if (0 /* they stay there */) {",
    },
    Edit {
        file: "arch/um/kernel/process.c",
        old: "int copy_thread(struct task_struct * p, const struct kernel_clone_args *args)\n{",
        new: "void floating_point_fetch(void);\n\
              void floating_point_forget(struct uml_pt_regs *regs);\n\
              void arch_release_task_struct(struct task_struct *task)\n\
              { floating_point_forget(&task->thread.regs.regs); }\n\
              int copy_thread(struct task_struct * p, const struct kernel_clone_args *args)\n{",
    },
    Edit {
        file: "arch/um/kernel/process.c",
        old: "\tp->thread = (struct thread_struct) INIT_THREAD;\n",
        new: "\tp->thread = (struct thread_struct) INIT_THREAD;\n\tfloating_point_fetch();\n",
    },
];

/// `getcpu` in the vDSO.
const ONLY_7_3: [Edit; 4] = [
    Edit {
        file: "arch/x86/um/vdso/vdso.lds.S",
        old: "\t\t__vdso_time;\n",
        new: "\t\t__vdso_time;\n\t\t__vdso_getcpu;\n",
    },
    Edit {
        file: "arch/x86/um/vdso/um_vdso.c",
        old: "__kernel_old_time_t __vdso_time(__kernel_old_time_t *t)\n{",
        new: "long __vdso_getcpu(unsigned int *cpu, unsigned int *node, void *unused);\n\
              long __vdso_getcpu(unsigned int *cpu, unsigned int *node, void *unused)\n\
              {\n\tif (cpu)\n\t\t*cpu = 0;\n\tif (node)\n\t\t*node = 0;\n\treturn 0;\n}\n\n\
              __kernel_old_time_t __vdso_time(__kernel_old_time_t *t)\n{",
    },
    Edit {
        file: "net/ipv4/Makefile",
        old: "obj-$(CONFIG_TCP_CONG_DCTCP) += tcp_dctcp.o\n",
        new: "obj-$(CONFIG_TCP_CONG_DCTCP) += tcp_dctcp.o tcp_prague.o\n",
    },
    Edit {
        file: "net/ipv4/tcp_output.c",
        old: "!tcp_accecn_ace_fail_send(tp))\n\t\t\tINET_ECN_xmit(sk);",
        new: "!tcp_accecn_ace_fail_send(tp))\n\t\t\tINET_ECN_xmit_ect_1_negotiation(sk);",
    },
];

/// What 6.12 has, or need not have.
const ONLY_6_1: [Edit; 7] = [
    // It runs in the program's process, whose floating point registers stay.
    Edit {
        file: "arch/um/kernel/skas/Makefile",
        old: "CFLAGS_clone.o := $(CFLAGS_NO_HARDENING)",
        new: "CFLAGS_clone.o := $(CFLAGS_NO_HARDENING) -mno-sse",
    },
    Edit {
        file: PROCESS,
        old: "#include <sys/mman.h>\n",
        new: "#include <sys/mman.h>\n#include <sys/prctl.h>\n",
    },
    Edit {
        file: PROCESS,
        old: "\tptrace(PTRACE_TRACEME, 0, 0, 0);\n",
        new: "\tprctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);\n\tptrace(PTRACE_TRACEME, 0, 0, 0);\n",
    },
    Edit {
        file: "arch/um/kernel/skas/clone.c",
        old: "\terr = stub_syscall4(__NR_ptrace, PTRACE_TRACEME, 0, 0, 0);\n",
        new: "\tstub_syscall2(__NR_prctl, 1 /* PR_SET_PDEATHSIG */, SIGKILL);\n\
              \terr = stub_syscall4(__NR_ptrace, PTRACE_TRACEME, 0, 0, 0);\n",
    },
    Edit {
        file: "arch/x86/um/syscalls_64.c",
        old: "\tarch_prctl(to, ARCH_SET_FS, (void __user *) to->thread.arch.fs);\n",
        new: "",
    },
    Edit {
        file: "arch/x86/um/tls_64.c",
        old: "\tt->thread.arch.fs = tls;\n",
        new: "\tt->thread.regs.regs.gp[FS_BASE / sizeof(unsigned long)] = tls;\n\
              \tt->thread.arch.fs = tls;\n",
    },
    Edit {
        file: "arch/um/kernel/process.c",
        old: "\tcpu_tasks[current_thread_info()->cpu].pid = os_getpid();\n",
        new: "",
    },
];
