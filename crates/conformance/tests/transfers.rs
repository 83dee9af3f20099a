//! Units of transfer, as SQL sees them: rows and their order are those of `vector` under every unit, EXPLAIN says
//! what each edge has, and what is written down between operators is bounded, spilled and freed.
//!
//! The allocator is counted, as it is in the product, so that bounds on memory mean something.

use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
use std::time::Duration;

use engine::{Database, Options, ResultSet, Session, SqlState, Type};

#[global_allocator]
static ALLOCATOR: memory::CountingAllocator<std::alloc::System> =
    memory::CountingAllocator(std::alloc::System);

/// The allocator's count is the process's: one test at a time.
static ALONE: Mutex<()> = Mutex::new(());

fn session(workers: usize) -> Session {
    let options = Options { workers: Some(workers), memory_bytes: Some(4 << 30), ..Default::default() };
    Database::in_memory(options).expect("opens").session()
}

fn tpch(workers: usize, scale: &str) -> Session {
    let session = session(workers);
    session.query("SET block_size = '64KB'").expect("is a setting");
    session.query(&format!("CALL tpch(scale => {scale})")).expect("generates");
    session
}

fn set(session: &Session, settings: &[(&str, &str)]) {
    for (name, value) in settings {
        session.query(&format!("SET {name} = '{value}'")).unwrap_or_else(|e| panic!("{name} = {value}: {e}"));
    }
}

fn rows(result: &ResultSet) -> Vec<String> {
    let fields = result.schema().fields();
    let cell = |row: usize, at: usize| result.value(row, at).display(fields[at].ty);
    (0..result.rows())
        .map(|row| (0..fields.len()).map(|at| cell(row, at)).collect::<Vec<_>>().join("|"))
        .collect()
}

fn explained(session: &Session, query: &str) -> String {
    let result = session.query(query).unwrap_or_else(|e| panic!("{query}: {e}"));
    (0..result.rows()).map(|row| result.value(row, 0).display(Type::Text) + "\n").collect()
}

/// The number behind `name`, summed over a plan's operators.
fn noted(text: &str, name: &str) -> f64 {
    text.split(&format!("\"{name}\": "))
        .skip(1)
        .filter_map(|rest| rest.split([',', '}']).next()?.trim().parse::<f64>().ok())
        .sum()
}

const QUERIES: [&str; 17] = [
    "SELECT l_orderkey, l_comment FROM lineitem WHERE l_quantity < 3",
    "SELECT l_orderkey + 1, upper(l_comment) FROM lineitem WHERE l_orderkey % 3 = l_linenumber",
    "SELECT l_orderkey, o_orderdate, l_extendedprice FROM lineitem JOIN orders ON l_orderkey = o_orderkey WHERE o_totalprice > 100000",
    "SELECT c_name, o_orderkey, o_totalprice FROM customer LEFT JOIN orders ON c_custkey = o_custkey AND o_totalprice > 300000",
    "SELECT c_name, o_orderkey FROM orders FULL JOIN customer ON c_custkey = o_custkey AND o_totalprice > 300000",
    "SELECT o_orderkey FROM orders WHERE EXISTS (SELECT 1 FROM lineitem WHERE l_orderkey = o_orderkey AND l_quantity > 49)",
    "SELECT n_name, r_name FROM nation, region",
    "SELECT o_orderkey FROM orders UNION ALL SELECT c_custkey FROM customer UNION ALL SELECT i FROM generate_series(1, 9) AS t(i)",
    "SELECT l_orderkey, l_partkey FROM lineitem JOIN part ON l_partkey = p_partkey LIMIT 777 OFFSET 5",
    "SELECT l_suppkey, sum(l_quantity), count(*) FROM lineitem JOIN orders ON l_orderkey = o_orderkey GROUP BY l_suppkey ORDER BY l_suppkey",
    "SELECT o_custkey, string_agg(CAST(o_orderkey AS TEXT), ',') FROM orders WHERE o_custkey < 40 GROUP BY o_custkey ORDER BY 1",
    "SELECT string_agg(l_shipmode, '') FROM lineitem JOIN orders ON l_orderkey = o_orderkey WHERE o_orderkey < 500",
    "SELECT l_shipdate, l_comment FROM lineitem ORDER BY l_shipdate, l_comment, l_orderkey LIMIT 1000 OFFSET 10",
    "SELECT k, v FROM (SELECT l_orderkey AS k, l_quantity * 2 AS v FROM lineitem ORDER BY l_extendedprice, l_orderkey, l_linenumber) AS s WHERE v > 50",
    "SELECT o_orderkey, row_number() OVER (PARTITION BY o_custkey ORDER BY o_orderkey) FROM orders",
    "SELECT l_orderkey, count(*) FROM lineitem GROUP BY l_orderkey HAVING count(*) > 6 ORDER BY 1",
    "SELECT i, x FROM generate_series(1, 3000) AS t(i), unnest(ARRAY[i, i * 2]) AS u(x) WHERE i % 7 = 3",
];

