//! Sums of products by masks, in one pass and without writing a product.
//!
//! ```text
//!  sum(price * (1 - discount)), sum(price * (1 - discount) * (1 + tax))      one chain of three factors, two sums
//!  a row    codes of price, discount, tax --moved along their lines--> two products, added under the groups' masks
//! ```
//! Both sums come from one look at the codes, and what a product takes is registers. A factor is a column whose codes
//! are on a line of step one, moved by constants; all but one factor have codes of a byte. That nothing is negative,
//! that the first two factors stay below 2^32 and that no row leaves its type is told by the ends of the lines. What
//! does not suit is computed by row (`expr::kernels::coded`) and summed afterwards.

use expr::Program;
use hash::aggregate::{MaskedGroups, States};
use plan::{Arithmetic, Expr, ExprKind};
use simd::{CodesOnLine, Line};
use types::{Result, Type};
use vector::{Batch, Codes, Data, Meaning, Vector};

use super::calls::Calls;
use super::cells::{fits, is_exact};

/// Factors that one pass multiplies.
const FACTORS_MAX: usize = 3;

/// The products among an aggregation's arguments.
pub(super) struct Products {
    /// The aggregation's expressions, then factors. In place of a product stands its first factor.
    program: Program,
    chains: Vec<Chain>,
    /// For each argument, whether a chain sums it.
    pub sums: Vec<bool>,
}

struct Chain {
    /// Places among the program's results, two or three.
    factors: Vec<usize>,
    /// Types of the product of the first two factors, and of all three.
    types: Vec<Type>,
    /// The argument that is the product of the first two of three.
    middle: Option<usize>,
    last: usize,
}

/// What a batch's vectors are to a chain.
pub(super) struct Factors<'a> {
    chain: &'a Chain,
    first: (&'a Codes, Line),
    second: CodesOnLine<'a, u8>,
    third: Option<CodesOnLine<'a, u8>>,
    /// On the products of the first two, and of all.
    bounds: [u128; 2],
}

/// A factor: its codes, and the greatest value; none is negative.
struct Factor<'a> {
    codes: &'a Codes,
    line: Line,
    highest: u128,
}

impl Products {
    /// `None` when no argument is a product of columns.
    pub fn of(calls: &Calls) -> Option<Products> {
        if !calls.states.is_sums() {
            return None;
        }
        let mut expressions = calls.expressions.clone();
        let mut products: Vec<(usize, Vec<Expr>, Vec<Type>)> = vec![];
        for (argument, input) in calls.arguments.iter().enumerate() {
            let Some(at) = input.value.filter(|at| !calls.groups.contains(at)) else { continue };
            let (mut factors, mut types) = (vec![], vec![]);
            take_apart(&calls.expressions[at], &mut factors, &mut types);
            if (2..=FACTORS_MAX).contains(&factors.len()) {
                expressions[at] = factors[0].clone();
                products.push((argument, factors, types));
            }
        }
        // The longer ones first: a shorter one may be the beginning of one of them.
        products.sort_by_key(|(_, factors, _)| std::cmp::Reverse(factors.len()));
        let mut chains: Vec<Chain> = vec![];
        let mut sums = vec![false; calls.arguments.len()];
        for (argument, factors, types) in products {
            let places = factors.into_iter().map(|factor| {
                let known = expressions.iter().position(|e| *e == factor);
                known.unwrap_or_else(|| {
                    expressions.push(factor);
                    expressions.len() - 1
                })
            });
            let places: Vec<usize> = places.collect();
            sums[argument] = true;
            let begins = |chain: &Chain| {
                let longer = chain.factors.len() > places.len() && chain.middle.is_none();
                longer && chain.factors.starts_with(&places) && chain.types.starts_with(&types)
            };
            match chains.iter().position(begins) {
                Some(at) => chains[at].middle = Some(argument),
                None => chains.push(Chain { factors: places, types, middle: None, last: argument }),
            }
        }
        if chains.is_empty() {
            return None;
        }
        Some(Products { program: Program::compile(&expressions).ok()?, chains, sums })
    }

    /// The program's results over a batch; `None` when they fail for some row.
    pub fn evaluate(&self, batch: &Batch, groups: &[usize]) -> Option<Vec<Vector>> {
        evaluate(&self.program, batch, groups).ok()
    }

    /// Each chain's factors; `None` when some chain's codes do not suit.
    pub fn factors<'a>(&'a self, vectors: &'a [Vector], rows: usize) -> Option<Vec<Factors<'a>>> {
        self.chains.iter().map(|chain| chain.factors(vectors, rows)).collect()
    }
}

