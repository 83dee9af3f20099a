//! A result cut into pieces that several threads encode, put together in order: row groups of a Parquet file,
//! stretches of rows of a text. A text's pieces are compressed apart; what gzip and zstd unpack is all of them, one
//! after another.
//!
//! The calling thread pulls rows and cuts them into pieces, two for each thread; all threads encode these, and the
//! calling thread writes them in order before it pulls more rows. The bytes written do not depend on the number of
//! threads. The first error in the order of the pieces ends the write. `target` calls `write_parallel`, once for each
//! file.

use std::io::{self, Write};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;
use parquet::arrow::ArrowWriter;
use parquet::arrow::arrow_writer::{ArrowColumnChunk, ArrowRowGroupWriterFactory, compute_leaves};
use types::stop::{self, Place};
use types::{Error, Result, Schema, SqlState};
use vector::Batch;
use vector::arrow::arrow_schema;

use super::options::{Compression, WriteOptions};
use super::{BatchWriter, WriteFormat, columnar, delimited, json};
use crate::parquet::interval;
use crate::remote::from_io;

/// Rows of a piece of text.
const PIECE_ROWS: usize = 1 << 16;

/// Called between the steps of a long write; an error when the statement has been stopped.
pub type GoOn<'a> = dyn Fn() -> Result<()> + 'a;
/// Gives the rows that are written, batch by batch, until there are no more.
pub type NextBatch<'a> = dyn FnMut() -> Result<Option<Batch>> + 'a;

/// Writes everything, encoded by at most so many threads. Of the rows, some pieces for each thread are in memory.
pub fn write_parallel(
    options: &WriteOptions,
    schema: &Schema,
    rows: &mut NextBatch<'_>,
    out: &mut (impl Write + Send),
    threads: usize,
    go_on: &GoOn<'_>,
) -> Result<()> {
    let text = |e: io::Error| from_io(&e).unwrap_or_else(|| Error::new(SqlState::IoError, e.to_string()));
    match options.format {
        WriteFormat::Parquet => parquet_file(options, schema, rows, out, threads, go_on),
        WriteFormat::Arrow => {
            let mut writer = columnar::ArrowStream::new(schema, &mut *out).map_err(text)?;
            while let Some(batch) = rows()? {
                go_on()?;
                writer.write(&batch).map_err(text)?;
            }
            Box::new(writer).finish().map_err(text)
        }
        WriteFormat::Csv | WriteFormat::Tsv | WriteFormat::Json | WriteFormat::Ndjson => {
            let mut pieces = Pieces::new(rows, PIECE_ROWS, options.piece_bytes);
            // A file without rows still has its heading.
            pieces.at_least_one = true;
            let encode = |piece: &Piece| -> Result<Vec<u8>> {
                let mut bytes = Vec::new();
                let ends = (piece.number == 0, piece.last);
                let write = || piece_of_text(options, schema, &piece.batches, ends, &mut bytes);
                types::zone::within(options.time_zone, write).map_err(text)?;
                compressed(bytes, options.compression).map_err(text)
            };
            in_order(&mut pieces, threads, go_on, encode, |bytes| out.write_all(&bytes).map_err(text))?;
            out.flush().map_err(text)
        }
    }
}

/// Batches that are encoded together.
struct Piece {
    number: usize,
    batches: Vec<Batch>,
    last: bool,
}

/// Cuts rows into pieces of so many rows and about so many bytes, at most.
struct Pieces<'n, 'r> {
    next: &'n mut NextBatch<'r>,
    rows_max: usize,
    bytes_max: usize,
    /// What is left of the last batch.
    rest: Option<Batch>,
    /// Read one piece ahead, so that the last one is known.
    ahead: Option<Vec<Batch>>,
    number: usize,
    at_least_one: bool,
}

impl<'n, 'r> Pieces<'n, 'r> {
    fn new(next: &'n mut NextBatch<'r>, rows_max: usize, bytes_max: usize) -> Self {
        Pieces { next, rows_max, bytes_max, rest: None, ahead: None, number: 0, at_least_one: false }
    }

    fn read(&mut self) -> Result<Vec<Batch>> {
        let (mut batches, mut rows, mut bytes) = (Vec::new(), 0, 0);
        while rows < self.rows_max && bytes < self.bytes_max {
            let batch = match self.rest.take() {
                Some(batch) => batch,
                None => match (self.next)()? {
                    Some(batch) => batch,
                    None => break,
                },
            };
            if batch.rows == 0 {
                continue;
            }
            let a_row = (batch.bytes() / batch.rows).max(1);
            let room = ((self.bytes_max - bytes) / a_row).max(1).min(self.rows_max - rows);
            let count = room.min(batch.rows);
            if count < batch.rows {
                self.rest = Some(batch.slice(count, batch.rows - count));
            }
            rows += count;
            bytes += count * a_row;
            batches.push(if count < batch.rows { batch.slice(0, count) } else { batch });
        }
        Ok(batches)
    }

