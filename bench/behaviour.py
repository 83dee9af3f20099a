"""A map of behaviours: nanoseconds a row of scan, filter, group, join, sort and window as the data changes, DuckDB beside.

    python behaviour.py --quickstep PATH/quickstep [--rows 4000000] [--rounds 3] [--threads 2] [--no-record] [axis ...]
    python behaviour.py --draw

One table `t` of a key, a value, a number for filters and payload is made for each point of an axis, the other properties being
those of the base (random order, dense keys, no NULLs, one payload column, no skew, 100,000 groups, a filter that keeps a tenth):

* order: rows sorted by the key, in clusters of about a thousand rows of near keys, or random; and order x spread;
* spread: keys dense, spread over 44 bits, or text of ten to sixteen characters;
* nulls: 0, 1 and 50 % of keys and values;
* width: 1, 4 and 16 payload columns, all of which every operation but the filter and the sort reads;
* skew: keys by Zipf's law with exponents 0, 0.5, 1 and 1.5;
* groups: how many keys there are, from 1 to as many as rows;
* selectivity: the share of rows that the filter keeps.

Every table is made once by DuckDB as a Parquet file in the folder and loaded by both engines. Turns, times and the comparison of
answers are those of `compare/in_turns.py`. The join's other side has one row for each key. The line of JSON goes to
`results/behaviour.jsonl`; `--draw` writes `docs/results/behaviour.md` and its plot from the last line.

A cliff is a step between neighbouring points of one axis over which an operation's time a row more than doubles.
"""

from __future__ import annotations

import argparse
import json
import statistics
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from compare.in_turns import CPU, PEER, Engines, keep
from compare.record import RESULTS_FOLDER

RECORDS = RESULTS_FOLDER / "behaviour.jsonl"
REPORT = RESULTS_FOLDER.parents[1] / "docs" / "results" / "behaviour.md"
CLIFF = 2.0
# A multiplier and a modulus that spread small numbers over 44 bits without collisions; the clusters' length in rows.
SPREAD = "* 1099511627689::BIGINT % 17592186044416"
CLUSTER = 1000


@dataclass(frozen=True)
class Shape:
    """What the rows of a table are like; the defaults are the base of all axes."""

    order: str = "random"
    spread: str = "dense"
    nulls: float = 0
    width: int = 1
    skew: float = 0
    groups: int = 100_000
    keeps: float = 0.1

    def table(self, rows: int) -> str:
        """The query of DuckDB that makes the rows."""
        groups = min(self.groups, rows)
        uniform = "((hash(i * 32 + 1) % 1000000007 + 0.5) / 1000000007.0)"
        if self.skew == 0:
            number = f"(hash(i * 32 + 1) % {groups})::BIGINT"
        elif self.skew == 1:
            number = f"floor(pow({groups}, {uniform}))::BIGINT - 1"
        else:
            power = 1 - self.skew
            number = f"floor(pow({uniform} * (pow({groups}, {power}) - 1) + 1, {1 / power}))::BIGINT - 1"
        if self.skew:
            # Frequent keys are not neighbours.
            number = f"(least(greatest({number}, 0), {groups - 1}) * 7368787) % {groups}"
        payload = ", ".join(f"(hash(i * 32 + {8 + at}) % 100000)::INTEGER AS p{at}" for at in range(self.width))
        ordered = {
            "sorted": "ORDER BY number, i",
            "clustered": f"ORDER BY hash(number // {max(1, groups * CLUSTER // rows)}), hash(i)",
            "random": "",
        }[self.order]
        null = f"hash(i * 32 + {{}}) % 10000 < {int(self.nulls * 10000)}"
        return (
            f"SELECT CASE WHEN {null.format(2)} THEN NULL ELSE {key(self.spread, 'number')} END AS k,"
            f" CASE WHEN {null.format(3)} THEN NULL ELSE (hash(i * 32 + 4) % 1000000)::INTEGER END AS v,"
            f" (hash(i * 32 + 5) % 1000000)::INTEGER AS f, {payload}"
            f" FROM (SELECT i, {number} AS number FROM range({rows}) r(i)) {ordered}"
        )

    def other_side(self, rows: int) -> str:
        return (
            f"SELECT {key(self.spread, 'i')} AS k, (hash(i * 32 + 6) % 1000)::INTEGER AS w"
            f" FROM range({min(self.groups, rows)}) r(i) ORDER BY hash(i)"
        )

    def operations(self) -> dict[str, str]:
        all_payload = ", ".join(f"sum(p{at})" for at in range(self.width))
        whole = " + ".join(f"s{at}" for at in range(self.width))
        sums = ", ".join(f"sum(p{at}) AS s{at}" for at in range(self.width))
        return {
            "scan": f"SELECT sum(v), count(k), {all_payload} FROM t",
            "filter": f"SELECT sum(v), count(*) FROM t WHERE f < {int(self.keeps * 1_000_000)}",
            "group": f"SELECT count(*), sum(n), sum({whole}) FROM (SELECT k, count(v) AS n, {sums} FROM t GROUP BY k)",
            "join": f"SELECT sum(w), count(*), {all_payload} FROM t JOIN d ON t.k = d.k",
            "sort": "SELECT sum(n * (v % 7)) FROM (SELECT v, row_number() OVER (ORDER BY v, f) AS n FROM t)",
            "window": "SELECT sum(s), count(*) FROM (SELECT sum(v) OVER (PARTITION BY k ORDER BY f"
            " ROWS BETWEEN 3 PRECEDING AND CURRENT ROW) AS s FROM t)".replace("ORDER BY f", "ORDER BY f, v, p0"),
        }


