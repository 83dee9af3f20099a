//! Micro-benchmarks of blocks: encoding, selection on codes, fetching. Columns are shaped like TPC-H's.
//!
//! `cargo run --release -p block --example measure` prints, per column, ns per row and GB/s of the bytes that the
//! operation touches; beside them the machine's own bandwidth, measured by summing a large array.

use std::hint::black_box;
use std::time::Instant;

use arrow_buffer::MutableBuffer;
use block::{Block, LayoutKind, encode};
use random::Random;
use simd::Bitmap;
use types::{Bound, ColumnPredicate, LikePattern, Type};
use vector::{Batch, Data, StringBuilder, Vector};

const ROWS: usize = 65_536;

/// The best time of several runs, in nanoseconds.
fn best(mut run: impl FnMut()) -> f64 {
    let mut least = f64::MAX;
    let until = Instant::now();
    let mut runs = 0;
    while runs < 5 || until.elapsed().as_millis() < 60 {
        let start = Instant::now();
        run();
        least = least.min(start.elapsed().as_nanos() as f64);
        runs += 1;
    }
    least
}

fn strings(make: impl Fn(usize, &mut Random) -> String) -> Data {
    let mut random = Random::new(7);
    let mut builder = StringBuilder::with_capacity(ROWS);
    for row in 0..ROWS {
        builder.push(make(row, &mut random).as_bytes());
    }
    Data::Bytes(builder.finish())
}

fn longs(make: impl Fn(usize, &mut Random) -> i64) -> Data {
    let mut random = Random::new(7);
    Data::I64((0..ROWS).map(|row| make(row, &mut random)).collect::<Vec<_>>().into())
}

/// The columns that are measured: name, type, values.
fn columns() -> Vec<(&'static str, Type, Data)> {
    let money = Type::Decimal { precision: 15, scale: 2 };
    let words = ["carefully", "final", "deposits", "sleep", "quickly", "special", "requests", "furious"];
    let comment = |n: u64| {
        move |_: usize, r: &mut Random| {
            (0..n).map(|_| words[r.below(8) as usize]).collect::<Vec<_>>().join(" ")
                + &r.below(1u64 << 40).to_string()
        }
    };
    let dates: Vec<i32> = {
        let mut random = Random::new(7);
        (0..ROWS).map(|_| 8035 + random.below(2526)).collect()
    };
    let modes = ["AIR", "FOB", "MAIL", "RAIL", "REG AIR", "SHIP", "TRUCK"];
    vec![
        ("orderkey", Type::BigInt, longs(|row, _| (row / 4 * 4) as i64)),
        ("partkey", Type::BigInt, longs(|_, r| r.below(200_000) as i64)),
        ("suppkey", Type::BigInt, longs(|_, r| r.below(10_000) as i64)),
        ("quantity", money, longs(|_, r| (r.below(50) as i64 + 1) * 100)),
        ("extendedprice", money, longs(|_, r| 90_000 + r.below(10_000_000) as i64)),
        ("discount", money, longs(|_, r| r.below(11) as i64)),
        ("plain i64", Type::BigInt, longs(|_, r| (r.below(1u64 << 50) as i64) << 12)),
        ("shipdate", Type::Date, Data::I32(dates.into())),
        ("returnflag", Type::Text, strings(|_, r| ["A", "N", "R"][r.below(3) as usize].to_owned())),
        ("shipmode", Type::Text, strings(move |_, r| modes[r.below(7) as usize].to_owned())),
        ("clerk", Type::Text, strings(|_, r| format!("Clerk#{:09}", r.below(1000)))),
        ("name", Type::Text, strings(|row, _| format!("Customer#{row:09}"))),
        ("comment", Type::Text, strings(comment(3))),
    ]
}

