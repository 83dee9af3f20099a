//! Evaluates bound expressions over vectors: own kernels for the hot types, the function library for the rest.
#![forbid(unsafe_code)]
