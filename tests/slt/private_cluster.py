"""A private PostgreSQL cluster that lives for one run of regenerate.py.

Why it exists: answers must not depend on somebody's server settings. The cluster is
made in a temporary folder with locale C and encoding UTF8, listens on a Unix socket
only, and is stopped and deleted at the end. PostgreSQL refuses to run as root, so
under root the server runs as the system user `postgres`.
"""

import contextlib
import glob
import os
import pathlib
import shutil
import subprocess
import tempfile

PORT = 55432
SUPERUSER = "slt"


def find_programs():
    """The folder with initdb and pg_ctl: version 15 where there are several."""
    candidates = glob.glob("/usr/lib/postgresql/15/bin") + glob.glob("/usr/lib/postgresql/*/bin")
    if on_path := shutil.which("pg_ctl"):
        candidates.append(str(pathlib.Path(on_path).parent))
    for folder in candidates:
        if os.path.exists(f"{folder}/pg_ctl") and os.path.exists(f"{folder}/initdb"):
            return folder
    raise SystemExit("PostgreSQL 15 is not installed (Debian: apt-get install postgresql)")


def _as_server_user(arguments):
    if os.geteuid() == 0:
        return ["runuser", "-u", "postgres", "--", *arguments]
    return arguments


def _run(arguments):
    # A file, not a pipe: the server inherits it and would hold a pipe open for ever.
    with tempfile.TemporaryFile() as log:
        done = subprocess.run(
            _as_server_user(arguments), stdout=log, stderr=log, stdin=subprocess.DEVNULL, cwd="/"
        )
        if done.returncode != 0:
            log.seek(0)
            raise SystemExit(f"{arguments[0]} failed:\n{log.read().decode()}")


@contextlib.contextmanager
def private_cluster():
    """Yields the folder of the server's socket."""
    programs = find_programs()
    folder = tempfile.mkdtemp(prefix="slt-postgres-")
    if os.geteuid() == 0:
        shutil.chown(folder, "postgres", "postgres")
    data = f"{folder}/data"
    try:
        _run([f"{programs}/initdb", "-D", data, "-U", SUPERUSER, "-A", "trust",
              "--locale=C", "--encoding=UTF8", "--no-sync"])
        options = (
            f"-k {folder} -p {PORT} -c listen_addresses='' -c fsync=off "
            "-c full_page_writes=off -c timezone=UTC -c lc_messages=C "
            "-c statement_timeout=120s -c jit=off"
        )
        _run([f"{programs}/pg_ctl", "-D", data, "-w", "-l", f"{folder}/log", "-o", options, "start"])
        try:
            yield folder
        finally:
            _run([f"{programs}/pg_ctl", "-D", data, "-m", "immediate", "stop"])
    finally:
        shutil.rmtree(folder, ignore_errors=True)