BASE = Shape()
OPERATIONS = list(BASE.operations())


def key(spread: str, number: str) -> str:
    if spread == "dense":
        return f"({number})::INTEGER"
    if spread == "sparse":
        return f"(({number}) {SPREAD})::BIGINT"
    return f"'key ' || (({number}) {SPREAD} % 1000000000000)::VARCHAR"


def axes(rows: int) -> dict[str, dict[str, Shape]]:
    """The points of each axis, in the order in which neighbours are compared."""
    both = {f"{order}, {spread}": Shape(order=order, spread=spread) for spread in ("sparse", "text") for order in ("sorted", "clustered")}
    counts = [10**power for power in range(9) if 10**power < rows]
    return {
        "order": {order: Shape(order=order) for order in ("sorted", "clustered", "random")},
        "spread": {spread: Shape(spread=spread) for spread in ("dense", "sparse", "text")},
        "order and spread": both,
        "nulls": {f"{share:.0%}": Shape(nulls=share) for share in (0, 0.01, 0.5)},
        "width": {str(width): Shape(width=width) for width in (1, 4, 16)},
        "skew": {f"{skew:g}": Shape(skew=skew) for skew in (0, 0.5, 1, 1.5)},
        "groups": {f"{groups:,}": Shape(groups=groups) for groups in [*counts, rows]},
        "groups, text": {f"{groups:,}": Shape(groups=groups, spread="text") for groups in counts[2::2]},
        "selectivity": {f"{share:g}": Shape(keeps=share) for share in (0, 0.0001, 0.01, 0.1, 0.5, 0.9, 1)},
    }


