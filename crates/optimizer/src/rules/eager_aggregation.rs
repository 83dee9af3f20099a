//! Rule `eager_aggregation`: rows are grouped below a join before they are joined, and the groups are put together
//! above it, where that leaves far fewer rows to join.
//!
//! ```text
//!  Aggregate by n_name: sum(l_quantity), count(*)      Aggregate by n_name: sum(partial sum), sum(partial count)
//!    HashJoin l_suppkey = s_suppkey                       HashJoin l_suppkey = s_suppkey
//!      TableScan lineitem                          ==>      Aggregate by l_suppkey: sum(l_quantity), count(*)
//!      HashJoin s_nationkey = n_nationkey                     TableScan lineitem
//!                                                           HashJoin s_nationkey = n_nationkey
//! ```
//! Yan and Larson, "Eager Aggregation and Lazy Aggregation" (VLDB 1995). Where it pays is judged by estimates
//! (`join_order::eager`); here is what an aggregate becomes.
//!
//! Sound because rows of one partial group agree on every column that anything above looks at, so that they meet the
//! same partners in each join above: what is computed of them once counts as often as each of them would have. That
//! takes group keys whose equal values are identical (floating point and intervals are none), sums that do not depend
//! on the order of addition, and proof that nothing computed below the join can fail where the whole would not: the
//! rows that a partial sum adds up may never have come out of the join, or may cancel out in the end.

use plan::bounds::Bounds;
use plan::{
    AggregateCall, AggregateFunction as F, Arithmetic, ColumnId, Expr, ExprKind, Function, OutputColumn,
    PhysicalNode as N, PhysicalPlan,
};
use types::{Comparison, Physical, Type, Value, decimal};

use super::narrow_decimals::fits;
use crate::columns::ColumnSet;
use crate::lower::Relation;
use crate::planner::Planner;

/// Group columns with the expressions that they are.
pub(crate) type Groups = Vec<(ColumnId, Expr)>;
/// Aggregate calls with the columns that they become.
pub(crate) type Calls = Vec<(ColumnId, AggregateCall)>;

/// An aggregation whose input is about to be joined together.
#[derive(Clone)]
pub(crate) struct Request {
    pub(crate) groups: Groups,
    pub(crate) calls: Calls,
}

/// What is grouped below the join: expressions computed there as keys (columns needed above are keys without being
/// named here), and the calls.
pub(crate) struct Lower {
    pub(crate) keys: Groups,
    pub(crate) calls: Calls,
}

/// What is left to do above the join.
pub(crate) struct Upper {
    pub(crate) groups: Groups,
    pub(crate) calls: Calls,
    /// Results that are computed from those.
    pub(crate) computed: Groups,
    /// Sums of counts, which have a value in every group.
    pub(crate) never_null: Vec<ColumnId>,
}

/// What becomes of an aggregate when rows are grouped over given columns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Role {
    /// Computed below, put together above.
    Below,
    /// Repeated rows make no difference to it: as it was.
    Above,
    /// A sum or count below, of which a filter over other columns chooses above.
    FilteredAbove,
    /// A count of rows, each with the number of rows that its group had below.
    Weighted,
}

impl Upper {
    /// The columns it reads.
    pub(crate) fn input_columns(&self) -> ColumnSet {
        let mut columns = ColumnSet::new();
        self.groups.iter().for_each(|(_, e)| columns.add_expr(e));
        for (_, call) in &self.calls {
            call.argument.iter().chain(&call.filter).for_each(|e| columns.add_expr(e));
        }
        columns
    }
}

impl Request {
    /// The same with every expression rewritten.
    pub(crate) fn map(mut self, rewrite: impl Fn(Expr) -> Expr) -> Self {
        let mut put = |expr: &mut Expr| *expr = rewrite(std::mem::replace(expr, Expr::boolean(false)));
        self.groups.iter_mut().for_each(|(_, e)| put(e));
        for (_, call) in &mut self.calls {
            call.argument.iter_mut().chain(&mut call.filter).for_each(&mut put);
        }
        self
    }

    /// Whether every aggregate is of a kind that can be split at all.
    pub(crate) fn suits(&self) -> bool {
        let call_volatile =
            |call: &AggregateCall| call.argument.iter().chain(&call.filter).any(Expr::is_volatile);
        let volatile = self.groups.iter().any(|(_, e)| e.is_volatile())
            || self.calls.iter().any(|(_, call)| call_volatile(call));
        !volatile
            && self.calls.iter().all(|(_, call)| match call.function {
                F::CountStar | F::Count | F::Min | F::Max | F::BoolAnd | F::BoolOr | F::AnyValue => true,
                F::Sum | F::Avg => {
                    let exact = |t: Type| t.is_integer() || t.is_decimal();
                    call.argument.as_ref().is_some_and(|a| exact(a.ty))
                }
                _ => false,
            })
    }
}

