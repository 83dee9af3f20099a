"""Short statements by PostgreSQL's protocol, beside PostgreSQL: what the fixed cost of one is.

    python select_one.py --binary ../target/release/quickstep [--postgresql /usr/lib/postgresql/15/bin] [--rounds 9]
                         [--seconds 3] [--as-user postgres] [--note TEXT] [--no-record]

Both servers stand at Unix sockets in a folder of their own, with default settings, without a password, PostgreSQL's
in a new cluster.  pgbench sends one script after the other, simple and prepared, by one client and by 16; each round
runs every measurement on one server and then on the other, which of them first alternates, so that what else the
machine does meets both.  A table of ten rows stands for dashboards: a point read by its key and an aggregate.

Recorded are medians over rounds: transactions a second, the 99th percentile of their latency in microseconds (of the
rounds' own 99th percentiles), and microseconds of CPU time of the server's processes for each transaction, which
depends least on what else runs.  `load` has the machine's load average before and after.  The line of JSON goes to
`results/select-one.jsonl`.
"""

from __future__ import annotations

import argparse
import datetime
import json
import os
import re
import shutil
import statistics
import subprocess
import tempfile
import time
from pathlib import Path

from compare.machine import commit, machine
from compare.record import RESULTS_FOLDER

SCRIPTS = {
    "one": "SELECT 1;\n",
    "point": "\\set id random(1, 10)\nSELECT x FROM few WHERE id = :id;\n",
    "aggregate": "SELECT count(*), sum(x) FROM few WHERE id <= 5;\n",
}
TABLE = "CREATE TABLE few(id INTEGER PRIMARY KEY, x BIGINT); INSERT INTO few SELECT i, i * 10 FROM generate_series(1, 10) AS t(i)"
CLIENTS = (1, 16)
MODES = ("simple", "prepared")
TICKS = os.sysconf("SC_CLK_TCK")


