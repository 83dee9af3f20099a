//! An aggregate's argument as a sum of columns, each times something that the cell tells.
//!
//! ```text
//!  price * (1 - discount) * (1 + tax)    cell of discount and tax:  c = (1 - d) * (1 + t), known
//!                                        sum over the cell's rows:  c * sum(price)
//! ```
//! `Split::form` takes an expression apart: what depends on the cell alone becomes a result of a program over the
//! cells' values, and around it only what keeps a sum of columns one is allowed. That a product distributes over a
//! sum is exact on integers and decimals of one scale; everything else (floating point, division, rounding) is
//! refused.

use std::collections::BTreeSet;

use plan::{Arithmetic, Expr, ExprKind};
use types::{Physical, Type, decimal};

/// What a value of a row is, given its cell.
#[derive(Debug)]
pub(super) enum Form {
    /// A result of the program over the cells.
    Cell(usize),
    /// One of the summed columns.
    Column(usize),
    /// At most one side has columns. All of these know the type that their value has to fit.
    Product(Box<Form>, Box<Form>, Type),
    Sum(Box<Form>, Box<Form>, Type),
    Difference(Box<Form>, Box<Form>, Type),
    Negated(Box<Form>, Type),
    /// To a type of a scale that is so many digits more.
    Rescaled(Box<Form>, u8, Type),
    /// The first branch whose condition, a result of the program, is TRUE.
    Case(Vec<(usize, Form)>, Box<Form>, Type),
}

/// A type whose values are integers of at most 64 bits, scaled or not.
pub(in crate::aggregate) fn is_exact(ty: Type) -> bool {
    let narrow = matches!(ty.physical(), Physical::I16 | Physical::I32 | Physical::I64);
    (ty.is_plain_integer() || ty.is_decimal()) && narrow
}

/// Whether a value of this magnitude is one of the type.
pub(in crate::aggregate) fn fits(ty: Type, magnitude: u128) -> bool {
    let Ok(magnitude) = i128::try_from(magnitude) else { return false };
    match ty {
        Type::Decimal { precision, .. } => {
            decimal::fits(magnitude, precision) && magnitude <= i128::from(i64::MAX)
        }
        Type::SmallInt => magnitude <= i128::from(i16::MAX),
        Type::Integer => magnitude <= i128::from(i32::MAX),
        _ => magnitude <= i128::from(i64::MAX),
    }
}

/// The inputs that make the cell, those that are summed, and what has to be known of a cell.
#[derive(Debug, Default)]
pub(super) struct Split {
    /// Positions in the input; the first ones of the cells' values.
    pub dimensions: Vec<usize>,
    /// Positions in the input of the columns whose codes are summed.
    pub columns: Vec<usize>,
    /// Over the dimensions: `Input(i)` is the i-th of them.
    pub of_cells: Vec<Expr>,
}

impl Split {
    /// Over cells of these inputs.
    pub fn new(dimensions: Vec<usize>) -> Split {
        Split { dimensions, ..Split::default() }
    }

