//! One block: skipping it, selecting in it, and walking over what is left.
//!
//! `scan_block` is one unit of the scan. The selection bitmap is the worker's, used again for each block, and only
//! ever loses rows: deleted and sampled rows first, then predicates on codes, then runtime filters. Columns that
//! predicates test are pinned before all others; the rest is read only if some row is left, and stays pinned until
//! the unit's batches have been pushed. What the bitmap leaves is delivered batch by batch, through the remaining
//! filters, as ranges where no row is missing. Before any unit runs, `blocks_to_read` chooses the blocks by their
//! bounds.

use std::time::Instant;

use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

use block::{AccessPath, Block, IndexKind, Pinned, PreparedPredicate, Rows};
use catalog::Partitioning;
use expr::Selected;
use plan::{FilterId, ROW_REFERENCE, row_reference};
use types::{Bound, ColumnPredicate, PredicateTree, Result, SampleOf, Type, Value};
use vector::{Batch, Vector};

use super::lookahead::ActiveFilter;
use super::rows::Survivors;
use super::{NumberedBlock, ScanLocal, TableScan};
use crate::context::QueryContext;
use crate::metrics::{ACCESS_PATHS, BYTES_READ};
use crate::pipeline::{Flow, Push, Work};
use crate::runtime_filter::KeyFilter;

impl NumberedBlock<'_> {
    fn references(&self, rows: Rows<'_>) -> Vector {
        let reference = |row: u32| row_reference(self.ordinal, row);
        let references = match rows {
            // Rows of a block are fewer than 2^32.
            Rows::Range(range) => (range.start as u32..range.end as u32).map(reference).collect(),
            Rows::List(list) => list.iter().map(|row| reference(*row)).collect(),
        };
        Vector::from_i64(Type::BigInt, references)
    }
}

impl TableScan {
    /// Scans one block into `push`. Returns `Flow::Enough` when the stages above want no more.
    pub(super) fn scan_block(
        &self,
        place: NumberedBlock<'_>,
        local: &mut ScanLocal,
        work: &Work<'_>,
        push: &mut Push<'_>,
    ) -> Result<Flow> {
        let block = place.block;
        let rows = block.rows();
        if rows == 0 {
            return Ok(Flow::More);
        }
        if work.query.settings.switches.block_skipping && self.is_behind_bounds(block) {
            work.query.metrics.count(self.node, "blocks skipped", 1);
            return Ok(Flow::More);
        }
        if let Some(flow) = self.scan_listed(place, work, push)? {
            return Ok(flow);
        }
        let deleted = self.table.data.deleted(place.ordinal as usize);
        // All rows are asked about: the first predicate writes the selection, which need not be filled for it.
        let anew = deleted.is_none() && self.sample.is_none();
        if !anew {
            local.selection.reset_full(rows);
        }
        if let Some(deleted) = deleted {
            local.selection.and(&deleted.live);
        }
        if let Some(sample) = self.sample.filter(|s| s.of == SampleOf::Rows) {
            // By the row's number in the table, so that neither blocks nor workers matter.
            let before = self.table.data.row_offsets()[place.ordinal as usize];
            local.selection.retain(|row| sample.takes(before + row as u64));
            if local.selection.none() {
                return Ok(Flow::More);
            }
        }
        // What rows are tested by first, and the rest only where some are left.
        let begun = Instant::now();
        let tested = block.pin_tested(&self.tested)?;
        self.count_read(&tested, begun, work);
        let evaluated = self.select(&tested, &mut local.selection, anew, work)?;
        self.wanted.count(!local.selection.none());
        if local.selection.none() {
            return Ok(Flow::More);
        }
        let begun = Instant::now();
        let pinned = tested.pin(&self.read)?;
        self.count_read(&pinned, begun, work);
        let block: &Block = &pinned;
        let place = NumberedBlock { block, ..place };
        self.count_bytes(block, work);
        let filters = self.active_filters(work.query);
        if !filters.is_empty() {
            self.look_ahead(block, &filters, local, work);
            if local.selection.none() {
                return Ok(Flow::More);
            }
        }
        let batch_rows = work.query.settings.batch_rows;
        let on_codes = self.hands_out_codes(block, &evaluated);
        // Full windows are taken as ranges, without a copy; what is left of the others is gathered into full batches.
        let mut list: Vec<u32> = Vec::new();
        let mut at = 0;
        while at < rows {
            let window = at..(at + batch_rows * WINDOW_BATCHES).min(rows);
            let kept = if on_codes { local.selection.count_range(window.clone()) } else { 0 };
            if is_window(window.clone(), kept) {
                at = window.end;
                let words = &local.selection.words()[window.start / 64..window.end.div_ceil(64)];
                let words = (kept < window.len()).then_some(words);
                if self.deliver_codes(block, window, words, push)? == Flow::Enough {
                    return Ok(Flow::Enough);
                }
                continue;
            }
            let end = (at + batch_rows).min(rows);
            let kept = local.selection.count_range(at..end);
            if kept == end - at && list.is_empty() {
                let survivors = Survivors::range(at..end);
                if self.deliver(place, survivors, &evaluated, work, push)? == Flow::Enough {
                    return Ok(Flow::Enough);
                }
            } else if kept > 0 {
                local.selection.append_indices(at..end, &mut list);
                while list.len() >= batch_rows {
                    let rest = list.split_off(batch_rows);
                    let survivors = Survivors::list(std::mem::replace(&mut list, rest));
                    if self.deliver(place, survivors, &evaluated, work, push)? == Flow::Enough {
                        return Ok(Flow::Enough);
                    }
                }
            }
            at = end;
        }
        if list.is_empty() {
            return Ok(Flow::More);
        }
        self.deliver(place, Survivors::list(list), &evaluated, work, push)
    }

