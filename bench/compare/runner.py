"""Runs the engines: load each, then round after round give each its turn.

In a round every query goes to every engine, one engine after the other, and
the engine that begins moves on by one each time.  What disturbs the machine
for a while thus disturbs all engines alike.  An engine that is not at its turn
is stopped, with all it started, and takes no processor time.

Where the machine cannot hold all engines at once, each has the machine to
itself in sequence: then only the ratios of calm runs mean anything.

A query that an engine does not end in time costs that engine its process.  It
is started and loaded again and goes on with the next query; the one that
killed it is not tried again.  A turn in which something else used the machine
is repeated a few times.
"""

from __future__ import annotations

import os
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from compare.csv_files import ENGINES_THAT_READ_CSV, write_csv_file
from compare.engine_process import EngineError, EngineLost, EngineProcess
from compare.gate import Gate, GateLost
from compare.outcome import EngineOutcome, QueryOutcome
from compare.process_tree import available_bytes
from compare.protocol import Message
from compare.rewrites import read_rewrites, rewritten
from compare.suites import Suite
from compare.verify import AnswerStore, verify_answers

INTERLEAVED = "interleaved"
SEQUENTIAL = "sequential"
AUTOMATIC = "auto"

# Engines give freed memory back a little after the statement ends.
SETTLE_SECONDS = 1.0

# Peak memory of one engine over the size of the Parquet files, as measured at
# scale 10: DuckDB 13.7 GiB for 3.3 GiB of files.
PEAK_OVER_FILES = 4.2

# An engine that ends late queries by itself gets this much longer to do so.
GRACE_SECONDS = 15.0

# An engine that dies of more queries than this is left out of the rest.
RESTARTS_MAX = 12

# What a run that is broken off must have, to be kept.
ROUNDS_MIN = 2

# A turn that others disturbed is repeated; the least disturbed one counts.
ATTEMPTS_MAX = 3

# What comes after the last table, where an engine has such a step.
AFTER_TABLES = "keys and statistics"


@dataclass(frozen=True)
class Options:
    """One run, as asked for on the command line."""

    engines: tuple[str, ...]
    threads: int
    memory_bytes: int
    runs: int
    loads: int = 1
    warm_ups: int = 1
    timeout_seconds: float = 300.0
    """For starting and for loading a table."""
    query_seconds_max: float = 300.0
    slow_seconds: float = float("inf")
    """A query whose first execution takes longer is not warmed up again,"""
    slow_runs: int = 2
    """and runs in so many timed rounds only."""
    series: str = ""
    gate_first: bool = False
    schedule: str = AUTOMATIC
    settings: Mapping[str, Mapping[str, str]] = field(default_factory=dict)


Report = Callable[[str], None]


def compare_engines(
    suite: Suite, options: Options, report: Report, gate: Gate | None = None
) -> tuple[str, dict[str, EngineOutcome]]:
    """Runs a suite; returns the schedule used and the outcome of each engine."""
    schedule = choose_schedule(suite, options)
    outcomes = {
        name: EngineOutcome(name, settings=dict(options.settings.get(name, {})))
        for name in options.engines
    }
    prepare_csv_files(suite, options)
    read_into_page_cache(suite)
    together = (
        [options.engines] if schedule == INTERLEAVED else [(name,) for name in options.engines]
    )
    with tempfile.TemporaryDirectory(prefix="bench-answers-") as folder:
        answers = AnswerStore(Path(folder))
        with gate or Gate() as held:
            for names in together:
                runner = Runner(suite, options, answers, report, held)
                runner.run([outcomes[name] for name in names])
        verify_answers(suite, outcomes, answers)
    return schedule, outcomes


def choose_schedule(suite: Suite, options: Options) -> str:
    if options.schedule != AUTOMATIC:
        return options.schedule
    expected = suite.data_bytes() * PEAK_OVER_FILES * len(options.engines)
    return INTERLEAVED if expected < available_bytes() else SEQUENTIAL


