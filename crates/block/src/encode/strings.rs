//! String columns: an ordered dictionary, or offsets and a heap.
//!
//! A sample decides whether a dictionary is tried at all, so that comments and names cost one pass. Short strings are
//! told apart by their 16-byte views alone. Dictionary vectors that come in (from Parquet, from other blocks) are not
//! decoded: each of their values is looked up once, each row's code is mapped.

use arrow_buffer::NullBuffer;
use types::{ColumnStatistics, Result, Value};
use vector::strings::{INLINE_BYTES, inline_view, view_length};
use vector::{Data, Strings, Vector};

use super::plan::{ColumnPlan, bounded_distinct, too_large};
use crate::Coding;
use crate::layout::BOUND_BYTES_MAX;
use crate::sketch::{Sketch, hash_bytes};

/// One part of the column.
enum Part<'a> {
    Flat { strings: &'a Strings, nulls: Option<&'a NullBuffer> },
    Coded { codes: &'a [u32], values: &'a Strings, nulls: Option<&'a NullBuffer> },
    Constant { bytes: &'a [u8], rows: usize, nulls: Option<&'a NullBuffer> },
    Null { rows: usize },
}

impl<'a> Part<'a> {
    fn new(vector: &'a Vector) -> Self {
        let nulls = vector.validity().filter(|n| n.null_count() > 0);
        match vector.data() {
            Data::Bytes(strings) => Part::Flat { strings, nulls },
            Data::Dictionary { codes, values } => match values.data() {
                Data::Bytes(values) => Part::Coded { codes, values, nulls },
                _ => Part::Null { rows: vector.len() },
            },
            Data::Constant(Value::Bytes(bytes)) => Part::Constant { bytes, rows: vector.len(), nulls },
            _ => Part::Null { rows: vector.len() },
        }
    }
    fn rows(&self) -> usize {
        match self {
            Part::Flat { strings, .. } => strings.len(),
            Part::Coded { codes, .. } => codes.len(),
            Part::Constant { rows, .. } | Part::Null { rows } => *rows,
        }
    }
    /// `None` for NULL.
    #[inline]
    fn get(&self, row: usize) -> Option<&'a [u8]> {
        match self {
            Part::Flat { strings, nulls } => (!is_null(*nulls, row)).then(|| strings.get(row)),
            Part::Coded { codes, values, nulls } => {
                (!is_null(*nulls, row)).then(|| values.get(codes[row] as usize))
            }
            Part::Constant { bytes, nulls, .. } => (!is_null(*nulls, row)).then_some(*bytes),
            Part::Null { .. } => None,
        }
    }
    /// Calls `f` with every row's bytes, NULL as `None`.
    #[inline]
    fn for_each(&self, mut f: impl FnMut(Option<&'a [u8]>)) {
        match self {
            Part::Flat { strings, nulls: None } => {
                for row in 0..strings.len() {
                    f(Some(strings.get(row)));
                }
            }
            _ => {
                for row in 0..self.rows() {
                    f(self.get(row));
                }
            }
        }
    }
}

#[inline]
fn is_null(nulls: Option<&NullBuffer>, row: usize) -> bool {
    nulls.is_some_and(|n| n.is_null(row))
}

struct PlainPlan<'a> {
    parts: Vec<Part<'a>>,
    rows: usize,
    heap_bytes: usize,
    statistics: ColumnStatistics,
    sketch: Sketch,
}

struct DictionaryPlan<'a> {
    sorted: Vec<&'a [u8]>,
    heap_bytes: usize,
    /// An id per row, in order of first appearance; `rank` makes it a code.
    ids: Vec<u32>,
    rank: Vec<u32>,
    statistics: ColumnStatistics,
    sketch: Sketch,
}

pub(super) fn plan<'a>(
    vectors: &[&'a Vector],
    rows: usize,
    nulls: usize,
    compress: bool,
    text: bool,
) -> Result<Box<dyn ColumnPlan + 'a>> {
    let parts: Vec<Part<'a>> = vectors.iter().map(|v| Part::new(v)).collect();
    if compress
        && rows > nulls
        && worth_a_dictionary(&parts, rows)
        && let Some(plan) = plan_dictionary(&parts, rows, nulls, text)
    {
        return Ok(Box::new(plan));
    }
    let plan = plan_plain(parts, rows, nulls, text);
    if u32::try_from(plan.heap_bytes).is_err() {
        return Err(too_large("the strings of one block's column exceed 4 GiB"));
    }
    Ok(Box::new(plan))
}