    /// Whether no row of the block can come out of a top-k above.
    fn is_behind_bounds(&self, block: &Block) -> bool {
        self.bounds.iter().any(|(column, bound)| bound.excludes(block.statistics(self.columns[*column])))
    }

    /// Scans a block whose index lists the few rows that pass, where nothing else decides about rows: what a bitmap
    /// of all rows costs would be most of it. `None` for all other blocks.
    fn scan_listed(
        &self,
        place: NumberedBlock<'_>,
        work: &Work<'_>,
        push: &mut Push<'_>,
    ) -> Result<Option<Flow>> {
        let (block, settings) = (place.block, &work.query.settings);
        let PredicateTree::And(parts) = &self.tree else { return Ok(None) };
        let [PredicateTree::Leaf(column, predicate)] = parts.as_slice() else { return Ok(None) };
        let has_tree = block.indices().any(|(i, _)| i.column == *column && i.kind == IndexKind::Tree);
        let others = self.sample.is_some()
            || self.table.data.deleted(place.ordinal as usize).is_some()
            || !self.active_filters(work.query).is_empty();
        if !has_tree || others || !settings.switches.predicates_on_codes || !settings.switches.like_search {
            return Ok(None);
        }
        let begun = Instant::now();
        let tested = block.pin_tested(&self.tested)?;
        self.count_read(&tested, begun, work);
        let Some(rows) = tested.rows_found(&tested.prepare(*column, predicate)) else { return Ok(None) };
        if settings.analyze {
            work.query.metrics.tally(self.node, ACCESS_PATHS, [AccessPath::Tree.name()].into_iter());
        }
        if rows.is_empty() {
            return Ok(Some(Flow::More));
        }
        let begun = Instant::now();
        let pinned = tested.pin(&self.read)?;
        self.count_read(&pinned, begun, work);
        let block: &Block = &pinned;
        self.count_bytes(block, work);
        let evaluated = vec![false; self.filters.len()];
        for rows in rows.chunks(settings.batch_rows) {
            let survivors = Survivors::list(rows.to_vec());
            if self.deliver(NumberedBlock { block, ..place }, survivors, &evaluated, work, push)?
                == Flow::Enough
            {
                return Ok(Some(Flow::Enough));
            }
        }
        Ok(Some(Flow::More))
    }

    /// Whether the block's rows may leave as codes: they are wanted, the keys are bytes, and nothing is left to test.
    fn hands_out_codes(&self, block: &Block, evaluated: &[bool]) -> bool {
        let Some(wanted) = &self.codes else { return false };
        let column = |at: &usize| self.columns[self.projection[*at]];
        !wanted.refused.load(Relaxed)
            && self.bounds.is_empty()
            && self.projection.iter().all(|at| self.columns[*at] != ROW_REFERENCE)
            && evaluated.iter().all(|done| *done)
            && wanted.keys.iter().all(|key| block.coding(column(key)).code_width() == Some(1))
            && (0..self.projection.len()).all(|at| block.validity(column(&at)).is_none())
    }

