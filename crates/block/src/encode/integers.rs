//! Integer columns of 16 to 128 bits: numbers, dates, times, decimals, UUIDs.
//!
//! `plan` passes over the values once (`look`): bounds, order, a sketch, and the exact number of distinct values
//! where the range is small. In compressed layouts `choose` then takes the smallest of plain values, truncation
//! (offsets from the minimum, with a step where all values are multiples apart) and a dictionary, which must be
//! clearly smaller than the others. NULL rows hold 0 in values and codes. `encode` calls it once per integer column;
//! the returned plan writes the extents.

use arrow_buffer::{NullBuffer, ScalarBuffer};
use simd::widen::Wide;
use simd::{Code, dispatch};
use types::{ColumnStatistics, Value};
use vector::{Data, Vector};

use super::plan::{ColumnPlan, bounded_distinct, valid_runs};
use crate::Coding;
use crate::sketch::{Sketch, hash_i128, hash_u64};

/// An integer type that columns are held in.
pub(super) trait Integer: Wide + Ord + Send + Sync + arrow_buffer::ArrowNativeType {
    fn buffer(data: &Data) -> Option<&ScalarBuffer<Self>>;
    fn wide(self) -> i128;
    fn value(self) -> Value;
    fn hash(self) -> u64;
    /// Bits that spread well enough for a hash table once multiplied.
    fn fold(self) -> u64;
    fn zero() -> Self;
    fn narrow_from(value: i128) -> Self;
}

macro_rules! integer {
    ($ty:ty, $variant:ident, $hash:expr) => {
        impl Integer for $ty {
            fn buffer(data: &Data) -> Option<&ScalarBuffer<Self>> {
                if let Data::$variant(values) = data { Some(values) } else { None }
            }
            #[inline(always)]
            fn wide(self) -> i128 {
                self as i128
            }
            fn value(self) -> Value {
                Value::$variant(self)
            }
            #[inline(always)]
            fn hash(self) -> u64 {
                $hash(self)
            }
            #[inline(always)]
            fn fold(self) -> u64 {
                self as u64
            }
            fn zero() -> Self {
                0
            }
            fn narrow_from(value: i128) -> Self {
                value as $ty
            }
        }
    };
}
integer!(i16, I16, |v: i16| hash_u64(i64::from(v) as u64));
integer!(i32, I32, |v: i32| hash_u64(i64::from(v) as u64));
integer!(i64, I64, |v: i64| hash_u64(v as u64));
integer!(i128, I128, hash_i128);

/// One part of the column, flat.
struct Part<T: Integer> {
    values: ScalarBuffer<T>,
    nulls: Option<NullBuffer>,
}

struct IntegerPlan<T: Integer> {
    parts: Vec<Part<T>>,
    coding: Coding,
    statistics: ColumnStatistics,
    sketch: Sketch,
    rows: usize,
    dictionary: Option<Dictionary<T>>,
}

struct Dictionary<T> {
    sorted: Vec<T>,
    /// A code per row; 0 for NULL.
    codes: Vec<u32>,
}

/// What one pass over the values found.
struct Seen<T> {
    bounds: Option<(T, T)>,
    sorted: bool,
    increasing: bool,
    /// Exact when the range is small.
    distinct: u64,
    sketch: Sketch,
}

/// Ranges up to this are counted exactly, in a byte per possible value that stays in the second-level cache.
const COUNTED_RANGE_MAX: i128 = 1 << 16;
/// A dictionary must save at least this share of the next best coding, since decoding it is an extra memory access.
const DICTIONARY_GAIN: (usize, usize) = (3, 4);

pub(super) fn plan<'a, T: Integer>(
    vectors: &[&'a Vector],
    rows: usize,
    nulls: usize,
    compress: bool,
) -> Box<dyn ColumnPlan + 'a> {
    let parts: Vec<Part<T>> = vectors.iter().map(|v| part(v)).collect();
    let seen = look(&parts, nulls);
    let present = rows - nulls;
    let statistics = ColumnStatistics {
        min: seen.bounds.map_or(Value::Null, |(low, _)| low.value()),
        max: seen.bounds.map_or(Value::Null, |(_, high)| high.value()),
        null_count: nulls as u64,
        distinct: if seen.increasing && nulls == 0 { present as u64 } else { seen.distinct },
        unique: (seen.increasing && nulls == 0) || present <= 1,
        sorted: seen.sorted && nulls == 0,
    };
    let mut plan =
        IntegerPlan { parts, coding: Coding::Plain, statistics, sketch: seen.sketch, rows, dictionary: None };
    if compress {
        plan.choose(seen.bounds, seen.distinct);
    }
    Box::new(plan)
}

