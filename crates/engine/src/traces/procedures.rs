//! `CALL explain_query`, `write_trace`, `compare_queries` and `forget_traces`: queries that have ended, looked at
//! again.
//!
//! Queries are named by the number that `quickstep_query_history` shows, or by how many of this session's ago they
//! were: 0 is the last one that ran a plan, -1 the one before.

use std::sync::Arc;

use files::Capability;
use plan::statement::ExplainFormat;
use trace::QueryTrace;
use types::{Error, Field, Result, Schema, SqlState, Type, Value};
use vector::{Batch, Vector};

use crate::Session;
use crate::result::ResultSet;
use crate::session::text_result;

/// How each is called.
const PROCEDURES: [(&str, &str); 4] = [
    ("explain_query", "CALL explain_query(number, 'text')"),
    ("write_trace", "CALL write_trace(number, 'file.json')"),
    ("compare_queries", "CALL compare_queries(number, number)"),
    ("forget_traces", "CALL forget_traces()"),
];

/// Their names.
#[cfg(test)]
pub(crate) fn procedures() -> Vec<&'static str> {
    PROCEDURES.iter().map(|(name, _)| *name).collect()
}

/// Whether a procedure only looks at what there was.
pub(crate) fn is_look(procedure: &str) -> bool {
    PROCEDURES.iter().any(|(name, _)| *name == procedure)
}

impl Session {
    /// `None`: it is another procedure.
    pub(crate) fn call_trace(
        &self,
        procedure: &str,
        arguments: &[(Option<String>, Value, Type)],
    ) -> Option<Result<ResultSet>> {
        let (_, usage) = PROCEDURES.iter().find(|(name, _)| *name == procedure)?;
        Some(self.look_back(procedure, arguments).unwrap_or_else(|| {
            let message = format!("procedure {procedure} is called with other arguments");
            Err(Error::new(SqlState::InvalidParameterValue, message).with_hint(format!("write {usage}")))
        }))
    }

    /// `None`: the arguments are not those that it takes.
    fn look_back(
        &self,
        procedure: &str,
        arguments: &[(Option<String>, Value, Type)],
    ) -> Option<Result<ResultSet>> {
        if arguments.iter().any(|(name, _, _)| name.is_some()) {
            return None;
        }
        let values: Vec<&Value> = arguments.iter().map(|(_, value, _)| value).collect();
        let trace = |value: &Value| value.as_i64().map(|id| self.past_query(id));
        Some(match (procedure, values.as_slice()) {
            ("explain_query", [id]) => trace(id)?.map(|trace| explained(&trace, ExplainFormat::Text)),
            ("explain_query", [id, format]) => {
                let format = ExplainFormat::named(&format.as_text()?.to_ascii_lowercase());
                // Pipelines are no part of what is kept.
                let format = format.filter(|format| *format != ExplainFormat::Pipelines)?;
                trace(id)?.map(|trace| explained(&trace, format))
            }
            ("write_trace", [id, path]) => {
                let path = path.as_text()?;
                trace(id)?.and_then(|trace| written(self.environment().capability(), &trace, path))
            }
            ("compare_queries", [first, second]) => {
                let (first, second) = (trace(first)?, trace(second)?);
                first.and_then(|first| Ok(compared(&first, &*second?)))
            }
            ("forget_traces", []) => {
                self.database.shared.seen.history.clear();
                Ok(ResultSet::done("CALL"))
            }
            _ => return None,
        })
    }

    fn past_query(&self, id: i64) -> Result<Arc<QueryTrace>> {
        let history = &self.database.shared.seen.history;
        let found = match u64::try_from(id) {
            Ok(id) if id > 0 => history.get(id),
            _ => {
                let own = history
                    .all()
                    .into_iter()
                    .filter(|trace| trace.session == self.number && !trace.parts.is_empty());
                let ago = usize::try_from(id.unsigned_abs()).unwrap_or(usize::MAX);
                own.rev().nth(ago)
            }
        };
        found.ok_or_else(|| {
            let message = match id {
                1.. => format!("there is no trace of query {id}"),
                _ => format!("this session has no trace of so many queries ago ({id})"),
            };
            Error::new(SqlState::UndefinedObject, message).with_hint(
                "SELECT id, query FROM quickstep_query_history lists those that are kept; SET trace = on keeps them",
            )
        })
    }
}

/// A trace in one of EXPLAIN's formats.
pub(crate) fn rendered(trace: &QueryTrace, format: ExplainFormat) -> String {
    match format {
        ExplainFormat::Text | ExplainFormat::Pipelines => trace::explain_text(trace),
        ExplainFormat::Json => trace::explain_json(trace),
        ExplainFormat::Dot => trace::dot(trace),
        ExplainFormat::Html => trace::html(trace),
    }
}

fn explained(trace: &QueryTrace, format: ExplainFormat) -> ResultSet {
    let mut text = rendered(trace, format);
    if format == ExplainFormat::Text {
        text.push_str(&trace::summary(trace));
    }
    let rows: Vec<Vec<String>> = text.lines().map(|line| vec![line.to_owned()]).collect();
    text_result(&["QUERY PLAN"], &rows)
}

fn written(capability: &Capability, trace: &QueryTrace, path: &str) -> Result<ResultSet> {
    capability.file_to_write(path)?;
    let text = match path.rsplit_once('.').map(|(_, extension)| extension.to_ascii_lowercase()).as_deref() {
        Some("html" | "htm") => trace::html(trace),
        Some("dot" | "gv") => trace::dot(trace),
        _ => trace::timeline(trace),
    };
    std::fs::write(path, text)
        .map_err(|e| Error::new(SqlState::IoError, format!("cannot write \"{path}\": {e}")))?;
    Ok(ResultSet::done("CALL"))
}

fn compared(first: &QueryTrace, second: &QueryTrace) -> ResultSet {
    let comparison = trace::compare(first, second);
    let column = |values: Vec<Option<String>>| {
        let values: Vec<Value> =
            values.into_iter().map(|v| v.map_or(Value::Null, |v| Value::text(&v))).collect();
        Vector::from_values(Type::Text, &values)
    };
    let rows = comparison.differences.len();
    let of = |get: fn(&trace::Difference) -> Option<String>| {
        column(comparison.differences.iter().map(get).collect())
    };
    let columns = vec![
        of(|d| Some(d.aspect.to_owned())),
        of(|d| (!d.item.is_empty()).then(|| d.item.clone())),
        of(|d| d.first.clone()),
        of(|d| d.second.clone()),
        of(|d| d.change.clone()),
    ];
    let fields = ["aspect", "item", "first", "second", "change"];
    let fields = fields.iter().enumerate().map(|(at, name)| Field::new(*name, Type::Text, at > 0)).collect();
    ResultSet::new(Schema::new(fields), vec![Batch::new(columns, rows)])
}
