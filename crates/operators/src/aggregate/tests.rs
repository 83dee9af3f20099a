//! Aggregation against a naive oracle.
