"""Columns of frames that hold enums, structs, extension types and other rarer types; strings of bits out and in."""

import datetime
import decimal
import uuid

import pyarrow as pa
import pytest
import quickstep

pandas = pytest.importorskip("pandas")
polars = pytest.importorskip("polars")


@pytest.fixture
def con():
    return quickstep.connect(workers=1)


def read(con, frame, column="x"):
    """The values and the type of a column, by variable name and by register."""
    con.register("kept", frame)
    by_name = con.sql(f"SELECT {column}, typeof({column}) FROM frame").fetchall()
    assert con.sql(f"SELECT {column}, typeof({column}) FROM kept").fetchall() == by_name
    con.unregister("kept")
    return [value for value, _ in by_name], by_name[0][1]


ORDERED = pandas.Categorical(["low", "high", None], categories=["low", "high"], ordered=True)


@pytest.mark.parametrize(
    "column, wanted",
    [
        (pandas.Series(pandas.Categorical(["a", "b", None])), (["a", "b", None], "TEXT")),
        (pandas.Series(ORDERED), (["low", "high", None], "TEXT")),
        (pandas.Series(pandas.Categorical([10, 20, None])), ([10, 20, None], "BIGINT")),
        (polars.Series(["a", "b", None], dtype=polars.Enum(["b", "a"])), (["a", "b", None], "TEXT")),
        (polars.Series(["a", "b", None], dtype=polars.Categorical), (["a", "b", None], "TEXT")),
    ],
    ids=["pandas", "ordered", "numbers", "polars.Enum", "polars.Categorical"],
)
def test_labels_are_their_values(con, column, wanted):
    frame = column.to_frame("x")
    assert read(con, frame) == wanted
    if wanted[1] == "TEXT":
        labels = ", ".join(repr(label) for label in wanted[0] if label)
        con.execute(f"CREATE TYPE labels AS ENUM ({labels})")
        assert con.sql("SELECT max(x::labels) FROM frame").fetchone() == (wanted[0][1],)
        con.execute("CREATE TABLE t (x labels)")
        con.execute("INSERT INTO t SELECT * FROM frame")
        assert [value for value, in con.execute("SELECT x FROM t").fetchall()] == wanted[0]


def test_enums_leave_as_labels(con):
    con.execute("CREATE TYPE mood AS ENUM ('sad', 'ok')")
    con.execute("CREATE TABLE t AS SELECT * FROM (VALUES ('ok'::mood), ('sad'), (NULL)) t(m)")
    result = con.sql("SELECT m FROM t")
    categories = result.df()["m"].dtype
    assert isinstance(categories, pandas.CategoricalDtype) and list(categories.categories) == ["sad", "ok"]
    assert pa.table(result).column("m").to_pylist() == ["ok", "sad", None]
    assert con.sql("SELECT m FROM t").pl()["m"].to_list() == ["ok", "sad", None]
    frame = con.sql("SELECT m FROM t").df()
    assert con.sql("SELECT count(*) FROM frame JOIN t ON frame.m = t.m").fetchone() == (2,)


def test_structs_lists_and_maps(con):
    rows = [{"a": 1, "b": "x"}, None, {"a": None, "b": "z"}]
    frame = polars.DataFrame({"x": rows})
    assert read(con, frame) == (rows, "STRUCT(a BIGINT, b TEXT)")
    assert con.sql("SELECT x.a, x.b FROM frame").fetchall() == [(1, "x"), (None, None), (None, "z")]
    frame = pandas.DataFrame({"x": rows})
    assert read(con, frame) == (rows, "STRUCT(a BIGINT, b TEXT)")
    struct = pandas.ArrowDtype(pa.struct([("a", pa.int64())]))
    frame = pandas.DataFrame({"x": pandas.Series([{"a": 1}, None], dtype=struct)})
    assert read(con, frame) == ([{"a": 1}, None], "STRUCT(a BIGINT)")
    frame = polars.DataFrame({"x": [[{"a": 1}], [], None]})
    assert read(con, frame) == ([[{"a": 1}], [], None], "STRUCT(a BIGINT)[]")
    frame = polars.DataFrame({"x": polars.Series([[1, 2], [3, 4]], dtype=polars.Array(polars.Int32, 2))})
    assert read(con, frame) == ([[1, 2], [3, 4]], "INTEGER[]")
    frame = pa.table({"x": pa.array([[("a", 1)]], pa.map_(pa.string(), pa.int32()))})
    assert read(con, frame) == ([{"a": 1}], "MAP(TEXT, INTEGER)")


class Marked(pa.ExtensionType):
    """A type of the user's over texts."""

    def __init__(self):
        super().__init__(pa.string(), "quickstep.tests.marked")

    def __arrow_ext_serialize__(self):
        return b""

    @classmethod
    def __arrow_ext_deserialize__(cls, storage, serialized):
        return cls()


