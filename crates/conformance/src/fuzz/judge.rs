//! When two results agree: as multisets of rows, or as lists where the query orders them totally; exact values
//! exactly, floats within 1e-9 relative.
//!
//! Every round of the fuzzer asks it: queries beside the reference, changes, rules on and off, and the reduction of a
//! case that differs.

use types::{Error, Type, Value};

/// The rows of a result, one value for each column.
pub type Rows = Vec<Vec<Value>>;
/// What a statement returned: its rows, or its error.
pub type Outcome = Result<Rows, Error>;

/// How two outcomes compare.
#[derive(Clone, Debug, PartialEq)]
pub enum Verdict {
    /// Equal rows, or errors of the same state.
    Same,
    /// One or both failed with an error of the data, which another order of evaluation may or may not meet.
    Tolerated,
    /// What differs, in words.
    Different(String),
    /// It ran too long, and the reference does not know how many rows it visits, so this tells nothing.
    Unknown,
}

/// Overflow, division by zero and their like: what is evaluated first, and whether at all, is the engine's choice.
fn depends_on_order(error: &Error) -> bool {
    error.state().code().starts_with("22")
}

/// Compares two outcomes. `ordered` compares the rows as lists, otherwise as multisets. `types` are those of the
/// result's columns.
pub fn compare(expected: &Outcome, actual: &Outcome, types: &[Type], ordered: bool) -> Verdict {
    match (expected, actual) {
        (Ok(expected), Ok(actual)) => match rows_differ(expected, actual, types, ordered) {
            None => Verdict::Same,
            Some(difference) => Verdict::Different(difference),
        },
        (Err(e), Err(a)) if e.state() == a.state() => Verdict::Same,
        (Err(e), _) if depends_on_order(e) => Verdict::Tolerated,
        (_, Err(a)) if depends_on_order(a) => Verdict::Tolerated,
        (Err(e), Ok(rows)) => Verdict::Different(format!("{} rows where {e} was expected", rows.len())),
        (Ok(rows), Err(a)) => Verdict::Different(format!("{a} where {} rows were expected", rows.len())),
        (Err(e), Err(a)) => Verdict::Different(format!("{a} where {e} was expected")),
    }
}

fn floats_agree(a: f64, b: f64, relative: f64) -> bool {
    if a.is_nan() || b.is_nan() || a.is_infinite() || b.is_infinite() {
        return a == b || (a.is_nan() && b.is_nan());
    }
    let difference = (a - b).abs();
    // Cancellation leaves nothing to be relative to.
    difference <= relative * a.abs().max(b.abs()) || difference <= relative
}

fn values_agree(a: &Value, b: &Value) -> bool {
    match (a, b) {
        (Value::Null, _) | (_, Value::Null) => a.is_null() && b.is_null(),
        (Value::F32(a), Value::F32(b)) => floats_agree(f64::from(*a), f64::from(*b), 1e-6),
        (Value::F64(a), Value::F64(b)) => floats_agree(*a, *b, 1e-9),
        _ => a.physical().is_some_and(|p| similar(p, b)) && a == b,
    }
}

/// Integers of any width are alike; nothing else is.
fn similar(kind: types::Physical, other: &Value) -> bool {
    use types::Physical as P;
    let whole = |p| matches!(p, P::I16 | P::I32 | P::I64 | P::I128);
    other.physical().is_some_and(|o| o == kind || (whole(o) && whole(kind)))
}

fn rows_agree(a: &[Value], b: &[Value]) -> bool {
    a.len() == b.len() && a.iter().zip(b).all(|(a, b)| values_agree(a, b))
}

/// A row as text, for reports.
pub fn show(row: &[Value], types: &[Type]) -> String {
    let cells: Vec<String> = row.iter().zip(types).map(|(v, t)| v.display(*t)).collect();
    format!("({})", cells.join(", "))
}

