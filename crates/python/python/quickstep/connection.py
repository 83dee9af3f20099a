"""Connections: what runs statements."""

from __future__ import annotations

import itertools
import os
import re
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, TypeVar

from . import _native, errors, functions, objects
from .appender import Appender
from .cursor import Cursor
from .errors import InterfaceError, ProgrammingError, _class_of, classified
from .parameters import Parameters, bind, literal
from .progress import OnProgress, OperatorProgress, Progress, Wanted, display_for
from .relation import Relation

# Statements that begin or end transactions themselves, behind comments.
_BOUNDARY = re.compile(
    r"(?:\s|;|--[^\n]*(?:\n|\Z)|/\*.*?\*/)*(?:BEGIN|START|COMMIT|END|ROLLBACK|ABORT)\b", re.IGNORECASE | re.DOTALL
)
_MISSING = re.compile(r'relation "([^"]+)" does not exist')

Found = dict[str, objects.Source | objects.Copied]

T = TypeVar("T")
F = TypeVar("F", bound=Callable[..., Any])


class Connection:
    """A session of a database. Threads may share it: statements run one after the other. For statements at the same
    time, each thread takes a `session()` of its own."""

    # DB-API lets programs find the classes of errors here, too.
    Warning = errors.Warning
    Error = _native.Error
    InterfaceError = errors.InterfaceError
    DatabaseError = errors.DatabaseError
    DataError = errors.DataError
    OperationalError = errors.OperationalError
    IntegrityError = errors.IntegrityError
    InternalError = errors.InternalError
    ProgrammingError = errors.ProgrammingError
    NotSupportedError = errors.NotSupportedError

    def __init__(self, native: _native.Connection, progress: Wanted = None, autocommit: bool = True) -> None:
        self._native = native
        self._closed = False
        self._autocommit = autocommit
        self._savepoints = itertools.count(1)
        self.variables: bool | Mapping[str, Any] = True
        """Whether a name that is no table may be that of a variable around the call; or the variables that it may name."""
        self._numbers = itertools.count(1)
        # Names of the program's variables are registered for the time of a statement, one statement at a time.
        self._names = threading.RLock()
        self._wants_progress = progress
        self._on_progress: OnProgress | None = None
        self._display = display_for(progress)
        self._watch()

    # What runs statements.

    def sql(self, query: str, parameters: Parameters | None = None) -> Relation:
        """A query as a lazy relation; any other statement runs at once.

        A name that is no table may be that of a variable: a pandas, Polars, Arrow or NumPy object.
        """
        return self._relation(bind(query, parameters), {})

    query = sql

    def execute(self, query: str, parameters: Parameters | None = None) -> Cursor:
        """Runs statements; a cursor over the last one's rows."""
        return self.cursor().execute(query, parameters)

    def executemany(self, query: str, rows: Iterable[Parameters]) -> Cursor:
        """Runs a statement for each set of parameters: for all of them or, after an error, which names the row, for none.
        An INSERT of one row of parameters is run once, with all rows."""
        return self.cursor().executemany(query, rows)

    def appender(self, table: str, columns: Sequence[str] | None = None) -> Appender:
        """Adds rows to a table, many at a time: `with con.appender("t") as rows: rows.append(1, "a")`. Names are written as
        in SQL; other columns than those that are named get their defaults."""
        self._check_open()
        return Appender(self, table, columns)

    def append(self, table: str, value: Any, by_name: bool = False) -> Connection:
        """Adds the rows of a data frame or another object with columns to a table, by place or by the columns' names."""
        if not objects.is_tabular(value):
            raise InterfaceError(objects.unreadable("the object", value))
        name = f"object_{id(value)}"
        word = "BY NAME " if by_name else ""
        found: Found = {name: objects.Source.of("the object", value)}
        self._run(f"INSERT INTO {table} {word}SELECT * FROM {name}", found)
        return self

    def table(self, name: str) -> Relation:
        """A table, a view, or what is registered under the name."""
        quoted = ".".join('"' + part.replace('"', '""') + '"' for part in name.split("."))
        return self.sql(f"SELECT * FROM {quoted}")

    view = table

    def values(self, *rows: Sequence[Any]) -> Relation:
        """A relation of rows of Python values: `con.values([1, 'a'], [2, 'b'])`."""
        if not rows:
            raise InterfaceError("values() needs at least one row")
        if not all(isinstance(row, (list, tuple)) for row in rows):
            rows = (rows,)
        listed = ", ".join("(" + ", ".join(map(literal, row)) + ")" for row in rows)
        return self.sql(f"SELECT * FROM (VALUES {listed})")

    def _file(self, function: str, paths: Any, options: dict[str, Any]) -> Relation:
        alone = isinstance(paths, (str, bytes)) or hasattr(paths, "__fspath__") or hasattr(paths, "read")
        listed = [paths] if alone else list(paths)
        found: Found = {}
        names = []
        for path in listed:
            if hasattr(path, "read"):
                copied = objects.Copied(path, "." + function.removeprefix("read_"))
                found[copied.path] = copied
                path = copied.path
            names.append(os.fsdecode(path))
        texts = [literal(name) for name in names]
        first = texts[0] if len(texts) == 1 else "[" + ", ".join(texts) + "]"
        rest = "".join(f", {name} => {literal(value)}" for name, value in options.items())
        return self._relation(f"SELECT * FROM {function}({first}{rest})", found)

    def read_parquet(self, paths: Any, **options: Any) -> Relation:
        """Parquet files by path, pattern, folder, or list of such; or file objects, which are read to their end."""
        return self._file("read_parquet", paths, options)

    def read_csv(self, paths: Any, **options: Any) -> Relation:
        """CSV files by path, pattern, folder, or list of such; or file objects, which are read to their end."""
        return self._file("read_csv", paths, options)

    def read_json(self, paths: Any, **options: Any) -> Relation:
        """JSON files by path, pattern, folder, or list of such; or file objects, which are read to their end."""
        return self._file("read_json", paths, options)

    def read_arrow(self, paths: Any, **options: Any) -> Relation:
        """Arrow IPC files by path, pattern, folder, or list of such; or file objects, which are read to their end."""
        return self._file("read_arrow", paths, options)

    # The program's objects.

    def register(self, name: str, value: Any) -> Connection:
        """Makes an object a relation under `name`. Its rows are kept, and not copied where Arrow can share them."""
        self._check_open()
        if not isinstance(name, str) or not name:
            raise InterfaceError(f"a relation's name is a text, not {name!r}")
        if not objects.is_tabular(value):
            raise InterfaceError(objects.unreadable(name, value))
        with self._names, classified():
            # What else has the name is seen when nothing is registered under it.
            self._native.unregister(name)
            quoted = '"' + name.lower().replace('"', '""') + '"'
            try:
                self._native.describe(f"SELECT * FROM {quoted}")
            except _native.Error as error:
                if getattr(error, "sqlstate", None) != "42P01":
                    raise
            else:
                raise ProgrammingError(
                    f'"{name}" is a table or a view already, which would hide what is registered under the name: '
                    "choose another name, or drop it first"
                )
            objects.Source.of(name, value).register(self._native, name, runs=True)
        return self

    def unregister(self, name: str) -> bool:
        """Forgets a registered object; False when there was none."""
        self._check_open()
        return self._native.unregister(name)

    def from_arrow(self, value: Any) -> Relation:
        """A relation of an object, without a name."""
        if not objects.is_tabular(value):
            raise InterfaceError(objects.unreadable("the object", value))
        name = f"object_{id(value)}"
        return self._relation(f"SELECT * FROM {name}", {name: objects.Source.of("the object", value)})

    from_df = from_arrow

    def _check_open(self) -> None:
        if self._closed:
            raise InterfaceError("the connection is closed")

    def _with_objects(
        self, text: str, found: Found, act: Callable[[_native.Connection, str], T], runs: bool = True
    ) -> T:
        """Calls `act` with `found` registered; names that are missing are looked up among the variables. `runs`: rows are
        read, and not just described."""
        self._check_open()
        if _native.in_function():
            # The statement that called the function may hold this connection, and waits for it. Nobody would commit.
            session = self.session()
            session._autocommit = True
            return session._registered(text, found, act, runs)
        return self._registered(text, found, act, runs)

    def _registered(self, text: str, found: Found, act: Callable[[_native.Connection, str], T], runs: bool) -> T:
        # What is registered here is seen by every statement of the session, so no other may run meanwhile.
        with self._names:
            registered: set[str] = set()
            try:
                while True:
                    for name in found.keys() - registered:
                        with classified():
                            found[name].register(self._native, name, runs)
                        registered.add(name)
                    if runs:
                        self._begin_before(text)
                    try:
                        return act(self._native, text)
                    except _native.Error as error:
                        # The program's own exception says more than what Arrow has made of it.
                        for source in found.values():
                            if source.error is not None:
                                cause, source.error = source.error, None
                                if isinstance(cause, KeyboardInterrupt):
                                    raise cause from None
                                raise _class_of(error) from cause
                        if self._variable(error, found) is None:
                            raise _class_of(error) from error.__cause__
            finally:
                if not self._closed:
                    for name in registered:
                        self._native.unregister(name)
                if self._display is not None:
                    self._display.finish()

    def _variable(self, error: _native.Error, found: Found) -> Any:
        missing = _MISSING.search(str(error)) if getattr(error, "sqlstate", None) == "42P01" else None
        if missing is None or missing[1] in found or self.variables is False:
            return None
        if self.variables is True:
            value, other = objects.find(missing[1], objects.caller())
        else:
            value, other = objects.among(missing[1], self.variables)
        if value is not None:
            found[missing[1]] = objects.Source.of(missing[1], value)
        elif other is not None:
            hint = objects.unreadable(missing[1], other)
            named = type(error)(f"{error}\nHINT: {hint}")
            for name in ("sqlstate", "line", "column"):
                setattr(named, name, getattr(error, name, None))
            named.hint = hint
            raise _class_of(named) from None
        return value

    def _relation(self, text: str, found: Found) -> Relation:
        columns = self._with_objects(text, found, _native.Connection.describe, runs=False)
        if columns is None:
            return Relation(self, text, [], found, self._run(text, found))
        return Relation(self, text, columns, found)

    def _run(self, text: str, found: Found) -> _native.Result:
        return self._with_objects(text, found, _native.Connection.sql)

    def _stream(self, text: str, found: Found, arrow: bool = False, whole: bool = False) -> _native.Stream:
        return self._with_objects(text, found, lambda native, text: native.stream(text, arrow, whole))

    # The program's functions.

    def create_function(
        self,
        name: str,
        function: Callable[..., Any],
        parameters: Sequence[Any] | None = None,
        return_type: Any = None,
        *,
        kind: str = "scalar",
        null_handling: str = "default",
        volatile: bool = False,
        replace: bool = False,
    ) -> Connection:
        """Makes a Python function callable from SQL, in all sessions of the database.

        parameters, return_type: names of SQL types, Python or pyarrow types; as annotated when not given.
        kind: "scalar", called with a row's values; "arrow", called with a pyarrow array for each argument, some
            thousand rows at a time, and gives an array; "aggregate", called with the arrays of a group, and gives a
            value. An aggregate may be a class with `step`, which gets the arrays, and `finish`, which gives the value.
        null_handling: by "default", rows with a NULL are not seen and give NULL, and a group without rows gives NULL;
            with "special" the function sees them.
        volatile: equal arguments may give different results, so every call is made.
        replace: a function of that name may exist.
        """
        if not name or not isinstance(name, str):
            raise InterfaceError(f"a function's name is a text, not {name!r}")
        called = functions.body(name, function, kind, null_handling)
        types, result = functions.signature(name, function, parameters, return_type, kind)
        with classified():
            self._native.create_function(
                name, called, types, result, kind, null_handling == "special", volatile, replace
            )
        return self

    def create_aggregate(
        self,
        name: str,
        function: Callable[..., Any],
        parameters: Sequence[Any] | None = None,
        return_type: Any = None,
        *,
        null_handling: str = "default",
        replace: bool = False,
    ) -> Connection:
        """`create_function` with the kind "aggregate"."""
        return self.create_function(
            name, function, parameters, return_type, kind="aggregate", null_handling=null_handling, replace=replace
        )

    def function(
        self,
        name: str | None = None,
        parameters: Sequence[Any] | None = None,
        return_type: Any = None,
        *,
        kind: str = "scalar",
        null_handling: str = "default",
        volatile: bool = False,
        replace: bool = False,
    ) -> Callable[[F], F]:
        """A decorator: `@con.function()` makes the function below it callable from SQL, under its own name."""

        def decorated(function: F) -> F:
            self.create_function(
                name or function.__name__,
                function,
                parameters,
                return_type,
                kind=kind,
                null_handling=null_handling,
                volatile=volatile,
                replace=replace,
            )
            return function

        return decorated

    def remove_function(self, name: str) -> bool:
        """Forgets a function; False when there was none. DROP FUNCTION does the same."""
        return self._native.drop_function(name)

    drop_function = remove_function

    # Progress.

    @property
    def progress(self) -> Wanted:
        """What is shown of statements that run for more than half a second, in notebooks as a display, else on the error
        output: a bar with True, with "tree" the plan as a tree that fills up. None, the default: a bar in notebooks and
        interactive sessions."""
        return self._wants_progress

    @progress.setter
    def progress(self, wanted: Wanted) -> None:
        self._display = display_for(wanted)
        self._wants_progress = wanted
        self._watch()

    @property
    def on_progress(self) -> OnProgress | None:
        """A function that is called with a `Progress` while a statement runs: after half a second, then ten times a
        second. An exception in it ends the statement and is raised."""
        return self._on_progress

    @on_progress.setter
    def on_progress(self, function: OnProgress | None) -> None:
        self._on_progress = function
        self._watch()

    def _watch(self) -> None:
        function, display = self._on_progress, self._display
        if function is None and display is None:
            self._native.set_progress(None)
            return
        most = 0.0
        last = 0.0

        def tell(
            fraction: float, rows: int, done: int, total: int, seconds: float, operators: list[_native.Operator]
        ) -> None:
            # Parts of a plan that begin make the fraction smaller; nobody wants to see that.
            nonlocal most, last
            most = fraction if seconds < last else max(most, fraction)
            last = seconds
            progress = Progress(most, rows, done, total, seconds, tuple(OperatorProgress(*o) for o in operators))
            if display is not None:
                display(progress)
            if function is not None:
                function(progress)

        self._native.set_progress(tell)

    def describe_statement(self, query: str) -> tuple[list[str], list[tuple[str, str]] | None]:
        """Before there are values, the SQL types of the parameters `$1` or `?` of one statement, and names and SQL types of its columns, or None where it gives none."""
        return self._with_objects(query, {}, _native.Connection.describe_statement, runs=False)

    # The rest of DB-API, and of life.

    def cursor(self) -> Cursor:
        """A DB-API cursor."""
        self._check_open()
        return Cursor(self)

    def session(self) -> Connection:
        """Another session on the same database, with settings of its own."""
        self._check_open()
        session = Connection(self._native.session(), self._wants_progress, self._autocommit)
        session.variables = self.variables
        return session

    def interrupt(self) -> None:
        """Cancels the running statement and the queries whose rows are being read, from another thread."""
        if not self._closed:
            self._native.interrupt()

    # Transactions.

    @property
    def autocommit(self) -> bool:
        """Whether a statement outside a transaction commits by itself, as it does unless `connect(autocommit=False)` says
        otherwise. With False a statement opens a transaction where none is open, and `commit` or `rollback` ends it, as
        DB-API has it. Set to True, it commits the open transaction."""
        return self._autocommit

    @autocommit.setter
    def autocommit(self, value: bool) -> None:
        if not isinstance(value, bool):
            raise InterfaceError(f"autocommit is True or False, not {value!r}")
        self._check_open()
        if value and not self._autocommit:
            self.commit()
        self._autocommit = value

    @property
    def in_transaction(self) -> bool:
        """Whether a transaction is open, one that has failed and can only be rolled back included."""
        return not self._closed and self._native.in_transaction()

    def _begin_before(self, text: str) -> None:
        """Without autocommit, opens the transaction that a statement runs in."""
        if not self._autocommit and not self._native.in_transaction() and not _BOUNDARY.match(text):
            with classified():
                self._native.sql("BEGIN")

    def begin(self) -> Connection:
        """Opens a transaction: what follows is seen by others once `commit` has been called, or never."""
        self.execute("BEGIN")
        return self

    def commit(self) -> None:
        """Ends the open transaction and keeps what it has done; without one there is nothing to commit. A transaction in
        which a statement has failed keeps nothing: it is rolled back, and that is an error."""
        self._check_open()
        with self._names, classified():
            if self._native.in_transaction() and self._native.sql("COMMIT").tag == "ROLLBACK":
                raise errors.failed_commit()

    def rollback(self) -> None:
        """Takes back what the open transaction has done; without one there is nothing to take back."""
        self._check_open()
        with self._names, classified():
            if self._native.in_transaction():
                self._native.sql("ROLLBACK")

    @contextmanager
    def transaction(self) -> Iterator[Connection]:
        """`with con.transaction():` commits what is done in it, or takes it back after an exception, which goes on. Within
        a transaction it is a savepoint: what is done in it can be taken back alone."""
        self._check_open()
        if not self.in_transaction:
            self.begin()
            try:
                yield self
            except BaseException:
                if self.in_transaction:
                    self.rollback()
                raise
            self.commit()
            return
        name = f"quickstep_{next(self._savepoints)}"
        self.execute(f"SAVEPOINT {name}")
        try:
            yield self
        except BaseException:
            if self.in_transaction:
                self.execute(f"ROLLBACK TO SAVEPOINT {name}; RELEASE SAVEPOINT {name}")
            raise
        self.execute(f"RELEASE SAVEPOINT {name}")

    @property
    def closed(self) -> bool:
        """Whether `close` was called."""
        return self._closed

    def close(self) -> None:
        """Ends what runs and what is read on this connection; what was not committed is taken back. The database ends with
        its last connection: its directory is free for other processes then."""
        self._closed = True
        self._native.close()

    def __enter__(self) -> Connection:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        """Closes the connection. Without autocommit what is open is committed first, or after an exception taken back."""
        try:
            if kind is None and not self._autocommit and not self._closed:
                self.commit()
        finally:
            self.close()
