"""Functions of text, numbers and moments over tables of awkward arguments."""

import itertools

TOPICS = ["texts", "patterns", "numbers", "dates", "intervals"]

TEXTS = ["", "a", "abc", "ABC def", "  pad  ", "äöü ß", "naïve café", "x,y,,z", "aaa", "100%", "under_score", "tab\tend",
         "日本語", "The quick brown fox", "a.b*c"]


def text_table():
    rows = ", ".join(f"({at}, '{text}')" for at, text in enumerate(TEXTS, 1))
    return ["CREATE TABLE t (id INTEGER, s TEXT)", f"INSERT INTO t VALUES {rows}, (99, NULL)"]


def texts():
    """Each text function over every text, with each edge argument."""
    shown = "'[' || {} || ']'"
    calls = {
        "case": ["lower(s)", "upper(s)", "initcap(s)", "reverse(s)", "s || s", "s || '!'", "s || NULL", "concat(s, s)", "concat(s, NULL, 1)",
                 "concat_ws('-', s, NULL, id)", "concat_ws(NULL, s)", "concat_ws(s, 'x', 'y')", "concat(s, 1.5, DATE '2024-01-02')"],
        "cut": [f"left(s, {n})" for n in [0, 1, 3, -1, -3, 100, "NULL"]] + [f"right(s, {n})" for n in [0, 1, 3, -1, -3, 100, "NULL"]]
               + [f"substring(s FROM {a} FOR {b})" for a, b in itertools.product([-2, 0, 1, 2, 50], [0, 1, 3, 100])]
               + [f"substring(s FROM {a})" for a in [-2, 0, 1, 2, 5, 50]] + ["substr(s, 2)", "substr(s, 2, 2)", "substring(s, id, 2)", "left(s, id % 4)"]
               + [f"split_part(s, {d}, {n})" for d in ["','", "' '", "'a'", "''"] for n in [1, 2, 3, -1, 9]],
        "pad": [f"{f}(s, {n})" for f in ["lpad", "rpad"] for n in [0, 3, 8, -1]] + [f"{f}(s, {n}, {x})" for f in ["lpad", "rpad"] for n in [5, 12] for x in ["'*'", "'ab'", "''", "'é'"]]
               + [f"{f}(s)" for f in ["trim", "btrim", "ltrim", "rtrim"]] + [f"{f}(s, {x})" for f in ["btrim", "ltrim", "rtrim"] for x in ["'a'", "' ab'", "''", "'Tx%'"]]
               + ["trim(BOTH 'a' FROM s)", "trim(LEADING ' ' FROM s)", "trim(TRAILING 'x' FROM s)"] + [f"repeat(s, {n})" for n in [0, 1, 3, -2]],
        "replace": [f"replace(s, {a}, {b})" for a, b in itertools.product(["'a'", "','", "'aa'", "''", "'é'"], ["'b'", "''", "'aa'"])]
                   + [f"translate(s, {a}, {b})" for a, b in [("'abc'", "'xyz'"), ("'abc'", "'x'"), ("' '", "'_'"), ("'äö'", "'ao'"), ("''", "'q'")]]
                   + ["overlay(s PLACING 'XX' FROM 2)", "overlay(s PLACING 'XX' FROM 2 FOR 0)", "overlay(s PLACING '' FROM 1 FOR 2)"],
    }
    numbers = ["length(s)", "char_length(s)", "octet_length(s)", "bit_length(s)", "ascii(s)"] + [f"strpos(s, {x})" for x in ["'a'", "''", "'é'", "'zz'", "','"]] + [f"position({x} IN s)" for x in ["'b'", "'语'", "' '"]]
    numbers += [f"starts_with(s, {x})" for x in ["'a'", "''", "'A'", "'日'"]]
    for name, list_ in calls.items():
        queries = []
        for call in list_:
            # Locale C knows no letters beyond ASCII.
            ascii_only = "WHERE id NOT IN (6, 7, 13) " if call in ("upper(s)", "initcap(s)", "lower(s)") else ""
            queries.append(f"SELECT id, {shown.format(call)} FROM t {ascii_only}ORDER BY id")
            queries.append(f"SELECT count(DISTINCT {call}), count({call}) FROM t")
        yield f"functions/text_{name}", "Text functions, every text with each argument.", text_table(), queries
    queries = []
    for call in numbers:
        queries.append(f"SELECT id, {call} FROM t ORDER BY id")
        queries.append(f"SELECT {call}, count(*) FROM t GROUP BY 1 ORDER BY 1")
    yield "functions/text_numbers", "Numbers and truths that text functions give.", text_table(), queries


