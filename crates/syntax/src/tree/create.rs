//! Definitions: CREATE, ALTER and DROP.
//!
//! Made by `parse::create`, `parse::table_def` and `parse::alter`. Everything the grammar allows has a place here,
//! supported or not, with its span: the binder says what is refused.

use super::{
    Argument, Expr, Name, OptionValue, OrderItem, Path, Query, SetOption, Statement, TextLiteral, TypeName,
};
use crate::Span;

/// What CREATE says of something that is there already.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum IfThere {
    /// An error.
    Error,
    /// OR REPLACE.
    Replace,
    /// IF NOT EXISTS.
    Keep,
}

/// CREATE TABLE.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct CreateTable {
    /// OR REPLACE, IF NOT EXISTS.
    pub if_there: IfThere,
    /// TEMPORARY.
    pub temporary: bool,
    /// UNLOGGED.
    pub unlogged: bool,
    /// The table.
    pub name: Path,
    /// Columns, constraints and LIKE.
    pub elements: Vec<TableElement>,
    /// Names alone in brackets before AS.
    pub names: Vec<Name>,
    /// PARTITION BY.
    pub partition: Option<PartitionBy>,
    /// WITH (...), and options behind the bracket.
    pub options: Vec<SetOption>,
    /// ON COMMIT.
    pub on_commit: Option<OnCommit>,
    /// AS.
    pub query: Option<Box<Statement>>,
    /// WITH DATA (true), WITH NO DATA (false).
    pub with_data: Option<bool>,
    /// Where it stands.
    pub span: Span,
}

/// ON COMMIT.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[expect(missing_docs, reason = "the words themselves")]
pub enum OnCommit {
    Drop,
    DeleteRows,
    PreserveRows,
}

/// What stands in the brackets of CREATE TABLE.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum TableElement {
    /// A column.
    Column(ColumnDef),
    /// A constraint of the table.
    Constraint(Constraint),
    /// `LIKE table INCLUDING ...`.
    Like(Path, Vec<(bool, Name)>),
}

/// A column's definition.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct ColumnDef {
    /// Its name.
    pub name: Name,
    /// Its type; absent where it is that of its generating expression.
    pub ty: Option<TypeName>,
    /// What is demanded of it, in the order of the text.
    pub clauses: Vec<ColumnClause>,
    /// Where it stands.
    pub span: Span,
}

/// A clause of a column.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct ColumnClause {
    /// CONSTRAINT name.
    pub name: Option<Name>,
    /// What it demands.
    pub kind: ColumnClauseKind,
    /// Where it stands.
    pub span: Span,
}

/// What a clause of a column demands.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum ColumnClauseKind {
    /// NULL.
    Null,
    /// NOT NULL.
    NotNull,
    /// DEFAULT.
    Default(Expr),
    /// PRIMARY KEY.
    PrimaryKey(Timing),
    /// UNIQUE.
    Unique {
        /// NULLS DISTINCT (true), NULLS NOT DISTINCT (false).
        nulls_distinct: Option<bool>,
        /// When it is checked.
        timing: Timing,
    },
    /// CHECK.
    Check(Expr),
    /// REFERENCES.
    References(References),
    /// COLLATE.
    Collate(Path),
    /// `GENERATED ALWAYS AS (e) STORED`, `AS (e)`.
    Generated {
        /// The value.
        value: Expr,
        /// STORED (true), VIRTUAL (false).
        stored: Option<bool>,
    },
    /// GENERATED ... AS IDENTITY.
    Identity {
        /// ALWAYS.
        always: bool,
        /// The sequence's options.
        options: Vec<SequenceOption>,
    },
    /// AUTO_INCREMENT.
    AutoIncrement,
    /// `USING COMPRESSION name`, `COMPRESSION name`.
    Compression(Name),
    /// COMMENT 'text'.
    Comment(TextLiteral),
}

/// DEFERRABLE and INITIALLY.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Timing {
    /// DEFERRABLE (true), NOT DEFERRABLE (false).
    pub deferrable: Option<bool>,
    /// INITIALLY DEFERRED (true), INITIALLY IMMEDIATE (false).
    pub deferred: Option<bool>,
}

/// REFERENCES.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct References {
    /// The table.
    pub table: Path,
    /// Its columns.
    pub columns: Vec<Name>,
    /// MATCH.
    pub matching: Option<Name>,
    /// ON DELETE.
    pub on_delete: Option<ReferenceAction>,
    /// ON UPDATE.
    pub on_update: Option<ReferenceAction>,
    /// When it is checked.
    pub timing: Timing,
}

