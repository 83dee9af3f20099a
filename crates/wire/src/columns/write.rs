//! Batches into columnar parcels.
//!
//! [`ColumnWriter::take`] looks a batch's columns through once: the form of each, base and width. Then any number of
//! parcels are written from it, one for each destination and message. Where rows go to several destinations, integers are
//! narrowed once for all of them into memory that the writer keeps, and each parcel gathers the narrow codes; where all
//! rows go one way, they are narrowed straight into the message.
//!
//! The writer holds the batch's vectors until the next one; its own memory grows to that of the largest batch and stays,
//! so that a stream of batches of one shape allocates nothing.

use std::sync::Arc;

use arrow_buffer::{MutableBuffer, NullBuffer};
use simd::widen::Wide;
use simd::{Code, Plain};
use types::{Physical, Value};
use vector::{Batch, Data, Vector};

use super::strings::{self, Source};
use super::{DESCRIPTOR_BYTES, Form, PARCEL_BYTES, VALIDITY, bit_bytes, code_width, kind_number};
use crate::picked::Picked;

/// Decides which dictionaries are sent.
pub trait Assign {
    /// The number under which the receivers know this dictionary of a column, if codes may be sent. `rows` codes would be
    /// sent in `width` bytes each.
    fn assign(&mut self, column: usize, values: &Arc<Vector>, rows: usize, width: usize) -> Option<u32>;
}

/// How one column of the batch is written.
struct Plan {
    form: Form,
    width: usize,
    /// The base of narrow integers; the value of equal ones.
    base: i128,
    /// Least size of the strings, and the sum of all.
    least: usize,
    sum: usize,
    nulls: bool,
    dictionary: u32,
}

impl Plan {
    fn of(form: Form, width: usize, nulls: bool) -> Plan {
        Plan { form, width, base: 0, least: 0, sum: 0, nulls, dictionary: 0 }
    }
}

/// Looks batches through and writes rows of them as parcels.
#[derive(Default)]
pub struct ColumnWriter {
    columns: Vec<Vector>,
    plans: Vec<Plan>,
    /// Narrow codes of whole columns, where parcels gather them.
    codes: Vec<MutableBuffer>,
    lists: bool,
    rows: usize,
}

/// Bytes being written.
pub(crate) struct Out<'a> {
    pub(crate) bytes: &'a mut [u8],
    pub(crate) at: usize,
}

impl Out<'_> {
    pub(crate) fn put(&mut self, bytes: &[u8]) {
        self.bytes[self.at..self.at + bytes.len()].copy_from_slice(bytes);
        self.at += bytes.len();
    }
    /// Zeros up to a multiple of `to`.
    pub(crate) fn align(&mut self, to: usize) {
        let end = self.at.next_multiple_of(to);
        self.bytes[self.at..end].fill(0);
        self.at = end;
    }
    /// The next `length` bytes, which the caller writes.
    pub(crate) fn room(&mut self, length: usize) -> &mut [u8] {
        self.at += length;
        &mut self.bytes[self.at - length..self.at]
    }
}

