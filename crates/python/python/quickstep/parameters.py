"""Parameters of statements: `?`, `$1`, `$name` and `:name` become literals, outside quotes and comments only."""

from __future__ import annotations

import datetime
import decimal
import enum
import os
import re
import uuid
from collections.abc import Mapping, Sequence
from typing import Any

from .errors import ProgrammingError

Parameters = Sequence[Any] | Mapping[str, Any]

# Quoted text and names, dollar quotes and comments are passed over; then the three kinds of parameters.
_TOKENS = re.compile(
    r"""
      [eE]'(?:[^'\\]|\\.|'')*' | '(?:[^']|'')*' | "(?:[^"]|"")*"
    | (?P<tag>\$[A-Za-z_]*\$).*?(?P=tag)
    | --[^\n]* | /\*.*?\*/
    | (?P<cast>::)
    | (?P<in>(?<![\w"])IN\s+)?(?:(?P<mark>\?)
    | (?<![\w$])\$(?P<number>\d+)
    | (?<![\w$])\$(?P<dollar>[A-Za-z_]\w*)
    | (?<![\w:]):(?P<name>[A-Za-z_]\w*))
    """,
    re.VERBOSE | re.DOTALL | re.IGNORECASE,
)


def literal(value: Any) -> str:
    """A value as SQL text of its type."""
    if value is None:
        return "NULL"
    module = type(value).__module__.partition(".")[0]
    if module == "pandas" and type(value).__name__ in ("NAType", "NaTType"):
        return "NULL"
    if module == "numpy":
        value = _of_numpy(value)
        if value is None:
            return "NULL"
    elif hasattr(value, "__fspath__"):
        value = os.fsdecode(value)
    elif module in ("pandas", "polars", "pyarrow") and hasattr(value, "to_pylist" if module == "pyarrow" else "to_list"):
        value = value.to_pylist() if module == "pyarrow" else value.to_list()
    elif module == "pyarrow" and hasattr(value, "as_py"):
        return literal(value.as_py())
    if isinstance(value, enum.Enum):
        return literal(value.value)
    if isinstance(value, bool):
        return "TRUE" if value else "FALSE"
    if isinstance(value, int):
        return f"({value})" if value < 0 else str(value)
    if isinstance(value, float):
        return f"CAST('{value!r}' AS DOUBLE PRECISION)"
    if isinstance(value, decimal.Decimal):
        if not value.is_finite():
            raise ProgrammingError(f"{value} is no number that SQL has")
        return f"({value:f})"
    if isinstance(value, str):
        if "\0" in value:
            raise ProgrammingError("a text with a zero byte is not possible")
        return "'" + value.replace("'", "''") + "'"
    if isinstance(value, (bytes, bytearray, memoryview)):
        return f"CAST('\\x{bytes(value).hex()}' AS BYTEA)"
    if isinstance(value, datetime.datetime):
        if value.tzinfo is not None:
            value = value.astimezone(datetime.timezone.utc)
            return f"CAST('{value:%Y-%m-%d %H:%M:%S.%f}+00' AS TIMESTAMP WITH TIME ZONE)"
        return f"TIMESTAMP '{value:%Y-%m-%d %H:%M:%S.%f}'" if value.year > 999 else f"TIMESTAMP '{value.isoformat(sep=' ')}'"
    if isinstance(value, datetime.date):
        return f"DATE '{value.isoformat()}'"
    if isinstance(value, datetime.time):
        return f"TIME '{value.isoformat()}'"
    if isinstance(value, datetime.timedelta):
        # Only the days of Python's may be negative.
        rest = f"INTERVAL '{value.seconds}.{value.microseconds:06}' SECOND"
        return f"(INTERVAL '{value.days}' DAY + {rest})" if value.days else rest
    if isinstance(value, uuid.UUID):
        return f"CAST('{value}' AS UUID)"
    if isinstance(value, (list, tuple)):
        return "[" + ", ".join(map(literal, value)) + "]"
    if isinstance(value, dict) and value:
        return "{" + ", ".join(f"{literal(str(name))}: {literal(each)}" for name, each in value.items()) + "}"
    raise ProgrammingError(f"a parameter of type {type(value).__name__} is not supported")


def _of_numpy(value: Any) -> Any:
    """A NumPy scalar or array as Python has it; NaT is None."""
    kind = value.dtype.kind
    if kind in "mM" and not value.shape:
        # Nanoseconds are more than Python's types have.
        value = value.astype(f"{kind}8[us]")
    return value.tolist() if value.shape else value.item()


def _listed(value: Any) -> str | None:
    """The values of a list behind IN; None for others."""
    module = type(value).__module__.partition(".")[0]
    if module in ("numpy", "pandas", "polars") and hasattr(value, "tolist" if module != "polars" else "to_list"):
        if getattr(value, "shape", None) == ():
            return None
        value = value.to_list() if module == "polars" else value.tolist()
    if not isinstance(value, (list, tuple, set, frozenset)):
        return None
    # Nothing is among no values, and everything is not.
    return "(" + ", ".join(map(literal, value)) + ")" if value else "(SELECT unnest([]))"


def bind(text: str, parameters: Parameters | None) -> str:
    """The statement with its parameters put in."""
    if parameters is None:
        return text
    named = isinstance(parameters, Mapping)
    if not named and (isinstance(parameters, (str, bytes)) or not isinstance(parameters, Sequence)):
        raise ProgrammingError("parameters are a sequence or a mapping")
    used: set[Any] = set()
    position = 0
    # Beside numbered parameters a question mark is an operator of JSONB.
    numbered = "$" in text and "?" in text and any(match["number"] for match in _TOKENS.finditer(text))

    def put(match: re.Match[str]) -> str:
        nonlocal position
        if match["mark"] and numbered:
            return match[0]
        if match["mark"]:
            key: Any = position
            position += 1
        elif match["number"]:
            key = int(match["number"]) - 1
        elif named and (match["name"] or match["dollar"]):
            key = match["name"] or match["dollar"]
        else:
            return match[0]
        if named != isinstance(key, str):
            raise ProgrammingError("parameters are named in the text and given by position, or the other way round")
        used.add(key)
        try:
            if not named and key < 0:
                raise IndexError
            value = parameters[key]
        except (KeyError, IndexError):
            shown = key if named else key + 1
            raise ProgrammingError(f"parameter {shown} is used, but {len(parameters)} are given") from None
        before = match["in"] or ""
        return before + ((_listed(value) if before else None) or literal(value))

    bound = _TOKENS.sub(put, text)
    if not named and len(used) < len(parameters):
        raise ProgrammingError(f"{len(used)} parameters are used, but {len(parameters)} are given")
    return bound