/// Rows looked at to decide whether values repeat.
const SAMPLE_ROWS: usize = 1024;

/// Whether a sample lets expect that at most half of the rows are distinct. Of `n` rows drawn from `d` equally
/// frequent values about `n * n / (2 d)` repeat an earlier one; neighbours that are equal show clustered columns,
/// where values repeat but an even sample would not see it.
fn worth_a_dictionary(parts: &[Part<'_>], rows: usize) -> bool {
    if parts.iter().any(|p| matches!(p, Part::Coded { .. })) || rows <= SAMPLE_ROWS / 4 {
        return true;
    }
    let stride = rows.div_ceil(SAMPLE_ROWS);
    let mut hashes = Vec::with_capacity(SAMPLE_ROWS);
    let mut neighbours = 0usize;
    for part in parts {
        for row in (0..part.rows()).step_by(stride) {
            let Some(bytes) = part.get(row) else { continue };
            hashes.push(hash_bytes(bytes));
            neighbours += usize::from(row + 1 < part.rows() && part.get(row + 1) == Some(bytes));
        }
    }
    let n = hashes.len();
    hashes.sort_unstable();
    hashes.dedup();
    let repeated = n - hashes.len();
    neighbours * 2 >= n || repeated * rows >= n * n
}

/// Distinct strings in order of first appearance, found by hash.
struct Distinct<'a> {
    /// id + 1; 0 is free.
    slots: Vec<u32>,
    entries: Vec<Entry<'a>>,
    heap_bytes: usize,
    sketch: Sketch,
    limit: usize,
}

struct Entry<'a> {
    /// The view when it holds the whole string, else length and prefix.
    key: u128,
    hash: u64,
    bytes: &'a [u8],
}

impl<'a> Distinct<'a> {
    fn new(limit: usize) -> Self {
        Distinct {
            slots: vec![0; 1024],
            entries: Vec::new(),
            heap_bytes: 0,
            sketch: Sketch::default(),
            limit,
        }
    }
    /// The id of the string; `None` when it is one too many.
    #[inline]
    fn id(&mut self, view: u128, bytes: impl FnOnce() -> &'a [u8]) -> Option<u32> {
        if view_length(view) <= INLINE_BYTES {
            let (low, high) = (view as u64, (view >> 64) as u64);
            let hash = (low ^ high.wrapping_mul(0x94D0_49BB_1331_11EB).rotate_left(32))
                .wrapping_mul(0x9E37_79B9_7F4A_7C15);
            let mut slot = self.slot(hash);
            loop {
                match self.slots[slot] {
                    0 => return self.insert(slot, view, hash, bytes()),
                    id if self.entries[id as usize - 1].key == view => return Some(id - 1),
                    _ => slot = (slot + 1) & (self.slots.len() - 1),
                }
            }
        }
        let bytes = bytes();
        let key = view & u128::from(u64::MAX);
        let hash = hash_long(bytes);
        let mut slot = self.slot(hash);
        loop {
            match self.slots[slot] {
                0 => return self.insert(slot, key, hash, bytes),
                id => {
                    let entry = &self.entries[id as usize - 1];
                    if entry.hash == hash && entry.key == key && entry.bytes == bytes {
                        return Some(id - 1);
                    }
                    slot = (slot + 1) & (self.slots.len() - 1);
                }
            }
        }
    }
    /// The highest bits of a product depend on all bits of its factor; the lowest do not.
    #[inline]
    fn slot(&self, hash: u64) -> usize {
        (hash >> (64 - self.slots.len().trailing_zeros())) as usize
    }
    #[cold]
    fn insert(&mut self, slot: usize, key: u128, hash: u64, bytes: &'a [u8]) -> Option<u32> {
        if self.entries.len() >= self.limit {
            return None;
        }
        self.sketch.add_hash(hash_bytes(bytes));
        self.heap_bytes += bytes.len();
        self.entries.push(Entry { key, hash, bytes });
        let id = self.entries.len() as u32;
        self.slots[slot] = id;
        if self.entries.len() * 2 > self.slots.len() {
            let size = self.slots.len() * 4;
            self.slots = vec![0; size];
            for (i, entry) in self.entries.iter().enumerate() {
                let mut slot = self.slot(entry.hash);
                while self.slots[slot] != 0 {
                    slot = (slot + 1) & (size - 1);
                }
                self.slots[slot] = i as u32 + 1;
            }
        }
        Some(id - 1)
    }
}