    /// The expression's form; `None` when it has none over these cells. Inputs that are no dimensions become columns.
    pub fn form(&mut self, expression: &Expr) -> Option<Form> {
        use ExprKind as K;
        let ty = expression.ty;
        if !is_exact(ty) {
            return None;
        }
        if expression.inputs().iter().all(|at| self.dimensions.contains(at)) {
            return self.of_cell(expression).map(Form::Cell);
        }
        Some(match &expression.kind {
            K::Input(at) => {
                let known = self.columns.iter().position(|column| column == at);
                Form::Column(known.unwrap_or_else(|| {
                    self.columns.push(*at);
                    self.columns.len() - 1
                }))
            }
            K::Arithmetic { op, left, right, .. } => {
                let scales = (left.ty.scale(), right.ty.scale());
                let (left, right) = (self.form(left)?, self.form(right)?);
                match op {
                    Arithmetic::Add if scales == (ty.scale(), ty.scale()) => {
                        Form::Sum(left.into(), right.into(), ty)
                    }
                    Arithmetic::Subtract if scales == (ty.scale(), ty.scale()) => {
                        Form::Difference(left.into(), right.into(), ty)
                    }
                    Arithmetic::Multiply
                        if scales.0 + scales.1 == ty.scale()
                            && !(left.has_columns() && right.has_columns()) =>
                    {
                        Form::Product(left.into(), right.into(), ty)
                    }
                    _ => return None,
                }
            }
            K::Negate(input) if input.ty.scale() == ty.scale() => Form::Negated(self.form(input)?.into(), ty),
            K::Cast { input, lenient: false } if is_exact(input.ty) && input.ty.scale() <= ty.scale() => {
                Form::Rescaled(self.form(input)?.into(), ty.scale() - input.ty.scale(), ty)
            }
            K::Case { branches, otherwise } => {
                let same = |e: &Expr| e.ty.scale() == ty.scale();
                if !branches.iter().map(|(_, then)| then).chain(otherwise.as_deref()).all(same) {
                    return None;
                }
                let branch = |(when, then): &(Expr, Expr)| {
                    let decided = when.inputs().iter().all(|at| self.dimensions.contains(at));
                    Some((if decided { self.of_cell(when)? } else { return None }, self.form(then)?))
                };
                let branches = branches.iter().map(branch).collect::<Option<_>>()?;
                let null = Expr::literal(types::Value::Null, ty);
                Form::Case(branches, self.form(otherwise.as_deref().unwrap_or(&null))?.into(), ty)
            }
            _ => return None,
        })
    }

    /// The place of an expression over the dimensions among the program's results.
    fn of_cell(&mut self, expression: &Expr) -> Option<usize> {
        if !is_repeatable(expression) {
            return None;
        }
        let moved = expression.clone().transform(&mut |mut e| {
            if let ExprKind::Input(at) = &mut e.kind {
                // All inputs are dimensions.
                *at = self.dimensions.iter().position(|d| d == at).unwrap_or_default();
            }
            e
        });
        let known = self.of_cells.iter().position(|e| *e == moved);
        Some(known.unwrap_or_else(|| {
            self.of_cells.push(moved);
            self.of_cells.len() - 1
        }))
    }
}

impl Form {
    /// Whether the value depends on a summed column, and not on the cell alone.
    pub fn has_columns(&self) -> bool {
        match self {
            Form::Cell(_) => false,
            Form::Column(_) => true,
            Form::Product(a, b, _) | Form::Sum(a, b, _) | Form::Difference(a, b, _) => {
                a.has_columns() || b.has_columns()
            }
            Form::Negated(input, _) | Form::Rescaled(input, ..) => input.has_columns(),
            Form::Case(branches, otherwise, _) => {
                otherwise.has_columns() || branches.iter().any(|(_, then)| then.has_columns())
            }
        }
    }
}

/// Whether an expression gives the same for every row of a cell. Functions of the library and of the host program may
/// be volatile or slow, and are not asked.
fn is_repeatable(expression: &Expr) -> bool {
    use ExprKind as K;
    let mut repeatable = true;
    expression.visit(&mut |e| {
        repeatable &= !matches!(
            e.kind,
            K::Library { .. }
                | K::External { .. }
                | K::Lambda(_)
                | K::ScalarSubquery(_)
                | K::Parameter(_)
                | K::Column(_)
        );
    });
    repeatable
}

/// The dimensions that the expressions need: inputs that must be small, chosen so that the product of their sizes is
/// small, and those of `needed`. `size`: of an input as a dimension, `None` when it cannot be one. `None`: there is
/// no such choice.
pub(super) fn dimensions(
    expressions: &[&Expr],
    needed: Vec<usize>,
    size: impl Fn(usize) -> Option<usize>,
) -> Option<Vec<usize>> {
    let mut chosen: BTreeSet<usize> = needed.into_iter().collect();
    for expression in expressions {
        let inputs = expression.inputs();
        while Split::new(chosen.iter().copied().collect()).form(expression).is_none() {
            let left = inputs.iter().filter(|at| !chosen.contains(at));
            let (_, smallest) = left.filter_map(|at| size(*at).map(|size| (size, *at))).min()?;
            chosen.insert(smallest);
        }
    }
    Some(chosen.into_iter().collect())
}
