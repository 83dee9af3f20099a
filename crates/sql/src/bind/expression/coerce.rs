//! Types meeting types: which common type two operands take, and the casts that get them there.
//!
//! A quoted literal is `untyped` until its context gives it a type, as in PostgreSQL. Literals are always cast here,
//! never left with a CAST around them, and a comparison of a column with a literal keeps the column bare whenever the
//! literal has an exact counterpart in the column's type: scans, statistics and codes work on bare columns only.

use plan::{Expr, ExprKind, Function};
use syntax::Span;
use types::cast::cast_value;
use types::logical::DECIMAL_PRECISION_MAX;
use types::nested::Casts;
use types::stop::{Pace, Place};
use types::{Comparison, Error, Physical, Result, SqlState, Type, Value, decimal};

use crate::bind::expression::{wide, zones};
use crate::place;

/// An expression, and what its context still has to know about it.
#[derive(Clone, Debug)]
pub(crate) struct Bound {
    /// The expression, over column ids.
    pub expr: Expr,
    /// A quoted literal whose context decides its type; `expr` is a TEXT literal.
    pub untyped: bool,
    /// Where the expression stands in the statement, for errors.
    pub span: Span,
}

impl Bound {
    /// An expression whose type does not depend on its context.
    pub fn typed(expr: Expr, span: Span) -> Self {
        Bound { expr, untyped: false, span }
    }
    /// The type of the expression; TEXT for an untyped literal.
    pub fn ty(&self) -> Type {
        self.expr.ty
    }
    /// Whether the expression is a NULL without a type.
    pub fn is_null(&self) -> bool {
        self.expr.ty == Type::Null
    }
    /// No context gave the literal a type: it is TEXT.
    pub fn settled(self) -> Expr {
        self.expr
    }
}

/// The number of decimal digits of a value; 0 has none.
pub(crate) fn digits(value: i128) -> u8 {
    let magnitude = value.unsigned_abs();
    (0..=DECIMAL_PRECISION_MAX)
        .find(|p| magnitude < decimal::power_of_ten(*p).unsigned_abs())
        .unwrap_or(DECIMAL_PRECISION_MAX)
}

/// Precision and scale of an exact numeric type as a DECIMAL.
pub(crate) fn as_decimal(ty: Type) -> Option<(u8, u8)> {
    Some(match ty {
        Type::Decimal { precision, scale } => (precision, scale),
        ty => (ty.integer_digits()?, 0),
    })
}

/// As `as_decimal`, but literals need only the digits they have.
pub(crate) fn digits_needed(expr: &Expr) -> Option<(u8, u8)> {
    let (precision, scale) = as_decimal(expr.ty)?;
    match expr.as_literal().and_then(Value::as_i128) {
        Some(value) => Some((digits(value).max(scale).max(1), scale)),
        None => Some((precision, scale)),
    }
}

/// The DECIMAL that holds all values of both; integer digits win over nothing, 38 digits is the end.
fn wider_decimal(a: (u8, u8), b: (u8, u8)) -> Type {
    let scale = a.1.max(b.1);
    let whole = (a.0 - a.1).max(b.0 - b.1);
    Type::Decimal { precision: (whole + scale).clamp(1, DECIMAL_PRECISION_MAX), scale }
}

