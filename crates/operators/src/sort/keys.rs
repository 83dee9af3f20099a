//! Normalised sort keys: every row's key as bytes whose plain order is the order wanted.
//!
//! ```text
//! key column:  marker (1 byte)  value, big endian
//!              NULLS FIRST: 0 NULL, 1 value     integers: sign bit flipped     DESC: value bytes inverted
//!              NULLS LAST:  1 value, 2 NULL     floats: ordered bits, NaN largest, -0 as 0
//!                                               text: 00 -> 00 FF, ended by 00 00
//! ```
//! Keys of at most 16 bytes, which is most, are one integer; longer ones lie in a heap.

use arrow_buffer::ToByteSlice;
use std::cmp::Ordering;

use plan::SortKey;
use types::{Physical, Result};
use vector::interleave::Pick;
use vector::{Data, Vector};

use super::radix;

/// Rows sorted or merged between two looks at a signal.
const CHECKED_ROWS: usize = 128 * 1024;

/// How the rows' keys are held; the same for every batch of a sort.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shape {
    /// All keys together fit a 128-bit integer.
    Narrow,
    /// Longer keys, or keys with strings, as bytes in a heap.
    Wide,
}

/// The shape of keys of these types.
pub fn shape(keys: &[SortKey]) -> Shape {
    let width = |p: Physical| match p {
        Physical::Bytes => None,
        other => Some(1 + other.width()),
    };
    let total = keys.iter().try_fold(0, |sum, k| Some(sum + width(k.expr.ty.physical())?));
    if total.is_some_and(|t| t <= 16) { Shape::Narrow } else { Shape::Wide }
}

/// Encoded keys, one a row.
#[derive(Clone, Debug)]
pub enum Keys {
    /// Each key as one integer.
    Narrow(Vec<u128>),
    /// `heap[ends[i - 1]..ends[i]]` is row i's key.
    Wide {
        /// The bytes of all keys, end to end.
        heap: Vec<u8>,
        /// By row, the end of its key in the heap.
        ends: Vec<usize>,
    },
}

