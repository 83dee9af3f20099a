//! Bounds of expressions by interval arithmetic on wide integers: what proves that an overflow check can go, that a
//! decimal fits 64 bits, or that a sum of known length does.
//!
//! A bound says where every non-NULL value lies: integers and dates as they are, times in microseconds, decimals in
//! their unscaled form. `None` is "not known". Bounds are never guesses: a plan may rely on them.

use types::datetime::{self, MICROS_PER_DAY};
use types::{Type, Value, decimal};

use crate::{Arithmetic, Expr, ExprKind, Function, OutputColumn};

/// Least and greatest possible value, both inclusive; `None` when nothing is known.
pub type Bounds = Option<(i128, i128)>;

/// Bounds of a physical expression over `inputs`.
pub fn expr_bounds(expr: &Expr, inputs: &[OutputColumn]) -> Bounds {
    use ExprKind as K;
    let go = |e: &Expr| expr_bounds(e, inputs);
    match &expr.kind {
        K::Input(i) => inputs.get(*i).and_then(|c| c.bounds),
        K::Literal(value) => literal(value),
        K::Arithmetic { op, left, right, .. } => {
            arithmetic(*op, left.ty, right.ty, expr.ty, go(left), go(right))
        }
        K::Negate(input) => negate(go(input)),
        K::Cast { input, .. } => cast(input.ty, expr.ty, go(input)),
        K::Case { branches, otherwise } => {
            let mut all = branches.iter().map(|(_, then)| then).chain(otherwise.as_deref());
            union(&mut all.by_ref().map(|e| (is_null(e), go(e))))
        }
        K::Function { function: Function::Coalesce, arguments } => {
            union(&mut arguments.iter().map(|e| (is_null(e), go(e))))
        }
        K::Function { function, arguments } => {
            self::function(*function, arguments.first().map(|a| (a.ty, go(a))))
        }
        _ => None,
    }
}

fn is_null(expr: &Expr) -> bool {
    expr.as_literal().is_some_and(Value::is_null)
}

/// The bounds of a constant: the value itself. `None` for NULL and values without an integer form.
pub fn literal(value: &Value) -> Bounds {
    value.as_i128().map(|v| (v, v))
}

/// Whether a type's values are integers for which bounds mean something.
pub fn has_bounds(ty: Type) -> bool {
    ty.is_integer()
        || ty.is_decimal()
        || matches!(ty, Type::Date | Type::Time | Type::Timestamp | Type::TimestampTz)
}

/// The bounds of `left op right`; `left`, `right` and `result` are the types, `l` and `r` the operands' bounds.
/// `None` when scales do not fit the operator's contract, a divisor may be 0, or an end leaves 128 bits.
pub fn arithmetic(op: Arithmetic, left: Type, right: Type, result: Type, l: Bounds, r: Bounds) -> Bounds {
    let numeric = |t: Type| t.is_integer() || t.is_decimal();
    if !(numeric(left) && numeric(right) && numeric(result)) {
        return None;
    }
    // The operators' contract on scales; anything else is not ours to judge.
    let aligned = match op {
        Arithmetic::Add | Arithmetic::Subtract | Arithmetic::Modulo => {
            left.scale() == right.scale() && left.scale() == result.scale()
        }
        Arithmetic::Multiply => left.scale() + right.scale() == result.scale(),
        Arithmetic::Divide => left.scale() == 0 && right.scale() == 0 && result.is_integer(),
    };
    if !aligned {
        return None;
    }
    let ((a, b), (c, d)) = (l?, r?);
    match op {
        Arithmetic::Add => Some((a.checked_add(c)?, b.checked_add(d)?)),
        Arithmetic::Subtract => Some((a.checked_sub(d)?, b.checked_sub(c)?)),
        Arithmetic::Multiply => {
            corners([a.checked_mul(c)?, a.checked_mul(d)?, b.checked_mul(c)?, b.checked_mul(d)?])
        }
        Arithmetic::Divide if c > 0 || d < 0 => {
            corners([a.checked_div(c)?, a.checked_div(d)?, b.checked_div(c)?, b.checked_div(d)?])
        }
        Arithmetic::Divide => None,
        Arithmetic::Modulo => {
            let largest = c.checked_abs()?.max(d.checked_abs()?).checked_sub(1)?.max(0);
            Some((if a < 0 { a.max(-largest) } else { 0 }, if b > 0 { b.min(largest) } else { 0 }))
        }
    }
}

fn corners(values: [i128; 4]) -> Bounds {
    Some((values.into_iter().min()?, values.into_iter().max()?))
}

/// The bounds of `-input`; `None` when an end has no negative in 128 bits.
pub fn negate(input: Bounds) -> Bounds {
    let (low, high) = input?;
    Some((high.checked_neg()?, low.checked_neg()?))
}

