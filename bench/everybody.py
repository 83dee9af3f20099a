"""Writes docs/results/everybody.md, its plots, and the README's part of it.

    python everybody.py            tables and plots
    python everybody.py --text     tables only: needs no matplotlib

Everything is drawn from the recorded runs of the series `everybody` in
results/, nothing is measured here.  Of each suite the newest calm run of every
engine counts.  A run on a busy machine is refused.  Engines that do not fit
into memory together are measured in several runs; Quickstep is in each, and an
engine is compared with the Quickstep of its own run.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from compare.outcome import is_noisy
from compare.record import RESULTS_FOLDER
from compare.suites import TITLES
from compare.summary import geometric_mean, median

SERIES = "everybody"
BASE = "quickstep"
SUITES = ("tpch", "ssb", "ssbflat", "tpcds", "tpchshuffled", "clickbench", "dbbench", "movies")
SCALE = 1
THREADS = 2
REPOSITORY = Path(__file__).resolve().parents[1]
REPORT_FOLDER = REPOSITORY / "docs" / "results"
README = REPOSITORY / "README.md"
README_MARKS = ("<!-- everybody -->", "<!-- /everybody -->")
NAMES = {
    "quickstep": "Quickstep",
    "duckdb": "DuckDB",
    "hyper": "HyPer",
    "datafusion": "DataFusion",
    "polars": "Polars",
    "polars-float64": "Polars (float64)",
    "chdb": "ClickHouse",
    "monetdb": "MonetDB",
    "postgres": "PostgreSQL",
    "spark": "Spark",
}
# Another question is asked of these: they stand apart.
APART = ("polars-float64",)
WITHOUT_DECIMALS = ("ssb", "ssbflat", "clickbench", "dbbench", "movies")
# What a reader must know of suites whose rows or questions are not the originals'.
MADE_UP = {
    "tpchshuffled": "TPC-H's questions on its rows in random order, with keys spread over 44 bits.",
    "clickbench": "43 questions of ClickBench's kinds on made-up rows (`bench/other_suites.py`); its own file and queries go in by"
    " `prepare.py --hits` and `python -m compare --questions`.",
    "dbbench": "The db-benchmark's questions on own rows made after its description, one value in twenty NULL.",
    "movies": "60 joins of the join order benchmark's kind on its schema, filled with made-up films (`bench/movies.py`).",
}


class NotCalm(Exception):
    """A run that others disturbed."""


@dataclass(frozen=True)
class Standing:
    """One engine in one suite, from one run, beside the base of that run."""

    record: Mapping[str, Any]
    engine: Mapping[str, Any]
    base: Mapping[str, Any]

    @property
    def name(self) -> str:
        return str(self.engine["name"])

    @property
    def label(self) -> str:
        return NAMES.get(self.name, self.name)

    def queries(self) -> list[str]:
        return list(self.record["queries"])

    def median(self, query: str) -> float | None:
        return median_of(self.engine, query)

    def ratio(self, query: str) -> float | None:
        """This engine's median over the base's."""
        own, base = self.median(query), median_of(self.base, query)
        return own / base if own and base else None

    def shared(self) -> list[str]:
        return [query for query in self.queries() if self.ratio(query) is not None]

    def geometric_mean(self) -> float | None:
        times = [time for time in map(self.median, self.queries()) if time is not None]
        return geometric_mean(times) if times else None

    def mean_ratio(self) -> float | None:
        ratios = [ratio for ratio in map(self.ratio, self.queries()) if ratio is not None]
        return geometric_mean(ratios) if ratios else None

    def spread(self) -> tuple[float, float] | None:
        """The smallest and the largest of the rounds' own mean ratios.

        A slow query has fewer rounds than the others; in those that it lacks
        its median stands for it.
        """
        shared = self.shared()
        if not shared:
            return None
        rounds = max(len(self.engine["queries"][query]["runs_ms"]) for query in shared)
        means = [
            geometric_mean(
                [
                    time_in(self.engine, query, number) / time_in(self.base, query, number)
                    for query in shared
                ]
            )
            for number in range(rounds)
        ]
        return min(means), max(means)

    def completed(self) -> int:
        return sum(self.median(query) is not None for query in self.queries())

    def faster_than_base(self) -> list[str]:
        return [query for query in self.shared() if (self.ratio(query) or 1.0) < 1.0]

    def remarks(self) -> list[tuple[str, str]]:
        """Queries that failed or whose answer is different, with the reason."""
        found = []
        for query in self.queries():
            result = self.engine["queries"].get(query)
            if result is None:
                found.append((query, str(self.engine["error"] or "not run")))
            elif result["error"] is not None:
                found.append((query, result["error"]))
            elif result["answer"] != "same":
                found.append((query, result["answer"]))
        return found


def median_of(engine: Mapping[str, Any], query: str) -> float | None:
    result = engine["queries"].get(query)
    if result is None or result["error"] is not None or not result["median_ms"]:
        return None
    return float(result["median_ms"])


def time_in(engine: Mapping[str, Any], query: str, number: int) -> float:
    runs = engine["queries"][query]["runs_ms"]
    return float(runs[number] if number < len(runs) else median(runs))


def read_standings(suite: str, folder: Path = RESULTS_FOLDER) -> list[Standing]:
    """The engines of a suite, the base first, then by their mean ratio."""
    file = folder / f"{suite}-sf{SCALE}.jsonl"
    lines = file.read_text().splitlines() if file.is_file() else []
    records = [json.loads(line) for line in lines]
    newest: dict[str, Standing] = {}
    for record in records:
        if record.get("series") != SERIES or not record["calm"]:
            continue
        require_calm(record)
        base = next((e for e in record["engines"] if e["name"] == BASE), None)
        if base is None or record["configuration"]["threads"] != THREADS:
            continue
        for engine in record["engines"]:
            if engine["name"] in APART and suite in WITHOUT_DECIMALS:
                continue
            newest[engine["name"]] = Standing(record, engine, base)
    return sorted(newest.values(), key=order)


def require_calm(record: Mapping[str, Any]) -> None:
    """The record says that it was calm; its own numbers must say so too."""
    for engine in record["engines"]:
        seconds = engine.get("others_busy_seconds", float("inf"))
        if is_noisy(engine["others_busy_share"], seconds):
            raise NotCalm(
                f"{record['date']}: others had {engine['others_busy_share']:.0%} of the machine "
                f"while {engine['name']} ran {record['suite']}"
            )


def order(standing: Standing) -> tuple[int, float]:
    if standing.name == BASE:
        return 0, 0.0
    ratio = standing.mean_ratio()
    return (2 if standing.name in APART else 1), ratio if ratio is not None else float("inf")


def number(value: float | None) -> str:
    """Three digits, and no more than are known."""
    if value is None:
        return "–"
    if value >= 100:
        return f"{value:,.0f}"
    return f"{value:.1f}" if value >= 10 else f"{value:.2f}"


def table(heading: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [heading, ["---"] + ["--:"] * (len(heading) - 1), *rows]
    return "".join("| " + " | ".join(line) + " |\n" for line in lines)


def summary_row(standing: Standing) -> list[str]:
    total = len(standing.queries())
    spread = standing.spread()
    ratio = f"{number(standing.mean_ratio())}x"
    if standing.name == BASE or spread is None:
        ratio = "1" if standing.name == BASE else "–"
        between = ""
    else:
        between = f"{number(spread[0])} – {number(spread[1])}"
    gibibyte = 2**30
    return [
        standing.label,
        number(standing.geometric_mean()),
        ratio,
        between,
        str(len(standing.faster_than_base())) if standing.name != BASE else "",
        f"{standing.completed()}/{total}",
        f"{standing.engine['correct']}/{total}",
        number(standing.engine["load_ms"] / 1e3),
        f"{standing.engine['loaded_bytes'] / gibibyte:.2f}",
        f"{standing.engine['queries_peak_bytes'] / gibibyte:.2f}",
    ]


SUMMARY_HEADING = [
    "engine",
    "geometric mean, ms",
    "time / Quickstep's",
    "over the rounds",
    "queries faster than Quickstep's",
    "completed",
    "answers the same",
    "load, s",
    "memory after loading, GiB",
    "peak over the queries, GiB",
]


def query_rows(standings: Sequence[Standing]) -> Iterable[list[str]]:
    for query in standings[0].queries():
        yield [query.removeprefix("q"), *(query_cell(standing, query) for standing in standings)]


def query_cell(standing: Standing, query: str) -> str:
    time = standing.median(query)
    if time is None:
        return "failed"
    right = standing.engine["queries"][query]["answer"] == "same"
    return number(time) + ("" if right else " !")


def runs_text(standings: Sequence[Standing]) -> str:
    """Which runs a suite's table is drawn from."""
    lines = []
    runs = {standing.record["date"]: standing.record for standing in standings}
    for date, record in sorted(runs.items()):
        configuration = record["configuration"]
        used = [s.label for s in standings if s.record is record]
        lines.append(
            f"- {date}, commit `{record['commit']['id'][:10]}`"
            f"{' with changes' if record['commit']['modified'] else ''}: {', '.join(used)}; "
            f"{configuration['runs']} {configuration['schedule']} rounds"
            f"{slow_text(configuration)}; others had at most "
            f"{max(e['others_busy_share'] for e in record['engines']):.0%} of the machine"
        )
    return "\n".join(lines) + "\n"


