//! Texts that come into a statement while it is planned: the queries of views, the bodies of macros.
//!
//! They live as long as the planning of the statement, so that its binder can hold on to their syntax trees.

use std::cell::OnceCell;

use types::Result;

use crate::parse::{self, Parsed};

/// A list that only grows: what is in it stays where it is.
#[derive(Default)]
pub(crate) struct Texts {
    first: OnceCell<Box<Node>>,
}

struct Node {
    text: String,
    parsed: OnceCell<Parsed>,
    next: OnceCell<Box<Node>>,
}

impl Texts {
    /// Parses a text that holds one statement, and keeps both.
    pub fn add(&self, text: String) -> Result<(&str, &Parsed)> {
        let parsed = parse::statement(&text)?;
        let node = Box::new(Node { text, parsed: OnceCell::from(parsed), next: OnceCell::new() });
        let mut place = &self.first;
        while let Some(taken) = place.get() {
            place = &taken.next;
        }
        let node = place.get_or_init(|| node);
        match node.parsed.get() {
            Some(parsed) => Ok((&node.text, parsed)),
            None => Err(types::Error::internal("a text without its tree")),
        }
    }
}
