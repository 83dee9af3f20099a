#!/usr/bin/env python3
"""DuckDB's published suite, run on Quickstep: which records pass, and why the others do not.

    python duckdb_suite.py /path/to/duckdb [test/sql/cte ...] [--log failures.jsonl] [--jobs 2]

The suite is not part of this repository: the path is a checkout of DuckDB's sources.
Its files are sqllogictest with words of their own (`require`, `foreach`, `loop`,
`restart`, `mode skip`, `<REGEX>:`); what a file requires that is not here skips the
file. Each file runs in a process of its own, which is ended after a minute.

A record passes when a statement that shall succeed does, one that shall fail does
(whatever its message), and a query's values are those of the file: compared as texts
in DuckDB's form, as numbers within one percent where either has a fraction, as in
DuckDB's own runner. Plans (EXPLAIN) are not compared, nor hashes of results, of which
only the number of values is. Counts that DuckDB answers to INSERT and its kin are let
pass.

Prints the share by folder and the most frequent messages, and in the end two shares: of
all records, and of those outside DuckDB's own insides, which `internals.py` lists with
reasons. With --log every failure is a line of JSON: file, line, kind, statement,
message, and the reason where it is one of the insides.
"""

from __future__ import annotations

import argparse
import collections
import datetime
import decimal
import json
import math
import re
import shutil
import subprocess
import sys
import tempfile
import threading
import uuid
from collections.abc import Iterator, Sequence
from pathlib import Path
from queue import Empty, Queue
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))

import internals  # noqa: E402

SECONDS_A_FILE = 60
VALUES_A_LOOP = 40
HERE = {
    "parquet", "json", "icu", "core_functions", "tpch", "tpcds", "skip_reload", "vector_size", "noforcestorage",
    "no_alternative_verify", "notwindows", "notmingw", "64bit", "no_latest_storage", "no_vector_verification",
    "no_force_storage", "longdouble", "ram", "no_extension_autoloading", "block_size", "strinline",
    "exact_vector_size",
}  # fmt: skip
INTEGERS = ["tinyint", "smallint", "integer", "bigint", "hugeint"]
UNSIGNED = ["utinyint", "usmallint", "uinteger", "ubigint"]
LISTS = {
    "<integral>": INTEGERS + UNSIGNED,
    "<signed>": INTEGERS,
    "<unsigned>": UNSIGNED,
    "<numeric>": [*INTEGERS, *UNSIGNED, "float", "double"],
    "<alltypes>": ["bool", "interval", "varchar", *INTEGERS, *UNSIGNED, "float", "double"],
    "<compression>": ["none", "uncompressed"],
    "<all_types_columns>": ["bool"],
}
CHANGES = re.compile(r"\s*(insert|delete|update|copy|merge|create|truncate|with|from|export)\b", re.I)
# `0044-03-15 (BC) 12:00:00` is `0044-03-15 12:00:00 BC` in PostgreSQL.
BEFORE_CHRIST = re.compile(r" \(BC\)(.*)$")
TYPE_NAMES = {
    "TIMESTAMP WITH TIME ZONE": "TIMESTAMPTZ", "TIME WITH TIME ZONE": "TIMETZ", "DOUBLE PRECISION": "DOUBLE",
    "VARCHAR": "TEXT", "BLOB": "BYTEA", "FLOAT": "REAL",
}  # fmt: skip
PLAN = re.compile(r"\s*explain\b", re.I)


class Skipped(Exception):
    """The file needs something that is not here."""


# Values as DuckDB prints them.


def offset(east: datetime.timedelta | None) -> str:
    if east is None:
        return ""
    seconds = int(east.total_seconds())
    sign, seconds = ("-" if seconds < 0 else "+"), abs(seconds)
    text = f"{sign}{seconds // 3600:02d}"
    if seconds % 3600:
        text += f":{seconds // 60 % 60:02d}"
    return text + (f":{seconds % 60:02d}" if seconds % 60 else "")


def moment(value: datetime.datetime) -> str:
    text = f"{value.year:04d}-{value.month:02d}-{value.day:02d} {value.hour:02d}:{value.minute:02d}:{value.second:02d}"
    return text + fraction(value.microsecond) + offset(value.utcoffset())


def fraction(microseconds: int) -> str:
    return f".{microseconds:06d}".rstrip("0") if microseconds else ""


