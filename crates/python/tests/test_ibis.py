"""Ibis' backend; `make nightly` installs Ibis. Expressions are compared with what pandas makes of the same rows."""

import datetime
import decimal

import pytest

ibis = pytest.importorskip("ibis")
pytest.importorskip("pyarrow_hotfix")
pandas = pytest.importorskip("pandas")

import quickstep  # noqa: E402
from ibis import _  # noqa: E402

quickstep_ibis = pytest.importorskip("quickstep.ibis")

FRAME = pandas.DataFrame(
    {
        "k": ["a", "b", "a", None],
        "v": [1, 2, 3, 4],
        "f": [1.5, None, 2.5, 3.5],
        "d": pandas.to_datetime(["2024-01-01", "2024-02-29", "2023-05-05", "2020-01-01"]),
    }
)


@pytest.fixture
def con():
    return quickstep_ibis.Backend.from_connection(quickstep.connect(workers=2, memory="1GB"))


@pytest.fixture
def t(con):
    return con.create_table("t", FRAME)


def rows(expression):
    return expression.to_pyarrow().to_pylist()


def test_tables_are_made_listed_and_dropped(con, t):
    assert con.list_tables() == ["t"]
    assert {name: str(ty) for name, ty in t.schema().items()} == {
        "k": "string", "v": "int64", "f": "float64", "d": "timestamp(6)",
    }
    assert rows(t.order_by("v"))[1] == {"k": "b", "v": 2, "f": None, "d": datetime.datetime(2024, 2, 29)}
    con.create_table("u", schema={"a": "int32", "b": "decimal(10, 2)", "c": "array<string>", "s": "struct<x: int64>"})
    assert con.table("u").count().execute() == 0 and str(con.table("u").schema()["b"]) == "decimal(10, 2)"
    con.insert("u", ibis.memtable({"a": [1], "b": [decimal.Decimal("1.50")], "c": [["x"]], "s": [{"x": 1}]}, schema=con.table("u").schema()))
    assert rows(con.table("u")) == [{"a": 1, "b": decimal.Decimal("1.50"), "c": ["x"], "s": {"x": 1}}]
    con.create_table("u", FRAME[["k"]], overwrite=True)
    assert con.table("u").columns == ("k",)
    con.create_view("w", t.filter(t.v > 1))
    assert con.table("w").count().execute() == 3
    con.drop_view("w")
    con.drop_table("u")
    con.drop_table("u", force=True)
    with pytest.raises(ibis.common.exceptions.TableNotFound):
        con.table("u")
    con.create_database("sales")
    con.create_table("t", FRAME, database="sales")
    assert con.list_tables(database="sales") == ["t"] and "sales" in con.list_databases()
    assert con.create_table("gone", FRAME, temp=True).count().execute() == 4


def test_a_table_that_fails_is_not_made(con):
    bad = con.sql("SELECT 1 / (i - 1) AS x FROM range(3) r(i)")
    with pytest.raises(quickstep.DataError):
        con.create_table("bad", bad)
    assert con.list_tables() == []


def test_expressions_agree_with_pandas(con, t):
    grouped = t.group_by("k").agg(s=t.v.sum(), m=t.f.mean(), n=t.v.nunique()).order_by(ibis.asc("k", nulls_first=False))
    expected = FRAME.groupby("k", dropna=False).agg(s=("v", "sum"), m=("f", "mean"), n=("v", "nunique")).reset_index()
    assert [(r["k"], r["s"], r["m"], r["n"]) for r in rows(grouped)][:2] == [
        (r.k, r.s, r.m if r.m == r.m else None, r.n) for r in expected.itertuples()
    ][:2]
    assert t.v.sum().execute() == FRAME.v.sum()
    assert t.f.quantile(0.5).execute() == FRAME.f.quantile(0.5)
    assert t.join(t.view(), "k").count().execute() == len(FRAME.dropna(subset="k").merge(FRAME.dropna(subset="k"), on="k"))
    ranked = t.mutate(r=ibis.row_number().over(group_by="k", order_by=ibis.desc("v"))).order_by("v")
    assert [row["r"] for row in rows(ranked)] == [1, 0, 0, 0]
    assert [row["y"] for row in rows(t.mutate(y=t.d.year() * 100 + t.d.month()).order_by("v"))] == [202401, 202402, 202305, 202001]
    assert rows(t.filter(t.k.re_search("^a")).select("v").order_by("v")) == [{"v": 1}, {"v": 3}]
    assert rows(t.mutate(c=ibis.cases((t.v > 2, t.k.upper()), else_="low")).order_by("v").select("c")) == [
        {"c": "low"}, {"c": "low"}, {"c": "A"}, {"c": None},
    ]
    assert rows(t.group_by("k").agg(l=t.v.collect(order_by=t.v)).filter(_.k == "a").select("l")) == [{"l": [1, 3]}]
    assert sorted(r["z"] for r in rows(t.group_by("k").agg(l=t.v.collect()).select(z=_.l.unnest()))) == [1, 2, 3, 4]
    assert t.asof_join(t.view(), on="d").count().execute() == 4
    assert t.union(t, distinct=True).count().execute() == 4
    assert rows(t.mutate(x=t.d + ibis.interval(days=3)).order_by("v").select("x"))[1] == {"x": datetime.datetime(2024, 3, 3)}


