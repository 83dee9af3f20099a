//! The measures, each with the bar that it is for.
//!
//! Each function runs queries of one or more sessions on a database of its own, and returns its figures as JSON;
//! `main` prints and records them. A session's thread loops over its query until a flag stops it. `NAMES` lists the
//! measures that the command line knows; times are wall-clock.

use std::ops::Range;
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
use std::thread;
use std::time::{Duration, Instant};

use engine::{Database, ResultSet, Session};
use serde_json::{Value, json};

use crate::{Choices, Outcome, database, queries, with_priority};

/// The measures that the command line can choose, in the order in which they run.
pub(crate) const NAMES: [&str; 7] =
    ["fair", "priorities", "short", "latency", "elastic", "streams", "remaining"];

/// Runs the measure of that name; an unknown name runs `streams`.
pub(crate) fn measure(name: &str, choices: &Choices) -> Outcome<Value> {
    match name {
        "fair" => fair(choices),
        "priorities" => priorities(choices),
        "short" => short(choices),
        "latency" => latency(choices),
        "elastic" => elastic(choices),
        "remaining" => crate::remaining::remaining(choices),
        _ => streams(choices),
    }
}

fn milliseconds(time: Duration) -> f64 {
    (time.as_secs_f64() * 1e6).round() / 1e3
}

fn percentile(times: &mut [Duration], percent: usize) -> Duration {
    times.sort();
    times.get((times.len() * percent / 100).min(times.len().saturating_sub(1))).copied().unwrap_or_default()
}

fn timed(session: &Session, text: &str) -> Outcome<Duration> {
    let begun = Instant::now();
    session.query(text)?;
    Ok(begun.elapsed())
}

fn named<'a>(all: &'a [(String, String)], name: &str) -> Outcome<&'a str> {
    let found = all.iter().find(|(known, _)| known == name).map(|(_, text)| text.as_str());
    found.ok_or_else(|| format!("there is no query {name}").into())
}

/// Runs a query again and again until told to stop.
fn looping(session: &Session, text: &str, over: &AtomicBool) {
    while !over.load(SeqCst) {
        if let Err(error) = session.query(text) {
            eprintln!("{error}");
            return;
        }
    }
}

/// Four different queries looping: CPU shares over any two seconds, at most 5 % from each other.
fn fair(choices: &Choices) -> Outcome<Value> {
    const WINDOW: Duration = Duration::from_secs(2);
    let database = database("tpch", &choices.scale, None)?;
    let all = queries("tpch", &choices.scale)?;
    let names = ["q01", "q06", "q03", "q09"];
    let sessions: Vec<Session> = names.iter().map(|_| database.session()).collect();
    sessions[0].query("SET policy = 'fair'")?;
    for (session, name) in sessions.iter().zip(names) {
        session.query(named(&all, name)?)?;
    }
    let over = AtomicBool::new(false);
    let mut samples: Vec<(Duration, Vec<Duration>)> = Vec::new();
    thread::scope(|scope| -> Outcome<()> {
        for (session, name) in sessions.iter().zip(names) {
            let (text, over) = (named(&all, name)?, &over);
            scope.spawn(move || looping(session, text, over));
        }
        thread::sleep(Duration::from_millis(300));
        let begun = Instant::now();
        while begun.elapsed().as_secs_f64() < choices.seconds {
            samples.push((begun.elapsed(), sessions.iter().map(Session::charged_time).collect()));
            thread::sleep(Duration::from_millis(20));
        }
        over.store(true, SeqCst);
        Ok(())
    })?;
    let mut worst = 0.0f64;
    for (at, (begin, before)) in samples.iter().enumerate() {
        let Some((_, after)) = samples[at..].iter().find(|(time, _)| *time >= *begin + WINDOW) else { break };
        let got: Vec<f64> = before.iter().zip(after).map(|(b, a)| (*a - *b).as_secs_f64()).collect();
        let mean = got.iter().sum::<f64>() / got.len() as f64;
        worst = got.iter().fold(worst, |worst, got| worst.max((got - mean).abs() / mean));
    }
    let whole: Vec<f64> = match (samples.first(), samples.last()) {
        (Some((_, before)), Some((_, after))) => {
            before.iter().zip(after).map(|(b, a)| milliseconds(*a - *b)).collect()
        }
        _ => vec![],
    };
    Ok(json!({ "queries": names, "cpu_ms": whole, "worst_deviation_over_2_s": worst, "bar": 0.05 }))
}

