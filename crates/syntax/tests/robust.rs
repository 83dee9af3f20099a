//! Texts that nobody means: deep, long, broken, cut and shuffled. None panics, none takes more than linear time, and what is
//! read comes back from its print.

use std::fmt::Write;
use std::time::Duration;

use syntax::{Fault, parse_expr, parse_script, parse_statement};

/// What a text must not take of CPU time, in any build: a thousand times what it takes in a good one.
const LONG: Duration = Duration::from_secs(2);

fn timed<T>(work: impl FnOnce() -> T) -> T {
    let (result, took) = timing::cpu_time(work);
    assert!(took < LONG, "took {took:?}");
    result
}

#[test]
fn deep_texts_are_errors_at_once() {
    const MANY: usize = 1 << 20;
    for (open, close) in [
        ("(", ")"),
        ("[", "]"),
        ("(SELECT ", ")"),
        ("(SELECT * FROM (", "))"),
        ("f(", ")"),
        ("CASE WHEN ", " END"),
        ("- ", ""),
        ("NOT ", ""),
        ("{a: ", "}"),
        ("x[", "]"),
        ("EXISTS (SELECT ", ")"),
        ("a IN (", ")"),
        ("CAST(", " AS INTEGER)"),
        ("INTERVAL (", ") DAY"),
    ] {
        let count = MANY / open.len();
        let text = format!("SELECT {}1{}", open.repeat(count), close.repeat(count));
        let error = timed(|| parse_statement(&text)).expect_err("is too deep");
        assert_eq!(error.fault, Fault::TooDeep, "{open}: {error}");
        let unclosed = format!("SELECT {}", open.repeat(count));
        timed(|| parse_statement(&unclosed)).expect_err("is too deep, or has no end");
    }
    for wrapper in ["::INTEGER", "[1]", ".a", " IS NULL", " COLLATE c", " AT TIME ZONE 'utc'", " ISNULL"] {
        let text = format!("SELECT (x){}", wrapper.repeat(100_000));
        let error = timed(|| parse_statement(&text)).expect_err("is too high");
        assert_eq!(error.fault, Fault::TooDeep, "{wrapper}");
    }
    for types in ["INTEGER[]".to_owned() + &"[]".repeat(100_000), "LIST(".repeat(100_000)] {
        timed(|| syntax::parse_type(&types)).expect_err("is too deep");
    }
    // What people and their tools write.
    for (open, close) in [("(", ")"), ("f(", ")"), ("-", ""), ("CASE WHEN a THEN ", " END")] {
        let open = open.replace('-', "- ");
        let text = format!("SELECT {}1{}", open.repeat(100), close.repeat(100));
        let tree = parse_statement(&text).unwrap_or_else(|e| panic!("{open}: {e}"));
        assert_eq!(parse_statement(&tree.to_string()).as_ref(), Ok(&tree));
    }
}

#[test]
fn long_texts_are_flat() {
    for operator in ["AND", "OR", "+", "||", "=", "*"] {
        let text = format!("SELECT a{}", format!(" {operator} a").repeat(100_000));
        let tree = timed(|| parse_statement(&text)).unwrap_or_else(|e| panic!("{operator}: {e}"));
        assert_eq!(tree.to_string(), text);
    }
    let unions = format!("SELECT 1{}", " UNION ALL SELECT 1".repeat(50_000));
    assert_eq!(timed(|| parse_statement(&unions)).expect("is flat").to_string(), unions);
    let joins = format!("SELECT 1 FROM t{}", " JOIN t ON TRUE".repeat(50_000));
    assert_eq!(timed(|| parse_statement(&joins)).expect("is flat").to_string(), joins);
    let statements = "SELECT 1;".repeat(100_000);
    assert_eq!(timed(|| parse_script(&statements)).statements.len(), 100_000);
}

