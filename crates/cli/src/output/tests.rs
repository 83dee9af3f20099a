//! What each format prints, and that the binary ones are read back.

use engine::{Database, Options, ResultSet};

use super::*;

fn result(sql: &str) -> ResultSet {
    Database::in_memory(Options::default()).unwrap().session().query(sql).unwrap()
}

fn shown(sql: &str, format: Format, layout: Layout<'_>) -> String {
    let mut out = Vec::new();
    print(&mut out, &result(sql), Style { format, layout }).unwrap();
    String::from_utf8(out).unwrap()
}

#[test]
fn columns_may_be_wider_than_a_format_string_can_say() {
    let text = shown("SELECT repeat('a', 70000) AS a, 1 AS b", Format::Table, Layout::default());
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!((lines[0].len(), lines[2].len()), (70_005, 70_005));
}

#[test]
fn a_terminal_gets_lines_that_fit() {
    let sql = "SELECT 7 AS id, repeat('long ', 50) AS text, 'end' AS last";
    let text = shown(sql, Format::Table, Layout { width: Some(60), ..Layout::default() });
    assert!(text.lines().all(|l| unicode_width::UnicodeWidthStr::width(l) <= 60), "{text}");
    assert!(text.contains("long…") || text.contains("lon…") || text.contains('…'), "{text}");
    assert!(text.contains("end"), "{text}");
    let expanded = shown(sql, Format::Table, Layout { width: Some(60), expanded: true, ..Layout::default() });
    assert!(expanded.starts_with("-[ row 1 ]"), "{expanded}");
    assert!(expanded.contains(&"long ".repeat(50)), "{expanded}");
}

#[test]
fn boxes_frames_and_the_rows_between() {
    let sql = "SELECT i AS n, 'row ' || i AS text FROM generate_series(1, 9) AS t(i)";
    let shortened = Layout { rows: Some(3), ..Layout::default() };
    let text = shown(sql, Format::Box, shortened);
    let lines = [
        "┌───┬───────┐",
        "│ n │ text  │",
        "├───┼───────┤",
        "│ 1 │ row 1 │",
        "│ 2 │ row 2 │",
        "│ … │ …     │",
        "│ 9 │ row 9 │",
        "└───┴───────┘",
        "(9 rows, 3 shown: \\maxrows shows more)",
    ];
    assert_eq!(text.lines().collect::<Vec<_>>(), lines);
    let framed =
        shown("SELECT 1 AS a, 'b' AS b", Format::Table, Layout { lines: &FRAMED, ..Layout::default() });
    assert_eq!(framed, "+---+---+\n| a | b |\n+---+---+\n| 1 | b |\n+---+---+\n(1 row)\n");
    let bare = shown("SELECT 1 AS a, 'b' AS b", Format::Table, Layout { lines: &BARE, ..Layout::default() });
    assert_eq!(bare, " a   b\n--- ---\n 1   b\n(1 row)\n");
    let narrow = shown(
        "SELECT repeat('x', 100) AS a, repeat('y', 100) AS b",
        Format::Box,
        Layout { width: Some(40), ..Layout::default() },
    );
    assert!(narrow.lines().all(|l| unicode_width::UnicodeWidthStr::width(l) <= 40), "{narrow}");
}

#[test]
fn control_characters_do_not_reach_the_terminal() {
    let text =
        shown("SELECT 'a' || chr(27) || '[31mred' || chr(10) || 'b' AS t", Format::Table, Layout::default());
    assert!(text.contains("a\\u{1b}[31mred\\nb"), "{text:?}");
}

#[test]
fn markup_escapes_what_it_uses_itself() {
    let sql = "SELECT 'a|b<i>' AS \"x|y\", NULL AS n, 1.5 AS d";
    assert_eq!(
        shown(sql, Format::Markdown, Layout::default()),
        "| x\\|y | n | d |\n| --- | --- | ---: |\n| a\\|b&lt;i> | NULL | 1.5 |\n"
    );
    let html = shown(sql, Format::Html, Layout::default());
    assert!(
        html.contains("<td>a|b&lt;i&gt;</td><td class=\"null\"></td><td align=\"right\">1.5</td>"),
        "{html}"
    );
}

#[test]
fn lines_of_json_and_tabs() {
    let sql = "SELECT * FROM (VALUES (1, 'a\tb'), (2, NULL)) AS t(k, v) ORDER BY k";
    let sql = sql.replace("\\t", "\t");
    assert_eq!(
        shown(&sql, Format::Ndjson, Layout::default()),
        "{\"k\": 1, \"v\": \"a\\tb\"}\n{\"k\": 2, \"v\": null}\n"
    );
    assert_eq!(shown(&sql, Format::Tsv, Layout::default()), "k\tv\n1\ta\\tb\n2\t\\N\n");
}

#[test]
fn binary_formats_are_read_back_by_the_engine() {
    let folder = std::env::temp_dir().join(format!("quickstep-output-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let sql = "SELECT * FROM (VALUES (1, 'a', DATE '2024-02-29', 1.75), (2, NULL, NULL, -0.25)) AS t(k, v, d, n) ORDER BY k";
    for (format, name) in [(Format::Parquet, "t.parquet"), (Format::Arrow, "t.arrow"), (Format::Csv, "t.csv")]
    {
        let path = folder.join(name);
        let mut file = std::fs::File::create(&path).unwrap();
        print(&mut file, &result(sql), Style { format, layout: Layout::default() }).unwrap();
        drop(file);
        let again =
            shown(&format!("SELECT * FROM '{}' ORDER BY k", path.display()), Format::Csv, Layout::default());
        assert_eq!(again, "k,v,d,n\n1,a,2024-02-29,1.75\n2,,,-0.25\n", "{name}");
    }
    std::fs::remove_dir_all(folder).unwrap();
}
