//! Whether a plan that comes from elsewhere is one that can run.
//!
//! Planning makes plans in which positions lie within what inputs deliver, types fit each other, and lists that are said
//! to be sorted are. Operators and kernels rely on it: a position beyond the columns would end the statement with a
//! broken invariant, a wrong form of a value likewise, and an unsorted list would give wrong rows. What is decoded is
//! held against these rules before anyone sees it, and an error names the first that is broken.
//!
//! What a plan says of the world cannot be told from the plan: whether tables, files and functions exist, have the columns
//! that it reads, and may be read by who sent it; whether bounds and counts, which are promises about data, are true.
//! Whoever runs a plan looks its tables up and checks the first; a sender that lies about the second gets wrong rows or an
//! error for its own statement.
//!
//! Nothing here recurses with the plan, so that a plan of any depth can be looked at on any stack.

mod expr;
mod file;
mod logical;
mod value;

use std::collections::{HashMap, HashSet};
use std::fmt::Display;

use types::{Error, Result, SqlState, Type};

use crate::encoding::Document;
use crate::{
    ExchangeKind, Expr, FetchOutput, FilterId, FrameBound, JoinOutput, NodeId, OutputColumn,
    PhysicalJoinKind, PhysicalNode, PhysicalPlan, ROW_REFERENCE, RowReference, RuntimeFilter, SortKey,
    SubqueryId, WindowCall, WindowFunction,
};
use expr::{Scope, aggregate, expression};

/// Deepest plan: what composes and optimizes plans recurses with them.
const DEPTH_MAX: usize = 5_000;

/// What was computed before a plan runs, as far as the caller knows it.
#[derive(Clone, Debug, Default)]
pub struct Computed {
    /// The types of the scalar subqueries' values, by id; `None` where that is not known.
    pub subqueries: Option<Vec<Type>>,
    /// The columns' types of materialized rows, by number; `None` where that is not known.
    pub materialized: Option<Vec<Vec<Type>>>,
}

/// The error of a plan that breaks a rule.
fn invalid(what: impl Display) -> Error {
    Error::new(SqlState::DataCorrupted, format!("the plan is not valid: {what}"))
}

/// An error unless the rule holds.
fn ensure(holds: bool, what: impl FnOnce() -> String) -> Result<()> {
    if holds { Ok(()) } else { Err(invalid(what())) }
}

/// Whether columns of one type can be handed on as columns of the other: they are held alike and mean the same.
fn agree(a: Type, b: Type) -> bool {
    a == b || a.same_representation(b)
}

impl Document for PhysicalPlan {
    const KIND: &'static str = "physical plan";

    fn validate(&self) -> Result<()> {
        self.validate_over(&Computed::default())
    }
}

impl PhysicalPlan {
    /// Whether the plan can run. See the head of this file; what was computed before it is taken as it says.
    ///
    /// # Errors
    /// The first rule that is broken.
    pub fn validate(&self) -> Result<()> {
        self.validate_over(&Computed::default())
    }

    /// As `validate`, where it is known what was computed before: subqueries and materialized rows that are used must be
    /// there, and have those types.
    ///
    /// # Errors
    /// The first rule that is broken.
    pub fn validate_over(&self, computed: &Computed) -> Result<()> {
        let nodes = in_order(self)?;
        for (at, (node, _)) in nodes.iter().enumerate() {
            ensure(node.id == NodeId(at as u32), || format!("node {at} has the number {}", node.id.0))?;
            validate_node(node, computed).map_err(|error| {
                let said = error.message().to_owned();
                error.with_message(format!("{said} (node {at}, {})", kind_name(&node.node)))
            })?;
            ensure(at == 0 || !matches!(node.node, PhysicalNode::Insert { .. }), || {
                "an insert below another node".to_owned()
            })?;
        }
        validate_exchanges(&nodes)?;
        validate_filters(&nodes)
    }
}

