//! A source's side of an exchange: messages in, batches out.
//!
//! Any worker opens any message, in any order: [`Receiver::open`] takes `&self`. What the workers share is, by source, the
//! dictionaries, the pieces that have come, and the count of messages against the number that the source's last message
//! tells; [`Receiver::is_done`] compares them. A message is counted once its rows are out, so that nobody ends while
//! another worker still reads.
//!
//! Vectors hold the messages that they were read from: whoever keeps rows for long (a join's build, a sort) copies them
//! into memory of its own, as the collecting operators do, or the sender's window stays used.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

use arrow_buffer::{Buffer, MutableBuffer};
use types::{Error, Result, SqlState, Type};
use vector::Batch;

use crate::buffers::Buffers;
use crate::columns::dictionary::{Received, Waiting};
use crate::columns::{self, Unread};
use crate::compression::{Codec, Compressor};
use crate::header::{Flags, Stream};
use crate::message::Sealed;
use crate::pieces::Pieces;
use crate::rows::{RowLayout, RowReader};

/// Bytes of a single row, at most.
pub const ROW_BYTES_MAX: u64 = 2 << 30;
/// The number of messages of a source that has not told it.
const UNTOLD: u64 = u64::MAX;

/// What a message was.
#[derive(Debug)]
pub enum Opened {
    /// Rows; none where the message was a dictionary, a piece, the last, or waits for a dictionary.
    Rows(Vec<Batch>),
    /// It belongs to another epoch, query, attempt or exchange: its sender gets the credit back, and that is all.
    Foreign,
}

/// What is known of one source.
struct Source {
    dictionaries: Received,
    pieces: Pieces,
    done: AtomicU64,
    told: AtomicU64,
}

/// One machine's end of an exchange.
pub struct Receiver {
    stream: Stream,
    types: Vec<Type>,
    rows: RowReader,
    sources: Box<[Source]>,
    own: usize,
    compressor: Mutex<Option<Compressor>>,
}

fn violation(what: impl Into<String>) -> Error {
    Error::new(SqlState::ProtocolViolation, what)
}

