//! Normalised sort keys: every row's key as one integer or as bytes, whose plain order is the order wanted.
//!
//! ```text
//! key column:  NULL mark (only if a NULL can come)   value, big endian, one bit to 16 bytes
//!              NULLS FIRST: 0 NULL, 1 value          integers: sign bit flipped     DESC: value bits inverted
//!              NULLS LAST:  0 value, 1 NULL          floats: ordered bits, NaN largest, -0 as 0
//!                                                    text: 00 -> 00 FF, ended by 00 00
//! ```
//! All columns together take a 64-bit integer, a 128-bit one, or bytes in a heap: the smallest that holds them. As
//! integers the mark is one bit, in the heap a byte.

use std::cmp::Ordering;

use plan::SortKey;
use types::{Error, Physical, Result};
use vector::{Data, Vector};

use super::radix::sort_numbers;

/// How the rows' keys are held; the same for every batch of a sort.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Width {
    Short,
    Long,
    Heap,
}

/// What is known of the keys before the first row.
#[derive(Clone, Debug)]
pub struct KeyForm {
    keys: Vec<KeyColumn>,
    width: Width,
}

#[derive(Clone, Copy, Debug)]
struct KeyColumn {
    descending: bool,
    nulls_first: bool,
    nullable: bool,
}

impl KeyForm {
    /// `nullable[i]`: whether a NULL can come in key `i`.
    pub fn new(keys: &[SortKey], nullable: &[bool]) -> Self {
        let bits = keys.iter().zip(nullable).try_fold(0, |sum, (key, nullable)| {
            let value = match key.expr.ty.physical() {
                Physical::Bytes => return None,
                Physical::Bool => 1,
                other => 8 * other.width(),
            };
            Some(sum + value + usize::from(*nullable))
        });
        let width = match bits {
            Some(bits) if bits <= 64 => Width::Short,
            Some(bits) if bits <= 128 => Width::Long,
            _ => Width::Heap,
        };
        let column = |(key, nullable): (&SortKey, &bool)| KeyColumn {
            descending: key.descending,
            nulls_first: key.nulls_first,
            nullable: *nullable,
        };
        KeyForm { keys: keys.iter().zip(nullable).map(column).collect(), width }
    }

    /// The keys of `rows` rows, one vector a key column. Fails for a NULL where none can come.
    pub fn encode(&self, columns: &[Vector], rows: usize) -> Result<Keys> {
        let flat: Vec<Vector> = columns.iter().map(Vector::flatten).collect();
        for (column, key) in flat.iter().zip(&self.keys) {
            if !key.nullable && column.has_nulls() {
                return Err(Error::internal(format!("NULL in a sort key of type {} without NULLs", column.ty())));
            }
        }
        let columns = flat.iter().zip(&self.keys);
        Ok(match self.width {
            Width::Short => {
                let mut out = vec![0u64; rows];
                columns.for_each(|(column, key)| append_number(column, *key, &mut out));
                Keys::Short(out)
            }
            Width::Long => {
                let mut out = vec![0u128; rows];
                columns.for_each(|(column, key)| append_number(column, *key, &mut out));
                Keys::Long(out)
            }
            Width::Heap => {
                let mut heap = Vec::with_capacity(rows * 24);
                let mut ends = Vec::with_capacity(rows);
                for row in 0..rows {
                    for (column, key) in columns.clone() {
                        append_bytes(column, *key, row, &mut heap);
                    }
                    ends.push(heap.len());
                }
                Keys::Heap { heap, ends }
            }
        })
    }
}

/// Encoded keys, one a row.
#[derive(Clone, Debug)]
pub enum Keys {
    Short(Vec<u64>),
    Long(Vec<u128>),
    /// `heap[ends[i - 1]..ends[i]]` is row i's key.
    Heap {
        heap: Vec<u8>,
        ends: Vec<usize>,
    },
}

