//! The interactive shell: a line editor, commands that begin with a backslash, and statements.
//!
//! ```text
//!  line editor --complete text--> command?  yes: commands.rs       no: statements, one after the other
//!  (editor.rs, lexer.rs)                                               result --Screen--> terminal or pager
//!                                                                      progress.rs draws while one runs
//! ```
//! Scripts (`-c`, `-f`, standard input, `\i`) are cut into the same commands and statements by script.rs; results stand
//! alone on standard output there, what the shell says of itself goes to standard error, and the first error ends the
//! script.
//!
//! At its start the interactive shell runs `$QUICKSTEP_STARTUP`, or `quickstep/startup.sql` in the user's folder of
//! configuration: one command a line, and statements. What was typed is kept in `quickstep/history` in the user's
//! folder of state.

mod commands;
mod describe;
mod editor;
mod lexer;
mod pager;
mod progress;
mod script;
mod standard;
mod state;
mod suffix;
mod variables;

use std::io::{BufWriter, IsTerminal, Write};
use std::path::PathBuf;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use engine::{Error, Position, ResultSet, Session, SqlState};
use formats::write::{WriteFormat, write_all};
use rustyline::config::BellStyle;
use rustyline::error::ReadlineError;
use rustyline::history::FileHistory;
use rustyline::{CompletionType, Config, Editor};
use types::quote;

use crate::arguments::{Arguments, Format};
use crate::output::{self, Layout, Lines, PLAIN, Style};
use crate::{Failed, INTERRUPTED};
use commands::Command;
use editor::SqlHelper;
use pager::Screen;

/// Whether a line is a command of the shell rather than SQL: those of other shells (`.tables`, `help`) too, so that
/// they are answered.
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

/// The shell's state: how results are shown, and what commands have set.
pub struct Shell<'a> {
    session: &'a Session,
    format: Format,
    expanded: bool,
    timing: bool,
    paging: bool,
    /// The last statement typed, for `\explain` without one.
    last: Option<String>,
    /// Files that are being run, so that none runs itself.
    running: Vec<PathBuf>,
    /// Input comes from a script: no pager, and the first error ends it.
    scripted: bool,
    standard: standard::Standard,
    variables: variables::Variables,
    /// What NULL is shown as in tables.
    null: String,
    /// Rows shown of a long result; all when there is none.
    rows_shown: Option<usize>,
    /// What tables are drawn with.
    lines: &'static Lines,
    /// Where results go that do not go to the screen.
    output: Option<std::fs::File>,
    /// The line of a script on which the running statements begin; errors count from there. `None` outside of scripts.
    line: Option<u32>,
    /// Statements between two commands are one transaction, as those of one `-c` are.
    one_transaction: bool,
}

const PROMPT: &str = "quickstep> ";
/// Before the further lines of a statement.
const CONTINUATION: &str = "      ...> ";

/// Whether the shell goes on after a command.
enum Next {
    GoOn,
    Leave,
}

