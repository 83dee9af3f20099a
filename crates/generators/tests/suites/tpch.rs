//! TPC-H against what is known of the official generator, and against tpchgen's own Arrow conversion.

use crate::reading::{batches, integers, strings, table, whole};
use arrow_array::RecordBatch;
use generators::{Source, Suite};
use tpchgen::generators as rows;
use tpchgen_arrow as oracle;

#[test]
fn cardinalities_are_the_specified_ones() {
    let known = [
        ("region", 5, 5),
        ("nation", 25, 25),
        ("supplier", 100, 10_000),
        ("customer", 1_500, 150_000),
        ("part", 2_000, 200_000),
        ("partsupp", 8_000, 800_000),
        ("orders", 15_000, 1_500_000),
    ];
    let (small, one) = (Source::new(Suite::Tpch, 0.01).unwrap(), Source::new(Suite::Tpch, 1.0).unwrap());
    for (name, rows_small, rows_one) in known {
        assert_eq!(small.rows(name).unwrap(), Some(rows_small), "{name}");
        assert_eq!(one.rows(name).unwrap(), Some(rows_one), "{name}");
        assert_eq!(table(&small, name).num_rows() as u64, rows_small, "{name}");
    }
    // The specification lists lineitem's counts by scale; at 1 it is 6,001,215.
    assert_eq!(small.rows("lineitem").unwrap(), None);
    assert_eq!(table(&small, "lineitem").num_rows(), 60_175);
    let tenth = Source::new(Suite::Tpch, 0.1).unwrap();
    let rows: usize = tenth.batches("lineitem", 0, 1).unwrap().map(|batch| batch.unwrap().num_rows()).sum();
    assert_eq!(rows, 600_572);
}

/// Row `row` of the batch as the official generator prints it, decimals in hundredths, dates in days.
fn printed(batch: &RecordBatch, row: usize) -> Vec<String> {
    let column = |name: &str| match batch.column_by_name(name).unwrap().data_type() {
        arrow_schema::DataType::Utf8View => strings(batch, name).value(row).to_string(),
        _ => integers(batch, name)[row].to_string(),
    };
    batch.schema().fields().iter().map(|field| column(field.name())).collect()
}

#[test]
fn first_rows_at_scale_one_are_the_official_ones() {
    let source = Source::new(Suite::Tpch, 1.0).unwrap();
    let first = |table: &str| source.batches(table, 0, 1).unwrap().next().unwrap().unwrap();
    let lineitem = first("lineitem");
    // 1996-03-13 is day 9,568 since 1970.
    let expected =
        "1|155190|7706|1|1700|2116823|4|2|N|O|9568|9538|9577|DELIVER IN PERSON|TRUCK|egular courts above the";
    assert_eq!(printed(&lineitem, 0).join("|"), expected);
    let expected =
        "3|128449|3474|3|2700|3989088|6|7|A|F|8781|8726|8788|DELIVER IN PERSON|SHIP|nal foxes wake. ";
    assert_eq!(printed(&lineitem, 9).join("|"), expected);
    let expected = "1|36901|O|17366547|9497|5-LOW|Clerk#000000951|0|nstructions sleep furiously among ";
    assert_eq!(printed(&first("orders"), 0).join("|"), expected);
    let expected = "1|goldenrod lavender spring chocolate lace|Manufacturer#1|Brand#13|PROMO BURNISHED COPPER|7|JUMBO PKG|90100|ly. slyly ironi";
    assert_eq!(printed(&first("part"), 0).join("|"), expected);
    let expected = "1|Supplier#000000001| N kD4on9OM Ipw3,gf0JBoQDd7tgrzrddZ|17|27-918-335-1736|575594|each slyly above the careful";
    assert_eq!(printed(&first("supplier"), 0).join("|"), expected);
    let expected = "1|Customer#000000001|IVhzIApeRb ot,c,E|15|25-989-741-2988|71156|BUILDING|to the even, regular platelets. regular, ironic epitaphs nag e";
    assert_eq!(printed(&first("customer"), 0).join("|"), expected);
    let expected = "0|ALGERIA|0| haggle. carefully final deposits detect slyly agai";
    assert_eq!(printed(&first("nation"), 0).join("|"), expected);
    assert_eq!(printed(&first("region"), 4)[1], "MIDDLE EAST");
}

/// The whole of a table against tpchgen-arrow's, generated there in one part.
fn check_oracle(name: &str, expected: impl Iterator<Item = Result<RecordBatch, arrow_schema::ArrowError>>) {
    let source = Source::new(Suite::Tpch, 0.01).unwrap();
    let expected: Vec<_> = expected.map(Result::unwrap).collect();
    assert_eq!(expected[0].schema(), Suite::Tpch.schema(name).unwrap(), "{name}");
    let expected = whole(&source, name, &expected);
    assert!(whole(&source, name, &batches(&source, name, 3)) == expected, "{name} differs");
}

#[test]
fn rows_equal_those_of_tpchgen_arrow() {
    check_oracle("region", oracle::RegionArrow::new(rows::RegionGenerator::new(0.01, 1, 1)));
    check_oracle("nation", oracle::NationArrow::new(rows::NationGenerator::new(0.01, 1, 1)));
    check_oracle("supplier", oracle::SupplierArrow::new(rows::SupplierGenerator::new(0.01, 1, 1)));
    check_oracle("customer", oracle::CustomerArrow::new(rows::CustomerGenerator::new(0.01, 1, 1)));
    check_oracle("part", oracle::PartArrow::new(rows::PartGenerator::new(0.01, 1, 1)));
    check_oracle("partsupp", oracle::PartSuppArrow::new(rows::PartSuppGenerator::new(0.01, 1, 1)));
    check_oracle("orders", oracle::OrderArrow::new(rows::OrderGenerator::new(0.01, 1, 1)));
    check_oracle("lineitem", oracle::LineItemArrow::new(rows::LineItemGenerator::new(0.01, 1, 1)));
}
