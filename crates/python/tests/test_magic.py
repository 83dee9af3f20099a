"""`%sql` and `%%sql`, in a kernel of Jupyter as notebooks start it."""

import queue
import sys

import pytest

pytest.importorskip("ipykernel")
jupyter_client = pytest.importorskip("jupyter_client")


class Kernel:
    """A kernel of this interpreter, and what its cells give."""

    def __init__(self):
        self.manager = jupyter_client.KernelManager(kernel_name="python3")
        self.manager.kernel_spec.argv = [sys.executable, "-m", "ipykernel_launcher", "-f", "{connection_file}"]
        self.manager.start_kernel()
        self.client = self.manager.client()
        self.client.start_channels()
        self.client.wait_for_ready(timeout=120)

    def run(self, code):
        """What a cell showed, by kinds: text, html, printed, displays, error (traceback, name)."""
        sent = self.client.execute(code)
        shown = {"text": None, "html": None, "printed": "", "displays": [], "error": None}
        while True:
            try:
                message = self.client.get_iopub_msg(timeout=120)
            except queue.Empty:
                raise AssertionError("the kernel says nothing") from None
            if message["parent_header"].get("msg_id") != sent:
                continue
            kind, content = message["msg_type"], message["content"]
            if kind == "execute_result":
                shown["text"], shown["html"] = content["data"].get("text/plain"), content["data"].get("text/html")
            elif kind in ("display_data", "update_display_data"):
                shown["displays"].append(content["data"].get("text/html", ""))
            elif kind == "stream":
                shown["printed"] += content["text"]
            elif kind == "error":
                shown["error"] = (content["ename"], "\n".join(content["traceback"]))
            elif kind == "status" and content["execution_state"] == "idle":
                return shown

    def close(self):
        self.client.stop_channels()
        self.manager.shutdown_kernel(now=True)


@pytest.fixture(scope="module")
def kernel():
    kernel = Kernel()
    assert kernel.run("%load_ext quickstep")["error"] is None
    yield kernel
    kernel.close()


def test_a_line_and_a_cell_show_tables(kernel):
    shown = kernel.run("%sql SELECT 40 + 2 AS answer")
    assert "answer" in shown["text"] and "42" in shown["text"]
    assert "<table>" in shown["html"] and "<td" in shown["html"] and "42" in shown["html"]
    shown = kernel.run("%%sql\nCREATE OR REPLACE TABLE t (a INTEGER, b TEXT);\nINSERT INTO t VALUES (1, 'x;y'), (2, '<b>');\nSELECT * FROM t ORDER BY a;\n")
    assert shown["error"] is None
    assert "x;y" in shown["html"] and "&lt;b&gt;" in shown["html"]
    assert "INSERT 0 1" in kernel.run("%sql INSERT INTO t VALUES (3, NULL)")["text"]
    assert kernel.run("%%sql\n-- nothing\n") == {"text": None, "html": None, "printed": "", "displays": [], "error": None}


def test_results_are_kept_under_a_name(kernel):
    assert kernel.run("%sql kept << SELECT i FROM range(5) r(i)")["text"] is None
    assert kernel.run("type(kept).__name__, kept.fetchall()")["text"] == "('Relation', [(0,), (1,), (2,), (3,), (4,)])"
    kernel.run("%%sql --to df frame <<\nSELECT i, i * i AS square\nFROM range(3) r(i)")
    assert kernel.run("type(frame).__name__, frame.square.tolist()")["text"] == "('DataFrame', [0, 1, 4])"
    kernel.run("%%sql\nagain << SELECT sum(square) AS s FROM frame")
    assert kernel.run("[int(s) for s, in again.fetchall()]")["text"] == "[5]"
    assert kernel.run("%sql --to tuples --limit 2 SELECT i FROM range(9) r(i)")["text"] == "[(0,), (1,)]"
    assert kernel.run("%sql --to arrow SELECT 1 AS one")["text"].startswith("pyarrow.Table")


