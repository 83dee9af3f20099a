//! Random statements that change rows, compared with a model of the table: a list of rows. After each statement the
//! table is read whole and by conditions, under every configuration and in small and merged blocks of either layout.

use std::collections::BTreeMap;

use conformance::configuration::{self, Configuration};
use engine::{ResultSet, Session, SqlState, Value};
use random::Random;

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Row {
    k: i64,
    a: Option<i64>,
    b: Option<String>,
}

/// The table: rows by key.
type Rows = BTreeMap<i64, Row>;

/// A condition, in SQL and as a function.
struct Condition {
    sql: String,
    holds: Box<dyn Fn(&Row) -> bool>,
}

fn condition(random: &mut Random) -> Condition {
    let n = random.between(-5, 60);
    let at_random = |sql: String, holds: Box<dyn Fn(&Row) -> bool>| Condition { sql, holds };
    match random.below(9) {
        0 => at_random(format!("t.k = {n}"), Box::new(move |r| r.k == n)),
        1 => at_random(format!("t.k < {n}"), Box::new(move |r| r.k < n)),
        2 => at_random(format!("t.a > {n}"), Box::new(move |r| r.a.is_some_and(|a| a > n))),
        3 => at_random("t.a IS NULL".into(), Box::new(|r| r.a.is_none())),
        4 => {
            let m = random.between(2, 7);
            at_random(format!("t.k % {m} = 1"), Box::new(move |r| r.k % m == 1))
        }
        5 => {
            let text = format!("b{}", n % 5);
            at_random(format!("t.b = '{text}'"), Box::new(move |r| r.b.as_deref() == Some(&text)))
        }
        6 => at_random(
            format!("t.a BETWEEN {n} AND {} OR t.b IS NULL", n + 10),
            Box::new(move |r| r.a.is_some_and(|a| (n..=n + 10).contains(&a)) || r.b.is_none()),
        ),
        7 => {
            at_random("t.b LIKE 'b%'".into(), Box::new(|r| r.b.as_ref().is_some_and(|b| b.starts_with('b'))))
        }
        _ => at_random("true".into(), Box::new(|_| true)),
    }
}

fn some_row(random: &mut Random, k: i64) -> Row {
    let a = (!random.chance(15)).then(|| random.between(-20, 60));
    let b = (!random.chance(20)).then(|| format!("b{}", random.below(5)));
    Row { k, a, b }
}

fn literal(row: &Row) -> String {
    let a = row.a.map_or("NULL".into(), |a| a.to_string());
    let b = row.b.as_ref().map_or("NULL".into(), |b| format!("'{b}'"));
    format!("({}, {a}, {b})", row.k)
}

fn rows_of(result: &ResultSet) -> Vec<Row> {
    let text = |value: Value| value.as_text().map(str::to_owned);
    (0..result.rows())
        .map(|row| Row {
            k: result.value(row, 0).as_i64().expect("a key"),
            a: result.value(row, 1).as_i64(),
            b: text(result.value(row, 2)),
        })
        .collect()
}

/// What a statement should do: the table after it, how many rows it counts, the rows that RETURNING gives; or an
/// error.
type Expected = Result<(Rows, usize, Vec<Row>), SqlState>;

