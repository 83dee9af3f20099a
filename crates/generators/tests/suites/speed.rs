//! Generation speed, printed: `cargo test --release -p generators speed -- --ignored --nocapture`.

use generators::{Source, Suite};
use std::time::Instant;

/// Resident memory of the process, to see the text pool come and go.
fn resident() -> String {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    status.lines().find(|line| line.starts_with("VmRSS")).unwrap_or_default().to_string()
}

/// Rows of all parts, shared out over threads.
fn generate(source: &Source, table: &str, threads: usize) -> usize {
    let parts = source.parts(table).unwrap();
    let rows_of = |part| {
        source.batches(table, part, parts).unwrap().map(|batch| batch.unwrap().num_rows()).sum::<usize>()
    };
    std::thread::scope(|scope| {
        let thread = |first| scope.spawn(move || (first..parts).step_by(threads).map(rows_of).sum::<usize>());
        let running: Vec<_> = (0..threads).map(thread).collect();
        running.into_iter().map(|thread| thread.join().unwrap()).sum()
    })
}

#[test]
#[ignore = "measures; prints seconds"]
fn speed_at_scale_one() {
    for suite in [Suite::Ssb, Suite::Tpch] {
        let source = Source::new(suite, 1.0).unwrap();
        let begun = Instant::now();
        generate(&source, suite.tables()[0], 1);
        println!("{suite} first use: {:.3} s", begun.elapsed().as_secs_f64());
        for table in suite.tables() {
            for threads in [1, 2] {
                let begun = Instant::now();
                let rows = generate(&source, table, threads);
                println!(
                    "{suite} {table}: {rows} rows, {threads} threads, {:.3} s",
                    begun.elapsed().as_secs_f64()
                );
            }
        }
        println!("{suite} {}", resident());
        drop(source);
        println!("{suite} {} without its source", resident());
    }
}
