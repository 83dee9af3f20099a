//! Every phase of a statement can be interrupted, from another thread and by a timeout: it ends soon with SQLSTATE
//! 57014, leaves nothing half done, and the session goes on.
//!
//! First phases are made slow at the places that they pass (`types::stop::Place`), and stopped at some moment in
//! their midst; then statements that are slow by themselves.
//!
//! A busy machine delays a thread now and then, so that the median of several tries is held against the bound, and
//! each against one that a phase without any look at the signal would exceed.

use std::sync::Mutex;
use std::time::{Duration, Instant};

use conformance::folder::Folder;
use engine::{Database, Options, Session, SqlState, Value};
use types::stop::Place;

#[global_allocator]
static ALLOCATOR: memory::CountingAllocator<std::alloc::System> =
    memory::CountingAllocator(std::alloc::System);

/// The allocator's count is the process's, and times need the machine: one test at a time.
static ALONE: Mutex<()> = Mutex::new(());

const SOON: Duration = Duration::from_millis(100);
/// No try may take longer, in so many times `SOON`.
const AT_LAST: u32 = 15;

/// `SOON` for this build and this machine as they are: a loop that takes 20 ms where the code is optimised and
/// nothing else runs tells how much slower they are. Eight times at most.
fn soon() -> Duration {
    use std::hint::black_box;
    use std::sync::OnceLock;
    static FACTOR: OnceLock<f64> = OnceLock::new();
    let factor = FACTOR.get_or_init(|| {
        let begun = Instant::now();
        let sum = (0..black_box(20_000_000u64)).fold(0u64, |sum, x| black_box(sum ^ x).wrapping_mul(3));
        black_box(sum);
        (begun.elapsed().as_secs_f64() / 0.02).clamp(1.0, 8.0)
    });
    SOON.mul_f64(*factor) * slack()
}

/// The bar is `SOON`, which a run with QUICKSTEP_STRICT=1 holds statements to. Elsewhere a test shares its machine
/// with others, and has to tell a phase that looks for the signal from one that does not.
fn slack() -> u32 {
    if std::env::var_os("QUICKSTEP_STRICT").is_some() { 1 } else { 8 }
}
/// What a statement may leave in memory: slots that are kept for the next one.
const KEPT_BYTES_MAX: u64 = 32 << 20;

fn session() -> Session {
    let options = Options { workers: Some(2), memory_bytes: Some(2 << 30), ..Default::default() };
    let session = Database::in_memory(options).expect("opens").session();
    for statement in [
        "CREATE TABLE numbers AS SELECT i, i % 1000 AS k, 'text ' || i AS t FROM generate_series(1, 300000) g(i)",
        "CREATE TABLE few AS SELECT i FROM generate_series(1, 100) g(i)",
        "CREATE TABLE copied (i BIGINT, k BIGINT, t TEXT)",
        "CREATE TABLE blocks (i BIGINT, k BIGINT) WITH (block_size = '64kB')",
        "INSERT INTO blocks SELECT i, k FROM numbers",
    ] {
        session.query(statement).unwrap_or_else(|error| panic!("{statement}: {error}"));
    }
    session
}

/// A number below `bound` that differs from call to call.
fn some(bound: u64) -> u64 {
    use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
    static STATE: AtomicU64 = AtomicU64::new(0x9E37_79B9_7F4A_7C15);
    let mut x = STATE.load(Relaxed);
    x ^= x << 13;
    x ^= x >> 7;
    x ^= x << 17;
    STATE.store(x, Relaxed);
    x % bound
}

/// Runs a text, interrupts it after `delay`, and tells how much longer it took; `None` when it had ended by then.
fn interrupted(session: &Session, text: &str, delay: Duration) -> Option<Duration> {
    interrupted_at(session, text, delay, false)
}

