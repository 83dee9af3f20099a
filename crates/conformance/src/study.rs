//! What the studies of papers share (binaries `storage_study`, `transfer_study`): a session that measures, and the
//! line of JSON that each part of a study leaves.
//!
//! `Study` holds the session and the settings that differ from run to run; `Times` are those of several runs, of
//! which a study takes the median, or the mean of the best.

use std::io::Write;
use std::process::{Command, ExitCode};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use engine::{Database, Options, Session};
use serde_json::{Map, Value as Json, json};
use types::{Type, Value};

use crate::repository;

/// The result of a step of a study; any error ends the program with its message.
pub type Outcome<T> = Result<T, Box<dyn std::error::Error>>;

/// What a part measures with.
pub struct Study {
    /// The session of the part's own database.
    pub session: Session,
    /// Rows of tables made for the study.
    pub rows: u64,
    /// Scale factors of benchmarks.
    pub scales: Vec<f64>,
    /// Timed runs of each query.
    pub runs: usize,
    /// Hardware threads of the machine, as the record shows them.
    pub workers: usize,
    /// The measurements noted so far, one JSON object each.
    pub figures: Vec<Json>,
}

/// Milliseconds of some runs.
pub struct Times(pub Vec<f64>);

impl Times {
    /// The median; the upper one of two middle values, 0 without runs.
    pub fn median(&self) -> f64 {
        let mut sorted = self.0.clone();
        sorted.sort_by(f64::total_cmp);
        sorted.get(sorted.len() / 2).copied().unwrap_or(0.0)
    }
    /// The arithmetic mean, 0 without runs.
    pub fn mean(&self) -> f64 {
        self.0.iter().sum::<f64>() / self.0.len().max(1) as f64
    }
    /// The mean of the fastest `count` runs, as studies of warm systems report.
    pub fn mean_of_best(&self, count: usize) -> f64 {
        let mut sorted = self.0.clone();
        sorted.sort_by(f64::total_cmp);
        sorted.truncate(count.max(1));
        Times(sorted).mean()
    }
    /// The sample standard deviation, with n - 1 in the denominator; 0 for fewer than two runs.
    pub fn deviation(&self) -> f64 {
        let mean = self.mean();
        let squares: f64 = self.0.iter().map(|t| (t - mean).powi(2)).sum();
        (squares / (self.0.len().max(2) - 1) as f64).sqrt()
    }
}

/// Three places are enough.
pub fn rounded(value: f64) -> f64 {
    (value * 1e3).round() / 1e3
}

impl Study {
    /// Executes statements; milliseconds.
    pub fn run(&self, sql: &str) -> Outcome<f64> {
        let started = Instant::now();
        self.session.execute(sql).map_err(|e| format!("{e} in {sql}"))?;
        Ok(started.elapsed().as_secs_f64() * 1e3)
    }

    /// ALTER TABLE ... SET, and the work in the background to its end.
    pub fn reorganize(&self, sql: &str) -> Outcome<f64> {
        let started = Instant::now();
        self.run(sql)?;
        while self.session.database().is_reorganizing() {
            std::thread::sleep(Duration::from_millis(1));
        }
        Ok(started.elapsed().as_secs_f64() * 1e3)
    }

    /// Runs a query to the last batch of its result.
    pub fn once(&self, sql: &str) -> Outcome<f64> {
        let started = Instant::now();
        let mut stream = self.session.stream(sql).map_err(|e| format!("{e} in {sql}"))?;
        while stream.next_batch()?.is_some() {}
        Ok(started.elapsed().as_secs_f64() * 1e3)
    }

    /// Once to warm up, and then the timed runs.
    pub fn times(&self, sql: &str) -> Outcome<Times> {
        self.once(sql)?;
        Ok(Times((0..self.runs).map(|_| self.once(sql)).collect::<Outcome<_>>()?))
    }

    /// Measures a query; the figure has these labels.
    pub fn measure(&mut self, labels: &[(&str, Json)], sql: &str) -> Outcome<f64> {
        let times = self.times(sql)?;
        let values = [
            ("median_ms", json!(rounded(times.median()))),
            ("mean_ms", json!(rounded(times.mean()))),
            ("sd_ms", json!(rounded(times.deviation()))),
        ];
        self.note(labels.iter().cloned().chain(values));
        Ok(times.median())
    }

