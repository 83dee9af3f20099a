"""Tests of the storage study's page: on figures made up here, and on those that are kept."""

from __future__ import annotations

from typing import Any

import pytest

import storage_study
from storage_study import Figures


def record(part: str, figures: list[dict[str, Any]], **others: Any) -> dict[str, Any]:
    return {
        "part": part,
        "date": "2026-11-22 18:00:00+00",
        "commit": {"id": "0123456789abcdef", "modified": False},
        "machine": {"cpu": "a processor", "simd": "avx2"},
        "rows": 1000,
        "scales": [1.0],
        "runs": 3,
        "workers": 2,
        "figures": figures,
        **others,
    }


def aggregate(column: float, row: float) -> list[dict[str, Any]]:
    designs = {"column": column, "compressed column": 1.0, "row": row}
    return [{"design": design, "median_ms": ms} for design, ms in designs.items()]


def verdict_of(number: str, *records: dict[str, Any]) -> str:
    [observation] = [o for o in storage_study.OBSERVATIONS if o.number == number]
    return observation.judge(Figures(records)).verdict


def test_a_verdict_follows_the_figures() -> None:
    assert verdict_of("E17", record("aggregate", aggregate(1.0, 2.0))) == "held"
    assert verdict_of("E17", record("aggregate", aggregate(2.0, 1.0))) == "not held"


def test_the_newest_record_with_the_most_rows_counts() -> None:
    first, small, last = (
        record("aggregate", aggregate(1.0, ms), rows=rows) for ms, rows in ((2.0, 1000), (3.0, 10), (4.0, 1000))
    )
    figures = Figures([first, last, small])
    assert figures.time("aggregate", design="row") == 4.0


def test_a_figure_that_is_missing_or_ambiguous_is_refused() -> None:
    figures = Figures([record("aggregate", aggregate(1.0, 2.0) * 2)])
    for design in ("row", "nosuch"):
        with pytest.raises(KeyError):
            figures.time("aggregate", design=design)


def test_what_was_not_run_is_said() -> None:
    page = storage_study.text(Figures([record("aggregate", aggregate(1.0, 2.0))]), {})
    assert page.count("| not run |") == len(storage_study.OBSERVATIONS) - 1
    assert "| **held** | row over column 2.00x" in page


def test_sizes_judge_their_best() -> None:
    def curve(best: int) -> list[dict[str, Any]]:
        return [
            {"what": what, "block_kib": kib, "workers": 2, "median_ms": 1.0 if kib == best else 2.0}
            for what in ("column, sort, 0.1 %", "row, csbtree, 10 %")
            for kib in (128, 16_384, 32_768)
        ]

    assert verdict_of("1", record("sizes", curve(16_384))) == "held"
    assert verdict_of("1", record("sizes", curve(128))) == "not held"


def test_the_page_is_drawn_from_the_records() -> None:
    if not storage_study.RECORDS.exists():
        pytest.skip("nothing is recorded")
    monetdb = storage_study.monetdb_times(storage_study.RESULTS_FOLDER)
    assert storage_study.REPORT.read_text() == storage_study.text(storage_study.read(), monetdb)
