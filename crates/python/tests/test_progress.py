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


def test_a_display_in_a_notebook(con, monkeypatch):
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
    con.progress = None
    con.execute(SLOW)
    con.progress = False
    assert "<progress" in updates[0] and updates[-1] == ""


def test_numbers_are_put_for_people():
    progress = quickstep.Progress(0.5, 1234567, 3, 6, 75.0)
    assert progress.seconds_left == 75.0
    line = module._line(progress, "##")
    assert "50%" in line and "1,234,567 rows" in line and "1 min 15 s left" in line
    assert quickstep.Progress(0.0, 0, 0, 0, 1.0).seconds_left is None
