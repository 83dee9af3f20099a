"""What each technique is worth: TPC-H and SSB with techniques switched off and on.

    python ablation.py --suite tpch --suite ssb --scale 1

Four series, each in one run on one machine:

* *without*: every switch off by itself, everything else on;
* *added*: from a plain engine up, one technique more at a time, in the order of
  `ORDER`;
* *filters*: exact filters and runtime filters (LIP), neither, one, both: the figure
  of the Quickstep paper (PVLDB 2018, section on SSB);
* *waterfall*: TPC-H's Q10 from plain columns up, as in the paper's last figure.

A configuration is one process of `quickstep tpch` or `quickstep ssb`, which loads,
runs every query once cold and `--runs` times warm, and reports medians.  Rounds go
over all configurations before the next round begins, so that what disturbs the
machine disturbs all alike; the least of a query's medians counts.  Tables and plots
go to docs/results/.
"""

from __future__ import annotations

import argparse
import json
import math
import subprocess
import sys
import time
from pathlib import Path

STARTED = time.monotonic()
REPOSITORY = Path(__file__).resolve().parent.parent
RESULTS = REPOSITORY / "docs" / "results"

# Without these a comma join is a cross product of everything, which ends nowhere.
ALWAYS_ON = {"filter_push_down", "join_order"}
# Part of any engine that deserves the name: on in the plain one too.
PLAIN = ALWAYS_ON | {
    "simplification",
    "projection_push_down",
    "outer_join_simplification",
    "build_side",
    "sampling",
    "transitive_predicates",
    "distinct_removal",
    "join_elimination",
    "common_subplans",
}
# In which the techniques are added, as far as the engine has them; others follow.
ORDER = [
    "block_predicates",
    "predicates_on_codes",
    "block_skipping",
    "simd",
    "narrow_decimals",
    "partial_predicates",
    "top_k",
    "dense_keys",
    "group_key_reduction",
    "exact_filters",
    "runtime_filters",
    "magic_sets",
]
FILTERS = ("exact_filters", "runtime_filters", "magic_sets")


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--suite", action="append", choices=["tpch", "ssb"])
    parser.add_argument("--scale", default="1")
    parser.add_argument("--series", action="append", choices=["without", "added", "filters", "waterfall"],
                        help="only these; the part of the report on a suite and scale is replaced as a whole")
    parser.add_argument("--runs", type=int, default=3, help="warm runs of a query in one process")
    parser.add_argument("--rounds", type=int, default=2, help="processes for each configuration")
    parser.add_argument("--quickstep", default="quickstep", help="the program")
    parser.add_argument("--data", help="folder with SUITE-sfSCALE/TABLE.parquet; made on the fly without")
    parser.add_argument("--prefix", default="", help="a command to measure under, such as `taskset -c 0,1`")
    parser.add_argument("--resume", help="a file to keep measurements in, and to go on from")
    parser.add_argument("--budget", type=float, default=math.inf, help="stop measuring after so many seconds")
    parser.add_argument("--timeout", type=float, default=120, help="seconds for one process")
    return parser.parse_args()


def switches(program: str) -> list[str]:
    """Names of the engine's switches: settings that are `on`."""
    shown = subprocess.run(
        [program, "--format", "csv", "-c", "SHOW ALL"], check=True, capture_output=True, text=True
    ).stdout
    rows = [line.split(",") for line in shown.splitlines()]
    return [row[0] for row in rows if len(row) > 1 and row[1] == "on"]


def configurations(suite: str, names: list[str]) -> dict[tuple[str, str], tuple[list[str], str | None]]:
    """(series, label) -> settings, and the queries if not all."""
    off = lambda some: [f"{name}=off" for name in names if name in some]
    techniques = [n for n in ORDER if n in names] + sorted(set(names) - set(ORDER) - PLAIN)
    found: dict[tuple[str, str], tuple[list[str], str | None]] = {("all", "everything on"): ([], None)}
    for name in names:
        if name not in ALWAYS_ON:
            found["without", name] = ([f"{name}=off"], None)
    for count in range(len(techniques) + 1):
        label = "plain" if count == 0 else "+ " + techniques[count - 1]
        found["added", label] = (off(techniques[count:]), None)
    found["filters", "neither"] = (off(FILTERS), None)
    found["filters", "exact filters"] = (off(FILTERS[1:]), None)
    found["filters", "LIP"] = (off(FILTERS[:1]), None)
    if suite == "tpch":
        scans = {"block_predicates", "predicates_on_codes", "block_skipping"}
        q10 = "10"
        found["waterfall", "plain, columns as they are"] = (off(techniques) + ["layout=column"], q10)
        found["waterfall", "+ compressed columns"] = (off(techniques), q10)
        found["waterfall", "+ selection in the blocks"] = (off(set(techniques) - scans), q10)
        found["waterfall", "+ LIP"] = (off(set(techniques) - scans - set(FILTERS)), q10)
        found["waterfall", "everything"] = ([], q10)
    return found