/// As `interrupted`; `slow` says that a place is delayed, from whose first pass the time is counted.
fn interrupted_at(session: &Session, text: &str, delay: Duration, slow: bool) -> Option<Duration> {
    let cancel = session.cancel_token();
    let ended = Mutex::new(None);
    std::thread::scope(|scope| {
        let raiser = scope.spawn(|| {
            let over = || ended.lock().expect("is whole").is_some();
            while slow && cancel.passed() == 0 && !over() {
                std::thread::sleep(Duration::from_millis(1));
            }
            std::thread::sleep(delay);
            // A statement that has ended is not interrupted: the signal would hit the next one.
            let ended = ended.lock().expect("is whole");
            let raised = Instant::now();
            if ended.is_none() {
                cancel.cancel();
            }
            raised
        });
        let outcome = session.execute(text);
        let now = Instant::now();
        *ended.lock().expect("is whole") = Some(now);
        let raised = raiser.join().expect("raises");
        match outcome {
            Err(error) if error.state() == SqlState::QueryCanceled => {
                assert_eq!(error.message(), "canceling statement due to user request", "{}", shown(text));
                Some(now.saturating_duration_since(raised))
            }
            _ => None,
        }
    })
}

/// Runs a text under a timeout, and tells how much longer than that it took; `None` when it had ended by then.
fn timed_out(session: &Session, text: &str, timeout: Duration) -> Option<Duration> {
    delayed_timed_out(session, text, timeout, None)
}

/// As `timed_out`, with a place that is slow.
fn delayed_timed_out(
    session: &Session,
    text: &str,
    timeout: Duration,
    slow: Option<(Place, Duration)>,
) -> Option<Duration> {
    session.query(&format!("SET statement_timeout = '{}ms'", timeout.as_millis())).expect("sets");
    session.cancel_token().delay(slow);
    let begun = Instant::now();
    let outcome = session.execute(text);
    let took = begun.elapsed();
    session.cancel_token().delay(None);
    session.query("RESET statement_timeout").expect("resets");
    match outcome {
        Err(error) if error.state() == SqlState::QueryCanceled => {
            assert_eq!(error.message(), "canceling statement due to statement timeout", "{}", shown(text));
            Some(took.saturating_sub(timeout))
        }
        _ => None,
    }
}

fn shown(text: &str) -> String {
    text.chars().take(160).collect()
}

/// Holds several tries against the bounds.
fn judge(what: &str, mut late: Vec<Duration>) {
    assert!(!late.is_empty(), "{what} was over by itself");
    late.sort();
    println!("{what}: {late:?}");
    let (median, worst) = (late[late.len() / 2], late[late.len() - 1]);
    assert!(median < soon() && worst < soon() * AT_LAST, "{what} ends late: {late:?}");
}

/// After a statement that was stopped: the session works, and sees what it saw before.
fn is_as_before(session: &Session, what: &str) {
    let result = session
        .query("SELECT (SELECT count(*) FROM numbers), (SELECT count(*) FROM copied), (SELECT sum(k) FROM blocks)")
        .unwrap_or_else(|error| panic!("after {what}: {error}"));
    let values = [Value::I64(300_000), Value::I64(0)];
    assert_eq!([result.value(0, 0), result.value(0, 1)], values, "after {what}");
    let left = session.query("SELECT count(*) FROM quickstep_queries").expect("goes on");
    assert_eq!(left.value(0, 0), Value::I64(1), "a query is left after {what}");
    for table in ["made", "made_index"] {
        assert!(session.query(&format!("SELECT * FROM {table}")).is_err(), "{what} left {table} behind");
    }
}

