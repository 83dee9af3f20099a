//! Queries that several engines of one process run together give what one engine gives.

use engine::{Database, Options, Session};

fn session(nodes: u32) -> Session {
    let options = Options { workers: Some(2), ..Options::default() };
    let session = Database::in_memory(options).expect("opens").session();
    session
        .execute(
            "CREATE TABLE t WITH (block_size = 65536) AS SELECT i AS k, i % 97 AS g, 'text ' || i AS s FROM generate_series(1, 50000) AS r(i); \
             CREATE TABLE u WITH (block_size = 65536) AS SELECT i * 3 AS k, i AS v FROM generate_series(1, 20000) AS r(i)",
        )
        .expect("makes tables");
    session.execute(&format!("SET cluster_nodes = {nodes}")).expect("sets");
    session
}

fn rows(session: &Session, text: &str) -> Vec<String> {
    let results = session.execute(text).unwrap_or_else(|error| panic!("{text}: {error}"));
    let result = results.last().expect("a result");
    let mut rows = Vec::new();
    for batch in result.batches() {
        for row in 0..batch.rows {
            rows.push(format!("{:?}", batch.columns.iter().map(|c| c.value(row)).collect::<Vec<_>>()));
        }
    }
    rows
}

#[test]
fn joins_and_groups_on_several_nodes_are_those_of_one() {
    let queries = [
        "SELECT count(*) FROM t",
        "SELECT g, count(*), sum(k) FROM t GROUP BY g ORDER BY g",
        "SELECT count(*), sum(t.g), sum(u.v), min(s), max(s) FROM t JOIN u ON t.k = u.k",
        "SELECT t.k, s, v FROM t JOIN u ON t.k = u.k WHERE g < 3 ORDER BY t.k LIMIT 20",
        "SELECT * FROM t WHERE k % 1000 = 7",
        "SELECT * FROM t LIMIT 10",
        "SELECT * FROM t LIMIT 10 OFFSET 30000",
    ];
    let one = session(1);
    for nodes in [2, 3] {
        let several = session(nodes);
        for query in queries {
            assert_eq!(rows(&several, query), rows(&one, query), "{query} on {nodes} nodes");
        }
    }
}
