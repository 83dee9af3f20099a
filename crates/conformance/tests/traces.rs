//! What finished queries leave, as a client sees it: history, plans, work orders, comparisons, pages and timelines,
//! slow queries, metrics.

use std::collections::BTreeMap;

use engine::{Database, Options, Session, SqlState, Value};
use random::Random;
use serde_json::Value as Json;

fn database() -> Database {
    let options = Options { workers: Some(2), memory_bytes: Some(2 << 30), ..Default::default() };
    let database = Database::in_memory(options).expect("opens");
    database.session().query("CALL tpch(scale => 0.05)").expect("generates");
    database
}

const JOIN: &str = "SELECT o_orderpriority, count(*), sum(l_quantity) FROM orders JOIN lineitem ON l_orderkey = o_orderkey \
                    WHERE o_orderdate < DATE '1995-01-01' GROUP BY o_orderpriority ORDER BY 1";

fn value(session: &Session, text: &str) -> Value {
    let result = session.query(text).unwrap_or_else(|e| panic!("{text}: {e}"));
    assert!(result.rows() > 0, "{text} gives nothing");
    result.value(0, 0)
}

fn number(session: &Session, text: &str) -> i64 {
    value(session, text).as_i64().unwrap_or_else(|| panic!("{text} is no number"))
}

fn lines(session: &Session, text: &str) -> String {
    let result = session.query(text).unwrap_or_else(|e| panic!("{text}: {e}"));
    let line = |row| result.value(row, 0).as_text().unwrap_or_default().to_owned();
    (0..result.rows()).map(line).collect::<Vec<_>>().join("\n")
}

/// The id of this session's last query that has a trace.
fn last(session: &Session) -> i64 {
    let own = session.database().query_traces();
    // Ids are given in the order of beginning.
    own.last().expect("a trace").id as i64
}

#[test]
fn a_finished_query_keeps_its_plan_and_its_work_orders() {
    let database = database();
    let session = database.session();
    let groups = session.query(JOIN).expect("answers").rows() as i64;
    let id = last(&session);
    let history = session
        .query(&format!("SELECT state, rows, work_orders, total_ms, planning_ms, execution_ms, query FROM quickstep_query_history WHERE id = {id}"))
        .unwrap();
    assert_eq!(history.value(0, 0), Value::text("finished"));
    assert_eq!(history.value(0, 1).as_i64(), Some(groups));
    let [total, planning, execution] = [3, 4, 5].map(|at| history.value(0, at).as_f64().unwrap());
    assert!(
        planning > 0.0 && execution > 0.0 && planning + execution <= total * 1.01,
        "{planning} {execution} {total}"
    );
    assert_eq!(history.value(0, 6).as_text(), Some(JOIN));
    // The plan: a scan's rows are the table's, estimates are there, the root's rows are the result's.
    let rows = |of: &str| {
        number(&session, &format!("SELECT rows FROM quickstep_query_plans WHERE query_id = {id} AND {of}"))
    };
    assert_eq!(rows("parent IS NULL"), groups);
    let orders = "SELECT count(*) FROM orders WHERE o_orderdate < DATE '1995-01-01'";
    assert_eq!(rows("title LIKE 'TableScan orders%'"), number(&session, orders));
    // Work orders: as many as the segments executed, inside the statement, no two at a time on one worker.
    let counted = number(
        &session,
        &format!("SELECT sum(orders)::BIGINT FROM quickstep_work_orders WHERE query_id = {id}"),
    );
    assert_eq!(Some(counted), history.value(0, 2).as_i64());
    let trace = database.query_traces().into_iter().find(|trace| trace.id == id as u64).expect("is kept");
    let mut ended: BTreeMap<u32, u64> = BTreeMap::new();
    for part in &trace.parts {
        for order in &part.orders {
            assert!(order.ended >= order.started && order.ended <= part.wall, "{order:?}");
            let free = ended.entry(order.worker.0).or_default();
            assert!(part.begun + order.started >= *free, "two orders at a time: {order:?}");
            *free = part.begun + order.ended;
        }
        for (at, segment) in part.segments.iter().enumerate() {
            let own = || part.orders.iter().filter(|order| order.segment.index() == at);
            assert_eq!(own().map(|order| order.orders).sum::<u64>(), segment.orders, "{}", segment.name);
            assert_eq!(own().map(|order| order.rows).sum::<u64>(), segment.rows, "{}", segment.name);
            let busy: u64 = own().map(|order| order.nanoseconds() - order.held).sum();
            assert_eq!(busy, segment.busy, "{}", segment.name);
        }
    }
}

