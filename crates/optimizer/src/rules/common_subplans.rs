//! Rule `common_subplans`: an aggregation, or the joins below one, that a query contains more than once runs once,
//! and its rows are read where they are needed (TPC-H's Q15 uses its view twice, Q11 joins the same tables twice).
//!
//! Two subplans are the same when they are equal node by node under a one-to-one renaming of columns. They are
//! compared after the other rules have pushed predicates down, so copies of one view that are used with different
//! predicates are different subplans, as they should be: each reads less than the view would.
//!
//! Shared are aggregations, and what aggregations read when those are joins, outermost first. Keeping rows is not
//! free and hides them from runtime filters, so a subplan is shared only if it is expected to deliver at most half as
//! many rows as the tables have that it reads. So are windows, sorts of which the first rows are wanted, lists that
//! become rows, other joins, and projections and filters that are dear for each row (what common table expressions
//! compute, above all), where by estimate running them once and keeping the rows is much cheaper than running them as
//! often as they are named. What holds an aggregation that occurs more often than itself waits until that is shared, and
//! then reads its rows. A subplan that needs the value of a scalar subquery runs after it, so it is left alone.

use std::collections::HashMap;
use std::sync::Arc;

use plan::{
    AggregateCall, ColumnId, Expr, ExprKind, LogicalPlan, LogicalQuery, MaterializedSource, PhysicalNode,
    PhysicalPlan, ScanSource, SortKey, TableId, WindowCall,
};
use types::Result;
use types::stop::{self, Place};

use super::projections;
use crate::columns::ColumnSet;
use crate::cost;
use crate::planner::Planner;
use crate::{Settings, Statistics};

/// A subplan is shared if it delivers at most this share of the rows it reads.
const ROWS_SHARE_MAX: f64 = 0.5;

/// What is no aggregation is shared where keeping its rows costs at most this share of what is saved: estimates err.
const KEEPING_SHARE_MAX: f64 = 0.5;
/// Rows of what is no aggregation that are kept, at most.
const ROWS_KEPT_MAX: f64 = 5e6;
/// A projection or filter is worth a look from this cost of a row on.
const DEAR: f64 = 40.0;

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
    // Queries that run before have the first numbers.
    let first = query.materialized;
    let (mut plans, mut waiting) = (Vec::new(), false);
    for again in [false, true] {
        if again && !(waiting && !plans.is_empty()) {
            break;
        }
        for template in repeated(&parts, first) {
            let passes_over = match again {
                true => !reads_shared(&template, first) || is_by_rows(&template, &parts),
                false => waits(&template, &parts),
            };
            waiting |= passes_over;
            if passes_over || all_occurrences(&parts, &template) < 2 {
                continue;
            }
            let index = first + plans.len();
            plans.extend(replace(&mut parts, template, index, query, statistics, settings)?);
        }
    }
    if !plans.is_empty() {
        parts.iter_mut().for_each(|part| projections::make_explicit(part, &query.columns));
        query.plan = parts.pop().unwrap_or_else(LogicalPlan::placeholder);
        query.subqueries = parts;
    }
    Ok(plans)
}

/// Candidates that stand in the parts more than once, each once, the largest first: what it contains goes with it.
fn repeated(parts: &[LogicalPlan], first: usize) -> Vec<LogicalPlan> {
    let mut templates = Vec::new();
    parts.iter().for_each(|part| candidates(part, first, false, &mut templates));
    let mut chosen: Vec<LogicalPlan> = Vec::new();
    for (at, one) in templates.iter().enumerate() {
        let again = templates[at + 1..].iter().any(|other| renaming(one, other).is_some());
        let known = chosen.iter().any(|c| renaming(c, one).is_some());
        if again && !known {
            chosen.push((*one).clone());
        }
    }
    chosen.sort_by_key(|plan| std::cmp::Reverse(size(plan)));
    chosen
}

