//! Calls with intervals on constants: their values, for folding.

use plan::Expr;
use plan::functions::{INTERVAL_ADD, INTERVAL_DIVIDE, INTERVAL_KEY, INTERVAL_MULTIPLY};
use types::interval::Interval;
use types::{Type, Value};

/// The interval of a constant.
pub(crate) fn constant(expr: &Expr) -> Option<Interval> {
    let value = expr.as_literal().filter(|value| expr.ty.is_interval() && !value.is_null())?;
    Interval::of_kind(value, expr.ty).ok()
}

/// The value of a library call on constants, for the calls that are made here.
pub(crate) fn folded(name: &str, arguments: &[Expr]) -> Option<Value> {
    let values: Vec<&Value> = arguments.iter().map(Expr::as_literal).collect::<Option<_>>()?;
    if ![INTERVAL_KEY, INTERVAL_ADD, INTERVAL_DIVIDE, INTERVAL_MULTIPLY].contains(&name) {
        return None;
    }
    if values.iter().any(|value| value.is_null()) {
        return Some(Value::Null);
    }
    let first = || Interval::of_value(values[0]).ok();
    match (name, arguments) {
        (INTERVAL_KEY, [_]) => first().map(|i| Value::I128(i.key())),
        (INTERVAL_ADD, [a, _]) if a.ty == Type::Interval => {
            first()?.checked_add(Interval::of_value(values[1]).ok()?)?.value().ok()
        }
        (INTERVAL_ADD, [_, _]) => {
            Interval::of_value(values[1]).ok()?.after(values[0].as_i64()?).map(Value::I64)
        }
        (INTERVAL_MULTIPLY, [_, _]) => first()?.scaled(values[1].as_f64()?, false)?.value().ok(),
        (INTERVAL_DIVIDE, [_, _]) => {
            let divisor = values[1].as_f64().filter(|by| *by != 0.0)?;
            first()?.scaled(divisor, true)?.value().ok()
        }
        _ => None,
    }
}
