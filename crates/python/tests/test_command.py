"""The command that comes with the package: the same as the program, whoever starts it."""

import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
import quickstep

SCRIPT = [str(Path(sys.executable).with_name("quickstep"))]
MODULE = [sys.executable, "-m", "quickstep"]


def run(command: list[str], *words: str, text: str = "") -> subprocess.CompletedProcess[str]:
    return subprocess.run([*command, *words], input=text, capture_output=True, text=True, timeout=60)


@pytest.mark.parametrize("command", [SCRIPT, MODULE], ids=["script", "module"])
def test_statements_are_run(command: list[str]) -> None:
    ended = run(command, "--format", "csv", "-c", "SELECT 40 + 2 AS answer")
    assert (ended.stdout, ended.stderr, ended.returncode) == ("answer\n42\n", "", 0)
    ended = run(command, "--format", "csv", text="SELECT 1 AS a;\nSELECT 'ü' AS b;\n")
    assert (ended.stdout, ended.returncode) == ("a\n1\nb\nü\n", 0)
    assert run(command, "--version").stdout == f"quickstep {quickstep.__version__}\n"


def test_the_status_says_what_happened(tmp_path: Path) -> None:
    ended = run(SCRIPT, "-c", "SELECT 1/0")
    assert ended.returncode == 1
    assert "division by zero" in ended.stderr
    assert run(SCRIPT, "--no-such-option").returncode == 2
    # What it stores, the package reads.
    folder = str(tmp_path / "db")
    assert run(SCRIPT, folder, "-c", "CREATE TABLE t AS SELECT 7 AS a").returncode == 0
    with quickstep.connect(folder) as con:
        assert con.sql("SELECT a FROM t").fetchall() == [(7,)]


def test_an_interrupt_ends_the_statement() -> None:
    endless = "SELECT count(*) FROM range(10000000) a, range(10000000) b WHERE a.range + b.range = 1"
    running = subprocess.Popen([*SCRIPT, "-c", "SELECT 1", "-c", endless], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert running.stdout is not None
    # The first result is there: the command is at work, and its handler stands.
    running.stdout.readline()
    time.sleep(0.5)
    running.send_signal(signal.SIGINT)
    assert running.wait(60) == 130
