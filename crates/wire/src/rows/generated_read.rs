//! Tuples into batches, column by column.
//!
//! Where all tuples have one length, each column is read by a loop over them. Otherwise a first pass walks the tuples and
//! notes where their parts of varying length lie, checking every length; then each column is read by its loop. Strings
//! longer than a view point into the message.
//!
//! A body is refused (08P01) where it does not end with a tuple's end, an indicator is neither 0 nor 1, a text is no
//! UTF-8 or a nested value not whole. What is read takes memory in proportion to the body: a tuple has at least one byte,
//! and one without is refused.

use arrow_buffer::{BooleanBuffer, Buffer, NullBuffer};
use types::{Error, Physical, Result, SqlState, Type};
use vector::strings::{INLINE_BYTES, make_view, view_length};
use vector::{Batch, Data, Strings, Vector};

use super::{Cell, RowLayout, SIZE_BYTES, fixed_width};

/// Where a value of varying place lies in the body; NULL where it is `ABSENT`.
type Place = u32;
const ABSENT: Place = Place::MAX;
/// The high bit of every byte.
const NOT_ASCII: u128 = u128::MAX / 255 * 128;

/// Reads bodies of one schema.
pub struct RowReader {
    layout: RowLayout,
}

pub(super) fn wrong(what: &str) -> Error {
    Error::new(SqlState::ProtocolViolation, format!("a message's rows cannot be read: {what}"))
        .with_hint("All machines of a cluster run the same version and the same plan.")
}

/// Beginnings of the tuples, and by column of varying place where its values lie.
#[derive(Default)]
struct Places {
    tuples: Vec<Place>,
    nullable: Vec<Vec<Place>>,
    /// Of a string its size.
    strings: Vec<Vec<Place>>,
}

impl RowReader {
    /// A reader of tuples of this layout.
    pub fn new(layout: RowLayout) -> RowReader {
        RowReader { layout }
    }
    /// The batch of a body's tuples.
    ///
    /// # Errors
    /// 08P01 for bytes that no writer makes of this layout.
    pub fn read(&self, body: &Buffer) -> Result<Batch> {
        let layout = &self.layout;
        if body.len() >= ABSENT as usize {
            return Err(wrong("it is too long"));
        }
        if body.is_empty() {
            let columns = layout.types.iter().map(|ty| Vector::from_values(*ty, &[]));
            return Ok(Batch::new(columns.collect(), 0));
        }
        let mut columns: Vec<Option<Vector>> = vec![None; layout.types.len()];
        let rows;
        if layout.is_fixed() {
            let stride = layout.fixed_bytes;
            if stride == 0 || !body.len().is_multiple_of(stride) {
                return Err(wrong("its length is not that of whole rows"));
            }
            rows = body.len() / stride;
            for fixed in &layout.fixed {
                let tuples = body[fixed.offset..].chunks(stride);
                columns[fixed.column] = Some(numbers(layout.types[fixed.column], rows, tuples));
            }
        } else {
            let places = self.walk(body)?;
            rows = places.tuples.len();
            for fixed in &layout.fixed {
                let tuples = places.tuples.iter().map(|at| &body[*at as usize + fixed.offset..]);
                columns[fixed.column] = Some(numbers(layout.types[fixed.column], rows, tuples));
            }
            for (column, places) in layout.nullable.iter().zip(&places.nullable) {
                // A NULL's number is read from nowhere.
                let cells = places.iter().map(|at| body.get(*at as usize..).unwrap_or_default());
                let values = numbers(layout.types[*column], rows, cells);
                columns[*column] = Some(values.with_validity(validity(places)));
            }
            for ((column, _), places) in layout.strings.iter().zip(&places.strings) {
                columns[*column] = Some(strings(layout.types[*column], body, places)?);
            }
        }
        let columns = columns.into_iter().flatten().collect();
        Ok(Batch::new(columns, rows))
    }
    /// Finds the parts of all tuples.
    fn walk(&self, body: &[u8]) -> Result<Places> {
        let layout = &self.layout;
        let widths: Vec<usize> =
            layout.nullable.iter().map(|c| fixed_width(layout.types[*c]).unwrap_or_default()).collect();
        let mut places = Places {
            tuples: Vec::new(),
            nullable: vec![Vec::new(); layout.nullable.len()],
            strings: vec![Vec::new(); layout.strings.len()],
        };
        let short = || wrong("a row ends early");
        let mut at = 0;
        while at < body.len() {
            places.tuples.push(at as Place);
            at += layout.fixed_bytes;
            for (width, places) in widths.iter().zip(&mut places.nullable) {
                let present = indicator(body, at)?;
                places.push(if present { at as Place + 1 } else { ABSENT });
                at += 1 + if present { *width } else { 0 };
            }
            if at > body.len() {
                return Err(short());
            }
            for ((_, nullable), places) in layout.strings.iter().zip(&mut places.strings) {
                if *nullable {
                    at += 1;
                    if !indicator(body, at - 1)? {
                        places.push(ABSENT);
                        continue;
                    }
                }
                let size = body.get(at..).and_then(|rest| rest.first_chunk::<SIZE_BYTES>());
                let size = u32::from_le_bytes(*size.ok_or_else(short)?) as usize;
                places.push(at as Place);
                at += SIZE_BYTES;
                if size > body.len() - at {
                    return Err(short());
                }
                at += size;
            }
        }
        if at == body.len() { Ok(places) } else { Err(short()) }
    }
}