impl Receiver {
    /// The end of an exchange on machine `own` of `machines`; the rows have the layout's columns. `stream.source` does not
    /// count.
    pub fn new(stream: Stream, own: usize, machines: usize, layout: RowLayout) -> Receiver {
        let source = || Source {
            dictionaries: Received::new(),
            pieces: Pieces::default(),
            done: AtomicU64::new(0),
            told: AtomicU64::new(UNTOLD),
        };
        Receiver {
            stream,
            types: layout.types().to_vec(),
            rows: RowReader::new(layout),
            sources: std::iter::repeat_with(source).take(machines).collect(),
            own,
            compressor: Mutex::new(None),
        }
    }
    /// Reads a message whose checksum is right (`Message::received`). Memory to decompress into comes from `buffers`.
    ///
    /// # Errors
    /// 08P01 and XX001 for bytes that no sender of this exchange writes.
    pub fn open(&self, message: Sealed, buffers: &dyn Buffers) -> Result<Opened> {
        let header = *message.header();
        if (Stream { source: self.stream.source, ..header.stream }) != self.stream {
            return Ok(Opened::Foreign);
        }
        let place = header.stream.source as usize;
        let source = self.sources.get(place).filter(|_| place != self.own);
        let Some(source) = source else {
            return Err(violation(format!("a message comes from machine {place}, which sends none here")));
        };
        if header.flags.has(Flags::LAST) {
            return self.last(source, &message);
        }
        if header.flags.has(Flags::OPAQUE) {
            return Err(violation("a message of an exchange has no rows"));
        }
        let message = self.plain(message, buffers)?;
        let flags = header.flags;
        let mut batches = Vec::new();
        if flags.has(Flags::DICTIONARY) {
            for waited in source.dictionaries.add(&self.types, &message.body_buffer())? {
                self.read(source, waited, &mut batches)?;
            }
            count(source)?;
        } else if flags.has(Flags::PIECE) {
            match source.pieces.add(message.body(), ROW_BYTES_MAX)? {
                Some(whole) => self.read(source, (whole, flags), &mut batches)?,
                None => count(source)?,
            }
        } else {
            self.read(source, (message.body_buffer(), flags), &mut batches)?;
        }
        Ok(Opened::Rows(batches))
    }
    fn last(&self, source: &Source, message: &Sealed) -> Result<Opened> {
        let body: Option<&[u8; 8]> = message.body().try_into().ok();
        let told = u64::from_le_bytes(*body.ok_or_else(|| violation("a last message has no count"))?);
        let before = source.told.swap(told, Ordering::AcqRel);
        if before != UNTOLD || told == UNTOLD || source.done.load(Ordering::Acquire) > told {
            return Err(violation("a machine ends an exchange twice, or with a wrong count"));
        }
        Ok(Opened::Rows(Vec::new()))
    }
    /// Reads rows and counts their message, or keeps the body until its dictionary is there.
    fn read(&self, source: &Source, body: Waiting, batches: &mut Vec<Batch>) -> Result<()> {
        let mut body = body;
        loop {
            match self.read_body(source, &body.0, body.1) {
                Ok(read) => {
                    batches.extend(read);
                    return count(source);
                }
                Err(Unread::Wrong(error)) => return Err(error),
                Err(Unread::Dictionary(number)) => match source.dictionaries.keep(number, body) {
                    Some(back) => body = back,
                    None => return Ok(()),
                },
            }
        }
    }
    fn read_body(
        &self,
        source: &Source,
        body: &Buffer,
        flags: Flags,
    ) -> std::result::Result<Vec<Batch>, Unread> {
        if flags.has(Flags::ROWS) {
            return Ok(vec![self.rows.read(body)?]);
        }
        columns::read(&self.types, body, &|number| source.dictionaries.get(number))
    }
    /// The message with its body as it was written.
    fn plain(&self, message: Sealed, buffers: &dyn Buffers) -> Result<Sealed> {
        let header = *message.header();
        let Some(codec) = Codec::of(header.flags) else { return Ok(message) };
        let length = header.plain as usize;
        let plain_header =
            crate::header::Header { flags: header.flags.without(codec.flag()), used: header.plain, ..header };
        let taken = buffers.take(message.local().node).filter(|taken| taken.body_bytes_max() >= length);
        let mut taken = match taken {
            Some(taken) => taken,
            // The pool's messages are all in use; this one must be read for any to come back.
            None => outside_the_pool(length)?,
        };
        let mut compressor = self.compressor.lock().unwrap_or_else(PoisonError::into_inner).take();
        if compressor.is_none() {
            compressor = Some(Compressor::new(0)?);
        }
        if let Some(codecs) = &mut compressor {
            codecs.decompress(codec, message.body(), &mut taken.body_mut()[..length])?;
        }
        // Kept for the next one; where several workers read at once, each makes its own.
        *self.compressor.lock().unwrap_or_else(PoisonError::into_inner) = compressor;
        Ok(taken.hold(plain_header))
    }
    /// Whether all rows of all sources have come out.
    pub fn is_done(&self) -> bool {
        self.sources.iter().enumerate().all(|(place, source)| {
            place == self.own || source.told.load(Ordering::Acquire) == source.done.load(Ordering::Acquire)
        })
    }
}

/// A message of its own memory, which is freed when it is dropped.
fn outside_the_pool(body_bytes: usize) -> Result<crate::Message> {
    let memory = MutableBuffer::from_len_zeroed(body_bytes + crate::header::HEADER_BYTES);
    let nowhere: std::sync::Weak<crate::buffers::Pool> = std::sync::Weak::new();
    let shell = crate::message::Shell::new(Box::new(memory), 0, nowhere);
    crate::Message::new(shell).map_err(|_| Error::internal("a new message has another holder"))
}

/// Counts a message whose rows are out.
fn count(source: &Source) -> Result<()> {
    let done = source.done.fetch_add(1, Ordering::AcqRel) + 1;
    if done > source.told.load(Ordering::Acquire) {
        return Err(violation("a machine sends more messages than it tells"));
    }
    Ok(())
}
