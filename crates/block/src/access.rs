//! The micro-optimizer: which way a block evaluates one predicate (Chasseur 2015, section 2.3). Where the original
//! system has an order of preference, costs decide here.
//!
//! | path | when it can | cost |
//! | --- | --- | --- |
//! | bounds | minimum, maximum and NULLs of the block decide | nothing |
//! | search | the column ascends | two binary searches a range |
//! | Bloom | equality or IN, all values absent | a miss a value |
//! | aggregates | keys tell (`index::keys`) | a few ns a zone of 1,024 rows, and a scan of those undecided |
//! | tree | keys tell | a few ns a matching row, however many rows there are |
//! | BitWeaving | keys are exact | bits of the rows, less those that early pruning leaves |
//! | scan | always | every row |
//! | probe | few rows are still selected | a miss a selected row |
//!
//! `plan` is done when a predicate is prepared: everything that does not depend on the rows still selected, so that
//! the tree's matches are counted, not guessed. `choose` compares costs when the selection is known: of a conjunction's
//! second predicate only the survivors of the first are looked at.

use std::ops::Range;
use std::sync::Arc;

use simd::{Bitmap, SEGMENT_ROWS, SEGMENT_WORDS};
use types::{ColumnPredicate, Value};

use crate::costs::{AccessPath, PROBE_NS, ScanCost};
use crate::index::aggregates::{self, Verdict, ZONE_ROWS};
use crate::index::keys::{KeyRanges, RowKeys, ranges_of};
use crate::index::{Body, Index};
use crate::predicate::PreparedPredicate;
use crate::store::TupleStore;
use crate::test::Test;
use crate::{AccessCounters, IndexKind};

/// A matching row of a tree: its number read, its bit set.
const TREE_ROW_NS: f64 = 4.5;
/// A word of a bitmap cleared and and-ed.
const WORD_NS: f64 = 0.2;
/// A word of a bit slice.
const SLICE_WORD_NS: f64 = 0.45;
/// Slices beyond the binary logarithm of the rows still undecided that a segment reads on average before it is decided.
const SLICES_EXTRA: f64 = 3.0;
/// A word of packed fields compared.
const FIELD_WORD_NS: f64 = 0.35;
/// A zone's verdict applied.
const ZONE_NS: f64 = 15.0;
/// Trees are not descended for more ranges than this: IN lists of that length are better scanned.
const TREE_RANGES_MAX: usize = 4096;
/// Rows of a block of which one matches, or fewer do, are listed and not set in a bitmap.
const SPARSE_SHARE: usize = 64;
/// Passes over bit slices beyond which a scan of the values is as good.
const WEAVING_RANGES_MAX: usize = 4;

/// A way that an index or the column's order offers.
#[derive(Clone, Debug)]
pub(crate) struct Candidate {
    pub(crate) path: AccessPath,
    answer: Answer,
}

#[derive(Clone, Debug)]
enum Answer {
    /// The rows that pass.
    Runs(Vec<Range<u32>>),
    /// Places in the tree of the rows that pass, or may.
    Places {
        index: Arc<Index>,
        places: Vec<Range<usize>>,
        matches: usize,
        exact: bool,
    },
    Keys {
        index: Arc<Index>,
        ranges: Vec<(u64, u64)>,
    },
    Zones {
        verdicts: Vec<Verdict>,
        undecided: usize,
    },
}

/// The ways of one predicate on one block.
#[derive(Clone, Debug, Default)]
pub(crate) struct AccessPlan {
    candidates: Vec<Candidate>,
    /// The way in which it was found that no row passes, if not by bounds.
    refuted_by: Option<AccessPath>,
    /// A scan may not be chosen: for tests and measurements of one way.
    forced: bool,
}

impl AccessPlan {
    /// The ways other than scans.
    pub(crate) fn paths(&self) -> impl Iterator<Item = AccessPath> + '_ {
        self.candidates.iter().map(|c| c.path)
    }
    pub(crate) fn keep_only(&mut self, path: AccessPath) -> bool {
        self.candidates.retain(|c| c.path == path);
        self.forced = !self.candidates.is_empty();
        self.forced
    }
    pub(crate) fn keep_none(&mut self) {
        self.candidates.clear();
    }
}