/// The paper's Figure 11: eleven queries looping at priority 1, then Q4.2 and Q4.3 at priority 2.
fn priorities(choices: &Choices) -> Outcome<Value> {
    let database = database("ssb", &choices.scale, None)?;
    let all = queries("ssb", &choices.scale)?;
    if all.len() < 13 {
        return Err("SSB has 13 queries".into());
    }
    let (low, high) = all.split_at(11);
    let urgent = with_priority(&database, 2)?;
    let mut alone = Vec::new();
    for (_, text) in high {
        let mut times = (0..7).map(|_| timed(&urgent, text)).collect::<Outcome<Vec<_>>>()?;
        alone.push(percentile(&mut times, 50));
    }
    let sessions: Vec<Session> = low.iter().map(|_| with_priority(&database, 1)).collect::<Outcome<_>>()?;
    let over = AtomicBool::new(false);
    let mut beside: Vec<Vec<Duration>> = vec![vec![]; high.len()];
    let mut timeline = Vec::new();
    thread::scope(|scope| -> Outcome<()> {
        for (session, (_, text)) in sessions.iter().zip(low) {
            let over = &over;
            scope.spawn(move || looping(session, text, over));
        }
        let (sampling, sessions, urgent_session) = (&over, &sessions, &urgent);
        let sampler = scope.spawn(move || {
            let begun = Instant::now();
            let mut samples = Vec::new();
            while !sampling.load(SeqCst) {
                let mut cpu: Vec<f64> = sessions.iter().map(|s| milliseconds(s.charged_time())).collect();
                cpu.push(milliseconds(urgent_session.charged_time()));
                samples.push(json!([milliseconds(begun.elapsed()), cpu]));
                thread::sleep(Duration::from_millis(10));
            }
            samples
        });
        thread::sleep(Duration::from_secs_f64(choices.seconds / 4.0));
        let rounds = Instant::now();
        let outcome = (|| -> Outcome<()> {
            while rounds.elapsed().as_secs_f64() < choices.seconds / 2.0 || beside[0].len() < 3 {
                for ((_, text), times) in high.iter().zip(&mut beside) {
                    times.push(timed(&urgent, text)?);
                    thread::sleep(Duration::from_millis(100));
                }
            }
            Ok(())
        })();
        over.store(true, SeqCst);
        timeline = sampler.join().unwrap_or_default();
        outcome
    })?;
    let ratio =
        |at: usize, times: &mut Vec<Duration>| percentile(times, 50).as_secs_f64() / alone[at].as_secs_f64();
    let ratios: Vec<f64> = beside.iter_mut().enumerate().map(|(at, times)| ratio(at, times)).collect();
    Ok(json!({
        "queries": high.iter().map(|(name, _)| name).collect::<Vec<_>>(),
        "alone_ms": alone.iter().map(|time| milliseconds(*time)).collect::<Vec<_>>(),
        "ratios": ratios,
        "bar": 1.15,
        "timeline": timeline,
    }))
}

/// Q6 and Q14 now and then during a long query; the 99th percentile over that of the same alone.
fn short(choices: &Choices) -> Outcome<Value> {
    let database = database("tpch", &choices.scale, None)?;
    let all = queries("tpch", &choices.scale)?;
    let long = named(&all, "q18")?;
    let texts = [named(&all, "q06")?, named(&all, "q14")?];
    let spell = Duration::from_secs_f64(choices.seconds / 3.0);
    let now_and_then = |session: &Session| -> Outcome<Vec<Duration>> {
        let (begun, mut times) = (Instant::now(), Vec::new());
        while begun.elapsed() < spell {
            for text in texts {
                times.push(timed(session, text)?);
                thread::sleep(Duration::from_millis(7));
            }
        }
        Ok(times)
    };
    let mut alone = now_and_then(&database.session())?;
    let over = AtomicBool::new(false);
    let mut beside: Vec<Vec<Duration>> = Vec::new();
    let background = database.session();
    thread::scope(|scope| -> Outcome<()> {
        let (over, background) = (&over, &background);
        scope.spawn(move || looping(background, long, over));
        thread::sleep(Duration::from_millis(200));
        let outcome = (|| -> Outcome<()> {
            for priority in [1, 2] {
                beside.push(now_and_then(&with_priority(&database, priority)?)?);
            }
            Ok(())
        })();
        over.store(true, SeqCst);
        outcome
    })?;
    let base = percentile(&mut alone, 99);
    let more: Vec<f64> =
        beside.iter_mut().map(|times| milliseconds(percentile(times, 99)) - milliseconds(base)).collect();
    Ok(json!({
        "alone_99_ms": milliseconds(base),
        "equal_priority_more_ms": more[0],
        "higher_priority_more_ms": more[1],
        "times": beside[0].len(),
        "bars_ms": [3, 1],
    }))
}