/// The same rows in the same order, whatever the unit and the number of workers, streamed or whole.
#[test]
fn every_unit_gives_the_rows_of_vector_in_their_order() {
    let _alone = ALONE.lock();
    for workers in [1, 2, 4] {
        let session = tpch(workers, "0.01");
        set(&session, &[("unit_of_transfer", "vector")]);
        let expected: Vec<Vec<String>> = QUERIES.iter().map(|q| rows(&session.query(q).expect(q))).collect();
        for settings in [
            &[("unit_of_transfer", "block"), ("transfer_size", "1KB")][..],
            &[("unit_of_transfer", "blocks(3)"), ("transfer_size", "700")],
            &[("unit_of_transfer", "table"), ("transfer_size", "4KB"), ("batch_rows", "100")],
            &[("unit_of_transfer", "auto, probe = block, select = table"), ("transfer_size", "2KB")],
            &[("unit_of_transfer", "blocks(2)"), ("transfer_size", "2KB"), ("work_orders_per_operator", "1")],
            &[("unit_of_transfer", "table"), ("transfer_size", "1MB"), ("work_orders_per_operator", "2")],
        ] {
            for (name, value) in
                [("transfer_size", "1MB"), ("batch_rows", "4096"), ("work_orders_per_operator", "all")]
            {
                set(&session, &[(name, value)]);
            }
            set(&session, settings);
            for (query, expected) in QUERIES.iter().zip(&expected) {
                let whole = rows(&session.query(query).expect(query));
                assert!(whole == *expected, "{query} with {workers} workers and {settings:?}");
                let streamed = session.stream(query).expect(query).collect_rest().expect(query);
                assert!(rows(&streamed) == *expected, "{query} streamed, {workers} workers, {settings:?}");
            }
        }
    }
}

const JOINED: &str = "SELECT c_mktsegment, sum(l_extendedprice) FROM lineitem, orders, customer \
    WHERE l_orderkey = o_orderkey AND o_custkey = c_custkey AND l_quantity < 30 GROUP BY c_mktsegment";

