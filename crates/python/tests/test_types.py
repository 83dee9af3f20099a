"""The package's types, as a type checker sees them."""

import subprocess
import sys
import textwrap

import pytest
import quickstep

pytest.importorskip("mypy")

PROGRAM = """
import quickstep

con = quickstep.connect(workers=2, memory="1GB")
relation = con.sql("SELECT 1 AS a").filter("a > ?").project("a", "a + 1")
rows: list[tuple[object, ...]] = relation.fetchall()
count: int = len(relation)
shape: tuple[int, int] = relation.shape
names: list[str] = relation.columns

def told(progress: quickstep.Progress) -> None:
    left: float | None = progress.seconds_left

con.on_progress = told
con.execute("SELECT ?", [1]).fetchone()
"""


def checked(*arguments, folder):
    command = [sys.executable, "-m", "mypy", "--strict", "--cache-dir", str(folder / "cache"), *arguments]
    run = subprocess.run(command, capture_output=True, text=True, cwd=folder, check=False)
    assert run.returncode == 0, run.stdout + run.stderr


def test_the_package_is_typed(tmp_path):
    checked("-p", "quickstep", folder=tmp_path)


def test_a_program_that_uses_it_is_checked(tmp_path):
    (tmp_path / "program.py").write_text(textwrap.dedent(PROGRAM))
    checked("program.py", folder=tmp_path)
    (tmp_path / "wrong.py").write_text("import quickstep\nquickstep.connect(workers='two')\n")
    with pytest.raises(AssertionError, match="workers"):
        checked("wrong.py", folder=tmp_path)
    assert quickstep.__file__
