"""DuckDB in its own process, with tables in an in-memory database."""

from __future__ import annotations

from pathlib import Path

import duckdb
import pyarrow as pa

from compare.engines.base import Configuration


class DuckDbEngine:
    """CREATE TABLE AS from Parquet: no keys and no indexes, as Quickstep."""

    def start(self, configuration: Configuration) -> None:
        self._connection = duckdb.connect(":memory:")
        settings = {
            "threads": str(configuration.threads),
            "memory_limit": f"{configuration.memory_bytes}B",
            "temp_directory": str(configuration.scratch),
            "enable_progress_bar": "false",
            **configuration.settings,
        }
        for name, value in settings.items():
            self._connection.execute(f"set {name} = '{value}'")

    def version(self) -> str:
        return duckdb.__version__

    def description(self) -> str:
        return "in-memory database, CREATE TABLE AS from Parquet, no keys or indexes"

    def load(self, table: str, file: Path) -> None:
        self._connection.execute(f"create table {table} as select * from read_parquet('{file}')")

    def query(self, sql: str) -> pa.Table:
        return self._connection.sql(sql).to_arrow_table()

    def close(self) -> None:
        self._connection.close()