#[test]
fn explain_says_how_rows_are_handed_on() {
    let _alone = ALONE.lock();
    let session = tpch(2, "0.01");
    // Groups below a join would be written down already.
    set(&session, &[("eager_aggregation", "off")]);
    let plan = |unit: &str| {
        set(&session, &[("unit_of_transfer", unit), ("transfer_size", "64KB")]);
        explained(&session, &format!("EXPLAIN {JOINED}"))
    };
    // `vector` is the rule, and not marked; with memory enough, `auto` follows it.
    assert!(!plan("vector").contains("handed on by"));
    assert!(!plan("auto").contains("handed on by"));
    let probes = plan("vector, probe = blocks(2)");
    let joins = probes.matches("HashJoin").count();
    assert_eq!(probes.matches("handed on by blocks(2), blocks of 65.5 kB").count(), joins, "{probes}");
    let tables = plan("table");
    assert!(tables.matches("handed on by table").count() > joins, "{tables}");
    let analyzed = explained(&session, &format!("EXPLAIN ANALYZE {JOINED}"));
    assert!(analyzed.contains("transferred units ") && analyzed.contains("transferred rows "), "{analyzed}");

    // The pipelines are cut where it says so, and at every join's build side.
    let pipelines = |unit: &str| {
        set(&session, &[("unit_of_transfer", unit)]);
        explained(&session, &format!("EXPLAIN (FORMAT pipelines) {JOINED}"))
    };
    let fused = pipelines("vector");
    assert_eq!(fused.matches("offers table").count(), joins, "{fused}");
    assert!(fused.contains("> result #0") && !fused.contains("fed by"), "{fused}");
    let cut = pipelines("vector, probe = blocks(2)");
    assert_eq!(cut.matches("fed by").count(), joins, "{cut}");

    // Rows that an edge hands on are counted once, at their operator.
    let rows_of_scan = |unit: &str| {
        set(&session, &[("unit_of_transfer", unit), ("runtime_filters", "off")]);
        let text = explained(&session, &format!("EXPLAIN (ANALYZE, FORMAT JSON) {JOINED}"));
        let scan = text.split("TableScan lineitem").nth(1).expect("scans lineitem").to_owned();
        let rows: f64 =
            scan.split("\"rows\": ").nth(1).and_then(|t| t.split(',').next()?.parse().ok()).expect("rows");
        (
            rows,
            scan.split("transferred rows\": ")
                .nth(1)
                .and_then(|t| t.split([',', '}']).next()?.trim().parse::<f64>().ok()),
        )
    };
    let (vector, none) = rows_of_scan("vector");
    let (table, transferred) = rows_of_scan("table");
    assert!(vector > 1000.0 && none.is_none());
    assert_eq!((table, transferred), (vector, Some(vector)));
}

#[test]
fn a_setting_that_is_none_says_what_there_is() {
    let _alone = ALONE.lock();
    let session = session(1);
    let shown =
        |name: &str| session.query(&format!("SHOW {name}")).expect(name).value(0, 0).display(Type::Text);
    assert_eq!((shown("unit_of_transfer"), shown("work_orders_per_operator")), ("auto".into(), "all".into()));
    set(&session, &[("unit_of_transfer", "Block, BUILD=vector"), ("work_orders_per_operator", "3")]);
    assert_eq!(shown("unit_of_transfer"), "block, build = vector");
    assert_eq!(shown("work_orders_per_operator"), "3");
    for (name, wrong) in [
        ("unit_of_transfer", "tuple"),
        ("unit_of_transfer", "blocks(0)"),
        ("unit_of_transfer", "block, result = table"),
        ("work_orders_per_operator", "0"),
        ("work_orders_per_operator", "many"),
    ] {
        let error = session.query(&format!("SET {name} = '{wrong}'")).expect_err(wrong);
        assert_eq!(error.state(), SqlState::InvalidParameterValue, "{error}");
        assert!(error.message().contains(name) && error.message().contains(wrong), "{error}");
    }
}

/// Three outer joins: none fills a filter, so each may be built when it is needed.
const CASCADE: &str = "SELECT count(*), sum(x.v), sum(y.v), sum(z.v) FROM r \
    LEFT JOIN x ON r.a = x.k LEFT JOIN y ON r.b = y.k LEFT JOIN z ON r.c = z.k WHERE r.s < 3";

fn cascade(session: &Session) {
    session
        .query(
            "CREATE TABLE r AS SELECT i * 7919 % 400000 AS a, i * 104729 % 400000 AS b, i * 1299709 % 400000 AS c, i % 100 AS s \
             FROM (SELECT CAST(i AS BIGINT) AS i FROM generate_series(1, 1000000) AS g(i)) AS g",
        )
        .expect("makes r");
    for (at, side) in ["x", "y", "z"].into_iter().enumerate() {
        session
            .query(&format!(
                "CREATE TABLE {side} AS SELECT i AS k, i * {} AS v FROM \
                 (SELECT CAST(i AS BIGINT) AS i FROM generate_series(1, 400000) AS g(i)) AS g",
                at + 3
            ))
            .expect("makes a side");
    }
    // As the paper's system has it: the probed side is the one that is written first, and tables are hash tables with
    // separate rows.
    set(
        session,
        &[
            ("build_side", "off"),
            ("dense_keys", "off"),
            ("table_payload", "off"),
            ("late_materialization", "off"),
        ],
    );
}

