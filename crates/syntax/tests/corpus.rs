//! Every statement of the corpus that the engine accepts is read, printed, and read again as the same tree.

use std::fs;
use std::path::{Path, PathBuf};

/// The files below a folder with an ending.
fn files(folder: &Path, ending: &str, found: &mut Vec<PathBuf>) {
    let mut entries: Vec<PathBuf> =
        fs::read_dir(folder).expect("the folder is there").map(|e| e.expect("is listed").path()).collect();
    entries.sort();
    for path in entries {
        if path.is_dir() {
            files(&path, ending, found);
        } else if path.to_string_lossy().ends_with(ending) {
            found.push(path);
        }
    }
}

/// The texts of a sqllogictest file, and whether each shall run without an error.
fn records(text: &str) -> Vec<(usize, String, bool)> {
    let mut records = Vec::new();
    let mut lines = text.lines().enumerate().peekable();
    while let Some((number, line)) = lines.next() {
        let runs = line.starts_with("statement ok")
            || line.starts_with("statement count")
            || line.starts_with("query ");
        let fails = line.starts_with("statement error") || line.starts_with("query error");
        if !runs && !fails {
            continue;
        }
        let mut sql = Vec::new();
        while let Some((_, line)) = lines.next_if(|(_, line)| !line.trim().is_empty() && *line != "----") {
            sql.push(line);
        }
        records.push((number + 1, sql.join("\n"), runs && !fails));
    }
    records
}

/// What is wrong with reading, printing and reading again.
fn fault(sql: &str) -> Option<String> {
    for statement in syntax::parse_script(sql).statements {
        let tree = match statement {
            Ok(tree) => tree,
            Err(error) => return Some(error.shown_in(sql)),
        };
        let printed = tree.to_string();
        match syntax::parse_statement(&printed) {
            Ok(again) if again == tree => {}
            Ok(again) => return Some(format!("printed as {printed}\nand read as {again}")),
            Err(error) => return Some(format!("printed as {printed}\n{}", error.shown_in(&printed))),
        }
    }
    None
}

#[test]
fn statements_of_the_corpus_come_back_from_their_print() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/slt");
    let mut found = Vec::new();
    files(&root, ".slt", &mut found);
    let (mut count, mut faults) = (0, Vec::new());
    for path in found {
        let text = fs::read_to_string(&path).expect("is text");
        for (line, sql, runs) in records(&text) {
            count += 1;
            if let Some(fault) = fault(&sql).filter(|_| runs) {
                faults.push(format!("{}:{line}\n{fault}\n", path.display()));
            }
        }
    }
    assert!(count > 10_000, "{count} statements are too few: are they found?");
    assert!(faults.is_empty(), "{} of {count}:\n{}", faults.len(), faults.join("\n"));
}
