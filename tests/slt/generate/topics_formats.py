"""Templates of to_char and to_date, and the functions that this engine evaluates value by value."""

import itertools

from topics_functions import DATES, TEXTS, text_table

TOPICS = ["moments_as_text", "numbers_as_text", "texts_as_moments", "codes", "angles_and_buckets"]


def stamps():
    rows = ", ".join(f"({at}, TIMESTAMP '{d} {(at * 5) % 24:02}:{(at * 7) % 60:02}:{(at * 11) % 60:02}.{at * 37:03}')"
                     for at, d in enumerate(DATES, 1))
    return ["CREATE TABLE m (id INTEGER, ts TIMESTAMP)", f"INSERT INTO m VALUES {rows}, (99, NULL)"]


def moments_as_text():
    patterns = ["YYYY", "YYY", "YY", "Y", "Y,YYY", "IYYY", "IYY", "IY", "I", "MM", "MONTH", "Month", "month", "MON", "Mon", "mon", "DD", "DDD",
                "D", "ID", "IDDD", "DAY", "Day", "day", "DY", "Dy", "dy", "W", "WW", "IW", "CC", "J", "Q", "RM", "HH", "HH12", "HH24", "MI", "SS", "MS",
                "US", "FF1", "FF3", "FF6", "SSSS", "AM", "pm", "a.m.", "P.M."]
    queries = []
    for pattern in patterns:
        queries.append(f"SELECT id, '[' || to_char(ts, '{pattern}') || ']' FROM m ORDER BY id")
        if pattern not in ("SSSS", "AM", "pm", "a.m.", "P.M."):
            queries.append(f"SELECT id, '[' || to_char(ts, 'FM{pattern}') || ']' FROM m ORDER BY id")
    for template in ["YYYY-MM-DD HH24:MI:SS", "DD.MM.YY", "FMDay, FMDDth FMMonth YYYY", "\"Week\" IW \"of\" IYYY", "HH12:MI:SS AM", "YYYYMMDD", "DDth Mon", "Q/YYYY", "\"year\" yyyy", "Dy DD Mon, HH24hMI", "FMHH24:FMMI", "DDTH", "YYYY\"Q\"Q", ""]:
        queries.append(f"SELECT id, '[' || to_char(ts, '{template}') || ']' FROM m ORDER BY id")
        queries.append(f"SELECT to_char(ts::DATE, '{template}'), count(*) FROM m GROUP BY 1 ORDER BY 1" if "HH" not in template and template else f"SELECT count(DISTINCT to_char(ts, '{template}')) FROM m")
    yield "functions/to_char_moments", "to_char of timestamps.", stamps(), queries


def numbers_as_text():
    values = ["0", "1", "-1", "12.5", "-12.345", "1234.567", "-98765.4321", "0.05", "0.5", "100", "999.995", "1e6"]
    rows = ", ".join(f"({at}, {v}::DECIMAL(14,5))" for at, v in enumerate(values, 1))
    setup = ["CREATE TABLE d (id INTEGER, v DECIMAL(14,5))", f"INSERT INTO d VALUES {rows}, (99, NULL)"]
    templates = ["9", "999", "9999999", "0000", "0009", "9999990", "999.99", "0.00", "9,999", "9,999,999.99", "FM999", "FM9,999,999.00", "FM9999999.99", "FM0.99", "99999999.000", "S9999999", "9999999S",
                 "MI9999999.9", "9999999MI", "9999999PR", "SG9999999", "9999999.99PR", "FM9999999.99MI", "990.9", "FM990.0", "0,000.0", "FM000000000.0"]
    queries = []
    for template in templates:
        queries.append(f"SELECT id, '[' || to_char(v, '{template}') || ']' FROM d ORDER BY id")
        queries.append(f"SELECT '[' || to_char({len(template)}, '{template}') || ']', '[' || to_char(-7::BIGINT, '{template}') || ']'")
    yield "functions/to_char_numbers", "to_char of numbers.", setup, queries


