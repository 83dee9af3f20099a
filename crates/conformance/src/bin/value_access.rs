//! How values are read from blocks: what a virtual call a row, a copy first, or a reference into the block cost.
//!
//! `cargo run --release -p conformance --bin value_access`
//!   --rows N       rows of a + b (20,000,000)
//!   --scale S      scale of the SSB tables (1)
//!   --record FILE  appends the figures as one line of JSON (bench/results/value-access.jsonl is the project's)
//!
//! After the comparisons of Quickstep's section on template metaprogramming (Patel et al., PVLDB 11(6), 2018):
//! `a + b` through virtual getNext against generic accessors, and *Basic*, which copies attributes out before it
//! looks at them, against *Selection*, which works through references into the block. docs/results/value-access.md
//! reads them.

use std::hint::black_box;
use std::io::Write;
use std::process::ExitCode;
use std::time::Instant;

use engine::{Database, Options, Session};
use serde_json::json;
use types::{Bound, ColumnPredicate, Value};
use vector::{Data, Vector};

#[global_allocator]
static ALLOCATOR: memory::CountingAllocator<mimalloc::MiMalloc> =
    memory::CountingAllocator(mimalloc::MiMalloc);

type Outcome<T> = Result<T, Box<dyn std::error::Error>>;

/// The least nanoseconds of seven runs.
fn best(mut run: impl FnMut()) -> f64 {
    let mut least = f64::MAX;
    for _ in 0..7 {
        let start = Instant::now();
        run();
        least = least.min(start.elapsed().as_nanos() as f64);
    }
    least
}

/// A cursor over rows, as the classical iterator model has it.
trait Cursor {
    fn next(&mut self) -> bool;
    fn value(&self, column: usize) -> i64;
}

struct ColumnCursor<'a> {
    columns: [&'a [i64]; 2],
    /// One past the present row.
    row: usize,
}

impl Cursor for ColumnCursor<'_> {
    #[inline]
    fn next(&mut self) -> bool {
        self.row += 1;
        self.row <= self.columns[0].len()
    }
    #[inline]
    fn value(&self, column: usize) -> i64 {
        self.columns[column][self.row - 1]
    }
}

/// Row after row, both attributes side by side.
struct RowCursor<'a> {
    rows: &'a [[i64; 2]],
    row: usize,
}

impl Cursor for RowCursor<'_> {
    #[inline]
    fn next(&mut self) -> bool {
        self.row += 1;
        self.row <= self.rows.len()
    }
    #[inline]
    fn value(&self, column: usize) -> i64 {
        self.rows[self.row - 1][column]
    }
}

fn add_virtual(cursor: &mut dyn Cursor) -> i64 {
    let mut sum = 0i64;
    while cursor.next() {
        sum = sum.wrapping_add(cursor.value(0).wrapping_add(cursor.value(1)));
    }
    sum
}

/// The same loop, one for each kind of accessor.
fn add_generic<C: Cursor>(mut cursor: C) -> i64 {
    let mut sum = 0i64;
    while cursor.next() {
        sum = sum.wrapping_add(cursor.value(0).wrapping_add(cursor.value(1)));
    }
    sum
}

/// A loop over slices, compiled for the processor's instructions.
struct AddSlices<'a>(&'a [i64], &'a [i64]);

impl simd::Kernel for AddSlices<'_> {
    type Output = i64;
    #[inline(always)]
    fn run(self) -> i64 {
        self.0.iter().zip(self.1).fold(0, |sum, (a, b)| sum.wrapping_add(a.wrapping_add(*b)))
    }
}

struct Figure {
    what: String,
    threads: usize,
    per_row: f64,
}

