//! One column of a batch as its cells are written: flat values, which of them each row has, and where its NULLs are.
//!
//! Dictionaries stay as they are: a row's code picks the value. `write` decides once for a group of rows which loop runs.
//! Made by `rows` for each column of a batch; a `sink` gets the cells.

use arrow_buffer::{NullBuffer, ScalarBuffer};
use types::interval::Interval;
use types::{Error, Result, Type, Value, timestamp_units};
use vector::{Data, Strings, Vector};

use super::sink::Sink;
use crate::binary::{self, NumericForm};
use crate::format::Format;
use crate::text;
use crate::value::{self, ValueForm, no_form};

/// Which of the flat values a row has.
enum Index {
    Row,
    Code(ScalarBuffer<u32>),
    /// All rows have the first one.
    First,
}

/// Nested values of a group of rows, made before their lengths are asked for.
#[derive(Default)]
struct Made {
    bytes: Vec<u8>,
    ends: Vec<usize>,
}

/// Whether cells of the type are made as a whole before they are written: what is sent is not what is held.
fn is_made(ty: Type) -> bool {
    ty.is_nested() || ty.is_wide_integer()
}

impl Made {
    fn cell(&self, row: usize) -> &[u8] {
        let begin = row.checked_sub(1).map_or(0, |before| self.ends[before]);
        &self.bytes[begin..self.ends[row]]
    }
}

pub(super) struct Column {
    ty: Type,
    format: Format,
    values: Vector,
    index: Index,
    nulls: Option<NullBuffer>,
    all_null: bool,
    made: Made,
}

/// Raw bytes of a nested value are at most so many times as many as text, about.
const NESTED_FACTOR: usize = 4;
/// CHAR of so many characters is given room for all of them without a look at the value.
const BLANKS_MAX: usize = 256;

/// Times and timestamps of another unit in microseconds, of which PostgreSQL's are; other columns as they are.
fn in_microseconds(values: Vector, ty: Type) -> (Vector, Type) {
    let plain = if ty == Type::TimeNs { Type::Time } else { ty.in_microseconds() };
    if plain == ty {
        return (values, ty);
    }
    let Data::I64(held) = values.data() else { return (values, plain) };
    let micros = |held: &i64| match ty {
        Type::TimeNs => types::time_ns::in_microseconds(*held),
        _ => timestamp_units::converted(*held, ty, plain).unwrap_or(*held),
    };
    let data = Data::I64(held.iter().map(micros).collect::<Vec<_>>().into());
    (Vector::new(plain, data, values.validity().cloned()), plain)
}

impl Column {
    pub(super) fn new(vector: &Vector, ty: Type, format: Format) -> Column {
        let (values, index) = match vector.data() {
            Data::Dictionary { codes, values } => (values.as_ref().clone(), Index::Code(codes.clone())),
            Data::Constant(value) => {
                (Vector::from_values(vector.ty(), std::slice::from_ref(value)), Index::First)
            }
            _ => (vector.clone(), Index::Row),
        };
        let (values, ty) = in_microseconds(values, ty);
        let all_null = matches!(vector.data(), Data::Constant(Value::Null)) || ty == Type::Null;
        let nulls = vector.validity().filter(|nulls| nulls.null_count() > 0).cloned();
        Column { ty, format, values, index, nulls, all_null, made: Made::default() }
    }

    fn at(&self, row: usize) -> usize {
        match &self.index {
            Index::Row => row,
            Index::Code(codes) => codes[row] as usize,
            Index::First => 0,
        }
    }
    fn is_null(&self, row: usize) -> bool {
        self.all_null || self.nulls.as_ref().is_some_and(|nulls| nulls.is_null(row))
    }
    fn strings(&self) -> Option<&Strings> {
        if let Data::Bytes(strings) = self.values.data() { Some(strings) } else { None }
    }

