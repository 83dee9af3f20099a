//! Texts with a collation beyond what a script shows: kept by databases and files, and the same answers as their keys
//! written out, over many rows.

use conformance::asked::rows;
use conformance::folder::Folder;
use engine::{Database, Options, Session};
use types::SqlState;

fn options() -> Options {
    Options { workers: Some(2), ..Default::default() }
}

const TABLE: &str = "CREATE TABLE people (name TEXT COLLATE NOCASE PRIMARY KEY, town TEXT COLLATE \"NOACCENT.de\", n INTEGER)";
const ROWS: &str = "INSERT INTO people VALUES ('Ada', 'Köln', 1), ('bob', 'Koln', 2), ('Cid', 'Bonn', 3)";
const ASKED: [&str; 3] = [
    "SELECT name, n FROM people WHERE name = 'ADA'",
    "SELECT count(*) FROM people WHERE town = 'Koln'",
    "SELECT string_agg(name, ',' ORDER BY name DESC) FROM people",
];

fn check(session: &Session) {
    let found: Vec<String> = ASKED.iter().flat_map(|sql| rows(session, sql)).collect();
    assert_eq!(found, ["Ada|1", "2", "Cid,bob,Ada"]);
    let error = session.query("INSERT INTO people VALUES ('BOB', 'x', 4)").map(|_| ()).expect_err("a key");
    assert_eq!(error.state(), SqlState::UniqueViolation);
    let told = "SELECT column_name, collation_name FROM information_schema.columns WHERE table_name = 'people' \
                ORDER BY ordinal_position";
    assert_eq!(rows(session, told), ["name|NOCASE", "town|NOACCENT.de", "n|NULL"]);
}

#[test]
fn databases_keep_collations() {
    let folder = Folder::new("kept");
    let (path, export) = (folder.path("a.db"), folder.path("export"));
    {
        let database = Database::open(Some(&path), options()).expect("a database");
        let session = database.session();
        session.query(TABLE).expect("a table");
        session.query(ROWS).expect("rows");
        check(&session);
        session
            .query("CREATE VIEW those AS SELECT name FROM people WHERE name IN ('ADA', 'BOB')")
            .expect("a view");
    }
    let database = Database::open(Some(&path), options()).expect("a database");
    let session = database.session();
    check(&session);
    assert_eq!(rows(&session, "SELECT count(*) FROM those WHERE name = 'aDA'"), ["1"]);
    session.query(&format!("EXPORT DATABASE '{export}'")).expect("an export");
    let other = Database::in_memory(options()).expect("a database").session();
    other.query(&format!("IMPORT DATABASE '{export}'")).expect("an import");
    check(&other);
    assert_eq!(rows(&other, "SELECT count(*) FROM those WHERE name = 'aDA'"), ["1"]);
}

#[test]
fn files_fill_columns_with_collations() {
    let folder = Folder::new("files");
    let session = Database::in_memory(options()).expect("a database").session();
    session.query(TABLE).expect("a table");
    session.query(ROWS).expect("rows");
    for format in ["parquet", "csv", "json", "arrow"] {
        let path = folder.path(&format!("people.{format}"));
        session.query(&format!("COPY people TO '{path}'")).expect(format);
        session.query("DELETE FROM people").expect("no rows");
        session.query(&format!("COPY people FROM '{path}'")).unwrap_or_else(|e| panic!("{format}: {e}"));
        check(&session);
    }
}

/// Each query says with a collation what its neighbour says with the key written out.
#[test]
fn collations_are_their_keys() {
    let session = Database::in_memory(options()).expect("a database").session();
    let made = "AS SELECT i, CASE WHEN i % 97 = 0 THEN NULL WHEN i % 3 = 0 THEN upper(w) ELSE w END AS w FROM \
                (SELECT i, 'wörd' || (i * 7919 % 701) || 'É' AS w FROM range(20000) AS t(i))";
    session.query(&format!("CREATE TABLE plain {made}")).expect("rows");
    session.query("CREATE TABLE collated (i BIGINT, w TEXT COLLATE NOCASE)").expect("a table");
    session.query("INSERT INTO collated SELECT * FROM plain").expect("rows");
    for (collated, plain) in [
        (
            "SELECT count(*), count(DISTINCT w) FROM collated",
            "SELECT count(*), count(DISTINCT lower(w)) FROM plain",
        ),
        (
            "SELECT sum(n), max(n), count(*) FROM (SELECT w, count(*) AS n FROM collated GROUP BY w)",
            "SELECT sum(n), max(n), count(*) FROM (SELECT lower(w), count(*) AS n FROM plain GROUP BY 1)",
        ),
        (
            "SELECT count(*) FROM collated a JOIN collated b ON a.w = b.w WHERE a.i < 500",
            "SELECT count(*) FROM plain a JOIN plain b ON lower(a.w) = lower(b.w) WHERE a.i < 500",
        ),
        (
            "SELECT count(*) FROM collated a WHERE w IN (SELECT upper(w) FROM plain WHERE i < 50)",
            "SELECT count(*) FROM plain a WHERE lower(w) IN (SELECT lower(w) FROM plain WHERE i < 50)",
        ),
        (
            "SELECT sum(i * r) FROM (SELECT i, row_number() OVER (PARTITION BY w ORDER BY i) AS r FROM collated)",
            "SELECT sum(i * r) FROM (SELECT i, row_number() OVER (PARTITION BY lower(w) ORDER BY i) AS r FROM plain)",
        ),
        (
            "SELECT i FROM collated ORDER BY w, i LIMIT 50",
            "SELECT i FROM plain ORDER BY lower(w), i LIMIT 50",
        ),
        (
            "SELECT lower(min(w)), lower(max(w)) FROM collated",
            "SELECT min(lower(w)), max(lower(w)) FROM plain",
        ),
        (
            "SELECT count(*) FROM (SELECT w FROM collated INTERSECT SELECT upper(w) FROM plain)",
            "SELECT count(*) FROM (SELECT lower(w) FROM plain INTERSECT SELECT lower(w) FROM plain)",
        ),
        (
            "SELECT count(*) FROM collated WHERE w < 'WÖRD300' AND w <> 'Wörd1É'",
            "SELECT count(*) FROM plain WHERE lower(w) < 'wörd300' AND lower(w) <> 'wörd1é'",
        ),
    ] {
        assert_eq!(rows(&session, collated), rows(&session, plain), "{collated}");
    }
    // The first text of a group is shown, and a text that is in the table.
    let shown = "SELECT count(*) FROM (SELECT w FROM collated GROUP BY w) g \
                 WHERE w::TEXT NOT IN (SELECT w FROM plain WHERE w IS NOT NULL)";
    assert_eq!(rows(&session, shown), ["0"]);
    let first = "SELECT w::TEXT = (SELECT p.w FROM plain p WHERE lower(p.w) = lower(g.w::TEXT) ORDER BY i LIMIT 1) AS same, \
                 count(*) FROM (SELECT w FROM collated WHERE w IS NOT NULL GROUP BY w) g GROUP BY 1";
    assert_eq!(rows(&session, first), ["true|701"]);
}
