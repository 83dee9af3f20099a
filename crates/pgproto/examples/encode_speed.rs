//! How fast rows are encoded: five million rows with the columns of TPC-H's `lineitem`, as DataRows in binary and text, and
//! as COPY's CSV; and how fast COPY's text is read back.
//!
//! ```text
//! cargo run --release -p pgproto --example encode_speed [ROWS]
//! ```
//! One batch is encoded again and again into a buffer of 256 KB, as a server would that sends in between.

use std::time::Instant;

use pgproto::copy::{CopyFormat, CopyOptions, LineCopyReader};
use pgproto::rows::RowEncoder;
use pgproto::{Format, MessageBuffer, TextEnums};
use types::{Result, Type, Value, Zone};
use vector::{BATCH_ROWS, Batch, Vector};

const BUFFER_BYTES: usize = 256 << 10;
const MONEY: Type = Type::Decimal { precision: 15, scale: 2 };

fn lineitem() -> (Vec<Type>, Batch) {
    let types = vec![
        Type::BigInt,
        Type::BigInt,
        Type::BigInt,
        Type::Integer,
        MONEY,
        MONEY,
        MONEY,
        MONEY,
        Type::Char(1),
        Type::Char(1),
        Type::Date,
        Type::Date,
        Type::Date,
        Type::Char(25),
        Type::Char(10),
        Type::Varchar(44),
    ];
    let words = ["DELIVER IN PERSON", "COLLECT COD", "NONE", "TAKE BACK RETURN"];
    let value = |column: usize, row: usize| match column {
        0..=2 => Value::I64((row * 37 + column) as i64),
        3 => Value::I32((row % 7) as i32 + 1),
        4 => Value::I64((row % 50) as i64 * 100),
        5 => Value::I64(90_000 + (row * 7919 % 9_500_000) as i64),
        6 | 7 => Value::I64((row % 11) as i64),
        8 | 9 => Value::text(["A", "N", "R"][row % 3]),
        10..=12 => Value::I32(8_000 + (row % 2_500) as i32),
        13 => Value::text(words[row % 4]),
        14 => Value::text(["TRUCK", "MAIL", "REG AIR"][row % 3]),
        _ => Value::text(&"egular courts above the final packages"[..10 + row % 28]),
    };
    let column = |(at, ty): (usize, &Type)| {
        let values: Vec<Value> = (0..BATCH_ROWS).map(|row| value(at, row)).collect();
        Vector::from_values(*ty, &values)
    };
    let columns = types.iter().enumerate().map(column).collect();
    (types, Batch::new(columns, BATCH_ROWS))
}

fn measure(name: &str, rows: usize, mut encoder: RowEncoder, batch: &Batch) -> Result<()> {
    let (begin, mut bytes, mut out) = (Instant::now(), 0, MessageBuffer::new());
    for _ in 0..rows.div_ceil(BATCH_ROWS) {
        let mut pending = encoder.begin(batch);
        while !pending.is_done() {
            encoder.append(&mut pending, &TextEnums, BUFFER_BYTES, &mut out)?;
            bytes += out.len();
            out.clear(2 * BUFFER_BYTES);
        }
    }
    report(name, rows, begin, bytes);
    Ok(())
}

fn report(name: &str, rows: usize, begin: Instant, bytes: usize) {
    let seconds = begin.elapsed().as_secs_f64();
    let (millions, megabytes) = (rows as f64 / seconds / 1e6, bytes as f64 / seconds / 1e6);
    println!("{name}: {seconds:.2} s, {millions:.1} million rows/s, {megabytes:.0} MB/s");
}

fn main() -> Result<()> {
    let rows = std::env::args().nth(1).and_then(|rows| rows.parse().ok()).unwrap_or(5_000_000);
    let (types, batch) = lineitem();
    for format in [Format::Binary, Format::Text] {
        let encoder = RowEncoder::data_rows(&types, &vec![format; types.len()], Zone::Utc)?;
        measure(&format!("DataRow {format:?}"), rows, encoder, &batch)?;
    }
    for format in [CopyFormat::Binary, CopyFormat::Text, CopyFormat::Csv] {
        let options = CopyOptions::of(format, types.len());
        measure(&format!("COPY {format:?}"), rows, RowEncoder::copy(&types, &options, Zone::Utc)?, &batch)?;
    }
    let options = CopyOptions::of(CopyFormat::Text, types.len());
    let mut out = MessageBuffer::new();
    RowEncoder::copy(&types, &options, Zone::Utc)?.append_all(&batch, &TextEnums, &mut out)?;
    let (mut lines, mut rest) = (Vec::new(), out.bytes());
    while let Some((length, body)) = rest.get(1..).and_then(|rest| rest.split_first_chunk::<4>()) {
        let length = u32::from_be_bytes(*length) as usize - 4;
        lines.extend_from_slice(&body[..length]);
        rest = &body[length..];
    }
    let columns: Vec<(&str, Type)> = types.iter().map(|ty| ("c", *ty)).collect();
    let mut reader = LineCopyReader::new(&columns, &options, 1 << 20);
    let (begin, mut bytes) = (Instant::now(), 0);
    for _ in 0..rows.div_ceil(BATCH_ROWS) {
        reader.push(&lines, |_| Ok(()))?;
        bytes += lines.len();
    }
    report("COPY Text, read", rows, begin, bytes);
    Ok(())
}
