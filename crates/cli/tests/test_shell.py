"""The interactive shell, through a pseudo-terminal, as a person meets it."""

from __future__ import annotations

import os
import re
import subprocess
import time
from pathlib import Path

import pexpect
import pytest

# The line editor switches bracketed paste on when it waits and off when it has a line.
WAITS = re.escape("\x1b[?2004h")
TAKEN = re.escape("\x1b[?2004l")
CONTROL = re.compile(r"\x1b\[[0-9;?]*[a-zA-Z]|\r")


def command() -> str:
    return os.environ.get("QUICKSTEP") or str(Path(os.environ["CARGO_TARGET_DIR"]) / "release" / "quickstep")


class Shell:
    def __init__(self, home: Path, *arguments: str, colours: bool = False, rows: int = 50, columns: int = 90) -> None:
        environment = {"HOME": str(home), "TERM": "xterm", "PATH": os.environ["PATH"]}
        if not colours:
            environment["NO_COLOR"] = "1"
        self.terminal = pexpect.spawn(
            command(),
            list(arguments),
            env=environment,
            dimensions=(rows, columns),
            encoding="utf-8",
            timeout=60,
        )
        self.terminal.expect(WAITS)
        self.greeting = CONTROL.sub("", self.terminal.before)

    def __enter__(self) -> Shell:
        return self

    def __exit__(self, *_: object) -> None:
        self.terminal.close(force=True)

    def run(self, text: str) -> str:
        """Types a line (or several) and returns what is printed until the prompt is back."""
        self.terminal.send(text + "\r")
        self.terminal.expect(TAKEN)
        self.terminal.expect(WAITS)
        return CONTROL.sub("", self.terminal.before).strip("\n")

    def leave(self, keys: str = "\\q\r") -> int:
        self.terminal.send(keys)
        self.terminal.expect(pexpect.EOF)
        self.terminal.close()
        return self.terminal.exitstatus


@pytest.fixture
def shell(tmp_path):
    with Shell(tmp_path) as shell:
        yield shell


def test_greeting_help_and_leaving(shell):
    assert "Quickstep" in shell.greeting and "\\help" in shell.greeting
    assert "\\timing" in shell.run("\\help")
    assert shell.run("\\help copy").startswith("  \\copy")
    assert shell.leave() == 0


@pytest.mark.parametrize("keys", ["\x04", "exit\r", "quit;\r"])
def test_ways_to_leave(tmp_path, keys):
    with Shell(tmp_path) as shell:
        assert shell.leave(keys) == 0


def test_a_statement_may_take_several_lines(shell):
    shell.run("SELECT 'a;b' AS t, -- no end; yet")
    shell.run("  2 AS n")
    shown = shell.run(";")
    assert shown == " t   | n\n-----+---\n a;b | 2\n(1 row)"


def test_an_error_points_at_its_place_and_the_shell_goes_on(shell):
    shown = shell.run("SELECT nosuch FROM (VALUES (1)) AS t(x);").splitlines()
    caret = next(i for i, line in enumerate(shown) if line.strip().startswith("^"))
    assert shown[caret].index("^") == shown[caret - 1].index("nosuch")
    assert "42" in shell.run("SELECT 42 AS x;")


def test_tables_are_listed_and_described(shell):
    assert "CALL tpch" in shell.run("\\dt")
    shell.run("CREATE TABLE parent (id INTEGER PRIMARY KEY); CREATE TABLE child (id INTEGER REFERENCES parent, note TEXT);")
    listed = shell.run("\\dt")
    assert "parent" in listed and "child" in listed
    described = shell.run("\\d child")
    assert re.search(r"note +TEXT", described)
    assert "foreign key (id) references parent (id)" in described
    assert "primary key (id)" in shell.run("\\d parent")
    assert "did you mean" in shell.run("\\d paren")
    shell.run("COMMENT ON COLUMN child.note IS 'in a few words'; ALTER TABLE child ADD COLUMN n INTEGER DEFAULT 3;")
    described = shell.run("\\d child")
    assert re.search(r"note +TEXT +-- in a few words", described) and re.search(r"n +INTEGER +default 3", described)
    shell.run("CREATE VIEW seen AS SELECT note FROM child;")
    assert re.search(r"seen +view", shell.run("\\dt"))
    described = shell.run("\\d seen")
    assert re.search(r"note +TEXT", described) and "view: SELECT note FROM child" in described


def test_wide_results_fit_and_expand(shell):
    statement = "SELECT 1 AS id, repeat('wide ', 60) AS text, 'end' AS last;"
    shown = shell.run(statement)
    assert all(len(line) <= 90 for line in shown.splitlines()) and "…" in shown and "end" in shown
    assert "on" in shell.run("\\x")
    assert "wide " * 60 in shell.run(statement).replace("\n", "")


