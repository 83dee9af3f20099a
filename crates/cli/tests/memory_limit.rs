//! The memory limit holds for what functions make and for operators over computed text: the command runs as a child
//! process whose resident memory is watched, and gives the right answer or ends with SQLSTATE 53200. Every function
//! of the registry is called with large arguments.
#![cfg(target_os = "linux")]

use std::process::{Command, Stdio};
use std::sync::Mutex;
use std::time::{Duration, Instant};

/// Growth of resident memory under a limit of 128 MB, at most: the allocator keeps pages in addition to what is
/// charged. What is not charged grows with the statement and is far beyond.
const GROWTH_MIB_MAX: u64 = 256;

/// No call takes longer, on a machine that is busy with other things.
const SLOWEST: Duration = Duration::from_secs(120);

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
    // Both are read while the process runs: a pipe that is full would hold it.
    fn read_to_end(mut pipe: impl std::io::Read + Send + 'static) -> std::thread::JoinHandle<Vec<u8>> {
        std::thread::spawn(move || {
            let mut bytes = Vec::new();
            let _ = pipe.read_to_end(&mut bytes);
            bytes
        })
    }
    let output = read_to_end(child.stdout.take().unwrap());
    let errors = read_to_end(child.stderr.take().unwrap());
    let begun = Instant::now();
    while child.try_wait().unwrap().is_none() {
        if begun.elapsed() > SLOWEST {
            child.kill().unwrap();
        }
        let text = std::fs::read_to_string(&status).unwrap_or_default();
        let line = text.lines().find_map(|line| line.strip_prefix("VmHWM:"));
        let kib = line.and_then(|l| l.trim().trim_end_matches(" kB").parse::<u64>().ok());
        peak = peak.max(kib.unwrap_or(0) << 10);
        std::thread::sleep(Duration::from_millis(2));
    }
    let status = child.wait().unwrap();
    let bytes = [output.join().unwrap(), errors.join().unwrap()].concat();
    let mut output = String::from_utf8_lossy(&bytes).into_owned();
    if !matches!(status.code(), Some(0 | 1)) {
        output.push_str(&format!("ENDED {status}"));
    }
    (peak, output)
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
        (&over("SELECT i FROM {} ORDER BY @ LIMIT 3"), "1"),
        (&over("SELECT count(*) FROM (SELECT @ x FROM {} ORDER BY 1) q"), "400"),
        (
            &over(
                "SELECT count(*) FROM {} JOIN generate_series(1, 400) h(j) ON @ = repeat('x', 1000000 + j::int)",
            ),
            "400",
        ),
        (
            &over(
                "SELECT count(*) FROM generate_series(1, 3) h(j) LEFT JOIN {} ON @ < repeat('x', 1000000 + j::int)",
            ),
            "",
        ),
        (
            "SELECT count(*) FROM generate_series(1, 10) a(i) LEFT JOIN generate_series(1, 30000000) b(j) \
             ON a.i < b.j AND a.i + 5 > b.j",
            "40",
        ),
        (
            "SELECT count(*) FROM generate_series(1, 10) a(i) LEFT JOIN generate_series(1, 3000000) b(j) \
             ON a.i < b.j AND a.i * 2 > j % 3000",
            "",
        ),
        (&over("SELECT sum(n) FROM (SELECT count(*) OVER (PARTITION BY @) n FROM {}) q"), "400"),
        (&over("SELECT sum(n) FROM (SELECT row_number() OVER (ORDER BY @) n FROM {}) q"), "80200"),
        (&over("SELECT sum(length(n)) FROM (SELECT lag(@) OVER (ORDER BY i) n FROM {}) q"), ""),
        (&over("SELECT length(max(@)) FROM {}"), "1000400"),
        (&over("SELECT count(DISTINCT @) FROM {}"), "400"),
        (&over("SELECT len(array_agg(@)) FROM {}"), "400"),
        (&over("SELECT length(json_agg(@)::text) FROM {}"), ""),
        (&over("SELECT length(jsonb_agg(@)::text) FROM {}"), ""),
        (&over("SELECT length(mode(@)) FROM {}"), ""),
        (&over("SELECT histogram(@) FROM {}"), ""),
        (&over("SELECT count(*) FROM (SELECT @ FROM {} UNION SELECT @ FROM {}) q"), "400"),
        ("SELECT len(list_transform(range(1, 400), x -> repeat('x', 1000000 + x::int)))", "399"),
        ("SELECT len(list_filter(range(1, 400), x -> length(repeat('x', 1000000 + x::int)) > 5))", "399"),
        (
            "SELECT length(list_reduce(list_transform(range(1, 100), x -> repeat('x', 1000000)), (a, b) -> a || b))",
            "99000000",
        ),
        ("SELECT count(*) FROM unnest(range(1, 30000000)) u(x)", "29999999"),
        ("SELECT count(*) FROM regexp_split_to_table(repeat('a,', 20000000), ',')", "20000001"),
    ]);
}

/// A statement over 400 texts of a million characters.
fn over(statement: &str) -> String {
    statement.replace('@', "repeat('x', 1000000 + i::int)").replace("{}", "generate_series(1, 400) g(i)")
}

