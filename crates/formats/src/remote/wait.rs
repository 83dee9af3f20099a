//! Waiting for requests: the runtime that moves their bytes, and when a thread stops waiting.

use std::cell::RefCell;
use std::future::Future;
use std::pin::pin;
use std::sync::{Arc, LazyLock};
use std::time::Duration;

use tokio::runtime::{Builder, Runtime};
use types::{Error, Result, SqlState};

/// How often a thread that waits looks whether it shall go on.
const POLL: Duration = Duration::from_millis(20);

/// Says whether the statement that a thread works for has been stopped.
type Stopped = Arc<dyn Fn() -> bool + Send + Sync>;

thread_local! {
    static STOPPED: RefCell<Option<Stopped>> = const { RefCell::new(None) };
}

/// Puts back what was asked before, also when the work panics.
struct Restore(Option<Stopped>);

impl Drop for Restore {
    fn drop(&mut self) {
        STOPPED.set(self.0.take());
    }
}

/// Does `work`, whose requests on this thread are given up when `stopped` says so, or what was asked outside of it.
pub fn stopped_by<T>(stopped: impl Fn() -> bool + Send + Sync + 'static, work: impl FnOnce() -> T) -> T {
    let outer = STOPPED.with_borrow(Clone::clone);
    let both: Stopped = match outer.clone() {
        Some(outer) => Arc::new(move || outer() || stopped()),
        None => Arc::new(stopped),
    };
    STOPPED.set(Some(both));
    let _restore = Restore(outer);
    work()
}

/// What is asked on this thread, for threads that work for it.
pub(super) fn inherited() -> Option<Arc<dyn Fn() -> bool + Send + Sync>> {
    STOPPED.with_borrow(Clone::clone)
}

/// All requests of the process; two threads are plenty, since they only move bytes.
pub(super) fn runtime() -> Result<&'static Runtime> {
    static RUNTIME: LazyLock<std::io::Result<Runtime>> = LazyLock::new(|| {
        Builder::new_multi_thread().worker_threads(2).thread_name("quickstep-net").enable_all().build()
    });
    RUNTIME
        .as_ref()
        .map_err(|e| Error::new(SqlState::IoError, format!("no threads for network requests: {e}")))
}

/// The future's value, unless the statement is stopped before it is there: then the request is dropped.
pub(super) fn wait<T>(future: impl Future<Output = T>) -> Result<T> {
    let runtime = runtime()?;
    let Some(stopped) = STOPPED.with_borrow(Clone::clone) else { return Ok(runtime.block_on(future)) };
    runtime.block_on(async {
        let mut future = pin!(future);
        loop {
            match tokio::time::timeout(POLL, &mut future).await {
                Ok(value) => return Ok(value),
                Err(_) if stopped() => {
                    return Err(Error::new(SqlState::QueryCanceled, "canceling statement"));
                }
                Err(_) => {}
            }
        }
    })
}
