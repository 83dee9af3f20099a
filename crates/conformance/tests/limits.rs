//! Cancellation, timeouts and the memory budget as a client meets them: the statement ends soon, with its own error,
//! leaves nothing behind, and the session goes on.
//!
//! The allocator is counted, as it is in the product, so that the budget sees all that a statement allocates.

use std::sync::Mutex;
use std::time::{Duration, Instant};

use engine::{Database, Options, Session, SqlState};

#[global_allocator]
static ALLOCATOR: memory::CountingAllocator<std::alloc::System> =
    memory::CountingAllocator(std::alloc::System);

/// The allocator's count is the process's, and times need the machine: one test at a time.
static ALONE: Mutex<()> = Mutex::new(());

fn database() -> Session {
    let database =
        Database::in_memory(Options { workers: Some(2), memory_bytes: Some(4 << 30), ..Default::default() })
            .expect("opens");
    let session = database.session();
    session.query("CALL tpch(scale => 0.1)").expect("generates");
    // Or joins of many pairs that are only counted would be over at once.
    session.query("SET eager_aggregation = off").expect("is a setting");
    session
}

/// Statements that run for seconds, each spending its time in another operator.
const LONG: [(&str, &str); 8] = [
    (
        "nested loop join",
        "SELECT count(*) FROM lineitem a, orders b WHERE a.l_quantity < b.o_totalprice - 100",
    ),
    (
        "hash join with many matches",
        "SELECT count(*) FROM lineitem a JOIN lineitem b ON a.l_linenumber = b.l_linenumber",
    ),
    (
        "aggregation over a join",
        "SELECT a.l_orderkey, b.l_orderkey, count(*) FROM lineitem a JOIN lineitem b ON a.l_suppkey = b.l_suppkey \
         GROUP BY 1, 2",
    ),
    (
        "sort over a join",
        "SELECT a.l_comment, b.l_comment FROM lineitem a JOIN lineitem b ON a.l_suppkey = b.l_suppkey \
         ORDER BY a.l_comment, b.l_orderkey",
    ),
    (
        "top-k over a join",
        "SELECT a.l_comment, b.l_comment FROM lineitem a JOIN lineitem b ON a.l_suppkey = b.l_suppkey \
         ORDER BY a.l_comment || b.l_comment LIMIT 5",
    ),
    (
        "distinct",
        "SELECT count(DISTINCT a.l_comment || b.l_comment) FROM lineitem a JOIN lineitem b ON a.l_suppkey = b.l_suppkey",
    ),
    (
        "residual semi join",
        "SELECT count(*) FROM lineitem a WHERE NOT EXISTS (SELECT 1 FROM lineitem b \
         WHERE a.l_linenumber = b.l_linenumber AND a.l_extendedprice * b.l_quantity < 0)",
    ),
    (
        "creating a table",
        "CREATE TABLE pairs AS SELECT a.l_comment, b.l_orderkey FROM lineitem a \
         JOIN lineitem b ON a.l_suppkey = b.l_suppkey",
    ),
];

/// Runs `statement`, raises the session's signal after `delay`, and returns how long the statement went on after it.
fn cancelled_after(session: &Session, statement: &str, delay: Duration) -> Duration {
    let cancel = session.cancel_token();
    std::thread::scope(|scope| {
        let raiser = scope.spawn(move || {
            std::thread::sleep(delay);
            let raised = Instant::now();
            cancel.cancel();
            raised
        });
        let error = session.query(statement).expect_err("ran to its end: the test's statement is too short");
        let ended = Instant::now();
        assert_eq!(error.state(), SqlState::QueryCanceled, "{statement}: {error}");
        ended - raiser.join().expect("raises")
    })
}

/// Of a few rounds one has a median within the bound: others may meet a machine that is busy with something else.
fn ends_soon(what: &str, mut round: impl FnMut() -> [Duration; 3]) {
    timing::in_one_of(5, || {
        let late = round();
        println!("{what}: {late:?}");
        timing::met(timing::median(late) < Duration::from_millis(100), (what, late))
    });
}

#[test]
fn a_statement_ends_within_100_ms_of_the_signal_and_leaves_nothing() {
    let _alone = ALONE.lock();
    let session = database();
    for (what, statement) in LONG {
        // Slots that a first run freed are kept for the next: what is left must not grow from there. Where a busy
        // machine let that run come less far than the later ones, they add slots of their own, once; what is lost
        // grows each time.
        cancelled_after(&session, statement, Duration::from_millis(500));
        let mut grown = u64::MAX;
        for _ in 0..3 {
            let used_before = session.database().memory_used().0;
            ends_soon(what, || {
                [50, 150, 250].map(|ms| cancelled_after(&session, statement, Duration::from_millis(ms)))
            });
            grown = session.database().memory_used().0.saturating_sub(used_before);
            if grown < 16 << 20 {
                break;
            }
        }
        assert!(grown < 16 << 20, "{what}: {grown} bytes more in use after it, each time");
    }
    assert!(session.query("SELECT * FROM pairs").is_err(), "the table of a cancelled statement exists");
    assert_eq!(session.query("SELECT count(*) FROM orders").expect("goes on").rows(), 1);
}

