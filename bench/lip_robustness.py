"""Measures how much the order of a star join's dimensions matters.

    python lip_robustness.py --binary ../target/release/quickstep --scale 1

Every SSB query is run with its dimensions in every order of its FROM list, the
fact table outermost and no side swapped (`join_order = written`, `build_side =
off`), with runtime filters and without.  The ratio of the worst order to the
best is what lookahead information passing bounds.  The line of JSON goes to
`results/lip-robustness.jsonl`; docs/internals/lip.md quotes it.
"""

from __future__ import annotations

import argparse
import datetime
import itertools
import json
import re
import subprocess
import sys
import tempfile
from pathlib import Path

from compare.machine import commit, machine
from compare.record import RESULTS_FOLDER
from compare.suites import ANSWERS_FOLDER

FACT = "lineorder"
TIME = re.compile(r"^Time: ([0-9.]+) ms", re.MULTILINE)


def orders(text: str) -> dict[str, str]:
    """The query with its dimensions in every order, by that order."""
    match = re.search(r"\bfrom\s+([a-z_,\s]+?)\s+where\b", text)
    if match is None:
        raise ValueError(f"no FROM list of plain names in: {text}")
    tables = [name.strip() for name in match.group(1).split(",")]
    dimensions = [name for name in tables if name != FACT]
    found = {}
    for order in itertools.permutations(sorted(dimensions)):
        listed = ", ".join([FACT, *order])
        found[",".join(order)] = text[: match.start(1)] + listed + text[match.end(1) :]
    return found


def run(binary: Path, scale: float, statements: list[str]) -> list[float]:
    """Times of the statements, in one process, after the load."""
    script = [f"CALL ssb(scale => {scale})", *statements]
    with tempfile.NamedTemporaryFile("w", suffix=".sql") as file:
        file.write(";\n".join(script) + ";\n")
        file.flush()
        done = subprocess.run(
            [binary, "--timing", "-f", file.name], capture_output=True, text=True, check=False
        )
    times = [float(time) for time in TIME.findall(done.stderr)]
    if done.returncode != 0 or len(times) != len(script):
        raise RuntimeError(f"{len(times)} of {len(script)} statements ran: {done.stderr[-500:]}")
    return times[1:]


def measure(binary: Path, scale: float, rounds: int, filters: bool) -> dict[str, dict[str, float]]:
    """Best time of every query in every order: orders take turns, so that what disturbs one disturbs all."""
    switches = [
        "SET join_order = 'written'",
        "SET build_side = off",
        f"SET runtime_filters = {'on' if filters else 'off'}",
    ]
    jobs = []
    for file in sorted((ANSWERS_FOLDER / "queries" / "ssb").glob("q*.sql")):
        text = re.sub(r"--.*", "", file.read_text()).strip().rstrip(";")
        jobs += [(file.stem, order, statement) for order, statement in orders(text).items()]
    times = run(binary, scale, switches + [statement for _, _, statement in jobs] * rounds)
    best: dict[str, dict[str, float]] = {}
    for (query, order, _), time in zip(jobs * rounds, times[len(switches) :], strict=True):
        known = best.setdefault(query, {})
        known[order] = min(time, known.get(order, time))
    return best


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--binary", type=Path, required=True)
    parser.add_argument("--scale", type=float, default=1)
    parser.add_argument("--rounds", type=int, default=20)
    parser.add_argument("--no-record", action="store_true")
    arguments = parser.parse_args()
    record = {
        "format": 1,
        "date": datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
        "commit": commit(),
        "machine": machine(),
        "scale": arguments.scale,
        "rounds": arguments.rounds,
        "time": "best of the rounds, ms",
    }
    print(f"{'query':>6} {'orders':>6} | {'best':>8} {'worst':>8} {'ratio':>6} | without filters")
    # Without filters a round takes four times as long, and its ratios are no close call.
    rounds_of = {True: arguments.rounds, False: max(arguments.rounds // 4, 3)}
    results = {
        filters: measure(arguments.binary.resolve(), arguments.scale, rounds, filters)
        for filters, rounds in rounds_of.items()
    }
    for query, with_filters in results[True].items():
        cells = []
        for times in (with_filters, results[False][query]):
            best, worst = min(times.values()), max(times.values())
            cells.append(f"{best:>8.2f} {worst:>8.2f} {worst / best:>6.2f}")
        print(f"{query:>6} {len(with_filters):>6} | {' | '.join(cells)}")
    for name, filters in (("with_filters", True), ("without_filters", False)):
        ratios = {q: max(t.values()) / min(t.values()) for q, t in results[filters].items()}
        record[name] = {
            "worst_over_best": round(max(ratios.values()), 3),
            "queries": {
                query: {
                    "ratio": round(ratios[query], 3),
                    "orders_ms": {order: round(time, 3) for order, time in times.items()},
                }
                for query, times in results[filters].items()
            },
        }
        print(f"{name}: worst over best {max(ratios.values()):.2f}")
    if not arguments.no_record:
        with (RESULTS_FOLDER / "lip-robustness.jsonl").open("a") as lines:
            lines.write(json.dumps(record, separators=(",", ":")) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