impl Keys {
    pub fn rows(&self) -> usize {
        match self {
            Keys::Short(keys) => keys.len(),
            Keys::Long(keys) => keys.len(),
            Keys::Heap { ends, .. } => ends.len(),
        }
    }
    pub fn bytes(&self) -> usize {
        match self {
            Keys::Short(keys) => keys.len() * 8,
            Keys::Long(keys) => keys.len() * 16,
            Keys::Heap { heap, ends } => heap.len() + ends.len() * 8,
        }
    }
    /// Row numbers in key order; rows with equal keys keep their order.
    pub fn sorted(&self) -> Vec<u32> {
        match self {
            Keys::Short(keys) => sort_numbers(keys),
            Keys::Long(keys) => sort_numbers(keys),
            Keys::Heap { heap, ends } => {
                // The first bytes beside the row number decide most comparisons without a look at the heap.
                let mut order: Vec<(u64, u32)> =
                    (0..ends.len()).map(|row| (prefix(in_heap(heap, ends, row)), row as u32)).collect();
                order.sort_unstable_by(|a, b| {
                    let key = |row: u32| in_heap(heap, ends, row as usize);
                    a.0.cmp(&b.0).then_with(|| key(a.1).cmp(key(b.1))).then(a.1.cmp(&b.1))
                });
                order.into_iter().map(|(_, row)| row).collect()
            }
        }
    }
    /// Order of a row of this and a row of another, encoded in the same form.
    #[inline]
    pub fn compare(&self, row: usize, other: &Keys, other_row: usize) -> Ordering {
        match (self, other) {
            (Keys::Short(a), Keys::Short(b)) => a[row].cmp(&b[other_row]),
            (Keys::Long(a), Keys::Long(b)) => a[row].cmp(&b[other_row]),
            (Keys::Heap { heap: a, ends: ae }, Keys::Heap { heap: b, ends: be }) => {
                in_heap(a, ae, row).cmp(in_heap(b, be, other_row))
            }
            _ => unreachable!("keys of one sort have one form"),
        }
    }
    /// The rows with keys before the only key of `bound`, or equal to it and let through by `equal`.
    pub fn rows_before(&self, bound: &Keys, equal: bool) -> Vec<u32> {
        let rows = 0..self.rows() as u32;
        match (self, bound) {
            (Keys::Short(keys), Keys::Short(bound)) => before(keys, bound[0], equal),
            (Keys::Long(keys), Keys::Long(bound)) => before(keys, bound[0], equal),
            _ => rows
                .filter(|row| match self.compare(*row as usize, bound, 0) {
                    Ordering::Less => true,
                    Ordering::Equal => equal,
                    Ordering::Greater => false,
                })
                .collect(),
        }
    }
    /// One row's key alone.
    pub fn single(&self, row: usize) -> Keys {
        match self {
            Keys::Short(keys) => Keys::Short(vec![keys[row]]),
            Keys::Long(keys) => Keys::Long(vec![keys[row]]),
            Keys::Heap { heap, ends } => {
                let key = in_heap(heap, ends, row).to_vec();
                Keys::Heap { ends: vec![key.len()], heap: key }
            }
        }
    }
    /// The first bytes of a row's key in the heap as a number: equal ones need `compare`.
    pub fn heap_prefix(&self, row: usize) -> u64 {
        match self {
            Keys::Heap { heap, ends } => prefix(in_heap(heap, ends, row)),
            Keys::Short(_) | Keys::Long(_) => 0,
        }
    }
}

/// Rows by a comparison without branches: most rows of a top-k are behind its bound, but not at first.
fn before<T: Copy + Ord>(keys: &[T], bound: T, equal: bool) -> Vec<u32> {
    let mut rows = vec![0u32; keys.len()];
    let mut count = 0;
    for (row, key) in keys.iter().enumerate() {
        rows[count] = row as u32;
        count += usize::from(*key < bound || (equal && *key == bound));
    }
    rows.truncate(count);
    rows
}

fn in_heap<'a>(heap: &'a [u8], ends: &[usize], row: usize) -> &'a [u8] {
    let start = if row == 0 { 0 } else { ends[row - 1] };
    &heap[start..ends[row]]
}

fn prefix(key: &[u8]) -> u64 {
    let mut bytes = [0u8; 8];
    let taken = key.len().min(8);
    bytes[..taken].copy_from_slice(&key[..taken]);
    u64::from_be_bytes(bytes)
}

fn ordered_f64(f: f64) -> u64 {
    let f = if f == 0.0 { 0.0 } else { f };
    let bits = if f.is_nan() { f64::NAN.to_bits() & !(1 << 63) } else { f.to_bits() };
    if bits >> 63 == 1 { !bits } else { bits | 1 << 63 }
}

fn ordered_f32(f: f32) -> u32 {
    let f = if f == 0.0 { 0.0 } else { f };
    let bits = if f.is_nan() { f32::NAN.to_bits() & !(1 << 31) } else { f.to_bits() };
    if bits >> 31 == 1 { !bits } else { bits | 1 << 31 }
}

/// An integer that whole keys fit into.
pub(super) trait Number: Copy + Ord + Default {
    const BITS: u32;
    /// The low bits of a wider number.
    fn cut(wide: u128) -> Self;
    /// `self` moved up by `bits`, which may be all there are, with `low` below.
    fn push(self, bits: u32, low: Self) -> Self;
    fn byte(self, at: u32) -> u8;
    fn difference(self, other: Self) -> Self;
    fn either(self, other: Self) -> Self;
}

