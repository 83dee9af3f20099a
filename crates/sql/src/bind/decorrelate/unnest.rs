//! Unnesting of any correlated plan, after T. Neumann and A. Kemper, "Unnesting Arbitrary Queries", BTW 2015.
//!
//! The correlated columns' distinct values are a relation D, the domain. `unnest(plan)` gives the plan's rows for
//! each row of D at once: D is pushed down to where the outer columns are used, and grouping, DISTINCT and set
//! operations carry D's columns along. What the paper calls the dependent join is then an ordinary join on D's
//! columns, in which NULL equals NULL. It costs a second evaluation of the outer plan, so `decorrelate` first tries
//! the cheaper ways.

use std::collections::{BTreeSet, HashMap, HashSet};

use plan::logical::ColumnTable;
use plan::{
    AggregateFunction, ColumnId, Expr, ExprKind, Function, JoinKind, LogicalPlan, SortKey, WindowCall,
};
use types::{Comparison, Error, Result, Type, Value};

use crate::bind::decorrelate::deferred::{Runs, is_volatile_here};
use crate::bind::substitute;

/// Columns that a plan uses but does not produce.
pub(crate) fn free_columns(plan: &LogicalPlan) -> BTreeSet<ColumnId> {
    let (mut used, mut made) = (BTreeSet::new(), HashSet::new());
    let mut open = vec![plan];
    while let Some(node) = open.pop() {
        for expr in node.expressions() {
            collect_columns(expr, &mut used);
        }
        made_here(node, &mut made);
        open.extend(node.children());
    }
    used.retain(|id| !made.contains(id));
    used
}

/// Every node's expressions use only columns that the nodes below it deliver.
pub(crate) fn is_closed(plan: &LogicalPlan) -> bool {
    let children = plan.children();
    let delivered: HashSet<ColumnId> = match plan {
        LogicalPlan::Scan { .. } => plan.output().into_iter().collect(),
        LogicalPlan::Join { left, right, .. } => left.output().into_iter().chain(right.output()).collect(),
        _ => children.iter().flat_map(|child| child.output()).collect(),
    };
    let mut used = BTreeSet::new();
    plan.expressions().into_iter().for_each(|expr| collect_columns(expr, &mut used));
    used.iter().all(|id| delivered.contains(id)) && children.into_iter().all(is_closed)
}

fn collect_columns(expr: &Expr, out: &mut BTreeSet<ColumnId>) {
    if let ExprKind::Column(id) = expr.kind {
        out.insert(id);
    }
    for child in expr.children() {
        collect_columns(child, out);
    }
}

/// Every column that a plan's nodes produce, at whatever depth.
pub(crate) fn made_columns(plan: &LogicalPlan) -> HashSet<ColumnId> {
    let mut made = HashSet::new();
    let mut open = vec![plan];
    while let Some(node) = open.pop() {
        made_here(node, &mut made);
        open.extend(node.children());
    }
    made
}

fn made_here(node: &LogicalPlan, made: &mut HashSet<ColumnId>) {
    match node {
        LogicalPlan::Scan { columns, .. } => made.extend(columns.iter().map(|(id, _)| *id)),
        LogicalPlan::Values { columns, .. } | LogicalPlan::Union { columns, .. } => made.extend(columns),
        // A column passed on is made further down, or else is an outer one.
        LogicalPlan::Project { expressions, .. } => {
            made.extend(expressions.iter().filter(|(id, e)| e.as_column() != Some(*id)).map(|(id, _)| *id));
        }
        LogicalPlan::Aggregate { groups, aggregates, .. } => {
            made.extend(groups.iter().filter(|(id, e)| e.as_column() != Some(*id)).map(|(id, _)| *id));
            let passes = |id: ColumnId, argument: &Option<Expr>| {
                argument.as_ref().and_then(Expr::as_column) == Some(id)
            };
            made.extend(aggregates.iter().filter(|(id, c)| !passes(*id, &c.argument)).map(|(id, _)| *id));
        }
        LogicalPlan::Join { mark, .. } => made.extend(*mark),
        LogicalPlan::Window { calls, .. } => made.extend(calls.iter().map(|(id, _)| *id)),
        LogicalPlan::Unnest { lists, ordinality, .. } => {
            made.extend(lists.iter().map(|(id, _)| *id));
            made.extend(*ordinality);
        }
        LogicalPlan::Filter { .. } | LogicalPlan::Sort { .. } | LogicalPlan::Limit { .. } => {}
    }
}

