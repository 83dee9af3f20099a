"""Two builds of Quickstep beside each other, interleaved in one run: is the newer one slower?

    python before_after.py --before OLD/quickstep --after NEW/quickstep --suite tpch --scale 1 --rounds 9

Each build is one process of the command with its own tables in memory, loaded
by the benchmark's own CALL.  In a round each query goes to both, the one that
begins changing from query to query and from round to round; the process that is
not at its turn is stopped.  A query's time runs from handing over its text to
the last line of its printed answer, planning and printing included, plan cache
off.  Round 0 is not timed: it warms up and compares the two answers, as sorted
lines.  Medians count; the record keeps both medians of each query, and with
`--record` goes into results/before-after.jsonl.

A build is not slower when the geometric mean of after / before is at most 1.02
and no query of at least 3 ms is over 1.05 (under 3 ms the clock's share of the
ratio is too large; those queries are printed all the same).  A query over its
bound is measured again, `--again` rounds of only those, before it is called
slower: of a hundred ratios some lie outside by chance.
"""

from __future__ import annotations

import argparse
import datetime
import json
import math
import os
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable, Sequence
from decimal import Decimal
from pathlib import Path

from compare.machine import commit, machine
from compare.suites import ANSWERS_FOLDER

RESULTS = Path(__file__).resolve().parent / "results" / "before-after.jsonl"
SCHEMA_CALLS = {"tpch": "tpch", "ssb": "ssb", "tpcds": "tpcds"}
MEAN_MAX, QUERY_MAX, TIMED_FROM_MS = 1.02, 1.05, 3.0


class Build:
    """One process that runs a script whenever it is given one."""

    def __init__(self, binary: str, folder: Path, turns: int, workers: int) -> None:
        self.binary = binary
        self._pipes = [folder / f"{index}.sql" for index in range(turns)]
        for pipe in self._pipes:
            os.mkfifo(pipe)
        # The command opens its files in order: at each pipe it waits for a text.
        command = [binary, "--no-startup", "--format", "csv", "--workers", str(workers)]
        for pipe in self._pipes:
            command += ["--file", str(pipe)]
        self._process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        self._turn = 0

    def run(self, sql: str) -> tuple[float, list[str]]:
        """Milliseconds and the lines of the answer."""
        end = f"end of turn {self._turn}"
        pipe, self._turn = self._pipes[self._turn], self._turn + 1
        text = f"{sql.rstrip().rstrip(';')};\nSELECT '{end}';\n"
        began = time.perf_counter()
        with pipe.open("w") as file:
            file.write(text)
        assert self._process.stdout is not None
        lines: list[str] = []
        while True:
            line = self._process.stdout.readline()
            if not line:
                raise SystemExit(f"{self.binary} ended with status {self._process.wait()} in\n{sql}")
            if line.strip().strip('"') == end:
                break
            lines.append(line)
        return (time.perf_counter() - began) * 1000, lines

    def stop(self) -> None:
        self._process.send_signal(signal.SIGSTOP)

    def go_on(self) -> None:
        self._process.send_signal(signal.SIGCONT)

    def close(self) -> None:
        self.go_on()
        self._process.kill()
        self._process.wait()


def queries_of(suite: str, scale: Decimal, chosen: str | None) -> dict[str, str]:
    files = sorted((ANSWERS_FOLDER / "queries" / suite).glob("*.sql"), key=lambda file: [
        int("".join(filter(str.isdigit, part)) or 0) for part in file.stem.split(".")
    ])
    # TPC-H Q11 has a share that depends on the scale.
    fraction = f"{Decimal(1) / 10000 / scale:.10f}"
    names = {file.stem: file.read_text().replace("{fraction}", fraction) for file in files}
    if chosen:
        names = {name: names[name] for name in chosen.split(",")}
    return names


