//! Statements as inert data: what `sql` hands to `engine`.
//!
//! Binding has resolved tables to ids and queries to logical plans; `engine` carries the statement out. Expressions
//! that outlive a statement (CHECK, DEFAULT, views, macros) are kept as text and bound anew at each use. Options with
//! open sets of names (WITH, COPY, ATTACH) travel as pairs of name and text and are checked where they are used.
//! Statements about rows, sequences and transactions have their own types in `modification`.

use types::{Field, ReferentialAction, Value};

use crate::cursor::{CursorCommand, Discarded};
use crate::modification::{AlterSequence, CreateSequence, Identity, Modification, TransactionCommand};
pub use crate::object_name::{IfExists, ObjectName};
use crate::{FileSource, LogicalQuery, TableId};

/// FOREIGN KEY, or REFERENCES of a column.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ForeignKey {
    /// The constraint's name, when one is given.
    pub name: Option<String>,
    /// The referring columns of the new table.
    pub columns: Vec<String>,
    /// The table referred to.
    pub parent: ObjectName,
    /// Empty: the parent's primary key.
    pub parent_columns: Vec<String>,
    /// What deleting a parent row does to the rows that refer to it.
    pub on_delete: ReferentialAction,
    /// What changing a parent's key does to the rows that refer to it.
    pub on_update: ReferentialAction,
    /// MATCH FULL: of several columns either all are NULL or none is.
    pub full: bool,
}

/// Columns whose values no two rows share.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct UniqueKey {
    /// The constraint's name, when one is given.
    pub name: Option<String>,
    /// The key's columns.
    pub columns: Vec<String>,
    /// NULLS NOT DISTINCT: NULL counts as a value like others.
    pub nulls_equal: bool,
}

/// A condition that no row may make false.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Check {
    /// The constraint's name, when one is given.
    pub name: Option<String>,
    /// An expression over the table's columns: it is bound anew by every statement that adds rows.
    pub text: String,
    /// The columns that it uses, in the table's order.
    pub columns: Vec<String>,
}

/// PARTITION BY.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Partitioning {
    /// The column that decides a row's partition.
    pub column: String,
    /// How it does so.
    pub kind: PartitionKind,
}

/// How rows are assigned to partitions.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PartitionKind {
    /// By the hash of the column's value, to `count` partitions.
    Hash {
        /// How many partitions there are.
        count: u64,
    },
    /// Name, and the value that all of the partition are below; `None` is MAXVALUE.
    Range(Vec<(String, Option<Value>)>),
}

/// Everything CREATE TABLE says apart from the columns.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TableOptions {
    /// Lists of column names; the primary key's columns are NOT NULL as well.
    pub primary_key: Option<Vec<String>>,
    /// The primary key's constraint name.
    pub primary_key_name: Option<String>,
    /// UNIQUE.
    pub unique: Vec<UniqueKey>,
    /// FOREIGN KEY and REFERENCES.
    pub foreign_keys: Vec<ForeignKey>,
    /// CHECK.
    pub checks: Vec<Check>,
    /// Columns with a DEFAULT, and its text.
    pub defaults: Vec<(String, String)>,
    /// Columns that are GENERATED ALWAYS AS (expression), and its text.
    pub generated: Vec<(String, String)>,
    /// Columns with a comment that is taken along from another table, and its text.
    pub comments: Vec<(String, String)>,
    /// Columns numbered by a sequence of their own.
    pub identities: Vec<Identity>,
    /// PARTITION BY.
    pub partitioning: Option<Partitioning>,
    /// WITH (name = value), names in lower case, values as text; `engine` checks them.
    pub with: Vec<(String, String)>,
    /// TEMPORARY: of this session alone.
    pub temporary: bool,
    /// IF NOT EXISTS or OR REPLACE.
    pub if_exists: IfExists,
}