    /// Whether cells have no bound of their own.
    pub(super) fn varies(&self) -> bool {
        !self.all_null && (self.strings().is_some() || matches!(self.ty, Type::Enum(_)))
    }
    /// The longest cell of a column that does not vary.
    pub(super) fn width(&self) -> usize {
        match self.varies() || self.all_null {
            true => 0,
            // One constant for all: the scratch memory is small beside a batch.
            false => match self.ty {
                Type::Boolean => 1,
                Type::Interval | Type::IntervalYearMonth | Type::IntervalDayTime => text::INTERVAL_BYTES,
                Type::Timestamp | Type::TimestampTz | Type::TimeTz | Type::Time => text::TIMESTAMP_BYTES,
                Type::Decimal { .. } | Type::HugeInt | Type::UBigInt => text::I128_BYTES,
                Type::Uuid => text::UUID_BYTES,
                Type::Real | Type::Double => text::FLOAT_BYTES,
                _ => text::DATE_BYTES.max(text::I64_BYTES),
            },
        }
    }
    /// About how many bytes a varying cell will have, without making it.
    pub(super) fn estimate(&self, row: usize) -> usize {
        let length = self.strings().map_or(16, |strings| match self.is_null(row) {
            true => 0,
            false => strings.get(self.at(row)).len(),
        });
        match self.ty {
            ty if is_made(ty) => length.saturating_mul(NESTED_FACTOR),
            _ => length,
        }
    }
    /// The most bytes of a varying cell; `row` counts from `from`.
    pub(super) fn bytes(&self, from: usize, row: usize) -> usize {
        if is_made(self.ty) {
            return self.made.cell(row).len();
        }
        if self.is_null(from + row) {
            return 0;
        }
        let at = self.at(from + row);
        if let Type::Enum(_) = self.ty {
            return self.label(at).len();
        }
        let Some(strings) = self.strings() else { return 0 };
        let bytes = strings.get(at);
        match (self.ty, self.format) {
            (Type::Char(n), _) if n as usize <= BLANKS_MAX => bytes.len() + n as usize,
            (Type::Char(_), _) => bytes.len() + value::blanks(bytes, self.ty),
            (Type::Bytea, Format::Text) => 2 + bytes.len() * 2,
            (Type::Bit(_) | Type::VarBit(_), Format::Binary) => binary::bits_bytes(bytes.len()),
            _ => bytes.len() + 1,
        }
    }