/// Hash of a string longer than a view, all of its bytes: whole words, and a last one that may overlap them.
#[inline]
fn hash_long(bytes: &[u8]) -> u64 {
    let word = |at: usize| {
        let mut raw = [0; 8];
        raw.copy_from_slice(&bytes[at..at + 8]);
        u64::from_le_bytes(raw)
    };
    let mut hash = bytes.len() as u64;
    let mut at = 0;
    while at + 8 < bytes.len() {
        hash = (hash.rotate_left(29) ^ word(at)).wrapping_mul(0x9E37_79B9_7F4A_7C15);
        at += 8;
    }
    (hash.rotate_left(29) ^ word(bytes.len() - 8)).wrapping_mul(0x9E37_79B9_7F4A_7C15)
}

fn plan_dictionary<'a>(
    parts: &[Part<'a>],
    rows: usize,
    nulls: usize,
    text: bool,
) -> Option<DictionaryPlan<'a>> {
    // With more distinct values than this, codes and offsets alone would outweigh what repetition saves.
    let mut distinct = Distinct::new(rows / 2 + 16);
    let mut ids: Vec<u32> = Vec::with_capacity(rows);
    let mut plain_heap = 0usize;
    // The mapping of the last dictionary vector seen, reused while parts share one.
    let mut mapped: (*const Strings, Vec<u32>) = (std::ptr::null(), Vec::new());
    for part in parts {
        match part {
            Part::Flat { strings, nulls } => {
                for (row, view) in strings.views().iter().enumerate() {
                    if is_null(*nulls, row) {
                        ids.push(u32::MAX);
                    } else {
                        ids.push(distinct.id(*view, || strings.get(row))?);
                        plain_heap += view_length(*view);
                    }
                }
            }
            Part::Coded { codes, values, nulls } => {
                if !std::ptr::eq(mapped.0, *values) {
                    mapped = (*values, vec![u32::MAX; values.len()]);
                }
                for (row, code) in codes.iter().enumerate() {
                    if is_null(*nulls, row) {
                        ids.push(u32::MAX);
                        continue;
                    }
                    let code = *code as usize;
                    if mapped.1[code] == u32::MAX {
                        mapped.1[code] = distinct.id(values.views()[code], || values.get(code))?;
                    }
                    ids.push(mapped.1[code]);
                    plain_heap += view_length(values.views()[code]);
                }
            }
            Part::Constant { bytes, rows, nulls } => {
                let id = distinct.id(view_of(bytes), || bytes)?;
                for row in 0..*rows {
                    ids.push(if is_null(*nulls, row) { u32::MAX } else { id });
                }
                plain_heap += bytes.len() * rows;
            }
            Part::Null { rows } => ids.resize(ids.len() + rows, u32::MAX),
        }
    }
    let size = distinct.entries.len();
    if size == 0 {
        return None;
    }
    let width = code_width(size);
    let coded = rows * usize::from(width) + 4 * (size + 1) + distinct.heap_bytes;
    let plain = 4 * (rows + 1) + plain_heap;
    // Wide codes are only worth their second access when they save a quarter.
    let limit = if width == 4 { plain / 4 * 3 } else { plain };
    if coded >= limit && !(width == 1 && coded <= plain) {
        return None;
    }
    let mut order: Vec<(u64, u32)> =
        distinct.entries.iter().enumerate().map(|(id, e)| (prefix(e.bytes), id as u32)).collect();
    let entries = &distinct.entries;
    order.sort_unstable_by(|a, b| {
        a.0.cmp(&b.0).then_with(|| entries[a.1 as usize].bytes.cmp(entries[b.1 as usize].bytes))
    });
    let mut rank = vec![0u32; size];
    for (code, (_, id)) in order.iter().enumerate() {
        rank[*id as usize] = code as u32;
    }
    let sorted: Vec<&'a [u8]> = order.iter().map(|(_, id)| entries[*id as usize].bytes).collect();
    let present = rows - nulls;
    let is_sorted = nulls == 0 && ids.windows(2).all(|p| rank[p[0] as usize] <= rank[p[1] as usize]);
    let (first, last) = (sorted.first().copied().unwrap_or(&[]), sorted.last().copied().unwrap_or(&[]));
    let statistics = ColumnStatistics {
        min: lower_bound(first, text),
        max: upper_bound(last, text),
        null_count: nulls as u64,
        distinct: size as u64,
        unique: size == present,
        sorted: is_sorted,
    };
    let sketch = distinct.sketch;
    Some(DictionaryPlan { sorted, heap_bytes: distinct.heap_bytes, ids, rank, statistics, sketch })
}