#[test]
fn what_is_kept_is_a_matter_of_settings() {
    let database = database();
    let session = database.session();
    session.execute("SET trace = off; SELECT count(*) FROM orders; SHOW trace").unwrap();
    assert_eq!(database.query_traces().iter().filter(|t| t.text.contains("count")).count(), 0);
    session.execute("SET trace = on; SET workers = 2; SELECT count(*) FROM orders").unwrap();
    let kept = database.query_traces();
    let texts: Vec<&str> = kept.iter().map(|trace| &*trace.text).collect();
    // Each of several statements has its own text, and statements that run no plan leave nothing.
    assert_eq!(texts.iter().filter(|text| text.starts_with("SELECT count")).count(), 1, "{texts:?}");
    assert!(!texts.iter().any(|text| text.starts_with("SET")), "{texts:?}");
    let timed = |session: &Session| {
        session.query("SELECT sum(l_tax) FROM lineitem").unwrap();
        let busy = "SELECT count(busy_ms) FROM quickstep_query_plans WHERE query_id = ";
        number(session, &format!("{busy}{}", last(session)))
    };
    assert_eq!(timed(&session), 0, "times by operator are taken only where they are asked for");
    session.query("SET trace = full").unwrap();
    assert!(timed(&session) >= 2);
    // The ring is bounded.
    session.query("SET trace_memory = '40KB'").unwrap();
    for _ in 0..50 {
        session.query("SELECT count(*) FROM orders").unwrap();
    }
    let few = database.query_traces().len();
    assert!((1..30).contains(&few), "{few} traces in 40 KB");
    session.query("CALL forget_traces()").unwrap();
    assert!(database.query_traces().is_empty());
    let error = session.query("SET trace = loudly").unwrap_err();
    assert_eq!(error.state(), SqlState::InvalidParameterValue);
}

#[test]
fn failures_cancellations_and_secrets() {
    let database = database();
    let session = database.session();
    session.query("SELECT 1 / (o_orderkey - o_orderkey) FROM orders").unwrap_err();
    session.query("SELECT nosuch FROM orders").unwrap_err();
    session.query("SET statement_timeout = 30").unwrap();
    session
        .query("SELECT count(*) FROM lineitem a, lineitem b WHERE (a.l_orderkey * b.l_partkey + a.l_suppkey) % 7 = 3")
        .unwrap_err();
    session.query("SET statement_timeout = 0").unwrap();
    session.query("SET s3_secret_access_keyy = 'hidden'").unwrap_err();
    let all = database.query_traces();
    let of =
        |text: &str| all.iter().find(|t| t.text.contains(text)).unwrap_or_else(|| panic!("{text} is kept"));
    let division = of("1 / ");
    assert_eq!((division.state(), division.failure.as_ref().unwrap().0.as_str()), ("failed", "22012"));
    assert!(!division.parts[0].segments.is_empty(), "what ran of it is kept");
    assert_eq!(of("nosuch").failure.as_ref().unwrap().0, "42703");
    assert_eq!(of("lineitem b").state(), "cancelled");
    assert!(!all.iter().any(|t| t.text.contains("hidden")));
}

