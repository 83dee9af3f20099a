//! How fast rows are encoded: five million rows with the columns of TPC-H's `lineitem`, as DataRows in binary and text, and
//! as COPY's CSV; and how fast COPY's text is read back.
//!
//! ```text
//! cargo run --release -p pgproto --example encode_speed [ROWS]
//! ```
//! One batch is encoded again and again into a buffer of 256 KB, as a server would that sends in between.

mod lineitem;

use std::time::Instant;

use pgproto::copy::{CopyFormat, CopyOptions, LineCopyReader};
use pgproto::rows::RowEncoder;
use pgproto::{Format, MessageBuffer, TextEnums};
use types::{Result, Type, Zone};
use vector::{BATCH_ROWS, Batch};

const BUFFER_BYTES: usize = 256 << 10;

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
    let (types, batch) = lineitem::lineitem();
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
