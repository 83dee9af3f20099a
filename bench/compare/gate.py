"""Holds a machine that others use still, for a stretch of a run at a time.

`--gate COMMAND` names a program that keeps everything else off the processors
from when it prints a line until its standard input is closed.  The gate opens
before a load or a query, stays open for as many as fit into `--gate-seconds`,
and rests between two stretches, so that a long run does not stop everybody
else for long.  Without a command nothing is held and nothing waits.
"""

from __future__ import annotations

import os
import shlex
import subprocess
import time
from types import TracebackType

from compare.process_tree import machine_busy_seconds

# What has been woken or stopped by the command has come to rest by then.
SETTLE_SECONDS = 0.5

# Before anything runs, the machine must be idle for a moment.
LISTEN_SECONDS = 0.7
BUSY_SHARE_MAX = 0.10
OPENINGS_MAX = 40


class GateLost(Exception):
    """The command ended while something was measured."""


def busy_share(seconds: float) -> float:
    """The part of the machine in use while this process sleeps."""
    busy = machine_busy_seconds()
    time.sleep(seconds)
    return (machine_busy_seconds() - busy) / seconds / (os.cpu_count() or 1)


class Gate:
    """Open only while the command runs; `hold` before anything is measured."""

    def __init__(
        self, command: str | None = None, stretch_seconds: float = 240.0, rest_seconds: float = 0.0
    ) -> None:
        self._command = command
        self._stretch_seconds = stretch_seconds
        self._rest_seconds = rest_seconds
        self._process: subprocess.Popen[bytes] | None = None
        self._opened = 0.0
        self._closed: float | None = None

    def hold(self, anew: bool = False) -> None:
        """Opens the gate, or opens it anew where its stretch has run out.

        `anew`: also where its command has ended by itself, when nothing was lost.
        """
        if self._command is None:
            return
        if anew and self._process is not None and self._process.poll() is not None:
            self.close()
        if self._process is not None:
            self.check()
            if time.monotonic() - self._opened < self._stretch_seconds:
                return
            self.close()
        for _ in range(OPENINGS_MAX):
            self._open(self._command)
            if busy_share(LISTEN_SECONDS) <= BUSY_SHARE_MAX:
                break
            self.close()
            time.sleep(LISTEN_SECONDS)
        else:
            raise GateLost("the machine is busy in spite of the gate's command")

    def check(self) -> None:
        """Raises GateLost if the machine was let go meanwhile."""
        if self._process is not None and self._process.poll() is not None:
            self._process = None
            raise GateLost("the gate's command ended while the run went on: make stretches shorter")

    def _open(self, command: str) -> None:
        if self._closed is not None:
            time.sleep(max(0.0, self._closed + self._rest_seconds - time.monotonic()))
        self._process = subprocess.Popen(
            shlex.split(command), stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0
        )
        assert self._process.stdout is not None, "the process was started with a pipe"
        if not self._process.stdout.readline():
            self._process.wait()
            self._process = None
            raise GateLost(f"the gate's command ended without a word: {command}")
        time.sleep(SETTLE_SECONDS)
        self._opened = time.monotonic()

    def close(self) -> None:
        """Lets the machine go; does nothing where it is not held."""
        process, self._process = self._process, None
        if process is None:
            return
        for pipe in (process.stdin, process.stdout):
            assert pipe is not None, "the process was started with pipes"
            pipe.close()
        process.wait()
        self._closed = time.monotonic()

    def __enter__(self) -> Gate:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()
