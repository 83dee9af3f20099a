//! Groups of a clustered key, finished block by block inside the pipeline.
//!
//! ```text
//!  blocks in the order of their least key     [1 .. 40] [40 .. 75] [76 .. 90]      (statistics, known beforehand)
//!  keys that no other block can have           1 .. 39   41 .. 75   76 .. 90
//!  a unit's groups, at its end:                those leave for the next operator; the others (40) go to the rest
//!  the rest, when all units are done:          a source of its own
//! ```
//! Where the blocks' key ranges hardly overlap, a group is complete when its block is. So there is no table of all
//! groups, nothing to merge, and what follows (HAVING, the build of a join) sees groups that are still in the cache.
//! Inside a block ascending keys are runs of rows; a block whose keys do not ascend uses a table for itself. The key
//! may pass through joins on their probe side: rows keep their unit and their order.
//!
//! Sorted and clustered input for grouping is old (Graefe, Query Evaluation Techniques, 1993, section 4.2); that the
//! order is found in block statistics instead of declared, and only between blocks, is ours.

use std::sync::{Arc, Mutex, PoisonError};

use hash::aggregate::{AccumulatorKind, FrozenKeys, GroupTable, KeyBatch, RowGroups, Runs, States};
use plan::{
    Expr, ExprKind, FetchOutput, JoinOutput, NodeId, PhysicalJoinKind, PhysicalNode, PhysicalPlan, TableId,
};
use types::{Error, Physical, Result, Type};
use vector::{Batch, Data, Vector};

use super::Aggregate;
use super::calls::Calls;
use super::source::AggregateSource;
use crate::compose::{BlockStatistics, Circumstances};
use crate::context::QueryContext;
use crate::pipeline::{Flow, Local, Push, Source, Transform, Work, local_state};
use crate::transfer::edges::Edges;

/// A block keeps at least this share of its key range for itself, or it is not counted as clustered.
const OWN_SHARE_MIN: f64 = 0.5;
/// So many of the blocks must be clustered.
const CLUSTERED_SHARE_MIN: f64 = 0.75;
/// An estimate of the bytes that a group takes with its states, and once more when it is delivered.
const GROUP_BYTES: f64 = 96.0;
/// Fewer groups a block than this are merged at the end at no cost worth saving.
const GROUPS_PER_BLOCK_MIN: f64 = 64.0;

/// The keys that only this block has: `low..=high`; `None` when there are none.
type OwnKeys = Option<(i64, i64)>;

/// The aggregation over a clustered key: finishes groups block by block, and merges those that several blocks share.
pub struct Clustered {
    aggregate: Arc<Aggregate>,
    /// The key ranges that belong to a single block, ascending.
    own: Vec<(i64, i64)>,
    rest: Mutex<Rest>,
}

/// Groups that several blocks may have.
struct Rest {
    table: GroupTable,
    states: States,
    keys: KeyBatch,
    found: Vec<u32>,
}

impl Clustered {
    /// The aggregation of `plan` block by block of the table, whose column its key is.
    pub fn of(
        plan: &PhysicalPlan,
        query: &QueryContext,
        table: TableId,
        column: usize,
    ) -> Result<Arc<Clustered>> {
        let own = query.bounds(table, column).and_then(|(least, greatest)| own_keys(least, greatest));
        let own = own.ok_or_else(|| Error::internal("groups by a column that is not clustered"))?;
        Ok(Clustered::new(Aggregate::new(plan, query)?, own))
    }
    /// `own` has the keys that belong to each block alone.
    pub(super) fn new(aggregate: Arc<Aggregate>, own: Vec<OwnKeys>) -> Arc<Clustered> {
        let mut own: Vec<(i64, i64)> = own.into_iter().flatten().collect();
        own.sort_unstable();
        let rest = Rest {
            table: GroupTable::new(&aggregate.layout),
            states: States::new(&aggregate.spec),
            keys: KeyBatch::default(),
            found: vec![],
        };
        Arc::new(Clustered { aggregate, own, rest: Mutex::new(rest) })
    }
    /// What the block with keys from `first` to `last` has for itself. Nothing of what another block owns lies
    /// between its keys, so it need not be known which block it is.
    fn own(&self, first: i64, last: i64) -> OwnKeys {
        let at = self.own.partition_point(|(_, high)| *high < first);
        self.own.get(at).copied().filter(|(low, _)| *low <= last)
    }
    /// The streaming part: delivers each unit's complete groups and puts the others aside for the merge.
    pub fn transform(self: &Arc<Self>) -> Arc<dyn Transform> {
        Arc::new(ClusteredGroups(self.clone()))
    }
    /// The groups of several blocks, once all units are done.
    pub fn rest(self: &Arc<Self>) -> Arc<dyn Source> {
        Arc::new(RestGroups { clustered: self.clone(), groups: AggregateSource(self.aggregate.clone()) })
    }
}

