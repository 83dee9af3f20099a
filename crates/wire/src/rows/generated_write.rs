//! Batches into tuples, column by column, by loops that were compiled for each type.
//!
//! A block of rows at a time, so that its tuples stay in the first-level cache while one column after the other is put
//! into them: first the tuples' beginnings (where their lengths differ), then the strings, then each other column. The list of copiers is made
//! once a schema; a block costs one indirect call a column.

use arrow_buffer::NullBuffer;
use vector::strings::{INLINE_BYTES, view_length};
use vector::{Batch, Data, Strings, Vector};

use super::{Cell, Fixed, RowLayout, SIZE_BYTES, fixed_width};
use crate::columns::put_long;
use crate::picked::Picked;

/// Rows of a block: tuples of a hundred bytes fill half of a first-level cache.
const BLOCK_ROWS: usize = 256;
/// Columns of strings that are put into a tuple at once.
const STRINGS_TOGETHER: usize = 8;

/// Puts the values of a column into tuples that begin at multiples of a stride.
type PutStrided = fn(&Vector, Picked<'_>, &mut [u8], usize);
/// Puts the values of a column at an offset from the tuples' beginnings.
type PutAtOffset = fn(&Vector, Picked<'_>, &mut [u8], &[usize], usize);
/// Puts the values of a column behind cursors, which move on.
type PutAtCursors = fn(&Vector, Picked<'_>, &mut [u8], &mut [usize]);

/// Writes batches of one schema as tuples.
pub struct RowWriter {
    layout: RowLayout,
    strided: Vec<(usize, usize, PutStrided)>,
    /// The same columns where lengths differ.
    fixed: Vec<(usize, usize, PutAtOffset)>,
    nullable: Vec<(usize, PutAtCursors)>,
    strings: Vec<(usize, bool)>,
    columns: Vec<Vector>,
    rows: usize,
    /// By row of the block, where its tuple begins,
    tuples: Vec<usize>,
    /// and bytes of its head, then where its next value goes.
    heads: Vec<usize>,
}

/// Picks a loop by a column's physical type.
macro_rules! by_type {
    ($ty:expr, $numbers:ident, $bools:ident) => {
        match $ty.physical() {
            types::Physical::Bool | types::Physical::Bytes => $bools,
            types::Physical::I16 => $numbers::<i16>,
            types::Physical::I32 => $numbers::<i32>,
            types::Physical::I64 => $numbers::<i64>,
            types::Physical::I128 => $numbers::<i128>,
            types::Physical::F32 => $numbers::<f32>,
            types::Physical::F64 => $numbers::<f64>,
        }
    };
}

/// The numbers of a flat vector.
trait Numbers: Cell {
    fn of(vector: &Vector) -> &[Self];
}
macro_rules! numbers {
    ($($ty:ty, $variant:ident);*) => {$(
        impl Numbers for $ty {
            fn of(vector: &Vector) -> &[Self] {
                match vector.data() {
                    Data::$variant(values) => values,
                    _ => &[],
                }
            }
        }
    )*};
}
numbers!(i16, I16; i32, I32; i64, I64; i128, I128; f32, F32; f64, F64);

impl RowWriter {
    /// A writer of tuples of this layout.
    pub fn new(layout: RowLayout) -> RowWriter {
        let ty = |column: usize| layout.types[column];
        let stride = |Fixed { column, offset }: &Fixed| -> (usize, usize, PutStrided) {
            (*column, *offset, by_type!(ty(*column), put_strided, put_bools_strided))
        };
        let fixed = |Fixed { column, offset }: &Fixed| -> (usize, usize, PutAtOffset) {
            (*column, *offset, by_type!(ty(*column), put_fixed, put_bools_fixed))
        };
        let nullable = |column: &usize| -> (usize, PutAtCursors) {
            (*column, by_type!(ty(*column), put_nullable, put_bools_nullable))
        };
        RowWriter {
            strided: layout.fixed.iter().map(stride).collect(),
            fixed: layout.fixed.iter().map(fixed).collect(),
            nullable: layout.nullable.iter().map(nullable).collect(),
            strings: layout.strings.clone(),
            layout,
            columns: Vec::new(),
            rows: 0,
            tuples: Vec::with_capacity(BLOCK_ROWS),
            heads: Vec::with_capacity(BLOCK_ROWS),
        }
    }
    /// Takes a batch without selection. Its columns are made flat where they are not.
    pub fn take(&mut self, batch: &Batch) {
        self.columns.clear();
        self.columns.extend(batch.columns.iter().map(Vector::flatten));
        self.rows = batch.rows;
    }
    /// Lets go of the batch.
    pub fn release(&mut self) {
        self.columns.clear();
    }
    /// Rows of the batch.
    pub fn rows(&self) -> usize {
        self.rows
    }
    /// Writes as many of the rows as fit, from the first on: how many, and their bytes.
    pub fn write(&mut self, picked: Picked<'_>, out: &mut [u8]) -> (usize, usize) {
        let (mut rest, mut at, mut written) = (picked, 0, 0);
        while !rest.is_empty() {
            let (block, next) = rest.split_at(rest.len().min(BLOCK_ROWS));
            let (rows, bytes) = match self.layout.is_fixed() {
                true => self.write_strided(block, &mut out[at..]),
                false => self.write_block(block, &mut out[at..]),
            };
            written += rows;
            at += bytes;
            if rows < block.len() {
                break;
            }
            rest = next;
        }
        (written, at)
    }
    /// Bytes of one row's tuple.
    pub fn row_bytes(&self, row: Picked<'_>) -> usize {
        let mut bytes = self.layout.fixed_bytes;
        row.split_at(1).0.for_each(|row| {
            let nullable = self.layout.nullable.iter().map(|column| (*column, true));
            for (column, nullable) in nullable.chain(self.layout.strings.iter().copied()) {
                let values = &self.columns[column];
                bytes += usize::from(nullable);
                if !nullable || !values.is_null(row) {
                    bytes += match values.data() {
                        Data::Bytes(strings) => SIZE_BYTES + strings.get(row).len(),
                        _ => fixed_width(self.layout.types[column]).unwrap_or_default(),
                    };
                }
            }
        });
        bytes
    }
    fn write_strided(&self, block: Picked<'_>, out: &mut [u8]) -> (usize, usize) {
        let stride = self.layout.fixed_bytes;
        let rows = match stride {
            0 => block.len(),
            _ => block.len().min(out.len() / stride),
        };
        let out = &mut out[..rows * stride];
        for (column, offset, put) in &self.strided {
            put(&self.columns[*column], block.split_at(rows).0, &mut out[*offset..], stride);
        }
        (rows, rows * stride)
    }
    fn write_block(&mut self, block: Picked<'_>, out: &mut [u8]) -> (usize, usize) {
        let fixed = self.layout.fixed_bytes;
        let indicators = self.strings.iter().filter(|(_, nullable)| *nullable).count();
        // Bytes before the strings, then all.
        self.heads.clear();
        self.heads.resize(block.len(), fixed + self.nullable.len());
        for (column, _) in &self.nullable {
            let width = fixed_width(self.layout.types[*column]).unwrap_or_default();
            add_sizes(&self.columns[*column], block, &mut self.heads, |_| width);
        }
        self.tuples.clear();
        self.tuples.extend(self.heads.iter().map(|head| head + indicators));
        for (column, _) in &self.strings {
            let column = &self.columns[*column];
            let views: &[u128] = if let Data::Bytes(strings) = column.data() { strings.views() } else { &[] };
            add_sizes(column, block, &mut self.tuples, |row| SIZE_BYTES + view_length(views[row]));
        }
        // From sizes to beginnings, as far as there is room.
        let (mut at, mut rows) = (0, 0);
        for tuple in &mut self.tuples {
            let size = std::mem::replace(tuple, at);
            if at + size > out.len() {
                break;
            }
            at += size;
            rows += 1;
        }
        let block = block.split_at(rows).0;
        let (tuples, cursors) = (&self.tuples[..rows], &mut self.heads[..rows]);
        // Strings first, since they may write beyond their ends into what follows.
        cursors.iter_mut().zip(tuples).for_each(|(cursor, tuple)| *cursor += tuple);
        for group in self.strings.chunks(STRINGS_TOGETHER) {
            let exact = self.strings.len() > STRINGS_TOGETHER;
            put_strings(&self.columns, group, exact, block, out, cursors);
        }
        for (column, offset, put) in &self.fixed {
            put(&self.columns[*column], block, out, tuples, *offset);
        }
        cursors.iter_mut().zip(tuples).for_each(|(cursor, tuple)| *cursor = tuple + fixed);
        for (column, put) in &self.nullable {
            put(&self.columns[*column], block, out, cursors);
        }
        (rows, at)
    }
}

/// Calls `each` with the place of a row in the block and its number.
#[inline(always)]
fn enumerated(picked: Picked<'_>, mut each: impl FnMut(usize, usize)) {
    let mut place = 0;
    picked.for_each(|row| {
        each(place, row);
        place += 1;
    });
}

#[inline(always)]
fn add_sizes(column: &Vector, block: Picked<'_>, sizes: &mut [usize], size: impl Fn(usize) -> usize) {
    match column.validity().filter(|v| v.null_count() > 0) {
        None => enumerated(block, |place, row| sizes[place] += size(row)),
        Some(valid) => enumerated(block, |place, row| {
            if valid.is_valid(row) {
                sizes[place] += size(row);
            }
        }),
    }
}

fn put_strided<T: Numbers>(column: &Vector, block: Picked<'_>, out: &mut [u8], stride: usize) {
    let values = T::of(column);
    match block {
        Picked::Run { from, length } => {
            for (tuple, value) in out.chunks_mut(stride).zip(&values[from..from + length]) {
                value.put(tuple);
            }
        }
        Picked::List(rows) => {
            for (tuple, row) in out.chunks_mut(stride).zip(rows) {
                values[*row as usize].put(tuple);
            }
        }
    }
}

fn put_bools_strided(column: &Vector, block: Picked<'_>, out: &mut [u8], stride: usize) {
    if let Data::Bool(bits) = column.data() {
        enumerated(block, |place, row| out[place * stride] = u8::from(bits.value(row)));
    }
}

fn put_fixed<T: Numbers>(
    column: &Vector,
    block: Picked<'_>,
    out: &mut [u8],
    tuples: &[usize],
    offset: usize,
) {
    let values = T::of(column);
    match block {
        Picked::Run { from, length } => {
            for (value, at) in values[from..from + length].iter().zip(tuples) {
                value.put(&mut out[at + offset..]);
            }
        }
        Picked::List(rows) => {
            for (row, at) in rows.iter().zip(tuples) {
                values[*row as usize].put(&mut out[at + offset..]);
            }
        }
    }
}

fn put_bools_fixed(column: &Vector, block: Picked<'_>, out: &mut [u8], tuples: &[usize], offset: usize) {
    if let Data::Bool(bits) = column.data() {
        enumerated(block, |place, row| out[tuples[place] + offset] = u8::from(bits.value(row)));
    }
}

/// Puts the indicator, and for a value what `put` writes; `put` gives its bytes.
#[inline(always)]
fn put_indicated(
    column: &Vector,
    block: Picked<'_>,
    out: &mut [u8],
    cursors: &mut [usize],
    put: impl Fn(usize, &mut [u8]) -> usize,
) {
    match column.validity().filter(|v| v.null_count() > 0) {
        None => enumerated(block, |place, row| {
            let at = cursors[place];
            out[at] = 1;
            cursors[place] = at + 1 + put(row, &mut out[at + 1..]);
        }),
        Some(valid) => enumerated(block, |place, row| {
            let at = cursors[place];
            let is_valid = valid.is_valid(row);
            out[at] = u8::from(is_valid);
            cursors[place] = at + 1 + if is_valid { put(row, &mut out[at + 1..]) } else { 0 };
        }),
    }
}

fn put_nullable<T: Numbers>(column: &Vector, block: Picked<'_>, out: &mut [u8], cursors: &mut [usize]) {
    let values = T::of(column);
    put_indicated(column, block, out, cursors, |row, out| {
        values[row].put(out);
        T::BYTES
    });
}

fn put_bools_nullable(column: &Vector, block: Picked<'_>, out: &mut [u8], cursors: &mut [usize]) {
    if let Data::Bool(bits) = column.data() {
        put_indicated(column, block, out, cursors, |row, out| {
            out[0] = u8::from(bits.value(row));
            1
        });
    }
}

/// A column of strings, in reach.
struct StringColumn<'a> {
    strings: &'a Strings,
    views: &'a [u128],
    nullable: bool,
    valid: Option<&'a NullBuffer>,
}

/// Puts the strings of some columns behind cursors, which move on: tuple by tuple, so that everything is written in the
/// order of its places. Then a copy may write more than the string has, which saves a call for most: what follows is written
/// later. `exact` says that it is not.
fn put_strings(
    columns: &[Vector],
    group: &[(usize, bool)],
    exact: bool,
    block: Picked<'_>,
    out: &mut [u8],
    cursors: &mut [usize],
) {
    let sources: [Option<StringColumn<'_>>; STRINGS_TOGETHER] = std::array::from_fn(|at| {
        let (column, nullable) = *group.get(at)?;
        let Data::Bytes(strings) = columns[column].data() else { return None };
        let valid = columns[column].validity().filter(|v| v.null_count() > 0);
        Some(StringColumn { strings, views: strings.views(), nullable, valid })
    });
    let sources = &sources[..group.len()];
    enumerated(block, |place, row| {
        let mut at = cursors[place];
        for source in sources.iter().flatten() {
            if source.nullable {
                let is_valid = source.valid.is_none_or(|valid| valid.is_valid(row));
                out[at] = u8::from(is_valid);
                at += 1;
                if !is_valid {
                    continue;
                }
            }
            at += put_string(source, row, &mut out[at..], exact);
        }
        cursors[place] = at;
    });
}

#[inline(always)]
fn put_string(source: &StringColumn<'_>, row: usize, out: &mut [u8], exact: bool) -> usize {
    let view = source.views[row];
    let size = view_length(view);
    if size <= INLINE_BYTES {
        // A view of a short string is its size and its bytes already.
        match out.first_chunk_mut() {
            Some(out) if !exact => *out = view.to_le_bytes(),
            _ => out[..SIZE_BYTES + size].copy_from_slice(&view.to_le_bytes()[..SIZE_BYTES + size]),
        }
        return SIZE_BYTES + size;
    }
    let (head, body) = out.split_at_mut(SIZE_BYTES);
    head.copy_from_slice(&(size as u32).to_le_bytes());
    put_long(source.strings, row, size, body, exact);
    SIZE_BYTES + size
}
