//! Cutting a plan into pipelines, as was decided.
//!
//! Walking the plan from the root, every subtree becomes a `Flowing`: one or more open branches (a source and the
//! transforms so far). Streaming operators append a transform to each branch; blocking ones close the branches with a
//! sink, add a merge step, and open a new branch from their source. Edges:
//!
//! ```text
//!  scan build > build --> fill step       --blocking--> scan probe > probe > ... > sink
//!  probe pipelines                        --blocking--> build rows (outer and semi joins on the build side)
//!  fill step                              --blocking--> scans that apply its runtime filters
//!  producer > transfer                    --streaming--> transfer > ... (units of transfer `block`, `blocks(k)`)
//!  producer > transfer                    --blocking---> transfer > ... (unit of transfer `table`)
//! ```
//! A producer that streams into another segment waits for all that its consumers wait for, so that little lies
//! between them. Before a `table` it runs first, and the join behind the table is built after it, where nothing
//! speaks against it: then the hash tables that it probed are gone.

use std::collections::HashMap;
use std::ops::Range;

use plan::pipeline::{
    Codes, Pipeline, Pipelines, Rows, Shared, Sink, Source, Step, Transfer, TransferId, Transformation, Work,
};
use plan::{ExchangeKind, FilterId, NodeId, PhysicalNode, PhysicalPlan, RuntimeFilter};
use types::{Error, Result};
use workorder::{Edge, EdgeKind, SegmentId, UnitOfTransfer};

use super::decide::{Decisions, Grouping};
use crate::transfer::choice;

/// The pipelines of `plan`, whose nodes are numbered.
pub fn cut(plan: &PhysicalPlan, decisions: &Decisions) -> Result<Pipelines> {
    let mut cutter = Cutter {
        decisions,
        cut: Pipelines::default(),
        became: Vec::new(),
        fillers: HashMap::new(),
        filter_users: Vec::new(),
        branch_waits: Vec::new(),
        build_after: Vec::new(),
    };
    let flowing = cutter.flow(plan)?;
    cutter.close(flowing, Sink::Result(plan.id));
    cutter.connect_branches();
    cutter.connect_filters();
    cutter.connect_builds();
    cutter.cut.validate().map_err(|e| Error::internal(format!("broken plan: {e}")))?;
    Ok(cutter.cut)
}

/// A group of open branches: a place among `Cutter::became`.
type GroupId = usize;

/// What a branch waits for.
#[derive(Clone, Copy)]
enum Waits {
    Segment(SegmentId),
    /// What the open branches of a group will become.
    Group(GroupId),
}

struct OpenBranch {
    source: Source,
    transforms: Vec<Transformation>,
    /// Whose rows come out.
    top: NodeId,
    /// The rows are computed by this branch and stored nowhere yet.
    computes: bool,
    waits: Vec<Waits>,
    /// Streaming producers: the segments that fill this branch's source.
    fed_by: Vec<SegmentId>,
    /// They and those that feed them, as far as rows stream.
    upstream: Vec<SegmentId>,
    /// What its source and transforms need.
    needs: Vec<Shared>,
    /// The groups that it is one of.
    groups: Vec<GroupId>,
    /// The rows of a join whose sides are in files; then no other branch of the join's probe side has any.
    spilled: bool,
}

impl OpenBranch {
    fn append(&mut self, transform: Transformation) {
        self.top = transform.node();
        self.computes = true;
        self.transforms.push(transform);
    }
}

struct Flowing {
    branches: Vec<OpenBranch>,
}

struct Cutter<'a> {
    decisions: &'a Decisions,
    cut: Pipelines,
    /// What the branches of each group have become.
    became: Vec<Vec<SegmentId>>,
    /// The segment after which a filter is published.
    fillers: HashMap<FilterId, SegmentId>,
    filter_users: Vec<(FilterId, SegmentId)>,
    /// Segments that wait for whatever other branches become.
    branch_waits: Vec<(GroupId, SegmentId)>,
    /// Segments after which a build side, these segments, had better begin.
    build_after: Vec<(Vec<SegmentId>, Range<usize>)>,
}

