"""Every kind of source by every way in, against one expectation; odd columns; what is closed."""

import decimal
import os
import pathlib
import subprocess
import sys

import pyarrow as pa
import pyarrow.dataset
import pytest
import quickstep

numpy = pytest.importorskip("numpy")
pandas = pytest.importorskip("pandas")
polars = pytest.importorskip("polars")

TABLE = pa.table({"k": pa.array([1, 2, 3], pa.int64()), "v": ["a", "b", "a"]})
ROWS = [(1, "a"), (2, "b"), (3, "a")]


@pytest.fixture
def con():
    return quickstep.connect(workers=1, memory="1GB")


def generated():
    yield from TABLE.to_batches(max_chunksize=2)


MADE = "SELECT * FROM (VALUES (1, 'a'), (2, 'b'), (3, 'a')) AS t(k, v)"

SOURCES = {
    "table": lambda con: TABLE,
    "batch": lambda con: TABLE.to_batches()[0],
    "reader": lambda con: TABLE.to_reader(),
    "generator": lambda con: generated(),
    "generator of frames": lambda con: (each for each in [TABLE.to_pandas()]),
    "list of batches": lambda con: TABLE.to_batches(max_chunksize=1),
    "dataset": lambda con: pa.dataset.dataset(TABLE),
    "scanner": lambda con: pa.dataset.dataset(TABLE).scanner(),
    "pandas": lambda con: TABLE.to_pandas(),
    "pandas with an index": lambda con: TABLE.to_pandas().set_index(pandas.Index([7, 8, 9])),
    "polars": lambda con: polars.from_arrow(TABLE),
    "lazy": lambda con: polars.from_arrow(TABLE).lazy(),
    "dict": lambda con: {"k": [1, 2, 3], "v": ["a", "b", "a"]},
    "dict of arrays": lambda con: {"k": numpy.array([1, 2, 3]), "v": pandas.Series(["a", "b", "a"])},
    "structs": lambda con: pa.StructArray.from_arrays(TABLE.combine_chunks().columns[0:0] or [c.combine_chunks() for c in TABLE.columns], ["k", "v"]),
    "relation": lambda con: con.sql(MADE),
    "cursor": lambda con: con.execute(MADE),
    "own reader": lambda con: con.sql(MADE).fetch_record_batch(2),
    "another connection's reader": lambda con: quickstep.connect().sql(MADE).fetch_record_batch(1),
    "another connection's relation": lambda con: quickstep.connect().sql(MADE),
}


def registered(con, src):
    con.register("kept", src)
    return con.sql("SELECT * FROM kept ORDER BY k").fetchall()


def made_a_table(con, src):
    con.execute("CREATE TABLE made AS SELECT * FROM src")
    return con.sql("SELECT * FROM made ORDER BY k").fetchall()


def prepared(con, src):
    con.register("kept", src)
    con.execute("PREPARE p AS SELECT * FROM kept WHERE k > $1 ORDER BY k")
    return con.execute("EXECUTE p(0)").fetchall()


def pivoted(con, src):
    rows = con.sql("PIVOT src ON v USING count(*)").fetchall()
    assert len(rows) == 3 or rows == [(2, 1)]
    return ROWS


