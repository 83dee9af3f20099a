"""The plots of everybody.py: the same records give the same files, byte for byte."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import matplotlib

matplotlib.use("agg")
import matplotlib.pyplot as plot
from matplotlib.lines import Line2D

from compare.suites import TITLES
from everybody import APART, BASE, SCALE, THREADS, Standing, number

INK = "#1f2933"
FAINT = "#9aa5b1"
OURS = "#d1495b"
THEIRS = "#5b7fa6"
COLOURS = {
    "duckdb": "#e6a100",
    "hyper": "#0b7a75",
    "datafusion": "#7d5ba6",
    "polars": "#2e86c1",
    "polars-float64": "#a9cce3",
    "chdb": "#b7950b",
    "monetdb": "#5d6d7e",
    "postgres": "#1b4f72",
    "spark": "#e67e22",
}
MARKERS = {
    "duckdb": "o",
    "hyper": "D",
    "datafusion": "^",
    "polars": "s",
    "polars-float64": "s",
    "chdb": "v",
    "monetdb": "P",
    "postgres": "X",
    "spark": "*",
}
STYLE = {
    "font.family": "DejaVu Sans",
    "font.size": 10,
    "axes.edgecolor": FAINT,
    "axes.labelcolor": INK,
    "text.color": INK,
    "xtick.color": INK,
    "ytick.color": INK,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "svg.hashsalt": "quickstep",
}
DOTS_PER_INCH = 150


def draw(all_standings: Mapping[str, Sequence[Standing]], folder: Path) -> None:
    """Writes every plot as SVG and PNG."""
    with plot.rc_context(STYLE):
        save(bars(all_standings), folder / "everybody")
        for suite, standings in all_standings.items():
            save(by_query(suite, standings), folder / f"everybody-{suite}")


def save(figure: Any, stem: Path) -> None:
    figure.savefig(stem.with_suffix(".svg"), metadata={"Date": None}, facecolor="white")
    figure.savefig(
        stem.with_suffix(".png"), dpi=DOTS_PER_INCH, metadata={"Software": None}, facecolor="white"
    )
    plot.close(figure)


def bars(all_standings: Mapping[str, Sequence[Standing]]) -> Any:
    """A panel a suite: how many times Quickstep's time each engine takes."""
    count = len(all_standings)
    columns = min(2, count)
    rows = -(-count // columns)
    longest = max(len(standings) for standings in all_standings.values())
    figure, panels = plot.subplots(
        rows, columns, figsize=(11, 0.9 + rows * (0.9 + 0.3 * longest)), squeeze=False
    )
    for axes, (suite, standings) in zip(panels.flat, all_standings.items(), strict=False):
        panel(axes, suite, standings)
    for axes in panels.flat[count:]:
        axes.axis("off")
    height = figure.get_figheight()
    figure.text(
        0.02,
        1 - 0.15 / height,
        "How many times as long as Quickstep each engine takes",
        va="top",
        fontsize=15,
        fontweight="bold",
    )
    figure.text(
        0.02,
        0.12 / height,
        f"Geometric mean over the queries, scale factor {SCALE}, {THREADS} threads, SQL text to Arrow "
        "table, warm; logarithmic axes. Black: lowest to highest round.",
        fontsize=8.5,
        color="#52606d",
    )
    figure.tight_layout(rect=(0.01, 0.35 / height, 1, 1 - 0.5 / height), h_pad=2.0, w_pad=3.0)
    return figure


def panel(axes: Any, suite: str, standings: Sequence[Standing]) -> None:
    shown = [standing for standing in standings if standing.mean_ratio() is not None]
    ratios = [standing.mean_ratio() or 1.0 for standing in shown]
    # The longest bar leaves room for what is written behind it.
    edge = max(ratios) ** 1.22 * 1.3
    total = len(shown[0].queries())
    for at, (standing, ratio) in enumerate(zip(shown, ratios, strict=True)):
        ours, apart = standing.name == BASE, standing.name in APART
        axes.barh(
            at,
            ratio - 1,
            left=1,
            height=0.68,
            color=OURS if ours else ("white" if apart else THEIRS),
            edgecolor=THEIRS if apart else "none",
            hatch="////" if apart else None,
            linewidth=0.8,
        )
        if ours:
            axes.plot([1, 1], [at - 0.34, at + 0.34], color=OURS, linewidth=6, clip_on=False)
        spread = standing.spread()
        if spread is not None and not ours:
            axes.plot(spread, [at, at], color=INK, linewidth=1.2, solid_capstyle="butt")
        end = max(ratio, spread[1]) if spread is not None else ratio
        axes.text(end * (1.12 if ours else 1.05), at, label(standing, ratio, total), va="center", fontsize=9.5)
    axes.set_yticks(range(len(shown)), [standing.label for standing in shown])
    for text, standing in zip(axes.get_yticklabels(), shown, strict=True):
        if standing.name == BASE:
            text.set_fontweight("bold")
            text.set_color(OURS)
    axes.invert_yaxis()
    axes.set_xscale("log")
    axes.set_xlim(min(1.0, *ratios), edge)
    axes.axvline(1, color=OURS, linewidth=0.8, alpha=0.6)
    axes.xaxis.set_major_formatter(lambda value, _: f"{value:g}x")
    axes.xaxis.set_minor_formatter(lambda _value, _: "")
    axes.tick_params(length=0, which="both", pad=6)
    axes.tick_params(axis="x", which="major", colors="#7b8794", labelsize=8.5)
    axes.spines["left"].set_visible(False)
    axes.set_title(
        f"{TITLES[suite]}  ·  {total} queries", loc="left", fontsize=11.5, fontweight="bold"
    )


def label(standing: Standing, ratio: float, total: int) -> str:
    if standing.name == BASE:
        return f"1x  =  {number(standing.geometric_mean())} ms"
    completed = standing.completed()
    return f"{number(ratio)}x" + ("" if completed == total else f"   {completed} of {total}")


def by_query(suite: str, standings: Sequence[Standing]) -> Any:
    """Every query a row of dots on a logarithmic axis of milliseconds."""
    peers = [s for s in standings if s.name != BASE and s.mean_ratio() is not None]
    queries = standings[0].queries()
    upright = len(queries) > 30
    across = 11.0
    figure, axes = plot.subplots(
        figsize=(across, 1.8 + (0.19 if upright else 0.27) * len(queries)),
    )
    base = standings[0]
    for at, query in enumerate(queries):
        times = [time for s in [base, *peers] if (time := s.median(query)) is not None]
        if times:
            axes.plot([min(times), max(times)], [at, at], color="#e4e7eb", linewidth=3, zorder=1)
    for peer in peers:
        points = [(peer.median(query), at) for at, query in enumerate(queries)]
        found = [(time, at) for time, at in points if time is not None]
        axes.scatter(
            [time for time, _ in found],
            [at for _, at in found],
            s=34 if not upright else 20,
            color=COLOURS.get(peer.name, THEIRS),
            marker=MARKERS.get(peer.name, "o"),
            edgecolors="white",
            linewidths=0.4,
            zorder=3,
        )
    own = [(base.median(query), at) for at, query in enumerate(queries)]
    axes.scatter(
        [time for time, _ in own if time is not None],
        [at for time, at in own if time is not None],
        s=95 if not upright else 55,
        color=OURS,
        marker="|",
        linewidths=3.2,
        zorder=4,
    )
    axes.set_yticks(range(len(queries)), [query.replace("q", "Q").replace("Q0", "Q") for query in queries])
    axes.set_ylim(len(queries) - 0.4, -0.6)
    axes.margins(y=0)
    axes.set_xscale("log")
    axes.xaxis.set_major_formatter(lambda value, _: f"{value:,g} ms")
    axes.tick_params(length=0, which="both", labelsize=8 if upright else 9)
    axes.grid(axis="x", color="#eef1f4", linewidth=0.8, zorder=0)
    axes.set_axisbelow(True)
    axes.spines["left"].set_visible(False)
    handles: list[Any] = [
        Line2D([], [], color=OURS, marker="|", markersize=10, markeredgewidth=3.2, linestyle="none")
    ]
    handles += [
        Line2D(
            [],
            [],
            color=COLOURS.get(peer.name, THEIRS),
            marker=MARKERS.get(peer.name, "o"),
            markersize=6.5,
            linestyle="none",
        )
        for peer in peers
    ]
    height = figure.get_figheight()
    figure.legend(
        handles,
        [base.label, *(peer.label for peer in peers)],
        loc="upper left",
        bbox_to_anchor=(0.008, 1 - 0.38 / height),
        ncols=len(handles),
        frameon=False,
        fontsize=9,
        handletextpad=0.1,
        columnspacing=1.1,
    )
    figure.text(
        0.02,
        1 - 0.15 / height,
        f"{TITLES[suite]}, scale factor {SCALE}: median time of each query, logarithmic",
        va="top",
        fontsize=13,
        fontweight="bold",
    )
    figure.tight_layout(rect=(0.005, 0, 1, 1 - 0.68 / height))
    return figure