/// A statement for each place, which passes it some dozens of times.
fn passing(place: Place, folder: &Folder) -> String {
    let many = |one: &str, between: &str, count: usize| vec![one; count].join(between);
    match place {
        Place::Scan => many("SELECT 1 /* some words to make it longer than it is */", ";\n", 40_000),
        Place::Parse | Place::Bind => format!("SELECT {}", many("1 + 2", ", ", 60)),
        Place::BindQuery | Place::Rewrite | Place::Lower => {
            many("SELECT count(*) FROM few WHERE i > 3", " UNION ALL ", 60)
        }
        Place::JoinOrder => {
            let tables: Vec<String> = (0..14).map(|at| format!("few t{at}")).collect();
            let joins: Vec<String> = (1..14).map(|at| format!("t0.i = t{at}.i")).collect();
            format!("SELECT count(*) FROM {} WHERE {}", tables.join(", "), joins.join(" AND "))
        }
        Place::List | Place::Open => format!("SELECT count(*) FROM '{}'", folder.path("*.csv")),
        Place::Sniff => {
            format!("SELECT count(*) FROM read_csv('{}', union_by_name => true)", folder.path("*.csv"))
        }
        Place::Round => {
            "WITH RECURSIVE r AS (SELECT 1 AS n UNION SELECT n + 1 FROM r WHERE n < 100) SELECT count(*) FROM r".into()
        }
        Place::Batch => "SELECT count(*) FROM numbers a JOIN numbers b ON a.k = b.k AND a.i < b.i - 7".into(),
        Place::Evaluate => "SELECT sum(length(t || k)) FROM numbers".into(),
        Place::Write => format!("COPY numbers TO '{}'", folder.path("written.out.csv")),
        Place::Verify => "ALTER TABLE blocks ADD PRIMARY KEY (i)".into(),
        Place::Seal => "INSERT INTO copied SELECT * FROM numbers".into(),
    }
}

#[test]
fn every_place_that_is_slow_can_be_interrupted() {
    let _alone = ALONE.lock();
    let (session, folder) = (session(), Folder::new("places"));
    for number in 0..40 {
        std::fs::write(folder.path(&format!("{number:02}.csv")), "a,b\n1,x\n2,y\n").expect("writes");
    }
    let files = folder.names();
    let cancel = session.cancel_token();
    for place in Place::ALL {
        let text = passing(place, &folder);
        let pause = Duration::from_millis(15);
        let (mut by_signal, mut by_timeout) = (Vec::new(), Vec::new());
        let used = session.database().memory_used().0;
        for _ in 0..5 {
            cancel.delay(Some((place, pause)));
            let delay = Duration::from_millis(10 + some(120));
            let late = interrupted_at(&session, &text, delay, true);
            let passed = cancel.passed();
            cancel.delay(None);
            assert!(passed > 0, "{place:?} is not passed by {}", shown(&text));
            by_signal
                .push(late.unwrap_or_else(|| panic!("{place:?}: over before {delay:?}, {passed} passed")));
            is_as_before(&session, &format!("{place:?}"));
            let timeout = Duration::from_millis(10 + some(120));
            let late = delayed_timed_out(&session, &text, timeout, Some((place, pause)));
            by_timeout.push(late.unwrap_or_else(|| panic!("{place:?}: over before {timeout:?}")));
            is_as_before(&session, &format!("{place:?}"));
        }
        judge(&format!("{place:?} by a signal"), by_signal);
        judge(&format!("{place:?} by a timeout"), by_timeout);
        assert_eq!(folder.names(), files, "{place:?} left a file behind");
        session.database().release_idle_memory();
        let grown = session.database().memory_used().0.saturating_sub(used);
        assert!(grown < KEPT_BYTES_MAX, "{place:?}: {grown} bytes more in use");
    }
    // What was stopped so often can be done.
    session.query("ALTER TABLE blocks ADD PRIMARY KEY (i)").expect("has no duplicates");
    session.query(&passing(Place::Seal, &folder)).expect("inserts");
    session.query(&passing(Place::Write, &folder)).expect("writes");
}

/// Statements that are slow by themselves, or refused: by what, and the text.
fn slow(folder: &Folder) -> Vec<(&'static str, String)> {
    [long_texts(), slow_calls(), slow_operators(), slow_files(folder)].concat()
}

/// So many pieces of a text.
fn many(count: usize, each: &dyn Fn(usize) -> String, between: &str) -> String {
    (0..count).map(each).collect::<Vec<_>>().join(between)
}

