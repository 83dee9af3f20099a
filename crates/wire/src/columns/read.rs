//! Columnar parcels into batches.
//!
//! Nothing of a body is trusted: every length is checked against what is there before memory is taken or touched, codes
//! lie in their dictionary, texts are UTF-8, nested values are walked by their type. Numbers that lie as the engine wants
//! them, bits, and bytes of strings longer than a view are not copied: the vectors hold the message. What is widened
//! takes at most sixteen times its bytes, and what stands for many rows without bytes (constants, equal strings) becomes a
//! constant, so that a body cannot make its reader take memory out of proportion. A constant with NULLs has a bit a row: of
//! strings it becomes a dictionary of one entry, of numbers values, at most 128 times its bits.
//!
//! A value of an integer's physical form may still be none of its logical type (a date beyond the calendar): that is what
//! senders are trusted in, as machines of one cluster.

use std::sync::Arc;

use arrow_buffer::{ArrowNativeType, BooleanBuffer, Buffer, NullBuffer, ScalarBuffer};
use simd::widen::Wide;
use simd::{Code, Plain};
use types::nested::encoding;
use types::{Error, Physical, SqlState, Type, Value};
use vector::{Batch, Data, Validity, Vector};

use super::{
    DESCRIPTOR_BYTES, Form, PARCEL_BYTES, PARCEL_ROWS_MAX, VALIDITY, bit_bytes, kind_number, strings,
};

/// Why a body did not become batches.
#[derive(Debug)]
pub enum Unread {
    /// A column's codes are of this dictionary, which has not come yet.
    Dictionary(u32),
    /// The bytes are not what they should be.
    Wrong(Error),
}

impl From<Error> for Unread {
    fn from(error: Error) -> Self {
        Unread::Wrong(error)
    }
}

/// Where dictionaries that came before are found, by number.
pub type Known<'a> = &'a dyn Fn(u32) -> Option<Arc<Vector>>;

fn wrong(what: &str) -> Unread {
    Unread::Wrong(
        Error::new(SqlState::ProtocolViolation, format!("a message's columns cannot be read: {what}"))
            .with_hint("All machines of a cluster run the same version and the same plan."),
    )
}

fn take<'a>(bytes: &mut &'a [u8], count: usize, what: &str) -> Result<&'a [u8], Unread> {
    let (head, rest) = bytes.split_at_checked(count).ok_or_else(|| wrong(what))?;
    *bytes = rest;
    Ok(head)
}

fn u32_at(bytes: &[u8], at: usize) -> u32 {
    let mut raw = [0; 4];
    raw.copy_from_slice(&bytes[at..at + 4]);
    u32::from_le_bytes(raw)
}

/// The batches of a body, one a parcel. `types` are those of the exchange's columns.
///
/// # Errors
/// 08P01 for bytes that no writer makes of these types; `Unread::Dictionary` where `known` does not know one.
pub fn read(types: &[Type], body: &Buffer, known: Known<'_>) -> Result<Vec<Batch>, Unread> {
    let mut batches = Vec::new();
    let mut at = 0;
    while at < body.len() {
        let rest = &body[at..];
        if rest.len() < PARCEL_BYTES {
            return Err(wrong("a parcel ends early"));
        }
        let (rows, columns, bytes) =
            (u32_at(rest, 0) as usize, u32_at(rest, 4) as usize, u32_at(rest, 8) as usize);
        if rows > PARCEL_ROWS_MAX || columns != types.len() || u32_at(rest, 12) != 0 {
            return Err(wrong("a parcel has another number of columns, or too many rows"));
        }
        if !bytes.is_multiple_of(16)
            || bytes < PARCEL_BYTES + columns * DESCRIPTOR_BYTES
            || bytes > rest.len()
        {
            return Err(wrong("the length of a parcel is not one"));
        }
        batches.push(parcel(types, rows, &body.slice_with_length(at, bytes), known)?);
        at += bytes;
    }
    Ok(batches)
}

fn parcel(types: &[Type], rows: usize, parcel: &Buffer, known: Known<'_>) -> Result<Batch, Unread> {
    let mut at = PARCEL_BYTES + types.len() * DESCRIPTOR_BYTES;
    let mut columns = Vec::with_capacity(types.len());
    for (place, ty) in types.iter().enumerate() {
        let descriptor = &parcel[PARCEL_BYTES + place * DESCRIPTOR_BYTES..][..DESCRIPTOR_BYTES];
        let bytes = u32_at(descriptor, 4) as usize;
        if !bytes.is_multiple_of(8) || bytes > parcel.len() - at {
            return Err(wrong("the length of a column is not one"));
        }
        let form = Form::parse(descriptor[0]).ok_or_else(|| wrong("a column has an unknown form"))?;
        if descriptor[3] != kind_number(ty.physical()) || descriptor[2] & !VALIDITY != 0 {
            return Err(wrong("a column is of another type"));
        }
        let column = Column {
            ty: *ty,
            rows,
            width: usize::from(descriptor[1]),
            has_validity: descriptor[2] & VALIDITY != 0,
            all: parcel,
            at,
            end: at + bytes,
        };
        columns.push(column.read(form, known)?);
        at += bytes;
    }
    if parcel.len() - at >= 16 {
        return Err(wrong("bytes follow the last column"));
    }
    Ok(Batch::new(columns, rows))
}

