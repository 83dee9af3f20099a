//! Queries that several engines of one process run together: they give what one engine gives, end as one, and leave
//! nothing behind.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use engine::{Database, Options, Session};
use random::Random;

const TABLES: &str = "CREATE TABLE t WITH (block_size = 65536) AS \
     SELECT i AS k, i % 97 AS g, 'text ' || i AS s FROM generate_series(1, 50000) AS r(i); \
     CREATE TABLE u WITH (block_size = 65536) AS SELECT i * 3 AS k, i AS v FROM generate_series(1, 20000) AS r(i); \
     CREATE TABLE w WITH (block_size = 65536) AS \
     SELECT i % 500 AS k, CASE WHEN i % 7 = 0 THEN NULL ELSE i END AS n FROM generate_series(1, 3000) AS r(i)";

fn database() -> Database {
    Database::in_memory(Options { workers: Some(2), ..Options::default() }).expect("opens")
}

fn session(settings: &[(&str, &str)]) -> Session {
    let session = database().session();
    session.execute(TABLES).expect("makes tables");
    for (name, value) in settings {
        session.execute(&format!("SET {name} = '{value}'")).expect("sets");
    }
    session
}

fn rows(session: &Session, text: &str) -> Vec<String> {
    rows_or_error(session, text).unwrap_or_else(|error| panic!("{text}: {}", error.render(text)))
}

fn rows_or_error(session: &Session, text: &str) -> types::Result<Vec<String>> {
    let results = session.execute(text)?;
    let result = results.last().expect("a result");
    let mut rows = Vec::new();
    for batch in result.batches() {
        for row in 0..batch.rows {
            rows.push(format!("{:?}", batch.columns.iter().map(|c| c.value(row)).collect::<Vec<_>>()));
        }
    }
    Ok(rows)
}

#[test]
fn answers_on_several_nodes_are_those_of_one() {
    // In the order that one engine gives, where no rows go by hash.
    let in_order = [
        "SELECT count(*) FROM t",
        "SELECT g, count(*), sum(k) FROM t GROUP BY g ORDER BY g",
        "SELECT count(*), sum(t.g), sum(u.v), min(s), max(s) FROM t JOIN u ON t.k = u.k",
        "SELECT t.k, s, v FROM t JOIN u ON t.k = u.k WHERE g < 3 ORDER BY t.k LIMIT 20",
        "SELECT k, s FROM t ORDER BY s DESC",
        "SELECT * FROM t WHERE k % 1000 = 7",
        "SELECT * FROM t LIMIT 10",
        "SELECT * FROM t LIMIT 10 OFFSET 30000",
        "SELECT i FROM generate_series(1, 1000000) AS r(i) WHERE i % 100000 = 1",
        "WITH c AS (SELECT g, count(*) AS n FROM t GROUP BY g) \
         SELECT a.g, a.n, b.n FROM c AS a JOIN c AS b ON a.g = b.g + 1 ORDER BY 1",
        "SELECT (SELECT max(v) FROM u) - count(*) FROM t",
    ];
    let in_any = [
        "SELECT t.k, v FROM t JOIN u ON t.k = u.k",
        "SELECT g, count(DISTINCT k % 10), min(s) FROM t GROUP BY g",
        "SELECT t.k, u.v FROM t FULL JOIN u ON t.k = u.k WHERE t.g IS NULL OR t.g = 5",
        "SELECT k FROM t WHERE k NOT IN (SELECT k FROM u) AND g = 1",
        "SELECT k FROM t WHERE EXISTS (SELECT 1 FROM w WHERE w.k = t.k AND n > 100)",
        "SELECT g, k, row_number() OVER (PARTITION BY g ORDER BY k DESC) AS r FROM t QUALIFY r <= 2",
        "SELECT k, sum(n) FROM w GROUP BY ROLLUP (k)",
        "SELECT DISTINCT g FROM t UNION SELECT v FROM u WHERE v < 5",
        "SELECT count(*) FROM t JOIN w ON t.k < w.k AND t.g = 3",
    ];
    let one = session(&[]);
    for settings in [
        &[("cluster_nodes", "2")][..],
        &[("cluster_nodes", "3"), ("unit_of_transfer", "block"), ("cluster_small_size", "0")],
        &[
            ("cluster_nodes", "4"),
            ("cluster_transport", "tcp"),
            ("cluster_message_size", "64KB"),
            ("cluster_small_size", "0"),
        ],
    ] {
        let several = session(settings);
        for query in in_order {
            assert_eq!(rows(&several, query), rows(&one, query), "{query} with {settings:?}");
        }
        for query in in_any {
            let (mut found, mut expected) = (rows(&several, query), rows(&one, query));
            found.sort();
            expected.sort();
            assert_eq!(found, expected, "{query} with {settings:?}");
        }
    }
}

