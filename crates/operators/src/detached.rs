//! Batches that refer to no memory but their own, to be kept beyond the work order that made them.

use types::Physical;
use vector::{Batch, Data, Vector};

/// A vector that keeps nothing else alive: strings copied, dictionaries decoded.
pub fn detached(vector: &Vector) -> Vector {
    let flat = vector.flatten();
    match flat.data() {
        Data::Bytes(strings) if flat.ty().physical() == Physical::Bytes && !strings.buffers().is_empty() => {
            Vector::new(flat.ty(), Data::Bytes(strings.compact()), flat.validity().cloned())
        }
        _ => flat,
    }
}

/// A batch whose columns refer to no memory but their own; see `detached`.
pub fn detached_batch(batch: &Batch) -> Batch {
    Batch::new(batch.columns.iter().map(detached).collect(), batch.rows)
}
