//! TPC-H rows of one grid cell as Arrow columns. A cell is one of tpchgen's parts, which count from 1.

use crate::columns::{date, int32, int64, money, shown, text};
use crate::table::Cell;
use arrow_array::ArrayRef;
use arrow_schema::ArrowError;
use tpchgen::distribution::Distributions;
use tpchgen::generators::{
    CustomerGenerator, LineItemGenerator, NationGenerator, OrderGenerator, PartGenerator, PartSuppGenerator,
    RegionGenerator, SupplierGenerator,
};
use tpchgen::text::TextPool;

type Columns = Result<Vec<ArrayRef>, ArrowError>;

/// Part and number of parts, as tpchgen wants them. At most 8e6 at the largest scale.
fn part_of(cell: &Cell) -> (i32, i32) {
    (cell.index as i32 + 1, cell.count as i32)
}

fn words() -> &'static Distributions {
    Distributions::static_default()
}

pub(super) fn region(_: &Cell, pool: &TextPool) -> Columns {
    let generator = RegionGenerator::new_with_distributions_and_text_pool(words(), pool);
    let rows: Vec<_> = generator.iter().collect();
    Ok(vec![int64(&rows, |r| r.r_regionkey), text(&rows, |r| r.r_name), text(&rows, |r| r.r_comment)])
}

pub(super) fn nation(_: &Cell, pool: &TextPool) -> Columns {
    let generator = NationGenerator::new_with_distributions_and_text_pool(words(), pool);
    let rows: Vec<_> = generator.iter().collect();
    Ok(vec![
        int64(&rows, |r| r.n_nationkey),
        text(&rows, |r| r.n_name),
        int64(&rows, |r| r.n_regionkey),
        text(&rows, |r| r.n_comment),
    ])
}

pub(super) fn supplier(cell: &Cell, pool: &TextPool) -> Columns {
    let (part, parts) = part_of(cell);
    let generator =
        SupplierGenerator::new_with_distributions_and_text_pool(cell.scale, part, parts, words(), pool);
    let rows: Vec<_> = generator.iter().collect();
    Ok(vec![
        int64(&rows, |r| r.s_suppkey),
        shown(&rows, |r| r.s_name)?,
        shown(&rows, |r| r.s_address.clone())?,
        int64(&rows, |r| r.s_nationkey),
        shown(&rows, |r| r.s_phone.clone())?,
        money(&rows, |r| r.s_acctbal.into_inner())?,
        text(&rows, |r| r.s_comment.as_str()),
    ])
}

pub(super) fn customer(cell: &Cell, pool: &TextPool) -> Columns {
    let (part, parts) = part_of(cell);
    let generator =
        CustomerGenerator::new_with_distributions_and_text_pool(cell.scale, part, parts, words(), pool);
    let rows: Vec<_> = generator.iter().collect();
    Ok(vec![
        int64(&rows, |r| r.c_custkey),
        shown(&rows, |r| r.c_name)?,
        shown(&rows, |r| r.c_address.clone())?,
        int64(&rows, |r| r.c_nationkey),
        shown(&rows, |r| r.c_phone.clone())?,
        money(&rows, |r| r.c_acctbal.into_inner())?,
        text(&rows, |r| r.c_mktsegment),
        text(&rows, |r| r.c_comment),
    ])
}

pub(super) fn part(cell: &Cell, pool: &TextPool) -> Columns {
    let (part, parts) = part_of(cell);
    let generator =
        PartGenerator::new_with_distributions_and_text_pool(cell.scale, part, parts, words(), pool);
    let rows: Vec<_> = generator.iter().collect();
    Ok(vec![
        int64(&rows, |r| r.p_partkey),
        shown(&rows, |r| r.p_name.to_string())?,
        shown(&rows, |r| r.p_mfgr)?,
        shown(&rows, |r| r.p_brand)?,
        text(&rows, |r| r.p_type),
        int32(&rows, |r| r.p_size),
        text(&rows, |r| r.p_container),
        money(&rows, |r| r.p_retailprice.into_inner())?,
        text(&rows, |r| r.p_comment),
    ])
}

pub(super) fn partsupp(cell: &Cell, pool: &TextPool) -> Columns {
    let (part, parts) = part_of(cell);
    let generator = PartSuppGenerator::new_with_text_pool(cell.scale, part, parts, pool);
    let rows: Vec<_> = generator.iter().collect();
    Ok(vec![
        int64(&rows, |r| r.ps_partkey),
        int64(&rows, |r| r.ps_suppkey),
        int32(&rows, |r| r.ps_availqty),
        money(&rows, |r| r.ps_supplycost.into_inner())?,
        text(&rows, |r| r.ps_comment),
    ])
}

pub(super) fn orders(cell: &Cell, pool: &TextPool) -> Columns {
    let (part, parts) = part_of(cell);
    let generator =
        OrderGenerator::new_with_distributions_and_text_pool(cell.scale, part, parts, words(), pool);
    let rows: Vec<_> = generator.iter().collect();
    Ok(vec![
        int64(&rows, |r| r.o_orderkey),
        int64(&rows, |r| r.o_custkey),
        text(&rows, |r| r.o_orderstatus.as_str()),
        money(&rows, |r| r.o_totalprice.into_inner())?,
        date(&rows, |r| r.o_orderdate.to_unix_epoch()),
        text(&rows, |r| r.o_orderpriority),
        shown(&rows, |r| r.o_clerk)?,
        int32(&rows, |r| r.o_shippriority),
        text(&rows, |r| r.o_comment),
    ])
}

pub(super) fn lineitem(cell: &Cell, pool: &TextPool) -> Columns {
    let (part, parts) = part_of(cell);
    let generator =
        LineItemGenerator::new_with_distributions_and_text_pool(cell.scale, part, parts, words(), pool);
    let rows: Vec<_> = generator.iter().collect();
    Ok(vec![
        int64(&rows, |r| r.l_orderkey),
        int64(&rows, |r| r.l_partkey),
        int64(&rows, |r| r.l_suppkey),
        int32(&rows, |r| r.l_linenumber),
        // tpchgen counts quantities in whole pieces; the column is a decimal.
        money(&rows, |r| r.l_quantity * 100)?,
        money(&rows, |r| r.l_extendedprice.into_inner())?,
        money(&rows, |r| r.l_discount.into_inner())?,
        money(&rows, |r| r.l_tax.into_inner())?,
        text(&rows, |r| r.l_returnflag),
        text(&rows, |r| r.l_linestatus),
        date(&rows, |r| r.l_shipdate.to_unix_epoch()),
        date(&rows, |r| r.l_commitdate.to_unix_epoch()),
        date(&rows, |r| r.l_receiptdate.to_unix_epoch()),
        text(&rows, |r| r.l_shipinstruct),
        text(&rows, |r| r.l_shipmode),
        text(&rows, |r| r.l_comment),
    ])
}
