//! How fast rows become messages and come back, on one core: the columnar format, and the paper's tuples by compiled copiers
//! and by an interpreter.
//!
//! ```text
//! cargo run --release -p wire --example wire_speed [MEGABYTES] [--json COMMIT]
//! ```
//! Three tables, made up after TPC-H's lineitem: `fixed` (its keys, quantities, prices and dates), `strings` (its flags,
//! instructions and comments), `both`. Batches of 4,096 rows are taken from a set that is larger than the second-level
//! cache, and messages of 512 KiB from a pool, as a sink does. A run takes the median of seven rounds of processor time, so
//! that a machine with other work gives the same figures, nearly. "GB/s" counts the bytes
//! of the values as the engine holds them (fixed width: 4 or 8 bytes; strings: their bytes and a size of 4), not those of
//! views; "wire" counts the bytes sent. With `--json` a line for `bench/results/wire.jsonl` is printed.

use arrow_buffer::Buffer;
use random::Random;
use types::Type;
use vector::{Batch, Data, StringBuilder, Vector};
use wire::columns::dictionary::NoDictionaries;
use wire::columns::{self, ColumnWriter};
use wire::compression::{Codec, Compressor, Trial};
use wire::heavy::Sketch;
use wire::rows::{RowReader, RowWriter, interpreted};
use wire::scatter::{Route, Scatter};
use wire::{Buffers, Header, MESSAGE_BYTES, Message, Picked, Pool, RowLayout, Sealed};

#[global_allocator]
static ALLOCATOR: memory::CountingAllocator<mimalloc::MiMalloc> =
    memory::CountingAllocator(mimalloc::MiMalloc);

const ROWS: usize = 4096;
const ROUNDS: usize = 7;

struct Table {
    types: Vec<(Type, bool)>,
    batches: Vec<Batch>,
    /// Of the values as they are held.
    bytes: usize,
    /// Of the values as narrow as whole bytes allow, batch by batch, without any head.
    encoded: usize,
}

fn numbers(random: &mut Random, low: i64, high: i64) -> Vec<i64> {
    (0..ROWS).map(|_| random.between(low, high)).collect()
}

fn fixed_batch(random: &mut Random, at: usize) -> Vec<Vector> {
    let money = Type::Decimal { precision: 15, scale: 2 };
    let int = |ty, values: Vec<i64>| {
        let values: Vec<i32> = values.into_iter().map(|v| v as i32).collect();
        Vector::new(ty, Data::I32(values.into()), None)
    };
    let keys: Vec<i64> = (0..ROWS).map(|row| (at * ROWS + row) as i64 / 4 * 4 + row as i64 % 4).collect();
    vec![
        Vector::from_i64(Type::BigInt, keys),
        Vector::from_i64(Type::BigInt, numbers(random, 1, 2_000_000)),
        Vector::from_i64(Type::BigInt, numbers(random, 1, 100_000)),
        int(Type::Integer, numbers(random, 1, 7)),
        Vector::from_i64(money, numbers(random, 100, 5000)),
        Vector::from_i64(money, numbers(random, 90_000, 10_000_000)),
        Vector::from_i64(money, numbers(random, 0, 10)),
        Vector::from_i64(money, numbers(random, 0, 8)),
        int(Type::Date, numbers(random, 8000, 10_500)),
        int(Type::Date, numbers(random, 8000, 10_500)),
    ]
}

fn string_batch(random: &mut Random) -> Vec<Vector> {
    let words = [
        "furiously",
        "quick",
        "deposits",
        "sleep",
        "across",
        "the",
        "ironic",
        "accounts",
        "pending",
        "above",
    ];
    let modes = ["AIR", "MAIL", "SHIP", "TRUCK", "REG AIR", "RAIL", "FOB"];
    let instructions = ["DELIVER IN PERSON", "COLLECT COD", "NONE", "TAKE BACK RETURN"];
    let mut pick = |from: &[&str], count: i64| {
        let mut builder = StringBuilder::with_capacity(ROWS);
        for _ in 0..ROWS {
            let count = if count == 0 { random.between(2, 7) } else { count };
            let text: Vec<&str> = (0..count).map(|_| *random.pick(from)).collect();
            builder.push(text.join(" ").as_bytes());
        }
        Vector::new(Type::Text, Data::Bytes(builder.finish()), None)
    };
    vec![pick(&modes, 1), pick(&instructions, 1), pick(&words, 0)]
}

fn width(low: i128, high: i128) -> usize {
    match high - low {
        0 => 0,
        1..=0xFF => 1,
        0x100..=0xFFFF => 2,
        0x1_0000..=0xFFFF_FFFF => 4,
        _ => 8,
    }
}

