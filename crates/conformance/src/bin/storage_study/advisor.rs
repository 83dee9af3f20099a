//! The bar of the advisor: what it picks is at least as fast as the default layout.

use serde_json::json;

use crate::tables::{NARROW_MAX, Shape};
use crate::{Outcome, Study, Times};

/// Statements of a workload by number.
type Workload = fn(u64) -> String;

const WORKLOADS: [(&str, Workload); 4] = [
    ("point queries", |n| {
        let value = n.wrapping_mul(7_919_317) % NARROW_MAX as u64 + 1;
        format!("SELECT * FROM t WHERE c0 = {value}")
    }),
    ("small ranges", |n| {
        let low = n.wrapping_mul(7_919_317) % NARROW_MAX as u64;
        format!("SELECT c1, c2, c3 FROM t WHERE c0 BETWEEN {low} AND {}", low + 100_000)
    }),
    ("wide scans", |n| {
        let sums: Vec<String> = (0..10).map(|c| format!("sum(c{c})")).collect();
        format!("SELECT {} FROM t WHERE c1 > {}", sums.join(", "), n % 10 * 1_000_000)
    }),
    ("one column", |n| format!("SELECT count(*) FROM t WHERE c5 < {}", (n % 9 + 1) * 10_000_000)),
];
const STATEMENTS: u64 = 20;

fn run_all(study: &Study, workload: Workload) -> Outcome<f64> {
    (0..STATEMENTS).map(|n| study.once(&workload(n))).sum()
}

fn times(study: &Study, workload: Workload) -> Outcome<Times> {
    run_all(study, workload)?;
    Ok(Times((0..study.runs).map(|_| run_all(study, workload)).collect::<Outcome<_>>()?))
}

/// Times each workload before and after the advisor's proposal is applied.
pub fn advisor(study: &mut Study) -> Outcome<()> {
    for (name, workload) in WORKLOADS {
        Shape::NarrowU.create(study, "t", "block_size = '4MB'")?;
        study.run("CALL forget_workload()")?;
        let before = times(study, workload)?;
        let size = study.bytes("t")?;
        let advice = study.session.query("CALL advise(t, seconds => 20)")?;
        let text = |row: usize, name: &str| {
            let column = advice.schema().fields().iter().position(|f| f.name == name);
            column.and_then(|c| advice.value(row, c).as_text().map(str::to_owned)).unwrap_or_default()
        };
        let chosen = (0..advice.rows()).find(|row| !text(*row, "statement").is_empty());
        let statement = chosen.map(|row| text(row, "statement")).unwrap_or_default();
        if !statement.is_empty() {
            study.reorganize(&statement)?;
        }
        let after = times(study, workload)?;
        study.note([
            ("workload", json!(name)),
            ("applied", json!(statement)),
            ("basis", json!(text(0, "advice"))),
            ("before_ms", json!(before.median() / STATEMENTS as f64)),
            ("after_ms", json!(after.median() / STATEMENTS as f64)),
            ("as_fast", json!(before.median() / after.median())),
            ("bytes_before", json!(size)),
            ("bytes_after", json!(study.bytes("t")?)),
        ]);
    }
    study.drop("t")
}
