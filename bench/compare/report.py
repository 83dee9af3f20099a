"""The table a run prints.  Times in milliseconds; the first engine is the base.

A ratio says how many times longer a peer took than the base: above 1, the
base is faster.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from compare.outcome import EngineOutcome, QueryOutcome
from compare.summary import shared_ratio


def comparison_table(outcomes: Mapping[str, EngineOutcome]) -> str:
    """All queries with medians and ratios, then the totals."""
    engines = list(outcomes.values())
    base, peers = engines[0], engines[1:]
    header = ["query", *(engine.name for engine in engines)]
    header += [f"{peer.name}/{base.name}" for peer in peers]
    rows = [query_row(name, engines) for name in query_names(engines)]
    rows.append(["geometric mean", *(milliseconds(e.geometric_mean_seconds()) for e in engines)])
    rows[-1] += [shared_ratio_text(peer, base) for peer in peers]
    rows.append(["sum of medians", *(milliseconds(sum(e.medians().values())) for e in engines)])
    rows[-1] += [ratio(sum(p.medians().values()), sum(base.medians().values())) for p in peers]
    rows += total_rows(base, peers)
    return aligned([header, *rows])


def query_row(name: str, engines: Sequence[EngineOutcome]) -> list[str]:
    results = [engine.queries.get(name, QueryOutcome()) for engine in engines]
    row = [name, *(query_cell(result) for result in results)]
    base = results[0].median_seconds
    return row + [ratio(result.median_seconds, base) for result in results[1:]]


def query_cell(result: QueryOutcome) -> str:
    """The median, marked where the answer is not known to be right."""
    if result.error is not None:
        return "failed"
    mark = "" if result.correct else "!"
    return milliseconds(result.median_seconds) + mark


def total_rows(base: EngineOutcome, peers: Sequence[EngineOutcome]) -> list[list[str]]:
    engines = [base, *peers]
    totals = {
        "load, s": [engine.load_total_seconds() for engine in engines],
        "after loading, GiB": [engine.loaded_bytes / 2**30 for engine in engines],
        "peak of loading, GiB": [engine.load_peak_bytes / 2**30 for engine in engines],
        "peak of queries, GiB": [engine.queries_peak_bytes / 2**30 for engine in engines],
    }
    rows = []
    for name, values in totals.items():
        ratios = [ratio(value, values[0]) for value in values[1:]]
        rows.append([name, *(f"{value:.2f}" for value in values), *ratios])
    counts = [f"{engine.correct_count()}/{len(engine.queries)}" for engine in engines]
    shares = [f"{engine.others_busy_share:.0%}" for engine in engines]
    blanks = ["" for _ in peers]
    rows.append(["answers right", *counts, *blanks])
    rows.append(["machine used by others", *shares, *blanks])
    return rows


def remarks(outcomes: Mapping[str, EngineOutcome]) -> list[str]:
    """Everything that the table only marks: failures, wrong answers, noise."""
    lines: list[str] = []
    for engine in outcomes.values():
        if engine.error is not None:
            lines.append(f"{engine.name}: {engine.error}")
        for name, result in engine.queries.items():
            if result.error is not None:
                lines.append(f"{engine.name} {name} failed: {result.error}")
            elif not result.correct:
                lines.append(f"{engine.name} {name}: {result.answer}")
        if engine.restarts:
            lines.append(f"{engine.name}: started again {engine.restarts} times")
        if engine.repeated:
            lines.append(f"{engine.name}: {engine.repeated} turns repeated, others had disturbed them")
        if engine.rewritten:
            lines.append(f"{engine.name}: rewritten for its dialect: {', '.join(engine.rewritten)}")
    if any(engine.noisy for engine in outcomes.values()):
        lines.append("the machine was busy with something else: measure again")
    return lines


def shared_ratio_text(peer: EngineOutcome, base: EngineOutcome) -> str:
    """The ratio of geometric means over the queries that both completed."""
    found = shared_ratio(peer.medians(), base.medians())
    return "" if found is None else f"{found[0]:.2f}"


def query_names(engines: Sequence[EngineOutcome]) -> list[str]:
    return list(dict.fromkeys(name for engine in engines for name in engine.queries))


def milliseconds(seconds: float | None) -> str:
    return "" if seconds is None else f"{seconds * 1e3:.2f}"


def ratio(value: float | None, base: float | None) -> str:
    return f"{value / base:.2f}" if value and base else ""


def aligned(rows: Sequence[Sequence[str]]) -> str:
    """Columns as wide as they need to be, numbers to the right."""
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    lines = []
    for row in rows:
        first, *others = (cell for cell in row)
        cells = [first.ljust(widths[0])]
        cells += [cell.rjust(width) for cell, width in zip(others, widths[1:], strict=True)]
        lines.append("  ".join(cells).rstrip())
    return "\n".join(lines)
