"""Joins, subqueries, groups, windows, set operations and orders: clauses against clauses."""

import itertools

TOPICS = ["joins", "subqueries", "groups", "windows", "sets", "orders", "distincts"]


def pair(rows=12):
    """Two tables with NULLs, repeated keys and keys of one side only."""
    a = ", ".join(f"({i}, {'NULL' if i % 6 == 5 else i % 4}, {'NULL' if i % 7 == 3 else i * 5 % 9}, '{'xyzw'[i % 4]}')" for i in range(1, rows + 1))
    b = ", ".join(f"({i}, {'NULL' if i % 5 == 4 else i % 5}, {'NULL' if i % 4 == 1 else i * 3 % 8}, '{'wxyv'[i % 4]}')" for i in range(1, rows))
    return ["CREATE TABLE a (id INTEGER, k INTEGER, v INTEGER, s TEXT)", f"INSERT INTO a VALUES {a}, (50, NULL, NULL, NULL)",
            "CREATE TABLE b (id INTEGER, k INTEGER, v INTEGER, s TEXT)", f"INSERT INTO b VALUES {b}, (60, NULL, NULL, NULL)",
            "CREATE TABLE e (id INTEGER, k INTEGER, v INTEGER, s TEXT)"]


KINDS = ["JOIN", "LEFT JOIN", "RIGHT JOIN", "FULL JOIN"]
CONDITIONS = ["a.k = b.k", "a.s = b.s", "a.k = b.k AND a.s = b.s", "a.k = b.k AND a.v < b.v", "a.k = b.k AND a.v > 3", "a.k = b.k AND b.v IS NOT NULL",
              "a.k + 1 = b.k", "a.k = b.k AND a.id <> b.id", "a.s = b.s AND a.k <= b.k", "a.k = b.v", "a.k = b.k AND a.v + b.v > 6", "a.k = b.k AND a.s LIKE 'x%'",
              "coalesce(a.k, 0) = coalesce(b.k, 0)", "a.k = b.k AND (a.v > 4 OR b.v > 4)", "upper(a.s) = upper(b.s) AND a.k = 1"]
LOOSE = ["a.v < b.v", "a.k < b.k AND a.v > b.v", "a.id BETWEEN b.k AND b.v", "a.k <> b.k", "a.v = b.v OR a.k = b.k", "true", "false", "NULL::BOOLEAN", "a.k IS NOT DISTINCT FROM b.k"]


def joins():
    """Every kind of join on every condition; then with a filter, in groups, and with a third table."""
    queries = []
    for kind, condition in itertools.product(KINDS, CONDITIONS):
        queries.append(f"SELECT a.id, b.id FROM a {kind} b ON {condition} ORDER BY 1, 2")
        queries.append(f"SELECT count(*), count(a.v), count(b.v), sum(a.v), min(b.s) FROM a {kind} b ON {condition}")
    yield "queries/join_kinds", "Every kind of join on equality with more.", pair(), queries
    queries = []
    for kind, condition in itertools.product(KINDS, LOOSE):
        if kind == "FULL JOIN" and condition not in ("true", "false", "NULL::BOOLEAN"):
            continue
        queries.append(f"SELECT count(*), count(a.id), count(b.id), sum(a.id + b.id) FROM a {kind} b ON {condition}")
        queries.append(f"SELECT a.id, count(b.id), sum(b.v) FROM a {kind} b ON {condition} GROUP BY a.id ORDER BY 1")
    yield "queries/join_loose", "Joins without equality.", pair(), queries
    queries = []
    for kind, filter_ in itertools.product(KINDS, ["a.v > 3", "b.v > 3", "a.k IS NULL", "b.k IS NULL", "a.id < 6 AND b.id < 6", "a.v + b.v = 9", "coalesce(a.v, b.v) > 2", "a.s = 'x' OR b.s = 'x'", "a.id IN (SELECT id FROM b)", "NOT (a.v < b.v)"]):
        queries.append(f"SELECT a.id, b.id FROM a {kind} b ON a.k = b.k WHERE {filter_} ORDER BY 1, 2")
        queries.append(f"SELECT a.s, b.s, count(*) FROM a {kind} b ON a.k = b.k WHERE {filter_} GROUP BY 1, 2 ORDER BY 1, 2")
    yield "queries/join_filters", "Filters over joins of every kind.", pair(), queries
    queries = []
    for first, second in itertools.product(KINDS, KINDS):
        queries.append(f"SELECT count(*), count(a.id), count(b.id), count(c.id) FROM a {first} b ON a.k = b.k {second} a AS c ON b.v = c.v")
        queries.append(f"SELECT count(*), sum(c.id) FROM a {first} b ON a.k = b.k {second} a AS c ON a.s = c.s AND c.id < 5")
        queries.append(f"SELECT count(*), count(a.id), count(b.id) FROM a {first} (b {second} e ON b.k = e.k) ON a.k = b.k")
        queries.append(f"SELECT a.s, count(b.id), count(c.id) FROM a {first} b USING (k) {second} b AS c ON c.s = a.s GROUP BY 1 ORDER BY 1")
    for kind in KINDS:
        queries += [f"SELECT count(*) FROM a {kind} e ON a.k = e.k", f"SELECT count(*) FROM e {kind} a ON a.k = e.k", f"SELECT k, count(*) FROM a {kind} b USING (k) GROUP BY k ORDER BY 1",
                    f"SELECT * FROM (SELECT k, s FROM a) x NATURAL {kind} (SELECT k, s FROM b) y ORDER BY 1, 2"]
    yield "queries/join_chains", "Joins of three tables, of every kind.", pair(), queries


