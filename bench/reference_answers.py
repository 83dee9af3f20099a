"""Makes the reference answers in tests/answers, with DuckDB.

    python reference_answers.py --suite tpch --scale 0.01
    python reference_answers.py --suite tpch --scale 1 --check

Reads the same Parquet files as the comparison (see prepare.py).  `--check`
writes nothing and says which files differ from what DuckDB answers now.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from decimal import Decimal
from pathlib import Path

from compare.answer_files import write_answer_file
from compare.engines import create_engine
from compare.engines.base import Configuration
from compare.suites import (
    ANSWERS_FOLDER,
    DATA_FOLDER,
    TABLES_OF_SUITE,
    Suite,
    load_suite,
)

THREADS = 2
MEMORY_BYTES = 8 * 10**9


def write_answers(suite: Suite, folder: Path) -> None:
    """Answers every query of the suite into a file each."""
    folder.mkdir(parents=True, exist_ok=True)
    engine = create_engine("duckdb")
    with tempfile.TemporaryDirectory() as scratch:
        engine.start(Configuration(THREADS, MEMORY_BYTES, Path(scratch), {}))
        for table, file in suite.tables.items():
            engine.load(table, file)
        for query, sql in suite.queries.items():
            write_answer_file(folder / f"{query}.tsv", engine.query(sql))
        engine.close()


def stale_files(suite: Suite, folder: Path) -> list[Path]:
    """The files that are not byte for byte what DuckDB answers now."""
    with tempfile.TemporaryDirectory() as fresh_folder:
        write_answers(suite, Path(fresh_folder))
        return [
            folder / fresh.name
            for fresh in sorted(Path(fresh_folder).iterdir())
            if not same_bytes(fresh, folder / fresh.name)
        ]


def same_bytes(left: Path, right: Path) -> bool:
    return right.is_file() and left.read_bytes() == right.read_bytes()


def main() -> int:
    parser = argparse.ArgumentParser(description="Makes tests/answers with DuckDB.")
    parser.add_argument("--suite", choices=sorted(TABLES_OF_SUITE), default="tpch")
    parser.add_argument("--scale", type=Decimal, default=Decimal(1))
    parser.add_argument("--data", type=Path, default=DATA_FOLDER)
    parser.add_argument("--check", action="store_true", help="compare, write nothing")
    asked = parser.parse_args()
    suite = load_suite(asked.suite, asked.scale, data=asked.data)
    folder = ANSWERS_FOLDER / suite.folder_name
    if not asked.check:
        write_answers(suite, folder)
        print(f"{len(suite.queries)} answers in {folder}")
        return 0
    stale = stale_files(suite, folder)
    for file in stale:
        print(f"stale: {file}")
    return 1 if stale else 0


if __name__ == "__main__":
    sys.exit(main())
