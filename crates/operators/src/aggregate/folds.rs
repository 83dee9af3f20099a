//! Lists that are counted only: `histogram` and `approx_top_k`.
//!
//! In a plan they are functions, in the projection right above an aggregation, of a list of all values of a group. Where
//! nothing else asks for that list it is not made: the aggregation counts the values and gives what the functions would.
//!
//! ```text
//!  Project list_histogram(list_of_slots(#1))                    Project #1
//!    Aggregate [string_agg(list_slot(x))]           becomes       Aggregate [how often each x comes, as a map]
//! ```

use hash::aggregate::Finish;
use plan::{AggregateCall, AggregateFunction, Expr, ExprKind, PhysicalNode, PhysicalPlan};
use types::{Type, Value};

use super::picks::{guarded, only_branch, present, unguarded};

/// What is made of the counts of a call's values, instead of a list of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fold {
    kind: Kind,
    /// The type of what is made.
    ty: Type,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    /// A map of the values and their counts.
    Histogram,
    /// A list of the most frequent values, so many of them.
    Top { wanted: usize },
}

impl Fold {
    /// The type of what is made.
    pub(super) fn ty(&self) -> Type {
        self.ty
    }
    /// How it is made from counts.
    pub(super) fn finish(&self, argument: usize, accumulator: usize) -> Finish {
        match self.kind {
            Kind::Histogram => Finish::Histogram { argument, accumulator },
            Kind::Top { wanted } => Finish::Top { argument, accumulator, wanted },
        }
    }
    /// The type of the values.
    fn element(&self) -> Option<Type> {
        match self.kind {
            Kind::Histogram => self.ty.entry().map(|(key, _)| key),
            Kind::Top { .. } => self.ty.element(),
        }
    }
}

fn named<'a>(expr: &'a Expr, name: &str) -> Option<&'a [Expr]> {
    match &expr.kind {
        ExprKind::Library { name: own, arguments } if &**own == name => Some(arguments),
        _ => None,
    }
}

/// The column of an aggregation whose slots the list is made of.
fn listed(list: &Expr) -> Option<usize> {
    match named(list, "list_of_slots")? {
        [Expr { kind: ExprKind::Input(at), .. }] => Some(*at),
        _ => None,
    }
}

/// The values that a call gathers in a list, NULL left out or of no interest, where their order does not matter.
pub(super) fn gathered(call: &AggregateCall) -> Option<Expr> {
    match &call.function {
        AggregateFunction::StringAgg { delimiter, ordered: false }
            if delimiter.is_empty() && !call.distinct => {}
        _ => return None,
    }
    let (argument, guard) = unguarded(call)?;
    let (there, slot) = match only_branch(argument) {
        Some((condition, slot)) => (present(condition)?, slot),
        None => (vec![], argument),
    };
    let [value] = named(slot, "list_slot")? else { return None };
    there.iter().all(|e| *e == value).then(|| guarded(value, guard))
}

/// What stands in a projection instead of the list of column `.0`.
fn fold(expr: &Expr, groups: usize, calls: &[AggregateCall]) -> Option<(usize, Fold)> {
    if let Some([list]) = named(expr, "list_histogram") {
        return Some((listed(list)?, Fold { kind: Kind::Histogram, ty: expr.ty }));
    }
    let [list, Expr { kind: ExprKind::Input(wanted), .. }] = named(expr, "list_top")? else { return None };
    let wanted = calls.get(wanted.checked_sub(groups)?)?;
    if wanted.function != AggregateFunction::Min {
        return None;
    }
    let wanted = wanted.argument.as_ref()?.as_literal().and_then(Value::as_i64)?;
    let wanted = usize::try_from(wanted).ok()?;
    Some((listed(list)?, Fold { kind: Kind::Top { wanted }, ty: expr.ty }))
}

/// The folds of an aggregation's calls, one for each, and the expressions of the projection right above it over what
/// they make. `None` where there is none.
pub fn folds(project: &PhysicalPlan) -> Option<(Vec<Option<Fold>>, Vec<Expr>)> {
    let PhysicalNode::Project { input, expressions } = &project.node else { return None };
    let PhysicalNode::Aggregate { groups, aggregates, .. } = &input.node else { return None };
    let groups = groups.len();
    let mut found: Vec<Option<Fold>> = vec![None; aggregates.len()];
    // How often each call's result is used, and how often in a fold, always the same.
    let mut used = vec![(0usize, 0usize); aggregates.len()];
    for expression in expressions {
        expression.visit(&mut |e| {
            if let ExprKind::Input(at) = e.kind
                && let Some(used) = at.checked_sub(groups).and_then(|at| used.get_mut(at))
            {
                used.0 += 1;
            }
            if let Some((at, fold)) = fold(e, groups, aggregates)
                && let Some(at) = at.checked_sub(groups).filter(|at| *at < used.len())
                && found[at].is_none_or(|known| known == fold)
            {
                found[at] = Some(fold);
                used[at].1 += 1;
            }
        });
    }
    for ((found, used), call) in found.iter_mut().zip(&used).zip(aggregates) {
        let suits = |fold: &Fold| gathered(call).is_some_and(|value| fold.element() == Some(value.ty));
        *found = found.filter(|fold| used.0 == used.1 && suits(fold));
    }
    if found.iter().all(Option::is_none) {
        return None;
    }
    let mut rewrite = |e: Expr| match fold(&e, groups, aggregates) {
        Some((at, fold)) if at >= groups && found.get(at - groups) == Some(&Some(fold)) => {
            Expr::input(at, fold.ty)
        }
        _ => e,
    };
    let expressions = expressions.iter().map(|e| e.clone().transform(&mut rewrite)).collect();
    Some((found, expressions))
}