    fn next(&mut self) -> Result<Option<Piece>> {
        let batches = match self.ahead.take() {
            Some(batches) => batches,
            None => self.read()?,
        };
        if batches.is_empty() && !(self.at_least_one && self.number == 0) {
            return Ok(None);
        }
        let ahead = if batches.is_empty() { vec![] } else { self.read()? };
        let piece = Piece { number: self.number, batches, last: ahead.is_empty() };
        self.number += 1;
        self.ahead = Some(ahead);
        Ok(Some(piece))
    }
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
        stop::check(Place::Write).map_err(io::Error::other)?;
        writer.write(batch)?;
    }
    writer.finish()
}

/// Compressing a byte takes ten nanoseconds or more.
fn write_in_parts(bytes: &[u8], out: &mut impl Write) -> io::Result<()> {
    for part in bytes.chunks(1 << 20) {
        stop::check(Place::Write).map_err(io::Error::other)?;
        out.write_all(part)?;
    }
    Ok(())
}

fn compressed(bytes: Vec<u8>, compression: Compression) -> io::Result<Vec<u8>> {
    match compression {
        Compression::Gzip => {
            let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
            write_in_parts(&bytes, &mut encoder)?;
            encoder.finish()
        }
        Compression::Zstd => {
            let mut encoder = zstd::stream::write::Encoder::new(Vec::new(), 3)?;
            write_in_parts(&bytes, &mut encoder)?;
            encoder.finish()
        }
        Compression::None | Compression::Snappy | Compression::Lz4 => Ok(bytes),
    }
}

/// Encodes pieces on several threads, some ahead of those that are written, and hands them on in order on this one.
fn in_order<T: Send>(
    pieces: &mut Pieces<'_, '_>,
    threads: usize,
    go_on: &GoOn<'_>,
    encode: impl Fn(&Piece) -> Result<T> + Sync,
    mut write: impl FnMut(T) -> Result<()>,
) -> Result<()> {
    let wave = threads.max(1) * 2;
    loop {
        go_on()?;
        let mut waiting: Vec<(Piece, Mutex<Option<Result<T>>>)> = Vec::with_capacity(wave);
        while waiting.len() < wave {
            match pieces.next()? {
                Some(piece) => waiting.push((piece, Mutex::new(None))),
                None => break,
            }
        }
        if waiting.is_empty() {
            return Ok(());
        }
        let next = AtomicUsize::new(0);
        let work = || {
            while let Some((piece, slot)) = waiting.get(next.fetch_add(1, Ordering::Relaxed)) {
                let encoded = encode(piece);
                if let Ok(mut slot) = slot.lock() {
                    *slot = Some(encoded);
                }
            }
        };
        std::thread::scope(|scope| {
            for _ in 1..threads.min(waiting.len()) {
                let (work, current) = (&work, stop::current());
                let work = move || match current {
                    Some(current) => current.within(work),
                    None => work(),
                };
                // Without another thread this one does it all.
                let _ = std::thread::Builder::new().spawn_scoped(scope, work);
            }
            work();
        });
        for (piece, slot) in waiting {
            drop(piece);
            let encoded = slot.into_inner().ok().flatten();
            write(encoded.ok_or_else(|| Error::internal("a piece of a file was not encoded"))??)?;
        }
    }
}

fn parquet_file(
    options: &WriteOptions,
    schema: &Schema,
    rows: &mut NextBatch<'_>,
    out: &mut (impl Write + Send),
    threads: usize,
    go_on: &GoOn<'_>,
) -> Result<()> {
    let failed = |e: parquet::errors::ParquetError| Error::new(SqlState::IoError, e.to_string());
    let arrow = arrow_schema(schema);
    let properties = columnar::properties(options);
    let numbered = options.field_ids.numbered(&arrow)?;
    let (written, writer_options) = interval::writing(&arrow, properties, numbered).map_err(failed)?;
    let writer = ArrowWriter::try_new_with_options(out, written.clone(), writer_options).map_err(failed)?;
    let (mut file, factory) = writer.into_serialized_writer().map_err(failed)?;
    let mut groups = Pieces::new(rows, options.group_rows, options.piece_bytes);
    let encode = |piece: &Piece| row_group(&factory, (&arrow, &written), piece.number, &piece.batches);
    in_order(&mut groups, threads, go_on, encode, |chunks| {
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
    (schema, written): (&SchemaRef, &SchemaRef),
    number: usize,
    batches: &[Batch],
) -> Result<Vec<ArrowColumnChunk>> {
    let failed = |e: parquet::errors::ParquetError| Error::new(SqlState::IoError, e.to_string());
    let mut writers = factory.create_column_writers(number).map_err(failed)?;
    for batch in batches {
        stop::check(Place::Write)?;
        let batch: RecordBatch = interval::written(columnar::record_batch(batch, schema)?, written)?;
        // A writer for each leaf: a struct has one a field, a map two.
        let mut leaves = writers.iter_mut();
        for (field, array) in written.fields().iter().zip(batch.columns()) {
            for leaf in compute_leaves(field, array).map_err(failed)? {
                let writer = leaves.next().ok_or_else(|| Error::internal("a leaf without a writer"))?;
                writer.write(&leaf).map_err(failed)?;
            }
        }
    }
    writers.into_iter().map(|writer| writer.close().map_err(failed)).collect()
}
