# mypy: disable-error-code="no-untyped-call, arg-type"
"""SQL in cells of notebooks: `%load_ext quickstep`, then `%sql` for a line and `%%sql` for a cell.

* A cell's statements run one after the other; the value is the last one's: a relation for a query, shown as a table
  and lazy, so that `_` or `rows << SELECT ...` go on with `.df()`, `.filter(...)` or another query that names it.
* `{expression}` is a Python expression, `:name` a variable of the notebook. Both become parameters of the statement:
  their values are never a part of its text, so no value can be read as SQL, and tables cannot be named by them.
  A variable of rows (a data frame, an Arrow table, a relation) is named like a table, without braces.
* `--to df` (or `pl`, `arrow`) gives a frame, `--limit N` the first rows, `--con name` another connection of the notebook.
  The connection is the last one given so, or a database in memory.
* Errors are raised, so that "run all" stops there, and shown with the statement's line and a caret, without traceback.

State: the connection, in the `Magics` object of the shell. The names `{...}` are evaluated in are the notebook's alone.
"""

from __future__ import annotations

import argparse
import re
import shlex
from typing import Any

from IPython.core.error import UsageError
from IPython.core.magic import Magics, line_cell_magic, magics_class, no_var_expand

from ._native import Error
from .connection import Connection
from .errors import InterfaceError, ProgrammingError
from .progress import Wanted
from .relation import Relation

_TARGET = re.compile(r"\s*(?P<name>[A-Za-z_]\w*)\s*<<\s*", re.ASCII)
_OPTION = re.compile(r"\s*--(?P<name>con|to|limit|progress)(?:[ \t]+|=)(?P<value>[^\s]+)")
_PROGRESS: dict[str, Wanted] = {"true": True, "false": False, "tree": "tree"}
_FORMS = ("relation", "df", "pl", "arrow", "tuples")

# Quoted text, names, dollar quotes and comments are passed over; then what is bound, and what ends a statement.
_PARTS = re.compile(
    r"""
      [eE]'(?:[^'\\]|\\.|'')*' | '(?:[^']|'')*' | "(?:[^"]|"")*"
    | (?P<tag>\$(?:[A-Za-z_]\w*)?\$).*?(?P=tag)
    | --[^\n]* | /\*.*?\*/
    | ::
    | (?<![\w:\])}]):(?P<name>[A-Za-z_]\w*)
    | (?P<open>\{)
    | (?P<end>;)
    """,
    re.VERBOSE | re.DOTALL,
)


class Bound:
    """A statement, and the values of its numbered parameters."""

    def __init__(self, text: str, values: list[Any]) -> None:
        self.text = text
        self.values = values


def _expression(text: str, begin: int) -> int:
    """Where the brace that closes the one before `begin` stands, or -1. Braces in Python's own text do not count."""
    depth, at = 1, begin
    while at < len(text):
        each = text[at]
        if each in "'\"":
            at = text.find(each, at + 1)
            if at < 0:
                return -1
        elif each in "{}":
            depth += 1 if each == "{" else -1
            if depth == 0:
                return at
        at += 1
    return -1


def _is_struct(inside: str) -> bool:
    """Whether braces hold a struct of SQL, `{'a': 1}` or `{a: 1}`, and no expression of Python."""
    return bool(re.match(r"""\s*(?:'(?:[^']|'')*'|"(?:[^"]|"")*"|[A-Za-z_]\w*)\s*:(?!:|=)""", inside))


def statements(text: str, names: dict[str, Any]) -> list[Bound]:
    """The statements of a cell with what is to be bound as `$1`, `$2`, and its values from the notebook's names."""
    found: list[Bound] = []
    out: list[str] = []
    values: list[Any] = []
    at = 0

    def ended() -> None:
        nonlocal out, values
        statement = "".join(out)
        if re.sub(r"--[^\n]*|/\*.*?\*/", "", statement, flags=re.DOTALL).strip():
            found.append(Bound(statement.strip(), values))
        out, values = [], []

    def bound(value: Any) -> None:
        values.append(value)
        out.append(f"${len(values)}")

    while match := _PARTS.search(text, at):
        out.append(text[at : match.start()])
        at = match.end()
        if match["end"]:
            ended()
        elif match["name"]:
            if match["name"] not in names:
                raise ProgrammingError(f":{match['name']} is no variable of the notebook")
            bound(names[match["name"]])
        elif match["open"]:
            close = _expression(text, at)
            inside = text[at:close] if close >= 0 else ""
            if close < 0 or _is_struct(inside) or not inside.strip():
                out.append("{")
                continue
            at = close + 1
            bound(_value_of(inside, names))
        else:
            out.append(match[0])
    out.append(text[at:])
    ended()
    return found


