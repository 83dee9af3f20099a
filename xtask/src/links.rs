//! Markdown links to files of the repository must resolve.

use std::path::{Path, PathBuf};

use crate::Finding;

pub fn check(root: &Path, files: &[PathBuf]) -> Vec<Finding> {
    let mut findings = Vec::new();
    for file in files.iter().filter(|f| f.extension().is_some_and(|e| e == "md")) {
        let Ok(text) = std::fs::read_to_string(root.join(file)) else { continue };
        let folder = root.join(file).parent().map(Path::to_path_buf).unwrap_or_default();
        for target in targets(&text) {
            let path = target.split('#').next().unwrap_or("");
            if !path.is_empty() && !folder.join(path).exists() {
                findings.push(Finding::new(
                    file.to_string_lossy(),
                    format!("links to {target}, which does not exist"),
                ));
            }
        }
    }
    findings
}

/// Targets of `[text](target)` outside code fences, web addresses left out.
fn targets(text: &str) -> Vec<String> {
    let mut found = Vec::new();
    let mut fenced = false;
    for line in text.lines() {
        if line.trim_start().starts_with("```") {
            fenced = !fenced;
        }
        if fenced {
            continue;
        }
        for part in line.split("](").skip(1) {
            if let Some(end) = part.find(')') {
                let target = &part[..end];
                if !target.contains("://") && !target.starts_with("mailto:") {
                    found.push(target.to_owned());
                }
            }
        }
    }
    found
}

#[cfg(test)]
mod tests {
    #[test]
    fn finds_links_outside_code() {
        let text = "see [a](b.md#c) and [w](https://x.y)\n```\n[no](gone.md)\n```\n";
        assert_eq!(super::targets(text), vec!["b.md#c".to_owned()]);
    }
}
