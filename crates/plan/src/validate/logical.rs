//! Logical queries: columns that exist and are delivered where they are used, and expressions over them.
//!
//! This is less than is asked of physical plans: the optimizer, which comes next, and the plan it makes, see to the rest.
//! Called for programs that come from elsewhere, before they are planned; nothing here recurses with the plan.

use std::collections::HashSet;

use types::{Result, Type};

use super::expr::{Scope, aggregate, expression};
use super::{
    Computed, DEPTH_MAX, agree, condition, ensure, file, invalid, once, sort_keys, value, window_call,
};
use crate::encoding::Document;
use crate::{ColumnId, ColumnTable, CommonQuery, Expr, JoinKind, LogicalPlan, LogicalQuery, ScanSource};

impl Document for LogicalQuery {
    const KIND: &'static str = "query";

    fn validate(&self) -> Result<()> {
        LogicalQuery::validate(self)
    }
}

impl LogicalQuery {
    /// Whether the query can be planned: see the head of this file.
    ///
    /// # Errors
    /// The first rule that is broken.
    pub fn validate(&self) -> Result<()> {
        self.validate_after(&[])
    }

    /// As `validate`, for a query whose first scalar subqueries have run and left: these are their types.
    ///
    /// # Errors
    /// The first rule that is broken.
    pub fn validate_after(&self, bound: &[Type]) -> Result<()> {
        let mut types = bound.to_vec();
        for plan in &self.subqueries {
            let delivered = validate_plan(plan, self, &types)?;
            let [id] = delivered.as_slice() else {
                return Err(invalid("a scalar subquery without one column"));
            };
            types.push(self.columns.get(*id).ty);
        }
        for common in &self.common {
            validate_common(common, self, &types)?;
        }
        let delivered: HashSet<ColumnId> = validate_plan(&self.plan, self, &types)?.into_iter().collect();
        self.output.iter().try_for_each(|(id, _)| {
            ensure(delivered.contains(id), || format!("column {} is not delivered", id.0))
        })
    }
}

fn validate_common(common: &CommonQuery, query: &LogicalQuery, types: &[Type]) -> Result<()> {
    let all = |plan: &LogicalPlan, wanted: &[ColumnId]| {
        let delivered: HashSet<ColumnId> = validate_plan(plan, query, types)?.into_iter().collect();
        ensure(wanted.iter().all(|id| delivered.contains(id)), || "columns that are not delivered".to_owned())
    };
    ensure(common.subqueries <= types.len(), || "more subqueries than there are".to_owned())?;
    ensure(common.result < query.materialized, || "rows without a number".to_owned())?;
    all(&common.base, &common.base_columns)?;
    if let Some(step) = &common.step {
        all(&step.plan, &step.columns)?;
        ensure(step.columns.len() == common.base_columns.len(), || "a step of another width".to_owned())?;
        ensure(step.working < query.materialized, || "rows without a number".to_owned())?;
        for (a, b) in step.columns.iter().zip(&common.base_columns) {
            let (a, b) = (query.columns.get(*a).ty, query.columns.get(*b).ty);
            ensure(agree(a, b), || format!("a step gives {a} where the base has {b}"))?;
        }
        if let Some(keyed) = &step.keyed {
            all(&keyed.fold, &keyed.columns)?;
            let numbers = [keyed.candidates, keyed.state];
            let known = numbers.iter().all(|number| *number < query.materialized);
            ensure(known, || "rows without a number".to_owned())?;
            let as_wide = keyed.columns.len() == common.base_columns.len();
            ensure(as_wide, || "rows of keys of another width".to_owned())?;
        }
    }
    Ok(())
}

/// A plan whose columns are all there; what it delivers.
fn validate_plan(root: &LogicalPlan, query: &LogicalQuery, types: &[Type]) -> Result<Vec<ColumnId>> {
    // Parents first, then from the last to the first: a node's inputs are known when it is looked at.
    let mut nodes = Vec::new();
    let mut open = vec![(root, 0)];
    while let Some((node, depth)) = open.pop() {
        ensure(depth < DEPTH_MAX, || format!("it is nested deeper than {DEPTH_MAX} nodes"))?;
        nodes.push(node);
        open.extend(node.children().into_iter().map(|child| (child, depth + 1)));
    }
    let computed = Computed { subqueries: Some(types.to_vec()), materialized: None };
    let mut ready: Vec<Vec<ColumnId>> = Vec::new();
    for node in nodes.into_iter().rev() {
        // The last input was pushed last before, so that it comes first here.
        let inputs = ready.split_off(ready.len() - node.children().len());
        ready.push(validate_node(node, inputs, query, &computed)?);
    }
    ready.pop().ok_or_else(|| invalid("a query without a plan"))
}

