//! How far a statement is that takes more than half a second: a bar, or the plan's tree filling up, on standard error,
//! where only a person sees it.
//!
//! ```text
//!   43 % [██████████··············] 30 of 120 work orders known, 2.0 s, about 2.6 s left
//!  ············  waiting                   aggregate, sort
//!  █████·······  35 of 120, 1,234,567 rows    join probe orders, aggregate
//!  ████████████  done, 1,500,000 rows            scan orders, join build
//! ```

use std::fmt::Write as _;
use std::io::{IsTerminal, Write};
use std::ops::ControlFlow;
use std::sync::Mutex;
use std::time::{Duration, Instant};

use engine::{OperatorProgress, Progress, ProgressWatch, Session};

use super::pager;

/// Shorter statements show nothing.
const PATIENCE: Duration = Duration::from_millis(500);
/// Time between two drawings.
const REDRAWN_EVERY: Duration = Duration::from_millis(100);
/// Width of the statement's bar, and of a segment's.
const BAR_CELLS: usize = 24;
const BRANCH_CELLS: usize = 12;

/// What is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Display {
    /// Nothing.
    Off,
    /// One line: how much of the statement is done.
    Bar,
    /// The bar, and a line for each segment of the plan.
    Tree,
}

impl Display {
    /// The display that `\progress` calls so; `None` for an unknown name.
    pub fn named(name: &str) -> Option<Display> {
        [Display::Off, Display::Bar, Display::Tree].into_iter().find(|display| display.name() == name)
    }

    /// The name that `\progress` takes and shows.
    pub fn name(self) -> &'static str {
        match self {
            Display::Off => "off",
            Display::Bar => "bar",
            Display::Tree => "tree",
        }
    }
}

/// What is on the screen of the running statement's progress.
struct State {
    display: Display,
    started: Option<Instant>,
    drawn: Option<Instant>,
    /// Lines below the first one that are on the screen.
    below: usize,
}

static STATE: Mutex<State> =
    Mutex::new(State { display: Display::Bar, started: None, drawn: None, below: 0 });

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

/// What is shown from now on; `None` asks only.
pub fn display(wanted: Option<Display>) -> Display {
    let Ok(mut state) = STATE.lock() else { return Display::Off };
    if let Some(display) = wanted {
        state.display = display;
    }
    state.display
}

/// A statement begins.
pub fn begin() {
    if let Ok(mut state) = STATE.lock() {
        (state.started, state.drawn, state.below) = (Some(Instant::now()), None, 0);
    }
}

/// The statement has ended: what was drawn goes.
pub fn end() {
    if let Ok(mut state) = STATE.lock() {
        if state.drawn.is_some() {
            eprint!("{}", to_the_top(state.below));
        }
        (state.started, state.drawn, state.below) = (None, None, 0);
    }
}

/// Back to where the drawing began, and nothing from there on.
fn to_the_top(below: usize) -> String {
    if below == 0 { "\r\x1b[K".to_owned() } else { format!("\r\x1b[{below}A\x1b[J") }
}

fn tick(watch: &ProgressWatch) {
    let Ok(mut state) = STATE.lock() else { return };
    let Some(started) = state.started.filter(|_| state.display != Display::Off) else { return };
    let elapsed = started.elapsed();
    if elapsed < PATIENCE || state.drawn.is_some_and(|drawn| drawn.elapsed() < REDRAWN_EVERY) {
        return;
    }
    let Some(progress) = watch.progress() else { return };
    let mut drawing = vec![line(&progress, elapsed)];
    if state.display == Display::Tree {
        let (width, height) = pager::terminal().unwrap_or((80, 24));
        // A line that wraps, or a tree that scrolls, could not be drawn over.
        drawing.extend(branches(&watch.tree(), width.saturating_sub(1), height.saturating_sub(2)));
        drawing[0] = drawing[0].chars().take(width.saturating_sub(1)).collect();
    }
    state.drawn = Some(Instant::now());
    let top = to_the_top(state.below);
    state.below = drawing.len() - 1;
    // A terminal that cannot be written to is no reason to end the statement.
    let _ = write!(std::io::stderr(), "{top}{}", drawing.join("\r\n"));
}

