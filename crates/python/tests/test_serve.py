"""A notebook's own database as a server: the program and clients of PostgreSQL's protocol and of HTTP at the same time."""

import gc
import json
import os
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.request

import psycopg
import pytest

import quickstep


@pytest.fixture
def con():
    return quickstep.connect(workers=2, memory="1GB")


def ports(**more):
    """Ports that are free, whatever else runs."""
    return {"port": 0, "http_port": 0, **more}


def asked(server, path, body=None, token=None, host=None):
    headers = {"Authorization": f"Bearer {token or server.token}", "Content-Type": "application/json"}
    if host:
        headers["Host"] = host
    data = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(f"http://127.0.0.1:{server.http_port}{path}", data, headers)
    with urllib.request.urlopen(request, timeout=30) as answer:
        return answer.read()


def test_clients_and_the_program_see_one_database(con):
    con.execute("CREATE TABLE t AS SELECT i, i * 2 AS x FROM generate_series(1, 1000) AS s(i)")
    with quickstep.serve(con, **ports()) as server:
        with psycopg.connect(server.dsn, autocommit=True) as client:
            assert client.execute("SELECT count(*), sum(x) FROM t").fetchone() == (1000, 1001000)
            assert client.execute("SELECT x FROM t WHERE i = %s", [7]).fetchone() == (14,)
            client.execute("CREATE TABLE theirs AS SELECT 1 AS one")
            assert con.sql("SELECT one FROM theirs").fetchall() == [(1,)]
            con.execute("INSERT INTO theirs VALUES (2)")
            assert client.execute("SELECT one FROM theirs ORDER BY one").fetchall() == [(1,), (2,)]
            assert server.connections == 1
        answer = json.loads(asked(server, "/v1/query", {"sql": "SELECT max(x) AS most FROM t"}))
        assert "2000" in json.dumps(answer)
    assert con.sql("SELECT count(*) FROM theirs").fetchall() == [(2,)]


def test_the_page_and_the_health_are_there(con):
    with quickstep.serve(con, **ports()) as server:
        assert server.url == f"http://127.0.0.1:{server.http_port}/?token={server.token}"
        assert b"<html" in asked(server, "/").lower()
        assert asked(server, "/health")
        assert str(server.http_port) in repr(server) and server.token not in repr(server)
        assert server.password not in repr(server)


def test_who_has_neither_password_nor_token_is_not_let_in(con):
    with quickstep.serve(con, **ports()) as server:
        place = {"host": "127.0.0.1", "port": server.port, "user": server.user, "dbname": "memory"}
        with pytest.raises(psycopg.OperationalError):
            psycopg.connect(**place, password="guessed")
        with pytest.raises(psycopg.OperationalError):
            psycopg.connect(**place)
        with pytest.raises(urllib.error.HTTPError) as refused:
            asked(server, "/v1/query", {"sql": "SELECT 1"}, token="guessed")
        assert refused.value.code == 401
        with pytest.raises(urllib.error.HTTPError) as refused:
            asked(server, "/v1/query", {"sql": "SELECT 1"}, host="attacker.example")
        assert refused.value.code in (400, 403, 421)


def test_a_password_is_the_servers_and_not_the_databases(tmp_path):
    con = quickstep.connect(tmp_path / "db", workers=2, memory="1GB")
    with quickstep.serve(con, password="correct horse", http=False, port=0) as server:
        assert server.password == "correct horse" and server.token is None and server.http_port is None
        assert server.url == server.dsn
        with psycopg.connect(server.dsn) as client:
            assert client.execute("SELECT rolpassword IS NULL FROM pg_authid WHERE rolname = current_user").fetchone() == (
                True,
            )
        with pytest.raises(psycopg.OperationalError):
            psycopg.connect(server.dsn.replace("correct", "other"))
    # A password that the database has stays what it is, beside the server's.
    con.execute("ALTER ROLE quickstep PASSWORD 'lasting'")
    with quickstep.serve(con, http=False, port=0) as server:
        assert server.password not in (None, "lasting")
        psycopg.connect(server.dsn).close()
    con.close()


def test_trust_asks_for_no_password(con):
    with quickstep.serve(con, trust=True, http=False, port=0) as server:
        assert server.password is None and "@" in server.dsn and ":@" not in server.dsn
        with psycopg.connect(server.dsn) as client:
            assert client.execute("SELECT 1").fetchone() == (1,)