/// A join of so many tables, each with each.
fn joins(count: usize) -> String {
    let tables = many(count, &|at| format!("numbers t{at}"), ", ");
    let conditions = many(
        count * (count - 1) / 2,
        &|at| {
            let (mut a, mut left) = (0, at);
            while left >= count - 1 - a {
                left -= count - 1 - a;
                a += 1;
            }
            format!("t{a}.i = t{}.i + {}", a + 1 + left, at % 3)
        },
        " AND ",
    );
    format!("SELECT count(*) FROM {tables} WHERE {conditions}")
}

/// Texts that take long to read, bind or plan.
fn long_texts() -> Vec<(&'static str, String)> {
    let nested = |open: &str, inner: &str, close: &str, count: usize| {
        format!("SELECT {}{inner}{}", open.repeat(count), close.repeat(count))
    };
    let casts = (0..60).fold("{'a': 1}".to_owned(), |inner, at| match at % 2 {
        0 => format!("CAST({inner} AS STRUCT(a BIGINT))"),
        _ => format!("CAST({inner} AS STRUCT(a INTEGER))"),
    });
    let chain = many(
        40,
        &|at| match at {
            0 => "c0 AS (SELECT 1 AS x)".into(),
            at => format!("c{at} AS (SELECT a.x + b.x AS x FROM c{0} a, c{0} b)", at - 1),
        },
        ", ",
    );
    vec![
        ("nested casts", format!("SELECT {casts}")),
        ("casts between kinds", "SELECT CAST({'a': [1, 2]} AS MAP(TEXT, TEXT[]))".into()),
        ("nested brackets", nested("(", "1", ")", 300)),
        ("nested calls", nested("abs(", "1", ")", 300)),
        ("nested lists", nested("[", "1", "]", 200)),
        ("a long sum", format!("SELECT {}", many(10_000, &|at| format!("i + {at}"), " + ") + " FROM few")),
        (
            "a long condition",
            format!("SELECT count(*) FROM few WHERE {}", many(10_000, &|at| format!("i <> {at}"), " AND ")),
        ),
        (
            "alternatives",
            format!(
                "SELECT count(*) FROM few WHERE {}",
                many(1_000, &|at| format!("(i = {at} AND i + 1 > {at})"), " OR ")
            ),
        ),
        (
            "a large IN list",
            format!(
                "SELECT count(*) FROM numbers WHERE i IN ({})",
                many(200_000, &|at| at.to_string(), ", ")
            ),
        ),
        ("many rows", format!("VALUES {}", many(200_000, &|at| format!("({at}, 'x{at}')"), ", "))),
        (
            "many columns",
            format!("SELECT {} FROM few", many(2_000, &|at| format!("i + {at} AS c{at}"), ", ")),
        ),
        ("many statements", many(20_000, &|at| format!("SELECT {at}"), ";")),
        ("a long text", format!("SELECT length('{}')", "words and more ".repeat(100_000))),
        ("CTEs that use each other twice", format!("WITH {chain} SELECT * FROM c39")),
        ("a union of many", many(1_000, &|at| format!("SELECT {at} FROM few"), " UNION ALL ")),
        ("a join of twelve, each with each", joins(12)),
        ("a join of twenty, each with each", joins(20)),
        (
            "subqueries in subqueries",
            (0..60).fold("SELECT 1".to_owned(), |inner, _| {
                format!("SELECT count(*) FROM few WHERE i > ({inner})")
            }),
        ),
    ]
}

