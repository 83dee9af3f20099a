//! The prompt: statements typed by hand, each run when its semicolon has come.

use std::io::{BufRead, Write};
use std::sync::atomic::Ordering;

use engine::Session;

use crate::arguments::Arguments;
use crate::{Failed, INTERRUPTED, execute};

pub fn run(session: &Session, arguments: &Arguments) -> Result<(), Failed> {
    println!(
        "Quickstep {}. Statements end with ';'. Type \\q or Ctrl-D to leave.",
        env!("CARGO_PKG_VERSION")
    );
    let stdin = std::io::stdin();
    let mut text = String::new();
    loop {
        print!("{}", if text.is_empty() { "quickstep> " } else { "     ...> " });
        std::io::stdout().flush()?;
        let mut line = String::new();
        if stdin.lock().read_line(&mut line)? == 0 {
            println!();
            return Ok(());
        }
        if text.trim().is_empty() && matches!(line.trim(), "\\q" | "quit" | "exit" | "quit;" | "exit;") {
            return Ok(());
        }
        text.push_str(&line);
        if text.trim().is_empty() {
            text.clear();
        } else if engine::is_complete(&text) {
            INTERRUPTED.store(false, Ordering::SeqCst);
            // A failed statement has said why; the prompt goes on.
            let _ = execute(session, &text, arguments.format, arguments.timing);
            text.clear();
        }
    }
}
