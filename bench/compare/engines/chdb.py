"""ClickHouse as a library (chdb), with MergeTree tables in a scratch folder."""

from __future__ import annotations

from pathlib import Path

import chdb
import pyarrow as pa
from chdb import session as chdb_session

from compare.engines.base import Configuration
from compare.engines.tables import primary_key

# A MergeTree table must be ordered by something: its key, which is what its
# users would choose, and SSB's fact table by date first, as its makers have it.
ORDER_OF_TABLE = {
    "lineorder": "lo_orderdate, lo_orderkey",
    "lineorder_flat": "lo_orderdate, lo_orderkey",
}


class ClickHouseEngine:
    """MergeTree tables, merged to one part each while loading."""

    def start(self, configuration: Configuration) -> None:
        self._session = chdb_session.Session(str(configuration.scratch / "chdb"))
        settings = {
            "max_threads": str(configuration.threads),
            "max_memory_usage": str(configuration.memory_bytes),
            # SQL's NULLs, from outer joins and sums of nothing; none of ClickHouse's
            # own where a file declares a column nullable but holds no NULL.
            "join_use_nulls": "1",
            "aggregate_functions_null_for_empty": "1",
            "schema_inference_make_columns_nullable": "0",
            # UNION alone removes duplicates; NULL stays NULL in a cast.
            "union_default_mode": "'DISTINCT'",
            "cast_keep_nullable": "1",
            # Caches of conditions and results would answer the later runs.
            "use_query_condition_cache": "0",
            "use_query_cache": "0",
            "output_format_arrow_string_as_string": "1",
            "max_execution_time": f"{configuration.query_seconds_max:.0f}",
            **configuration.settings,
        }
        for name, value in settings.items():
            self._session.query(f"set {name} = {value}")
        self._session.query("create database if not exists bench")
        self._session.query("use bench")

    def version(self) -> str:
        server = str(self._session.query("select version()")).strip().strip('"')
        return f"{chdb.__version__} (ClickHouse {server})"

    def description(self) -> str:
        return "MergeTree tables ordered by key, merged while loading, caches off"

    def load(self, table: str, file: Path) -> None:
        order = ORDER_OF_TABLE.get(table) or primary_key(table, file)
        self._session.query(
            f"create table {table} engine = MergeTree order by ({order}) "
            f"as select * from file('{file}', Parquet)"
        )
        self._session.query(f"optimize table {table} final")

    def query(self, sql: str) -> pa.Table:
        stream = self._session.query(sql, "ArrowStream").bytes()
        if not stream:
            return pa.table({})
        return pa.ipc.open_stream(pa.py_buffer(stream)).read_all()

    def close(self) -> None:
        self._session.close()