/// `a + b`, summed so that nothing is written, `threads` threads with a share of the rows each.
fn additions(rows: usize, figures: &mut Vec<Figure>) {
    let a: Vec<i64> = (0..rows as i64).collect();
    let b: Vec<i64> = (0..rows as i64).map(|v| v * 7 % 1001).collect();
    let pairs: Vec<[i64; 2]> = a.iter().zip(&b).map(|(a, b)| [*a, *b]).collect();
    let all = std::thread::available_parallelism().map_or(1, usize::from);
    let mut counts = vec![1, all];
    counts.dedup();
    for threads in counts {
        let share = rows.div_ceil(threads);
        let mut measure = |what: &str, work: &(dyn Fn(std::ops::Range<usize>) -> i64 + Sync)| {
            let nanoseconds = best(|| {
                std::thread::scope(|scope| {
                    for part in 0..threads {
                        let range = (part * share).min(rows)..((part + 1) * share).min(rows);
                        scope.spawn(move || black_box(work(range)));
                    }
                });
            });
            figures.push(Figure { what: what.to_owned(), threads, per_row: nanoseconds / rows as f64 });
        };
        measure("virtual getNext, columns", &|range| {
            let mut cursor = ColumnCursor { columns: [&a[range.clone()], &b[range]], row: 0 };
            add_virtual(black_box(&mut cursor as &mut dyn Cursor))
        });
        measure("generic accessor, columns", &|range| {
            add_generic(ColumnCursor { columns: [&a[range.clone()], &b[range]], row: 0 })
        });
        measure("virtual getNext, rows", &|range| {
            let mut cursor = RowCursor { rows: &pairs[range], row: 0 };
            add_virtual(black_box(&mut cursor as &mut dyn Cursor))
        });
        measure("generic accessor, rows", &|range| add_generic(RowCursor { rows: &pairs[range], row: 0 }));
        measure("loop over slices", &|range| simd::run(AddSlices(&a[range.clone()], &b[range])));
    }
}

fn widened(vector: &Vector) -> Vec<i64> {
    let flat = vector.flatten();
    match flat.data() {
        Data::I16(v) => v.iter().map(|v| i64::from(*v)).collect(),
        Data::I32(v) => v.iter().map(|v| i64::from(*v)).collect(),
        Data::I64(v) => v.to_vec(),
        _ => vec![0; flat.len()],
    }
}

/// Rows of a batch that is copied out.
const BATCH_ROWS: usize = 4096;

/// SSB's first flight on the fact table alone: discount in 1..=3 and quantity below 25, sum of price times discount.
struct Flight<'a> {
    blocks: Vec<&'a block::Block>,
    /// Positions of discount, quantity, price.
    columns: [usize; 3],
}

impl Flight<'_> {
    /// Every attribute is copied out of the block, and what survives a predicate is copied again.
    fn basic(&self) -> i64 {
        let mut sum = 0i64;
        for block in &self.blocks {
            for from in (0..block.rows()).step_by(BATCH_ROWS) {
                let range = from..block.rows().min(from + BATCH_ROWS);
                let copied = self.columns.map(|column| widened(&block.fetch(column, range.clone())));
                let kept = copy_where(&copied, |row| (1..=3).contains(&row[0]));
                let kept = copy_where(&kept, |row| row[1] < 25);
                sum += kept[2].iter().zip(&kept[0]).map(|(price, discount)| price * discount).sum::<i64>();
            }
        }
        sum
    }
    /// Predicates run inside the block and leave bits; only what survives both is fetched.
    fn selection(&self, predicates: &[ColumnPredicate; 2]) -> i64 {
        let mut sum = 0i64;
        let mut selection = block::Bitmap::full(0);
        for block in &self.blocks {
            selection.reset_full(block.rows());
            for (column, predicate) in self.columns.iter().zip(predicates) {
                block.select(*column, predicate, &mut selection);
            }
            let rows = selection.to_indices();
            for rows in rows.chunks(BATCH_ROWS) {
                let discount = widened(&block.fetch(self.columns[0], rows));
                let price = widened(&block.fetch(self.columns[2], rows));
                sum += price.iter().zip(&discount).map(|(price, discount)| price * discount).sum::<i64>();
            }
        }
        sum
    }
}

