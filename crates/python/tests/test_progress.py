"""How far a statement is, as functions, terminals and notebooks are told."""

import sys
import types

import pytest
import quickstep
from quickstep import progress as module

SLOW = (
    "SELECT count(*) FROM lineitem a, (SELECT * FROM lineitem LIMIT 12000) b "
    "WHERE a.l_quantity * 1000 < b.l_extendedprice - a.l_tax"
)


@pytest.fixture(scope="module")
def con():
    con = quickstep.connect(workers=1)
    con.execute("CALL tpch(scale => 0.05)")
    con.execute("SET eager_aggregation = off")
    return con


def test_a_function_is_told(con):
    told = []
    con.on_progress = told.append
    con.execute(SLOW)
    con.on_progress = None
    assert told, "the statement was too short"
    assert all(0 <= p.fraction <= 1 and p.seconds >= 0.5 for p in told)
    assert [p.fraction for p in told] == sorted(p.fraction for p in told)
    assert told[-1].rows > 0 and told[-1].work_total >= told[-1].work_done
    before = len(told)
    con.execute("SELECT 1")
    assert len(told) == before


def test_the_plan_is_told_as_a_tree(con):
    told = []
    con.on_progress = told.append
    con.execute(SLOW)
    con.on_progress = None
    for progress in told:
        tree = progress.operators
        assert tree[0].depth == 0, "the part that makes the result comes first"
        for before, part in zip(tree, tree[1:]):
            assert part.depth <= before.depth + 1
        assert all(0 <= part.fraction <= 1 for part in tree)
    last = told[-1].operators
    names = " ".join(part.name for part in last)
    assert "scan" in names.lower() and "nested loop" in names.lower(), names
    assert {"running", "finished"} <= {part.state for part in last}
    # It fills up: what was done stays done.
    first = {(p.name, p.depth): p.rows for p in told[0].operators}
    assert all(p.rows >= first.get((p.name, p.depth), 0) for p in last)


def test_a_function_is_given_with_the_connection():
    told = []
    with quickstep.connect(workers=1, on_progress=told.append) as con:
        assert con.on_progress is not None
        con.execute("CALL tpch(scale => 0.05)")
        con.execute("SET eager_aggregation = off")
        con.execute(SLOW)
    assert told


def test_an_exception_of_the_function_ends_the_statement(con):
    def stop(_progress):
        raise RuntimeError("enough")

    con.on_progress = stop
    with pytest.raises(RuntimeError, match="enough"):
        con.execute(SLOW)

    def use(_progress):
        con.execute("SELECT 1")

    con.on_progress = use
    with pytest.raises(quickstep.Error, match="progress function"):
        con.execute(SLOW)
    con.on_progress = None
    assert con.execute("SELECT 1").fetchone() == (1,)


def test_a_bar_in_the_terminal(con, capsys):
    con.progress = True
    con.execute(SLOW)
    con.progress = False
    shown = capsys.readouterr().err
    assert "%" in shown and "rows" in shown
    # It is taken away in the end.
    assert shown.endswith("\r")
    con.execute("SELECT 1")
    assert capsys.readouterr().err == ""


def test_a_tree_in_the_terminal(con, capsys):
    con.progress = "tree"
    assert con.session().progress == "tree"
    con.execute(SLOW)
    con.progress = False
    shown = capsys.readouterr().err
    drawn = shown.split("\x1b[J")
    assert len(drawn) > 2, shown
    assert "rows" in drawn[1] and "\r\n[" in drawn[1]
    # It is taken away in the end.
    assert shown.endswith("\x1b[J\r")
    with pytest.raises(ValueError, match="tree"):
        con.progress = "trees"
    assert con.progress is False


@pytest.mark.parametrize("wanted", [None, "tree"])
def test_a_display_in_a_notebook(con, monkeypatch, wanted):
    updates = []

    class Handle:
        def update(self, shown):
            updates.append(shown)

    def display(shown, display_id):
        assert display_id
        updates.append(shown)
        return Handle()

    fake = types.ModuleType("IPython")
    fake.get_ipython = lambda: types.SimpleNamespace(config={"IPKernelApp": {}})
    fake.display = types.ModuleType("IPython.display")
    fake.display.HTML = str
    fake.display.display = display
    monkeypatch.setitem(sys.modules, "IPython", fake)
    monkeypatch.setitem(sys.modules, "IPython.display", fake.display)
    assert module.is_notebook()
    con.progress = wanted
    con.execute(SLOW)
    con.progress = False
    assert "<progress" in updates[0] and updates[-1] == ""
    assert all(("<table>" in shown) == (wanted == "tree") for shown in updates[:-1])


def test_numbers_are_put_for_people():
    progress = quickstep.Progress(0.5, 1234567, 3, 6, 75.0)
    assert progress.seconds_left == 75.0
    line = module._line(progress, "##")
    assert "50%" in line and "1,234,567 rows" in line and "1 min 15 s left" in line
    assert quickstep.Progress(0.0, 0, 0, 0, 1.0).seconds_left is None