/// What happens to rows that refer to one that goes.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[expect(missing_docs, reason = "the words themselves")]
pub enum ReferenceAction {
    NoAction,
    Restrict,
    Cascade,
    SetNull(Vec<Name>),
    SetDefault(Vec<Name>),
}

/// A constraint of a table.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Constraint {
    /// Its name.
    pub name: Option<Name>,
    /// What it demands.
    pub kind: ConstraintKind,
    /// When it is checked.
    pub timing: Timing,
    /// NOT VALID.
    pub not_valid: bool,
    /// Where it stands.
    pub span: Span,
}

/// What a constraint of a table demands.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum ConstraintKind {
    /// PRIMARY KEY.
    PrimaryKey(Vec<Name>),
    /// UNIQUE.
    Unique {
        /// NULLS DISTINCT (true), NULLS NOT DISTINCT (false).
        nulls_distinct: Option<bool>,
        /// The columns.
        columns: Vec<Name>,
    },
    /// CHECK, and NO INHERIT behind it.
    Check(Expr, bool),
    /// FOREIGN KEY.
    ForeignKey(Vec<Name>, References),
}

/// PARTITION BY of CREATE TABLE.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum PartitionBy {
    /// `HASH (column) PARTITIONS 8`.
    Hash {
        /// The columns.
        columns: Vec<Name>,
        /// How many.
        partitions: Expr,
    },
    /// `RANGE (column) (PARTITION name VALUES LESS THAN (value), ...)`.
    Range {
        /// The columns.
        columns: Vec<Name>,
        /// The partitions; a bound that is absent is MAXVALUE.
        partitions: Vec<(Name, Option<Expr>)>,
    },
}

/// CREATE VIEW.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct CreateView {
    /// OR REPLACE, IF NOT EXISTS.
    pub if_there: IfThere,
    /// TEMPORARY.
    pub temporary: bool,
    /// MATERIALIZED.
    pub materialized: bool,
    /// RECURSIVE.
    pub recursive: bool,
    /// The view.
    pub name: Path,
    /// Names of its columns.
    pub columns: Vec<Name>,
    /// WITH (...).
    pub options: Vec<SetOption>,
    /// The query.
    pub query: Box<Query>,
    /// Where the query stands, with brackets around it.
    pub query_span: Span,
    /// WITH [LOCAL | CASCADED] CHECK OPTION.
    pub check_option: bool,
    /// Where it stands.
    pub span: Span,
}

/// CREATE INDEX.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct CreateIndex {
    /// IF NOT EXISTS, OR REPLACE.
    pub if_there: IfThere,
    /// UNIQUE.
    pub unique: bool,
    /// CONCURRENTLY.
    pub concurrently: bool,
    /// Its name.
    pub name: Option<Path>,
    /// The table.
    pub table: Path,
    /// USING.
    pub method: Option<Name>,
    /// The columns.
    pub columns: Vec<OrderItem>,
    /// INCLUDE.
    pub include: Vec<Name>,
    /// NULLS DISTINCT (true), NULLS NOT DISTINCT (false).
    pub nulls_distinct: Option<bool>,
    /// WITH (...).
    pub options: Vec<SetOption>,
    /// WHERE.
    pub condition: Option<Expr>,
}

/// An option of a sequence.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[expect(missing_docs, reason = "the words themselves")]
pub enum SequenceOption {
    As(TypeName),
    Increment(Expr),
    Min(Option<Expr>),
    Max(Option<Expr>),
    Start(Expr),
    Restart(Option<Expr>),
    Cache(Expr),
    Cycle(bool),
    /// OWNED BY; absent for NONE.
    OwnedBy(Option<Path>),
    Name(Path),
}

/// CREATE TYPE.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct CreateType {
    /// OR REPLACE, IF NOT EXISTS.
    pub if_there: IfThere,
    /// TEMPORARY.
    pub temporary: bool,
    /// Its name.
    pub name: Path,
    /// What it is.
    pub kind: CreateTypeKind,
}

/// What a new type is.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum CreateTypeKind {
    /// AS ENUM (texts).
    Enum(Vec<TextLiteral>),
    /// AS ENUM (query).
    EnumOf(Box<Query>),
    /// AS another type.
    Alias(TypeName),
    /// `AS (a INTEGER, b TEXT)`.
    Composite(Vec<(Name, TypeName)>),
}

/// CREATE MACRO, and CREATE FUNCTION in the same form.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct CreateMacro {
    /// OR REPLACE, IF NOT EXISTS.
    pub if_there: IfThere,
    /// TEMPORARY.
    pub temporary: bool,
    /// Written as FUNCTION.
    pub function: bool,
    /// Its name.
    pub name: Path,
    /// Its forms.
    pub forms: Vec<MacroForm>,
}

