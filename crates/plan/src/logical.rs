//! Logical plans: what to compute. Every column has a query-wide id, so moving a predicate or reordering joins
//! never renumbers anything.
//!
//! Made by `sql`, rewritten by the rules of `optimizer`, lowered there to `physical`. A plan is a value: it prints,
//! compares and has a byte form (`encoding`); `validate` says what holds for each node.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use types::{Result, Sample, Type, Value};

use crate::{
    AggregateCall, ColumnId, ColumnInfo, Expr, FileSource, FunctionBinder, OutputColumn, RowChange, Series,
    SortKey, TableId, WindowCall,
};

/// The columns of one query, by id.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ColumnTable {
    columns: Vec<ColumnInfo>,
}

impl ColumnTable {
    /// Adds a column and returns its new id; names need not be unique.
    pub fn add(&mut self, name: impl Into<String>, ty: Type, nullable: bool) -> ColumnId {
        self.columns.push(ColumnInfo { name: name.into(), ty, nullable });
        ColumnId(self.columns.len() as u32 - 1)
    }
    /// Panics if the id is of another query.
    pub fn get(&self, id: ColumnId) -> &ColumnInfo {
        &self.columns[id.0 as usize]
    }
    /// As `get`, for changing it.
    pub fn get_mut(&mut self, id: ColumnId) -> &mut ColumnInfo {
        &mut self.columns[id.0 as usize]
    }
    /// A reference to the column, with its type.
    pub fn expr(&self, id: ColumnId) -> Expr {
        Expr::column(id, self.get(id).ty)
    }
    /// How many columns have been added; ids are below this.
    pub fn len(&self) -> usize {
        self.columns.len()
    }
    /// Whether no column has been added.
    pub fn is_empty(&self) -> bool {
        self.columns.is_empty()
    }
}

/// What a scan reads.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum ScanSource {
    /// A table of the catalog.
    Table {
        /// The table's number in the catalog.
        table: TableId,
        /// Its name, for EXPLAIN and errors.
        name: String,
        /// TABLESAMPLE: only these of its rows.
        sample: Option<Sample>,
    },
    /// One file, or several read as one relation.
    File(Arc<FileSource>),
    /// Benchmark data made on the fly.
    Generator {
        /// The benchmark's name.
        suite: String,
        /// The table's name in the suite.
        table: String,
        /// The scale factor.
        scale: f64,
    },
    /// Numbers in a row.
    Series(Series),
    /// Rows of a common subplan, computed once before the query's own plan runs.
    Materialized(Arc<MaterializedSource>),
}

/// What is known of a common subplan's rows.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct MaterializedSource {
    /// Which of the query's common subplans.
    pub index: usize,
    /// How many rows it is expected to have.
    pub rows: f64,
    /// Its columns, by position.
    pub columns: Vec<OutputColumn>,
    /// By column, distinct values where they are known.
    pub distinct: Vec<Option<f64>>,
    /// Sets of columns of which no two rows agree, NULL counted as a value.
    pub unique: Vec<Vec<usize>>,
}

/// The kinds of joins. `Left*` and `Right*` semi and anti joins give one side's columns only.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum JoinKind {
    /// Pairs that match.
    Inner,
    /// Pairs, and left rows without a match.
    Left,
    /// Pairs, and right rows without a match.
    Right,
    /// Pairs, and rows of either side without a match.
    Full,
    /// Left rows with a match.
    LeftSemi,
    /// Left rows without a match.
    LeftAnti,
    /// Right rows with a match.
    RightSemi,
    /// Right rows without a match.
    RightAnti,
    /// Left's columns and a BOOLEAN `mark` that says whether a match exists (EXISTS or IN under OR).
    LeftMark,
}