/// The bounds of a cast. Values that do not fit raise an error (or give NULL), so what comes out lies in the target's
/// range. `None` for casts that are not known to keep the order.
pub fn cast(from: Type, to: Type, input: Bounds) -> Bounds {
    let exact = |t: Type| t.is_integer() || t.is_decimal();
    if exact(from) && exact(to) {
        let (low, high) = input?;
        return Some((
            decimal::rescale(low, from.scale(), to.scale())?,
            decimal::rescale(high, from.scale(), to.scale())?,
        ));
    }
    let (low, high) = input?;
    match (from, to) {
        _ if from == to => Some((low, high)),
        (Type::Date, Type::Timestamp | Type::TimestampTz) => {
            let day = i128::from(MICROS_PER_DAY);
            Some((low.checked_mul(day)?, high.checked_mul(day)?))
        }
        (Type::Timestamp | Type::TimestampTz, Type::Date) => {
            let day = i128::from(MICROS_PER_DAY);
            Some((low.div_euclid(day), high.div_euclid(day)))
        }
        _ => None,
    }
}

/// The bounds of a function's result, by the type and bounds of its first argument.
pub fn function(function: Function, first: Option<(Type, Bounds)>) -> Bounds {
    match (function, first) {
        (Function::ExtractYear, Some((ty, Some((low, high))))) => Some((year(ty, low)?, year(ty, high)?)),
        (Function::ExtractMonth, _) => Some((1, 12)),
        (Function::ExtractDay, _) => Some((1, 31)),
        (Function::Absolute, Some((ty, Some((low, high))))) if ty.is_integer() || ty.is_decimal() => {
            let (a, b) = (low.checked_abs()?, high.checked_abs()?);
            Some((if low <= 0 && high >= 0 { 0 } else { a.min(b) }, a.max(b)))
        }
        _ => None,
    }
}

fn year(ty: Type, value: i128) -> Option<i128> {
    let days = match ty {
        Type::Date => value,
        Type::Timestamp => value.div_euclid(i128::from(MICROS_PER_DAY)),
        _ => return None,
    };
    let days = i32::try_from(days).ok().filter(|d| (-2_500_000..=106_000_000).contains(d))?;
    // There is no year 0: before 1 there is -1.
    let year = i128::from(datetime::civil_from_days(days).year);
    Some(year - i128::from(year <= 0))
}

/// The bounds of a choice among values (CASE, COALESCE). Each comes with whether it is the NULL literal, which bounds
/// nothing; `None` when a value's bounds are unknown.
pub fn union(values: &mut dyn Iterator<Item = (bool, Bounds)>) -> Bounds {
    let mut result: Bounds = None;
    for (null, bounds) in values {
        if null {
            continue;
        }
        let (low, high) = bounds?;
        result = Some(result.map_or((low, high), |(l, h)| (l.min(low), h.max(high))));
    }
    result
}

#[cfg(test)]
mod tests {
    use super::*;

    const MONEY: Type = Type::Decimal { precision: 15, scale: 2 };

    fn inputs() -> Vec<OutputColumn> {
        let column =
            |ty, bounds| OutputColumn { name: "c".into(), ty, nullable: false, bounds: Some(bounds) };
        vec![column(MONEY, (90_000, 10_495_000)), column(MONEY, (0, 10)), column(Type::Date, (8036, 10591))]
    }

    #[test]
    fn price_after_discount() {
        let one = Expr::literal(Value::I64(100), MONEY);
        let rest = Expr::new(
            ExprKind::Arithmetic {
                op: Arithmetic::Subtract,
                left: Box::new(one),
                right: Box::new(Expr::input(1, MONEY)),
                checked: true,
            },
            MONEY,
        );
        assert_eq!(expr_bounds(&rest, &inputs()), Some((90, 100)));
        let price = Expr::new(
            ExprKind::Arithmetic {
                op: Arithmetic::Multiply,
                left: Box::new(Expr::input(0, MONEY)),
                right: Box::new(rest),
                checked: true,
            },
            Type::Decimal { precision: 38, scale: 4 },
        );
        assert_eq!(expr_bounds(&price, &inputs()), Some((8_100_000, 1_049_500_000)));
    }

    #[test]
    fn years_modulo_and_casts() {
        let year = Expr::new(
            ExprKind::Function {
                function: Function::ExtractYear,
                arguments: vec![Expr::input(2, Type::Date)],
            },
            Type::BigInt,
        );
        assert_eq!(expr_bounds(&year, &inputs()), Some((1992, 1998)));
        let modulo = |l, r| {
            arithmetic(Arithmetic::Modulo, Type::Integer, Type::Integer, Type::Integer, Some(l), Some(r))
        };
        assert_eq!(modulo((-7, 100), (3, 5)), Some((-4, 4)));
        assert_eq!(modulo((0, 2), (1, 1000)), Some((0, 2)));
        assert_eq!(modulo((0, 5), (0, 0)), Some((0, 0)));
        assert_eq!(cast(MONEY, Type::Integer, Some((149, 150))), Some((1, 2)));
        assert_eq!(cast(Type::Integer, MONEY, Some((-3, 4))), Some((-300, 400)));
        assert_eq!(negate(Some((i128::MIN, 0))), None);
    }

    #[test]
    fn choices_unite_and_nulls_do_not_count() {
        let mut values = [(true, None), (false, Some((1, 5))), (false, Some((-2, 0)))].into_iter();
        assert_eq!(union(&mut values), Some((-2, 5)));
        assert_eq!(union(&mut [(false, Some((1, 5))), (false, None)].into_iter()), None);
    }
}
