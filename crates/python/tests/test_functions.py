"""Python functions in SQL."""

import datetime
import decimal
import itertools
import threading
import time
import uuid

import pyarrow as pa
import pyarrow.compute as pc
import pytest
import quickstep


@pytest.fixture
def con():
    con = quickstep.connect(workers=2, memory="2GB")
    con.execute("CREATE TABLE n AS SELECT i, CASE WHEN i % 3 = 0 THEN NULL ELSE i END AS x FROM generate_series(1, 10000) AS t(i)")
    return con


def test_scalar_functions_of_rows(con):
    con.create_function("plus", lambda a, b: a + b, ["BIGINT", "BIGINT"], "BIGINT")
    assert con.sql("SELECT plus(1, 2)").fetchone() == (3,)
    assert con.sql("SELECT sum(plus(i, 1)) FROM n").fetchone() == (50015000,)
    # A NULL gives NULL, without a call.
    assert con.sql("SELECT count(plus(x, i)), count(*) FROM n").fetchone() == (6667, 10000)
    assert con.sql("SELECT i FROM n WHERE plus(i, i) = 14 ORDER BY plus(i, 0)").fetchall() == [(7,)]
    assert con.sql("SELECT plus(i % 2, 0) AS k, count(*) FROM n GROUP BY plus(i % 2, 0) ORDER BY k").fetchall() == [
        (0, 5000),
        (1, 5000),
    ]


def test_arrow_functions_of_batches(con):
    seen = []

    def shout(texts: pa.StringArray) -> pa.StringArray:
        seen.append(len(texts))
        return pc.utf8_upper(texts)

    con.create_function("shout", shout, ["TEXT"], "TEXT", kind="arrow")
    assert con.sql("SELECT shout('a' || i) FROM n WHERE i <= 2 ORDER BY i").fetchall() == [("A1",), ("A2",)]
    assert con.sql("SELECT count(*) FROM n WHERE shout(CAST(i AS TEXT)) LIKE '%9'").fetchone() == (1000,)
    assert max(seen) > 100
    con.create_function("halves", lambda x: pc.divide(pc.cast(x, pa.float64()), 2), ["BIGINT"], float, kind="arrow")
    assert con.sql("SELECT sum(halves(x)) FROM n").fetchone()[0] == sum(i / 2 for i in range(1, 10001) if i % 3)
    # Lists, NumPy arrays, chunked arrays and scalars will do.
    for number, give in enumerate(
        [
            lambda x: x.to_pylist(),
            lambda x: x.to_numpy(zero_copy_only=False),
            lambda x: pa.chunked_array([x]),
            lambda x: pa.scalar(5),
        ]
    ):
        con.create_function(f"give{number}", give, [int], int, kind="arrow")
        assert con.sql(f"SELECT give{number}(i) FROM n WHERE i = 5").fetchone() == (5,)
    con.create_function("ones", lambda rows: [1] * rows, [], int, kind="arrow", volatile=True)
    assert con.sql("SELECT sum(ones()) FROM n").fetchone() == (10000,)


def test_values_of_every_type_go_both_ways(con):
    values = {
        "BOOLEAN": True,
        "SMALLINT": -7,
        "INTEGER": 70000,
        "BIGINT": 2**40,
        "DOUBLE PRECISION": 0.5,
        "DECIMAL(10, 2)": decimal.Decimal("12.50"),
        "TEXT": "Grüße",
        "BYTEA": b"\x00\xff",
        "DATE": datetime.date(2024, 2, 29),
        "TIME": datetime.time(1, 2, 3, 4),
        "TIMESTAMP": datetime.datetime(2024, 2, 29, 1, 2, 3, 500000),
        "TIMESTAMP WITH TIME ZONE": datetime.datetime(2024, 2, 29, 1, 2, 3, tzinfo=datetime.timezone.utc),
        "INTERVAL DAY TO SECOND": datetime.timedelta(days=1, microseconds=5),
        "UUID": uuid.UUID("a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11"),
    }
    for number, (ty, value) in enumerate(values.items()):
        con.create_function(f"same{number}", lambda x: x, [ty], ty)
        con.create_function(f"same_arrow{number}", lambda x: x, [ty], ty, kind="arrow")
        con.create_aggregate(f"first{number}", lambda x: x[0], [ty], ty)
        for name in (f"same{number}", f"same_arrow{number}", f"first{number}"):
            if name.startswith("first") and ty.startswith("INTERVAL"):
                continue
            got = con.sql(f"SELECT {name}(CAST(? AS {ty})), {name}(CAST(NULL AS {ty}))", [value]).fetchone()
            assert got == (value, None), (name, ty)


