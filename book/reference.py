"""Writes the pages that are made from the engine's own lists: functions, settings, error codes, Python's methods.

A page is made whole, or between two lines `<!-- made by book/reference.py: NAME -->` and `<!-- end -->` of a page whose
rest is written by hand. A test fails when what is there is not what the engine says.

    python book/reference.py            writes them
    python book/reference.py --check    only says which are stale
"""

from __future__ import annotations

import ast
import inspect
import re
import sys
import textwrap
from collections.abc import Iterable
from pathlib import Path

import quickstep
from quickstep import errors

ROOT = Path(__file__).resolve().parent.parent
DOCS = ROOT / "docs"
BETWEEN = re.compile(r"(<!-- made by book/reference.py: (\w+) -->\n)(.*?)(<!-- end -->)", re.DOTALL)
HEAD = "<!-- This page is made by book/reference.py from the engine's own list: change it there. -->\n"

# What a fresh session says of these depends on the machine.
MACHINE = {"workers": "all cores", "memory_limit": "80 % of the machine's", "simd": "auto",
           "temp_directory": "the machine's", "active_queries": "4 a worker"}


def cell(text: str) -> str:
    return text.replace("|", "\\|").replace("\n", " ")


def code(text: str) -> str:
    """Text as code in a table; a backquote inside asks for two around it."""
    return f"`` {cell(text)} ``" if "`" in text else f"`{cell(text)}`"