    fn deliver_codes(
        &self,
        block: &Block,
        rows: Range<usize>,
        selection: Option<&[u64]>,
        push: &mut Push<'_>,
    ) -> Result<Flow> {
        let fetch = |column: &usize| block.fetch_codes(self.columns[*column], rows.clone());
        let mut batch = Batch::new(self.projection.iter().map(fetch).collect(), rows.len());
        batch.selection = selection.map(Arc::from);
        push(batch)
    }

    /// Those of its runtime filters that were published, which is all unless they are switched off.
    fn active_filters<'a>(&self, query: &'a QueryContext) -> Vec<ActiveFilter<'a>> {
        if !query.settings.runtime_filters {
            return Vec::new();
        }
        let active = |(id, column): &(FilterId, usize)| {
            let filter: &'a Arc<KeyFilter> = query.filter(*id)?;
            Some(ActiveFilter { filter, column: *column })
        };
        self.runtime_filters.iter().filter_map(active).collect()
    }

    /// The blocks in which some row may pass every predicate and every runtime filter, by their bounds.
    pub(super) fn blocks_to_read(&self, query: &QueryContext) -> Vec<u32> {
        let data = &self.table.data;
        let part = query.part(self.node, data.blocks().len());
        let sampled =
            |block: &u32| self.sample.is_none_or(|s| s.of != SampleOf::Blocks || s.takes(u64::from(*block)));
        let taken = |block: &u32| part.contains(&(*block as usize)) && sampled(block);
        if !query.settings.switches.block_skipping {
            return (0..data.blocks().len() as u32).filter(taken).collect();
        }
        let mut blocks = data.prune(&self.tree);
        blocks.retain(taken);
        self.skip_partitions(&self.tree, &mut blocks);
        for active in self.active_filters(query) {
            let Some((low, high)) = active.filter.bounds else { continue };
            let column = self.columns[active.column];
            if let Some(predicate) = within(low, high, data.types()[column]) {
                self.skip_partitions(&PredicateTree::Leaf(column, predicate), &mut blocks);
            }
            // Packed bounds where there are some: a block's own statistics are a few cache misses away, and all other
            // workers wait.
            if let Some((min, max)) = data.zones().bounds(column) {
                let end = |v: i128| v.clamp(i64::MIN.into(), i64::MAX.into()) as i64;
                let (low, high) = (end(low), end(high));
                blocks.retain(|block| {
                    let (min, max) = (min[*block as usize], max[*block as usize]);
                    // Nothing is known of a block of NULLs.
                    min > max || (max >= low && min <= high)
                });
                continue;
            }
            blocks.retain(|block| {
                let s = data.block(*block as usize).statistics(column);
                match (s.min.as_i128(), s.max.as_i128()) {
                    (Some(min), Some(max)) => max >= low && min <= high,
                    _ => true,
                }
            });
        }
        let all = (0..data.blocks().len() as u32).filter(taken).count();
        let skipped = all - blocks.len();
        if skipped > 0 {
            query.metrics.count(self.node, "blocks skipped", skipped as u64);
        }
        blocks
    }

    /// Drops the blocks of partitions in which no row can pass.
    fn skip_partitions(&self, tree: &PredicateTree, blocks: &mut Vec<u32>) {
        let Some(partitioning) = &self.table.partitioning else { return };
        if let Some(keep) = partitions_of(tree, partitioning) {
            blocks.retain(|block| {
                let at = partitioning.of_block(self.table.data.block(*block as usize));
                at.is_none_or(|at| keep.get(at).copied().unwrap_or(true))
            });
        }
    }

    /// Steps that work on the whole block, and with `anew` on all its rows, whatever the selection holds. Returns
    /// which of `filters` need no further evaluation.
    fn select(
        &self,
        block: &Block,
        selection: &mut block::Bitmap,
        anew: bool,
        work: &Work<'_>,
    ) -> Result<Vec<bool>> {
        let rows = block.rows();
        let settings = &work.query.settings;
        let mut evaluated = vec![false; self.filters.len()];
        if !settings.switches.predicates_on_codes {
            if anew {
                selection.reset_full(rows);
            }
            self.select_values(block, selection);
            return Ok(evaluated);
        }
        let searches = settings.switches.like_search;
        let adapt = |predicate: PreparedPredicate| if searches { predicate } else { predicate.row_by_row() };
        let paths = if anew {
            block.select_tree_anew(&self.tree, selection, adapt)
        } else {
            block.select_tree(&self.tree, selection, adapt)
        };
        if settings.analyze {
            work.query.metrics.tally(self.node, ACCESS_PATHS, paths.iter().map(|path| path.name()));
        }
        if selection.none() {
            return Ok(vec![true; self.filters.len()]);
        }
        for (filter, done) in self.filters.iter().zip(&mut evaluated) {
            let Some(needed) = filter.only_column() else { continue };
            let column = self.columns[needed];
            let Some(values) = block.dictionary(column) else { continue };
            // NULL rows have no code; a filter that NULL passes (IS NULL and its kin) is left to the row path.
            if values.len() * 2 > rows || block.validity(column).is_some() {
                continue;
            }
            let accept = accepted(filter, &values)?;
            block.select_codes(column, &accept, 0..rows, selection);
            *done = true;
        }
        Ok(evaluated)
    }

    /// Predicates on values, row by row.
    fn select_values(&self, block: &Block, selection: &mut block::Bitmap) {
        let mut used = Vec::new();
        self.tree.add_columns(&mut used);
        let mut columns: Vec<Option<Vector>> = vec![None; block.columns()];
        for column in used {
            columns[column].get_or_insert_with(|| block.fetch(column, 0..block.rows()).flatten());
        }
        selection.retain(|row| {
            self.tree.accepts(&|column| columns[column].as_ref().map_or(Value::Null, |c| c.value(row)))
        });
    }

    /// Records I/O wait and bytes read, for columns that had to come from files.
    fn count_read(&self, pinned: &Pinned<'_>, begun: Instant, work: &Work<'_>) {
        if pinned.bytes_read() > 0 {
            work.context.note_wait(begun.elapsed().as_nanos() as u64);
            work.query.metrics.count(self.node, BYTES_READ, pinned.bytes_read());
        }
    }

    fn count_bytes(&self, block: &Block, work: &Work<'_>) {
        if work.query.settings.analyze {
            let bytes: usize = self.read.iter().map(|c| block.column_bytes(*c)).sum();
            work.query.metrics.add(self.node, 0, 0, 0, bytes as u64);
        }
    }

    /// Steps 4 and 5 for at most a batch of rows.
    fn deliver(
        &self,
        place: NumberedBlock<'_>,
        mut survivors: Survivors,
        evaluated: &[bool],
        work: &Work<'_>,
        push: &mut Push<'_>,
    ) -> Result<Flow> {
        let mut fetched: Vec<Option<Vector>> = vec![None; self.columns.len()];
        for (column, bound) in &self.bounds {
            let keys = self.fetch(place, *column, &survivors, &mut fetched);
            if let Some(kept) = bound.retain(&keys) {
                if work.query.settings.analyze {
                    let dropped = survivors.len() - kept.len();
                    work.query.metrics.count(self.node, "top-k bound dropped", dropped as u64);
                }
                if kept.is_empty() {
                    return Ok(Flow::More);
                }
                survivors.keep(&kept, &mut fetched);
            }
        }
        for (filter, done) in self.filters.iter().zip(evaluated) {
            if survivors.is_empty() {
                return Ok(Flow::More);
            }
            if *done {
                continue;
            }
            let columns =
                filter.needs.iter().map(|c| self.fetch(place, *c, &survivors, &mut fetched)).collect();
            let how = work.query.how();
            match filter.computation.select(
                &Batch::new(columns, survivors.len()),
                expr::Room::UNBOUNDED,
                &how,
            )? {
                Selected::All => {}
                Selected::None => return Ok(Flow::More),
                Selected::Rows(kept) => survivors.keep(&kept, &mut fetched),
            }
        }
        if survivors.is_empty() {
            return Ok(Flow::More);
        }
        let columns =
            self.projection.iter().map(|c| self.fetch(place, *c, &survivors, &mut fetched)).collect();
        push(Batch::new(columns, survivors.len()))
    }

    fn fetch(
        &self,
        place: NumberedBlock<'_>,
        column: usize,
        survivors: &Survivors,
        fetched: &mut [Option<Vector>],
    ) -> Vector {
        fetched[column]
            .get_or_insert_with(|| match (self.columns[column], survivors.rows()) {
                (ROW_REFERENCE, rows) => place.references(rows),
                (column, rows) => place.block.fetch(column, rows),
            })
            .clone()
    }
}

