"""Calls every function that the command knows beside PostgreSQL 15 and DuckDB, and prints where the answers differ.

    python tests/slt/walk_functions.py path/to/quickstep [name ...] [--errors] [--known]

For each function and each number of arguments that its usage says (`quickstep_functions()`), arguments are drawn from
pools of ordinary, empty, NULL, extreme and malformed values: first one combination with every value in each place,
then more by chance, under a seed. PostgreSQL judges where it takes the call, DuckDB where PostgreSQL does not know it. What
differs by decision is in `KNOWN` below, with the page that says so; it is printed with `--known` only. Whatever ends the
process, or is an internal error, is printed first, whoever else knows the call.

It needs an installed PostgreSQL 15 and the package duckdb.
"""

import json
import random
import re
import subprocess
import sys
import threading

import duckdb
from postgres_client import Connection, PostgresError
from private_cluster import PORT, SUPERUSER, private_cluster

SEED = 22
CALLS_MAX = 12

# Arguments by what a parameter's name in the usage says; each pool begins with an ordinary value.
TEXTS = ["'abc'", "''", "NULL", "'Ä ß€x'", "'aXbXc,d'", "' 12 '", "'a.b-c_d'", "E'a\\nb'", "'%_'", "'\\x'", "repeat('ab', 40)"]
PATTERNS = ["'b'", "''", "NULL", "'(a)(x)?'", "'[0-9]+'", "'('", "'\\s*'", "'^|$'", "'X'"]
WHOLE = ["3", "0", "NULL", "-1", "1", "2147483647", "-2147483648", "100", "9223372036854775807", "(-9223372036854775808)::bigint", "(-32768)::smallint"]
SMALL = ["2", "0", "NULL", "-1", "1", "5", "100", "-100", "2147483647"]
EXACT = ["2.5", "0.0", "NULL", "-2.5", "12345.678", "-0.005", "99999999999999999999999999999999999999", "0.00000000000000000001"]
FLOATS = ["2.5::float8", "0::float8", "NULL::float8", "-1.5::float8", "1e300::float8", "'NaN'::float8", "'Infinity'::float8", "'-Infinity'::float8", "1e-300::float8", "1::float8"]
NUMBERS = WHOLE + EXACT + FLOATS
DATES = ["DATE '2024-02-29'", "NULL::date", "DATE '1969-12-31'", "DATE '0001-01-01'", "DATE '9999-12-31'"]
STAMPS = ["TIMESTAMP '2024-02-29 13:14:15.678901'", "NULL::timestamp", "TIMESTAMP '1969-12-31 23:59:59'", "TIMESTAMP '2000-01-01'"]
LISTS = ["ARRAY[1, 2, 3]", "'{}'::int[]", "NULL::int[]", "ARRAY[1, NULL, 1]", "ARRAY[-1]", "ARRAY[2147483647, -2147483648]"]
TEXT_LISTS = ["ARRAY['a', 'b']", "'{}'::text[]", "NULL::text[]", "ARRAY['', NULL]"]
BYTES = ["'abc'::bytea", "''::bytea", "NULL::bytea", "'\\x00ff80'::bytea"]
JSON = ["'{\"a\": [1, 2, {\"b\": null}], \"c\": \"x\"}'", "'[]'", "NULL", "'[1, [2, 3]]'", "'{}'", "'1.50'", "'null'", "'{\"a\":1,\"a\":2}'", "'{\"a\"'"]
UNITS = ["'day'", "'year'", "'hour'", "NULL", "'fortnight'", "'quarter'", "'week'", "'microsecond'", "'century'", "'dow'"]
BOOLEANS = ["true", "false", "NULL"]
# Values of any kind; of several parameters of one call most agree.
ANY = ["1", "NULL", "'a'", "2.5", "true", "DATE '2024-02-29'", "''", "-1"]

