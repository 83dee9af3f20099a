"""Runs folders of files from public test collections through Quickstep, beside DuckDB and pyarrow, and counts.

    file_collections.py --shell PATH FOLDER...

Every file is read whole (`SELECT * FROM read_...`) by a process of its own with a time limit. What comes out is one of

    same       the same rows, values compared as text, numbers as numbers
    both       neither reads it, or neither within the limit
    refused    an error of ours where the peer gives rows
    read       rows of ours where the peer gives an error
    different  other rows
    panic      the process died, or an error of state XX000; a fault of a library's decoder that is caught, and told as
               an error of the file, is none
    hang       no answer within the limit, twice

The last two make the script fail. `--list KIND` prints the files of a kind with what was said of them. `--explain PAGE`
writes every file that one of both does not read, or that is read differently, with what differs and the reason: the page
docs/results/collections-differences.md. Reasons are kept in file_collections.toml, by file; a difference that has none
makes the script fail, and a file there that is read alike by now is told.
"""

import argparse
import collections
import concurrent.futures
import datetime
import decimal
import fnmatch
import io
import json
import math
import multiprocessing
import os
import pickle
import subprocess
import sys
import tomllib
import uuid

import pyarrow as pa
import pyarrow.ipc

FUNCTIONS = {
    "csv": "read_csv",
    "tsv": "read_csv",
    "json": "read_json",
    "ndjson": "read_json",
    "jsonl": "read_json",
    "geojsonl": "read_json",
    "parquet": "read_parquet",
    "arrow": "read_arrow",
    "arrow_file": "read_arrow",
    "stream": "read_arrow",
    "feather": "read_arrow",
}
ROWS_MAX = 20_000


def function_of(path):
    name = path.lower()
    for packed in (".gz", ".zst"):
        name = name.removesuffix(packed)
    if name.endswith(".json") and "integration" in name:
        # Arrow's own description of its files, which is no table.
        return None
    extension = name.rpartition(".")[2]
    if "/parquet/fuzzing/" in name or "parquet-fuzz" in name:
        return "read_parquet"
    if "arrow-ipc" in name and ("fuzz" in name or "crash" in name):
        return "read_arrow"
    return FUNCTIONS.get(extension)


def plain(value):
    """A value as both sides are compared."""
    match value:
        case None:
            return None
        case bool():
            return str(value).lower()
        case int():
            return str(value)
        case float():
            if math.isnan(value):
                return "nan"
            # A REAL has seven digits, whether it comes as four bytes or as text.
            value = float(f"{value:.7g}") if abs(float(f"{value:.7g}") - value) <= abs(value) * 6e-8 else value
            if value == int(value) if math.isfinite(value) else False:
                return str(int(value))
            return f"{value:.9g}"
        case decimal.Decimal():
            text = f"{value:f}"
            return (text.rstrip("0").rstrip(".") if "." in text else text) or "0"
        case datetime.timedelta():
            return f"{value.total_seconds():.6f}"
        case datetime.datetime():
            if value.tzinfo is not None:
                value = value.astimezone(datetime.timezone.utc).replace(tzinfo=None)
            text = value.isoformat(sep=" ")
            return text.removesuffix(" 00:00:00")
        case datetime.date():
            return value.isoformat()
        case datetime.time():
            return value.replace(tzinfo=None).isoformat()
        case uuid.UUID():
            return value.hex
        case bytes() | bytearray():
            return value.hex()
        case dict():
            return json.dumps({str(k): plain(v) for k, v in value.items()})
        case list() | tuple():
            return json.dumps([plain(v) for v in value])
        case str():
            return text_plain(value)
    return text_plain(str(value))


def text_plain(text):
    """Numbers and nested values that stand in text are compared as what they say."""
    try:
        if text[:1] in "[{" and text[:1]:
            return plain(json.loads(text))
        if text[:2] == "\\x":
            return text[2:]
        if text[:1] == '"' and text[-1:] == '"':
            return text_plain(json.loads(text))
        if len(text) == 36 and text[8::5][:4] == "----":
            return uuid.UUID(text).hex
        if text[4:5] == "-" and text[10:11] in " T" and text.endswith(("+00", "+00:00", "Z")):
            return plain(datetime.datetime.fromisoformat(text))
        if text and (text[0].isdigit() or text[0] in "+-."):
            return plain(decimal.Decimal(text.strip()))
    except (ValueError, decimal.InvalidOperation, RecursionError):
        pass
    return text.rstrip("\r\n")


def rows_of(table):
    columns = [[plain(v) for v in column.to_pylist(maps_as_pydicts="lossy")] for column in table.columns]
    return [list(row) for row in zip(*columns)] if columns else []