fn part<T: Integer>(vector: &Vector) -> Part<T> {
    let flat = vector.flatten();
    let values = T::buffer(flat.data()).cloned().unwrap_or_else(|| vec![T::zero(); flat.len()].into());
    Part { values, nulls: flat.validity().filter(|n| n.null_count() > 0).cloned() }
}

fn look<T: Integer>(parts: &[Part<T>], nulls: usize) -> Seen<T> {
    let mut bounds: Option<(T, T)> = None;
    for part in parts {
        valid_runs(part.nulls.as_ref(), part.values.len(), |run| {
            if let Some((low, high)) = simd::bounds(&part.values[run]) {
                bounds = Some(bounds.map_or((low, high), |(l, h)| (l.min(low), h.max(high))));
            }
        });
    }
    let (mut sorted, mut increasing, mut last) = (true, true, None);
    for part in parts {
        if !sorted || nulls > 0 {
            break;
        }
        let (s, i) = order(&part.values, last);
        sorted &= s;
        increasing &= i;
        last = part.values.last().copied().or(last);
    }
    let mut sketch = Sketch::default();
    let mut distinct = 0;
    let present: usize = parts.iter().map(|p| p.values.len()).sum::<usize>() - nulls;
    if let Some((low, high)) = bounds {
        let range = high.wide().checked_sub(low.wide());
        match range {
            Some(range) if range < COUNTED_RANGE_MAX => {
                let mut table = vec![0u8; range as usize + 1];
                for part in parts {
                    valid_runs(part.nulls.as_ref(), part.values.len(), |run| {
                        for value in &part.values[run] {
                            table[value.subtract(low).low_bits() as u16 as usize] = 1;
                        }
                    });
                }
                for (offset, _) in table.iter().enumerate().filter(|(_, seen)| **seen != 0) {
                    distinct += 1;
                    sketch.add_hash(low.add(T::narrow_from(offset as i128)).hash());
                }
            }
            _ => {
                for part in parts {
                    valid_runs(part.nulls.as_ref(), part.values.len(), |run| {
                        add_hashes(&part.values[run], &mut sketch);
                    });
                }
                distinct = bounded_distinct(&sketch, present);
            }
        }
    }
    Seen { bounds, sorted, increasing, distinct, sketch }
}

dispatch! {
    fn add_hashes<T: Integer>(values: &[T], sketch: &mut Sketch) {
        // Hashing vectorises; the registers do not. Apart, both run at full speed.
        let mut hashes = [0u64; 256];
        for chunk in values.chunks(256) {
            for (hash, value) in hashes.iter_mut().zip(chunk) {
                *hash = value.hash();
            }
            for hash in &hashes[..chunk.len()] {
                sketch.add_hash(*hash);
            }
        }
    }
}

/// Whether values (after `last`) never fall, and whether they always rise.
fn order<T: Integer>(values: &[T], last: Option<T>) -> (bool, bool) {
    let (mut sorted, mut increasing) = (true, true);
    if let (Some(last), Some(first)) = (last, values.first()) {
        sorted = last <= *first;
        increasing = last < *first;
    }
    // Chunks overlap by one value; the first that falls ends the search.
    let mut at = 0;
    while sorted && at + 1 < values.len() {
        let end = (at + 1025).min(values.len());
        let (s, i) = chunk_order(&values[at..end]);
        sorted &= s;
        increasing &= i;
        at = end - 1;
    }
    (sorted, sorted && increasing)
}

dispatch! {
    fn chunk_order<T: Integer>(values: &[T]) -> (bool, bool) {
        let (mut falls, mut stays) = (false, false);
        for pair in values.windows(2) {
            falls |= pair[0] > pair[1];
            stays |= pair[0] == pair[1];
        }
        (!falls, !falls && !stays)
    }
}

