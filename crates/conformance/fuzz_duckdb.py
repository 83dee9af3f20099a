"""Replays the query fuzzer's cases in DuckDB and compares the answers.

    cargo run --release -p conformance --bin fuzz -- --emit DIR --seconds 60
    python crates/conformance/fuzz_duckdb.py DIR [--postgres private]

Unlike the reference interpreter, DuckDB shares nothing with us: faults of the front end (binding, decorrelation)
show here. What the two mean differently is excluded by construction (`portable` in src/fuzz): `/` of whole numbers
and decimals, averages of decimals, rounding of floats to whole numbers, negative string positions, BYTEA, UUID,
intervals as values, NaN. With `--rules`, `fuzz` writes the rewrite fuzzer's queries. What remains is settled here:
numbers are compared as numbers, timestamps without trailing zeros, and a query that either side refuses or fails is
counted, not compared. DuckDB has faults of its own, and rounds where decimals of many digits meet others: with
`--postgres` (and the packages psycopg and pyarrow), PostgreSQL is asked too, and its answer is the one that counts;
DuckDB's counts where PostgreSQL refuses. `private` starts a server for the time of the run. Then two lists are told
besides: columns to which PostgreSQL gives another type, and queries that we refuse and PostgreSQL answers. Exit status 1
on a difference that is left.
"""

import argparse
import collections
import contextlib
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


# The sequence that queries ask, as src/fuzz/rewrites.rs names it.
SEQUENCE = "fuzz_calls"

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


# PostgreSQL's names of the types that a portable query can have.
POSTGRES_TYPES = {
    "bool": "BOOLEAN", "int2": "SMALLINT", "int4": "INTEGER", "int8": "BIGINT", "numeric": "DECIMAL",
    "float4": "REAL", "float8": "DOUBLE PRECISION", "text": "TEXT", "varchar": "TEXT", "bpchar": "TEXT",
    "date": "DATE", "timestamp": "TIMESTAMP", "timestamptz": "TIMESTAMPTZ", "time": "TIME",
}


def plain_type(name):
    name = name.split("(")[0]
    return "TEXT" if name in ("VARCHAR", "CHAR") else name


class Judge:
    """PostgreSQL with one seed's tables in a schema that ends with the connection; made on the first question."""

    def __init__(self, where, folder, tables):
        self.where, self.folder, self.tables, self.connection = where, folder, tables, None

    def load(self):
        import psycopg
        import pyarrow.parquet

        self.connection = psycopg.connect(self.where, autocommit=True)
        with self.connection.cursor() as cursor:
            cursor.execute(f"SET statement_timeout = {SECONDS_MAX * 1000}")
            cursor.execute(f"SET timezone = 'UTC'; CREATE TEMP SEQUENCE {SEQUENCE}")
            for table in self.tables:
                cursor.execute(table["create"].replace("CREATE TABLE", "CREATE TEMP TABLE"))
                rows = pyarrow.parquet.read_table(self.folder / table["data"]).to_pylist()
                with cursor.copy(f"COPY {table['name']} FROM STDIN") as copy:
                    for row in rows:
                        copy.write_row(list(row.values()))

    def close(self):
        if self.connection is not None:
            self.connection.close()

    def answer(self, sql):
        """Rows and types, or None where PostgreSQL refuses or is not there."""
        if self.where is None:
            return None
        import psycopg

        try:
            if self.connection is None:
                self.load()
            with self.connection.cursor() as cursor:
                rows = cursor.execute(sql).fetchall()
                known = self.connection.adapters.types
                names = [known.get(column.type_code) for column in cursor.description]
        except psycopg.Error:
            return None
        names = [name.name if name else "" for name in names]
        # CHAR(n) comes filled with blanks, which are no part of the value.
        rows = [[v.rstrip(" ") if n == "bpchar" and v else v for v, n in zip(row, names)] for row in rows]
        return rows, [POSTGRES_TYPES.get(name, "?") for name in names]


def normal_rows(rows, types):
    return [[normal(v, t) for v, t in zip(row, types)] for row in rows]