fn view_of(bytes: &[u8]) -> u128 {
    if bytes.len() <= INLINE_BYTES { inline_view(bytes) } else { vector::strings::make_view(bytes, 0, 0) }
}

fn code_width(size: usize) -> u8 {
    if size <= 256 {
        1
    } else if size <= 65_536 {
        2
    } else {
        4
    }
}

/// The first eight bytes as a number that orders as they do.
#[inline]
fn prefix(bytes: &[u8]) -> u64 {
    let mut raw = [0; 8];
    let n = bytes.len().min(8);
    raw[..n].copy_from_slice(&bytes[..n]);
    u64::from_be_bytes(raw)
}

fn plan_plain<'a>(parts: Vec<Part<'a>>, rows: usize, nulls: usize, text: bool) -> PlainPlan<'a> {
    let mut sketch = Sketch::default();
    let mut heap_bytes = 0usize;
    let (mut min, mut max): (Option<&[u8]>, Option<&[u8]>) = (None, None);
    let (mut min_prefix, mut max_prefix) = (u64::MAX, 0u64);
    let (mut sorted, mut increasing, mut last): (bool, bool, Option<&[u8]>) = (nulls == 0, nulls == 0, None);
    for part in &parts {
        part.for_each(|bytes| {
            let Some(bytes) = bytes else { return };
            heap_bytes += bytes.len();
            sketch.add_hash(hash_bytes(bytes));
            let head = prefix(bytes);
            if sorted {
                // While values rise, the first is the least and the last the greatest.
                let order = last.map_or(std::cmp::Ordering::Less, |last| last.cmp(bytes));
                if order.is_le() {
                    increasing &= order.is_lt();
                    if last.is_none() {
                        (min, min_prefix) = (Some(bytes), head);
                    }
                    (max, max_prefix) = (Some(bytes), head);
                    last = Some(bytes);
                    return;
                }
                sorted = false;
            }
            // Most strings are decided by their first eight bytes.
            if head <= min_prefix && min.is_none_or(|m| bytes < m) {
                (min, min_prefix) = (Some(bytes), head);
            }
            if head >= max_prefix && max.is_none_or(|m| bytes > m) {
                (max, max_prefix) = (Some(bytes), head);
            }
        });
    }
    let present = rows - nulls;
    let unique = (sorted && increasing) || present <= 1;
    let statistics = ColumnStatistics {
        min: min.map_or(Value::Null, |m| lower_bound(m, text)),
        max: max.map_or(Value::Null, |m| upper_bound(m, text)),
        null_count: nulls as u64,
        distinct: if unique { present as u64 } else { bounded_distinct(&sketch, present) },
        unique,
        sorted,
    };
    PlainPlan { parts, rows, heap_bytes, statistics, sketch }
}

/// A bound no greater than `bytes`, of bounded length.
fn lower_bound(bytes: &[u8], text: bool) -> Value {
    Value::Bytes(bytes[..cut(bytes, text)].into())
}

/// A bound no less than `bytes`, of bounded length where one exists.
fn upper_bound(bytes: &[u8], text: bool) -> Value {
    let mut kept = bytes[..cut(bytes, text)].to_vec();
    if kept.len() == bytes.len() {
        return Value::Bytes(kept.into());
    }
    // Raise the last character that can be raised, dropping those that cannot.
    while !kept.is_empty() {
        if text {
            let Ok(string) = std::str::from_utf8(&kept) else { break };
            let Some(last) = string.chars().next_back() else { break };
            let length = kept.len() - last.len_utf8();
            kept.truncate(length);
            let raised = match last as u32 {
                0xD7FF => Some('\u{E000}'),
                code => char::from_u32(code + 1),
            };
            if let Some(raised) = raised {
                kept.extend_from_slice(raised.encode_utf8(&mut [0; 4]).as_bytes());
                return Value::Bytes(kept.into());
            }
        } else if let Some(last) = kept.pop()
            && last < u8::MAX
        {
            kept.push(last + 1);
            return Value::Bytes(kept.into());
        }
    }
    Value::Bytes(bytes.into())
}

