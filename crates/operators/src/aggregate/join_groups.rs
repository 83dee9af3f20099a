//! Join and aggregation in one: groups that are the rows of a join's build side.
//!
//! ```text
//!  customer --build--> table: c_custkey -> row 0, 1, 2, ...
//!  orders   --probe--> row of each order's customer --> counts[row] += 1       no joined row is made, no key grouped
//!  build rows, all (outer) or those that were met (inner): c_custkey, counts
//! ```
//! Where the groups contain the keys that the build side is unique on, and nothing but build columns, a group is a
//! build row. Its number is what the probe finds, so the states stand in the order of the build rows, and what the
//! groups carry is taken from these. Each worker has states of its own; they are added up at the end.
//!
//! Only for sums and counts of probe columns: their empty state is known (nothing, NULL), which a build row without a
//! partner has in an outer join. There an argument must be a column as it is, for padding makes it NULL; an
//! expression could make something of that.

use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use arrow_buffer::{BooleanBuffer, NullBuffer};
use expr::Program;
use hash::aggregate::{Finish, RowGroups, StateSpec, States};
use plan::{
    AggregateCall, AggregateFunction as F, Expr, ExprKind, JoinOutput, NodeId, PhysicalJoinKind as Kind,
    PhysicalNode, PhysicalPlan,
};
use types::{Error, Result, Type};
use vector::{Batch, Data, Vector};

use super::calls::{ArgumentInput, Calls};
use crate::compose::Circumstances;
use crate::context::QueryContext;
use crate::hash_join::HashJoin;
use crate::hash_join::partners::Partners;
use crate::pipeline::{Flow, Local, Push, Sink, Source, Step, Work, local_state};
use crate::transfer::edges::Edges;

/// Rows to be joined for each build row, at least: the states of unmatched build rows are wasted.
const ROWS_PER_GROUP_MIN: f64 = 1.0;
/// An estimate of the bytes that a build row takes with its table entry and states.
const ROW_BYTES: f64 = 64.0;
/// More build rows than this are not expected to fit a cache anyhow, once for each worker.
const BUILD_ROWS_MAX: f64 = (1 << 22) as f64;
/// Build rows of a unit of the source.
const UNIT_ROWS: usize = 1 << 14;

/// Where an output column comes from.
enum Column {
    /// A kept column of the build side.
    Build(usize),
    Made {
        finish: Finish,
        ty: Type,
        /// NULL, not zero, without rows.
        null_if_empty: bool,
    },
}

/// A hash join and the aggregation above it, with the states kept by build row.
pub struct JoinGroups {
    node: NodeId,
    join: Arc<HashJoin>,
    /// Build rows without a partner come out.
    outer: bool,
    /// Probe columns that arguments need, and the arguments over these.
    needs: Vec<usize>,
    program: Program,
    arguments: Vec<ArgumentInput>,
    spec: StateSpec,
    columns: Vec<Column>,
    collected: Mutex<Vec<Collected>>,
    merged: OnceLock<Collected>,
}

/// A worker's states, and the room for them.
struct Collected {
    states: States,
    _room: Option<memory::Reservation>,
}

/// What is known of the join at plan time.
struct Shape<'a> {
    output: &'a [JoinOutput],
    build: &'a PhysicalPlan,
    probe: &'a PhysicalPlan,
    probe_keys: &'a [Expr],
    build_keys: &'a [Expr],
    outer: bool,
}

impl Shape<'_> {
    fn input(expr: &Expr) -> Option<usize> {
        if let ExprKind::Input(at) = expr.kind { Some(at) } else { None }
    }
    /// The build column that `expr`, over the join's output, is.
    fn build_column(&self, expr: &Expr) -> Option<usize> {
        let column = match *self.output.get(Self::input(expr)?)? {
            JoinOutput::Build(at) => at,
            // A key of the probe equals the build's, where no row is padded.
            JoinOutput::Probe(at) if !self.outer => {
                let key = self.probe_keys.iter().position(|k| Self::input(k) == Some(at))?;
                Self::input(&self.build_keys[key])?
            }
            _ => return None,
        };
        (self.build.output.get(column)?.ty == expr.ty).then_some(column)
    }
    /// `expr` over the probe's columns, if it needs no others.
    fn over_probe(&self, expr: &Expr) -> Option<Expr> {
        if self.outer && Self::input(expr).is_none() {
            return None;
        }
        let mut within = true;
        let expr = expr.clone().transform(&mut |e| match e.kind {
            ExprKind::Input(at) => match self.output.get(at) {
                Some(JoinOutput::Probe(probe)) if self.probe.output[*probe].ty == e.ty => {
                    Expr::input(*probe, e.ty)
                }
                _ => {
                    within = false;
                    e
                }
            },
            _ => e,
        });
        within.then_some(expr)
    }
    /// The call over the probe's columns, if its states can be kept by build row.
    fn call(&self, call: &AggregateCall) -> Option<AggregateCall> {
        let kept = match call.function {
            F::Count | F::Sum => !call.distinct && !(self.outer && call.filter.is_some()),
            F::CountStar => !self.outer,
            _ => false,
        };
        let over = |e: &Option<Expr>| match e {
            None => Some(None),
            Some(e) => self.over_probe(e).map(Some),
        };
        let (argument, filter) = (over(&call.argument)?, over(&call.filter)?);
        kept.then(|| AggregateCall { argument, filter, ..call.clone() })
    }
}