/// One change of ALTER TABLE.
#[derive(Clone, Debug, PartialEq)]
pub enum AlterAction {
    /// ADD COLUMN.
    AddColumn {
        /// The column's name and type.
        field: Field,
        /// DEFAULT's text, and the value that the rows which are there get.
        default: Option<String>,
        /// What rows that are there get.
        value: Value,
        /// IF NOT EXISTS: one that is there is no error.
        if_not_exists: bool,
    },
    /// DROP COLUMN.
    DropColumn {
        /// The column's name.
        name: String,
        /// IF EXISTS: an absent one is no error.
        if_exists: bool,
        /// CASCADE: what depends on it goes as well.
        cascade: bool,
    },
    /// RENAME COLUMN.
    RenameColumn {
        /// The name before.
        from: String,
        /// The name from now on.
        to: String,
    },
    /// RENAME TO.
    RenameTable {
        /// The name from now on.
        to: String,
    },
    /// SET NOT NULL.
    SetNotNull {
        /// The column's name.
        column: String,
    },
    /// DROP NOT NULL.
    DropNotNull {
        /// The column's name.
        column: String,
    },
    /// SET DEFAULT and DROP DEFAULT.
    SetDefault {
        /// The column's name.
        column: String,
        /// The default's text; none for DROP DEFAULT.
        default: Option<String>,
    },
    /// A key, whose names are columns of the table; the rows that are there must satisfy it.
    AddConstraint {
        /// The constraint's name; made of its columns when absent.
        name: Option<String>,
        /// The constraint.
        key: AddedKey,
    },
    /// DROP CONSTRAINT.
    DropConstraint {
        /// The constraint's name.
        name: String,
        /// IF EXISTS: an absent one is no error.
        if_exists: bool,
        /// CASCADE: what depends on it goes as well.
        cascade: bool,
    },
}

/// A constraint that ALTER TABLE adds.
#[derive(Clone, Debug, PartialEq)]
pub enum AddedKey {
    /// PRIMARY KEY of these columns.
    Primary(Vec<String>),
    /// UNIQUE.
    Unique(UniqueKey),
    /// FOREIGN KEY.
    Foreign(ForeignKey),
    /// CHECK.
    Check(Check),
}

/// What COMMENT ON is about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CommentTarget {
    /// A table.
    Table(ObjectName),
    /// A view.
    View(ObjectName),
    /// A column of a table or view.
    Column {
        /// The table or view.
        table: ObjectName,
        /// The column's name.
        column: String,
    },
    /// An object that is no table and no view.
    Object(CommentKind, ObjectName),
}

/// The kinds of objects beside tables and views that have comments.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CommentKind {
    /// An index.
    Index,
    /// A sequence.
    Sequence,
    /// A type that CREATE TYPE made.
    Type,
    /// A macro, or a function in SQL.
    Macro,
    /// A schema, by its key.
    Schema,
    /// The database, or an attached one.
    Database,
}

/// The forms in which EXPLAIN shows a plan.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ExplainFormat {
    /// Lines of text.
    Text,
    /// A JSON document.
    Json,
    /// Graphviz's.
    Dot,
    /// One page that needs no other file.
    Html,
    /// The pipelines that the plan is cut into; of plans that do not run.
    Pipelines,
}

impl ExplainFormat {
    /// By its name in lower case.
    pub fn named(name: &str) -> Option<Self> {
        Some(match name {
            "text" => ExplainFormat::Text,
            "json" => ExplainFormat::Json,
            "dot" | "graphviz" => ExplainFormat::Dot,
            "html" => ExplainFormat::Html,
            "pipelines" => ExplainFormat::Pipelines,
            _ => return None,
        })
    }
}

/// A macro's form: the text is an expression, or with `table` a query, over the parameters. A parameter is a name, or
/// `name := default`.
#[derive(Clone, Debug, PartialEq)]
pub struct MacroForm {
    /// The parameters, in order, as they are written.
    pub parameters: Vec<String>,
    /// The body's text, bound at each use.
    pub text: String,
    /// Whether the body is a query.
    pub table: bool,
}

/// ATTACH: a further database of this process.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Attach {
    /// Nothing, or `:memory:`, is a new database in memory.
    pub path: String,
    /// After the path where it is not said.
    pub name: Option<String>,
    /// IF NOT EXISTS or OR REPLACE.
    pub if_exists: IfExists,
    /// Names in lower case; one without a value has been switched on.
    pub options: Vec<(String, Option<String>)>,
}

