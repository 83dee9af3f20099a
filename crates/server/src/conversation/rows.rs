//! Rows: from the engine's batches to the bytes of the protocol.

use std::sync::Arc;

use engine::{Batch, ResultStream, Schema};
use pgproto::rows::RowEncoder;
use pgproto::{ColumnDescription, Format, MessageBuffer, TextEnums};
use types::{Result, Type, Zone};

use super::Conversation;
use super::output::{CHUNK_BYTES, Output};

/// Appends RowDescription.
pub fn describe(columns: &Schema, formats: &[Format], out: &mut MessageBuffer) -> Result<()> {
    let described = columns.fields().iter().zip(formats);
    let described: Vec<ColumnDescription<'_>> =
        described.map(|(field, format)| ColumnDescription::of_field(field, *format, &TextEnums)).collect();
    out.row_description(&described)
}

/// Sends the rows of one result.
pub struct Sender {
    encoder: RowEncoder,
    /// How many were sent.
    pub rows: u64,
}

impl Sender {
    /// Of a result with these columns, in these formats; instants are shown in a time zone.
    pub fn new(columns: &Schema, formats: &[Format], zone: Zone) -> Result<Sender> {
        let types: Vec<Type> = columns.fields().iter().map(|field| field.ty).collect();
        Ok(Sender { encoder: RowEncoder::data_rows(&types, formats, zone)?, rows: 0 })
    }

    /// Sends a batch, as far as the client takes it.
    pub fn send(&mut self, batch: &Batch, output: &Output) -> Result<()> {
        let mut pending = self.encoder.begin(batch);
        while !pending.is_done() {
            self.encoder.append(&mut pending, &TextEnums, CHUNK_BYTES, &mut output.messages())?;
            output.relieve()?;
        }
        self.rows += batch.rows as u64;
        Ok(())
    }
}

impl Conversation {
    /// Describes and sends all rows of a result, as texts; gives its tag.
    pub(super) fn send_all(&mut self, mut stream: ResultStream) -> Result<String> {
        let columns = stream.schema().clone();
        let formats = vec![Format::Text; columns.len()];
        describe(&columns, &formats, &mut self.output.messages())?;
        let mut sender = Sender::new(&columns, &formats, stream.time_zone())?;
        let output: Arc<Output> = self.output.clone();
        while let Some(batch) = stream.next_batch()? {
            sender.send(&batch, &output)?;
        }
        Ok(match stream.tag() {
            // Of a query that ran while its rows were sent.
            "SELECT" => format!("SELECT {}", sender.rows),
            tag => tag.to_owned(),
        })
    }
}
