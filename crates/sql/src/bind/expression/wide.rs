//! UHUGEINT and BIGNUM in operators and functions: what they meet, and the calls that compute with them.
//!
//! Beside another integer both become the type that has all values of both: UHUGEINT where neither has negative
//! ones, else BIGNUM. Beside a DECIMAL or a float they are DOUBLE PRECISION, as they are to every function that is not
//! listed here. An integer that is written stays of the other side's type where that has it. Crate `expr` evaluates the
//! calls (`own/wide.rs`).

use plan::functions::{
    WIDE_ABSOLUTE, WIDE_ADD, WIDE_AND, WIDE_DIVIDE, WIDE_LEFT, WIDE_MULTIPLY, WIDE_NEGATE, WIDE_NOT, WIDE_OR,
    WIDE_REMAINDER, WIDE_RIGHT, WIDE_SIGN, WIDE_SUBTRACT, WIDE_XOR,
};
use plan::{Arithmetic, Expr, ExprKind};
use types::{Type, Value};

use crate::bind::expression::coerce::{Bound, cast};
use crate::bind::expression::fold;

/// The type in which a wide integer meets another number; `None` where neither is wide or the other is no number.
pub(crate) fn common(a: Type, b: Type) -> Option<Type> {
    let (wide, other) = match (a.is_wide_integer(), b.is_wide_integer()) {
        (true, _) => (a, b),
        (false, true) => (b, a),
        (false, false) => return None,
    };
    Some(match other {
        _ if wide == other => wide,
        Type::UHugeInt | Type::BigNum => Type::BigNum,
        _ if other.is_float() || other.is_decimal() => Type::Double,
        _ if other.is_integer() => match other.integer_range() {
            Some((0.., _)) if wide == Type::UHugeInt => Type::UHugeInt,
            _ => Type::BigNum,
        },
        _ => return None,
    })
}

/// Whether the expression is an integer that is written, and a value of the wide type.
pub(crate) fn holds_literal(ty: Type, expr: &Expr) -> bool {
    let whole = expr.ty.is_integer() || matches!(expr.ty, Type::Decimal { scale: 0, .. });
    let value = expr.as_literal().filter(|_| whole && ty.is_wide_integer()).and_then(Value::as_i128);
    value.is_some_and(|value| ty == Type::BigNum || value >= 0)
}

/// Both sides with a literal beside a wide integer in that type.
pub(crate) fn with_literals(left: Expr, right: Expr) -> (Expr, Expr) {
    let (lt, rt) = (left.ty, right.ty);
    match () {
        () if holds_literal(lt, &right) => (left, cast(right, lt)),
        () if holds_literal(rt, &left) => (cast(left, rt), right),
        () => (left, right),
    }
}

fn call(name: &str, arguments: Vec<Expr>, ty: Type) -> Expr {
    fold::fold(Expr::new(ExprKind::Library { name: name.into(), arguments }, ty))
}

/// Arithmetic on two integers of which one is wide; `None` for other operands.
pub(crate) fn arithmetic(op: Arithmetic, left: &Expr, right: &Expr) -> Option<Expr> {
    let (left, right) = with_literals(left.clone(), right.clone());
    let ty = common(left.ty, right.ty).filter(|ty| ty.is_wide_integer())?;
    let name = match op {
        Arithmetic::Add => WIDE_ADD,
        Arithmetic::Subtract => WIDE_SUBTRACT,
        Arithmetic::Multiply => WIDE_MULTIPLY,
        Arithmetic::Divide => WIDE_DIVIDE,
        Arithmetic::Modulo => WIDE_REMAINDER,
    };
    Some(call(name, vec![cast(left, ty), cast(right, ty)], ty))
}

/// Unary minus.
pub(crate) fn negated(operand: Expr) -> Expr {
    // The least UHUGEINT is zero: a number that is written with a sign has more digits than it holds below that.
    let written = operand.ty == Type::UHugeInt
        && operand.as_literal().is_some_and(|value| types::wide::number(value).bits() > 127);
    let operand = if written { cast(operand, Type::BigNum) } else { operand };
    let ty = operand.ty;
    call(WIDE_NEGATE, vec![operand], ty)
}

/// Functions and operators on bits of wide integers; `None` for other names and arguments.
pub(crate) fn function(name: &str, arguments: &[Bound]) -> Option<Expr> {
    if !arguments.iter().any(|a| a.ty().is_wide_integer()) {
        return None;
    }
    let given = |at: usize| arguments.get(at).map(|a| a.expr.clone());
    match (name, arguments.len()) {
        ("abs" | "sign" | "~", 1) => {
            let (name, ty) = match name {
                "abs" => (WIDE_ABSOLUTE, arguments[0].ty()),
                "sign" => (WIDE_SIGN, Type::Integer),
                _ => (WIDE_NOT, arguments[0].ty()),
            };
            Some(call(name, vec![given(0)?], ty))
        }
        ("round" | "trunc" | "floor" | "ceil" | "ceiling", 1) => given(0),
        ("mod" | "%", 2) => arithmetic(Arithmetic::Modulo, &given(0)?, &given(1)?),
        ("div", 2) => arithmetic(Arithmetic::Divide, &given(0)?, &given(1)?),
        ("<<" | ">>", 2) if arguments[0].ty().is_wide_integer() => {
            let places = given(1)?;
            let whole = places.ty.is_integer() || places.ty.is_wide_integer();
            let name = if name == "<<" { WIDE_LEFT } else { WIDE_RIGHT };
            let ty = arguments[0].ty();
            whole.then(|| {
                call(
                    name,
                    vec![given(0).unwrap_or_else(|| places.clone()), cast(places.clone(), Type::BigInt)],
                    ty,
                )
            })
        }
        ("&" | "|" | "#" | "xor", 2) => {
            let (left, right) = with_literals(given(0)?, given(1)?);
            let ty = common(left.ty, right.ty).filter(|ty| ty.is_wide_integer())?;
            let name = match name {
                "&" => WIDE_AND,
                "|" => WIDE_OR,
                _ => WIDE_XOR,
            };
            Some(call(name, vec![cast(left, ty), cast(right, ty)], ty))
        }
        _ => None,
    }
}
