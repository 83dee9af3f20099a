//! CPU time of grouping: look-ups of keys in tables of several sizes, and texts put together by group.
//!
//! ```text
//! cargo run --release -p hash --example groups_speed
//! ```
//! Prints nanoseconds a row, the least of several runs. Keys come in random order; a table is filled, then asked again
//! for rows that are all there.

use std::collections::HashMap;
use std::sync::Arc;

use hash::aggregate::{
    AccumulatorKind, ArgumentSpec, Finish, GroupTable, KeyBatch, KeyColumn, KeyLayout, RowGroups, SmallCodes,
    StateSpec, States,
};
use types::Type;
use vector::{Data, StringBuilder, Vector};

const BATCH: usize = 4096;
const ROWS: usize = 2 << 20;
const RUNS: usize = 5;

/// A row's key, the same for the same row of every run.
fn key(row: usize, keys: usize) -> usize {
    let mixed = (row as u64).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    ((mixed ^ mixed >> 29).wrapping_mul(0xBF58_476D_1CE4_E5B9) >> 20) as usize % keys
}

fn texts(text: impl Fn(usize) -> String, ty: Type) -> Vec<Vector> {
    let batch = |from: usize| {
        let mut out = StringBuilder::with_capacity(BATCH);
        (from..from + BATCH).for_each(|row| out.push(text(row).as_bytes()));
        Vector::new(ty, Data::Bytes(out.finish()), None)
    };
    (0..ROWS).step_by(BATCH).map(batch).collect()
}

/// CPU time of the process so far.
fn cpu_nanoseconds() -> i64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: writes the time to the place that it is given.
    unsafe { libc::clock_gettime(libc::CLOCK_PROCESS_CPUTIME_ID, &mut time) };
    time.tv_sec * 1_000_000_000 + time.tv_nsec
}

/// The least CPU time of several runs, in nanoseconds a row.
fn least(mut run: impl FnMut()) -> f64 {
    let times = (0..RUNS).map(|_| {
        let began = cpu_nanoseconds();
        run();
        (cpu_nanoseconds() - began) as f64 / ROWS as f64
    });
    times.fold(f64::INFINITY, f64::min)
}

fn look_ups(name: &str, ty: Type, batches: &[Vector]) {
    let layout = KeyLayout::new(&[KeyColumn { ty, nullable: false }]);
    let (mut keys, mut found) = (KeyBatch::default(), vec![]);
    let mut table = GroupTable::new(&layout);
    let mut go = |table: &mut GroupTable| {
        for batch in batches {
            if layout.encode(std::slice::from_ref(batch), BATCH, &mut keys).is_ok() {
                table.find_or_insert(&keys.view(), None, &mut found);
            }
        }
    };
    let filled = least(|| {
        table = GroupTable::new(&layout);
        go(&mut table);
    });
    let asked = least(|| go(&mut table));
    println!("{name:32} {:9} groups   filled {filled:6.1}   asked {asked:6.1}", table.len());
}

/// Rows of a block, which has a dictionary of its own.
const BLOCK: usize = 1 << 17;

/// Batches of a block's dictionary codes.
fn coded(text: impl Fn(usize) -> String) -> Vec<Vector> {
    let block = |from: usize| {
        let mut places = HashMap::new();
        let mut values = StringBuilder::default();
        let codes: Vec<u32> = (from..from + BLOCK)
            .map(|row| {
                let next = places.len() as u32;
                *places.entry(text(row)).or_insert_with_key(|text| {
                    values.push(text.as_bytes());
                    next
                })
            })
            .collect();
        let values = Arc::new(Vector::new(Type::Text, Data::Bytes(values.finish()), None));
        let batch = move |codes: &[u32]| Vector::dictionary(codes.to_vec().into(), values.clone(), None);
        codes.chunks(BATCH).map(batch).collect::<Vec<_>>()
    };
    (0..ROWS).step_by(BLOCK).flat_map(block).collect()
}

