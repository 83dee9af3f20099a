//! Recorded statements, planned once and run again over sampled blocks.
//!
//! A statement is planned as it was, with the statistics of the whole table; only the blocks that its scans of the
//! table in question read are others. What counts is the time of the operators that those scans' rows go through,
//! from the scan to the result, over all workers: the same code as ever, without what other tables' builds take.

use std::sync::Arc;

use catalog::{Table, TableId};
use plan::{NodeId, PhysicalNode, PhysicalPlan};
use types::{ColumnPredicate, Result};

use super::Session;
use crate::execution::{Purpose, SharedRows};
use crate::explain::query_of;
use crate::relations::SessionRelations;
use crate::run::RunAs;
use crate::statement::Within;
use crate::workload::{Example, Recorded};

/// Statements of the record that are run again for a table: those that ran most.
const STATEMENTS_MAX: usize = 12;
/// Texts of one shape that are run again.
const TEXTS_MAX: usize = 3;

/// A plan that scans the table.
pub(super) struct Replay {
    plan: Arc<PhysicalPlan>,
    shared: Vec<SharedRows>,
    /// Nodes on the ways from the table's scans to the result.
    path: Vec<NodeId>,
    /// Executions that it stands for.
    pub weight: f64,
    /// The statement's number among those of the table.
    pub statement: usize,
}

/// How the recorded statements use a column: by executions.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Use {
    /// Compared with one value or a few.
    pub equal: f64,
    /// Between bounds.
    pub range: f64,
}

/// The statements of a table, ready to be run again.
pub(super) struct Replays {
    /// Plans to run, several a statement where several texts of its shape were recorded.
    pub replays: Vec<Replay>,
    /// The catalog view that the plans were made with.
    pub relations: SessionRelations,
    /// One a column of the table.
    pub uses: Vec<Use>,
    /// Shapes of the record that scan the table; of these, run again.
    pub known: usize,
    /// How many of the shapes are run again, at most `STATEMENTS_MAX`.
    pub statements: usize,
    /// Recorded executions of these shapes.
    pub executions: u64,
    /// Why others are not, the first of the reasons.
    pub left_out: Option<String>,
}

/// Calls that change something, or that only the host program can judge, are not run again.
fn may_run_again(shape: &str, externals: &[String]) -> bool {
    let calls = |name: &str| {
        shape.match_indices(name).any(|(at, _)| shape[at + name.len()..].trim_start().starts_with('('))
    };
    !["nextval", "setval"].into_iter().any(calls) && !externals.iter().any(|name| calls(name))
}

impl Replays {
    /// Plans the recorded statements that scan the table, those run most first. A statement that cannot be planned is
    /// left out, with its reason in `left_out`; only cancellation is an error.
    pub fn of(session: &Session, table: &Table, record: &[Recorded], statement: Within<'_>) -> Result<Self> {
        let relations = session.relations_of(statement.cloned());
        let externals: Vec<String> =
            relations.externals().into_iter().map(|(name, _)| name.to_lowercase()).collect();
        let of_table: Vec<&Recorded> = record.iter().filter(|r| r.tables.contains(&table.id)).collect();
        let mut found = Replays {
            replays: Vec::new(),
            uses: vec![Use::default(); table.columns.len()],
            relations,
            known: of_table.len(),
            statements: 0,
            executions: 0,
            left_out: None,
        };
        for recorded in of_table {
            if found.statements == STATEMENTS_MAX {
                found.left_out.get_or_insert_with(|| "others ran less often".to_owned());
                break;
            }
            if !may_run_again(&recorded.shape, &externals) {
                found.left_out = Some("some call sequences or functions of the host program".to_owned());
                continue;
            }
            session.go_on()?;
            let before = found.replays.len();
            let examples = &recorded.examples[..recorded.examples.len().min(TEXTS_MAX)];
            let weight = recorded.executions as f64 / examples.len().max(1) as f64;
            for example in examples {
                match found.plan(session, table, example, weight) {
                    Ok(()) => {}
                    Err(error) if error.state() == types::SqlState::QueryCanceled => return Err(error),
                    Err(error) => found.left_out = Some(error.message().to_owned()),
                }
            }
            if found.replays.len() > before {
                found.statements += 1;
                found.executions += recorded.executions;
            } else {
                found.left_out.get_or_insert_with(|| "some read no block of it any more".to_owned());
            }
        }
        Ok(found)
    }

