"""Many rows at a time: executemany, appenders, frames; all or none, and errors that name the row."""

import datetime
import decimal
import time
import uuid

import pytest
import quickstep


@pytest.fixture(params=["memory", "disk"])
def con(request, tmp_path):
    path = None if request.param == "memory" else str(tmp_path / "db")
    with quickstep.connect(path, workers=2, memory="1GB") as con:
        yield con


def count(con):
    return con.execute("SELECT count(*) FROM t").fetchone()[0]


def test_executemany_is_one_insert(con):
    con.execute("CREATE TABLE t (k INTEGER PRIMARY KEY, v TEXT, d DATE, n DECIMAL(10,2), u UUID, at TIMESTAMPTZ, f REAL, b BYTEA)")
    day, instant = datetime.date(2024, 2, 29), datetime.datetime(2024, 2, 29, 12, tzinfo=datetime.timezone.utc)
    rows = [(i, f"v{i}", day, decimal.Decimal("1.25"), uuid.UUID(int=i), instant, 0.5, b"\0x") for i in range(5000)]
    cursor = con.executemany("INSERT INTO t VALUES (?, ?, ?, ?, ?, ?, ?, ?)", rows)
    assert cursor.rowcount == 5000 and count(con) == 5000
    assert con.execute("SELECT * FROM t WHERE k = 77").fetchone() == rows[77]
    more = ({"k": k, "v": None} for k in range(5000, 5100))
    assert con.executemany("INSERT INTO t (k, v) VALUES ($k, $v)", more).rowcount == 100
    upsert = "INSERT INTO t (k, v) VALUES (?, ?) ON CONFLICT (k) DO UPDATE SET v = excluded.v"
    assert con.executemany(upsert, [(1, "x"), (9000, "y")]).rowcount == 2
    assert con.execute("SELECT v FROM t WHERE k IN (1, 9000) ORDER BY k").fetchall() == [("x",), ("y",)]


@pytest.mark.parametrize(
    ("rows", "wrong"),
    [
        ([(1, "2024-01-01"), (2, "soon")], 'row 2, column "d": invalid input syntax for type date'),
        ([(1, None), (2, None), (1, None)], "row 3: duplicate key"),
        ([(1, None), (0, None)], "row 2: duplicate key"),
        ([(1, None), (None, None)], "row 2: null value"),
        ([(1, None), (1 << 40, None)], 'row 2, column "k": integer out of range'),
        ([(1, None), (True, None)], "row 2: "),
        ([(1, None), (object(), None)], "object is not supported"),
        ([(1, None), (2,)], "parameter 2 is used, but 1 are given"),
    ],
)
def test_after_an_error_nothing_is_inserted(con, rows, wrong):
    con.execute("CREATE TABLE t (k INTEGER PRIMARY KEY, d DATE); INSERT INTO t VALUES (0, NULL)")
    with pytest.raises(quickstep.Error, match=wrong):
        con.executemany("INSERT INTO t VALUES (?, ?)", rows)
    assert count(con) == 1
    con.begin()
    with pytest.raises(quickstep.Error):
        con.executemany("INSERT INTO t VALUES (?, ?)", rows)
    con.rollback()
    assert count(con) == 1


def test_other_statements_run_for_each_row(con):
    con.execute("CREATE TABLE t (k INTEGER, v TEXT)")
    con.executemany("INSERT INTO t VALUES (? + 1, upper(?))", [(1, "a"), (2, "b")])
    assert con.execute("SELECT * FROM t ORDER BY k").fetchall() == [(2, "A"), (3, "B")]
    assert con.executemany("UPDATE t SET v = ? WHERE k = ?", [("x", 2), ("y", 3), ("z", 4)]).rowcount == 2
    with pytest.raises(quickstep.Error, match="row 2: "):
        con.executemany("UPDATE t SET k = 1 / ? ", [(1,), (0,)])
    assert con.execute("SELECT k FROM t ORDER BY k").fetchall() == [(2,), (3,)]
    con.executemany("INSERT INTO t VALUES (?, ?)", [])
    con.executemany("INSERT INTO t VALUES (?, ?)", [(7, "seven")])
    assert count(con) == 3


def test_appender(con):
    con.execute("CREATE TABLE t (k INTEGER PRIMARY KEY, v TEXT DEFAULT 'none')")
    with con.appender("t") as rows:
        for k in range(1000):
            rows.append_row((k, str(k)))
        rows.append(1000, None)
    with con.appender("t", ["k"]) as rows:
        rows.append_rows([[k] for k in range(1001, 1011)])
    assert count(con) == 1011 and con.execute("SELECT v FROM t WHERE k = 1005").fetchone() == ("none",)
    with pytest.raises(quickstep.IntegrityError, match="row 2: duplicate key"), con.appender("t") as rows:
        rows.append(5000, "a")
        rows.append(1, "b")
    with pytest.raises(ZeroDivisionError), con.appender("t") as rows:
        rows.append(5000, "a")
        1 / 0
    with pytest.raises(quickstep.InterfaceError, match="3 values for 2 columns"):
        con.appender("t").append(1, 2, 3)
    with pytest.raises(quickstep.ProgrammingError):
        con.appender("gone")
    assert count(con) == 1011


def test_frames_are_appended(con):
    pandas = pytest.importorskip("pandas")
    con.execute("CREATE TABLE t (k INTEGER, v TEXT)")
    con.append("t", pandas.DataFrame({"a": [1], "b": ["x"]}))
    con.append("t", pandas.DataFrame({"v": ["y"], "k": [2]}), by_name=True)
    assert con.execute("SELECT * FROM t ORDER BY k").fetchall() == [(1, "x"), (2, "y")]


def test_a_hundred_thousand_rows_take_no_minute(con):
    con.execute("CREATE TABLE t (k INTEGER, v TEXT)")
    started = time.monotonic()
    con.executemany("INSERT INTO t VALUES (?, ?)", [(i, "text") for i in range(100_000)])
    assert count(con) == 100_000
    assert time.monotonic() - started < 20, "129 s when each row was a statement"