impl ColumnWriter {
    /// A writer that has seen nothing.
    pub fn new() -> Self {
        Self::default()
    }
    /// Looks a batch through, whose rows all count and whose columns hold no block's codes (`Batch::dense`). `lists` says
    /// that parcels will be written from lists of rows.
    pub fn take(&mut self, batch: &Batch, lists: bool, assign: &mut dyn Assign) {
        self.columns.clear();
        self.plans.clear();
        self.lists = lists;
        self.rows = batch.rows;
        if self.codes.len() < batch.columns.len() {
            self.codes.resize_with(batch.columns.len(), || MutableBuffer::new(0));
        }
        for (place, column) in batch.columns.iter().enumerate() {
            let column = match column.data() {
                Data::Dictionary { values, .. } if values.ty().physical() != Physical::Bytes => {
                    column.flatten()
                }
                Data::Coded(_) => column.decoded(),
                _ => column.clone(),
            };
            let plan = self.plan(place, &column, assign);
            self.plans.push(plan);
            self.columns.push(column);
        }
    }
    /// Lets go of the batch.
    pub fn release(&mut self) {
        self.columns.clear();
        self.plans.clear();
    }
    /// Rows of the batch.
    pub fn rows(&self) -> usize {
        self.rows
    }
    fn plan(&mut self, place: usize, column: &Vector, assign: &mut dyn Assign) -> Plan {
        let nulls = column.validity().filter(|v| v.null_count() > 0);
        let has_nulls = nulls.is_some();
        let all_null = nulls.is_some_and(|v| v.null_count() == v.len());
        let codes = &mut self.codes[place];
        match column.data() {
            Data::Constant(Value::Null) => Plan::of(Form::Null, 0, false),
            _ if all_null => Plan::of(Form::Null, 0, false),
            Data::Constant(_) => Plan::of(Form::Constant, 0, has_nulls),
            Data::Bool(_) => Plan::of(Form::Bits, 0, has_nulls),
            Data::I16(v) => integers::<i16>(v, nulls, self.lists, codes),
            Data::I32(v) => integers::<i32>(v, nulls, self.lists, codes),
            Data::I64(v) => integers::<i64>(v, nulls, self.lists, codes),
            Data::I128(v) => integers::<i128>(v, nulls, self.lists, codes),
            Data::F32(_) => Plan::of(Form::Raw, 4, has_nulls),
            Data::F64(_) => Plan::of(Form::Raw, 8, has_nulls),
            Data::Dictionary { codes: places, values } => {
                let width = code_width(values.len().saturating_sub(1) as u128);
                match assign.assign(place, values, places.len(), width) {
                    Some(number) => {
                        if self.lists && width < 4 {
                            let places = simd::typed::<i32>(simd::as_bytes(places)).unwrap_or_default();
                            narrow_all(places, 0, width, codes);
                        }
                        Plan { dictionary: number, ..Plan::of(Form::Dictionary, width, has_nulls) }
                    }
                    None => strings_plan(column),
                }
            }
            Data::Bytes(_) => strings_plan(column),
            Data::Coded(_) => unreachable!("decoded by `take`"),
        }
    }
    /// Upper bound of the bytes of a parcel with these rows.
    pub fn parcel_bytes(&self, picked: Picked<'_>) -> usize {
        let rows = picked.len();
        let columns = self.plans.iter().zip(&self.columns).map(|(plan, column)| {
            let validity = if plan.nulls { bit_bytes(rows) } else { 0 };
            let data = match plan.form {
                Form::Null => 0,
                Form::Constant => constant_bytes(column),
                Form::Narrow => 16 + rows * plan.width,
                Form::Raw => 8 + rows * plan.width,
                Form::Bits => bit_bytes(rows),
                Form::Strings => {
                    let all = matches!(picked, Picked::Run { .. }) && rows == self.rows;
                    let bytes = if all { plan.sum } else { Source::of(column).bytes(picked) };
                    12 + rows * plan.width + bytes
                }
                Form::Dictionary => 8 + rows * plan.width,
            };
            DESCRIPTOR_BYTES + validity + data.next_multiple_of(8)
        });
        (PARCEL_BYTES + columns.sum::<usize>()).next_multiple_of(16)
    }
    /// How many of the rows, from the first on, are sure to fit a parcel of `room` bytes.
    pub fn fit(&self, picked: Picked<'_>, room: usize) -> usize {
        let mut rows = picked.len().min(super::PARCEL_ROWS_MAX);
        loop {
            let bytes = self.parcel_bytes(picked.split_at(rows).0);
            if bytes <= room {
                return rows;
            }
            if rows == 0 {
                return 0;
            }
            // In proportion, and a little less: the next guess is nearly always right.
            let guess = (rows as u128 * room as u128 / bytes as u128) as usize;
            rows = (guess - guess / 32).min(rows - 1);
        }
    }
    /// Writes these rows as a parcel at the beginning of `out`, which is aligned by 16 bytes to be read without a copy, and
    /// has room for `parcel_bytes`. Gives the bytes of the parcel.
    pub fn write(&self, picked: Picked<'_>, out: &mut [u8]) -> usize {
        let mut out = Out { bytes: out, at: 0 };
        out.put(&(picked.len() as u32).to_le_bytes());
        out.put(&(self.plans.len() as u32).to_le_bytes());
        out.room(8);
        let descriptors = out.at;
        out.room(self.plans.len() * DESCRIPTOR_BYTES);
        for (place, (plan, column)) in self.plans.iter().zip(&self.columns).enumerate() {
            let begin = out.at;
            let validity = self.write_column(place, plan, column, picked, &mut out);
            out.align(8);
            let flags = if validity { VALIDITY } else { 0 };
            let kind = kind_number(column.ty().physical());
            let descriptor = &mut out.bytes[descriptors + place * DESCRIPTOR_BYTES..][..DESCRIPTOR_BYTES];
            descriptor[..4].copy_from_slice(&[plan.form as u8, plan.width as u8, flags, kind]);
            descriptor[4..].copy_from_slice(&((out.at - begin) as u32).to_le_bytes());
        }
        out.align(16);
        let bytes = out.at;
        out.bytes[8..12].copy_from_slice(&(bytes as u32).to_le_bytes());
        out.bytes[12..16].fill(0);
        bytes
    }
    /// Writes a column; gives whether it has validity bits.
    fn write_column(
        &self,
        place: usize,
        plan: &Plan,
        column: &Vector,
        picked: Picked<'_>,
        out: &mut Out<'_>,
    ) -> bool {
        let nulls = column.validity().filter(|_| plan.nulls);
        match plan.form {
            Form::Null => false,
            Form::Constant => {
                let valid = write_validity(nulls, picked, out);
                write_constant(column, plan, out);
                valid
            }
            Form::Narrow => {
                match column.data() {
                    Data::I128(_) => out.put(&plan.base.to_le_bytes()),
                    _ => out.put(&(plan.base as i64).to_le_bytes()),
                }
                let valid = write_validity(nulls, picked, out);
                self.write_codes(place, plan, column, picked, out);
                valid
            }
            Form::Raw => {
                let valid = write_validity(nulls, picked, out);
                out.align(plan.width.max(8));
                let room = out.room(picked.len() * plan.width);
                match column.data() {
                    Data::I16(v) => picked.gather(v, room),
                    Data::I32(v) => picked.gather(v, room),
                    Data::I64(v) => picked.gather(v, room),
                    Data::I128(v) => picked.gather(v, room),
                    Data::F32(v) => picked.gather(v, room),
                    Data::F64(v) => picked.gather(v, room),
                    _ => unreachable!("only numbers are raw"),
                }
                valid
            }
            Form::Bits => {
                let valid = write_validity(nulls, picked, out);
                if let Data::Bool(bits) = column.data() {
                    picked.words(|row| bits.value(row), |word| out.put(&word.to_le_bytes()));
                }
                valid
            }
            Form::Strings => {
                let head = out.at;
                out.room(8);
                let valid = write_validity(nulls, picked, out);
                let bytes = strings::write(&Source::of(column), picked, plan.least, plan.width, out);
                out.bytes[head..head + 4].copy_from_slice(&(plan.least as u32).to_le_bytes());
                out.bytes[head + 4..head + 8].copy_from_slice(&(bytes as u32).to_le_bytes());
                valid
            }
            Form::Dictionary => {
                out.put(&u64::from(plan.dictionary).to_le_bytes());
                let valid = write_validity(nulls, picked, out);
                self.write_codes(place, plan, column, picked, out);
                valid
            }
        }
    }
    fn write_codes(&self, place: usize, plan: &Plan, column: &Vector, picked: Picked<'_>, out: &mut Out<'_>) {
        let room = out.room(picked.len() * plan.width);
        let whole = match column.data() {
            Data::Dictionary { .. } => plan.width == 4,
            _ => false,
        };
        match picked {
            Picked::List(_) if self.lists && !whole => {
                let codes = self.codes[place].as_slice();
                match plan.width {
                    1 => picked.gather::<u8>(codes, room),
                    2 => picked.gather(simd::typed::<u16>(codes).unwrap_or_default(), room),
                    4 => picked.gather(simd::typed::<u32>(codes).unwrap_or_default(), room),
                    8 => picked.gather(simd::typed::<u64>(codes).unwrap_or_default(), room),
                    _ => {}
                }
            }
            _ => match column.data() {
                Data::I16(v) => narrow_picked(v, i16::from_wide(plan.base), plan.width, picked, room),
                Data::I32(v) => narrow_picked(v, i32::from_wide(plan.base), plan.width, picked, room),
                Data::I64(v) => narrow_picked(v, i64::from_wide(plan.base), plan.width, picked, room),
                Data::I128(v) => narrow_picked(v, plan.base, plan.width, picked, room),
                Data::Dictionary { codes, .. } if whole => picked.gather(codes, room),
                Data::Dictionary { codes, .. } => {
                    let codes = simd::typed::<i32>(simd::as_bytes(codes)).unwrap_or_default();
                    narrow_picked(codes, 0, plan.width, picked, room);
                }
                _ => unreachable!("only integers and places have codes"),
            },
        }
    }
}

