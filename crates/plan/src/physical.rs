//! Physical plans: how to compute. A tree of nodes whose expressions refer to their input batch by position
//! (`ExprKind::Input`); crate `operators` cuts it into pipeline segments.
//!
//! Made by `optimizer`, numbered parents first (`number`), and not changed after that: measurements go by those
//! numbers. `validate` says what holds for each node.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use types::{ColumnPredicate, PredicateTree, Result, Sample, Value};

use crate::{
    AggregateCall, Exchange, Expr, FileSource, FunctionBinder, OutputColumn, Pruning, Series, SortKey,
    TableId, WindowCall,
};

/// A node's number within its plan: metrics are kept by it. Assigned parents first by `PhysicalPlan::number`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct NodeId(pub u32);

/// A filter that a join's build side fills and a scan applies (LIP).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct FilterId(pub u32);

/// A node of a physical plan with its inputs and its estimates.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PhysicalPlan {
    /// The node's number; 0 until `number` has run.
    pub id: NodeId,
    /// What the node does.
    pub node: PhysicalNode,
    /// The columns it delivers, in order.
    pub output: Vec<OutputColumn>,
    /// Rows expected out of this node, runtime filters counted.
    pub estimated_rows: f64,
    /// What the optimizer did here, a sentence a technique, for EXPLAIN.
    pub remarks: Vec<String>,
}

/// Join kinds told by the sides' roles. `Probe*` keep or judge probe rows, `Build*` build rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum PhysicalJoinKind {
    /// Pairs that match.
    Inner,
    /// Unmatched probe rows come out with NULLs for the build side.
    ProbeOuter,
    /// Unmatched build rows come out with NULLs for the probe side.
    BuildOuter,
    /// Pairs, and rows of either side without a match, padded with NULLs.
    FullOuter,
    /// Probe rows with a match.
    ProbeSemi,
    /// Probe rows without a match.
    ProbeAnti,
    /// Build rows with a match.
    BuildSemi,
    /// Build rows without a match.
    BuildAnti,
    /// Every probe row with a BOOLEAN that says whether it matched.
    ProbeMark,
}

impl PhysicalJoinKind {
    /// Whether pairs of rows come out.
    pub fn emits_pairs(self) -> bool {
        use PhysicalJoinKind as K;
        matches!(self, K::Inner | K::ProbeOuter | K::BuildOuter | K::FullOuter)
    }
    /// Whether rows come out while the probe side is read; otherwise it only marks build rows.
    pub fn probe_emits(self) -> bool {
        use PhysicalJoinKind as K;
        !matches!(self, K::BuildSemi | K::BuildAnti)
    }
    /// Whether build rows come out after all probing, for which those with a partner are marked.
    pub fn marks_build_rows(self) -> bool {
        use PhysicalJoinKind as K;
        matches!(self, K::BuildOuter | K::FullOuter | K::BuildSemi | K::BuildAnti)
    }
    /// Whether build rows without a partner come out.
    pub fn keeps_build_rows(self) -> bool {
        use PhysicalJoinKind as K;
        matches!(self, K::BuildOuter | K::FullOuter | K::BuildAnti)
    }
    /// Whether probe rows without a partner come out, or say that they have none.
    pub fn keeps_probe_rows(self) -> bool {
        use PhysicalJoinKind as K;
        matches!(self, K::ProbeOuter | K::FullOuter | K::ProbeAnti | K::ProbeMark)
    }
}

/// Where an output column of a join comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum JoinOutput {
    /// The probe side's column at this position.
    Probe(usize),
    /// The build side's column at this position.
    Build(usize),
    /// The BOOLEAN of a `ProbeMark` join.
    Mark,
}

/// Use of a runtime filter in a scan: rows whose `key` is not in the filter cannot survive the join above.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RuntimeFilter {
    /// The filter, which a join above fills.
    pub filter: FilterId,
    /// Position among the scan's fetched columns.
    pub column: usize,
    /// The share of the scan's rows expected to pass, other filters left aside.
    pub passing: f64,
}

