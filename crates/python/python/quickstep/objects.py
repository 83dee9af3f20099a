"""Objects of the program as relations: anything with Arrow's C stream, and what pyarrow can make of the rest.

Some can be read once: readers, generators, results that are fetched. Their rows are read while the first statement asks
for them, and kept as long as what that statement has given; who comes later is told."""

from __future__ import annotations

import contextlib
import inspect
import io
import itertools
import os
import sys
import tempfile
import weakref
from collections.abc import Callable, Iterator, Mapping
from types import FrameType, ModuleType
from typing import Any

from . import _native, columns
from .columns import library
from .errors import InterfaceError, package

# Objects that can be read once, and the sources that have them. The newest is alive as long as its rows are kept.
_taken: weakref.WeakKeyDictionary[Any, weakref.ref[Source]] = weakref.WeakKeyDictionary()


class Source:
    """An object as the rows of a name, for one statement or for the relations made of it."""

    def __init__(self, name: str, value: Any) -> None:
        self.name = name
        self.value = value
        self.error: BaseException | None = None
        self._once = is_read_once(value)
        self._used = False
        self._collected: Any = None
        self._kept: _native.Registered | None = None

    @classmethod
    def of(cls, name: str, value: Any) -> Source:
        """The object's source: one that was bound and not read is shared, since its rows come once."""
        if not is_read_once(value):
            return cls(name, value)
        try:
            known = _taken.get(value)
        except TypeError:
            return cls(name, value)
        if known is not None:
            source = known()
            if source is None or source._used:
                raise InterfaceError(
                    f"{name} is {kind(value)}, which can be read once, and another statement has read it: "
                    f"keep its rows with CREATE TABLE ... AS SELECT * FROM {name}, or as a pyarrow Table"
                )
            return source
        source = cls(name, value)
        try:
            _taken[value] = weakref.ref(source)
        except TypeError:
            pass
        return source

    def register(self, native: _native.Connection, name: str, runs: bool) -> None:
        """Makes the rows a relation under the name, for a statement that is run or just bound."""
        self._used = self._used or runs
        if self._kept is not None:
            native.register_again(name, self._kept)
        elif self._once or _is_scanned(self.value):
            self._kept = native.register_reader(name, self._reader())
        else:
            if library(self.value) == "polars" and self._collected is None and hasattr(self.value, "collect"):
                self._collected = self.value.collect()
            native.register_stream(name, stream(self.value if self._collected is None else self._collected))

    def _reader(self) -> Any:
        value = self.value
        if hasattr(value, "__arrow_c_stream__"):
            return value.__arrow_c_stream__()
        if hasattr(value, "to_reader"):
            return value.to_reader().__arrow_c_stream__()
        if hasattr(value, "scanner"):
            return value.scanner().to_reader().__arrow_c_stream__()
        return self._generated().__arrow_c_stream__()

    def _generated(self) -> Any:
        pa = _pyarrow()
        first = next(self.value, None)
        if first is None:
            raise InterfaceError(f"{self.name} is {kind(self.value)} that gives nothing: its columns are not known")
        if not is_tabular(first):
            raise InterfaceError(
                f"{self.name} is {kind(self.value)} of {type(first).__name__} values: it should give batches, such as "
                "pyarrow RecordBatches or data frames"
            )
        schema = table(first).schema
        if library(first) == "pyarrow":
            schema = first.schema

        def batches() -> Iterator[Any]:
            try:
                for each in itertools.chain([first], self.value):
                    given = each if library(each) == "pyarrow" and hasattr(each, "schema") else table(each)
                    if given.schema != schema:
                        given = given.cast(schema)
                    yield from given.to_batches() if hasattr(given, "to_batches") else (given,)
            except BaseException as error:
                # It leaves through Arrow, which knows texts only.
                self.error = error
                raise

        return pa.RecordBatchReader.from_batches(schema, batches())


