//! Projections in normal form: columns that are only renamed or passed on lose their projection.
//!
//! Column ids are unique in a query, but for groups and aggregates that pass a column on under its own id; so
//! `Project [b := a]` can go if every use of `b` becomes a use of `a`. After this pass a projection consists of
//! computed expressions only, and its input's columns are understood to pass through it; which columns really leave a
//! node is settled by what is needed above, when the plan is lowered.

use plan::{ColumnId, ColumnTable, Expr, ExprKind, LogicalPlan};
use types::stop::{self, Place};

use crate::columns::ColumnSet;

/// For each renamed column, the one it stands for.
#[derive(Default)]
pub(crate) struct Renames(Vec<(ColumnId, ColumnId)>);

impl Renames {
    /// The column that `id` stands for; `id` itself if it was not renamed.
    pub(crate) fn resolve(&self, id: ColumnId) -> ColumnId {
        // Targets are resolved when they are entered, so one step suffices.
        match self.0.binary_search_by_key(&id, |(from, _)| *from) {
            Ok(at) => self.0[at].1,
            Err(_) => id,
        }
    }
    fn add(&mut self, from: ColumnId, to: ColumnId) {
        if let Err(at) = self.0.binary_search_by_key(&from, |(f, _)| *f) {
            self.0.insert(at, (from, to));
        }
    }
    fn apply(&self, expr: &mut Expr) {
        if let ExprKind::Column(id) = &mut expr.kind {
            *id = self.resolve(*id);
        }
        expr.children_mut().into_iter().for_each(|child| self.apply(child));
    }
}

/// Brings every projection of `plan` to normal form; the renames hold for whatever refers to the plan's columns.
pub(crate) fn normalize(plan: LogicalPlan) -> (LogicalPlan, Renames) {
    let mut renames = Renames::default();
    let plan = walk(plan, &mut renames);
    (plan, renames)
}

/// Undoes normal form: every projection below the root says which columns of its input it passes on, which are all. A
/// plan that leaves the optimizer before it is lowered, and may be read by another process, means what it says.
pub(crate) fn make_explicit(plan: &mut LogicalPlan, columns: &ColumnTable) {
    for child in plan.children_mut() {
        make_explicit(child, columns);
        if let LogicalPlan::Project { input, expressions } = child {
            let mut known: ColumnSet = expressions.iter().map(|(id, _)| *id).collect();
            for id in input.output() {
                if !known.contains(id) {
                    known.insert(id);
                    expressions.push((id, columns.expr(id)));
                }
            }
        }
    }
}

fn walk(mut plan: LogicalPlan, renames: &mut Renames) -> LogicalPlan {
    stop::unwind_if_stopped(Place::Rewrite);
    for child in plan.children_mut() {
        let taken = std::mem::replace(child, LogicalPlan::placeholder());
        *child = walk(taken, renames);
    }
    for expr in plan.expressions_mut() {
        renames.apply(expr);
    }
    match plan {
        LogicalPlan::Project { input, expressions } => {
            let mut computed = Vec::with_capacity(expressions.len());
            for (id, expr) in expressions {
                match expr.as_column() {
                    Some(same) if same == id => {}
                    Some(other) => renames.add(id, other),
                    None => computed.push((id, expr)),
                }
            }
            if computed.is_empty() { *input } else { LogicalPlan::Project { input, expressions: computed } }
        }
        // A group that passes a column on does so under the column's own id, which may just have been renamed.
        LogicalPlan::Aggregate { input, groups, aggregates } => {
            let mut known = ColumnSet::new();
            let mut resolved = |id: ColumnId| {
                let to = renames.resolve(id);
                // Columns that were two names of one are one now.
                let first = !known.contains(to);
                known.insert(to);
                first.then_some(to)
            };
            let groups = groups.into_iter().filter_map(|(id, e)| Some((resolved(id)?, e))).collect();
            let aggregates = aggregates.into_iter().filter_map(|(id, c)| Some((resolved(id)?, c))).collect();
            LogicalPlan::Aggregate { input, groups, aggregates }
        }
        LogicalPlan::Window { input, partition, order, calls } => {
            let calls = calls.into_iter().map(|(id, c)| (renames.resolve(id), c)).collect();
            LogicalPlan::Window { input, partition, order, calls }
        }
        LogicalPlan::Union { mut inputs, columns } => {
            inputs.iter_mut().flat_map(|(_, own)| own).for_each(|id| *id = renames.resolve(*id));
            LogicalPlan::Union { inputs, columns }
        }
        other => other,
    }
}
