"""Moments in and out of Python, with the session's time zone and with others."""

import datetime
import json
import zoneinfo

import pytest

import quickstep

BERLIN, NEW_YORK = zoneinfo.ZoneInfo("Europe/Berlin"), zoneinfo.ZoneInfo("America/New_York")
UTC = datetime.timezone.utc
NOON = datetime.datetime(2024, 7, 1, 12, tzinfo=UTC)


@pytest.fixture
def con():
    with quickstep.connect() as connection:
        yield connection


def test_moments_come_in_the_sessions_zone(con):
    query = "SELECT TIMESTAMPTZ '2024-07-01 12:00:00Z', [TIMESTAMPTZ '2024-07-01 12:00:00Z']"
    (moment, (inside,)) = con.sql(query).fetchone()
    assert moment == inside == NOON and moment.utcoffset() == datetime.timedelta(0)
    con.execute("SET TimeZone = 'Europe/Berlin'")
    before = con.execute(query)
    (moment, (inside,)) = before.fetchone()
    assert moment == inside == NOON
    assert (moment.hour, moment.tzinfo, inside.hour) == (14, BERLIN, 14)
    con.execute("SET TimeZone = '+05:30'")
    (moment, _) = con.execute(query).fetchone()
    assert moment == NOON and moment.utcoffset() == datetime.timedelta(hours=5, minutes=30)


def test_moments_go_in_with_their_zone(con):
    con.execute("SET TimeZone = 'Asia/Tokyo'")
    for given in (NOON, NOON.astimezone(BERLIN), NOON.astimezone(NEW_YORK)):
        assert con.execute("SELECT ?", [given]).fetchone() == (NOON,)
        assert con.execute("SELECT CAST(? AS TEXT)", [given]).fetchone() == ("2024-07-01 21:00:00+09",)
    # The clock's second 01:30 of that night.
    late = datetime.datetime(2024, 11, 3, 1, 30, fold=1, tzinfo=NEW_YORK)
    assert con.execute("SELECT ?", [late]).fetchone()[0].astimezone(UTC).hour == 6


def test_arrow_bears_the_zone(con):
    pa = pytest.importorskip("pyarrow")
    con.execute("SET TimeZone = 'Europe/Berlin'")
    columns = pa.table({"at": pa.array([NOON, None], pa.timestamp("ms", "America/New_York"))})
    assert con.sql("SELECT * FROM columns").types == ["TIMESTAMPTZ"]
    table = con.sql("SELECT at, [at] AS nested FROM columns").arrow()
    assert table.schema.field("at").type == pa.timestamp("us", "Europe/Berlin")
    assert table["at"].to_pylist() == [NOON, None]
    assert con.execute("SELECT at FROM columns").fetchall() == [(NOON,), (None,)]
    con.execute("RESET TimeZone")
    assert con.sql("SELECT at FROM columns").arrow().schema.field("at").type == pa.timestamp("us", "+00:00")


NIGHTS = """SELECT * FROM (VALUES (1, TIMESTAMPTZ '2024-03-10 06:59:59Z'), (2, TIMESTAMPTZ '2024-11-03 05:30:00Z'),
            (3, TIMESTAMPTZ '2024-11-03 06:30:00Z'), (4, NULL)) AS t(n, at)"""


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_frames_keep_moments_and_zone(con, library):
    pytest.importorskip(library)
    con.execute("SET TimeZone = 'America/New_York'")

    def moments(query):
        # Python holds moments of different zones for unequal in the hours that clocks show twice.
        return [(n, at and at.astimezone(UTC)) for n, at in con.sql(query).fetchall()]

    assert [at and at.hour for _, at in moments(NIGHTS)] == [6, 5, 6, None]
    frame = con.sql(NIGHTS).df() if library == "pandas" else con.sql(NIGHTS).pl()
    dtype = frame["at"].dtype
    assert str(dtype.tz if library == "pandas" else dtype.time_zone) == "America/New_York"
    assert con.sql("SELECT * FROM frame").types == ["INTEGER", "TIMESTAMPTZ"]
    assert moments("SELECT * FROM frame") == moments(NIGHTS)
    # Read in another zone, they are the same moments.
    con.execute("SET TimeZone = 'Asia/Tokyo'")
    assert moments("SELECT * FROM frame") == moments(NIGHTS)


