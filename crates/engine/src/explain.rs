//! EXPLAIN and EXPLAIN ANALYZE.
//!
//! A statement is planned as if it were to run; ANALYZE runs it and takes the measurements of its operators. Text,
//! JSON and Graphviz are printed by `plan` and `trace`. `advise` and the history use `query_of`.

use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

use plan::print::NodeMetrics;
use plan::statement::ExplainFormat;
use plan::{LogicalQuery, Statement};
use trace::{KeptPlan, PartTrace, QueryTrace};
use types::{Error, Result};

use crate::Session;
use crate::execution::{Part, Purpose};
use crate::relations::SessionRelations;
use crate::result::ResultSet;
use crate::run::{Run, RunAs};
use crate::session::text_result;
use crate::traces::{self, rendered};

impl Session {
    /// EXPLAIN of a statement that has a query; with `analyze` the query runs, and its rows are thrown away.
    pub(crate) fn explain(
        &self,
        analyze: bool,
        format: ExplainFormat,
        statement: Statement,
        relations: &SessionRelations,
    ) -> Result<ResultSet> {
        let query = query_of(statement).ok_or_else(|| {
            Error::unsupported("EXPLAIN explains queries, and the queries of statements that have one")
        })?;
        let text = if analyze {
            self.analyzed(query, format, relations)?
        } else {
            self.explained(query, format, relations)?
        };
        let rows: Vec<Vec<String>> = text.lines().map(|line| vec![line.to_owned()]).collect();
        Ok(text_result(&["QUERY PLAN"], &rows))
    }

    fn explained(
        &self,
        query: LogicalQuery,
        format: ExplainFormat,
        relations: &SessionRelations,
    ) -> Result<String> {
        let mut parts = Vec::new();
        let mut prepared = self.plan_steps(query, relations, Purpose::Explain, &mut parts)?;
        if format != ExplainFormat::Pipelines
            && let Some(on) = self.on_nodes(&prepared.plan, relations)?
        {
            prepared.plan = on.plan().clone();
        }
        self.remark_decisions(&mut prepared.plan, relations);
        let (title, plan) = ("query".to_owned(), Arc::new(prepared.plan));
        parts.push(Part { title, plan, run: None, executed: Duration::ZERO });
        match format {
            ExplainFormat::Pipelines => self.pipelines(&parts, relations),
            _ => Ok(rendered(&self.explained_trace(parts, prepared.planning, relations), format)),
        }
    }

    /// What each plan is cut into.
    fn pipelines(&self, parts: &[Part], relations: &SessionRelations) -> Result<String> {
        let mut text = String::new();
        for Part { title, plan, .. } in parts {
            let context = self.query_context(plan, relations, &[], RunAs::default())?;
            let (_, pipelines) = operators::compose::pipelines(plan, &context)?;
            if parts.len() > 1 {
                text.push_str(&format!("{title}:\n"));
            }
            text.push_str(&pipelines.to_string());
        }
        Ok(text)
    }

    fn analyzed(
        &self,
        query: LogicalQuery,
        format: ExplainFormat,
        relations: &SessionRelations,
    ) -> Result<String> {
        let mut parts = Vec::new();
        let prepared = self.plan_steps(query, relations, Purpose::Analyze, &mut parts)?;
        let started = Instant::now();
        let plan = Arc::new(prepared.plan);
        let run =
            self.run_plan(&plan, relations, &prepared.shared, RunAs { analyze: true, ..RunAs::default() })?;
        let plan = run.on_nodes.clone().unwrap_or(plan);
        parts.push(Part { title: "query".to_owned(), plan, run: Some(run), executed: started.elapsed() });
        let trace = self.explained_trace(parts, prepared.planning, relations);
        let mut text = rendered(&trace, format);
        if format == ExplainFormat::Text {
            text.push_str(&format!(
                "optimizing: {:.3} ms\nexecution: {:.3} ms\n",
                trace.planning.as_secs_f64() * 1e3,
                trace.execution() as f64 / 1e6
            ));
        }
        Ok(text)
    }

    /// What EXPLAIN shows, as a query that has ended leaves it.
    fn explained_trace(
        &self,
        parts: Vec<Part>,
        planning: Duration,
        relations: &SessionRelations,
    ) -> QueryTrace {
        let query = relations.statement().map(|statement| statement.query());
        let rows = parts.last().and_then(|part| part.run.as_ref()).map_or(0, |run| run.result.rows());
        let shared = &self.database.shared;
        QueryTrace {
            id: query.as_ref().map_or(0, |query| query.id().0),
            session: self.number,
            text: query.as_ref().map_or_else(|| Arc::from(""), |query| query.text().clone()),
            begun: SystemTime::now(),
            total: Duration::ZERO,
            planning,
            cpu: Duration::ZERO,
            priority: query.as_ref().map_or(0, |query| query.priority()),
            workers: shared.scheduler.workers(),
            memory_peak: query.as_ref().map_or(0, |query| query.memory_peak()),
            memory_expected: query.as_ref().map_or(0, |query| query.memory_predicted()),
            rows: rows as u64,
            failure: None,
            settings: Arc::new(Vec::new),
            parts: parts.into_iter().map(Part::traced).collect(),
            parts_left_out: 0,
            kept_plan: false,
        }
    }
}

/// The query of a statement that has one.
pub(crate) fn query_of(statement: Statement) -> Option<LogicalQuery> {
    match statement {
        Statement::Query(query)
        | Statement::CreateTableAs { query, .. }
        | Statement::Insert { query, .. }
        | Statement::CopyFrom { query, .. }
        | Statement::CopyTo { query, .. } => Some(query),
        Statement::ChangingQuery(query) => Some(*query),
        Statement::Modify(modification) => Some(modification.query),
        _ => None,
    }
}

impl Part {
    fn traced(self) -> PartTrace {
        let plan = KeptPlan::Whole(self.plan.clone());
        let Some(Run { result, context, record, .. }) = self.run else {
            return PartTrace::planned(self.title, plan);
        };
        let (root, rows) = (self.plan.id, result.rows() as u64);
        let metrics = Arc::clone(&context.metrics);
        let did = move |node| -> NodeMetrics {
            let mut did = metrics.get(node);
            if node == root {
                did.rows = rows;
            }
            did
        };
        let part = traces::part(&self.title, plan, record.unwrap_or_default());
        let wall = u64::try_from(self.executed.as_nanos()).unwrap_or(u64::MAX);
        PartTrace { metrics: Some(Arc::new(did)), timed: true, wall, ..part }
    }
}
