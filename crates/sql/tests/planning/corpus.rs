//! Every statement of the SQL corpus is planned: what must succeed does, and what must fail with an error that
//! binding can see does so with the right SQLSTATE.

use std::path::{Path, PathBuf};

use plan::statement::Statement;

use crate::catalog::{Catalog, check};

struct Record {
    header: String,
    sql: String,
    line: usize,
    applies: bool,
}

fn records(text: &str) -> Vec<Record> {
    let mut out = Vec::new();
    let mut applies = true;
    let lines: Vec<&str> = text.lines().collect();
    let mut at = 0;
    while at < lines.len() {
        let line = lines[at];
        at += 1;
        if let Some(label) = line.strip_prefix("onlyif ") {
            applies &= label.trim() == "quickstep";
        } else if let Some(label) = line.strip_prefix("skipif ") {
            applies &= label.trim() != "quickstep";
        } else if line.starts_with("statement") || line.starts_with("query") {
            let start = at;
            let mut sql = String::new();
            while at < lines.len() && !lines[at].is_empty() && lines[at] != "----" {
                sql.push_str(lines[at]);
                sql.push('\n');
                at += 1;
            }
            out.push(Record { header: line.to_owned(), sql, line: start, applies });
            applies = true;
        }
    }
    out
}

fn files(folder: &Path, out: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            files(&path, out);
        } else if path.extension().is_some_and(|e| e == "slt") {
            out.push(path);
        }
    }
}

/// SQLSTATEs that only running a statement can find.
const RUN_TIME: [&str; 27] = [
    "42830", "22014", "22016", "26000", "42723", "42P05", "22012", "22003", "23502", "23505", "23503",
    "21000", "2BP01", "42P07", "42P06", "3F000", "22P02", "22007", "22008", "22001", "2201E", "2201F",
    "22023", "42P01", "22004", "2201B", "22026",
];

/// Files about what the catalog lists and how it is altered, which the one of these tests does not follow, and about
/// columns that come from a table's rows.
const OF_THE_CATALOG: [&str; 57] = [
    "ddl/create_table_like.slt",
    "expressions/compiled.slt",
    "json/jsonpath.slt",
    "json/populate.slt",
    "definitions/comments_on_objects.slt",
    "regressions/other_types.slt",
    "words/method_calls.slt",
    "types/system_types.slt",
    "dml/changes_kept.slt",
    "definitions/macros_and_types_in_schemas.slt",
    "ddl/fields_of_structs.slt",
    "select/aliases_in_front.slt",
    "nested/file_paths.slt",
    "nested/median_distance.slt",
    "nested/moments.slt",
    "nested/weeks_from_text.slt",
    "json/change.slt",
    "nested/group_names.slt",
    "select/constants_in_order.slt",
    "ddl/attach.slt",
    "ddl/create_drop.slt",
    "dml/changes_in_with.slt",
    "functions/strptime_digits.slt",
    "types/narrow_and_unsigned.slt",
    "types/bit.slt",
    "types/enum.slt",
    "types/timestamp_units.slt",
    "types/union.slt",
    "words/query_function.slt",
    "types/precision_and_length.slt",
    "ddl/generated_columns.slt",
    "storage/indices_over_columns.slt",
    "ddl/constraint_clauses.slt",
    "definitions/prepared_plans.slt",
    "definitions/prepared_types.slt",
    "definitions/refused_clauses.slt",
    "storage/advise.slt",
    "storage/layouts.slt",
    "storage/partitions.slt",
    "storage/wide_tables.slt",
    "ddl/check.slt",
    "ddl/add_constraint.slt",
    "dml/on_conflict.slt",
    "dml/sequences.slt",
    "dml/truncate.slt",
    "nested/tables.slt",
    "select/pivot_statement.slt",
    "definitions/comments.slt",
    "definitions/information_schema.slt",
    "definitions/search_path.slt",
    "ddl/alter_table.slt",
    "scale/alter_table.slt",
    "words/duckdb_forms.slt",
    "words/duckdb_more.slt",
    "words/catalog.slt",
    "words/databases.slt",
    "words/settings_of_duckdb.slt",
];

/// Words of statements that ask the catalog for lists.
const LISTS: [&str; 6] = ["information_schema", "quickstep_", "SHOW ", "duckdb_", "pragma_", "PRAGMA "];

#[test]
fn corpus_plans() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/slt");
    let mut paths = Vec::new();
    files(&root, &mut paths);
    paths.sort();
    let (mut problems, mut count) = (Vec::new(), 0);
    for path in paths {
        let catalog = Catalog::default();
        let short = path.strip_prefix(&root).unwrap().display().to_string();
        // Whether a statement may run in a transaction is the session's affair.
        if OF_THE_CATALOG.contains(&short.as_str()) || short.starts_with("transactions/") {
            continue;
        }
        for record in records(&std::fs::read_to_string(&path).unwrap()) {
            let listed =
                LISTS.iter().any(|word| record.sql.contains(word)) || record.sql.trim() == "DESCRIBE";
            if !record.applies || listed {
                continue;
            }
            count += 1;
            let place = format!("{short}:{}", record.line);
            let result = sql::plan_one(&record.sql, &catalog);
            if let Ok(Statement::Query(query)) = &result {
                check(query, &record.sql);
            }
            let must_fail = record.header.starts_with("statement error");
            let state = record.header.split_once('(').map(|(_, s)| s.trim_end_matches(')').to_owned());
            // A pattern of the message is for the statement that runs.
            let state = state.filter(|s| s.len() == 5 && s.bytes().all(|b| b.is_ascii_alphanumeric()));
            match (result, must_fail) {
                (Ok(statement), false) => {
                    if let Err(error) = catalog.apply(&statement) {
                        problems.push(format!("{place}: {error}: {}", record.sql.trim()));
                    }
                }
                (Err(error), false) => problems.push(format!("{place}: {}", error.render(&record.sql))),
                (Ok(_), true) => match state {
                    Some(state) if !RUN_TIME.contains(&state.as_str()) => {
                        problems.push(format!("{place}: no error {state}: {}", record.sql.trim()));
                    }
                    _ => {}
                },
                (Err(error), true) => {
                    if let Some(state) = state
                        && state != error.state().code()
                    {
                        problems.push(format!("{place}: wanted {state}: {}", error.render(&record.sql)));
                    }
                }
            }
        }
    }
    println!("{count} statements");
    let shown: Vec<String> = problems
        .iter()
        .map(|p| if p.len() > 600 { p.chars().take(600).collect() } else { p.clone() })
        .collect();
    assert!(problems.is_empty(), "{} of {count} statements:\n{}", problems.len(), shown.join("\n"));
}
