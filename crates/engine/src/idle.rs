//! Idle transactions: `idle_in_transaction_session_timeout`.
//!
//! An open transaction keeps its snapshot and its changes in memory. With the setting, one in which no statement has
//! run for so long is given up: what it held is let go at once, and its session hears of it with its next statement,
//! and rolls back. (PostgreSQL ends the connection instead; here there may be none.)
//!
//! One background thread looks at the transactions of sessions with the setting, as long as there are any.

use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::Duration;

use crate::background::Next;
use crate::database::Shared;
use crate::transaction::Transactions;

/// A transaction may be idle for so much longer.
const LOOK_EVERY: Duration = Duration::from_millis(20);

/// The transactions that are looked at.
#[derive(Default)]
pub(crate) struct IdleWatch(Mutex<Watched>);

/// Sessions whose transactions are watched.
#[derive(Default)]
struct Watched {
    transactions: Vec<Weak<Transactions>>,
    /// The thread is there.
    looking: bool,
}

impl IdleWatch {
    /// Looks at these until they are in no block.
    pub fn add(&self, database: &Arc<Shared>, transactions: &Arc<Transactions>) {
        let mut watched = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if !watched.transactions.iter().any(|known| std::ptr::eq(known.as_ptr(), Arc::as_ptr(transactions))) {
            watched.transactions.push(Arc::downgrade(transactions));
        }
        if !watched.looking {
            // Without a thread transactions stay idle, which is what they did before.
            watched.looking = database.background.spawn(database, "idle transactions", look).is_ok();
        }
    }
}

fn look(database: &Arc<Shared>) -> Next {
    let mut watched = database.idle.0.lock().unwrap_or_else(PoisonError::into_inner);
    watched.transactions.retain(|transactions| {
        let newest = || database.snapshot();
        transactions.upgrade().is_some_and(|transactions| transactions.give_up_if_idle(newest))
    });
    watched.looking = !watched.transactions.is_empty();
    if watched.looking { Next::After(LOOK_EVERY) } else { Next::Never }
}
