//! Functions that give the value of another row: lag, lead, first_value, last_value and nth_value.

use plan::WindowFunction;
use types::{Error, Result, SqlState};
use vector::gather::NO_ROW;
use vector::{Vector, VectorBuilder};

use super::call::Call;
use super::frames::Frames;
use super::sorted::{Pace, Sorted};

/// The rows that count, where IGNORE NULLS leaves some out: `rows[before[r]..]` are those from row `r` on.
struct Counted {
    rows: Vec<u32>,
    before: Vec<u32>,
}

impl Counted {
    fn of(column: &Vector, pace: &mut Pace<'_>) -> Result<Counted> {
        let (mut rows, mut before) = (Vec::new(), Vec::with_capacity(column.len() + 1));
        for row in 0..column.len() {
            pace.step()?;
            before.push(rows.len() as u32);
            if !column.is_null(row) {
                rows.push(row as u32);
            }
        }
        before.push(rows.len() as u32);
        Ok(Counted { rows, before })
    }
    /// Those in a range of rows.
    fn within(&self, (start, end): (usize, usize)) -> &[u32] {
        &self.rows[self.before[start] as usize..self.before[end] as usize]
    }
}

/// lag and lead: the row so many before or behind, in the partition.
pub(super) fn shifted(call: &Call, sorted: &Sorted, pace: &mut Pace<'_>) -> Result<Vector> {
    let value = &sorted.arguments[call.arguments[0]];
    let offset = &sorted.arguments[call.arguments[1]];
    let default = &sorted.arguments[call.arguments[2]];
    let back = call.call.function == WindowFunction::Lag;
    let counted = if call.call.ignore_nulls { Some(Counted::of(value, pace)?) } else { None };
    let mut picks = vec![NO_ROW; sorted.rows];
    let mut absent = Vec::new();
    for (low, high) in sorted.partitions() {
        for row in low..high {
            pace.step()?;
            let Some(by) = offset.value(row).as_i64() else { continue };
            let by = if back { by.saturating_neg() } else { by };
            let to = match &counted {
                None => i64::try_from(row)
                    .ok()
                    .and_then(|row| row.checked_add(by))
                    .filter(|to| (low as i64..high as i64).contains(to)),
                Some(_) if by == 0 => Some(row as i64),
                Some(counted) => {
                    // The k-th row that counts behind this one, or before it.
                    let base = counted.before[row] as i64;
                    let place = if by < 0 {
                        base.saturating_add(by)
                    } else {
                        (counted.before[row + 1] as i64).saturating_add(by - 1)
                    };
                    usize::try_from(place)
                        .ok()
                        .and_then(|place| counted.rows.get(place))
                        .map(|row| i64::from(*row))
                        .filter(|to| (low as i64..high as i64).contains(to))
                }
            };
            match to {
                Some(to) => picks[row] = to as u32,
                None => absent.push(row),
            }
        }
    }
    let shifted = value.gather_nullable(&picks).with_type(call.call.ty);
    if absent.iter().all(|row| default.is_null(*row)) {
        return Ok(shifted);
    }
    let mut out = VectorBuilder::new(call.call.ty, sorted.rows);
    let mut absent = absent.into_iter().peekable();
    for row in 0..sorted.rows {
        pace.step()?;
        if absent.next_if_eq(&row).is_some() {
            out.push(&default.value(row));
        } else {
            out.push(&shifted.value(row));
        }
    }
    Ok(out.finish())
}

/// first_value, last_value and nth_value.
pub(super) fn of_frame(
    call: &Call,
    sorted: &Sorted,
    frames: &Frames<'_>,
    pace: &mut Pace<'_>,
) -> Result<Vector> {
    let value = &sorted.arguments[call.arguments[0]];
    let counted = if call.call.ignore_nulls { Some(Counted::of(value, pace)?) } else { None };
    let counted = counted.as_ref();
    let mut picks = Vec::with_capacity(sorted.rows);
    for row in 0..sorted.rows {
        pace.step()?;
        let ranges = frames.ranges(row);
        let pick = match call.call.function {
            WindowFunction::LastValue => ranges.iter().rev().find_map(|range| nth(*range, counted, None)),
            WindowFunction::FirstValue => ranges.iter().find_map(|range| nth(*range, counted, Some(0))),
            _ => {
                let wanted = sorted.arguments[call.arguments[1]].value(row);
                match wanted.as_i64() {
                    None => None,
                    Some(n) if n > 0 => {
                        let mut left = (n - 1) as usize;
                        ranges.iter().find_map(|range| {
                            let found = nth(*range, counted, Some(left));
                            left = left.saturating_sub(length(*range, counted));
                            found
                        })
                    }
                    Some(_) => {
                        return Err(Error::new(
                            SqlState::InvalidNthValueArgument,
                            "argument of nth_value must be greater than zero",
                        ));
                    }
                }
            }
        };
        picks.push(pick.unwrap_or(NO_ROW));
    }
    Ok(value.gather_nullable(&picks).with_type(call.call.ty))
}

fn length((start, end): (usize, usize), counted: Option<&Counted>) -> usize {
    counted.map_or(end - start, |c| c.within((start, end)).len())
}

/// The n-th row of a range, from zero; the last without a number.
fn nth((start, end): (usize, usize), counted: Option<&Counted>, n: Option<usize>) -> Option<u32> {
    match (counted, n) {
        (Some(counted), Some(n)) => counted.within((start, end)).get(n).copied(),
        (Some(counted), None) => counted.within((start, end)).last().copied(),
        (None, Some(n)) => (n < end - start).then(|| (start + n) as u32),
        (None, None) => (start < end).then(|| end as u32 - 1),
    }
}
