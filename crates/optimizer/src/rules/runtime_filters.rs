//! Rule `runtime_filters` (lookahead information passing): a join's build fills a filter of its keys, and the scans
//! below the probe side drop rows whose key is not in it before anything else touches them.
//!
//! After Zhu, Potti, Saurabh, Patel, "Looking Ahead Makes Query Plans Robust" (PVLDB 2017). We go further down than
//! they do: through joins on either side, aggregations (when the key is a group key, and `magic_sets` is on) and unions.
//!
//! Sound when probe rows without a match leave no trace in the join's result, and when every node on the way down
//! turns "these input rows are gone" into "the output rows with these key values are gone" and nothing else. So not
//! through LIMIT or top-k, and into an outer join only on the side that is preserved.

use plan::{
    Expr, ExprKind, FilterId, JoinOutput, PhysicalJoinKind as Kind, PhysicalNode, PhysicalPlan, RuntimeFilter,
};

use crate::planner::Planner;

/// A filter expected to let through more than this share is not worth testing.
const PASSING_MAX: f64 = 0.9;
/// Below this many probe rows the filter costs more than it can save.
const PROBE_ROWS_MIN: f64 = 2_000.0;

impl Planner<'_> {
    /// Attaches filters for a join with the given probe side; what the build has to fill. `passing` is, by
    /// key, the share of probe rows expected to find it.
    pub(crate) fn attach_runtime_filters(
        &mut self,
        kind: Kind,
        probe: &mut PhysicalPlan,
        probe_keys: &[Expr],
        build_keys: &[Expr],
        passing: &[f64],
    ) -> Vec<(FilterId, usize)> {
        let drops_unmatched = matches!(
            kind,
            Kind::Inner | Kind::ProbeSemi | Kind::BuildSemi | Kind::BuildOuter | Kind::BuildAnti
        );
        if !self.settings.runtime_filters || !drops_unmatched {
            return vec![];
        }
        let magic = self.settings.magic_sets;
        let mut fills = Vec::new();
        for (at, (probe_key, build_key)) in probe_keys.iter().zip(build_keys).enumerate() {
            let ExprKind::Input(column) = probe_key.kind else { continue };
            if passing[at] > PASSING_MAX || !probe_key.ty.same_representation(build_key.ty) {
                continue;
            }
            let filter = self.next_filter();
            if attach(probe, column, Attached { filter, passing: passing[at].clamp(0.0, 1.0), magic }) {
                fills.push((filter, at));
            } else {
                self.return_filter();
            }
        }
        fills
    }
}

/// Puts the filter on `column` of `plan` to every scan below that it may reach; whether there was one. Rows that are
/// gone from a scan are gone from everything above it, so the estimates on the way are scaled.
fn attach(plan: &mut PhysicalPlan, column: usize, filter: Attached) -> bool {
    let any = attach_below(plan, column, filter);
    if any {
        plan.estimated_rows = crate::estimate::at_least_one(plan.estimated_rows * filter.passing);
    }
    any
}

/// A filter on its way down.
#[derive(Clone, Copy)]
struct Attached {
    filter: FilterId,
    passing: f64,
    /// Whether it goes through aggregations.
    magic: bool,
}

fn attach_below(plan: &mut PhysicalPlan, column: usize, filter: Attached) -> bool {
    match &mut plan.node {
        // A row's place is no column of a block.
        PhysicalNode::TableScan { columns, projection, .. }
            if columns.get(projection[column]) == Some(&plan::ROW_REFERENCE) =>
        {
            false
        }
        PhysicalNode::TableScan { runtime_filters, projection, .. }
        | PhysicalNode::FileScan { runtime_filters, projection, .. } => {
            let others: f64 = runtime_filters.iter().map(|f| f.passing).product();
            if plan.estimated_rows < PROBE_ROWS_MIN * others {
                return false;
            }
            let Attached { filter, passing, .. } = filter;
            runtime_filters.push(RuntimeFilter { filter, column: projection[column], passing });
            true
        }
        PhysicalNode::Filter { input, .. } | PhysicalNode::Sort { input, limit: None, .. } => {
            attach(input, column, filter)
        }
        PhysicalNode::Project { input, expressions } => match expressions[column].kind {
            ExprKind::Input(below) => attach(input, below, filter),
            _ => false,
        },
        PhysicalNode::Aggregate { input, groups, .. } if filter.magic => {
            let restricted = match groups.get(column).map(|g| &g.kind) {
                Some(ExprKind::Input(below)) => attach(input, *below, filter),
                _ => false,
            };
            if restricted {
                plan.remarks.push(format!(
                    "only groups that filter {} lets through are made (magic set)",
                    filter.filter.0
                ));
            }
            restricted
        }
        PhysicalNode::UnionAll { inputs } => {
            inputs.iter_mut().fold(false, |any, input| attach(input, column, filter) | any)
        }
        PhysicalNode::HashJoin { .. } => attach_below_hash_join(&mut plan.node, column, filter),
        PhysicalNode::NestedLoopJoin { probe, build, kind, output, null_aware, .. } => {
            match (output[column], &*kind, *null_aware) {
                (
                    JoinOutput::Probe(at),
                    Kind::Inner | Kind::ProbeOuter | Kind::ProbeSemi | Kind::ProbeMark,
                    false,
                ) => attach(probe, at, filter),
                (JoinOutput::Build(at), Kind::Inner, false) => attach(build, at, filter),
                _ => false,
            }
        }
        _ => false,
    }
}

/// Attaches the filter to the sides of a hash join that may take it.
fn attach_below_hash_join(join: &mut PhysicalNode, column: usize, filter: Attached) -> bool {
    let PhysicalNode::HashJoin {
        probe,
        build,
        kind,
        probe_keys,
        build_keys,
        output,
        null_equals_null,
        null_aware,
        ..
    } = join
    else {
        return false;
    };
    let (from_probe, below) = match output[column] {
        JoinOutput::Probe(at) => (true, at),
        JoinOutput::Build(at) => (false, at),
        JoinOutput::Mark => return false,
    };
    // The preserved or judged side takes the filter; an inner join takes it on both.
    let (probe_takes, build_takes) = match kind {
        Kind::Inner => (true, true),
        Kind::ProbeOuter | Kind::ProbeSemi | Kind::ProbeAnti | Kind::ProbeMark => (true, false),
        Kind::BuildOuter | Kind::BuildSemi | Kind::BuildAnti => (false, true),
        Kind::FullOuter => (false, false),
    };
    if *null_aware || !(if from_probe { probe_takes } else { build_takes }) {
        return false;
    }
    // The other side's key: rows that match only filtered rows are not missed. That holds for every kind
    // whose filtered side is the preserved one, because the partners of the rows that stay all stay.
    let (own_keys, other_keys) =
        if from_probe { (&*probe_keys, &*build_keys) } else { (&*build_keys, &*probe_keys) };
    let partner = own_keys.iter().zip(other_keys).find_map(|(own, other)| match (&own.kind, &other.kind) {
        (ExprKind::Input(o), ExprKind::Input(p)) if *o == below && own.ty.same_representation(other.ty) => {
            Some(*p)
        }
        _ => None,
    });
    let (own_side, other_side) = if from_probe { (probe, build) } else { (build, probe) };
    let mut any = attach(own_side, below, filter);
    if let (Some(partner), false) = (partner, *null_equals_null) {
        any |= attach(other_side, partner, filter);
    }
    any
}
