//! How long parsing takes: each file of a folder of queries, and an INSERT of 100,000 rows of literals.
//!
//! ```text
//! cargo run --release -p syntax --example parse_speed -- crates/generators/queries/tpch
//! ```

use std::fmt::Write;
use std::hint::black_box;
use std::time::Instant;

/// Median seconds of parsing a text.
fn median(text: &str, rounds: usize) -> f64 {
    let mut times: Vec<f64> = (0..rounds)
        .map(|_| {
            let began = Instant::now();
            black_box(syntax::parse_script(black_box(text)));
            began.elapsed().as_secs_f64()
        })
        .collect();
    times.sort_by(f64::total_cmp);
    times[rounds / 2]
}

fn main() {
    let Some(folder) = std::env::args().nth(1) else {
        eprintln!("usage: parse_speed FOLDER_OF_QUERIES");
        return;
    };
    let mut files: Vec<_> = std::fs::read_dir(&folder)
        .expect("the folder is there")
        .map(|entry| entry.expect("is listed").path())
        .filter(|path| path.extension().is_some_and(|e| e == "sql"))
        .collect();
    files.sort();
    let (mut total, mut bytes) = (0.0, 0);
    for path in &files {
        let text = std::fs::read_to_string(path).expect("is text");
        let microseconds = median(&text, 1001) * 1e6;
        println!(
            "{:>12} {:6} bytes {microseconds:8.1} us",
            path.file_stem().unwrap_or_default().display(),
            text.len()
        );
        total += microseconds;
        bytes += text.len();
    }
    let count = files.len().max(1) as f64;
    println!("{} queries: {:.1} us each, {:.0} MB/s", files.len(), total / count, bytes as f64 / total);

    let mut insert = String::from("INSERT INTO t VALUES ");
    for row in 0..100_000 {
        let comma = if row > 0 { ", " } else { "" };
        let _ = write!(
            insert,
            "{comma}({row}, 'name {row}', {}.5, NULL, '2024-01-{:02}')",
            row * 7,
            row % 28 + 1
        );
    }
    let seconds = median(&insert, 9);
    println!(
        "INSERT of 100,000 rows, {} MB: {:.0} MB/s",
        insert.len() >> 20,
        insert.len() as f64 / seconds / 1e6
    );
}
