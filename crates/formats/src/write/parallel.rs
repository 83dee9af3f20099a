//! A result cut into pieces that several threads encode, put together in order: row groups of a Parquet file, stretches
//! of rows of a text. A text's pieces are compressed apart; what gzip and zstd unpack is all of them, one after another.

use std::io::{self, Write};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;
use parquet::arrow::ArrowWriter;
use parquet::arrow::arrow_writer::{ArrowColumnChunk, ArrowRowGroupWriterFactory, compute_leaves};
use types::{Error, Result, Schema, SqlState};
use vector::Batch;
use vector::arrow::{arrow_schema, to_record_batch};

use super::options::{Compression, WriteOptions};
use super::{BatchWriter, WriteFormat, columnar, delimited, json};

/// Rows of a piece of text.
const PIECE_ROWS: usize = 1 << 16;

/// What a long write asks now and then: has the statement been stopped?
pub type GoOn<'a> = dyn Fn() -> Result<()> + 'a;

/// Writes everything, encoded by at most so many threads.
pub fn write_parallel(
    options: &WriteOptions,
    schema: &Schema,
    batches: &[Batch],
    out: &mut (impl Write + Send),
    threads: usize,
    go_on: &GoOn<'_>,
) -> Result<()> {
    let text = |e: io::Error| Error::new(SqlState::IoError, e.to_string());
    match options.format {
        WriteFormat::Parquet => parquet_file(options, schema, batches, out, threads, go_on),
        WriteFormat::Arrow => {
            let mut writer = columnar::ArrowStream::new(schema, &mut *out).map_err(text)?;
            for batch in batches {
                go_on()?;
                writer.write(batch).map_err(text)?;
            }
            Box::new(writer).finish().map_err(text)
        }
        WriteFormat::Csv | WriteFormat::Tsv | WriteFormat::Json | WriteFormat::Ndjson => {
            let pieces = pieces(batches, PIECE_ROWS);
            let count = pieces.len().max(1);
            let encode = |at: usize| -> Result<Vec<u8>> {
                let rows = pieces.get(at).map_or(&[][..], Vec::as_slice);
                let mut bytes = Vec::new();
                let ends = (at == 0, at + 1 == count);
                let write = || piece_of_text(options, schema, rows, ends, &mut bytes);
                types::zone::within(options.time_zone, write).map_err(text)?;
                compressed(bytes, options.compression).map_err(text)
            };
            in_order(count, threads, go_on, encode, |bytes| out.write_all(&bytes).map_err(text))?;
            out.flush().map_err(text)
        }
    }
}

/// Batches in stretches of about so many rows.
fn pieces(batches: &[Batch], rows: usize) -> Vec<Vec<Batch>> {
    let mut pieces: Vec<Vec<Batch>> = Vec::new();
    let mut room = 0;
    for batch in batches {
        let mut from = 0;
        while from < batch.rows {
            if room == 0 {
                pieces.push(Vec::new());
                room = rows;
            }
            let count = room.min(batch.rows - from);
            if let Some(piece) = pieces.last_mut() {
                piece.push(batch.slice(from, count));
            }
            (from, room) = (from + count, room - count);
        }
    }
    pieces
}

fn piece_of_text(
    options: &WriteOptions,
    schema: &Schema,
    batches: &[Batch],
    (first, last): (bool, bool),
    out: &mut Vec<u8>,
) -> io::Result<()> {
    let mut writer: Box<dyn BatchWriter + '_> = match options.format {
        WriteFormat::Json => Box::new(json::Json::part_of_array(schema, out, first, last)),
        WriteFormat::Ndjson => Box::new(json::Json::lines(schema, out)),
        _ => Box::new(delimited::Delimited::with(schema, out, options, first && options.header)?),
    };
    for batch in batches {
        writer.write(batch)?;
    }
    writer.finish()
}

