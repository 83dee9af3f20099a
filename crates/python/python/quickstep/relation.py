"""Lazy relations: queries that are put together and run when their rows are asked for."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from . import _native, intervals, objects
from .errors import InterfaceError
from .parameters import literal
from .rows import SHOWN_ROWS, Preview, Rows, described, preview

if TYPE_CHECKING:
    from .connection import Connection

_NAME = re.compile(r"[A-Za-z_]\w*\Z")
_JOINS = {"inner": "JOIN", "left": "LEFT JOIN", "right": "RIGHT JOIN", "outer": "FULL JOIN", "full": "FULL JOIN",
          "semi": "SEMI JOIN", "anti": "ANTI JOIN", "cross": "CROSS JOIN"}


class Relation(Rows):
    """A query that has not run yet. Methods give new relations.

    Rows that are fetched one after the other come while the query runs, each once. Whole tables (`arrow`, `df`,
    `numpy`, `len`) are computed once and kept.
    """

    def __init__(
        self,
        connection: Connection,
        query: str,
        columns: list[tuple[str, str]],
        found: dict[str, objects.Source | objects.Copied],
        result: _native.Result | None = None,
        alias: str | None = None,
    ) -> None:
        self._connection = connection
        self._query = query.strip().rstrip(";").rstrip()
        self._described = columns
        self._objects = found
        self._result = result
        self._reading: _native.Stream | None = None
        self._table: Any = None
        self._next = 0
        # A number and not an address: the same program makes the same queries.
        self.alias = alias or f"relation_{next(connection._numbers)}"

    # What it is.

    @property
    def columns(self) -> list[str]:
        """Names of the columns."""
        return [name for name, _ in self._described]

    @property
    def types(self) -> list[str]:
        """SQL types of the columns."""
        return [ty for _, ty in self._described]

    dtypes = types

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns; the rows are computed for it."""
        return len(self), len(self._described)

    @property
    def description(self) -> list[tuple[Any, ...]]:
        """As DB-API describes columns."""
        return [described((name, ty, None, None, None, None, None)) for name, ty in self._described]

    def _framed(self) -> Any:
        months = intervals.columns_of_months(self.description)
        if not months:
            return super()._framed()
        texts = ", ".join(f"CAST({_quoted(name)} AS TEXT) AS {_quoted(name)}" for name in months)
        return self._derived(f"SELECT * REPLACE ({texts}) FROM {self._from()}")._framed()

    def sql_query(self) -> str:
        """The query's text."""
        return self._query

    def set_alias(self, alias: str) -> Relation:
        """The same relation under a name that conditions of joins can use."""
        if not _NAME.match(alias):
            raise InterfaceError(f'"{alias}" is no plain name')
        return Relation(self._connection, self._query, self._described, self._objects, self._result, alias)

    # What can be made of it.

    def _from(self) -> str:
        # The query may end with a comment.
        return f"({self._query}\n) AS {self.alias}"

    def _derived(self, query: str, *others: Relation) -> Relation:
        if not self._described:
            raise InterfaceError("the statement returned no rows: nothing can be made of it")
        found = dict(self._objects)
        for other in others:
            found.update(other._objects)
        return self._connection._relation(query, found)

    def filter(self, condition: str) -> Relation:
        """The rows for which the condition is true."""
        return self._derived(f"SELECT * FROM {self._from()} WHERE {_text(condition, 'a condition')}")

    where = filter

    def project(self, *expressions: str | Iterable[str]) -> Relation:
        """Other columns, computed from these."""
        listed = [_text(e, "an expression") for given in expressions for e in _listed(given)]
        if not listed:
            raise InterfaceError("project() needs at least one expression")
        return self._derived(f"SELECT {', '.join(listed)} FROM {self._from()}")

    select = project

    def __getitem__(self, names: str | list[str]) -> Relation:
        """Columns by their names."""
        wanted = [names] if isinstance(names, str) else list(names)
        for name in wanted:
            if name not in self.columns:
                raise KeyError(f"no column {name!r}; there are {', '.join(self.columns)}")
        return self.project(*(_quoted(name) for name in wanted))

    def aggregate(self, aggregates: str | Iterable[str], group: str | Iterable[str] = "") -> Relation:
        """Aggregates, for each group when there are group expressions; these are the first columns."""
        keys = _split(group)
        # Who lists the keys among the aggregates, as some do, need not have them twice.
        values = [value for value in _split(aggregates) if value not in keys]
        by = f" GROUP BY {', '.join(keys)}" if keys else ""
        return self._derived(f"SELECT {', '.join(keys + values)} FROM {self._from()}{by}")

    def join(self, other: Any, on: str | list[str] = "", how: str = "inner") -> Relation:
        """Pairs of rows: by columns of the same names, or by a condition over the relations' aliases. The other side
        is a relation or an object that can be read as rows."""
        kind = _JOINS.get(how.lower())
        if kind is None:
            raise InterfaceError(f'a join is one of {", ".join(_JOINS)}, not "{how}"')
        names = [on] if isinstance(on, str) else on
        second = self._other(other)
        if not names or not names[0]:
            kind, condition = "CROSS JOIN", ""
        elif all(_NAME.match(name) for name in names):
            condition = f" USING ({', '.join(names)})"
        else:
            condition = " ON " + " AND ".join(f"({name})" for name in names)
        return self._derived(f"SELECT * FROM {self._from()} {kind} {second._from()}{condition}", second)

    def cross(self, other: Any) -> Relation:
        """Every pair of rows."""
        return self.join(other)

    def order(self, *by: str) -> Relation:
        """The rows in an order."""
        return self._derived(f"SELECT * FROM {self._from()} ORDER BY {', '.join(_text(b, 'an order') for b in by)}")

    sort = order

    def limit(self, count: int, offset: int = 0) -> Relation:
        """So many rows."""
        # A query's own order stands inside, where its limit keeps it.
        return self._derived(f"{self._query}\nLIMIT {int(count)} OFFSET {int(offset)}") if self._ordered() else (
            self._derived(f"SELECT * FROM {self._from()} LIMIT {int(count)} OFFSET {int(offset)}"))

    def head(self, count: int = 5) -> Relation:
        """The first rows."""
        return self.limit(count)

    def _ordered(self) -> bool:
        return bool(re.search(r"\bORDER\s+BY\s[^()]*\Z", self._query, re.I)) and not re.search(
            r"\b(LIMIT|OFFSET|FETCH)\b[^()]*\Z", self._query, re.I
        )

    def _set(self, operation: str, other: Any) -> Relation:
        second = self._other(other)
        return self._derived(f"SELECT * FROM {self._from()} {operation} SELECT * FROM {second._from()}", second)

    def union(self, other: Any) -> Relation:
        """The rows of both, as often as they are there."""
        return self._set("UNION ALL", other)

    union_all = union

    def intersect(self, other: Any) -> Relation:
        """The rows that both have."""
        return self._set("INTERSECT", other)

    def except_(self, other: Any) -> Relation:
        """The rows that the other does not have."""
        return self._set("EXCEPT", other)

    def distinct(self) -> Relation:
        """Each row once."""
        return self._derived(f"SELECT DISTINCT * FROM {self._from()}")

    def count(self) -> Relation:
        """The number of rows, as a relation of one row; `len` is the number itself."""
        return self.aggregate("count(*) AS count")

    def query(self, name: str, text: str) -> Relation:
        """Any query in which this relation has a name."""
        if not _NAME.match(name):
            raise InterfaceError(f'"{name}" is no plain name')
        return self._derived(f"WITH {name} AS ({self._query}\n) {text}")

    def summarize(self) -> Relation:
        """For each column: least and greatest value, distinct values, mean, quartiles, NULLs."""
        return self._derived(f"SELECT * FROM (SUMMARIZE {self._query}\n)")

    describe = summarize

    def _other(self, other: Any) -> Relation:
        if isinstance(other, Relation):
            return other
        if not objects.is_tabular(other):
            raise InterfaceError(objects.unreadable("the other side", other))
        return self._connection.from_arrow(other)

    # Where it can go.

    def _do(self, text: str) -> _native.Result:
        if not self._described:
            raise InterfaceError("the statement returned no rows: nothing can be made of it")
        return self._connection._run(text, dict(self._objects))

    def to_table(self, name: str) -> None:
        """Makes a table of the rows."""
        self._do(f"CREATE TABLE {_path(name)} AS {self._query}")

    create = to_table

    def insert_into(self, name: str) -> int:
        """Adds the rows to a table; how many they were."""
        return int(self._do(f"INSERT INTO {_path(name)} {self._query}").tag.rpartition(" ")[2])

    def create_view(self, name: str, replace: bool = True) -> Relation:
        """Makes a view of the query."""
        if self._objects:
            listed = ", ".join(sorted(self._objects))
            raise InterfaceError(f"a view cannot read variables ({listed}): register() them, or use to_table()")
        self._do(f"CREATE {'OR REPLACE ' if replace else ''}VIEW {_path(name)} AS {self._query}")
        return self._connection.table(name)

    to_view = create_view

    def _write(self, path: str | os.PathLike[str], form: str, options: dict[str, Any]) -> int:
        path = os.fsdecode(path)
        settings = "".join(f", {name} {_option(value)}" for name, value in options.items())
        text = f"COPY ({self._query}\n) TO {literal(str(path))} (FORMAT {form}{settings})"
        return int(self._do(text).tag.rpartition(" ")[2])

    def write_csv(self, path: str | os.PathLike[str], **options: Any) -> int:
        """Writes a CSV file; how many rows it has. Options are those of COPY: `header`, `delimiter`, ..."""
        return self._write(path, "csv", options)

    def write_parquet(self, path: str | os.PathLike[str], **options: Any) -> int:
        """Writes a Parquet file; how many rows it has. Options are those of COPY: `compression`, `partition_by`, ..."""
        return self._write(path, "parquet", options)

    def write_json(self, path: str | os.PathLike[str], **options: Any) -> int:
        """Writes a JSON file; how many rows it has."""
        return self._write(path, "json", options)

    def write_arrow(self, path: str | os.PathLike[str], **options: Any) -> int:
        """Writes an Arrow IPC stream; how many rows it has."""
        return self._write(path, "arrow", options)

    to_csv = write_csv
    to_parquet = write_parquet
    to_json = write_json

    # Its rows.

    def execute(self) -> Relation:
        """Computes all rows now, and keeps them."""
        self._computed()
        return self

    def _computed(self) -> _native.Result:
        self._connection._check_open()
        if self._result is None:
            self._result = self._connection._run(self._query, dict(self._objects))
        return self._result

    def _started(self, arrow: bool = False, whole: bool = False) -> _native.Stream:
        return self._connection._stream(self._query, dict(self._objects), arrow, whole)

    def _open(self) -> _native.Stream:
        self._connection._check_open()
        if self._reading is None:
            self._reading = self._started()
        return self._reading

    def _read_rows(self, count: int | None) -> list[tuple[Any, ...]]:
        self._connection._check_open()
        if self._result is None or self._reading is not None:
            return super()._read_rows(count)
        rows = self._result.fetchslice(self._next, len(self._result) if count is None else count)
        self._next += len(rows)
        return rows

    def _whole(self, at_once: bool = False) -> Any:
        self._connection._check_open()
        if self._table is not None:
            return self._table
        return self._result if self._result is not None else self._started(arrow=True, whole=at_once)

    def arrow(self) -> Any:
        """A pyarrow Table, computed once and kept."""
        self._connection._check_open()
        if self._table is None:
            self._table = super().arrow()
        return self._table

    def __arrow_c_stream__(self, requested_schema: Any = None) -> Any:
        """Arrow's C stream. Rows that were not computed before come while the query runs, and are not kept."""
        return self._whole().__arrow_c_stream__(requested_schema)

    def explain(self, analyze: bool = False) -> str:
        """The plan; with `analyze`, the query runs and its times are told."""
        text = f"EXPLAIN {'ANALYZE ' if analyze else ''}{self._query}"
        rows = self._connection._run(text, dict(self._objects)).fetchall()
        return "\n".join(row[0] for row in rows)

    # For people.

    def _preview(self, count: int) -> Preview:
        if self._result is not None:
            rows = self._result.fetchslice(0, count)
            return Preview(self._result.columns, self._result.types, rows, len(self._result), True)
        return preview(self._started(), count)

    def show(self, rows: int = SHOWN_ROWS) -> None:
        """Prints the first rows."""
        print(self._shown(rows))

    def _shown(self, count: int) -> str:
        if self._connection._closed:
            return "<quickstep.Relation of a closed connection>"
        if self._result is not None and not self._result.has_rows:
            return self._result.tag
        return self._preview(count).text()

    def __len__(self) -> int:
        return int(self._table.num_rows) if self._table is not None else len(self._computed())

    def __bool__(self) -> bool:
        return True

    def __repr__(self) -> str:
        return self._shown(SHOWN_ROWS)

    def _repr_html_(self) -> str:
        if self._result is not None and not self._result.has_rows:
            return f"<p>{self._result.tag}</p>"
        return self._preview(SHOWN_ROWS).html()

    def __enter__(self) -> Relation:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Lets the rows go, and ends the query if it runs."""
        if self._reading is not None:
            self._reading.close()
        self._reading = self._result = self._table = self._ahead = None
        self._next = 0


def _text(value: Any, what: str) -> str:
    if not isinstance(value, str) or not value.strip():
        raise InterfaceError(f"{what} is SQL text, not {value!r}")
    return value


def _listed(given: str | Iterable[str]) -> list[str]:
    return [given] if isinstance(given, str) else list(given)


def _split(given: str | Iterable[str]) -> list[str]:
    """Expressions of a list, or of a text with commas outside brackets and quotes."""
    if not isinstance(given, str):
        return [_text(each, "an expression") for each in given]
    parts = [""]
    depth = 0
    for token in re.findall(r"'(?:[^']|'')*'|\"(?:[^\"]|\"\")*\"|.", given, re.DOTALL):
        depth += (token in "([{") - (token in ")]}") if len(token) == 1 else 0
        if token == "," and depth == 0:
            parts.append("")
        else:
            parts[-1] += token
    return [part.strip() for part in parts if part.strip()]


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def _path(name: str) -> str:
    return ".".join(_quoted(part) if not _NAME.match(part) else part for part in name.split("."))


def _option(value: Any) -> str:
    if isinstance(value, (list, tuple)):
        return "(" + ", ".join(_path(str(each)) for each in value) + ")"
    return literal(value)
