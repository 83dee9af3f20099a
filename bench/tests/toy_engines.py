"""Engines that need no package, for the tests of the harness itself.

A toy's SQL is the number it answers with, except for the words in `query`.
"""

from __future__ import annotations

import os
import time
from pathlib import Path

import pyarrow as pa

from compare.engines.base import Configuration


class ToyEngine:
    """Answers at once and answers right."""

    def start(self, configuration: Configuration) -> None:
        if "refuse" in configuration.settings:
            raise ValueError("told to refuse")
        self._tables: list[str] = []

    def version(self) -> str:
        return "1.0"

    def description(self) -> str:
        return "a toy"

    def load(self, table: str, file: Path) -> None:
        assert file.is_file()
        self._tables.append(table)

    def query(self, sql: str) -> pa.Table:
        print("engines may print")
        match sql.split():
            case ["tables"]:
                return pa.table({"name": self._tables})
            case ["fail"]:
                raise ValueError("no such query")
            case ["die"]:
                os._exit(3)
            case ["hang"]:
                time.sleep(3600)
            case ["burn"]:
                # Two processes at this would not both have a processor.
                end = time.process_time() + 0.2
                while time.process_time() < end:
                    pass
                return pa.table({"x": [1]})
        return pa.table({"x": [int(sql)]})

    def close(self) -> None:
        pass


class SlowToyEngine(ToyEngine):
    """Takes 20 ms for every query."""

    def query(self, sql: str) -> pa.Table:
        time.sleep(0.02)
        return super().query(sql)


class WrongToyEngine(ToyEngine):
    """Answers one more than was asked for."""

    def query(self, sql: str) -> pa.Table:
        return super().query(str(int(sql) + 1))


class RestlessToyEngine(ToyEngine):
    """Keeps a processor busy when it should sleep."""

    def start(self, configuration: Configuration) -> None:
        super().start(configuration)
        if os.fork() == 0:
            while os.getppid() != 1:
                pass
            os._exit(0)