def subqueries():
    """EXISTS, IN, ANY, ALL and scalar subqueries, with and without the outer row, in every clause."""
    inner = ["SELECT k FROM b", "SELECT k FROM b WHERE k IS NOT NULL", "SELECT b.k FROM b WHERE b.v = a.v", "SELECT v FROM b WHERE b.s = a.s", "SELECT k FROM e", "SELECT b.k + 1 FROM b WHERE b.id > a.id AND b.k IS NOT NULL", "SELECT max(b.k) FROM b WHERE b.s = a.s", "SELECT b.k FROM b WHERE b.v < a.v GROUP BY b.k HAVING count(*) > 1"]
    queries = []
    for query, form in itertools.product(inner, ["a.k IN ({})", "a.k NOT IN ({})", "EXISTS ({})", "NOT EXISTS ({})", "a.k > ANY ({})", "a.k <= ALL ({})", "a.k = ANY ({})", "a.k <> ALL ({})"]):
        condition = form.format(query)
        queries.append(f"SELECT id FROM a WHERE {condition} ORDER BY 1")
        queries.append(f"SELECT id, {condition} FROM a ORDER BY 1")
        queries.append(f"SELECT count(*) FROM a WHERE {condition} OR v > 5")
        queries.append(f"SELECT s, count(*) FROM a WHERE NOT ({condition}) GROUP BY s ORDER BY 1")
    yield "queries/subquery_conditions", "Subqueries as conditions.", pair(), queries
    scalars = ["(SELECT max(v) FROM b)", "(SELECT count(*) FROM b WHERE b.k = a.k)", "(SELECT sum(b.v) FROM b WHERE b.s = a.s AND b.k <= a.k)", "(SELECT min(s) FROM b WHERE b.v = a.v)", "(SELECT v FROM e)", "(SELECT avg(b.v)::DECIMAL(10,2) FROM b WHERE b.id < a.id)", "(SELECT count(DISTINCT b.s) FROM b WHERE b.k = a.k OR b.k IS NULL)", "(SELECT b.id FROM b WHERE b.k = a.k ORDER BY b.id LIMIT 1)"]
    queries = []
    for scalar in scalars:
        queries.append(f"SELECT id, {scalar} FROM a ORDER BY 1")
        queries.append(f"SELECT id FROM a WHERE {scalar} IS NULL ORDER BY 1")
        queries.append(f"SELECT {scalar} AS x, count(*) FROM a GROUP BY 1 ORDER BY 1")
        queries.append(f"SELECT id FROM a ORDER BY {scalar} DESC NULLS LAST, id LIMIT 4")
        if "min(s)" not in scalar:
            queries.append(f"SELECT id FROM a WHERE {scalar} > v ORDER BY 1")
            queries.append(f"SELECT id, CASE WHEN {scalar} > 3 THEN 'many' ELSE 'few' END FROM a ORDER BY 1")
            queries.append(f"SELECT count(*), sum({scalar}) FROM a")
            queries.append(f"SELECT id, CAST(coalesce({scalar}, -1) AS DECIMAL(12,2)) + 1 FROM a ORDER BY 1")
    queries += ["SELECT (SELECT v FROM b)", "SELECT id FROM a WHERE v = (SELECT v FROM b WHERE b.k = a.k)", "SELECT (SELECT id, v FROM b)"]
    yield "queries/subquery_values", "Subqueries as values.", pair(), queries
    queries = []
    for first, second in itertools.product(["a.k IN (SELECT k FROM b)", "EXISTS (SELECT 1 FROM b WHERE b.k = a.k AND b.v > 2)", "a.v > (SELECT avg(v) FROM b)", "NOT EXISTS (SELECT 1 FROM b WHERE b.s = a.s)"], ["a.id NOT IN (SELECT id FROM b WHERE k = 1)", "a.v < ALL (SELECT v FROM b WHERE v > 3)", "EXISTS (SELECT 1 FROM b WHERE b.id = a.id AND b.k IN (SELECT k FROM a AS c WHERE c.id > b.id))"]):
        queries += [f"SELECT id FROM a WHERE {first} {op} {second} ORDER BY 1" for op in ["AND", "OR", "AND NOT"]]
        queries.append(f"WITH w AS (SELECT * FROM a WHERE {first}) SELECT id FROM w AS a WHERE {second} ORDER BY 1")
        queries.append(f"SELECT k, count(*) FROM a WHERE {first} GROUP BY k HAVING count(*) >= (SELECT count(*) FROM e) ORDER BY 1")
    yield "queries/subquery_pairs", "Two subqueries in one condition.", pair(), queries