def patterns():
    """LIKE, ILIKE, SIMILAR TO and regular expressions over every text."""
    likes = ["%", "", "_", "a%", "%a", "%a%", "a_c", "%b_", "__%", "A%", "%é%", "%ö%", "100\\%", "%\\_%", "%,,%", "%quick%fox", "_ha%", "日%", "%本_"]
    queries = []
    for pattern in likes:
        for op in ["LIKE", "NOT LIKE", "ILIKE", "NOT ILIKE"]:
            queries.append(f"SELECT id FROM t WHERE s {op} '{pattern}' ORDER BY 1")
    queries += [f"SELECT id, s LIKE '{p}' ESCAPE '!' FROM t ORDER BY 1" for p in ["100!%", "%!_%", "a!%", "!%%"]]
    queries += ["SELECT a.id, b.id FROM t a, t b WHERE a.s LIKE b.s || '%' ORDER BY 1, 2", "SELECT a.id, b.id FROM t a, t b WHERE a.s LIKE '%' || b.s || '%' AND b.s <> '' ORDER BY 1, 2"]
    queries += [f"SELECT id FROM t WHERE s SIMILAR TO '{p}' ORDER BY 1" for p in ["a", "a%", "%(a|b)%", "[a-c]+", "_{3}", "(abc|a)", "%[0-9]+%"]]
    yield "functions/like", "LIKE, ILIKE and SIMILAR TO.", text_table(), queries
    regexes = ["a", "^a", "a$", "^a+$", "[a-z]+", "[A-Z]", "^$", "\\d", "\\d+%", "\\s", "\\w+", "(a|b)c", "a.c", "a\\.b", ".{3}", "^.{3}$", "x*", "[^a-z ]", "^(The|abc)", "b?c", "quick", "é", "[äöü]", "日本"]
    queries = []
    for pattern in regexes:
        # Locale C knows no letters beyond ASCII.
        plain = "id NOT IN (6, 7, 13)" if "w" in pattern else "true"
        for op in ["~", "!~", "~*"]:
            queries.append(f"SELECT id FROM t WHERE s {op} '{pattern}' AND {plain} ORDER BY 1")
        if pattern == "x*":
            # How often nothing matches behind a match is told differently everywhere.
            continue
        for flags in ["", ", 'g'", ", 'gi'"]:
            queries.append(f"SELECT id, '[' || regexp_replace(s, '{pattern}', '#'{flags}) || ']' FROM t WHERE {plain} ORDER BY 1")
        queries.append(f"SELECT id, regexp_count(s, '{pattern}') FROM t WHERE {plain} ORDER BY 1")
        queries.append(f"SELECT id, regexp_like(s, '{pattern}'), regexp_like(s, '{pattern}', 'i') FROM t WHERE {plain} ORDER BY 1")
    queries.append("SELECT id FROM t WHERE s ~ '(' ORDER BY 1")
    queries.append("SELECT id FROM t WHERE s ~ '[' ORDER BY 1")
    yield "functions/regular_expressions", "Regular expressions.", text_table(), queries


