"""psql and pgbench against a server."""

import os
import signal
import subprocess
import time

from conftest import Serving, program, serve


def psql(server: Serving, *arguments: str, host: str = "127.0.0.1", text: str | None = None) -> str:
    command = [program("psql"), "-X", "-v", "ON_ERROR_STOP=1", *arguments]
    done = subprocess.run(
        command, env=server.environment(host), input=text, capture_output=True, text=True, timeout=60, check=False
    )
    return done.stdout + done.stderr


def test_it_is_us(server: Serving) -> None:
    assert "Quickstep" in psql(server, "-Atc", "SELECT version()")


def test_the_socket_asks_its_owner_for_no_password(server: Serving) -> None:
    environment = server.environment(server.folder)
    del environment["PGPASSWORD"]
    command = [program("psql"), "-X", "-w", "-Atc", "SELECT 1 + 1"]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=60, check=False)
    assert done.stdout == "2\n", done.stderr


def test_a_wrong_password_is_refused(server: Serving) -> None:
    for user in ("quickstep", "nobody"):
        environment = {**server.environment(), "PGPASSWORD": "wrong", "PGUSER": user}
        command = [program("psql"), "-X", "-w", "-Atc", "SELECT 1"]
        done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=60, check=False)
        assert done.returncode == 2
        assert f'password authentication failed for user "{user}"' in done.stderr


def test_results_and_errors(server: Serving) -> None:
    shown = psql(server, "-c", "SELECT 1 AS one, 'a' AS letter, NULL AS nothing, 1.50 AS price, true AS yes")
    assert shown.splitlines() == [
        " one | letter | nothing | price | yes ",
        "-----+--------+---------+-------+-----",
        "   1 | a      |         |  1.50 | t",
        "(1 row)",
        "",
    ]
    error = psql(server, "-c", "SELECT nam FROM (SELECT 1 AS name) AS t")
    assert "LINE 1: SELECT nam FROM" in error and "       ^" in error and 'did you mean "name"' in error


def test_a_script_and_copy(server: Serving, tmp_path: object) -> None:
    script = """
        CREATE TABLE copied (i INT, s TEXT);
        \\copy copied FROM STDIN (FORMAT csv)
1,a
2,b
\\.
        BEGIN; INSERT INTO copied VALUES (3, 'c'); ROLLBACK;
        \\copy (SELECT * FROM copied ORDER BY i) TO STDOUT (FORMAT csv, HEADER false)
        DROP TABLE copied;
    """
    assert psql(server, "-q", text=script) == "1,a\n2,b\n"


def test_a_result_larger_than_any_buffer(server: Serving) -> None:
    command = [program("psql"), "-X", "-At", "-c", "SELECT i, repeat('x', 50) FROM generate_series(1, 300000) AS t(i)"]
    done = subprocess.run(command, env=server.environment(), capture_output=True, timeout=120, check=True)
    lines = done.stdout.splitlines()
    assert len(lines) == 300_000 and lines[-1] == b"300000|" + b"x" * 50


def test_ctrl_c_in_psql_cancels(server: Serving) -> None:
    text = "SELECT count(*) FROM generate_series(1, 1000000) AS a(i), generate_series(1, 1000000) AS b(j)"
    command = [program("psql"), "-X", "-c", text]
    process = subprocess.Popen(command, env=server.environment(), stderr=subprocess.PIPE, text=True)
    time.sleep(1)
    process.send_signal(signal.SIGINT)
    _, error = process.communicate(timeout=20)
    assert "canceling statement due to user request" in error


def test_pgbench_simple_and_prepared(server: Serving, tmp_path: object) -> None:
    path = os.path.join(str(tmp_path), "one.sql")
    with open(path, "w") as file:
        file.write("SELECT 1;\n")
    for mode in ("simple", "extended", "prepared"):
        command = [program("pgbench"), "-n", "-f", path, "-M", mode, "-c", "8", "-j", "2", "-t", "50"]
        done = subprocess.run(
            command, env=server.environment(), capture_output=True, text=True, timeout=120, check=False
        )
        assert done.returncode == 0, done.stderr
        assert "number of failed transactions: 0 (0.000%)" in done.stdout
        assert "number of transactions actually processed: 400/400" in done.stdout