/// The nodes, parents first, as `number` numbers them, and how many nodes each has below it, itself included.
fn in_order(plan: &PhysicalPlan) -> Result<Vec<(&PhysicalPlan, usize)>> {
    let mut nodes: Vec<(&PhysicalPlan, usize)> = Vec::new();
    let mut parents: Vec<usize> = Vec::new();
    let mut open = vec![(plan, 0, usize::MAX)];
    while let Some((node, depth, parent)) = open.pop() {
        ensure(depth < DEPTH_MAX, || format!("it is nested deeper than {DEPTH_MAX} nodes"))?;
        let at = nodes.len();
        ensure(u32::try_from(at).is_ok(), || "it has too many nodes".to_owned())?;
        nodes.push((node, 1));
        parents.push(parent);
        open.extend(node.children().into_iter().rev().map(|child| (child, depth + 1, at)));
    }
    for at in (1..nodes.len()).rev() {
        let below = nodes[at].1;
        nodes[parents[at]].1 += below;
    }
    Ok(nodes)
}

/// Messages go by the numbers of exchanges, so that no two have the same.
fn validate_exchanges(nodes: &[(&PhysicalPlan, usize)]) -> Result<()> {
    let mut known = HashSet::new();
    nodes.iter().try_for_each(|(node, _)| match &node.node {
        PhysicalNode::Exchange { exchange, .. } => {
            once(&mut known, exchange.number, &format!("exchange {}", exchange.number.0))
        }
        _ => Ok(()),
    })
}

/// A runtime filter is filled by one join, and used by scans below that join's probe side, on a column that is held as
/// its key is.
fn validate_filters(nodes: &[(&PhysicalPlan, usize)]) -> Result<()> {
    let mut filled: HashMap<FilterId, (std::ops::Range<usize>, Type)> = HashMap::new();
    for (at, (node, _)) in nodes.iter().enumerate() {
        let PhysicalNode::HashJoin { fills, build_keys, .. } = &node.node else { continue };
        let probe_nodes = nodes.get(at + 1).map_or(0, |(_, below)| *below);
        for (filter, key) in fills {
            let key = build_keys.get(*key).ok_or_else(|| invalid("a runtime filter of no key"))?;
            let first = filled.insert(*filter, (at + 1..at + 1 + probe_nodes, key.ty)).is_none();
            ensure(first, || format!("two joins fill filter {}", filter.0))?;
        }
    }
    for (at, (node, _)) in nodes.iter().enumerate() {
        let (used, fetched) = match &node.node {
            PhysicalNode::TableScan { runtime_filters, fetched, .. }
            | PhysicalNode::FileScan { runtime_filters, fetched, .. } => (runtime_filters, fetched),
            _ => continue,
        };
        for RuntimeFilter { filter, column, .. } in used {
            let (below, key) =
                filled.get(filter).ok_or_else(|| invalid(format!("no join fills filter {}", filter.0)))?;
            ensure(below.contains(&at), || format!("filter {} is used beside its probe side", filter.0))?;
            let column = fetched.get(*column).ok_or_else(|| invalid("a filter on no column"))?;
            ensure(agree(column.ty, *key), || {
                format!("filter {} of {key} is used on {}", filter.0, column.ty)
            })?;
        }
    }
    Ok(())
}

