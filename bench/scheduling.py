"""Measures the scheduler at the issue's sizes, and draws what it found.

    python scheduling.py                      everything, as recorded (half an hour)
    python scheduling.py fair priorities      some measures, as recorded: none takes ten minutes
    python scheduling.py --short fair short   some measures, briefly, at scale factor 1, not recorded
    python scheduling.py duckdb-streams       DuckDB's 64 streams, to stand beside ours (--streams N for fewer)

The measuring is done by a program of the workspace (`cargo run --release -p conformance --bin scheduling`), since
differences of a millisecond are lost in an interpreter.  Each measure has a process of its own.  The lines of JSON go to
`results/scheduling.jsonl`, the plot of Figure 11 to docs/results/scheduling-priorities.svg.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from decimal import Decimal
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
RESULTS = ROOT / "bench" / "results" / "scheduling.jsonl"
PLOT = ROOT / "docs" / "results" / "scheduling-priorities.svg"
# Scale factor and seconds of each measure, as the issue has them.
SIZES = {
    "fair": ("1", 20),
    "priorities": ("10", 40),
    "short": ("1", 60),
    "latency": ("1", 60),
    "elastic": ("1", 10),
    "streams": ("1", 60),
    "remaining": ("10", 500),
}
# TPC-H's streams on DuckDB, with the same memory and threads.
STREAMS_MEMORY_BYTES = 4 << 30


def stream_order(queries: int, number: int) -> list[int]:
    """The order of a stream's queries: as `streams` of the measuring program has it."""
    return [(at + number * 7) % queries for at in range(queries)]


def duckdb_streams(scale: str, streams: int, record: bool) -> dict:
    """Streams of TPC-H's 22 queries on DuckDB: all at once over one after the other."""
    import duckdb

    from compare.suites import DATA_FOLDER, TABLES_OF_SUITE, folder_name, table_file

    folder = DATA_FOLDER / folder_name("tpch", Decimal(scale))
    threads = os.cpu_count() or 1
    with tempfile.TemporaryDirectory() as scratch:
        connection = duckdb.connect(":memory:")
        connection.execute(f"SET memory_limit = '{STREAMS_MEMORY_BYTES}B'")
        connection.execute(f"SET threads = {threads}")
        connection.execute(f"SET temp_directory = '{scratch}'")
        for table in TABLES_OF_SUITE["tpch"]:
            connection.execute(f"CREATE TABLE {table} AS SELECT * FROM read_parquet('{table_file(folder, table)}')")
        fraction = f"{0.0001 / float(scale):.10f}"
        files = sorted((ROOT / "tests" / "answers" / "queries" / "tpch").glob("*.sql"))
        texts = [file.read_text().replace("{fraction}", fraction) for file in files]
        failed: list[str] = []

        def stream(number: int) -> int:
            cursor, rows = connection.cursor(), 0
            try:
                for at in stream_order(len(texts), number):
                    rows += len(cursor.execute(texts[at]).fetchall())
            except duckdb.Error as error:
                failed.append(f"stream {number}: {error}")
            return rows

        expected = stream(0)
        begun = time.perf_counter()
        samples = min(streams, 4)
        for number in range(samples):
            stream(number)
        serial = (time.perf_counter() - begun) * streams / samples
        begun = time.perf_counter()
        with ThreadPoolExecutor(streams) as pool:
            rows = list(pool.map(stream, range(streams)))
        total = time.perf_counter() - begun
    found = {
        "engine": f"DuckDB {duckdb.__version__}",
        "streams": streams,
        "failed": len(failed),
        "errors": failed[:3],
        "wrong": sum(count != expected for count in rows) - len(failed),
        "serial_ms": round(serial * 1e3, 3),
        "total_ms": round(total * 1e3, 3),
        "ratio": total / serial,
    }
    if record:
        line = {"format": 1, "seconds_since_1970": int(time.time()), "cores": threads, "scale": float(scale)}
        with RESULTS.open("a") as file:
            file.write(json.dumps(line | {"figures": {"duckdb-streams": found}}) + "\n")
    return found


def figures(program: list[str], measure: str, scale: str, seconds: float, record: bool) -> dict:
    """Runs one measure; returns what it found."""
    command = [*program, measure, "--scale", scale, "--seconds", str(seconds)]
    command += ["--record", str(RESULTS)] if record else []
    output = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True).stdout
    return json.loads(output.split(": ", 1)[1])


def plot(timeline: list, queries: int) -> str:
    """CPU shares over time as areas, the eleven queries together below and the urgent ones above."""
    width, height, step = 720, 240, 10
    points = []
    for (before, cpu_before), (after, cpu_after) in zip(timeline[::step], timeline[step::step]):
        got = [b - a for a, b in zip(cpu_before, cpu_after)]
        total = sum(got) or 1.0
        points.append(((before + after) / 2, got[queries] / total))
    end = points[-1][0]
    line = [f"{40 + x / end * (width - 60):.1f},{20 + (1 - y) * (height - 60):.1f}" for x, y in points]
    area = f"40,{height - 40} " + " ".join(line) + f" {width - 20},{height - 40}"
    labels = [
        f'<text x="40" y="{height - 12}">0 s</text>',
        f'<text x="{width - 60}" y="{height - 12}">{end / 1e3:.0f} s</text>',
        f'<text x="4" y="{height - 40}">0</text><text x="4" y="24">100 %</text>',
        f'<text x="{width // 3}" y="14">share of CPU time: Q4.2 and Q4.3 at priority 2 (dark) beside eleven queries at 1</text>',
    ]
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" font-family="sans-serif" font-size="12">'
        f'<rect x="40" y="20" width="{width - 60}" height="{height - 60}" fill="#dde6ee"/>'
        f'<polygon points="{area}" fill="#234a6b"/>{"".join(labels)}</svg>\n'
    )


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("measures", nargs="*", choices=[*SIZES, "duckdb-streams", []], default=[])
    parser.add_argument("--streams", type=int, default=64, help="of DuckDB's run")
    parser.add_argument("--program", help="the measuring program, if it is built: cargo is not asked then")
    parser.add_argument("--short", action="store_true", help="briefly, at scale factor 1, without a record")
    arguments = parser.parse_args()
    cargo = ["cargo", "run", "--release", "--quiet", "--package", "conformance", "--bin", "scheduling", "--"]
    program = [arguments.program] if arguments.program else cargo
    for measure in arguments.measures or [*SIZES, "duckdb-streams"]:
        if measure == "duckdb-streams":
            found = duckdb_streams("1", 4 if arguments.short else arguments.streams, record=not arguments.short)
            print(measure, json.dumps(found, indent=2))
            continue
        scale, seconds = ("1", 8) if arguments.short else SIZES[measure]
        found = figures(program, measure, scale, seconds, record=not arguments.short)
        timeline = found.pop("timeline", None)
        print(measure, json.dumps(found, indent=2))
        if timeline and not arguments.short:
            PLOT.write_text(plot(timeline, queries=11))
    return 0


if __name__ == "__main__":
    sys.exit(main())
