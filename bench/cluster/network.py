#!/usr/bin/env python3
"""All-to-alls over shaped links: machines are network namespaces.

Each node has a namespace of its own; a veth pair leads from it into a bridge in a namespace that plays the switch. Both
ends are shaped by tbf at the link's rate; the end at the switch has a queue of BUFFER bytes, which is the port's buffer:
what does not fit is dropped. Segmentation offload is off, so that queues count packets as a wire would carry them.

    sudo bench/cluster/network.py [--quick] [--nodes 4,6,8] [--rates 100,250,1000] [--buffers 32,128,512]
                                  [--congestion cubic,bbr] [--schedules off,on,auto,raw] [--seconds 5] [--out FILE]

A line of JSON for each cell: goodput over the link's rate, the processor's idle part, the load when it began, and
whether the cell counts (at least 15 % idle). `raw` is blocking sockets without a multiplexer. The first question: does
this bench contend at all? It does where `raw` or `off` stays below 85 % of the link.

Exits with 2, and says why, where namespaces cannot be made.
"""

import argparse
import atexit
import json
import os
import subprocess
import sys
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent.parent.parent
PREFIX = "qsnet"
SWITCH = PREFIX + "switch"
PORT = 7411
IDLE_MIN = 0.15


def sh(command, check=True):
    result = subprocess.run(command.split(), capture_output=True, text=True)
    if check and result.returncode:
        raise RuntimeError(f"{command}: {result.stderr.strip()}")
    return result.stdout


def tear_down():
    for line in sh("ip netns list", check=False).splitlines():
        name = line.split()[0] if line.split() else ""
        if name.startswith(PREFIX):
            sh(f"ip netns del {name}", check=False)


def set_up(nodes, mbit, buffer_kib, mtu):
    """Namespaces, links and shaping; a rate of 0 leaves the links as they are."""
    tear_down()
    sh(f"ip netns add {SWITCH}")
    sh(f"ip -n {SWITCH} link add bridge type bridge")
    sh(f"ip -n {SWITCH} link set bridge up")
    for node in range(nodes):
        name = f"{PREFIX}{node}"
        sh(f"ip netns add {name}")
        sh(f"ip -n {SWITCH} link add port{node} mtu {mtu} type veth peer name eth0 netns {name} mtu {mtu}")
        sh(f"ip -n {SWITCH} link set port{node} master bridge up gso_max_segs 1")
        sh(f"ip -n {name} link set eth0 up gso_max_segs 1")
        sh(f"ip -n {name} link set lo up")
        sh(f"ip -n {name} addr add 10.77.0.{node + 1}/24 dev eth0")
        if mbit:
            # A bucket of 4 ms of the link, at least three packets: coarser ones make bursts, finer ones starve.
            burst = max(3 * mtu, mbit * 125 * 4)
            sh(f"ip netns exec {name} tc qdisc add dev eth0 root tbf rate {mbit}mbit burst {burst} limit 1mb")
            sh(
                f"ip netns exec {SWITCH} tc qdisc add dev port{node} root tbf rate {mbit}mbit"
                f" burst {burst} limit {buffer_kib * 1024}"
            )


def processor_times():
    fields = [int(field) for field in Path("/proc/stat").read_text().splitlines()[0].split()[1:9]]
    return fields[3] + fields[4], sum(fields)


def drops(nodes):
    """Packets that the switch's ports dropped since the links were made."""
    total = 0
    for node in range(nodes):
        text = sh(f"ip netns exec {SWITCH} tc -s -j qdisc show dev port{node}", check=False)
        total += sum(qdisc.get("drops", 0) for qdisc in json.loads(text or "[]"))
    return total


def run(binary, nodes, mbit, schedule, seconds, senders, message_kib, extra):
    addresses = ",".join(f"10.77.0.{node + 1}:{PORT}" for node in range(nodes))
    words = [f"schedule={schedule}", f"seconds={seconds}", "warmup=1.5", f"senders={senders}"]
    words += [f"message_kib={message_kib}", "memory_mib=96"] + extra
    if schedule == "raw":
        words = ["transport=raw"] + [word for word in words if not word.startswith("schedule=")]
    if mbit and mbit <= 250:
        words.append("unsent_kib=32")
    processes = []
    for node in range(nodes):
        command = ["ip", "netns", "exec", f"{PREFIX}{node}", binary, "node", str(node), addresses] + words
        processes.append(subprocess.Popen(command, stdout=subprocess.PIPE, text=True))
    time.sleep(2)
    idle, total = processor_times()
    time.sleep(seconds)
    idle_after, total_after = processor_times()
    lines = []
    for process in processes:
        try:
            out, _ = process.communicate(timeout=seconds + 40)
        except subprocess.TimeoutExpired:
            process.kill()
            out = '{"error": "it did not end"}'
        lines += [json.loads(line) for line in out.splitlines() if line.startswith("{")]
    return lines, (idle_after - idle) / max(1, total_after - total)


