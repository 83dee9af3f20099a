"""Nanoseconds of functions: how examples become questions, and the page that is the record's."""

from __future__ import annotations

import functions


def test_arguments_are_cut_outside_of_brackets_and_quotes() -> None:
    assert functions.arguments("f('a, b', [1, 2], g(3, 4))::TEXT") == ("f", ["'a, b'", "[1, 2]", "g(3, 4)"], "::TEXT")
    assert functions.arguments("current_date") is None
    assert functions.arguments("f('it''s)', 2)") == ("f", ["'it''s)'", "2"], "")


def test_columns_take_the_place_of_arguments_of_their_kind() -> None:
    assert functions.calls("lpad('7', 3, '0')")[0] == ("lpad(t, 3, '0')", "")
    assert ("lpad(own, 3, '0')", "'7'") in functions.calls("lpad('7', 3, '0')")
    assert functions.calls("month(DATE '2024-02-03')") == [("month(dt)", "")]
    assert ("date_trunc('hour', ts)", "") in functions.calls("date_trunc('hour', TIMESTAMP '2024-02-03 04:05:06')")
    assert functions.calls("list_sum([1, 2])") == [("list_sum(l)", "")]
    assert functions.calls("random()") == []


def figures(ours: float, theirs: float | None = None) -> dict[str, float]:
    return {"quickstep": ours} | ({} if theirs is None else {"duckdb": theirs})


def test_slow_functions_stand_at_the_head() -> None:
    series = {"scalar": {"f": figures(30, 10), "g": figures(30, 20), "tiny": figures(2, 0.5), "own": figures(99)}}
    assert functions.slow(series) == [("f", "scalar", 3.0)]
    record = {
        "rows": 10,
        "threads": 2,
        "rounds": 3,
        "engines": {"duckdb": "2"},
        "commit": {"id": "0123456789"},
        "load_average": [0.5],
        "nanoseconds_a_row": series,
        "not_measured": ["random"],
    }
    page = functions.text(record)
    assert f"| `f` | scalar | 3.0 | {functions.NO_REASON} |" in page
    assert "without one: 1." in page
    assert "slower on 3, more than 2 times slower (and over 3 ns) on 1." in page
    assert "| `own` | 99.0 |" in page


def test_a_reason_is_told_once() -> None:
    why = functions.reasons()
    assert all(text and "|" not in text for text in why.values())
    slow = {name.rstrip("*") for name, _, _ in functions.slow(functions.last_record()["nanoseconds_a_row"])}
    assert slow <= why.keys(), f"no reason for {sorted(slow - why.keys())}"


def test_the_page_is_that_of_the_last_record() -> None:
    if functions.RECORDS.exists():
        assert functions.REPORT.read_text() == functions.text(functions.last_record())
