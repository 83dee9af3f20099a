"""What every engine must do to be compared.

The contract is narrow on purpose: an engine keeps the tables it loaded in its
own native form, takes SQL text, and hands back an Arrow table with every row
in it.  All of that work lies inside the measured time, for every engine.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

import pyarrow as pa


@dataclass(frozen=True)
class Configuration:
    """How one engine is to be set up; the same for all but `settings`."""

    threads: int
    memory_bytes: int
    scratch: Path
    """An empty folder of this engine's own, removed after the run."""
    settings: Mapping[str, str]
    """The engine's own settings by name, from `--set ENGINE.NAME=VALUE`."""
    query_seconds_max: float = 300.0
    """An engine that can end a query by itself does so then; others are killed later."""


class Engine(Protocol):
    """One engine in its own process.  Methods raise to report failure.

    An engine may also have `finish_loading()`, called once after the last table
    and timed as part of loading: indexes, statistics.
    """

    def start(self, configuration: Configuration) -> None:
        """Imports the engine and opens an empty database."""

    def version(self) -> str:
        """The version of the engine that runs, not of the one asked for."""

    def description(self) -> str:
        """One line: where tables live and which settings differ from default."""

    def load(self, table: str, file: Path) -> None:
        """Copies a Parquet file into a native table called `table`."""

    def query(self, sql: str) -> pa.Table:
        """Runs one query to its last row."""

    def close(self) -> None:
        """Ends the engine and whatever it started."""
