"""The measuring side of one engine's process: its turns, time and memory.

States of the process:

    running  --reply-->  waiting  --pause-->  stopped
       ^                    |                    |
       +------request-------+<-----resume--------+

Only one engine of a run is ever out of `stopped` while a clock runs.  A
request that takes too long, or that leaves the machine without memory, ends
the process: `EngineLost`; the others go on.
"""

from __future__ import annotations

import os
import select
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path

from compare import protocol
from compare.outcome import NOISY_SHARE
from compare.process_tree import ProcessTree, available_bytes, machine_busy_seconds
from compare.protocol import Message, ProtocolError

BENCH_FOLDER = Path(__file__).resolve().parent.parent

# An engine past its memory limit would have the kernel choose what to kill.
AVAILABLE_BYTES_MIN = 512 * 2**20
WATCH_SECONDS = 0.25
CLOSE_SECONDS_MAX = 30.0

# A few clock ticks: what others seem to take in a short turn says nothing.
BUSY_SECONDS_MIN = 0.1


class EngineError(Exception):
    """The engine refused or failed a request; its process goes on."""


class EngineLost(EngineError):
    """The engine's process is gone."""


class EngineProcess:
    """One engine, started, spoken to and measured."""

    def __init__(self, name: str, timeout_seconds: float) -> None:
        self.name = name
        self.alive = True
        self.busy_seconds_of_others = 0.0
        """Processor time that others took while this engine had its turns."""
        self.turn_seconds = 0.0
        self._last_turn = (0.0, 0.0)
        self._kept_turn = (0.0, 0.0)
        self._timeout_seconds = timeout_seconds
        self._scratch = Path(tempfile.mkdtemp(prefix=f"bench-{os.getpid()}-"))
        self._unread = b""
        self._process = subprocess.Popen(
            [sys.executable, "-m", "compare.worker", name],
            cwd=BENCH_FOLDER,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            bufsize=0,
            start_new_session=True,
        )
        self.tree = ProcessTree(self._process.pid)

    def start(
        self,
        threads: int,
        memory_bytes: int,
        settings: Mapping[str, str],
        query_seconds_max: float = 300.0,
    ) -> Message:
        """Opens the engine; the reply holds its version and description."""
        reply = self.ask(
            {
                "do": protocol.START,
                "threads": threads,
                "memory_bytes": memory_bytes,
                "scratch": str(self._scratch),
                "settings": dict(settings),
                "query_seconds_max": query_seconds_max,
            }
        )
        self.tree.refresh()
        return reply

    def load(self, table: str, file: Path) -> float:
        """Loads a table; returns the seconds it took."""
        reply = self.ask({"do": protocol.LOAD, "table": table, "file": str(file)})
        return float(reply["seconds"])

    def finish_loading(self) -> float | None:
        """Indexes and statistics; the seconds, or None where there is no such step."""
        seconds = self.ask({"do": protocol.FINISH}).get("seconds")
        return None if seconds is None else float(seconds)

    def run(
        self,
        sql: str,
        warm_ups: int,
        answer_file: Path | None,
        seconds_max: float | None = None,
    ) -> Message:
        """Runs a query; the reply holds the seconds and the number of rows."""
        busy, own = machine_busy_seconds(), self.tree.processor_seconds()
        started = time.perf_counter()
        request = {"do": protocol.RUN, "sql": sql, "warm_ups": warm_ups}
        if answer_file is not None:
            request["answer_file"] = str(answer_file)
        reply = self.ask(request, seconds_max)
        # Both clocks move in ticks of 10 ms: right in the sum over many turns.
        own = self.tree.processor_seconds() - own
        self._last_turn = (
            time.perf_counter() - started,
            machine_busy_seconds() - busy - own,
        )
        return reply

    def last_turn_was_calm(self) -> bool:
        """Whether others left the machine alone; what is too short to tell counts as calm."""
        seconds, of_others = self._last_turn
        if of_others < BUSY_SECONDS_MIN:
            return True
        return of_others <= NOISY_SHARE * seconds * (os.cpu_count() or 1)

    def last_turn_disturbance(self) -> float:
        """Processor time of others for each second of the turn."""
        seconds, of_others = self._last_turn
        return of_others / max(seconds, 1e-9)

    def keep_last_turn(self) -> None:
        self._kept_turn = self._last_turn

    def count_kept_turn(self) -> None:
        """Its time counts, and so does what others took of it."""
        seconds, of_others = self._kept_turn
        self.turn_seconds += seconds
        self.busy_seconds_of_others += of_others

    def ask(self, request: Message, seconds_max: float | None = None) -> Message:
        """Sends a request and waits for its reply."""
        if not self.alive:
            raise EngineLost(f"{self.name} is no longer running")
        pipe = self._process.stdin
        assert pipe is not None, "the process was started with a pipe"
        try:
            pipe.write(protocol.encode(request))
        except BrokenPipeError:
            raise self._lost("ended unexpectedly") from None
        try:
            line = self._read_line(seconds_max or self._timeout_seconds)
        except KeyboardInterrupt:
            # Its reply would be taken for that of the next request.
            self._end()
            raise
        try:
            reply = protocol.decode(line)
        except ProtocolError as error:
            raise self._lost(str(error)) from error
        if not reply.get("ok"):
            raise EngineError(str(reply.get("error", "failed without a reason")))
        return reply

    def _read_line(self, seconds_max: float) -> bytes:
        pipe = self._process.stdout
        assert pipe is not None, "the process was started with a pipe"
        deadline = time.monotonic() + seconds_max
        while b"\n" not in self._unread:
            if select.select([pipe], [], [], WATCH_SECONDS)[0]:
                piece = os.read(pipe.fileno(), 65536)
                if not piece:
                    raise self._lost("ended unexpectedly")
                self._unread += piece
            elif time.monotonic() > deadline:
                raise self._lost(f"killed after {seconds_max:g} s without a reply")
            elif available_bytes() < AVAILABLE_BYTES_MIN:
                raise self._lost("killed: the machine was out of memory")
        line, _, self._unread = self._unread.partition(b"\n")
        return line

    def _lost(self, reason: str) -> EngineLost:
        self._end()
        return EngineLost(f"{self.name} {reason}")

    def pause(self) -> None:
        """Stops the process until `resume`, with all that it started."""
        if self.alive:
            self.tree.refresh()
            self.tree.stop()

    def resume(self) -> None:
        if self.alive:
            self.tree.go_on()

    def close(self) -> None:
        """Asks the engine to end, and sees to it that it does."""
        if not self.alive:
            return
        self.resume()
        try:
            self.ask({"do": protocol.CLOSE}, CLOSE_SECONDS_MAX)
            self._process.wait(CLOSE_SECONDS_MAX)
        except (EngineError, subprocess.TimeoutExpired):
            pass
        self._end()

    def _end(self) -> None:
        self.alive = False
        self.tree.kill()
        self._process.wait()
        for pipe in (self._process.stdin, self._process.stdout):
            if pipe is not None:
                pipe.close()
        shutil.rmtree(self._scratch, ignore_errors=True)
