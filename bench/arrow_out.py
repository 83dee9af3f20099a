"""Measures how fast results leave as Arrow: quickstep beside DuckDB, on the same rows in the same run.

    python arrow_out.py --rows 5000000 --rounds 5

Both load the same Parquet file of mixed columns (integers, decimals, dates,
short and long text with NULLs) into a table in memory.  Each round, in turn,
reads the whole table as

    table    one pyarrow Table that stays
    stream   record batches that are dropped as they come
    sorted   as table, ordered by a column, so that it leaves a sort

Throughput is bytes over wall time; the bytes are those of one common form of
the rows (plain strings, 128-bit decimals), the same for both, not of what each
engine happens to hand out.  The line of JSON goes to `results/arrow-out.jsonl`,
with every round's time.
"""

from __future__ import annotations

import argparse
import datetime
import json
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from compare.machine import commit, machine
from compare.record import RESULTS_FOLDER

QUERIES = {
    "table": "SELECT * FROM mixed",
    "stream": "SELECT * FROM mixed",
    "sorted": "SELECT * FROM mixed ORDER BY price",
}


def write_rows(path: Path, rows: int) -> int:
    """The file that both load; the bytes of its rows in the common form."""
    import decimal

    import numpy as np
    import pyarrow as pa
    import pyarrow.compute as pc
    import pyarrow.parquet as pq

    random = np.random.default_rng(7)
    words = np.array(["alpha", "beta", "gamma", "delta", "epsilon", "a somewhat longer text", "zeta"])
    comment = pc.binary_join_element_wise(
        pa.array(words[random.integers(0, 7, rows)]),
        pa.array(words[random.integers(0, 7, rows)]),
        pa.array(random.integers(0, 1_000_000, rows)).cast(pa.string()),
        " ",
    )
    cents = pa.array(random.integers(0, 10_000_000, rows))
    price = pc.divide(cents.cast(pa.decimal128(21, 2)), pa.scalar(decimal.Decimal("100.00"))).cast(
        pa.decimal128(15, 2), safe=False
    )
    table = pa.table(
        {
            "id": pa.array(np.arange(rows)),
            "part": pa.array(random.integers(0, 200_000, rows).astype(np.int32)),
            "quantity": pa.array(random.random(rows)),
            "price": price,
            "day": pa.array(random.integers(8000, 11000, rows).astype(np.int32)).cast(pa.date32()),
            "flag": pa.array(words[random.integers(0, 3, rows)]),
            "maybe": pa.array(random.integers(0, 1000, rows), mask=random.random(rows) < 0.2),
            "comment": comment,
        }
    )
    pq.write_table(table, path, row_group_size=1 << 18)
    return table.nbytes


def quickstep_reader(path: Path, workers: int) -> Callable[[str], int]:
    import quickstep

    connection = quickstep.connect(workers=workers)
    connection.execute(f"CREATE TABLE mixed AS SELECT * FROM '{path}'")

    def read(kind: str) -> int:
        relation = connection.sql(QUERIES[kind])
        if kind == "stream":
            return sum(batch.num_rows for batch in relation.fetch_record_batch())
        return int(relation.arrow().num_rows)

    return read


def duckdb_reader(path: Path, workers: int) -> Callable[[str], int]:
    import duckdb

    connection = duckdb.connect(config={"threads": workers})
    connection.execute(f"CREATE TABLE mixed AS SELECT * FROM '{path}'")

    def read(kind: str) -> int:
        relation = connection.sql(QUERIES[kind])
        if kind == "stream":
            return sum(batch.num_rows for batch in relation.fetch_record_batch(100_000))
        return int(relation.fetch_arrow_table().num_rows)

    return read


def measure(rows: int, rounds: int, workers: int) -> dict[str, Any]:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "mixed.parquet"
        size = write_rows(path, rows)
        readers = {"quickstep": quickstep_reader(path, workers), "duckdb": duckdb_reader(path, workers)}
    times: dict[str, dict[str, list[float]]] = {engine: {kind: [] for kind in QUERIES} for engine in readers}
    for number in range(rounds + 1):
        for kind in QUERIES:
            for engine, read in readers.items():
                begun = time.perf_counter()
                seen = read(kind)
                seconds = time.perf_counter() - begun
                if seen != rows:
                    raise SystemExit(f"{engine} gave {seen} rows for {kind}, not {rows}")
                # The first round warms up.
                if number:
                    times[engine][kind].append(seconds)
    return {"bytes": size, "seconds": times}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=5_000_000)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--no-record", action="store_true")
    given = parser.parse_args()
    measured = measure(given.rows, given.rounds, given.workers)
    size = measured["bytes"]
    print(f"{given.rows:,} rows, {size / 1e6:.0f} MB, {given.workers} workers")
    for kind in QUERIES:
        rates = {
            engine: size / 1e9 / statistics.median(kinds[kind]) for engine, kinds in measured["seconds"].items()
        }
        shown = "  ".join(f"{engine} {rate:.2f} GB/s" for engine, rate in rates.items())
        print(f"{kind:7} {shown}  ratio {rates['quickstep'] / rates['duckdb']:.2f}")
    record = {
        "time": datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="seconds"),
        "commit": commit(),
        "machine": machine(),
        "rows": given.rows,
        "workers": given.workers,
        **measured,
    }
    if not given.no_record:
        with (RESULTS_FOLDER / "arrow-out.jsonl").open("a") as file:
            file.write(json.dumps(record) + "\n")


if __name__ == "__main__":
    main()
