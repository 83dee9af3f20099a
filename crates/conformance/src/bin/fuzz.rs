//! Runs the query fuzzer for a time and reports what it did.
//!
//! `cargo run --release -p conformance --bin fuzz -- --seconds 60 --seed 1`
//!   --seconds N    how long (60)
//!   --seed S       the first seed (1); a seed repeats its tables and queries exactly
//!   --seeds N      at most so many seeds
//!   --queries N    queries a seed (60)
//!   --rules        the rewrite fuzzer: every rule of the optimizer, without each and without all
//!   --thorough     every query under every configuration
//!   --no-reduce    failing cases as they were found
//!   --emit DIR     no judging: write cases with our answers, for `fuzz_duckdb.py`
//!
//! Exit status 1 when there was a difference.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use conformance::configuration;
use conformance::fuzz::emit::emit_round;
use conformance::fuzz::rules::{RuleOptions, run_rules};
use conformance::fuzz::{Counts, Options, run_round};

/// Counted, as in the product: a query that would take all of the machine's memory ends with an error of its own.
#[global_allocator]
static ALLOCATOR: memory::CountingAllocator<mimalloc::MiMalloc> =
    memory::CountingAllocator(mimalloc::MiMalloc);

struct Arguments {
    seconds: u64,
    seed: u64,
    seeds: u64,
    emit: Option<PathBuf>,
    rules: bool,
    options: Options,
}

fn arguments() -> Result<Arguments, String> {
    let mut parsed = Arguments {
        seconds: 60,
        seed: 1,
        seeds: u64::MAX,
        emit: None,
        rules: false,
        options: Options::default(),
    };
    let mut given = std::env::args().skip(1);
    while let Some(name) = given.next() {
        let mut value = || given.next().ok_or(format!("{name} needs a value"));
        let number = |text: String| text.parse::<u64>().map_err(|_| format!("{name}: {text} is no number"));
        match name.as_str() {
            "--seconds" => parsed.seconds = number(value()?)?,
            "--seed" => parsed.seed = number(value()?)?,
            "--seeds" => parsed.seeds = number(value()?)?,
            "--queries" => parsed.options.queries = number(value()?)? as usize,
            "--rules" => parsed.rules = true,
            "--thorough" => parsed.options.thorough = true,
            "--no-reduce" => parsed.options.reduce = false,
            "--emit" => parsed.emit = Some(PathBuf::from(value()?)),
            _ => return Err(format!("unknown argument {name}; the head of src/bin/fuzz.rs lists them")),
        }
    }
    Ok(parsed)
}

fn main() {
    let arguments = match arguments() {
        Ok(arguments) => arguments,
        Err(message) => {
            eprintln!("{message}");
            std::process::exit(2);
        }
    };
    let failed = match &arguments.emit {
        Some(folder) => emit(&arguments, folder),
        None => fuzz(&arguments),
    };
    std::process::exit(i32::from(failed));
}

fn emit(arguments: &Arguments, folder: &PathBuf) -> bool {
    if let Err(error) = std::fs::create_dir_all(folder) {
        eprintln!("cannot make {}: {error}", folder.display());
        return true;
    }
    let until = Instant::now() + Duration::from_secs(arguments.seconds);
    let (mut seeds, mut answered) = (0, 0);
    while seeds < arguments.seeds && Instant::now() < until {
        match emit_round(
            arguments.seed + seeds,
            arguments.options.queries,
            arguments.rules,
            &configuration::standard(),
            folder,
        ) {
            Ok(queries) => answered += queries,
            Err(error) => {
                eprintln!("seed {}: {error}", arguments.seed + seeds);
                return true;
            }
        }
        seeds += 1;
    }
    println!("{seeds} seeds, {answered} queries with an answer, in {}", folder.display());
    false
}

fn fuzz(arguments: &Arguments) -> bool {
    let started = Instant::now();
    let mut total = Counts::default();
    let mut last_report = started;
    let mut broken = false;
    for seed in (arguments.seed..).take(usize::try_from(arguments.seeds).unwrap_or(usize::MAX)) {
        let mut report = |case| println!("{case}\n");
        let round = if arguments.rules {
            let Options { queries, reduce, thorough, .. } = arguments.options;
            run_rules(seed, &RuleOptions { queries, reduce, thorough, ..RuleOptions::default() }, &mut report)
        } else {
            run_round(seed, &arguments.options, &mut report)
        };
        match round {
            Ok(counts) => total.add(&counts),
            Err(error) => {
                println!("{error}\n");
                broken = true;
            }
        }
        if last_report.elapsed() > Duration::from_secs(30) {
            last_report = Instant::now();
            println!("[{} s, seed {seed}] {total}", started.elapsed().as_secs());
        }
        if started.elapsed() > Duration::from_secs(arguments.seconds) {
            break;
        }
    }
    println!("{} s: {total}\n{}", started.elapsed().as_secs(), total.refusals());
    broken || total.different > 0
}
