//! A plan cut into pipelines: what runs together, and what waits for what.
//!
//! ```text
//!  0: scan nation #2 > build #0
//!  1: fill #0; after 0; offers table #0, filter 0
//!  2: scan customer #1 > probe #0 > result #0; after 1; needs filter 0, table #0
//! ```
//! A pipeline is a source, transforms and a sink, or a step between such pipelines; each becomes the scheduler's segment
//! of its number. Parts name plan nodes (`#0`), which hold all that is to be computed, so pipelines make sense together
//! with their plan alone. Pipelines with the same sink share it: it is finished when the last of them has ended. What is
//! read while others fill it, tables and filters, is named by those that need it and those that offer it; the edges
//! see to it that it is there.
//!
//! Nothing here executes: crate `operators` cuts plans and interprets pipelines.

use std::fmt;

use workorder::{Edge, EdgeKind, SegmentId, UnitOfTransfer};

use crate::{FilterId, NodeId, TableId};

/// A plan's pipelines and steps, which become segments of the same numbers.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Pipelines {
    /// What runs.
    pub pipelines: Vec<Pipeline>,
    /// Who waits for whom: a blocking edge's consumer begins when its producer has ended.
    pub edges: Vec<Edge>,
    /// Where rows are written down between two pipelines.
    pub transfers: Vec<Transfer>,
}

/// What runs as one segment.
#[derive(Clone, Debug, PartialEq)]
pub struct Pipeline {
    /// The work itself.
    pub work: Work,
    /// What others must have filled before it begins.
    pub needs: Vec<Shared>,
    /// What it fills for others.
    pub offers: Vec<Shared>,
}

/// Rows on their way, or a step between two such ways.
#[derive(Clone, Debug, PartialEq)]
pub enum Work {
    /// Units of a source go through the transforms into the sink.
    Rows(Rows),
    /// Work over numbered partitions of what sinks have collected.
    Step(Step),
}

/// A source with its way down to a sink.
#[derive(Clone, Debug, PartialEq)]
pub struct Rows {
    /// Where the rows come from.
    pub source: Source,
    /// What they pass, in order.
    pub transforms: Vec<Transformation>,
    /// Where they end.
    pub sink: Sink,
}

/// What pipelines share apart from rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Shared {
    /// The build side of this join.
    Table(NodeId),
    /// A runtime filter.
    Filter(FilterId),
}

/// The number of a transfer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct TransferId(pub u32);

/// Rows written down between two pipelines.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Transfer {
    /// Whose rows they are.
    pub node: NodeId,
    /// How much is handed on at a time.
    pub unit: UnitOfTransfer,
}

/// The beginning of a pipeline.
#[derive(Clone, Debug, PartialEq)]
pub enum Source {
    /// A table's blocks.
    Scan {
        /// The node of the plan.
        node: NodeId,
        /// The table's name.
        name: String,
        /// Sorts above whose worst row drops rows here.
        bounds: Vec<ScanBound>,
        /// Whether codes are handed out, to the aggregation right above.
        codes: Option<Codes>,
    },
    /// A file in place.
    FileScan(NodeId),
    /// A benchmark's table, made as it is read.
    Generate {
        /// The node of the plan.
        node: NodeId,
        /// The benchmark's name.
        suite: String,
        /// The table's name in the suite.
        table: String,
    },
    /// Numbers in a row.
    Series(NodeId),
    /// Constant rows.
    Values(NodeId),
    /// Rows that an earlier step of the program kept under this number.
    Slot {
        /// The node of the plan.
        node: NodeId,
        /// The number of the kept rows.
        index: usize,
    },
    /// The groups of an aggregation, merged.
    Groups(NodeId),
    /// The groups of a clustered key that several blocks have.
    OtherGroups(NodeId),
    /// Build rows that come out of a join after all probing.
    BuildRows(NodeId),
    /// The rows of a join whose sides are in files.
    SpilledPartitions(NodeId),
    /// Rows in a sort's order.
    Sorted(NodeId),
    /// What a limit let pass.
    Limited(NodeId),
    /// Rows with their window functions.
    Windows(NodeId),
    /// The number of rows that an insert appended.
    Inserted(NodeId),
    /// What another pipeline hands on.
    Transfer(TransferId),
    /// What an exchange brings from the nodes of a cluster.
    Exchange(NodeId),
    /// No rows: this node's are at another node of the cluster.
    Nothing(NodeId),
}