/// A copy of a plan in which every column it makes has a new id.
pub(crate) fn with_new_columns(
    plan: &LogicalPlan,
    columns: &mut ColumnTable,
) -> (LogicalPlan, HashMap<ColumnId, ColumnId>) {
    let mut renamed = HashMap::new();
    let mut made: Vec<ColumnId> = made_columns(plan).into_iter().collect();
    made.sort_unstable();
    for id in made {
        let info = columns.get(id).clone();
        renamed.insert(id, columns.add(info.name, info.ty, info.nullable));
    }
    let mut copy = plan.clone();
    rename(&mut copy, &renamed);
    (copy, renamed)
}

fn rename(plan: &mut LogicalPlan, renamed: &HashMap<ColumnId, ColumnId>) {
    let new = |id: &mut ColumnId| {
        if let Some(to) = renamed.get(id) {
            *id = *to;
        }
    };
    match plan {
        LogicalPlan::Scan { columns, .. } => columns.iter_mut().for_each(|(id, _)| new(id)),
        LogicalPlan::Values { columns, .. } => columns.iter_mut().for_each(new),
        LogicalPlan::Project { expressions, .. } => expressions.iter_mut().for_each(|(id, _)| new(id)),
        LogicalPlan::Aggregate { groups, aggregates, .. } => {
            groups.iter_mut().for_each(|(id, _)| new(id));
            aggregates.iter_mut().for_each(|(id, _)| new(id));
        }
        LogicalPlan::Join { mark, .. } => mark.iter_mut().for_each(new),
        LogicalPlan::Union { inputs, columns } => {
            inputs.iter_mut().for_each(|(_, ids)| ids.iter_mut().for_each(new));
            columns.iter_mut().for_each(new);
        }
        LogicalPlan::Window { calls, .. } => calls.iter_mut().for_each(|(id, _)| new(id)),
        LogicalPlan::Unnest { lists, ordinality, .. } => {
            lists.iter_mut().for_each(|(id, _)| new(id));
            ordinality.iter_mut().for_each(new);
        }
        LogicalPlan::Filter { .. } | LogicalPlan::Sort { .. } | LogicalPlan::Limit { .. } => {}
    }
    for expr in plan.expressions_mut() {
        rename_columns(expr, renamed);
    }
    for child in plan.children_mut() {
        rename(child, renamed);
    }
}

fn rename_columns(expr: &mut Expr, renamed: &HashMap<ColumnId, ColumnId>) {
    if let ExprKind::Column(id) = &mut expr.kind
        && let Some(to) = renamed.get(id)
    {
        *id = *to;
    }
    for child in expr.children_mut() {
        rename_columns(child, renamed);
    }
}

/// The domain: the distinct values of outer columns, copied out of a plan that has them.
pub(crate) struct Domain<'p> {
    /// The plan that produces the outer columns.
    pub source: &'p LogicalPlan,
    /// The columns whose distinct values make up the domain.
    pub outer: Vec<ColumnId>,
    /// Whether each row of the source is a row of the domain, for which volatile parts of the plan are evaluated anew.
    pub row_by_row: bool,
    /// What becomes of rows that were put off until the outer columns are known.
    pub runs: Runs<'p>,
}

type Renaming = HashMap<ColumnId, ColumnId>;

