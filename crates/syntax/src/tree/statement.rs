//! Statements.
//!
//! Made by `parse::statement`. A statement knows its span in the text; large kinds are in a box, so that the type
//! stays small. `Unsupported` is one of another system, known by its words.

use super::{
    AlterObject, AlterTable, Comment, Copy, CreateFunction, CreateIndex, CreateMacro, CreateSecret,
    CreateTable, CreateType, CreateView, CreateWideTable, CursorMotion, DeclareCursor, Delete, Discarded,
    Drop, Expr, IfThere, Insert, Merge, Name, OptionValue, Path, Query, SequenceOption, SetOption,
    TextLiteral, Truncate, TypeName, Update,
};
use crate::Span;

/// A statement.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Statement {
    /// Which one.
    pub kind: StatementKind,
    /// Where it stands, without its semicolon.
    pub span: Span,
}

/// The statements.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum StatementKind {
    /// A query.
    Query(Box<Query>),
    /// INSERT.
    Insert(Box<Insert>),
    /// UPDATE.
    Update(Box<Update>),
    /// DELETE.
    Delete(Box<Delete>),
    /// MERGE.
    Merge(Box<Merge>),
    /// TRUNCATE.
    Truncate(Truncate),
    /// COPY.
    Copy(Box<Copy>),
    /// COPY FROM DATABASE a TO b (SCHEMA | DATA).
    CopyDatabase {
        /// From which.
        from: Name,
        /// Into which.
        to: Name,
        /// What of it.
        part: Option<Name>,
    },
    /// CREATE TABLE.
    CreateTable(Box<CreateTable>),
    /// CREATE VIEW.
    CreateView(Box<CreateView>),
    /// CREATE INDEX.
    CreateIndex(Box<CreateIndex>),
    /// CREATE SEQUENCE.
    CreateSequence {
        /// OR REPLACE, IF NOT EXISTS.
        if_there: IfThere,
        /// TEMPORARY.
        temporary: bool,
        /// Its name.
        name: Path,
        /// Its options.
        options: Vec<SequenceOption>,
    },
    /// CREATE SCHEMA.
    CreateSchema {
        /// IF NOT EXISTS, OR REPLACE.
        if_there: IfThere,
        /// Its name.
        name: Path,
        /// AUTHORIZATION.
        owner: Option<Name>,
    },
    /// CREATE TYPE.
    CreateType(Box<CreateType>),
    /// CREATE MACRO.
    CreateMacro(Box<CreateMacro>),
    /// CREATE FUNCTION.
    CreateFunction(Box<CreateFunction>),
    /// CREATE SECRET.
    CreateSecret(Box<CreateSecret>),
    /// CREATE WIDE TABLE.
    CreateWideTable(Box<CreateWideTable>),
    /// REFRESH WIDE TABLE.
    RefreshWideTable(Path),
    /// ALTER TABLE, ALTER VIEW.
    AlterTable(Box<AlterTable>),
    /// ALTER of anything else.
    AlterObject(Box<AlterObject>),
    /// ALTER QUERY 7 SET name = value.
    AlterQuery(Expr, Name, OptionValue),
    /// DROP.
    Drop(Box<Drop>),
    /// COMMENT ON.
    Comment(Comment),
    /// EXPLAIN.
    Explain {
        /// ANALYZE.
        analyze: bool,
        /// VERBOSE.
        verbose: bool,
        /// In brackets.
        options: Vec<SetOption>,
        /// What is explained.
        statement: Box<Statement>,
    },
    /// DESCRIBE and SUMMARIZE.
    Describe {
        /// SUMMARIZE.
        summarize: bool,
        /// What is described; absent for all tables.
        what: Option<Described>,
    },
    /// SHOW.
    Show(Show),
    /// PREPARE.
    Prepare {
        /// Its name.
        name: Name,
        /// Types of parameters.
        types: Vec<TypeName>,
        /// The statement.
        statement: Box<Statement>,
    },
    /// EXECUTE.
    Execute {
        /// Its name.
        name: Name,
        /// The values, with names where they have some.
        values: Vec<super::Argument>,
    },
    /// DEALLOCATE; absent for ALL.
    Deallocate(Option<Name>),
    /// DECLARE CURSOR.
    DeclareCursor(Box<DeclareCursor>),
    /// FETCH and MOVE.
    FetchCursor {
        /// MOVE: the rows are passed.
        moves: bool,
        /// Where it goes.
        motion: CursorMotion,
        /// The cursor.
        name: Name,
    },
    /// CLOSE; absent for ALL.
    CloseCursor(Option<Name>),
    /// DISCARD.
    Discard(Discarded),
    /// SET.
    Set(Set),
    /// RESET; absent for ALL.
    Reset {
        /// SESSION, LOCAL, GLOBAL.
        scope: Option<Scope>,
        /// The setting.
        name: Option<Path>,
    },
    /// RESET VARIABLE.
    ResetVariable(Name),
    /// PRAGMA name, PRAGMA name = value, PRAGMA name(values).
    Pragma {
        /// Its name.
        name: Name,
        /// `= value`.
        value: Option<OptionValue>,
        /// In brackets.
        arguments: Option<Vec<super::Argument>>,
    },
    /// CALL.
    Call {
        /// The procedure.
        name: Path,
        /// Its arguments.
        arguments: Vec<super::Argument>,
    },
    /// BEGIN, START TRANSACTION.
    Begin {
        /// Written as START.
        start: bool,
        /// Its modes.
        modes: Vec<TransactionMode>,
    },
    /// COMMIT, END.
    Commit {
        /// AND [NO] CHAIN.
        chain: Option<bool>,
    },
    /// ROLLBACK, ABORT.
    Rollback {
        /// AND [NO] CHAIN.
        chain: Option<bool>,
        /// TO savepoint.
        to: Option<Name>,
    },
    /// SAVEPOINT.
    Savepoint(Name),
    /// RELEASE.
    Release(Name),
    /// SET TRANSACTION (false) and SET SESSION CHARACTERISTICS (true).
    SetTransaction(bool, Vec<TransactionMode>),
    /// ATTACH.
    Attach {
        /// OR REPLACE, IF NOT EXISTS.
        if_there: IfThere,
        /// The file.
        path: Expr,
        /// AS.
        name: Option<Name>,
        /// In brackets.
        options: Vec<SetOption>,
    },
    /// DETACH.
    Detach {
        /// IF EXISTS.
        if_exists: bool,
        /// Which.
        name: Name,
    },
    /// USE.
    Use(Path),
    /// CHECKPOINT.
    Checkpoint(Option<Name>),
    /// CHECK DATABASE.
    CheckDatabase,
    /// BACKUP DATABASE TO.
    BackupDatabase(TextLiteral),
    /// EXPORT DATABASE.
    ExportDatabase(TextLiteral, Vec<SetOption>),
    /// IMPORT DATABASE.
    ImportDatabase(TextLiteral),
    /// ANALYZE, of tables and their columns.
    Analyze(Option<Path>, Vec<Name>),
    /// VACUUM.
    Vacuum {
        /// In brackets, or FULL and so on.
        options: Vec<SetOption>,
        /// Which table.
        table: Option<Path>,
        /// Which columns.
        columns: Vec<Name>,
    },
    /// LOCK TABLE.
    Lock {
        /// ONLY and the tables.
        tables: Vec<(bool, Path)>,
        /// The words between IN and MODE; none where nothing is said.
        mode: Vec<Name>,
        /// NOWAIT.
        nowait: bool,
    },
    /// PAUSE QUERY, RESUME QUERY, CANCEL QUERY.
    SteerQuery(SteerVerb, Expr),
    /// CREATE ROLE, GRANT, CREATE POLICY and their kin.
    Access(Box<super::AccessStatement>),
    /// A statement that others have and this engine does not.
    Unsupported(Unsupported),
}

