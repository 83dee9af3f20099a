"""MonetDB as a library (monetdbe), with an in-memory database.

The package hands decimals back as whole numbers without their scale and does
not know 128-bit ones at all.  So a query's column types are found out once,
before its first timed execution, from an empty table made of it; after that its
columns become Arrow arrays straight from the library's memory.
"""

from __future__ import annotations

from dataclasses import dataclass
from importlib import metadata
from pathlib import Path
from typing import Any

import monetdbe
import numpy as np
import pyarrow as pa
from monetdbe._cffi.internal import result_fetch
from monetdbe._lowlevel import ffi, lib

from compare.csv_files import csv_file
from compare.engines.base import Configuration
from compare.engines.tables import create_table

INT128 = 5
# The library's codes of fixed-width types; NULL is the smallest value, or NaN.
WIDTHS = {
    lib.monetdbe_bool: np.dtype(np.int8),
    lib.monetdbe_int8_t: np.dtype(np.int8),
    lib.monetdbe_int16_t: np.dtype(np.int16),
    lib.monetdbe_int32_t: np.dtype(np.int32),
    lib.monetdbe_int64_t: np.dtype(np.int64),
    lib.monetdbe_float: np.dtype(np.float32),
    lib.monetdbe_double: np.dtype(np.float64),
}
MEBIBYTE = 2**20


@dataclass(frozen=True)
class ColumnType:
    name: str
    scale: int


class MonetDbEngine:
    """COPY INTO from CSV, no keys, ANALYZE."""

    def start(self, configuration: Configuration) -> None:
        self._connection = monetdbe.connect(
            autocommit=True,
            nr_threads=configuration.threads,
            memorylimit=configuration.memory_bytes // MEBIBYTE,
        )
        self._types: dict[str, list[ColumnType]] = {}

    def version(self) -> str:
        return f"monetdbe {metadata.version('monetdbe')} (MonetDB {library_version()})"

    def description(self) -> str:
        return "in-memory database in the process, COPY INTO from CSV, no keys, ANALYZE"

    def load(self, table: str, file: Path) -> None:
        self._do(create_table(table, file))
        self._do(
            f"copy into {table} from '{csv_file(file)}' using delimiters ',', E'\\n', '\"' null as ''"
        )

    def finish_loading(self) -> None:
        self._do("analyze sys")

    def query(self, sql: str) -> pa.Table:
        if sql not in self._types:
            self._types[sql] = self._column_types(sql)
        return self._fetch(sql, self._types[sql])

    def _do(self, sql: str) -> None:
        self._connection.query(sql, make_result=False)

    def _column_types(self, sql: str) -> list[ColumnType]:
        """Runs the query for the number of its columns, some of which have no names."""
        result, _ = self._connection.query(sql, make_result=True)
        names = ", ".join(f"c{number}" for number in range(result.ncols))
        self._clean_up(result)
        if not names:
            raise RuntimeError("a result without columns")
        self._do(f"create local temporary table answer ({names}) as (\n{sql}\n) with no data")
        try:
            types = self._fetch(
                "select c.type, c.type_scale from sys.columns c, sys.tables t"
                " where c.table_id = t.id and t.name = 'answer' order by c.number",
                [ColumnType("varchar", 0), ColumnType("int", 0)],
            )
        finally:
            self._do("drop table answer")
        return [ColumnType(row["type"], row["type_scale"]) for row in types.to_pylist()]

    def _clean_up(self, result: Any) -> None:
        lib.monetdbe_cleanup_result(self._connection._internal._monetdbe_database, result)

    def _fetch(self, sql: str, types: list[ColumnType]) -> pa.Table:
        result, _ = self._connection.query(sql, make_result=True)
        try:
            fetched = [result_fetch(result, number) for number in range(result.ncols)]
            names = [ffi.string(column.name).decode() for column in fetched]
            columns = [
                column_array(column, result.nrows, kind)
                for column, kind in zip(fetched, types, strict=True)
            ]
            return pa.Table.from_arrays(columns, names)
        finally:
            self._clean_up(result)

    def close(self) -> None:
        self._connection.close()


def column_array(column: Any, rows: int, kind: ColumnType) -> pa.Array:
    """One column of a result as Arrow; copies, since the result is freed."""
    if rows == 0:
        return pa.array([], pa.decimal128(38, kind.scale) if kind.name == "decimal" else None)
    if column.type == INT128:
        return wide_array(column, rows, kind.scale)
    if column.type in WIDTHS:
        dtype = WIDTHS[column.type]
        values = np.frombuffer(ffi.buffer(column.data, rows * dtype.itemsize), dtype).copy()
        null = np.isnan(values) if dtype.kind == "f" else values == np.iinfo(dtype).min
        if kind.name != "decimal":
            return pa.array(values, mask=null)
        halves = np.stack([values.astype(np.int64), values.astype(np.int64) >> 63], axis=1)
        return decimal_array(halves, null, kind.scale)
    if column.type == lib.monetdbe_str:
        texts = ffi.cast("monetdbe_column_str *", column)
        return pa.array([text_of(texts.data[row]) for row in range(rows)], pa.string())
    if column.type == lib.monetdbe_date:
        days = ffi.cast("monetdbe_column_date *", column)
        return pa.array([day_of(days, row) for row in range(rows)], pa.string())
    raise TypeError(f"no Arrow type for MonetDB's {kind.name}")


def wide_array(column: Any, rows: int, scale: int) -> pa.Array:
    """128-bit whole numbers, low half first, which is how Arrow has decimals."""
    halves = np.frombuffer(ffi.buffer(column.data, rows * 16), np.int64).reshape(rows, 2).copy()
    null = (halves[:, 1] == np.iinfo(np.int64).min) & (halves[:, 0] == 0)
    return decimal_array(halves, null, scale)


def decimal_array(halves: np.ndarray[Any, Any], null: np.ndarray[Any, Any], scale: int) -> pa.Array:
    valid = pa.py_buffer(np.packbits(~null, bitorder="little").tobytes())
    values = pa.py_buffer(np.ascontiguousarray(halves).tobytes())
    return pa.Array.from_buffers(pa.decimal128(38, scale), len(null), [valid, values])


def text_of(text: Any) -> str | None:
    return None if text == ffi.NULL else ffi.string(text).decode()


def day_of(column: Any, row: int) -> str | None:
    day = column.data[row]
    return None if column.is_null(column.data + row) else f"{day.year:04}-{day.month:02}-{day.day:02}"


def library_version() -> str:
    """MonetDB's own version: the library only tells its interface's."""
    folder = Path(monetdbe.__file__).parent.with_name("monetdbe.libs")
    names = [file.name for file in folder.glob("libmonetdbsql-*.so.*")]
    return names[0].partition(".so.")[2] if names else "unknown"