def replay(path, postgres=None):
    """One seed: counts, what is to be listed with an example, and what to print."""
    counts, listed, told = collections.Counter(), {}, []
    case = json.loads(path.read_text())
    connection = duckdb.connect()
    connection.execute("SET threads = 1")
    connection.execute(f"CREATE SEQUENCE {SEQUENCE}")
    try:
        load(connection, path.parent, case["tables"])
    except duckdb.Error as error:
        counts["files DuckDB cannot load"] += 1
        return counts, listed, [f"-- {path.name}: {error}"]
    judge = Judge(postgres, path.parent, case["tables"])

    def note(what, sql):
        count, example = listed.get(what, (0, sql))
        listed[what] = (count + 1, min(example, sql, key=len))

    def differs(what, sql):
        counts["DIFFERENT"] += 1
        told.append(f"-- seed {case['seed']}: {what}\n{sql};\n")

    for query in case["queries"]:
        sql = query["sql"]
        right = judge.answer(sql)
        if "error" in query:
            counts["we refuse: " + query["error"]] += 1
            if query["error"].startswith("XX"):
                differs(query["message"], sql)
            elif right is not None and not query["error"].startswith(("22", "le")):
                counts["we refuse, PostgreSQL answers"] += 1
                note(f"refused, not by PostgreSQL: {query['error']} {general(query['message'])}", sql)
            continue
        types = query["types"]
        ours = normal_rows(query["rows"], types)
        if right is not None:
            rows, names = right
            for own, other in zip(types, names):
                if plain_type(own) != other:
                    note(f"type {plain_type(own)}, in PostgreSQL {other}", sql)
            what = difference(ours, normal_rows(rows, types), types, query["ordered"])
            if what is not None and any(word in sql for word in ("lower(", "upper(", "ILIKE")):
                # The private server's locale, C, knows the case of ASCII letters only.
                counts["left to DuckDB"] += 1
                right = None
            elif what is not None:
                differs(what.replace("DuckDB", "PostgreSQL"), sql)
                continue
            else:
                counts["same as PostgreSQL"] += 1
                counts["same as PostgreSQL, with rows"] += bool(rows)
        try:
            found = answer(connection, sql)
        except duckdb.Error as error:
            counts[f"DuckDB refuses: {type(error).__name__}"] += 1
            note("DuckDB refuses: " + str(error).split("\n")[0][:110], sql)
            continue
        what = difference(ours, normal_rows(found, types), types, query["ordered"])
        if what is None:
            counts["same"] += 1
            counts["same, with rows"] += bool(found)
        elif right is not None:
            counts["DuckDB's own, by PostgreSQL"] += 1
        else:
            differs(what, sql)
    judge.close()
    return counts, listed, told


def general(message):
    """A message without what is quoted in it."""
    return '"..."'.join(message.split('"')[::2])


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


@contextlib.contextmanager
def postgres_server(where):
    """The connection that was given, or a server that lives as long as this run."""
    if where != "private":
        yield where
        return
    sys.path.append(str(pathlib.Path(__file__).parents[2] / "tests/slt"))
    import private_cluster

    with private_cluster.private_cluster() as folder:
        yield f"host={folder} port={private_cluster.PORT} user={private_cluster.SUPERUSER} dbname=postgres"


def main():
    planted()
    counts, listed = collections.Counter(), {}
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", type=pathlib.Path, help="what `fuzz --emit` wrote")
    parser.add_argument("--postgres", metavar="CONNECTION", help="for example 'dbname=fuzz', or 'private'")
    arguments = parser.parse_args()
    paths = sorted(arguments.folder.glob("seed_*.json"))
    with postgres_server(arguments.postgres) as where, multiprocessing.Pool() as pool:
        one = functools.partial(replay, postgres=where)
        for found, seen, told in pool.imap_unordered(one, paths):
            counts.update(found)
            for what, (count, example) in seen.items():
                before, shorter = listed.get(what, (0, example))
                listed[what] = (before + count, min(shorter, example, key=len))
            for text in told:
                print(text, flush=True)
    print(f"{len(paths)} seeds:", ", ".join(f"{n} {what}" for what, n in sorted(counts.items())))
    for what, (count, example) in sorted(listed.items(), key=lambda entry: -entry[1][0])[:40]:
        print(f"   {count} x {what}\n      {example[:400]}")
    sys.exit(1 if counts["DIFFERENT"] else 0)


if __name__ == "__main__":
    main()
