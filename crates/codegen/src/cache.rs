//! Code by the shape of what it computes, shared by all queries of a database.
//!
//! A shape is compiled once; plans that have it again find the code. The least recently used code goes when there is
//! too much of it, or when the memory budget asks; what a query still runs stays until that query ends. Compiling in
//! the background is one thread's work, which begins with the first such wish and ends with the cache.

use std::collections::HashMap;
use std::sync::mpsc::{SyncSender, sync_channel};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use memory::{Budget, Reclaimer};
use types::Result;

use crate::emit::Parts;
use crate::machine::Code;

/// Bytes of instructions that are kept.
const KEPT_BYTES_MAX: usize = 16 << 20;
/// Jobs that wait for the compiler's thread: each holds its computation, whose query may have ended.
const WAITING_MAX: usize = 64;
/// Functions that are kept: each has a page at least.
const KEPT_FUNCTIONS_MAX: usize = 2048;

type Job = Box<dyn FnOnce() + Send>;

#[derive(Default)]
struct Kept {
    by_shape: HashMap<String, (Arc<Code>, u64)>,
    bytes: usize,
    /// Counts uses, to tell which was the last.
    clock: u64,
    compiled: Counts,
}

/// What a cache has done.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Functions that were compiled.
    pub functions: u64,
    /// Functions that were found compiled.
    pub found: u64,
    /// Functions that could not be compiled: their computations went on vectorised.
    pub failed: u64,
    /// Nanoseconds spent on compiling.
    pub nanoseconds: u64,
    /// Bytes of instructions that were made.
    pub bytes: u64,
}

/// Compiled functions by shape.
pub struct Cache {
    budget: Budget,
    kept: Mutex<Kept>,
    compiler: OnceLock<Option<Mutex<SyncSender<Job>>>>,
}

impl std::fmt::Debug for Cache {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Cache({:?})", self.counts())
    }
}

impl Cache {
    /// An empty cache, whose code is charged to the budget and goes where the budget asks.
    pub fn new(budget: Budget) -> Arc<Cache> {
        let cache =
            Arc::new(Cache { budget: budget.clone(), kept: Mutex::default(), compiler: OnceLock::new() });
        let reclaimer: std::sync::Weak<Cache> = Arc::downgrade(&cache);
        budget.add_reclaimer(reclaimer);
        cache
    }

    /// What has been compiled so far.
    pub fn counts(&self) -> Counts {
        self.kept().compiled
    }

    fn kept(&self) -> MutexGuard<'_, Kept> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The code of that shape, compiled if it is not there.
    pub(crate) fn code(&self, shape: &str, parts: &Parts<'_>) -> Result<Arc<Code>> {
        {
            let mut kept = self.kept();
            kept.clock += 1;
            let clock = kept.clock;
            if let Some((code, used)) = kept.by_shape.get_mut(shape) {
                *used = clock;
                let code = code.clone();
                kept.compiled.found += 1;
                return Ok(code);
            }
        }
        // Nobody waits for the lock meanwhile; two who compile one shape both have it, and one is kept.
        let code = match Code::compile(parts, &self.budget) {
            Ok(code) => Arc::new(code),
            Err(error) => {
                tracing::warn!(%error, "expressions go on vectorized");
                self.kept().compiled.failed += 1;
                return Err(error);
            }
        };
        let mut kept = self.kept();
        kept.compiled.functions += 1;
        kept.compiled.nanoseconds += code.nanoseconds;
        kept.compiled.bytes += code.bytes as u64;
        kept.bytes += code.bytes;
        let clock = kept.clock;
        if let Some((replaced, _)) = kept.by_shape.insert(shape.to_owned(), (code.clone(), clock)) {
            kept.bytes -= replaced.bytes;
        }
        while kept.bytes > KEPT_BYTES_MAX || kept.by_shape.len() > KEPT_FUNCTIONS_MAX {
            if kept.evict().is_none() {
                break;
            }
        }
        Ok(code)
    }

    /// Runs a job in the background; `false` where there is no thread for it, or too many wait already.
    pub(crate) fn in_background(&self, job: Job) -> bool {
        let compiler = self.compiler.get_or_init(|| {
            let (sender, jobs) = sync_channel::<Job>(WAITING_MAX);
            let run = move || jobs.into_iter().for_each(|job| job());
            std::thread::Builder::new().name("compiler".to_owned()).spawn(run).ok()?;
            Some(Mutex::new(sender))
        });
        match compiler {
            Some(sender) => sender.lock().unwrap_or_else(PoisonError::into_inner).try_send(job).is_ok(),
            None => false,
        }
    }

    fn release(&self, bytes: u64) -> u64 {
        let mut freed = 0u64;
        let mut gone = Vec::new();
        {
            let mut kept = self.kept();
            while freed < bytes {
                let Some(code) = kept.evict() else { break };
                freed += code.bytes as u64;
                gone.push(code);
            }
        }
        // The code's memory goes without the lock.
        drop(gone);
        freed
    }
}

impl Kept {
    /// Takes out the code that has not been asked for the longest.
    fn evict(&mut self) -> Option<Arc<Code>> {
        let oldest =
            self.by_shape.iter().min_by_key(|(_, (_, used))| *used).map(|(shape, _)| shape.clone())?;
        let (code, _) = self.by_shape.remove(&oldest)?;
        self.bytes -= code.bytes;
        Some(code)
    }
}

impl Reclaimer for Cache {
    fn reclaim(&self, bytes: u64) -> u64 {
        self.release(bytes)
    }
    fn let_go(&self, bytes: u64) -> u64 {
        self.release(bytes)
    }
    fn spare(&self) -> u64 {
        self.kept().bytes as u64
    }
}