fn validate_node(plan: &PhysicalPlan, computed: &Computed) -> Result<()> {
    use PhysicalNode as N;
    validate_columns(&plan.output)?;
    ensure(!plan.estimated_rows.is_nan(), || "an estimate that is no number".to_owned())?;
    let output = &plan.output;
    match &plan.node {
        N::TableScan { .. }
        | N::FileScan { .. }
        | N::Generate { .. }
        | N::Series { .. }
        | N::Values { .. }
        | N::Materialized { .. } => validate_source(plan, computed),
        N::Filter { input, predicate } => {
            let scope = Scope::physical(&[&input.output], computed);
            condition(predicate, &scope)?;
            same_columns(&input.output, output)
        }
        N::Project { input, expressions } => {
            let scope = Scope::physical(&[&input.output], computed);
            columns_of(expressions.iter(), output, &scope)
        }
        N::HashJoin {
            probe,
            build,
            kind,
            probe_keys,
            build_keys,
            residual,
            null_aware,
            output: from,
            ..
        } => {
            ensure(probe_keys.len() == build_keys.len() && !probe_keys.is_empty(), || {
                "a join with other keys on each side".to_owned()
            })?;
            let (left, right) =
                (Scope::physical(&[&probe.output], computed), Scope::physical(&[&build.output], computed));
            for (a, b) in probe_keys.iter().zip(build_keys) {
                expression(a, &left)?;
                expression(b, &right)?;
                ensure(a.ty.same_representation(b.ty), || format!("keys of {} and {}", a.ty, b.ty))?;
            }
            validate_join(plan, (probe, build), *kind, *null_aware, residual.as_ref(), from, computed)
        }
        N::NestedLoopJoin { probe, build, kind, predicate, null_aware, output: from, .. } => {
            validate_join(plan, (probe, build), *kind, *null_aware, predicate.as_ref(), from, computed)
        }
        N::Fetch { input, references, output: from } => validate_fetch(input, references, from, output),
        N::Aggregate { input, groups, aggregates } => {
            let scope = Scope::physical(&[&input.output], computed);
            ensure(output.len() == groups.len() + aggregates.len(), || {
                "an aggregation with other columns than groups and calls".to_owned()
            })?;
            columns_of(groups.iter(), &output[..groups.len()], &scope)?;
            for (call, column) in aggregates.iter().zip(&output[groups.len()..]) {
                aggregate(&call.function, call.argument.as_ref(), call.filter.as_ref(), call.ty, &scope)?;
                same_type(call.ty, column)?;
            }
            Ok(())
        }
        N::Sort { input, keys, .. } => {
            sort_keys(keys, &Scope::physical(&[&input.output], computed))?;
            same_columns(&input.output, output)
        }
        N::Limit { input, .. } => same_columns(&input.output, output),
        N::Window { .. } => validate_window(plan, computed),
        N::Unnest { .. } => validate_unnest(plan, computed),
        N::UnionAll { inputs } => {
            ensure(!inputs.is_empty(), || "a union of nothing".to_owned())?;
            inputs.iter().try_for_each(|input| same_columns(&input.output, output))
        }
        N::Exchange { input, exchange } => {
            let scope = Scope::physical(&[&input.output], computed);
            let keys = exchange.kind.expressions();
            ensure(
                !keys.is_empty()
                    || !matches!(exchange.kind, ExchangeKind::Hash { .. } | ExchangeKind::Range { .. }),
                || "an exchange by no key".to_owned(),
            )?;
            keys.into_iter().try_for_each(|key| expression(key, &scope))?;
            same_columns(&input.output, output)
        }
        N::Insert { .. } => ensure(output.len() == 1 && output[0].ty == Type::BigInt, || {
            "an insert that gives no number of rows".to_owned()
        }),
    }
}

/// A node without inputs.
fn validate_source(plan: &PhysicalPlan, computed: &Computed) -> Result<()> {
    use PhysicalNode as N;
    let output = &plan.output;
    match &plan.node {
        N::TableScan {
            sample,
            columns,
            fetched,
            predicates,
            trees,
            filters,
            runtime_filters,
            projection,
            ..
        } => {
            validate_scan(columns, fetched, filters, runtime_filters, projection, output, computed)?;
            for (column, at) in fetched.iter().zip(columns) {
                ensure(*at != ROW_REFERENCE || column.ty == Type::BigInt, || {
                    "references to rows that are not BIGINT".to_owned()
                })?;
            }
            if let Some(sample) = sample {
                ensure((0.0..=1.0).contains(&sample.share), || "a sample of more than all".to_owned())?;
            }
            // Blocks evaluate these by columns of the table.
            let column = |at: usize| {
                let ty = fetched.get(at)?.ty;
                columns.get(at).filter(|column| **column != ROW_REFERENCE).map(|_| ty)
            };
            for (at, predicate) in predicates {
                value::predicate(predicate, column(*at))?;
            }
            trees.iter().try_for_each(|tree| value::tree(tree, &column))
        }
        N::FileScan { file, columns, fetched, filters, pruning, runtime_filters, projection } => {
            file::source(file)?;
            validate_scan(columns, fetched, filters, runtime_filters, projection, output, computed)?;
            for (column, at) in fetched.iter().zip(columns) {
                let field = file.schema.fields().get(*at);
                let field = field.ok_or_else(|| invalid("a column that the file does not have"))?;
                ensure(agree(field.ty, column.ty), || format!("{} is read as {}", field.ty, column.ty))?;
            }
            pruning.iter().try_for_each(|p| value::pruning(p, &|at| fetched.get(at).map(|c| c.ty)))
        }
        N::Generate { scale, columns, .. } => {
            ensure(scale.is_finite() && *scale >= 0.0, || "a scale that is no number".to_owned())?;
            ensure(columns.len() == output.len(), || "other columns than are made".to_owned())
        }
        N::Series { series, columns } => {
            ensure(series.is_valid(), || "a series that leaves its type".to_owned())?;
            ensure(columns.len() == output.len() && columns.iter().all(|c| *c == 0), || {
                "a series has one column".to_owned()
            })?;
            ensure(output.iter().all(|c| agree(c.ty, series.ty)), || "a series of another type".to_owned())
        }
        N::Values { rows } => {
            for row in rows {
                ensure(row.len() == output.len(), || "a row of another width".to_owned())?;
                for (value, column) in row.iter().zip(output) {
                    value::fits(value, column.ty)?;
                    ensure(column.nullable || !value.is_null(), || {
                        "a NULL that is said not to be".to_owned()
                    })?;
                }
            }
            Ok(())
        }
        N::Materialized { index, columns } => {
            ensure(columns.len() == output.len(), || "other columns than are read".to_owned())?;
            let Some(known) = &computed.materialized else { return Ok(()) };
            let rows = known.get(*index).ok_or_else(|| invalid(format!("no rows number {index}")))?;
            columns.iter().zip(output).try_for_each(|(at, column)| {
                let ty = rows.get(*at).ok_or_else(|| invalid("a column that materialized rows lack"))?;
                ensure(agree(*ty, column.ty), || format!("rows of {ty} are read as {}", column.ty))
            })
        }
        _ => Err(invalid("a source that has inputs")),
    }
}

