"""Makes the tutorial's data from the IANA time zone database, which is in the public domain.

`zones.tab` is the database's own zone1970.tab, comments and all. `countries.csv` is its iso3166.tab with a heading.
`clock_changes.parquet` has a row for every moment from 1850 to the end of 2030 at which clocks somewhere were set to
another offset, or the offset got another name: read from the compiled zone files (RFC 8536), which Debian's package
tzdata installs with all moments written out.

    python book/data/make.py        writes the three files beside itself
"""

from __future__ import annotations

import struct
import sys
from datetime import datetime, timezone
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet

ZONE_FILES = Path("/usr/share/zoneinfo")
END = int(datetime(2031, 1, 1, tzinfo=timezone.utc).timestamp())
HEADER = struct.Struct(">20x6l")
TYPE = struct.Struct(">lbB")


def changes(zone: str) -> list[tuple[int, int, bool, str]]:
    """Moment, offset in seconds, whether it is summer time, and name, of each change."""
    data = (ZONE_FILES / zone).read_bytes()
    if data[:4] != b"TZif":
        raise ValueError(f"{zone} is no compiled zone file")
    # The first part has 32-bit moments and is passed over.
    _, _, leaps, moments, types, letters = HEADER.unpack_from(data)
    second = HEADER.size + moments * 5 + types * TYPE.size + letters + leaps * 8
    utc, standard, *_ = HEADER.unpack_from(data)
    second += utc + standard
    _, _, _, moments, types, letters = HEADER.unpack_from(data, second)
    at = second + HEADER.size
    times = struct.unpack_from(f">{moments}q", data, at)
    kinds = data[at + 8 * moments : at + 9 * moments]
    at += 9 * moments
    offsets = [TYPE.unpack_from(data, at + TYPE.size * number) for number in range(types)]
    names = data[at + TYPE.size * types :][:letters]
    rows = []
    for time, kind in zip(times, kinds):
        offset, summer, name = offsets[kind]
        rows.append((time, offset, bool(summer), names[name : names.index(b"\0", name)].decode()))
    return rows


def main() -> int:
    here = Path(__file__).parent
    tab = (ZONE_FILES / "zone1970.tab").read_text()
    (here / "zones.tab").write_text(tab)
    countries = [line.split("\t") for line in (ZONE_FILES / "iso3166.tab").read_text().splitlines() if line[:1] != "#"]
    quoted = [f'{code},"{name}"' if "," in name else f"{code},{name}" for code, name in countries]
    (here / "countries.csv").write_text("\n".join(["code,country", *quoted]) + "\n")
    rows = []
    for line in tab.splitlines():
        if line[:1] != "#":
            zone = line.split("\t")[2]
            rows += [(zone, *change) for change in changes(zone) if -3_786_825_600 <= change[0] < END]
    columns = list(zip(*rows))
    table = pa.table(
        {
            "zone": pa.array(columns[0]),
            "moment": pa.array([t * 1_000_000 for t in columns[1]], pa.timestamp("us", "UTC")),
            "offset_seconds": pa.array(columns[2], pa.int32()),
            "summer_time": pa.array(columns[3]),
            "name": pa.array(columns[4]),
        }
    )
    pyarrow.parquet.write_table(table, here / "clock_changes.parquet", compression="zstd")
    print(f"{len(rows)} changes in {len(set(columns[0]))} zones, {len(countries)} countries")
    return 0


if __name__ == "__main__":
    sys.exit(main())
