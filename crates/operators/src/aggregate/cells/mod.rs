//! Sums of products right above a scan: by cells of the small columns, instead of row by row.
//!
//! ```text
//!  sum(price * (1 - discount) * (1 + tax)) GROUP BY flag      discount has 11 values, tax 9, flag 3
//!  cell of a row      = (flag, discount, tax), by the block's own codes: 297 of them
//!  for each row       one addition to its cell: a count and the code of price, packed in a word (`hash`, `CellSums`)
//!  for each cell      (1 - discount) * (1 + tax), computed once (`coefficients`); times the cell's sum of price
//! ```
//! Distributivity does it: an argument that is a sum of columns, each times something that the cell tells (`form`),
//! needs no arithmetic by row. Which columns make the cells is decided block by block, by how many codes they have
//! there. Nothing is kept between windows but what the codes mean, so all else (tables of groups, memory, merging) is
//! as for any other batch. What does not suit goes the ways below: masks, then rows.

mod arguments;
mod coefficients;
mod form;
#[cfg(test)]
mod tests;

use std::sync::Arc;

use expr::Program;
use hash::aggregate::{CELLS_MAX, CellSums};
use plan::Expr;
use types::{Error, Result, Type};
use vector::{Batch, Coded, Codes, Data, Meaning, Vector};

use super::descriptor::Descriptor;
use super::local::{Index, LocalGroups};
pub(super) use arguments::CellArguments;
use coefficients::{Cells, Coefficients, ColumnLine};
use form::{Form, Split, dimensions};
pub(super) use form::{fits, is_exact};

/// A key that no row had so far.
const UNKNOWN: u32 = u32::MAX;

/// A choice of dimensions, with the program of what is computed once a cell.
struct Compiled {
    split: Split,
    forms: Vec<Option<Form>>,
    program: Program,
}

/// What codes of a column stand for, to know them again.
struct Source {
    ty: Type,
    meaning: Option<(Meaning, u32)>,
}

/// How the present block's rows are summed.
struct Plan {
    compiled: Arc<Compiled>,
    /// Possible codes of each key and each dimension.
    sizes: Vec<usize>,
    /// Cells of one key.
    cells: usize,
    coefficients: Vec<Option<Coefficients>>,
    sums: CellSums,
    /// The group of each key.
    groups: Vec<u32>,
}

/// A worker's cells.
#[derive(Default)]
pub(super) struct CellGroups {
    compiled: Vec<Arc<Compiled>>,
    sources: Vec<Source>,
    /// `None`: the sources do not suit.
    plan: Option<Plan>,
    /// Batches that came this way.
    pub batches: u64,
}

impl CellGroups {
    /// Groups were renumbered.
    pub fn forget(&mut self) {
        if let Some(plan) = &mut self.plan {
            plan.groups.fill(UNKNOWN);
        }
    }

    /// Whether the codes of the last batch suit.
    pub fn suits(&self) -> bool {
        self.plan.is_some()
    }

    /// Which columns made the cells, in words for EXPLAIN ANALYZE.
    pub fn shown(&self, arguments: &CellArguments) -> String {
        let Some(plan) = &self.plan else { return "cells, sums on codes".to_owned() };
        let columns = arguments.keys.iter().chain(&plan.compiled.split.dimensions);
        let names: Vec<&str> =
            columns.filter_map(|at| arguments.names.get(*at)).map(String::as_str).collect();
        format!("{} cells of {}, sums on codes", plan.sizes.iter().product::<usize>(), names.join(", "))
    }

    /// Makes the plan for these codes, unless it is there; false when they do not suit.
    fn fit(&mut self, arguments: &CellArguments, batch: &Batch, masks: bool) -> bool {
        let sources = || arguments.inputs.iter().map(|at| &batch.columns[*at]);
        let same = self.sources.len() == arguments.inputs.len()
            && self.sources.iter().zip(sources()).all(|(source, column)| source.is(column));
        if !same {
            self.sources = sources().map(Source::of).collect();
            self.plan = self.plan(arguments, batch, masks);
        }
        self.plan.is_some() && arguments.counted.iter().all(|at| !batch.columns[*at].has_nulls())
    }