class Copied:
    """What a file object has, in a file of its own for as long as relations read it."""

    error: BaseException | None = None

    def __init__(self, file: Any, suffix: str) -> None:
        number, self.path = tempfile.mkstemp(suffix=suffix)
        self._removed = weakref.finalize(self, _remove, self.path)
        with os.fdopen(number, "wb") as out:
            while part := file.read(1 << 20):
                out.write(part.encode() if isinstance(part, str) else part)

    def register(self, native: _native.Connection, name: str, runs: bool) -> None:
        """The query has its path."""


def _remove(path: str) -> None:
    with contextlib.suppress(OSError):
        os.remove(path)


def is_read_once(value: Any) -> bool:
    """Whether the object's rows are gone once they were read."""
    if hasattr(value, "read_next_batch") or hasattr(value, "fetch_record_batch") and hasattr(value, "rowcount"):
        return True
    if isinstance(value, (_native.Stream, Iterator)):
        return not isinstance(value, io.IOBase)
    # nanoarrow's readers of streams, and their like.
    return hasattr(value, "__arrow_c_stream__") and type(value).__name__ in ("ArrayStream", "CArrayStream")


def _is_scanned(value: Any) -> bool:
    """Whether the object computes its rows when it is asked, so that nobody asks before a statement does."""
    if type(value).__module__.startswith("pyarrow._dataset"):
        return hasattr(value, "to_reader") or hasattr(value, "scanner")
    # Relations, of whatever library.
    return hasattr(value, "__arrow_c_stream__") and library(value) not in ("pyarrow", "pandas", "polars")


def is_tabular(value: Any) -> bool:
    """Whether the object is rows."""
    if isinstance(value, (type, ModuleType)):
        return False
    if hasattr(value, "__arrow_c_stream__") or _is_scanned(value):
        return True
    module = library(value)
    if module == "numpy":
        return hasattr(value, "dtype") and getattr(value, "ndim", 0) in (1, 2)
    if module == "polars":
        return hasattr(value, "collect")
    if module == "pandas":
        return hasattr(value, "dtype") and hasattr(value, "to_numpy")
    if module == "pyarrow":
        return hasattr(value, "__arrow_c_array__")
    if inspect.isgenerator(value):
        return True
    if isinstance(value, Iterator):
        return not isinstance(value, io.IOBase)
    if isinstance(value, (list, tuple)):
        return bool(value) and all(_is_batch(each) for each in value)
    return isinstance(value, Mapping) and bool(value) and all(_is_column(v) for v in value.values())


def _is_batch(value: Any) -> bool:
    return library(value) in ("pyarrow", "pandas", "polars") and hasattr(value, "columns") and is_tabular(value)


def _is_column(value: Any) -> bool:
    return hasattr(value, "__len__") and not isinstance(value, (str, bytes, Mapping))


def stream(value: Any) -> Any:
    """The object as an Arrow C stream's capsule. Arrow, Polars and pandas columns are shared where they can be."""
    module = library(value)
    if module == "polars" and hasattr(value, "collect"):
        value = value.collect()
    if module == "polars" and hasattr(value, "get_columns") and columns.is_plain_polars(value):
        return value.__arrow_c_stream__()
    if module in ("polars", "pandas") or not hasattr(value, "__arrow_c_stream__"):
        return table(value).__arrow_c_stream__()
    if module == "pyarrow" and not hasattr(value, "schema"):
        return table(value).__arrow_c_stream__()
    return value.__arrow_c_stream__()


def _pyarrow() -> Any:
    return package("pyarrow", "this object")