/// Where a bound is cut: at a character's start.
fn cut(bytes: &[u8], text: bool) -> usize {
    let mut at = bytes.len().min(BOUND_BYTES_MAX);
    while text && at > 0 && at < bytes.len() && bytes[at] & 0xC0 == 0x80 {
        at -= 1;
    }
    at
}

impl ColumnPlan for PlainPlan<'_> {
    fn coding(&self) -> Coding {
        Coding::Plain
    }
    fn statistics(&self) -> &ColumnStatistics {
        &self.statistics
    }
    fn sketch(&mut self) -> Sketch {
        std::mem::take(&mut self.sketch)
    }
    fn lengths(&self) -> [usize; 3] {
        [(self.rows + 1) * 4, 0, self.heap_bytes]
    }
    fn write_values(&self, out: &mut [u8]) {
        let Some(out) = simd::typed_mut::<u32>(out) else { unreachable!("extents are aligned") };
        let (mut offset, mut row) = (0u32, 0);
        for part in &self.parts {
            if let Part::Flat { strings, nulls: None } = part {
                for (slot, view) in out[row..].iter_mut().zip(strings.views().iter()) {
                    *slot = offset;
                    offset += view_length(*view) as u32;
                }
                row += strings.len();
            } else {
                part.for_each(|bytes| {
                    out[row] = offset;
                    offset += bytes.map_or(0, <[u8]>::len) as u32;
                    row += 1;
                });
            }
        }
        out[row] = offset;
    }
    fn write_heap(&self, out: &mut [u8]) {
        let mut at = 0;
        for part in &self.parts {
            part.for_each(|bytes| {
                if let Some(bytes) = bytes {
                    out[at..at + bytes.len()].copy_from_slice(bytes);
                    at += bytes.len();
                }
            });
        }
    }
}

impl ColumnPlan for DictionaryPlan<'_> {
    fn coding(&self) -> Coding {
        Coding::Dictionary { width: code_width(self.sorted.len()), size: self.sorted.len() as u32 }
    }
    fn statistics(&self) -> &ColumnStatistics {
        &self.statistics
    }
    fn sketch(&mut self) -> Sketch {
        std::mem::take(&mut self.sketch)
    }
    fn lengths(&self) -> [usize; 3] {
        let width = usize::from(code_width(self.sorted.len()));
        [self.ids.len() * width, (self.sorted.len() + 1) * 4, self.heap_bytes]
    }
    fn write_values(&self, out: &mut [u8]) {
        let code = |id: &u32| self.rank.get(*id as usize).copied().unwrap_or(0);
        match code_width(self.sorted.len()) {
            1 => out.iter_mut().zip(&self.ids).for_each(|(out, id)| *out = code(id) as u8),
            2 => {
                let Some(out) = simd::typed_mut::<u16>(out) else { unreachable!("extents are aligned") };
                out.iter_mut().zip(&self.ids).for_each(|(out, id)| *out = code(id) as u16);
            }
            _ => {
                let Some(out) = simd::typed_mut::<u32>(out) else { unreachable!("extents are aligned") };
                out.iter_mut().zip(&self.ids).for_each(|(out, id)| *out = code(id));
            }
        }
    }
    fn write_dictionary(&self, out: &mut [u8]) {
        let Some(out) = simd::typed_mut::<u32>(out) else { unreachable!("extents are aligned") };
        let mut offset = 0u32;
        for (slot, bytes) in out.iter_mut().zip(&self.sorted) {
            *slot = offset;
            offset += bytes.len() as u32;
        }
        out[self.sorted.len()] = offset;
    }
    fn write_heap(&self, out: &mut [u8]) {
        let mut at = 0;
        for bytes in &self.sorted {
            out[at..at + bytes.len()].copy_from_slice(bytes);
            at += bytes.len();
        }
    }
}
