//! CAST, `::` and AT TIME ZONE.
//!
//! A written cast differs from the casts that typing adds (`coerce`): CHAR(n) and VARCHAR(n) cut the text, and more
//! pairs of types are allowed (`castable`). With `lenient` (TRY_CAST) a value that does not fit becomes NULL. Limits
//! that types do not keep, such as the digits of TIMESTAMP(3), are applied to the value. Called by
//! `bind::expression`; `retype`, `intervals` and `composed` use `explicit_cast`.

use plan::{Expr, ExprKind, Function, functions};
use syntax::Span;
use syntax::tree::{self, Expr as Ast};
use types::{Comparison, Error, Result, SqlState, Type, Value, Zone};

use crate::bind::expression::coerce::{self, Bound};
use crate::bind::expression::{ExprBinder, fold, literal, zones};
use crate::data_type::{self, Limit};
use crate::place::{self, Placed};

impl<'a> ExprBinder<'_, 'a> {
    /// CAST and `::`.
    pub(crate) fn cast(&mut self, bound: Bound, name: &tree::TypeName, lenient: bool) -> Result<Bound> {
        let span = bound.span;
        if let Some(restricted) = self.cast_to_fields(&bound, name, lenient)? {
            return Ok(restricted);
        }
        if data_type::is_jsonpath(name) && !lenient {
            return self.cast_to_path(bound).placed(self.text(), span);
        }
        let (plain, limit) = data_type::limited(name);
        let (text, relations) = (self.text(), self.binder.relations);
        let ty = data_type::column_type(text, &plain, relations).placed(text, span)?;
        self.cast_to(bound, ty, limit, lenient)
    }

    /// A cast to a type and a limit that the type does not keep.
    pub(crate) fn cast_to(
        &mut self,
        mut bound: Bound,
        ty: Type,
        limit: Option<Limit>,
        lenient: bool,
    ) -> Result<Bound> {
        let span = bound.span;
        // Where TRY would give NULL for it, a quoted literal is a text like another.
        bound.untyped &= !self.trying;
        if ty.is_reg() && bound.ty() != ty {
            return self.reg_cast(bound, ty);
        }
        let cast = explicit_cast(bound, ty, lenient).placed(self.text(), span)?;
        let kept = match limit {
            Some(Limit::Digits(digits)) => to_digits(cast, digits).placed(self.text(), span)?,
            Some(Limit::Length(length)) => of_length(cast, length, lenient),
            None => cast,
        };
        Ok(Bound::typed(kept, span))
    }

    /// AT TIME ZONE: what the clock of a zone shows at an instant, or the instant at which it shows a reading.
    pub(crate) fn at_time_zone(&mut self, timestamp: &'a Ast, zone: &'a Ast) -> Result<Bound> {
        let moment = self.bind(timestamp)?;
        let zone = self.bind(zone)?;
        let span = moment.span.to(zone.span);
        self.in_zone(zone, moment, "AT TIME ZONE", span)
    }

    /// `timezone(zone, moment)` and AT TIME ZONE; a date or a quoted moment is an instant of
    /// the session's zone, as in PostgreSQL.
    pub(crate) fn in_zone(&mut self, zone: Bound, moment: Bound, what: &str, span: Span) -> Result<Bound> {
        let text = self.text();
        let zone = zone_of_interval(zone).map_err(|e| place::at(e, text, span))?;
        if !(zone.untyped || zone.is_null() || zone.ty().is_text()) {
            let message = format!("{what} takes the name of a zone as text, not {}", zone.ty());
            let error = Error::new(SqlState::DatatypeMismatch, message)
                .with_hint("zones are written as 'Europe/Berlin', 'UTC' or '+05:30'");
            return Err(place::at(error, text, zone.span));
        }
        // A constant that is no zone is told at once, with its place.
        if let Some(name) = zone.expr.as_literal().and_then(Value::as_text) {
            Zone::named(name).placed(text, zone.span)?;
        }
        let place_of_moment = moment.span;
        if moment.ty() == Type::TimeTz {
            let arguments = vec![coerce::cast(zone.expr, Type::Text), moment.expr];
            let kind = ExprKind::Library { name: "timezone".into(), arguments };
            return Ok(Bound::typed(Expr::new(kind, Type::TimeTz), span));
        }
        let wanted = match moment.ty() {
            Type::Timestamp => Type::Timestamp,
            _ => Type::TimestampTz,
        };
        let given = moment.ty();
        let Some(moment) = coerce::implicit(moment, wanted, text)? else {
            let message = format!("{what} takes a TIMESTAMP or TIMESTAMPTZ, not {given}");
            let error = Error::new(SqlState::UndefinedFunction, message)
                .with_hint("an explicit cast to TIMESTAMP or TIMESTAMPTZ may help");
            return Err(place::at(error, text, place_of_moment));
        };
        let zone = coerce::cast(zone.expr, Type::Text);
        Ok(Bound::typed(zones::at_zone(zone, moment), span))
    }
}

