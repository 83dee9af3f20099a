# mypy: ignore-errors
"""Ibis' backend: `ibis.quickstep.connect("some.db")`, by an entry point of this package.

Expressions become SQL by the compiler of Ibis' DuckDB backend, whose dialect the engine reads; the few places where it
does not are overridden in `Compiler`. Tables and types come from `Connection.sql`, which describes without running.
Tables of the program (`ibis.memtable`) are registered on the connection, and not copied where Arrow can share them.
Not there: geography, machine learning, `upsert`, examples of Ibis' own and readers of other databases.
"""

from __future__ import annotations

import contextlib
import uuid
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import ibis
import ibis.common.exceptions as exc
import ibis.expr.datatypes as dt
import ibis.expr.operations as ops
import ibis.expr.schema as sch
import ibis.expr.types as ir
import sqlglot as sg
import sqlglot.expressions as sge
from ibis import util
from ibis.backends import CanCreateDatabase, HasCurrentCatalog, HasCurrentDatabase, SupportsTempTables, UrlFromPath
from ibis.backends.sql import SQLBackend
from ibis.backends.sql.compilers.duckdb import DuckDBCompiler
from ibis.formats.pandas import PandasData
from ibis.formats.pyarrow import PyArrowData

import quickstep

from .parameters import literal

_UNDEFINED_TABLE = "42P01"


def _converted(table: Any, schema: sch.Schema) -> Any:
    """An Arrow table in the types that Ibis has for the schema."""
    import pyarrow as pa

    columns = []
    for column, (name, dtype) in zip(table.columns, schema.items()):
        if dtype.is_null():
            column = pa.nulls(len(column))
        elif dtype.is_uuid() and pa.types.is_fixed_size_binary(column.type):
            column = pa.array([None if each is None else str(uuid.UUID(bytes=each)) for each in column.to_pylist()], pa.string())
        columns.append(column)
    return PyArrowData.convert_table(pa.Table.from_arrays(columns, names=list(schema.names)), schema)


def _kept(schema: sch.Schema, table: Any) -> sch.Schema:
    """The schema with as many decimals as the rows have. Ibis expects fewer of products than SQL gives, and would cut
    them."""
    import pyarrow as pa

    def of(dtype: Any, arrow: Any) -> Any:
        if not (dtype.is_decimal() and pa.types.is_decimal(arrow)):
            return dtype
        return dt.Decimal(arrow.precision, arrow.scale, nullable=dtype.nullable)

    return sch.Schema({name: of(dtype, field.type) for (name, dtype), field in zip(schema.items(), table.schema)})


class Compiler(DuckDBCompiler):
    """DuckDB's compiler with what differs."""

    __slots__ = ()

    def visit_RegexSearch(self, op: Any, *, arg: Any, pattern: Any) -> Any:
        # `regexp_matches` is PostgreSQL's here, which gives what it found.
        return self.f.anon.regexp_like(arg, pattern)


