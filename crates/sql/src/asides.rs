//! What a statement says and the binder's tree has no place for.

use plan::Exclusion;
use sqlparser::ast::{Ident, Statement};
use sqlparser::tokenizer::{Location, Span};

use crate::script::StatementText;

/// A statement's syntax tree, and what PostgreSQL's grammar has that the parser's tree has no place for.
pub(crate) struct Parsed {
    /// The statement in the form that the binder reads.
    pub statement: Statement,
    /// `CREATE TABLE t (a, b) AS ...`: the names in brackets.
    pub column_names: Vec<Ident>,
    /// EXCLUDE at the end of frames, by the place of the function, or of the window's name, that the frame belongs
    /// to.
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
    /// OVERRIDING SYSTEM VALUE or USER VALUE of an INSERT or MERGE.
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
    /// Without the clause: those given, and an error for ALWAYS.
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
    /// By their order.
    #[default]
    Position,
    /// By the names of the query's columns.
    Name,
}

/// The clause, its values not bound yet.
#[derive(Clone, Debug)]
pub(crate) struct PartitionClause {
    /// The column whose values choose the partition.
    pub column: Ident,
    /// How values map to partitions.
    pub kind: PartitionKind,
}

/// How values map to partitions, in texts of the statement.
#[derive(Clone, Debug)]
pub(crate) enum PartitionKind {
    /// By hash: the number of partitions.
    Hash(String),
    /// Name and the text of the value that all of the partition are below; `None` is MAXVALUE.
    Range(Vec<(Ident, Option<String>)>),
}

/// The sampling method, as the clause names it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SampleMethod {
    /// Each row with the given probability.
    Bernoulli,
    /// Whole blocks of rows.
    System,
    /// Rows, as BERNOULLI takes them.
    Reservoir,
}

/// USING SAMPLE. Numbers are as they were written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct SampleClause {
    /// The place of the word USING, by which the SELECT finds its clause.
    pub at: Location,
    /// `None` where the clause names no method.
    pub method: Option<SampleMethod>,
    /// A percentage, or with `rows` a number of rows.
    pub amount: String,
    /// Rows rather than a percentage.
    pub rows: bool,
    /// The seed that the clause gives; without one, the samples of a statement share a random seed.
    pub seed: Option<String>,
}

/// SEARCH: a column that sorts the rows of a recursion.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Search {
    /// BREADTH FIRST rather than DEPTH FIRST.
    pub breadth: bool,
    /// The columns that order the rows.
    pub by: Vec<Ident>,
    /// The name of the column that the clause adds.
    pub set: Ident,
    /// The place of the word SEARCH, for errors.
    pub span: Span,
}

/// CYCLE: a column that says whether a row was there before on the way to it, and that way.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Cycle {
    /// The columns whose equality makes two rows the same.
    pub by: Vec<Ident>,
    /// The name of the column that tells whether the row closes a cycle.
    pub mark: Ident,
    /// As they are written.
    pub value: String,
    /// The mark of rows that close no cycle; FALSE unless the clause says otherwise.
    pub default: String,
    /// The name of the column that holds the rows on the way to this row.
    pub path: Ident,
    /// The place of the word CYCLE, for errors.
    pub span: Span,
}

/// What stands behind one query, by the place of its name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Marks {
    /// The place where the name of the WITH query begins.
    pub at: Location,
    /// The SEARCH clause, if there is one.
    pub search: Option<Search>,
    /// The CYCLE clause, if there is one.
    pub cycle: Option<Cycle>,
}
