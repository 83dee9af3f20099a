//! Lines of JSON with where they come from.

use std::io::Write;
use std::process::Command;

/// Where figures go.
pub struct Record {
    commit: String,
    dry: bool,
}

fn output_of(command: &str, arguments: &[&str]) -> String {
    let output = Command::new(command).args(arguments).output();
    output.map(|output| String::from_utf8_lossy(&output.stdout).trim().to_owned()).unwrap_or_default()
}

impl Record {
    pub fn new(dry: bool) -> Self {
        Record { commit: output_of("git", &["rev-parse", "--short=8", "HEAD"]), dry }
    }

    /// Appends a figure: its name, and fields that are JSON already.
    pub fn add(&mut self, what: &str, fields: &[(&str, String)]) {
        let fields: String = fields.iter().map(|(name, value)| format!("\"{name}\": {value}, ")).collect();
        let load = std::fs::read_to_string("/proc/loadavg").unwrap_or_default();
        let load = load.split(' ').next().unwrap_or("0").to_owned();
        let cores = std::thread::available_parallelism().map_or(1, |cores| cores.get());
        let when = output_of("date", &["-u", "+%Y-%m-%d %H:%M"]);
        let line = format!(
            "{{\"what\": \"{what}\", {fields}\"cores\": {cores}, \"load\": {load}, \
             \"note\": \"shared, busy machine\", \"commit\": \"{}\", \"when\": \"{when}\"}}",
            self.commit
        );
        println!("{line}");
        if self.dry {
            return;
        }
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../bench/results/grappa.jsonl");
        let file = std::fs::OpenOptions::new().append(true).create(true).open(path);
        if let Err(error) = file.and_then(|mut file| writeln!(file, "{line}")) {
            eprintln!("{path}: {error}");
        }
    }
}

/// A number as JSON, to a sensible number of digits.
pub fn number(value: f64) -> String {
    if value.abs() >= 100.0 { format!("{value:.0}") } else { format!("{value:.3}") }
}

/// A text as JSON.
pub fn text(value: &str) -> String {
    format!("\"{value}\"")
}