impl Keys {
    /// Names the pieces of memory of the keys.
    pub fn each_piece(&self, name: &mut dyn FnMut(&[u8])) {
        match self {
            Keys::Narrow(keys) => name(keys.to_byte_slice()),
            Keys::Wide { heap, .. } => name(heap),
        }
    }
    /// Encodes the rows of `columns`, one column a key. All batches of a sort use one shape, or keys do not compare.
    pub fn encode(shape: Shape, columns: &[Vector], keys: &[SortKey], rows: usize) -> Keys {
        let flat: Vec<Vector> = columns.iter().map(Vector::flatten).collect();
        match shape {
            Shape::Narrow => {
                let mut out = vec![0u128; rows];
                for (column, key) in flat.iter().zip(keys) {
                    append_narrow(column, key, &mut out);
                }
                Keys::Narrow(out)
            }
            Shape::Wide => {
                let mut heap = Vec::with_capacity(rows * 24);
                let mut ends = Vec::with_capacity(rows);
                for row in 0..rows {
                    for (column, key) in flat.iter().zip(keys) {
                        append_wide(column, key, row, &mut heap);
                    }
                    ends.push(heap.len());
                }
                Keys::Wide { heap, ends }
            }
        }
    }
    fn wide<'a>(heap: &'a [u8], ends: &[usize], row: usize) -> &'a [u8] {
        let start = if row == 0 { 0 } else { ends[row - 1] };
        &heap[start..ends[row]]
    }
    /// Row numbers in key order; rows with equal keys keep their order.
    pub fn sorted(&self, radix: bool) -> Vec<u32> {
        match self {
            Keys::Narrow(keys) if radix => radix::sorted(keys),
            Keys::Narrow(keys) => {
                let mut order: Vec<(u128, u32)> = keys.iter().copied().zip(0..).collect();
                order.sort_unstable();
                order.into_iter().map(|(_, row)| row).collect()
            }
            Keys::Wide { heap, ends } => {
                let key = |row: usize| Self::wide(heap, ends, row);
                if radix {
                    let mut order: Vec<u32> = (0..ends.len() as u32).collect();
                    radix::sort_long(&mut order, &|row| key(row as usize));
                    return order;
                }
                // Sixteen bytes behind what all keys have in common decide most comparisons without a look at the
                // heap.
                let common = radix::common_prefix((0..ends.len()).map(key));
                let mut order: Vec<(u128, u32)> =
                    (0..ends.len()).map(|row| (radix::prefix(&key(row)[common..]), row as u32)).collect();
                order.sort_unstable_by(|a, b| {
                    a.0.cmp(&b.0).then_with(|| key(a.1 as usize).cmp(key(b.1 as usize))).then(a.1.cmp(&b.1))
                });
                order.into_iter().map(|(_, row)| row).collect()
            }
        }
    }
    /// As `sorted`, looking at `check` every hundred thousand rows or so.
    pub fn sorted_checked(&self, check: &dyn Fn() -> Result<()>) -> Result<Vec<u32>> {
        let rows = self.len();
        if rows <= CHECKED_ROWS {
            return Ok(self.sorted(true));
        }
        let mut order: Vec<u32> = (0..rows as u32).collect();
        match self {
            Keys::Narrow(keys) => {
                let bytes: Vec<[u8; 16]> = keys.iter().map(|key| key.to_be_bytes()).collect();
                radix::sort_long_checked(&mut order, &|row| &bytes[row as usize], check)?;
            }
            Keys::Wide { heap, ends } => {
                radix::sort_long_checked(&mut order, &|row| Self::wide(heap, ends, row as usize), check)?;
            }
        }
        Ok(order)
    }
    /// The first 16 bytes of each key: their order never contradicts that of the keys.
    pub fn prefixes(self) -> Vec<u128> {
        match self {
            Keys::Narrow(keys) => keys,
            Keys::Wide { heap, ends } => {
                (0..ends.len()).map(|row| radix::prefix(Self::wide(&heap, &ends, row))).collect()
            }
        }
    }
    /// The number of keys.
    pub fn len(&self) -> usize {
        match self {
            Keys::Narrow(keys) => keys.len(),
            Keys::Wide { ends, .. } => ends.len(),
        }
    }
    /// Whether there are no keys.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
    /// Places of `rows` (each a row of one of several `keys`) in key order; rows with equal keys keep their order.
    pub fn sorted_of(keys: &[&Keys], rows: &[Pick]) -> Vec<u32> {
        let narrow: Option<Vec<u128>> = rows
            .iter()
            .map(|pick| match keys[pick.source as usize] {
                Keys::Narrow(keys) => Some(keys[pick.row as usize]),
                Keys::Wide { .. } => None,
            })
            .collect();
        if let Some(narrow) = narrow {
            return radix::sorted(&narrow);
        }
        let key = |place: u32| match keys[rows[place as usize].source as usize] {
            Keys::Wide { heap, ends } => Self::wide(heap, ends, rows[place as usize].row as usize),
            Keys::Narrow(_) => unreachable!("keys of one sort have one shape"),
        };
        let mut order: Vec<u32> = (0..rows.len() as u32).collect();
        radix::sort_long(&mut order, &key);
        order
    }
    /// Order of a row of this and a row of another, encoded in the same shape.
    pub fn compare(&self, row: usize, other: &Keys, other_row: usize) -> Ordering {
        match (self, other) {
            (Keys::Narrow(a), Keys::Narrow(b)) => a[row].cmp(&b[other_row]),
            (Keys::Wide { heap: a, ends: ae }, Keys::Wide { heap: b, ends: be }) => {
                Self::wide(a, ae, row).cmp(Self::wide(b, be, other_row))
            }
            _ => unreachable!("keys of one sort have one shape"),
        }
    }
    /// One row's key alone.
    pub fn single(&self, row: usize) -> Keys {
        match self {
            Keys::Narrow(keys) => Keys::Narrow(vec![keys[row]]),
            Keys::Wide { heap, ends } => {
                let key = Self::wide(heap, ends, row).to_vec();
                Keys::Wide { ends: vec![key.len()], heap: key }
            }
        }
    }
    /// Bytes of the keys in memory.
    pub fn bytes(&self) -> usize {
        match self {
            Keys::Narrow(keys) => keys.len() * 16,
            Keys::Wide { heap, ends } => heap.len() + ends.len() * 8,
        }
    }
}

