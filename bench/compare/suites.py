"""The suites: which tables, which queries, where both are found.

Queries are files under tests/answers/queries, shared with the engine's own
tests, or of the bench alone under questions; data is whatever Parquet files lie
in the data folder.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path

QUESTIONS_FOLDER = Path(__file__).resolve().parents[1] / "questions"
ANSWERS_FOLDER = Path(__file__).resolve().parents[2] / "tests" / "answers"
DATA_FOLDER = Path(os.environ.get("QUICKSTEP_BENCH_DATA", Path.home() / ".cache/quickstep/data"))

# `ddate` and not `date`, which is a word of SQL; small tables first.
TABLES_OF_SUITE: dict[str, tuple[str, ...]] = {
    "tpch": (
        "region",
        "nation",
        "supplier",
        "customer",
        "part",
        "partsupp",
        "orders",
        "lineitem",
    ),
    "ssb": ("ddate", "supplier", "customer", "part", "lineorder"),
    "ssbflat": ("lineorder_flat",),
    "tpcds": (
        "income_band",
        "ship_mode",
        "reason",
        "warehouse",
        "date_dim",
        "time_dim",
        "household_demographics",
        "customer_demographics",
        "customer_address",
        "customer",
        "item",
        "promotion",
        "store",
        "call_center",
        "catalog_page",
        "web_site",
        "web_page",
        "inventory",
        "store_sales",
        "store_returns",
        "catalog_sales",
        "catalog_returns",
        "web_sales",
        "web_returns",
    ),
    "clickbench": ("hits",),
    "dbbench": ("small", "medium", "big", "x", "g"),
    "movies": (
        "kind_type",
        "company_type",
        "info_type",
        "role_type",
        "link_type",
        "comp_cast_type",
        "movie_link",
        "complete_cast",
        "keyword",
        "company_name",
        "aka_title",
        "aka_name",
        "char_name",
        "name",
        "title",
        "person_info",
        "movie_info_idx",
        "movie_companies",
        "movie_keyword",
        "movie_info",
        "cast_info",
    ),
}
TABLES_OF_SUITE["tpchshuffled"] = TABLES_OF_SUITE["tpch"]
# TPC-H's questions are asked of its shuffled rows, too.
QUERIES_OF_SUITE = {"tpchshuffled": "tpch"}
# SSB joined into one table asks the same questions and has the same answers.
ANSWERS_OF_SUITE = {"ssbflat": "ssb"}
TITLES = {
    "tpch": "TPC-H",
    "ssb": "SSB",
    "ssbflat": "SSB denormalised",
    "tpcds": "TPC-DS",
    "clickbench": "ClickBench's kind",
    "dbbench": "db-benchmark's kind",
    "movies": "joins of films",
    "tpchshuffled": "TPC-H shuffled, sparse keys",
}
FILE_NAMES_OF_TABLE = {"ddate": ("ddate", "date")}


@dataclass(frozen=True)
class Suite:
    """A benchmark at one scale."""

    name: str
    scale: Decimal
    tables: dict[str, Path]
    queries: dict[str, str]

    @property
    def title(self) -> str:
        return f"{TITLES.get(self.name, self.name)} SF {self.scale:f}"

    @property
    def answers_name(self) -> str:
        """The folder of reference answers, if there are any."""
        return folder_name(ANSWERS_OF_SUITE.get(self.name, self.name), self.scale)

    @property
    def folder_name(self) -> str:
        return folder_name(self.name, self.scale)

    def data_bytes(self) -> int:
        return sum(file.stat().st_size for file in self.tables.values())


def folder_name(suite: str, scale: Decimal) -> str:
    """Data and answers of a suite at a scale lie in folders of this name."""
    return f"{suite}-sf{scale.normalize():f}"


def load_suite(
    name: str,
    scale: Decimal,
    chosen: str | None = None,
    data: Path = DATA_FOLDER,
    questions: Path | None = None,
) -> Suite:
    """Finds a suite's files; raises FileNotFoundError with what to do.

    `questions` are the user's own in the place of the suite's.
    """
    queries = read_queries(name, scale) if questions is None else read_questions(questions)
    if chosen is not None:
        wanted = chosen_queries(chosen, list(queries))
        queries = {query: queries[query] for query in wanted}
    folder = data / folder_name(name, scale)
    tables = {table: table_file(folder, table) for table in TABLES_OF_SUITE[name]}
    missing = sorted(table for table, file in tables.items() if not file.is_file())
    if missing:
        raise FileNotFoundError(
            f"no Parquet files for {', '.join(missing)} in {folder}; make them "
            f"with: python prepare.py --suite {name} --scale {scale}"
        )
    return Suite(name, scale, tables, queries)


def table_file(folder: Path, table: str) -> Path:
    """The first file that exists among a table's file names, else the usual."""
    names = FILE_NAMES_OF_TABLE.get(table, (table,))
    files = [folder / f"{name}.parquet" for name in names]
    return next((file for file in files if file.is_file()), files[0])


def read_queries(suite: str, scale: Decimal) -> dict[str, str]:
    """The queries of a suite by name (q01, q1.1), ready to run."""
    named = QUERIES_OF_SUITE.get(suite, suite)
    folders = (ANSWERS_FOLDER / "queries" / named, QUESTIONS_FOLDER / named)
    files = sorted(file for folder in folders for file in folder.glob("*.sql"))
    return {file.stem: query_text(file.read_text(), scale) for file in files}


def read_questions(path: Path) -> dict[str, str]:
    """Queries of the user's: a folder of .sql files, or a file with a query in each line (q01, q02, ...)."""
    if path.is_dir():
        files = sorted(path.glob("*.sql"))
        return {file.stem: file.read_text() for file in files}
    lines = [line.strip().removesuffix(";") for line in path.read_text().splitlines()]
    texts = [line for line in lines if line and not line.startswith("--")]
    return {f"q{number:02d}": text for number, text in enumerate(texts, 1)}


def query_text(text: str, scale: Decimal) -> str:
    """Fills the placeholder of TPC-H Q11 in."""
    fraction = Decimal("0.0001") / scale
    return text.replace("{fraction}", f"{fraction.normalize():f}")


def chosen_queries(chosen: str, known: list[str]) -> list[str]:
    """Query names from text as `1,3-5`, `q06` or `1.1,3.4`, in known order."""
    wanted: set[str] = set()
    for item in chosen.split(","):
        first, separator, last = item.strip().lower().partition("-")
        start = known_query(first, known)
        end = known_query(last, known) if separator else start
        wanted.update(known[known.index(start) : known.index(end) + 1])
    return [query for query in known if query in wanted]


def known_query(name: str, known: list[str]) -> str:
    number = name.strip().removeprefix("q")
    for query in known:
        if query.removeprefix("q").lstrip("0") == number.lstrip("0"):
            return query
    raise ValueError(f"no query {name!r}; the suite has {', '.join(known)}")
