"""What a result must say about where it was measured."""

from __future__ import annotations

import platform
import subprocess
from pathlib import Path
from typing import Any

import psutil

REPOSITORY = Path(__file__).resolve().parents[2]
INSTRUCTION_SETS = ("avx2", "avx512f", "avx512vbmi2", "neon", "asimd", "sve")


def machine() -> dict[str, Any]:
    """Processor, cores, memory and kernel of this machine."""
    return {
        "cpu": cpu_model(),
        "cores": psutil.cpu_count(logical=False),
        "threads": psutil.cpu_count(logical=True),
        "instruction_sets": instruction_sets(),
        "memory_gib": round(psutil.virtual_memory().total / 2**30, 1),
        "kernel": platform.release(),
        "python": platform.python_version(),
    }


def cpu_model() -> str:
    return cpu_field("model name") or platform.machine()


def instruction_sets() -> list[str]:
    flags = set((cpu_field("flags") or cpu_field("Features")).split())
    return [name for name in INSTRUCTION_SETS if name in flags]


def cpu_field(name: str) -> str:
    """A field of the first processor in /proc/cpuinfo, or ''."""
    for line in Path("/proc/cpuinfo").read_text().splitlines():
        key, _, value = line.partition(":")
        if key.strip() == name:
            return value.strip()
    return ""


def commit() -> dict[str, Any]:
    """The commit checked out, and whether tracked files differ from it."""
    identity = git("rev-parse", "HEAD")
    changed = git("status", "--porcelain", "--untracked-files=no")
    return {"id": identity or "unknown", "modified": bool(changed)}


def git(*arguments: str) -> str:
    command = ["git", "-C", str(REPOSITORY), *arguments]
    try:
        run = subprocess.run(command, capture_output=True, text=True, check=True)
    except (OSError, subprocess.CalledProcessError):
        return ""
    return run.stdout.strip()