#[test]
fn rows_that_change_are_found_on_all_nodes_and_changed_at_one() {
    let (one, several) = (session(&[]), session(&[("cluster_nodes", "3")]));
    for change in [
        "INSERT INTO u SELECT k, g FROM t WHERE k % 2 = 0",
        "UPDATE t SET s = 'new' FROM u WHERE t.k = u.k",
        "DELETE FROM t WHERE k IN (SELECT k FROM w)",
        "CREATE TABLE x AS SELECT g, count(*) AS n FROM t GROUP BY g",
    ] {
        one.execute(change).expect("changes");
        several.execute(change).unwrap_or_else(|error| panic!("{change}: {error}"));
        for query in [
            "SELECT count(*), sum(k), sum(v) FROM u",
            "SELECT count(*), sum(k), count(DISTINCT s) FROM t",
            "SELECT * FROM t ORDER BY k LIMIT 50",
        ] {
            assert_eq!(rows(&several, query), rows(&one, query), "{query} after {change}");
        }
    }
    assert_eq!(rows(&several, "SELECT * FROM x ORDER BY g"), rows(&one, "SELECT * FROM x ORDER BY g"));
}

/// Trees of joins and groups over the tables, some of them deep.
fn random_query(random: &mut Random, depth: usize) -> String {
    if depth == 0 || random.below(4) == 0 {
        let table = ["SELECT k, g AS v FROM t", "SELECT k, v FROM u", "SELECT k, n AS v FROM w"];
        let table = table[random.below(3) as usize];
        return format!("{table} WHERE k % {} <> 1", 2 + random.below(50));
    }
    let one = random_query(random, depth - 1);
    match random.below(5) {
        0 | 1 => {
            let other = random_query(random, depth - 1);
            let kind = ["JOIN", "LEFT JOIN", "JOIN", "FULL JOIN"][random.below(4) as usize];
            format!(
                "SELECT coalesce(a.k, b.k) AS k, coalesce(a.v, 0) + coalesce(b.v, 0) AS v \
                 FROM ({one}) AS a {kind} (SELECT k, min(v) AS v FROM ({other}) AS q GROUP BY k) AS b ON a.k = b.k"
            )
        }
        2 => format!("SELECT k % 1000 AS k, sum(v) AS v FROM ({one}) AS a GROUP BY k % 1000"),
        3 => format!("SELECT k, v FROM ({one}) AS a UNION ALL SELECT k, v FROM u WHERE k < 300"),
        _ => format!("SELECT DISTINCT k, v FROM ({one}) AS a WHERE v IN (SELECT v FROM u)"),
    }
}

#[test]
fn random_plans_end_with_tiny_buffers() {
    let tiny = [
        ("cluster_nodes", "3"),
        ("cluster_message_size", "64KB"),
        ("cluster_memory", "4MB"),
        ("cluster_small_size", "0"),
    ];
    let (one, several) = (session(&[]), session(&tiny));
    several.execute("SET statement_timeout = '120s'").expect("sets");
    let wanted = std::env::var("QUICKSTEP_SIMULATIONS").ok().and_then(|n| n.parse().ok()).unwrap_or(25);
    let mut compared = 0;
    for seed in 0..wanted {
        let inner = random_query(&mut Random::new(seed), 3);
        let query = format!("SELECT count(*), sum(k), sum(v) FROM ({inner}) AS all_rows");
        match rows_or_error(&several, &query) {
            // There is room for sixteen exchanges that are open at once.
            Err(error) => assert_eq!(error.state().code(), "53200", "seed {seed}: {query}: {error}"),
            Ok(found) => {
                assert_eq!(found, rows(&one, &query), "seed {seed}: {query}");
                compared += 1;
            }
        }
    }
    assert!(compared * 2 > wanted, "{compared} of {wanted} ran");
}