/// Functions that take long for a row.
fn slow_calls() -> Vec<(&'static str, String)> {
    vec![
        ("a series in a scalar place", "SELECT (SELECT sum(i) FROM generate_series(1, 1000000000000) g(i))".into()),
        ("a list of a series", "SELECT len(range(1, 4000000)), list_sort(range(1, 4000000))[1]".into()),
        ("a list sorted", "SELECT list_sort(list_transform(range(1, 300000), x -> md5(x::text)))[1]".into()),
        ("a list reduced", "SELECT list_reduce(range(1, 300000), (a, b) -> (a * 31 + b) % 1000003)".into()),
        ("a lambda in a lambda", {
            "SELECT len(list_transform(range(1, 20000), x -> list_sum(list_transform(range(1, 300), y -> x * y % 7))))"
                .into()
        }),
        ("repeats", "SELECT sum(length(repeat('x', 1000) || i)) FROM numbers".into()),
        (
            "backtracking",
            "SELECT count(*) FROM numbers WHERE regexp_like(repeat('a', 40) || t, '^(?=(a+)+$)(a|aa)+$')".into(),
        ),
        (
            "a pattern over long texts",
            "SELECT count(*) FROM numbers WHERE regexp_like(repeat('ab', 2000) || i, '(a|b|ab)*c{20}$')".into(),
        ),
        (
            "matches replaced",
            "SELECT sum(length(regexp_replace(repeat('ab ', 100000) || i, '(\\w)\\w', '\\1', 'g'))) FROM numbers".into(),
        ),
        ("distances", "SELECT levenshtein(repeat('ab', 40000), repeat('ba', 40000))".into()),
        ("distances with swaps", {
            "SELECT damerau_levenshtein(repeat('ab', 4000) || i, repeat('ba', 4000)) FROM numbers".into()
        }),
        ("likeness", "SELECT jaro_similarity(repeat('ab', 40000), repeat('cd', 40000))".into()),
    ]
}

/// Joins, sorts, aggregates, windows, recursions and changes of many rows.
fn slow_operators() -> Vec<(&'static str, String)> {
    vec![
        ("a cross join", "SELECT count(*), sum(a.i * b.i) FROM numbers a, numbers b WHERE a.t < b.t".into()),
        ("a cross join, grouped", "SELECT a.k, b.k, count(*) FROM numbers a, numbers b GROUP BY 1, 2".into()),
        ("a sort of computed text", {
            "SELECT md5(i::text) || repeat('x', 80) AS s FROM generate_series(1, 30000000) g(i) ORDER BY s"
                .into()
        }),
        ("texts put together", {
            "SELECT length(string_agg(md5(a.t), ',' ORDER BY md5(a.t) DESC)) FROM numbers a, few b".into()
        }),
        ("distinct computed texts", {
            "SELECT count(DISTINCT md5(a.t || b.i)) FROM numbers a, few b".into()
        }),
        ("wide frames", {
            "SELECT sum(s) FROM (SELECT max(t) OVER (ORDER BY i ROWS BETWEEN 100000 PRECEDING AND 100000 FOLLOWING \
             EXCLUDE CURRENT ROW) AS m, sum(k) OVER (ORDER BY i ROWS 100000 PRECEDING EXCLUDE TIES) AS s FROM numbers) q"
                .into()
        }),
        ("an aggregate of a frame", {
            "SELECT sum(length(s)) FROM (SELECT string_agg(t, ',') OVER (ORDER BY i ROWS 50000 PRECEDING) AS s \
             FROM numbers) q"
                .into()
        }),
        ("medians of frames", {
            "SELECT sum(s) FROM (SELECT median(k) OVER (ORDER BY i ROWS 5000 PRECEDING) AS s FROM numbers) q"
                .into()
        }),
        ("a recursion", {
            "WITH RECURSIVE r AS (SELECT 1 AS n UNION ALL SELECT n + 1 FROM r) SELECT count(*) FROM r".into()
        }),
        ("a recursion that grows", {
            "WITH RECURSIVE r AS (SELECT 1 AS n UNION ALL SELECT n + d FROM r, few f(d)) SELECT count(*) FROM r".into()
        }),
        ("a distinct recursion", {
            "WITH RECURSIVE r AS (SELECT i AS n FROM numbers UNION SELECT n + 1 FROM r WHERE n < 100000000) \
             SELECT count(*) FROM r"
                .into()
        }),
        ("a range join", {
            "SELECT count(*) FROM numbers a JOIN numbers b ON b.i BETWEEN a.i - 40000 AND a.i + 40000 AND a.t <> b.t"
                .into()
        }),
        ("lists unnested", "SELECT count(*) FROM numbers, unnest(range(1, 20000)) u(x)".into()),
        ("a table made", "CREATE TABLE made AS SELECT a.t, b.i FROM numbers a, few b".into()),
        ("rows changed", "UPDATE numbers SET t = (SELECT max(b.t || numbers.i) FROM numbers b)".into()),
        (
            "rows deleted",
            "DELETE FROM numbers WHERE i IN (SELECT a.i * b.i FROM numbers a, numbers b)".into(),
        ),
        ("a pivot", "PIVOT numbers ON k USING count(*)".into()),
        ("a summary", "SUMMARIZE SELECT a.*, b.i AS j FROM numbers a, few b".into()),
    ]
}

