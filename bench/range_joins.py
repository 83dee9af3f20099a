"""Joins by ranges beside DuckDB: points in intervals, overlapping intervals, two inequalities, and an equality beside a range.

    python range_joins.py --binary ../target/release/quickstep [--rounds 7] [--threads 2] [--no-record]

Both engines make the same tables in memory from the same numbers: DuckDB once, Quickstep's shell in a process of its own
for each question and round, where the question is asked twice and the second time counts. A round asks every question of
both engines, one after the other, the first one changing with the round; each answer is one row of a count and sums, and
both engines must give the same. What counts is the median of the rounds, the first of which warms up and is left out; the
least is beside it. Quickstep's time is its shell's (planning included, in the process), DuckDB's that of
`execute(...).fetchall()`.

With --ablation Quickstep is also asked each question once with `SET range_joins = off`. What takes longer than --limit
seconds is ended, said so in the record, and not asked of that engine again. Other programs on the machine disturb single
rounds; the record says what the machine's load was. The line of JSON goes to `results/range-joins.jsonl`.
"""

from __future__ import annotations

import argparse
import datetime
import json
import os
import re
import statistics
import subprocess
import threading
import time
from pathlib import Path
from typing import Any

import duckdb

from compare.machine import commit, machine
from compare.record import RESULTS_FOLDER

TABLES = """
CREATE TABLE points AS SELECT i AS id, (i::BIGINT * 7919) % 10000019 AS t FROM generate_series(1, 1000000) g(i);
CREATE TABLE spans AS SELECT i AS id, (i::BIGINT * 104729) % 10000019 AS lo, (i::BIGINT * 104729) % 10000019 + 1 + i % 200 AS hi
  FROM generate_series(1, 100000) g(i);
CREATE TABLE shifts AS SELECT i AS id, (i::BIGINT * 15485863) % 20000003 AS lo, (i::BIGINT * 15485863) % 20000003 + 1 + i % 400 AS hi
  FROM generate_series(1, 100000) g(i);
CREATE TABLE wages AS SELECT i AS id, (i::BIGINT * 7919) % 1000003 AS salary,
  ((i::BIGINT * 7919) % 1000003) * 3 + (i::BIGINT * 31337) % 97 AS tax FROM generate_series(1, 200000) g(i);
CREATE TABLE trades AS SELECT i AS id, CASE WHEN i % 2 = 0 THEN 0 ELSE i % 5000 END AS k, (i::BIGINT * 7919) % 1000003 AS t
  FROM generate_series(1, 200000) g(i);
CREATE TABLE quotes AS SELECT i AS id, CASE WHEN i % 2 = 0 THEN 0 ELSE i % 5000 END AS k,
  (i::BIGINT * 104729) % 1000003 AS lo FROM generate_series(1, 200000) g(i)
"""

QUESTIONS = {
    "point_in_interval": "SELECT count(*), sum(p.id), sum(s.id) FROM points p JOIN spans s ON p.t >= s.lo AND p.t < s.hi",
    "interval_overlap": "SELECT count(*), sum(a.id), sum(b.id) FROM shifts a JOIN shifts b"
    " ON a.lo <= b.hi AND b.lo <= a.hi",
    "two_inequalities": "SELECT count(*), sum(a.id), sum(b.tax) FROM wages a JOIN wages b"
    " ON a.salary < b.salary AND a.tax > b.tax",
    "equality_and_range": "SELECT count(*), sum(t.id), sum(q.id) FROM trades t JOIN quotes q"
    " ON t.k = q.k AND q.lo BETWEEN t.t AND t.t + 20",
    "no_later_row": "SELECT count(*), sum(p.id), max(p.t) FROM points p"
    " WHERE NOT EXISTS (SELECT 1 FROM spans s WHERE s.lo <= p.t AND s.hi > p.t)",
}
TIME = re.compile(r"^Time: ([0-9.]+) ms", re.MULTILINE)


class TooLong(Exception):
    """A question was not answered within the limit."""


