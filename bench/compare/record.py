"""Keeps a run as one line of JSON, appended to a file of its suite and scale.

Times are in milliseconds and memory in bytes, as the field names say.
"""

from __future__ import annotations

import datetime
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from compare.machine import commit, machine
from compare.outcome import EngineOutcome, QueryOutcome
from compare.runner import Options
from compare.suites import Suite
from compare.summary import shared_ratio

RESULTS_FOLDER = Path(__file__).resolve().parents[1] / "results"
FORMAT = 1


def append_record(
    folder: Path,
    suite: Suite,
    options: Options,
    schedule: str,
    outcomes: Mapping[str, EngineOutcome],
) -> Path:
    """Appends a run to its file; returns the file."""
    record = {
        "format": FORMAT,
        "date": datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
        "commit": commit(),
        "machine": machine(),
        "series": options.series,
        "suite": suite.name,
        "scale": float(suite.scale),
        "queries": list(suite.queries),
        "data_bytes": suite.data_bytes(),
        "configuration": {
            "threads": options.threads,
            "memory_bytes": options.memory_bytes,
            "runs": options.runs,
            "loads": options.loads,
            "warm_ups": options.warm_ups,
            "schedule": schedule,
            "query_seconds_max": options.query_seconds_max,
            "slow_seconds": options.slow_seconds,
            "slow_runs": options.slow_runs,
        },
        "calm": not any(outcome.noisy for outcome in outcomes.values()),
        "engines": [engine_record(outcome) for outcome in outcomes.values()],
        "ratios": ratios(outcomes),
    }
    folder.mkdir(parents=True, exist_ok=True)
    file = folder / f"{suite.folder_name}.jsonl"
    with file.open("a") as lines:
        lines.write(json.dumps(record, separators=(",", ":")) + "\n")
    return file


def engine_record(outcome: EngineOutcome) -> dict[str, Any]:
    return {
        "name": outcome.name,
        "version": outcome.version,
        "description": outcome.description,
        "settings": outcome.settings,
        "error": outcome.error,
        "load_ms": rounded(outcome.load_total_seconds()),
        "load_ms_by_table": {
            table: rounded(seconds) for table, seconds in outcome.load_seconds().items()
        },
        "load_runs_ms": [rounded(sum(load.values())) for load in outcome.loads],
        "started_bytes": outcome.started_bytes,
        "loaded_bytes": outcome.loaded_bytes,
        "load_peak_bytes": outcome.load_peak_bytes,
        "queries_peak_bytes": outcome.queries_peak_bytes,
        "peak_includes_load": outcome.peak_includes_load,
        "others_busy_share": round(outcome.others_busy_share, 3),
        "others_busy_seconds": round(outcome.others_busy_seconds, 2),
        "geometric_mean_ms": rounded(outcome.geometric_mean_seconds()),
        "sum_of_medians_ms": rounded(sum(outcome.medians().values())),
        "correct": outcome.correct_count(),
        "restarts": outcome.restarts,
        "repeated": outcome.repeated,
        "rewritten": outcome.rewritten,
        "queries": {name: query_record(result) for name, result in outcome.queries.items()},
    }


def query_record(result: QueryOutcome) -> dict[str, Any]:
    return {
        "median_ms": rounded(result.median_seconds),
        "first_ms": rounded(result.first_seconds),
        "runs_ms": [rounded(seconds) for seconds in result.seconds],
        "rows": result.rows,
        "answer": result.answer,
        "error": result.error,
    }


def ratios(outcomes: Mapping[str, EngineOutcome]) -> dict[str, float]:
    """Geometric-mean ratios `peer/base` over the queries both completed."""
    base, *peers = outcomes.values()
    found = {
        f"{peer.name}/{base.name}": shared_ratio(peer.medians(), base.medians()) for peer in peers
    }
    return {name: round(ratio[0], 3) for name, ratio in found.items() if ratio}


def rounded(seconds: float | None) -> float | None:
    return None if seconds is None else round(seconds * 1e3, 3)
