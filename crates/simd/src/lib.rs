//! Instruction sets and the loops that are worth writing for them.
//!
//! The processor is asked once what it can do (`level`). Plain loops are compiled several times by `dispatch!` and
//! the compiler vectorises them; only where that is known to fail (comparisons that end in bitmaps, expanding bitmaps
//! into row numbers, table look-ups) are there intrinsics, and each of those has a scalar twin that the tests hold it
//! to. The crate knows nothing of blocks: it takes slices and `u64` words of 64 rows each, row 0 in the lowest bit.
//!
//! | need | use |
//! | --- | --- |
//! | a selection of rows | `Bitmap` |
//! | `low <= x <= high` on integers or codes, and-ed into words or written | `and_range`, `range_anew` |
//! | the same on floats, in PostgreSQL's order | `and_float_range` |
//! | the same on bit slices | `and_slices` |
//! | code -> accepted? | `CodeTable`, `and_lookup` |
//! | integer -> is its bit in a set? | `and_members` |
//! | words -> row numbers | `append_indices`, `Bitmap::to_indices` |
//! | values at row numbers | `take` |
//! | min and max | `bounds`, `float_bounds` |
//! | codes -> values, values -> codes | `widen`, `widen_rows`, `narrow` |
//! | sums of a few groups | `sum_few_groups` |
//! | the same by a mask a group, on values or codes | `group_masks`, `sum_masked`, `sum_masked_codes` |
//! | sums of products of codes under such masks | `sum_masked_products` |
//! | counts and sums by small dense cell | module `cells` |
//! | products of coded columns | `multiply_lines`, `multiply_lines_narrow`, `multiply_by_line` |
//! | where a run of equal values begins | `differing_neighbours` |
//! | every place of a byte string | `find_all` |
//! | a checksum at memory speed | `checksum` |

mod and_slices;
#[cfg(target_arch = "x86_64")]
mod avx2;
#[cfg(target_arch = "x86_64")]
mod avx512;
#[cfg(target_arch = "x86_64")]
mod avx512_masked;
pub mod bitmap;
pub mod bounds;
pub mod cast;
pub mod cells;
pub mod checksum;
pub mod code;
pub mod groups;
pub mod indices;
mod lanes;
pub mod level;
pub mod lines;
pub mod lookup;
pub mod masked;
pub mod members;
mod open_rows;
#[cfg(target_arch = "x86_64")]
mod packed;
pub mod prefetch;
pub mod range;
#[cfg(target_arch = "x86_64")]
mod range_loops;
pub mod slices;
mod small_set;
pub mod substring;
#[cfg(test)]
mod tests;
pub mod widen;

pub use and_slices::{and_slices, and_slices_at};
pub use bitmap::Bitmap;
pub use bounds::{bounds, float_bounds};
pub use cast::{Plain, as_bytes, typed, typed_mut};
pub use checksum::checksum;
pub use code::{Code, Float, Lane};
pub use groups::{FEW_GROUPS, differing_neighbours, sum_few_groups};
pub use indices::append_indices;
pub use level::{Kernel, Level, level, run, run_at, set_level};
pub use lines::{Line, magnitudes, multiply_by_line, multiply_lines, multiply_lines_narrow};
pub use lookup::{CodeTable, and_lookup};
pub use masked::{
    CodesOnLine, combine_codes, count_masked, each_row, group_masks, join_codes, masks_pay, rows_of_word,
    sum_masked, sum_masked_codes, sum_masked_products,
};
pub use members::{Key, and_members, is_sparse, retain_listed};
pub use prefetch::{prefetch, prefetch_l2, prefetch_value, take};
pub use range::{and_float_range, and_range, and_where, range_anew};
pub use slices::{CodeRange, RowTest, SEGMENT_ROWS, SEGMENT_WORDS, Slices, slice_at};
pub use substring::{find_all, find_all_pays};
pub use widen::{narrow, widen, widen_rows};
