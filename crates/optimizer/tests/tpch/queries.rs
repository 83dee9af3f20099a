//! TPC-H's queries, bound to its tables from their text.

use plan::{LogicalQuery, Statement, TableId};
use sql::{RelationInfo, Relations};
use types::{Field, Result, Schema};

/// TPC-H's tables by name.
pub struct Catalog;

impl Relations for Catalog {
    fn table(&self, _: Option<&str>, name: &str) -> Result<Option<RelationInfo>> {
        let all = super::tables();
        Ok(all.iter().position(|t| t.name == name).map(|at| RelationInfo {
            defaults: vec![],
            generated: vec![],
            id: TableId(at as u64),
            name: name.to_owned(),
            has_nulls: vec![],
            columns: Schema::new(
                all[at].columns.iter().map(|(n, ty, ..)| Field::new(*n, *ty, false)).collect(),
            ),
            primary_key: None,
            unique: vec![],
        }))
    }
    fn file(&self, path: &str, _: &[(String, String)]) -> Result<plan::FileSource> {
        panic!("no file {path}")
    }
    fn table_names(&self) -> Vec<String> {
        vec![]
    }
}

/// A query by its name, as `q01`.
pub fn bound(name: &str) -> LogicalQuery {
    let path = format!("{}/../../tests/answers/queries/tpch/{name}.sql", env!("CARGO_MANIFEST_DIR"));
    let text = std::fs::read_to_string(&path).unwrap_or_else(|e| panic!("{path}: {e}"));
    of_text(text.replace("{fraction}", "0.0001").trim().trim_end_matches(';'))
}

/// The query of a text.
pub fn of_text(text: &str) -> LogicalQuery {
    let Statement::Query(query) = sql::plan_one(text, &Catalog).unwrap_or_else(|e| panic!("{text}: {e}"))
    else {
        panic!("{text} is no query")
    };
    query
}
