"""Makes the Iceberg tables of these tests: `python make_iceberg.py FOLDER`, with `pyiceberg` 0.12 and `pyarrow` 26.

Deleted rows are written here, after the specification's text, since `pyiceberg` writes files anew instead. Each table was
read by DuckDB 1.5.5's `iceberg_scan` with the rows that tests/lakes.rs expects.
"""
import datetime
import decimal
import glob
import json
import os
import shutil
import sys
import uuid

import pyarrow as pa
import pyarrow.parquet as pq
from pyiceberg.catalog.sql import SqlCatalog
from pyiceberg.conversions import to_bytes
from pyiceberg.manifest import (
    DataFile,
    DataFileContent,
    FileFormat,
    ManifestContent,
    ManifestEntry,
    ManifestEntryStatus,
    ManifestWriterV2,
    write_manifest_list,
)
from pyiceberg.partitioning import PartitionField, PartitionSpec
from pyiceberg.schema import Schema
from pyiceberg.transforms import BucketTransform, DayTransform, IdentityTransform, TruncateTransform
from pyiceberg.typedef import Record
from pyiceberg.types import *

ROOT = os.path.abspath(sys.argv[1])
WAREHOUSE = "/tmp/lakes-warehouse"
shutil.rmtree(WAREHOUSE, ignore_errors=True)
os.makedirs(WAREHOUSE)
CATALOG = SqlCatalog("c", uri="sqlite:///:memory:", warehouse=f"file://{WAREHOUSE}")
CATALOG.create_namespace("n")
UTC = datetime.timezone.utc


def create(name, schema, spec=None, version=2, properties=None):
    return CATALOG.create_table(
        f"n.{name}",
        schema,
        location=f"file://{WAREHOUSE}/{name}",
        partition_spec=spec or PartitionSpec(),
        properties={"format-version": str(version), **(properties or {})},
    )


def rows(table, *columns):
    return pa.Table.from_arrays([pa.array(c, f.type) for c, f in zip(columns, table.schema().as_arrow())], schema=table.schema().as_arrow())


def every_type():
    day = datetime.date(2024, 2, 29)
    moment = datetime.datetime(2024, 2, 29, 12, 30, 15, 123456)
    schema = Schema(
        NestedField(1, "b", BooleanType()),
        NestedField(2, "i", IntegerType()),
        NestedField(3, "l", LongType()),
        NestedField(4, "f", FloatType()),
        NestedField(5, "d", DoubleType()),
        NestedField(6, "dec", DecimalType(30, 2)),
        NestedField(7, "day", DateType()),
        NestedField(8, "t", TimeType()),
        NestedField(9, "ts", TimestampType()),
        NestedField(10, "tz", TimestamptzType()),
        NestedField(11, "s", StringType()),
        NestedField(12, "u", UUIDType()),
        NestedField(13, "fix", FixedType(3)),
        NestedField(14, "bin", BinaryType()),
        NestedField(15, "list", ListType(16, LongType(), element_required=False)),
        NestedField(17, "map", MapType(18, StringType(), 19, IntegerType(), value_required=False)),
        NestedField(20, "st", StructType(NestedField(21, "x", IntegerType()), NestedField(22, "y", StringType()))),
    )
    table = create("every_type", schema)
    table.append(
        rows(
            table,
            [True, None, False],
            [1, None, -2147483648],
            [1, None, 9223372036854775807],
            [1.5, None, float("nan")],
            [1.5, None, float("-inf")],
            [decimal.Decimal("1.25"), None, decimal.Decimal("-1234567890123456789012345678.99")],
            [day, None, datetime.date(1, 1, 1)],
            [datetime.time(12, 30, 15, 5), None, datetime.time(0)],
            [moment, None, moment],
            [moment.replace(tzinfo=UTC), None, moment.replace(tzinfo=UTC)],
            ["ä", None, ""],
            [uuid.UUID(int=1).bytes, None, uuid.UUID(int=2).bytes],
            [b"abc", None, b"\0\0\0"],
            [b"\xff", None, b""],
            [[1, None], None, []],
            [[("k", 1)], None, []],
            [{"x": 1, "y": "p"}, None, {"x": None, "y": None}],
        )
    )


def evolved():
    """Columns renamed, moved, widened, dropped and added, also in a struct; another partitioning; snapshots."""
    schema = Schema(
        NestedField(1, "id", IntegerType()),
        NestedField(2, "name", StringType()),
        NestedField(3, "gone", LongType()),
        NestedField(4, "st", StructType(NestedField(5, "x", IntegerType()), NestedField(6, "y", StringType()))),
    )
    table = create("evolved", schema, PartitionSpec(PartitionField(2, 1000, IdentityTransform(), "name")))
    table.append(rows(table, [1, 2, 3], ["a", "b", None], [7, 7, 7], [{"x": k, "y": f"y{k}"} for k in range(3)]))
    with table.update_schema(allow_incompatible_changes=True) as update:
        update.update_column("id", LongType())
        update.delete_column("gone")
        update.rename_column(("st", "y"), "why")
        update.add_column(("st", "z"), DateType())
        update.move_first("name")
    with table.update_schema() as update:
        update.rename_column("id", "number")
        update.add_column("gone", StringType())
    with table.update_spec() as update:
        update.remove_field("name")
        update.add_field("number", TruncateTransform(10), "number_10")
    table.append(
        pa.Table.from_pylist(
            [{"name": "c", "number": 3_000_000_000, "st": {"x": 9, "why": "w", "z": datetime.date(2024, 1, 1)}, "gone": "back"}],
            schema=table.schema().as_arrow(),
        )
    )
    table.delete("number = 2")