/// Finds the ways of a predicate on a column of a store, whose indices are given.
pub(crate) fn plan(
    store: &dyn TupleStore,
    column: usize,
    indices: &[Arc<Index>],
    prepared: &mut PreparedPredicate,
    predicate: &ColumnPredicate,
) {
    if !prepared.reads_values() {
        return;
    }
    if let Some(runs) = store.search(column, prepared) {
        if runs.is_empty() {
            refute(prepared, AccessPath::Search);
        } else {
            let candidate = Candidate { path: AccessPath::Search, answer: Answer::Runs(runs) };
            prepared.access.candidates.push(candidate);
        }
        // Nothing is cheaper than what costs nothing a row.
        return;
    }
    if indices.is_empty() {
        return;
    }
    let absent = |bloom: &crate::index::bloom::Bloom| match predicate {
        ColumnPredicate::In(values) => values.iter().all(|v| !bloom.may_contain(v)),
        _ => equal_to(predicate).is_some_and(|value| !bloom.may_contain(value)),
    };
    if indices.iter().any(|i| matches!(&i.body, Body::Bloom(bloom) if absent(bloom))) {
        refute(prepared, AccessPath::Bloom);
        return;
    }
    let mut keys: Option<Option<KeyRanges>> = None;
    for index in indices.iter().filter(|i| i.kind() != IndexKind::Bloom) {
        let keys =
            keys.get_or_insert_with(|| ranges_of(&index.space, &store.bare(column).values, &prepared.test));
        let Some(keys) = keys else { return };
        if keys.ranges.is_empty() {
            refute(prepared, AccessPath::Bounds);
            return;
        }
        prepared.access.candidates.extend(candidate(index, keys));
    }
}

fn refute(prepared: &mut PreparedPredicate, path: AccessPath) {
    prepared.test = Test::None;
    prepared.access = AccessPlan { refuted_by: Some(path), ..AccessPlan::default() };
}

/// The one value that passes.
fn equal_to(predicate: &ColumnPredicate) -> Option<&Value> {
    match predicate {
        ColumnPredicate::Range { low: Some(low), high: Some(high) }
            if low.inclusive && high.inclusive && low.value == high.value =>
        {
            Some(&low.value)
        }
        _ => None,
    }
}

fn candidate(index: &Arc<Index>, keys: &KeyRanges) -> Option<Candidate> {
    let (path, answer) = match &index.body {
        Body::Tree(tree) if keys.ranges.len() <= TREE_RANGES_MAX => {
            let places: Vec<Range<usize>> =
                keys.ranges.iter().map(|(low, high)| tree.find(*low, *high)).collect();
            let matches = places.iter().map(ExactSizeIterator::len).sum();
            let answer = Answer::Places { index: index.clone(), places, matches, exact: keys.exact };
            (AccessPath::Tree, answer)
        }
        Body::Vertical(_) | Body::Horizontal(_) if keys.exact && keys.ranges.len() <= WEAVING_RANGES_MAX => {
            let path = match index.kind() {
                IndexKind::WeavingVertical => AccessPath::WeavingVertical,
                _ => AccessPath::WeavingHorizontal,
            };
            (path, Answer::Keys { index: index.clone(), ranges: keys.ranges.clone() })
        }
        Body::Aggregates(zones) => {
            let verdicts = zones.verdicts(keys);
            let undecided = verdicts.iter().filter(|v| **v == Verdict::Undecided).count();
            (AccessPath::Aggregates, Answer::Zones { verdicts, undecided })
        }
        _ => return None,
    };
    Some(Candidate { path, answer })
}

impl Candidate {
    /// Nanoseconds for `rows` rows of which `selected` are still selected.
    fn cost(&self, rows: usize, selected: usize, scan: ScanCost) -> f64 {
        let (rows, selected) = (rows as f64, selected as f64);
        let share = if rows > 0.0 { selected / rows } else { 0.0 };
        match &self.answer {
            Answer::Runs(runs) => runs.len() as f64,
            Answer::Places { matches, exact, .. } => {
                let matches = *matches as f64;
                let tested =
                    if *exact { 0.0 } else { matches.min(selected) * scan.selected_ns.max(PROBE_NS) };
                matches * TREE_ROW_NS + rows / 64.0 * WORD_NS + tested
            }
            Answer::Keys { index, ranges } => match &index.body {
                Body::Vertical(slices) => {
                    let in_segment = (share * SEGMENT_ROWS as f64).max(f64::MIN_POSITIVE);
                    let touched = in_segment.min(1.0);
                    let slices = (in_segment.log2().max(0.0) + SLICES_EXTRA).min(f64::from(slices.bits()));
                    rows / 64.0 * touched * slices * SLICE_WORD_NS * ranges.len() as f64
                }
                Body::Horizontal(fields) => {
                    let words = rows / (64 / (fields.bits() + 1)) as f64;
                    (words * FIELD_WORD_NS) * ranges.len() as f64 + rows / 64.0 * WORD_NS
                }
                _ => f64::INFINITY,
            },
            Answer::Zones { verdicts, undecided, .. } => {
                let share = *undecided as f64 / verdicts.len().max(1) as f64;
                verdicts.len() as f64 * ZONE_NS + share * (rows * scan.row_ns + selected * scan.selected_ns)
            }
        }
    }
}