/// A statement that others have and this engine does not, for an error that says what does the same here.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Unsupported {
    /// Its first words.
    pub words: Vec<Name>,
    /// All of it, as it is written.
    pub text: Box<str>,
}

/// What is done to a query that runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[expect(missing_docs, reason = "the words themselves")]
pub enum SteerVerb {
    Pause,
    Resume,
    Cancel,
}

/// What DESCRIBE is about.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum Described {
    /// A table.
    Table(Path),
    /// `'file.parquet'`.
    File(TextLiteral),
    /// A query or another statement.
    Statement(Box<Statement>),
}

/// SHOW.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum Show {
    /// Alone.
    Nothing,
    /// SHOW TABLES [FROM schema].
    Tables {
        /// ALL TABLES.
        all: bool,
        /// FROM.
        from: Option<Path>,
        /// LIKE.
        like: Option<TextLiteral>,
    },
    /// SHOW ALL.
    All,
    /// VIEWS, FUNCTIONS or COLUMNS with FROM or LIKE; without them it is a name like others.
    Listed {
        /// What is listed.
        what: Name,
        /// FROM.
        from: Option<Path>,
        /// LIKE.
        like: Option<TextLiteral>,
    },
    /// A setting, a table, or DATABASES and SCHEMAS: what stands there.
    Name(Path),
    /// `SHOW SELECT ...`, `SHOW (query)`.
    Query(Box<Statement>),
}

/// SESSION, LOCAL and GLOBAL.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[expect(missing_docs, reason = "the words themselves")]
pub enum Scope {
    Session,
    Local,
    Global,
}

/// SET.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum Set {
    /// `SET name = values`.
    Setting {
        /// SESSION, LOCAL, GLOBAL.
        scope: Option<Scope>,
        /// The setting.
        name: Path,
        /// One or more; empty for DEFAULT.
        values: Vec<OptionValue>,
    },
    /// `SET VARIABLE name = e`.
    Variable(Name, Expr),
    /// `SET TIME ZONE value`; absent for DEFAULT and LOCAL.
    TimeZone(Option<Scope>, Option<Expr>),
    /// `SET SCHEMA 'name'`.
    Schema(Expr),
    /// `SET ROLE name`, `SET SESSION AUTHORIZATION name`.
    Role {
        /// SESSION, LOCAL.
        scope: Option<Scope>,
        /// AUTHORIZATION.
        authorization: bool,
        /// The role; absent for NONE and DEFAULT.
        name: Option<Name>,
    },
}

/// A mode of a transaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[expect(missing_docs, reason = "the words themselves")]
pub enum TransactionMode {
    ReadUncommitted,
    ReadCommitted,
    RepeatableRead,
    Serializable,
    Snapshot,
    ReadOnly,
    ReadWrite,
    Deferrable,
    NotDeferrable,
}
