//! Making operators for pipelines, and segments of them.
//!
//! Every operator is made once, when the first pipeline names its plan node, and shared by those that name it. How it
//! works is what the pipelines say: a join may go to files if a pipeline reads what it has there.

use std::collections::hash_map::Entry;
use std::collections::{HashMap, HashSet};
use std::hash::Hash;
use std::sync::Arc;

use plan::pipeline::{
    Codes, Pipelines, Rows, ScanBound, Sink as Ends, Source as Begins, Step as Between, TransferId,
    Transformation, Work,
};
use plan::{ExchangeKind, NodeId, PhysicalNode, PhysicalPlan};
use types::{Error, Result};
use workorder::Dag;

use crate::aggregate::{Aggregate, Clustered, JoinGroups};
use crate::collect::Discard;
use crate::context::QueryContext;
use crate::exchange::{Exchange, Nothing};
use crate::fetch::Fetch;
use crate::file_scan::FileScan;
use crate::filter::Filter;
use crate::filter_project::FilterProject;
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
use crate::table_scan::TableScan;
use crate::transfer::transfer;
use crate::unnest::Unnest;
use crate::values::Values;
use crate::window::Window;

/// The segments of a plan's pipelines. `result` makes the sink of the plan's rows for so many pipelines.
pub fn realise(
    pipelines: &Pipelines,
    plan: &PhysicalPlan,
    query: &Arc<QueryContext>,
    result: impl FnOnce(usize) -> Arc<dyn Sink>,
) -> Result<Dag> {
    let mut operators = Operators::new(pipelines, plan, query, result);
    let mut dag = Dag::new();
    for pipeline in &pipelines.pipelines {
        let name = pipeline.name();
        match &pipeline.work {
            Work::Rows(rows) => {
                let branch = operators.branch(rows)?;
                dag.add(Arc::new(PipelineSegment::new(name, branch, query.clone())));
            }
            Work::Step(step) => {
                let step = operators.step(*step)?;
                dag.add(Arc::new(StepSegment::new(name, step, query.clone())));
            }
        }
    }
    dag.edges.clone_from(&pipelines.edges);
    dag.validate().map_err(|e| Error::internal(format!("broken plan: {e}")))?;
    Ok(dag)
}

/// A join's operator.
#[derive(Clone)]
enum Join {
    Hash(Arc<HashJoin>),
    NestedLoop(Arc<NestedLoopJoin>),
    Range(Arc<RangeJoin>),
}

/// An aggregation's operator.
#[derive(Clone)]
enum Groups {
    /// By tables of its own.
    Own(Arc<Aggregate>),
    /// By build rows of a join.
    OfJoin(Arc<JoinGroups>),
}

/// A sink with its pipelines.
struct Ending {
    sink: Arc<dyn Sink>,
    input: Arc<SinkInput>,
    /// How many of them were made.
    branches: usize,
}

/// The two ends of rows that are kept in between.
type BothEnds = (Arc<dyn Sink>, Arc<dyn Source>);

/// How operators work, as pipelines elsewhere say.
#[derive(Default)]
struct Ways {
    /// How many pipelines each sink has.
    feeding: HashMap<Ends, usize>,
    /// Joins whose build rows are groups, with the aggregations.
    groups_of_join: HashMap<NodeId, NodeId>,
    /// Aggregations whose groups are a join's build rows.
    of_joins: HashSet<NodeId>,
    /// Joins whose sides may go to files.
    spilling: HashSet<NodeId>,
    /// Sorts that a scan knows the bound of.
    bounding: HashSet<NodeId>,
    /// Limits with the exchanges right below, whose units come in any order.
    over_exchanges: HashMap<NodeId, NodeId>,
}

impl Ways {
    fn of(pipelines: &Pipelines) -> Ways {
        let mut ways = Ways::default();
        for pipeline in &pipelines.pipelines {
            let Work::Rows(rows) = &pipeline.work else { continue };
            *ways.feeding.entry(rows.sink).or_default() += 1;
            if let Ends::JoinGroups { node, join } = rows.sink {
                ways.groups_of_join.insert(join, node);
                ways.of_joins.insert(node);
            }
            if let (Ends::Limit(limit), Begins::Exchange(exchange)) = (rows.sink, &rows.source) {
                ways.over_exchanges.insert(limit, *exchange);
            }
            match &rows.source {
                Begins::SpilledPartitions(join) => drop(ways.spilling.insert(*join)),
                Begins::Scan { bounds, .. } => ways.bounding.extend(bounds.iter().map(|bound| bound.sort)),
                _ => {}
            }
        }
        ways
    }
}

