"""HyPer, as Tableau ships it: a server process beside the Python package.

The package offers rows as Python objects only.  `COPY (query) TO STDOUT` with
the `arrowstream` format gives the same rows as an Arrow stream, without a file
between: so HyPer is asked for Arrow as everyone else is.  The package's own
cursor would save HyPer about 0.2 ms a query; reading rows as Python objects
would cost it far more than that on wide answers.
"""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import tableauhyperapi
from tableauhyperapi import Connection, CreateMode, HyperProcess, Telemetry
from tableauhyperapi.impl import hapi
from tableauhyperapi.impl.dll import ffi
from tableauhyperapi.impl.dllutil import Error

from compare.engines.base import Configuration

# Database format 4 is the newest: the only one with 128-bit decimals.
# Remembered query results would answer every run but the first from a cache.
PROCESS_PARAMETERS = {
    "log_config": "",
    "default_database_version": "4",
    "query_result_cache_probe": "0",
    "query_result_cache_store": "0",
}


class HyperEngine:
    """CREATE TABLE AS from Parquet into a HyPer database file."""

    def start(self, configuration: Configuration) -> None:
        parameters = {
            **PROCESS_PARAMETERS,
            "hard_concurrent_query_thread_limit": str(configuration.threads),
            "soft_concurrent_query_thread_limit": str(configuration.threads),
            "memory_limit": f"{configuration.memory_bytes // 2**20}m",
            **configuration.settings,
        }
        self._server = HyperProcess(
            Telemetry.DO_NOT_SEND_USAGE_DATA_TO_TABLEAU, parameters=parameters
        )
        self._connection = Connection(
            self._server.endpoint,
            configuration.scratch / "bench.hyper",
            CreateMode.CREATE_AND_REPLACE,
        )

    def version(self) -> str:
        return str(tableauhyperapi.__version__)

    def description(self) -> str:
        return (
            "database file of format 4, CREATE TABLE AS from Parquet, no keys, "
            "result cache off, answers by COPY TO STDOUT as Arrow stream"
        )

    def load(self, table: str, file: Path) -> None:
        self._connection.execute_command(
            f"create table {table} as (select * from external('{file}', format => 'parquet'))"
        )

    def query(self, sql: str) -> pa.Table:
        # A line break before the bracket, in case the query ends in a comment.
        copy = f"copy (\n{sql}\n) to stdout with (format => 'arrowstream')"
        stream = pa.py_buffer(self._copy_out(copy))
        return pa.ipc.open_stream(stream).read_all()

    def _copy_out(self, statement: str) -> bytes:
        """All bytes that a COPY TO STDOUT sends.

        The package wraps this call of its C library for files only; the two
        private names used are the connection's handle and the library itself.
        """
        handle = self._connection._Connection__cdata
        rowset = ffi.new("hyper_rowset_t**")
        Error.check(
            hapi.hyper_execute_query_params(
                handle,
                statement.encode(),
                hapi.HYPER_ROWSET_RESULT_FORMAT_HYPER_BINARY,
                rowset,
            )
        )
        pieces: list[bytes] = []
        try:
            while True:
                piece = ffi.new("char**")
                length = ffi.new("size_t*")
                Error.check(hapi.hyper_rowset_get_copy_data(rowset[0], piece, length))
                if piece[0] == ffi.NULL or length[0] == 0:
                    return b"".join(pieces)
                pieces.append(bytes(ffi.buffer(piece[0], length[0])))
                hapi.hyper_rowset_free_copy_data(piece[0])
        finally:
            hapi.hyper_close_rowset(rowset[0])

    def close(self) -> None:
        self._connection.close()
        self._server.close()
