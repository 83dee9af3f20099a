//! From stripes to vectors.
//!
//! Numbers are widened or gathered into new buffers, except ranges of plain ones, which share the block's memory.
//! Strings are never copied: their views point into the block. A dictionary of strings is handed out once per block
//! and column; dictionaries of numbers are decoded here, since arithmetic would do it next.

use std::ops::Range;
use std::sync::atomic::Ordering::Relaxed;

use arrow_buffer::{ArrowNativeType, BooleanBuffer, NullBuffer, ScalarBuffer};
use simd::widen::Wide;
use simd::{Code, dispatch};
use types::Physical;
use vector::strings::{INLINE_BYTES, make_view};
use vector::{Coded, Codes, Data, Meaning, Strings, Vector};

use crate::rows::Rows;
use crate::stripe::{Bits, DictionaryStripe, StringStripe, Stripe, Values};
use crate::{AccessCounters, Coding};

pub(crate) fn fetch(stripe: &Stripe, rows: Rows<'_>, counters: &AccessCounters) -> Vector {
    let validity = stripe.nulls.as_ref().and_then(|nulls| fetch_validity(nulls, &rows));
    let data = match &stripe.values {
        Values::Bits(bits) => Data::Bool(fetch_bits(bits, &rows)),
        Values::I16(v) => Data::I16(fetch_plain(v, &rows)),
        Values::I32(v) => Data::I32(fetch_plain(v, &rows)),
        Values::I64(v) => Data::I64(fetch_plain(v, &rows)),
        Values::I128(v) => Data::I128(fetch_plain(v, &rows)),
        Values::F32(v) => Data::F32(fetch_plain(v, &rows)),
        Values::F64(v) => Data::F64(fetch_plain(v, &rows)),
        Values::Strings(s) => {
            counters.strings_decoded.fetch_add(rows.len() as u64, Relaxed);
            Data::Bytes(Strings::from_trusted(views(s, rows).into(), s.heap.clone()))
        }
        Values::Codes8(codes) => fetch_coded(stripe, codes, rows, counters),
        Values::Codes16(codes) => fetch_coded(stripe, codes, rows, counters),
        Values::Codes32(codes) => fetch_coded(stripe, codes, rows, counters),
    };
    Vector::new(stripe.ty, data, validity)
}

/// As `fetch`, but coded columns come as their codes, which are not copied.
pub(crate) fn fetch_codes(stripe: &Stripe, rows: Range<usize>, counters: &AccessCounters) -> Vector {
    let (from, count) = (rows.start, rows.len());
    let (codes, width_last) = match &stripe.values {
        Values::Codes8(c) => (Codes::U8(c.slice(from, count)), u32::from(u8::MAX)),
        Values::Codes16(c) => (Codes::U16(c.slice(from, count)), u32::from(u16::MAX)),
        Values::Codes32(c) => (Codes::U32(c.slice(from, count)), u32::MAX),
        _ => return fetch(stripe, Rows::Range(rows), counters),
    };
    let coded = match (&stripe.dictionary, stripe.coding) {
        (Some(dictionary), _) => {
            if dictionary.vector.get().is_none() && matches!(dictionary.values, Values::Strings(_)) {
                counters.strings_decoded.fetch_add(dictionary.size as u64, Relaxed);
            }
            let last = (dictionary.size as u32).saturating_sub(1);
            Some(Coded { codes, meaning: Meaning::Values(dictionary.vector().clone()), last })
        }
        (None, Coding::Truncated { base, step, .. }) => line(stripe, base, step).map(|(base, step)| {
            let greatest =
                stripe.statistics.max.as_i128().map(|max| (max - i128::from(base)) / i128::from(step));
            let last =
                greatest.and_then(|last| u32::try_from(last).ok()).map_or(width_last, |l| l.min(width_last));
            Coded { codes, meaning: Meaning::Line { base, step }, last }
        }),
        _ => None,
    };
    let Some(coded) = coded else { return fetch(stripe, Rows::Range(rows), counters) };
    let validity = stripe.nulls.as_ref().and_then(|nulls| fetch_validity(nulls, &Rows::Range(rows)));
    Vector::new(stripe.ty, Data::Coded(coded), validity)
}

/// Base and step of a truncated column whose values have at most 64 bits.
fn line(stripe: &Stripe, base: i128, step: i128) -> Option<(i64, i64)> {
    let narrow = matches!(stripe.ty.physical(), Physical::I16 | Physical::I32 | Physical::I64);
    let line = (i64::try_from(base).ok()?, i64::try_from(step).ok()?);
    (narrow && step > 0).then_some(line)
}

pub(crate) fn fetch_validity(nulls: &NullBuffer, rows: &Rows<'_>) -> Option<NullBuffer> {
    let fetched = match rows {
        Rows::Range(range) => nulls.slice(range.start, range.len()),
        Rows::List(list) => {
            NullBuffer::new(BooleanBuffer::collect_bool(list.len(), |i| nulls.is_valid(list[i] as usize)))
        }
    };
    (fetched.null_count() > 0).then_some(fetched)
}

