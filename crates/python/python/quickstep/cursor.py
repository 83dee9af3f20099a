"""DB-API cursors."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from . import _native
from .errors import InterfaceError, classified, in_row
from .parameters import Parameters, bind
from .rows import Rows

if TYPE_CHECKING:
    from .connection import Connection


class Cursor(Rows):
    """A DB-API cursor: one result at a time, read while its query runs."""

    def __init__(self, connection: Connection) -> None:
        self.connection = connection
        self.arraysize = 1
        self._stream: _native.Stream | None = None
        # Rows of `executemany`.
        self._many: int | None = None
        self._closed = False

    def execute(self, query: str, parameters: Parameters | None = None) -> Cursor:
        """Runs statements; the rows are the last one's. Returns when the first of them are there."""
        if self._closed:
            raise InterfaceError("the cursor is closed")
        self.connection._check_open()
        self._end()
        self._many = None
        self._stream = self.connection._stream(bind(query, parameters), {})
        return self

    def executemany(self, query: str, rows: Iterable[Parameters]) -> Cursor:
        """Runs a statement for each set of parameters: for all of them or, after an error, which names the row, for none.
        An INSERT of one row of parameters is run once, with all rows."""
        if self._closed:
            raise InterfaceError("the cursor is closed")
        connection = self.connection
        connection._check_open()
        self._end()
        self._many = None
        listed = rows if isinstance(rows, list) else list(rows)
        if len(listed) > 1:
            with connection._names, classified():
                self._many = connection._native.insert_many(query, listed)
            if self._many is not None:
                return self
        alone = len(listed) > 1 and not connection._native.in_transaction()
        if alone:
            connection._native.sql("BEGIN")
        total = 0
        try:
            for number, parameters in enumerate(listed, 1):
                try:
                    self.execute(query, parameters)
                except _native.Error as error:
                    raise in_row(error, number) from error.__cause__
                total += max(self.rowcount, 0)
            if alone:
                connection._native.sql("COMMIT")
        except BaseException:
            if alone and not connection._closed and connection._native.in_transaction():
                connection._native.sql("ROLLBACK")
            raise
        if self._stream is None or not self._stream.has_rows:
            self._many = total
        return self

    def _open(self) -> _native.Stream:
        if self._closed:
            raise InterfaceError("the cursor is closed")
        self.connection._check_open()
        if self._stream is None:
            raise InterfaceError("no statement has been executed")
        return self._stream

    def _whole(self, at_once: bool = False) -> Any:
        return self._open()

    def __arrow_c_stream__(self, requested_schema: Any = None) -> Any:
        with classified():
            return self._open().__arrow_c_stream__(requested_schema)

    def fetchmany(self, size: int | None = None) -> list[tuple[Any, ...]]:
        """The next rows: `arraysize` of them when no size is given."""
        return super().fetchmany(self.arraysize if size is None else size)

    @property
    def description(self) -> list[tuple[Any, ...]] | None:
        """Name, type and nullability of the columns."""
        return self._stream.description if self._stream is not None and self._stream.has_rows else None

    @property
    def rowcount(self) -> int:
        """Rows that the statement inserted, or rows of the query once all were read; -1 before."""
        if self._many is not None:
            return self._many
        if self._stream is None:
            return -1
        if self._stream.has_rows:
            total = self._stream.total
            return -1 if total is None else total
        last = self._stream.tag.rpartition(" ")[2]
        return int(last) if last.isdigit() else -1

    def setinputsizes(self, sizes: Any) -> None:
        """Nothing needs to know."""

    def setoutputsize(self, size: int, column: int | None = None) -> None:
        """Nothing needs to know."""

    def _end(self) -> None:
        if self._stream is not None:
            self._stream.close()
            self._stream = None

    def close(self) -> None:
        """Ends the query and lets the rows go."""
        self._end()
        self._closed = True

    def __enter__(self) -> Cursor:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        if self._stream is None:
            return "<quickstep.Cursor>"
        return f"<quickstep.Cursor {self._stream.tag} ({', '.join(self._stream.columns)})>"
