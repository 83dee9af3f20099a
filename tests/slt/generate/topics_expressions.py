"""Operators, casts and conditions over every type."""

import itertools

TOPICS = ["operators", "comparisons", "casts", "conditions", "strings_of_conditions"]

# Type -> values as literals; NULL is always among them.
VALUES = {
    "SMALLINT": ["0", "1", "-7", "32767", "NULL"],
    "INTEGER": ["0", "3", "-20", "2147483647", "NULL"],
    "BIGINT": ["0", "-5", "9000000000", "NULL"],
    "DECIMAL(8,2)": ["0.00", "1.25", "-33.10", "999999.99", "NULL"],
    "DECIMAL(20,4)": ["0.0000", "2.5000", "-1234567890123.4567", "NULL"],
    "DOUBLE PRECISION": ["0", "0.5", "-2.25", "1e10", "NULL"],
    "REAL": ["0", "1.5", "-4", "NULL"],
}
OTHERS = {
    "TEXT": ["''", "'a'", "'B'", "'abc'", "'zebra'", "NULL"],
    "VARCHAR(10)": ["''", "'a'", "'abc'", "'a b'", "NULL"],
    "DATE": ["DATE '2000-02-29'", "DATE '1999-12-31'", "DATE '2024-07-01'", "NULL"],
    "TIMESTAMP": ["TIMESTAMP '2000-02-29 12:30:00'", "TIMESTAMP '1999-12-31 23:59:59.5'",
                  "TIMESTAMP '2024-07-01 00:00:00'", "NULL"],
    "TIME": ["TIME '00:00:00'", "TIME '12:30:15.25'", "TIME '23:59:59'", "NULL"],
    "BOOLEAN": ["true", "false", "NULL"],
}


def short(ty):
    return ty.lower().replace(" precision", "").replace("(", "_").replace(")", "").replace(",", "_")


def table(name, ty, values):
    rows = ", ".join(f"({at}, {value})" for at, value in enumerate(values, 1))
    return [f"CREATE TABLE {name} (id INTEGER, v {ty})", f"INSERT INTO {name} VALUES {rows}"]


def operators():
    """Arithmetic of each pair of numeric types, by column, by literal, and at the ends of the types."""
    for left in VALUES:
        queries, setup = [], table("a", left, VALUES[left])
        for at, right in enumerate(VALUES):
            setup += table(f"b{at}", right, VALUES[right])
            queries += [query.replace(" b ", f" b{at} AS b ").replace("a, b", f"a, b{at} AS b")
                        for query in arithmetic(left, right)]
        yield f"operators/{short(left)}", f"Arithmetic of {left} with every numeric type.", setup, queries


def arithmetic(left, right):
    """Queries over tables a and b of these types."""
    exact = "DOUBLE" not in left + right and "REAL" not in left + right
    decimal = exact and ("DECIMAL" in left or "DECIMAL" in right)
    for op in "+-*":
        yield f"SELECT a.id, b.id, a.v {op} b.v FROM a, b WHERE abs(a.v) < 30000 AND abs(b.v) < 30000 ORDER BY 1, 2"
        yield f"SELECT count(a.v {op} b.v), count(*) FROM a, b WHERE abs(a.v) < 100 AND abs(b.v) < 100"
    if decimal:
        # The quotient's digits are ours; its value is not.
        yield "SELECT a.id, b.id, CAST(a.v / b.v AS DECIMAL(18,4)) FROM a, b WHERE b.v <> 0 AND abs(a.v) < 30000 ORDER BY 1, 2"
    else:
        yield "SELECT a.id, b.id, a.v / b.v FROM a, b WHERE b.v <> 0 ORDER BY 1, 2"
    yield "SELECT a.v / b.v FROM a, b WHERE a.id = 2 AND b.v = 0"
    if exact:
        yield "SELECT a.id, b.id, a.v % b.v FROM a, b WHERE b.v <> 0 ORDER BY 1, 2"
        yield "SELECT a.v % b.v FROM a, b WHERE a.id = 2 AND b.v = 0"
    yield "SELECT a.id, -a.v, b.id, -b.v FROM a, b WHERE a.id < 3 ORDER BY a.id, b.id"
    yield "SELECT a.id, CASE WHEN a.v > b.v THEN a.v ELSE b.v END FROM a, b WHERE a.id = b.id ORDER BY 1"
    yield "SELECT a.id, b.id FROM a, b WHERE a.v + b.v > 1 ORDER BY 1, 2"
    yield "SELECT count(*) FROM a, b WHERE a.v * 2 < b.v - 1"


