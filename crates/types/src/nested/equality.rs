//! The bytes by which values are equal, where these are not the bytes that hold them.
//!
//! Intervals of one length are equal and may differ in their parts (`types::interval`): a month equals 30 days. So do
//! lists, structs and maps of them. `Equality` puts the least of the equal ones in the place of each interval; values of
//! all other types are equal where their bytes are, and are passed on as they lie.
//!
//! Texts with a collation are equal where their keys are (`collation`). Their key stands in place of the text; it need be no
//! text itself. Nested values hold no such texts.

use std::borrow::Cow;

use super::encoding::{self, END, elements, entries, fields, push_raw};
use crate::interval::Interval;
use crate::{Type, Value};

/// Whether equal values of the type may differ in their bytes: intervals, what holds some, and texts with a collation.
pub fn has_own_equality(ty: Type) -> bool {
    match ty {
        Type::Interval => true,
        Type::Collated(collation) => !collation.is_binary(),
        Type::List(_) => ty.element().is_some_and(has_own_equality),
        Type::Map(_) => {
            ty.entry().is_some_and(|(key, value)| has_own_equality(key) || has_own_equality(value))
        }
        Type::Struct(_) => ty.fields().is_some_and(|of| of.iter().any(|(_, ty)| has_own_equality(*ty))),
        Type::Union(_) => ty.members().is_some_and(|of| of.iter().any(|(_, ty)| has_own_equality(*ty))),
        _ => false,
    }
}

/// How values of a type are told apart.
#[derive(Clone, Copy, Debug)]
pub struct Equality(Option<Type>);

impl Equality {
    /// The equality of a type.
    pub fn of(ty: Type) -> Equality {
        Equality(has_own_equality(ty).then_some(ty))
    }
    /// Whether equal values have equal bytes.
    pub fn is_of_bytes(self) -> bool {
        self.0.is_none()
    }
    /// The payload of the value that stands for all that equal this one.
    pub fn bytes(self, payload: &[u8]) -> Cow<'_, [u8]> {
        match self.0 {
            None => Cow::Borrowed(payload),
            Some(ty) => {
                let mut out = Vec::with_capacity(payload.len());
                push(ty, payload, &mut out);
                Cow::Owned(out)
            }
        }
    }
    /// As `bytes`, of a slot, where `None` is NULL.
    pub fn slot(self, payload: Option<&[u8]>) -> Option<Cow<'_, [u8]>> {
        payload.map(|payload| self.bytes(payload))
    }
    /// The value that stands for all that equal this one.
    pub fn value(self, value: Value) -> Value {
        match (self.0, &value) {
            (Some(Type::Interval), Value::I128(packed)) => Value::I128(Interval::least_equal(*packed)),
            (Some(_), Value::Bytes(payload)) => Value::Bytes(self.bytes(payload).as_ref().into()),
            _ => value,
        }
    }
}

fn push_slot(ty: Type, slot: Option<&[u8]>, out: &mut Vec<u8>) {
    match slot {
        None => out.push(encoding::NULL),
        Some(payload) => {
            out.push(encoding::VALUE);
            push(ty, payload, out);
        }
    }
}

/// Appends a payload with intervals replaced.
fn push(ty: Type, payload: &[u8], out: &mut Vec<u8>) {
    match ty {
        Type::Interval => {
            let packed = encoding::value_of(payload, ty).as_i128().unwrap_or_default();
            out.extend_from_slice(&encoding::sortable_i128(Interval::least_equal(packed)));
        }
        Type::List(_) => {
            let element = ty.element().unwrap_or(Type::Null);
            elements(ty, payload).for_each(|slot| push_slot(element, slot, out));
            out.push(END);
        }
        Type::Map(_) => {
            let (key, value) = ty.entry().unwrap_or((Type::Null, Type::Null));
            let types = [key, value].into_iter().cycle();
            entries(ty, payload).zip(types).for_each(|(slot, ty)| push_slot(ty, slot, out));
            out.push(END);
        }
        Type::Struct(_) => {
            let types = ty.fields().unwrap_or_default();
            fields(ty, payload).into_iter().zip(types).for_each(|(slot, (_, ty))| push_slot(*ty, slot, out));
        }
        Type::Union(_) => {
            let Some((tag, rest)) = payload.split_first() else { return };
            let member = ty.members().and_then(|of| of.get(usize::from(*tag)));
            out.push(*tag);
            match (member, rest.split_first()) {
                (Some((_, ty)), Some((&encoding::VALUE, payload))) => push_slot(*ty, Some(payload), out),
                _ => push_raw(None, out),
            }
        }
        Type::Collated(collation) => match std::str::from_utf8(payload) {
            Ok(text) => out.extend_from_slice(&collation.key(text)),
            Err(_) => out.extend_from_slice(payload),
        },
        _ => out.extend_from_slice(payload),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_month_equals_thirty_days_at_any_depth() {
        let value = |months, days| Interval::new(months, days, 0).value().unwrap();
        let list = Type::list(Type::Interval).unwrap();
        let row = Type::structure(vec![("a".into(), Type::Text), ("b".into(), list)]).unwrap();
        let of = |interval: &Value| {
            let inner = encoding::list_of([interval, &Value::Null], Type::Interval);
            encoding::struct_of(&[Value::text("x\0y"), inner], row).unwrap()
        };
        let equality = Equality::of(row);
        let [month, days, more] = [value(1, 0), value(0, 30), value(0, 31)].map(|interval| of(&interval));
        assert_ne!(month, days);
        assert_eq!(equality.value(month.clone()), equality.value(days));
        assert!(equality.value(month) < equality.value(more));
        assert!(Equality::of(Type::list(Type::Text).unwrap()).is_of_bytes());
    }
}
