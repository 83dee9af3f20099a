"""PostgreSQL: a server of its own for the run, with keys, indexes and statistics.

A row store without these is not what anyone runs, so they are made, and their
time is part of loading.  Nothing survives the run: tables are unlogged and the
server does not wait for the disk.
"""

from __future__ import annotations

import ctypes
import os
import shutil
import signal
import subprocess
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import psycopg
import pyarrow as pa

from compare.csv_files import csv_file
from compare.engines.base import Configuration
from compare.engines.tables import create_table, foreign_keys, primary_key

SETTINGS = {
    "listen_addresses": "",
    "work_mem": "512MB",
    "maintenance_work_mem": "1GB",
    "effective_cache_size": "6GB",
    "shared_buffers": "3GB",
    "random_page_cost": "1.1",
    "fsync": "off",
    "synchronous_commit": "off",
    "full_page_writes": "off",
    "wal_level": "minimal",
    "max_wal_senders": "0",
    "max_wal_size": "16GB",
    "autovacuum": "off",
    "min_parallel_table_scan_size": "1MB",
}
COPY_BYTES = 2**20
START_SECONDS_MAX = 30.0


class PostgresEngine:
    """COPY from CSV, primary keys, indexes on foreign keys, VACUUM ANALYZE."""

    def start(self, configuration: Configuration) -> None:
        self._folder = configuration.scratch / "postgres"
        self._folder.mkdir(mode=0o700)
        # PostgreSQL refuses to run as root; the scratch folder must be passable.
        self._user = "postgres" if os.geteuid() == 0 else None
        if self._user is not None:
            shutil.chown(self._folder, self._user)
            configuration.scratch.chmod(0o755)
        command = [program("initdb"), "-D", str(self._folder), "-U", "bench"]
        self._run([*command, "-A", "trust", "--locale=C", "-E", "UTF8", "--no-sync"])
        settings = {
            **SETTINGS,
            "unix_socket_directories": str(self._folder),
            "max_parallel_workers_per_gather": str(configuration.threads),
            "max_parallel_workers": str(configuration.threads),
            "max_parallel_maintenance_workers": str(configuration.threads),
            "statement_timeout": f"{configuration.query_seconds_max * 1000:.0f}",
            **configuration.settings,
        }
        options = [part for name, value in settings.items() for part in ("-c", f"{name}={value}")]
        log = (configuration.scratch / "postgres.log").open("wb")
        self._server = subprocess.Popen(
            [program("postgres"), "-D", str(self._folder), *options],
            user=self._user,
            group=self._user,
            cwd="/",
            stdout=log,
            stderr=log,
            preexec_fn=end_with_parent,
        )
        self._connection = self._connect(configuration.scratch / "postgres.log")
        self._tables: dict[str, Path] = {}

    def _run(self, command: Sequence[str]) -> None:
        subprocess.run(
            command,
            user=self._user,
            group=self._user,
            cwd="/",
            check=True,
            stdout=subprocess.DEVNULL,
        )

    def _connect(self, log: Path) -> psycopg.Connection[Any]:
        deadline = time.monotonic() + START_SECONDS_MAX
        while True:
            try:
                return psycopg.connect(
                    f"host={self._folder} user=bench dbname=postgres", autocommit=True
                )
            except psycopg.OperationalError:
                if time.monotonic() > deadline or self._server.poll() is not None:
                    raise RuntimeError(f"no server: {log.read_text()[-300:]}") from None
                time.sleep(0.1)

    def version(self) -> str:
        return str(self._connection.info.parameter_status("server_version")).split()[0]

    def description(self) -> str:
        return (
            "unlogged tables by COPY from CSV, primary keys, indexes on foreign keys, VACUUM "
            f"ANALYZE; shared_buffers {SETTINGS['shared_buffers']}, work_mem {SETTINGS['work_mem']}"
            ", parallel workers = threads; rows by psycopg, then Arrow"
        )

    def load(self, table: str, file: Path) -> None:
        self._tables[table] = file
        self._connection.execute(create_table(table, file, "create unlogged table"))
        copy = f"copy {table} from stdin (format csv)"
        with (
            csv_file(file).open("rb") as source,
            self._connection.cursor() as cursor,
            cursor.copy(copy) as sink,
        ):
            while piece := source.read(COPY_BYTES):
                sink.write(piece)

    def finish_loading(self) -> None:
        self._connection.execute("set statement_timeout = 0")
        for table, file in self._tables.items():
            key = primary_key(table, file)
            self._connection.execute(f"alter table {table} add primary key ({key})")
            for columns in foreign_keys(table, file):
                self._connection.execute(f"create index on {table} ({columns})")
        self._connection.execute("vacuum analyze")
        self._connection.execute("reset statement_timeout")

    def query(self, sql: str) -> pa.Table:
        with self._connection.cursor(binary=True) as cursor:
            cursor.execute(sql)
            assert cursor.description is not None, "a query has columns"
            names = [column.name for column in cursor.description]
            rows = cursor.fetchall()
        columns = zip(*rows, strict=True) if rows else ([] for _ in names)
        return pa.Table.from_arrays([pa.array(list(column)) for column in columns], names)

    def close(self) -> None:
        self._connection.close()
        self._server.send_signal(signal.SIGINT)
        self._server.wait()


def program(name: str) -> str:
    """A server program: Debian keeps them out of PATH."""
    found = shutil.which(name)
    if found is not None:
        return found
    candidates = sorted(Path("/usr/lib/postgresql").glob(f"*/bin/{name}"))
    if not candidates:
        raise RuntimeError(f"PostgreSQL's {name} is not installed (apt-get install postgresql)")
    return str(candidates[-1])


def end_with_parent() -> None:
    """The server must not outlive a worker that is killed."""
    set_parent_death_signal = 1
    ctypes.CDLL(None).prctl(set_parent_death_signal, signal.SIGQUIT, 0, 0, 0)