/// The operators that several pipelines name, by plan node.
struct Operators<'a, R> {
    pipelines: &'a Pipelines,
    query: &'a Arc<QueryContext>,
    nodes: HashMap<NodeId, &'a PhysicalPlan>,
    ways: Ways,
    /// Used up by the result's sink.
    result: Option<R>,
    joins: HashMap<NodeId, Join>,
    groups: HashMap<NodeId, Groups>,
    clustered: HashMap<NodeId, Arc<Clustered>>,
    sorts: HashMap<NodeId, Arc<Sort>>,
    windows: HashMap<NodeId, Arc<Window>>,
    inserts: HashMap<NodeId, Arc<Insert>>,
    limits: HashMap<NodeId, BothEnds>,
    exchanges: HashMap<NodeId, Arc<Exchange>>,
    transfers: HashMap<TransferId, BothEnds>,
    transforms: HashMap<NodeId, Arc<dyn Transform>>,
    /// By the projection: what is one transform with the filter before it.
    fused: HashMap<NodeId, Option<Arc<dyn Transform>>>,
    endings: HashMap<Ends, Ending>,
}

/// The value of `key`, which is made once.
fn once<K: Eq + Hash, T: Clone>(
    known: &mut HashMap<K, T>,
    key: K,
    make: impl FnOnce() -> Result<T>,
) -> Result<T> {
    match known.entry(key) {
        Entry::Occupied(entry) => Ok(entry.get().clone()),
        Entry::Vacant(place) => Ok(place.insert(make()?).clone()),
    }
}

impl<'a, R: FnOnce(usize) -> Arc<dyn Sink>> Operators<'a, R> {
    fn new(
        pipelines: &'a Pipelines,
        plan: &'a PhysicalPlan,
        query: &'a Arc<QueryContext>,
        result: R,
    ) -> Self {
        let mut nodes = HashMap::new();
        let mut open = vec![plan];
        while let Some(node) = open.pop() {
            nodes.insert(node.id, node);
            open.extend(node.children());
        }
        Operators {
            pipelines,
            query,
            nodes,
            ways: Ways::of(pipelines),
            result: Some(result),
            joins: HashMap::new(),
            groups: HashMap::new(),
            clustered: HashMap::new(),
            sorts: HashMap::new(),
            windows: HashMap::new(),
            inserts: HashMap::new(),
            limits: HashMap::new(),
            exchanges: HashMap::new(),
            transfers: HashMap::new(),
            transforms: HashMap::new(),
            fused: HashMap::new(),
            endings: HashMap::new(),
        }
    }

