//! Rows with a NULL among their keys.

use arrow_buffer::{BooleanBuffer, NullBuffer};
use vector::Vector;

/// Validity of whole keys: a row is NULL when any of its keys is. `None` when there is no such row.
pub(crate) fn null_rows(keys: &[Vector], rows: usize) -> Option<NullBuffer> {
    let mut all: Option<NullBuffer> = None;
    for key in keys.iter().filter(|k| k.has_nulls()) {
        let own = match key.data() {
            vector::Data::Constant(types::Value::Null) => NullBuffer::new(BooleanBuffer::new_unset(rows)),
            _ => match key.validity() {
                Some(validity) => validity.clone(),
                None => continue,
            },
        };
        all = NullBuffer::union(all.as_ref(), Some(&own));
    }
    all.filter(|nulls| nulls.null_count() > 0)
}
