//! Statements that change rows, sequences or the transaction, as inert data.

use types::Value;

use crate::statement::ObjectName;
use crate::{LogicalQuery, TableId};

/// What is done to one row; as a number, a column of `Modification::query`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RowAction {
    Nothing = 0,
    Insert = 1,
    Update = 2,
    Delete = 3,
}

impl RowAction {
    pub fn number(self) -> i16 {
        self as i16
    }
    pub fn from_number(number: i64) -> Option<RowAction> {
        Some(match number {
            0 => Self::Nothing,
            1 => Self::Insert,
            2 => Self::Update,
            3 => Self::Delete,
            _ => return None,
        })
    }
    pub fn as_value(self) -> Value {
        Value::I16(self.number())
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ModificationKind {
    Insert,
    Update,
    Delete,
    Merge,
}

/// ON CONFLICT: what counts as one.
#[derive(Clone, Debug, PartialEq, Eq)]
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
#[derive(Clone, Debug, PartialEq)]
pub struct Modification {
    pub name: ObjectName,
    pub query: LogicalQuery,
    pub change: RowChange,
}

/// What becomes of the rows that say so: the table they are about, and how they are read.
#[derive(Clone, Debug, PartialEq)]
pub struct RowChange {
    pub kind: ModificationKind,
    pub table: TableId,
    /// How many columns RETURNING gives; `None` without it.
    pub returning: Option<usize>,
    pub conflict: Option<Conflict>,
    /// UPDATE: the table's columns that may get other values; `None` where that may be all of them.
    pub assigned: Option<Vec<usize>>,
}

impl RowChange {
    /// Columns before the table's own: the action and the row.
    pub const LEADING: usize = 2;
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IsolationLevel {
    ReadUncommitted,
    ReadCommitted,
    RepeatableRead,
    Serializable,
}

/// What BEGIN and SET TRANSACTION say; `None` where they say nothing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TransactionModes {
    pub isolation: Option<IsolationLevel>,
    pub read_only: Option<bool>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TransactionCommand {
    /// `start`: written START TRANSACTION.
    Begin {
        modes: TransactionModes,
        start: bool,
    },
    Commit {
        chain: bool,
    },
    Rollback {
        chain: bool,
    },
    Savepoint {
        name: String,
    },
    Release {
        name: String,
    },
    RollbackTo {
        name: String,
    },
    /// SET TRANSACTION; with `session` the default of transactions to come.
    Set {
        modes: TransactionModes,
        session: bool,
    },
}

/// The numbers of CREATE and ALTER SEQUENCE; `None` where nothing is said, `Some(None)` for NO MINVALUE and its kin.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SequenceOptions {
    /// Its type's range: SMALLINT, INTEGER or BIGINT.
    pub range: Option<(i64, i64)>,
    pub increment: Option<i64>,
    pub min: Option<Option<i64>>,
    pub max: Option<Option<i64>>,
    pub start: Option<i64>,
    /// RESTART, and RESTART WITH.
    pub restart: Option<Option<i64>>,
    pub cycle: Option<bool>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CreateSequence {
    pub name: ObjectName,
    pub options: SequenceOptions,
    /// OWNED BY, as in [`AlterSequence`].
    pub owner: Option<Vec<String>>,
    pub temporary: bool,
    pub if_not_exists: bool,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AlterSequence {
    pub name: ObjectName,
    pub options: SequenceOptions,
    /// OWNED BY: the names of a column, its table before it, or of a table; none for NONE.
    pub owner: Option<Vec<String>>,
    pub rename: Option<String>,
    pub if_exists: bool,
}

/// A column that a sequence numbers: SERIAL, or GENERATED ... AS IDENTITY.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Identity {
    pub column: String,
    pub options: SequenceOptions,
    /// GENERATED ALWAYS: a statement gives no values of its own.
    pub always: bool,
}

/// Ends the default of a column that is GENERATED ALWAYS.
pub const ALWAYS: &str = " /* generated always */";