/// An aggregation whose groups are the build rows of the join right below it.
struct ByBuildRow<'a> {
    join: &'a PhysicalPlan,
    build: &'a PhysicalPlan,
    outer: bool,
    /// How many groups there are, of `from_build`.
    groups: usize,
    /// Build columns: the groups, and what they carry.
    from_build: Vec<usize>,
    /// For each aggregate the build column that it is; the others are `calls`.
    made: Vec<Option<usize>>,
    calls: Vec<AggregateCall>,
}

impl ByBuildRow<'_> {
    fn of(plan: &PhysicalPlan) -> Option<ByBuildRow<'_>> {
        let PhysicalNode::Aggregate { input, groups, aggregates } = &plan.node else { return None };
        let PhysicalNode::HashJoin {
            probe,
            build,
            kind: kind @ (Kind::Inner | Kind::BuildOuter),
            probe_keys,
            build_keys,
            residual: None,
            null_equals_null: false,
            null_aware: false,
            output,
            build_unique: true,
            ..
        } = &input.node
        else {
            return None;
        };
        if groups.is_empty() {
            return None;
        }
        let outer = *kind == Kind::BuildOuter;
        let shape = Shape { output, build, probe, probe_keys, build_keys, outer };
        let group_columns = groups.iter().map(|g| shape.build_column(g)).collect::<Option<Vec<_>>>()?;
        // Build rows without a key may be several, and come out in an outer join: as groups they would be one.
        let is_group = |key: &Expr| match Shape::input(key) {
            Some(at) => group_columns.contains(&at) && !(outer && build.output[at].nullable),
            None => false,
        };
        if !build_keys.iter().all(is_group) {
            return None;
        }
        let mut from_build = group_columns;
        let mut calls = Vec::new();
        let mut made = Vec::with_capacity(aggregates.len());
        for call in aggregates {
            let carried = call.function == F::AnyValue && call.filter.is_none();
            let column = call.argument.as_ref().filter(|_| carried).and_then(|a| shape.build_column(a));
            if let Some(column) = column {
                made.push(Some(column));
                from_build.push(column);
            } else {
                made.push(None);
                calls.push(shape.call(call)?);
            }
        }
        Some(ByBuildRow { join: input, build, outer, groups: groups.len(), from_build, made, calls })
    }
}

/// Whether an aggregation's groups are the build rows of the join right below it, and it is worth it.
pub(crate) fn pays(plan: &PhysicalPlan, edges: &Edges, circumstances: &Circumstances<'_>) -> bool {
    let Circumstances { settings, memory, .. } = circumstances;
    if !settings.switches.fused_join_aggregate {
        return false;
    }
    let Some(ByBuildRow { join, build, .. }) = ByBuildRow::of(plan) else { return false };
    let few = build.estimated_rows <= BUILD_ROWS_MAX
        && join.estimated_rows >= build.estimated_rows * ROWS_PER_GROUP_MIN;
    // States by build row cannot leave memory, and neither can the join below them.
    let limit = settings.operator_bytes.map_or(memory.limit as f64, |bytes| bytes as f64);
    let fits = !memory.has_files || build.estimated_rows * ROW_BYTES < limit / 8.0;
    few && fits && edges.is_fused(join.id)
}

impl JoinGroups {
    /// The aggregation on the build rows of the join right below it, whose groups have to be these.
    pub fn of(plan: &PhysicalPlan, query: &QueryContext) -> Result<Arc<JoinGroups>> {
        let by_row = ByBuildRow::of(plan);
        let by_row = by_row.ok_or_else(|| Error::internal("groups that are not a join's build rows"))?;
        let ByBuildRow { join, outer, groups, from_build, made, calls, .. } = by_row;
        let join = HashJoin::keeping(join, query, &from_build)?;
        Self::new(plan.id, join, outer, (&from_build[..groups], &made), calls)
    }

