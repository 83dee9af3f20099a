//! EXPLAIN and EXPLAIN ANALYZE.

use std::time::Instant;

use plan::print::{self, NodeMetrics};
use plan::statement::ExplainFormat;
use plan::{LogicalQuery, NodeId, PhysicalPlan, Statement};
use types::{Error, Result};

use crate::Session;
use crate::relations::SessionRelations;
use crate::result::ResultSet;
use crate::session::text_result;

impl Session {
    pub(crate) fn explain(
        &self,
        analyze: bool,
        format: ExplainFormat,
        statement: Statement,
        relations: &SessionRelations,
    ) -> Result<ResultSet> {
        let query = match statement {
            Statement::Query(query)
            | Statement::CreateTableAs { query, .. }
            | Statement::Insert { query, .. }
            | Statement::CopyFrom { query, .. } => query,
            _ => {
                return Err(Error::unsupported(
                    "EXPLAIN explains queries, and the queries of statements that have one",
                ));
            }
        };
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
        let mut text = String::new();
        let mut columns = query.columns.clone();
        let mut parts = Vec::new();
        for (number, subquery) in query.subqueries.iter().enumerate() {
            let output = subquery.output();
            let plan = self.optimize(subquery.clone(), &mut columns, &output[..1], relations)?;
            parts.push((format!("subquery {number}"), plan));
        }
        parts.push(("query".to_owned(), self.physical(query, relations, false)?));
        match format {
            ExplainFormat::Text => {
                let several = parts.len() > 1;
                for (title, plan) in &parts {
                    if several {
                        text.push_str(&format!("{title}:\n"));
                    }
                    text.push_str(&print::physical(plan, None));
                }
            }
            ExplainFormat::Json => {
                let nodes: Vec<String> = parts
                    .iter()
                    .map(|(title, plan)| {
                        format!("{{\"part\": {}, \"plan\": {}}}", quoted(title), json(plan, None))
                    })
                    .collect();
                text = format!("[{}]", nodes.join(", "));
            }
        }
        Ok(text)
    }

    fn analyzed(
        &self,
        query: LogicalQuery,
        format: ExplainFormat,
        relations: &SessionRelations,
    ) -> Result<String> {
        let started = Instant::now();
        let plan = self.physical(query, relations, true)?;
        let planned = started.elapsed();
        let run = self.run_plan(&plan, relations, None, true)?;
        let executed = started.elapsed() - planned;
        let metrics = |node: NodeId| {
            let mut m = run.context.metrics.get(node);
            if node == plan.id {
                m.rows = run.result.rows() as u64;
            }
            m
        };
        Ok(match format {
            ExplainFormat::Text => format!(
                "{}planning and subqueries: {:.3} ms\nexecution: {:.3} ms\n",
                print::physical(&plan, Some(&metrics)),
                planned.as_secs_f64() * 1e3,
                executed.as_secs_f64() * 1e3
            ),
            ExplainFormat::Json => json(&plan, Some(&metrics)),
        })
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
        fields.push(format!("\"work_orders\": {}", m.work_orders));
        fields.push(format!("\"milliseconds\": {:.6}", m.nanoseconds as f64 / 1e6));
        fields.push(format!("\"bytes\": {}", m.bytes));
        for (name, value) in &m.notes {
            fields.push(format!("{}: {}", quoted(name), quoted(value)));
        }
    }
    let children: Vec<String> = plan.children().into_iter().map(|c| json(c, metrics)).collect();
    if !children.is_empty() {
        fields.push(format!("\"inputs\": [{}]", children.join(", ")));
    }
    format!("{{{}}}", fields.join(", "))
}
