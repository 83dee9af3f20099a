//! Rule `narrow_decimals`: decimals that provably have at most 18 digits are computed in 64 bits, and overflow checks
//! go where bounds show that nothing can overflow.
//!
//! SQL's result types are generous (a product of two DECIMAL(15,2) has 30 digits), so without this rule nearly all
//! arithmetic would be on 128-bit integers. Here are the decisions; `lower::bind` applies them bottom-up. A type is
//! only ever changed to DECIMAL(18,s), and only from a wider one, so that a declared type that is narrow already
//! keeps its meaning. Results of a query are cast back to their declared types at the root.

use plan::Expr;
use plan::bounds::Bounds;
use types::logical::DECIMAL_64_PRECISION_MAX;
use types::{Physical, Type, Value, decimal};

/// The 64-bit type for values of `ty` within `bounds`, when `ty` is wide and they fit.
pub(crate) fn narrower(ty: Type, bounds: Bounds) -> Option<Type> {
    let Type::Decimal { precision, scale } = ty else { return None };
    let (low, high) = bounds?;
    (precision > DECIMAL_64_PRECISION_MAX
        && scale <= DECIMAL_64_PRECISION_MAX
        && decimal::fits(low, DECIMAL_64_PRECISION_MAX)
        && decimal::fits(high, DECIMAL_64_PRECISION_MAX))
    .then_some(Type::Decimal { precision: DECIMAL_64_PRECISION_MAX, scale })
}

/// A wide decimal literal of few digits, as a 64-bit one.
pub(crate) fn literal(expr: Expr) -> Expr {
    let Some(value) = expr.as_literal().and_then(Value::as_i128) else { return expr };
    match (narrower(expr.ty, Some((value, value))), i64::try_from(value)) {
        (Some(ty), Ok(value)) => Expr::literal(Value::I64(value), ty),
        _ => expr,
    }
}

/// Every value within `bounds` can be held by `ty`, so arithmetic of that type needs no check.
pub(crate) fn fits(ty: Type, bounds: Bounds) -> bool {
    let Some((low, high)) = bounds else { return false };
    match ty {
        Type::Decimal { .. } => {
            let digits = if ty.physical() == Physical::I64 { DECIMAL_64_PRECISION_MAX } else { 38 };
            decimal::fits(low, digits) && decimal::fits(high, digits)
        }
        _ => ty.held_range().is_some_and(|(least, greatest)| least <= low && high <= greatest),
    }
}

/// The type under which a value of type `from` may be passed off as `to` without any work: decimals of one scale
/// and one representation, whose precision holds all the values.
pub(crate) fn free_cast(from: Type, to: Type, bounds: Bounds) -> Option<Type> {
    let (Type::Decimal { precision: had, scale: a }, Type::Decimal { precision: wanted, scale: b }) =
        (from, to)
    else {
        return None;
    };
    let holds =
        had <= wanted || bounds.is_some_and(|(l, h)| decimal::fits(l, wanted) && decimal::fits(h, wanted));
    if a != b || !holds {
        return None;
    }
    if from.physical() == to.physical() {
        return Some(to);
    }
    // A 64-bit value asked for in 128 bits stays as it is; the consumer that needs the width casts.
    (from.physical() == Physical::I64).then_some(from)
}

/// The 64-bit type a cast to the wide decimal `to` may aim at instead.
pub(crate) fn narrower_cast(from: Type, to: Type, bounds: Bounds) -> Option<Type> {
    let Type::Decimal { precision, .. } = to else { return None };
    if !(from.is_integer() || from.is_decimal()) {
        return None;
    }
    bounds.filter(|(l, h)| decimal::fits(*l, precision) && decimal::fits(*h, precision))?;
    narrower(to, bounds)
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn decimal(precision: u8, scale: u8) -> Type {
        Type::Decimal { precision, scale }
    }

    #[test]
    fn only_wide_types_whose_values_fit_become_narrow() {
        assert_eq!(narrower(decimal(38, 4), Some((0, 10i128.pow(18) - 1))), Some(decimal(18, 4)));
        assert_eq!(narrower(decimal(38, 4), Some((0, 10i128.pow(18)))), None);
        assert_eq!(narrower(decimal(15, 2), Some((0, 1))), None);
        assert_eq!(narrower(decimal(38, 20), Some((0, 1))), None);
        assert_eq!(narrower(decimal(38, 4), None), None);
    }

    #[test]
    fn casts_that_change_nothing_are_free() {
        assert_eq!(free_cast(decimal(15, 2), decimal(18, 2), None), Some(decimal(18, 2)));
        assert_eq!(free_cast(decimal(15, 2), decimal(30, 2), None), Some(decimal(15, 2)));
        assert_eq!(free_cast(decimal(18, 2), decimal(15, 2), None), None);
        assert_eq!(free_cast(decimal(18, 2), decimal(15, 2), Some((0, 5))), Some(decimal(15, 2)));
        assert_eq!(free_cast(decimal(15, 2), decimal(15, 3), Some((0, 5))), None);
    }
}
