"""The map of behaviours: its points, its cliffs, and the page that is the record's."""

import behaviour
from behaviour import Shape


def figures(ours: float, theirs: float) -> dict[str, float]:
    return {"quickstep": ours, "quickstep_cpu": ours, "duckdb": theirs, "duckdb_cpu": theirs}


def series(times: dict[str, float]) -> dict[str, dict[str, dict[str, float]]]:
    return {
        point: {operation: figures(time if operation == "group" else 1, 2) for operation in behaviour.OPERATIONS}
        for point, time in times.items()
    }


def test_a_step_that_more_than_doubles_is_a_cliff():
    found = behaviour.steps({"groups": series({"1": 10, "10": 19, "100": 40})})
    assert found == [("groups", "group", "10", "100", 40 / 19, 1)]


def test_crossed_axes_have_no_neighbours():
    assert behaviour.steps({"order and spread": series({"a": 1, "b": 100})}) == []


def test_each_point_of_an_axis_changes_what_the_axis_says():
    for axis, points in behaviour.axes(4_000_000).items():
        assert len(set(points.values())) == len(points), axis
    assert max(shape.groups for shape in behaviour.axes(5000)["groups"].values()) == 5000


def test_tables_have_the_columns_that_questions_read():
    shape = Shape(width=3)
    assert all(f" AS p{at}" in shape.table(100) for at in range(3))
    assert "sum(p2)" in shape.operations()["scan"]
    assert "f < 250000" in Shape(keeps=0.25).operations()["filter"]


def test_the_page_counts_what_is_slower():
    record = {
        "rows": 100,
        "threads": 2,
        "rounds": 3,
        "engines": {"duckdb": "2"},
        "commit": {"id": "0123456789"},
        "load_average": [0.5],
        "nanoseconds_a_row": {"groups": series({"1": 1, "10": 4})},
    }
    page = behaviour.text(record)
    assert "slower on 1." in page
    assert "| groups | group | 1 | 10 | 4.0x | 1.0x |" in page


def test_the_page_is_that_of_the_last_record():
    if behaviour.RECORDS.exists():
        assert behaviour.REPORT.read_text() == behaviour.text(behaviour.last_record())