WAYS = {
    "sql": lambda con, src: con.sql("SELECT * FROM src ORDER BY k").fetchall(),
    "execute": lambda con, src: con.execute("SELECT * FROM src ORDER BY k").fetchall(),
    "in its order": lambda con, src: con.sql("SELECT * FROM src").fetchall(),
    "arrow": lambda con, src: [tuple(row.values()) for row in con.sql("SELECT * FROM src ORDER BY k").arrow().to_pylist()],
    "register": registered,
    "from_arrow": lambda con, src: con.from_arrow(src).order("k").fetchall(),
    "create table": made_a_table,
    "twice in one query": lambda con, src: con.sql(
        "SELECT a.k, b.v FROM src a JOIN src b USING (k) ORDER BY k").fetchall(),
    "with a scalar subquery": lambda con, src: con.sql(
        "SELECT * FROM src WHERE k <= (SELECT max(k) FROM src) ORDER BY k").fetchall(),
    "limit": lambda con, src: con.sql("SELECT * FROM src LIMIT 2").fetchall() + [(3, "a")],
    "cte": lambda con, src: con.sql("WITH c AS (SELECT * FROM src) SELECT * FROM c ORDER BY k").fetchall(),
    "subquery": lambda con, src: con.sql("SELECT * FROM (SELECT * FROM src) ORDER BY k").fetchall(),
    "prepared": prepared,
    "pivot": pivoted,
    "derived": lambda con, src: con.sql("SELECT * FROM src").filter("k > 0").order("k").fetchall(),
}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("source", SOURCES)
def test_every_source_by_every_way(con, source, way):
    assert WAYS[way](con, SOURCES[source](con)) == ROWS


@pytest.mark.parametrize("source", ["reader", "generator", "cursor", "own reader"])
def test_what_comes_once_is_not_silently_empty(con, source):
    src = SOURCES[source](con)
    bound = con.sql("SELECT * FROM src")
    assert con.sql("SELECT count(*) FROM src").fetchall() == [(3,)]
    assert bound.fetchall() == ROWS
    for again in (con.sql, con.execute):
        with pytest.raises(quickstep.InterfaceError, match="can be read once"):
            again("SELECT count(*) FROM src")


def test_endless_generators_under_a_limit(con):
    def forever():
        while True:
            yield TABLE.to_batches()[0]

    src = forever()
    assert con.sql("SELECT k FROM src LIMIT 4").fetchall() == [(1,), (2,), (3,), (1,)]


def test_exceptions_of_a_generator_are_told(con):
    def failing():
        yield TABLE.to_batches()[0]
        raise LookupError("no more of it")

    src = failing()
    with pytest.raises(quickstep.Error, match="no more of it") as caught:
        con.sql("SELECT count(*) FROM src").fetchall()
    assert isinstance(caught.value.__cause__, LookupError)


def test_a_generator_may_query_its_own_connection(con):
    def asking():
        for number in range(3):
            yield con.sql(f"SELECT {number} AS n").arrow()

    src = asking()
    assert con.sql("SELECT sum(n) FROM src").fetchone() == (3,)


ODD = {
    "mixed": lambda: pandas.Series(["x", 5], dtype=object),
    "complex": lambda: pandas.Series([1j, 2j]),
    "objects": lambda: pandas.Series([object(), object()], dtype=object),
    "long": lambda: pandas.Series([10**50, 1], dtype=object),
}
MAPPED = {
    "null": (lambda: pandas.Series([None, None], dtype=object), [None, None]),
    "big": (lambda: pandas.Series([2**70, 1], dtype=object), [decimal.Decimal(2**70), decimal.Decimal(1)]),
    "category": (lambda: pandas.Series(["a", "b"]).astype("category"), ["a", "b"]),
    "period": (lambda: pandas.Series(pandas.period_range("2024-01", periods=2, freq="M")), ["2024-01", "2024-02"]),
    "sparse": (lambda: pandas.Series(pandas.arrays.SparseArray([0, 1])), [0, 1]),
    "lists": (lambda: pandas.Series([[1], [2, 3]]), [[1], [2, 3]]),
    "nullable": (lambda: pandas.Series([1, None], dtype="Int64"), [1, None]),
}


@pytest.mark.parametrize("place", [0, 1, 2])
@pytest.mark.parametrize("name", ODD)
def test_an_odd_column_costs_only_itself(con, name, place):
    columns = [("a", pandas.Series([1, 2])), ("b", pandas.Series(["x", "y"]))]
    columns.insert(place, ("odd", ODD[name]()))
    df = pandas.DataFrame(dict(columns))
    assert con.sql("SELECT count(*) FROM df").fetchall() == [(2,)]
    assert con.sql("SELECT a, b FROM df ORDER BY a").fetchall() == [(1, "x"), (2, "y")]
    with pytest.raises(quickstep.NotSupportedError, match='"odd"'):
        con.sql("SELECT * FROM df").fetchall()


