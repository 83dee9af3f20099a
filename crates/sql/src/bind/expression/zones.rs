//! What depends on the session's time zone: casts between instants and what a clock shows, arithmetic with days, and
//! functions that look at days. Each names the zone in the plan, so that an instant means the same wherever and
//! whenever it is evaluated. In UTC the two are the same numbers and everything stays as it is, fast paths included.

use plan::functions::{ADD_IN_ZONE, CAST_IN_ZONE, TRY_CAST_IN_ZONE};
use plan::{Arithmetic, Expr, ExprKind};
use types::datetime::MICROS_PER_DAY;
use types::{Result, Type, Value, Zone, zone};

/// The session's zone as a constant of the plan; `None` in UTC.
pub(crate) fn session() -> Option<Expr> {
    match zone::current() {
        Zone::Utc => None,
        zone => Some(constant(zone)),
    }
}

/// A zone as a literal, for kernels that take one.
pub(crate) fn constant(zone: Zone) -> Expr {
    Expr::literal(Value::text(&zone.name()), Type::Text)
}

fn call(name: &str, arguments: Vec<Expr>, ty: Type) -> Expr {
    Expr::new(ExprKind::Library { name: name.into(), arguments }, ty)
}

/// `timezone(zone, moment)`: from an instant to the clock's reading and back; constants are computed.
pub(crate) fn at_zone(zone: Expr, moment: Expr) -> Expr {
    let to = if moment.ty == Type::TimestampTz { Type::Timestamp } else { Type::TimestampTz };
    let known = (zone.as_literal().and_then(Value::as_text).and_then(Zone::parse), moment.as_literal());
    if let (Some(zone), Some(value)) = known {
        let turned = value.as_i64().map(|micros| match to {
            Type::Timestamp => zone.local(micros),
            _ => zone.instant(micros),
        });
        match turned {
            None => return Expr::literal(Value::Null, to),
            Some(Some(micros)) => return Expr::literal(Value::I64(micros), to),
            // What is out of range fails when it is evaluated.
            Some(None) => {}
        }
    }
    call("timezone", vec![zone, moment], to)
}

/// What a clock in the session's zone shows, where that is not UTC; other values as they are.
pub(crate) fn on_the_clock(expr: Expr) -> Expr {
    match session() {
        Some(zone) if expr.ty == Type::TimestampTz => at_zone(zone, expr),
        _ => expr,
    }
}

fn holds_instants(ty: Type) -> bool {
    matches!(ty, Type::TimestampTz | Type::TimestampTzNs)
        || ty.element().is_some_and(holds_instants)
        || ty.entry().is_some_and(|(key, value)| holds_instants(key) || holds_instants(value))
        || ty.fields().or(ty.members()).is_some_and(|parts| parts.iter().any(|(_, ty)| holds_instants(*ty)))
}

/// The value with its instants, nested ones too, as the texts that they are in the session's zone: for functions that
/// write values out and know no zone.
pub(crate) fn written(expr: Expr) -> Result<Expr> {
    if session().is_none() || !holds_instants(expr.ty) {
        return Ok(expr);
    }
    let to = in_texts(expr.ty)?;
    Ok(cast(&expr, to, false).unwrap_or(expr))
}

fn in_texts(ty: Type) -> Result<Type> {
    if !holds_instants(ty) {
        return Ok(ty);
    }
    if let Some(element) = ty.element() {
        return Type::list(in_texts(element)?);
    }
    if let Some((key, value)) = ty.entry() {
        return Type::map(in_texts(key)?, in_texts(value)?);
    }
    if let Some(members) = ty.members() {
        let named = |(name, ty): &(_, Type)| Ok((String::clone(name), in_texts(*ty)?));
        return Type::union(members.iter().map(named).collect::<Result<_>>()?);
    }
    match ty.fields() {
        Some(fields) => {
            let named = |(name, ty): &(_, Type)| Ok((String::clone(name), in_texts(*ty)?));
            Type::structure(fields.iter().map(named).collect::<Result<_>>()?)
        }
        None => Ok(Type::Text),
    }
}

/// The cast, if the session's zone decides what it gives.
pub(crate) fn cast(expr: &Expr, to: Type, lenient: bool) -> Option<Expr> {
    let from = expr.ty;
    let of_clock = to == Type::TimeTz;
    if from == to || from == Type::Null || !(holds_instants(from) || holds_instants(to) || of_clock) {
        return None;
    }
    let zone = session()?;
    let expr = expr.clone();
    Some(match (from, to) {
        (Type::TimestampTz, Type::Timestamp) | (Type::Timestamp, Type::TimestampTz) => at_zone(zone, expr),
        (Type::TimestampTz, Type::Date | Type::Time) => at_zone(zone, expr).cast(to),
        (Type::Date, Type::TimestampTz) => at_zone(zone, expr.cast(Type::Timestamp)),
        _ => {
            let name = if lenient { TRY_CAST_IN_ZONE } else { CAST_IN_ZONE };
            call(name, vec![zone, expr], to)
        }
    })
}

/// `instant + interval`, where the zone decides: days and months keep the clock's reading, hours are exact.
pub(crate) fn moved(op: Arithmetic, instant: &Expr, interval: &Expr) -> Option<Expr> {
    if instant.ty != Type::TimestampTz || is_exact(interval) {
        return None;
    }
    let zone = session()?;
    let interval = match op {
        Arithmetic::Subtract => crate::bind::expression::fold::fold(Expr::new(
            ExprKind::Negate(Box::new(interval.clone())),
            interval.ty,
        )),
        _ => interval.clone(),
    };
    Some(call(ADD_IN_ZONE, vec![zone, instant.clone(), interval], Type::TimestampTz))
}

/// Whether an interval is made of hours or less, as far as its expression tells.
fn is_exact(interval: &Expr) -> bool {
    match &interval.kind {
        ExprKind::Literal(value) if interval.ty == Type::IntervalDayTime => {
            value.as_i64().is_some_and(|micros| micros.abs() < MICROS_PER_DAY)
        }
        ExprKind::Library { name, .. } => {
            ["to_hours", "to_minutes", "to_seconds", "to_milliseconds", "to_microseconds"].contains(&&**name)
        }
        ExprKind::Negate(inner) => is_exact(inner),
        ExprKind::Arithmetic { op: Arithmetic::Multiply, left, right, .. } => {
            [left, right].iter().any(|side| side.ty.is_interval() && is_exact(side))
        }
        _ => false,
    }
}
