"""Aggregates with an order, of two arguments, and of moments; with DISTINCT and FILTER, over grouping sets and frames."""

import itertools

from topics_queries import pair

TOPICS = ["ordered", "paired", "moment_quantiles"]


def ordered():
    """string_agg with every order, in groups, grouping sets and frames."""
    orders = ["id", "id DESC", "v, id", "v DESC, id DESC", "v DESC NULLS LAST, id", "v NULLS FIRST, id", "s, id DESC", "k, v, id", "length(s), id", "-id", "v % 2, id", "k NULLS FIRST, s DESC, id"]
    queries = []
    for order in orders:
        queries.append(f"SELECT string_agg(s, ',' ORDER BY {order}) FROM a")
        queries.append(f"SELECT k, string_agg(s || id, '-' ORDER BY {order}) FROM a GROUP BY k ORDER BY k")
        queries.append(f"SELECT k, string_agg(id::TEXT, '' ORDER BY {order}) FILTER (WHERE v > 2), count(*) FROM a GROUP BY k ORDER BY k")
        queries.append(f"SELECT k, s, string_agg(id::TEXT, ' ' ORDER BY {order}) FROM a GROUP BY ROLLUP (k, s) ORDER BY 1, 2, 3")
        queries.append(f"SELECT string_agg(a.s, ',' ORDER BY a.id, b.id) FROM a JOIN b USING (k) WHERE a.v > 2 AND b.id < 6")
        queries.append(f"SELECT s, string_agg(v::TEXT, ',' ORDER BY {order}), string_agg(s, ',' ORDER BY {order}), sum(v) FROM a GROUP BY s HAVING count(*) > 2 ORDER BY s")
    for order in ["s", "s DESC"]:
        queries.append(f"SELECT string_agg(DISTINCT s, ',' ORDER BY {order}) FROM a")
        queries.append(f"SELECT k, string_agg(DISTINCT s, ',' ORDER BY {order}), count(DISTINCT s) FROM a GROUP BY k ORDER BY k")
    queries += ["SELECT string_agg(DISTINCT s, ',' ORDER BY id) FROM a", "SELECT string_agg(s, ',' ORDER BY nothing) FROM a", "SELECT string_agg(s, ',' ORDER BY id) FROM e", "SELECT string_agg(s, ',' ORDER BY id) FROM a WHERE s IS NULL",
                "SELECT k, (SELECT string_agg(b.s, '/' ORDER BY b.id DESC) FROM b WHERE b.k = a.k) FROM a WHERE id < 8 ORDER BY id", "SELECT string_agg(s, NULL ORDER BY id) FROM a WHERE id < 5"]
    yield "queries/ordered_aggregates", "Aggregates with an order of their own.", pair(30), queries


FUNCTIONS = ["corr", "covar_pop", "covar_samp", "regr_slope", "regr_intercept", "regr_r2", "regr_avgx", "regr_avgy", "regr_sxx", "regr_syy", "regr_sxy"]


def paired():
    setup = ["CREATE TABLE p (id INTEGER, g INTEGER, y DOUBLE PRECISION, x DOUBLE PRECISION, n INTEGER, d DECIMAL(8,2))",
             "INSERT INTO p SELECT i, i % 4, CASE WHEN i % 11 = 3 THEN NULL ELSE (i * 37 % 101) / 4.0 END, CASE WHEN i % 13 = 5 THEN NULL ELSE i / 2.0 END, i * i % 17, (i * 7 % 23) / 4.0 FROM generate_series(1, 60) AS s(i)",
             "INSERT INTO p VALUES (100, 9, 1, 1, 1, 1), (101, 8, NULL, 3, NULL, NULL), (102, 7, 2, 5, 0, 0), (103, 7, 2, 6, 0, 0), (104, 6, 1, 4, 2, 2), (105, 6, 3, 4, 2, 2)"]
    queries = []
    for function in FUNCTIONS:
        shown = f"round(CAST({function}({{}}) AS NUMERIC), 6)"
        for arguments in ["y, x", "x, y", "n, d", "d, y", "y, 1", "y, NULL"]:
            if arguments == "y, NULL" :
                arguments = "y, NULL::DOUBLE PRECISION"
            queries.append(f"SELECT g, {shown.format(arguments)} FROM p GROUP BY g ORDER BY g")
            queries.append(f"SELECT {shown.format(arguments)} FROM p WHERE id < 90")
        queries.append(f"SELECT g, round(CAST({function}(y, x) FILTER (WHERE n > 3) AS NUMERIC), 6) FROM p GROUP BY ROLLUP (g) ORDER BY g")
        queries.append(f"SELECT id, round(CAST({function}(y, x) OVER (PARTITION BY g ORDER BY id ROWS BETWEEN 3 PRECEDING AND CURRENT ROW) AS NUMERIC), 6) FROM p WHERE g < 3 ORDER BY id")
        queries.append(f"SELECT g FROM p GROUP BY g HAVING {function}(y, x) > 1 ORDER BY g")
        queries.append(f"SELECT {function}(y, x) FROM p WHERE false")
        queries.append(f"SELECT {function}(y) FROM p")
        queries.append(f"SELECT {function}(y, 'a') FROM p")
    queries += ["SELECT g, regr_count(y, x), regr_count(x, y) FROM p GROUP BY g ORDER BY g", "SELECT regr_count(y, x) FROM p WHERE false", "SELECT id, regr_count(y, x) OVER (ORDER BY id) FROM p ORDER BY id"]
    yield "queries/paired_aggregates", "Correlation, covariance and regression.", setup, queries


def moment_quantiles():
    setup = ["CREATE TABLE q (id INTEGER, g INTEGER, d DATE, ts TIMESTAMP, x DOUBLE PRECISION)",
             "INSERT INTO q SELECT i, i % 3, DATE '2024-01-01' + i * 13 % 50, TIMESTAMP '2024-01-01 00:00:00' + i * 37 % 91 * INTERVAL '1 hour', i * 29 % 31 / 2.0 FROM generate_series(1, 25) AS s(i)",
             "INSERT INTO q VALUES (90, 1, NULL, NULL, NULL), (91, 7, NULL, NULL, NULL)"]
    queries = []
    for fraction, column in itertools.product(["0", "0.1", "0.5", "0.9", "1"], ["d", "ts", "x"]):
        queries.append(f"SELECT g, percentile_disc({fraction}) WITHIN GROUP (ORDER BY {column}) FROM q GROUP BY g ORDER BY g")
        queries.append(f"SELECT g, percentile_disc({fraction}) WITHIN GROUP (ORDER BY {column} DESC) FROM q GROUP BY g ORDER BY g")
        queries.append(f"SELECT mode() WITHIN GROUP (ORDER BY {column}), percentile_disc({fraction}) WITHIN GROUP (ORDER BY {column}) FILTER (WHERE id > 10) FROM q")
    for fraction in ["0", "0.25", "0.5", "1"]:
        queries.append(f"SELECT g, percentile_cont({fraction}) WITHIN GROUP (ORDER BY x) FROM q GROUP BY g ORDER BY g")
        # Of intervals, so that days and hours are one number: the distance in seconds.
        queries.append(f"SELECT g, CAST(extract(epoch FROM percentile_cont({fraction}) WITHIN GROUP (ORDER BY ts - TIMESTAMP '2024-01-01 00:00:00')) AS DECIMAL(20,3)) FROM q GROUP BY g ORDER BY g")
    queries += ["SELECT percentile_cont(1.5) WITHIN GROUP (ORDER BY x) FROM q"]
    yield "queries/moment_quantiles", "Quantiles and modes of dates, timestamps and intervals.", setup, queries
