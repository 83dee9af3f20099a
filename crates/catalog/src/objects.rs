//! What a catalog holds in addition to tables: views, macros and sequences. Views and macros are texts under a name.

use std::sync::atomic::AtomicI64;

/// A view: the text of its query. It does not hold on to what it uses: one whose table is gone says so when it is used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct View {
    /// Names of its first columns, where they were given.
    pub columns: Vec<String>,
    /// The SELECT, as it was written; bound anew by every query that uses the view.
    pub text: String,
    /// COMMENT ON VIEW.
    pub comment: Option<String>,
}

/// A macro: an expression, or with `table` a query, over its parameters.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Macro {
    /// Names of the parameters, in their order.
    pub parameters: Vec<String>,
    /// The expression or query, as it was written.
    pub text: String,
    /// A table macro, used in FROM.
    pub table: bool,
}

/// A source of numbers. Its definition belongs to snapshots; the numbers given are given for all of them, and stay
/// given when a transaction is rolled back.
#[derive(Debug)]
pub struct Sequence {
    /// The first number given, and the one that RESTART goes back to.
    pub start: i64,
    /// Added from number to number; negative for a falling sequence, never 0.
    pub increment: i64,
    /// The least number that may be given.
    pub minimum: i64,
    /// The greatest number that may be given.
    pub maximum: i64,
    /// CYCLE: goes on at the other end behind the last number, instead of failing.
    pub cycle: bool,
    /// Numbers before this one in the sequence's direction may have been given: after a crash it goes on here.
    pub reserved: i64,
    /// The next number; shared by all versions of the sequence.
    pub next: std::sync::Arc<AtomicI64>,
    /// Table and column with which it is dropped: those that it numbers, or what OWNED BY says. The column is
    /// [`WHOLE_TABLE`] where it goes with the table only.
    pub owner: Option<(crate::TableId, usize)>,
}

/// In the place of a column: no column in particular.
pub const WHOLE_TABLE: usize = u32::MAX as usize;

impl PartialEq for Sequence {
    fn eq(&self, other: &Self) -> bool {
        let parts = |s: &Self| (s.start, s.increment, s.minimum, s.maximum, s.cycle, s.reserved, s.owner);
        parts(self) == parts(other)
    }
}
