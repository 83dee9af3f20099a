//! Paths beside what PostgreSQL 15 answers for them, and texts that are none.

use super::*;

const HOW: How = How { silent: false, zone: None };

fn run(path: &str, value: &str) -> String {
    let found = JsonPath::read(path)
        .and_then(|path| path.query(&Tree::read(value)?, &Tree::read(r#"{"v": 2}"#)?, HOW));
    match found {
        Ok(items) => items.iter().map(Tree::shown).collect::<Vec<_>>().join(" "),
        Err(error) => error.state().code().to_owned(),
    }
}

#[test]
fn steps_lead_where_they_say() {
    let value = r#"{"a": [1, 2, {"b": [3, 4]}], "c": "x"}"#;
    for (path, found) in [
        ("$.a[*]", r#"1 2 {"b": [3, 4]}"#),
        ("$.a[last].b[0, 1]", "3 4"),
        ("$.a.b", "[3, 4]"),
        ("strict $.a.b", "2203A"),
        ("$.**{last}", r#"1 2 3 4 "x""#),
        ("$.a[*] ? (@ > $v - 1)", "2"),
        ("$.a.size() + 1", "4"),
        ("$.c.type()", r#""string""#),
        ("$.a[*] + 1", "22038"),
        ("1 / 3", "0.33333333333333333333"),
        ("$.x", ""),
        ("strict $.x ? (1 == 1)", "2203A"),
        ("($.a[0] == 1) ? (@ == true)", "true"),
        ("$x", "42704"),
        ("($.a).b", "[3, 4]"),
    ] {
        assert_eq!(run(path, value), found, "{path}");
    }
}

#[test]
fn malformed_paths_are_errors() {
    for path in
        ["", "$.", "$[", "@", "last", "$ ? (@)", "$.a ? @ > 1", "1.type()", "$ starts with 1", "\"a", "$.x()"]
    {
        assert!(JsonPath::read(path).is_err(), "{path}");
    }
    let deep = format!("{}1{}", "(".repeat(5_000), ")".repeat(5_000));
    assert_eq!(JsonPath::read(&deep).unwrap_err().state(), SqlState::StatementTooComplex);
    let long = format!("${}", ".a".repeat(5_000));
    assert_eq!(JsonPath::read(&long).unwrap_err().state(), SqlState::StatementTooComplex);
}

#[test]
fn a_path_that_multiplies_ends() {
    let all = format!("${}", "[0 to last, 0 to last, 0 to last]".repeat(12));
    let value = Tree::read("[1]").unwrap();
    let none = Tree::Object(vec![]);
    let error = JsonPath::read(&all).unwrap().query(&value, &none, HOW).unwrap_err();
    assert_eq!(error.state(), SqlState::StatementTooComplex);
}

/// Pieces of paths, put together at random: no panic, and what is printed reads as the same path.
#[test]
fn random_paths_are_read_or_refused() {
    const PIECES: [&str; 44] = [
        "$",
        "@",
        ".a",
        ".*",
        "[*]",
        "[0]",
        "[last]",
        "[0 to 1]",
        ".**",
        ".**{1 to last}",
        "?(",
        "(",
        ")",
        "&&",
        "||",
        "!",
        "==",
        "<>",
        "<",
        "1",
        "-",
        "+",
        "*",
        "/",
        "%",
        "\"x\"",
        "null",
        "true",
        " is unknown",
        "exists(",
        " starts with ",
        " like_regex ",
        ".type()",
        ".size()",
        ".double()",
        ".keyvalue()",
        ".datetime()",
        ".abs()",
        "$v",
        ",",
        "strict ",
        "lax ",
        "\\u0061",
        ".1",
    ];
    let mut random = random::Random::new(7);
    let value = Tree::read(r#"{"a": [1, {"a": "x"}, null, [2.5]], "b": {"a": "2020-01-01"}}"#).unwrap();
    let variables = Tree::read(r#"{"v": 2}"#).unwrap();
    let mut read = 0;
    for _ in 0..60_000 {
        let count = 1 + random.below(9) as usize;
        let text: String = (0..count).map(|_| PIECES[random.below(PIECES.len() as u64) as usize]).collect();
        let Ok(path) = JsonPath::read(&text) else { continue };
        read += 1;
        let shown = path.to_string();
        assert_eq!(JsonPath::read(&shown).as_ref(), Ok(&path), "{text} is shown as {shown}");
        for silent in [false, true] {
            let how = How { silent, zone: None };
            let found = path.query(&value, &variables, how);
            let there = path.exists(&value, &variables, how);
            if let (Ok(found), Ok(Some(there))) = (found, there)
                && !silent
            {
                assert_eq!(!found.is_empty(), there, "{text}");
            }
            let _ = path.matches(&value, &variables, how);
        }
    }
    assert!(read > 500, "{read} of the texts were paths");
}