/// The type both are implicitly cast to in comparisons, CASE, COALESCE, VALUES and set operations.
pub(crate) fn common_type(a: Type, b: Type) -> Option<Type> {
    use Type as T;
    if a == b {
        return Some(a);
    }
    Some(match (a, b) {
        (T::Null, other) | (other, T::Null) => other,
        _ if a.is_integer() && b.is_integer() => a.common_integer(b)?,
        _ if a.is_wide_integer() || b.is_wide_integer() => wide::common(a, b)?,
        // Values of `regclass` and kin are compared by their OIDs.
        _ if a.is_reg() && (b.is_reg() || b.is_oid()) || a.is_oid() && b.is_reg() => T::OID,
        _ if a.is_reg() && b.is_integer() => T::OID.common_integer(b)?,
        _ if a.is_integer() && b.is_reg() => T::OID.common_integer(a)?,
        (T::Double, o) | (o, T::Double) if o.is_numeric() => T::Double,
        // PostgreSQL takes REAL with an exact number to DOUBLE PRECISION.
        (T::Real, o) | (o, T::Real) if o.is_numeric() => T::Double,
        _ if a.is_numeric() && b.is_numeric() => wider_decimal(as_decimal(a)?, as_decimal(b)?),
        (T::Char(n), T::Char(m)) => T::Char(n.max(m)),
        (T::Varchar(n), T::Varchar(m)) => T::Varchar(n.max(m)),
        (T::Collated(_), T::Collated(_)) => return None,
        // The text that has one decides for those that have none.
        (T::Collated(_), o) | (o, T::Collated(_)) if o.is_text() && !o.is_json() => {
            if matches!(a, T::Collated(_)) { a } else { b }
        }
        (T::Json, T::Jsonb) | (T::Jsonb, T::Json) => T::Jsonb,
        // What equals a value of it is decided by what it says, not by how that is written.
        (T::Jsonb, _) | (_, T::Jsonb) => return None,
        _ if a.is_text() && b.is_text() => T::Text,
        _ if a.is_interval() && b.is_interval() => T::Interval,
        _ if a.is_bits() && b.is_bits() => T::BITS,
        (T::Time, T::TimeTz) | (T::TimeTz, T::Time) => T::TimeTz,
        (T::Time, T::TimeNs) | (T::TimeNs, T::Time) => T::TimeNs,
        // What one type of labels has, another may lack: they meet as texts.
        (T::Enum(_), T::Enum(_)) => T::Text,
        (T::Enum(_), other) | (other, T::Enum(_)) if other.is_text() => T::Text,
        // The finer unit; a date is in every one of them.
        _ if a.timestamp_unit_nanos().is_some() && b.timestamp_unit_nanos().is_some() => {
            if a.timestamp_unit_nanos() < b.timestamp_unit_nanos() { a } else { b }
        }
        (T::Date, o) | (o, T::Date) if o.timestamp_unit_nanos().is_some() => o,
        (T::TimestampTz, T::TimestampTzNs) | (T::TimestampTzNs, T::TimestampTz) => T::TimestampTzNs,
        (T::TimestampS | T::TimestampMs, T::TimestampTz)
        | (T::TimestampTz, T::TimestampS | T::TimestampMs) => T::TimestampTz,
        (T::Date | T::Timestamp, T::TimestampTz) | (T::TimestampTz, T::Date | T::Timestamp) => T::TimestampTz,
        _ => return common_nested(a, b),
    })
}

/// The common type of lists, structs and maps: that of what is inside. Structs have the same fields, or one has none
/// that are named.
fn common_nested(a: Type, b: Type) -> Option<Type> {
    if matches!(a, Type::Union(_)) || matches!(b, Type::Union(_)) {
        return [(a, b), (b, a)].into_iter().find(|(from, to)| widens(*from, *to)).map(|(_, to)| to);
    }
    if let (Some(x), Some(y)) = (a.element(), b.element()) {
        return Type::list(common_type(x, y)?).ok();
    }
    if let (Some((a_key, a_value)), Some((b_key, b_value))) = (a.entry(), b.entry()) {
        return Type::map(common_type(a_key, b_key)?, common_type(a_value, b_value)?).ok();
    }
    let (x, y) = (a.fields()?, b.fields()?);
    let named = |fields: &[(String, Type)]| fields.iter().any(|(name, _)| !name.is_empty());
    let alike = x.len() == y.len()
        && (x.iter().zip(y).all(|((a, _), (b, _))| a.eq_ignore_ascii_case(b)) || !named(x) || !named(y));
    if !alike {
        return None;
    }
    let names = if named(x) { x } else { y };
    let fields = names
        .iter()
        .zip(x.iter().zip(y))
        .map(|((name, _), ((_, a), (_, b)))| Some((name.clone(), common_type(*a, *b)?)));
    Type::structure(fields.collect::<Option<Vec<_>>>()?).ok()
}

/// A cast that the text did not ask for. Literals are converted at once; where that fails, the cast stays, to fail
/// when and if it is evaluated.
pub(crate) fn cast(expr: Expr, to: Type) -> Expr {
    if expr.ty == to || (expr.ty.is_text() && to == Type::Text) {
        return expr;
    }
    match &expr.kind {
        ExprKind::Literal(value)
            if expr.ty.is_text()
                && let Some(moment) = value.as_text().and_then(|word| crate::moment::value_of(word, to)) =>
        {
            Expr::literal(moment, to)
        }
        ExprKind::Literal(value) => match cast_value(value, expr.ty, to) {
            Ok(value) => Expr::literal(value, to),
            Err(_) => plain_cast(expr, to),
        },
        _ => plain_cast(expr, to),
    }
}

