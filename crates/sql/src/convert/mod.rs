//! From the syntax tree of a statement (`syntax::tree`) to the tree that the binder reads.
//!
//! The grammar is the crate `syntax`'s alone. The binder still reads the nodes of `sqlparser`, whose parser is not
//! used; what those have no place for is kept in `Parsed`, by the place of the node that it belongs to. Each folder
//! of the binder that reads `syntax::tree` itself makes a part of this module needless.
//!
//! Places: a span of bytes becomes a `Location` in `place::LINE_OF_OFFSETS` whose column is the offset plus one.

mod alter;
mod call;
mod calls;
mod column;
mod copy;
mod create;
mod data_type;
mod drop;
mod expr;
mod from;
mod join;
mod literal;
mod merge;
mod modify;
mod nested;
mod operator;
mod option;
mod pivot;
mod query;
mod sample;
mod select;
mod session;
mod special;
mod star;
mod statement;

use std::cell::RefCell;

use sqlparser::ast::{Ident, ObjectName, ObjectNamePart};
use sqlparser::tokenizer::{Location, Span as OldSpan};
use syntax::Span;
use syntax::tree::{Name, Path, Statement};
use types::{Error, Result};

use crate::asides::Parsed;
use crate::place;

/// Converts the nodes of one text.
pub(crate) struct Converter<'t> {
    text: &'t str,
    asides: RefCell<Asides>,
}

/// What has no place in the binder's tree.
#[derive(Default)]
pub(crate) struct Asides {
    /// The parts that occur once in a statement.
    pub parsed: AsidesOfStatement,
    /// Frame exclusions, by the place of the function or of the window's name.
    pub exclusions: Vec<(Location, plan::Exclusion)>,
    /// USING SAMPLE clauses, by the place of their SELECT.
    pub samples: Vec<(Location, crate::asides::SampleClause)>,
    /// SEARCH and CYCLE clauses, by the place of the WITH query's name.
    pub marks: Vec<crate::asides::Marks>,
    /// Places of MERGE clauses that do nothing.
    pub nothing: Vec<Location>,
}

/// The asides that a statement has at most once.
#[derive(Default)]
pub(crate) struct AsidesOfStatement {
    /// The names in brackets of CREATE TABLE ... AS.
    pub column_names: Vec<Ident>,
    /// The options of COPY ... TO, names in lower case.
    pub copy_options: Vec<(String, String)>,
    /// SUMMARIZE, which the binder's tree has as DESCRIBE.
    pub summarize: bool,
    /// ALTER VIEW ... RENAME, which the binder's tree has as ALTER TABLE.
    pub alter_view: bool,
    /// The WHERE of ALTER TABLE ... SET, as the text of a DELETE.
    pub alter_condition: Option<String>,
    /// The OVERRIDING clause of an INSERT or MERGE.
    pub overriding: crate::asides::Overriding,
    /// INSERT ... BY NAME or BY POSITION.
    pub insert_by: crate::asides::InsertBy,
    /// PARTITION BY of CREATE TABLE.
    pub partitioning: Option<crate::asides::PartitionClause>,
}

/// The statement in the binder's form.
pub(crate) fn statement(text: &str, tree: &Statement) -> Result<Parsed> {
    let converter = Converter { text, asides: RefCell::default() };
    let statement = converter.statement(tree)?;
    let Asides { parsed, exclusions, samples, marks, nothing } = converter.asides.into_inner();
    Ok(Parsed {
        statement,
        column_names: parsed.column_names,
        exclusions,
        copy_options: parsed.copy_options,
        samples,
        marks,
        summarize: parsed.summarize,
        alter_view: parsed.alter_view,
        alter_condition: parsed.alter_condition,
        nothing,
        overriding: parsed.overriding,
        insert_by: parsed.insert_by,
        begins: None,
        partitioning: parsed.partitioning,
        kept: crate::statement::kept(tree),
    })
}

/// A type in the binder's form.
pub(crate) fn data_type(text: &str, tree: &syntax::tree::TypeName) -> Result<sqlparser::ast::DataType> {
    Converter { text, asides: RefCell::default() }.data_type(tree)
}

/// The place of a byte.
pub(crate) fn location(offset: u32) -> Location {
    Location { line: place::LINE_OF_OFFSETS, column: u64::from(offset) + 1 }
}

/// A span of bytes.
pub(crate) fn span(span: Span) -> OldSpan {
    OldSpan { start: location(span.start), end: location(span.end) }
}

/// A name.
pub(crate) fn ident(name: &Name) -> Ident {
    Ident { value: name.text.to_string(), quote_style: name.quoted.then_some('"'), span: span(name.span) }
}

/// A name of one part that the text does not have.
pub(crate) fn made(name: &str, at: Span) -> Ident {
    Ident { value: name.to_owned(), quote_style: None, span: span(at) }
}

/// A path.
pub(crate) fn object_name(path: &Path) -> ObjectName {
    ObjectName(path.names.iter().map(|name| ObjectNamePart::Identifier(ident(name))).collect())
}

impl Converter<'_> {
    /// The text of a span.
    fn text_of(&self, span: Span) -> &str {
        span.of(self.text)
    }
    /// An error at a place.
    fn at(&self, error: Error, span: Span) -> Error {
        let offset = (span.start as usize).min(self.text.len());
        error.at(place::at_offset(self.text, offset))
    }
    /// What this engine does not have.
    fn unsupported(&self, what: impl std::fmt::Display, span: Span) -> Error {
        self.at(Error::unsupported(format!("{what} is not supported")), span)
    }
}