class Shell:
    """Quickstep's shell, which runs what it is given and ends: once for each question and round."""

    def __init__(self, binary: Path, threads: int, limit: float) -> None:
        self.command = [str(binary), ":memory:", "--timing", "--format", "csv", "--workers", str(threads)]
        self.settings = [f"SET statement_timeout = '{limit}s'"]

    def set(self, statement: str) -> None:
        self.settings.append(statement)

    def ask(self, question: str) -> tuple[float, list[str]]:
        """Milliseconds of the second time, and the lines of the answer."""
        text = ";\n".join([TABLES.strip(), *self.settings, question, question])
        done = subprocess.run([*self.command, "-c", text], capture_output=True, text=True, check=False)
        if "ERROR 57014" in done.stderr:
            raise TooLong
        if done.returncode != 0:
            raise SystemExit(f"{question}: {done.stderr}")
        times = [float(taken) for taken in TIME.findall(done.stderr)]
        lines = [line for line in done.stdout.splitlines() if re.fullmatch(r"[0-9]+,[-0-9.,]+", line)]
        return times[-1], lines[-1:]


class Duck:
    def __init__(self, threads: int, limit: float) -> None:
        self.connection = duckdb.connect(config={"threads": threads})
        self.limit = limit
        for statement in TABLES.split(";"):
            self.ask(statement)

    def ask(self, statement: str) -> tuple[float, list[str]]:
        end = threading.Timer(self.limit, self.connection.interrupt)
        end.start()
        began = time.perf_counter()
        try:
            rows = self.connection.execute(statement).fetchall()
        except duckdb.InterruptException as interrupted:
            raise TooLong from interrupted
        finally:
            end.cancel()
        return (time.perf_counter() - began) * 1e3, [",".join(str(value) for value in row) for row in rows]


def spread(values: list[float]) -> dict[str, float]:
    return {"median_ms": round(statistics.median(values), 2), "least_ms": round(min(values), 2)}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--binary", type=Path, required=True)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--limit", type=float, default=30)
    parser.add_argument("--ablation", action="store_true")
    parser.add_argument("--no-record", action="store_true")
    arguments = parser.parse_args()
    engines: dict[str, Any] = {
        "quickstep": Shell(arguments.binary.resolve(), arguments.threads, arguments.limit),
        "duckdb": Duck(arguments.threads, arguments.limit),
    }
    times: dict[str, dict[str, list[float]]] = {q: {e: [] for e in engines} for q in QUESTIONS}
    answers: dict[str, list[str]] = {}
    too_long: set[tuple[str, str]] = set()
    for at in range(arguments.rounds + 1):
        order = list(engines) if at % 2 == 0 else list(reversed(engines))
        for question, text in QUESTIONS.items():
            for name in order:
                if (question, name) in too_long:
                    continue
                try:
                    taken, answer = engines[name].ask(text)
                except TooLong:
                    too_long.add((question, name))
                    continue
                if answers.setdefault(question, answer) != answer or len(answer) != 1:
                    raise SystemExit(f"{question}: {name} says {answer}, not {answers[question]}")
                if at > 0:
                    times[question][name].append(taken)
    more = f"more than {arguments.limit:g} s"
    series: dict[str, Any] = {}
    for question, of in times.items():
        series[question] = {
            name: more if (question, name) in too_long else spread(values) for name, values in of.items()
        }
        if not any((question, name) in too_long for name in of):
            medians = {name: statistics.median(values) for name, values in of.items()}
            series[question]["duckdb_over_quickstep"] = round(medians["duckdb"] / medians["quickstep"], 2)
        series[question]["rows"] = int(answers[question][0].split(",")[0])
    if arguments.ablation:
        engines["quickstep"].set("SET range_joins = off")
        for question, text in QUESTIONS.items():
            try:
                series[question]["range_joins_off_ms"] = round(engines["quickstep"].ask(text)[0], 1)
            except TooLong:
                series[question]["range_joins_off_ms"] = more
    line = {
        "format": 1,
        "date": datetime.datetime.now(datetime.UTC).isoformat(sep=" ", timespec="seconds"),
        "commit": commit(),
        "machine": machine(),
        "work": "joins by ranges (bench/range_joins.py)",
        "engines": {"duckdb": duckdb.__version__},
        "threads": arguments.threads,
        "rounds": arguments.rounds,
        "load_average": [round(load, 1) for load in os.getloadavg()],
        "series": series,
    }
    print(json.dumps(series, indent=1))
    if not arguments.no_record:
        with (RESULTS_FOLDER / "range-joins.jsonl").open("a") as results:
            results.write(json.dumps(line) + "\n")


if __name__ == "__main__":
    main()