/// A node of a logical plan with its inputs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum LogicalPlan {
    /// `columns` pairs each id with the column's position in the source; `filters` are conjuncts over them.
    Scan {
        /// What is read.
        source: ScanSource,
        /// The columns that are read: id, position in the source.
        columns: Vec<(ColumnId, usize)>,
        /// Conjuncts over these columns.
        filters: Vec<Expr>,
    },
    /// Constant rows.
    Values {
        /// The columns, in the order of a row's values.
        columns: Vec<ColumnId>,
        /// The rows, each of as many values as there are columns.
        rows: Vec<Vec<Value>>,
    },
    /// The input's rows for which `predicate` is TRUE.
    Filter {
        /// The input.
        input: Box<LogicalPlan>,
        /// The condition.
        predicate: Expr,
    },
    /// One column for each expression, under a new id; the input's columns do not come along.
    Project {
        /// The input.
        input: Box<LogicalPlan>,
        /// The columns' ids and what computes them.
        expressions: Vec<(ColumnId, Expr)>,
    },
    /// The rows of two inputs matched by `on` and `residual`.
    Join {
        /// The left input.
        left: Box<LogicalPlan>,
        /// The right input.
        right: Box<LogicalPlan>,
        /// Which rows come out.
        kind: JoinKind,
        /// Equalities: left expression, right expression, of the same representation.
        on: Vec<(Expr, Expr)>,
        /// Any further condition over both sides' columns; part of the join's condition, not a filter after it.
        residual: Option<Expr>,
        /// NULL keys match each other (set operations).
        null_equals_null: bool,
        /// NOT IN: a NULL on the right, or on the left against a non-empty right, drops left rows (anti joins only).
        null_aware: bool,
        /// The column a `LeftMark` join adds.
        mark: Option<ColumnId>,
    },
    /// No aggregates: DISTINCT over the groups. No groups: one row, always.
    Aggregate {
        /// The input.
        input: Box<LogicalPlan>,
        /// The columns' ids and the keys.
        groups: Vec<(ColumnId, Expr)>,
        /// The columns' ids and the calls.
        aggregates: Vec<(ColumnId, AggregateCall)>,
    },
    /// With `limit`, only the first rows of the order are wanted (top-k).
    Sort {
        /// The input.
        input: Box<LogicalPlan>,
        /// The order.
        keys: Vec<SortKey>,
        /// How many first rows are wanted; all when absent.
        limit: Option<u64>,
    },
    /// Skips `offset` rows, then passes `count`; all the rest when it is `None`.
    Limit {
        /// The input.
        input: Box<LogicalPlan>,
        /// Rows that are skipped.
        offset: u64,
        /// Rows that are passed after those.
        count: Option<u64>,
    },
    /// The input's columns and one a call, evaluated over each partition in its order.
    Window {
        /// The input.
        input: Box<LogicalPlan>,
        /// Rows that agree in these are of one partition.
        partition: Vec<Expr>,
        /// The order in a partition.
        order: Vec<SortKey>,
        /// The columns' ids and the calls.
        calls: Vec<(ColumnId, WindowCall)>,
    },
    /// For each row of the input, a row for each element of its lists, side by side: the input's columns, one of elements
    /// for each list (NULL where another is longer), and the element's place from 1. A row whose lists have no elements
    /// is dropped, or with `outer` kept once.
    Unnest {
        /// The input.
        input: Box<LogicalPlan>,
        /// The columns' ids and the lists.
        lists: Vec<(ColumnId, Expr)>,
        /// The column of the element's place.
        ordinality: Option<ColumnId>,
        /// A row without elements is kept.
        outer: bool,
    },
    /// UNION ALL: `inputs[i].1` are that input's columns that become `columns`.
    Union {
        /// The inputs, and which of their columns become the union's.
        inputs: Vec<(LogicalPlan, Vec<ColumnId>)>,
        /// The union's columns.
        columns: Vec<ColumnId>,
    },
}

