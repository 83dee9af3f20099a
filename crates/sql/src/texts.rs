//! Texts that come into a statement while it is planned: the queries of views, the bodies of macros.
//!
//! They live as long as the planning of the statement, so that its binder can hold on to their syntax trees.

use std::cell::{Cell, OnceCell};

use syntax::tree::{Expr, Query, Select, SelectItem, Statement};
use types::Result;

use crate::parse;

/// What a statement's binding makes and refers to as it does to the statement's own text.
#[derive(Default)]
pub(crate) struct Texts {
    texts: List<(String, Statement)>,
    exprs: List<Expr>,
    queries: List<Query>,
    selects: List<Select>,
    items: List<Vec<SelectItem>>,
}

/// The first chunk of a list has room for so many.
const FIRST_CHUNK: usize = 16;
/// Chunks of a list, each twice as large as the one before.
const CHUNKS: usize = 40;

/// A list that only grows: what is in it stays where it is.
struct List<T> {
    length: Cell<usize>,
    chunks: [OnceCell<Box<[OnceCell<T>]>>; CHUNKS],
}

impl<T> Default for List<T> {
    fn default() -> Self {
        List { length: Cell::new(0), chunks: [const { OnceCell::new() }; CHUNKS] }
    }
}

impl<T> List<T> {
    fn push(&self, value: T) -> &T {
        let at = self.length.get();
        self.length.set(at + 1);
        // The chunks before `chunk` have room for FIRST_CHUNK * (2^chunk - 1).
        let chunk = (at / FIRST_CHUNK + 1).ilog2() as usize;
        let room = FIRST_CHUNK << chunk;
        let places = self.chunks[chunk].get_or_init(|| (0..room).map(|_| OnceCell::new()).collect());
        places[at - (room - FIRST_CHUNK)].get_or_init(|| value)
    }
}

impl Texts {
    /// Parses a text that holds one statement, and keeps both.
    pub fn add(&self, text: String) -> Result<(&str, &Statement)> {
        let tree = parse::tree(&text)?;
        let (text, tree) = self.texts.push((text, tree));
        Ok((text, tree))
    }

    /// Keeps an expression that the text does not have in so many words; its spans are of the current text.
    pub fn keep_expr(&self, expr: Expr) -> &Expr {
        self.exprs.push(expr)
    }

    /// Keeps a query that the text does not have in so many words; its spans are of the current text.
    pub fn keep_query(&self, query: Query) -> &Query {
        self.queries.push(query)
    }

    /// Keeps a SELECT that the text does not have in so many words.
    pub fn keep_select(&self, select: Select) -> &Select {
        self.selects.push(select)
    }

    /// Keeps a select list that the text does not have in so many words.
    pub fn keep_items(&self, items: Vec<SelectItem>) -> &[SelectItem] {
        self.items.push(items)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_in_a_list_stays_where_it_is() {
        let list = List::<usize>::default();
        let kept: Vec<&usize> = (0..100_000).map(|value| list.push(value)).collect();
        assert!(kept.iter().enumerate().all(|(at, value)| at == **value));
    }
}
