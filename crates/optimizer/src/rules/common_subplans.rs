//! Rule `common_subplans`: an aggregation, or the joins below one, that a query contains more than once runs once,
//! and its rows are read where they are needed (TPC-H's Q15 uses its view twice, Q11 joins the same tables twice).
//!
//! Two subplans are the same when they are equal node by node under a one-to-one renaming of columns. They are
//! compared after the other rules have pushed predicates down, so copies of one view that are used with different
//! predicates are different subplans, as they should be: each reads less than the view would.
//!
//! Shared are aggregations, and what aggregations read when those are joins, outermost first. Keeping rows is not
//! free and hides them from runtime filters, so a subplan is shared only if it is expected to deliver at most half as
//! many rows as the tables have that it reads. A subplan that needs the value of a scalar subquery runs after it, so
//! it is left alone.

use std::collections::HashMap;
use std::sync::Arc;

use plan::{
    AggregateCall, ColumnId, Expr, ExprKind, LogicalPlan, LogicalQuery, MaterializedSource, PhysicalNode,
    PhysicalPlan, ScanSource, TableId,
};
use types::Result;
use types::stop::{self, Place};

use super::projections;
use crate::columns::ColumnSet;
use crate::planner::Planner;
use crate::{Settings, Statistics};

/// A subplan is shared if it delivers at most this share of the rows it reads.
const ROWS_SHARE_MAX: f64 = 0.5;

/// Replaces common subplans of a query; what they are, to be run in this order before anything else of the query.
pub fn share(
    query: &mut LogicalQuery,
    statistics: &dyn Statistics,
    settings: &Settings,
) -> Result<Vec<PhysicalPlan>> {
    if !settings.common_subplans || !is_promising(query) {
        return Ok(vec![]);
    }
    let mut parts = rewritten(query, settings);
    let mut templates = Vec::new();
    parts.iter().for_each(|part| candidates(part, &mut templates));
    let mut chosen: Vec<LogicalPlan> = Vec::new();
    for (at, one) in templates.iter().enumerate() {
        let again = templates[at + 1..].iter().any(|other| renaming(one, other).is_some());
        let known = chosen.iter().any(|c| renaming(c, one).is_some());
        if again && !known {
            chosen.push((*one).clone());
        }
    }
    // The largest first: what it contains has gone with it.
    chosen.sort_by_key(|plan| std::cmp::Reverse(size(plan)));
    let mut plans = Vec::new();
    for template in chosen {
        let occurrences: usize = parts.iter().map(|part| occurrences(part, &template)).sum();
        if occurrences < 2 {
            continue;
        }
        // Queries that run before have the first numbers.
        let index = query.materialized + plans.len();
        plans.extend(replace(&mut parts, template, index, query, statistics, settings)?);
    }
    if !plans.is_empty() {
        parts.iter_mut().for_each(|part| projections::make_explicit(part, &query.columns));
        query.plan = parts.pop().unwrap_or_else(LogicalPlan::placeholder);
        query.subqueries = parts;
    }
    Ok(plans)
}

/// What is read, as far as it takes to see that it is read again.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
enum Read<'q> {
    Table(TableId),
    Files(&'q [String]),
}

/// Whether anything can be common at all: a table or a file is read twice and something is aggregated.
fn is_promising(query: &LogicalQuery) -> bool {
    fn walk<'q>(plan: &'q LogicalPlan, read: &mut Vec<Read<'q>>, aggregates: &mut bool) {
        match plan {
            LogicalPlan::Scan { source: ScanSource::Table { table, .. }, .. } => {
                read.push(Read::Table(*table))
            }
            LogicalPlan::Scan { source: ScanSource::File(file), .. } => read.push(Read::Files(&file.paths)),
            LogicalPlan::Aggregate { .. } => *aggregates = true,
            _ => {}
        }
        plan.children().into_iter().for_each(|child| walk(child, read, aggregates));
    }
    let (mut read, mut aggregates) = (Vec::new(), false);
    query.subqueries.iter().chain([&query.plan]).for_each(|p| walk(p, &mut read, &mut aggregates));
    let scans = read.len();
    read.sort_unstable();
    read.dedup();
    aggregates && read.len() < scans
}