POOLS = [
    (r"json|jsonb", JSON), (r"pattern|regex", PATTERNS), (r"bytes", BYTES), (r"unit|field|part", UNITS),
    (r"^(date|day)$", DATES), (r"moment|stamp|instant|^from$|^to$", STAMPS + DATES),
    (r"lists?$|vector", LISTS + TEXT_LISTS), (r"text|string|template|format|separator|fill|name|encoding|word|characters|replacement|flags|prefix|suffix|escape|unit|key|path|zone", TEXTS),
    (r"digits|places|count|length|start|^n$|times|dimension|index|step|year|month|width|size|group|end|begin|bit", SMALL + WHOLE),
    (r"fraction|angle|number|^x$|^y$|value|least|most|base|exponent|operand|low|high", NUMBERS), (r"condition|behind|create|flag|backwards", BOOLEANS),
    (r"^a$|^b$", NUMBERS + TEXTS[:4]),
]
# What takes something else than its parameters' names say.
SPECIAL = {
    "encode": [BYTES, ["'hex'", "'base64'", "'escape'", "'HEX'", "NULL", "'x'"]],
    "decode": [["'YWJj'", "'00ff'", "''", "NULL", "'a b'", "'a\\000'", "'YW=='", "'='"], ["'hex'", "'base64'", "'escape'", "NULL", "'x'"]],
    "to_char": [NUMBERS[:20] + STAMPS, ["'999D99'", "'YYYY-MM-DD HH24:MI:SS'", "'FM0009'", "''", "NULL", "'S99,999.9'"]],
    "to_date": [["'2024-02-29'", "'29 Feb 2024'", "''", "NULL", "'x'"], ["'YYYY-MM-DD'", "'DD Mon YYYY'", "''", "NULL"]],
    "to_number": [["'12,454.8-'", "'-5'", "''", "NULL", "'x'"], ["'99G999D9S'", "'99'", "NULL"]],
    "to_hex": [WHOLE], "chr": [["65", "0", "NULL", "-1", "8364", "1114112", "55296"]],
    "array_to_string": [LISTS + TEXT_LISTS, TEXTS[:4], TEXTS[:4]],
    "repeat": [TEXTS, ["2", "0", "NULL", "-1"]], "lpad": [TEXTS, ["5", "0", "NULL", "-1", "2"], TEXTS[:5]], "rpad": [TEXTS, ["5", "0", "NULL", "-1", "2"], TEXTS[:5]],
    "width_bucket": [FLOATS, FLOATS, FLOATS, ["5", "0", "-1", "NULL"]],
    "factorial": [["5", "0", "NULL", "-1", "20"]], "round": [NUMBERS, SMALL], "trunc": [NUMBERS, SMALL],
    "generate_series": [["1", "NULL", "5"], ["3", "NULL", "-3"], ["1", "2", "-1", "0", "NULL"]],
    "range": [["1", "NULL", "5"], ["3", "NULL", "-3"], ["1", "2", "-1", "0", "NULL"]],
    "make_date": [["2024", "0", "NULL", "-44", "10000000"], ["2", "13", "0", "NULL"], ["29", "30", "0", "NULL"]],
    "date_trunc": [UNITS, STAMPS + DATES], "date_part": [UNITS, STAMPS + DATES],
    "translate": [TEXTS, ["'abc'", "''", "NULL", "'aa'"], ["'xy'", "''", "NULL"]],
    "split_part": [TEXTS, ["','", "''", "NULL", "'X'"], SMALL],
    "format": [["'%s %I %L'", "'%2$s'", "'%'", "NULL", "'%x'", "'%10s|%-5s'", "''"], ANY, ANY, ANY],
    "list_resize": [LISTS + TEXT_LISTS, ["2", "0", "NULL", "-1"], ["1", "NULL"]], "array_resize": [LISTS, ["2", "0", "NULL", "-1"], ["1", "NULL"]],
    "concat": [ANY, ANY, ANY], "concat_ws": [["','", "NULL", "''"], ANY, ANY, ANY],
    "overlay": [TEXTS, TEXTS[:4], SMALL, SMALL],
}
SKIPPED = {
    # Their answers depend on the moment, on chance, on files or on the engine.
    "random", "uuid", "gen_random_uuid", "uuidv4", "now", "today", "current_date", "current_time", "current_timestamp", "localtime", "localtimestamp",
    "clock_timestamp", "statement_timestamp", "transaction_timestamp", "get_current_timestamp", "version", "current_user", "session_user", "user",
    "current_role", "current_database", "current_catalog", "current_schema", "current_setting", "typeof", "pg_typeof", "hash", "error", "nextval",
    "currval", "setval", "lastval", "uuidv7", "setseed", "getvariable",
}
# (function, reason): differences that are decisions.
KNOWN = {
    "sha256": "docs/decisions/types.md: of a text hexadecimal digits, as in DuckDB",
    "trim_scale": "docs/decisions/types.md: a column has one scale",
}


