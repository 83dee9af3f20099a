//! correlated
