"""Installs the engines that a comparison needs and this machine lacks.

    python install_peers.py quickstep duckdb postgres spark

Prints the engines that can run, separated by commas, on standard output, and
on standard error what was installed and which engines cannot run and why.
Python packages go into the environment that runs this, as requirements.txt and
requirements-peers.txt pin them; PostgreSQL and Java come from Debian, where we
are root.  Ends with status 0 as long as one engine can run.
"""

from __future__ import annotations

import importlib.util
import os
import re
import shutil
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

REQUIREMENTS = [
    Path(__file__).with_name(name) for name in ("requirements.txt", "requirements-peers.txt")
]
# The newest wheel is for Python 3.10; its library keeps to the stable interface
# of 3.x, so that it works in later ones when it is unpacked there.
MONETDBE = "monetdbe==0.11"
MONETDBE_PLATFORMS = ("manylinux_2_17_x86_64", "manylinux2014_x86_64")


class CannotInstall(Exception):
    """Why an engine will be left out."""


@dataclass(frozen=True)
class Need:
    """Something an engine needs: how to see that it is there, how to get it."""

    name: str
    present: Callable[[], bool]
    install: Callable[[], None]


def module(name: str, package: str | None = None) -> Need:
    return Need(name, lambda: has_module(name), lambda: pip_install(package or name))


def has_module(name: str) -> bool:
    importlib.invalidate_caches()
    return importlib.util.find_spec(name) is not None


def pinned(package: str, requirements: str) -> str:
    """The package as the requirements name it, version and all."""
    found = re.search(rf"^{re.escape(package)}\S*==\S+", requirements, re.MULTILINE)
    return found[0] if found else package


def pip_install(package: str) -> None:
    pins = "".join(file.read_text() for file in REQUIREMENTS)
    pip("install", pinned(package, pins))


def pip(*arguments: str) -> None:
    command = [sys.executable, "-m", "pip", *arguments, "--quiet", "--disable-pip-version-check"]
    run(command)


def run(command: list[str]) -> None:
    try:
        done = subprocess.run(command, capture_output=True, text=True)
    except OSError as error:
        raise CannotInstall(str(error)) from None
    if done.returncode != 0:
        lines = (done.stderr or done.stdout).strip().splitlines()
        raise CannotInstall(lines[-1] if lines else f"{command[0]} failed")


def install_monetdbe() -> None:
    with tempfile.TemporaryDirectory() as folder:
        platforms = [part for name in MONETDBE_PLATFORMS for part in ("--platform", name)]
        pip(
            *("download", "--no-deps", "--only-binary=:all:", "--python-version", "3.10"),
            *("--implementation", "cp", "--abi", "cp310", *platforms, MONETDBE, "-d", folder),
        )
        for wheel in Path(folder).glob("*.whl"):
            zipfile.ZipFile(wheel).extractall(site_packages())


def site_packages() -> Path:
    import sysconfig

    return Path(sysconfig.get_path("platlib"))


def apt_install(package: str) -> None:
    if shutil.which("apt-get") is None or os.geteuid() != 0:
        raise CannotInstall(f"{package} must be installed by hand (not root, or no apt-get)")
    run(["apt-get", "update", "-qq"])
    run(["apt-get", "install", "-y", "-qq", "--no-install-recommends", package])


def has_postgres() -> bool:
    if shutil.which("initdb") and shutil.which("postgres"):
        return True
    return any(Path("/usr/lib/postgresql").glob("*/bin/initdb"))


JAVA = Need(
    "java",
    lambda: shutil.which("java") is not None,
    lambda: apt_install("openjdk-17-jre-headless"),
)
POSTGRES = Need("postgresql", has_postgres, lambda: apt_install("postgresql"))
NEEDS: dict[str, list[Need]] = {
    "quickstep": [module("quickstep")],
    "duckdb": [module("duckdb")],
    "hyper": [module("tableauhyperapi")],
    "chdb": [module("chdb")],
    "datafusion": [module("datafusion")],
    "polars": [module("polars")],
    "polars-float64": [module("polars")],
    "monetdb": [
        module("pandas"),
        Need("monetdbe", lambda: has_module("monetdbe"), install_monetdbe),
    ],
    "postgres": [POSTGRES, module("psycopg", "psycopg")],
    "spark": [JAVA, module("pyspark")],
}


def install(engine: str) -> None:
    """Gets whatever the engine lacks; raises CannotInstall with the reason."""
    if engine not in NEEDS:
        raise CannotInstall(f"unknown; known: {', '.join(NEEDS)}")
    for need in NEEDS[engine]:
        if need.present():
            continue
        print(f"installing {need.name} for {engine}", file=sys.stderr)
        need.install()
        if not need.present():
            raise CannotInstall(f"{need.name} was installed and is still not found")


def main(engines: list[str]) -> int:
    usable = []
    for engine in engines:
        try:
            install(engine)
        except CannotInstall as reason:
            print(f"{engine} is left out: {reason}", file=sys.stderr)
        else:
            usable.append(engine)
    print(",".join(usable))
    return 0 if usable else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