    fn node(&self, node: NodeId) -> Result<&'a PhysicalPlan> {
        let plan = self.nodes.get(&node).copied();
        plan.ok_or_else(|| Error::internal(format!("pipelines of another plan: it has no node {node}")))
    }

    fn branch(&mut self, rows: &Rows) -> Result<Branch> {
        let source = self.source(&rows.source)?;
        source.add_user();
        let mut transforms = Vec::with_capacity(rows.transforms.len());
        let mut open = rows.transforms.as_slice();
        while let [transform, rest @ ..] = open {
            let (transform, rest) = match (transform, rest) {
                (Transformation::Filter(filter), [Transformation::Project(project), behind @ ..]) => {
                    match self.filter_project(*filter, *project)? {
                        Some(both) => (both, behind),
                        None => (self.transform(*transform)?, rest),
                    }
                }
                _ => (self.transform(*transform)?, rest),
            };
            transform.add_user();
            transforms.push(transform);
            open = rest;
        }
        let feeding = self.ways.feeding.get(&rows.sink).copied().unwrap_or_default();
        if !self.endings.contains_key(&rows.sink) {
            let sink = self.sink(rows.sink, feeding)?;
            let input = SinkInput::new(sink.clone(), feeding);
            self.endings.insert(rows.sink, Ending { sink, input, branches: 0 });
        }
        let ending = self.endings.get_mut(&rows.sink).ok_or_else(|| Error::internal("a sink is lost"))?;
        let ordinal = ending.branches;
        ending.branches += 1;
        let chain = Chain { transforms, sink: ending.sink.clone() };
        Ok(Branch { source, chain, ordinal, input: ending.input.clone() })
    }

    fn source(&mut self, source: &Begins) -> Result<Arc<dyn Source>> {
        let query = self.query;
        Ok(match source {
            Begins::Scan { node, bounds, codes, .. } => self.scan(self.node(*node)?, bounds, *codes)?,
            Begins::FileScan(node) => Arc::new(FileScan::new(self.node(*node)?, query)?),
            Begins::Generate { node, .. } => Arc::new(Generate::new(self.node(*node)?)?),
            Begins::Series(node) => Arc::new(SeriesSource::new(self.node(*node)?)?),
            Begins::Values(node) => match self.node(*node)? {
                PhysicalPlan { node: PhysicalNode::Values { rows }, output, .. } => {
                    Arc::new(Values::new(*node, rows, output))
                }
                _ => return Err(other("constant rows", *node)),
            },
            Begins::Slot { node, index } => match &self.node(*node)?.node {
                PhysicalNode::Materialized { columns, .. } => {
                    Arc::new(Materialized::new(*node, *index, columns, query)?)
                }
                _ => return Err(other("rows of a slot", *node)),
            },
            Begins::Groups(node) => match self.groups(*node)? {
                Groups::Own(aggregate) => aggregate.source(),
                Groups::OfJoin(groups) => groups.source(),
            },
            Begins::OtherGroups(node) => match self.clustered.get(node) {
                Some(clustered) => clustered.rest(),
                None => return Err(other("groups of a clustered key", *node)),
            },
            Begins::BuildRows(node) => {
                let rows = match self.join(*node)? {
                    Join::Hash(join) => join.build_rows(),
                    Join::NestedLoop(join) => join.build_rows(),
                    Join::Range(join) => join.build_rows(),
                };
                rows.ok_or_else(|| other("a join that marks build rows", *node))?
            }
            Begins::SpilledPartitions(node) => match self.join(*node)? {
                Join::Hash(join) => {
                    join.spilled_rows().ok_or_else(|| other("a join whose sides go to files", *node))?
                }
                _ => return Err(other("a hash join", *node)),
            },
            Begins::Sorted(node) => self.sort(*node)?.source(),
            Begins::Limited(node) => self.limit(*node)?.1,
            Begins::Windows(node) => self.window(*node)?.source(),
            Begins::Inserted(node) => self.insert(*node)?.source(),
            Begins::Transfer(id) => self.handed_on(*id)?.1,
            Begins::Exchange(node) => Arc::new(self.exchange(*node)?.source()),
            Begins::Nothing(node) => Arc::new(Nothing(*node)),
        })
    }

    fn scan(
        &mut self,
        plan: &PhysicalPlan,
        bounds: &[ScanBound],
        codes: Option<Codes>,
    ) -> Result<Arc<dyn Source>> {
        let mut known = Vec::with_capacity(bounds.len());
        for ScanBound { sort, column } in bounds {
            let bound = self.sort(*sort)?.bound();
            known.push((*column, bound.ok_or_else(|| other("a sort with a bound", *sort))?));
        }
        let wanted = match codes {
            None => None,
            Some(codes) => match self.groups(codes.aggregate)? {
                Groups::Own(aggregate) => Some(aggregate.on_codes(self.node(codes.aggregate)?, codes)?),
                Groups::OfJoin(_) => return Err(other("an aggregation on codes", codes.aggregate)),
            },
        };
        Ok(Arc::new(TableScan::new(plan, self.query, known)?.with_codes(wanted)))
    }

    /// A filter and the projection behind it as one transform, where that is better.
    fn filter_project(&mut self, filter: NodeId, project: NodeId) -> Result<Option<Arc<dyn Transform>>> {
        if let Some(known) = self.fused.get(&project) {
            return Ok(known.clone());
        }
        let fused: Option<Arc<dyn Transform>> = match (&self.node(filter)?.node, &self.node(project)?.node) {
            (PhysicalNode::Filter { predicate, .. }, PhysicalNode::Project { expressions, .. }) => {
                let fused = FilterProject::new((filter, predicate), (project, expressions), self.query)?;
                fused.map(|fused| Arc::new(fused) as Arc<dyn Transform>)
            }
            _ => None,
        };
        self.fused.insert(project, fused.clone());
        Ok(fused)
    }

    fn transform(&mut self, transform: Transformation) -> Result<Arc<dyn Transform>> {
        if let Some(known) = self.transforms.get(&transform.node()) {
            return Ok(known.clone());
        }
        let plan = self.node(transform.node())?;
        let node = plan.id;
        let made: Arc<dyn Transform> = match (transform, &plan.node) {
            (Transformation::Filter(_), PhysicalNode::Filter { predicate, .. }) => {
                Arc::new(Filter::new(node, predicate)?)
            }
            (Transformation::Project(_), PhysicalNode::Project { expressions, .. }) => {
                Arc::new(Project::new(node, expressions)?)
            }
            (Transformation::Fetch(_), _) => Arc::new(Fetch::new(plan, self.query)?),
            (Transformation::Unnest(_), PhysicalNode::Unnest { keep, lists, ordinality, outer, .. }) => {
                Arc::new(Unnest::new(node, keep, lists, *ordinality, *outer)?)
            }
            (Transformation::Probe(_) | Transformation::NestedLoop(_) | Transformation::RangeProbe(_), _) => {
                match self.join(node)? {
                    Join::Hash(join) => join.probe(),
                    Join::NestedLoop(join) => join.probe(),
                    Join::Range(join) => join.probe(),
                }
            }
            (Transformation::ClusteredGroups { table, column, .. }, _) => {
                let query = self.query;
                let clustered =
                    once(&mut self.clustered, node, || Clustered::of(plan, query, table, column))?;
                clustered.transform()
            }
            _ => return Err(other(transform.name(), node)),
        };
        self.transforms.insert(node, made.clone());
        Ok(made)
    }

    /// A sink that so many pipelines feed.
    fn sink(&mut self, sink: Ends, feeding: usize) -> Result<Arc<dyn Sink>> {
        Ok(match sink {
            Ends::Build(node) => match self.join(node)? {
                Join::Hash(join) => join.build_sink(),
                Join::NestedLoop(join) => join.build_sink(),
                Join::Range(join) => join.build_sink(),
            },
            Ends::Aggregate(node) | Ends::JoinGroups { node, .. } => match self.groups(node)? {
                Groups::Own(aggregate) => aggregate.sink(),
                Groups::OfJoin(groups) => groups.sink(),
            },
            Ends::Sort(node) => self.sort(node)?.sink(),
            Ends::Limit(node) => self.limit(node)?.0,
            Ends::Window(node) => self.window(node)?.sink(),
            Ends::Insert(node) => self.insert(node)?.sink(),
            Ends::Transfer(id) => self.handed_on(id)?.0,
            Ends::Discard(node) => Arc::new(Discard::new(node)),
            Ends::Exchange(node) => Arc::new(self.exchange(node)?.sink()),
            Ends::Result(_) => {
                let make = self.result.take();
                make.ok_or_else(|| Error::internal("a plan with two results"))?(feeding)
            }
        })
    }

    fn step(&mut self, step: Between) -> Result<Arc<dyn Step>> {
        let node = step.node();
        Ok(match step {
            Between::MergeGroups(_) => match self.groups(node)? {
                Groups::Own(aggregate) => aggregate.merge_step(),
                Groups::OfJoin(groups) => groups.merge_step(),
            },
            Between::MergeRuns(_) => self.sort(node)?.merge_step(),
            Between::EvaluateWindows(_) => self.window(node)?.evaluate_step(),
            Between::Fill(_)
            | Between::SortCrowdedKeys(_)
            | Between::Collect(_)
            | Between::SortChunks(_)
            | Between::SortRanges(_)
            | Between::PlaceRows(_) => match (step, self.join(node)?) {
                (Between::Fill(_), Join::Hash(join)) => join.build_step(),
                (Between::SortCrowdedKeys(_), Join::Hash(join)) => {
                    join.group_step().ok_or_else(|| other("a join with a range", node))?
                }
                (Between::Collect(_), Join::NestedLoop(join)) => join.build_step(),
                (Between::SortChunks(_), Join::Range(join)) => join.sort_step(),
                (Between::SortRanges(_), Join::Range(join)) => join.merge_step(),
                (Between::PlaceRows(_), Join::Range(join)) => join.place_step(),
                _ => return Err(other(step.name(), node)),
            },
        })
    }

    fn join(&mut self, node: NodeId) -> Result<Join> {
        if let Some(aggregate) = self.ways.groups_of_join.get(&node).copied() {
            return match self.groups(aggregate)? {
                Groups::OfJoin(groups) => Ok(Join::Hash(groups.join().clone())),
                Groups::Own(_) => Err(other("groups of a join", aggregate)),
            };
        }
        let (plan, query) = (self.node(node)?, self.query);
        let spills = self.ways.spilling.contains(&node);
        once(&mut self.joins, node, || match &plan.node {
            PhysicalNode::NestedLoopJoin { by_range: true, .. } => Ok(Join::Range(RangeJoin::new(plan)?)),
            PhysicalNode::NestedLoopJoin { .. } => Ok(Join::NestedLoop(NestedLoopJoin::new(plan, query)?)),
            _ => Ok(Join::Hash(HashJoin::new(plan, query, spills)?)),
        })
    }

    fn groups(&mut self, node: NodeId) -> Result<Groups> {
        let (plan, query) = (self.node(node)?, self.query);
        let of_join = self.ways.of_joins.contains(&node);
        once(&mut self.groups, node, || match of_join {
            true => Ok(Groups::OfJoin(JoinGroups::of(plan, query)?)),
            false => Ok(Groups::Own(Aggregate::new(plan, query)?)),
        })
    }

    fn sort(&mut self, node: NodeId) -> Result<Arc<Sort>> {
        let (plan, bounds) = (self.node(node)?, self.ways.bounding.contains(&node));
        once(&mut self.sorts, node, || match &plan.node {
            // What the nodes have sorted is put in order as one.
            PhysicalNode::Exchange { exchange, .. } => match &exchange.kind {
                ExchangeKind::Gather { order } => Sort::of_keys(node, order),
                _ => Err(other("a gather in order", node)),
            },
            _ => Sort::new(plan, bounds),
        })
    }

    fn window(&mut self, node: NodeId) -> Result<Arc<Window>> {
        let plan = self.node(node)?;
        once(&mut self.windows, node, || Window::new(plan))
    }

    fn insert(&mut self, node: NodeId) -> Result<Arc<Insert>> {
        let (plan, query) = (self.node(node)?, self.query);
        once(&mut self.inserts, node, || Insert::new(plan, query))
    }

    fn limit(&mut self, node: NodeId) -> Result<BothEnds> {
        let plan = self.node(node)?;
        // The rows of a gather have the order of their places, whatever comes first.
        let below = self.ways.over_exchanges.get(&node).copied();
        let in_any_order = match below.map(|exchange| self.node(exchange)).transpose()?.map(|plan| &plan.node)
        {
            Some(PhysicalNode::Exchange { exchange, .. }) => {
                matches!(exchange.kind, ExchangeKind::Gather { .. } | ExchangeKind::Broadcast)
            }
            _ => false,
        };
        once(&mut self.limits, node, || match &plan.node {
            PhysicalNode::Limit { offset, count, .. } => {
                let (sink, source) = Limit::ends(node, *offset, *count, in_any_order);
                Ok((Arc::new(sink) as Arc<dyn Sink>, Arc::new(source) as Arc<dyn Source>))
            }
            _ => Err(other("a limit", node)),
        })
    }

    fn exchange(&mut self, node: NodeId) -> Result<Arc<Exchange>> {
        let (plan, query) = (self.node(node)?, self.query);
        once(&mut self.exchanges, node, || Exchange::new(plan, query))
    }

    fn handed_on(&mut self, id: TransferId) -> Result<BothEnds> {
        let (pipelines, query) = (self.pipelines, self.query);
        once(&mut self.transfers, id, || {
            let known = pipelines.transfer(id);
            let known = known.ok_or_else(|| Error::internal("a transfer that is not there"))?;
            let (sink, source) = transfer(known.node, known.unit, query);
            Ok((Arc::new(sink) as Arc<dyn Sink>, Arc::new(source) as Arc<dyn Source>))
        })
    }
}

/// Pipelines and plan do not belong together.
fn other(wanted: &str, node: NodeId) -> Error {
    Error::internal(format!("the plan's node {node} is not what its pipelines want: {wanted}"))
}