fn insert(random: &mut Random, rows: &Rows) -> (String, Expected) {
    let count = match random.below(4) {
        0 => 1,
        1 => 200,
        _ => 1 + random.below(8),
    };
    let keys = if count > 50 { 2_000 } else { 60 };
    let new: Vec<Row> = (0..count)
        .map(|_| {
            let key = random.between(0, keys);
            some_row(random, key)
        })
        .collect();
    let list: Vec<String> = new.iter().map(literal).collect();
    let clause = random.below(3);
    let mut after = rows.clone();
    let mut returned = Vec::new();
    let mut taken: Vec<i64> = Vec::new();
    let mut failure = None;
    for row in &new {
        let there = rows.contains_key(&row.k);
        let twice = taken.contains(&row.k);
        match clause {
            0 if there || twice => failure = failure.or(Some(SqlState::UniqueViolation)),
            1 if there || twice => continue,
            2 if twice => failure = failure.or(Some(SqlState::CardinalityViolation)),
            2 if there => {
                let old = &rows[&row.k];
                let merged =
                    Row { k: row.k, a: old.a.zip(row.a).map(|(old, new)| old + new), b: row.b.clone() };
                after.insert(row.k, merged.clone());
                returned.push(merged);
            }
            _ => {
                after.insert(row.k, row.clone());
                returned.push(row.clone());
            }
        }
        taken.push(row.k);
    }
    let on = match clause {
        0 => "",
        1 if random.chance(50) => " ON CONFLICT DO NOTHING",
        1 => " ON CONFLICT (k) DO NOTHING",
        _ => " ON CONFLICT (k) DO UPDATE SET a = t.a + excluded.a, b = excluded.b",
    };
    let sql = format!("INSERT INTO t VALUES {}{on} RETURNING *", list.join(", "));
    (sql, failure.map_or_else(|| Ok((after, returned.len(), returned)), Err))
}

fn update(random: &mut Random, rows: &Rows) -> (String, Expected) {
    let Condition { sql, holds } = condition(random);
    let n = random.between(-3, 9);
    type Change = Box<dyn Fn(&Row) -> Row>;
    let (set, change): (String, Change) = match random.below(5) {
        0 => (format!("a = a + {n}"), Box::new(move |r| Row { a: r.a.map(|a| a + n), ..r.clone() })),
        1 => {
            ("a = k, b = DEFAULT".into(), Box::new(|r| Row { a: Some(r.k), b: Some("unset".into()), k: r.k }))
        }
        2 => (
            format!("b = 'b' || {n}, a = NULL"),
            Box::new(move |r| Row { a: None, b: Some(format!("b{n}")), k: r.k }),
        ),
        3 => (format!("k = k + {n}"), Box::new(move |r| Row { k: r.k + n, ..r.clone() })),
        _ => (
            "(a, b) = (coalesce(t.a, 0), t.b)".into(),
            Box::new(|r| Row { a: Some(r.a.unwrap_or(0)), ..r.clone() }),
        ),
    };
    let (mut after, mut returned) = (Rows::new(), Vec::new());
    for row in rows.values().filter(|row| !holds(row)) {
        after.insert(row.k, row.clone());
    }
    let mut clash = false;
    for row in rows.values().filter(|row| holds(row)) {
        let changed = change(row);
        clash |= after.insert(changed.k, changed.clone()).is_some();
        returned.push(changed);
    }
    let expected = if clash { Err(SqlState::UniqueViolation) } else { Ok((after, returned.len(), returned)) };
    (format!("UPDATE t SET {set} WHERE {sql} RETURNING k, a, b"), expected)
}

fn delete(random: &mut Random, rows: &Rows) -> (String, Expected) {
    let Condition { sql, holds } = condition(random);
    if random.chance(20) {
        // By a list of keys, some of them twice.
        let keys: Vec<i64> = (0..1 + random.below(10)).map(|_| random.between(0, 60)).collect();
        let list: Vec<String> = keys.iter().map(|k| format!("({k})")).collect();
        let gone: Vec<Row> = rows.values().filter(|r| keys.contains(&r.k)).cloned().collect();
        let mut after = rows.clone();
        after.retain(|k, _| !keys.contains(k));
        let sql =
            format!("DELETE FROM t USING (VALUES {}) AS v(k) WHERE v.k = t.k RETURNING t.*", list.join(", "));
        return (sql, Ok((after, gone.len(), gone)));
    }
    let gone: Vec<Row> = rows.values().filter(|row| holds(row)).cloned().collect();
    let mut after = rows.clone();
    after.retain(|_, row| !holds(row));
    (format!("DELETE FROM t WHERE {sql} RETURNING *"), Ok((after, gone.len(), gone)))
}