macro_rules! number {
    ($ty:ty) => {
        impl Number for $ty {
            const BITS: u32 = <$ty>::BITS;
            #[inline(always)]
            fn cut(wide: u128) -> Self {
                wide as $ty
            }
            #[inline(always)]
            fn push(self, bits: u32, low: Self) -> Self {
                self.checked_shl(bits).unwrap_or(0) | low
            }
            #[inline(always)]
            fn byte(self, at: u32) -> u8 {
                (self >> (8 * at)) as u8
            }
            #[inline(always)]
            fn difference(self, other: Self) -> Self {
                self ^ other
            }
            #[inline(always)]
            fn either(self, other: Self) -> Self {
                self | other
            }
        }
    };
}
number!(u64);
number!(u128);

fn append_number<N: Number>(column: &Vector, key: KeyColumn, out: &mut [N]) {
    match column.data() {
        Data::Bool(v) => append_bits(column, key, 1, v.iter().map(u128::from), out),
        Data::I16(v) => append_bits(column, key, 16, v.iter().map(|x| u128::from(*x as u16 ^ 1 << 15)), out),
        Data::I32(v) => append_bits(column, key, 32, v.iter().map(|x| u128::from(*x as u32 ^ 1 << 31)), out),
        Data::I64(v) => append_bits(column, key, 64, v.iter().map(|x| u128::from(*x as u64 ^ 1 << 63)), out),
        Data::I128(v) => append_bits(column, key, 128, v.iter().map(|x| *x as u128 ^ 1 << 127), out),
        Data::F32(v) => append_bits(column, key, 32, v.iter().map(|x| u128::from(ordered_f32(*x))), out),
        Data::F64(v) => append_bits(column, key, 64, v.iter().map(|x| u128::from(ordered_f64(*x))), out),
        Data::Bytes(_) | Data::Dictionary { .. } | Data::Constant(_) => {
            unreachable!("text goes to the heap, and columns are flat")
        }
    }
}

#[inline(always)]
fn append_bits<N: Number>(
    column: &Vector,
    key: KeyColumn,
    bits: u32,
    values: impl Iterator<Item = u128>,
    out: &mut [N],
) {
    let inverted = if key.descending { u128::MAX >> (128 - bits) } else { 0 };
    for (slot, value) in out.iter_mut().zip(values) {
        *slot = slot.push(bits, N::cut(value ^ inverted));
    }
    if !key.nullable {
        return;
    }
    // The mark goes above the value, and a NULL's value bits are the same for all.
    let (null, valid) = if key.nulls_first { (0, 1u128) } else { (1, 0u128) };
    let mask = if bits == N::BITS { u128::MAX } else { (1u128 << bits) - 1 };
    let has_nulls = column.has_nulls();
    for (row, slot) in out.iter_mut().enumerate() {
        let is_null = has_nulls && column.is_null(row);
        let value = N::cut(if is_null { 0 } else { mask });
        *slot = slot.with_mark(bits, value, N::cut(if is_null { null } else { valid }));
    }
}

/// Inserting the NULL mark between what was there before a column and the column's value.
trait Marked: Number {
    fn with_mark(self, bits: u32, value_mask: Self, mark: Self) -> Self;
}

macro_rules! marked {
    ($ty:ty) => {
        impl Marked for $ty {
            #[inline(always)]
            fn with_mark(self, bits: u32, value_mask: Self, mark: Self) -> Self {
                let before = self.checked_shr(bits).unwrap_or(0);
                let value = self & value_mask;
                let marked = before << 1 | mark;
                marked.checked_shl(bits).unwrap_or(0) | value
            }
        }
    };
}
marked!(u64);
marked!(u128);

fn append_bytes(column: &Vector, key: KeyColumn, row: usize, heap: &mut Vec<u8>) {
    let is_null = key.nullable && column.is_null(row);
    if key.nullable {
        heap.push(u8::from(is_null != key.nulls_first));
    }
    if is_null {
        return;
    }
    let start = heap.len();
    match column.data() {
        Data::Bool(v) => heap.push(u8::from(v.value(row))),
        Data::I16(v) => heap.extend((v[row] as u16 ^ 1 << 15).to_be_bytes()),
        Data::I32(v) => heap.extend((v[row] as u32 ^ 1 << 31).to_be_bytes()),
        Data::I64(v) => heap.extend((v[row] as u64 ^ 1 << 63).to_be_bytes()),
        Data::I128(v) => heap.extend((v[row] as u128 ^ 1 << 127).to_be_bytes()),
        Data::F32(v) => heap.extend(ordered_f32(v[row]).to_be_bytes()),
        Data::F64(v) => heap.extend(ordered_f64(v[row]).to_be_bytes()),
        Data::Bytes(s) => {
            for byte in s.get(row) {
                heap.push(*byte);
                if *byte == 0 {
                    heap.push(0xFF);
                }
            }
            heap.extend([0, 0]);
        }
        Data::Dictionary { .. } | Data::Constant(_) => unreachable!("columns are flat"),
    }
    if key.descending {
        heap[start..].iter_mut().for_each(|b| *b = !*b);
    }
}
