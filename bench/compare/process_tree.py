"""Memory and processor time of a process and all it started, from /proc.

Memory is resident memory.  Its peak is the kernel's own high-water mark
(`VmHWM`), which is reset through `clear_refs`: exact, and no sampler has to
share the processors with the engine.  For a tree of several processes the
marks are added up, which is an upper bound: their peaks may lie apart.  Memory
that the processes share (PostgreSQL's buffers) is counted once, as the largest
share of one of them.  What a process that has already ended had at its peak is
not known.
"""

from __future__ import annotations

import contextlib
import os
import signal
from pathlib import Path

import psutil

CLOCK_TICKS_PER_SECOND: int = os.sysconf("SC_CLK_TCK")
RESET_HIGH_WATER_MARK = "5\n"


class ProcessTree:
    """A process and its descendants, as last looked up by `refresh`."""

    def __init__(self, root: int) -> None:
        self._root = root
        self._members = [root]

    def refresh(self) -> None:
        """Looks up the descendants again; costs a walk over /proc."""
        try:
            children = psutil.Process(self._root).children(recursive=True)
        except psutil.NoSuchProcess:
            children = []
        self._members = [self._root, *(child.pid for child in children)]

    def resident_bytes(self) -> int:
        return self._sum_of("VmRSS")

    def peak_resident_bytes(self) -> int:
        return self._sum_of("VmHWM")

    def _sum_of(self, field: str) -> int:
        total = sum(status_bytes(process, field) for process in self._members)
        shared = [status_bytes(process, "RssShmem") for process in self._members]
        return total - sum(shared) + max(shared)

    def reset_peak(self) -> bool:
        """Lets the peak start anew; False where the kernel does not allow it."""
        try:
            for process in self._members:
                Path(f"/proc/{process}/clear_refs").write_text(RESET_HIGH_WATER_MARK)
        except OSError:
            return False
        return True

    def processor_seconds(self) -> float:
        return sum(processor_seconds(process) for process in self._members)

    def stop(self) -> None:
        """Holds every member where it stands: it takes no processor time."""
        self._signal(signal.SIGSTOP)

    def go_on(self) -> None:
        self._signal(signal.SIGCONT)

    def kill(self) -> None:
        self.refresh()
        self._signal(signal.SIGKILL)

    def _signal(self, number: signal.Signals) -> None:
        for process in self._members:
            with contextlib.suppress(ProcessLookupError):
                os.kill(process, number)


def status_bytes(process: int, field: str) -> int:
    """A field of /proc/PID/status that is given in kB; 0 once it has ended."""
    try:
        lines = Path(f"/proc/{process}/status").read_text().splitlines()
    except OSError:
        return 0
    for line in lines:
        name, _, value = line.partition(":")
        if name == field:
            return int(value.split()[0]) * 1024
    return 0


def processor_seconds(process: int) -> float:
    """User and system time of a process, in steps of a clock tick.

    With that of its children that have ended: PostgreSQL's parallel workers
    begin and end within one query.
    """
    try:
        stat = Path(f"/proc/{process}/stat").read_text()
    except OSError:
        return 0.0
    # The second field is the command in brackets, which may hold spaces.
    fields = stat.rpartition(")")[2].split()
    return sum(int(field) for field in fields[11:15]) / CLOCK_TICKS_PER_SECOND


def machine_busy_seconds() -> float:
    """Time that all processors together were not idle, stolen time included."""
    with open("/proc/stat") as stat:
        columns = [int(value) for value in stat.readline().split()[1:9]]
    idle, waiting = columns[3], columns[4]
    return (sum(columns) - idle - waiting) / CLOCK_TICKS_PER_SECOND


def available_bytes() -> int:
    """Memory that can be had without swapping."""
    return int(psutil.virtual_memory().available)
