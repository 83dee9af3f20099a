//! Figures as a line of JSON, with commit and machine, as all recorded runs have them.

use std::fs::OpenOptions;
use std::io::Write;
use std::process::Command;

use serde_json::{Value, json};

/// Prints the figures, and appends them to the file that `--record` names.
pub fn record(work: &str, figures: Value) -> std::io::Result<()> {
    let line = json!({
        "format": 1,
        "date": text("date", &["-u", "+%Y-%m-%dT%H:%M:%S+00:00"]),
        "commit": {
            "id": text("git", &["rev-parse", "HEAD"]),
            "modified": !text("git", &["status", "--porcelain", "--untracked-files=no"]).is_empty(),
        },
        "machine": machine(),
        "work": work,
        "figures": figures,
    });
    let mut arguments = std::env::args().skip_while(|argument| argument != "--record").skip(1);
    match arguments.next() {
        None => println!("{line}"),
        Some(path) => writeln!(OpenOptions::new().create(true).append(true).open(path)?, "{line}")?,
    }
    Ok(())
}

fn text(program: &str, arguments: &[&str]) -> String {
    let run = Command::new(program).args(arguments).output().ok().filter(|run| run.status.success());
    run.map_or_else(|| "unknown".to_owned(), |run| String::from_utf8_lossy(&run.stdout).trim().to_owned())
}

fn machine() -> Value {
    let information = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let model = information.lines().find_map(|line| line.strip_prefix("model name")?.split_once(':'));
    let memory = std::fs::read_to_string("/proc/meminfo").unwrap_or_default();
    let kib = memory
        .lines()
        .find_map(|line| line.strip_prefix("MemTotal:")?.split_whitespace().next()?.parse().ok());
    json!({
        "cpu": model.map_or("unknown", |(_, name)| name.trim()),
        "threads": std::thread::available_parallelism().map_or(1, usize::from),
        "memory_gib": (kib.unwrap_or(0.0) / 1024.0 / 102.4_f64).round() / 10.0,
    })
}
