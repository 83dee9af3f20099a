"""Writes postgresql15.tsv: values as a PostgreSQL 15 sends them, in text and binary.

python crates/pgproto/tests/capture.py HOST > crates/pgproto/tests/postgresql15.tsv

HOST is a folder with the server's socket. A line has the type as ours is called, the value as it is read, its text, and
the bytes of its binary form in hexadecimal. The first line is the server's version.
"""

import struct
import subprocess
import sys

D38 = "99999999999999999999999999999999999999"
VALUES = [
    ("BOOLEAN", "boolean", ["true", "f"]),
    ("SMALLINT", "int2", ["0", "-32768", "32767"]),
    ("INTEGER", "int4", ["0", "-2147483648", "2147483647"]),
    ("BIGINT", "int8", ["-9223372036854775808", "9223372036854775807", "42"]),
    ("TINYINT", "int2", ["-128", "127"]),
    ("UTINYINT", "int2", ["255"]),
    ("USMALLINT", "int4", ["65535"]),
    ("UINTEGER", "int8", ["4294967295"]),
    ("UBIGINT", "numeric(20,0)", ["0", "18446744073709551615"]),
    ("HUGEINT", "numeric(39,0)", ["170141183460469231731687303715884105727", "-170141183460469231731687303715884105728", "10000"]),
    ("REAL", "float4", ["0", "-0", "1.5", "3.4028235e38", "1e-45", "NaN", "Infinity", "-Infinity", "1000000", "123456", "9e9", "8.5e9", "0.0001", "0.00001"]),
    ("DOUBLE PRECISION", "float8", ["0", "-0", "0.1", "1e23", "8.41e21", "1.7976931348623157e308", "5e-324", "NaN", "Infinity", "-Infinity", "1e15", "123456789012345", "1e-5", "0.0001", "-12.5", "9007199254740993", "1e100"]),
    ("DECIMAL(15,2)", "numeric(15,2)", ["0", "0.01", "-0.05", "1", "10000", "100000000", "1234567890123.45", "-9999999999999.99", "12345.60"]),
    ("DECIMAL(18,18)", "numeric(18,18)", ["0.000000000000000001", "-0.999999999999999999", "0.1", "0"]),
    ("DECIMAL(18,17)", "numeric(18,17)", ["9.99999999999999999", "0.00010000000000000"]),
    ("DECIMAL(18,16)", "numeric(18,16)", ["99.9999999999999999", "-0.0001"]),
    ("DECIMAL(5,3)", "numeric(5,3)", ["0.001", "12.345", "-99.999", "10"]),
    ("DECIMAL(9,0)", "numeric(9,0)", ["0", "10000", "123456789", "-20000000"]),
    ("DECIMAL(38,0)", "numeric(38,0)", [D38, "-" + D38, "0", "1" + "0" * 37]),
    ("DECIMAL(38,38)", "numeric(38,38)", ["0." + D38, "0." + "0" * 37 + "1", "0"]),
    ("DECIMAL(38,10)", "numeric(38,10)", ["1.5", "-1234567890123456789012345678.0123456789", "0.0000000001", "10000.0001"]),
    ("DECIMAL(20,5)", "numeric(20,5)", ["123456789012345.67890", "0.00001"]),
    ("CHAR(5)", "char(5)", ["ab", "", "äöü", "abcde"]),
    ("VARCHAR(7)", "varchar(7)", ["abc", "", "ab  "]),
    ("TEXT", "text", ["", "plain", "ünï ☃ 𝄞", "a'b\"c", "NULL"]),
    ("BYTEA", "bytea", ["\\x", "\\x00ff10", "\\xdeadBEEF"]),
    ("DATE", "date", ["1970-01-01", "2000-01-01", "1999-12-31", "infinity", "-infinity", "4714-11-24 BC", "0001-12-31 BC", "5874897-12-31", "0044-03-15 BC", "12345-06-07", "2024-02-29"]),
    ("TIME", "time", ["00:00:00", "24:00:00", "23:59:59.999999", "04:05:06.7", "12:30"]),
    ("TIMETZ", "timetz", ["00:00:00+15:59:59", "24:00:00-15:59:59", "04:05:06.789+05:30", "12:00-08", "00:00+00"]),
    ("TIMESTAMP", "timestamp", ["2000-01-01 00:00:00", "1999-12-31 23:59:59.999999", "infinity", "-infinity", "0044-03-15 12:00:00 BC", "294246-12-31 23:59:59.999999", "4713-01-01 00:00:00 BC", "2024-05-06 07:08:09.5", "10000-01-01 00:00:00.000001"]),
    ("TIMESTAMPTZ", "timestamptz", ["2000-01-01 00:00:00+00", "2024-07-01 12:00:00+00", "1890-01-01 00:00:00+00", "infinity", "-infinity", "0044-03-15 12:00:00+00 BC", "2024-01-15 23:59:59.999999+00", "294246-06-01 00:00:00+00", "200000-06-01 00:00:00+00"]),
    ("INTERVAL", "interval", ["0", "1 year 2 mons 3 days 04:05:06.789", "-1 year -2 mons +3 days -04:05:06", "-00:00:00.000001", "1 mon", "-1 days", "178000 years", "100 hours", "-5 days +01:00:00", "1 day -00:00:01", "9223372036854775807 microseconds", "1 year -1 day"]),
    ("INTERVAL YEAR TO MONTH", "interval year to month", ["14 months", "-1 month", "0"]),
    ("INTERVAL DAY TO SECOND", "interval day to second", ["1 day 02:03:04.5", "-3 days", "0"]),
    ("BIT(3)", "bit(3)", ["101", "000"]),
    ("BIT(8)", "bit(8)", ["10000001"]),
    ("BIT VARYING", "varbit", ["", "1", "101010101", "1111111100000000"]),
    ("UUID", "uuid", ["00000000-0000-0000-0000-000000000000", "ffffffff-ffff-ffff-ffff-ffffffffffff", "a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11"]),
    ("JSON", "json", ['{"a": 1,  "b":[true,null]}', '"x"', "1.50"]),
    ("JSONB", "jsonb", ['{"b": 1, "a":[true,null]}', '"x"', '{"aa":1,"b":2,"b":3}']),
    ("INTEGER[]", "int4[]", ["{}", "{1,2,3}", "{1,NULL,-3}"]),
    ("BOOLEAN[]", "bool[]", ["{t,f,NULL}"]),
    ("BIGINT[]", "int8[]", ["{9223372036854775807}"]),
    ("DOUBLE PRECISION[]", "float8[]", ["{0.1,NaN,Infinity}"]),
    ("DECIMAL(10,2)[]", "numeric(10,2)[]", ["{1.5,-0.01,10000}"]),
    ("TEXT[]", "text[]", ['{}', '{a,"b c","",NULL,"null","a\\"b","c\\\\d","x,y","{z}"," lead",ä}']),
    ("VARCHAR(5)[]", "varchar(5)[]", ["{ab,cd}"]),
    ("DATE[]", "date[]", ["{2024-01-31,infinity}"]),
    ("TIMESTAMP[]", "timestamp[]", ['{"2024-01-31 01:02:03"}']),
    ("INTERVAL[]", "interval[]", ['{"1 day 02:00:00",00:00:01}']),
    ("BYTEA[]", "bytea[]", ['{"\\\\x00ff"}']),
    ("UUID[]", "uuid[]", ["{a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11}"]),
    ("JSON[]", "json[]", ['{"{\\"a\\": 1}"}']),
    ("JSONB[]", "jsonb[]", ['{"{\\"a\\": 1}",2}']),
    ("BIT VARYING[]", "varbit[]", ["{101,0}"]),
    ("INTEGER[][]", "int4[]", ["{}", "{{1,2},{3,NULL}}"]),
    ("TEXT[][][]", "text[]", ['{{{a,"b c"}},{{c,d}}}']),
]


def run(host: str, sql: str) -> bytes:
    command = ["psql", "-h", host, "-U", "postgres", "-qAtX", "-c", "SET timezone = 'Europe/Berlin'", "-c", sql]
    return subprocess.run(command, check=True, capture_output=True).stdout


def unescaped(text: bytes) -> bytes:
    return text.replace(b"\\\\", b"\\")


def binary(host: str, value: str) -> bytes:
    stream = run(host, f"COPY (SELECT {value}) TO STDOUT (FORMAT binary)")
    length = struct.unpack(">i", stream[21:25])[0]
    return stream[25 : 25 + length]


def main() -> None:
    host = sys.argv[1]
    print(run(host, "SELECT version()").decode().strip())
    for ours, theirs, values in VALUES:
        for value in values:
            quoted = "'" + value.replace("'", "''") + "'"
            expression = f"{quoted}::{theirs}"
            text = unescaped(run(host, f"COPY (SELECT {expression}) TO STDOUT").removesuffix(b"\n")).decode()
            assert not any(sign in value + text for sign in "\t\n"), value
            print(ours, value, text, binary(host, expression).hex(), sep="\t")


if __name__ == "__main__":
    main()
