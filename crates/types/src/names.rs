//! "Did you mean": the known name nearest to a misspelt one.

/// Candidates that are looked at, at most, which bounds the time.
const CANDIDATES_MAX: usize = 10_000;

/// The candidate with the fewest edits to the name: at most a third of the name's length and at most four; case does
/// not count. A candidate equal to the name is skipped. `None` when nothing is near.
pub fn nearest<'a>(name: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let wanted: Vec<char> = name.to_lowercase().chars().take(64).collect();
    let allowed = (wanted.len() / 3).clamp(1, 4);
    candidates
        .into_iter()
        .take(CANDIDATES_MAX)
        .filter(|candidate| *candidate != name)
        .map(|c| {
            let given: Vec<char> = c.to_lowercase().chars().take(64).collect();
            (edits(&wanted, &given), std::cmp::Reverse(shared(&wanted, &given)), c)
        })
        // One letter for another says nothing.
        .filter(|(distance, _, c)| *distance <= allowed && *distance < wanted.len().max(c.chars().count()))
        .min_by_key(|(distance, shared, candidate)| (*distance, *shared, candidate.len()))
        .map(|(.., candidate)| candidate)
}

/// Letters at the beginning and at the end that both have: for `uper` they prefer `upper` to `user`.
fn shared(a: &[char], b: &[char]) -> usize {
    let begin = a.iter().zip(b).take_while(|(x, y)| x == y).count();
    let end = a.iter().rev().zip(b.iter().rev()).take_while(|(x, y)| x == y).count();
    begin + end
}

/// The hint `did you mean "..."?` for a name that was not found; `None` when no candidate is near.
pub fn did_you_mean<'a>(name: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<String> {
    nearest(name, candidates).map(|c| format!("did you mean \"{c}\"?"))
}

/// Insertions, deletions, substitutions and swaps of neighbours that make one of the other.
fn edits(a: &[char], b: &[char]) -> usize {
    let mut before: Vec<usize> = vec![0; b.len() + 1];
    let mut last: Vec<usize> = (0..=b.len()).collect();
    for i in 1..=a.len() {
        let mut row = vec![i; b.len() + 1];
        for j in 1..=b.len() {
            let substitute = last[j - 1] + usize::from(a[i - 1] != b[j - 1]);
            row[j] = substitute.min(last[j] + 1).min(row[j - 1] + 1);
            if i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] {
                row[j] = row[j].min(before[j - 2] + 1);
            }
        }
        before = std::mem::replace(&mut last, row);
    }
    last[b.len()]
}

/// What stands before the schema and the name in `in_schema`; no name holds it.
const SEPARATOR: char = '\0';

/// The catalog's name of a macro or type in a schema other than the default one; in the default schema the bare name
/// is used.
pub fn in_schema(schema: &str, name: &str) -> String {
    format!("{SEPARATOR}{schema}{SEPARATOR}{name}")
}

/// Splits a catalog name made by `in_schema`; the schema is `None` for a bare name, which is of the default schema.
pub fn schema_and_name(name: &str) -> (Option<&str>, &str) {
    let parts = name.strip_prefix(SEPARATOR).and_then(|rest| rest.split_once(SEPARATOR));
    parts.map_or((None, name), |(schema, name)| (Some(schema), name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn misspellings_find_their_name() {
        let names = ["lineitem", "orders", "part", "partsupp", "nation"];
        assert_eq!(nearest("lineitme", names), Some("lineitem"));
        assert_eq!(nearest("ORDER", names), Some("orders"));
        assert_eq!(nearest("prat", names), Some("part"));
        assert_eq!(nearest("customer", names), None);
        assert_eq!(nearest("", names), None);
        assert_eq!(nearest("uper", ["user", "upper"]), Some("upper"));
        assert_eq!(nearest("part", ["part"]), None);
        assert_eq!(nearest("l_quantiy", ["l_orderkey", "l_partkey", "l_quantity"]), Some("l_quantity"));
        assert_eq!(did_you_mean("nations", names).as_deref(), Some("did you mean \"nation\"?"));
    }
}