def test_it_stops_in_good_order_and_reads_its_configuration_again(tmp_path: object) -> None:
    path = os.path.join(str(tmp_path), "server.toml")
    with open(path, "w") as file:
        file.write("[settings]\nstatement_timeout = '1min'\n")
    server = serve("--config", path)
    assert psql(server, "-Atc", "SHOW statement_timeout") == "60000ms\n"
    with open(path, "w") as file:
        file.write("[settings]\nstatement_timeout = '2min'\n")
    server.process.send_signal(signal.SIGHUP)
    for _ in range(100):
        if psql(server, "-Atc", "SHOW statement_timeout") == "120000ms\n":
            break
        time.sleep(0.05)
    else:
        raise AssertionError("the configuration was not read again")
    assert server.stop() == 0
    assert not os.path.exists(os.path.join(server.folder, f".s.PGSQL.{server.port}"))


def test_other_addresses_are_refused_without_tls() -> None:
    from conftest import COMMAND

    done = subprocess.run(
        [COMMAND, "serve", "--listen", "0.0.0.0", "--port", "0"], capture_output=True, text=True, timeout=60, check=False
    )
    assert done.returncode == 1 and "there is no TLS" in done.stderr


def test_tls(tmp_path: object) -> None:
    """A certificate that the client verifies, by SSLRequest and by TLS from the first byte."""
    certificate, key = (os.path.join(str(tmp_path), name) for name in ("server.pem", "server.key"))
    subprocess.run(
        [program("openssl"), "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=localhost"]
        + ["-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1", "-keyout", key, "-out", certificate],
        check=True,
        capture_output=True,
    )
    server = serve("--tls-cert", certificate, "--tls-key", key)
    for wanted in ({"PGSSLMODE": "require"}, {"PGSSLMODE": "verify-full", "PGSSLROOTCERT": certificate}):
        command = [program("psql"), "-X", "-w", "-c", "\\conninfo", "-Atc", "SELECT 1"]
        done = subprocess.run(
            command, env={**server.environment(), **wanted}, capture_output=True, text=True, timeout=60, check=False
        )
        assert done.returncode == 0 and "TLSv1.3" in done.stdout and done.stdout.endswith("1\n"), done
    # One that is signed by nobody the client trusts is its business to refuse; the server goes on.
    command = [program("psql"), "-X", "-w", "-Atc", "SELECT 1"]
    refusing = {**server.environment(), "PGSSLMODE": "verify-full", "PGSSLROOTCERT": "/dev/null"}
    assert subprocess.run(command, env=refusing, capture_output=True, timeout=60, check=False).returncode == 2
    assert psql(server, "-Atc", "SELECT 2") == "2\n"
    assert server.stop() == 0


def test_pg_dump_runs(server: Serving) -> None:
    """What is there goes out, and comes back into an empty schema, by PostgreSQL's own programs."""
    psql(
        server,
        "-c",
        """CREATE SCHEMA dumped; CREATE TABLE dumped.t (a INTEGER PRIMARY KEY, b TEXT NOT NULL DEFAULT 'x', c NUMERIC(10,2));
        INSERT INTO dumped.t VALUES (1, 'one', 1.5), (2, E'a\\tb', NULL); COMMENT ON TABLE dumped.t IS 'of a test'""",
    )
    command = [program("pg_dump"), "--schema=dumped", "--no-owner", "--no-privileges", "postgres"]
    done = subprocess.run(command, env=server.environment(), capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
    assert "CREATE TABLE dumped.t" in done.stdout and "COPY dumped.t (a, b, c) FROM stdin" in done.stdout
    assert "1\tone\t1.50\n" in done.stdout and "COMMENT ON TABLE dumped.t IS 'of a test'" in done.stdout
    psql(server, "-c", "DROP SCHEMA dumped CASCADE")
    restored = psql(server, "-q", text=done.stdout)
    assert "ERROR" not in restored, restored
    assert psql(server, "-Atc", "SELECT a, b, c FROM dumped.t ORDER BY a") == "1|one|1.50\n2|a\tb|\n"
    psql(server, "-c", "DROP SCHEMA dumped CASCADE")