def slow_text(configuration: Mapping[str, Any]) -> str:
    seconds = configuration.get("slow_seconds", float("inf"))
    if seconds == float("inf"):
        return ""
    rounds = configuration["slow_runs"]
    return f" ({rounds} for queries over {seconds:g} s, without another warm-up)"


def remarks_text(standings: Sequence[Standing]) -> str:
    lines = []
    for standing in standings:
        for query, reason in standing.remarks():
            short = " ".join(reason.split())[:160].replace("|", "\\|").replace("<", "&lt;")
            lines.append(f"- {standing.label} {query.removeprefix('q')}: {short}\n")
    if not lines:
        return "Every engine completed every query, and all answers are the same.\n"
    head = "<details><summary>Failures and different answers (!)</summary>\n\n"
    return head + "".join(lines) + "\n</details>\n"


def rewritten_text(standings: Sequence[Standing]) -> str:
    parts = [
        f"{standing.label} {', '.join(q.removeprefix('q') for q in standing.engine['rewritten'])}"
        for standing in standings
        if standing.engine.get("rewritten")
    ]
    return f"\nRewritten for a dialect: {'; '.join(parts)}.\n" if parts else ""


def suite_section(suite: str, standings: Sequence[Standing]) -> str:
    text = f"## {TITLES[suite]}\n\n![{TITLES[suite]} by query](everybody-{suite}.svg)\n\n"
    text += f"{MADE_UP[suite]}\n\n" if suite in MADE_UP else ""
    text += table(SUMMARY_HEADING, map(summary_row, standings)) + "\n"
    text += remarks_text(standings) + rewritten_text(standings)
    text += "\n<details><summary>Medians by query, ms</summary>\n\n"
    text += table(["query", *(s.label for s in standings)], query_rows(standings))
    text += "\n</details>\n\n<details><summary>The runs</summary>\n\n"
    return text + runs_text(standings) + "\n</details>\n"


