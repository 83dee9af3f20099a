//! How alike two texts are.

use std::collections::HashSet;

use types::{Result, SqlState, Value, stop};

use super::{Arguments, Evaluate, invalid, refuse};

/// The code of one of these functions; `None` for any other name.
pub(super) fn named(name: &str) -> Option<Evaluate> {
    Some(match name {
        "damerau_levenshtein" => |a| {
            compared(a, |x, y| {
                let characters = |text: &Text<'_>| text.0.chars().map(Character).collect::<Vec<_>>();
                let distance = strsim::generic_damerau_levenshtein(&characters(x), &characters(y));
                Value::I64(distance as i64)
            })
        },
        "levenshtein" => |a| {
            compared(a, |x, y| Value::I32(strsim::generic_levenshtein(x, y).min(i32::MAX as usize) as i32))
        },
        "hamming" => |a| match strsim::hamming(a.text(0)?, a.text(1)?) {
            Ok(distance) => Ok(Value::I64(distance as i64)),
            Err(_) => Err(invalid("hamming: the texts must have the same length")),
        },
        "jaccard" => jaccard,
        "jaro_similarity" => |a| compared(a, |x, y| Value::F64(strsim::generic_jaro(x, y))),
        "jaro_winkler_similarity" => |a| compared(a, |x, y| Value::F64(strsim::generic_jaro_winkler(x, y))),
        _ => return None,
    })
}

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
fn jaccard(a: &Arguments<'_>) -> Result<Value> {
    let characters = |at: usize| Ok::<HashSet<char>, types::Error>(a.text(at)?.chars().collect());
    let (one, other) = (characters(0)?, characters(1)?);
    if one.is_empty() || other.is_empty() {
        return Err(invalid("jaccard: a text is empty"));
    }
    let (both, either) = (one.intersection(&other).count(), one.union(&other).count());
    Ok(Value::F64(both as f64 / either as f64))
}
