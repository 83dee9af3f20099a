"""Quickstep through its Python package."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import quickstep

from compare.engines.base import Configuration


class QuickstepEngine:
    """CREATE TABLE AS from Parquet into blocks in memory."""

    def start(self, configuration: Configuration) -> None:
        self._connection = quickstep.connect(
            workers=configuration.threads,
            memory=f"{configuration.memory_bytes // 2**20}MB",
        )
        # Every execution holds its planning, as those of engines that keep no plans do.
        self._connection.execute("SET plan_cache = off")
        for name, value in configuration.settings.items():
            self._connection.execute(f"SET {name} = '{value}'")

    def version(self) -> str:
        return str(getattr(quickstep, "__version__", "unknown"))

    def description(self) -> str:
        return "in memory, CREATE TABLE AS from Parquet, no keys or indexes, plan cache off"

    def load(self, table: str, file: Path) -> None:
        self._connection.execute(f"CREATE TABLE {table} AS SELECT * FROM '{file}'")

    def query(self, sql: str) -> pa.Table:
        return self._connection.sql(sql).arrow()

    def close(self) -> None:
        close = getattr(self._connection, "close", None)
        if close is not None:
            close()