def machine_text(standings: Sequence[Standing]) -> str:
    machine = standings[0].record["machine"]
    return (
        f"{machine['cpu']}, {machine['threads']} processors, {machine['memory_gib']:.0f} GiB, "
        f"Linux {machine['kernel']}"
    )


def engine_rows(all_standings: Mapping[str, Sequence[Standing]]) -> Iterable[list[str]]:
    seen: dict[str, Standing] = {}
    for standings in all_standings.values():
        for standing in standings:
            seen.setdefault(standing.name, standing)
    for name in [name for name in NAMES if name in seen]:
        engine = seen[name].engine
        yield [seen[name].label, engine["version"], engine["description"]]


def report(all_standings: Mapping[str, Sequence[Standing]]) -> str:
    first = next(iter(all_standings.values()))
    text = (
        "# Quickstep beside everybody\n"
        "Written by `make bench` (`bench/everybody.py`) from the runs recorded in "
        "[bench/results](../../bench/results). How it is measured, and what is not even between "
        "the engines: [bench/README.md](../../bench/README.md).\n\n"
        f"Scale factor {SCALE}, {THREADS} threads for every engine, from SQL text to Arrow table, "
        "warm, medians over interleaved rounds: within a run, every round gives each engine its "
        "turn at each query, the others being stopped. A ratio compares an engine with the "
        "Quickstep of the same run, as the geometric mean over the queries that both completed; "
        "the spread is the smallest and the largest ratio of a single round. A query that fails "
        "is in nobody's mean, which favours who failed.\n\n"
        f"Machine: {machine_text(first)}.\n\n"
        "![time over Quickstep's](everybody.svg)\n\n"
    )
    for suite, standings in all_standings.items():
        text += suite_section(suite, standings) + "\n"
    text += "## The engines\n\n"
    rows = [" | ".join(row) for row in engine_rows(all_standings)]
    text += "| engine | version | set up |\n| --- | --- | --- |\n"
    return text + "".join(f"| {row} |\n" for row in rows)


