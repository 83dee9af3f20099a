# mypy: ignore-errors
"""SQLAlchemy's dialect: `create_engine("quickstep:///path/of/database")`, in this process.

It is PostgreSQL's dialect over `quickstep.connect`, since the engine speaks PostgreSQL's SQL and has its system catalog:
reflection, RETURNING, ON CONFLICT, savepoints, arrays, sequences are all asked for as there. What differs stands here:

* `quickstep://` and `quickstep:///:memory:` are a database in memory that lives as long as the engine object; its pool's
  connections are sessions of it. `quickstep:///some.db` is relative, `quickstep:////data/some.db` absolute. `workers`,
  `memory` and `read_only` stand behind a question mark or in `connect_args`.
* Connections are opened with `autocommit=False`; a snapshot (REPEATABLE READ) is the weakest isolation there is.
* Rows come while their query runs, from any cursor; with `yield_per` SQLAlchemy reads them in parts.
* Names in queries are never those of Python's variables: a missing table is an error, whatever SQLAlchemy calls its own.
* STRUCT and MAP are JSON, as PostgreSQL's clients see them; their values come as dictionaries.
"""

from __future__ import annotations

import decimal
import threading

from sqlalchemy import exc, pool, util
from sqlalchemy import types as sqltypes
from sqlalchemy.dialects.postgresql.array import ARRAY
from sqlalchemy.dialects.postgresql.base import PGDDLCompiler, PGDialect, PGExecutionContext, PGTypeCompiler
from sqlalchemy.dialects.postgresql.json import JSON, JSONB, JSONPathType

# Catalogs are those of this version, and so is what the SQL has.
_POSTGRESQL = (15, 13)
_SECOND_DIGITS_MAX = 6


class _Numbers:
    def bind_processor(self, dialect):
        return None

    def result_processor(self, dialect, coltype):
        if not self.asdecimal:
            return _float
        places = self._effective_decimal_return_scale

        def process(value):
            if isinstance(value, float):
                return decimal.Decimal(f"{value:.{places}f}")
            return decimal.Decimal(value) if isinstance(value, int) else value

        return process


class _Numeric(_Numbers, sqltypes.Numeric):
    pass


class _Float(_Numbers, sqltypes.Float):
    pass


def _float(value):
    return None if value is None else float(value)


class _ReadJson:
    """JSON's text as objects; what comes as objects already stays."""

    def result_processor(self, dialect, coltype):
        of_text = super().result_processor(dialect, coltype)
        return lambda value: of_text(value) if isinstance(value, (str, bytes)) or value is None else value


class _Json(_ReadJson, JSON):
    render_bind_cast = True


class _Jsonb(_ReadJson, JSONB):
    render_bind_cast = True


class _Array(ARRAY):
    # The list without values has no type of its own.
    render_bind_cast = True


class _JsonIndex(sqltypes.JSON.JSONIntIndexType):
    __visit_name__ = "json_int_index"
    render_bind_cast = True


class _JsonName(sqltypes.JSON.JSONStrIndexType):
    __visit_name__ = "json_str_index"
    render_bind_cast = True


class _Context(PGExecutionContext):
    def create_server_side_cursor(self):
        return self._dbapi_connection.cursor()


class _Definitions(PGDDLCompiler):
    def visit_computed_column(self, generated, **kw):
        if generated.persisted is False:
            raise exc.CompileError(
                "generated columns are stored: set persisted to True, or leave it out, or compute the value in a view"
            )
        text = self.sql_compiler.process(generated.sqltext, include_table=False, literal_binds=True)
        return f"GENERATED ALWAYS AS ({text}) STORED"


class _Types(PGTypeCompiler):
    def visit_INTERVAL(self, type_, **kw):
        text = super().visit_INTERVAL(type_, **kw)
        if type_.precision is None or type_.precision <= _SECOND_DIGITS_MAX:
            return text
        # As PostgreSQL, which cuts what is asked for. Python's have no more digits.
        return text.replace(f"({type_.precision})", f"({_SECOND_DIGITS_MAX})")


def _without_comments(found):
    for table, constraints in found:
        for each in [constraints] if isinstance(constraints, dict) else constraints:
            each.pop("comment", None)
        yield table, constraints


