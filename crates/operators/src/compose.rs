//! From a physical plan to the scheduler's DAG: cutting pipelines.
//!
//! Walking the plan from the root, every subtree becomes a `Flowing`: one or more open branches (a source and the
//! transforms so far). Streaming operators append a transform to each branch; blocking ones close the branches with a
//! sink, add a merge step, and open a new branch from their source. Edges:
//!
//! ```text
//!  scan build > BuildSink --> fill step --blocking--> scan probe > Probe > ... > Sink
//!  probe segments         --blocking--> build rows (outer and semi joins on the build side)
//!  fill step              --blocking--> scans that apply its runtime filters
//!  producer > TransferSink --streaming--> TransferSource > ... (units of transfer `block`, `blocks(k)`)
//!  producer > TransferSink --blocking---> TransferSource > ... (unit of transfer `table`)
//! ```
//! A producer that streams into another segment waits for all that its consumers wait for, so that little lies
//! between them. Before a `table` it runs first, and the join behind the table is built after it, where nothing
//! speaks against it: then the hash tables that it probed are gone.

use std::collections::HashMap;
use std::ops::Range;
use std::sync::{Arc, Mutex};

use plan::{FilterId, NodeId, PhysicalNode, PhysicalPlan};
use types::{Error, Result};
use workorder::{Dag, EdgeKind, SegmentId, UnitOfTransfer};

use crate::aggregate::{Aggregate, Clustered, CodesWanted, JoinGroups};
use crate::collect::{Collect, Discard, QueryResult};
use crate::context::QueryContext;
use crate::fetch::Fetch;
use crate::file_scan::FileScan;
use crate::filter::Filter;
use crate::generate::Generate;
use crate::hash_join::HashJoin;
use crate::insert::Insert;
use crate::limit::Limit;
use crate::materialized::Materialized;
use crate::nested_loop_join::NestedLoopJoin;
use crate::pipeline::{
    Branch, Chain, PipelineSegment, Sink, SinkInput, Source, Step, StepSegment, Transform,
};
use crate::project::Project;
use crate::range_join::RangeJoin;
use crate::series::SeriesSource;
use crate::sort::Sort;
use crate::stream::{ResultQueue, Stream};
use crate::table_scan::TableScan;
use crate::transfer::{choice, transfer};
use crate::unnest::Unnest;
use crate::values::Values;
use crate::window::Window;

/// The query's segments and where its result will be.
pub struct Composed {
    /// The segments with their edges, validated and ready for the scheduler.
    pub dag: Dag,
    /// Filled when the last segment ends; empty until then.
    pub result: Arc<Mutex<QueryResult>>,
}

/// Builds the segments of `plan`, whose nodes are numbered (`PhysicalPlan::number`).
pub fn compose(plan: &PhysicalPlan, query: &Arc<QueryContext>) -> Result<Composed> {
    let (collect, result) = Collect::new(plan.id);
    Ok(Composed { dag: compose_into(plan, query, |_| Arc::new(collect))?, result })
}

/// As `compose`, but the rows go into `queue` while the query runs. It runs under `QueryControl::pausable`.
pub fn compose_stream(
    plan: &PhysicalPlan,
    query: &Arc<QueryContext>,
    queue: &Arc<ResultQueue>,
) -> Result<Dag> {
    compose_into(plan, query, |branches| Arc::new(Stream::new(plan.id, queue.clone(), branches)))
}

fn compose_into(
    plan: &PhysicalPlan,
    query: &Arc<QueryContext>,
    sink: impl FnOnce(usize) -> Arc<dyn Sink>,
) -> Result<Dag> {
    let mut composer = Composer {
        query,
        dag: Dag::new(),
        fillers: HashMap::new(),
        filter_users: Vec::new(),
        branch_waits: Vec::new(),
        build_after: Vec::new(),
    };
    let flowing = composer.flow(plan)?;
    let sink = sink(flowing.branches.len());
    composer.close(flowing, sink);
    composer.connect_branches();
    composer.connect_filters();
    composer.connect_builds();
    composer.dag.validate().map_err(|e| Error::internal(format!("broken plan: {e}")))?;
    Ok(composer.dag)
}

