//! State of a thread: a value that a function finds in its thread was not handed to it, so that who reads the call cannot
//! see it, and work that moves to another thread loses it. Each place that keeps one is listed with its reason; the list
//! may only become shorter, and an entry whose file has none fails as well.

use std::path::{Path, PathBuf};

use crate::Finding;
use crate::tokens::{Token, tokens};

/// Files that may keep state of a thread, and why.
const ALLOWED: &[(&str, &str)] = &[
    (
        "crates/engine/src/statement.rs",
        "a host function that runs a statement passes foreign frames, which hand nothing down",
    ),
    (
        "crates/conformance/src/corpus.rs",
        "sqllogictest's comparison of rows is a plain function, which is not told the query",
    ),
    ("crates/expr/src/own/collation.rs", "a name that was read last: only speed depends on it"),
    ("crates/expr/src/regular.rs", "patterns that were compiled last: only speed depends on them"),
    ("crates/files/src/direct.rs", "a buffer that is used again: no call can see what was in it"),
    ("crates/files/src/packed.rs", "buffers that are used again: no call can see what was in them"),
    ("crates/formats/src/quiet.rs", "the process's panic hook is called without arguments"),
    ("crates/memory/src/counting.rs", "the allocator is called without arguments"),
    (
        "crates/plan/src/encoding/shared.rs",
        "serde's derived code hands no context down while a document is written or read",
    ),
    (
        "crates/python/src/functions.rs",
        "the interpreter's frames stand between a function and the statement that called it",
    ),
    ("crates/scheduler/src/worker.rs", "which work order the thread is inside of, for callers that work"),
    (
        "crates/sql/src/moment.rs",
        "to be handed down, as the zone: literals that stand for a moment ask for it",
    ),
    ("crates/sync/src/counter.rs", "a thread's stripe of a counter: only speed depends on it"),
    (
        "crates/sync/src/stop.rs",
        "to be handed down: parser, binder, optimizer and kernels ask for the stop signal",
    ),
    ("crates/types/src/nested/mod.rs", "a copy of interned types: only speed depends on it"),
    (
        "crates/types/src/written.rs",
        "serde's derived code hands no context down while a document is written or read",
    ),
    (
        "crates/types/src/zone.rs",
        "to be handed down: the binder and casts to text ask for the session's zone",
    ),
    (
        "crates/types/src/collation.rs",
        "collators that are used again; and, as the zone, the session's default, which types are asked about",
    ),
];

pub fn check(root: &Path, files: &[PathBuf]) -> Vec<Finding> {
    let mut findings = Vec::new();
    let mut listed: Vec<&str> = ALLOWED.iter().map(|(place, _)| *place).collect();
    for file in files {
        let place = file.to_string_lossy().into_owned();
        let source = place.starts_with("crates/") && place.contains("/src/") && place.ends_with(".rs");
        if !source || place.contains("/tests") || place.contains("/bin/") {
            continue;
        }
        let Ok(text) = std::fs::read_to_string(root.join(file)) else { continue };
        if !keeps_state_of_a_thread(&text) {
            continue;
        }
        match listed.iter().position(|listed| *listed == place) {
            Some(at) => drop(listed.remove(at)),
            None => findings.push(Finding::new(
                place,
                "keeps state of a thread: hand it down, or list it with a reason in xtask/src/thread_locals.rs",
            )),
        }
    }
    findings.extend(listed.into_iter().map(|place| {
        Finding::new(place, "keeps no state of a thread: take it from the list in xtask/src/thread_locals.rs")
    }));
    findings
}

/// Whether a file declares a thread-local outside of its tests.
fn keeps_state_of_a_thread(text: &str) -> bool {
    let tokens = tokens(text);
    let texts: Vec<&str> = tokens.iter().map(Token::text).collect();
    texts.iter().enumerate().any(|(at, name)| {
        *name == "thread_local" && !texts[..at].ends_with(&["#", "[", "cfg", "(", "test", ")", "]"])
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn planted_faults_are_found() {
        assert!(keeps_state_of_a_thread("thread_local! { static A: u8 = 1; }"));
        assert!(keeps_state_of_a_thread("fn f() { std::thread_local!(static A: u8 = 1); }"));
        assert!(!keeps_state_of_a_thread("#[cfg(test)]\nthread_local! { static A: u8 = 1; }"));
        assert!(!keeps_state_of_a_thread("// thread_local!\nconst A: &str = \"thread_local!\";"));
    }
}
