//! How far the running statement is, for those who watch it from outside.

use std::sync::{Arc, Mutex, PoisonError};

use scheduler::{Progress, QueryControl};

/// Sees the statement that a session runs, from any thread and for as long as it is kept.
#[derive(Clone, Default)]
pub struct ProgressWatch(Arc<Mutex<Option<Arc<QueryControl>>>>);

impl ProgressWatch {
    /// `None` between statements, while one is planned, and for those that run no work orders.
    pub fn progress(&self) -> Option<Progress> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).as_ref().map(|control| control.progress())
    }

    /// Shows `control` until what is returned is dropped.
    pub(crate) fn show(&self, control: &Arc<QueryControl>) -> Shown<'_> {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(Arc::clone(control));
        Shown(self)
    }
}

pub(crate) struct Shown<'a>(&'a ProgressWatch);

impl Drop for Shown<'_> {
    fn drop(&mut self) {
        *self.0.0.lock().unwrap_or_else(PoisonError::into_inner) = None;
    }
}
