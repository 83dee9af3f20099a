//! Parquet against what was written.
