"""Files in place beside DuckDB: TPC-H over Parquet files, and loading lineitem from CSV.

    python files.py --binary ../target/release/quickstep --scale 1 [--series scan,csv] [--threads 2]

`scan`: every query of TPC-H over views of the Parquet files, nothing loaded.  Each round starts one process an engine,
in turns, which runs every query once untimed and once timed; the median over the rounds counts.  Peak memory is the
process's high-water mark (VmHWM) over all queries.

`csv`: `CREATE TABLE ... AS SELECT * FROM read_csv(...)` with the types found by each engine, and COPY into a table with
TPC-H's types, from the file that COPY TO writes.  Each load has a process of its own.

The line of JSON goes to `results/files-sfSCALE.jsonl`.
"""

from __future__ import annotations

import argparse
import datetime
import json
import math
import os
import re
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

from compare.machine import commit, machine
from compare.record import RESULTS_FOLDER
from compare.suites import ANSWERS_FOLDER

TABLES = ("region", "nation", "supplier", "customer", "part", "partsupp", "orders", "lineitem")
TIME = re.compile(r"^Time: ([0-9.]+) ms", re.MULTILINE)
LINEITEM = """CREATE TABLE lineitem (l_orderkey BIGINT, l_partkey BIGINT, l_suppkey BIGINT, l_linenumber INTEGER,
    l_quantity DECIMAL(15,2), l_extendedprice DECIMAL(15,2), l_discount DECIMAL(15,2), l_tax DECIMAL(15,2),
    l_returnflag VARCHAR, l_linestatus VARCHAR, l_shipdate DATE, l_commitdate DATE, l_receiptdate DATE,
    l_shipinstruct VARCHAR, l_shipmode VARCHAR, l_comment VARCHAR)"""

DUCKDB = """
import json, sys, time
import duckdb
threads, statements = json.load(sys.stdin)
session = duckdb.connect()
session.execute(f"SET threads = {threads}; SET enable_progress_bar = false")
times = []
for statement in statements:
    began = time.perf_counter()
    result = session.execute(statement)
    if statement.lstrip().lower().startswith(("select", "with")):
        result.to_arrow_table() if hasattr(result, "to_arrow_table") else result.fetch_arrow_table()
    times.append((time.perf_counter() - began) * 1e3)
peak = next(int(l.split()[1]) for l in open("/proc/self/status") if l.startswith("VmHWM"))
print(json.dumps([times, peak << 10]))
"""


def quickstep(binary: Path, threads: int, statements: list[str]) -> tuple[list[float], int]:
    """Times of the statements in one process, and its peak memory."""
    with tempfile.NamedTemporaryFile("w", suffix=".sql") as file:
        file.write(";\n".join(statements) + ";\n")
        file.flush()
        command = [binary, "--workers", str(threads), "--timing", "--format", "arrow", "-f", file.name]
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        said = process.stderr.read()
        _, status, usage = os.wait4(process.pid, 0)
    times = [float(time) for time in TIME.findall(said)]
    if status != 0 or len(times) != len(statements):
        raise RuntimeError(f"{len(times)} of {len(statements)} statements ran: {said[-500:]}")
    return times, usage.ru_maxrss << 10


def duckdb(threads: int, statements: list[str]) -> tuple[list[float], int]:
    done = subprocess.run(
        [sys.executable, "-c", DUCKDB], input=json.dumps([threads, statements]), capture_output=True, text=True
    )
    if done.returncode != 0:
        raise RuntimeError(done.stderr[-500:])
    times, peak = json.loads(done.stdout.splitlines()[-1])
    return times, peak


def rounds_of(arguments, statements: dict[str, list[str]], warm: int):
    """Per engine: times of the statements from `warm` on by round, and the peak."""
    times = {name: [] for name in statements}
    peaks = dict.fromkeys(statements, 0)
    for number in range(arguments.rounds):
        names = list(statements)
        names = names[number % len(names) :] + names[: number % len(names)]
        for name in names:
            engine = (lambda s: duckdb(arguments.threads, s)) if name == "duckdb" else (
                lambda s: quickstep(arguments.binary.resolve(), arguments.threads, s)
            )
            found, peak = engine(statements[name])
            times[name].append(found[warm:])
            peaks[name] = max(peaks[name], peak)
    return times, peaks


