"""A `quickstep serve` for the clients of a test run, by the command that is built, or $QUICKSTEP. A client that is not installed fails."""

import os
import re
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest

COMMAND = os.environ.get("QUICKSTEP") or str(Path(os.environ["CARGO_TARGET_DIR"]) / "release" / "quickstep")


@dataclass
class Serving:
    """A server that runs, and how it is reached."""

    process: subprocess.Popen[str]
    folder: str
    port: int
    password: str
    greeting: list[str] = field(default_factory=list)
    http_port: int = 0
    token: str = ""

    @property
    def dsn(self) -> dict[str, object]:
        return {"host": "127.0.0.1", "port": self.port, "user": "quickstep", "password": self.password}

    def environment(self, host: str = "127.0.0.1") -> dict[str, str]:
        variables = {"PGHOST": host, "PGPORT": str(self.port), "PGUSER": "quickstep", "PGPASSWORD": self.password}
        return {**os.environ, **variables, "PGDATABASE": "postgres"}

    def stop(self) -> int:
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(timeout=60)


def serve(*arguments: str, folder: str | None = None, listen: str = "127.0.0.1") -> Serving:
    """Starts a server on ports of its own; its socket is in a folder of its own."""
    folder = folder or tempfile.mkdtemp(prefix="quickstep-clients-")
    ports = [] if "--no-http" in arguments else ["--http-port", "0"]
    command = [COMMAND, "serve", "--port", "0", *ports, "--socket", folder, "--listen", listen, *arguments]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    assert process.stdout
    greeting, password, port, http_port, token = [], "", 0, 0, ""
    for line in process.stdout:
        greeting.append(line)
        if found := re.search(r"The password of the superuser .* is (\S+)", line):
            password = found[1]
        if found := re.match(r"  psql -h \S+ -p (\d+)", line):
            port = int(found[1])
        if found := re.search(r"http://127.0.0.1:(\d+)/\?token=(\w+)", line):
            http_port, token = int(found[1]), found[2]
        if port and (http_port or not ports):
            break
    assert port, f"the server did not start: {greeting}"
    return Serving(process, folder, port, password, greeting, http_port, token)


@pytest.fixture(scope="session")
def server() -> Iterator[Serving]:
    serving = serve()
    yield serving
    assert serving.stop() == 0
    shutil.rmtree(serving.folder, ignore_errors=True)


def program(name: str) -> str:
    path = shutil.which(name)
    assert path, f"{name} is not installed: `make setup` does it"
    return path
