"""Tests of the page on the unit of transfer: on figures made up here, and on those that are kept."""

from __future__ import annotations

from typing import Any

import pytest

import unit_of_transfer
from study import Figures
from test_storage_study import record


def chains(**over: Any) -> list[dict[str, Any]]:
    """All cells alike, but for what `over` says of a unit: a factor of its times."""
    found = []
    for layout, slower in (("compressed_column", 1.0), ("row", 3.0)):
        for kib in unit_of_transfer.BLOCKS:
            for workers in (1, 2):
                for unit in unit_of_transfer.UNITS:
                    factor = over.get(unit, 1.0) * slower
                    units = 0 if unit == "vector" else 10
                    found.append(
                        {
                            "layout": layout, "block_kib": kib, "workers": workers, "query": "q07", "unit": unit,
                            "query_ms": 20 * factor, "select_ms": 5.0, "consumer_ms": 3 * factor, "chain_ms": 8 * factor,
                            "units": units, "bytes": 1e6, "rows": 1000, "consumer_orders": 10,
                        }
                    )
    return found


def verdicts(*records: dict[str, Any]) -> dict[str, str]:
    figures = Figures(records)
    return {o.claim: o.judge(figures).verdict for o in unit_of_transfer.OBSERVATIONS if figures.has(*o.parts)}


def test_verdicts_follow_the_figures() -> None:
    equal = verdicts(record("chains", chains(table=1.1)))
    assert equal["consumer work orders are faster at a low unit"] == "held"
    assert equal["whole queries differ little, and not at all at 2 MB"] == "held"
    assert equal["the same holds for a row store, which is slower overall"] == "held"
    assert equal["`vector` is the fastest unit in memory"] == "held"
    slow = verdicts(record("chains", chains(table=2.0, vector=3.0)))
    assert slow["whole queries differ little, and not at all at 2 MB"] == "not held"
    assert slow["`vector` is the fastest unit in memory"] == "not held"
    fast = verdicts(record("chains", chains(table=0.5)))
    assert fast["consumer work orders are faster at a low unit"] == "not held"


def test_memory_and_files_are_judged() -> None:
    def memory(auto: float) -> list[dict[str, Any]]:
        return [
            {
                "memory": memory, "unit": unit, "query_ms": ms, "peak_bytes": 5e7 if unit == "table" else 1e8,
                "transferred_bytes": 0, "spilled_bytes": 0, "edges": [],
            }
            for memory in ("ample", "short")
            for unit, ms in (("vector", 10.0), ("block", 11.0), ("table", 12.0), ("auto", auto))
        ]

    claim = "`auto` is `vector` with memory enough, and the best unit without"
    assert verdicts(record("memory", memory(10.5)))[claim] == "held"
    assert verdicts(record("memory", memory(30.0)))[claim] == "not held"
    assert verdicts(record("memory", memory(10.5)))["a high unit needs one hash table at a time"] == "held"


def test_the_model_is_judged_by_its_distance() -> None:
    cells = [
        {"workers": 1, "block_kib": 128, "unit": "block", "measured_ns": m, "predicted_ns": p, "query_ms": 1, "vector_ms": 1, "bytes": 1}
        for m, p in ((0.1, 0.15), (0.3, 2.0))
    ]
    assert verdicts(record("model", cells))["the model tells what a unit costs"] == "in part (1 of 2)"
    page = unit_of_transfer.text(Figures([record("model", cells)]))
    assert "| 1 | 128 KB | block | 0.300 | 2.000 |" in page
    assert page.count("| not run |") == len(unit_of_transfer.OBSERVATIONS) - 2


def test_the_prefetcher_is_named() -> None:
    assert "not possible here" in unit_of_transfer.text(Figures([]))


def test_the_page_is_drawn_from_the_records() -> None:
    if not unit_of_transfer.RECORDS.exists():
        pytest.skip("nothing is recorded")
    assert unit_of_transfer.REPORT.read_text() == unit_of_transfer.text(unit_of_transfer.read())