def scan(arguments, data: Path) -> dict:
    views = [f"CREATE VIEW {t} AS SELECT * FROM '{data / (t + '.parquet')}'" for t in TABLES]
    files = sorted((ANSWERS_FOLDER / "queries" / "tpch").glob("q*.sql"))
    queries = {f.stem: re.sub(r"--.*", "", f.read_text()).strip().rstrip(";") for f in files}
    # Q11 looks at a share of the stock that depends on the scale.
    queries = {name: text.replace("{fraction}", f"{0.0001 / arguments.scale:.10f}") for name, text in queries.items()}
    if arguments.queries:
        queries = {name: text for name, text in queries.items() if name in arguments.queries.split(",")}
    each = [text for text in queries.values() for _ in range(2)]
    times, peaks = rounds_of(arguments, {"quickstep": views + each, "duckdb": views + each}, len(views))
    result = {"queries": {}, "peak_bytes": peaks}
    ratios = []
    for at, query in enumerate(queries):
        # Every other one is the untimed run.
        median = {name: statistics.median(r[2 * at + 1] for r in rounds) for name, rounds in times.items()}
        ratios.append(median["duckdb"] / median["quickstep"])
        result["queries"][query] = {name: round(value, 2) for name, value in median.items()}
        print(f"{query:>5} {median['quickstep']:9.1f} {median['duckdb']:9.1f} {ratios[-1]:6.2f}")
    result["geometric_mean_ratio"] = round(math.exp(statistics.mean(map(math.log, ratios))), 3)
    shown = {name: f"{peak / 2**20:.0f} MB" for name, peak in peaks.items()}
    print(f"geometric mean duckdb/quickstep {result['geometric_mean_ratio']}, peak memory {shown}")
    return result


def csv(arguments, data: Path) -> dict:
    path = data / "lineitem.csv"
    if not path.exists():
        source = f"COPY (SELECT * FROM '{data / 'lineitem.parquet'}') TO '{path}' (HEADER true)"
        quickstep(arguments.binary.resolve(), arguments.threads, [source])
    result = {"bytes": path.stat().st_size}
    found = f"CREATE TABLE lineitem AS SELECT * FROM read_csv('{path}')"
    for series, statements in (("found", [found]), ("typed", [LINEITEM, f"COPY lineitem FROM '{path}' (HEADER true)"])):
        times, peaks = rounds_of(arguments, dict.fromkeys(("quickstep", "duckdb"), statements), len(statements) - 1)
        median = {name: statistics.median(r[0] for r in rounds) for name, rounds in times.items()}
        ratio = median["duckdb"] / median["quickstep"]
        result[series] = {
            "ms": {name: [round(r[0], 1) for r in rounds] for name, rounds in times.items()},
            "ratio": round(ratio, 3),
            "peak_bytes": peaks,
        }
        print(f"csv, types {series}: {median['quickstep']:.0f} ms, duckdb {median['duckdb']:.0f} ms, ratio {ratio:.2f}")
    if not arguments.keep:
        path.unlink()
    return result


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--binary", type=Path, required=True)
    parser.add_argument("--scale", type=float, default=1)
    parser.add_argument("--series", default="scan,csv")
    parser.add_argument("--queries", help="some queries only, such as q01,q06")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--data", type=Path, default=Path(os.environ.get("QUICKSTEP_BENCH_DATA", "~/.cache/quickstep/data")))
    parser.add_argument("--keep", action="store_true", help="leave the CSV file for the next run")
    parser.add_argument("--no-record", action="store_true")
    arguments = parser.parse_args()
    data = arguments.data.expanduser() / f"tpch-sf{arguments.scale:g}"
    record = {
        "format": 1,
        "date": datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
        "commit": commit(),
        "machine": machine(),
        "scale": arguments.scale,
        "threads": arguments.threads,
        "rounds": arguments.rounds,
        "time": "median of the rounds, ms; ratios are DuckDB's time over ours",
    }
    for series, measure in (("scan", scan), ("csv", csv)):
        if series in arguments.series.split(","):
            record[series] = measure(arguments, data)
    if not arguments.no_record and not arguments.queries:
        with (RESULTS_FOLDER / f"files-sf{arguments.scale:g}.jsonl").open("a") as lines:
            lines.write(json.dumps(record, separators=(",", ":")) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
