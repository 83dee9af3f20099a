//! SSB's cardinalities, domains and the arithmetic of its fact table.
//!
//! Expected numbers are those of the paper that defines the benchmark, except where a remark says why not. Row counts
//! are asked at many scales without generating rows; domains and sums are checked on generated tables.

use crate::reading::{integers, strings, table};
use arrow_array::RecordBatch;
use generators::{Source, Suite};
use std::collections::{BTreeSet, HashMap};

fn distinct<'a>(batch: &'a RecordBatch, column: &str) -> BTreeSet<&'a str> {
    strings(batch, column).iter().flatten().collect()
}

fn range(batch: &RecordBatch, column: &str) -> (i64, i64) {
    let values = integers(batch, column);
    (*values.iter().min().unwrap(), *values.iter().max().unwrap())
}

#[test]
fn cardinalities_are_the_papers() {
    let rows = |scale: f64, table: &str| Source::new(Suite::Ssb, scale).unwrap().rows(table).unwrap();
    assert_eq!(
        ["customer", "supplier", "part"].map(|table| rows(1.0, table).unwrap()),
        [30_000, 2_000, 200_000]
    );
    // Parts grow with the logarithm, rounded down.
    let parts =
        [0.01, 0.5, 1.0, 1.9, 2.0, 3.9, 4.0, 10.0, 100.0, 1000.0].map(|scale| rows(scale, "part").unwrap());
    assert_eq!(parts.map(|parts| parts / 1000), [2, 100, 200, 200, 400, 400, 600, 800, 1400, 2000]);
    // The paper says 2,556 and means seven years, of which two are leap years.
    assert_eq!(rows(7.0, "ddate"), Some(2_557));
    assert_eq!(rows(1.0, "lineorder"), None);
}

#[test]
fn dimensions_have_the_papers_domains() {
    let source = Source::new(Suite::Ssb, 1.0).unwrap();
    let (customer, supplier, part) =
        (table(&source, "customer"), table(&source, "supplier"), table(&source, "part"));
    for (batch, prefix) in [(&customer, "c"), (&supplier, "s")] {
        let column = |name: &str| format!("{prefix}_{name}");
        assert_eq!(distinct(batch, &column("city")).len(), 250);
        assert_eq!(distinct(batch, &column("nation")).len(), 25);
        assert_eq!(distinct(batch, &column("region")).len(), 5);
        let (cities, nations) = (column("city"), column("nation"));
        for (city, nation) in strings(batch, &cities).iter().zip(strings(batch, &nations)) {
            let (city, nation) = (city.unwrap(), nation.unwrap());
            assert_eq!(city.len(), 10);
            assert!(nation.starts_with(city[..9].trim_end()), "{city} in {nation}");
        }
        assert!(distinct(batch, &cities).contains("UNITED KI1"));
        for address in strings(batch, &column("address")).iter().flatten() {
            assert!((10..=25).contains(&address.len()), "{address}");
        }
        for phone in strings(batch, &column("phone")).iter().flatten() {
            assert_eq!(phone.split('-').map(str::len).collect::<Vec<_>>(), [2, 3, 3, 4], "{phone}");
        }
        assert!(distinct(batch, &column("address")).len() * 100 > batch.num_rows() * 99);
    }
    assert_eq!(strings(&customer, "c_name").value(0), "Customer#000000001");
    assert_eq!(distinct(&customer, "c_mktsegment").len(), 5);
    let sizes = ["p_mfgr", "p_category", "p_brand1", "p_color", "p_type", "p_container"];
    assert_eq!(sizes.map(|column| distinct(&part, column).len()), [5, 25, 1000, 92, 150, 40]);
    assert_eq!(range(&part, "p_size"), (1, 50));
    let hierarchy =
        strings(&part, "p_mfgr").iter().zip(strings(&part, "p_category")).zip(strings(&part, "p_brand1"));
    for ((manufacturer, category), brand) in hierarchy {
        assert!(
            category.unwrap().starts_with(manufacturer.unwrap())
                && brand.unwrap().starts_with(category.unwrap())
        );
    }
    for (name, color) in strings(&part, "p_name").iter().zip(strings(&part, "p_color")) {
        assert_eq!(name.unwrap().split(' ').next(), color);
    }
}

#[test]
fn dates_describe_the_calendar() {
    let source = Source::new(Suite::Ssb, 1.0).unwrap();
    let dates = table(&source, "ddate");
    assert_eq!(strings(&dates, "d_date").value(59), "February 29, 1992");
    assert_eq!(strings(&dates, "d_dayofweek").value(0), "Wednesday");
    assert_eq!(strings(&dates, "d_yearmonth").value(2_556), "Dec1998");
    assert_eq!(distinct(&dates, "d_yearmonth").len(), 84);
    assert_eq!(distinct(&dates, "d_sellingseason").len(), 5);
    assert_eq!(range(&dates, "d_year"), (1992, 1998));
    assert_eq!(range(&dates, "d_yearmonthnum"), (199_201, 199_812));
    assert_eq!(range(&dates, "d_daynuminyear"), (1, 366));
    assert_eq!(range(&dates, "d_weeknuminyear"), (1, 53));
    assert_eq!(range(&dates, "d_daynuminweek"), (1, 7));
    let total = |column: &str| integers(&dates, column).iter().sum::<i64>();
    assert_eq!(["d_lastdayinmonthfl", "d_lastdayinweekfl", "d_holidayfl"].map(total), [84, 365, 70]);
    assert_eq!(total("d_weekdayfl"), 1827);
}

