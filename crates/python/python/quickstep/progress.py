"""How far a statement is: shown in notebooks and terminals as a bar or as the plan's tree filling up, or told to a
function of the program."""

from __future__ import annotations

import html
import importlib
import shutil
import sys
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

_BAR = 30
_BRANCH = 12

Wanted = bool | Literal["bar", "tree"] | None
"""What is shown: True or "bar", "tree", nothing for False, and for None what suits the place."""


@dataclass(frozen=True)
class OperatorProgress:
    """How far a part of the running plan is: operators that hand rows on without a stop."""

    name: str
    """The operators in it."""
    depth: int
    """Below the part that makes the result; what feeds a part follows it and lies one deeper."""
    state: str
    """`waiting`, `running` or `finished`."""
    work_done: int
    """Blocks, row groups and other units of work that are done."""
    work_total: int
    """And in all; 0 while that is not known."""
    rows: int
    """Rows handled."""

    @property
    def fraction(self) -> float:
        """Between 0 and 1; 0 while nothing is known."""
        if self.state == "finished":
            return 1.0
        return min(self.work_done / self.work_total, 1.0) if self.work_total else 0.0


@dataclass(frozen=True)
class Progress:
    """How far the running statement is."""

    fraction: float
    """Between 0 and 1, as far as it is known."""
    rows: int
    """Rows that operators have handled."""
    work_done: int
    """Blocks, row groups and other units of work that are done."""
    work_total: int
    """Units of work in all, of the parts of the plan that have begun."""
    seconds: float
    """Time since the statement began."""
    operators: tuple[OperatorProgress, ...] = ()
    """The running plan as a tree: the part that makes the result first, and behind each those that feed it."""

    @property
    def seconds_left(self) -> float | None:
        """A guess from the time so far; None while there is nothing to guess from."""
        return None if self.fraction < 0.02 else self.seconds * (1 - self.fraction) / self.fraction


OnProgress = Callable[[Progress], object]


class Terminal:
    """A bar, or with `tree` the plan too, on the error output, taken away when the statement ends."""

    def __init__(self, tree: bool = False) -> None:
        self._width = 0
        self._tree = tree
        self._below = 0

    def __call__(self, progress: Progress) -> None:
        if self._tree:
            size = shutil.get_terminal_size()
            lines = [_line(progress, "#" * int(progress.fraction * _BAR))]
            lines += [_branch(o, "#" * int(o.fraction * _BRANCH)) for o in progress.operators]
            # A line that wraps, or a tree that scrolls, could not be drawn over.
            lines = [line[: size.columns - 1] for line in lines[: max(size.lines - 1, 1)]]
            sys.stderr.write(self._to_the_top() + "\r\n".join(lines))
            sys.stderr.flush()
            self._width, self._below = len(lines[0]), len(lines) - 1
            return
        text = _line(progress, "#" * int(progress.fraction * _BAR)).ljust(self._width)
        self._width = len(text)
        sys.stderr.write("\r" + text)
        sys.stderr.flush()

    def finish(self) -> None:
        """The statement has ended."""
        if self._tree and self._width:
            sys.stderr.write(self._to_the_top() + "\r")
            sys.stderr.flush()
            self._width = self._below = 0
        elif self._width:
            sys.stderr.write("\r" + " " * self._width + "\r")
            sys.stderr.flush()
            self._width = 0


    def _to_the_top(self) -> str:
        return f"\r\x1b[{self._below}A\x1b[J" if self._below else "\r\x1b[K"


class Notebook:
    """A bar, or with `tree` the plan too, in the output of a notebook's cell, by display updates alone: nothing has to
    be installed."""

    def __init__(self, tree: bool = False) -> None:
        self._handle: Any = None
        self._tree = tree

    def __call__(self, progress: Progress) -> None:
        shown: Any = importlib.import_module("IPython.display")
        bar = (
            f'<progress max="1" value="{progress.fraction:.3f}" style="width: 20em"></progress> '
            f"<small>{_numbers(progress)}</small>"
        )
        if self._tree:
            bar += _table(progress.operators)
        if self._handle is None:
            self._handle = shown.display(shown.HTML(bar), display_id=True)
        else:
            self._handle.update(shown.HTML(bar))

    def finish(self) -> None:
        """The statement has ended."""
        if self._handle is not None:
            shown: Any = importlib.import_module("IPython.display")
            self._handle.update(shown.HTML(""))
            self._handle = None


def _numbers(progress: Progress) -> str:
    left = progress.seconds_left
    rest = "" if left is None else f", {_time(left)} left"
    return f"{progress.fraction:.0%}, {progress.rows:,} rows, {_time(progress.seconds)}{rest}"


def _measured(operator: OperatorProgress) -> str:
    if operator.state == "running" and operator.work_total:
        said = f"{operator.work_done} of {operator.work_total}"
    else:
        said = {"finished": "done"}.get(operator.state, operator.state)
    return f"{said}, {operator.rows:,} rows" if operator.rows else said


def _branch(operator: OperatorProgress, done: str) -> str:
    return f"[{done.ljust(_BRANCH)}] {_measured(operator):<28} {'  ' * operator.depth}{operator.name}"


def _table(operators: tuple[OperatorProgress, ...]) -> str:
    """The plan as rows of a table, each with its bar."""
    row = (
        '<tr><td style="padding-left: {indent}em; text-align: left">{name}</td>'
        '<td><progress max="1" value="{fraction:.3f}"></progress></td>'
        '<td style="text-align: left"><small>{said}</small></td></tr>'
    )
    rows = "".join(
        row.format(indent=1 + 2 * o.depth, name=html.escape(o.name), fraction=o.fraction, said=_measured(o))
        for o in operators
    )
    return f"<table>{rows}</table>"


def _line(progress: Progress, done: str) -> str:
    return f"[{done.ljust(_BAR)}] {_numbers(progress)}"


def _time(seconds: float) -> str:
    return f"{seconds:.1f} s" if seconds < 60 else f"{int(seconds // 60)} min {int(seconds % 60)} s"


def is_notebook() -> bool:
    """Whether the program runs in a notebook's kernel."""
    ipython = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython is not None else None
    return shell is not None and "IPKernelApp" in getattr(shell, "config", {})


def display_for(wanted: Wanted) -> Terminal | Notebook | None:
    """Where progress is shown: nowhere when not wanted; when nobody said, where a person is likely to look."""
    if wanted not in (None, True, False, "bar", "tree"):
        raise ValueError(f'progress is True, False, None, "bar" or "tree", not {wanted!r}')
    tree = wanted == "tree"
    if wanted is False:
        return None
    if is_notebook():
        return Notebook(tree)
    interactive = hasattr(sys, "ps1") or bool(sys.flags.interactive)
    return Terminal(tree) if wanted or (interactive and sys.stderr.isatty()) else None