AGGREGATES = ["count(*)", "count(v)", "sum(v)", "min(v)", "max(s)", "count(DISTINCT v)", "sum(DISTINCT v)", "avg(v)::DECIMAL(10,3)", "bool_or(v > 4)", "sum(v) FILTER (WHERE k = 1)", "count(DISTINCT s) FILTER (WHERE v > 2)", "round(stddev_samp(v)::NUMERIC, 4)", "round(var_pop(v)::NUMERIC, 4)", "percentile_disc(0.5) WITHIN GROUP (ORDER BY v)", "percentile_cont(0.25) WITHIN GROUP (ORDER BY v)", "bit_or(v)", "min(s || k)", "mode() WITHIN GROUP (ORDER BY v)"]


def groups():
    """Aggregates by every kind of key, with HAVING, and over grouping sets."""
    keys = ["k", "s", "k, s", "v % 3", "k IS NULL", "coalesce(s, '-')", "CASE WHEN v > 4 THEN 'big' ELSE 'small' END", "k + v", "lower(s), v > 3"]
    queries = []
    for key, aggregate in itertools.product(keys, AGGREGATES):
        queries.append(f"SELECT {key}, {aggregate} FROM a GROUP BY {key} ORDER BY {', '.join(str(n + 1) for n in range(key.count(', ') + 1)) if 'coalesce' not in key else '1'}")
    yield "queries/group_keys", "Each aggregate by each kind of key.", pair(40), queries
    queries = []
    for aggregate in AGGREGATES:
        queries.append(f"SELECT {aggregate} FROM a")
        queries.append(f"SELECT {aggregate} FROM a WHERE v IS NULL")
        queries.append(f"SELECT {aggregate} FROM e")
        queries.append(f"SELECT {aggregate} FROM (SELECT a.* FROM a JOIN b USING (k)) q")
        queries.append(f"SELECT k, s, {aggregate} FROM a GROUP BY k, s HAVING count(*) > 1 ORDER BY 1, 2")
        queries.append(f"SELECT k FROM a GROUP BY k ORDER BY {aggregate} NULLS LAST, k NULLS LAST")
    yield "queries/group_none", "Each aggregate without groups, over nothing, with HAVING.", pair(40), queries
    sets = ["GROUPING SETS ((k), (s))", "GROUPING SETS ((k, s), (k), ())", "ROLLUP (k, s)", "CUBE (k, s)", "ROLLUP (k), ROLLUP (s)", "k, ROLLUP (s)", "GROUPING SETS ((), ())", "CUBE (k), s", "ROLLUP ((k, s), v % 2)", "GROUPING SETS ((k), ROLLUP (s))"]
    queries = []
    for grouped, aggregate in itertools.product(sets, AGGREGATES[:12]):
        queries.append(f"SELECT k, s, {aggregate} FROM (SELECT id, k, s, v FROM a) q GROUP BY {grouped}" if "v % 2" not in grouped and "(), ()" not in grouped else f"SELECT count(*), {aggregate} FROM a GROUP BY {grouped}")
    for grouped in sets[:6]:
        queries.append(f"SELECT k, s, grouping(k), grouping(s), grouping(k, s), count(*) FROM a GROUP BY {grouped}")
        queries.append(f"SELECT k, sum(v) FROM a GROUP BY {grouped} HAVING grouping(k) = 0")
    yield "queries/grouping_sets", "Aggregates over grouping sets.", pair(40), queries