/// A window has the columns of its input and one a call.
fn validate_window(plan: &PhysicalPlan, computed: &Computed) -> Result<()> {
    let output = &plan.output;
    let PhysicalNode::Window { input, partition, order, calls, sorted, first } = &plan.node else {
        return Err(invalid("a window that is none"));
    };
    let scope = Scope::physical(&[&input.output], computed);
    partition.iter().try_for_each(|e| expression(e, &scope))?;
    sort_keys(order, &scope)?;
    ensure(!sorted || partition.is_empty(), || "a sorted window with partitions".to_owned())?;
    let width = input.output.len();
    ensure(output.len() == width + calls.len(), || "a window with other columns".to_owned())?;
    same_columns(&input.output, &output[..width])?;
    for (call, column) in calls.iter().zip(&output[width..]) {
        window_call(call, order.len(), &scope)?;
        same_type(call.ty, column)?;
        let ranks = matches!(
            call.function,
            WindowFunction::RowNumber | WindowFunction::Rank | WindowFunction::DenseRank
        );
        ensure(first.is_none() || ranks, || "first rows of what is no rank".to_owned())?;
    }
    Ok(())
}

/// An unnest has columns of its input, one a list, and the place where it is asked for.
fn validate_unnest(plan: &PhysicalPlan, computed: &Computed) -> Result<()> {
    let output = &plan.output;
    let PhysicalNode::Unnest { input, keep, lists, ordinality, .. } = &plan.node else {
        return Err(invalid("an unnest that is none"));
    };
    let scope = Scope::physical(&[&input.output], computed);
    let width = keep.len() + lists.len() + usize::from(*ordinality);
    ensure(output.len() == width, || "an unnest with other columns".to_owned())?;
    for (at, column) in keep.iter().zip(output) {
        let kept = input.output.get(*at).ok_or_else(|| invalid("a column that is not there is kept"))?;
        same_type(kept.ty, column)?;
    }
    for (list, column) in lists.iter().zip(&output[keep.len()..]) {
        expression(list, &scope)?;
        let element = list.ty.element();
        let element = element.ok_or_else(|| invalid(format!("an unnest of {}", list.ty)))?;
        same_type(element, column)?;
    }
    ensure(!ordinality || output.last().is_some_and(|c| c.ty == Type::BigInt), || {
        "places that are not BIGINT".to_owned()
    })
}

/// Columns as such: bounds are those of whole numbers. They may leave the type's range: then a value would, too, and be
/// an error.
fn validate_columns(columns: &[OutputColumn]) -> Result<()> {
    columns.iter().try_for_each(|column| {
        ensure(column.bounds.is_none() || column.ty.held_range().is_some(), || {
            format!("bounds of a {}", column.ty)
        })
    })
}

