//! EXPLAIN and EXPLAIN ANALYZE.

use std::time::Instant;

use plan::explain;
use plan::print::{self, NodeMetrics};
use plan::statement::ExplainFormat;
use plan::{LogicalQuery, NodeId, PhysicalPlan, Statement};
use types::{Error, Result};

use crate::Session;
use crate::relations::SessionRelations;
use crate::result::ResultSet;
use crate::run::{Part, Purpose};
use crate::session::text_result;

impl Session {
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
        let mut prepared = self.prepare(query, relations, Purpose::Explain, &mut parts)?;
        self.remark_decisions(&mut prepared.plan, relations);
        let mut plans: Vec<(&str, &PhysicalPlan)> =
            parts.iter().map(|p| (p.title.as_str(), &p.plan)).collect();
        plans.push(("query", &prepared.plan));
        Ok(match format {
            ExplainFormat::Text => {
                let several = plans.len() > 1;
                let mut text = String::new();
                for (title, plan) in plans {
                    if several {
                        text.push_str(&format!("{title}:\n"));
                    }
                    text.push_str(&explain::explain(plan, None));
                }
                text
            }
            ExplainFormat::Json => {
                let nodes: Vec<String> = plans
                    .iter()
                    .map(|(title, plan)| {
                        format!("{{\"part\": {}, \"plan\": {}}}", quoted(title), json(plan, None))
                    })
                    .collect();
                format!("[{}]", nodes.join(", "))
            }
        })
    }

    fn analyzed(
        &self,
        query: LogicalQuery,
        format: ExplainFormat,
        relations: &SessionRelations,
    ) -> Result<String> {
        let mut parts = Vec::new();
        let prepared = self.prepare(query, relations, Purpose::Analyze, &mut parts)?;
        let started = Instant::now();
        let run = self.run_plan(&prepared.plan, relations, &prepared.shared, None, true)?;
        let (title, plan) = ("query".to_owned(), prepared.plan);
        parts.push(Part { title, plan, run: Some(run), executed: started.elapsed() });
        if format == ExplainFormat::Json {
            let all: Vec<String> = parts
                .iter()
                .map(|part| {
                    let metrics = |node| part.metrics(node);
                    let plan = json(&part.plan, Some(&metrics));
                    format!("{{\"part\": {}, \"plan\": {plan}}}", quoted(&part.title))
                })
                .collect();
            return Ok(format!("[{}]", all.join(", ")));
        }
        let mut text = String::new();
        let mut errors = Vec::new();
        for part in &parts {
            if parts.len() > 1 {
                text.push_str(&format!("{}: {:.3} ms\n", part.title, part.executed.as_secs_f64() * 1e3));
            }
            let metrics = |node| part.metrics(node);
            text.push_str(&explain::explain(&part.plan, Some(&metrics)));
            errors.append(&mut explain::q_errors(&part.plan, &metrics));
        }
        errors.sort_by(|a, b| b.0.total_cmp(&a.0));
        if let Some((worst, at)) = errors.first() {
            text.push_str(&format!(
                "q-error of {} operators: median {:.2}, worst {worst:.2} at {at}\n",
                errors.len(),
                explain::percentile(&errors, 0.5)
            ));
        }
        let executed: f64 = parts.iter().map(|p| p.executed.as_secs_f64()).sum();
        text.push_str(&format!(
            "optimizing: {:.3} ms\nexecution: {:.3} ms\n",
            prepared.planning.as_secs_f64() * 1e3,
            executed * 1e3
        ));
        Ok(text)
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
        Statement::Modify(modification) => Some(modification.query),
        _ => None,
    }
}

impl Part {
    fn metrics(&self, node: NodeId) -> NodeMetrics {
        let Some(run) = &self.run else { return NodeMetrics::default() };
        let mut metrics = run.context.metrics.get(node);
        if node == self.plan.id {
            metrics.rows = run.result.rows() as u64;
        }
        metrics
    }
}

fn quoted(text: &str) -> String {
    let mut out = String::from("\"");
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            c if c.is_control() => out.push_str(&format!("\\u{:04x}", c as u32)),
            c => out.push(c),
        }
    }
    out.push('"');
    out
}

fn json(plan: &PhysicalPlan, metrics: Option<&dyn Fn(NodeId) -> NodeMetrics>) -> String {
    let mut fields = vec![
        format!("\"node\": {}", quoted(&print::physical_title(plan))),
        format!("\"estimated_rows\": {:.0}", plan.estimated_rows.max(0.0)),
    ];
    if let Some(metrics) = metrics {
        let m = metrics(plan.id);
        fields.push(format!("\"rows\": {}", m.rows));
        fields.push(format!("\"q_error\": {:.3}", explain::q_error(plan.estimated_rows, m.rows)));
        fields.push(format!("\"work_orders\": {}", m.work_orders));
        fields.push(format!("\"milliseconds\": {:.6}", m.nanoseconds as f64 / 1e6));
        fields.push(format!("\"bytes\": {}", m.bytes));
        for (name, value) in &m.notes {
            fields.push(format!("{}: {}", quoted(name), quoted(value)));
        }
    }
    if !plan.remarks.is_empty() {
        let remarks: Vec<String> = plan.remarks.iter().map(|r| quoted(r)).collect();
        fields.push(format!("\"remarks\": [{}]", remarks.join(", ")));
    }
    let children: Vec<String> = plan.children().into_iter().map(|c| json(c, metrics)).collect();
    if !children.is_empty() {
        fields.push(format!("\"inputs\": [{}]", children.join(", ")));
    }
    format!("{{{}}}", fields.join(", "))
}
