"""psycopg 3, asyncpg and pg8000 against a server: types both ways, parameters, cursors, COPY, pipelines, errors."""

import asyncio
import datetime
import decimal
import threading
import time
import uuid
from collections.abc import Iterator

import asyncpg
import pg8000.dbapi
import psycopg
import pytest

from conftest import Serving

VALUES: list[tuple[str, object]] = [
    ("BOOLEAN", True),
    ("SMALLINT", -7),
    ("INTEGER", 2**31 - 1),
    ("BIGINT", -(2**63)),
    ("REAL", 1.5),
    ("DOUBLE PRECISION", 1e300),
    ("DECIMAL(12,3)", decimal.Decimal("-12345.678")),
    ("TEXT", "ä'\\ \n"),
    ("VARCHAR(20)", "text"),
    ("BYTEA", b"\x00\xff\\"),
    ("DATE", datetime.date(2024, 2, 29)),
    ("TIME", datetime.time(23, 59, 59, 999999)),
    ("TIMESTAMP", datetime.datetime(1999, 12, 31, 23, 59, 59, 1)),
    ("TIMESTAMPTZ", datetime.datetime(2024, 3, 31, 1, 0, tzinfo=datetime.timezone.utc)),
    ("INTERVAL", datetime.timedelta(days=3, seconds=4, microseconds=5)),
    ("UUID", uuid.UUID("12345678-1234-5678-1234-567812345678")),
    ("INTEGER[]", [1, None, 3]),
    ("TEXT[]", ["a", 'b,"c', ""]),
]


@pytest.fixture
def connection(server: Serving) -> Iterator[psycopg.Connection]:
    with psycopg.connect(**server.dsn, dbname="postgres") as connection:
        yield connection


@pytest.mark.parametrize("binary", [False, True])
@pytest.mark.parametrize(("ty", "value"), VALUES)
def test_psycopg_values_go_and_come(connection: psycopg.Connection, ty: str, value: object, binary: bool) -> None:
    with connection.cursor(binary=binary) as cursor:
        cursor.execute(f"SELECT %s::{ty}, NULL::{ty}", (value,))
        assert cursor.fetchone() == (value, None)


def test_psycopg_is_ours(connection: psycopg.Connection) -> None:
    row = connection.execute("SELECT version()").fetchone()
    assert row and "Quickstep" in row[0]
    assert connection.info.server_version // 10000 == 15


def test_psycopg_transactions_and_errors(connection: psycopg.Connection) -> None:
    connection.execute("CREATE TABLE of_psycopg (i INT PRIMARY KEY)")
    connection.commit()
    with pytest.raises(psycopg.errors.UniqueViolation):
        with connection.transaction():
            connection.execute("INSERT INTO of_psycopg VALUES (1)")
            connection.execute("INSERT INTO of_psycopg VALUES (1)")
    with connection.transaction():
        connection.execute("INSERT INTO of_psycopg VALUES (2)")
        with pytest.raises(psycopg.errors.DivisionByZero), connection.transaction():
            connection.execute("SELECT 1/0")
    assert connection.execute("SELECT array_agg(i) FROM of_psycopg").fetchone() == ([2],)
    connection.execute("DROP TABLE of_psycopg")
    connection.commit()


def test_psycopg_prepares_and_forgets(connection: psycopg.Connection) -> None:
    connection.prepare_threshold = 1
    connection.prepared_max = 3
    for round in range(5):
        for offset in range(6):
            row = connection.execute(f"SELECT %s + {offset}", (round,)).fetchone()
            assert row == (round + offset,)


