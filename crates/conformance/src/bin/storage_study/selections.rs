//! Chapter 3: selections, conjunctions and an aggregate over one table, in every layout.
//!
//! Each public function is a part of the study: it creates its tables in every design, runs the queries at every
//! selectivity, and notes a figure for each. The experiments E1 to E19 have the thesis' numbers. Tables are dropped
//! before the next design, so that they do not share memory.

use serde_json::json;

use crate::tables::{Shape, column};
use crate::{Outcome, Study};

const SELECTIVITIES: [f64; 5] = [0.001, 0.01, 0.1, 0.5, 1.0];
/// Block sizes in KiB; those that are larger than the table are left out.
const SIZES: [u64; 9] = [128, 512, 2048, 4096, 8192, 16_384, 32_768, 65_536, 262_144];
const BLOCK: &str = "16MB";
const BLOCK_BYTES_MAX: u64 = 1 << 30;
const BLOCK_BYTES_MIN: u64 = 64 << 10;
/// The predicate is on the first column, so that the projected ones are others as far as there are.
const PREDICATE: usize = 0;

/// So many columns behind the predicate's; none is the count alone.
fn projected(shape: Shape, columns: usize) -> String {
    match columns {
        0 => "count(*)".to_owned(),
        _ => (1..=columns).map(|n| column(n % shape.columns())).collect::<Vec<_>>().join(", "),
    }
}

fn select(shape: Shape, table: &str, columns: usize, share: f64) -> String {
    let condition = shape.at_least(PREDICATE, share);
    format!("SELECT {} FROM {table} WHERE {condition}", projected(shape, columns))
}

fn index(study: &Study, table: &str, kind: &str, n: usize) -> Outcome<f64> {
    study.run(&format!("CREATE INDEX by_{n}_{kind} ON {table} USING {kind} ({})", column(n)))
}

fn drop_index(study: &Study, kind: &str, n: usize) -> Outcome<()> {
    study.run(&format!("DROP INDEX by_{n}_{kind}")).map(|_| ())
}

/// E1: block sizes, for random access and for scans, with every number of workers.
pub fn sizes(study: &mut Study) -> Outcome<()> {
    let shape = Shape::NarrowU;
    let table_bytes = shape.rows(study) * shape.row_bytes();
    for kib in SIZES.into_iter().filter(|kib| kib << 10 <= table_bytes.max(1 << 20)) {
        let designs = [
            ("scan, 10 %", "layout = column", None, 0.1),
            ("column, sort, 0.1 %", "layout = column, sort = c0", None, 0.001),
            ("row, csbtree, 10 %", "layout = packed_row", Some("csbtree"), 0.1),
        ];
        for (what, with, indexed, share) in designs {
            shape.create(study, "t", &format!("{with}, block_size = '{kib}KB'"))?;
            if let Some(kind) = indexed {
                index(study, "t", kind, PREDICATE)?;
            }
            for workers in 1..=study.workers {
                study.run(&format!("SET workers = {workers}"))?;
                let labels = [("what", json!(what)), ("block_kib", json!(kib)), ("workers", json!(workers))];
                study.measure(&labels, &select(shape, "t", 3, share))?;
            }
        }
    }
    study.drop("t")
}

