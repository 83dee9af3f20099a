#!/usr/bin/env python3
"""How the expected answers of this corpus were made: by asking PostgreSQL 15.

For every .slt file it runs the statements and queries in order in a fresh database,
and writes what PostgreSQL answered as type letters and rows of each query. Nothing
else in a file is changed. It reports, and then exits with status 1 when

  * a `statement ok` fails, or a `statement error` does not fail (or has another
    SQLSTATE than the one in the file; `statement error (?????)` is filled in);
  * a query without ORDER BY has several rows and is not marked `rowsort`;
  * a file leaves a table behind;
  * a query answers otherwise, or a statement fails otherwise, once the rows of every
    table lie in a random order and the planner's hash operators are off: then the
    outcome depends on physical order, and no engine can be held to it.
    `--no-shuffle` leaves this out.

`--check` writes nothing and fails if a file would change.

Records for one engine only carry sqllogictest's own conditions: here the label is
`postgresql`, in our runner it is `quickstep`.
"""

import argparse
import contextlib
import pathlib
import re
import signal
import sys

import private_cluster
from postgres_client import Connection, PostgresError

LABEL = "postgresql"
UNKNOWN_SQLSTATE = "?????"
SESSION = [
    "SET datestyle = 'ISO, YMD'", "SET intervalstyle = 'postgres'", "SET bytea_output = 'hex'",
    "SET extra_float_digits = 1", "SET timezone = 'UTC'", "SET client_min_messages = error",
]
OTHER_PLANS = ["enable_hashjoin", "enable_hashagg"]

# Type letters by PostgreSQL type oid; every other type is text.
LETTERS = {16: "B", 20: "I", 21: "I", 23: "I", 700: "R", 701: "R", 1700: "R",
           1082: "D", 1083: "D", 1114: "D", 1184: "D"}
BOOLEAN_OID, TIMESTAMPTZ_OID = 16, 1184


class Record:
    """One paragraph of a file: header line, SQL, expected rows, and where it stands."""

    def __init__(self, header, conditions, line):
        self.header, self.conditions, self.line = header, conditions, line
        self.sql, self.expected = [], None

    def applies(self):
        return all((verb == "onlyif") == (label == LABEL) for verb, label in self.conditions)

    def lines(self):
        tail = [] if self.expected is None else ["----", *self.expected]
        return [self.header, *self.sql, *tail]


def parse(text):
    """Splits a file into plain lines (str) and records, in order."""
    parts, conditions, lines, index = [], [], text.split("\n"), 0
    while index < len(lines):
        line = lines[index]
        index += 1
        words = line.split()
        if words and words[0] in ("onlyif", "skipif"):
            conditions.append((words[0], words[1]))
            parts.append(line)
        elif words and words[0] in ("statement", "query"):
            record = Record(line, conditions, index)
            conditions = []
            while index < len(lines) and lines[index] not in ("", "----"):
                record.sql.append(lines[index])
                index += 1
            if index < len(lines) and lines[index] == "----":
                record.expected = []
                index += 1
                while index < len(lines) and lines[index] != "":
                    record.expected.append(lines[index])
                    index += 1
            parts.append(record)
        else:
            parts.append(line)
    return parts


def show(value, oid):
    """One value as the runner prints it."""
    if value is None:
        return "NULL"
    if oid == BOOLEAN_OID:
        return "true" if value == "t" else "false"
    return value if value != "" else "(empty)"


def results(oids, rows, sort):
    """Expected lines: rows in the order in which sqllogictest compares them."""
    shown = [[show(value, oid) for value, oid in zip(row, oids)] for row in rows]
    if sort:
        shown.sort()
    return [" ".join(row) for row in shown]