fn write_validity(nulls: Option<&NullBuffer>, picked: Picked<'_>, out: &mut Out<'_>) -> bool {
    let Some(nulls) = nulls else { return false };
    let (begin, mut valid) = (out.at, 0usize);
    picked.words(
        |row| nulls.is_valid(row),
        |word| {
            valid += word.count_ones() as usize;
            out.put(&word.to_le_bytes());
        },
    );
    if valid == picked.len() {
        out.at = begin;
        return false;
    }
    true
}

fn constant_bytes(column: &Vector) -> usize {
    match column.data() {
        Data::Constant(Value::Bytes(bytes)) => 8 + bytes.len(),
        _ => 16,
    }
}

/// The value of a constant vector, or the one that all integers of a flat one have.
fn write_constant(column: &Vector, plan: &Plan, out: &mut Out<'_>) {
    match column.data() {
        Data::Constant(Value::Bool(v)) => out.put(&[u8::from(*v)]),
        Data::Constant(Value::I16(v)) => out.put(&v.to_le_bytes()),
        Data::Constant(Value::I32(v)) => out.put(&v.to_le_bytes()),
        Data::Constant(Value::I64(v)) => out.put(&v.to_le_bytes()),
        Data::Constant(Value::I128(v)) => out.put(&v.to_le_bytes()),
        Data::Constant(Value::F32(v)) => out.put(&v.to_le_bytes()),
        Data::Constant(Value::F64(v)) => out.put(&v.to_le_bytes()),
        Data::Constant(Value::Bytes(bytes)) => {
            out.put(&(bytes.len() as u64).to_le_bytes());
            out.put(bytes);
        }
        Data::Constant(Value::Null) => {}
        _ => out.put(&plan.base.to_le_bytes()[..column.ty().physical().width()]),
    }
}