class Backend(SupportsTempTables, SQLBackend, CanCreateDatabase, HasCurrentCatalog, HasCurrentDatabase, UrlFromPath):
    """Quickstep, in this process."""

    name = "quickstep"
    compiler = Compiler()
    supports_temporary_tables = True

    # Connections.

    def do_connect(self, database: str | Path | None = None, **options: Any) -> None:
        """Opens a database: a path, or one in memory without. Options are those of `quickstep.connect`."""
        path = None if database in (None, "", ":memory:") else str(database)
        self.con = quickstep.connect(path, **options)
        self._ready()

    @classmethod
    def from_connection(cls, con: quickstep.Connection, /) -> Backend:
        """A backend over a connection that is open already."""
        backend = cls()
        backend._can_reconnect = False
        backend.con = con
        backend._ready()
        return backend

    def _ready(self) -> None:
        # What an expression names is a table, never a variable of Ibis' own functions.
        self.con.variables = False

    def disconnect(self) -> None:
        """Closes the connection."""
        self.con.close()

    @property
    def version(self) -> str:
        """The package's version."""
        return quickstep.__version__

    # Statements.

    def raw_sql(self, query: str | sge.Expression, **_: Any) -> Any:
        """Runs a statement; a cursor over its rows."""
        text = query if isinstance(query, str) else query.sql(dialect=self.dialect)
        return self.con.execute(text)

    @contextlib.contextmanager
    def _safe_raw_sql(self, query: str | sge.Expression, **options: Any) -> Any:
        cursor = self.raw_sql(query, **options)
        try:
            yield cursor
        finally:
            cursor.close()

    def _relation(self, expr: ir.Expr, params: Any, limit: Any, **options: Any) -> quickstep.Relation:
        self._run_pre_execute_hooks(expr)
        return self.con.sql(self.compile(expr.as_table(), limit=limit, params=params, **options))

    def execute(self, expr: ir.Expr, /, *, params: Any = None, limit: Any = None, **options: Any) -> Any:
        """The expression's value: a pandas DataFrame, a Series or a scalar."""
        table, schema = self._arrow(expr, params, limit, **options)
        frame = PandasData.convert_table(table.to_pandas(integer_object_nulls=True), schema)
        return expr.__pandas_result__(frame, schema=schema)

    def to_pyarrow(self, expr: ir.Expr, /, *, params: Any = None, limit: Any = None, **options: Any) -> Any:
        """The expression's value as a pyarrow Table, an Array or a Scalar."""
        table, schema = self._arrow(expr, params, limit, **options)
        return expr.__pyarrow_result__(table, schema=schema)

    def _arrow(self, expr: ir.Expr, params: Any, limit: Any, **options: Any) -> tuple[Any, sch.Schema]:
        table = self._relation(expr, params, limit, **options).arrow()
        schema = _kept(expr.as_table().schema(), table)
        return _converted(table, schema), schema

    def to_pyarrow_batches(
        self, expr: ir.Expr, /, *, params: Any = None, limit: Any = None, chunk_size: int = 1_000_000, **_: Any
    ) -> Any:
        """The expression's rows as a reader, which gets them while the query runs."""
        import pyarrow as pa

        reader = self._relation(expr, params, limit).fetch_record_batch(chunk_size)
        schema = _kept(expr.as_table().schema(), reader)

        def converted():
            for batch in reader:
                yield from _converted(pa.Table.from_batches([batch]), schema).to_batches()

        return pa.RecordBatchReader.from_batches(schema.to_pyarrow(), converted())

    # Schemas.

    def _schema_of(self, columns: list[tuple[str, str]], nullable: Mapping[str, bool]) -> sch.Schema:
        of = self.compiler.type_mapper.from_string
        return sch.Schema({name: of(ty, nullable=nullable.get(name, True)) for name, ty in columns})

    def _get_schema_using_query(self, query: str) -> sch.Schema:
        relation = self.con.sql(query)
        return self._schema_of(list(zip(relation.columns, relation.types)), {})

    def get_schema(self, table_name: str, *, catalog: str | None = None, database: str | None = None) -> sch.Schema:
        """Columns and types of a table or a view."""
        table = sg.table(table_name, db=database, catalog=catalog, quoted=True)
        try:
            cursor = self.con.execute(f"SELECT * FROM {table.sql(self.dialect)} LIMIT 0")
        except quickstep.ProgrammingError as error:
            if error.sqlstate == _UNDEFINED_TABLE:
                raise exc.TableNotFound(table_name) from error
            raise
        columns = [(name, ty) for name, ty, *_ in cursor.description]
        return self._schema_of(columns, {name: null is not False for name, *_, null in cursor.description})

    @property
    def current_catalog(self) -> str:
        """The database's name."""
        return self._one("SELECT current_database()")

    @property
    def current_database(self) -> str:
        """The schema that names without one are of."""
        return self._one("SELECT current_schema()")

    def _one(self, query: str) -> Any:
        return self.con.execute(query).fetchone()[0]

    def _names(self, query: str, like: str | None) -> list[str]:
        return self._filter_with_like([name for name, in self.con.execute(query).fetchall()], like)

    def list_tables(self, *, like: str | None = None, database: tuple[str, str] | str | None = None) -> list[str]:
        """Names of tables and views."""
        place = self._to_sqlglot_table(database)
        catalog, schema = place.catalog or self.current_catalog, place.db or self.current_database
        return self._names(
            "SELECT DISTINCT table_name FROM information_schema.tables "
            f"WHERE table_catalog IN ({literal(catalog)}, 'temp') AND table_schema = {literal(schema)} ORDER BY 1",
            like,
        )

    def list_databases(self, *, like: str | None = None, catalog: str | None = None) -> list[str]:
        """Names of schemas."""
        where = "" if catalog is None else f" WHERE catalog_name = {literal(catalog)}"
        return self._names(f"SELECT DISTINCT schema_name FROM information_schema.schemata{where} ORDER BY 1", like)

    def create_database(self, name: str, /, *, catalog: str | None = None, force: bool = False) -> None:
        """Makes a schema."""
        target = sg.table(name, db=catalog, quoted=True).sql(self.dialect)
        self.raw_sql(f"CREATE SCHEMA {'IF NOT EXISTS ' if force else ''}{target}")

    def drop_database(self, name: str, /, *, catalog: str | None = None, force: bool = False) -> None:
        """Drops a schema that is empty."""
        target = sg.table(name, db=catalog, quoted=True).sql(self.dialect)
        self.raw_sql(f"DROP SCHEMA {'IF EXISTS ' if force else ''}{target}")

    # Tables.

    def create_table(
        self,
        name: str,
        /,
        obj: Any = None,
        *,
        schema: Any = None,
        database: str | tuple[str, str] | None = None,
        temp: bool = False,
        overwrite: bool = False,
    ) -> ir.Table:
        """Makes a table of an expression's or an object's rows, or an empty one with a schema. All or nothing."""
        if obj is None and schema is None:
            raise ValueError("Either `obj` or `schema` must be specified")
        place = self._to_sqlglot_table(database)
        target = sg.table(name, db=place.db or None, catalog=place.catalog or None, quoted=True)
        table = None
        if obj is not None:
            table = obj if isinstance(obj, ir.Expr) else ibis.memtable(obj)
            self._run_pre_execute_hooks(table)
        wanted = table.schema() if schema is None else ibis.schema(schema)
        if wanted.null_fields:
            raise exc.IbisTypeError(f"a column of a table has a type, and these have none: {wanted.null_fields}")
        properties = sge.Properties(expressions=[sge.TemporaryProperty()]) if temp else None
        columns = sge.Schema(this=target, expressions=wanted.to_sqlglot_column_defs(self.dialect))
        with self.con.transaction():
            if overwrite:
                self._drop("TABLE", name, database, force=True)
            self.raw_sql(sge.Create(kind="TABLE", this=columns, properties=properties))
            if table is not None:
                names = [sg.to_identifier(column, quoted=True) for column in table.columns]
                self.raw_sql(sge.insert(self.compiler.to_sqlglot(table), into=target, columns=names))
        return self.table(name, database=database)

    def drop_table(self, name: str, /, *, database: Any = None, force: bool = False) -> None:
        """Drops a table."""
        self._drop("TABLE", name, database, force)

    def drop_view(self, name: str, /, *, database: Any = None, force: bool = False) -> None:
        """Drops a view."""
        self._drop("VIEW", name, database, force)

    def _drop(self, kind: str, name: str, database: Any, force: bool) -> None:
        place = self._to_sqlglot_table(database)
        target = sg.table(name, db=place.db or None, catalog=place.catalog or None, quoted=True)
        self.raw_sql(f"DROP {kind} {'IF EXISTS ' if force else ''}{target.sql(self.dialect)}")

    def _register_in_memory_table(self, op: ops.InMemoryTable) -> None:
        self.con.register(op.name, op.data.to_pyarrow(op.schema))

    def _make_memtable_finalizer(self, name: str) -> Any:
        con = self.con

        def finalizer() -> None:
            if not con.closed:
                con.unregister(name)

        return finalizer

    def _get_temp_view_definition(self, name: str, definition: str) -> sge.Create:
        return sge.Create(
            this=sg.to_identifier(name, quoted=True),
            kind="VIEW",
            expression=definition,
            replace=True,
            properties=sge.Properties(expressions=[sge.TemporaryProperty()]),
        )

    # Files.

    def _read(self, function: str, paths: Any, table_name: str | None, options: dict[str, Any]) -> ir.Table:
        name = table_name or util.gen_name(function)
        listed = [paths] if isinstance(paths, (str, Path)) else list(paths)
        texts = [literal(str(path)) for path in listed]
        first = texts[0] if len(texts) == 1 else "[" + ", ".join(texts) + "]"
        rest = "".join(f", {key} => {literal(value)}" for key, value in options.items())
        quoted = sg.to_identifier(name, quoted=True).sql(self.dialect)
        self.raw_sql(f"CREATE OR REPLACE TEMPORARY VIEW {quoted} AS SELECT * FROM {function}({first}{rest})")
        return self.table(name)

    def read_parquet(self, paths: Any, /, *, table_name: str | None = None, **options: Any) -> ir.Table:
        """Parquet files as a table; options are those of `read_parquet` in SQL."""
        return self._read("read_parquet", paths, table_name, options)

    def read_csv(self, paths: Any, /, *, table_name: str | None = None, **options: Any) -> ir.Table:
        """CSV files as a table; options are those of `read_csv` in SQL."""
        return self._read("read_csv", paths, table_name, options)

    def read_json(self, paths: Any, /, *, table_name: str | None = None, **options: Any) -> ir.Table:
        """JSON files as a table; options are those of `read_json` in SQL."""
        return self._read("read_json", paths, table_name, options)

    def _write(self, expr: ir.Table, path: str | Path, form: str, params: Any, options: dict[str, Any]) -> None:
        relation = self._relation(expr, params, None)
        getattr(relation, f"write_{form}")(path, **options)

    def to_parquet(self, expr: ir.Table, /, path: str | Path, *, params: Any = None, **options: Any) -> None:
        """Writes a Parquet file; options are those of COPY."""
        self._write(expr, path, "parquet", params, options)

    def to_csv(self, expr: ir.Table, /, path: str | Path, *, params: Any = None, **options: Any) -> None:
        """Writes a CSV file; options are those of COPY."""
        self._write(expr, path, "csv", params, {"header": True, **options})

    # Functions.

    def _register_udfs(self, expr: ir.Expr) -> None:
        of = self.compiler.type_mapper.to_string
        kinds = {"PYTHON": "scalar", "PYARROW": "arrow"}
        for node in expr.op().find(ops.ScalarUDF):
            kind = node.__input_type__.name
            if kind == "BUILTIN":
                continue
            if kind not in kinds:
                raise exc.UnsupportedOperationError(f"functions over {kind.lower()} are not there: use python or pyarrow")
            types = [of(parameter.annotation.pattern.dtype) for parameter in node.__signature__.parameters.values()]
            self.con.create_function(
                type(node).__name__, node.__func__, types, of(node.dtype), kind=kinds[kind], replace=True
            )