def extension(kind, values):
    return pa.ExtensionArray.from_storage(kind, values)


TENSOR = pa.array([[1, 2], [3, 4]], pa.list_(pa.int32(), 2))
IDENTITY = uuid.UUID("30313233-3435-3637-3839-616263646566")


@pytest.mark.parametrize(
    "column, wanted",
    [
        (extension(Marked(), pa.array(["a", None])), (["a", None], "TEXT")),
        (pa.array([IDENTITY.bytes], pa.uuid()), ([IDENTITY], "UUID")),
        (pa.array(['{"a":1}'], pa.json_()), (['{"a":1}'], "TEXT")),
        (pa.array([1, 0], pa.bool8()), ([1, 0], "TINYINT")),
        (extension(pa.fixed_shape_tensor(pa.int32(), [2]), TENSOR), ([[1, 2], [3, 4]], "INTEGER[]")),
        (extension(pa.opaque(pa.int64(), "x", "y"), pa.array([1, 2])), ([1, 2], "BIGINT")),
    ],
    ids=["own", "uuid", "json", "bool8", "tensor", "opaque"],
)
def test_extension_types_are_what_they_are_stored_as(con, column, wanted):
    frame = pa.table({"x": column, "y": range(len(column))})
    assert read(con, frame) == wanted
    assert con.sql("SELECT sum(y) FROM frame").fetchone() == (sum(range(len(column))),)


@pytest.mark.parametrize(
    "frame, wanted",
    [
        (pandas.DataFrame({"x": pandas.arrays.SparseArray([0, 0, 1])}), ([0, 0, 1], "BIGINT")),
        (pandas.DataFrame({"x": pandas.period_range("2020-01", periods=2, freq="M")}), (["2020-01", "2020-02"], "TEXT")),
        (pandas.DataFrame({"x": pandas.array([True, None], dtype="boolean")}), ([True, None], "BOOLEAN")),
        (pandas.DataFrame({"x": pandas.array([1, None], dtype="Int8")}), ([1, None], "TINYINT")),
        (polars.DataFrame({"x": polars.Series([255, None], dtype=polars.UInt8)}), ([255, None], "UTINYINT")),
        (
            polars.DataFrame({"x": polars.Series(["1.50", None]).cast(polars.Decimal(10, 2))}),
            ([decimal.Decimal("1.50"), None], "DECIMAL(10,2)"),
        ),
        (
            polars.DataFrame({"x": [datetime.timedelta(seconds=1), None]}),
            ([datetime.timedelta(seconds=1), None], "INTERVAL DAY TO SECOND"),
        ),
        (pa.table({"x": pa.RunEndEncodedArray.from_arrays([2, 3], ["a", "b"])}), (["a", "a", "b"], "TEXT")),
        (pa.table({"x": pa.array(["a", "b"]).dictionary_encode()}), (["a", "b"], "TEXT")),
    ],
    ids=["sparse", "period", "boolean", "Int8", "UInt8", "Decimal", "Duration", "run ends", "dictionary"],
)
def test_rarer_types(con, frame, wanted):
    assert read(con, frame) == wanted


def test_a_plan_of_polars_is_computed_once(con):
    asked = []

    def seen(frame):
        asked.append(1)
        return frame

    frame = polars.DataFrame({"x": [1, 2, 3]}).lazy().map_batches(seen).filter(polars.col("x") > 1)
    assert con.sql("SELECT sum(x) FROM frame").fetchone() == (5,)
    assert len(asked) == 1


def test_bits_and_times_with_zones(con):
    east = datetime.timezone(datetime.timedelta(hours=2))
    result = con.sql("SELECT B'101'::BIT(3) AS b, B'11'::BIT VARYING AS v, '10:00+02'::TIMETZ AS z, NULL::BIT(2) AS n")
    assert result.fetchall() == [("101", "11", datetime.time(10, 0, tzinfo=east), None)]
    assert pa.table(result).to_pylist() == [{"b": "101", "v": "11", "z": "10:00:00+02", "n": None}]
    con.execute("CREATE TABLE t (b BIT(3), v BIT VARYING)")
    con.execute("INSERT INTO t VALUES (?, ?)", ["101", "0011"])
    frame = pandas.DataFrame({"b": ["111"], "v": ["1"]})
    con.execute("INSERT INTO t SELECT * FROM frame")
    assert con.execute("SELECT v FROM t WHERE b = ?", ["101"]).fetchall() == [("0011",)]
    folded = con.execute("SELECT bit_and(b), bit_or(b), bit_xor(b), max(v), count(DISTINCT b) FROM t").fetchone()
    assert folded == ("101", "111", "010", "1", 2)
    with pytest.raises(quickstep.Error, match="bit string length 2 does not match"):
        con.execute("INSERT INTO t VALUES (?, ?)", ["10", "1"])
