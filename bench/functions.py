"""Nanoseconds a row of every function in the registry, DuckDB's beside.

    python functions.py --quickstep PATH/quickstep [--rows 1000000] [--rounds 3] [--threads 2] [--no-record] [name ...]
    python functions.py --draw

The functions and an example of each come from `duckdb_functions()`. Of a scalar function one argument of the example, the first that
works, is replaced by a column of its kind (a text, a number, a date, a list, ...), whose values differ; where the function refuses
those values (a pattern of digits, a document) the column has the example's own text in each row, which the page marks with `*`: an engine that keeps a
dictionary computes it once. The question is the largest result, or the count of results where there is no order. Aggregates are
asked as their examples stand, over all rows, by 100 and by a tenth as many groups as rows.

A function that DuckDB does not have, or whose example it does not take, has its own figure only. Turns and times are those of
`compare/in_turns.py`; both threads work, and a figure is the query's time by the number of rows, scan and comparison of results included
(the first row of the page is a column by itself). The line of JSON goes to `results/functions.jsonl`; `--draw` writes
`docs/results/functions.md` from the last one. Why a function stays more than twice as slow is said in `function_reasons.toml`; the page
marks those without a reason.
"""

from __future__ import annotations

import argparse
import csv
import io
import json
import re
import statistics
import subprocess
import tomllib
from pathlib import Path
from typing import Any

from compare.in_turns import PEER, Differing, Engines, keep
from compare.record import RESULTS_FOLDER

RECORDS = RESULTS_FOLDER / "functions.jsonl"
REPORT = RESULTS_FOLDER.parents[1] / "docs" / "results" / "functions.md"
# The question that names it takes more than so many times DuckDB's time: listed at the head of the page, with the reason.
SLOW = 2.0
# Below so many nanoseconds a row a ratio is one of fixed costs.
COUNTS_FROM = 3.0
# Why a function is slower than that and stays so: a table of a reason and the functions that have it.
REASONS_FILE = Path(__file__).with_name("function_reasons.toml")
NO_REASON = "**no reason known**"

TABLE = """
CREATE TABLE u AS SELECT i AS k, (i * 7919 % 1000)::INTEGER AS n, (i * 104729 % 100003) / 100003.0::DOUBLE AS d,
  'word ' || (i * 31337 % 50021)::VARCHAR || ' of text' AS t, DATE '1992-01-01' + (i * 7919 % 9000)::INTEGER AS dt,
  TIMESTAMP '1992-01-01 00:00:00' + INTERVAL 1 SECOND * (i * 104729 % 500000000) AS ts, TIME '00:00:00' + INTERVAL 1 SECOND * (i * 7919 % 86400) AS tm,
  INTERVAL 1 HOUR * (i * 7919 % 10000) AS iv, [(i % 7)::INTEGER, (i * 31 % 1000)::INTEGER, 5] AS l, ['a' || (i % 7)::VARCHAR, 'b', 'c' || (i * 31 % 1000)::VARCHAR] AS tl,
  '{{"a": ' || (i * 31 % 1000)::VARCHAR || ', "b": [1, 2, {{"c": "text"}}]}}' AS j, i % 3 = 0 AS bo,
  (i % 100)::INTEGER AS g100, (i * 7919 % ({rows} // 10))::INTEGER AS many,
  (i * 15485863 % 100003 % 1000 - 100)::INTEGER AS x, CASE WHEN i % 20 > 0 THEN (i * 49979687 % 100003) / 7.0::DOUBLE END AS y,
  's' || (i * 86028121 % 1009)::VARCHAR AS s FROM range({rows}::BIGINT) r(i)
"""
CHECKED_ROWS = 1000
GROUPS = {"all rows": "", "100 groups": "g100", "a tenth as many": "many"}
# Kinds of arguments, the first that fits counts, and the column in their place.
COLUMNS = (
    (r"DATE\s*'[^']*'", "dt"),
    (r"TIMESTAMP\w*\s*'[^']*'", "ts"),
    (r"TIME\s*'[^']*'", "tm"),
    (r"INTERVAL\b.*", "iv"),
    (r"-?\d+", "n"),
    (r"-?\d+\.\d+(e-?\d+)?", "d"),
    (r"true|false", "bo"),
    (r"\[\s*-?\d.*\]", "l"),
    (r"\[\s*'.*\]", "tl"),
    (r"'\s*[{\[].*'", "j"),
    (r"'.*'", "t"),
)


def arguments(call: str) -> tuple[str, list[str], str] | None:
    """The parts of `name(a, b) behind`: the name, the arguments, and what stands behind."""
    begin = re.match(r"(\w+)\(", call)
    if not begin:
        return None
    parts, depth, quoted, start = [], 0, False, begin.end()
    for at in range(begin.end(), len(call)):
        character = call[at]
        if character == "'":
            quoted = not quoted
        elif quoted:
            continue
        elif character in "([{":
            depth += 1
        elif character == "," and depth == 0:
            parts.append(call[start:at].strip())
            start = at + 1
        elif character in ")]}":
            if depth == 0:
                parts.append(call[start:at].strip())
                return begin[1], parts, call[at + 1 :]
            depth -= 1
    return None