/// Whether a plan holds an aggregation that occurs more often than the plan itself: shared with the plan, it would run
/// again for each other one.
fn waits(plan: &LogicalPlan, parts: &[LogicalPlan]) -> bool {
    fn within(plan: &LogicalPlan, parts: &[LogicalPlan], own: usize) -> bool {
        plan.children().into_iter().any(|child| {
            matches!(child, LogicalPlan::Aggregate { .. }) && all_occurrences(parts, child) > own
                || within(child, parts, own)
        })
    }
    !is_by_rows(plan, parts) && within(plan, parts, all_occurrences(parts, plan))
}

/// Whether the rule of aggregations decides: by the rows that are read and delivered, not by cost.
fn is_by_rows(plan: &LogicalPlan, parts: &[LogicalPlan]) -> bool {
    match plan {
        LogicalPlan::Aggregate { .. } => true,
        LogicalPlan::Join { .. } => parts.iter().any(|part| is_aggregated(part, plan)),
        _ => false,
    }
}

/// Whether rows are read that this rule has shared.
fn reads_shared(plan: &LogicalPlan, first: usize) -> bool {
    let here = match plan {
        LogicalPlan::Scan { source, .. } => is_shared(source, first),
        _ => false,
    };
    here || plan.children().into_iter().any(|child| reads_shared(child, first))
}

fn is_shared(source: &ScanSource, first: usize) -> bool {
    matches!(source, ScanSource::Materialized(source) if source.index >= first)
}

/// What is read, as far as it takes to see that it is read again.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
enum Read<'q> {
    Table(TableId),
    Files(&'q [String]),
    Series,
}

/// Whether anything can be common at all: a table or a file is read twice and something is dear.
fn is_promising(query: &LogicalQuery) -> bool {
    fn walk<'q>(plan: &'q LogicalPlan, read: &mut Vec<Read<'q>>, dear: &mut bool) {
        *dear |= is_candidate(plan, false);
        match plan {
            LogicalPlan::Scan { source: ScanSource::Table { table, .. }, .. } => {
                read.push(Read::Table(*table))
            }
            LogicalPlan::Scan { source: ScanSource::File(file), .. } => read.push(Read::Files(&file.paths)),
            LogicalPlan::Scan { source: ScanSource::Series(_), .. } => read.push(Read::Series),
            _ => {}
        }
        plan.children().into_iter().for_each(|child| walk(child, read, dear));
    }
    let (mut read, mut dear) = (Vec::new(), false);
    query.subqueries.iter().chain([&query.plan]).for_each(|p| walk(p, &mut read, &mut dear));
    let scans = read.len();
    read.sort_unstable();
    read.dedup();
    dear && read.len() < scans
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
fn candidates<'p>(plan: &'p LogicalPlan, first: usize, in_join: bool, found: &mut Vec<&'p LogicalPlan>) {
    if is_candidate(plan, in_join) && is_self_contained(plan, first) {
        found.push(plan);
    }
    let joins = matches!(plan, LogicalPlan::Join { .. });
    plan.children().into_iter().for_each(|child| candidates(child, first, joins, found));
}

/// Whether a node may cost more than keeping its rows. Of joins within a join only the outermost is one: the order of
/// the others is not settled yet.
fn is_candidate(plan: &LogicalPlan, in_join: bool) -> bool {
    use LogicalPlan as L;
    match plan {
        L::Aggregate { .. } | L::Window { .. } | L::Unnest { .. } | L::Sort { limit: Some(_), .. } => true,
        L::Join { .. } => !in_join,
        L::Project { expressions, .. } => {
            expressions.iter().map(|(_, e)| cost::evaluation(e)).sum::<f64>() >= DEAR
        }
        L::Filter { predicate, .. } => cost::evaluation(predicate) >= DEAR,
        L::Scan { filters, .. } => filters.iter().map(cost::evaluation).sum::<f64>() >= DEAR,
        _ => false,
    }
}

