//! Rule `simplification`: constants are folded, boolean structure is flattened, and disjunctions are brought into the
//! forms that later rules look for.
//!
//! * NOT goes inwards, so that comparisons and IN lists can be pushed and evaluated in blocks;
//! * `x = 1 OR x = 2` becomes `x IN (1, 2)`;
//! * conjuncts common to every branch of an OR come out: `(a AND x) OR (a AND y)` is `a AND (x OR y)`, which turns
//!   TPC-H's Q19 from a cross product into a join.
//!
//! All rewrites hold in three-valued logic, not just as filters. An expression that would raise an error when folded
//! is left as it is: it may never be evaluated.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use plan::{Arithmetic, Expr, ExprKind, Function, LogicalPlan, bounds};
use types::stop::{self, Place, UnwindingPace};
use types::{Comparison, Type, Value, cast, decimal};

/// Simplifies every expression of a plan.
pub(crate) fn simplify_plan(plan: &mut LogicalPlan) {
    stop::unwind_if_stopped(Place::Rewrite);
    for child in plan.children_mut() {
        simplify_plan(child);
    }
    for expr in plan.expressions_mut() {
        let taken = std::mem::replace(expr, Expr::boolean(false));
        *expr = simplify_all(taken);
    }
}

/// As `simplify`; the evaluator folds what this file does not, at the price of compiling it.
pub(crate) fn simplify_all(expr: Expr) -> Expr {
    let simple = simplify(expr);
    if has_constant_part(&simple) { simplify(expr::fold_constants(simple)) } else { simple }
}

/// Whether some operator, other than those known to be left alone, has only constant operands.
fn has_constant_part(expr: &Expr) -> bool {
    let children = expr.children();
    (!children.is_empty() && children.iter().all(|c| c.as_literal().is_some()))
        || children.into_iter().any(has_constant_part)
}

/// What a node costs, more or less; see `UnwindingPace`.
const NODE_UNITS: usize = 256;

/// The expression with every part simplified, from the operands up; it has the same value and type.
pub(crate) fn simplify(expr: Expr) -> Expr {
    let mut pace = UnwindingPace::new(Place::Rewrite);
    expr.transform(&mut |expr| {
        pace.unwind_if_stopped(NODE_UNITS);
        step(expr)
    })
}

fn null() -> Expr {
    Expr::literal(Value::Null, Type::Boolean)
}