/// Batches of a window: nothing is copied for it, and columns read in longer pieces are read faster.
const WINDOW_BATCHES: usize = 4;
/// Windows with fewer rows are merged on their way, which codes cannot be.
const WINDOW_ROWS_MIN: usize = 256;
/// Rows that are not selected cost a sum about a tenth of what gathering costs one that is.
const SELECTED_SHARE_MIN: usize = 8;

/// Whether so many rows of a window are worth summing where they lie.
fn is_window(rows: Range<usize>, selected: usize) -> bool {
    rows.len() >= WINDOW_ROWS_MIN
        && rows.start.is_multiple_of(64)
        && selected * SELECTED_SHARE_MIN >= rows.len()
}

/// For each distinct value, whether the filter is TRUE for it.
/// Values that a filter lets through are listed where they are as few as this, because a list tells more of hashes.
const VALUES_LISTED_MAX: i128 = 64;

/// That a column's value lies between the bounds of a filter.
fn within(low: i128, high: i128, ty: Type) -> Option<ColumnPredicate> {
    let value = |v: i128| Value::from_i128(v, ty.physical());
    if low <= high && high - low < VALUES_LISTED_MAX {
        return (low..=high)
            .map(value)
            .collect::<Option<Vec<Value>>>()
            .map(|v| ColumnPredicate::In(v.into()));
    }
    let bound = |v: i128| value(v).map(|value| Bound { value, inclusive: true });
    Some(ColumnPredicate::Range { low: Some(bound(low)?), high: Some(bound(high)?) })
}

