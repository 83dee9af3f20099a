//! The study of the unit of transfer: Deshmukh, Sundarmurthy and Patel (2019), section 6, on this engine.
//!
//! `cargo run --release -p conformance --bin transfer_study -- --record bench/results/unit-of-transfer.jsonl`
//!   --rows N         rows of the tables made here (10,000,000)
//!   --scales A       scale factor of TPC-H (1); the first counts
//!   --parts a,b      of constants, selectivity, chains, model, memory, files, limits
//!   --runs N         timed runs of each query (5), after one to warm up; times are means of the best three
//!   --record FILE    appends a line of JSON a part
//!
//! `make study-uot` runs all of it and draws docs/results/unit-of-transfer.md.
//!
//! The block size is that of tables and of units of transfer alike, as in the paper. Temporary blocks are columns
//! here, whatever the table's layout. Work orders are timed by EXPLAIN ANALYZE, queries as a whole without it.

mod chains;
mod memory_use;
mod plans;
mod selections;

use std::process::ExitCode;

use conformance::study::{self, Defaults, Outcome, Part, Study, Times};
use operators::transfer::machine;
use serde_json::json;

#[global_allocator]
static ALLOCATOR: memory::CountingAllocator<mimalloc::MiMalloc> =
    memory::CountingAllocator(mimalloc::MiMalloc);

/// The paper's block sizes.
const BLOCK_KIB: [u64; 3] = [128, 512, 2048];
/// Runs that count.
const BEST: usize = 3;

const PARTS: [(&str, Part); 7] = [
    ("constants", constants),
    ("selectivity", selections::selectivity),
    ("chains", chains::chains),
    ("model", selections::model),
    ("memory", memory_use::memory),
    ("files", memory_use::files),
    ("limits", chains::limits),
];

/// The model's constants on this machine: the median of five measurements each.
fn constants(study: &mut Study) -> Outcome<()> {
    let all: Vec<machine::Constants> = (0..5).map(|_| machine::measure(256 << 20)).collect();
    let median = |of: fn(&machine::Constants) -> f64| {
        let mut values: Vec<f64> = all.iter().map(of).collect();
        values.sort_by(f64::total_cmp);
        values[values.len() / 2]
    };
    study.note([
        ("cache_bytes", json!(median(|c| c.cache_bytes))),
        ("write", json!(median(|c| c.write))),
        ("read", json!(median(|c| c.read))),
        ("read_ahead", json!(median(|c| c.read_ahead))),
        ("miss", json!(median(|c| c.miss))),
        ("instruction_miss", json!(median(|c| c.instruction_miss))),
        ("file", json!(median(|c| c.file))),
    ]);
    Ok(())
}

/// The query under each of the settings in turn, and that again for each run, so that what else the machine does
/// falls on all of them. Milliseconds, means of the best runs.
fn in_turn(study: &Study, units: &[String], sql: &str) -> Outcome<Vec<f64>> {
    let mut times: Vec<Vec<f64>> = vec![vec![]; units.len()];
    for run in 0..=study.runs {
        for (unit, times) in units.iter().zip(&mut times) {
            study.run(&format!("SET unit_of_transfer = '{unit}'"))?;
            let time = study.once(sql)?;
            if run > 0 {
                times.push(time);
            }
        }
    }
    Ok(times.into_iter().map(|times| Times(times).mean_of_best(BEST)).collect())
}

fn main() -> ExitCode {
    let defaults = Defaults { rows: 10_000_000, scales: vec![1.0], runs: 5 };
    study::main("transfer_study", &PARTS, defaults, |_| Ok(()))
}
