//! Statements as inert data: what `sql` hands to `engine`.
//!
//! Binding has resolved tables to ids and queries to logical plans; `engine` carries the statement out. Expressions
//! that outlive a statement (CHECK, DEFAULT, views, macros) are kept as text and bound anew at each use. Options with
//! open sets of names (WITH, COPY, ATTACH) travel as pairs of name and text and are checked where they are used.
//! Statements about rows, sequences and transactions have their own types in `modification`.

use serde::{Deserialize, Serialize};
use types::{Field, ReferentialAction, Value};

use crate::cursor::{CursorCommand, Discarded};
use crate::modification::{AlterSequence, CreateSequence, Identity, Modification, TransactionCommand};
use crate::{FileSource, LogicalQuery, TableId};

/// A possibly qualified name; `schema` is `None` when the text had none.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ObjectName {
    /// The schema; `None` to use the search path.
    pub schema: Option<String>,
    /// The name within the schema.
    pub name: String,
}

/// What creating does when the name is taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum IfExists {
    /// The statement fails.
    #[default]
    Error,
    /// IF NOT EXISTS.
    Keep,
    /// OR REPLACE.
    Replace,
}

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
    Hash { count: u64 },
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
    AddColumn {
        field: Field,
        /// DEFAULT's text, and the value that the rows which are there get.
        default: Option<String>,
        value: Value,
        if_not_exists: bool,
    },
    DropColumn {
        name: String,
        if_exists: bool,
        cascade: bool,
    },
    RenameColumn {
        from: String,
        to: String,
    },
    RenameTable {
        to: String,
    },
    SetNotNull {
        column: String,
    },
    DropNotNull {
        column: String,
    },
    SetDefault {
        column: String,
        default: Option<String>,
    },
    /// A key, whose names are columns of the table; the rows that are there must satisfy it.
    AddConstraint {
        name: Option<String>,
        key: AddedKey,
    },
    DropConstraint {
        name: String,
        if_exists: bool,
        cascade: bool,
    },
}

/// A constraint that ALTER TABLE adds.
#[derive(Clone, Debug, PartialEq)]
pub enum AddedKey {
    Primary(Vec<String>),
    Unique(UniqueKey),
    Foreign(ForeignKey),
    Check(Check),
}

/// What COMMENT ON is about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CommentTarget {
    Table(ObjectName),
    View(ObjectName),
    Column { table: ObjectName, column: String },
}

