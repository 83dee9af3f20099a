//! nesting
