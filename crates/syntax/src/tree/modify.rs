//! Statements that change rows, and COPY.
//!
//! Made by `parse::modify` and `parse::copy`. Targets are names as written, with what stands behind points and in
//! brackets; values may be DEFAULT, which is an expression only here.

use super::{
    Expr, Name, OrderItem, Path, Query, SelectItem, SetOption, TableAlias, TableWithJoins, TextLiteral, With,
};
use crate::Span;

/// INSERT.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Insert {
    /// WITH before it.
    pub with: Option<With>,
    /// INSERT OR REPLACE, INSERT OR IGNORE.
    pub or: Option<InsertOr>,
    /// The table.
    pub table: Path,
    /// Its name in the statement.
    pub alias: Option<Name>,
    /// BY NAME (true), BY POSITION (false).
    pub by_name: Option<bool>,
    /// The columns, with fields and elements behind them.
    pub columns: Vec<Target>,
    /// OVERRIDING SYSTEM VALUE (true), USER VALUE (false).
    pub overriding_system: Option<bool>,
    /// The rows; absent for DEFAULT VALUES.
    pub source: Option<Box<Query>>,
    /// ON CONFLICT.
    pub conflict: Option<OnConflict>,
    /// RETURNING.
    pub returning: Vec<SelectItem>,
    /// Where it stands.
    pub span: Span,
}

/// INSERT OR ....
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[expect(missing_docs, reason = "the words themselves")]
pub enum InsertOr {
    Replace,
    Ignore,
}

/// ON CONFLICT.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct OnConflict {
    /// The columns or expressions of the key.
    pub target: Vec<Expr>,
    /// WHERE behind them.
    pub target_condition: Option<Expr>,
    /// ON CONSTRAINT.
    pub constraint: Option<Name>,
    /// What is done; absent for NOTHING.
    pub update: Option<ConflictUpdate>,
    /// Where it stands.
    pub span: Span,
}

/// DO UPDATE.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct ConflictUpdate {
    /// SET; empty where the whole row is taken.
    pub set: Vec<Assignment>,
    /// WHERE.
    pub condition: Option<Expr>,
}

/// A column with fields and places behind it: `a`, `a.b`, `a[1]`.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Target {
    /// Names.
    pub path: Path,
    /// Places.
    pub places: Vec<Expr>,
}

/// `a = e`, `(a, b) = (e, f)`.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Assignment {
    /// One, or those in brackets.
    pub targets: Vec<Target>,
    /// Whether brackets stood around them.
    pub row: bool,
    /// The value.
    pub value: Expr,
}

/// UPDATE.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Update {
    /// WITH before it.
    pub with: Option<With>,
    /// ONLY.
    pub only: bool,
    /// The table.
    pub table: Path,
    /// Its name in the statement.
    pub alias: Option<TableAlias>,
    /// SET.
    pub set: Vec<Assignment>,
    /// FROM.
    pub from: Vec<TableWithJoins>,
    /// WHERE.
    pub condition: Option<Expr>,
    /// ORDER BY and LIMIT, which are refused with a reason.
    pub order_by: Vec<OrderItem>,
    /// LIMIT.
    pub limit: Option<Expr>,
    /// RETURNING.
    pub returning: Vec<SelectItem>,
    /// Where it stands.
    pub span: Span,
}

/// DELETE.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Delete {
    /// WITH before it.
    pub with: Option<With>,
    /// ONLY.
    pub only: bool,
    /// The table.
    pub table: Path,
    /// Its name in the statement.
    pub alias: Option<TableAlias>,
    /// USING.
    pub using: Vec<TableWithJoins>,
    /// WHERE.
    pub condition: Option<Expr>,
    /// ORDER BY, which is refused with a reason.
    pub order_by: Vec<OrderItem>,
    /// LIMIT.
    pub limit: Option<Expr>,
    /// RETURNING.
    pub returning: Vec<SelectItem>,
    /// Where it stands.
    pub span: Span,
}

/// MERGE.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Merge {
    /// WITH before it.
    pub with: Option<With>,
    /// The table.
    pub table: Path,
    /// Its name in the statement.
    pub alias: Option<Name>,
    /// USING.
    pub source: Box<TableWithJoins>,
    /// ON, or USING (...).
    pub condition: MergeCondition,
    /// WHEN.
    pub clauses: Vec<MergeClause>,
    /// RETURNING.
    pub returning: Vec<SelectItem>,
    /// Where it stands.
    pub span: Span,
}

/// What makes rows match.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum MergeCondition {
    /// ON.
    On(Expr),
    /// USING (...).
    Using(Vec<Name>),
}

/// WHEN ... THEN ....
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct MergeClause {
    /// Which rows.
    pub when: MergeWhen,
    /// AND.
    pub condition: Option<Expr>,
    /// What is done.
    pub action: MergeAction,
    /// Where it stands.
    pub span: Span,
}

/// Which rows a clause is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[expect(missing_docs, reason = "the words themselves")]
pub enum MergeWhen {
    Matched,
    NotMatched,
    /// NOT MATCHED BY TARGET, which is NOT MATCHED.
    NotMatchedByTarget,
    NotMatchedBySource,
}

/// What a clause of MERGE does.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum MergeAction {
    /// DO NOTHING.
    Nothing,
    /// DELETE.
    Delete,
    /// UPDATE SET.
    Update(Vec<Assignment>),
    /// UPDATE without SET, and UPDATE SET *: every column; by name where it is said.
    UpdateAll {
        /// BY NAME (true), BY POSITION (false).
        by_name: Option<bool>,
    },
    /// INSERT.
    Insert {
        /// The columns.
        columns: Vec<Target>,
        /// OVERRIDING SYSTEM VALUE (true), USER VALUE (false).
        overriding_system: Option<bool>,
        /// The values; absent for DEFAULT VALUES.
        values: Option<Vec<Expr>>,
    },
    /// INSERT without values, and INSERT *: every column.
    InsertAll {
        /// BY NAME (true), BY POSITION (false).
        by_name: Option<bool>,
    },
    /// ERROR ['message'].
    Error(Option<Expr>),
}

/// TRUNCATE.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Truncate {
    /// ONLY and the tables.
    pub tables: Vec<(bool, Path)>,
    /// RESTART IDENTITY (true), CONTINUE IDENTITY (false).
    pub restart_identity: Option<bool>,
    /// CASCADE (true), RESTRICT (false).
    pub cascade: Option<bool>,
}

/// COPY.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Copy {
    /// What is copied.
    pub source: CopySource,
    /// TO (true), FROM (false).
    pub to: bool,
    /// The file.
    pub target: CopyTarget,
    /// Options in brackets or without.
    pub options: Vec<SetOption>,
    /// WHERE of COPY FROM.
    pub condition: Option<Expr>,
    /// Where it stands.
    pub span: Span,
}

/// What COPY is about.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum CopySource {
    /// A table and some of its columns.
    Table(Path, Vec<Name>),
    /// A query, or a statement that changes rows.
    Statement(Box<super::Statement>),
}

/// Where COPY reads and writes.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum CopyTarget {
    /// A file.
    File(Expr),
    /// Standard input or output.
    Standard(Span),
    /// PROGRAM '...', which is refused.
    Program(TextLiteral),
}
