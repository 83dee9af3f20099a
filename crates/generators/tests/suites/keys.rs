//! Cardinalities, unique primary keys, and foreign keys that all find their row.

use crate::reading::{integers, table};
use arrow_array::RecordBatch;
use generators::{Source, Suite};
use std::collections::{HashMap, HashSet};

/// Every key of the suites is one to three integers.
fn key_rows(batch: &RecordBatch, columns: &[&str]) -> Vec<(i64, i64, i64)> {
    assert!(columns.len() <= 3);
    let column = |at: usize| match columns.get(at) {
        Some(column) => integers(batch, column),
        None => vec![0; batch.num_rows()],
    };
    column(0).into_iter().zip(column(1)).zip(column(2)).map(|((a, b), c)| (a, b, c)).collect()
}

fn check_keys(suite: Suite, scale: f64) {
    let source = Source::new(suite, scale).unwrap();
    let mut loaded: HashMap<&str, RecordBatch> = HashMap::new();
    for &name in suite.tables() {
        let batch = table(&source, name);
        let keys = suite.keys(name).unwrap();
        let primary = key_rows(&batch, keys.primary);
        let distinct: HashSet<_> = primary.iter().copied().collect();
        let holds = source.primary_key_holds(name).unwrap();
        let unique = distinct.len() == primary.len();
        // TPC-DS is only certain of what holds: few orders may have different items by chance.
        assert!(unique == holds || (unique && suite == Suite::Tpcds), "{suite} {name} at {scale}");
        for foreign in keys.foreign {
            let referenced = loaded.get(foreign.table).expect("tables come after those that they refer to");
            let known: HashSet<_> = key_rows(referenced, foreign.referenced).into_iter().collect();
            let lost = key_rows(&batch, foreign.columns).into_iter().find(|key| !known.contains(key));
            assert_eq!(lost, None, "{suite} {name} {:?} at {scale}", foreign.columns);
        }
        loaded.insert(name, batch);
    }
}

#[test]
fn tpch_keys_hold() {
    for scale in [0.0001, 0.001, 0.01, 0.037] {
        check_keys(Suite::Tpch, scale);
    }
}

#[test]
fn ssb_keys_hold() {
    for scale in [0.0001, 0.001, 0.01, 0.1] {
        check_keys(Suite::Ssb, scale);
    }
}

#[test]
fn tpcds_keys_hold() {
    for scale in [0.0001, 0.001, 0.01] {
        check_keys(Suite::Tpcds, scale);
    }
}

/// The prediction against the rows, at scales on both sides of it.
#[test]
fn partsupp_key_is_predicted() {
    let scales =
        [0.0001, 0.0002, 0.0003, 0.0005, 0.001, 0.0013, 0.002, 0.005, 0.008, 0.0081, 0.01, 0.012, 0.0228];
    let unique = scales.map(|scale| {
        let source = Source::new(Suite::Tpch, scale).unwrap();
        let rows = key_rows(&table(&source, "partsupp"), &["ps_partkey", "ps_suppkey"]);
        let unique = rows.iter().collect::<HashSet<_>>().len() == rows.len();
        assert_eq!(unique, source.primary_key_holds("partsupp").unwrap(), "scale {scale}");
        unique
    });
    assert!(unique.contains(&true) && unique.contains(&false), "{unique:?}");
    for scale in
        (30..=1000).map(|thousandths| f64::from(thousandths) / 1000.0).chain([1.0, 10.0, 100.0, 10_000.0])
    {
        assert!(
            Source::new(Suite::Tpch, scale).unwrap().primary_key_holds("partsupp").unwrap(),
            "scale {scale}"
        );
    }
}

#[test]
fn every_key_column_exists() {
    for suite in Suite::ALL {
        for table in suite.tables() {
            let keys = suite.keys(table).unwrap();
            let find =
                |table: &str, column| suite.schema(table).unwrap().field_with_name(column).unwrap().clone();
            keys.primary.iter().for_each(|column| assert!(!find(table, column).is_nullable()));
            for foreign in keys.foreign {
                assert_eq!(foreign.columns.len(), foreign.referenced.len());
                assert_eq!(suite.keys(foreign.table).unwrap().primary, foreign.referenced);
                for (column, referenced) in foreign.columns.iter().zip(foreign.referenced) {
                    assert_eq!(find(table, column).data_type(), find(foreign.table, referenced).data_type());
                }
            }
        }
    }
}
