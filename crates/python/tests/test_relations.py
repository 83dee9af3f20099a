"""Lazy relations, the program's objects as tables, parameters, DB-API."""

import datetime
import decimal
import os
import threading
import time
import uuid

import pyarrow as pa
import pytest
import quickstep

numpy = pytest.importorskip("numpy")


@pytest.fixture
def con():
    return quickstep.connect(workers=2, memory="2GB")


@pytest.fixture
def people(con):
    return con.sql("SELECT * FROM (VALUES (1, 'Ada', 36), (2, 'Bob', 25), (3, 'Cy', 36)) AS t(id, name, age)")


def test_relations_are_put_together(con, people):
    assert people.columns == ["id", "name", "age"]
    assert people.filter("age > 30").project("id", "upper(name) AS name").order("id DESC").fetchall() == [
        (3, "CY"),
        (1, "ADA"),
    ]
    assert people.aggregate("count(*) AS n", "age").order("age").fetchall() == [(25, 1), (36, 2)]
    assert people.aggregate("sum(id)").fetchone()[0] == 6
    assert people.order("id DESC").limit(1).fetchall() == [(3, "Cy", 36)]
    assert people.order("id").limit(1, offset=1).fetchall() == [(2, "Bob", 25)]
    assert len(people.union(people)) == 6
    assert len(people.union(people).distinct()) == 3
    pets = con.sql("SELECT * FROM (VALUES (1, 'cat'), (1, 'dog')) AS t(id, pet) -- a comment").set_alias("pets")
    assert people.join(pets, "id").project("name", "pet").order("pet").fetchall() == [("Ada", "cat"), ("Ada", "dog")]
    joined = people.set_alias("p").join(pets, "p.id = pets.id", how="left")
    assert len(joined) == 4


def test_queries_are_the_same_each_time():
    def queries():
        con = quickstep.connect()
        numbers = con.sql("SELECT 1 AS a")
        return numbers.filter("a > 0").join(numbers, "a").sql_query()

    assert queries() == queries()


def test_intervals_in_data_frames(con):
    pandas = pytest.importorskip("pandas")
    polars = pytest.importorskip("polars")
    query = (
        "SELECT i, INTERVAL '1 day 02:00:00' * i AS span, INTERVAL '1 month' * (i * 7) AS months, "
        "CASE WHEN i > 1 THEN INTERVAL '-1 second' END AS gap FROM generate_series(1, 2) AS t(i)"
    )
    hours = [datetime.timedelta(hours=26), datetime.timedelta(hours=52)]
    months = [datetime.timedelta(days=210), datetime.timedelta(days=420)]
    texts = "SELECT CAST(INTERVAL '7 months' AS INTERVAL YEAR TO MONTH) AS months"
    frame = con.sql(query).df()
    assert list(frame["span"]) == [pandas.Timedelta(span) for span in hours]
    assert list(frame["months"]) == [pandas.Timedelta(span) for span in months]
    assert list(con.sql(texts).df()["months"]) == ["7 mons"] and con.sql(texts).fetchall() == [("7 mons",)]
    assert pandas.isna(frame["gap"][0]) and frame["gap"][1] == pandas.Timedelta(seconds=-1)
    frame = con.sql(query).pl()
    assert frame["span"].to_list() == hours and frame["span"].dtype == polars.Duration("us")
    assert frame["months"].to_list() == months
    assert con.sql("SELECT INTERVAL '1 month 2 days'").fetchall() == [(datetime.timedelta(days=32),)]
    assert frame["gap"].to_list() == [None, datetime.timedelta(seconds=-1)]


def test_nothing_runs_before_rows_are_asked_for(con, tmp_path):
    relation = con.sql("SELECT 1 / (x - x) FROM (VALUES (1)) AS t(x)")
    assert relation.filter("TRUE").columns
    with pytest.raises(quickstep.DataError):
        relation.fetchall()
    with pytest.raises(quickstep.ProgrammingError):
        con.sql("SELECT nosuch")