/// A column that is being read: what its descriptor says, and where its next byte lies in the parcel.
struct Column<'a> {
    ty: Type,
    rows: usize,
    width: usize,
    has_validity: bool,
    all: &'a Buffer,
    at: usize,
    end: usize,
}

/// A value in all rows but those that are NULL. A constant vector has it in every row, so with NULLs it is none: bytes are
/// one entry of a dictionary then, and take no memory a row but their codes.
fn repeated(ty: Type, value: Value, rows: usize, validity: Option<NullBuffer>) -> Vector {
    let one = Vector::constant(ty, value, if validity.is_some() { 1 } else { rows });
    match validity {
        None => one,
        Some(validity) => {
            let codes: ScalarBuffer<u32> = vec![0; rows].into();
            let values = one.flatten();
            if ty.physical() != Physical::Bytes {
                return values.gather(&codes).with_validity(Some(validity));
            }
            Vector::dictionary(codes, Arc::new(values), Some(validity))
        }
    }
}

impl Column<'_> {
    fn read(mut self, form: Form, known: Known<'_>) -> Result<Vector, Unread> {
        let physical = self.ty.physical();
        match form {
            Form::Null => Ok(Vector::constant(self.ty, Value::Null, self.rows)),
            Form::Constant => {
                let validity = self.validity()?;
                let value = self.constant()?;
                Ok(repeated(self.ty, value, self.rows, validity))
            }
            Form::Bits if physical == Physical::Bool => {
                let validity = self.validity()?;
                let bits = self.bytes(bit_bytes(self.rows), "bits are missing")?;
                Ok(Vector::new(self.ty, Data::Bool(BooleanBuffer::new(bits, 0, self.rows)), validity))
            }
            Form::Narrow => self.narrow(),
            Form::Raw if self.width == physical.width() => self.raw(),
            Form::Strings if physical == Physical::Bytes => self.strings(),
            Form::Dictionary if physical == Physical::Bytes => self.dictionary(known),
            _ => Err(wrong("a column's form is not one of its type")),
        }
    }
    /// The next bytes, shared.
    fn bytes(&mut self, count: usize, what: &str) -> Result<Buffer, Unread> {
        if count > self.end - self.at {
            return Err(wrong(what));
        }
        self.at += count;
        Ok(self.all.slice_with_length(self.at - count, count))
    }
    fn validity(&mut self) -> Result<Validity, Unread> {
        if !self.has_validity {
            return Ok(None);
        }
        let bits = self.bytes(bit_bytes(self.rows), "validity bits are missing")?;
        Ok(Some(NullBuffer::new(BooleanBuffer::new(bits, 0, self.rows))))
    }
    fn constant(&mut self) -> Result<Value, Unread> {
        macro_rules! number {
            ($variant:ident, $ty:ty) => {{
                let mut raw = [0; size_of::<$ty>()];
                raw.copy_from_slice(&self.bytes(size_of::<$ty>(), "a constant ends early")?);
                Value::$variant(<$ty>::from_le_bytes(raw))
            }};
        }
        Ok(match self.ty.physical() {
            Physical::Bool => Value::Bool(self.bytes(1, "a constant ends early")?[0] != 0),
            Physical::I16 => number!(I16, i16),
            Physical::I32 => number!(I32, i32),
            Physical::I64 => number!(I64, i64),
            Physical::I128 => number!(I128, i128),
            Physical::F32 => number!(F32, f32),
            Physical::F64 => number!(F64, f64),
            Physical::Bytes => {
                let size = u32_at(&self.bytes(8, "a constant ends early")?, 0) as usize;
                let bytes = self.bytes(size, "a constant ends early")?;
                if !sound(self.ty, &bytes) {
                    return Err(wrong("a constant is no value of its type"));
                }
                Value::Bytes(bytes.as_slice().into())
            }
        })
    }
    fn narrow(mut self) -> Result<Vector, Unread> {
        match self.ty.physical() {
            Physical::I16 => self.widened::<i16>(8).map(|(v, validity)| (Data::I16(v), validity)),
            Physical::I32 => self.widened::<i32>(8).map(|(v, validity)| (Data::I32(v), validity)),
            Physical::I64 => self.widened::<i64>(8).map(|(v, validity)| (Data::I64(v), validity)),
            Physical::I128 => self.widened::<i128>(16).map(|(v, validity)| (Data::I128(v), validity)),
            _ => Err(wrong("only integers are narrow")),
        }
        .map(|(data, validity)| Vector::new(self.ty, data, validity))
    }
    fn widened<W: Wide + ArrowNativeType>(
        &mut self,
        base_bytes: usize,
    ) -> Result<(ScalarBuffer<W>, Validity), Unread> {
        let mut raw = [0; 16];
        raw[..base_bytes].copy_from_slice(&self.bytes(base_bytes, "a base is missing")?);
        // A base of 64 bits is cut to narrower types; one of 128 bits is put together of two halves.
        let halves = u128::from_le_bytes(raw);
        let base = match base_bytes {
            16 => wide_from_halves::<W>(halves),
            _ => W::from_code(halves as u64),
        };
        let validity = self.validity()?;
        let codes = self.bytes(self.rows.saturating_mul(self.width), "codes are missing")?;
        // There is a code a row, so what is taken is in proportion to what is there.
        let mut out: Vec<W> = Vec::with_capacity(if self.width == 0 { 0 } else { self.rows });
        match self.width {
            1 => widen::<u8, W>(&codes, base, &mut out),
            2 => widen::<u16, W>(&codes, base, &mut out),
            4 => widen::<u32, W>(&codes, base, &mut out),
            8 => widen::<u64, W>(&codes, base, &mut out),
            _ => return Err(wrong("codes have no such width")),
        }
        Ok((out.into(), validity))
    }
    fn raw(mut self) -> Result<Vector, Unread> {
        let validity = self.validity()?;
        let aligned = self.at.next_multiple_of(self.width.max(8));
        self.bytes(aligned - self.at, "numbers are missing")?;
        let bytes = self.bytes(self.rows * self.width, "numbers are missing")?;
        let data = match self.ty.physical() {
            Physical::I16 => Data::I16(shared(bytes)),
            Physical::I32 => Data::I32(shared(bytes)),
            Physical::I64 => Data::I64(shared(bytes)),
            Physical::I128 => Data::I128(shared(bytes)),
            Physical::F32 => Data::F32(shared(bytes)),
            Physical::F64 => Data::F64(shared(bytes)),
            Physical::Bool | Physical::Bytes => return Err(wrong("only numbers are raw")),
        };
        Ok(Vector::new(self.ty, data, validity))
    }
    fn strings(mut self) -> Result<Vector, Unread> {
        let head = self.bytes(8, "sizes are missing")?;
        let (least, total) = (u32_at(&head, 0) as usize, u32_at(&head, 4) as usize);
        let validity = self.validity()?;
        let sizes = self.bytes(self.rows.saturating_mul(self.width), "sizes are missing")?;
        let bytes = self.bytes(total, "strings are missing")?;
        if total == 0 && self.width == 0 && least == 0 {
            // Nothing but empty strings: a column that has no bytes takes none. A nested value is never empty.
            let valid = self.rows - validity.as_ref().map_or(0, NullBuffer::null_count);
            if self.ty.is_nested() && valid > 0 {
                return Err(wrong("a nested value is empty"));
            }
            return Ok(repeated(self.ty, Value::Bytes([].into()), self.rows, validity));
        }
        let strings = strings::read(self.ty, self.rows, least, self.width, &sizes, bytes)
            .ok_or_else(|| wrong("sizes and bytes of strings do not agree, or a text is no UTF-8"))?;
        if self.ty.is_nested() {
            let valid = |row: usize| validity.as_ref().is_none_or(|v| v.is_valid(row));
            if !(0..self.rows).all(|row| !valid(row) || sound(self.ty, strings.get(row))) {
                return Err(wrong("a nested value is not one of its type"));
            }
        }
        Ok(Vector::new(self.ty, Data::Bytes(strings), validity))
    }
    fn dictionary(mut self, known: Known<'_>) -> Result<Vector, Unread> {
        let number = u32_at(&self.bytes(8, "a dictionary's number is missing")?, 0);
        let validity = self.validity()?;
        let places = self.bytes(self.rows.saturating_mul(self.width), "codes are missing")?;
        let values = known(number).ok_or(Unread::Dictionary(number))?;
        if values.ty() != self.ty || values.is_empty() {
            return Err(wrong("a dictionary is of another type, or empty"));
        }
        let mut out: Vec<i32> = Vec::new();
        if matches!(self.width, 1 | 2) {
            out.reserve(self.rows);
        }
        let codes: ScalarBuffer<u32> = match self.width {
            // The only value there is.
            0 if values.len() == 1 => {
                return Ok(repeated(self.ty, values.value(0), self.rows, validity));
            }
            1 => {
                widen::<u8, i32>(&places, 0, &mut out);
                shared(Buffer::from_vec(out))
            }
            2 => {
                widen::<u16, i32>(&places, 0, &mut out);
                shared(Buffer::from_vec(out))
            }
            4 => shared(places),
            _ => return Err(wrong("codes have no such width")),
        };
        if simd::bounds(&codes).is_some_and(|(_, last)| last as usize >= values.len()) {
            return Err(wrong("a code lies outside of its dictionary"));
        }
        Ok(Vector::dictionary(codes, values, validity))
    }
}