/// A bound statement. Names are resolved; values and types are checked as far as planning can.
#[derive(Clone, Debug, PartialEq)]
pub enum Statement {
    /// A query that changes nothing.
    Query(LogicalQuery),
    /// A query with changes in its WITH (`CommonQuery::change`).
    ChangingQuery(Box<LogicalQuery>),
    /// CREATE TABLE with columns.
    CreateTable {
        /// The table's name.
        name: ObjectName,
        /// The columns' names, types, and whether they may be NULL.
        columns: Vec<Field>,
        /// Keys, constraints and storage.
        options: TableOptions,
    },
    /// CREATE TABLE ... AS: the query's columns become the table's.
    CreateTableAs {
        /// The table's name.
        name: ObjectName,
        /// The query whose columns and rows become the table's.
        query: LogicalQuery,
        /// Keys, constraints and storage.
        options: TableOptions,
    },
    /// CREATE INDEX; `columns` are positions in the table.
    CreateIndex {
        /// Named after table and columns when it is not given.
        name: Option<String>,
        /// The table's name.
        table: ObjectName,
        /// The table's number in the catalog.
        table_id: TableId,
        /// USING.
        method: Option<String>,
        /// Positions in the table, in the order of the key.
        columns: Vec<usize>,
        /// UNIQUE.
        unique: bool,
        /// IF NOT EXISTS: one that is there is no error.
        if_not_exists: bool,
    },
    /// ALTER TABLE ... SET (name = value): how blocks are made, from now on and, in the background, those that are there.
    /// With a condition only those that are there and hold a row that satisfies it.
    Reorganize {
        /// The table's name.
        name: ObjectName,
        /// The table's number in the catalog.
        table: TableId,
        /// Options and values; `engine` checks them.
        options: Vec<(String, String)>,
        /// A DELETE of those rows, which is not carried out.
        rows: Option<Box<Modification>>,
    },
    /// DROP INDEX.
    DropIndex {
        /// The indices' names.
        names: Vec<ObjectName>,
        /// IF EXISTS: an absent one is no error.
        if_exists: bool,
    },
    /// ATTACH.
    Attach(Attach),
    /// DETACH.
    Detach {
        /// The attached database's name.
        name: String,
        /// IF EXISTS: an absent one is no error.
        if_exists: bool,
    },
    /// COPY FROM DATABASE ... TO ...: everything that one database has, into another.
    CopyDatabase {
        /// The database that is read.
        from: String,
        /// The database that is written.
        to: String,
        /// Definitions alone.
        schema_only: bool,
    },
    /// CREATE SCHEMA.
    CreateSchema {
        /// The schema's name.
        name: String,
        /// IF NOT EXISTS: one that is there is no error.
        if_not_exists: bool,
    },
    /// ALTER TABLE; the table is absent when IF EXISTS allows for that.
    AlterTable {
        /// The table's name.
        name: ObjectName,
        /// The table's number in the catalog.
        table: Option<TableId>,
        /// The changes, in order.
        actions: Vec<AlterAction>,
    },
    /// ALTER COLUMN TYPE: `query` gives all columns anew, those in `columns` under other types.
    AlterTypes {
        /// The table's name.
        name: ObjectName,
        /// The table's number in the catalog.
        table: TableId,
        /// The columns with their new types.
        columns: Vec<Field>,
        /// Gives all columns of the table, converted.
        query: LogicalQuery,
        /// By position, columns whose default is another text from now on.
        defaults: Vec<(usize, String)>,
    },
    /// ALTER VIEW ... RENAME TO.
    RenameView {
        /// The view's name before.
        name: ObjectName,
        /// The name from now on.
        to: String,
    },
    /// COMMENT ON; `None` removes the comment.
    Comment {
        /// The object.
        on: CommentTarget,
        /// The comment.
        text: Option<String>,
    },
    /// DROP TABLE.
    DropTable {
        /// The tables' names.
        names: Vec<ObjectName>,
        /// IF EXISTS: an absent one is no error.
        if_exists: bool,
        /// CASCADE: what depends on it goes as well.
        cascade: bool,
    },
    /// DROP SCHEMA.
    DropSchema {
        /// The schema's name.
        name: String,
        /// IF EXISTS: an absent one is no error.
        if_exists: bool,
        /// CASCADE: what depends on it goes as well.
        cascade: bool,
    },
    /// The query delivers the table's columns, all of them, in order and already cast.
    Insert {
        /// The table's number in the catalog.
        table: TableId,
        /// The table's name.
        name: ObjectName,
        /// The rows.
        query: LogicalQuery,
    },
    /// UPDATE, DELETE, MERGE, and those INSERTs that return rows or have an ON CONFLICT.
    Modify(Box<Modification>),
    /// TRUNCATE: all rows of these tables, and with `cascade` of those that refer to them.
    Truncate {
        /// Numbers in the catalog, and names.
        tables: Vec<(TableId, ObjectName)>,
        /// Tables that refer to them are emptied, too.
        cascade: bool,
        /// RESTART IDENTITY: sequences of the columns begin anew.
        restart_identity: bool,
    },
    /// CREATE SEQUENCE.
    CreateSequence(CreateSequence),
    /// ALTER SEQUENCE.
    AlterSequence(AlterSequence),
    /// DROP SEQUENCE.
    DropSequence {
        /// The sequences' names.
        names: Vec<ObjectName>,
        /// IF EXISTS: an absent one is no error.
        if_exists: bool,
        /// CASCADE: what depends on it goes as well.
        cascade: bool,
    },
    /// COPY table FROM files; the query scans them and delivers the table's columns.
    CopyFrom {
        /// The table's number in the catalog.
        table: TableId,
        /// The table's name.
        name: ObjectName,
        /// The files, and how they are read.
        source: FileSource,
        /// The rows, as the table has them.
        query: LogicalQuery,
    },
    /// COPY query TO a file, with PARTITION_BY to a folder, or without a path to standard output. Options have
    /// lower-case names; `formats` checks them.
    CopyTo {
        /// The rows that are written.
        query: LogicalQuery,
        /// The file or folder; standard output when absent.
        path: Option<String>,
        /// Options and values, in order.
        options: Vec<(String, String)>,
    },
    /// EXPLAIN; with `analyze` the statement runs and measurements are shown.
    Explain {
        /// The statement runs, and is measured.
        analyze: bool,
        /// The form of the answer.
        format: ExplainFormat,
        /// The statement that is explained.
        statement: Box<Statement>,
    },
    /// SET name = value; `None` resets to the default.
    Set {
        /// The setting's name.
        name: String,
        /// The setting's new value.
        value: Option<String>,
    },
    /// SHOW of a setting.
    Show {
        /// The setting's name.
        name: String,
    },
    /// CALL procedure(name => value, ...); positional arguments have no name.
    Call {
        /// The procedure's name.
        procedure: String,
        /// Name, value and type of each argument.
        arguments: Vec<(Option<String>, Value, types::Type)>,
    },
    /// The text is the query's; it is bound anew wherever the view is used.
    CreateView {
        /// The view's name.
        name: ObjectName,
        /// The columns' names, where they are not the query's.
        columns: Vec<String>,
        /// The query as it is written.
        text: String,
        /// What is done where the name is taken.
        if_exists: IfExists,
    },
    /// DROP VIEW.
    DropView {
        /// The views' names.
        names: Vec<ObjectName>,
        /// IF EXISTS: an absent one is no error.
        if_exists: bool,
    },
    /// The type under a name; one of labels bears the name itself.
    CreateType {
        /// The type's name.
        name: ObjectName,
        /// The type.
        ty: types::Type,
        /// What is done where the name is taken.
        if_exists: IfExists,
    },
    /// DROP TYPE.
    DropType {
        /// The types' names.
        names: Vec<ObjectName>,
        /// IF EXISTS: an absent one is no error.
        if_exists: bool,
    },
    /// The forms take different numbers of arguments.
    CreateMacro {
        /// The macro's name.
        name: ObjectName,
        /// Parameters and bodies, by number of parameters.
        forms: Vec<MacroForm>,
        /// OR REPLACE.
        replace: bool,
        /// IF NOT EXISTS.
        keep: bool,
        /// The session's own.
        temporary: bool,
    },
    /// A function of the host program, or a macro.
    DropFunction {
        /// The function's name.
        name: ObjectName,
        /// IF EXISTS: an absent one is no error.
        if_exists: bool,
    },
    /// DROP MACRO.
    DropMacro {
        /// The macro's name.
        name: ObjectName,
        /// IF EXISTS: an absent one is no error.
        if_exists: bool,
    },
    /// PREPARE: the statement's text, whose syntax has been checked.
    Prepare {
        /// The prepared statement's name.
        name: String,
        /// The statement as it is written.
        text: String,
        /// The types of its parameters, as far as they were declared.
        types: Vec<types::Type>,
    },
    /// EXECUTE of a prepared statement.
    Execute {
        /// The prepared statement's name.
        name: String,
        /// Values and types of the parameters, in order.
        arguments: Vec<(Value, types::Type)>,
    },
    /// DEALLOCATE; `None` for all.
    Deallocate {
        /// The prepared statement's name.
        name: Option<String>,
    },
    /// DECLARE, FETCH, MOVE and CLOSE.
    Cursor(CursorCommand),
    /// DISCARD.
    Discard(Discarded),
    /// SET LOCAL: until the transaction ends; the default for `None`.
    SetLocal {
        /// The setting's name.
        name: String,
        /// The value until the transaction ends.
        value: Option<String>,
    },
    /// Roles, privileges and row policies.
    Access(Box<crate::access::AccessStatement>),
    /// BEGIN, COMMIT, SAVEPOINT and their kin.
    Transaction(TransactionCommand),
}