def test_nested_values_come_from_python(con):
    values = {
        "INTEGER[]": [1, None, 3],
        "TEXT[]": ["a\n'b'", None, "None"],
        "STRUCT(a INTEGER, b TEXT)": {"a": None, "b": "x, y"},
        "MAP(TEXT, INTEGER[])": {"k": [1], "null": None},
    }
    for number, (ty, value) in enumerate(values.items()):
        con.create_function(f"made{number}", lambda value=value: value, [], ty)
        assert con.sql(f"SELECT made{number}()").fetchone() == (value,), ty

    def counted(words: list[str]) -> dict[str, int]:
        return {word: words.count(word) for word in words}

    con.create_function("counted", counted)
    assert con.sql("SELECT counted(['a', 'b', 'a'])").fetchone() == ({"a": 2, "b": 1},)
    con.create_function("as_json", lambda: {"a": [1, None]}, [], "JSON")
    assert con.sql("SELECT as_json()").fetchone() == ('{"a": [1, null]}',)
    con.create_function("no_list", lambda: 7, [], "INTEGER[]")
    with pytest.raises(quickstep.Error):
        con.sql("SELECT no_list()").fetchall()


def test_aggregates_over_groups(con):
    con.create_function("middle", lambda x: sorted(x.to_pylist())[len(x) // 2], [int], int, kind="aggregate")
    assert con.sql("SELECT middle(i) FROM n").fetchone() == (5001,)
    rows = con.sql("SELECT i % 10 AS k, middle(i), count(*) FROM n GROUP BY 1 ORDER BY 1").fetchall()
    assert rows[1] == (1, 5001, 1000)
    con.create_aggregate("dot", lambda a, b: pc.sum(pc.multiply(a, b)), [int, int], int)
    assert con.sql("SELECT dot(i, 2), dot(x, i) FROM n").fetchone() == (
        100010000,
        sum(i * i for i in range(1, 10001) if i % 3),
    )
    assert con.sql("SELECT dot(i, i) FILTER (WHERE i <= 3), dot(DISTINCT i % 2, 1) FROM n").fetchone() == (14, 1)
    # A group without rows gives NULL, unless the function wants to say what.
    assert con.sql("SELECT dot(i, i) FROM n WHERE i < 0").fetchone() == (None,)
    con.create_aggregate("rows_of", len, [int], int, null_handling="special")
    assert con.sql("SELECT rows_of(x), count(x) FROM n").fetchone() == (10000, 6667)
    assert con.sql("SELECT rows_of(x) FROM n WHERE i < 0").fetchone() == (0,)
    assert con.sql(
        "SELECT i, middle(i) OVER (ORDER BY i ROWS BETWEEN 1 PRECEDING AND 1 FOLLOWING) FROM n ORDER BY i LIMIT 3"
    ).fetchall() == [(1, 2), (2, 2), (3, 3)]
    assert con.sql("SELECT k, middle(i) FROM (SELECT i, i % 2 AS k FROM n) GROUP BY ROLLUP (k) ORDER BY k").fetchall() == [
        (0, 5002),
        (1, 5001),
        (None, 5001),
    ]
    assert con.sql("SELECT i % 10 AS k FROM n GROUP BY 1 HAVING middle(i) > 5005 ORDER BY 1").fetchall()


def test_classes_as_aggregates(con):
    class Spread:
        def step(self, values: int) -> None:
            self.values = values

        def finish(self):
            return pc.max(self.values).as_py() - pc.min(self.values).as_py()

    con.create_aggregate("spread", Spread, return_type=int)
    assert con.sql("SELECT spread(i) FROM n").fetchone() == (9999,)


def test_decorators_and_annotations(con):
    @con.function()
    def double_it(x: int) -> int:
        return 2 * x

    @con.function("named", ["TEXT"], "INTEGER", kind="arrow")
    def lengths(texts):
        return pc.utf8_length(texts)

    assert double_it(4) == 8 and lengths is not None
    assert con.sql("SELECT double_it(4), named('abcd')").fetchone() == (8, 4)
    with pytest.raises(quickstep.InterfaceError, match="types of x"):
        con.create_function("unknown", lambda x: x)
    with pytest.raises(quickstep.InterfaceError, match="result"):
        con.create_function("unknown", lambda x: x, [int])
    for wrong in ({"kind": "odd"}, {"null_handling": "odd"}, {"parameters": [object]}):
        with pytest.raises(quickstep.InterfaceError):
            con.create_function("unknown", lambda x: x, **{"parameters": [int], "return_type": int, **wrong})
    with pytest.raises(quickstep.Error):
        con.create_function("unknown", lambda x: x, ["NOSUCHTYPE"], int)


def test_errors_show_traceback_and_place(con):
    def fails(x):
        return {}[x]

    con.create_function("fails", fails, [int], int)
    with pytest.raises(quickstep.Error) as caught:
        con.sql("SELECT 1 AS a,\n  fails(i) FROM n").fetchall()
    error = caught.value
    assert error.sqlstate == "38000" and (error.line, error.column) == (2, 3)
    text = str(error)
    assert "KeyError" in text and "return {}[x]" in text and "test_functions.py" in text and "^" in text
    assert isinstance(error.__cause__, KeyError)
    con.create_function("short", lambda x: x[:1], [int], int, kind="arrow")
    with pytest.raises(quickstep.Error, match="values for"):
        con.sql("SELECT short(i) FROM n").fetchall()
    con.create_function("wrong", lambda x: "a", [int], int)
    with pytest.raises(quickstep.Error, match="is no BIGINT"):
        con.sql("SELECT wrong(i) FROM n").fetchall()
    con.create_function("odd", lambda x: pa.array(["a"] * len(x)), [int], int, kind="arrow")
    with pytest.raises(quickstep.Error, match="38000|22P02"):
        con.sql("SELECT odd(i) FROM n").fetchall()
    con.create_aggregate("bad", lambda x: 1 / 0, [int], int)
    with pytest.raises(quickstep.Error, match="ZeroDivisionError"):
        con.sql("SELECT bad(i) FROM n").fetchall()
    for text in ("SELECT fails()", "SELECT fails(DATE '2024-01-01')", "SELECT fails(i, i) FROM n"):
        with pytest.raises(quickstep.ProgrammingError, match=r"fails\(bigint\)"):
            con.sql(text)
    with pytest.raises(quickstep.ProgrammingError, match="aggregate"):
        con.sql("SELECT i FROM n WHERE bad(i) > 1")
    with pytest.raises(quickstep.ProgrammingError):
        con.sql("SELECT fails(DISTINCT i) FROM n")


def test_functions_are_listed_replaced_and_dropped(con):
    con.create_function("f", lambda x: x + 1, [int], int)
    listed = con.sql("SELECT function_type FROM quickstep_functions() WHERE function_name = 'f'").fetchall()
    assert listed == [("scalar",)]
    with pytest.raises(quickstep.Error, match="already exists"):
        con.create_function("f", lambda x: x, [int], int)
    con.create_function("f", lambda x: x + 2, [int], int, replace=True)
    assert con.session().sql("SELECT f(1)").fetchone() == (3,)
    with pytest.raises(quickstep.Error, match="already exists"):
        con.create_function("lower", lambda x: x, [str], str)
    con.execute("DROP FUNCTION f")
    with pytest.raises(quickstep.ProgrammingError, match="does not exist"):
        con.sql("SELECT f(1)")
    with pytest.raises(quickstep.ProgrammingError):
        con.execute("DROP FUNCTION f")
    con.execute("DROP FUNCTION IF EXISTS f(BIGINT)")
    con.create_function("g", lambda x: x, [int], int)
    assert con.remove_function("g") and not con.remove_function("g")


def test_volatile_functions_are_called_each_time(con):
    calls = []
    con.create_function("once", lambda: calls.append(1) or len(calls), [], int)
    con.sql("SELECT once() FROM n").arrow()
    assert 1 <= len(calls) < 100
    counter = itertools.count(1)
    con.create_function("each", lambda: next(counter), [], int, volatile=True)
    numbers = con.sql("SELECT each() AS a FROM n").arrow()["a"].to_pylist()
    assert sorted(numbers) == list(range(1, 10001))


def test_functions_may_query_and_threads_may_call(con):
    other = con.session()
    con.create_function("lookup", lambda x: other.execute("SELECT max(i) FROM n WHERE i <= ?", [x]).fetchone()[0], [int], int)
    assert con.sql("SELECT lookup(i) FROM n WHERE i <= 20 ORDER BY i").fetchall() == [(i,) for i in range(1, 21)]
    con.create_function("slow", lambda x: time.sleep(0.001) or x, [int], int)
    failures = []

    def work():
        try:
            mine = con.session()
            assert mine.sql("SELECT sum(slow(i)) FROM n WHERE i <= 50").fetchone() == (1275,)
        except Exception as error:  # noqa: BLE001 - reported by the main thread
            failures.append(error)

    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []
