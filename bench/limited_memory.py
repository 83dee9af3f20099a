"""A benchmark in a memory cgroup that is too small for it: Quickstep beside DuckDB.

    python limited_memory.py --suite tpch --scale 10 --memory 2GB [--threads 2]

Each engine has its database on disk, made once from the Parquet files and kept.
It answers every query first without a limit on the group and with plenty of
memory, each twice (the second time is the time in memory), and then, in a
process of its own inside a cgroup of the given memory + 5 % + 200 MB and with
the page cache dropped, every query once with `memory` set.  The answers are
compared with those without limit, Quickstep's with DuckDB's.

What a limited run may take is the time in memory plus the bytes that the process
read and wrote (/proc/self/io, which counts what reached the disk) over the
disk's bandwidth, measured by reading the database's own files past the page
cache.  Needs root and the memory controller, of version 1 or 2.  The line of
JSON goes to `results/limited-memory.jsonl`.
"""

from __future__ import annotations

import argparse
import datetime
import json
import mmap
import os
import subprocess
import sys
import tempfile
import time
from decimal import Decimal
from pathlib import Path
from typing import Any

from compare.machine import commit, machine
from compare.record import RESULTS_FOLDER
from compare.suites import DATA_FOLDER, Suite, load_suite
from compare.verify import AnswerStore, difference_from_table

ENGINES = ("quickstep", "duckdb")
# The group's room beyond the engine's own limit: program, libraries, interpreter, page cache.
SLACK_SHARE, SLACK_BYTES = 0.05, 200 << 20
TIME_MAX = 1.5
CHUNK = 4 << 20


def parse_size(text: str) -> int:
    units = {"GB": 10**9, "MB": 10**6, "GIB": 2**30, "MIB": 2**20}
    for unit, factor in units.items():
        if text.upper().endswith(unit):
            return int(float(text[: -len(unit)]) * factor)
    raise argparse.ArgumentTypeError(f"{text!r} is no size such as 2GB")


class Database:
    """One engine's database on disk."""

    def __init__(self, engine: str, folder: Path, memory: int, threads: int, scratch: Path) -> None:
        path = folder / f"{engine}.db"
        self.is_new = not path.exists()
        if engine == "quickstep":
            import quickstep

            connection = quickstep.connect(str(path), workers=threads, memory=f"{memory}B")
            self._execute = lambda sql: connection.execute(sql).fetchall()
            self.arrow = lambda sql: connection.sql(sql).arrow()
        else:
            import duckdb

            options = {"threads": threads, "memory_limit": f"{memory}B", "temp_directory": str(scratch)}
            connection = duckdb.connect(str(path), config=options)
            self._execute = lambda sql: connection.execute(sql).fetchall()
            self.arrow = lambda sql: connection.sql(sql).to_arrow_table()
        self.close = connection.close

    def load(self, suite: Suite) -> None:
        for table, file in suite.tables.items():
            self._execute(f"CREATE TABLE {table} AS SELECT * FROM read_parquet('{file}')")


def disk_bytes() -> tuple[int, int]:
    """What this process has read from and written to disks."""
    fields = dict(line.split(": ") for line in Path("/proc/self/io").read_text().splitlines())
    return int(fields["read_bytes"]), int(fields["write_bytes"])


def answer(task: dict[str, Any]) -> None:
    """Runs in a process of its own: answers the queries, one line of JSON each."""
    # Its libraries are hundreds of megabytes, which the first query would read from a cold disk.
    import pyarrow as pa

    suite = load_suite(task["suite"], Decimal(task["scale"]))
    folder = Path(task["folder"])
    begun = time.perf_counter()
    with tempfile.TemporaryDirectory(dir=folder) as scratch:
        database = Database(task["engine"], folder, task["memory"], task["threads"], Path(scratch))
        if database.is_new:
            database.load(suite)
        # What a program loads with its first query, of either engine.
        database.arrow("SELECT 1 AS one")
        print(json.dumps({"ready": time.perf_counter() - begun}), flush=True)
        store = AnswerStore(Path(task["answers"]))
        for query, sql in suite.queries.items() if task["passes"] else ():
            line: dict[str, Any] = {"query": query}
            try:
                for _ in range(task["passes"]):
                    before, begun = disk_bytes(), time.perf_counter()
                    table = database.arrow(sql)
                    line["seconds"] = time.perf_counter() - begun
                    line["read"], line["written"] = (b - a for a, b in zip(before, disk_bytes(), strict=True))
                store.folder.mkdir(exist_ok=True)
                with pa.ipc.new_file(str(store.file(task["engine"], query)), table.schema) as writer:
                    writer.write_table(table)
            except Exception as error:
                line["error"] = str(error)[:300]
            print(json.dumps(line), flush=True)
        database.close()


class Group:
    """A memory cgroup, of either version."""

    def __init__(self, limit: int) -> None:
        root = Path("/sys/fs/cgroup")
        self._old = (root / "memory").is_dir()
        self.folder = (root / "memory" if self._old else root) / f"limited-{os.getpid()}"
        self.folder.mkdir()
        name = "memory.limit_in_bytes" if self._old else "memory.max"
        (self.folder / name).write_text(str(limit))

    def enter(self) -> None:
        (self.folder / "cgroup.procs").write_text(str(os.getpid()))

    def peak(self) -> int:
        name = "memory.max_usage_in_bytes" if self._old else "memory.peak"
        return int((self.folder / name).read_text())

    def remove(self) -> None:
        # The kernel lets go of a process's pages a little after it.
        for _ in range(50):
            try:
                return self.folder.rmdir()
            except OSError:
                time.sleep(0.1)