/// `None` when rows may not be grouped over `below` for the sake of this aggregate.
pub(crate) fn role(call: &AggregateCall, below: &ColumnSet) -> Option<Role> {
    let within = |expr: Option<&Expr>| expr.is_none_or(|e| ColumnSet::of(e).is_subset(below));
    let (argument, filter) = (within(call.argument.as_ref()), within(call.filter.as_ref()));
    let indifferent = matches!(call.function, F::Min | F::Max | F::BoolAnd | F::BoolOr | F::AnyValue);
    if call.distinct && !indifferent {
        return Some(Role::Above);
    }
    if argument && filter {
        return Some(Role::Below);
    }
    match call.function {
        _ if indifferent => Some(Role::Above),
        _ if argument => Some(Role::FilteredAbove),
        F::CountStar | F::Count => Some(Role::Weighted),
        _ => None,
    }
}

/// Columns of the aggregation's input that are still looked at above the partial groups over `below`, and the group
/// expressions that are computed below.
pub(crate) fn looked_at_above(
    request: &Request,
    roles: &[Role],
    below: &ColumnSet,
) -> (ColumnSet, Vec<usize>) {
    let mut columns = ColumnSet::new();
    let mut computed = Vec::new();
    for (at, (_, expr)) in request.groups.iter().enumerate() {
        let used = ColumnSet::of(expr);
        let moves =
            expr.as_column().is_none() && !used.is_empty() && used.is_subset(below) && !expr.may_fail();
        if moves {
            computed.push(at);
        } else {
            columns.union(&used);
        }
    }
    for ((_, call), role) in request.calls.iter().zip(roles) {
        match role {
            Role::Below => {}
            Role::FilteredAbove => call.filter.iter().for_each(|e| columns.add_expr(e)),
            Role::Above | Role::Weighted => {
                call.argument.iter().chain(&call.filter).for_each(|e| columns.add_expr(e));
            }
        }
    }
    (columns, computed)
}

/// A type whose equal values cannot be told apart.
pub(crate) fn is_plain_key(ty: Type) -> bool {
    !(ty.is_float() || ty.is_interval())
}

/// Rows, at most, below the join and above it.
#[derive(Clone, Copy)]
pub(crate) struct RowsAtMost {
    pub(crate) below: u128,
    pub(crate) above: u128,
}

/// Whether everything that moves below the join is proven to give a value there: `input` has all the columns it uses.
pub(crate) fn is_safe(
    planner: &Planner<'_>,
    request: &Request,
    roles: &[Role],
    input: &Relation,
    rows: RowsAtMost,
) -> bool {
    let columns = &input.plan.output;
    let bound = |expr: &Expr| {
        let (expr, bounds) = planner.inputs(input).typed(expr.clone()).ok()?;
        cannot_fail(&expr, columns).then_some((expr.ty, bounds))
    };
    request.calls.iter().zip(roles).all(|((_, call), role)| {
        if matches!(role, Role::Above | Role::Weighted) {
            return true;
        }
        let filter = call.filter.as_ref().filter(|_| *role == Role::Below);
        if filter.is_some_and(|f| bound(f).is_none()) {
            return false;
        }
        let Some(argument) = &call.argument else { return true };
        let Some((ty, bounds)) = bound(argument) else { return false };
        match call.function {
            F::Sum => sum_fits(ty, bounds, call.ty, rows.below),
            F::Avg => {
                sum_fits(ty, bounds, sum_type(ty), rows.below)
                    && sum_fits(ty, bounds, Type::Decimal { precision: 38, scale: ty.scale() }, rows.above)
            }
            _ => true,
        }
    })
}

/// The type of SUM over `ty`.
pub(crate) fn sum_type(ty: Type) -> Type {
    match ty {
        Type::Decimal { scale, .. } => Type::Decimal { precision: 38, scale },
        Type::UBigInt | Type::HugeInt => Type::HugeInt,
        _ => Type::BigInt,
    }
}

