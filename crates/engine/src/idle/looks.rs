//! Looks for idle transactions as long as there are any.

use std::sync::{Arc, PoisonError};

use super::{IdleWatch, LOOK_EVERY};
use crate::background::Next;
use crate::database::Shared;
use crate::transaction::Transactions;

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
