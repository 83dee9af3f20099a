//! Deep and long statements give a plan or the error 54001, on a small stack, in good time.
//!
//! Each form of nesting is tried at several depths on a thread with the default stack of 2 MiB. Depths that users
//! write must plan; greater ones may fail, but only with 54001 and within the time limit.

use std::time::Duration;

use types::Type;

use crate::catalog::{Catalog, planned};

fn catalog() -> Catalog {
    Catalog::default()
        .with("t", &[("i", Type::Integer), ("s", Type::Text), ("b", Type::Boolean)])
        .with("d", &[("j", Type::Json)])
}

/// Runs on a thread with the default stack of 2 MiB, as workers and test threads have.
fn outcome(text: String) -> Result<(), String> {
    std::thread::spawn(move || {
        let (result, taken) = timing::cpu_time(|| planned(&text, &catalog()));
        let shown: String = text.chars().take(60).collect();
        // A form of exponential time takes for ever.
        assert!(taken < Duration::from_secs(60), "{taken:?} for {shown}");
        match result {
            Ok(_) => Ok(()),
            Err(error) => {
                assert_eq!(error.state().code(), "54001", "{shown}: {error}");
                Err(error.to_string())
            }
        }
    })
    .join()
    .expect("no panic")
}

fn plans(text: String) {
    let shown: String = text.chars().take(60).collect();
    outcome(text).unwrap_or_else(|e| panic!("{shown}: {e}"));
}

#[test]
fn brackets() {
    for depth in [10, 100, 150, 1_000, 10_000, 100_000] {
        let text = format!("select {}1{}", "(".repeat(depth), ")".repeat(depth));
        if depth <= 100 { plans(text) } else { drop(outcome(text)) }
    }
    for depth in [5, 30, 1_000, 10_000] {
        let joined = format!("select * from {}t a cross join t b{}", "(".repeat(depth), ")".repeat(depth));
        if depth <= 5 {
            plans(joined)
        } else {
            drop(outcome(joined))
        }
        let _ = outcome(format!("select * from {}select 1{}", "(".repeat(depth), ")".repeat(depth)));
        let _ = outcome(format!("{}select 1{}", "(".repeat(depth), ")".repeat(depth)));
        let nested = format!("{}select 1 as a{}", "select * from (".repeat(depth), ") as x".repeat(depth));
        if depth <= 30 {
            plans(nested)
        } else {
            drop(outcome(nested))
        }
        let exists = format!("{}select 1{}", "select 1 where exists (".repeat(depth), ")".repeat(depth));
        let _ = outcome(exists);
        let scalar = format!("{}1{}", "select (".repeat(depth), ")".repeat(depth));
        let _ = outcome(scalar);
        let functions = format!("select {}s{} from t", "lower(".repeat(depth), ")".repeat(depth));
        let _ = outcome(functions);
        let cases =
            format!("select {}1{} from t", "case when b then ".repeat(depth), " else 0 end".repeat(depth));
        let _ = outcome(cases);
        let _ = outcome(format!("select {}b from t", "not ".repeat(depth)));
        let _ = outcome(format!("select {}i from t", "- ".repeat(depth)));
        let _ = outcome(format!("select i{} from t", "::integer".repeat(depth)));
        let _ = outcome(format!("select {}i{} from t", "cast(".repeat(depth), " as integer)".repeat(depth)));
        let _ = outcome(format!("select j{} from d", ".a".repeat(depth)));
        let _ = outcome(format!("select j{} from d", "[1].a".repeat(depth)));
        let _ = outcome(format!("select list_transform([1], x -> x{})", " + 1".repeat(depth)));
        let _ = outcome(format!("select unnest([1{}])", " + 1".repeat(depth)));
    }
}

