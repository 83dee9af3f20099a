"""Questions that analysts type daily, beside DuckDB: medians, modes, moments cut to days, first rows of groups, texts put together.

    python daily_questions.py --quickstep PATH/quickstep [--rows 3000000] [--rounds 5] [--threads 2] [--no-record] [question ...]

Both engines hold the same table in memory, which is made from numbers (flights, more or less: a moment, a carrier, a
destination, delays, a wide key); turns and times are those of `compare/in_turns.py`, plan cache off, and both must give the
same answer. What counts is the median of the time. The line of JSON goes to `results/daily-questions.jsonl`, with the
machine's load.
"""

from __future__ import annotations

import argparse
import statistics

from compare.in_turns import Engines, keep

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


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("questions", nargs="*")
    parser.add_argument("--quickstep", required=True)
    parser.add_argument("--rows", type=int, default=3_000_000)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--no-record", action="store_true")
    args = parser.parse_args()
    questions = {name: text for name, text in QUESTIONS.items() if not args.questions or name in args.questions}
    engines = Engines(args.quickstep, None, args.threads, len(questions) * (args.rounds + 1) + 1)
    engines.everywhere(TABLE.format(rows=args.rows))
    series = {}
    for name, text in questions.items():
        medians, _ = engines.ask(text, args.rounds)
        series[name] = {**medians, "duckdb_over_quickstep": round(medians["duckdb"] / medians["quickstep"], 2)}
        print(f"{name:22} {medians['quickstep']:9.1f} ms   DuckDB {medians['duckdb']:9.1f}   {series[name]['duckdb_over_quickstep']:6.2f}x", flush=True)
    engines.close()
    ratios = [figures["duckdb_over_quickstep"] for figures in series.values()]
    mean = round(statistics.geometric_mean(ratios), 2)
    print(f"geometric mean {mean}x, slower on {sum(ratio < 1 for ratio in ratios)} of {len(ratios)}")
    if not args.no_record:
        keep(
            "daily-questions.jsonl", "questions of every day (bench/daily_questions.py)",
            threads=args.threads, rows=args.rows, rounds=args.rounds, geometric_mean=mean, series=series,
        )


if __name__ == "__main__":
    main()