def test_many_columns_hide_the_middle(shell):
    columns = ", ".join(f"{i} AS column_number_{i}" for i in range(40))
    shown = shell.run(f"SELECT {columns};")
    assert "of 40 columns hidden" in shown and "column_number_0" not in shown.splitlines()[0].split("|")[1]


def test_timing_format_and_plan(shell):
    assert shell.run("\\timing") == "timing is on"
    assert re.search(r"Time: \d+\.\d+ ms$", shell.run("SELECT 1 AS a;"))
    shell.run("\\timing off")
    shell.run("\\format json")
    assert shell.run("SELECT 1 AS a;") == '[\n  {"a": 1}\n]'
    assert "table, box, csv" in shell.run("\\format yaml")
    shell.run("\\format table")
    shell.run("SELECT count(*) FROM (VALUES (1), (2)) AS t(x);")
    assert "rows" in shell.run("\\explain") and "Aggregate" in shell.run("\\plan")
    assert "did you mean \\timing" in shell.run("\\timin")


def test_copy_out_and_in(shell, tmp_path):
    shell.run("CREATE TABLE t (k INTEGER, v TEXT); INSERT INTO t VALUES (1, 'one'), (2, NULL);")
    for name in ["t.csv", "t.parquet", "t.arrow"]:
        assert shell.run(f"\\copy t TO '{tmp_path}/{name}'") == "COPY 2"
        shell.run("CREATE OR REPLACE TABLE again (k INTEGER, v TEXT);")
        assert shell.run(f"\\copy again FROM '{tmp_path}/{name}'") == "COPY 2"
        assert "one" in shell.run("SELECT * FROM again WHERE k = 1;")
    assert shell.run(f"\\copy (SELECT v FROM t WHERE k = 1) TO '{tmp_path}/t.ndjson'") == "COPY 1"
    assert (tmp_path / "t.ndjson").read_text() == '{"v": "one"}\n'
    assert "format" in shell.run(f"\\copy t TO '{tmp_path}/t.unknown'")
    assert "cannot write" in shell.run(f"\\copy t TO '{tmp_path}/no/such/folder/t.csv'")
    assert not list(tmp_path.glob("*.unfinished"))


def test_completion(shell):
    shell.run("CREATE TABLE measurements (reading INTEGER);")
    shell.terminal.send("sel\t * from meas\t;\r")
    shell.terminal.expect(TAKEN)
    shell.terminal.expect(WAITS)
    assert "(0 rows)" in shell.terminal.before


def test_history_is_kept(tmp_path):
    with Shell(tmp_path) as first:
        first.run("SELECT 'remembered' AS x;")
        first.leave()
    with Shell(tmp_path) as second:
        assert "remembered\n(1 row)" in second.run("\x1b[A")


def test_keywords_are_coloured_unless_not_wanted(tmp_path):
    with Shell(tmp_path, colours=True) as coloured:
        coloured.terminal.send("select 'x';\r")
        coloured.terminal.expect(TAKEN)
        assert "\x1b[1;34mselect\x1b[0m" in coloured.terminal.before
    with Shell(tmp_path) as plain:
        plain.terminal.send("select 'x';\r")
        plain.terminal.expect(TAKEN)
        assert "\x1b[1;34m" not in plain.terminal.before


def test_startup_file(tmp_path):
    folder = tmp_path / ".config" / "quickstep"
    folder.mkdir(parents=True)
    (folder / "startup.sql").write_text("\\timing on\n-- a comment\nCREATE TABLE ready\n  (x INTEGER);\n")
    with Shell(tmp_path) as shell:
        assert "timing is on" in shell.greeting
        assert "ready" in shell.run("\\dt")
    with Shell(tmp_path, "--no-startup") as shell:
        assert "ready" not in shell.run("\\dt")
    (folder / "startup.sql").write_text("SELECT nonsense;\n")
    with Shell(tmp_path) as shell:
        assert "nonsense" in shell.greeting and "ends here" in shell.greeting
        assert "1" in shell.run("SELECT 1 AS x;")


def test_a_long_statement_shows_progress_and_an_interrupt_ends_it(shell):
    shell.run("CALL tpch(scale => 0.05);")
    shell.terminal.send("SELECT sum(a.l_tax * b.l_tax) FROM lineitem a, lineitem b WHERE a.l_quantity < b.l_extendedprice - 100;\r")
    shell.terminal.expect(r"% \[[█·]+\] \d+ of \d+ work orders")
    shell.terminal.sendintr()
    interrupted = time.monotonic()
    shell.terminal.expect("57014")
    assert time.monotonic() - interrupted < 10
    shell.terminal.expect(WAITS)
    # The bar is gone and the shell goes on.
    assert "7" in shell.run("SELECT 7 AS x;")


