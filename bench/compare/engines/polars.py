"""Polars by its own SQL, over data frames in memory, with the streaming engine."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pyarrow as pa

from compare.engines.base import Configuration


class PolarsEngine:
    """The same SQL text and the same decimals as everyone."""

    def start(self, configuration: Configuration) -> None:
        # Read once, when the package makes its pool: so before the import.
        os.environ["POLARS_MAX_THREADS"] = str(configuration.threads)
        import polars

        self._package = polars
        self._context = polars.SQLContext()
        self._engine = configuration.settings.get("engine", "streaming")

    def version(self) -> str:
        return str(self._package.__version__)

    def description(self) -> str:
        return f"data frames in memory, read from Parquet; its SQL; {self._engine} engine"

    def load(self, table: str, file: Path) -> None:
        self._context.register(table, self._columns(file).lazy())

    def _columns(self, file: Path) -> Any:
        return self._package.read_parquet(file)

    def query(self, sql: str) -> pa.Table:
        return self._context.execute(sql).collect(engine=self._engine).to_arrow()

    def close(self) -> None:
        del self._context


class FloatPolarsEngine(PolarsEngine):
    """Decimals read as doubles: faster, and no longer the same question."""

    def description(self) -> str:
        return f"{super().description()}; every decimal column as float64"

    def _columns(self, file: Path) -> Any:
        decimals = self._package.selectors.decimal()
        return super()._columns(file).with_columns(decimals.cast(self._package.Float64))