fn indicator(body: &[u8], at: usize) -> Result<bool> {
    match body.get(at) {
        Some(0) => Ok(false),
        Some(1) => Ok(true),
        _ => Err(wrong("an indicator is neither 0 nor 1")),
    }
}

fn validity(places: &[Place]) -> Option<NullBuffer> {
    let nulls = places.contains(&ABSENT);
    nulls.then(|| NullBuffer::new(BooleanBuffer::collect_bool(places.len(), |row| places[row] != ABSENT)))
}

/// A column of what the cells begin with.
fn numbers<'a>(ty: Type, rows: usize, cells: impl Iterator<Item = &'a [u8]>) -> Vector {
    fn all<'a, T: Cell>(rows: usize, cells: impl Iterator<Item = &'a [u8]>) -> arrow_buffer::ScalarBuffer<T> {
        let mut out = Vec::with_capacity(rows);
        out.extend(cells.take(rows).map(T::get));
        out.into()
    }
    let data = match ty.physical() {
        Physical::I16 => Data::I16(all(rows, cells)),
        Physical::I32 => Data::I32(all(rows, cells)),
        Physical::I64 => Data::I64(all(rows, cells)),
        Physical::I128 => Data::I128(all(rows, cells)),
        Physical::F32 => Data::F32(all(rows, cells)),
        Physical::F64 => Data::F64(all(rows, cells)),
        Physical::Bool | Physical::Bytes => {
            let mut cells = cells;
            let next = |_| cells.next().and_then(<[u8]>::first).is_some_and(|byte| *byte != 0);
            Data::Bool((0..rows).map(next).collect())
        }
    };
    Vector::new(ty, data, None)
}

fn strings(ty: Type, body: &Buffer, places: &[Place]) -> Result<Vector> {
    let mut views = Vec::with_capacity(places.len());
    let (check_text, check_nested) = (ty.is_text(), ty.is_nested());
    for place in places {
        if *place == ABSENT {
            views.push(0);
            continue;
        }
        // The walk has seen that size and bytes are there.
        let at = *place as usize;
        // Size and bytes of a short string are its view, once what follows is cut off.
        if !check_nested && let Some(next) = body[at..].first_chunk() {
            let next = u128::from_le_bytes(*next);
            let size = view_length(next);
            let view = if size < INLINE_BYTES { next & !(u128::MAX << (32 + 8 * size)) } else { next };
            if size <= INLINE_BYTES && (!check_text || view >> 32 & NOT_ASCII == 0) {
                views.push(view);
                continue;
            }
        }
        let size = body[at..].first_chunk().map_or(0, |raw| u32::from_le_bytes(*raw)) as usize;
        let bytes = &body[at + SIZE_BYTES..at + SIZE_BYTES + size];
        if check_text && !bytes.is_ascii() && std::str::from_utf8(bytes).is_err() {
            return Err(wrong("a text is no UTF-8"));
        }
        if check_nested && !crate::columns::sound(ty, bytes) {
            return Err(wrong("a nested value is not one of its type"));
        }
        views.push(make_view(bytes, 0, (at + SIZE_BYTES) as u32));
    }
    let strings = Strings::from_trusted(views.into(), [body.clone()].into());
    Ok(Vector::new(ty, Data::Bytes(strings), validity(places)))
}
