"""Reading rows: what relations and cursors have in common.

Rows are read while the query runs. Who asks for a whole table (`arrow`, `df`, `pl`, `numpy`) gets what is left.
"""

from __future__ import annotations

import html
import re
from collections import deque
from collections.abc import Callable, Iterator
from typing import Any

from . import _native, intervals
from .errors import InterfaceError, classified, package

SHOWN_ROWS = 20
# Counting stops here when rows are shown, so that a glance at a large query does not run it to its end.
COUNTED_ROWS = 10_000
_CELL_CHARACTERS = 60
# Types of numbers, as `description` names them, without digits.
NUMBER_TYPES = {
    "TINYINT",
    "SMALLINT",
    "INTEGER",
    "BIGINT",
    "HUGEINT",
    "UTINYINT",
    "USMALLINT",
    "UINTEGER",
    "UBIGINT",
    "REAL",
    "DOUBLE PRECISION",
    "DECIMAL",
    "NUMERIC",
}
_DIGITS = re.compile(r"(?:DECIMAL|NUMERIC)\((\d+)(?:,\s*(\d+))?\)")


class Rows:
    """What can be done with the rows of a query. Classes that inherit this say how to get at them."""

    # Rows that iteration has read and not given out yet: whoever fetches next gets them first.
    _ahead: deque[tuple[Any, ...]] | None = None

    def _open(self) -> _native.Stream:
        """The stream that rows are taken from."""
        raise NotImplementedError

    @property
    def description(self) -> list[tuple[Any, ...]] | None:
        """As DB-API describes columns."""
        raise NotImplementedError

    def _framed(self) -> Any:
        """The Arrow table that data frames are made of, which know fewer types."""
        if months := intervals.columns_of_months(self.description):
            raise InterfaceError(f'"{months[0]}" has months, which data frames have no type for: cast it to TEXT')
        return intervals.as_durations(self.arrow()) if intervals.has_spans(self.description) else self.arrow()

    def _whole(self, at_once: bool = False) -> Any:
        """What gives all rows, or those that are left, through Arrow's C stream. `at_once`: they are all read before
        anything is done with them, so that nobody need wait for anybody."""
        raise NotImplementedError

    # Tuples.

    def fetchone(self) -> tuple[Any, ...] | None:
        """The next row as a tuple, or None."""
        rows = self.fetchmany(1)
        return rows[0] if rows else None

    def fetchmany(self, size: int | None = None) -> list[tuple[Any, ...]]:
        """The next rows as tuples."""
        return self._next_rows(1 if size is None else _count(size, "size"))

    def fetchall(self) -> list[tuple[Any, ...]]:
        """All rows that are left, as tuples."""
        return self._next_rows(None)

    def _read_rows(self, count: int | None) -> list[tuple[Any, ...]]:
        """So many rows from where they come from; all that are left with None."""
        with classified():
            return self._open().fetch(count)

    def _next_rows(self, count: int | None) -> list[tuple[Any, ...]]:
        if not self._ahead:
            return self._read_rows(count)
        # Closed connections and cursors give no row that was read before, either.
        self._read_rows(0)
        rows: list[tuple[Any, ...]] = []
        while self._ahead and (count is None or len(rows) < count):
            rows.append(self._ahead.popleft())
        if count is None or len(rows) < count:
            rows += self._read_rows(None if count is None else count - len(rows))
        return rows

    def __iter__(self) -> Iterator[tuple[Any, ...]]:
        while self._look_ahead():
            ahead = self._ahead
            while ahead:
                yield ahead.popleft()

    def _look_ahead(self) -> bool:
        """Whether there is a next row. Many are read at a time, since each call has its cost."""
        if not self._ahead:
            self._ahead = deque(self._read_rows(256))
        return bool(self._ahead)

    # Tables.

    def __arrow_c_stream__(self, requested_schema: Any = None) -> Any:
        """Arrow's C stream: pyarrow, Polars, pandas and others read the rows through it, as they are computed."""
        return self._whole().__arrow_c_stream__(requested_schema)

    def _read(self, make: Callable[[Any], Any]) -> Any:
        """What `make` makes of the rows. Arrow's interface has no classes of errors: the query's own is raised."""
        source = self._whole(at_once=True)
        try:
            return make(source)
        except Exception:
            if isinstance(source, _native.Stream):
                with classified():
                    source.check()
            raise

    def arrow(self) -> Any:
        """A pyarrow Table."""
        return self._read(package("pyarrow", "arrow()").table)

    def fetch_record_batch(self, rows_per_batch: int | None = None) -> Any:
        """A pyarrow RecordBatchReader, which gives rows as they are computed."""
        pyarrow = package("pyarrow", "fetch_record_batch()")
        reader = pyarrow.RecordBatchReader.from_stream(self)
        if rows_per_batch is None:
            return reader
        wanted = _count(rows_per_batch, "rows_per_batch")
        return pyarrow.RecordBatchReader.from_batches(reader.schema, _sliced(pyarrow, reader, max(wanted, 1)))

    def df(self) -> Any:
        """A pandas DataFrame."""
        package("pandas", "df()")
        return self._framed().to_pandas()

    def pl(self, lazy: bool = False) -> Any:
        """A Polars DataFrame, or a LazyFrame."""
        polars = package("polars", "pl()")
        if intervals.has_spans(self.description) or intervals.columns_of_months(self.description):
            frame = polars.from_arrow(self._framed())
        else:
            frame = self._read(polars.DataFrame)
        return frame.lazy() if lazy else frame

    def numpy(self) -> dict[str, Any]:
        """A NumPy array for each column, by its name."""
        table = self._framed()
        return {name: column.to_numpy() for name, column in zip(table.column_names, table.columns)}

    # Other names of the same, as the peers have them.

    def fetchdf(self) -> Any:
        """As `df`."""
        return self.df()

    def fetch_df(self) -> Any:
        """As `df`."""
        return self.df()

    def to_df(self) -> Any:
        """As `df`."""
        return self.df()

    def to_pandas(self) -> Any:
        """As `df`."""
        return self.df()

    def fetch_arrow_table(self) -> Any:
        """As `arrow`."""
        return self.arrow()

    def to_arrow_table(self) -> Any:
        """As `arrow`."""
        return self.arrow()

    def fetchnumpy(self) -> dict[str, Any]:
        """As `numpy`."""
        return self.numpy()

    def to_polars(self) -> Any:
        """As `pl`."""
        return self.pl()