#[test]
fn streams_subqueries_and_recursions_have_their_parts() {
    let database = database();
    let session = database.session();
    let mut stream = session.stream("SELECT l_orderkey FROM lineitem").expect("begins");
    let mut rows = 0;
    while let Some(batch) = stream.next_batch().expect("goes on") {
        rows += batch.rows as u64;
    }
    drop(stream);
    let trace = database.query_traces().pop().expect("a trace");
    assert_eq!((trace.rows, trace.state(), trace.parts.len()), (rows, "finished", 1));
    // One that is given up is kept as cancelled.
    let mut stream = session.stream("SELECT a.l_orderkey FROM lineitem a, orders b").expect("begins");
    stream.next_batch().expect("goes on");
    drop(stream);
    assert_eq!(database.query_traces().pop().expect("a trace").state(), "cancelled");
    session
        .query("SELECT count(*) FROM orders WHERE o_totalprice > (SELECT avg(o_totalprice) FROM orders)")
        .unwrap();
    let trace = database.query_traces().pop().expect("a trace");
    let titles: Vec<&str> = trace.parts.iter().map(|part| part.title.as_str()).collect();
    assert_eq!(titles, ["subquery 0", "query"]);
    session
        .query("WITH RECURSIVE t(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM t WHERE n < 200) SELECT count(*) FROM t")
        .unwrap();
    let trace = database.query_traces().pop().expect("a trace");
    assert!(trace.parts.len() <= 64 && trace.parts_left_out > 100, "{} parts", trace.parts.len());
    assert_eq!(trace.parts.last().expect("parts").title, "query");
    assert!(trace.parts[0].title.starts_with("recursive query t, first rows"), "{}", trace.parts[0].title);
}

#[test]
fn a_query_that_ran_is_explained_in_every_format() {
    let database = database();
    let session = database.session();
    session.query("SET trace = full").unwrap();
    session.query(JOIN).unwrap();
    let id = last(&session);
    let text = lines(&session, &format!("CALL explain_query({id})"));
    assert!(text.contains("HashJoin Inner") && text.contains(" expected (q "), "{text}");
    assert!(text.contains(&format!("query {id} finished after ")), "{text}");
    let json: Json =
        serde_json::from_str(&lines(&session, &format!("CALL explain_query({id}, 'json')"))).expect("JSON");
    let mut found = Vec::new();
    walk(&json[0]["plan"], &mut found);
    assert!(found.iter().any(|node| node["operator"] == "TableScan" && node["rows"].as_u64() > Some(0)));
    let filtered = found.iter().filter(|node| node.get("filters").is_some());
    for filter in filtered.flat_map(|node| node["filters"].as_array().unwrap()) {
        assert!(
            filter["tested"].as_u64() >= filter["dropped"].as_u64() && filter["from"].is_string(),
            "{filter}"
        );
    }
    let dot = lines(&session, &format!("CALL explain_query({id}, 'dot')"));
    assert!(dot.starts_with("digraph plan {") && dot.contains(" -> "), "{dot}");
    let html = lines(&session, &format!("CALL explain_query({id}, 'html')"));
    assert!(
        html.starts_with("<!DOCTYPE html>") && html.contains("<svg") && html.contains("worker 0"),
        "{html}"
    );
    // The statement's own formats have the same keys.
    let explained: Json =
        serde_json::from_str(&lines(&session, &format!("EXPLAIN (ANALYZE, FORMAT json) {JOIN}"))).unwrap();
    let keys = |json: &Json| json[0].as_object().unwrap().keys().cloned().collect::<Vec<_>>();
    assert_eq!(keys(&explained), keys(&json));
    let planned: Json =
        serde_json::from_str(&lines(&session, &format!("EXPLAIN (FORMAT json) {JOIN}"))).unwrap();
    assert!(planned[0]["plan"]["rows"].is_null() && planned[0]["plan"]["estimated_rows"].is_number());
    for (format, beginning) in [("dot", "digraph"), ("html", "<!DOCTYPE html>"), ("graphviz", "digraph")] {
        for analyze in ["", "ANALYZE, "] {
            let text = lines(&session, &format!("EXPLAIN ({analyze}FORMAT {format}) {JOIN}"));
            assert!(text.starts_with(beginning), "{format}: {text}");
        }
    }
    let error = session.query("EXPLAIN (FORMAT yaml) SELECT 1").unwrap_err();
    assert_eq!(
        (error.state(), error.hint()),
        (SqlState::InvalidParameterValue, Some("expected text, json, dot, html or pipelines"))
    );
}

fn walk<'a>(node: &'a Json, found: &mut Vec<&'a Json>) {
    found.push(node);
    for input in node["inputs"].as_array().into_iter().flatten() {
        walk(input, found);
    }
}

