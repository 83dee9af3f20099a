//! The syntax tree: what a text says, nothing resolved.
//!
//! Every node that an error may point at has a span. Chains of binary operators, of set operations and of joins are
//! lists, so that the depth of a tree is that of its brackets, which is limited.

mod access;
mod create;
mod cursor;
mod expr;
mod modify;
mod query;
mod statement;
mod types;
pub mod walk;

pub use access::*;
pub use create::*;
pub use cursor::*;
pub use expr::*;
pub use modify::*;
pub use query::*;
pub use statement::*;
pub use types::*;

use crate::Span;

/// A name as it is written; unquoted ones keep their case, and the binder folds them.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Name {
    /// The name without its quotes, doubled quotes and escapes resolved.
    pub text: Box<str>,
    /// Whether it was quoted.
    pub quoted: bool,
    /// Where it stands.
    pub span: Span,
}

/// Names with dots between them: `table`, `schema.table`, `database.schema.table`, `table.column.field`.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Path {
    /// At least one.
    pub names: Vec<Name>,
}

impl Path {
    /// From the first name to the last one.
    pub fn span(&self) -> Span {
        let ends = self.names.first().zip(self.names.last());
        ends.map(|(first, last)| first.span.to(last.span)).unwrap_or_default()
    }
    /// The last name.
    pub fn last(&self) -> Option<&Name> {
        self.names.last()
    }
    /// The name, where there is only one.
    pub fn single(&self) -> Option<&Name> {
        match self.names.as_slice() {
            [name] => Some(name),
            _ => None,
        }
    }
}

/// `name = value`, `name value`, `name => value` in the brackets of an option list. What is known by which name is up to
/// the statement.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct SetOption {
    /// The option's name.
    pub name: Name,
    /// Absent where the name stands alone.
    pub value: Option<OptionValue>,
}

/// The value of an option or a setting.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum OptionValue {
    /// A bare word: `csv`, `on`, `DEFAULT`.
    Word(Name),
    /// Any expression.
    Expr(Expr),
    /// `(a, b)`, also with names: `(a = 1, b = 2)`.
    List(Vec<SetOption>),
    /// `*`.
    Star(Span),
    /// `(a DESC, b NULLS FIRST)`, where an option is an order.
    Order(Vec<OrderItem>),
}

impl OptionValue {
    /// Where it stands; a list from its first element to its last one.
    pub fn span(&self) -> Span {
        match self {
            OptionValue::Word(name) => name.span,
            OptionValue::Expr(value) => value.span,
            OptionValue::Star(span) => *span,
            OptionValue::Order(items) => {
                let ends = items.first().zip(items.last());
                ends.map(|(first, last)| first.span.to(last.span)).unwrap_or_default()
            }
            OptionValue::List(entries) => {
                let ends = entries.first().zip(entries.last());
                ends.map(|(first, last)| first.span().to(last.span())).unwrap_or_default()
            }
        }
    }
}

impl SetOption {
    /// From its name to the end of its value.
    pub fn span(&self) -> Span {
        match &self.value {
            Some(value) => self.name.span.to(value.span()),
            None => self.name.span,
        }
    }
}
