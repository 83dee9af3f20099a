"""Runs the examples of the documentation: what a page shows is what comes out.

A page's fenced blocks run from top to bottom in an empty folder, in which `data` is the folder `book/data`:

    ```sql        statements, typed into one shell a page; a ```text block behind it is what the shell prints
    ```python     code, in one Python process a page; a ```text block behind it is what it prints
    ```console    a transcript: after "$ " a command for bash, after "quickstep> " something typed into the shell (its
                  statement goes on until a line ends with ";"), after "> " the next line of a command; the rest is output
    ```rust       is compiled by the conformance crate, as a documentation test

A block that says `ignore` (```sql,ignore) is not run; the test holds a list of the pages that may have such blocks.
An HTML comment `<!-- run: COMMAND -->` runs for the page without being shown. Times, sizes in bytes and what depends on
the machine are not compared.

    python book/examples.py [--update] [PAGE ...]      without pages: all of them; --update writes what came out
"""

from __future__ import annotations

import argparse
import difflib
import json
import os
import re
import subprocess
import sys
import tempfile
from dataclasses import dataclass, field
from pathlib import Path

import pexpect

ROOT = Path(__file__).resolve().parent.parent
DOCS = ROOT / "docs"
COLUMNS = 110

FENCE = re.compile(r"^```([A-Za-z]*)((?:,[a-z]+)*)\s*$")
HIDDEN = re.compile(r"^<!-- run: (.*?) -->\s*$")
RUN = {"sql", "python", "console"}

# The line editor switches bracketed paste on when it waits and off when it has a line.
WAITS, TAKEN = re.escape("\x1b[?2004h"), re.escape("\x1b[?2004l")
CONTROL = re.compile(r"\x1b\[[0-9;?]*[a-zA-Z]|\x1b[=>]")

MEASURED = re.compile(r"[\d.,]*\d ?(ns|µs|us|ms|s|min|bytes|B|kB|KB|KiB|MB|MiB|GB|GiB|GB/s|MB/s|workers?|work orders?|partitions)\b")
MEASURED_TOO = re.compile(
    r"tested [\d,]+, dropped [\d,]+ \([\d.]+ %\)"  # filters learn their order while they work
    r"|[\d.]+ times as long"
    r"|(?<=\d)( +\d+\.\d{3}){4}$",  # the columns of a benchmark's report
    re.M,
)
# Depends on the processor's instructions.
CHOSEN = re.compile(r"groups by (?!build rows).*")


def pages() -> list[Path]:
    """The README and every page of the documentation that has something to run."""
    found = [ROOT / "README.md", *sorted(DOCS.rglob("*.md"))]
    return [page for page in found if any(block.kind in RUN or block.hidden for block in blocks(page.read_text()))]


@dataclass
class Block:
    """A fenced block, or a hidden command: its lines are [start, end) of the page."""

    kind: str
    options: list[str]
    start: int
    end: int
    text: str
    hidden: bool = False
    expected: Block | None = None


def blocks(text: str) -> list[Block]:
    """The blocks of a page; a text block right behind one that runs is what that shall print."""
    found: list[Block] = []
    lines = text.splitlines()
    at = 0
    while at < len(lines):
        if hidden := HIDDEN.match(lines[at]):
            found.append(Block("console", [], at, at + 1, "$ " + hidden[1], hidden=True))
        elif fence := FENCE.match(lines[at]):
            end = next((n for n in range(at + 1, len(lines)) if lines[n].rstrip() == "```"), None)
            if end is None:
                raise ValueError(f"line {at + 1}: the block does not end")
            block = Block(fence[1], fence[2].split(",")[1:], at + 1, end, "\n".join(lines[at + 1 : end]))
            behind = found[-1] if found else None
            if block.kind == "text" and behind and behind.kind in ("sql", "python") and not behind.expected:
                if not "".join(lines[behind.end + 1 : at]).strip():
                    behind.expected = block
            found.append(block)
            at = end
        at += 1
    return found


def skipped(text: str) -> int:
    """How many blocks say that they are not run."""
    return sum("ignore" in block.options for block in blocks(text))