/// What fails inside is read again as something else, and what is inside that, each time anew.
#[test]
fn faults_inside_brackets() {
    for (open, close) in [
        ("lower(", ")"),
        ("cast(", " as integer)"),
        ("coalesce(1, ", ")"),
        ("case when ", " then 1 end"),
        ("exists (select ", ")"),
        ("extract(year from ", ")"),
        ("substring(", " from 1)"),
        ("(", ")"),
        ("trim(both 'x' from ", ")"),
        ("position('a' in ", ")"),
        ("x in (", ")"),
        ("x = any (", ")"),
        ("interval ", ""),
        ("not ", ""),
        ("array[", "]"),
        ("(select ", ")"),
        ("x between 1 and ", ""),
    ] {
        for depth in [10, 60, 300] {
            for fault in ["", "1 1", "select", "from", "'a"] {
                let text = format!("select {}{fault}{}", open.repeat(depth), close.repeat(depth));
                let shown: String = text.chars().take(60).collect();
                let plan = move || timing::cpu_time(|| drop(planned(&text, &catalog()))).1;
                let taken = std::thread::spawn(plan).join().expect("no panic");
                assert!(taken < Duration::from_secs(60), "{taken:?} for {depth} x {shown}");
            }
        }
    }
}

#[test]
fn chains() {
    for count in [100usize, 5_000] {
        plans(format!("select i from t where b{}", " and i > 1".repeat(count)));
        plans(format!("select i from t where b{}", " or i > 1".repeat(count)));
        plans(format!("select i from t where {}", vec!["i = 1 and s = 'a'"; count].join(" or ")));
        plans(format!("select s{} from t", " || 'x'".repeat(count)));
    }
    plans(format!("select i{} from t", " + 1".repeat(500)));
    let _ = outcome(format!("select i{} from t", " + 1".repeat(5_000)));
    let _ = outcome(format!("select i{} from t", " + i".repeat(15_000)));
    let _ = outcome(format!("select i{} from t", " + i".repeat(100_000)));
    // Comparisons do not chain: the second one compares a BOOLEAN with a number.
    let chained = format!("select i{} from t", " = i".repeat(5_000));
    assert!(std::thread::spawn(move || planned(&chained, &catalog()).is_err()).join().expect("no panic"));
}

#[test]
fn set_operations() {
    for word in ["union", "union all"] {
        plans(format!("select 1{}", format!(" {word} select 2").repeat(5_000)));
    }
    for word in ["except", "intersect", "except all"] {
        plans(format!("select 1{}", format!(" {word} select 2").repeat(20)));
        let _ = outcome(format!("select 1{}", format!(" {word} select 2").repeat(5_000)));
    }
    let _ = outcome(format!(
        "select i from t{}",
        " union select i from t union all select i from t".repeat(2_000)
    ));
}

#[test]
fn lists() {
    let numbers: Vec<String> = (0..100_000).map(|n| n.to_string()).collect();
    plans(format!("select i from t where i in ({})", numbers.join(", ")));
    plans(format!("select i from t where i not in ({})", numbers.join(", ")));
    plans(format!("select i from t where s in ('{}')", numbers.join("', '")));
    let rows: Vec<String> = (0..50_000).map(|n| format!("({n}, 'text {n}', -{n})")).collect();
    plans(format!("values {}", rows.join(", ")));
    plans(format!(
        "insert into t (i) values {}",
        numbers.iter().map(|n| format!("(-{n})")).collect::<Vec<_>>().join(", ")
    ));
    let columns: Vec<String> = (0..2_000).map(|n| format!("i + {n} as c{n}")).collect();
    plans(format!("select {} from t", columns.join(", ")));
    let joins: String = (0..150).map(|n| format!(" join t t{n} on t{n}.i = t.i")).collect();
    plans(format!("select t.i from t{joins}"));
    let tables: Vec<String> = (0..300).map(|n| format!("t as t{n}")).collect();
    plans(format!("select t0.i from {}", tables.join(", ")));
    let _ = outcome(format!(
        "select t.i from t{}",
        (0..5_000).map(|n| format!(" join t t{n} on t{n}.i = t.i")).collect::<String>()
    ));
}

#[test]
fn common_table_expressions_do_not_explode() {
    let mut text = "with c0 as (select 1 as a)".to_owned();
    for n in 1..60 {
        text.push_str(&format!(", c{n} as (select x.a from c{0} x, c{0} y)", n - 1));
    }
    text.push_str(" select * from c59");
    // Copies of copies are computed once.
    outcome(text).expect("planned");
}

#[test]
fn correlated_subqueries_do_not_explode() {
    for depth in [3usize, 12] {
        let mut text = "select 1".to_owned();
        for level in (0..depth).rev() {
            text = format!(
                "select 1 from t t{level} where t{level}.i not in (select i from t x{level} where x{level}.s = t{level}.s or exists ({text}))"
            );
        }
        let _ = outcome(text);
    }
}
