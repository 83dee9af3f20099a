//! PAUSE, RESUME, CANCEL and ALTER QUERY: what a session may do to a statement of its own or of another session.

use std::sync::Arc;
use std::time::Duration;

use scheduler::Query;
use types::{Error, Result, SqlState, Type, Value};
use workorder::QueryId;

use crate::Session;
use crate::relations::SessionRelations;
use crate::result::ResultSet;
use crate::settings;

/// The procedures that these statements are parsed as.
pub(crate) const PROCEDURES: [&str; 4] = ["pause_query", "resume_query", "cancel_query", "alter_query"];

/// Whether a procedure changes no data.
pub(crate) fn is_control(procedure: &str) -> bool {
    PROCEDURES.contains(&procedure)
}

impl Session {
    /// `None`: it is another procedure.
    pub(crate) fn call_query_control(
        &self,
        procedure: &str,
        arguments: &[(Option<String>, Value, Type)],
        relations: &SessionRelations,
    ) -> Option<Result<ResultSet>> {
        if !is_control(procedure) {
            return None;
        }
        Some(self.control_query(procedure, arguments, relations))
    }

    fn control_query(
        &self,
        procedure: &str,
        arguments: &[(Option<String>, Value, Type)],
        relations: &SessionRelations,
    ) -> Result<ResultSet> {
        let values: Vec<&Value> = arguments.iter().map(|(_, value, _)| value).collect();
        let query = match values.first().and_then(|value| value.as_i64()) {
            Some(id) => self.named_query(id)?,
            None => return Err(usage(procedure)),
        };
        let tag = match (procedure, &values[1..]) {
            ("pause_query", []) => {
                if relations.statement().is_some_and(|own| own.query().id() == query.id()) {
                    return Err(Error::new(
                        SqlState::NotInPrerequisiteState,
                        format!("query {} cannot pause itself", query.id().0),
                    ));
                }
                query.pause();
                "PAUSE QUERY"
            }
            ("resume_query", []) => {
                query.resume();
                "RESUME QUERY"
            }
            ("cancel_query", []) => {
                query.cancel();
                "CANCEL QUERY"
            }
            ("alter_query", [name, value]) => {
                let number = value.as_i64().map(|number| number.to_string());
                let text = value.as_text().map(str::to_owned).or(number);
                let (Some(name), Some(text)) = (name.as_text(), text) else { return Err(usage(procedure)) };
                self.refuse_above_limits(name, &text)?;
                alter(&query, name, &text)?;
                "ALTER QUERY"
            }
            _ => return Err(usage(procedure)),
        };
        Ok(ResultSet::done(tag))
    }

    fn named_query(&self, id: i64) -> Result<Arc<Query>> {
        let found = u64::try_from(id).ok().and_then(|id| self.database.shared.scheduler.query(QueryId(id)));
        found.ok_or_else(|| {
            Error::new(SqlState::UndefinedObject, format!("query {id} does not exist, or has ended"))
                .with_hint("SELECT id, state, query FROM quickstep_queries lists those that run")
        })
    }
}

fn usage(procedure: &str) -> Error {
    let expected = match procedure {
        "alter_query" => "ALTER QUERY id SET priority = number",
        "pause_query" => "PAUSE QUERY id",
        "resume_query" => "RESUME QUERY id",
        _ => "CANCEL QUERY id",
    };
    Error::new(SqlState::InvalidParameterValue, "the number of a query is expected")
        .with_hint(format!("write {expected}"))
}

fn alter(query: &Query, name: &str, text: &str) -> Result<()> {
    match name.to_ascii_lowercase().as_str() {
        "priority" => query.set_priority(settings::parse_priority(text)?),
        "workers" | "query_workers" => {
            query.set_workers_max(settings::parse_query_workers(text)?.unwrap_or(workorder::WORKERS_MAX));
        }
        "memory" | "query_memory" => {
            query.set_memory_max(settings::parse_query_bytes(text)?.unwrap_or(u64::MAX));
        }
        "statement_timeout" => {
            let timeout: Option<Duration> = settings::parse_timeout("statement_timeout", text)?;
            query.cancel_token().set_timeout(timeout);
        }
        other => {
            return Err(Error::new(SqlState::UndefinedObject, format!("a query has no setting \"{other}\""))
                .with_hint("expected priority, query_workers, query_memory or statement_timeout"));
        }
    }
    Ok(())
}
