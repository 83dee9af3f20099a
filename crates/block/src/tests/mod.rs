//! The conformance suite that every layout passes, the byte fuzzer, and the encoder's choices.

mod conformance;
mod damage;
mod encoding;
mod indices;
mod order;
mod trees;

use arrow_buffer::Buffer;
pub(crate) use random::Random;
use types::{Type, Value};
use vector::{Batch, Vector};

use crate::{Block, EncodeOptions, IndexKind, IndexSpecification, LayoutKind, encode};

/// The bytes of a block of one table, in aligned memory that held garbage before.
pub(crate) fn encoded(
    columns: &[(Type, bool)],
    parts: &[Batch],
    options: impl Into<EncodeOptions>,
) -> Buffer {
    let block = encode(columns, parts, options).unwrap();
    written(block.len(), |out| block.write_into(out))
}

/// A block of one column, opened as if it came from a stranger.
pub(crate) fn block_of(ty: Type, values: &[Value], options: impl Into<EncodeOptions>) -> Block {
    let batch = Batch::new(vec![Vector::from_values(ty, values)], values.len());
    Block::open(encoded(&[(ty, true)], &[batch], options)).unwrap()
}

/// The layouts that can hold a column of the type.
pub(crate) fn layouts_for(ty: Type) -> impl Iterator<Item = LayoutKind> {
    let fits = move |kind: &LayoutKind| {
        *kind != LayoutKind::PackedRowStore || ty.physical() != types::Physical::Bytes
    };
    LayoutKind::ALL.into_iter().filter(fits)
}

/// Those that can hold any column.
pub(crate) const LAYOUTS: [LayoutKind; 4] = [
    LayoutKind::ColumnStore,
    LayoutKind::CompressedColumnStore,
    LayoutKind::SplitRowStore,
    LayoutKind::CompressedRowStore,
];

/// Every index on a column.
pub(crate) fn all_indices(column: usize) -> Vec<IndexSpecification> {
    IndexKind::ALL.into_iter().map(|kind| IndexSpecification { kind, column }).collect()
}

/// Bytes as memory that a block is opened from.
pub(crate) fn written(length: usize, write: impl FnOnce(&mut [u8])) -> Buffer {
    let mut memory = arrow_buffer::MutableBuffer::new(length);
    memory.resize(length, 0xA5);
    write(memory.as_slice_mut());
    memory.into()
}
