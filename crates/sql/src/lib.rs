//! SQL text to logical plan: parsing, binding, decorrelation, statements, error carets.
#![forbid(unsafe_code)]