def test_the_plan_fills_up_as_a_tree_on_request(shell):
    assert "progress is bar" in shell.run("\\progress")
    assert "progress is tree" in shell.run("\\set progress tree")
    assert "bar, tree or off" in shell.run("\\progress forest")
    shell.run("CALL tpch(scale => 0.05);")
    slow = "SELECT sum(a.l_tax * b.l_tax) FROM lineitem a, lineitem b WHERE a.l_quantity < b.l_extendedprice - 100;\r"
    shell.terminal.send(slow)
    shell.terminal.expect(r"% \[[█·]+\] \d+ of \d+ work orders")
    # Parts of the plan below the bar: a finished scan, and the join that runs.
    shell.terminal.expect(r"\n[█·]{12}  [^\r\n]*rows")
    shell.terminal.expect(r"\n█{12}  done, [\d,]+ rows +[^\r\n]*scan")
    # It is drawn again over itself.
    shell.terminal.expect(r"\x1b\[\d+A\x1b\[J")
    shell.terminal.sendintr()
    shell.terminal.expect("57014")
    shell.terminal.expect(WAITS)
    assert "progress is off" in shell.run("\\progress off")
    shell.terminal.send(slow)
    time.sleep(1.5)
    shell.terminal.sendintr()
    shell.terminal.expect("57014")
    assert "█" not in shell.terminal.before and "·" not in shell.terminal.before
    shell.terminal.expect(WAITS)


def test_secrets_are_not_kept_in_the_history(tmp_path):
    with Shell(tmp_path) as first:
        assert "CREATE SECRET" in first.run("CREATE SECRET depot (TYPE s3, KEY_ID 'someone', SECRET 'hunter2');")
        shown = first.run("CREATE SECRET other (TYPE s3, KEY_ID 'someone', SECRET 'hunter2' now);")
        assert "SECRET other *****" in shown and "hunter2" not in shown, shown
        assert "redacted" in first.run("FROM quickstep_secrets;")
        first.leave()
    history = (tmp_path / ".local" / "state" / "quickstep" / "history").read_text()
    assert "CREATE SECRET depot" in history and "hunter2" not in history and "someone" not in history


def test_an_interrupt_while_typing_drops_the_line(shell):
    shell.terminal.send("SELECT 'half")
    shell.terminal.sendintr()
    shell.terminal.expect(WAITS)
    assert "8" in shell.run("SELECT 8 AS x;")


def test_long_results_go_through_the_pager(tmp_path):
    pager = tmp_path / "pager"
    pager.write_text("#!/bin/sh\nwc -l\necho paged\n")
    pager.chmod(0o755)
    environment = {"HOME": str(tmp_path), "TERM": "xterm", "PATH": os.environ["PATH"], "NO_COLOR": "1", "PAGER": str(pager)}
    terminal = pexpect.spawn(command(), env=environment, dimensions=(10, 80), encoding="utf-8", timeout=60)
    terminal.expect(WAITS)
    terminal.send("SELECT x.a FROM (VALUES (1),(2),(3),(4),(5),(6)) x(a), (VALUES (1),(2),(3)) y(b);\r")
    terminal.expect("21\r\npaged")
    terminal.expect(WAITS)
    terminal.send("\\pager off\r")
    terminal.expect("the pager is off")
    terminal.close(force=True)


def test_a_file_does_not_run_itself(shell, tmp_path):
    (tmp_path / "loop.sql").write_text(f"\\i {tmp_path}/loop.sql\n")
    assert "runs itself" in shell.run(f"\\i {tmp_path}/loop.sql")
    assert "cannot read" in shell.run("\\i /no/such.sql")


def test_without_a_terminal_there_is_no_prompt():
    done = subprocess.run([command()], input="SELECT 1 AS a;", capture_output=True, text=True)
    assert done.stdout == " a\n---\n 1\n(1 row)\n" and done.stderr == ""


def test_commands_of_other_shells(shell):
    shell.run("CREATE TABLE t (a INTEGER);")
    assert "columns" in shell.run(".tables") and "INTEGER" in shell.run(".schema t")
    assert shell.run(".timer off") == "timing is off"
    shell.run(".mode csv")
    assert shell.run("SELECT 1 AS a;") == "a\n1"
    shell.run(".mode duckbox")
    assert "date_trunc" in shell.run("\\df date_*") and "main" in shell.run("\\dn")
    assert shell.run("\\echo 'a b'") == "a b"
    assert "HINT: CREATE TABLE" in shell.run(".import a.csv t")
    # A plan stays a drawing.
    shell.run("\\x on")
    assert "row 1" not in shell.run("\\explain SELECT 1;")
    assert shell.leave(".exit\r") == 0


