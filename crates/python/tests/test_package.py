"""The package as a user meets it."""

import datetime
import decimal
import threading
import time
import uuid

import pyarrow as pa
import pytest
import quickstep


@pytest.fixture
def con():
    return quickstep.connect(workers=2, memory="2GB")


def test_values_become_python_objects(con):
    row = con.sql(
        "SELECT 1 AS i, 1.50 AS d, 'x' AS t, true AS b, NULL AS n, DATE '2024-02-29' AS day, "
        "TIMESTAMP '2024-02-29 12:34:56.789' AS at, CAST(0.5 AS DOUBLE PRECISION) AS f, INTERVAL '90' MINUTE AS span"
    ).fetchone()
    assert row == (
        1,
        decimal.Decimal("1.50"),
        "x",
        True,
        None,
        datetime.date(2024, 2, 29),
        datetime.datetime(2024, 2, 29, 12, 34, 56, 789000),
        0.5,
        datetime.timedelta(minutes=90),
    )


def test_uuid_and_bytes(con):
    con.execute("CREATE TABLE u (id UUID, data BYTEA)")
    con.execute("INSERT INTO u VALUES ('a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11', '\\xdead')")
    assert con.sql("SELECT * FROM u").fetchall() == [
        (uuid.UUID("a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11"), b"\xde\xad")
    ]


def test_arrow_table(con):
    table = con.sql("SELECT * FROM (VALUES (1, 'a'), (2, NULL)) AS t(k, v) ORDER BY k").arrow()
    assert isinstance(table, pa.Table)
    assert table.column_names == ["k", "v"]
    assert table.column("k").to_pylist() == [1, 2]
    assert table.column("v").to_pylist() == ["a", None]


def test_cursor_follows_db_api(con):
    cursor = con.cursor()
    assert cursor.description is None
    cursor.execute("SELECT x FROM (VALUES (1), (2), (3)) AS t(x) ORDER BY x")
    assert [column[0] for column in cursor.description] == ["x"]
    assert cursor.fetchone() == (1,)
    assert cursor.fetchmany(1) == [(2,)]
    assert list(cursor) == [(3,)]
    assert cursor.fetchone() is None
    assert cursor.rowcount == 3


def test_errors_carry_state_and_place(con):
    with pytest.raises(quickstep.Error) as caught:
        con.sql("SELECT nosuch FROM (VALUES (1)) AS t(x)")
    assert caught.value.sqlstate == "42703"
    assert caught.value.line == 1
    assert "^" in str(caught.value)
    # The connection goes on.
    assert con.sql("SELECT 1").fetchall() == [(1,)]


def test_a_database_on_disk_comes_back(tmp_path):
    path = str(tmp_path / "some.db")
    con = quickstep.connect(path)
    con.execute("CREATE TABLE t AS SELECT i FROM range(1000) r(i)")
    assert quickstep.connect(path).sql("SELECT count(*) FROM t").fetchall() == [(1000,)]
    with pytest.raises(quickstep.Error, match="open in this process for writing"):
        quickstep.connect(path, read_only=True)
    con.close()
    reader = quickstep.connect(path, read_only=True)
    assert reader.sql("SELECT count(*) FROM t").fetchall() == [(1000,)]
    with pytest.raises(quickstep.Error, match="read"):
        reader.execute("DELETE FROM t")


def test_sessions_share_tables(con):
    con.execute("CREATE TABLE shared AS SELECT 7 AS x")
    assert con.session().sql("SELECT x FROM shared").fetchall() == [(7,)]


def test_the_interpreter_runs_while_a_query_does(con):
    con.execute("CALL tpch(scale => 0.01)")
    ticks = 0
    done = threading.Event()

    def count():
        nonlocal ticks
        while not done.is_set():
            ticks += 1
            time.sleep(0.001)

    thread = threading.Thread(target=count)
    thread.start()
    con.sql("SELECT sum(a.l_tax * b.l_tax) FROM lineitem a, lineitem b WHERE a.l_suppkey = b.l_suppkey").fetchall()
    done.set()
    thread.join()
    assert ticks > 0


def test_interrupt_ends_a_query_soon(con):
    con.execute("CALL tpch(scale => 0.01)")
    started = []

    def stop():
        time.sleep(0.2)
        started.append(time.monotonic())
        con.interrupt()

    thread = threading.Thread(target=stop)
    thread.start()
    with pytest.raises(quickstep.Error) as caught:
        con.sql("SELECT sum(a.l_tax * b.l_tax * c.l_tax) FROM lineitem a, lineitem b, lineitem c WHERE a.l_quantity < b.l_quantity + c.l_quantity").fetchall()
    ended = time.monotonic()
    thread.join()
    assert caught.value.sqlstate == "57014"
    # To its end it takes minutes.
    assert ended - started[0] < 10