def test_values_of_every_kind_come_back(con):
    assert con.execute(ibis.literal(None)) is None
    assert len(str(con.execute(ibis.uuid()))) == 36
    assert con.execute(ibis.literal(decimal.Decimal("1.25"))) == decimal.Decimal("1.25")
    assert con.execute(ibis.map(["a"], [1])["a"]) == 1
    assert con.execute(ibis.struct({"a": 1, "b": "x"}))["b"] == "x"
    assert con.execute(ibis.array([1, 2, 3]).length()) == 3
    assert con.to_pyarrow(ibis.date(2024, 2, 29)).as_py() == datetime.date(2024, 2, 29)


def test_tables_of_the_program_and_frames_out(con, t):
    here = ibis.memtable({"k": ["a", "b"], "w": [10, 20]})
    joined = t.join(here, "k").order_by("v").select("v", "w")
    assert con.to_pyarrow(joined).to_pylist() == [{"v": 1, "w": 10}, {"v": 2, "w": 20}, {"v": 3, "w": 10}]
    assert con.to_pyarrow_batches(t).read_all().num_rows == 4
    assert con.to_polars(t).shape == (4, 4)
    assert con.execute(t).shape == (4, 4)
    assert con.sql("SELECT v + 1 AS w FROM t").w.sum().execute() == 14


def test_files(con, t, tmp_path):
    t.to_parquet(tmp_path / "t.parquet")
    assert con.read_parquet(tmp_path / "t.parquet").v.sum().execute() == 10
    t.to_csv(tmp_path / "t.csv")
    assert con.read_csv(tmp_path / "t.csv", table_name="from_csv").count().execute() == 4


def test_functions_of_python_and_arrow(con, t):
    @ibis.udf.scalar.python
    def plus(x: int) -> int:
        return x + 1

    @ibis.udf.scalar.pyarrow
    def doubled(x: int) -> int:
        import pyarrow.compute as pc

        return pc.multiply(x, 2)

    assert t.select(z=doubled(plus(t.v))).z.sum().execute() == 28


def test_tpch_queries_agree_with_sql(con):
    con.raw_sql("CALL tpch(scale => 0.01)")
    item, orders, customer = con.table("lineitem"), con.table("orders"), con.table("customer")
    net = item.l_extendedprice * (1 - item.l_discount)
    first = (
        item.filter(item.l_shipdate <= ibis.date("1998-09-02"))
        .group_by("l_returnflag", "l_linestatus")
        .agg(quantity=item.l_quantity.sum(), price=net.sum(), mean=item.l_discount.mean(), n=_.count())
        .order_by("l_returnflag", "l_linestatus")
    )
    assert [tuple(row.values()) for row in rows(first.drop("mean"))] == con.con.execute(
        "SELECT l_returnflag, l_linestatus, sum(l_quantity), sum(l_extendedprice * (1 - l_discount)), count(*) FROM lineitem "
        "WHERE l_shipdate <= DATE '1998-09-02' GROUP BY 1, 2 ORDER BY 1, 2"
    ).fetchall()
    third = (
        customer.filter(customer.c_mktsegment == "BUILDING")
        .join(orders, customer.c_custkey == orders.o_custkey)
        .join(item, item.l_orderkey == orders.o_orderkey)
        .filter(_.o_orderdate < ibis.date("1995-03-15"), _.l_shipdate > ibis.date("1995-03-15"))
        .group_by("l_orderkey", "o_orderdate")
        .agg(revenue=(_.l_extendedprice * (1 - _.l_discount)).sum())
        .order_by(ibis.desc("revenue"), "o_orderdate")
        .limit(10)
    )
    assert [tuple(row.values()) for row in rows(third)] == con.con.execute(
        "SELECT l_orderkey, o_orderdate, sum(l_extendedprice * (1 - l_discount)) FROM customer JOIN orders ON c_custkey = o_custkey "
        "JOIN lineitem ON l_orderkey = o_orderkey WHERE c_mktsegment = 'BUILDING' AND o_orderdate < DATE '1995-03-15' "
        "AND l_shipdate > DATE '1995-03-15' GROUP BY 1, 2 ORDER BY 3 DESC, 2 LIMIT 10"
    ).fetchall()
