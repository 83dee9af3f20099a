"""Makes the Parquet files that the comparison reads.

    python prepare.py --suite tpch --scale 1
    python prepare.py --suite ssb --scale 1
    python prepare.py --suite ssbflat --scale 1
    python prepare.py --suite tpcds --scale 1
    python prepare.py --suite clickbench --scale 1 [--hits hits.parquet]
    python prepare.py --suite dbbench|movies|tpchshuffled --scale 1

TPC-H comes from tpchgen-cli, a faithful port of the benchmark's own generator.
SSB and TPC-DS come from Quickstep's generators, so that the files hold what
`CALL ssb` and `CALL tpcds` load; the peers read the same files.  The
denormalised SSB is SSB's fact table with the columns of its dimensions that
queries select or group by, in the fact table's order.  The last four are made
up by `other_suites.py` and `movies.py`; ClickBench's own file takes the place of
made-up rows where `--hits` names it.  A folder that is complete is left alone;
a broken-off run leaves none behind.
"""

from __future__ import annotations

import argparse
import contextlib
import functools
import shutil
import subprocess
import sys
from decimal import Decimal
from pathlib import Path
from typing import Any

import movies
import other_suites
from compare.suites import DATA_FOLDER, TABLES_OF_SUITE, folder_name, table_file


def generate_tpch(scale: Decimal, folder: Path) -> None:
    # Beside the interpreter if that is in a virtual environment, else on PATH.
    beside = Path(sys.executable).with_name("tpchgen-cli")
    program = str(beside) if beside.is_file() else "tpchgen-cli"
    subprocess.run(
        [program, "parquet", "--scale-factor", str(scale), "--output-dir", str(folder)],
        check=True,
    )


# Rows fetched at a time: a large table need not stand in memory twice.
ROWS_AT_A_TIME = 5_000_000


def generate_ours(suite: str, scale: Decimal, folder: Path) -> None:
    import pyarrow.parquet
    import quickstep

    connection = quickstep.connect()
    connection.execute(f"CALL {suite}(scale => {scale})")
    for table in TABLES_OF_SUITE[suite]:
        file = folder / f"{table}.parquet"
        with contextlib.ExitStack() as open_files:
            writer = None
            for query in queries_of_parts(connection, table):
                rows = connection.sql(query).arrow()
                if writer is None:
                    writer = pyarrow.parquet.ParquetWriter(file, rows.schema)
                    open_files.enter_context(writer)
                writer.write_table(rows)


def queries_of_parts(connection: Any, table: str) -> list[str]:
    """Queries that give a table's rows together, by ranges of its first column, which is a key."""
    everything = f"SELECT * FROM {table}"
    [[count]] = connection.sql(f"SELECT count(*) FROM {table}").fetchall()
    if count <= ROWS_AT_A_TIME:
        return [everything]
    key = connection.sql(f"{everything} LIMIT 0").arrow().schema.names[0]
    [[low, high]] = connection.sql(f"SELECT min({key}), max({key}) FROM {table}").fetchall()
    parts = -(-count // ROWS_AT_A_TIME)
    step = -(-(high - low + 1) // parts)
    return [
        f"{everything} WHERE {key} >= {start} AND {key} < {start + step}"
        for start in range(low, high + 1, step)
    ]


FLAT_TABLE = """
select l.*, d_year, d_yearmonthnum, d_yearmonth, d_weeknuminyear,
 c_city, c_nation, c_region, c_mktsegment, s_city, s_nation, s_region,
 p_mfgr, p_category, p_brand1, p_color, p_type, p_size, p_container
from lineorder l, ddate, customer, supplier, part
where lo_orderdate = d_datekey and lo_custkey = c_custkey
 and lo_suppkey = s_suppkey and lo_partkey = p_partkey
order by lo_orderkey, lo_linenumber
"""


def generate_flat(scale: Decimal, folder: Path) -> None:
    import pyarrow.parquet
    import quickstep

    connection = quickstep.connect()
    connection.execute(f"CALL ssb(scale => {scale})")
    rows = connection.sql(FLAT_TABLE).arrow()
    pyarrow.parquet.write_table(rows, folder / "lineorder_flat.parquet")


GENERATOR_OF_SUITE = {
    "tpch": generate_tpch,
    "ssb": functools.partial(generate_ours, "ssb"),
    "ssbflat": generate_flat,
    "tpcds": functools.partial(generate_ours, "tpcds"),
    "clickbench": other_suites.clickbench,
    "dbbench": other_suites.dbbench,
    "movies": movies.movies,
    "tpchshuffled": other_suites.tpchshuffled,
}


def complete(suite: str, folder: Path) -> bool:
    return all(table_file(folder, table).is_file() for table in TABLES_OF_SUITE[suite])


def prepare(suite: str, scale: Decimal, data: Path, hits: Path | None = None) -> Path:
    """Makes a suite's files unless they are there, ClickBench's from `hits`; returns their folder."""
    folder = data / folder_name(suite, scale)
    if complete(suite, folder) and hits is None:
        return folder
    unfinished = folder.with_suffix(f"{folder.suffix}.unfinished")
    shutil.rmtree(unfinished, ignore_errors=True)
    unfinished.mkdir(parents=True)
    if hits is None:
        GENERATOR_OF_SUITE[suite](scale, unfinished)
    else:
        other_suites.clickbench_of(hits, unfinished)
    shutil.rmtree(folder, ignore_errors=True)
    unfinished.rename(folder)
    return folder


def main() -> int:
    parser = argparse.ArgumentParser(description="Makes the Parquet files to compare on.")
    parser.add_argument("--suite", choices=sorted(TABLES_OF_SUITE), default="tpch")
    parser.add_argument("--scale", type=Decimal, default=Decimal(1))
    parser.add_argument("--data", type=Path, default=DATA_FOLDER)
    parser.add_argument("--hits", type=Path, help="ClickBench's own file, for --suite clickbench")
    asked = parser.parse_args()
    if asked.hits is not None and asked.suite != "clickbench":
        parser.error("--hits goes with --suite clickbench")
    print(prepare(asked.suite, asked.scale, asked.data, asked.hits))
    return 0


if __name__ == "__main__":
    sys.exit(main())