/// The id of the query of that session that runs.
fn id_of(watcher: &Session, beginning: &str) -> Outcome<i64> {
    let begun = Instant::now();
    let text = format!(
        "SELECT id FROM quickstep_queries WHERE query LIKE '{beginning}%' AND state = 'running' AND orders > 0"
    );
    loop {
        let found = watcher.query(&text)?;
        if found.rows() > 0 {
            return Ok(found.value(0, 0).as_i64().unwrap_or_default());
        }
        if begun.elapsed() > Duration::from_secs(30) {
            return Err("the query does not run".into());
        }
    }
}

/// From the statement to standstill, or to the end: pause, cancel, timeout.
fn latency(choices: &Choices) -> Outcome<Value> {
    const LONG: &str = "SELECT count(*) FROM lineitem a JOIN lineitem b ON a.l_suppkey = b.l_suppkey \
                        WHERE a.l_extendedprice * 3 < b.l_quantity - a.l_tax";
    let database = database("tpch", "0.1", None)?;
    let watcher = with_priority(&database, 9)?;
    let unlimited = |database: &Database| -> Outcome<Session> {
        let session = database.session();
        session.query("SET eager_aggregation = off")?;
        Ok(session)
    };
    let (mut paused, mut cancelled, mut timed_out) = (vec![], vec![], vec![]);
    let begun = Instant::now();
    while begun.elapsed().as_secs_f64() < choices.seconds {
        let session = unlimited(&database)?;
        let ended = thread::scope(|scope| -> Outcome<(Instant, Instant)> {
            let runner = scope.spawn(|| {
                _ = session.query(LONG);
                Instant::now()
            });
            let outcome = (|| -> Outcome<Instant> {
                let id = id_of(&watcher, "SELECT count(*) FROM lineitem a")?;
                for _ in 0..20 {
                    let raised = Instant::now();
                    watcher.query(&format!("PAUSE QUERY {id}"))?;
                    let inside = format!("SELECT workers FROM quickstep_queries WHERE id = {id}");
                    while watcher.query(&inside)?.value(0, 0).as_i64() != Some(0) {}
                    paused.push(raised.elapsed());
                    watcher.query(&format!("RESUME QUERY {id}"))?;
                    thread::sleep(Duration::from_millis(7));
                }
                let raised = Instant::now();
                watcher.query(&format!("CANCEL QUERY {id}"))?;
                Ok(raised)
            })();
            session.interrupt();
            let ended = runner.join().map_err(|_| "the runner failed")?;
            Ok((outcome?, ended))
        })?;
        cancelled.push(ended.1 - ended.0);
        session.query("SET statement_timeout = '60ms'")?;
        let started = Instant::now();
        _ = session.query(LONG);
        timed_out.push(started.elapsed().saturating_sub(Duration::from_millis(60)));
    }
    Ok(json!({
        "pause_99_ms": milliseconds(percentile(&mut paused, 99)),
        "cancel_99_ms": milliseconds(percentile(&mut cancelled, 99)),
        "timeout_99_ms": milliseconds(percentile(&mut timed_out, 99)),
        "pauses": paused.len(),
        "cancels": cancelled.len(),
        "bar_ms": 50,
    }))
}