impl LogicalPlan {
    /// The ids of the columns the plan delivers, in order.
    pub fn output(&self) -> Vec<ColumnId> {
        match self {
            Self::Scan { columns, .. } => columns.iter().map(|(id, _)| *id).collect(),
            Self::Values { columns, .. } | Self::Union { columns, .. } => columns.clone(),
            Self::Filter { input, .. } | Self::Sort { input, .. } | Self::Limit { input, .. } => {
                input.output()
            }
            Self::Project { expressions, .. } => expressions.iter().map(|(id, _)| *id).collect(),
            Self::Window { input, calls, .. } => {
                let mut ids = input.output();
                ids.extend(calls.iter().map(|(id, _)| *id));
                ids
            }
            Self::Unnest { input, lists, ordinality, .. } => {
                let mut ids = input.output();
                ids.extend(lists.iter().map(|(id, _)| *id));
                ids.extend(*ordinality);
                ids
            }
            Self::Join { left, right, kind, mark, .. } => match kind {
                JoinKind::Inner | JoinKind::Left | JoinKind::Right | JoinKind::Full => {
                    let mut ids = left.output();
                    ids.extend(right.output());
                    ids
                }
                JoinKind::LeftSemi | JoinKind::LeftAnti => left.output(),
                JoinKind::RightSemi | JoinKind::RightAnti => right.output(),
                JoinKind::LeftMark => {
                    let mut ids = left.output();
                    ids.extend(*mark);
                    ids
                }
            },
            Self::Aggregate { groups, aggregates, .. } => {
                groups.iter().map(|(id, _)| *id).chain(aggregates.iter().map(|(id, _)| *id)).collect()
            }
        }
    }
    /// The inputs, in order.
    pub fn children(&self) -> Vec<&LogicalPlan> {
        match self {
            Self::Scan { .. } | Self::Values { .. } => vec![],
            Self::Filter { input, .. }
            | Self::Project { input, .. }
            | Self::Aggregate { input, .. }
            | Self::Sort { input, .. }
            | Self::Window { input, .. }
            | Self::Unnest { input, .. }
            | Self::Limit { input, .. } => vec![input],
            Self::Join { left, right, .. } => vec![left, right],
            Self::Union { inputs, .. } => inputs.iter().map(|(p, _)| p).collect(),
        }
    }
    /// As `children`, for changing them.
    pub fn children_mut(&mut self) -> Vec<&mut LogicalPlan> {
        match self {
            Self::Scan { .. } | Self::Values { .. } => vec![],
            Self::Filter { input, .. }
            | Self::Project { input, .. }
            | Self::Aggregate { input, .. }
            | Self::Sort { input, .. }
            | Self::Window { input, .. }
            | Self::Unnest { input, .. }
            | Self::Limit { input, .. } => vec![input],
            Self::Join { left, right, .. } => vec![left, right],
            Self::Union { inputs, .. } => inputs.iter_mut().map(|(p, _)| p).collect(),
        }
    }
    /// A plan that stands in while the real one is moved out.
    pub fn placeholder() -> LogicalPlan {
        LogicalPlan::Values { columns: vec![], rows: vec![] }
    }
    /// Expressions of this node itself.
    pub fn expressions(&self) -> Vec<&Expr> {
        match self {
            Self::Scan { filters, .. } => filters.iter().collect(),
            Self::Values { .. } | Self::Limit { .. } | Self::Union { .. } => vec![],
            Self::Filter { predicate, .. } => vec![predicate],
            Self::Project { expressions, .. } => expressions.iter().map(|(_, e)| e).collect(),
            Self::Unnest { lists, .. } => lists.iter().map(|(_, e)| e).collect(),
            Self::Join { on, residual, .. } => on.iter().flat_map(|(l, r)| [l, r]).chain(residual).collect(),
            Self::Aggregate { groups, aggregates, .. } => groups
                .iter()
                .map(|(_, e)| e)
                .chain(aggregates.iter().flat_map(|(_, a)| a.argument.iter().chain(&a.filter)))
                .collect(),
            Self::Sort { keys, .. } => keys.iter().map(|k| &k.expr).collect(),
            Self::Window { partition, order, calls, .. } => partition
                .iter()
                .chain(order.iter().map(|k| &k.expr))
                .chain(calls.iter().flat_map(|(_, c)| c.expressions()))
                .collect(),
        }
    }
    /// As `expressions`, for changing them, in the same order.
    pub fn expressions_mut(&mut self) -> Vec<&mut Expr> {
        match self {
            Self::Scan { filters, .. } => filters.iter_mut().collect(),
            Self::Values { .. } | Self::Limit { .. } | Self::Union { .. } => vec![],
            Self::Filter { predicate, .. } => vec![predicate],
            Self::Project { expressions, .. } => expressions.iter_mut().map(|(_, e)| e).collect(),
            Self::Unnest { lists, .. } => lists.iter_mut().map(|(_, e)| e).collect(),
            Self::Join { on, residual, .. } => {
                on.iter_mut().flat_map(|(l, r)| [l, r]).chain(residual).collect()
            }
            Self::Aggregate { groups, aggregates, .. } => groups
                .iter_mut()
                .map(|(_, e)| e)
                .chain(aggregates.iter_mut().flat_map(|(_, a)| a.argument.iter_mut().chain(&mut a.filter)))
                .collect(),
            Self::Sort { keys, .. } => keys.iter_mut().map(|k| &mut k.expr).collect(),
            Self::Window { partition, order, calls, .. } => partition
                .iter_mut()
                .chain(order.iter_mut().map(|k| &mut k.expr))
                .chain(calls.iter_mut().flat_map(|(_, c)| c.expressions_mut()))
                .collect(),
        }
    }
}

