//! Broken text: mutations of valid statements give a plan or an error, never a panic and never a hang.
//!
//! Statements of all kinds are changed at random by a seeded generator, so that a failure repeats. Each mutant is
//! planned against the test catalog; its time is bounded, and errors must have an SQLSTATE other than an internal
//! one.

use std::time::Duration;

use random::Random;
use types::SqlState;

use crate::catalog::{Catalog, check};
use crate::snapshots::benchmark_queries;

const STATEMENTS: [&str; 25] = [
    "create table x (a integer primary key, b char(3) not null unique, c decimal(10,2), foreign key (a) references region (r_regionkey)) with (block_size = '4MB')",
    "create table y as select * from nation where n_nationkey in (1, 2, null)",
    "insert into region (r_regionkey, r_name) values (1, 'a'), (2 + 3, lower('B'))",
    "insert into region select n_nationkey, n_name, n_comment from nation order by 1 limit 3 offset 2",
    "copy region (r_regionkey, r_name) from 'x.csv' (format csv, delimiter '|', header true, null '')",
    "explain (analyze, format json) select * from nation natural join region",
    "explain (format html, timing, analyze false) insert into region select * from region",
    "call write_trace(-1, 'x.json')",
    "set workers = 4",
    "alter query 7 set priority = 5",
    "call tpch(scale => 1.5)",
    "drop table if exists a, b cascade",
    "select interval '1' month + date '2020-01-31', extract(year from o_orderdate) from orders group by 2, o_orderdate having count(*) > 1",
    "select * from 'x.parquet' p full join 'n.csv' n using (a) left join lateral (select max(b) from 'y.csv' z where z.a = p.a) q on true",
    "with a as (select 1 as x union all select 2), b(y) as (select x from a) select * from b where y <> all (select x from a where x > y) intersect all values (1)",
    "select case when c_acctbal between 1 and 2.5 then 'x' else c_name || c_phone end, nullif(c_custkey, 3)::text from customer where not c_name like 'a\\_%' escape '\\'",
    "select distinct substring(c_phone from 1 for 2), coalesce(null, 1.5, 2) from customer order by 1 desc nulls last fetch first 5 rows only",
    "select (select count(*) from orders where o_custkey = c_custkey and o_totalprice > (select avg(o_totalprice) from orders o2 where o2.o_custkey = c_custkey)) from customer",
    "pivot nation on n_regionkey in (1, 2 as two) using sum(n_nationkey) as total, count(*) group by n_name order by 1 limit 3",
    "with n as (select * from nation) select * from (unpivot n on n_nationkey, n_regionkey into name k value v) u where v > 1",
    "select arg_max(n_name, n_nationkey), first(n_name order by n_regionkey desc nulls last), corr(n_nationkey, n_regionkey) filter (where n_name > 'a') from nation group by grouping sets ((n_regionkey), rollup (n_name))",
    "alter table nation add constraint k foreign key (n_regionkey) references region (r_regionkey), drop constraint if exists j cascade",
    "select to_char(o_orderdate, 'YYYY-MM'), date_trunc('week', o_orderdate), strftime(o_orderdate, '%d'), o_custkey & 3 << 2, if(o_custkey > 1, 'a', 'b') from orders",
    "select string_agg(n_name, ',' order by n_nationkey) over (partition by n_regionkey order by n_nationkey rows 2 preceding exclude ties) from nation",
    "select string_agg(distinct n_name, ',') filter (where n_nationkey > 1), trim(both 'x' from 'xax'), position('a' in n_name) from nation group by n_name",
];

const FRAGMENTS: [&str; 40] = [
    "select",
    "from",
    "where",
    "(",
    ")",
    ",",
    "*",
    "'",
    "\"",
    "null",
    "not",
    "in",
    "exists",
    "union",
    "group by",
    "order by",
    "limit",
    "case",
    "end",
    "when",
    "and",
    "or",
    "=",
    "<>",
    "-",
    "::",
    "interval",
    "date",
    "1e400",
    "0.00000000001",
    "99999999999999999999999",
    "''",
    "as",
    "join",
    "on",
    "using",
    "$1",
    ";",
    "\u{0}",
    "é",
];

fn tokens(text: &str) -> Vec<String> {
    let mut out = vec![];
    let mut word = String::new();
    for c in text.chars() {
        if c.is_alphanumeric() || c == '_' || c == '.' {
            word.push(c);
            continue;
        }
        if !word.is_empty() {
            out.push(std::mem::take(&mut word));
        }
        if !c.is_whitespace() {
            out.push(c.to_string());
        }
    }
    out.push(word);
    out
}

#[test]
fn mutated_statements_do_not_panic() {
    let mut sources: Vec<String> = STATEMENTS.iter().map(|s| (*s).to_owned()).collect();
    sources.extend(benchmark_queries("tpch").into_iter().map(|(_, text)| text));
    let catalog = Catalog::tpch();
    for text in &sources {
        if let Err(error) = sql::plan_one(text, &catalog) {
            panic!("{}", error.render(text));
        }
    }
    let rounds: usize = std::env::var("MUTATIONS").ok().and_then(|n| n.parse().ok()).unwrap_or(20_000);
    let mut random = Random::new(0x9E37_79B9_7F4A_7C15);
    let (mut plans, mut errors) = (0, 0);
    for _ in 0..rounds {
        let mut words = tokens(&sources[random.below(sources.len())]);
        for _ in 0..=random.below(3) {
            let at = random.below(words.len());
            match random.below(5) {
                0 => drop(words.remove(at)),
                1 => words.insert(at, FRAGMENTS[random.below(FRAGMENTS.len())].to_owned()),
                2 => words[at] = FRAGMENTS[random.below(FRAGMENTS.len())].to_owned(),
                3 => {
                    let other = random.below(words.len());
                    words.swap(at, other);
                }
                _ => {
                    let donor = tokens(&sources[random.below(sources.len())]);
                    let from = random.below(donor.len());
                    let to = (from + 1 + random.below(6)).min(donor.len());
                    words.splice(at..at, donor[from..to].iter().cloned());
                }
            }
            if words.is_empty() {
                words.push("x".into());
            }
        }
        let text = words.join(" ");
        let (result, taken) =
            timing::cpu_time(|| std::panic::catch_unwind(|| sql::plan_one(&text, &catalog)));
        assert!(taken < Duration::from_secs(30), "slow: {text}");
        match result {
            Err(_) => panic!("panicked: {text}"),
            Ok(Ok(plan::Statement::Query(query))) => {
                check(&query, &text);
                plans += 1;
            }
            Ok(Ok(_)) => plans += 1,
            Ok(Err(error)) => {
                assert_ne!(error.state(), SqlState::Internal, "{}", error.render(&text));
                let _ = error.render(&text);
                errors += 1;
            }
        }
    }
    println!("{plans} plans, {errors} errors");
}