/// Bytes of the narrowest code for `count` different codes, if 4 suffice.
fn code_width(last: i128) -> Option<u8> {
    match last {
        0..=0xFF => Some(1),
        0x100..=0xFFFF => Some(2),
        0x1_0000..=0xFFFF_FFFF => Some(4),
        _ => None,
    }
}

impl<T: Integer> IntegerPlan<T> {
    fn choose(&mut self, bounds: Option<(T, T)>, distinct: u64) {
        let width = size_of::<T>();
        let Some((low, high)) = bounds else {
            // Nothing but NULL: one byte a row stands for it.
            if width > 1 && self.rows > 0 {
                self.coding = Coding::Truncated { width: 1, base: 0, step: 1 };
            }
            return;
        };
        let range = high.wide().checked_sub(low.wide());
        let mut best = width;
        if let Some(code) = range.and_then(code_width).filter(|code| usize::from(*code) < width) {
            best = usize::from(code);
            self.coding = Coding::Truncated { width: code, base: low.wide(), step: 1 };
        }
        if best == 1 {
            return;
        }
        if let Some(range) = range {
            let step = self.common_step(low);
            // The step is a value of the type, too: -2 and 2147483647 are further apart than an INTEGER can say.
            let says = step > 1 && T::narrow_from(step).wide() == step;
            let stepped = if says { code_width(range / step) } else { None };
            if let Some(code) = stepped.filter(|code| usize::from(*code) < best)
                && self.verify_step(low, T::narrow_from(step))
            {
                best = usize::from(code);
                self.coding = Coding::Truncated { width: code, base: low.wide(), step };
            }
        }
        // The estimate may be low by some per cent; the dictionary's own limit decides.
        let dictionary_bytes = |size: usize| {
            let code = if size <= 256 {
                1
            } else if size <= 65_536 {
                2
            } else {
                4
            };
            self.rows * code + size * width
        };
        let limit = self.rows * best * DICTIONARY_GAIN.0 / DICTIONARY_GAIN.1;
        if best > 1 && dictionary_bytes(distinct as usize) <= limit {
            // The most values with which a dictionary is still worth having.
            let most = if best == 2 { 256 } else { (limit.saturating_sub(self.rows) / width).min(1 << 20) };
            if let Some(dictionary) = build_dictionary(&self.parts, self.rows, most) {
                let size = dictionary.sorted.len();
                if dictionary_bytes(size) <= limit {
                    let code = code_width(size as i128 - 1).unwrap_or(4);
                    self.coding = Coding::Dictionary { width: code, size: size as u32 };
                    self.statistics.distinct = size as u64;
                    self.dictionary = Some(dictionary);
                }
            }
        }
    }

    /// The greatest step that a sample of values agrees with; 1 when there is none.
    fn common_step(&self, low: T) -> i128 {
        let mut step = 0i128;
        let stride = (self.rows / 256).max(1);
        for part in &self.parts {
            for row in (0..part.values.len()).step_by(stride) {
                if part.nulls.as_ref().is_some_and(|n| n.is_null(row)) {
                    continue;
                }
                step = greatest_common_divisor(step, part.values[row].wide() - low.wide());
                if step == 1 {
                    return 1;
                }
            }
        }
        step.max(1)
    }

    fn verify_step(&self, low: T, step: T) -> bool {
        self.parts.iter().all(|part| {
            let mut fits = true;
            valid_runs(part.nulls.as_ref(), part.values.len(), |run| {
                fits = fits && part.values[run].chunks(4096).all(|chunk| all_multiples(chunk, low, step));
            });
            fits
        })
    }

    fn write_codes<C: Code>(&self, out: &mut [u8]) {
        let Some(out) = simd::typed_mut::<C>(out) else { unreachable!("extents are aligned") };
        match (&self.dictionary, self.coding) {
            (Some(dictionary), _) => {
                for (code, id) in out.iter_mut().zip(&dictionary.codes) {
                    *code = C::truncate(u64::from(*id));
                }
            }
            (None, Coding::Truncated { base, step, .. }) => {
                let (base, step) = (T::narrow_from(base), T::narrow_from(step));
                let mut at = 0;
                for part in &self.parts {
                    let codes = &mut out[at..at + part.values.len()];
                    simd::narrow(&part.values, base, step, codes);
                    zero_nulls(codes, part.nulls.as_ref());
                    at += part.values.len();
                }
            }
            _ => unreachable!("only coded columns have codes"),
        }
    }
}