fn fetch_bits(bits: &Bits, rows: &Rows<'_>) -> BooleanBuffer {
    match rows {
        Rows::Range(range) => bits.buffer.slice(range.start, range.len()),
        Rows::List(list) => BooleanBuffer::collect_bool(list.len(), |i| bits.buffer.value(list[i] as usize)),
    }
}

fn fetch_plain<T: ArrowNativeType>(values: &ScalarBuffer<T>, rows: &Rows<'_>) -> ScalarBuffer<T> {
    match rows {
        Rows::Range(range) => values.slice(range.start, range.len()),
        Rows::List(list) => simd::take(values, list, |value| value).into(),
    }
}

fn fetch_coded<C: Code>(stripe: &Stripe, codes: &[C], rows: Rows<'_>, counters: &AccessCounters) -> Data {
    if let Some(dictionary) = &stripe.dictionary {
        return fetch_dictionary(dictionary, codes, &rows, counters);
    }
    let Coding::Truncated { base, step, .. } = stripe.coding else {
        unreachable!("codes without a dictionary are truncated; open refuses anything else")
    };
    match stripe.ty.physical() {
        Physical::I16 => Data::I16(widened(codes, &rows, base as i16, step as i16)),
        Physical::I32 => Data::I32(widened(codes, &rows, base as i32, step as i32)),
        Physical::I64 => Data::I64(widened(codes, &rows, base as i64, step as i64)),
        _ => Data::I128(widened(codes, &rows, base, step)),
    }
}

fn widened<C: Code, W: Wide + ArrowNativeType>(
    codes: &[C],
    rows: &Rows<'_>,
    base: W,
    step: W,
) -> ScalarBuffer<W> {
    let mut out = Vec::with_capacity(rows.len());
    match rows {
        Rows::Range(range) => simd::widen(&codes[range.clone()], base, step, &mut out),
        Rows::List(list) => simd::widen_rows(codes, list, base, step, &mut out),
    }
    out.into()
}

fn fetch_dictionary<C: Code>(
    dictionary: &DictionaryStripe,
    codes: &[C],
    rows: &Rows<'_>,
    counters: &AccessCounters,
) -> Data {
    macro_rules! decoded {
        ($variant:ident, $values:expr) => {
            Data::$variant(decode(codes, $values, rows).into())
        };
    }
    match &dictionary.values {
        Values::I16(v) => decoded!(I16, v),
        Values::I32(v) => decoded!(I32, v),
        Values::I64(v) => decoded!(I64, v),
        Values::I128(v) => decoded!(I128, v),
        Values::F32(v) => decoded!(F32, v),
        Values::F64(v) => decoded!(F64, v),
        _ => {
            if dictionary.vector.get().is_none() {
                counters.strings_decoded.fetch_add(dictionary.size as u64, Relaxed);
            }
            let values = dictionary.vector().clone();
            let codes = match rows {
                Rows::Range(range) => {
                    let mut out = Vec::with_capacity(range.len());
                    as_u32(&codes[range.clone()], &mut out);
                    out
                }
                Rows::List(list) => simd::take(codes, list, |code| code.to_u64() as u32),
            };
            Data::Dictionary { codes: codes.into(), values }
        }
    }
}

dispatch! {
    fn as_u32<C: Code>(codes: &[C], out: &mut Vec<u32>) {
        out.extend(codes.iter().map(|c| c.to_u64() as u32));
    }
}

fn decode<C: Code, T: Copy>(codes: &[C], values: &[T], rows: &Rows<'_>) -> Vec<T> {
    match rows {
        Rows::Range(range) => codes[range.clone()].iter().map(|c| values[c.to_u64() as usize]).collect(),
        Rows::List(list) => simd::take(codes, list, |code| values[code.to_u64() as usize]),
    }
}

/// The views of strings at `rows`.
pub(crate) fn views(strings: &StringStripe, rows: Rows<'_>) -> Vec<u128> {
    let heap = strings.heap();
    match rows {
        Rows::Range(range) => {
            let offsets = &strings.offsets[range.start..=range.end];
            offsets.windows(2).map(|pair| view(heap, pair[0], pair[1])).collect()
        }
        Rows::List(list) => list
            .iter()
            .map(|r| view(heap, strings.offsets[*r as usize], strings.offsets[*r as usize + 1]))
            .collect(),
    }
}

/// The view of `heap[start..end]`, which is buffer 0.
#[inline]
pub(crate) fn view(heap: &[u8], start: u32, end: u32) -> u128 {
    let (from, length) = (start as usize, (end - start) as usize);
    // Away from the heap's end, sixteen bytes are loaded at once and cut; a copy of variable length costs more.
    if let Some(Ok(raw)) = heap.get(from..from + 16).map(<[u8; 16]>::try_from) {
        let word = u128::from_le_bytes(raw);
        return if length <= INLINE_BYTES {
            let kept = word & ((1u128 << (length * 8)) - 1);
            length as u128 | kept << 32
        } else {
            length as u128 | u128::from(word as u32) << 32 | u128::from(start) << 96
        };
    }
    make_view(&heap[from..from + length], 0, start)
}
