//! The optimizer's switches, one a technique, by the names that `SET` and `SHOW` use.
//!
//! Every combination must give the same answers: a switch changes the plan, never the result.

use types::switch::Switch;

/// `SET join_order = 'optimized' | 'written'`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum JoinOrder {
    /// The cheapest one that is found.
    Optimized,
    /// As the text has it: left side probes, right side builds.
    Written,
}

impl Switch for JoinOrder {
    const VALUES: &'static [(&'static str, Self)] =
        &[("written", JoinOrder::Written), ("optimized", JoinOrder::Optimized)];
}

types::switches! {
    /// The switches; all on by default.
    pub struct Settings {
        /// Optimized, or written: joins in the order of the text.
        join_order: JoinOrder = JoinOrder::Optimized,
        /// Constant folding and boolean simplification; conjuncts common to all branches of an OR come out of it.
        simplification: bool = true,
        /// Predicates move to the scans; off, they are evaluated where the text has them.
        filter_push_down: bool = true,
        /// A disjunction over several relations also gives each of them a disjunction of its own.
        partial_predicates: bool = true,
        /// A predicate on one side of an equality holds for the other side.
        transitive_predicates: bool = true,
        /// Outer joins whose NULL rows cannot survive become inner ones.
        outer_join_simplification: bool = true,
        /// Only the columns needed above leave a node.
        projection_push_down: bool = true,
        /// Comparisons of a column with constants are evaluated inside the blocks.
        block_predicates: bool = true,
        /// ORDER BY with LIMIT keeps only the first rows, a filter on row_number() or rank() those of each partition.
        top_k: bool = true,
        /// Group keys that another group key determines are not hashed.
        group_key_reduction: bool = true,
        /// Rows are grouped below a join where few groups are left to join.
        eager_aggregation: bool = true,
        /// Sums over one column, moved and scaled by constants, come from its sum and its count.
        shared_sums: bool = true,
        /// Columns that nothing looks at travel as row references, and are fetched for the rows that are left.
        late_materialization: bool = true,
        /// Aggregations, and joins below them, that a query contains more than once run once.
        common_subplans: bool = true,
        /// DISTINCT over rows that are distinct anyway is dropped.
        distinct_removal: bool = true,
        /// Joins that only test for existence become semi-joins.
        exact_filters: bool = true,
        /// Outer joins that can neither drop nor repeat rows, and of which no column is used, are dropped.
        join_elimination: bool = true,
        /// The smaller side of a join is built; off, the right side is.
        build_side: bool = true,
        /// Rows that a condition compares by order are sorted and searched (RangeJoin, crowded keys of a HashJoin).
        range_joins: bool = true,
        /// Builds fill filters that scans below the probe side apply (LIP).
        runtime_filters: bool = true,
        /// Those filters go through aggregations too, so that only groups that are asked for are made (magic sets).
        magic_sets: bool = true,
        /// Decimals become 64-bit integers, and overflow checks go, where bounds prove that nothing can overflow.
        narrow_decimals: bool = true,
        /// Joins along foreign keys become scans of wide tables made of the same tables.
        wide_tables: bool = true,
        /// Selectivities come from evaluating filters on sampled blocks.
        sampling: bool = true,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn switches_are_set_by_name_and_shown_again() {
        let mut settings = Settings::default();
        for (name, off) in Settings::OFF {
            assert_ne!(settings.get(name), Some(*off), "{name} is on by default");
            assert!(settings.set(name, off).unwrap());
            assert_eq!(settings.get(name), Some(*off));
        }
        assert_eq!(settings, Settings::all_off());
        assert!(!settings.set("workers", "2").unwrap());
        assert!(settings.set("top_k", "maybe").is_err());
    }
}