/// A sort's bound in a scan.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ScanBound {
    /// The sort, which keeps few rows.
    pub sort: NodeId,
    /// The position of its first key among the scan's fetched columns.
    pub column: usize,
}

/// How an aggregation works on the codes of the scan below it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Codes {
    /// The aggregation.
    pub aggregate: NodeId,
    /// Sums by cells of small columns are possible.
    pub cells: bool,
    /// Sums by bit masks are possible.
    pub masks: bool,
}

/// What rows pass inside the source's work orders.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Transformation {
    /// Keeps rows for which a condition is TRUE.
    Filter(NodeId),
    /// Computes columns.
    Project(NodeId),
    /// Late columns by row references.
    Fetch(NodeId),
    /// Look-ups in a hash join's table.
    Probe(NodeId),
    /// Comparisons with every build row.
    NestedLoop(NodeId),
    /// Searches among the build rows of a join by a range.
    RangeProbe(NodeId),
    /// A row for each element of lists.
    Unnest(NodeId),
    /// Groups of a key that is the table's column, finished block by block.
    ClusteredGroups {
        /// The node of the plan.
        node: NodeId,
        /// The table whose blocks are clustered.
        table: TableId,
        /// The position of the key among its columns.
        column: usize,
    },
}

/// The end of a pipeline.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Sink {
    /// The build side of a join.
    Build(NodeId),
    /// Groups and their states, by worker.
    Aggregate(NodeId),
    /// States by build row of the join right below the aggregation, which is probed here.
    JoinGroups {
        /// The node of the plan.
        node: NodeId,
        /// The join whose build rows are the groups.
        join: NodeId,
    },
    /// Rows to be sorted, or the first of them.
    Sort(NodeId),
    /// Rows behind OFFSET, as many as LIMIT says.
    Limit(NodeId),
    /// Rows to be sorted by partition and order.
    Window(NodeId),
    /// Rows for a table.
    Insert(NodeId),
    /// Rows for another pipeline.
    Transfer(TransferId),
    /// Nothing is kept: the probe of this join only marks build rows.
    Discard(NodeId),
    /// Rows for the nodes of a cluster.
    Exchange(NodeId),
    /// The plan's rows.
    Result(NodeId),
}

/// Work between two pipelines, over partitions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// Makes a hash join's table and filters.
    Fill(NodeId),
    /// Sorts the build rows of keys that many have.
    SortCrowdedKeys(NodeId),
    /// Puts the build rows of a nested-loop join end to end.
    Collect(NodeId),
    /// The three of a join by a range.
    SortChunks(NodeId),
    /// Sorts the ranges that the chunks are cut into.
    SortRanges(NodeId),
    /// Puts the sorted rows in their places.
    PlaceRows(NodeId),
    /// Brings workers' groups together.
    MergeGroups(NodeId),
    /// Sorts runs, or merges the workers' first rows.
    MergeRuns(NodeId),
    /// Evaluates the calls, by partition.
    EvaluateWindows(NodeId),
}

impl Source {
    /// The plan node whose rows these are.
    pub fn node(&self, transfers: &[Transfer]) -> NodeId {
        match self {
            Source::Scan { node, .. } | Source::Generate { node, .. } | Source::Slot { node, .. } => *node,
            Source::FileScan(node)
            | Source::Series(node)
            | Source::Values(node)
            | Source::Groups(node)
            | Source::OtherGroups(node)
            | Source::BuildRows(node)
            | Source::SpilledPartitions(node)
            | Source::Sorted(node)
            | Source::Limited(node)
            | Source::Windows(node)
            | Source::Exchange(node)
            | Source::Nothing(node)
            | Source::Inserted(node) => *node,
            // It was made together with the source.
            Source::Transfer(id) => transfers.get(id.0 as usize).map_or(NodeId(0), |transfer| transfer.node),
        }
    }

