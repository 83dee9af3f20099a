//! Queries.
//!
//! Made by `parse::query`, `parse::select` and `parse::from`. Set operations and joins are flat where their
//! precedence is one. ORDER BY and LIMIT belong to the `Query`, not to the SELECT in it.

use super::{Argument, Expr, Name, Path, Statement, TextLiteral, TypeName};
use crate::Span;

/// A query with all that stands around its body.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Query {
    /// WITH.
    pub with: Option<With>,
    /// SELECT, VALUES, or several with UNION and its kin.
    pub body: SetExpr,
    /// ORDER BY.
    pub order_by: Vec<OrderItem>,
    /// LIMIT and FETCH.
    pub limit: Option<Limit>,
    /// OFFSET.
    pub offset: Option<Expr>,
    /// FOR UPDATE and its kin.
    pub locks: Vec<Lock>,
    /// Where it stands, without brackets around it.
    pub span: Span,
}

/// WITH.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct With {
    /// RECURSIVE.
    pub recursive: bool,
    /// The queries in their order.
    pub queries: Vec<CommonQuery>,
}

/// One query of WITH.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct CommonQuery {
    /// Its name.
    pub name: Name,
    /// Names of its columns.
    pub columns: Vec<Name>,
    /// USING KEY (...) of a recursion: columns, and aggregates of what comes for the same key.
    pub key: Vec<SelectItem>,
    /// MATERIALIZED (true), NOT MATERIALIZED (false).
    pub materialized: Option<bool>,
    /// A query, or a statement that changes rows.
    pub statement: Box<Statement>,
    /// SEARCH.
    pub search: Option<Search>,
    /// CYCLE.
    pub cycle: Option<Cycle>,
}

/// `SEARCH DEPTH FIRST BY a, b SET c`.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Search {
    /// DEPTH rather than BREADTH.
    pub depth: bool,
    /// BY.
    pub by: Vec<Name>,
    /// SET.
    pub set: Name,
}

/// `CYCLE a, b SET c TO v DEFAULT w USING p`.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Cycle {
    /// The columns that repeat.
    pub columns: Vec<Name>,
    /// SET.
    pub set: Name,
    /// TO and DEFAULT.
    pub values: Option<(Expr, Expr)>,
    /// USING.
    pub path: Name,
}

/// A query's body.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum SetExpr {
    /// SELECT, and FROM without SELECT.
    Select(Box<Select>),
    /// `(query)`.
    Query(Box<Query>),
    /// VALUES.
    Values(Vec<Vec<Expr>>),
    /// `TABLE t`.
    Table(Path),
    /// The first operand and those that follow with their operators, all of one rank: UNION and EXCEPT, or INTERSECT.
    Set(Box<SetExpr>, Vec<(SetOperator, SetExpr)>),
    /// `PIVOT t ON ...`, `UNPIVOT t ON ...` as a statement.
    Pivot(Box<PivotStatement>),
    /// DESCRIBE, SHOW and SUMMARIZE in FROM.
    Inspect(Box<Statement>),
}

/// UNION, INTERSECT, EXCEPT.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct SetOperator {
    /// Which one.
    pub kind: SetKind,
    /// ALL (true), DISTINCT (false) or neither.
    pub all: Option<bool>,
    /// BY NAME.
    pub by_name: bool,
    /// Where it stands.
    pub span: Span,
}

/// The set operations.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[expect(missing_docs, reason = "the words themselves")]
pub enum SetKind {
    Union,
    Intersect,
    Except,
}

/// SELECT.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Select {
    /// DISTINCT.
    pub distinct: Distinct,
    /// What is selected; empty where only FROM stands there, and in PostgreSQL's `SELECT FROM t`.
    pub items: Vec<SelectItem>,
    /// How FROM and SELECT stand.
    pub order: ClauseOrder,
    /// INTO.
    pub into: Option<Into>,
    /// FROM.
    pub from: Vec<TableWithJoins>,
    /// WHERE.
    pub condition: Option<Expr>,
    /// GROUP BY.
    pub group_by: Option<GroupBy>,
    /// HAVING.
    pub having: Option<Expr>,
    /// WINDOW.
    pub windows: Vec<(Name, WindowSpec)>,
    /// QUALIFY.
    pub qualify: Option<Expr>,
    /// USING SAMPLE.
    pub sample: Option<Sample>,
    /// Where it stands.
    pub span: Span,
}

/// How FROM and SELECT stand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum ClauseOrder {
    /// SELECT ... FROM.
    SelectFirst,
    /// FROM ... SELECT.
    FromFirst,
    /// FROM alone, which selects everything.
    FromOnly,
}

/// DISTINCT of SELECT.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum Distinct {
    /// Not said.
    Unsaid,
    /// ALL.
    All,
    /// DISTINCT.
    Distinct,
    /// DISTINCT ON (...).
    On(Vec<Expr>),
}