    fn new(
        node: NodeId,
        join: Arc<HashJoin>,
        outer: bool,
        (group_columns, made): (&[usize], &[Option<usize>]),
        mut calls: Vec<AggregateCall>,
    ) -> Result<Arc<JoinGroups>> {
        let expressions = || calls.iter().flat_map(|c| c.argument.iter().chain(&c.filter));
        let mut needs: Vec<usize> = expressions().flat_map(|e| e.inputs()).collect();
        needs.sort_unstable();
        needs.dedup();
        let compact = |e: Expr| {
            e.transform(&mut |e| match e.kind {
                // `needs` holds every input.
                ExprKind::Input(at) => Expr::input(needs.binary_search(&at).unwrap_or_default(), e.ty),
                _ => e,
            })
        };
        for call in &mut calls {
            call.argument = call.argument.take().map(&compact);
            call.filter = call.filter.take().map(&compact);
        }
        let Calls { expressions, arguments, mut states, finishes, .. } = Calls::new(&[], &calls);
        states.rows = true;
        let mut columns = Vec::with_capacity(group_columns.len() + made.len());
        for column in group_columns {
            columns.push(Column::Build(join.place(*column)?));
        }
        let mut finished = finishes.into_iter();
        for column in made {
            columns.push(match column {
                Some(column) => Column::Build(join.place(*column)?),
                None => {
                    let (finish, ty) =
                        finished.next().ok_or_else(|| Error::internal("an aggregate without a state"))?;
                    Column::Made { finish, ty, null_if_empty: matches!(finish, Finish::Sum { .. }) }
                }
            });
        }
        Ok(Arc::new(JoinGroups {
            node,
            join,
            outer,
            needs,
            program: Program::compile(&expressions)?,
            arguments,
            spec: states,
            columns,
            collected: Mutex::default(),
            merged: OnceLock::new(),
        }))
    }

    /// The join whose build side makes the groups.
    pub fn join(&self) -> &Arc<HashJoin> {
        &self.join
    }
    /// The probe side's sink: finds each row's build row and updates that row's states.
    pub fn sink(self: &Arc<Self>) -> Arc<dyn Sink> {
        Arc::new(JoinGroupsSink(self.clone()))
    }
    /// The step that merges the workers' states, and is done before the source begins.
    pub fn merge_step(self: &Arc<Self>) -> Arc<dyn Step> {
        Arc::new(JoinGroupsMerge(self.clone()))
    }
    /// The groups' rows; to be read once the merge step is done.
    pub fn source(self: &Arc<Self>) -> Arc<dyn Source> {
        Arc::new(JoinGroupsSource(self.clone()))
    }

    /// States of all build rows, empty.
    fn states(&self, query: &QueryContext) -> Result<Collected> {
        let rows = self.join.rows_built()?;
        // Some words a row and accumulator, asked for before they are taken.
        let words: usize =
            1 + self.spec.arguments.iter().map(|a| 1 + 2 * a.accumulators.len()).sum::<usize>();
        let room = query.reserve(rows * words * 8)?;
        let mut states = States::new(&self.spec);
        states.resize(rows);
        Ok(Collected { states, _room: Some(room) })
    }

    /// The rows `from..to` of the build side as groups.
    fn batch(&self, states: &States, from: usize, to: usize) -> Result<Batch> {
        let counts = states.finish(Finish::Rows, Type::BigInt, from, to)?;
        let Data::I64(counts) = counts.data() else { return Err(Error::internal("counts are BIGINT")) };
        let met: Vec<u32> = (0..counts.len() as u32).filter(|at| counts[*at as usize] > 0).collect();
        let all = met.len() == counts.len();
        let built = self.join.columns_built()?;
        let mut columns = Vec::with_capacity(self.columns.len());
        for column in &self.columns {
            let whole = match column {
                Column::Build(place) => built[*place].slice(from, to - from),
                Column::Made { finish, ty, null_if_empty } => {
                    let made = states.finish(*finish, *ty, from, to)?;
                    if self.outer && *null_if_empty && !all { null_without(&made, counts) } else { made }
                }
            };
            columns.push(if self.outer || all { whole } else { whole.gather(&met) });
        }
        Ok(Batch::new(columns, if self.outer { to - from } else { met.len() }))
    }
}

