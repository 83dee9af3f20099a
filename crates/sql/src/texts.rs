//! Texts that come into a statement while it is planned: the queries of views, the bodies of macros.
//!
//! They live as long as the planning of the statement, so that its binder can hold on to their syntax trees.

use std::cell::OnceCell;

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