fn merge(random: &mut Random, rows: &Rows) -> (String, Expected) {
    let mut source = Rows::new();
    for _ in 0..1 + random.below(12) {
        let key = random.between(0, 70);
        source.insert(key, some_row(random, key));
    }
    let list: Vec<String> = source.values().map(literal).collect();
    let by_source = random.chance(40);
    let (mut after, mut returned) = (rows.clone(), Vec::new());
    for new in source.values() {
        match rows.get(&new.k) {
            Some(old) if new.a.is_none() => {
                after.remove(&new.k);
                returned.push(old.clone());
            }
            Some(old) if new.b.is_some() => {
                let changed = Row { a: new.a, ..old.clone() };
                after.insert(new.k, changed.clone());
                returned.push(changed);
            }
            Some(_) => {}
            None if new.k % 2 == 0 => {
                after.insert(new.k, new.clone());
                returned.push(new.clone());
            }
            None => {}
        }
    }
    if by_source {
        for old in rows.values().filter(|row| !source.contains_key(&row.k) && row.k % 5 == 0) {
            after.remove(&old.k);
            returned.push(old.clone());
        }
    }
    let lone = if by_source { "WHEN NOT MATCHED BY SOURCE AND t.k % 5 = 0 THEN DELETE" } else { "" };
    let sql = format!(
        "MERGE INTO t USING (SELECT k, a::BIGINT AS a, b::TEXT AS b FROM (VALUES {}) AS v(k, a, b)) AS s ON t.k = s.k \
         WHEN MATCHED AND s.a IS NULL THEN DELETE \
         WHEN MATCHED AND s.b IS NOT NULL THEN UPDATE SET a = s.a \
         WHEN NOT MATCHED AND s.k % 2 = 0 THEN INSERT VALUES (s.k, s.a, s.b) \
         WHEN NOT MATCHED THEN DO NOTHING {lone} RETURNING t.k, t.a, t.b",
        list.join(", ")
    );
    (sql, Ok((after, returned.len(), returned)))
}

/// Reads the table in several ways.
fn compare(session: &Session, random: &mut Random, rows: &Rows, what: &str) {
    let all = session.query("SELECT k, a, b FROM t ORDER BY k").unwrap();
    let expected: Vec<Row> = rows.values().cloned().collect();
    assert_eq!(rows_of(&all), expected, "{what}");
    let Condition { sql, holds } = condition(random);
    let found = session.query(&format!("SELECT k, a, b FROM t WHERE {sql} ORDER BY k")).unwrap();
    let expected: Vec<Row> = rows.values().filter(|row| holds(row)).cloned().collect();
    assert_eq!(rows_of(&found), expected, "{what}; WHERE {sql}");
    let totals = session.query("SELECT count(*), sum(a), count(DISTINCT b), min(k), max(b) FROM t").unwrap();
    let sum: i64 = rows.values().filter_map(|r| r.a).sum();
    let values: Vec<&String> = rows.values().filter_map(|r| r.b.as_ref()).collect();
    let distinct: std::collections::BTreeSet<&String> = values.iter().copied().collect();
    assert_eq!(totals.value(0, 0).as_i64(), Some(rows.len() as i64), "{what}");
    let any = rows.values().any(|r| r.a.is_some());
    assert_eq!(totals.value(0, 1).as_i128(), any.then_some(i128::from(sum)), "{what}");
    assert_eq!(totals.value(0, 2).as_i64(), Some(distinct.len() as i64), "{what}");
    assert_eq!(totals.value(0, 3).as_i64(), rows.keys().next().copied(), "{what}");
    let last = distinct.iter().next_back().map(|b| (*b).clone());
    assert_eq!(totals.value(0, 4).as_text().map(str::to_owned), last, "{what}");
    let groups = session.query("SELECT k % 3, count(*) FROM t GROUP BY 1 ORDER BY 1").unwrap();
    let mut counts: BTreeMap<i64, i64> = BTreeMap::new();
    rows.keys().for_each(|k| *counts.entry(k % 3).or_default() += 1);
    let found: BTreeMap<i64, i64> = (0..groups.rows())
        .map(|r| (groups.value(r, 0).as_i64().unwrap(), groups.value(r, 1).as_i64().unwrap()))
        .collect();
    assert_eq!(found, counts, "{what}");
}