/// NULL where there were no rows.
fn null_without(made: &Vector, counts: &[i64]) -> Vector {
    let flat = made.flatten();
    let valid = BooleanBuffer::collect_bool(counts.len(), |at| counts[at] > 0 && !flat.is_null(at));
    flat.with_validity(Some(NullBuffer::new(valid)))
}

#[derive(Default)]
struct LocalJoinGroups {
    partners: Partners,
    collected: Option<Collected>,
}

struct JoinGroupsSink(Arc<JoinGroups>);

impl Sink for JoinGroupsSink {
    fn takes_any_order(&self) -> bool {
        true
    }
    fn node(&self) -> NodeId {
        self.0.node
    }
    fn local(&self) -> Local {
        Box::new(LocalJoinGroups::default())
    }
    fn consume(&self, batch: Batch, tag: u64, local: &mut Local, work: &Work<'_>) -> Result<Flow> {
        let groups = &*self.0;
        work.check()?;
        if groups.join.rows_built()? == 0 {
            return Ok(Flow::Enough);
        }
        let LocalJoinGroups { partners, collected } = local_state::<LocalJoinGroups>(local);
        let states = match collected {
            Some(collected) => &mut collected.states,
            None => &mut collected.insert(groups.states(work.query)?).states,
        };
        groups.join.partners(&batch, partners)?;
        let met = partners.build();
        work.query.metrics.add(groups.join.node_id(), met.len() as u64, 0, 0, 0);
        if met.is_empty() {
            return Ok(Flow::More);
        }
        let needed = batch.select(&groups.needs);
        // Build keys are unique, so as many pairs as rows are all rows.
        let needed = if met.len() == batch.rows { needed } else { needed.gather(partners.probe()) };
        let values = work.query.evaluate(&groups.program, &needed)?;
        let each = RowGroups::Each(met);
        states.count_rows(each);
        for (at, argument) in groups.arguments.iter().enumerate() {
            let value = argument.value.map(|v| &values[v]);
            let filter = argument.filter.map(|f| &values[f]);
            states.update(at, each, value, filter, tag)?;
        }
        Ok(Flow::More)
    }
    fn finish(&self, locals: Vec<Local>, _query: &QueryContext) -> Result<()> {
        let mut collected = self.0.collected.lock().unwrap_or_else(PoisonError::into_inner);
        for local in locals {
            collected.extend(local.downcast::<LocalJoinGroups>().ok().and_then(|l| l.collected));
        }
        Ok(())
    }
}

struct JoinGroupsMerge(Arc<JoinGroups>);

impl Step for JoinGroupsMerge {
    fn node(&self) -> NodeId {
        self.0.node
    }
    fn start(&self, _query: &QueryContext) -> Result<u64> {
        Ok(1)
    }
    fn run(&self, _partition: u64, work: &Work<'_>) -> Result<()> {
        let groups = &*self.0;
        let all = std::mem::take(&mut *groups.collected.lock().unwrap_or_else(PoisonError::into_inner));
        let mut all = all.into_iter();
        let mut sum = match all.next() {
            Some(first) => first,
            None => groups.states(work.query)?,
        };
        let rows: Vec<u32> = (0..sum.states.groups() as u32).collect();
        for other in all {
            work.check()?;
            sum.states.merge(&other.states, None, &rows);
        }
        groups.merged.set(sum).map_err(|_| Error::internal("groups were merged twice"))
    }
}

struct JoinGroupsSource(Arc<JoinGroups>);

impl Source for JoinGroupsSource {
    fn node(&self) -> NodeId {
        self.0.node
    }
    fn start(&self, _query: &QueryContext) -> Result<u64> {
        Ok(self.0.join.rows_built()?.div_ceil(UNIT_ROWS) as u64)
    }
    fn run(&self, unit: u64, _local: &mut Local, work: &Work<'_>, push: &mut Push<'_>) -> Result<Flow> {
        let groups = &*self.0;
        let merged =
            groups.merged.get().ok_or_else(|| Error::internal("groups were read before they were merged"))?;
        let mut at = unit as usize * UNIT_ROWS;
        let end = groups.join.rows_built()?.min(at + UNIT_ROWS);
        while at < end {
            let next = end.min(at + work.query.settings.batch_rows.max(1));
            let batch = groups.batch(&merged.states, at, next)?;
            if batch.rows > 0 && push(batch)? == Flow::Enough {
                return Ok(Flow::Enough);
            }
            at = next;
        }
        Ok(Flow::More)
    }
}
