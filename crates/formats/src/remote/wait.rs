//! Waiting for requests: the runtime that moves their bytes, and when a thread stops waiting.

use std::future::Future;
use std::pin::pin;
use std::sync::LazyLock;
use std::time::Duration;

use tokio::runtime::{Builder, Runtime};
use types::stop::{self, Place};
use types::{Error, Result, SqlState};

/// How often a thread that waits looks whether it shall go on.
const POLL: Duration = Duration::from_millis(20);

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
    runtime()?.block_on(async {
        let mut future = pin!(future);
        loop {
            if let Ok(value) = tokio::time::timeout(POLL, &mut future).await {
                return Ok(value);
            }
            stop::check(Place::Open)?;
        }
    })
}
