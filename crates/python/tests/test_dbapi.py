"""PEP 249: what modules, connections, cursors and types have to be, and transactions without autocommit."""

import datetime
import decimal
import inspect

import pytest
import quickstep


@pytest.fixture
def con():
    return quickstep.connect(workers=2, memory="1GB", autocommit=False)


@pytest.fixture
def other(con):
    """A session that sees what is committed."""
    con.execute("CREATE TABLE t (a INTEGER PRIMARY KEY, b TEXT)")
    con.commit()
    session = con.session()
    session.autocommit = True
    return session


def count(session):
    return session.execute("SELECT count(*) FROM t").fetchone()[0]


def test_the_module_says_what_it_is():
    assert quickstep.apilevel == "2.0"
    assert quickstep.threadsafety == 2
    assert quickstep.paramstyle == "qmark"


def test_errors_form_the_trees_of_the_standard():
    assert issubclass(quickstep.Warning, Exception) and not issubclass(quickstep.Warning, quickstep.Error)
    assert issubclass(quickstep.Error, Exception)
    for direct in (quickstep.InterfaceError, quickstep.DatabaseError):
        assert direct.__bases__ == (quickstep.Error,)
    for name in ("DataError", "OperationalError", "IntegrityError", "InternalError", "ProgrammingError", "NotSupportedError"):
        assert getattr(quickstep, name).__bases__ == (quickstep.DatabaseError,)
        assert getattr(quickstep.Connection, name) is getattr(quickstep, name)


@pytest.mark.parametrize(
    ("statement", "kind"),
    [
        ("SELECT nosuch", "ProgrammingError"),
        ("SELEC 1", "ProgrammingError"),
        ("SELECT 1 / 0", "DataError"),
        ("SELECT 'x'::INTEGER", "DataError"),
        ("INSERT INTO t VALUES (1, 'x'), (1, 'y')", "IntegrityError"),
        ("SELECT * FROM 'gone.csv'", "OperationalError"),
        ("LISTEN news", "NotSupportedError"),
        ("RELEASE SAVEPOINT nosuch", "InternalError"),
    ],
)
def test_statements_fail_with_the_class_that_fits(con, other, statement, kind):
    with pytest.raises(quickstep.DatabaseError) as caught:
        con.execute(statement)
    con.rollback()
    if statement.startswith("RELEASE"):
        assert caught.value.sqlstate.startswith("3B")
    assert type(caught.value) is getattr(quickstep, kind)


def test_two_transactions_that_change_a_row_are_no_fault_of_the_statement(con, other):
    other.execute("INSERT INTO t VALUES (1, 'x')")
    second = con.session()
    con.execute("UPDATE t SET b = 'first'")
    second.execute("SELECT * FROM t").fetchall()
    con.commit()
    with pytest.raises(quickstep.OperationalError) as caught:
        second.execute("UPDATE t SET b = 'second'")
        second.commit()
    assert caught.value.sqlstate == "40001"


def test_a_statement_opens_a_transaction_and_commit_ends_it(con, other):
    assert not con.in_transaction
    con.execute("INSERT INTO t VALUES (1, 'x')")
    assert con.in_transaction and count(other) == 0
    con.commit()
    assert not con.in_transaction and count(other) == 1
    con.cursor().execute("DELETE FROM t")
    con.rollback()
    assert count(con) == 1 and count(other) == 1


def test_queries_see_one_state_until_the_transaction_ends(con, other):
    assert count(con) == 0
    other.execute("INSERT INTO t VALUES (1, 'x')")
    assert count(con) == 0
    assert con.sql("SELECT count(*) FROM t").fetchall() == [(0,)]
    con.commit()
    assert con.sql("SELECT count(*) FROM t").fetchall() == [(1,)]


@pytest.mark.parametrize("how", ["many", "many_updates", "appender", "append", "relation"])
def test_every_way_to_add_rows_is_in_the_transaction(con, other, how):
    if how == "many":
        con.executemany("INSERT INTO t VALUES (?, ?)", [(1, "x"), (2, "y")])
    elif how == "many_updates":
        con.executemany("INSERT INTO t SELECT ?, ?", [(1, "x"), (2, "y")])
    elif how == "appender":
        with con.appender("t") as rows:
            rows.append(1, "x")
            rows.append(2, "y")
    elif how == "append":
        con.append("t", {"a": [1, 2], "b": ["x", "y"]})
    else:
        con.values([1, "x"], [2, "y"]).insert_into("t")
    assert con.in_transaction and count(con) == 2 and count(other) == 0
    con.rollback()
    assert count(con) == 0
    con.rollback()


