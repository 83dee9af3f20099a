//! Commands about the shell's own state, and those that run the last statement again.
//!
//! State changes last until the shell ends. Commands that run the last statement again change the format or the
//! output for that run alone, and put the former one back also after an error. `\watch` repeats until a statement
//! fails or is interrupted.

use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use engine::{Error, Result, SqlState};

use super::commands::{self, Command};
use super::{Next, Shell, script, suffix};
use crate::output::{BARE, FRAMED, PLAIN};
use crate::{Failed, INTERRUPTED};

impl Shell<'_> {
    /// Runs statements, of which the last may end with a command.
    pub(super) fn execute_with_suffix(&mut self, text: &str) -> std::result::Result<Next, Failed> {
        let Some((statement, command)) = suffix::split(text) else {
            return self.execute(text).map(|()| Next::GoOn);
        };
        let command_of = commands::parse(command).map_err(|error| self.reported(&error, command))?;
        // What stands before the last statement is run as it is.
        let last = script::last_statement(statement).unwrap_or_default().to_owned();
        let before = &statement[..statement.rfind(&last).unwrap_or(0)];
        if !before.trim().is_empty() {
            self.execute(before)?;
        }
        if !last.is_empty() {
            self.last = Some(last);
        }
        self.obey(command_of, command)
    }

    /// Obeys the commands of this file; `text` is how one was written.
    pub(super) fn change(&mut self, command: Command, text: &str) -> std::result::Result<(), Failed> {
        match command {
            Command::Set(None) => self.print(&self.variables.listed()),
            Command::Set(Some((name, value))) => {
                self.variables.set(&name, value);
                Ok(())
            }
            Command::Unset(name) => {
                self.variables.unset(&name);
                Ok(())
            }
            Command::Null(shown) => {
                self.null = shown.unwrap_or_else(|| "NULL".to_owned());
                self.say(&format!("NULL is shown as \"{}\"", self.null));
                Ok(())
            }
            Command::MaxRows(rows) => {
                self.rows_shown = rows;
                let shown = rows.map_or("all rows".to_owned(), |rows| format!("at most {rows} rows"));
                self.say(&format!("{shown} of a result are shown"));
                Ok(())
            }
            Command::Border(border) => {
                self.lines = [&BARE, &PLAIN, &FRAMED][usize::from(border)];
                self.say(&format!("border is {border}"));
                Ok(())
            }
            Command::Output(path) => {
                let opened = path.map(|path| created(&path)).transpose();
                self.output = opened.map_err(|error| self.reported(&error, text))?;
                Ok(())
            }
            Command::System(line) => {
                let shell = std::env::var("SHELL").unwrap_or_else(|_| "/bin/sh".to_owned());
                let status = std::process::Command::new(&shell).arg("-c").arg(&line).status();
                match status {
                    Ok(status) if status.success() => Ok(()),
                    Ok(status) => {
                        self.say(&format!("{line}: {status}"));
                        Ok(())
                    }
                    Err(error) => {
                        let error = Error::new(SqlState::IoError, format!("cannot run {shell}: {error}"));
                        Err(self.reported(&error, text))
                    }
                }
            }
            Command::Again { expanded, path } => {
                let last = self.last_or(text)?;
                let opened = path.map(|path| created(&path)).transpose();
                let opened = opened.map_err(|error| self.reported(&error, text))?;
                let redirected = opened.is_some();
                let before = (self.expanded, redirected.then(|| std::mem::replace(&mut self.output, opened)));
                self.expanded |= expanded;
                let outcome = self.execute(&last);
                self.expanded = before.0;
                if let Some(output) = before.1 {
                    self.output = output;
                }
                outcome
            }
            Command::Watch(seconds) => {
                let last = self.last_or(text)?;
                loop {
                    self.execute(&last)?;
                    let until = Instant::now() + seconds;
                    while Instant::now() < until && !INTERRUPTED.load(Ordering::SeqCst) {
                        std::thread::sleep(Duration::from_millis(20).min(until - Instant::now().min(until)));
                    }
                    if INTERRUPTED.swap(false, Ordering::SeqCst) {
                        return Ok(());
                    }
                }
            }
            Command::Edit(path) => {
                let edited = self.edited(path.as_deref()).map_err(|error| self.reported(&error, text))?;
                match edited.trim() {
                    "" => Ok(()),
                    edited => {
                        self.say(edited);
                        self.run_script(edited)
                    }
                }
            }
            _ => Ok(()),
        }
    }

    fn last_or(&self, text: &str) -> std::result::Result<String, Failed> {
        self.last.clone().ok_or_else(|| {
            let error = Error::new(SqlState::SyntaxError, "there is no statement to run again yet");
            self.reported(&error, text)
        })
    }

    /// The text of a file, or the last statement, after an editor was left.
    fn edited(&self, path: Option<&str>) -> Result<String> {
        let own = std::env::temp_dir().join(format!("quickstep-edit-{}.sql", std::process::id()));
        let file = path.map_or(own.clone(), std::path::PathBuf::from);
        let failed =
            |what: &str, error: std::io::Error| Error::new(SqlState::IoError, format!("{what}: {error}"));
        if path.is_none() {
            let last = self.last.clone().map_or_else(String::new, |last| format!("{last};\n"));
            std::fs::write(&file, last).map_err(|e| failed("cannot write the statement", e))?;
        }
        let chosen =
            ["QUICKSTEP_EDITOR", "VISUAL", "EDITOR"].iter().find_map(|name| std::env::var(name).ok());
        let editor = chosen.filter(|c| !c.trim().is_empty()).unwrap_or_else(|| "vi".to_owned());
        let mut words = editor.split_whitespace();
        let program = words.next().unwrap_or("vi");
        let status = std::process::Command::new(program).args(words).arg(&file).status();
        let text = status.map_err(|e| failed(&format!("cannot run {program}"), e)).and_then(|status| {
            match status.success() {
                true => std::fs::read_to_string(&file).map_err(|e| failed("cannot read what was edited", e)),
                false => Err(Error::new(SqlState::IoError, format!("{program}: {status}"))),
            }
        });
        if path.is_none() {
            // A leftover in the temporary folder does no harm.
            let _ = std::fs::remove_file(&own);
        }
        text
    }
}

/// A file for results. What begins with `|` would be a program, which is not supported.
fn created(path: &str) -> Result<std::fs::File> {
    if path.starts_with('|') {
        return Err(Error::unsupported("results cannot be piped into a program here")
            .with_hint("write a file; or run quickstep -c and pipe its output"));
    }
    let file = std::fs::File::create(path);
    file.map_err(|e| Error::new(SqlState::IoError, format!("cannot write \"{path}\": {e}")))
}