def interval(months: int, days: int, microseconds: int) -> str:
    parts = []
    for count, unit in ((int(months / 12), "year"), (int(math.fmod(months, 12)), "month"), (days, "day")):
        if count:
            parts.append(f"{count} {unit}{'' if abs(count) == 1 else 's'}")
    if microseconds or not parts:
        seconds, rest = divmod(abs(microseconds), 10**6)
        sign = "-" if microseconds < 0 else ""
        parts.append(f"{sign}{seconds // 3600:02d}:{seconds // 60 % 60:02d}:{seconds % 60:02d}{fraction(rest)}")
    return " ".join(parts)


def shown(value: Any, inside: bool = False) -> str:
    match value:
        case None:
            return "NULL"
        case bool():
            return "true" if value else "false"
        case str() if inside:
            quoted = value == "" or value.lower() == "null" or re.search(r"[\s,\[\]{}()'\"=:\\]", value)
            return "'" + value.replace("\\", "\\\\").replace("'", "\\'") + "'" if quoted else value
        case str():
            return value or "(empty)"
        case float():
            return repr(value)
        case decimal.Decimal():
            return format(value, "f")
        case datetime.datetime():
            return f"'{moment(value)}'" if inside else moment(value)
        case datetime.date():
            return f"{value.year:04d}-{value.month:02d}-{value.day:02d}"
        case datetime.time():
            text = value.strftime("%H:%M:%S") + fraction(value.microsecond) + offset(value.utcoffset())
            return f"'{text}'" if inside else text
        case datetime.timedelta():
            whole = value // datetime.timedelta(microseconds=1)
            days = int(whole / 86_400_000_000)
            return interval(0, days, whole - days * 86_400_000_000)
        case bytes() | bytearray():
            plain = (chr(b) if 32 <= b < 127 and chr(b) not in "\\'\"" else f"\\x{b:02X}" for b in value)
            return "".join(plain) or "(empty)"
        case uuid.UUID():
            return str(value)
        case dict():
            pairs = (
                f"'{k}': {shown(v, True)}" if isinstance(k, str) else f"{shown(k, True)}={shown(v, True)}"
                for k, v in value.items()
            )
            return "{" + ", ".join(pairs) + "}"
    if hasattr(value, "months"):
        return interval(value.months, value.days, value.nanoseconds // 1000)
    if isinstance(value, (list, tuple)):
        return "[" + ", ".join(shown(element, True) for element in value) + "]"
    return str(value)


def as_numbers(left: str, right: str) -> bool:
    try:
        x, y = float(left), float(right)
    except ValueError:
        return False
    if x == y or (x != x and y != y):
        return True
    broken = any(mark in text.lower() for text in (left, right) for mark in ".e")
    return broken and abs(x - y) <= abs(y) * 0.01 + 1e-5


def bare(nested: str) -> str:
    """A nested value without what Python's values do not tell: quotes, and whether it is a map, a struct or a row."""
    nested = re.sub(r"[\s'\"\\]", "", nested).replace("=", ":")
    return re.sub(r",?\)", "]", nested.replace("(", "["))


def with_plain_types(text: str) -> str:
    """The names of types that both systems know, one for each."""
    for other, plain in TYPE_NAMES.items():
        text = text.replace(other, plain)
    return text


def elements(nested: str) -> list[str]:
    """What a value of maps consists of: a map inside another value is a list of pairs in Python."""
    return re.sub(r"[\[\]{}():=,]+", " ", re.sub(r"[\s'\"\\]", "", nested)).split()


def same(value: str, expected: str) -> bool:
    if value == expected or as_numbers(value, expected):
        return True
    if expected.startswith("<REGEX>:"):
        return re.fullmatch(expected[8:], value, re.S) is not None
    if expected.startswith("<!REGEX>:"):
        return re.fullmatch(expected[9:], value, re.S) is None
    truth = {"1": "true", "0": "false", "t": "true", "f": "false"}
    if truth.get(value, value).lower() == truth.get(expected, expected).lower():
        return True
    if value[:1] in ("[", "{") and expected[:1] in ("[", "{", "("):
        return bare(value) == bare(expected) or ("=" in expected and elements(value) == elements(expected))
    if value.endswith(" BC") and BEFORE_CHRIST.sub(r"\1 BC", expected) == value:
        return True
    if with_plain_types(value) == with_plain_types(expected):
        return True
    return value == "(empty)" and expected == ""


class SuiteFile:
    """One file; `records` gives what became of each record."""

    def __init__(self, path: Path, root: Path) -> None:
        self.path, self.root = path, root
        self.folder = tempfile.mkdtemp(prefix="published")
        self.variables: dict[str, str] = {}
        self.labels: dict[str, list[list[str]]] = {}
        self.database: str | None = None
        self.connections: dict[str, Any] = {}
        self.skipping = False

    def records(self) -> Iterator[dict[str, Any]]:
        """What became of each record: whether it passed, whether it is one of the insides, what went wrong."""
        lines = self.path.read_text(errors="replace").replace("\r\n", "\n").split("\n")
        try:
            yield from self.block(lines, 0, len(lines))
        finally:
            self.close()
            shutil.rmtree(self.folder, ignore_errors=True)

    def close(self) -> None:
        for connection in self.connections.values():
            connection.close()
        self.connections = {}

    def connection(self, name: str) -> Any:
        import quickstep

        if "" not in self.connections:
            self.connections[""] = quickstep.connect(*([self.database] if self.database else []))
        if name not in self.connections:
            self.connections[name] = self.connections[""].session()
        return self.connections[name]

    def filled(self, text: str) -> str:
        for name, value in self.variables.items():
            text = text.replace("${" + name + "}", value).replace("{" + name + "}", value)
        places = {
            "TEST_DIR": self.folder, "TEMP_DIR": self.folder, "WORKING_DIRECTORY": str(self.root),
            "DATA_DIR": f"{self.root}/data", "BUILD_DIRECTORY": str(self.root),
        }  # fmt: skip
        for name, place in places.items():
            text = text.replace(f"__{name}__", place).replace("{" + name + "}", place)
        return text

    def block(self, lines: Sequence[str], at: int, end: int) -> Iterator[dict[str, Any]]:
        left_out = False
        while at < end:
            words = self.filled(lines[at].strip()).split()
            if not words or words[0].startswith("#"):
                at += 1
                continue
            match words[0]:
                case "statement" | "query":
                    after = at + 1
                    # A remark ends a statement, as in DuckDB's runner.
                    while after < end and lines[after].strip() not in ("", "----") and not lines[after].startswith("#"):
                        after += 1
                    sql = self.filled("\n".join(lines[at + 1 : after]))
                    expected: list[str] = []
                    if after < end and lines[after].strip() == "----":
                        after += 1
                        while after < end and lines[after] != "":
                            expected.append(self.filled(lines[after]))
                            after += 1
                    if not left_out and not self.skipping:
                        outcome = self.outcome(words, sql, expected)
                        if outcome is not None:
                            kind, message = outcome
                            file = str(self.path.relative_to(self.root))
                            record = {"passed": not kind, "inside": internals.reason(file, sql)}
                            failure = {"file": file, "line": at + 1, "kind": kind, "sql": sql[:600], "message": message[:600]}
                            yield record | failure if kind else record
                    left_out, at = False, after
                    continue
                case "loop" | "foreach" | "concurrentloop" | "concurrentforeach":
                    after, depth = at + 1, 1
                    while depth:
                        if after >= end:
                            raise Skipped("a loop without an end")
                        word = (lines[after].split() or [""])[0]
                        depth += word in ("loop", "foreach", "concurrentloop", "concurrentforeach")
                        depth -= word == "endloop"
                        after += 1
                    if not self.skipping:
                        yield from self.loop(words, lines, at + 1, after - 1)
                    at = after
                    continue
                case "skipif" | "onlyif":
                    met = words[1] == "duckdb" or self.condition(" ".join(words[1:]))
                    left_out = met == (words[0] == "skipif")
                case "mode":
                    self.skipping = {"skip": True, "unskip": False}.get(words[1], self.skipping)
                case "require" if words[1] not in HERE:
                    raise Skipped(f"require {words[1]}")
                case "require-env" | "halt" | "unzip" | "include" | "template" | "continue":
                    raise Skipped(words[0])
                case "load":
                    self.close()
                    self.database = words[1] if len(words) > 1 else None
                    # A database that is loaded to be written begins empty: loops load the same one again and again.
                    if self.database and words[2:3] != ["readonly"] and self.database.startswith(self.folder):
                        shutil.rmtree(self.database, ignore_errors=True)
                        Path(self.database).unlink(missing_ok=True)
                case "restart":
                    self.close()
            at += 1

    def loop(self, words: list[str], lines: Sequence[str], begin: int, end: int) -> Iterator[dict[str, Any]]:
        if "foreach" in words[0]:
            values: list[str] = []
            for word in words[2:]:
                if word.startswith("!"):
                    values = [value for value in values if value != word[1:]]
                else:
                    values += LISTS.get(word, [word])
        else:
            values = [str(number) for number in range(int(words[2]), int(words[3]))]
        names = words[1].split(",")
        for value in values[:VALUES_A_LOOP]:
            parts = value.split(",") if len(names) > 1 else [value]
            self.variables.update(zip(names, parts))
            yield from self.block(lines, begin, end)
        for name in names:
            self.variables.pop(name, None)

    def condition(self, text: str) -> bool:
        found = re.match(r"\s*([^=<>!\s]+)\s*(>=|<=|!=|=|<|>)\s*(.*)", text)
        if not found:
            return False
        left, sign, right = found.groups()
        left = self.variables.get(left, left)
        order = (float(left) - float(right)) if as_numbers(left, left) and as_numbers(right, right) else float(left != right)
        return {"=": order == 0, "!=": order != 0, "<": order < 0, ">": order > 0, "<=": order <= 0, ">=": order >= 0}[sign]

    def outcome(self, words: list[str], sql: str, expected: list[str]) -> tuple[str, str] | None:
        """Kind and message of a failure, ("", "") where it passed, None where it is not counted."""
        passed = ("", "")
        if PLAN.match(sql) and words[0] == "query":
            return None
        try:
            others = [word for word in words[2:] if re.fullmatch(r"con\w*", word)]
            name = words[2] if words[0] == "statement" and len(words) > 2 else (others or [""])[0]
            cursor = self.connection(name).execute(sql)
            rows = [] if cursor.description is None else self.rows(cursor)
        except Exception as error:
            return passed if words[1] in ("error", "maybe") else ("error", str(error))
        if words[0] == "statement":
            return ("accepted", "expected an error: " + " ".join(expected)) if words[1] == "error" else passed
        if cursor.description is None and CHANGES.match(sql):
            return passed
        width = len(words[1])
        values = [[shown(value) for value in row] for row in rows]
        if values and len(values[0]) != width:
            return "columns", f"{len(values[0])} columns for {width}"
        return self.compared(words[2:], width, values, expected) or passed

    @staticmethod
    def rows(cursor: Any) -> list[Any]:
        """The rows of a result; INTERVAL columns with their months, which a timedelta has not."""
        if all(column[1] != "INTERVAL" for column in cursor.description):
            return cursor.fetchall()  # type: ignore[no-any-return]
        table = cursor.arrow()
        columns = [table.column(at).to_pylist() for at in range(table.num_columns)]
        return list(zip(*columns))

    def compared(
        self, options: list[str], width: int, rows: list[list[str]], expected: list[str]
    ) -> tuple[str, str] | None:
        label = next((word for word in options if word not in ("nosort", "rowsort", "valuesort")), None)
        if not expected and label:
            known = self.labels.setdefault(label, sorted(rows))
            return None if known == sorted(rows) else ("label", f"another answer than before under {label}")
        if len(expected) == 1 and re.match(r"\d+ values hashing to", expected[0]):
            count = int(expected[0].split()[0])
            return None if count == len(rows) * width else ("hash", f"{len(rows) * width} values for {count}")
        wanted = [line.split("\t") for line in expected]
        if not (all(len(row) == width for row in wanted) and (width > 1 or len(wanted) == len(rows))):
            if len(expected) % width:
                return "shape", f"{len(expected)} values for {width} columns"
            wanted = [expected[at : at + width] for at in range(0, len(expected), width)]
        if "valuesort" in options:
            rows = [[value] for value in sorted(value for row in rows for value in row)]
            wanted = [[value] for value in sorted(value for row in wanted for value in row)]
        if len(rows) != len(wanted):
            return "rows", f"{len(rows)} rows for {len(wanted)}: {rows[:3]}"
        if "rowsort" in options:
            rows, wanted = sorted(rows), sorted(wanted)
        for row, other in zip(rows, wanted):
            for value, text in zip(row, other):
                if not same(value, text):
                    if "rowsort" in options and self.in_any_order(rows, wanted):
                        return None
                    return "value", f"{value[:200]!r}, expected {text[:200]!r}"
        return None

    @staticmethod
    def in_any_order(rows: list[list[str]], wanted: list[list[str]]) -> bool:
        """Sorting by text may pair rows wrongly that are equal as numbers."""
        left = list(wanted)
        for row in rows if len(rows) < 300 else []:
            found = next((other for other in left if all(map(same, row, other))), None)
            if found is None:
                return False
            left.remove(found)
        return not left


def worker(root: Path) -> None:
    """Runs the files that standard input names; prints lines of JSON."""
    for line in sys.stdin:
        end = "done"
        try:
            for failure in SuiteFile(Path(line.strip()), root).records():
                print(json.dumps(failure), flush=True)
        except Skipped as reason:
            end = f"skipped: {reason}"
        print(json.dumps({"end": end}), flush=True)


class Counts:
    """Records that passed and failed: by folder, and of the insides by reason."""

    def __init__(self) -> None:
        self.by_folder: dict[str, list[int]] = collections.defaultdict(lambda: [0, 0])
        self.by_reason: dict[str, list[int]] = collections.defaultdict(lambda: [0, 0])

    def add(self, folder: str, passed: bool, inside: str | None) -> None:
        self.by_folder[folder][not passed] += 1
        if inside:
            self.by_reason[inside][not passed] += 1

    def shares(self) -> tuple[tuple[int, int], tuple[int, int]]:
        """How many passed of how many: all records, and those outside the insides."""
        passed, failed = (sum(count[side] for count in self.by_folder.values()) for side in (0, 1))
        inside = [sum(count[side] for count in self.by_reason.values()) for side in (0, 1)]
        return (passed, passed + failed), (passed - inside[0], passed + failed - sum(inside))


def run(root: Path, files: list[Path], jobs: int, log: Path | None) -> None:
    queue: Queue[Path] = Queue()
    for file in files:
        queue.put(file)
    counts = Counts()
    messages: dict[str, list[str]] = collections.defaultdict(list)
    ends: collections.Counter[str] = collections.Counter()
    lock = threading.Lock()
    out = log.open("w") if log else None

    def drive() -> None:
        process = None
        while True:
            try:
                file = queue.get_nowait()
            except Empty:
                break
            if process is None:
                command = [sys.executable, __file__, str(root), "--worker"]
                process = subprocess.Popen(
                    command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, cwd=root
                )
            assert process.stdin is not None and process.stdout is not None
            process.stdin.write(f"{file}\n")
            process.stdin.flush()
            timer = threading.Timer(SECONDS_A_FILE, process.kill)
            timer.start()
            end, records = "ended or too slow", []
            for line in process.stdout:
                record = json.loads(line)
                if "end" in record:
                    end = record["end"]
                    break
                records.append(record)
            timer.cancel()
            if end.startswith("ended"):
                process.wait()
                process = None
            with lock:
                folder = "/".join(str(file.relative_to(root)).split("/")[:3])
                for record in records:
                    counts.add(folder, record["passed"], record["inside"])
                ends[end.split(" ")[0]] += 1
                if end.startswith("ended"):
                    print(f"ended, or took more than {SECONDS_A_FILE} s: {file.relative_to(root)}", flush=True)
                for failure in records:
                    if failure["passed"]:
                        continue
                    if out:
                        out.write(json.dumps({key: value for key, value in failure.items() if key != "passed"}) + "\n")
                    message = re.sub(r"\d+", "N", failure["message"].split("\n")[0])[:110]
                    said = message if failure["kind"] == "error" else failure["kind"]
                    messages[said].append(failure["file"])
        if process and process.stdin:
            process.stdin.close()
            process.wait()

    threads = [threading.Thread(target=drive) for _ in range(jobs)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if out:
        out.close()
    for folder, (passed, failed) in sorted(counts.by_folder.items(), key=lambda item: -item[1][1]):
        print(f"{folder:40} {passed:6} passed {failed:6} failed {100 * passed / max(1, passed + failed):5.1f} %")
    print("\nmessages, by files")
    for message, where in sorted(messages.items(), key=lambda item: -len(set(item[1])))[:60]:
        print(f"{len(set(where)):5} files {len(where):6} records  {message}")
    print("\nDuckDB's own insides, by reason")
    for why, (passed, failed) in sorted(counts.by_reason.items(), key=lambda item: -sum(item[1])):
        print(f"{passed:6} passed {failed:6} failed  {why}")
    (passed, of_all), (outside, of_outside) = counts.shares()
    print(f"\n{outside} of {of_outside} records outside DuckDB's insides passed ({100 * outside / max(1, of_outside):.1f} %)")
    print(f"{passed} of {of_all} records passed ({100 * passed / max(1, of_all):.1f} %); files {dict(ends)}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("root", type=Path, help="a checkout of DuckDB's sources")
    parser.add_argument("paths", nargs="*", default=["test/sql"], help="files and folders below it")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--log", type=Path)
    parser.add_argument("--worker", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    root = options.root.resolve()
    if options.worker:
        worker(root)
        return
    files: list[Path] = []
    for path in options.paths:
        place = root / path
        files += [place] if place.is_file() else sorted(place.rglob("*.test"))
    if not files:
        parser.error(f"no files of the suite below {root}")
    run(root, files, options.jobs, options.log)


if __name__ == "__main__":
    main()
