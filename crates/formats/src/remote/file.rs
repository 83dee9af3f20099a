//! An object as a file: bytes at offsets, some of them fetched beforehand.
//!
//! The length and a tag of the content are taken at opening. Bytes come from three places: `Pieces`, which one reader
//! fetched for its unit and frees with it; `kept`, a bounded list of the latest pieces for all readers of the file;
//! and requests. Ranges close to each other are fetched as one, long ones in parts, several requests side by side.
//! From a server without ranges the whole file is fetched once. Called by `input`, from any number of threads.

use std::collections::VecDeque;
use std::fmt;
use std::io;
use std::ops::Range;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use bytes::Bytes;
use futures_util::{StreamExt, TryStreamExt, stream};
use object_store::path::Path;
use object_store::{Error as StoreError, ObjectStoreExt};
use types::{Error, Result, SqlState};

use super::fault::{failed, flatten, to_io};
use super::store::{Located, bucket_fault, locate, object};
use super::wait::wait;
use crate::Environment;

/// Bytes of a file's end that are fetched when it is opened: most footers lie in it.
const TAIL_BYTES: u64 = 64 << 10;
/// What lies no farther apart is fetched as one.
const GAP_BYTES: u64 = 64 << 10;
/// Bytes of one request, at most.
const REQUEST_BYTES: u64 = 8 << 20;
/// Requests of one thread that are under way at a time.
const REQUESTS: usize = 8;
/// The smallest request for bytes that were not fetched beforehand.
const READ_BYTES_MIN: u64 = 64 << 10;
/// Bytes that are kept of one file for all its readers: footers, indices, the beginning of a text.
const KEPT_BYTES: usize = 16 << 20;
/// The largest file that is read as a whole from a server without ranges.
const WHOLE_BYTES_MAX: u64 = 4 << 30;

/// Bytes that were fetched beforehand, each with its place; they are freed with their holder.
pub type Pieces = Arc<[(u64, Bytes)]>;

/// An object that was found, with its length and what is kept of it.
pub struct RemoteFile {
    located: Located,
    place: Path,
    url: String,
    length: u64,
    /// Pieces of the file, the latest first.
    kept: Mutex<VecDeque<(u64, Bytes)>>,
    /// All of it, where the server cannot give parts.
    whole: OnceLock<Bytes>,
    /// Held while the whole file is fetched, so that it is fetched once.
    fetching: Mutex<()>,
}

impl fmt::Debug for RemoteFile {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(&self.url)
    }
}

/// The bytes from `at` on that a piece has, up to `most`.
fn part_of((from, bytes): &(u64, Bytes), at: u64, most: usize) -> Option<Bytes> {
    let begin = usize::try_from(at.checked_sub(*from)?).ok().filter(|begin| *begin < bytes.len())?;
    Some(bytes.slice(begin..bytes.len().min(begin.saturating_add(most))))
}

impl RemoteFile {
    /// The file, its length, and numbers that change when it does.
    pub fn open(environment: &Environment, url: &str) -> Result<(RemoteFile, u64, (i64, i64))> {
        let located = locate(environment, url)?;
        let place = object(url, &located.place)?;
        if place.as_ref().is_empty() && !located.is_http() {
            return Err(Error::new(SqlState::InvalidParameterValue, format!("\"{url}\" names no object"))
                .with_hint("a bucket's objects are named by a pattern, such as 's3://bucket/*.parquet'"));
        }
        let found = wait(located.store.head(&place))?;
        // The answer to a request for the head alone cannot say what is missing.
        if let Err(StoreError::NotFound { .. }) = &found
            && let Some(fault) = bucket_fault(url, &located)?
        {
            return Err(fault);
        }
        let meta = found.map_err(|e| failed("open", url, &e))?;
        let tag = meta.e_tag.unwrap_or_default();
        let tag = tag.bytes().fold(0i64, |hash, byte| hash.wrapping_mul(31).wrapping_add(byte.into()));
        let changed = (meta.last_modified.timestamp_micros(), tag);
        let file = RemoteFile {
            located,
            place,
            url: url.to_owned(),
            length: meta.size,
            kept: Mutex::default(),
            whole: OnceLock::new(),
            fetching: Mutex::default(),
        };
        Ok((file, meta.size, changed))
    }

    fn keep(&self, pieces: impl IntoIterator<Item = (u64, Bytes)>) {
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        for piece in pieces {
            kept.push_front(piece);
        }
        let mut total = 0;
        kept.retain(|(_, bytes)| {
            total += bytes.len();
            total <= KEPT_BYTES
        });
    }

    fn known(&self, pieces: &Pieces, at: u64, most: usize) -> Option<Bytes> {
        if let Some(bytes) = pieces.iter().find_map(|piece| part_of(piece, at, most)) {
            return Some(bytes);
        }
        if let Some(whole) = self.whole.get() {
            return part_of(&(0, whole.clone()), at, most);
        }
        let kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        kept.iter().find_map(|piece| part_of(piece, at, most))
    }

