//! PRAGMAs of other systems that are known here.

/// PRAGMAs that list something: the functions `pragma_...` give their rows.
pub(crate) const LISTS: [&str; 9] = [
    "table_info",
    "database_list",
    "version",
    "platform",
    "collations",
    "functions",
    "database_size",
    "show",
    "user_agent",
];
/// Settings that PRAGMA sets as SET does.
pub(crate) const SETTINGS: [&str; 11] = [
    "threads",
    "worker_threads",
    "memory_limit",
    "max_memory",
    "schema",
    "temp_directory",
    "search_path",
    "timezone",
    "default_null_order",
    "null_order",
    "workers",
];
/// Settings by which DuckDB chooses among its own algorithms, formats and plans: whatever they say, answers are the same, so
/// that SET, RESET and PRAGMA take them, do nothing, and say so in a warning.
pub(crate) const SWITCHES: [&str; 24] = [
    "approximate_join_order_threshold",
    "asof_loop_join_threshold",
    "checkpoint_threshold",
    "debug_asof_iejoin",
    "debug_force_external",
    "debug_force_fetch_row",
    "debug_verify_column_bindings",
    "debug_verify_serializer",
    "debug_verify_statement",
    "debug_window_mode",
    "delim_join_as_cte",
    "disabled_optimizers",
    "dynamic_or_filter_threshold",
    "enable_optimizer",
    "force_compression",
    "index_scan_max_count",
    "index_scan_percentage",
    "merge_join_threshold",
    "nested_loop_join_threshold",
    "perfect_ht_threshold",
    "pivot_filter_threshold",
    "prefer_range_joins",
    "storage_compatibility_version",
    "wal_autocheckpoint",
];
/// Switches of DuckDB's tests and caches.
pub(crate) const NOTHING: [&str; 20] = [
    "enable_optimizer",
    "disable_optimizer",
    "enable_verification",
    "disable_verification",
    "verify_external",
    "disable_verify_external",
    "verify_parallelism",
    "disable_verify_parallelism",
    "verify_serializer",
    "disable_verify_serializer",
    "verify_fetch_row",
    "disable_verify_fetch_row",
    "enable_object_cache",
    "disable_object_cache",
    "enable_progress_bar",
    "enable_print_progress_bar",
    "disable_progress_bar",
    "disable_print_progress_bar",
    "enable_checkpoint_on_shutdown",
    "disable_checkpoint_on_shutdown",
];
