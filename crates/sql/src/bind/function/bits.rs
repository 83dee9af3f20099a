//! Operators and functions of BIT and BIT VARYING.

use plan::functions::{
    BITS_AND, BITS_COUNT, BITS_GET, BITS_JOINED, BITS_LEFT, BITS_NOT, BITS_OR, BITS_RESIZED, BITS_RIGHT,
    BITS_SET, BITS_XOR,
};
use plan::{Expr, ExprKind};
use syntax::Span;
use types::{Error, Result, SqlState, Type, Value, bits};

use crate::bind::expression::ExprBinder;
use crate::bind::expression::coerce::{self, Bound, cast};
use crate::place;

fn call(name: &str, arguments: Vec<Expr>, ty: Type) -> Expr {
    Expr::new(ExprKind::Library { name: name.into(), arguments }, ty)
}

/// The operand as bits of any number, where it is bits, a quoted text or NULL.
fn operand(bound: Bound, text: &str) -> Result<Option<Expr>> {
    match bound.ty() {
        ty if ty.is_bits() => Ok(Some(bound.expr)),
        _ => coerce::implicit(bound, Type::BITS, text),
    }
}

fn undefined(op: &str, left: Type, right: Type, text: &str, span: Span) -> Error {
    let message = format!("operator does not exist: {left} {op} {right}");
    let error = Error::new(SqlState::UndefinedFunction, message)
        .with_hint("it takes two strings of bits; an explicit cast may help");
    place::at(error, text, span)
}

/// `&`, `|`, `#`, `<<` and `>>`, the left or the right side being bits.
pub(crate) fn operator(op: &str, left: Bound, right: Bound, text: &str) -> Result<Bound> {
    let span = left.span.to(right.span);
    let (lt, rt) = (left.ty(), right.ty());
    let refused = || undefined(op, lt, rt, text, span);
    if let Some(name) = [("<<", BITS_LEFT), (">>", BITS_RIGHT)].iter().find(|(sign, _)| *sign == op) {
        let places = coerce::implicit(right, Type::BigInt, text)?.ok_or_else(refused)?;
        return Ok(Bound::typed(call(name.1, vec![left.expr, places], lt), span));
    }
    let (Some(l), Some(r)) = (operand(left, text)?, operand(right, text)?) else { return Err(refused()) };
    let name = match op {
        "&" => BITS_AND,
        "|" => BITS_OR,
        "#" => BITS_XOR,
        _ => return Err(refused()),
    };
    let ty = if l.ty == r.ty { l.ty } else { Type::BITS };
    Ok(Bound::typed(call(name, vec![l, r], ty), span))
}

/// `~`.
pub(crate) fn inverted(bound: Bound) -> Bound {
    let ty = bound.ty();
    Bound::typed(call(BITS_NOT, vec![bound.expr], ty), bound.span)
}

/// `||` of bits; `None` where a side is something else.
pub(crate) fn joined(left: &Bound, right: &Bound, text: &str) -> Result<Option<Expr>> {
    let fits = |bound: &Bound| bound.ty().is_bits() || bound.untyped || bound.is_null();
    if !(left.ty().is_bits() || right.ty().is_bits()) || !fits(left) || !fits(right) {
        return Ok(None);
    }
    let sides = (operand(left.clone(), text)?, operand(right.clone(), text)?);
    let (Some(l), Some(r)) = sides else { return Ok(None) };
    Ok(Some(call(BITS_JOINED, vec![l, r], Type::BITS)))
}

/// An explicit cast of bits, of a text or of an integer to bits, which cuts or fills; `None` for other types.
pub(crate) fn explicit(expr: &Expr, to: Type) -> Result<Option<Expr>> {
    let from = expr.ty;
    if !to.is_bits() || !(from.is_bits() || from.is_text() || from.is_integer()) {
        return Ok(None);
    }
    if from.is_integer() && matches!(to, Type::VarBit(_)) {
        return Err(Error::new(SqlState::CannotCoerce, format!("cannot cast type {from} to {to}"))
            .with_hint("BIT(n) says how many bits an integer has"));
    }
    let Some(value) = expr.as_literal().filter(|value| !value.is_null()) else {
        return Ok(Some(call(BITS_RESIZED, vec![expr.clone()], to)));
    };
    let made = match value.as_text() {
        None => bits::of_integer(value.as_i128().unwrap_or(0), to),
        Some(text) if from.is_bits() => bits::resized(text, to),
        Some(text) => bits::resized(&bits::parse(text.trim())?, to),
    };
    Ok(Some(Expr::literal(Value::text(&made), to)))
}

impl<'a> ExprBinder<'_, 'a> {
    /// A function whose first argument is bits; `None` where it is none of bits.
    pub(crate) fn of_bits(&mut self, name: &str, arguments: &[Bound], span: Span) -> Result<Option<Bound>> {
        let text = self.binder.text;
        let Some(first) = arguments.first().filter(|a| a.ty().is_bits()) else { return Ok(None) };
        let as_text = |bound: &Bound| match bound.ty().is_bits() {
            true => Bound::typed(cast(bound.expr.clone(), Type::Text), bound.span),
            false => bound.clone(),
        };
        let whole = |at: usize| -> Result<Expr> {
            let given = arguments[at].clone();
            let (ty, place) = (given.ty(), given.span);
            coerce::implicit(given, Type::BigInt, text)?.ok_or_else(|| {
                let message = format!("function {name} of bits takes an integer, not {ty}");
                place::at(Error::new(SqlState::UndefinedFunction, message), text, place)
            })
        };
        let expr = match (name, arguments.len()) {
            ("length" | "bit_length" | "char_length" | "character_length", 1) => {
                return self.apply("length", vec![as_text(first)], span).map(Some);
            }
            ("octet_length", 1) => {
                let count = self.apply("length", vec![as_text(first)], span)?;
                let seven = Bound::typed(crate::bind::expression::literal::integer(7), span);
                let sum =
                    crate::bind::expression::operator::arithmetic(plan::Arithmetic::Add, count, seven, text)?;
                let eight = Bound::typed(crate::bind::expression::literal::integer(8), span);
                let sum = Bound::typed(sum, span);
                crate::bind::expression::operator::arithmetic(plan::Arithmetic::Divide, sum, eight, text)?
            }
            ("substring" | "substr" | "overlay", 2..) => {
                let texts = arguments.iter().map(as_text).collect();
                let part = self.apply(name, texts, span)?;
                cast(part.expr, Type::BITS)
            }
            ("position" | "strpos" | "bit_position", 2) => {
                let texts: Vec<Bound> = arguments.iter().map(as_text).collect();
                let texts = match name {
                    "bit_position" => texts.into_iter().rev().collect(),
                    _ => texts,
                };
                return self.apply("strpos", texts, span).map(Some);
            }
            ("get_bit", 2) => call(BITS_GET, vec![first.expr.clone(), whole(1)?], Type::Integer),
            ("set_bit", 3) => call(BITS_SET, vec![first.expr.clone(), whole(1)?, whole(2)?], first.ty()),
            ("bit_count", 1) => call(BITS_COUNT, vec![first.expr.clone()], Type::BigInt),
            _ => return Ok(None),
        };
        Ok(Some(Bound::typed(expr, span)))
    }
}
