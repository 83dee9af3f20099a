//! Runtime filters (LIP) on a block's selection bitmap, in an order that follows what they drop.
//!
//! ```text
//!  block  | chunk | chunk | ... |      CHUNK_ROWS each: a bit a row, all filters in turn, then the next chunk
//!  filter   keys as the block has them (codes, plain integers), no vector is made
//! ```
//! Zhu, Potti, Saurabh, Patel, "Looking Ahead Makes Query Plans Robust" (PVLDB 2017), section 4: filters in ascending
//! order of observed pass rates, batch by batch. Ours differs in three ways: a filter's rank is what it drops a
//! nanosecond of testing, since an interval, bits in a cache and a Bloom filter differ tenfold in cost; counts fade,
//! so that the order follows data that changes along the table; and a filter that costs more than the probe it spares
//! is left out until it is tried again.

use block::{Block, Codes, PlainSlice, Rows};
use simd::CodeTable;
use types::ColumnPredicate;

use super::{ScanLocal, TableScan};
use crate::pipeline::Work;
use crate::runtime_filter::KeyFilter;

/// Rows to which all filters are applied before the order is looked at again. Their keys and bits stay in the
/// first-level cache.
const CHUNK_ROWS: usize = 8_192;
/// Truncated codes up to this many get a table of accepted ones if that is cheaper than testing every row.
const TABLE_CODES_MAX: i64 = 1 << 16;

/// A runtime filter that is complete and applied by a scan.
pub(super) struct ActiveFilter<'a> {
    /// The filter's keys and bounds.
    pub filter: &'a KeyFilter,
    /// Position of the key among the fetched columns.
    pub column: usize,
}