def ours(shell, path, function, seconds):
    quoted = path.replace("'", "''")
    sql = f"SELECT * FROM {function}('{quoted}') LIMIT {ROWS_MAX}"
    for attempt in (1, 2):
        try:
            done = subprocess.run(
                [shell, "--format", "arrow", "-c", sql], capture_output=True, timeout=seconds, stdin=subprocess.DEVNULL
            )
            break
        except subprocess.TimeoutExpired:
            # A machine that does something else for a while is no fault of the file.
            if attempt == 2:
                return "hang", ""
    said = done.stderr.decode(errors="replace").strip()
    if done.returncode not in (0, 1) or "XX000" in said:
        return "panic", said
    if done.returncode == 1:
        return "error", said
    try:
        return "rows", rows_of(pa.ipc.open_stream(io.BytesIO(done.stdout)).read_all())
    except Exception as error:  # What cannot be shown as Python values is compared by its number of rows.
        try:
            return "count", pa.ipc.open_stream(io.BytesIO(done.stdout)).read_all().num_rows
        except Exception:
            return "unreadable", repr(error)


def peer_worker(connection):
    import duckdb
    import pyarrow.feather

    session = duckdb.connect()
    session.execute("SET threads = 1; SET TimeZone = 'UTC'")
    while True:
        path, function = connection.recv()
        try:
            if function == "read_arrow":
                try:
                    table = pyarrow.ipc.open_file(pa.memory_map(path)).read_all()
                except pa.ArrowInvalid:
                    source = pa.input_stream(path)
                    table = pyarrow.ipc.open_stream(source).read_all()
                found = ("rows", rows_of(table.slice(0, ROWS_MAX)))
            else:
                quoted = path.replace("'", "''")
                result = session.execute(f"SELECT * FROM {function}('{quoted}') LIMIT {ROWS_MAX}")
                found = ("rows", [[plain(v) for v in row] for row in result.fetchall()])
        except BaseException as error:
            found = ("error", str(error))
        connection.send(found)


class Peer:
    """DuckDB, or pyarrow for Arrow files, in a process that is started again when it dies."""

    def __init__(self, seconds, cache):
        self.seconds = seconds
        self.process = None
        self.cache = cache
        self.known = {}
        if cache and os.path.exists(cache):
            with open(cache, "rb") as file:
                self.known = pickle.load(file)

    def save(self):
        if self.cache:
            with open(self.cache, "wb") as file:
                pickle.dump(self.known, file)

    def ask(self, path, function):
        if path not in self.known:
            self.known[path] = self.answer(path, function)
        return self.known[path]

    def answer(self, path, function):
        if self.process is None:
            self.connection, theirs = multiprocessing.Pipe()
            self.process = multiprocessing.Process(target=peer_worker, args=(theirs,), daemon=True)
            self.process.start()
        self.connection.send((path, function))
        try:
            if self.connection.poll(self.seconds):
                return self.connection.recv()
            reason = "hang"
        except EOFError:
            reason = "died"
        self.process.kill()
        self.process = None
        return "error", reason


def judged(mine, theirs):
    kind, value = mine
    if kind == "hang" and theirs == ("error", "hang"):
        return "both"
    if kind in ("panic", "hang"):
        return kind
    if kind == "error":
        return "both" if theirs[0] == "error" else "refused"
    if theirs[0] == "error":
        return "read"
    if kind == "count":
        return "same" if value == len(theirs[1]) else "different"
    if kind == "unreadable":
        return "different"
    return "same" if value == theirs[1] else "different"


def shown(mine, theirs):
    if mine[0] != "rows" or theirs[0] != "rows":
        return f"ours: {str(mine[1])[:220]!r}  peer: {str(theirs[1])[:160]!r}"
    a, b = mine[1], theirs[1]
    if len(a) != len(b):
        return f"{len(a)} rows, peer {len(b)}; first {str(a[:1])[:120]} / {str(b[:1])[:120]}"
    more = sum(v != w for x, y in zip(a, b) for v, w in zip(x, y)) - 1
    for number, (x, y) in enumerate(zip(a, b)):
        if x != y:
            if len(x) != len(y):
                return f"row {number}: {len(x)} columns, peer {len(y)}: {str(x)[:120]} / {str(y)[:120]}"
            for column, (v, w) in enumerate(zip(x, y)):
                if v != w:
                    told = f"row {number} column {column}: {str(v)[:80]!r}, peer {str(w)[:80]!r}"
                    return told + (f"; and {more} more" if more else "")
    return ""


TABLE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "file_collections.toml")
LISTED = 20


def explained(path, reasons):
    """The number of the reason for a file that is read differently, by its path or the first pattern that it fits."""
    for number, reason in enumerate(reasons):
        if path in reason["files"]:
            return number
    for number, reason in enumerate(reasons):
        if any("*" in pattern and fnmatch.fnmatchcase(path, pattern) for pattern in reason["files"]):
            return number
    return None


def cell(text):
    """Text for a cell of a Markdown table."""
    text = "".join(c if c.isprintable() and c.isascii() else "?" for c in text.replace("\n", " "))
    return text.replace("|", "\\|").replace("`", "'")