/// Bytes of a column's values: as they are held, and as narrow as whole bytes allow.
fn extents(column: &Vector) -> (usize, usize) {
    let narrow = |values: &[i128], held: usize| {
        let (low, high) = (values.iter().min().copied(), values.iter().max().copied());
        (values.len() * held, values.len() * width(low.unwrap_or(0), high.unwrap_or(0)))
    };
    match column.data() {
        Data::I32(v) => narrow(&v.iter().map(|v| i128::from(*v)).collect::<Vec<_>>(), 4),
        Data::I64(v) => narrow(&v.iter().map(|v| i128::from(*v)).collect::<Vec<_>>(), 8),
        Data::Bytes(strings) => {
            let sizes: Vec<i128> = strings.iter().map(|bytes| bytes.len() as i128).collect();
            let sum = sizes.iter().sum::<i128>() as usize;
            (sum + 4 * sizes.len(), sum + narrow(&sizes, 4).1)
        }
        _ => (0, 0),
    }
}

fn table(name: &'static str, megabytes: usize) -> Table {
    let mut random = Random::new(1);
    let (mut batches, mut bytes, mut encoded) = (Vec::new(), 0, 0);
    while bytes < megabytes << 20 {
        let mut columns = Vec::new();
        if name != "strings" {
            columns.extend(fixed_batch(&mut random, batches.len()));
        }
        if name != "fixed" {
            columns.extend(string_batch(&mut random));
        }
        for column in &columns {
            let (held, narrow) = extents(column);
            bytes += held;
            encoded += narrow;
        }
        batches.push(Batch::new(columns, ROWS));
    }
    let types = batches.first().map(|b| b.columns.iter().map(|c| (c.ty(), false)).collect());
    Table { types: types.unwrap_or_default(), batches, bytes, encoded }
}

