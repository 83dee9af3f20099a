//! Blocks made anew in the background while others read and write: `ALTER TABLE ... SET`.
//!
//! The tests watch the layouts of a table's blocks while sessions insert and query. Rows must be complete at every
//! moment, and indexes must be in all blocks at the end. EXPLAIN ANALYZE tells how predicates were evaluated.

use std::time::{Duration, Instant};

use engine::{Database, Options, Session};

fn session() -> Session {
    let options = Options { workers: Some(2), ..Options::default() };
    Database::in_memory(options).expect("opens").session()
}

fn number(session: &Session, query: &str) -> i64 {
    session.query(query).unwrap_or_else(|e| panic!("{query}: {e}")).value(0, 0).as_i64().expect("a number")
}

fn wait(session: &Session) {
    let started = Instant::now();
    while session.database().is_reorganizing() {
        assert!(started.elapsed() < Duration::from_secs(60), "the work does not end");
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// Layouts of the blocks of the table `t`, with how many have them.
fn layouts(session: &Session) -> Vec<(String, Option<usize>, usize)> {
    let snapshot = session.database().catalog().snapshot();
    let table = snapshot.table(None, "t").expect("is there");
    let mut found: Vec<(String, Option<usize>, usize)> = Vec::new();
    for stored in table.data.stored() {
        let is = (stored.block.layout().name().to_owned(), stored.block.sorted_by());
        match found.iter_mut().find(|(layout, sorted, _)| (layout, sorted) == (&is.0, &is.1)) {
            Some((_, _, count)) => *count += 1,
            None => found.push((is.0, is.1, 1)),
        }
    }
    found.sort();
    found
}

#[test]
fn blocks_are_made_anew_while_rows_change() {
    let session = session();
    session.query("CREATE TABLE t (a INTEGER, b INTEGER) WITH (block_size = '64KB')").expect("creates");
    session
        .query("INSERT INTO t SELECT i, (i % 5000) * 7919 % 1000 FROM range(400000) AS r(i)")
        .expect("inserts");
    let sum = number(&session, "SELECT sum(a + b) FROM t");
    session.query("ALTER TABLE t SET (layout = column, compress = false, sort = b)").expect("begins");
    let other = session.database().session();
    let mut deleted = 0;
    for i in 0..40 {
        deleted += number(&other, &format!("SELECT a + b FROM t WHERE a = {}", i * 9001));
        other.query(&format!("DELETE FROM t WHERE a = {}", i * 9001)).expect("deletes");
        other.query(&format!("INSERT INTO t VALUES ({}, 0)", -i)).expect("inserts");
        deleted += i;
        assert_eq!(number(&other, "SELECT sum(a + b) FROM t"), sum - deleted);
    }
    wait(&session);
    assert_eq!(number(&session, "SELECT sum(a + b) FROM t"), sum - deleted);
    assert_eq!(number(&session, "SELECT count(*) FROM t"), 400_000);
    let found = layouts(&session);
    let sorted: usize = found.iter().filter(|(l, by, _)| l == "column" && *by == Some(1)).map(|f| f.2).sum();
    let others: usize = found.iter().map(|f| f.2).sum::<usize>() - sorted;
    // The last block takes small additions, in their order.
    assert!(sorted > 10 && others <= 1, "{found:?}");
}

/// How many blocks of the table `t` have an index of a column.
fn indexed(session: &Session, column: usize) -> (usize, usize) {
    let snapshot = session.database().catalog().snapshot();
    let table = snapshot.table(None, "t").expect("is there");
    let has = table.data.stored().iter().filter(|s| s.block.indices().any(|(i, _)| i.column == column));
    (has.count(), table.data.stored().len())
}

#[test]
fn an_index_created_while_blocks_are_made_anew_is_in_all_of_them() {
    let session = session();
    session.query("CREATE TABLE t (a INTEGER, s TEXT) WITH (block_size = '64KB')").expect("creates");
    session.query("INSERT INTO t SELECT i, 'text ' || i % 100 FROM range(300000) AS r(i)").expect("inserts");
    for (round, layout) in
        ["row", "compressed_row", "column", "compressed_column"].iter().cycle().take(12).enumerate()
    {
        session.query(&format!("ALTER TABLE t SET (layout = {layout})")).expect("begins");
        std::thread::sleep(Duration::from_millis(round as u64 * 3));
        session.query("CREATE INDEX i ON t USING csbtree (a)").expect("creates");
        wait(&session);
        let (has, of) = indexed(&session, 0);
        assert!(has == of && of > 4, "{has} of {of} blocks, {layout}");
        assert_eq!(number(&session, "SELECT count(*) FROM t WHERE a = 1234"), 1);
        session.query("DROP INDEX i").expect("drops");
    }
}

#[test]
fn the_work_ends_when_an_index_cannot_be_built() {
    let session = session();
    session.query("CREATE TABLE t (s TEXT) WITH (block_size = '64KB')").expect("creates");
    session.query("INSERT INTO t SELECT 'text ' || i * 7919 FROM range(50000) AS r(i)").expect("inserts");
    session.query("ALTER TABLE t SET (layout = column, index = 'bitweaving(s)')").expect("begins");
    wait(&session);
    session.query("ALTER TABLE t SET (layout = row)").expect("begins");
    wait(&session);
    assert_eq!(number(&session, "SELECT count(*) FROM t WHERE s = 'text 7919'"), 1);
}

#[test]
fn a_condition_chooses_blocks() {
    let session = session();
    session.query("CREATE TABLE t (a INTEGER, s TEXT) WITH (block_size = '64KB')").expect("creates");
    session.query("INSERT INTO t SELECT i, 'text ' || i FROM range(100000) AS r(i)").expect("inserts");
    session.query("ALTER TABLE t SET (layout = row) WHERE a < 5000").expect("begins");
    wait(&session);
    let found = layouts(&session);
    assert_eq!(found.iter().map(|f| f.0.as_str()).collect::<Vec<_>>(), ["compressed_column", "split_row"]);
    assert_eq!(number(&session, "SELECT sum(a) FROM t WHERE s LIKE 'text 4%'"), {
        (0..100_000i64).filter(|i| i.to_string().starts_with('4')).sum::<i64>()
    });
    let error = session.query("ALTER TABLE t SET (layout = row) WHERE nosuch < 5").map(|_| ()).unwrap_err();
    assert_eq!(error.state().code(), "42703");
    session.query("BEGIN").expect("begins");
    let error = session.query("ALTER TABLE t SET (layout = row)").map(|_| ()).unwrap_err();
    assert_eq!(error.state().code(), "25001");
}

#[test]
fn explain_analyze_counts_the_ways_of_predicates() {
    let session = session();
    session
        .query("CREATE TABLE t (a INTEGER, b INTEGER, c INTEGER) WITH (block_size = '64KB')")
        .expect("creates");
    session
        .query("INSERT INTO t SELECT i, i * 7919 % 100003, i * 31 % 1009 FROM range(100000) AS r(i)")
        .expect("inserts");
    let ways = |query: &str| -> String {
        let plan = session.query(&format!("EXPLAIN ANALYZE {query}")).expect("runs");
        let lines: Vec<String> =
            (0..plan.rows()).map(|row| plan.value(row, 0).as_text().unwrap_or_default().to_owned()).collect();
        let found = lines.iter().find_map(|line| Some(line.split_once("access paths ")?.1.to_owned()));
        found.unwrap_or_else(|| panic!("{}", lines.join("\n")))
    };
    let blocks =
        session.database().catalog().snapshot().table(None, "t").expect("is there").data.blocks().len();
    assert!(blocks > 5, "{blocks}");
    assert_eq!(ways("SELECT count(*) FROM t WHERE b = 50000"), format!("{blocks} scan"));
    session.query("CREATE INDEX ON t USING csbtree (b)").expect("indexes");
    assert_eq!(ways("SELECT count(*) FROM t WHERE b = 50000"), format!("{blocks} csbtree"));
    // The rows that the index finds are probed for the other condition, in place of a scan.
    let both = ways("SELECT count(*) FROM t WHERE c = 7 AND b BETWEEN 50000 AND 50040");
    assert!(both.contains("csbtree") && both.contains("probe") && !both.contains("scan"), "{both}");
    // A disjunction over two columns, the second only where the first has not decided.
    let query = "SELECT count(*) FROM t WHERE b = 50000 OR c = 7";
    assert_eq!(ways(query), format!("{blocks} csbtree, {blocks} scan"));
    let found = number(&session, query);
    session.query("SET block_predicates = off").expect("is a switch");
    assert_eq!(number(&session, query), found);
    session.query("RESET block_predicates").expect("is a switch");
    session.query("SET predicates_on_codes = off").expect("is a switch");
    assert_eq!(number(&session, query), found);
}
