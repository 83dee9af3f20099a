//! Which expressions may give something else each time they are evaluated: `random()`, `nextval(...)`, functions that the
//! host program declares so.
//!
//! A call of such a function is evaluated where it stands, once for each row that reaches it. Two things keep it so.
//! Whatever moves an expression over rows of another number, or into another node, asks here first: the binder, and every
//! rule of the optimizer. And a call has an identity: copies of one expression within one node (both ends of a BETWEEN,
//! a macro's argument used twice) are one value, two calls in the text are two, however alike they look. The identity is
//! the name's allocation for functions of the library, the function's for those of the host program; the binder makes a
//! new one for each call, and copying an expression keeps it.

use std::sync::Arc;

use crate::{Expr, ExprKind};

/// Functions of the library that are volatile, by the names they are evaluated under.
pub const VOLATILE: [&str; 4] = ["random", "uuid", "clock_timestamp", ROWS_OF_ONE_RUN];

/// No function, but the mark of rows that the binder has put off, and that are computed once. No plan has it when it
/// is bound.
pub const ROWS_OF_ONE_RUN: &str = "rows of one run";

/// The function, which cannot be called, by which a recursion that is put off until outer columns are known is recognized;
/// its rows are the same however often they are asked for.
pub const ROWS_OF_A_RECURSION: &str = "rows of a recursion";

impl Expr {
    /// Whether another evaluation over the same row may give another value. A scalar subquery does not: it has run.
    pub fn is_volatile(&self) -> bool {
        let own = match &self.kind {
            ExprKind::Library { name, .. } => VOLATILE.contains(&&**name),
            ExprKind::External { function, .. } => function.volatile,
            ExprKind::Lambda(body) => body.is_volatile(),
            _ => false,
        };
        own || self.children().into_iter().any(Expr::is_volatile)
    }

    /// Whether evaluating it, or not, may be seen elsewhere: a sequence goes on, the host program is called.
    pub fn has_effects(&self) -> bool {
        let own = match &self.kind {
            ExprKind::External { function, .. } => function.volatile,
            ExprKind::Lambda(body) => body.has_effects(),
            _ => false,
        };
        own || self.children().into_iter().any(Expr::has_effects)
    }

    /// Equality as of what is written, where `random()` is like `random()`: how ORDER BY and GROUP BY find an expression
    /// of the select list.
    pub fn is_like(&self, other: &Expr) -> bool {
        self == other
            || (self.is_volatile() && !self.has_effects() && format!("{self:?}") == format!("{other:?}"))
    }

    fn add_volatile_calls(&self, out: &mut Vec<*const u8>) {
        match &self.kind {
            ExprKind::Library { name, .. } if VOLATILE.contains(&&**name) => out.push(name.as_ptr()),
            ExprKind::External { function, .. } if function.volatile => {
                out.push(Arc::as_ptr(function).cast());
            }
            ExprKind::Lambda(body) => body.add_volatile_calls(out),
            _ => {}
        }
        self.children().into_iter().for_each(|child| child.add_volatile_calls(out));
    }
}

/// Conjuncts that have a volatile call in common become one, in the place of the first.
pub(crate) fn together(parts: Vec<Expr>) -> Vec<Expr> {
    let mut groups: Vec<(Vec<Expr>, Vec<*const u8>)> = Vec::with_capacity(parts.len());
    for part in parts {
        let mut calls = Vec::new();
        part.add_volatile_calls(&mut calls);
        let mut joined: Option<usize> = None;
        let mut at = 0;
        while at < groups.len() {
            if !groups[at].1.iter().any(|call| calls.contains(call)) {
                at += 1;
            } else if let Some(first) = joined {
                // It links two that had nothing in common.
                let (more, known) = groups.remove(at);
                groups[first].0.extend(more);
                groups[first].1.extend(known);
            } else {
                joined = Some(at);
                at += 1;
            }
        }
        match joined {
            Some(first) => {
                groups[first].0.push(part);
                groups[first].1.extend(calls);
            }
            None => groups.push((vec![part], calls)),
        }
    }
    groups.into_iter().map(|(group, _)| Expr::and(group)).collect()
}

#[cfg(test)]
mod tests {
    use types::{Comparison, Type, Value};

    use super::*;

    fn random() -> Expr {
        Expr::new(ExprKind::Library { name: "random".into(), arguments: vec![] }, Type::Double)
    }
    fn compare(op: Comparison, left: Expr, value: f64) -> Expr {
        Expr::compare(op, left, Expr::literal(Value::F64(value), Type::Double))
    }

    #[test]
    fn a_call_equals_its_copies_and_no_other_call() {
        let call = random();
        assert_eq!(call, call.clone());
        assert_ne!(call, random());
        assert!(call.is_like(&random()));
        assert!(call.clone().cast(Type::Text).is_volatile() && !call.has_effects());
    }

    #[test]
    fn conjuncts_over_one_call_stay_together() {
        let call = random();
        let low = compare(Comparison::Greater, call.clone(), 0.4);
        let high = compare(Comparison::Less, call, 0.6);
        let other = compare(Comparison::Less, random(), 0.5);
        let within = Expr::and(vec![low.clone(), other.clone(), high.clone()]);
        let mut parts = Vec::new();
        within.split_conjuncts(&mut parts);
        assert_eq!(parts, [Expr::and(vec![low, high]), other]);
        let mut again = Vec::new();
        parts[0].clone().split_conjuncts(&mut again);
        assert_eq!(again, parts[..1]);
        let (a, b) = (random(), random());
        let one = compare(Comparison::Greater, a.clone(), 0.1);
        let two = compare(Comparison::Greater, b.clone(), 0.1);
        let both = Expr::compare(Comparison::Less, a, b);
        let linked = together(vec![one.clone(), two.clone(), both.clone()]);
        assert_eq!(linked, [Expr::and(vec![one, two, both])]);
    }
}
