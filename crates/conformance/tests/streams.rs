//! Results as streams: the same rows in the same order as the whole result, in bounded memory, with errors, signals
//! and other statements in the midst of them.
//!
//! The allocator is counted, as it is in the product, so that bounds on memory mean something.

use std::sync::Mutex;
use std::time::{Duration, Instant};

use engine::{Database, Options, Session, SqlState, Value};

#[global_allocator]
static ALLOCATOR: memory::CountingAllocator<std::alloc::System> =
    memory::CountingAllocator(std::alloc::System);

/// The allocator's count is the process's: one test at a time.
static ALONE: Mutex<()> = Mutex::new(());

/// What a query of [`HUGE`] takes several times as long as, to its end.
const SOON: Duration = Duration::from_secs(10);

fn session(workers: usize) -> Session {
    session_at(workers, "0.05")
}

fn session_at(workers: usize, scale: &str) -> Session {
    let options = Options { workers: Some(workers), memory_bytes: Some(4 << 30), ..Default::default() };
    let session = Database::in_memory(options).expect("opens").session();
    session.query(&format!("CALL tpch(scale => {scale})")).expect("generates");
    session
}

/// Queries that end in every kind of source, and in several at once.
const QUERIES: [&str; 14] = [
    "SELECT * FROM lineitem",
    "SELECT l_orderkey, l_comment FROM lineitem WHERE l_quantity < 3",
    "SELECT * FROM lineitem ORDER BY l_extendedprice DESC, l_orderkey, l_linenumber",
    "SELECT l_shipdate, l_comment FROM lineitem ORDER BY l_shipdate, l_comment, l_orderkey LIMIT 1000 OFFSET 10",
    "SELECT l_orderkey FROM lineitem LIMIT 5000",
    "SELECT o_orderkey, count(*), sum(l_quantity) FROM orders JOIN lineitem ON o_orderkey = l_orderkey GROUP BY 1 \
     ORDER BY 1",
    "SELECT c_name, o_orderkey FROM customer LEFT JOIN orders ON c_custkey = o_custkey AND o_totalprice > 300000",
    "SELECT c_name, o_orderkey FROM orders FULL JOIN customer ON c_custkey = o_custkey AND o_totalprice > 300000",
    "SELECT o_orderkey FROM orders UNION ALL SELECT c_custkey FROM customer UNION ALL SELECT i FROM generate_series(1, 9) AS t(i)",
    "SELECT i, i * 2 FROM generate_series(1, 300000) AS t(i)",
    "SELECT n_name, r_name FROM nation, region",
    "SELECT o_orderkey, row_number() OVER (PARTITION BY o_custkey ORDER BY o_orderkey) FROM orders",
    "SELECT 1 AS x, 'y' AS y WHERE FALSE",
    "SELECT o_orderkey FROM orders WHERE o_totalprice > (SELECT avg(o_totalprice) FROM orders)",
];

#[test]
fn a_stream_has_the_rows_of_the_result_in_their_order() {
    let _alone = ALONE.lock();
    for workers in [1, 2, 4] {
        let session = session_at(workers, "0.01");
        for settings in [
            &[][..],
            &["SET unit_of_transfer = 'block'"],
            &["SET unit_of_transfer = 'vector'", "SET batch_rows = 100"],
        ] {
            for setting in settings {
                session.query(setting).expect("sets");
            }
            for query in QUERIES {
                let whole = session.query(query).expect(query);
                let streamed = session.stream(query).expect(query).collect_rest().expect(query);
                assert_eq!(whole.rows(), streamed.rows(), "{query}");
                let rows = [&whole, &streamed].map(|result| {
                    let row = |batch: &engine::Batch, at: usize| -> String {
                        let value = |(c, f): (&vector::Vector, &engine::Field)| c.value(at).display(f.ty);
                        batch
                            .columns
                            .iter()
                            .zip(result.schema().fields())
                            .map(value)
                            .collect::<Vec<_>>()
                            .join("|")
                    };
                    let rows = |b| (0..engine::Batch::clone(b).rows).map(move |at| row(b, at));
                    result.batches().iter().flat_map(rows).collect::<Vec<_>>()
                });
                assert!(rows[0] == rows[1], "{query} with {workers} workers");
            }
        }
    }
}

/// Some 24 GB of rows, each unit of them far larger than any queue.
const HUGE: &str = "SELECT a.*, b.l_comment AS text FROM lineitem a, (SELECT * FROM lineitem LIMIT 1000) b";

#[test]
fn a_stream_larger_than_the_memory_limit_stays_within_it() {
    let _alone = ALONE.lock();
    for workers in [1, 4] {
        let session = session(workers);
        let before = session.database().memory_used().0;
        session.query(&format!("SET memory_limit = '{}'", before + (192 << 20))).expect("sets");
        // The table stays where it is, so that what is counted is the stream's.
        session.query("SET temp_directory = ''").expect("sets");
        let error = session.query(HUGE).expect_err("does not fit");
        assert_eq!(error.state(), SqlState::OutOfMemory);
        let mut stream = session.stream(HUGE).expect("streams");
        let (mut bytes, mut most) = (0, 0);
        while bytes < 600 << 20 {
            let batch = stream.next_batch().expect("stays within the limit").expect("has more rows");
            bytes += batch.bytes();
            most = most.max(session.database().memory_used().0 - before);
        }
        assert!(most < 96 << 20, "{most} bytes held at once");
        // Dropping it ends the query and frees what it held.
        let dropped = Instant::now();
        drop(stream);
        assert!(dropped.elapsed() < SOON, "{:?}", dropped.elapsed());
        session.database().release_idle_memory();
        let after = session.database().memory_used().0;
        assert!(after < before + (4 << 20), "{before} bytes in use before, {after} after");
    }
}