@pytest.mark.parametrize("name", MAPPED)
def test_columns_are_mapped(con, name):
    make, values = MAPPED[name]
    df = pandas.DataFrame({"a": [1, 2], "c": make()})
    assert [row[0] for row in con.sql("SELECT c FROM df ORDER BY a").fetchall()] == values


def test_odd_columns_of_polars(con):
    df = polars.DataFrame({
        "a": [1, 2], "n": [None, None], "big": polars.Series([2**70, 1], dtype=polars.Int128),
        "o": polars.Series([object(), object()], dtype=polars.Object),
    })
    assert con.sql("SELECT a, n, big FROM df").fetchall() == [(1, None, 2**70), (2, None, 1)]
    with pytest.raises(quickstep.NotSupportedError, match='"o"'):
        con.sql("SELECT o FROM df").fetchall()
    empty = polars.DataFrame({"a": []})
    assert con.sql("SELECT count(*) FROM empty").fetchall() == [(0,)]


def test_names_that_are_there_twice_and_series(con):
    df = pandas.DataFrame([[1, 2]], columns=["a", "a"])
    assert con.sql("SELECT * FROM df").columns == ["a", "a_1"]
    assert con.sql("SELECT a_1 FROM df").fetchall() == [(2,)]
    for series in (pandas.Series([1, 2], name="s"), polars.Series("s", [1, 2])):
        assert con.sql("SELECT s FROM series").fetchall() == [(1,), (2,)]


def test_unreadable_variables_are_named(con):
    x = [{"a": 1}]
    with pytest.raises(quickstep.ProgrammingError, match="x is a list of dicts: ") as caught:
        con.sql("SELECT * FROM x")
    assert caught.value.sqlstate == "42P01"
    with pytest.raises(quickstep.InterfaceError, match="y is a list of dicts: "):
        con.register("y", x)


def test_a_name_that_a_table_has_is_not_registered(con):
    con.execute("CREATE TABLE t AS SELECT 1 AS k")
    with pytest.raises(quickstep.ProgrammingError, match="already"):
        con.register("t", TABLE)
    con.register("u", TABLE)
    con.register("u", TABLE.slice(0, 1))
    assert con.sql("SELECT count(*) FROM u").fetchall() == [(1,)]


def test_close_frees_the_directory(tmp_path):
    path = tmp_path / "a.db"
    con = quickstep.connect(path)
    con.execute("CREATE TABLE t AS SELECT i FROM range(100000) r(i)")
    relation, cursor = con.sql("SELECT * FROM t"), con.execute("SELECT * FROM t")
    reader = con.sql("SELECT * FROM t").fetch_record_batch()
    reader.read_next_batch()
    cursor.fetchone()
    shared = quickstep.connect(str(path))
    other = con.session()
    con.close()
    con.close()
    for act in (relation.fetchall, cursor.fetchall, relation.df, lambda: len(relation), con.cursor,
                lambda: con.execute("SELECT 1"), lambda: con.register("x", TABLE)):
        with pytest.raises(quickstep.Error, match="closed"):
            act()
    with pytest.raises(Exception, match="closed"):
        reader.read_all()
    assert shared.sql("SELECT count(*) FROM t").fetchall() == [(100000,)]
    shared.close()
    other.close()
    code = f"import quickstep; print(quickstep.connect({str(path)!r}).sql('SELECT count(*) FROM t').fetchone())"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert done.stdout == "(100000,)\n", done.stderr
    with quickstep.connect(pathlib.Path(path)) as again:
        assert len(again.sql("SELECT * FROM t")) == 100000
    assert os.path.isdir(path)