/// One node whose operands are simple already.
fn step(expr: Expr) -> Expr {
    use ExprKind as K;
    let Expr { kind, ty } = expr;
    match kind {
        K::And(parts) => conjunction(parts),
        K::Or(parts) => disjunction(parts),
        K::Not(input) => negation(*input),
        K::Compare { op, left, right } => comparison(op, *left, *right),
        K::NotDistinct { left, right, negated } => match (left.as_literal(), right.as_literal()) {
            (Some(l), Some(r)) => Expr::boolean((l == r) != negated),
            (Some(Value::Null), None) => Expr::new(K::IsNull { input: right, negated }, Type::Boolean),
            (None, Some(Value::Null)) => Expr::new(K::IsNull { input: left, negated }, Type::Boolean),
            _ => Expr::new(K::NotDistinct { left, right, negated }, ty),
        },
        K::IsNull { input, negated } => match input.as_literal() {
            Some(v) => Expr::boolean(v.is_null() != negated),
            None => Expr::new(K::IsNull { input, negated }, ty),
        },
        K::IsBoolean { input, value, negated } => match input.as_literal() {
            Some(v) => Expr::boolean((v.as_bool() == Some(value)) != negated),
            None => Expr::new(K::IsBoolean { input, value, negated }, ty),
        },
        K::Cast { input, lenient } => fold_cast(*input, lenient, ty),
        K::Negate(input) => {
            let zero = input.as_literal().and_then(Value::as_i128).and_then(i128::checked_neg);
            match zero.filter(|_| ty == input.ty).and_then(|v| Value::of_integer(v, ty)) {
                Some(value) => Expr::literal(value, ty),
                None => Expr::new(K::Negate(input), ty),
            }
        }
        K::Arithmetic { op, left, right, checked } => match fold_arithmetic(op, &left, &right, ty) {
            Some(value) => Expr::literal(value, ty),
            None => Expr::new(K::Arithmetic { op, left, right, checked }, ty),
        },
        K::Case { branches, otherwise } => case(branches, otherwise, ty),
        K::Function { function: Function::Coalesce, mut arguments } => {
            arguments.retain(|a| !a.as_literal().is_some_and(Value::is_null));
            match arguments.first() {
                None => Expr::literal(Value::Null, ty),
                Some(first) if first.ty == ty && (first.as_literal().is_some() || arguments.len() == 1) => {
                    arguments.swap_remove(0)
                }
                Some(_) => Expr::new(K::Function { function: Function::Coalesce, arguments }, ty),
            }
        }
        K::InList { input, values, has_null, negated } => {
            if let Some(value) = input.as_literal() {
                let found = !value.is_null() && values.binary_search(value).is_ok();
                if value.is_null() || (!found && has_null) {
                    return null();
                }
                return Expr::boolean(found != negated);
            }
            if values.is_empty() && has_null {
                return null();
            }
            if let ([only], false) = (&*values, has_null) {
                let op = if negated { Comparison::NotEqual } else { Comparison::Equal };
                let literal = Expr::literal(only.clone(), input.ty);
                return Expr::compare(op, *input, literal);
            }
            Expr::new(K::InList { input, values, has_null, negated }, ty)
        }
        kind => Expr::new(kind, ty),
    }
}

/// Puts the operands of nested nodes of one kind side by side, each once.
fn flatten(parts: Vec<Expr>, inner: impl Fn(ExprKind) -> Result<Vec<Expr>, ExprKind>) -> Vec<Expr> {
    let mut flat: Vec<Expr> = Vec::with_capacity(parts.len());
    for Expr { kind, ty } in parts {
        match inner(kind) {
            Ok(nested) => flat.extend(nested),
            Err(kind) => flat.push(Expr::new(kind, ty)),
        }
    }
    distinct(flat)
}

/// Operands up to which comparing each with each is cheaper than hashing them.
const COMPARED_MAX: usize = 16;

/// The first of every set of equal expressions, in order.
pub(crate) fn distinct(parts: Vec<Expr>) -> Vec<Expr> {
    if parts.len() <= COMPARED_MAX {
        let mut kept: Vec<Expr> = Vec::with_capacity(parts.len());
        for part in parts {
            if !kept.contains(&part) {
                kept.push(part);
            }
        }
        return kept;
    }
    let first: Vec<bool> = {
        let mut seen = HashSet::with_capacity(parts.len());
        parts.iter().map(|part| seen.insert(part)).collect()
    };
    parts.into_iter().zip(first).filter_map(|(part, first)| first.then_some(part)).collect()
}

fn conjunction(parts: Vec<Expr>) -> Expr {
    let mut flat = flatten(parts, |kind| if let ExprKind::And(parts) = kind { Ok(parts) } else { Err(kind) });
    if flat.iter().any(|p| p.as_literal().is_some_and(|v| v.as_bool() == Some(false))) {
        return Expr::boolean(false);
    }
    flat.retain(|p| !p.as_literal().is_some_and(|v| v.as_bool() == Some(true)));
    Expr::and(flat)
}

fn disjunction(parts: Vec<Expr>) -> Expr {
    let mut flat = flatten(parts, |kind| if let ExprKind::Or(parts) = kind { Ok(parts) } else { Err(kind) });
    if flat.iter().any(|p| p.as_literal().is_some_and(|v| v.as_bool() == Some(true))) {
        return Expr::boolean(true);
    }
    flat.retain(|p| !p.as_literal().is_some_and(|v| v.as_bool() == Some(false)));
    if flat.len() < 2 {
        return Expr::or(flat);
    }
    let flat = join_equalities(flat);
    common_conjuncts(flat)
}