fn markers(key: &SortKey) -> (u8, u8) {
    if key.nulls_first { (0, 1) } else { (2, 1) }
}

/// Bits whose plain order is that of floats: -0 as 0, NaN above all others.
pub(crate) fn ordered_f64(f: f64) -> u64 {
    let f = if f == 0.0 { 0.0 } else { f };
    let bits = if f.is_nan() { f64::NAN.to_bits() & !(1 << 63) } else { f.to_bits() };
    if bits >> 63 == 1 { !bits } else { bits | 1 << 63 }
}

fn ordered_f32(f: f32) -> u32 {
    let f = if f == 0.0 { 0.0 } else { f };
    let bits = if f.is_nan() { f32::NAN.to_bits() & !(1 << 31) } else { f.to_bits() };
    if bits >> 31 == 1 { !bits } else { bits | 1 << 31 }
}

fn append_narrow(column: &Vector, key: &SortKey, out: &mut [u128]) {
    let (null, value) = markers(key);
    let bits = column.ty().physical().width() as u32 * 8;
    // Narrow keys are at most 15 bytes of value, so the mask never shifts by 128.
    let mask = (1u128 << bits) - 1;
    let mut add = |row: usize, ordered: u128| {
        let ordered = if key.descending { !ordered & mask } else { ordered & mask };
        let part =
            if column.is_null(row) { u128::from(null) << bits } else { u128::from(value) << bits | ordered };
        out[row] = out[row] << (bits + 8) | part;
    };
    match column.data() {
        Data::Bool(v) => (0..v.len()).for_each(|row| add(row, u128::from(v.value(row)))),
        Data::I16(v) => v.iter().enumerate().for_each(|(row, x)| add(row, u128::from(*x as u16 ^ 1 << 15))),
        Data::I32(v) => v.iter().enumerate().for_each(|(row, x)| add(row, u128::from(*x as u32 ^ 1 << 31))),
        Data::I64(v) => v.iter().enumerate().for_each(|(row, x)| add(row, u128::from(*x as u64 ^ 1 << 63))),
        Data::F32(v) => v.iter().enumerate().for_each(|(row, x)| add(row, u128::from(ordered_f32(*x)))),
        Data::F64(v) => v.iter().enumerate().for_each(|(row, x)| add(row, u128::from(ordered_f64(*x)))),
        Data::I128(_) | Data::Bytes(_) | Data::Dictionary { .. } | Data::Constant(_) | Data::Coded(_) => {
            unreachable!("not a narrow key")
        }
    }
}

fn append_wide(column: &Vector, key: &SortKey, row: usize, heap: &mut Vec<u8>) {
    let (null, value) = markers(key);
    if column.is_null(row) {
        heap.push(null);
        return;
    }
    heap.push(value);
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
            let text = s.get(row);
            if text.contains(&0) {
                for byte in text {
                    heap.push(*byte);
                    if *byte == 0 {
                        heap.push(0xFF);
                    }
                }
            } else {
                heap.extend_from_slice(text);
            }
            heap.extend([0, 0]);
        }
        Data::Dictionary { .. } | Data::Constant(_) | Data::Coded(_) => unreachable!("columns are flat"),
    }
    if key.descending {
        heap[start..].iter_mut().for_each(|b| *b = !*b);
    }
}
