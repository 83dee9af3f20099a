//! Which columns a condition needs to be other than NULL: what `outer_join_simplification` rests on.

use plan::{Expr, ExprKind, Function};

use crate::columns::ColumnSet;

/// Columns such that `expr` is NULL whenever one of them is.
pub(crate) fn strict(expr: &Expr) -> ColumnSet {
    use ExprKind as K;
    let mut found = ColumnSet::new();
    match &expr.kind {
        K::Column(id) => found.insert(*id),
        K::Compare { left, right, .. } | K::Arithmetic { left, right, .. } => {
            found = strict(left);
            found.union(&strict(right));
        }
        K::Not(input)
        | K::Negate(input)
        | K::Cast { input, .. }
        | K::Like { input, .. }
        | K::InList { input, .. } => found = strict(input),
        K::Function { function: Function::Coalesce | Function::NullIf, .. } => {}
        K::Function { arguments, .. } => arguments.iter().for_each(|a| found.union(&strict(a))),
        // AND and OR of NULLs: NULL only if every operand is.
        K::And(parts) | K::Or(parts) => {
            let mut parts = parts.iter().map(strict);
            if let Some(first) = parts.next() {
                found = parts.fold(first, |mut all, next| {
                    all.intersect(&next);
                    all
                });
            }
        }
        _ => {}
    }
    found
}

/// Columns such that `expr` is not TRUE whenever one of them is NULL.
pub(crate) fn rejected(expr: &Expr) -> ColumnSet {
    use ExprKind as K;
    match &expr.kind {
        K::And(parts) => {
            let mut found = ColumnSet::new();
            parts.iter().for_each(|p| found.union(&rejected(p)));
            found
        }
        K::Or(parts) => {
            let mut parts = parts.iter().map(rejected);
            let first = parts.next().unwrap_or_default();
            parts.fold(first, |mut all, next| {
                all.intersect(&next);
                all
            })
        }
        K::IsNull { input, negated: true } | K::IsBoolean { input, negated: false, .. } => strict(input),
        _ => strict(expr),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use plan::ColumnId;
    use types::{Comparison, Type, Value};

    fn c(id: u32) -> Expr {
        Expr::column(ColumnId(id), Type::Integer)
    }
    fn equal(id: u32) -> Expr {
        Expr::compare(Comparison::Equal, c(id), Expr::literal(Value::I32(1), Type::Integer))
    }
    fn check(expr: &Expr, expected: &[u32]) {
        assert_eq!(rejected(expr).iter().map(|c| c.0).collect::<Vec<_>>(), expected);
    }

    #[test]
    fn conditions_reject_the_nulls_they_cannot_bear() {
        check(&equal(1), &[1]);
        check(&Expr::or(vec![equal(1), equal(2)]), &[]);
        check(&Expr::or(vec![equal(1), Expr::and(vec![equal(1), equal(2)])]), &[1]);
        check(&Expr::and(vec![equal(1), equal(2)]), &[1, 2]);
        let is_null = |negated| Expr::new(ExprKind::IsNull { input: Box::new(c(1)), negated }, Type::Boolean);
        check(&is_null(false), &[]);
        check(&is_null(true), &[1]);
        let coalesce = ExprKind::Function { function: Function::Coalesce, arguments: vec![c(1), c(2)] };
        check(&Expr::compare(Comparison::Less, Expr::new(coalesce, Type::Integer), c(3)), &[3]);
        // NOT (NULL AND FALSE) is TRUE, so neither operand is needed.
        let both = Expr::and(vec![equal(1), equal(2)]);
        check(&Expr::new(ExprKind::Not(Box::new(both)), Type::Boolean), &[]);
    }
}