class File:
    """Replays one file and collects what is wrong with it."""

    def __init__(self, path, server):
        self.path, self.server, self.problems = path, server, []
        self.parts = parse(path.read_text())

    def problem(self, record, text):
        self.problems.append(f"{self.path}:{record.line}: {text}")

    @contextlib.contextmanager
    def session(self):
        """A connection to a fresh database."""
        admin = Connection(*self.server, "postgres")
        admin.execute("DROP DATABASE IF EXISTS slt")
        admin.execute("CREATE DATABASE slt TEMPLATE template0")
        connection = Connection(*self.server, "slt")
        for setting in SESSION:
            connection.execute(setting)
        try:
            yield connection
        finally:
            connection.close()
            admin.close()

    def records(self):
        return [part for part in self.parts if isinstance(part, Record) and part.applies()]

    def fill(self):
        """First pass: ask, and write the answers into the records."""
        with self.session() as connection:
            changed, in_block = False, False
            for record in self.records():
                words = record.header.split()
                in_block = block_after(record, in_block)
                if words[0] == "query":
                    if changed and not in_block:
                        # Without statistics PostgreSQL joins large tables by nested loops.
                        connection.execute("ANALYZE")
                        changed = False
                    self.fill_query(connection, record, words)
                else:
                    self.run_statement(connection, record, words)
                    changed = True
            _, left = connection.execute(
                "SELECT schemaname || '.' || relname FROM pg_stat_user_tables")
            if left:
                self.problems.append(f"{self.path}: leaves tables behind: {left}")

    def fill_query(self, connection, record, words):
        sort = "rowsort" in words
        try:
            oids, rows = connection.execute("\n".join(record.sql))
        except PostgresError as error:
            return self.problem(record, f"query failed: {error}")
        letters = "".join(LETTERS.get(oid, "T") for oid in oids)
        record.header = f"query {letters}{' rowsort' if sort else ''}"
        record.expected = results(oids, rows, sort)
        ordered = re.search(r"\border\s+by\b", "\n".join(record.sql), re.IGNORECASE)
        if len(rows) > 1 and not sort and not ordered:
            self.problem(record, "several rows, neither ORDER BY nor rowsort")
        if any(line.strip() == "" or "\n" in line for line in record.expected):
            self.problem(record, "a row is blank or holds a line break")

    def run_statement(self, connection, record, words):
        wanted = None if words[1] == "ok" else " ".join(words[2:])
        try:
            connection.execute("\n".join(record.sql))
        except PostgresError as error:
            if wanted is None:
                return self.problem(record, f"statement failed: {error}")
            code = re.fullmatch(r"\((.{5})\)", wanted)
            if code and code[1] == UNKNOWN_SQLSTATE:
                record.header = f"statement error ({error.sqlstate})"
            elif code and code[1] != error.sqlstate:
                self.problem(record, f"SQLSTATE {code[1]} expected, got {error}")
        else:
            if wanted is not None:
                self.problem(record, "statement should fail and does not")

    def replay_shuffled(self):
        """Second pass: rows in random physical order, other plans, equal answers."""
        with self.session() as connection:
            changed, in_block = False, False
            for record in self.records():
                in_block = block_after(record, in_block)
                words, sql = record.header.split(), "\n".join(record.sql)
                if words[:2] == ["statement", "ok"]:
                    with contextlib.suppress(PostgresError):
                        connection.execute(sql)
                    changed = True
                    continue
                if changed and not in_block:
                    shuffle_tables(connection)
                    changed = False
                if words[0] == "statement":
                    self.run_statement(connection, record, words)
                    continue
                for setting in OTHER_PLANS:
                    connection.execute(f"SET {setting} = off")
                try:
                    oids, rows = connection.execute(sql)
                    if results(oids, rows, "rowsort" in words) != record.expected:
                        self.problem(record, "answer depends on the order of stored rows")
                except PostgresError as error:
                    self.problem(record, f"query failed on shuffled tables: {error}")
                for setting in OTHER_PLANS:
                    connection.execute(f"RESET {setting}")

    def text(self):
        lines = []
        for part in self.parts:
            lines.extend(part.lines() if isinstance(part, Record) else [part])
        return "\n".join(lines)


def block_after(record, before):
    """Whether a transaction block is open after a record, in which no table can be shuffled."""
    words = "\n".join(record.sql).lower().split()
    if words[0] in ("begin", "start"):
        return True
    chains = "chain" in words and "no" not in words
    ends = words[0] in ("commit", "end", "abort") or (words[0] == "rollback" and "to" not in words)
    return chains if ends else before


def shuffle_tables(connection):
    """Rewrites every user table in random row order, foreign keys asleep meanwhile."""
    _, modes = connection.execute("SHOW transaction_read_only")
    if [list(mode) for mode in modes] == [["on"]]:
        return
    connection.execute("SET session_replication_role = replica")
    _, tables = connection.execute(
        "SELECT format('%I.%I', schemaname, relname) FROM pg_stat_user_tables"
        " WHERE relname <> 'slt_shuffled'")
    for (table,) in tables:
        # Generated columns are computed again.
        _, [(columns,)] = connection.execute(
            "SELECT string_agg(quote_ident(attname), ', ' ORDER BY attnum) FROM pg_attribute"
            f" WHERE attrelid = '{table}'::regclass AND attnum > 0 AND NOT attisdropped AND attgenerated = ''")
        connection.execute(
            f"CREATE TEMP TABLE slt_shuffled AS SELECT {columns} FROM {table} ORDER BY random()")
        connection.execute(f"DELETE FROM {table}")
        connection.execute(
            f"INSERT INTO {table} ({columns}) OVERRIDING SYSTEM VALUE SELECT * FROM slt_shuffled")
        connection.execute("DROP TABLE slt_shuffled")
        connection.execute(f"VACUUM ANALYZE {table}")
    connection.execute("SET session_replication_role = DEFAULT")


def main():
    arguments = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    arguments.add_argument("files", nargs="*", type=pathlib.Path, help="default: every .slt file")
    arguments.add_argument("--check", action="store_true", help="write nothing")
    arguments.add_argument("--no-shuffle", action="store_true", help="skip the second pass")
    arguments.add_argument("--socket", help="socket folder of a running server, not a private one")
    chosen = arguments.parse_args()
    files = chosen.files or sorted(pathlib.Path(__file__).parent.rglob("*.slt"))
    # A plain SIGTERM would leave the private server behind.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    problems = []
    with contextlib.ExitStack() as stack:
        folder = chosen.socket or stack.enter_context(private_cluster.private_cluster())
        server = (folder, private_cluster.PORT, private_cluster.SUPERUSER)
        for path in files:
            before = path.read_text()
            file = File(path, server)
            file.fill()
            if not chosen.no_shuffle:
                file.replay_shuffled()
            problems += file.problems
            if file.text() != before:
                if chosen.check:
                    problems.append(f"{path}: would change")
                else:
                    path.write_text(file.text())
    for problem in problems:
        print(problem)
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
