//! ClickBench's 43 questions, which name `WatchID` without quotes, over a Parquet file whose columns are spelled so.
//!
//! The rows are made up (`clickbench/hits.sql`). Every question runs as it is written; what it gives over the file is
//! then compared with what it gives over a table whose names are in lower case, without LIMIT, which may cut rows that
//! are equal in the order, and with thresholds that rows of this number reach.

use conformance::asked::{columns, rows};
use conformance::folder::Folder;
use engine::{Database, Options, Session};

fn session() -> Session {
    Database::in_memory(Options { workers: Some(2), ..Default::default() }).expect("a database").session()
}

/// A question about all rows of an answer.
fn unlimited(question: &str) -> String {
    let limit = question.find(" LIMIT ").unwrap_or(question.len());
    question[..limit].replace("> 100000", "> 100")
}

#[test]
fn the_questions_run_over_a_file_with_capitals() {
    let questions: Vec<&str> = include_str!("clickbench/questions.sql").lines().collect();
    assert_eq!(questions.len(), 43);
    let (folder, session) = (Folder::new("clickbench"), session());
    let path = folder.path("hits.parquet");
    session.query(include_str!("clickbench/hits.sql")).expect("rows");
    session.query(&format!("COPY made TO '{path}' (FORMAT parquet)")).expect("a file");
    let spelled: Vec<String> = columns(&session, "SELECT * FROM made")
        .split(", ")
        .map(|c| c.split(' ').next().unwrap().to_owned())
        .collect();
    assert!(spelled.iter().any(|name| name == "WatchID"), "{spelled:?}");
    let lower: Vec<String> =
        spelled.iter().map(|name| format!("{name} AS {}", name.to_lowercase())).collect();
    session
        .query(&format!("CREATE TABLE lower_case AS SELECT {} FROM '{path}'", lower.join(", ")))
        .expect("a table");
    for question in questions {
        let question = question.trim_end_matches(';');
        let over =
            |relation: &str, question: &str| question.replace(" FROM hits", &format!(" FROM {relation}"));
        let file = format!("'{path}'");
        rows(&session, &over(&file, question));
        let unlimited = unlimited(question);
        let (mut of_file, mut of_table) =
            (rows(&session, &over(&file, &unlimited)), rows(&session, &over("lower_case", &unlimited)));
        of_file.sort();
        of_table.sort();
        assert!(!of_file.is_empty(), "{unlimited}");
        assert_eq!(of_file, of_table, "{unlimited}");
    }
    assert_eq!(
        columns(&session, &format!("SELECT watchid, EVENTDATE FROM '{path}'")),
        "WatchID BIGINT, EventDate DATE"
    );
}