/// Texts that took the parser before this one exponential time.
#[test]
fn texts_are_read_once() {
    let nested = |open: &str, close: &str| format!("{}{}", open.repeat(60), close.repeat(60));
    for text in [
        format!("SELECT * FROM {}t{}", "(".repeat(60), ")".repeat(60)),
        format!("SELECT * FROM {}SELECT 1{}", "(".repeat(60), ")".repeat(60)),
        format!("SELECT {}", nested("f(a => ", ", !)")),
        format!("SELECT {}", nested("f(a, (b, ", ")")),
        format!("SELECT * FROM {}", nested("(a JOIN (", ") ON )")),
        format!("SELECT 1 WHERE x IN {}SELECT 1{}", "(".repeat(60), ")".repeat(60)),
        format!("SELECT x{}", " -> (y".repeat(60)),
    ] {
        let _ = timed(|| parse_statement(&text));
    }
    let text = format!("SELECT * FROM {}SELECT 1{} AS t", "(".repeat(60), ")".repeat(60));
    let tree = parse_statement(&text).expect("is a query in parentheses");
    assert_eq!(parse_statement(&tree.to_string()).as_ref(), Ok(&tree));
}

#[test]
fn a_script_goes_on_after_an_error() {
    let text = "SELECT 1; SELEC 2; INSERT INTO t VALUES (1,; SELECT 'a;b'; CREATE TABLE; SELECT 3";
    let script = parse_script(text);
    let ok: Vec<bool> = script.statements.iter().map(Result::is_ok).collect();
    assert_eq!(ok, [true, false, false, true, false, true]);
    let places: Vec<u32> =
        script.statements.iter().filter_map(|s| s.as_ref().err()).map(|e| e.span.start).collect();
    assert_eq!(places, [10, 43, 71]);
    let last = script.statements.last().and_then(|s| s.as_ref().ok()).expect("is read");
    assert_eq!(last.span.of(text), "SELECT 3");
}

#[test]
fn errors_say_what_may_stand_there() {
    for (text, message, hint) in [
        ("SELECT a FORM t", "syntax error at or near \"t\"", Some("did you mean FROM?")),
        ("SELECT a, FROM t WHERE", "syntax error at end of input: expected an expression", None),
        (
            "SELECT (1",
            "syntax error at end of input: expected , or )",
            Some("1 more bracket is opened than closed"),
        ),
        ("INSERT t VALUES (1)", "syntax error at or near \"t\": expected INTO", Some("write INSERT INTO")),
        ("SELECT 'a", "unterminated quoted string", Some("a quote inside a text is doubled: 'it''s'")),
        ("SELECT \"\"", "zero-length delimited identifier at or near \"\"\"\"", None),
        (
            "SELECT 12abc",
            "trailing junk after numeric literal at or near \"12abc\"",
            Some("a name that begins with a digit stands in double quotes"),
        ),
        ("UPDATE t SET a 1", "syntax error at or near \"1\": expected =", None),
        ("SELECT a FROM t ORDER a", "syntax error at or near \"ORDER\"", None),
        ("DELETE t", "syntax error at or near \"t\": expected FROM", Some("write DELETE FROM")),
        (
            "SELECT * FROM t WHERE a IS 5",
            "syntax error at or near \"5\": expected NULL, NOT NULL, TRUE, FALSE, UNKNOWN or DISTINCT FROM",
            Some("IS is for NULL, TRUE and FALSE; others are compared by ="),
        ),
    ] {
        let error = parse_statement(text).expect_err(text);
        assert_eq!(error.message, message, "{text}");
        assert_eq!(error.hint.as_deref(), hint, "{text}");
    }
    let shown = parse_statement("SELECT a\nFROM t WHERE\n  b = ")
        .expect_err("has no end")
        .shown_in("SELECT a\nFROM t WHERE\n  b = ");
    assert_eq!(shown, "syntax error at end of input: expected an expression\nLINE 3:   b =\n              ^");
}

