"""Transactions as DB-API has them, and statements that change rows."""

import pytest

import quickstep


@pytest.fixture
def con():
    return quickstep.connect(workers=2, memory="1GB")


def test_what_is_rolled_back_is_gone(con):
    con.execute("CREATE TABLE t (a INTEGER PRIMARY KEY, b TEXT)")
    con.begin()
    assert con.execute("INSERT INTO t VALUES (1, 'x'), (2, 'y')").rowcount == 2
    other = con.session()
    assert other.execute("SELECT count(*) FROM t").fetchall() == [(0,)]
    con.rollback()
    assert con.execute("SELECT count(*) FROM t").fetchall() == [(0,)]
    con.begin()
    con.execute("INSERT INTO t VALUES (1, 'x'), (2, 'y')")
    con.commit()
    assert other.execute("SELECT count(*) FROM t").fetchall() == [(2,)]


def test_statements_that_change_rows_count_and_return(con):
    con.execute("CREATE TABLE t (a INTEGER PRIMARY KEY, b TEXT)")
    con.execute("INSERT INTO t VALUES (1, 'x'), (2, 'y'), (3, 'z')")
    assert con.execute("UPDATE t SET b = upper(b) WHERE a > 1").rowcount == 2
    returned = con.execute("DELETE FROM t WHERE a = ? RETURNING a, b", [2]).fetchall()
    assert returned == [(2, "Y")]
    assert con.execute("SELECT * FROM t ORDER BY a").fetchall() == [(1, "x"), (3, "Z")]


def test_after_an_error_a_transaction_can_only_end(con):
    con.execute("CREATE TABLE t (a INTEGER PRIMARY KEY)")
    con.begin()
    con.execute("INSERT INTO t VALUES (1)")
    with pytest.raises(quickstep.IntegrityError):
        con.execute("INSERT INTO t VALUES (1)")
    with pytest.raises(quickstep.Error):
        con.execute("SELECT 1")
    con.rollback()
    assert con.execute("SELECT count(*) FROM t").fetchall() == [(0,)]