/// A 128-bit base for `W` of that width; the low half for narrower ones.
fn wide_from_halves<W: Wide>(halves: u128) -> W {
    let shift = W::from_code(1 << 32);
    let high = W::from_code((halves >> 64) as u64).multiply(shift).multiply(shift);
    high.add(W::from_code(halves as u64))
}

/// Appends `base + code` for all codes.
fn widen<C: Code, W: Wide>(codes: &[u8], base: W, out: &mut Vec<W>) {
    match simd::typed::<C>(codes) {
        Some(codes) => simd::widen(codes, base, W::from_code(1), out),
        // Foreign memory that is not aligned.
        None => out.extend(codes.chunks_exact(size_of::<C>()).map(|chunk| {
            let mut raw = [0; 8];
            raw[..chunk.len()].copy_from_slice(chunk);
            base.add(W::from_code(u64::from_le_bytes(raw)))
        })),
    }
}

/// Bytes as numbers: shared if they are aligned, copied if not.
fn shared<T: Plain + ArrowNativeType>(bytes: Buffer) -> ScalarBuffer<T> {
    let count = bytes.len() / size_of::<T>();
    if simd::typed::<T>(&bytes).is_some() {
        return ScalarBuffer::new(bytes, 0, count);
    }
    // Buffers of our own are aligned for every number.
    ScalarBuffer::new(Buffer::from_slice_ref(bytes.as_slice()), 0, count)
}

