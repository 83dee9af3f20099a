//! TPC-H's text pool: 300 MiB of grammatical text (clause 4.2.2.10) from which all comments are cut.
//!
//! tpchgen's own pool lives as long as the process. Ours is shared by all sources that generate at the same time and
//! freed with the last of them, so that a database does not carry 300 MiB that it will never read again. That is also
//! why tpchgen-arrow, which requires the permanent pool, serves only as the oracle of our tests.

use std::sync::{Arc, Mutex, OnceLock, PoisonError, Weak};
use tpchgen::distribution::Distributions;
use tpchgen::text::TextPool;

/// The pool's size is part of the data: offsets into it are drawn up to its end.
const POOL_BYTES: i32 = 300 * 1024 * 1024;

/// The pool that is alive now, if any. The lock is held while a pool is made, so two never are at once.
static ALIVE: Mutex<Weak<TextPool>> = Mutex::new(Weak::new());

/// A lazy handle to the pool; clones share it. Nothing is made before the first use (SSB has none).
#[derive(Clone, Default)]
pub(crate) struct SharedText(Arc<OnceLock<Arc<TextPool>>>);

impl SharedText {
    pub(crate) fn pool(&self) -> Arc<TextPool> {
        self.0.get_or_init(alive_or_new).clone()
    }
}

fn alive_or_new() -> Arc<TextPool> {
    // A poisoned lock still holds a valid pointer.
    let mut alive = ALIVE.lock().unwrap_or_else(PoisonError::into_inner);
    alive.upgrade().unwrap_or_else(|| {
        let pool = Arc::new(TextPool::new(POOL_BYTES, Distributions::static_default()));
        *alive = Arc::downgrade(&pool);
        pool
    })
}
