//! Nanoseconds a row for filling and probing join tables and filters. Not a check: run it by name, on a quiet machine.
//!
//! `cargo test --release -p hash --test speed -- --ignored --nocapture`

use std::hint::black_box;
use std::time::Instant;

use hash::hashing::hash_i64;
use hash::{JoinKeys, JoinShape, JoinTable, JoinTableKind, KeyOrder};

const BATCH: usize = 4096;

fn random(state: &mut u64) -> u64 {
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    *state
}

/// The least nanoseconds a row of several runs.
fn best(rows: usize, mut run: impl FnMut()) -> f64 {
    let runs = (20_000_000 / rows.max(1)).clamp(5, 200);
    let least = (0..runs).map(|_| {
        let started = Instant::now();
        run();
        started.elapsed().as_nanos()
    });
    least.min().unwrap_or(0) as f64 / rows as f64
}

fn filled(shape: JoinShape, codes: &[u64]) -> JoinTable {
    let filling = shape.allocate();
    for partition in 0..shape.partitions {
        for (batch, codes) in codes.chunks(BATCH).enumerate() {
            filling.insert(partition, (batch * BATCH) as u32, codes);
        }
    }
    match filling.finish() {
        Ok(table) => table,
        Err(_) => panic!("overflow"),
    }
}

fn probe(table: &JoinTable, codes: &[u64]) -> f64 {
    let mut found = Vec::new();
    best(codes.len(), || {
        for codes in codes.chunks(BATCH) {
            table.find(codes, &mut found);
            black_box(&found);
        }
    })
}

#[test]
#[ignore = "a measurement"]
fn tables() {
    println!(
        "{:>9} {:<16} {:>5} | {:>6} | {:>8} {:>8} {:>8}",
        "rows", "table", "spread", "fill", "in order", "random", "1 in 10"
    );
    for rows in [10_000usize, 1_000_000] {
        let ascending = |spread: u64| (0..rows as u64).map(|i| i * spread).collect::<Vec<u64>>();
        let shuffled = |spread: u64| {
            let mut codes = ascending(spread);
            let mut state = 11;
            for at in (1..rows).rev() {
                codes.swap(at, (random(&mut state) % (at as u64 + 1)) as usize);
            }
            codes
        };
        let cases: Vec<(&str, JoinTableKind, u64, bool, Vec<u64>)> = vec![
            ("row numbers", JoinTableKind::RowNumbers, 1, true, ascending(1)),
            ("ranked bits", JoinTableKind::RankedBits, 4, true, ascending(4)),
            ("ranked bits", JoinTableKind::RankedBits, 40, true, ascending(40)),
            ("array", JoinTableKind::Array, 1, false, shuffled(1)),
            ("array", JoinTableKind::Array, 4, false, shuffled(4)),
            ("bits", JoinTableKind::Bits, 4, false, shuffled(4)),
            ("slots", JoinTableKind::Slots, 100, false, shuffled(100)),
            ("slots, wide", JoinTableKind::Slots, 1 << 36, false, shuffled(1 << 36)),
            ("slots, hashed", JoinTableKind::Slots, 0, false, shuffled(1)),
        ];
        for (name, kind, spread, ascending, codes) in cases {
            let hashed = spread == 0;
            let range = rows as u64 * spread;
            let keys = if hashed {
                JoinKeys::Hashes
            } else {
                JoinKeys::Codes { range, order: if ascending { KeyOrder::Ascending } else { KeyOrder::Any } }
            };
            let make = |codes: &[u64]| -> Vec<u64> {
                if hashed { codes.iter().map(|c| hash_i64(*c as i64)).collect() } else { codes.to_vec() }
            };
            let build = make(&codes);
            let shape = JoinShape {
                kind,
                keys,
                rows,
                partitions: if rows > 1 << 19 && kind == JoinTableKind::Slots { 2 } else { 1 },
                shared: false,
                payload: false,
            };
            let fill = best(rows, || {
                black_box(filled(shape, &build));
            });
            let table = filled(shape, &build);
            let mut state = 5;
            let random_hits: Vec<u64> =
                (0..1_000_000).map(|_| codes[(random(&mut state) % rows as u64) as usize]).collect();
            let mut in_order = random_hits.clone();
            in_order.sort_unstable();
            let few: Vec<u64> = random_hits
                .iter()
                .map(|c| {
                    if random(&mut state).is_multiple_of(10) {
                        *c
                    } else {
                        c + if spread > 1 { 1 } else { range.max(1 << 40) }
                    }
                })
                .collect();
            println!(
                "{rows:>9} {name:<16} {spread:>5} | {fill:>6.2} | {:>8.2} {:>8.2} {:>8.2}",
                probe(&table, &make(&in_order)),
                probe(&table, &make(&random_hits)),
                probe(&table, &make(&few)),
            );
        }
    }
}

#[test]
#[ignore = "a measurement"]
fn filters() {
    for keys in [10_000usize, 1_000_000] {
        let mut state = 3;
        let values: Vec<i64> =
            (0..1_000_000).map(|_| (random(&mut state) % (keys as u64 * 10)) as i64).collect();
        let bits = hash::BitsFilling::new(keys as u64 * 10, 1);
        let bloom = hash::BloomFilling::new(keys);
        let members: Vec<u64> = (0..keys as u64).map(|k| k * 10).collect();
        bits.insert(0, &members);
        bloom.insert(&members.iter().map(|k| hash_i64(*k as i64)).collect::<Vec<_>>());
        let (bits, bloom) = (bits.finish(), bloom.finish());
        let mut rows: Vec<u32> = Vec::new();
        let exact = best(values.len(), || {
            for values in values.chunks(BATCH) {
                rows.clear();
                rows.extend(0..values.len() as u32);
                bits.retain(values, 0, &mut rows);
                black_box(&rows);
            }
        });
        let mut words = vec![0u64; BATCH / 64];
        let into = best(values.len(), || {
            for values in values.chunks(BATCH) {
                words.fill(u64::MAX);
                bits.and_into(values, 0, 1, &mut words);
                black_box(&words);
            }
        });
        let hashes: Vec<u64> = values.iter().map(|v| hash_i64(*v)).collect();
        let blocked = best(values.len(), || {
            for hashes in hashes.chunks(BATCH) {
                rows.clear();
                rows.extend(0..hashes.len() as u32);
                bloom.retain(hashes, &mut rows);
                black_box(&rows);
            }
        });
        println!("{keys:>9} keys: bits {exact:.2}, into words {into:.2}, bloom {blocked:.2} ns a row");
    }
}
