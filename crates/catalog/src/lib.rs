//! Relations, schemas, keys, block lists and statistics, as immutable snapshots.
#![forbid(unsafe_code)]
