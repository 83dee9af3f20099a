//! Few groups, right above a scan: sums by a bit mask a group, on the block's own codes.
//!
//! ```text
//!  scan    window of a block: codes, not decoded, and a selection of its rows; nothing is gathered
//!  here    keys' codes -> one index byte a row -> a mask a group and 64 rows (rows not selected are of no group)
//!          arguments: codes, or products of codes as 64-bit values; of all rows, summed under the masks
//! ```
//! A group is found once a block: while some selected row is of no group yet, its index becomes one and its key is
//! looked up. What does not suit (NULLs, values that fail where no row is selected, too many groups) is gathered and
//! goes the way of all batches; when groups are too many, the scan is told to gather from then on.

use std::sync::atomic::Ordering::Relaxed;

use hash::aggregate::{MaskedGroups, MaskedPart, States};
use types::Result;
use vector::{Batch, Codes, Data, Meaning, Vector};

use super::descriptor::Descriptor;
use super::local::{Index, LocalGroups};
use super::products::{Factors, evaluate};

/// More groups in one block than this are numbered row by row.
const GROUPS_MAX: usize = 32;

/// The groups that a worker found among the codes of the present block.
#[derive(Default)]
pub(super) struct Masked {
    /// What the codes of each key mean, and how many there are.
    keys: Vec<(Meaning, usize)>,
    /// The index of each group found, and its number among the states.
    values: Vec<u8>,
    groups: Vec<u32>,
    index: Vec<u8>,
    remaining: Vec<u64>,
    masks: MaskedGroups,
    /// Batches that came this way, and those of them whose products were summed without being written.
    pub batches: u64,
    /// Batches, of those counted in `batches`, whose products were summed without being written to memory.
    pub with_products: u64,
}

impl Masked {
    /// Groups were renumbered.
    pub fn forget(&mut self) {
        self.keys.clear();
        self.values.clear();
        self.groups.clear();
    }

    /// Makes the row's index; false when the keys are not bytes that combine to one.
    fn index(&mut self, keys: &[&Vector]) -> bool {
        let mut found = Vec::with_capacity(keys.len());
        let mut unit = 1usize;
        let mut first: &[u8] = &[];
        // Units are powers of two, which shift, if that leaves room for all keys.
        let sizes = keys.iter().filter_map(|key| match key.data() {
            Data::Coded(coded) => Some(coded.last as usize + 1),
            _ => None,
        });
        let shifts = sizes.fold(1usize, |unit, size| unit.next_power_of_two().saturating_mul(size)) <= 256;
        for (at, key) in keys.iter().enumerate() {
            let Data::Coded(coded) = key.data() else { return false };
            let (Codes::U8(codes), false) = (&coded.codes, key.has_nulls()) else { return false };
            let size = coded.last as usize + 1;
            if shifts {
                unit = unit.next_power_of_two();
            }
            if unit * size > 256 {
                return false;
            }
            match at {
                0 => first = codes,
                1 => {
                    self.index.clear();
                    simd::join_codes(first, codes, unit as u8, &mut self.index);
                }
                _ => simd::combine_codes(&mut self.index, codes, unit as u8),
            }
            unit *= size;
            found.push((coded.meaning.clone(), size));
        }
        if keys.len() == 1 {
            self.index.clear();
            self.index.extend_from_slice(first);
        }
        let same = self.keys.len() == found.len()
            && self.keys.iter().zip(&found).all(|((a, n), (b, m))| n == m && a.same(b));
        if !same {
            self.forget();
            self.keys = found;
        }
        true
    }

    /// Masks of the groups known; the first row that is of none.
    fn mask(&mut self, selection: Option<&[u64]>, rows: usize) -> Option<usize> {
        self.remaining.clear();
        match selection {
            Some(words) => self.remaining.extend_from_slice(&words[..rows.div_ceil(64)]),
            None => self.remaining.extend((0..rows.div_ceil(64)).map(|word| simd::rows_of_word(rows, word))),
        }
        let parts = self.values.len().div_ceil(simd::FEW_GROUPS);
        self.masks.parts.resize_with(parts, MaskedPart::default);
        let chunks = self.values.chunks(simd::FEW_GROUPS).zip(self.groups.chunks(simd::FEW_GROUPS));
        for (part, (values, groups)) in self.masks.parts.iter_mut().zip(chunks) {
            simd::group_masks(&self.index, values, &mut self.remaining, &mut part.masks);
            part.groups.clear();
            part.groups.extend_from_slice(groups);
            part.counts.clear();
            part.counts.resize(groups.len(), 0);
            simd::count_masked(&part.masks, &mut part.counts);
        }
        let word = self.remaining.iter().position(|w| *w != 0)?;
        Some(word * 64 + self.remaining[word].trailing_zeros() as usize)
    }
}