/// The cast as a node, in the session's zone where that matters.
fn plain_cast(expr: Expr, to: Type) -> Expr {
    zones::cast(&expr, to, false).unwrap_or_else(|| expr.cast(to))
}

/// Gives an untyped literal the type `to`; an error names the literal's place.
pub(crate) fn read_literal(bound: &Bound, to: Type, text: &str) -> Result<Expr> {
    if bound.expr.as_parameter().is_some() {
        return Ok(Expr {
            ty: if to.is_text() && !to.is_json() { Type::Text } else { to },
            ..bound.expr.clone()
        });
    }
    let value = bound.expr.as_literal().cloned().unwrap_or(Value::Null);
    if to.is_text() && !to.is_json() {
        // The blanks of a CHAR never count; its length is not checked in comparisons.
        let kept = match (to, value.as_text()) {
            (Type::Char(_), Some(t)) => Value::text(t.trim_end_matches(' ')),
            _ => value,
        };
        return Ok(Expr::literal(kept, Type::Text));
    }
    if let (Type::Decimal { .. }, Some(number)) = (to, value.as_text())
        && let Some(literal) = crate::bind::expression::literal::decimal(number.trim())
    {
        return Ok(literal);
    }
    literal_value(&value, to).map(|v| Expr::literal(v, to)).map_err(|e| place::at(e, text, bound.span))
}

/// Coerces to `to` as a function argument or an operand is: untyped literals are read, NULL is typed, and types are
/// widened. `None` when there is no implicit cast.
pub(crate) fn implicit(bound: Bound, to: Type, text: &str) -> Result<Option<Expr>> {
    if bound.untyped && (!to.is_text() || to.is_json()) {
        return read_literal(&bound, to, text).map(|e| Some(cast(e, to)));
    }
    let from = bound.ty();
    if from == to || (from.is_text() && to.is_text() && !to.is_json()) {
        return Ok(Some(bound.expr));
    }
    if from == Type::Null {
        return Ok(Some(Expr::literal(Value::Null, to)));
    }
    Ok((widens(from, to)).then(|| cast(bound.expr, to)))
}

/// A timestamp of another unit as TIMESTAMP, and a TIME_NS as TIME, in whose unit operators and functions count; others unchanged.
pub(crate) fn in_microseconds(bound: Bound) -> Bound {
    match bound.ty() {
        Type::TimeNs => Bound { expr: cast(bound.expr.clone(), Type::Time), ..bound },
        ty if ty.is_timestamp_of_unit() => {
            Bound { expr: cast(bound.expr.clone(), ty.in_microseconds()), ..bound }
        }
        _ => bound,
    }
}

/// A value of an enum as its label, for operators of texts.
pub(crate) fn labels_as_text(bound: Bound) -> Bound {
    match bound.ty() {
        Type::Enum(_) => Bound { expr: cast(bound.expr, Type::Text), ..bound },
        _ => bound,
    }
}

/// PostgreSQL's implicit casts, those that lose nothing to speak of.
pub(crate) fn widens(from: Type, to: Type) -> bool {
    use Type as T;
    match (from, to) {
        _ if from == to => true,
        (_, T::Union(_)) => types::nested::castable(from, to, Casts::Implicit, &widens),
        _ if from.is_integer() && to.is_integer() => to.holds_integers_of(from),
        (T::UHugeInt, T::BigNum) => true,
        (_, T::UHugeInt) if from.is_integer() => matches!(from.integer_range(), Some((0.., _))),
        (_, T::BigNum) if from.is_integer() => true,
        _ if from.is_wide_integer() => to.is_float(),
        _ if from.is_integer() => to.is_float() || to.is_decimal(),
        _ if from.is_reg() => to.is_oid() || to == T::BigInt,
        (T::Decimal { .. }, T::Decimal { .. } | T::Real | T::Double) => true,
        (T::Real, T::Double) => true,
        (T::Date, T::Timestamp | T::TimestampTz) | (T::Timestamp, T::TimestampTz) => true,
        (T::Date, to) if to.timestamp_unit_nanos().is_some() => true,
        // Functions take every unit as microseconds.
        _ if from.is_timestamp_of_unit() => {
            to == from.in_microseconds()
                || to.timestamp_unit_nanos().is_some_and(|unit| Some(unit) < from.timestamp_unit_nanos())
        }
        (T::Timestamp, T::TimestampNs) | (T::TimestampTz, T::TimestampTzNs) => true,
        (T::IntervalYearMonth | T::IntervalDayTime, T::Interval) => true,
        _ if from.is_nested() && to.is_nested() => {
            types::nested::castable(from, to, Casts::Implicit, &widens)
        }
        (T::Jsonb, T::Json) | (T::Json, T::Jsonb) => true,
        (T::Time, T::TimeTz | T::TimeNs) | (T::TimeNs, T::Time) => true,
        _ if from.is_bits() => to == T::BITS,
        (T::Enum(_), to) => to.is_text() && !to.is_json(),
        // Text becomes JSON only where a cast says so: it is checked.
        _ => from.is_text() && to.is_text() && !to.is_json(),
    }
}