fn validate_scan(
    columns: &[usize],
    fetched: &[OutputColumn],
    filters: &[Expr],
    runtime_filters: &[RuntimeFilter],
    projection: &[usize],
    output: &[OutputColumn],
    computed: &Computed,
) -> Result<()> {
    ensure(columns.len() == fetched.len(), || "a scan that fetches other columns".to_owned())?;
    validate_columns(fetched)?;
    let scope = Scope::physical(&[fetched], computed);
    filters.iter().try_for_each(|filter| condition(filter, &scope))?;
    let share = |f: &RuntimeFilter| !f.passing.is_nan();
    ensure(runtime_filters.iter().all(share), || "a share that is no number".to_owned())?;
    ensure(projection.len() == output.len(), || "a scan that delivers other columns".to_owned())?;
    projection.iter().zip(output).try_for_each(|(at, column)| {
        let from = fetched.get(*at).ok_or_else(|| invalid("a column that was not fetched is delivered"))?;
        same_type(from.ty, column)
    })
}

fn validate_join(
    plan: &PhysicalPlan,
    (probe, build): (&PhysicalPlan, &PhysicalPlan),
    kind: PhysicalJoinKind,
    null_aware: bool,
    residual: Option<&Expr>,
    from: &[JoinOutput],
    computed: &Computed,
) -> Result<()> {
    use PhysicalJoinKind as K;
    if let Some(residual) = residual {
        condition(residual, &Scope::physical(&[&probe.output, &build.output], computed))?;
    }
    ensure(!null_aware || matches!(kind, K::ProbeAnti | K::ProbeMark | K::BuildAnti), || {
        "a join of this kind does not look at NULLs".to_owned()
    })?;
    ensure(from.len() == plan.output.len(), || "a join with other columns".to_owned())?;
    from.iter().zip(&plan.output).try_for_each(|(from, column)| {
        let (found, has) = match *from {
            JoinOutput::Probe(at) => {
                (probe.output.get(at).map(|c| c.ty), !matches!(kind, K::BuildSemi | K::BuildAnti))
            }
            JoinOutput::Build(at) => (
                build.output.get(at).map(|c| c.ty),
                !matches!(kind, K::ProbeSemi | K::ProbeAnti | K::ProbeMark),
            ),
            JoinOutput::Mark => (Some(Type::Boolean), kind == K::ProbeMark),
        };
        let found = found.filter(|_| has).ok_or_else(|| invalid("a join delivers what it does not have"))?;
        same_type(found, column)
    })
}

fn validate_fetch(
    input: &PhysicalPlan,
    references: &[RowReference],
    from: &[FetchOutput],
    output: &[OutputColumn],
) -> Result<()> {
    for RowReference { column, .. } in references {
        let ty = input.output.get(*column).map(|c| c.ty);
        ensure(ty == Some(Type::BigInt), || "references to rows that are not BIGINT".to_owned())?;
    }
    ensure(from.len() == output.len(), || "a fetch with other columns".to_owned())?;
    from.iter().zip(output).try_for_each(|(from, column)| match *from {
        FetchOutput::Input(at) => {
            let ty = input.output.get(at).map(|c| c.ty);
            same_type(ty.ok_or_else(|| invalid("a fetch keeps what is not there"))?, column)
        }
        FetchOutput::Late { reference, .. } => {
            ensure(reference < references.len(), || "a fetch by no reference".to_owned())
        }
    })
}

/// A BOOLEAN over the scope.
fn condition(expr: &Expr, scope: &Scope<'_>) -> Result<()> {
    expression(expr, scope)?;
    ensure(matches!(expr.ty, Type::Boolean | Type::Null), || format!("a condition of type {}", expr.ty))
}

fn sort_keys(keys: &[SortKey], scope: &Scope<'_>) -> Result<()> {
    keys.iter().try_for_each(|key| expression(&key.expr, scope))
}

/// Each expression is a column of the output.
fn columns_of<'e>(
    expressions: impl ExactSizeIterator<Item = &'e Expr>,
    output: &[OutputColumn],
    scope: &Scope<'_>,
) -> Result<()> {
    ensure(expressions.len() == output.len(), || "other columns than expressions".to_owned())?;
    expressions.zip(output).try_for_each(|(expr, column)| {
        expression(expr, scope)?;
        same_type(expr.ty, column)
    })
}

