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
    """Not the statement's fault: a file, memory, an interrupt."""


class IntegrityError(DatabaseError):
    """A key or NOT NULL is violated."""


class InternalError(DatabaseError):
    """A fault of the engine."""


class ProgrammingError(DatabaseError):
    """The statement's text is wrong, or names what is not there."""


class NotSupportedError(DatabaseError):
    """The engine cannot do that."""


_BY_CLASS = {
    "0A": NotSupportedError,
    "21": ProgrammingError,
    "22": DataError,
    "23": IntegrityError,
    "42": ProgrammingError,
    "53": OperationalError,
    "57": OperationalError,
    "58": OperationalError,
    "XX": InternalError,
}


def _class_of(error: Error) -> Error:
    """The native error as one of the classes above."""
    state = getattr(error, "sqlstate", None)
    if state is None or type(error) is not Error:
        return error
    raised = _BY_CLASS.get(state[:2], DatabaseError)(*error.args)
    for name in ("sqlstate", "line", "column", "hint"):
        setattr(raised, name, getattr(error, name, None))
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