fn compressed(bytes: Vec<u8>, compression: Compression) -> io::Result<Vec<u8>> {
    match compression {
        Compression::Gzip => {
            let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
            encoder.write_all(&bytes)?;
            encoder.finish()
        }
        Compression::Zstd => zstd::bulk::compress(&bytes, 3),
        Compression::None | Compression::Snappy | Compression::Lz4 => Ok(bytes),
    }
}

/// Makes `count` pieces on several threads, some ahead of those that are taken, and takes them in order on this one.
fn in_order<T: Send>(
    count: usize,
    threads: usize,
    go_on: &GoOn<'_>,
    make: impl Fn(usize) -> Result<T> + Sync,
    mut take: impl FnMut(T) -> Result<()>,
) -> Result<()> {
    let wave = threads.max(1) * 2;
    let mut from = 0;
    while from < count {
        go_on()?;
        let to = (from + wave).min(count);
        let made: Vec<Mutex<Option<Result<T>>>> = (from..to).map(|_| Mutex::new(None)).collect();
        let next = AtomicUsize::new(from);
        let work = || {
            loop {
                let at = next.fetch_add(1, Ordering::Relaxed);
                let Some(slot) = at.checked_sub(from).and_then(|i| made.get(i)) else { return };
                let piece = make(at);
                if let Ok(mut slot) = slot.lock() {
                    *slot = Some(piece);
                }
            }
        };
        std::thread::scope(|scope| {
            for _ in 1..threads.min(to - from) {
                // Without another thread this one does it all.
                let _ = std::thread::Builder::new().spawn_scoped(scope, work);
            }
            work();
        });
        for slot in made {
            let piece = slot.into_inner().ok().flatten();
            take(piece.ok_or_else(|| Error::internal("a piece of a file was not made"))??)?;
        }
        from = to;
    }
    Ok(())
}

fn parquet_file(
    options: &WriteOptions,
    schema: &Schema,
    batches: &[Batch],
    out: &mut (impl Write + Send),
    threads: usize,
    go_on: &GoOn<'_>,
) -> Result<()> {
    let failed = |e: parquet::errors::ParquetError| Error::new(SqlState::IoError, e.to_string());
    let arrow = arrow_schema(schema);
    let properties = columnar::properties(options);
    let writer = ArrowWriter::try_new(out, arrow.clone(), Some(properties)).map_err(failed)?;
    let (mut file, factory) = writer.into_serialized_writer().map_err(failed)?;
    let groups = pieces(batches, options.group_rows);
    let encode = |at: usize| row_group(&factory, &arrow, at, &groups[at]);
    in_order(groups.len(), threads, go_on, encode, |chunks| {
        let mut group = file.next_row_group().map_err(failed)?;
        for chunk in chunks {
            chunk.append_to_row_group(&mut group).map_err(failed)?;
        }
        group.close().map(|_| ()).map_err(failed)
    })?;
    file.close().map(|_| ()).map_err(failed)
}

fn row_group(
    factory: &ArrowRowGroupWriterFactory,
    schema: &SchemaRef,
    number: usize,
    batches: &[Batch],
) -> Result<Vec<ArrowColumnChunk>> {
    let failed = |e: parquet::errors::ParquetError| Error::new(SqlState::IoError, e.to_string());
    let mut writers = factory.create_column_writers(number).map_err(failed)?;
    for batch in batches {
        let batch: RecordBatch = to_record_batch(batch, schema)?;
        // A writer for each leaf: a struct has one a field, a map two.
        let mut leaves = writers.iter_mut();
        for (field, array) in schema.fields().iter().zip(batch.columns()) {
            for leaf in compute_leaves(field, array).map_err(failed)? {
                let writer = leaves.next().ok_or_else(|| Error::internal("a leaf without a writer"))?;
                writer.write(&leaf).map_err(failed)?;
            }
        }
    }
    writers.into_iter().map(|writer| writer.close().map_err(failed)).collect()
}