def test_frames_of_other_zones_and_units(con):
    pd, pl = pytest.importorskip("pandas"), pytest.importorskip("polars")
    con.execute("SET TimeZone = 'Europe/Berlin'")
    local = [datetime.datetime(2024, 7, 1, 17, 45), datetime.datetime(2024, 1, 1, 17, 45)]
    for unit in ("s", "ms", "us", "ns"):
        frame = pd.DataFrame({"at": pd.Series(local).dt.tz_localize("Asia/Kathmandu").dt.as_unit(unit)})
        wanted = "TIMESTAMPTZ_NS" if unit == "ns" else "TIMESTAMPTZ"
        assert con.sql("SELECT at FROM frame").types == [wanted]
        assert con.sql("SELECT at FROM frame").fetchall()[0] == (NOON,), unit
    for unit in ("ms", "us", "ns"):
        frame = pl.DataFrame({"at": local}).with_columns(
            pl.col("at").dt.cast_time_unit(unit).dt.replace_time_zone("Asia/Kathmandu")
        )
        wanted = "TIMESTAMPTZ_NS" if unit == "ns" else "TIMESTAMPTZ"
        assert con.sql("SELECT at FROM frame").types == [wanted]
        assert con.sql("SELECT at FROM frame").fetchall()[0] == (NOON,), unit
    # Without a zone it is what a clock shows.
    frame = pl.DataFrame({"at": local})
    assert con.sql("SELECT at FROM frame").types == ["TIMESTAMP"]
    assert con.sql("SELECT at AT TIME ZONE 'Asia/Kathmandu' FROM frame").fetchall()[0] == (NOON,)


def test_parquet_keeps_moments(con, tmp_path):
    pq = pytest.importorskip("pyarrow.parquet")
    path = tmp_path / "at.parquet"
    con.execute("SET TimeZone = 'Europe/Berlin'")
    con.execute(f"COPY (SELECT TIMESTAMPTZ '2024-07-01 12:00:00Z' AS at, TIMESTAMP '2024-07-01 12:00:00' AS clock) TO '{path}'")
    schema = pq.ParquetFile(path).schema
    told = [json.loads(schema.column(n).logical_type.to_json()) for n in range(2)]
    assert [one["isAdjustedToUTC"] for one in told] == [True, False]
    con.execute("SET TimeZone = 'America/New_York'")
    read = con.sql(f"SELECT * FROM '{path}'")
    assert read.types == ["TIMESTAMPTZ", "TIMESTAMP"]
    assert read.fetchone() == (NOON, datetime.datetime(2024, 7, 1, 12))


def test_text_files_are_read_in_the_sessions_zone(con, tmp_path):
    path = tmp_path / "at.csv"
    con.execute("SET TimeZone = 'Europe/Berlin'; CREATE TABLE t (n INTEGER, at TIMESTAMPTZ)")
    path.write_text("n,at\n1,2024-07-01 14:00:00\n2,2024-07-01 08:00:00-04\n3,2024-07-01 14:00:00 Europe/Berlin\n")
    con.execute(f"COPY t FROM '{path}'")
    assert con.execute("SELECT DISTINCT at FROM t").fetchall() == [(NOON,)]
    con.execute(f"COPY (SELECT at FROM t WHERE n = 1) TO '{path}'")
    assert path.read_text() == "at\n2024-07-01 14:00:00+02\n"
    con.execute(f"COPY (SELECT at FROM t WHERE n = 1) TO '{tmp_path}/at.ndjson' (FORMAT ndjson)")
    assert "2024-07-01 14:00:00+02" in (tmp_path / "at.ndjson").read_text()


def test_a_zone_that_is_none(con):
    with pytest.raises(quickstep.DataError, match="Europe/Berlin") as caught:
        con.execute("SET TimeZone = 'Europe/Berln'")
    assert caught.value.sqlstate == "22023"
