//! Access paths measured: the bars of BitWeaving and the CSB+-tree on Narrow-U, every path over selectivities, and the
//! constants of the cost model (`block::access`).
//!
//! `cargo run --release -p block --example access [-- json]`. Narrow-U is the thesis' table (Chasseur 2015, 3.3): ten
//! columns of 32 bits, uniform, here as 4-byte codes of a compressed column store, in blocks of 16 MB. All ways are
//! measured in turn in one run; times are medians over all blocks.

use std::fmt::Write as _;
use std::hint::black_box;
use std::time::Instant;

use arrow_buffer::Buffer;
use block::{AccessPath, Block, EncodeOptions, IndexKind, IndexSpecification, LayoutKind, encode};
use memory::{Arena, Budget};
use random::Random;
use simd::Bitmap;
use types::{Bound, ColumnPredicate, Type, Value};
use vector::{Batch, Vector};

/// The engine's: it keeps its pages.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

const COLUMNS: usize = 10;
const BLOCK_BYTES: usize = 16 << 20;
const BLOCK_ROWS: usize = BLOCK_BYTES / (COLUMNS * 4);
const BLOCKS: usize = 32;
/// Their codes, and any of their indices, are a fraction of 32 MB.
const CACHED_BLOCKS: usize = 4;
const RUNS: usize = 7;
/// Columns that a query of the tree's bar hands out.
const OUTPUT: [usize; 3] = [1, 2, 3];

/// A block of Narrow-U whose first column has these indices, in slots of huge pages as in the pool.
fn narrow(
    arena: &Arena,
    random: &mut Random,
    layout: LayoutKind,
    indices: &[IndexKind],
) -> Result<Block, types::Error> {
    // The ends of the range occur, so that the codes are as wide in every block.
    let column = |random: &mut Random| {
        let mut values: Vec<i64> = (0..BLOCK_ROWS).map(|_| (random.bits() >> 32) as i64).collect();
        (values[0], values[1]) = (0, i64::from(u32::MAX));
        Vector::from_i64(Type::BigInt, values)
    };
    let batch = [Batch::new((0..COLUMNS).map(|_| column(random)).collect(), BLOCK_ROWS)];
    let indices = indices.iter().map(|kind| IndexSpecification { kind: *kind, column: 0 }).collect();
    let options = EncodeOptions { indices, ..layout.into() };
    let encoded = encode(&[(Type::BigInt, false); COLUMNS], &batch, options)?;
    let mut slots = arena.allocate(encoded.len()).map_err(|e| types::Error::internal(e.to_string()))?;
    encoded.write_into(&mut slots);
    Block::open_trusted(Buffer::from(bytes::Bytes::from_owner(slots.freeze())))
}

/// The rows below a share of the range.
fn below(share: f64) -> ColumnPredicate {
    let value = Value::I64((share * f64::from(u32::MAX)) as i64);
    ColumnPredicate::Range { low: None, high: Some(Bound { value, inclusive: false }) }
}

fn select(block: &Block, predicate: &ColumnPredicate, path: AccessPath, selection: &mut Bitmap) {
    let prepared = block.prepare(0, predicate);
    let prepared = match path {
        AccessPath::Scan => prepared.without_indices(),
        _ => match prepared.by(path) {
            Some(prepared) => prepared,
            None => return,
        },
    };
    block.select_anew(&prepared, selection);
}

