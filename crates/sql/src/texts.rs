//! Texts that come into a statement while it is planned: the queries of views, the bodies of macros.
//!
//! They live as long as the planning of the statement, so that its binder can hold on to their syntax trees.

use std::cell::OnceCell;

use sqlparser::ast::{OnConflict, SetExpr};
use types::Result;

use crate::asides::Parsed;
use crate::parse;

/// What a statement's binding makes and refers to as it does to the statement's own text.
#[derive(Default)]
pub(crate) struct Texts {
    texts: List<(String, Parsed)>,
    conflicts: List<OnConflict>,
    parts: List<SetExpr>,
}

/// A list that only grows: what is in it stays where it is.
struct List<T> {
    first: OnceCell<Box<Node<T>>>,
}

struct Node<T> {
    value: T,
    next: OnceCell<Box<Node<T>>>,
}

impl<T> Default for List<T> {
    fn default() -> Self {
        List { first: OnceCell::new() }
    }
}

impl<T> List<T> {
    fn push(&self, value: T) -> &T {
        let mut place = &self.first;
        while let Some(taken) = place.get() {
            place = &taken.next;
        }
        &place.get_or_init(|| Box::new(Node { value, next: OnceCell::new() })).value
    }
}

impl Texts {
    /// Parses a text that holds one statement, and keeps both.
    pub fn add(&self, text: String) -> Result<(&str, &Parsed)> {
        let parsed = parse::statement(&text)?;
        let (text, parsed) = self.texts.push((text, parsed));
        Ok((text, parsed))
    }

    /// Keeps an ON CONFLICT that the text does not have in so many words.
    pub fn keep_conflict(&self, conflict: OnConflict) -> &OnConflict {
        self.conflicts.push(conflict)
    }

    /// Keeps a part of a query that the text does not have so.
    pub fn keep_part(&self, part: SetExpr) -> &SetExpr {
        self.parts.push(part)
    }
}
