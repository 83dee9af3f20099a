//! That what is shipped is built from these sources, complete, of one origin and light.
use std::path::{Path, PathBuf};

use super::*;

/// Files that a build reads, by their paths below `web/`: `web/stamp.mjs` lists the same.
fn sources(web: &Path) -> Vec<String> {
    fn below(web: &Path, folder: &str, found: &mut Vec<String>) {
        for entry in std::fs::read_dir(web.join(folder)).unwrap() {
            let entry = entry.unwrap();
            let path = format!("{folder}/{}", entry.file_name().to_string_lossy());
            if entry.file_type().unwrap().is_dir() {
                below(web, &path, found);
            } else {
                found.push(path);
            }
        }
    }
    let single = [
        "index.html",
        "package-lock.json",
        "package.json",
        "svelte.config.js",
        "tsconfig.json",
        "vite.config.ts",
    ];
    let mut found: Vec<String> = single.iter().map(|&name| name.to_owned()).collect();
    below(web, "public", &mut found);
    below(web, "src", &mut found);
    found.sort();
    found
}

/// FNV-1a of 64 bits over paths and contents, each with a zero behind it.
fn hash(web: &Path, files: &[String]) -> u64 {
    let mut hash = 0xcbf2_9ce4_8422_2325_u64;
    let mut eat = |bytes: &[u8]| {
        for byte in bytes {
            hash = (hash ^ u64::from(*byte)).wrapping_mul(0x0000_0100_0000_01b3);
        }
    };
    for file in files {
        eat(file.as_bytes());
        eat(&[0]);
        eat(&std::fs::read(web.join(file)).unwrap());
        eat(&[0]);
    }
    hash
}

fn folder(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(name)
}

fn text(asset: &Asset) -> &'static str {
    std::str::from_utf8(asset.plain).unwrap()
}

#[test]
fn dist_is_built_from_these_sources() {
    let web = folder("web");
    let built = std::fs::read_to_string(folder("dist/sources.hash")).unwrap();
    let now = format!("{:016x}", hash(&web, &sources(&web)));
    assert_eq!(built.trim(), now, "crates/ui/dist is stale: run `make page` and commit it");
}

#[test]
fn every_file_that_the_page_names_is_there() {
    let page = text(asset("/").unwrap());
    let named: Vec<&str> = ["src=\"", "href=\""]
        .iter()
        .flat_map(|lead| page.split(lead).skip(1))
        .map(|rest| rest.split('"').next().unwrap())
        .collect();
    assert!(named.len() >= 3, "{named:?}");
    for path in named {
        assert!(asset(path).is_some(), "{path} is missing");
    }
    assert!(asset("/assets/../Cargo.toml").is_none() && asset("").is_none());
}

#[test]
fn the_page_keeps_its_policy() {
    let page = text(asset("/").unwrap());
    assert!(!page.contains("<style") && !page.contains("style=") && !page.contains("onload="));
    assert!(page.split("<script").skip(1).all(|rest| rest.split('>').next().unwrap().contains("src=\"/")));
    for css in ASSETS.iter().filter(|asset| asset.content_type.starts_with("text/css")) {
        assert!(!text(css).contains("url(http") && !text(css).contains("@import"), "{}", css.path);
    }
}

#[test]
fn the_first_paint_is_light() {
    const BUDGET: usize = 350 * 1024;
    let page = text(asset("/").unwrap());
    let first: usize =
        ASSETS.iter().filter(|asset| page.contains(asset.path)).map(|asset| asset.brotli.len()).sum();
    assert!(first > 1024 && first <= BUDGET, "{first} bytes");
}

#[test]
fn a_client_gets_the_smallest_form_it_takes() {
    let page = asset("/").unwrap();
    assert_eq!(page.form("gzip, deflate, br").1, Some("br"));
    assert_eq!(page.form("gzip;q=1.0, br;q=0").1, Some("gzip"));
    assert_eq!(page.form("gzip;q=0.000, identity"), (page.plain, None));
    assert_eq!(page.form(""), (page.plain, None));
    assert!(page.form("br").0.len() < page.plain.len());
    assert!(!page.is_immutable() && ASSETS.iter().any(Asset::is_immutable));
    assert!(page.etag.starts_with('"') && page.etag.ends_with('"'));
}
