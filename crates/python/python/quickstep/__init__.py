"""Quickstep: an analytic SQL engine in your process.

>>> import quickstep
>>> con = quickstep.connect()
>>> con.sql("SELECT 40 + 2 AS answer").fetchall()
[(42,)]

`Connection.sql` gives a lazy `Relation`; `Connection.cursor` and `execute` are DB-API 2.0.
"""

from __future__ import annotations

import datetime
import time

from . import _native
from ._native import Error, Result, __version__
from .connection import Connection, Cursor
from .errors import (
    DatabaseError,
    DataError,
    IntegrityError,
    InterfaceError,
    InternalError,
    NotSupportedError,
    OperationalError,
    ProgrammingError,
    Warning,
    classified,
)
from .relation import Relation

apilevel = "2.0"
threadsafety = 2
paramstyle = "qmark"


def connect(path: str | None = None, workers: int | None = None, memory: int | str | None = None) -> Connection:
    """Opens a database. Without a path it lives in memory.

    workers: threads that execute work orders; all cores when not given.
    memory: bytes, or a text such as "8GB"; 80 % of the machine's when not given.
    """
    try:
        return Connection(_native.connect(path, workers, memory))
    except Error as error:
        raise classified(error) from None


class _TypeGroup(frozenset[str]):
    """Compares equal to the type names of a description that are of its kind."""

    def __eq__(self, other: object) -> bool:
        return isinstance(other, str) and other.partition("(")[0].upper() in self or frozenset.__eq__(self, other)

    __hash__ = frozenset.__hash__


STRING = _TypeGroup({"TEXT", "VARCHAR", "CHAR", "UUID"})
BINARY = _TypeGroup({"BYTEA"})
NUMBER = _TypeGroup({"SMALLINT", "INTEGER", "BIGINT", "REAL", "DOUBLE PRECISION", "DECIMAL", "NUMERIC", "BOOLEAN"})
DATETIME = _TypeGroup({"DATE", "TIME", "TIMESTAMP", "TIMESTAMP WITH TIME ZONE", "TIMESTAMPTZ", "INTERVAL"})
ROWID = _TypeGroup()

Date = datetime.date
Time = datetime.time
Timestamp = datetime.datetime
Binary = bytes


def DateFromTicks(ticks: float) -> datetime.date:
    """The day of a time in seconds since 1970."""
    return Date(*time.localtime(ticks)[:3])


def TimeFromTicks(ticks: float) -> datetime.time:
    """The time of day of a time in seconds since 1970."""
    return Time(*time.localtime(ticks)[3:6])


def TimestampFromTicks(ticks: float) -> datetime.datetime:
    """The moment of a time in seconds since 1970."""
    return Timestamp(*time.localtime(ticks)[:6])


__all__ = [
    "Connection",
    "Cursor",
    "DataError",
    "DatabaseError",
    "Error",
    "IntegrityError",
    "InterfaceError",
    "InternalError",
    "NotSupportedError",
    "OperationalError",
    "ProgrammingError",
    "Relation",
    "Result",
    "Warning",
    "__version__",
    "apilevel",
    "connect",
    "paramstyle",
    "threadsafety",
]