def run(task: dict[str, Any], group: Group | None = None) -> tuple[dict[str, Any], str]:
    """What the process said of each query, and how it ended if not well."""
    command = [sys.executable, __file__, "--answer", json.dumps(task)]
    done = subprocess.run(command, capture_output=True, text=True, preexec_fn=group.enter if group else None)
    lines = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
    found = {line.pop("query"): line for line in lines if "query" in line}
    end = "" if done.returncode == 0 else f"ended with {done.returncode}: {done.stderr[-300:]}"
    return found, end


def bandwidth(folder: Path) -> float:
    """Bytes a second that the disk reads of the largest file, past the page cache."""
    file = max((f for f in folder.rglob("*") if f.is_file()), key=lambda f: f.stat().st_size)
    best = 0.0
    for _ in range(3):
        handle = os.open(file, os.O_RDONLY | os.O_DIRECT)
        buffer = mmap.mmap(-1, CHUNK)
        read, begun = 0, time.perf_counter()
        while read < 1 << 30 and (n := os.preadv(handle, [buffer], read)) > 0:
            read += n
        best = max(best, read / (time.perf_counter() - begun))
        os.close(handle)
    return best


def measure(arguments: argparse.Namespace, folder: Path) -> dict[str, Any]:
    suite = load_suite(arguments.suite, Decimal(arguments.scale))
    common = {"suite": arguments.suite, "scale": str(arguments.scale), "folder": str(folder), "threads": arguments.threads}
    result: dict[str, Any] = {}
    for engine in ENGINES:
        whole = common | {"engine": engine, "memory": arguments.plenty, "answers": str(folder / "answers")}
        if not (folder / f"{engine}.db").exists():
            _, end = run(whole | {"passes": 0})
            if end:
                raise SystemExit(f"{engine} was not loaded: {end}")
        free, _ = run(whole | {"passes": 2})
        os.sync()
        Path("/proc/sys/vm/drop_caches").write_text("3")
        group = Group(int(arguments.memory * (1 + SLACK_SHARE)) + SLACK_BYTES)
        small = whole | {"memory": arguments.memory, "answers": str(folder / "answers-limited"), "passes": 1}
        limited, end = run(small, group)
        result[engine] = {"free": free, "limited": limited, "peak_bytes": group.peak(), "end": end}
        group.remove()
    speed = bandwidth(folder)
    references, answers = AnswerStore(folder / "answers"), AnswerStore(folder / "answers-limited")
    for engine, found in result.items():
        for query, sql in suite.queries.items():
            line = found["limited"].setdefault(query, {"error": found["end"] or "no answer"})
            table, reference = answers.read(engine, query), references.read("duckdb", query)
            if "error" not in line:
                line["answer"] = difference_from_table(sql, table, reference) or "same"
        whole = [found["free"].get(q, {}).get("seconds") for q in suite.queries]
        found["limited_seconds"] = sum(line.get("seconds", 0) for line in found["limited"].values())
        found["right"] = sum(line.get("answer") == "same" for line in found["limited"].values())
        if all(whole):
            moved = sum(line.get("read", 0) + line.get("written", 0) for line in found["limited"].values())
            found["free_seconds"], found["moved_bytes"] = sum(whole), moved
            found["allowed_seconds"] = TIME_MAX * (sum(whole) + moved / speed)
    return {"bandwidth_bytes_per_s": speed, "engines": result}


def report(measured: dict[str, Any]) -> None:
    engines = measured["engines"]
    for query in engines[ENGINES[0]]["limited"]:
        cells = []
        for engine in ENGINES:
            line = engines[engine]["limited"][query]
            free = engines[engine]["free"].get(query, {}).get("seconds", float("nan"))
            state = line.get("error") or line["answer"]
            cells.append(
                f"{engine} {free * 1e3:8.0f} ms free {line.get('seconds', float('nan')) * 1e3:8.0f} ms limited "
                f"{line.get('read', 0) / 1e6:6.0f} MB read {line.get('written', 0) / 1e6:6.0f} MB written {state[:60]}"
            )
        print(query, " | ".join(cells))
    print(f"disk {measured['bandwidth_bytes_per_s'] / 1e6:.0f} MB/s")
    for engine in ENGINES:
        e = engines[engine]
        print(
            f"{engine}: {e['right']} of {len(e['limited'])} right, {e['limited_seconds']:.2f} s limited, "
            f"{e.get('free_seconds', float('nan')):.2f} s free, {e.get('allowed_seconds', float('nan')):.2f} s allowed, "
            f"peak of the group {e['peak_bytes'] / 1e6:.0f} MB {e['end']}"
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--answer", help=argparse.SUPPRESS)
    parser.add_argument("--suite", default="tpch")
    parser.add_argument("--scale", default="10")
    parser.add_argument("--memory", type=parse_size, default=parse_size("2GB"))
    parser.add_argument("--plenty", type=parse_size, default=parse_size("14GB"), help="the memory of the free run")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--folder", type=Path, help="where the databases are kept")
    parser.add_argument("--no-record", action="store_true")
    arguments = parser.parse_args()
    if arguments.answer:
        return answer(json.loads(arguments.answer))
    folder = arguments.folder or DATA_FOLDER / f"{arguments.suite}-sf{arguments.scale}-databases"
    folder.mkdir(parents=True, exist_ok=True)
    measured = measure(arguments, folder)
    report(measured)
    if not arguments.no_record:
        record = {
            "format": 1,
            "date": datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
            "commit": commit(),
            "machine": machine(),
            "suite": arguments.suite,
            "scale": float(arguments.scale),
            "memory": arguments.memory,
            **measured,
        }
        with (RESULTS_FOLDER / "limited-memory.jsonl").open("a") as lines:
            lines.write(json.dumps(record, separators=(",", ":")) + "\n")


if __name__ == "__main__":
    main()