fn zero_nulls<C: Default>(codes: &mut [C], nulls: Option<&NullBuffer>) {
    if let Some(nulls) = nulls {
        for (row, code) in codes.iter_mut().enumerate() {
            if nulls.is_null(row) {
                *code = C::default();
            }
        }
    }
}

dispatch! {
    fn all_multiples<T: Integer>(values: &[T], low: T, step: T) -> bool {
        let mut fits = true;
        for value in values {
            let offset = value.subtract(low);
            fits &= offset.divide_unsigned(step).multiply(step) == offset;
        }
        fits
    }
}

fn greatest_common_divisor(a: i128, b: i128) -> i128 {
    let (mut a, mut b) = (a.unsigned_abs(), b.unsigned_abs());
    while b != 0 {
        (a, b) = (b, a % b);
    }
    i128::try_from(a).unwrap_or(1)
}

/// The distinct values and each row's code; `None` when there are more than `most`.
fn build_dictionary<T: Integer>(parts: &[Part<T>], rows: usize, most: usize) -> Option<Dictionary<T>> {
    let capacity = (most.min(rows) * 2 + 16).next_power_of_two();
    let shift = 64 - capacity.trailing_zeros();
    // Slots hold id + 1; 0 is free.
    let mut slots = vec![0u32; capacity];
    let mut distinct: Vec<T> = Vec::new();
    let mut codes: Vec<u32> = Vec::with_capacity(rows);
    for part in parts {
        for (row, value) in part.values.iter().enumerate() {
            if part.nulls.as_ref().is_some_and(|n| n.is_null(row)) {
                codes.push(u32::MAX);
                continue;
            }
            let mut slot = (value.fold().wrapping_mul(0x9E37_79B9_7F4A_7C15) >> shift) as usize;
            let id = loop {
                match slots[slot] {
                    0 => {
                        if distinct.len() >= most {
                            return None;
                        }
                        distinct.push(*value);
                        slots[slot] = distinct.len() as u32;
                        break distinct.len() as u32 - 1;
                    }
                    id if distinct[id as usize - 1] == *value => break id - 1,
                    _ => slot = (slot + 1) & (capacity - 1),
                }
            };
            codes.push(id);
        }
    }
    let mut order: Vec<u32> = (0..distinct.len() as u32).collect();
    order.sort_unstable_by_key(|id| distinct[*id as usize]);
    let mut rank = vec![0u32; distinct.len()];
    for (code, id) in order.iter().enumerate() {
        rank[*id as usize] = code as u32;
    }
    for code in &mut codes {
        *code = rank.get(*code as usize).copied().unwrap_or(0);
    }
    Some(Dictionary { sorted: order.iter().map(|id| distinct[*id as usize]).collect(), codes })
}

impl<T: Integer> ColumnPlan for IntegerPlan<T> {
    fn coding(&self) -> Coding {
        self.coding
    }
    fn statistics(&self) -> &ColumnStatistics {
        &self.statistics
    }
    fn sketch(&mut self) -> Sketch {
        std::mem::take(&mut self.sketch)
    }
    fn lengths(&self) -> [usize; 3] {
        let width = self.coding.code_width().map_or(size_of::<T>(), usize::from);
        let dictionary = self.dictionary.as_ref().map_or(0, |d| d.sorted.len() * size_of::<T>());
        [self.rows * width, dictionary, 0]
    }
    fn write_values(&self, out: &mut [u8]) {
        match self.coding.code_width() {
            Some(1) => self.write_codes::<u8>(out),
            Some(2) => self.write_codes::<u16>(out),
            Some(_) => self.write_codes::<u32>(out),
            None => {
                let Some(out) = simd::typed_mut::<T>(out) else { unreachable!("extents are aligned") };
                let mut at = 0;
                for part in &self.parts {
                    let target = &mut out[at..at + part.values.len()];
                    target.copy_from_slice(&part.values);
                    zero_nulls(target, part.nulls.as_ref());
                    at += part.values.len();
                }
            }
        }
    }
    fn write_dictionary(&self, out: &mut [u8]) {
        if let Some(dictionary) = &self.dictionary {
            out.copy_from_slice(simd::as_bytes(&dictionary.sorted));
        }
    }
}