/// A zone that is given as its distance from Greenwich, `INTERVAL '2 hours'`, by its name; others unchanged.
fn zone_of_interval(zone: Bound) -> Result<Bound> {
    let Some(value) = zone.expr.as_literal().filter(|value| zone.ty().is_interval() && !value.is_null())
    else {
        return Ok(zone);
    };
    let distance = types::interval::Interval::of_kind(value, zone.ty())?;
    if distance.months != 0 || distance.days != 0 {
        let message = format!("interval time zone \"{distance}\" must not include months or days");
        return Err(Error::new(SqlState::InvalidParameterValue, message));
    }
    let seconds = i32::try_from(distance.micros / 1_000_000).ok().filter(|s| s.abs() < 24 * 3600);
    let seconds = seconds.ok_or_else(|| {
        Error::new(SqlState::InvalidParameterValue, "a time zone is less than a day from Greenwich")
    })?;
    Ok(Bound::typed(zones::constant(types::Zone::Fixed(seconds)), zone.span))
}

/// A moment, time or interval rounded to so many digits of a second.
pub(crate) fn to_digits(value: Expr, digits: u64) -> Result<Expr> {
    let ty = value.ty;
    if let Some(known) = value.as_literal() {
        let rounded = types::datetime::rounded(known, ty, digits)?;
        return Ok(Expr::literal(rounded, ty));
    }
    let digits = Expr::literal(Value::I64(digits as i64), Type::BigInt);
    let kind = ExprKind::Library { name: functions::SECOND_DIGITS.into(), arguments: vec![value, digits] };
    Ok(Expr::new(kind, ty))
}

/// A list that has so many elements, else an error, or NULL where the cast is `lenient`.
fn of_length(list: Expr, length: u64, lenient: bool) -> Expr {
    let ty = list.ty;
    let name = if lenient { functions::TRY_LIST_OF_LENGTH } else { functions::LIST_OF_LENGTH };
    let length = Expr::literal(Value::I64(i64::try_from(length).unwrap_or(i64::MAX)), Type::BigInt);
    Expr::new(ExprKind::Library { name: name.into(), arguments: vec![list, length] }, ty)
}

