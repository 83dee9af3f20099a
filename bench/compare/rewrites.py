"""Where an engine's dialect needs a query written differently.

`bench/rewrites/ENGINE.toml` holds, for one engine, pieces of text to put in the
place of others, each with the queries that need it and the reason:

    [[rewrite]]
    queries = ["tpcds/q05", "ssb/*"]
    from = "text of the query"
    to = "what this engine understands"
    why = "one sentence"

`pattern` in the place of `from` is a regular expression.  A piece that a query
named in full does not hold is an error: the query has changed since.
"""

from __future__ import annotations

import fnmatch
import re
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

REWRITES_FOLDER = Path(__file__).resolve().parents[1] / "rewrites"


@dataclass(frozen=True)
class Rewrite:
    """One replacement, for all queries whose name is in `queries`."""

    queries: tuple[str, ...]
    pattern: str
    replacement: str
    why: str

    def applies(self, suite: str, query: str) -> bool:
        return any(fnmatch.fnmatch(f"{suite}/{query}", named) for named in self.queries)

    def named(self, suite: str, query: str) -> bool:
        return f"{suite}/{query}" in self.queries


def read_rewrites(engine: str, folder: Path = REWRITES_FOLDER) -> list[Rewrite]:
    """The rewrites of one engine in the order of its file; none without a file.

    `polars-float64` is Polars, set up otherwise: it shares the file.
    """
    file = folder / f"{engine.partition('-')[0]}.toml"
    if not file.is_file():
        return []
    return [rewrite_of(entry) for entry in tomllib.loads(file.read_text())["rewrite"]]


def rewrite_of(entry: Mapping[str, Any]) -> Rewrite:
    if "pattern" in entry:
        pattern, replacement = entry["pattern"], entry["to"]
    else:
        pattern, replacement = re.escape(entry["from"]), entry["to"].replace("\\", r"\\")
    return Rewrite(tuple(entry["queries"]), pattern, replacement, entry["why"])


def rewritten(
    rewrites: Sequence[Rewrite], suite: str, queries: Mapping[str, str]
) -> tuple[dict[str, str], dict[str, list[str]]]:
    """The queries as an engine gets them, and why those that changed did."""
    texts: dict[str, str] = {}
    reasons: dict[str, list[str]] = {}
    for query, sql in queries.items():
        for rewrite in rewrites:
            if not rewrite.applies(suite, query):
                continue
            changed = re.sub(rewrite.pattern, rewrite.replacement, sql)
            if changed != sql:
                reasons.setdefault(query, []).append(rewrite.why)
            elif rewrite.named(suite, query):
                raise ValueError(f"{suite}/{query} does not hold {rewrite.pattern!r}")
            sql = changed
        texts[query] = sql
    return texts, reasons
