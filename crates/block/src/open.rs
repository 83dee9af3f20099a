//! From bytes to a block, trusting nothing.
//!
//! Everything a later access relies on is checked here, once: places and lengths of extents, alignment, codes against
//! the dictionary's size, string offsets, UTF-8, order of dictionaries, the range of truncated values. What is only
//! a claim (bounds, counts, flags) cannot lead an access astray; the checksums vouch for it.

use std::ops::Range;
use std::sync::{Arc, OnceLock};

use arrow_buffer::{BooleanBuffer, Buffer, NullBuffer, ScalarBuffer};
use types::{ColumnStatistics, Physical, Value};

use crate::layout::{
    self, DICTIONARY, ENTRY_BYTES, Entry, Extent, HEADER_BYTES, HEAP, Header, VALIDITY, VALUES,
};
use crate::stripe::{Bits, DictionaryStripe, StringStripe, Stripe, StripeStore, Values};
use crate::{Block, Coding, LayoutKind};

/// What is believed of the bytes.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Trust {
    Nothing,
    /// This process has written them: codes, offsets and strings are as they must be.
    Contents,
}

type Checked<T> = Result<T, String>;

/// A block's metadata, with every place and length in it checked against the block's own.
#[derive(Debug)]
pub(crate) struct Directory {
    pub(crate) header: Header,
    pub(crate) kind: LayoutKind,
    pub(crate) length: usize,
    pub(crate) rows: usize,
    pub(crate) entries: Vec<Entry>,
    /// Extents with the position of their first checksum.
    pub(crate) checked: Vec<(Extent, usize)>,
}

impl Directory {
    /// Reads the metadata at the beginning of `data`, of a block of which there are `available` bytes.
    pub(crate) fn read(data: &[u8], available: usize) -> Checked<Directory> {
        let header = Header::read(data)?;
        let kind = LayoutKind::from_tag(header.layout).ok_or_else(|| format!("layout {}", header.layout))?;
        let length = usize::try_from(header.total_bytes).map_err(|_| "its length is absurd")?;
        if length > available || length > u32::MAX as usize {
            return Err(format!("{length} bytes are claimed, {available} are there"));
        }
        let rows = usize::try_from(header.rows).ok().filter(|r| *r <= u32::MAX as usize);
        let rows = rows.ok_or_else(|| format!("{} rows are claimed", header.rows))?;
        let most = length.min(data.len());
        let metadata_bytes = within(header.metadata_bytes, 0, most).ok_or("the metadata is too long")?;
        let directory_end = (header.columns as usize)
            .checked_mul(ENTRY_BYTES)
            .and_then(|n| n.checked_add(HEADER_BYTES))
            .filter(|end| *end <= metadata_bytes)
            .ok_or_else(|| format!("{} columns do not fit", header.columns))?;
        let bounds_end = header.bounds_at.checked_add(header.bounds_bytes).unwrap_or(u64::MAX);
        within(bounds_end, directory_end, metadata_bytes).ok_or("the bounds lie outside the metadata")?;
        within(header.bounds_at, directory_end, metadata_bytes)
            .ok_or("the bounds lie outside the metadata")?;
        let checksums_end =
            header.checksum_count.checked_mul(8).and_then(|n| n.checked_add(header.checksums_at));
        within(checksums_end.unwrap_or(u64::MAX), directory_end, metadata_bytes)
            .ok_or("the checksums lie outside the metadata")?;

        let mut entries = Vec::with_capacity(header.columns as usize);
        let mut checked = Vec::new();
        let mut checksum = 0usize;
        for column in 0..header.columns as usize {
            let at = HEADER_BYTES + column * ENTRY_BYTES;
            let mut entry = Entry::read(&data[at..at + ENTRY_BYTES])
                .ok_or_else(|| format!("column {column} has an unknown type"))?;
            for extent in &mut entry.extents {
                let end = extent.offset.checked_add(extent.length).unwrap_or(u64::MAX);
                let placed = within(extent.offset, metadata_bytes, length).is_some()
                    && within(end, metadata_bytes, length).is_some()
                    && extent.offset % layout::EXTENT_ALIGNMENT as u64 == 0;
                if extent.length > 0 && !placed {
                    return Err(format!("column {column} lies outside the block"));
                }
                // An empty extent has no place; it must not be read from one.
                if extent.length == 0 {
                    *extent = Extent::default();
                }
                checked.push((*extent, checksum));
                checksum += extent.checksums();
            }
            entries.push(entry);
        }
        if checksum as u64 != header.checksum_count {
            return Err(format!("{} checksums, {checksum} are needed", header.checksum_count));
        }
        Ok(Directory { header, kind, length, rows, entries, checked })
    }