/// What a session's transaction would go back to.
struct Undo {
    begun: Rows,
    savepoint: Option<Rows>,
}

fn run(configuration: &Configuration, seed: u64, steps: usize) -> (usize, usize) {
    let mut random = Random::new(seed);
    let session = configuration.open().unwrap();
    let layout = random.pick(&["column", "compressed_column"]);
    session
        .query(&format!(
            "CREATE TABLE t (k BIGINT PRIMARY KEY, a BIGINT, b TEXT DEFAULT 'unset') WITH (layout = '{layout}', block_size = '64KB')"
        ))
        .unwrap();
    let mut rows = Rows::new();
    if random.chance(50) {
        let many = random.between(1, 20_000);
        session
            .query(&format!(
                "INSERT INTO t SELECT i + 100, i % 50, 'b' || i % 5 FROM generate_series(1, {many}) AS s(i)"
            ))
            .unwrap();
        rows = (1..=many)
            .map(|i| (i + 100, Row { k: i + 100, a: Some(i % 50), b: Some(format!("b{}", i % 5)) }))
            .collect();
    }
    let mut open: Option<Undo> = None;
    let (mut done, mut refused) = (0, 0);
    for step in 0..steps {
        let what = format!("{}, seed {seed}, step {step}", configuration.name);
        if random.chance(25) {
            match (&mut open, random.below(4)) {
                (None, _) => {
                    session.query("BEGIN").unwrap();
                    open = Some(Undo { begun: rows.clone(), savepoint: None });
                }
                (Some(undo), 0) => {
                    session.query("SAVEPOINT s").unwrap();
                    undo.savepoint = Some(rows.clone());
                }
                (Some(Undo { savepoint: Some(before), .. }), 1) => {
                    session.query("ROLLBACK TO s").unwrap();
                    rows = before.clone();
                }
                (Some(undo), 2) => {
                    session.query("ROLLBACK").unwrap();
                    rows = undo.begun.clone();
                    open = None;
                }
                (Some(_), _) => {
                    session.query("COMMIT").unwrap();
                    open = None;
                }
            }
            compare(&session, &mut random, &rows, &what);
            continue;
        }
        let (sql, expected) = match random.weighted(&[30, 30, 20, 20, 1]) {
            0 => insert(&mut random, &rows),
            1 => update(&mut random, &rows),
            2 => delete(&mut random, &rows),
            3 => merge(&mut random, &rows),
            _ => ("TRUNCATE t".to_owned(), Ok((Rows::new(), 0, vec![]))),
        };
        let what = format!("{what}: {sql}");
        match (session.query(&sql), expected) {
            (Ok(result), Ok((after, count, mut returned))) => {
                done += 1;
                if !sql.starts_with("TRUNCATE") {
                    let counted = result.tag().rsplit(' ').next().map(str::to_owned);
                    assert_eq!(counted, Some(count.to_string()), "{what}");
                    let mut found = rows_of(&result);
                    found.sort();
                    returned.sort();
                    assert_eq!(found, returned, "{what}");
                }
                rows = after;
            }
            (Err(error), Err(state)) => {
                refused += 1;
                assert_eq!(error.state(), state, "{what}: {error}");
                if let Some(undo) = open.take() {
                    let failed = session.query("SELECT 1").unwrap_err();
                    assert_eq!(failed.state(), SqlState::InFailedTransaction, "{what}");
                    match undo.savepoint.filter(|_| random.chance(50)) {
                        Some(before) => {
                            session.query("ROLLBACK TO s").unwrap();
                            rows = before.clone();
                            open = Some(Undo { begun: undo.begun, savepoint: Some(before) });
                        }
                        None => {
                            session.query("COMMIT").unwrap();
                            rows = undo.begun;
                        }
                    }
                }
            }
            (Ok(_), Err(state)) => panic!("{what}: should fail with {state:?}"),
            (Err(error), Ok(_)) => panic!("{what}: {error}"),
        }
        compare(&session, &mut random, &rows, &what);
    }
    (done, refused)
}

