"""The line protocol between the process that measures and an engine's process.

One JSON object a line, a request down the engine's standard input, then one
reply up a pipe of its own (its standard output is free for whatever the engine
prints).  The engine's process does nothing between a reply and the next
request but wait for a line:

    measuring process                      engine's process
    {"do": "start", ...}         ->
                                 <-        {"ok": true, "version": ...}
    {"do": "load", ...}          ->
                                 <-        {"ok": true, "seconds": 1.7}
    {"do": "finish"}             ->
                                 <-        {"ok": true, "seconds": 0.9}
    {"do": "run", "sql": ...}    ->
                                 <-        {"ok": true, "seconds": 0.012, ...}
    {"do": "close"}              ->
                                 <-        {"ok": true}, and the process ends

A request that fails is answered `{"ok": false, "error": ...}`; the process
goes on.  The clock runs in the engine's process, around the engine's work
alone, so that the protocol is in nobody's time.
"""

from __future__ import annotations

import json
from typing import Any, TypeAlias

Message: TypeAlias = dict[str, Any]

START = "start"
LOAD = "load"
FINISH = "finish"
RUN = "run"
CLOSE = "close"


class ProtocolError(Exception):
    """A line that is no message: the other side is broken or gone."""


def encode(message: Message) -> bytes:
    """The message as one line, line break included."""
    return json.dumps(message, separators=(",", ":")).encode() + b"\n"


def decode(line: bytes) -> Message:
    """The message in `line`; raises ProtocolError for anything else."""
    try:
        message = json.loads(line)
    except ValueError as error:
        raise ProtocolError(f"not a message: {line[:200]!r}") from error
    if not isinstance(message, dict):
        raise ProtocolError(f"not a message: {line[:200]!r}")
    return message
