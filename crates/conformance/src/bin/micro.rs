//! Micro-benchmarks: what each kind of work costs a row, and how near it comes to the machine's bandwidth.
//!
//! `cargo run --release -p conformance --bin micro`
//!   --scale S      scale of the TPC-H tables (1)
//!   --record FILE  appends the figures as one line of JSON (bench/results/micro.jsonl is the project's)
//!
//! Everything but the bandwidth of all cores, Q6 and Q1 runs on one worker. Times of statements are EXPLAIN ANALYZE's
//! execution alone; bytes are the coded bytes of the columns that the work reads. The least of several runs counts.
//! Deeper cuts: `cargo run --release -p block --example measure`, `hash/tests/speed.rs`, `hash_join/speed.rs`.

use std::hint::black_box;
use std::io::Write;
use std::process::{Command, ExitCode};
use std::time::{Instant, SystemTime, UNIX_EPOCH};

use arrow_buffer::MutableBuffer;
use block::{Bitmap, Block, LayoutKind, encode};
use engine::{Database, Options, Session};
use serde_json::json;
use types::{Bound, ColumnPredicate, Type, Value};
use vector::{Batch, StringBuilder, Vector};

#[global_allocator]
static ALLOCATOR: memory::CountingAllocator<mimalloc::MiMalloc> =
    memory::CountingAllocator(mimalloc::MiMalloc);

type Outcome<T> = Result<T, Box<dyn std::error::Error>>;

struct Figure {
    work: &'static str,
    what: String,
    rows: f64,
    bytes: f64,
    nanoseconds: f64,
}

impl Figure {
    fn per_row(&self) -> f64 {
        self.nanoseconds / self.rows
    }
    fn bandwidth(&self) -> f64 {
        self.bytes / self.nanoseconds
    }
}

/// The least nanoseconds of at least five runs and a fifth of a second.
fn best(mut run: impl FnMut()) -> f64 {
    let (begin, mut least, mut runs) = (Instant::now(), f64::MAX, 0);
    while runs < 5 || begin.elapsed().as_millis() < 200 {
        let start = Instant::now();
        run();
        least = least.min(start.elapsed().as_nanos() as f64);
        runs += 1;
    }
    least
}

/// Bytes a nanosecond that `threads` threads read together, each from memory of its own beyond every cache.
fn bandwidth(threads: usize) -> f64 {
    const WORDS: usize = 16 << 20;
    let memory: Vec<Vec<u64>> = (0..threads).map(|thread| vec![thread as u64 + 1; WORDS]).collect();
    let nanoseconds = best(|| {
        std::thread::scope(|scope| {
            for part in &memory {
                scope.spawn(|| black_box(part.iter().fold(0u64, |sum, word| sum.wrapping_add(*word))));
            }
        });
    });
    (threads * WORDS * 8) as f64 / nanoseconds
}

