//! Cases with the engine's answers as JSON, for `fuzz_duckdb.py` to replay in DuckDB: one file a seed,
//! `{"seed": n, "tables": [{"name", "create", "data"}], "queries": [{"sql", "types", "ordered", "rows" or "error"}]}`,
//! where `data` names a Parquet file in the same folder: DuckDB takes minutes to parse as text what it reads at once.

use std::path::Path;

use engine::Session;
use serde_json::{Value as Json, json};
use types::{Error, Result, Type, Value};

use super::queries::{random_query, rewrite_query};
use super::rewrites::twins;
use super::round::{rows_of, session_with};
use super::tables::{random_tables, rewrite_tables};
use crate::configuration::Configuration;
use random::Random;

/// A result with more rows is left out: comparing it costs more than it tells.
const ROWS_MAX: usize = 5_000;

fn cell(value: &Value, ty: Type) -> Json {
    match value {
        Value::Null => Json::Null,
        Value::Bool(b) => json!(b),
        // Text throughout: JSON's numbers are floats to many readers.
        _ => json!(value.display(ty)),
    }
}

/// Whether the query has one answer: its twins without volatile calls agree.
fn has_one_answer(session: &Session, sql: &str) -> bool {
    let outcome = |sql: &str| session.query(sql).map(|result| rows_of(&result)).ok();
    twins(sql).is_none_or(|[one, other]| outcome(&one).is_some_and(|rows| Some(rows) == outcome(&other)))
}

/// Writes the seed's file; returns how many queries have an answer. With `rewrites`, the rewrite fuzzer's.
pub fn emit_round(
    seed: u64,
    queries: usize,
    rewrites: bool,
    configuration: &Configuration,
    folder: &Path,
) -> Result<usize> {
    let mut random = Random::new(seed);
    let tables = if rewrites { rewrite_tables(&mut random, true) } else { random_tables(&mut random, true) };
    let session = session_with(configuration, &tables)?;
    session.query("SET statement_timeout = '3000'")?;
    let mut written = Vec::new();
    let mut answered = 0;
    for _ in 0..queries {
        let (query, inexact) = if rewrites {
            rewrite_query(&mut random, &tables, true)
        } else {
            random_query(&mut random, &tables, true)
        };
        let sql = query.to_string();
        if !has_one_answer(&session, &sql) {
            continue;
        }
        let ordered = !query.order.is_empty() && !inexact;
        written.push(match session.query(&sql) {
            Ok(result) if result.rows() > ROWS_MAX => {
                json!({ "sql": sql, "error": "left out", "message": "too many rows to compare" })
            }
            Ok(result) => {
                answered += 1;
                let types: Vec<Type> = result.schema().fields().iter().map(|f| f.ty).collect();
                let rows: Vec<Json> = rows_of(&result)
                    .iter()
                    .map(|row| Json::Array(row.iter().zip(&types).map(|(v, t)| cell(v, *t)).collect()))
                    .collect();
                let names: Vec<String> = types.iter().map(|t| t.sql_name()).collect();
                json!({ "sql": sql, "types": names, "ordered": ordered, "rows": rows })
            }
            Err(error) => json!({ "sql": sql, "error": error.state().code(), "message": error.message() }),
        });
    }
    let mut stored = Vec::new();
    for table in &tables {
        let data = format!("seed_{seed}_{}.parquet", table.name);
        session.query(&format!("COPY {} TO '{}'", table.name, folder.join(&data).display()))?;
        stored.push(json!({ "name": table.name, "create": table.statements()[0], "data": data }));
    }
    let text = json!({ "seed": seed, "tables": stored, "queries": written }).to_string();
    std::fs::write(folder.join(format!("seed_{seed}.json")), text)
        .map_err(|e| Error::internal(format!("cannot write to {}: {e}", folder.display())))?;
    Ok(answered)
}