def test_stopping_frees_the_port_and_again_does_nothing(con):
    server = quickstep.serve(con, **ports())
    port = server.port
    client = psycopg.connect(server.dsn)
    server.stop()
    server.stop()
    assert not server.running and repr(server) == "<quickstep.Server, stopped>" and server.connections == 0
    with pytest.raises(psycopg.OperationalError):
        client.execute("SELECT 1")
    with quickstep.serve(con, port=port, http=False) as again:
        assert again.port == port and again.running


def test_a_port_that_is_taken_is_an_error(con):
    with quickstep.serve(con, http=False, port=0) as server:
        with pytest.raises(quickstep.Error, match="in use"):
            quickstep.serve(con, http=False, port=server.port)


def test_a_server_needs_nobody_to_hold_it_and_outlives_the_connection(tmp_path):
    con = quickstep.connect(tmp_path / "db", workers=2, memory="1GB")
    con.execute("CREATE TABLE t AS SELECT 5 AS x")
    dsn = quickstep.serve(con, http=False, port=0).dsn
    con.close()
    gc.collect()
    with psycopg.connect(dsn) as client:
        assert client.execute("SELECT x FROM t").fetchone() == (5,)
    from quickstep import server

    for running in list(server._running.values()):
        running.stop()
    assert quickstep.connect(tmp_path / "db", workers=1, memory="512MB").sql("SELECT x FROM t").fetchall() == [(5,)]


def test_functions_of_the_program_are_called_for_clients(con):
    con.create_function("doubled", lambda x: x * 2, ["BIGINT"], "BIGINT")
    with quickstep.serve(con, **ports()) as server, psycopg.connect(server.dsn) as client:
        assert client.execute("SELECT doubled(21)").fetchone() == (42,)
        assert client.execute("SELECT sum(doubled(i)) FROM generate_series(1, 1000) AS t(i)").fetchone() == (1001000,)


def test_the_program_works_on_while_clients_do(con):
    con.execute("CREATE TABLE t AS SELECT i FROM generate_series(1, 100000) AS s(i)")
    with quickstep.serve(con, http=False, port=0) as server:
        found = []

        def client():
            with psycopg.connect(server.dsn) as mine:
                for _ in range(50):
                    found.append(mine.execute("SELECT sum(i) FROM t").fetchone())

        threads = [threading.Thread(target=client) for _ in range(3)]
        for thread in threads:
            thread.start()
        for _ in range(50):
            assert con.sql("SELECT count(*) FROM t").fetchall() == [(100000,)]
        for thread in threads:
            thread.join()
        assert found == [(5000050000,)] * 150


def test_an_interrupt_ends_what_stop_waits_for(con):
    with quickstep.serve(con, http=False, port=0) as server:
        client = psycopg.connect(server.dsn)
        errors = []

        def long():
            try:
                client.execute("SELECT count(*) FROM generate_series(1, 100000000000) AS t(i) WHERE i % 7 = 3")
            except psycopg.Error as error:
                errors.append(error)

        thread = threading.Thread(target=long)
        thread.start()
        while con.sql("SELECT count(*) FROM quickstep_queries").fetchall()[0][0] < 2:
            time.sleep(0.01)
        import signal

        threading.Timer(0.3, signal.raise_signal, [signal.SIGINT]).start()
        started = time.monotonic()
        with pytest.raises(KeyboardInterrupt):
            server.stop()
        thread.join()
        assert errors and time.monotonic() - started < 15


def test_a_program_that_ends_stops_its_servers():
    program = (
        "import quickstep\n"
        "con = quickstep.connect(workers=1, memory='512MB')\n"
        "print(quickstep.serve(con, port=0, http_port=0).port, flush=True)\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0 and int(done.stdout) > 0 and not done.stderr, done


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork")
def test_a_forked_child_has_no_server(con):
    with quickstep.serve(con, http=False, port=0) as server:
        child = os.fork()
        if child == 0:
            code = 1
            try:
                server.stop()
            except quickstep.Error:
                code = 0 if not server.running else 2
            os._exit(code)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
        psycopg.connect(server.dsn).close()


def test_the_default_connection_is_served_too():
    quickstep.sql("CREATE OR REPLACE TABLE served AS SELECT 3 AS x")
    with quickstep.serve(http=False, port=0) as server, psycopg.connect(server.dsn) as client:
        assert client.execute("SELECT x FROM served").fetchone() == (3,)
