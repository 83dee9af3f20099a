//! How many bytes a row will take once encoded, estimated from a few hundred rows. Block writers use it to size their
//! blocks.

use types::{Physical, Type};
use vector::{Batch, Data, Vector};

use crate::LayoutKind;
use crate::sketch::{Sketch, hash_bytes};

const SAMPLE_ROWS: usize = 512;

/// An estimate of the encoded bytes of a row, at least a byte. After the first block of a table its true size is the
/// better guide.
pub fn estimate_row_bytes(batch: &Batch, kind: LayoutKind) -> usize {
    let mut bits = 0usize;
    for column in &batch.columns {
        bits += column_bits(column, kind);
    }
    bits.div_ceil(8).max(1)
}

fn column_bits(column: &Vector, kind: LayoutKind) -> usize {
    let nulls = usize::from(column.has_nulls());
    let compress = kind.compresses();
    let rows = column.len();
    let picked: Vec<u32> = (0..rows as u32).step_by((rows / SAMPLE_ROWS).max(1)).collect();
    let physical = column.ty().physical();
    if matches!(column.data(), Data::Constant(_)) && compress && physical != Physical::Bytes {
        return 8 + nulls;
    }
    nulls
        + match physical {
            Physical::Bool => 1,
            Physical::Bytes => string_bits(&column.gather(&picked).flatten(), compress),
            _ if !compress => physical.width() * 8,
            Physical::F32 | Physical::F64 => physical.width() * 8,
            _ => integer_bits(&column.gather(&picked).flatten(), column.ty()),
        }
}

fn integer_bits(sample: &Vector, ty: Type) -> usize {
    let values = (0..sample.len()).filter_map(|row| sample.value(row).as_i128());
    let (low, high) = values.fold((i128::MAX, i128::MIN), |(low, high), v| (low.min(v), high.max(v)));
    let bits = match high.checked_sub(low) {
        Some(range) if range < 1 << 8 => 8,
        Some(range) if range < 1 << 16 => 16,
        Some(range) if range < 1 << 32 => 32,
        _ => 128,
    };
    bits.min(ty.physical().width() * 8)
}

fn string_bits(sample: &Vector, compress: bool) -> usize {
    let Data::Bytes(strings) = sample.data() else { return 32 };
    let rows = strings.len().max(1);
    let mut sketch = Sketch::default();
    let mut bytes = 0;
    for value in strings.iter() {
        sketch.add_hash(hash_bytes(value));
        bytes += value.len();
    }
    let distinct = sketch.estimate() as usize;
    if compress && distinct * 2 < rows {
        return if distinct <= 128 { 9 } else { 18 };
    }
    32 + bytes * 8 / rows
}