def texts_as_moments():
    queries = []
    for text, template in [("2024-02-29", "YYYY-MM-DD"), ("29.02.2024", "DD.MM.YYYY"), ("20240229", "YYYYMMDD"), ("29 Feb 2024", "DD Mon YYYY"), ("29 February 2024", "DD Month YYYY"), ("Feb 29, 2024", "Mon DD, YYYY"),
                           ("2024/2/9", "YYYY/MM/DD"), ("24-02-29", "YY-MM-DD"), ("69-02-01", "YY-MM-DD"), ("70-02-01", "YY-MM-DD"), ("2024 060", "YYYY DDD"), ("2023-02-29", "YYYY-MM-DD"), ("2024-13-01", "YYYY-MM-DD"), ("abc", "YYYY-MM-DD"),
                           ("2024-02-29", "YYYY/MM/DD"), ("  2024-02-29", "YYYY-MM-DD"), ("2024", "YYYY"), ("2024-02", "YYYY-MM"), ("Thursday 29 February 2024", "Day DD Month YYYY"), ("29 FEB 2024", "DD MON YYYY")]:
        queries.append(f"SELECT to_date('{text}', '{template}')")
        queries.append(f"SELECT to_timestamp('{text}', '{template}')::TIMESTAMP")
    for text, template in [("2024-02-29 12:34:56", "YYYY-MM-DD HH24:MI:SS"), ("2024-02-29 12:34:56.789", "YYYY-MM-DD HH24:MI:SS.MS"), ("2024-02-29 01:02 PM", "YYYY-MM-DD HH12:MI AM"), ("2024-02-29 12:02 am", "YYYY-MM-DD HH12:MI pm"),
                           ("20240229123456", "YYYYMMDDHH24MISS"), ("2024-02-29 25:00", "YYYY-MM-DD HH24:MI"), ("2024-02-29 12:34:56.000789", "YYYY-MM-DD HH24:MI:SS.US"), ("2024-02-29T12:34", "YYYY-MM-DD\"T\"HH24:MI" if False else "YYYY-MM-DD HH24:MI")]:
        queries.append(f"SELECT to_timestamp('{text}', '{template}')::TIMESTAMP")
    queries += [f"SELECT to_timestamp({v})::TIMESTAMP" for v in ["0", "1.5", "1700000000", "-86400.25", "NULL::DOUBLE PRECISION"]]
    queries += [f"SELECT make_timestamp({v})" for v in ["2024, 2, 29, 12, 34, 56.789", "2024, 2, 30, 0, 0, 0", "2024, 1, 1, 24, 0, 0", "2024, 1, 1, 0, 60, 0", "2024, 1, 1, 0, 0, NULL"]]
    queries += [f"SELECT make_time({v})" for v in ["1, 2, 3.5", "23, 59, 59.999999", "24, 0, 0", "25, 0, 0", "-1, 0, 0"]]
    queries += [f"SELECT make_date({v})" for v in ["2024, 2, 29", "1, 1, 1", "9999, 12, 31", "0, 1, 1", "2024, 4, 31"]]
    queries += [f"SELECT date_trunc('{unit}', INTERVAL '3 days 04:05:06.789')" for unit in ["day", "hour", "minute", "second", "milliseconds"]]
    queries += [f"SELECT date_trunc('{unit}', INTERVAL '7 years 8 months')" for unit in ["decade", "year", "quarter", "month"]]
    yield "functions/to_date", "to_date, to_timestamp and the make_ functions.", [], queries


