//! Arrow IPC, file and stream: a unit is a record batch.
//!
//! A file's footer says where its batches lie; a stream is walked once, message by message, which gives the same. Only
//! a stream whose dictionaries change between batches has to be read in order: it is one unit. Every length is held
//! against the file's before anything is allocated for it.

use std::sync::Arc;

use arrow_array::RecordBatch;
use arrow_buffer::{Buffer, MutableBuffer};
use arrow_ipc::convert::fb_to_schema;
use arrow_ipc::reader::FileDecoder;
use arrow_ipc::{Block, MessageHeader, MetadataVersion, root_as_footer, root_as_message};
use arrow_schema::SchemaRef;
use plan::FileSource;
use types::{Error, Field, Result, Schema, SqlState};
use vector::Batch;

use crate::input::Input;
use crate::remote::abreast::each;
use crate::{Decoded, Environment, Reader, Window, decode};

const FORMAT: &str = "Arrow";
const MAGIC: &[u8; 6] = b"ARROW1";
const CONTINUATION: [u8; 4] = [0xFF; 4];
/// Rows of one record batch; a Null column takes no bytes, so a damaged count would not show otherwise.
const BATCH_ROWS_MAX: usize = 1 << 31;

fn damaged(path: &str, what: impl std::fmt::Display) -> Error {
    decode::damaged(path, FORMAT, what)
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Dictionary,
    Rows,
}

/// A message in a file: prefix and metadata, then the body.
#[derive(Clone, Copy)]
struct Message {
    kind: Kind,
    offset: u64,
    metadata: u64,
    body: u64,
}

impl Message {
    fn checked(input: &Input, kind: Kind, offset: i64, metadata: i64, body: i64) -> Result<Message> {
        let outside = || damaged(&input.path, "a message lies outside the file");
        let length = |v: i64| u64::try_from(v).map_err(|_| outside());
        let message =
            Message { kind, offset: length(offset)?, metadata: length(metadata)?, body: length(body)? };
        let end = message.offset.checked_add(message.metadata).and_then(|e| e.checked_add(message.body));
        if end.is_none_or(|e| e > input.length) || message.metadata < 8 {
            return Err(outside());
        }
        Ok(message)
    }
    fn read(&self, input: &Input) -> Result<(Block, Buffer)> {
        let end = self.offset + self.metadata + self.body;
        let bytes = input.exact(self.offset, end).map_err(|e| input.failed(&e))?;
        // Arrow wants its numbers aligned; the copy is of one batch.
        let mut aligned = MutableBuffer::new(bytes.len());
        aligned.extend_from_slice(&bytes);
        Ok((Block::new(self.offset as i64, self.metadata as i32, self.body as i64), aligned.into()))
    }
}

/// What a file holds, before any batch is read.
struct Contents {
    input: Input,
    schema: SchemaRef,
    version: MetadataVersion,
    messages: Vec<Message>,
}

/// Numbers of the other byte order would be read as others.
fn own_byte_order(input: &Input, schema: arrow_ipc::Schema<'_>) -> Result<()> {
    match schema.endianness() == arrow_ipc::Endianness::Little {
        true => Ok(()),
        false => Err(Error::unsupported(format!(
            "\"{}\" has big-endian numbers, which is not supported",
            input.path
        ))),
    }
}

impl Contents {
    fn load(environment: &Environment, path: &str) -> Result<Contents> {
        let input = Input::open(environment, path)?;
        decode::guarded(path, FORMAT, || {
            let mut magic = Vec::new();
            input.append(0, 6, &mut magic)?;
            if magic == MAGIC { Self::of_file(&input) } else { Self::of_stream(&input) }
        })
    }

    fn of_file(input: &Input) -> Result<Contents> {
        let fail = |what: &dyn std::fmt::Display| damaged(&input.path, what);
        let trailer_begin = input.length.checked_sub(10).ok_or_else(|| fail(&"it is too short"))?;
        let trailer = input.exact(trailer_begin, input.length).map_err(|e| input.failed(&e))?;
        if &trailer[4..] != MAGIC {
            return Err(fail(&"it is cut off"));
        }
        let length = u64::from(u32::from_le_bytes([trailer[0], trailer[1], trailer[2], trailer[3]]));
        let begin = trailer_begin.checked_sub(length).ok_or_else(|| fail(&"its footer is too long"))?;
        let bytes = input.exact(begin, trailer_begin).map_err(|e| input.failed(&e))?;
        let footer = root_as_footer(&bytes).map_err(|e| fail(&format!("its footer is damaged: {e}")))?;
        let schema = footer.schema().ok_or_else(|| fail(&"its footer has no schema"))?;
        own_byte_order(input, schema)?;
        let mut messages = Vec::new();
        for block in footer.dictionaries().iter().flatten() {
            messages.push(Message::checked(
                input,
                Kind::Dictionary,
                block.offset(),
                i64::from(block.metaDataLength()),
                block.bodyLength(),
            )?);
        }
        for block in footer.recordBatches().iter().flatten() {
            messages.push(Message::checked(
                input,
                Kind::Rows,
                block.offset(),
                i64::from(block.metaDataLength()),
                block.bodyLength(),
            )?);
        }
        let schema = Arc::new(fb_to_schema(schema));
        Ok(Contents { input: input.clone(), schema, version: footer.version(), messages })
    }

