//! Functions that write a text or bytes, or find a number in a text, for a row at a time without a value of its own.
//!
//! Such a function is written once, over whatever has its arguments (`Given`): a row's values, or a row of the batch's vectors
//! where they lie. It appends to bytes that are used again for the next row, so that a row costs no allocation. `writes!`
//! and `finds!` declare both forms.

use arrow_buffer::{BooleanBuffer, NullBuffer};
use types::{Error, Physical, Result, Type, Value, stop};
use vector::{Data, StringBuilder, Vector};

use super::maps::all_valid;
use super::maps::operand;
use super::{Arguments, ROW_UNITS};
use crate::operand::{Native, Operand, Text, boolean_bits};
use crate::room::Room;

/// What has the arguments of a row, none of which is NULL.
pub(super) trait Given {
    /// How many there are.
    fn count(&self) -> usize;
    /// A text or bytes.
    fn piece(&self, at: usize) -> Result<&[u8]>;
    /// A text.
    fn words(&self, at: usize) -> Result<&str>;
    /// A whole number.
    fn number(&self, at: usize) -> Result<i64>;
    /// A whole number of sixteen bytes.
    fn wide(&self, at: usize) -> Result<i128>;
    /// A truth value; `None` for an argument of another form.
    fn flag(&self, at: usize) -> Option<bool>;
    /// The type that an argument was bound with.
    fn kind(&self, at: usize) -> Type;
}

impl Given for Arguments<'_> {
    fn count(&self) -> usize {
        self.len()
    }
    fn piece(&self, at: usize) -> Result<&[u8]> {
        self.bytes(at)
    }
    fn words(&self, at: usize) -> Result<&str> {
        self.text(at)
    }
    fn number(&self, at: usize) -> Result<i64> {
        self.integer(at)
    }
    fn wide(&self, at: usize) -> Result<i128> {
        self.whole(at)
    }
    fn flag(&self, at: usize) -> Option<bool> {
        self.values.get(at).and_then(Value::as_bool)
    }
    fn kind(&self, at: usize) -> Type {
        self.types.get(at).copied().unwrap_or(Type::Null)
    }
}

/// An argument of all rows.
enum Column<'a> {
    Bytes(Text<'a>),
    Flags(BooleanBuffer),
    I16(Operand<'a, i16>),
    I32(Operand<'a, i32>),
    I64(Operand<'a, i64>),
}

impl<'a> Column<'a> {
    /// `None` for a vector of another form.
    fn of(vector: &'a Vector) -> Option<Self> {
        Some(match vector.ty().physical() {
            Physical::Bytes => match vector.data() {
                Data::Bytes(_) | Data::Constant(_) => Column::Bytes(Text::of(vector)),
                _ => return None,
            },
            Physical::Bool => Column::Flags(boolean_bits(vector)),
            Physical::I16 => Column::I16(operand(vector, Physical::I16)?),
            Physical::I32 => Column::I32(operand(vector, Physical::I32)?),
            Physical::I64 => Column::I64(operand(vector, Physical::I64)?),
            _ => return None,
        })
    }
}

/// A row of a batch.
struct Row<'a> {
    inputs: &'a [Vector],
    columns: &'a [Column<'a>],
    row: usize,
}

fn mismatch(at: usize) -> Error {
    Error::internal(format!("argument {at} of a function has another form"))
}

impl Given for Row<'_> {
    fn count(&self) -> usize {
        self.columns.len()
    }
    fn piece(&self, at: usize) -> Result<&[u8]> {
        match self.columns.get(at) {
            Some(Column::Bytes(text)) => Ok(text.at(self.row)),
            _ => Err(mismatch(at)),
        }
    }
    fn words(&self, at: usize) -> Result<&str> {
        std::str::from_utf8(self.piece(at)?).map_err(|_| mismatch(at))
    }
    fn number(&self, at: usize) -> Result<i64> {
        match self.columns.get(at) {
            Some(Column::I16(values)) => Ok(values.at(self.row).into()),
            Some(Column::I32(values)) => Ok(values.at(self.row).into()),
            Some(Column::I64(values)) => Ok(values.at(self.row)),
            _ => Err(mismatch(at)),
        }
    }
    fn wide(&self, at: usize) -> Result<i128> {
        // Vectors of such numbers are no columns here.
        self.number(at).map(i128::from)
    }
    fn flag(&self, at: usize) -> Option<bool> {
        match self.columns.get(at) {
            Some(Column::Flags(flags)) => Some(flags.value(self.row)),
            _ => None,
        }
    }
    fn kind(&self, at: usize) -> Type {
        self.inputs.get(at).map_or(Type::Null, Vector::ty)
    }
}

