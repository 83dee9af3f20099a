//! The optimizer's switches, one a technique, by the names that `SET` and `SHOW` use.
//!
//! Every combination must give the same answers: a switch changes the plan, never the result.

use types::{Error, Result, SqlState};

/// `SET join_order = 'optimized' | 'written'`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum JoinOrder {
    #[default]
    Optimized,
    /// As the text has it: left side probes, right side builds.
    Written,
}

macro_rules! settings {
    ($($(#[doc = $doc:literal])* $name:ident),* $(,)?) => {
        /// The switches; all on by default.
        #[derive(Clone, Debug, PartialEq, Eq)]
        pub struct Settings {
            /// How the order of joins is chosen.
            pub join_order: JoinOrder,
            $($(#[doc = $doc])* pub $name: bool,)*
        }

        impl Default for Settings {
            fn default() -> Self {
                Settings { join_order: JoinOrder::Optimized, $($name: true,)* }
            }
        }

        impl Settings {
            /// The names of all switches.
            pub const NAMES: &'static [&'static str] = &["join_order", $(stringify!($name)),*];

            /// Name and meaning of every switch, for SHOW ALL.
            pub const MEANINGS: &'static [(&'static str, &'static str)] = &[
                ("join_order", "optimized, or written: joins in the order of the text"),
                $((stringify!($name), concat!($($doc),*)),)*
            ];

            /// Every technique off: the plain translation of the text.
            pub fn all_off() -> Self {
                Settings { join_order: JoinOrder::Written, $($name: false,)* }
            }

            fn switch(&mut self, name: &str) -> Option<&mut bool> {
                match name {
                    $(stringify!($name) => Some(&mut self.$name),)*
                    _ => None,
                }
            }

            /// The value as `SHOW` prints it; `None` for a name that is not the optimizer's.
            pub fn get(&self, name: &str) -> Option<&'static str> {
                let on = |b: bool| if b { "on" } else { "off" };
                match name {
                    "join_order" => Some(match self.join_order {
                        JoinOrder::Optimized => "optimized",
                        JoinOrder::Written => "written",
                    }),
                    $(stringify!($name) => Some(on(self.$name)),)*
                    _ => None,
                }
            }
        }
    };
}

settings! {
    /// Constant folding and boolean simplification; conjuncts common to all branches of an OR come out of it.
    simplification,
    /// Predicates move to the scans; off, they are evaluated where the text has them.
    filter_push_down,
    /// A disjunction over several relations also gives each of them a disjunction of its own.
    partial_predicates,
    /// A predicate on one side of an equality holds for the other side.
    transitive_predicates,
    /// Outer joins whose NULL rows cannot survive become inner ones.
    outer_join_simplification,
    /// Only the columns needed above leave a node.
    projection_push_down,
    /// Comparisons of a column with constants are evaluated inside the blocks.
    block_predicates,
    /// ORDER BY with LIMIT keeps only the first rows, a filter on row_number() or rank() those of each partition.
    top_k,
    /// Group keys that another group key determines are not hashed.
    group_key_reduction,
    /// Rows are grouped below a join where few groups are left to join.
    eager_aggregation,
    /// Sums over one column, moved and scaled by constants, come from its sum and its count.
    shared_sums,
    /// Columns that nothing looks at travel as row references, and are fetched for the rows that are left.
    late_materialization,
    /// Aggregations, and joins below them, that a query contains more than once run once.
    common_subplans,
    /// DISTINCT over rows that are distinct anyway is dropped.
    distinct_removal,
    /// Joins that only test for existence become semi-joins.
    exact_filters,
    /// Outer joins that can neither drop nor repeat rows, and of which no column is used, are dropped.
    join_elimination,
    /// The smaller side of a join is built; off, the right side is.
    build_side,
    /// Rows that a condition compares by order are sorted and searched (RangeJoin, crowded keys of a HashJoin).
    range_joins,
    /// Builds fill filters that scans below the probe side apply (LIP).
    runtime_filters,
    /// Those filters go through aggregations too, so that only groups that are asked for are made (magic sets).
    magic_sets,
    /// Decimals become 64-bit integers, and overflow checks go, where bounds prove that nothing can overflow.
    narrow_decimals,
    /// Joins along foreign keys become scans of wide tables made of the same tables.
    wide_tables,
    /// Selectivities come from evaluating filters on sampled blocks.
    sampling,
}

impl Settings {
    /// Sets a switch; `Ok(false)` for a name that is not the optimizer's.
    pub fn set(&mut self, name: &str, value: &str) -> Result<bool> {
        let value = value.trim().to_ascii_lowercase();
        let refuse = |expected: &str| {
            Err(Error::new(
                SqlState::InvalidParameterValue,
                format!("invalid value for setting \"{name}\": \"{value}\""),
            )
            .with_hint(format!("use {expected}")))
        };
        if name == "join_order" {
            self.join_order = match value.as_str() {
                "optimized" => JoinOrder::Optimized,
                "written" => JoinOrder::Written,
                _ => return refuse("optimized or written"),
            };
            return Ok(true);
        }
        let Some(switch) = self.switch(name) else { return Ok(false) };
        *switch = match value.as_str() {
            "on" | "true" | "1" | "yes" => true,
            "off" | "false" | "0" | "no" => false,
            _ => return refuse("on or off"),
        };
        Ok(true)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn switches_are_set_by_name_and_shown_again() {
        let mut settings = Settings::default();
        for name in Settings::NAMES.iter().filter(|n| **n != "join_order") {
            assert_eq!(settings.get(name), Some("on"));
            assert!(settings.set(name, "off").unwrap());
            assert_eq!(settings.get(name), Some("off"));
        }
        assert!(settings.set("join_order", "written").unwrap());
        assert_eq!(settings, Settings::all_off());
        assert!(!settings.set("workers", "2").unwrap());
        assert_eq!(settings.set("top_k", "maybe").unwrap_err().state(), SqlState::InvalidParameterValue);
    }
}