def test_values_are_bound_and_never_text(kernel):
    kernel.run("name = \"x'; DROP TABLE people; --\"\nwanted = {'low': 2}\nimport datetime")
    kernel.run("%%sql\nCREATE OR REPLACE TABLE people (name TEXT, age INTEGER);\nINSERT INTO people VALUES ({name}, {wanted['low'] + 1}), (:name, 1)")
    assert kernel.run("%sql --to tuples SELECT count(*) FROM people WHERE name = :name AND age >= {wanted['low']}")["text"] == "[(1,)]"
    assert kernel.run("%sql --to tuples SELECT '{name}', ':name', age::TEXT FROM people ORDER BY age LIMIT 1")["text"] == "[('{name}', ':name', '1')]"
    assert kernel.run("%sql --to tuples SELECT {'a': 1}, {datetime.date(2024, 2, 29)}, [1, 2, 3][2:3]")["text"] == (
        "[({'a': 1}, datetime.date(2024, 2, 29), [2, 3])]"
    )
    # In FROM a text is a file's path, as in any statement, and this one is none.
    error, text = kernel.run("%sql SELECT * FROM {name}")["error"]
    assert error == "OperationalError" and "58P01" in text
    assert kernel.run("%sql --to tuples SELECT count(*) FROM people")["text"] == "[(2,)]"
    error, text = kernel.run("%sql SELECT :nosuch")["error"]
    assert error == "ProgrammingError" and ":nosuch is no variable" in text


def test_variables_of_rows_are_tables_and_those_of_ipython_are_not(kernel):
    kernel.run("import pandas\nframe = pandas.DataFrame({'a': [1, 2, 3]})")
    assert kernel.run("%sql --to tuples SELECT sum(a)::INTEGER FROM frame")["text"] == "[(6,)]"
    assert kernel.run("frame2 = 3")["error"] is None
    error, text = kernel.run("%sql SELECT * FROM frame2")["error"]
    assert "frame2 is a int" in text or "frame2 is an int" in text
    for name in ("result", "args", "magic_arg_s", "stack"):
        error, text = kernel.run(f"%sql SELECT * FROM {name}")["error"]
        assert f'relation "{name}" does not exist' in text, text


def test_errors_have_a_caret_and_no_traceback(kernel):
    error, text = kernel.run("%%sql\nSELECT 1;\nSELECT a,\n  nosuch FROM range(3) r(a)")["error"]
    assert error == "ProgrammingError"
    lines = text.splitlines()
    assert lines[0].startswith("ERROR 42703") and "Traceback" not in text
    place = next(at for at, line in enumerate(lines) if line.startswith("LINE 2:"))
    assert lines[place + 1].index("^") == lines[place].index("nosuch")
    # The cell has failed, so what would follow it is not run.
    assert kernel.run("%sql --to df SELECT 1 / 0")["error"][0] == "DataError"


def test_connections_are_the_notebooks(kernel):
    kernel.run("import quickstep\nother = quickstep.connect()\nother.execute('CREATE TABLE here AS SELECT 7 AS x')")
    assert kernel.run("%sql --con other --to tuples SELECT x FROM here")["text"] == "[(7,)]"
    assert kernel.run("%sql --to tuples SELECT x FROM here")["text"] == "[(7,)]"
    kernel.run("default = quickstep.default_connection()")
    assert kernel.run("%sql --con default SELECT x FROM here")["error"][0] == "ProgrammingError"
    for wrong in ("--con nobody SELECT 1", "--to excel SELECT 1", "--limit many SELECT 1", "--nosuch SELECT 1"):
        shown = kernel.run(f"%sql {wrong}")
        assert shown["text"] is None and shown["printed"].startswith("UsageError: --"), shown


def test_progress_is_shown_in_the_cell_and_goes(kernel):
    shown = kernel.run("%sql --progress tree SELECT count(*) FROM range(30000) a(i), range(30000) b(j) WHERE i * j % 7 < j % 5")
    assert shown["error"] is None
    assert any("<progress" in each for each in shown["displays"])
    assert shown["displays"][-1] == ""
    kernel.run("%sql --progress false SELECT 1")
