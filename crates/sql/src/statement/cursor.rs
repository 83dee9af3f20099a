//! DECLARE, FETCH, MOVE, CLOSE and DISCARD.

use plan::Statement;
use plan::cursor::{self, CursorCommand, DeclaredCursor};
use syntax::tree::{CursorMotion, DeclareCursor, Discarded, Expr as Ast, Name};
use types::cast::cast_value;
use types::{Error, Result, SqlState, Type, Value};

use super::Context;
use crate::bind::folded;

impl<'a> Context<'a> {
    /// DECLARE. Every cursor is insensitive to later changes; without SCROLL it only goes on.
    pub(super) fn declare_cursor(&self, declare: &'a DeclareCursor) -> Result<Statement> {
        let DeclareCursor { name, binary, insensitive: _, scroll, hold, query } = declare;
        let bound = match self.plan(query)? {
            Statement::Query(bound) => bound,
            Statement::ChangingQuery(_) => {
                let message = "DECLARE CURSOR must not contain data-modifying statements in WITH";
                return Err(self.at(Error::unsupported(message), query.span));
            }
            _ => {
                let message = "a cursor is declared for a query";
                return Err(self.at(Error::new(SqlState::SyntaxError, message), query.span));
            }
        };
        Ok(Statement::Cursor(CursorCommand::Declare(Box::new(DeclaredCursor {
            name: folded(name),
            query: bound,
            text: self.text.to_owned(),
            binary: *binary,
            scroll: *scroll == Some(true),
            hold: *hold == Some(true),
        }))))
    }

    /// FETCH and MOVE.
    pub(super) fn fetch_cursor(
        &self,
        moves: bool,
        motion: &'a CursorMotion,
        name: &Name,
    ) -> Result<Statement> {
        let rows = |count: &'a Ast| self.row_count(count);
        let motion = match motion {
            CursorMotion::Forward(count) => cursor::CursorMotion::Forward(Some(rows(count)?)),
            CursorMotion::Next => cursor::CursorMotion::Forward(Some(1)),
            CursorMotion::ForwardAll => cursor::CursorMotion::Forward(None),
            CursorMotion::Backward(count) => cursor::CursorMotion::Backward(Some(rows(count)?)),
            CursorMotion::Prior => cursor::CursorMotion::Backward(Some(1)),
            CursorMotion::BackwardAll => cursor::CursorMotion::Backward(None),
            CursorMotion::Absolute(row) => cursor::CursorMotion::Absolute(rows(row)?),
            CursorMotion::First => cursor::CursorMotion::Absolute(1),
            CursorMotion::Last => cursor::CursorMotion::Absolute(-1),
            CursorMotion::Relative(count) => cursor::CursorMotion::Relative(rows(count)?),
        };
        Ok(Statement::Cursor(CursorCommand::Fetch { name: folded(name), motion, moves }))
    }

    /// A number of rows, which is a constant.
    fn row_count(&self, count: &'a Ast) -> Result<i64> {
        let (value, ty) = self.binder().constant(count).map_err(|error| self.at(error, count.span))?;
        match cast_value(&value, ty, Type::BigInt) {
            Ok(Value::I64(rows)) if ty.is_integer() || ty.is_text() => Ok(rows),
            _ => {
                let message = "a whole number of rows is expected";
                Err(self.at(Error::new(SqlState::SyntaxError, message), count.span))
            }
        }
    }

    /// CLOSE.
    pub(super) fn close_cursor(&self, name: Option<&Name>) -> Statement {
        Statement::Cursor(CursorCommand::Close(name.map(folded)))
    }

    /// DISCARD.
    pub(super) fn discard(&self, what: Discarded) -> Statement {
        Statement::Discard(match what {
            Discarded::All => cursor::Discarded::All,
            Discarded::Plans => cursor::Discarded::Plans,
            Discarded::Sequences => cursor::Discarded::Sequences,
            Discarded::Temporary => cursor::Discarded::Temporary,
        })
    }
}