def comparisons():
    """Every comparison within and between types, on columns and literals."""
    groups = [[t for t in VALUES], ["TEXT", "VARCHAR(10)"], ["DATE", "TIMESTAMP"], ["TIME"], ["BOOLEAN"]]
    every = {**VALUES, **OTHERS}
    for group in groups:
        for left in group:
            queries = []
            rights = group if len(group) < 4 else [left] + [t for t in group if t != left][:3]
            setup = table("a", left, every[left])
            for at, right in enumerate(rights):
                name = f"b{at}"
                setup += table(name, right, every[right])
                for op in ["=", "<>", "<", "<=", ">", ">="]:
                    queries.append(f"SELECT a.id, {name}.id FROM a, {name} WHERE a.v {op} {name}.v ORDER BY 1, 2")
                queries.append(f"SELECT a.id, {name}.id, a.v = {name}.v, a.v < {name}.v, a.v IS DISTINCT FROM {name}.v FROM a, {name} ORDER BY 1, 2")
                queries.append(f"SELECT a.id FROM a WHERE a.v IN (SELECT v FROM {name}) ORDER BY 1")
                queries.append(f"SELECT a.id FROM a WHERE a.v NOT IN (SELECT v FROM {name} WHERE v IS NOT NULL) ORDER BY 1")
                queries.append(f"SELECT a.id, {name}.id FROM a LEFT JOIN {name} ON a.v = {name}.v ORDER BY 1, 2")
                queries.append(f"SELECT count(*) FROM a FULL JOIN {name} ON a.v = {name}.v")
                # The digits of the common type are ours: a DECIMAL has one scale, not one a value.
                mixed = left != right and (left in VALUES or right in VALUES)
                shown = "CAST({} AS DECIMAL(24,4))" if mixed else "{}"
                if mixed and "REAL" in left + right:
                    continue
                queries.append(f"SELECT a.id, {shown.format(f'coalesce(a.v, {name}.v)')} FROM a JOIN {name} ON a.id = {name}.id ORDER BY 1")
                queries.append(f"SELECT a.id, nullif(a.v, {name}.v) FROM a JOIN {name} ON a.id = {name}.id ORDER BY 1")
                for op in ["UNION", "EXCEPT", "INTERSECT", "UNION ALL"]:
                    queries.append(f"SELECT {shown.format('v')} FROM (SELECT v FROM a {op} SELECT v FROM {name}) q ORDER BY 1")
            values = [v for v in every[left] if v != "NULL"]
            for op, value in itertools.product(["=", "<>", "<", ">="], values):
                queries.append(f"SELECT id FROM a WHERE v {op} {value} ORDER BY 1")
                queries.append(f"SELECT count(*) FROM a WHERE {value} {op} v OR v IS NULL")
            for low, high in itertools.permutations(values[:3], 2):
                queries.append(f"SELECT id, v BETWEEN {low} AND {high}, v NOT BETWEEN {low} AND {high} FROM a ORDER BY 1")
                queries.append(f"SELECT id FROM a WHERE v IN ({low}, {high}, NULL) ORDER BY 1")
                queries.append(f"SELECT id FROM a WHERE v NOT IN ({low}, {high}) ORDER BY 1")
            queries.append("SELECT min(v), max(v), count(v), count(DISTINCT v) FROM a" if left != "BOOLEAN"
                           else "SELECT bool_and(v), bool_or(v), count(v), count(DISTINCT v) FROM a")
            for order in ["v", "v DESC", "v NULLS FIRST", "v DESC NULLS LAST"]:
                queries.append(f"SELECT id FROM a ORDER BY {order}, id")
                queries.append(f"SELECT id FROM a ORDER BY {order}, id LIMIT 2")
            yield f"comparisons/{short(left)}", f"Comparisons of {left}.", setup, queries


CAST_TEXTS = ["0", "1", "-1", " 42 ", "3.5", "-2.5", "1e3", "99999", "3000000000", "1e400", "abc", "", "true", "f", "yes",
              "2024-02-29", "2023-02-29", "2024-13-01", "12:34:56", "25:00:00", "2024-02-29 12:34:56.789", "NaN",
              "Infinity", "0x1F", "1_000", "--1", "1 2"]
CAST_TARGETS = ["SMALLINT", "INTEGER", "BIGINT", "DECIMAL(5,2)", "DECIMAL(20,3)", "REAL", "DOUBLE PRECISION", "BOOLEAN",
                "DATE", "TIME", "TIMESTAMP", "VARCHAR(3)", "CHAR(4)", "TEXT"]


