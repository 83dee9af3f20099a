//! Partitioned tables compared with a table without partitions: what plans and scans pass over, answers under random
//! changes, restart, export and import.

use std::path::PathBuf;

use conformance::configuration;
use engine::{Database, Options, Session, Value};
use random::Random;

fn run(session: &Session, text: &str) {
    session.query(text).unwrap_or_else(|e| panic!("{text}\n{}", e.render(text)));
}

fn answer(session: &Session, query: &str) -> Vec<Vec<Value>> {
    let result = session.query(query).unwrap_or_else(|e| panic!("{query}\n{}", e.render(query)));
    let width = result.schema().len();
    let row = |row| (0..width).map(|column| result.value(row, column)).collect();
    let mut rows: Vec<Vec<Value>> = (0..result.rows()).map(row).collect();
    rows.sort();
    rows
}

fn explained(session: &Session, verb: &str, query: &str) -> String {
    let text = format!("{verb} {query}");
    let result = session.query(&text).unwrap_or_else(|e| panic!("{}", e.render(&text)));
    let line = |row| result.value(row, 0).as_text().unwrap_or_default().to_owned();
    (0..result.rows()).map(line).collect::<Vec<_>>().join("\n")
}

#[test]
fn plans_name_the_partitions_that_are_left() {
    let session = configuration::standard().open().unwrap();
    run(&session, "CREATE TABLE h (k INTEGER, v INTEGER) PARTITION BY HASH (k) PARTITIONS 4");
    run(&session, "INSERT INTO h SELECT x % 100, x FROM generate_series(1, 5000) AS g(x)");
    run(
        &session,
        "CREATE TABLE r (k INTEGER, v INTEGER) PARTITION BY RANGE (k) (PARTITION low VALUES LESS THAN (10), \
         PARTITION mid VALUES LESS THAN (50), PARTITION high VALUES LESS THAN (MAXVALUE))",
    );
    run(&session, "INSERT INTO r SELECT x % 100, x FROM generate_series(1, 5000) AS g(x)");
    for (query, expected) in [
        ("SELECT sum(v) FROM h", "partitions 4 of 4"),
        ("SELECT sum(v) FROM h WHERE k = 7", "partitions 1 of 4 (p3)"),
        ("SELECT sum(v) FROM h WHERE k IN (4, 8, 9)", "partitions 2 of 4 (p0, p1)"),
        ("SELECT sum(v) FROM h WHERE k > 7", "partitions 4 of 4"),
        ("SELECT sum(v) FROM r WHERE k = 10", "partitions 1 of 3 (mid)"),
        ("SELECT sum(v) FROM r WHERE k < 10", "partitions 1 of 3 (low)"),
        ("SELECT sum(v) FROM r WHERE k <= 10", "partitions 2 of 3 (low, mid)"),
        ("SELECT sum(v) FROM r WHERE k BETWEEN 20 AND 70", "partitions 2 of 3 (mid, high)"),
        ("SELECT sum(v) FROM r WHERE k IN (1, 99)", "partitions 2 of 3 (low, high)"),
    ] {
        let plan = explained(&session, "EXPLAIN", query);
        assert!(plan.contains(expected), "{query}: {expected}\n{plan}");
    }
    // While it runs: by predicates, and by the least and greatest of what is joined.
    let plan = explained(&session, "EXPLAIN ANALYZE", "SELECT sum(v) FROM h WHERE k = 7");
    assert!(plan.contains("blocks skipped 3"), "{plan}");
    run(&session, "CREATE TABLE small (s INTEGER)");
    run(&session, "INSERT INTO small VALUES (5), (6)");
    let plan = explained(&session, "EXPLAIN ANALYZE", "SELECT sum(v) FROM h JOIN small ON k = s");
    assert!(plan.contains("blocks skipped 2"), "{plan}");
}

fn folder(name: &str) -> PathBuf {
    let folder = std::env::temp_dir().join(format!("quickstep-partitions-{name}-{}", std::process::id()));
    let _ = std::fs::remove_dir_all(&folder);
    folder
}

fn open(folder: &std::path::Path) -> Database {
    let options = Options { workers: Some(2), memory_bytes: Some(4 << 30), ..Options::default() };
    Database::open(Some(&folder.to_string_lossy()), options).unwrap()
}