def windows():
    """Window functions over every kind of frame, partition and order."""
    frames = ["", "ROWS UNBOUNDED PRECEDING", "ROWS BETWEEN 1 PRECEDING AND 1 FOLLOWING", "ROWS BETWEEN CURRENT ROW AND UNBOUNDED FOLLOWING", "ROWS BETWEEN 3 PRECEDING AND 1 PRECEDING", "ROWS BETWEEN 2 FOLLOWING AND 3 FOLLOWING",
              "RANGE BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW", "RANGE BETWEEN 2 PRECEDING AND 2 FOLLOWING", "RANGE BETWEEN CURRENT ROW AND 3 FOLLOWING", "GROUPS BETWEEN 1 PRECEDING AND CURRENT ROW", "GROUPS BETWEEN 1 FOLLOWING AND 2 FOLLOWING",
              "ROWS BETWEEN 2 PRECEDING AND 2 FOLLOWING EXCLUDE CURRENT ROW", "RANGE BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING EXCLUDE GROUP", "GROUPS BETWEEN 1 PRECEDING AND 1 FOLLOWING EXCLUDE TIES"]
    functions = ["sum(v)", "count(v)", "min(v)", "max(s)", "avg(v)::DECIMAL(10,3)", "count(*) FILTER (WHERE v > 3)", "first_value(id)", "last_value(id)", "nth_value(id, 2)", "bool_and(v > 2)", "sum(v::DECIMAL(10,2))"]
    for name, order in [("by_value", "v"), ("descending", "v DESC"), ("by_id", "id")]:
        queries = []
        for frame, function in itertools.product(frames, functions):
            # Peers have no order among themselves, so what depends on it is asked by the key.
            total = order if name == "by_id" else (f"{order}, id" if "ROWS" in frame or "_value" in function or (frame == "" and "_value" in function) else order)
            if "RANGE BETWEEN 2" in frame or "AND 3 FOLLOWING" in frame and "RANGE" in frame:
                total = order
                if "_value" in function and name != "by_id":
                    continue
            call, cast = (function.split("::") + [""])[:2] if ")::" in function else (function, "")
            over = f"{call} OVER (PARTITION BY k ORDER BY {total} {frame})" + (f"::{cast}" if cast else "")
            queries.append(f"SELECT id, {over} FROM a ORDER BY id")
        yield f"queries/window_{name}", f"Window functions over every frame, ordered by {order}.", pair(24), queries
    queries = []
    for function, partition, order in itertools.product(["row_number()", "rank()", "dense_rank()", "percent_rank()", "cume_dist()", "ntile(3)", "lag(v)", "lag(v, 2, -1)", "lead(s)", "lead(v, 1, 0)", "lag(id, 0)"], ["", "PARTITION BY k", "PARTITION BY s, k IS NULL"], ["id", "v DESC NULLS LAST, id", "s, id DESC"]):
        shown = f"round(CAST({function} OVER ({partition} ORDER BY {order}) AS DECIMAL(10,6)), 4)" if function in ("percent_rank()", "cume_dist()") else f"{function} OVER ({partition} ORDER BY {order})"
        queries.append(f"SELECT id, {shown} FROM a ORDER BY id")
    for function in ["rank()", "dense_rank()", "sum(v)", "count(*)", "max(v)"]:
        queries.append(f"SELECT k, {function if function != 'sum(v)' else 'sum(sum(v))'} OVER (ORDER BY count(*), k) FROM a GROUP BY k ORDER BY 1" if function != "max(v)" else "SELECT k, max(max(v)) OVER () FROM a GROUP BY k ORDER BY 1")
        queries.append(f"SELECT DISTINCT {function} OVER (PARTITION BY k) FROM a ORDER BY 1" if "rank" not in function else f"SELECT DISTINCT {function} OVER (ORDER BY s) FROM a ORDER BY 1")
        queries.append(f"SELECT id FROM (SELECT id, {function} OVER (PARTITION BY s ORDER BY v DESC NULLS LAST) AS x FROM a) q WHERE x = 1 ORDER BY 1")
        queries.append(f"SELECT a.id, {function.replace('(v)', '(b.v)')} OVER (PARTITION BY a.k) FROM a JOIN b ON a.k = b.k WHERE a.id < 8 ORDER BY 1, 2" if "rank" not in function else f"SELECT a.id, b.id, {function} OVER (PARTITION BY a.k ORDER BY b.id, a.id) FROM a JOIN b ON a.k = b.k ORDER BY 1, 2")
    yield "queries/window_ranks", "Ranks, neighbours, and windows over groups and joins.", pair(24), queries