    /// Plans one text, and keeps those of its plans that scan the table.
    fn plan(&mut self, session: &Session, table: &Table, example: &Example, weight: f64) -> Result<()> {
        let texts = sql::split(&example.text)?;
        let [text] = texts.as_slice() else { return Ok(()) };
        let around = sql::Relations::search_in(&self.relations, example.path.clone());
        let planned = sql::plan_with(&example.text, text, &self.relations, &example.parameters);
        sql::Relations::search_in(&self.relations, around);
        let planned = planned?;
        let Some(query) = query_of(planned) else { return Ok(()) };
        let mut parts = Vec::new();
        // Common subplans and scalar subqueries run now, as they would before the statement's own plan.
        let prepared = session.plan_steps(query, &self.relations, Purpose::Analyze, &mut parts)?;
        let plans = parts.into_iter().map(|part| part.plan).chain([Arc::new(prepared.plan)]);
        for plan in plans {
            let mut path = Vec::new();
            ways(&plan, table.id, &mut path);
            if path.is_empty() {
                continue;
            }
            self.count_uses(&plan, table.id, weight);
            let (shared, statement) = (prepared.shared.clone(), self.statements);
            self.replays.push(Replay { plan, shared, path, weight, statement });
        }
        Ok(())
    }

    fn count_uses(&mut self, plan: &PhysicalPlan, id: TableId, weight: f64) {
        if let PhysicalNode::TableScan { table, columns, predicates, .. } = &plan.node
            && table.0 == id.0
        {
            for (at, predicate) in predicates {
                let Some(used) = columns.get(*at).and_then(|column| self.uses.get_mut(*column)) else {
                    continue;
                };
                match predicate {
                    ColumnPredicate::In(_) => used.equal += weight,
                    ColumnPredicate::Range { low: Some(low), high: Some(high) }
                        if low.value == high.value =>
                    {
                        used.equal += weight;
                    }
                    ColumnPredicate::Range { .. } => used.range += weight,
                    _ => {}
                }
            }
        }
        plan.children().into_iter().for_each(|child| self.count_uses(child, id, weight));
    }

    /// Nanoseconds of each replay over these blocks.
    pub fn run(&self, session: &Session, table: &Arc<Table>) -> Result<Vec<f64>> {
        self.replays.iter().map(|replay| self.time(session, table, replay)).collect()
    }

    fn time(&self, session: &Session, table: &Arc<Table>, replay: &Replay) -> Result<f64> {
        session.go_on()?;
        let mut context = {
            let analyze = RunAs { analyze: true, ..RunAs::default() };
            session.query_context(&replay.plan, &self.relations, &replay.shared, analyze)?
        };
        context.tables.insert(plan::TableId(table.id.0), table.clone());
        let statement = self.relations.statement().map(|statement| &**statement);
        let run = session.run_in(&replay.plan, context, statement, None)?;
        Ok(replay.path.iter().map(|node| run.context.metrics.get(*node).nanoseconds as f64).sum())
    }
}

/// The nodes on the ways from the table's scans, and from fetches of its rows, to the root; true if there are any.
fn ways(plan: &PhysicalPlan, id: TableId, path: &mut Vec<NodeId>) -> bool {
    let mut within = match &plan.node {
        PhysicalNode::TableScan { table, .. } => table.0 == id.0,
        PhysicalNode::Fetch { references, .. } => references.iter().any(|r| r.table.0 == id.0),
        _ => false,
    };
    for child in plan.children() {
        within |= ways(child, id, path);
    }
    if within {
        path.push(plan.id);
    }
    within
}

#[cfg(test)]
mod tests {
    use super::may_run_again;

    #[test]
    fn calls_with_effects_are_not_run_again() {
        let externals = ["mine".to_owned()];
        for (shape, may) in [
            ("select nextval (?) from t", false),
            ("select mine(a) from t", false),
            ("select nextvalue, mine from t", true),
        ] {
            assert_eq!(may_run_again(shape, &externals), may, "{shape}");
        }
    }
}