def test_results_in_all_forms(con, people, capsys):
    ordered = people.order("id")
    assert ordered.arrow().to_pydict()["name"] == ["Ada", "Bob", "Cy"]
    assert list(ordered.numpy()["id"]) == [1, 2, 3]
    assert pa.table(ordered).num_rows == 3
    assert pa.RecordBatchReader.from_stream(ordered).read_all().num_rows == 3
    assert ordered.fetchone() == (1, "Ada", 36)
    assert ordered.fetchmany(1) == [(2, "Bob", 25)]
    assert list(ordered) == [(3, "Cy", 36)]
    ordered.show()
    assert "Ada" in capsys.readouterr().out
    assert "<td>Ada</td>" in ordered._repr_html_()
    assert "Sort" in ordered.explain()
    assert "work order" in ordered.explain(analyze=True)


def test_pandas_and_polars(con):
    pandas = pytest.importorskip("pandas")
    polars = pytest.importorskip("polars")
    frame = pandas.DataFrame({"k": [1, 2, 3], "v": ["a", None, "c"]})
    lazy = polars.LazyFrame({"k": [2, 3, 4], "w": [0.5, 1.5, 2.5]})
    joined = con.sql("SELECT k, v, w FROM frame JOIN lazy USING (k) ORDER BY k")
    assert joined.fetchall() == [(2, None, 0.5), (3, "c", 1.5)]
    assert list(joined.df()["k"]) == [2, 3]
    assert joined.pl()["w"].to_list() == [0.5, 1.5]


def test_variables_are_found_by_name(con):
    table = pa.table({"x": [1, 2, 3]})
    numbers = numpy.arange(4)
    columns = {"a": [1, 2], "b": ["x", "y"]}
    assert con.sql('SELECT sum(x) FROM "table"').fetchone()[0] == 6
    assert con.sql("SELECT max(column0) FROM numbers").fetchone() == (3,)
    assert con.sql("SELECT b FROM columns WHERE a = 2").fetchall() == [("y",)]
    # The rows are those of the time the relation was made, and a relation can be used elsewhere.
    relation = con.sql("SELECT * FROM numbers")

    def elsewhere():
        return relation.filter("column0 > 1").fetchall()

    assert elsewhere() == [(2,), (3,)]
    # A table of the name goes first.
    con.execute("CREATE TABLE numbers AS SELECT 7 AS column0")
    assert con.sql("SELECT * FROM numbers").fetchall() == [(7,)]
    with pytest.raises(quickstep.ProgrammingError, match="does not exist"):
        con.sql("SELECT * FROM nowhere")
    assert table is not None and numbers is not None and columns


def test_registered_objects(con):
    con.register("t", pa.table({"x": list(range(1000)), "odd": pa.array([[1]] * 1000)}))
    assert con.sql("SELECT count(*), sum(x) FROM t WHERE x >= 990").fetchall() == [(10, 9945)]
    assert con.table("t").project("x").limit(1).fetchall() == [(0,)]
    assert con.sql("SELECT odd FROM t LIMIT 1").fetchall() == [([1],)]
    assert con.unregister("t") and not con.unregister("t")
    with pytest.raises(quickstep.Error):
        con.sql("SELECT * FROM t")
    assert con.from_arrow(pa.table({"y": [5]})).fetchall() == [(5,)]
    with pytest.raises(quickstep.InterfaceError):
        con.register("t", 42)


def test_parameters(con):
    values = [
        None,
        True,
        -3,
        2**40,
        0.1,
        decimal.Decimal("-12.50"),
        "it's ? a :text $1",
        b"\x00\xff",
        datetime.date(2024, 2, 29),
        datetime.time(1, 2, 3, 4),
        datetime.datetime(2024, 2, 29, 1, 2, 3, 500000),
        datetime.timedelta(days=1, microseconds=5),
        uuid.UUID("a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11"),
    ]
    for value in values:
        assert con.execute("SELECT ? AS v, '?' -- ?", [value]).fetchone()[0] == value
        assert con.execute("SELECT $1, $1, 'x'::text /* $2 */", (value,)).fetchone()[:2] == (value, value)
        assert con.execute("SELECT :v AS v, 'a'::text", {"v": value}).fetchone()[0] == value
    assert con.sql("SELECT * FROM generate_series(1, ?) AS t(i) WHERE i > ?", [5, 3]).fetchall() == [(4,), (5,)]
    con.execute("CREATE TABLE p (a INTEGER, b TEXT)")
    con.executemany("INSERT INTO p VALUES (?, ?)", [(1, "x"), (2, None)])
    assert con.execute("SELECT * FROM p ORDER BY a").fetchall() == [(1, "x"), (2, None)]
    for text, given in [("SELECT ?", []), ("SELECT 1", [1]), ("SELECT :a", {"b": 1}), ("SELECT ?", [object()])]:
        with pytest.raises(quickstep.ProgrammingError):
            con.execute(text, given)


