"""Questions that analysts type daily, beside DuckDB: medians, modes, moments cut to days, first rows of groups, texts put together.

    python daily_questions.py [--rows 3000000] [--rounds 5] [--threads 2] [--no-record] [question ...]

Both engines run in this process and hold the same table in memory, which is made from numbers (flights, more or less:
a moment, a carrier, a destination, delays, a wide key). A round asks every question of both, one right after the other, the
first one changing with the round; Quickstep's plan cache is off. Both must give the same answer (floats to nine digits).
What counts is the median of the rounds, the first of which warms up and is left out. The line of JSON goes to
`results/daily-questions.jsonl`, with the machine's load.
"""

from __future__ import annotations

import argparse
import datetime
import json
import os
import statistics
import time
from importlib.metadata import version
from pathlib import Path
from typing import Any

import duckdb
import quickstep

from compare.machine import commit, machine
from compare.record import RESULTS_FOLDER

TABLE = """
CREATE TABLE flights AS SELECT
  TIMESTAMP '2013-01-01' + to_seconds((i * 7919) % 31536000) AS moment,
  'C' || (i * 31) % 16 AS carrier, 'D' || (i * 104729) % 307 AS destination,
  CAST((i * 15485863) % 503 - 30 AS INTEGER) AS delay,
  CASE WHEN i % 50 = 0 THEN NULL ELSE ((i * 32452843) % 100003) / 7.0::DOUBLE END AS air,
  CAST((i * 49979687) % 20 AS SMALLINT) AS wing,
  CAST((i * 67867967) % 100003 AS INTEGER) AS tail, (i * 86028121) % 1000000007 AS wide
FROM generate_series(1::BIGINT, {rows}) g(i)
"""

QUESTIONS = {
    "days": "SELECT date_trunc('day', moment) d, count(*) FROM flights GROUP BY d ORDER BY d LIMIT 20",
    "months_as_text": "SELECT strftime(moment, '%Y-%m') m, count(*) FROM flights GROUP BY m ORDER BY m",
    "median": "SELECT median(delay), median(air) FROM flights",
    "median_by_carrier": "SELECT carrier, median(delay) FROM flights GROUP BY carrier ORDER BY carrier",
    "median_by_tail": "SELECT sum(m) FROM (SELECT tail, median(delay) m FROM flights GROUP BY tail)",
    "quantile": "SELECT quantile_cont(air, 0.9) FROM flights",
    "mode": "SELECT mode(delay) FROM flights WHERE delay > 3",
    "mode_by_carrier": "SELECT carrier, mode(destination || '') IS NULL FROM flights GROUP BY carrier ORDER BY carrier",
    "entropy": "SELECT entropy(delay) FROM flights",
    "latest_by_carrier": "SELECT carrier, arg_max(wide, moment) IS NULL FROM flights GROUP BY carrier ORDER BY carrier",
    "correlation": "SELECT carrier, corr(delay, air) FROM flights GROUP BY carrier ORDER BY carrier",
    "deviation_by_tail": "SELECT sum(s) FROM (SELECT stddev(delay) s FROM flights GROUP BY tail)",
    "texts_by_tail": "SELECT sum(length(s)) FROM (SELECT string_agg(destination, ',') s FROM flights GROUP BY tail)",
    "ninety_sums": "SELECT " + ", ".join(f"sum(wing + {by})" for by in range(90)) + " FROM flights",
    "first_two_by_tail": "SELECT sum(wide) FROM (SELECT wide, row_number() OVER (PARTITION BY tail ORDER BY wide DESC) n"
    " FROM flights) WHERE n <= 2",
    "first_two_by_carrier": "SELECT sum(wide) FROM (SELECT wide, row_number() OVER (PARTITION BY carrier"
    " ORDER BY wide DESC) n FROM flights) WHERE n <= 2",
    "running_sums": "SELECT sum(s) FROM (SELECT sum(delay) OVER (PARTITION BY destination ORDER BY moment) s FROM flights)",
    "distinct_wide": "SELECT count(DISTINCT wide) FROM flights",
    "distinct_rows": "SELECT count(*) FROM (SELECT DISTINCT carrier, destination, delay, wing, tail FROM flights)",
    "lists_by_tail": "SELECT sum(len(l)) FROM (SELECT list(delay) l FROM flights GROUP BY tail)",
}


def comparable(value: Any) -> Any:
    return float(f"{value:.9g}") if isinstance(value, float) else value


def ask(connection: Any, question: str) -> tuple[float, list[tuple[Any, ...]]]:
    began = time.perf_counter()
    rows = connection.execute(question).fetchall()
    taken = (time.perf_counter() - began) * 1e3
    return taken, [tuple(comparable(value) for value in row) for row in rows]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("questions", nargs="*")
    parser.add_argument("--rows", type=int, default=3_000_000)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--no-record", action="store_true")
    args = parser.parse_args()
    questions = {name: text for name, text in QUESTIONS.items() if not args.questions or name in args.questions}
    ours = quickstep.connect()
    ours.execute(f"SET workers = {args.threads}")
    ours.execute("SET plan_cache = off")
    duck = duckdb.connect(config={"threads": args.threads})
    engines = {"quickstep": ours, "duckdb": duck}
    for connection in engines.values():
        connection.execute(TABLE.format(rows=args.rows))
    taken: dict[str, dict[str, list[float]]] = {name: {engine: [] for engine in engines} for name in questions}
    for number in range(args.rounds + 1):
        order = list(engines) if number % 2 == 0 else list(reversed(engines))
        for name, text in questions.items():
            answers = {}
            for engine in order:
                milliseconds, answers[engine] = ask(engines[engine], text)
                if number > 0:
                    taken[name][engine].append(milliseconds)
            if answers["quickstep"] != answers["duckdb"]:
                raise SystemExit(f"{name}: {answers['quickstep'][:3]} and {answers['duckdb'][:3]} are not the same")
    series = {}
    for name, times in taken.items():
        medians = {engine: round(statistics.median(values), 2) for engine, values in times.items()}
        series[name] = {**medians, "duckdb_over_quickstep": round(medians["duckdb"] / medians["quickstep"], 2)}
        print(f"{name:22} {medians['quickstep']:9.1f} ms   DuckDB {medians['duckdb']:9.1f}   {series[name]['duckdb_over_quickstep']:6.2f}x")
    ratios = [figures["duckdb_over_quickstep"] for figures in series.values()]
    mean = round(statistics.geometric_mean(ratios), 2)
    print(f"geometric mean {mean}x, slower on {sum(ratio < 1 for ratio in ratios)} of {len(ratios)}")
    if args.no_record:
        return
    record = {
        "format": 1,
        "date": str(datetime.datetime.now(datetime.UTC).replace(microsecond=0)),
        "commit": commit(),
        "machine": machine(),
        "work": "questions of every day (bench/daily_questions.py)",
        "engines": {"duckdb": version("duckdb")},
        "threads": args.threads,
        "rows": args.rows,
        "rounds": args.rounds,
        "load_average": [round(load, 1) for load in os.getloadavg()],
        "geometric_mean": mean,
        "series": series,
    }
    with Path(RESULTS_FOLDER, "daily-questions.jsonl").open("a", encoding="utf-8") as file:
        file.write(json.dumps(record) + "\n")


if __name__ == "__main__":
    main()
