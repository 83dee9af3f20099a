"""Parameters of every kind, and files by objects and paths."""

import datetime
import decimal
import io
import pathlib
import uuid

import pytest
import quickstep

numpy = pytest.importorskip("numpy")
pandas = pytest.importorskip("pandas")


@pytest.fixture
def con():
    return quickstep.connect(workers=1, memory="1GB")


@pytest.mark.parametrize(
    "listed", [[1, 3], (1, 3), {1, 3}, numpy.array([1, 3]), pandas.Series([1, 3]), [numpy.int64(1), numpy.int32(3)]]
)
def test_lists_behind_in(con, listed):
    rows = "FROM generate_series(1, 4) AS t(i)"
    assert con.execute(f"SELECT i {rows} WHERE i IN ? ORDER BY i", [listed]).fetchall() == [(1,), (3,)]
    assert con.execute(f"SELECT i {rows} WHERE i not in $l ORDER BY i", {"l": listed}).fetchall() == [(2,), (4,)]
    assert con.execute(f"SELECT i {rows} WHERE i IN (?, ?)", [1, 2]).fetchall() == [(1,), (2,)]
    assert con.execute(f"SELECT count(*) {rows} WHERE i IN ?", [[]]).fetchone() == (0,)
    assert con.execute(f"SELECT count(*) {rows} WHERE i NOT IN ?", [[]]).fetchone() == (4,)
    assert con.execute("SELECT 'a' IN ?, 'a' NOT IN ?", [[], []]).fetchone() == (False, True)


@pytest.mark.parametrize("value", [pandas.NA, pandas.NaT, None, numpy.datetime64("NaT")])
def test_what_stands_for_null(con, value):
    assert con.execute("SELECT ? IS NULL", [value]).fetchone() == (True,)


@pytest.mark.parametrize(
    ("value", "wanted"),
    [
        (numpy.int8(-3), -3),
        (numpy.uint64(2**63), 2**63),
        (numpy.float64(0.5), 0.5),
        (numpy.bool_(True), True),
        (numpy.str_("a'b"), "a'b"),
        (numpy.datetime64("2024-02-29T01:02:03.000004"), datetime.datetime(2024, 2, 29, 1, 2, 3, 4)),
        (numpy.timedelta64(90, "s"), datetime.timedelta(seconds=90)),
        (pandas.Timestamp("2024-02-29 01:02:03.5"), datetime.datetime(2024, 2, 29, 1, 2, 3, 500000)),
        (pandas.Timedelta("1 day 1us"), datetime.timedelta(days=1, microseconds=1)),
        (datetime.timedelta(days=-400000, microseconds=1), datetime.timedelta(days=-400000, microseconds=1)),
        (decimal.Decimal("-1.50"), decimal.Decimal("-1.50")),
        (uuid.UUID(int=5), uuid.UUID(int=5)),
        (datetime.date(2024, 2, 29), datetime.date(2024, 2, 29)),
        (datetime.time(1, 2, 3), datetime.time(1, 2, 3)),
        (pathlib.Path("/a/b"), "/a/b"),
    ],
)
def test_values_come_back(con, value, wanted):
    assert con.execute("SELECT ?", [value]).fetchone() == (wanted,)
    assert con.execute("SELECT $value, $value", {"value": value}).fetchone() == (wanted, wanted)


def test_dollar_quotes_are_no_parameters(con):
    assert con.execute("SELECT $a$ :x ? $x $a$, $x", {"x": 1}).fetchone() == (" :x ? $x ", 1)


def test_file_objects_and_paths(con, tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("k,v\n1,x\n2,y\n")
    for file in (open(path), open(path, "rb"), io.StringIO("k,v\n1,x\n2,y\n"), io.BytesIO(b"k,v\n1,x\n2,y\n"), path):
        relation = con.read_csv(file)
        assert relation.filter("k > 1").fetchall() == [(2, "y")]
    con.sql("SELECT 1 AS k").write_parquet(tmp_path / "b.parquet")
    assert con.read_parquet(open(tmp_path / "b.parquet", "rb")).fetchall() == [(1,)]


def test_statements_are_described_before_there_are_values(con):
    con.execute("CREATE TABLE described (k INTEGER, d DATE)")
    parameters, columns = con.describe_statement("SELECT d + 1 AS next FROM described WHERE k = ? AND d < ?")
    assert parameters == ["INTEGER", "DATE"] and columns == [("next", "DATE")]
    assert con.describe_statement("INSERT INTO described VALUES ($2, $1)") == (["DATE", "INTEGER"], None)
    with pytest.raises(quickstep.Error, match="inconsistent types"):
        con.describe_statement("SELECT 1 FROM described WHERE k = $1 AND d = $1")
