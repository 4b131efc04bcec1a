//! The two programs as the kernel runs them on a frame of our own (`BPF_PROG_TEST_RUN`). Passed over
//! without root, except in CI. With sockets and a kernel bridge they are in `fail_open/tests.rs`.

use super::super::call;
use super::*;
use crate::clock::read_nanos;
use rustix::time::ClockId;

const BPF_PROG_TEST_RUN: libc::c_long = 10;
/// Of `struct __sk_buff`.
const CONTEXT: usize = 192;
const MARK: u64 = 0x8123_4567_89ab_cdef;
const HOUR: u64 = 3_600_000_000_000;

/// `union bpf_attr`, as far as BPF_PROG_TEST_RUN needs it.
#[repr(C)]
#[derive(Default)]
struct TestRun {
    program: u32,
    verdict: u32,
    data_len: [u32; 2],
    data: [u64; 2],
    repeat: [u32; 2],
    context_len: [u32; 2],
    context: [u64; 2],
    rest: [u64; 8],
}

/// What a program says of a frame with this in `cb`, and what `cb` has afterwards.
fn run(program: &OwnedFd, cb: u64) -> (i32, u64) {
    let frame = [0_u8; 60];
    let at = MARK_AT as usize;
    let (mut before, mut after) = ([0_u8; CONTEXT], [0_u8; CONTEXT]);
    before[at..at + 8].copy_from_slice(&cb.to_ne_bytes());
    let mut asked = TestRun {
        program: program.as_raw_fd() as u32,
        data_len: [frame.len() as u32, 0],
        data: [frame.as_ptr() as u64, 0],
        context_len: [CONTEXT as u32; 2],
        context: [before.as_ptr() as u64, after.as_mut_ptr() as u64],
        ..TestRun::default()
    };
    // The kernel writes its answer into what it is asked.
    let asked = std::hint::black_box(&mut asked);
    call(BPF_PROG_TEST_RUN, asked).expect("it runs");
    let asked = std::hint::black_box(asked);
    let cb = after[at..].first_chunk().expect("two words");
    (asked.verdict.cast_signed(), u64::from_ne_bytes(*cb))
}

/// What the kernel says of a load, unless it needs root and there is none.
fn loaded(kind: u32, program: &[Instruction]) -> Option<OwnedFd> {
    match load_as(kind, program) {
        Err(error) if error.raw_os_error() == Some(libc::EPERM) => {
            assert!(std::env::var_os("CI").is_none(), "this takes root");
            None
        }
        loaded => Some(loaded.expect("the kernel takes the program")),
    }
}

#[test]
fn a_socket_takes_and_marks_what_comes_in_time() {
    let words = || Words::<1>::new().ok();
    let (Some(until), Some(passed)) = (words(), words()) else {
        assert!(std::env::var_os("CI").is_none(), "this takes root");
        return;
    };
    let program = taking(&until.map, &passed.map, MARK);
    let Some(program) = loaded(BPF_PROG_TYPE_SOCKET_FILTER, &program) else {
        return;
    };
    let now = read_nanos(ClockId::Monotonic);
    for (time, is_taken, count) in [
        (0, false, 0),
        (now, false, 1),
        (1, false, 2),
        (now + HOUR, true, 2),
        (u64::MAX, true, 2),
        (0, false, 2),
    ] {
        until.word(0).store(time, Ordering::SeqCst);
        let expected = if is_taken { (WHOLE, MARK) } else { (0, 5) };
        assert_eq!(run(&program, 5), expected, "until {time}");
        assert_eq!(passed.word(0).load(Ordering::SeqCst), count);
    }
}

#[test]
fn the_gate_drops_what_bears_the_mark() {
    let Some(program) = loaded(BPF_PROG_TYPE_SCHED_CLS, &dropping(MARK)) else {
        return;
    };
    assert_eq!(run(&program, MARK).0, TCX_DROP);
    for other in [0, MARK ^ 1, MARK ^ 1 << 32, MARK ^ 1 << 63, u64::MAX] {
        assert_eq!(run(&program, other).0, TCX_NEXT, "{other:x}");
    }
}
