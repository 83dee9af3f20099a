"""What of DuckDB's published suite asks for DuckDB's own insides, and why.

A record is one of the insides when it stands in a folder that is about nothing else, or when its statement names
something that only DuckDB's implementation has: how it divides and codes its file, its profiles, its log, switches of
its tests, caches of its readers, the bytes of its aggregates' states, the numbers that its random source gives for a
seed, what its extensions register. Another engine can
pass such a record only by copying the implementation. The list is kept small: a setting or a function that has a
meaning for a user (a limit, an order, a format) is not here, whether Quickstep has it or not, nor are features that
Quickstep decided against (triggers, schemas in schemas): these count as failures.

Records are taken out whether they pass or fail, so that the share of the others is not helped by those that pass for
another reason. `duckdb_suite.py` prints both shares.
"""

from __future__ import annotations

import re

FOLDERS: list[tuple[str, str]] = [
    ("test/sql/logging/", "the log that DuckDB keeps of itself"),
    ("test/sql/pragma/profiling/", "profiles, by DuckDB's operators and metrics"),
    ("test/sql/storage/external_file_cache/", "the cache of DuckDB's readers"),
    ("test/sql/aggregate/aggregate_state_export/", "states of aggregates, as DuckDB has them in memory"),
]

STATEMENTS: list[tuple[str, str]] = [
    (r"pragma_storage_info|pragma\s+(storage|metadata)_info|pragma_metadata_info", "segments and codings of DuckDB's file"),
    (r"using\s+compression\s+'?\w+|\bforce_(compression|bitpacking_mode|variant_shredding)|\bdisabled_compression_methods", "codings of DuckDB's file"),
    (r"\b(enable|disable)_profiling|\bprofil(e|ing)_\w+|\btracked_metrics|\bmetrics_output|\blegacy_metrics", "profiles, by DuckDB's operators and metrics"),
    (r"\bduckdb_logs|\b(enable|disable)_logging|\blogging_\w+|\blog_query_path|\bwrite_log\s*\(", "the log that DuckDB keeps of itself"),
    (r"\bdebug_\w+|\benable_verification|\bdisable_verification|\bverify_(external|serializer|parallelism|fetch_row)", "switches of DuckDB's tests"),
    (r"\bexternal_file_cache|\bduckdb_(eviction_queues|memory)\b|\bblock_allocator_memory", "caches and allocators of DuckDB"),
    (r"\brepeatable\s*\(", "the rows that DuckDB's source of random numbers picks for a seed"),
    (r"\bexport_state\b", "states of aggregates, as DuckDB has them in memory"),
    (r"external_resource", "what DuckDB's extensions register"),
    (r"\bstorage_version\b|\bread_duckdb\s*\(|attach\s.*\(\s*type\s+'?duckdb|data/storage/[\w./-]*\.db\b", "DuckDB's file, its versions and its reader"),
]  # fmt: skip

_COMPILED = [(re.compile(pattern, re.I | re.S), reason) for pattern, reason in STATEMENTS]


def reason(file: str, sql: str) -> str | None:
    """Why a record is one of the insides; `None` for all others."""
    for folder, why in FOLDERS:
        if file.startswith(folder):
            return why
    for pattern, why in _COMPILED:
        if pattern.search(sql):
            return why
    return None