#[test]
fn tables_are_as_a_list_of_rows_would_be() {
    let (mut done, mut refused) = (0, 0);
    for (at, configuration) in configuration::all().iter().enumerate() {
        for seed in 0..4 {
            let (d, r) = run(configuration, at as u64 * 1000 + seed, 60);
            (done, refused) = (done + d, refused + r);
        }
    }
    println!("{done} statements done, {refused} refused");
    assert!(done > 1000 && refused > 100, "{done} done, {refused} refused");
}

/// What PostgreSQL has since version 17, whose answers the corpus cannot ask for.
#[test]
fn merge_returns_rows_and_looks_at_lone_targets() {
    let session = configuration::standard().open().unwrap();
    session
        .execute("CREATE TABLE t (k INTEGER PRIMARY KEY, v TEXT DEFAULT 'new'); INSERT INTO t VALUES (1, 'a'), (2, 'b'), (3, 'c')")
        .unwrap();
    let result = session.query(
        "MERGE INTO t USING (VALUES (1, 'x'), (9, 'y')) AS s(id, w) ON t.k = s.id \
             WHEN MATCHED THEN UPDATE SET v = s.w \
             WHEN NOT MATCHED BY SOURCE AND t.k = 2 THEN DELETE \
             WHEN NOT MATCHED BY SOURCE THEN UPDATE SET v = 'alone' \
             WHEN NOT MATCHED BY TARGET THEN INSERT DEFAULT VALUES \
             RETURNING merge_action(), s.id, t.*, old.v AS before",
    );
    // A key has no default.
    assert_eq!(result.unwrap_err().state(), SqlState::NotNullViolation);
    let result = session
        .query(
            "MERGE INTO t USING (VALUES (1, 'x'), (9, 'y')) AS s(id, w) ON t.k = s.id \
             WHEN MATCHED THEN UPDATE SET v = s.w \
             WHEN NOT MATCHED BY SOURCE AND t.k = 2 THEN DELETE \
             WHEN NOT MATCHED BY SOURCE THEN UPDATE SET v = 'alone' \
             WHEN NOT MATCHED BY TARGET THEN INSERT (k) VALUES (s.id) \
             RETURNING merge_action(), s.id, t.*, old.v AS before",
        )
        .unwrap();
    let mut shown: Vec<String> = (0..result.rows())
        .map(|row| {
            let cell = |c: usize| match result.value(row, c) {
                Value::Null => "NULL".to_owned(),
                value => value.display(result.schema().fields()[c].ty),
            };
            (0..5).map(cell).collect::<Vec<_>>().join(" ")
        })
        .collect();
    shown.sort();
    assert_eq!(
        shown,
        ["DELETE NULL 2 b b", "INSERT 9 9 new NULL", "UPDATE 1 1 x a", "UPDATE NULL 3 alone c"]
    );
    assert_eq!(result.tag(), "MERGE 4");
    let names: Vec<&str> = result.schema().fields().iter().map(|f| f.name.as_str()).collect();
    assert_eq!(names, ["merge_action", "id", "k", "v", "before"]);
    // Prepared, and described without running.
    let described = session.describe("UPDATE t SET v = 'z' RETURNING k, new.v").unwrap().unwrap();
    assert_eq!(described.len(), 2);
    session.query("PREPARE change AS UPDATE t SET v = $2 WHERE k = $1 RETURNING v").unwrap();
    let changed = session.query("EXECUTE change(9, 'prepared')").unwrap();
    assert_eq!((changed.value(0, 0), changed.tag()), (Value::text("prepared"), "UPDATE 1"));
    let plan = session.query("EXPLAIN DELETE FROM t WHERE k = 1").unwrap();
    assert!(plan.rows() > 0);
    assert_eq!(session.query("SELECT count(*) FROM t").unwrap().value(0, 0), Value::I64(3));
}
