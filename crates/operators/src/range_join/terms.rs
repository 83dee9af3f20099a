//! What a condition's ranges compare: programs for the keys of build rows and for the bounds of probe rows.
//!
//! `RangeTerms` is made once at plan time and never changes; workers share it. The build sink asks for `keys`, the
//! probe for `bounds` and then, with the index, for `found`. NULL keys and bounds match nothing, so their rows are
//! told apart and left out of searches. An error about values, as in `10 / p.a`, makes `keys` or `bounds` answer
//! `None`; then the join compares rows by the whole condition. Crowded keys of hash joins use the same terms.

use std::ops::Range;

use arrow_buffer::NullBuffer;
use expr::Program;
use plan::{Expr, ExprKind, Ranges};
use types::{Comparison, Error, Result, SqlState};
use vector::{Batch, Vector};

use super::index::{Found, RangeIndex};
use super::keys::KeyColumn;
use crate::context::QueryContext;

/// The ranges of a condition: what is searched, and what remains to be tested on each pair.
pub(crate) struct RangeTerms {
    keys: Program,
    bounds: Program,
    /// For each bound its dimension and `key op bound`, in the program's order.
    comparisons: Vec<(usize, Comparison)>,
    /// The second dimension has upper bounds alone.
    pub is_reversed: bool,
    dimensions: usize,
    /// What the ranges do not say.
    pub rest: Option<Expr>,
}

/// The bounds of a probe batch's rows.
pub(crate) struct Bounds {
    columns: Vec<KeyColumn>,
    /// Rows none of whose bounds is NULL; all, if not given.
    valid: Option<NullBuffer>,
}

/// Whether an error is about values. Such an error, from a row that another condition keeps away, must not end the
/// query.
pub(crate) fn is_of_values(error: &Error) -> bool {
    !matches!(error.state(), SqlState::OutOfMemory | SqlState::QueryCanceled | SqlState::Internal)
}

impl RangeTerms {
    /// The ranges of a condition over the probe's columns followed by the build's; `place` tells where a build column
    /// is in the batches that `keys` is asked about. `None` where there is no range.
    pub fn of(
        condition: &Expr,
        probe_columns: usize,
        place: &dyn Fn(usize) -> Result<usize>,
    ) -> Result<Option<RangeTerms>> {
        let Some(Ranges { dimensions, rest }) = Ranges::of_inputs(condition, probe_columns) else {
            return Ok(None);
        };
        let mut keys = Vec::with_capacity(dimensions.len());
        let (mut bounds, mut comparisons) = (Vec::new(), Vec::new());
        for (at, dimension) in dimensions.iter().enumerate() {
            for input in dimension.key.inputs() {
                place(input)?;
            }
            keys.push(dimension.key.clone().transform(&mut |e| match e.kind {
                // All of them have a place.
                ExprKind::Input(input) => Expr::input(place(input).unwrap_or(0), e.ty),
                _ => e,
            }));
            for (op, bound) in &dimension.bounds {
                comparisons.push((at, *op));
                bounds.push(bound.clone());
            }
        }
        Ok(Some(RangeTerms {
            keys: Program::compile(&keys)?,
            bounds: Program::compile(&bounds)?,
            comparisons,
            is_reversed: dimensions.get(1).is_some_and(plan::Dimension::is_upper),
            dimensions: dimensions.len(),
            rest: (!rest.is_empty()).then(|| Expr::and(rest)),
        }))
    }

    /// The number of keys that are searched: one or two.
    pub fn dimensions(&self) -> usize {
        self.dimensions
    }

    /// The keys of build rows, a column a dimension, and the rows none of whose keys is NULL (all, if not given).
    /// `None` where some row's key cannot be computed.
    pub fn keys(
        &self,
        batch: &Batch,
        query: &QueryContext,
    ) -> Result<Option<(Vec<KeyColumn>, Option<NullBuffer>)>> {
        columns(query.evaluate(&self.keys, batch), batch.rows)
    }

    /// The bounds of probe rows; `None` as above.
    pub fn bounds(&self, batch: &Batch, query: &QueryContext) -> Result<Option<Bounds>> {
        let found = columns(query.evaluate(&self.bounds, batch), batch.rows)?;
        Ok(found.map(|(columns, valid)| Bounds { columns, valid }))
    }

    /// What each probe row asks for among the places that `within` gives it.
    pub fn found(
        &self,
        index: &RangeIndex,
        bounds: &Bounds,
        within: impl Fn(usize) -> Range<usize>,
        found: &mut Vec<Found>,
        places: &mut Vec<u32>,
    ) {
        let rows = bounds.columns.first().map_or(0, KeyColumn::len);
        let ranks = index.second.as_ref().map_or(1, |second| second.keys.len());
        found.clear();
        found.extend((0..rows).map(|row| {
            let Range { start, end } = within(row);
            Found { from: start as u32, to: end as u32, low: 0, high: ranks as u32 }
        }));
        for ((dimension, op), column) in self.comparisons.iter().zip(&bounds.columns) {
            let or_equal = matches!(op, Comparison::Greater | Comparison::LessOrEqual);
            let is_lower = matches!(op, Comparison::Greater | Comparison::GreaterOrEqual);
            match (dimension, &index.second) {
                (0, _) => {
                    index.first.places(column, or_equal, &within, places);
                    for (found, place) in found.iter_mut().zip(places.iter()) {
                        if is_lower {
                            found.from = found.from.max(*place);
                        } else {
                            found.to = found.to.min(*place);
                        }
                    }
                }
                (_, Some(second)) => {
                    second.keys.places(column, or_equal, |_| 0..ranks, places);
                    for (found, place) in found.iter_mut().zip(places.iter()) {
                        if is_lower {
                            found.low = found.low.max(*place);
                        } else {
                            found.high = found.high.min(*place);
                        }
                    }
                }
                // A second dimension has a second key.
                (_, None) => {}
            }
        }
        if let Some(second) = &index.second {
            for found in found.iter_mut() {
                let ranks = second.ranks_of(found.low..found.high);
                (found.low, found.high) = (ranks.start, ranks.end);
            }
        }
        if let Some(valid) = &bounds.valid {
            for (row, found) in found.iter_mut().enumerate() {
                if valid.is_null(row) {
                    *found = Found::default();
                }
            }
        }
    }
}

/// Values as keys.
type Columns = (Vec<KeyColumn>, Option<NullBuffer>);

fn columns(values: Result<Vec<Vector>>, rows: usize) -> Result<Option<Columns>> {
    let values = match values {
        Ok(values) => values,
        Err(error) if is_of_values(&error) => return Ok(None),
        Err(error) => return Err(error),
    };
    let valid = crate::hash_join::null_rows(&values, rows);
    let columns = values.iter().map(KeyColumn::of).collect::<Option<Vec<KeyColumn>>>();
    Ok(columns.map(|columns| (columns, valid)))
}