def rounds(
    builds: Sequence[Build], queries: dict[str, str], names: Iterable[str], count: int
) -> dict[str, tuple[list[float], list[float]]]:
    """The times of each query, before and after."""
    times: dict[str, tuple[list[float], list[float]]] = {name: ([], []) for name in names}
    for index in range(count):
        for place, name in enumerate(times):
            sides = (0, 1) if (index + place) % 2 == 0 else (1, 0)
            for side in sides:
                builds[side].go_on()
                milliseconds, _ = builds[side].run(queries[name])
                builds[side].stop()
                times[name][side].append(milliseconds)
    return times


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--before", required=True)
    parser.add_argument("--after", required=True)
    parser.add_argument("--suite", choices=SCHEMA_CALLS, default="tpch")
    parser.add_argument("--scale", type=Decimal, default=Decimal(1))
    parser.add_argument("--queries", help="names separated by commas; all when not given")
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--again", type=int, default=15)
    parser.add_argument("--workers", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--record", action="store_true")
    parser.add_argument("--after-commit", help="where the newer build is not that of this checkout")
    parser.add_argument("--before-commit", default="unknown")
    options = parser.parse_args()

    queries = queries_of(options.suite, options.scale, options.queries)
    turns = 2 + len(queries) * (1 + options.rounds + options.again)
    with tempfile.TemporaryDirectory() as folder:
        builds = []
        for side, binary in (("before", options.before), ("after", options.after)):
            place = Path(folder) / side
            place.mkdir()
            builds.append(Build(binary, place, turns, options.workers))
        try:
            report(options, builds, queries)
        finally:
            for build in builds:
                build.close()


def report(options: argparse.Namespace, builds: Sequence[Build], queries: dict[str, str]) -> None:
    for build in builds:
        build.run("SET plan_cache = off")
        took, _ = build.run(f"CALL {SCHEMA_CALLS[options.suite]}(scale => {options.scale})")
        print(f"{build.binary}: loaded in {took:.0f} ms", file=sys.stderr)
        build.stop()
    other_answers = []
    for name, sql in queries.items():
        answers = []
        for build in builds:
            build.go_on()
            answers.append(sorted(build.run(sql)[1]))
            build.stop()
        if answers[0] != answers[1]:
            other_answers.append(name)
    if other_answers:
        print(f"other answers: {', '.join(other_answers)}")

    times = rounds(builds, queries, queries, options.rounds)
    medians = {
        name: (statistics.median(before), statistics.median(after))
        for name, (before, after) in times.items()
    }
    suspects = [name for name, pair in medians.items() if slower(pair)]
    if suspects:
        again = rounds(builds, queries, suspects, options.again)
        for name, (before, after) in again.items():
            medians[name] = (statistics.median(before), statistics.median(after))
    slow = [name for name, pair in medians.items() if slower(pair)]
    ratios = {name: after / before for name, (before, after) in medians.items()}
    mean = math.exp(statistics.fmean(math.log(ratio) for ratio in ratios.values()))
    print(f"{'query':>6} {'before ms':>10} {'after ms':>10} {'after / before':>15}")
    for name, (before, after) in medians.items():
        print(f"{name:>6} {before:10.2f} {after:10.2f} {after / before:15.3f}")
    totals = [sum(pair[side] for pair in medians.values()) for side in (0, 1)]
    print(f"geometric mean {mean:.3f}, total {totals[0]:.0f} ms before and {totals[1]:.0f} ms after")
    print(f"measured again: {', '.join(suspects) or 'none'}; slower: {', '.join(slow) or 'none'}")
    if options.record:
        record = {
            "date": datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
            "before": options.before_commit,
            "after": {"id": options.after_commit, "modified": False} if options.after_commit else commit(),
            "machine": machine(),
            "suite": options.suite,
            "scale": float(options.scale),
            "workers": options.workers,
            "rounds": options.rounds,
            "again": options.again,
            "other_answers": other_answers,
            "measured_again": suspects,
            "slower": slow,
            "geometric_mean": round(mean, 4),
            "median_ms": {name: [round(ms, 3) for ms in pair] for name, pair in medians.items()},
        }
        with RESULTS.open("a") as lines:
            lines.write(json.dumps(record, separators=(",", ":")) + "\n")
    sys.exit(0 if mean <= MEAN_MAX and not slow and not other_answers else 1)


def slower(pair: tuple[float, float]) -> bool:
    before, after = pair
    return before >= TIMED_FROM_MS and after / before > QUERY_MAX


if __name__ == "__main__":
    main()