def measure(options: argparse.Namespace, suite: str, settings: list[str], queries: str | None) -> dict[str, float]:
    """Median milliseconds by query; empty if the process failed or took too long."""
    command = [*options.prefix.split(), options.quickstep, suite, "--format", "json"]
    command += ["--scale", options.scale, "--runs", str(options.runs)]
    for setting in settings:
        command += ["--set", setting]
    if queries:
        command += ["--queries", queries]
    if options.data:
        folder = Path(options.data) / f"{suite}-sf{options.scale}"
        if folder.is_dir():
            command += ["--data", str(folder)]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=options.timeout)
    except subprocess.TimeoutExpired:
        return {}
    if done.returncode != 0:
        print(done.stderr, file=sys.stderr)
        return {}
    report = json.loads(done.stdout.strip().splitlines()[-1])
    return {query["query"]: query["median_ms"] for query in report["queries"]}


def geometric_mean(values: list[float]) -> float:
    return math.exp(sum(map(math.log, values)) / len(values)) if values else math.nan


Times = dict[tuple[str, str], dict[str, float]]


def run(options: argparse.Namespace, suite: str) -> Times:
    wanted = configurations(suite, switches(options.quickstep))
    if options.series:
        wanted = {key: value for key, value in wanted.items() if key[0] in ["all", *options.series]}
    kept = Path(options.resume) if options.resume else None
    done: dict[str, dict[str, float]] = json.loads(kept.read_text()) if kept and kept.exists() else {}
    times: Times = {key: {} for key in wanted}
    for round_number in range(options.rounds):
        for key, (settings, queries) in wanted.items():
            name = " | ".join([suite, options.scale, str(round_number), *key])
            if name not in done:
                if time.monotonic() - STARTED > options.budget:
                    sys.exit("the time is up; run again to go on")
                done[name] = measure(options, suite, settings, queries)
                if kept:
                    kept.write_text(json.dumps(done))
            for query, milliseconds in done[name].items():
                times[key][query] = min(times[key].get(query, math.inf), milliseconds)
            mean = geometric_mean(list(done[name].values()))
            print(f"{suite} round {round_number}: {' '.join(key)}: {mean:.2f} ms", flush=True)
    return times


def table(heading: list[str], rows: list[list[str]]) -> str:
    lines = ["| " + " | ".join(row) + " |" for row in [heading, ["---"] * len(heading), *rows]]
    return "\n".join(lines) + "\n"


def series(times: Times, name: str) -> dict[str, dict[str, float]]:
    return {label: queries for (own, label), queries in times.items() if own == name}


def slower(base: dict[str, float], other: dict[str, float]) -> str:
    """The queries that suffer most, with the factor."""
    both = [(other[q] / base[q], q) for q in base if q in other]
    worst = [f"{query} {ratio:.1f}x" for ratio, query in sorted(both, reverse=True)[:3] if ratio > 1.15]
    return ", ".join(worst)


def bars(path: Path, title: str, values: dict[str, float], unit: str) -> None:
    import matplotlib

    matplotlib.use("svg")
    import matplotlib.pyplot as plot

    # Text stays text, and the same numbers give the same file.
    matplotlib.rcParams["svg.fonttype"] = "none"
    matplotlib.rcParams["svg.hashsalt"] = "quickstep"
    figure, axes = plot.subplots(figsize=(8, 0.6 + 0.3 * len(values)))
    labels = list(values)
    axes.barh(range(len(labels)), [values[label] for label in labels], color="#4477aa")
    axes.set_yticks(range(len(labels)), labels)
    axes.invert_yaxis()
    for at, label in enumerate(labels):
        axes.text(values[label], at, f" {values[label]:.2f}", va="center")
    axes.set_xlabel(unit)
    axes.set_title(title)
    axes.spines[["top", "right"]].set_visible(False)
    figure.tight_layout()
    figure.savefig(path, metadata={"Date": None})
    plot.close(figure)