/// The cheapest way for `rows` rows of which `selected` are selected: one that is offered, or looking at values; and
/// what it costs.
fn cheapest<'a>(
    store: &dyn TupleStore,
    column: usize,
    predicate: &'a PreparedPredicate,
    rows: usize,
    selected: usize,
) -> (Option<&'a Candidate>, AccessPath, f64) {
    let scan = store.scan_cost(column);
    let scan_ns = rows as f64 * scan.row_ns + selected as f64 * scan.selected_ns;
    let probe_ns = selected as f64 * scan.probe_ns;
    let mut best = if probe_ns < scan_ns {
        (None, AccessPath::Probe, probe_ns)
    } else {
        (None, AccessPath::Scan, scan_ns)
    };
    if predicate.access.forced {
        best.2 = f64::INFINITY;
    }
    for candidate in &predicate.access.candidates {
        let cost = candidate.cost(rows, selected, scan);
        if cost < best.2 {
            best = (Some(candidate), candidate.path, cost);
        }
    }
    best
}

/// Nanoseconds for a predicate on a block of which so many rows are selected.
pub(crate) fn cost(
    store: &dyn TupleStore,
    column: usize,
    predicate: &PreparedPredicate,
    rows: usize,
    selected: usize,
) -> f64 {
    if !predicate.reads_values() {
        return 0.0;
    }
    cheapest(store, column, predicate, rows, selected).2
}

/// Evaluates a predicate in the cheapest way; tells which. With `anew` all rows are selected, whatever the selection holds:
/// to fill it, count it and read it again is a tenth of what BitWeaving takes.
pub(crate) fn select(
    store: &dyn TupleStore,
    column: usize,
    predicate: &PreparedPredicate,
    rows: Range<usize>,
    selection: &mut Bitmap,
    anew: bool,
    counters: &AccessCounters,
) -> AccessPath {
    if !predicate.reads_values() {
        if anew {
            selection.reset_full(rows.len());
        }
        store.select(column, predicate, rows, selection, counters);
        return predicate.access.refuted_by.unwrap_or(AccessPath::Bounds);
    }
    let selected = if anew { rows.len() } else { selection.count() };
    if selected == 0 {
        if anew {
            selection.reset_empty(rows.len());
        }
        return AccessPath::Bounds;
    }
    let (candidate, path, _) = cheapest(store, column, predicate, rows.len(), selected);
    match candidate {
        Some(candidate) => candidate.select(store, column, predicate, rows, selection, anew, counters),
        None if path == AccessPath::Probe => {
            if anew {
                selection.reset_full(rows.len());
            }
            store.probe(column, predicate, rows, selection, counters);
        }
        None if anew => store.select_anew(column, predicate, rows, selection, counters),
        None => store.select(column, predicate, rows, selection, counters),
    }
    path
}

/// The rows that pass, ascending, where a tree knows them all and is the cheapest way; `None` elsewhere. Nothing is done
/// for each row of the block, as there is for a bitmap of them.
pub(crate) fn rows_found(
    store: &dyn TupleStore,
    column: usize,
    predicate: &PreparedPredicate,
    rows: usize,
) -> Option<Vec<u32>> {
    if !predicate.reads_values() {
        return None;
    }
    let (candidate, _, _) = cheapest(store, column, predicate, rows, rows);
    let Answer::Places { index, places, matches, exact: true } = &candidate?.answer else { return None };
    let Body::Tree(tree) = &index.body else { return None };
    if *matches > rows / SPARSE_SHARE {
        return None;
    }
    let mut found = Vec::with_capacity(*matches);
    places.iter().for_each(|run| found.extend_from_slice(tree.rows(run.clone())));
    sort_rows(&mut found, rows);
    Some(found)
}

const DIGIT_BITS: u32 = 10;
const DIGITS: usize = 1 << DIGIT_BITS;

/// Rows of one key ascend already. Others are sorted by their low and then their high bits, which for some hundred rows
/// takes half as long as comparing them.
fn sort_rows(found: &mut [u32], rows: usize) {
    if found.is_sorted() {
        return;
    }
    let high = rows >> DIGIT_BITS;
    if found.len() < 64 || high >= DIGITS {
        found.sort_unstable();
        return;
    }
    let mut other = vec![0; found.len()];
    scatter(found, &mut other, |row| row as usize % DIGITS);
    scatter(&other, found, |row| (row >> DIGIT_BITS) as usize);
}

/// Puts `rows` in the order of their digits; equal ones stay in their order.
fn scatter(rows: &[u32], into: &mut [u32], digit: impl Fn(u32) -> usize) {
    let mut next = [0u32; DIGITS];
    rows.iter().for_each(|row| next[digit(*row)] += 1);
    let mut sum = 0;
    for next in &mut next {
        sum += std::mem::replace(next, sum);
    }
    for row in rows {
        let next = &mut next[digit(*row)];
        into[*next as usize] = *row;
        *next += 1;
    }
}

