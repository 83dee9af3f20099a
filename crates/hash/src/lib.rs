//! Join tables, aggregation tables and filters, with their byte layouts.
//!
//! Everything here is a passive structure that operators (and generated code) share: it knows keys, hashes, row
//! numbers and bits, but neither plans nor work orders. Each file draws its layout at its head.
//!
//! | file | holds |
//! | --- | --- |
//! | `hashing` | the hash of every type of value, shared by joins, aggregation and filters |
//! | `key_code` | integer keys, composite ones too, as one code each |
//! | `join` | join tables: row numbers, ranked bits, array, slots, bits |
//! | `exact_bits`, `bloom` | filters over keys |
//! | `column` | parts of a column put end to end by several workers |
//! | `select` | tests of values that end in selection bitmaps |
//! | `zeroed` | the zeroed memory that tables are filled into |
pub mod aggregate;
pub mod bloom;
pub mod column;
pub mod exact_bits;
pub mod hashing;
pub mod join;
pub mod key_code;
pub mod select;
pub mod zeroed;

pub use bloom::{Bloom, BloomFilling};
pub use column::ColumnFilling;
pub use exact_bits::{BitsFilling, ExactBits};
pub use hashing::{combine_vector, hash_columns, hash_vector};
pub use join::{JoinFilling, JoinKeys, JoinShape, JoinTable, JoinTableKind, JoinWants, KeyOrder, Payload};
pub use key_code::{KeyBounds, KeyCodes, NO_CODE, is_integer_key, key_hashes};
