//! The execution's switches, one a technique, by the names that `SET` and `SHOW` use.
//!
//! Every combination must give the same answers: a switch changes how rows are made, never which.

use codegen::Execution;
use types::switch::Switch;

/// How several workers fill a join's hash table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum JoinTable {
    /// Each worker fills a part of its own.
    Partitioned,
    /// All workers fill one table together, without latches.
    Shared,
}

impl Switch for JoinTable {
    const VALUES: &'static [(&'static str, Self)] =
        &[("partitioned", JoinTable::Partitioned), ("shared", JoinTable::Shared)];
}

types::switches! {
    /// The techniques of execution that can be switched off.
    pub struct Switches {
        /// Arrays instead of hash tables where key bounds allow.
        dense_keys: bool = true,
        /// Partitioned or shared: how several workers fill a join's hash table.
        join_table: JoinTable = JoinTable::Partitioned,
        /// Groups of a key that blocks are clustered by are finished block by block.
        clustered_keys: bool = true,
        /// Sums of few groups on codes, with a bit mask a group instead of gathered rows.
        aggregates_on_codes: bool = true,
        /// Sums of products by cells of the small columns, multiplied once a cell instead of once a row.
        cell_sums: bool = true,
        /// Groups that are a join's build rows have their states there; no joined row is made.
        fused_join_aggregate: bool = true,
        /// The worst key that can still come out of a top-k drops rows and blocks in the scan.
        top_k_bound: bool = true,
        /// Full sorts by radix passes over key prefixes; off, by comparisons.
        radix_sort: bool = true,
        /// Predicates evaluated on codes instead of decoded values.
        predicates_on_codes: bool = true,
        /// Narrow columns of a join's build side are kept in its table instead of row numbers.
        table_payload: bool = true,
        /// LIKE searches the strings of a block as one text for its rarest fixed part.
        like_search: bool = true,
        /// Blocks skipped by their minimum and maximum.
        block_skipping: bool = true,
        /// Files, row groups and pages skipped by partitions and statistics.
        file_skipping: bool = true,
        /// Vectorized, compiled or auto: expressions operation by operation, by code, or by what measures faster.
        execution: Execution = Execution::Vectorized,
        /// Columns of files decoded only for rows that pass the filters.
        late_fetch: bool = true,
    }
}
