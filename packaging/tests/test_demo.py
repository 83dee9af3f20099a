"""`make serve-demo`: TPC-H, generated once and served, with the page's address."""

import json
import re
import subprocess
import time
import urllib.request
from pathlib import Path

from conftest import HERE, Started


def ask(server: Started, sql: str) -> str:
    place, token = server.page.split("/?token=")
    request = urllib.request.Request(
        f"{place}/v1/query",
        json.dumps({"sql": sql}).encode(),
        {"Authorization": f"Bearer {token}", "Content-Type": "application/json", "Accept": "text/csv"},
    )
    with urllib.request.urlopen(request, timeout=60) as answer:
        return answer.read().decode()


def test_it_is_generated_once_served_and_stopped(tmp_path: Path, quickstep: str) -> None:
    demo = [str(HERE / "serve-demo"), quickstep, "0.01", str(tmp_path / "data"), "--port", "0", "--http-port", "0", "--socket", ""]
    for generated in (True, False):
        server = Started(demo, env={"PATH": "/usr/bin:/bin", "OPEN": "0", "HOME": str(tmp_path)})
        try:
            assert any("Generating TPC-H" in line for line in server.lines) == generated
            with urllib.request.urlopen(server.page, timeout=60) as page:
                assert b"<html" in page.read().lower()
            rows = ask(server, "SELECT count(*) AS n FROM lineitem").split()
            assert rows[0] == "n" and int(rows[1]) > 59_000
        finally:
            assert server.stop() == 0
        # Nothing is left that runs.
        found = subprocess.run(["pgrep", "-f", re.escape(str(tmp_path / "data"))], capture_output=True, text=True)
        until = time.monotonic() + 20
        while found.stdout and time.monotonic() < until:
            time.sleep(0.1)
            found = subprocess.run(["pgrep", "-f", re.escape(str(tmp_path / "data"))], capture_output=True, text=True)
        assert not found.stdout
