//! The plans of TPC-H and SSB as text. `UPDATE_SNAPSHOTS=1 cargo test -p sql` writes them anew.

use std::path::{Path, PathBuf};

use crate::catalog::{Catalog, query, shown};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).to_owned()
}

pub fn benchmark_queries(suite: &str) -> Vec<(String, String)> {
    let folder = root().join("../../tests/answers/queries").join(suite);
    let mut files: Vec<PathBuf> = std::fs::read_dir(folder).unwrap().map(|f| f.unwrap().path()).collect();
    files.sort();
    files
        .iter()
        .map(|f| {
            let text = std::fs::read_to_string(f).unwrap().replace("{fraction}", "0.0001");
            (f.file_stem().unwrap().to_string_lossy().into_owned(), text)
        })
        .collect()
}

fn compare(suite: &str, catalog: &Catalog, wanted: usize) {
    let queries = benchmark_queries(suite);
    assert_eq!(queries.len(), wanted);
    let update = std::env::var_os("UPDATE_SNAPSHOTS").is_some();
    let mut changed = Vec::new();
    for (name, text) in queries {
        let found = shown(&query(&text, catalog));
        let path = root().join("tests/snapshots").join(suite).join(format!("{name}.txt"));
        if update {
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(&path, &found).unwrap();
        } else if std::fs::read_to_string(&path).unwrap_or_default() != found {
            changed.push(format!("{}:\n{found}", path.display()));
        }
    }
    assert!(changed.is_empty(), "plans changed; UPDATE_SNAPSHOTS=1 accepts them\n{}", changed.join("\n"));
}

#[test]
fn tpch_plans() {
    compare("tpch", &Catalog::tpch(), 22);
}

#[test]
fn ssb_plans() {
    compare("ssb", &Catalog::ssb(), 13);
}