def calls(example: str) -> list[tuple[str, str]]:
    """What may be asked for an example, the best first: the call, and the text that its column has in each row, if any."""
    found = arguments(example)
    if found is None or not found[1] or not found[1][0]:
        return []
    name, given, behind = found

    def with_argument(at: int, column: str) -> str:
        return f"{name}({', '.join([*given[:at], column, *given[at + 1 :]])}){behind}"

    kinds = [
        next((column for pattern, column in COLUMNS if re.fullmatch(pattern, argument, re.IGNORECASE | re.DOTALL)), None)
        for argument in given
    ]
    columns = [(with_argument(at, column), "") for at, column in enumerate(kinds) if column]
    own = [(with_argument(at, "own"), given[at]) for at, column in enumerate(kinds) if column in ("t", "j")]
    return columns + own


def questions(call: str, own: str) -> list[str]:
    source = f"(SELECT {own} || substr('', k::INTEGER % 2 + 1) AS own FROM u)" if own else "u"
    return [f"SELECT max({call}) FROM {source}", f"SELECT count({call}) FROM {source}"]


class Checks:
    """Which questions both engines take, tried on a thousand rows."""

    def __init__(self, binary: str) -> None:
        import duckdb

        self._binary = binary
        self._duck = duckdb.connect()
        self._duck.execute(TABLE.format(rows=CHECKED_ROWS))

    def quickstep(self, question: str) -> bool:
        script = f"{TABLE.format(rows=CHECKED_ROWS)}; {question}"
        command = [self._binary, "--no-startup", "--format", "csv", "--command", script]
        return subprocess.run(command, capture_output=True, timeout=60, check=False).returncode == 0

    def peer(self, question: str) -> bool:
        try:
            self._duck.execute(question).fetchall()
        except Exception:  # noqa: BLE001 - whatever its reason, it does not answer this question.
            return False
        return True


def registry(binary: str) -> list[dict[str, str]]:
    text = "SELECT function_name, function_type, examples[1] AS example, alias_of FROM duckdb_functions() WHERE function_type IN ('scalar', 'aggregate') ORDER BY ALL"
    done = subprocess.run([binary, "--no-startup", "--format", "csv", "--command", text], capture_output=True, text=True, check=True)
    return list(csv.DictReader(io.StringIO(done.stdout)))


def chosen(function: dict[str, str], checks: Checks) -> tuple[str, str, bool] | None:
    """The question of a scalar function, a mark for one value, and whether DuckDB takes it too."""
    possible = [(question, "*" if own else "") for call, own in calls(function["example"]) for question in questions(call, own)]
    ours = [(question, mark) for question, mark in possible if checks.quickstep(question)]
    for question, mark in ours:
        if checks.peer(question):
            return question, mark, True
    return (*ours[0], False) if ours else None


def asked(functions: list[dict[str, str]], checks: Checks) -> tuple[list[tuple[str, str, str, bool]], list[str]]:
    """Name with its mark, where it stands on the page, question, whether DuckDB is asked; and the names of what is not measured."""
    found, left = [("(a column)", "scalar", "SELECT max(n) FROM u", True)], []
    for function in functions:
        name = function["function_name"]
        if function["function_type"] == "scalar":
            best = chosen(function, checks)
            if best is None:
                left.append(name)
            else:
                found.append((name + best[1], "scalar", best[0], best[2]))
            continue
        for groups, by in GROUPS.items():
            inner = f"SELECT {function['example']} AS r FROM u" + (f" GROUP BY {by}" if by else "")
            question = f"SELECT count(r) FROM ({inner})"
            if not checks.quickstep(question):
                left.append(name)
                break
            found.append((name, groups, question, checks.peer(question)))
    return found, left


def measure(args: argparse.Namespace) -> dict[str, Any]:
    checks = Checks(args.quickstep)
    functions = [f for f in registry(args.quickstep) if not args.names or f["function_name"] in args.names]
    found, left = asked(functions, checks)
    engines = Engines(args.quickstep, None, args.threads, len(found) * (args.rounds + 1) + 1)
    engines.everywhere(TABLE.format(rows=args.rows))
    peer = engines.by_name.pop(PEER)
    series: dict[str, dict[str, Any]] = {}
    for name, place, question, both in found:
        if both:
            engines.by_name[PEER] = peer
        medians, _ = engines.ask(question, args.rounds, Differing.IS_RETURNED)
        engines.by_name.pop(PEER, None)
        figures = {engine: round(medians[engine] * 1e6 / args.rows, 2) for engine in ("quickstep", PEER) if engine in medians}
        series.setdefault(place, {})[name] = figures
        print(f"{place:16} {name:28} {figures['quickstep']:9.2f} ns   DuckDB {figures.get(PEER, float('nan')):9.2f}", flush=True)
    peer.close()
    engines.close()
    return {"threads": args.threads, "rows": args.rows, "rounds": args.rounds, "nanoseconds_a_row": series, "not_measured": left}