fn copy_where(columns: &[Vec<i64>; 3], test: impl Fn([i64; 3]) -> bool) -> [Vec<i64>; 3] {
    let rows: Vec<usize> = (0..columns[0].len())
        .filter(|row| test([columns[0][*row], columns[1][*row], columns[2][*row]]))
        .collect();
    [0, 1, 2].map(|column| rows.iter().map(|row| columns[column][*row]).collect())
}

fn flights(scale: &str, layout: &str, figures: &mut Vec<Figure>) -> Outcome<()> {
    let session: Session =
        Database::in_memory(Options { workers: None, memory_bytes: None, ..Default::default() })?.session();
    session.query(&format!("SET layout = '{layout}'"))?;
    session.query(&format!("CALL ssb(scale => {scale})"))?;
    let snapshot = session.database().catalog().snapshot();
    let table = snapshot.table(None, "lineorder")?;
    let position = |name: &str| {
        let found = table.columns.fields().iter().position(|field| field.name == *name);
        found.ok_or_else(|| format!("lineorder has no {name}"))
    };
    let columns = [position("lo_discount")?, position("lo_quantity")?, position("lo_extendedprice")?];
    let pinned: Vec<block::Pinned<'_>> =
        table.data.blocks().iter().map(|block| block.pin(&columns)).collect::<Result<_, _>>()?;
    let blocks: Vec<&block::Block> = pinned.iter().map(|block| &**block).collect();
    let flight = Flight { blocks, columns };
    // Bounds in the columns' own types.
    let of = |column: usize, value: i64| match table.columns.fields()[column].ty.physical() {
        types::Physical::I16 => Value::I16(value as i16),
        types::Physical::I32 => Value::I32(value as i32),
        _ => Value::I64(value),
    };
    let bound = |column: usize, value| Some(Bound { value: of(column, value), inclusive: true });
    let predicates = [
        ColumnPredicate::Range { low: bound(columns[0], 1), high: bound(columns[0], 3) },
        ColumnPredicate::Range { low: None, high: bound(columns[1], 24) },
    ];
    if flight.basic() != flight.selection(&predicates) {
        return Err("the two ways disagree".into());
    }
    let rows = table.data.rows() as f64;
    let basic = best(|| {
        black_box(flight.basic());
    });
    let selection = best(|| {
        black_box(flight.selection(&predicates));
    });
    for (what, nanoseconds) in [("basic", basic), ("selection", selection)] {
        figures.push(Figure { what: format!("{what}, {layout}"), threads: 1, per_row: nanoseconds / rows });
    }
    Ok(())
}

fn run() -> Outcome<()> {
    let (mut rows, mut scale, mut record) = (20_000_000, "1".to_owned(), None);
    let mut given = std::env::args().skip(1);
    while let Some(name) = given.next() {
        let value = given.next().ok_or_else(|| format!("{name} needs a value"))?;
        match name.as_str() {
            "--rows" => rows = value.parse()?,
            "--scale" => scale = value,
            "--record" => record = Some(value),
            _ => return Err(format!("{name} is not known").into()),
        }
    }
    let mut figures = Vec::new();
    additions(rows, &mut figures);
    for layout in ["column", "compressed_column"] {
        flights(&scale, layout, &mut figures)?;
    }
    for figure in &figures {
        println!("{:<32} {:>2} threads {:>8.3} ns/row", figure.what, figure.threads, figure.per_row);
    }
    let Some(file) = record else { return Ok(()) };
    let line = json!({
        "format": 1,
        "rows": rows,
        "scale": scale.parse::<f64>()?,
        "figures": figures.iter().map(|f| json!({
            "of": f.what,
            "threads": f.threads,
            "ns_per_row": (f.per_row * 1000.0).round() / 1000.0,
        })).collect::<Vec<_>>(),
    });
    let mut lines = std::fs::OpenOptions::new().create(true).append(true).open(file)?;
    writeln!(lines, "{line}")?;
    Ok(())
}

fn main() -> ExitCode {
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("value_access: {error}");
            ExitCode::FAILURE
        }
    }
}
