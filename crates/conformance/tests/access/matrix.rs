//! Every function and every kind of statement as a plain role and as a superuser: 42501 wherever it must be, and nowhere
//! else.
//!
//! Functions come from the registry with their examples; `functions.txt` has a decision for each, so that a new one fails
//! here until somebody has thought of it. Kinds of statements come from the definition of `plan::Statement`.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use engine::{Database, Session, SqlState as S};

use crate::support::{database, rows, run, state};

const NO: Option<S> = Some(S::InsufficientPrivilege);

/// The decisions: functions that a plain role is refused, functions that it may call, under these headings.
fn decisions() -> BTreeMap<String, bool> {
    let text = std::fs::read_to_string(folder().join("functions.txt")).expect("the decisions");
    let mut refused = false;
    let mut found = BTreeMap::new();
    for line in text.lines().filter(|line| !line.starts_with('#')) {
        match line {
            "[refused]" => refused = true,
            "[everyone]" => refused = false,
            names => found.extend(names.split_whitespace().map(|name| (name.to_owned(), refused))),
        }
    }
    found
}

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/access")
}

/// How calling a function by its example ends.
fn called(session: &Session, kind: &str, example: &str) -> Option<S> {
    let text = match kind {
        _ if example.trim_start().to_uppercase().starts_with("SELECT") => example.to_owned(),
        _ if example.trim_start().to_uppercase().starts_with("FROM") => example.to_owned(),
        "table" => format!("SELECT * FROM {example}"),
        _ => format!("SELECT {example}"),
    };
    state(session, &text)
}

#[test]
fn every_function_has_a_decision_and_keeps_it() {
    let database = database();
    run(&database.session(), "CREATE ROLE plain LOGIN");
    let (plain, boss) = (database.session_as("plain").unwrap(), database.session_as("quickstep").unwrap());
    let listed =
        "SELECT function_name, function_type, example FROM quickstep_functions() WHERE example IS NOT NULL";
    let mut found: BTreeMap<String, bool> = BTreeMap::new();
    let mut of_superuser = Vec::new();
    for row in rows(&database.session(), listed) {
        let mut parts = row.splitn(3, '|');
        let [name, kind, example] = [(); 3].map(|()| parts.next().unwrap_or_default());
        let refused = called(&plain, kind, example) == NO;
        *found.entry(name.to_owned()).or_default() |= refused;
        if refused && called(&boss, kind, example) == NO {
            of_superuser.push(name.to_owned());
        }
    }
    assert!(found.len() > 300, "{}", found.len());
    assert_eq!(of_superuser, Vec::<String>::new(), "a superuser is refused nothing");
    if std::env::var("UPDATE_DECISIONS").is_ok() {
        write(&found);
    }
    let decided = decisions();
    let names = |all: &BTreeMap<String, bool>| all.keys().cloned().collect::<BTreeSet<_>>();
    let new: Vec<_> = names(&found).difference(&names(&decided)).cloned().collect();
    assert_eq!(new, Vec::<String>::new(), "functions without a decision in functions.txt");
    let gone: Vec<_> = names(&decided).difference(&names(&found)).cloned().collect();
    assert_eq!(gone, Vec::<String>::new(), "decisions about functions that are not there");
    for (name, refused) in found {
        assert_eq!(refused, decided[&name], "{name} is refused to a plain role: {refused}");
    }
}

fn write(found: &BTreeMap<String, bool>) {
    let mut text = "# Who may call each function: `matrix.rs` calls them. A function that reaches files, addresses, secrets or what\n\
                    # others run belongs to the refused ones.\n"
        .to_owned();
    for (heading, wanted) in [("[refused]", true), ("[everyone]", false)] {
        text.push_str(heading);
        text.push('\n');
        let mut line = String::new();
        for name in found.iter().filter(|(_, refused)| **refused == wanted).map(|(name, _)| name) {
            if line.len() + name.len() > 110 {
                text.push_str(line.trim_end());
                text.push('\n');
                line.clear();
            }
            line.push_str(name);
            line.push(' ');
        }
        text.push_str(line.trim_end());
        text.push('\n');
    }
    std::fs::write(folder().join("functions.txt"), text).expect("written");
}