def measure(args: argparse.Namespace) -> dict[str, Any]:
    wanted = {axis: points for axis, points in axes(args.rows).items() if not args.axes or axis in args.axes}
    shapes = {shape for points in wanted.values() for shape in points.values()}
    turns = len(shapes) * (len(OPERATIONS) * (args.rounds + 1) + 4)
    engines = Engines(args.quickstep, None, args.threads, turns)
    # Points that differ only in what the filter keeps share a table, and only the filter is asked again.
    known: dict[tuple[Shape, str], dict[str, float]] = {}
    loaded: Shape | None = None
    series: dict[str, Any] = {}
    for axis, points in wanted.items():
        for point, shape in points.items():
            content = replace(shape, keeps=BASE.keeps)
            found = {}
            for operation, question in shape.operations().items():
                at = (shape if operation == "filter" else content, operation)
                if at not in known:
                    if loaded != content:
                        load_tables(engines, args.data, content, args.rows)
                        loaded = content
                    known[at], _ = engines.ask(question, args.rounds)
                found[operation] = {
                    name: round(value * 1e6 / args.rows, 3) for name, value in known[at].items()
                }
            series.setdefault(axis, {})[point] = found
            told = "  ".join(
                f"{operation} {figures['quickstep']:.1f} ({figures[PEER] / figures['quickstep']:.2f}x)"
                for operation, figures in found.items()
            )
            print(f"{axis:18} {point:20} {told}", flush=True)
    engines.close()
    return {"threads": args.threads, "rows": args.rows, "rounds": args.rounds, "nanoseconds_a_row": series}


def load_tables(engines: Engines, folder: Path, shape: Shape, rows: int) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    maker = engines.by_name[PEER]
    for name, query in (("t", shape.table(rows)), ("d", shape.other_side(rows))):
        file = folder / f"{name}.parquet"
        maker.run(f"COPY ({query}) TO '{file}' (FORMAT parquet)")
        engines.everywhere(f"DROP TABLE IF EXISTS {name}")
        engines.everywhere(f"CREATE TABLE {name} AS SELECT * FROM read_parquet('{file}')")
        file.unlink()


def last_record() -> dict[str, Any]:
    record: dict[str, Any] = json.loads(RECORDS.read_text(encoding="utf-8").splitlines()[-1])
    return record


def ratio(figures: dict[str, float]) -> float:
    return figures[PEER] / figures["quickstep"]


def steps(series: dict[str, Any]) -> list[tuple[str, str, str, str, float, float]]:
    """Operations whose time a row more than doubles between neighbours: axis, operation, both points, and the factor here and
    in DuckDB. Crossed axes have no neighbours."""
    found = []
    for axis, points in series.items():
        if " and " in axis:
            continue
        names = list(points)
        for before, after in zip(names, names[1:], strict=False):
            for operation in OPERATIONS:
                if axis == "selectivity" and operation != "filter":
                    continue
                times = [points[point][operation] for point in (before, after)]
                factor, peer = (times[1][engine] / times[0][engine] for engine in ("quickstep", PEER))
                if factor > CLIFF:
                    found.append((axis, operation, before, after, factor, peer))
    return sorted(found, key=lambda step: -step[4])


def text(record: dict[str, Any]) -> str:
    """The page of the record."""
    series = record["nanoseconds_a_row"]
    ratios = [ratio(figures) for points in series.values() for found in points.values() for figures in found.values()]
    cpu = [
        figures[PEER + CPU] / figures["quickstep" + CPU]
        for points in series.values() for found in points.values() for figures in found.values()
        if figures["quickstep" + CPU] > 0
    ]
    lines = [
        "# How time a row changes with the data",
        "",
        f"Made by `bench/behaviour.py` from the last line of `bench/results/behaviour.jsonl`: {record['rows']:,} rows,"
        f" {record['threads']} threads, medians of {record['rounds']} rounds after one that warms up, DuckDB"
        f" {record['engines'][PEER]} in turn, all answers equal; commit {record['commit']['id'][:8]}, load average"
        f" {record['load_average'][0]:g}. Each cell has nanoseconds a row (of time, both threads together at work) and in brackets"
        " DuckDB's time over ours: below 1 DuckDB is faster. What each axis and operation is stands at the head of the script.",
        "",
        f"Over all {len(ratios)} cells: geometric mean {statistics.geometric_mean(ratios):.2f}x of DuckDB's time,"
        f" {statistics.geometric_mean(cpu):.2f}x of its CPU time; slower on {sum(one < 1 for one in ratios)}.",
        "",
        "![the map](behaviour.svg)",
        "",
    ]
    for axis, points in series.items():
        shown = ["filter"] if axis == "selectivity" else OPERATIONS
        lines += [f"## {axis.capitalize()}", "", "| | " + " | ".join(shown) + " |", "| --- " * (len(shown) + 1) + "|"]
        for point, found in points.items():
            cells = (f"{found[operation]['quickstep']:.1f} ({ratio(found[operation]):.2f}x)" for operation in shown)
            lines.append(f"| {point} | " + " | ".join(cells) + " |")
        lines.append("")
    lines += [
        "## Cliffs",
        "",
        f"Steps between neighbouring points over which the time a row grows more than {CLIFF:g}-fold, and by how much DuckDB's does:",
        "",
        "| axis | operation | from | to | here | DuckDB |",
        "| --- | --- | --- | --- | --- | --- |",
    ]
    for axis, operation, before, after, factor, peer in steps(series):
        lines.append(f"| {axis} | {operation} | {before} | {after} | {factor:.1f}x | {peer:.1f}x |")
    return "\n".join(lines) + "\n"