/// One node over what its inputs deliver, which is `inputs` in the order of `children`; what it delivers itself.
fn validate_node(
    node: &LogicalPlan,
    mut inputs: Vec<Vec<ColumnId>>,
    query: &LogicalQuery,
    computed: &Computed,
) -> Result<Vec<ColumnId>> {
    use LogicalPlan as L;
    let columns = &query.columns;
    let known: HashSet<ColumnId> = inputs.iter().flatten().copied().collect();
    let delivered = |id: ColumnId| known.contains(&id);
    let scope = Scope::logical(columns, &delivered, computed);
    let made = |id: ColumnId, ty: Type| made_of(id, ty, columns);
    let first =
        |inputs: &mut Vec<Vec<ColumnId>>| if inputs.is_empty() { vec![] } else { inputs.swap_remove(0) };
    match node {
        L::Scan { source, columns: read, filters } => {
            validate_scan(source, read, filters, query, computed)?;
            Ok(read.iter().map(|(id, _)| *id).collect())
        }
        L::Values { columns: ids, rows } => {
            let types: Vec<Type> = ids.iter().map(|id| type_of(*id, columns)).collect::<Result<_>>()?;
            for row in rows {
                ensure(row.len() == types.len(), || "a row of another width".to_owned())?;
                row.iter().zip(&types).try_for_each(|(value, ty)| value::fits(value, *ty))?;
            }
            Ok(ids.clone())
        }
        L::Filter { predicate, .. } => {
            condition(predicate, &scope)?;
            Ok(first(&mut inputs))
        }
        L::Project { expressions, .. } => {
            for (id, expr) in expressions {
                expression(expr, &scope)?;
                made(*id, expr.ty)?;
            }
            Ok(expressions.iter().map(|(id, _)| *id).collect())
        }
        L::Join { kind, on, residual, mark, .. } => {
            for (left, right) in on {
                expression(left, &scope)?;
                expression(right, &scope)?;
                ensure(left.ty.same_representation(right.ty), || {
                    format!("keys of {} and {}", left.ty, right.ty)
                })?;
            }
            if let Some(residual) = residual {
                condition(residual, &scope)?;
            }
            ensure(mark.is_some() == (*kind == JoinKind::LeftMark), || "a mark of no such join".to_owned())?;
            mark.iter().try_for_each(|id| made(*id, Type::Boolean))?;
            joined_columns(*kind, *mark, inputs)
        }
        L::Aggregate { groups, aggregates, .. } => {
            for (id, group) in groups {
                expression(group, &scope)?;
                made(*id, group.ty)?;
            }
            for (id, call) in aggregates {
                aggregate(&call.function, call.argument.as_ref(), call.filter.as_ref(), call.ty, &scope)?;
                made(*id, call.ty)?;
            }
            Ok(groups.iter().map(|(id, _)| *id).chain(aggregates.iter().map(|(id, _)| *id)).collect())
        }
        L::Sort { keys, .. } => {
            sort_keys(keys, &scope)?;
            Ok(first(&mut inputs))
        }
        L::Limit { .. } => Ok(first(&mut inputs)),
        L::Window { partition, order, calls, .. } => {
            partition.iter().try_for_each(|e| expression(e, &scope))?;
            sort_keys(order, &scope)?;
            for (id, call) in calls {
                window_call(call, order.len(), &scope)?;
                made(*id, call.ty)?;
            }
            let mut ids = first(&mut inputs);
            ids.extend(calls.iter().map(|(id, _)| *id));
            Ok(ids)
        }
        L::Unnest { lists, ordinality, .. } => {
            for (id, list) in lists {
                expression(list, &scope)?;
                made(*id, list.ty.element().ok_or_else(|| invalid(format!("an unnest of {}", list.ty)))?)?;
            }
            ordinality.iter().try_for_each(|id| made(*id, Type::BigInt))?;
            let mut ids = first(&mut inputs);
            ids.extend(lists.iter().map(|(id, _)| *id).chain(*ordinality));
            Ok(ids)
        }
        L::Union { inputs: from, columns: ids } => {
            validate_union(from, ids, &inputs, columns)?;
            Ok(ids.clone())
        }
    }
}