/// The table and its column that the only key of an aggregation is, if blocks are clustered by it and it is worth it.
pub(crate) fn by_block(
    plan: &PhysicalPlan,
    edges: &Edges,
    circumstances: &Circumstances<'_>,
) -> Option<(TableId, usize)> {
    let PhysicalNode::Aggregate { input, groups, aggregates } = &plan.node else { return None };
    let [Expr { kind: ExprKind::Input(key), ty }] = groups.as_slice() else { return None };
    let integer = matches!(ty.physical(), Physical::I16 | Physical::I32 | Physical::I64);
    if !circumstances.settings.switches.clustered_keys || !integer {
        return None;
    }
    let (table, column) = scanned_column(input, *key, edges)?;
    let (least, greatest) = circumstances.statistics.bounds(table, column)?;
    let states = Calls::new(groups, aggregates).states;
    if states.arguments.iter().any(|a| a.distinct || a.accumulators.iter().any(keeps_order_of_input)) {
        return None;
    }
    let blocks = least.len();
    if plan.estimated_rows < blocks as f64 * GROUPS_PER_BLOCK_MIN {
        return None;
    }
    // The groups of a block are held until it ends, and cannot leave memory.
    let held = plan.estimated_rows / blocks.max(1) as f64 * GROUP_BYTES * circumstances.threads as f64;
    let memory = circumstances.memory;
    if memory.has_files && held > memory.available as f64 / 8.0 {
        return None;
    }
    own_keys(least, greatest).map(|_| (table, column))
}

/// The state depends on the order in which values come, over all units.
fn keeps_order_of_input(kind: &AccumulatorKind) -> bool {
    match kind {
        AccumulatorKind::Concatenation { .. } | AccumulatorKind::Arrival { .. } => true,
        AccumulatorKind::Picked(pick) => pick.key.is_none(),
        _ => false,
    }
}

/// The table's column that input column `column` of a pipeline is, rows of a unit being those of a block, as
/// they are where all that lies between runs inside the scan's work orders.
fn scanned_column(plan: &PhysicalPlan, column: usize, edges: &Edges) -> Option<(TableId, usize)> {
    use PhysicalJoinKind as K;
    if !edges.is_fused(plan.id) {
        return None;
    }
    match &plan.node {
        PhysicalNode::TableScan { table, columns, projection, .. } => {
            Some((*table, *columns.get(*projection.get(column)?)?))
        }
        PhysicalNode::Filter { input, .. } => scanned_column(input, column, edges),
        PhysicalNode::Project { input, expressions } => match expressions.get(column)?.kind {
            ExprKind::Input(at) => scanned_column(input, at, edges),
            _ => None,
        },
        PhysicalNode::Fetch { input, output, .. } => match *output.get(column)? {
            FetchOutput::Input(at) => scanned_column(input, at, edges),
            FetchOutput::Late { .. } => None,
        },
        PhysicalNode::HashJoin { probe, kind, output, .. } => {
            let probe_only =
                matches!(kind, K::Inner | K::ProbeOuter | K::ProbeSemi | K::ProbeAnti | K::ProbeMark);
            match output.get(column)? {
                JoinOutput::Probe(at) if probe_only => scanned_column(probe, *at, edges),
                _ => None,
            }
        }
        _ => None,
    }
}

/// What each block has for itself, from the blocks' least and greatest keys; `None` when they are not clustered. A
/// block whose least key is above its greatest has no rows. A block's own keys lie above all keys of the blocks
/// before it, in the order of their least keys, and below the least key of the next.
pub(super) fn own_keys(least: &[i64], greatest: &[i64]) -> Option<Vec<OwnKeys>> {
    let filled = |at: &usize| least[*at] <= greatest[*at];
    let mut order: Vec<usize> = (0..least.len().min(greatest.len())).filter(filled).collect();
    // Tables mostly lie in their order already.
    if !order.is_sorted_by_key(|at| (least[*at], greatest[*at])) {
        order.sort_unstable_by_key(|at| (least[*at], greatest[*at]));
    }
    let mut own: Vec<OwnKeys> = vec![None; least.len()];
    let mut clustered = 0;
    let mut highest: Option<i64> = None;
    for (place, at) in order.iter().enumerate() {
        let (min, max) = (least[*at], greatest[*at]);
        let low = highest.map_or(Some(min), |h| h.checked_add(1).map(|above| above.max(min)));
        let next = order.get(place + 1).map(|next| least[*next]);
        let high = next.map_or(Some(max), |next| next.checked_sub(1).map(|below| below.min(max)));
        highest = Some(highest.map_or(max, |h| h.max(max)));
        let (Some(low), Some(high)) = (low, high) else { continue };
        if low > high {
            continue;
        }
        own[*at] = Some((low, high));
        let share = (high as f64 - low as f64 + 1.0) / (max as f64 - min as f64 + 1.0);
        clustered += usize::from(share >= OWN_SHARE_MIN);
    }
    (!order.is_empty() && clustered as f64 >= order.len() as f64 * CLUSTERED_SHARE_MIN).then_some(own)
}