def normal(text: str) -> list[str]:
    """Lines as they are compared: without what differs from run to run."""
    masked = CHOSEN.sub("groups by #", MEASURED_TOO.sub("#", MEASURED.sub(r"# \1", text.rstrip())))
    if masked != text.rstrip():
        # Widths follow the longest value.
        masked = re.sub(r"[^\S\n]+", " ", re.sub(r"-{2,}", "-", masked))
    return [line.rstrip() for line in masked.splitlines()]


def screen(text: str) -> str:
    """What a terminal shows of a stream: a progress bar that was erased is gone."""
    shown = []
    for line in text.replace("\r\n", "\n").split("\n"):
        line = re.split(r"\r\x1b\[K|\x1b\[2K\r?", line)[-1]
        shown.append(CONTROL.sub("", line).replace("\r", "").rstrip())
    return "\n".join(shown).strip("\n")


def environment(folder: Path) -> dict[str, str]:
    target = os.environ.get("CARGO_TARGET_DIR") or str(Path.home() / ".cache" / "quickstep" / "target")
    program = os.environ.get("QUICKSTEP") or str(Path(target) / "release" / "quickstep")
    path = [str(Path(program).parent), str(Path(sys.executable).parent), os.environ["PATH"]]
    return {
        "PATH": os.pathsep.join(path),
        "HOME": str(folder),
        "TERM": "xterm",
        "NO_COLOR": "1",
        "LC_ALL": "C.UTF-8",
        "PYTHONDONTWRITEBYTECODE": "1",
        "PYTHONPATH": os.environ.get("PYTHONPATH", ""),
    }


class Shell:
    """The interactive shell on a pseudo-terminal."""

    def __init__(self, folder: Path, arguments: str = "") -> None:
        self.terminal = pexpect.spawn(
            "quickstep",
            arguments.split(),
            env=environment(folder),
            cwd=str(folder),
            dimensions=(60, COLUMNS),
            encoding="utf-8",
            timeout=120,
        )
        self.terminal.expect(WAITS)
        self.terminal.delaybeforesend = None
        self.greeting = screen(self.terminal.before)
        self.type("\\pager off")

    def type(self, text: str) -> str:
        """What is printed until the prompt is back."""
        if text.strip() in ("\\q", "quit", "exit"):
            self.terminal.send(text + "\r")
            self.terminal.expect(pexpect.EOF)
            return ""
        # Each line has its prompt; what is printed behind the last one is the answer.
        for line in text.replace("\t", "    ").splitlines():
            self.terminal.send(line + "\r")
            self.terminal.expect(TAKEN)
            self.terminal.expect(WAITS)
        return screen(self.terminal.before)


# Runs code that comes as lines of JSON, and answers with what it printed.
DRIVER = r"""
import contextlib, io, json, sys, traceback
names = {"__name__": "__main__"}
for line in sys.stdin:
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        try:
            exec(compile(json.loads(line), "<page>", "exec"), names)
        except BaseException as error:
            out.write(f"{type(error).__name__}: {error}\n")
            traceback.print_exc(file=sys.stderr)
    print(json.dumps(out.getvalue()), flush=True)
"""


