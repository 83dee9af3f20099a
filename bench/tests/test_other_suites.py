"""The made-up suites: the same rows every time, the tables and columns that questions name, and the user's own questions."""

from __future__ import annotations

from decimal import Decimal
from pathlib import Path

import pyarrow.parquet
import pytest

import movies
import other_suites
from compare.suites import TABLES_OF_SUITE, read_queries, read_questions

GENERATORS = {"clickbench": other_suites.clickbench, "dbbench": other_suites.dbbench, "movies": movies.movies}


@pytest.mark.parametrize("suite", GENERATORS)
def test_rows_are_the_same_every_time(suite: str, tmp_path: Path) -> None:
    folders = [tmp_path / "first", tmp_path / "second"]
    for folder in folders:
        folder.mkdir()
        GENERATORS[suite](Decimal("0.002"), folder)
    for table in TABLES_OF_SUITE[suite]:
        first, second = (pyarrow.parquet.read_table(folder / f"{table}.parquet") for folder in folders)
        assert first.num_rows > 0 and first.equals(second), table


def test_page_views_have_the_columns_of_the_original(tmp_path: Path) -> None:
    other_suites.clickbench(Decimal("0.001"), tmp_path)
    names = pyarrow.parquet.read_schema(tmp_path / "hits.parquet").names
    assert len(names) == len(set(names)) == 105
    assert {"WatchID", "EventDate", "URL", "SearchPhrase", "CLID"} <= set(names)


def test_a_file_of_the_users_gets_texts_and_moments(tmp_path: Path) -> None:
    raw = tmp_path / "raw.parquet"
    columns = {"URL": pyarrow.array([b"http://a"]), "EventDate": pyarrow.array([15887], "uint16"), "EventTime": pyarrow.array([1372636800])}
    pyarrow.parquet.write_table(pyarrow.table(columns), raw)
    other_suites.clickbench_of(raw, tmp_path)
    [row] = pyarrow.parquet.read_table(tmp_path / "hits.parquet").to_pylist()
    assert row["URL"] == "http://a"
    assert str(row["EventDate"]) == "2013-07-01" and str(row["EventTime"]) == "2013-07-01 00:00:00"


def test_keys_are_spread_without_meeting() -> None:
    import numpy

    spread = other_suites.spread(numpy.arange(100_000))
    assert len(set(spread.tolist())) == 100_000 and spread.max() > 2**43


def test_every_suite_has_its_questions() -> None:
    counts = {suite: len(read_queries(suite, Decimal(1))) for suite in TABLES_OF_SUITE}
    assert counts["clickbench"] == 43 and counts["dbbench"] == 15 and counts["movies"] == 60
    assert counts["tpchshuffled"] == counts["tpch"] == 22


def test_own_questions_come_from_lines_or_a_folder(tmp_path: Path) -> None:
    file = tmp_path / "queries.sql"
    file.write_text("SELECT 1;\n\n-- not this\nSELECT 2\n")
    assert read_questions(file) == {"q01": "SELECT 1", "q02": "SELECT 2"}
    assert list(read_questions(tmp_path)) == ["queries"]
