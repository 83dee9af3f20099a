"""Makes the Delta tables of these tests: `python make_delta.py FOLDER`, with `deltalake` 1.6 and `pyarrow` 26.

What `deltalake` does not write (deletion vectors, column mapping, checkpoints in parts and of version 2) is written here
after the protocol's text. Each table was read by DuckDB 1.5.5's `delta_scan`, which stands on Delta's own kernel, with the
rows that tests/lakes.rs expects; `check_delta.py` compares.
"""
import datetime
import decimal
import json
import os
import shutil
import struct
import sys
import uuid
import zlib

import pyarrow as pa
import pyarrow.parquet as pq
from deltalake import DeltaTable, write_deltalake

ROOT = sys.argv[1]
UTC = datetime.timezone.utc
LETTERS = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ.-:+=^!/*?&<>()[]{}@%$#"


def at(name):
    path = os.path.join(ROOT, name)
    shutil.rmtree(path, ignore_errors=True)
    return path


def log(path, version, actions):
    os.makedirs(f"{path}/_delta_log", exist_ok=True)
    with open(f"{path}/_delta_log/{version:020}.json", "w") as out:
        out.write("\n".join(json.dumps(action) for action in actions) + "\n")


def field(name, type, metadata=None):
    return {"name": name, "type": type, "nullable": True, "metadata": metadata or {}}


def metadata(fields, partitions=(), configuration=None):
    return {
        "metaData": {
            "id": "7a1e5f0e-0000-4000-8000-000000000001",
            "format": {"provider": "parquet", "options": {}},
            "schemaString": json.dumps({"type": "struct", "fields": fields}),
            "partitionColumns": list(partitions),
            "configuration": configuration or {},
            "createdTime": 1700000000000,
        }
    }


def protocol(*features):
    return {
        "protocol": {
            "minReaderVersion": 3,
            "minWriterVersion": 7,
            "readerFeatures": list(features),
            "writerFeatures": list(features),
        }
    }


def add(path, rows, size, stats=None, partition=None, vector=None):
    statistics = {"numRecords": rows, **(stats or {})}
    action = {
        "path": path,
        "partitionValues": partition or {},
        "size": size,
        "modificationTime": 1700000000000,
        "dataChange": True,
        "stats": json.dumps(statistics),
    }
    if vector:
        action["deletionVector"] = vector
    return {"add": action}


def every_type():
    """Every type, partitions by text, number, date and time, NULLs, and columns that were added later."""
    path = at("every_type")
    day = datetime.date(2024, 2, 29)
    moment = datetime.datetime(2024, 2, 29, 12, 30, 15, 123456)
    rows = 4
    table = pa.table(
        {
            "b": pa.array([True, False, None, True]),
            "i8": pa.array([1, -128, None, 127], pa.int8()),
            "i16": pa.array([1, -32768, None, 32767], pa.int16()),
            "i32": pa.array([1, -2147483648, None, 7], pa.int32()),
            "i64": pa.array([1, -9223372036854775808, None, 9223372036854775807], pa.int64()),
            "f32": pa.array([1.5, float("-inf"), None, float("nan")], pa.float32()),
            "f64": pa.array([1.5, 1e300, None, float("nan")], pa.float64()),
            "d9": pa.array([decimal.Decimal("1.25"), decimal.Decimal("-9.99"), None, decimal.Decimal("0.01")], pa.decimal128(9, 2)),
            "d38": pa.array([decimal.Decimal("123456789012345678901234567890.25"), None, None, decimal.Decimal("0.01")], pa.decimal128(38, 2)),
            "s": pa.array(["ä", "", None, "a'b\"c\n"]),
            "bin": pa.array([b"\x00\xff", b"", None, b"x"], pa.binary()),
            "day": pa.array([day, datetime.date(1, 1, 1), None, datetime.date(9999, 12, 31)]),
            "ts": pa.array([moment] * 2 + [None, moment], pa.timestamp("us", "UTC")),
            "ntz": pa.array([moment] * 2 + [None, moment], pa.timestamp("us")),
            "list": pa.array([[1, None, 3], [], None, [4]], pa.list_(pa.int64())),
            "map": pa.array([[("k", 1)], [], None, [("a", None), ("b", 2)]], pa.map_(pa.string(), pa.int32())),
            "st": pa.array([{"x": 1, "y": ["p"]}, {"x": None, "y": None}, None, {"x": 4, "y": []}], pa.struct([("x", pa.int32()), ("y", pa.list_(pa.string()))])),
            "p_s": pa.array(["a b/c=d%", "ä", None, "a b/c=d%"]),
            "p_i": pa.array([1, 2, None, 1], pa.int32()),
            "p_d": pa.array([day, day, None, day]),
            "p_ts": pa.array([moment, moment, None, moment], pa.timestamp("us", "UTC")),
        }
    )
    write_deltalake(path, table, partition_by=["p_s", "p_i", "p_d", "p_ts"])
    more = table.append_column("added", pa.array(["new"] * rows))
    write_deltalake(path, more, mode="append", schema_mode="merge", partition_by=["p_s", "p_i", "p_d", "p_ts"])


def versions():
    """Nine commits, deletes and updates, a checkpoint in the middle, and a log that was cleaned up before it."""
    path = at("versions")
    for n in range(6):
        write_deltalake(path, pa.table({"n": pa.array([n * 10 + k for k in range(5)], pa.int64()), "t": [f"v{n}"] * 5}), mode="append")
    table = DeltaTable(path)
    table.delete("n % 10 = 4")
    table.create_checkpoint()
    table.update(updates={"t": "'changed'"}, predicate="n = 50")
    write_deltalake(path, pa.table({"n": pa.array([1000], pa.int64()), "t": ["last"]}), mode="append")
    for version in range(5):
        os.remove(f"{path}/_delta_log/{version:020}.json")


def base85(data):
    out = ""
    for at in range(0, len(data), 4):
        number = int.from_bytes(data[at : at + 4], "big")
        out += "".join(LETTERS[number // 85**power % 85] for power in (4, 3, 2, 1, 0))
    return out


def bitmap(rows):
    """A Roaring bitmap of 64 bits, one container of sorted numbers."""
    body = struct.pack("<IQI", 1681511377, 1, 0)
    body += struct.pack("<II", 12346, 1)
    body += struct.pack("<HH", 0, len(rows) - 1) + struct.pack("<I", 16)
    return body + b"".join(struct.pack("<H", row) for row in rows)


def deletion_vectors():
    """Rows deleted in a file of bitmaps, in the log itself, and a file whose bitmap was exchanged."""
    path = at("deletion_vectors")
    os.makedirs(path)
    sizes = {}
    for name, start in (("one", 0), ("two", 1000), ("three", 2000)):
        table = pa.table({"n": pa.array(range(start, start + 1000), pa.int64()), "s": [f"r{n}" for n in range(1000)]})
        pq.write_table(table, f"{path}/{name}.parquet", row_group_size=300, compression="zstd")
        sizes[name] = os.path.getsize(f"{path}/{name}.parquet")
    stats = lambda start: {"minValues": {"n": start}, "maxValues": {"n": start + 999}, "nullCount": {"n": 0}}
    fields = [field("n", "long"), field("s", "string")]
    configuration = {"delta.enableDeletionVectors": "true"}
    log(path, 0, [protocol("deletionVectors"), metadata(fields, configuration=configuration)] + [add(f"{name}.parquet", 1000, sizes[name], stats(k * 1000)) for k, name in enumerate(("one", "two", "three"))])
    unique = uuid.UUID("d2c639aa-8816-431a-aaf6-d3fe2512ff61")
    first, second = bitmap([0, 299, 300, 999]), bitmap([7])
    file = b"\x01"
    places = []
    for body in (first, second):
        places.append(len(file))
        file += struct.pack(">I", len(body)) + body + struct.pack(">I", zlib.crc32(body))
    with open(f"{path}/deletion_vector_{unique}.bin", "wb") as out:
        out.write(file)

    def vector(place, body, rows):
        return {"storageType": "u", "pathOrInlineDv": base85(unique.bytes), "offset": place, "sizeInBytes": len(body), "cardinality": rows}

    def remove(name, old=None):
        action = {"path": f"{name}.parquet", "deletionTimestamp": 1700000000000, "dataChange": True, "extendedFileMetadata": True, "partitionValues": {}, "size": sizes[name]}
        if old:
            action["deletionVector"] = old
        return {"remove": action}

    wide = lambda start: {**stats(start), "tightBounds": False}
    old = vector(places[1], second, 1)
    log(path, 1, [remove("one"), add("one.parquet", 1000, sizes["one"], wide(0), vector=old)])
    inline = bitmap(list(range(500, 1000)))
    padded = inline + b"\0" * (-len(inline) % 4)
    here = {"storageType": "i", "pathOrInlineDv": base85(padded), "sizeInBytes": len(inline), "cardinality": 500}
    log(path, 2, [
        add("one.parquet", 1000, sizes["one"], wide(0), vector=vector(places[0], first, 4)),
        remove("one", old),
        remove("two"),
        add("two.parquet", 1000, sizes["two"], wide(1000), vector=here),
    ])


def column_mapping(mode):
    """Columns that go by other names in files: renamed, moved, dropped, added, also inside a struct."""
    path = at(f"mapping_by_{mode}")
    os.makedirs(path)

    def mapped(name, type, id, physical):
        return field(name, type, {"delta.columnMapping.id": id, "delta.columnMapping.physicalName": physical})

    def own(name, type, id):
        return pa.field(name, type, metadata={"PARQUET:field_id": str(id)})

    # By identifier, the names in files are not even the log's.
    name = (lambda physical: physical) if mode == "name" else (lambda physical: f"file-{physical}")
    inner = pa.struct([own(name("col-x"), pa.int32(), 4), own(name("col-y"), pa.string(), 5)])
    schema = pa.schema([own(name("col-a"), pa.int32(), 1), own(name("col-dropped"), pa.int64(), 2), own(name("col-st"), inner, 3)])
    table = pa.table([pa.array([1, 2, 3], pa.int32()), pa.array([9, 9, 9], pa.int64()), pa.array([{name("col-x"): k, name("col-y"): f"y{k}"} for k in range(3)], inner)], schema=schema)
    pq.write_table(table, f"{path}/f.parquet", store_schema=False)
    struct_type = {"type": "struct", "fields": [mapped("renamed y", "string", 5, "col-y"), mapped("x", "integer", 4, "col-x"), mapped("later", "date", 8, "col-later")]}
    fields = [mapped("st", struct_type, 3, "col-st"), mapped("renamed a", "integer", 1, "col-a"), mapped("added", "string", 6, "col-added"), mapped("p", "string", 7, "col-p")]
    configuration = {"delta.columnMapping.mode": mode, "delta.columnMapping.maxColumnId": "8"}
    stats = {"minValues": {"col-a": 1}, "maxValues": {"col-a": 3}, "nullCount": {"col-a": 0}}
    log(path, 0, [
        {"protocol": {"minReaderVersion": 2, "minWriterVersion": 5}},
        metadata(fields, ["p"], configuration),
        add("f.parquet", 3, os.path.getsize(f"{path}/f.parquet"), stats, {"col-p": "part"}),
    ])


def checkpoints():
    """One table under three kinds of checkpoint: in parts, of version 2 in JSON, of version 2 in Parquet with sidecars."""
    source = at("source")
    for n in range(4):
        write_deltalake(source, pa.table({"n": pa.array([n, n + 100], pa.int64()), "p": ["x", "y"]}), mode="append", partition_by=["p"])
    table = DeltaTable(source)
    table.delete("n = 101")
    table.create_checkpoint()
    name = "00000000000000000004.checkpoint"
    rows = pq.read_table(f"{source}/_delta_log/{name}.parquet")

    def copied(to):
        path = at(to)
        shutil.copytree(source, path)
        for n in range(5):
            os.remove(f"{path}/_delta_log/{n:020}.json")
        os.remove(f"{path}/_delta_log/{name}.parquet")
        os.remove(f"{path}/_delta_log/_last_checkpoint")
        return path

    path = copied("checkpoint_in_parts")
    for part, piece in enumerate((rows.slice(0, 5), rows.slice(5)), 1):
        pq.write_table(piece, f"{path}/_delta_log/{name}.{part:010}.{2:010}.parquet")
    # A part of another writer's that is not whole.
    pq.write_table(rows.slice(0, 1), f"{path}/_delta_log/{name}.{1:010}.{3:010}.parquet")

    all_rows = rows.to_pylist()
    files = [row for row in all_rows if row["add"] or row["remove"]]
    adds = [k for k, row in enumerate(all_rows) if row["add"]]
    plain = [row for row in all_rows if row["metaData"]]
    for form in ("json", "parquet"):
        path = copied(f"checkpoint_v2_{form}")
        os.makedirs(f"{path}/_delta_log/_sidecars")
        sidecars = []
        for number, chosen in enumerate((adds[:3], adds[3:])):
            sidecar = f"{uuid.UUID(int=number + 1)}.parquet"
            piece = rows.take(chosen).select(["add", "remove"])
            pq.write_table(piece, f"{path}/_delta_log/_sidecars/{sidecar}")
            size = os.path.getsize(f"{path}/_delta_log/_sidecars/{sidecar}")
            sidecars.append({"sidecar": {"path": sidecar, "sizeInBytes": size, "modificationTime": 1700000000000}})
        found = dict(plain[0]["metaData"])
        found["configuration"] = dict(found["configuration"] or [])
        found["format"] = {"provider": "parquet", "options": {}}
        found = {key: value for key, value in found.items() if value is not None}
        lines = [{"checkpointMetadata": {"version": 4}}, protocol("v2Checkpoint"), {"metaData": found}] + sidecars
        unique = "80a083e8-7026-4e79-81be-64bd76c43a11"
        if form == "json":
            with open(f"{path}/_delta_log/{name}.{unique}.json", "w") as out:
                out.write("\n".join(json.dumps(line) for line in lines))
        else:
            string_map = pa.map_(pa.string(), pa.string())
            columns = {
                "checkpointMetadata": pa.struct([("version", pa.int64())]),
                "protocol": pa.struct([("minReaderVersion", pa.int32()), ("minWriterVersion", pa.int32()), ("readerFeatures", pa.list_(pa.string())), ("writerFeatures", pa.list_(pa.string()))]),
                "metaData": pa.struct([("id", pa.string()), ("format", pa.struct([("provider", pa.string()), ("options", string_map)])), ("schemaString", pa.string()), ("partitionColumns", pa.list_(pa.string())), ("configuration", string_map), ("createdTime", pa.int64())]),
                "sidecar": pa.struct([("path", pa.string()), ("sizeInBytes", pa.int64()), ("modificationTime", pa.int64())]),
            }
            listed = lambda value: {**value, "configuration": [], "format": {"provider": "parquet", "options": []}}
            arrays = [pa.array([(listed(line[key]) if key == "metaData" else line[key]) if key in line else None for line in lines], ty) for key, ty in columns.items()]
            pq.write_table(pa.table(arrays, names=list(columns)), f"{path}/_delta_log/{name}.{unique}.parquet")
        log(path, 5, [{"commitInfo": {"timestamp": 1700000000000, "operation": "TEST"}}])
    shutil.rmtree(source)


def widened():
    """A column whose type became wider, in a file from before and one from after, with times in commits."""
    path = at("widened")
    os.makedirs(path)
    pq.write_table(pa.table({"n": pa.array([1, 2], pa.int16()), "d": pa.array([datetime.date(2024, 1, 1)] * 2), "m": pa.array([decimal.Decimal("1.5")] * 2, pa.decimal128(5, 1))}), f"{path}/old.parquet", store_schema=False)
    pq.write_table(pa.table({"n": pa.array([3_000_000_000], pa.int64()), "d": pa.array([datetime.datetime(2024, 1, 2, 3)], pa.timestamp("us")), "m": pa.array([decimal.Decimal("12345678901234567890.125")], pa.decimal128(23, 3))}), f"{path}/new.parquet", store_schema=False)
    info = lambda millis: {"commitInfo": {"inCommitTimestamp": millis, "timestamp": millis + 5, "operation": "WRITE"}}
    size = lambda name: os.path.getsize(f"{path}/{name}.parquet")
    narrow = [field("n", "short"), field("d", "date"), field("m", "decimal(5,1)")]
    wide = [field("n", "long"), field("d", "timestamp_ntz"), field("m", "decimal(23,3)")]
    features = protocol("typeWidening", "timestampNtz")
    features["protocol"]["writerFeatures"].append("inCommitTimestamp")
    configuration = {"delta.enableTypeWidening": "true", "delta.enableInCommitTimestamps": "true"}
    log(path, 0, [info(1_700_000_000_000), features, metadata(narrow, configuration=configuration), add("old.parquet", 2, size("old"), {"minValues": {"n": 1}, "maxValues": {"n": 2}, "nullCount": {"n": 0}})])
    log(path, 1, [info(1_700_000_100_000), metadata(wide, configuration=configuration), add("new.parquet", 1, size("new"), {"minValues": {"n": 3_000_000_000}, "maxValues": {"n": 3_000_000_000}, "nullCount": {"n": 0}})])


def refused():
    """A table that uses something that is not known."""
    path = at("refused")
    log(path, 0, [protocol("deletionVectors", "catalogManaged", "someNewThing"), metadata([field("n", "long")])])


every_type()
versions()
deletion_vectors()
column_mapping("name")
column_mapping("id")
checkpoints()
widened()
refused()
