//! A file's footer, checked before it is trusted and remembered while the file stays as it is.
//!
//! A statement looks at a footer when it is planned and when it is run, and the next statement often reads the same
//! files. A footer is the same when path, inode, length and time of change are.

use std::collections::VecDeque;
use std::sync::{Mutex, PoisonError};

use ::parquet::arrow::arrow_reader::{ArrowReaderMetadata, ArrowReaderOptions};
use types::{Error, Result};

use super::{FORMAT, damaged};
use crate::input::{Input, Stamp};
use crate::{decode, thrift};

const TRAILER_BYTES: u64 = 8;
/// Footers remembered, the latest ones.
const REMEMBERED: usize = 64;
/// Footers of more row groups and columns than this are not kept.
const CHUNKS_MAX: usize = 1 << 14;

static FOOTERS: Mutex<VecDeque<(Stamp, ArrowReaderMetadata)>> = Mutex::new(VecDeque::new());

/// Opens a file and its footer.
pub fn load(path: &str) -> Result<(Input, ArrowReaderMetadata)> {
    let input = Input::open(path)?;
    let stamp = input.stamp();
    if let Some(known) = recall(&stamp) {
        return Ok((input, known));
    }
    input.keep_tail()?;
    let metadata = read(&input)?;
    let groups = metadata.metadata().row_groups();
    if groups.len() * groups.first().map_or(0, |g| g.num_columns()) <= CHUNKS_MAX {
        let mut footers = FOOTERS.lock().unwrap_or_else(PoisonError::into_inner);
        footers.truncate(REMEMBERED - 1);
        footers.push_front((stamp, metadata.clone()));
    }
    Ok((input, metadata))
}

fn recall(stamp: &Stamp) -> Option<ArrowReaderMetadata> {
    let mut footers = FOOTERS.lock().unwrap_or_else(PoisonError::into_inner);
    let at = footers.iter().position(|(known, _)| known == stamp)?;
    let found = footers.remove(at)?;
    let metadata = found.1.clone();
    footers.push_front(found);
    Some(metadata)
}

/// Reads a file's footer, which is checked before the decoder trusts it.
fn read(input: &Input) -> Result<ArrowReaderMetadata> {
    let path: &str = &input.path;
    let whole = |from, to| input.exact(from, to).map_err(|e| damaged(path, e));
    if input.length < TRAILER_BYTES + 4 {
        return Err(damaged(path, "it is too short"));
    }
    let trailer = whole(input.length - TRAILER_BYTES, input.length)?;
    match &trailer[4..] {
        b"PAR1" => {}
        b"PARE" => {
            return Err(Error::unsupported(format!("\"{path}\" is encrypted, which is not supported")));
        }
        _ => {
            return Err(damaged(path, "it does not end as a Parquet file does")
                .with_hint("the file is cut off, or is of another format: see the FORMAT option"));
        }
    }
    let length = u64::from(u32::from_le_bytes([trailer[0], trailer[1], trailer[2], trailer[3]]));
    let footer_end = input.length - TRAILER_BYTES;
    let footer_begin =
        footer_end.checked_sub(length).ok_or_else(|| damaged(path, "its footer is too long"))?;
    input.keep_ahead(footer_begin..footer_end)?;
    if !thrift::is_whole(&whole(footer_begin, footer_end)?) {
        return Err(damaged(path, "its footer is damaged"));
    }
    let metadata = decode::guarded(path, FORMAT, || {
        ArrowReaderMetadata::load(input, ArrowReaderOptions::new()).map_err(|e| damaged(path, e))
    })?;
    let groups = metadata.metadata().row_groups();
    if groups.iter().any(|g| g.num_rows() < 0) {
        return Err(damaged(path, "a row group has a negative number of rows"));
    }
    Ok(metadata)
}
