"""Data of the kinds that other benchmarks are made of: ClickBench, the db-benchmark, joins over movies, TPC-H without order.

Each generator writes one Parquet file a table into a folder. Rows come from a fixed seed, piece by piece, so that a scale always
gives the same rows and no table need stand in memory. None of it is the original's data: shapes, names of columns, skew and
correlations are like it, and the pages that show results say so.

* `clickbench`: one table of page views, the 105 columns of ClickBench; 4 M rows at scale 1. A file of the user's own is converted
  instead with `prepare.py --hits FILE` (bytes are texts, numbers of EventDate and EventTime are days and seconds).
* `dbbench`: the db-benchmark's groups and joins after its description; 10 M rows at scale 1, NULLs in one cell of twenty of `v3`.
* `movies`: the 21 tables of the join order benchmark's schema; 400,000 titles and about 6 M rows of cast at scale 1. A title's
  country, kind, genre, year and popularity are drawn together, and companies, keywords, people and ratings follow them.
* `tpchshuffled`: TPC-H's tables, every one in random order, with keys spread over 44 bits.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet

SEED = 20130701
PIECE = 1_000_000

# A multiplier prime to the modulus: small numbers go to different ones of 44 bits.
SPREAD_BY, SPREAD_BITS = 1099511627689, 44

Columns = dict[str, Any]
Numbers = Any


def write(file: Path, pieces: Iterator[Columns]) -> None:
    writer = None
    for columns in pieces:
        table = pa.table(columns)
        writer = writer or pyarrow.parquet.ParquetWriter(file, table.schema)
        writer.write_table(table)
    if writer is not None:
        writer.close()


def pieces(rows: int, make: Callable[[Any, int, int], Columns], seed: int) -> Iterator[Columns]:
    """`make(random, first, count)` for each piece; a piece's random numbers depend on the seed and its place alone."""
    for first in range(0, rows, PIECE):
        yield make(np.random.default_rng([SEED, seed, first]), first, min(PIECE, rows - first))


def skewed(random: Any, count: int, values: int, power: float) -> Numbers:
    """Numbers below `values`, small ones frequent: the higher the power, the more so."""
    return (random.random(count) ** power * values).astype(np.int64)


def spread(numbers: Numbers) -> Numbers:
    """Different numbers of 44 bits for different small ones."""
    return ((numbers.astype(np.uint64) * np.uint64(SPREAD_BY)) & np.uint64(2**SPREAD_BITS - 1)).astype(np.int64)


def words(numbers: Numbers, vocabulary: Sequence[str]) -> Any:
    return pc.take(pa.array(vocabulary), pa.array(numbers))


def labelled(prefix: str, numbers: Numbers, suffix: str = "") -> Any:
    texts = pc.cast(pa.array(numbers), pa.string())
    return pc.binary_join_element_wise(pa.scalar(prefix), texts, pa.scalar(suffix), "")


def joined(*parts: Any) -> Any:
    return pc.binary_join_element_wise(*(pa.scalar(part) if isinstance(part, str) else part for part in parts), "")


def where(mask: Numbers, texts: Any, other: str = "") -> Any:
    return pc.if_else(pa.array(mask), texts, pa.scalar(other))


# ClickBench: hits.

HITS_OF_SCALE = 4_000_000
SITES, PAGES, PHRASES, REGIONS, USERS = 6_000, 300_000, 150_000, 5_000, 700_000
TOPICS = ("shop", "news", "auto", "video", "forum", "travel", "bank", "music", "sport", "wiki")
ADJECTIVES = ("new", "cheap", "used", "best", "free", "old", "small", "fast", "local", "great")
THINGS = ("phone", "house", "car", "film", "recipe", "ticket", "song", "job", "dress", "garden", "loan", "game")
CITIES = ("moscow", "izmir", "lagos", "lima", "paris", "delhi", "osaka", "cairo")
# Columns that no question reads and that are nearly always the same, by type.
SMALL_CONSTANT = (
    "JavaEnable GoodEvent CounterClass RefererCategoryID URLCategoryID FlashMajor FlashMinor NetMajor NetMinor"
    " UserAgentMajor CookieEnable JavascriptEnable IsArtifical SilverlightVersion1 SilverlightVersion2 SilverlightVersion4 IsOldCounter"
    " IsEvent IsParameter WithHash Sex Income Interests Robotness HistoryLength SocialSourceNetworkID ParamCurrencyID HTTPError HasGCLID"
).split()
WIDE_CONSTANT = (
    "RefererRegionID URLRegionID CodeVersion SilverlightVersion3 IPNetworkID OpenerName WindowName SendTiming DNSTiming ConnectTiming"
    " ResponseStartTiming ResponseEndTiming FetchTiming CLID ParamPrice"
).split()
EMPTY_TEXTS = (
    "FlashMinor2 UserAgentMinor Params PageCharset OriginalURL BrowserLanguage BrowserCountry SocialNetwork SocialAction"
    " SocialSourcePage ParamOrderID ParamCurrency OpenstatServiceName OpenstatCampaignID OpenstatAdID OpenstatSourceID UTMSource UTMMedium"
    " UTMCampaign UTMContent UTMTerm FromTag HitColor"
).split()
SECONDS_1970_TO_JULY_2013 = 1372636800