def argument_pools(name, usage):
    """The pools of each form's parameters; those in brackets may be left out."""
    if name in SPECIAL:
        pools = SPECIAL[name]
        return [pools[:count] for count in range(1, len(pools) + 1)]
    forms = []
    for form in usage.split("; "):
        found = re.search(r"\((.*)\)", form)
        if not found:
            continue
        inside = found.group(1)
        optional = inside.count("[")
        words = [w.strip() for w in re.sub(r"[\[\]]", "", inside).split(",") if w.strip()]
        repeated = "..." in words
        words = [w for w in words if w != "..."]
        pools = [next((pool for sign, pool in POOLS if re.search(sign, w.lower())), ANY) for w in words]
        for count in range(len(pools) - optional, len(pools) + 1):
            forms.append(pools[:count])
        if repeated and pools:
            forms.append(pools + [pools[-1]])
    return forms


def calls(name, usage, chance):
    for pools in argument_pools(name, usage):
        if not pools:
            yield f"{name}()"
            continue
        seen = set()
        ordinary = [pool[0] for pool in pools]
        for at, pool in enumerate(pools):
            for value in pool:
                seen.add(tuple(ordinary[:at] + [value] + ordinary[at + 1 :]))
        for _ in range(CALLS_MAX):
            seen.add(tuple(chance.choice(pool) for pool in pools))
        for arguments in sorted(seen):
            yield f"{name}({', '.join(arguments)})"


class Postgres:
    def __init__(self, folder):
        self.folder = folder
        self.connect()

    def connect(self):
        self.connection = Connection(self.folder, PORT, SUPERUSER, "postgres")
        self.connection.execute("SET statement_timeout = '5s'")

    def answer(self, sql):
        try:
            return shown(self.connection.execute(sql)[1])
        except PostgresError as error:
            return f"ERROR {error.sqlstate}: {error.message}"
        except (ConnectionError, UnicodeDecodeError) as error:
            self.connect()
            return f"ERROR: {error}"


class Duck:
    def __init__(self):
        self.connection = duckdb.connect()
        self.connection.execute("SET threads = 1; SET memory_limit = '1GB'")

    def answer(self, sql):
        sql = re.sub(r"::(json|jsonb)\b", "::json", sql)
        timer = threading.Timer(5, self.connection.interrupt)
        timer.start()
        try:
            return shown(self.connection.execute(sql).fetchall())
        except Exception as error:
            return f"ERROR: {str(error).splitlines()[0]}"
        finally:
            timer.cancel()


def shown(rows):
    text = " | ".join(",".join("NULL" if v is None else str(v) for v in row) for row in rows)
    return text if rows else "(no rows)"