/// Files read and written.
fn slow_files(folder: &Folder) -> Vec<(&'static str, String)> {
    vec![
        (
            "a file written",
            format!("COPY (SELECT a.*, b.i AS j FROM numbers a, few b) TO '{}'", folder.path("w.csv")),
        ),
        ("a packed file written", {
            format!(
                "COPY (SELECT a.*, b.i AS j FROM numbers a, few b) TO '{}' (COMPRESSION gzip)",
                folder.path("w.csv.gz")
            )
        }),
        ("a Parquet file written", {
            format!("COPY (SELECT a.*, b.i AS j FROM numbers a, few b) TO '{}'", folder.path("w.parquet"))
        }),
        ("partitions written", {
            format!(
                "COPY (SELECT a.*, b.i AS p FROM numbers a, few b) TO '{}' (FORMAT csv, PARTITION_BY (p))",
                folder.path("parts")
            )
        }),
        ("a pipe without a reader", format!("COPY numbers TO '{}'", folder.path("pipe.csv"))),
        ("a pipe without a writer", format!("SELECT * FROM read_csv('{}')", folder.path("pipe.csv"))),
        ("a large file sniffed", {
            format!("SELECT count(*) FROM read_csv('{}', sample_size => -1)", folder.path("large.csv"))
        }),
        ("a packed file read", format!("SELECT count(*) FROM '{}'", folder.path("large.csv.gz"))),
        ("many files", format!("SELECT count(*) FROM '{}'", folder.path("many/*.csv"))),
    ]
}

