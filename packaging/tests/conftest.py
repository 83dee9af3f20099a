"""The command that is built, for tests of packages: $QUICKSTEP, or the release build."""

import os
import re
import subprocess
from pathlib import Path

import pytest

HERE = Path(__file__).resolve().parent.parent


@pytest.fixture(scope="session")
def quickstep() -> str:
    named = os.environ.get("QUICKSTEP")
    return named or str(Path(os.environ["CARGO_TARGET_DIR"]) / "release" / "quickstep")


class Started:
    """A server that runs, and where its page is."""

    def __init__(self, command: list[str], **more: object) -> None:
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, **more)
        assert self.process.stdout
        self.lines: list[str] = []
        self.page = self.password = ""
        self.port = 0
        for line in self.process.stdout:
            self.lines.append(line)
            if found := re.search(r"The password of the superuser .* is (\S+)", line):
                self.password = found[1]
            if found := re.match(r" *psql -h \S+ -p (\d+)", line):
                self.port = int(found[1])
            if found := re.search(r"http://127.0.0.1:(\d+)/\?token=\w+", line):
                self.page, self.http_port = found[0], int(found[1])
                return
        raise AssertionError("".join(self.lines))

    def stop(self) -> int:
        self.process.terminate()
        self.process.communicate(timeout=60)
        return self.process.returncode