impl LogicalPlan {
    /// Calls `see` on every expression of the plan with all that is in it, bodies of lambdas too.
    pub fn visit_expressions(&self, see: &mut dyn FnMut(&Expr)) {
        self.expressions().into_iter().for_each(|expr| expr.visit_all(see));
        self.children().into_iter().for_each(|child| child.visit_expressions(see));
    }
    /// Gives functions of the host program that have no body those that the binder knows.
    ///
    /// # Errors
    /// A function that is not known here, or has other types.
    pub fn bind_functions(&mut self, binder: &mut FunctionBinder<'_>) -> Result<()> {
        self.expressions_mut().into_iter().try_for_each(|expr| binder.bind(expr))?;
        self.children_mut().into_iter().try_for_each(|child| child.bind_functions(binder))
    }
}

impl LogicalQuery {
    /// The query's own plan, its subqueries and all that it computes before.
    pub fn plans(&self) -> impl Iterator<Item = &LogicalPlan> {
        let common = self
            .common
            .iter()
            .flat_map(|c| std::iter::once(&c.base).chain(c.step.iter().flat_map(Step::plans)));
        std::iter::once(&self.plan).chain(&self.subqueries).chain(common)
    }
    /// As `plans`, for changing them.
    pub fn plans_mut(&mut self) -> impl Iterator<Item = &mut LogicalPlan> {
        let common = self
            .common
            .iter_mut()
            .flat_map(|c| std::iter::once(&mut c.base).chain(c.step.iter_mut().flat_map(Step::plans_mut)));
        std::iter::once(&mut self.plan).chain(&mut self.subqueries).chain(common)
    }
    /// Calls `see` on every expression of its plans with all that is in it, bodies of lambdas too.
    pub fn visit_expressions(&self, see: &mut dyn FnMut(&Expr)) {
        self.plans().for_each(|plan| plan.visit_expressions(see));
    }
    /// Whether running it again over the same data may give other rows.
    pub fn is_volatile(&self) -> bool {
        self.plans().any(LogicalPlan::is_volatile)
    }
    /// Gives functions of the host program that have no body those that the binder knows.
    ///
    /// # Errors
    /// A function that is not known here, or has other types.
    pub fn bind_functions(&mut self, binder: &mut FunctionBinder<'_>) -> Result<()> {
        self.plans_mut().try_for_each(|plan| plan.bind_functions(binder))
    }
}