/// What a branch waits for.
#[derive(Clone)]
enum Waits {
    Segment(SegmentId),
    /// The segments that other open branches will become.
    Branch(Arc<Mutex<Vec<SegmentId>>>),
}

struct OpenBranch {
    source: Arc<dyn Source>,
    transforms: Vec<Arc<dyn Transform>>,
    /// Whose rows come out.
    top: NodeId,
    /// The rows are computed by this branch and stored nowhere yet.
    computes: bool,
    waits: Vec<Waits>,
    /// Streaming producers: the segments that fill this branch's source.
    fed_by: Vec<SegmentId>,
    /// They and those that feed them, as far as rows stream.
    upstream: Vec<SegmentId>,
    name: String,
    /// Runtime filters that the source applies.
    filters: Vec<FilterId>,
    /// Told which segments this branch became.
    became: Vec<Arc<Mutex<Vec<SegmentId>>>>,
    /// The source gives rows in an order that the result has to have.
    ordered: bool,
    /// The rows of a join whose sides are in files; then no other branch of the join's probe side has any.
    spilled: bool,
}

impl OpenBranch {
    fn append(&mut self, transform: &Arc<dyn Transform>, name: &str) {
        transform.add_user();
        self.top = transform.node();
        self.computes = true;
        self.transforms.push(transform.clone());
        self.name.push_str(" > ");
        self.name.push_str(name);
    }
}

struct Flowing {
    branches: Vec<OpenBranch>,
}

struct Composer<'a> {
    query: &'a Arc<QueryContext>,
    dag: Dag,
    /// The segment after which a filter is published.
    fillers: HashMap<FilterId, SegmentId>,
    filter_users: Vec<(FilterId, SegmentId)>,
    /// Segments that wait for whatever other branches become.
    branch_waits: Vec<(Arc<Mutex<Vec<SegmentId>>>, SegmentId)>,
    /// Segments after which a build side, these segments, had better begin.
    build_after: Vec<(Vec<SegmentId>, Range<usize>)>,
}

