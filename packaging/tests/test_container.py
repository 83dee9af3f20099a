"""The Containerfile: no engine builds it here, so its instructions are read, and what they run is run as far as it can be."""

import json
import re
import shlex
import subprocess
from pathlib import Path

from conftest import HERE, Started

FILE = HERE / "Containerfile"
ROOT = HERE.parent
INSTRUCTIONS = {"FROM", "RUN", "COPY", "USER", "WORKDIR", "VOLUME", "EXPOSE", "STOPSIGNAL", "HEALTHCHECK", "ENTRYPOINT"}


def instructions() -> list[tuple[str, str]]:
    """Name and rest of each, comments left out and lines put together."""
    text = "\n".join(line for line in FILE.read_text().splitlines() if not line.lstrip().startswith("#"))
    lines = re.sub(r"\\\n\s*", " ", text).splitlines()
    return [tuple(line.split(" ", 1)) for line in lines if line.strip()]  # type: ignore[misc]


def stages() -> list[list[tuple[str, str]]]:
    found: list[list[tuple[str, str]]] = []
    for name, rest in instructions():
        if name == "FROM":
            found.append([])
        found[-1].append((name, rest))
    return found


def test_every_instruction_is_one() -> None:
    assert {name for name, _ in instructions()} <= INSTRUCTIONS
    for name, rest in instructions():
        if name in ("ENTRYPOINT", "HEALTHCHECK"):
            words = rest[rest.index("[") :]
            assert all(isinstance(word, str) for word in json.loads(words)), rest


def test_what_is_run_has_the_compilers_version_and_ends_as_nobody() -> None:
    build, last = stages()
    wanted = re.search(r'rust-version = "([\d.]+)"', (ROOT / "Cargo.toml").read_text())
    assert wanted and build[0][1].startswith(f"docker.io/library/rust:{wanted[1]}-") and build[0][1].endswith(" AS build")
    base = [rest.split()[0] for name, rest in (build[0], last[0])]
    # The C library that it is built with is the one that it runs with.
    assert base[0].rsplit("-", 1)[1] == "bookworm" and base[1] == "docker.io/library/debian:bookworm-slim"
    users = [rest for name, rest in last if name == "USER"]
    assert users and users[-1].split(":")[0] not in ("0", "root")
    after = [name for name, _ in last[[name for name, _ in last].index("USER") :]]
    assert "RUN" not in after and "COPY" not in after


def test_what_is_copied_is_there() -> None:
    ignored = (ROOT / ".dockerignore").read_text().split()
    for stage in stages():
        for name, rest in stage:
            if name == "COPY" and not rest.startswith("--from"):
                for source in rest.split()[:-1]:
                    assert (ROOT / source).exists() and source not in ignored, source
    # What the build makes is what the last stage takes.
    built = next(rest for name, rest in stages()[0] if name == "RUN")
    assert "/out/quickstep" in built
    assert ("COPY", "--from=build /out/quickstep /usr/bin/quickstep") in stages()[1]


def test_shells_read_what_is_run() -> None:
    for name, rest in instructions():
        if name == "RUN":
            text = re.sub(r"^(--mount=\S+\s+)+", "", rest)
            done = subprocess.run(["sh", "-n", "-c", text], capture_output=True, text=True, timeout=60)
            assert done.returncode == 0, done.stderr


def test_libraries_are_there(quickstep: str) -> None:
    """Debian's slim image has the C library; what else the command needs is installed."""
    done = subprocess.run(["objdump", "-p", quickstep], capture_output=True, text=True, check=True, timeout=60)
    needed = set(re.findall(r"NEEDED\s+(\S+)", done.stdout))
    libc = {"libc.so.6", "libm.so.6"} | {library for library in needed if library.startswith("ld-linux")}
    packages = {"libgcc_s.so.1": "libgcc-s1", "libstdc++.so.6": "libstdc++6"}
    installed = next(rest for name, rest in stages()[1] if name == "RUN")
    for library in needed - libc:
        assert packages[library] in installed


def test_its_commands_are_the_commands(tmp_path: Path, quickstep: str) -> None:
    last = dict(stages()[1])
    entry, health = json.loads(last["ENTRYPOINT"]), json.loads(last["HEALTHCHECK"].split("CMD", 1)[1])
    assert entry[0] == health[0] == "/usr/bin/quickstep" and last["STOPSIGNAL"] == "SIGTERM"
    port = entry[entry.index("--http-port") + 1]
    assert health[health.index("--port") + 1] == port and port in last["EXPOSE"].split()
    settings = (HERE / "quickstep.toml").read_text()
    for folder in ("/var/lib/quickstep", "/run/quickstep"):
        (tmp_path / folder.replace("/", "_")).mkdir()
        settings = settings.replace(folder, str(tmp_path / folder.replace("/", "_")))
    config = tmp_path / "quickstep.toml"
    config.write_text(settings.replace("port = 5432", "port = 0"))
    replaced = {"/etc/quickstep/quickstep.toml": str(config), port: "0"}
    server = Started([quickstep, *(replaced.get(word, word) for word in entry[1:])])
    try:
        command = [quickstep, *(str(server.http_port) if word == port else word for word in health[1:])]
        assert subprocess.run(command, timeout=60).returncode == 0, shlex.join(command)
    finally:
        assert server.stop() == 0
