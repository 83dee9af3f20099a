//! DECLARE, FETCH and MOVE as text.

use super::{Print, put, word_if};
use crate::tree::{CursorMotion, DeclareCursor};

impl Print for DeclareCursor {
    fn print(&self, out: &mut String) {
        let DeclareCursor { name, binary, insensitive, scroll, hold, query } = self;
        put!(out, "DECLARE ", name);
        word_if(out, *binary, "BINARY");
        word_if(out, *insensitive == Some(true), "INSENSITIVE");
        word_if(out, *insensitive == Some(false), "ASENSITIVE");
        word_if(out, *scroll == Some(true), "SCROLL");
        word_if(out, *scroll == Some(false), "NO SCROLL");
        out.push_str(" CURSOR");
        word_if(out, *hold == Some(true), "WITH HOLD");
        word_if(out, *hold == Some(false), "WITHOUT HOLD");
        put!(out, " FOR ", query);
    }
}

impl Print for CursorMotion {
    fn print(&self, out: &mut String) {
        match self {
            CursorMotion::Forward(rows) => put!(out, "FORWARD ", rows),
            CursorMotion::Next => out.push_str("NEXT"),
            CursorMotion::ForwardAll => out.push_str("FORWARD ALL"),
            CursorMotion::Backward(rows) => put!(out, "BACKWARD ", rows),
            CursorMotion::Prior => out.push_str("PRIOR"),
            CursorMotion::BackwardAll => out.push_str("BACKWARD ALL"),
            CursorMotion::Absolute(row) => put!(out, "ABSOLUTE ", row),
            CursorMotion::First => out.push_str("FIRST"),
            CursorMotion::Last => out.push_str("LAST"),
            CursorMotion::Relative(rows) => put!(out, "RELATIVE ", rows),
        }
    }
}
