//! The row format by an interpreter: value by value, a look at each value's type. It is the baseline that the compiled
//! copiers are measured against, and the tests hold both to the same bytes.

use arrow_buffer::Buffer;
use types::{Physical, Result, Value};
use vector::{Batch, Data, Vector, VectorBuilder};

use super::generated_read::wrong;
use super::{RowLayout, SIZE_BYTES};
use crate::picked::Picked;

/// Appends the tuples of the picked rows of a batch without selection, whose columns are flat.
pub fn write(layout: &RowLayout, batch: &Batch, picked: Picked<'_>, out: &mut Vec<u8>) {
    picked.for_each(|row| {
        for fixed in &layout.fixed {
            put_value(&batch.columns[fixed.column], row, out);
        }
        for column in &layout.nullable {
            let column = &batch.columns[*column];
            put_indicated(column, row, out);
        }
        for (column, nullable) in &layout.strings {
            let column = &batch.columns[*column];
            if *nullable { put_indicated(column, row, out) } else { put_value(column, row, out) }
        }
    });
}

fn put_indicated(column: &Vector, row: usize, out: &mut Vec<u8>) {
    let is_null = column.is_null(row);
    out.push(u8::from(!is_null));
    if !is_null {
        put_value(column, row, out);
    }
}

fn put_value(column: &Vector, row: usize, out: &mut Vec<u8>) {
    match column.data() {
        Data::Bool(bits) => out.push(u8::from(bits.value(row))),
        Data::I16(v) => out.extend_from_slice(&v[row].to_le_bytes()),
        Data::I32(v) => out.extend_from_slice(&v[row].to_le_bytes()),
        Data::I64(v) => out.extend_from_slice(&v[row].to_le_bytes()),
        Data::I128(v) => out.extend_from_slice(&v[row].to_le_bytes()),
        Data::F32(v) => out.extend_from_slice(&v[row].to_le_bytes()),
        Data::F64(v) => out.extend_from_slice(&v[row].to_le_bytes()),
        Data::Bytes(strings) => {
            let bytes = strings.get(row);
            out.extend_from_slice(&(bytes.len() as u32).to_le_bytes());
            out.extend_from_slice(bytes);
        }
        Data::Dictionary { .. } | Data::Constant(_) | Data::Coded(_) => {
            put_value(&column.slice(row, 1).flatten(), 0, out);
        }
    }
}

/// The batch of a body's tuples.
///
/// # Errors
/// 08P01 for bytes that no writer makes of this layout.
pub fn read(layout: &RowLayout, body: &Buffer) -> Result<Batch> {
    let mut builders: Vec<VectorBuilder> = layout.types.iter().map(|ty| VectorBuilder::new(*ty, 0)).collect();
    let mut rest: &[u8] = body;
    let mut rows = 0;
    while !rest.is_empty() {
        let before = rest.len();
        for fixed in &layout.fixed {
            get_value(layout, fixed.column, &mut rest, &mut builders[fixed.column])?;
        }
        let nullable = layout.nullable.iter().map(|column| (*column, true));
        for (column, nullable) in nullable.chain(layout.strings.iter().copied()) {
            match if nullable { take(&mut rest, 1)?[0] } else { 1 } {
                0 => builders[column].push_null(),
                1 => get_value(layout, column, &mut rest, &mut builders[column])?,
                _ => return Err(wrong("an indicator is neither 0 nor 1")),
            }
        }
        if rest.len() == before {
            return Err(wrong("a row has no bytes"));
        }
        rows += 1;
    }
    Ok(Batch::new(builders.into_iter().map(VectorBuilder::finish).collect(), rows))
}

fn take<'a>(rest: &mut &'a [u8], count: usize) -> Result<&'a [u8]> {
    let (head, tail) = rest.split_at_checked(count).ok_or_else(|| wrong("a row ends early"))?;
    *rest = tail;
    Ok(head)
}

fn get_value(layout: &RowLayout, column: usize, rest: &mut &[u8], builder: &mut VectorBuilder) -> Result<()> {
    macro_rules! number {
        ($variant:ident, $ty:ty) => {{
            let mut raw = [0; size_of::<$ty>()];
            raw.copy_from_slice(take(rest, size_of::<$ty>())?);
            builder.push(&Value::$variant(<$ty>::from_le_bytes(raw)));
        }};
    }
    match layout.types[column].physical() {
        Physical::Bool => builder.push(&Value::Bool(take(rest, 1)?[0] != 0)),
        Physical::I16 => number!(I16, i16),
        Physical::I32 => number!(I32, i32),
        Physical::I64 => number!(I64, i64),
        Physical::I128 => number!(I128, i128),
        Physical::F32 => number!(F32, f32),
        Physical::F64 => number!(F64, f64),
        Physical::Bytes => {
            let mut raw = [0; SIZE_BYTES];
            raw.copy_from_slice(take(rest, SIZE_BYTES)?);
            let bytes = take(rest, u32::from_le_bytes(raw) as usize)?;
            if !crate::columns::sound(layout.types[column], bytes) {
                return Err(wrong("a string is no value of its type"));
            }
            builder.push_bytes(bytes);
        }
    }
    Ok(())
}
