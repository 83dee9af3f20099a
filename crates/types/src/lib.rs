//! Logical types, scalar values, casts, the error type and block-evaluable predicates.
#![forbid(unsafe_code)]