def report(options: argparse.Namespace, suite: str, times: Times) -> str:
    base = times["all", "everything on"]
    mean = lambda queries: geometric_mean(list(queries.values()))
    stem = f"ablation-{suite}-sf{options.scale}"
    text = f"## {suite.upper()} at scale factor {options.scale}\n\n"
    text += f"Warm runs in a process: {options.runs}; processes for each configuration: {options.rounds}.\n\n"

    without = {label: q for label, q in series(times, "without").items() if q}
    if without:
        without = dict(sorted(without.items(), key=lambda item: -mean(item[1])))
        text += f"### Each switch off by itself\n\nEverything on: {mean(base):.2f} ms (geometric mean).\n\n"
        rows = [[n, f"{mean(q):.2f}", f"{mean(q) / mean(base):.2f}x", slower(base, q)] for n, q in without.items()]
        text += table(["without", "ms", "time", "slowest against everything on"], rows)
        factors = {label: mean(queries) / mean(base) for label, queries in without.items()}
        bars(RESULTS / f"{stem}-without.svg", f"{suite.upper()}: without one technique", factors, "time, everything on = 1")
        text += f"\n![without one technique]({stem}-without.svg)\n\n"

    added = {label: q for label, q in series(times, "added").items() if q}
    if added:
        text += "### One technique more at a time\n\n"
        rows, before = [], None
        for label, queries in added.items():
            gain = "" if before is None else f"{before / mean(queries):.2f}x"
            rows.append([label, f"{mean(queries):.2f}", gain, f"{sum(queries.values()):.0f}"])
            before = mean(queries)
        text += table(["configuration", "geometric mean, ms", "faster than the row above", "total, ms"], rows)
        bars(RESULTS / f"{stem}-added.svg", f"{suite.upper()}: one technique more at a time",
             {label: mean(q) for label, q in added.items()}, "geometric mean, ms")
        text += f"\n![one technique more at a time]({stem}-added.svg)\n\n"

    filters = {label: q for label, q in series(times, "filters").items() if q}
    if filters:
        filters["both"] = base
        neither = filters.get("neither", {})
        text += "### Exact filters and LIP\n\n"
        names = list(base)
        rows = [[label, f"{mean(q):.2f}", f"{mean(neither) / mean(q):.2f}x", f"{sum(q.values()):.1f}"]
                for label, q in filters.items()]
        text += table(["", "geometric mean, ms", "faster than neither", "total, ms"], rows) + "\n"
        rows = [[q, *(f"{filters[label].get(q, math.nan):.2f}" for label in filters)] for q in names]
        text += table(["query", *filters], rows)
        bars(RESULTS / f"{stem}-filters.svg", f"{suite.upper()}: exact filters and LIP",
             {label: mean(q) for label, q in filters.items()}, "geometric mean, ms")
        text += f"\n![exact filters and LIP]({stem}-filters.svg)\n\n"

    steps = {label: q["10"] for label, q in series(times, "waterfall").items() if "10" in q}
    if steps:
        text += "### Q10, step by step\n\n"
        text += table(["configuration", "ms"], [[label, f"{ms:.2f}"] for label, ms in steps.items()])
        bars(RESULTS / f"{stem}-q10.svg", "TPC-H Q10, step by step", steps, "ms")
        text += f"\n![Q10, step by step]({stem}-q10.svg)\n\n"
    return text


def kept_sections(text: str) -> dict[str, str]:
    """The report's parts by their headings, so that a run replaces its own and keeps the others'."""
    parts = text.split("\n## ")[1:]
    return {part.split("\n", 1)[0]: "## " + part.rstrip() + "\n" for part in parts}


def main() -> None:
    options = parse_arguments()
    RESULTS.mkdir(parents=True, exist_ok=True)
    file = RESULTS / "ablation.md"
    sections = kept_sections(file.read_text()) if file.exists() else {}
    for suite in options.suite or ["tpch", "ssb"]:
        text = report(options, suite, run(options, suite))
        sections[text.split("\n", 1)[0].removeprefix("## ")] = text.rstrip() + "\n"
    head = (
        "# What each technique is worth\n"
        "Written by `make bench-ablation` (`bench/ablation.py`, where the series are explained). Milliseconds are "
        "medians of warm runs, text to result, planning included; what counts is the ratio within one run. "
        "With a single process for each configuration, differences under a tenth are noise.\n\n"
    )
    file.write_text(head + "\n".join(sections[heading] for heading in sorted(sections, reverse=True)))


if __name__ == "__main__":
    main()
