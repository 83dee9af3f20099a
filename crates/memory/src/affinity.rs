//! Which processors a thread may use: what the machine, a container's set of processors or `taskset` allows, and keeping
//! a thread on one of them.

use std::io;

/// Processors that the kernel may know of; sets that it gives are no larger.
const PROCESSORS_MAX: usize = 1 << 13;
const WORD_BITS: usize = usize::BITS as usize;

/// Numbers of the processors that the calling thread may use, rising; never none. A thread that was kept on some has
/// these, and so have the threads that it makes.
pub fn allowed_processors() -> Vec<usize> {
    let mut set = vec![0usize; PROCESSORS_MAX / WORD_BITS];
    let known = get(&mut set);
    let is_in = |processor: &usize| set[processor / WORD_BITS] >> (processor % WORD_BITS) & 1 == 1;
    let allowed: Vec<usize> = (0..PROCESSORS_MAX).filter(|processor| known && is_in(processor)).collect();
    match allowed.is_empty() {
        true => (0..std::thread::available_parallelism().map_or(1, usize::from)).collect(),
        false => allowed,
    }
}

/// The processor that the calling thread is on now; it may be on another a moment later.
#[cfg(target_os = "linux")]
pub fn current_processor() -> Option<usize> {
    // SAFETY: it has no arguments and touches no memory.
    usize::try_from(unsafe { libc::sched_getcpu() }).ok()
}

/// The processor that the calling thread is on: not known on this system.
#[cfg(not(target_os = "linux"))]
pub fn current_processor() -> Option<usize> {
    None
}

/// Keeps the calling thread on these processors, as far as they are among those that the process may use.
///
/// # Errors
/// What the machine says: none of them may be used. The thread then runs where it ran before.
pub fn keep_thread_on(processors: &[usize]) -> io::Result<()> {
    let mut set = vec![0usize; PROCESSORS_MAX / WORD_BITS];
    for processor in processors.iter().filter(|processor| **processor < PROCESSORS_MAX) {
        set[processor / WORD_BITS] |= 1 << (processor % WORD_BITS);
    }
    put(&set)
}

#[cfg(target_os = "linux")]
fn get(set: &mut [usize]) -> bool {
    // SAFETY: thread 0 is the calling one; the kernel writes at most the `size_of_val(set)` bytes of the set, which need
    // no more alignment than words have.
    unsafe { libc::sched_getaffinity(0, size_of_val(set), set.as_mut_ptr().cast()) == 0 }
}

#[cfg(target_os = "linux")]
fn put(set: &[usize]) -> io::Result<()> {
    // SAFETY: as above; the kernel only reads the set.
    let outcome = unsafe { libc::sched_setaffinity(0, size_of_val(set), set.as_ptr().cast()) };
    if outcome == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

#[cfg(not(target_os = "linux"))]
fn get(_: &mut [usize]) -> bool {
    false
}

#[cfg(not(target_os = "linux"))]
fn put(_: &[usize]) -> io::Result<()> {
    Ok(())
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    #[test]
    fn a_thread_is_kept_on_a_processor_and_let_go_again() {
        let all = allowed_processors();
        std::thread::spawn(move || {
            let last = all[all.len() - 1];
            keep_thread_on(&[last]).unwrap();
            assert_eq!((allowed_processors(), current_processor()), (vec![last], Some(last)));
            assert!(keep_thread_on(&[PROCESSORS_MAX - 1]).is_err() || all.len() == PROCESSORS_MAX);
            assert_eq!(allowed_processors(), [last]);
            keep_thread_on(&all).unwrap();
            assert_eq!(allowed_processors(), all);
        })
        .join()
        .unwrap();
    }
}