/// The peak memory of a query, in addition to what is allocated before it.
fn peak(session: &Session, query: &str) -> (u64, Vec<String>) {
    session.database().release_idle_memory();
    memory::reset_peaks();
    let before = memory::peak_bytes();
    let answer = rows(&session.query(query).expect(query));
    (memory::peak_bytes() - before, answer)
}

/// The paper's section 5: the low end needs all hash tables at once, the high end one and the rows in between.
#[test]
fn tables_need_one_hash_table_at_a_time() {
    let _alone = ALONE.lock();
    let session = session(2);
    cascade(&session);
    set(&session, &[("unit_of_transfer", "vector")]);
    let (low, expected) = peak(&session, CASCADE);
    set(&session, &[("unit_of_transfer", "vector, probe = table")]);
    let (high, answer) = peak(&session, CASCADE);
    assert_eq!(answer, expected);
    assert!(high * 10 < low * 7, "{high} bytes with tables, {low} without");
}

#[test]
fn auto_takes_tables_when_memory_is_short_and_spares_the_files() {
    let _alone = ALONE.lock();
    let session = session(2);
    cascade(&session);
    let (low, expected) = peak(&session, CASCADE);
    assert!(!explained(&session, &format!("EXPLAIN {CASCADE}")).contains("handed on by"));
    let used = session.database().memory_used().0;
    set(&session, &[("memory_limit", &format!("{}", used + low * 9 / 10))]);
    let analyze = format!("EXPLAIN (ANALYZE, FORMAT JSON) {CASCADE}");
    set(&session, &[("unit_of_transfer", "vector")]);
    let vector = explained(&session, &analyze);
    assert!(noted(&vector, "spilled bytes") > 0.0, "{vector}");
    set(&session, &[("unit_of_transfer", "auto")]);
    let auto = explained(&session, &analyze);
    assert!(auto.contains("handed on by\": \"table") && auto.contains("auto: hash tables at once"), "{auto}");
    assert!(noted(&auto, "spilled bytes") < noted(&vector, "spilled bytes") / 2.0, "{auto}\n{vector}");
    assert_eq!(rows(&session.query(CASCADE).expect("fits")), expected);
}

