"""Quickstep beside DuckDB, question by question in turns: what `other_data.py`, `daily_questions.py` and `behaviour.py` share.

Quickstep is a process of the command that reads the text of each turn from a pipe of its own; DuckDB runs in this process.
In a round every engine answers the question, one right after the other, the first one changing with the round. Round 0 warms
up, is not counted, and compares the answers (floats to nine digits). Of each turn both the time and the CPU time (user and
system, all threads of the engine) are taken: medians of the CPU time count on a machine that does other work too.
"""

from __future__ import annotations

import csv
import datetime
import decimal
import enum
import io
import json
import os
import shutil
import statistics
import subprocess
import tempfile
import time
from importlib.metadata import version
from pathlib import Path
from typing import Any

from compare.machine import commit, machine
from compare.record import FORMAT, RESULTS_FOLDER

END_OF_ANSWER = "the end of the answer"
# The other engine of every ratio, and how medians of CPU time are named.
PEER, CPU = "duckdb", "_cpu"


class Differing(enum.Enum):
    """What an answer does that is not that of the engine before: it ends the run, is printed, or is only returned (where engines
    write the same value in several ways)."""

    ENDS = enum.auto()
    IS_TOLD = enum.auto()
    IS_RETURNED = enum.auto()


Turn = tuple[float, float, list[list[str]]]


def cell(value: Any) -> str:
    """A value in the one form that all engines' answers are compared in."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, (int, float, decimal.Decimal)):
        return f"{float(value):.9g}"
    text = str(value)
    try:
        return f"{float(text):.9g}"
    except ValueError:
        return text


class Duck:
    """DuckDB in this process: the CPU time is that of the whole process, which does nothing else at its turn."""

    def __init__(self, threads: int) -> None:
        # Tests of the pages do without the peer.
        import duckdb

        self._connection = duckdb.connect(config={"threads": threads})

    def run(self, sql: str) -> Turn:
        """Milliseconds, milliseconds of CPU time, and the rows."""
        began, cpu = time.perf_counter(), time.process_time()
        rows = self._connection.execute(sql).fetchall()
        taken, cpu = time.perf_counter() - began, time.process_time() - cpu
        return taken * 1e3, cpu * 1e3, [[cell(value) for value in row] for row in rows]

    def close(self) -> None:
        self._connection.close()


class Quickstep:
    """A process of the command; `turns` is how many texts it can be given at most."""

    def __init__(self, binary: str, threads: int, folder: Path, turns: int) -> None:
        folder.mkdir()
        self._pipes = [folder / f"{turn}.sql" for turn in range(turns)]
        for pipe in self._pipes:
            os.mkfifo(pipe)
        command = [binary, "--no-startup", "--format", "csv", "--workers", str(threads)]
        for pipe in self._pipes:
            command += ["--file", str(pipe)]
        self._process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        self._turn = 0

    def _cpu(self) -> float:
        nanoseconds = 0
        for task in Path(f"/proc/{self._process.pid}/task").iterdir():
            nanoseconds += int((task / "schedstat").read_text().split()[0])
        return nanoseconds / 1e6

    def run(self, sql: str) -> Turn:
        """Milliseconds, milliseconds of CPU time, and the rows."""
        assert self._process.stdout is not None
        pipe, self._turn = self._pipes[self._turn], self._turn + 1
        began, cpu = time.perf_counter(), self._cpu()
        with pipe.open("w") as file:
            file.write(f"{sql};\nSELECT '{END_OF_ANSWER}' AS mark;\n")
        lines: list[str] = []
        while END_OF_ANSWER not in (lines[-1] if lines else ""):
            line = self._process.stdout.readline()
            if not line:
                raise SystemExit(f"{self._process.args[0]} ended in\n{sql}")
            lines.append(line)
        taken, cpu = time.perf_counter() - began, self._cpu() - cpu
        rows = list(csv.reader(io.StringIO("".join(lines))))
        # The header and rows of the answer, then header and row of the mark.
        # A line without a character is a row of one NULL.
        return taken * 1e3, cpu, [[cell(value) for value in row or [None]] for row in rows[1:-2]]

    def close(self) -> None:
        self._process.kill()
        self._process.wait()


class Engines:
    """The engines of a run, by name; a second build of Quickstep where `other` names one."""

    def __init__(self, binary: str, other: str | None, threads: int, turns: int) -> None:
        self._folder = Path(tempfile.mkdtemp(prefix="quickstep-in-turns-"))
        self.by_name: dict[str, Any] = {"quickstep": Quickstep(binary, threads, self._folder / "quickstep", turns + 1)}
        if other:
            self.by_name["other"] = Quickstep(other, threads, self._folder / "other", turns + 1)
        for engine in self.by_name.values():
            engine.run("SET plan_cache = off")
        self.by_name[PEER] = Duck(threads)

    def everywhere(self, sql: str) -> None:
        for engine in self.by_name.values():
            engine.run(sql)

    def ask(self, question: str, rounds: int, differing: Differing = Differing.ENDS) -> tuple[dict[str, float], bool]:
        """Medians by engine, of milliseconds and (with `_cpu` behind the name) of CPU time, and whether all answers are
        the same."""
        taken: dict[str, list[tuple[float, float]]] = {engine: [] for engine in self.by_name}
        same = True
        expected: list[list[str]] = []
        for number in range(rounds + 1):
            order = list(self.by_name) if number % 2 == 0 else list(reversed(self.by_name))
            for engine in order:
                milliseconds, cpu, answer = self.by_name[engine].run(question)
                if number > 0:
                    taken[engine].append((milliseconds, cpu))
                elif engine == order[0]:
                    expected = answer
                elif answer != expected:
                    same = False
                    text = f"{expected[:3]} and {answer[:3]} of {engine} are not the same in\n{question}"
                    if differing is Differing.ENDS:
                        raise SystemExit(text)
                    if differing is Differing.IS_TOLD:
                        print(text, flush=True)
        medians: dict[str, float] = {}
        for engine, pairs in taken.items():
            medians[engine] = round(statistics.median(pair[0] for pair in pairs), 2)
            medians[engine + CPU] = round(statistics.median(pair[1] for pair in pairs), 2)
        return medians, same

    def close(self) -> None:
        for engine in self.by_name.values():
            engine.close()
        shutil.rmtree(self._folder)


def load() -> list[float]:
    """The machine's load average, for a record that other work may have disturbed."""
    return [round(average, 1) for average in os.getloadavg()]


def keep(file: str, work: str, **figures: Any) -> Path:
    """Appends a run to a file of `results`."""
    record = {
        "format": FORMAT,
        "date": str(datetime.datetime.now(datetime.UTC).replace(microsecond=0)),
        "commit": commit(),
        "machine": machine(),
        "work": work,
        "engines": {PEER: version(PEER)},
        "load_average": load(),
        **figures,
    }
    path = RESULTS_FOLDER / file
    with path.open("a", encoding="utf-8") as lines:
        lines.write(json.dumps(record) + "\n")
    return path