def parted():
    """Partitions by day, bucket and truncated text, version 1."""
    schema = Schema(NestedField(1, "at", TimestampType()), NestedField(2, "k", LongType()), NestedField(3, "s", StringType()))
    spec = PartitionSpec(
        PartitionField(1, 1000, DayTransform(), "day"),
        PartitionField(2, 1001, BucketTransform(4), "bucket"),
        PartitionField(3, 1002, TruncateTransform(1), "first"),
    )
    table = create("parted", schema, spec, version=1)
    days = [datetime.datetime(2024, 1, 1 + k % 3, k) for k in range(6)]
    table.append(rows(table, days, list(range(6)), [f"{'ab'[k % 2]}{k}" for k in range(6)]))


class Deletes(ManifestWriterV2):
    def content(self):
        return ManifestContent.DELETES

    @property
    def _meta(self):
        return {**super()._meta, "content": "deletes"}


def deletes():
    """Rows deleted by place and by value, in files that came before and after."""
    schema = Schema(NestedField(1, "id", LongType()), NestedField(2, "p", StringType()), NestedField(3, "v", IntegerType()))
    spec = PartitionSpec(PartitionField(2, 1000, IdentityTransform(), "p"))
    table = create("deletes", schema, spec)
    table.append(rows(table, list(range(10)), ["x"] * 5 + ["y"] * 5, [k % 3 for k in range(10)]))
    table.append(rows(table, list(range(100, 104)), ["x"] * 4, [None, 1, 2, 0]))
    location = f"{WAREHOUSE}/deletes"
    snapshot = table.current_snapshot()
    files = [task.file for task in table.scan().plan_files()]
    of = lambda partition, rows: next(f.file_path for f in files if f.partition[0] == partition and f.record_count == rows)

    def parquet(name, arrow):
        path = f"{location}/data/{name}.parquet"
        pq.write_table(arrow, path, store_schema=False)
        return f"file://{path}", os.path.getsize(path)

    ided = lambda name, type, id: pa.field(name, type, nullable=False, metadata={"PARQUET:field_id": str(id)})
    places = pa.schema([ided("file_path", pa.string(), 2147483546), ided("pos", pa.int64(), 2147483545)])
    made = []

    def entry(content, path, size, count, partition, ids=None, bounds=None):
        file = DataFile.from_args(
            content=content, file_path=path, file_format=FileFormat.PARQUET, partition=Record(partition), record_count=count,
            file_size_in_bytes=size, column_sizes={}, value_counts={}, null_value_counts={}, nan_value_counts={},
            lower_bounds=bounds or {}, upper_bounds=bounds or {}, key_metadata=None, split_offsets=None, equality_ids=ids, sort_order_id=None,
        )
        made.append(ManifestEntry.from_args(status=ManifestEntryStatus.ADDED, snapshot_id=SNAPSHOT, sequence_number=None, file_sequence_number=None, data_file=file))

    SNAPSHOT = 4242
    x5, y5 = of("x", 5), of("y", 5)
    path, size = parquet("delete-places", pa.table([[x5, x5], [0, 4]], schema=places))
    entry(DataFileContent.POSITION_DELETES, path, size, 2, "x")
    path, size = parquet("delete-places-of-one", pa.table([[y5], [1]], schema=places))
    bound = y5.encode()
    entry(DataFileContent.POSITION_DELETES, path, size, 1, "y", bounds={2147483546: bound})
    # In partition x: v NULL or 1; in y none of these.
    values = pa.schema([pa.field("v", pa.int32(), metadata={"PARQUET:field_id": "3"})])
    path, size = parquet("delete-values", pa.table([pa.array([None, 1], pa.int32())], schema=values))
    entry(DataFileContent.EQUALITY_DELETES, path, size, 2, "x", ids=[3])
    manifest_path = f"file://{location}/metadata/deletes-m0.avro"
    with Deletes(spec, schema, table.io.new_output(manifest_path), SNAPSHOT, "deflate") as writer:
        for one in made:
            writer.add(one)
    manifest = writer.to_manifest_file()
    list_path = f"file://{location}/metadata/snap-deletes.avro"
    sequence = snapshot.sequence_number + 1
    with write_manifest_list(2, table.io.new_output(list_path), SNAPSHOT, snapshot.snapshot_id, sequence, "deflate") as writer:
        writer.add_manifests(snapshot.manifests(table.io) + [manifest])
    old = sorted(glob.glob(f"{location}/metadata/*.metadata.json"))[-1]
    metadata = json.load(open(old))
    time = metadata["last-updated-ms"] + 1000
    metadata["snapshots"].append({"snapshot-id": SNAPSHOT, "parent-snapshot-id": snapshot.snapshot_id, "sequence-number": sequence, "timestamp-ms": time, "manifest-list": list_path, "summary": {"operation": "delete"}, "schema-id": 0})
    metadata["current-snapshot-id"] = SNAPSHOT
    metadata["last-sequence-number"] = sequence
    metadata["last-updated-ms"] = time
    metadata["snapshot-log"].append({"snapshot-id": SNAPSHOT, "timestamp-ms": time})
    metadata["refs"]["main"]["snapshot-id"] = SNAPSHOT
    json.dump(metadata, open(f"{location}/metadata/00003-{uuid.UUID(int=3)}.metadata.json", "w"))
    # A row that came after its value was deleted stays.
    table = CATALOG.register_table("n.deletes_again", f"file://{location}/metadata/00003-{uuid.UUID(int=3)}.metadata.json")
    table.append(rows(table, [200], ["x"], [1]))


every_type()
evolved()
parted()
deletes()
for name in ("every_type", "evolved", "parted", "deletes"):
    shutil.rmtree(f"{ROOT}/{name}", ignore_errors=True)
    shutil.copytree(f"{WAREHOUSE}/{name}", f"{ROOT}/{name}")
