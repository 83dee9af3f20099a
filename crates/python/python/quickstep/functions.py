"""Functions of the program for SQL: what stands between Python's and the engine's side of them."""

from __future__ import annotations

import datetime
import decimal
import inspect
import types
import typing
import uuid
from collections.abc import Callable, Sequence
from typing import Any

from . import _native
from .errors import InterfaceError, package

KINDS = ("scalar", "arrow", "aggregate")
NULLS = ("default", "special")

_BY_PYTHON_TYPE: dict[Any, str] = {
    bool: "BOOLEAN",
    int: "BIGINT",
    float: "DOUBLE PRECISION",
    str: "TEXT",
    bytes: "BYTEA",
    decimal.Decimal: "DECIMAL(38, 9)",
    datetime.date: "DATE",
    datetime.time: "TIME",
    datetime.datetime: "TIMESTAMP",
    datetime.timedelta: "INTERVAL",
    uuid.UUID: "UUID",
}


def sql_type(given: Any) -> str:
    """A type as SQL's text: given as such a text, as a type of Python, or as one of Arrow."""
    if isinstance(given, str):
        return given
    if hasattr(given, "__arrow_c_schema__"):
        found: str | None = _native.sql_type_of(given)
        if found is None:
            raise InterfaceError(f"the Arrow type {given} has no counterpart in SQL")
        return found
    origin, inner = typing.get_origin(given), typing.get_args(given)
    if origin is list and inner:
        return f"{sql_type(inner[0])}[]"
    if origin is dict and len(inner) == 2:
        return f"MAP({sql_type(inner[0])}, {sql_type(inner[1])})"
    # Optional[int] is int: every value of SQL may be NULL.
    options = [option for option in inner if option is not type(None)]
    if origin in (typing.Union, types.UnionType) and len(options) == 1:
        return sql_type(options[0])
    try:
        return _BY_PYTHON_TYPE[given]
    except (KeyError, TypeError):
        known = ", ".join(ty.__name__ for ty in _BY_PYTHON_TYPE)
        raise InterfaceError(
            f"{given!r} is no type: expected SQL's name of one, a pyarrow type, or one of {known}"
        ) from None


def signature(
    name: str, function: Callable[..., Any], parameters: Sequence[Any] | None, return_type: Any, kind: str
) -> tuple[list[str], str]:
    """The types of arguments and result: as given, else as the function is annotated."""
    if kind not in KINDS:
        raise InterfaceError(f"a kind is one of {', '.join(KINDS)}, not {kind!r}")
    if parameters is not None and isinstance(parameters, str):
        raise InterfaceError("the types of the parameters are a list")
    # Of a class, the method that gets the rows.
    annotated = getattr(function, "step", function) if inspect.isclass(function) else function
    try:
        hints = typing.get_type_hints(annotated)
        named = [p for p in inspect.signature(annotated).parameters.values() if p.name != "self"]
    except (TypeError, ValueError, NameError):
        hints, named = {}, []
    if parameters is None:
        missing = [p.name for p in named if p.name not in hints or p.kind is p.VAR_POSITIONAL]
        if missing or not (named or hints):
            what = ", ".join(missing) or "the parameters"
            raise InterfaceError(f"function {name}: give the types of {what}, as parameters=[...] or annotations")
        parameters = [hints[p.name] for p in named]
    if return_type is None:
        return_type = hints.get("return")
        if return_type is None:
            raise InterfaceError(f"function {name}: give the type of its result, as return_type=... or an annotation")
    return [sql_type(each) for each in parameters], sql_type(return_type)


def body(name: str, function: Callable[..., Any], kind: str, nulls: str) -> Callable[..., Any]:
    """What the engine calls."""
    if not callable(function):
        raise InterfaceError(f"function {name} cannot be called: it is {function!r}")
    if nulls not in NULLS:
        raise InterfaceError(f"null_handling is one of {', '.join(NULLS)}, not {nulls!r}")
    if kind == "scalar":
        return function
    pyarrow = package("pyarrow", f"function {name}")
    return _over_arrays(pyarrow, name, function) if kind == "arrow" else _over_groups(pyarrow, function)


def _taken(pyarrow: Any, given: Any) -> Any:
    """An array as pyarrow's functions like it: most of them do not know string views yet."""
    array = pyarrow.array(given)
    if pyarrow.types.is_string_view(array.type):
        return array.cast(pyarrow.string())
    if pyarrow.types.is_binary_view(array.type):
        return array.cast(pyarrow.binary())
    return array


def _over_arrays(pyarrow: Any, name: str, function: Callable[..., Any]) -> Callable[..., Any]:
    def call(arrays: list[Any], rows: int) -> Any:
        # Without arguments nothing else says how many values are wanted.
        given = [_taken(pyarrow, array) for array in arrays] or [rows]
        result = function(*given)
        if isinstance(result, pyarrow.ChunkedArray):
            return result.combine_chunks()
        if isinstance(result, pyarrow.Scalar):
            return pyarrow.repeat(result, rows)
        if isinstance(result, pyarrow.Array):
            return result
        if hasattr(result, "__arrow_c_array__"):
            return pyarrow.array(result)
        if hasattr(result, "__arrow_c_stream__"):
            return pyarrow.chunked_array(result).combine_chunks()
        if isinstance(result, (str, bytes)) or not hasattr(result, "__len__"):
            raise TypeError(f"{name} gave {type(result).__name__}, not an array of {rows} values")
        return pyarrow.array(result)

    return call


def _over_groups(pyarrow: Any, function: Callable[..., Any]) -> Callable[..., Any]:
    def of_group(arrays: list[Any]) -> Any:
        if not inspect.isclass(function):
            return function(*arrays)
        state: Any = function()
        state.step(*arrays)
        return state.finish()

    def call(arrays: list[Any], places: list[tuple[int, int]]) -> list[Any]:
        given = [_taken(pyarrow, array) for array in arrays]
        results = (of_group([array.slice(start, length) for array in given]) for start, length in places)
        return [result.as_py() if isinstance(result, pyarrow.Scalar) else result for result in results]

    return call
