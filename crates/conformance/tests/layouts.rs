//! Blocks made anew in the background while others read and write: `ALTER TABLE ... SET`.

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
