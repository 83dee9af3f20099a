"""Runs SQLAlchemy's suite for dialects on Quickstep: `python run.py [-k EXPRESSION]`.

Fails where fewer than 95 of 100 tests that are run pass, or where one fails that is not in `known.txt`, which has a
reason for each. Tests that `requirements.py` closes are not run and not counted.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path
from xml.etree import ElementTree

import quickstep

HERE = Path(__file__).resolve().parent
PASS_MIN = 0.95


def known() -> set[str]:
    """Tests that are known to fail: class and function, without what they are called with."""
    lines = (HERE / "known.txt").read_text().splitlines()
    return {line.split()[0] for line in lines if line.strip() and not line.startswith("#")}


def ran(folder: Path, arguments: list[str]) -> tuple[int, dict[str, int]]:
    """How many tests passed, and how many of each name did not."""
    database = folder / "suite.db"
    with quickstep.connect(database) as con:
        con.execute("CREATE SCHEMA test_schema; CREATE SCHEMA test_schema_2")
    report = folder / "report.xml"
    command = [sys.executable, "-m", "pytest", "-q", "--tb=short", "-p", "no:cacheprovider", "-c", "setup.cfg", "suite.py"]
    url = f"quickstep:///{database}?workers=2&memory=1GB"
    subprocess.run([*command, "--dburi", url, "--maxfail=10000", f"--junitxml={report}", *arguments], cwd=HERE, check=False)
    passed, failed = 0, {}
    for case in ElementTree.parse(report).iter("testcase"):
        tags = {child.tag for child in case}
        if tags & {"failure", "error"}:
            name = case.get("classname", "").rpartition(".")[2].partition("_quickstep")[0]
            function = case.get("name", "").partition("[")[0]
            key = f"{name}.{function}"
            failed[key] = failed.get(key, 0) + 1
        elif "skipped" not in tags:
            passed += 1
    return passed, failed


def main() -> int:
    """Runs it and says what came out."""
    with tempfile.TemporaryDirectory(prefix="quickstep-sqlalchemy-") as folder:
        passed, failed = ran(Path(folder), sys.argv[1:])
    total = passed + sum(failed.values())
    share = passed / total if total else 0.0
    news = sorted(set(failed) - known())
    for name, count in sorted(failed.items()):
        print(f"{'NEW ' if name in news else 'known'} {count:4} {name}")
    print(f"{passed} of {total} passed: {share:.1%}")
    # A part says nothing of the whole.
    enough = share >= PASS_MIN or len(sys.argv) > 1
    return 0 if enough and not news else 1


if __name__ == "__main__":
    sys.exit(main())