def readme_part(all_standings: Mapping[str, Sequence[Standing]]) -> str:
    peers = {s.name for group in all_standings.values() for s in group} - {BASE, *APART}
    closest = []
    for suite, standings in all_standings.items():
        best = next(s for s in standings if s.name != BASE)
        closest.append(f"{number(best.mean_ratio())} times on {TITLES[suite]} ({best.label})")
    return (
        "![Quickstep beside everybody](docs/results/everybody.png)\n\n"
        f"Of {len(peers)} other engines the closest takes {', '.join(closest)}: geometric means "
        f"at scale {SCALE}, {THREADS} threads, answers compared. Every number, the spread over "
        "the rounds, load times, memory, failures and what is not even between the engines: "
        "[docs/results/everybody.md](docs/results/everybody.md); `make bench` measures it again.\n"
    )


def with_part(readme: str, part: str) -> str:
    """The README with what stands between its marks replaced; unchanged without marks."""
    begin, end = README_MARKS
    before, found, rest = readme.partition(begin)
    _, closed, after = rest.partition(end)
    if not found or not closed:
        return readme
    return f"{before}{begin}\n{part}{end}{after}"


def read_all(folder: Path = RESULTS_FOLDER) -> dict[str, list[Standing]]:
    found = {suite: read_standings(suite, folder) for suite in SUITES}
    return {suite: standings for suite, standings in found.items() if len(standings) > 1}


def main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(description="Draws what has been recorded.")
    parser.add_argument("--text", action="store_true", help="no plots")
    asked = parser.parse_args(arguments)
    try:
        all_standings = read_all()
    except NotCalm as error:
        print(error, file=sys.stderr)
        return 3
    if not all_standings:
        print(f"no recorded runs of the series {SERIES!r}", file=sys.stderr)
        return 2
    (REPORT_FOLDER / "everybody.md").write_text(report(all_standings))
    README.write_text(with_part(README.read_text(), readme_part(all_standings)))
    if not asked.text:
        import everybody_plots

        everybody_plots.draw(all_standings, REPORT_FOLDER)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
