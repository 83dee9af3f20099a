//! What compiled expressions gain: the questions of `bench/questions/compiled.sql`, vectorized and compiled in one process,
//! one after the other.
//!
//! ```text
//! cargo run --release -p engine --example compilation [ROWS] [--json COMMIT]
//! ```
//! Processor time of the whole process counts, the least of seven rounds of each way, so that a machine with other work
//! gives nearly the same figures. What compiling took is what EXPLAIN ANALYZE tells at each operator, the first time. With
//! `--json` a line for `bench/results/compilation.jsonl` is printed.

use std::time::Duration;

use engine::{Database, Options, Session};
use types::Result;

#[global_allocator]
static ALLOCATOR: memory::CountingAllocator<mimalloc::MiMalloc> =
    memory::CountingAllocator(mimalloc::MiMalloc);

const ROUNDS: usize = 7;
const QUESTIONS: &str = include_str!("../../../bench/questions/compiled.sql");

/// A question's name and its text.
fn questions() -> Vec<(&'static str, &'static str)> {
    let mut parts = QUESTIONS.split("-- question ");
    parts.next();
    parts
        .filter_map(|part| {
            let (head, text) = part.split_once('\n')?;
            Some((head.split(':').next()?, text.trim()))
        })
        .collect()
}

/// The statement that makes the data, with so many rows.
fn data(rows: usize) -> Option<String> {
    let (_, after) = QUESTIONS.split_once("-- data\n")?;
    let (text, _) = after.split_once("-- question ")?;
    Some(text.replace("2000000", &rows.to_string()))
}

fn processor_time(session: &Session, text: &str) -> Result<Duration> {
    let begun = cpu_time::ProcessTime::now();
    session.query(text)?;
    Ok(begun.elapsed())
}

/// The milliseconds of each "compiled in X ms".
fn compile_times(session: &Session, text: &str) -> Result<Vec<f64>> {
    let told = session.query(&format!("EXPLAIN ANALYZE {text}"))?;
    let mut lines = String::new();
    for row in 0..told.rows() {
        lines.push_str(told.value(row, 0).as_text().unwrap_or_default());
        lines.push('\n');
    }
    let times = lines.split("compiled in ").skip(1);
    Ok(times.filter_map(|rest| rest.split(' ').next()?.parse().ok()).collect())
}

fn percentile(sorted: &[f64], percent: usize) -> f64 {
    sorted.get((sorted.len() * percent / 100).min(sorted.len().saturating_sub(1))).copied().unwrap_or(0.0)
}

fn main() -> Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let rows = arguments.first().and_then(|rows| rows.parse().ok()).unwrap_or(2_000_000);
    let commit = arguments.iter().position(|a| a == "--json").and_then(|at| arguments.get(at + 1));
    let database = Database::in_memory(Options { workers: Some(1), ..Default::default() })?;
    let session = database.session();
    session.query(&data(rows).unwrap_or_default())?;
    let (mut answers, mut compiling, mut product) = (Vec::new(), Vec::new(), 1.0f64);
    for (name, text) in questions() {
        session.query("SET execution = 'compiled'")?;
        compiling.extend(compile_times(&session, text)?);
        let mut least = [Duration::MAX; 2];
        for _ in 0..ROUNDS {
            for (way, least) in ["vectorized", "compiled"].iter().zip(&mut least) {
                session.query(&format!("SET execution = '{way}'"))?;
                *least = processor_time(&session, text)?.min(*least);
            }
        }
        let [vectorized, compiled] = least.map(|time| time.as_secs_f64() * 1e9 / rows as f64);
        let gain = vectorized / compiled;
        product *= gain;
        println!("{name:20} {vectorized:8.2} ns a row vectorized {compiled:8.2} compiled {gain:6.2}x");
        answers.push(format!(
            "{{\"question\":\"{name}\",\"vectorized_ns_a_row\":{vectorized:.3},\"compiled_ns_a_row\":{compiled:.3}}}"
        ));
    }
    compiling.sort_by(f64::total_cmp);
    let mean = product.powf(1.0 / answers.len().max(1) as f64);
    let (p50, p95) = (percentile(&compiling, 50), percentile(&compiling, 95));
    println!(
        "geometric mean {mean:.2}x; compiling an operator's expressions: p50 {p50:.2} ms, p95 {p95:.2} ms"
    );
    if let Some(commit) = commit {
        println!(
            "{{\"format\":1,\"commit\":{{\"id\":\"{commit}\"}},\"work\":\"bench/questions/compiled.sql, {rows} rows, one \
             worker, least processor time of {ROUNDS} interleaved rounds\",\"geometric_mean\":{mean:.3},\
             \"compile_ms\":{{\"p50\":{p50:.3},\"p95\":{p95:.3}}},\"questions\":[{}]}}",
            answers.join(",")
        );
    }
    Ok(())
}