def test_db_api(con):
    assert (quickstep.apilevel, quickstep.threadsafety, quickstep.paramstyle) == ("2.0", 2, "qmark")
    cursor = con.cursor()
    with pytest.raises(quickstep.InterfaceError):
        cursor.fetchone()
    cursor.execute("SELECT 1 AS i, 'x' AS t, 1.5 AS d")
    kinds = [column[1] for column in cursor.description]
    assert kinds[0] == quickstep.NUMBER and kinds[1] == quickstep.STRING and kinds[2] == quickstep.NUMBER
    cursor.arraysize = 5
    assert cursor.fetchmany() == [(1, "x", decimal.Decimal("1.5"))]
    con.execute("CREATE TABLE k (a INTEGER PRIMARY KEY)")
    assert con.execute("INSERT INTO k VALUES (1), (2)").rowcount == 2
    with pytest.raises(quickstep.IntegrityError):
        con.execute("INSERT INTO k VALUES (1)")
    with pytest.raises(quickstep.DataError):
        con.execute("SELECT 1 / 0")
    with pytest.raises(quickstep.OperationalError):
        con.execute("SELECT * FROM '/nonexistent.parquet'")
    con.commit()
    con.rollback()
    cursor.close()
    with pytest.raises(quickstep.InterfaceError):
        cursor.execute("SELECT 1")
    con.close()
    with pytest.raises(quickstep.InterfaceError):
        con.sql("SELECT 1")


def test_threads_share_a_connection(con):
    con.execute("CREATE TABLE n AS SELECT i FROM generate_series(1, 10000) AS t(i)")
    failures = []

    def work(number):
        mine = pa.table({"x": [number] * 10})
        try:
            for _ in range(20):
                assert con.sql("SELECT sum(x) FROM mine").fetchone() == (number * 10,)
                assert con.sql("SELECT count(*) FROM n WHERE i <= ?", [number]).fetchone() == (number,)
        except Exception as error:  # noqa: BLE001 - reported by the main thread
            failures.append(error)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(1, 7)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []


def test_a_forked_child_is_refused(con):
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            con.sql("SELECT 1").fetchall()
            os.write(writing, b"it ran")
        except quickstep.Error as error:
            os.write(writing, str(error).encode())
        finally:
            os._exit(0)
    os.close(writing)
    os.waitpid(child, 0)
    assert b"fork" in os.read(reading, 1000)


def test_an_interrupt_ends_a_query_within_a_moment(con):
    con.execute("CALL tpch(scale => 0.01)")
    slow = con.sql("SELECT sum(a.l_tax * b.l_tax) FROM lineitem a, lineitem b WHERE a.l_quantity < b.l_quantity + a.l_tax")
    times = []

    def stop():
        time.sleep(0.3)
        times.append(time.monotonic())
        con.interrupt()

    thread = threading.Thread(target=stop)
    thread.start()
    with pytest.raises(quickstep.OperationalError):
        for _ in range(50):
            con.execute(slow.sql_query())
    thread.join()
    # A statement that is not interrupted is followed by others, for many times as long.
    assert time.monotonic() - times[0] < 10


def test_files(con, tmp_path):
    path = tmp_path / "x.parquet"
    con.execute(f"COPY (SELECT i FROM generate_series(1, 10) AS t(i)) TO '{path}'")
    assert len(con.read_parquet(str(path))) == 10
    assert len(con.read_parquet([str(path), str(path)], filename=True)) == 20
    (tmp_path / "x.csv").write_text("a;b\n1;2\n")
    assert con.read_csv(str(tmp_path / "x.csv"), delimiter=";", header=True).fetchall() == [(1, 2)]
    types = {"a": "VARCHAR", "b": "DOUBLE"}
    assert con.read_csv(str(tmp_path / "x.csv"), delim=";", types=types, nullstr=["1"]).fetchall() == [(None, 2.0)]
    nested = ([1, None], {"a": "it's", "B": [(1, 2), []]})
    got = con.execute("SELECT ?, ?", nested).fetchone()
    assert got == ([1, None], {"a": "it's", "B": [[1, 2], []]})