/// Group numbers by way of the codes, as an aggregation finds them.
fn by_codes(name: &str, batches: &[Vector]) {
    let layout = KeyLayout::new(&[KeyColumn { ty: Type::Text, nullable: false }]);
    let (mut keys, mut groups, mut unseen, mut found) = (KeyBatch::default(), vec![], vec![], vec![]);
    let mut run = |codes: &mut SmallCodes| {
        let mut table = GroupTable::new(&layout);
        for batch in batches {
            let one = std::slice::from_ref(batch);
            if codes.find(one, BATCH, &mut groups, &mut unseen) {
                if !unseen.is_empty()
                    && layout.encode(&[batch.gather(&unseen)], unseen.len(), &mut keys).is_ok()
                {
                    table.find_or_insert(&keys.view(), None, &mut found);
                    codes.learn(&unseen, &found, &mut groups);
                }
            } else if layout.encode(one, BATCH, &mut keys).is_ok() {
                table.find_or_insert(&keys.view(), None, &mut groups);
            }
        }
        table.len()
    };
    let hashed = least(|| assert!(run(&mut SmallCodes::new(false)) > 0));
    let mut left = false;
    let by_codes = least(|| {
        let mut codes = SmallCodes::new(true);
        assert!(run(&mut codes) > 0);
        left = codes.is_off();
    });
    let left = if left { ", which were given up" } else { "" };
    println!("{name:32} hashed {hashed:6.1}   by codes {by_codes:6.1}{left}");
}

fn pieces(name: &str, groups: usize, batches: &[Vector]) {
    let kind = AccumulatorKind::Concatenation { delimiter: Arc::from(","), ordered: false, most: None };
    let argument = ArgumentSpec { ty: Type::Text, distinct: false, accumulators: vec![kind] };
    let spec = StateSpec { rows: true, arguments: vec![argument] };
    let numbers: Vec<Vec<u32>> = (0..ROWS)
        .step_by(BATCH)
        .map(|from| (from..from + BATCH).map(|row| key(row, groups) as u32).collect())
        .collect();
    let taken = least(|| {
        // Two workers with every other unit of sixteen batches each.
        let mut workers = [States::new(&spec), States::new(&spec)];
        for (at, (batch, numbers)) in batches.iter().zip(&numbers).enumerate() {
            let unit = at / 16;
            let states = &mut workers[unit % 2];
            states.resize(groups);
            states.count_rows(RowGroups::Each(numbers));
            states.update(0, RowGroups::Each(numbers), Some(batch), None, unit as u64).expect("texts");
        }
        let all: Vec<u32> = (0..groups as u32).collect();
        let mut merged = States::new(&spec);
        merged.resize(groups);
        for states in &workers {
            let rows = (groups > 1000).then_some(all.as_slice());
            merged.merge(states, rows, &all);
        }
        let finish = Finish::Value { argument: 0, accumulator: 0 };
        let made = merged.finish(finish, Type::Text, 0, groups).expect("texts");
        assert_eq!(made.len(), groups);
    });
    println!("{name:32} {groups:9} groups   {taken:6.1}");
}

fn main() {
    for keys in [100, 10_000, 30_000, 100_000, 300_000] {
        let text = |row| format!("key {:012}", key(row, keys) * 104_729);
        by_codes(&format!("dictionaries, {keys} texts"), &coded(text));
    }
    for keys in [1_000, 30_000, 100_000, 1_000_000] {
        let integers: Vec<Vector> = (0..ROWS)
            .step_by(BATCH)
            .map(|from| {
                Vector::from_i64(
                    Type::BigInt,
                    (from..from + BATCH).map(|row| key(row, keys) as i64 * 7919).collect(),
                )
            })
            .collect();
        look_ups("integers", Type::BigInt, &integers);
        let short = texts(|row| format!("id{:09}", key(row, keys)), Type::Text);
        look_ups("texts of 11 bytes", Type::Text, &short);
        let long = texts(
            |row| format!("http://site{}.example/path/item={}", key(row, keys) % 97, key(row, keys)),
            Type::Text,
        );
        look_ups("texts of about 36 bytes", Type::Text, &long);
    }
    let short = texts(|row| format!("id{:03}", key(row, 100)), Type::Text);
    let long = texts(|row| format!("a longer text, number {}", key(row, 100)), Type::Text);
    for groups in [1, 100, 100_000] {
        pieces("pieces of 5 bytes", groups, &short);
        pieces("pieces of about 24 bytes", groups, &long);
    }
}