def numbers():
    """Numeric functions over integers, decimals and floats."""
    setup = ["CREATE TABLE n (id INTEGER, i INTEGER, b BIGINT, d DECIMAL(12,3), x DOUBLE PRECISION)",
             "INSERT INTO n VALUES (1, 0, 0, 0, 0), (2, 1, -1, 1.5, 0.5), (3, -7, 12, -2.5, -1.5), (4, 10, 1000000007, 1234.567, 2.5), "
             "(5, 255, -255, -0.001, 1e6), (6, NULL, NULL, NULL, NULL), (7, 2147483647, 4611686018427387904, 999999999.999, 1e-3)"]
    queries = []
    for column, call in itertools.product("ibdx", ["abs", "sign", "floor", "ceil", "round", "trunc"]):
        if column in "ib" and call in ("floor", "ceil", "round", "trunc"):
            queries.append(f"SELECT id, CAST({call}({column}) AS BIGINT) FROM n ORDER BY 1")
        else:
            queries.append(f"SELECT id, CAST({call}({column}) AS DECIMAL(20,4)) FROM n WHERE id < 7 ORDER BY 1")
        queries.append(f"SELECT count(DISTINCT {call}({column})) FROM n")
    for digits in range(-3, 5):
        queries.append(f"SELECT id, round(d, {digits}) FROM n ORDER BY 1")
        queries.append(f"SELECT id, trunc(d, {digits}) FROM n ORDER BY 1")
    for a, b in itertools.product(["i", "b"], ["3", "-4", "i", "10"]):
        queries.append(f"SELECT id, mod({a}, {b}) FROM n WHERE {b} <> 0 ORDER BY 1")
        queries.append(f"SELECT id, {a} % {b} FROM n WHERE {b} <> 0 ORDER BY 1")
    queries += [f"SELECT mod({a}, {b})" for a, b in [("7", "0"), ("7.5", "2"), ("-7.5", "2"), ("7", "-2.5"), ("NULL", "2")]]
    for call, arguments in [("sqrt", ["0", "4", "2.25", "-1"]), ("cbrt", ["0", "27", "-8"]), ("exp", ["0", "1", "1000"]), ("ln", ["1", "0", "-1", "10"]),
                            ("log10", ["1000", "0"]), ("power", ["2, 10", "2, -1", "0, 0", "0, -1", "-8, 3", "10, 400"]), ("degrees", ["pi()"]), ("radians", ["180"]),
                            ("sin", ["0", "1"]), ("cos", ["0", "1"]), ("tan", ["0", "1"]), ("atan2", ["1, 1", "-1, 0"]), ("asin", ["1", "2"]), ("acos", ["-1"]), ("atan", ["1"]),
                            ("sinh", ["1"]), ("cosh", ["0"]), ("tanh", ["0.5"]), ("cot", ["1"]), ("asinh", ["1"]), ("acosh", ["2"]), ("atanh", ["0.5"])]:
        for argument in arguments:
            cast = ", ".join(f"{a.strip()}::DOUBLE PRECISION" for a in argument.split(", "))
            queries.append(f"SELECT round(CAST({call}({cast}) AS DECIMAL(30,8)), 6)")
            queries.append(f"SELECT {call}({', '.join(['NULL::DOUBLE PRECISION'] * cast.count('::'))})")
    queries += [f"SELECT gcd({a}, {b}), lcm({a}, {b})" for a, b in itertools.product([0, 4, -6, 21], [0, 6, 35])]
    queries += [f"SELECT factorial({n})::BIGINT" for n in [0, 1, 5, 20, -1]]
    queries += ["SELECT to_hex(255), to_hex(0), to_hex(1234567890123)"] + [f"SELECT greatest({c}, {one}), least({c}, {one}), id FROM n ORDER BY id" for c, one in [("i", "1"), ("b", "1"), ("d", "1::DECIMAL(12,3)"), ("x", "1")]]
    queries += [f"SELECT {a} & {b}, {a} | {b}, {a} # {b}, {a} << 2, {a} >> 1" for a, b in itertools.product([0, 5, 12, 255], [3, 10])] + ["SELECT ~5, ~(-1), ~0::BIGINT"]
    yield "functions/numbers", "Numeric functions.", setup, queries


DATES = ["1970-01-01", "1999-12-31", "2000-02-29", "2001-02-28", "2004-12-31", "2015-06-15", "2020-01-01", "2024-02-29", "2038-01-19", "0001-01-01", "9999-12-31", "1900-03-01"]


def moments():
    rows = ", ".join(f"({at}, DATE '{d}', TIMESTAMP '{d} {at % 24:02}:{(at * 7) % 60:02}:{(at * 11) % 60:02}.{at:03}')" for at, d in enumerate(DATES, 1))
    return ["CREATE TABLE m (id INTEGER, d DATE, ts TIMESTAMP)", f"INSERT INTO m VALUES {rows}, (99, NULL, NULL)"]


