"""DataFusion over Arrow record batches held in memory."""

from __future__ import annotations

import os
from pathlib import Path

import pyarrow as pa

from compare.engines.base import Configuration


class DataFusionEngine:
    """DataFusion has no tables of its own: memory tables of Arrow batches."""

    def start(self, configuration: Configuration) -> None:
        # Read once, when the package makes its runtime: so before the import.
        os.environ["TOKIO_WORKER_THREADS"] = str(configuration.threads)
        import datafusion

        self._package = datafusion
        runtime = datafusion.RuntimeEnvBuilder().with_fair_spill_pool(configuration.memory_bytes)
        session = datafusion.SessionConfig().with_target_partitions(configuration.threads)
        for name, value in configuration.settings.items():
            session = session.set(name, value)
        self._context = datafusion.SessionContext(session, runtime)

    def version(self) -> str:
        return str(self._package.__version__)

    def description(self) -> str:
        return "Arrow record batches in memory, collected from Parquet"

    def load(self, table: str, file: Path) -> None:
        frame = self._context.read_parquet(str(file))
        self._context.register_record_batches(table, frame.collect_partitioned())

    def query(self, sql: str) -> pa.Table:
        return self._context.sql(sql).to_arrow_table()

    def close(self) -> None:
        del self._context
