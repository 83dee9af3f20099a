//! Layers: every crate says where it stands (`package.metadata.layer` and `position`), and depends only on crates
//! below it, or to its right within its layer. A few pairs are forbidden whatever the layers say.

use std::collections::BTreeMap;
use std::path::Path;

use crate::Finding;

/// What a crate must never know, even through a permitted direction: (crate, forbidden dependencies).
const NEVER: &[(&str, &[&str])] = &[
    ("scheduler", &["sql", "plan", "block", "vector", "types", "operators"]),
    ("workorder", &["types", "vector", "block", "plan"]),
    ("vector", &["block", "pool"]),
    ("block", &["catalog", "memory", "pool"]),
    ("pool", &["catalog", "plan"]),
    ("catalog", &["plan"]),
    ("plan", &["operators", "catalog", "block", "vector"]),
    ("expr", &["operators"]),
    ("hash", &["plan"]),
    ("wire", &["plan", "workorder", "block", "pool", "catalog", "files", "tokio"]),
    ("operators", &["scheduler", "sql"]),
    ("formats", &["sql", "scheduler"]),
    ("sql", &["operators", "scheduler"]),
    ("files", &["block", "vector", "pool", "catalog"]),
    ("pgproto", &["sql", "plan", "engine", "operators", "scheduler", "catalog", "block", "pool", "tokio"]),
    (
        "multiplexer",
        &["block", "vector", "pool", "catalog", "plan", "expr", "hash", "sql", "operators", "scheduler"],
    ),
    (
        "global",
        &[
            "block",
            "vector",
            "pool",
            "catalog",
            "plan",
            "expr",
            "hash",
            "sql",
            "operators",
            "scheduler",
            "types",
        ],
    ),
    ("bus", &["block", "vector", "pool", "catalog", "plan", "expr", "hash", "sql", "operators", "scheduler"]),
];

/// Only these may name DataFusion.
const DATAFUSION: &[&str] = &["sql", "expr"];

pub struct Standing {
    pub layer: i64,
    pub position: i64,
    pub dependencies: Vec<String>,
}

pub fn read(root: &Path) -> Result<BTreeMap<String, Standing>, Finding> {
    let mut crates = BTreeMap::new();
    let entries = std::fs::read_dir(root.join("crates"))
        .map_err(|e| Finding::new("crates", format!("cannot be read: {e}")))?;
    for entry in entries.flatten() {
        let path = entry.path().join("Cargo.toml");
        let place = format!("crates/{}/Cargo.toml", entry.file_name().to_string_lossy());
        let Ok(text) = std::fs::read_to_string(&path) else { continue };
        let manifest: toml::Table =
            text.parse().map_err(|e| Finding::new(&place, format!("is not valid TOML: {e}")))?;
        let package = manifest.get("package").and_then(|p| p.as_table());
        let name = package.and_then(|p| p.get("name")).and_then(|n| n.as_str()).unwrap_or("").to_owned();
        let metadata = package.and_then(|p| p.get("metadata")).and_then(|m| m.as_table());
        let number = |key: &str| metadata.and_then(|m| m.get(key)).and_then(|v| v.as_integer());
        let (Some(layer), Some(position)) = (number("layer"), number("position")) else {
            return Err(Finding::new(place, "must state package.metadata.layer and position"));
        };
        // Tests may look down from anywhere: only ordinary dependencies are edges of the house.
        let dependencies = manifest
            .get("dependencies")
            .and_then(|d| d.as_table())
            .map(|d| d.keys().cloned().collect())
            .unwrap_or_default();
        crates.insert(name, Standing { layer, position, dependencies });
    }
    Ok(crates)
}

pub fn check(root: &Path) -> Vec<Finding> {
    match read(root) {
        Ok(crates) => check_edges(&crates),
        Err(finding) => vec![finding],
    }
}

fn check_edges(crates: &BTreeMap<String, Standing>) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (name, standing) in crates {
        let place = format!("crates/{name}/Cargo.toml");
        for dependency in &standing.dependencies {
            if dependency.starts_with("datafusion") && !DATAFUSION.contains(&name.as_str()) {
                findings
                    .push(Finding::new(&place, format!("{dependency} may be used by {DATAFUSION:?} only")));
            }
            let Some(other) = crates.get(dependency) else { continue };
            let allowed = other.layer < standing.layer
                || (other.layer == standing.layer && other.position > standing.position);
            if !allowed {
                findings.push(Finding::new(
                    &place,
                    format!("depends on {dependency}, which is not below it or to its right"),
                ));
            }
            let forbidden = NEVER.iter().any(|(n, list)| n == name && list.contains(&dependency.as_str()));
            if forbidden {
                findings.push(Finding::new(&place, format!("must never know {dependency}")));
            }
        }
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::*;

    fn house(edges: &[(&str, i64, i64, &[&str])]) -> BTreeMap<String, Standing> {
        edges
            .iter()
            .map(|(name, layer, position, dependencies)| {
                let dependencies = dependencies.iter().map(|d| (*d).to_owned()).collect();
                ((*name).to_owned(), Standing { layer: *layer, position: *position, dependencies })
            })
            .collect()
    }

    #[test]
    fn planted_faults_are_found() {
        assert!(check_edges(&house(&[("a", 1, 0, &["b"]), ("b", 1, 1, &[])])).is_empty());
        assert_eq!(check_edges(&house(&[("a", 1, 1, &["b"]), ("b", 1, 0, &[])])).len(), 1, "leftwards");
        assert_eq!(check_edges(&house(&[("a", 1, 0, &["b"]), ("b", 2, 0, &[])])).len(), 1, "upwards");
        assert_eq!(
            check_edges(&house(&[("scheduler", 3, 0, &["plan"]), ("plan", 2, 0, &[])])).len(),
            1,
            "never"
        );
        assert_eq!(check_edges(&house(&[("engine", 4, 0, &["datafusion-sql"])])).len(), 1, "datafusion");
    }
}