    /// The bytes of string bounds, in the metadata that was read.
    pub(crate) fn bounds<'a>(&self, metadata: &'a [u8]) -> &'a [u8] {
        let at = self.header.bounds_at as usize;
        &metadata[at..at + self.header.bounds_bytes as usize]
    }

    /// What metadata says of a column.
    pub(crate) fn statistics(&self, column: usize, metadata: &[u8]) -> Checked<ColumnStatistics> {
        let nothing = Buffer::default();
        let entry = &self.entries[column];
        let reader = Reader { bytes: &nothing, first: 0, rows: self.rows, entry, trust: Trust::Nothing };
        reader.statistics(self.bounds(metadata)).map_err(|e| format!("column {column}: {e}"))
    }

    /// Some columns, of which `bytes` holds the extents; its first byte is the block's byte `first`.
    pub(crate) fn stripes(
        &self,
        columns: Range<usize>,
        bytes: &Buffer,
        first: usize,
        metadata: &[u8],
        trust: Trust,
    ) -> Checked<Box<StripeStore>> {
        let bounds = self.bounds(metadata);
        let stripe = |column: usize| {
            let reader = Reader { bytes, first, rows: self.rows, entry: &self.entries[column], trust };
            reader.stripe(bounds).map_err(|e| format!("column {column}: {e}"))
        };
        Ok(Box::new(StripeStore { rows: self.rows, stripes: columns.map(stripe).collect::<Checked<_>>()? }))
    }
}

/// Whether extents in this memory are aligned.
pub(crate) fn check_alignment(bytes: &Buffer) -> Checked<()> {
    match bytes.as_ptr().align_offset(crate::BLOCK_ALIGNMENT) {
        0 => Ok(()),
        _ => Err(format!("its memory is not aligned to {} bytes", crate::BLOCK_ALIGNMENT)),
    }
}

pub(crate) fn open(bytes: Buffer, trust: Trust) -> Checked<Block> {
    let data = bytes.as_slice();
    let directory = Directory::read(data, data.len())?;
    check_alignment(&bytes)?;
    let store = directory.stripes(0..directory.entries.len(), &bytes, 0, data, trust)?;
    Ok(Block::from_parts(bytes, directory, store))
}

/// Recomputes the checksum of the metadata of bytes that `open` accepted.
pub(crate) fn verify_metadata(bytes: &[u8]) -> Checked<()> {
    let header = Header::read(bytes)?;
    let mut metadata = bytes[..header.metadata_bytes as usize].to_vec();
    metadata[layout::METADATA_CHECKSUM_AT..layout::METADATA_CHECKSUM_AT + 8].fill(0);
    if simd::checksum(&metadata) != header.metadata_checksum {
        return Err("the checksum of its metadata does not match".into());
    }
    Ok(())
}

/// Recomputes the checksums of some extents; `first` is where in the block `bytes` begins, `checksums` all of its own.
pub(crate) fn verify_extents(
    extents: &[(Extent, usize)],
    bytes: &[u8],
    first: usize,
    checksums: &[u8],
) -> Checked<()> {
    for (extent, checksum) in extents.iter().filter(|(extent, _)| extent.length > 0) {
        let from = extent.offset as usize - first;
        let data = &bytes[from..from + extent.length as usize];
        for (i, chunk) in data.chunks(layout::CHECKSUM_CHUNK).enumerate() {
            let stored = layout::take_u64(checksums, (checksum + i) * 8);
            if stored != Some(simd::checksum(chunk)) {
                let at = extent.offset as usize + i * layout::CHECKSUM_CHUNK;
                return Err(format!("the checksum of the 64 KiB at byte {at} does not match"));
            }
        }
    }
    Ok(())
}

/// `value` as an index, when it is in `low..=high`.
fn within(value: u64, low: usize, high: usize) -> Option<usize> {
    usize::try_from(value).ok().filter(|v| (low..=high).contains(v))
}

struct Reader<'a> {
    bytes: &'a Buffer,
    /// Where in the block its first byte lies.
    first: usize,
    rows: usize,
    entry: &'a Entry,
    trust: Trust,
}

