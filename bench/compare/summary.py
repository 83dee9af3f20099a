"""The few statistics of the comparison.

Medians, because a disturbed run must not count; geometric means over queries,
because a ratio of two of them does not depend on which query is long.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from statistics import median

__all__ = ["geometric_mean", "median", "shared_ratio"]


def geometric_mean(values: Sequence[float]) -> float:
    """The n-th root of the product; values must be above zero."""
    if not values or min(values) <= 0:
        raise ValueError(f"no geometric mean of {list(values)}")
    return math.exp(math.fsum(math.log(value) for value in values) / len(values))


def shared_ratio(peer: dict[str, float], baseline: dict[str, float]) -> tuple[float, int] | None:
    """How many times longer the peer takes, and over how many queries.

    Only queries that both completed count, so that failing on a long query
    gains nobody anything; None where they share no query.
    """
    shared = [query for query in baseline if query in peer]
    if not shared:
        return None
    ratio = geometric_mean([peer[query] / baseline[query] for query in shared])
    return ratio, len(shared)
