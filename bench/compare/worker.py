"""The process that one engine lives in: takes requests, one at a time.

    python -m compare.worker ENGINE

Requests come on standard input.  Replies go to what was standard output when
the process began; from then on that name points at standard error, so that an
engine that prints cannot break the protocol.
"""

from __future__ import annotations

import ctypes
import gc
import os
import signal
import sys
import time
from pathlib import Path
from typing import BinaryIO

import pyarrow as pa

from compare import protocol
from compare.engines import create_engine
from compare.engines.base import Configuration, Engine
from compare.protocol import Message

ERROR_CHARACTERS_MAX = 500


class Worker:
    """Carries out requests on one engine, which the first request starts."""

    _engine: Engine

    def __init__(self, engine_name: str) -> None:
        self._engine_name = engine_name
        self._verbs = {
            protocol.START: self._start,
            protocol.LOAD: self._load,
            protocol.FINISH: self._finish,
            protocol.RUN: self._run,
            protocol.CLOSE: self._close,
        }

    def serve(self, requests: BinaryIO, replies: BinaryIO) -> None:
        """Answers every request, until one says to close or none can come."""
        for line in requests:
            request = protocol.decode(line)
            reply = self._answer(request)
            replies.write(protocol.encode(reply))
            replies.flush()
            if request["do"] == protocol.CLOSE:
                return

    def _answer(self, request: Message) -> Message:
        try:
            return {"ok": True, **self._verbs[request["do"]](request)}
        except Exception as error:  # every failure of an engine is a reply
            text = f"{type(error).__name__}: {error}"
            return {"ok": False, "error": text[:ERROR_CHARACTERS_MAX]}

    def _start(self, request: Message) -> Message:
        # Imported here, so that a package that is missing is a reply too.
        self._engine = create_engine(self._engine_name)
        self._engine.start(
            Configuration(
                threads=request["threads"],
                memory_bytes=request["memory_bytes"],
                scratch=Path(request["scratch"]),
                settings=request["settings"],
                query_seconds_max=request.get("query_seconds_max", 300.0),
            )
        )
        return {
            "version": self._engine.version(),
            "description": self._engine.description(),
        }

    def _load(self, request: Message) -> Message:
        started = time.perf_counter()
        self._engine.load(request["table"], Path(request["file"]))
        return {"seconds": time.perf_counter() - started}

    def _finish(self, _request: Message) -> Message:
        """What the engine does once all tables are in; nothing for most."""
        finish = getattr(self._engine, "finish_loading", None)
        if finish is None:
            return {}
        started = time.perf_counter()
        finish()
        return {"seconds": time.perf_counter() - started}

    def _run(self, request: Message) -> Message:
        """Runs a query: `warm_ups` times untimed, then once timed."""
        for _ in range(request["warm_ups"]):
            self._engine.query(request["sql"])
        started = time.perf_counter()
        answer = self._engine.query(request["sql"])
        seconds = time.perf_counter() - started
        if request.get("answer_file"):
            write_answer(answer, Path(request["answer_file"]))
        return {"seconds": seconds, "rows": answer.num_rows}

    def _close(self, _request: Message) -> Message:
        self._engine.close()
        return {}


def write_answer(answer: pa.Table, file: Path) -> None:
    """Keeps an answer, types and all, for the process that compares them."""
    with pa.ipc.new_file(str(file), answer.schema) as writer:
        writer.write_table(answer)


def end_with_parent() -> None:
    """Asks the kernel to kill this process when the one that measures dies.

    A stopped process never sees that its standard input has closed.
    """
    set_parent_death_signal = 1
    libc = ctypes.CDLL(None, use_errno=True)
    libc.prctl(set_parent_death_signal, signal.SIGKILL, 0, 0, 0)


def main() -> None:
    end_with_parent()
    replies = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    # Cycles to collect are few here; a collection inside a timed run is noise.
    gc.disable()
    Worker(sys.argv[1]).serve(sys.stdin.buffer, replies)


if __name__ == "__main__":
    main()