/// The parts of the query, its own plan last, as the other rules leave them. Each still delivers the columns it did.
fn rewritten(query: &LogicalQuery, settings: &Settings) -> Vec<LogicalPlan> {
    let subqueries = query.subqueries.iter().map(|plan| (plan, plan.output().into_iter().take(1).collect()));
    let own: Vec<ColumnId> = query.output.iter().map(|(id, _)| *id).collect();
    subqueries
        .chain([(&query.plan, own)])
        .map(|(plan, output): (_, Vec<ColumnId>)| {
            let (plan, renames) = projections::normalize(plan.clone());
            let plan = super::rewrite(plan, &query.columns, settings);
            let expressions = output
                .into_iter()
                .map(|id| (id, Expr::column(renames.resolve(id), query.columns.get(id).ty)))
                .collect();
            LogicalPlan::Project { input: Box::new(plan), expressions }
        })
        .collect()
}

/// Subplans that may be shared, outermost first.
fn candidates<'p>(plan: &'p LogicalPlan, found: &mut Vec<&'p LogicalPlan>) {
    if let LogicalPlan::Aggregate { input, .. } = plan {
        if is_self_contained(plan) {
            found.push(plan);
        }
        if matches!(**input, LogicalPlan::Join { .. }) && is_self_contained(input) {
            found.push(input);
        }
    }
    plan.children().into_iter().for_each(|child| candidates(child, found));
}

/// Reads tables and files only, and waits for nothing.
fn is_self_contained(plan: &LogicalPlan) -> bool {
    let waits = |e: &Expr| {
        let mut found = false;
        e.visit(&mut |e| found |= matches!(e.kind, ExprKind::ScalarSubquery(_)));
        found
    };
    let table = match plan {
        LogicalPlan::Scan { source, .. } => is_repeatable(source),
        LogicalPlan::Values { .. } => false,
        _ => true,
    };
    table && !plan.expressions().into_iter().any(waits) && plan.children().into_iter().all(is_self_contained)
}

/// Sources that give the same rows however often they are read.
fn is_repeatable(source: &ScanSource) -> bool {
    matches!(source, ScanSource::Table { .. } | ScanSource::File(_))
}

fn size(plan: &LogicalPlan) -> usize {
    1 + plan.children().into_iter().map(size).sum::<usize>()
}

fn occurrences(plan: &LogicalPlan, template: &LogicalPlan) -> usize {
    if renaming(template, plan).is_some() {
        return 1;
    }
    plan.children().into_iter().map(|child| occurrences(child, template)).sum()
}

/// Puts reads of the common rows in the place of every occurrence of `template`; the plan that makes the rows, unless
/// it is not worth it.
fn replace(
    parts: &mut [LogicalPlan],
    template: LogicalPlan,
    index: usize,
    query: &mut LogicalQuery,
    statistics: &dyn Statistics,
    settings: &Settings,
) -> Result<Option<PhysicalPlan>> {
    let mut before = parts.to_vec();
    let delivered: Vec<ColumnId> = ColumnSet::of_plan(&template).iter().collect();
    let unknown = MaterializedSource { index, rows: 0.0, columns: vec![], distinct: vec![], unique: vec![] };
    let unknown = Arc::new(unknown);
    let mut reads: Vec<Vec<ColumnId>> = Vec::new();
    parts.iter_mut().for_each(|part| read(part, &template, &delivered, &unknown, &mut reads));

    let mut used = ColumnSet::new();
    parts.iter().for_each(|part| uses(part, &mut used));
    let needed: ColumnSet = delivered
        .iter()
        .enumerate()
        .filter(|(at, _)| reads.iter().any(|ids| used.contains(ids[*at])))
        .map(|(_, id)| *id)
        .collect();

    let (template, wide_remarks) =
        super::wide_tables::apply(template, &mut query.columns, statistics, settings);
    let mut planner = Planner::new(&mut query.columns, statistics, settings);
    planner.wide_remarks = wide_remarks;
    let relation = planner.lower(template, &needed)?;
    if relation.rows() > ROWS_SHARE_MAX * rows_read(&relation.plan, statistics) {
        parts.swap_with_slice(&mut before);
        return Ok(None);
    }
    let position = |id: &ColumnId| relation.position(*id);
    let unique = relation.keys.iter().filter(|key| !key.nulls_repeat);
    let source = Arc::new(MaterializedSource {
        index,
        rows: relation.rows(),
        columns: relation.plan.output.clone(),
        distinct: relation.columns.iter().map(|id| planner.facts(*id).distinct).collect(),
        unique: unique.filter_map(|key| key.columns.iter().map(position).collect()).collect(),
    });
    let positions: Vec<Option<usize>> =
        delivered.iter().map(|id| position(id).filter(|_| needed.contains(*id))).collect();
    parts.iter_mut().for_each(|part| settle(part, &source, &positions));
    let mut plan = relation.plan;
    plan.remarks.push(format!("common subplan: runs once, read {} times", reads.len()));
    plan.number();
    Ok(Some(plan))
}