/// One item of SELECT or RETURNING.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct SelectItem {
    /// What it is; stars too.
    pub value: Expr,
    /// Its name, and whether that stood before it: `name: e`.
    pub alias: Option<Name>,
    /// Written before the value.
    pub alias_first: bool,
}

/// INTO of SELECT.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Into {
    /// TEMPORARY.
    pub temporary: bool,
    /// UNLOGGED.
    pub unlogged: bool,
    /// The new table.
    pub table: Path,
}

/// GROUP BY.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct GroupBy {
    /// DISTINCT (true), ALL (false) before the items.
    pub distinct: Option<bool>,
    /// What is grouped by.
    pub items: GroupItems,
}

/// What stands behind GROUP BY.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum GroupItems {
    /// ALL, or `*`.
    All,
    /// Items.
    List(Vec<GroupItem>),
}

/// One item of GROUP BY.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum GroupItem {
    /// An expression.
    Expr(Expr),
    /// `()`.
    Empty(Span),
    /// ROLLUP (...), each element one or several expressions.
    Rollup(Vec<Vec<Expr>>, Span),
    /// CUBE (...).
    Cube(Vec<Vec<Expr>>, Span),
    /// GROUPING SETS (...).
    Sets(Vec<GroupItem>, Span),
}

/// An item of ORDER BY.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct OrderItem {
    /// What is ordered by.
    pub key: OrderKey,
    /// DESC (true), ASC (false).
    pub descending: Option<bool>,
    /// NULLS FIRST (true), NULLS LAST (false).
    pub nulls_first: Option<bool>,
    /// Where it stands.
    pub span: Span,
}

/// What is ordered by.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum OrderKey {
    /// ALL.
    All,
    /// An expression.
    Expr(Expr),
    /// `e USING >`.
    Using(Expr, Box<str>),
}

/// LIMIT and FETCH.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Limit {
    /// How many; `None` is ALL.
    pub count: Option<Expr>,
    /// The unit.
    pub percent: bool,
    /// WITH TIES of FETCH.
    pub with_ties: bool,
    /// Written as FETCH FIRST.
    pub fetch: bool,
}

/// FOR UPDATE and its kin.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Lock {
    /// `UPDATE`, `NO KEY UPDATE`, `SHARE`, `KEY SHARE`.
    pub strength: Box<str>,
    /// OF.
    pub of: Vec<Path>,
    /// NOWAIT, SKIP LOCKED.
    pub wait: Option<Box<str>>,
    /// Where it stands.
    pub span: Span,
}

/// One entry of FROM with the joins behind it.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct TableWithJoins {
    /// The first table.
    pub table: Table,
    /// The joins, applied from left to right.
    pub joins: Vec<Join>,
}

/// A join.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Join {
    /// NATURAL.
    pub natural: bool,
    /// ASOF.
    pub asof: bool,
    /// The kind.
    pub kind: JoinKind,
    /// OUTER was written.
    pub outer: bool,
    /// The right side.
    pub table: Table,
    /// ON, USING.
    pub condition: JoinCondition,
    /// The words of the join.
    pub span: Span,
}

/// The kinds of joins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[expect(missing_docs, reason = "the words themselves")]
pub enum JoinKind {
    /// JOIN without more.
    Plain,
    Inner,
    Left,
    Right,
    Full,
    Cross,
    Semi,
    Anti,
    Positional,
}

/// What a join demands.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum JoinCondition {
    /// Nothing is said.
    None,
    /// ON.
    On(Expr),
    /// USING (...) [AS alias].
    Using(Vec<Name>, Option<Name>),
}

/// An entry of FROM.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Table {
    /// What it is.
    pub kind: TableKind,
    /// Its name there.
    pub alias: Option<TableAlias>,
    /// TABLESAMPLE.
    pub sample: Option<Sample>,
    /// PIVOT and UNPIVOT behind it, each with its alias.
    pub pivots: Vec<TablePivot>,
    /// Where it stands.
    pub span: Span,
}

/// What an entry of FROM is.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum TableKind {
    /// A table, view or variable; a file's name in double quotes too.
    Named {
        /// ONLY.
        only: bool,
        /// The name.
        name: Path,
    },
    /// `'file.parquet'`.
    File(TextLiteral),
    /// A query.
    Query {
        /// LATERAL.
        lateral: bool,
        /// The query.
        query: Box<Query>,
    },
    /// A function.
    Function {
        /// LATERAL.
        lateral: bool,
        /// The function.
        name: Path,
        /// Its arguments.
        arguments: Vec<Argument>,
        /// WITH ORDINALITY.
        ordinality: bool,
    },
    /// ROWS FROM (...).
    RowsFrom {
        /// LATERAL.
        lateral: bool,
        /// The functions, each with types of its columns.
        functions: Vec<(Path, Vec<Argument>, Vec<AliasColumn>)>,
        /// WITH ORDINALITY.
        ordinality: bool,
    },
    /// `(a JOIN b ON ...)`.
    Joined(Box<TableWithJoins>),
}

