"""Writes the answers of the files in `nested` and `json` as DuckDB gives them.

    python tests/slt/with_duckdb.py [file ...]

Every value is cast to VARCHAR there, so that both engines' text is compared. A record under a comment that begins with
"# Own" keeps its answer: the comment says why it is ours.
"""
import pathlib
import sys

import duckdb

HERE = pathlib.Path(__file__).parent


def shown(value):
    if value is None:
        return "NULL"
    return value if value else "(empty)"


def answer(connection, sql):
    # Twice, because a column's name may be missing or come twice.
    width = len(connection.execute(sql).description)
    names = ", ".join(f"c{at}" for at in range(width))
    casts = ", ".join(f"CAST(c{at} AS VARCHAR)" for at in range(width))
    rows = connection.execute(f"SELECT {casts} FROM ({sql}) AS t({names})").fetchall()
    return [" ".join(shown(value) for value in row) for row in rows]


def rewrite(path):
    connection = duckdb.connect()
    connection.execute("SET threads = 1")
    out = []
    for block in path.read_text().split("\n\n"):
        lines = block.strip("\n").split("\n")
        own = any(line.startswith("# Own") for line in lines)
        head = next((at for at, line in enumerate(lines) if not line.startswith("#")), None)
        if head is None or own:
            if head is not None and lines[head].startswith("statement ok"):
                pass
            out.append(block.strip("\n"))
            continue
        if lines[head].startswith("statement ok"):
            connection.execute("\n".join(lines[head + 1 :]))
        elif lines[head].startswith("query"):
            end = lines.index("----") if "----" in lines else len(lines)
            sql = "\n".join(lines[head + 1 : end])
            try:
                rows = answer(connection, sql)
            except Exception as error:
                print(f"{path.name}: {sql}\n  {str(error).splitlines()[0]}")
                rows = lines[end + 1 :]
            lines = lines[:end] + ["----"] + rows
        out.append("\n".join(lines))
    path.write_text("\n\n".join(out) + "\n")


if __name__ == "__main__":
    files = [pathlib.Path(name) for name in sys.argv[1:]]
    for path in files or sorted([*HERE.glob("nested/*.slt"), *HERE.glob("json/*.slt")]):
        rewrite(path)
