//! TPC-H, SSB and TPC-DS at small and full scale against reference answers.

use conformance::answers::{first_difference, parse};
use conformance::configuration;
use conformance::repository;
use engine::Session;

fn load(suite: &str, scale: &str, settings: &[(&str, &str)]) -> Session {
    let session = configuration::standard().open().unwrap();
    for (name, value) in settings {
        session.query(&format!("SET {name} = '{value}'")).unwrap();
    }
    session.query(&format!("CALL {suite}(scale => {scale})")).unwrap_or_else(|e| panic!("{e}"));
    session
}

/// Every query of the suite whose answer is recorded; what differs, in words.
fn differences(session: &Session, suite: &str, scale: &str) -> Vec<String> {
    let folder = repository().join("tests/answers");
    let mut names: Vec<_> =
        std::fs::read_dir(folder.join("queries").join(suite)).unwrap().flatten().map(|e| e.path()).collect();
    names.sort();
    let mut problems = Vec::new();
    let mut compared = 0;
    for path in names {
        let stem = path.file_stem().unwrap().to_string_lossy().into_owned();
        let fraction = 0.0001 / scale.parse::<f64>().unwrap();
        let text = std::fs::read_to_string(&path).unwrap().replace("{fraction}", &format!("{fraction:.10}"));
        let answer = folder.join(format!("{suite}-sf{scale}")).join(format!("{stem}.tsv"));
        let Ok(expected) = std::fs::read_to_string(&answer) else {
            problems.push(format!("{} is missing", answer.display()));
            continue;
        };
        compared += 1;
        match session.query(&text) {
            Err(error) => problems.push(format!("{suite} {stem}: {}", error.render(&text))),
            Ok(result) => {
                if let Some(difference) = first_difference(&result, &parse(&expected)) {
                    problems.push(format!("{suite} {stem}: {difference}"));
                }
            }
        }
    }
    println!("{suite} scale {scale}: {compared} answers compared");
    problems
}

fn check(suite: &str, scale: &str, settings: &[(&str, &str)]) {
    let session = load(suite, scale, settings);
    let problems = differences(&session, suite, scale);
    assert!(problems.is_empty(), "{}", problems.join("\n"));
}

#[test]
fn tpch_small() {
    check("tpch", "0.01", &[]);
}

#[test]
fn tpch_small_on_several_nodes() {
    check("tpch", "0.01", &[("cluster_nodes", "3"), ("block_size", "64KB")]);
    let small = [("cluster_transport", "tcp"), ("cluster_message_size", "64KB"), ("cluster_small_size", "0")];
    check("tpch", "0.01", &[&[("cluster_nodes", "4"), ("block_size", "64KB")], &small[..]].concat());
}

#[test]
fn ssb_small_on_several_nodes() {
    let session = load("ssb", "0.01", &[("block_size", "64KB")]);
    let rows = |text: &str, nodes: u32| {
        session.query(&format!("SET cluster_nodes = {nodes}")).unwrap();
        let result = session.query(text).unwrap_or_else(|error| panic!("{}", error.render(text)));
        let batches = result.batches().iter();
        let row = |batch: &vector::Batch, row| batch.columns.iter().map(|c| c.value(row)).collect::<Vec<_>>();
        let rows = batches.flat_map(|b| (0..b.rows).map(|at| format!("{:?}", row(b, at))));
        rows.collect::<Vec<_>>()
    };
    for path in std::fs::read_dir(repository().join("tests/answers/queries/ssb")).unwrap().flatten() {
        let text = std::fs::read_to_string(path.path()).unwrap();
        let (mut one, mut several) = (rows(&text, 1), rows(&text, 4));
        one.sort();
        several.sort();
        assert_eq!(one, several, "{}", path.path().display());
    }
}

#[test]
fn tpch_small_in_small_blocks_by_block() {
    check(
        "tpch",
        "0.01",
        &[("block_size", "64KB"), ("unit_of_transfer", "block"), ("transfer_size", "16KB")],
    );
}

#[test]
fn tpch_small_without_the_optimizer() {
    // Without push-down the comma joins of TPC-H would be cross products of everything: that one stays, and joins are
    // ordered.
    let stays = |name: &str| matches!(name, "join_order" | "filter_push_down");
    let rules: Vec<_> =
        engine::settings::RULES_OFF.iter().copied().filter(|(name, _)| !stays(name)).collect();
    check("tpch", "0.01", &rules);
}

#[test]
fn tpch_scale_1() {
    check("tpch", "1", &[]);
}

#[test]
fn ssb_scale_1() {
    check("ssb", "1", &[]);
}

/// At smaller scales Q12 divides by zero: a class of items without revenue.
#[test]
fn tpcds_small() {
    check("tpcds", "0.05", &[]);
}

#[test]
fn tpcds_small_on_several_nodes() {
    check("tpcds", "0.05", &[("cluster_nodes", "3"), ("block_size", "64KB")]);
}

#[test]
fn tpcds_small_in_small_blocks_by_table() {
    check(
        "tpcds",
        "0.05",
        &[("block_size", "64KB"), ("unit_of_transfer", "table"), ("transfer_size", "16KB")],
    );
}
