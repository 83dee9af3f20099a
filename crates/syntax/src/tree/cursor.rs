//! Cursors: DECLARE, FETCH, MOVE and CLOSE; DISCARD.

use super::{Expr, Name, Statement};

/// DECLARE name CURSOR FOR query.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct DeclareCursor {
    /// Its name.
    pub name: Name,
    /// BINARY.
    pub binary: bool,
    /// INSENSITIVE (true) or ASENSITIVE (false).
    pub insensitive: Option<bool>,
    /// SCROLL (true) or NO SCROLL (false).
    pub scroll: Option<bool>,
    /// WITH HOLD (true) or WITHOUT HOLD (false).
    pub hold: Option<bool>,
    /// The query.
    pub query: Box<Statement>,
}

/// Where FETCH and MOVE go. NEXT is FORWARD 1, FIRST is ABSOLUTE 1, and so on.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum CursorMotion {
    /// So many rows on; back where the number is negative.
    Forward(Expr),
    /// One row on.
    Next,
    /// All rows that are left.
    ForwardAll,
    /// So many rows back.
    Backward(Expr),
    /// One row back.
    Prior,
    /// All rows before, the nearest first.
    BackwardAll,
    /// To the row of that number, from the end where it is negative.
    Absolute(Expr),
    /// To the first row.
    First,
    /// To the last row.
    Last,
    /// To the row so many rows on.
    Relative(Expr),
}

/// What DISCARD forgets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[expect(missing_docs, reason = "the words themselves")]
pub enum Discarded {
    All,
    Plans,
    Sequences,
    Temporary,
}
