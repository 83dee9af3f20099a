//! Access paths measured: the bars of BitWeaving and the CSB+-tree on Narrow-U, every path over selectivities, and the
//! constants of the cost model (`block::access`).
//!
//! `cargo run --release -p block --example access [-- json]`. Narrow-U is the thesis' table (Chasseur 2015, 3.3): ten
//! columns of 32 bits, uniform, here as 4-byte codes of a compressed column store, in blocks of 16 MB. All ways are
//! measured in turn in one run; times are medians over all blocks.

use std::fmt::Write as _;
use std::hint::black_box;
use std::time::Instant;

use arrow_buffer::{Buffer, MutableBuffer};
use block::{AccessPath, Block, EncodeOptions, IndexKind, IndexSpecification, LayoutKind, encode};
use simd::Bitmap;
use types::{Bound, ColumnPredicate, Type, Value};
use vector::{Batch, Vector};

const COLUMNS: usize = 10;
const BLOCK_BYTES: usize = 16 << 20;
const BLOCK_ROWS: usize = BLOCK_BYTES / (COLUMNS * 4);
const BLOCKS: usize = 24;
const RUNS: usize = 7;
/// Columns that a query of the tree's bar hands out.
const OUTPUT: [usize; 3] = [1, 2, 3];

struct Random(u64);
impl Random {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }
}

fn memory(length: usize, write: impl FnOnce(&mut [u8])) -> Buffer {
    let mut memory = MutableBuffer::from_len_zeroed(length);
    write(memory.as_slice_mut());
    memory.into()
}

/// A block of Narrow-U whose first column has these indices.
fn narrow(random: &mut Random, layout: LayoutKind, indices: &[IndexKind]) -> Result<Block, types::Error> {
    // The ends of the range occur, so that the codes are as wide in every block.
    let column = |random: &mut Random| {
        let mut values: Vec<i64> = (0..BLOCK_ROWS).map(|_| (random.next() >> 32) as i64).collect();
        (values[0], values[1]) = (0, i64::from(u32::MAX));
        Vector::from_i64(Type::BigInt, values)
    };
    let batch = [Batch::new((0..COLUMNS).map(|_| column(random)).collect(), BLOCK_ROWS)];
    let indices = indices.iter().map(|kind| IndexSpecification { kind: *kind, column: 0 }).collect();
    let options = EncodeOptions { indices, ..layout.into() };
    let encoded = encode(&[(Type::BigInt, false); COLUMNS], &batch, options)?;
    Block::open_trusted(memory(encoded.len(), |out| encoded.write_into(out)))
}

/// The rows below a share of the range.
fn below(share: f64) -> ColumnPredicate {
    let value = Value::I64((share * f64::from(u32::MAX)) as i64);
    ColumnPredicate::Range { low: None, high: Some(Bound { value, inclusive: false }) }
}

fn select(block: &Block, predicate: &ColumnPredicate, path: AccessPath, selection: &mut Bitmap) {
    selection.reset_full(block.rows());
    let prepared = block.prepare(0, predicate);
    let prepared = match path {
        AccessPath::Scan => prepared.without_indices(),
        _ => match prepared.by(path) {
            Some(prepared) => prepared,
            None => return,
        },
    };
    block.select_prepared(&prepared, 0..block.rows(), selection);
}