    /// The bytes of each range, several requests side by side.
    fn fetch(&self, ranges: &[Range<u64>]) -> Result<Vec<Bytes>> {
        let get = |range: Range<u64>| self.located.store.get_range(&self.place, range);
        // The store borrows the range's future; without the intermediate block its lifetime is not general enough.
        let one = |range: Range<u64>| async move { get(range).await };
        let all = stream::iter(ranges.iter().cloned().map(one)).buffered(REQUESTS).try_collect::<Vec<_>>();
        match wait(all)? {
            Err(StoreError::NotSupported { .. }) if self.located.is_http() => {
                let whole = self.fetch_whole()?;
                Ok(ranges.iter().map(|r| whole.slice(r.start as usize..r.end as usize)).collect())
            }
            outcome => outcome.map_err(|e| failed("read", &self.url, &e)),
        }
    }

    /// Plain web servers know no ranges.
    fn fetch_whole(&self) -> Result<Bytes> {
        let _one = self.fetching.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(whole) = self.whole.get() {
            return Ok(whole.clone());
        }
        if self.length > WHOLE_BYTES_MAX {
            return Err(Error::unsupported(format!(
                "\"{}\" is larger than 4 GiB, and its server does not give parts of a file",
                self.url
            )));
        }
        let get = async { self.located.store.get(&self.place).await?.bytes().await };
        let bytes = flatten("read", &self.url, wait(get))?;
        if bytes.len() as u64 != self.length {
            return Err(Error::new(
                SqlState::IoError,
                format!("\"{}\" has changed while it was read", self.url),
            ));
        }
        Ok(self.whole.get_or_init(|| bytes).clone())
    }

    /// Those of the ranges that are not at hand, what lies close together as one piece, in order of their places.
    fn missing(&self, pieces: &Pieces, wanted: &[Range<u64>]) -> Vec<Range<u64>> {
        let mut ranges: Vec<Range<u64>> = wanted
            .iter()
            .map(|r| r.start..r.end.min(self.length))
            .filter(|r| r.start < r.end)
            .filter(|r| {
                let known = self.known(pieces, r.start, usize::MAX);
                known.is_none_or(|bytes| (bytes.len() as u64) < r.end - r.start)
            })
            .collect();
        ranges.sort_by_key(|r| r.start);
        let mut united: Vec<Range<u64>> = Vec::new();
        for range in ranges {
            match united.last_mut() {
                Some(last) if range.start <= last.end.saturating_add(GAP_BYTES) => {
                    last.end = last.end.max(range.end);
                }
                _ => united.push(range),
            }
        }
        united
    }

    /// `pieces`, and what of `wanted` is missing in them. A long piece comes in parts, side by side.
    pub fn with(&self, pieces: &Pieces, wanted: &[Range<u64>]) -> Result<Pieces> {
        let united = self.missing(pieces, wanted);
        if united.is_empty() {
            return Ok(pieces.clone());
        }
        let parts = |range: &Range<u64>| {
            let end = range.end;
            (range.start..end)
                .step_by(REQUEST_BYTES as usize)
                .map(move |from| from..end.min(from + REQUEST_BYTES))
        };
        let mut fetched = self.fetch(&united.iter().flat_map(parts).collect::<Vec<_>>())?.into_iter();
        let mut all = pieces.to_vec();
        for range in &united {
            let mut own: Vec<Bytes> = fetched.by_ref().take(parts(range).count()).collect();
            let piece = if own.len() == 1 { own.remove(0) } else { own.concat().into() };
            all.push((range.start, piece));
        }
        Ok(all.into())
    }

    /// Fetches what of `wanted` is not kept yet, and keeps it for all readers of the file.
    pub fn keep_ahead(&self, wanted: Range<u64>) -> Result<()> {
        let fetched = self.with(&Pieces::default(), &[wanted])?;
        self.keep(fetched.iter().cloned());
        Ok(())
    }

    /// The end of the file, where footers are.
    pub fn keep_tail(&self) -> Result<()> {
        self.keep_ahead(self.length.saturating_sub(TAIL_BYTES)..self.length)
    }

    /// Fills `out` from offset `at`, with fewer bytes where less is at hand, and returns their number; 0 at the end.
    /// Bytes that neither `pieces` nor the file keeps are requested.
    pub fn read_at(&self, pieces: &Pieces, out: &mut [u8], at: u64) -> io::Result<usize> {
        if at >= self.length || out.is_empty() {
            return Ok(0);
        }
        if let Some(known) = self.known(pieces, at, out.len()) {
            out[..known.len()].copy_from_slice(&known);
            return Ok(known.len());
        }
        let wanted = (out.len() as u64).min(self.length - at);
        let to = (at + wanted.max(READ_BYTES_MIN)).min(self.length);
        let parts = (at..to).step_by(REQUEST_BYTES as usize).map(|from| from..to.min(from + REQUEST_BYTES));
        let fetched = self.fetch(&parts.collect::<Vec<_>>()).map_err(to_io)?;
        let mut count = 0;
        for bytes in &fetched {
            let some = bytes.len().min(out.len() - count);
            out[count..count + some].copy_from_slice(&bytes[..some]);
            count += some;
        }
        // What was read for little is likely to be read on.
        if wanted < READ_BYTES_MIN {
            self.keep(fetched.into_iter().take(1).map(|bytes| (at, bytes)));
        }
        Ok(count)
    }
}