/// One form of a macro.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct MacroForm {
    /// Its parameters.
    pub parameters: Vec<MacroParameter>,
    /// What it stands for.
    pub body: MacroBody,
    /// Where that stands, with brackets around it.
    pub body_span: Span,
}

/// A parameter of a macro.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct MacroParameter {
    /// Which way its value goes.
    pub mode: ParameterMode,
    /// Its name; empty where a type stands alone.
    pub name: Name,
    /// Its type.
    pub ty: Option<TypeName>,
    /// What it is where it is not given.
    pub default: Option<Expr>,
}

/// Which way the value of a parameter goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[expect(missing_docs, reason = "the words themselves")]
pub enum ParameterMode {
    /// IN, or no word.
    In,
    Out,
    InOut,
    Variadic,
}

/// What a macro stands for.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum MacroBody {
    /// A value.
    Expr(Expr),
    /// A table.
    Table(Box<Query>),
}

/// CREATE FUNCTION as PostgreSQL has it.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct CreateFunction {
    /// OR REPLACE.
    pub if_there: IfThere,
    /// TEMPORARY.
    pub temporary: bool,
    /// Its name.
    pub name: Path,
    /// Its parameters.
    pub parameters: Vec<MacroParameter>,
    /// RETURNS.
    pub returns: Option<FunctionReturns>,
    /// LANGUAGE, IMMUTABLE and so on, in their order.
    pub clauses: Vec<SetOption>,
    /// AS 'text', or RETURN e.
    pub body: Option<FunctionBody>,
}

/// What a function returns.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum FunctionReturns {
    /// A value, or several of it.
    Type {
        /// SETOF.
        set: bool,
        /// The type.
        ty: TypeName,
    },
    /// TABLE (...).
    Table(Vec<(Name, TypeName)>),
}

/// A function's body.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum FunctionBody {
    /// AS 'text'.
    Text(TextLiteral),
    /// RETURN e.
    Return(Expr),
}

/// CREATE SECRET.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct CreateSecret {
    /// OR REPLACE, IF NOT EXISTS.
    pub if_there: IfThere,
    /// PERSISTENT (true), TEMPORARY (false).
    pub persistent: Option<bool>,
    /// Its name.
    pub name: Option<Name>,
    /// IN storage.
    pub storage: Option<Name>,
    /// What it holds.
    pub options: Vec<SetOption>,
    /// From where what is secret begins in the text.
    pub span: Span,
}

/// CREATE WIDE TABLE.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct CreateWideTable {
    /// OR REPLACE, IF NOT EXISTS.
    pub if_there: IfThere,
    /// Its name.
    pub name: Path,
    /// What it is made of.
    pub source: WideSource,
    /// WITH (...).
    pub options: Vec<SetOption>,
}

/// What a wide table is made of.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum WideSource {
    /// A fact table and what it refers to, or the tables in brackets.
    Tables(Vec<Path>, bool),
    /// SCHEMA s; in brackets or not.
    Schema(Name, bool),
}

/// DROP.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Drop {
    /// Of what kind.
    pub kind: ObjectKind,
    /// IF EXISTS.
    pub if_exists: bool,
    /// What is dropped, and for functions their parameters' types.
    pub names: Vec<(Path, Option<Vec<TypeName>>)>,
    /// CASCADE (true), RESTRICT (false).
    pub cascade: Option<bool>,
    /// CONCURRENTLY.
    pub concurrently: bool,
    /// PERSISTENT (true), TEMPORARY (false), of a secret.
    pub persistent: Option<bool>,
    /// ON table, of triggers and policies, which are refused.
    pub on: Option<Path>,
}

/// The kinds of objects.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[expect(missing_docs, reason = "the words themselves")]
pub enum ObjectKind {
    Table,
    WideTable,
    View,
    MaterializedView,
    Index,
    Sequence,
    Schema,
    Type,
    Macro,
    MacroTable,
    Function,
    Secret,
    Column,
    Constraint,
    Database,
    Role,
    Trigger,
    Domain,
    Policy,
}

/// ALTER TABLE and ALTER VIEW.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct AlterTable {
    /// Written as ALTER VIEW.
    pub view: bool,
    /// IF EXISTS.
    pub if_exists: bool,
    /// ONLY.
    pub only: bool,
    /// The table.
    pub name: Path,
    /// What is changed.
    pub changes: Vec<TableChange>,
    /// Where it stands.
    pub span: Span,
}

