//! Nanoseconds a row for counting values. Not a check: run it by name, on a quiet machine.
//!
//! `cargo test --release -p hash --test counts -- --ignored --nocapture`

use std::time::Instant;

use hash::aggregate::{AccumulatorKind, ArgumentSpec, Finish, RowGroups, StateSpec, States};
use types::Type;
use vector::Vector;

const BATCH: usize = 4096;
const ROWS: usize = 1_500_000;

fn measured(name: &str, group: impl Fn(u64) -> u32, value: impl Fn(u64) -> i64, texts: bool) {
    let ty = if texts { Type::Text } else { Type::BigInt };
    let argument = ArgumentSpec { ty, distinct: false, accumulators: vec![AccumulatorKind::Counted] };
    let spec = StateSpec { rows: true, arguments: vec![argument] };
    let random = |row: u64| {
        (row.wrapping_mul(0x9E37_79B9_7F4A_7C15) ^ row >> 3).wrapping_mul(0xD6E8_FEB8_6659_FD93) >> 20
    };
    let batches: Vec<(Vec<u32>, Vector)> = (0..ROWS / BATCH)
        .map(|batch| {
            let rows = (batch * BATCH) as u64..((batch + 1) * BATCH) as u64;
            let values: Vec<i64> = rows.clone().map(|row| value(random(row * 2))).collect();
            let vector = if texts {
                let mut builder = vector::StringBuilder::with_capacity(BATCH);
                values.iter().for_each(|v| builder.push(format!("D{v}").as_bytes()));
                Vector::new(Type::Text, vector::Data::Bytes(builder.finish()), None)
            } else {
                Vector::from_i64(Type::BigInt, values)
            };
            (rows.map(|row| group(random(row * 2 + 1))).collect(), vector)
        })
        .collect();
    let groups = batches.iter().flat_map(|(groups, _)| groups).max().map_or(0, |g| *g as usize + 1);
    let mut least = [f64::MAX; 3];
    for _ in 0..5 {
        let mut states = States::new(&spec);
        states.resize(groups);
        let mut at = Instant::now();
        let mut lap = |which: usize| {
            let nanos = at.elapsed().as_nanos() as f64 / ROWS as f64;
            least[which] = least[which].min(nanos);
            at = Instant::now();
        };
        for (each, values) in &batches {
            let of = if groups == 1 { RowGroups::Single(BATCH) } else { RowGroups::Each(each) };
            states.update(0, of, Some(values), None, 0).unwrap();
        }
        lap(0);
        let mut merged = States::new(&spec);
        merged.resize(groups);
        let numbers: Vec<u32> = (0..groups as u32).collect();
        merged.merge(&states, (groups > 1).then_some(&numbers), &numbers);
        lap(1);
        let finish = Finish::Mode { argument: 0, accumulator: 0 };
        for from in (0..groups).step_by(BATCH) {
            merged.finish(finish, ty, from, groups.min(from + BATCH)).unwrap();
        }
        lap(2);
    }
    println!("{name:<28} update {:6.1}  merge {:6.1}  finish {:6.1}", least[0], least[1], least[2]);
}

#[test]
#[ignore = "a measurement"]
fn counts() {
    for texts in [false, true] {
        measured("1 group, 500 values", |_| 0, |v| (v % 500) as i64, texts);
        measured("1 group, 100 K values", |_| 0, |v| (v % 100_000) as i64, texts);
        measured("1 group, all different", |_| 0, |v| v as i64, texts);
        measured("16 groups, 300 values", |g| (g % 16) as u32, |v| (v % 300) as i64, texts);
        measured("100 K groups, 500 values", |g| (g % 100_000) as u32, |v| (v % 500) as i64, texts);
    }
}
