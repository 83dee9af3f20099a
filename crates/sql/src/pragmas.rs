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
/// Switches of DuckDB's tests and caches.
pub(crate) const NOTHING: [&str; 18] = [
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