/// The shell for a person at a terminal.
pub fn run(session: &Session, arguments: &Arguments) -> Result<(), Failed> {
    let mut shell = Shell { paging: true, scripted: false, ..Shell::for_scripts(session, arguments) };
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

impl<'a> Shell<'a> {
    /// A shell for `-c`, `-f` and piped input: no prompt, no pager. COPY of the session reads and writes the
    /// process's standard streams.
    pub fn for_scripts(session: &'a Session, arguments: &Arguments) -> Shell<'a> {
        let standard = standard::Standard::default();
        session.set_copy_streams(standard.clone());
        Shell {
            session,
            format: arguments.format,
            expanded: false,
            timing: arguments.timing,
            paging: false,
            last: None,
            running: vec![],
            scripted: true,
            standard,
            variables: Default::default(),
            null: "NULL".to_owned(),
            rows_shown: None,
            lines: &PLAIN,
            output: None,
            line: None,
            one_transaction: false,
        }
    }

    fn read(&mut self, editor: &mut Editor<SqlHelper, FileHistory>) -> Result<(), Failed> {
        // The lines of a statement that goes on.
        let mut begun = String::new();
        loop {
            let prompt = if begun.is_empty() { PROMPT } else { CONTINUATION };
            match editor.readline(prompt) {
                Ok(line) => {
                    begun.push_str(&line);
                    if begun.trim().is_empty() {
                        begun.clear();
                        continue;
                    }
                    if !editor::is_complete(&begun) {
                        begun.push('\n');
                        continue;
                    }
                    let text = std::mem::take(&mut begun);
                    let text = text.trim();
                    // Leaving is not worth remembering; the message of an error has been printed.
                    if let Ok(Next::Leave) = self.take(text) {
                        return Ok(());
                    }
                    // A history that cannot grow is no reason to stop.
                    let _ = editor.add_history_entry(engine::masked(text));
                }
                Err(ReadlineError::Interrupted) if !begun.is_empty() => begun.clear(),
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
                Ok(command) => self.obey(command, text),
                Err(error) => Err(self.reported(&error, text)),
            };
        }
        self.execute_with_suffix(text)
    }

    /// `text` is the command as it was written, for its errors.
    fn obey(&mut self, command: Command, text: &str) -> Result<Next, Failed> {
        let told = |shell: &Self, answer: engine::Result<String>| {
            shell.print(&answer.map_err(|error| shell.reported(&error, text))?)
        };
        match command {
            Command::Quit => return Ok(Next::Leave),
            Command::Help(about) => told(self, commands::help(about.as_deref()))?,
            Command::ListTables => told(self, describe::list_tables(self.session))?,
            Command::Describe(name) => told(self, describe::describe(self.session, &name))?,
            Command::Timing(on) => {
                self.timing = on.unwrap_or(!self.timing);
                self.say(&format!("timing is {}", on_or_off(self.timing)));
            }
            Command::Expanded(on) => {
                self.expanded = on.unwrap_or(!self.expanded);
                self.say(&format!("expanded display is {}", on_or_off(self.expanded)));
            }
            Command::Pager(on) => {
                self.paging = !self.scripted && on.unwrap_or(!self.paging);
                self.say(&format!("the pager is {}", on_or_off(self.paging)));
            }
            Command::Progress(wanted) => {
                self.say(&format!("progress is {}", progress::display(wanted).name()));
            }
            Command::Format(name) => {
                self.set_format(name.as_deref()).map_err(|error| self.reported(&error, text))?;
            }
            Command::Echo(text) => self.print(&format!("{text}\n"))?,
            Command::Sql(statement) => self.execute(&statement)?,
            Command::Explain { text: None, analyze } => {
                let Some(last) = self.last.clone() else {
                    let error = Error::new(SqlState::SyntaxError, "there is no statement to explain yet");
                    return Err(self.reported(&error, text));
                };
                self.execute(&explained(&last, analyze))?;
            }
            Command::Explain { text: Some(statement), analyze } => {
                self.execute(&explained(&statement, analyze))?;
            }
            Command::CopyIn { table, path } => {
                self.execute(&format!("COPY {table} FROM {}", quote::text(&path)))?;
            }
            Command::CopyOut { query, path } => self.copy_out(&query, &path, text)?,
            Command::Run(path) => self.run_file(PathBuf::from(path))?,
            other => self.change(other, text)?,
        }
        Ok(Next::GoOn)
    }

    fn set_format(&mut self, name: Option<&str>) -> engine::Result<()> {
        use clap::ValueEnum;
        if let Some(name) = name {
            self.format = match Format::from_str(name, true) {
                Ok(Format::Arrow | Format::Parquet) if !self.scripted => {
                    let error = Error::new(
                        SqlState::InvalidParameterValue,
                        format!("{name} is nothing for a screen"),
                    );
                    return Err(error.with_hint("\\copy (QUERY) TO 'FILE' writes it to a file"));
                }
                Ok(format) => format,
                Err(_) => {
                    let error =
                        Error::new(SqlState::InvalidParameterValue, format!("there is no format \"{name}\""));
                    return Err(error.with_hint("table, box, csv, tsv, json, ndjson, markdown, html"));
                }
            };
        }
        let name = self.format.to_possible_value().map_or(String::new(), |v| v.get_name().to_owned());
        self.say(&format!("format is {name}"));
        Ok(())
    }

    /// Writes a query's result to a file that appears when it is complete; `command` is what asked for it.
    fn copy_out(&self, query: &str, path: &str, command: &str) -> Result<(), Failed> {
        let Some(format) = WriteFormat::of_path(path) else {
            let error =
                Error::new(SqlState::InvalidParameterValue, format!("cannot tell the format of \"{path}\""))
                    .with_hint("end its name with .csv, .tsv, .json, .ndjson, .arrow or .parquet");
            return Err(self.reported(&error, command));
        };
        let started = Instant::now();
        progress::begin();
        let result = self.session.query(query);
        progress::end();
        let result = result.map_err(|e| self.reported(&e, query))?;
        if !result.has_rows() {
            let error = Error::new(SqlState::SyntaxError, "the statement returns no rows to write");
            return Err(self.reported(&error, command));
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
            let error = Error::new(SqlState::IoError, format!("cannot write \"{path}\": {error}"));
            return Err(self.reported(&error, command));
        }
        // As other statements that return no rows say what they did.
        if self.format.is_for_people() {
            self.print(&format!("COPY {}\n", result.rows()))?;
        }
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

    /// The first error ends it.
    pub fn run_file(&mut self, path: PathBuf) -> Result<(), Failed> {
        if self.running.contains(&path) {
            eprintln!("quickstep: {} runs itself", path.display());
            return Err(Failed::Reported);
        }
        let bytes = std::fs::read(&path).map_err(|e| {
            eprintln!("quickstep: cannot read {}: {e}", path.display());
            Failed::Reported
        })?;
        self.running.push(path.clone());
        let outcome = self.run_bytes(bytes, &path.display().to_string(), false);
        self.running.pop();
        if matches!(outcome, Err(Failed::Reported)) {
            eprintln!("quickstep: {} ends here", path.display());
        }
        outcome
    }

    /// A script that comes from somewhere with a name, or is standard input.
    pub fn run_bytes(&mut self, bytes: Vec<u8>, name: &str, is_input: bool) -> Result<(), Failed> {
        let text = String::from_utf8(bytes).map_err(|e| {
            eprintln!("quickstep: {name} is not UTF-8 (byte {})", e.utf8_error().valid_up_to());
            Failed::Reported
        })?;
        // What editors of other systems put before the text.
        let outer = std::mem::take(&mut self.one_transaction);
        let outcome = self.run_pieces(text.strip_prefix('\u{feff}').unwrap_or(&text), is_input);
        self.one_transaction = outer;
        outcome
    }

    /// Statements and commands; a command has a line of its own. Leaving ends this script alone.
    pub fn run_script(&mut self, text: &str) -> Result<(), Failed> {
        self.run_pieces(text, false)
    }

    /// As `run_script`; statements that follow each other are one transaction unless they say otherwise.
    pub fn run_as_transaction(&mut self, text: &str) -> Result<(), Failed> {
        self.one_transaction = true;
        let outcome = self.run_pieces(text, false);
        self.one_transaction = false;
        outcome
    }

    fn run_pieces(&mut self, text: &str, is_input: bool) -> Result<(), Failed> {
        let outer = self.line;
        let several = text.trim_end().contains('\n');
        let mut outcome = Ok(());
        for piece in script::pieces(text, is_input) {
            self.standard.set_rows(piece.rows);
            self.line = several.then_some(piece.line);
            match if piece.command { self.take(piece.text) } else { self.execute_with_suffix(piece.text) } {
                Ok(Next::GoOn) => {}
                Ok(Next::Leave) => break,
                Err(failed) => {
                    outcome = Err(failed);
                    break;
                }
            }
        }
        self.standard.set_rows(None);
        self.line = outer;
        outcome
    }

    /// Runs statements and shows each result.
    fn execute(&mut self, text: &str) -> Result<(), Failed> {
        let text = &self.variables.replaced(text);
        let mut started = Instant::now();
        let mut broken = None;
        let mut shown = 0;
        // Clears what a failed statement may have left.
        self.standard.begin();
        progress::begin();
        let session = self.session;
        let show = |result: ResultSet| {
            progress::end();
            let elapsed = started.elapsed();
            if !self.standard.was_used()
                && let Err(error) = self.show(&result)
            {
                broken = Some(error);
                return Err(Error::new(SqlState::IoError, "the output was closed"));
            }
            shown += 1;
            self.say_time(elapsed);
            started = Instant::now();
            progress::begin();
            // An interrupt between two statements would be forgotten when the next one begins.
            if INTERRUPTED.load(Ordering::SeqCst) {
                return Err(Error::new(SqlState::QueryCanceled, "canceling the statements that follow"));
            }
            Ok(())
        };
        let outcome = match self.one_transaction {
            true => session.execute_each(text, show),
            false => session.execute_separately(text, show),
        };
        progress::end();
        let outcome = match (outcome, broken) {
            (_, Some(error)) => Err(error.into()),
            (Ok(()), None) => Ok(()),
            // The output is closed: neither rows nor a message would be read.
            (Err(_), None) if self.standard.was_closed() => Err(Failed::Reported),
            (Err(error), None) => Err(self.reported_of(&error, text, shown)),
        };
        if !is_explain(text) {
            self.last = script::last_statement(text).map(str::to_owned).or(self.last.take());
        }
        outcome
    }

    fn layout(&self, width: Option<usize>) -> Layout<'_> {
        let (expanded, null) = (self.expanded, &self.null);
        Layout { width, expanded, null, lines: self.lines, rows: self.rows_shown }
    }

    fn show(&self, result: &ResultSet) -> std::io::Result<()> {
        if let Some(file) = &self.output {
            let layout = self.layout(None);
            let mut out = BufWriter::new(file);
            output::print(&mut out, result, Style { format: self.format, layout })?;
            return out.flush();
        }
        let width = pager::terminal().filter(|_| std::io::stdout().is_terminal()).map(|(width, _)| width);
        let rows = self.rows_shown.map_or(result.rows(), |most| most.min(result.rows()));
        let lines = if self.expanded { result.rows() * (result.schema().len() + 1) } else { rows };
        let mut screen = BufWriter::new(Screen::open(lines, self.paging));
        // A plan is a drawing of lines, not of values.
        let plan = matches!(result.schema().fields(), [only] if only.name == "QUERY PLAN");
        let mut layout = self.layout(width);
        if plan {
            layout = Layout { expanded: false, rows: None, ..layout };
        }
        let style = Style { format: self.format, layout };
        let written = output::print(&mut screen, result, style).and_then(|()| screen.flush());
        let (screen, _) = screen.into_parts();
        let paged = screen.close()?;
        match written {
            // The pager was left before the end.
            Err(error) if paged && error.kind() == std::io::ErrorKind::BrokenPipe => Ok(()),
            other => other,
        }
    }

    /// What was asked for.
    fn print(&self, text: &str) -> Result<(), Failed> {
        let mut out = std::io::stdout();
        out.write_all(text.as_bytes()).and_then(|()| out.flush()).map_err(Failed::from)
    }

    /// What the shell says of itself: scripts keep it apart from results.
    fn say(&self, text: &str) {
        if self.scripted { eprintln!("{text}") } else { println!("{text}") }
    }

    fn say_time(&self, elapsed: Duration) {
        if self.timing {
            self.say(&format!("Time: {:.3} ms", elapsed.as_secs_f64() * 1e3));
        }
    }

    fn reported(&self, error: &Error, text: &str) -> Failed {
        self.reported_of(error, text, 0)
    }

    /// Prints the error of a text's statement with this number. In a script it has a place, its own or the statement's,
    /// and lines are the script's.
    fn reported_of(&self, error: &Error, text: &str, statement: usize) -> Failed {
        let text = engine::masked(text);
        let mut error = error.clone();
        if error.message().starts_with("syntax error at or near \"\\\"") {
            error =
                error.with_hint("a command of the shell has a line of its own, after the ; of a statement");
        }
        let told = match self.line {
            None => error.render(&text),
            Some(line) => {
                let place = error.position().unwrap_or_else(|| script::beginning(&text, statement));
                let before = line.saturating_sub(1);
                let place = Position { line: place.line + before, ..place };
                error.at(place).render(&format!("{}{text}", "\n".repeat(before as usize)))
            }
        };
        eprintln!("{told}");
        if self.scripted && INTERRUPTED.load(Ordering::SeqCst) {
            Failed::Interrupted
        } else {
            Failed::Reported
        }
    }
}

fn on_or_off(on: bool) -> &'static str {
    if on { "on" } else { "off" }
}

fn explained(statement: &str, analyze: bool) -> String {
    format!("EXPLAIN {}{statement}", if analyze { "ANALYZE " } else { "" })
}

/// Whether a text asks for a plan: `\explain` alone means the statement before it.
fn is_explain(text: &str) -> bool {
    text.get(..7).is_some_and(|word| word.eq_ignore_ascii_case("explain"))
}
