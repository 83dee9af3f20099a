//! Running code over a batch: vectors become addresses before, and what was written becomes vectors after.
//!
//! Columns are made flat. Bits are copied, so that row 0 is bit 0 and eight bytes behind them may be read. Results get
//! room for a row more, which code with two rows in flight may write.

use arrow_buffer::{BooleanBuffer, NullBuffer};
use types::{Physical, Type};
use vector::{Data, Vector};

use crate::emit::OutputLayout;
use crate::machine::{Code, Entry};

/// Words of zeros behind copied bits.
const BITS_PADDING: usize = 1;

/// What code made of a batch.
pub(crate) struct Ran {
    /// Rows that passed.
    pub passed: usize,
    /// Which they are, if the code has a condition.
    pub selection: Vec<u32>,
    /// The values of the rows that passed.
    pub vectors: Vec<Vector>,
}

/// Bits from row 0 on, with readable bytes behind.
fn aligned_bits(bits: &BooleanBuffer) -> Vec<u64> {
    let mut words: Vec<u64> = bits.bit_chunks().iter_padded().collect();
    words.extend([0; BITS_PADDING]);
    words
}

/// The room for one result's values.
enum Room {
    Bool(Vec<u8>),
    I16(Vec<i16>),
    I32(Vec<i32>),
    I64(Vec<i64>),
    I128(Vec<i128>),
    F32(Vec<f32>),
    F64(Vec<f64>),
}

impl Room {
    fn new(physical: Physical, rows: usize) -> Option<Room> {
        Some(match physical {
            Physical::Bool => Room::Bool(vec![0; rows]),
            Physical::I16 => Room::I16(vec![0; rows]),
            Physical::I32 => Room::I32(vec![0; rows]),
            Physical::I64 => Room::I64(vec![0; rows]),
            Physical::I128 => Room::I128(vec![0; rows]),
            Physical::F32 => Room::F32(vec![0.0; rows]),
            Physical::F64 => Room::F64(vec![0.0; rows]),
            Physical::Bytes => return None,
        })
    }

    fn address(&mut self) -> *const u8 {
        match self {
            Room::Bool(v) => v.as_mut_ptr().cast_const().cast(),
            Room::I16(v) => v.as_mut_ptr().cast_const().cast(),
            Room::I32(v) => v.as_mut_ptr().cast_const().cast(),
            Room::I64(v) => v.as_mut_ptr().cast_const().cast(),
            Room::I128(v) => v.as_mut_ptr().cast_const().cast(),
            Room::F32(v) => v.as_mut_ptr().cast_const().cast(),
            Room::F64(v) => v.as_mut_ptr().cast_const().cast(),
        }
    }

    fn data(self, rows: usize) -> Data {
        macro_rules! cut {
            ($values:expr, $variant:ident) => {{
                let mut values = $values;
                values.truncate(rows);
                Data::$variant(values.into())
            }};
        }
        match self {
            Room::Bool(bytes) => Data::Bool(packed(&bytes, rows)),
            Room::I16(values) => cut!(values, I16),
            Room::I32(values) => cut!(values, I32),
            Room::I64(values) => cut!(values, I64),
            Room::I128(values) => cut!(values, I128),
            Room::F32(values) => cut!(values, F32),
            Room::F64(values) => cut!(values, F64),
        }
    }
}

/// A bit a row from a byte a row, each 0 or 1.
fn packed(bytes: &[u8], rows: usize) -> BooleanBuffer {
    // The low bits of eight bytes, gathered by one multiplication.
    const GATHER: u64 = 0x0102_0408_1020_4080;
    let bytes = &bytes[..rows];
    let (eights, rest) = bytes.as_chunks::<8>();
    let mut out: Vec<u8> = Vec::with_capacity(rows.div_ceil(8));
    out.extend(eights.iter().map(|eight| (u64::from_le_bytes(*eight).wrapping_mul(GATHER) >> 56) as u8));
    if !rest.is_empty() {
        out.push(rest.iter().enumerate().fold(0, |byte, (at, bit)| byte | bit << at));
    }
    BooleanBuffer::new(out.into(), 0, rows)
}

/// Runs the code over flat vectors of `rows` rows, whose types are those that the code was made for; `None` where it
/// does not vouch for them. `types` are the results'.
pub(crate) fn run(
    code: &Code,
    columns: &[Vector],
    types: &[Type],
    rows: usize,
    selects: bool,
) -> Option<Ran> {
    let mut bits: Vec<Vec<u64>> = Vec::new();
    let mut entries = Vec::with_capacity(columns.len());
    for column in columns {
        if column.len() != rows {
            return None;
        }
        let values = match column.data() {
            Data::Bool(values) => {
                bits.push(aligned_bits(values));
                bits.last().map(|words| words.as_ptr().cast())?
            }
            _ => {
                let bytes = column.fixed_bytes().filter(|_| column.is_flat())?;
                // The form of the type, as `Vector::new` asks.
                if bytes.len() != rows * column.ty().physical().width() {
                    return None;
                }
                bytes.as_ptr()
            }
        };
        let validity = match column.validity().filter(|_| column.has_nulls()) {
            Some(validity) => aligned_bits(validity.inner()),
            None => vec![u64::MAX; rows.div_ceil(64) + BITS_PADDING],
        };
        bits.push(validity);
        let validity = bits.last().map(|words| words.as_ptr().cast())?;
        entries.push(Entry { values, validity });
    }
    let mut rooms = Vec::with_capacity(types.len());
    for OutputLayout { physical, nullable } in &code.outputs {
        rooms.push((Room::new(*physical, rows + 1)?, vec![0u8; if *nullable { rows + 1 } else { 0 }]));
    }
    let mut results: Vec<Entry> = rooms
        .iter_mut()
        .map(|(room, valid)| Entry { values: room.address(), validity: valid.as_mut_ptr().cast_const() })
        .collect();
    let mut selection = vec![0u32; if selects { rows + 2 } else { 0 }];
    // SAFETY: every column was just found to have `rows` flat values, of the forms that the code was made for as the
    // caller says, and bits have a word of padding; every result has room for `rows + 1` values of the code's own
    // layout, and the selection for two more than the rows. All of them live until the call has returned.
    let passed = unsafe { code.call(&entries, &mut results, rows, &mut selection) }?;
    selection.truncate(passed);
    let vectors = rooms
        .into_iter()
        .zip(types)
        .map(|((room, valid), ty)| {
            let validity = (!valid.is_empty())
                .then(|| NullBuffer::new(packed(&valid, passed)))
                .filter(|validity| validity.null_count() > 0);
            Vector::new(*ty, room.data(passed), validity)
        })
        .collect();
    Some(Ran { passed, selection, vectors })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_become_bits() {
        for rows in 0..40 {
            let bytes: Vec<u8> = (0..rows).map(|row| u8::from(row * 7 % 3 == 1)).collect();
            let bits = packed(&bytes, rows);
            assert!((0..rows).all(|row| bits.value(row) == (bytes[row] == 1)), "{rows}");
        }
    }
}
