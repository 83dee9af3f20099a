"""The Debian package: what is in it, and that what it installs into a root of its own serves."""

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from conftest import HERE, Started

pytestmark = pytest.mark.skipif(not shutil.which("dpkg-deb"), reason="no dpkg")


@pytest.fixture(scope="session")
def package(quickstep: str, tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("deb")
    command = [str(HERE / "build-deb"), "--binary", quickstep, "--out", str(out), "--compression", "none"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stderr
    return Path(done.stdout.strip())


def field(package: Path, name: str) -> str:
    command = ["dpkg-deb", "--field", str(package), name]
    return subprocess.run(command, capture_output=True, text=True, check=True, timeout=60).stdout.strip()


def test_its_fields_are_those_of_the_workspace(package: Path) -> None:
    version = re.search(r'^version = "(.*)"', (HERE.parent / "Cargo.toml").read_text(), re.MULTILINE)
    assert version and field(package, "Version") == version[1]
    assert package.name == f"quickstep_{version[1]}_{field(package, 'Architecture')}.deb"
    assert re.search(r"libc6 \(>= 2\.\d+\)", field(package, "Depends"))
    # Debian's of today has what the command is linked with, as it is built here.
    assert int(field(package, "Installed-Size")) > 1000


def test_its_files_are_roots_and_nothing_else_s(package: Path) -> None:
    done = subprocess.run(["dpkg-deb", "--contents", str(package)], capture_output=True, text=True, check=True, timeout=60)
    files = {line.split()[5].removeprefix("."): line.split() for line in done.stdout.splitlines()}
    for path, mode in {
        "/usr/bin/quickstep": "-rwxr-xr-x",
        "/usr/lib/systemd/system/quickstep.service": "-rw-r--r--",
        "/etc/quickstep/quickstep.toml": "-rw-r--r--",
        "/usr/share/man/man1/quickstep.1.gz": "-rw-r--r--",
        "/usr/share/doc/quickstep/copyright": "-rw-r--r--",
    }.items():
        assert files[path][0] == mode, path
    assert all(entry[1] == "root/root" for entry in files.values())


def test_the_same_inputs_make_the_same_package(package: Path, quickstep: str, tmp_path: Path) -> None:
    command = [str(HERE / "build-deb"), "--binary", quickstep, "--out", str(tmp_path), "--compression", "none"]
    subprocess.run(command, capture_output=True, check=True, timeout=600)
    assert (tmp_path / package.name).read_bytes() == package.read_bytes()


@pytest.fixture
def root(tmp_path: Path, package: Path) -> Path:
    """A root in which dpkg has installed the package; its scripts run outside of it, as it has no shell."""
    if os.getuid() != 0 or not shutil.which("useradd"):
        pytest.skip("only root installs packages")
    for folder in ("var/lib/dpkg/info", "var/lib/dpkg/updates", "var/log", "etc", "home"):
        (tmp_path / folder).mkdir(parents=True)
    for file in ("var/lib/dpkg/status", "var/lib/dpkg/available", "etc/shadow", "etc/gshadow"):
        (tmp_path / file).touch()
    (tmp_path / "etc/passwd").write_text("root:x:0:0:root:/root:/bin/sh\n")
    (tmp_path / "etc/group").write_text("root:x:0:\n")
    for verb in (["--install", str(package)],):
        command = ["dpkg", f"--root={tmp_path}", "--force-depends", "--force-script-chrootless", *verb]
        done = subprocess.run(command, capture_output=True, text=True, timeout=600)
        assert done.returncode == 0, done.stdout + done.stderr
    return tmp_path


def test_what_is_installed_serves(root: Path) -> None:
    user = re.search(r"^quickstep:x:(\d+):(\d+):.*:/var/lib/quickstep:", (root / "etc/passwd").read_text(), re.MULTILINE)
    assert user and int(user[1]) != 0
    state = root / "var/lib/quickstep"
    assert state.stat().st_uid == int(user[1]) and state.stat().st_mode & 0o777 == 0o700
    settings = (root / "etc/quickstep/quickstep.toml").read_text()
    runtime = root / "run/quickstep"
    runtime.mkdir(parents=True)
    os.chown(runtime, int(user[1]), int(user[2]))
    settings = settings.replace("/var/lib/quickstep", str(state)).replace("/run/quickstep", str(runtime))
    config = root / "etc/quickstep/here.toml"
    config.write_text(settings.replace("port = 5432", "port = 0"))
    # Folders of pytest are those of the user who runs the tests.
    for folder in [root, *root.parents]:
        if folder.stat().st_mode & 0o001 == 0 and folder.owner() == "root":
            folder.chmod(folder.stat().st_mode | 0o011)
    server = Started(
        [str(root / "usr/bin/quickstep"), "serve", "--config", str(config), "--http-port", "0"],
        user=int(user[1]), group=int(user[2]), extra_groups=[], umask=0o077, cwd=state,
    )
    try:
        assert server.port and server.password
        if psql := shutil.which("psql"):
            environment = {**os.environ, "PGPASSWORD": server.password}
            command = [psql, "-XAt", "-h", "127.0.0.1", "-p", str(server.port), "-U", "quickstep", "-c", "SELECT 6 * 7", "quickstep"]
            done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=60)
            assert done.stdout == "42\n", done.stderr
    finally:
        assert server.stop() == 0
    assert (state / "quickstep").stat().st_uid == int(user[1])


def test_it_goes_again_and_leaves_the_databases(root: Path) -> None:
    kept = root / "var/lib/quickstep/quickstep"
    kept.mkdir()
    for verb in ("--remove", "--purge"):
        command = ["dpkg", f"--root={root}", "--force-depends", "--force-script-chrootless", verb, "quickstep"]
        done = subprocess.run(command, capture_output=True, text=True, timeout=600)
        assert done.returncode == 0, done.stdout + done.stderr
        assert not (root / "usr/bin/quickstep").exists() and kept.is_dir()
        assert (root / "etc/quickstep/quickstep.toml").exists() == (verb == "--remove")
