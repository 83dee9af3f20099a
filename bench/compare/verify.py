"""Compares the answers of a run: with the reference files, or across engines.

Where tests/answers has reference answers for the suite at this scale, every
engine is compared with them.  Otherwise every engine is compared with the
first of REFERENCE_ENGINES that answered, and failing those with the first
engine that did; that engine's own answer then counts as the same.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa

from compare.answer_files import read_answer_file
from compare.answers import first_difference, order_columns
from compare.cells import rows_of
from compare.outcome import EngineOutcome
from compare.suites import ANSWERS_FOLDER, Suite

REFERENCE_ENGINES = ("duckdb", "hyper")
SAME = "same"


@dataclass(frozen=True)
class AnswerStore:
    """Where the engines' processes leave their answers during a run."""

    folder: Path

    def file(self, engine: str, query: str) -> Path:
        return self.folder / f"{engine.replace(':', '_')}-{query}.arrow"

    def read(self, engine: str, query: str) -> pa.Table | None:
        file = self.file(engine, query)
        if not file.is_file():
            return None
        with pa.ipc.open_file(str(file)) as reader:
            return reader.read_all()


def verify_answers(
    suite: Suite,
    outcomes: Mapping[str, EngineOutcome],
    answers: AnswerStore,
    references: Path = ANSWERS_FOLDER,
) -> None:
    """Fills in `answer` for every query of every engine."""
    for query, sql in suite.queries.items():
        file = references / suite.answers_name / f"{query}.tsv"
        tables = {name: answers.read(name, query) for name in outcomes}
        answered = {name: table for name, table in tables.items() if table is not None}
        chosen = reference_engine(list(answered))
        for name, table in answered.items():
            if file.is_file():
                found = difference_from_file(sql, table, file)
                source = "the reference answer"
            else:
                assert chosen is not None, "this engine answered, so one is chosen"
                found = difference_from_table(sql, table, answered[chosen])
                source = f"the answer of {chosen}"
            outcomes[name].queries[query].answer = (
                SAME if found is None else f"differs from {source}: {found}"
            )


def reference_engine(answered: list[str]) -> str | None:
    for name in (*REFERENCE_ENGINES, *answered):
        if name in answered:
            return name
    return None


def difference_from_table(sql: str, answer: pa.Table, reference: pa.Table) -> str | None:
    order = order_columns(sql, reference.column_names)
    return first_difference(rows_of(answer), rows_of(reference), order)


def difference_from_file(sql: str, answer: pa.Table, file: Path) -> str | None:
    names, reference = read_answer_file(file, answer.schema)
    return first_difference(rows_of(answer), reference, order_columns(sql, names))
