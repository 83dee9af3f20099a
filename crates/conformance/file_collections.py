"""Runs folders of files from public test collections through Quickstep, beside DuckDB and pyarrow, and counts.

    file_collections.py --shell PATH FOLDER...

Every file is read whole (`SELECT * FROM read_...`) by a process of its own with a time limit. What comes out is one of

    same       the same rows, values compared as text, numbers as numbers
    both       neither reads it
    refused    an error of ours where the peer gives rows
    read       rows of ours where the peer gives an error
    different  other rows
    panic      the process died, or an error of state XX000; a fault of a library's decoder that is caught, and told as
               an error of the file, is none
    hang       no answer within the limit

The last two make the script fail. `--list KIND` prints the files of a kind with what was said of them, `--explain FILE`
writes every file that is not the same with the reason: the page docs/results/collections-differences.md.
"""

import argparse
import collections
import concurrent.futures
import datetime
import decimal
import io
import json
import math
import multiprocessing
import os
import pickle
import subprocess
import sys

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
        case datetime.date() | datetime.time():
            return value.isoformat()
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
        if text and (text[0].isdigit() or text[0] in "+-."):
            return plain(decimal.Decimal(text.strip()))
    except (ValueError, decimal.InvalidOperation, RecursionError):
        pass
    return text.rstrip("\r\n")


def rows_of(table):
    columns = [[plain(v) for v in column.to_pylist()] for column in table.columns]
    return [list(row) for row in zip(*columns)] if columns else []


def ours(shell, path, function, seconds):
    quoted = path.replace("'", "''")
    sql = f"SELECT * FROM {function}('{quoted}') LIMIT {ROWS_MAX}"
    try:
        done = subprocess.run(
            [shell, "--format", "arrow", "-c", sql], capture_output=True, timeout=seconds, stdin=subprocess.DEVNULL
        )
    except subprocess.TimeoutExpired:
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
    for number, (x, y) in enumerate(zip(a, b)):
        if x != y:
            if len(x) != len(y):
                return f"row {number}: {len(x)} columns, peer {len(y)}: {str(x)[:120]} / {str(y)[:120]}"
            for column, (v, w) in enumerate(zip(x, y)):
                if v != w:
                    return f"row {number} column {column}: {str(v)[:80]!r}, peer {str(w)[:80]!r}"
    return ""


REASONS = {
    "empty": "nothing is in it, so it has no columns; the peer gives no rows",
    "width": "records have different numbers of values; the error names the line, `null_padding`, `strict => false` or "
    "`store_rejects` read on. The peer takes whole lines for one column, or leaves lines out",
    "quotes": "a quote that is not doubled, or does not end; the error names line and column, `quote => ''` or "
    "`strict => false` read on. The peer takes the file for one without quotes, or leaves lines out",
    "no text": "not UTF-8, or full of zero bytes",
    "line length": "the peer refuses lines over two megabytes; here there is no such limit",
    "peer's package": "the peer needs the Python package pytz for moments with a zone",
    "peer's dialect": "the peer finds no dialect; lines end in two ways, or a record is odd in a way that does no harm",
    "peer's conversion": "the peer settles on a type that a later value does not have; here the column is text",
    "peer's path": "the peer takes brackets in a path for a pattern",
    "header": "a first row of text above rows of text: the peer takes it for names more often",
    "empty text": '`""` is a text and nothing at all is NULL, as in PostgreSQL',
    "day or month": "nothing in the file says whether day or month comes first, so it stays text; `dateformat` says",
    "date": "a date or moment in a form that the peer leaves as text, or reads in its own time zone",
    "yes": "`Yes` and `T` are texts here, booleans there",
    "partitions": "columns of `key=value` folders come in the path's order, the peer's in that of their names",
    "escape": "a backslash before a delimiter, without quotes, is a character like others",
    "comments": "lines that begin with # are left out where the table's own rows do not; `comment => '#'` says so",
    "lines": "a value with line breaks, or blank lines: cut at other places",
    "json": "values of nested objects differ by keys that are NULL, or by their form as text",
    "not JSON": "not JSON, or without a column; the peer reads the first values, or gives no rows",
    "twice": "a key stands there twice; the last one counts, as in PostgreSQL's jsonb",
    "promise": "the file breaks its type's promise, or is cut off: a decimal beyond its precision, offsets beyond the data",
    "types": "a type that is not here: decimals of 256 bits, unions of some kinds",
    "resolution": "nanoseconds are cut to microseconds; UUIDs and intervals are printed in another form",
    "lenient": "damaged where nothing is read, so it is read here",
    "not explained": "not explained",
}


