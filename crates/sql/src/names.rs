//! Names as they stand in a statement, and how they match the names that exist.
//!
//! Files and other programs spell names as they like (`FlightNum`), while a statement folds what is not quoted to
//! lower case. So matching has two rounds: a name first means what is spelled exactly so; only when nothing is, and
//! only when it was not quoted, does it mean what differs in case alone. Two candidates of the second round are an
//! error that shows both (`Pick::several`). Results keep the spelling of what was matched, not of the statement.

use syntax::tree;
use types::{Error, Result, SqlState};

/// A name in a statement: folded to lower case unless it was quoted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Name {
    /// The name, in lower case unless `quoted`.
    pub text: String,
    /// Whether the name matches its exact spelling only.
    pub quoted: bool,
}

impl Name {
    /// The name that an identifier of a statement means.
    pub fn of(ident: &tree::Name) -> Self {
        Name { text: crate::words::folded(ident), quoted: ident.quoted }
    }

    /// The name of something that is known, which matches nothing else.
    pub fn exact(text: &str) -> Self {
        Name { text: text.to_owned(), quoted: true }
    }

    /// Whether `known` is spelled exactly like this name.
    pub fn is(&self, known: &str) -> bool {
        self.text == known
    }

    /// Whether the names differ in nothing but case, where that does not matter.
    pub fn resembles(&self, known: &str) -> bool {
        if self.quoted {
            return false;
        }
        if known.is_ascii() {
            return known.eq_ignore_ascii_case(&self.text);
        }
        known.to_lowercase() == self.text
    }

    /// Which of the names is meant, by position; `what` names the kind in an error.
    pub fn position<'k>(
        &self,
        known: impl Iterator<Item = &'k str> + Clone,
        what: &str,
    ) -> Result<Option<usize>> {
        if let Some(at) = known.clone().position(|k| self.is(k)) {
            return Ok(Some(at));
        }
        if self.quoted {
            return Ok(None);
        }
        let mut like = known.enumerate().filter(|(_, k)| self.resembles(k));
        match (like.next(), like.next()) {
            (None, _) => Ok(None),
            (Some((at, _)), None) => Ok(Some(at)),
            (Some((_, first)), Some((_, second))) => Err(several(what, &self.text, first, second)),
        }
    }
}

/// The error for a name that two others resemble.
pub(crate) fn several(what: &str, name: &str, first: &str, second: &str) -> Error {
    let state = if what == "column" { SqlState::AmbiguousColumn } else { SqlState::AmbiguousAlias };
    Error::new(state, format!("{what} name \"{name}\" is ambiguous: there are \"{first}\" and \"{second}\""))
        .with_hint(format!("write the one that is meant in double quotes: \"{first}\""))
}

#[cfg(test)]
mod tests {
    use super::*;
    use syntax::Span;

    #[test]
    fn case_counts_only_when_it_must() {
        let known = ["FlightNum", "origin", "Origin", "A", "a b", "Ü", "X", "x"];
        let name =
            |text: &str, quoted| Name::of(&tree::Name { text: text.into(), quoted, span: Span::default() });
        let plain = |text: &str| name(text, false).position(known.into_iter(), "column");
        let quoted = |text: &str| name(text, true).position(known.into_iter(), "column");
        assert_eq!(plain("flightnum"), Ok(Some(0)));
        assert_eq!(plain("FLIGHTNUM"), Ok(Some(0)));
        assert_eq!(plain("ORIGIN"), Ok(Some(1)), "the lower-case one comes first");
        assert_eq!(plain("ü"), Ok(Some(5)));
        assert_eq!(plain("X"), Ok(Some(7)));
        assert_eq!(quoted("X"), Ok(Some(6)));
        assert_eq!(quoted("flightnum"), Ok(None));
        assert_eq!(plain("b"), Ok(None));
        let both = ["FlightNum", "FLIGHTNUM"];
        let error = name("flightnum", false).position(both.into_iter(), "column").err();
        let message = error.map(|e| e.to_string()).unwrap_or_default();
        assert!(message.contains("FlightNum") && message.contains("FLIGHTNUM"), "{message}");
    }
}