def test_statements_of_transactions_are_not_wrapped(con, other):
    for statement in ["COMMIT", "-- end\n/* it */ ; rollback", "BEGIN; COMMIT", "START TRANSACTION; ROLLBACK"]:
        con.execute(statement)
        assert not con.in_transaction
    con.begin()
    con.execute("INSERT INTO t VALUES (1, 'x')")
    con.execute("COMMIT")
    assert count(other) == 1


def test_definitions_are_taken_back_too(con, other):
    con.execute("CREATE TABLE u (a INTEGER)")
    con.rollback()
    with pytest.raises(quickstep.ProgrammingError):
        con.execute("SELECT * FROM u")


def test_after_an_error_nothing_is_committed_and_that_is_said(con, other):
    con.execute("INSERT INTO t VALUES (1, 'x')")
    with pytest.raises(quickstep.IntegrityError):
        con.execute("INSERT INTO t VALUES (1, 'y')")
    with pytest.raises(quickstep.InternalError) as caught:
        con.execute("SELECT 1")
    assert caught.value.sqlstate == "25P02"
    with pytest.raises(quickstep.InternalError, match="rolled back instead of committed"):
        con.commit()
    assert count(con) == 0


def test_autocommit_is_switched(con, other):
    con.execute("INSERT INTO t VALUES (1, 'x')")
    con.autocommit = True
    assert count(other) == 1 and not con.in_transaction
    con.execute("INSERT INTO t VALUES (2, 'y')")
    assert count(other) == 2
    con.autocommit = False
    con.execute("INSERT INTO t VALUES (3, 'z')")
    assert count(other) == 2
    with pytest.raises(quickstep.InterfaceError):
        con.autocommit = "yes"
    assert quickstep.connect().autocommit


def test_blocks_of_transactions_nest(con, other):
    with con.transaction():
        con.execute("INSERT INTO t VALUES (1, 'x')")
        with pytest.raises(quickstep.IntegrityError):
            with con.transaction():
                con.execute("INSERT INTO t VALUES (2, 'x')")
                con.execute("INSERT INTO t VALUES (2, 'x')")
        with con.transaction():
            con.execute("INSERT INTO t VALUES (3, 'x')")
    assert other.execute("SELECT a FROM t ORDER BY a").fetchall() == [(1,), (3,)]
    with pytest.raises(ZeroDivisionError):
        with con.transaction():
            con.execute("DELETE FROM t")
            1 / 0
    assert count(other) == 2


def test_a_connection_as_a_block_commits_or_takes_back(tmp_path):
    path = str(tmp_path / "some.db")
    with quickstep.connect(path, autocommit=False) as con:
        con.execute("CREATE TABLE t AS SELECT 1 AS a")
    assert con.closed
    with pytest.raises(ZeroDivisionError):
        with quickstep.connect(path, autocommit=False) as con:
            con.execute("INSERT INTO t VALUES (2)")
            1 / 0
    con = quickstep.connect(path, autocommit=False)
    assert con.execute("SELECT * FROM t").fetchall() == [(1,)]
    con.execute("DELETE FROM t")
    con.close()
    assert quickstep.connect(path).execute("SELECT * FROM t").fetchall() == [(1,)]


def test_functions_that_run_statements_leave_no_transaction_open(con, other):
    @con.function()
    def rows_of(table: str) -> int:
        return con.execute(f"SELECT count(*) FROM {table}").fetchone()[0]

    other.execute("INSERT INTO t VALUES (1, 'x')")
    assert con.execute("SELECT rows_of('t')").fetchone() == (1,)
    con.commit()


def test_closed_connections_are_refused(con):
    cursor = con.execute("SELECT * FROM range(1000)")
    next(cursor)
    con.close()
    for act in [con.commit, con.rollback, con.cursor, cursor.fetchone, cursor.fetchall, lambda: next(cursor)]:
        with pytest.raises(quickstep.InterfaceError):
            act()