/// A cast that the text asks for. CHAR(n) and VARCHAR(n) cut the text; the plan's own cast checks it.
pub(crate) fn explicit_cast(bound: Bound, ty: Type, lenient: bool) -> Result<Expr> {
    if bound.untyped && bound.expr.as_parameter().is_some() && !lenient && (!ty.is_text() || ty.is_json()) {
        return Ok(Expr { ty, ..bound.expr });
    }
    let from = bound.ty();
    if from == Type::Null {
        return Ok(crate::bind::null_of(ty));
    }
    if let Type::Char(n) | Type::Varchar(n) = ty {
        let text = coerce::cast(bound.expr, Type::Text);
        if let Some(value) = text.as_literal() {
            if value.is_null() {
                return Ok(crate::bind::null_of(ty));
            }
            let cut = types::cast::truncate_text(value.as_text().unwrap_or_default(), ty);
            return Ok(Expr::literal(Value::text(cut), ty));
        }
        if from == ty || matches!((from, ty), (Type::Varchar(m), Type::Varchar(n)) if m <= n) {
            return Ok(text.cast(ty));
        }
        let length = i64::from(n);
        let arguments = vec![text, literal::integer(1), literal::integer(length)];
        let cut = Expr::new(ExprKind::Function { function: Function::Substring, arguments }, Type::Text);
        return Ok(cut.cast(ty));
    }
    if !lenient && let Some(bits) = crate::bind::function::bits::explicit(&bound.expr, ty)? {
        return Ok(bits);
    }
    // Truth is 1 or 0, and every number but 0 is true.
    if from == Type::Boolean && is_fractional(ty) {
        return Ok(fold::fold(coerce::cast(coerce::cast(bound.expr, Type::Integer), ty)));
    }
    if is_fractional(from) && ty == Type::Boolean {
        let zero = coerce::cast(literal::integer(0), from);
        return Ok(fold::fold(Expr::compare(Comparison::NotEqual, bound.expr, zero)));
    }
    if let (Some(word), true) = (bound.expr.as_literal().and_then(Value::as_text), from.is_text())
        && let Some(moment) = crate::moment::value_of(word, ty)
    {
        return Ok(Expr::literal(moment, ty));
    }
    if let (Some(value), false) = (bound.expr.as_literal(), lenient) {
        match types::cast::cast_value(value, from, ty) {
            Ok(value) => return Ok(Expr::literal(value, ty)),
            // What a quoted literal says is checked at once, the rest when it is evaluated.
            Err(error) if bound.untyped => return Err(error),
            // No such cast: said below. What the value does not allow is said when it is evaluated.
            Err(_) => {}
        }
    }
    if !castable(from, ty) {
        return Err(Error::new(SqlState::CannotCoerce, format!("cannot cast type {from} to {ty}")));
    }
    if from == ty {
        return Ok(bound.expr);
    }
    if let Some(zoned) = zones::cast(&bound.expr, ty, lenient) {
        return Ok(zoned);
    }
    let kind = ExprKind::Cast { input: Box::new(bound.expr), lenient };
    Ok(fold::fold(Expr::new(kind, ty)))
}

/// Whether numbers of the type may have digits behind the point.
fn is_fractional(ty: Type) -> bool {
    ty.is_decimal() || matches!(ty, Type::Real | Type::Double)
}

/// Whether there is a cast at all.
fn castable(from: Type, to: Type) -> bool {
    types::nested::castable(from, to, types::nested::Casts::Explicit, &castable_plain)
}

fn castable_plain(from: Type, to: Type) -> bool {
    use Type as T;
    coerce::assignable(from, to)
        || (from.is_text() && !matches!(to, T::Union(_)))
        || matches!((from, to), (T::Date, T::Timestamp | T::TimestampTz) | (T::Enum(_), T::Enum(_)))
        || (from.is_text() && types::nested::union::member_for(from, to).is_some())
        || (from.is_bits() && to.is_integer())
        || (from.is_integer() && matches!(to, T::Bit(_)))
        || ((from.is_wide_integer() || to.is_wide_integer()) && types::wide::is_castable(from, to))
        || matches!((from, to), (T::Uuid, T::Bytea) | (T::Bytea, T::Uuid) | (T::TimestampNs, T::TimeNs))
        || (matches!(from, T::Enum(_)) && (to.is_numeric() || to.is_wide_integer()))
        || (from == T::Boolean && to.is_integer())
        || (from.is_integer() && to == T::Boolean)
        || (from.is_reg() && to.is_integer())
}
