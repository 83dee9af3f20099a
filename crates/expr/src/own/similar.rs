//! How alike two texts are.
//!
//! Nothing is kept between rows. Distances that hold each character of one text against each of the other's are bounded by
//! `PAIRS_MAX` and spend units for each comparison, so that a statement can be stopped in their midst. Declared in the list of
//! `own`.

use std::collections::HashSet;

use types::{Result, SqlState, Value, stop};

use super::declare::*;
use super::written::{Given, finds};
use super::{Arguments, invalid, refuse};

/// The functions of this kind.
pub(super) const FUNCTIONS: &[ScalarFunction] = &[
    own(
        "damerau_levenshtein",
        &[is(&[TEXT, TEXT], Type::BigInt)],
        page(
            "text",
            "damerau_levenshtein(a, b)",
            "As levenshtein, where two neighbours may also change places.",
            "damerau_levenshtein('abcd', 'abdc')",
            "1",
        ),
        |a| {
            compared(a, |x, y| {
                let characters = |text: &Text<'_>| text.0.chars().map(Character).collect::<Vec<_>>();
                let distance = strsim::generic_damerau_levenshtein(&characters(x), &characters(y));
                Value::I64(distance as i64)
            })
        },
    ),
    own(
        "levenshtein",
        &[is(&[TEXT, TEXT], Type::Integer)],
        page(
            "text",
            "levenshtein(a, b)",
            "How many characters have to be put in, taken out or changed to make one text of the other.",
            "levenshtein('kitten', 'sitting')",
            "3",
        ),
        |a| compared(a, |x, y| Value::I32(strsim::generic_levenshtein(x, y).min(i32::MAX as usize) as i32)),
    ),
    own(
        "hamming",
        &[is(&[TEXT, TEXT], Type::BigInt)],
        page(
            "text",
            "hamming(a, b)",
            "In how many places two texts of one length differ.",
            "hamming('duck', 'dock')",
            "1",
        ),
        |a| match strsim::hamming(a.text(0)?, a.text(1)?) {
            Ok(distance) => Ok(Value::I64(distance as i64)),
            Err(_) => Err(invalid("hamming: the texts must have the same length")),
        },
    ),
    finds!(
        F64,
        "jaccard",
        &[is(&[TEXT, TEXT], Type::Double)],
        page(
            "text",
            "jaccard(a, b)",
            "The share of characters that both texts have among those that either has.",
            "jaccard('duck', 'luck')",
            "0.6",
        ),
        jaccard,
    ),
    own(
        "jaro_similarity",
        &[is(&[TEXT, TEXT], Type::Double)],
        page(
            "text",
            "jaro_similarity(a, b)",
            "The Jaro similarity of two texts, from 0 to 1.",
            "round(jaro_similarity('duck', 'dock')::numeric, 4)",
            "0.8333",
        ),
        |a| compared(a, |x, y| Value::F64(strsim::generic_jaro(x, y))),
    ),
    own(
        "jaro_winkler_similarity",
        &[is(&[TEXT, TEXT], Type::Double)],
        page(
            "text",
            "jaro_winkler_similarity(a, b)",
            "The Jaro-Winkler similarity of two texts, from 0 to 1.",
            "round(jaro_winkler_similarity('duck', 'dock')::numeric, 4)",
            "0.8500",
        ),
        |a| compared(a, |x, y| Value::F64(strsim::generic_jaro_winkler(x, y))),
    ),
];

/// A text whose characters are gone through once for each character of another.
struct Text<'a>(&'a str);

impl<'t> IntoIterator for &Text<'t> {
    type Item = char;
    type IntoIter = std::str::Chars<'t>;
    fn into_iter(self) -> Self::IntoIter {
        stop::spend(self.0.len());
        self.0.chars()
    }
}

/// A character that is held against all of another text.
// Equality is that of the characters, as the hash is: it only counts the comparison, too.
#[expect(clippy::derived_hash_with_manual_eq)]
#[derive(Clone, Copy, Eq, Hash)]
struct Character(char);

impl PartialEq for Character {
    fn eq(&self, other: &Character) -> bool {
        stop::spend(8);
        self.0 == other.0
    }
}

/// Pairs of characters that one comparison may look at: some seconds of work.
const PAIRS_MAX: u64 = 1 << 33;

/// Compares texts each of whose characters is held against each of the other's.
fn compared(a: &Arguments<'_>, compare: impl FnOnce(&Text<'_>, &Text<'_>) -> Value) -> Result<Value> {
    let (one, other) = (a.text(0)?, a.text(1)?);
    if (one.len() as u64).saturating_mul(other.len() as u64) > PAIRS_MAX {
        let message = "the texts are too long to be compared character by character";
        return Err(refuse(SqlState::StatementTooComplex, message)
            .with_hint("compare their beginnings: left(text, 1000)"));
    }
    Ok(compare(&Text(one), &Text(other)))
}

/// The share of characters that both texts have among those that either has.
fn jaccard(a: &dyn Given) -> Result<f64> {
    let (one, other) = (a.words(0)?, a.words(1)?);
    if one.is_empty() || other.is_empty() {
        return Err(invalid("jaccard: a text is empty"));
    }
    let (both, either) = if one.is_ascii() && other.is_ascii() {
        // A bit for each character.
        let set = |text: &str| text.bytes().fold(0u128, |set, byte| set | 1 << byte);
        let (one, other) = (set(one), set(other));
        ((one & other).count_ones() as usize, (one | other).count_ones() as usize)
    } else {
        let set = |text: &str| text.chars().collect::<HashSet<char>>();
        let (one, other) = (set(one), set(other));
        (one.intersection(&other).count(), one.union(&other).count())
    };
    Ok(both as f64 / either as f64)
}
