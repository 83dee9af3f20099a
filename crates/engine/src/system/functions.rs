//! The rows of `quickstep_functions()`: the SQL functions with what is said about them, this module's neighbours, the
//! macros, and the functions of the host program.

use plan::External;
use types::{Field, Value};

use super::{maybe, nullable, text};
use crate::relations::SessionRelations;

/// What each of `FUNCTIONS` gives, in their order.
const MEANINGS: [(&str, &str); 32] = [
    ("quickstep_columns", "The columns of all tables and views, with their types, keys and statistics."),
    (
        "quickstep_comments",
        "What COMMENT ON says of indices, sequences, types, macros, schemas, databases and columns of views.",
    ),
    ("quickstep_constraints", "The columns of all declared keys."),
    ("quickstep_cursors", "The session's open cursors, with their statements."),
    ("quickstep_databases", "The main database and those that are attached, with their paths."),
    ("quickstep_functions", "The functions and macros, with a description and an example of each."),
    ("quickstep_indexes", "The indices that CREATE INDEX made, with their tables and columns."),
    ("quickstep_memory", "The memory budget, and what each query that runs holds of it."),
    ("quickstep_metrics", "What is counted of the database, as Prometheus reads it."),
    (
        "quickstep_operators",
        "The pipeline segments of the queries that run: work orders done, running and to come.",
    ),
    ("quickstep_partitions", "The partitions of tables, with their rows, blocks and bytes."),
    ("quickstep_pool", "What the pool of blocks holds and has read, evicted and written so far."),
    ("quickstep_queries", "The queries that run or wait: state, priority, time, memory, progress."),
    ("quickstep_query_history", "The queries that have ended: times, rows, memory, worth of the estimates."),
    (
        "quickstep_query_plans",
        "The operators of the queries that have ended, with estimates and what they did.",
    ),
    (
        "quickstep_reject_scans",
        "The files that were read while what cannot be read was noted, and how each was read.",
    ),
    ("quickstep_rejects", "What reading files has left out and noted: place, text and cause of each."),
    ("quickstep_roles", "The settings that ALTER ROLE gave to roles."),
    ("quickstep_schemas", "The schemas, with the databases that they are of."),
    ("quickstep_secrets", "The secrets by which object stores are reached, without their values."),
    ("quickstep_sequences", "The sequences, with their bounds and steps."),
    ("quickstep_settings", "The settings, with their values and meanings."),
    ("quickstep_slow_queries", "The queries that took longer than slow_query_threshold."),
    ("quickstep_tables", "The tables, with their rows, bytes and blocks."),
    (
        "quickstep_time_zones",
        "The time zones that SET TimeZone and AT TIME ZONE know, with their offsets from UTC now.",
    ),
    ("quickstep_types", "The types that CREATE TYPE made, with what they stand for and their labels."),
    ("quickstep_variables", "The variables that SET VARIABLE has set, with their values and types."),
    ("quickstep_views", "The views with their texts."),
    ("quickstep_wide_tables", "The wide tables, what they are made of, and whether they are stale."),
    ("quickstep_work_orders", "The work orders of the queries that have ended: worker, time, rows, waits."),
    ("quickstep_workers", "The workers, and the work order that each executes."),
    ("quickstep_workload", "The statements recorded for CALL advise, without their literals."),
];

pub(super) fn fields() -> Vec<Field> {
    vec![
        text("function_name"),
        text("function_type"),
        nullable(text("category")),
        nullable(text("usage")),
        nullable(text("description")),
        nullable(text("example")),
        nullable(text("result")),
    ]
}

/// A row for each function that SQL can call.
pub(super) fn rows(relations: &SessionRelations) -> Vec<Vec<Value>> {
    let mut rows: Vec<Vec<Value>> = Vec::new();
    for f in sql::functions() {
        let told = [f.name, f.kind, f.category, f.usage, f.description, f.example];
        let mut row: Vec<Value> = told.into_iter().map(Value::text).collect();
        row.push(maybe(Some(f.result).filter(|r| !r.is_empty())));
        rows.push(row);
    }
    for (name, meaning) in MEANINGS {
        let usage = format!("{name}()");
        let example = format!("SELECT * FROM {name}()");
        let told = [name, "table", "catalog", &usage, meaning, &example];
        let mut row: Vec<Value> = told.into_iter().map(Value::text).collect();
        row.push(Value::Null);
        rows.push(row);
    }
    for (name, is_table) in relations.macros() {
        let mut row = vec![Value::text(&name), Value::text(if is_table { "table macro" } else { "macro" })];
        row.extend([const { Value::Null }; 5]);
        rows.push(row);
    }
    for (name, external) in relations.externals() {
        let (kind, arguments) = match &external {
            External::Scalar(function) => ("scalar", &function.arguments),
            External::Aggregate { pack, .. } => ("aggregate", &pack.arguments),
        };
        let types: Vec<String> = arguments.iter().map(|ty| ty.sql_name()).collect();
        let usage = format!("{name}({})", types.join(", "));
        let mut row: Vec<Value> = [name.as_str(), kind, "host program", &usage].map(Value::text).to_vec();
        row.extend([const { Value::Null }; 3]);
        rows.push(row);
    }
    rows
}

#[cfg(test)]
mod tests {
    #[test]
    fn every_function_has_a_meaning() {
        assert_eq!(super::MEANINGS.map(|(name, _)| name), super::super::FUNCTIONS);
    }
}