const SCHEMES: [(&str, &str); 6] = [
    ("INTEGER", "HASH (k) PARTITIONS 5"),
    ("BIGINT", "HASH (k) PARTITIONS 1"),
    ("SMALLINT", "HASH (k) PARTITIONS 7"),
    ("TEXT", "HASH (k) PARTITIONS 4"),
    ("DECIMAL(12, 2)", "HASH (k) PARTITIONS 3"),
    (
        "INTEGER",
        "RANGE (k) (PARTITION a VALUES LESS THAN (10), PARTITION b VALUES LESS THAN (30), PARTITION c VALUES LESS THAN (MAXVALUE))",
    ),
];

/// A partitioned table and one that is not, under the same changes; with restarts between.
#[test]
fn random_changes() {
    let seeds = std::env::var("PARTITION_SEEDS").ok().and_then(|s| s.parse().ok()).unwrap_or(6);
    for seed in 0..seeds {
        let mut random = Random::new(seed);
        let (ty, scheme) = SCHEMES[seed as usize % SCHEMES.len()];
        let nulls = !scheme.starts_with("RANGE");
        let place = folder(&format!("random-{seed}"));
        let mut database = open(&place);
        let mut session = database.session();
        run(&session, &format!("CREATE TABLE p (k {ty}, v INTEGER, t TEXT) PARTITION BY {scheme}"));
        run(&session, &format!("CREATE TABLE plain (k {ty}, v INTEGER, t TEXT)"));
        let mut inside = false;
        for step in 0..40 {
            if random.chance(15) {
                run(
                    &session,
                    if !inside {
                        "BEGIN"
                    } else if random.chance(60) {
                        "COMMIT"
                    } else {
                        "ROLLBACK"
                    },
                );
                inside = !inside;
            }
            if !inside && random.chance(10) {
                drop(session);
                drop(database);
                database = open(&place);
                session = database.session();
            }
            if !inside && random.chance(8) {
                run(&session, "CHECKPOINT");
            }
            let (n, m) = (random.between(0, 60), random.between(0, 60));
            let key = if nulls && random.chance(20) { "NULL".into() } else { format!("CAST({n} AS {ty})") };
            let change = match random.below(8) {
                0 | 1 => format!("INSERT INTO @ VALUES ({key}, {step}, 't{m}')"),
                2 => format!(
                    "INSERT INTO @ SELECT CAST((x * 7 + {n}) % 61 AS {ty}), x, 't' || x % 9 FROM generate_series(1, {}) AS g(x)",
                    m * 20
                ),
                3 => format!("DELETE FROM @ WHERE k = CAST({n} AS {ty})"),
                4 => format!("UPDATE @ SET k = CAST({n} AS {ty}) WHERE k = CAST({m} AS {ty})"),
                5 => format!("UPDATE @ SET v = v + 1 WHERE v % 7 = {}", n % 7),
                6 => format!("DELETE FROM @ WHERE v % 11 = {} OR t = 't{m}'", n % 11),
                _ => format!(
                    "MERGE INTO @ USING (VALUES (CAST({n} AS {ty}))) AS s(i) ON k = i AND v < 5 WHEN MATCHED THEN DELETE WHEN NOT MATCHED THEN INSERT VALUES (i, {m}, NULL)"
                ),
            };
            for table in ["p", "plain"] {
                run(&session, &change.replace('@', table));
            }
            let condition = match random.below(6) {
                0 => format!("k = CAST({n} AS {ty})"),
                1 => format!("k IN (CAST({n} AS {ty}), CAST({m} AS {ty}))"),
                2 => format!("k >= CAST({n} AS {ty}) AND k < CAST({m} AS {ty})"),
                3 => "k IS NULL".into(),
                4 => format!("k <= CAST({n} AS {ty}) OR v = {m}"),
                _ => "true".into(),
            };
            let query = format!("SELECT k, v, t FROM @ WHERE {condition}");
            assert_eq!(
                answer(&session, &query.replace('@', "p")),
                answer(&session, &query.replace('@', "plain")),
                "seed {seed}, step {step}: {query}"
            );
            let join = "SELECT count(*), sum(a.v) FROM @ a JOIN (SELECT DISTINCT k FROM plain WHERE v < 3) b ON a.k = b.k";
            assert_eq!(
                answer(&session, &join.replace('@', "p")),
                answer(&session, &join.replace('@', "plain"))
            );
        }
        if inside {
            run(&session, "COMMIT");
        }
        // Every block is of one partition, whose rows are all there.
        let counted = answer(&session, "SELECT sum(rows) FROM quickstep_partitions() WHERE table_name = 'p'");
        let there = answer(&session, "SELECT CAST(count(*) AS BIGINT) FROM p");
        assert_eq!(counted[0][0].as_i128(), there[0][0].as_i128());
        let (exported, again) = (folder(&format!("exported-{seed}")), folder(&format!("again-{seed}")));
        run(&session, &format!("EXPORT DATABASE '{}'", exported.display()));
        let second = open(&again);
        let other = second.session();
        run(&other, &format!("IMPORT DATABASE '{}'", exported.display()));
        let all = "SELECT * FROM p";
        assert_eq!(answer(&other, all), answer(&session, all));
        let parts =
            "SELECT partition_name, position, kind, column_name, less_than, rows FROM quickstep_partitions()";
        assert_eq!(answer(&other, parts), answer(&session, parts));
        drop((session, database, other, second));
        for folder in [place, exported, again] {
            let _ = std::fs::remove_dir_all(folder);
        }
    }
}

