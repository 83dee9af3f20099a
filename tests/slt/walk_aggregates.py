"""Calls every aggregate, window function and table function beside PostgreSQL 15 and DuckDB, and prints differences.

    python tests/slt/walk_aggregates.py path/to/quickstep [aggregates|windows|tables] [--only NAME] [--all] [--known]

Each aggregate of `quickstep_functions()` is called over columns of ordinary, few, no, NULL and extreme values, plainly and
with every option, drawn under a seed unless --all is said: DISTINCT, ORDER BY inside and WITHIN GROUP, FILTER, GROUP BY, over windows with frames of every kind and
exclusion. Window functions are called with and without IGNORE NULLS over the same frames. Table functions get
ordinary, empty, NULL, extreme and malformed arguments, with and without WITH ORDINALITY and aliases. PostgreSQL judges where it takes
the call, DuckDB elsewhere (`walk_functions.judge`); what ends the process or is an internal error comes first, whoever
else knows the call. What differs by decision is in `KNOWN`, with the page that says so.

It needs an installed PostgreSQL 15 and the package duckdb.
"""

import itertools
import json
import os
import random
import subprocess
import sys
import tempfile

from private_cluster import private_cluster
from walk_functions import Duck, Postgres, judge, ours

SEED = 22
STATEMENTS_MAX = 40

# Columns by kind: name, type, and the values of the rows with k = 1, 2, 3, NULL; the last two groups are NULL alone and one row.
TABLE = [
    ("k", "INTEGER", ["1", "1", "1", "2", "2", "3", "4", "NULL"]),
    ("n", "INTEGER", ["1", "2", "NULL", "-5", "2147483647", "NULL", "7", "3"]),
    ("w", "BIGINT", ["9223372036854775807", "1", "2", "NULL", "-3", "NULL", "-9223372036854775808", "0"]),
    ("d", "NUMERIC(10,2)", ["1.50", "2.25", "NULL", "-0.01", "99999999.99", "NULL", "0", "2.25"]),
    ("f", "DOUBLE PRECISION", ["1.5", "2.5", "NULL", "1e300", "-1e300", "NULL", "'NaN'", "0"]),
    ("g", "DOUBLE PRECISION", ["1", "2", "3", "4", "5", "NULL", "6", "7"]),
    ("t", "TEXT", ["'b'", "'a'", "NULL", "''", "'Ä'", "NULL", "'b'", "'c,d'"]),
    ("b", "BOOLEAN", ["true", "false", "NULL", "true", "true", "NULL", "false", "true"]),
    ("y", "DATE", ["'2024-02-29'", "'1969-12-31'", "NULL", "'0001-01-01'", "'9999-12-31'", "NULL", "'2024-01-01'", "'2024-02-29'"]),
    ("s", "TIMESTAMP", ["'2024-02-29 13:14:15.678'", "'1969-12-31 23:59:59'", "NULL", "'2000-01-01'", "'2024-02-29'", "NULL", "'2024-01-01'", "'2024-02-29'"]),
    ("i", "INTERVAL", ["'1 day'", "'2 hours'", "NULL", "'-3 hours'", "'40 days'", "NULL", "'0'", "'1 day'"]),
]
ROWS = len(TABLE[0][2])
SETUP = [
    "CREATE TABLE walked (" + ", ".join(f"{n} {ty}" for n, ty, _ in TABLE) + ", o INTEGER)",
    "INSERT INTO walked VALUES " + ", ".join("(" + ", ".join(values[r] for _, _, values in TABLE) + f", {r})" for r in range(ROWS)),
]
ONE = ["n", "w", "d", "f", "g", "t", "b", "y", "s", "i"]
PAIRS = [("n", "g"), ("g", "n"), ("d", "g"), ("f", "g"), ("g", "d"), ("t", "n"), ("y", "n"), ("g", "g")]
# Arguments of what takes something else than one column or two.
ARGUMENTS = {
    "string_agg": [["t", "','"], ["t", "''"], ["t", "NULL"]], "group_concat": [["t", "','"]], "listagg": [["t", "','"]],
    "arg_max": PAIRS, "arg_min": PAIRS, "max_by": PAIRS, "min_by": PAIRS, "argmax": PAIRS, "argmin": PAIRS, "arg_max_null": PAIRS, "arg_min_null": PAIRS,
    "json_object_agg": [["o", "n"], ["o", "t"]], "jsonb_object_agg": [["o", "n"], ["o", "t"]], "json_group_object": [["o", "n"]],
    "quantile_cont": [["g", "0.5"], ["n", "0.25"], ["d", "1"], ["g", "0"], ["g", "NULL"], ["g", "2"], ["y", "0.5"]],
    "quantile_disc": [["g", "0.5"], ["t", "0.5"], ["n", "0.25"], ["d", "1"], ["g", "0"], ["g", "NULL"]], "quantile": [["g", "0.5"], ["n", "0.9"]],
    "approx_quantile": [["g", "0.5"]], "reservoir_quantile": [["g", "0.5"]],
    "max": [[c] for c in ONE] + [["n", "2"]], "min": [[c] for c in ONE] + [["n", "2"]], "histogram": [[c] for c in ONE], "bitstring_agg": [["g::int", "0", "10"]],
}
WITHIN = ["mode() WITHIN GROUP (ORDER BY {c})", "percentile_cont(0.5) WITHIN GROUP (ORDER BY {c})", "percentile_disc(0.5) WITHIN GROUP (ORDER BY {c})", "percentile_cont(0.25) WITHIN GROUP (ORDER BY {c} DESC)",
          "percentile_disc(0.25) WITHIN GROUP (ORDER BY {c} DESC)", "percentile_disc(ARRAY[0, 0.5, 1]) WITHIN GROUP (ORDER BY {c})", "percentile_cont(NULL) WITHIN GROUP (ORDER BY {c})",
          "percentile_cont(1.5) WITHIN GROUP (ORDER BY {c})", "rank(2) WITHIN GROUP (ORDER BY {c})", "dense_rank(2) WITHIN GROUP (ORDER BY {c})", "percent_rank(2) WITHIN GROUP (ORDER BY {c})", "cume_dist(2) WITHIN GROUP (ORDER BY {c})"]