impl Domain<'_> {
    /// One more copy of the domain, and where the outer columns are in it.
    fn instance(&self, columns: &mut ColumnTable) -> (LogicalPlan, Renaming) {
        let rounds = self.runs.last_round(&[], columns);
        let (copy, renamed) = rounds.unwrap_or_else(|| with_new_columns(self.source, columns));
        let mut groups = Vec::with_capacity(self.outer.len());
        let mut map = Renaming::new();
        for id in &self.outer {
            let inside = renamed.get(id).copied().unwrap_or(*id);
            groups.push((inside, columns.expr(inside)));
            map.insert(*id, inside);
        }
        (LogicalPlan::Aggregate { input: Box::new(copy), groups, aggregates: vec![] }, map)
    }

    /// `plan` for every row of the domain: its own columns, and the domain's under the names in the map.
    pub fn unnest(&self, plan: LogicalPlan, columns: &mut ColumnTable) -> Result<(LogicalPlan, Renaming)> {
        if !self.concerns(&plan) {
            let (domain, map) = self.instance(columns);
            return Ok((join(domain, plan, JoinKind::Inner, vec![], None), map));
        }
        let put_off = self.runs.unnest(&plan, columns, |plan, columns| self.unnest(plan, columns))?;
        if let Some(rows) = put_off {
            return Ok(rows);
        }
        match plan {
            LogicalPlan::Filter { input, predicate } => {
                let (input, map) = self.unnest(*input, columns)?;
                let predicate = inside(predicate, &map, columns);
                Ok((LogicalPlan::Filter { input: Box::new(input), predicate }, map))
            }
            LogicalPlan::Project { input, expressions } => {
                let (input, map) = self.unnest(*input, columns)?;
                let mut expressions: Vec<(ColumnId, Expr)> =
                    expressions.into_iter().map(|(id, e)| (id, inside(e, &map, columns))).collect();
                carry(&mut expressions, &map, columns);
                Ok((LogicalPlan::Project { input: Box::new(input), expressions }, map))
            }
            LogicalPlan::Unnest { input, lists, ordinality, outer } => {
                let (input, map) = self.unnest(*input, columns)?;
                let lists = lists.into_iter().map(|(id, e)| (id, inside(e, &map, columns))).collect();
                Ok((LogicalPlan::Unnest { input: Box::new(input), lists, ordinality, outer }, map))
            }
            LogicalPlan::Aggregate { input, groups, aggregates } => {
                let whole = groups.is_empty();
                let (input, map) = self.unnest(*input, columns)?;
                let mut groups: Vec<(ColumnId, Expr)> =
                    groups.into_iter().map(|(id, e)| (id, inside(e, &map, columns))).collect();
                let aggregates: Vec<_> = aggregates
                    .into_iter()
                    .map(|(id, mut call)| {
                        call.argument = call.argument.map(|e| inside(e, &map, columns));
                        call.filter = call.filter.map(|e| inside(e, &map, columns));
                        (id, call)
                    })
                    .collect();
                carry(&mut groups, &map, columns);
                if !whole {
                    return Ok((LogicalPlan::Aggregate { input: Box::new(input), groups, aggregates }, map));
                }
                self.with_empty_groups(input, groups, aggregates, &map, columns)
            }
            LogicalPlan::Join { left, right, kind, on, residual, null_equals_null, null_aware, mark } => {
                let parts = JoinParts { on, residual, mark, null_equals_null, null_aware };
                if kind == JoinKind::Full {
                    return self.unnest_full_join(*left, *right, parts, columns);
                }
                self.unnest_join(*left, *right, kind, parts, columns)
            }
            LogicalPlan::Window { input, partition, order, calls } => {
                self.unnest_window(*input, partition, order, calls, columns)
            }
            LogicalPlan::Sort { input, limit: None, .. } => self.unnest(*input, columns),
            LogicalPlan::Sort { input, keys, limit: Some(count) } => {
                self.first_rows(*input, keys, 0, Some(count), columns)
            }
            LogicalPlan::Limit { input, offset, count } => match *input {
                // The order is below a projection where it is by something that is not selected.
                LogicalPlan::Project { input, expressions } => {
                    let limited = LogicalPlan::Limit { input, offset, count };
                    self.unnest(LogicalPlan::Project { input: Box::new(limited), expressions }, columns)
                }
                LogicalPlan::Sort { input, keys, limit: None } => {
                    self.first_rows(*input, keys, offset, count, columns)
                }
                other => self.first_rows(other, vec![], offset, count, columns),
            },
            LogicalPlan::Union { inputs, columns: outputs } => self.unnest_union(inputs, outputs, columns),
            LogicalPlan::Scan { columns: own, filters, .. } if filters.is_empty() => {
                let rows = self.runs.last_round(&own, columns);
                rows.ok_or_else(|| Error::internal("a scan uses an outer column"))
            }
            LogicalPlan::Scan { .. } | LogicalPlan::Values { .. } => {
                Err(Error::internal("a leaf of a plan uses an outer column"))
            }
        }
    }

    /// Each row of the domain has partitions of its own.
    fn unnest_window(
        &self,
        input: LogicalPlan,
        partition: Vec<Expr>,
        order: Vec<SortKey>,
        calls: Vec<(ColumnId, WindowCall)>,
        columns: &mut ColumnTable,
    ) -> Result<(LogicalPlan, Renaming)> {
        let (input, map) = self.unnest(input, columns)?;
        let mut partition: Vec<Expr> = partition.into_iter().map(|e| inside(e, &map, columns)).collect();
        partition.extend(self.outer.iter().map(|o| columns.expr(map[o])));
        let order = order
            .into_iter()
            .map(|key| SortKey { expr: inside(key.expr.clone(), &map, columns), ..key })
            .collect();
        let calls = calls
            .into_iter()
            .map(|(id, mut call)| {
                for expr in call.expressions_mut() {
                    let taken = std::mem::replace(expr, Expr::boolean(false));
                    *expr = inside(taken, &map, columns);
                }
                (id, call)
            })
            .collect();
        Ok((LogicalPlan::Window { input: Box::new(input), partition, order, calls }, map))
    }

    /// Every input delivers the domain's columns, too.
    fn unnest_union(
        &self,
        inputs: Vec<(LogicalPlan, Vec<ColumnId>)>,
        mut outputs: Vec<ColumnId>,
        columns: &mut ColumnTable,
    ) -> Result<(LogicalPlan, Renaming)> {
        let own: Vec<ColumnId> = self
            .outer
            .iter()
            .map(|id| {
                let info = columns.get(*id).clone();
                columns.add(info.name, info.ty, info.nullable)
            })
            .collect();
        let mut unnested = Vec::with_capacity(inputs.len());
        for (input, mut ids) in inputs {
            let (input, map) = self.unnest(input, columns)?;
            ids.extend(self.outer.iter().map(|o| map[o]));
            unnested.push((input, ids));
        }
        outputs.extend(&own);
        let map = self.outer.iter().copied().zip(own).collect();
        Ok((LogicalPlan::Union { inputs: unnested, columns: outputs }, map))
    }

    /// LIMIT and OFFSET: rows are numbered for each row of the domain, in the order given.
    fn first_rows(
        &self,
        input: LogicalPlan,
        order: Vec<SortKey>,
        offset: u64,
        count: Option<u64>,
        columns: &mut ColumnTable,
    ) -> Result<(LogicalPlan, Renaming)> {
        let (input, map) = self.unnest(input, columns)?;
        let mut expressions: Vec<(ColumnId, Expr)> =
            input.output().into_iter().map(|id| (id, columns.expr(id))).collect();
        carry(&mut expressions, &map, columns);
        let number = columns.add("row_number", Type::BigInt, false);
        let order = order
            .into_iter()
            .map(|key| SortKey { expr: inside(key.expr.clone(), &map, columns), ..key })
            .collect();
        let numbered = LogicalPlan::Window {
            input: Box::new(input),
            partition: self.outer.iter().map(|o| columns.expr(map[o])).collect(),
            order,
            calls: vec![(number, WindowCall::row_number())],
        };
        let against = |op, rows: u64| {
            // No partition has more rows than a BIGINT counts.
            let rows = Value::I64(i64::try_from(rows).unwrap_or(i64::MAX));
            Expr::compare(op, columns.expr(number), Expr::literal(rows, Type::BigInt))
        };
        let mut kept = Vec::new();
        if offset > 0 {
            kept.push(against(Comparison::Greater, offset));
        }
        if let Some(count) = count {
            kept.push(against(Comparison::LessOrEqual, offset.saturating_add(count)));
        }
        let predicate = Expr::and(kept);
        let filtered = LogicalPlan::Filter { input: Box::new(numbered), predicate };
        Ok((LogicalPlan::Project { input: Box::new(filtered), expressions }, map))
    }

    /// An aggregation without groups has a row even where nothing was aggregated: the domain is joined once more.
    fn with_empty_groups(
        &self,
        input: LogicalPlan,
        groups: Vec<(ColumnId, Expr)>,
        aggregates: Vec<(ColumnId, plan::AggregateCall)>,
        map: &Renaming,
        columns: &mut ColumnTable,
    ) -> Result<(LogicalPlan, Renaming)> {
        let mut counts = Vec::new();
        let mut expressions = Vec::with_capacity(aggregates.len() + self.outer.len());
        let mut calls = Vec::with_capacity(aggregates.len());
        for (id, call) in aggregates {
            // The call moves to a new id; the old one is what is seen above, with 0 for a missing count.
            let info = columns.get(id).clone();
            let inner = columns.add(info.name, info.ty, true);
            let value = Expr::column(inner, call.ty);
            let value = if is_count(&call.function) { or_zero(value) } else { value };
            expressions.push((id, value));
            counts.push(inner);
            calls.push((inner, call));
        }
        let grouped = LogicalPlan::Aggregate { input: Box::new(input), groups, aggregates: calls };
        let (domain, outside) = self.instance(columns);
        let on = self.outer.iter().map(|o| (columns.expr(outside[o]), columns.expr(map[o]))).collect();
        let joined = null_safe(join(domain, grouped, JoinKind::Left, on, None));
        carry(&mut expressions, &outside, columns);
        Ok((LogicalPlan::Project { input: Box::new(joined), expressions }, outside))
    }

    fn unnest_join(
        &self,
        left: LogicalPlan,
        right: LogicalPlan,
        kind: JoinKind,
        parts: JoinParts,
        columns: &mut ColumnTable,
    ) -> Result<(LogicalPlan, Renaming)> {
        use JoinKind as J;
        let (on_left, on_right) = (self.concerns(&left), self.concerns(&right));
        let left_kept = matches!(kind, J::Left | J::LeftSemi | J::LeftAnti | J::LeftMark);
        let right_kept = matches!(kind, J::Right | J::RightSemi | J::RightAnti);
        // The side whose rows are kept must know the domain, or unmatched rows would not.
        let left_needed = on_left || left_kept || (!on_right && !right_kept);
        let right_needed = on_right || right_kept;
        let (left, left_map) = match left_needed {
            true => {
                let (p, m) = self.unnest(left, columns)?;
                (p, Some(m))
            }
            false => (left, None),
        };
        let (right, right_map) = match right_needed {
            true => {
                let (p, m) = self.unnest(right, columns)?;
                (p, Some(m))
            }
            false => (right, None),
        };
        let map = if right_kept { right_map.as_ref() } else { left_map.as_ref().or(right_map.as_ref()) };
        let Some(map) = map.cloned() else { return Err(Error::internal("a join lost the domain")) };
        let both = left_map.is_some() && right_map.is_some();
        let made = made_columns(&right);
        let is_right = |id: ColumnId| made.contains(&id);
        let within: Vec<(Expr, Expr)> =
            parts.on.into_iter().map(|(l, r)| (inside(l, &map, columns), inside(r, &map, columns))).collect();
        let mut residual: Vec<Expr> = parts.residual.map(|r| inside(r, &map, columns)).into_iter().collect();
        let mut on = Vec::new();
        // NULLs are equal in the domain. Keys that are strict can join it there, if a further condition drops the
        // pairs of NULLs.
        let null_equals_null = parts.null_equals_null || both;
        // NOT IN over all of the right side stays as it is. Over its part for one row of the domain it is a
        // condition.
        let null_aware = parts.null_aware && !right_needed;
        for (l, r) in within {
            let spans = side(&l, &is_right) == Some(false) && side(&r, &is_right) == Some(true);
            if parts.null_aware && !null_aware {
                let equal = Expr::compare(types::Comparison::Equal, l, r);
                let not_false = ExprKind::IsBoolean { input: Box::new(equal), value: false, negated: true };
                residual.push(Expr::new(not_false, Type::Boolean));
            } else if parts.null_equals_null && !spans {
                let kind = ExprKind::NotDistinct { left: Box::new(l), right: Box::new(r), negated: false };
                residual.push(Expr::new(kind, Type::Boolean));
            } else if parts.null_equals_null || null_aware {
                on.push((l, r));
            } else {
                if both && spans {
                    on.push((l.clone(), r.clone()));
                }
                residual.push(Expr::compare(types::Comparison::Equal, l, r));
            }
        }
        if let (Some(l), Some(r)) = (&left_map, &right_map) {
            on.extend(self.outer.iter().map(|o| (columns.expr(l[o]), columns.expr(r[o]))));
        } else if !parts.null_equals_null && !parts.null_aware {
            // No domain on both sides: the join's own equalities can be its keys again.
            let (keys, rest) = split_equalities(residual, &is_right);
            on = keys;
            residual = rest;
        }
        let residual = if residual.is_empty() { None } else { Some(Expr::and(residual)) };
        let mut joined = join(left, right, kind, on, residual);
        if let LogicalPlan::Join { mark, null_equals_null: equal, null_aware: aware, .. } = &mut joined {
            *mark = parts.mark;
            *equal = null_equals_null;
            *aware = null_aware;
        }
        Ok((joined, map))
    }

    /// Both sides of a FULL join keep their rows, so both know the domain; a row without a partner has it from the
    /// side that it comes from.
    fn unnest_full_join(
        &self,
        left: LogicalPlan,
        right: LogicalPlan,
        parts: JoinParts,
        columns: &mut ColumnTable,
    ) -> Result<(LogicalPlan, Renaming)> {
        let (left, left_map) = self.unnest(left, columns)?;
        let (right, right_map) = self.unnest(right, columns)?;
        let mut on: Vec<(Expr, Expr)> =
            self.outer.iter().map(|o| (columns.expr(left_map[o]), columns.expr(right_map[o]))).collect();
        let mut residual = Vec::new();
        for (l, r) in parts.on {
            // Conditions hold within one row of the domain, whichever side it is taken from.
            let (l, r) = (inside(l, &left_map, columns), inside(r, &right_map, columns));
            if !parts.null_equals_null {
                residual.push(Expr::compare(types::Comparison::Equal, l.clone(), r.clone()));
            }
            on.push((l, r));
        }
        residual.extend(parts.residual.map(|r| inside(r, &left_map, columns)));
        let residual = if residual.is_empty() { None } else { Some(Expr::and(residual)) };
        let joined = null_safe(join(left, right, JoinKind::Full, on, residual));
        let mut expressions: Vec<(ColumnId, Expr)> =
            joined.output().into_iter().map(|id| (id, columns.expr(id))).collect();
        let mut map = Renaming::new();
        for o in &self.outer {
            let info = columns.get(*o).clone();
            let arguments = vec![columns.expr(left_map[o]), columns.expr(right_map[o])];
            let kind = ExprKind::Function { function: Function::Coalesce, arguments };
            let id = columns.add(info.name, info.ty, info.nullable);
            expressions.push((id, Expr::new(kind, info.ty)));
            map.insert(*o, id);
        }
        Ok((LogicalPlan::Project { input: Box::new(joined), expressions }, map))
    }

    fn concerns(&self, plan: &LogicalPlan) -> bool {
        let free = free_columns(plan);
        self.outer.iter().any(|o| free.contains(o))
            || self.runs.reads_working(plan)
            || (self.row_by_row && is_volatile_here(plan))
    }
}

