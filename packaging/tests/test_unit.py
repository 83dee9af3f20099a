"""The unit of systemd: that it is one, how it is hardened, and that its command is one that the command takes."""

import configparser
import os
import re
import shlex
import shutil
import subprocess
from pathlib import Path

from conftest import HERE, Started

UNIT = HERE / "quickstep.service"


def read() -> configparser.ConfigParser:
    """The unit; of settings that may be repeated the last one."""
    parser = configparser.ConfigParser(strict=False, interpolation=None)
    parser.optionxform = str  # type: ignore[assignment]
    parser.read(UNIT)
    return parser


def test_it_is_hardened() -> None:
    service = read()["Service"]
    for name in (
        "NoNewPrivileges", "ProtectHome", "PrivateTmp", "PrivateDevices", "ProtectKernelTunables", "ProtectKernelModules",
        "ProtectKernelLogs", "ProtectControlGroups", "ProtectClock", "ProtectHostname", "RestrictNamespaces",
        "RestrictRealtime", "RestrictSUIDSGID", "LockPersonality", "MemoryDenyWriteExecute",
    ):
        assert service[name] == "yes", name
    assert service["ProtectSystem"] == "strict"
    assert service["CapabilityBoundingSet"] == "" and service["AmbientCapabilities"] == ""
    assert service["User"] == service["Group"] == "quickstep"
    assert service["RestrictAddressFamilies"].split() == ["AF_INET", "AF_INET6", "AF_UNIX"]
    assert int(service["LimitNOFILE"]) >= 65536
    assert read()["Install"]["WantedBy"] == "multi-user.target"


def test_it_drains() -> None:
    service, settings = read()["Service"], (HERE / "quickstep.toml").read_text()
    assert service["KillSignal"] == "SIGTERM" and service["KillMode"] == "mixed"
    drain = re.search(r'drain_timeout = "(\d+)s"', settings)
    # What is cancelled when the time is over has 5 seconds to end.
    assert drain and int(service["TimeoutStopSec"]) >= int(drain[1]) + 10
    assert service["ExecReload"] == "/bin/kill -HUP $MAINPID"


def test_systemd_finds_no_fault(tmp_path: Path, quickstep: str) -> None:
    if not shutil.which("systemd-analyze"):
        return
    # The command need not be installed here, nor its manual.
    text = UNIT.read_text().replace("/usr/bin/quickstep", os.path.abspath(quickstep))
    text = re.sub(r"^Documentation=.*\n", "", text, flags=re.MULTILINE)
    unit = tmp_path / "quickstep.service"
    unit.write_text(text)
    done = subprocess.run(["systemd-analyze", "verify", str(unit)], capture_output=True, text=True, timeout=60)
    own = [line for line in done.stderr.splitlines() if "quickstep.service" in line]
    assert not own, done.stderr
    # 0 is as safe as systemd can make it, 10 as unsafe.
    done = subprocess.run(
        ["systemd-analyze", "security", "--offline=true", "--threshold=30", "--no-pager", str(unit)],
        capture_output=True, text=True, timeout=60,
    )
    assert done.returncode == 0, done.stdout[-400:] + done.stderr


def test_its_command_serves_and_ends_well(tmp_path: Path, quickstep: str) -> None:
    """As the unit starts it, with folders that are there."""
    command = shlex.split(read()["Service"]["ExecStart"])
    assert command[:2] == ["/usr/bin/quickstep", "serve"]
    settings = (HERE / "quickstep.toml").read_text()
    state, runtime = tmp_path / "state", tmp_path / "run"
    state.mkdir()
    runtime.mkdir()
    settings = settings.replace("/var/lib/quickstep", str(state)).replace("/run/quickstep", str(runtime))
    settings = settings.replace("port = 5432", "port = 0")
    config = tmp_path / "quickstep.toml"
    config.write_text(settings)
    arguments = [str(config) if word == "/etc/quickstep/quickstep.toml" else word for word in command[1:]]
    server = Started([quickstep, *arguments])
    try:
        assert server.password and server.port
        assert list(runtime.glob(".s.PGSQL.*"))
        health = subprocess.run([quickstep, "health", "--port", str(server.http_port)], timeout=60)
        assert health.returncode == 0
    finally:
        assert server.stop() == 0
    health = subprocess.run([quickstep, "health", "--port", str(server.http_port), "--timeout", "1"], timeout=60)
    assert health.returncode == 1
    assert (state / "quickstep").is_dir() and (state / "audit.jsonl").exists()