def casts():
    """Texts and typed values cast to every type, errors included."""
    for target in CAST_TARGETS:
        queries = []
        skip = {"0x1F", "1_000"}
        if target in ("SMALLINT", "INTEGER", "BIGINT"):
            # Rounded here, as in DuckDB.
            skip |= {"3.5", "-2.5", "1e3", "1e400"}
        for text in CAST_TEXTS:
            # Not values of these types here.
            if text in skip or (text in ("NaN", "Infinity") and target[:4] in ("DECI", "DATE", "TIME")):
                continue
            shown = f"'[' || CAST('{text}' AS {target}) || ']'" if "CHAR" in target else f"CAST('{text}' AS {target})"
            queries.append(f"SELECT {shown}")
        if target not in ("DATE", "TIME", "TIMESTAMP", "BOOLEAN"):
            for value in ["0::SMALLINT", "7::INTEGER", "-8::BIGINT", "2.5::DECIMAL(4,2)", "3.5::DECIMAL(4,2)", "-2.5::DECIMAL(4,1)",
                          "2.5::DOUBLE PRECISION", "3.5::DOUBLE PRECISION", "1e10::DOUBLE PRECISION", "0.125::REAL",
                          "123456.789::DECIMAL(10,3)", "NULL::INTEGER"]:
                shown = f"'[' || CAST({value} AS {target}) || ']'" if "CHAR" in target else f"CAST({value} AS {target})"
                queries.append(f"SELECT {shown}")
        if target in ("DATE", "TIME", "TIMESTAMP", "TEXT", "VARCHAR(3)"):
            for value in ["DATE '2024-02-29'", "TIMESTAMP '2024-02-29 12:34:56.5'", "TIME '12:34:56'", "NULL::DATE"]:
                if (target, value[:4]) in (("DATE", "TIME"), ("TIME", "DATE"), ("TIME", "NULL"), ("TIMESTAMP", "TIME")) and "TIMESTAMP" not in value:
                    continue
                queries.append(f"SELECT CAST({value} AS {target})")
        if target in ("BOOLEAN", "INTEGER", "TEXT"):
            queries += [f"SELECT CAST({v} AS {target})" for v in ["true", "false", "NULL::BOOLEAN"]]
        if target == "BOOLEAN":
            queries += [f"SELECT CAST({v} AS BOOLEAN)" for v in ["0", "1", "5"]]
        setup = ["CREATE TABLE s (id INTEGER, t TEXT)",
                 "INSERT INTO s VALUES (1, '1'), (2, '0'), (3, NULL), (4, '1')"]
        if target in ("SMALLINT", "INTEGER", "BIGINT", "DOUBLE PRECISION", "BOOLEAN", "REAL"):
            queries.append(f"SELECT id, CAST(t AS {target}) FROM s ORDER BY 1")
            queries.append(f"SELECT id FROM s WHERE CAST(t AS {target}) = CAST('1' AS {target}) ORDER BY 1")
            queries.append(f"SELECT CAST(t AS {target}), count(*) FROM s GROUP BY 1 ORDER BY 1")
        yield f"casts/{short(target)}", f"Casts to {target}.", setup, queries