struct ClusteredGroups(Arc<Clustered>);

/// The groups of the unit at hand.
struct UnitGroups {
    /// Ascending; groups are numbered in their order. Not in use once there is a table.
    keys: Vec<i64>,
    /// For the keys of a unit that do not ascend.
    table: Option<GroupTable>,
    states: States,
    runs: Runs,
    words: Vec<u64>,
    wide: Vec<i64>,
    batch: KeyBatch,
    each: Vec<u32>,
}

impl Transform for ClusteredGroups {
    fn node(&self) -> NodeId {
        self.0.aggregate.node
    }
    fn local(&self) -> Local {
        Box::new(UnitGroups {
            keys: vec![],
            table: None,
            states: States::new(&self.0.aggregate.spec),
            runs: Runs::default(),
            words: vec![],
            wide: vec![],
            batch: KeyBatch::default(),
            each: vec![],
        })
    }
    fn transform(
        &self,
        batch: Batch,
        local: &mut Local,
        work: &Work<'_>,
        _push: &mut Push<'_>,
    ) -> Result<Flow> {
        let aggregate = &*self.0.aggregate;
        if batch.rows > 0 {
            local_state::<UnitGroups>(local).consume(aggregate, &batch, work.query)?;
        }
        Ok(Flow::More)
    }
    fn end_unit(&self, local: &mut Local, _tag: u64, work: &Work<'_>, push: &mut Push<'_>) -> Result<Flow> {
        local_state::<UnitGroups>(local).finish(&self.0, work, push)
    }
}

impl UnitGroups {
    fn consume(&mut self, aggregate: &Aggregate, batch: &Batch, query: &QueryContext) -> Result<()> {
        let vectors = query.evaluate(&aggregate.program, batch)?;
        let key = &vectors[aggregate.groups[0]];
        let by_runs = self.number(aggregate, key, batch.rows)?;
        let groups = self.table.as_ref().map_or(self.keys.len(), GroupTable::len);
        let numbers = if by_runs { RowGroups::Runs(&self.runs) } else { RowGroups::Each(&self.each) };
        self.states.resize(groups);
        self.states.count_rows(numbers);
        for (argument, input) in aggregate.arguments.iter().enumerate() {
            input.update(argument, &mut self.states, numbers, &vectors, 0)?;
        }
        Ok(())
    }

    /// Numbers the groups of a batch's rows, into `runs` (true) or `each` (false).
    fn number(&mut self, aggregate: &Aggregate, key: &Vector, rows: usize) -> Result<bool> {
        if self.table.is_none() {
            let flat = if key.is_flat() { None } else { Some(key.flatten()) };
            let key = flat.as_ref().unwrap_or(key);
            if let Some(values) = integers(key, &mut self.wide)
                && let Some(continued) =
                    self.runs.find_ascending(self.keys.last().copied(), values, &mut self.words)
            {
                let first = (self.keys.len() - usize::from(continued)) as u32;
                let Runs { starts, groups, .. } = &mut self.runs;
                groups.extend(first..first + starts.len() as u32);
                let fresh = &starts[usize::from(continued)..];
                self.keys.extend(fresh.iter().map(|row| values[*row as usize]));
                return Ok(true);
            }
            self.leave_order(aggregate)?;
        }
        let Some(table) = &mut self.table else { return Ok(false) };
        aggregate.layout.encode(std::slice::from_ref(key), rows, &mut self.batch)?;
        table.find_or_insert(&self.batch.view(), None, &mut self.each);
        Ok(false)
    }

    /// The unit's keys do not ascend: a table takes over, with the groups so far under their numbers.
    fn leave_order(&mut self, aggregate: &Aggregate) -> Result<()> {
        let mut table = GroupTable::new(&aggregate.layout);
        let known = key_vector(aggregate.layout.column_type(0), &self.keys);
        aggregate.layout.encode(&[known], self.keys.len(), &mut self.batch)?;
        table.find_or_insert(&self.batch.view(), None, &mut self.each);
        self.keys.clear();
        self.table = Some(table);
        Ok(())
    }