/// The factors of a product, from the left, and the type of each product of the first ones.
fn take_apart(expression: &Expr, factors: &mut Vec<Expr>, types: &mut Vec<Type>) {
    if let ExprKind::Arithmetic { op: Arithmetic::Multiply, left, right, .. } = &expression.kind {
        let exact = [expression.ty, left.ty, right.ty].into_iter().all(is_exact);
        let both = !left.inputs().is_empty() && !right.inputs().is_empty();
        if exact && both && left.ty.scale() + right.ty.scale() == expression.ty.scale() {
            take_apart(left, factors, types);
            factors.push((**right).clone());
            types.push(expression.ty);
            return;
        }
    }
    factors.push(expression.clone());
}

impl Chain {
    fn factors<'a>(&'a self, vectors: &'a [Vector], rows: usize) -> Option<Factors<'a>> {
        let mut factors = self.factors.iter().map(|at| factor(&vectors[*at])).collect::<Option<Vec<_>>>()?;
        // What is written decides about the types, and factors are multiplied from the left.
        let mut bounds = vec![factors[0].highest];
        for (factor, ty) in factors[1..].iter().zip(&self.types) {
            let bound = bounds[bounds.len() - 1].checked_mul(factor.highest).filter(|b| fits(*ty, *b))?;
            bounds.push(bound);
        }
        let wide = factors.iter().position(|factor| !matches!(factor.codes, Codes::U8(_)));
        match wide {
            Some(at) if at < 2 || self.middle.is_none() => factors.swap(0, at),
            Some(_) => return None,
            None => {}
        }
        let two = factors[0].highest.checked_mul(factors[1].highest)?;
        let all = bounds.last()?.checked_mul(rows as u128)?;
        if two > u128::from(u32::MAX) || all > u128::from(u64::MAX) {
            return None;
        }
        let byte = |factor: &Factor<'a>| match factor.codes {
            Codes::U8(codes) => Some((&codes[..], factor.line)),
            _ => None,
        };
        let third = match factors.get(2) {
            Some(factor) => Some(byte(factor)?),
            None => None,
        };
        Some(Factors {
            chain: self,
            first: (factors[0].codes, factors[0].line),
            second: byte(&factors[1])?,
            third,
            bounds: [bounds[1], *bounds.last()?],
        })
    }
}

fn factor(vector: &Vector) -> Option<Factor<'_>> {
    let Data::Coded(coded) = vector.data() else { return None };
    let Meaning::Line { base, step: step @ (1 | -1) } = coded.meaning else { return None };
    let (low, high) = coded.bounds()?;
    if low < 0 || high > i128::from(u32::MAX) || vector.has_nulls() {
        return None;
    }
    let line = Line { base, falls: step < 0 };
    Some(Factor { codes: &coded.codes, line, highest: high.unsigned_abs() })
}

impl Factors<'_> {
    /// Adds the sums of a batch of so many rows.
    pub fn add(&self, masks: &MaskedGroups, rows: usize, states: &mut States) -> Result<()> {
        for part in &masks.parts {
            let groups = &part.groups[..];
            if groups.is_empty() {
                continue;
            }
            let (mut middle, mut last) = ([0u64; simd::FEW_GROUPS], [0u64; simd::FEW_GROUPS]);
            let (middle, last) = (&mut middle[..groups.len()], &mut last[..groups.len()]);
            let wanted = self.chain.middle.is_some().then_some(&mut *middle);
            let (second, third, masks) = (self.second, self.third, &part.masks[..]);
            let line = self.first.1;
            match self.first.0 {
                Codes::U8(c) => simd::sum_masked_products((&c[..], line), second, third, masks, wanted, last),
                Codes::U16(c) => {
                    simd::sum_masked_products((&c[..], line), second, third, masks, wanted, last)
                }
                Codes::U32(c) => {
                    simd::sum_masked_products((&c[..], line), second, third, masks, wanted, last)
                }
            }
            let bound = |of: u128| of.saturating_mul(rows as u128);
            let mut add = |argument: usize, sums: &[u64], bound: u128| {
                let sums: Vec<i128> = sums.iter().map(|sum| i128::from(*sum)).collect();
                states.add_sums(argument, groups, &sums, &[], bound)
            };
            if let Some(argument) = self.chain.middle {
                add(argument, middle, bound(self.bounds[0]))?;
            }
            add(self.chain.last, last, bound(self.bounds[1]))?;
        }
        Ok(())
    }
}

/// A program's results; those that are constants, or numbers in a dictionary, and no groups, one value a row.
pub(super) fn evaluate(program: &Program, batch: &Batch, groups: &[usize]) -> Result<Vec<Vector>> {
    let mut vectors = program.evaluate_coded(batch)?;
    for (at, vector) in vectors.iter_mut().enumerate() {
        let repeats = match vector.data() {
            Data::Constant(_) => true,
            Data::Coded(coded) => matches!(coded.meaning, Meaning::Values(_)),
            _ => false,
        };
        if repeats && !groups.contains(&at) {
            *vector = vector.flatten();
        }
    }
    Ok(vectors)
}