#[test]
fn operators_bind_as_in_postgresql() {
    for (text, bracketed) in [
        ("a OR b AND c", "a OR (b AND c)"),
        ("NOT a = b AND c", "(NOT (a = b)) AND c"),
        ("a + b * c ^ d", "a + (b * (c ^ d))"),
        ("-2 ^ 2", "(-2) ^ 2"),
        ("-1::int", "-(1::int)"),
        ("~1 + 1", "~ (1 + 1)"),
        ("a || b + c", "a || (b + c)"),
        ("a -> 'b' = c", "(a -> 'b') = c"),
        ("a BETWEEN b + 1 AND c AND d", "(a BETWEEN (b + 1) AND c) AND d"),
        ("a IS DISTINCT FROM b AND c", "(a IS DISTINCT FROM b) AND c"),
        ("a = b IS NULL", "(a = b) IS NULL"),
        ("a LIKE b || 'x' = c", "(a LIKE (b || 'x')) = c"),
        ("a AT TIME ZONE 'utc' + b", "(a AT TIME ZONE 'utc') + b"),
        ("a.b[1].c::text", "((a.b[1]).c)::text"),
    ] {
        let bare = |text: &str| {
            let tree = parse_expr(text).unwrap_or_else(|e| panic!("{text}: {e}"));
            without_parens(&format!("{tree:?}"))
        };
        assert_eq!(bare(text), bare(bracketed), "{text}");
    }
}

/// The shape of an expression without the nodes of its parentheses.
fn without_parens(debug: &str) -> String {
    // `Nested(Expr { kind: K, span: S })` is `K`: spans and names of nodes do not matter here.
    let mut out = String::new();
    let mut rest = debug;
    while let Some(at) = rest.find("span: Span {") {
        let _ = write!(out, "{}", &rest[..at]);
        let end = rest[at..].find('}').map_or(rest.len(), |end| at + end + 1);
        rest = &rest[end..];
    }
    out.push_str(rest);
    let mut before = String::new();
    while before != out {
        before = out.clone();
        if let Some(at) = out.find("Nested(Expr { kind: ") {
            let inner = at + "Nested(Expr { kind: ".len();
            let mut depth = 1;
            let close = out[inner..]
                .char_indices()
                .find(|(_, c)| {
                    match c {
                        '{' => depth += 1,
                        '}' => depth -= 1,
                        _ => {}
                    }
                    depth == 0
                })
                .map(|(close, _)| inner + close)
                .expect("is closed");
            let kind = out[inner..close].trim_end().trim_end_matches(',').to_owned();
            out = format!("{}{kind}{}", &out[..at], &out[close + 2..]);
        }
    }
    out
}

/// Cuts, doubles and swaps tokens of statements; whatever comes out is read or refused, without a panic, and what is
/// read comes back.
#[test]
fn shuffled_statements_come_back_or_are_errors() {
    const STATEMENTS: &str = include_str!("statements.sql");
    let statements: Vec<&str> = STATEMENTS.split(";\n").map(str::trim).filter(|s| !s.is_empty()).collect();
    assert!(statements.len() > 60, "{}", statements.len());
    let mut state: u64 = 0x9e37_79b9_7f4a_7c15;
    let mut random = |below: usize| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state % below.max(1) as u64) as usize
    };
    let pieces: Vec<Vec<&str>> = statements
        .iter()
        .map(|s| {
            let tree = parse_statement(s).unwrap_or_else(|e| panic!("{}", e.shown_in(s)));
            assert_eq!(parse_statement(&tree.to_string()).as_ref(), Ok(&tree), "{s}\n{tree}");
            let tokens = syntax::tokens(s).expect("was read");
            tokens.iter().map(|t| t.span.of(s)).collect()
        })
        .collect();
    let mut read = 0;
    for _ in 0..30_000 {
        let mut tokens = pieces[random(pieces.len())].clone();
        for _ in 0..=random(3) {
            let at = random(tokens.len());
            match random(5) {
                0 => {
                    tokens.remove(at);
                }
                1 => tokens.insert(at, tokens[at]),
                2 => {
                    let other = random(tokens.len());
                    tokens.swap(at, other);
                }
                3 => {
                    let other = &pieces[random(pieces.len())];
                    tokens[at] = other[random(other.len())];
                }
                _ => tokens.truncate(at + 1),
            }
            if tokens.is_empty() {
                break;
            }
        }
        let text = tokens.join(" ");
        for tree in parse_script(&text).statements.into_iter().flatten() {
            read += 1;
            let printed = tree.to_string();
            match parse_statement(&printed) {
                Ok(again) => assert_eq!(again, tree, "{text}\n{printed}"),
                Err(error) => panic!("{text}\n{}", error.shown_in(&printed)),
            }
        }
    }
    assert!(read > 3_000, "{read} statements were read");
}