fn main() {
    let large = vec![1u64; 32 << 20];
    let bandwidth = large.len() as f64 * 8.0
        / best(|| {
            black_box(large.iter().sum::<u64>());
        });
    let memory = vec![1u8; 1 << 20];
    let checksum = memory.len() as f64
        / best(|| {
            black_box(simd::checksum(black_box(&memory)));
        });
    println!("simd level {}, reading {bandwidth:.1} GB/s, checksum {checksum:.1} GB/s", simd::level().name());
    println!(
        "{:14} {:26} {:>6} | {:>7} {:>7} | {:>8} {:>7} | {:>7} {:>8} {:>8}",
        "column", "coding", "B/row", "plan", "write", "select", "GB/s", "range", "1 in 10", "1 in 100"
    );
    for (name, ty, data) in columns() {
        measure_column(name, ty, data);
    }
    println!("plan, write, select: ns per row of the block; range, 1 in 10, 1 in 100: ns per row fetched");
    measure_bitmaps();
}

/// Prints a column's line: how fast it is planned, written, selected and fetched.
fn measure_column(name: &str, ty: Type, data: Data) {
    let batch = [Batch::new(vec![Vector::new(ty, data, None)], ROWS)];
    let declared = [(ty, false)];
    let kind = LayoutKind::CompressedColumnStore;
    let plan = best(|| {
        black_box(encode(&declared, &batch, kind).map(|b| b.len()).ok());
    });
    let Ok(encoded) = encode(&declared, &batch, kind) else { return };
    let mut memory = MutableBuffer::from_len_zeroed(encoded.len());
    let write = best(|| encoded.write_into(memory.as_slice_mut()));
    let Ok(block) = Block::open_trusted(memory.into()) else { return };
    let bytes = block.column_bytes(0) as f64;

    let middle = batch[0].columns[0].value(ROWS / 2);
    let predicate =
        ColumnPredicate::Range { low: Some(Bound { value: middle, inclusive: true }), high: None };
    let mut selection = Bitmap::full(ROWS);
    let select = best(|| {
        selection.reset_full(ROWS);
        block.select(0, black_box(&predicate), &mut selection);
    });
    let per_row = |ns: f64, rows: usize| ns / rows as f64;
    let range = best(|| {
        for from in (0..ROWS).step_by(4096) {
            black_box(block.fetch(0, from..from + 4096));
        }
    });
    let every = |n: usize| (0..ROWS as u32).step_by(n).collect::<Vec<u32>>();
    let (tenth, hundredth) = (every(10), every(100));
    let tenth_ns = best(|| drop(black_box(block.fetch(0, &tenth))));
    let hundredth_ns = best(|| drop(black_box(block.fetch(0, &hundredth))));
    println!(
        "{name:14} {:26} {:6.2} | {:7.2} {:7.2} | {:8.3} {:7.1} | {:7.2} {:8.2} {:8.2}",
        block.coding(0).name(),
        bytes / ROWS as f64,
        per_row(plan, ROWS),
        per_row(write, ROWS),
        per_row(select, ROWS),
        bytes / select,
        per_row(range, ROWS),
        per_row(tenth_ns, tenth.len()),
        per_row(hundredth_ns, hundredth.len()),
    );
    if ty == Type::Text
        && let Some(pattern) = LikePattern::new("%special%requests%", None)
    {
        let pattern = ColumnPredicate::Like { pattern: pattern.into(), negated: false };
        let like = best(|| {
            selection.reset_full(ROWS);
            block.select(0, &pattern, &mut selection);
        });
        println!("{:14} LIKE '%special%requests%' {:36.2} ns per row", "", per_row(like, ROWS));
    }
}

/// How fast a bitmap becomes a list of rows, by how many are set.
fn measure_bitmaps() {
    for density in [2u32, 10, 100] {
        let bitmap = Bitmap::from_fn(ROWS, |row| (row as u32).is_multiple_of(density));
        let mut out = Vec::new();
        let ns = best(|| {
            out.clear();
            bitmap.append_indices(0..ROWS, &mut out);
        });
        println!("bitmap to rows, 1 in {density}: {:.3} ns per row of the bitmap", ns / ROWS as f64);
    }
}