def described(column: tuple[Any, ...]) -> tuple[Any, ...]:
    """A column's description with the digits and decimals of a DECIMAL."""
    name, ty, *_, nullable = column
    sized = _DIGITS.fullmatch(ty)
    precision, scale = (int(sized[1]), int(sized[2] or 0)) if sized else (None, None)
    return (name, ty, None, None, precision, scale, nullable)


def _count(value: Any, what: str) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or value < 0:
        raise InterfaceError(f"{what} is a number of rows, not {value!r}")
    return value


def _sliced(pyarrow: Any, reader: Any, rows: int) -> Iterator[Any]:
    """The reader's rows in batches of exactly so many, the last one excepted."""
    held: list[Any] = []
    count = 0
    for batch in reader:
        while batch.num_rows:
            part = batch.slice(0, rows - count)
            held.append(part)
            count += part.num_rows
            batch = batch.slice(part.num_rows)
            if count == rows:
                yield _joined(pyarrow, held)
                held, count = [], 0
    if held:
        yield _joined(pyarrow, held)


def _joined(pyarrow: Any, batches: list[Any]) -> Any:
    return batches[0] if len(batches) == 1 else pyarrow.concat_batches(batches)


class Preview:
    """The first rows of a query, for people to look at."""

    def __init__(
        self, columns: list[str], types: list[str], rows: list[tuple[Any, ...]], total: int, whole: bool
    ) -> None:
        self.columns = columns
        self.types = types
        self.rows = rows
        self.total = total
        self.whole = whole

    def _counted(self) -> str:
        if not self.whole:
            return f"(more than {self.total:,} rows, {len(self.rows)} shown)"
        rows = "1 row" if self.total == 1 else f"{self.total:,} rows"
        return f"({rows})" if self.total == len(self.rows) else f"({rows}, {len(self.rows)} shown)"

    def text(self) -> str:
        """As a table of characters."""
        shown = [[cell(value) for value in row] for row in self.rows]
        widths = [
            max([len(head), *(len(row[at]) for row in shown)]) for at, head in enumerate(self.columns)
        ]
        right = [_is_number(ty) for ty in self.types]
        line = " | ".join

        def put(text: str, at: int) -> str:
            return text.rjust(widths[at]) if right[at] else text.ljust(widths[at])

        lines = [line(put(head, at) for at, head in enumerate(self.columns)).rstrip()]
        lines.append("-+-".join("-" * width for width in widths))
        lines += [line(put(text, at) for at, text in enumerate(row)).rstrip() for row in shown]
        lines.append(self._counted())
        return "\n".join(lines)

    def html(self) -> str:
        """As a table of a notebook."""
        right = [' style="text-align: right"' if _is_number(ty) else "" for ty in self.types]
        heads = "".join(
            f'<th{align} title="{html.escape(ty)}">{html.escape(name)}</th>'
            for name, ty, align in zip(self.columns, self.types, right)
        )
        body = "".join(
            "<tr>" + "".join(f"<td{right[at]}>{html.escape(cell(v))}</td>" for at, v in enumerate(row)) + "</tr>"
            for row in self.rows
        )
        counted = html.escape(self._counted())
        return f"<table><thead><tr>{heads}</tr></thead><tbody>{body}</tbody></table><p>{counted}</p>"


def preview(stream: _native.Stream, count: int) -> Preview:
    """The first rows of a stream that nobody else reads; it is closed."""
    with classified():
        rows = stream.fetch(count)
        total = len(rows) + stream.skip(max(COUNTED_ROWS - len(rows), 0))
        whole = not stream.skip(1)
        stream.close()
    return Preview(stream.columns, stream.types, rows, total, whole)


def _is_number(ty: str) -> bool:
    return ty.partition("(")[0] in NUMBER_TYPES


def cell(value: Any) -> str:
    """A value as people read it, shortened."""
    text = "NULL" if value is None else str(value).replace("\n", " ")
    return text if len(text) <= _CELL_CHARACTERS else text[: _CELL_CHARACTERS - 3] + "..."
