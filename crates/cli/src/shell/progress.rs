//! A bar for statements that take more than half a second, on standard error, where only a person sees it.

use std::io::{IsTerminal, Write};
use std::ops::ControlFlow;
use std::sync::Mutex;
use std::time::{Duration, Instant};

use engine::{Progress, ProgressWatch, Session};

/// Shorter statements show nothing.
const PATIENCE: Duration = Duration::from_millis(500);
const REDRAWN_EVERY: Duration = Duration::from_millis(100);
const BAR_CELLS: usize = 24;

struct State {
    started: Option<Instant>,
    drawn: Option<Instant>,
}

static STATE: Mutex<State> = Mutex::new(State { started: None, drawn: None });

/// Makes the session draw its progress if standard error is a terminal.
pub fn attach(session: &Session) {
    if !std::io::stderr().is_terminal() {
        return;
    }
    let watch = session.progress_watch();
    session.set_tick(move || {
        tick(&watch);
        ControlFlow::Continue(())
    });
}

/// A statement begins.
pub fn begin() {
    if let Ok(mut state) = STATE.lock() {
        *state = State { started: Some(Instant::now()), drawn: None };
    }
}

/// The statement has ended: the bar goes.
pub fn end() {
    if let Ok(mut state) = STATE.lock() {
        if state.drawn.is_some() {
            eprint!("\r\x1b[K");
        }
        *state = State { started: None, drawn: None };
    }
}

fn tick(watch: &ProgressWatch) {
    let Ok(mut state) = STATE.lock() else { return };
    let Some(started) = state.started else { return };
    let elapsed = started.elapsed();
    if elapsed < PATIENCE || state.drawn.is_some_and(|drawn| drawn.elapsed() < REDRAWN_EVERY) {
        return;
    }
    let Some(progress) = watch.progress() else { return };
    state.drawn = Some(Instant::now());
    // A terminal that cannot be written to is no reason to end the statement.
    let _ = write!(std::io::stderr(), "\r\x1b[K{}", line(&progress, elapsed));
}

fn line(progress: &Progress, elapsed: Duration) -> String {
    let fraction = progress.fraction();
    let full = (fraction * BAR_CELLS as f64) as usize;
    let left = if fraction > 0.02 {
        format!(", about {} left", duration(elapsed.mul_f64((1.0 - fraction) / fraction)))
    } else {
        String::new()
    };
    format!(
        "{:3.0} % [{}{}] {} of {} work orders known, {}{left}",
        fraction * 100.0,
        "█".repeat(full),
        "·".repeat(BAR_CELLS - full),
        progress.units_done,
        progress.units_total,
        duration(elapsed),
    )
}

fn duration(duration: Duration) -> String {
    let seconds = duration.as_secs_f64();
    if seconds < 60.0 {
        format!("{seconds:.1} s")
    } else {
        format!("{} min {} s", duration.as_secs() / 60, duration.as_secs() % 60)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_line_says_how_far_it_is_and_how_long_it_will_take() {
        let progress = Progress {
            segments: 1,
            segments_finished: 0,
            orders: 5,
            rows: 10,
            units_done: 30,
            units_total: 120,
        };
        let line = line(&progress, Duration::from_secs(2));
        assert!(line.starts_with(" 25 % [██████··"), "{line}");
        assert!(line.ends_with("30 of 120 work orders known, 2.0 s, about 6.0 s left"), "{line}");
        assert_eq!(duration(Duration::from_secs(135)), "2 min 15 s");
    }
}