/// How a block has a filter's keys.
enum Keys<'a> {
    /// Every row passes.
    All,
    /// Codes: `base + step * code` is the key.
    U8(&'a [u8], i64, i64),
    U16(&'a [u16], i64, i64),
    U32(&'a [u32], i64, i64),
    I16(&'a [i16]),
    I32(&'a [i32]),
    I64(&'a [i64]),
    /// One-byte codes of which the table says whether they pass.
    Accepted8(&'a [u8], CodeTable),
    /// Wider codes, with a bit for each that says so.
    Accepted16(&'a [u16], Vec<u64>),
    Accepted32(&'a [u32], Vec<u64>),
    /// Keys that have to be fetched as a vector.
    Vector,
}

impl TableScan {
    /// Drops from the selection of the whole block the rows that some filter rejects.
    pub(super) fn look_ahead(
        &self,
        block: &Block,
        filters: &[ActiveFilter<'_>],
        local: &mut ScanLocal,
        work: &Work<'_>,
    ) {
        let ScanLocal { selection, order } = local;
        order.prepare(filters);
        for active in filters {
            // NULL matches nothing.
            if block.validity(self.columns[active.column]).is_some() {
                block.select(self.columns[active.column], &ColumnPredicate::IsNotNull, selection);
            }
        }
        let keys: Vec<Keys<'_>> =
            filters.iter().map(|f| keys_of(block, self.columns[f.column], f.filter)).collect();
        let rows = block.rows();
        let mut start = 0;
        while start < rows {
            let end = (start + CHUNK_ROWS).min(rows);
            let words = &mut selection.words_mut()[start / 64..end.div_ceil(64)];
            let mut left = count(words);
            for place in 0..order.sequence().len() {
                if left == 0 {
                    break;
                }
                let at = order.sequence()[place];
                let before = left;
                match &keys[at] {
                    Keys::All => {}
                    Keys::Vector => {
                        self.by_vector(block, &filters[at], start, words);
                        left = count(words);
                    }
                    keys => {
                        keys.and_into(filters[at].filter, start, end, words);
                        left = count(words);
                    }
                }
                order.observe(at, before, left);
            }
            order.adapt();
            start = end;
        }
        if work.query.settings.analyze {
            for (at, (tested, dropped)) in order.take_totals().into_iter().enumerate() {
                let name = format!("filter {}", self.runtime_filters[at].0.0);
                work.query.metrics.count(self.node, &format!("{name} tested"), tested);
                work.query.metrics.count(self.node, &format!("{name} dropped"), dropped);
            }
        }
    }

    /// Keys that no other way serves: the rows still in play are fetched.
    fn by_vector(&self, block: &Block, active: &ActiveFilter<'_>, start: usize, words: &mut [u64]) {
        let mut rows = Vec::new();
        simd::append_indices(words, start as u32, &mut rows);
        let keys = block.fetch(self.columns[active.column], Rows::List(&rows));
        let mut kept: Vec<u32> = (0..rows.len() as u32).collect();
        active.filter.retain(&keys, &mut kept);
        words.fill(0);
        for place in kept {
            let row = rows[place as usize] as usize - start;
            words[row / 64] |= 1 << (row % 64);
        }
    }
}

impl<'a> Keys<'a> {
    /// Keys tested by their codes: bit `code` of `bits` says whether it passes.
    fn accepted(codes: Codes<'a>, bits: Vec<u64>, count: usize) -> Self {
        match codes {
            Codes::U8(codes) => {
                let accept = (0..count).map(|code| bits[code / 64] >> (code % 64) & 1 == 1);
                Keys::Accepted8(codes, CodeTable::new(accept))
            }
            Codes::U16(codes) => Keys::Accepted16(codes, bits),
            Codes::U32(codes) => Keys::Accepted32(codes, bits),
        }
    }

    fn and_into(&self, filter: &KeyFilter, start: usize, end: usize, words: &mut [u64]) {
        match self {
            Keys::U8(codes, base, step) => filter.and_integers(&codes[start..end], *base, *step, words),
            Keys::U16(codes, base, step) => filter.and_integers(&codes[start..end], *base, *step, words),
            Keys::U32(codes, base, step) => filter.and_integers(&codes[start..end], *base, *step, words),
            Keys::I16(values) => filter.and_integers(&values[start..end], 0, 1, words),
            Keys::I32(values) => filter.and_integers(&values[start..end], 0, 1, words),
            Keys::I64(values) => filter.and_integers(&values[start..end], 0, 1, words),
            Keys::Accepted8(codes, table) => simd::and_lookup(&codes[start..end], table, false, words),
            Keys::Accepted16(codes, bits) => simd::and_members(bits, &codes[start..end], 0, words),
            Keys::Accepted32(codes, bits) => simd::and_members(bits, &codes[start..end], 0, words),
            Keys::All | Keys::Vector => {}
        }
    }
}

fn count(words: &[u64]) -> usize {
    words.iter().map(|word| word.count_ones() as usize).sum()
}

/// The cheapest way to test a column's keys; NULLs are gone already.
fn keys_of<'a>(block: &'a Block, column: usize, filter: &KeyFilter) -> Keys<'a> {
    let statistics = block.statistics(column);
    let bounds = statistics.min.as_i128().zip(statistics.max.as_i128());
    if let (Some((min, max)), Some((low, high))) = (bounds, filter.interval())
        && i128::from(low) <= min
        && max <= i128::from(high)
    {
        return Keys::All;
    }
    if let Some(slice) = block.codes(column) {
        if let Some((base, step)) = slice.base_and_step() {
            let codes = match bounds {
                Some((min, max)) => i64::try_from((max - min) / i128::from(step.max(1))).unwrap_or(i64::MAX),
                None => i64::MAX,
            };
            // One-byte codes are looked up 64 at a time; Bloom filters take a hash a test.
            let narrow = matches!(slice.codes, Codes::U8(_)) && filter.interval().is_none();
            let dear = !filter.is_exact() && codes < TABLE_CODES_MAX;
            if (narrow || dear) && codes < block.rows() as i64 / 4 {
                let count = codes as usize + 1;
                let mut bits = vec![0u64; count.div_ceil(64)];
                for code in 0..=codes {
                    let passes = filter.may_contain_integer(code.wrapping_mul(step).wrapping_add(base));
                    bits[code as usize / 64] |= u64::from(passes) << (code % 64);
                }
                return Keys::accepted(slice.codes, bits, count);
            }
            return match slice.codes {
                Codes::U8(codes) => Keys::U8(codes, base, step),
                Codes::U16(codes) => Keys::U16(codes, base, step),
                Codes::U32(codes) => Keys::U32(codes, base, step),
            };
        }
        return match block.dictionary(column) {
            Some(values) if values.len() * 2 <= block.rows() => {
                Keys::accepted(slice.codes, filter.accepted(&values), values.len())
            }
            _ => Keys::Vector,
        };
    }
    match block.plain(column) {
        Some(PlainSlice::I16(values)) => Keys::I16(values),
        Some(PlainSlice::I32(values)) => Keys::I32(values),
        Some(PlainSlice::I64(values)) => Keys::I64(values),
        _ => Keys::Vector,
    }
}

/// Rows that a filter must have seen before its miss rate is believed.
const OBSERVED_ROWS_MIN: u64 = CHUNK_ROWS as u64;
/// What a row costs that a filter could have dropped: its columns fetched, its key looked up in the join's table.
const ROW_NS: f64 = 10.0;
/// Chunks after which filters that were left out are tried again, since data changes along a table.
const RETRY_CHUNKS: u32 = 256;
/// Observations are halved at this many rows, so that old ones fade.
const FADE_ROWS: u64 = 1 << 17;

/// The order of the filters, and what is known of each.
#[derive(Default)]
pub(super) struct FilterOrder {
    filters: Vec<Observed>,
    order: Vec<usize>,
    chunks: u32,
}

#[derive(Clone, Default)]
struct Observed {
    test_ns: f64,
    /// Fading counts.
    tested: u64,
    dropped: u64,
    /// Since the totals were last taken.
    total_tested: u64,
    total_dropped: u64,
}

impl Observed {
    /// Share of the rows tested that it drops.
    fn share(&self) -> f64 {
        if self.tested == 0 { 1.0 } else { self.dropped as f64 / self.tested as f64 }
    }
    fn pays(&self) -> bool {
        self.tested < OBSERVED_ROWS_MIN || self.share() * ROW_NS > self.test_ns
    }
}

impl FilterOrder {
    fn prepare(&mut self, filters: &[ActiveFilter<'_>]) {
        if self.filters.len() != filters.len() {
            let observed =
                |f: &ActiveFilter<'_>| Observed { test_ns: f.filter.test_ns(), ..Default::default() };
            self.filters = filters.iter().map(observed).collect();
            self.order = (0..filters.len()).collect();
            self.sort();
        }
    }
    fn sequence(&self) -> &[usize] {
        &self.order
    }
    fn observe(&mut self, filter: usize, tested: usize, kept: usize) {
        let observed = &mut self.filters[filter];
        let (tested, dropped) = (tested as u64, (tested - kept) as u64);
        observed.tested += tested;
        observed.dropped += dropped;
        observed.total_tested += tested;
        observed.total_dropped += dropped;
        if observed.tested > FADE_ROWS {
            observed.tested /= 2;
            observed.dropped /= 2;
        }
    }
    fn adapt(&mut self) {
        self.chunks += 1;
        if self.chunks.is_multiple_of(RETRY_CHUNKS) {
            for left_out in (0..self.filters.len()).filter(|f| !self.order.contains(f)) {
                self.filters[left_out].tested = 0;
                self.filters[left_out].dropped = 0;
            }
            self.order = (0..self.filters.len()).collect();
        }
        let filters = &self.filters;
        self.order.retain(|f| filters[*f].pays());
        self.sort();
    }
    fn sort(&mut self) {
        let rank = |f: &usize| self.filters[*f].share() / self.filters[*f].test_ns;
        self.order.sort_by(|a, b| rank(b).total_cmp(&rank(a)));
    }
    /// Rows tested and dropped by each filter since the last call.
    fn take_totals(&mut self) -> Vec<(u64, u64)> {
        self.filters
            .iter_mut()
            .map(|f| (std::mem::take(&mut f.total_tested), std::mem::take(&mut f.total_dropped)))
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn order(costs: &[f64]) -> FilterOrder {
        let observed = |ns: &f64| Observed { test_ns: *ns, ..Default::default() };
        FilterOrder {
            filters: costs.iter().map(observed).collect(),
            order: (0..costs.len()).collect(),
            chunks: 0,
        }
    }

    #[test]
    fn the_filter_that_drops_most_goes_first_and_idle_ones_rest() {
        let mut order = order(&[0.5, 0.5, 0.5]);
        for _ in 0..10 {
            order.observe(0, 8192, 8000);
            order.observe(1, 8000, 800);
            order.observe(2, 800, 400);
            order.adapt();
        }
        assert_eq!(order.sequence(), [1, 2], "filter 0 drops 2 % and rests");
        assert_eq!(order.take_totals(), [(81_920, 1_920), (80_000, 72_000), (8_000, 4_000)]);
        assert_eq!(order.take_totals(), [(0, 0); 3]);
    }

    #[test]
    fn cheap_tests_go_before_dear_ones_that_drop_little_more() {
        let mut order = order(&[3.0, 0.5]);
        order.observe(0, 8192, 4000);
        order.observe(1, 8192, 5000);
        order.adapt();
        assert_eq!(order.sequence(), [1, 0]);
    }

    #[test]
    fn filters_that_rest_are_tried_again() {
        let mut order = order(&[0.5]);
        order.observe(0, 100_000, 100_000);
        order.adapt();
        assert_eq!(order.sequence(), [] as [usize; 0]);
        for _ in 0..RETRY_CHUNKS {
            order.adapt();
        }
        assert_eq!(order.sequence(), [0]);
        // The data has changed: it drops, and stays.
        order.observe(0, 100_000, 0);
        order.adapt();
        assert_eq!(order.sequence(), [0]);
    }
}