/// Milliseconds over all blocks, of each of several ways: the median of runs taken in turn.
fn in_turn(ways: &mut [Box<dyn FnMut() + '_>]) -> Vec<f64> {
    let mut times = vec![Vec::new(); ways.len()];
    for _ in 0..RUNS {
        for (way, times) in ways.iter_mut().zip(&mut times) {
            let start = Instant::now();
            way();
            times.push(start.elapsed().as_secs_f64() * 1e3);
        }
    }
    times
        .into_iter()
        .map(|mut times| {
            times.sort_by(f64::total_cmp);
            times[RUNS / 2]
        })
        .collect()
}

fn main() -> Result<(), types::Error> {
    let json = std::env::args().any(|argument| argument == "json");
    let mut random = Random(0x9E37_79B9_7F4A_7C15);
    let kinds =
        [IndexKind::Tree, IndexKind::WeavingVertical, IndexKind::WeavingHorizontal, IndexKind::Aggregates];
    let start = Instant::now();
    let blocks = (0..BLOCKS)
        .map(|_| narrow(&mut random, LayoutKind::CompressedColumnStore, &kinds))
        .collect::<Result<Vec<Block>, _>>()?;
    let rows = (BLOCKS * BLOCK_ROWS) as f64;
    println!(
        "Narrow-U: {BLOCKS} blocks of {BLOCK_ROWS} rows, {}, made in {:.1} s, simd {}",
        blocks[0].coding(0).name(),
        start.elapsed().as_secs_f64(),
        simd::level().name()
    );
    for (index, bytes) in blocks[0].indices() {
        println!("  {:12} {:6.2} bytes a row", index.kind.name(), bytes as f64 / BLOCK_ROWS as f64);
    }
    let mut line = String::new();
    let paths = [
        AccessPath::Scan,
        AccessPath::WeavingVertical,
        AccessPath::WeavingHorizontal,
        AccessPath::Tree,
        AccessPath::Aggregates,
    ];
    println!("select only, ns per row (and the way that the block takes):");
    for share in [0.001, 0.01, 0.1, 0.5, 0.9] {
        let predicate = below(share);
        let mut ways: Vec<Box<dyn FnMut() + '_>> = Vec::new();
        for path in paths {
            let (blocks, predicate) = (&blocks, &predicate);
            let mut selection = Bitmap::default();
            ways.push(Box::new(move || {
                for block in blocks {
                    select(block, predicate, path, &mut selection);
                    black_box(&selection);
                }
            }));
        }
        let times = in_turn(&mut ways);
        print!("  {:5.1} %", share * 100.0);
        for (path, ms) in paths.iter().zip(&times) {
            print!("  {} {:.3}", path.name(), ms * 1e6 / rows);
        }
        let mut selection = Bitmap::full(BLOCK_ROWS);
        println!("  -> {}", blocks[0].select(0, &predicate, &mut selection).name());
        if share == 0.1 {
            println!("    BitWeaving/V over scan: {:.2}x (bar: 2x)", times[0] / times[1]);
            let _ = write!(
                line,
                "\"bitweaving_v\":{{\"selectivity\":0.1,\"scan_ms\":{:.3},\"index_ms\":{:.3},\"ratio\":{:.2}}}",
                times[0],
                times[1],
                times[0] / times[1]
            );
        }
    }
    println!("select and fetch three columns, ms over all blocks:");
    for share in [0.0001, 0.001, 0.01, 0.1, 0.5] {
        let predicate = below(share);
        let query = |path: AccessPath| {
            let (blocks, predicate) = (&blocks, &predicate);
            let mut selection = Bitmap::default();
            move || {
                for block in blocks {
                    select(block, predicate, path, &mut selection);
                    let found = selection.to_indices();
                    for column in OUTPUT {
                        black_box(block.fetch(column, &found));
                    }
                }
            }
        };
        let chosen = || {
            let mut selection = Bitmap::default();
            for block in &blocks {
                selection.reset_full(block.rows());
                block.select(0, &predicate, &mut selection);
                let found = selection.to_indices();
                for column in OUTPUT {
                    black_box(block.fetch(column, &found));
                }
            }
        };
        let times = in_turn(&mut [
            Box::new(query(AccessPath::Scan)),
            Box::new(query(AccessPath::Tree)),
            Box::new(query(AccessPath::WeavingVertical)),
            Box::new(chosen),
        ]);
        println!(
            "  {:6.2} %  scan {:.2}  tree {:.2} ({:.1}x)  bitweaving_v {:.2} ({:.1}x)  chosen {:.2}",
            share * 100.0,
            times[0],
            times[1],
            times[0] / times[1],
            times[2],
            times[0] / times[2],
            times[3],
        );
        if share == 0.001 {
            println!("    CSB+-tree over scan: {:.1}x (bar: 5x)", times[0] / times[1]);
            let _ = write!(
                line,
                ",\"csbtree\":{{\"selectivity\":0.001,\"scan_ms\":{:.3},\"index_ms\":{:.3},\"ratio\":{:.2}}}",
                times[0],
                times[1],
                times[0] / times[1]
            );
        }
    }
    drop(blocks);
    layouts(&mut random, &mut line)?;
    if json {
        println!(
            "{{\"blocks\":{BLOCKS},\"block_rows\":{BLOCK_ROWS},\"simd\":\"{}\",{line}}}",
            simd::level().name()
        );
    }
    Ok(())
}

/// Layouts beside one another: one column selected at 10 %, then one or all columns handed out.
fn layouts(random: &mut Random, line: &mut String) -> Result<(), types::Error> {
    println!("layouts, 10 %, ms a block: select; 1 column fetched; 10 columns fetched");
    let layouts = [
        LayoutKind::ColumnStore,
        LayoutKind::CompressedColumnStore,
        LayoutKind::PackedRowStore,
        LayoutKind::SplitRowStore,
        LayoutKind::CompressedRowStore,
    ];
    let _ = write!(line, ",\"layouts\":[");
    for (number, layout) in layouts.into_iter().enumerate() {
        let block = narrow(random, layout, &[])?;
        let predicate = below(0.1);
        let fetch = |columns: usize| {
            let block = &block;
            let mut selection = Bitmap::full(BLOCK_ROWS);
            block.select(0, &below(0.1), &mut selection);
            let found = selection.to_indices();
            move || {
                for column in 0..columns {
                    black_box(block.fetch(column, &found));
                }
            }
        };
        let times = in_turn(&mut [
            Box::new(|| {
                let mut selection = Bitmap::full(BLOCK_ROWS);
                block.select(0, black_box(&predicate), &mut selection);
            }),
            Box::new(fetch(1)),
            Box::new(fetch(COLUMNS)),
        ]);
        println!(
            "  {:18} {:5.1} bytes a row  {:.3}  {:.3}  {:.3}",
            layout.name(),
            block.bytes() as f64 / BLOCK_ROWS as f64,
            times[0],
            times[1],
            times[2]
        );
        let comma = if number > 0 { "," } else { "" };
        let _ = write!(
            line,
            "{comma}{{\"layout\":\"{}\",\"select_ms\":{:.3},\"fetch_1_ms\":{:.3},\"fetch_10_ms\":{:.3}}}",
            layout.name(),
            times[0],
            times[1],
            times[2]
        );
    }
    let _ = write!(line, "]");
    Ok(())
}