@dataclass
class Page:
    """The processes of a page that run."""

    folder: Path
    shell: Shell | None = None
    python: subprocess.Popen[str] | None = None
    faults: list[str] = field(default_factory=list)

    def typed(self, text: str) -> str:
        self.shell = self.shell or Shell(self.folder)
        return self.shell.type(text)

    def statements(self, text: str) -> str:
        """Types a block of SQL, statement by statement."""
        printed, pending = [], []
        for line in text.splitlines():
            pending.append(line)
            if re.search(r";\s*(--.*)?$", line) or (len(pending) == 1 and line.startswith("\\")):
                printed.append(self.typed("\n".join(pending)))
                pending = []
            elif len(pending) == 1 and not line.strip():
                pending = []
        if pending and not all(line.lstrip().startswith("--") for line in pending):
            raise ValueError(f"a statement does not end with ';': {pending[0]}")
        return "\n".join(part for part in printed if part)

    def code(self, text: str) -> str:
        if self.python is None:
            self.python = subprocess.Popen(
                [sys.executable, "-c", DRIVER],
                cwd=self.folder,
                env=environment(self.folder),
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                text=True,
            )
        assert self.python.stdin and self.python.stdout
        self.python.stdin.write(json.dumps(text) + "\n")
        self.python.stdin.flush()
        answer = self.python.stdout.readline()
        return json.loads(answer).rstrip("\n") if answer else "the Python process ended"

    def command(self, text: str) -> str:
        """A command of bash; `quickstep` by itself opens the shell."""
        words = text.split()
        if words and words[0] == "quickstep" and all(w.startswith("--") for w in words[1:]) and not set(words) & {"--help", "--version"}:
            self.shell = Shell(self.folder, " ".join(words[1:]))
            return self.shell.greeting
        done = subprocess.run(
            ["bash", "-c", text],
            cwd=self.folder,
            env=environment(self.folder) | {"COLUMNS": str(COLUMNS)},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=300,
        )
        return screen(done.stdout)

    def transcript(self, text: str) -> list[str]:
        """The lines of a transcript with what really comes out."""
        lines, written, at = text.splitlines(), [], 0
        while at < len(lines):
            line = lines[at]
            at += 1
            if line.startswith("$ "):
                command = [line[2:]]
                written.append(line)
                while at < len(lines) and lines[at].startswith("> "):
                    command.append(lines[at][2:])
                    written.append(lines[at])
                    at += 1
                written += self.command("\n".join(command)).splitlines()
            elif line.startswith("quickstep> "):
                typed = [line[len("quickstep> ") :]]
                written.append(line)
                while not typed[0].startswith("\\") and not typed[-1].rstrip().endswith(";") and at < len(lines):
                    typed.append(lines[at])
                    written.append(lines[at])
                    at += 1
                written += self.typed("\n".join(typed)).splitlines()
        return written

    def close(self) -> None:
        if self.shell:
            self.shell.terminal.close(force=True)
        if self.python:
            self.python.stdin.close()  # type: ignore[union-attr]
            self.python.wait(timeout=30)


def run_page(path: Path) -> tuple[list[str], str]:
    """Faults of a page, and the page with what came out in the place of what it shows."""
    text = path.read_text()
    lines = text.splitlines()
    faults: list[str] = []
    changes: list[tuple[int, int, list[str]]] = []

    def judge(start: int, end: int, shown: list[str], printed: list[str]) -> None:
        expected, actual = normal("\n".join(shown)), normal("\n".join(printed))
        if expected != actual:
            faults.append(f"{path.relative_to(ROOT)}:{start + 1}\n" + "\n".join(
                difflib.unified_diff(expected, actual, "shown", "printed", lineterm="")))
            changes.append((start, end, printed))

    with tempfile.TemporaryDirectory(prefix="quickstep-page-") as name:
        folder = Path(name)
        (folder / "data").symlink_to(ROOT / "book" / "data")
        page = Page(folder)
        try:
            for block in blocks(text):
                if "ignore" in block.options or block.kind not in RUN:
                    continue
                try:
                    if block.kind == "console":
                        written = page.transcript(block.text)
                        if not block.hidden:
                            judge(block.start, block.end, block.text.splitlines(), written)
                        continue
                    printed = page.statements(block.text) if block.kind == "sql" else page.code(block.text)
                except (pexpect.ExceptionPexpect, subprocess.SubprocessError, ValueError) as error:
                    where = "\n".join(str(error).splitlines()[:3])
                    faults.append(f"{path.relative_to(ROOT)}:{block.start + 1}: {type(error).__name__}: {where}")
                    break
                if block.expected:
                    judge(block.expected.start, block.expected.end, block.expected.text.splitlines(), printed.splitlines())
                elif re.search(r"^(ERROR|\w*Error:|\w+ process ended)", printed, re.M):
                    faults.append(f"{path.relative_to(ROOT)}:{block.start + 1}: failed:\n{printed}")
        finally:
            page.close()
    for start, end, printed in reversed(changes):
        lines[start:end] = printed
    return faults, "\n".join(lines) + "\n"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--update", action="store_true", help="write what came out into the pages")
    parser.add_argument("pages", nargs="*", type=Path)
    arguments = parser.parse_args()
    failed = 0
    for page in [page.resolve() for page in arguments.pages] or pages():
        faults, written = run_page(page)
        failed += bool(faults)
        print(f"{page.relative_to(ROOT)}: {len(faults) or 'as shown'}", flush=True)
        for fault in faults:
            print(fault)
        if arguments.update and faults:
            page.write_text(written)
    return 1 if failed and not arguments.update else 0


if __name__ == "__main__":
    sys.exit(main())
