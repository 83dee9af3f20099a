//! The paper's filter factors (O'Neil, O'Neil, Chen, revision 3, section 3) measured on generated data.
//!
//! Two steps. The factor that our domains imply (`exact`) must be near the paper's: they differ only in the
//! days, as the paper divides seven years evenly while orders end in August 1998. And what the data show must
//! be within five standard deviations of `exact`. A dimension of n rows carries a relative variance of (1 -
//! p) / (p n) into the fact table; counting c of the lines adds 1 / c, times 5 where a restriction is on
//! whole orders (E[lines^2] / E[lines] of an order). The tiny factors say little at this size, so each
//! dimension is checked alone, and large.

use crate::reading::{integers, strings, table};
use arrow_array::RecordBatch;
use generators::{Source, Suite};
use std::collections::HashMap;

/// Days on which orders are placed.
const ORDER_DAYS: f64 = 2406.0;

/// A restriction of a dimension, by name of the table: which rows pass, and the fraction that should.
struct Restriction {
    table: &'static str,
    passes: fn(&Row) -> bool,
    exact: f64,
}

/// A row of any table, read by column.
struct Row<'a> {
    batch: &'a Columns,
    row: usize,
}

struct Columns {
    integers: HashMap<String, Vec<i64>>,
    strings: HashMap<String, Vec<String>>,
}

impl Columns {
    fn new(batch: &RecordBatch, names: &[&str]) -> Columns {
        let (mut whole, mut text) = (HashMap::new(), HashMap::new());
        for &name in names {
            if batch.schema().field_with_name(name).unwrap().data_type() == &arrow_schema::DataType::Utf8View
            {
                let values = strings(batch, name).iter().map(|value| value.unwrap().to_string());
                text.insert(name.to_string(), values.collect());
            } else {
                whole.insert(name.to_string(), integers(batch, name));
            }
        }
        Columns { integers: whole, strings: text }
    }
}

impl Row<'_> {
    fn int(&self, column: &str) -> i64 {
        self.batch.integers[column][self.row]
    }
    fn text(&self, column: &str) -> &str {
        &self.batch.strings[column][self.row]
    }
}

fn customer(passes: fn(&Row) -> bool, exact: f64) -> Restriction {
    Restriction { table: "customer", passes, exact }
}
fn supplier(passes: fn(&Row) -> bool, exact: f64) -> Restriction {
    Restriction { table: "supplier", passes, exact }
}
fn part(passes: fn(&Row) -> bool, exact: f64) -> Restriction {
    Restriction { table: "part", passes, exact }
}
/// `days` of the days on which orders are placed.
fn date(passes: fn(&Row) -> bool, days: u32) -> Restriction {
    Restriction { table: "ddate", passes, exact: f64::from(days) / ORDER_DAYS }
}
fn line(passes: fn(&Row) -> bool, exact: f64) -> Restriction {
    Restriction { table: "lineorder", passes, exact }
}

