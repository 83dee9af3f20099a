//! What a statement says and the binder's tree has no place for.

use plan::Exclusion;
use sqlparser::ast::{Ident, Statement};
use sqlparser::tokenizer::{Location, Span};

use crate::script::StatementText;

/// A statement's syntax tree, and what PostgreSQL's grammar has that the parser's tree has no place for.
pub(crate) struct Parsed {
    pub statement: Statement,
    /// `CREATE TABLE t (a, b) AS ...`: the names in brackets.
    pub column_names: Vec<Ident>,
    /// EXCLUDE at the end of frames, by the place of the function, or of the window's name, that the frame belongs to.
    pub exclusions: Vec<(Location, Exclusion)>,
    /// `COPY ... TO 'file' (...)`: what stands in the brackets, names in lower case, lists joined by commas.
    pub copy_options: Vec<(String, String)>,
    /// USING SAMPLE, by the place of its SELECT.
    pub samples: Vec<(Location, SampleClause)>,
    /// SEARCH and CYCLE of WITH RECURSIVE.
    pub marks: Vec<Marks>,
    /// SUMMARIZE, which is parsed as DESCRIBE.
    pub summarize: bool,
    /// ALTER VIEW ... RENAME, which is parsed as ALTER TABLE.
    pub alter_view: bool,
    /// `ALTER TABLE t SET (...) WHERE condition`: a DELETE with that condition, at the same place of its text.
    pub alter_condition: Option<String>,
    /// MERGE's clauses that do nothing, by the place of what was parsed in their stead.
    pub nothing: Vec<Location>,
    pub overriding: Overriding,
    /// INSERT ... BY NAME.
    pub insert_by: InsertBy,
    /// Where it stands in its script; absent for texts inside it.
    pub begins: Option<StatementText>,
    /// PARTITION BY of CREATE TABLE.
    pub partitioning: Option<PartitionClause>,
    /// The part of the text that the statement keeps: a view's query, what is prepared.
    pub kept: Option<syntax::Span>,
}

/// Which values count for columns that are GENERATED AS IDENTITY.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Overriding {
    #[default]
    Nothing,
    /// Those given, for ALWAYS too.
    System,
    /// Those of the sequence.
    User,
}

/// How an INSERT's values find their columns.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum InsertBy {
    #[default]
    Position,
    Name,
}

/// The clause, its values not bound yet.
#[derive(Clone, Debug)]
pub(crate) struct PartitionClause {
    pub column: Ident,
    pub kind: PartitionKind,
}

#[derive(Clone, Debug)]
pub(crate) enum PartitionKind {
    Hash(String),
    /// Name and the text of the value that all of the partition are below; `None` is MAXVALUE.
    Range(Vec<(Ident, Option<String>)>),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SampleMethod {
    Bernoulli,
    System,
    Reservoir,
}

/// USING SAMPLE. Numbers are as they were written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct SampleClause {
    pub at: Location,
    pub method: Option<SampleMethod>,
    pub amount: String,
    /// Rows rather than a percentage.
    pub rows: bool,
    pub seed: Option<String>,
}

/// SEARCH: a column that sorts the rows of a recursion.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Search {
    pub breadth: bool,
    pub by: Vec<Ident>,
    pub set: Ident,
    pub span: Span,
}

/// CYCLE: a column that says whether a row was there before on the way to it, and that way.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Cycle {
    pub by: Vec<Ident>,
    pub mark: Ident,
    /// As they are written.
    pub value: String,
    pub default: String,
    pub path: Ident,
    pub span: Span,
}

/// What stands behind one query, by the place of its name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Marks {
    pub at: Location,
    pub search: Option<Search>,
    pub cycle: Option<Cycle>,
}