    /// As plans and traces call it.
    pub fn name(&self) -> String {
        match self {
            Source::Scan { name, .. } => format!("scan {name}"),
            Source::FileScan(_) => "scan file".to_owned(),
            Source::Generate { suite, table, .. } => format!("generate {suite} {table}"),
            Source::Series(_) => "series".to_owned(),
            Source::Values(_) => "values".to_owned(),
            Source::Slot { index, .. } => format!("common subplan {index}"),
            Source::Groups(_) => "groups".to_owned(),
            Source::OtherGroups(_) => "other groups".to_owned(),
            Source::BuildRows(_) => "build rows".to_owned(),
            Source::SpilledPartitions(_) => "spilled partitions".to_owned(),
            Source::Sorted(_) => "sorted".to_owned(),
            Source::Limited(_) => "limited".to_owned(),
            Source::Windows(_) => "windows".to_owned(),
            Source::Inserted(_) => "inserted".to_owned(),
            Source::Transfer(_) => "transfer".to_owned(),
            Source::Exchange(_) => "exchange".to_owned(),
            Source::Nothing(_) => "nothing".to_owned(),
        }
    }
}

impl Transformation {
    /// The plan node that does it.
    pub fn node(self) -> NodeId {
        match self {
            Transformation::Filter(node)
            | Transformation::Project(node)
            | Transformation::Fetch(node)
            | Transformation::Probe(node)
            | Transformation::NestedLoop(node)
            | Transformation::RangeProbe(node)
            | Transformation::Unnest(node)
            | Transformation::ClusteredGroups { node, .. } => node,
        }
    }

    /// As plans and traces call it.
    pub fn name(self) -> &'static str {
        match self {
            Transformation::Filter(_) => "filter",
            Transformation::Project(_) => "project",
            Transformation::Fetch(_) => "fetch",
            Transformation::Probe(_) => "probe",
            Transformation::NestedLoop(_) => "nested loop",
            Transformation::RangeProbe(_) => "range join",
            Transformation::Unnest(_) => "unnest",
            Transformation::ClusteredGroups { .. } => "clustered groups",
        }
    }
}

impl Step {
    /// The plan node that the work is counted for.
    pub fn node(self) -> NodeId {
        match self {
            Step::Fill(node)
            | Step::SortCrowdedKeys(node)
            | Step::Collect(node)
            | Step::SortChunks(node)
            | Step::SortRanges(node)
            | Step::PlaceRows(node)
            | Step::MergeGroups(node)
            | Step::MergeRuns(node)
            | Step::EvaluateWindows(node) => node,
        }
    }

    /// As plans and traces call it.
    pub fn name(self) -> &'static str {
        match self {
            Step::Fill(_) => "fill",
            Step::SortCrowdedKeys(_) => "sort crowded keys",
            Step::Collect(_) => "collect",
            Step::SortChunks(_) => "sort chunks",
            Step::SortRanges(_) => "sort ranges",
            Step::PlaceRows(_) => "place rows",
            Step::MergeGroups(_) => "merge groups",
            Step::MergeRuns(_) => "merge runs",
            Step::EvaluateWindows(_) => "evaluate windows",
        }
    }
}

impl Pipeline {
    /// As plans and traces call it: the source and what the rows pass, or the step.
    pub fn name(&self) -> String {
        let rows = match &self.work {
            Work::Step(step) => return step.name().to_owned(),
            Work::Rows(rows) => rows,
        };
        let mut name = rows.source.name();
        let probes = matches!(rows.sink, Sink::JoinGroups { .. }).then_some("probe");
        for passed in rows.transforms.iter().map(|transform| transform.name()).chain(probes) {
            name.push_str(" > ");
            name.push_str(passed);
        }
        name
    }
}

impl Pipelines {
    /// The source of rows that are handed on, for a pipeline that goes on with them.
    pub fn transfer(&self, id: TransferId) -> Option<&Transfer> {
        self.transfers.get(id.0 as usize)
    }

    /// Whether every edge's ends exist and each pipeline can begin some time.
    pub fn validate(&self) -> Result<(), workorder::DagError> {
        workorder::topological_order(self.pipelines.len(), &self.edges).map(drop)
    }