/// The parts of a join's condition and kind.
struct JoinParts {
    on: Vec<(Expr, Expr)>,
    residual: Option<Expr>,
    mark: Option<ColumnId>,
    null_equals_null: bool,
    null_aware: bool,
}

/// Outer columns replaced by the domain's.
fn inside(expr: Expr, map: &Renaming, columns: &ColumnTable) -> Expr {
    substitute(expr, &|id| map.get(&id).map(|to| columns.expr(*to)))
}

/// Passes the domain's columns on, each once and in a fixed order.
fn carry(expressions: &mut Vec<(ColumnId, Expr)>, map: &Renaming, columns: &ColumnTable) {
    let mut ids: Vec<ColumnId> = map.values().copied().collect();
    ids.sort_unstable();
    for id in ids {
        if !expressions.iter().any(|(e, _)| *e == id) {
            expressions.push((id, columns.expr(id)));
        }
    }
}

/// Whether the aggregate gives 0, not NULL, without rows.
pub(crate) fn is_count(function: &AggregateFunction) -> bool {
    function.counts()
}

/// A count that is NULL for want of rows is 0.
pub(crate) fn or_zero(count: Expr) -> Expr {
    let arguments = vec![count, Expr::literal(Value::I64(0), Type::BigInt)];
    Expr::new(ExprKind::Function { function: Function::Coalesce, arguments }, Type::BigInt)
}

