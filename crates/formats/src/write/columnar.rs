//! Arrow IPC streams and Parquet files, by the libraries' writers.

use std::io::{self, Write};

use arrow::array::{Array, ArrayData, RecordBatch};
use arrow_ipc::writer::StreamWriter;
use arrow_schema::{DataType, SchemaRef};
use parquet::arrow::ArrowWriter;
use parquet::basic::{Compression, GzipLevel, ZstdLevel};
use parquet::file::properties::{WriterProperties, WriterVersion};
use types::logical::DECIMAL_PRECISION_MAX;
use types::{Error, Result, Schema, SqlState, decimal};
use vector::Batch;
use vector::arrow::{arrow_schema, to_record_batch};

use super::options::{self, WriteOptions};
use super::{BatchWriter, WriteFormat, as_io};
use crate::parquet::interval;

/// The batch as it is written; error 22003 for a HUGEINT of more digits than the decimals have that stand for it.
pub(super) fn record_batch(batch: &Batch, schema: &SchemaRef) -> Result<RecordBatch> {
    let written = to_record_batch(batch, schema)?;
    for (field, column) in schema.fields().iter().zip(written.columns()) {
        if is_beyond_decimals(&column.to_data()) {
            let message = format!(
                "column \"{}\" has a value of more than {DECIMAL_PRECISION_MAX} digits, which these files do not hold",
                field.name()
            );
            return Err(Error::new(SqlState::NumericValueOutOfRange, message)
                .with_hint("write it as a text: CAST(column AS TEXT)"));
        }
    }
    Ok(written)
}

/// Whether a decimal of the greatest precision, at any depth, holds more digits than that.
fn is_beyond_decimals(data: &ArrayData) -> bool {
    if matches!(data.data_type(), DataType::Decimal128(DECIMAL_PRECISION_MAX, _)) {
        let values = &data.buffers()[0].typed_data::<i128>()[data.offset()..data.offset() + data.len()];
        let is_valid = |row: usize| data.nulls().is_none_or(|nulls| nulls.is_valid(row));
        return values
            .iter()
            .enumerate()
            .any(|(row, value)| !decimal::fits(*value, DECIMAL_PRECISION_MAX) && is_valid(row));
    }
    data.child_data().iter().any(is_beyond_decimals)
}

/// Writes batches as an Arrow IPC stream.
pub(super) struct ArrowStream<W: Write> {
    writer: StreamWriter<W>,
    schema: SchemaRef,
}

impl<W: Write> ArrowStream<W> {
    /// Writes the schema's message at once.
    pub(super) fn new(schema: &Schema, out: W) -> io::Result<Self> {
        let schema = arrow_schema(schema);
        let writer = StreamWriter::try_new(out, &schema).map_err(io::Error::other)?;
        Ok(ArrowStream { writer, schema })
    }
}

impl<W: Write> BatchWriter for ArrowStream<W> {
    fn write(&mut self, batch: &Batch) -> io::Result<()> {
        let batch = record_batch(batch, &self.schema).map_err(|e| as_io(&e))?;
        self.writer.write(&batch).map_err(io::Error::other)
    }
    fn finish(mut self: Box<Self>) -> io::Result<()> {
        self.writer.finish().map_err(io::Error::other)?;
        self.writer.get_mut().flush()
    }
}

/// The options as settings of the Parquet writer: compression and rows of a row group.
pub(super) fn properties(options: &WriteOptions) -> WriterProperties {
    let compression = match options.compression {
        options::Compression::None => Compression::UNCOMPRESSED,
        options::Compression::Gzip => Compression::GZIP(GzipLevel::default()),
        options::Compression::Zstd => Compression::ZSTD(ZstdLevel::default()),
        options::Compression::Snappy => Compression::SNAPPY,
        options::Compression::Lz4 => Compression::LZ4_RAW,
    };
    let version = match options.second_version {
        true => WriterVersion::PARQUET_2_0,
        false => WriterVersion::PARQUET_1_0,
    };
    WriterProperties::builder()
        .set_writer_version(version)
        .set_compression(compression)
        .set_max_row_group_row_count(Some(options.group_rows))
        .set_created_by(concat!("quickstep ", env!("CARGO_PKG_VERSION")).to_owned())
        .build()
}

/// Writes batches as a Parquet file with the usual options, on one thread.
pub(super) struct ParquetFile<W: Write + Send> {
    writer: ArrowWriter<W>,
    schema: SchemaRef,
    /// The schema as the writer takes it.
    written: SchemaRef,
}

impl<W: Write + Send> ParquetFile<W> {
    /// Begins a file; an error when a type cannot be written.
    pub(super) fn new(schema: &Schema, out: W) -> io::Result<Self> {
        let schema = arrow_schema(schema);
        let properties = properties(&WriteOptions::of(WriteFormat::Parquet));
        let (written, options) = interval::writing(&schema, properties, None).map_err(io::Error::other)?;
        let writer = ArrowWriter::try_new_with_options(out, written.clone(), options);
        Ok(ParquetFile { writer: writer.map_err(io::Error::other)?, schema, written })
    }
}

impl<W: Write + Send> BatchWriter for ParquetFile<W> {
    fn write(&mut self, batch: &Batch) -> io::Result<()> {
        let batch = record_batch(batch, &self.schema).map_err(|e| as_io(&e))?;
        let batch = interval::written(batch, &self.written).map_err(|e| as_io(&e))?;
        self.writer.write(&batch).map_err(io::Error::other)
    }
    fn finish(self: Box<Self>) -> io::Result<()> {
        self.writer.close().map_err(io::Error::other)?;
        Ok(())
    }
}