def test_psycopg_pipelines(connection: psycopg.Connection) -> None:
    connection.autocommit = True
    connection.execute("CREATE TABLE piped (i INT)")
    with connection.pipeline():
        cursors = [connection.execute("SELECT %s::int", (i,)) for i in range(100)]
        connection.execute("INSERT INTO piped VALUES (1)")
    assert [cursor.fetchone() for cursor in cursors] == [(i,) for i in range(100)]
    with pytest.raises(psycopg.errors.DivisionByZero), connection.pipeline():
        connection.execute("INSERT INTO piped VALUES (2)")
        connection.execute("SELECT 1/0")
    assert connection.execute("SELECT count(*) FROM piped").fetchone() == (1,)
    connection.execute("DROP TABLE piped")


def test_psycopg_copies(connection: psycopg.Connection) -> None:
    connection.execute("CREATE TABLE of_copy (i INT, s TEXT)")
    with connection.cursor() as cursor:
        with cursor.copy("COPY of_copy FROM STDIN") as copy:
            for row in [(1, "a"), (2, None), (3, "tab\tand\nline")]:
                copy.write_row(row)
        with cursor.copy("COPY (SELECT * FROM of_copy ORDER BY i) TO STDOUT") as copy:
            rows = list(copy.rows())
    assert rows == [("1", "a"), ("2", None), ("3", "tab\tand\nline")]
    with pytest.raises(psycopg.errors.QueryCanceled), connection.cursor() as cursor:
        with cursor.copy("COPY of_copy FROM STDIN") as copy:
            copy.write_row((4, "d"))
            raise psycopg.errors.QueryCanceled("the client's own error")
    connection.rollback()


def test_psycopg_streams_and_cancels(server: Serving, connection: psycopg.Connection) -> None:
    with connection.cursor() as cursor:
        rows = cursor.stream("SELECT i FROM generate_series(1, 200000) AS t(i)")
        assert next(iter(rows)) == (1,)
        assert sum(1 for _ in rows) == 199_999
    timer = threading.Timer(0.5, connection.cancel)
    timer.start()
    began = time.monotonic()
    with pytest.raises(psycopg.errors.QueryCanceled):
        connection.execute(
            "SELECT count(*) FROM generate_series(1, 1000000) AS a(i), generate_series(1, 1000000) AS b(j)"
        )
    # By itself it takes minutes.
    assert time.monotonic() - began < 30
    connection.rollback()
    assert connection.execute("SELECT 1").fetchone() == (1,)


def test_asyncpg(server: Serving) -> None:
    async def run() -> None:
        connection = await asyncpg.connect(**server.dsn, database="postgres")
        assert "Quickstep" in await connection.fetchval("SELECT version()")
        assert await connection.fetchrow("SELECT $1::int + 1 AS a, $2::text AS b", 41, "x") == (42, "x")
        async with connection.transaction():
            numbers = [row[0] async for row in connection.cursor("SELECT i FROM generate_series(1, 500) AS t(i)")]
        assert numbers == list(range(1, 501))
        statement = await connection.prepare("SELECT $1::bigint * 2")
        assert [await statement.fetchval(i) for i in range(20)] == [2 * i for i in range(20)]
        with pytest.raises(asyncpg.DivisionByZeroError):
            await connection.execute("SELECT 1/0")
        with pytest.raises(asyncio.TimeoutError):
            await connection.fetchval(
                "SELECT count(*) FROM generate_series(1, 1000000) AS a(i), generate_series(1, 1000000) AS b(j)",
                timeout=0.5,
            )
        assert await connection.fetchval("SELECT 7") == 7
        await connection.close()

    asyncio.run(run())


def test_pg8000(server: Serving) -> None:
    connection = pg8000.dbapi.connect(**server.dsn, database="postgres")
    cursor = connection.cursor()
    cursor.execute("SELECT version()")
    assert "Quickstep" in cursor.fetchone()[0]
    cursor.execute("SELECT CAST(%s AS INTEGER) + 1, %s", (1, "x"))
    assert list(cursor.fetchone()) == [2, "x"]
    with pytest.raises(pg8000.dbapi.DatabaseError) as error:
        cursor.execute("SELECT 1/0")
    assert error.value.args[0]["C"] == "22012"
    connection.rollback()
    connection.close()