/// Whether no `rows` values of type `ty` within `bounds` can add up to more than `sum` holds.
pub(crate) fn sum_fits(ty: Type, bounds: Bounds, sum: Type, rows: u128) -> bool {
    let of_type = || match ty {
        Type::Decimal { precision, .. } => {
            Some((-decimal::power_of_ten(precision), decimal::power_of_ten(precision)))
        }
        _ => ty.held_range(),
    };
    let Some((low, high)) = bounds.or_else(of_type) else { return false };
    let largest = low.unsigned_abs().max(high.unsigned_abs());
    let total = largest.checked_mul(rows).and_then(|t| i128::try_from(t).ok());
    total.is_some_and(|t| fits(sum, Some((-t, t))))
}

/// Whether a bound expression has a value, or NULL, for every row. More than `Expr::may_fail` this knows of bounds.
fn cannot_fail(expr: &Expr, inputs: &[OutputColumn]) -> bool {
    let bounded = || fits(expr.ty, plan::bounds::expr_bounds(expr, inputs));
    let exact = |t: Type| t.is_integer() || t.is_decimal();
    let own = match &expr.kind {
        ExprKind::Arithmetic { op, checked, .. } => {
            !matches!(op, Arithmetic::Divide | Arithmetic::Modulo) && (!checked || bounded())
        }
        ExprKind::Negate(_) => bounded(),
        ExprKind::Cast { input, lenient } => {
            *lenient
                || (input.ty.same_representation(expr.ty) && !expr.ty.is_json())
                || (exact(input.ty) && (expr.ty == Type::Double || (exact(expr.ty) && bounded())))
        }
        ExprKind::Function { function, .. } => !matches!(function, Function::Absolute | Function::Substring),
        ExprKind::Library { .. }
        | ExprKind::Lambda(_)
        | ExprKind::External { .. }
        | ExprKind::ScalarSubquery(_)
        | ExprKind::Parameter(_) => false,
        _ => true,
    };
    own && expr.children().into_iter().all(|child| cannot_fail(child, inputs))
}

/// The two halves of an aggregation. `computed` are the group expressions that become keys below.
pub(crate) fn split(
    planner: &mut Planner<'_>,
    request: Request,
    roles: &[Role],
    computed: &[usize],
) -> (Lower, Upper) {
    let Request { mut groups, calls } = request;
    let mut lower = Lower { keys: vec![], calls: vec![] };
    for at in computed {
        let (id, expr) = &mut groups[*at];
        let name = planner.columns.get(*id).name.clone();
        let key = planner.columns.add(name, expr.ty, true);
        let column = Expr::column(key, expr.ty);
        lower.keys.push((key, std::mem::replace(expr, column)));
    }
    let mut halves = Halves {
        everywhere: !groups.is_empty(),
        upper: Upper { groups, calls: vec![], computed: vec![], never_null: vec![] },
        lower,
        rows: None,
        planner,
    };
    for ((id, call), role) in calls.into_iter().zip(roles) {
        halves.add(id, call, *role);
    }
    (halves.lower, halves.upper)
}

struct Halves<'h, 'p> {
    planner: &'h mut Planner<'p>,
    lower: Lower,
    upper: Upper,
    /// Each group above has a row, so sums of counts are not NULL.
    everywhere: bool,
    /// The column below that counts each group's rows.
    rows: Option<ColumnId>,
}

impl Halves<'_, '_> {
    fn add(&mut self, id: ColumnId, call: AggregateCall, role: Role) {
        let AggregateCall { function, argument, distinct, filter, ty } = call;
        let (under, over) = match role {
            Role::Above => {
                self.upper.calls.push((id, AggregateCall { function, argument, distinct, filter, ty }));
                return;
            }
            Role::Below => (filter, None),
            Role::FilteredAbove => (None, filter),
            Role::Weighted => {
                let rows = self.rows_below();
                let present = argument.map(|a| {
                    Expr::new(ExprKind::IsNull { input: Box::new(a), negated: true }, Type::Boolean)
                });
                let mut conditions: Vec<Expr> = present.into_iter().chain(filter).collect();
                let filter = match conditions.len() {
                    0 | 1 => conditions.pop(),
                    _ => Some(Expr::and(conditions)),
                };
                self.sum_of_counts(id, rows, filter);
                return;
            }
        };
        match function {
            F::CountStar | F::Count => {
                let partial = self.below(id, function, argument, under, Type::BigInt);
                self.sum_of_counts(id, partial, over);
            }
            F::Avg => {
                let Some(argument) = argument else { return };
                let from = argument.ty;
                let sum = self.below(id, F::Sum, Some(argument.clone()), under.clone(), sum_type(from));
                let count = self.below(id, F::Count, Some(argument), under, Type::BigInt);
                // Wide enough for whatever the average of the whole could be made of.
                let wide = Type::Decimal { precision: 38, scale: from.scale() };
                let sum = Expr::column(sum, sum_type(from));
                let sum = if sum.ty == wide { sum } else { sum.cast(wide) };
                let sum = self.above(id, "sum", sum, over.clone(), wide);
                let count = self.above(id, "count", Expr::column(count, Type::BigInt), over, Type::BigInt);
                self.upper.computed.push((id, quotient(sum, count, ty)));
            }
            _ => {
                let partial = self.below(id, function.clone(), argument, under, ty);
                let argument = Some(Expr::column(partial, ty));
                self.upper
                    .calls
                    .push((id, AggregateCall { function, argument, distinct: false, filter: over, ty }));
            }
        }
    }