impl LocalGroups {
    /// Adds a batch of codes; false, with nothing changed, when it has to be gathered first.
    pub(super) fn consume_codes(&mut self, aggregate: &Descriptor, batch: &Batch, tag: u64) -> Result<bool> {
        let Some(wanted) = aggregate.codes_wanted.get() else { return Ok(false) };
        if matches!(self.index, Index::Passing) {
            return Ok(false);
        }
        if wanted.cells && self.consume_cells(aggregate, batch, tag, wanted.masks)? {
            return Ok(true);
        }
        if !wanted.masks {
            // A short window may only have too few rows for its cells.
            if !self.cells.suits() {
                wanted.refused.store(true, Relaxed);
            }
            return Ok(false);
        }
        let mut masked = std::mem::take(&mut self.masked);
        let done = self.consume_masked(aggregate, batch, &mut masked, tag);
        self.masked = masked;
        done
    }

    /// By masks, products in passes of their own where their codes suit.
    fn consume_masked(
        &mut self,
        aggregate: &Descriptor,
        batch: &Batch,
        masked: &mut Masked,
        tag: u64,
    ) -> Result<bool> {
        if let Some(products) = &aggregate.products
            && let Some(vectors) = products.evaluate(batch, &aggregate.groups)
            && let Some(factors) = products.factors(&vectors, batch.rows)
        {
            return self.add_masked(aggregate, batch, Values { vectors: &vectors, factors }, masked, tag);
        }
        // An error may be of a row that was not selected: the gathered rows will tell.
        let Ok(vectors) = evaluate(&aggregate.program, batch, &aggregate.groups) else { return Ok(false) };
        self.add_masked(aggregate, batch, Values { vectors: &vectors, factors: vec![] }, masked, tag)
    }

    fn add_masked(
        &mut self,
        aggregate: &Descriptor,
        batch: &Batch,
        values: Values<'_>,
        masked: &mut Masked,
        tag: u64,
    ) -> Result<bool> {
        let Values { vectors, factors } = values;
        let in_factors = |argument: &usize| {
            let products = aggregate.products.as_ref().filter(|_| !factors.is_empty());
            products.is_some_and(|products| products.sums[*argument])
        };
        let others = (0..aggregate.arguments.len()).filter(|argument| !in_factors(argument));
        let others = others.filter_map(|argument| Some((argument, aggregate.arguments[argument].value?)));
        if !others.clone().all(|(_, at)| States::takes_masked(&vectors[at])) {
            return Ok(false);
        }
        let keys: Vec<&Vector> = aggregate.groups.iter().map(|at| &vectors[*at]).collect();
        if keys.is_empty() {
            masked.index.clear();
            masked.index.resize(batch.rows, 0);
            (masked.values, masked.groups) = (vec![0], vec![0]);
        } else if !masked.index(&keys) {
            return Ok(false);
        }
        if matches!(self.index, Index::Ordered(_)) {
            self.leave_ordered(aggregate)?;
        }
        while let Some(row) = masked.mask(batch.selection.as_deref(), batch.rows) {
            if masked.values.len() >= GROUPS_MAX {
                if let Some(wanted) = aggregate.codes_wanted.get() {
                    wanted.refused.store(true, Relaxed);
                }
                return Ok(false);
            }
            let key: Vec<Vector> = keys.iter().map(|k| k.gather(&[row as u32])).collect();
            let group = self.number_one(aggregate, &key, tag)?;
            masked.values.push(masked.index[row]);
            masked.groups.push(group);
        }
        masked.batches += 1;
        masked.with_products += u64::from(!factors.is_empty());
        if !keys.is_empty() {
            self.states.resize(self.table.len());
        }
        self.states.count_masked(&masked.masks);
        for factors in &factors {
            factors.add(&masked.masks, batch.rows, &mut self.states)?;
        }
        for (argument, at) in others {
            self.states.update_masked(argument, &masked.masks, &vectors[at])?;
        }
        Ok(true)
    }
}

/// What a batch's arguments are.
struct Values<'a> {
    vectors: &'a [Vector],
    /// Factors of the arguments that are summed as products; empty when there is none.
    factors: Vec<Factors<'a>>,
}
