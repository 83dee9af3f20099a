"""The plots of storage_study.py: the same records give the same files, byte for byte."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import matplotlib

matplotlib.use("agg")
import matplotlib.pyplot as plot

from everybody_plots import STYLE
from storage_study import PLOTS, Figures, ssb_mean

COLOURS = ["#d1495b", "#2e86c1", "#e6a100", "#0b7a75", "#7d5ba6", "#5d6d7e", "#b7950b", "#1b4f72", "#7f8c8d", "#27ae60"]


def draw(figures: Figures, folder: Path) -> None:
    with plot.rc_context(STYLE):
        for part, name, title in PLOTS:
            if figures.has(part):
                figure = DRAWN[part](figures)
                figure.suptitle(title)
                figure.savefig(folder / f"{name}.svg", metadata={"Date": None}, facecolor="white", bbox_inches="tight")
                plot.close(figure)


def sizes(f: Figures) -> Any:
    figure, axes = plot.subplots(figsize=(7, 4))
    workers = f.parts["sizes"]["workers"]
    kinds = dict.fromkeys(g["what"] for g in f.all("sizes"))
    for colour, what in zip(COLOURS, kinds, strict=False):
        for count, style in ((1, "--"), (workers, "-")):
            points = sorted((g["block_kib"] / 1024, g["median_ms"]) for g in f.all("sizes", what=what, workers=count))
            best = min(ms for _, ms in points)
            axes.plot(
                [x for x, _ in points], [ms / best for _, ms in points], style, color=colour, marker="o", markersize=3,
                label=f"{what}, {count} worker{'s' * (count > 1)}",
            )
    axes.set(xscale="log", xlabel="block size, MB", ylabel="time over the best", ylim=(0.9, None))
    axes.legend(frameon=False, fontsize=8)
    return figure


def by_selectivity(f: Figures, part: str, columns: list[int]) -> Any:
    figure, panels = plot.subplots(1, len(columns), figsize=(4.2 * len(columns), 4), sharey=True, squeeze=False)
    designs = list(dict.fromkeys(g["design"] for g in f.all(part) if "selectivity" in g))
    for axes, count in zip(panels[0], columns, strict=True):
        for colour, design in zip(COLOURS, designs, strict=False):
            found = [g for g in f.all(part, design=design) if g.get("columns", count) == count and "selectivity" in g]
            points = sorted((g["selectivity"] * 100, g["median_ms"]) for g in found)
            axes.plot([x for x, _ in points], [y for _, y in points], color=colour, marker="o", markersize=3, label=design)
        axes.set(xscale="log", yscale="log", xlabel="selectivity, %", title=f"{count} column{'s' * (count != 1)}")
    panels[0][0].set_ylabel("ms")
    panels[0][-1].legend(frameon=False, fontsize=7, loc="upper left", bbox_to_anchor=(1, 1))
    return figure


def ssb(f: Figures) -> Any:
    scales = f.parts["ssb"]["scales"]
    workers = f.parts["ssb"]["workers"]
    variants = list(dict.fromkeys(g["variant"] for g in f.all("ssb")))
    figure, panels = plot.subplots(1, len(scales), figsize=(5.2 * len(scales), 3.6), squeeze=False)
    for axes, scale in zip(panels[0], scales, strict=True):
        for offset, count in ((-0.2, 1), (0.2, workers)):
            means = [ssb_mean(f, scale, v, count) for v in variants]
            axes.barh(
                [at + offset for at in range(len(variants))], means, height=0.38, color=COLOURS[0 if count == 1 else 1],
                label=f"{count} worker{'s' * (count > 1)}",
            )
        axes.set(yticks=range(len(variants)), yticklabels=variants, xlabel="ms", title=f"scale factor {scale:g}")
        axes.invert_yaxis()
    panels[0][0].legend(frameon=False, fontsize=8)
    figure.tight_layout()
    return figure


DRAWN: dict[str, Callable[[Figures], Any]] = {
    "sizes": sizes,
    "layouts": lambda f: by_selectivity(f, "layouts", [0, 1, 3, 10]),
    "compression": lambda f: by_selectivity(f, "compression", [3]),
    "conjunction": lambda f: by_selectivity(f, "conjunction", [1, 3, 10]),
    "ssb": ssb,
}
