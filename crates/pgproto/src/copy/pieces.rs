//! What has come of a record that is not whole: the one thing that readers of COPY's streams keep beside a batch.

use types::{Error, Result, SqlState};

/// The beginning of a record that was cut, with a limit.
pub(super) struct Pieces {
    kept: Vec<u8>,
    max: usize,
}

impl Pieces {
    /// Nothing kept yet; a record of more than `max` bytes is an error.
    pub(super) fn new(max: usize) -> Pieces {
        Pieces { kept: Vec::new(), max }
    }
    pub(super) fn is_empty(&self) -> bool {
        self.kept.is_empty()
    }
    /// What is kept, for the end of the stream.
    pub(super) fn take(&mut self) -> Vec<u8> {
        std::mem::take(&mut self.kept)
    }

    /// Gives a piece of the stream to `read`, behind what was kept. `read` takes all whole records of its bytes, and
    /// says how many bytes these are; the rest is kept.
    pub(super) fn push(&mut self, piece: &[u8], mut read: impl FnMut(&[u8]) -> Result<usize>) -> Result<()> {
        let mut rest = piece;
        // A record that was cut is completed little by little, so that a large piece is not copied for a small rest,
        // and twice as much each time, so that a long record is not looked at over and over.
        while !self.kept.is_empty() && !rest.is_empty() {
            let more = rest.len().min(self.kept.len().max(4096));
            self.keep(&rest[..more])?;
            rest = &rest[more..];
            let taken = read(&self.kept)?;
            let left = self.kept.len() - taken;
            if taken > 0 && left <= more {
                // What is left are bytes of this piece.
                rest = &piece[piece.len() - rest.len() - left..];
                self.kept.clear();
            } else if taken > 0 {
                self.kept.drain(..taken);
            }
        }
        if self.kept.is_empty() {
            let taken = read(rest)?;
            self.keep(&rest[taken..])?;
        }
        if self.kept.is_empty() && self.kept.capacity() > 1 << 20 {
            self.kept = Vec::new();
        }
        Ok(())
    }

    fn keep(&mut self, bytes: &[u8]) -> Result<()> {
        if self.kept.len() + bytes.len() > self.max.saturating_add(4096) {
            let message = format!("a row of COPY data has more than {} bytes", self.max);
            return Err(Error::new(SqlState::OutOfMemory, message));
        }
        self.kept.extend_from_slice(bytes);
        Ok(())
    }
}
