//! The memory limit holds for what functions make and for operators over computed text: the command runs as a child
//! process whose resident memory is watched, and gives the right answer or ends with SQLSTATE 53200.
#![cfg(target_os = "linux")]

use std::process::{Command, Stdio};
use std::time::Duration;

/// Growth of resident memory under a limit of 128 MB, at most: the allocator keeps pages beside what is charged. What is not
/// charged grows with the statement and is far beyond.
const GROWTH_MIB_MAX: u64 = 256;

/// The highest resident memory of a process, as far as it told while it lived, and what it put out.
fn run(limit: &str, statement: &str) -> (u64, String) {
    let mut child = Command::new(env!("CARGO_BIN_EXE_quickstep"))
        .args(["--memory", limit, "-c", statement])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let status = format!("/proc/{}/status", child.id());
    let mut peak = 0;
    while child.try_wait().unwrap().is_none() {
        let text = std::fs::read_to_string(&status).unwrap_or_default();
        let line = text.lines().find_map(|line| line.strip_prefix("VmHWM:"));
        let kib = line.and_then(|l| l.trim().trim_end_matches(" kB").parse::<u64>().ok());
        peak = peak.max(kib.unwrap_or(0) << 10);
        std::thread::sleep(Duration::from_millis(2));
    }
    let output = child.wait_with_output().unwrap();
    (peak, String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned())
}

fn within(statements: &[(&str, &str)]) {
    let (base, _) = run("128MB", "SELECT 1");
    for (statement, answer) in statements {
        let (peak, output) = run("128MB", statement);
        let right = !answer.is_empty() && output.contains(answer) && !output.contains("ERROR");
        assert!(right || output.contains("ERROR 53200"), "{statement}: {output:.200}");
        let grown = (peak.saturating_sub(base)) >> 20;
        assert!(grown <= GROWTH_MIB_MAX, "{statement}: grew by {grown} MiB under a limit of 128 MB");
    }
}

#[test]
fn functions_ask_before_they_allocate() {
    within(&[
        ("SELECT length(repeat('x', 900000000))", "900000000"),
        ("SELECT sum(length(repeat('x', i::int * 1000000))) FROM generate_series(1, 20) g(i)", "210000000"),
        (
            "SELECT sum(length(repeat('x', 1000000 + i::int))) FROM generate_series(1, 1000) g(i)",
            "1000500500",
        ),
        ("SELECT sum(length(lpad(i::text, 1000000, 'ab'))) FROM generate_series(1, 500) g(i)", "500000000"),
        ("SELECT sum(length(rpad(i::text, 1000000, 'ab'))) FROM generate_series(1, 500) g(i)", "500000000"),
        (
            "SELECT sum(length(replace(repeat('x', 1000 + i::int), 'x', repeat('y', 500)))) \
          FROM generate_series(1, 500) g(i)",
            "312625000",
        ),
        ("SELECT sum(length(repeat('x', 1000000) || i)) FROM generate_series(1000, 1499) g(i)", "500002000"),
        (
            "SELECT sum(length(upper(repeat('x', 1000000 + i::int)))) FROM generate_series(1, 200) g(i)",
            "200020100",
        ),
        ("SELECT sum(length(format('%1000000s', i))) FROM generate_series(1, 500) g(i)", "500000000"),
        (
            "SELECT sum(length(concat(repeat('x', 1000000 + i::int), 'a'))) FROM generate_series(1, 200) g(i)",
            "200020300",
        ),
        (
            "SELECT count(*) FROM generate_series(1, 200) g(i) WHERE length(repeat('x', 1000000 + i::int)) > 5",
            "200",
        ),
        ("SELECT sum(length(range(1, 1000000 + i)::text)) FROM generate_series(1, 20) g(i)", "157779630"),
        ("SELECT repeat('x', 1000000 + i::int) FROM generate_series(1, 1000) g(i)", ""),
    ]);
}

#[test]
fn operators_over_computed_text_spill_or_say_so() {
    within(&[
        (
            "SELECT count(*) FROM (SELECT DISTINCT repeat('x', 1000000 + i::int) FROM generate_series(1, 300) g(i)) q",
            "300",
        ),
        (
            "SELECT length(string_agg(repeat('x', 1000000 + i::int), '')) FROM generate_series(1, 500) g(i)",
            "",
        ),
    ]);
}
