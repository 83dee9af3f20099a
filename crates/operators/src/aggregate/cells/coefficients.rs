//! What a form comes to in each cell: numbers to multiply the sums of codes with, and proofs that nothing overflows.
//!
//! A row's value in a cell is `constant + factor0 * column0 + factor1 * column1 + ...`, so the sum over the cell's
//! rows is `constant * rows + factor0 * sum(column0) + ...`. A column is a line over its codes, `base + step * code`,
//! which moves into constants and factors. Each operation of the expression is looked at in each cell with the ends
//! of its columns: if some row could leave the operation's type, there are no coefficients, and rows are computed one
//! by one, which tells whether one does.

use types::Value;
use vector::Vector;

use super::form::{Form, fits};

/// A summed column of a block: its line over the codes, and the greatest magnitude of a value.
#[derive(Clone, Copy, Debug)]
pub(super) struct ColumnLine {
    /// The value of code 0.
    pub base: i64,
    /// The difference between the values of neighbouring codes.
    pub step: i64,
    /// The greatest absolute value in the column.
    pub magnitude: u128,
}

/// How the sums of codes become the sum of an argument, cell by cell.
#[derive(Debug)]
pub(super) struct Coefficients {
    /// Column and the factor of its codes' sum.
    pub terms: Vec<(usize, Vec<i64>)>,
    /// The factor of the count; empty when it is 0 everywhere.
    pub constant: Vec<i64>,
    /// Cells whose rows have no value; empty when there are none.
    pub missing: Vec<bool>,
    /// No value's magnitude is greater.
    pub magnitude: u128,
}

impl Coefficients {
    /// The sum of a key's rows, from their counts and the sums of their codes, cell by cell; modulo 2^64.
    pub fn narrow_sum<'a>(&self, counts: &[u64], sums: impl Fn(usize) -> &'a [u64]) -> i64 {
        let constant = simd::cells::dot(&self.constant, counts);
        let terms = self.terms.iter().map(|(column, factors)| simd::cells::dot(factors, sums(*column)));
        terms.fold(constant, i64::wrapping_add)
    }

    /// As `narrow_sum`, exact: a window's sums have at most 50 bits, and cells are at most 2^12.
    pub fn sum<'a>(&self, counts: &[u64], sums: impl Fn(usize) -> &'a [u64]) -> i128 {
        let dot = |factors: &[i64], sums: &[u64]| -> i128 {
            factors.iter().zip(sums).map(|(factor, sum)| i128::from(*factor) * i128::from(*sum)).sum()
        };
        let terms = self.terms.iter().map(|(column, factors)| dot(factors, sums(*column)));
        dot(&self.constant, counts) + terms.sum::<i128>()
    }

    /// How many of a key's rows have no value.
    pub fn rows_missing(&self, counts: &[u64]) -> u64 {
        self.missing.iter().zip(counts).filter(|(missing, _)| **missing).map(|(_, count)| count).sum()
    }
}

/// A form in each cell.
struct Linear {
    factors: Vec<Option<Vec<i128>>>,
    constant: Vec<i128>,
    null: Vec<bool>,
}

/// The cells of a batch, and the columns that are summed in them.
pub(super) struct Cells<'a> {
    /// The number of cells.
    pub cells: usize,
    /// The results of the program over the cells.
    pub values: &'a [Vector],
    /// The summed columns, by the column numbers of the form.
    pub columns: &'a [ColumnLine],
}

