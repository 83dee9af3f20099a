"""DB-API cursors."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

from . import _native
from .errors import InterfaceError, classified, in_row
from .parameters import Parameters, bind
from .rows import Rows, described

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
        self._given = 0
        self._described: list[tuple[Any, ...]] | None = None
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
                connection._begin_before(query)
                self._many = connection._native.insert_many(query, listed)
            if self._many is not None:
                return self
        connection._begin_before(query)
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
        if self._ahead:
            raise InterfaceError(
                f"{len(self._ahead)} rows were read ahead by the iteration, and a table would lack them: end it, "
                "fetch the rest as tuples, or execute the query again"
            )
        return self._open()

    def __arrow_c_stream__(self, requested_schema: Any = None) -> Any:
        with classified():
            return self._whole().__arrow_c_stream__(requested_schema)

    def _next_rows(self, count: int | None) -> list[tuple[Any, ...]]:
        rows = super()._next_rows(count)
        self._given += len(rows)
        return rows

    def __iter__(self) -> Iterator[tuple[Any, ...]]:
        return self

    def __next__(self) -> tuple[Any, ...]:
        self._open()
        if not self._look_ahead() or self._ahead is None:
            raise StopIteration
        self._given += 1
        return self._ahead.popleft()

    def nextset(self) -> None:
        """None: there is one set of rows, that of the last statement."""
        self._open()

    @property
    def rownumber(self) -> int | None:
        """How many rows were fetched, which is the number of the next one from 0; None without a query's rows."""
        return self._given if self._stream is not None and self._stream.has_rows else None

    @property
    def lastrowid(self) -> None:
        """None: rows have no numbers of their own. INSERT ... RETURNING gives keys."""
        return None

    def fetchmany(self, size: int | None = None) -> list[tuple[Any, ...]]:
        """The next rows: `arraysize` of them when no size is given."""
        return super().fetchmany(self.arraysize if size is None else size)

    @property
    def description(self) -> list[tuple[Any, ...]] | None:
        """Of each column its name, its type, which equals one of `STRING`, `NUMBER` and their kin, two times None,
        digits and decimals of a DECIMAL, and whether it may be NULL."""
        if self._stream is None or not self._stream.has_rows:
            return None
        if self._described is None:
            self._described = [described(column) for column in self._stream.description]
        return self._described

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
        """As DB-API asks for it. Nothing is reserved for parameters, so nothing needs to know."""

    def setoutputsize(self, size: int, column: int | None = None) -> None:
        """As DB-API asks for it. Values are fetched whole, whatever their size."""

    def _end(self) -> None:
        self._ahead = self._described = None
        self._given = 0
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
