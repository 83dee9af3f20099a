"""Shows the tables of `make_delta.py` as DuckDB's `delta_scan` reads them: `python check_delta.py FOLDER EXTENSION`."""
import os
import sys

import duckdb

connection = duckdb.connect()
if len(sys.argv) > 2:
    connection.execute(f"INSTALL '{sys.argv[2]}'")
connection.execute("LOAD delta; SET TimeZone = 'UTC'")
for name in sorted(os.listdir(sys.argv[1])):
    if os.path.isdir(f"{sys.argv[1]}/{name}/_delta_log"):
        print("#", name)
        try:
            rows = connection.execute(f"SELECT * FROM delta_scan('{sys.argv[1]}/{name}')").fetchall()
            for row in sorted(map(repr, rows))[:12]:
                print(row)
            print(len(rows), "rows")
        except duckdb.Error as error:
            print(str(error).splitlines()[0])