FRAMES = ["", "ROWS 1 PRECEDING", "ROWS BETWEEN 1 FOLLOWING AND 2 FOLLOWING", "ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING EXCLUDE CURRENT ROW",
          "ROWS BETWEEN 2 PRECEDING AND 1 PRECEDING", "RANGE BETWEEN 2 PRECEDING AND 1 FOLLOWING", "RANGE BETWEEN CURRENT ROW AND UNBOUNDED FOLLOWING EXCLUDE TIES",
          "GROUPS BETWEEN 1 PRECEDING AND 1 FOLLOWING EXCLUDE GROUP", "ROWS BETWEEN 1 FOLLOWING AND 1 PRECEDING", "ROWS -1 PRECEDING", "ROWS NULL PRECEDING"]
WINDOWS = ["row_number()", "rank()", "dense_rank()", "percent_rank()", "cume_dist()", "ntile(3)", "ntile(0)", "ntile(NULL)", "ntile(100)"]
VALUES = ["lag({c})", "lag({c}, 2)", "lag({c}, 0)", "lag({c}, -1)", "lag({c}, NULL)", "lead({c}, 1, {c})", "lead({c}, 100)", "first_value({c})", "last_value({c})", "nth_value({c}, 2)", "nth_value({c}, 0)", "nth_value({c}, NULL)"]
SERIES = ["1", "0", "NULL", "-2", "5", "'x'", "2147483647", "9223372036854775807", "1.5", "'NaN'::float8"]
TABLES = {
    "generate_series": [list(p) for p in itertools.chain(itertools.product(["1", "NULL", "5"], ["3", "NULL", "-2"]), itertools.product(["1", "5"], ["4", "-2"], ["2", "-3", "0", "NULL"]))]
    + [["2147483646", "2147483647"], ["9223372036854775806", "9223372036854775807"], ["-9223372036854775808", "-9223372036854775807"], ["1.5", "3"], ["1", "2", "0.5"], ["1.0", "2.0", "NULL"], ["'x'", "2"],
       ["DATE '2024-01-30'", "DATE '2024-04-01'", "INTERVAL '1 month'"], ["TIMESTAMP '2024-01-01'", "TIMESTAMP '2024-01-02'", "INTERVAL '7 hours'"], ["TIMESTAMP '2024-01-02'", "TIMESTAMP '2024-01-01'", "INTERVAL '-7 hours'"],
       ["TIMESTAMP '2024-01-01'", "TIMESTAMP '2024-01-02'", "INTERVAL '0'"], ["TIMESTAMP 'infinity'", "TIMESTAMP '2024-01-02'", "INTERVAL '1 day'"], ["'2024-01-01'::timestamp", "'2024-01-02'", "'12 hours'"], ["NULL::timestamp", "TIMESTAMP '2024-01-02'", "INTERVAL '1 day'"]],
    "unnest": [["ARRAY[1, NULL, 3]"], ["ARRAY[]::int[]"], ["NULL::int[]"], ["ARRAY['a', '']"], ["ARRAY[1, 2]", "ARRAY['a', 'b', 'c']"], ["ARRAY[1]", "NULL::text[]"], ["ARRAY[DATE '2024-01-01']"]],
    "string_to_table": [["'a,b,,c'", "','"], ["''", "','"], ["NULL", "','"], ["'abc'", "NULL"], ["'a,b'", "''"], ["'a,b,x'", "','", "'x'"]],
    "regexp_split_to_table": [["'a b  c'", "'\\s+'"], ["''", "','"], ["'abc'", "''"], ["NULL", "','"], ["'abc'", "'('"], ["'aXbxc'", "'x'", "'i'"]],
    "regexp_matches": [["'foobarbaz'", "'b(a.)'"], ["'foobarbaz'", "'b(a.)'", "'g'"], ["'abc'", "'x'"], ["NULL", "'x'"], ["'abc'", "''", "'g'"]],
    "json_array_elements": [["'[1, \"a\", null, [2]]'"], ["'[]'"], ["NULL"], ["'{}'"], ["'x'"]], "json_array_elements_text": [["'[1, \"a\", null, [2]]'"], ["'[]'"], ["NULL"], ["'1'"]],
    "jsonb_array_elements": [["'[1, \"a\", null, [2]]'"], ["'[]'"], ["NULL"], ["'{}'"]], "jsonb_array_elements_text": [["'[1, \"a\", null, [2]]'"], ["NULL"]],
    "json_each": [["'{\"a\": 1, \"b\": null}'"], ["'{}'"], ["NULL"]], "json_each_text": [["'{\"a\": 1, \"b\": null, \"c\": \"x\"}'"], ["'{}'"]], "jsonb_each": [["'{\"b\": 1, \"a\": null}'"], ["'{}'"], ["NULL"]], "jsonb_each_text": [["'{\"a\": 1, \"b\": null, \"c\": \"x\"}'"]],
    "json_object_keys": [["'{\"b\": 1, \"a\": 2}'"], ["'{}'"], ["'[]'"], ["NULL"]], "jsonb_object_keys": [["'{\"b\": 1, \"a\": 2}'"], ["'{}'"], ["'[]'"], ["NULL"]],
    "generate_subscripts": [["ARRAY[5, 6]", "1"], ["ARRAY[5, 6]", "2"], ["NULL::int[]", "1"], ["ARRAY[5, 6]", "1", "true"]],
    "range": [list(p) for p in itertools.product(["1", "NULL", "5"], ["3", "-2"])] + [["3"], ["0"], ["-1"], ["1", "10", "3"], ["10", "1", "-3"], ["1", "2", "0"]],
}
# Calls that differ by decision: docs/decisions/types.md, the section on aggregates, windows and table functions.
KNOWN = [
    "approx_count_distinct(", "approx_quantile(", "reservoir_quantile(", "any_value(", "mode(", "geomean(", "geometric_mean(", "countif(", "count_if(", "json_agg(", "json_object_agg(",
    "json_group_", "median(t", "median(b", "median(d", "avg(s", "avg(y", "avg(d", "mean(s", "mean(y", "sum(w", "(f)", "(f, g", "(DISTINCT f", "group_concat(DISTINCT", "listagg(DISTINCT", "string_agg(DISTINCT",
    "histogram(", "percentile_cont(0.5) WITHIN GROUP (ORDER BY i", "percentile_cont(0.25) WITHIN GROUP (ORDER BY i", "nth_value(", "generate_series(DATE", "generate_series(1, 2, 0.5)", "generate_series(1.5",
]


