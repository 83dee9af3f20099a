"""How far a statement is: shown in notebooks and terminals, or told to a function of the program."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

_BAR = 30


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

    @property
    def seconds_left(self) -> float | None:
        """A guess from the time so far; None while there is nothing to guess from."""
        return None if self.fraction < 0.02 else self.seconds * (1 - self.fraction) / self.fraction


OnProgress = Callable[[Progress], object]


class Terminal:
    """A bar on the error output, taken away when the statement ends."""

    def __init__(self) -> None:
        self._width = 0

    def __call__(self, progress: Progress) -> None:
        text = _line(progress, "#" * int(progress.fraction * _BAR)).ljust(self._width)
        self._width = len(text)
        sys.stderr.write("\r" + text)
        sys.stderr.flush()

    def finish(self) -> None:
        """The statement has ended."""
        if self._width:
            sys.stderr.write("\r" + " " * self._width + "\r")
            sys.stderr.flush()
            self._width = 0


class Notebook:
    """A bar in the output of a notebook's cell, by display updates alone: nothing has to be installed."""

    def __init__(self) -> None:
        self._handle: Any = None

    def __call__(self, progress: Progress) -> None:
        shown: Any = importlib.import_module("IPython.display")
        bar = (
            f'<progress max="1" value="{progress.fraction:.3f}" style="width: 20em"></progress> '
            f"<small>{_numbers(progress)}</small>"
        )
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


def _line(progress: Progress, done: str) -> str:
    return f"[{done.ljust(_BAR)}] {_numbers(progress)}"


def _time(seconds: float) -> str:
    return f"{seconds:.1f} s" if seconds < 60 else f"{int(seconds // 60)} min {int(seconds % 60)} s"


def is_notebook() -> bool:
    """Whether the program runs in a notebook's kernel."""
    ipython = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython is not None else None
    return shell is not None and "IPKernelApp" in getattr(shell, "config", {})


def display_for(wanted: bool | None) -> Terminal | Notebook | None:
    """Where progress is shown: nowhere when not wanted; when nobody said, where a person is likely to look."""
    if wanted is False:
        return None
    if is_notebook():
        return Notebook()
    interactive = hasattr(sys, "ps1") or bool(sys.flags.interactive)
    return Terminal() if wanted or (interactive and sys.stderr.isatty()) else None