def reason(path, mine, theirs):
    """Why a file is read differently: a key of REASONS."""
    ours_said, peer_said = (str(side[1]) if side[0] == "error" else "" for side in (mine, theirs))
    if ours_said:
        for part, why in [
            ("is empty", "empty"),
            ("values where there are", "width"),
            ("is followed by", "quotes"),
            ("a quote inside", "quotes"),
            ("does not end", "quotes"),
            ("cannot be read", "quotes"),
            ("not UTF-8", "no text"),
            ("zero bytes", "no text"),
        ]:
            if part in ours_said and ("csv" in path or part == "is empty"):
                return why
        if ".json" in path or "ndjson" in path:
            return "not JSON"
        if "not supported" in ours_said or "256" in ours_said:
            return "types"
        return "promise"
    if peer_said:
        for part, why in [
            ("aximum line size", "line length"),
            ("max_line_size", "line length"),
            ("pytz", "peer's package"),
            ("automatically detect", "peer's dialect"),
            ("incompatible paths", "peer's path"),
            ("Conversion Error", "peer's conversion"),
        ]:
            if part in peer_said:
                return why
        return "twice" if "uplicate" in peer_said else "lenient"
    a, b = mine[1], theirs[1]
    if mine[0] != "rows":
        return "resolution"
    if a[1:] == b or (len(a) == len(b) + 1 and sum(x == y for x, y in zip(a[1:], b)) * 2 > len(b)):
        return "header"
    if "comments" in path:
        return "comments"
    if len(a) != len(b) or [len(r) for r in a] != [len(r) for r in b]:
        return "lines"
    if all(sorted(map(str, x)) == sorted(map(str, y)) for x, y in zip(a, b)):
        return "partitions"
    pairs = [(v, w) for x, y in zip(a, b) for v, w in zip(x, y) if v != w]
    if all(v == "" and w is None for v, w in pairs):
        return "empty text"
    if all(str(v)[:1] in "[{" or str(w)[:1] in "[{" for v, w in pairs):
        return "json"
    moment = lambda text: sum(c.isdigit() for c in str(text)) >= 4 and any(c in str(text) for c in "-/.:")
    settled = lambda text: str(text)[4:5] == "-" and str(text)[7:8] == "-"
    if any(str(v).lower() in ("yes", "no", "t", "f", "y", "n") for v, _ in pairs):
        return "yes"
    if any(moment(v) and settled(w) and not settled(v) for v, w in pairs):
        return "day or month"
    if any(settled(v) for v, w in pairs):
        return "date"
    if any("\\" in str(v) for v, _ in pairs):
        return "escape"
    if path.endswith((".arrow", ".arrow_file", ".stream", ".feather", ".parquet")) or "arrow" in path:
        return "resolution"
    return "not explained"


def write_reasons(found, target):
    """A page: the reasons with their files."""
    kinds = {"refused": "only the peer reads", "read": "only we read", "different": "both read, with other rows"}
    with open(target, "w") as page:
        page.write("# Every file that is read differently\n")
        page.write(
            "Written by `crates/conformance/file_collections.py --explain`; what it counts is in "
            "[collections](collections.md).\n"
        )
        for why, text in REASONS.items():
            for kind, told in kinds.items():
                files = sorted(path for path, k, w in found if (k, w) == (kind, why))
                if files:
                    page.write(f"\n## {why}: {told}\n{len(files)} files. {text[0].upper()}{text[1:]}.\n\n")
                    page.write(", ".join(f"`{file}`" for file in files) + "\n")


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
                    found.append((path, kind, reason(path, mine, theirs)))
                if kind in arguments.list or kind in ("panic", "hang"):
                    print(f"{kind}\t{path}\t{shown(mine, theirs)}", flush=True)
        for function, kinds in sorted(counts.items()):
            lines.append((os.path.basename(folder.rstrip("/")), function, kinds))
    peer.save()
    if arguments.explain:
        write_reasons(found, arguments.explain)
        print(dict(collections.Counter(why for *_, why in found)))
    order = ["same", "both", "refused", "read", "different", "panic", "hang"]
    print("| collection | read by | files | " + " | ".join(order) + " |")
    print("| --- " * (3 + len(order)) + "|")
    for name, function, kinds in lines:
        print(f"| {name} | {function} | {sum(kinds.values())} | " + " | ".join(str(kinds[k]) for k in order) + " |")
    print(f"| all | | {sum(total.values())} | " + " | ".join(str(total[k]) for k in order) + " |")
    sys.exit(1 if total["panic"] or total["hang"] else 0)


if __name__ == "__main__":
    main()
