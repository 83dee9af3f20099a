"""Columns of frames, dicts and arrays as Arrow's. One that Arrow has no type for does not cost the others: it is there by
name, and refused when it is asked for."""

from __future__ import annotations

import decimal
import functools
import uuid
from collections.abc import Callable, Iterable
from typing import Any

# The engine looks for this in a field's metadata; `formats::decode` has it too.
REFUSED = b"quickstep:refused"
_LOOKED_AT = 10_000
_DIGITS_MAX = 38


def library(value: Any) -> str:
    """The package that the object's class is of."""
    return type(value).__module__.partition(".")[0]


def table(pa: Any, columns: Iterable[tuple[str, Callable[[], Any]]]) -> Any:
    """A pyarrow Table of what the functions give; a column whose function fails is refused when it is asked for."""
    fields, arrays = [], []
    for name, make in columns:
        reason = None
        try:
            array = make()
        except Refused as error:
            array, reason = None, str(error)
        except (pa.ArrowException, TypeError, ValueError, OverflowError, NotImplementedError) as error:
            array, reason = None, str(error).partition("\n")[0] or type(error).__name__
        arrays.append(array)
        metadata = None if reason is None else {REFUSED: reason.encode()}
        fields.append(pa.field(name, pa.null() if array is None else array.type, metadata=metadata))
    lengths = {len(array) for array in arrays if array is not None}
    if len(lengths) > 1:
        raise ValueError(f"the columns have different lengths: {', '.join(map(str, sorted(lengths)))}")
    # Of columns that are all refused nothing but their number can be asked.
    rows = lengths.pop() if lengths else 0
    arrays = [pa.nulls(rows) if array is None else array for array in arrays]
    return pa.Table.from_arrays(arrays, schema=pa.schema(fields))


class Refused(Exception):
    """Why a column cannot be had."""


def of_pandas(pa: Any, frame: Any) -> Any:
    """A pandas DataFrame's columns; its index is none of them."""
    numbered = range(frame.shape[1])
    made = table(pa, ((str(frame.columns[at]), functools.partial(of_series, pa, frame.iloc[:, at])) for at in numbered))
    return _of_length(pa, made, len(frame))


def _of_length(pa: Any, made: Any, rows: int) -> Any:
    """The table with so many rows, where all of its columns are refused."""
    if made.num_rows == rows:
        return made
    return pa.Table.from_arrays([pa.nulls(rows) for _ in made.columns], schema=made.schema)


def of_series(pa: Any, series: Any) -> Any:
    """A pandas Series as an Arrow array."""
    kind = type(series.dtype).__name__
    if kind == "SparseDtype":
        series = series.sparse.to_dense()
    if kind == "PeriodDtype":
        return pa.array([None if each is None else str(each) for each in series.astype(object).where(series.notna(), None)])
    if getattr(series.dtype, "kind", None) == "c":
        raise Refused("complex numbers have no type in SQL: take .real and .imag of it")
    try:
        array = pa.array(series, from_pandas=True)
    except (pa.ArrowException, TypeError, ValueError, OverflowError):
        return of_objects(pa, series.astype(object).where(series.notna(), None).tolist())
    return array.storage if kind == "IntervalDtype" and hasattr(array, "storage") else array


def of_objects(pa: Any, values: list[Any]) -> Any:
    """Python values that Arrow did not take as they are: whole numbers of any size, UUIDs. Others are refused."""
    there = [value for value in values if value is not None and value == value]
    if there and all(type(value) is int for value in there):
        if max(len(str(abs(value))) for value in (min(there), max(there))) > _DIGITS_MAX:
            raise Refused(f"it has numbers of more than {_DIGITS_MAX} digits: convert it to float or str")
        numbers = (None if value is None or value != value else decimal.Decimal(value) for value in values)
        return pa.array(list(numbers), pa.decimal128(_DIGITS_MAX, 0))
    if there and all(isinstance(value, uuid.UUID) for value in there):
        return pa.array([value.bytes if isinstance(value, uuid.UUID) else None for value in values], pa.binary(16))
    kinds = sorted({type(value).__name__ for value in there[:_LOOKED_AT]})
    if len(kinds) > 1:
        raise Refused(f"it has values of several types ({', '.join(kinds)}): convert them to one, such as str")
    raise Refused(f"its values are of type {kinds[0] if kinds else 'None'}, which SQL has none for")


def of_sequence(pa: Any, column: Any) -> Any:
    """A column given as a list, an array or a series of whatever library."""
    if library(column) == "pandas" and hasattr(column, "iloc"):
        return of_series(pa, column)
    if library(column) == "polars":
        return of_polars_series(pa, column)
    if hasattr(column, "__arrow_c_stream__") or hasattr(column, "__arrow_c_array__"):
        return pa.chunked_array(column) if hasattr(column, "__arrow_c_stream__") else pa.array(column)
    if getattr(getattr(column, "dtype", None), "kind", None) == "c":
        raise Refused("complex numbers have no type in SQL: take .real and .imag of it")
    try:
        return pa.array(column, from_pandas=True)
    except (pa.ArrowException, TypeError, ValueError, OverflowError):
        return of_objects(pa, list(column))


def is_plain_polars(frame: Any) -> bool:
    """Whether Polars itself can hand all columns over in types that Arrow has."""
    return not any(_odd(str(dtype)) for dtype in frame.dtypes)


def _odd(dtype: str) -> bool:
    return any(word in dtype for word in ("Null", "Object", "Int128"))


def of_polars(pa: Any, frame: Any) -> Any:
    """A Polars DataFrame with columns of types that Arrow has not."""
    made = table(pa, ((each.name, functools.partial(of_polars_series, pa, each)) for each in frame.get_columns()))
    return _of_length(pa, made, frame.height)


def of_polars_series(pa: Any, series: Any) -> Any:
    """A Polars Series as an Arrow array."""
    dtype = str(series.dtype)
    if dtype.startswith("Object"):
        return of_sequence(pa, series.to_list())
    if dtype in ("Int128", "UInt128"):
        return of_objects(pa, series.to_list())
    if "Object" in dtype or "Int128" in dtype:
        raise Refused(f"its type {dtype} has no counterpart in SQL")
    return pa.chunked_array(series)