    fn label(&self, at: usize) -> &'static str {
        let Data::I32(places) = self.values.data() else { return "" };
        let labels = self.ty.labels().unwrap_or_default();
        usize::try_from(places[at]).ok().and_then(|place| labels.get(place)).map_or("", String::as_str)
    }

    /// Makes the cells of nested values for a group of rows.
    pub(super) fn prepare(&mut self, from: usize, rows: usize, form: ValueForm<'_>) -> Result<()> {
        if !is_made(self.ty) {
            return Ok(());
        }
        let mut made = std::mem::take(&mut self.made);
        made.bytes.clear();
        made.ends.clear();
        for row in from..from + rows {
            if !self.is_null(row)
                && let Some(strings) = self.strings()
            {
                let value = Value::Bytes(strings.get(self.at(row)).into());
                value::push(&value, self.ty, self.format, form, &mut made.bytes)?;
            }
            made.ends.push(made.bytes.len());
        }
        self.made = made;
        Ok(())
    }

    /// Calls `cell` for each row of a group that has a value, with the row and the value's place.
    #[inline]
    fn each<S: Sink>(
        &self,
        from: usize,
        rows: usize,
        sink: &mut S,
        mut cell: impl FnMut(&mut S, usize, usize) -> Result<()>,
    ) -> Result<()> {
        match (&self.index, &self.nulls) {
            (Index::Row, None) => (0..rows).try_for_each(|row| cell(sink, row, from + row)),
            (Index::Code(codes), None) => {
                (0..rows).try_for_each(|row| cell(sink, row, codes[from + row] as usize))
            }
            _ => (0..rows).try_for_each(|row| match self.is_null(from + row) {
                true => Ok(sink.null(row)),
                false => cell(sink, row, self.at(from + row)),
            }),
        }
    }

    #[inline]
    fn numbers<S: Sink, T: Copy>(
        &self,
        values: &[T],
        (from, rows): (usize, usize),
        sink: &mut S,
        write: impl Fn(T, &mut [u8]) -> usize,
    ) -> Result<()> {
        let mut all = true;
        self.each(from, rows, sink, |sink, row, at| {
            let value = values[at];
            all &= sink.bounded(row, |to| write(value, to));
            Ok(())
        })?;
        if all { Ok(()) } else { Err(no_form(self.ty)) }
    }

    /// Writes the cells of a group of rows. The zone is that of `prepare`'s form.
    pub(super) fn write<S: Sink>(
        &self,
        from: usize,
        rows: usize,
        form: ValueForm<'_>,
        sink: &mut S,
    ) -> Result<()> {
        if self.all_null {
            (0..rows).for_each(|row| sink.null(row));
            return Ok(());
        }
        let group = (from, rows);
        let is_text = self.format == Format::Text;
        match self.values.data() {
            Data::Bool(bits) => self.each(from, rows, sink, |sink, row, at| {
                let value = bits.value(at);
                sink.bounded(row, |to| {
                    if is_text { text::boolean(value, to) } else { binary::boolean(value, to) }
                });
                Ok(())
            }),
            Data::I16(values) if is_text => {
                self.numbers(values, group, sink, |v, to| text::integer_64(v.into(), to))
            }
            Data::I16(values) => self.numbers(values, group, sink, binary::int_16),
            Data::I32(values) => self.write_32(values, group, sink),
            Data::I64(values) => self.write_64(values, group, form, sink),
            Data::I128(values) => self.write_128(values, group, sink),
            Data::F32(values) if is_text => self.numbers(values, group, sink, text::float_32),
            Data::F32(values) => self.numbers(values, group, sink, binary::float_32),
            Data::F64(values) if is_text => self.numbers(values, group, sink, text::float_64),
            Data::F64(values) => self.numbers(values, group, sink, binary::float_64),
            Data::Bytes(strings) => self.write_bytes(strings, group, sink),
            Data::Dictionary { .. } | Data::Constant(_) | Data::Coded(_) => {
                Err(Error::internal("a column of a result is not flat"))
            }
        }
    }

    fn write_32<S: Sink>(&self, values: &[i32], group: (usize, usize), sink: &mut S) -> Result<()> {
        match (self.ty, self.format) {
            (Type::Date, Format::Text) => self.numbers(values, group, sink, text::date),
            (Type::Date, Format::Binary) => self.numbers(values, group, sink, binary::date),
            (Type::Enum(_), _) => self.each(group.0, group.1, sink, |sink, row, at| {
                sink.bytes(row, self.label(at).as_bytes());
                Ok(())
            }),
            (Type::IntervalYearMonth, Format::Text) => {
                self.numbers(values, group, sink, |v, to| text::interval(Interval::new(v, 0, 0), to))
            }
            (Type::IntervalYearMonth, Format::Binary) => {
                self.numbers(values, group, sink, |v, to| binary::interval(Interval::new(v, 0, 0), to))
            }
            (_, Format::Text) => self.numbers(values, group, sink, |v, to| text::integer_64(v.into(), to)),
            (_, Format::Binary) => self.numbers(values, group, sink, binary::int_32),
        }
    }

    fn write_64<S: Sink>(
        &self,
        values: &[i64],
        group: (usize, usize),
        form: ValueForm<'_>,
        sink: &mut S,
    ) -> Result<()> {
        match (self.ty, self.format) {
            (ty, Format::Binary) if ty.is_oid() => {
                self.numbers(values, group, sink, |v, to| binary::int_32(v as i32, to))
            }
            (Type::Decimal { scale, .. }, Format::Text) => {
                self.numbers(values, group, sink, |v, to| text::decimal_64(v, scale, to))
            }
            (Type::Decimal { scale, .. }, Format::Binary) => {
                let numeric = NumericForm::new(scale);
                self.numbers(values, group, sink, |v, to| numeric.write_64(v, to))
            }
            (Type::Time, Format::Text) => self.numbers(values, group, sink, text::time),
            (Type::TimeTz, Format::Text) => self.numbers(values, group, sink, text::time_tz),
            (Type::TimeTz, Format::Binary) => self.numbers(values, group, sink, binary::time_tz),
            (Type::Timestamp, Format::Text) => self.numbers(values, group, sink, text::timestamp),
            (Type::TimestampTz, Format::Text) => {
                self.numbers(values, group, sink, |v, to| text::timestamp_tz(v, form.zone, to))
            }
            (Type::Timestamp | Type::TimestampTz, Format::Binary) => {
                self.numbers(values, group, sink, binary::timestamp)
            }
            (Type::IntervalDayTime, Format::Text) => {
                self.numbers(values, group, sink, |v, to| text::interval(Interval::of_micros(v), to))
            }
            (Type::IntervalDayTime, Format::Binary) => {
                self.numbers(values, group, sink, |v, to| binary::interval(Interval::of_micros(v), to))
            }
            (_, Format::Text) => self.numbers(values, group, sink, text::integer_64),
            (_, Format::Binary) => self.numbers(values, group, sink, binary::int_64),
        }
    }

    fn write_128<S: Sink>(&self, values: &[i128], group: (usize, usize), sink: &mut S) -> Result<()> {
        match (self.ty, self.format) {
            (Type::Uuid, Format::Text) => self.numbers(values, group, sink, text::uuid),
            (Type::Uuid, Format::Binary) => self.numbers(values, group, sink, binary::uuid),
            (Type::Interval, Format::Text) => {
                self.numbers(values, group, sink, |v, to| text::interval(Interval::of_packed(v), to))
            }
            (Type::Interval, Format::Binary) => {
                self.numbers(values, group, sink, |v, to| binary::interval(Interval::of_packed(v), to))
            }
            (ty, Format::Text) => {
                let scale = ty.scale();
                self.numbers(values, group, sink, |v, to| text::decimal_128(v, scale, to))
            }
            (ty, Format::Binary) => {
                let numeric = NumericForm::new(ty.scale());
                self.numbers(values, group, sink, |v, to| numeric.write_128(v, to))
            }
        }
    }

    fn write_bytes<S: Sink>(
        &self,
        strings: &Strings,
        (from, rows): (usize, usize),
        sink: &mut S,
    ) -> Result<()> {
        match (self.ty, self.format) {
            (ty, _) if is_made(ty) => self.each(from, rows, sink, |sink, row, _| {
                sink.bytes(row, self.made.cell(row));
                Ok(())
            }),
            (ty, format) if ty.is_reg() => self.each(from, rows, sink, |sink, row, at| {
                sink.bytes(row, value::reg_form(strings.get(at), format));
                Ok(())
            }),
            (ty @ Type::Char(_), _) => self.each(from, rows, sink, |sink, row, at| {
                let bytes = strings.get(at);
                let blanks = value::blanks(bytes, ty);
                sink.made(row, bytes.len() + blanks, |to| {
                    let (value, rest) = to.split_at_mut(bytes.len());
                    value.copy_from_slice(bytes);
                    rest[..blanks].fill(b' ');
                    bytes.len() + blanks
                })
            }),
            (Type::Bytea, Format::Text) => self.each(from, rows, sink, |sink, row, at| {
                let bytes = strings.get(at);
                sink.made(row, 2 + bytes.len() * 2, |to| {
                    to[..2].copy_from_slice(b"\\x");
                    2 + text::hexadecimal(bytes, &mut to[2..])
                })
            }),
            (Type::Bit(_) | Type::VarBit(_), Format::Binary) => {
                self.each(from, rows, sink, |sink, row, at| {
                    let digits = strings.get(at);
                    sink.made(row, binary::bits_bytes(digits.len()), |to| binary::bits(digits, to))
                })
            }
            (Type::Jsonb, Format::Binary) => self.each(from, rows, sink, |sink, row, at| {
                let bytes = strings.get(at);
                sink.made(row, 1 + bytes.len(), |to| {
                    to[0] = binary::JSONB_VERSION;
                    to[1..1 + bytes.len()].copy_from_slice(bytes);
                    1 + bytes.len()
                })
            }),
            _ => self.each(from, rows, sink, |sink, row, at| {
                sink.bytes(row, strings.get(at));
                Ok(())
            }),
        }
    }
}
