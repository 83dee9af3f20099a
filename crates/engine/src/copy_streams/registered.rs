//! The host's streams that a session's COPY reads and writes.

use std::sync::{Arc, PoisonError};

use super::CopyStreams;
use crate::Session;

impl Session {
    /// Says where COPY ... FROM STDIN reads and COPY ... TO STDOUT writes. Without it both are refused: a library does
    /// not take its host's standard streams unasked.
    pub fn set_copy_streams(&self, streams: impl CopyStreams + 'static) {
        *self.standard.streams.lock().unwrap_or_else(PoisonError::into_inner) = Some(Arc::new(streams));
    }
}
