//! One block: skipping it, selecting in it, and walking over what is left.

use std::sync::Arc;

use block::{Block, Rows};
use expr::Selected;
use types::Result;
use vector::{Batch, Vector};

use super::rows::{ActiveFilter, Survivors};
use super::{ScanLocal, TableScan};
use crate::pipeline::{Flow, Push, Work};
use crate::runtime_filter::KeyFilter;

impl TableScan {
    pub(super) fn scan_block(
        &self,
        block: &Block,
        local: &mut ScanLocal,
        work: &Work<'_>,
        push: &mut Push<'_>,
    ) -> Result<Flow> {
        let rows = block.rows();
        if rows == 0 {
            return Ok(Flow::More);
        }
        let filters = self.active_filters(work);
        if work.query.settings.block_skipping && self.skips(block, &filters) {
            work.query.metrics.count(self.node, "blocks skipped", 1);
            return Ok(Flow::More);
        }
        local.selection.reset_full(rows);
        let evaluated = self.select(block, &mut local.selection, work)?;
        if local.selection.none() {
            return Ok(Flow::More);
        }
        self.count_bytes(block, work);
        local.order.prepare(filters.len());
        let batch_rows = work.query.settings.batch_rows;
        // Full windows are taken as ranges, without a copy; what is left of the others is gathered into full batches.
        let mut list: Vec<u32> = Vec::new();
        let mut at = 0;
        while at < rows {
            let end = (at + batch_rows).min(rows);
            let kept = local.selection.count_range(at..end);
            if kept == end - at && list.is_empty() {
                let survivors = Survivors::range(at..end);
                if self.deliver(block, survivors, &filters, &evaluated, local, work, push)? == Flow::Enough {
                    return Ok(Flow::Enough);
                }
            } else if kept > 0 {
                local.selection.append_indices(at..end, &mut list);
                while list.len() >= batch_rows {
                    let rest = list.split_off(batch_rows);
                    let survivors = Survivors::list(std::mem::replace(&mut list, rest));
                    if self.deliver(block, survivors, &filters, &evaluated, local, work, push)?
                        == Flow::Enough
                    {
                        return Ok(Flow::Enough);
                    }
                }
            }
            at = end;
        }
        if list.is_empty() {
            return Ok(Flow::More);
        }
        self.deliver(block, Survivors::list(list), &filters, &evaluated, local, work, push)
    }