#[test]
fn statements_that_are_slow_by_themselves_can_be_interrupted() {
    let _alone = ALONE.lock();
    let (session, folder) = (session(), Folder::new("slow"));
    folder.pipe("pipe.csv");
    session
        .query(&format!(
            "COPY (SELECT a.*, b.i AS j FROM numbers a, few b LIMIT 1000000) TO '{}'",
            folder.path("large.csv")
        ))
        .expect("writes");
    session
        .query(&format!(
            "COPY (SELECT a.*, b.i AS j FROM numbers a, few b LIMIT 1000000) TO '{}' (COMPRESSION gzip)",
            folder.path("large.csv.gz")
        ))
        .expect("writes");
    std::fs::create_dir(folder.path("many")).expect("makes a folder");
    for number in 0..4000 {
        std::fs::write(folder.path(&format!("many/{number:04}.csv")), "a,b\n1,x\n2,y\n").expect("writes");
    }
    let files = folder.names();
    let only = std::env::var("SLOW").unwrap_or_default();
    let mut wrong = Vec::new();
    for (what, text) in slow(&folder).into_iter().filter(|(what, _)| what.contains(&only)) {
        let used = session.database().memory_used().0;
        let mut late = Vec::new();
        for delay in [30, 90, 250] {
            late.extend(interrupted(&session, &text, Duration::from_millis(delay)));
        }
        for timeout in [50, 150] {
            late.extend(timed_out(&session, &text, Duration::from_millis(timeout)));
        }
        is_as_before(&session, what);
        late.sort();
        println!("{what}: {late:?}");
        // What ends by itself before is fast, or refused.
        if let Some(worst) = late.last()
            && (late[late.len() / 2] > soon() || *worst > soon() * AT_LAST)
        {
            wrong.push(format!("{what}: {late:?}"));
        }
        if folder.names() != files {
            wrong.push(format!("{what} left a file behind: {:?}", folder.names()));
        }
        session.database().release_idle_memory();
        let grown = session.database().memory_used().0.saturating_sub(used);
        if grown > KEPT_BYTES_MAX {
            wrong.push(format!("{what}: {grown} bytes more in use"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Its id, once the long statement of `waiting_for_others_can_be_interrupted` runs.
fn until_it_runs(other: &Session) -> i64 {
    let running = "SELECT id FROM quickstep_queries WHERE query LIKE 'SELECT count(*) FROM numbers a%' \
                   AND state = 'running'";
    let mut id = None;
    timing::until("the statement runs", || {
        let found = other.query(running).expect("answers");
        id = (found.rows() > 0).then(|| found.value(0, 0).as_i64().expect("is a number"));
        id.is_some()
    });
    id.expect("was found")
}

#[test]
fn waiting_for_others_can_be_interrupted() {
    let _alone = ALONE.lock();
    let one = session();
    let other = one.database().session();
    let long = "SELECT count(*) FROM numbers a, numbers b WHERE a.t < b.t";
    // Admission: the only place is taken.
    one.query("SET active_queries = 1").expect("sets");
    std::thread::scope(|scope| {
        let holder = scope.spawn(|| one.query(long));
        until_it_runs(&other);
        let late = (0..3).filter_map(|_| interrupted(&other, long, Duration::from_millis(50))).collect();
        judge("waiting for a place, by a signal", late);
        let late = (0..3).filter_map(|_| timed_out(&other, long, Duration::from_millis(50))).collect();
        judge("waiting for a place, by a timeout", late);
        one.interrupt();
        assert_eq!(holder.join().expect("ends").expect_err("is stopped").state(), SqlState::QueryCanceled);
    });
    one.query("RESET active_queries").expect("resets");
    // A statement that is paused.
    let paused = [(); 3].map(|()| {
        std::thread::scope(|scope| {
            let paused = scope.spawn(|| one.query(long));
            let id = until_it_runs(&other);
            other.query(&format!("PAUSE QUERY {id}")).expect("pauses");
            std::thread::sleep(Duration::from_millis(100));
            let raised = Instant::now();
            one.interrupt();
            assert_eq!(
                paused.join().expect("ends").expect_err("is stopped").state(),
                SqlState::QueryCanceled
            );
            raised.elapsed()
        })
    });
    judge("paused", paused.to_vec());
    // A statement behind another one of the same block. One that has not begun by the time of the signal needs another, and
    // says nothing.
    timing::in_one_of(10, || {
        one.query("BEGIN").expect("begins");
        let (signals, late) = std::thread::scope(|scope| {
            let statements = [0, 1].map(|_| scope.spawn(|| one.query(long)));
            until_it_runs(&other);
            std::thread::sleep(Duration::from_millis(150));
            let (raised, mut signals) = (Instant::now(), 0);
            while !statements.iter().all(|statement| statement.is_finished()) {
                one.interrupt();
                signals += 1;
                let signalled = Instant::now();
                while signalled.elapsed() < soon()
                    && !statements.iter().all(|statement| statement.is_finished())
                {
                    std::thread::sleep(Duration::from_millis(1));
                }
            }
            for statement in statements {
                assert!(statement.join().expect("ends").is_err());
            }
            (signals, raised.elapsed())
        });
        one.query("ROLLBACK").expect("ends");
        timing::met(signals == 1, format!("two statements of a block: {signals} signals, {late:?}"))
    });
    is_as_before(&one, "waits");
}

#[test]
fn streams_and_hosts_can_be_interrupted() {
    use std::ops::ControlFlow;
    use std::sync::Arc;
    use std::sync::atomic::{AtomicBool, Ordering};
    let _alone = ALONE.lock();
    let session = session();
    // Rows that are not read: the queue is full, and the query waits.
    let late = [(); 3].map(|()| {
        let mut stream = session.stream("SELECT a.t, b.i FROM numbers a, few b").expect("begins");
        stream.next_batch().expect("has rows");
        std::thread::sleep(Duration::from_millis(100));
        session.interrupt();
        let raised = Instant::now();
        let error = loop {
            match stream.next_batch() {
                Ok(Some(_)) => {}
                Ok(None) => panic!("the stream ended"),
                Err(error) => break error,
            }
        };
        assert_eq!(error.state(), SqlState::QueryCanceled);
        raised.elapsed()
    });
    judge("a stream", late.to_vec());
    is_as_before(&session, "a stream");
    // The host's tick ends planning, on whatever thread that is: the text is long enough for one of its own.
    let stop = Arc::new(AtomicBool::new(false));
    let asked = stop.clone();
    session.set_tick(move || match asked.load(Ordering::SeqCst) {
        true => ControlFlow::Break(()),
        false => ControlFlow::Continue(()),
    });
    let cancel = session.cancel_token();
    let text = format!("SELECT {} FROM few", vec!["i + 1 AS a"; 4000].join(", "));
    for place in [Place::Scan, Place::Parse, Place::Bind, Place::BindQuery] {
        cancel.delay(Some((place, Duration::from_millis(2))));
        std::thread::scope(|scope| {
            let raiser = scope.spawn(|| {
                std::thread::sleep(Duration::from_millis(60));
                stop.store(true, Ordering::SeqCst);
                Instant::now()
            });
            let outcome = session.query(&text);
            let ended = Instant::now();
            let raised = raiser.join().expect("raises");
            if let Err(error) = outcome {
                assert_eq!(error.state(), SqlState::QueryCanceled, "{place:?}: {error}");
                let late = ended.saturating_duration_since(raised);
                assert!(late < soon() * AT_LAST, "{place:?} by the host: {late:?}");
            } else {
                assert!(matches!(place, Place::Scan | Place::BindQuery), "{place:?} is not noticed");
            }
        });
        stop.store(false, Ordering::SeqCst);
        cancel.delay(None);
    }
    is_as_before(&session, "the host");
}

#[test]
fn a_signal_between_two_statements_ends_the_next_one() {
    let _alone = ALONE.lock();
    let session = session();
    let cancel = session.cancel_token();
    let mut seen = 0;
    let outcome = session.execute_each("SELECT 1; SELECT 2; CREATE TABLE made AS SELECT 3", |_| {
        seen += 1;
        if seen == 2 {
            cancel.cancel();
        }
        Ok(())
    });
    assert_eq!(outcome.expect_err("is stopped").state(), SqlState::QueryCanceled);
    assert_eq!(seen, 2);
    is_as_before(&session, "a signal between statements");
    // One that comes while nothing runs has no effect.
    cancel.cancel();
    session.query("SELECT 1").expect("runs");
}

#[test]
fn an_index_that_was_interrupted_is_not_there() {
    let _alone = ALONE.lock();
    let session = session();
    let cancel = session.cancel_token();
    let mut all = Vec::new();
    for _ in 0..5 {
        cancel.delay(Some((Place::Verify, Duration::from_millis(15))));
        let late = interrupted_at(
            &session,
            "CREATE INDEX made_index ON blocks (k)",
            Duration::from_millis(some(60)),
            true,
        );
        assert!(cancel.passed() > 0, "building an index does not ask");
        cancel.delay(None);
        all.push(late.expect("is over by itself"));
        is_as_before(&session, "an index");
    }
    judge("an index", all);
    session.query("CREATE INDEX made_index ON blocks (k)").expect("is free");
    let found = session.query("SELECT count(*) FROM blocks WHERE k = 7").expect("uses it");
    assert_eq!(found.value(0, 0), Value::I64(300));
}