/// A second worker in the midst of a query that is bound by the processor: total over the ideal.
fn elastic(choices: &Choices) -> Outcome<Value> {
    let database = database("tpch", &choices.scale, None)?;
    let session = database.session();
    let other = database.session();
    // Arithmetic and no more, several times over.
    let text = "SELECT sum(sqrt(l_extendedprice * l_discount) + ln(1 + l_quantity) * sin(l_tax)) FROM lineitem, \
                (SELECT * FROM generate_series(1, 12)) t";
    let with = |workers: usize| -> Outcome<Duration> {
        other.query(&format!("SET workers = {workers}"))?;
        timed(&session, text)
    };
    with(2)?;
    let (mut one, mut two, mut mixed) = (vec![], vec![], vec![]);
    // In turns, since machines change while one measures.
    for _ in 0..5 {
        let alone = with(1)?;
        one.push(alone);
        other.query("SET workers = 1")?;
        let took = thread::scope(|scope| -> Outcome<Duration> {
            let runner = scope.spawn(|| timed(&session, text).map_err(|error| error.to_string()));
            thread::sleep(alone / 2);
            other.query("SET workers = 2")?;
            Ok(runner.join().map_err(|_| "the runner failed")??)
        })?;
        mixed.push(took);
        two.push(with(2)?);
    }
    let (one, two) = (percentile(&mut one, 50), percentile(&mut two, 50));
    let ideal = (one + two) / 2;
    let mixed = percentile(&mut mixed, 50);
    Ok(json!({
        "one_worker_ms": milliseconds(one),
        "two_workers_ms": milliseconds(two),
        "second_at_half_ms": milliseconds(mixed),
        "over_ideal": mixed.as_secs_f64() / ideal.as_secs_f64(),
        "bar": 1.05,
    }))
}

/// Streams of TPC-H's 22 queries, each in an order of its own: all at once over one after the other.
fn streams(choices: &Choices) -> Outcome<Value> {
    let database = database("tpch", &choices.scale, Some(4 << 30))?;
    let all = queries("tpch", &choices.scale)?;
    let order = |at: usize, number: usize| (at + number * 7) % all.len();
    let stream = |session: &Session, number: usize| -> Outcome<Vec<ResultSet>> {
        (0..all.len()).map(|at| Ok(session.query(&all[order(at, number)].1)?)).collect()
    };
    let session = database.session();
    // Each is the reference of its query in all streams; the benchmark's tests compare these with other engines'.
    let expected = stream(&session, 0)?;
    let is_same = |found: &ResultSet, expected: &ResultSet| {
        let columns = 0..expected.schema().fields().len();
        let same_row =
            |row| columns.clone().all(|column| found.value(row, column) == expected.value(row, column));
        found.rows() == expected.rows() && (0..expected.rows()).all(same_row)
    };
    // One after the other is as long as it is for some of them. The machine's speed drifts by a tenth within a
    // minute: half of these are before and half after those at once.
    let samples = choices.streams.min(16);
    let some = |numbers: Range<usize>| -> Outcome<Duration> {
        let begun = Instant::now();
        for number in numbers {
            stream(&session, number)?;
        }
        Ok(begun.elapsed())
    };
    let before = some(0..samples / 2)?;
    let begun = Instant::now();
    let streams: Vec<(Option<Vec<ResultSet>>, Duration)> = thread::scope(|scope| {
        let runners: Vec<_> = (0..choices.streams)
            .map(|number| {
                let (session, stream) = (database.session(), &stream);
                scope.spawn(move || {
                    let told = |error| eprintln!("stream {number}: {error}");
                    (stream(&session, number).map_err(told).ok(), begun.elapsed())
                })
            })
            .collect();
        runners.into_iter().filter_map(|runner| runner.join().ok()).collect()
    });
    let total = begun.elapsed();
    let serial = (before + some(samples / 2..samples)?) * choices.streams as u32 / samples as u32;
    // After the clock has stopped.
    let (mut failed, mut wrong) = (choices.streams - streams.len(), 0);
    for (number, (found, _)) in streams.iter().enumerate() {
        match found {
            Some(found) => {
                let differs =
                    |(at, found): (usize, &ResultSet)| !is_same(found, &expected[order(at, number)]);
                wrong += found.iter().enumerate().filter(|found| differs(*found)).count();
            }
            None => failed += 1,
        }
    }
    let mut ends: Vec<Duration> = streams.into_iter().map(|(_, end)| end).collect();
    Ok(json!({
        "streams": choices.streams,
        "failed": failed,
        "wrong": wrong,
        "serial_ms": milliseconds(serial),
        "total_ms": milliseconds(total),
        "ratio": total.as_secs_f64() / serial.as_secs_f64(),
        "first_and_last_end_ms": [milliseconds(percentile(&mut ends, 0)), milliseconds(percentile(&mut ends, 100))],
        "bar": 1.1,
    }))
}