    /// The producers of `consumer` along edges of one kind, as often as there are edges, in their order.
    pub fn producers(&self, consumer: SegmentId, kind: EdgeKind) -> impl Iterator<Item = SegmentId> {
        let edges = self.edges.iter().filter(move |edge| edge.consumer == consumer && edge.kind == kind);
        edges.map(|edge| edge.producer)
    }

    fn write_transfer(&self, f: &mut fmt::Formatter<'_>, id: TransferId) -> fmt::Result {
        match self.transfer(id) {
            Some(Transfer { node, unit }) => write!(f, "transfer {} of {node} by {unit}", id.0),
            None => write!(f, "transfer {} of nothing", id.0),
        }
    }

    fn write_rows(&self, f: &mut fmt::Formatter<'_>, rows: &Rows) -> fmt::Result {
        match &rows.source {
            Source::Transfer(id) => self.write_transfer(f, *id)?,
            source => write!(f, "{} {}", source.name(), source.node(&self.transfers))?,
        }
        if let Source::Scan { bounds, codes, .. } = &rows.source {
            for ScanBound { sort, column } in bounds {
                write!(f, " (bound of {sort} on column {column})")?;
            }
            if let Some(Codes { aggregate, cells, masks }) = codes {
                let ways: Vec<&str> =
                    [(cells, "cells"), (masks, "masks")].iter().filter(|w| *w.0).map(|w| w.1).collect();
                write!(f, " (codes for {aggregate}: {})", ways.join(", "))?;
            }
        }
        for transform in &rows.transforms {
            write!(f, " > {} {}", transform.name(), transform.node())?;
            if let Transformation::ClusteredGroups { table, column, .. } = transform {
                write!(f, " by column {column} of table {}", table.0)?;
            }
        }
        f.write_str(" > ")?;
        match rows.sink {
            Sink::Build(node) => write!(f, "build {node}"),
            Sink::Aggregate(node) => write!(f, "aggregate {node}"),
            Sink::JoinGroups { node, join } => write!(f, "probe {join}, groups {node} by build rows"),
            Sink::Sort(node) => write!(f, "sort {node}"),
            Sink::Limit(node) => write!(f, "limit {node}"),
            Sink::Window(node) => write!(f, "window {node}"),
            Sink::Insert(node) => write!(f, "insert {node}"),
            Sink::Transfer(id) => self.write_transfer(f, id),
            Sink::Discard(node) => write!(f, "discard {node}"),
            Sink::Exchange(node) => write!(f, "exchange {node}"),
            Sink::Result(node) => write!(f, "result {node}"),
        }
    }
}

impl fmt::Display for NodeId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "#{}", self.0)
    }
}

impl fmt::Display for Shared {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Shared::Table(join) => write!(f, "table {join}"),
            Shared::Filter(filter) => write!(f, "filter {}", filter.0),
        }
    }
}

/// A pipeline a line.
impl fmt::Display for Pipelines {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let listed = |f: &mut fmt::Formatter<'_>, what: &str, mut named: Vec<String>| {
            let mut seen = std::collections::HashSet::new();
            named.retain(|name| seen.insert(name.clone()));
            match named.is_empty() {
                true => Ok(()),
                false => write!(f, "; {what} {}", named.join(", ")),
            }
        };
        for (number, pipeline) in self.pipelines.iter().enumerate() {
            write!(f, "{number}: ")?;
            match &pipeline.work {
                Work::Rows(rows) => self.write_rows(f, rows)?,
                Work::Step(step) => write!(f, "{} {}", step.name(), step.node())?,
            }
            let id = SegmentId(number as u32);
            let producers = |kind| self.producers(id, kind).map(|id| id.0.to_string()).collect();
            listed(f, "after", producers(EdgeKind::Blocking))?;
            listed(f, "fed by", producers(EdgeKind::Streaming))?;
            listed(f, "needs", pipeline.needs.iter().map(Shared::to_string).collect())?;
            listed(f, "offers", pipeline.offers.iter().map(Shared::to_string).collect())?;
            writeln!(f)?;
        }
        Ok(())
    }
}