def table(value: Any) -> Any:
    """The object as a pyarrow Table."""
    pa = _pyarrow()
    module = library(value)
    if isinstance(value, Mapping):
        return columns.table(pa, ((str(name), _maker(pa, column)) for name, column in value.items()))
    if isinstance(value, (list, tuple)):
        return pa.concat_tables([table(each) for each in value])
    if module == "numpy":
        if value.dtype.names:
            return columns.table(pa, ((name, _maker(pa, value[name])) for name in value.dtype.names))
        arrays = [value] if value.ndim == 1 else [value[:, at] for at in range(value.shape[1])]
        return columns.table(pa, ((f"column{at}", _maker(pa, array)) for at, array in enumerate(arrays)))
    if module == "pandas" and getattr(value, "ndim", 0) == 2:
        return columns.of_pandas(pa, value)
    if module == "polars" and hasattr(value, "get_columns"):
        return columns.of_polars(pa, value)
    if module in ("pandas", "polars"):
        name = value.name if value.name is not None and value.name != "" else "value"
        series = value.to_series() if module == "pandas" and not hasattr(value, "iloc") else value
        return columns.table(pa, [(str(name), _maker(pa, series))])
    if isinstance(value, pa.Table):
        return value
    if isinstance(value, pa.RecordBatch):
        return pa.Table.from_batches([value])
    if isinstance(value, (pa.Array, pa.ChunkedArray)):
        if pa.types.is_struct(value.type):
            chunks = value.chunks if isinstance(value, pa.ChunkedArray) else [value]
            batches = [pa.RecordBatch.from_struct_array(chunk) for chunk in chunks]
            return pa.Table.from_batches(batches, None if batches else pa.schema(list(value.type)))
        return pa.table({"value": value})
    if hasattr(value, "__arrow_c_stream__"):
        return pa.table(value)
    raise InterfaceError(f"{type(value).__name__} is nothing that can be read as rows")


def _maker(pa: Any, column: Any) -> Callable[[], Any]:
    return lambda: columns.of_sequence(pa, column)


def kind(value: Any) -> str:
    """What the object is, as a person would say it."""
    if value is None:
        return "None"
    if isinstance(value, ModuleType):
        return "a module"
    if isinstance(value, type):
        return "a class"
    if isinstance(value, (list, tuple, set, frozenset)):
        name = type(value).__name__
        if not value:
            return f"an empty {name}"
        return f"a {name} of {type(next(iter(value))).__name__}s"
    if inspect.isgenerator(value):
        return "a generator"
    if callable(value) and hasattr(value, "__name__"):
        return "a function"
    name = type(value).__name__
    return f"{'an' if name[:1].lower() in 'aeiou' else 'a'} {name}"


def unreadable(name: str, value: Any) -> str:
    """Says that the object is no rows, and what to do about it."""
    remedy = "rows are data frames, Arrow tables, readers, NumPy arrays and dicts of columns"
    if isinstance(value, (list, tuple)) and value:
        first = value[0]
        if isinstance(first, Mapping):
            remedy = f"pyarrow.Table.from_pylist({name}) or pandas.DataFrame({name}) makes a table of it"
        elif isinstance(first, (list, tuple)):
            remedy = f"pandas.DataFrame({name}, columns=[...]) makes a table of it, and con.values(*{name}) a relation"
        else:
            remedy = f"a dict of columns can be read: {{'name': {name}}}"
    elif isinstance(value, (set, frozenset)):
        remedy = f"a dict of columns can be read: {{'name': list({name})}}"
    elif isinstance(value, Mapping):
        remedy = "the values of a dict that is read are its columns: lists or arrays of the same length"
    elif isinstance(value, str):
        remedy = "to read a file by its path, put the path in single quotes into the query, or use read_csv() and its like"
    elif library(value) == "numpy":
        remedy = "arrays of one or two dimensions can be read"
    return f"{name} is {kind(value)}: {remedy}"


def find(name: str, frame: FrameType | None) -> tuple[Any, Any]:
    """The tabular variable of that name nearest to the caller, or None; and the nearest one that is not tabular. SQL folds
    names, so case does not matter."""
    other = None
    while frame is not None:
        for scope in (frame.f_locals, frame.f_globals):
            value, no_rows = among(name, scope)
            if value is not None:
                return value, None
            other = no_rows if other is None else other
        frame = frame.f_back
    return None, other


def among(name: str, scope: Mapping[str, Any]) -> tuple[Any, Any]:
    """As `find`, among these variables alone."""
    value = scope.get(name)
    if value is None:
        value = next((v for k, v in list(scope.items()) if k.lower() == name.lower()), None)
    return (value, None) if value is not None and is_tabular(value) else (None, value)


def caller() -> FrameType | None:
    """The nearest frame that is not this package's."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None and frame.f_globals.get("__name__", "").partition(".")[0] == "quickstep":
        frame = frame.f_back
    return frame
