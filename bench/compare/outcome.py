"""What a run finds out: plain records, as they are printed and kept."""

from __future__ import annotations

from dataclasses import dataclass, field

from compare.summary import geometric_mean, median

# Above this share of the machine in others' hands, ratios are doubtful too.
NOISY_SHARE = 0.10

# But so little in the whole run is the clock's ticks and the harness itself: an
# engine whose turns are short has no more than a second of them.
BUSY_SECONDS_MIN = 0.25


def is_noisy(share: float, seconds: float) -> bool:
    """Whether others took so much of an engine's turns that its times are doubtful."""
    return share > NOISY_SHARE and seconds > BUSY_SECONDS_MIN


@dataclass
class QueryOutcome:
    """One query on one engine."""

    first_seconds: float | None = None
    """The first execution of all: cold, plans and all caches empty."""
    seconds: list[float] = field(default_factory=list)
    """The timed executions, a round each."""
    rows: int | None = None
    answer: str = "not compared"
    """`same`, or what differs first, and from whose answer."""
    error: str | None = None

    @property
    def median_seconds(self) -> float | None:
        return median(self.seconds) if self.seconds else None

    @property
    def correct(self) -> bool:
        return self.error is None and self.answer == "same"


@dataclass
class EngineOutcome:
    """One engine over the whole run.  Bytes are resident memory."""

    name: str
    version: str = ""
    description: str = ""
    settings: dict[str, str] = field(default_factory=dict)
    loads: list[dict[str, float]] = field(default_factory=list)
    """Seconds by table, a dictionary for each time everything was loaded."""
    started_bytes: int = 0
    loaded_bytes: int = 0
    load_peak_bytes: int = 0
    queries_peak_bytes: int = 0
    peak_includes_load: bool = False
    """True where the kernel did not let the peak be reset after loading."""
    others_busy_share: float = 0.0
    """Part of the machine that other processes used in this engine's turns."""
    others_busy_seconds: float = 0.0
    """The processor time that this was."""
    restarts: int = 0
    """How often it was started and loaded again after a query that killed it."""
    repeated: int = 0
    """How many turns were repeated, because others had disturbed them."""
    rewritten: dict[str, list[str]] = field(default_factory=dict)
    """Queries that its dialect needed written differently, with the reasons."""
    queries: dict[str, QueryOutcome] = field(default_factory=dict)
    error: str | None = None

    def load_total_seconds(self) -> float:
        """Median over the loads of what all tables took together."""
        return median([sum(load.values()) for load in self.loads]) if self.loads else 0.0

    def load_seconds(self) -> dict[str, float]:
        """Median over the loads, by table."""
        tables = self.loads[0] if self.loads else {}
        return {table: median([load[table] for load in self.loads]) for table in tables}

    def medians(self) -> dict[str, float]:
        """Seconds by query, for the queries that ran to the end of the run."""
        return {
            name: outcome.median_seconds
            for name, outcome in self.queries.items()
            if outcome.median_seconds is not None and outcome.error is None
        }

    def geometric_mean_seconds(self) -> float | None:
        medians = list(self.medians().values())
        return geometric_mean(medians) if medians else None

    @property
    def noisy(self) -> bool:
        return is_noisy(self.others_busy_share, self.others_busy_seconds)

    def correct_count(self) -> int:
        return sum(outcome.correct for outcome in self.queries.values())