impl Composer<'_> {
    fn open(&self, source: impl Source + 'static, name: String, after: &[SegmentId]) -> Flowing {
        self.open_shared(Arc::new(source), name, after)
    }

    fn open_shared(&self, source: Arc<dyn Source>, name: String, after: &[SegmentId]) -> Flowing {
        source.add_user();
        Flowing {
            branches: vec![OpenBranch {
                top: source.node(),
                computes: false,
                source,
                transforms: vec![],
                waits: after.iter().map(|s| Waits::Segment(*s)).collect(),
                fed_by: vec![],
                upstream: vec![],
                name,
                filters: vec![],
                became: vec![],
                ordered: false,
                spilled: false,
            }],
        }
    }

    /// A source that makes its rows while it is read.
    fn open_scan(&self, source: impl Source + 'static, name: String) -> Flowing {
        let mut flowing = self.open(source, name, &[]);
        flowing.branches.iter_mut().for_each(|branch| branch.computes = true);
        flowing
    }

    /// A source whose order, told by its units' tags, is to be kept.
    fn open_ordered(&self, source: Arc<dyn Source>, name: &str, after: &[SegmentId]) -> Flowing {
        let mut flowing = self.open_shared(source, name.to_owned(), after);
        flowing.branches.iter_mut().for_each(|branch| branch.ordered = true);
        flowing
    }

    /// Appends a transform to every branch, cut before it where the unit of transfer says so.
    fn append(&mut self, flowing: &mut Flowing, transform: &Arc<dyn Transform>, name: &str) {
        self.cut(flowing);
        for branch in &mut flowing.branches {
            branch.append(transform, name);
        }
    }

    /// Ends the branches whose rows are not handed on by `vector` with an insert destination each, and goes on from
    /// there. The producers before a `table` are returned.
    fn cut(&mut self, flowing: &mut Flowing) -> Vec<SegmentId> {
        let mut before_tables = Vec::new();
        for branch in std::mem::take(&mut flowing.branches) {
            let unit = self.query.edges.unit(branch.top);
            if unit.is_fused() || !branch.computes {
                flowing.branches.push(branch);
                continue;
            }
            self.remark(branch.top, unit);
            let (ordered, spilled) = (branch.ordered, branch.spilled);
            let mut upstream = branch.upstream.clone();
            let (sink, source) = transfer(branch.top, unit, self.query);
            let producers = self.close(Flowing { branches: vec![branch] }, Arc::new(sink));
            let mut next = self.open(source, "transfer".to_owned(), &[]);
            for opened in &mut next.branches {
                (opened.ordered, opened.spilled) = (ordered, spilled);
                if unit == UnitOfTransfer::Table {
                    opened.waits.extend(producers.iter().map(|id| Waits::Segment(*id)));
                    before_tables.extend(&producers);
                } else {
                    opened.fed_by.clone_from(&producers);
                    upstream.extend(&producers);
                    opened.upstream = std::mem::take(&mut upstream);
                }
            }
            flowing.branches.append(&mut next.branches);
        }
        before_tables
    }

    /// Says of an operator how its rows are handed on.
    fn remark(&self, node: NodeId, unit: UnitOfTransfer) {
        let block = plan::explain::bytes(self.query.settings.transfer_bytes as u64);
        let mut text = format!("{unit}, blocks of {block}");
        if let Some(reason) = self.query.edges.reason(node) {
            text.push_str(&format!(" (auto: {reason})"));
        }
        self.query.metrics.state(node, "handed on by", text);
    }

    /// A branch begins after `segment`, and what streams into it as well.
    fn wait_for(&mut self, branch: &mut OpenBranch, segment: SegmentId) {
        branch.waits.push(Waits::Segment(segment));
        for producer in &branch.upstream {
            self.dag.connect(segment, *producer, EdgeKind::Blocking);
        }
    }

    /// Cuts the branches where the unit of transfer says so, and ends them in one sink.
    fn end(&mut self, mut flowing: Flowing, sink: Arc<dyn Sink>) -> Vec<SegmentId> {
        self.cut(&mut flowing);
        self.close(flowing, sink)
    }

    /// Ends all branches in one sink; the segments they became.
    fn close(&mut self, flowing: Flowing, sink: Arc<dyn Sink>) -> Vec<SegmentId> {
        let input = SinkInput::new(sink.clone(), flowing.branches.len());
        let mut segments = Vec::new();
        let mut pending = Vec::new();
        for (ordinal, branch) in flowing.branches.into_iter().enumerate() {
            let chain = Chain { transforms: branch.transforms, sink: sink.clone() };
            let segment = PipelineSegment::new(
                branch.name,
                Branch { source: branch.source, chain, ordinal, input: input.clone() },
                self.query.clone(),
            );
            let id = self.dag.add(Arc::new(segment));
            for producer in &branch.fed_by {
                self.dag.connect(*producer, id, EdgeKind::Streaming);
            }
            self.filter_users.extend(branch.filters.iter().map(|f| (*f, id)));
            for told in &branch.became {
                told.lock().unwrap_or_else(std::sync::PoisonError::into_inner).push(id);
            }
            pending.push((id, branch.waits));
            segments.push(id);
        }
        for (id, waits) in pending {
            for wait in waits {
                match wait {
                    Waits::Segment(producer) => self.dag.connect(producer, id, EdgeKind::Blocking),
                    Waits::Branch(told) => self.branch_waits.push((told, id)),
                }
            }
        }
        segments
    }

    fn step(&mut self, name: &str, step: Arc<dyn Step>, after: &[SegmentId]) -> SegmentId {
        let id = self.dag.add(Arc::new(StepSegment::new(name.to_owned(), step, self.query.clone())));
        for producer in after {
            self.dag.connect(*producer, id, EdgeKind::Blocking);
        }
        id
    }

    /// Branches may wait for one another, and become segments in any order: their waits are resolved once all have.
    fn connect_branches(&mut self) {
        for (told, id) in std::mem::take(&mut self.branch_waits) {
            let producers = told.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
            for producer in producers.iter() {
                self.dag.connect(*producer, id, EdgeKind::Blocking);
            }
        }
    }

    /// Rows that go into a probe; where they make a table first, the build waits for it if it may.
    fn cut_before_probe(&mut self, flowing: &mut Flowing, join: &PhysicalPlan, built: Range<usize>) {
        let before = self.cut(flowing);
        if !before.is_empty() && choice::may_wait(join, &self.query.settings) {
            self.build_after.push((before, built));
        }
    }

    /// Build sides that wait for a table. A plan is right without these edges, and one that would close a cycle is
    /// left out.
    fn connect_builds(&mut self) {
        for (before, built) in std::mem::take(&mut self.build_after) {
            let has_producer = |id: usize| self.dag.edges.iter().any(|edge| edge.consumer.index() == id);
            let roots: Vec<usize> = built.filter(|id| !has_producer(*id)).collect();
            for root in roots {
                let edges = self.dag.edges.len();
                for producer in &before {
                    self.dag.connect(*producer, SegmentId(root as u32), EdgeKind::Blocking);
                }
                if self.dag.validate().is_err() {
                    self.dag.edges.truncate(edges);
                }
            }
        }
    }

    fn connect_filters(&mut self) {
        for (filter, user) in std::mem::take(&mut self.filter_users) {
            if let Some(filler) = self.fillers.get(&filter) {
                self.dag.connect(*filler, user, EdgeKind::Blocking);
            }
        }
    }

    fn flow(&mut self, plan: &PhysicalPlan) -> Result<Flowing> {
        match &plan.node {
            PhysicalNode::TableScan { .. } => self.scan(plan, None),
            PhysicalNode::FileScan { runtime_filters, .. } => {
                let mut flowing = self.open_scan(FileScan::new(plan, self.query)?, "scan file".to_owned());
                if self.query.settings.runtime_filters {
                    for branch in &mut flowing.branches {
                        branch.filters.extend(runtime_filters.iter().map(|f| f.filter));
                    }
                }
                Ok(flowing)
            }
            PhysicalNode::Generate { suite, table, .. } => {
                Ok(self.open_scan(Generate::new(plan)?, format!("generate {suite} {table}")))
            }
            PhysicalNode::Series { .. } => Ok(self.open_scan(SeriesSource::new(plan)?, "series".to_owned())),
            PhysicalNode::Values { rows } => {
                Ok(self.open(Values::new(plan.id, rows, &plan.output), "values".to_owned(), &[]))
            }
            PhysicalNode::Materialized { index, columns } => {
                let source = Materialized::new(plan.id, *index, columns, self.query)?;
                Ok(self.open(source, format!("common subplan {index}"), &[]))
            }
            PhysicalNode::Filter { input, predicate } => {
                let mut flowing = self.flow(input)?;
                let filter: Arc<dyn Transform> = Arc::new(Filter::new(plan.id, predicate)?);
                self.append(&mut flowing, &filter, "filter");
                Ok(flowing)
            }
            PhysicalNode::Project { input, expressions } => {
                let mut flowing = self.flow(input)?;
                let project: Arc<dyn Transform> = Arc::new(Project::new(plan.id, expressions)?);
                self.append(&mut flowing, &project, "project");
                Ok(flowing)
            }
            PhysicalNode::Fetch { input, .. } => {
                let mut flowing = self.flow(input)?;
                let fetch: Arc<dyn Transform> = Arc::new(Fetch::new(plan, self.query)?);
                self.append(&mut flowing, &fetch, "fetch");
                Ok(flowing)
            }
            PhysicalNode::HashJoin { probe, build, fills, .. } => {
                let join = HashJoin::new(plan, self.query)?;
                let begun = self.dag.segments.len();
                let filled = self.build_side(build, join.build_sink(), join.build_step(), "fill")?;
                for (filter, _) in fills {
                    self.fillers.insert(*filter, filled);
                }
                let filled = match join.group_step() {
                    Some(step) => self.step("sort crowded keys", step, &[filled]),
                    None => filled,
                };
                let built = begun..self.dag.segments.len();
                let rest = [
                    join.spilled_rows().map(|rows| (rows, true)),
                    join.build_rows().map(|rows| (rows, false)),
                ];
                let parts = (join.probe(), join.probe_emits(), rest.into_iter().flatten().collect());
                self.probe_side(plan, probe, parts, "probe", (filled, built))
            }
            PhysicalNode::NestedLoopJoin { probe, build, by_range: true, .. } => {
                let join = RangeJoin::new(plan)?;
                let begun = self.dag.segments.len();
                let flowing = self.flow(build)?;
                let mut before = self.end(flowing, join.build_sink());
                for (name, step) in join.build_steps() {
                    before = vec![self.step(name, step, &before)];
                }
                let built = begun..self.dag.segments.len();
                let rest = join.build_rows().map(|rows| (rows, false));
                let parts = (join.probe(), join.probe_emits(), rest.into_iter().collect());
                let filled = before.first().copied();
                let filled = filled.ok_or_else(|| Error::internal("a join by a range without a build"))?;
                self.probe_side(plan, probe, parts, "range join", (filled, built))
            }
            PhysicalNode::NestedLoopJoin { probe, build, .. } => {
                let join = NestedLoopJoin::new(plan, self.query)?;
                let begun = self.dag.segments.len();
                let filled = self.build_side(build, join.build_sink(), join.build_step(), "collect")?;
                let built = begun..self.dag.segments.len();
                let rest = join.build_rows().map(|rows| (rows, false));
                let parts = (join.probe(), join.probe_emits(), rest.into_iter().collect());
                self.probe_side(plan, probe, parts, "nested loop", (filled, built))
            }
            PhysicalNode::Aggregate { input, .. } => {
                let aggregate = Aggregate::new(plan, self.query)?;
                let clustered = Clustered::of(&aggregate, plan, self.query)?;
                if clustered.is_none()
                    && let Some(groups) = JoinGroups::of(plan, self.query)?
                {
                    return self.join_groups(input, &groups);
                }
                let codes = aggregate
                    .wants_codes(plan, self.query)
                    .filter(|_| clustered.is_none() && self.query.edges.is_fused(input.id));
                let mut flowing = match codes {
                    Some(codes) => self.scan(input, Some(codes))?,
                    None => self.flow(input)?,
                };
                let (scanned, spilled): (Vec<_>, Vec<_>) =
                    std::mem::take(&mut flowing.branches).into_iter().partition(|branch| !branch.spilled);
                flowing.branches = scanned;
                if let ([_], Some(clustered)) = (flowing.branches.as_slice(), clustered) {
                    let done = Arc::new(Mutex::new(Vec::new()));
                    for branch in &mut flowing.branches {
                        branch.became.push(done.clone());
                    }
                    self.append(&mut flowing, &clustered.transform(), "clustered groups");
                    let mut rest = self.open_shared(clustered.rest(), "other groups".to_owned(), &[]);
                    for branch in &mut rest.branches {
                        branch.waits.push(Waits::Branch(done.clone()));
                    }
                    flowing.branches.append(&mut rest.branches);
                    if !spilled.is_empty() {
                        // Rows from files come in no order of blocks. There are some only if there are no others.
                        let aggregate = Aggregate::new(plan, self.query)?;
                        let mut groups = self.aggregated(Flowing { branches: spilled }, &aggregate);
                        flowing.branches.append(&mut groups.branches);
                    }
                    return Ok(flowing);
                }
                flowing.branches.extend(spilled);
                Ok(self.aggregated(flowing, &aggregate))
            }
            PhysicalNode::Sort { input, .. } => {
                let sort = Sort::new(plan, self.query)?;
                let flowing = self.flow(input)?;
                let segments = self.end(flowing, sort.sink());
                let merged = self.step("merge runs", sort.merge_step(), &segments);
                Ok(self.open_ordered(sort.source(), "sorted", &[merged]))
            }
            PhysicalNode::Limit { input, offset, count } => {
                let (sink, source) = Limit::new(plan.id, *offset, *count);
                let flowing = self.flow(input)?;
                let segments = self.end(flowing, Arc::new(sink));
                Ok(self.open_ordered(Arc::new(source), "limited", &segments))
            }
            PhysicalNode::Window { input, .. } => {
                let window = Window::new(plan)?;
                let flowing = self.flow(input)?;
                let segments = self.end(flowing, window.sink());
                let evaluated = self.step("evaluate windows", window.evaluate_step(), &segments);
                Ok(self.open_shared(window.source(), "windows".to_owned(), &[evaluated]))
            }
            PhysicalNode::Unnest { input, keep, lists, ordinality, outer } => {
                let mut flowing = self.flow(input)?;
                let unnest: Arc<dyn Transform> =
                    Arc::new(Unnest::new(plan.id, keep, lists, *ordinality, *outer)?);
                self.append(&mut flowing, &unnest, "unnest");
                Ok(flowing)
            }
            PhysicalNode::UnionAll { inputs } => {
                let mut branches = Vec::new();
                for input in inputs {
                    branches.append(&mut self.flow(input)?.branches);
                }
                Ok(Flowing { branches })
            }
            PhysicalNode::Insert { input, .. } => {
                let insert = Insert::new(plan, self.query)?;
                let flowing = self.flow(input)?;
                let segments = self.end(flowing, insert.sink());
                Ok(self.open_shared(insert.source(), "inserted".to_owned(), &segments))
            }
        }
    }

    /// A table scan, which hands out codes if the aggregation right above it wants them.
    fn scan(&mut self, plan: &PhysicalPlan, codes: Option<Arc<CodesWanted>>) -> Result<Flowing> {
        let PhysicalNode::TableScan { name, runtime_filters, .. } = &plan.node else {
            return Err(Error::internal("not a table scan"));
        };
        let scan = TableScan::new(plan, self.query)?.with_codes(codes);
        let mut flowing = self.open_scan(scan, format!("scan {name}"));
        if self.query.settings.runtime_filters {
            for branch in &mut flowing.branches {
                branch.filters.extend(runtime_filters.iter().map(|f| f.filter));
            }
        }
        Ok(flowing)
    }

    fn aggregated(&mut self, input: Flowing, aggregate: &Arc<Aggregate>) -> Flowing {
        let segments = self.end(input, aggregate.sink());
        let merged = self.step("merge groups", aggregate.merge_step(), &segments);
        self.open_shared(aggregate.source(), "groups".to_owned(), &[merged])
    }

    /// A join and the aggregation by its build rows, as one.
    fn join_groups(&mut self, join: &PhysicalPlan, groups: &Arc<JoinGroups>) -> Result<Flowing> {
        let PhysicalNode::HashJoin { probe, build, fills, .. } = &join.node else {
            return Err(Error::internal("groups of build rows without a join"));
        };
        let begun = self.dag.segments.len();
        let filled =
            self.build_side(build, groups.join().build_sink(), groups.join().build_step(), "fill")?;
        let built = begun..self.dag.segments.len();
        for (filter, _) in fills {
            self.fillers.insert(*filter, filled);
        }
        let mut flowing = self.flow(probe)?;
        self.cut_before_probe(&mut flowing, join, built);
        for branch in &mut flowing.branches {
            self.wait_for(branch, filled);
            branch.name.push_str(" > probe");
        }
        let mut before = self.close(flowing, groups.sink());
        before.push(filled);
        let merged = self.step("merge groups", groups.merge_step(), &before);
        Ok(self.open_shared(groups.source(), "groups".to_owned(), &[merged]))
    }

    fn build_side(
        &mut self,
        build: &PhysicalPlan,
        sink: Arc<dyn Sink>,
        fill: Arc<dyn Step>,
        name: &str,
    ) -> Result<SegmentId> {
        let flowing = self.flow(build)?;
        let segments = self.end(flowing, sink);
        Ok(self.step(name, fill, &segments))
    }

    fn probe_side(
        &mut self,
        join: &PhysicalPlan,
        probe: &PhysicalPlan,
        (transform, emits, rest): (Arc<dyn Transform>, bool, Vec<(Arc<dyn Source>, bool)>),
        name: &str,
        (filled, built): (SegmentId, Range<usize>),
    ) -> Result<Flowing> {
        let mut flowing = self.flow(probe)?;
        self.cut_before_probe(&mut flowing, join, built);
        for branch in &mut flowing.branches {
            branch.append(&transform, name);
            self.wait_for(branch, filled);
        }
        let probed = Arc::new(Mutex::new(Vec::new()));
        for branch in &mut flowing.branches {
            branch.became.push(probed.clone());
        }
        if !emits {
            self.close(flowing, Arc::new(Discard::new(join.id)));
            flowing = Flowing { branches: vec![] };
        }
        for (source, spilled) in rest {
            let name = if spilled { "spilled partitions" } else { "build rows" };
            let mut rest = self.open_shared(source, name.to_owned(), &[filled]);
            for branch in &mut rest.branches {
                branch.spilled = spilled;
                branch.waits.push(Waits::Branch(probed.clone()));
            }
            flowing.branches.append(&mut rest.branches);
        }
        Ok(flowing)
    }
}
