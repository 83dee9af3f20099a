//! The functions there are, by name and kind, for `quickstep_functions()`.

use super::{aggregate, from, function, library, nested_calls, window};

/// Aggregates under all their names; the test below holds the list against the binder.
const AGGREGATES: [&str; 46] = [
    "any_value",
    "approx_count_distinct",
    "approx_quantile",
    "array_agg",
    "avg",
    "bit_and",
    "bit_or",
    "bit_xor",
    "bool_and",
    "bool_or",
    "count",
    "count_if",
    "countif",
    "entropy",
    "every",
    "group_concat",
    "histogram",
    "json_agg",
    "json_group_array",
    "json_group_object",
    "json_object_agg",
    "jsonb_agg",
    "jsonb_object_agg",
    "kurtosis",
    "kurtosis_pop",
    "list",
    "listagg",
    "max",
    "median",
    "min",
    "mode",
    "percentile_cont",
    "percentile_disc",
    "product",
    "quantile",
    "quantile_cont",
    "quantile_disc",
    "skewness",
    "stddev",
    "stddev_pop",
    "stddev_samp",
    "string_agg",
    "sum",
    "var_pop",
    "var_samp",
    "variance",
];

const WINDOWS: [&str; 11] = [
    "cume_dist",
    "dense_rank",
    "first_value",
    "lag",
    "last_value",
    "lead",
    "nth_value",
    "ntile",
    "percent_rank",
    "rank",
    "row_number",
];

/// Every function's name and kind: aggregate, scalar, table or window; by kind and name.
pub fn functions() -> Vec<(String, &'static str)> {
    let mut scalars: Vec<&str> = library::names().collect();
    scalars.extend(function::OWN.iter().filter(|n| !aggregate::is_aggregate(n)));
    scalars.extend(nested_calls::NAMES);
    scalars.sort_unstable();
    scalars.dedup();
    let kinds: [(&'static str, &[&str]); 4] = [
        ("aggregate", &AGGREGATES),
        ("scalar", &scalars),
        ("table", &from::TABLE_FUNCTIONS),
        ("window", &WINDOWS),
    ];
    let of_kind = |(kind, names): &(&'static str, &[&str])| -> Vec<(String, &'static str)> {
        names
            .iter()
            .filter(|n| *kind != "scalar" || !(aggregate::is_aggregate(n) || window::is_window_function(n)))
            .map(|n| ((*n).to_owned(), *kind))
            .collect()
    };
    kinds.iter().flat_map(of_kind).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_listed_exists() {
        assert!(AGGREGATES.iter().all(|n| aggregate::function_named(n).is_some()));
        assert!(WINDOWS.iter().all(|n| window::is_window_function(n)));
        assert!(functions().iter().any(|(name, kind)| name == "upper" && *kind == "scalar"));
    }
}
