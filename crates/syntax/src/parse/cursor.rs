//! DECLARE, FETCH, MOVE, CLOSE and DISCARD.

use super::{Parsed, Parser};
use crate::keyword::Keyword as K;
use crate::token::Kind;
use crate::tree::{CursorMotion, DeclareCursor, Discarded, StatementKind};

impl Parser<'_> {
    pub(crate) fn declare_cursor(&mut self) -> Parsed<StatementKind> {
        self.advance();
        let name = self.name("a name for the cursor")?;
        let (mut binary, mut insensitive, mut scroll) = (false, None, None);
        loop {
            let (here, word) = (self.here(), self.word());
            let twice = match word {
                K::BINARY => std::mem::replace(&mut binary, true),
                K::INSENSITIVE | K::ASENSITIVE => insensitive.replace(word == K::INSENSITIVE).is_some(),
                K::SCROLL => scroll.replace(true).is_some(),
                K::NO if self.word_at(1) == K::SCROLL => {
                    self.advance();
                    scroll.replace(false).is_some()
                }
                _ => break,
            };
            if twice {
                return Err(self.wrong("an option of a cursor that is said already, or its opposite", here));
            }
            self.advance();
        }
        self.expect(K::CURSOR)?;
        let hold = match self.word() {
            K::WITH => Some(true),
            K::WITHOUT => Some(false),
            _ => None,
        };
        if hold.is_some() {
            self.advance();
            self.expect(K::HOLD)?;
        }
        self.expect(K::FOR)?;
        let query = Box::new(self.statement()?);
        let cursor = DeclareCursor { name, binary, insensitive, scroll, hold, query };
        Ok(StatementKind::DeclareCursor(Box::new(cursor)))
    }

    /// FETCH and MOVE.
    pub(crate) fn fetch_cursor(&mut self) -> Parsed<StatementKind> {
        let moves = self.advance().keyword == K::MOVE;
        let motion = self.cursor_motion()?;
        if !self.eat(K::FROM) {
            self.eat(K::IN);
        }
        let name = self.name("a cursor's name")?;
        Ok(StatementKind::FetchCursor { moves, motion, name })
    }

    fn cursor_motion(&mut self) -> Parsed<CursorMotion> {
        // A cursor may be called like a direction.
        let alone = matches!(self.peek_at(1).kind, Kind::End | Kind::Semicolon);
        if alone && self.is_label_at(0) {
            return Ok(CursorMotion::Next);
        }
        Ok(match self.word() {
            K::NEXT => self.passed(CursorMotion::Next),
            K::PRIOR => self.passed(CursorMotion::Prior),
            K::FIRST => self.passed(CursorMotion::First),
            K::LAST => self.passed(CursorMotion::Last),
            K::ALL => self.passed(CursorMotion::ForwardAll),
            K::ABSOLUTE => {
                self.advance();
                CursorMotion::Absolute(self.signed_number()?)
            }
            K::RELATIVE => {
                self.advance();
                CursorMotion::Relative(self.signed_number()?)
            }
            K::FORWARD => {
                self.advance();
                match () {
                    () if self.eat(K::ALL) => CursorMotion::ForwardAll,
                    () if self.is_kind(Kind::Word) || self.is_kind(Kind::QuotedName) => CursorMotion::Next,
                    () => CursorMotion::Forward(self.signed_number()?),
                }
            }
            K::BACKWARD => {
                self.advance();
                match () {
                    () if self.eat(K::ALL) => CursorMotion::BackwardAll,
                    () if self.is_kind(Kind::Word) || self.is_kind(Kind::QuotedName) => CursorMotion::Prior,
                    () => CursorMotion::Backward(self.signed_number()?),
                }
            }
            K::FROM | K::IN => CursorMotion::Next,
            _ if self.is_kind(Kind::Word) || self.is_kind(Kind::QuotedName) => CursorMotion::Next,
            _ => CursorMotion::Forward(self.signed_number()?),
        })
    }

    fn passed(&mut self, motion: CursorMotion) -> CursorMotion {
        self.advance();
        motion
    }

    pub(crate) fn close_cursor(&mut self) -> Parsed<StatementKind> {
        self.advance();
        let all = self.eat(K::ALL);
        let name = if all { None } else { Some(self.name("a cursor's name or ALL")?) };
        Ok(StatementKind::CloseCursor(name))
    }

    pub(crate) fn discard(&mut self) -> Parsed<StatementKind> {
        self.advance();
        let what = match self.word() {
            K::ALL => Discarded::All,
            K::PLANS => Discarded::Plans,
            K::SEQUENCES => Discarded::Sequences,
            K::TEMP | K::TEMPORARY => Discarded::Temporary,
            _ => return Err(self.expected("ALL, PLANS, SEQUENCES or TEMP")),
        };
        self.advance();
        Ok(StatementKind::Discard(what))
    }
}
