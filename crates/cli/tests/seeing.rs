//! What the command says of itself to others: its log, and its metrics over HTTP.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value as Json;

fn quickstep(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_quickstep"));
    command.args(arguments).stdin(Stdio::null()).env_remove("QUICKSTEP_LOG");
    command
}

fn log_lines(mut command: Command) -> Vec<Json> {
    let output = command.output().expect("the command runs");
    let text = String::from_utf8(output.stderr).expect("UTF-8");
    text.lines()
        .filter(|line| line.starts_with('{'))
        .map(|line| serde_json::from_str(line).expect(line))
        .collect()
}

#[test]
fn statements_are_logged_by_level_as_json_or_text() {
    let script = "SET slow_query_threshold = '0.001ms'; SELECT 41 + 1; SELECT nosuch";
    let lines = log_lines(quickstep(&["--log", "debug", "--log-format", "json", "-c", script]));
    let of = |target: &str, message: &str| {
        lines.iter().filter(|l| l["target"] == target && l["message"] == message).collect::<Vec<_>>()
    };
    assert_eq!(of("quickstep::statement", "statement begins").len(), 3, "{lines:?}");
    let ended = of("quickstep::statement", "statement ended");
    let state = |text: &str| ended.iter().find(|l| l["text"] == text).map(|l| l["state"].clone());
    assert_eq!(state("SELECT 41 + 1"), Some("finished".into()), "{ended:?}");
    assert_eq!(state("SELECT nosuch"), Some("failed".into()));
    assert!(ended.iter().any(|l| l["sqlstate"] == "42703" && l["rows"] == 0));
    let slow = of("quickstep::slow", "slow statement");
    assert!(
        slow.iter().any(|l| l["summary"].as_str().is_some_and(|s| s.contains("SELECT 41 + 1"))),
        "{slow:?}"
    );
    assert!(slow.iter().all(|l| l["level"] == "WARN"));
    // Only what was asked for; nothing by default; the environment counts.
    assert!(log_lines(quickstep(&["--log", "warn", "--log-format", "json", "-c", "SELECT 1"])).is_empty());
    let mut by_environment = quickstep(&["--log-format", "json", "-c", "SELECT 1"]);
    by_environment.env("QUICKSTEP_LOG", "quickstep::statement=info");
    assert_eq!(log_lines(by_environment).len(), 1);
    let silent = quickstep(&["-c", script]).output().expect("runs");
    assert!(!String::from_utf8_lossy(&silent.stderr).contains("statement ended"));
    let text = quickstep(&["--log", "info", "-c", "SELECT 1"]).output().expect("runs");
    assert!(String::from_utf8_lossy(&text.stderr).contains("INFO quickstep::statement: statement ended"));
    let wrong = quickstep(&["--log", "quickstep=loud", "-c", "SELECT 1"]).output().expect("runs");
    assert_eq!(wrong.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&wrong.stderr).contains("invalid --log \"quickstep=loud\""));
}

#[test]
fn a_database_says_when_it_is_opened_recovered_and_checkpointed() {
    let folder = std::env::temp_dir().join(format!("quickstep-seeing-{}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("creates");
    let (place, file) = (folder.join("db"), folder.join("log.json"));
    let (place, file) = (place.to_str().expect("UTF-8"), file.to_str().expect("UTF-8"));
    let log = ["--log", "info", "--log-format", "json", "--log-file", file];
    for script in ["CREATE TABLE t AS SELECT 1 AS a; CHECKPOINT", "SELECT * FROM t"] {
        let mut arguments = log.to_vec();
        arguments.extend([place, "-c", script]);
        let output = quickstep(&arguments).output().expect("runs");
        assert!(
            output.status.success() && output.stderr.is_empty(),
            "{}",
            String::from_utf8_lossy(&output.stderr)
        );
    }
    let text = std::fs::read_to_string(file).expect("a log");
    let lines: Vec<Json> = text.lines().map(|line| serde_json::from_str(line).expect(line)).collect();
    let of = |message: &str| lines.iter().filter(|l| l["message"] == message).count();
    assert_eq!(of("database opened"), 2, "the second run goes on behind the first: {text}");
    assert!(of("checkpoint") >= 1, "{text}");
    std::fs::remove_dir_all(&folder).expect("removes");
}

/// A command that serves metrics, waits for more of its script, and ends with it.
struct Serving {
    child: Child,
    address: String,
}

impl Serving {
    fn new() -> Self {
        let mut command = quickstep(&["--metrics", "0"]);
        let mut child = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("the command starts");
        let mut line = String::new();
        BufReader::new(child.stderr.take().expect("a pipe")).read_line(&mut line).expect("a line");
        let address = line.trim().strip_prefix("metrics at http://").and_then(|l| l.strip_suffix("/metrics"));
        let address = address.unwrap_or_else(|| panic!("{line}")).to_owned();
        Serving { child, address }
    }

    fn ask(&self, request: &[u8]) -> String {
        let mut stream = TcpStream::connect(&self.address).expect("connects");
        stream.set_read_timeout(Some(Duration::from_secs(20))).expect("is set");
        // The server may have answered and closed before all of it is sent.
        let _ = stream.write_all(request);
        let mut answer = Vec::new();
        let _ = stream.read_to_end(&mut answer);
        String::from_utf8(answer).expect("UTF-8")
    }
}

impl Drop for Serving {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[test]
fn metrics_are_served_whatever_else_is_sent() {
    let mut serving = Serving::new();
    let good = b"GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n";
    let answer = serving.ask(good);
    assert!(
        answer.starts_with("HTTP/1.1 200 OK\r\n") && answer.contains("# TYPE quickstep_workers gauge"),
        "{answer}"
    );
    assert!(answer.contains("text/plain; version=0.0.4"));
    for (request, expected) in [
        (&b"GET /other HTTP/1.1\r\n\r\n"[..], "404"),
        (b"DELETE /metrics HTTP/1.1\r\n\r\n", "405"),
        (b"\0\xff\r\n\r\n", "400"),
        (&[b'a'; 20_000], "431"),
    ] {
        let answer = serving.ask(request);
        assert!(answer.starts_with(&format!("HTTP/1.1 {expected}")), "{expected}: {answer}");
    }
    // Silent connections do not block others, and are closed.
    let silent: Vec<TcpStream> =
        (0..12).map(|_| TcpStream::connect(&serving.address).expect("connects")).collect();
    let begun = Instant::now();
    assert!(serving.ask(good).starts_with("HTTP/1.1 200"));
    // They are let go after five seconds.
    assert!(begun.elapsed() < Duration::from_secs(4), "{:?}", begun.elapsed());
    let mut first = silent.into_iter().next().expect("some");
    first.set_read_timeout(Some(Duration::from_secs(20))).expect("is set");
    assert!(first.read_to_end(&mut Vec::new()).is_ok_and(|read| read == 0), "it was let go");
    // The command ends with its script, though connections are open.
    let _open = TcpStream::connect(&serving.address).expect("connects");
    drop(serving.child.stdin.take());
    timing::until("the command ends", || serving.child.try_wait().expect("is known").is_some());
    let wrong = quickstep(&["--metrics", "nowhere", "-c", "SELECT 1"]).output().expect("runs");
    assert_eq!(wrong.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&wrong.stderr).contains("cannot serve metrics at \"nowhere\""));
}
