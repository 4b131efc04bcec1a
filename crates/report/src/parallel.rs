//! Work on several threads whose results are taken in order, so that they do not depend on how many
//! threads there are.

use std::any::Any;
use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

/// How far ahead of what has been taken each thread may work.
const AHEAD: usize = 4;

/// What a piece of work has come to, or its panic.
type Made<T> = Result<T, Box<dyn Any + Send>>;

/// What the threads share.
struct Shared<T> {
    /// The next piece that nobody has begun.
    next: usize,
    /// How many have been taken.
    taken: usize,
    /// Those that are made and not taken.
    made: BTreeMap<usize, Made<T>>,
    /// Nobody takes any more.
    is_over: bool,
}

/// Makes so many pieces on all processors, and hands them to `take` on this thread, in order. Only
/// a few that are not taken are in memory.
///
/// # Errors
/// The first of `take`, after which nothing more is made.
pub(crate) fn in_order<T: Send, E>(
    count: usize,
    make: impl Fn(usize) -> T + Sync,
    mut take: impl FnMut(T) -> Result<(), E>,
) -> Result<(), E> {
    let threads = std::thread::available_parallelism()
        .map_or(1, usize::from)
        .min(count);
    if threads < 2 {
        return (0..count).try_for_each(|index| take(make(index)));
    }
    let shared = Mutex::new(Shared {
        next: 0,
        taken: 0,
        made: BTreeMap::new(),
        is_over: false,
    });
    let (is_made, is_taken) = (Condvar::new(), Condvar::new());
    let lock = || shared.lock().unwrap_or_else(PoisonError::into_inner);
    let wait = |condition: &Condvar, guard| -> MutexGuard<'_, Shared<T>> {
        condition
            .wait(guard)
            .unwrap_or_else(PoisonError::into_inner)
    };
    let work = || {
        let mut state = lock();
        loop {
            while !state.is_over
                && state.next < count
                && state.next >= state.taken + threads * AHEAD
            {
                state = wait(&is_taken, state);
            }
            if state.is_over || state.next == count {
                return;
            }
            let index = state.next;
            state.next += 1;
            drop(state);
            let made = catch_unwind(AssertUnwindSafe(|| make(index)));
            state = lock();
            state.made.insert(index, made);
            is_made.notify_one();
        }
    };
    let mut all = || {
        for index in 0..count {
            let mut state = lock();
            let made = loop {
                match state.made.remove(&index) {
                    Some(made) => break made,
                    None => state = wait(&is_made, state),
                }
            };
            state.taken += 1;
            drop(state);
            is_taken.notify_all();
            take(made.unwrap_or_else(|panic| resume_unwind(panic)))?;
        }
        Ok(())
    };
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(work);
        }
        let outcome = catch_unwind(AssertUnwindSafe(&mut all));
        lock().is_over = true;
        is_taken.notify_all();
        outcome.unwrap_or_else(|panic| resume_unwind(panic))
    })
}

#[cfg(test)]
mod tests {
    use super::in_order;

    #[test]
    fn what_is_made_out_of_order_is_taken_in_order() {
        let mut taken = Vec::new();
        let outcome = in_order(
            1000,
            |index| index * index,
            |square| {
                taken.push(square);
                Ok::<_, ()>(())
            },
        );
        assert_eq!(outcome, Ok(()));
        let squares: Vec<usize> = (0..1000).map(|index| index * index).collect();
        assert_eq!(taken, squares);
        assert_eq!(in_order(0, |index| index, |_| Err(())), Ok(()));
    }

    #[test]
    fn nothing_is_made_after_a_refusal() {
        let outcome = in_order(
            1_000_000,
            |index| index,
            |index| {
                if index < 10 { Ok(()) } else { Err(index) }
            },
        );
        assert_eq!(outcome, Err(10));
    }

    #[test]
    #[should_panic(expected = "of seven")]
    fn a_panic_is_passed_on() {
        let make = |index| assert!(index != 7, "of seven");
        let _ = in_order(100, make, |()| Ok::<_, ()>(()));
    }
}