impl Candidate {
    fn select(
        &self,
        store: &dyn TupleStore,
        column: usize,
        predicate: &PreparedPredicate,
        rows: Range<usize>,
        selection: &mut Bitmap,
        anew: bool,
        counters: &AccessCounters,
    ) {
        let vertical =
            matches!(&self.answer, Answer::Keys { index, .. } if matches!(index.body, Body::Vertical(_)));
        if anew && vertical {
            selection.reset_unwritten(rows.len());
        } else if anew {
            selection.reset_full(rows.len());
        }
        match &self.answer {
            Answer::Runs(runs) => keep_runs(runs, rows, selection),
            Answer::Places { index, places, exact, .. } => {
                let Body::Tree(tree) = &index.body else { unreachable!("places are a tree's") };
                // Few rows match, so that they are looked up in the selection and put down again: one pass over its
                // words instead of three.
                let matching = places.iter().flat_map(|run| tree.rows(run.clone()));
                let found: Vec<usize> = matching
                    .map(|row| (*row as usize).wrapping_sub(rows.start))
                    .filter(|at| *at < rows.len() && selection.get(*at))
                    .collect();
                selection.clear_all();
                let words = selection.words_mut();
                found.iter().for_each(|at| words[at / 64] |= 1 << (at % 64));
                if !exact {
                    store.probe(column, predicate, rows, selection, counters);
                }
            }
            Answer::Keys { index, ranges } => {
                match &index.body {
                    Body::Vertical(slices) => {
                        let values = &store.bare(column).values;
                        let keys = RowKeys::of(&index.space, values, store.rows());
                        select_vertical(slices, ranges, keys, rows.clone(), selection, anew);
                    }
                    Body::Horizontal(fields) => {
                        selection.and_bits(fields.select(ranges).words(), rows.start);
                    }
                    _ => unreachable!("keys are BitWeaving's"),
                }
                drop_nulls(store, column, rows, selection);
            }
            Answer::Zones { verdicts, .. } => {
                // Words of a run are words of the selection only if it begins with one.
                if !rows.start.is_multiple_of(64) {
                    store.select(column, predicate, rows, selection, counters);
                    return;
                }
                for run in aggregates::apply(verdicts, rows.clone(), selection) {
                    let (from, to) = (run.start - rows.start, run.end - rows.start);
                    let words = from / 64..to.div_ceil(64);
                    let mut part = Bitmap::from_words(selection.words()[words.clone()].to_vec(), to - from);
                    if !part.none() {
                        store.select(column, predicate, run, &mut part, counters);
                        selection.words_mut()[words].copy_from_slice(part.words());
                    }
                }
                drop_nulls(store, column, rows, selection);
            }
        }
    }
}

const _: () = assert!(ZONE_ROWS.is_multiple_of(64), "zones are whole words of a selection");

fn keep_runs(runs: &[Range<u32>], rows: Range<usize>, selection: &mut Bitmap) {
    let mut from = rows.start;
    for run in runs {
        let (start, end) = ((run.start as usize).max(from), (run.end as usize).min(rows.end));
        if start < end {
            selection.clear_range(from - rows.start..start - rows.start);
            from = end;
        }
    }
    selection.clear_range(from - rows.start..rows.len());
}

fn select_vertical(
    slices: &crate::index::weaving::Vertical,
    ranges: &[(u64, u64)],
    keys: Option<RowKeys<'_>>,
    rows: Range<usize>,
    selection: &mut Bitmap,
    anew: bool,
) {
    let first = rows.start / SEGMENT_ROWS;
    let skipped = rows.start - first * SEGMENT_ROWS;
    if skipped == 0 {
        // The selection is the filter: what it has lost need not be decided.
        slices.select(ranges, first, selection.words_mut(), anew, keys);
        selection.clear_tail();
    } else {
        let segments = rows.end.div_ceil(SEGMENT_ROWS) - first;
        let mut words = vec![0; segments * SEGMENT_WORDS];
        slices.select(ranges, first, &mut words, true, keys);
        if anew {
            selection.reset_full(rows.len());
        }
        selection.and_bits(&words, skipped);
    }
}

fn drop_nulls(store: &dyn TupleStore, column: usize, rows: Range<usize>, selection: &mut Bitmap) {
    let Some(nulls) = store.validity(column) else { return };
    // A block's validity begins with its first row and is whole words.
    if let Some(words) = simd::typed::<u64>(nulls.buffer().as_slice()) {
        selection.and_bits(words, rows.start);
    }
}
