//! File scan: a reader's units become work orders, and rows are dropped before most columns are decoded.
//!
//! In order, and each step only for what the one before left:
//! 1. before the scan begins, the file's statistics against the scan's conditions and the bounds of runtime filters:
//!    files, row groups and pages in which no row can pass are not read (`file_skipping`);
//! 2. the scan's filters, window by window, each decoding only the columns it needs;
//! 3. runtime filters of joins above (LIP), those that drop little resting;
//! 4. the columns that leave the scan, for the rows that are left (`late_fetch`).

use std::ops::Range;
use std::sync::{Arc, OnceLock};

use expr::Selected;
use formats::{Skipped, Window};
use plan::{FilterId, NodeId, PhysicalNode, PhysicalPlan, Pruning};
use types::{Bound, ColumnPredicate, Error, Physical, Result, Value};
use vector::{Batch, Vector};

use crate::context::{QueryContext, out_of_memory};
use crate::pipeline::{Flow, Local, Push, Source, Work, local_state};
use crate::runtime_filter::KeyFilter;
use crate::table_scan::ScanFilter;

/// The source that reads a file in place; a unit is what the format's reader makes one.
pub struct FileScan {
    node: NodeId,
    reader: Arc<dyn formats::Reader>,
    /// The physical type of each fetched column.
    types: Vec<Physical>,
    filters: Vec<ScanFilter>,
    pruning: Vec<Pruning>,
    runtime_filters: Vec<(FilterId, usize)>,
    projection: Vec<usize>,
    /// The units that this engine reads.
    units: OnceLock<Range<u64>>,
}

/// Rows that a runtime filter must have seen before its miss rate is believed.
const OBSERVED_ROWS_MIN: u64 = 1 << 15;
/// A filter that drops a smaller share rests for the remainder of the worker's scan.
const DROPPED_SHARE_MIN: f64 = 0.05;

/// Rows that each runtime filter has tested and dropped in one worker.
#[derive(Default)]
struct ScanLocal {
    tested: Vec<u64>,
    dropped: Vec<u64>,
}

impl FileScan {
    /// Opens the file, so that errors of reading and of its form come from here. `plan` has to be a FileScan node.
    pub fn new(plan: &PhysicalPlan, query: &QueryContext) -> Result<Self> {
        let PhysicalNode::FileScan { file, columns, fetched, filters, pruning, runtime_filters, projection } =
            &plan.node
        else {
            return Err(Error::internal("not a file scan"));
        };
        // What is made as a whole is made as far as the query has memory for it.
        let budget = query.budget.clone();
        let ask = move |bytes| budget.reserve(bytes).map(drop).map_err(out_of_memory);
        let environment = query.environment.asking(Arc::new(ask));
        let reader =
            formats::open_noting(&environment, file, columns, query.settings.batch_rows, &query.rejects)?;
        Ok(FileScan {
            node: plan.id,
            reader,
            types: fetched.iter().map(|c| c.ty.physical()).collect(),
            filters: filters.iter().map(ScanFilter::new).collect::<Result<_>>()?,
            pruning: pruning.clone(),
            runtime_filters: runtime_filters.iter().map(|f| (f.filter, f.column)).collect(),
            projection: projection.clone(),
            units: OnceLock::new(),
        })
    }

    /// Those of its runtime filters that were published, which is all unless they are switched off.
    fn active_filters<'a>(&self, query: &'a QueryContext) -> Vec<(&'a Arc<KeyFilter>, usize)> {
        if !query.settings.runtime_filters {
            return Vec::new();
        }
        self.runtime_filters.iter().filter_map(|(id, column)| Some((query.filter(*id)?, *column))).collect()
    }

    fn prune(&self, query: &QueryContext) -> Result<()> {
        if !query.settings.switches.file_skipping {
            return Ok(());
        }
        let mut conditions = self.pruning.clone();
        // Nodes of a cluster must agree on the units, of which each reads a part, and may know different filters.
        let filters = if query.node.is_some() { Vec::new() } else { self.active_filters(query) };
        for (filter, column) in filters {
            if let Some((low, high)) = filter.bounds {
                conditions.push(Pruning::Column(column, between(low, high, self.types[column])));
            }
        }
        if conditions.is_empty() {
            return Ok(());
        }
        let Skipped { files, files_skipped, groups, groups_skipped, pages, pages_skipped } =
            self.reader.prune(&conditions)?;
        for (name, of, skipped) in [
            ("files", files, files_skipped),
            ("row groups", groups, groups_skipped),
            ("pages", pages, pages_skipped),
        ] {
            if skipped > 0 {
                query.metrics.state(self.node, &format!("{name} skipped"), format!("{skipped} of {of}"));
            }
        }
        Ok(())
    }

    fn window(
        &self,
        window: &mut dyn Window,
        local: &mut ScanLocal,
        work: &Work<'_>,
        push: &mut Push<'_>,
    ) -> Result<Flow> {
        let mut rows =
            WindowRows { kept: None, total: window.rows(), fetched: vec![None; window.columns()], window };
        if rows.total == 0 {
            return Ok(Flow::More);
        }
        if !work.query.settings.switches.late_fetch {
            for column in 0..rows.fetched.len() {
                rows.fetch(column)?;
            }
        }
        for filter in &self.filters {
            let columns = filter.needs.iter().map(|c| rows.fetch(*c)).collect::<Result<Vec<_>>>()?;
            let how = work.query.how();
            match filter.computation.select(&Batch::new(columns, rows.len()), expr::Room::UNBOUNDED, &how)? {
                Selected::All => {}
                Selected::None => return Ok(Flow::More),
                Selected::Rows(kept) => rows.keep(kept),
            }
            if rows.len() == 0 {
                return Ok(Flow::More);
            }
        }
        for (at, (filter, column)) in self.active_filters(work.query).into_iter().enumerate() {
            local.tested.resize(local.tested.len().max(at + 1), 0);
            local.dropped.resize(local.dropped.len().max(at + 1), 0);
            let (tested, dropped) = (local.tested[at], local.dropped[at]);
            if tested >= OBSERVED_ROWS_MIN && (dropped as f64) < tested as f64 * DROPPED_SHARE_MIN {
                continue;
            }
            let keys = rows.fetch(column)?;
            let mut kept: Vec<u32> = (0..rows.len() as u32).collect();
            filter.retain(&keys, &mut kept);
            local.tested[at] += keys.len() as u64;
            local.dropped[at] += (keys.len() - kept.len()) as u64;
            if work.query.settings.analyze {
                let name = format!("filter {}", self.runtime_filters[at].0.0);
                work.query.metrics.count(self.node, &format!("{name} tested"), keys.len() as u64);
                work.query.metrics.count(
                    self.node,
                    &format!("{name} dropped"),
                    (keys.len() - kept.len()) as u64,
                );
            }
            if kept.is_empty() {
                return Ok(Flow::More);
            }
            if kept.len() < keys.len() {
                rows.keep(kept);
            }
        }
        let columns = self.projection.iter().map(|c| rows.fetch(*c)).collect::<Result<Vec<_>>>()?;
        push(Batch::new(columns, rows.len()))
    }
}

