//! Reference answers of the benchmarks: reading them, and comparing a result with them.
//!
//! The file format and the rules of comparison are those of `tests/answers/README.md`: rows in order where the query
//! orders them, decimals equal within one unit of the reference's last digit, floats within 1e-9 relative.

use engine::ResultSet;
use types::{Type, Value};

/// The reference answer of one query.
pub struct Answer {
    /// The names of the columns.
    pub columns: Vec<String>,
    /// The rows as text, in the reference's order; `None` is NULL.
    pub rows: Vec<Vec<Option<String>>>,
}

/// Reads a tab-separated answer file: a heading, then rows; `\N` is NULL.
pub fn parse(text: &str) -> Answer {
    let mut lines = text.lines();
    let columns = lines.next().unwrap_or("").split('\t').map(str::to_owned).collect();
    let cell = |c: &str| {
        if c == "\\N" {
            None
        } else {
            Some(c.replace("\\t", "\t").replace("\\n", "\n").replace("\\\\", "\\"))
        }
    };
    Answer { columns, rows: lines.map(|l| l.split('\t').map(cell).collect()).collect() }
}

fn cells_agree(expected: Option<&str>, value: &Value, ty: Type) -> bool {
    let Some(expected) = expected else { return value.is_null() };
    if value.is_null() {
        return false;
    }
    let actual = value.display(ty);
    if !ty.is_numeric() {
        return expected.trim_end() == actual.trim_end();
    }
    if expected == actual {
        return true;
    }
    let (Ok(a), Ok(b)) = (expected.parse::<f64>(), actual.parse::<f64>()) else { return false };
    let difference = (a - b).abs();
    if difference <= 1e-9 * a.abs().max(b.abs()) {
        return true;
    }
    // A decimal quotient may be rounded at its last digit.
    let digits = |s: &str| s.split_once('.').map_or(0, |(_, f)| f.len());
    let scale = digits(expected).min(digits(&actual)) as i32;
    scale >= 4 && difference <= 1.0001 * 10f64.powi(-scale)
}

/// The first difference between a result and the reference, if any. Rows are compared in order; where that fails, as
/// multisets ordered by text, since ties may stand in any order.
pub fn first_difference(result: &ResultSet, answer: &Answer) -> Option<String> {
    let fields = result.schema().fields();
    if fields.len() != answer.columns.len() {
        return Some(format!("{} columns, expected {}", fields.len(), answer.columns.len()));
    }
    if result.rows() != answer.rows.len() {
        return Some(format!("{} rows, expected {}", result.rows(), answer.rows.len()));
    }
    let mut rows: Vec<Vec<Value>> = Vec::new();
    for batch in result.batches() {
        for row in 0..batch.rows {
            rows.push(batch.columns.iter().map(|c| c.value(row)).collect());
        }
    }
    let agree = |row: &[Value], expected: &[Option<String>]| {
        row.iter().zip(expected).zip(fields).all(|((v, e), f)| cells_agree(e.as_deref(), v, f.ty))
    };
    if rows.iter().zip(&answer.rows).all(|(r, e)| agree(r, e)) {
        return None;
    }
    let mut unmatched: Vec<&Vec<Option<String>>> = answer.rows.iter().collect();
    for (at, row) in rows.iter().enumerate() {
        // Ties are near each other, so the search is short.
        match unmatched.iter().take(2000).position(|e| agree(row, e)) {
            Some(found) => {
                unmatched.remove(found);
            }
            None => {
                let shown: Vec<String> = row.iter().zip(fields).map(|(v, f)| v.display(f.ty)).collect();
                return Some(format!("row {at} is {shown:?}, expected {:?}", answer.rows[at]));
            }
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn planted_faults_are_found() {
        let decimal = Type::Decimal { precision: 10, scale: 2 };
        assert!(cells_agree(Some("1.25"), &Value::I64(125), decimal));
        assert!(!cells_agree(Some("1.25"), &Value::I64(126), decimal));
        assert!(!cells_agree(Some("1.25"), &Value::Null, decimal));
        assert!(!cells_agree(None, &Value::I64(1), decimal));
        assert!(cells_agree(Some("0.1"), &Value::F64(0.1 + 1e-17), Type::Double));
        assert!(!cells_agree(Some("a"), &Value::text("b"), Type::Text));
    }
}