def hits(random: Any, first: int, count: int) -> Columns:
    page = skewed(random, count, PAGES, 3)
    # One site has six of a hundred views; the others have their pages'.
    site = np.where(random.random(count) < 0.06, 62, page * 7919 % SITES)
    topic = words(site % len(TOPICS), TOPICS)
    user = skewed(random, count, USERS, 2)
    second = np.sort(random.integers(0, 31 * 86400, count))
    moment = pa.array((SECONDS_1970_TO_JULY_2013 + second) * 1_000_000, pa.timestamp("us"))
    searched = random.random(count) < 0.13
    phrase_number = skewed(random, count, PHRASES, 3)
    phrase = joined(
        words(phrase_number % 10, ADJECTIVES), " ", words(phrase_number // 10 % 12, THINGS), " ",
        words(phrase_number // 120 % 8, CITIES), labelled(" ", phrase_number // 960),
    )
    # What a page's address and title are does not depend on who looks at it.
    address = joined("http://", topic, labelled(".site", site, ".example/"), labelled("catalog/", page % 97, "/"), labelled("page", page, ".html"))
    title = joined(words(page % 10, ADJECTIVES), " ", words(page % 12, THINGS), labelled(" Offer ", page % 1000, " of the site "), labelled("", site))
    refer_page = skewed(random, count, PAGES, 4)
    refers = random.random(count) < 0.8
    referer = where(refers, joined(labelled("https://www.from", refer_page % 3000, ".example/"), labelled("entry", refer_page, "/of/a/list?q=1")))
    model = skewed(random, count, 160, 2)
    mobile = random.random(count) < 0.06
    advertised = random.random(count) < 0.006
    columns: Columns = {
        "WatchID": pa.array(random.integers(2**62, 2**63 - 1, count)),
        "Title": where(random.random(count) < 0.9, title),
        "EventTime": moment,
        "EventDate": pa.array((SECONDS_1970_TO_JULY_2013 + second) // 86400, pa.int32()).cast(pa.date32()),
        "CounterID": pa.array(site.astype(np.int32)),
        "ClientIP": pa.array((user * 2654435761 % (2**32 - 8) - 2**31 + 4).astype(np.int32)),
        "RegionID": pa.array((skewed(random, count, REGIONS, 4)).astype(np.int32)),
        "UserID": pa.array(user * 7919197919191 + 17),
        "OS": pa.array((user % 23).astype(np.int16)),
        "UserAgent": pa.array((user % 61).astype(np.int16)),
        "URL": address,
        "Referer": referer,
        "IsRefresh": pa.array((random.random(count) < 0.12).astype(np.int16)),
        "ResolutionWidth": pa.array(np.array([0, 1024, 1280, 1366, 1440, 1600, 1920], np.int16)[user % 7]),
        "ResolutionHeight": pa.array(np.array([0, 768, 800, 768, 900, 900, 1080], np.int16)[user % 7]),
        "ResolutionDepth": pa.array(np.array([0, 24, 32], np.int16)[user % 3]),
        "IsMobile": pa.array(mobile.astype(np.int16)),
        "MobilePhone": pa.array(np.where(mobile, model % 12, 0).astype(np.int16)),
        "MobilePhoneModel": where(mobile, labelled("Model ", model)),
        "TraficSourceID": pa.array(random.integers(-1, 8, count).astype(np.int16)),
        "SearchEngineID": pa.array(np.where(searched, skewed(random, count, 40, 3) + 1, 0).astype(np.int16)),
        "SearchPhrase": where(searched, phrase),
        "AdvEngineID": pa.array(np.where(advertised, skewed(random, count, 18, 2) + 1, 0).astype(np.int16)),
        "WindowClientWidth": pa.array((random.integers(0, 160, count) * 12).astype(np.int16)),
        "WindowClientHeight": pa.array((random.integers(0, 90, count) * 12).astype(np.int16)),
        "ClientTimeZone": pa.array((user % 27 - 12).astype(np.int16)),
        "ClientEventTime": moment,
        "IsLink": pa.array((random.random(count) < 0.1).astype(np.int16)),
        "IsDownload": pa.array((random.random(count) < 0.01).astype(np.int16)),
        "IsNotBounce": pa.array((random.random(count) < 0.5).astype(np.int16)),
        "FUniqID": pa.array(user * 104729),
        "HID": pa.array(random.integers(0, 2**31, count).astype(np.int32)),
        "DontCountHits": pa.array((random.random(count) < 0.05).astype(np.int16)),
        "LocalEventTime": moment,
        "Age": pa.array((user % 6 * 10).astype(np.int16)),
        "RemoteIP": pa.array((user * 40503 % 2**31).astype(np.int32)),
        "RefererHash": pa.array(np.where(refers, refer_page * 1000003, 0)),
        "URLHash": pa.array(page * 1000003 + 1),
    }
    for name in SMALL_CONSTANT:
        columns[name] = pa.array(np.ones(count, np.int16))
    for name in WIDE_CONSTANT:
        columns[name] = pa.array(np.full(count, 3, np.int32))
    for name in EMPTY_TEXTS:
        columns[name] = pa.array([""] * count)
    return columns


def clickbench(scale: Decimal, folder: Path) -> None:
    write(folder / "hits.parquet", pieces(int(HITS_OF_SCALE * scale), hits, 1))


def clickbench_of(file: Path, folder: Path) -> None:
    """A file of page views of the user's, with types that questions can be asked of."""
    source = pyarrow.parquet.ParquetFile(file)

    def converted() -> Iterator[Columns]:
        for batch in source.iter_batches(PIECE):
            columns: Columns = {}
            for name, column in zip(batch.schema.names, batch.columns, strict=True):
                if pa.types.is_binary(column.type):
                    column = pc.cast(column, pa.string())
                elif pa.types.is_integer(column.type) and name == "EventDate":
                    column = pc.cast(pc.cast(column, pa.int32()), pa.date32())
                elif pa.types.is_integer(column.type) and name.endswith("EventTime"):
                    column = pc.cast(pc.cast(column, pa.int64()), pa.timestamp("s"))
                columns[name] = column
            yield columns

    write(folder / "hits.parquet", converted())


# The db-benchmark: groups `g`, joins of `x` with `small`, `medium` and `big`.

DB_ROWS_OF_SCALE = 10_000_000
DB_GROUPS = 100


def nullable(numbers: Numbers, mask: Numbers) -> Any:
    return pa.array(numbers, mask=mask)


def db_groups(rows: int) -> Callable[[Any, int, int], Columns]:
    many = max(1, rows // DB_GROUPS)

    def make(random: Any, first: int, count: int) -> Columns:
        def some(values: int) -> Numbers:
            return random.integers(1, values + 1, count).astype(np.int32)

        def text(values: int, digits: int) -> Any:
            padded = pc.utf8_lpad(pc.cast(pa.array(some(values)), pa.string()), digits, "0")
            return joined("id", padded)

        return {
            "id1": text(DB_GROUPS, 3),
            "id2": text(DB_GROUPS, 3),
            "id3": text(many, 10),
            "id4": pa.array(some(DB_GROUPS)),
            "id5": pa.array(some(DB_GROUPS)),
            "id6": pa.array(some(many)),
            "v1": pa.array(some(5)),
            "v2": pa.array(some(15)),
            "v3": nullable(np.round(random.random(count) * 100, 6), random.random(count) < 0.05),
        }

    return make


def db_side(sizes: Sequence[int], value: str, one_each: int | None) -> Callable[[Any, int, int], Columns]:
    """Keys of the sizes as numbers and as texts; with `one_each` the key of that place is different in every row, and only nine
    tenths of the keys of the other tables are there."""

    def make(random: Any, first: int, count: int) -> Columns:
        columns: Columns = {}
        for place, size in enumerate(sizes):
            if place == one_each:
                # Every key once, in an order that is not theirs; one of ten is a key that no other table has.
                order = (np.arange(first, first + count) * 48271 + 11) % size
                numbers = np.where(order % 10 == 0, order + size, order) + 1
            else:
                numbers = random.integers(1, size + 1, count)
            columns[f"id{place + 1}"] = pa.array(numbers.astype(np.int32))
            columns[f"id{place + 4}"] = labelled("id", numbers)
        columns[value] = pa.array(np.round(random.random(count) * 100, 6))
        return columns

    return make


def dbbench(scale: Decimal, folder: Path) -> None:
    rows = int(DB_ROWS_OF_SCALE * scale)
    sizes = [max(10, rows // 1_000_000), max(10, rows // 1000), rows]
    write(folder / "g.parquet", pieces(rows, db_groups(rows), 1))
    write(folder / "x.parquet", pieces(rows, db_side(sizes, "v1", None), 2))
    for place, name in enumerate(("small", "medium", "big")):
        write(folder / f"{name}.parquet", pieces(sizes[place], db_side(sizes[: place + 1], "v2", place), 3 + place))


# TPC-H with its rows shuffled and its keys spread.


def tpchshuffled(scale: Decimal, folder: Path) -> None:
    import quickstep

    connection = quickstep.connect()
    connection.execute(f"CALL tpch(scale => {scale})")
    random = np.random.default_rng(SEED)
    for table in ("region", "nation", "supplier", "customer", "part", "partsupp", "orders", "lineitem"):
        rows = connection.sql(f"SELECT * FROM {table}").arrow()
        # Views of texts cannot be taken by position.
        plain = [field.with_type(pa.string()) if pa.types.is_string_view(field.type) else field for field in rows.schema]
        rows = rows.cast(pa.schema(plain)).combine_chunks()
        rows = rows.take(pa.array(random.permutation(rows.num_rows)))
        for at, name in enumerate(rows.column_names):
            # Nations and regions are few; their keys stay, as those of countries would.
            if name.endswith("key") and not name.endswith(("nationkey", "regionkey")):
                rows = rows.set_column(at, name, pa.array(spread(rows.column(name).to_numpy())))
        pyarrow.parquet.write_table(rows, folder / f"{table}.parquet")
