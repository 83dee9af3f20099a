//! The same scale gives the same rows whatever the parts and threads; bad requests are errors.

use crate::reading::{batches, whole};
use generators::{GeneratorError, SCALE_MAX, SCALE_MIN, Source, Suite};

#[test]
fn parts_concatenate_to_the_same_table() {
    for suite in Suite::ALL {
        let source = Source::new(suite, 0.01).unwrap();
        for table in suite.tables() {
            let one = batches(&source, table, 1);
            for parts in [2, 7, 1000] {
                assert_eq!(batches(&source, table, parts), one, "{suite} {table} in {parts} parts");
            }
        }
    }
}

#[test]
fn threads_generate_the_same_parts() {
    for suite in Suite::ALL {
        let source = Source::new(suite, 0.02).unwrap();
        let table = suite.tables().last().unwrap();
        let threads = std::thread::scope(|scope| {
            let part = |part| {
                let batches = source.batches(table, part, 4).unwrap();
                scope.spawn(move || batches.map(Result::unwrap).collect::<Vec<_>>())
            };
            let running: Vec<_> = (0..4).map(part).collect();
            running.into_iter().flat_map(|thread| thread.join().unwrap()).collect::<Vec<_>>()
        });
        assert_eq!(threads, batches(&source, table, 1), "{suite}");
    }
}

#[test]
fn batches_keep_their_schema_and_size() {
    for (suite, scale) in
        [(Suite::Tpch, 0.013), (Suite::Ssb, 0.013), (Suite::Ssb, 1.7), (Suite::Tpcds, 0.013)]
    {
        let source = Source::new(suite, scale).unwrap();
        for table in suite.tables() {
            let (schema, mut rows) = (suite.schema(table).unwrap(), 0);
            for batch in batches(&source, table, 1) {
                assert_eq!(batch.schema(), schema, "{suite} {table}");
                // A table of history is one batch.
                let most = if suite == Suite::Tpcds { 20_000 } else { 16_384 };
                assert!((1..=most).contains(&batch.num_rows()), "{suite} {table}: {} rows", batch.num_rows());
                rows += batch.num_rows() as u64;
            }
            let estimated = source.rows_estimated(table).unwrap();
            match source.rows(table).unwrap() {
                Some(exact) => assert_eq!((rows, estimated), (exact, exact), "{suite} {table}"),
                None => {
                    assert!(
                        rows.abs_diff(estimated) * 50 < rows + 5_000,
                        "{suite} {table}: {rows}, not {estimated}"
                    )
                }
            }
        }
    }
}

#[test]
fn fractional_scales_make_small_tables() {
    for suite in Suite::ALL {
        for scale in [SCALE_MIN, 0.001, 0.0037] {
            let source = Source::new(suite, scale).unwrap();
            for table in suite.tables() {
                let batch = whole(&source, table, &batches(&source, table, 3));
                // TPC-DS at such scales may have no return, and no row of a small table.
                assert!(batch.num_rows() > 0 || suite == Suite::Tpcds, "{suite} {table} at {scale}");
            }
        }
    }
}

#[test]
fn suggested_parts_are_balanced() {
    let source = Source::new(Suite::Tpch, 1.0).unwrap();
    assert_eq!(source.parts("region").unwrap(), 1);
    assert_eq!(source.parts("orders").unwrap(), 10);
    assert_eq!(source.parts("lineitem").unwrap(), 40);
    let largest = Source::new(Suite::Ssb, SCALE_MAX).unwrap();
    assert_eq!(largest.rows("part").unwrap(), Some(200_000 * 14));
    assert_eq!(largest.parts("lineorder").unwrap(), 400_000);
    // The far end of the largest scale is as near as the beginning.
    for suite in Suite::ALL {
        let largest = Source::new(suite, SCALE_MAX).unwrap();
        for table in suite.tables() {
            let last = largest.batches(table, 999_999_999, 1_000_000_000).unwrap().next();
            assert!(last.is_none_or(|batch| batch.is_ok()), "{suite} {table}");
            let parts = largest.parts(table).unwrap();
            assert!(
                largest.batches(table, parts - 1, parts).unwrap().next().unwrap().is_ok(),
                "{suite} {table}"
            );
        }
    }
}

#[test]
fn bad_requests_are_errors() {
    for scale in [0.0, -1.0, -0.0, f64::NAN, f64::INFINITY, f64::NEG_INFINITY, 1e300, 1e-300, 10_000.1] {
        for suite in Suite::ALL {
            let error = Source::new(suite, scale).err().unwrap_or_else(|| panic!("scale {scale} passed"));
            assert_eq!(error.sqlstate(), "22023");
            assert!(error.to_string().ends_with(&format!("got {scale}")), "{error}");
        }
    }
    let source = Source::new(Suite::Tpch, 0.01).unwrap();
    let unknown = GeneratorError::UnknownTable { suite: Suite::Tpch, table: "lineorder".to_string() };
    assert_eq!(source.rows("lineorder"), Err(unknown.clone()));
    assert_eq!(source.batches("lineorder", 0, 1).err(), Some(unknown.clone()));
    assert_eq!(Suite::Tpch.schema("lineorder"), Err(unknown.clone()));
    assert_eq!(
        unknown.to_string(),
        "tpch has no table \"lineorder\"; it has region, nation, supplier, customer, part, partsupp, orders, lineitem"
    );
    for (part, parts) in [(0, 0), (1, 1), (usize::MAX, usize::MAX)] {
        assert_eq!(source.batches("region", part, parts).err(), Some(GeneratorError::Part { part, parts }));
    }
    assert!(source.batches("lineitem", usize::MAX - 1, usize::MAX).unwrap().count() <= 1);
}
