//! Many files at once: what is asked of one other machine need not wait for what another has answered.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

use types::{Result, stop};

use super::is_remote;

/// Files opened at a time: each waits for two or three short answers, and servers take some dozens of connections.
const ABREAST: usize = 16;

/// Does `work` for each item, in order for files of this machine and side by side where one lies on another; `path` is
/// an item's. The results are in the items' order, and so is the first error.
pub(crate) fn each<'i, T: Sync, R: Send>(
    items: &'i [T],
    path: impl Fn(&'i T) -> &'i str,
    work: impl Fn(&'i T) -> Result<R> + Sync,
) -> Result<Vec<R>> {
    if items.len() < 2 || !items.iter().any(|item| is_remote(path(item))) {
        return items.iter().map(work).collect();
    }
    let (next, failed) = (AtomicUsize::new(0), AtomicUsize::new(usize::MAX));
    let done: Mutex<Vec<(usize, Result<R>)>> = Mutex::new(Vec::with_capacity(items.len()));
    let current = stop::current();
    let run = || loop {
        let at = next.fetch_add(1, Ordering::Relaxed);
        // What comes behind an error is not looked at; what comes before it may be another, which counts then.
        let Some(item) = items.get(at).filter(|_| at < failed.load(Ordering::Relaxed)) else { return };
        let result = work(item);
        if result.is_err() {
            failed.fetch_min(at, Ordering::Relaxed);
        }
        done.lock().unwrap_or_else(PoisonError::into_inner).push((at, result));
    };
    std::thread::scope(|scope| {
        for _ in 0..ABREAST.min(items.len()) {
            let (run, current) = (&run, current.clone());
            scope.spawn(move || match current {
                Some(current) => current.within(run),
                None => run(),
            });
        }
    });
    let mut done = done.into_inner().unwrap_or_else(PoisonError::into_inner);
    done.sort_by_key(|(at, _)| *at);
    done.into_iter().map(|(_, result)| result).collect()
}

#[cfg(test)]
mod tests {
    use std::sync::Barrier;

    use types::Error;

    use super::*;

    #[test]
    fn files_of_other_machines_are_opened_side_by_side_in_their_order() {
        let paths: Vec<String> = (0..8).map(|at| format!("s3://bucket/{at}")).collect();
        // The barrier opens only when all openings are under way.
        let all = Barrier::new(paths.len());
        let seen = each(
            &paths,
            |path| path,
            |path| {
                all.wait();
                Ok(path.clone())
            },
        );
        assert_eq!(seen.ok(), Some(paths));
    }

    #[test]
    fn the_first_error_in_their_order_is_told() {
        let paths: Vec<String> = (0..40).map(|at| format!("s3://bucket/{at}")).collect();
        let told = each(
            &paths,
            |path| path,
            |path| match path.as_str() {
                "s3://bucket/7" | "s3://bucket/3" => Err(Error::internal(path.clone())),
                _ => Ok(()),
            },
        );
        assert!(told.is_err_and(|e| e.message().contains("bucket/3")));
    }
}
