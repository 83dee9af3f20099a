//! Files in: Parquet, CSV, tbl and Arrow IPC read in parallel as batches.
#![forbid(unsafe_code)]