/// What the query `text` says when it fails, and how long it took.
fn failure(session: &Session, text: &str) -> (engine::Error, Duration) {
    let begun = Instant::now();
    let error = session.execute(text).map(drop).expect_err("fails");
    (error, begun.elapsed())
}

#[test]
fn sessions_share_the_nodes_and_see_their_own_snapshots() {
    let first = session(&[("cluster_nodes", "3"), ("cluster_small_size", "0")]);
    first.execute("BEGIN; INSERT INTO u VALUES (-1, -1)").expect("inserts");
    let database = first.database();
    let joined = "SELECT count(*), sum(v) FROM t JOIN u ON t.k = u.k";
    let expected = rows(&database.session(), joined);
    let expected = &expected;
    std::thread::scope(|scope| {
        for number in 0..4 {
            scope.spawn(move || {
                let own = database.session();
                own.execute("SET cluster_nodes = 3; SET cluster_small_size = 0").expect("sets");
                for round in 0..4 {
                    assert_eq!(&rows(&own, joined), expected, "{number} {round}");
                    // What one of them cancels is its own alone.
                    own.execute("SET statement_timeout = '300ms'").expect("sets");
                    let (error, _) = failure(&own, LONG);
                    assert_eq!(error.state().code(), "57014");
                    own.execute("SET statement_timeout = 0").expect("sets");
                    assert_eq!(rows(&own, "SELECT count(*) FROM u"), ["[I64(20000)]"]);
                }
            });
        }
    });
    assert_eq!(rows(&first, "SELECT count(*) FROM u"), ["[I64(20001)]"]);
    first.execute("ROLLBACK").expect("takes it back");
}

#[test]
fn an_error_on_one_node_ends_the_query_on_all_with_that_error() {
    let session = session(&[("cluster_nodes", "3")]);
    // The row is on the last node, then on the second.
    for bad in [49_990, 25_000, 3] {
        let query = format!("SELECT g, sum(1 / (k - {bad})) FROM t GROUP BY g");
        let (error, _) = failure(&session, &query);
        assert_eq!(error.state().code(), "22012", "{error}");
    }
    assert_eq!(rows(&session, "SELECT count(*) FROM t"), ["[I64(50000)]"]);
}

/// Minutes of work for all nodes, with rows on their way all the time.
const LONG: &str =
    "SELECT count(*) FROM t AS a JOIN t AS b ON a.g = b.g JOIN t AS c ON b.g = c.g WHERE a.k + b.k + c.k = 1";

#[test]
fn cancels_and_timeouts_end_all_nodes_soon_and_give_memory_back() {
    let session = session(&[("cluster_nodes", "3")]);
    let database = session.database();
    rows(&session, "SELECT count(*) FROM t JOIN u ON t.k = u.k");
    let before = database.memory_used().0;
    for round in 0..3 {
        let begun = Instant::now();
        let wait = Duration::from_millis(100 + 150 * round);
        let ended = std::thread::scope(|scope| {
            let running = scope.spawn(|| session.execute(LONG).map(drop));
            std::thread::sleep(wait);
            session.interrupt();
            running.join().expect("does not panic")
        });
        let late = begun.elapsed().saturating_sub(wait);
        assert_eq!(ended.expect_err("is cancelled").state().code(), "57014");
        println!("cancel took {late:?}");
        assert!(late < Duration::from_secs(2), "{late:?}");
    }
    session.execute("SET statement_timeout = '200ms'").expect("sets");
    let (error, took) = failure(&session, LONG);
    assert_eq!(error.state().code(), "57014");
    assert!(error.to_string().contains("timeout"), "{error}");
    println!("timeout of 200 ms after {took:?}");
    session.execute("SET statement_timeout = 0").expect("sets");
    // Idle slabs of messages are given back after a second.
    let deadline = Instant::now() + Duration::from_secs(20);
    let allowed = before + (8 << 20);
    while database.memory_used().0 > allowed && Instant::now() < deadline {
        std::thread::sleep(Duration::from_millis(50));
    }
    assert!(database.memory_used().0 <= allowed, "{} of {before}", database.memory_used().0);
    assert_eq!(rows(&session, "SELECT count(*) FROM t"), ["[I64(50000)]"]);
}