    fn rows_below(&mut self) -> ColumnId {
        if let Some(known) = self.rows {
            return known;
        }
        let id = self.planner.columns.add("partial count", Type::BigInt, false);
        let call = AggregateCall {
            function: F::CountStar,
            argument: None,
            distinct: false,
            filter: None,
            ty: Type::BigInt,
        };
        self.lower.calls.push((id, call));
        self.rows = Some(id);
        id
    }

    fn below(
        &mut self,
        of: ColumnId,
        function: F,
        argument: Option<Expr>,
        filter: Option<Expr>,
        ty: Type,
    ) -> ColumnId {
        let name = format!("partial {}", self.planner.columns.get(of).name);
        let nullable = !matches!(function, F::Count | F::CountStar);
        let id = self.planner.columns.add(name, ty, nullable);
        self.lower.calls.push((id, AggregateCall { function, argument, distinct: false, filter, ty }));
        id
    }

    /// A sum above that goes into a computed result.
    fn above(&mut self, of: ColumnId, what: &str, argument: Expr, filter: Option<Expr>, ty: Type) -> Expr {
        let name = self.planner.columns.get(of).name.clone();
        let id = self.planner.columns.add(format!("{name} {what}"), ty, true);
        let call = AggregateCall { function: F::Sum, argument: Some(argument), distinct: false, filter, ty };
        self.upper.calls.push((id, call));
        Expr::column(id, ty)
    }

    /// `id` as the sum of counts made below: nothing at all counts 0.
    fn sum_of_counts(&mut self, id: ColumnId, partial: ColumnId, filter: Option<Expr>) {
        let argument = Expr::column(partial, Type::BigInt);
        if self.everywhere && filter.is_none() {
            let ty = Type::BigInt;
            let call =
                AggregateCall { function: F::Sum, argument: Some(argument), distinct: false, filter, ty };
            self.upper.calls.push((id, call));
            self.upper.never_null.push(id);
            return;
        }
        let sum = self.above(id, "total", argument, filter, Type::BigInt);
        let arguments = vec![sum, Expr::literal(Value::I64(0), Type::BigInt)];
        let kind = ExprKind::Function { function: Function::Coalesce, arguments };
        self.upper.computed.push((id, Expr::new(kind, Type::BigInt)));
    }
}

/// An average of type `ty` from its sum and count, NULL where nothing was counted; rounded as AVG rounds.
pub(crate) fn quotient(sum: Expr, count: Expr, ty: Type) -> Expr {
    let zero = Expr::literal(Value::I64(0), Type::BigInt);
    let some = Expr::compare(Comparison::Greater, count.clone(), zero);
    let (sum, count) = if ty.physical() == Physical::F64 {
        (sum.cast(ty), count.cast(ty))
    } else {
        (sum, count.cast(Type::Decimal { precision: 38, scale: 0 }))
    };
    let kind = ExprKind::Arithmetic {
        op: Arithmetic::Divide,
        left: Box::new(sum),
        right: Box::new(count),
        checked: true,
    };
    let branches = vec![(some, Expr::new(kind, ty))];
    Expr::new(ExprKind::Case { branches, otherwise: None }, ty)
}

impl Planner<'_> {
    /// A number of rows that `plan` cannot exceed, whatever the data.
    pub(crate) fn rows_at_most(&mut self, plan: &PhysicalPlan) -> u128 {
        plan::rows::rows_at_most(plan, &mut |source| match &source.node {
            N::TableScan { table, .. } => self.table(*table).map(|table| table.rows),
            _ => None,
        })
    }
}
