"""Measures how queries scale with workers: wall time, CPU time, planning apart.

    python scaling.py --suite ssb --scale 10 --workers 1,2

Each number of workers has a process of its own that generates the data once;
rounds go over all processes in turn, so that what disturbs the machine disturbs
all alike, and only one of them runs at a time.  In its turn an engine answers a
query twice, and the second time counts: as everywhere here, a warm query.  Wall time is a query's median
from text to Arrow table; CPU time is the whole process's.  Planning stands apart: no number of
workers changes it, and a session keeps its plans, so that the second time there is none.  It is what
EXPLAIN ANALYZE tells at scale factor 1 at most.  How
much of the memory's bandwidth one worker uses is what the query's scans read, as
EXPLAIN ANALYZE tells, over its time, beside how fast one thread goes through a
gibibyte (memchr of a byte that is not there).  What the machine itself gives to
more threads (its cores may share a clock, or caches with neighbours) is measured
beside every query: threads that share nothing hash the same bytes, in all as
many for each number of threads.  The line of JSON goes to `results/scaling.jsonl`, the tables to
docs/results/scaling.md.
"""

from __future__ import annotations

import argparse
import ctypes
import datetime
import hashlib
import json
import math
import multiprocessing
import re
import statistics
import time
from concurrent.futures import ThreadPoolExecutor
from multiprocessing.connection import Connection
from pathlib import Path

from compare.machine import commit, machine
from compare.record import RESULTS_FOLDER
from compare.suites import ANSWERS_FOLDER

REPORT = Path(__file__).resolve().parent.parent / "docs" / "results" / "scaling.md"
# Queries whose one worker uses less of the bandwidth than this should gain all that a worker more can give.
LOW_SHARE = 0.4
# TPC-H's Q11 takes a share that falls with the scale.
FRACTION = "{fraction}"


def queries(suite: str, scale: float) -> dict[str, str]:
    files = sorted((ANSWERS_FOLDER / "queries" / suite).glob("q*.sql"))
    return {file.stem: file.read_text().replace(FRACTION, f"{0.0001 / scale:.10f}") for file in files}


# What a line of EXPLAIN ANALYZE says at its end: "; 1.1 GB".
BYTES = re.compile(r"work orders?; ([0-9.]+) (B|kB|MB|GB)")
UNITS = {"B": 1, "kB": 1e3, "MB": 1e6, "GB": 1e9}


def bytes_read(plan: list[str]) -> float:
    """What the scans of a plan with its counts read."""
    return sum(float(m[1]) * UNITS[m[2]] for line in plan if (m := BYTES.search(line)))


def bandwidth() -> float:
    """Bytes a second that one thread reads, best of five."""
    size = 1 << 30
    buffer = ctypes.create_string_buffer(b"\2" * size, size)
    find = ctypes.CDLL(None).memchr
    find.argtypes = [ctypes.c_void_p, ctypes.c_int, ctypes.c_size_t]
    find.restype = ctypes.c_void_p
    best = math.inf
    for _ in range(5):
        begun = time.perf_counter()
        assert find(buffer, 1, size) is None
        best = min(best, time.perf_counter() - begun)
    return size / best


# Fits a core's own cache; hashing it takes some 0.3 ms, so that threads seldom meet at the interpreter's lock.
HASHED = b"\3" * (512 << 10)
HASHED_TIMES = 96