def write_reasons(found, target):
    """A page: the reasons with their files and what differs. Gives the files that have none."""
    with open(TABLE, "rb") as file:
        reasons = tomllib.load(file)["reason"]
    for reason in reasons:
        reason["files"] = reason["files"].split()
    numbers = {path: explained(path, reasons) for path, *_ in found}
    kinds = {"refused": "only the peer reads", "read": "only we read", "different": "other rows"}
    with open(target, "w") as page:
        page.write("# Every file that is read differently\n")
        page.write(
            "Written by `crates/conformance/file_collections.py --explain` from the reasons in "
            "`crates/conformance/file_collections.toml`; what it counts is in [collections](collections.md). \"Peer\" is "
            "DuckDB, for Arrow files pyarrow.\n\n| why | who is right | files |\n| --- | --- | --- |\n"
        )
        for number, reason in enumerate(reasons):
            files = sum(n == number for n in numbers.values())
            page.write(f"| {reason['name']} | {reason['right']} | {files} |\n")
        for number, reason in enumerate(reasons):
            files = sorted(entry for entry in found if numbers[entry[0]] == number)
            page.write(f"\n## {reason['name'][0].upper()}{reason['name'][1:]}\n{reason['why'].strip()}\n\n")
            page.write("| file | | the first difference |\n| --- | --- | --- |\n")
            groups = collections.defaultdict(list)
            for path, kind, told in files:
                patterns = [p for p in reason["files"] if "*" in p and fnmatch.fnmatchcase(path, p)]
                groups[path if path in reason["files"] or not patterns else patterns[0]].append((path, kind, told))
            for pattern, members in groups.items():
                shown = members if len(members) <= LISTED else members[:1]
                for path, kind, told in shown:
                    page.write(f"| `{cell(path)}` | {kinds[kind]} | `{cell(told)[:200]}` |\n")
                if len(members) > len(shown):
                    page.write(f"| `{pattern}` | | {len(members) - len(shown)} more, the same way |\n")
            if not files:
                page.write("| none any more | | |\n")
    paths = {path for path, *_ in found}
    for reason in reasons:
        for path in reason["files"]:
            if path not in paths and not ("*" in path and fnmatch.filter(paths, path)):
                print(f"read alike by now\t{path}")
    return [entry for entry in found if numbers[entry[0]] is None]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folders", nargs="+")
    parser.add_argument("--shell")
    parser.add_argument("--seconds", type=float, default=20)
    parser.add_argument("--list", action="append", default=[], help="print the files of this kind")
    parser.add_argument("--most", type=int, help="of a folder's files of a kind by name, every so many-th is enough")
    parser.add_argument("--peer-cache", help="a file that keeps the peer's answers for the next run")
    parser.add_argument("--explain", metavar="FILE", help="write every difference with its reason into this page")
    parser.add_argument("--peer-only", action="store_true", help="fill the cache and nothing else")
    arguments = parser.parse_args()
    peer = Peer(arguments.seconds, arguments.peer_cache)
    total = collections.Counter()
    lines = []
    found = []
    for folder in arguments.folders:
        files = []
        for root, folders, names in os.walk(folder):
            folders.sort()
            files += [os.path.join(root, name) for name in sorted(names)]
        files = [(path, function_of(path)) for path in files]
        files = [(path, function) for path, function in files if function]
        if arguments.most and len(files) > arguments.most:
            files = [files[i * len(files) // arguments.most] for i in range(arguments.most)]
        if arguments.peer_only:
            for path, function in files:
                peer.ask(path, function)
            continue
        counts = collections.defaultdict(collections.Counter)
        with concurrent.futures.ThreadPoolExecutor(2) as pool:
            results = pool.map(lambda f: ours(arguments.shell, f[0], f[1], arguments.seconds), files)
            for (path, function), mine in zip(files, results):
                theirs = peer.ask(path, function)
                kind = judged(mine, theirs)
                counts[function][kind] += 1
                total[kind] += 1
                if kind in ("refused", "read", "different"):
                    found.append((path, kind, shown(mine, theirs)))
                if kind in arguments.list or kind in ("panic", "hang"):
                    print(f"{kind}\t{path}\t{shown(mine, theirs)}", flush=True)
        for function, kinds in sorted(counts.items()):
            lines.append((os.path.basename(folder.rstrip("/")), function, kinds))
    peer.save()
    unexplained = write_reasons(found, arguments.explain) if arguments.explain else []
    for path, kind, told in unexplained:
        print(f"not explained\t{kind}\t{path}\t{told}")
    order = ["same", "both", "refused", "read", "different", "panic", "hang"]
    print("| collection | read by | files | " + " | ".join(order) + " |")
    print("| --- " * (3 + len(order)) + "|")
    for name, function, kinds in lines:
        print(f"| {name} | {function} | {sum(kinds.values())} | " + " | ".join(str(kinds[k]) for k in order) + " |")
    print(f"| all | | {sum(total.values())} | " + " | ".join(str(total[k]) for k in order) + " |")
    sys.exit(1 if total["panic"] or total["hang"] or unexplained else 0)


if __name__ == "__main__":
    main()
