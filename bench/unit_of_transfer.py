"""Writes docs/results/unit-of-transfer.md and its plots from the recorded runs of the study of the unit of transfer.

    python unit_of_transfer.py             page and plots
    python unit_of_transfer.py --text      page only: needs no matplotlib

Nothing is measured here: `crates/conformance/src/bin/transfer_study` writes
results/unit-of-transfer.jsonl.  Figures, verdicts and the table of claims are
those of study.py.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import study
from compare.record import RESULTS_FOLDER
from study import Figures, Finding, Observation, geometric_mean, kib_name, times, verdict

REPOSITORY = Path(__file__).resolve().parents[1]
REPORT = REPOSITORY / "docs" / "results" / "unit-of-transfer.md"
RECORDS = RESULTS_FOLDER / "unit-of-transfer.jsonl"
# Times that differ by less than this are called equal.
EQUAL = 1.15
BLOCKS = [128, 512, 2048]
# The sizes of `make study-uot`.
FULL_ROWS, FULL_SCALE = 10_000_000, 1
UNITS = ["vector", "block", "blocks(4)", "table"]

# Nanoseconds a byte that a prediction may be off.
NEAR = 0.1

# The paper's tables 2 and 3, per cent: selectivity, projectivity, both.
PAPER = {
    "lineitem": {
        "q03": (53.9, 13.1, 7.0),
        "q07": (30.4, 18.3, 5.6),
        "q10": (24.7, 13.1, 3.2),
        "q19": (2.1, 13.1, 0.3),
    },
    "orders": {
        "q03": (48.6, 8.7, 4.2),
        "q04": (3.8, 10.9, 0.4),
        "q05": (15.2, 5.8, 0.9),
        "q08": (30.4, 11.6, 3.5),
        "q10": (3.8, 5.8, 0.2),
        "q21": (48.7, 2.9, 1.4),
    },
}


def cell(f: Figures, name: str, **labels: Any) -> float | None:
    """A figure of the chains, if the query has one."""
    found = [g[name] for g in f.all("chains", **labels) if g.get(name)]
    return float(found[0]) if len(found) == 1 else None


def ratio(f: Figures, value: Callable[..., float | None], over: str, under: str, **labels: Any) -> float | None:
    """Geometric mean over queries (and whatever else is open) of one unit's figure over another's."""
    keys = ("layout", "block_kib", "workers", "query")
    found = []
    for g in f.all("chains", unit=under, **labels):
        at = {key: g[key] for key in keys}
        a, b = value(f, unit=over, **at), value(f, unit=under, **at)
        if a and b:
            found.append(a / b)
    return geometric_mean(found) if found else None


def consumer_unit(f: Figures, **at: Any) -> float | None:
    """Milliseconds of the consumer for each unit that it was handed."""
    total, units = cell(f, "consumer_ms", **at), cell(f, "units", **at)
    return total / units if total and units else None


def chain(f: Figures, **at: Any) -> float | None:
    return cell(f, "chain_ms", **at)


def query(f: Figures, **at: Any) -> float | None:
    return cell(f, "query_ms", **at)


def by_block(f: Figures, value: Callable[..., float | None], **labels: Any) -> dict[int, float]:
    found = {kib: ratio(f, value, "table", "block", block_kib=kib, **labels) for kib in BLOCKS}
    return {kib: r for kib, r in found.items() if r is not None}


def shown(ratios: Mapping[int, float]) -> str:
    return ", ".join(f"{kib_name(kib)} {times(r)}" for kib, r in ratios.items())


def equal(r: float) -> bool:
    return 1 / EQUAL <= r <= EQUAL


def consumers(f: Figures) -> Finding:
    ratios = by_block(f, consumer_unit, layout="compressed_column")
    return Finding(
        verdict(sum(r > 1 for r in ratios.values()), len(ratios)),
        f"consumer's time a block, table over block: {shown(ratios)}",
        "Rows that were just written are read from the cache; after a whole table has been written the first ones have left it.",
    )


def consumers_by_size(f: Figures) -> Finding:
    ratios = by_block(f, consumer_unit, layout="compressed_column")
    small, large = ratios[min(ratios)], ratios[max(ratios)]
    return Finding(
        verdict(int(large < small), 1),
        f"table over block at {kib_name(min(ratios))} {times(small)}, at {kib_name(max(ratios))} {times(large)}",
        (
            "A block near the second-level cache's size gains most; what was handed on in 2 MB comes from the last level either way."
            if large < small
            else "Blocks of every one of these sizes are still in the last-level cache when they are read at once, and a whole table is not: the size of a block hardly matters here."
        ),
    )


def chains_equal(f: Figures) -> Finding:
    ratios = by_block(f, chain, layout="compressed_column")
    return Finding(
        verdict(sum(equal(r) for r in ratios.values()), len(ratios)),
        f"select and probe together, table over block: {shown(ratios)}",
        "The selection takes most of a chain, and does the same work at both ends.",
    )


def queries_equal(f: Figures) -> Finding:
    ratios = by_block(f, query, layout="compressed_column")
    return Finding(
        verdict(sum(equal(r) for r in ratios.values()), len(ratios)),
        f"whole queries, table over block: {shown(ratios)}",
        "Here a table also keeps its consumer from the workers until it is whole: segments that end with few work orders leave a worker idle, which a query of a few milliseconds notices.",
    )


def row_store(f: Figures) -> Finding:
    ratios = by_block(f, query, layout="row")
    slower = [
        a / b
        for g in f.all("chains", layout="row")
        if (a := g["query_ms"])
        and (b := query(f, layout="compressed_column", **{k: g[k] for k in ("block_kib", "workers", "query", "unit")}))
    ]
    mean = geometric_mean(slower)
    return Finding(
        verdict(sum(equal(r) for r in ratios.values()) + (mean > 1), len(ratios) + 1),
        f"whole queries on rows, table over block: {shown(ratios)}; rows over columns {times(mean)}",
        "A scan of rows reads all columns to test one, which weighs more than what is handed on.",
    )


def scaling(f: Figures) -> Finding:
    workers = f.parts["chains"]["workers"]
    if workers == 1:
        return Finding("not run", "there is one worker", "")
    inflation = {}
    for unit in UNITS:
        found = []
        for g in f.all("chains", unit=unit, workers=1, layout="compressed_column"):
            at = {key: g[key] for key in ("layout", "block_kib", "query", "unit")}
            one, all_ = cell(f, "consumer_ms", workers=1, **at), cell(f, "consumer_ms", workers=workers, **at)
            if one and all_:
                found.append(all_ / one)
        inflation[unit] = geometric_mean(found)
    return Finding(
        verdict(int(inflation["block"] <= inflation["table"]), 1),
        f"consumer's time of {workers} workers together over one's: "
        + ", ".join(f"{unit} {times(r)}" for unit, r in inflation.items()),
        "The paper's probe scaled badly at 20 threads; with as few workers as here the units differ by what else disturbs them.",
    )


def prefetcher(_: Figures) -> Finding:
    return Finding(
        "not possible here",
        "the prefetcher is a bit of a register (MSR 0x1A4) that a virtual machine may not write",
        "What it costs without is bounded by the model: R_L3 (pages in no order) against AR_L3 (one run).",
    )


def totals(f: Figures, table: str) -> list[float]:
    return [g["total"] * 100 for g in f.all("selectivity", table=table)]


def selections(f: Figures) -> Finding:
    held, told = 0, []
    for table, queries in PAPER.items():
        ours = totals(f, table)
        mean, theirs = sum(ours) / len(ours), sum(q[2] for q in queries.values()) / len(queries)
        held += mean < 10
        told.append(f"{table}: {mean:.1f} % of the table's bytes on average (paper: {theirs:.1f} %)")
    return Finding(
        verdict(held, 2),
        "; ".join(told),
        "Ours are bytes of vectors in flight, without the padding of the paper's rows; the queries' parameters are those of the answers.",
    )


def filters(f: Figures) -> Finding:
    [g] = f.all("selectivity", table="lineitem", query="q07")
    shrinks = g["bytes"] / max(g["filtered_bytes"], 1)
    return Finding(
        verdict(int(shrinks > 2), 1),
        f"Q7's lineitem: {g['bytes'] / 1e6:.1f} MB selected, {g['filtered_bytes'] / 1e6:.1f} MB behind the joins' filters, {times(shrinks)} less (paper: 12.5x)",
        "Exact filters where keys are dense, Bloom filters elsewhere.",
    )


def memory_at_once(f: Figures) -> Finding:
    low, high = (f.value("memory", "peak_bytes", memory="ample", unit=u) for u in ("vector", "table"))
    return Finding(
        verdict(int(high < low), 1),
        f"three outer joins, most memory at a time: vector {low / 1e6:.0f} MB, table {high / 1e6:.0f} MB",
        "A hash table is freed when its last probe has ended, and the next one is built after that. Joins that fill a filter for the scan are built first all the same.",
    )


def auto_choice(f: Figures) -> Finding:
    ample = f.value("memory", "query_ms", memory="ample", unit="auto") / f.value("memory", "query_ms", memory="ample", unit="vector")
    short = {u: f.value("memory", "query_ms", memory="short", unit=u) for u in (*[u for u in UNITS if u != "blocks(4)"], "auto")}
    best = min(short.values())
    spilled = {u: f.value("memory", "spilled_bytes", memory="short", unit=u) / 1e6 for u in short}
    return Finding(
        verdict(int(ample <= EQUAL) + int(short["auto"] <= EQUAL * best), 2),
        f"auto over vector with memory enough {times(ample)}; with nine tenths of it: "
        + ", ".join(f"{u} {ms:.0f} ms and {spilled[u]:.0f} MB of files" for u, ms in short.items()),
        "With memory enough nothing is written down; where hash tables do not fit at once, rows in between cost less than files.",
    )


def disk(f: Figures) -> Finding:
    ms = {(g["unit"], g["place"]): g["query_ms"] for g in f.all("files")}
    slower = ms["table", "files"] / ms["block", "files"]
    return Finding(
        verdict(int(slower > 10), 1),
        "; ".join(f"{u}: {ms[u, 'memory']:.0f} ms in memory, {ms[u, 'files']:.0f} ms with 2 MB for an operator" for u in UNITS)
        + f"; table over block {times(slower)}",
        "The order is the paper's; the distance is not, since temporary files are in the system's file cache here, and writing them costs a copy and a checksum, not a disk's time.",
    )


def vector_first(f: Figures) -> Finding:
    found = {unit: ratio(f, query, unit, "vector") for unit in UNITS[1:]}
    known = {unit: r for unit, r in found.items() if r is not None}
    return Finding(
        verdict(sum(r >= 1 for r in known.values()), len(known)),
        "whole queries over vector: " + ", ".join(f"{unit} {times(r)}" for unit, r in known.items()),
        "The spectrum starts below a block here: the consumer runs inside the producer's work order, and filters, codes and clustered groups reach through what is not cut.",
    )


def cost_model(f: Figures) -> Finding:
    found = [(g["measured_ns"], g["predicted_ns"]) for g in f.all("model")]
    near = sum(abs(measured - predicted) <= NEAR for measured, predicted in found)
    pairs = [(a, b) for i, a in enumerate(found) for b in found[i + 1 :] if abs(a[0] - b[0]) > NEAR / 2]
    order = sum((a[0] < b[0]) == (a[1] < b[1]) for a, b in pairs)
    return Finding(
        verdict(near, len(found)),
        f"{near} of {len(found)} predictions within {NEAR} ns a byte of the measurement; {order} of {len(pairs)} pairs of cells that differ are in the right order",
        "The model has costs of memory, not those of making units and keeping account of them, which it says itself; what is measured contains both.",
    )


OBSERVATIONS = [
    Observation("1", "consumer work orders are faster at a low unit", ("chains",), consumers),
    Observation("2", "less so as blocks grow", ("chains",), consumers_by_size),
    Observation("3", "chains of selection and probe differ little", ("chains",), chains_equal),
    Observation("4", "whole queries differ little, and not at all at 2 MB", ("chains",), queries_equal),
    Observation("5", "the same holds for a row store, which is slower overall", ("chains",), row_store),
    Observation("6", "a probe that scales badly is protected by a low unit", ("chains",), scaling),
    Observation("7", "without the hardware prefetcher a row store loses less than 10 %", (), prefetcher),
    Observation("8", "a selection leaves a few per cent of its table", ("selectivity",), selections),
    Observation("9", "filters of joins shrink it once more", ("selectivity",), filters),
    Observation("10", "a high unit needs one hash table at a time", ("memory",), memory_at_once),
    Observation("11", "with a disk behind intermediate rows a low unit wins by orders of magnitude", ("files",), disk),
    Observation("12", "the model tells what a unit costs", ("model",), cost_model),
    Observation("ours", "`vector` is the fastest unit in memory", ("chains",), vector_first),
    Observation("ours", "`auto` is `vector` with memory enough, and the best unit without", ("memory",), auto_choice),
]


def selectivity_table(f: Figures) -> list[str]:
    lines = [
        "\n## Selectivity x projectivity",
        "Per cent of the table's rows, of a row's bytes, and of the table's bytes; the paper's in brackets.\n",
        "| table | query | selectivity | projectivity | total | with the joins' filters |",
        "| --- | --- | --- | --- | --- | --- |",
    ]
    for table, queries in PAPER.items():
        for name, theirs in queries.items():
            for g in f.all("selectivity", table=table, query=name):
                ours = (g["selectivity"], g["projectivity"], g["total"])
                cells = " | ".join(f"{100 * o:.1f} ({t:g})" for o, t in zip(ours, theirs, strict=True))
                lines.append(f"| {table} | {name} | {cells} | {100 * g.get('filtered_total', 0):.2f} |")
    return lines


def chains_tables(f: Figures) -> list[str]:
    lines = []
    workers = f.parts["chains"]["workers"]
    for layout in ("compressed_column", "row"):
        lines += [
            f"\n## Queries, {layout.replace('_', ' ')}s, {workers} workers: ms",
            "Whole query, and in brackets the chain's consumer.\n",
            "| query | block | " + " | ".join(UNITS) + " |",
            "| --- | --- |" + " --- |" * len(UNITS),
        ]
        for name in dict.fromkeys(g["query"] for g in f.all("chains", layout=layout)):
            for kib in BLOCKS:
                cells = []
                for unit in UNITS:
                    at = {"layout": layout, "block_kib": kib, "workers": workers, "query": name, "unit": unit}
                    total, consumer = cell(f, "query_ms", **at), cell(f, "consumer_ms", **at)
                    cells.append(f"{total:.1f}" + (f" ({consumer:.2f})" if consumer else "") if total else "")
                lines.append(f"| {name} | {kib_name(kib)} | " + " | ".join(cells) + " |")
    return lines


def work_orders_table(f: Figures) -> list[str]:
    """The paper's table of work orders for Q7, as far as it can be had without the prefetcher's switch."""
    workers = f.parts["chains"]["workers"]
    lines = [
        "\n## Work of Q7 for each block handed on, rows, ms",
        "The paper, with the prefetcher on: select 0.06, 0.2, 1.1; probe 0.8, 2.2, 3.9.\n",
        "| block | select, block | probe, block | select, table | probe, table |",
        "| --- | --- | --- | --- | --- |",
    ]
    for kib in BLOCKS:
        cells = []
        for unit in ("block", "table"):
            at = {"layout": "row", "block_kib": kib, "workers": workers, "query": "q07", "unit": unit}
            units = cell(f, "units", **at)
            for name in ("select_ms", "consumer_ms"):
                total = cell(f, name, **at)
                cells.append(f"{total / units:.3f}" if total and units else "")
        lines.append(f"| {kib_name(kib)} | " + " | ".join(cells) + " |")
    return lines


def model_table(f: Figures) -> list[str]:
    lines = [
        "\n## The model's predictions beside the measurements",
        "A selection of half the rows, probed; nanoseconds of a worker for each byte handed on, over those of `vector`.\n",
        "| workers | block | unit | measured | predicted |",
        "| --- | --- | --- | --- | --- |",
    ]
    for g in f.all("model"):
        lines.append(f"| {g['workers']} | {kib_name(g['block_kib'])} | {g['unit']} | {g['measured_ns']:.3f} | {g['predicted_ns']:.3f} |")
    if f.has("constants"):
        [c] = f.all("constants")
        lines.append(
            f"\nConstants of this machine: last-level cache {c['cache_bytes'] / 2**20:.0f} MB; W_mem {c['write']:.3f}, R_L3 {c['read']:.3f} and AR_L3 {c['read_ahead']:.3f} ns a byte; M_L3 {c['miss']:.0f} ns; IC {c['instruction_miss']:.0f} ns."
        )
    return lines


def memory_table(f: Figures) -> list[str]:
    lines = [
        "\n## Memory",
        "A selection and three outer joins. *short*: nine tenths of what `vector` needs, of which operators have four fifths before they use files.\n",
        "| memory | unit | ms | most at a time, MB | handed on otherwise, MB | files, MB |",
        "| --- | --- | --- | --- | --- | --- |",
    ]
    for g in f.all("memory"):
        sizes = " | ".join(f"{g[name] / 1e6:.1f}" for name in ("peak_bytes", "transferred_bytes", "spilled_bytes"))
        lines.append(f"| {g['memory']} | {g['unit']} | {g['query_ms']:.1f} | {sizes} |")
    return lines


def limits_table(f: Figures) -> list[str]:
    limits = list(dict.fromkeys(g["limit"] for g in f.all("limits")))
    lines = [
        "\n## A limit on an operator's work orders: ms",
        "`SET work_orders_per_operator`.\n",
        "| query | unit | " + " | ".join(limits) + " |",
        "| --- | --- |" + " --- |" * len(limits),
    ]
    for name in dict.fromkeys(g["query"] for g in f.all("limits")):
        for unit in dict.fromkeys(g["unit"] for g in f.all("limits")):
            cells = [f"{f.value('limits', 'query_ms', query=name, unit=unit, limit=limit):.1f}" for limit in limits]
            lines.append(f"| {name} | {unit} | " + " | ".join(cells) + " |")
    return lines


PLOTS = [
    ("chains", "unit-of-transfer-queries", "Whole queries over vector, geometric means"),
    ("model", "unit-of-transfer-model", "The model beside the measurement"),
]
TABLES: list[tuple[str, Callable[[Figures], list[str]]]] = [
    ("selectivity", selectivity_table),
    ("chains", work_orders_table),
    ("model", model_table),
    ("memory", memory_table),
    ("limits", limits_table),
    ("chains", chains_tables),
]


def text(f: Figures) -> str:
    lines = [
        "# The unit of transfer",
        "Deshmukh, Sundarmurthy and Patel (2019) asked how much of its output an operator should hand to the next one at a time, on a machine with 20 threads and TPC-H at scale 50; this repeats their study on this engine. Written by `bench/unit_of_transfer.py` from recorded runs; `make study-uot` runs it all, and [the internals](../internals/unit-of-transfer.md) say what is done.",
        "",
        "Differences that matter: the spectrum begins at `vector`, where the consumer runs inside the producer's work order; temporary blocks are columns whatever the tables' layout; columns are coded and scans skip blocks. Filters that joins give to scans are off for chains, limits and the model, as in the paper: with them next to nothing is left to hand on (claim 9).",
        "",
    ]
    made = ("model", "memory", "files")
    rows = min((r["rows"] for p, r in f.parts.items() if p in made), default=FULL_ROWS)
    scale = min((r["scales"][0] for p, r in f.parts.items() if p not in (*made, "constants")), default=FULL_SCALE)
    if rows < FULL_ROWS or scale < FULL_SCALE:
        lines += [
            f"**These are not yet the full sizes**: {rows:,} rows and scale {scale:g} stand here for {FULL_ROWS:,} and {FULL_SCALE}. At a small scale a query has few units, and what starts and ends segments weighs more than what is handed on.",
            "",
        ]
    for part, record in f.parts.items():
        size = f"{record['rows']:,} rows" if part in made else f"SF {record['scales'][0]:g}"
        lines.append(study.provenance(record, size, f"best 3 of {record['runs']} runs"))
    lines += ["\n## Claims", *study.observations(f, OBSERVATIONS, "the paper")]
    lines += [f"\n## {title}\n![{title}]({name}.svg)" for part, name, title in PLOTS if f.has(part)]
    for part, table in TABLES:
        if f.has(part):
            lines += table(f)
    return "\n".join(lines) + "\n"


def read(file: Path = RECORDS) -> Figures:
    return Figures(study.lines_of(file))


def main(arguments: Sequence[str] | None = None) -> None:
    study.write_page(
        __doc__.splitlines()[0],
        RECORDS,
        REPORT,
        lambda records: text(read(records)),
        study.drawn_by("unit_of_transfer_plots", read),
        arguments,
    )


if __name__ == "__main__":
    main()
