"""Where each TPC-H query's time goes, beside its floor: writes docs/results/floors.md.

The floors are those of hand-written C++ on dense arrays with two threads at scale 1: what the data needs, without
SQL, storage or safety. The times are medians of warm runs of this engine on this machine, planning included; the
shares come from EXPLAIN ANALYZE, which sums each operator's time over all workers.
"""

from __future__ import annotations

import argparse
import math
import re
import statistics
import time
from decimal import Decimal
from pathlib import Path

import quickstep

from compare.suites import read_queries

# Milliseconds. Measured by hand-written programs for the first group, estimated from bytes and misses for the second.
MEASURED = {1: 2.2, 3: 11.5, 4: 6.6, 5: 9.7, 6: 1.5, 9: 9.2, 12: 6.8, 13: 19, 14: 2.5, 18: 2.1, 21: 19}
ESTIMATED = {2: 2, 7: 9, 8: 5, 10: 9, 11: 1.2, 15: 3.5, 16: 7, 17: 3, 19: 4, 20: 5, 22: 3.5}
TABLES = ["region", "nation", "supplier", "customer", "part", "partsupp", "orders", "lineitem"]


def median_ms(connection: quickstep.Connection, sql: str, runs: int) -> float:
    times = []
    for _ in range(runs + 1):
        started = time.perf_counter()
        connection.sql(sql).arrow()
        times.append((time.perf_counter() - started) * 1e3)
    return statistics.median(times[1:])


def operators(connection: quickstep.Connection, sql: str) -> tuple[list[tuple[float, str]], float]:
    """Time and name of each operator, the dearest first; and the time of optimizing, in milliseconds."""
    lines = [row[0] for row in connection.sql(f"EXPLAIN ANALYZE {sql}").fetchall()]
    found, optimizing = [], 0.0
    name = ""
    for line in lines:
        text = line.strip()
        if text.startswith("»"):
            took = re.search(r"([\d.]+) ms", text)
            if took:
                found.append((float(took.group(1)), name))
        elif text.startswith("optimizing:"):
            optimizing = float(text.split()[1])
        elif not text.startswith("·"):
            name = " ".join(text.split()[:3]).rstrip(",")
    return sorted(found, reverse=True), optimizing


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, default=Path.home() / ".cache/quickstep/data/tpch-sf1")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--runs", type=int, default=9)
    arguments = parser.parse_args()
    connection = quickstep.connect(workers=arguments.workers)
    for table in TABLES:
        connection.execute(f"CREATE TABLE {table} AS SELECT * FROM '{arguments.data}/{table}.parquet'")
    rows, ratios, total, total_floor = [], [], 0.0, 0.0
    for name, sql in read_queries("tpch", Decimal(1)).items():
        number = int(name.lstrip("q"))
        took = median_ms(connection, sql, arguments.runs)
        dearest, _ = operators(connection, sql)
        # The second EXPLAIN finds samples and statistics warm, as a repeated query does.
        dearest, optimizing = operators(connection, sql)
        floor = MEASURED.get(number, ESTIMATED.get(number))
        assert floor is not None
        work = sum(t for t, _ in dearest) or 1.0
        where = "; ".join(f"{what} {100 * t / work:.0f} %" for t, what in dearest[:3])
        mark = "" if number in MEASURED else " (estimated)"
        rows.append(f"| {number} | {took:.1f} | {floor:g}{mark} | {took / floor:.1f} | {optimizing:.2f} | {where} |")
        ratios.append(took / floor)
        total, total_floor = total + took, total_floor + floor
        print(rows[-1])
    mean = math.exp(sum(math.log(r) for r in ratios) / len(ratios))
    text = (Path(__file__).parent / "floors.md.in").read_text()
    text = text.replace("{workers}", str(arguments.workers)).replace("{rows}", "\n".join(rows))
    text = text.replace("{mean}", f"{mean:.2f}").replace("{total}", f"{total:.0f}").replace("{floor}", f"{total_floor:.0f}")
    target = Path(__file__).parent.parent / "docs/results/floors.md"
    target.parent.mkdir(exist_ok=True)
    target.write_text(text)


if __name__ == "__main__":
    main()
