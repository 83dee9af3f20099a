//! How far the optimizer's estimates are off, over the intermediate results of TPC-H and SSB: the q-error's median
//! stays under 2 and its 95th percentile under 10.
//!
//! `ESTIMATES_SCALE=1 cargo test -p conformance --test estimates -- --nocapture` takes another scale factor (0.1
//! unless said) and lists the operators that are furthest off.

use conformance::{configuration, repository};
use serde_json::Value;

#[derive(Debug)]
struct Operator {
    query: String,
    title: String,
    estimated: f64,
    rows: f64,
    error: f64,
}

/// Operators whose rows are a matter of estimation: not what repeats its input or is cut off by a limit.
fn gather(query: &str, node: &Value, found: &mut Vec<Operator>) {
    let title = node["node"].as_str().unwrap_or_default();
    let passes = ["Sort", "Top", "Limit", "Project", "Values", "Read"];
    if !passes.iter().any(|word| title.starts_with(word)) {
        found.push(Operator {
            query: query.to_owned(),
            title: title.chars().take(150).collect(),
            estimated: node["estimated_rows"].as_f64().unwrap(),
            rows: node["rows"].as_f64().unwrap(),
            error: node["q_error"].as_f64().unwrap(),
        });
    }
    for input in node["inputs"].as_array().into_iter().flatten() {
        gather(query, input, found);
    }
}

fn operators(suite: &str, scale: &str) -> Vec<Operator> {
    let session = configuration::standard().open().unwrap();
    session.query(&format!("CALL {suite}(scale => {scale})")).unwrap();
    let folder = repository().join("tests/answers/queries").join(suite);
    let mut paths: Vec<_> = std::fs::read_dir(folder).unwrap().flatten().map(|e| e.path()).collect();
    paths.sort();
    let mut found = Vec::new();
    for path in paths {
        let name = format!("{suite} {}", path.file_stem().unwrap().to_string_lossy());
        let fraction = 0.0001 / scale.parse::<f64>().unwrap();
        let text = std::fs::read_to_string(&path).unwrap().replace("{fraction}", &format!("{fraction:.10}"));
        let result = session
            .query(&format!("EXPLAIN (ANALYZE, FORMAT JSON) {text}"))
            .unwrap_or_else(|e| panic!("{name}: {e}"));
        let lines: Vec<String> =
            (0..result.rows()).map(|row| result.value(row, 0).display(types::Type::Text)).collect();
        let plan: Value = serde_json::from_str(&lines.join("\n")).unwrap();
        for part in plan.as_array().unwrap() {
            gather(&name, &part["plan"], &mut found);
        }
    }
    found
}

#[test]
fn intermediate_results_are_estimated_well() {
    let scale = std::env::var("ESTIMATES_SCALE").unwrap_or_else(|_| "0.1".to_owned());
    let mut all = operators("tpch", &scale);
    all.append(&mut operators("ssb", &scale));
    all.sort_by(|a, b| b.error.total_cmp(&a.error));
    for o in all.iter().take(40) {
        println!("{:8.2} {:>10} for {:>9}  {}  {}", o.error, o.estimated, o.rows, o.query, o.title);
    }
    let at = |share: f64| all[((1.0 - share) * all.len() as f64) as usize].error;
    let (median, high) = (at(0.5), at(0.95));
    println!("scale {scale}: {} operators, median {median:.2}, 95th percentile {high:.2}", all.len());
    assert!(all.len() > 150);
    assert!(median < 2.0, "the median is {median}");
    assert!(high < 10.0, "the 95th percentile is {high}");
}
