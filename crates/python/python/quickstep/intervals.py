"""Intervals for libraries that have no columns of them: an INTERVAL is a duration there, a month counted as 30 days, as
comparisons count it. INTERVAL YEAR TO MONTH is cast to text by the query, since pyarrow has no values of that type at all."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .errors import package

_MICROS_PER_DAY = 86_400_000_000
_DAYS_PER_MONTH = 30


def columns_of_months(description: Sequence[Sequence[Any]] | None) -> list[str]:
    """Names of the columns that are INTERVAL YEAR TO MONTH."""
    return [column[0] for column in description or () if column[1] == "INTERVAL YEAR TO MONTH"]


def has_spans(description: Sequence[Sequence[Any]] | None) -> bool:
    """Whether a column is INTERVAL or INTERVAL DAY TO SECOND."""
    return any(column[1] in ("INTERVAL", "INTERVAL DAY TO SECOND") for column in description or ())


def as_durations(table: Any) -> Any:
    """The Arrow table with durations for intervals."""
    pyarrow = package("pyarrow", "intervals in a data frame")
    duration = pyarrow.duration("us")
    for at, field in enumerate(table.schema):
        if field.type == pyarrow.month_day_nano_interval():
            chunks = [pyarrow.array([_micros(v) for v in chunk.to_pylist()], duration) for chunk in table.column(at).chunks]
            table = table.set_column(at, pyarrow.field(field.name, duration), pyarrow.chunked_array(chunks, duration))
    return table


def _micros(value: Any) -> int | None:
    if value is None:
        return None
    days: int = value.months * _DAYS_PER_MONTH + value.days
    micros: int = value.nanoseconds // 1000
    return days * _MICROS_PER_DAY + micros
