//! Verifying declared keys when rows are added: the optimizer trusts them, so every statement that adds rows proves
//! them first.
//!
//! The rows that are there already satisfy the keys, so only the new ones are proved: among themselves, and against
//! those old blocks whose statistics let a key be equal. The new keys go into the cheapest set that holds them: none at
//! all when they are clustered by the first column and no old block comes near, a bit per value for one integer column
//! of moderate range, and otherwise a table of packed keys. NULLs collide only under NULLS NOT DISTINCT, and a
//! foreign key with a NULL part refers to nothing; under MATCH FULL it has no NULL part unless all are NULL.

mod bounds;
mod key_set;
mod live;
mod references;
#[cfg(test)]
mod tests;
mod unique;

pub(crate) use key_set::common_key_type;
pub(crate) use live::{GoOn, Keyed, LiveBlock, key_values};
pub(crate) use references::{
    Referring, check_foreign_key, check_full, check_referenced, find_referring, still_referenced,
};
pub(crate) use unique::{Unique, check_unique};

use live::{PASS_ROWS_MAX, STEP_ROWS, key_text, steps};