fn accepted(filter: &super::ScanFilter, values: &Arc<Vector>) -> Result<Vec<bool>> {
    let distinct = values.len();
    let how = codegen::How { execution: codegen::Execution::Vectorized, cache: None };
    let values = Batch::new(vec![(**values).clone()], distinct);
    let selected = filter.computation.select(&values, expr::Room::UNBOUNDED, &how)?;
    let mut accept = vec![matches!(selected, Selected::All); distinct];
    if let Selected::Rows(rows) = selected {
        for row in rows {
            accept[row as usize] = true;
        }
    }
    Ok(accept)
}

/// How many partitions the predicates leave of how many, and which.
pub(super) fn partitions_left(tree: &PredicateTree, partitioning: &Partitioning) -> String {
    let all = || vec![true; partitioning.names.len()];
    let left = partitions_of(tree, partitioning).unwrap_or_else(all);
    let names = partitioning.names.iter().zip(&left).filter(|(_, left)| **left);
    let names: Vec<&str> = names.map(|(name, _)| name.as_str()).collect();
    let mut shown = format!("{} of {}", names.len(), left.len());
    // Few are worth naming.
    if !names.is_empty() && names.len() < left.len() && names.len() <= 8 {
        shown.push_str(&format!(" ({})", names.join(", ")));
    }
    shown
}

/// The partitions in which rows may pass, one flag each; `None` when the predicates do not tell.
fn partitions_of(tree: &PredicateTree, partitioning: &Partitioning) -> Option<Vec<bool>> {
    let both = |together: fn(bool, bool) -> bool| {
        move |a: Vec<bool>, b: Vec<bool>| {
            a.iter().zip(&b).map(|(a, b)| together(*a, *b)).collect::<Vec<bool>>()
        }
    };
    match tree {
        PredicateTree::Leaf(column, predicate) if *column == partitioning.column => {
            partitioning.scheme.may_match(predicate)
        }
        PredicateTree::Leaf(..) => None,
        PredicateTree::And(parts) => {
            parts.iter().filter_map(|part| partitions_of(part, partitioning)).reduce(both(|a, b| a && b))
        }
        PredicateTree::Or(parts) => {
            let each =
                parts.iter().map(|part| partitions_of(part, partitioning)).collect::<Option<Vec<_>>>()?;
            each.into_iter().reduce(both(|a, b| a || b))
        }
    }
}
