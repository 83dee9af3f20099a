//! Cursors as statements: DECLARE, FETCH, MOVE and CLOSE; and DISCARD.

use crate::LogicalQuery;

/// A statement about a cursor.
#[derive(Clone, Debug, PartialEq)]
pub enum CursorCommand {
    /// DECLARE.
    Declare(Box<DeclaredCursor>),
    /// FETCH and MOVE.
    Fetch {
        /// The cursor.
        name: String,
        /// Where it goes.
        motion: CursorMotion,
        /// MOVE: the rows are passed.
        moves: bool,
    },
    /// CLOSE; `None` for all.
    Close(Option<String>),
}

/// A cursor and its query.
#[derive(Clone, Debug, PartialEq)]
pub struct DeclaredCursor {
    /// The cursor's name.
    pub name: String,
    /// The query, bound.
    pub query: LogicalQuery,
    /// The whole statement's text.
    pub text: String,
    /// BINARY, which says to a protocol in what form rows are sent.
    pub binary: bool,
    /// It goes back, too.
    pub scroll: bool,
    /// It outlives its transaction.
    pub hold: bool,
}

/// Where FETCH and MOVE go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CursorMotion {
    /// So many rows on, or back where negative; 0 is the row where the cursor is. `None`: all.
    Forward(Option<i64>),
    /// So many rows back, or on where negative. `None`: all.
    Backward(Option<i64>),
    /// To the row of that number, from the end where negative.
    Absolute(i64),
    /// To the row so many rows on.
    Relative(i64),
}

/// What DISCARD forgets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Discarded {
    /// All of it, and what else the session has set.
    All,
    /// Plans that are kept.
    Plans,
    /// What currval and lastval say.
    Sequences,
    /// Temporary tables.
    Temporary,
}
