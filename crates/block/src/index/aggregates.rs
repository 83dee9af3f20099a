//! Small materialised aggregates (Moerkotte, VLDB 1998): per 1,024 rows the least and the greatest key, the number of
//! values that are not NULL, and their sum where they are integers.
//!
//! ```text
//!  48 bytes a zone: u64 least key   u64 greatest key   i128 sum   u32 values that are not NULL   u32 sum is meant   u64 0
//! ```
//!
//! A predicate is decided for whole zones; only zones that it cuts are scanned. Minimum, maximum, sum and counts of
//! whole zones answer aggregates without their rows (`Block::zone_aggregates`).

use std::ops::Range;

use arrow_buffer::Buffer;
use simd::Bitmap;
use types::{Physical, Value};

use super::Checked;
use super::keys::{KeyRanges, KeySpace};
use crate::Coding;
use crate::layout::{take_u32, take_u64};
use crate::stripe::{Stripe, Values};

/// Rows of a zone: a scan of so many costs ten times what it costs to decide that it is not needed.
pub const ZONE_ROWS: usize = 1024;
const ZONE_BYTES: usize = 48;

/// What is known of some rows of a column.
#[derive(Clone, Debug, PartialEq)]
pub struct ZoneAggregate {
    /// Row numbers in the block.
    pub rows: Range<usize>,
    /// Values that are not NULL.
    pub present: u32,
    /// The least value; NULL when all values are, or when the index cannot tell (uncoded strings).
    pub min: Value,
    /// The greatest value; NULL as `min`.
    pub max: Value,
    /// The sum in the column's physical unit, of integers whose sum fits.
    pub sum: Option<i128>,
}

#[derive(Clone, Debug)]
pub(crate) struct Aggregates {
    bytes: Buffer,
    rows: usize,
}

struct Zone {
    low: u64,
    high: u64,
    sum: Option<i128>,
    present: u32,
}

/// What a predicate is for the rows of a zone that are not NULL.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    Fails,
    Passes,
    Undecided,
}

pub(crate) fn length(rows: usize) -> usize {
    rows.div_ceil(ZONE_ROWS) * ZONE_BYTES
}

pub(crate) fn build(stripe: &Stripe, space: &KeySpace, rows: usize) -> Vec<u8> {
    let mut out = Vec::with_capacity(length(rows));
    for from in (0..rows).step_by(ZONE_ROWS) {
        let zone = aggregate(stripe, space, from..(from + ZONE_ROWS).min(rows));
        out.extend_from_slice(&zone.low.to_le_bytes());
        out.extend_from_slice(&zone.high.to_le_bytes());
        out.extend_from_slice(&zone.sum.unwrap_or(0).to_le_bytes());
        out.extend_from_slice(&zone.present.to_le_bytes());
        out.extend_from_slice(&u32::from(zone.sum.is_some()).to_le_bytes());
        out.extend_from_slice(&[0; 8]);
    }
    out
}

fn aggregate(stripe: &Stripe, space: &KeySpace, rows: Range<usize>) -> Zone {
    let mut zone = Zone { low: u64::MAX, high: 0, sum: Some(0), present: 0 };
    for row in rows {
        if stripe.nulls.as_ref().is_some_and(|nulls| nulls.is_null(row)) {
            continue;
        }
        let key = space.key(&stripe.values, row);
        zone.low = zone.low.min(key);
        zone.high = zone.high.max(key);
        zone.present += 1;
        zone.sum = zone.sum.zip(integer(stripe, space, key)).and_then(|(sum, value)| sum.checked_add(value));
    }
    if zone.present == 0 {
        zone.low = 0;
    }
    zone
}

/// The integer behind a key.
fn integer(stripe: &Stripe, space: &KeySpace, key: u64) -> Option<i128> {
    match (space, stripe.coding, &stripe.dictionary) {
        (KeySpace::Integers { base }, ..) => base.checked_add(i128::from(key)),
        (KeySpace::Codes, Coding::Truncated { base, step, .. }, _) => {
            i128::from(key).checked_mul(step)?.checked_add(base)
        }
        (KeySpace::Codes, _, Some(dictionary)) => match &dictionary.values {
            Values::I16(v) => v.get(key as usize).map(|v| i128::from(*v)),
            Values::I32(v) => v.get(key as usize).map(|v| i128::from(*v)),
            Values::I64(v) => v.get(key as usize).map(|v| i128::from(*v)),
            Values::I128(v) => v.get(key as usize).copied(),
            _ => None,
        },
        _ => None,
    }
}