/// A statement of each kind, and how it ends for a role that was granted nothing. Where it is refused, the superuser must
/// not be.
const STATEMENTS: [(&str, &str, Option<S>); 64] = [
    ("Query", "SELECT * FROM t", NO),
    ("Query", "SELECT count(*) FROM t", NO),
    ("Query", "SELECT * FROM v", NO),
    ("Query", "SELECT nextval('q')", NO),
    ("Query", "SELECT 1", None),
    ("ChangingQuery", "WITH gone AS (DELETE FROM t RETURNING a) SELECT * FROM gone", NO),
    ("CreateTable", "CREATE TABLE x (a INTEGER)", NO),
    ("CreateTable", "CREATE TABLE s.x (a INTEGER)", NO),
    ("CreateTable", "CREATE TEMP TABLE own (a INTEGER REFERENCES t)", NO),
    ("CreateTableAs", "CREATE TABLE x AS SELECT 1 AS a", NO),
    ("CreateTableAs", "CREATE TEMP TABLE own AS SELECT * FROM t", NO),
    ("CreateIndex", "CREATE INDEX x ON t (b)", NO),
    ("Reorganize", "ALTER TABLE t SET (layout = 'column')", NO),
    ("DropIndex", "DROP INDEX i", NO),
    ("Attach", "ATTACH ':memory:' AS e", NO),
    ("Detach", "DETACH d", NO),
    ("CopyDatabase", "COPY FROM DATABASE memory TO d", NO),
    ("CreateSchema", "CREATE SCHEMA x", NO),
    ("AlterTable", "ALTER TABLE t ADD COLUMN c INTEGER", NO),
    ("AlterTable", "ALTER TABLE t RENAME TO x", NO),
    ("AlterTypes", "ALTER TABLE t ALTER COLUMN b TYPE BIGINT", NO),
    ("RenameView", "ALTER VIEW v RENAME TO x", NO),
    ("Comment", "COMMENT ON TABLE t IS 'x'", NO),
    ("Comment", "COMMENT ON COLUMN t.a IS 'x'", NO),
    ("DropTable", "DROP TABLE t", NO),
    ("DropSchema", "DROP SCHEMA s", NO),
    ("Insert", "INSERT INTO t VALUES (3, 4)", NO),
    ("Modify", "UPDATE t SET b = 1", NO),
    ("Modify", "DELETE FROM t", NO),
    ("Modify", "INSERT INTO t VALUES (1, 1) ON CONFLICT (a) DO UPDATE SET b = 2", NO),
    ("Modify", "MERGE INTO t USING (SELECT 1 AS a) AS n ON t.a = n.a WHEN MATCHED THEN DELETE", NO),
    ("Truncate", "TRUNCATE t", NO),
    ("CreateSequence", "CREATE SEQUENCE x", NO),
    ("AlterSequence", "ALTER SEQUENCE q RESTART", NO),
    ("DropSequence", "DROP SEQUENCE q", NO),
    ("CopyFrom", "COPY t FROM '/nowhere/x.csv'", NO),
    ("CopyTo", "COPY t TO '/nowhere/x.csv'", NO),
    ("CopyTo", "COPY (SELECT 1) TO '/nowhere/x.csv'", NO),
    ("Explain", "EXPLAIN SELECT * FROM t", NO),
    ("Explain", "EXPLAIN ANALYZE DELETE FROM t", NO),
    ("Set", "SET trace_memory = '32MB'", NO),
    ("Set", "SET statement_timeout = '1min'", None),
    ("SetLocal", "SET LOCAL trace_memory = '32MB'", NO),
    ("Show", "SHOW workers", None),
    ("Call", "CALL forget_traces()", NO),
    ("CreateView", "CREATE VIEW x AS SELECT 1 AS a", NO),
    ("CreateView", "CREATE OR REPLACE VIEW v AS SELECT 1 AS a", NO),
    ("DropView", "DROP VIEW v", NO),
    ("CreateType", "CREATE TYPE x AS ENUM ('a')", NO),
    ("DropType", "DROP TYPE mood", NO),
    ("CreateMacro", "CREATE MACRO x(a) AS a + 1", NO),
    ("DropFunction", "DROP FUNCTION m", NO),
    ("DropMacro", "DROP MACRO m", NO),
    ("Prepare", "PREPARE one AS SELECT 1", None),
    ("Execute", "PREPARE all_of_t AS SELECT * FROM t; EXECUTE all_of_t", NO),
    ("Deallocate", "DEALLOCATE ALL", None),
    ("Cursor", "BEGIN; DECLARE c CURSOR FOR SELECT * FROM t", NO),
    ("Discard", "DISCARD PLANS", None),
    ("Access", "GRANT SELECT ON t TO plain", NO),
    ("Access", "CREATE ROLE x", NO),
    ("Access", "ALTER ROLE other PASSWORD 'x'", NO),
    ("Access", "ALTER TABLE t OWNER TO plain", NO),
    ("Access", "CREATE POLICY p ON t USING (true)", NO),
    ("Transaction", "BEGIN; ROLLBACK", None),
];

fn prepared() -> Database {
    let database = database();
    run(
        &database.session(),
        "CREATE TABLE t (a INTEGER PRIMARY KEY, b INTEGER); INSERT INTO t VALUES (1, 2); CREATE INDEX i ON t (b);
         CREATE VIEW v AS SELECT a FROM t; CREATE SEQUENCE q; CREATE SCHEMA s; CREATE TYPE mood AS ENUM ('good');
         CREATE MACRO m(a) AS a; CREATE ROLE plain LOGIN; CREATE ROLE other LOGIN",
    );
    run(&database.session(), "ATTACH ':memory:' AS d");
    database
}

#[test]
fn every_kind_of_statement_is_refused_to_whom_nothing_was_granted() {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("../plan/src/statement.rs");
    let source = std::fs::read_to_string(source).expect("the definition");
    let (_, body) = source.split_once("pub enum Statement {").expect("the definition");
    let body = body.split("\n}").next().unwrap_or_default();
    let is_kind =
        |line: &&str| line.starts_with("    ") && line[4..].starts_with(|c: char| c.is_ascii_uppercase());
    let kinds: BTreeSet<&str> = body
        .lines()
        .filter(is_kind)
        .map(|line| line[4..].split(|c: char| !c.is_ascii_alphanumeric()).next().unwrap_or_default())
        .collect();
    let covered: BTreeSet<&str> = STATEMENTS.iter().map(|(kind, _, _)| *kind).collect();
    assert!(kinds.len() > 35);
    assert_eq!(kinds, covered, "kinds of statements, and those that have a row here");
    let database = prepared();
    let plain = database.session_as("plain").unwrap();
    let mut wrong = Vec::new();
    for (_, text, expected) in STATEMENTS {
        let found = state(&plain, text);
        if found != expected {
            wrong.push(format!("{text}: {found:?}, not {expected:?}"));
        }
        // What a transaction of the text has left open.
        let _ = plain.execute("ROLLBACK");
    }
    assert_eq!(wrong, Vec::<String>::new());
    for (_, text, _) in STATEMENTS {
        let database = prepared();
        let boss = database.session_as("quickstep").unwrap();
        assert_ne!(state(&boss, text), NO, "{text}");
    }
}
