"""Quickstep: an analytic SQL engine in your process.

>>> import quickstep
>>> con = quickstep.connect()
>>> con.sql("SELECT 40 + 2 AS answer").fetchall()
[(42,)]

`Connection.sql` gives a lazy `Relation`; `Connection.cursor` and `execute` are DB-API 2.0.
"""

from __future__ import annotations

import datetime
import os
import threading
import time
from typing import Any

from . import _native
from ._native import Error, Result, __version__
from .connection import Connection
from .cursor import Cursor
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
from .parameters import Parameters
from .progress import OnProgress, OperatorProgress, Progress, Wanted
from .relation import Relation
from .rows import NUMBER_TYPES
from .server import Server, serve

apilevel = "2.0"
threadsafety = 2
paramstyle = "qmark"


def connect(
    path: str | os.PathLike[str] | None = None,
    workers: int | None = None,
    memory: int | str | None = None,
    progress: Wanted = None,
    read_only: bool = False,
    on_progress: OnProgress | None = None,
    autocommit: bool = True,
) -> Connection:
    """Opens a database. Without a path it lives in memory; a path is a directory, made where there is none.
    A database that this process has open already is shared: with other options that is an error.

    workers: threads that execute work orders; all cores when not given.
    memory: bytes, or a text such as "8GB"; 80 % of the machine's when not given.
    progress: what long statements show: a bar if True, the plan too if "tree"; in notebooks and interactive sessions a bar.
    read_only: opens a database on disk as it is now and changes nothing; another process may write to it.
    on_progress: a function that is told how far long statements are; see `Connection.on_progress`.
    autocommit: whether statements commit by themselves; False for transactions as DB-API has them, see `Connection.autocommit`.
    """
    with classified():
        name = None if path is None else os.fsdecode(path)
        connection = Connection(_native.connect(name, workers, memory, read_only), progress, autocommit)
        connection.on_progress = on_progress
        return connection


_default: Connection | None = None
_default_lock = threading.Lock()


def default_connection() -> Connection:
    """The connection that `quickstep.sql` and its like use: a database in memory, opened when it is first needed."""
    global _default
    with _default_lock:
        if _default is None or _default._closed:
            _default = connect()
        return _default


def sql(query: str, parameters: Parameters | None = None) -> Relation:
    """`Connection.sql` of the default connection."""
    return default_connection().sql(query, parameters)


def execute(query: str, parameters: Parameters | None = None) -> Cursor:
    """`Connection.execute` of the default connection."""
    return default_connection().execute(query, parameters)


def read_parquet(paths: Any, **options: Any) -> Relation:
    """`Connection.read_parquet` of the default connection."""
    return default_connection().read_parquet(paths, **options)


def read_csv(paths: Any, **options: Any) -> Relation:
    """`Connection.read_csv` of the default connection."""
    return default_connection().read_csv(paths, **options)


def from_df(value: Any) -> Relation:
    """`Connection.from_df` of the default connection."""
    return default_connection().from_df(value)


from_arrow = from_df


def load_ipython_extension(shell: Any) -> None:
    """`%load_ext quickstep`: `%sql` and `%%sql` in notebooks and IPython."""
    from .magic import load

    load(shell)


class _TypeGroup(frozenset[str]):
    """Compares equal to the type names of a description that are of its kind."""

    def __eq__(self, other: object) -> bool:
        return isinstance(other, str) and other.partition("(")[0].upper() in self or frozenset.__eq__(self, other)

    __hash__ = frozenset.__hash__


STRING = _TypeGroup({"TEXT", "VARCHAR", "CHAR", "UUID", "JSON", "JSONB"})
BINARY = _TypeGroup({"BYTEA"})
NUMBER = _TypeGroup(NUMBER_TYPES | {"BOOLEAN"})
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
    "Progress",
    "Relation",
    "Result",
    "Server",
    "Warning",
    "__version__",
    "apilevel",
    "connect",
    "default_connection",
    "execute",
    "from_arrow",
    "from_df",
    "paramstyle",
    "read_csv",
    "read_parquet",
    "serve",
    "sql",
    "threadsafety",
]
