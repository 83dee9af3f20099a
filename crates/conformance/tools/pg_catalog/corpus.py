#!/usr/bin/env python3
"""Makes the corpus of clients' catalog statements from logs of PostgreSQL 15.

usage: corpus.py FOLDER CONNECTION LOG.json...   with the server of the logs running; writes FOLDER/<client>.txt

The server logs as JSON (log_destination=jsonlog, log_statement=all) and holds tests/pg_catalog/schema.sql. The clients
beside this file are run against it: `psql -f with_psql.sql`, `pg_dump`, with_*.py, and Meta.java over pgjdbc's driver.

A statement of a log is run again, in a transaction that is rolled back, and written with the names and types of the
columns that it gave, and with its rows. OIDs of the user's objects are written as {sales.purchase}, by their names.
"""
import json
import pathlib
import re
import sys

import psycopg2

OUT = pathlib.Path(sys.argv[1])
CLIENTS = {
    "psql": "psql 15.18", "pg_dump": "pg_dump 15.18", "sqlalchemy": "SQLAlchemy 2.1.9", "asyncpg": "asyncpg 0.32.0",
    "psycopg": "psycopg 3.3.9", "pgjdbc": "pgjdbc 42.7.4",
}
QUERY = re.compile(r"^\s*(SELECT|WITH|VALUES|SHOW|TABLE|/\*|\()", re.I)
connection = psycopg2.connect(sys.argv[2])


def objects():
    cursor = connection.cursor()
    cursor.execute("""SELECT oid::text, CASE WHEN relnamespace = 2200 THEN relname ELSE oid::regclass::text END
        FROM pg_class WHERE oid >= 16384 AND relkind <> 'c'
        UNION ALL SELECT oid::text, 'type ' || typname FROM pg_type WHERE oid >= 16384""")
    known = dict(cursor.fetchall())
    connection.rollback()
    return known


def named(statement, known):
    return re.sub(r"\b\d{5,}\b", lambda m: "{" + known[m[0]] + "}" if m[0] in known else m[0], statement)


def statements(paths):
    seen = []
    for path in paths:
        for line in open(path):
            try:
                entry = json.loads(line)
            except ValueError:
                continue
            client, message = entry.get("application_name"), entry.get("message", "")
            found = re.match(r"(?:statement|execute [^:]*): (.*)", message, re.S)
            if client not in CLIENTS or not found:
                continue
            text = found[1].strip().rstrip(";")
            for number, value in re.findall(r"\$(\d+) = ('(?:[^']|'')*'|NULL)", entry.get("detail") or ""):
                text = re.sub(r"\$%s\b" % number, lambda _: value, text)
            # Statements that differ in numbers and names only are taken twice.
            shape = (client, re.sub(r"'[^']*'|\d+", "?", text))
            if QUERY.match(text) and (client, text) not in seen and seen.count(shape) < 2:
                seen += [(client, text), shape]
                yield client, text


def shown(value):
    return "\\N" if value is None else str(value).replace("\\", "\\\\").replace("\n", "\\n").replace("\t", "\\t")


def main():
    known = objects()
    written = {}
    raw = psycopg2.extensions.new_type(tuple(range(1, 20000)), "raw", lambda value, _: value)
    psycopg2.extensions.register_type(raw)
    for client, text in statements(sys.argv[3:]):
        cursor = connection.cursor()
        try:
            cursor.execute(text)
        except psycopg2.Error as error:
            connection.rollback()
            print(client, "left out:", str(error).split("\n")[0], text[:60])
            continue
        if cursor.description is None:
            connection.rollback()
            continue
        columns = "\t".join(f"{c.name}:{c.type_code}" for c in cursor.description)
        rows = cursor.fetchall()
        connection.rollback()
        lines = [f"--- {CLIENTS[client]}", named(text, known), "--- columns", columns, "--- rows"]
        shown_rows = ["\t".join(shown(v) for v in row) for row in rows]
        # What lists PostgreSQL's own objects differs by what it has.
        lines.append(f"{len(rows)}")
        if len(rows) <= 20:
            lines += [named(row, known) for row in shown_rows]
        written.setdefault(client, []).append("\n".join(lines))
    for client, parts in written.items():
        (OUT / f"{client}.txt").write_text("\n".join(parts) + "\n")
        print(client, len(parts))


main()