/// The rows in the order of the given columns.
fn sorted<'r>(rows: &'r Rows, positions: &[usize]) -> Vec<&'r Vec<Value>> {
    let mut sorted: Vec<&Vec<Value>> = rows.iter().collect();
    sorted.sort_by(|a, b| {
        let mut orders = positions.iter().map(|p| a[*p].total_cmp(&b[*p]));
        orders.find(|o| o.is_ne()).unwrap_or(std::cmp::Ordering::Equal)
    });
    sorted
}

/// The first difference, in words.
fn rows_differ(expected: &Rows, actual: &Rows, types: &[Type], ordered: bool) -> Option<String> {
    if expected.len() != actual.len() {
        return Some(format!("{} rows, expected {}", actual.len(), expected.len()));
    }
    if expected.iter().zip(actual).all(|(e, a)| rows_agree(e, a)) {
        return None;
    }
    // Exact columns first: floats that differ in the last bit must not change the order much.
    let mut positions: Vec<usize> = (0..types.len()).collect();
    positions.sort_by_key(|p| types[*p].is_float());
    let mut wanted = sorted(expected, &positions);
    for row in sorted(actual, &positions) {
        // Neighbours that floats have swapped are near each other.
        match wanted.iter().take(100).position(|w| rows_agree(w, row)) {
            Some(at) => drop(wanted.remove(at)),
            None => {
                let near = wanted.first().map_or(String::new(), |w| show(w, types));
                return Some(format!("{} where {near} was expected", show(row, types)));
            }
        }
    }
    // The same rows, but not in the order that was asked for.
    if ordered {
        let at = expected.iter().zip(actual).position(|(e, a)| !rows_agree(e, a))?;
        return Some(format!(
            "row {at} is {}, expected {}",
            show(&actual[at], types),
            show(&expected[at], types)
        ));
    }
    None
}

#[cfg(test)]
mod tests {
    use types::SqlState;

    use super::*;

    const TYPES: [Type; 2] = [Type::Integer, Type::Double];

    fn row(a: i32, b: f64) -> Vec<Value> {
        vec![Value::I32(a), Value::F64(b)]
    }

    /// Every kind of fault that a result can have must be seen.
    #[test]
    fn planted_faults_are_found() {
        let right: Rows = vec![row(1, 0.5), row(2, 1.5), row(2, 1.5)];
        let differs = |rows: Rows, ordered| {
            matches!(compare(&Ok(right.clone()), &Ok(rows), &TYPES, ordered), Verdict::Different(_))
        };
        assert!(!differs(right.clone(), true));
        assert!(!differs(vec![row(2, 1.5), row(1, 0.5), row(2, 1.5)], false));
        assert!(differs(vec![row(2, 1.5), row(1, 0.5), row(2, 1.5)], true), "order");
        assert!(!differs(vec![row(1, 0.5 + 1e-12), row(2, 1.5), row(2, 1.5)], true));
        assert!(differs(vec![row(1, 0.5), row(2, 1.5)], false), "a row is missing");
        assert!(differs(vec![row(1, 0.5), row(1, 0.5), row(2, 1.5)], false), "one copy too many");
        assert!(differs(vec![row(1, 0.5001), row(2, 1.5), row(2, 1.5)], false), "a float");
        assert!(differs(vec![vec![Value::Null, Value::F64(0.5)], row(2, 1.5), row(2, 1.5)], false), "a NULL");
        assert!(differs(vec![row(3, 0.5), row(2, 1.5), row(2, 1.5)], false), "a value");
    }

    #[test]
    fn errors_of_the_data_are_tolerated_and_others_are_not() {
        let division = || Err(Error::division_by_zero());
        let rows = || Ok(vec![row(1, 0.5)]);
        assert_eq!(compare(&rows(), &division(), &TYPES, false), Verdict::Tolerated);
        assert_eq!(compare(&division(), &rows(), &TYPES, false), Verdict::Tolerated);
        assert_eq!(compare(&division(), &division(), &TYPES, false), Verdict::Same);
        let internal = || Err(Error::new(SqlState::Internal, "broken"));
        assert!(matches!(compare(&rows(), &internal(), &TYPES, false), Verdict::Different(_)));
        assert!(matches!(compare(&internal(), &rows(), &TYPES, false), Verdict::Different(_)));
    }
}