/// The rows of a window still in play, and the columns fetched for them.
struct WindowRows<'a> {
    window: &'a mut dyn Window,
    total: usize,
    /// `None`: all of them.
    kept: Option<Vec<u32>>,
    fetched: Vec<Option<Vector>>,
}

impl WindowRows<'_> {
    fn len(&self) -> usize {
        self.kept.as_ref().map_or(self.total, Vec::len)
    }
    fn fetch(&mut self, column: usize) -> Result<Vector> {
        if let Some(vector) = &self.fetched[column] {
            return Ok(vector.clone());
        }
        let vector = match &self.kept {
            None => self.window.fetch(column, 0..self.total)?,
            Some(rows) => self.window.fetch_rows(column, rows)?,
        };
        self.fetched[column] = Some(vector.clone());
        Ok(vector)
    }
    /// Narrows to the rows at `places` (indices into the present ones).
    fn keep(&mut self, places: Vec<u32>) {
        for vector in self.fetched.iter_mut().flatten() {
            *vector = vector.gather(&places);
        }
        self.kept = Some(match &self.kept {
            None => places,
            Some(rows) => places.iter().map(|place| rows[*place as usize]).collect(),
        });
    }
}

/// The integers from `low` to `high`, as far as the type has them; none when `low` is above `high`.
fn between(low: i128, high: i128, physical: Physical) -> ColumnPredicate {
    if low > high {
        return ColumnPredicate::In(Arc::from([]));
    }
    let bound = |value: i128| Value::from_i128(value, physical).map(|value| Bound { value, inclusive: true });
    ColumnPredicate::Range { low: bound(low), high: bound(high) }
}

impl Source for FileScan {
    fn node(&self) -> NodeId {
        self.node
    }
    fn start(&self, query: &QueryContext) -> Result<u64> {
        if let Some(units) = self.units.get() {
            return Ok(units.end - units.start);
        }
        self.prune(query)?;
        let units = query.part(self.node, self.reader.units()? as usize);
        let units = self.units.get_or_init(|| units.start as u64..units.end as u64);
        Ok(units.end - units.start)
    }
    fn tell(&self, query: &QueryContext) {
        query.state_execution(self.node, self.filters.iter().map(|filter| &filter.computation));
    }
    fn local(&self) -> Local {
        Box::new(ScanLocal::default())
    }
    fn run(&self, unit: u64, local: &mut Local, work: &Work<'_>, push: &mut Push<'_>) -> Result<Flow> {
        let unit = self.units.get().map_or(0, |units| units.start) + unit;
        let flow = std::cell::Cell::new(Flow::More);
        let local = local_state::<ScanLocal>(local);
        let mut visit = |window: &mut dyn Window| {
            work.check()?;
            flow.set(self.window(window, local, work, push)?);
            Ok(flow.get() == Flow::More)
        };
        if !self.reader.is_live() {
            self.reader.scan(unit, &mut visit)?;
            return Ok(flow.get());
        }
        loop {
            work.check()?;
            // The host may need a worker to make the next rows: they may be those of another query.
            let mut there = Ok(false);
            work.context.step_aside(|| there = self.reader.advance());
            if !there? {
                return Ok(flow.get());
            }
            self.reader.scan(unit, &mut visit)?;
            if flow.get() != Flow::More {
                return Ok(flow.get());
            }
        }
    }
}