/// `x = 1 OR x IN (2, 3)` as one list.
fn join_equalities(parts: Vec<Expr>) -> Vec<Expr> {
    let mut lists: Vec<(Expr, Vec<Value>)> = Vec::new();
    let mut places: HashMap<Expr, usize> = HashMap::new();
    let mut kept = Vec::with_capacity(parts.len());
    for part in parts {
        match as_list(part) {
            Ok((input, values)) => {
                let known = if places.is_empty() {
                    lists.iter().position(|(known, _)| *known == input)
                } else {
                    places.get(&input).copied()
                };
                if let Some((_, all)) = known.and_then(|at| lists.get_mut(at)) {
                    all.extend(values);
                    continue;
                }
                lists.push((input, values));
                // From here on every list is in `places`.
                if lists.len() > COMPARED_MAX {
                    let missing = places.len()..lists.len();
                    places.extend(missing.map(|at| (lists[at].0.clone(), at)));
                }
            }
            Err(other) => kept.push(other),
        }
    }
    for (input, mut values) in lists {
        values.sort_unstable();
        values.dedup();
        if values.len() == 1 {
            let literal = Expr::literal(values.remove(0), input.ty);
            kept.push(Expr::compare(Comparison::Equal, input, literal));
        } else {
            let kind = ExprKind::InList {
                input: Box::new(input),
                values: Arc::from(values),
                has_null: false,
                negated: false,
            };
            kept.push(Expr::new(kind, Type::Boolean));
        }
    }
    kept
}

/// The expression and the constants it may equal; the argument itself when it is of another form.
fn as_list(expr: Expr) -> Result<(Expr, Vec<Value>), Expr> {
    let constant = |e: &Expr| e.as_literal().is_some_and(|v| !v.is_null());
    let Expr { kind, ty } = expr;
    match kind {
        ExprKind::Compare { op: Comparison::Equal, left, right } if !constant(&left) && constant(&right) => {
            let value = right.as_literal().cloned().unwrap_or(Value::Null);
            Ok((*left, vec![value]))
        }
        ExprKind::Compare { op: Comparison::Equal, left, right } if constant(&left) && !constant(&right) => {
            let value = left.as_literal().cloned().unwrap_or(Value::Null);
            Ok((*right, vec![value]))
        }
        ExprKind::InList { input, values, has_null: false, negated: false } => Ok((*input, values.to_vec())),
        kind => Err(Expr::new(kind, ty)),
    }
}

fn common_conjuncts(parts: Vec<Expr>) -> Expr {
    if parts.len() < 2 {
        return Expr::or(parts);
    }
    let mut branches: Vec<Vec<Expr>> = parts
        .into_iter()
        .map(|p| {
            let mut conjuncts = Vec::new();
            p.split_conjuncts(&mut conjuncts);
            conjuncts
        })
        .collect();
    let (first, rest) = match branches.split_first() {
        Some(split) => split,
        None => return Expr::boolean(false),
    };
    let common: Vec<Expr> =
        first.iter().filter(|c| rest.iter().all(|branch| branch.contains(c))).cloned().collect();
    if common.is_empty() {
        return Expr::or(branches.into_iter().map(Expr::and).collect());
    }
    for branch in &mut branches {
        branch.retain(|c| !common.contains(c));
    }
    let mut result = common;
    // A branch with nothing left is TRUE, and so is the disjunction: a AND (TRUE OR y).
    if branches.iter().all(|b| !b.is_empty()) {
        result.push(disjunction(branches.into_iter().map(Expr::and).collect()));
    }
    conjunction(result)
}