/// A union: its columns are made of what each input delivers.
fn validate_union(
    from: &[(LogicalPlan, Vec<ColumnId>)],
    ids: &[ColumnId],
    inputs: &[Vec<ColumnId>],
    columns: &ColumnTable,
) -> Result<()> {
    for ((_, taken), given) in from.iter().zip(inputs) {
        ensure(taken.len() == ids.len(), || "an input of another width".to_owned())?;
        let given: HashSet<ColumnId> = given.iter().copied().collect();
        for (id, from) in ids.iter().zip(taken) {
            ensure(given.contains(from), || format!("column {} is not delivered", from.0))?;
            made_of(*id, type_of(*from, columns)?, columns)?;
        }
    }
    Ok(())
}

/// A new column exists, and has the type of what it is made of.
fn made_of(id: ColumnId, ty: Type, columns: &ColumnTable) -> Result<()> {
    let own = type_of(id, columns)?;
    ensure(agree(own, ty), || format!("column {} of type {own} is made of {ty}", id.0))
}

/// A scan: its columns are those of its source, and its filters use no others.
fn validate_scan(
    source: &ScanSource,
    read: &[(ColumnId, usize)],
    filters: &[Expr],
    query: &LogicalQuery,
    computed: &Computed,
) -> Result<()> {
    let columns = &query.columns;
    if let ScanSource::File(source) = source {
        file::source(source)?;
    }
    let mut own = HashSet::new();
    for (id, at) in read {
        let ty = type_of(*id, columns)?;
        once(&mut own, *id, "a column")?;
        if let Some(found) = source_type(source, *at, query)? {
            ensure(agree(found, ty), || format!("{found} is read as {ty}"))?;
        }
    }
    let delivered = |id: ColumnId| own.contains(&id);
    let scope = Scope::logical(columns, &delivered, computed);
    filters.iter().try_for_each(|filter| condition(filter, &scope))
}

/// What a join delivers of what its inputs deliver.
fn joined_columns(
    kind: JoinKind,
    mark: Option<ColumnId>,
    mut inputs: Vec<Vec<ColumnId>>,
) -> Result<Vec<ColumnId>> {
    let (Some(right), Some(mut left)) = (inputs.pop(), inputs.pop()) else {
        return Err(invalid("a join without two inputs"));
    };
    Ok(match kind {
        JoinKind::Inner | JoinKind::Left | JoinKind::Right | JoinKind::Full => {
            left.extend(right);
            left
        }
        JoinKind::LeftSemi | JoinKind::LeftAnti => left,
        JoinKind::RightSemi | JoinKind::RightAnti => right,
        JoinKind::LeftMark => {
            left.extend(mark);
            left
        }
    })
}

fn type_of(id: ColumnId, columns: &ColumnTable) -> Result<Type> {
    let exists = (id.0 as usize) < columns.len();
    ensure(exists, || format!("no column {}", id.0))?;
    Ok(columns.get(id).ty)
}

/// The type of a source's column at a position; `None` where the plan does not say.
fn source_type(source: &ScanSource, at: usize, query: &LogicalQuery) -> Result<Option<Type>> {
    let absent = || invalid("a column that its source does not have");
    Ok(match source {
        ScanSource::Table { .. } | ScanSource::Generator { .. } => None,
        ScanSource::File(source) => Some(source.schema.fields().get(at).ok_or_else(absent)?.ty),
        ScanSource::Series(series) => {
            ensure(series.is_valid() && at == 0, || "a series that leaves its type".to_owned())?;
            Some(series.ty)
        }
        ScanSource::Materialized(rows) => {
            ensure(rows.index < query.materialized, || "rows without a number".to_owned())?;
            Some(rows.columns.get(at).ok_or_else(absent)?.ty)
        }
    })
}
