//! EXPLAIN's text: the plan as a person reads it, with what the optimizer did and, after ANALYZE, what each node did.
//!
//! ```text
//! Aggregate by [l_orderkey] [sum(l_extendedprice)]
//!   » 11,620 rows, 12,004 expected (q 1.03); 1.204 ms; 24 work orders; 1.2 MB
//!   · group keys o_orderdate, o_shippriority carried by l_orderkey
//!   TableScan lineitem where l_orderkey in filter 1
//!     » 30,519 rows, 29,788 expected (q 1.02); 8.120 ms; 24 work orders
//!     · filter 1 from orders: tested 3,241,776, dropped 3,211,257 (99.1 %)
//! ```
//!
//! The q-error (Moerkotte, Neumann, Steidl, "Preventing Bad Plans by Bounding the Impact of Cardinality Estimation
//! Errors", VLDB 2009) is the factor by which an estimate is off, either way, rows counted from one: 1 is exact.

use std::collections::BTreeMap;
use std::fmt::Write;

use crate::print::{NodeMetrics, physical_title};
use crate::{ExprKind, FetchOutput, FilterId, JoinOutput, NodeId, PhysicalNode, PhysicalPlan};

/// The factor by which `estimated` rows are off, at least 1; rows are counted from one. Infinite estimates give
/// infinity.
pub fn q_error(estimated: f64, actual: u64) -> f64 {
    let (e, a) = (estimated.max(1.0), (actual as f64).max(1.0));
    if e.is_finite() { (e / a).max(a / e) } else { f64::INFINITY }
}

/// A node as EXPLAIN tells it: what is left of a plan once it need not be run again.
#[derive(Clone, Debug, PartialEq)]
pub struct Told {
    /// The node's number in its plan; metrics are looked up by it.
    pub id: NodeId,
    /// The position of the node that takes its rows; nodes are listed parents first.
    pub parent: Option<usize>,
    /// Levels below the root, which is at 0.
    pub depth: usize,
    /// Its kind and what it works on.
    pub title: String,
    /// Rows that the optimizer expected, runtime filters counted.
    pub estimated_rows: f64,
    /// What the optimizer did here, a sentence a technique.
    pub remarks: Vec<String>,
    /// The table that it scans.
    pub table: Option<String>,
    /// The filters that it applies while it scans, with where their keys come from.
    pub filters: Vec<(FilterId, Option<String>)>,
    /// Whether its row count says something about the estimates. Rows under a limit do not: the limit decides how
    /// many are read, not the estimate. Nor do those of a node that repeats its input's.
    pub judged: bool,
}

impl Told {
    /// The first word of the title: `HashJoin`.
    pub fn kind(&self) -> &str {
        self.title.split(' ').next().unwrap_or_default()
    }
}

/// The nodes of a plan, parents first, inputs in their order.
pub fn told(plan: &PhysicalPlan) -> Vec<Told> {
    fn walk(
        plan: &PhysicalPlan,
        (parent, depth, limited): (Option<usize>, usize, bool),
        sources: &BTreeMap<FilterId, String>,
        out: &mut Vec<Told>,
    ) {
        use PhysicalNode as N;
        let says = !matches!(
            plan.node,
            N::Limit { .. }
                | N::Sort { .. }
                | N::Window { .. }
                | N::Project { .. }
                | N::Fetch { .. }
                | N::Values { .. }
                | N::Exchange { .. }
                | N::Insert { .. }
        );
        let (table, filters) = match &plan.node {
            N::TableScan { name, runtime_filters, .. } => (Some(name.clone()), runtime_filters.as_slice()),
            N::FileScan { runtime_filters, .. } => (None, runtime_filters.as_slice()),
            _ => (None, [].as_slice()),
        };
        let at = out.len();
        out.push(Told {
            id: plan.id,
            parent,
            depth,
            title: physical_title(plan),
            estimated_rows: plan.estimated_rows,
            remarks: plan.remarks.clone(),
            table,
            filters: filters.iter().map(|used| (used.filter, sources.get(&used.filter).cloned())).collect(),
            judged: says && !limited,
        });
        let limited = limited || matches!(plan.node, N::Limit { .. });
        for child in plan.children() {
            walk(child, (Some(at), depth + 1, limited), sources, out);
        }
    }
    let mut out = Vec::new();
    walk(plan, (None, 0, false), &filter_sources(plan), &mut out);
    out
}

/// A physical plan, children indented; with `metrics`, what each node did.
pub fn explain(nodes: &[Told], metrics: Option<&dyn Fn(NodeId) -> NodeMetrics>) -> String {
    let mut out = String::new();
    nodes.iter().for_each(|told| node(told, metrics, &mut out));
    out
}

