//! One folder an operator: each turns its inputs into work orders.
#![forbid(unsafe_code)]
