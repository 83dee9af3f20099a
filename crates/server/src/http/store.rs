//! The statements that are held for those who ask for their rows.

use std::collections::HashMap;
use std::sync::atomic::AtomicU64;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use axum::http::StatusCode;
use engine::SqlState;

use super::connections::Connections;
use super::fault::Fault;
use super::held::{Held, HeldBytes};

/// Statements that are held.
#[derive(Default)]
pub struct Statements {
    pub(super) held: Mutex<HashMap<String, Arc<Held>>>,
    pub(super) connections: Connections,
    pub(super) bytes: Arc<HeldBytes>,
    pub(super) last: AtomicU64,
}

impl Statements {
    pub(super) fn lock(&self) -> MutexGuard<'_, HashMap<String, Arc<Held>>> {
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn find(&self, role: &str, id: &str) -> std::result::Result<Arc<Held>, Fault> {
        self.lock().get(id).filter(|held| held.role == role).cloned().ok_or_else(|| {
            let message = format!("there is no statement {id}");
            Fault::with_hint(
                StatusCode::NOT_FOUND,
                SqlState::UndefinedCursor,
                &message,
                "results that nobody asks for are let go after five minutes",
            )
        })
    }
}