/// E4 to E7 and E14: a block a worker's share of the table, or blocks of 16 MB.
pub fn files(study: &mut Study) -> Outcome<()> {
    let shape = Shape::NarrowU;
    let share = shape.rows(study) * shape.row_bytes() / study.workers as u64;
    let file = (share + share / 100).clamp(BLOCK_BYTES_MIN, BLOCK_BYTES_MAX);
    for (unit, bytes) in [("file", file), ("block", 16 << 20)] {
        for (design, with) in [
            ("column, sort", "layout = column, sort = c0"),
            ("column", "layout = column"),
            ("row", "layout = packed_row"),
        ] {
            let built = shape.create(study, "t", &format!("{with}, block_size = {bytes}"))?;
            let size = study.bytes("t")?;
            let labels = [("unit", json!(unit)), ("unit_bytes", json!(bytes)), ("design", json!(design))];
            let made = [("build_ms", json!(built.round())), ("bytes", json!(size))];
            study.note(labels.iter().cloned().chain(made));
            let mut designs = vec![design.to_owned()];
            if design != "column, sort" {
                let indexing = index(study, "t", "csbtree", PREDICATE)?;
                let with_index = format!("{design}, csbtree");
                let labels = [("unit", json!(unit)), ("design", json!(with_index))];
                let grown = study.bytes("t")? - size;
                study.note(
                    labels
                        .into_iter()
                        .chain([("build_ms", json!(indexing.round())), ("bytes", json!(grown))]),
                );
                designs.push(with_index);
            }
            // With the index first; then without it.
            for design in designs.into_iter().rev() {
                if design == "column" || design == "row" {
                    drop_index(study, "csbtree", PREDICATE)?;
                }
                for columns in [1, 3, 5, 10] {
                    for share in [0.001, 0.01, 0.1, 0.5] {
                        let labels = [
                            ("unit", json!(unit)),
                            ("design", json!(design)),
                            ("columns", json!(columns)),
                            ("selectivity", json!(share)),
                        ];
                        study.measure(&labels, &select(shape, "t", columns, share))?;
                    }
                }
            }
        }
    }
    study.drop("t")
}

/// Layouts of a table one after the other: what ALTER TABLE sets, and the index that comes then.
type Designs<'d> = &'d [(&'d str, &'d str, Option<&'d str>)];

/// Measures every selectivity and projection in each design. The table is made once and re-organised from design to
/// design; a sorted one stays sorted, and so comes last.
fn over_designs(
    study: &mut Study,
    shape: Shape,
    predicate: usize,
    designs: Designs<'_>,
    columns: &[usize],
    shares: &[f64],
) -> Outcome<()> {
    let made = shape.create(study, "t", &format!("layout = column, block_size = '{BLOCK}'"))?;
    eprintln!("  made in {made:.0} ms");
    for (design, options, indexed) in designs {
        let built = study.reorganize(&format!("ALTER TABLE t SET ({options})"))?;
        let size = study.bytes("t")?;
        let indexing = indexed.map(|kind| index(study, "t", kind, predicate)).transpose()?;
        let labels = [("table", json!(shape.name())), ("design", json!(design))];
        let sizes = [
            ("bytes", json!(size)),
            ("index_bytes", json!(study.bytes("t")? - size)),
            ("build_ms", json!(built.round())),
            ("index_build_ms", json!(indexing.map(f64::round))),
        ];
        study.note(labels.iter().cloned().chain(sizes));
        for columns in columns {
            for share in shares {
                let labels: Vec<_> = labels
                    .iter()
                    .cloned()
                    .chain([("columns", json!(columns)), ("selectivity", json!(share))])
                    .collect();
                let condition = shape.at_least(predicate, *share);
                let sql = format!("SELECT {} FROM t WHERE {condition}", projected(shape, *columns));
                study.measure(&labels, &sql)?;
            }
        }
        if let Some(kind) = indexed {
            drop_index(study, kind, predicate)?;
        }
    }
    study.drop("t")
}

/// E8 to E12: row against column, index against none, and BitWeaving against both.
pub fn layouts(study: &mut Study) -> Outcome<()> {
    let designs: Designs<'_> = &[
        ("column", "layout = column", None),
        ("column, csbtree", "layout = column", Some("csbtree")),
        ("row", "layout = packed_row", None),
        ("row, csbtree", "layout = packed_row", Some("csbtree")),
        ("compressed", "layout = compressed_column", None),
        ("compressed, bitweaving", "layout = compressed_column", Some("bitweaving_v")),
        ("column, sort", "layout = column, sort = c0", None),
    ];
    over_designs(study, Shape::NarrowU, PREDICATE, designs, &[0, 1, 3, 5, 10], &SELECTIVITIES)
}

/// E15: Narrow-E, the predicate on its fifth column, three columns projected.
pub fn compression(study: &mut Study) -> Outcome<()> {
    let designs: Designs<'_> = &[
        ("column", "layout = column", None),
        ("compressed column", "layout = compressed_column", None),
        ("column, csbtree", "layout = column", Some("csbtree")),
        ("compressed column, csbtree", "layout = compressed_column", Some("csbtree")),
        ("row", "layout = packed_row", None),
        ("compressed row", "layout = compressed_row", None),
        ("row, csbtree", "layout = packed_row", Some("csbtree")),
        ("compressed row, csbtree", "layout = compressed_row", Some("csbtree")),
        ("column, sort", "layout = column, sort = c4", None),
        ("compressed column, sort", "layout = compressed_column", None),
    ];
    over_designs(study, Shape::NarrowE, 4, designs, &[3], &SELECTIVITIES)
}

