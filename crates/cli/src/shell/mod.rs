//! The interactive shell: a line editor, commands that begin with a backslash, and statements.
//!
//! ```text
//!  line editor --complete text--> command?  yes: commands.rs       no: statements, one after the other
//!  (editor.rs, lexer.rs)                                               result --Screen--> terminal or pager
//!                                                                      progress.rs draws while one runs
//! ```
//! At its start it runs `$QUICKSTEP_STARTUP`, or `quickstep/startup.sql` in the user's folder of configuration: one
//! command a line, and statements. What was typed is kept in `quickstep/history` in the user's folder of state.

mod commands;
mod describe;
mod editor;
mod lexer;
mod pager;
mod progress;

use std::io::{IsTerminal, Write};
use std::path::PathBuf;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use engine::{Error, ResultSet, Session, SqlState};
use formats::write::{WriteFormat, write_all};
use rustyline::config::BellStyle;
use rustyline::error::ReadlineError;
use rustyline::history::FileHistory;
use rustyline::{CompletionType, Config, Editor};

use crate::arguments::{Arguments, Format};
use crate::output::{self, Layout, Style};
use crate::{Failed, INTERRUPTED};
use commands::Command;
use editor::SqlHelper;
use pager::Screen;

/// Whether a line is a command of the shell rather than SQL: those of other shells (`.tables`, `help`) too, so that they
/// are answered.
fn is_command(text: &str) -> bool {
    let text = text.trim();
    let dotted =
        text.strip_prefix('.').is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_alphabetic()));
    text.starts_with('\\') || dotted || matches!(text.trim_end_matches(';').trim_end(), "help" | "HELP" | "?")
}

/// The words that leave other shells.
fn leaves(text: &str) -> bool {
    matches!(text.trim().trim_end_matches(';').trim_end(), "quit" | "exit")
}

struct Shell<'a> {
    session: &'a Session,
    format: Format,
    expanded: bool,
    timing: bool,
    paging: bool,
    /// The last statement typed, for `\explain` without one.
    last: Option<String>,
    /// Files that are being run, so that none runs itself.
    running: Vec<PathBuf>,
}

enum Next {
    GoOn,
    Leave,
}

pub fn run(session: &Session, arguments: &Arguments) -> Result<(), Failed> {
    let mut shell = Shell {
        session,
        format: arguments.format,
        expanded: false,
        timing: arguments.timing,
        paging: true,
        last: None,
        running: vec![],
    };
    progress::attach(session);
    println!(
        "Quickstep {} · {} workers · \\help for help, \\q to leave",
        env!("CARGO_PKG_VERSION"),
        session.database().workers()
    );
    if !arguments.no_startup {
        shell.run_startup_file();
    }
    let history = user_file("XDG_STATE_HOME", ".local/state", "history");
    let mut editor = line_editor(session).map_err(|e| {
        eprintln!("quickstep: cannot use the terminal: {e}");
        Failed::Reported
    })?;
    if let Some(path) = &history {
        // There is none at first; one that cannot be read costs nothing but the history.
        let _ = editor.load_history(path);
    }
    let outcome = shell.read(&mut editor);
    if let Some(path) = &history {
        let saved = path.parent().map_or(Ok(()), std::fs::create_dir_all).map_err(ReadlineError::from);
        if let Err(error) = saved.and_then(|()| editor.save_history(path)) {
            eprintln!("quickstep: cannot keep the history in {}: {error}", path.display());
        }
    }
    outcome
}

fn line_editor(session: &Session) -> rustyline::Result<Editor<SqlHelper, FileHistory>> {
    let colours = std::io::stdout().is_terminal() && std::env::var_os("NO_COLOR").is_none();
    let config = Config::builder()
        .max_history_size(10_000)?
        .history_ignore_dups(true)?
        .history_ignore_space(true)
        .completion_type(CompletionType::List)
        .bell_style(BellStyle::None)
        .build();
    let mut editor = Editor::with_config(config)?;
    editor.set_helper(Some(SqlHelper::new(session.database().clone(), colours)));
    Ok(editor)
}

/// `$VARIABLE/quickstep/NAME`, or the same under the user's home.
fn user_file(variable: &str, under_home: &str, name: &str) -> Option<PathBuf> {
    let set = |name: &str| std::env::var_os(name).filter(|v| !v.is_empty()).map(PathBuf::from);
    let folder = set(variable).or_else(|| Some(set("HOME")?.join(under_home)))?;
    Some(folder.join("quickstep").join(name))
}

