"""Replays the query fuzzer's cases in DuckDB and compares the answers.

    cargo run --release -p conformance --bin fuzz -- --emit DIR --seconds 60
    python crates/conformance/fuzz_duckdb.py DIR [--postgres dbname=fuzz]

Unlike the reference interpreter, DuckDB shares nothing with us: faults of the front end (binding, decorrelation)
show here. What the two mean differently is excluded by construction (`portable` in src/fuzz): `/` of whole numbers
and decimals, averages of decimals, rounding of floats to whole numbers, negative string positions, BYTEA, UUID,
intervals as values, NaN. What remains is settled here: numbers are compared as numbers, timestamps without trailing
zeros, and a query that either side refuses or fails is counted, not compared. DuckDB has faults of its own, and rounds
where decimals of many digits meet others: with `--postgres` (and the packages psycopg and pyarrow), PostgreSQL judges
what the two answer differently, and a query on which it agrees with us is counted as DuckDB's. Exit status 1 on a
difference that is left.
"""

import argparse
import collections
import datetime
import decimal
import functools
import json
import math
import multiprocessing
import pathlib
import sys
import threading

import duckdb

# Ours first: DuckDB's name for it, where it has another.
NAMES = [("DOUBLE PRECISION", "DOUBLE"), ("btrim(", "trim(")]


# A query that takes DuckDB longer counts as refused.
SECONDS_MAX = 3


def translate(sql):
    for ours, theirs in NAMES:
        sql = sql.replace(ours, theirs)
    return sql


def number(text):
    return None if text is None else decimal.Decimal(text)


def normal(value, type_name):
    """A value in a form in which both sides' equal values are equal."""
    if value is None:
        return None
    if type_name == "BOOLEAN":
        return bool(value)
    if type_name in ("SMALLINT", "INTEGER", "BIGINT") or type_name.startswith("DECIMAL"):
        # Not normalised: the digits after the point are those of the type.
        return decimal.Decimal(str(value))
    if type_name in ("REAL", "DOUBLE PRECISION"):
        return float(value)
    if type_name in ("TIMESTAMP", "TIMESTAMPTZ", "DATE", "TIME"):
        text = str(value).replace("T", " ")
        if type_name == "TIMESTAMP" and len(text) == 10:
            text += " 00:00:00"
        return text.rstrip("0").rstrip(".") if "." in text else text
    return str(value)


def floats_agree(a, b, single):
    if math.isnan(a) or math.isnan(b):
        return math.isnan(a) and math.isnan(b)
    if math.isinf(a) or math.isinf(b):
        return a == b
    tolerance = 1e-6 if single else 1e-9
    return abs(a - b) <= tolerance * max(abs(a), abs(b), 1.0)


def rows_agree(ours, theirs, types):
    for a, b, type_name in zip(ours, theirs, types):
        if a is None or b is None:
            if a is not b:
                return False
        elif type_name in ("REAL", "DOUBLE PRECISION"):
            if not floats_agree(a, b, type_name == "REAL"):
                return False
        elif a != b and not (isinstance(a, decimal.Decimal) and rounded_as(a, b)):
            return False
    return True


def rounded_as(ours, theirs):
    """DuckDB's common type of several decimals has fewer digits after the point where ours has room for all."""
    digits = -theirs.as_tuple().exponent
    return -ours.as_tuple().exponent > digits and abs(ours - theirs) * 2 <= decimal.Decimal(10) ** -digits


def sort_key(types):
    """Exact columns first, so that floats in the last bit do not matter much."""
    order = sorted(range(len(types)), key=lambda i: types[i] in ("REAL", "DOUBLE PRECISION"))

    def key(row):
        return [(row[i] is None, 0 if row[i] is None else row[i]) for i in order]

    return key


def difference(ours, theirs, types, ordered):
    if len(ours) != len(theirs):
        return f"{len(ours)} rows, DuckDB has {len(theirs)}"
    if ordered:
        pairs = zip(ours, theirs)
    else:
        key = sort_key(types)
        remaining = sorted(theirs, key=key)
        for row in sorted(ours, key=key):
            for at, candidate in enumerate(remaining[:100]):
                if rows_agree(row, candidate, types):
                    del remaining[at]
                    break
            else:
                return f"our {row} is not in DuckDB's; it has {remaining[0]}"
        return None
    for at, (a, b) in enumerate(pairs):
        if not rows_agree(a, b, types):
            return f"row {at}: ours {a}, DuckDB's {b}"
    return None


def load(connection, folder, tables):
    for table in tables:
        connection.execute(translate(table["create"]))
        name, columns = table["name"], connection.execute(f"SELECT * FROM {table['name']} LIMIT 0").description
        # Our file tells what a TIMESTAMPTZ is; what else differs in type, DuckDB casts to the column's.
        selected = ", ".join(column[0] for column in columns)
        connection.execute(f"INSERT INTO {name} SELECT {selected} FROM '{folder / table['data']}'")