def cell(binary, arguments, nodes, mbit, buffer_kib, congestion, schedule, senders="all", message_kib=512, extra=()):
    set_up(nodes, mbit, buffer_kib, arguments.mtu)
    load = os.getloadavg()[0]
    options = [f"congestion={congestion}", *extra]
    lines, idle = run(binary, nodes, mbit, schedule, arguments.seconds, senders, message_kib, options)
    received = [line["received_mb_s"] for line in lines if "received_mb_s" in line]
    receivers = nodes if senders == "all" else nodes - 1 if nodes == 2 else nodes
    link = mbit / 8 * (arguments.mtu - 52) / (arguments.mtu + 14) if mbit else None
    record = {
        "what": "one pair" if nodes == 2 and senders != "all" else "all-to-all",
        "nodes": nodes,
        "mbit": mbit,
        "buffer_kib": buffer_kib,
        "mtu": arguments.mtu,
        "congestion": congestion,
        "schedule": schedule,
        "message_kib": message_kib,
        "extra": list(extra),
        "received_mb_s": [round(value, 3) for value in received],
        # Of what TCP can carry at this rate and packet size: headers are not rows.
        "of_link": round(sum(received) / receivers / link, 4) if link and received else None,
        "of_rate": round(sum(received) / receivers / (mbit / 8), 4) if mbit and received else None,
        "cpu_s_per_gb": round(
            sum(line.get("process_cpu_s", 0) for line in lines) / max(1e-9, sum(received) * arguments.seconds / 1e3), 3
        ),
        "phases": max((line.get("phases", 0) for line in lines), default=0),
        "verdicts": max((line.get("verdicts", 0) for line in lines), default=0),
        "dropped_packets": drops(nodes),
        "errors": [line["error"] for line in lines if "error" in line],
        "idle": round(idle, 3),
        "load_before": load,
        "counts": idle >= IDLE_MIN,
        "commit": sh(f"git -C {HERE} rev-parse --short HEAD", check=False).strip(),
        "when": time.strftime("%Y-%m-%d %H:%M:%S"),
    }
    print(json.dumps(record), flush=True)
    with open(arguments.out, "a") as out:
        out.write(json.dumps(record) + "\n")
    return record


def numbers(text):
    return [int(word) for word in text.split(",") if word]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="one cell of each kind, for two seconds")
    parser.add_argument("--nodes", default="4,6,8")
    parser.add_argument("--rates", default="100,250")
    parser.add_argument("--buffers", default="32,128,512")
    parser.add_argument("--congestion", default="cubic,bbr")
    parser.add_argument("--schedules", default="raw,off,on,auto")
    parser.add_argument("--seconds", type=float, default=5)
    parser.add_argument("--mtu", type=int, default=1500)
    parser.add_argument("--knee", action="store_true", help="message sizes too: Figure 10c")
    parser.add_argument("--binary", default=str(HERE / "target/release/examples/all_to_all"))
    parser.add_argument("--out", default=str(HERE / "bench/results/network.jsonl"))
    arguments = parser.parse_args()
    if os.geteuid() != 0:
        print("network.py makes network namespaces: it has to run as root", file=sys.stderr)
        return 2
    if not Path(arguments.binary).exists():
        print(
            f"{arguments.binary} is missing: cargo build --release -p multiplexer --example all_to_all",
            file=sys.stderr,
        )
        return 2
    atexit.register(tear_down)
    try:
        set_up(2, 100, 128, arguments.mtu)
    except (RuntimeError, FileNotFoundError) as problem:
        print(f"network namespaces cannot be made and shaped here: {problem}", file=sys.stderr)
        return 2
    if arguments.quick:
        arguments.seconds = min(arguments.seconds, 2)
        arguments.nodes, arguments.rates, arguments.buffers = "4", "100", "32"
        arguments.congestion, arguments.schedules = "cubic", "raw,off,on"
    pair_rate = 100 if arguments.quick else 1000
    for schedule in ["raw", "off"]:
        cell(arguments.binary, arguments, 2, pair_rate, 512, "cubic", schedule, senders="1")
    for nodes in numbers(arguments.nodes):
        for mbit in numbers(arguments.rates):
            for buffer_kib in numbers(arguments.buffers):
                for congestion in arguments.congestion.split(","):
                    for schedule in arguments.schedules.split(","):
                        cell(arguments.binary, arguments, nodes, mbit, buffer_kib, congestion, schedule)
    if arguments.knee:
        for message_kib in [16, 64, 128, 256, 512, 1024]:
            for schedule in ["off", "on"]:
                cell(arguments.binary, arguments, 4, 1000, 512, "cubic", schedule, message_kib=message_kib)
    return 0


if __name__ == "__main__":
    sys.exit(main())
