//! Results longer than the terminal go through a pager.

use std::io::{self, IsTerminal, Write};
use std::process::{Child, Command, Stdio};

/// A result on its way to the screen.
pub struct Screen {
    pager: Option<Child>,
}

impl Screen {
    /// Through `$QUICKSTEP_PAGER`, `$PAGER` or less if `lines` do not fit the terminal and `wanted`; a pager that
    /// cannot be started is no reason to hide the result.
    pub fn open(lines: usize, wanted: bool) -> Screen {
        let rows = terminal().map_or(usize::MAX, |(_, rows)| rows);
        if !wanted || lines + 2 <= rows || !io::stdout().is_terminal() {
            return Screen { pager: None };
        }
        let chosen = ["QUICKSTEP_PAGER", "PAGER"].iter().find_map(|name| std::env::var(name).ok());
        let line = chosen.filter(|c| !c.trim().is_empty()).unwrap_or_else(|| "less -SFRX".to_owned());
        let mut words = line.split_whitespace();
        let pager = words
            .next()
            .and_then(|program| Command::new(program).args(words).stdin(Stdio::piped()).spawn().ok());
        Screen { pager }
    }

    /// Waits until the pager is left, and says whether there was one. Its going away early is how one leaves it.
    pub fn close(mut self) -> io::Result<bool> {
        let Some(mut pager) = self.pager.take() else { return Ok(false) };
        drop(pager.stdin.take());
        pager.wait()?;
        Ok(true)
    }
}

impl Write for Screen {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self.pager.as_mut().and_then(|p| p.stdin.as_mut()) {
            Some(pager) => pager.write(bytes),
            None => io::stdout().write(bytes),
        }
    }
    fn flush(&mut self) -> io::Result<()> {
        match self.pager.as_mut().and_then(|p| p.stdin.as_mut()) {
            Some(pager) => pager.flush(),
            None => io::stdout().flush(),
        }
    }
}

/// Columns and rows of the terminal, if there is one.
pub fn terminal() -> Option<(usize, usize)> {
    terminal_size::terminal_size().map(|(width, height)| (usize::from(width.0), usize::from(height.0)))
}
