//! The tuple store over column stripes.

use std::ops::Range;
use std::sync::atomic::Ordering::Relaxed;

use simd::Bitmap;
use vector::Vector;

use crate::costs::{self, ScanCost};
use crate::store::{Rows, TupleStore};
use crate::stripe::{Stripe, Values};
use crate::{AccessCounters, CodeSlice, Codes, PlainSlice, PreparedPredicate};

/// The tuple store of `LayoutKind::ColumnStore` and `LayoutKind::CompressedColumnStore`: they differ in the codings
/// that the encoder may choose, not in how stripes are read.
#[derive(Debug)]
pub(crate) struct StripeStore {
    pub(crate) rows: usize,
    pub(crate) stripes: Vec<Stripe>,
}

impl TupleStore for StripeStore {
    fn rows(&self) -> usize {
        self.rows
    }
    fn columns(&self) -> usize {
        self.stripes.len()
    }
    fn bare(&self, column: usize) -> &Stripe {
        &self.stripes[column]
    }
    fn select(
        &self,
        column: usize,
        predicate: &PreparedPredicate,
        rows: Range<usize>,
        selection: &mut Bitmap,
        counters: &AccessCounters,
    ) {
        predicate.apply(&self.stripes[column], rows, selection, counters);
    }
    fn select_anew(
        &self,
        column: usize,
        predicate: &PreparedPredicate,
        rows: Range<usize>,
        selection: &mut Bitmap,
        counters: &AccessCounters,
    ) {
        predicate.apply_anew(&self.stripes[column], rows, selection, counters);
    }
    fn probe(
        &self,
        column: usize,
        predicate: &PreparedPredicate,
        rows: Range<usize>,
        selection: &mut Bitmap,
        counters: &AccessCounters,
    ) {
        let stripe = &self.stripes[column];
        if predicate.apply_to_selected(stripe, rows.start, selection) {
            if stripe.coding.code_width().is_some() {
                counters.predicates_on_codes.fetch_add(1, Relaxed);
            }
            if let Some(words) = &stripe.null_words {
                selection.and_bits(words, rows.start);
            }
        } else {
            predicate.apply(stripe, rows, selection, counters);
        }
    }
    fn search(&self, column: usize, predicate: &PreparedPredicate) -> Option<Vec<Range<u32>>> {
        let stripe = &self.stripes[column];
        if !stripe.ascends {
            return None;
        }
        crate::sorted::search(stripe, self.rows, &predicate.test)
    }
    fn scan_cost(&self, column: usize) -> ScanCost {
        match &self.stripes[column].values {
            Values::Strings(_) => {
                ScanCost { row_ns: 0.0, selected_ns: costs::STRING_NS, probe_ns: f64::INFINITY }
            }
            Values::Bits(_) => ScanCost { row_ns: 0.01, selected_ns: 0.0, probe_ns: f64::INFINITY },
            values => ScanCost {
                row_ns: values.width() as f64 * costs::SCAN_BYTE_NS,
                selected_ns: 0.0,
                probe_ns: costs::PROBE_NS,
            },
        }
    }
    fn fetch(&self, column: usize, rows: Rows<'_>, counters: &AccessCounters) -> Vector {
        crate::fetch::fetch(&self.stripes[column], rows, counters)
    }
    fn fetch_codes(&self, column: usize, rows: Range<usize>, counters: &AccessCounters) -> Vector {
        crate::fetch::fetch_codes(&self.stripes[column], rows, counters)
    }
    fn codes(&self, column: usize) -> Option<CodeSlice<'_>> {
        let stripe = &self.stripes[column];
        let codes = match &stripe.values {
            Values::Codes8(c) => Codes::U8(c),
            Values::Codes16(c) => Codes::U16(c),
            Values::Codes32(c) => Codes::U32(c),
            _ => return None,
        };
        Some(CodeSlice { codes, coding: stripe.coding })
    }
    fn plain(&self, column: usize) -> Option<PlainSlice<'_>> {
        Some(match &self.stripes[column].values {
            Values::I16(v) => PlainSlice::I16(v),
            Values::I32(v) => PlainSlice::I32(v),
            Values::I64(v) => PlainSlice::I64(v),
            Values::I128(v) => PlainSlice::I128(v),
            Values::F32(v) => PlainSlice::F32(v),
            Values::F64(v) => PlainSlice::F64(v),
            _ => return None,
        })
    }
}
