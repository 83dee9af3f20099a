"""Point queries in a database of ten gigabytes: opened cold, and by an index when warm.

    python point_query.py --binary ../target/release/quickstep --data FOLDER --folder FOLDER [--rounds 9]

--data holds TPC-H's tables at scale factor 10 as Parquet files; the database is made in --folder, unless it is there.
Its tables are in plain columns and not packed, orders (which lie in the order of their keys) has a CSB+-tree on the
customer, and lineitem is there for its size.

`cold`: the database's files are taken out of the machine's cache; then a process opens it, answers one query by the
column that the rows are clustered by, and ends: milliseconds of the whole process, and of the query in it.  `cached`:
the same with the files in the cache.  `indexed`: in one process, rows of one customer after another: the first of all,
which reads what it needs, and the median of those when the index is in memory, planning included.  Every answer is
compared with the Parquet file's.  The line of JSON goes to `results/point-query.jsonl`.
"""

from __future__ import annotations

import argparse
import datetime
import json
import re
import statistics
import subprocess
import time
from pathlib import Path

from compare.machine import commit, machine
from compare.record import RESULTS_FOLDER
from database_size import forget

TIME = re.compile(r"^Time: ([0-9.]+) ms", re.MULTILINE)
CLUSTERED = "SELECT * FROM {orders} WHERE o_orderkey = {key}"
INDEXED = "SELECT o_orderkey, o_totalprice, o_orderdate FROM {orders} WHERE o_custkey = {key} ORDER BY o_orderkey"
# Customers whose rows are asked for before the ones that count.
WARM_UP = 8
INDEXED_QUERIES = 40


def run(binary: Path, database: Path | str, statements: list[str]) -> tuple[float, list[float], str]:
    """Milliseconds of the process, and of each statement, and what it printed."""
    text = ";\n".join(statements)
    began = time.perf_counter()
    done = subprocess.run(
        [binary, database, "--timing", "--format", "csv", "-c", text], capture_output=True, text=True, check=True
    )
    whole = (time.perf_counter() - began) * 1e3
    if "ERROR" in done.stderr:
        raise SystemExit(done.stderr[-2000:])
    return whole, [float(t) for t in TIME.findall(done.stderr)], done.stdout


def make(binary: Path, database: Path, data: Path) -> None:
    if (database / "QUICKSTEP").exists():
        return
    tables = [
        f"CREATE TABLE {table} WITH (layout = 'column') AS SELECT * FROM '{data / table}.parquet'"
        for table in ("orders", "lineitem")
    ]
    index = "CREATE INDEX orders_by_customer ON orders USING csbtree (o_custkey)"
    run(binary, database, ["SET file_compression = 'none'", *tables, index, "CHECKPOINT"])


def spread(values: list[float]) -> dict[str, float]:
    ordered = sorted(values)
    return {
        "median_ms": round(statistics.median(ordered), 2),
        "least_ms": round(ordered[0], 2),
        "most_ms": round(ordered[-1], 2),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--binary", type=Path, required=True)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--folder", type=Path, required=True)
    parser.add_argument("--rounds", type=int, default=9)
    arguments = parser.parse_args()
    binary, database = arguments.binary.resolve(), arguments.folder / "point-query.db"
    make(binary, database, arguments.data)
    size = sum(path.stat().st_size for path in database.rglob("*") if path.is_file())
    file = f"'{arguments.data / 'orders'}.parquet'"
    # Keys are there for eight of every thirty-two numbers.
    keys = [(at * 6_400_003 + 17) % 60_000_000 // 32 * 32 + 1 + at % 7 for at in range(arguments.rounds)]
    series: dict[str, dict[str, float]] = {}
    for name, cold in (("cold", True), ("cached", False)):
        whole, query = [], []
        for key in keys:
            if cold:
                forget(database)
            taken, times, answer = run(binary, database, [CLUSTERED.format(orders="orders", key=key)])
            _, _, expected = run(binary, ":memory:", [CLUSTERED.format(orders=file, key=key)])
            if answer != expected or len(answer.splitlines()) != 2:
                raise SystemExit(f"order {key}: {answer} instead of {expected}")
            whole.append(taken)
            query.append(times[-1])
        series[name] = spread(whole)
        series[f"{name}_query"] = spread(query)
    # Two of three customers have orders.
    customers = [3 * (at * 11_003 % 490_000) + 1 for at in range(WARM_UP + INDEXED_QUERIES)]
    statements = [INDEXED.format(orders="orders", key=key) for key in customers]
    # What is warm is in memory.
    columns = "SELECT sum(o_orderkey), sum(o_custkey), sum(o_totalprice), max(o_orderdate) FROM orders"
    _, times, answers = run(binary, database, [statements[0], columns, *statements[1:]])
    answers = re.sub(r"sum.*\n.*\n", "", answers)
    del times[1]
    some = [INDEXED.format(orders=file, key=key) for key in customers[:WARM_UP]]
    _, _, expected = run(binary, ":memory:", some)
    if not answers.startswith(expected) or len(expected.splitlines()) < 2 * WARM_UP:
        raise SystemExit("orders of customers differ from those in the file")
    series["indexed_first"] = spread(times[:1])
    series["indexed"] = spread(times[WARM_UP:])
    line = {
        "format": 1,
        "date": datetime.datetime.now(datetime.UTC).isoformat(sep=" ", timespec="seconds"),
        "commit": commit(),
        "machine": machine(),
        "work": f"point queries, database of {size / 1e9:.1f} GB (bench/point_query.py)",
        "database_bytes": size,
        "rounds": arguments.rounds,
        "series": series,
    }
    print(json.dumps(series, indent=1))
    with (RESULTS_FOLDER / "point-query.jsonl").open("a") as results:
        results.write(json.dumps(line) + "\n")


if __name__ == "__main__":
    main()