    /// Puts the unit's own groups out, the others into the rest, and begins anew.
    fn finish(&mut self, clustered: &Clustered, work: &Work<'_>, push: &mut Push<'_>) -> Result<Flow> {
        let aggregate = &*clustered.aggregate;
        if let Some(table) = self.table.take() {
            self.sort(aggregate, table.keys.freeze());
        }
        let count = self.keys.len();
        let (Some(first), Some(last)) = (self.keys.first(), self.keys.last()) else { return Ok(Flow::More) };
        let (start, end) = match clustered.own(*first, *last) {
            Some((low, high)) => {
                (self.keys.partition_point(|k| *k < low), self.keys.partition_point(|k| *k <= high))
            }
            None => (0, 0),
        };
        let others: Vec<u32> = (0..start as u32).chain(end as u32..count as u32).collect();
        if !others.is_empty() {
            clustered.add_rest(&self.keys, &self.states, &others)?;
        }
        let ty = aggregate.layout.column_type(0);
        let mut flow = Flow::More;
        let mut at = start;
        while at < end && flow == Flow::More {
            let next = end.min(at + work.query.settings.batch_rows.max(1));
            let mut columns = Vec::with_capacity(1 + aggregate.finishes.len());
            columns.push(key_vector(ty, &self.keys[at..next]));
            for (finish, ty) in &aggregate.finishes {
                columns.push(self.states.finish(*finish, *ty, at, next)?);
            }
            flow = push(Batch::new(columns, next - at))?;
            at = next;
        }
        self.keys.clear();
        self.states.reset(&aggregate.spec);
        Ok(flow)
    }

    /// Brings the groups of a table into the order of their keys.
    fn sort(&mut self, aggregate: &Aggregate, keys: FrozenKeys) {
        let column = keys.column(0, 0, keys.len());
        let mut wide = vec![];
        let values = integers(&column, &mut wide).unwrap_or_default();
        let mut order: Vec<u32> = (0..values.len() as u32).collect();
        order.sort_unstable_by_key(|group| values[*group as usize]);
        self.keys.extend(order.iter().map(|group| values[*group as usize]));
        let states = std::mem::replace(&mut self.states, States::new(&aggregate.spec));
        self.states.resize(order.len());
        let numbers: Vec<u32> = (0..order.len() as u32).collect();
        self.states.merge(&states, Some(&order), &numbers);
    }
}

impl Clustered {
    fn add_rest(&self, keys: &[i64], states: &States, rows: &[u32]) -> Result<()> {
        let values: Vec<i64> = rows.iter().map(|row| keys[*row as usize]).collect();
        let vector = key_vector(self.aggregate.layout.column_type(0), &values);
        let mut rest = self.rest.lock().unwrap_or_else(PoisonError::into_inner);
        let Rest { table, states: sums, keys, found } = &mut *rest;
        self.aggregate.layout.encode(&[vector], rows.len(), keys)?;
        table.find_or_insert(&keys.view(), None, found);
        sums.resize(table.len());
        sums.merge(states, Some(rows), found);
        Ok(())
    }
}

/// Integers of any width as 64-bit ones; `None` when a value is NULL or not an integer.
fn integers<'a>(key: &'a Vector, wide: &'a mut Vec<i64>) -> Option<&'a [i64]> {
    if key.has_nulls() {
        return None;
    }
    wide.clear();
    match key.data() {
        Data::I64(v) => return Some(v),
        Data::I32(v) => wide.extend(v.iter().map(|v| i64::from(*v))),
        Data::I16(v) => wide.extend(v.iter().map(|v| i64::from(*v))),
        _ => return None,
    }
    Some(wide)
}

/// Keys as a vector of type `ty`, whose values they are.
fn key_vector(ty: Type, keys: &[i64]) -> Vector {
    let data = match ty.physical() {
        Physical::I16 => Data::I16(keys.iter().map(|k| *k as i16).collect()),
        Physical::I32 => Data::I32(keys.iter().map(|k| *k as i32).collect()),
        _ => Data::I64(keys.to_vec().into()),
    };
    Vector::new(ty, data, None)
}

struct RestGroups {
    clustered: Arc<Clustered>,
    groups: AggregateSource,
}

impl Source for RestGroups {
    fn node(&self) -> NodeId {
        self.groups.node()
    }
    fn start(&self, query: &QueryContext) -> Result<u64> {
        let aggregate = &self.clustered.aggregate;
        let mut rest = self.clustered.rest.lock().unwrap_or_else(PoisonError::into_inner);
        let table = std::mem::replace(&mut rest.table, GroupTable::new(&aggregate.layout));
        let states = std::mem::replace(&mut rest.states, States::new(&aggregate.spec));
        drop(rest);
        query.metrics.count(aggregate.node, "groups of several blocks", table.len() as u64);
        aggregate.publish_groups(table.keys, states);
        self.groups.start(query)
    }
    fn run(&self, unit: u64, local: &mut Local, work: &Work<'_>, push: &mut Push<'_>) -> Result<Flow> {
        self.groups.run(unit, local, work, push)
    }
}
