//! Damaged tables: an error, or the rows of a table that happens to be whole; never a panic, and never much memory.

use std::path::{Path, PathBuf};

use conformance::folder::Folder;
use random::Random;

use crate::{session, table};

fn files(folder: &Path, out: &mut Vec<PathBuf>) {
    let mut entries: Vec<PathBuf> = std::fs::read_dir(folder).unwrap().map(|e| e.unwrap().path()).collect();
    entries.sort();
    for path in entries {
        if path.is_dir() { files(&path, out) } else { out.push(path) }
    }
}

fn copy(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).unwrap();
    for entry in std::fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let target = to.join(entry.file_name());
        if entry.path().is_dir() {
            copy(&entry.path(), &target);
        } else {
            std::fs::copy(entry.path(), target).unwrap();
        }
    }
}

/// Other bytes: some changed, some taken out, cut off, or a number in a text made large.
fn damaged(bytes: &[u8], random: &mut Random) -> Vec<u8> {
    let mut out = bytes.to_vec();
    let at = random.below(out.len().max(1));
    match random.below(6usize) {
        0 => out.truncate(at),
        1 => drop(out.drain(at..(at + 1 + random.below(40usize)).min(bytes.len()))),
        2 => {
            // A digit becomes many.
            if let Some(digit) = out.iter().skip(at).position(u8::is_ascii_digit) {
                let digits = b"99999999999999999999";
                let many = &digits[..1 + random.below(digits.len() - 1)];
                out.splice(at + digit..=at + digit, many.iter().copied());
            }
        }
        _ => {
            for _ in 0..1 + random.below(3usize) {
                let at = random.below(out.len().max(1));
                if let Some(byte) = out.get_mut(at) {
                    *byte = if random.chance(50) {
                        *byte ^ 1 << random.below(8usize)
                    } else {
                        random.below(256usize) as u8
                    };
                }
            }
        }
    }
    out
}

/// Reads a table with each of its files of metadata damaged in some ways.
fn read_damaged(name: &str, function: &str, cases: usize) {
    let session = session();
    session.query("SET memory_limit = '512MB'").ok();
    let folder = Folder::new(&format!("damaged_{}", name.replace('/', "_")));
    let root = PathBuf::from(folder.path("t"));
    copy(Path::new(&table(name)), &root);
    let mut all = Vec::new();
    files(&root, &mut all);
    let of_log = |path: &PathBuf| {
        let text = path.to_string_lossy();
        text.contains("_delta_log")
            || text.contains("/metadata/")
            || text.ends_with(".bin")
            || text.contains("delete")
    };
    all.retain(of_log);
    // More of them: DAMAGED_TIMES=100.
    let times =
        std::env::var("DAMAGED_TIMES").ok().and_then(|times| times.parse::<usize>().ok()).unwrap_or(1);
    let mut random = Random::new(28);
    let text = format!("SELECT count(COLUMNS(*)) FROM {function}('{}')", root.display());
    let whole = session.query(&text).unwrap_or_else(|e| panic!("{name}: {e}"));
    assert_eq!(whole.rows(), 1);
    for case in 0..cases * times {
        let path = &all[case % all.len()];
        let bytes = std::fs::read(path).unwrap();
        std::fs::write(path, damaged(&bytes, &mut random)).unwrap();
        if let Err(error) = session.query(&text) {
            let code = error.state().code();
            assert!(!code.starts_with("XX000"), "case {case}, {}: {error}", path.display());
            assert!(!error.message().contains("panic"), "case {case}, {}: {error}", path.display());
        }
        std::fs::write(path, bytes).unwrap();
    }
    assert_eq!(session.query(&text).map(|rows| rows.rows()).unwrap_or(0), 1, "{name}");
}

#[test]
fn damaged_logs_of_delta() {
    for name in [
        "deletion_vectors",
        "checkpoint_in_parts",
        "checkpoint_v2_json",
        "checkpoint_v2_parquet",
        "mapping_by_id",
    ] {
        read_damaged(&format!("delta/{name}"), "delta_scan", 150);
    }
}

#[test]
fn damaged_metadata_of_iceberg() {
    for name in ["deletes", "evolved", "parted"] {
        read_damaged(&format!("iceberg/{name}"), "iceberg_scan", 200);
    }
}