/// The occurrences of `template` become reads of all it delivers, in order; `reads` gets their columns.
fn read(
    plan: &mut LogicalPlan,
    template: &LogicalPlan,
    delivered: &[ColumnId],
    source: &Arc<MaterializedSource>,
    reads: &mut Vec<Vec<ColumnId>>,
) {
    let Some(names) = renaming(template, plan) else {
        plan.children_mut().into_iter().for_each(|child| read(child, template, delivered, source, reads));
        return;
    };
    let ids: Vec<ColumnId> = delivered.iter().map(|id| names.get(id).copied().unwrap_or(*id)).collect();
    *plan = LogicalPlan::Scan {
        source: ScanSource::Materialized(source.clone()),
        columns: ids.iter().copied().zip(0..).collect(),
        filters: vec![],
    };
    reads.push(ids);
}

/// Narrows the reads of `source` to the columns that are there.
fn settle(plan: &mut LogicalPlan, source: &Arc<MaterializedSource>, positions: &[Option<usize>]) {
    if let LogicalPlan::Scan { source: ScanSource::Materialized(own), columns, .. } = plan
        && own.index == source.index
    {
        *own = source.clone();
        *columns = columns.iter().filter_map(|(id, at)| positions[*at].map(|at| (*id, at))).collect();
    }
    plan.children_mut().into_iter().for_each(|child| settle(child, source, positions));
}

/// Every column that some node of the plan refers to.
fn uses(plan: &LogicalPlan, used: &mut ColumnSet) {
    plan.expressions().into_iter().for_each(|e| used.add_expr(e));
    if let LogicalPlan::Union { inputs, .. } = plan {
        inputs.iter().for_each(|(_, own)| used.extend(own.iter().copied()));
    }
    plan.children().into_iter().for_each(|child| uses(child, used));
}

/// Rows of the tables and files a plan reads.
fn rows_read(plan: &PhysicalPlan, statistics: &dyn Statistics) -> f64 {
    let own = match &plan.node {
        PhysicalNode::TableScan { table, .. } => statistics.table(*table).map_or(0.0, |t| t.rows as f64),
        PhysicalNode::FileScan { file, .. } => crate::lower::rows_in_files(file),
        _ => 0.0,
    };
    own + plan.children().into_iter().map(|child| rows_read(child, statistics)).sum::<f64>()
}

type Names = HashMap<ColumnId, ColumnId>;

/// How the columns of `a` are called in `b`, if the two compute the same.
fn renaming(a: &LogicalPlan, b: &LogicalPlan) -> Option<Names> {
    stop::unwind_if_stopped(Place::Rewrite);
    let mut names = Names::new();
    same(a, b, &mut names).then_some(names)
}