def dates():
    """Fields, truncation and arithmetic of dates and timestamps."""
    queries = []
    fields = ["year", "month", "day", "quarter", "week", "dow", "isodow", "doy", "isoyear", "epoch", "decade", "century", "millennium"]
    times = ["hour", "minute", "second", "milliseconds", "microseconds"]
    for field in fields:
        queries.append(f"SELECT id, CAST(extract({field} FROM d) AS BIGINT) FROM m ORDER BY 1")
        queries.append(f"SELECT CAST(extract({field} FROM d) AS BIGINT), count(*) FROM m GROUP BY 1 ORDER BY 1")
        queries.append(f"SELECT id FROM m WHERE extract({field} FROM d) > 5 ORDER BY 1")
    for field in fields[:9] + times:
        queries.append(f"SELECT id, CAST(extract({field} FROM ts) AS DECIMAL(20,3)) FROM m ORDER BY 1")
        queries.append(f"SELECT id, CAST(date_part('{field}', ts) AS DECIMAL(20,3)) FROM m ORDER BY 1")
    for field in ["year", "quarter", "month", "week", "day", "hour", "minute", "second", "decade", "century", "millennium", "milliseconds"]:
        queries.append(f"SELECT id, date_trunc('{field}', ts) FROM m ORDER BY 1")
        queries.append(f"SELECT date_trunc('{field}', ts), count(*) FROM m GROUP BY 1 ORDER BY 1")
    queries += ["SELECT date_trunc('fortnight', TIMESTAMP '2024-01-01 00:00:00')", "SELECT extract(fortnight FROM DATE '2024-01-01')"]
    yield "functions/date_fields", "Fields and truncation of dates and timestamps.", moments(), queries
    queries = []
    for n in [0, 1, -1, 30, 365, -400]:
        queries.append(f"SELECT id, d + {n}, d - {n} FROM m WHERE id NOT IN (10, 11) ORDER BY 1")
    for interval in ["1 day", "1 month", "1 year", "-1 month", "3 months", "12 hours", "90 minutes", "1.5 seconds", "2 weeks", "13 months", "-1 year"]:
        queries.append(f"SELECT id, d + INTERVAL '{interval}' FROM m WHERE id NOT IN (10, 11) ORDER BY 1")
        queries.append(f"SELECT id, ts - INTERVAL '{interval}' FROM m WHERE id NOT IN (10, 11) ORDER BY 1")
        queries.append(f"SELECT id FROM m WHERE d + INTERVAL '{interval}' > TIMESTAMP '2004-12-31 00:00:00' ORDER BY 1")
        queries.append(f"SELECT count(*) FROM m WHERE ts BETWEEN TIMESTAMP '2000-01-01' AND TIMESTAMP '2000-01-01' + INTERVAL '{interval}'")
    queries += ["SELECT a.id, b.id, a.d - b.d FROM m a, m b WHERE a.id < 5 AND b.id < 5 ORDER BY 1, 2", "SELECT min(d), max(d), max(d) - min(d) FROM m", "SELECT a.id, b.id FROM m a, m b WHERE a.d < b.ts ORDER BY 1, 2",
                "SELECT id, d = ts::DATE, ts::TIME, ts::DATE FROM m ORDER BY 1", "SELECT id, make_date(2024, id, 1) FROM m WHERE id < 13 ORDER BY 1", "SELECT make_date(2023, 2, 29)", "SELECT make_date(2024, 13, 1)"]
    for value in ["2024-02-30", "2024-00-10", "24-1-1x", "2024-1-1", "20240229", "infinity", "", "2024-02-29 25:00:00"]:
        if value not in ("infinity", "20240229", "24-1-1x"):
            queries.append(f"SELECT DATE '{value}'")
    yield "functions/date_arithmetic", "Dates, timestamps and intervals added, subtracted, compared.", moments(), queries
    queries = []
    for interval in ["15 minutes", "1 hour", "1 day", "7 days", "90 seconds"]:
        queries.append(f"SELECT id, date_bin(INTERVAL '{interval}', ts, TIMESTAMP '2001-01-01') FROM m ORDER BY 1")
    for a, op, b in itertools.product(["d", "ts"], ["=", "<", ">="], ["DATE '2000-02-29'", "TIMESTAMP '2015-06-15 06:42:06.006'", "'2020-01-01'"]):
        queries.append(f"SELECT id FROM m WHERE {a} {op} {b} ORDER BY 1")
    for order in ["d", "d DESC", "ts DESC NULLS LAST", "extract(month FROM d), d", "extract(dow FROM d) DESC, d"]:
        queries.append(f"SELECT id FROM m ORDER BY {order}, id")
    for f in ["min", "max", "count"]:
        queries.append(f"SELECT CAST(extract(century FROM d) AS INTEGER), {f}(d), {f}(ts) FROM m GROUP BY 1 ORDER BY 1")
    yield "functions/date_groups", "Dates in bins, groups, orders and comparisons.", moments(), queries


def intervals():
    """Intervals of both kinds: text, arithmetic, comparison."""
    months = ["1 year", "2 months", "-1 year", "14 months", "0 months"]
    days = ["1 day", "-3 days", "02:03:04", "1 day 12:00:00", "0.5 seconds", "-00:00:01"]
    queries = []
    for group in (months, days):
        for a, b in itertools.product(group, group):
            # Days and seconds are one number here, so a sum's text may differ; its length may not.
            queries.append(f"SELECT CAST(extract(epoch FROM INTERVAL '{a}' + INTERVAL '{b}') AS DECIMAL(20,3)), INTERVAL '{a}' = INTERVAL '{b}', INTERVAL '{a}' < INTERVAL '{b}'")
        for a, n in itertools.product(group, ["2", "-1", "0", "0.5"]):
            queries.append(f"SELECT CAST(extract(epoch FROM INTERVAL '{a}' * {n}) AS DECIMAL(20,3))")
        for a, field in itertools.product(group, ["year", "month", "day", "hour", "minute", "second", "milliseconds", "epoch"]):
            queries.append(f"SELECT CAST(extract({field} FROM INTERVAL '{a}') AS DECIMAL(20,3))")
        for a in group:
            queries.append(f"SELECT -INTERVAL '{a}'")
            queries.append(f"SELECT DATE '2024-01-31' + INTERVAL '{a}', TIMESTAMP '2024-03-31 12:00:00' - INTERVAL '{a}'")
    queries += [f"SELECT TIME '10:00:00' + INTERVAL '{d}'" for d in ["1 hour", "15:00:00", "-11:00:00"]]
    yield "functions/intervals", "Intervals.", [], queries
