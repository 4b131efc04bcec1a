//! What stands between one forwarding thread and whoever asks: an order one way, an answer back.
//!
//! An atomic state says which side owns the shared places, so that their locks are always free
//! when somebody takes them. The forwarding thread never waits.

use super::{Answer, Order, RemoteError};
use rustix::event::{EventfdFlags, eventfd};
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::atomic::{AtomicU8, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, Thread};
use std::time::{Duration, Instant};

/// How long an answer may take: a forwarding thread that takes longer hangs.
const PATIENCE: Duration = Duration::from_secs(1);

/// Nobody wants anything; the asking side may write an order.
const IDLE: u8 = 0;
/// The order is there; the forwarding side may take it, or the asking side back.
const ASKED: u8 = 1;
/// It is being carried out; the forwarding side writes the answer.
const TAKEN: u8 = 2;
/// The answer is there; the asking side may take it.
const ANSWERED: u8 = 3;
/// The bridge is gone.
const CLOSED: u8 = 4;

/// Between one forwarding thread and whoever asks.
#[derive(Debug)]
pub(super) struct Slot {
    state: AtomicU8,
    order: Mutex<Option<(Order, Thread)>>,
    answer: Mutex<Option<Answer>>,
    /// Readable when the forwarding thread is to look.
    bell: OwnedFd,
}

/// A forwarding thread's end.
#[derive(Debug)]
pub(in crate::forwarding) struct Inbox(pub(super) Arc<Slot>);

/// When those asked from now on must have answered.
pub(super) fn deadline() -> Instant {
    Instant::now() + PATIENCE
}

impl Slot {
    pub(super) fn new() -> io::Result<Self> {
        Ok(Self {
            state: AtomicU8::new(IDLE),
            order: Mutex::default(),
            answer: Mutex::default(),
            bell: eventfd(0, EventfdFlags::NONBLOCK | EventfdFlags::CLOEXEC)?,
        })
    }

    /// Whether the forwarding thread has ended.
    pub(super) fn is_closed(&self) -> bool {
        self.state.load(Ordering::Acquire) == CLOSED
    }

    /// Makes the forwarding thread look up at once, from whatever it waits for.
    pub(super) fn wake(&self) {
        // It can only fail when the bell has been rung for 2^64 - 1 times.
        let _ = rustix::io::write(&self.bell, &1_u64.to_ne_bytes());
    }

    /// One order at a time: the caller holds the turn.
    pub(super) fn ask(&self, order: Order) -> Result<Answer, RemoteError> {
        self.post(order)?;
        self.answer_by(deadline())
    }

    /// Leaves an order, of which [`answer_by`](Self::answer_by) takes the answer.
    pub(super) fn post(&self, order: Order) -> Result<(), RemoteError> {
        match self.state.load(Ordering::Acquire) {
            CLOSED => return Err(RemoteError::Ended),
            // The answer to somebody who has left.
            ANSWERED => drop(self.taken_answer()),
            TAKEN => return Err(RemoteError::Hangs),
            _ => {}
        }
        let mut orders = self.order.lock().unwrap_or_else(PoisonError::into_inner);
        *orders = Some((order, thread::current()));
        drop(orders);
        if !self.step(IDLE, ASKED) && !self.step(ANSWERED, ASKED) {
            return Err(RemoteError::Ended);
        }
        self.wake();
        Ok(())
    }

    /// The answer to the order that was posted, up to a time.
    pub(super) fn answer_by(&self, end: Instant) -> Result<Answer, RemoteError> {
        loop {
            match self.state.load(Ordering::Acquire) {
                ANSWERED => {
                    let answer = self.taken_answer().ok_or(RemoteError::Ended);
                    self.step(ANSWERED, IDLE);
                    return answer;
                }
                CLOSED => return Err(RemoteError::Ended),
                _ => {}
            }
            let left = end.saturating_duration_since(Instant::now());
            if left.is_zero() {
                // Not carried out later either, unless that has begun.
                let is_taken_back = self.step(ASKED, IDLE);
                return Err(if is_taken_back {
                    RemoteError::Hangs
                } else {
                    RemoteError::Late
                });
            }
            thread::park_timeout(left);
        }
    }

    fn taken_answer(&self) -> Option<Answer> {
        let mut answer = self.answer.lock().unwrap_or_else(PoisonError::into_inner);
        answer.take()
    }

    fn step(&self, from: u8, to: u8) -> bool {
        let swapped = self
            .state
            .compare_exchange(from, to, Ordering::AcqRel, Ordering::Acquire);
        swapped.is_ok()
    }
}

impl Inbox {
    /// What becomes readable when there is something to see.
    pub(in crate::forwarding) fn bell(&self) -> BorrowedFd<'_> {
        self.0.bell.as_fd()
    }

    /// Carries out the order that is there, if one is.
    pub(in crate::forwarding) fn serve(&self, carry_out: impl FnOnce(Order) -> Answer) {
        let shared = &self.0;
        if shared.state.load(Ordering::Acquire) != ASKED || !shared.step(ASKED, TAKEN) {
            return;
        }
        // Nobody else touches either slot while the order is taken.
        let order = shared.order.try_lock().ok().and_then(|mut o| o.take());
        let Some((order, asker)) = order else {
            debug_assert!(false, "an order was announced and is not there");
            return;
        };
        let answer = carry_out(order);
        if let Ok(mut slot) = shared.answer.try_lock() {
            *slot = Some(answer);
        }
        shared.state.store(ANSWERED, Ordering::Release);
        asker.unpark();
    }

    /// Makes the bell silent again.
    pub(in crate::forwarding) fn heard(&self) {
        let _ = rustix::io::read(&self.0.bell, &mut [0; 8]);
    }
}

impl Drop for Inbox {
    fn drop(&mut self) {
        self.0.state.store(CLOSED, Ordering::Release);
    }
}
