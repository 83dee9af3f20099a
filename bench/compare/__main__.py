"""The command line: `python -m compare` from the bench folder.

Ends with status 0 if every engine ran every query and answered right, 1 if
one did not, 2 if the run could not begin, 3 if the machine was busy with
something else, 130 if the run was interrupted.
"""

from __future__ import annotations

import argparse
import os
import re
import sys
from decimal import Decimal, InvalidOperation
from pathlib import Path

import psutil

from compare.engines import KNOWN_ENGINES
from compare.gate import Gate, GateLost
from compare.record import RESULTS_FOLDER, append_record
from compare.report import comparison_table, remarks
from compare.runner import AUTOMATIC, INTERLEAVED, SEQUENTIAL, Options, compare_engines
from compare.suites import DATA_FOLDER, TABLES_OF_SUITE, load_suite

UNITS = {"": 1, "KB": 10**3, "MB": 10**6, "GB": 10**9, "KIB": 2**10, "MIB": 2**20, "GIB": 2**30}
DEFAULT_ENGINES = ("quickstep", "duckdb", "hyper")
DEFAULT_MEMORY_BYTES_MAX = 16 * 10**9


def parse_arguments(arguments: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m compare",
        description="Compares Quickstep with its peers on the same Parquet files.",
    )
    parser.add_argument("--suite", choices=sorted(TABLES_OF_SUITE), default="tpch")
    parser.add_argument("--scale", type=positive_decimal, default=Decimal(1))
    parser.add_argument(
        "--threads",
        type=positive_count,
        default=os.cpu_count() or 1,
        help="threads or workers of every engine (default: all)",
    )
    parser.add_argument(
        "--memory",
        type=byte_count,
        default=min(DEFAULT_MEMORY_BYTES_MAX, psutil.virtual_memory().total * 2 // 3),
        help="memory limit of every engine, such as 16GB",
    )
    parser.add_argument("--runs", type=positive_count, default=5, help="timed rounds (default: 5)")
    parser.add_argument(
        "--loads",
        type=positive_count,
        default=3,
        help="times that each engine loads everything, each in a new process (default: 3)",
    )
    parser.add_argument(
        "--warm-ups",
        type=count,
        default=1,
        help="untimed executions before the timed one of each turn (default: 1)",
    )
    parser.add_argument(
        "--engines",
        type=lambda text: tuple(text.split(",")),
        default=DEFAULT_ENGINES,
        help=f"the base first; known: {', '.join(KNOWN_ENGINES)}",
    )
    parser.add_argument("--queries", help="such as 1,3-5 or 2.1,4.3 (default: all)")
    parser.add_argument(
        "--questions",
        type=Path,
        help="own queries in the place of the suite's: a folder of .sql files, or a file of one a line",
    )
    parser.add_argument("--data", type=Path, default=DATA_FOLDER, help="holds SUITE-sfSCALE/")
    parser.add_argument(
        "--schedule",
        choices=(AUTOMATIC, INTERLEAVED, SEQUENTIAL),
        default=AUTOMATIC,
        help="interleave the engines, if memory allows (default: auto)",
    )
    parser.add_argument(
        "--timeout", type=float, default=300.0, help="seconds that loading a table may take"
    )
    parser.add_argument(
        "--query-timeout", type=float, default=60.0, help="seconds a query may take (default: 60)"
    )
    parser.add_argument(
        "--slow",
        type=float,
        default=float("inf"),
        metavar="SECONDS",
        help="a query that takes longer at first runs without warm-ups, in --slow-runs rounds",
    )
    parser.add_argument("--slow-runs", type=positive_count, default=2)
    parser.add_argument(
        "--gate",
        metavar="COMMAND",
        help="keeps the machine to us from when it prints a line until its input ends",
    )
    parser.add_argument("--gate-seconds", type=float, default=240.0, help="longest stretch of it")
    parser.add_argument("--gate-rest", type=float, default=0.0, help="seconds between stretches")
    parser.add_argument(
        "--set",
        type=engine_setting,
        action="append",
        default=[],
        metavar="ENGINE.NAME=VALUE",
        help="a setting of one engine; may be repeated",
    )
    parser.add_argument(
        "--results", type=Path, default=RESULTS_FOLDER, help="folder to append the record in"
    )
    parser.add_argument(
        "--gate-first", action="store_true", help="hold the machine in the cold first round too"
    )
    parser.add_argument(
        "--series", default="", help="a name in the record, for those who draw from several"
    )
    parser.add_argument("--no-record", action="store_true", help="print only")
    return parser.parse_args(arguments)


def count(text: str) -> int:
    if not text.isdigit():
        raise argparse.ArgumentTypeError(f"not a count: {text!r}")
    return int(text)


def positive_count(text: str) -> int:
    if count(text) == 0:
        raise argparse.ArgumentTypeError("must be at least 1")
    return int(text)


def positive_decimal(text: str) -> Decimal:
    try:
        value = Decimal(text)
    except InvalidOperation:
        value = Decimal(0)
    if not value.is_finite() or value <= 0:
        raise argparse.ArgumentTypeError(f"not a scale: {text!r}")
    return value.normalize()


def byte_count(text: str) -> int:
    parts = re.fullmatch(r"(\d+(?:\.\d+)?)\s*([KMG]I?B)?", text.strip().upper())
    if parts is None:
        raise argparse.ArgumentTypeError(f"not an amount of memory: {text!r}")
    return int(Decimal(parts[1]) * UNITS[parts[2] or ""])


def engine_setting(text: str) -> tuple[str, str, str]:
    parts = re.fullmatch(r"([^.=]+)\.([^=]+)=(.*)", text)
    if parts is None:
        raise argparse.ArgumentTypeError(f"not ENGINE.NAME=VALUE: {text!r}")
    return parts[1], parts[2], parts[3]


def say(line: str) -> None:
    print(line, file=sys.stderr, flush=True)


def main(arguments: list[str]) -> int:
    asked = parse_arguments(arguments)
    try:
        suite = load_suite(asked.suite, asked.scale, asked.queries, asked.data, asked.questions)
    except (FileNotFoundError, ValueError) as error:
        say(str(error))
        return 2
    settings: dict[str, dict[str, str]] = {name: {} for name in asked.engines}
    for engine, name, value in asked.set:
        settings.setdefault(engine, {})[name] = value
    options = Options(
        engines=asked.engines,
        threads=asked.threads,
        memory_bytes=asked.memory,
        runs=asked.runs,
        loads=asked.loads,
        warm_ups=asked.warm_ups,
        timeout_seconds=asked.timeout,
        query_seconds_max=asked.query_timeout,
        slow_seconds=asked.slow,
        slow_runs=asked.slow_runs,
        series=asked.series,
        gate_first=asked.gate_first,
        schedule=asked.schedule,
        settings=settings,
    )
    gate = Gate(asked.gate, asked.gate_seconds, asked.gate_rest)
    try:
        schedule, outcomes = compare_engines(suite, options, say, gate)
    except KeyboardInterrupt:
        say("interrupted: nothing kept")
        return 130
    except GateLost as error:
        say(f"{error}; nothing kept")
        return 3
    runs = f"median of {options.runs} runs, ms, {schedule}"
    print(f"\n{suite.title}, {options.threads} threads, {runs}\n")
    print(comparison_table(outcomes))
    print("".join(f"\n! {remark}" for remark in remarks(outcomes)))
    if not asked.no_record:
        print(f"appended to {append_record(asked.results, suite, options, schedule, outcomes)}")
    if any(outcome.noisy for outcome in outcomes.values()):
        say("the machine was busy with something else: this run counts for nothing")
        return 3
    complete = all(
        outcome.error is None and outcome.correct_count() == len(suite.queries)
        for outcome in outcomes.values()
    )
    return 0 if complete else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