impl Reader<'_> {
    fn stripe(&self, bounds: &[u8]) -> Checked<Stripe> {
        let entry = self.entry;
        let physical = entry.ty.physical();
        let (nulls, null_words) = self.validity()?;
        let null_count = nulls.as_ref().map_or(0, NullBuffer::null_count);
        if null_count as u64 != entry.null_count {
            return Err(format!("{} NULLs are claimed, {null_count} found", entry.null_count));
        }
        let mut dictionary = None;
        let (coding, values) = match entry.coding {
            layout::CODING_BITS if physical == Physical::Bool => {
                let words = self.slice::<u64>(VALUES, self.rows.div_ceil(64))?;
                let buffer = BooleanBuffer::new(words.inner().clone(), 0, self.rows);
                (Coding::Bits, Values::Bits(Bits { words, buffer }))
            }
            layout::CODING_PLAIN => (Coding::Plain, self.plain(VALUES, physical, self.rows)?),
            layout::CODING_DICTIONARY => {
                let size = entry.dictionary_size as usize;
                let values = self.plain(DICTIONARY, physical, size)?;
                if self.trust == Trust::Nothing {
                    check_order(&values, size)?;
                }
                dictionary = Some(DictionaryStripe { ty: entry.ty, size, values, vector: OnceLock::new() });
                let coding = Coding::Dictionary { width: entry.code_width, size: entry.dictionary_size };
                (coding, self.codes(size as u64)?)
            }
            layout::CODING_TRUNCATED => {
                let coding =
                    Coding::Truncated { width: entry.code_width, base: entry.base, step: entry.step };
                let values = self.codes(1 << 32)?;
                self.check_truncation(physical, &values)?;
                (coding, values)
            }
            other => return Err(format!("coding {other} does not go with {}", entry.ty)),
        };
        let statistics = self.statistics(bounds)?;
        Ok(Stripe { ty: entry.ty, coding, statistics, nulls, null_words, values, dictionary })
    }

    /// `count` values of an extent, which must be exactly as long.
    fn slice<T: arrow_buffer::ArrowNativeType>(
        &self,
        extent: usize,
        count: usize,
    ) -> Checked<ScalarBuffer<T>> {
        let Extent { offset, length } = self.entry.extents[extent];
        let wanted = count.checked_mul(size_of::<T>()).ok_or("too many values")?;
        if length as usize != wanted {
            return Err(format!("extent {extent} has {length} bytes, {wanted} are needed"));
        }
        if count == 0 {
            return Ok(Vec::<T>::new().into());
        }
        // In bounds and aligned: `Directory::read` and `check_alignment` have seen to both.
        Ok(ScalarBuffer::new(self.bytes.slice_with_length(offset as usize - self.first, wanted), 0, count))
    }

    fn validity(&self) -> Checked<(Option<NullBuffer>, Option<ScalarBuffer<u64>>)> {
        if self.entry.extents[VALIDITY].length == 0 {
            return Ok((None, None));
        }
        let words = self.slice::<u64>(VALIDITY, self.rows.div_ceil(64))?;
        let nulls = NullBuffer::new(BooleanBuffer::new(words.inner().clone(), 0, self.rows));
        if nulls.null_count() == 0 {
            return Ok((None, None));
        }
        Ok((Some(nulls), Some(words)))
    }

    /// Uncoded values: of the column, or of its dictionary.
    fn plain(&self, extent: usize, physical: Physical, count: usize) -> Checked<Values> {
        Ok(match physical {
            Physical::I16 => Values::I16(self.slice(extent, count)?),
            Physical::I32 => Values::I32(self.slice(extent, count)?),
            Physical::I64 => Values::I64(self.slice(extent, count)?),
            Physical::I128 => Values::I128(self.slice(extent, count)?),
            Physical::F32 => Values::F32(self.slice(extent, count)?),
            Physical::F64 => Values::F64(self.slice(extent, count)?),
            Physical::Bytes => Values::Strings(self.strings(extent, count)?),
            Physical::Bool => return Err("booleans are held as bits".into()),
        })
    }

    fn strings(&self, extent: usize, count: usize) -> Checked<StringStripe> {
        let offsets: ScalarBuffer<u32> = self.slice(extent, count + 1)?;
        let Extent { offset, length } = self.entry.extents[HEAP];
        let heap = match length {
            0 => Buffer::default(),
            _ => self.bytes.slice_with_length(offset as usize - self.first, length as usize),
        };
        if self.trust == Trust::Nothing {
            let monotone = offsets.windows(2).all(|pair| pair[0] <= pair[1]);
            let end = offsets.last().copied().unwrap_or(0);
            if !monotone || u64::from(end) > length {
                return Err("string offsets are out of order or out of bounds".into());
            }
            if self.entry.ty.is_text() {
                let text = std::str::from_utf8(heap.as_slice())
                    .map_err(|e| format!("its text is not UTF-8 at byte {}", e.valid_up_to()))?;
                if !offsets.iter().all(|at| text.is_char_boundary(*at as usize)) {
                    return Err("a string begins inside a character".into());
                }
            }
        }
        Ok(StringStripe { offsets, heap: Arc::new([heap]) })
    }

    /// The codes of the column, each less than `limit`.
    fn codes(&self, limit: u64) -> Checked<Values> {
        let values = match self.entry.code_width {
            1 => Values::Codes8(self.slice(VALUES, self.rows)?),
            2 => Values::Codes16(self.slice(VALUES, self.rows)?),
            4 => Values::Codes32(self.slice(VALUES, self.rows)?),
            width => return Err(format!("codes of {width} bytes")),
        };
        if self.trust == Trust::Nothing && greatest_code(&values).is_some_and(|code| code >= limit) {
            return Err(format!("a code lies beyond the dictionary's {limit} values"));
        }
        Ok(values)
    }

    /// Every code must stand for a value of the type.
    fn check_truncation(&self, physical: Physical, values: &Values) -> Checked<()> {
        let (base, step) = (self.entry.base, self.entry.step);
        let unread = self.trust == Trust::Contents;
        let greatest = if unread { 0 } else { greatest_code(values).unwrap_or(0) };
        let last = i128::from(greatest).checked_mul(step).and_then(|d| d.checked_add(base));
        let fits = |v: i128| Value::from_i128(v, physical).is_some();
        if step < 1 || !fits(base) || !fits(step) || !last.is_some_and(fits) {
            return Err(format!("base {base} and step {step} lead outside {}", self.entry.ty));
        }
        Ok(())
    }

    fn statistics(&self, bounds: &[u8]) -> Checked<ColumnStatistics> {
        let entry = self.entry;
        let flag = |bit: u8| entry.flags & bit != 0;
        let bound = |raw: [u8; 16]| -> Checked<Value> {
            if !flag(layout::FLAG_BOUNDS) {
                return Ok(Value::Null);
            }
            let bits = u128::from_le_bytes(raw);
            let value = match entry.ty.physical() {
                Physical::Bool => Some(Value::Bool(bits != 0)),
                Physical::F32 => Some(Value::F32(f32::from_bits(bits as u32))),
                Physical::F64 => Some(Value::F64(f64::from_bits(bits as u64))),
                Physical::Bytes => {
                    let (at, length) = (bits as u32 as usize, (bits >> 32) as u32 as usize);
                    bounds.get(at..at.saturating_add(length)).map(|b| Value::Bytes(b.into()))
                }
                physical => Value::from_i128(bits as i128, physical),
            };
            value.ok_or_else(|| "a bound is not of the column's type".into())
        };
        let (min, max) = (bound(entry.min)?, bound(entry.max)?);
        let bad_text = |v: &Value| v.as_bytes().is_some() && v.as_text().is_none();
        if entry.ty.is_text() && (bad_text(&min) || bad_text(&max)) {
            return Err("a bound is not UTF-8".into());
        }
        Ok(ColumnStatistics {
            min,
            max,
            null_count: entry.null_count,
            distinct: entry.distinct.min(self.rows as u64),
            unique: flag(layout::FLAG_UNIQUE),
            sorted: flag(layout::FLAG_SORTED),
        })
    }
}