def sets():
    """UNION, INTERSECT and EXCEPT, ALL and not, nested, with orders and limits."""
    sides = ["SELECT k, s FROM a", "SELECT k, s FROM b", "SELECT v, s FROM a WHERE v > 2", "SELECT k, s FROM e", "SELECT k, min(s) FROM b GROUP BY k", "SELECT DISTINCT v, s FROM b", "VALUES (1, 'x'), (NULL, NULL), (2, 'w')"]
    ops = ["UNION", "UNION ALL", "INTERSECT", "INTERSECT ALL", "EXCEPT", "EXCEPT ALL"]
    queries = []
    for (one, other), op in itertools.product(itertools.permutations(sides, 2), ops):
        queries.append(f"{one} {op} {other}")
    yield "queries/set_pairs", "Set operations of two queries.", pair(), queries
    queries = []
    for one, other in itertools.product(ops, ops):
        queries.append(f"SELECT k FROM a {one} SELECT k FROM b {other} SELECT v FROM a")
        queries.append(f"SELECT k FROM a {one} (SELECT k FROM b {other} SELECT v FROM a)")
        queries.append(f"SELECT count(*), sum(k) FROM (SELECT k FROM a {one} SELECT k FROM b {other} SELECT id FROM e) q")
        queries.append(f"(SELECT k FROM a {one} SELECT v FROM b) {other} SELECT k FROM b ORDER BY 1 LIMIT 3")
    queries += [f"SELECT {a} FROM a UNION SELECT {b} FROM b ORDER BY 1" for a, b in [("k", "v::BIGINT"), ("k::DECIMAL(6,2)", "v::DECIMAL(6,2)"), ("k", "v::DOUBLE PRECISION"), ("s", "s::VARCHAR(5)"), ("NULL", "k"), ("k", "NULL")]]
    queries += ["SELECT k FROM a UNION SELECT k, s FROM b", "SELECT k FROM a UNION SELECT s FROM b"]
    yield "queries/set_chains", "Set operations of three queries, and of different types.", pair(), queries