/// Claims by memory node, on machines that are made up: answers are those of a machine with one node, whatever the
/// mode and however few workers there are for the nodes, and each node's workers read its blocks.
#[test]
fn work_orders_go_to_their_memory_nodes() {
    let queries = [
        "SELECT count(*), sum(v), min(t) FROM p",
        "SELECT k % 10, count(*), sum(v) FROM p GROUP BY k % 10",
        "SELECT t, v FROM p ORDER BY v DESC, t LIMIT 20",
        "SELECT count(*), sum(a.v) FROM p AS a JOIN p AS b ON a.k = b.v WHERE b.k < 3000",
        "SELECT sum(r) FROM (SELECT row_number() OVER (PARTITION BY k % 7 ORDER BY v) AS r FROM p)",
        "SELECT count(*) FROM (SELECT v FROM p LIMIT 1000)",
        "SELECT v, k FROM p WHERE k = 77 ORDER BY v",
    ];
    let filled = |nodes: Option<usize>, workers: usize| {
        let options = Options {
            workers: Some(workers),
            memory_bytes: Some(1 << 30),
            memory_nodes: nodes,
            ..Options::default()
        };
        let session = Database::in_memory(options).unwrap().session();
        run(
            &session,
            "CREATE TABLE p (k INTEGER, v BIGINT, t TEXT) WITH (block_size = '128KB') PARTITION BY HASH (k) PARTITIONS 8",
        );
        run(
            &session,
            "INSERT INTO p SELECT x % 9973, x, 'text ' || (x % 1000) FROM generate_series(1, 200000) AS g(x)",
        );
        session
    };
    let plain = filled(None, 2);
    let expected: Vec<_> = queries.iter().map(|query| answer(&plain, query)).collect();
    for (nodes, workers) in [(1, 2), (2, 1), (2, 2), (3, 4), (8, 3)] {
        let session = filled(Some(nodes), workers);
        for mode in ["off", "stealing", "strict"] {
            for affinity in ["nodes", "none"] {
                run(&session, &format!("SET node_scheduling = '{mode}'"));
                run(&session, &format!("SET worker_affinity = '{affinity}'"));
                for (query, expected) in queries.iter().zip(&expected) {
                    assert_eq!(
                        answer(&session, query),
                        *expected,
                        "{nodes} nodes, {workers}, {mode}: {query}"
                    );
                }
            }
            let plan = explained(&session, "EXPLAIN ANALYZE", queries[0]);
            let said = "blocks read near their memory ";
            assert_eq!(plan.contains(said), nodes > 1, "{nodes} nodes, {mode}\n{plan}");
            if nodes == 2 && mode == "strict" {
                let (near, rest) = plan.split_once(said).unwrap().1.split_once(" of ").unwrap();
                let all: String = rest.chars().take_while(char::is_ascii_digit).collect();
                let (near, all): (u64, u64) = (near.parse().unwrap(), all.parse().unwrap());
                assert!(near > 0 && all >= 8, "{plan}");
            }
        }
    }
    let error = plain.query("SET node_scheduling = 'near'").unwrap_err();
    assert_eq!(error.hint(), Some("expected stealing, strict or off"));
}