def aggregate_calls(names):
    for name in names:
        if name in ("count",):
            yield from (f"count({c})" for c in ["*"] + ONE)
            continue
        for arguments in ARGUMENTS.get(name, [[c] for c in ONE] + [list(p) for p in PAIRS]):
            yield f"{name}({', '.join(arguments)})"


def aggregates(names):
    """Each call in every place: of all rows, none, groups, with FILTER, DISTINCT and ORDER BY, and over frames."""
    chance = random.Random(SEED)
    few = not {"--all", "--only"} & set(sys.argv)
    for name in names:
        statements = [s for call in aggregate_calls([name]) for s in places(call)]
        yield from chance.sample(statements, min(len(statements), STATEMENTS_MAX)) if few else statements
    within = [w.format(c=c) for w in WITHIN for c in ("n", "d", "g", "t", "y", "i")]
    yield from (s for call in within for s in grouped(call))


def grouped(call):
    yield f"SELECT ({call})::text FROM walked"
    yield f"SELECT ({call})::text FROM walked WHERE false"
    yield f"SELECT k, ({call})::text FROM walked GROUP BY k ORDER BY k NULLS LAST"
    yield f"SELECT ({call} FILTER (WHERE o > 2))::text FROM walked"
    yield f"SELECT ({call} FILTER (WHERE n = -99))::text FROM walked"