/// The q-errors of all nodes whose rows say something of the estimates, worst first, with the node's title.
pub fn q_errors(nodes: &[Told], metrics: &dyn Fn(NodeId) -> NodeMetrics) -> Vec<(f64, String)> {
    let judged = nodes.iter().filter(|told| told.judged);
    let mut found: Vec<(f64, String)> = judged
        .map(|told| (q_error(told.estimated_rows, metrics(told.id).rows), told.title.clone()))
        .collect();
    found.sort_by(|a, b| b.0.total_cmp(&a.0));
    found
}

/// The value below which `share` (0 to 1) of `errors`, worst first, lie; 1 when there are none.
pub fn percentile(errors: &[(f64, String)], share: f64) -> f64 {
    if errors.is_empty() {
        return 1.0;
    }
    let at = ((1.0 - share) * errors.len() as f64).floor() as usize;
    errors[at.min(errors.len() - 1)].0
}

/// Which table each filter's keys come from, as far as one can be named.
pub fn filter_sources(plan: &PhysicalPlan) -> BTreeMap<FilterId, String> {
    fn walk(plan: &PhysicalPlan, found: &mut BTreeMap<FilterId, String>) {
        if let PhysicalNode::HashJoin { build, build_keys, fills, .. } = &plan.node {
            for (filter, key) in fills {
                if let ExprKind::Input(at) = build_keys[*key].kind {
                    found.insert(*filter, origin(build, at).unwrap_or_else(|| "computed rows".into()));
                }
            }
        }
        plan.children().into_iter().for_each(|child| walk(child, found));
    }
    let mut found = BTreeMap::new();
    walk(plan, &mut found);
    found
}

/// The relation whose column comes out of `plan` at `at`.
fn origin(plan: &PhysicalPlan, at: usize) -> Option<String> {
    use PhysicalNode as N;
    match &plan.node {
        N::TableScan { name, .. } => Some(name.clone()),
        N::Materialized { index, .. } => Some(format!("common subplan {index}")),
        N::Filter { input, .. }
        | N::Sort { input, .. }
        | N::Limit { input, .. }
        | N::Exchange { input, .. } => origin(input, at),
        N::Unnest { input, keep, .. } => origin(input, *keep.get(at)?),
        N::Window { input, .. } if at < input.output.len() => origin(input, at),
        N::Project { input, expressions } => match expressions.get(at)?.kind {
            ExprKind::Input(below) => origin(input, below),
            _ => None,
        },
        N::Fetch { input, references, output } => match *output.get(at)? {
            FetchOutput::Input(below) => origin(input, below),
            FetchOutput::Late { reference, .. } => Some(references.get(reference)?.name.clone()),
        },
        N::Aggregate { input, groups, .. } => match groups.get(at)?.kind {
            ExprKind::Input(below) => Some(format!("groups of {}", origin(input, below)?)),
            _ => None,
        },
        N::HashJoin { probe, build, output, .. } | N::NestedLoopJoin { probe, build, output, .. } => {
            match *output.get(at)? {
                JoinOutput::Probe(below) => origin(probe, below),
                JoinOutput::Build(below) => origin(build, below),
                JoinOutput::Mark => None,
            }
        }
        _ => None,
    }
}

fn node(told: &Told, metrics: Option<&dyn Fn(NodeId) -> NodeMetrics>, out: &mut String) {
    let pad = " ".repeat(told.depth * 2);
    let _ = write!(out, "{pad}{}", told.title);
    match metrics {
        None => {
            let _ = writeln!(out, "  (rows {})", grouped(rounded(told.estimated_rows)));
        }
        Some(metrics) => {
            let m = metrics(told.id);
            let plural = if m.work_orders == 1 { "" } else { "s" };
            let _ = write!(
                out,
                "\n{pad}  » {} rows, {} expected (q {:.2}); {:.3} ms; {} work order{plural}",
                grouped(m.rows),
                grouped(rounded(told.estimated_rows)),
                q_error(told.estimated_rows, m.rows),
                m.nanoseconds as f64 / 1e6,
                grouped(m.work_orders),
            );
            if m.bytes > 0 {
                let _ = write!(out, "; {}", bytes(m.bytes));
            }
            out.push('\n');
            for fact in facts(told, &m) {
                let _ = writeln!(out, "{pad}  · {fact}");
            }
        }
    }
    for remark in &told.remarks {
        let _ = writeln!(out, "{pad}  · {remark}");
    }
    if metrics.is_none() && told.table.is_some() {
        for (filter, from) in &told.filters {
            if let Some(from) = from {
                let _ = writeln!(out, "{pad}  · filter {} from {from}", filter.0);
            }
        }
    }
}