def codes():
    queries = []
    for call in ["md5(s)", "encode(sha256(s::BYTEA), 'hex')", "encode(sha224(s::BYTEA), 'hex')", "encode(sha512(s::BYTEA), 'hex')", "md5(s::BYTEA)", "quote_literal(s)", "quote_ident(s)", "quote_nullable(s)", "format('%s!', s)", "format('%I', s || 'x')", "format('%L', s)", "format('[%10s]', s)", "format('[%-10s]', s)", "format('%2$s %1$s', s, id)", "format('%s %s', id, NULL)", "format('%%')", "encode(convert_to(s, 'UTF8'), 'hex')"]:
        where = " WHERE s IS NOT NULL" if "%I" in call else (" WHERE id <> 12" if "BYTEA" in call else "")
        if "BYTEA" in call:
            where = " WHERE id NOT IN (6, 7, 12, 13) OR s IS NULL"
        queries.append(f"SELECT id, '[' || {call} || ']' FROM t{where} ORDER BY id")
        queries.append(f"SELECT count(DISTINCT {call}), count({call}) FROM t{where}")
    queries += [f"SELECT format({f})" for f in ["'%s'", "'%d', 1", "'%s %s', 1", "'%', 1", "'%0$s', 1", "NULL, 1", "'%I', NULL", "'%s, %s, %s', 1, 2.50, DATE '2024-01-02'"]]
    queries += [f"SELECT get_byte('\\x01fe80'::BYTEA, {n}), get_bit('\\x01fe80'::BYTEA, {n * 5})" for n in range(3)] + ["SELECT get_byte('\\x01'::BYTEA, 1)", "SELECT set_byte('\\x0102'::BYTEA, 0, 255)::TEXT", "SELECT set_bit('\\x0102'::BYTEA, 15, 1)::TEXT", "SELECT set_bit('\\x01'::BYTEA, 0, 2)"]
    queries += [f"SELECT pg_size_pretty({n}::BIGINT)" for n in ["0", "1", "1023", "10239", "10240", "20000", "10485760", "123456789", "1234567890123", "-20000", "999999999999999999"]]
    queries += [f"SELECT bit_count({n}::BIT(32))" for n in []] + [f"SELECT num_nulls({a}), num_nonnulls({a})" for a in ["1, NULL, 'x'", "NULL", "1"]]
    queries += [f"SELECT regexp_substr(s, {a}) FROM t WHERE id = {i}" for i in [3, 4, 8] for a in ["'[a-z]+'", "'[a-z]', 2", "'[a-z]', 1, 2", "'z+$'", "'q'"]]
    queries += ["SELECT regexp_substr('abc', 'b', 0)", "SELECT regexp_substr('abc', 'b', 1, 0)"]
    yield "functions/codes", "Digests, codes, quoting and format.", text_table(), queries


def angles_and_buckets():
    queries = []
    for call in ["sind", "cosd", "tand", "cotd"]:
        queries += [f"SELECT round({call}({angle})::NUMERIC, 10)" for angle in [1, 30, 45, 60, 100, 150, 300, -30, -45, 390] if not (call in ("tand",) and angle % 180 == 90)]
    for call in ["asind", "acosd"]:
        queries += [f"SELECT round({call}({value})::NUMERIC, 10)" for value in ["0", "0.5", "1", "-1", "0.3", "-0.5", "1.1"]]
    queries += [f"SELECT round(atand({value})::NUMERIC, 10), round(atan2d({value}, 2)::NUMERIC, 10)" for value in ["0", "1", "-1", "2.5"]]
    queries += [f"SELECT width_bucket({v}, {low}, {high}, {n})" for v, (low, high), n in itertools.product(["5.35", "0", "-1", "10", "10.06", "3.3333"], [("0.024", "10.06"), ("10", "0"), ("0", "10")], [1, 5])]
    queries += ["SELECT width_bucket(1, 2, 2, 3)", "SELECT width_bucket(1, 0, 2, 0)", "SELECT width_bucket(NULL, 0, 2, 3)"]
    queries += [f"SELECT div({a}, {b})::BIGINT" for a, b in [(7, 2), (-7, 2), ("7.5", 2), ("-7.5", "0.5"), (7, 0)]]
    queries += [f"SELECT {a} {op} {b}" for a, b in itertools.product(["5::SMALLINT", "12", "-7::BIGINT", "2147483647"], ["3", "10::BIGINT"]) for op in "&|#"]
    queries += [f"SELECT {a} {op} {n}" for a in ["5::SMALLINT", "12", "-7::BIGINT", "2147483647", "-1"] for op in ["<<", ">>"] for n in [0, 1, 5, 31]]
    queries += ["SELECT |/ 16.0, round((||/ 27.0)::NUMERIC, 6), @ -5", "SELECT @ -2.5, -(@ -3)", "SELECT 5 & NULL, ~ 7::SMALLINT", "SELECT scale(8.4100), scale(7)", "SELECT 2 ^ 10, 2.0 ^ 0.5 > 1.41"]
    yield "functions/angles_and_bits", "Angles in degrees, buckets, bits.", [], queries