/// Reads tables, files and what was shared before only, and waits for nothing.
fn is_self_contained(plan: &LogicalPlan, first: usize) -> bool {
    let waits = |e: &Expr| {
        let mut found = false;
        e.visit(&mut |e| found |= matches!(e.kind, ExprKind::ScalarSubquery(_)));
        found
    };
    let table = match plan {
        LogicalPlan::Scan { source, .. } => is_repeatable(source) || is_shared(source, first),
        LogicalPlan::Values { .. } => false,
        _ => true,
    };
    table
        && !plan.expressions().into_iter().any(waits)
        && plan.children().into_iter().all(|child| is_self_contained(child, first))
}

/// Sources that give the same rows however often they are read.
fn is_repeatable(source: &ScanSource) -> bool {
    matches!(source, ScanSource::Table { .. } | ScanSource::File(_) | ScanSource::Series(_))
}

fn size(plan: &LogicalPlan) -> usize {
    1 + plan.children().into_iter().map(size).sum::<usize>()
}

fn all_occurrences(parts: &[LogicalPlan], template: &LogicalPlan) -> usize {
    parts.iter().map(|part| occurrences(part, template)).sum()
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

    let by_rows = is_by_rows(&template, &before);
    let (template, wide_remarks) =
        super::wide_tables::apply(template, &mut query.columns, statistics, settings);
    let mut planner = Planner::new(&mut query.columns, statistics, settings);
    planner.wide_remarks = wide_remarks;
    let relation = planner.lower(template, &needed)?;
    let dearer = match by_rows {
        true => relation.rows() > ROWS_SHARE_MAX * rows_read(&relation.plan, statistics),
        false => {
            let saved = cost::plan::running(&relation.plan, statistics) * (reads.len() as f64 - 1.0);
            relation.rows() > ROWS_KEPT_MAX
                || cost::plan::keeping(&relation.plan, reads.len()) > KEEPING_SHARE_MAX * saved
        }
    };
    if dearer {
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

/// Whether an aggregation reads what `template` stands for.
fn is_aggregated(plan: &LogicalPlan, template: &LogicalPlan) -> bool {
    let here = match plan {
        LogicalPlan::Aggregate { input, .. } => renaming(template, input).is_some(),
        _ => false,
    };
    here || plan.children().into_iter().any(|child| is_aggregated(child, template))
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
            let one_source = s == t && (is_repeatable(s) || matches!(s, ScanSource::Materialized(_)));
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
            l == m && orders_agree(k, j, names)
        }
        (
            L::Window { partition: p, order: k, calls: c, .. },
            L::Window { partition: q, order: j, calls: d, .. },
        ) => {
            let agree = p.len() == q.len()
                && p.iter().zip(q).all(|(a, b)| expressions_agree(a, b, names))
                && orders_agree(k, j, names)
                && c.len() == d.len()
                && c.iter().zip(d).all(|((_, a), (_, b))| windows_agree(a, b, names));
            names.extend(c.iter().zip(d).map(|((a, _), (b, _))| (*a, *b)));
            agree
        }
        (
            L::Unnest { lists: l, ordinality: o, outer: x, .. },
            L::Unnest { lists: m, ordinality: p, outer: y, .. },
        ) => {
            let agree = x == y && o.is_some() == p.is_some() && defined(l, m, names);
            names.extend(o.iter().copied().zip(p.iter().copied()));
            agree
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

fn orders_agree(a: &[SortKey], b: &[SortKey], names: &Names) -> bool {
    a.len() == b.len()
        && a.iter().zip(b).all(|(a, b)| {
            (a.descending, a.nulls_first) == (b.descending, b.nulls_first)
                && expressions_agree(&a.expr, &b.expr, names)
        })
}

fn windows_agree(a: &WindowCall, b: &WindowCall, names: &Names) -> bool {
    let mut renamed = a.clone();
    for expr in renamed.expressions_mut() {
        let own = std::mem::replace(expr, Expr::boolean(false));
        *expr = renamed_in(own, names);
    }
    renamed == *b
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
    renamed_in(a.clone(), names) == *b
}

fn renamed_in(expr: Expr, names: &Names) -> Expr {
    expr.transform(&mut |e| match e.kind {
        ExprKind::Column(id) => Expr::column(names.get(&id).copied().unwrap_or(id), e.ty),
        _ => e,
    })
}
