#!/usr/bin/env python3
"""Writes the facts that `pg_catalog` shares with PostgreSQL 15 into ../data, from a running server.

usage: dump.py PSQL-ARGUMENTS...     such as: dump.py -h /tmp -U postgres -d postgres

relations.tsv  a line a relation: name, OID, kind, then column:type with ! for NOT NULL
<catalog>.tsv  a line a row, columns separated by tabs as COPY writes them; a value of a reg type is OID/name
Functions and operators are those over types that the engine has; functions those whose names it knows (names.txt).
"""
import pathlib
import subprocess
import sys

DATA = pathlib.Path(__file__).resolve().parent.parent / "data"
PSQL = ["psql", "-X", "-A", "-t", "-q", "-v", "ON_ERROR_STOP=1", *sys.argv[1:]]
REG = {"regproc", "regtype", "regclass", "regoper", "regprocedure", "regoperator"}

# Types that the engine has or that columns of the catalog have, by name.
TYPES = """bool bytea char name int8 int2 int2vector int4 regproc text oid tid xid cid oidvector json xml
pg_node_tree float4 float8 unknown inet bpchar varchar date time timestamp timestamptz interval timetz bit varbit
numeric refcursor regprocedure regoper regoperator regclass regcollation regtype regrole regnamespace uuid pg_lsn
pg_ndistinct pg_dependencies pg_mcv_list jsonb xid8 aclitem regconfig regdictionary record any anyarray void trigger
language_handler internal anyelement anynonarray anyenum anyrange anycompatible anycompatiblearray cstring
event_trigger int4range numrange tsrange tstzrange daterange int8range""".split()


def query(text):
    return subprocess.run([*PSQL, "-c", text], check=True, capture_output=True, text=True).stdout


def columns(relation):
    rows = query(f"""SELECT attname || ':' || atttypid::regtype::text || CASE WHEN attnotnull THEN '!' ELSE '' END
        FROM pg_attribute WHERE attrelid = '{relation}'::regclass AND attnum > 0 ORDER BY attnum""")
    return rows.split("\n")[:-1]


def dump(catalog, where="true", nulls=()):
    parts = []
    for column in columns(f"pg_catalog.{catalog}"):
        name, kind = column.rstrip("!").rsplit(":", 1)
        if name in nulls:
            parts.append(f"NULL AS {name}")
        elif kind in REG:
            parts.append(f"{name}::oid::text || '/' || {name}::text AS {name}")
        else:
            parts.append(name)
    text = query(f"COPY (SELECT {', '.join(parts)} FROM pg_catalog.{catalog} t WHERE {where} ORDER BY 1) TO STDOUT")
    (DATA / f"{catalog}.tsv").write_text(text)


def main():
    DATA.mkdir(exist_ok=True)
    relations = query("""SELECT n.nspname || '.' || relname, c.oid, relkind FROM pg_class c JOIN pg_namespace n
        ON n.oid = relnamespace WHERE nspname IN ('pg_catalog', 'information_schema') AND relkind IN ('r', 'v')
        AND relname NOT LIKE 'pg\\_toast%' ORDER BY 1""")
    out = []
    for line in relations.split("\n")[:-1]:
        name, oid, kind = line.split("|")
        described = query(f"""SELECT attname || ':' || CASE WHEN t.typtype = 'd' THEN format_type(t.typbasetype, NULL)
            ELSE format_type(atttypid, NULL) END || CASE WHEN attnotnull THEN '!' ELSE '' END
            FROM pg_attribute a JOIN pg_type t ON t.oid = atttypid
            WHERE attrelid = {oid} AND attnum > 0 AND NOT attisdropped ORDER BY attnum""").split("\n")[:-1]
        out.append("\t".join([name, oid, kind, *described]))
    (DATA / "relations.tsv").write_text("\n".join(out) + "\n")
    names = ",".join(f"'{t}'" for t in TYPES)
    known = query(f"""SELECT array_agg(oid) FROM pg_type WHERE typname IN ({names})
        OR (typlen = -1 AND typtype = 'b' AND oid < 10000 AND
            typelem IN (SELECT oid FROM pg_type WHERE typname IN ({names})))""").strip()
    known = f"'{known}'::oid[]"
    io = "SELECT unnest(ARRAY[typinput, typoutput, typreceive, typsend, typmodin, typmodout]::oid[]) FROM pg_type"
    functions = [line for line in (DATA / "names.txt").read_text().split("\n") if line]
    listed = ",".join("'" + f.replace("'", "''") + "'" for f in functions)
    dump("pg_type", f"oid = ANY({known})",
         ["typdefaultbin", "typacl"])
    # Functions over types that are not here are not here, either.
    over = f"(SELECT bool_and(a = ANY({known})) FROM unnest(proargtypes || prorettype) a) IS NOT FALSE"
    dump("pg_proc", f"""pronamespace = 11 AND (oid IN ({io} WHERE oid = ANY({known})) OR
        proname IN ({listed}) AND {over})""", ["prosqlbody", "proacl", "proargdefaults", "probin", "proconfig"])
    dump("pg_operator", f"""oprleft = ANY({known} || 0::oid) AND oprright = ANY({known})
        AND oprname IN ('=', '<>', '<', '<=', '>', '>=', '+', '-', '*', '/', '%', '||', '~', '~*', '!~', '!~*', '~~',
        '~~*', '!~~', '!~~*', '&', '|', '#', '<<', '>>', '@>', '<@', '&&', '->', '->>', '#>', '#>>')
        AND oprleft NOT IN (869, 1033) AND oprright NOT IN (869, 1033)""")
    dump("pg_cast", f"castsource = ANY({known}) AND casttarget = ANY({known})")
    for catalog in ["pg_am", "pg_language", "pg_tablespace"]:
        dump(catalog, nulls=["lanacl", "spcacl"])
    dump("pg_opfamily", "opfmethod IN (403, 405)")
    dump("pg_opclass", f"opcmethod IN (403, 405) AND opcintype = ANY({known})")
    dump("pg_collation", "oid < 12000")
    dump("pg_range", f"rngtypid = ANY({known})")
    dump("pg_aggregate", f"aggfnoid IN (SELECT oid FROM pg_proc WHERE proname IN ({listed}) AND {over})")
    text = query("COPY (SELECT word, catcode, barelabel, catdesc, baredesc FROM pg_get_keywords()) TO STDOUT")
    (DATA / "keywords.tsv").write_text(text)


main()
