//! Top-k: the first k rows of an order, keeping little more than k rows.
//!
//! Each worker keeps rows with the tags of their units. Beyond twice k rows and a surplus it sorts them by key, tag
//! and place, keeps the first k, and from then on drops rows whose key is behind the k-th; rows with that very key
//! stay, since tags decide among them. The k-th first key goes to the scan below, where there is one (`bound`). The
//! step merges the workers' rows; the source has a single unit.

use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use plan::NodeId;
use types::Result;
use vector::Batch;

use super::Sort;
use super::keys::Keys;
use crate::collect::detached_batch;
use crate::context::QueryContext;
use crate::pipeline::{Flow, Local, Push, Sink, Source, Step, Work, local_state};
use crate::values::slices;

/// Rows kept beyond twice k before the surplus is thrown out.
const SURPLUS_ROWS: usize = 4096;

/// From so many rows on, each worker's are thinned to the first k at the same time before they are put together.
const THINNED_ROWS_MIN: usize = if cfg!(test) { 20 } else { 512 };

/// What the workers' sinks leave, and the first k rows once they are merged.
#[derive(Default)]
pub struct TopState {
    kept: Mutex<Vec<Kept>>,
    rows: OnceLock<Batch>,
}

/// Rows that may be among the first k, each with the tag of its unit.
#[derive(Default)]
struct Kept {
    batches: Vec<Batch>,
    tags: Vec<Vec<u64>>,
    rows: usize,
    /// The k-th key so far: rows behind it are dropped on arrival.
    bound: Option<Keys>,
}

/// Keeps the rows of each worker that may be among the first k.
pub struct TopSink(pub Arc<Sort>);
/// Thins the workers' rows and merges them to the first k.
pub struct TopMerge(pub Arc<Sort>);
/// Delivers the first k rows in order.
pub struct TopRows(pub Arc<Sort>);

impl Sort {
    /// Tells the scan of the last of `rows`, if they are as many as are wanted.
    fn share_bound(&self, rows: &Batch) -> Result<()> {
        let Some(bound) = &self.bound else { return Ok(()) };
        if rows.rows < self.top_rows() || rows.rows == 0 {
            return Ok(());
        }
        let last = self.program.evaluate(&rows.gather(&[rows.rows as u32 - 1]))?;
        let key = last.first().and_then(|key| key.value(0).as_i128());
        if let Some(Ok(key)) = key.map(i64::try_from) {
            bound.tighten(key);
        }
        Ok(())
    }
    fn top_rows(&self) -> usize {
        self.limit.unwrap_or(0) as usize
    }

    /// The first `k` rows of `kept` by key, then tag, then place; in that order.
    fn first(&self, kept: &mut Kept, query: &QueryContext) -> Result<(Batch, Vec<u64>, Option<Keys>)> {
        let all = Batch::concat(&kept.batches);
        let tags: Vec<u64> = kept.tags.concat();
        kept.batches.clear();
        kept.tags.clear();
        if all.rows == 0 {
            return Ok((all, tags, None));
        }
        let keys = self.encode_within(&all, query)?;
        let mut order: Vec<u32> = (0..all.rows as u32).collect();
        let compare = |a: &u32, b: &u32| {
            let (a, b) = (*a as usize, *b as usize);
            keys.compare(a, &keys, b).then(tags[a].cmp(&tags[b])).then(a.cmp(&b))
        };
        let k = self.top_rows();
        if order.len() > k && k > 0 {
            order.select_nth_unstable_by(k - 1, compare);
        }
        order.truncate(k);
        order.sort_unstable_by(compare);
        let bound = order.last().filter(|_| order.len() == k).map(|row| keys.single(*row as usize));
        let kept_tags = order.iter().map(|row| tags[*row as usize]).collect();
        Ok((all.gather(&order), kept_tags, bound))
    }
}

