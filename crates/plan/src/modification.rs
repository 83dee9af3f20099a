//! Statements that change rows, sequences or the transaction, as inert data.
//!
//! `sql` binds them, `engine` carries them out. A change of rows is a query whose rows each say what to do to one row
//! of the table (`Modification`), so UPDATE, DELETE, MERGE and INSERT ... ON CONFLICT are planned and run like any
//! query. Options that a statement leaves out are `None`; defaults are filled in by `engine`, which knows the state
//! before.

use serde::{Deserialize, Serialize};
use types::Value;

use crate::object_name::{IfExists, ObjectName};
use crate::{LogicalQuery, TableId};

/// What is done to one row; as a number, a column of `Modification::query`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum RowAction {
    /// The row stays as it is.
    Nothing = 0,
    /// The row is a new one.
    Insert = 1,
    /// The row changes.
    Update = 2,
    /// The row goes.
    Delete = 3,
}

impl RowAction {
    /// The number by which the query's first column names the action.
    pub fn number(self) -> i16 {
        self as i16
    }
    /// The action of a number; `None` when there is none.
    pub fn from_number(number: i64) -> Option<RowAction> {
        Some(match number {
            0 => Self::Nothing,
            1 => Self::Insert,
            2 => Self::Update,
            3 => Self::Delete,
            _ => return None,
        })
    }
    /// The action as a SMALLINT, the form that queries give it.
    pub fn as_value(self) -> Value {
        Value::I16(self.number())
    }
}

/// The statement that causes the change.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum ModificationKind {
    /// INSERT.
    Insert,
    /// UPDATE.
    Update,
    /// DELETE.
    Delete,
    /// MERGE.
    Merge,
}

/// ON CONFLICT: what counts as one.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Conflict {
    /// Keys of the table, by its columns: a new row that agrees on one of them with another new row conflicts with it.
    pub keys: Vec<Vec<usize>>,
    /// DO UPDATE: a second row for the same key is an error, which DO NOTHING passes over.
    pub update: bool,
}

/// A query that says what is to be done to rows of a table.
///
/// Its columns, in order: the action, a `RowAction` as SMALLINT; the row that it is done to, a BIGINT reference as
/// `row_reference` makes them, NULL for a row that is new; the table's columns as they shall be, each of its column's
/// type, and absent for DELETE; and the columns of RETURNING.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Modification {
    /// The table, as the statement names it.
    pub name: ObjectName,
    /// The query whose rows say what to do.
    pub query: LogicalQuery,
    /// How its rows are read and applied.
    pub change: RowChange,
}

/// What becomes of the rows that say so: the table they are about, and how they are read.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RowChange {
    /// The statement's kind.
    pub kind: ModificationKind,
    /// The table whose rows change.
    pub table: TableId,
    /// How many columns RETURNING gives; `None` without it.
    pub returning: Option<usize>,
    /// ON CONFLICT, when the statement has it.
    pub conflict: Option<Conflict>,
    /// UPDATE: the table's columns that may get other values; `None` where that may be all of them.
    pub assigned: Option<Vec<usize>>,
}

impl RowChange {
    /// Columns before the table's own: the action and the row.
    pub const LEADING: usize = 2;
}

/// The isolation levels that SQL can name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IsolationLevel {
    /// READ UNCOMMITTED, which is READ COMMITTED.
    ReadUncommitted,
    /// READ COMMITTED.
    ReadCommitted,
    /// REPEATABLE READ.
    RepeatableRead,
    /// SERIALIZABLE.
    Serializable,
}

/// What BEGIN and SET TRANSACTION say; `None` where they say nothing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TransactionModes {
    /// ISOLATION LEVEL.
    pub isolation: Option<IsolationLevel>,
    /// READ ONLY or READ WRITE.
    pub read_only: Option<bool>,
}

/// A statement about the session's transaction.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TransactionCommand {
    /// `start`: written START TRANSACTION.
    Begin {
        /// What BEGIN says of the transaction.
        modes: TransactionModes,
        /// Written START TRANSACTION.
        start: bool,
    },
    /// `chain`: AND CHAIN, a new transaction begins at once.
    Commit {
        /// AND CHAIN.
        chain: bool,
    },
    /// `chain`: AND CHAIN, a new transaction begins at once.
    Rollback {
        /// AND CHAIN.
        chain: bool,
    },
    /// SAVEPOINT.
    Savepoint {
        /// The savepoint's name.
        name: String,
    },
    /// RELEASE SAVEPOINT.
    Release {
        /// The savepoint's name.
        name: String,
    },
    /// ROLLBACK TO SAVEPOINT; the transaction goes on.
    RollbackTo {
        /// The savepoint's name.
        name: String,
    },
    /// LOCK TABLE in a mode that nobody can be kept out by: there is nothing to do.
    Lock,
    /// SET TRANSACTION; with `session` the default of transactions to come.
    Set {
        /// The modes that are set.
        modes: TransactionModes,
        /// Of transactions to come.
        session: bool,
    },
}

/// The numbers of CREATE and ALTER SEQUENCE; `None` where nothing is said, `Some(None)` for NO MINVALUE and its kin.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SequenceOptions {
    /// Its type's range: SMALLINT, INTEGER or BIGINT.
    pub range: Option<(i64, i64)>,
    /// INCREMENT BY.
    pub increment: Option<i64>,
    /// MINVALUE.
    pub min: Option<Option<i64>>,
    /// MAXVALUE.
    pub max: Option<Option<i64>>,
    /// START WITH.
    pub start: Option<i64>,
    /// RESTART, and RESTART WITH.
    pub restart: Option<Option<i64>>,
    /// CYCLE or NO CYCLE.
    pub cycle: Option<bool>,
}

/// CREATE SEQUENCE.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CreateSequence {
    /// The new sequence.
    pub name: ObjectName,
    /// The numbers given; the rest has defaults.
    pub options: SequenceOptions,
    /// OWNED BY, as in [`AlterSequence`].
    pub owner: Option<Vec<String>>,
    /// TEMPORARY: of this session alone.
    pub temporary: bool,
    /// OR REPLACE, IF NOT EXISTS.
    pub if_exists: IfExists,
}

/// ALTER SEQUENCE.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AlterSequence {
    /// The sequence to change.
    pub name: ObjectName,
    /// The numbers given; the rest stays.
    pub options: SequenceOptions,
    /// OWNED BY: the names of a column, its table before it, or of a table; none for NONE.
    pub owner: Option<Vec<String>>,
    /// RENAME TO.
    pub rename: Option<String>,
    /// IF EXISTS.
    pub if_exists: bool,
}

/// A column that a sequence numbers: SERIAL, or GENERATED ... AS IDENTITY.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Identity {
    /// The numbered column.
    pub column: String,
    /// The sequence's options.
    pub options: SequenceOptions,
    /// GENERATED ALWAYS: a statement gives no values of its own.
    pub always: bool,
}

/// Ends the default of a column that is GENERATED ALWAYS.
pub const ALWAYS: &str = " /* generated always */";