def last_record() -> dict[str, Any]:
    record: dict[str, Any] = json.loads(RECORDS.read_text(encoding="utf-8").splitlines()[-1])
    return record


def reasons() -> dict[str, str]:
    """The reason of each function that the file names; a name that stands there twice is an error of the file."""
    found: dict[str, str] = {}
    for entry in tomllib.loads(REASONS_FILE.read_text(encoding="utf-8"))["reason"]:
        for name in entry["functions"]:
            if name in found:
                raise ValueError(f"{REASONS_FILE.name} has two reasons for {name}")
            found[name] = entry["why"]
    return found


def slow(series: dict[str, dict[str, Any]]) -> list[tuple[str, str, float]]:
    """Functions whose time is over `SLOW` times DuckDB's, the worst first."""
    found = [
        (name, place, figures["quickstep"] / figures[PEER])
        for place, functions in series.items()
        for name, figures in functions.items()
        if PEER in figures and figures["quickstep"] > max(COUNTS_FROM, SLOW * figures[PEER])
    ]
    return sorted(found, key=lambda item: -item[2])


def cell(figures: dict[str, Any] | None) -> str:
    if figures is None:
        return ""
    if PEER not in figures:
        return f"{figures['quickstep']:.1f}"
    return f"{figures['quickstep']:.1f} ({figures[PEER]:.1f})"


def text(record: dict[str, Any]) -> str:
    """The page of the record."""
    series = record["nanoseconds_a_row"]
    every = [figures for functions in series.values() for figures in functions.values()]
    both = [figures[PEER] / figures["quickstep"] for figures in every if PEER in figures]
    over, why = slow(series), reasons()
    bare = sum(name.rstrip("*") not in why for name, _, _ in over)
    lines = [
        "# What each function costs",
        "",
        f"Made by `bench/functions.py` from the last line of `bench/results/functions.jsonl`: nanoseconds a row of {record['rows']:,} rows with"
        f" {record['threads']} threads, medians of {record['rounds']} rounds, DuckDB {record['engines'][PEER]} in brackets where it takes the same call;"
        f" commit {record['commit']['id'][:8]}, load average {record['load_average'][0]:g}. The whole query is in a figure: scan, function, and the"
        " comparison or count of results. `*`: one value in all rows, which a dictionary computes once.",
        "",
        f"{len(both)} questions were asked of both: geometric mean {statistics.geometric_mean(both):.2f}x of DuckDB's time, slower on"
        f" {sum(one < 1 for one in both)}, more than {SLOW:g} times slower (and over {COUNTS_FROM:g} ns) on {len(over)}.",
        "",
        f"## More than {SLOW:g} times slower",
        "",
        f"Reasons are kept in `bench/function_reasons.toml`; {f'without one: {bare}' if bare else 'each of these has one'}.",
        "",
        "| function | over | times DuckDB's time | why |",
        "| --- | --- | --- | --- |",
        *(f"| `{name}` | {place} | {times:.1f} | {why.get(name.rstrip('*'), NO_REASON)} |" for name, place, times in over),
        "",
        "## Aggregates",
        "",
        "| function | " + " | ".join(GROUPS) + " |",
        "| --- " * (len(GROUPS) + 1) + "|",
    ]
    for name in series.get("all rows", {}):
        lines.append(f"| `{name}` | " + " | ".join(cell(series.get(place, {}).get(name)) for place in GROUPS) + " |")
    lines += ["", "## Scalar functions", "", "| function | ns a row (DuckDB) |", "| --- | --- |"]
    lines += [f"| `{name}` | {cell(figures)} |" for name, figures in series.get("scalar", {}).items()]
    names = ", ".join(f"`{name}`" for name in record["not_measured"])
    lines += ["", "## Not measured", "", f"Without an argument of rows, or whose example is no plain call: {names}."]
    return "\n".join(lines) + "\n"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", metavar="name")
    parser.add_argument("--quickstep")
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--draw", action="store_true", help="only draw the last record")
    parser.add_argument("--no-record", action="store_true")
    args = parser.parse_args()
    if not args.draw:
        if not args.quickstep:
            parser.error("--quickstep names the command to measure")
        figures = measure(args)
        if args.no_record:
            return
        keep(RECORDS.name, "time a row of every function (bench/functions.py)", **figures)
    REPORT.write_text(text(last_record()), encoding="utf-8")


if __name__ == "__main__":
    main()
