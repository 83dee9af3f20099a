"""Writes copy15.tsv: what COPY TO STDOUT of a PostgreSQL 15 sends of the rows in copy.rs.

python crates/pgproto/tests/capture_copy.py HOST > crates/pgproto/tests/copy15.tsv

HOST is a folder with the server's socket. A line has the columns, the options, and the bytes in hexadecimal.
"""

import subprocess
import sys

ROWS = r"""
(1, 'plain', 1.50, date '2024-01-31', '\x00ff'::bytea, true, 0.1, 'ab'::char(4)),
(2, '', NULL, NULL, '\x', false, NULL, ''),
(NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL),
(4, E'tab\t "quoted", comma\nnew\rline \\back\\ \b\f\x0b', -0.05, 'infinity', NULL, NULL, 'NaN', 'a,"b'),
(5, '\.', 10, '0044-03-15 BC', '\x5c', true, '-Infinity', 'ä'),
(-11, '\N', 0, '1999-12-31', '\x22', false, -1e-7, 'NULL'),
(7, 'NULL', 123456.78, '2000-01-01', '\x2c', true, 1e23, '''')
"""
ALL = "i, t, n, d, b, f, x, c"
OPTIONS = [
    (ALL, ""),
    (ALL, "HEADER"),
    (ALL, "DELIMITER '-'"),
    (ALL, "DELIMITER ','"),
    (ALL, "DELIMITER ':'"),
    (ALL, "DELIMITER 'E'"),
    (ALL, "NULL 'NULL'"),
    (ALL, "NULL ''"),
    (ALL, "FORMAT csv"),
    (ALL, "FORMAT csv, HEADER"),
    (ALL, "FORMAT csv, FORCE_QUOTE *"),
    (ALL, "FORMAT csv, FORCE_QUOTE (i, t, c)"),
    (ALL, "FORMAT csv, QUOTE '''', ESCAPE '!'"),
    (ALL, "FORMAT csv, QUOTE 'a', ESCAPE 'b'"),
    (ALL, "FORMAT csv, NULL 'NULL'"),
    (ALL, "FORMAT csv, NULL '1'"),
    (ALL, "FORMAT csv, DELIMITER '-'"),
    (ALL, "FORMAT csv, DELIMITER '1'"),
    (ALL, "FORMAT csv, DELIMITER E'\\t'"),
    (ALL, "FORMAT binary"),
    ("t", ""),
    ("t", "FORMAT csv"),
    ("t", "FORMAT csv, NULL 'x'"),
    ("i", "FORMAT csv, NULL '1'"),
]


def main() -> None:
    for columns, options in OPTIONS:
        typed = f"SELECT i, t, n::numeric(8,2), d, b, f, x::float8, c::char(4) FROM (VALUES {ROWS}) v({ALL})"
        sql = f"COPY (SELECT {columns} FROM ({typed}) w) TO STDOUT ({options})".replace(" ()", "")
        command = ["psql", "-h", sys.argv[1], "-U", "postgres", "-qAtX", "-c", sql]
        sent = subprocess.run(command, check=True, capture_output=True).stdout
        print(columns.replace(" ", ""), options, sent.hex(), sep="\t")


if __name__ == "__main__":
    main()