impl Sink for TopSink {
    fn takes_any_order(&self) -> bool {
        true
    }
    fn node(&self) -> NodeId {
        self.0.node
    }
    fn local(&self) -> Local {
        Box::new(Kept::default())
    }
    fn consume(&self, batch: Batch, tag: u64, local: &mut Local, work: &Work<'_>) -> Result<Flow> {
        let sort = &self.0;
        let k = sort.top_rows();
        if k == 0 {
            return Ok(Flow::Enough);
        }
        let kept = local_state::<Kept>(local);
        let batch = match &kept.bound {
            None => batch,
            Some(bound) => {
                let keys = sort.encode_within(&batch, work.query)?;
                let ahead: Vec<u32> = (0..batch.rows as u32)
                    .filter(|row| keys.compare(*row as usize, bound, 0).is_le())
                    .collect();
                if ahead.is_empty() {
                    return Ok(Flow::More);
                }
                if ahead.len() == batch.rows { batch } else { batch.gather(&ahead) }
            }
        };
        let batch = detached_batch(&batch);
        kept.rows += batch.rows;
        kept.tags.push(vec![tag; batch.rows]);
        kept.batches.push(batch);
        if kept.rows > 2 * k + SURPLUS_ROWS {
            let (rows, tags, bound) = sort.first(kept, work.query)?;
            sort.share_bound(&rows)?;
            kept.rows = rows.rows;
            kept.bound = bound;
            // What was dropped may have shared string buffers with what stays.
            kept.batches.push(detached_batch(&rows));
            kept.tags.push(tags);
        }
        Ok(Flow::More)
    }
    fn finish(&self, locals: Vec<Local>, _query: &QueryContext) -> Result<()> {
        let mut all = self.0.top.kept.lock().unwrap_or_else(PoisonError::into_inner);
        all.extend(locals.into_iter().map(|mut l| std::mem::take(local_state::<Kept>(&mut l))));
        Ok(())
    }
}

impl Step for TopMerge {
    fn node(&self) -> NodeId {
        self.0.node
    }
    fn start(&self, _query: &QueryContext) -> Result<u64> {
        let mut kept = self.0.top.kept.lock().unwrap_or_else(PoisonError::into_inner);
        kept.retain(|kept| kept.rows > 0);
        let rows: usize = kept.iter().map(|kept| kept.rows).sum();
        Ok(if rows < THINNED_ROWS_MIN { 0 } else { kept.len() as u64 })
    }
    fn run(&self, partition: u64, work: &Work<'_>) -> Result<()> {
        let place =
            |all: &mut Vec<Kept>, kept| all.get_mut(partition as usize).map(|at| std::mem::replace(at, kept));
        let all = || self.0.top.kept.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(mut kept) = place(&mut all(), Kept::default()) else { return Ok(()) };
        let (rows, tags, bound) = self.0.first(&mut kept, work.query)?;
        place(&mut all(), Kept { rows: rows.rows, batches: vec![rows], tags: vec![tags], bound });
        Ok(())
    }
    fn finish(&self, query: &QueryContext) -> Result<()> {
        let mut together = Kept::default();
        for mut kept in std::mem::take(&mut *self.0.top.kept.lock().unwrap_or_else(PoisonError::into_inner)) {
            together.batches.append(&mut kept.batches);
            together.tags.append(&mut kept.tags);
        }
        let (rows, _, _) = self.0.first(&mut together, query)?;
        // Finish is called once.
        let _ = self.0.top.rows.set(rows);
        Ok(())
    }
}

impl Source for TopRows {
    fn node(&self) -> NodeId {
        self.0.node
    }
    fn start(&self, _query: &QueryContext) -> Result<u64> {
        Ok(1)
    }
    fn run(&self, _unit: u64, _local: &mut Local, work: &Work<'_>, push: &mut Push<'_>) -> Result<Flow> {
        match self.0.top.rows.get() {
            Some(rows) => slices(rows, work.query.settings.batch_rows, push),
            None => Ok(Flow::More),
        }
    }
}
