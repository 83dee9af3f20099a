//! Scalar functions of our own: each is declared once, with what it takes, what it gives, its code and its page.
//!
//! Binding finds a call's signature here and listings its page; evaluation finds its code. The declarations stand
//! beside the code (`own`). Functions in hot paths have kernels and a place in `plan::Function` instead.

mod declared;

use crate::own;
pub use declared::{Gives, Page, ScalarFunction, Signature, Takes};

/// Every function.
pub fn all() -> impl Iterator<Item = &'static ScalarFunction> {
    own::TABLES.iter().copied().flatten()
}

/// The function of that name.
pub fn named(name: &str) -> Option<&'static ScalarFunction> {
    all().find(|function| function.name == name)
}

/// What the function of that name takes and gives, in order of preference; nothing for a name that is none's.
pub fn signatures(name: &str) -> &'static [Signature] {
    named(name).map_or(&[], |function| function.signatures)
}

/// The names that a text can call.
pub fn names() -> impl Iterator<Item = &'static str> {
    all().filter(|function| function.is_callable()).map(|function| function.name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_function_is_declared_once_and_whole() {
        let mut names: Vec<&str> = all().map(|function| function.name).collect();
        names.sort_unstable();
        assert!(names.windows(2).all(|pair| pair[0] != pair[1]), "declared twice: {names:?}");
        for function in all() {
            assert!(!function.signatures.is_empty(), "{} has no signature", function.name);
            let operator = !function.name.bytes().any(|b| b.is_ascii_alphanumeric());
            assert_eq!(
                function.page.is_some(),
                function.is_callable() && !operator,
                "the page of {}",
                function.name
            );
        }
    }
}
