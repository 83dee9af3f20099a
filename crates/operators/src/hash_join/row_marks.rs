//! Going through the rows of a build that matched, or did not (`hash::join::RowMarks`), a unit of work at a time.

pub(crate) use hash::join::RowMarks;
use types::Result;

use crate::pipeline::Flow;

/// Hands the rows of a unit that are set (or not) to `emit`, at most `limit` at a time.
pub(crate) fn in_unit(
    marks: &RowMarks,
    unit: u64,
    set: bool,
    limit: usize,
    emit: &mut dyn FnMut(&[u32]) -> Result<Flow>,
) -> Result<Flow> {
    for rows in marks.in_unit(unit, set).chunks(limit.max(1)) {
        if emit(rows)? == Flow::Enough {
            return Ok(Flow::Enough);
        }
    }
    Ok(Flow::More)
}