def orders():
    """ORDER BY with directions, NULLS, LIMIT and OFFSET, over one and several keys, by column, number, alias and expression."""
    queries = []
    for (one, two), d1, d2 in itertools.product(itertools.permutations(["k", "s", "v"], 2), ["", " DESC", " NULLS FIRST", " DESC NULLS LAST"], ["", " DESC", " DESC NULLS LAST"]):
        queries.append(f"SELECT id FROM a ORDER BY {one}{d1}, {two}{d2}, id")
    for limit, offset in itertools.product(["0", "1", "5", "100", "NULL", "ALL"], ["0", "3", "40"]):
        queries.append(f"SELECT id FROM a ORDER BY v DESC, id LIMIT {limit} OFFSET {offset}")
    queries += [f"SELECT k, v AS x, s FROM a ORDER BY {o}" for o in ["1, 2, 3", "x, k, s", "k + v, x, s", "abs(k - 2), 2, 3", "s DESC, 1 DESC, 2 DESC", "CASE WHEN s = 'y' THEN 0 ELSE 1 END, 1, 2", "k IS NULL, k DESC, v, s", "length(s), s, k, v"]]
    queries += [f"SELECT k, count(*) AS n FROM a GROUP BY k ORDER BY {o}" for o in ["n DESC, k", "count(*), k DESC", "sum(v) NULLS FIRST, k", "2, 1", "max(id)"]]
    queries += [f"SELECT id FROM a ORDER BY k LIMIT {x}" for x in ["-1", "'x'"]] + ["SELECT id FROM a ORDER BY 2", "SELECT id AS k FROM a ORDER BY k", "SELECT id FROM a ORDER BY nothing"]
    queries += [f"SELECT id FROM (SELECT * FROM a ORDER BY v DESC NULLS LAST, id LIMIT {n}) q WHERE k = 1 ORDER BY id" for n in [1, 5, 20]]
    queries += [f"SELECT id FROM a ORDER BY v, id FETCH FIRST {n} ROWS ONLY" for n in [1, 3]]
    yield "queries/orders", "ORDER BY, LIMIT and OFFSET.", pair(30), queries


def distincts():
    """DISTINCT, DISTINCT ON, and DISTINCT inside aggregates."""
    queries = []
    lists = ["k", "s", "k, s", "v % 3", "k IS NULL, s", "coalesce(k, v)", "upper(s)", "k, s, v"]
    for list_ in lists:
        width = ", ".join(str(n + 1) for n in range(1 if "coalesce" in list_ else list_.count(", ") + 1))
        queries += [f"SELECT DISTINCT {list_} FROM a ORDER BY {width}", f"SELECT DISTINCT {list_} FROM a ORDER BY {width} LIMIT 2", f"SELECT count(*) FROM (SELECT DISTINCT {list_} FROM a) q",
                    f"SELECT DISTINCT {list_}, count(*) OVER (PARTITION BY {list_}) FROM a ORDER BY {width}", f"SELECT count(DISTINCT ({list_}::TEXT)) FROM a" if ", " not in list_ or "coalesce" in list_ else f"SELECT DISTINCT {list_} FROM a WHERE v > 3 ORDER BY {width}"]
    for on, order in itertools.product(["k", "s", "k, s"], ["id", "id DESC", "v DESC NULLS LAST, id", "v, id"]):
        queries.append(f"SELECT DISTINCT ON ({on}) {on}, id, v FROM a ORDER BY {on}, {order}")
    for aggregate in ["count", "sum", "min", "max"]:
        for key in ["k", "s"]:
            queries += [f"SELECT {key}, {aggregate}(DISTINCT v) FROM a GROUP BY {key} ORDER BY 1", f"SELECT {key}, {aggregate}(DISTINCT v), {aggregate}(v), count(DISTINCT s) FROM a GROUP BY {key} ORDER BY 1"]
    yield "queries/distincts", "DISTINCT and DISTINCT ON.", pair(40), queries