/// Among a scan's `columns`, the place of each row instead of a column of the table: BIGINT, the block's ordinal in the
/// upper and the row in the lower 32 bits.
pub const ROW_REFERENCE: usize = usize::MAX;

/// The reference of row `row` of the block with that ordinal.
pub fn row_reference(block: u32, row: u32) -> i64 {
    // Blocks are fewer than 2^31, so references are not negative and ascend with the scan.
    (i64::from(block) << 32) | i64::from(row)
}

/// Block ordinal and row of a reference.
pub fn referenced_row(reference: i64) -> (u32, u32) {
    // The two halves, as `row_reference` put them together.
    ((reference >> 32) as u32, reference as u32)
}

/// An input column that holds references to rows of a table.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RowReference {
    /// Position of the references among the input's columns.
    pub column: usize,
    /// The table that they point into.
    pub table: TableId,
    /// The table's name, for EXPLAIN.
    pub name: String,
}

/// Where an output column of a fetch comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum FetchOutput {
    /// The input's column at this position.
    Input(usize),
    /// Column `column` of the table that `references[reference]` points into; NULL where the reference is.
    Late {
        /// Which of the references.
        reference: usize,
        /// The column's position in the table.
        column: usize,
    },
}

/// What a node does. Expressions refer to the node's input by position; those of joins as their fields say.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum PhysicalNode {
    /// Reads a table's blocks.
    TableScan {
        /// The table's number in the catalog.
        table: TableId,
        /// Its name, for EXPLAIN and errors.
        name: String,
        /// TABLESAMPLE: only these of its rows.
        sample: Option<Sample>,
        /// Table columns by position in the table, or `ROW_REFERENCE`; the fetched columns the other fields refer to.
        columns: Vec<usize>,
        /// Name, type and bounds of each fetched column.
        fetched: Vec<OutputColumn>,
        /// Evaluated in the block, on codes: (position in `columns`, predicate); all must hold.
        predicates: Vec<(usize, ColumnPredicate)>,
        /// Disjunctions over several of `columns`, evaluated in the block likewise.
        trees: Vec<PredicateTree>,
        /// Further conjuncts over the fetched columns (`Input(i)` is `columns[i]`), cheapest and most selective first.
        filters: Vec<Expr>,
        /// Filled by joins above.
        runtime_filters: Vec<RuntimeFilter>,
        /// Fetched columns that leave the scan, in output order.
        projection: Vec<usize>,
    },
    /// Reads files; `columns`, `filters`, `runtime_filters` and `projection` as above.
    FileScan {
        /// The files, and how they are read.
        file: Arc<FileSource>,
        /// Positions of the fetched columns in the files' schema.
        columns: Vec<usize>,
        /// Name, type and bounds of each fetched column.
        fetched: Vec<OutputColumn>,
        /// Conjuncts over the fetched columns.
        filters: Vec<Expr>,
        /// Implied by the filters: where statistics refute one of these, nothing need be read.
        pruning: Vec<Pruning>,
        /// Filled by joins above.
        runtime_filters: Vec<RuntimeFilter>,
        /// Fetched columns that leave the scan, in output order.
        projection: Vec<usize>,
    },
    /// Makes the rows of a benchmark's table; `columns` are positions in it.
    Generate {
        /// The benchmark's name.
        suite: String,
        /// The table's name in the suite.
        table: String,
        /// The scale factor.
        scale: f64,
        /// Positions in the benchmark's table.
        columns: Vec<usize>,
    },
    /// Numbers in a row, as often as there are `columns` (each is 0: there is one to choose from).
    Series {
        /// First number, step and count.
        series: Series,
        /// One for each column of the output.
        columns: Vec<usize>,
    },
    /// Constant rows.
    Values {
        /// The rows, each of as many values as there are columns.
        rows: Vec<Vec<Value>>,
    },
    /// The rows of a common subplan that ran before; `columns` are positions in it.
    Materialized {
        /// The number of the materialized rows.
        index: usize,
        /// Positions in those rows.
        columns: Vec<usize>,
    },
    /// The input's rows for which `predicate` is TRUE.
    Filter {
        /// The input.
        input: Box<PhysicalPlan>,
        /// The condition.
        predicate: Expr,
    },
    /// One column for each expression.
    Project {
        /// The input.
        input: Box<PhysicalPlan>,
        /// The columns, over the input's.
        expressions: Vec<Expr>,
    },
    /// Joins by equal keys: the build side fills a table, in which the probe side's rows are looked up.
    HashJoin {
        /// The side whose rows are looked up.
        probe: Box<PhysicalPlan>,
        /// The side that fills the table.
        build: Box<PhysicalPlan>,
        /// Which rows come out.
        kind: PhysicalJoinKind,
        /// Over the probe's columns.
        probe_keys: Vec<Expr>,
        /// Over the build's columns, one for each of the probe's keys.
        build_keys: Vec<Expr>,
        /// Over the probe's columns followed by the build's.
        residual: Option<Expr>,
        /// NULL keys match each other.
        null_equals_null: bool,
        /// NOT IN: a NULL is a match that is unknown.
        null_aware: bool,
        /// Where each output column comes from.
        output: Vec<JoinOutput>,
        /// Filters the build fills for scans below the probe side: id and index among the keys.
        fills: Vec<(FilterId, usize)>,
        /// No two build rows share a key, known before the build runs.
        build_unique: bool,
    },
    /// Fetches columns of table rows that came up as references (late materialisation).
    Fetch {
        /// The input.
        input: Box<PhysicalPlan>,
        /// The columns that point to rows, and of which tables.
        references: Vec<RowReference>,
        /// Where each output column comes from.
        output: Vec<FetchOutput>,
    },
    /// For joins without equalities: every build row against every probe row or, `by_range`, against those build rows that
    /// a search by the predicate's ranges finds (`Ranges`).
    NestedLoopJoin {
        /// The side whose rows are compared.
        probe: Box<PhysicalPlan>,
        /// The side whose rows are kept.
        build: Box<PhysicalPlan>,
        /// Which rows come out.
        kind: PhysicalJoinKind,
        /// Over the probe's columns followed by the build's; all pairs match without it.
        predicate: Option<Expr>,
        /// NOT IN: a NULL is a match that is unknown.
        null_aware: bool,
        /// Build rows are sorted and searched.
        by_range: bool,
        /// Where each output column comes from.
        output: Vec<JoinOutput>,
    },
    /// Output: the groups, then the aggregates. No aggregates: DISTINCT. No groups: exactly one row.
    Aggregate {
        /// The input.
        input: Box<PhysicalPlan>,
        /// The keys, over the input's columns.
        groups: Vec<Expr>,
        /// The calls, over the input's columns.
        aggregates: Vec<AggregateCall>,
    },
    /// `limit`: only that many first rows are wanted (top-k). Keys are over the input's columns.
    Sort {
        /// The input.
        input: Box<PhysicalPlan>,
        /// The order.
        keys: Vec<SortKey>,
        /// How many first rows are wanted; all when absent.
        limit: Option<u64>,
    },
    /// Skips `offset` rows, then passes `count`; all the rest when it is `None`.
    Limit {
        /// The input.
        input: Box<PhysicalPlan>,
        /// Rows that are skipped.
        offset: u64,
        /// Rows that are passed after those.
        count: Option<u64>,
    },
    /// Output: the input's columns, then the calls. Rows come out partition by partition, each in its order.
    Window {
        /// The input.
        input: Box<PhysicalPlan>,
        /// Rows that agree in these are of one partition.
        partition: Vec<Expr>,
        /// The order in a partition.
        order: Vec<SortKey>,
        /// The calls, over the input's columns.
        calls: Vec<WindowCall>,
        /// The input comes in the order of `order`, and there is one partition.
        sorted: bool,
        /// Only rows with fewer than this many rows before them in their partition are wanted; others may be left
        /// out. Set only where all calls are ranks.
        first: Option<u64>,
    },
    /// Output: the input's columns at `keep`, the elements of each list, and with `ordinality` their place. See
    /// `LogicalPlan::Unnest`.
    Unnest {
        /// The input.
        input: Box<PhysicalPlan>,
        /// Positions of the input's columns that are kept.
        keep: Vec<usize>,
        /// The lists, over the input's columns.
        lists: Vec<Expr>,
        /// The element's place is delivered, too, from 1.
        ordinality: bool,
        /// A row without elements is kept.
        outer: bool,
    },
    /// The rows of all inputs; their columns agree in number and type.
    UnionAll {
        /// The inputs.
        inputs: Vec<PhysicalPlan>,
    },
    /// Rows go to other nodes of a cluster, and those of other nodes come; see `crate::exchange`.
    Exchange {
        /// The input.
        input: Box<PhysicalPlan>,
        /// Which rows go where.
        exchange: Exchange,
    },
    /// Appends to a table (its columns in order); the result is one BIGINT, the number of rows.
    Insert {
        /// The input.
        input: Box<PhysicalPlan>,
        /// The table's number in the catalog.
        table: TableId,
        /// Its name, for EXPLAIN and errors.
        name: String,
    },
}