/// A change of a table.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum TableChange {
    /// ADD [COLUMN]; a path of several names is a field of a struct.
    AddColumn {
        /// IF NOT EXISTS.
        if_not_exists: bool,
        /// The struct that a field is added to.
        within: Vec<Name>,
        /// The column.
        column: ColumnDef,
    },
    /// ADD CONSTRAINT.
    AddConstraint(Constraint),
    /// DROP [COLUMN].
    DropColumn {
        /// IF EXISTS.
        if_exists: bool,
        /// The column, or a field of it.
        name: Path,
        /// CASCADE (true), RESTRICT (false).
        cascade: Option<bool>,
    },
    /// DROP CONSTRAINT.
    DropConstraint {
        /// IF EXISTS.
        if_exists: bool,
        /// Its name.
        name: Name,
        /// CASCADE (true), RESTRICT (false).
        cascade: Option<bool>,
    },
    /// RENAME TO.
    Rename(Path),
    /// RENAME [COLUMN] a TO b.
    RenameColumn(Path, Name),
    /// RENAME CONSTRAINT a TO b.
    RenameConstraint(Name, Name),
    /// ALTER [COLUMN] c ....
    AlterColumn(Name, ColumnChange),
    /// SET SCHEMA.
    SetSchema(Name),
    /// SET (...), with a condition which rows it is done to.
    SetOptions(Vec<SetOption>, Option<Expr>),
    /// RESET (...).
    ResetOptions(Vec<Name>),
    /// SET PARTITIONED BY, SET SORTED BY: words and expressions.
    SetSorted(Vec<OrderItem>),
    /// VALIDATE CONSTRAINT.
    ValidateConstraint(Name),
    /// OWNER TO.
    OwnerTo(Name),
    /// ENABLE and DISABLE TRIGGER and so on, refused by name: the words.
    Other(Vec<Name>),
}

/// A change of a column.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum ColumnChange {
    /// [SET DATA] TYPE t [USING e]; without a type it is that of the expression.
    Type {
        /// SET DATA stood before it.
        set_data: bool,
        /// The type.
        ty: Option<TypeName>,
        /// COLLATE.
        collate: Option<Path>,
        /// USING.
        using: Option<Expr>,
    },
    /// SET DEFAULT.
    SetDefault(Expr),
    /// DROP DEFAULT.
    DropDefault,
    /// SET NOT NULL.
    SetNotNull,
    /// DROP NOT NULL.
    DropNotNull,
    /// ADD GENERATED ... AS IDENTITY.
    AddIdentity {
        /// ALWAYS.
        always: bool,
        /// The sequence's options.
        options: Vec<SequenceOption>,
    },
    /// DROP IDENTITY.
    DropIdentity {
        /// IF EXISTS.
        if_exists: bool,
    },
    /// DROP EXPRESSION.
    DropExpression {
        /// IF EXISTS.
        if_exists: bool,
    },
    /// SET STATISTICS n.
    Statistics(Expr),
}

/// ALTER SEQUENCE, ALTER SCHEMA, ALTER TYPE, ALTER INDEX.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct AlterObject {
    /// Of what kind.
    pub kind: ObjectKind,
    /// IF EXISTS.
    pub if_exists: bool,
    /// Which.
    pub name: Path,
    /// What is changed.
    pub change: ObjectChange,
}

/// A change of an object that is no table.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum ObjectChange {
    /// RENAME TO.
    Rename(Name),
    /// SET SCHEMA.
    SetSchema(Name),
    /// OWNER TO.
    OwnerTo(Name),
    /// Options of a sequence.
    Sequence(Vec<SequenceOption>),
    /// ADD VALUE [IF NOT EXISTS] 'a' [BEFORE | AFTER 'b'].
    AddValue {
        /// IF NOT EXISTS.
        if_not_exists: bool,
        /// The new value.
        value: TextLiteral,
        /// Before (true) or after another.
        place: Option<(bool, TextLiteral)>,
    },
    /// RENAME VALUE.
    RenameValue(TextLiteral, TextLiteral),
    /// SET name = value, of a role or a query.
    Set(Name, OptionValue),
    /// RESET name; absent for ALL.
    Reset(Option<Name>),
}

/// COMMENT ON.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Comment {
    /// On what.
    pub kind: ObjectKind,
    /// IF EXISTS.
    pub if_exists: bool,
    /// Which.
    pub name: Path,
    /// The text; absent for NULL.
    pub text: Option<TextLiteral>,
    /// The arguments' types of a function.
    pub arguments: Vec<Argument>,
}
