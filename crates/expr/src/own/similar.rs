//! How alike two texts are.

use std::collections::HashSet;

use types::{Result, Value};

use super::{Arguments, Evaluate, invalid};

pub(super) fn named(name: &str) -> Option<Evaluate> {
    Some(match name {
        "damerau_levenshtein" => {
            |a| Ok(Value::I64(strsim::damerau_levenshtein(a.text(0)?, a.text(1)?) as i64))
        }
        "hamming" => |a| match strsim::hamming(a.text(0)?, a.text(1)?) {
            Ok(distance) => Ok(Value::I64(distance as i64)),
            Err(_) => Err(invalid("hamming: the texts must have the same length")),
        },
        "jaccard" => jaccard,
        "jaro_similarity" => |a| Ok(Value::F64(strsim::jaro(a.text(0)?, a.text(1)?))),
        "jaro_winkler_similarity" => |a| Ok(Value::F64(strsim::jaro_winkler(a.text(0)?, a.text(1)?))),
        _ => return None,
    })
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