/// Whether the bytes are a value of the type, as far as bytes can show it: texts are UTF-8, nested values are whole.
pub(crate) fn sound(ty: Type, bytes: &[u8]) -> bool {
    if ty.is_nested() {
        return encoding::skip(ty, bytes, 0) == Some(bytes.len()) && texts_are_utf8(ty, bytes);
    }
    !ty.is_text() || std::str::from_utf8(bytes).is_ok()
}

/// Whether all texts within a payload are UTF-8. The payload is whole (`encoding::skip`), so the walk is as deep as the type.
fn texts_are_utf8(ty: Type, payload: &[u8]) -> bool {
    if !ty.holds(&Type::is_text) {
        return true;
    }
    let slot = |ty: Type, slot: Option<&[u8]>| slot.is_none_or(|payload| texts_are_utf8(ty, payload));
    match ty {
        Type::List(_) => {
            ty.element().is_some_and(|e| encoding::elements(ty, payload).all(|payload| slot(e, payload)))
        }
        Type::Map(_) => {
            let Some((key, value)) = ty.entry() else { return false };
            let mut of = [key, value].into_iter().cycle();
            encoding::entries(ty, payload).all(|payload| of.next().is_some_and(|ty| slot(ty, payload)))
        }
        Type::Struct(_) => {
            let fields = ty.fields().unwrap_or_default();
            fields.iter().zip(encoding::fields(ty, payload)).all(|((_, ty), payload)| slot(*ty, payload))
        }
        Type::Union(_) => types::nested::union::member_of(ty, payload).is_none_or(|(tag, _, payload)| {
            let member = ty.members().unwrap_or_default().get(tag);
            member.is_some_and(|(_, ty)| slot(*ty, payload))
        }),
        _ => encoding::with_text(payload, |text| std::str::from_utf8(text).is_ok()),
    }
}

/// Reads a dictionary's message: its number, its column and its values, which are flat strings without NULL.
pub(crate) fn read_dictionary(types: &[Type], body: &Buffer) -> Result<(u32, Vector), Unread> {
    let mut rest: &[u8] = body;
    let head = take(&mut rest, 16, "a dictionary ends early")?;
    let (number, column) = (u32_at(head, 0), u32_at(head, 4) as usize);
    let ty = *types.get(column).ok_or_else(|| wrong("a dictionary is of no column"))?;
    let parcels = read(&[ty], &body.slice(16), &|_| None)?;
    let [batch] = parcels.as_slice() else {
        return Err(wrong("a dictionary has one parcel"));
    };
    match batch.columns.as_slice() {
        [values] if !values.has_nulls() && !values.is_empty() => match values.flatten().data() {
            // A copy: a dictionary stays for as long as its exchange, and must not keep a message.
            Data::Bytes(strings) => {
                let values = Vector::new(ty, Data::Bytes(strings.compact()), None);
                Ok((number, values))
            }
            _ => Err(wrong("a dictionary has strings")),
        },
        _ => Err(wrong("a dictionary has strings and no NULL")),
    }
}