def draw(record: dict[str, Any]) -> None:
    """The map: operations across, points down, each cell coloured by the ratio and with the time in it."""
    import matplotlib

    matplotlib.use("agg")
    import matplotlib.pyplot as plot
    from matplotlib.colors import LogNorm

    from everybody_plots import STYLE

    rows, values, times, ends = [], [], [], []
    for axis, points in record["nanoseconds_a_row"].items():
        for point, found in points.items():
            rows.append(f"{axis}: {point}")
            values.append([ratio(found[operation]) for operation in OPERATIONS])
            times.append([found[operation]["quickstep"] for operation in OPERATIONS])
        ends.append(len(rows))
    with plot.rc_context(STYLE):
        figure, axes = plot.subplots(figsize=(8, 0.24 * len(rows) + 1.2))
        image = axes.imshow(values, cmap="RdYlGn", norm=LogNorm(0.125, 8), aspect="auto")
        axes.set_xticks(range(len(OPERATIONS)), OPERATIONS)
        axes.xaxis.tick_top()
        axes.set_yticks(range(len(rows)), rows, fontsize=8)
        for end in ends[:-1]:
            axes.axhline(end - 0.5, color="white", linewidth=3)
        for down, line in enumerate(times):
            for across, nanoseconds in enumerate(line):
                axes.text(across, down, f"{nanoseconds:.1f}", ha="center", va="center", fontsize=7)
        bar = figure.colorbar(image, ax=axes, fraction=0.04, pad=0.02, ticks=[0.125, 0.25, 0.5, 1, 2, 4, 8])
        bar.ax.set_yticklabels(["1/8", "1/4", "1/2", "1", "2", "4", "8"])
        bar.set_label("DuckDB's time over ours; the numbers are nanoseconds a row", fontsize=8)
        figure.savefig(REPORT.with_suffix(".svg"), metadata={"Date": None}, facecolor="white", bbox_inches="tight")
        plot.close(figure)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("axes", nargs="*", metavar="axis")
    parser.add_argument("--quickstep")
    parser.add_argument("--rows", type=int, default=4_000_000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--data", type=Path, default=Path("/tmp/quickstep-behaviour"))
    parser.add_argument("--draw", action="store_true", help="only draw the last record")
    parser.add_argument("--no-record", action="store_true")
    args = parser.parse_args()
    if not args.draw:
        if not args.quickstep:
            parser.error("--quickstep names the command to measure")
        figures = measure(args)
        if args.no_record:
            return
        keep(RECORDS.name, "time a row as the data changes (bench/behaviour.py)", **figures)
    record = last_record()
    draw(record)
    REPORT.write_text(text(record), encoding="utf-8")


if __name__ == "__main__":
    main()