def hashing(pools: dict[int, ThreadPoolExecutor], threads: int) -> float:
    """Milliseconds in which so many threads hash what is to be hashed, all together."""

    def part(_: int) -> None:
        digest = hashlib.sha256()
        for _ in range(HASHED_TIMES // threads):
            digest.update(HASHED)

    # As an engine's query, it is done twice: a core that was asleep takes a while.
    list(pools[threads].map(part, range(threads)))
    begun = time.perf_counter()
    list(pools[threads].map(part, range(threads)))
    return (time.perf_counter() - begun) * 1e3


def serve(pipe: Connection, suite: str, scale: float, workers: int) -> None:
    """One engine: answers each query with wall, CPU and planning milliseconds."""
    import quickstep

    connection = quickstep.connect(workers=workers)
    connection.execute(f"CALL {suite}(scale => {scale:g})").fetchall()
    pipe.send("ready")
    while (statement := pipe.recv()) is not None:
        if statement.startswith("EXPLAIN"):
            pipe.send(bytes_read([row[0] for row in connection.execute(statement).fetchall()]))
            continue
        # The other engine ran meanwhile: its data are in the caches, and the second worker's core went to sleep.
        connection.sql(statement).arrow()
        wall, cpu = time.perf_counter(), time.process_time()
        connection.sql(statement).arrow()
        pipe.send(((time.perf_counter() - wall) * 1e3, (time.process_time() - cpu) * 1e3))


def planning(statements: dict[str, str], suite: str, scale: float) -> dict[str, float]:
    """Planning milliseconds, of which the number of workers changes nothing."""
    import quickstep

    connection = quickstep.connect()
    connection.execute(f"CALL {suite}(scale => {min(scale, 1):g})").fetchall()
    found = {}
    for name, statement in statements.items():
        times = []
        for _ in range(5):
            lines = [row[0] for row in connection.execute("EXPLAIN ANALYZE " + statement).fetchall()]
            times += [float(m[1]) for line in lines if (m := re.match(r"optimizing: ([0-9.]+) ms", line))]
        found[name] = statistics.median(times)
    return found


def measure(
    arguments: argparse.Namespace, statements: dict[str, str]
) -> tuple[dict[int, dict[str, tuple[float, float]]], dict[str, float], dict[int, float]]:
    context = multiprocessing.get_context("spawn")
    engines = {}
    for workers in arguments.workers:
        ours, theirs = context.Pipe()
        process = context.Process(target=serve, args=(theirs, arguments.suite, arguments.scale, workers), daemon=True)
        process.start()
        assert ours.recv() == "ready"
        engines[workers] = ours
    times: dict[int, dict[str, list[tuple[float, float]]]] = {w: {q: [] for q in statements} for w in engines}
    pools = {workers: ThreadPoolExecutor(workers) for workers in engines}
    hashed: dict[int, list[float]] = {workers: [] for workers in engines}
    for round_number in range(arguments.rounds + 1):
        for name, statement in statements.items():
            for workers in engines:
                hashed[workers].append(hashing(pools, workers))
            for workers, pipe in engines.items():
                pipe.send(statement)
                found = pipe.recv()
                # The first round warms the caches.
                if round_number > 0:
                    times[workers][name].append(found)
    read = {}
    for name, statement in statements.items():
        engines[arguments.workers[0]].send("EXPLAIN ANALYZE " + statement)
        read[name] = engines[arguments.workers[0]].recv()
    for pipe in engines.values():
        pipe.send(None)
    return {
        workers: {q: (statistics.median(w for w, _ in pairs), statistics.median(c for _, c in pairs)) for q, pairs in by.items()}
        for workers, by in times.items()
    }, read, {workers: statistics.median(times) for workers, times in hashed.items()}


def geometric_mean(values: list[float]) -> float:
    return math.exp(sum(map(math.log, values)) / len(values))


def report(record: dict) -> str:
    workers = [int(w) for w in record["times"]]
    base = record["times"][str(workers[0])]
    lines = [f"## {record['suite'].upper()} at scale factor {record['scale']:g}, {record['machine']['cpu']}\n"]
    head = ["query", "planning"] + [f"{w}: wall, CPU" for w in workers] + [f"{w} over {workers[0]}: faster, CPU" for w in workers[1:]]
    lines += ["| " + " | ".join(head) + " |", "|" + " --- |" * len(head)]
    for query in base:
        cells = [query, f"{record['planning_ms'][query]:.2f}"]
        cells += ["{:.1f}, {:.1f}".format(*record["times"][str(w)][query]) for w in workers]
        for w in workers[1:]:
            wall, cpu = record["times"][str(w)][query]
            cells.append(f"{base[query][0] / wall:.2f}x, {cpu / base[query][1]:.2f}x")
        lines.append("| " + " | ".join(cells) + " |")
    cells = ["geometric mean", f"{geometric_mean(list(record['planning_ms'].values())):.2f}"]
    means = {w: [geometric_mean([record["times"][str(w)][q][i] for q in base]) for i in (0, 1)] for w in workers}
    cells += [f"{means[w][0]:.1f}, {means[w][1]:.1f}" for w in workers]
    first = means[workers[0]]
    cells += [f"{first[0] / means[w][0]:.2f}x, {means[w][1] / first[1]:.2f}x" for w in workers[1:]]
    lines.append("| " + " | ".join(cells) + " |")
    if "bytes_read" in record:
        lines.append("\n" + low_bandwidth(record, workers))
    if "hashing_ms" in record:
        given = record["hashing_ms"]
        gains = [f"{w} threads are {given[str(workers[0])] / given[str(w)]:.2f}x" for w in workers[1:]]
        lines.append(
            f"\nHashing in threads that share nothing, in the same rounds: {' and '.join(gains)} as fast as "
            f"{workers[0]}. No query can gain more than the machine gives."
        )
    return "\n".join(lines) + "\n"


def low_bandwidth(record: dict, workers: list[int]) -> str:
    """How the queries scale that leave most of the bandwidth to others."""
    base = record["times"][str(workers[0])]
    whole = record["bandwidth_bytes_per_s"]
    low = [q for q in base if record["bytes_read"][q] / (base[q][0] / 1e3) < LOW_SHARE * whole]
    text = f"One thread reads {whole / 1e9:.1f} GB/s. With {workers[0]} worker{'s' * (workers[0] > 1)}, "
    if not low:
        return text + f"no query uses under {LOW_SHARE:.0%} of that."
    text += f"{len(low)} of {len(base)} queries use under {LOW_SHARE:.0%} of that ({', '.join(low)}); of these, "
    faster = [geometric_mean([base[q][0] / record["times"][str(w)][q][0] for q in low]) for w in workers[1:]]
    return text + " and ".join(f"{w} workers are {f:.2f}x faster" for w, f in zip(workers[1:], faster)) + " in the geometric mean."


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--suite", choices=["tpch", "ssb"], required=True)
    parser.add_argument("--scale", type=float, default=1)
    parser.add_argument("--workers", type=lambda text: [int(w) for w in text.split(",")], default=[1, 2])
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--no-record", action="store_true")
    arguments = parser.parse_args()
    statements = queries(arguments.suite, arguments.scale)
    times, read, hashed = measure(arguments, statements)
    record = {
        "format": 1,
        "date": datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
        "commit": commit(),
        "machine": machine(),
        "suite": arguments.suite,
        "scale": arguments.scale,
        "rounds": arguments.rounds,
        "planning_ms": planning(statements, arguments.suite, arguments.scale),
        "bytes_read": read,
        "bandwidth_bytes_per_s": bandwidth(),
        "hashing_ms": {str(workers): round(value, 3) for workers, value in hashed.items()},
        "times": {str(workers): {q: [round(v, 3) for v in pair] for q, pair in by.items()} for workers, by in times.items()},
    }
    print(report(record))
    if arguments.no_record:
        return
    file = RESULTS_FOLDER / "scaling.jsonl"
    with file.open("a") as lines:
        lines.write(json.dumps(record, separators=(",", ":")) + "\n")
    latest = {}
    for line in file.read_text().splitlines():
        one = json.loads(line)
        latest[one["suite"], one["scale"], one["machine"]["cores"]] = one
    text = (
        "# Scaling with workers\n"
        "Written by `bench/scaling.py`, where it is explained. Milliseconds; CPU is the whole process's; planning "
        "stands apart (plans are kept), and is of scale factor 1 at most.\n\n"
    )
    REPORT.write_text(text + "\n".join(report(one) for one in latest.values()))


if __name__ == "__main__":
    main()
