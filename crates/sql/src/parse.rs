//! From a statement's text to its syntax tree, and from the parser's errors to ours.

use syntax::Fault;
use types::Result;
use types::stop::{self, Place};

use crate::secrets;
pub(crate) use crate::syntax_errors::{syntax_error_of, unexpected};

/// The syntax tree of a text that is one statement.
pub(crate) fn tree(text: &str) -> Result<syntax::tree::Statement> {
    syntax::parse_statement_while(text, &|| stop::check(Place::Parse).is_ok()).map_err(|error| {
        if error.fault == Fault::Stopped {
            return stop::stopped();
        }
        secrets::fault(text, &error)
            .or_else(|| crate::statement::fault(text, &error))
            .unwrap_or_else(|| syntax_error_of(text, &error))
    })
}
