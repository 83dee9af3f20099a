//! Chapter 5: SSB in the thesis' seven variants; and the PVLDB paper's comparison of layouts on TPC-H.

use conformance::study::queries;
use serde_json::json;

use crate::{Outcome, Study};

/// The columns that SSB's queries filter by: those that BitWeaving is built on.
const FILTERED: [(&str, &[&str]); 5] = [
    ("lineorder", &["lo_discount", "lo_quantity"]),
    ("ddate", &["d_year", "d_yearmonthnum", "d_yearmonth", "d_weeknuminyear"]),
    ("customer", &["c_region", "c_nation", "c_city"]),
    ("supplier", &["s_region", "s_nation", "s_city"]),
    ("part", &["p_category", "p_brand1", "p_mfgr"]),
];
/// As bench/prepare.py makes it: the fact table's columns, and those of the dimensions that queries use.
const FLAT: &str = "SELECT l.*, d_year, d_yearmonthnum, d_yearmonth, d_weeknuminyear, c_city, c_nation, c_region, \
    c_mktsegment, s_city, s_nation, s_region, p_mfgr, p_category, p_brand1, p_color, p_type, p_size, p_container \
    FROM lineorder l, ddate, customer, supplier, part WHERE lo_orderdate = d_datekey AND lo_custkey = c_custkey \
    AND lo_suppkey = s_suppkey AND lo_partkey = p_partkey";

fn bytes(study: &Study, tables: &[&str]) -> Outcome<u64> {
    tables.iter().map(|table| study.bytes(table)).sum()
}

fn measure_queries(study: &mut Study, scale: f64, variant: &str, suite: &str, size: u64) -> Outcome<()> {
    let labels =
        |query: &str| [("scale", json!(scale)), ("variant", json!(variant)), ("query", json!(query))];
    study.note(labels("").into_iter().chain([("bytes", json!(size))]));
    for workers in [1, study.workers] {
        study.run(&format!("SET workers = {workers}"))?;
        for (name, sql) in queries(suite, scale)? {
            let labels: Vec<_> = labels(&name).into_iter().chain([("workers", json!(workers))]).collect();
            study.measure(&labels, &sql)?;
        }
    }
    Ok(())
}

fn index_filtered(study: &Study, wide: bool) -> Outcome<()> {
    for (table, columns) in FILTERED {
        let table = if wide { "lineorder_flat" } else { table };
        for column in columns {
            study.run(&format!("CREATE INDEX ON {table} USING bitweaving_v ({column})"))?;
        }
    }
    Ok(())
}

/// E31 to E35. The wide table is the denormalised SSB table.
pub fn ssb(study: &mut Study) -> Outcome<()> {
    let tables: Vec<&str> = FILTERED.iter().map(|(table, _)| *table).collect();
    for scale in study.scales.clone() {
        study.run(&format!("CALL ssb(scale => {scale})"))?;
        let all = |layout| tables.iter().map(|table| (*table, layout)).collect::<Vec<_>>();
        study.set_layouts(&all("column"))?;
        let size = bytes(study, &tables)?;
        measure_queries(study, scale, "col", "ssb", size)?;
        study.set_layouts(&all("compressed_column"))?;
        let size = bytes(study, &tables)?;
        measure_queries(study, scale, "col-zip", "ssb", size)?;
        index_filtered(study, false)?;
        let size = bytes(study, &tables)?;
        measure_queries(study, scale, "col-bw", "ssb", size)?;
        study.run(&format!("CREATE TABLE lineorder_flat WITH (layout = column) AS {FLAT}"))?;
        for table in &tables {
            study.drop(table)?;
        }
        for (variant, layout) in
            [("wide-col", "column"), ("wide-row", "row"), ("wide-col-zip", "compressed_column")]
        {
            study.set_layouts(&[("lineorder_flat", layout)])?;
            let size = study.bytes("lineorder_flat")?;
            measure_queries(study, scale, variant, "ssbflat", size)?;
        }
        index_filtered(study, true)?;
        let size = study.bytes("lineorder_flat")?;
        measure_queries(study, scale, "wide-col-bw", "ssbflat", size)?;
        study.drop("lineorder_flat")?;
    }
    Ok(())
}

const TPCH_FACTS: [&str; 3] = ["lineitem", "orders", "partsupp"];
const TPCH_DIMENSIONS: [&str; 5] = ["customer", "part", "supplier", "nation", "region"];

/// Patel et al., PVLDB 2018, 6.4: facts in compressed columns and dimensions in rows, against all in columns and all
/// in rows.
pub fn hybrid(study: &mut Study) -> Outcome<()> {
    let all: Vec<&str> = TPCH_FACTS.into_iter().chain(TPCH_DIMENSIONS).collect();
    for scale in study.scales.clone() {
        study.run(&format!("CALL tpch(scale => {scale})"))?;
        for (variant, facts, dimensions) in [
            ("all compressed column", "compressed_column", "compressed_column"),
            ("hybrid", "compressed_column", "row"),
            ("all column", "column", "column"),
            ("all row", "row", "row"),
        ] {
            let layouts: Vec<(&str, &str)> = TPCH_FACTS
                .map(|table| (table, facts))
                .into_iter()
                .chain(TPCH_DIMENSIONS.map(|table| (table, dimensions)))
                .collect();
            study.set_layouts(&layouts)?;
            let size = bytes(study, &all)?;
            measure_queries(study, scale, variant, "tpch", size)?;
        }
        for table in all.iter().rev() {
            study.drop(table)?;
        }
    }
    Ok(())
}