def _value_of(expression: str, names: dict[str, Any]) -> Any:
    try:
        code = compile(expression.strip(), "<%sql>", "eval")
    except SyntaxError as error:
        raise ProgrammingError(f"{{{expression}}} is no expression of Python: {error.msg}") from None
    return eval(code, names)


def _shown(error: Error) -> Error:
    """The error as a notebook shows it: the message with its caret, and no traceback."""
    error._render_traceback_ = lambda: str(error).splitlines()  # type: ignore[attr-defined]
    return error


@magics_class
class SqlMagics(Magics):
    """`%sql` and `%%sql`."""

    shell: Any

    def __init__(self, shell: Any) -> None:
        super().__init__(shell)
        self.connection: Connection | None = None

    # IPython would put the values of braces into the text of a line before this is called.
    @no_var_expand
    @line_cell_magic("sql")
    def sql(self, line: str, cell: str | None = None) -> Any:
        """SQL: `%sql SELECT 1`, `%sql rows << SELECT 1`; options --con NAME, --to relation|df|pl|arrow|tuples, --limit N,
        --progress true|false|tree stand before it."""
        options, rest = _options(line)
        name = None
        if target := _TARGET.match(rest):
            name, rest = target["name"], rest[target.end() :]
        text = rest if cell is None else f"{rest}\n{cell}" if rest.strip() else cell
        if name is None and (target := _TARGET.match(text)):
            name, text = target["name"], text[target.end() :]
        connection = self._connection_of(options)
        # Names in queries are the notebook's, and none of IPython's own functions, which stand between.
        before, connection.variables = connection.variables, self.shell.user_ns
        try:
            value = self._run(connection, text, options)
        except Error as error:
            raise _shown(error) from None
        finally:
            connection.variables = before
        if name is None:
            return value
        self.shell.user_ns[name] = value
        return None

    def _connection_of(self, options: argparse.Namespace) -> Connection:
        if options.con is not None:
            given = self.shell.user_ns.get(options.con)
            if not isinstance(given, Connection):
                raise UsageError(f"--con names a variable with a quickstep.Connection, and {options.con} is none")
            self.connection = given
        if self.connection is None or self.connection.closed:
            from . import default_connection

            self.connection = default_connection()
        if options.progress is not None:
            self.connection.progress = _PROGRESS[options.progress]
        return self.connection

    def _run(self, connection: Connection, text: str, options: argparse.Namespace) -> Any:
        listed = statements(text, self.shell.user_ns)
        if not listed:
            return None
        for each in listed[:-1]:
            connection.sql(each.text, each.values or None).execute()
        last = connection.sql(listed[-1].text, listed[-1].values or None)
        if not last.columns:
            return last
        if options.limit is not None:
            last = last.limit(options.limit)
        return last if options.to == "relation" else _as(last, options.to)


def _as(relation: Relation, form: str) -> Any:
    return relation.fetchall() if form == "tuples" else getattr(relation, form)()


def _options(line: str) -> tuple[argparse.Namespace, str]:
    """What stands before the statement, and the statement."""
    options = argparse.Namespace(con=None, to="relation", limit=None, progress=None)
    while match := _OPTION.match(line):
        name, value = match["name"], "".join(shlex.split(match["value"]))
        if name == "to" and value not in _FORMS:
            raise UsageError(f"--to is one of {', '.join(_FORMS)}, not {value}")
        if name == "progress" and value not in _PROGRESS:
            raise UsageError(f"--progress is true, false or tree, not {value}")
        if name == "limit" and not value.isdigit():
            raise UsageError(f"--limit is a number of rows, not {value}")
        setattr(options, name, int(value) if name == "limit" else value)
        line = line[match.end() :]
    if unknown := re.match(r"\s*--(\w[\w-]*)", line):
        raise UsageError(f"--{unknown[1]} is no option of %sql: there are --con, --to, --limit and --progress")
    return options, line


def load(shell: Any) -> None:
    """Makes `%sql` known to a shell."""
    if shell is None:
        raise InterfaceError("%sql is for IPython and notebooks: %load_ext quickstep")
    shell.register_magics(SqlMagics)