/// The rows that pass: as a list where an index has one, of a bitmap otherwise.
fn rows_of(block: &Block, predicate: &ColumnPredicate, path: AccessPath, selection: &mut Bitmap) -> Vec<u32> {
    if path == AccessPath::Tree {
        let prepared = block.prepare(0, predicate);
        if let Some(found) = prepared.by(path).and_then(|prepared| block.rows_found(&prepared)) {
            return found;
        }
    }
    select(block, predicate, path, selection);
    selection.to_indices()
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

/// Blocks of Narrow-U. Each index has blocks of its own, so that none pays for planning with the others.
struct Blocks {
    by_path: [(AccessPath, Vec<Block>); 5],
    /// With every kind of index.
    every: Vec<Block>,
}

impl Blocks {
    fn make(arena: &Arena, random: &mut Random) -> Result<Self, types::Error> {
        let mut blocks_with = |kinds: &[IndexKind]| {
            let block = |_| narrow(arena, random, LayoutKind::CompressedColumnStore, kinds);
            (0..BLOCKS).map(block).collect::<Result<Vec<Block>, _>>()
        };
        let by_path = [
            (AccessPath::Scan, blocks_with(&[])?),
            (AccessPath::WeavingVertical, blocks_with(&[IndexKind::WeavingVertical])?),
            (AccessPath::WeavingHorizontal, blocks_with(&[IndexKind::WeavingHorizontal])?),
            (AccessPath::Tree, blocks_with(&[IndexKind::Tree])?),
            (AccessPath::Aggregates, blocks_with(&[IndexKind::Aggregates])?),
        ];
        let every = blocks_with(&[IndexKind::WeavingVertical, IndexKind::Tree, IndexKind::Aggregates])?;
        Ok(Blocks { by_path, every })
    }

    /// The first `count` blocks that are made for a path.
    fn of(&self, path: AccessPath, count: usize) -> &[Block] {
        let known = self.by_path.iter().find(|(own, _)| *own == path);
        &known.map_or(&self.by_path[0].1, |(_, blocks)| blocks)[..count]
    }
}

fn main() -> Result<(), types::Error> {
    let json = std::env::args().any(|argument| argument == "json");
    let mut random = Random::new(0x9E37_79B9_7F4A_7C15);
    let arena = Arena::new(Budget::unlimited());
    let start = Instant::now();
    let blocks = Blocks::make(&arena, &mut random)?;
    println!(
        "Narrow-U: {BLOCKS} blocks of {BLOCK_ROWS} rows, {}, made in {:.1} s, simd {}",
        blocks.every[0].coding(0).name(),
        start.elapsed().as_secs_f64(),
        simd::level().name()
    );
    for (index, bytes) in blocks.by_path.iter().filter_map(|(_, blocks)| blocks[0].indices().next()) {
        println!("  {:12} {:6.2} bytes a row", index.kind.name(), bytes as f64 / BLOCK_ROWS as f64);
    }
    let named = |path: &AccessPath| std::env::args().any(|a| a == path.name());
    let wanted: Vec<AccessPath> = AccessPath::ALL.into_iter().filter(named).collect();
    if !wanted.is_empty() {
        profile(&blocks, &wanted);
        return Ok(());
    }
    let mut line = String::new();
    // Blocks that stay in the third-level cache, again and again; then blocks that do not.
    for (place, count) in [("cache", CACHED_BLOCKS), ("memory", BLOCKS)] {
        let comma = if line.is_empty() { "" } else { "," };
        let _ = write!(line, "{comma}\"{place}\":{{\"blocks\":{count},");
        println!("{count} blocks ({place}): select only, ns per row (and the way that the block takes):");
        selections(&blocks, count, &mut line);
        println!("select and fetch three columns, ms over all blocks:");
        fetches(&blocks, count, &mut line);
    }
    drop(blocks);
    layouts(&arena, &mut random, &mut line)?;
    if json {
        println!("{{\"block_rows\":{BLOCK_ROWS},\"simd\":\"{}\",{line}}}", simd::level().name());
    }
    Ok(())
}

/// For profilers: some ways, again and again; with `cache`, on blocks that stay there.
fn profile(blocks: &Blocks, wanted: &[AccessPath]) {
    let rows = (BLOCKS * BLOCK_ROWS) as f64;
    let predicate = below(0.1);
    let mut ways: Vec<Box<dyn FnMut() + '_>> = Vec::new();
    let cached = std::env::args().any(|argument| argument == "cache");
    let count = if cached { CACHED_BLOCKS } else { BLOCKS };
    for path in wanted {
        let (blocks, predicate) = (blocks.of(*path, count), &predicate);
        let mut selection = Bitmap::default();
        ways.push(Box::new(move || {
            for block in (0..BLOCKS / count).flat_map(|_| blocks) {
                select(block, predicate, *path, &mut selection);
            }
        }));
    }
    for _ in 0..5 {
        for (path, ms) in wanted.iter().zip(in_turn(&mut ways)) {
            print!("{} {:.3}  ", path.name(), ms * 1e6 / rows);
        }
    }
    println!("ns per row");
}

/// Selects a column by every path, at several selectivities.
fn selections(of: &Blocks, count: usize, line: &mut String) {
    let paths = of.by_path.iter().map(|(path, _)| *path).collect::<Vec<_>>();
    let passes = BLOCKS / count;
    let rows = (count * passes * BLOCK_ROWS) as f64;
    for share in [0.001, 0.01, 0.1, 0.5, 0.9] {
        let predicate = below(share);
        let mut ways: Vec<Box<dyn FnMut() + '_>> = Vec::new();
        for path in paths.clone() {
            let (blocks, predicate) = (of.of(path, count), &predicate);
            let mut selection = Bitmap::default();
            ways.push(Box::new(move || {
                for block in (0..passes).flat_map(|_| blocks) {
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
        println!("  -> {}", of.every[0].select(0, &predicate, &mut selection).name());
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
}

/// Selects a column and fetches three others, by the paths that the bars are about.
fn fetches(of: &Blocks, count: usize, line: &mut String) {
    let (every, passes) = (&of.every[..count], BLOCKS / count);
    for share in [0.0001, 0.001, 0.01, 0.1, 0.5] {
        let predicate = below(share);
        let query = |path: AccessPath| {
            let (blocks, predicate) = (of.of(path, count), &predicate);
            let mut selection = Bitmap::default();
            move || {
                for block in (0..passes).flat_map(|_| blocks) {
                    let found = rows_of(block, predicate, path, &mut selection);
                    for column in OUTPUT {
                        black_box(block.fetch(column, &found));
                    }
                }
            }
        };
        let chosen = || {
            let mut selection = Bitmap::default();
            for block in (0..passes).flat_map(|_| every) {
                block.select_anew(&block.prepare(0, &predicate), &mut selection);
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
                ",\"csbtree\":{{\"selectivity\":0.001,\"scan_ms\":{:.3},\"index_ms\":{:.3},\"ratio\":{:.2}}}}}",
                times[0],
                times[1],
                times[0] / times[1]
            );
        }
    }
}

/// Layouts beside one another: one column selected at 10 %, then one or all columns handed out.
fn layouts(arena: &Arena, random: &mut Random, line: &mut String) -> Result<(), types::Error> {
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
        let block = narrow(arena, random, layout, &[])?;
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
