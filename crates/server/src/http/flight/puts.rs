//! Batches that a client sends: decoded by the job that uses them, as they come.
//!
//! ```text
//!  the connection --> a handler: messages --channel of 2--> Puts, in a job: checked, decoded --> record batches
//! ```
//! The bytes are anybody's. What a message announces is looked at before the library decodes it: compressed bodies are
//! refused, whose length when unpacked is whatever they say, and so are rows without bytes beyond what a column of NULLs
//! has. A decoder that panics ends the job alone. Without the end that the client has said, rows are no whole.

use std::collections::HashMap;
use std::sync::Arc;

use arrow_array::{ArrayRef, RecordBatch};
use arrow_flight::FlightData;
use arrow_flight::utils::flight_data_to_arrow_batch;
use arrow_ipc::{MessageHeader, convert, reader};
use arrow_schema::{Schema, SchemaRef};
use engine::{Error, Result, SqlState};
use futures_util::{Stream, StreamExt};
use tokio::sync::mpsc;
use tonic::Status;

use crate::executor::Executor;

/// Messages that wait for the job.
const MESSAGES_MAX: usize = 2;
/// Rows of a batch that have no bytes.
const BARE_ROWS_MAX: i64 = 1 << 16;

enum Piece {
    Message(FlightData),
    End,
}

/// What a client sends, for a job.
pub struct Puts {
    pieces: mpsc::Receiver<Piece>,
    executor: Executor,
    schema: Option<SchemaRef>,
    dictionaries: HashMap<i64, ArrayRef>,
    ended: bool,
}

/// Brings messages to the job.
pub struct Feed(mpsc::Sender<Piece>);

impl Puts {
    /// For a job of this executor.
    pub fn new(executor: Executor) -> (Feed, Puts) {
        let (sender, pieces) = mpsc::channel(MESSAGES_MAX);
        let puts = Puts { pieces, executor, schema: None, dictionaries: HashMap::new(), ended: false };
        (Feed(sender), puts)
    }

    /// The schema, which comes first; `None` where nothing has come.
    pub fn schema(&mut self) -> Result<Option<SchemaRef>> {
        while self.schema.is_none() && !self.ended {
            if let Some(batch) = self.step()? {
                drop(batch);
            }
        }
        Ok(self.schema.clone())
    }

    /// The next rows; `None` after the last.
    pub fn next(&mut self) -> Result<Option<RecordBatch>> {
        while !self.ended {
            if let Some(batch) = self.step()? {
                return Ok(Some(batch));
            }
        }
        Ok(None)
    }

    /// Takes a message; gives the rows, if it has some.
    fn step(&mut self) -> Result<Option<RecordBatch>> {
        let piece = match self.pieces.try_recv() {
            Ok(piece) => Some(piece),
            Err(mpsc::error::TryRecvError::Disconnected) => None,
            Err(mpsc::error::TryRecvError::Empty) => {
                let pieces = &mut self.pieces;
                self.executor.client_wait(|| pieces.blocking_recv())
            }
        };
        match piece {
            // The library takes some of what it finds wrong for a reason to panic.
            Some(Piece::Message(message)) => formats::quiet::caught(|| self.decode(&message))
                .unwrap_or_else(|_| Err(malformed(&"it is malformed"))),
            Some(Piece::End) => {
                self.ended = true;
                Ok(None)
            }
            None => Err(Error::new(SqlState::QueryCanceled, "the client has gone away before its last row")),
        }
    }

    fn decode(&mut self, data: &FlightData) -> Result<Option<RecordBatch>> {
        // A message that has a descriptor or metadata alone.
        if data.data_header.is_empty() {
            return Ok(None);
        }
        let message = arrow_ipc::root_as_message(&data.data_header).map_err(|error| malformed(&error))?;
        let bytes = data.data_body.len() as i64;
        match message.header_type() {
            MessageHeader::Schema => {
                let schema = message.header_as_schema().ok_or_else(|| malformed(&"no schema"))?;
                if self.schema.is_some() {
                    return Err(malformed(&"a second schema"));
                }
                self.schema = Some(Arc::new(convert::fb_to_schema(schema)));
                Ok(None)
            }
            MessageHeader::DictionaryBatch => {
                let dictionary = message.header_as_dictionary_batch();
                let dictionary = dictionary.ok_or_else(|| malformed(&"no dictionary"))?;
                let rows = dictionary.data().ok_or_else(|| malformed(&"a dictionary without values"))?;
                check(&rows, bytes)?;
                let schema = self.known()?;
                let body = arrow_ipc_buffer(data);
                let version = message.version();
                reader::read_dictionary(&body, dictionary, &schema, &mut self.dictionaries, &version)
                    .map_err(|error| malformed(&error))?;
                Ok(None)
            }
            MessageHeader::RecordBatch => {
                let rows = message.header_as_record_batch().ok_or_else(|| malformed(&"no rows"))?;
                check(&rows, bytes)?;
                let schema = self.known()?;
                let batch = flight_data_to_arrow_batch(data, schema, &self.dictionaries);
                batch.map(Some).map_err(|error| malformed(&error))
            }
            other => Err(malformed(&format!("a message of kind {other:?}"))),
        }
    }

    fn known(&self) -> Result<SchemaRef> {
        let missing = || Error::new(SqlState::ProtocolViolation, "rows have come before their schema");
        self.schema.clone().ok_or_else(missing)
    }
}

fn malformed(error: &dyn std::fmt::Display) -> Error {
    Error::new(SqlState::ProtocolViolation, format!("what was sent is no Arrow data: {error}"))
}

fn arrow_ipc_buffer(data: &FlightData) -> arrow_buffer::Buffer {
    arrow_buffer::Buffer::from(data.data_body.clone())
}

/// Refuses what would be far larger in memory than it is here.
fn check(rows: &arrow_ipc::RecordBatch<'_>, bytes: i64) -> Result<()> {
    if rows.compression().is_some() {
        return Err(
            Error::unsupported("compressed Arrow data is not taken").with_hint("send it uncompressed")
        );
    }
    let most = BARE_ROWS_MAX + 8 * bytes;
    let nodes = rows.nodes().into_iter().flatten().map(|node| node.length());
    match nodes.chain([rows.length()]).all(|length| (0..=most).contains(&length)) {
        true => Ok(()),
        false => Err(Error::new(SqlState::ProtocolViolation, "a batch has more rows than bytes for them")),
    }
}

impl Feed {
    /// Hands on all that a client sends, and its end.
    pub async fn all(
        self,
        mut messages: impl Stream<Item = std::result::Result<FlightData, Status>> + Unpin,
    ) -> std::result::Result<(), Status> {
        while let Some(message) = messages.next().await {
            if self.0.send(Piece::Message(message?)).await.is_err() {
                // The job has ended: it has an answer.
                return Ok(());
            }
        }
        // A client that has left looks here as one that has said its last. hyper drops the call of one that has left when it
        // next waits, so it waits once before the rows are taken for all.
        tokio::task::yield_now().await;
        _ = self.0.send(Piece::End).await;
        Ok(())
    }
}

/// The parameters' names and types, as clients are told them.
pub fn parameter_schema(names: &[String], types: &[engine::Type]) -> Schema {
    let field = |(at, ty): (usize, &engine::Type)| {
        let name = names.get(at).cloned().unwrap_or_else(|| format!("${}", at + 1));
        arrow_schema::Field::new(name, engine::arrow_type(*ty), true)
    };
    let schema = Schema::new(types.iter().enumerate().map(field).collect::<Vec<_>>());
    super::encode::sent_schema(&schema).as_ref().clone()
}