def table(heads: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    heads = list(heads)
    lines = [" | ".join(heads), " | ".join("---" for _ in heads), *(" | ".join(row) for row in rows)]
    return "\n".join(f"| {line} |" for line in lines) + "\n"


# Settings.


def switch_pages() -> dict[str, tuple[str, str]]:
    """Title and page of the technique that each switch belongs to, from the table of techniques."""
    found: dict[str, tuple[str, str]] = {}
    for line in (DOCS / "techniques.md").read_text().splitlines():
        cells = line.strip("|").split(" | ")
        link = re.search(r"\[([^\]]+)\]\(([^)]+)\)", cells[0])
        if len(cells) >= 3 and link:
            for name in re.findall(r"`(\w+)`", cells[1]):
                found.setdefault(name, (link[1], link[2]))
    return found


def settings() -> str:
    # Facts of the server are shown beside the settings, and cannot be set.
    settable = "description NOT LIKE 'a fact of the server%' AND name <> 'session_authorization'"
    text = f"SELECT name, setting, description FROM quickstep_settings() WHERE {settable}"
    rows = quickstep.connect(workers=1).sql(text).fetchall()
    pages = switch_pages()

    def row(name: str, default: str, meaning: str) -> list[str]:
        title, page = pages.get(name, ("", ""))
        default = MACHINE.get(name) or (code(default) if default else "")
        meaning = cell(re.sub(r"^[A-Z](?=[a-z ])", lambda m: m[0].lower(), meaning).rstrip("."))
        return [code(name), default, meaning, f"[{title}](../{page})" if page else ""]

    switches = [row(*r) for r in rows if r[1] in ("on", "off")]
    values = [row(*r) for r in rows if r[1] not in ("on", "off")]
    heads = ["name", "default", "meaning", "more"]
    return f"## With values\n{table(heads, values)}\n## Switches\n{table(heads, switches)}"


# Error codes.


def error_codes() -> str:
    source = (ROOT / "crates/types/src/error.rs").read_text()
    codes = re.findall(r'Self::(\w+) => "(\w{5})"', source)
    if not codes:
        raise ValueError("no codes in crates/types/src/error.rs")

    def row(name: str, state: str) -> list[str]:
        kind = errors._BY_CLASS.get(state[:2], errors.DatabaseError).__name__
        words = re.sub(r"(?<!^)(?=[A-Z])", " ", name).lower()
        return [code(state), words, code(kind)]

    return table(["code", "condition", "Python class"], sorted((row(*c) for c in codes), key=lambda r: r[0]))


# Functions.


def functions() -> dict[str, str]:
    """A page for each category, by its path."""
    con = quickstep.connect(workers=1)
    relation = con.sql("SELECT * FROM quickstep_functions()")
    if "category" not in relation.columns:
        return {}
    query = "SELECT function_name, function_type, category, usage, description, example, result FROM quickstep_functions()"
    by_category: dict[str, list[tuple[str, ...]]] = {}
    for row in con.sql(query).fetchall():
        if row[2]:
            by_category.setdefault(row[2], []).append(row)
    pages = {}
    contents = []
    for category, rows in sorted(by_category.items()):
        name = category.replace(" ", "-")
        lines = []
        for function, _, _, usage, description, example, result in sorted(rows):
            shown = f"{code(example)}" + (f" → {code(result)}" if result else "")
            lines.append(["<br>".join(code(form) for form in usage.split("; ")), cell(description), shown])
        title = f"Functions: {category}"
        pages[f"sql/functions/{name}.md"] = f"{HEAD}# {title}\n{about(category)}{table(['call', 'what', 'example'], lines)}"
        names = ", ".join(code(r[0]) for r in sorted(rows))
        contents.append([f"[{category}](functions/{name}.md)", str(len(rows)), names])
    pages["sql/functions.md"] = (
        f"{HEAD}# Functions\nThe same list is in the engine: `SHOW FUNCTIONS LIKE 'date%'`, or `SELECT * FROM "
        "quickstep_functions()` with usage, description and example. Each example here was run and gave the answer shown "
        "(`crates/conformance/tests/function_examples.rs`). Where PostgreSQL has a function of the name, it answers as "
        "PostgreSQL does, or [says how not](../decisions/types.md#functions).\n\n"
        + table(["kind", "number", "names"], contents)
    )
    return pages


def about(category: str) -> str:
    rows = "`(VALUES (1, 10.0, 'a'), (2, 20.0, 'b'), (3, NULL, 'a'), (4, 40.0, 'c')) AS t(x, y, s)`"
    return {
        "aggregate": f"All take `DISTINCT` and `FILTER (WHERE ...)`, and stand before `OVER` as well. Examples are over {rows}.\n\n",
        "window": f"They stand before `OVER (PARTITION BY ... ORDER BY ... frame)`. Examples are over {rows} in the order of `x`.\n\n",
    }.get(category, "")


# Python.


def python_methods() -> str:
    parts = []
    for kind in (quickstep.Connection, quickstep.Relation, quickstep.Cursor, quickstep.Server):
        rows = []
        members: dict[str, object] = {}
        for base in kind.__mro__[-2::-1]:
            members.update(vars(base))
        for name, member in members.items():
            if name.startswith("_") and name not in ("__arrow_c_stream__",):
                continue
            target = member.fget if isinstance(member, property) else getattr(member, "__func__", member)
            # Classes of errors stand in DB-API's page.
            if isinstance(target, type) or not callable(target) or not (target.__doc__ or "").strip():
                continue
            call = name if isinstance(member, property) else name + signature(target)
            first = inspect.cleandoc(target.__doc__).split("\n\n")[0].replace("\n", " ")
            rows.append([code(call), cell(first)])
        doc = inspect.cleandoc(kind.__doc__ or "").replace("\n", " ")
        parts.append(f"## {kind.__name__}\n{doc}\n\n{table(['call', 'what'], rows)}")
    for function in (quickstep.serve, quickstep.connect):
        doc = inspect.cleandoc(function.__doc__ or "").split("\n\n")
        lines = "\n".join("* " + re.sub(r"^(\w+):", r"`\1`:", line) for line in doc[1].splitlines())
        parts.insert(0, f"## quickstep.{function.__name__}{signature(function)}\n{doc[0]}\n\n{lines}\n")
    return "\n".join(parts)


def signature(function: object) -> str:
    """Names and defaults; types are in the package, for editors."""
    tree = ast.parse(textwrap.dedent(inspect.getsource(function))).body[0]  # type: ignore[arg-type]
    assert isinstance(tree, ast.FunctionDef)
    for argument in [*tree.args.posonlyargs, *tree.args.args, *tree.args.kwonlyargs, tree.args.vararg, tree.args.kwarg]:
        if argument:
            argument.annotation = None
    text = ast.unparse(tree.args)
    return "(" + re.sub(r"^(self|cls)(, )?", "", text) + ")"


PARTS = {"settings": settings, "error_codes": error_codes, "python_methods": python_methods}


def made() -> dict[Path, str]:
    """Every page that is made, whole or in part, as it should be."""
    result = {DOCS / name: text for name, text in functions().items()}
    for page in sorted(DOCS.rglob("*.md")):
        text = page.read_text()
        if BETWEEN.search(text):
            result[page] = BETWEEN.sub(lambda m: m[1] + PARTS[m[2]]() + m[4], text)
    return result


def main() -> int:
    check = "--check" in sys.argv[1:]
    stale = [(page, text) for page, text in made().items() if not page.exists() or page.read_text() != text]
    for page, text in stale:
        print(f"{page.relative_to(ROOT)} {'is stale: python book/reference.py' if check else 'written'}")
        if not check:
            page.parent.mkdir(parents=True, exist_ok=True)
            page.write_text(text)
    return 1 if check and stale else 0


if __name__ == "__main__":
    sys.exit(main())