/// What one filter did to the rows of a scan.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FilterCounts {
    /// The runtime filter.
    pub filter: FilterId,
    /// Where its keys come from.
    pub from: Option<String>,
    /// Rows that were tested against it.
    pub tested: u64,
    /// Rows that it dropped, of those tested.
    pub dropped: u64,
}

/// What the node's notes say of its filters, and the other notes.
pub fn filter_counts(told: &Told, m: &NodeMetrics) -> (Vec<FilterCounts>, Vec<(String, String)>) {
    let mut filters: BTreeMap<u32, (u64, u64)> = BTreeMap::new();
    let mut rest = Vec::new();
    for (name, value) in &m.notes {
        let parsed = name.strip_prefix("filter ").and_then(|n| n.split_once(' '));
        let number = parsed.and_then(|(id, _)| id.parse::<u32>().ok());
        match (number, parsed, value.parse::<u64>()) {
            (Some(id), Some((_, "tested")), Ok(n)) => filters.entry(id).or_default().0 = n,
            (Some(id), Some((_, "dropped")), Ok(n)) => filters.entry(id).or_default().1 = n,
            _ => rest.push((name.clone(), value.clone())),
        }
    }
    let from = |id| told.filters.iter().find(|(filter, _)| *filter == id).and_then(|(_, from)| from.clone());
    let counts = filters.into_iter().map(|(id, (tested, dropped))| FilterCounts {
        filter: FilterId(id),
        from: from(FilterId(id)),
        tested,
        dropped,
    });
    (counts.collect(), rest)
}

/// The operator's own notes, a sentence each; what it says of one filter is one.
pub fn facts(told: &Told, m: &NodeMetrics) -> Vec<String> {
    let (filters, notes) = filter_counts(told, m);
    let rest: Vec<String> = notes
        .iter()
        .map(|(name, value)| match value.parse::<u64>() {
            Ok(n) if name.ends_with("bytes") => {
                format!("{} {}", name.trim_end_matches("bytes").trim_end(), bytes(n))
            }
            Ok(n) => format!("{name} {}", grouped(n)),
            Err(_) => format!("{name} {value}"),
        })
        .collect();
    let mut facts = Vec::new();
    if !rest.is_empty() {
        facts.push(rest.join("; "));
    }
    for FilterCounts { filter, from, tested, dropped } in filters {
        let from = from.map_or(String::new(), |s| format!(" from {s}"));
        let share = 100.0 * dropped as f64 / tested.max(1) as f64;
        let (tested, dropped) = (grouped(tested), grouped(dropped));
        facts.push(format!("filter {}{from}: tested {tested}, dropped {dropped} ({share:.1} %)", filter.0));
    }
    facts
}

fn rounded(rows: f64) -> u64 {
    // Casts saturate, and no count of rows is near the end of the range.
    rows.max(0.0).round() as u64
}

/// A number with its thousands apart.
pub fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut out = String::with_capacity(digits.len() + digits.len() / 3);
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

/// A size in the unit that leaves at most three digits before the point.
pub fn bytes(number: u64) -> String {
    match number {
        0..1_000 => format!("{number} B"),
        1_000..1_000_000 => format!("{:.1} kB", number as f64 / 1e3),
        1_000_000..1_000_000_000 => format!("{:.1} MB", number as f64 / 1e6),
        _ => format!("{:.1} GB", number as f64 / 1e9),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_count_either_way_and_from_one() {
        assert_eq!(q_error(10.0, 20), 2.0);
        assert_eq!(q_error(20.0, 10), 2.0);
        assert_eq!(q_error(0.0, 0), 1.0);
        assert_eq!(q_error(0.5, 7), 7.0);
        assert_eq!(q_error(f64::NAN, 1), 1.0);
        assert!(q_error(f64::INFINITY, 1).is_infinite());
    }

    #[test]
    fn percentiles_are_taken_from_the_worst_end() {
        let errors: Vec<(f64, String)> = (0..100).rev().map(|e| (f64::from(e), String::new())).collect();
        assert_eq!(percentile(&errors, 0.5), 49.0);
        assert_eq!(percentile(&errors, 0.95), 94.0);
        assert_eq!(percentile(&[], 0.5), 1.0);
    }

    #[test]
    fn numbers_read_well() {
        assert_eq!([0, 999, 1000, 1_234_567].map(grouped), ["0", "999", "1,000", "1,234,567"]);
        assert_eq!([999, 1_500, 2_000_000].map(bytes), ["999 B", "1.5 kB", "2.0 MB"]);
    }
}