fn greatest_code(values: &Values) -> Option<u64> {
    match values {
        Values::Codes8(c) => simd::bounds(c).map(|(_, high)| u64::from(high)),
        Values::Codes16(c) => simd::bounds(c).map(|(_, high)| u64::from(high)),
        Values::Codes32(c) => simd::bounds(c).map(|(_, high)| u64::from(high)),
        _ => None,
    }
}

/// Dictionaries rise strictly, or a search in them would miss values.
fn check_order(values: &Values, size: usize) -> Checked<()> {
    let rises = match values {
        Values::I16(v) => v.windows(2).all(|p| p[0] < p[1]),
        Values::I32(v) => v.windows(2).all(|p| p[0] < p[1]),
        Values::I64(v) => v.windows(2).all(|p| p[0] < p[1]),
        Values::I128(v) => v.windows(2).all(|p| p[0] < p[1]),
        Values::F32(v) => {
            v.windows(2).all(|p| types::value::compare_f64(f64::from(p[0]), f64::from(p[1])).is_lt())
        }
        Values::F64(v) => v.windows(2).all(|p| types::value::compare_f64(p[0], p[1]).is_lt()),
        Values::Strings(s) => (1..size).all(|i| s.get(i - 1) < s.get(i)),
        _ => false,
    };
    if rises { Ok(()) } else { Err("its dictionary is out of order".into()) }
}