    /// Keeps a figure, and prints it.
    pub fn note<'l>(&mut self, labels: impl IntoIterator<Item = (&'l str, Json)>) {
        let figure: Map<String, Json> =
            labels.into_iter().map(|(name, value)| (name.to_owned(), value)).collect();
        eprintln!("  {}", Json::Object(figure.clone()));
        self.figures.push(Json::Object(figure));
    }

    /// Bytes of a table's blocks.
    pub fn bytes(&self, table: &str) -> Outcome<u64> {
        Ok(self.session.database().catalog().snapshot().table(None, table)?.data.bytes())
    }

    /// Changes tables' layouts, all at once in the background.
    pub fn set_layouts(&self, layouts: &[(&str, &str)]) -> Outcome<()> {
        for (table, layout) in layouts {
            self.run(&format!("ALTER TABLE {table} SET (layout = {layout})"))?;
        }
        while self.session.database().is_reorganizing() {
            std::thread::sleep(Duration::from_millis(5));
        }
        Ok(())
    }

    /// Appends a line of what a part measured.
    pub fn record(&self, file: &str, part: &str, took: Duration) -> Outcome<()> {
        let now = SystemTime::now().duration_since(UNIX_EPOCH)?.as_micros() as i64;
        let line = json!({
            "format": 1,
            "date": Value::I64(now).display(Type::TimestampTz),
            "commit": commit(),
            "machine": machine(),
            "part": part,
            "rows": self.rows,
            "scales": self.scales,
            "runs": self.runs,
            "workers": self.workers,
            "seconds": rounded(took.as_secs_f64()),
            "figures": self.figures,
        });
        let mut lines = std::fs::OpenOptions::new().create(true).append(true).open(file)?;
        writeln!(lines, "{line}")?;
        Ok(())
    }

    /// Drops a table, and gives its memory back.
    pub fn drop(&self, table: &str) -> Outcome<()> {
        self.run(&format!("DROP TABLE IF EXISTS {table} CASCADE"))?;
        self.session.database().release_idle_memory();
        Ok(())
    }
}

fn machine() -> Json {
    let information = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let model = information.lines().find_map(|line| line.strip_prefix("model name")?.split_once(':'));
    json!({
        "cpu": model.map_or("unknown", |(_, name)| name.trim()),
        "threads": std::thread::available_parallelism().map_or(1, usize::from),
        "memory_gib": (memory::machine_limit_bytes() as f64 / f64::from(1 << 30) * 10.0).round() / 10.0,
        "simd": simd::level().name(),
    })
}

fn commit() -> Json {
    let git = |arguments: &[&str]| {
        let run = Command::new("git").args(arguments).output().ok()?;
        run.status.success().then(|| String::from_utf8_lossy(&run.stdout).trim().to_owned())
    };
    let changed =
        git(&["status", "--porcelain", "--untracked-files=no"]).is_some_and(|text| !text.is_empty());
    json!({ "id": git(&["rev-parse", "HEAD"]).unwrap_or_else(|| "unknown".into()), "modified": changed })
}

/// The queries of a benchmark by name, as they are at a scale.
pub fn queries(suite: &str, scale: f64) -> Outcome<Vec<(String, String)>> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(repository().join("tests/answers/queries").join(suite))? {
        let path = entry?.path();
        let name = path.file_stem().map_or_else(String::new, |s| s.to_string_lossy().into_owned());
        let text = std::fs::read_to_string(&path)?.replace("{fraction}", &format!("{:.10}", 0.0001 / scale));
        found.push((name, text));
    }
    found.sort();
    Ok(found)
}

/// One part of a study: it measures, and leaves figures.
pub type Part = fn(&mut Study) -> Outcome<()>;

/// Sizes, where the command line has none.
pub struct Defaults {
    /// Rows of tables made for the study.
    pub rows: u64,
    /// Scale factors of benchmarks.
    pub scales: Vec<f64>,
    /// Timed runs of each query.
    pub runs: usize,
}

/// A study's program: `--rows N --scales A,B --runs N --parts a,b --record FILE`. Each part has a database of its
/// own, prepared by `prepare`, so that nothing of one lies in another's memory.
pub fn main(
    program: &str,
    parts: &[(&str, Part)],
    defaults: Defaults,
    prepare: fn(&Session) -> Outcome<()>,
) -> ExitCode {
    match run(parts, defaults, prepare) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{program}: {error}");
            ExitCode::FAILURE
        }
    }
}

fn run(parts: &[(&str, Part)], defaults: Defaults, prepare: fn(&Session) -> Outcome<()>) -> Outcome<()> {
    let Defaults { mut rows, mut scales, mut runs } = defaults;
    let (mut wanted, mut record): (Option<Vec<String>>, Option<String>) = (None, None);
    let mut given = std::env::args().skip(1);
    while let Some(name) = given.next() {
        let value = given.next().ok_or_else(|| format!("{name} needs a value"))?;
        match name.as_str() {
            "--rows" => rows = value.replace(['_', ','], "").parse()?,
            "--scales" => scales = value.split(',').map(str::parse).collect::<Result<_, _>>()?,
            "--runs" => runs = value.parse()?,
            "--parts" => wanted = Some(value.split(',').map(str::to_owned).collect()),
            "--record" => record = Some(value),
            _ => return Err(format!("{name} is not known").into()),
        }
    }
    if rows < 10_000 || runs == 0 || scales.is_empty() {
        return Err("at least 10,000 rows, one scale and one run".into());
    }
    if let Some(unknown) = wanted.iter().flatten().find(|w| parts.iter().all(|(name, _)| name != w)) {
        return Err(format!("there is no part {unknown}").into());
    }
    let workers = std::thread::available_parallelism().map_or(1, usize::from);
    for (name, part) in parts {
        if wanted.as_ref().is_some_and(|wanted| wanted.iter().all(|w| w != name)) {
            continue;
        }
        eprintln!("{name}");
        let started = Instant::now();
        let session = Database::in_memory(Options::default())?.session();
        prepare(&session)?;
        let mut study = Study { session, rows, scales: scales.clone(), runs, workers, figures: vec![] };
        part(&mut study)?;
        if let Some(file) = &record {
            study.record(file, name, started.elapsed())?;
        }
    }
    Ok(())
}