/// A large argument for a parameter of that name; `i` is the row.
fn argument(parameter: &str, one: bool) -> String {
    let has = |words: &[&str]| words.iter().any(|word| parameter.contains(word));
    let scaled = |large: u32, small: u32| if one { large } else { small };
    let text = format!("repeat('ab ', {} + i::int)", scaled(2_000_000, 100_000));
    if has(&["json"]) {
        format!("('[' || repeat('1,', {} + i::int) || '1]')", scaled(1_000_000, 60_000))
    } else if has(&["pattern", "regex"]) {
        "'[a-c]'".into()
    } else if has(&["bytes"]) {
        format!("{text}::bytea")
    } else if has(&["unit", "field", "part"]) {
        "'day'".into()
    } else if has(&["moment", "stamp", "instant", "date", "day"]) || matches!(parameter, "from" | "to") {
        "TIMESTAMP '2024-01-01'".into()
    } else if has(&["list", "vector"]) {
        format!("range(1, {} + i)", scaled(1_000_000, 25_000))
    } else if has(&["lambda", "function", "->"]) {
        "x -> x".into()
    } else if has(&["template"]) {
        "'%s'".into()
    } else if has(&["encoding", "format"]) {
        "'hex'".into()
    } else if has(&["flags"]) {
        "'g'".into()
    } else if has(&["separator"]) {
        "' '".into()
    } else if has(&["replacement"]) {
        "'xyzxyzxyz'".into()
    } else if has(&[
        "text",
        "string",
        "fill",
        "name",
        "word",
        "character",
        "prefix",
        "suffix",
        "value",
        "key",
        "path",
    ]) || matches!(parameter, "a" | "b")
    {
        text
    } else if has(&["condition", "behind", "create", "backwards"]) {
        "true".into()
    } else {
        scaled(30_000_000, 500_000).to_string()
    }
}

/// The calls that a function's usage tells of, with as few and as many arguments as it takes.
fn calls(name: &str, usage: &str, one: bool) -> Vec<String> {
    let mut calls = Vec::new();
    for form in usage.split("; ") {
        let Some(inside) = form.split_once('(').and_then(|(_, rest)| rest.rsplit_once(')')).map(|(i, _)| i)
        else {
            continue;
        };
        let optional = inside.matches('[').count();
        let plain = inside.replace(['[', ']'], "").to_lowercase();
        let words: Vec<&str> =
            plain.split(',').map(str::trim).filter(|w| !w.is_empty() && *w != "...").collect();
        for count in [words.len() - optional.min(words.len()), words.len()] {
            let arguments: Vec<String> = words[..count].iter().map(|w| argument(w, one)).collect();
            let call = format!("{name}({})", arguments.join(", "));
            if count > 0 && !calls.contains(&call) {
                calls.push(call);
            }
        }
    }
    calls
}

#[test]
#[ignore = "takes many minutes: cargo test --release -p cli --test memory_limit -- --ignored"]
fn no_function_of_the_registry_exceeds_the_limit() {
    const LIMIT: &str = "32MB";
    const GROWN_MIB_MAX: u64 = 160;
    let (base, _) = run(LIMIT, "SELECT 1");
    let listed = Command::new(env!("CARGO_BIN_EXE_quickstep"))
        .args(["--format", "tsv", "-c"])
        .arg("SELECT function_name, usage FROM quickstep_functions() WHERE function_type = 'scalar' ORDER BY 1")
        .output()
        .unwrap();
    let listed = String::from_utf8(listed.stdout).unwrap();
    let mut statements: Vec<String> = Vec::new();
    for line in listed.lines().skip(1) {
        let Some((name, usage)) = line.split_once('\t') else { continue };
        for (one, rows) in [(true, 1), (false, 120)] {
            let mut calls = calls(name, usage, one);
            if !one {
                // The last one has all its arguments.
                calls.drain(..calls.len().saturating_sub(1));
            }
            for call in calls {
                statements
                    .push(format!("SELECT sum(length(({call})::text)) FROM generate_series(1, {rows}) g(i)"));
            }
        }
    }
    assert!(statements.len() > 500, "{} calls", statements.len());
    let (left, wrong) = (Mutex::new(statements), Mutex::new(Vec::new()));
    std::thread::scope(|scope| {
        for _ in 0..std::thread::available_parallelism().map_or(1, usize::from).min(8) {
            scope.spawn(|| {
                while let Some(statement) = { left.lock().unwrap().pop() } {
                    let (peak, output) = run(LIMIT, &statement);
                    let grown = peak.saturating_sub(base) >> 20;
                    let ended = output.contains("ENDED") || output.contains("ERROR XX000");
                    if ended || grown > GROWN_MIB_MAX {
                        wrong.lock().unwrap().push(format!("{grown} MiB: {statement}: {output:.200}"));
                    }
                }
            });
        }
    });
    let wrong = wrong.into_inner().unwrap();
    assert!(wrong.is_empty(), "{} calls:\n{}", wrong.len(), wrong.join("\n"));
}