impl PhysicalPlan {
    /// A node without remarks, numbered 0: call `number` once the plan is whole.
    pub fn new(node: PhysicalNode, output: Vec<OutputColumn>, estimated_rows: f64) -> Self {
        PhysicalPlan { id: NodeId(0), node, output, estimated_rows, remarks: vec![] }
    }
    /// The inputs in order: a join's probe side before its build side.
    pub fn children(&self) -> Vec<&PhysicalPlan> {
        use PhysicalNode as N;
        match &self.node {
            N::TableScan { .. }
            | N::FileScan { .. }
            | N::Generate { .. }
            | N::Series { .. }
            | N::Values { .. }
            | N::Materialized { .. } => vec![],
            N::Filter { input, .. }
            | N::Project { input, .. }
            | N::Fetch { input, .. }
            | N::Aggregate { input, .. }
            | N::Sort { input, .. }
            | N::Limit { input, .. }
            | N::Window { input, .. }
            | N::Unnest { input, .. }
            | N::Exchange { input, .. }
            | N::Insert { input, .. } => vec![input],
            N::HashJoin { probe, build, .. } | N::NestedLoopJoin { probe, build, .. } => vec![probe, build],
            N::UnionAll { inputs } => inputs.iter().collect(),
        }
    }
    /// As `children`, for changing them.
    pub fn children_mut(&mut self) -> Vec<&mut PhysicalPlan> {
        use PhysicalNode as N;
        match &mut self.node {
            N::TableScan { .. }
            | N::FileScan { .. }
            | N::Generate { .. }
            | N::Series { .. }
            | N::Values { .. }
            | N::Materialized { .. } => vec![],
            N::Filter { input, .. }
            | N::Project { input, .. }
            | N::Fetch { input, .. }
            | N::Aggregate { input, .. }
            | N::Sort { input, .. }
            | N::Limit { input, .. }
            | N::Window { input, .. }
            | N::Unnest { input, .. }
            | N::Exchange { input, .. }
            | N::Insert { input, .. } => vec![input],
            N::HashJoin { probe, build, .. } | N::NestedLoopJoin { probe, build, .. } => vec![probe, build],
            N::UnionAll { inputs } => inputs.iter_mut().collect(),
        }
    }
    /// Expressions of this node itself.
    pub fn expressions(&self) -> Vec<&Expr> {
        use PhysicalNode as N;
        match &self.node {
            N::TableScan { filters, .. } | N::FileScan { filters, .. } => filters.iter().collect(),
            N::Generate { .. }
            | N::Series { .. }
            | N::Values { .. }
            | N::Materialized { .. }
            | N::Fetch { .. }
            | N::Limit { .. }
            | N::UnionAll { .. }
            | N::Insert { .. } => vec![],
            N::Filter { predicate, .. } => vec![predicate],
            N::Project { expressions, .. } => expressions.iter().collect(),
            N::HashJoin { probe_keys, build_keys, residual, .. } => {
                probe_keys.iter().chain(build_keys).chain(residual).collect()
            }
            N::NestedLoopJoin { predicate, .. } => predicate.iter().collect(),
            N::Aggregate { groups, aggregates, .. } => groups
                .iter()
                .chain(aggregates.iter().flat_map(|call| call.argument.iter().chain(&call.filter)))
                .collect(),
            N::Sort { keys, .. } => keys.iter().map(|key| &key.expr).collect(),
            N::Window { partition, order, calls, .. } => partition
                .iter()
                .chain(order.iter().map(|key| &key.expr))
                .chain(calls.iter().flat_map(|call| call.expressions()))
                .collect(),
            N::Unnest { lists, .. } => lists.iter().collect(),
            N::Exchange { exchange, .. } => exchange.kind.expressions(),
        }
    }
    /// As `expressions`, for changing them, in the same order.
    pub fn expressions_mut(&mut self) -> Vec<&mut Expr> {
        use PhysicalNode as N;
        match &mut self.node {
            N::TableScan { filters, .. } | N::FileScan { filters, .. } => filters.iter_mut().collect(),
            N::Generate { .. }
            | N::Series { .. }
            | N::Values { .. }
            | N::Materialized { .. }
            | N::Fetch { .. }
            | N::Limit { .. }
            | N::UnionAll { .. }
            | N::Insert { .. } => vec![],
            N::Filter { predicate, .. } => vec![predicate],
            N::Project { expressions, .. } => expressions.iter_mut().collect(),
            N::HashJoin { probe_keys, build_keys, residual, .. } => {
                probe_keys.iter_mut().chain(build_keys).chain(residual).collect()
            }
            N::NestedLoopJoin { predicate, .. } => predicate.iter_mut().collect(),
            N::Aggregate { groups, aggregates, .. } => groups
                .iter_mut()
                .chain(
                    aggregates.iter_mut().flat_map(|call| call.argument.iter_mut().chain(&mut call.filter)),
                )
                .collect(),
            N::Sort { keys, .. } => keys.iter_mut().map(|key| &mut key.expr).collect(),
            N::Window { partition, order, calls, .. } => partition
                .iter_mut()
                .chain(order.iter_mut().map(|key| &mut key.expr))
                .chain(calls.iter_mut().flat_map(|call| call.expressions_mut()))
                .collect(),
            N::Unnest { lists, .. } => lists.iter_mut().collect(),
            N::Exchange { exchange, .. } => exchange.kind.expressions_mut(),
        }
    }
    /// Calls `see` on every expression of the plan with all that is in it, bodies of lambdas too.
    pub fn visit_expressions(&self, see: &mut dyn FnMut(&Expr)) {
        self.expressions().into_iter().for_each(|expr| expr.visit_all(see));
        self.children().into_iter().for_each(|child| child.visit_expressions(see));
    }
    /// Whether running the plan again over the same data may give other rows.
    pub fn is_volatile(&self) -> bool {
        self.expressions().into_iter().any(Expr::is_volatile)
            || self.children().into_iter().any(PhysicalPlan::is_volatile)
    }
    /// Gives functions of the host program that have no body those that the binder knows.
    ///
    /// # Errors
    /// A function that is not known here, or has other types.
    pub fn bind_functions(&mut self, binder: &mut FunctionBinder<'_>) -> Result<()> {
        self.expressions_mut().into_iter().try_for_each(|expr| binder.bind(expr))?;
        self.children_mut().into_iter().try_for_each(|child| child.bind_functions(binder))
    }
    /// Numbers the nodes from 0, parents first; returns how many there are.
    pub fn number(&mut self) -> u32 {
        fn go(plan: &mut PhysicalPlan, next: &mut u32) {
            plan.id = NodeId(*next);
            *next += 1;
            for child in plan.children_mut() {
                go(child, next);
            }
        }
        let mut next = 0;
        go(self, &mut next);
        next
    }
}