/// Casts that INSERT and COPY make on their own: the implicit ones, narrowing among numbers, and anything to text.
pub(crate) fn assignable(from: Type, to: Type) -> bool {
    use Type as T;
    widens(from, to)
        || from == T::Null
        || (from.is_numeric() && to.is_numeric())
        || (from.is_wide_integer() && (to.is_numeric() || to.is_wide_integer()))
        || (to.is_wide_integer() && from.is_numeric())
        || to.is_text()
        || (from.is_bits() && to.is_bits())
        // Files have none of these types, and hold them as texts.
        || (from.is_text() && (to.is_bits() || matches!(to, T::Enum(_) | T::TimeTz | T::TimeNs | T::HugeInt | T::UHugeInt | T::BigNum)))
        || (from.is_timestamp_of_unit() && assignable(from.in_microseconds(), to))
        || (to.is_timestamp_of_unit() && !from.is_text() && assignable(from, to.in_microseconds()))
        || (from.is_nested()
            && to.is_nested()
            && types::nested::castable(from, to, Casts::Implicit, &assignable))
        || matches!(
            (from, to),
            (T::Timestamp | T::TimestampTz, T::Date | T::Time | T::Timestamp)
                | (T::TimestampTz, T::TimeTz)
                | (T::Timestamp | T::TimestampTz, T::TimeNs)
                | (T::TimeTz, T::Time)
                | (T::Interval, T::IntervalYearMonth | T::IntervalDayTime)
                | (T::Interval | T::IntervalDayTime, T::Time)
                | (T::Time, T::Interval | T::IntervalDayTime)
        )
}

/// The value of an untyped literal that meets type `to`; `'today'` and its like are those of the statement.
fn literal_value(value: &Value, to: Type) -> Result<Value> {
    match value.as_text().and_then(|word| crate::moment::value_of(word, to)) {
        Some(moment) => Ok(moment),
        None => types::cast::literal_value(value, to),
    }
}

/// The value of a column of type `to`, as INSERT assigns it.
pub(crate) fn assign(bound: Bound, to: Type, column: &str, text: &str) -> Result<Expr> {
    if let (true, Some(value)) = (bound.untyped, bound.expr.as_literal()) {
        return literal_value(value, to)
            .map(|v| Expr::literal(v, to))
            .map_err(|e| place::at(e, text, bound.span));
    }
    if bound.untyped && bound.expr.as_parameter().is_some() && (!to.is_text() || to.is_json()) {
        return Ok(Expr { ty: to, ..bound.expr });
    }
    let from = bound.ty();
    if !assignable(from, to) {
        return Err(place::at(
            Error::new(
                SqlState::DatatypeMismatch,
                format!("column \"{column}\" is of type {to} but expression is of type {from}"),
            )
            .with_hint("cast the expression"),
            text,
            bound.span,
        ));
    }
    match bound.expr.as_literal() {
        Some(value) => cast_value(value, from, to)
            .map(|v| Expr::literal(v, to))
            .map_err(|e| place::at(e, text, bound.span)),
        None => Ok(plain_cast(fitted(bound.expr, to), to)),
    }
}