def ours(command, statements):
    """The answers of the command, which ends at an error and is started again behind it."""
    answers, left = [], list(statements)
    while left:
        part = left[:200]
        script = "".join(f"{s};\nSELECT '§' AS \"§\";\n" for s in part)
        try:
            done = subprocess.run(
                [command, "--no-startup", "--memory", "512MB", "--format", "ndjson"],
                input=script.encode(), capture_output=True, timeout=60,
            )
            out, errors, code = done.stdout, done.stderr.decode(errors="replace"), done.returncode
        except subprocess.TimeoutExpired as late:
            out, errors, code = late.stdout or b"", "it takes more than a minute", -1
        rows, finished = [], 0
        for line in out.decode(errors="replace").splitlines():
            if line == '{"§": "§"}':
                answers.append(shown(rows))
                rows, finished = [], finished + 1
            elif line.startswith("{"):
                rows.append([v for _, v in json.loads(line, object_pairs_hook=list)])
        if finished < len(part):
            first = next((l for l in errors.splitlines() if "ERROR" in l), errors[:200])
            answers.append(first if code in (0, 1) else f"ERROR XX000: the process ended with {code}: {first}")
            finished += 1
        left = left[finished:]
    return answers


def alike(a, b):
    """Whether two answers are one: lists in both spellings, truth values, floats but for their last digits."""
    plain = lambda text: re.sub(r"[\[\]{}\"' ]", "", text.replace("true", "t").replace("false", "f").replace("True", "t").replace("False", "f")).lower().replace("infinity", "inf")
    a, b = plain(a), plain(b)
    if a == b:
        return True
    a, b = re.split("[,|]", a), re.split("[,|]", b)
    try:
        near = lambda x, y: x == y or abs(float(x) - float(y)) <= 1e-9 * max(abs(float(x)), abs(float(y)))
        return len(a) == len(b) and all(near(x, y) for x, y in zip(a, b))
    except ValueError:
        return False


# PostgreSQL's errors that are answers here: what is too small for a float is 0, and a position beyond a text its end.
BY_DECISION = ("underflow", "integer out of range")
UNKNOWN = ("42883", "42P13", "42725", "42601", "42846", "42704", "42809", "42804", "22P02")


def judge(call, own, postgres, duck):
    """The line that says how the answers differ; None where they do not."""
    if "XX000" in own or "panick" in own:
        return f"!! {call}\n     ours       {own}"
    failed = own.startswith("ERROR")
    own, postgres, duck = own[:300], postgres[:300], duck[:300]
    if any(sign in postgres for sign in BY_DECISION):
        return None
    if not postgres.startswith("ERROR"):
        judge, theirs = "PostgreSQL", postgres
    elif not any(code in postgres.split(":")[0] for code in UNKNOWN):
        # Its error is an answer, too.
        return None if failed else f"   {call}\n     ours       {own}\n     PostgreSQL {postgres}"
    elif not duck.startswith("ERROR"):
        judge, theirs = "DuckDB    ", duck
    else:
        return None
    if not failed and alike(own, theirs):
        return None
    return f"   {call}\n     ours       {own}\n     {judge} {theirs}"


def main():
    words = [a for a in sys.argv[1:] if not a.startswith("--")]
    command, names = words[0], set(words[1:])
    listed = subprocess.run(
        [command, "--no-startup", "--format", "ndjson", "-c", "SELECT function_name, function_type, usage FROM quickstep_functions()"],
        capture_output=True, check=True,
    )
    functions = {}
    for line in listed.stdout.decode().splitlines():
        row = json.loads(line)
        if row["function_type"] == "scalar" and row["function_name"] not in SKIPPED and (not names or row["function_name"] in names):
            functions[row["function_name"]] = row["usage"]
    chance = random.Random(SEED)
    print(f"{len(functions)} functions")
    differences = 0
    with private_cluster() as folder:
        postgres, duck = Postgres(folder), Duck()
        for name, usage in sorted(functions.items()):
            if name in KNOWN and "--known" not in sys.argv:
                continue
            texts = list(calls(name, usage, chance))
            statements = [f"SELECT ({text})::text" for text in texts]
            for text, statement, own in zip(texts, statements, ours(command, statements)):
                line = judge(text, own, postgres.answer(statement), duck.answer(statement))
                if line:
                    differences += 1
                    print(line, flush=True)
    print(f"{differences} differences")


if __name__ == "__main__":
    main()