/// A join with the given parts; equality does not hold for NULLs.
pub(crate) fn join(
    left: LogicalPlan,
    right: LogicalPlan,
    kind: JoinKind,
    on: Vec<(Expr, Expr)>,
    residual: Option<Expr>,
) -> LogicalPlan {
    LogicalPlan::Join {
        left: Box::new(left),
        right: Box::new(right),
        kind,
        on,
        residual,
        null_equals_null: false,
        null_aware: false,
        mark: None,
    }
}

/// The join with equality that holds for NULLs.
pub(crate) fn null_safe(mut plan: LogicalPlan) -> LogicalPlan {
    if let LogicalPlan::Join { null_equals_null, .. } = &mut plan {
        *null_equals_null = true;
    }
    plan
}

/// Splits conditions into equalities of a left with a right expression, and the rest.
pub(crate) fn split_equalities(
    conditions: Vec<Expr>,
    is_right: &dyn Fn(ColumnId) -> bool,
) -> (Vec<(Expr, Expr)>, Vec<Expr>) {
    let (mut on, mut rest) = (Vec::new(), Vec::new());
    for condition in conditions {
        match condition.kind {
            ExprKind::Compare { op: types::Comparison::Equal, left, right } => {
                match (side(&left, is_right), side(&right, is_right)) {
                    (Some(false), Some(true)) => on.push((*left, *right)),
                    (Some(true), Some(false)) => on.push((*right, *left)),
                    _ => rest.push(Expr::compare(types::Comparison::Equal, *left, *right)),
                }
            }
            _ => rest.push(condition),
        }
    }
    (on, rest)
}

/// Whether an expression uses right columns only (true) or left ones only (false); `None` for both or neither.
pub(crate) fn side(expr: &Expr, is_right: &dyn Fn(ColumnId) -> bool) -> Option<bool> {
    let mut used = BTreeSet::new();
    collect_columns(expr, &mut used);
    let rights = used.iter().filter(|id| is_right(**id)).count();
    match (rights, used.len()) {
        (_, 0) => None,
        (0, _) => Some(false),
        (r, n) if r == n => Some(true),
        _ => None,
    }
}