/// `AS t(a, b)`, `AS t(a INTEGER, b TEXT)`.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct TableAlias {
    /// The name; absent in `AS (a INTEGER)`.
    pub name: Option<Name>,
    /// Columns with types where they are given.
    pub columns: Vec<AliasColumn>,
    /// Written before the table, `t: table`.
    pub first: bool,
}

/// A column of an alias.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct AliasColumn {
    /// Its name.
    pub name: Name,
    /// Its type.
    pub ty: Option<TypeName>,
}

/// TABLESAMPLE and USING SAMPLE.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Sample {
    /// BERNOULLI, SYSTEM, RESERVOIR.
    pub method: Option<Name>,
    /// How much.
    pub amount: Expr,
    /// The unit, where it is said.
    pub unit: Option<SampleUnit>,
    /// The amount stood in parentheses, its method before them: `bernoulli(10)`, `(10)`.
    pub in_parens: bool,
    /// REPEATABLE (...), or the number behind the method.
    pub seed: Option<Expr>,
    /// Where it stands.
    pub span: Span,
}

/// The unit of a sample.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[expect(missing_docs, reason = "the words themselves")]
pub enum SampleUnit {
    Rows,
    Percent,
}

/// A window.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct WindowSpec {
    /// The window that it goes on from.
    pub base: Option<Name>,
    /// PARTITION BY.
    pub partition_by: Vec<Expr>,
    /// ORDER BY.
    pub order_by: Vec<OrderItem>,
    /// The frame.
    pub frame: Option<Frame>,
    /// Where it stands.
    pub span: Span,
}

/// A frame.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Frame {
    /// ROWS, RANGE, GROUPS.
    pub unit: FrameUnit,
    /// The start.
    pub start: FrameBound,
    /// The end, behind BETWEEN ... AND.
    pub end: Option<FrameBound>,
    /// EXCLUDE.
    pub exclusion: Option<FrameExclusion>,
}

/// What a frame counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[expect(missing_docs, reason = "the words themselves")]
pub enum FrameUnit {
    Rows,
    Range,
    Groups,
}

/// A bound of a frame.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[expect(missing_docs, reason = "the words themselves")]
pub enum FrameBound {
    UnboundedPreceding,
    Preceding(Expr),
    CurrentRow,
    Following(Expr),
    UnboundedFollowing,
}

/// EXCLUDE of a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[expect(missing_docs, reason = "the words themselves")]
pub enum FrameExclusion {
    CurrentRow,
    Group,
    Ties,
    NoOthers,
}

/// `table PIVOT (...)` and `table UNPIVOT (...)`.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct TablePivot {
    /// Which of them.
    pub kind: TablePivotKind,
    /// The name of what comes out.
    pub alias: Option<TableAlias>,
    /// Where it stands.
    pub span: Span,
}

/// What stands in the brackets of PIVOT and UNPIVOT behind a table.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum TablePivotKind {
    /// `PIVOT (sum(x) FOR c IN (1, 2) GROUP BY g)`.
    Pivot {
        /// The aggregates.
        aggregates: Vec<SelectItem>,
        /// FOR ... IN: one or more.
        columns: Vec<PivotColumn>,
        /// GROUP BY.
        group_by: Vec<Expr>,
    },
    /// `UNPIVOT [INCLUDE NULLS] (value FOR name IN (a, b))`.
    Unpivot(Unpivot),
}

/// A column that PIVOT spreads over columns.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct PivotColumn {
    /// What is spread.
    pub value: Expr,
    /// The values that get columns; absent for all there are.
    pub among: Option<PivotValues>,
}

/// The values of a pivot.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum PivotValues {
    /// With their names.
    List(Vec<SelectItem>),
    /// Those a query gives.
    Query(Box<Query>),
    /// Those of an ENUM.
    Type(Path),
}

/// UNPIVOT.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Unpivot {
    /// INCLUDE NULLS (true), EXCLUDE NULLS (false).
    pub include_nulls: Option<bool>,
    /// Names of the value columns.
    pub values: Vec<Name>,
    /// The name of the column that holds names.
    pub name: Name,
    /// The columns, several in brackets, with what is said in their stead.
    pub columns: Vec<SelectItem>,
}

/// `PIVOT t ON a USING sum(x) GROUP BY g` and `UNPIVOT t ON a, b INTO NAME n VALUE v`.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct PivotStatement {
    /// UNPIVOT.
    pub unpivot: bool,
    /// What is turned.
    pub source: Box<TableWithJoins>,
    /// ON.
    pub on: Vec<PivotOn>,
    /// USING.
    pub aggregates: Vec<SelectItem>,
    /// GROUP BY.
    pub group_by: Vec<Expr>,
    /// INTO NAME ... VALUE ....
    pub into: Option<(Name, Vec<Name>)>,
    /// INCLUDE NULLS.
    pub include_nulls: Option<bool>,
    /// Where it stands.
    pub span: Span,
}

/// An item of ON.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct PivotOn {
    /// What is turned.
    pub item: SelectItem,
    /// IN (...).
    pub among: Option<PivotValues>,
}