class QuickstepDialect(PGDialect):
    """The dialect `quickstep`."""

    name = "quickstep"
    driver = "quickstep"
    default_paramstyle = "numeric_dollar"
    supports_statement_cache = True
    # Rows come while their query runs from every cursor. SQLAlchemy reads them in parts only if it is told so.
    supports_server_side_cursors = True
    supports_sane_multi_rowcount = True
    supports_native_uuid = True
    supports_constraint_comments = False
    execution_ctx_cls = _Context
    ddl_compiler = _Definitions
    type_compiler_cls = _Types
    # Options of tables, indices and statements are written as PostgreSQL's: `postgresql_where` and its like.
    construct_arguments = PGDialect.construct_arguments

    colspecs = util.update_copy(
        PGDialect.colspecs,
        {
            sqltypes.Numeric: _Numeric,
            sqltypes.Float: _Float,
            sqltypes.JSON: _Json,
            JSON: _Json,
            JSONB: _Jsonb,
            sqltypes.JSON.JSONPathType: JSONPathType,
            sqltypes.JSON.JSONIntIndexType: _JsonIndex,
            sqltypes.JSON.JSONStrIndexType: _JsonName,
            sqltypes.ARRAY: _Array,
        },
    )

    def __init__(self, **options):
        # Question marks are operators of JSONB, too.
        options.setdefault("paramstyle", "numeric_dollar")
        super().__init__(**options)
        self._memory = None
        self._memory_lock = threading.Lock()

    @classmethod
    def import_dbapi(cls):
        import quickstep

        return quickstep

    @classmethod
    def get_pool_class(cls, url):
        return pool.QueuePool

    def create_connect_args(self, url):
        for part in ("host", "port", "username", "password"):
            if getattr(url, part) is not None:
                raise exc.ArgumentError(
                    f"a URL of Quickstep has no {part}: quickstep:///relative.db, quickstep:////absolute.db or "
                    "quickstep:// for memory; servers are reached by postgresql://"
                )
        options = dict(url.query)
        for name in options.keys() - {"workers", "memory", "read_only"}:
            raise exc.ArgumentError(f"a URL of Quickstep has workers, memory and read_only, not {name}")
        if "workers" in options:
            options["workers"] = int(options["workers"])
        if "read_only" in options:
            options["read_only"] = util.asbool(options["read_only"])
        path = url.database or None
        return [], {"path": None if path == ":memory:" else path, **options}

    def connect(self, path=None, **options):
        options.setdefault("autocommit", False)
        if path is not None:
            connection = self.loaded_dbapi.connect(path, **options)
        else:
            with self._memory_lock:
                if self._memory is None or self._memory.closed:
                    self._memory = self.loaded_dbapi.connect(**options)
                connection = self._memory.session()
        connection.variables = False
        return connection

    def is_disconnect(self, e, connection, cursor):
        return connection is not None and getattr(connection, "closed", False)

    def do_ping(self, dbapi_connection):
        # It lies in this process, and no transaction need be opened to see that.
        dbapi_connection._check_open()
        return True

    def _get_server_version_info(self, connection):
        return _POSTGRESQL

    def _set_backslash_escapes(self, connection):
        self._backslash_escapes = False

    # Reflection.

    def get_multi_table_options(self, connection, **kw):
        # PostgreSQL's are about its storage. Who is asked for is who has a comment, or none.
        return ((name, {}) for name, _ in self.get_multi_table_comment(connection, **kw))

    # Constraints have no comments, so what is told of them has none.

    def get_multi_pk_constraint(self, connection, **kw):
        return _without_comments(super().get_multi_pk_constraint(connection, **kw))

    def get_multi_foreign_keys(self, connection, **kw):
        return _without_comments(super().get_multi_foreign_keys(connection, **kw))

    def get_multi_unique_constraints(self, connection, **kw):
        return _without_comments(super().get_multi_unique_constraints(connection, **kw))

    def get_multi_check_constraints(self, connection, **kw):
        return _without_comments(super().get_multi_check_constraints(connection, **kw))

    # Isolation.

    def get_isolation_level_values(self, dbapi_connection):
        return ("AUTOCOMMIT", "REPEATABLE READ", "SERIALIZABLE")

    def get_default_isolation_level(self, dbapi_connection):
        return "REPEATABLE READ"

    def get_isolation_level(self, dbapi_connection):
        if dbapi_connection.autocommit:
            return "AUTOCOMMIT"
        return self._asked(dbapi_connection, "SHOW transaction_isolation").upper()

    def set_isolation_level(self, dbapi_connection, level):
        dbapi_connection.autocommit = level == "AUTOCOMMIT"
        if level != "AUTOCOMMIT":
            self._set(dbapi_connection, f"SET SESSION CHARACTERISTICS AS TRANSACTION ISOLATION LEVEL {level}")

    def reset_isolation_level(self, dbapi_connection):
        self.set_isolation_level(dbapi_connection, self._on_connect_isolation_level or self.default_isolation_level)

    def detect_autocommit_setting(self, dbapi_connection):
        return dbapi_connection.autocommit

    def set_readonly(self, connection, value):
        self._set(connection, f"SET SESSION CHARACTERISTICS AS TRANSACTION READ {'ONLY' if value else 'WRITE'}")

    def get_readonly(self, connection):
        return self._asked(connection, "SHOW transaction_read_only") == "on"

    @staticmethod
    def _asked(connection, text):
        # Below the cursor, which would open a transaction.
        return connection._native.sql(text).fetchall()[0][0]

    @staticmethod
    def _set(connection, text):
        connection._native.sql(text)