/// Encoding, selecting on codes and fetching, on columns shaped like lineitem's.
fn blocks(figures: &mut Vec<Figure>) -> Outcome<()> {
    const ROWS: usize = 65_536;
    let mut state = 7u64;
    let mut below = move |n: u64| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state >> 11) % n
    };
    let mut modes = StringBuilder::with_capacity(ROWS);
    let mut comments = StringBuilder::with_capacity(ROWS);
    for _ in 0..ROWS {
        modes.push([&b"AIR"[..], b"FOB", b"MAIL", b"RAIL", b"REG AIR", b"SHIP", b"TRUCK"][below(7) as usize]);
        comments.push(format!("carefully final deposits {}", below(1 << 40)).as_bytes());
    }
    let dates: Vec<i32> = (0..ROWS).map(|_| 8035 + below(2526) as i32).collect();
    let prices: Vec<i64> = (0..ROWS).map(|_| 90_000 + below(10_000_000) as i64).collect();
    let wide: Vec<i64> = (0..ROWS).map(|_| (below(1 << 50) as i64) << 12).collect();
    let money = Type::Decimal { precision: 15, scale: 2 };
    let columns = [
        ("date in 2 bytes", Vector::new(Type::Date, vector::Data::I32(dates.into()), None)),
        ("decimal in 4 bytes", Vector::from_i64(money, prices)),
        ("plain 8 bytes", Vector::from_i64(Type::BigInt, wide)),
        ("dictionary of 7 strings", Vector::new(Type::Text, vector::Data::Bytes(modes.finish()), None)),
        ("plain strings", Vector::new(Type::Text, vector::Data::Bytes(comments.finish()), None)),
    ];
    for (what, vector) in columns {
        let declared = [(vector.ty(), false)];
        let batch = [Batch::new(vec![vector], ROWS)];
        let kind = LayoutKind::CompressedColumnStore;
        let mut memory = MutableBuffer::from_len_zeroed(encode(&declared, &batch, kind)?.len());
        let encoding = best(|| {
            if let Ok(encoded) = encode(&declared, &batch, kind) {
                encoded.write_into(memory.as_slice_mut());
            }
        });
        let block = Block::open_trusted(memory.into())?;
        let bytes = block.column_bytes(0) as f64;
        let middle = batch[0].columns[0].value(ROWS / 2);
        let predicate =
            ColumnPredicate::Range { low: Some(Bound { value: middle, inclusive: true }), high: None };
        let mut selection = Bitmap::full(ROWS);
        let selecting = best(|| {
            selection.reset_full(ROWS);
            block.select(0, black_box(&predicate), &mut selection);
        });
        let fetching = best(|| {
            for from in (0..ROWS).step_by(4096) {
                black_box(block.fetch(0, from..from + 4096));
            }
        });
        for (work, nanoseconds) in [("encode", encoding), ("predicate", selecting), ("decode", fetching)] {
            figures.push(Figure { work, what: what.to_owned(), rows: ROWS as f64, bytes, nanoseconds });
        }
    }
    Ok(())
}

/// Coded bytes of some columns of a table, and its rows.
fn column_bytes(session: &Session, table: &str, columns: &[&str]) -> Outcome<(f64, f64)> {
    let snapshot = session.database().catalog().snapshot();
    let table = snapshot.table(None, table)?;
    let mut bytes = 0;
    for name in columns {
        let position = table.columns.fields().iter().position(|field| field.name == *name);
        bytes += table.data.column_bytes(position.ok_or("a column that is not there")?);
    }
    Ok((bytes as f64, table.data.rows() as f64))
}

/// Nanoseconds of a statement's execution alone: planning and the making of the result are left out.
fn execution(session: &Session, sql: &str) -> Outcome<f64> {
    let mut least = f64::MAX;
    for _ in 0..9 {
        let plan = session.query(&format!("EXPLAIN ANALYZE {sql}"))?;
        for row in 0..plan.rows() {
            let Value::Bytes(line) = plan.value(row, 0) else { continue };
            let line = String::from_utf8_lossy(&line).into_owned();
            if let Some(time) = line.trim().strip_prefix("execution: ") {
                let milliseconds: f64 = time.trim_end_matches("ms").trim().parse()?;
                least = least.min(milliseconds * 1e6);
            }
        }
    }
    if least == f64::MAX {
        return Err("EXPLAIN ANALYZE names no execution time".into());
    }
    Ok(least)
}