#[test]
fn other_statements_run_while_a_stream_waits_for_its_reader() {
    let _alone = ALONE.lock();
    for workers in [1, 2] {
        let session = session(workers);
        let mut streams: Vec<_> = (0..5).map(|_| session.stream(HUGE).expect("streams")).collect();
        for stream in &mut streams {
            stream.next_batch().expect("runs").expect("has rows");
        }
        // The queues fill up meanwhile.
        std::thread::sleep(Duration::from_millis(300));
        for _ in 0..20 {
            let result = session.query("SELECT count(*), sum(l_quantity) FROM lineitem").expect("runs");
            assert_eq!(result.rows(), 1);
        }
        std::thread::scope(|scope| {
            for _ in 0..4 {
                let other = session.database().session();
                scope.spawn(move || {
                    for _ in 0..5 {
                        other.query("SELECT l_suppkey, count(*) FROM lineitem GROUP BY 1").expect("runs");
                    }
                });
            }
        });
        // The streams go on, in any order.
        for stream in streams.iter_mut().rev() {
            for _ in 0..1000 {
                stream.next_batch().expect("runs").expect("has rows");
            }
        }
    }
}

#[test]
fn errors_in_the_midst_reach_the_reader() {
    let _alone = ALONE.lock();
    let session = session(2);
    let text = "SELECT 1 / (i - 900000) AS q FROM generate_series(1, 1000000) AS t(i)";
    let mut stream = session.stream(text).expect("starts");
    let error = loop {
        match stream.next_batch() {
            Ok(batch) => assert!(batch.is_some(), "ended without its error"),
            Err(error) => break error,
        }
    };
    assert_eq!(error.state(), SqlState::DivisionByZero);
    assert!(stream.next_batch().expect("has ended").is_none());
    // What binding finds is told at once, and statements before the last run.
    assert_eq!(session.stream("SELECT nosuch").err().expect("fails").state(), SqlState::UndefinedColumn);
    let made = session.stream("CREATE TABLE made AS SELECT 7 AS x; SELECT x FROM made").expect("runs");
    assert_eq!(made.collect_rest().expect("has rows").value(0, 0).as_i64(), Some(7));
}

#[test]
fn signals_and_deadlines_end_a_stream_whether_or_not_it_is_read() {
    let _alone = ALONE.lock();
    let session = session(2);
    let wait = |stream: &mut engine::ResultStream| {
        loop {
            if let Err(error) = stream.next_batch() {
                return error;
            }
        }
    };
    let mut stream = session.stream(HUGE).expect("streams");
    stream.next_batch().expect("runs");
    std::thread::sleep(Duration::from_millis(100));
    session.interrupt();
    let raised = Instant::now();
    let error = wait(&mut stream);
    assert_eq!(
        (error.state(), error.message()),
        (SqlState::QueryCanceled, "canceling statement due to user request")
    );
    assert!(raised.elapsed() < SOON, "{:?}", raised.elapsed());
    session.query("SET statement_timeout = '200ms'").expect("sets");
    let mut stream = session.stream(HUGE).expect("streams");
    let error = wait(&mut stream);
    assert_eq!(
        (error.state(), error.message()),
        (SqlState::QueryCanceled, "canceling statement due to statement timeout")
    );
    assert_eq!(session.query("SELECT 1").expect("goes on").rows(), 1);
    // The tick is asked on the reader's thread.
    session.query("SET statement_timeout = 0").expect("sets");
    let slow =
        "SELECT count(*) FROM lineitem a, lineitem b WHERE abs(a.l_quantity * 1000 - b.l_extendedprice) < 0";
    session.set_tick(|| std::ops::ControlFlow::Break(()));
    // It may be asked before there is a stream.
    let error = session.stream(slow).map_or_else(|error| error, |mut stream| wait(&mut stream));
    assert_eq!(error.state(), SqlState::QueryCanceled);
}

#[test]
fn arrow_leaves_with_its_schema() {
    let _alone = ALONE.lock();
    let session = session(2);
    let reader =
        session.stream("SELECT l_orderkey, l_comment, l_tax FROM lineitem").expect("streams").into_arrow();
    let schema = arrow_array::RecordBatchReader::schema(&reader);
    assert_eq!(schema.field(1).name(), "l_comment");
    let rows: usize = reader.map(|batch| batch.expect("has rows").num_rows()).sum();
    assert_eq!(
        Value::I64(rows as i64),
        session.query("SELECT count(*) FROM lineitem").expect("counts").value(0, 0)
    );
}