#[test]
fn generating_ends_within_100_ms_and_leaves_no_table() {
    let _alone = ALONE.lock();
    let database =
        Database::in_memory(Options { workers: Some(2), memory_bytes: Some(4 << 30), ..Default::default() })
            .expect("opens");
    let session = database.session();
    for statement in ["CALL ssb(scale => 30)", "CALL tpch(scale => 30)"] {
        // TPC-H's first second goes into its text, then small tables are complete while a large one is being made.
        ends_soon(statement, || {
            [100, 700, 2000].map(|ms| cancelled_after(&session, statement, Duration::from_millis(ms)))
        });
        assert!(session.query("SELECT * FROM supplier").is_err(), "{statement} left a table behind");
    }
}

#[test]
fn a_timeout_ends_a_statement_within_100_ms_and_holds_for_each_statement() {
    let _alone = ALONE.lock();
    let session = database();
    session.query("SET statement_timeout = '100ms'").expect("sets");
    for (what, statement) in LONG {
        ends_soon(what, || {
            [(); 3].map(|()| {
                let started = Instant::now();
                let error = session.query(statement).expect_err("times out");
                assert_eq!(error.state(), SqlState::QueryCanceled, "{what}: {error}");
                assert!(error.to_string().contains("timeout"), "{what}: {error}");
                started.elapsed().saturating_sub(Duration::from_millis(100))
            })
        });
        session.query("SELECT count(*) FROM nation").expect("the next statement has its own time");
    }
}

#[test]
fn exceeding_the_budget_is_an_error_of_the_statement_alone() {
    let _alone = ALONE.lock();
    let session = database();
    let used_before = session.database().memory_used().0;
    let limit = used_before + (48 << 20);
    session.query(&format!("SET memory_limit = '{limit}'")).expect("sets");
    // Tables have nowhere to go: how they make room is another test's (`larger_than_memory.rs`). What an operator
    // holds goes to files; what the statement is asked for has to fit.
    session.query("SET temp_directory = ''").expect("sets");
    let spilling = [
        (
            "hash join's build side",
            "SELECT count(*) FROM lineitem a JOIN (SELECT l_orderkey, l_comment || l_shipinstruct AS text, \
             l_partkey FROM lineitem) b ON a.l_partkey = b.l_partkey AND a.l_comment < b.text",
        ),
        (
            "distinct aggregate",
            "SELECT count(DISTINCT l_comment || l_orderkey || l_linenumber || l_shipinstruct) FROM lineitem",
        ),
    ];
    for (what, statement) in spilling {
        let result = session.query(statement).unwrap_or_else(|e| panic!("{what}: {e}"));
        assert_eq!(result.rows(), 1, "{what}");
    }
    let hungry = [
        (
            "list of one group",
            "SELECT string_agg(l_comment || l_shipinstruct || l_comment || l_comment, ',') FROM lineitem",
        ),
        (
            "aggregation",
            "SELECT l_comment || l_orderkey, l_shipinstruct || l_partkey, count(*) FROM lineitem GROUP BY 1, 2",
        ),
        ("sort", "SELECT *, l_comment || l_shipinstruct FROM lineitem ORDER BY l_comment || l_orderkey"),
        (
            "union",
            "SELECT *, l_comment || l_partkey FROM lineitem UNION SELECT *, l_comment || l_suppkey FROM lineitem",
        ),
        ("result", "SELECT a.*, a.l_comment || a.l_orderkey FROM lineitem a, region"),
        (
            "new table",
            "CREATE TABLE copies AS SELECT a.*, l_comment || r_name AS text FROM lineitem a, region",
        ),
    ];
    for (what, statement) in hungry {
        let Err(error) = session.query(statement).map(|_| ()) else { panic!("{what} fits") };
        assert_eq!(error.state(), SqlState::OutOfMemory, "{what}: {error}");
        assert!(error.to_string().contains("limit"), "{what}: {error}");
        // How many slots stay for reuse depends on where the workers stood when the limit was met; what a failed
        // statement may not keep is what remains without them.
        let kept = || {
            session.database().release_idle_memory();
            session.database().memory_used().0
        };
        let used_first = kept();
        session.query(statement).expect_err(what);
        let used = kept();
        assert!(
            used < used_first + (1 << 20),
            "{what}: {used_first} bytes in use after it, {used} after a second"
        );
        session.query("SELECT count(*) FROM lineitem").expect("the session goes on");
    }
    assert!(session.query("SELECT * FROM copies").is_err(), "the table of a failed statement exists");
    // With room again, the same statements run.
    session.query("SET memory_limit = '4GB'").expect("sets");
    assert_eq!(session.query(hungry[0].1).expect("has room").rows(), 1);
}

/// Each statement of a script costs what it is itself, not what the script is: of 4,000 statements in eight
/// megabytes, read as a whole for each of them, the script would take half a minute of the session's thread.
#[test]
fn a_statement_of_a_long_script_does_not_cost_the_script() {
    let _alone = ALONE.lock();
    let session =
        Database::in_memory(Options { workers: Some(1), ..Default::default() }).expect("opens").session();
    let statement = format!("SELECT '{}';\n", "x".repeat(2_000));
    let script = statement.repeat(4_000);
    let mut count = 0;
    let (outcome, took) = timing::cpu_time(|| {
        session.execute_each(&script, |_| {
            count += 1;
            Ok(())
        })
    });
    outcome.expect("runs");
    assert_eq!(count, 4_000);
    assert!(took < Duration::from_secs(12), "took {took:?}");
}