fn negation(input: Expr) -> Expr {
    use ExprKind as K;
    let Expr { kind, ty } = input;
    let kind = match kind {
        K::Literal(Value::Bool(b)) => return Expr::boolean(!b),
        K::Literal(Value::Null) => return null(),
        K::Not(inner) => return *inner,
        K::Compare { op, left, right } => K::Compare { op: op.negated(), left, right },
        K::NotDistinct { left, right, negated } => K::NotDistinct { left, right, negated: !negated },
        K::IsNull { input, negated } => K::IsNull { input, negated: !negated },
        K::IsBoolean { input, value, negated } => K::IsBoolean { input, value, negated: !negated },
        K::InList { input, values, has_null, negated } => {
            K::InList { input, values, has_null, negated: !negated }
        }
        K::Like { input, pattern, negated, case_insensitive } => {
            K::Like { input, pattern, negated: !negated, case_insensitive }
        }
        K::And(parts) => return disjunction(parts.into_iter().map(negation).collect()),
        K::Or(parts) => return conjunction(parts.into_iter().map(negation).collect()),
        kind => K::Not(Box::new(Expr::new(kind, ty))),
    };
    Expr::new(kind, Type::Boolean)
}

fn comparison(op: Comparison, left: Expr, right: Expr) -> Expr {
    match (left.as_literal(), right.as_literal()) {
        (Some(l), Some(r)) => {
            if l.is_null() || r.is_null() {
                return null();
            }
            if left.ty.same_representation(right.ty) {
                return Expr::boolean(op.holds(l.total_cmp(r)));
            }
        }
        (Some(Value::Null), _) | (_, Some(Value::Null)) => return null(),
        (Some(_), None) => return comparison(op.flipped(), right, left),
        (None, Some(Value::Bool(b))) => match op {
            Comparison::Equal => return if *b { left } else { negation(left) },
            Comparison::NotEqual => return if *b { negation(left) } else { left },
            _ => {}
        },
        _ => {}
    }
    Expr::compare(op, left, right)
}

fn fold_cast(input: Expr, lenient: bool, ty: Type) -> Expr {
    if input.ty == ty {
        return input;
    }
    // An explicit cast to CHAR(n) or VARCHAR(n) cuts where an assignment refuses; that is the evaluator's to know.
    let cuts = matches!(ty, Type::Char(_) | Type::Varchar(_));
    if let (Some(value), false) = (input.as_literal(), cuts) {
        let cast = if lenient { cast::try_cast_value } else { cast::cast_value };
        match cast(value, input.ty, ty) {
            Ok(value) => return Expr::literal(value, ty),
            Err(_) if lenient => return Expr::literal(Value::Null, ty),
            Err(_) => {}
        }
    }
    Expr::new(ExprKind::Cast { input: Box::new(input), lenient }, ty)
}

/// Exact arithmetic on constants; `None` when an operand is not constant or the evaluator should decide.
fn fold_arithmetic(op: Arithmetic, left: &Expr, right: &Expr, ty: Type) -> Option<Value> {
    let (l, r) = (left.as_literal()?, right.as_literal()?);
    if (l.is_null() || r.is_null()) && bounds::has_bounds(ty) {
        return Some(Value::Null);
    }
    let (l, r) = (l.as_i128()?, r.as_i128()?);
    let value = match bounds::arithmetic(op, left.ty, right.ty, ty, Some((l, l)), Some((r, r)))? {
        // Bounds of a remainder are wider than the remainder, and say nothing of a division by zero.
        _ if op == Arithmetic::Modulo => l.checked_rem(r)?,
        (low, high) if low == high => low,
        _ => return None,
    };
    let fits = if ty.is_decimal() {
        let digits = if ty.physical() == types::Physical::I64 { 18 } else { 38 };
        decimal::fits(value, digits)
    } else {
        true
    };
    Value::of_integer(value, ty).filter(|_| fits)
}