    fn plan(&mut self, arguments: &CellArguments, batch: &Batch, masks: bool) -> Option<Plan> {
        let coded = |at: usize| match batch.columns[at].data() {
            Data::Coded(coded) if !batch.columns[at].has_nulls() => Some(coded),
            _ => None,
        };
        let size = |at: usize| match &coded(at)?.codes {
            Codes::U32(_) => None,
            _ => Some(coded(at)?.last as usize + 1).filter(|size| *size <= CELLS_MAX),
        };
        let line = |at: usize| match coded(at)?.meaning {
            Meaning::Line { base, step } => Some((base, step)),
            Meaning::Values(_) => None,
        };
        let expressions: Vec<&Expr> = arguments.arguments.iter().flatten().collect();
        // Codes that are on no line cannot be summed.
        let mut needed: Vec<usize> = expressions.iter().flat_map(|e| e.inputs()).collect();
        needed.retain(|at| line(*at).is_none());
        let dimensions = dimensions(&expressions, needed, size)?;
        let sizes: Vec<usize> =
            arguments.keys.iter().chain(&dimensions).map(|at| size(*at)).collect::<Option<_>>()?;
        let product = |sizes: &[usize]| sizes.iter().try_fold(1usize, |all, size| all.checked_mul(*size));
        let all = product(&sizes).filter(|all| *all <= CELLS_MAX)?;
        let (keys, cells) =
            (product(&sizes[..arguments.keys.len()])?, product(&sizes[arguments.keys.len()..])?);
        if masks && arguments.simple && keys <= simd::FEW_GROUPS {
            return None;
        }
        let compiled = self.compiled(arguments, dimensions)?;
        let split = &compiled.split;
        let mut lines = vec![];
        let mut lasts = vec![];
        for at in &split.columns {
            let (base, step) = line(*at)?;
            let (low, high) = coded(*at)?.bounds()?;
            let magnitude = low.unsigned_abs().max(high.unsigned_abs());
            lines.push(ColumnLine { base, step, magnitude });
            lasts.push(coded(*at)?.last);
        }
        let mut columns = vec![];
        let mut unit = cells;
        for (at, size) in split.dimensions.iter().zip(&sizes[arguments.keys.len()..]) {
            unit /= size;
            let codes: Vec<u16> = (0..cells).map(|cell| (cell / unit % size) as u16).collect();
            let Coded { meaning, last, .. } = coded(*at)?.clone();
            columns.push(decoded(batch.columns[*at].ty(), Codes::U16(codes.into()), meaning, last));
        }
        // What fails in some cell may fail for no row: rows will tell.
        let values = compiled.program.evaluate(&Batch::new(columns, cells)).ok()?;
        let of_cells = Cells { cells, values: &values, columns: &lines };
        let coefficients = compiled
            .forms
            .iter()
            .map(|form| form.as_ref().map_or(Some(None), |form| of_cells.coefficients(form).map(Some)))
            .collect::<Option<Vec<_>>>()?;
        let sums = CellSums::new(all, &lasts);
        Some(Plan { compiled, sizes, cells, coefficients, sums, groups: vec![UNKNOWN; keys] })
    }

    fn compiled(&mut self, arguments: &CellArguments, dimensions: Vec<usize>) -> Option<Arc<Compiled>> {
        if let Some(known) = self.compiled.iter().find(|c| c.split.dimensions == dimensions) {
            return Some(known.clone());
        }
        let mut split = Split::new(dimensions);
        let mut forms = vec![];
        for argument in &arguments.arguments {
            forms.push(match argument {
                Some(expression) => Some(split.form(expression)?),
                None => None,
            });
        }
        let program = Program::compile(&split.of_cells).ok()?;
        let compiled = Arc::new(Compiled { split, forms, program });
        self.compiled.push(compiled.clone());
        Some(compiled)
    }
}

impl Source {
    fn of(column: &Vector) -> Source {
        let meaning = match column.data() {
            Data::Coded(coded) if !column.has_nulls() => Some((coded.meaning.clone(), coded.last)),
            _ => None,
        };
        Source { ty: column.ty(), meaning }
    }
    /// Whether the column's codes stand for the same.
    fn is(&self, column: &Vector) -> bool {
        self.ty == column.ty()
            && match (&self.meaning, column.data()) {
                (Some((meaning, last)), Data::Coded(coded)) => {
                    *last == coded.last && meaning.same(&coded.meaning) && !column.has_nulls()
                }
                (None, Data::Coded(_)) => column.has_nulls(),
                (None, _) => true,
                (Some(_), _) => false,
            }
    }
}

/// Codes decoded by their meaning.
fn decoded(ty: Type, codes: Codes, meaning: Meaning, last: u32) -> Vector {
    Vector::new(ty, Data::Coded(Coded { codes, meaning, last }), None).decoded()
}

