//! A short run of the query fuzzer against the reference interpreter, and proof that it would notice a fault.

use std::time::{Duration, Instant};

use conformance::configuration;
use conformance::fuzz::judge::{Verdict, compare};
use conformance::fuzz::round::{Expected, Known, actual, expected, judge, limit_time, session_with};
use conformance::fuzz::rules::{RuleOptions, run_rules};
use conformance::fuzz::tables::FuzzTable;
use conformance::fuzz::{Counts, Options, run_round};
use types::{Field, Type, Value};

/// Fifteen seconds of seeds, or `FUZZ_SECONDS`.
#[test]
fn fuzz_smoke() {
    let seconds = std::env::var("FUZZ_SECONDS").ok().and_then(|s| s.parse().ok()).unwrap_or(15);
    let options = Options { queries: 30, reduce: true, ..Options::default() };
    let started = Instant::now();
    let mut total = Counts::default();
    let mut cases = Vec::new();
    for seed in 1.. {
        let counts =
            run_round(seed, &options, &mut |case| cases.push(case.to_string())).expect("tables load");
        total.add(&counts);
        if started.elapsed() > Duration::from_secs(seconds) || !cases.is_empty() {
            break;
        }
    }
    println!("{total}");
    assert!(cases.is_empty(), "{}", cases.join("\n\n"));
    assert!(total.queries > 20, "hardly anything was judged: {total}");
    assert!(total.with_rows * 3 > total.queries, "hardly any query has rows: {total}");
    assert!(total.by_each_other > 0, "nothing nested was compared: {total}");
}

/// Seeds of the rewrite fuzzer that every test run sees, as far as a minute goes.
const REWRITE_SEEDS: u64 = 60;

/// Every rule of the optimizer on and off: `REWRITE_SEEDS`, or as many seeds as `FUZZ_SECONDS` has room for.
#[test]
fn rules_change_no_answer() {
    let seconds = std::env::var("FUZZ_SECONDS").ok().and_then(|s| s.parse().ok());
    let options = RuleOptions { queries: 30, ..RuleOptions::default() };
    let started = Instant::now();
    let mut total = Counts::default();
    let mut cases = Vec::new();
    for seed in 1.. {
        let counts =
            run_rules(seed, &options, &mut |case| cases.push(case.to_string())).expect("tables load");
        total.add(&counts);
        let done = match seconds {
            Some(seconds) => started.elapsed() > Duration::from_secs(seconds),
            None => seed >= REWRITE_SEEDS || started.elapsed() > Duration::from_secs(60),
        };
        if done || cases.len() > 5 {
            break;
        }
    }
    println!("{} s: {total}\n{}", started.elapsed().as_secs(), total.refusals());
    assert!(cases.is_empty(), "{}", cases.join("\n\n"));
    assert!(total.queries * 2 > total.not_planned, "hardly anything was planned: {total}");
    assert!(total.with_rows * 3 > total.queries, "hardly any query has rows: {total}");
}

/// The same seed makes the same queries and the same counts.
#[test]
fn a_seed_repeats_itself() {
    let options = Options {
        configurations: vec![configuration::standard()],
        queries: 10,
        reduce: false,
        ..Options::default()
    };
    let once =
        || run_round(7, &options, &mut |_| {}).map(|c| (c.queries, c.rows, c.not_planned)).expect("a round");
    assert_eq!(once(), once());
}

/// A deliberately wrong engine: the reference is told of one row less than the engine has, and of one other value.
/// Both must show, through the very path that a fuzzed query takes.
#[test]
fn a_planted_fault_is_found() {
    let rows: Vec<Vec<Value>> = (0..20).map(|i| vec![Value::I32(i), Value::I32(i % 3)]).collect();
    let fields = vec![Field::new("a", Type::Integer, true), Field::new("b", Type::Integer, true)];
    let table = FuzzTable { name: "t0".into(), fields, keyed: false, rows };
    let session = session_with(&configuration::standard(), std::slice::from_ref(&table)).expect("a session");
    let verdict = |told: &FuzzTable, sql: &str| match expected(sql, std::slice::from_ref(told), 1_000_000) {
        Expected::Known(known, types) => compare(&known, &actual(&session, sql, &types), &types, false),
        _ => panic!("{sql} was refused"),
    };
    let queries = [
        "SELECT count(*) FROM t0",
        "SELECT a, b FROM t0",
        "SELECT x.b, sum(x.a) FROM t0 x JOIN t0 y ON x.b = y.b GROUP BY x.b",
        "SELECT b, sum(a), covar_pop(a, b) FROM t0 GROUP BY ROLLUP (b)",
        "SELECT b, string_agg(CAST(a AS TEXT), '-' ORDER BY a DESC), first(a ORDER BY b DESC, a DESC) FROM t0 GROUP BY b",
        "SELECT arg_max(a, a), arg_min(b, a), last(a ORDER BY a) FROM t0",
        "SELECT a, count(*) OVER (PARTITION BY b), sum(a) OVER (ORDER BY a RANGE BETWEEN CURRENT ROW AND UNBOUNDED FOLLOWING) FROM t0",
        "SELECT * FROM t0 PIVOT (sum(a) FOR b IN (0, 1, 2))",
    ];
    for sql in queries {
        assert_eq!(verdict(&table, sql), Verdict::Same, "{sql}");
        let mut fewer = table.clone();
        fewer.rows.pop();
        assert!(matches!(verdict(&fewer, sql), Verdict::Different(_)), "{sql}");
    }
    let mut other = table.clone();
    other.rows[4][1] = Value::I32(2);
    // What looks at `a` alone does not see another `b`.
    for sql in queries[1..].iter().filter(|sql| !sql.contains("arg_max")) {
        assert!(matches!(verdict(&other, sql), Verdict::Different(_)), "{sql}");
    }
}

/// Where configurations tell each other, one that is stopped for its time tells nothing; where the reference knows
/// the rows, it is a hang.
#[test]
fn a_runaway_product_is_no_difference() {
    let rows: Vec<Vec<Value>> = (0..300).map(|i| vec![Value::I32(i)]).collect();
    let fields = vec![Field::new("a", Type::Integer, true)];
    let table = FuzzTable { name: "t0".into(), fields, keyed: false, rows };
    let session = session_with(&configuration::standard(), &[table]).expect("a session");
    limit_time(&session, 50).expect("a limit");
    let sql =
        "SELECT sin(v.a) FROM t0 v, t0 w, t0 x, t0 y, t0 z WHERE v.a + sin(w.a) + sin(x.a) + y.a - z.a = 0.5";
    let types = vec![Type::Double];
    assert!(Known::by_session(&session, sql, types.clone()).is_none());
    let known = |by_each_other| Known { outcome: Ok(Vec::new()), types: types.clone(), by_each_other };
    assert_eq!(judge(&session, sql, false, &known(true)), Verdict::Unknown);
    assert!(matches!(judge(&session, sql, false, &known(false)), Verdict::Different(_)));
}