def children(process: int) -> list[int]:
    """A process and all below it."""
    found, parents = [process], {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                fields = (entry / "stat").read_text().rsplit(")", 1)[1].split()
            except OSError:
                continue
            parents.setdefault(int(fields[1]), []).append(int(entry.name))
    for parent in found:
        found.extend(parents.get(parent, []))
    return found


def cpu_seconds(process: int) -> float:
    """CPU time of a server: its processes, and those of them that have ended."""
    ticks = 0
    for one in children(process):
        try:
            fields = Path(f"/proc/{one}/stat").read_text().rsplit(")", 1)[1].split()
        except OSError:
            continue
        # utime, stime, cutime, cstime
        ticks += sum(int(field) for field in fields[11:15])
    return ticks / TICKS


class Server:
    """A server under way, with its table."""

    def __init__(self, name: str, process: subprocess.Popen, folder: Path, port: int, user: str, database: str) -> None:
        self.name, self.process, self.folder, self.port = name, process, folder, port
        self.place = ["-h", str(folder), "-p", str(port), "-U", user]
        self.database = database

    def prepare(self, tools: Path) -> None:
        for _ in range(100):
            done = subprocess.run(
                [tools / "psql", *self.place, "-d", self.database, "-qc", TABLE], capture_output=True, text=True
            )
            if done.returncode == 0:
                return
            time.sleep(0.1)
        raise SystemExit(f"{self.name}: {done.stderr[-2000:]}")

    def measure(self, tools: Path, script: Path, mode: str, clients: int, seconds: float, logs: Path) -> dict[str, float]:
        for log in logs.glob("log.*"):
            log.unlink()
        pgbench = [tools / "pgbench", *self.place, "-n", "-M", mode, "-c", str(clients), "-j", "1", "-f", script]
        before = cpu_seconds(self.process.pid)
        rate = subprocess.run(
            [*pgbench, "-T", str(max(1, round(seconds))), self.database], capture_output=True, text=True, check=True
        ).stdout
        used = cpu_seconds(self.process.pid) - before
        transactions = int(re.search(r"actually processed: (\d+)", rate)[1])
        # Latencies by a run of their own: a line a transaction is written, which takes of the rate.
        subprocess.run(
            [*pgbench, "-T", "1", "-l", f"--log-prefix={logs / 'log'}", self.database],
            capture_output=True,
            text=True,
            check=True,
        )
        latencies = [int(line.split()[2]) for log in logs.glob("log.*") for line in log.read_text().splitlines()]
        return {
            "per_second": float(re.search(r"^tps = ([0-9.]+)", rate, re.MULTILINE)[1]),
            "p99_us": statistics.quantiles(latencies, n=100)[98],
            "cpu_us": used / transactions * 1e6,
        }


def start_postgresql(tools: Path, folder: Path, port: int, user: str) -> Server:
    data = folder / "data"
    as_user = ["setpriv", f"--reuid={user}", f"--regid={user}", "--init-groups"] if os.getuid() == 0 else []
    subprocess.run([*as_user, tools / "initdb", "-D", data, "-A", "trust", "-U", "postgres"], check=True, capture_output=True)
    process = subprocess.Popen(
        [*as_user, tools / "postgres", "-D", data, "-k", folder, "-p", str(port), "-h", ""],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    return Server("postgresql", process, folder, port, "postgres", "postgres")


def start_quickstep(binary: Path, folder: Path, port: int) -> Server:
    process = subprocess.Popen(
        [binary, "serve", "--trust", "--no-http", "--socket", folder, "--port", str(port)],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    return Server("quickstep", process, folder, port, "quickstep", "postgres")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--binary", type=Path, required=True)
    parser.add_argument("--postgresql", type=Path, default=Path("/usr/lib/postgresql/15/bin"))
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--seconds", type=float, default=3)
    parser.add_argument("--port", type=int, default=5690)
    parser.add_argument("--as-user", default="postgres", help="who PostgreSQL runs as when root starts this")
    parser.add_argument("--note", help="what else is to be said of the run, such as what else the machine did")
    parser.add_argument("--no-record", action="store_true")
    arguments = parser.parse_args()
    tools, load = arguments.postgresql, [round(os.getloadavg()[0], 1)]
    version = subprocess.run([tools / "postgres", "--version"], capture_output=True, text=True, check=True).stdout.strip()
    with tempfile.TemporaryDirectory(prefix="select-one-") as made:
        folder = Path(made)
        folder.chmod(0o755)
        for name in ("postgresql", "quickstep", "logs"):
            (folder / name).mkdir()
        if os.getuid() == 0:
            shutil.chown(folder / "postgresql", arguments.as_user)
        scripts = {name: folder / f"{name}.sql" for name in SCRIPTS}
        for name, path in scripts.items():
            path.write_text(SCRIPTS[name])
        servers = [
            start_quickstep(arguments.binary.resolve(), folder / "quickstep", arguments.port),
            start_postgresql(tools, folder / "postgresql", arguments.port + 1, arguments.as_user),
        ]
        found: dict[str, dict[str, list[dict[str, float]]]] = {}
        try:
            for server in servers:
                server.prepare(tools)
            for turn in range(arguments.rounds):
                for script, path in scripts.items():
                    for clients in CLIENTS:
                        for mode in MODES:
                            for server in servers if turn % 2 == 0 else servers[::-1]:
                                measured = server.measure(
                                    tools, path, mode, clients, arguments.seconds, folder / "logs"
                                )
                                key = f"{script} {mode} {clients}"
                                found.setdefault(key, {}).setdefault(server.name, []).append(measured)
        finally:
            for server in servers:
                server.process.terminate()
            for server in servers:
                server.process.wait(60)
    medians = {
        key: {
            name: {what: round(statistics.median(run[what] for run in runs), 1) for what in runs[0]}
            for name, runs in by_server.items()
        }
        for key, by_server in found.items()
    }
    for key, by_server in medians.items():
        print(key, by_server)
    load.append(round(os.getloadavg()[0], 1))
    record = {
        "format": 1,
        "date": str(datetime.datetime.now(datetime.UTC).replace(microsecond=0)),
        "commit": commit(),
        "machine": machine(),
        "work": "short statements by PostgreSQL's protocol (bench/select_one.py)",
        "beside": version,
        "rounds": arguments.rounds,
        "seconds": arguments.seconds,
        "load": load,
        "series": medians,
    }
    if arguments.note:
        record["note"] = arguments.note
    if not arguments.no_record:
        with (RESULTS_FOLDER / "select-one.jsonl").open("a") as file:
            file.write(json.dumps(record) + "\n")


if __name__ == "__main__":
    main()
