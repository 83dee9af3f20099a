"""Spark on this machine alone: `local[N]`, tables cached in the JVM's memory."""

from __future__ import annotations

import os
import threading
from pathlib import Path

import pyarrow as pa

from compare.engines.base import Configuration

# The heap is most of what Spark may have; the rest is Python's and the JVM's own.
HEAP_SHARE = 0.5


class SparkEngine:
    """CACHE TABLE from Parquet, adaptive execution, answers through Arrow."""

    def start(self, configuration: Configuration) -> None:
        os.environ["SPARK_LOCAL_IP"] = "127.0.0.1"
        from pyspark.sql import SparkSession

        self._seconds_max = configuration.query_seconds_max
        self._heap = configuration.settings.get(
            "heap", f"{int(configuration.memory_bytes * HEAP_SHARE) // 2**20}m"
        )
        threads = configuration.threads
        settings = {
            "spark.driver.memory": self._heap,
            "spark.driver.bindAddress": "127.0.0.1",
            "spark.ui.enabled": "false",
            "spark.ui.showConsoleProgress": "false",
            "spark.log.level": "ERROR",
            "spark.local.dir": str(configuration.scratch),
            "spark.sql.warehouse.dir": str(configuration.scratch / "warehouse"),
            "spark.sql.shuffle.partitions": str(threads * 2),
            "spark.default.parallelism": str(threads),
            "spark.sql.adaptive.enabled": "true",
            "spark.sql.cbo.enabled": "true",
            # Names in double quotes, as in standard SQL.
            "spark.sql.ansi.enabled": "true",
            "spark.sql.ansi.doubleQuotedIdentifiers": "true",
            "spark.sql.execution.arrow.pyspark.enabled": "true",
        }
        builder = SparkSession.builder.master(f"local[{threads}]").appName("bench")
        for name, value in settings.items():
            builder = builder.config(name, value)
        self._session = builder.getOrCreate()

    def version(self) -> str:
        return str(self._session.version)

    def description(self) -> str:
        return (
            f"CACHE TABLE from Parquet in a JVM heap of {self._heap}, adaptive execution, "
            "shuffle partitions = 2 x threads, answers by toArrow"
        )

    def load(self, table: str, file: Path) -> None:
        self._session.read.parquet(str(file)).createOrReplaceTempView(table)
        self._session.sql(f"cache table {table}")

    def query(self, sql: str) -> pa.Table:
        timer = threading.Timer(self._seconds_max, self._session.sparkContext.cancelAllJobs)
        timer.start()
        try:
            return self._session.sql(sql).toArrow()
        finally:
            timer.cancel()

    def close(self) -> None:
        self._session.stop()