def prepare_csv_files(suite: Suite, options: Options) -> None:
    """Writes what cannot be read as Parquet, before any clock runs."""
    if any(name in ENGINES_THAT_READ_CSV for name in options.engines):
        for file in suite.tables.values():
            write_csv_file(file)


def read_into_page_cache(suite: Suite) -> None:
    """Reads the files once, so that no engine's load pays for the disk."""
    for file in suite.tables.values():
        with file.open("rb") as source:
            while source.read(2**24):
                pass


def rotated(outcomes: Sequence[EngineOutcome], turn: int) -> Sequence[EngineOutcome]:
    """Another engine begins each time."""
    shift = turn % max(1, len(outcomes))
    return (*outcomes[shift:], *outcomes[:shift])


class Runner:
    """A group of engines that live at the same time."""

    def __init__(
        self, suite: Suite, options: Options, answers: AnswerStore, report: Report, gate: Gate
    ) -> None:
        self._suite = suite
        self._gate = gate
        self._queries: dict[str, dict[str, str]] = {}
        self._options = options
        self._answers = answers
        self._report = report
        self._processes: dict[str, EngineProcess] = {}

    def run(self, outcomes: Sequence[EngineOutcome]) -> None:
        try:
            for outcome in outcomes:
                self._queries[outcome.name], outcome.rewritten = rewritten(
                    read_rewrites(outcome.name), self._suite.name, self._suite.queries
                )
            for load_number in range(self._options.loads):
                last = load_number + 1 == self._options.loads
                for outcome in rotated(outcomes, load_number):
                    self._load(outcome, keep=last)
            for outcome in outcomes:
                self._report_load(outcome)
            loaded = [outcome for outcome in outcomes if outcome.error is None]
            if not self._options.gate_first:
                self._gate.close()
            self._rounds(loaded)
            for outcome in loaded:
                self._measure_queries(outcome)
        finally:
            for process in self._processes.values():
                process.close()

    def _rounds(self, outcomes: Sequence[EngineOutcome]) -> None:
        """All rounds, or those that were possible: two timed ones are enough to keep."""
        for round_number in range(self._options.runs + 1):
            try:
                self._round(outcomes, round_number)
            except GateLost as error:
                if round_number <= ROUNDS_MIN:
                    raise
                self._report(f"stopped in round {round_number}: {error}")
                return

    def _load(self, outcome: EngineOutcome, keep: bool) -> None:
        """Starts an engine, loads every table, measures, and stops or ends it.

        How fast a process gets its memory depends on what the machine did just
        before: one load would say as much about that as about the engine.
        """
        if outcome.error is not None:
            return
        self._gate.hold()
        try:
            process, load = self._started(outcome)
        except EngineError as error:
            outcome.error = str(error)
            self._report(f"{outcome.name}: {error}")
            return
        outcome.loads.append(load)
        if not keep:
            process.close()
            return
        process.tree.refresh()
        outcome.load_peak_bytes = process.tree.peak_resident_bytes()
        time.sleep(SETTLE_SECONDS)
        outcome.loaded_bytes = process.tree.resident_bytes()
        outcome.peak_includes_load = not process.tree.reset_peak()
        process.pause()
        self._gate.check()

    def _started(self, outcome: EngineOutcome) -> tuple[EngineProcess, dict[str, float]]:
        """A process with every table in it, and what the loading took."""
        process = EngineProcess(outcome.name, self._options.timeout_seconds)
        self._processes[outcome.name] = process
        try:
            reply = process.start(
                self._options.threads,
                self._options.memory_bytes,
                outcome.settings,
                self._options.query_seconds_max,
            )
            outcome.version = reply["version"]
            outcome.description = reply["description"]
            outcome.started_bytes = process.tree.resident_bytes()
            process.tree.reset_peak()
            tables = self._suite.tables.items()
            load = {table: process.load(table, file) for table, file in tables}
            finished = process.finish_loading()
        except EngineError:
            process.close()
            raise
        if finished is not None:
            load[AFTER_TABLES] = finished
        return process, load

    def _report_load(self, outcome: EngineOutcome) -> None:
        if outcome.error is None:
            times = ", ".join(f"{sum(load.values()):.2f}" for load in outcome.loads)
            self._report(
                f"{outcome.name} {outcome.version}: loaded in {times} s, "
                f"{outcome.loaded_bytes / 2**30:.2f} GiB"
            )

    def _round(self, outcomes: Sequence[EngineOutcome], round_number: int) -> None:
        """Round 0 is the first execution of all: not timed as warm, nor held still by itself."""
        started = time.perf_counter()
        for query_number, query in enumerate(self._suite.queries):
            if round_number > 0:
                self._gate.hold()
            elif self._options.gate_first:
                self._gate.hold(anew=True)
            for outcome in rotated(outcomes, round_number + query_number):
                self._turn(outcome, query, round_number)
            if round_number > 0:
                self._gate.check()
        name = "first round" if round_number == 0 else f"round {round_number}"
        self._report(f"{name}: {time.perf_counter() - started:.1f} s")

    def _turn(self, outcome: EngineOutcome, query: str, round_number: int) -> None:
        """One engine runs one query; everyone else is stopped."""
        first = round_number == 0
        result = outcome.queries.setdefault(query, QueryOutcome())
        slow = (result.first_seconds or 0.0) > self._options.slow_seconds
        if result.error is not None or (slow and round_number > self._options.slow_runs):
            return
        process = self._processes[outcome.name]
        if not process.alive:
            result.error = result.error or outcome.error
            return
        sql = self._queries[outcome.name][query]
        answer_file = self._answers.file(outcome.name, query) if first else None
        warm_ups = 0 if first or slow else self._options.warm_ups
        seconds_max = self._seconds_max(slow or first)
        best: tuple[Message, float] | None = None
        for attempt in range(1 if first else ATTEMPTS_MAX):
            if attempt > 0:
                outcome.repeated += 1
            process.resume()
            try:
                reply = process.run(sql, warm_ups, answer_file, seconds_max)
            except EngineError as error:
                result.error = str(error)
                self._report(f"{outcome.name} {query}: {error}")
                if isinstance(error, EngineLost):
                    self._start_again(outcome)
                return
            finally:
                self._processes[outcome.name].pause()
            if best is None or process.last_turn_disturbance() < best[1]:
                best = reply, process.last_turn_disturbance()
                process.keep_last_turn()
            if process.last_turn_was_calm():
                break
        assert best is not None, "there was an attempt"
        reply, _ = best
        result.rows = reply["rows"]
        if first:
            result.first_seconds = reply["seconds"]
        else:
            process.count_kept_turn()
            result.seconds.append(reply["seconds"])

    def _seconds_max(self, once: bool) -> float:
        executions = 1 if once else 1 + self._options.warm_ups
        return executions * self._options.query_seconds_max + GRACE_SECONDS

    def _start_again(self, outcome: EngineOutcome) -> None:
        """Loads a lost engine anew, unless that has been in vain too often."""
        lost = self._processes[outcome.name]
        if outcome.restarts == RESTARTS_MAX:
            outcome.error = f"gave up after {RESTARTS_MAX} restarts"
            return
        outcome.restarts += 1
        try:
            process, _ = self._started(outcome)
        except EngineError as error:
            outcome.error = f"did not start again: {error}"
            return
        process.turn_seconds = lost.turn_seconds
        process.busy_seconds_of_others = lost.busy_seconds_of_others

    def _measure_queries(self, outcome: EngineOutcome) -> None:
        """Reads off what the rounds have added up to."""
        process = self._processes[outcome.name]
        if process.alive:
            outcome.queries_peak_bytes = process.tree.peak_resident_bytes()
        if process.turn_seconds > 0:
            share = process.busy_seconds_of_others / process.turn_seconds
            outcome.others_busy_seconds = max(0.0, process.busy_seconds_of_others)
            outcome.others_busy_share = max(0.0, share) / (os.cpu_count() or 1)