fn line(progress: &Progress, elapsed: Duration) -> String {
    let fraction = progress.fraction();
    let left = if fraction > 0.02 {
        format!(", about {} left", duration(elapsed.mul_f64((1.0 - fraction) / fraction)))
    } else {
        String::new()
    };
    format!(
        "{:3.0} % [{}] {} of {} work orders known, {}{left}",
        fraction * 100.0,
        bar(fraction, BAR_CELLS),
        progress.units_done,
        progress.units_total,
        duration(elapsed),
    )
}

fn bar(fraction: f64, cells: usize) -> String {
    let full = ((fraction * cells as f64) as usize).min(cells);
    format!("{}{}", "█".repeat(full), "·".repeat(cells - full))
}

/// A line a segment, the one that makes the result first. Where they are too many, those that run are kept.
fn branches(tree: &[OperatorProgress], width: usize, lines_max: usize) -> Vec<String> {
    let mut kept: Vec<&OperatorProgress> = tree.iter().collect();
    for state in ["finished", "waiting"] {
        let mut surplus = kept.len().saturating_sub(lines_max);
        kept.retain(|operator| {
            let goes = surplus > 0 && operator.state == state;
            surplus -= usize::from(goes);
            !goes
        });
    }
    kept.truncate(lines_max);
    let shown: Vec<(String, String)> = kept.iter().map(|operator| measured(operator)).collect();
    let longest = shown.iter().map(|(_, said)| said.chars().count()).max().unwrap_or(0);
    let branch = |(operator, (bar, said)): (&&OperatorProgress, &(String, String))| {
        let indent = 2 * operator.depth;
        let line = format!("{bar}  {said:longest$}  {:indent$}{}", "", operator.name);
        line.chars().take(width).collect()
    };
    kept.iter().zip(&shown).map(branch).collect()
}

/// A segment's bar, and the text next to it.
fn measured(operator: &OperatorProgress) -> (String, String) {
    let cells = bar(operator.fraction().unwrap_or(0.0), BRANCH_CELLS);
    let mut said = match (operator.state, operator.units_total) {
        ("finished", _) => "done".to_owned(),
        ("waiting", _) => "waiting".to_owned(),
        (_, 0) => "running".to_owned(),
        (_, total) => format!("{} of {total}", operator.units_done),
    };
    if operator.rows > 0 {
        let _ = write!(said, ", {} rows", grouped(operator.rows));
    }
    (cells, said)
}

/// `1,234,567`.
fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut out = String::with_capacity(digits.len() + digits.len() / 3);
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
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

    fn operator(name: &str, depth: usize, state: &'static str, units: [u64; 2]) -> OperatorProgress {
        let [units_done, units_total] = units;
        let rows = if state == "waiting" { 0 } else { 1_234_567 };
        OperatorProgress { name: name.into(), depth, state, units_done, units_total, rows, workers: 1 }
    }

    #[test]
    fn the_tree_fills_up() {
        let tree = [
            operator("sort", 0, "waiting", [0, 0]),
            operator("join probe", 1, "running", [30, 120]),
            operator("scan orders, join build", 2, "finished", [7, 7]),
        ];
        assert_eq!(
            branches(&tree, 200, 20),
            [
                "············  waiting                    sort",
                "███·········  30 of 120, 1,234,567 rows    join probe",
                "████████████  done, 1,234,567 rows           scan orders, join build",
            ]
        );
        // What is done goes first where there is no room, and lines end where the terminal does.
        let few = branches(&tree, 20, 2);
        assert_eq!(few.len(), 2);
        assert!(few.iter().all(|line| line.chars().count() == 20), "{few:?}");
        assert_eq!(branches(&tree, 80, 0), [] as [String; 0]);
        assert_eq!(grouped(100), "100");
    }
}