/// The forms in which EXPLAIN shows a plan.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ExplainFormat {
    Text,
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
        name: ObjectName,
        columns: Vec<Field>,
        options: TableOptions,
    },
    /// CREATE TABLE ... AS: the query's columns become the table's.
    CreateTableAs {
        name: ObjectName,
        query: LogicalQuery,
        options: TableOptions,
    },
    /// CREATE INDEX; `columns` are positions in the table.
    CreateIndex {
        /// Named after table and columns when it is not given.
        name: Option<String>,
        table: ObjectName,
        table_id: TableId,
        /// USING.
        method: Option<String>,
        columns: Vec<usize>,
        unique: bool,
        if_not_exists: bool,
    },
    /// ALTER TABLE ... SET (name = value): how blocks are made, from now on and, in the background, those that are there.
    /// With a condition only those that are there and hold a row that satisfies it.
    Reorganize {
        name: ObjectName,
        table: TableId,
        options: Vec<(String, String)>,
        /// A DELETE of those rows, which is not carried out.
        rows: Option<Box<Modification>>,
    },
    DropIndex {
        names: Vec<ObjectName>,
        if_exists: bool,
    },
    Attach(Attach),
    /// DETACH.
    Detach {
        name: String,
        if_exists: bool,
    },
    /// COPY FROM DATABASE ... TO ...: everything that one database has, into another.
    CopyDatabase {
        from: String,
        to: String,
        /// Definitions alone.
        schema_only: bool,
    },
    CreateSchema {
        name: String,
        if_not_exists: bool,
    },
    /// ALTER TABLE; the table is absent when IF EXISTS allows for that.
    AlterTable {
        name: ObjectName,
        table: Option<TableId>,
        actions: Vec<AlterAction>,
    },
    /// ALTER COLUMN TYPE: `query` gives all columns anew, those in `columns` under other types.
    AlterTypes {
        name: ObjectName,
        table: TableId,
        columns: Vec<Field>,
        query: LogicalQuery,
    },
    RenameView {
        name: ObjectName,
        to: String,
    },
    /// COMMENT ON; `None` removes the comment.
    Comment {
        on: CommentTarget,
        text: Option<String>,
    },
    DropTable {
        names: Vec<ObjectName>,
        if_exists: bool,
        cascade: bool,
    },
    DropSchema {
        name: String,
        if_exists: bool,
        cascade: bool,
    },
    /// The query delivers the table's columns, all of them, in order and already cast.
    Insert {
        table: TableId,
        name: ObjectName,
        query: LogicalQuery,
    },
    /// UPDATE, DELETE, MERGE, and those INSERTs that return rows or have an ON CONFLICT.
    Modify(Box<Modification>),
    /// TRUNCATE: all rows of these tables, and with `cascade` of those that refer to them.
    Truncate {
        tables: Vec<(TableId, ObjectName)>,
        cascade: bool,
        restart_identity: bool,
    },
    CreateSequence(CreateSequence),
    AlterSequence(AlterSequence),
    DropSequence {
        names: Vec<ObjectName>,
        if_exists: bool,
        cascade: bool,
    },
    /// COPY table FROM files; the query scans them and delivers the table's columns.
    CopyFrom {
        table: TableId,
        name: ObjectName,
        source: FileSource,
        query: LogicalQuery,
    },
    /// COPY query TO a file, with PARTITION_BY to a folder, or without a path to standard output. Options have
    /// lower-case names; `formats` checks them.
    CopyTo {
        query: LogicalQuery,
        path: Option<String>,
        options: Vec<(String, String)>,
    },
    /// EXPLAIN; with `analyze` the statement runs and measurements are shown.
    Explain {
        analyze: bool,
        format: ExplainFormat,
        statement: Box<Statement>,
    },
    /// SET name = value; `None` resets to the default.
    Set {
        name: String,
        value: Option<String>,
    },
    /// SHOW of a setting.
    Show {
        name: String,
    },
    /// CALL procedure(name => value, ...); positional arguments have no name.
    Call {
        procedure: String,
        arguments: Vec<(Option<String>, Value, types::Type)>,
    },
    /// The text is the query's; it is bound anew wherever the view is used.
    CreateView {
        name: ObjectName,
        columns: Vec<String>,
        text: String,
        if_exists: IfExists,
    },
    DropView {
        names: Vec<ObjectName>,
        if_exists: bool,
    },
    /// The type under a name; one of labels bears the name itself.
    CreateType {
        name: ObjectName,
        ty: types::Type,
        if_exists: IfExists,
    },
    DropType {
        names: Vec<ObjectName>,
        if_exists: bool,
    },
    /// The forms take different numbers of arguments.
    CreateMacro {
        name: ObjectName,
        forms: Vec<MacroForm>,
        replace: bool,
        /// IF NOT EXISTS.
        keep: bool,
        /// The session's own.
        temporary: bool,
    },
    /// A function of the host program, or a macro.
    DropFunction {
        name: ObjectName,
        if_exists: bool,
    },
    DropMacro {
        name: ObjectName,
        if_exists: bool,
    },
    /// PREPARE: the statement's text, whose syntax has been checked.
    Prepare {
        name: String,
        text: String,
        /// The types of its parameters, as far as they were declared.
        types: Vec<types::Type>,
    },
    /// EXECUTE of a prepared statement.
    Execute {
        name: String,
        arguments: Vec<(Value, types::Type)>,
    },
    /// DEALLOCATE; `None` for all.
    Deallocate {
        name: Option<String>,
    },
    /// DECLARE, FETCH, MOVE and CLOSE.
    Cursor(CursorCommand),
    /// DISCARD.
    Discard(Discarded),
    /// SET LOCAL: until the transaction ends; the default for `None`.
    SetLocal {
        name: String,
        value: Option<String>,
    },
    /// Roles, privileges and row policies.
    Access(Box<crate::access::AccessStatement>),
    /// BEGIN, COMMIT, SAVEPOINT and their kin.
    Transaction(TransactionCommand),
}
