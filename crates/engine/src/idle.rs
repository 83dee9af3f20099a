//! Idle transactions: `idle_in_transaction_session_timeout`.
//!
//! An open transaction keeps its snapshot and its changes in memory. With the setting, one in which no statement has
//! run for so long is given up: what it held is let go at once, and its session hears of it with its next statement,
//! and rolls back. (PostgreSQL ends the connection instead; here there may be none.)
//!
//! One background thread looks at the transactions of sessions with the setting, as long as there are any.

mod looks;

use std::sync::{Mutex, Weak};
use std::time::Duration;

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