def test_cursors_have_what_the_standard_lists(con):
    cursor = con.cursor()
    for name in ("description", "rowcount", "arraysize", "rownumber", "connection", "lastrowid"):
        assert not inspect.ismethod(getattr(cursor, name)), name
    for name in ("close", "execute", "executemany", "fetchone", "fetchmany", "fetchall", "nextset", "setinputsizes", "setoutputsize"):
        assert callable(getattr(cursor, name)), name
    assert cursor.connection is con and cursor.arraysize == 1 and cursor.rowcount == -1
    with pytest.raises(quickstep.InterfaceError):
        cursor.fetchone()
    cursor.setinputsizes([10, None])
    cursor.setoutputsize(1000, 0)
    cursor.execute("SELECT i FROM range(10) r(i)")
    cursor.arraysize = 4
    assert cursor.fetchmany() == [(0,), (1,), (2,), (3,)] and cursor.rownumber == 4
    assert cursor.fetchmany(0) == []
    assert cursor.fetchone() == (4,)
    assert cursor.nextset() is None
    with pytest.raises(quickstep.InterfaceError):
        cursor.fetchmany(-1)
    cursor.close()
    with pytest.raises(quickstep.InterfaceError):
        cursor.execute("SELECT 1")


def test_iteration_and_fetches_take_turns_and_lose_no_row(con):
    cursor = con.execute("SELECT i FROM range(1000) r(i)")
    assert iter(cursor) is cursor
    for row in cursor:
        assert row == (0,)
        break
    assert cursor.fetchone() == (1,)
    assert next(cursor) == (2,)
    assert cursor.rownumber == 3
    with pytest.raises(quickstep.InterfaceError, match="read ahead"):
        cursor.arrow()
    assert [row[0] for row in cursor.fetchmany(500)] == list(range(3, 503))
    assert [row[0] for row in cursor.fetchall()] == list(range(503, 1000))
    assert cursor.fetchone() is None and list(cursor) == []

    relation = con.sql("SELECT i FROM range(1000) r(i)")
    for _ in relation:
        break
    assert relation.fetchone() == (1,)
    assert len(relation.fetchall()) == 998


def test_columns_are_described_by_type_objects(con):
    kinds = {
        "1": quickstep.NUMBER,
        "1.50::DECIMAL(10,2)": quickstep.NUMBER,
        "1::DOUBLE PRECISION": quickstep.NUMBER,
        "'x'": quickstep.STRING,
        "'x'::VARCHAR(3)": quickstep.STRING,
        "'{}'::JSON": quickstep.STRING,
        "DATE '2024-01-01'": quickstep.DATETIME,
        "now()": quickstep.DATETIME,
        "TIMESTAMP '2024-01-01 00:00'": quickstep.DATETIME,
        "INTERVAL '1' DAY": quickstep.DATETIME,
        "'\\x00'::BYTEA": quickstep.BINARY,
    }
    everything = [quickstep.NUMBER, quickstep.STRING, quickstep.DATETIME, quickstep.BINARY, quickstep.ROWID]
    for expression, kind in kinds.items():
        cursor = con.execute(f"SELECT {expression} AS x")
        (column,) = cursor.description
        assert len(column) == 7 and column[0] == "x"
        assert [each is kind for each in everything] == [column[1] == each for each in everything], expression
    (column,) = con.execute("SELECT 1.50::DECIMAL(10,2)").description
    assert column[4:6] == (10, 2)
    assert con.execute("CREATE TABLE nothing (a INTEGER)").description is None


def test_constructors_make_values_that_come_back(con):
    ticks = 1_709_210_096.0
    row = (
        quickstep.Date(2024, 2, 29),
        quickstep.Time(12, 34, 56),
        quickstep.Timestamp(2024, 2, 29, 12, 34, 56),
        quickstep.DateFromTicks(ticks),
        quickstep.TimeFromTicks(ticks),
        quickstep.TimestampFromTicks(ticks),
        quickstep.Binary(b"\x00\xff"),
        decimal.Decimal("1.20"),
        None,
    )
    assert con.execute("SELECT ?, ?, ?, ?, ?, ?, ?, ?, ?", row).fetchone() == row
    assert isinstance(row[5], datetime.datetime)


def test_rows_that_were_changed_are_counted(con, other):
    assert con.execute("INSERT INTO t VALUES (1, 'x'), (2, 'y')").rowcount == 2
    assert con.execute("UPDATE t SET b = 'z' WHERE a = 1").rowcount == 1
    assert con.executemany("DELETE FROM t WHERE a = ?", [(1,), (2,), (3,)]).rowcount == 2
    assert con.execute("CREATE TABLE u (a INTEGER)").rowcount == -1
    with pytest.raises(quickstep.ProgrammingError):
        con.execute("SELECT ?", [1, 2])
