//! How fast files are read, on a TPC-H table: `cargo test --release -p formats -- --ignored --nocapture`.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use plan::FileSource;

use super::Scratch;
use crate::Environment;
use crate::{describe, describe_as, open};

/// Seconds and rows of reading every column with some threads.
fn seconds(source: &FileSource, threads: usize) -> (f64, u64) {
    let columns: Vec<usize> = (0..source.schema.len()).collect();
    let begin = Instant::now();
    let reader = open(&Environment::of_tests(), source, &columns, 4096).unwrap();
    let (next, rows) = (AtomicU64::new(0), AtomicU64::new(0));
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                loop {
                    let unit = next.fetch_add(1, Ordering::Relaxed);
                    if unit >= reader.units().unwrap() {
                        return;
                    }
                    reader
                        .read(unit, &mut |batch| {
                            rows.fetch_add(batch.rows as u64, Ordering::Relaxed);
                            Ok(true)
                        })
                        .unwrap();
                }
            });
        }
    });
    (begin.elapsed().as_secs_f64(), rows.into_inner())
}

#[test]
#[ignore = "a measurement; needs TPC-H in the cache folder"]
fn lineitem() {
    let home = std::env::var("HOME").unwrap();
    let path = format!("{home}/.cache/quickstep/data/tpch-sf1/lineitem.parquet");
    let parquet = describe(&Environment::of_tests(), &path, &[]).unwrap();
    let columns: Vec<usize> = (0..parquet.schema.len()).collect();
    let reader = open(&Environment::of_tests(), &parquet, &columns, 4096).unwrap();
    let mut text = String::new();
    let mut rows = 0;
    for unit in 0..reader.units().unwrap() {
        reader
            .read(unit, &mut |batch| {
                for row in 0..batch.rows {
                    for (column, field) in batch.columns.iter().zip(parquet.schema.fields()) {
                        text.push_str(&column.value(row).display(field.ty));
                        text.push('|');
                    }
                    text.push('\n');
                }
                rows += batch.rows;
                Ok(rows < 1_000_000)
            })
            .unwrap();
        if rows >= 1_000_000 {
            break;
        }
    }
    let tbl = Scratch::new("lineitem.tbl", text.as_bytes());
    let tbl = describe_as(&Environment::of_tests(), tbl.path(), &[], &parquet.schema)
        .map(|source| (tbl, source))
        .unwrap();
    let csv = Scratch::new("lineitem.csv", text.replace("|\n", "\n").replace('|', "\t").as_bytes());
    let options = [("delimiter".to_owned(), "\\t".to_owned())];
    let csv = describe_as(&Environment::of_tests(), csv.path(), &options, &parquet.schema)
        .map(|source| (csv, source))
        .unwrap();
    for threads in [1, 2] {
        for (name, source) in [("parquet", &parquet), ("tbl", &tbl.1), ("csv", &csv.1)] {
            let (seconds, rows) = seconds(source, threads);
            let megabytes = std::fs::metadata(&source.paths[0]).unwrap().len() as f64 / 1e6;
            println!(
                "{name} {threads} threads: {rows} rows, {seconds:.3} s, {:.0} MB/s of file, {:.0} ns per row",
                megabytes / seconds,
                seconds * 1e9 / rows as f64
            );
        }
    }
}