/// A text that is to be assigned to VARCHAR(n) or CHAR(n). A cast would cut it in silence.
fn fitted(expr: Expr, to: Type) -> Expr {
    use plan::functions::{FITTED_CHAR, FITTED_VARCHAR};
    let (limit, name) = match to {
        Type::Varchar(limit) => (limit, FITTED_VARCHAR),
        Type::Char(limit) => (limit, FITTED_CHAR),
        _ => return expr,
    };
    if matches!(expr.ty, Type::Varchar(own) | Type::Char(own) if own <= limit) {
        return expr;
    }
    let text = plain_cast(expr, Type::Text);
    let count = |value: u32, ty: Type| {
        Expr::literal(Value::from_i128(value.into(), ty.physical()).unwrap_or(Value::Null), ty)
    };
    let length = ExprKind::Function { function: Function::CharacterLength, arguments: vec![text.clone()] };
    let length = Expr::new(length, Type::Integer);
    let long = Expr::compare(Comparison::Greater, length, count(limit, Type::Integer));
    let arguments = vec![text.clone(), count(limit, Type::BigInt)];
    let checked = Expr::new(ExprKind::Library { name: name.into(), arguments }, Type::Text);
    let kind = ExprKind::Case { branches: vec![(long, checked)], otherwise: Some(Box::new(text)) };
    Expr::new(kind, Type::Text)
}

/// The type of the operands that are no literals, where it is an integer type whose literals have no type of their
/// own: an INTEGER literal next to a UTINYINT becomes one where it fits.
fn held_literals(operands: &[Bound]) -> Option<Type> {
    let mut given = operands.iter().filter(|o| !o.untyped && o.expr.as_literal().is_none()).map(Bound::ty);
    let first = given.next()?;
    given.try_fold(first, common_type).filter(|ty| ty.is_ranged_integer() || ty.is_wide_integer())
}

/// Whether the expression is a literal of a plain integer type that `ty` has, too.
pub(crate) fn holds_literal(ty: Type, expr: &Expr) -> bool {
    if ty.is_wide_integer() {
        return wide::holds_literal(ty, expr);
    }
    let wide = ty.physical() == Physical::I128 && matches!(expr.ty, Type::Decimal { scale: 0, .. });
    let value = expr.as_literal().filter(|_| wide || expr.ty.is_plain_integer()).and_then(Value::as_i128);
    value.is_some_and(|v| Value::of_integer(v, ty).is_some())
}

/// Operands from which on a list is long, and what each costs, as `Pace` counts.
pub(crate) const LONG_LIST: usize = 256;
const SPENT_ON_OPERAND: usize = 64;

/// Brings operands to one type; `what` names the construct in the error.
pub(crate) fn unify(operands: Vec<Bound>, what: &str, text: &str) -> Result<(Vec<Expr>, Type)> {
    let mut common = Type::Null;
    let mut literals_fit = true;
    let held = held_literals(&operands);
    // Lists of values may be long.
    let mut pace = Pace::new(Place::Bind);
    let each = if operands.len() >= LONG_LIST { SPENT_ON_OPERAND } else { 0 };
    for operand in
        operands.iter().filter(|o| !o.untyped && !held.is_some_and(|ty| holds_literal(ty, &o.expr)))
    {
        if each > 0 {
            pace.spend(each)?;
        }
        let Some(next) = common_type(common, operand.ty()) else {
            return Err(place::at(
                Error::new(
                    SqlState::DatatypeMismatch,
                    format!("{what} types {common} and {} cannot be matched", operand.ty()),
                ),
                text,
                operand.span,
            ));
        };
        common = next;
        literals_fit &= digits_needed(&operand.expr).is_some();
    }
    if let (Type::Decimal { scale, .. }, true) = (common, literals_fit) {
        // Integer literals need no ten digits.
        let whole = operands
            .iter()
            .filter(|o| !o.untyped)
            .filter_map(|o| digits_needed(&o.expr))
            .map(|(p, s)| p - s)
            .max()
            .unwrap_or(0);
        common = Type::Decimal { precision: (whole + scale).clamp(1, DECIMAL_PRECISION_MAX), scale };
    }
    if common == Type::Null && operands.iter().any(|o| o.untyped) {
        common = Type::Text;
    }
    let mut out = Vec::with_capacity(operands.len());
    for operand in operands {
        if each > 0 {
            pace.spend(each)?;
        }
        if operand.untyped {
            out.push(if common.is_text() && common != Type::Jsonb {
                operand.expr
            } else {
                cast(read_literal(&operand, common, text)?, common)
            });
        } else if operand.is_null() {
            out.push(Expr::literal(Value::Null, common));
        } else {
            out.push(cast(operand.expr, common));
        }
    }
    // Text of any kind has one representation; the node's type is what all of them are.
    Ok((out, common))
}