impl Cells<'_> {
    /// `None` when a row's value might not fit its type, or coefficients do not fit 64 bits.
    pub fn coefficients(&self, form: &Form) -> Option<Coefficients> {
        let linear = self.linear(form)?;
        let magnitude = self.magnitude(&linear)?;
        let mut constant = linear.constant;
        let mut terms = vec![];
        for (column, factors) in linear.factors.iter().enumerate() {
            let Some(factors) = factors else { continue };
            let ColumnLine { base, step, .. } = self.columns[column];
            for ((constant, factor), null) in constant.iter_mut().zip(factors).zip(&linear.null) {
                if !null {
                    *constant = constant.checked_add(factor.checked_mul(i128::from(base))?)?;
                }
            }
            let of_codes = |(factor, null): (&i128, &bool)| match null {
                true => Some(0),
                false => i64::try_from(factor.checked_mul(i128::from(step))?).ok(),
            };
            terms.push((column, factors.iter().zip(&linear.null).map(of_codes).collect::<Option<_>>()?));
        }
        let narrow =
            |(constant, null): (&i128, &bool)| if *null { Some(0) } else { i64::try_from(*constant).ok() };
        let mut constant = constant.iter().zip(&linear.null).map(narrow).collect::<Option<Vec<i64>>>()?;
        if constant.iter().all(|c| *c == 0) {
            constant.clear();
        }
        let missing = if linear.null.contains(&true) { linear.null } else { vec![] };
        Some(Coefficients { terms, constant, missing, magnitude })
    }

    /// The greatest magnitude of a row's value, in any cell.
    fn magnitude(&self, linear: &Linear) -> Option<u128> {
        let mut greatest = 0;
        for cell in (0..self.cells).filter(|cell| !linear.null[*cell]) {
            let mut magnitude = linear.constant[cell].unsigned_abs();
            for (factors, column) in linear.factors.iter().zip(self.columns) {
                if let Some(factors) = factors {
                    let term = factors[cell].unsigned_abs().checked_mul(column.magnitude)?;
                    magnitude = magnitude.checked_add(term)?;
                }
            }
            greatest = greatest.max(magnitude);
        }
        Some(greatest)
    }

    fn linear(&self, form: &Form) -> Option<Linear> {
        let (linear, ty) = match form {
            Form::Cell(at) => return self.of_cells(&self.values[*at]),
            Form::Column(column) => {
                let mut factors = vec![None; self.columns.len()];
                factors[*column] = Some(vec![1; self.cells]);
                return Some(Linear {
                    factors,
                    constant: vec![0; self.cells],
                    null: vec![false; self.cells],
                });
            }
            Form::Product(a, b, ty) => {
                let (a, b) = (self.linear(a)?, self.linear(b)?);
                // The side with columns, and the one without.
                let (a, b) = if b.factors.iter().any(Option::is_some) { (b, a) } else { (a, b) };
                (a.times(&b.constant, &b.null)?, *ty)
            }
            Form::Sum(a, b, ty) => (self.linear(a)?.plus(&self.linear(b)?)?, *ty),
            Form::Difference(a, b, ty) => {
                let b = self.linear(b)?.times(&vec![-1; self.cells], &[])?;
                (self.linear(a)?.plus(&b)?, *ty)
            }
            Form::Negated(input, ty) => (self.linear(input)?.times(&vec![-1; self.cells], &[])?, *ty),
            Form::Rescaled(input, digits, ty) => {
                let factor = types::decimal::power_of_ten(*digits);
                (self.linear(input)?.times(&vec![factor; self.cells], &[])?, *ty)
            }
            Form::Case(branches, otherwise, ty) => {
                let mut chosen = self.linear(otherwise)?;
                for (when, then) in branches.iter().rev() {
                    chosen.replace(&self.linear(then)?, &self.values[*when]);
                }
                (chosen, *ty)
            }
        };
        fits(ty, self.magnitude(&linear)?).then_some(linear)
    }

    fn of_cells(&self, values: &Vector) -> Option<Linear> {
        let mut constant = Vec::with_capacity(self.cells);
        let mut null = Vec::with_capacity(self.cells);
        for cell in 0..self.cells {
            let value = values.value(cell);
            null.push(value.is_null());
            constant.push(if value.is_null() { 0 } else { value.as_i128()? });
        }
        Some(Linear { factors: vec![None; self.columns.len()], constant, null })
    }
}

impl Linear {
    /// Times a number of each cell, which is NULL where `null` says so.
    fn times(mut self, numbers: &[i128], null: &[bool]) -> Option<Linear> {
        for values in self.factors.iter_mut().flatten().chain([&mut self.constant]) {
            for (value, number) in values.iter_mut().zip(numbers) {
                *value = value.checked_mul(*number)?;
            }
        }
        self.null.iter_mut().zip(null).for_each(|(a, b)| *a |= b);
        Some(self)
    }

    fn plus(mut self, other: &Linear) -> Option<Linear> {
        let add = |values: &mut [i128], others: &[i128]| {
            for (value, other) in values.iter_mut().zip(others) {
                *value = value.checked_add(*other)?;
            }
            Some(())
        };
        add(&mut self.constant, &other.constant)?;
        for (factors, others) in self.factors.iter_mut().zip(&other.factors) {
            let Some(others) = others else { continue };
            match factors {
                Some(factors) => add(factors, others)?,
                None => *factors = Some(others.clone()),
            }
        }
        self.null.iter_mut().zip(&other.null).for_each(|(a, b)| *a |= b);
        Some(self)
    }

    /// Becomes the other in the cells where the condition is TRUE.
    fn replace(&mut self, other: &Linear, condition: &Vector) {
        let cells = self.constant.len();
        for (factors, others) in self.factors.iter_mut().zip(&other.factors) {
            if factors.is_none() && others.is_some() {
                *factors = Some(vec![0; cells]);
            }
        }
        for cell in (0..cells).filter(|cell| condition.value(*cell) == Value::Bool(true)) {
            self.constant[cell] = other.constant[cell];
            self.null[cell] = other.null[cell];
            for (factors, others) in self.factors.iter_mut().zip(&other.factors) {
                if let Some(factors) = factors {
                    factors[cell] = others.as_ref().map_or(0, |others| others[cell]);
                }
            }
        }
    }
}
