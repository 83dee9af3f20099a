"""The division of the suite's records, and what the runner makes of a file that has both kinds."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

import duckdb_suite
import internals


@pytest.mark.parametrize(
    "file, sql",
    [
        ("test/sql/logging/a.test", "SELECT 1"),
        ("test/sql/storage/a.test", "SELECT compression FROM pragma_storage_info('t')"),
        ("test/sql/storage/a.test", "PRAGMA storage_info('t')"),
        ("test/sql/cte/a.test", "PRAGMA enable_profiling = 'json'"),
        ("test/sql/cte/a.test", "SELECT count(*) FROM duckdb_logs_parsed('x')"),
        ("test/sql/join/a.test", "SET debug_asof_iejoin = true"),
        ("test/sql/sample/a.test", "SELECT min(x) FROM t TABLESAMPLE system (25 PERCENT) REPEATABLE (42)"),
        ("test/sql/attach/a.test", "ATTACH 'a.db' AS b (STORAGE_VERSION 'v1.0.0')"),
        ("test/sql/aggregate/a.test", "SELECT finalize(sum(x) EXPORT_STATE) FROM t"),
    ],
)
def test_insides(file: str, sql: str) -> None:
    assert internals.reason(file, sql)


@pytest.mark.parametrize(
    "file, sql",
    [
        ("test/sql/storage/a.test", "SELECT sum(x) FROM t"),
        ("test/sql/storage/a.test", "CHECKPOINT"),
        ("test/sql/trigger/a.test", "CREATE TRIGGER x AFTER INSERT ON t"),
        ("test/sql/copy/a.test", "COPY t TO 'a.parquet' (COMPRESSION zstd)"),
        ("test/sql/settings/a.test", "SET max_execution_time = 5"),
        ("test/sql/catalog/a.test", "CREATE SCHEMA a.b.c"),
        ("test/sql/pragma/a.test", "SELECT debug FROM t"),
        ("test/sql/sample/a.test", "SELECT count(*) FROM t USING SAMPLE 10 ROWS"),
    ],
)
def test_what_users_mean(file: str, sql: str) -> None:
    assert internals.reason(file, sql) is None


def test_rules_are_few() -> None:
    """A longer list is a sign that failures are hidden in it."""
    assert len(internals.FOLDERS) <= 5
    assert len(internals.STATEMENTS) <= 10


def test_both_shares() -> None:
    counts = duckdb_suite.Counts()
    counts.add("test/sql/cte", passed=True, inside=None)
    counts.add("test/sql/cte", passed=False, inside=None)
    counts.add("test/sql/cte", passed=True, inside="profiles")
    counts.add("test/sql/cte", passed=False, inside="profiles")
    counts.add("test/sql/cte", passed=False, inside="profiles")
    assert counts.shares() == ((2, 5), (1, 2))
    assert counts.by_reason == {"profiles": [1, 2]}


def test_a_record_says_which_kind_it_is(tmp_path: Path) -> None:
    file = tmp_path / "test" / "sql" / "cte" / "a.test"
    file.parent.mkdir(parents=True)
    file.write_text("statement ok\nSELECT 1\n\nstatement ok\nPRAGMA enable_profiling\n")
    records = duckdb_suite.SuiteFile(file, tmp_path)
    outcomes = iter([("", ""), ("error", "not supported")])
    records.outcome = lambda words, sql, expected: next(outcomes)  # type: ignore[method-assign]
    assert [(record["passed"], record["inside"] is not None) for record in records.records()] == [
        (True, False),
        (False, True),
    ]


def test_a_remark_ends_a_statement(tmp_path: Path) -> None:
    file = tmp_path / "test" / "sql" / "a.test"
    file.parent.mkdir(parents=True)
    file.write_text("statement ok\nSELECT 1\n# a remark\nstatement ok\nSELECT\n2\n")
    seen: list[str] = []
    records = duckdb_suite.SuiteFile(file, tmp_path)
    records.outcome = lambda words, sql, expected: seen.append(sql) or ("", "")  # type: ignore[method-assign,func-returns-value]
    assert len(list(records.records())) == 2
    assert seen == ["SELECT 1", "SELECT\n2"]
