//! Rows as messages of Flight.
//!
//! Texts leave as Utf8 and not as views, dictionaries as their values: every client reads these, a message then has the
//! bytes of its own rows alone (a view's buffers are sent whole, however few of its rows are), and no dictionary has to be
//! kept at both ends. Columns are all nullable, so that the schema that was announced before a query ran is the one that
//! its rows have.

use std::sync::Arc;

use arrow_array::{ArrayRef, RecordBatch, RecordBatchOptions};
use arrow_cast::cast;
use arrow_flight::{FlightData, SchemaAsIpc};
use arrow_ipc::writer::{DictionaryTracker, IpcDataGenerator, IpcWriteContext, IpcWriteOptions};
use arrow_schema::{DataType, Field, FieldRef, Fields, Schema, SchemaRef};
use engine::{Error, Result};

/// Bytes of a message's rows, about: gRPC's clients take 4 MB where they are not told otherwise.
const MESSAGE_BYTES: usize = 2 << 20;

/// A schema as it is sent.
pub fn sent_schema(schema: &Schema) -> SchemaRef {
    let field = |field: &FieldRef| sent_field(field).with_nullable(true);
    let fields: Vec<Field> = schema.fields().iter().map(field).collect();
    Arc::new(Schema::new(fields))
}

fn sent_field(field: &Field) -> Field {
    let sent = Field::new(field.name(), sent_type(field.data_type()), field.is_nullable());
    sent.with_metadata(field.metadata().clone())
}

fn sent_type(ty: &DataType) -> DataType {
    let inner = |field: &FieldRef| Arc::new(sent_field(field));
    match ty {
        DataType::Utf8View => DataType::Utf8,
        DataType::BinaryView => DataType::Binary,
        DataType::Dictionary(_, values) => sent_type(values),
        DataType::List(field) => DataType::List(inner(field)),
        DataType::LargeList(field) => DataType::LargeList(inner(field)),
        DataType::FixedSizeList(field, length) => DataType::FixedSizeList(inner(field), *length),
        DataType::Map(field, sorted) => DataType::Map(inner(field), *sorted),
        DataType::Struct(fields) => DataType::Struct(fields.iter().map(inner).collect::<Fields>()),
        other => other.clone(),
    }
}

/// Makes messages of batches of one schema.
pub struct Encoder {
    schema: SchemaRef,
    generator: IpcDataGenerator,
    dictionaries: DictionaryTracker,
    options: IpcWriteOptions,
    context: IpcWriteContext,
}

impl Encoder {
    /// For rows of this schema, which is one that [`sent_schema`] has made.
    pub fn new(schema: SchemaRef) -> Encoder {
        Encoder {
            schema,
            generator: IpcDataGenerator::default(),
            dictionaries: DictionaryTracker::new(true),
            options: IpcWriteOptions::default(),
            context: IpcWriteContext::default(),
        }
    }

    /// The message that goes before all rows.
    pub fn schema(&self) -> FlightData {
        SchemaAsIpc::new(&self.schema, &self.options).into()
    }

    /// Hands on the messages of a batch.
    pub fn each(
        &mut self,
        batch: &RecordBatch,
        mut send: impl FnMut(FlightData) -> Result<()>,
    ) -> Result<()> {
        let failed =
            |error: arrow_schema::ArrowError| Error::internal(format!("rows cannot be sent: {error}"));
        let columns = batch.columns().iter().zip(self.schema.fields());
        let columns = columns.map(|(column, field)| match column.data_type() == field.data_type() {
            true => Ok(column.clone()),
            false => cast(column, field.data_type()),
        });
        let columns = columns.collect::<std::result::Result<Vec<ArrayRef>, _>>().map_err(failed)?;
        let options = RecordBatchOptions::new().with_row_count(Some(batch.num_rows()));
        let batch =
            RecordBatch::try_new_with_options(self.schema.clone(), columns, &options).map_err(failed)?;
        let bytes: usize = batch.columns().iter().map(|column| column.get_buffer_memory_size()).sum();
        let rows = (batch.num_rows() / bytes.div_ceil(MESSAGE_BYTES).max(1)).max(1);
        for from in (0..batch.num_rows()).step_by(rows) {
            let part = batch.slice(from, rows.min(batch.num_rows() - from));
            let (dictionaries, rows) = self
                .generator
                .encode(&part, &mut self.dictionaries, &self.options, &mut self.context)
                .map_err(failed)?;
            dictionaries.into_iter().try_for_each(|dictionary| send(dictionary.into()))?;
            send(rows.into())?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use arrow_array::cast::AsArray;
    use arrow_array::{Array, DictionaryArray, StringViewArray, types::Int32Type};
    use arrow_flight::utils::flight_data_to_batches;

    use super::*;

    #[test]
    fn rows_leave_in_messages_of_bounded_size_and_come_back() {
        let texts: Vec<String> = (0..5000).map(|row| format!("{row} {}", "x".repeat(2000))).collect();
        let views: ArrayRef = Arc::new(StringViewArray::from_iter_values(&texts));
        let labels: DictionaryArray<Int32Type> = texts.iter().map(|text| &text[..3]).collect();
        let schema = Schema::new(vec![
            Field::new("views", DataType::Utf8View, false),
            Field::new("labels", labels.data_type().clone(), true),
        ]);
        let labels: ArrayRef = Arc::new(labels);
        let batch = RecordBatch::try_new(Arc::new(schema), vec![views, labels]).unwrap();
        let mut encoder = Encoder::new(sent_schema(&batch.schema()));
        let mut messages = vec![encoder.schema()];
        encoder.each(&batch, |message| Ok(messages.push(message))).unwrap();
        assert!(messages.len() >= 5 && messages.iter().all(|message| message.data_body.len() < 3 << 20));
        let back = flight_data_to_batches(&messages).unwrap();
        let mut read = back.iter().flat_map(|batch| {
            let texts = batch.column(0).as_string::<i32>();
            assert!(batch.column(1).as_string::<i32>().value(0) == &texts.value(0)[..3]);
            (0..texts.len()).map(|row| texts.value(row).to_owned()).collect::<Vec<_>>()
        });
        assert!(texts.iter().all(|text| read.next().as_ref() == Some(text)) && read.next().is_none());
    }
}