/// Work, what exactly, statement, and what it reads: (table, columns).
type Case = (&'static str, &'static str, &'static str, &'static [(&'static str, &'static [&'static str])]);

const CASES: &[Case] = &[
    (
        "scan",
        "sum of a column in 4 bytes",
        "SELECT sum(l_extendedprice) FROM lineitem",
        &[("lineitem", &["l_extendedprice"])],
    ),
    (
        "predicate",
        "dates, one row in seven",
        "SELECT count(*) FROM lineitem WHERE l_shipdate < DATE '1993-01-01'",
        &[("lineitem", &["l_shipdate"])],
    ),
    (
        "predicate",
        "LIKE in plain strings",
        "SELECT count(*) FROM orders WHERE o_comment LIKE '%special%requests%'",
        &[("orders", &["o_comment"])],
    ),
    (
        "build",
        "unsorted keys of partsupp, few probes",
        "SELECT count(*) FROM partsupp, supplier WHERE ps_suppkey = s_suppkey AND ps_availqty = s_nationkey",
        &[("partsupp", &["ps_suppkey", "ps_availqty"])],
    ),
    (
        "probe",
        "lineitem into part, in no order",
        "SELECT sum(p_size) FROM lineitem, part WHERE l_partkey = p_partkey",
        &[("lineitem", &["l_partkey"])],
    ),
    (
        "probe",
        "lineitem into orders, clustered",
        "SELECT sum(o_shippriority) FROM lineitem, orders WHERE l_orderkey = o_orderkey",
        &[("lineitem", &["l_orderkey"])],
    ),
    (
        "aggregate",
        "four groups, three sums",
        "SELECT l_returnflag, l_linestatus, sum(l_quantity), sum(l_extendedprice), sum(l_discount) FROM lineitem \
         GROUP BY l_returnflag, l_linestatus",
        &[("lineitem", &["l_returnflag", "l_linestatus", "l_quantity", "l_extendedprice", "l_discount"])],
    ),
    (
        "aggregate",
        "groups by l_partkey, in no order",
        "SELECT count(*) FROM (SELECT l_partkey, sum(l_quantity) AS q FROM lineitem GROUP BY l_partkey) g WHERE q > 0",
        &[("lineitem", &["l_partkey", "l_quantity"])],
    ),
    (
        "aggregate",
        "groups by l_orderkey, clustered",
        "SELECT count(*) FROM (SELECT l_orderkey, sum(l_quantity) AS q FROM lineitem GROUP BY l_orderkey) g WHERE q > 0",
        &[("lineitem", &["l_orderkey", "l_quantity"])],
    ),
    (
        "sort",
        "orders by price, all rows",
        "SELECT o_totalprice FROM orders ORDER BY o_totalprice OFFSET 100000",
        &[("orders", &["o_totalprice"])],
    ),
    (
        "sort",
        "the ten dearest orders",
        "SELECT o_orderkey FROM orders ORDER BY o_totalprice DESC LIMIT 10",
        &[("orders", &["o_totalprice"])],
    ),
];

const Q6: &str = "SELECT sum(l_extendedprice * l_discount) AS revenue FROM lineitem \
    WHERE l_shipdate >= DATE '1994-01-01' AND l_shipdate < DATE '1995-01-01' \
    AND l_discount BETWEEN 0.05 AND 0.07 AND l_quantity < 24";
const Q6_COLUMNS: &[&str] = &["l_extendedprice", "l_discount", "l_shipdate", "l_quantity"];
const Q1: &str = "SELECT l_returnflag, l_linestatus, sum(l_quantity), sum(l_extendedprice), \
    sum(l_extendedprice * (1 - l_discount)), sum(l_extendedprice * (1 - l_discount) * (1 + l_tax)), \
    avg(l_quantity), avg(l_extendedprice), avg(l_discount), count(*) FROM lineitem \
    WHERE l_shipdate <= DATE '1998-09-02' GROUP BY l_returnflag, l_linestatus ORDER BY l_returnflag, l_linestatus";
const Q1_COLUMNS: &[&str] =
    &["l_returnflag", "l_linestatus", "l_quantity", "l_extendedprice", "l_discount", "l_tax", "l_shipdate"];
/// Queries that are little but a scan, all workers: their time against what reading their columns takes.
const SCANS: &[(&str, &str, &[&str])] = &[("q6", Q6, Q6_COLUMNS), ("q1", Q1, Q1_COLUMNS)];

fn statements(session: &Session, figures: &mut Vec<Figure>) -> Outcome<()> {
    session.query("SET workers = 1")?;
    for (work, what, sql, reads) in CASES {
        let (mut bytes, mut rows) = (0.0, 0.0);
        for (table, columns) in *reads {
            let found = column_bytes(session, table, columns)?;
            bytes += found.0;
            rows += found.1;
        }
        let nanoseconds = execution(session, sql)?;
        figures.push(Figure { work, what: (*what).to_owned(), rows, bytes, nanoseconds });
    }
    Ok(())
}

/// The processor's name and how many of it.
fn machine() -> serde_json::Value {
    let information = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let model = information.lines().find_map(|line| line.strip_prefix("model name")?.split_once(':'));
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    json!({
        "cpu": model.map_or("unknown", |(_, name)| name.trim()),
        "threads": threads,
        "memory_gib": (memory::machine_limit_bytes() as f64 / f64::from(1 << 30) * 10.0).round() / 10.0,
    })
}

fn commit() -> serde_json::Value {
    let git = |arguments: &[&str]| {
        let run = Command::new("git").args(arguments).output().ok()?;
        run.status.success().then(|| String::from_utf8_lossy(&run.stdout).trim().to_owned())
    };
    let changed =
        git(&["status", "--porcelain", "--untracked-files=no"]).is_some_and(|text| !text.is_empty());
    json!({ "id": git(&["rev-parse", "HEAD"]).unwrap_or_else(|| "unknown".into()), "modified": changed })
}

fn rounded(value: f64, digits: i32) -> f64 {
    let power = 10f64.powi(digits);
    (value * power).round() / power
}

fn run() -> Outcome<()> {
    let (mut scale, mut record) = ("1".to_owned(), None);
    let mut given = std::env::args().skip(1);
    while let Some(name) = given.next() {
        let value = given.next().ok_or_else(|| format!("{name} needs a value"))?;
        match name.as_str() {
            "--scale" => scale = value,
            "--record" => record = Some(value),
            _ => return Err(format!("{name} is not known").into()),
        }
    }
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    let (one, all) = (bandwidth(1), bandwidth(threads));
    println!("reading memory: {one:.1} GB/s on one thread, {all:.1} GB/s on {threads}");
    let mut figures = Vec::new();
    blocks(&mut figures)?;
    let session =
        Database::in_memory(Options { workers: None, memory_bytes: None, ..Default::default() })?.session();
    session.query(&format!("CALL tpch(scale => {scale})"))?;
    statements(&session, &mut figures)?;
    println!("{:<10} {:<38} {:>9} {:>9} {:>8} {:>10}", "work", "of", "rows", "ns/row", "GB/s", "of reading");
    for figure in &figures {
        println!(
            "{:<10} {:<38} {:>9} {:>9.3} {:>8.2} {:>9.0}%",
            figure.work,
            figure.what,
            figure.rows,
            figure.per_row(),
            figure.bandwidth(),
            figure.bandwidth() / one * 100.0
        );
    }
    session.query(&format!("SET workers = {threads}"))?;
    let mut scans = Vec::new();
    for (name, sql, columns) in SCANS {
        let time = execution(&session, sql)?;
        let (bytes, _) = column_bytes(&session, "lineitem", columns)?;
        let floor = bytes / all;
        println!(
            "{name} on {threads} workers: execution {:.3} ms; {:.1} MB of coded columns take {:.3} ms to read; {:.2}x \
             the floor",
            time / 1e6,
            bytes / 1e6,
            floor / 1e6,
            time / floor
        );
        scans.push(json!({
            "execution_ms": rounded(time / 1e6, 3),
            "coded_bytes": bytes,
            "floor_ms": rounded(floor / 1e6, 3),
            "over_floor": rounded(time / floor, 2),
        }));
    }
    let Some(file) = record else { return Ok(()) };
    let seconds = SystemTime::now().duration_since(UNIX_EPOCH)?.as_micros() as i64;
    let line = json!({
        "format": 1,
        "date": Value::I64(seconds).display(Type::TimestampTz),
        "commit": commit(),
        "machine": machine(),
        "scale": scale.parse::<f64>()?,
        "reading_gb_per_s": { "one_thread": rounded(one, 2), "all_threads": rounded(all, 2) },
        "figures": figures.iter().map(|f| json!({
            "work": f.work,
            "of": f.what,
            "rows": f.rows,
            "ns_per_row": rounded(f.per_row(), 3),
            "gb_per_s": rounded(f.bandwidth(), 3),
        })).collect::<Vec<_>>(),
        "q6": scans[0],
        "q1": scans[1],
    });
    let mut lines = std::fs::OpenOptions::new().create(true).append(true).open(file)?;
    writeln!(lines, "{line}")?;
    Ok(())
}

fn main() -> ExitCode {
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("micro: {error}");
            ExitCode::FAILURE
        }
    }
}
