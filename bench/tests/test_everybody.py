"""Tests of the report: on records made up here, and on those that are kept."""

from __future__ import annotations

import copy
import json
from pathlib import Path
from typing import Any

import pytest

import everybody


def query(*runs: float, answer: str = "same", error: str | None = None) -> dict[str, Any]:
    middle = sorted(runs)[len(runs) // 2] if runs else None
    return {"median_ms": middle, "runs_ms": list(runs), "answer": answer, "error": error}


def engine(name: str, queries: dict[str, Any], **others: Any) -> dict[str, Any]:
    return {
        "name": name,
        "version": "1",
        "description": "a toy",
        "error": None,
        "load_ms": 1500.0,
        "loaded_bytes": 2**30,
        "queries_peak_bytes": 2**31,
        "others_busy_share": 0.01,
        "correct": sum(q["answer"] == "same" and q["error"] is None for q in queries.values()),
        "rewritten": {},
        "queries": queries,
        **others,
    }


def record(*engines: dict[str, Any], **others: Any) -> dict[str, Any]:
    return {
        "date": "2026-11-22T08:00:00+00:00",
        "commit": {"id": "0123456789abcdef", "modified": False},
        "machine": {"cpu": "a processor", "threads": 2, "memory_gib": 23.0, "kernel": "6"},
        "series": everybody.SERIES,
        "suite": "ssb",
        "scale": 1.0,
        "queries": ["q1", "q2"],
        "calm": True,
        "configuration": {
            "threads": 2,
            "runs": 2,
            "schedule": "interleaved",
            "slow_seconds": float("inf"),
            "slow_runs": 2,
        },
        "engines": list(engines),
        **others,
    }


OURS = engine("quickstep", {"q1": query(1.0, 1.0, 1.0), "q2": query(10.0, 10.0, 10.0)})
DUCKDB = engine("duckdb", {"q1": query(4.0, 2.0, 8.0), "q2": query(40.0, 20.0, 80.0)})
SPARK = engine(
    "spark",
    {
        "q1": query(300.0, 300.0, answer="differs from the answer of duckdb: 1, expected 2"),
        "q2": query(error="killed after 60 s without a reply"),
    },
    rewritten={"q1": ["why"]},
)


def kept(folder: Path, *records: dict[str, Any], suite: str = "ssb") -> Path:
    lines = "".join(json.dumps(one) + "\n" for one in records)
    (folder / f"{suite}-sf1.jsonl").write_text(lines)
    return folder


class TestStandings:
    def test_ratios_and_their_spread(self, tmp_path: Path) -> None:
        ours, duckdb = everybody.read_standings("ssb", kept(tmp_path, record(OURS, DUCKDB)))
        assert (ours.name, ours.mean_ratio()) == ("quickstep", pytest.approx(1.0))
        assert duckdb.mean_ratio() == pytest.approx(4.0)
        assert duckdb.spread() == (pytest.approx(2.0), pytest.approx(8.0))
        assert duckdb.geometric_mean() == pytest.approx((4 * 40) ** 0.5)
        assert duckdb.faster_than_base() == []

    def test_only_queries_of_both_count_and_failures_are_told(self, tmp_path: Path) -> None:
        standings = everybody.read_standings("ssb", kept(tmp_path, record(OURS, SPARK)))
        spark = standings[1]
        # Two rounds beside three: the median stands for the third.
        assert spark.mean_ratio() == pytest.approx(300.0)
        assert spark.spread() == (pytest.approx(300.0), pytest.approx(300.0))
        assert (spark.completed(), spark.shared()) == (1, ["q1"])
        text = everybody.suite_section("ssb", standings)
        assert "Spark 2: killed after 60 s" in text and "300 !" in text and "| failed |" in text
        assert "Rewritten for a dialect: Spark 1." in text

    def test_the_newest_calm_run_of_each_engine_counts(self, tmp_path: Path) -> None:
        old = engine("duckdb", {"q1": query(9.0), "q2": query(90.0)})
        busy = record(OURS, old, calm=False)
        other = record(OURS, old, series="")
        folder = kept(tmp_path, record(OURS, old), record(OURS, DUCKDB), busy, other)
        assert everybody.read_standings("ssb", folder)[1].mean_ratio() == pytest.approx(4.0)

    def test_every_engine_beside_the_base_of_its_own_run(self, tmp_path: Path) -> None:
        slower = engine("quickstep", {"q1": query(2.0), "q2": query(20.0)})
        spark = engine("spark", {"q1": query(20.0), "q2": query(200.0)})
        folder = kept(tmp_path, record(OURS, DUCKDB), record(slower, spark))
        ratios = {s.name: s.mean_ratio() for s in everybody.read_standings("ssb", folder)}
        assert ratios["spark"] == pytest.approx(10.0) and ratios["duckdb"] == pytest.approx(4.0)

    def test_a_record_that_only_claims_to_be_calm_is_refused(self, tmp_path: Path) -> None:
        noisy = copy.deepcopy(DUCKDB) | {"others_busy_share": 0.5}
        with pytest.raises(everybody.NotCalm, match="others had 50% of the machine while duckdb"):
            everybody.read_standings("ssb", kept(tmp_path, record(OURS, noisy)))

    def test_another_question_stands_last(self, tmp_path: Path) -> None:
        floats = engine("polars-float64", {"q1": query(0.5), "q2": query(5.0)})
        for suite in ("tpch", "ssb"):
            kept(tmp_path, record(OURS, floats, DUCKDB), suite=suite)
        found = everybody.read_standings("tpch", tmp_path)
        assert [s.name for s in found] == ["quickstep", "duckdb", "polars-float64"]
        # SSB has no decimals: there it is the same question again.
        found = everybody.read_standings("ssb", tmp_path)
        assert [s.name for s in found] == ["quickstep", "duckdb"]


class TestReport:
    def test_the_readme_changes_between_its_marks_only(self) -> None:
        begin, end = everybody.README_MARKS
        assert everybody.with_part(f"a\n{begin}\nold\n{end}\nb\n", "new\n") == (
            f"a\n{begin}\nnew\n{end}\nb\n"
        )
        assert everybody.with_part("no marks", "new") == "no marks"

    def test_numbers_have_three_digits(self) -> None:
        shown = [everybody.number(value) for value in (0.123, 4.0, 12.34, 1234.5, None)]
        assert shown == ["0.12", "4.00", "12.3", "1,234", "–"]

    def test_plots_are_drawn(self, tmp_path: Path) -> None:
        pytest.importorskip("matplotlib")
        import everybody_plots

        standings = everybody.read_all(kept(tmp_path, record(OURS, DUCKDB, SPARK)))
        for folder in ("one", "two"):
            (tmp_path / folder).mkdir()
            everybody_plots.draw(standings, tmp_path / folder)
        names = sorted(file.name for file in (tmp_path / "one").iterdir())
        stems = ("everybody", "everybody-ssb")
        assert names == sorted(f"{stem}.{form}" for stem in stems for form in ("png", "svg"))
        for name in names:
            assert (tmp_path / "one" / name).read_bytes() == (tmp_path / "two" / name).read_bytes()


def test_what_is_published_is_what_was_recorded() -> None:
    all_standings = everybody.read_all()
    page = everybody.REPORT_FOLDER / "everybody.md"
    if not all_standings:
        assert not page.exists()
        return
    assert page.read_text() == everybody.report(all_standings), "run python everybody.py"
    readme = everybody.README.read_text()
    assert everybody.with_part(readme, everybody.readme_part(all_standings)) == readme
