"""Tests of the harness with processes: turns, memory, failures and records.

The faults a run must survive and report are planted in toy_engines.py: an
engine that answers wrong, refuses to start, dies, hangs, or burns processor
time out of its turn.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from contextlib import contextmanager
from decimal import Decimal
from pathlib import Path

import pyarrow as pa
import pytest

from compare.engine_process import EngineError, EngineLost, EngineProcess
from compare.process_tree import ProcessTree
from compare.record import append_record
from compare.report import comparison_table, remarks
from compare.runner import INTERLEAVED, SEQUENTIAL, Options, compare_engines
from compare.suites import Suite

TOY = "toy_engines:ToyEngine"


@contextmanager
def engine_process(name: str = TOY, timeout: float = 20.0) -> Iterator[EngineProcess]:
    process = EngineProcess(name, timeout)
    try:
        yield process
    finally:
        process.close()


@pytest.fixture(autouse=True)
def toys_in_reach(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONPATH", str(Path(__file__).parent))


class TestEngineProcess:
    def test_a_session(self, tmp_path: Path) -> None:
        (tmp_path / "t.parquet").touch()
        with engine_process() as process:
            assert process.start(1, 2**20, {})["version"] == "1.0"
            process.load("t", tmp_path / "t.parquet")
            process.run("tables", 0, tmp_path / "a")
            assert process.tree.resident_bytes() > 2**20
            assert process.tree.peak_resident_bytes() >= process.tree.resident_bytes()
        with pa.ipc.open_file(str(tmp_path / "a")) as answer:
            assert answer.read_all().to_pydict() == {"name": ["t"]}
        assert not process.alive

    def test_a_failed_query_leaves_the_process_alive(self) -> None:
        with engine_process() as process:
            process.start(1, 2**20, {})
            with pytest.raises(EngineError, match="no such query"):
                process.run("fail", 0, None)
            assert process.run("1", 0, None)["rows"] == 1

    def test_a_dead_process_is_lost(self) -> None:
        with engine_process() as process:
            process.start(1, 2**20, {})
            with pytest.raises(EngineLost, match="ended unexpectedly"):
                process.run("die", 0, None)
            with pytest.raises(EngineLost):
                process.run("1", 0, None)

    def test_a_hanging_query_is_killed(self) -> None:
        with engine_process(timeout=1.0) as process:
            process.ask(
                {"do": "start", "threads": 1, "memory_bytes": 1, "scratch": "/tmp", "settings": {}},
                20.0,
            )
            with pytest.raises(EngineLost, match="killed after 1 s"):
                process.run("hang", 0, None)

    def test_an_unknown_engine_is_an_error(self) -> None:
        with engine_process("nonesuch") as process:
            with pytest.raises(EngineError, match="known engines: quickstep, duckdb"):
                process.start(1, 2**20, {})

    def test_a_paused_engine_takes_no_processor_time(self) -> None:
        with engine_process("toy_engines:RestlessToyEngine") as process:
            process.start(1, 2**20, {})
            process.tree.refresh()
            assert processor_seconds_over(process.tree, 0.3) > 0.05
            process.pause()
            assert processor_seconds_over(process.tree, 0.3) == 0.0
            process.resume()
            assert process.run("1", 0, None)["rows"] == 1


def processor_seconds_over(tree: ProcessTree, seconds: float) -> float:
    before = tree.processor_seconds()
    time.sleep(seconds)
    return tree.processor_seconds() - before


class TestRuns:
    """Whole comparisons of toy engines."""

    @staticmethod
    def suite(tmp_path: Path, queries: dict[str, str]) -> Suite:
        file = tmp_path / "t.parquet"
        file.touch()
        return Suite("toy", Decimal(1), {"t": file}, queries)

    @staticmethod
    def options(*engines: str, **others: object) -> Options:
        return Options(engines, 1, 2**20, runs=2, schedule=INTERLEAVED, **others)  # type: ignore[arg-type]

    def test_the_slow_engine_is_seen_to_be_slow(self, tmp_path: Path) -> None:
        slow = "toy_engines:SlowToyEngine"
        suite = self.suite(tmp_path, {"q1": "1", "q2": "2"})
        options = self.options(TOY, slow)
        schedule, outcomes = compare_engines(suite, options, print)
        assert all(outcome.correct_count() == 2 for outcome in outcomes.values())
        assert min(outcomes[slow].medians().values()) >= 0.02
        assert all(len(result.seconds) == 2 for result in outcomes[slow].queries.values())
        table = comparison_table(outcomes)
        assert "2/2" in table and "geometric mean" in table
        file = append_record(tmp_path, suite, options, schedule, outcomes)
        append_record(tmp_path, suite, options, schedule, outcomes)
        records = [json.loads(line) for line in file.read_text().splitlines()]
        assert len(records) == 2
        assert records[0]["ratios"][f"{slow}/{TOY}"] > 5
        assert records[0]["machine"]["cpu"] and records[0]["commit"]["id"]
        assert records[0]["engines"][1]["queries"]["q1"]["answer"] == "same"

    def test_every_load_is_in_a_new_process_and_the_median_counts(self, tmp_path: Path) -> None:
        options = self.options(TOY, "toy_engines:SlowToyEngine", loads=3)
        suite = self.suite(tmp_path, {"q1": "tables"})
        schedule, outcomes = compare_engines(suite, options, print)
        toy = outcomes[TOY]
        # Had a process loaded twice, it would know two tables.
        assert [len(outcome.loads) for outcome in outcomes.values()] == [3, 3]
        assert toy.queries["q1"].rows == 1
        toy.loads = [{"t": 5.0}, {"t": 1.0}, {"t": 2.0}]
        assert (toy.load_total_seconds(), toy.load_seconds()) == (2.0, {"t": 2.0})
        file = append_record(tmp_path, suite, options, schedule, outcomes)
        engine = json.loads(file.read_text())["engines"][0]
        assert (engine["load_ms"], engine["load_runs_ms"]) == (2000.0, [5000.0, 1000.0, 2000.0])

    def test_a_planted_wrong_answer_is_found(self, tmp_path: Path) -> None:
        wrong = "toy_engines:WrongToyEngine"
        _, outcomes = compare_engines(
            self.suite(tmp_path, {"q1": "1"}), self.options(TOY, wrong), print
        )
        assert outcomes[TOY].correct_count() == 1
        assert outcomes[wrong].correct_count() == 0
        assert outcomes[wrong].queries["q1"].answer == (
            f"differs from the answer of {TOY}: row 1, column 1: 2, expected 1"
        )
        assert any("expected 1" in remark for remark in remarks(outcomes))

    @pytest.mark.parametrize("fault", ["fail", "die"])
    def test_a_fault_of_one_query_spares_the_others(self, tmp_path: Path, fault: str) -> None:
        suite = self.suite(tmp_path, {"q1": "1", "q2": fault, "q3": "3"})
        _, outcomes = compare_engines(suite, self.options(TOY), print)
        queries = outcomes[TOY].queries
        assert queries["q1"].correct and queries["q3"].correct
        assert queries["q2"].error is not None
        assert outcomes[TOY].restarts == (1 if fault == "die" else 0)
        assert "failed" in comparison_table(outcomes)

    def test_an_engine_that_does_not_start_spares_the_others(self, tmp_path: Path) -> None:
        slow = "toy_engines:SlowToyEngine"
        options = self.options(TOY, slow, settings={slow: {"refuse": "yes"}})
        _, outcomes = compare_engines(self.suite(tmp_path, {"q1": "1"}), options, print)
        assert outcomes[TOY].correct_count() == 1
        assert "told to refuse" in str(outcomes[slow].error)

    def test_one_engine_after_the_other(self, tmp_path: Path) -> None:
        options = Options((TOY, "toy_engines:SlowToyEngine"), 1, 2**20, 1, schedule=SEQUENTIAL)
        schedule, outcomes = compare_engines(self.suite(tmp_path, {"q1": "1"}), options, print)
        assert schedule == SEQUENTIAL
        assert [outcome.correct_count() for outcome in outcomes.values()] == [1, 1]
