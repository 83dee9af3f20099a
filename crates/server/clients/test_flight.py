"""ADBC's driver for Flight SQL against a server: rows both ways, parameters, ingest, metadata, transactions, cancel, TLS."""

import datetime
import decimal
import re
import socket
import ssl
import subprocess
import threading
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import adbc_driver_manager
import psycopg
import pyarrow as pa
import pytest
from adbc_driver_flightsql import DatabaseOptions
from adbc_driver_flightsql import dbapi as flightsql

from conftest import Serving, program, serve


def connect(server: Serving, uri: str | None = None, **options: str) -> flightsql.Connection:
    credentials = {"username": "quickstep", "password": server.password}
    return flightsql.connect(uri or f"grpc://127.0.0.1:{server.http_port}", db_kwargs={**credentials, **options}, autocommit=True)


@pytest.fixture
def connection(server: Serving) -> Iterator[flightsql.Connection]:
    with connect(server) as connection:
        yield connection


def rows(connection: flightsql.Connection, sql: str, parameters: object = None) -> list[tuple]:
    with connection.cursor() as cursor:
        cursor.execute(sql, parameters)
        return cursor.fetchall()


def test_it_is_ours(connection: flightsql.Connection) -> None:
    assert connection.adbc_get_info()["vendor_name"] == "Quickstep"
    assert "Quickstep" in rows(connection, "SELECT version()")[0][0]


def test_values_come_with_their_types(connection: flightsql.Connection) -> None:
    [row] = rows(
        connection,
        """SELECT 1::smallint, 2::bigint, 1.5::double precision, 1.50::decimal(9,2), 'ä', '\\x00ff'::bytea, NULL::integer,
                  DATE '2024-02-29', TIMESTAMP '1999-12-31 23:59:59.000001', [1, NULL, 3], true""",
    )
    assert row[:7] == (1, 2, 1.5, decimal.Decimal("1.50"), "ä", b"\x00\xff", None)
    moment = datetime.datetime(1999, 12, 31, 23, 59, 59, 1)
    assert row[7:] == (datetime.date(2024, 2, 29), moment, [1, None, 3], True)


def test_a_large_result_is_read_as_arrow(connection: flightsql.Connection) -> None:
    with connection.cursor() as cursor:
        cursor.execute("SELECT i, 'row ' || i AS t FROM generate_series(1, 500000) AS t(i)")
        table = cursor.fetch_arrow_table()
    assert table.num_rows == 500_000 and sum(table["i"].to_pylist()) == 125_000_250_000
    assert table["t"][-1].as_py() == "row 500000"


def test_parameters_are_bound(connection: flightsql.Connection) -> None:
    rows(connection, "CREATE OR REPLACE TABLE bound (id BIGINT, name TEXT, price DECIMAL(9,2))")
    with connection.cursor() as cursor:
        values = [(i, f"row {i}", decimal.Decimal(i) / 4) for i in range(1000)]
        cursor.executemany("INSERT INTO bound VALUES ($1, $2, $3)", values)
    assert rows(connection, "SELECT count(*), sum(price) FROM bound") == [(1000, decimal.Decimal("124875.00"))]
    assert rows(connection, "SELECT name FROM bound WHERE id = $1 OR name = $2 ORDER BY id", (7, "row 9")) == [("row 7",), ("row 9",)]
    assert rows(connection, "SELECT $1 + 1", (41,)) == [(42,)]
    assert rows(connection, "SELECT count(*) FROM bound WHERE id < ?", (10,)) == [(10,)]


def test_rows_are_ingested(connection: flightsql.Connection) -> None:
    rows(connection, "DROP TABLE IF EXISTS ingested")
    table = pa.table({"id": range(300_000), "Label": [f"label {i % 97}" for i in range(300_000)]})
    with connection.cursor() as cursor:
        assert cursor.adbc_ingest("ingested", table, mode="create") == 300_000
        assert cursor.adbc_ingest("ingested", table.slice(0, 10), mode="append") == 10
        with pytest.raises(adbc_driver_manager.Error, match="exists"):
            cursor.adbc_ingest("ingested", table, mode="create")
    assert rows(connection, 'SELECT count(*), count(DISTINCT "Label") FROM ingested') == [(300_010, 97)]
    with connection.cursor() as cursor:
        cursor.adbc_ingest("ingested", table.slice(0, 5).to_reader(), mode="replace")
        cursor.adbc_ingest("ingested", table.slice(0, 5), mode="create_append")
    assert rows(connection, "SELECT count(*) FROM ingested") == [(10,)]


