"""The plots of unit_of_transfer.py: the same records give the same files, byte for byte."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import matplotlib

matplotlib.use("agg")
import matplotlib.pyplot as plot

from everybody_plots import STYLE
from storage_study_plots import COLOURS
from study import Figures, kib_name
from unit_of_transfer import BLOCKS, PLOTS, UNITS, query, ratio


def draw(figures: Figures, folder: Path) -> None:
    with plot.rc_context(STYLE):
        for part, name, title in PLOTS:
            if figures.has(part):
                figure = DRAWN[part](figures)
                figure.suptitle(title)
                figure.savefig(folder / f"{name}.svg", metadata={"Date": None}, facecolor="white", bbox_inches="tight")
                plot.close(figure)


def queries(f: Figures) -> Any:
    workers = list(dict.fromkeys([1, f.parts["chains"]["workers"]]))
    figure, panels = plot.subplots(1, 2, figsize=(9, 3.8), sharey=True)
    for axes, layout in zip(panels, ("compressed_column", "row"), strict=True):
        for colour, unit in zip(COLOURS, UNITS[1:], strict=False):
            for count, style in zip(workers, ("--", "-"), strict=False):
                points = [(kib, ratio(f, query, unit, "vector", layout=layout, block_kib=kib, workers=count)) for kib in BLOCKS]
                points = [(kib, r) for kib, r in points if r]
                axes.plot(
                    [kib for kib, _ in points], [r for _, r in points], style, color=colour, marker="o", markersize=3,
                    label=f"{unit}, {count} worker{'s' * (count > 1)}",
                )
        axes.axhline(1, color="#7f8c8d", linewidth=0.8)
        axes.set(xscale="log", xlabel="block size, KB", title=layout.replace("_", " "))
        axes.set_xticks(BLOCKS, [str(kib) for kib in BLOCKS])
    panels[0].set_ylabel("time over vector")
    panels[1].legend(frameon=False, fontsize=7, loc="upper left", bbox_to_anchor=(1, 1))
    return figure


def model(f: Figures) -> Any:
    figure, axes = plot.subplots(figsize=(7, 4))
    all_of_them = f.all("model")
    for offset, name, colour in ((-0.2, "measured_ns", COLOURS[0]), (0.2, "predicted_ns", COLOURS[1])):
        axes.barh([at + offset for at in range(len(all_of_them))], [g[name] for g in all_of_them], height=0.38, color=colour, label=name.removesuffix("_ns"))
    labels = [f"{g['unit']}, {kib_name(g['block_kib'])}, {g['workers']} w." for g in all_of_them]
    axes.set(yticks=range(len(labels)), yticklabels=labels, xlabel="ns a byte over vector")
    axes.tick_params(axis="y", labelsize=7)
    axes.invert_yaxis()
    axes.legend(frameon=False, fontsize=8)
    return figure


DRAWN: dict[str, Callable[[Figures], Any]] = {"chains": queries, "model": model}
