"""Lazy relations: queries that are put together and run when their rows are asked for."""

from __future__ import annotations

import html
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from .errors import InterfaceError

if TYPE_CHECKING:
    from . import _native
    from .connection import Connection

_NAME = re.compile(r"[A-Za-z_]\w*\Z")
_SHOWN_ROWS = 20
_JOINS = {"inner": "JOIN", "left": "LEFT JOIN", "right": "RIGHT JOIN", "outer": "FULL JOIN", "full": "FULL JOIN",
          "semi": "SEMI JOIN", "anti": "ANTI JOIN", "cross": "CROSS JOIN"}


class Relation:
    """A query that has not run yet. Methods give new relations; the rows are computed once, when they are needed."""

    def __init__(
        self,
        connection: Connection,
        query: str,
        columns: list[tuple[str, str]],
        found: dict[str, Any],
        result: _native.Result | None = None,
        alias: str | None = None,
    ) -> None:
        self._connection = connection
        self._query = query.strip().rstrip(";").rstrip()
        self._described = columns
        self._objects = found
        self._result = result
        self._next = 0
        self.alias = alias or f"relation_{id(self):x}"

    # What it is.

    @property
    def columns(self) -> list[str]:
        """Names of the columns."""
        return [name for name, _ in self._described]

    @property
    def types(self) -> list[str]:
        """SQL types of the columns."""
        return [ty for _, ty in self._described]

    @property
    def description(self) -> list[tuple[Any, ...]]:
        """As DB-API describes columns."""
        return self._rows().description

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
        found = dict(self._objects)
        for other in others:
            found.update(other._objects)
        columns = self._connection._with_objects(query, found, self._connection._native.describe)
        return Relation(self._connection, query, columns or [], found)

    def filter(self, condition: str) -> Relation:
        """The rows for which the condition is true."""
        return self._derived(f"SELECT * FROM {self._from()} WHERE {condition}")

    def project(self, *expressions: str) -> Relation:
        """Other columns, computed from these."""
        return self._derived(f"SELECT {', '.join(expressions)} FROM {self._from()}")

    select = project

    def aggregate(self, aggregates: str, group: str = "") -> Relation:
        """Aggregates, for each group when there are group expressions."""
        keys = f"{group}, " if group else ""
        by = f" GROUP BY {group}" if group else ""
        return self._derived(f"SELECT {keys}{aggregates} FROM {self._from()}{by}")

    def join(self, other: Relation, on: str | list[str] = "", how: str = "inner") -> Relation:
        """Pairs of rows: by columns of the same names, or by a condition over the relations' aliases."""
        kind = _JOINS.get(how.lower())
        if kind is None:
            raise InterfaceError(f'a join is one of {", ".join(_JOINS)}, not "{how}"')
        names = [on] if isinstance(on, str) else on
        if not names or not names[0]:
            kind, condition = "CROSS JOIN", ""
        elif all(_NAME.match(name) for name in names):
            condition = f" USING ({', '.join(names)})"
        else:
            condition = " ON " + " AND ".join(f"({name})" for name in names)
        return self._derived(f"SELECT * FROM {self._from()} {kind} {other._from()}{condition}", other)

    def order(self, by: str) -> Relation:
        """The rows in an order."""
        return self._derived(f"SELECT * FROM {self._from()} ORDER BY {by}")

    def limit(self, count: int, offset: int = 0) -> Relation:
        """So many rows."""
        # A query's own order stands inside, where its limit keeps it.
        return self._derived(f"{self._query}\nLIMIT {int(count)} OFFSET {int(offset)}") if self._ordered() else (
            self._derived(f"SELECT * FROM {self._from()} LIMIT {int(count)} OFFSET {int(offset)}"))

    def _ordered(self) -> bool:
        return bool(re.search(r"\bORDER\s+BY\s[^()]*\Z", self._query, re.I)) and not re.search(
            r"\b(LIMIT|OFFSET|FETCH)\b[^()]*\Z", self._query, re.I
        )

    def union(self, other: Relation) -> Relation:
        """The rows of both, as often as they are there."""
        return self._derived(f"SELECT * FROM {self._from()} UNION ALL SELECT * FROM {other._from()}", other)

    def distinct(self) -> Relation:
        """Each row once."""
        return self._derived(f"SELECT DISTINCT * FROM {self._from()}")

    # Its rows.

    def execute(self) -> Relation:
        """Computes the rows now."""
        self._rows()
        return self

    def _rows(self) -> _native.Result:
        if self._result is None:
            self._result = self._connection._run(self._query, dict(self._objects))
        return self._result

    def fetchone(self) -> tuple[Any, ...] | None:
        """The next row, or None."""
        rows = self.fetchmany(1)
        return rows[0] if rows else None

    def fetchmany(self, size: int = 1) -> list[tuple[Any, ...]]:
        """The next rows."""
        rows = self._rows().fetchslice(self._next, size)
        self._next += len(rows)
        return rows

    def fetchall(self) -> list[tuple[Any, ...]]:
        """All rows that are left."""
        return self.fetchmany(len(self._rows()))

    def arrow(self) -> Any:
        """The rows as a pyarrow Table, without a copy."""
        return self._rows().arrow()

    def df(self) -> Any:
        """The rows as a pandas DataFrame."""
        return self.arrow().to_pandas()

    def pl(self) -> Any:
        """The rows as a Polars DataFrame."""
        import polars

        return polars.DataFrame(self._rows())

    def numpy(self) -> dict[str, Any]:
        """A NumPy array for each column."""
        table = self.arrow()
        return {name: column.to_numpy() for name, column in zip(table.column_names, table.columns)}

    def __arrow_c_stream__(self, requested_schema: Any = None) -> Any:
        return self._rows().__arrow_c_stream__(requested_schema)

    def explain(self, analyze: bool = False) -> str:
        """The plan; with `analyze`, the query runs and its times are told."""
        text = f"EXPLAIN {'ANALYZE ' if analyze else ''}{self._query}"
        rows = self._connection._run(text, dict(self._objects)).fetchall()
        return "\n".join(row[0] for row in rows)

    def show(self, rows: int = _SHOWN_ROWS) -> None:
        """Prints the first rows."""
        print(self._text(rows))

    def _text(self, count: int) -> str:
        shown = [[_cell(value) for value in row] for row in self._rows().fetchslice(0, count)]
        heads = self._rows().columns
        if not heads:
            return self._rows().tag
        widths = [max([len(head), *(len(row[at]) for row in shown)]) for at, head in enumerate(heads)]
        line = " | ".join
        lines = [line(head.ljust(width) for head, width in zip(heads, widths)), "-+-".join("-" * w for w in widths)]
        lines += [line(cell.ljust(width) for cell, width in zip(row, widths)).rstrip() for row in shown]
        total = len(self._rows())
        lines.append(f"({total} rows)" if total <= count else f"({total} rows, {count} shown)")
        return "\n".join(lines)

    def __len__(self) -> int:
        return len(self._rows())

    def __bool__(self) -> bool:
        return True

    def __iter__(self) -> Iterator[tuple[Any, ...]]:
        while (row := self.fetchone()) is not None:
            yield row

    def __repr__(self) -> str:
        return self._text(_SHOWN_ROWS)

    def _repr_html_(self) -> str:
        rows = self._rows().fetchslice(0, _SHOWN_ROWS)
        cells = "".join(
            "<tr>" + "".join(f"<td>{html.escape(_cell(value))}</td>" for value in row) + "</tr>" for row in rows
        )
        heads = "".join(f"<th>{html.escape(name)}</th>" for name in self._rows().columns)
        more = len(self._rows()) - len(rows)
        rest = f"<p>{more} more rows</p>" if more > 0 else ""
        return f"<table><thead><tr>{heads}</tr></thead><tbody>{cells}</tbody></table>{rest}"


def _cell(value: Any) -> str:
    text = "NULL" if value is None else str(value).replace("\n", " ")
    return text if len(text) <= 60 else text[:57] + "..."