def test_rows_are_typed_behind_copy_from_stdin(shell):
    shell.run("CREATE TABLE t (n INTEGER, w TEXT);")
    shell.terminal.send("COPY t FROM STDIN;\r")
    shell.terminal.expect_exact("on a line of its own behind the last.")
    shell.terminal.send("1,one\n2,two\n\\.\n")
    shell.terminal.expect(WAITS)
    assert "COPY 2" in CONTROL.sub("", shell.terminal.before)
    assert "two" in shell.run("SELECT w FROM t WHERE n = 2;")
    assert shell.run("COPY (FROM t) TO STDOUT;").endswith("n,w\n1,one\n2,two")


def test_a_copy_that_fails_hides_no_later_result(shell):
    assert "division by zero" in shell.run("COPY (SELECT 1 / 0 AS a) TO STDOUT;")
    assert "42" in shell.run("SELECT 42;")


def test_an_interrupt_ends_typing_rows(shell):
    shell.run("CREATE TABLE t (n INTEGER);")
    shell.terminal.send("COPY t FROM STDIN;\r")
    shell.terminal.expect_exact("on a line of its own behind the last.")
    shell.terminal.send("1\n")
    shell.terminal.send("\x03")
    shell.terminal.expect(WAITS)
    assert "cancel" in CONTROL.sub("", shell.terminal.before)
    assert "0" in shell.run("SELECT count(*) FROM t;")


def test_statements_end_with_commands(shell, tmp_path):
    assert shell.run("SELECT 1 AS a \\gx") == "-[ row 1 ]\na | 1\n(1 row)"
    assert shell.run("\\g") == " a\n---\n 1\n(1 row)"
    shell.run(f"SELECT 2 AS b \\g {tmp_path}/b.txt")
    assert (tmp_path / "b.txt").read_text() == " b\n---\n 2\n(1 row)\n"
    shell.run(f"\\o {tmp_path}/c.txt")
    shell.run("SELECT 3 AS c;")
    shell.run("\\o")
    assert "c" in (tmp_path / "c.txt").read_text() and "4" in shell.run("SELECT 4 AS d;")
    shell.terminal.send("SELECT 5 AS e \\watch 0.1\r")
    shell.terminal.expect("row.*row.*row")
    shell.terminal.sendintr()
    shell.terminal.expect(WAITS)
    assert "6" in shell.run("SELECT 6 AS f;")


def test_variables_nulls_and_the_system(shell):
    shell.run("\\set day 2024-02-29")
    shell.run("\\set n 40 + 2")
    shown = shell.run("SELECT DATE :'day' AS d, :n AS n, ':n' AS t;")
    assert "2024-02-29 | 42 | :n" in shown
    shell.run("\\unset n")
    assert "day = '2024-02-29'" in shell.run("\\set")
    shell.run("\\pset null -")
    assert shell.run("SELECT NULL AS a;").splitlines()[2].strip() == "-"
    shell.run(".nullvalue NULL")
    assert shell.run("\\! echo a; echo b") == "a\nb"
    assert "did you mean \\watch" in shell.run("\\wacth")


def test_a_statement_is_edited(tmp_path):
    editor = tmp_path / "editor"
    editor.write_text("#!/bin/sh\nsed -i s/1/7/ $1\n")
    editor.chmod(0o755)
    environment = {"HOME": str(tmp_path), "TERM": "xterm", "PATH": os.environ["PATH"], "NO_COLOR": "1", "EDITOR": str(editor)}
    terminal = pexpect.spawn(command(), env=environment, dimensions=(50, 80), encoding="utf-8", timeout=60)
    terminal.expect(WAITS)
    terminal.send("SELECT 1 AS a;\r")
    terminal.expect(TAKEN)
    terminal.expect(WAITS)
    terminal.send("\\e\r")
    terminal.expect(r" 7\r\n\(1 row\)")
    terminal.close(force=True)


def test_boxes_and_the_ends_of_long_results(shell):
    assert shell.run(".mode box") == "format is box"
    assert shell.run(".maxrows 3") == "at most 3 rows of a result are shown"
    shown = shell.run("SELECT i AS n FROM generate_series(1, 9) AS t(i);").splitlines()
    assert shown[0] == "┌───┐" and shown[-2] == "└───┘"
    assert [line.strip("│ ") for line in shown[3:-2]] == ["1", "2", "…", "9"]
    assert shell.run("\\maxrows all") == "all rows of a result are shown"
    shell.run("\\format table")
    shell.run("\\pset border 2")
    assert shell.run("SELECT 1 AS a;").splitlines()[0] == "+---+"
    assert "takes 0, 1 or 2" in shell.run("\\pset border 7")


def test_a_statement_that_goes_on_has_its_own_prompt_and_can_be_given_up(shell):
    shell.run("SELECT 1")
    shell.terminal.expect_exact("...>")
    shell.terminal.sendcontrol("c")
    shell.terminal.expect(WAITS)
    assert shell.run("SELECT 2 AS two;").splitlines()[0].strip() == "two"
