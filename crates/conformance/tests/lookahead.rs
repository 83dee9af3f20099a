//! What EXPLAIN ANALYZE tells of runtime filters, join tables and instruction sets, and that their switches work.
//!
//! Tests count instead of timing: lines of the analyzed plan tell how many rows a filter tested and dropped, and how
//! many leave joins. The data are a star of 200,000 facts with clustered and scattered keys.

use conformance::configuration;
use engine::Session;

/// 200,000 facts clustered by `event`, ten to each; `visitor` is scattered. A tenth of the visitors is chosen.
fn star() -> Session {
    let session = configuration::standard().open().unwrap();
    for statement in [
        "CREATE TABLE facts AS SELECT CAST(n / 10 AS INTEGER) AS event, CAST(n * 7919 % 1000 AS INTEGER) AS visitor, \
         n AS amount FROM generate_series(0, 199999) AS t(n)",
        "CREATE TABLE visitors AS SELECT CAST(n AS INTEGER) AS visitor, CAST(n % 10 AS INTEGER) AS kind \
         FROM generate_series(0, 999) AS t(n)",
        "CREATE TABLE events AS SELECT CAST(n AS INTEGER) AS event, CAST(n / 100 AS INTEGER) AS day \
         FROM generate_series(0, 19999) AS t(n)",
    ] {
        session.query(statement).unwrap_or_else(|e| panic!("{}", e.render(statement)));
    }
    session
}

fn text(session: &Session, statement: &str) -> String {
    let result = session.query(statement).unwrap_or_else(|e| panic!("{}", e.render(statement)));
    (0..result.rows()).map(|row| result.value(row, 0).display(types::Type::Text) + "\n").collect()
}

const OF_KIND: &str = "SELECT count(*), sum(amount) FROM facts JOIN visitors USING (visitor) WHERE kind = 3";
const OF_DAY: &str = "SELECT count(*), sum(amount) FROM facts JOIN events USING (event) WHERE day = 150";

#[test]
fn filters_tell_what_they_tested_and_dropped() {
    let session = star();
    let plan = text(&session, &format!("EXPLAIN ANALYZE {OF_KIND}"));
    assert!(plan.contains("tested 200,000, dropped 180,000"), "{plan}");
    session.query("SET runtime_filters = off").unwrap();
    let plan = text(&session, &format!("EXPLAIN ANALYZE {OF_KIND}"));
    assert!(!plan.contains("tested"), "{plan}");
}

#[test]
fn bounds_of_a_build_side_prune_probe_blocks() {
    let session = star();
    session.query("SET block_size = '64KB'").unwrap();
    session.query("CREATE TABLE small_blocks AS SELECT * FROM facts").unwrap();
    let query = OF_DAY.replace("facts", "small_blocks");
    let plan = text(&session, &format!("EXPLAIN ANALYZE {query}"));
    assert!(plan.contains("blocks skipped"), "{plan}");
    session.query("SET block_skipping = off").unwrap();
    let plan = text(&session, &format!("EXPLAIN ANALYZE {query}"));
    assert!(!plan.contains("blocks skipped"), "{plan}");
}

#[test]
fn a_filter_that_drops_nothing_is_left_out() {
    let session = star();
    // A gap in the keys, so that the filter has to look; and no sample that tells how little it drops.
    session.query("INSERT INTO visitors VALUES (5000, 3)").unwrap();
    session.query("SET sampling = off").unwrap();
    let query = "SELECT count(*) FROM facts JOIN visitors USING (visitor) \
                 WHERE abs(kind) < 100 AND abs(kind - 1) < 100";
    let plan = text(&session, &format!("EXPLAIN ANALYZE {query}"));
    let tested = plan.lines().find_map(|line| line.split("tested ").nth(1));
    let tested = tested.and_then(|rest| rest.split(", dropped").next()).unwrap_or_else(|| panic!("{plan}"));
    let tested: u64 = tested.replace(',', "").parse().unwrap();
    assert!(tested < 200_000, "tested to the end: {plan}");
}

#[test]
fn clustered_builds_and_shared_tables() {
    let session = star();
    let query = "SELECT count(*) FROM events JOIN (SELECT event, amount FROM facts WHERE amount < 100000) AS f \
                 ON events.event = f.event WHERE f.amount % 3 = 0";
    // The facts are built because the text has them on the right, and no side is swapped.
    session.query("SET join_order = 'written'").unwrap();
    session.query("SET build_side = off").unwrap();
    let plan = text(&session, &format!("EXPLAIN ANALYZE {query}"));
    assert!(plan.contains("ranked runs") || plan.contains("table array"), "{plan}");
    let answer = session.query(query).unwrap().value(0, 0);
    session.query("SET dense_keys = off").unwrap();
    session.query("SET join_table = 'shared'").unwrap();
    let plan = text(&session, &format!("EXPLAIN ANALYZE {query}"));
    assert!(plan.contains("hash, shared"), "{plan}");
    assert_eq!(session.query(query).unwrap().value(0, 0), answer);
    let error = session.query("SET join_table = 'latched'").unwrap_err();
    assert_eq!(error.state(), types::SqlState::InvalidParameterValue);
}