/// Calls `of` for each row without a NULL; the rows that have none.
fn walk(
    inputs: &[Vector],
    rows: usize,
    mut of: impl FnMut(Option<&dyn Given>) -> Result<()>,
) -> Option<Result<Option<NullBuffer>>> {
    let columns: Vec<Column<'_>> = inputs.iter().map(Column::of).collect::<Option<_>>()?;
    let valid = all_valid(inputs, rows);
    for row in 0..rows {
        let known = valid.as_ref().is_none_or(|valid| valid.is_valid(row));
        let here = Row { inputs, columns: &columns, row };
        let width: usize = columns
            .iter()
            .map(|column| if let Column::Bytes(text) = column { text.at(row).len() } else { 0 })
            .sum();
        stop::spend(ROW_UNITS / 8 + width);
        if let Err(error) = of(if known { Some(&here) } else { None }) {
            return Some(Err(error));
        }
    }
    Some(Ok(valid.filter(|valid| valid.null_count() > 0)))
}

/// The texts or bytes that `write` appends for each row.
pub(super) fn texts(
    inputs: &[Vector],
    ty: Type,
    rows: usize,
    room: Room<'_>,
    write: fn(&dyn Given, &mut Vec<u8>) -> Result<()>,
) -> Option<Result<Vector>> {
    let mut out = StringBuilder::with_capacity(rows);
    let (mut bytes, mut made) = (Vec::new(), 0);
    let valid = walk(inputs, rows, |row| {
        bytes.clear();
        if let Some(row) = row {
            write(row, &mut bytes)?;
            made += bytes.len() as u64;
            room.ask(made, rows)?;
        }
        out.push(&bytes);
        Ok(())
    })?;
    Some(valid.map(|valid| Vector::new(ty, Data::Bytes(out.finish()), valid)))
}

/// The numbers that `find` gives for each row.
pub(super) fn numbers<R: Native>(
    inputs: &[Vector],
    ty: Type,
    rows: usize,
    find: fn(&dyn Given) -> Result<R>,
) -> Option<Result<Vector>> {
    let mut values = Vec::with_capacity(rows);
    let valid = walk(inputs, rows, |row| {
        values.push(row.map_or(Ok(R::default()), find)?);
        Ok(())
    })?;
    Some(valid.map(|valid| Vector::new(ty, R::data(values), valid)))
}

/// What `write` appends for one row.
pub(super) fn value(a: &Arguments<'_>, write: fn(&dyn Given, &mut Vec<u8>) -> Result<()>) -> Result<Value> {
    let mut bytes = Vec::new();
    write(a, &mut bytes)?;
    Ok(Value::Bytes(bytes.into()))
}

/// A function whose results `$write` appends to bytes.
macro_rules! writes {
    ($name:expr, $signatures:expr, $page:expr, $write:expr $(,)?) => {
        in_batches(
            |inputs, ty, rows, room| $crate::own::written::texts(inputs, ty, rows, room, $write),
            own($name, $signatures, $page, |a| $crate::own::written::value(a, $write)),
        )
    };
}

/// A function whose numbers, of the form `$form`, `$find` gives.
macro_rules! finds {
    ($form:ident, $name:expr, $signatures:expr, $page:expr, $find:expr $(,)?) => {
        in_batches(
            |inputs, ty, rows, _| $crate::own::written::numbers(inputs, ty, rows, $find),
            own($name, $signatures, $page, |a| {
                let find: fn(&dyn Given) -> Result<_> = $find;
                find(a).map(Value::$form)
            }),
        )
    };
}
pub(super) use {finds, writes};
