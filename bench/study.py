"""What the pages of studies share: recorded figures, and claims of a paper beside them.

`crates/conformance/src/study.rs` writes the records, a line a part; of each
part the newest line with the most rows counts.  Each numbered claim is a
function that says from the figures whether it held; the reasons are ours.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

from compare.summary import geometric_mean as mean_of_sequence


def geometric_mean(values: Iterable[float]) -> float:
    return mean_of_sequence(list(values))


class Figures:
    """The newest record of each part, and a way to ask for one figure of it."""

    def __init__(self, records: Iterable[Mapping[str, Any]]) -> None:
        self.parts: dict[str, Mapping[str, Any]] = {}
        for record in records:
            known = self.parts.get(record["part"])
            if known is None or self.size(record) >= self.size(known):
                self.parts[record["part"]] = record

    def size(self, record: Mapping[str, Any]) -> tuple[float, ...]:
        return (max(record["scales"]), record["rows"])

    def has(self, *parts: str) -> bool:
        return all(part in self.parts for part in parts)

    def all(self, part: str, **labels: Any) -> list[Mapping[str, Any]]:
        return [
            figure
            for figure in self.parts[part]["figures"]
            if all(figure.get(name) == value for name, value in labels.items())
        ]

    def value(self, part: str, name: str, **labels: Any) -> float:
        found = [f[name] for f in self.all(part, **labels) if f.get(name) is not None]
        if len(found) != 1:
            raise KeyError(f"{len(found)} figures {name} of {part} with {labels}")
        return float(found[0])

    def time(self, part: str, **labels: Any) -> float:
        return self.value(part, "median_ms", **labels)


@dataclass(frozen=True)
class Finding:
    """What became of one claim."""

    verdict: str
    figures: str
    why: str


@dataclass(frozen=True)
class Observation:
    number: str
    claim: str
    parts: tuple[str, ...]
    judge: Callable[[Any], Finding]


def verdict(held: int, of: int) -> str:
    return "held" if held == of else "not held" if held == 0 else f"in part ({held} of {of})"


def times(ratio: float) -> str:
    return f"{ratio:.2f}x"


def percent(share: float) -> str:
    return f"{share * 100:g} %"


def kib_name(kib: int) -> str:
    return f"{kib // 1024} MB" if kib >= 1024 else f"{kib} KB"


def observations(f: Figures, all_of_them: Sequence[Observation], source: str) -> list[str]:
    """The table of claims and findings."""
    lines = [f"| | {source} | here | figures | how we explain it |", "| --- | --- | --- | --- | --- |"]
    for o in all_of_them:
        if not f.has(*o.parts):
            lines.append(f"| {o.number} | {o.claim} | not run | | |")
            continue
        found = o.judge(f)
        lines.append(f"| {o.number} | {o.claim} | **{found.verdict}** | {found.figures} | {found.why} |")
    return lines


def provenance(record: Mapping[str, Any], size: str, statistic: str) -> str:
    """Where the figures of a part are from."""
    modified = ", modified" if record["commit"]["modified"] else ""
    return (
        f"* {record['part']}: {size}, {record['workers']} workers, {statistic}, {record['machine']['cpu']}, "
        f"{record['machine']['simd']}, {record['date'][:10]}, commit {record['commit']['id'][:9]}{modified}"
    )


def lines_of(file: Path) -> list[Mapping[str, Any]]:
    return [json.loads(line) for line in file.read_text().splitlines()]


def write_page(
    about: str,
    records: Path,
    report: Path,
    text: Callable[[Path], str],
    draw: Callable[[Path, Path], None],
    arguments: Sequence[str] | None,
) -> None:
    """The program of a study's page; `text` and `draw` are given the records, and `draw` the folder."""
    parser = argparse.ArgumentParser(description=about)
    parser.add_argument("--text", action="store_true", help="no plots")
    parser.add_argument("--records", type=Path, default=records)
    parser.add_argument("--report", type=Path, default=report)
    asked = parser.parse_args(arguments)
    if not asked.text:
        draw(asked.records, asked.report.parent)
    asked.report.write_text(text(asked.records))
    print(asked.report)


def drawn_by(module: str, read: Callable[[Path], Any]) -> Callable[[Path, Path], None]:
    """Draws by a module that is imported only then: without plots nobody needs what it draws with."""
    return lambda records, folder: import_module(module).draw(read(records), folder)