def test_metadata_is_read(connection: flightsql.Connection) -> None:
    rows(connection, "DROP TABLE IF EXISTS told_of; DROP TABLE IF EXISTS told; CREATE TABLE told (a INTEGER PRIMARY KEY, b TEXT)")
    rows(connection, "CREATE TABLE told_of (a INTEGER REFERENCES told (a))")
    objects = connection.adbc_get_objects(depth="all", table_name_filter="told").read_all().to_pylist()
    [schema] = [schema for one in objects for schema in one["catalog_db_schemas"] if schema["db_schema_tables"]]
    [table] = schema["db_schema_tables"]
    assert (table["table_name"], table["table_type"]) == ("told", "TABLE")
    assert [column["column_name"] for column in table["table_columns"]] == ["a", "b"]
    assert connection.adbc_get_table_schema("told", db_schema_filter="public").names == ["a", "b"]
    assert "VIEW" in connection.adbc_get_table_types()


def test_transactions_are_kept_or_taken_back(server: Serving, connection: flightsql.Connection) -> None:
    rows(connection, "CREATE OR REPLACE TABLE kept (a INTEGER)")
    credentials = {"username": "quickstep", "password": server.password}
    with flightsql.connect(f"grpc://127.0.0.1:{server.http_port}", db_kwargs=credentials) as other:
        rows(other, "INSERT INTO kept VALUES (1)")
        other.rollback()
        rows(other, "INSERT INTO kept VALUES (2), (3)")
        assert rows(other, "SELECT count(*) FROM kept") == [(2,)] and rows(connection, "SELECT count(*) FROM kept") == [(0,)]
        other.commit()
    assert rows(connection, "SELECT sum(a)::bigint FROM kept") == [(5,)]


def test_errors_tell_what_is_wrong(connection: flightsql.Connection) -> None:
    with pytest.raises(adbc_driver_manager.Error) as told:
        rows(connection, "SELECT wrong FROM told_nothing")
    assert "42P01" in str(told.value) and dict(told.value.details)[b"sqlstate"] == b"42P01"


def test_a_query_is_cancelled(connection: flightsql.Connection, server: Serving) -> None:
    sql = "SELECT sum(i * j) FROM generate_series(1, 10000000) AS a(i), generate_series(1, 10000000) AS b(j)"
    with connection.cursor() as cursor:
        threading.Timer(0.5, cursor.adbc_cancel).start()
        begun = time.monotonic()
        with pytest.raises((adbc_driver_manager.Error, pa.ArrowException, OSError)):
            cursor.execute(sql)
            cursor.fetchall()
        assert time.monotonic() - begun < 10
    with connect(server) as other:
        running = "SELECT count(*) FROM pg_stat_activity WHERE query LIKE '%sum(i * j)%' AND query NOT LIKE '%activity%' AND state = 'active'"
        deadline = time.monotonic() + 10
        while rows(other, running) != [(0,)]:
            assert time.monotonic() < deadline, "the query goes on"
            time.sleep(0.05)


def test_a_wrong_password_is_refused(server: Serving) -> None:
    credentials = {"username": "quickstep", "password": "guessed"}
    with pytest.raises(adbc_driver_manager.Error, match="password"):
        flightsql.connect(f"grpc://127.0.0.1:{server.http_port}", db_kwargs=credentials)


def test_the_servers_token_lets_in(server: Serving) -> None:
    options = {DatabaseOptions.AUTHORIZATION_HEADER.value: f"Bearer {server.token}"}
    with flightsql.connect(f"grpc://127.0.0.1:{server.http_port}", db_kwargs=options, autocommit=True) as connection:
        assert rows(connection, "SELECT current_user::text") == [("quickstep",)]


