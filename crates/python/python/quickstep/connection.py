"""Connections and DB-API cursors."""

from __future__ import annotations

import re
import threading
from collections.abc import Iterable, Iterator
from typing import Any

from . import _native, objects
from .errors import InterfaceError, classified
from .parameters import Parameters, bind
from .relation import Relation

_MISSING = re.compile(r'relation "([^"]+)" does not exist')


class Connection:
    """A session of a database. Threads may share it: statements run one after the other. For statements at the same
    time, each thread takes a `session()` of its own."""

    def __init__(self, native: _native.Connection) -> None:
        self._native = native
        self._closed = False
        # Names of the program's variables are registered for the time of a statement, one statement at a time.
        self._names = threading.RLock()

    # What runs statements.

    def sql(self, query: str, parameters: Parameters | None = None) -> Relation:
        """A query as a lazy relation; any other statement runs at once.

        A name that is no table may be that of a variable: a pandas, Polars, Arrow or NumPy object.
        """
        text = bind(query, parameters)
        found: dict[str, Any] = {}
        columns = self._with_objects(text, found, self._native.describe)
        if columns is None:
            return Relation(self, text, [], found, self._run(text, found))
        return Relation(self, text, columns, found)

    def execute(self, query: str, parameters: Parameters | None = None) -> Cursor:
        """Runs statements; a cursor over the last one's rows."""
        return self.cursor().execute(query, parameters)

    def executemany(self, query: str, rows: Iterable[Parameters]) -> Cursor:
        """Runs a statement once for each set of parameters."""
        return self.cursor().executemany(query, rows)

    def table(self, name: str) -> Relation:
        """A table, or what is registered under the name."""
        quoted = ".".join('"' + part.replace('"', '""') + '"' for part in name.split("."))
        return self.sql(f"SELECT * FROM {quoted}")

    def _file(self, function: str, paths: str | list[str], options: dict[str, Any]) -> Relation:
        from .parameters import literal

        listed = [paths] if isinstance(paths, str) else list(paths)
        first = literal(listed[0]) if len(listed) == 1 else "[" + ", ".join(map(literal, listed)) + "]"
        rest = "".join(f", {name} => {literal(value)}" for name, value in options.items())
        return self.sql(f"SELECT * FROM {function}({first}{rest})")

    def read_parquet(self, paths: str | list[str], **options: Any) -> Relation:
        """Parquet files by path, pattern, folder or list of such."""
        return self._file("read_parquet", paths, options)

    def read_csv(self, paths: str | list[str], **options: Any) -> Relation:
        """CSV files by path, pattern, folder or list of such."""
        return self._file("read_csv", paths, options)

    def read_arrow(self, paths: str | list[str], **options: Any) -> Relation:
        """Arrow IPC files by path, pattern, folder or list of such."""
        return self._file("read_arrow", paths, options)

    # The program's objects.

    def register(self, name: str, value: Any) -> Connection:
        """Makes an object a relation under `name`. Its rows are kept, and not copied where Arrow can share them."""
        if not objects.is_tabular(value):
            raise InterfaceError(f"{type(value).__name__} is nothing that can be read as rows")
        self._native.register_stream(name, objects.stream(value))
        return self

    def unregister(self, name: str) -> bool:
        """Forgets a registered object; False when there was none."""
        return self._native.unregister(name)

    def from_arrow(self, value: Any) -> Relation:
        """A relation of an object, without a name."""
        name = f"object_{id(value)}"
        found = {name: value}
        text = f"SELECT * FROM {name}"
        columns = self._with_objects(text, found, self._native.describe)
        return Relation(self, text, columns or [], found)

    from_df = from_arrow

    def _with_objects(self, text: str, found: dict[str, Any], act: Any, frame: Any = None) -> Any:
        """Calls `act(text)` with `found` registered; names that are missing are looked up among the variables."""
        if self._closed:
            raise InterfaceError("the connection is closed")
        # What is registered here is seen by every statement of the session, so no other may run meanwhile.
        with self._names:
            registered: set[str] = set()
            try:
                while True:
                    for name in found.keys() - registered:
                        self._native.register_stream(name, objects.stream(found[name]))
                        registered.add(name)
                    try:
                        return act(text)
                    except _native.Error as error:
                        if self._variable(error, found) is None:
                            raise classified(error) from None
            finally:
                for name in registered:
                    self._native.unregister(name)

    @staticmethod
    def _variable(error: _native.Error, found: dict[str, Any]) -> Any:
        missing = _MISSING.search(str(error)) if getattr(error, "sqlstate", None) == "42P01" else None
        if missing is None or missing[1] in found:
            return None
        value = objects.find(missing[1], objects.caller())
        if value is not None:
            found[missing[1]] = value
        return value

    def _run(self, text: str, found: dict[str, Any]) -> _native.Result:
        return self._with_objects(text, found, self._native.sql)

    # The rest of DB-API, and of life.

    def cursor(self) -> Cursor:
        """A DB-API cursor."""
        if self._closed:
            raise InterfaceError("the connection is closed")
        return Cursor(self)

    def session(self) -> Connection:
        """Another session on the same database, with settings of its own."""
        return Connection(self._native.session())

    def interrupt(self) -> None:
        """Cancels the running statement, from another thread."""
        self._native.interrupt()

    def commit(self) -> None:
        """Every statement commits by itself; there is nothing left to commit."""

    def rollback(self) -> None:
        """There is never anything to take back."""

    def close(self) -> None:
        """The database ends with its last connection."""
        self._closed = True

    def __enter__(self) -> Connection:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class Cursor:
    """A DB-API cursor: one result at a time, read row by row."""

    def __init__(self, connection: Connection) -> None:
        self.connection = connection
        self.arraysize = 1
        self._result: _native.Result | None = None
        self._next = 0
        self._closed = False

    def execute(self, query: str, parameters: Parameters | None = None) -> Cursor:
        """Runs statements; the rows are the last one's."""
        if self._closed:
            raise InterfaceError("the cursor is closed")
        self._result = self.connection._run(bind(query, parameters), {})
        self._next = 0
        return self

    def executemany(self, query: str, rows: Iterable[Parameters]) -> Cursor:
        """Runs a statement once for each set of parameters."""
        for parameters in rows:
            self.execute(query, parameters)
        return self

    def _rows(self) -> _native.Result:
        if self._result is None:
            raise InterfaceError("no statement has been executed")
        return self._result

    def fetchone(self) -> tuple[Any, ...] | None:
        """The next row, or None."""
        rows = self.fetchmany(1)
        return rows[0] if rows else None

    def fetchmany(self, size: int | None = None) -> list[tuple[Any, ...]]:
        """The next rows."""
        rows = self._rows().fetchslice(self._next, self.arraysize if size is None else size)
        self._next += len(rows)
        return rows

    def fetchall(self) -> list[tuple[Any, ...]]:
        """All rows that are left."""
        return self.fetchmany(len(self._rows()))

    def arrow(self) -> Any:
        """The whole result as a pyarrow Table."""
        return self._rows().arrow()

    def __arrow_c_stream__(self, requested_schema: Any = None) -> Any:
        return self._rows().__arrow_c_stream__(requested_schema)

    @property
    def description(self) -> list[tuple[Any, ...]] | None:
        """Name, type and nullability of the columns."""
        return self._result.description if self._result is not None and self._result.has_rows else None

    @property
    def rowcount(self) -> int:
        """Rows of the result, or rows that the statement inserted."""
        last = self._result.tag.rpartition(" ")[2] if self._result is not None else ""
        return int(last) if last.isdigit() else -1

    def setinputsizes(self, sizes: Any) -> None:
        """Nothing needs to know."""

    def setoutputsize(self, size: int, column: int | None = None) -> None:
        """Nothing needs to know."""

    def close(self) -> None:
        """Lets the rows go."""
        self._result = None
        self._closed = True

    def __iter__(self) -> Iterator[tuple[Any, ...]]:
        while (row := self.fetchone()) is not None:
            yield row

    def __enter__(self) -> Cursor:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
