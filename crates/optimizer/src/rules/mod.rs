//! Plan to plan, one file a rule. Each file's head says when its rule fires and why it is sound.

pub(crate) mod narrow_decimals;
pub(crate) mod projections;
pub(crate) mod runtime_filters;