@pytest.fixture(scope="module")
def secured(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Serving, str]]:
    """A server on all addresses, and its certificate."""
    folder = tmp_path_factory.mktemp("tls")
    certificate, key = str(folder / "server.crt"), str(folder / "server.key")
    names = "subjectAltName=DNS:localhost,IP:127.0.0.1"
    subprocess.run(
        [program("openssl"), "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=localhost"]
        + ["-addext", names, "-keyout", key, "-out", certificate],
        check=True,
        capture_output=True,
    )
    server = serve("--tls-cert", certificate, "--tls-key", key, listen="0.0.0.0")
    yield server, certificate
    assert server.stop() == 0


def own_address() -> str | None:
    """An address of this machine that is not loopback."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            probe.connect(("192.0.2.1", 9))
        except OSError:
            return None
        address = str(probe.getsockname()[0])
    return None if address.startswith("127.") else address


def test_flight_and_http_come_under_tls(secured: tuple[Serving, str]) -> None:
    server, certificate = secured
    trusted = {DatabaseOptions.TLS_ROOT_CERTS.value: Path(certificate).read_text()}
    with connect(server, f"grpc+tls://localhost:{server.http_port}", **trusted) as connection:
        assert rows(connection, "SELECT 1") == [(1,)]
    context = ssl.create_default_context(cafile=certificate)
    request = urllib.request.Request(
        f"https://localhost:{server.http_port}/v1/query",
        data=b'{"sql": "SELECT 41 + 1 AS v"}',
        headers={"Content-Type": "application/json", "Authorization": f"Bearer {server.token}"},
    )
    with urllib.request.urlopen(request, context=context) as answer:
        assert b"[42]" in answer.read()
    for offered, chosen in [(["h2", "http/1.1"], "h2"), (["http/1.1"], "http/1.1")]:
        context.set_alpn_protocols(offered)
        with socket.create_connection(("localhost", server.http_port)) as plain:
            with context.wrap_socket(plain, server_hostname="localhost") as encrypted:
                assert encrypted.selected_alpn_protocol() == chosen


def test_only_loopback_is_served_in_the_clear(secured: tuple[Serving, str]) -> None:
    server, certificate = secured
    with urllib.request.urlopen(f"http://127.0.0.1:{server.http_port}/health") as answer:
        assert answer.status == 200
    address = own_address()
    if address is None:
        pytest.skip("the machine has no other address")
    with pytest.raises(OSError):
        urllib.request.urlopen(f"http://{address}:{server.http_port}/health", timeout=10)
    context = ssl.create_default_context(cafile=certificate)
    context.check_hostname = False
    with urllib.request.urlopen(f"https://{address}:{server.http_port}/health", context=context) as answer:
        assert answer.status == 200


def test_pages_of_other_origins_are_refused_under_tls(secured: tuple[Serving, str]) -> None:
    server, certificate = secured
    context = ssl.create_default_context(cafile=certificate)
    for origin, status in [("https://evil.example", 403), (f"https://localhost:{server.http_port}", 200)]:
        request = urllib.request.Request(
            f"https://localhost:{server.http_port}/v1/session",
            headers={"Origin": origin, "Authorization": f"Bearer {server.token}"},
        )
        try:
            with urllib.request.urlopen(request, context=context) as answer:
                assert answer.status == status
        except urllib.error.HTTPError as error:
            assert error.code == status


def test_scram_is_bound_to_the_certificate(secured: tuple[Serving, str]) -> None:
    server, certificate = secured
    target = {**server.dsn, "host": "localhost", "dbname": "postgres", "sslmode": "verify-full", "sslrootcert": certificate}
    with psycopg.connect(**target, channel_binding="require") as connection:
        assert connection.execute("SELECT 1").fetchone() == (1,)
    with psycopg.connect(**target, channel_binding="disable") as connection:
        assert connection.execute("SELECT 1").fetchone() == (1,)


def test_the_greeting_names_the_addresses(server: Serving) -> None:
    assert any(re.search(r"Flight SQL", line) for line in server.greeting)