#[test]
fn a_timeline_is_written_as_perfetto_reads_it() {
    let database = database();
    let session = database.session();
    session.query(JOIN).unwrap();
    let orders = database.query_traces().pop().unwrap().parts.iter().map(|p| p.orders.len()).sum::<usize>();
    let folder = std::env::temp_dir().join(format!("quickstep-traces-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let path = |name: &str| folder.join(name).to_str().expect("UTF-8").to_owned();
    session.query(&format!("CALL write_trace(0, '{}')", path("trace.json"))).unwrap();
    let file: Json =
        serde_json::from_str(&std::fs::read_to_string(path("trace.json")).unwrap()).expect("JSON");
    let events = file["traceEvents"].as_array().expect("a list");
    let complete: Vec<&Json> = events.iter().filter(|event| event["ph"] == "X").collect();
    assert_eq!(complete.iter().filter(|event| event["cat"] == "work order").count(), orders);
    for event in &complete {
        for key in ["ts", "dur"] {
            assert!(event[key].as_f64().is_some_and(|time| time >= 0.0), "{event}");
        }
        assert!(event["pid"].is_u64() && event["tid"].is_u64() && event["name"].is_string(), "{event}");
    }
    let named = |name: &str| events.iter().any(|e| e["ph"] == "M" && e["args"]["name"] == name);
    assert!(named("statement") && named("worker 0"));
    for (name, beginning) in [("page.html", "<!DOCTYPE html>"), ("plan.dot", "digraph")] {
        session.query(&format!("CALL write_trace(0, '{}')", path(name))).unwrap();
        assert!(std::fs::read_to_string(path(name)).unwrap().starts_with(beginning));
    }
    let error = session.query("CALL write_trace(0, '/nosuch/folder/x.json')").unwrap_err();
    assert_eq!(error.state(), SqlState::IoError);
    for wrong in [
        "CALL write_trace(0)",
        "CALL write_trace('x', 'y')",
        "CALL explain_query(0, 'yaml')",
        "CALL compare_queries(1)",
    ] {
        let error = session.query(wrong).unwrap_err();
        assert_eq!(error.state(), SqlState::InvalidParameterValue, "{wrong}");
        assert!(error.hint().is_some_and(|hint| hint.starts_with("write CALL ")), "{wrong}: {error}");
    }
    let error = session.query("CALL explain_query(999999)").unwrap_err();
    assert_eq!(error.state(), SqlState::UndefinedObject);
    std::fs::remove_dir_all(&folder).unwrap();
}

#[test]
fn two_runs_are_compared() {
    let database = database();
    let session = database.session();
    session.query("SET trace = full").unwrap();
    session.query(JOIN).unwrap();
    session.query("SET runtime_filters = off").unwrap();
    session.query(JOIN).unwrap();
    let result = session.query("CALL compare_queries(-1, 0)").unwrap();
    let rows: Vec<Vec<Value>> =
        (0..result.rows()).map(|r| (0..5).map(|c| result.value(r, c)).collect()).collect();
    let of = |aspect: &str| rows.iter().filter(|row| row[0].as_text() == Some(aspect)).collect::<Vec<_>>();
    let setting = of("setting");
    assert_eq!(setting.len(), 1, "{setting:?}");
    assert_eq!(setting[0][1..4], ["runtime_filters", "on", "off"].map(Value::text));
    assert_eq!(of("statement")[0][4], Value::Null, "the text is the same");
    // Without the filter the join meets every row of lineitem, or its plan is another one.
    assert!(!of("rows").is_empty() || !of("plan").is_empty(), "{rows:?}");
    let conclusion = of("conclusion")[0][4].as_text().unwrap().to_owned();
    assert!(conclusion.contains("runtime_filters is off instead of on"), "{conclusion}");
}

#[test]
fn slow_queries_are_kept_apart() {
    let database = database();
    let session = database.session();
    session.query("SET slow_query_threshold = '0.001 ms'").unwrap();
    session.query(JOIN).unwrap();
    session.query("SET trace_memory = '400KB'").unwrap();
    session.query("SET slow_query_threshold = '1 h'").unwrap();
    for _ in 0..400 {
        session.query("SELECT count(*) FROM nation").unwrap();
    }
    let kept = session
        .query("SELECT query, summary FROM quickstep_slow_queries WHERE query LIKE 'SELECT%'")
        .unwrap();
    assert_eq!(kept.rows(), 1);
    assert_eq!(kept.value(0, 0).as_text(), Some(JOIN));
    assert!(kept.value(0, 1).as_text().unwrap().contains("most in \""));
}

#[test]
fn metrics_count_what_happened() {
    let database = database();
    let session = database.session();
    let finished = "SELECT value::BIGINT FROM quickstep_metrics \
                    WHERE name = 'quickstep_statements_total' AND labels = 'state=finished'";
    let before = number(&session, finished);
    session.execute("SELECT 1; SELECT 2").unwrap();
    session.query("SELECT nosuch").unwrap_err();
    // The question before, and two.
    assert_eq!(number(&session, finished), before + 3);
    let text = database.metrics();
    let mut known = std::collections::BTreeSet::new();
    for line in text.lines() {
        if let Some(rest) = line.strip_prefix("# TYPE ") {
            let (name, kind) = rest.split_once(' ').expect("name and kind");
            assert!(["counter", "gauge", "histogram"].contains(&kind), "{line}");
            assert!(known.insert(name.to_owned()), "{name} is told twice");
        } else if !line.starts_with('#') {
            let (name, value) = line.rsplit_once(' ').expect("name and value");
            let base = name.split('{').next().unwrap();
            let base =
                ["_bucket", "_sum", "_count"].iter().find_map(|s| base.strip_suffix(s)).unwrap_or(base);
            assert!(known.contains(base), "{line}");
            assert!(value.parse::<f64>().is_ok() || value == "+Inf", "{line}");
        }
    }
    assert!(
        known.contains("quickstep_memory_used_bytes")
            && known.contains("quickstep_statement_duration_seconds")
    );
    assert!(text.contains("quickstep_statements_total{state=\"failed\"} 1\n"), "{text}");
}

/// Options of EXPLAIN put together at random: each statement gets an answer or a user's error.
#[test]
fn options_of_any_kind_are_answered() {
    let database = database();
    let session = database.session();
    let mut random = Random::new(20_261_122);
    let words = [
        "ANALYZE", "FORMAT", "TIMING", "VERBOSE", "text", "json", "dot", "html", "graphviz", "true", "off",
        "0", "'html'", "'", "(", ")", ",", ",", "=", "NULL", "1e9", "-- ", "\u{e4}", "EXPLAIN", "SELECT",
        "yaml",
    ];
    let statements = [
        "SELECT 1",
        "SELECT * FROM nation ORDER BY 1",
        "SELECT * FROM nosuch",
        "CREATE TABLE t AS SELECT 1 AS a",
        "INSERT INTO nation SELECT * FROM nation WHERE false",
        "SELECT n_name, (SELECT count(*) FROM region) FROM nation JOIN region ON n_regionkey = r_regionkey",
        "SET workers = 1",
        "",
    ];
    let (mut answers, mut errors) = (0, 0);
    for round in 0..3_000 {
        let mut options: Vec<&str> = (0..random.below(7)).map(|_| words[random.below(words.len())]).collect();
        if round % 3 == 0 {
            options = vec!["FORMAT", words[4 + random.below(5)], ",", "ANALYZE", words[9 + random.below(2)]];
        }
        let statement = statements[random.below(statements.len())];
        let brackets = if random.below(5) == 0 { ["", ""] } else { ["(", ")"] };
        let text = format!("EXPLAIN {}{}{} {statement}", brackets[0], options.join(" "), brackets[1]);
        match session.query(&text) {
            Ok(result) => {
                assert!(result.rows() > 0, "{text}");
                answers += 1;
            }
            Err(error) => {
                assert!(error.state() != SqlState::Internal, "{text}: {error}");
                errors += 1;
            }
        }
    }
    assert!(answers > 300 && errors > 300, "{answers} answers, {errors} errors");
}
