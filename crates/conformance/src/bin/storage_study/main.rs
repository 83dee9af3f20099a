//! The storage study: Chasseur's thesis (2015), chapters 3 and 5, on blocks of this engine.
//!
//! `cargo run --release -p conformance --bin storage_study -- --record bench/results/storage-study.jsonl`
//!   --rows N         rows of Narrow-U and Narrow-E (100,000,000); Wide-E and Strings have a fifth
//!   --scales A,B     scale factors of SSB and TPC-H (1,4)
//!   --parts a,b      of sizes, files, layouts, compression, conjunction, aggregate, strings, wide, ssb, hybrid, advisor
//!   --runs N         timed runs of each query (5); one more warms up
//!   --record FILE    appends a line of JSON a part
//!
//! `make study-storage` runs all of it, and MonetDB for comparison, and draws docs/results/storage-study.md.
//!
//! A time is from SQL text to the last batch of the result, which is taken as a stream and dropped, so that a result
//! as large as its table need not fit in memory with it. The tables are the thesis' (section 3.3): values come from a
//! fixed mix of row and column numbers, so that two runs have the same rows. A "file" is a block of as many bytes as
//! a worker's share of the table, at most the 1 GB that a block may have.

mod advisor;
mod selections;
mod suites;
mod tables;

use std::process::ExitCode;

use conformance::study::{self, Defaults, Outcome, Part, Study, Times};

#[global_allocator]
static ALLOCATOR: memory::CountingAllocator<mimalloc::MiMalloc> =
    memory::CountingAllocator(mimalloc::MiMalloc);

const PARTS: [(&str, Part); 11] = [
    ("sizes", selections::sizes),
    ("files", selections::files),
    ("layouts", selections::layouts),
    ("compression", selections::compression),
    ("conjunction", selections::conjunction),
    ("aggregate", selections::aggregate),
    ("strings", selections::strings),
    ("wide", selections::wide),
    ("ssb", suites::ssb),
    ("hybrid", suites::hybrid),
    ("advisor", advisor::advisor),
];

fn main() -> ExitCode {
    let defaults = Defaults { rows: 100_000_000, scales: vec![1.0, 4.0], runs: 5 };
    study::main("storage_study", &PARTS, defaults, tables::create_functions)
}
