//! Streams of batches in a file.

use std::sync::Arc;

use types::Result;
use vector::{Batch, Vector};

use super::encode::{Shape, decode, encode};
use super::{PieceExtent, SpillFile};

/// A partition or a run.
#[derive(Debug)]
pub struct SpillStream {
    file: Arc<SpillFile>,
    waiting: Vec<Batch>,
    waiting_bytes: usize,
    pieces: Vec<Piece>,
    rows: u64,
    bytes: u64,
}

#[derive(Debug)]
struct Piece {
    place: PieceExtent,
    rows: usize,
    columns: Vec<Shape>,
}

impl SpillStream {
    /// An empty stream, whose pieces will lie in `file`.
    pub fn new(file: &Arc<SpillFile>) -> Self {
        SpillStream {
            file: file.clone(),
            waiting: vec![],
            waiting_bytes: 0,
            pieces: vec![],
            rows: 0,
            bytes: 0,
        }
    }
    /// Rows pushed.
    pub fn rows(&self) -> u64 {
        self.rows
    }
    /// Bytes written and waiting.
    pub fn bytes(&self) -> u64 {
        self.bytes + self.waiting_bytes as u64
    }
    /// Pieces written.
    pub fn pieces(&self) -> usize {
        self.pieces.len()
    }
    /// Appends a batch, which keeps nothing alive but its own values; it may wait in memory for others.
    pub fn push(&mut self, batch: Batch) -> Result<()> {
        debug_assert!(
            self.waiting.first().is_none_or(|first| first.columns.len() == batch.columns.len()),
            "batches of a stream have the same columns"
        );
        self.rows += batch.rows as u64;
        self.waiting_bytes += batch.bytes();
        self.waiting.push(batch);
        if self.waiting_bytes >= self.file.piece_bytes { self.flush() } else { Ok(()) }
    }
    /// Writes what waits.
    pub fn flush(&mut self) -> Result<()> {
        let waiting = std::mem::take(&mut self.waiting);
        self.waiting_bytes = 0;
        match waiting.as_slice() {
            [] => Ok(()),
            [only] => self.write(&only.columns, only.rows),
            several => {
                let batch = Batch::concat(several);
                drop(waiting);
                self.write(&batch.columns, batch.rows)
            }
        }
    }
    /// Writes a piece of its own. Its columns need not be of one length.
    pub fn push_columns(&mut self, columns: &[Vector]) -> Result<()> {
        self.rows += columns.first().map_or(0, Vector::len) as u64;
        self.write(columns, 0)
    }
    fn write(&mut self, columns: &[Vector], rows: usize) -> Result<()> {
        let mut bytes = Vec::new();
        let shapes = columns.iter().map(|column| encode(column, &mut bytes)).collect();
        debug_assert!(rows == 0 || columns.iter().all(|column| column.len() == rows), "{rows} rows a column");
        let place = self.file.append(&bytes)?;
        self.bytes += bytes.len() as u64;
        self.pieces.push(Piece { place, rows, columns: shapes });
        Ok(())
    }
    /// The `at`-th piece.
    pub fn read(&self, at: usize) -> Result<Batch> {
        Ok(Batch { rows: self.pieces[at].rows, columns: self.read_columns(at)?, selection: None })
    }
    /// The columns of the `at`-th piece.
    pub fn read_columns(&self, at: usize) -> Result<Vec<Vector>> {
        let piece = &self.pieces[at];
        let bytes = self.file.read(piece.place)?;
        Ok(piece.columns.iter().map(|shape| decode(shape, &bytes)).collect())
    }
}

/// Reads a stream from its first piece to its last.
#[derive(Debug)]
pub struct SpillReader {
    stream: Arc<SpillStream>,
    next: usize,
}

impl SpillReader {
    /// A reader before the first piece; batches that were not flushed are not seen.
    pub fn new(stream: Arc<SpillStream>) -> Self {
        SpillReader { stream, next: 0 }
    }
    /// The next piece; `None` behind the last.
    #[allow(clippy::should_implement_trait)]
    pub fn next(&mut self) -> Result<Option<Batch>> {
        if self.next == self.stream.pieces() {
            return Ok(None);
        }
        self.next += 1;
        self.stream.read(self.next - 1).map(Some)
    }
}
