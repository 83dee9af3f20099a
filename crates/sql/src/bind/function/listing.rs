//! The functions there are: the names that the binder knows, held against the entries of `functions`, which
//! `quickstep_functions()` shows.
//!
//! Called when the table function is bound, and by `library` for names that are near an unknown one. A test proves
//! that what is listed exists.

use crate::bind::function::{self, aggregate, library, other_calls, own, postgres_calls, window};
use crate::bind::nested::nested_calls;
use crate::functions::{self, FunctionInfo};

/// Aggregates under all their names; the test below holds the list against the binder.
const AGGREGATES: [&str; 91] = [
    "any_value",
    "approx_count_distinct",
    "approx_distinct",
    "approx_median",
    "approx_quantile",
    "approx_top_k",
    "decimal_average",
    "lttb",
    "arbitrary",
    "arg_max",
    "arg_max_null",
    "arg_max_nulls_last",
    "arg_min",
    "arg_min_null",
    "arg_min_nulls_last",
    "argmax",
    "argmin",
    "array_agg",
    "avg",
    "bit_and",
    "bit_or",
    "bit_xor",
    "bitstring_agg",
    "bool_and",
    "bool_or",
    "corr",
    "count",
    "count_if",
    "count_star",
    "countif",
    "covar_pop",
    "covar_samp",
    "entropy",
    "every",
    "favg",
    "first",
    "fsum",
    "geomean",
    "geometric_mean",
    "group_concat",
    "histogram",
    "histogram_exact",
    "json_agg",
    "json_group_array",
    "json_group_object",
    "json_object_agg",
    "jsonb_agg",
    "jsonb_object_agg",
    "kahan_sum",
    "kurtosis",
    "kurtosis_pop",
    "last",
    "list",
    "listagg",
    "mad",
    "max",
    "max_by",
    "mean",
    "median",
    "min",
    "min_by",
    "mode",
    "percentile_cont",
    "percentile_disc",
    "product",
    "quantile",
    "quantile_cont",
    "quantile_disc",
    "regr_avgx",
    "regr_avgy",
    "regr_count",
    "regr_intercept",
    "regr_r2",
    "regr_slope",
    "regr_sxx",
    "regr_sxy",
    "regr_syy",
    "reservoir_quantile",
    "sem",
    "skewness",
    "stddev",
    "stddev_pop",
    "stddev_samp",
    "string_agg",
    "sum",
    "sumkahan",
    "var_pop",
    "var_samp",
    "variance",
    "wavg",
    "weighted_avg",
];

const WINDOWS: [&str; 12] = [
    "cume_dist",
    "dense_rank",
    "fill",
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

/// Functions that stand in FROM, macros and functions that list the catalog excluded.
pub(crate) const TABLE_FUNCTIONS: [&str; 52] = [
    "test_all_types",
    "test_vector_types",
    "json_to_record",
    "json_to_recordset",
    "jsonb_to_record",
    "jsonb_to_recordset",
    "generate_series",
    "generate_subscripts",
    "regexp_split_to_table",
    "string_to_table",
    "range",
    "repeat",
    "query",
    "histogram_values",
    "query_table",
    "unnest",
    "json_each",
    "json_each_text",
    "json_array_elements",
    "json_array_elements_text",
    "json_object_keys",
    "jsonb_each",
    "jsonb_each_text",
    "jsonb_array_elements",
    "jsonb_array_elements_text",
    "jsonb_object_keys",
    "json_populate_record",
    "json_populate_recordset",
    "jsonb_path_query",
    "jsonb_path_query_tz",
    "jsonb_populate_record",
    "jsonb_populate_recordset",
    "read_parquet",
    "read_csv",
    "read_json",
    "read_ndjson",
    "read_arrow",
    "read_tbl",
    "sniff_csv",
    "delta_scan",
    "delta_history",
    "iceberg_scan",
    "iceberg_snapshots",
    "iceberg_metadata",
    "which_secret",
    "glob",
    "parquet_file_metadata",
    "parquet_kv_metadata",
    "parquet_metadata",
    "parquet_schema",
    "read_blob",
    "read_text",
];

/// Every function's name and kind that a call is bound by.
pub(crate) fn function_names() -> Vec<(String, &'static str)> {
    let mut scalars: Vec<&str> = library::names().chain(function::OWN).chain(own::names()).collect();
    scalars.extend(nested_calls::NAMES);
    scalars.extend(postgres_calls::NAMES);
    scalars.extend(other_calls::NAMES);
    scalars.sort_unstable();
    scalars.dedup();
    scalars.retain(|n| !(aggregate::is_aggregate(n) || window::is_window_function(n)));
    let kinds: [(&'static str, &[&str]); 4] =
        [("aggregate", &AGGREGATES), ("scalar", &scalars), ("table", &TABLE_FUNCTIONS), ("window", &WINDOWS)];
    kinds.iter().flat_map(|(kind, names)| names.iter().map(|n| ((*n).to_owned(), *kind))).collect()
}

/// Every function with what is said about it, by kind and name.
pub fn functions() -> Vec<FunctionInfo> {
    let mut all: Vec<FunctionInfo> = functions::described().collect();
    all.sort_by_key(|f| (f.kind, f.name));
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_listed_exists() {
        assert!(AGGREGATES.iter().all(|n| aggregate::function_named(n).is_some()));
        assert!(WINDOWS.iter().all(|n| window::is_window_function(n)));
        assert!(functions().iter().any(|f| f.name == "upper" && f.kind == "scalar"));
    }
}