#[test]
fn instruction_sets_are_lowered_and_restored() {
    let session = star();
    let best = text(&session, "SHOW simd");
    let answers: Vec<String> = ["scalar", "avx2", "avx512", "auto"]
        .iter()
        .map(|level| {
            session.query(&format!("SET simd = '{level}'")).unwrap();
            format!("{:?}{:?}", session.query(OF_KIND).unwrap().value(0, 1), text(&session, OF_DAY))
        })
        .collect();
    assert!(answers.iter().all(|answer| answer == &answers[0]), "{answers:?}");
    assert_eq!(text(&session, "SHOW simd"), best);
    assert!(session.query("SET simd = 'mmx'").is_err());
}

#[test]
fn groups_that_are_build_rows_are_kept_there() {
    let session = star();
    // All facts lie in one block, which owns every group; and they are not to be grouped before the join.
    session.query("SET clustered_keys = off").unwrap();
    session.query("SET eager_aggregation = off").unwrap();
    for join in ["JOIN", "LEFT JOIN"] {
        let query = format!(
            "SELECT visitors.visitor, kind, count(amount), sum(amount) FROM visitors {join} facts \
             ON facts.visitor = visitors.visitor GROUP BY visitors.visitor, kind"
        );
        session.query("RESET fused_join_aggregate").unwrap();
        let plan = text(&session, &format!("EXPLAIN ANALYZE {query}"));
        assert!(plan.contains("groups by build rows of the join"), "{plan}");
        session.query("SET fused_join_aggregate = off").unwrap();
        let plan = text(&session, &format!("EXPLAIN ANALYZE {query}"));
        assert!(!plan.contains("groups by build rows"), "{plan}");
    }
}

/// Every order of a query's dimensions, the fact table first.
fn orders(query: &str) -> Vec<String> {
    let lower = query.to_lowercase();
    let from = lower.find("\nfrom").or_else(|| lower.find(" from")).unwrap() + 5;
    let end = lower.find("where").unwrap();
    let dimensions: Vec<&str> =
        query[from..end].split(',').map(str::trim).filter(|name| *name != "lineorder").collect();
    let mut all = vec![vec![]];
    for dimension in dimensions {
        all = all
            .into_iter()
            .flat_map(|order: Vec<&str>| {
                (0..=order.len()).map(move |at| {
                    let mut longer = order.clone();
                    longer.insert(at, dimension);
                    longer
                })
            })
            .collect();
    }
    let put =
        |order: Vec<&str>| format!("{} lineorder, {} {}", &query[..from], order.join(", "), &query[end..]);
    all.into_iter().map(put).collect()
}

/// Tests of runtime filters plus rows that leave joins: what a star join costs in addition to reading its facts.
fn tests_and_matches(plan: &str) -> u64 {
    let number = |text: &str| -> u64 {
        let digits: String = text.chars().take_while(|c| c.is_ascii_digit() || *c == ',').collect();
        digits.replace(',', "").parse().unwrap_or(0)
    };
    let mut total = 0;
    let mut of_join = false;
    for line in plan.lines().map(str::trim) {
        if let Some((_, tested)) = line.split_once(": tested ") {
            total += number(tested);
        }
        if let (true, Some(rows)) = (of_join, line.strip_prefix("» ")) {
            total += number(rows);
        }
        of_join = line.starts_with("HashJoin");
    }
    total
}

/// The bound of "Looking Ahead Makes Query Plans Robust", counted instead of timed: neighbours on the machine do not
/// change it.
#[test]
fn the_order_of_a_star_joins_dimensions_hardly_matters() {
    let session = configuration::standard().open().unwrap();
    for statement in
        ["CALL ssb(scale => 0.05)", "SET join_order = 'written'", "SET build_side = off", "SET workers = 1"]
    {
        let _ = session.query(statement);
    }
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/answers/queries/ssb");
    let mut worst_without = 0.0f64;
    for name in ["q2.1", "q2.2", "q2.3", "q3.1", "q3.2", "q3.3", "q3.4", "q4.1", "q4.2", "q4.3"] {
        let query = std::fs::read_to_string(format!("{folder}/{name}.sql")).unwrap();
        let orders = orders(query.trim().trim_end_matches(';'));
        let ratio = |filters: &str| {
            session.query(&format!("SET runtime_filters = {filters}")).unwrap();
            let costs: Vec<u64> = orders
                .iter()
                .map(|o| tests_and_matches(&text(&session, &format!("EXPLAIN ANALYZE {o}"))))
                .collect();
            let (least, most) = (costs.iter().min().unwrap(), costs.iter().max().unwrap());
            assert!(*least > 0 && costs.len() >= 6, "{name}: {costs:?}");
            *most as f64 / *least as f64
        };
        let with = ratio("on");
        assert!(with <= 1.3, "{name}: the worst order costs {with:.2} times the best");
        worst_without = worst_without.max(ratio("off"));
    }
    assert!(worst_without > 2.0, "without filters the order matters: {worst_without:.2}");
}