/// What lies between operators goes to files when memory is short, and none of them is left.
#[test]
fn units_go_to_files_and_come_back() {
    let _alone = ALONE.lock();
    let session = tpch(3, "0.02");
    let folder = std::env::temp_dir().join(format!("quickstep-transfers-{}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("makes a folder");
    set(&session, &[("temp_directory", &folder.display().to_string())]);
    let query = "SELECT l_orderkey, l_comment, p_name FROM lineitem JOIN part ON l_partkey = p_partkey WHERE l_quantity < 40";
    let expected = rows(&session.query(query).expect("answers"));
    for unit in ["table", "blocks(4)"] {
        set(&session, &[("unit_of_transfer", unit), ("transfer_size", "16KB"), ("operator_memory", "300KB")]);
        let text = explained(&session, &format!("EXPLAIN (ANALYZE, FORMAT JSON) {query}"));
        assert!(unit != "table" || noted(&text, "spilled bytes") > 0.0, "{text}");
        let mut answer = rows(&session.query(query).expect("answers"));
        let mut sorted = expected.clone();
        // A join that went to files itself gives rows in an order of its own.
        sorted.sort();
        answer.sort();
        assert!(answer == sorted, "{unit}");
    }
    assert_eq!(std::fs::read_dir(&folder).expect("is there").count(), 0);
    std::fs::remove_dir_all(&folder).expect("is removed");
}

/// A limit ends its producers, though they are segments of their own.
#[test]
fn a_limit_ends_the_producer_of_its_units() {
    let _alone = ALONE.lock();
    let session = tpch(2, "0.1");
    let query = "SELECT l_comment, o_comment FROM lineitem JOIN orders ON l_orderkey = o_orderkey LIMIT 10";
    // The build side is read whole in any case.
    set(&session, &[("unit_of_transfer", "vector, probe = block, limit = block"), ("transfer_size", "16KB")]);
    set(&session, &[("runtime_filters", "off")]);
    let text = explained(&session, &format!("EXPLAIN (ANALYZE, FORMAT JSON) {query}"));
    let all = session
        .query("SELECT count(*) FROM lineitem")
        .expect("counts")
        .value(0, 0)
        .as_i64()
        .expect("a number");
    let handed = noted(&text, "transferred rows");
    assert!(handed > 0.0 && handed < all as f64 / 2.0, "{handed} of {all} rows\n{text}");
    assert_eq!(session.query(query).expect("answers").rows(), 10);
    // Input without an end makes no table.
    set(&session, &[("unit_of_transfer", "table")]);
    let endless = "SELECT count(*) FROM (SELECT x FROM range(100000000000) AS t(x) LIMIT 1000) AS s";
    assert_eq!(session.query(endless).expect("ends").value(0, 0).as_i64(), Some(1000));
}

/// The stream's reader is slow: what lies between operators stays bounded.
#[test]
fn a_slow_reader_holds_the_producers_back() {
    let _alone = ALONE.lock();
    let session = tpch(2, "0.1");
    set(&session, &[("unit_of_transfer", "block"), ("transfer_size", "64KB"), ("runtime_filters", "off")]);
    let query = "SELECT l.*, o_comment FROM lineitem AS l JOIN orders ON l_orderkey = o_orderkey";
    let whole = session.query(query).expect("answers");
    let bytes: usize = whole.batches().iter().map(|batch| batch.bytes()).sum();
    let count = whole.rows();
    drop(whole);
    session.database().release_idle_memory();
    let before = session.database().memory_used().0;
    let mut stream = session.stream(query).expect("streams");
    let (mut most, mut rows) = (0, 0);
    for at in 0.. {
        let Some(batch) = stream.next_batch().expect("has more") else { break };
        rows += batch.rows;
        if at < 20 {
            std::thread::sleep(Duration::from_millis(20));
            most = most.max(session.database().memory_used().0.saturating_sub(before));
        }
    }
    assert_eq!(rows, count);
    assert!(most < bytes as u64 / 2, "{most} bytes held of a result of {bytes}");
}

/// `quickstep_operators` never sees more orders of an operator than the limit.
#[test]
fn an_operator_has_no_more_work_orders_than_it_may() {
    let _alone = ALONE.lock();
    let session = tpch(4, "0.05");
    let watcher = session.database().session();
    let long = "SELECT count(*) FROM lineitem a JOIN lineitem b ON a.l_suppkey = b.l_suppkey \
                WHERE abs(a.l_extendedprice * 3 - b.l_quantity + a.l_tax) < 0";
    set(&session, &[("eager_aggregation", "off"), ("statement_timeout", "1500")]);
    let most_at_once = |limit: &str| {
        set(&session, &[("work_orders_per_operator", limit)]);
        let done = AtomicBool::new(false);
        let mut most = 0;
        std::thread::scope(|scope| {
            scope.spawn(|| {
                let _ = session.query(long);
                done.store(true, SeqCst);
            });
            while !done.load(SeqCst) {
                let found = watcher
                    .query("SELECT coalesce(max(orders_running), 0) FROM quickstep_operators WHERE operators LIKE '%probe%'")
                    .expect("looks");
                most = most.max(found.value(0, 0).as_i64().unwrap_or(0));
                std::thread::sleep(Duration::from_millis(2));
            }
        });
        most
    };
    // More is never seen; as many are, unless no look was taken at the right moment.
    for (limit, least, most) in [("1", 1, 1), ("2", 2, 2), ("all", 3, i64::MAX)] {
        timing::in_one_of(10, || {
            let seen = most_at_once(limit);
            assert!(seen <= most, "{seen} orders at once, of {limit}");
            timing::met(seen >= least, (limit, seen))
        });
    }
}