impl Cutter<'_> {
    fn open(&self, source: Source, after: &[SegmentId]) -> Flowing {
        Flowing {
            branches: vec![OpenBranch {
                top: source.node(&self.cut.transfers),
                computes: false,
                source,
                transforms: vec![],
                waits: after.iter().map(|s| Waits::Segment(*s)).collect(),
                fed_by: vec![],
                upstream: vec![],
                needs: vec![],
                groups: vec![],
                spilled: false,
            }],
        }
    }

    /// A source that makes its rows while it is read.
    fn open_scan(&self, source: Source) -> Flowing {
        let mut flowing = self.open(source, &[]);
        flowing.branches.iter_mut().for_each(|branch| branch.computes = true);
        flowing
    }

    /// Puts all branches into a group, whose end others may wait for.
    fn group(&mut self, flowing: &mut Flowing) -> GroupId {
        let group = self.became.len();
        self.became.push(Vec::new());
        flowing.branches.iter_mut().for_each(|branch| branch.groups.push(group));
        group
    }

    fn connect(&mut self, producer: SegmentId, consumer: SegmentId, kind: EdgeKind) {
        self.cut.edges.push(Edge { producer, consumer, kind });
    }

    fn add(&mut self, work: Work, needs: Vec<Shared>) -> SegmentId {
        // There are fewer pipelines than nodes can be numbered.
        let id = SegmentId(self.cut.pipelines.len() as u32);
        self.cut.pipelines.push(Pipeline { work, needs, offers: vec![] });
        id
    }

    fn offer(&mut self, by: SegmentId, offered: impl IntoIterator<Item = Shared>) {
        if let Some(pipeline) = self.cut.pipelines.get_mut(by.index()) {
            pipeline.offers.extend(offered);
        }
    }

    fn pipelines(&self) -> usize {
        self.cut.pipelines.len()
    }

    /// Appends a transform to every branch, cut before it where the unit of transfer says so.
    fn append(&mut self, flowing: &mut Flowing, transform: Transformation) {
        self.cut_between(flowing);
        for branch in &mut flowing.branches {
            branch.append(transform);
        }
    }

    /// Ends the branches whose rows are not handed on by `vector` with an insert destination each, and goes on from
    /// there. The producers before a `table` are returned.
    fn cut_between(&mut self, flowing: &mut Flowing) -> Vec<SegmentId> {
        let mut before_tables = Vec::new();
        for branch in std::mem::take(&mut flowing.branches) {
            let unit = self.decisions.edges.unit(branch.top);
            if unit.is_fused() || !branch.computes {
                flowing.branches.push(branch);
                continue;
            }
            let spilled = branch.spilled;
            let mut upstream = branch.upstream.clone();
            let id = TransferId(self.cut.transfers.len() as u32);
            self.cut.transfers.push(Transfer { node: branch.top, unit });
            let producers = self.close(Flowing { branches: vec![branch] }, Sink::Transfer(id));
            let mut next = self.open(Source::Transfer(id), &[]);
            for opened in &mut next.branches {
                opened.spilled = spilled;
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

    /// A branch begins when the join's table, which `filled` completes, is there, and what streams into it as well.
    fn wait_for_table(&mut self, branch: &mut OpenBranch, join: NodeId, filled: SegmentId) {
        branch.needs.push(Shared::Table(join));
        branch.waits.push(Waits::Segment(filled));
        for producer in &branch.upstream {
            self.connect(filled, *producer, EdgeKind::Blocking);
        }
    }

    /// Cuts the branches where the unit of transfer says so, and ends them in one sink.
    fn end(&mut self, mut flowing: Flowing, sink: Sink) -> Vec<SegmentId> {
        self.cut_between(&mut flowing);
        self.close(flowing, sink)
    }

    /// Ends all branches in one sink; the pipelines they became.
    fn close(&mut self, flowing: Flowing, sink: Sink) -> Vec<SegmentId> {
        let mut segments = Vec::new();
        let mut pending = Vec::new();
        for branch in flowing.branches {
            let filters = branch.needs.iter().filter_map(|need| match need {
                Shared::Filter(filter) => Some(*filter),
                Shared::Table(_) => None,
            });
            let filters: Vec<FilterId> = filters.collect();
            let rows = Rows { source: branch.source, transforms: branch.transforms, sink };
            let id = self.add(Work::Rows(rows), branch.needs);
            for producer in &branch.fed_by {
                self.connect(*producer, id, EdgeKind::Streaming);
            }
            self.filter_users.extend(filters.into_iter().map(|filter| (filter, id)));
            for group in branch.groups {
                self.became[group].push(id);
            }
            pending.push((id, branch.waits));
            segments.push(id);
        }
        for (id, waits) in pending {
            for wait in waits {
                match wait {
                    Waits::Segment(producer) => self.connect(producer, id, EdgeKind::Blocking),
                    Waits::Group(group) => self.branch_waits.push((group, id)),
                }
            }
        }
        segments
    }

    fn step(&mut self, step: Step, after: &[SegmentId]) -> SegmentId {
        let id = self.add(Work::Step(step), vec![]);
        for producer in after {
            self.connect(*producer, id, EdgeKind::Blocking);
        }
        id
    }

    /// Branches may wait for one another, and become pipelines in any order: their waits are resolved once all have.
    fn connect_branches(&mut self) {
        for (group, id) in std::mem::take(&mut self.branch_waits) {
            for producer in self.became[group].clone() {
                self.connect(producer, id, EdgeKind::Blocking);
            }
        }
    }

    /// Rows that go into a probe; where they make a table first, the build waits for it if it may.
    fn cut_before_probe(&mut self, flowing: &mut Flowing, join: &PhysicalPlan, built: Range<usize>) {
        let before = self.cut_between(flowing);
        if !before.is_empty() && choice::may_wait(join, self.decisions.applies_filters) {
            self.build_after.push((before, built));
        }
    }

    /// Build sides that wait for a table. A plan is right without these edges, and one that would close a cycle is
    /// left out.
    fn connect_builds(&mut self) {
        for (before, built) in std::mem::take(&mut self.build_after) {
            let has_producer = |id: usize| self.cut.edges.iter().any(|edge| edge.consumer.index() == id);
            let roots: Vec<usize> = built.filter(|id| !has_producer(*id)).collect();
            for root in roots {
                let edges = self.cut.edges.len();
                for producer in &before {
                    self.connect(*producer, SegmentId(root as u32), EdgeKind::Blocking);
                }
                if self.cut.validate().is_err() {
                    self.cut.edges.truncate(edges);
                }
            }
        }
    }

    fn connect_filters(&mut self) {
        for (filter, user) in std::mem::take(&mut self.filter_users) {
            if let Some(filler) = self.fillers.get(&filter).copied() {
                self.connect(filler, user, EdgeKind::Blocking);
            }
        }
    }

    fn flow(&mut self, plan: &PhysicalPlan) -> Result<Flowing> {
        let node = plan.id;
        if self.decisions.is_elsewhere(node) {
            self.feed_gathers(plan)?;
            return Ok(self.open(Source::Nothing(node), &[]));
        }
        match &plan.node {
            PhysicalNode::TableScan { .. } => self.scan(plan, None),
            PhysicalNode::FileScan { runtime_filters, .. } => {
                let mut flowing = self.open_scan(Source::FileScan(node));
                self.apply_filters(&mut flowing, runtime_filters);
                Ok(flowing)
            }
            PhysicalNode::Generate { suite, table, .. } => {
                let (suite, table) = (suite.clone(), table.clone());
                Ok(self.open_scan(Source::Generate { node, suite, table }))
            }
            PhysicalNode::Series { .. } => Ok(self.open_scan(Source::Series(node))),
            PhysicalNode::Values { .. } => Ok(self.open(Source::Values(node), &[])),
            PhysicalNode::Materialized { index, .. } => {
                Ok(self.open(Source::Slot { node, index: *index }, &[]))
            }
            PhysicalNode::Filter { input, .. } => self.through(input, Transformation::Filter(node)),
            PhysicalNode::Project { input, .. } => self.through(input, Transformation::Project(node)),
            PhysicalNode::Fetch { input, .. } => self.through(input, Transformation::Fetch(node)),
            PhysicalNode::Unnest { input, .. } => self.through(input, Transformation::Unnest(node)),
            PhysicalNode::HashJoin { .. } | PhysicalNode::NestedLoopJoin { .. } => self.join(plan),
            PhysicalNode::Aggregate { input, .. } => self.aggregate(plan, input),
            PhysicalNode::Sort { input, .. } => {
                let flowing = self.flow(input)?;
                let segments = self.end(flowing, Sink::Sort(node));
                let merged = self.step(Step::MergeRuns(node), &segments);
                Ok(self.open(Source::Sorted(node), &[merged]))
            }
            PhysicalNode::Limit { input, .. } => {
                let flowing = self.flow(input)?;
                let segments = self.end(flowing, Sink::Limit(node));
                Ok(self.open(Source::Limited(node), &segments))
            }
            PhysicalNode::Window { input, .. } => {
                let flowing = self.flow(input)?;
                let segments = self.end(flowing, Sink::Window(node));
                let evaluated = self.step(Step::EvaluateWindows(node), &segments);
                Ok(self.open(Source::Windows(node), &[evaluated]))
            }
            PhysicalNode::UnionAll { inputs } => {
                let mut branches = Vec::new();
                for input in inputs {
                    branches.append(&mut self.flow(input)?.branches);
                }
                Ok(Flowing { branches })
            }
            PhysicalNode::Exchange { input, exchange } => self.exchange(plan, input, &exchange.kind),
            PhysicalNode::Insert { input, .. } => {
                let flowing = self.flow(input)?;
                let segments = self.end(flowing, Sink::Insert(node));
                Ok(self.open(Source::Inserted(node), &segments))
            }
        }
    }

    /// What this node sends to gathers whose rows, and all that is made of them, are at the coordinator.
    fn feed_gathers(&mut self, plan: &PhysicalPlan) -> Result<()> {
        if let PhysicalNode::Exchange { input, .. } = &plan.node {
            return self.send(plan.id, input).map(drop);
        }
        plan.children().into_iter().try_for_each(|child| self.feed_gathers(child))
    }

    /// The pipelines that end in an exchange, and those that stream into them.
    fn send(&mut self, node: NodeId, input: &PhysicalPlan) -> Result<(Vec<SegmentId>, Vec<SegmentId>)> {
        if !self.decisions.is_of_cluster() {
            return Err(Error::internal("an exchange between nodes in a plan that runs on one engine"));
        }
        let mut flowing = self.flow(input)?;
        if flowing.branches.is_empty() {
            // Those at the other ends wait to be told that nothing comes.
            flowing = self.open(Source::Nothing(input.id), &[]);
        }
        self.cut_between(&mut flowing);
        let mut upstream: Vec<SegmentId> =
            flowing.branches.iter().flat_map(|branch| branch.upstream.iter().copied()).collect();
        let senders = self.close(flowing, Sink::Exchange(node));
        upstream.extend(&senders);
        Ok((senders, upstream))
    }

    /// Rows that go to the nodes, and those that come. This node's own are streamed; what other nodes send makes the source
    /// go on as well. A filter or table that is waited for above holds up the senders here, so that little lies between.
    fn exchange(
        &mut self,
        plan: &PhysicalPlan,
        input: &PhysicalPlan,
        kind: &ExchangeKind,
    ) -> Result<Flowing> {
        let (senders, upstream) = self.send(plan.id, input)?;
        let mut flowing = self.open(Source::Exchange(plan.id), &[]);
        for branch in &mut flowing.branches {
            branch.fed_by.clone_from(&senders);
            branch.upstream.clone_from(&upstream);
        }
        match kind {
            ExchangeKind::Gather { order } if !order.is_empty() => {
                let segments = self.close(flowing, Sink::Sort(plan.id));
                let merged = self.step(Step::MergeRuns(plan.id), &segments);
                Ok(self.open(Source::Sorted(plan.id), &[merged]))
            }
            _ => Ok(flowing),
        }
    }

    fn through(&mut self, input: &PhysicalPlan, transform: Transformation) -> Result<Flowing> {
        let mut flowing = self.flow(input)?;
        self.append(&mut flowing, transform);
        Ok(flowing)
    }

    fn apply_filters(&self, flowing: &mut Flowing, filters: &[RuntimeFilter]) {
        let applied = filters.iter().map(|f| f.filter).filter(|filter| self.decisions.applies(*filter));
        let needs: Vec<Shared> = applied.map(Shared::Filter).collect();
        for branch in &mut flowing.branches {
            branch.needs.extend(&needs);
        }
    }

    /// A table scan, which hands out codes if the aggregation right above it wants them.
    fn scan(&mut self, plan: &PhysicalPlan, codes: Option<Codes>) -> Result<Flowing> {
        let PhysicalNode::TableScan { name, runtime_filters, .. } = &plan.node else {
            return Err(Error::internal("not a table scan"));
        };
        let bounds = self.decisions.bounds(plan.id).to_vec();
        let mut flowing = self.open_scan(Source::Scan { node: plan.id, name: name.clone(), bounds, codes });
        self.apply_filters(&mut flowing, runtime_filters);
        Ok(flowing)
    }

    fn aggregate(&mut self, plan: &PhysicalPlan, input: &PhysicalPlan) -> Result<Flowing> {
        let node = plan.id;
        let (mut flowing, clustered) = match self.decisions.grouping(node) {
            Some(Grouping::BuildRows) => return self.join_groups(node, input),
            Some(Grouping::Codes(codes)) => (self.scan(input, Some(codes))?, None),
            Some(Grouping::Clustered { table, column }) => (self.flow(input)?, Some((table, column))),
            None => (self.flow(input)?, None),
        };
        let (scanned, spilled): (Vec<_>, Vec<_>) =
            std::mem::take(&mut flowing.branches).into_iter().partition(|branch| !branch.spilled);
        flowing.branches = scanned;
        if let ([_], Some((table, column))) = (flowing.branches.as_slice(), clustered) {
            let done = self.group(&mut flowing);
            self.append(&mut flowing, Transformation::ClusteredGroups { node, table, column });
            let mut rest = self.open(Source::OtherGroups(node), &[]);
            for branch in &mut rest.branches {
                branch.waits.push(Waits::Group(done));
            }
            flowing.branches.append(&mut rest.branches);
            if !spilled.is_empty() {
                // Rows from files come in no order of blocks. There are some only if there are no others.
                let mut groups = self.aggregated(Flowing { branches: spilled }, node);
                flowing.branches.append(&mut groups.branches);
            }
            return Ok(flowing);
        }
        flowing.branches.extend(spilled);
        Ok(self.aggregated(flowing, node))
    }

    fn aggregated(&mut self, input: Flowing, node: NodeId) -> Flowing {
        let segments = self.end(input, Sink::Aggregate(node));
        let merged = self.step(Step::MergeGroups(node), &segments);
        self.open(Source::Groups(node), &[merged])
    }

    /// A join and the aggregation by its build rows, as one.
    fn join_groups(&mut self, node: NodeId, plan: &PhysicalPlan) -> Result<Flowing> {
        let PhysicalNode::HashJoin { probe, build, fills, .. } = &plan.node else {
            return Err(Error::internal("groups of build rows without a join"));
        };
        let join = plan.id;
        let begun = self.pipelines();
        let (filled, _) = self.build_side(build, join, Step::Fill(join), &[])?;
        let built = begun..self.pipelines();
        self.fills(fills, filled);
        let mut flowing = self.flow(probe)?;
        self.cut_before_probe(&mut flowing, plan, built);
        for branch in &mut flowing.branches {
            self.wait_for_table(branch, join, filled);
        }
        let mut before = self.close(flowing, Sink::JoinGroups { node, join });
        before.push(filled);
        let merged = self.step(Step::MergeGroups(node), &before);
        let mut groups = self.open(Source::Groups(node), &[merged]);
        groups.branches.iter_mut().for_each(|branch| branch.needs.push(Shared::Table(join)));
        Ok(groups)
    }

    /// The filters that a join's table fills are there after `filled`.
    fn fills(&mut self, fills: &[(FilterId, usize)], filled: SegmentId) {
        for (filter, _) in fills {
            self.fillers.insert(*filter, filled);
        }
        self.offer(filled, fills.iter().map(|(filter, _)| Shared::Filter(*filter)));
    }

    /// A join's build side with the first step and what further ones are done with it; the first step, and the last
    /// one, which offers the table.
    fn build_side(
        &mut self,
        build: &PhysicalPlan,
        join: NodeId,
        first: Step,
        further: &[Step],
    ) -> Result<(SegmentId, SegmentId)> {
        let flowing = self.flow(build)?;
        let segments = self.end(flowing, Sink::Build(join));
        let first = self.step(first, &segments);
        let last = further.iter().fold(first, |before, step| self.step(*step, &[before]));
        self.offer(last, [Shared::Table(join)]);
        Ok((first, last))
    }

    fn join(&mut self, plan: &PhysicalPlan) -> Result<Flowing> {
        let node = plan.id;
        let begun = self.pipelines();
        let (probe, kind, transform, filled) = match &plan.node {
            PhysicalNode::HashJoin { probe, build, kind, fills, .. } => {
                let crowded = self.decisions.sorts_crowded_keys(node);
                let further: &[Step] = if crowded { &[Step::SortCrowdedKeys(node)] } else { &[] };
                let (published, filled) = self.build_side(build, node, Step::Fill(node), further)?;
                self.fills(fills, published);
                (probe, *kind, Transformation::Probe(node), filled)
            }
            PhysicalNode::NestedLoopJoin { probe, build, kind, by_range: true, .. } => {
                let further = [Step::SortRanges(node), Step::PlaceRows(node)];
                let (_, filled) = self.build_side(build, node, Step::SortChunks(node), &further)?;
                (probe, *kind, Transformation::RangeProbe(node), filled)
            }
            PhysicalNode::NestedLoopJoin { probe, build, kind, .. } => {
                let (_, filled) = self.build_side(build, node, Step::Collect(node), &[])?;
                (probe, *kind, Transformation::NestedLoop(node), filled)
            }
            _ => return Err(Error::internal("not a join")),
        };
        let built = begun..self.pipelines();
        let mut flowing = self.flow(probe)?;
        self.cut_before_probe(&mut flowing, plan, built);
        for branch in &mut flowing.branches {
            branch.append(transform);
            self.wait_for_table(branch, node, filled);
        }
        let probed = self.group(&mut flowing);
        if !kind.probe_emits() {
            self.close(flowing, Sink::Discard(node));
            flowing = Flowing { branches: vec![] };
        }
        let spilled = self.decisions.may_spill(node).then_some((Source::SpilledPartitions(node), true));
        let kept = kind.marks_build_rows().then_some((Source::BuildRows(node), false));
        for (source, spilled) in spilled.into_iter().chain(kept) {
            let mut rest = self.open(source, &[filled]);
            for branch in &mut rest.branches {
                branch.spilled = spilled;
                branch.needs.push(Shared::Table(node));
                branch.waits.push(Waits::Group(probed));
            }
            flowing.branches.append(&mut rest.branches);
        }
        Ok(flowing)
    }
}
