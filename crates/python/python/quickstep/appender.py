"""Adds many rows to a table, a row at a time."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from .errors import InterfaceError, _class_of, classified, in_row
from . import _native

if TYPE_CHECKING:
    from .connection import Connection

# Each INSERT makes blocks of its own and, on disk, waits for the disk.
ROWS_MAX = 1 << 17


class Appender:
    """Keeps rows and inserts many of them at a time: see `Connection.appender`. Each of these INSERTs is a transaction of
    its own, unless one is open. Errors name the row, counted from 1; none of the rows that were inserted with it is added."""

    def __init__(self, connection: Connection, table: str, columns: Sequence[str] | None = None) -> None:
        named = f" ({', '.join(columns)})" if columns is not None else ""
        with classified():
            listed = ", ".join(columns) if columns is not None else connection._native.filled_columns(table)
            described = connection._native.describe(f"SELECT {listed} FROM {table}")
        if described is None:
            raise InterfaceError(f"{table!r} is no name of a table")
        self._width = len(described)
        marks = ", ".join("?" * self._width)
        self._insert = f"INSERT INTO {table}{named} VALUES ({marks})"
        self._connection = connection
        self._rows: list[Sequence[Any]] = []
        self._given = 0
        self._closed = False

    def append(self, *values: Any) -> None:
        """Adds a row, a value for each column."""
        self.append_row(values)

    def append_row(self, row: Sequence[Any]) -> None:
        """Adds a row: a list or tuple with a value for each column."""
        if self._closed:
            raise InterfaceError("the appender is closed")
        if len(row) != self._width:
            raise InterfaceError(f"row {self._given + 1}: {len(row)} values for {self._width} columns")
        self._rows.append(row)
        self._given += 1
        if len(self._rows) >= ROWS_MAX:
            self.flush()

    def append_rows(self, rows: Iterable[Sequence[Any]]) -> None:
        """Adds rows, up to the first error."""
        for row in rows:
            self.append_row(row)

    def flush(self) -> None:
        """Inserts the rows that are kept. After an error none of them is inserted, and they are gone."""
        rows, self._rows = self._rows, []
        if not rows:
            return
        first = self._given - len(rows) + 1
        with self._connection._names, classified():
            self._connection._begin_before(self._insert)
            if self._connection._native.insert_many(self._insert, rows, first) is not None:
                return
        alone = self._connection.autocommit and not self._connection._native.in_transaction()
        if alone:
            self._connection.begin()
        try:
            for number, row in enumerate(rows, first):
                try:
                    self._connection.execute(self._insert, row)
                except _native.Error as error:
                    raise _class_of(in_row(error, number)) from error.__cause__
            if alone:
                self._connection.commit()
        except BaseException:
            if alone and self._connection._native.in_transaction():
                self._connection.rollback()
            raise

    def close(self) -> None:
        """Inserts what is kept, and ends."""
        if not self._closed:
            self._closed = True
            self.flush()

    def __enter__(self) -> Appender:
        return self

    def __exit__(self, kind: object, *_: object) -> None:
        # After an error in the block what is kept is not wanted.
        if kind is not None:
            self._rows = []
        self.close()

    def __repr__(self) -> str:
        return f"<quickstep.Appender {self._given} rows>"
