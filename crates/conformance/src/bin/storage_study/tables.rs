//! The tables of the study, made by SQL over two functions whose values depend on row and column alone.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::Int64Type;
use arrow_array::{ArrayRef, Int32Array, StringArray};
use engine::{ScalarFunction, Session, Type};

use crate::{Outcome, Study};

/// Greatest value of Narrow-U's columns.
pub const NARROW_MAX: i64 = 100_000_000;
const STRING_CHARACTERS: usize = 20;
const CHARACTERS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789 .";

/// The finaliser of SplitMix64 over row and column.
fn mixed(row: i64, column: i64) -> u64 {
    let mut z = (row as u64).wrapping_mul(0x9E37_79B9_7F4A_7C15)
        ^ (column as u64).wrapping_mul(0xD1B5_4A32_D192_ED03);
    z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    z ^ (z >> 31)
}

/// `uniform(row, column, greatest)`: an INTEGER from 1 to `greatest`. `letters(row, column)`: a text of 20
/// characters.
pub fn create_functions(session: &Session) -> Outcome<()> {
    let number = Type::BigInt;
    let uniform =
        ScalarFunction::new("uniform", vec![number, number, number], Type::Integer, |given, rows| {
            let [row, column, greatest] = [0, 1, 2].map(|at| given[at].as_primitive::<Int64Type>().values());
            let value = |at: usize| {
                // The upper bits, scaled: no division.
                let high = (u128::from(mixed(row[at], column[at])) * greatest[at] as u128) >> 64;
                high as i32 + 1
            };
            Ok(Arc::new((0..rows).map(value).collect::<Int32Array>()) as ArrayRef)
        });
    let letters = ScalarFunction::new("letters", vec![number, number], Type::Text, |given, rows| {
        let [row, column] = [0, 1].map(|at| given[at].as_primitive::<Int64Type>().values());
        let text = |at: usize| {
            let (low, high) = (mixed(row[at], column[at]), mixed(row[at], column[at] + 1000));
            (0..STRING_CHARACTERS)
                .map(|place| {
                    let bits = if place < 10 { low >> (6 * place) } else { high >> (6 * (place - 10)) };
                    CHARACTERS[(bits & 63) as usize] as char
                })
                .collect::<String>()
        };
        Ok(Arc::new((0..rows).map(|at| Some(text(at))).collect::<StringArray>()) as ArrayRef)
    });
    session.database().create_function(uniform, false)?;
    session.database().create_function(letters, false)?;
    Ok(())
}

/// The n-th column's name, from 0.
pub fn column(n: usize) -> String {
    format!("c{n}")
}

/// The tables of section 3.3.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Shape {
    /// 10 numbers up to 100,000,000.
    NarrowU,
    /// 10 numbers; the i-th up to 2^(2.7 i).
    NarrowE,
    /// 50 numbers; the i-th up to 2^(4 + 23/50 i).
    WideE,
    /// 10 texts of 20 characters.
    Strings,
}

impl Shape {
    /// The name in the study's figures.
    pub fn name(self) -> &'static str {
        match self {
            Shape::NarrowU => "narrow_u",
            Shape::NarrowE => "narrow_e",
            Shape::WideE => "wide_e",
            Shape::Strings => "strings",
        }
    }
    /// The number of columns.
    pub fn columns(self) -> usize {
        if self == Shape::WideE { 50 } else { 10 }
    }
    /// The number of rows; wide tables and texts have a fifth of the study's rows.
    pub fn rows(self, study: &Study) -> u64 {
        match self {
            Shape::NarrowU | Shape::NarrowE => study.rows,
            Shape::WideE | Shape::Strings => study.rows / 5,
        }
    }
    /// Greatest value of the n-th column, from 0.
    pub fn greatest(self, n: usize) -> i64 {
        let power = |exponent: f64| 2f64.powf(exponent).round() as i64;
        match self {
            Shape::NarrowU | Shape::Strings => NARROW_MAX,
            Shape::NarrowE => power(2.7 * (n + 1) as f64),
            Shape::WideE => power(4.0 + 23.0 / 50.0 * (n + 1) as f64),
        }
    }
    /// Bytes of a row without any coding.
    pub fn row_bytes(self) -> u64 {
        if self == Shape::Strings { 200 } else { 4 * self.columns() as u64 }
    }
    /// The query that computes the rows from row and column numbers.
    pub fn query(self, study: &Study) -> String {
        let one = |n: usize| match self {
            Shape::Strings => format!("letters(i, {n}) AS {}", column(n)),
            _ => format!("uniform(i, {n}, {}) AS {}", self.greatest(n), column(n)),
        };
        let columns: Vec<String> = (0..self.columns()).map(one).collect();
        format!("SELECT {} FROM range({}) AS r(i)", columns.join(", "), self.rows(study))
    }
    /// The condition that a share of the rows passes, on the n-th column.
    pub fn at_least(self, n: usize, share: f64) -> String {
        if self == Shape::Strings {
            // The first of 64 characters decides, and the second; in the order of bytes.
            let mut sorted = *CHARACTERS;
            sorted.sort_unstable();
            let place = ((1.0 - share) * 4096.0).round().clamp(0.0, 4095.0) as usize;
            let text: String = [sorted[place / 64] as char, sorted[place % 64] as char].iter().collect();
            return format!("{} >= '{text}'", column(n));
        }
        let greatest = self.greatest(n);
        let least = greatest - (greatest as f64 * share).round() as i64 + 1;
        format!("{} >= {least}", column(n))
    }
    /// Makes the table, and returns the milliseconds that took.
    pub fn create(self, study: &Study, table: &str, with: &str) -> Outcome<f64> {
        study.drop(table)?;
        study.run(&format!("CREATE TABLE {table} WITH ({with}) AS {}", self.query(study)))
    }
}