fn codes(batch: &Batch, at: usize) -> Result<&Codes> {
    match batch.columns[at].data() {
        Data::Coded(coded) => Ok(&coded.codes),
        _ => Err(Error::internal("a column of a cell has no codes")),
    }
}

impl LocalGroups {
    /// Adds a batch of codes by cells; false, with nothing changed, when it has to go another way. `masks`: that may
    /// be masks.
    pub(super) fn consume_cells(
        &mut self,
        aggregate: &Descriptor,
        batch: &Batch,
        tag: u64,
        masks: bool,
    ) -> Result<bool> {
        let Some(arguments) = &aggregate.cells else { return Ok(false) };
        let mut cells = std::mem::take(&mut self.cells);
        let done = match cells.fit(arguments, batch, masks) {
            true => self.add_cells(aggregate, arguments, batch, &mut cells, tag),
            false => Ok(false),
        };
        self.cells = cells;
        done
    }

    fn add_cells(
        &mut self,
        aggregate: &Descriptor,
        arguments: &CellArguments,
        batch: &Batch,
        cells: &mut CellGroups,
        tag: u64,
    ) -> Result<bool> {
        let Some(Plan { compiled, sizes, cells: of_key, coefficients, sums, groups }) = &mut cells.plan
        else {
            return Ok(false);
        };
        // Coefficients are multiplied once a window.
        if *of_key * groups.len() > batch.rows {
            return Ok(false);
        }
        if matches!(self.index, Index::Ordered(_)) {
            self.leave_ordered(aggregate)?;
        }
        let dimensions = arguments.keys.iter().chain(&compiled.split.dimensions);
        let dimensions: Vec<(&Codes, usize)> = dimensions
            .zip(sizes.iter())
            .map(|(at, size)| Ok((codes(batch, *at)?, *size)))
            .collect::<Result<_>>()?;
        let columns: Vec<&Codes> =
            compiled.split.columns.iter().map(|at| codes(batch, *at)).collect::<Result<_>>()?;
        sums.clear();
        sums.add(&dimensions, &columns, batch.rows, batch.selection.as_deref());
        let (counts, sums) = sums.totals();
        let rows: Vec<u64> = counts.chunks_exact(*of_key).map(simd::cells::total).collect();
        let present: Vec<usize> = (0..groups.len()).filter(|key| rows[*key] > 0).collect();
        for key in &present {
            if groups[*key] == UNKNOWN {
                groups[*key] = match arguments.keys.is_empty() {
                    true => 0,
                    false => self.number_one(aggregate, &key_of(arguments, sizes, batch, *key)?, tag)?,
                };
            }
        }
        if !arguments.keys.is_empty() {
            self.states.resize(self.table.len());
        }
        let numbers: Vec<u32> = present.iter().map(|key| groups[*key]).collect();
        let of_key = |key: &usize| key * *of_key..(key + 1) * *of_key;
        self.states.add_rows(&numbers, &present.iter().map(|key| rows[*key]).collect::<Vec<_>>());
        for (argument, coefficients) in coefficients.iter().enumerate() {
            let Some(coefficients) = coefficients else { continue };
            let bound = coefficients.magnitude.saturating_mul(batch.rows as u128);
            let narrow = bound <= i64::MAX as u128;
            let total = |key: &usize| match narrow {
                true => {
                    i128::from(coefficients.narrow_sum(&counts[of_key(key)], |at| &sums[at][of_key(key)]))
                }
                false => coefficients.sum(&counts[of_key(key)], |at| &sums[at][of_key(key)]),
            };
            let totals: Vec<i128> = present.iter().map(total).collect();
            let missing: Vec<u64> =
                present.iter().map(|key| coefficients.rows_missing(&counts[of_key(key)])).collect();
            self.states.add_sums(argument, &numbers, &totals, &missing, bound)?;
        }
        cells.batches += 1;
        Ok(true)
    }
}

/// The values of a key, a vector of one row each.
fn key_of(arguments: &CellArguments, sizes: &[usize], batch: &Batch, key: usize) -> Result<Vec<Vector>> {
    let mut unit: usize = sizes[..arguments.keys.len()].iter().product();
    let mut values = vec![];
    for (at, size) in arguments.keys.iter().zip(sizes) {
        unit /= size;
        let column = &batch.columns[*at];
        let Data::Coded(coded) = column.data() else {
            return Err(Error::internal("a key of a cell has no codes"));
        };
        let code = Codes::U16(vec![(key / unit % size) as u16].into());
        values.push(decoded(column.ty(), code, coded.meaning.clone(), coded.last));
    }
    Ok(values)
}