def answer(connection, sql):
    """DuckDB's rows, or None where it takes too long: what it joins by comparing every pair can take minutes."""
    watch = threading.Timer(SECONDS_MAX, connection.interrupt)
    watch.start()
    try:
        return connection.execute(translate(sql)).fetchall()
    finally:
        watch.cancel()


class Judge:
    """PostgreSQL with one seed's tables in a schema that ends with the transaction; made on the first question."""

    def __init__(self, where, folder, tables):
        self.where, self.folder, self.tables, self.connection = where, folder, tables, None

    def load(self):
        import psycopg
        import pyarrow.parquet

        self.connection = psycopg.connect(self.where)
        with self.connection.cursor() as cursor:
            cursor.execute(f"SET statement_timeout = {SECONDS_MAX * 1000}; SET timezone = 'UTC'")
            for table in self.tables:
                cursor.execute(table["create"].replace("CREATE TABLE", "CREATE TEMP TABLE"))
                rows = pyarrow.parquet.read_table(self.folder / table["data"]).to_pylist()
                with cursor.copy(f"COPY {table['name']} FROM STDIN") as copy:
                    for row in rows:
                        copy.write_row(list(row.values()))

    def agrees(self, query, ours):
        if self.where is None:
            return False
        import psycopg

        try:
            if self.connection is None:
                self.load()
            with self.connection.transaction(force_rollback=True), self.connection.cursor() as cursor:
                rows = cursor.execute(query["sql"]).fetchall()
        except psycopg.Error:
            return False
        types = query["types"]
        theirs = [[normal(v, t) for v, t in zip(row, types)] for row in rows]
        return difference(ours, theirs, types, query["ordered"]) is None


def replay(path, postgres=None):
    """One seed: counts, DuckDB's refusals, and what to print."""
    counts, refusals, told = collections.Counter(), collections.Counter(), []
    case = json.loads(path.read_text())
    connection = duckdb.connect()
    connection.execute("SET threads = 1")
    try:
        load(connection, path.parent, case["tables"])
    except duckdb.Error as error:
        counts["files DuckDB cannot load"] += 1
        return counts, refusals, [f"-- {path.name}: {error}"]
    judge = Judge(postgres, path.parent, case["tables"])
    for query in case["queries"]:
        if "error" in query:
            counts["we refuse: " + query["error"]] += 1
            if query["error"].startswith("XX"):
                counts["DIFFERENT"] += 1
                told.append(f"-- seed {case['seed']}: {query['message']}\n{query['sql']};\n")
            continue
        try:
            found = answer(connection, query["sql"])
        except duckdb.Error as error:
            kind = type(error).__name__
            counts[f"DuckDB refuses: {kind}"] += 1
            refusals[str(error).split("\n")[0][:110]] += 1
            continue
        types = query["types"]
        ours = [[normal(v, t) for v, t in zip(row, types)] for row in query["rows"]]
        theirs = [[normal(v, t) for v, t in zip(row, types)] for row in found]
        what = difference(ours, theirs, types, query["ordered"])
        if what is None:
            counts["same"] += 1
            counts["same, with rows"] += bool(theirs)
        elif judge.agrees(query, ours):
            counts["DuckDB's own, by PostgreSQL"] += 1
        else:
            counts["DIFFERENT"] += 1
            told.append(f"-- seed {case['seed']}: {what}\n{query['sql']};\n")
    return counts, refusals, told


def planted():
    """The comparison must see a wrong row, a missing one and a wrong order."""
    types = ["INTEGER", "DOUBLE PRECISION"]
    rows = [[decimal.Decimal(1), 0.5], [decimal.Decimal(2), None]]
    assert difference(rows, list(reversed(rows)), types, False) is None
    assert difference(rows, list(reversed(rows)), types, True)
    assert difference(rows, rows[:1], types, False)
    assert difference(rows, [rows[0], [decimal.Decimal(2), 0.0]], types, False)
    assert difference(rows, [rows[0], [decimal.Decimal(3), None]], types, False)
    assert normal(datetime.datetime(2020, 1, 1), "TIMESTAMP") == normal("2020-01-01 00:00:00", "TIMESTAMP")


def main():
    planted()
    counts, refusals = collections.Counter(), collections.Counter()
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", type=pathlib.Path, help="what `fuzz --emit` wrote")
    parser.add_argument("--postgres", metavar="CONNECTION", help="for example 'dbname=fuzz': judges differences")
    arguments = parser.parse_args()
    paths = sorted(arguments.folder.glob("seed_*.json"))
    with multiprocessing.Pool() as pool:
        one = functools.partial(replay, postgres=arguments.postgres)
        for found, refused, told in pool.imap_unordered(one, paths):
            counts.update(found)
            refusals.update(refused)
            for text in told:
                print(text, flush=True)
    print(f"{len(paths)} seeds:", ", ".join(f"{n} {what}" for what, n in sorted(counts.items())))
    for message, count in refusals.most_common(12):
        print(f"   {count} x {message}")
    sys.exit(1 if counts["DIFFERENT"] else 0)


if __name__ == "__main__":
    main()
