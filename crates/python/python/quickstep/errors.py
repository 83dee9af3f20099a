"""Errors by DB-API's classes, all of them `Error`s with `sqlstate`, `line`, `column` and `hint`."""

import importlib
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from ._native import Error


class Warning(Exception):  # noqa: A001 - the name is DB-API's
    """Never raised."""


class InterfaceError(Error):
    """The package was used in a way that has no meaning."""


class DatabaseError(Error):
    """The statement failed."""


class DataError(DatabaseError):
    """A value is out of range, divided by zero or of a wrong form."""


class OperationalError(DatabaseError):
    """Not the statement's fault: a file, memory, an interrupt, another transaction."""


class IntegrityError(DatabaseError):
    """A key or NOT NULL is violated."""


class InternalError(DatabaseError):
    """A fault of the engine, or a transaction that cannot go on."""


class ProgrammingError(DatabaseError):
    """The statement's text is wrong, or names what is not there."""


class NotSupportedError(DatabaseError):
    """The engine cannot do that."""


# By the first two characters of SQLSTATE, as PostgreSQL's drivers for Python divide them.
_BY_CLASS = {
    "08": OperationalError,
    "0A": NotSupportedError,
    "20": ProgrammingError,
    "21": ProgrammingError,
    "22": DataError,
    "23": IntegrityError,
    "24": InternalError,
    "25": InternalError,
    "26": ProgrammingError,
    "28": OperationalError,
    "2B": InternalError,
    "2D": InternalError,
    "34": ProgrammingError,
    "3B": InternalError,
    "3D": ProgrammingError,
    "3F": ProgrammingError,
    "40": OperationalError,
    "42": ProgrammingError,
    "44": ProgrammingError,
    "53": OperationalError,
    "54": OperationalError,
    "55": OperationalError,
    "57": OperationalError,
    "58": OperationalError,
    "F0": OperationalError,
    "XX": InternalError,
}


def _class_of(error: Error) -> Error:
    """The native error as one of the classes above."""
    state = getattr(error, "sqlstate", None)
    if type(error) is not Error:
        return error
    # Without a state it is no statement's error: a closed connection, a fork, rows that were given away.
    raised = (InterfaceError if state is None else _BY_CLASS.get(state[:2], DatabaseError))(*error.args)
    for name in ("sqlstate", "line", "column", "hint"):
        setattr(raised, name, getattr(error, name, None))
    return raised


def failed_commit() -> Error:
    """A COMMIT that could only take back."""
    hint = "the error that failed it was raised before: take back to a savepoint or call rollback() there, and do the work again"
    raised = InternalError(f"ERROR 25P02: the transaction had failed, and was rolled back instead of committed\nHINT: {hint}")
    raised.sqlstate, raised.line, raised.column, raised.hint = "25P02", None, None, hint
    return raised


def in_row(error: Error, number: int) -> Error:
    """The error with the number of the row that it is about."""
    told = str(error)
    head, colon, rest = told.partition(": ")
    named = f"{head}: row {number}: {rest}" if colon and head.startswith("ERROR ") else f"row {number}: {told}"
    raised = type(error)(named)
    for name in ("sqlstate", "line", "column", "hint"):
        setattr(raised, name, getattr(error, name, None))
    return raised


@contextmanager
def classified() -> Iterator[None]:
    """Raises native errors as one of the classes above."""
    try:
        yield
    except Error as error:
        raise _class_of(error) from error.__cause__


def package(name: str, what: str) -> Any:
    """A package that not everybody needs."""
    try:
        return importlib.import_module(name)
    except ImportError:
        raise InterfaceError(f"{what} needs the package {name}: pip install {name}") from None
