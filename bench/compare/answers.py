"""Compares two answers to one query: same rows, in the order asked for.

SQL leaves rows with equal ORDER BY columns in any order.  So the columns that
the query orders by are compared row by row, and rows that agree in all of them
are compared as a set.  A LIMIT that cuts through such a set may choose any of
its rows; the suites' limits do not, at the scales with reference answers.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from compare.cells import Cell, Row, cells_agree

ORDER_BY = re.compile(r"\border\s+by\b", re.IGNORECASE)
LIMIT = re.compile(r"\b(limit|offset|fetch)\b.*", re.IGNORECASE | re.DOTALL)


def first_difference(
    answer: Sequence[Row], reference: Sequence[Row], order: Sequence[int]
) -> str | None:
    """What differs first, in words; None where the answers agree.

    `order` holds the positions of the columns that the query orders by.
    """
    if len(answer) != len(reference):
        return f"{len(answer)} rows, expected {len(reference)}"
    for number, (row, expected) in enumerate(zip(answer, reference, strict=True)):
        if len(row) != len(expected):
            return f"{len(row)} columns, expected {len(expected)}"
        for column in order:
            if not cells_agree(row[column], expected[column]):
                return difference(number, column, row[column], expected[column])
    for start, end in ties(reference, order):
        found = difference_of_sets(answer[start:end], reference[start:end], start)
        if found is not None:
            return found
    return None


def ties(rows: Sequence[Row], order: Sequence[int]) -> Iterator[tuple[int, int]]:
    """Ranges of neighbouring rows that agree in all columns of `order`."""
    start = 0
    for end in range(1, len(rows) + 1):
        if end == len(rows) or any(
            not cells_agree(rows[end][column], rows[start][column]) for column in order
        ):
            yield start, end
            start = end


def difference_of_sets(answer: Sequence[Row], reference: Sequence[Row], offset: int) -> str | None:
    """Compares rows whose order is free, after sorting both sides alike."""
    if len(answer) > 1:
        answer = sorted(answer, key=sort_key)
        reference = sorted(reference, key=sort_key)
    for number, (row, expected) in enumerate(zip(answer, reference, strict=True), offset):
        for column, (value, wanted) in enumerate(zip(row, expected, strict=True)):
            if not cells_agree(value, wanted):
                return difference(number, column, value, wanted)
    return None


def sort_key(row: Row) -> tuple[tuple[str, ...], tuple[float, ...]]:
    """Text first: numbers may differ a little between the two sides."""
    texts = tuple("" if cell is None else cell for cell in row if not is_number(cell))
    numbers = tuple(float(cell) for cell in row if is_number(cell))  # type: ignore[arg-type]
    return texts, numbers  # type: ignore[return-value]


def is_number(cell: Cell) -> bool:
    return cell is not None and not isinstance(cell, str)


def difference(row: int, column: int, value: Cell, expected: Cell) -> str:
    return f"row {row + 1}, column {column + 1}: {value!r}, expected {expected!r}"


def order_columns(sql: str, names: Sequence[str]) -> list[int]:
    """The positions of the answer's columns that the whole query orders by.

    Understands what the suites use: names and positions of output columns,
    with ASC or DESC, in an ORDER BY at the end.  Anything else ends the list
    there: the rest of the order then goes unchecked, and the rows are still
    compared.
    """
    starts = [match for match in ORDER_BY.finditer(sql) if is_outermost(sql, match.start())]
    if not starts:
        return []
    clause = LIMIT.sub("", sql[starts[-1].end() :])
    positions = {name.lower(): position for position, name in enumerate(names)}
    columns: list[int] = []
    for item in clause.split(","):
        word = (item.split() or [""])[0].lower()
        if word.isdigit() and 1 <= int(word) <= len(names):
            columns.append(int(word) - 1)
        elif word in positions:
            columns.append(positions[word])
        else:
            break
    return columns


def is_outermost(sql: str, position: int) -> bool:
    """Whether no bracket is open at `position`."""
    before = sql[:position]
    return before.count("(") == before.count(")")
