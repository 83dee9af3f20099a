#!/usr/bin/env python3
"""Writes the corpus files under tests/slt/generated: wide tables of cases, answered by PostgreSQL 15.

    python3 tests/slt/generate/generate.py                 # every topic
    python3 tests/slt/generate/generate.py windows dates   # these

A topic (topics_*.py) is a function that yields files: a name, the statements that make its tables, and queries. Each
query is asked of PostgreSQL; rows become a `query` record, an error a `statement error` record with its SQLSTATE.
What PostgreSQL cannot answer, or answers otherwise by a decision of ours, a topic leaves out: such records are written
by hand in the other folders. Afterwards `regenerate.py --check` holds for these files too.

What it leaves to others: the server (private_cluster.py), the protocol (postgres_client.py).
"""

import argparse
import contextlib
import pathlib
import re
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent)]

import private_cluster  # noqa: E402
import regenerate  # noqa: E402
from postgres_client import Connection, PostgresError  # noqa: E402

TARGET = HERE.parent / "generated"
# SQLSTATEs on which engines agree; any other error is asked for without one.
TOLD = {"22012", "22003", "22P02", "42703", "42P01", "42803", "21000", "42601"}


def topics():
    """Topic name -> function, from every topics_*.py beside this file."""
    found = {}
    for path in sorted(HERE.glob("topics_*.py")):
        module = __import__(path.stem)
        found.update({name: getattr(module, name) for name in module.TOPICS})
    return found


def ask(connection, sql):
    """The record for one query."""
    ordered = re.search(r"\border\s+by\b(?!.*\)\s*(as\s+\w+\s*)?$)", sql, re.IGNORECASE | re.DOTALL)
    try:
        oids, rows = connection.execute(sql)
    except PostgresError as error:
        state = f" ({error.sqlstate})" if error.sqlstate in TOLD else ""
        return [f"statement error{state}", sql, ""]
    letters = "".join(regenerate.LETTERS.get(oid, "T") for oid in oids)
    sort = len(rows) > 1 and not (ordered and sql.lower().rfind("order by") > sql.rfind(")"))
    shown = regenerate.results(oids, rows, sort)
    if any(not line.strip() or "\n" in line for line in shown):
        return []
    return [f"query {letters}{' rowsort' if sort else ''}", sql, "----", *shown, ""]


def write(server, name, about, setup, queries):
    admin = Connection(*server, "postgres")
    admin.execute("DROP DATABASE IF EXISTS slt")
    admin.execute("CREATE DATABASE slt TEMPLATE template0")
    connection = Connection(*server, "slt")
    for setting in regenerate.SESSION:
        connection.execute(setting)
    lines = [f"# {about}", "# Made by tests/slt/generate/generate.py.", ""]
    tables, count = [], 0
    for statement in setup:
        connection.execute(statement)
        lines += ["statement ok", statement, ""]
        if made := re.match(r"CREATE TABLE (\w+)", statement):
            tables.append(made[1])
    seen = set()
    for sql in queries:
        if sql in seen:
            continue
        seen.add(sql)
        record = ask(connection, sql)
        lines += record
        count += bool(record)
    for table in reversed(tables):
        lines += ["statement ok", f"DROP TABLE {table}", ""]
    connection.close()
    admin.close()
    path = TARGET / f"{name}.slt"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("\n".join(lines))
    return count + len(setup) + len(tables)


def main():
    known = topics()
    arguments = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    arguments.add_argument("topics", nargs="*", help=f"default: all of {', '.join(known)}")
    arguments.add_argument("--socket", help="socket folder of a running server, not a private one")
    chosen = arguments.parse_args()
    total = 0
    with contextlib.ExitStack() as stack:
        folder = chosen.socket or stack.enter_context(private_cluster.private_cluster())
        server = (folder, private_cluster.PORT, private_cluster.SUPERUSER)
        for topic in chosen.topics or known:
            for name, about, setup, queries in known[topic]():
                count = write(server, name, about, setup, queries)
                print(f"{name}: {count}")
                total += count
    print(f"{total} records")


if __name__ == "__main__":
    main()
