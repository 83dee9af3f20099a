//! How tests measure time and wait, on a machine that others use as well: a process of tests is stopped for half a second,
//! or shares two cores with ten others, and no test may fail for that.
//!
//! What a test means decides what it measures:
//! - the cost of a computation of one thread: [`cpu_time`], of which the least of several runs counts;
//! - how long an answer takes, shares of several threads, what is seen at some moment: a bar that [`in_one_of`] several
//!   rounds meets, each of them short. A fault misses it in every round, a stall in one or two. Within a round the
//!   [`median`] counts;
//! - that something comes about at all: [`until`];
//! - that something does not hang: [`PATIENCE`], where the fault would take longer still.
//!
//! A sleep is no way to wait for another thread: it may not have begun by then.
#![forbid(unsafe_code)]

use std::time::{Duration, Instant};

/// What takes longer hangs.
pub const PATIENCE: Duration = Duration::from_secs(60);

/// What `work` returns, and the CPU time that this thread took for it: waiting is not in it, nor what others do meanwhile.
pub fn cpu_time<T>(work: impl FnOnce() -> T) -> (T, Duration) {
    let begun = cpu_time::ThreadTime::now();
    let result = work();
    (result, begun.elapsed())
}

/// The least CPU time that this thread takes for `work`, in so many runs.
pub fn least_cpu_time(runs: usize, mut work: impl FnMut()) -> Duration {
    (0..runs).map(|_| cpu_time(&mut work).1).min().unwrap_or_default()
}

/// The median; of an even number the greater of the two in the middle.
///
/// # Panics
/// Without any time.
pub fn median(times: impl IntoIterator<Item = Duration>) -> Duration {
    let mut times: Vec<Duration> = times.into_iter().collect();
    times.sort_unstable();
    times[times.len() / 2]
}

/// Waits until something holds.
///
/// # Panics
/// When it does not hold within [`PATIENCE`].
#[track_caller]
pub fn until(what: &str, mut holds: impl FnMut() -> bool) {
    let begun = Instant::now();
    while !holds() {
        assert!(begun.elapsed() < PATIENCE, "it does not come about that {what}");
        std::thread::sleep(Duration::from_millis(1));
    }
}

/// Takes rounds until one meets its bar, and returns what that one found. What must hold always is asserted inside of a
/// round; `Err` says by what this one missed the bar.
///
/// # Panics
/// When none of so many rounds meets it.
#[track_caller]
pub fn in_one_of<T>(rounds: usize, mut round: impl FnMut() -> Result<T, String>) -> T {
    let mut missed = Vec::new();
    while missed.len() < rounds {
        match round() {
            Ok(found) => return found,
            Err(why) => missed.push(why),
        }
    }
    panic!("missed in each of {rounds} rounds:\n{}", missed.join("\n"))
}

/// `Ok` when `holds`, and else what `found` shows: the end of a round of [`in_one_of`].
pub fn met(holds: bool, found: impl std::fmt::Debug) -> Result<(), String> {
    if holds { Ok(()) } else { Err(format!("{found:?}")) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sleep_takes_no_cpu_time_and_work_does() {
        let asleep = cpu_time(|| std::thread::sleep(Duration::from_millis(300))).1;
        assert!(asleep < Duration::from_millis(100), "{asleep:?}");
        // Of another thread it is not.
        let busy = || {
            let begun = cpu_time::ThreadTime::now();
            while begun.elapsed() < Duration::from_millis(200) {
                std::hint::spin_loop();
            }
        };
        let of_others = cpu_time(|| std::thread::spawn(busy).join()).1;
        assert!(of_others < Duration::from_millis(100), "{of_others:?}");
        assert!(cpu_time(busy).1 >= Duration::from_millis(200));
    }

    #[test]
    fn the_least_and_the_median_are_those_of_the_times() {
        let mut lengths = [30u64, 0, 30].into_iter();
        let least = least_cpu_time(3, || {
            let begun = cpu_time::ThreadTime::now();
            let length = Duration::from_millis(lengths.next().unwrap_or(30));
            while begun.elapsed() < length {
                std::hint::spin_loop();
            }
        });
        assert!(least < Duration::from_millis(30), "{least:?}");
        let times = [5, 1, 4, 2].map(Duration::from_millis);
        assert_eq!(median(times), Duration::from_millis(4));
        assert_eq!(median(times[..3].to_vec()), Duration::from_millis(4));
    }

    #[test]
    fn rounds_end_with_the_first_that_meets_its_bar() {
        let mut rounds = 0;
        let found = in_one_of(5, || {
            rounds += 1;
            met(rounds == 3, rounds).map(|()| rounds)
        });
        assert_eq!((found, rounds), (3, 3));
    }

    #[test]
    #[should_panic(expected = "missed in each of 2 rounds:\n7 ms\n7 ms")]
    fn a_bar_that_no_round_meets_is_a_failure() {
        in_one_of(2, || Err::<(), _>("7 ms".to_owned()));
    }

    #[test]
    fn what_comes_about_is_waited_for() {
        let mut looks = 0;
        until("the third look is taken", || {
            looks += 1;
            looks == 3
        });
        assert_eq!(looks, 3);
    }
}