/// The value behind a key, where it can be told.
fn value(stripe: &Stripe, space: &KeySpace, key: u64) -> Value {
    let physical = stripe.ty.physical();
    if let Some(integer) = integer(stripe, space, key) {
        return Value::from_i128(integer, physical).unwrap_or(Value::Null);
    }
    let float =
        |image: u64, sign: u64| if image & sign != 0 { image & !sign } else { !image & (sign | (sign - 1)) };
    match (space, &stripe.dictionary, physical) {
        (KeySpace::Codes, Some(dictionary), _) if (key as usize) < dictionary.size => {
            dictionary.vector().value(key as usize)
        }
        (KeySpace::Floats, _, Physical::F32) => Value::F32(f32::from_bits(float(key, 1 << 31) as u32)),
        (KeySpace::Floats, _, Physical::F64) => Value::F64(f64::from_bits(float(key, 1 << 63))),
        _ => Value::Null,
    }
}

impl Aggregates {
    pub(crate) fn open(bytes: &Buffer, rows: usize) -> Checked<Aggregates> {
        if bytes.len() != length(rows) {
            return Err(format!("aggregates of {rows} rows have not {} bytes", bytes.len()));
        }
        let opened = Aggregates { bytes: bytes.clone(), rows };
        let zones = rows.div_ceil(ZONE_ROWS);
        if (0..zones).any(|zone| opened.zone(zone).present as usize > opened.rows_of(zone).len()) {
            return Err("a zone has more values than rows".into());
        }
        Ok(opened)
    }
    fn rows_of(&self, zone: usize) -> Range<usize> {
        zone * ZONE_ROWS..((zone + 1) * ZONE_ROWS).min(self.rows)
    }
    fn zone(&self, zone: usize) -> Zone {
        let at = zone * ZONE_BYTES;
        let bytes = &self.bytes.as_slice()[at..at + ZONE_BYTES];
        let word = |at| take_u64(bytes, at).unwrap_or(0);
        let sum = (u128::from(word(16)) | u128::from(word(24)) << 64) as i128;
        let present = take_u32(bytes, 32).unwrap_or(0);
        Zone { low: word(0), high: word(8), sum: (take_u32(bytes, 36) == Some(1)).then_some(sum), present }
    }

    /// What the predicate is for each zone.
    pub(crate) fn verdicts(&self, keys: &KeyRanges) -> Vec<Verdict> {
        let zones = self.rows.div_ceil(ZONE_ROWS);
        let verdict = |zone: usize| {
            let zone = self.zone(zone);
            // The first range that ends at or after the zone's least key.
            let at = keys.ranges.partition_point(|r| r.1 < zone.low);
            match keys.ranges.get(at) {
                _ if zone.present == 0 => Verdict::Fails,
                Some((low, high)) if *low <= zone.high => {
                    let inside = *low <= zone.low && zone.high <= *high && keys.exact;
                    if inside { Verdict::Passes } else { Verdict::Undecided }
                }
                _ => Verdict::Fails,
            }
        };
        (0..zones).map(verdict).collect()
    }

    pub(crate) fn values(&self, stripe: &Stripe, space: &KeySpace) -> Vec<ZoneAggregate> {
        let known = |zone: &Zone, key: u64| {
            if zone.present == 0 || !space.is_exact() { Value::Null } else { value(stripe, space, key) }
        };
        (0..self.rows.div_ceil(ZONE_ROWS))
            .map(|number| {
                let zone = self.zone(number);
                let (min, max) = (known(&zone, zone.low), known(&zone, zone.high));
                let sum = zone.sum.filter(|_| zone.present > 0);
                ZoneAggregate { rows: self.rows_of(number), present: zone.present, min, max, sum }
            })
            .collect()
    }
}

/// Drops what the verdicts have decided from the selection of `rows`; returns what is left to test: runs of rows.
pub(crate) fn apply(verdicts: &[Verdict], rows: Range<usize>, selection: &mut Bitmap) -> Vec<Range<usize>> {
    let mut left: Vec<Range<usize>> = Vec::new();
    for (zone, verdict) in verdicts.iter().enumerate() {
        let from = (zone * ZONE_ROWS).max(rows.start);
        let to = ((zone + 1) * ZONE_ROWS).min(rows.end);
        if from >= to {
            continue;
        }
        match verdict {
            Verdict::Passes => {}
            Verdict::Fails => selection.clear_range(from - rows.start..to - rows.start),
            Verdict::Undecided => match left.last_mut() {
                Some(last) if last.end == from => last.end = to,
                _ => left.push(from..to),
            },
        }
    }
    left
}
