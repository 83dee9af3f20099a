"""CSV copies of the Parquet files, for the engines that cannot read Parquet.

Written once into a folder beside them, by us and outside of every measured
time: what such an engine's load holds is reading the text.  Text is quoted,
NULL is nothing at all between two commas.
"""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet

ENGINES_THAT_READ_CSV = ("monetdb", "postgres")
FOLDER = "csv"


def csv_file(parquet: Path) -> Path:
    return parquet.parent / FOLDER / f"{parquet.stem}.csv"


def write_csv_file(parquet: Path) -> Path:
    """Writes a file's copy unless it is there and newer; returns the copy."""
    file = csv_file(parquet)
    if file.is_file() and file.stat().st_mtime >= parquet.stat().st_mtime:
        return file
    file.parent.mkdir(exist_ok=True)
    unfinished = file.with_suffix(".unfinished")
    source = pyarrow.parquet.ParquetFile(parquet)
    schema = pa.schema([field.with_type(plain_type(field.type)) for field in source.schema_arrow])
    options = pyarrow.csv.WriteOptions(include_header=False, quoting_style="needed")
    with pyarrow.csv.CSVWriter(unfinished, schema, write_options=options) as writer:
        for batch in source.iter_batches(batch_size=100_000):
            writer.write(batch.cast(schema))
    unfinished.rename(file)
    return file


def plain_type(kind: pa.DataType) -> pa.DataType:
    """The same values in a type that pyarrow's CSV writer knows."""
    return pa.string() if pa.types.is_string_view(kind) else kind
