//! Every combination of switches gives the same answers: TPC-H and SSB at scale factor 0.01 with each switch off
//! alone, with all of them off, and with random sets of them off.
//!
//! TPC-H's answers are compared with the recorded ones. SSB has none at this scale; what the standard configuration
//! answers (its answers at scale factor 1 are compared elsewhere) has to come out of every other one.

use conformance::answers::{Answer, first_difference, parse};
use conformance::{configuration, repository};
use engine::{ResultSet, Session};
use random::Random;

/// Switches that change how a query runs, never what it answers, with the value that turns the technique off.
fn switches() -> Vec<(String, String)> {
    let session = configuration::standard().open().unwrap();
    let all = session.query("SHOW ALL").unwrap();
    let mut found = Vec::new();
    for row in 0..all.rows() {
        let text = |column| all.value(row, column).display(types::Type::Text);
        match (text(0).as_str(), text(1).as_str()) {
            ("join_order", _) => found.push(("join_order".to_owned(), "written".to_owned())),
            ("join_table", _) => found.push(("join_table".to_owned(), "shared".to_owned())),
            ("unit_of_transfer", _) => {
                found.push(("unit_of_transfer".to_owned(), "blocks(2), aggregate = table".to_owned()));
            }
            ("transfer_size", _) => found.push(("transfer_size".to_owned(), "20KB".to_owned())),
            ("work_orders_per_operator", _) => {
                found.push(("work_orders_per_operator".to_owned(), "1".to_owned()));
            }
            ("simd", _) => found.push(("simd".to_owned(), "scalar".to_owned())),
            // Facts that clients ask for, and what they set that changes no plan: no switches.
            (
                "standard_conforming_strings"
                | "integer_datetimes"
                | "is_superuser"
                | "check_function_bodies"
                | "escape_string_warning"
                | "synchronize_seqscans"
                | "row_security",
                _,
            ) => {}
            (name, "on") => found.push((name.to_owned(), "off".to_owned())),
            _ => {}
        }
    }
    assert!(found.len() > 15, "{found:?}");
    found
}

struct Query {
    name: String,
    text: String,
    /// The fact table first, so that the order of the text has no cross products between dimensions.
    written: String,
    answer: Answer,
}

fn answer_of(result: &ResultSet) -> Answer {
    let fields = result.schema().fields();
    let cell = |row, column: usize| {
        let value = result.value(row, column);
        (!value.is_null()).then(|| value.display(fields[column].ty))
    };
    Answer {
        columns: fields.iter().map(|f| f.name.to_string()).collect(),
        rows: (0..result.rows()).map(|r| (0..fields.len()).map(|c| cell(r, c)).collect()).collect(),
    }
}

fn queries(session: &Session, suite: &str) -> Vec<Query> {
    let folder = repository().join("tests/answers");
    let mut paths: Vec<_> =
        std::fs::read_dir(folder.join("queries").join(suite)).unwrap().flatten().map(|e| e.path()).collect();
    paths.sort();
    paths
        .into_iter()
        .map(|path| {
            let stem = path.file_stem().unwrap().to_string_lossy().into_owned();
            let text = std::fs::read_to_string(&path).unwrap().replace("{fraction}", "0.01");
            let recorded = folder.join(format!("{suite}-sf0.01")).join(format!("{stem}.tsv"));
            let answer = match std::fs::read_to_string(recorded) {
                Ok(recorded) => parse(&recorded),
                Err(_) => answer_of(&session.query(&text).unwrap_or_else(|e| panic!("{stem}: {e}"))),
            };
            let written = text
                .lines()
                .map(|line| match line.strip_prefix("from ") {
                    Some(list) if suite == "ssb" => {
                        let others: Vec<&str> =
                            list.split(',').map(str::trim).filter(|t| *t != "lineorder").collect();
                        format!("from lineorder, {}", others.join(", "))
                    }
                    _ => line.to_owned(),
                })
                .collect::<Vec<_>>()
                .join("\n");
            Query { name: format!("{suite} {stem}"), text, written, answer }
        })
        .collect()
}

/// Sets of switches that are turned off together.
fn combinations(count: usize) -> Vec<Vec<usize>> {
    let mut sets: Vec<Vec<usize>> = (0..count).map(|one| vec![one]).collect();
    sets.push((0..count).collect());
    let mut random = Random::new(0x9E37_79B9_7F4A_7C15);
    for _ in 0..30 {
        sets.push((0..count).filter(|_| random.bits() & 1 == 1).collect());
    }
    sets
}

fn check(suite: &str) {
    let session = configuration::standard().open().unwrap();
    session.query(&format!("CALL {suite}(scale => 0.01)")).unwrap();
    let queries = queries(&session, suite);
    let switches = switches();
    let mut problems = Vec::new();
    for set in combinations(switches.len()) {
        let off: Vec<String> = set.iter().map(|at| switches[*at].0.clone()).collect();
        let written = off.iter().any(|name| name == "join_order");
        for at in &set {
            session.query(&format!("SET {} = '{}'", switches[*at].0, switches[*at].1)).unwrap();
        }
        for query in &queries {
            let text = if written { &query.written } else { &query.text };
            let difference = match session.query(text) {
                Err(error) => Some(error.render(text)),
                Ok(result) => first_difference(&result, &query.answer),
            };
            problems.extend(difference.map(|d| format!("{} without {}: {d}", query.name, off.join(", "))));
        }
        for at in &set {
            session.query(&format!("RESET {}", switches[*at].0)).unwrap();
        }
    }
    assert!(problems.is_empty(), "{} problems\n{}", problems.len(), problems.join("\n"));
}

#[test]
fn tpch() {
    check("tpch");
}

#[test]
fn ssb() {
    check("ssb");
}

/// Large sorts are merged in ranges by several workers; operators above them keep the order in every configuration.
#[test]
fn sorted_rows_keep_their_order() {
    for configuration in configuration::all() {
        // Batches of three rows would take a minute here.
        if configuration.settings.iter().any(|(name, _)| name == "batch_rows") {
            continue;
        }
        let session = configuration.open().unwrap();
        session.query("CREATE TABLE t AS SELECT x::bigint * 7919 % 400009 AS k FROM generate_series(1, 400000) AS s(x)").unwrap();
        for text in [
            "SELECT k FROM t ORDER BY k",
            "SELECT k + 1 - 1 FROM (SELECT k FROM t ORDER BY k LIMIT 300000 OFFSET 1000) AS o WHERE k % 5 <> 0",
            "SELECT k FROM t ORDER BY k % 3 * 0, k LIMIT 200000",
        ] {
            for _ in 0..4 {
                let result = session.query(text).unwrap();
                let keys: Vec<i64> = (0..result.rows())
                    .map(|row| result.value(row, 0).display(types::Type::BigInt).parse().unwrap())
                    .collect();
                let broken = keys.windows(2).position(|pair| pair[0] >= pair[1]);
                assert!(
                    keys.len() >= 200_000 && broken.is_none(),
                    "{}: {text}: row {broken:?}",
                    configuration.name
                );
            }
        }
    }
}