/// E16: three conditions, each of which the cube root of the whole share passes.
pub fn conjunction(study: &mut Study) -> Outcome<()> {
    let shape = Shape::NarrowU;
    shape.create(study, "t", &format!("layout = column, block_size = '{BLOCK}'"))?;
    let designs = [
        ("column, scan", "layout = column", None),
        ("column, csbtree on the first", "layout = column", Some(0)),
        ("row, scan", "layout = packed_row", None),
        ("row, csbtree on the first", "layout = packed_row", Some(0)),
        ("column, sort by the first", "layout = column, sort = c0", None),
        ("column, sort by the first, csbtree on the second", "layout = column", Some(1)),
    ];
    for (design, options, indexed) in designs {
        study.reorganize(&format!("ALTER TABLE t SET ({options})"))?;
        if let Some(n) = indexed {
            index(study, "t", "csbtree", n)?;
        }
        for columns in [1, 3, 10] {
            for share in [0.001f64, 0.01, 0.1, 0.5] {
                let each = share.cbrt();
                let conditions: Vec<String> = (0..3).map(|n| shape.at_least(n, each)).collect();
                let sql =
                    format!("SELECT {} FROM t WHERE {}", projected(shape, columns), conditions.join(" AND "));
                let labels =
                    [("design", json!(design)), ("columns", json!(columns)), ("selectivity", json!(share))];
                study.measure(&labels, &sql)?;
            }
        }
        if let Some(n) = indexed {
            drop_index(study, "csbtree", n)?;
        }
    }
    study.drop("t")
}

/// E17: the least value of each of 100 groups.
pub fn aggregate(study: &mut Study) -> Outcome<()> {
    let shape = Shape::NarrowU;
    let query =
        shape.query(study).replace("uniform(i, 9, 100000000) AS c9", "uniform(i, 9, 100) AS onepercent");
    study.drop("t")?;
    study.run(&format!("CREATE TABLE t WITH (layout = column, block_size = '{BLOCK}') AS {query}"))?;
    for (design, layout) in
        [("column", "column"), ("compressed column", "compressed_column"), ("row", "packed_row")]
    {
        study.reorganize(&format!("ALTER TABLE t SET (layout = {layout})"))?;
        let sql = "SELECT onepercent, min(c0) FROM t GROUP BY onepercent HAVING min(c0) < 50";
        study.measure(&[("design", json!(design))], sql)?;
    }
    study.drop("t")
}

/// E18.
pub fn strings(study: &mut Study) -> Outcome<()> {
    let designs: Designs<'_> = &[
        ("column", "layout = column", None),
        ("column, csbtree", "layout = column", Some("csbtree")),
        ("row", "layout = row", None),
        ("row, csbtree", "layout = row", Some("csbtree")),
        ("column, sort", "layout = column, sort = c0", None),
    ];
    over_designs(study, Shape::Strings, PREDICATE, designs, &[1, 5, 10], &[0.001, 0.01, 0.1, 0.5])
}

/// E19.
pub fn wide(study: &mut Study) -> Outcome<()> {
    let designs: Designs<'_> = &[
        ("column", "layout = column", None),
        ("compressed column", "layout = compressed_column", None),
        ("column, csbtree", "layout = column", Some("csbtree")),
        ("row", "layout = packed_row", None),
        ("row, csbtree", "layout = packed_row", Some("csbtree")),
    ];
    // Its last column has values enough for a thousandth.
    over_designs(study, Shape::WideE, 49, designs, &[0, 1, 15, 25, 50], &[0.001, 0.01, 0.1, 0.5])
}