def places(call):
    yield from grouped(call)
    if call == "count(*)":
        return
    name, arguments = call[:-1].split("(", 1)
    yield f"SELECT ({name}(DISTINCT {arguments}))::text FROM walked"
    yield f"SELECT ({name}({arguments} ORDER BY o DESC))::text FROM walked"
    yield f"SELECT ({name}({arguments} ORDER BY g, o))::text FROM walked WHERE k < 3"
    for frame in FRAMES:
        yield f"SELECT o, ({call} OVER (ORDER BY o {frame}))::text FROM walked ORDER BY o"
    yield f"SELECT o, ({call} FILTER (WHERE o > 1) OVER (PARTITION BY k ORDER BY o))::text FROM walked ORDER BY o"


def windows(_names):
    calls = WINDOWS + [v.format(c=c) for v in VALUES for c in ("n", "d", "f", "t", "b", "y", "i")]
    for call in calls:
        for frame in FRAMES:
            yield f"SELECT o, ({call} OVER (ORDER BY o {frame}))::text FROM walked ORDER BY o"
        yield f"SELECT o, ({call} OVER (PARTITION BY k ORDER BY g DESC NULLS LAST))::text FROM walked ORDER BY o"
        yield f"SELECT o, ({call} OVER (PARTITION BY b ORDER BY y, o))::text FROM walked ORDER BY o"
        if "({" not in call and "(" in call and not call.startswith(tuple(w.split("(")[0] for w in WINDOWS)):
            for nulls in ("IGNORE NULLS", "RESPECT NULLS"):
                for frame in FRAMES[:5]:
                    yield f"SELECT o, ({call[:-1]} {nulls}) OVER (ORDER BY o {frame}))::text FROM walked ORDER BY o"


def tables(_names):
    for name, forms in TABLES.items():
        for arguments in forms:
            call = f"{name}({', '.join(arguments)})"
            yield f"SELECT * FROM {call}"
            yield f"SELECT * FROM {call} WITH ORDINALITY"
            yield f"SELECT r.* FROM {call} AS r"
            yield f"SELECT count(*) FROM walked, {call} AS r"
            yield f"SELECT * FROM (SELECT o FROM walked WHERE o < 2) AS w LEFT JOIN LATERAL {call} AS r ON true ORDER BY o"


def answers(command, statements):
    """The command's answers over the table, which lies in a database on disk."""
    with tempfile.TemporaryDirectory() as folder:
        database = os.path.join(folder, "db")
        subprocess.run([command, "--no-startup", database, *itertools.chain(*(("-c", s) for s in SETUP))], check=True, capture_output=True)
        script = os.path.join(folder, "command")
        with open(script, "w") as file:
            file.write(f'#!/bin/sh\nexec "{command}" "{database}" "$@"\n')
        os.chmod(script, 0o755)
        return ours(script, statements)


def main():
    words = [a for a in sys.argv[1:] if not a.startswith("--")]
    command, kinds = words[0], words[1:] or ["aggregates", "windows", "tables"]
    only = sys.argv[sys.argv.index("--only") + 1] if "--only" in sys.argv else None
    kinds = [k for k in kinds if k != only]
    listed = subprocess.run(
        [command, "--no-startup", "--format", "ndjson", "-c", "SELECT function_name, function_type FROM quickstep_functions()"],
        capture_output=True, check=True,
    )
    rows = [json.loads(line) for line in listed.stdout.decode().splitlines()]
    names = sorted({r["function_name"] for r in rows if r["function_type"] == "aggregate"})
    if only:
        names = [n for n in names if n == only]
    differences = 0
    with private_cluster() as folder:
        postgres, duck = Postgres(folder), Duck()
        for statement in SETUP:
            postgres.connection.execute(statement)
            duck.connection.execute(statement)
        for kind in kinds:
            statements = list({"aggregates": aggregates, "windows": windows, "tables": tables}[kind](names))
            statements = [s for s in statements if not only or only in s]
            print(f"{len(statements)} statements of {kind}", flush=True)
            for statement, own in zip(statements, answers(command, statements)):
                if any(call in statement for call in KNOWN) and "--known" not in sys.argv:
                    continue
                line = judge(statement, own, postgres.answer(statement), duck.answer(statement))
                if line:
                    differences += 1
                    print(line, flush=True)
    print(f"{differences} differences")


if __name__ == "__main__":
    main()