/// An integer that vectors hold.
trait Integer: Wide + Ord {
    fn wide(self) -> i128;
    fn from_wide(value: i128) -> Self;
}
macro_rules! integer {
    ($($ty:ty),*) => {$(
        impl Integer for $ty {
            fn wide(self) -> i128 {
                self as i128
            }
            fn from_wide(value: i128) -> Self {
                value as $ty
            }
        }
    )*};
}
integer!(i16, i32, i64, i128);

fn integers<T: Integer>(
    values: &[T],
    nulls: Option<&NullBuffer>,
    lists: bool,
    codes: &mut MutableBuffer,
) -> Plan {
    let bounds = match nulls {
        None => simd::bounds(values),
        Some(nulls) => nulls.valid_indices().fold(None, |bounds: Option<(T, T)>, row| {
            let value = values[row];
            Some(bounds.map_or((value, value), |(low, high)| (low.min(value), high.max(value))))
        }),
    };
    let (low, high) = bounds.map_or((0, 0), |(low, high)| (low.wide(), high.wide()));
    // As unsigned: the distance of any two values of 128 bits fits it.
    let width = code_width(high.wrapping_sub(low) as u128);
    let plan = match width {
        0 => Plan::of(Form::Constant, 0, nulls.is_some()),
        _ if width >= size_of::<T>() => Plan::of(Form::Raw, size_of::<T>(), nulls.is_some()),
        _ => Plan::of(Form::Narrow, width, nulls.is_some()),
    };
    if lists && plan.form == Form::Narrow {
        narrow_all(values, T::from_wide(low), width, codes);
    }
    Plan { base: low, ..plan }
}

fn strings_plan(column: &Vector) -> Plan {
    let (least, most, sum) = Source::of(column).sizes();
    let plan = Plan::of(Form::Strings, code_width((most - least) as u128), column.has_nulls());
    Plan { least, sum, ..plan }
}

/// Narrows a whole column into the writer's memory.
fn narrow_all<W: Wide>(values: &[W], base: W, width: usize, codes: &mut MutableBuffer) {
    codes.resize(values.len() * width, 0);
    narrow_run(values, base, width, codes.as_slice_mut());
}

fn narrow_picked<W: Wide>(values: &[W], base: W, width: usize, picked: Picked<'_>, out: &mut [u8]) {
    match picked {
        Picked::Run { from, length } => narrow_run(&values[from..from + length], base, width, out),
        Picked::List(rows) if width > 0 => {
            // A list that was not announced: one row after the other.
            for (out, row) in out.chunks_exact_mut(width).zip(rows) {
                let code = values[*row as usize].subtract(base).low_bits().to_le_bytes();
                out.copy_from_slice(&code[..width]);
            }
        }
        Picked::List(_) => {}
    }
}

/// Writes `value - base` in `width` bytes each. `out` has their size.
fn narrow_run<W: Wide>(values: &[W], base: W, width: usize, out: &mut [u8]) {
    fn aligned<W: Wide, C: Code + Plain>(values: &[W], base: W, out: &mut [u8]) -> bool {
        let Some(out) = simd::typed_mut::<C>(out) else { return false };
        simd::narrow(values, base, W::from_code(1), out);
        true
    }
    let done = match width {
        1 => aligned::<W, u8>(values, base, out),
        2 => aligned::<W, u16>(values, base, out),
        4 => aligned::<W, u32>(values, base, out),
        8 => aligned::<W, u64>(values, base, out),
        _ => true,
    };
    if !done {
        for (out, value) in out.chunks_exact_mut(width).zip(values) {
            out.copy_from_slice(&value.subtract(base).low_bits().to_le_bytes()[..width]);
        }
    }
}
