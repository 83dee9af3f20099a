"""TPC-H as a database on disk: how large, and what packing its block files costs.

    python database_size.py --binary ../target/release/quickstep --data FOLDER [--scale 1] [--packing none,fast,small] [--rounds 3]

FOLDER holds TPC-H's tables as Parquet files.  For each way of packing: seconds to load (CREATE TABLE AS and CHECKPOINT),
bytes of the directory, and the time of all 22 queries in a process of its own, with the files out of the machine's cache
(`cold`), in it (`cached`), and a second time in one process, where the columns are in memory (`warm`).  The ways take
turns; the medians over the rounds count.  The line of JSON goes to `results/database-size.jsonl`.
"""

from __future__ import annotations

import argparse
import datetime
import json
import os
import re
import shutil
import statistics
import subprocess
import tempfile
import time
from pathlib import Path

from compare.machine import commit, machine
from compare.record import RESULTS_FOLDER

TABLES = ("region", "nation", "supplier", "customer", "part", "partsupp", "orders", "lineitem")
QUERIES = Path(__file__).resolve().parent.parent / "tests/answers/queries/tpch"
TIME = re.compile(r"^Time: ([0-9.]+) ms", re.MULTILINE)  # as `--timing` prints it on standard error


def shell(binary: Path, database: Path, script: str) -> str:
    """Runs the script; what was printed on standard error, which has the statements' times."""
    command = [binary, "--timing", "--no-startup", database]
    done = subprocess.run(command, input=script, capture_output=True, text=True, check=False)
    if done.returncode or "ERROR" in done.stderr:
        raise SystemExit((done.stdout + done.stderr)[-2000:])
    return done.stderr


def load(binary: Path, database: Path, data: Path, packing: str) -> float:
    tables = "".join(f"CREATE TABLE {t} AS SELECT * FROM '{data / t}.parquet';\n" for t in TABLES)
    began = time.monotonic()
    shell(binary, database, f"SET file_compression = '{packing}';\n{tables}CHECKPOINT;\n")
    return time.monotonic() - began


def forget(database: Path) -> None:
    """The machine's cache without the database's files."""
    for path in database.rglob("*"):
        if path.is_file():
            handle = os.open(path, os.O_RDONLY)
            os.fsync(handle)
            os.posix_fadvise(handle, 0, 0, os.POSIX_FADV_DONTNEED)
            os.close(handle)


def queries(binary: Path, database: Path, scale: float, times: int) -> list[float]:
    """Seconds of all queries, once for each time."""
    text = "".join(path.read_text().rstrip().rstrip(";") + ";\n" for path in sorted(QUERIES.glob("q*.sql")))
    text = text.replace("{fraction}", f"{0.0001 / scale:.10f}")
    output = shell(binary, database, text * times)
    found = [float(t) / 1000 for t in TIME.findall(output)]
    if not found or len(found) % times:
        raise SystemExit(f"{len(found)} times of {times} passes")
    each = len(found) // times
    return [sum(found[i * each:(i + 1) * each]) for i in range(times)]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--binary", type=Path, required=True)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--scale", type=float, default=1, help="the tables' scale factor, which Q11 names")
    parser.add_argument("--packing", default="none,fast,small")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--folder", type=Path, help="where the databases lie meanwhile")
    arguments = parser.parse_args()
    ways = arguments.packing.split(",")
    with tempfile.TemporaryDirectory(dir=arguments.folder) as folder:
        results: dict[str, dict[str, list[float]]] = {way: {} for way in ways}
        for round_number in range(arguments.rounds):
            for way in ways:
                found, database = results[way], Path(folder) / way
                shutil.rmtree(database, ignore_errors=True)
                found.setdefault("load_s", []).append(load(arguments.binary, database, arguments.data, way))
                size = sum(path.stat().st_size for path in database.rglob("*") if path.is_file())
                found.setdefault("bytes", []).append(size)
                forget(database)
                found.setdefault("cold_s", []).extend(queries(arguments.binary, database, arguments.scale, 1))
                cached, warm = queries(arguments.binary, database, arguments.scale, 2)
                found.setdefault("cached_s", []).append(cached)
                found.setdefault("warm_s", []).append(warm)
                if round_number + 1 == arguments.rounds:
                    shutil.rmtree(database)
    series = {
        way: {name: round(statistics.median(values), 3) for name, values in found.items()}
        for way, found in results.items()
    }
    line = {
        "format": 1,
        "date": datetime.datetime.now(datetime.UTC).isoformat(sep=" ", timespec="seconds"),
        "commit": commit(),
        "machine": machine(),
        "work": f"TPC-H from {arguments.data.name} as a database on disk (bench/database_size.py)",
        "rounds": arguments.rounds,
        "packing": series,
    }
    print(json.dumps(series, indent=1))
    with (RESULTS_FOLDER / "database-size.jsonl").open("a") as file:
        file.write(json.dumps(line) + "\n")


if __name__ == "__main__":
    main()