    fn of_stream(input: &Input) -> Result<Contents> {
        let fail = |what: &dyn std::fmt::Display| damaged(&input.path, what);
        let mut found: Option<(SchemaRef, MetadataVersion)> = None;
        let mut messages = Vec::new();
        let mut at = 0u64;
        while at < input.length {
            let mut head = Vec::new();
            input.append(at, at + 8, &mut head)?;
            let (prefix, length) = match head.as_slice() {
                [a, b, c, d, e, f, g, h] if [*a, *b, *c, *d] == CONTINUATION => {
                    (8, i32::from_le_bytes([*e, *f, *g, *h]))
                }
                // Before version 0.15 there was no continuation mark.
                [a, b, c, d, ..] if [*a, *b, *c, *d] != CONTINUATION => {
                    (4, i32::from_le_bytes([*a, *b, *c, *d]))
                }
                _ => return Err(fail(&"it is cut off")),
            };
            if length == 0 {
                break;
            }
            let length =
                u64::try_from(length).map_err(|_| fail(&"it is neither an Arrow file nor a stream"))?;
            let bytes = input
                .exact(at + prefix, at + prefix + length)
                .map_err(|_| fail(&"it is cut off, or is no Arrow file"))?;
            let message = root_as_message(&bytes).map_err(|e| fail(&format!("a message is damaged: {e}")))?;
            let kind = match message.header_type() {
                MessageHeader::Schema => {
                    let schema = message.header_as_schema().ok_or_else(|| fail(&"it has no schema"))?;
                    own_byte_order(input, schema)?;
                    if found.is_some() {
                        return Err(fail(&"it has two schemas"));
                    }
                    found = Some((Arc::new(fb_to_schema(schema)), message.version()));
                    None
                }
                MessageHeader::DictionaryBatch => Some(Kind::Dictionary),
                MessageHeader::RecordBatch => Some(Kind::Rows),
                other => return Err(fail(&format!("it has a message of kind {other:?}"))),
            };
            let place = i64::try_from(at).map_err(|_| fail(&"it is too long"))?;
            let metadata = (prefix + length) as i64;
            let whole =
                Message::checked(input, kind.unwrap_or(Kind::Rows), place, metadata, message.bodyLength())?;
            if kind.is_some() {
                messages.push(whole);
            }
            at = whole.offset + whole.metadata + whole.body;
        }
        let (schema, version) = found.ok_or_else(|| fail(&"it has no schema"))?;
        Ok(Contents { input: input.clone(), schema, version, messages })
    }

    /// Some dictionary stands behind a batch, so that the order matters.
    fn ordered(&self) -> bool {
        let first = self.messages.iter().position(|m| m.kind == Kind::Rows).unwrap_or(self.messages.len());
        self.messages[first..].iter().any(|m| m.kind == Kind::Dictionary)
    }
}

/// Schema of the files, which must agree. The number of rows stands only in the batches themselves.
pub fn describe(environment: &Environment, paths: &[String]) -> Result<(Schema, Option<u64>)> {
    let mut schema: Option<Vec<Field>> = None;
    let loaded = each(paths, |path| path, |path| Contents::load(environment, path))?;
    for (path, contents) in paths.iter().zip(loaded) {
        let fields = decode::fields(&contents.schema);
        match &mut schema {
            None => schema = Some(fields),
            Some(first) => decode::agree(first, &fields, &paths[0], path)?,
        }
    }
    Ok((Schema::new(schema.unwrap_or_default()), None))
}

struct OneFile {
    contents: Contents,
    /// With the dictionaries read, unless they change on the way.
    decoder: FileDecoder,
    ordered: bool,
}

/// The reader of Arrow IPC files and streams.
pub struct ArrowFiles {
    files: Vec<OneFile>,
    /// File and message of each unit; the first message of a file that is read in order.
    units: Vec<(usize, usize)>,
    columns: Vec<usize>,
    /// Distinct columns, ascending: what the decoder is asked for.
    projection: Vec<usize>,
    fields: Vec<Field>,
    batch_rows: usize,
}

