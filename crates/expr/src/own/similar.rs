//! How alike two texts are.

use std::collections::HashSet;

use types::{Result, SqlState, Value};

use super::{Arguments, Evaluate, invalid, refuse};

pub(super) fn named(name: &str) -> Option<Evaluate> {
    Some(match name {
        "damerau_levenshtein" => |a| compared(a, |x, y| Value::I64(strsim::damerau_levenshtein(x, y) as i64)),
        "levenshtein" => |a| {
            let distance = |x: &str, y: &str| strsim::levenshtein(x, y).min(i32::MAX as usize);
            compared(a, |x, y| Value::I32(distance(x, y) as i32))
        },
        "hamming" => |a| match strsim::hamming(a.text(0)?, a.text(1)?) {
            Ok(distance) => Ok(Value::I64(distance as i64)),
            Err(_) => Err(invalid("hamming: the texts must have the same length")),
        },
        "jaccard" => jaccard,
        "jaro_similarity" => |a| compared(a, |x, y| Value::F64(strsim::jaro(x, y))),
        "jaro_winkler_similarity" => |a| compared(a, |x, y| Value::F64(strsim::jaro_winkler(x, y))),
        _ => return None,
    })
}

/// Pairs of characters that one comparison may look at: some seconds of work, which nothing can interrupt.
const PAIRS_MAX: u64 = 1 << 33;

/// Compares texts each of whose characters is held against each of the other's.
fn compared(a: &Arguments<'_>, compare: impl FnOnce(&str, &str) -> Value) -> Result<Value> {
    let (one, other) = (a.text(0)?, a.text(1)?);
    if (one.len() as u64).saturating_mul(other.len() as u64) > PAIRS_MAX {
        let message = "the texts are too long to be compared character by character";
        return Err(refuse(SqlState::StatementTooComplex, message)
            .with_hint("compare their beginnings: left(text, 1000)"));
    }
    Ok(compare(one, other))
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