fn same_type(ty: Type, column: &OutputColumn) -> Result<()> {
    ensure(agree(ty, column.ty), || format!("{ty} is delivered as {}", column.ty))
}

fn same_columns(input: &[OutputColumn], output: &[OutputColumn]) -> Result<()> {
    ensure(input.len() == output.len(), || "other columns than the input's".to_owned())?;
    input.iter().zip(output).try_for_each(|(from, to)| same_type(from.ty, to))
}

fn window_call(call: &WindowCall, order: usize, scope: &Scope<'_>) -> Result<()> {
    use WindowFunction as W;
    ensure(call.peers <= order, || "more keys of its own than the window has".to_owned())?;
    if let W::Aggregate(function) = &call.function {
        ensure(call.arguments.len() <= 1, || "an aggregate of several arguments".to_owned())?;
        aggregate(function, call.arguments.first(), call.filter.as_ref(), call.ty, scope)?;
    } else {
        ensure(call.filter.is_none(), || "a filter of what is no aggregate".to_owned())?;
        call.arguments.iter().try_for_each(|argument| expression(argument, scope))?;
        let types: Vec<Type> = call.arguments.iter().map(|a| a.ty).collect();
        let fits = match (&call.function, types.as_slice()) {
            (W::RowNumber | W::Rank | W::DenseRank, []) => call.ty == Type::BigInt,
            (W::PercentRank | W::CumeDist, []) => call.ty == Type::Double,
            (W::Ntile, [buckets]) => buckets.is_integer() && call.ty == Type::BigInt,
            (W::Lag | W::Lead, [value, offset, default]) => {
                agree(*value, call.ty)
                    && offset.is_integer()
                    && (agree(*default, call.ty) || *default == Type::Null)
            }
            (W::FirstValue | W::LastValue, [value]) => agree(*value, call.ty),
            (W::NthValue, [value, place]) => agree(*value, call.ty) && place.is_integer(),
            _ => false,
        };
        ensure(fits, || format!("{} as {} of {types:?}", call.function.name(), call.ty))?;
    }
    [&call.frame.start, &call.frame.end].into_iter().try_for_each(|bound| match bound {
        FrameBound::Value { key, bound } => {
            expression(key, scope)?;
            expression(bound, scope)?;
            ensure(agree(key.ty, bound.ty), || format!("a frame from {} to {}", key.ty, bound.ty))
        }
        FrameBound::Unbounded | FrameBound::CurrentRow | FrameBound::Offset(_) => Ok(()),
    })
}

/// What a node is called in errors.
fn kind_name(node: &PhysicalNode) -> &'static str {
    use PhysicalNode as N;
    match node {
        N::TableScan { .. } => "TableScan",
        N::FileScan { .. } => "FileScan",
        N::Generate { .. } => "Generate",
        N::Series { .. } => "Series",
        N::Values { .. } => "Values",
        N::Materialized { .. } => "Materialized",
        N::Filter { .. } => "Filter",
        N::Project { .. } => "Project",
        N::HashJoin { .. } => "HashJoin",
        N::Fetch { .. } => "Fetch",
        N::NestedLoopJoin { .. } => "NestedLoopJoin",
        N::Aggregate { .. } => "Aggregate",
        N::Sort { .. } => "Sort",
        N::Limit { .. } => "Limit",
        N::Window { .. } => "Window",
        N::Unnest { .. } => "Unnest",
        N::UnionAll { .. } => "UnionAll",
        N::Exchange { .. } => "Exchange",
        N::Insert { .. } => "Insert",
    }
}

/// Ids that must not come twice.
fn once<T: std::hash::Hash + Eq + Copy>(known: &mut HashSet<T>, id: T, what: &str) -> Result<()> {
    ensure(known.insert(id), || format!("{what} comes twice"))
}

/// The type of a scalar subquery's value; an error where it is known that there is none.
fn subquery_type(id: SubqueryId, computed: &Computed) -> Result<Option<Type>> {
    let Some(known) = &computed.subqueries else { return Ok(None) };
    known.get(id.0 as usize).copied().map(Some).ok_or_else(|| invalid(format!("no subquery {}", id.0)))
}
