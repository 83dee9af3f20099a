//! An aggregate as two: one of each node's rows, and one of what those gave.
//!
//! ```text
//!  avg(x)  =  sum(partial sum) / sum(partial count)         count(x)  =  sum(partial count)
//!  var(x)  =  var(states)                                   min(x)    =  min(partial min)
//! ```
//! Types are those of the whole: a partial sum is as wide as it must be so that it fails nowhere where the whole would
//! not. Where that cannot be proven, or the values have to be seen together (medians, DISTINCT, order), there are no
//! halves, and the rows themselves travel.

use plan::{AggregateCall, AggregateFunction as F, Expr, ExprKind, Function, OutputColumn, StateForm};
use types::{Type, Value};

use crate::rules::eager_aggregation::{quotient, sum_fits, sum_type};

/// A column of a half.
type Call = (AggregateCall, OutputColumn);

/// The two halves of an aggregation.
pub(super) struct Halves {
    /// What each node computes of its rows.
    pub(super) lower: Vec<Call>,
    /// What is computed of those; arguments are columns behind the groups.
    pub(super) upper: Vec<Call>,
    /// The results, over the groups and the upper half's columns.
    pub(super) results: Vec<Expr>,
}

/// The halves of `calls` over rows of `input`, of which there are `rows` at most; `None` where there are none. Without
/// groups, partial counts may be missing at nodes that get nothing.
pub(super) fn split(
    calls: &[AggregateCall],
    columns: &[OutputColumn],
    input: &[OutputColumn],
    groups: usize,
    rows: u128,
) -> Option<Halves> {
    let mut halves = Halves { lower: vec![], upper: vec![], results: vec![] };
    for (call, column) in calls.iter().zip(columns) {
        let result = Splitting { halves: &mut halves, input, groups, rows, column }.split(call)?;
        halves.results.push(result);
    }
    Some(halves)
}

struct Splitting<'s> {
    halves: &'s mut Halves,
    input: &'s [OutputColumn],
    groups: usize,
    rows: u128,
    column: &'s OutputColumn,
}

impl Splitting<'_> {
    fn split(&mut self, call: &AggregateCall) -> Option<Expr> {
        let indifferent = matches!(
            call.function,
            F::Min | F::Max | F::BoolAnd | F::BoolOr | F::BitAnd | F::BitOr | F::AnyValue
        );
        if call.distinct && !indifferent {
            return None;
        }
        let argument = call.argument.as_ref();
        let of = argument.map(|a| a.ty);
        match &call.function {
            F::CountStar | F::Count => {
                let partial = self.below(call, call.function.clone(), Type::BigInt);
                Some(self.sum_of_counts(partial))
            }
            F::Sum => {
                let ty = self.partial_sum(argument?, call.ty)?;
                let partial = self.below(call, F::Sum, ty);
                Some(self.above(F::Sum, partial, call.ty))
            }
            F::Avg => self.average(call),
            F::Min | F::Max | F::BoolAnd | F::BoolOr | F::BitAnd | F::BitOr | F::BitXor | F::Product => {
                let partial = self.below(call, call.function.clone(), call.ty);
                Some(self.above(call.function.clone(), partial, call.ty))
            }
            // A node without rows has none to give, which may not pass for the value.
            F::AnyValue if self.groups > 0 => {
                let partial = self.below(call, F::AnyValue, call.ty);
                Some(self.above(F::AnyValue, partial, call.ty))
            }
            function => {
                let form = function.state_form()?;
                if of == Some(Type::Bytea) && form != StateForm::Pairs {
                    return None;
                }
                let partial = self.below(call, F::State(form), Type::Bytea);
                Some(self.above(function.clone(), partial, call.ty))
            }
        }
    }

    fn bounds(&self, argument: &Expr) -> Option<(i128, i128)> {
        plan::expr_bounds(argument, self.input)
    }

    /// The type of a node's sum, so wide that it cannot overflow; `None` where there is none.
    fn partial_sum(&self, argument: &Expr, whole: Type) -> Option<Type> {
        let of = argument.ty;
        if of.is_float() {
            return Some(whole);
        }
        if !(of.is_integer() || of.is_decimal()) {
            return None;
        }
        let wide = match of {
            Type::Decimal { scale, .. } => Type::Decimal { precision: 38, scale },
            _ => Type::HugeInt,
        };
        let bounds = self.bounds(argument);
        [whole, wide].into_iter().find(|ty| sum_fits(of, bounds, *ty, self.rows))
    }

    fn average(&mut self, call: &AggregateCall) -> Option<Expr> {
        let argument = call.argument.as_ref()?;
        let of = argument.ty;
        let (partial, whole) = if of.is_float() {
            (Type::Double, Type::Double)
        } else {
            let wide = Type::Decimal { precision: 38, scale: of.scale() };
            let partial = self.partial_sum(argument, sum_type(of))?;
            if !sum_fits(of, self.bounds(argument), wide, self.rows) {
                return None;
            }
            (partial, wide)
        };
        let sum = self.below(call, F::Sum, partial);
        let sum = if sum.ty == whole { sum } else { sum.cast(whole) };
        let count = self.below(call, F::Count, Type::BigInt);
        let sum = self.above(F::Sum, sum, whole);
        let count = self.above(F::Sum, count, Type::BigInt);
        Some(quotient(sum, count, call.ty))
    }

    /// A call of the lower half with the argument and filter of `call`; its column as the upper half sees it.
    fn below(&mut self, call: &AggregateCall, function: F, ty: Type) -> Expr {
        let never_null = function.counts();
        let passes = matches!(function, F::Min | F::Max | F::AnyValue);
        let lower = AggregateCall {
            function,
            argument: call.argument.clone(),
            distinct: false,
            filter: call.filter.clone(),
            ty,
        };
        let known = self.halves.lower.iter().position(|(known, _)| *known == lower);
        let at = known.unwrap_or_else(|| {
            let column = OutputColumn {
                name: format!("partial {}", self.column.name),
                ty,
                nullable: !never_null,
                bounds: self.column.bounds.filter(|_| passes),
            };
            self.halves.lower.push((lower, column));
            self.halves.lower.len() - 1
        });
        Expr::input(self.groups + at, ty)
    }

    fn above(&mut self, function: F, argument: Expr, ty: Type) -> Expr {
        let call = AggregateCall { function, argument: Some(argument), distinct: false, filter: None, ty };
        let known = self.halves.upper.iter().position(|(known, _)| *known == call);
        let at = known.unwrap_or_else(|| {
            let bounds = self.column.bounds.filter(|_| self.column.ty == ty);
            let column = OutputColumn { name: self.column.name.clone(), ty, nullable: true, bounds };
            self.halves.upper.push((call, column));
            self.halves.upper.len() - 1
        });
        Expr::input(self.groups + at, ty)
    }

    /// The sum of counts: a count has a value where nothing was counted.
    fn sum_of_counts(&mut self, partial: Expr) -> Expr {
        let sum = self.above(F::Sum, partial, Type::BigInt);
        if self.groups > 0 {
            // Each group has rows, and each node's group its count.
            if let ExprKind::Input(at) = sum.kind {
                self.halves.upper[at - self.groups].1.nullable = false;
            }
            return sum;
        }
        let arguments = vec![sum, Expr::literal(Value::I64(0), Type::BigInt)];
        Expr::new(ExprKind::Function { function: Function::Coalesce, arguments }, Type::BigInt)
    }
}