type Query = (&'static str, f64, Vec<Restriction>);

/// The queries, with the paper's factor.
fn queries() -> Vec<Query> {
    let mut queries = flight_1();
    queries.extend(flight_2());
    queries.extend(flight_3());
    queries.extend(flight_4());
    queries
}

/// Q1.3 appears twice: the query in circulation takes quantities 26 to 35, a fifth of them, while the factor given for
/// it, 0.000075, is that of a tenth (36 to 40).
fn flight_1() -> Vec<Query> {
    vec![
        (
            "1.1",
            1.0 / 7.0 * 3.0 / 11.0 * 24.0 / 50.0,
            vec![
                date(|d| d.int("d_year") == 1993, 365),
                line(
                    |l| (1..=3).contains(&l.int("lo_discount")) && l.int("lo_quantity") < 25,
                    3.0 / 11.0 * 0.48,
                ),
            ],
        ),
        (
            "1.2",
            1.0 / 84.0 * 3.0 / 11.0 * 0.2,
            vec![date(|d| d.int("d_yearmonthnum") == 199401, 31), line(discount_4_to_6, 3.0 / 11.0 * 0.2)],
        ),
        (
            "1.3 as written",
            1.0 / 364.0 * 3.0 / 11.0 * 0.2,
            vec![date(week_6_of_1994, 7), line(discount_5_to_7, 3.0 / 11.0 * 0.2)],
        ),
        (
            "1.3 as computed",
            0.000075,
            vec![
                date(week_6_of_1994, 7),
                line(
                    |l| (5..=7).contains(&l.int("lo_discount")) && (36..=40).contains(&l.int("lo_quantity")),
                    3.0 / 11.0 * 0.1,
                ),
            ],
        ),
    ]
}

fn flight_2() -> Vec<Query> {
    vec![
        (
            "2.1",
            0.008,
            vec![
                part(|p| p.text("p_category") == "MFGR#12", 1.0 / 25.0),
                supplier(|s| s.text("s_region") == "AMERICA", 0.2),
            ],
        ),
        (
            "2.2",
            0.0016,
            vec![
                part(|p| ("MFGR#2221"..="MFGR#2228").contains(&p.text("p_brand1")), 1.0 / 125.0),
                supplier(|s| s.text("s_region") == "ASIA", 0.2),
            ],
        ),
        (
            "2.3",
            0.0002,
            vec![
                part(|p| p.text("p_brand1") == "MFGR#2221", 1.0 / 1000.0),
                supplier(|s| s.text("s_region") == "EUROPE", 0.2),
            ],
        ),
    ]
}

fn flight_3() -> Vec<Query> {
    vec![
        (
            "3.1",
            0.034,
            vec![
                customer(|c| c.text("c_region") == "ASIA", 0.2),
                supplier(|s| s.text("s_region") == "ASIA", 0.2),
                date(|d| (1992..=1997).contains(&d.int("d_year")), 2192),
            ],
        ),
        (
            "3.2",
            0.00137,
            vec![
                customer(|c| c.text("c_nation") == "UNITED STATES", 1.0 / 25.0),
                supplier(|s| s.text("s_nation") == "UNITED STATES", 1.0 / 25.0),
                date(|d| (1992..=1997).contains(&d.int("d_year")), 2192),
            ],
        ),
        (
            "3.3",
            0.0000549,
            vec![
                customer(|c| ["UNITED KI1", "UNITED KI5"].contains(&c.text("c_city")), 1.0 / 125.0),
                supplier(|s| ["UNITED KI1", "UNITED KI5"].contains(&s.text("s_city")), 1.0 / 125.0),
                date(|d| (1992..=1997).contains(&d.int("d_year")), 2192),
            ],
        ),
        (
            "3.4",
            0.000000762,
            vec![
                customer(|c| ["UNITED KI1", "UNITED KI5"].contains(&c.text("c_city")), 1.0 / 125.0),
                supplier(|s| ["UNITED KI1", "UNITED KI5"].contains(&s.text("s_city")), 1.0 / 125.0),
                date(|d| d.text("d_yearmonth") == "Dec1997", 31),
            ],
        ),
    ]
}

fn flight_4() -> Vec<Query> {
    vec![
        (
            "4.1",
            0.016,
            vec![
                customer(|c| c.text("c_region") == "AMERICA", 0.2),
                supplier(|s| s.text("s_region") == "AMERICA", 0.2),
                part(|p| ["MFGR#1", "MFGR#2"].contains(&p.text("p_mfgr")), 0.4),
            ],
        ),
        (
            "4.2",
            0.00457,
            vec![
                customer(|c| c.text("c_region") == "AMERICA", 0.2),
                supplier(|s| s.text("s_region") == "AMERICA", 0.2),
                date(|d| (1997..=1998).contains(&d.int("d_year")), 365 + 214),
                part(|p| ["MFGR#1", "MFGR#2"].contains(&p.text("p_mfgr")), 0.4),
            ],
        ),
        (
            "4.3",
            0.000091,
            vec![
                customer(|c| c.text("c_region") == "AMERICA", 0.2),
                supplier(|s| s.text("s_nation") == "UNITED STATES", 1.0 / 25.0),
                date(|d| (1997..=1998).contains(&d.int("d_year")), 365 + 214),
                part(|p| p.text("p_category") == "MFGR#14", 1.0 / 25.0),
            ],
        ),
    ]
}

fn discount_4_to_6(line: &Row) -> bool {
    (4..=6).contains(&line.int("lo_discount")) && (26..=35).contains(&line.int("lo_quantity"))
}
fn discount_5_to_7(line: &Row) -> bool {
    (5..=7).contains(&line.int("lo_discount")) && (26..=35).contains(&line.int("lo_quantity"))
}
fn week_6_of_1994(date: &Row) -> bool {
    date.int("d_weeknuminyear") == 6 && date.int("d_year") == 1994
}

fn columns(source: &Source, name: &str) -> Columns {
    let needed: &[&str] = match name {
        "customer" => &["c_custkey", "c_city", "c_nation", "c_region"],
        "supplier" => &["s_suppkey", "s_city", "s_nation", "s_region"],
        "part" => &["p_partkey", "p_mfgr", "p_category", "p_brand1"],
        "ddate" => &["d_datekey", "d_year", "d_yearmonthnum", "d_yearmonth", "d_weeknuminyear"],
        _ => &["lo_custkey", "lo_suppkey", "lo_partkey", "lo_orderdate", "lo_discount", "lo_quantity"],
    };
    Columns::new(&table(source, name), needed)
}

fn passing(columns: &Columns, passes: fn(&Row) -> bool) -> Vec<bool> {
    let rows = columns.integers.values().next().expect("every table has an integer").len();
    (0..rows).map(|row| passes(&Row { batch: columns, row })).collect()
}

fn check_near(what: &str, observed: f64, exact: f64, relative_variance: f64) {
    let allowed = 5.0 * relative_variance.sqrt() * exact;
    assert!((observed - exact).abs() <= allowed, "{what}: {observed:e}, not {exact:e} within {allowed:e}");
}

#[test]
fn domains_imply_the_papers_factors() {
    let check = |query: &str, paper: f64, exact: f64, tolerance: f64| {
        assert!((exact / paper - 1.0).abs() < tolerance, "Q{query}: {exact}, the paper has {paper}");
    };
    for (query, paper, restrictions) in queries() {
        let exact = restrictions.iter().map(|restriction| restriction.exact).product();
        let dated = restrictions.iter().any(|restriction| restriction.table == "ddate");
        // 1997 and 1998 have 579 days of orders where two sevenths would be 687: the largest difference, 16
        // %.
        check(query, paper, exact, if dated { 0.16 } else { 0.005 });
    }
}

#[test]
fn each_dimension_has_the_papers_factors() {
    let source = Source::new(Suite::Ssb, 10.0).unwrap();
    let dimensions = ["customer", "supplier", "part"].map(|name| (name, columns(&source, name)));
    for (query, _, restrictions) in queries() {
        for restriction in &restrictions {
            let Some((name, columns)) = dimensions.iter().find(|dimension| dimension.0 == restriction.table)
            else {
                continue;
            };
            let passing = passing(columns, restriction.passes);
            let (count, rows, exact) =
                (passing.iter().filter(|&&pass| pass).count(), passing.len(), restriction.exact);
            let variance = (1.0 - exact) / (exact * rows as f64);
            check_near(&format!("Q{query} {name}"), count as f64 / rows as f64, exact, variance);
        }
    }
}

#[test]
fn queries_select_the_papers_factors() {
    let source = Source::new(Suite::Ssb, 0.1).unwrap();
    let tables: HashMap<&str, Columns> =
        Suite::Ssb.tables().iter().map(|&name| (name, columns(&source, name))).collect();
    let lines = &tables["lineorder"];
    let rows = lines.integers["lo_custkey"].len();
    let day_rows: HashMap<i64, usize> =
        tables["ddate"].integers["d_datekey"].iter().enumerate().map(|(row, &key)| (key, row)).collect();
    for (query, _, restrictions) in queries() {
        let (mut selected, mut alone, mut exact) = (vec![true; rows], 1.0, 1.0);
        let (mut dimension_variance, mut order_factor) = (0.0, 1.0);
        for restriction in &restrictions {
            let passing = passing(&tables[restriction.table], restriction.passes);
            let at_line: Vec<bool> = match restriction.table {
                "customer" => {
                    lines.integers["lo_custkey"].iter().map(|&key| passing[key as usize - 1]).collect()
                }
                "supplier" => {
                    lines.integers["lo_suppkey"].iter().map(|&key| passing[key as usize - 1]).collect()
                }
                "part" => lines.integers["lo_partkey"].iter().map(|&key| passing[key as usize - 1]).collect(),
                "ddate" => lines.integers["lo_orderdate"].iter().map(|key| passing[day_rows[key]]).collect(),
                _ => passing.clone(),
            };
            let fraction = at_line.iter().filter(|&&pass| pass).count() as f64 / rows as f64;
            let sampled = match restriction.table {
                // A third of the customers have no orders.
                "customer" => Some(passing.len() * 2 / 3),
                "supplier" | "part" => Some(passing.len()),
                _ => None,
            };
            let own_variance =
                sampled.map_or(0.0, |n| (1.0 - restriction.exact) / (restriction.exact * n as f64));
            let own_factor = if ["customer", "ddate"].contains(&restriction.table) { 5.0 } else { 1.0 };
            let variance = own_variance + own_factor / (rows as f64 * restriction.exact);
            check_near(&format!("Q{query} {}", restriction.table), fraction, restriction.exact, variance);
            selected.iter_mut().zip(at_line).for_each(|(selected, pass)| *selected &= pass);
            (alone, exact) = (alone * fraction, exact * restriction.exact);
            dimension_variance += own_variance;
            order_factor = f64::max(order_factor, own_factor);
        }
        let count = selected.iter().filter(|&&selected| selected).count() as f64;
        let observed = count / rows as f64;
        println!("Q{query}: {count} lines, {observed:.3e}, expected {exact:.3e}");
        check_near(
            &format!("Q{query}"),
            observed,
            exact,
            dimension_variance + order_factor / (rows as f64 * exact),
        );
        // The restrictions are independent: together they select the product of what each selects alone.
        let (expected, allowed) =
            (alone * rows as f64, 5.0 * (order_factor * alone * rows as f64).sqrt() + 5.0);
        assert!(
            (count - expected).abs() <= allowed,
            "Q{query}: {count} lines, not {expected} within {allowed}"
        );
    }
}