fn same(a: &LogicalPlan, b: &LogicalPlan, names: &mut Names) -> bool {
    use LogicalPlan as L;
    let (below_a, below_b) = (a.children(), b.children());
    if std::mem::discriminant(a) != std::mem::discriminant(b) || below_a.len() != below_b.len() {
        return false;
    }
    if !below_a.into_iter().zip(below_b).all(|(a, b)| same(a, b, names)) {
        return false;
    }
    match (a, b) {
        (L::Scan { source: s, columns: c, filters: f }, L::Scan { source: t, columns: d, filters: g }) => {
            let one_source = is_repeatable(s) && s == t;
            if !one_source || c.len() != d.len() || c.iter().zip(d).any(|(a, b)| a.1 != b.1) {
                return false;
            }
            names.extend(c.iter().zip(d).map(|(a, b)| (a.0, b.0)));
            f.len() == g.len() && f.iter().zip(g).all(|(a, b)| expressions_agree(a, b, names))
        }
        (L::Filter { predicate: p, .. }, L::Filter { predicate: q, .. }) => expressions_agree(p, q, names),
        (L::Project { expressions: e, .. }, L::Project { expressions: f, .. }) => defined(e, f, names),
        (
            L::Join { kind: k, on: o, residual: r, null_equals_null: n, null_aware: w, mark: m, .. },
            L::Join { kind: l, on: p, residual: s, null_equals_null: q, null_aware: x, mark: t, .. },
        ) => {
            names.extend(m.iter().copied().zip(t.iter().copied()));
            let residuals = match (r, s) {
                (Some(r), Some(s)) => expressions_agree(r, s, names),
                (None, None) => true,
                _ => false,
            };
            (k, n, w, m.is_some()) == (l, q, x, t.is_some())
                && residuals
                && o.len() == p.len()
                && o.iter()
                    .zip(p)
                    .all(|((a, b), (c, d))| expressions_agree(a, c, names) && expressions_agree(b, d, names))
        }
        (L::Aggregate { groups: g, aggregates: c, .. }, L::Aggregate { groups: h, aggregates: d, .. }) => {
            let calls =
                c.len() == d.len() && c.iter().zip(d).all(|((_, a), (_, b))| calls_agree(a, b, names));
            if !calls || !defined(g, h, names) {
                return false;
            }
            names.extend(c.iter().zip(d).map(|((a, _), (b, _))| (*a, *b)));
            true
        }
        (L::Sort { keys: k, limit: l, .. }, L::Sort { keys: j, limit: m, .. }) => {
            l == m
                && k.len() == j.len()
                && k.iter().zip(j).all(|(a, b)| {
                    (a.descending, a.nulls_first) == (b.descending, b.nulls_first)
                        && expressions_agree(&a.expr, &b.expr, names)
                })
        }
        (L::Limit { offset: o, count: c, .. }, L::Limit { offset: p, count: d, .. }) => (o, c) == (p, d),
        (L::Union { inputs: i, columns: c }, L::Union { inputs: j, columns: d }) => {
            let own = |(a, b): (&Vec<ColumnId>, &Vec<ColumnId>)| {
                a.len() == b.len() && a.iter().zip(b).all(|(a, b)| names.get(a) == Some(b))
            };
            let agree = c.len() == d.len() && i.iter().zip(j).all(|(a, b)| own((&a.1, &b.1)));
            names.extend(c.iter().copied().zip(d.iter().copied()));
            agree
        }
        _ => false,
    }
}

/// Lists of computed columns agree; their names are entered.
fn defined(a: &[(ColumnId, Expr)], b: &[(ColumnId, Expr)], names: &mut Names) -> bool {
    let agree = a.len() == b.len() && a.iter().zip(b).all(|((_, a), (_, b))| expressions_agree(a, b, names));
    names.extend(a.iter().zip(b).map(|((a, _), (b, _))| (*a, *b)));
    agree
}

fn calls_agree(a: &AggregateCall, b: &AggregateCall, names: &Names) -> bool {
    let optional = |a: &Option<Expr>, b: &Option<Expr>| match (a, b) {
        (Some(a), Some(b)) => expressions_agree(a, b, names),
        (None, None) => true,
        _ => false,
    };
    a.function == b.function
        && a.distinct == b.distinct
        && a.ty == b.ty
        && optional(&a.argument, &b.argument)
        && optional(&a.filter, &b.filter)
}

fn expressions_agree(a: &Expr, b: &Expr, names: &Names) -> bool {
    let renamed = a.clone().transform(&mut |e| match e.kind {
        ExprKind::Column(id) => Expr::column(names.get(&id).copied().unwrap_or(id), e.ty),
        _ => e,
    });
    renamed == *b
}
