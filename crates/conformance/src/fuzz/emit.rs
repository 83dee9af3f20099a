//! Cases with the engine's answers as JSON, for `fuzz_duckdb.py` to replay in DuckDB: one file a seed,
//! `{"seed": n, "setup": [sql], "queries": [{"sql", "types", "ordered", "rows" or "error"}]}`.

use std::path::Path;

use serde_json::{Value as Json, json};
use types::{Error, Result, Type, Value};

use super::queries::random_query;
use super::random::Random;
use super::round::{rows_of, session_with};
use super::tables::{FuzzTable, random_tables};
use crate::configuration::Configuration;

fn cell(value: &Value, ty: Type) -> Json {
    match value {
        Value::Null => Json::Null,
        Value::Bool(b) => json!(b),
        // Text throughout: JSON's numbers are floats to many readers.
        _ => json!(value.display(ty)),
    }
}

/// Writes the seed's file; returns how many queries have an answer.
pub fn emit_round(seed: u64, queries: usize, configuration: &Configuration, folder: &Path) -> Result<usize> {
    let mut random = Random::new(seed);
    let tables = random_tables(&mut random, true);
    let session = session_with(configuration, &tables)?;
    session.query("SET statement_timeout = '3000'")?;
    let mut written = Vec::new();
    let mut answered = 0;
    for _ in 0..queries {
        let (query, inexact) = random_query(&mut random, &tables, true);
        let sql = query.to_string();
        let ordered = !query.order.is_empty() && !inexact;
        written.push(match session.query(&sql) {
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
    let setup: Vec<String> = tables.iter().flat_map(FuzzTable::statements).collect();
    let text = json!({ "seed": seed, "setup": setup, "queries": written }).to_string();
    std::fs::write(folder.join(format!("seed_{seed}.json")), text)
        .map_err(|e| Error::internal(format!("cannot write to {}: {e}", folder.display())))?;
    Ok(answered)
}