impl Shell<'_> {
    fn read(&mut self, editor: &mut Editor<SqlHelper, FileHistory>) -> Result<(), Failed> {
        loop {
            match editor.readline("quickstep> ") {
                Ok(text) => {
                    let text = text.trim();
                    if text.is_empty() {
                        continue;
                    }
                    // Leaving is not worth remembering; the message of an error has been printed.
                    if let Ok(Next::Leave) = self.take(text) {
                        return Ok(());
                    }
                    // A history that cannot grow is no reason to stop.
                    let _ = editor.add_history_entry(engine::masked(text));
                }
                Err(ReadlineError::Interrupted) => println!("(type \\q or Ctrl-D to leave)"),
                Err(ReadlineError::Eof) => return Ok(()),
                Err(error) => {
                    eprintln!("quickstep: cannot read from the terminal: {error}");
                    return Err(Failed::Reported);
                }
            }
        }
    }

    /// A command, or statements.
    fn take(&mut self, text: &str) -> Result<Next, Failed> {
        INTERRUPTED.store(false, Ordering::SeqCst);
        if leaves(text) {
            return Ok(Next::Leave);
        }
        if is_command(text) {
            return match commands::parse(text) {
                Ok(command) => self.obey(command),
                Err(error) => Err(reported(&error, "")),
            };
        }
        self.last = Some(text.to_owned());
        self.execute(text)?;
        Ok(Next::GoOn)
    }

    fn obey(&mut self, command: Command) -> Result<Next, Failed> {
        let state = |name: &str, on: bool| println!("{name} is {}", if on { "on" } else { "off" });
        match command {
            Command::Quit => return Ok(Next::Leave),
            Command::Help(about) => {
                print!("{}", commands::help(about.as_deref()).map_err(|e| reported(&e, ""))?);
            }
            Command::ListTables => {
                print!("{}", describe::list_tables(self.session).map_err(|e| reported(&e, ""))?);
            }
            Command::Describe(name) => {
                print!("{}", describe::describe(self.session, &name).map_err(|e| reported(&e, ""))?);
            }
            Command::Timing(on) => {
                self.timing = on.unwrap_or(!self.timing);
                state("timing", self.timing);
            }
            Command::Expanded(on) => {
                self.expanded = on.unwrap_or(!self.expanded);
                state("expanded display", self.expanded);
            }
            Command::Pager(on) => {
                self.paging = on.unwrap_or(!self.paging);
                state("the pager", self.paging);
            }
            Command::Progress(wanted) => println!("progress is {}", progress::display(wanted).name()),
            Command::Format(name) => self.set_format(name.as_deref())?,
            Command::Explain { text, analyze } => {
                let Some(text) = text.or_else(|| self.last.clone()) else {
                    return Err(reported(
                        &Error::new(SqlState::SyntaxError, "there is no statement to explain yet"),
                        "",
                    ));
                };
                self.execute(&format!("EXPLAIN {}{text}", if analyze { "ANALYZE " } else { "" }))?;
            }
            Command::CopyIn { table, path } => {
                self.execute(&format!("COPY {table} FROM '{}'", path.replace('\'', "''")))?;
            }
            Command::CopyOut { query, path } => self.copy_out(&query, &path)?,
            Command::Run(path) => self.run_file(PathBuf::from(path))?,
        }
        Ok(Next::GoOn)
    }

    fn set_format(&mut self, name: Option<&str>) -> Result<(), Failed> {
        use clap::ValueEnum;
        if let Some(name) = name {
            self.format = match Format::from_str(name, true) {
                Ok(Format::Arrow | Format::Parquet) => {
                    let error = Error::new(
                        SqlState::InvalidParameterValue,
                        format!("{name} is nothing for a screen"),
                    )
                    .with_hint("\\copy (QUERY) TO 'FILE' writes it to a file");
                    return Err(reported(&error, ""));
                }
                Ok(format) => format,
                Err(_) => {
                    let error =
                        Error::new(SqlState::InvalidParameterValue, format!("there is no format \"{name}\""))
                            .with_hint("table, csv, tsv, json, ndjson, markdown, html");
                    return Err(reported(&error, ""));
                }
            };
        }
        println!(
            "format is {}",
            self.format.to_possible_value().map_or(String::new(), |v| v.get_name().to_owned())
        );
        Ok(())
    }

    /// Writes a query's result to a file that appears when it is complete.
    fn copy_out(&self, query: &str, path: &str) -> Result<(), Failed> {
        let Some(format) = WriteFormat::of_path(path) else {
            let error =
                Error::new(SqlState::InvalidParameterValue, format!("cannot tell the format of \"{path}\""))
                    .with_hint("end its name with .csv, .tsv, .json, .ndjson, .arrow or .parquet");
            return Err(reported(&error, ""));
        };
        let started = Instant::now();
        progress::begin();
        let result = self.session.query(query);
        progress::end();
        let result = result.map_err(|e| reported(&e, query))?;
        if !result.has_rows() {
            return Err(reported(
                &Error::new(SqlState::SyntaxError, "the statement returns no rows to write"),
                query,
            ));
        }
        let unfinished = format!("{path}.unfinished");
        let written = std::fs::File::create(&unfinished)
            .and_then(|file| {
                write_all(
                    format,
                    result.schema(),
                    result.batches(),
                    std::io::BufWriter::with_capacity(1 << 18, file),
                )
            })
            .and_then(|()| std::fs::rename(&unfinished, path));
        if let Err(error) = written {
            let _ = std::fs::remove_file(&unfinished);
            return Err(reported(
                &Error::new(SqlState::IoError, format!("cannot write \"{path}\": {error}")),
                "",
            ));
        }
        println!("COPY {}", result.rows());
        self.say_time(started.elapsed());
        Ok(())
    }

    fn run_startup_file(&mut self) {
        let chosen = std::env::var_os("QUICKSTEP_STARTUP").map(PathBuf::from);
        let path = chosen.clone().or_else(|| user_file("XDG_CONFIG_HOME", ".config", "startup.sql"));
        if let Some(path) = path.filter(|p| chosen.is_some() && !p.as_os_str().is_empty() || p.exists()) {
            // Its errors have been said; the shell starts all the same.
            let _ = self.run_file(path);
        }
    }

    /// Statements and commands; a command has a line of its own. The first error ends it.
    fn run_file(&mut self, path: PathBuf) -> Result<(), Failed> {
        if self.running.contains(&path) {
            eprintln!("quickstep: {} runs itself", path.display());
            return Err(Failed::Reported);
        }
        let text = std::fs::read_to_string(&path).map_err(|e| {
            eprintln!("quickstep: cannot read {}: {e}", path.display());
            Failed::Reported
        })?;
        self.running.push(path.clone());
        let outcome = self.run_lines(&text);
        self.running.pop();
        if outcome.is_err() {
            eprintln!("quickstep: {} ends here", path.display());
        }
        outcome
    }

    fn run_lines(&mut self, text: &str) -> Result<(), Failed> {
        let mut pending = String::new();
        for line in text.lines() {
            let between = pending.trim().is_empty();
            if between && is_command(line) {
                pending.clear();
                if let Next::Leave = self.take(line.trim())? {
                    return Ok(());
                }
                continue;
            }
            pending.push_str(line);
            pending.push('\n');
            if !pending.trim().is_empty() && engine::is_complete(&pending) {
                let statements = std::mem::take(&mut pending);
                self.execute(statements.trim())?;
            }
        }
        if pending.trim().is_empty() { Ok(()) } else { self.execute(pending.trim()) }
    }

    /// Runs statements and shows each result.
    fn execute(&self, text: &str) -> Result<(), Failed> {
        let mut started = Instant::now();
        let mut broken = None;
        progress::begin();
        let outcome = self.session.execute_each(text, |result| {
            progress::end();
            let elapsed = started.elapsed();
            if let Err(error) = self.show(&result) {
                broken = Some(error);
                return Err(Error::new(SqlState::IoError, "the output was closed"));
            }
            self.say_time(elapsed);
            started = Instant::now();
            progress::begin();
            if INTERRUPTED.load(Ordering::SeqCst) {
                return Err(Error::new(SqlState::QueryCanceled, "canceling the statements that follow"));
            }
            Ok(())
        });
        progress::end();
        match (outcome, broken) {
            (_, Some(error)) => Err(error.into()),
            (Ok(()), None) => Ok(()),
            (Err(error), None) => Err(reported(&error, text)),
        }
    }

    fn show(&self, result: &ResultSet) -> std::io::Result<()> {
        let width = pager::terminal().map(|(width, _)| width);
        let lines = if self.expanded { result.rows() * (result.schema().len() + 1) } else { result.rows() };
        let mut screen = Screen::open(lines, self.paging);
        let style = Style { format: self.format, layout: Layout { width, expanded: self.expanded } };
        let written = output::print(&mut screen, result, style).and_then(|()| screen.flush());
        screen.close()?;
        match written {
            // The pager was left before the end.
            Err(error) if error.kind() == std::io::ErrorKind::BrokenPipe => Ok(()),
            other => other,
        }
    }

    fn say_time(&self, elapsed: Duration) {
        if self.timing {
            println!("Time: {:.3} ms", elapsed.as_secs_f64() * 1e3);
        }
    }
}

fn reported(error: &Error, text: &str) -> Failed {
    eprintln!("{}", error.render(&engine::masked(text)));
    Failed::Reported
}