def conditions():
    """Three-valued logic: trees of AND, OR, NOT, IS over columns with NULLs, in WHERE, SELECT, HAVING and ON."""
    setup = ["CREATE TABLE l (id INTEGER, p BOOLEAN, q BOOLEAN, n INTEGER)",
             "INSERT INTO l VALUES " + ", ".join(
                 f"({at}, {p}, {q}, {n})" for at, (p, q, n) in enumerate(
                     itertools.product(["true", "false", "NULL"], ["true", "false", "NULL"], ["1", "NULL"]), 1))]
    atoms = ["p", "q", "NOT p", "n = 1", "n IS NULL", "p IS TRUE", "q IS NOT FALSE", "p IS UNKNOWN", "p = q", "p <> q",
             "n IN (1, NULL)", "n NOT IN (2, NULL)", "p IS NOT DISTINCT FROM q", "coalesce(p, false)", "n > 1"]
    queries = []
    for a, b in itertools.combinations(atoms, 2):
        queries.append(f"SELECT id FROM l WHERE {a} AND {b} ORDER BY 1")
        queries.append(f"SELECT id FROM l WHERE {a} OR {b} ORDER BY 1")
        queries.append(f"SELECT id FROM l WHERE NOT ({a} AND {b}) ORDER BY 1")
    yield "conditions/pairs", "AND, OR and NOT of two conditions with NULLs.", setup, queries
    queries = []
    for a, b, c in itertools.islice(itertools.combinations(atoms, 3), 0, None, 5):
        queries.append(f"SELECT id, ({a}) AND ({b} OR {c}) FROM l ORDER BY 1")
        queries.append(f"SELECT count(*) FROM l WHERE ({a} AND {b}) OR ({a} AND {c})")
    yield "conditions/triples", "Conditions with a common part, shown and filtered by.", setup, queries
    queries = []
    for a, b in itertools.islice(itertools.combinations(atoms, 2), 0, None, 2):
        queries.append(f"SELECT id, CASE WHEN {a} THEN 'a' WHEN {b} THEN 'b' ELSE 'c' END FROM l ORDER BY 1")
        queries.append(f"SELECT CASE WHEN {a} THEN 1 WHEN {b} THEN 2 END, count(*) FROM l GROUP BY 1 ORDER BY 1")
    yield "conditions/cases", "CASE over conditions with NULLs, as a value and as a group.", setup, queries
    queries = []
    for atom in atoms:
        other = atom.replace("p", "k.p").replace("q", "k.q").replace("n ", "k.n ") if "(" not in atom and "NOT p" not in atom else "k.p"
        queries.append(f"SELECT l.id, k.id FROM l LEFT JOIN l AS k ON l.id = k.id + 1 AND {other} ORDER BY 1, 2")
        queries.append(f"SELECT count(*) FROM l FULL JOIN l AS k ON l.id = k.id + 1 AND {other}")
        queries.append(f"SELECT count(*), bool_or({atom}), bool_and({atom}), count(*) FILTER (WHERE {atom}) FROM l")
        queries.append(f"SELECT n, count(*) FROM l GROUP BY n HAVING bool_or({atom}) ORDER BY 1")
        queries.append(f"SELECT id, {atom} FROM l ORDER BY 2 NULLS FIRST, 1")
        queries.append(f"SELECT id FROM l WHERE ({atom}) IS TRUE ORDER BY 1")
        queries.append(f"SELECT id FROM l WHERE ({atom}) IS NOT TRUE ORDER BY 1")
        queries.append(f"SELECT id FROM l WHERE ({atom}) IS NULL ORDER BY 1")
    yield "conditions/places", "Conditions in ON, HAVING, FILTER, ORDER BY and under IS.", setup, queries


def strings_of_conditions():
    """Long IN lists, chains of OR, nested CASE and COALESCE."""
    setup = ["CREATE TABLE c (id INTEGER, n INTEGER, t TEXT)",
             "INSERT INTO c SELECT i, i * 37 % 101, chr(97 + i % 26) || i FROM generate_series(1, 200) AS g(i)",
             "INSERT INTO c VALUES (201, NULL, NULL), (202, -1, ''), (203, 101, 'Z')"]
    queries = []
    for size in [1, 2, 5, 17, 64]:
        numbers = [(at * 13) % 101 for at in range(size)]
        texts = [f"'{chr(97 + at % 26)}{at}'" for at in numbers]
        for negated in ["", "NOT "]:
            queries.append(f"SELECT count(*), min(id), max(id) FROM c WHERE n {negated}IN ({', '.join(map(str, numbers))})")
            queries.append(f"SELECT count(*), min(id), max(id) FROM c WHERE t {negated}IN ({', '.join(texts)})")
            queries.append(f"SELECT count(*) FROM c WHERE n {negated}IN ({', '.join(map(str, numbers))}, NULL)")
        queries.append("SELECT count(*) FROM c WHERE " + " OR ".join(f"n = {n}" for n in numbers))
        queries.append("SELECT count(*) FROM c WHERE " + " OR ".join(f"(n > {n} AND n < {n + 3})" for n in numbers))
        queries.append("SELECT count(*) FROM c WHERE " + " AND ".join(f"n <> {n}" for n in numbers))
        queries.append("SELECT count(*) FROM c WHERE " + " OR ".join(f"t = {t}" for t in texts))
        queries.append("SELECT sum(CASE " + " ".join(f"WHEN n = {n} THEN {at + 1}" for at, n in enumerate(numbers)) + " ELSE 0 END) FROM c")
        queries.append("SELECT CASE n " + " ".join(f"WHEN {n} THEN 'at {at}'" for at, n in enumerate(numbers[:6])) + " END AS k, count(*) FROM c GROUP BY 1 ORDER BY 1")
        queries.append("SELECT count(DISTINCT coalesce(" + ", ".join(f"nullif(n, {n})" for n in numbers) + ")) FROM c")
        queries.append("SELECT max(greatest(" + ", ".join(f"n - {n}" for n in numbers) + ")), min(least(" + ", ".join(f"n + {n}" for n in numbers) + ")) FROM c")
    yield "conditions/lists", "Long lists of values and chains of conditions.", setup, queries