/// A query whose rows are computed once, before those that read them: a common table expression that must not be computed
/// twice, or a recursive one: `base` once, then `step` over the rows it was last given, until there are none.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CommonQuery {
    /// The name, for EXPLAIN.
    pub name: String,
    /// The query itself, or a recursive query's first part.
    pub base: LogicalPlan,
    /// The columns of `base` that are materialized, in order.
    pub base_columns: Vec<ColumnId>,
    /// The second part of a recursive query.
    pub step: Option<Step>,
    /// The materialized rows of the whole.
    pub result: usize,
    /// `base` says what is to be done to a table's rows, and what is materialized is what RETURNING gives: an INSERT,
    /// UPDATE, DELETE or MERGE in a WITH. It runs whether its rows are read or not.
    pub change: Option<Box<RowChange>>,
    /// How many of the query's scalar subqueries run before it, and may be used in it.
    pub subqueries: usize,
}

/// The second part of a recursive query.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Step {
    /// The part that runs repeatedly.
    pub plan: LogicalPlan,
    /// Like `base_columns` in number and type.
    pub columns: Vec<ColumnId>,
    /// UNION: rows that came before, in any step, are dropped.
    pub distinct: bool,
    /// The materialized rows that `plan` reads.
    pub working: usize,
    /// USING KEY: the result is a row for each key.
    pub keyed: Option<Box<KeyedRows>>,
}

impl Step {
    /// The part that runs repeatedly, and what makes a row of each key.
    pub fn plans(&self) -> impl Iterator<Item = &LogicalPlan> {
        std::iter::once(&self.plan).chain(self.keyed.iter().map(|keyed| &keyed.fold))
    }
    /// As `plans`, for changing them.
    pub fn plans_mut(&mut self) -> impl Iterator<Item = &mut LogicalPlan> {
        std::iter::once(&mut self.plan).chain(self.keyed.iter_mut().map(|keyed| &mut keyed.fold))
    }
}

/// How a recursion with USING KEY keeps one row for each key, instead of all rows that came.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct KeyedRows {
    /// Makes the row of each key: a grouping of the rows in `candidates`.
    pub fold: LogicalPlan,
    /// The columns of `fold` that are kept, in order.
    pub columns: Vec<ColumnId>,
    /// The materialized rows that `fold` reads.
    pub candidates: usize,
    /// The candidates are the rows of the keys so far and those of the last round; else those of all rounds.
    pub renews: bool,
    /// The materialized rows of all keys, which the repeated part may read beside those of the last round.
    pub state: usize,
}

/// A whole query: its plan, its columns, and the scalar subqueries it needs first.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LogicalQuery {
    /// The plan of the query's own rows.
    pub plan: LogicalPlan,
    /// Every column that `plan`, `subqueries` and `common` refer to.
    pub columns: ColumnTable,
    /// `subqueries[i]` has the id `SubqueryId(i)`, one output column, and uses only subqueries before it and common queries
    /// that run before it (see `CommonQuery::subqueries`). More than
    /// one row is an error of the query; none is NULL.
    pub subqueries: Vec<LogicalPlan>,
    /// Queries computed before, in the order they run; each reads only those before it.
    pub common: Vec<CommonQuery>,
    /// How many numbers of materialized rows those have.
    pub materialized: usize,
    /// The result's columns: id and heading, in order.
    pub output: Vec<(ColumnId, String)>,
}

impl LogicalPlan {
    /// Whether running the plan again over the same data may give other rows. Scalar subqueries count as constants.
    pub fn is_volatile(&self) -> bool {
        self.expressions().into_iter().any(Expr::is_volatile)
            || self.children().into_iter().any(LogicalPlan::is_volatile)
    }
}
