//! Functions that are told apart by their names before anything of the call is bound.

use syntax::tree;

use crate::words::folded;

/// `setval` with three arguments goes by a name of its own: a function of the host program has one number of them.
pub const SETVAL_CALLED: &str = "setval called";

/// The name of a function that has no schema before it, or the catalog's.
pub(crate) fn catalog_name(path: &tree::Path) -> Option<&tree::Name> {
    match path.names.as_slice() {
        [name] => Some(name),
        [schema, name] if matches!(&*folded(schema), crate::PG_CATALOG | "information_schema") => Some(name),
        _ => None,
    }
}

/// Functions whose argument is a lambda, by the names they go by.
pub(crate) fn takes_lambda(name: &str) -> Option<&'static str> {
    Some(match name {
        "list_transform" | "array_transform" | "list_apply" | "array_apply" | "apply" => "list_transform",
        "list_filter" | "array_filter" | "filter" => "list_filter",
        "list_reduce" | "array_reduce" | "reduce" => "list_reduce",
        _ => return None,
    })
}

/// Whether a call is one of these.
pub(crate) fn is_hypothetical(name: &str, call: &tree::Call) -> bool {
    matches!(name, "rank" | "dense_rank" | "percent_rank" | "cume_dist")
        && call.over.is_none()
        && !call.within_group.is_empty()
}

/// Whether a function gives rows. `regexp_matches` does so in the select list and in FROM; in conditions it says
/// whether there is a match, as in DuckDB.
pub(crate) fn gives_rows(name: &str) -> bool {
    matches!(
        name.replace("jsonb_", "json_").as_str(),
        "json_each"
            | "json_each_text"
            | "json_array_elements"
            | "json_array_elements_text"
            | "json_object_keys"
            | "json_path_query"
            | "json_populate_record"
            | "json_populate_recordset"
            | "json_path_query_tz"
            | "generate_subscripts"
            | "_pg_expandarray"
            | "aclexplode"
            | "pg_options_to_table"
            | "pg_partition_ancestors"
            | "regexp_matches"
            | "regexp_split_to_table"
            | "string_to_table"
    )
}

/// Whether a function's columns are what its alias says: `json_to_record(j) AS x(a INT, b TEXT)`.
pub(crate) fn gives_records(name: &str) -> bool {
    matches!(name.replace("jsonb_", "json_").as_str(), "json_to_record" | "json_to_recordset")
}

/// The name, where it is that of a series.
pub(crate) fn series_name(name: &tree::Path) -> Option<String> {
    let name = folded(catalog_name(name)?);
    matches!(name.as_str(), "generate_series" | "range").then_some(name)
}

/// Functions in FROM that make rows of a list's elements.
pub(crate) fn expanded(name: &tree::Path) -> Option<String> {
    let name = folded(catalog_name(name)?);
    (gives_rows(&name) || gives_records(&name)).then_some(name)
}