    fn active_filters<'a>(&self, work: &Work<'a>) -> Vec<ActiveFilter<'a>> {
        if !work.query.settings.runtime_filters {
            return Vec::new();
        }
        self.runtime_filters
            .iter()
            .filter_map(|(id, column)| {
                let filter: &'a Arc<KeyFilter> = work.query.filter(*id)?;
                Some(ActiveFilter { filter, column: *column })
            })
            .collect()
    }

    /// No row of the block can pass.
    fn skips(&self, block: &Block, filters: &[ActiveFilter<'_>]) -> bool {
        let rows = block.rows() as u64;
        let by_predicate = self.predicates.iter().any(|(column, predicate)| {
            let s = block.statistics(self.columns[*column]);
            !predicate.may_match(&s.min, &s.max, s.null_count, rows)
        });
        by_predicate
            || filters.iter().any(|f| {
                let s = block.statistics(self.columns[f.column]);
                match (f.filter.bounds, s.min.as_i128(), s.max.as_i128()) {
                    (Some((low, high)), Some(min), Some(max)) => max < low || min > high,
                    _ => false,
                }
            })
    }

    /// Steps that work on the whole block. Returns which of `filters` need no further evaluation.
    fn select(&self, block: &Block, selection: &mut block::Bitmap, work: &Work<'_>) -> Result<Vec<bool>> {
        let rows = block.rows();
        for (column, predicate) in &self.predicates {
            let column = self.columns[*column];
            if work.query.settings.predicates_on_codes {
                let prepared = block.prepare(column, predicate);
                block.select_prepared(&prepared, 0..rows, selection);
            } else {
                let values = block.fetch(column, 0..rows).flatten();
                selection.retain(|row| predicate.accepts(&values.value(row)));
            }
            if selection.none() {
                return Ok(vec![true; self.filters.len()]);
            }
        }
        let mut evaluated = vec![false; self.filters.len()];
        if !work.query.settings.predicates_on_codes {
            return Ok(evaluated);
        }
        for (filter, done) in self.filters.iter().zip(&mut evaluated) {
            let ([needed], true) = (filter.needs.as_slice(), filter.total) else { continue };
            let column = self.columns[*needed];
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

    fn count_bytes(&self, block: &Block, work: &Work<'_>) {
        if work.query.settings.analyze {
            let bytes: usize = self.columns.iter().map(|c| block.column_bytes(*c)).sum();
            work.query.metrics.add(self.node, 0, 0, 0, bytes as u64);
        }
    }

    /// Steps 3 to 5 for at most a batch of rows.
    #[allow(clippy::too_many_arguments)]
    fn deliver(
        &self,
        block: &Block,
        mut survivors: Survivors,
        filters: &[ActiveFilter<'_>],
        evaluated: &[bool],
        local: &mut ScanLocal,
        work: &Work<'_>,
        push: &mut Push<'_>,
    ) -> Result<Flow> {
        let mut fetched: Vec<Option<Vector>> = vec![None; self.columns.len()];
        if !filters.is_empty() {
            self.apply_runtime_filters(block, &mut survivors, filters, &mut fetched, local, work);
        }
        for (filter, done) in self.filters.iter().zip(evaluated) {
            if survivors.is_empty() {
                return Ok(Flow::More);
            }
            if *done {
                continue;
            }
            let columns =
                filter.needs.iter().map(|c| self.fetch(block, *c, &survivors, &mut fetched)).collect();
            match filter.predicate.select(&Batch::new(columns, survivors.len()))? {
                Selected::All => {}
                Selected::None => return Ok(Flow::More),
                Selected::Rows(kept) => survivors.keep(&kept, &mut fetched),
            }
        }
        if survivors.is_empty() {
            return Ok(Flow::More);
        }
        let columns =
            self.projection.iter().map(|c| self.fetch(block, *c, &survivors, &mut fetched)).collect();
        push(Batch::new(columns, survivors.len()))
    }

    fn fetch(
        &self,
        block: &Block,
        column: usize,
        survivors: &Survivors,
        fetched: &mut [Option<Vector>],
    ) -> Vector {
        fetched[column]
            .get_or_insert_with(|| match survivors.rows() {
                Rows::Range(range) => block.fetch(self.columns[column], range),
                Rows::List(list) => block.fetch(self.columns[column], list),
            })
            .clone()
    }

    fn apply_runtime_filters(
        &self,
        block: &Block,
        survivors: &mut Survivors,
        filters: &[ActiveFilter<'_>],
        fetched: &mut [Option<Vector>],
        local: &mut ScanLocal,
        work: &Work<'_>,
    ) {
        for at in local.order.sequence() {
            if survivors.is_empty() {
                return;
            }
            let active = &filters[at];
            let keys = self.fetch(block, active.column, survivors, fetched);
            let before = survivors.len();
            let mut kept: Vec<u32> = (0..before as u32).collect();
            active.filter.retain(&keys, &mut kept);
            local.order.observe(at, before, kept.len());
            if work.query.settings.analyze {
                let name = format!("filter {}", self.runtime_filters[at].0.0);
                work.query.metrics.count(self.node, &format!("{name} tested"), before as u64);
                work.query.metrics.count(self.node, &format!("{name} dropped"), (before - kept.len()) as u64);
            }
            if kept.len() < before {
                survivors.keep(&kept, fetched);
            }
        }
        local.order.adapt();
    }
}

/// For each distinct value, whether the filter is TRUE for it.
fn accepted(filter: &super::ScanFilter, values: &Arc<Vector>) -> Result<Vec<bool>> {
    let distinct = values.len();
    let selected = filter.predicate.select(&Batch::new(vec![(**values).clone()], distinct))?;
    let mut accept = vec![matches!(selected, Selected::All); distinct];
    if let Selected::Rows(rows) = selected {
        for row in rows {
            accept[row as usize] = true;
        }
    }
    Ok(accept)
}