#[test]
fn lineorder_adds_up() {
    let source = Source::new(Suite::Ssb, 0.1).unwrap();
    let lines = table(&source, "lineorder");
    let column = |name: &str| integers(&lines, name);
    for (name, low, high) in [
        ("lo_linenumber", 1, 7),
        ("lo_quantity", 1, 50),
        ("lo_discount", 0, 10),
        ("lo_tax", 0, 8),
        ("lo_orderdate", 19_920_101, 19_980_802),
        ("lo_partkey", 1, 20_000),
        ("lo_suppkey", 1, 200),
        ("lo_custkey", 1, 2_999),
        // Order 150,000 is the eighth of its 32 keys.
        ("lo_orderkey", 1, 149_999 / 8 * 32 + 8),
    ] {
        assert_eq!(range(&lines, name), (low, high), "{name}");
    }
    // 150,000 orders of 4 lines on average, standard deviation 2: five of those.
    assert!((600_000i64 - lines.num_rows() as i64).abs() < 5 * 2 * 388, "{} lines", lines.num_rows());
    assert_eq!(column("lo_custkey").iter().filter(|&&key| key % 3 == 0).count(), 0);
    assert_eq!(column("lo_custkey").iter().collect::<BTreeSet<_>>().len(), 2_000);
    assert_eq!(distinct(&lines, "lo_shippriority"), BTreeSet::from(["0"]));
    assert_eq!(distinct(&lines, "lo_orderpriority").len(), 5);
    assert_eq!(distinct(&lines, "lo_shipmode").len(), 7);

    let (keys, parts, quantities) = (column("lo_orderkey"), column("lo_partkey"), column("lo_quantity"));
    let (discounts, taxes) = (column("lo_discount"), column("lo_tax"));
    let (extended, revenues, costs) =
        (column("lo_extendedprice"), column("lo_revenue"), column("lo_supplycost"));
    let mut totals: HashMap<i64, i64> = HashMap::new();
    for row in 0..lines.num_rows() {
        let price = 90_000 + parts[row] / 10 % 20_001 + parts[row] % 1_000 * 100;
        assert_eq!(extended[row], price * quantities[row]);
        assert_eq!(revenues[row], extended[row] * (100 - discounts[row]) / 100);
        assert_eq!(costs[row], price * 6 / 10);
        *totals.entry(keys[row]).or_default() += revenues[row] * (100 + taxes[row]) / 100;
    }
    for (key, total) in keys.iter().zip(column("lo_ordtotalprice")) {
        assert_eq!(totals[key], total);
    }
    // An order's lines are neighbours, count from 1, and share customer and dates.
    let (numbers, customers, days) = (column("lo_linenumber"), column("lo_custkey"), column("lo_orderdate"));
    for row in 1..lines.num_rows() {
        if keys[row] == keys[row - 1] {
            assert_eq!(numbers[row], numbers[row - 1] + 1);
            assert_eq!((customers[row], days[row]), (customers[row - 1], days[row - 1]));
        } else {
            assert!(keys[row] > keys[row - 1] && numbers[row] == 1);
        }
    }
    assert!(column("lo_commitdate").iter().zip(&days).all(|(commit, order)| commit > order));
}

/// Two columns that shared a stream would be correlated; random ones of n rows are so by about 1 / sqrt(n).
#[test]
fn columns_are_uncorrelated() {
    let source = Source::new(Suite::Ssb, 0.1).unwrap();
    let lines = table(&source, "lineorder");
    let names = [
        "lo_linenumber",
        "lo_custkey",
        "lo_partkey",
        "lo_suppkey",
        "lo_orderdate",
        "lo_quantity",
        "lo_discount",
        "lo_tax",
    ];
    let standardized = names.map(|name| {
        let values: Vec<f64> = integers(&lines, name).into_iter().map(|value| value as f64).collect();
        let count = values.len() as f64;
        let mean = values.iter().sum::<f64>() / count;
        let deviation = (values.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / count).sqrt();
        values.into_iter().map(|value| (value - mean) / deviation).collect::<Vec<f64>>()
    });
    // Five deviations of 120,000 independent orders, which is what lines in orders of 1 to 7 amount to.
    let allowed = 5.0 / 120_000f64.sqrt();
    for (at, left) in standardized.iter().enumerate() {
        for (other, right) in standardized.iter().enumerate().skip(at + 1) {
            let products = left.iter().zip(right).map(|(left, right)| left * right);
            let correlation = products.sum::<f64>() / left.len() as f64;
            assert!(correlation.abs() < allowed, "{} and {}: {correlation}", names[at], names[other]);
        }
    }
}