#[test]
fn rows_on_their_way_to_a_slow_consumer_take_bounded_memory() {
    let session = session(&[
        ("cluster_nodes", "3"),
        ("cluster_message_size", "64KB"),
        ("cluster_memory", "4MB"),
        ("cluster_small_size", "0"),
    ]);
    let database = session.database();
    session
        .execute("CREATE TABLE wide WITH (block_size = 262144) AS SELECT i, repeat(md5(i::text), 8) AS s FROM generate_series(1, 200000) AS r(i)")
        .expect("makes a table");
    session
        .execute("CREATE TABLE keys AS SELECT i FROM generate_series(1, 200000) AS r(i)")
        .expect("makes a table");
    // Both sides go by hash; the wide one, 50 MB, is probed with, and what is done with it then is slow.
    let query = "SELECT count(*), max(length(replace(replace(w.s, 'a', 'bb'), 'c', 'dd'))) \
                 FROM wide AS w FULL JOIN keys AS k ON w.i = k.i";
    let sent = text(&session, &format!("EXPLAIN ANALYZE {query}"));
    assert!(sent.contains("bytes sent by node"), "{sent}");
    println!("{sent}");
    database.release_idle_memory();
    let (before, done) = (database.memory_used().0, AtomicBool::new(false));
    let most = std::thread::scope(|scope| {
        let watched = scope.spawn(|| {
            let mut most = 0;
            while !done.load(Ordering::SeqCst) {
                most = most.max(database.memory_used().0);
                std::thread::sleep(Duration::from_micros(500));
            }
            most
        });
        rows(&session, query);
        done.store(true, Ordering::SeqCst);
        watched.join().expect("does not panic")
    });
    println!("{} KB more than before", most.saturating_sub(before) >> 10);
    assert!(most.saturating_sub(before) < 24 << 20, "{most} after {before}");
}

/// What EXPLAIN gives.
fn text(session: &Session, explain: &str) -> String {
    let results = session.execute(explain).unwrap_or_else(|error| panic!("{explain}: {error}"));
    let mut lines = Vec::new();
    for batch in results.last().expect("a result").batches() {
        for row in 0..batch.rows {
            lines.push(batch.columns[0].value(row).as_text().unwrap_or_default().to_owned());
        }
    }
    lines.join("\n")
}

#[test]
fn explain_shows_exchanges_with_the_rows_and_bytes_of_each_node() {
    let session = session(&[("cluster_nodes", "3")]);
    let plan = text(&session, "EXPLAIN SELECT t.k, v FROM t JOIN u ON t.k = u.k");
    assert!(plan.contains("Exchange") && plan.contains("gather"), "{plan}");
    session.execute("SET cluster_small_size = 0").expect("sets");
    let analyzed = text(&session, "EXPLAIN ANALYZE SELECT k, count(*) FROM t GROUP BY k");
    for shown in ["rows by node", "bytes sent by node", "messages sent", "most rows over the mean"] {
        assert!(analyzed.contains(shown), "{shown} is missing: {analyzed}");
    }
    println!("{analyzed}");
}

#[test]
fn nothing_listens_beyond_loopback() {
    let session = session(&[("cluster_nodes", "3"), ("cluster_transport", "tcp")]);
    rows(&session, "SELECT count(*) FROM t");
    let mut own = std::collections::HashSet::new();
    for entry in std::fs::read_dir("/proc/self/fd").expect("is there").flatten() {
        let target = std::fs::read_link(entry.path()).unwrap_or_default().to_string_lossy().into_owned();
        if let Some(inode) = target.strip_prefix("socket:[") {
            own.insert(inode.trim_end_matches(']').to_owned());
        }
    }
    let mut listening = 0;
    for (file, loopback) in [("/proc/self/net/tcp", "0100007F"), ("/proc/self/net/tcp6", "none of them")] {
        for line in std::fs::read_to_string(file).unwrap_or_default().lines().skip(1) {
            let fields: Vec<&str> = line.split_whitespace().collect();
            // State 0A: listening.
            if fields.get(3) == Some(&"0A") && own.contains(fields[9]) {
                assert!(fields[1].starts_with(loopback), "listens at {}", fields[1]);
                listening += 1;
            }
        }
    }
    // Other tests of this program may have nodes, too.
    assert!(listening >= 3, "{listening} sockets listen");
}
