//! Statements as inert data: what `sql` hands to `engine`.

use types::{Field, ReferentialAction, Value};

use crate::modification::{AlterSequence, CreateSequence, Identity, Modification, TransactionCommand};
use crate::{FileSource, LogicalQuery, TableId};

/// A possibly qualified name; `schema` is `None` when the text had none.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ObjectName {
    pub schema: Option<String>,
    pub name: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum IfExists {
    #[default]
    Error,
    /// IF NOT EXISTS.
    Keep,
    /// OR REPLACE.
    Replace,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ForeignKey {
    pub name: Option<String>,
    pub columns: Vec<String>,
    pub parent: ObjectName,
    /// Empty: the parent's primary key.
    pub parent_columns: Vec<String>,
    pub on_delete: ReferentialAction,
    pub on_update: ReferentialAction,
    /// MATCH FULL: of several columns either all are NULL or none is.
    pub full: bool,
}

/// Columns whose values no two rows share.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct UniqueKey {
    pub name: Option<String>,
    pub columns: Vec<String>,
    /// NULLS NOT DISTINCT: NULL counts as a value like others.
    pub nulls_equal: bool,
}

/// A condition that no row may make false.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Check {
    pub name: Option<String>,
    /// An expression over the table's columns: it is bound anew by every statement that adds rows.
    pub text: String,
    /// The columns that it uses, in the table's order.
    pub columns: Vec<String>,
}

/// PARTITION BY.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Partitioning {
    pub column: String,
    pub kind: PartitionKind,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PartitionKind {
    Hash {
        count: u64,
    },
    /// Name, and the value that all of the partition are below; `None` is MAXVALUE.
    Range(Vec<(String, Option<Value>)>),
}

/// Everything CREATE TABLE says beside the columns.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TableOptions {
    /// Lists of column names; the primary key's columns are NOT NULL as well.
    pub primary_key: Option<Vec<String>>,
    pub primary_key_name: Option<String>,
    pub unique: Vec<UniqueKey>,
    pub foreign_keys: Vec<ForeignKey>,
    pub checks: Vec<Check>,
    /// Columns with a DEFAULT, and its text.
    pub defaults: Vec<(String, String)>,
    /// Columns that are GENERATED ALWAYS AS (expression), and its text.
    pub generated: Vec<(String, String)>,
    /// Columns numbered by a sequence of their own.
    pub identities: Vec<Identity>,
    pub partitioning: Option<Partitioning>,
    /// WITH (name = value), names in lower case, values as text; `engine` checks them.
    pub with: Vec<(String, String)>,
    pub temporary: bool,
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

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ExplainFormat {
    Text,
    Json,
    /// Graphviz's.
    Dot,
    /// One page that needs no other file.
    Html,
}

impl ExplainFormat {
    /// By its name in lower case.
    pub fn named(name: &str) -> Option<Self> {
        Some(match name {
            "text" => ExplainFormat::Text,
            "json" => ExplainFormat::Json,
            "dot" | "graphviz" => ExplainFormat::Dot,
            "html" => ExplainFormat::Html,
            _ => return None,
        })
    }
}

/// A macro's form: the text is an expression, or with `table` a query, over the parameters. A parameter is a name, or
/// `name := default`.
#[derive(Clone, Debug, PartialEq)]
pub struct MacroForm {
    pub parameters: Vec<String>,
    pub text: String,
    pub table: bool,
}

/// ATTACH: a database beside the main one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Attach {
    /// Nothing, or `:memory:`, is a new database in memory.
    pub path: String,
    /// After the path where it is not said.
    pub name: Option<String>,
    pub if_exists: IfExists,
    /// Names in lower case; one without a value has been switched on.
    pub options: Vec<(String, Option<String>)>,
}

#[derive(Clone, Debug, PartialEq)]
pub enum Statement {
    Query(LogicalQuery),
    /// A query with changes in its WITH (`CommonQuery::change`).
    ChangingQuery(Box<LogicalQuery>),
    CreateTable {
        name: ObjectName,
        columns: Vec<Field>,
        options: TableOptions,
    },
    CreateTableAs {
        name: ObjectName,
        query: LogicalQuery,
        options: TableOptions,
    },
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
    /// COPY query TO a file, with PARTITION_BY to a folder, or without a path to standard output. Options have lower-case names; `formats` checks them.
    CopyTo {
        query: LogicalQuery,
        path: Option<String>,
        options: Vec<(String, String)>,
    },
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
        /// Of its parameters, as far as they were declared.
        types: Vec<types::Type>,
    },
    Execute {
        name: String,
        arguments: Vec<(Value, types::Type)>,
    },
    /// DEALLOCATE; `None` for all.
    Deallocate {
        name: Option<String>,
    },
    /// BEGIN, COMMIT, SAVEPOINT and their kin.
    Transaction(TransactionCommand),
}
