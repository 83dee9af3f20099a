"""CREATE TABLE statements for the engines that do not read Parquet.

The types are those of the Parquet file, so that every engine computes with the
same ones: text of any length, decimals of the file's precision.  Keys are for
the engine that cannot do without indexes.
"""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet

PRIMARY_KEYS = {
    "region": "r_regionkey",
    "nation": "n_nationkey",
    "supplier": "s_suppkey",
    "part": "p_partkey",
    "partsupp": "ps_partkey, ps_suppkey",
    "orders": "o_orderkey",
    "lineitem": "l_orderkey, l_linenumber",
    "ddate": "d_datekey",
    "lineorder": "lo_orderkey, lo_linenumber",
    "lineorder_flat": "lo_orderkey, lo_linenumber",
    "inventory": "inv_date_sk, inv_item_sk, inv_warehouse_sk",
    "store_sales": "ss_item_sk, ss_ticket_number",
    "store_returns": "sr_item_sk, sr_ticket_number",
    "catalog_sales": "cs_item_sk, cs_order_number",
    "catalog_returns": "cr_item_sk, cr_order_number",
    "web_sales": "ws_item_sk, ws_order_number",
    "web_returns": "wr_item_sk, wr_order_number",
}

# Of TPC-DS's facts those that queries join by most: date, item and customer.
FOREIGN_KEYS = {
    "nation": ("n_regionkey",),
    "supplier": ("s_nationkey",),
    "customer": ("c_nationkey", "c_current_addr_sk", "c_current_cdemo_sk"),
    "partsupp": ("ps_suppkey",),
    "orders": ("o_custkey",),
    "lineitem": ("l_partkey, l_suppkey", "l_suppkey"),
    "lineorder": ("lo_orderdate", "lo_custkey", "lo_partkey", "lo_suppkey"),
    "inventory": ("inv_item_sk",),
    "store_sales": ("ss_sold_date_sk", "ss_customer_sk", "ss_ticket_number"),
    "store_returns": ("sr_returned_date_sk", "sr_customer_sk", "sr_ticket_number"),
    "catalog_sales": ("cs_sold_date_sk", "cs_bill_customer_sk", "cs_order_number"),
    "catalog_returns": ("cr_returned_date_sk", "cr_returning_customer_sk", "cr_order_number"),
    "web_sales": ("ws_sold_date_sk", "ws_bill_customer_sk", "ws_order_number"),
    "web_returns": ("wr_returned_date_sk", "wr_returning_customer_sk", "wr_order_number"),
}


def create_table(table: str, parquet: Path, prefix: str = "create table") -> str:
    """The statement that makes an empty table of the file's columns."""
    schema = pyarrow.parquet.read_schema(parquet)
    columns = ", ".join(f"{field.name} {column_type(field)}" for field in schema)
    return f"{prefix} {table} ({columns})"


def column_type(field: pa.Field) -> str:
    kind = field.type
    if pa.types.is_decimal(kind):
        name = f"decimal({kind.precision}, {kind.scale})"
    elif pa.types.is_date(kind):
        name = "date"
    elif pa.types.is_int64(kind):
        name = "bigint"
    elif pa.types.is_integer(kind):
        name = "integer"
    elif pa.types.is_floating(kind):
        name = "double precision"
    else:
        name = "text"
    return name if field.nullable else f"{name} not null"


def primary_key(table: str, parquet: Path) -> str:
    """The columns of a table's key: those listed, or a dimension's first one."""
    if table in PRIMARY_KEYS:
        return PRIMARY_KEYS[table]
    return str(pyarrow.parquet.read_schema(parquet).names[0])


def foreign_keys(table: str, parquet: Path) -> list[str]:
    """Columns to index; several suites have a table `customer`."""
    columns = set(pyarrow.parquet.read_schema(parquet).names)
    return [
        key
        for key in FOREIGN_KEYS.get(table, ())
        if all(name.strip() in columns for name in key.split(","))
    ]
