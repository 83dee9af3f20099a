"""Objects of the program as relations: anything with Arrow's C stream, and what pyarrow can make of the rest."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from types import FrameType
from typing import Any

from .errors import InterfaceError, package


def is_tabular(value: Any) -> bool:
    """Whether the object is rows."""
    if hasattr(value, "__arrow_c_stream__"):
        return True
    module = type(value).__module__.partition(".")[0]
    if module == "numpy":
        return hasattr(value, "dtype") and getattr(value, "ndim", 0) in (1, 2)
    if module == "polars":
        return hasattr(value, "collect")
    return isinstance(value, Mapping) and bool(value) and all(hasattr(v, "__len__") for v in value.values())


def stream(value: Any) -> Any:
    """The object as an Arrow C stream's capsule. Arrow, Polars and pandas columns are shared where they can be."""
    if type(value).__module__.partition(".")[0] == "polars" and hasattr(value, "collect"):
        value = value.collect()
    if hasattr(value, "__arrow_c_stream__"):
        return value.__arrow_c_stream__()
    if hasattr(value, "__arrow_c_array__"):
        return _table(_pyarrow().record_batch(value)).__arrow_c_stream__()
    return _table(value).__arrow_c_stream__()


def _pyarrow() -> Any:
    return package("pyarrow", "this object")


def _table(value: Any) -> Any:
    pa = _pyarrow()
    if isinstance(value, Mapping):
        return pa.table({str(name): pa.array(column) for name, column in value.items()})
    if type(value).__module__.partition(".")[0] == "numpy":
        if value.dtype.names:
            return pa.table({name: pa.array(value[name]) for name in value.dtype.names})
        columns = [value] if value.ndim == 1 else [value[:, at] for at in range(value.shape[1])]
        return pa.table({f"column{at}": pa.array(column) for at, column in enumerate(columns)})
    if isinstance(value, pa.RecordBatch):
        return pa.Table.from_batches([value])
    raise InterfaceError(f"{type(value).__name__} is nothing that can be read as rows")


def find(name: str, frame: FrameType | None) -> Any:
    """The tabular variable of that name nearest to the caller, or None. SQL folds names, so case does not matter."""
    while frame is not None:
        for scope in (frame.f_locals, frame.f_globals):
            value = scope.get(name)
            if value is None:
                value = next((v for k, v in list(scope.items()) if k.lower() == name.lower()), None)
            if value is not None and is_tabular(value):
                return value
        frame = frame.f_back
    return None


def caller() -> FrameType | None:
    """The nearest frame that is not this package's."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None and frame.f_globals.get("__name__", "").partition(".")[0] == "quickstep":
        frame = frame.f_back
    return frame
