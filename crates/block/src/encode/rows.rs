//! The row layouts: the columns' fields, one after another, row after row.
//!
//! A column's plan writes its values (or codes) as a stripe; the stripe is then dealt out to the rows. So a row store
//! codes by the rules of the column store, at the price of one stripe of temporary memory at a time, and of all strings
//! once, because a row's strings lie together in the heap.

use arrow_buffer::MutableBuffer;
use types::{Error, Physical, Result, SqlState, Type};

use super::plan::{PlannedColumn, too_large};
use crate::row_store::{Form, stride};

/// What a packed row store cannot hold is told before any work.
pub(super) fn check_fixed_width(types: impl Iterator<Item = Type>) -> Result<()> {
    for (column, ty) in types.enumerate() {
        if ty.physical() == Physical::Bytes {
            let message = format!("a packed row store cannot hold column {} of type {ty}", column + 1);
            return Err(Error::new(SqlState::FeatureNotSupported, message)
                .with_hint("choose layout = 'split_row', which keeps strings in a heap"));
        }
    }
    Ok(())
}

/// Lengths of the two sections, rows and heap.
pub(super) fn lengths(columns: &[PlannedColumn<'_>], rows: usize) -> Result<[usize; 2]> {
    let width = stride(columns.iter().map(|c| Form::of(c.ty, c.plan.coding())));
    let bytes = rows.checked_mul(width).ok_or_else(|| too_large("the rows of a block exceed 4 GiB"))?;
    let heap = columns.iter().filter(|c| form(c) == Form::Strings).map(|c| c.plan.lengths()[2]).sum();
    Ok([bytes, heap])
}

pub(super) fn form(column: &PlannedColumn<'_>) -> Form {
    Form::of(column.ty, column.plan.coding())
}

/// Writes the rows' fields to `out` and their strings to `heap`, both of the lengths told by `lengths`.
pub(super) fn write(columns: &[PlannedColumn<'_>], rows: usize, out: &mut [u8], heap: &mut [u8]) {
    let width = stride(columns.iter().map(form));
    let mut at = 0;
    let mut strings = Vec::new();
    for column in columns {
        let form = form(column);
        let [length, _, heap_length] = column.plan.lengths();
        let mut stripe = MutableBuffer::from_len_zeroed(length);
        column.plan.write_values(stripe.as_slice_mut());
        match form {
            Form::Bits => {
                for (row, field) in out.chunks_exact_mut(width).enumerate() {
                    field[at] = stripe[row / 8] >> (row % 8) & 1;
                }
            }
            Form::Strings => {
                let mut bytes = vec![0; heap_length];
                column.plan.write_heap(&mut bytes);
                strings.push((at, stripe, bytes));
            }
            _ => deal_out(&stripe, form.width(), out, width, at),
        }
        at += form.width();
    }
    write_strings(&strings, rows, out, width, heap);
}

/// Values of `size` bytes to byte `at` of each row.
fn deal_out(stripe: &[u8], size: usize, out: &mut [u8], width: usize, at: usize) {
    // The size is a constant in each arm, so that a value moves in one instruction.
    macro_rules! sized {
        ($($size:literal)*) => {
            match size {
                $($size => {
                    for (value, row) in stripe.chunks_exact($size).zip(out.chunks_exact_mut(width)) {
                        row[at..at + $size].copy_from_slice(value);
                    }
                })*
                _ => unreachable!("fields have 1, 2, 4, 8 or 16 bytes"),
            }
        };
    }
    sized!(1 2 4 8 16);
}

/// The strings of each row, in the order of the columns, and their places and lengths in the fields. `strings` has, per
/// column, the field's place, row offsets and bytes.
fn write_strings(
    strings: &[(usize, MutableBuffer, Vec<u8>)],
    rows: usize,
    out: &mut [u8],
    width: usize,
    heap: &mut [u8],
) {
    let mut end = 0usize;
    for row in 0..rows {
        let fields = &mut out[row * width..(row + 1) * width];
        for (at, offsets, bytes) in strings {
            let offset = |row: usize| crate::layout::take_u32(offsets, row * 4).unwrap_or(0) as usize;
            let string = &bytes[offset(row)..offset(row + 1)];
            heap[end..end + string.len()].copy_from_slice(string);
            fields[*at..at + 4].copy_from_slice(&(end as u32).to_le_bytes());
            fields[at + 4..at + 8].copy_from_slice(&(string.len() as u32).to_le_bytes());
            end += string.len();
        }
    }
}
