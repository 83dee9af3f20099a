//! Rows of the host program that come one batch after the other, and once: what a reader of Arrow batches, a
//! generator or a running query gives. They are asked for as queries need them, and kept, so that later queries read
//! them again.
//!
//! Invariant: a batch is asked for once, by one thread, and in order; the place of a batch in the list never changes.
//! What does not fit the memory allowed goes to an unnamed file. `held` hands these rows out under a name.

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::sync::{Arc, Mutex, PoisonError};

use arrow_array::{RecordBatch, RecordBatchReader};
use arrow_ipc::reader::StreamReader;
use arrow_ipc::writer::StreamWriter;
use arrow_schema::SchemaRef;
use types::{Error, Result, SqlState};

/// Makes the file for batches beyond the memory allowed; `None` where there is no place for one, and then too many
/// rows are an error.
pub type Overflow = Box<dyn Fn() -> Option<Result<File>> + Send + Sync>;

/// Batches that come once, and are kept.
pub(crate) struct Live {
    schema: SchemaRef,
    /// What the rows are called in errors.
    label: String,
    bytes_max: u64,
    overflow: Overflow,
    state: Mutex<State>,
}

struct State {
    /// `None` after the last batch, and after a failure.
    source: Option<Box<dyn RecordBatchReader + Send>>,
    kept: Vec<Kept>,
    /// Bytes of the batches in memory.
    bytes: u64,
    file: Option<Arc<File>>,
    file_bytes: u64,
    failure: Option<Error>,
}

#[derive(Clone)]
enum Kept {
    Memory(RecordBatch),
    /// Where in the file, and how many bytes.
    File(Arc<File>, u64, usize),
}

impl std::fmt::Debug for Live {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Live")
    }
}

impl Live {
    /// The rows of `source`. At most `bytes_max` bytes of batches stay in memory; the rest goes to the file that
    /// `overflow` makes. No batch is asked for yet.
    pub(crate) fn new(
        source: Box<dyn RecordBatchReader + Send>,
        label: &str,
        bytes_max: u64,
        overflow: Overflow,
    ) -> Self {
        let schema = source.schema();
        let state = State {
            source: Some(source),
            kept: Vec::new(),
            bytes: 0,
            file: None,
            file_bytes: 0,
            failure: None,
        };
        Live { schema, label: label.to_owned(), bytes_max, overflow, state: Mutex::new(state) }
    }

    /// The schema that the source states; every batch must have as many columns.
    pub(crate) fn schema(&self) -> &SchemaRef {
        &self.schema
    }

    /// The batch at that place; `None` behind the last one. Waits for the host where it has not come yet.
    pub(crate) fn batch(&self, at: usize) -> Result<Option<RecordBatch>> {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        while state.kept.len() <= at {
            if let Some(failure) = &state.failure {
                return Err(failure.clone());
            }
            let Some(source) = &mut state.source else { return Ok(None) };
            match source.next() {
                Some(Ok(batch)) if batch.schema_ref().fields().len() != self.schema.fields().len() => {
                    state.failure = Some(self.failed("a batch has other columns than the first one"));
                }
                Some(Ok(batch)) => {
                    if let Err(error) = self.keep(&mut state, batch) {
                        state.failure = Some(error);
                    }
                }
                Some(Err(error)) => state.failure = Some(self.failed(&error.to_string())),
                None => state.source = None,
            }
            if state.failure.is_some() {
                state.source = None;
            }
        }
        let kept = state.kept[at].clone();
        drop(state);
        match kept {
            Kept::Memory(batch) => Ok(Some(batch)),
            Kept::File(file, offset, length) => self.read(&file, offset, length).map(Some),
        }
    }

    fn failed(&self, what: &str) -> Error {
        Error::new(SqlState::ExternalRoutineException, format!("cannot read \"{}\": {what}", self.label))
    }

    fn keep(&self, state: &mut State, batch: RecordBatch) -> Result<()> {
        let size =
            |column: &arrow_array::ArrayRef| column.to_data().get_slice_memory_size().unwrap_or(0) as u64;
        let bytes: u64 = batch.columns().iter().map(size).sum();
        if state.bytes + bytes <= self.bytes_max || state.kept.is_empty() {
            state.bytes += bytes;
            state.kept.push(Kept::Memory(batch));
            return Ok(());
        }
        if state.file.is_none() {
            state.file = (self.overflow)().transpose()?.map(Arc::new);
        }
        let Some(file) = state.file.clone() else {
            let message = format!("the rows of \"{}\" do not fit the memory that is allowed", self.label);
            return Err(Error::new(SqlState::OutOfMemory, message)
                .with_hint("SET temp_directory to a folder that they can be put into"));
        };
        let mut encoded = Vec::new();
        let written = StreamWriter::try_new(&mut encoded, &self.schema)
            .and_then(|mut writer| writer.write(&batch).and_then(|()| writer.finish()));
        written.map_err(|error| self.failed(&error.to_string()))?;
        file.write_all_at(&encoded, state.file_bytes).map_err(|error| self.file_failed(&error))?;
        state.kept.push(Kept::File(file, state.file_bytes, encoded.len()));
        state.file_bytes += encoded.len() as u64;
        Ok(())
    }

    fn read(&self, file: &File, offset: u64, length: usize) -> Result<RecordBatch> {
        let mut encoded = vec![0; length];
        file.read_exact_at(&mut encoded, offset).map_err(|error| self.file_failed(&error))?;
        let batch = StreamReader::try_new(encoded.as_slice(), None).map(|mut reader| reader.next());
        match batch {
            Ok(Some(Ok(batch))) => Ok(batch),
            Ok(Some(Err(error))) | Err(error) => Err(self.failed(&error.to_string())),
            Ok(None) => Err(Error::internal("a batch that was put into a file is not there")),
        }
    }

    fn file_failed(&self, error: &std::io::Error) -> Error {
        let message = format!("rows of \"{}\" and a temporary file: {error}", self.label);
        Error::new(SqlState::IoError, message)
    }
}