fn case(branches: Vec<(Expr, Expr)>, otherwise: Option<Box<Expr>>, ty: Type) -> Expr {
    let mut kept = Vec::with_capacity(branches.len());
    let mut otherwise = otherwise;
    for (when, then) in branches {
        match when.as_literal() {
            Some(v) if v.as_bool() == Some(true) => {
                otherwise = Some(Box::new(then));
                break;
            }
            Some(_) => {}
            None => kept.push((when, then)),
        }
    }
    if kept.is_empty() {
        return match otherwise {
            Some(value) if value.ty == ty => *value,
            Some(value) => value.cast(ty),
            None => Expr::literal(Value::Null, ty),
        };
    }
    Expr::new(ExprKind::Case { branches: kept, otherwise }, ty)
}

#[cfg(test)]
mod tests {
    use super::*;
    use plan::ColumnId;

    fn c(id: u32) -> Expr {
        Expr::column(ColumnId(id), Type::Integer)
    }
    fn i(v: i32) -> Expr {
        Expr::literal(Value::I32(v), Type::Integer)
    }
    fn equal(a: Expr, b: Expr) -> Expr {
        Expr::compare(Comparison::Equal, a, b)
    }
    fn not(e: Expr) -> Expr {
        Expr::new(ExprKind::Not(Box::new(e)), Type::Boolean)
    }
    fn check(expr: Expr, expected: &str) {
        let name = |kind: &ExprKind| match kind {
            ExprKind::Column(id) => ["a", "b", "c", "d"][id.0 as usize].to_owned(),
            _ => String::new(),
        };
        assert_eq!(plan::print::expression(&simplify(expr), &name), expected);
    }

    #[test]
    fn constants_fold() {
        check(equal(i(1), i(1)), "true");
        check(equal(c(0), Expr::literal(Value::Null, Type::Integer)), "NULL");
        check(equal(i(3), c(0)), "a = 3");
        let sum = |l, r| {
            Expr::new(
                ExprKind::Arithmetic {
                    op: Arithmetic::Add,
                    left: Box::new(l),
                    right: Box::new(r),
                    checked: true,
                },
                Type::Integer,
            )
        };
        check(equal(c(0), sum(i(2), i(3))), "a = 5");
        check(sum(i(i32::MAX), i(1)), "2147483647 + 1");
        check(Expr::and(vec![Expr::boolean(true), equal(c(0), i(1)), Expr::boolean(true)]), "a = 1");
        check(Expr::and(vec![equal(c(0), i(1)), Expr::boolean(false)]), "false");
        check(Expr::literal(Value::text("7"), Type::Text).cast(Type::Integer), "7");
        check(Expr::literal(Value::text("x"), Type::Text).cast(Type::Integer), "CAST('x' AS INTEGER)");
    }

    #[test]
    fn negation_goes_inwards() {
        let both = Expr::and(vec![equal(c(0), i(1)), Expr::compare(Comparison::Less, c(1), i(2))]);
        check(not(both.clone()), "(a <> 1) OR (b >= 2)");
        check(not(not(both)), "(a = 1) AND (b < 2)");
    }

    #[test]
    fn equalities_become_a_list() {
        check(Expr::or(vec![equal(c(0), i(2)), equal(i(1), c(0)), equal(c(0), i(2))]), "a IN (1, 2)");
        check(Expr::or(vec![equal(c(0), i(2)), equal(c(1), i(1))]), "(a = 2) OR (b = 1)");
    }

    #[test]
    fn common_conjuncts_come_out() {
        let branch = |v| Expr::and(vec![equal(c(0), c(1)), equal(c(2), i(v)), equal(c(3), i(v + 1))]);
        check(
            Expr::or(vec![branch(1), branch(2)]),
            "(a = b) AND (((c = 1) AND (d = 2)) OR ((c = 2) AND (d = 3)))",
        );
        check(Expr::or(vec![branch(1), equal(c(0), c(1))]), "a = b");
        let short = |v| Expr::and(vec![equal(c(0), c(1)), equal(c(2), i(v))]);
        check(Expr::or(vec![short(1), short(2)]), "(a = b) AND c IN (1, 2)");
    }
}