impl ArrowFiles {
    /// Opens the files, checks that the columns can be read, and reads the dictionaries of files whose batches may be
    /// read in any order.
    pub fn open(
        environment: &Environment,
        source: &FileSource,
        columns: &[usize],
        batch_rows: usize,
    ) -> Result<Self> {
        let mut projection = columns.to_vec();
        projection.sort_unstable();
        projection.dedup();
        let mut files = Vec::new();
        let mut units = Vec::new();
        let loaded = each(&source.paths, |path| path, |path| Contents::load(environment, path))?;
        for (path, contents) in source.paths.iter().zip(loaded) {
            decode::check_readable(path, &contents.schema, columns)?;
            let ordered = contents.ordered();
            let mut decoder = FileDecoder::new(contents.schema.clone(), contents.version)
                .with_projection(projection.clone());
            if ordered {
                units.push((files.len(), 0));
            } else {
                for (at, message) in contents.messages.iter().enumerate() {
                    match message.kind {
                        Kind::Dictionary => dictionary(&contents.input, &mut decoder, message)?,
                        Kind::Rows => units.push((files.len(), at)),
                    }
                }
            }
            files.push(OneFile { contents, decoder, ordered });
        }
        let fields = columns.iter().map(|c| source.schema.fields()[*c].clone()).collect();
        Ok(ArrowFiles {
            files,
            units,
            columns: columns.to_vec(),
            projection,
            fields,
            batch_rows: batch_rows.max(1),
        })
    }

    /// Hands one record batch on, in pieces; false when no more is wanted.
    fn deliver(
        &self,
        input: &Input,
        decoder: &FileDecoder,
        message: &Message,
        push: &mut dyn FnMut(Batch) -> Result<bool>,
    ) -> Result<bool> {
        let path: &str = &input.path;
        let decoded = decode::guarded(path, FORMAT, || {
            let (block, bytes) = message.read(input)?;
            decoder.read_record_batch(&block, &bytes).map_err(|e| explain(path, &e))
        })?;
        let Some(decoded) = decoded else { return Ok(true) };
        if decoded.num_rows() > BATCH_ROWS_MAX {
            return Err(damaged(path, format!("a record batch claims {} rows", decoded.num_rows())));
        }
        let mut from = 0;
        while from < decoded.num_rows() {
            let rows = self.batch_rows.min(decoded.num_rows() - from);
            let batch = decode::guarded(path, FORMAT, || self.piece(path, &decoded, from, rows))?;
            if !push(batch)? {
                return Ok(false);
            }
            from += rows;
        }
        Ok(true)
    }

    fn piece(&self, path: &str, decoded: &RecordBatch, from: usize, rows: usize) -> Result<Batch> {
        let mut columns = Vec::with_capacity(self.columns.len());
        for (column, field) in self.columns.iter().zip(&self.fields) {
            let array = self
                .projection
                .binary_search(column)
                .ok()
                .and_then(|at| decoded.columns().get(at))
                .ok_or_else(|| damaged(path, "a column is missing"))?;
            let part = array.slice(from, rows);
            columns.push(decode::column(path, &field.name, part.as_ref(), field.ty)?);
        }
        Ok(Batch::new(columns, rows))
    }
}

fn dictionary(input: &Input, decoder: &mut FileDecoder, message: &Message) -> Result<()> {
    let path: &str = &input.path;
    decode::guarded(path, FORMAT, || {
        let (block, bytes) = message.read(input)?;
        decoder.read_dictionary(&block, &bytes).map_err(|e| explain(path, &e))
    })
}

fn explain(path: &str, e: &arrow_schema::ArrowError) -> Error {
    let text = e.to_string();
    if text.contains("compression") {
        return Error::new(
            SqlState::FeatureNotSupported,
            format!("\"{path}\" is a compressed Arrow file, which is not supported"),
        )
        .with_hint("write it without compression, or as Parquet");
    }
    damaged(path, text)
}

impl Reader for ArrowFiles {
    fn units(&self) -> Result<u64> {
        Ok(self.units.len() as u64)
    }
    fn scan(&self, unit: u64, visit: &mut dyn FnMut(&mut dyn Window) -> Result<bool>) -> Result<()> {
        let push: &mut dyn FnMut(Batch) -> Result<bool> = &mut |batch| visit(&mut Decoded(batch));
        let Some((file, at)) = self.units.get(unit as usize) else { return Ok(()) };
        let file = &self.files[*file];
        let input = &file.contents.input;
        if !file.ordered {
            return self.deliver(input, &file.decoder, &file.contents.messages[*at], push).map(|_| ());
        }
        let mut decoder = FileDecoder::new(file.contents.schema.clone(), file.contents.version)
            .with_projection(self.projection.clone());
        for message in &file.contents.messages {
            match message.kind {
                Kind::Dictionary => dictionary(input, &mut decoder, message)?,
                Kind::Rows => {
                    if !self.deliver(input, &decoder, message, push)? {
                        break;
                    }
                }
            }
        }
        Ok(())
    }
}
