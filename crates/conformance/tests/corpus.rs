//! The SQL corpus (`tests/slt`) under every configuration.
//!
//! `CORPUS=joins/left cargo test -p conformance --test corpus` replays the files whose path contains the text;
//! `CONFIGURATION=spilling` leaves that one of the others.

use conformance::configuration::{self, Configuration};
use conformance::corpus::{files, replay};

fn replay_all(configurations: &[Configuration]) {
    let only = std::env::var("CORPUS").unwrap_or_default();
    let mut failures = Vec::new();
    let mut run = 0;
    for file in files().iter().filter(|f| f.to_string_lossy().contains(&only)) {
        for configuration in configurations {
            failures.extend(replay(file, configuration, &mut run));
        }
    }
    println!("{run} records under {} configurations, {} failures", configurations.len(), failures.len());
    assert!(run > 0, "no record was run");
    assert!(failures.is_empty(), "{} failures:\n{}", failures.len(), failures.join("\n\n"));
}

#[test]
fn standard_configuration() {
    replay_all(&[configuration::standard()]);
}

#[test]
fn other_configurations() {
    let mut configurations = configuration::all().split_off(1);
    if let Ok(only) = std::env::var("CONFIGURATION") {
        configurations.retain(|configuration| configuration.name == only);
    }
    replay_all(&configurations);
}

/// On four nodes, of the whole corpus what `CORPUS` says, else joins, aggregates, subqueries and windows.
#[test]
fn four_nodes() {
    let only = std::env::var("CORPUS").ok();
    let mut failures = Vec::new();
    let mut run = 0;
    for file in files() {
        let path = file.to_string_lossy();
        let wanted = match &only {
            Some(only) => path.contains(only.as_str()),
            None => ["/joins/", "/aggregates/", "/subqueries/", "/windows/", "/set_operations/"]
                .iter()
                .any(|folder| path.contains(folder)),
        };
        if wanted {
            failures.extend(replay(&file, &configuration::nodes(4), &mut run));
        }
    }
    println!("{run} records on four nodes, {} failures", failures.len());
    assert!(run > 0 && failures.is_empty(), "{} failures:\n{}", failures.len(), failures.join("\n\n"));
}

/// A corpus that cannot fail proves nothing: a wrong expectation must be reported.
#[test]
fn a_planted_fault_is_reported() {
    let folder = std::env::temp_dir().join(format!("quickstep-corpus-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let file = folder.join("planted.slt");
    std::fs::write(
        &file,
        "query I\nSELECT 1\n----\n2\n\nquery I\nSELECT 1\n----\n1\n\nstatement error\nSELECT 1\n",
    )
    .unwrap();
    let mut run = 0;
    let failures = replay(&file, &configuration::standard(), &mut run);
    std::fs::remove_dir_all(&folder).unwrap();
    assert_eq!((run, failures.len()), (3, 2), "{failures:?}");
}