/// Writes batches into messages of a pool; `write` puts rows into room and gives rows and bytes.
fn serialise(
    pool: &Pool,
    rows: usize,
    open: &mut Option<(Message, usize)>,
    full: &mut dyn FnMut(Message, usize),
    mut write: impl FnMut(Picked<'_>, &mut [u8]) -> (usize, usize),
) {
    let mut rest = Picked::all(rows);
    while !rest.is_empty() {
        let Some((message, used)) = open else {
            *open = pool.take(0).map(|message| (message, 0));
            continue;
        };
        let (rows, bytes) = write(rest, &mut message.body_mut()[*used..]);
        *used += bytes;
        rest = rest.split_at(rows).1;
        if !rest.is_empty()
            && let Some((message, used)) = open.take()
        {
            full(message, used);
        }
    }
}

fn median(mut seconds: Vec<f64>) -> f64 {
    seconds.sort_by(f64::total_cmp);
    seconds[seconds.len() / 2]
}

fn timed(mut round: impl FnMut()) -> f64 {
    round();
    median((0..ROUNDS).map(|_| timing::cpu_time(&mut round).1.as_secs_f64()).collect())
}

#[derive(Clone, Copy, Default)]
struct Speeds {
    seconds: f64,
    back_seconds: f64,
    wire_bytes: usize,
}

fn seal(message: Message, used: usize) -> Sealed {
    message.seal(Header { used: used as u32, plain: used as u32, ..Header::default() })
}

fn columnar(table: &Table, pool: &Pool, sealed: bool) -> Speeds {
    let types: Vec<Type> = table.types.iter().map(|(ty, _)| *ty).collect();
    let mut writer = ColumnWriter::new();
    let mut kept: Vec<Sealed> = Vec::new();
    let mut wire_bytes = 0;
    let mut pass = |keep: bool| {
        kept.clear();
        wire_bytes = 0;
        let mut open = None;
        let mut full = |message: Message, used: usize| {
            wire_bytes += used + wire::HEADER_BYTES;
            if sealed || keep {
                let message = seal(message, used);
                if keep {
                    kept.push(message);
                }
            }
        };
        for batch in &table.batches {
            writer.take(batch, false, &mut NoDictionaries);
            serialise(pool, batch.rows, &mut open, &mut full, |rest, room| {
                let rows = writer.fit(rest, room.len());
                if rows < rest.len().min(64) {
                    return (0, 0);
                }
                (rows, writer.write(rest.split_at(rows).0, room))
            });
        }
        if let Some((message, used)) = open.take() {
            full(message, used);
        }
    };
    let seconds = timed(|| pass(false));
    pass(true);
    let back_seconds = timed(|| {
        for message in &kept {
            let read = columns::read(&types, &message.body_buffer(), &|_| None);
            std::hint::black_box(read.map_err(|_| "unread").ok());
        }
    });
    Speeds { seconds, back_seconds, wire_bytes }
}

fn tuples(table: &Table, pool: &Pool) -> Speeds {
    let layout = RowLayout::of_columns(&table.types);
    let mut writer = RowWriter::new(layout.clone());
    let mut kept: Vec<Sealed> = Vec::new();
    let mut wire_bytes = 0;
    let mut pass = |keep: bool| {
        kept.clear();
        wire_bytes = 0;
        let mut open = None;
        let mut full = |message: Message, used: usize| {
            wire_bytes += used + wire::HEADER_BYTES;
            if keep {
                kept.push(seal(message, used));
            }
        };
        for batch in &table.batches {
            writer.take(batch);
            serialise(pool, batch.rows, &mut open, &mut full, |rest, room| writer.write(rest, room));
        }
        if let Some((message, used)) = open.take() {
            full(message, used);
        }
    };
    let seconds = timed(|| pass(false));
    pass(true);
    let reader = RowReader::new(layout);
    let back_seconds = timed(|| {
        for message in &kept {
            std::hint::black_box(reader.read(&message.body_buffer()).ok());
        }
    });
    Speeds { seconds, back_seconds, wire_bytes }
}

fn by_interpreter(table: &Table) -> Speeds {
    let layout = RowLayout::of_columns(&table.types);
    let mut out: Vec<u8> = Vec::with_capacity(2 * MESSAGE_BYTES);
    let mut wire_bytes = 0;
    let mut pass = |kept: &mut Option<Vec<Buffer>>| {
        wire_bytes = 0;
        out.clear();
        let mut full = |out: &mut Vec<u8>| {
            wire_bytes += out.len();
            if let Some(kept) = kept {
                kept.push(Buffer::from_slice_ref(out.as_slice()));
            }
            out.clear();
        };
        for batch in &table.batches {
            interpreted::write(&layout, batch, Picked::all(batch.rows), &mut out);
            if out.len() > MESSAGE_BYTES {
                full(&mut out);
            }
        }
        full(&mut out);
    };
    let seconds = timed(|| pass(&mut None));
    let mut kept = Some(Vec::new());
    pass(&mut kept);
    let back_seconds = timed(|| {
        for body in kept.iter().flatten() {
            std::hint::black_box(interpreted::read(&layout, body).ok());
        }
    });
    Speeds { seconds, back_seconds, wire_bytes }
}

/// What the codecs make of the table's columnar bodies: how much smaller, and GB/s of body both ways.
fn compressed(table: &Table, pool: &Pool) -> Vec<(Codec, [f64; 3])> {
    let mut bodies: Vec<Sealed> = Vec::new();
    let mut writer = ColumnWriter::new();
    let (mut open, mut full) = (None, |message, used| bodies.push(seal(message, used)));
    for batch in &table.batches {
        writer.take(batch, false, &mut NoDictionaries);
        serialise(pool, batch.rows, &mut open, &mut full, |rest, room| {
            let rows = writer.fit(rest, room.len());
            if rows < rest.len().min(64) { (0, 0) } else { (rows, writer.write(rest.split_at(rows).0, room)) }
        });
    }
    let Ok(mut compressor) = Compressor::new(MESSAGE_BYTES) else { return Vec::new() };
    [Codec::Lz4, Codec::Zstd]
        .map(|codec| {
            let trials: Vec<_> = bodies.iter().map(|body| compressor.try_on(codec, body.body())).collect();
            let sum = |of: &dyn Fn(&Trial) -> f64| trials.iter().map(of).sum::<f64>();
            let plain = sum(&|t| t.plain as f64);
            let there = plain / sum(&|t| t.compress.as_secs_f64()) / 1e9;
            let back = plain / sum(&|t| t.decompress.as_secs_f64()) / 1e9;
            (codec, [sum(&|t| t.packed as f64) / plain, there, back])
        })
        .to_vec()
}

/// Hash scatter over so many machines, columnar: GB/s of values.
fn scattered(table: &Table, machines: usize) -> f64 {
    let pool = Pool::on_heap(MESSAGE_BYTES, 2 * machines + 2, 1);
    let mut writer = ColumnWriter::new();
    let mut scatter = Scatter::new();
    let route = Route::hash(vec![0], machines);
    let mut open: Vec<Option<(Message, usize)>> = Vec::new();
    open.resize_with(machines, || None);
    let seconds = timed(|| {
        for batch in &table.batches {
            scatter.route(&route, &batch.columns, batch.rows, 0, machines);
            writer.take(batch, true, &mut NoDictionaries);
            for machine in 0..machines {
                let mut rest = Picked::List(scatter.rows_of(machine));
                while !rest.is_empty() {
                    let Some((message, used)) = &mut open[machine] else {
                        open[machine] = pool.take(0).map(|message| (message, 0));
                        continue;
                    };
                    let room = &mut message.body_mut()[*used..];
                    let rows = writer.fit(rest, room.len());
                    if rows >= rest.len().min(64) {
                        *used += writer.write(rest.split_at(rows).0, room);
                        rest = rest.split_at(rows).1;
                    }
                    if !rest.is_empty() {
                        open[machine].take().map(|(message, used)| seal(message, used));
                    }
                }
            }
        }
    });
    table.bytes as f64 / seconds / 1e9
}

/// Nanoseconds a row to count keys: of all keys equally often, and of half the rows of a few keys.
fn counting() -> [f64; 2] {
    let mut random = Random::new(9);
    let even: Vec<u64> = (0..65_536).map(|_| random.bits()).collect();
    let heavy: Vec<u64> =
        (0..65_536).map(|_| if random.chance(50) { random.below(20u64) } else { random.bits() }).collect();
    [even, heavy].map(|hashes| {
        let seconds = timed(|| {
            let mut sketch = Sketch::new();
            sketch.add_all(&hashes);
            std::hint::black_box(&sketch);
        });
        seconds * 1e9 / hashes.len() as f64
    })
}

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let megabytes = arguments.first().and_then(|m| m.parse().ok()).unwrap_or(64);
    let commit = arguments.iter().position(|a| a == "--json").and_then(|at| arguments.get(at + 1));
    let pool = Pool::on_heap(MESSAGE_BYTES, 1 << 12, 1);
    let mut json = String::new();
    for name in ["fixed", "strings", "both"] {
        let table = table(name, megabytes);
        let gb = |bytes: usize, seconds: f64| bytes as f64 / seconds / 1e9;
        let mut results = Vec::new();
        for (format, speeds) in [
            ("columns", columnar(&table, &pool, false)),
            ("columns, sealed", columnar(&table, &pool, true)),
            ("tuples, compiled", tuples(&table, &pool)),
            ("tuples, interpreted", by_interpreter(&table)),
        ] {
            let [write, read] = [speeds.seconds, speeds.back_seconds].map(|s| gb(table.bytes, s));
            let [wire_write, wire_read] =
                [speeds.seconds, speeds.back_seconds].map(|s| gb(speeds.wire_bytes, s));
            let ratio = speeds.wire_bytes as f64 / table.encoded as f64;
            println!(
                "{name:8} {format:20} write {write:6.2} GB/s (wire {wire_write:6.2})  read {read:6.2} GB/s (wire \
                 {wire_read:6.2})  wire/encoded {ratio:5.3}"
            );
            results.push(format!(
                "{{\"format\":\"{format}\",\"write_gb_s\":{write:.2},\"write_wire_gb_s\":{wire_write:.2},\
                 \"read_gb_s\":{read:.2},\"read_wire_gb_s\":{wire_read:.2},\"wire_over_encoded\":{ratio:.4}}}"
            ));
        }
        let scatter: Vec<String> = [2, 6, 16]
            .map(|machines| {
                let speed = scattered(&table, machines);
                println!("{name:8} hash scatter to {machines:2}   {speed:6.2} GB/s");
                format!("\"{machines}\":{speed:.2}")
            })
            .to_vec();
        let mut codecs = Vec::new();
        for (codec, [ratio, there, back]) in compressed(&table, &pool) {
            println!(
                "{name:8} {codec:?}: {ratio:.2} of the bytes, {there:.2} GB/s, back {back:.2} GB/s (wall time)"
            );
            codecs.push(format!(
                "\"{codec:?}\":{{\"ratio\":{ratio:.3},\"gb_s\":{there:.2},\"back_gb_s\":{back:.2}}}"
            ));
        }
        json.push_str(&format!(
            "{}{{\"table\":\"{name}\",\"bytes\":{},\"runs\":[{}],\"scatter_gb_s\":{{{}}},\"codecs\":{{{}}}}}",
            if json.is_empty() { "" } else { "," },
            table.bytes,
            results.join(","),
            scatter.join(","),
            codecs.join(",").to_lowercase()
        ));
    }
    let [even, heavy] = counting();
    println!("counting keys: {even:.1} ns a row, {heavy:.1} where half the rows have few keys");
    if let Some(commit) = commit {
        let level = format!("{:?}", simd::level()).to_lowercase();
        println!(
            "{{\"format\":1,\"commit\":{{\"id\":\"{commit}\",\"modified\":false}},\"work\":\"wire_speed, medians of \
             {ROUNDS} rounds over {megabytes} MB of batches of {ROWS} rows, one core\",\"simd\":\"{level}\",\
             \"sketch_ns_a_row\":{{\"even\":{even:.1},\"heavy\":{heavy:.1}}},\"tables\":[{json}]}}"
        );
    }
}
