//! Values against their types, and the predicates that are made of values.
//!
//! A list that is said to be sorted is, and a value has the physical form of its type. Called by `validate` for
//! constants, by `file` for options, by `expr` for literals.

use types::nested::encoding::{elements, entries, field, skip, slot_value};
use types::nested::union::member_of;
use types::{Bound, ColumnPredicate, PredicateTree, Result, Type, Value, interval, json, jsonb};

use super::{ensure, invalid};
use crate::Pruning;

/// Microseconds of a day.
const DAY: i64 = types::datetime::MICROS_PER_DAY;

/// Whether the value is NULL or one of the type.
pub(super) fn fits(value: &Value, ty: Type) -> Result<()> {
    ensure(is_of(value, ty), || format!("a value that is no {ty}"))
}

fn is_of(value: &Value, ty: Type) -> bool {
    let Some(physical) = value.physical() else { return true };
    if ty == Type::Null || physical != ty.physical() {
        return false;
    }
    let bytes = value.as_bytes().unwrap_or_default();
    let number = value.as_i128();
    match ty {
        Type::Json => value.as_text().is_some_and(json::is_valid),
        Type::Jsonb => value
            .as_text()
            .is_some_and(|text| jsonb::canonical(text).is_ok_and(|canonical| canonical == *value)),
        Type::Char(_) | Type::Varchar(_) | Type::Text | Type::Collated(_) => value.as_text().is_some(),
        Type::Bit(_) | Type::VarBit(_) => bytes.iter().all(|digit| matches!(digit, b'0' | b'1')),
        Type::Decimal { .. } => true,
        Type::Enum(_) => {
            let labels = ty.labels().map_or(0, <[String]>::len);
            value.as_i64().and_then(|at| usize::try_from(at).ok()).is_some_and(|at| at < labels)
        }
        Type::UHugeInt => {
            types::wide::checked(bytes).is_some_and(|number| types::wide::value_of(&number, ty).is_ok())
        }
        Type::BigNum => types::wide::checked(bytes).is_some(),
        Type::TimeNs => value.as_i64().is_some_and(types::time_ns::is_time),
        Type::Time => value.as_i64().is_some_and(|at| (0..=DAY).contains(&at)),
        Type::Interval => {
            let packed = number.map(|packed| (packed, interval::Interval::of_packed(packed)));
            packed.is_some_and(|(packed, interval)| interval.packed() == Some(packed))
        }
        Type::List(_) | Type::Struct(_) | Type::Map(_) | Type::Union(_) => is_nested_of(bytes, ty),
        _ if ty.is_integer() => {
            let range = ty.integer_range();
            number.zip(range).is_some_and(|(number, (low, high))| (low..=high).contains(&number))
        }
        _ => true,
    }
}

/// Whether the bytes are the encoding of a nested value, all of them. It recurses with the type, whose depth is bounded.
fn is_nested_of(bytes: &[u8], ty: Type) -> bool {
    if skip(ty, bytes, 0) != Some(bytes.len()) {
        return false;
    }
    match ty {
        Type::List(_) => {
            let element = ty.element().unwrap_or(Type::Null);
            elements(ty, bytes).all(|slot| slot.is_none_or(|payload| is_payload_of(payload, element)))
        }
        Type::Map(_) => {
            let (key, value) = ty.entry().unwrap_or((Type::Null, Type::Null));
            let types = [key, value].into_iter().cycle();
            entries(ty, bytes)
                .zip(types)
                .all(|(slot, ty)| slot.is_none_or(|payload| is_payload_of(payload, ty)))
        }
        Type::Union(_) => member_of(ty, bytes)
            .is_some_and(|(_, member, slot)| slot.is_none_or(|payload| is_payload_of(payload, member))),
        _ => {
            let fields = ty.fields().unwrap_or_default();
            let slot = |at: usize| field(ty, bytes, at);
            fields
                .iter()
                .enumerate()
                .all(|(at, (_, ty))| slot(at).is_none_or(|payload| is_payload_of(payload, *ty)))
        }
    }
}

fn is_payload_of(payload: &[u8], ty: Type) -> bool {
    if ty.is_nested() {
        return is_nested_of(payload, ty);
    }
    let value = slot_value(Some(payload), ty);
    !value.is_null() && is_of(&value, ty)
}

/// Whether the value is NULL or held as values of the type are. What columns are compared with may lie beyond their
/// type: 300 beside a UTINYINT, or bytes behind a text's last letter.
pub(super) fn is_held_as(value: &Value, ty: Type) -> Result<()> {
    let held = value.physical().is_none_or(|physical| physical == ty.physical());
    ensure(held, || format!("a value that is not held as a {ty}"))
}

/// Values that are sorted, distinct, not NULL, and held as the type's are.
pub(super) fn list(values: &[Value], ty: Type) -> Result<()> {
    ensure(values.iter().all(|value| !value.is_null()), || "a NULL in a list without".to_owned())?;
    values.iter().try_for_each(|value| is_held_as(value, ty))?;
    ensure(values.is_sorted_by(|a, b| a.total_cmp(b).is_lt()), || {
        "a list that is not sorted, or has a value twice".to_owned()
    })
}

/// A predicate on a column of this type; on a column that is not there it is an error.
pub(super) fn predicate(predicate: &ColumnPredicate, ty: Option<Type>) -> Result<()> {
    let ty = ty.ok_or_else(|| invalid("a predicate on a column that is not fetched"))?;
    let single = |value: &Value| {
        ensure(!value.is_null(), || "a predicate with NULL".to_owned())?;
        is_held_as(value, ty)
    };
    match predicate {
        ColumnPredicate::Range { low, high } => {
            [low, high].into_iter().flatten().try_for_each(|Bound { value, .. }| single(value))
        }
        ColumnPredicate::NotEqual(value) => single(value),
        ColumnPredicate::In(values) | ColumnPredicate::NotIn(values) => list(values, ty),
        ColumnPredicate::Like { .. } => ensure(ty.is_text(), || format!("LIKE of {ty}")),
        ColumnPredicate::IsNull | ColumnPredicate::IsNotNull => Ok(()),
    }
}

/// A tree of predicates over columns with these types. What evaluates it recurses with it.
pub(super) fn tree(root: &PredicateTree, column: &dyn Fn(usize) -> Option<Type>) -> Result<()> {
    let mut open = vec![(root, 1)];
    while let Some((tree, depth)) = open.pop() {
        depth_fits(depth)?;
        match tree {
            PredicateTree::Leaf(at, condition) => predicate(condition, column(*at))?,
            PredicateTree::And(parts) | PredicateTree::Or(parts) => {
                open.extend(parts.iter().map(|part| (part, depth + 1)));
            }
        }
    }
    Ok(())
}

/// As `tree`.
pub(super) fn pruning(root: &Pruning, column: &dyn Fn(usize) -> Option<Type>) -> Result<()> {
    let mut open = vec![(root, 1)];
    while let Some((pruning, depth)) = open.pop() {
        depth_fits(depth)?;
        match pruning {
            Pruning::Column(at, condition) => predicate(condition, column(*at))?,
            Pruning::All(parts) | Pruning::Any(parts) => {
                open.extend(parts.iter().map(|part| (part, depth + 1)));
            }
        }
    }
    Ok(())
}

fn depth_fits(depth: usize) -> Result<()> {
    ensure(depth <= super::expr::DEPTH_MAX, || "conditions that are nested too deeply".to_owned())
}
